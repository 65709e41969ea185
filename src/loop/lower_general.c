/* General code for sums over masks that come with the run: the extents of the masks are parameters of the loops
 * instead of constants, so that the text is the same for masks of all extents. It is what runs while the code for
 * the extents at hand is being compiled. Sums are taken in the order of the graph, so the bits are the same.
 *
 *   for each row of the result, and strip of it:
 *     for each row of the mask, and each few coefficients of it:  sums of the strip += coefficients x what the strip
 *                                                                 reads
 *
 * (in kernels a thread has the sums of a few points, lower_general_kernel.c).
 *
 * Four parameters follow those of the program for each sum: rows and columns of the mask, and the least values of
 * the two window variables. */
#include "loop/lower_general.h"
#include "graph/graph_transform.h"
#include "loop/lower_gather.h"
#include "loop/lower_window.h"

enum { STRIP = 256, TOGETHER = 4, N_EXTENTS = 4 };

struct GeneralSums {
    VEC(GeneralSum) at;
};

/* ---- What can be ----------------------------------------------------------------------------- */

/* w[i - lo, j - lo] of an input, all of which the window covers. */
static bool is_given_mask(const Graph *g, ExprId weight, const Window *w, StageId *mask)
{
    const Expr *e = tessi_expr(g, weight);
    if (e->kind != EXPR_LOAD)
        return false;
    const Access *a = tessi_access(g, e->access);
    const Stage *s = tessi_stage(g, a->producer);
    *mask = a->producer;
    if (s->kind != STAGE_INPUT || !g->inputs.at[s->image].is_mask || a->n_dims != 2)
        return false;
    for (uint8_t d = 0; d < 2; d++) {
        const AccessDim *dim = &a->dim[d];
        int64_t add, size;
        if (dim->src >= 0 || dim->index.v || dim->n_terms != 1 || dim->term[0].var != d
            || dim->term[0].coef != 1 || !tessi_size_is_const(g, dim->add, &add)
            || !tessi_size_is_const(g, s->size[d], &size) || add != -(int64_t)w->lo[d]
            || size != (int64_t)w->hi[d] - w->lo[d] + 1)
            return false;
    }
    return true;
}

static bool reads_at_window(const Graph *g, AccessId read)
{
    const Access *a = tessi_access(g, read);
    bool at = true;
    for (uint8_t d = 0; d < a->n_dims; d++) {
        int64_t add;
        at = at && tessi_size_is_const(g, a->dim[d].add, &add) && add == 0;
    }
    return at;
}

/* Every window of the stage is such a sum, and there is at most one; *found says whether there is. */
static bool look_at(const Graph *g, ExprWalk *bodies, ExprWalk *parts, StageId id, GeneralSum *out,
                    bool *found)
{
    const Stage *s = tessi_stage(g, id);
    *found = false;
    VEC_FOREACH (const Piece, piece, &s->pieces) {
        const ExprList *list = tessi_expr_walk(bodies, g, &piece->body, 1);
        VEC_FOREACH (const ExprId, e, list) {
            if (tessi_expr(g, *e)->kind != EXPR_WINDOW)
                continue;
            *out = (GeneralSum){ .stage = id };
            if (*found || s->pieces.n != 1
                || !tessi_wide_sum(g, parts, s->n_dims, *e, &out->sum, NULL) || out->sum.where.v
                || !is_given_mask(g, out->sum.weight, tessi_window(g, tessi_expr(g, *e)->window),
                                  &out->mask)
                || !reads_at_window(g, out->sum.read))
                return false;
            *found = true;
        }
    }
    return true;
}

GeneralSums *tessi_general_sums(Arena *a, const Graph *g, const Plan *plan)
{
    GeneralSums *sums = ARENA_NEW(a, GeneralSums);
    ExprWalk bodies = { .arena = a }, parts = { .arena = a };
    GRAPH_FOREACH_STAGE (g, id) {
        GeneralSum sum;
        bool found;
        if (!plan->needed[id.v] || tessi_stage(g, id)->kind == STAGE_INPUT)
            continue;
        if (!look_at(g, &bodies, &parts, id, &sum, &found))
            return NULL;
        if (found)
            VEC_PUSH(a, &sums->at, sum);
    }
    return sums->at.n ? sums : NULL;
}

uint32_t tessi_general_params(const Graph *g, const GeneralSums *sums, int64_t *out)
{
    uint32_t n = 0;
    VEC_FOREACH (const GeneralSum, s, &sums->at) {
        const Window *w = tessi_window(g, tessi_expr(g, s->sum.window)->window);
        const int64_t value[N_EXTENTS] = { s->sum.rows, s->sum.cols, w->lo[0], w->lo[1] };
        for (int k = 0; k < N_EXTENTS; k++, n++)
            if (out)
                out[n] = value[k];
    }
    return n;
}

/* ---- Interface ------------------------------------------------------------------------------- */

void tessi_general_interface(Lower *l)
{
    static const char *const names[N_EXTENTS] = { "rows", "columns", "top", "left" };
    VEC_FOREACH (GeneralSum, s, &l->general->at) {
        const Stage *mask = tessi_stage(l->g, s->mask);
        LExprId value[N_EXTENTS];
        for (int k = 0; k < N_EXTENTS; k++) {
            value[k] = tessi_lexpr_param(l->p, l->p->params.n);
            VEC_PUSH(l->arena, &l->p->params,
                     tessi_sprintf(l->arena, "%s_%s", mask->name, names[k]));
        }
        LBuffer *b = &l->p->buffers.at[l->buffer[s->mask.v].v];
        for (uint8_t d = 0; d < 2; d++) {
            s->extent[d] = l->p->inputs.at[mask->image].size[d] = b->size[d] = value[d];
            s->least[d] = value[2 + d];
        }
    }
}

/* ---- Sums ------------------------------------------------------------------------------------ */

typedef struct Strips {
    Lower *l;
    const PlanGroup *group;
    const GeneralSum *s;
    Gather read;
    LBufferId sums;
    LExprId y, first_y;
    bool inside; /* all columns that are read */
} Strips;

static LExprId plus(Lower *l, LExprId a, LExprId b)
{
    return tessi_l_op(l, OP_ADD, a, b);
}

static LExprId loop(Lower *l, const char *name, LExprId from, LExprId to, int64_t step,
                    uint8_t flags)
{
    return tessi_lexpr_var(l->p, tessi_scope_for(l, name, from, to, step, flags));
}

static void store_sum(const Strips *k, LExprId at, LExprId value)
{
    LStmt *s = tessi_scope_stmt(k->l, LSTMT_STORE);
    s->buffer = k->sums;
    s->n_index = 2;
    s->index[0] = tessi_l_int(k->l, 0);
    s->index[1] = at;
    s->a = value;
}

/* The sum at a place of the strip after n more coefficients of row i, from column j on. */
static LExprId stepped(const Strips *k, LExprId i, LExprId j, uint32_t n, const LExprId *weight,
                       LExprId row, LExprId in, LExprId at)
{
    Lower *l = k->l;
    const Expr *e = tessi_expr(l->g, k->s->sum.window);
    const LExprId index[2] = { tessi_l_int(l, 0), at };
    LExprId sum = tessi_lexpr_load(l->p, k->sums, index, 2);
    for (uint32_t t = 0; t < n; t++) {
        const LExprId x = plus(l, at, plus(l, j, tessi_l_int(l, t)));
        LExprId value = k->inside ? tessi_gather_value(&k->read, row, plus(l, k->read.first[1], x))
                                  : tessi_gather_answered(&k->read, i, x);
        if (k->inside && in.v)
            value = tessi_l_select(l, in, value, k->read.outside);
        sum = e->fused ? tessi_lexpr_op(l->p, OP_FMA, weight[t], value, sum)
                       : plus(l, sum, tessi_l_op(l, OP_MUL, weight[t], value));
    }
    return sum;
}

/* n coefficients of row i from column j on, for all of the strip. */
static void add_coefficients(const Strips *k, LExprId i, LExprId j, uint32_t n, LExprId row,
                             LExprId in, LExprId points)
{
    Lower *l = k->l;
    LExprId weight[TOGETHER];
    for (uint32_t t = 0; t < n; t++) {
        const LExprId index[2] = { i, plus(l, j, tessi_l_int(l, t)) };
        weight[t] =
            tessi_scope_let(l, "w", tessi_lexpr_load(l->p, l->buffer[k->s->mask.v], index, 2));
    }
    LExprId at = loop(l, "at", tessi_l_int(l, 0), points, 1, k->inside ? LFOR_SIMD : 0);
    store_sum(k, at, tessi_scope_place1(l, stepped(k, i, j, n, weight, row, in, at)));
    tessi_scope_close(l);
}

static void strip(Strips *k, LExprId x, LExprId points)
{
    Lower *l = k->l;
    const LExprId zero = tessi_l_int(l, 0), *extent = k->s->extent;
    const Expr *e = tessi_expr(l->g, k->s->sum.window);
    k->read.first[0] = k->first_y;
    k->read.first[1] = tessi_scope_let(l, "first_x", plus(l, x, k->s->least[1]));
    LExprId at = loop(l, "at", zero, points, 1, LFOR_SIMD);
    store_sum(k, at, tessi_window_start(l, e, COND_NONE));
    tessi_scope_close(l);
    LExprId i = loop(l, "i", zero, extent[0], 1, 0), in = { 0 };
    LExprId row = tessi_scope_let(l, "row", tessi_gather_row(&k->read, i));
    if (k->read.read->dim[0].rule == BORDER_CONSTANT)
        in = tessi_scope_let(l, "in", tessi_l_op(l, OP_EQ, row, plus(l, k->read.first[0], i)));
    LExprId whole = tessi_l_op(l, OP_FLOORDIV, extent[1], tessi_l_int(l, TOGETHER));
    whole = tessi_scope_let(l, "whole", tessi_l_op(l, OP_MUL, whole, tessi_l_int(l, TOGETHER)));
    add_coefficients(k, i, loop(l, "j", zero, whole, TOGETHER, 0), TOGETHER, row, in, points);
    tessi_scope_close(l);
    add_coefficients(k, i, loop(l, "j", whole, extent[1], 1, 0), 1, row, in, points);
    tessi_scope_close(l);
    tessi_scope_close(l);
    tessi_give_row(l, k->group, k->s->sum.window, k->sums, zero, k->y, x, plus(l, x, points));
}

static void strips(Strips *k, LExprId from, LExprId to, bool inside)
{
    Lower *l = k->l;
    k->inside = inside;
    LExprId x = loop(l, "x_strip", from, to, STRIP, 0);
    LExprId points = tessi_l_op(l, OP_SUB, to, x);
    points = tessi_scope_let(l, "points", tessi_l_op(l, OP_MIN, points, tessi_l_int(l, STRIP)));
    strip(k, x, points);
    tessi_scope_close(l);
}

static void by_strips(Lower *l, const PlanGroup *group, const GeneralSum *sum)
{
    Strips k = { .l = l, .group = group, .s = sum };
    const Stage *stage = tessi_stage(l->g, k.s->stage);
    const LExprId zero = tessi_l_int(l, 0), width = tessi_lower_size(l, stage->size[1]);
    l->n_loop_dims = 2;
    l->inside_last = l->inside_rows = false;
    k.read = tessi_gather_new(l, tessi_access(l->g, k.s->sum.read),
                              tessi_expr(l->g, k.s->sum.window)->type);
    LExprId from = tessi_l_op(l, OP_SUB, zero, k.s->least[1]);
    from = tessi_l_op(l, OP_MIN, tessi_l_op(l, OP_MAX, from, zero), width);
    from = tessi_scope_let(l, "inside_from", from);
    LExprId last = plus(l, k.s->extent[1], k.s->least[1]);
    LExprId to = tessi_l_op(l, OP_SUB, plus(l, k.read.size[1], tessi_l_int(l, 1)), last);
    to = tessi_l_op(l, OP_MAX, tessi_l_op(l, OP_MIN, to, width), from);
    to = tessi_scope_let(l, "inside_to", to);
    k.y = loop(l, "y", zero, tessi_lower_size(l, stage->size[0]), 1, LFOR_PARALLEL);
    k.first_y = tessi_scope_let(l, "first_y", plus(l, k.y, k.s->least[0]));
    LBuffer b = { .name = tessi_sprintf(l->arena, "%s_sums", stage->name),
                  .kind = LBUF_LOCAL,
                  .type = tessi_expr(l->g, k.s->sum.window)->type,
                  .n_dims = 2,
                  .size = { tessi_l_int(l, 1), tessi_l_int(l, STRIP) } };
    k.sums = tessi_loop_buffer(l->p, &b);
    tessi_scope_stmt(l, LSTMT_LOCAL)->buffer = k.sums;
    strips(&k, zero, from, false);
    strips(&k, from, to, true);
    strips(&k, to, width, false);
    tessi_scope_close(l);
}

bool tessi_lower_general(Lower *l, const PlanGroup *group)
{
    VEC_FOREACH (const GeneralSum, s, &l->general->at) {
        if (s->stage.v != group->members.at[0].v)
            continue;
        if (l->plan->gpu)
            tessi_kernel_general(l, group, s);
        else
            by_strips(l, group, s);
        return true;
    }
    return false;
}
