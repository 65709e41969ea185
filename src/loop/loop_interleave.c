/* The order of what a step of a vector loop computes where it computes several rows at once. Written row by row each
 * result is one long chain of operations that wait for one another, and the rows that all results read are held in
 * registers meanwhile. Here the step goes down the rows that it reads instead: of every result comes first what can
 * be had from the first of them, then what the second adds to it, and so on. The chains run side by side, and of a
 * row nothing is kept but what has become of it. */
#include <stdlib.h>

#include "loop/loop_passes.h"
#include "loop/pass.h"

/* Rows of a buffer that lie a constant apart. */
typedef struct Strand {
    LBufferId buffer;
    LExprId index[LOOP_MAX_DIMS]; /* of the row: without its constant; the last is not looked at */
    int64_t first;                /* the least constant */
} Strand;

enum { NO_ROW = -1 }; /* of what is computed from no row at all */
/* Compilers that compute sums where they are used hold what these are made of until then: more is too much. */
enum { REGISTERS = 32 };

typedef struct Ordered {
    LStmt *stmt;
    int64_t rank;
    uint32_t place; /* among those of the same rank */
} Ordered;

typedef struct Interleaver {
    LoopProgram *p;
    uint32_t *noted, *ranked, *cut,
        stamp;         /* by LExprId: the stamp of the loop for which they were visited */
    int64_t *rank;     /* by LExprId: the last row that it needs, counted down from the first */
    LExprId *changed;  /* by LExprId, where `cut` says so */
    int64_t *var_rank; /* by LVarId */
    uint32_t *var_stamp, *loaded; /* by LVarId and LBufferId */
    VEC(Strand) strands;
    VEC(Ordered) out;
    uint32_t n_loads; /* of the loop */
    const char *name; /* of the value being taken apart */
} Interleaver;

/* ---- Rows ------------------------------------------------------------------------------------ */

/* The strand that a load reads from, without the constant of its row; that in *constant. False: it reads no row. */
static bool strand_of(const LoopProgram *p, const LExpr *load, Strand *strand, int64_t *constant)
{
    if (load->n_args < 2)
        return false;
    *strand = (Strand){ .buffer = load->buffer };
    const int row = load->n_args - 2;
    for (int d = 0; d <= row; d++)
        strand->index[d] = load->arg[d];
    strand->index[row] = tessi_pass_without_constant(p, load->arg[row], constant);
    return true;
}

static Strand *find_strand(Interleaver *v, const Strand *strand)
{
    VEC_FOREACH (Strand, known, &v->strands) {
        bool same = known->buffer.v == strand->buffer.v;
        for (int d = 0; same && d < LOOP_MAX_DIMS; d++)
            same = known->index[d].v == strand->index[d].v;
        if (same)
            return known;
    }
    return NULL;
}

static void note_rows(Interleaver *v, LExprId id)
{
    PASS_PARTS (e, v->p, v->noted, v->stamp, id) {
        Strand strand;
        int64_t constant;
        if (e->kind != LEXPR_LOAD)
            continue;
        v->loaded[e->buffer.v] = v->stamp;
        v->n_loads++;
        if (!strand_of(v->p, e, &strand, &constant))
            continue;
        Strand *known = find_strand(v, &strand);
        strand.first = constant;
        if (!known)
            VEC_PUSH(v->p->arena, &v->strands, strand);
        else if (known->first > constant)
            known->first = constant;
    }
}

static int64_t row_of(Interleaver *v, const LExpr *load)
{
    Strand strand;
    int64_t constant;
    if (!strand_of(v->p, load, &strand, &constant))
        return 0;
    return constant - find_strand(v, &strand)->first;
}

static int64_t rank_of(Interleaver *v, LExprId id)
{
    if (!id.v)
        return NO_ROW;
    if (v->ranked[id.v] == v->stamp)
        return v->rank[id.v];
    const LExpr *e = tessi_lexpr(v->p, id);
    int64_t rank = NO_ROW;
    if (e->kind == LEXPR_LOAD)
        rank = row_of(v, e);
    else if (e->kind == LEXPR_VAR && v->var_stamp[e->var.v] == v->stamp)
        rank = v->var_rank[e->var.v];
    for (int i = 0; i < e->n_args; i++) {
        int64_t arg = rank_of(v, e->arg[i]);
        rank = arg > rank ? arg : rank;
    }
    v->ranked[id.v] = v->stamp;
    v->rank[id.v] = rank;
    return rank;
}

/* ---- Taking values apart --------------------------------------------------------------------- */

static void put(Interleaver *v, LStmt *stmt, int64_t rank)
{
    VEC_PUSH(v->p->arena, &v->out, ((Ordered){ stmt, rank, v->out.n }));
}

static LExprId taken_apart(Interleaver *v, LExprId id);

/* A part of what is computed at `rank`: by a name of its own when the rows before that suffice. */
static LExprId part(Interleaver *v, LExprId id, int64_t rank)
{
    const LExprKind kind = tessi_lexpr(v->p, id)->kind;
    const bool computes = kind == LEXPR_OP || kind == LEXPR_CAST || kind == LEXPR_SAT;
    const int64_t own = rank_of(v, id);
    const LExprId value = taken_apart(v, id);
    if (!computes || own == NO_ROW || own == rank || tessi_lexpr(v->p, value)->kind == LEXPR_VAR)
        return value;
    LBlock block = { 0 };
    v->changed[id.v] = tessi_pass_let(v->p, &block, v->name, value);
    const Op op = tessi_lexpr(v->p, id)->op;
    if (v->n_loads > REGISTERS && kind == LEXPR_OP
        && (op == OP_ADD || op == OP_SUB || op == OP_FMA))
        block.at[0]->flags |= LLET_HERE;
    put(v, block.at[0], own);
    return v->changed[id.v];
}

/* The expression with its parts by name. */
static LExprId taken_apart(Interleaver *v, LExprId id)
{
    if (v->cut[id.v] == v->stamp)
        return v->changed[id.v];
    const LExpr e = *tessi_lexpr(v->p, id);
    LExprId result = id, arg[LOOP_MAX_DIMS] = { { 0 } };
    bool same = e.kind == LEXPR_LOAD || rank_of(v, id) == NO_ROW;
    if (!same) {
        same = true;
        for (int i = 0; i < e.n_args; i++) {
            arg[i] = part(v, e.arg[i], rank_of(v, id));
            same = same && arg[i].v == e.arg[i].v;
        }
    }
    if (!same)
        result = tessi_lexpr_with_args(v->p, &e, arg);
    v->cut[id.v] = v->stamp;
    v->changed[id.v] = result;
    return result;
}

/* ---- Loops ----------------------------------------------------------------------------------- */

/* Definitions and stores alone, two stores at least; behind them what the next step finds in variables. */
static bool is_straight(const LBlock *block)
{
    uint32_t n_stores = 0, n_sets = 0;
    for (uint32_t i = 0; i < block->n; i++) {
        LStmtKind kind = block->at[i]->kind;
        n_sets += kind == LSTMT_SET;
        if (n_sets ? kind != LSTMT_SET
                   : kind != LSTMT_LET && kind != LSTMT_STORE && kind != LSTMT_COMMENT)
            return false;
        n_stores += kind == LSTMT_STORE;
    }
    return n_stores > 1;
}

/* No load may pass a store that it could see. */
static bool reads_what_it_writes(const Interleaver *v, const LBlock *block)
{
    for (uint32_t i = 0; i < block->n; i++)
        if (block->at[i]->kind == LSTMT_STORE && v->loaded[block->at[i]->buffer.v] == v->stamp)
            return true;
    return false;
}

static int compare(const void *a, const void *b)
{
    const Ordered *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

static void interleave(Interleaver *v, LBlock *block)
{
    v->stamp++;
    v->strands.n = v->out.n = v->n_loads = 0;
    for (uint32_t i = 0; i < block->n; i++) {
        note_rows(v, block->at[i]->a);
        for (int d = 0; d < block->at[i]->n_index; d++)
            note_rows(v, block->at[i]->index[d]);
    }
    if (!v->strands.n || reads_what_it_writes(v, block))
        return;
    uint32_t comments = 0; /* in front of the statement that they belong to */
    for (uint32_t i = 0; i < block->n; i++) {
        LStmt *s = block->at[i];
        if (s->kind == LSTMT_COMMENT) {
            comments++;
            continue;
        }
        const int64_t rank = rank_of(v, s->a);
        if (s->kind == LSTMT_LET) {
            v->var_rank[s->var.v] = rank;
            v->var_stamp[s->var.v] = v->stamp;
        }
        v->name = s->kind == LSTMT_STORE ? v->p->buffers.at[s->buffer.v].name
                                         : v->p->vars.at[s->var.v].name;
        s->a = taken_apart(v, s->a);
        for (; comments; comments--)
            put(v, block->at[i - comments], rank);
        put(v, s, s->kind == LSTMT_SET ? INT64_MAX : rank);
    }
    for (; comments; comments--)
        put(v, block->at[block->n - comments], INT64_MAX);
    qsort(v->out.at, v->out.n, sizeof *v->out.at, compare);
    block->n = 0;
    VEC_FOREACH (const Ordered, o, &v->out)
        VEC_PUSH(v->p->arena, block, o->stmt);
}

static void visit(Interleaver *v, LBlock *block, bool in_vectors)
{
    for (uint32_t i = 0; i < block->n; i++) {
        LStmt *s = block->at[i];
        const bool vectors = in_vectors || (s->kind == LSTMT_FOR && s->flags & LFOR_SIMD);
        if (s->kind == LSTMT_FOR && vectors && is_straight(&s->body))
            interleave(v, &s->body);
        visit(v, &s->body, vectors);
        visit(v, &s->orelse, vectors);
    }
}

void tessi_loop_interleave(LoopProgram *p)
{
    const uint32_t n = p->exprs.n,
                   n_vars = p->vars.n; /* those of the program as it comes: no other is looked at */
    Arena *scratch = tessi_scratch_open(p->arena);
    Interleaver v = { .p = p,
                      .noted = ARENA_NEW_ARRAY(scratch, uint32_t, n),
                      .ranked = ARENA_NEW_ARRAY(scratch, uint32_t, n),
                      .cut = ARENA_NEW_ARRAY(scratch, uint32_t, n),
                      .rank = ARENA_NEW_ARRAY(scratch, int64_t, n),
                      .changed = ARENA_NEW_ARRAY(scratch, LExprId, n),
                      .var_rank = ARENA_NEW_ARRAY(scratch, int64_t, n_vars),
                      .var_stamp = ARENA_NEW_ARRAY(scratch, uint32_t, n_vars),
                      .loaded = ARENA_NEW_ARRAY(scratch, uint32_t, p->buffers.n) };
    for (uint32_t i = 0; i < p->functions.n; i++)
        if (!p->functions.at[i].is_kernel)
            visit(&v, &p->functions.at[i].body, false);
    tessi_scratch_close(scratch);
}
