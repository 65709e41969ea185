/* Which parts of an expression get a name of their own in generated C. Expressions are graphs; written out as trees
 * they can be long, deep, and computed twice. */
#include <stdlib.h>

#include "emit/c_private.h"

enum {
    DEEPEST_LEVEL = 6,  /* calls and parentheses inside each other */
    LIGHTEST_SHARED = 3 /* nodes of the smallest part worth a name when used again */
};
enum { LIGHTEST_SHARED_INDEX = 6 }; /* coordinates are cheaper to read than another name */
enum { LONGEST_CHAIN = 12 };        /* terms of a sum written in one piece */
enum { LEVEL_UNIT = 64 }; /* w->level counts levels in these units, terms of a chain in ones */

typedef VEC(LExprId) Operands;

/* The indices of the row in which a load reads, unless the function being written is given the row. */
static void add_row(CWriter *w, const LExpr *load, Operands *out)
{
    for (int d = 0; d + 1 < load->n_args && !tessi_c_own_row(w, load->buffer, load->arg); d++)
        VEC_PUSH(w->arena, out, tessi_c_through(w, load->arg[d]));
}

/* What is printed within the text of an expression: its arguments, or those of the call that stands for it. */
static Operands operands_of(CWriter *w, LExprId id, LExprId room[LOOP_MAX_DIMS])
{
    const CCall *call = tessi_c_call(w, id);
    const LExpr *e = tessi_lexpr(w->p, id);
    Operands out = { 0 };
    if (call) {
        VEC_FOREACH (const CArgument, argument, &call->arguments)
            if (argument->is_place)
                add_row(w, tessi_lexpr(w->p, argument->id), &out);
            else
                VEC_PUSH(w->arena, &out, tessi_c_through(w, argument->id));
        return out;
    }
    const bool own = e->kind == LEXPR_LOAD && tessi_c_own_row(w, e->buffer, e->arg);
    out.at = room;
    for (int i = own ? e->n_args - 1 : 0; i < e->n_args; i++)
        room[out.n++] = tessi_c_through(w, e->arg[i]);
    return out;
}

static void reach(CWriter *w, LExprId id)
{
    w->uses[id.v]++;
    if (w->stamp_of[id.v] == w->stamp)
        return;
    w->stamp_of[id.v] = w->stamp;
    w->uses[id.v] = 1;
    w->temporary[id.v] = NULL;
    LExprId room[LOOP_MAX_DIMS];
    const Operands operands = operands_of(w, id, room);
    for (uint32_t i = 0; i < operands.n; i++)
        reach(w, operands.at[i]);
    VEC_PUSH(w->arena, &w->reached, id.v);
}

static int compare_ids(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Marks for a name; the name itself is made when it is written, in order. */
static const char marked[] = "";

static bool is_chain(const LoopProgram *p, const LExpr *e)
{
    if (e->kind != LEXPR_OP || (e->op != OP_ADD && e->op != OP_MUL))
        return false;
    const LExpr *left = tessi_lexpr(p, e->arg[0]);
    return left->kind == LEXPR_OP && left->op == e->op && left->type == e->type
           && tessi_op_is_infix(e->op, e->type);
}

/* Weight and level of a node from those of its arguments; arguments that would nest too deeply are marked. */
static void weigh(CWriter *w, const LExpr *e, uint32_t id)
{
    uint32_t weight = 1, level = 0;
    LExprId room[LOOP_MAX_DIMS];
    const Operands operands = operands_of(w, (LExprId){ id }, room);
    const bool chain = operands.at == room && is_chain(w->p, e);
    for (uint32_t i = 0; i < operands.n; i++) {
        uint32_t arg = operands.at[i].v, in_arg = w->temporary[arg] ? 0 : w->level[arg];
        uint32_t terms = in_arg % LEVEL_UNIT, levels = in_arg / LEVEL_UNIT;
        bool too_long = chain && i == 0 && terms + 1 >= LONGEST_CHAIN;
        if (levels >= DEEPEST_LEVEL || too_long) {
            w->temporary[arg] = marked;
            terms = levels = in_arg = 0;
        }
        uint32_t here =
            chain && i == 0 && in_arg ? levels * LEVEL_UNIT + terms + 1 : (levels + 1) * LEVEL_UNIT;
        level = level < here ? here : level;
        weight += w->temporary[arg] ? 1 : w->weight[arg];
    }
    w->level[id] = e->n_args ? level : 0;
    w->weight[id] = weight;
    uint32_t lightest =
        e->type == TYPE_INDEX && e->kind == LEXPR_OP ? LIGHTEST_SHARED_INDEX : LIGHTEST_SHARED;
    if (w->uses[id] > 1 && e->n_args && weight >= lightest)
        w->temporary[id] = marked;
}

void tessi_c_plan_begin(CWriter *w)
{
    w->stamp++;
    w->reached.n = 0;
}

void tessi_c_plan_name(CWriter *w, LExprId id, const char *name)
{
    w->stamp_of[id.v] = w->stamp;
    w->temporary[id.v] = name;
}

uint32_t tessi_c_plan(CWriter *w, const LExprId *roots, uint32_t n)
{
    tessi_c_plan_begin(w);
    return tessi_c_plan_roots(w, roots, n);
}

uint32_t tessi_c_plan_roots(CWriter *w, const LExprId *roots, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        reach(w, tessi_c_through(w, roots[i]));
    qsort(w->reached.at, w->reached.n, sizeof *w->reached.at, compare_ids);
    for (uint32_t i = 0; i < w->reached.n; i++) {
        uint32_t id = w->reached.at[i];
        weigh(w, tessi_lexpr(w->p, (LExprId){ id }), id);
    }
    uint32_t n_marked = 0;
    for (uint32_t i = 0; i < w->reached.n; i++)
        n_marked += w->temporary[w->reached.at[i]] == marked;
    return n_marked;
}

void tessi_c_temporaries(CWriter *w)
{
    for (uint32_t i = 0; i < w->reached.n; i++) {
        uint32_t id = w->reached.at[i];
        if (w->temporary[id] != marked)
            continue;
        w->temporary[id] = NULL; /* written in full here, by name afterwards */
        const char *name = tessi_c_name(w->names, "t");
        const LExpr *e = tessi_lexpr(w->p, (LExprId){ id });
        tessi_text_addf(&w->line, "const %s %s = ", tessi_c_value_type(w, e), name);
        tessi_c_expr(w, (LExprId){ id }, C_LOOSE);
        tessi_text_add(&w->line, ";");
        tessi_c_end_line(w);
        w->temporary[id] = name;
    }
}
