/* Coefficients that come with the run have no place in the code. On GPUs a block first copies them into shared
 * memory, and its threads take them from there by whole vectors, all the same ones at a time. On processors loops
 * copy them into an array of their own, whose rows lie at known distances: a step reads as many rows of coefficients
 * as it has rows of results, and where each of them has an address of its own, compilers run out of registers and
 * load addresses again at each step. */
#include "loop/lower_given.h"
#include "loop/lower_kernel.h"

enum { VECTOR_BYTES = 16, MOST_LOCAL_BYTES = 1 << 16 };

void tessi_given_find(Lower *l, const ExprList *bodies, WindowId window, Coefficients *out)
{
    const Window *w = tessi_window(l->g, window);
    *out = (Coefficients){ .window = window,
                           .w = w,
                           .height = (int64_t)w->hi[0] - w->lo[0] + 1,
                           .across = (int64_t)w->hi[1] - w->lo[1] + 1 };
    ExprList list = tessi_reach(l, bodies->at, bodies->n);
    for (uint32_t i = 0; i < list.n; i++) {
        const Expr *e = tessi_expr(l->g, list.at[i]);
        if (e->kind != EXPR_LOAD)
            continue;
        const Access *a = tessi_access(l->g, e->access);
        if (tessi_access_is_fixed(a)
            && !l->place[a->producer.v].copy.v) /* not in constant memory */
            VEC_PUSH(l->arena, &out->masks, ((Given){ .load = list.at[i] }));
    }
    VEC_FOREACH (Given, g, &out->masks)
        g->value = ARENA_NEW_ARRAY(l->arena, LExprId, (size_t)out->across);
}

/* What pads a row is any coefficient of it. */
static void copy_mask(Lower *l, const Nest *nest, const Coefficients *c, Given *g)
{
    const Expr *e = tessi_expr(l->g, g->load);
    const Stage *mask = tessi_stage(l->g, tessi_access(l->g, e->access)->producer);
    g->width = VECTOR_BYTES / tessi_type_info(mask->type)->bytes;
    const int64_t pitch = (c->across + g->width - 1) / g->width * g->width;
    const int64_t size[2] = { c->height, pitch };
    const char *name = tessi_sprintf(l->arena, "%s_shared", mask->name);
    g->shared = tessi_scope_local(l, name, mask->type, 2, size);
    /* A name of its own keeps the places here: blocks that take more than one turn would carry them along in
     * registers. */
    LExprId number = tessi_kernel_threads(l, 0, "element", c->height * pitch), at[2];
    number = tessi_scope_here(l, "number", number);
    at[0] = tessi_scope_let(l, "row", tessi_l_op(l, OP_FLOORDIV, number, tessi_l_int(l, pitch)));
    at[1] = tessi_scope_let(l, "column", tessi_l_op(l, OP_FLOORMOD, number, tessi_l_int(l, pitch)));
    LExprId last = tessi_l_int(l, c->across - 1);
    WindowVars vars = { .window = c->window };
    vars.var[0] = tessi_l_op(l, OP_ADD, at[0], tessi_l_int(l, c->w->lo[0]));
    vars.var[1] =
        tessi_l_op(l, OP_ADD, tessi_l_op(l, OP_MIN, at[1], last), tessi_l_int(l, c->w->lo[1]));
    Eval *ev = tessi_eval_new(l, &g->load, 1, nest->n_dims);
    VEC_PUSH(l->arena, &ev->open, vars);
    LExprId value = tessi_eval_expr(l, ev, g->load);
    tessi_pin(l, value, tessi_scope_depth(l));
    tessi_scope_store(l, g->shared, at, 2, tessi_scope_place1(l, value));
    tessi_scope_close(l);
}

void tessi_given_copy(Lower *l, const Nest *nest, Coefficients *c)
{
    VEC_FOREACH (Given, g, &c->masks)
        copy_mask(l, nest, c, g);
}

static void take_vector(Lower *l, const Given *g, LExprId row, int64_t first, int64_t across)
{
    const LBuffer shared = l->p->buffers.at[g->shared.v];
    const char *name = tessi_sprintf(l->arena, "%s_line", shared.name);
    LBufferId line = tessi_new_line(l, name, shared.type, g->width);
    tessi_scope_move(l, line, g->shared, (const LExprId[]){ row, tessi_l_int(l, first) }, 2);
    for (uint32_t k = 0; k < g->width && first + k < across; k++) {
        LExprId at = tessi_l_int(l, k), value = tessi_lexpr_load(l->p, line, &at, 1);
        tessi_pin(l, value, tessi_scope_depth(l));
        g->value[first + k] = tessi_scope_let(l, "w", value);
    }
}

void tessi_given_take(Lower *l, Coefficients *c, LExprId row, int64_t column)
{
    VEC_FOREACH (const Given, g, &c->masks)
        if (column % g->width == 0)
            take_vector(l, g, row, column, c->across);
}

void tessi_given_set(Lower *l, const Coefficients *c, Eval *ev, int64_t column)
{
    VEC_FOREACH (const Given, g, &c->masks)
        tessi_eval_set(l, ev, g->load, g->value[column]);
}

/* ---- Processors ------------------------------------------------------------------------------ */

/* The read is of a whole mask of two dimensions, or most of it, and moves with a window alone. */
static bool reads_mask(const Lower *l, const Access *a, int64_t size[2])
{
    const Stage *mask = tessi_stage(l->g, a->producer);
    const Place *place = &l->place[a->producer.v];
    int64_t taps = 1;
    bool ok = a->n_dims == 2 && tessi_access_is_fixed(a) && !place->scratch.v && !place->copy.v
              && !tessi_plan_is_inline(l->plan, a->producer);
    for (int d = 0; ok && d < 2; d++) {
        ok = a->dim[d].n_terms <= 1 && tessi_size_is_const(l->g, mask->size[d], &size[d]);
        if (!ok || !a->dim[d].n_terms)
            continue;
        const AccessTerm *t = &a->dim[d].term[0];
        const Window *w = tessi_window(l->g, t->window);
        taps *= (int64_t)w->hi[t->var] - w->lo[t->var] + 1;
    }
    return ok && size[0] <= MOST_LOCAL_BYTES && size[1] <= MOST_LOCAL_BYTES
           && size[0] * size[1] <= 2 * taps
           && size[0] * size[1] * tessi_type_info(mask->type)->bytes <= MOST_LOCAL_BYTES;
}

static LBufferId copy_whole(Lower *l, StageId id, const int64_t size[2])
{
    const Stage *mask = tessi_stage(l->g, id);
    const char *name = tessi_sprintf(l->arena, "%s_copy", mask->name);
    const LBufferId copy = tessi_scope_local(l, name, mask->type, 2, size);
    LExprId at[2];
    for (int d = 0; d < 2; d++)
        at[d] = tessi_lexpr_var(l->p, tessi_scope_for(l, d ? "column" : "row", tessi_l_int(l, 0),
                                                      tessi_l_int(l, size[d]), 1, 0));
    tessi_scope_store(l, copy, at, 2, tessi_lexpr_load(l->p, l->buffer[id.v], at, 2));
    tessi_scope_close(l);
    tessi_scope_close(l);
    return copy;
}

void tessi_given_local(Lower *l, const Nest *nest, LocalMasks *out)
{
    *out = (LocalMasks){ .tile_depth = l->tile_depth };
    if (!nest->windows)
        return;
    ExprList list = tessi_reach(l, nest->roots, nest->n_roots);
    for (uint32_t i = 0; i < list.n; i++) {
        const Expr *e = tessi_expr(l->g, list.at[i]);
        const Access *a = e->kind == EXPR_LOAD ? tessi_access(l->g, e->access) : NULL;
        int64_t size[2];
        if (!a || !reads_mask(l, a, size))
            continue;
        l->place[a->producer.v].copy = copy_whole(l, a->producer, size);
        l->tile_depth = tessi_scope_depth(l); /* loads of the copy stay behind it */
        VEC_PUSH(l->arena, &out->masks, a->producer);
    }
}

void tessi_given_local_end(Lower *l, const LocalMasks *masks)
{
    VEC_FOREACH (const StageId, id, &masks->masks)
        l->place[id->v].copy = (LBufferId){ 0 };
    l->tile_depth = masks->tile_depth;
}
