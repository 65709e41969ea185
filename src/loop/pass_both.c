/* The pass `both`: elements that the lanes of a step load from places of their own, where those of one load mostly lie
 * behind those of another: neighbours along a row, as in pictures that are sampled between pixels. They are named
 * together, and prelude/c_each.h loads two elements at once wherever they are neighbours in all lanes. */
#include <string.h>

#include "loop/loop_passes.h"
#include "loop/vector.h"

enum { UNKNOWN = 99 };      /* a distance */
enum { MOST_LOADS = 64 };   /* of a block that are compared with each other */
enum { DEEPEST_INDEX = 8 }; /* operations that are looked through */

typedef struct Both {
    LoopProgram *p;
    const LStmt **definition; /* by LVarId */
    uint32_t n_vars;          /* which have one */
    uint32_t *seen, stamp;    /* by LExprId: the stamp of the walk that met it */
    bool *stored;             /* by LBufferId: by vector loops of the function in hand */
    uint8_t *loads;           /* by LExprId: 1 or 2, whether it loads anything */
    /* Of the block in hand: where a variable stands in it, counted from 1, by LVarId; which of its statements stand in
     * what takes its place; what is named there, by LExprId. */
    uint32_t *place;
    bool *is_done;
    LExprId *name;
    const LBlock *block;
    LBlock *out;
    /* Its loads, which of them stand behind them, and what stands for them once that is in scope. */
    LExprId found[MOST_LOADS], second[MOST_LOADS], as[MOST_LOADS];
    uint32_t n_found;
} Both;

/* ---- Which are neighbours ------------------------------------------------------------------------------------- */

static LExprId named(const Both *b, LExprId id)
{
    const LExpr *e = tessi_lexpr(b->p, id);
    const LStmt *s = e->kind == LEXPR_VAR && e->var.v < b->n_vars ? b->definition[e->var.v] : NULL;
    return s && s->kind == LSTMT_LET ? s->a : id;
}

/* A whole constant, in all lanes or not. */
static bool is_whole(const LoopProgram *p, LExprId id, int64_t *value)
{
    const LExpr *e = tessi_lexpr(p, id);
    if (e->kind == LEXPR_SPLAT)
        e = tessi_lexpr(p, e->arg[0]);
    *value = e->value.i;
    return e->kind == LEXPR_CONST && tessi_is_integer(e->type);
}

/* An index or integer without the constant that is added to it. */
static LExprId without_constant(const Both *b, LExprId id, int64_t *constant)
{
    const LExpr *e = tessi_lexpr(b->p, id);
    *constant = 0;
    if (e->kind != LEXPR_OP || (e->op != OP_ADD && e->op != OP_SUB)
        || !is_whole(b->p, e->arg[1], constant) || *constant < INT8_MIN || *constant > INT8_MAX)
        return *constant = 0, id;
    if (e->op == OP_SUB)
        *constant = -*constant;
    return named(b, e->arg[0]);
}

static int64_t distance(const Both *b, LExprId x, LExprId y, int depth);

/* The same where one of them alone is chosen by a condition, as an index is that is brought inside only where it lies
 * beyond an edge. */
static int64_t distance_of_choice(const Both *b, LExprId x, LExprId y, int depth)
{
    const LExpr e = *tessi_lexpr(b->p, x), f = *tessi_lexpr(b->p, y);
    const bool of_x = e.kind == LEXPR_OP && e.op == OP_SELECT,
               of_y = f.kind == LEXPR_OP && f.op == OP_SELECT;
    int64_t found = UNKNOWN;
    for (int arm = 1; arm <= 2 && found == UNKNOWN && of_x != of_y; arm++)
        found =
            of_x ? distance(b, e.arg[arm], y, depth + 1) : distance(b, x, f.arg[arm], depth + 1);
    return found;
}

/* How much larger y mostly is than x: what rules and types do far away does not count. */
static int64_t distance(const Both *b, LExprId x, LExprId y, int depth)
{
    int64_t more, less;
    if (x.v == y.v)
        return 0;
    if (depth == DEEPEST_INDEX)
        return UNKNOWN;
    const LExprId in_x = without_constant(b, named(b, x), &less),
                  in_y = without_constant(b, named(b, y), &more);
    if (in_x.v == in_y.v)
        return more - less;
    const int64_t chosen = distance_of_choice(b, in_x, in_y, depth);
    if (chosen != UNKNOWN)
        return chosen + more - less;
    const LExpr e = *tessi_lexpr(b->p, in_x), f = *tessi_lexpr(b->p, in_y);
    if (more || less || e.kind != f.kind || e.type != f.type || e.op != f.op
        || e.n_args != f.n_args)
        return UNKNOWN;
    if (e.kind == LEXPR_CAST || e.kind == LEXPR_SAT)
        return distance(b, e.arg[0], f.arg[0], depth + 1);
    if (e.kind != LEXPR_OP || (e.op != OP_MIN && e.op != OP_MAX && e.op != OP_SELECT))
        return UNKNOWN;
    const int first = e.op == OP_SELECT ? 1 : 0;
    const int64_t left = distance(b, e.arg[first], f.arg[first], depth + 1),
                  right = distance(b, e.arg[first + 1], f.arg[first + 1], depth + 1);
    return left == 0 ? right : right == 0 ? left : UNKNOWN;
}

static bool is_next(const Both *b, LExprId x, LExprId y)
{
    const LExpr *e = tessi_lexpr(b->p, x), *f = tessi_lexpr(b->p, y);
    if (e->buffer.v != f->buffer.v || e->lanes != f->lanes || e->ref != f->ref)
        return false;
    const int last = e->n_args - 1;
    for (int d = 0; d < last; d++)
        if (e->arg[d].v != f->arg[d].v)
            return false;
    return distance(b, e->arg[last], f->arg[last], 0) == 1;
}

/* ---- Finding ----------------------------------------------------------------------------------------------------- */

static void find_loads(Both *b, LExprId id)
{
    if (!id.v || b->seen[id.v] == b->stamp)
        return;
    b->seen[id.v] = b->stamp;
    const LExpr *e = tessi_lexpr(b->p, id);
    if (!e->lanes)
        return;
    for (int i = 0; i < e->n_args; i++)
        find_loads(b, e->arg[i]);
    if (e->kind == LEXPR_LOAD && tessi_load_each(e) && !b->stored[e->buffer.v]
        && b->n_found < MOST_LOADS && tessi_lexpr(b->p, e->arg[e->n_args - 1])->lanes
        && tessi_lexpr(b->p, e->arg[e->n_args - 1])->type == TYPE_INDEX
        && tessi_loop_can_be_both(b->p, e->buffer, e->lanes))
        b->found[b->n_found++] = id;
}

/* Takes loads two by two, along a row from the first one on; false: none. */
static bool find_neighbours(Both *b)
{
    bool used[MOST_LOADS] = { false }, any = false;
    LExprId next[MOST_LOADS] = { { 0 } };
    uint32_t before[MOST_LOADS] = { 0 };
    for (uint32_t i = 0; i < b->n_found; i++)
        for (uint32_t k = 0; k < b->n_found; k++)
            if (i != k && is_next(b, b->found[i], b->found[k])) {
                next[i] = (LExprId){ k + 1 };
                before[k] = i + 1;
            }
    for (uint32_t turn = 0; turn < b->n_found; turn++)
        for (uint32_t i = 0; i < b->n_found; i++) {
            const uint32_t k = next[i].v;
            const bool first = !before[i] || used[before[i] - 1];
            if (!first || used[i] || !k || used[k - 1])
                continue;
            used[i] = used[k - 1] = any = true;
            b->second[i] = b->found[k - 1];
        }
    return any;
}

/* ---- Rewriting --------------------------------------------------------------------------------------------------- */

static bool has_loads(Both *b, LExprId id)
{
    const LExpr *e = tessi_lexpr(b->p, id);
    if (!b->loads[id.v]) {
        bool any = e->kind == LEXPR_LOAD || e->kind == LEXPR_AT;
        for (int i = 0; i < e->n_args; i++)
            any = any || has_loads(b, e->arg[i]);
        b->loads[id.v] = any ? 2 : 1;
    }
    return b->loads[id.v] == 2;
}

/* Brings the names that a value is made of into scope; `really` or only to see whether that can be done. */
static bool bring(Both *b, LExprId id, bool really)
{
    const LExpr e = *tessi_lexpr(b->p, id);
    const uint32_t at = e.kind == LEXPR_VAR && e.var.v < b->n_vars ? b->place[e.var.v] : 0;
    for (int i = 0; i < e.n_args; i++)
        if (!bring(b, e.arg[i], really))
            return false;
    if (!at || b->is_done[at - 1])
        return true;
    LStmt *s = b->block->at[at - 1];
    if (s->kind != LSTMT_LET || s->flags || has_loads(b, s->a) || !bring(b, s->a, really))
        return false;
    if (really) {
        VEC_PUSH(b->p->arena, b->out, s);
        b->is_done[at - 1] = true;
    }
    return true;
}

/* An index by name, so that what is made of it is written in one piece. */
static LExprId name_of(Both *b, LExprId id)
{
    const LExpr *e = tessi_lexpr(b->p, id);
    if (!e->lanes || e->kind == LEXPR_VAR)
        return id;
    if (!b->name[id.v].v)
        b->name[id.v] = tessi_pass_let(b->p, b->out, "at", id);
    return b->name[id.v];
}

static LExprId with_names(Both *b, LExprId load)
{
    const LExpr e = *tessi_lexpr(b->p, load);
    LExprId index[LOOP_MAX_DIMS] = { { 0 } };
    for (int d = 0; d < e.n_args; d++)
        index[d] = name_of(b, e.arg[d]);
    return tessi_lexpr_load_lanes(b->p, e.lanes, e.ref, e.buffer, index);
}

static uint32_t number_of(const Both *b, LExprId load)
{
    uint32_t i = 0;
    while (b->found[i].v != load.v)
        i++;
    return i;
}

/* Names a load and the one behind it. */
static void take_both(Both *b, uint32_t i)
{
    const LExprId first = b->found[i], second = b->second[i];
    if (b->as[i].v || !bring(b, first, false) || !bring(b, second, false))
        return;
    bring(b, first, true);
    bring(b, second, true);
    const LExprId x = with_names(b, first), y = with_names(b, second);
    const char *name = tessi_sprintf(b->p->arena, "%s_both",
                                     b->p->buffers.at[tessi_lexpr(b->p, x)->buffer.v].name);
    const LExprId both = tessi_pass_let(b->p, b->out, name, tessi_lexpr_both(b->p, x, y));
    LVar *var = &b->p->vars.at[tessi_lexpr(b->p, both)->var.v];
    var->is_row = var->is_both = true;
    b->as[i] = tessi_lexpr_at(b->p, both, 0);
    b->as[number_of(b, second)] = tessi_lexpr_at(b->p, both, 1);
}

static LExprId changed(void *user, LExprId id)
{
    Both *b = user;
    const LExpr *e = tessi_lexpr(b->p, id);
    if (!id.v || !e->lanes)
        return id;
    for (uint32_t i = 0; e->kind == LEXPR_LOAD && i < b->n_found; i++)
        if (b->found[i].v == id.v && b->as[i].v)
            return b->as[i];
    return has_loads(b, id) ? tessi_pass_changed(b->p, id, changed, b) : id;
}

/* The pairs of which a value loads one. */
static void take_pairs(Both *b, LExprId id)
{
    const LExpr e = *tessi_lexpr(b->p, id);
    if (!id.v || !e.lanes || !has_loads(b, id))
        return;
    for (int i = 0; i < e.n_args; i++)
        take_pairs(b, e.arg[i]);
    for (uint32_t i = 0; e.kind == LEXPR_LOAD && i < b->n_found; i++)
        if (b->second[i].v && (b->found[i].v == id.v || b->second[i].v == id.v))
            take_both(b, i);
}

static void find_in_block(Both *b, const LBlock *block)
{
    b->stamp++;
    b->n_found = 0;
    for (uint32_t i = 0; i < block->n; i++) {
        find_loads(b, block->at[i]->a);
        find_loads(b, block->at[i]->b);
    }
    for (uint32_t i = 0; i < MOST_LOADS; i++)
        b->second[i] = b->as[i] = (LExprId){ 0 };
}

static void change_block(Both *b, LBlock *block)
{
    LBlock out = { 0 };
    find_in_block(b, block);
    if (b->n_found < 2 || !find_neighbours(b))
        return;
    Arena *a = tessi_scratch_open(b->p->arena);
    b->place = ARENA_NEW_ARRAY(a, uint32_t, b->n_vars);
    b->is_done = ARENA_NEW_ARRAY(a, bool, block->n);
    b->name = ARENA_NEW_ARRAY(a, LExprId, b->p->exprs.n);
    b->block = block;
    b->out = &out;
    for (uint32_t i = 0; i < block->n; i++)
        if (block->at[i]->var.v)
            b->place[block->at[i]->var.v] = i + 1;
    for (uint32_t i = 0; i < block->n; i++) {
        LStmt *s = block->at[i];
        if (b->is_done[i])
            continue;
        take_pairs(b, s->a);
        take_pairs(b, s->b);
        s->a = changed(b, s->a);
        s->b = changed(b, s->b);
        VEC_PUSH(b->p->arena, &out, s);
        b->is_done[i] = true;
    }
    *block = out;
    tessi_scratch_close(a);
}

static void visit(Both *b, LBlock *block, bool in_vectors)
{
    for (uint32_t i = 0; i < block->n; i++) {
        LStmt *s = block->at[i];
        const bool vectors = s->kind == LSTMT_FOR && s->lanes;
        if (vectors)
            PASS_FOREACH (t, &s->body)
                if (t->kind == LSTMT_STORE)
                    b->stored[t->buffer.v] = true;
        visit(b, &s->body, in_vectors || vectors);
        visit(b, &s->orelse, in_vectors);
    }
    if (in_vectors)
        change_block(b, block);
}

void tessi_loop_both(LoopProgram *p)
{
    Arena *a = tessi_scratch_open(p->arena);
    Both b = { .p = p,
               .n_vars = p->vars.n,
               .definition = ARENA_NEW_ARRAY(a, const LStmt *, p->vars.n),
               .seen = ARENA_NEW_ARRAY(a, uint32_t, p->exprs.n),
               .loads = ARENA_NEW_ARRAY(a, uint8_t, p->exprs.n),
               .stored = ARENA_NEW_ARRAY(a, bool, p->buffers.n) };
    VEC_FOREACH (LFunction, f, &p->functions) {
        if (f->is_kernel)
            continue;
        memset(b.stored, 0, p->buffers.n * sizeof *b.stored);
        tessi_pass_definitions(&f->body, b.definition);
        visit(&b, &f->body, false);
    }
    tessi_scratch_close(a);
}
