/* The pass `near`: elements that the lanes of a step load from places of their own in one row, where these places come
 * of coordinates alone, as in pictures that are sampled. Such places mostly lie close together and go up along the row;
 * prelude/c_near.h then loads all that lies between them at once. Of places that come of pixels, as in tables, nothing
 * is known, and asking would take longer. */
#include "loop/loop_passes.h"
#include "loop/vector.h"

enum { UNKNOWN, COORDINATES, DATA };

typedef struct Near {
    LoopProgram *p;
    const LStmt **definition; /* by LVarId */
    LExprId *value;           /* by LVarId: of a LET, as it was before the pass */
    /* by LExprId: what values, and their differences from lane to lane, come of */
    uint8_t *made_of, *lanes;
    bool *holds_data; /* by LBufferId: not of coordinates alone */
    LExprId *as;      /* by LExprId: what stands in its place */
} Near;

/* What a value comes of, or, `between` lanes, what makes one lane differ from the next. */
static bool is_of_data(Near *n, LExprId id, bool between);

static bool find_data(Near *n, const LExpr *e, bool between)
{
    const LStmt *s = e->kind == LEXPR_VAR ? n->definition[e->var.v] : NULL;
    if (between && !e->lanes)
        return false;
    if (e->kind == LEXPR_AT || e->kind == LEXPR_BOTH
        || (e->kind == LEXPR_LOAD && n->holds_data[e->buffer.v]))
        return true;
    if (e->kind == LEXPR_VAR && (n->p->vars.at[e->var.v].is_mutable || !s))
        return true;
    if (s && s->kind == LSTMT_LET && is_of_data(n, n->value[e->var.v], between))
        return true;
    for (int i = 0; i < e->n_args; i++)
        if (is_of_data(n, e->arg[i], between))
            return true;
    return false;
}

static bool is_of_data(Near *n, LExprId id, bool between)
{
    uint8_t *known = between ? n->lanes : n->made_of;
    if (known[id.v] == UNKNOWN) {
        const bool data = find_data(n, tessi_lexpr(n->p, id), between);
        known[id.v] = data ? DATA : COORDINATES;
    }
    return known[id.v] == DATA;
}

/* Which arrays of a function hold what comes of coordinates, as tables of columns do. */
static void find_tables(Near *n, const LBlock *body)
{
    for (uint32_t i = 0; i < n->p->buffers.n; i++)
        n->holds_data[i] = n->p->buffers.at[i].kind != LBUF_LOCAL;
    PASS_FOREACH (s, body)
        if (s->buffer.v && s->kind != LSTMT_LOCAL
            && (s->kind != LSTMT_STORE || is_of_data(n, s->a, false)))
            n->holds_data[s->buffer.v] = true;
}

static bool is_near(Near *n, const LExpr *e)
{
    const int last = e->n_args - 1;
    if (e->kind != LEXPR_LOAD || e->ref != LLOAD_EACH
        || !tessi_loop_can_be_near(n->p, e->buffer, e->lanes)
        || !tessi_lexpr(n->p, e->arg[last])->lanes || is_of_data(n, e->arg[last], true))
        return false;
    for (int d = 0; d < last; d++)
        if (tessi_lexpr(n->p, e->arg[d])->lanes)
            return false;
    return true;
}

static LExprId changed(void *user, LExprId id)
{
    Near *n = user;
    const LExpr e = *tessi_lexpr(n->p, id);
    if (!id.v || !e.lanes)
        return id;
    if (!n->as[id.v].v) {
        const LExprId as = is_near(n, &e)
                               ? tessi_lexpr_load_lanes(n->p, e.lanes, LLOAD_NEAR, e.buffer, e.arg)
                               : tessi_pass_changed(n->p, id, changed, n);
        n->as[id.v] = as;
    }
    return n->as[id.v];
}

static bool has_places(const LoopProgram *p)
{
    for (uint32_t i = 1; i < p->exprs.n; i++) {
        const LExpr *e = tessi_lexpr(p, (LExprId){ i });
        if (e->kind == LEXPR_LOAD && e->ref == LLOAD_EACH)
            return true;
    }
    return false;
}

static void visit(Near *n, const LFunction *f)
{
    Arena *a = tessi_scratch_open(n->p->arena);
    n->made_of = ARENA_NEW_ARRAY(a, uint8_t, n->p->exprs.n);
    n->lanes = ARENA_NEW_ARRAY(a, uint8_t, n->p->exprs.n);
    n->as = ARENA_NEW_ARRAY(a, LExprId, n->p->exprs.n);
    tessi_pass_definitions(&f->body, n->definition);
    PASS_FOREACH (s, &f->body)
        if (s->kind == LSTMT_LET)
            n->value[s->var.v] = s->a;
    find_tables(n, &f->body);
    PASS_FOREACH (s, &f->body) {
        s->a = changed(n, s->a);
        s->b = changed(n, s->b);
    }
    tessi_scratch_close(a);
}

void tessi_loop_near(LoopProgram *p)
{
    if (!has_places(p))
        return;
    Arena *a = tessi_scratch_open(p->arena);
    Near n = { .p = p,
               .definition = ARENA_NEW_ARRAY(a, const LStmt *, p->vars.n),
               .value = ARENA_NEW_ARRAY(a, LExprId, p->vars.n),
               .holds_data = ARENA_NEW_ARRAY(a, bool, p->buffers.n) };
    VEC_FOREACH (LFunction, f, &p->functions)
        if (!f->is_kernel)
            visit(&n, f);
    tessi_scratch_close(a);
}
