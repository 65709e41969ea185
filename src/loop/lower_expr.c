/* Graph expressions to loop expressions: pure nodes one to one, windows through lower_window.c, reads as loads or,
 * for an inlined producer, as its body evaluated at the point read. */
#include <string.h>

#include "loop/lower_copy.h"
#include "loop/lower_window.h"

ExprList tessi_reach(Lower *l, const ExprId *roots, uint32_t n)
{
    if (!l->reach)
        l->reach = ARENA_NEW_ARRAY(l->scratch, ExprList, l->g->exprs.n);
    if (n == 1 && l->reach[roots->v].n)
        return l->reach[roots->v];
    const ExprList *list = tessi_expr_walk(&l->walk, l->g, roots, n);
    ExprList copy = { ARENA_NEW_ARRAY(l->scratch, ExprId, (size_t)list->n + 1), list->n, list->n };
    if (list->n)
        memcpy(copy.at, list->at, list->n * sizeof *copy.at);
    if (n == 1)
        l->reach[roots->v] = copy;
    return copy;
}

Eval *tessi_eval_new(Lower *l, const ExprId *roots, uint32_t n, uint8_t n_dims)
{
    Eval *ev = ARENA_NEW(l->scratch, Eval);
    ev->n_dims = n_dims;
    ev->exprs = tessi_reach(l, roots, n);
    ev->value = ARENA_NEW_ARRAY(l->scratch, uint32_t, (size_t)ev->exprs.n + 1);
    return ev;
}

uint32_t *tessi_eval_cell(const Eval *ev, ExprId id)
{
    uint32_t lo = 0, hi = ev->exprs.n;
    while (hi - lo > 1) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (ev->exprs.at[mid].v <= id.v)
            lo = mid;
        else
            hi = mid;
    }
    return &ev->value[lo];
}

void tessi_eval_set(Lower *l, Eval *ev, ExprId id, LExprId value)
{
    uint32_t *cell = tessi_eval_cell(ev, id);
    *cell = value.v;
    tessi_scope_remember(l, cell);
}

static LExprId value_of(const Eval *ev, ExprId id)
{
    return (LExprId){ id.v ? *tessi_eval_cell(ev, id) : 0 };
}

/* ---- Reads ----------------------------------------------------------------------------------- */

const char *tessi_eval_name(Lower *l, StageId s, const Coord *at)
{
    const Stage *stage = tessi_stage(l->g, s);
    Text t = tessi_text_new(l->arena);
    tessi_text_add(&t, stage->name);
    bool here = true;
    for (int d = 0; d < stage->n_dims; d++)
        here = here && at[d].dim == d && at[d].scale == 1 && at[d].lo == 0 && at[d].hi == 0;
    for (int d = 0; d < stage->n_dims && !here; d++) {
        if (at[d].dim >= 0 && at[d].lo == at[d].hi)
            tessi_text_addf(&t, "_%s%lld",
                            at[d].lo < 0   ? "m"
                            : at[d].lo > 0 ? "p"
                                           : "",
                            (long long)(at[d].lo < 0 ? -at[d].lo : at[d].lo));
    }
    return tessi_text_str(&t);
}

LExprId tessi_place_index(Lower *l, const Place *place, int d, LExprId at)
{
    if (place->ring && d == place->ring_dim)
        return tessi_l_op(l, OP_FLOORMOD, at, tessi_l_int(l, place->ring));
    return tessi_l_op(l, OP_SUB, at, place->origin[d]);
}

static LExprId load_stored(Lower *l, StageId s, const Coord *at, bool pinned)
{
    const Stage *stage = tessi_stage(l->g, s);
    const Place *place = &l->place[s.v];
    LExprId index[MAX_DIMS];
    if (place->value.v)
        return place->value;
    for (int d = 0; d < stage->n_dims; d++)
        index[d] = place->scratch.v ? tessi_place_index(l, place, d, at[d].e) : at[d].e;
    LBufferId buffer = place->scratch.v ? place->scratch
                       : place->copy.v  ? place->copy
                                        : l->buffer[s.v];
    LExprId load = tessi_lexpr_load(l->p, buffer, index, stage->n_dims);
    if (l->p->buffers.at[buffer.v].kind == LBUF_LOCAL)
        tessi_pin(l, load, l->tile_depth);
    if (pinned && tessi_known(l, load)->varies) /* what depends on no loop is inside anyway */
        tessi_pin(l, load, l->guard_depth);
    if (!tessi_known(l, load)->hint)
        tessi_hint(l, load, tessi_eval_name(l, s, at));
    return load;
}

typedef struct InlineKey {
    const Lower *l;
    StageId stage;
    const Coord *at;
    uint8_t n_dims;
} InlineKey;

static bool same_use(void *user, uint32_t id)
{
    const InlineKey *key = user;
    const InlineUse *use = key->l->inline_uses.at[id];
    if (use->stage.v != key->stage.v)
        return false;
    for (int d = 0; d < key->n_dims; d++)
        if (use->coord[d].v != key->at[d].e.v)
            return false;
    return true;
}

/* Where the value of stage s at this point is kept while it is valid. */
static InlineUse *inline_use(Lower *l, StageId s, const Coord *at)
{
    InlineKey key = { l, s, at, tessi_stage(l->g, s)->n_dims };
    uint64_t h = tessi_hash_u64(1, s.v);
    for (int d = 0; d < key.n_dims; d++)
        h = tessi_hash_u64(h, at[d].e.v);
    uint32_t id = tessi_idmap_find(&l->inline_map, h, same_use, &key);
    if (!id) {
        InlineUse *use = ARENA_NEW(l->scratch, InlineUse);
        use->stage = s;
        for (int d = 0; d < key.n_dims; d++)
            use->coord[d] = at[d].e;
        if (!l->inline_uses.n)
            VEC_PUSH(l->scratch, &l->inline_uses, NULL);
        VEC_PUSH(l->scratch, &l->inline_uses, use);
        id = l->inline_uses.n - 1;
        tessi_idmap_add(l->scratch, &l->inline_map, h, id);
    }
    return l->inline_uses.at[id];
}

void tessi_eval_is(Lower *l, StageId s, const Coord *at, LExprId value)
{
    InlineUse *use = inline_use(l, s, at);
    use->value = value.v;
    tessi_scope_remember(l, &use->value);
}

LExprId tessi_eval_stage(Lower *l, StageId s, const Coord *at, bool pinned)
{
    const Stage *stage = tessi_stage(l->g, s);
    if (!tessi_plan_is_inline(l->plan, s))
        return load_stored(l, s, at, pinned);
    InlineUse *use = inline_use(l, s, at);
    if (use->value)
        return (LExprId){ use->value };
    ExprId body = stage->pieces.at[0].body;
    Eval *ev = tessi_eval_new(l, &body, 1, stage->n_dims);
    ev->pinned = pinned;
    for (int d = 0; d < stage->n_dims; d++)
        ev->coord[d] = at[d];
    LExprId value = tessi_eval_expr(l, ev, body);
    if (stage->type == TYPE_F16)
        value = tessi_lexpr_op(l->p, OP_ROUND16, value, (LExprId){ 0 }, (LExprId){ 0 });
    if (!tessi_known(l, value)->hint)
        tessi_hint(l, value, tessi_eval_name(l, s, at));
    use->value = value.v;
    tessi_scope_remember(l, &use->value);
    return value;
}

/* The image itself. */
static LExprId read_image(Lower *l, const Eval *ev, const Access *access)
{
    Read r;
    tessi_read(l, ev, access, &r);
    LExprId value = tessi_eval_stage(l, access->producer, r.at, r.guarded);
    return r.in.v ? tessi_l_select(l, r.in, value, value_of(ev, access->outside)) : value;
}

/* Loads are not to be executed outside of the branch in hand; elsewhere they may be. */
static void set_here(Lower *l, LVarId var, LExprId value)
{
    const LExpr *e = tessi_lexpr(l->p, value);
    const LExprId load = e->kind == LEXPR_OP && e->op == OP_SELECT ? e->arg[1] : value;
    const uint32_t pin = tessi_known(l, load)->pin;
    tessi_pin(l, load, tessi_scope_depth(l));
    tessi_lower_set(l, var, tessi_scope_place1(l, value));
    tessi_known(l, load)->pin = pin;
}

/* From a copy that has some of the image, where it has it; else from the image. */
static LExprId read_either(Lower *l, const Eval *ev, const Access *access, const CopyRead *copy)
{
    const Stage *s = tessi_stage(l->g, access->producer);
    const ScalarType t = tessi_lexpr(l->p, copy->load)->type;
    LVarId either = tessi_scope_var(l, s->name, t, tessi_lexpr_const(l->p, t, (Value){ 0 }));
    tessi_scope_if(l, tessi_scope_place1(l, copy->if_in));
    set_here(l, either, copy->load);
    tessi_scope_else(l);
    set_here(l, either, read_image(l, ev, access));
    tessi_scope_close(l);
    return tessi_scope_let(l, s->name, tessi_lexpr_var(l->p, either));
}

static LExprId eval_load(Lower *l, const Eval *ev, const Expr *load)
{
    const Access *access = tessi_access(l->g, load->access);
    CopyRead copy;
    if (!tessi_copy_read(l, ev, access, &copy))
        return read_image(l, ev, access);
    return copy.if_in.v ? read_either(l, ev, access, &copy) : copy.load;
}

/* ---- Expressions ----------------------------------------------------------------------------- */

static LExprId window_var(const Eval *ev, const Expr *e)
{
    for (uint32_t i = ev->open.n; i-- > 0;)
        if (ev->open.at[i].window.v == e->window.v)
            return ev->open.at[i].var[e->ref];
    return (LExprId){ 0 };
}

static LExprId coordinate(Lower *l, const Coord *c)
{
    if (!c->beyond && !c->loose)
        return c->e;
    return tessi_border_expr(l, c->beyond ? BORDER_WRAP : BORDER_CLAMP, c->e,
                             tessi_lower_size(l, c->count));
}

/* The index of a table: a byte as such, by which vectors look up 64 at once. */
static LExprId table_index(Lower *l, LExprId a)
{
    const LExpr *e = tessi_lexpr(l->p, a);
    const bool byte = e->kind == LEXPR_CAST && tessi_lexpr(l->p, e->arg[0])->type == TYPE_U8;
    return tessi_lexpr_cast(l->p, TYPE_INDEX, byte && e->type == TYPE_I32 ? e->arg[0] : a);
}

static LExprId make(Lower *l, const Eval *ev, const Expr *e)
{
    LExprId a = value_of(ev, e->arg[0]);
    switch (e->kind) {
    case EXPR_CONST: return tessi_lexpr_const(l->p, e->type, e->value);
    case EXPR_OP:
        return tessi_lexpr_op(l->p, e->op, a, value_of(ev, e->arg[1]), value_of(ev, e->arg[2]));
    case EXPR_CAST: return tessi_lexpr_cast(l->p, e->type, a);
    case EXPR_SAT: return tessi_lexpr_sat(l->p, e->type, a);
    case EXPR_LOAD: return eval_load(l, ev, e);
    case EXPR_SCALAR: return tessi_lexpr_scalar(l->p, e->ref);
    case EXPR_INDEX: return tessi_lexpr_cast(l->p, e->type, coordinate(l, &ev->coord[e->ref]));
    case EXPR_SIZE: return tessi_lexpr_cast(l->p, e->type, tessi_lower_size(l, e->size));
    case EXPR_WINVAR: return tessi_lexpr_cast(l->p, e->type, window_var(ev, e));
    case EXPR_TABLE: {
        LExprId at = table_index(l, a);
        const Table *table = tessi_table(l->g, e->table);
        const LExpr *known = tessi_lexpr(l->p, at);
        if (known->kind == LEXPR_CONST && known->value.i >= 0 && known->value.i < table->n)
            return tessi_lexpr_const(l->p, table->type, table->at[known->value.i]);
        return tessi_lexpr_load(l->p, tessi_lower_table(l, e->table), &at, 1);
    }
    case EXPR_STATE:         /* set by tessi_eval_step */
    case EXPR_WINDOW: break; /* made by tessi_eval_window */
    }
    return (LExprId){ 0 };
}

LExprId tessi_eval_expr(Lower *l, Eval *ev, ExprId root)
{
    ExprList stack = { 0 };
    VEC_PUSH(l->scratch, &stack, root);
    while (stack.n) {
        ExprId id = stack.at[stack.n - 1];
        if (value_of(ev, id).v) {
            stack.n--;
            continue;
        }
        const Expr *e = tessi_expr(l->g, id);
        if (e->kind == EXPR_WINDOW) {
            tessi_eval_window(l, ev, id);
            continue;
        }
        ExprId child[MAX_EXPR_CHILDREN];
        uint32_t n = tessi_expr_children(l->g, e, child), before = stack.n;
        for (uint32_t i = 0; i < n; i++)
            if (!value_of(ev, child[i]).v)
                VEC_PUSH(l->scratch, &stack, child[i]);
        if (stack.n == before)
            tessi_eval_set(l, ev, id, make(l, ev, e));
    }
    return value_of(ev, root);
}

LExprId tessi_eval_step(Lower *l, ExprId body, const LExprId *state)
{
    Eval *ev = tessi_eval_new(l, &body, 1, 0);
    VEC_FOREACH (const ExprId, e, &ev->exprs) {
        const Expr *x = tessi_expr(l->g, *e);
        if (x->kind == EXPR_STATE)
            tessi_eval_set(l, ev, *e, state[x->ref]);
    }
    return tessi_eval_expr(l, ev, body);
}
