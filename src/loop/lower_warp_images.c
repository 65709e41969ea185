/* What warps read: the rows of images that a step adds, in the registers of threads, of this step or the next; and
 * planes of later steps, in the second cache. */
#include "loop/lower_group.h"
#include "loop/lower_warp.h"

static bool is_load_of(const Graph *g, ExprId id, StageId stage)
{
    const Expr *e = tessi_expr(g, id);
    return e->kind == EXPR_LOAD && tessi_access(g, e->access)->producer.v == stage.v;
}

/* All that reads the stage converts it to float at once. */
static bool is_read_as_float(const Graph *g, StageId stage)
{
    bool is = true;
    for (uint32_t i = 1; i < g->exprs.n && is; i++) {
        const Expr *e = tessi_expr(g, (ExprId){ i });
        ExprId child[MAX_EXPR_CHILDREN];
        const uint32_t n = tessi_expr_children(g, e, child);
        for (uint32_t k = 0; k < n; k++)
            is = is
                 && (!is_load_of(g, child[k], stage)
                     || (e->kind == EXPR_CAST && e->type == TYPE_F32));
    }
    GRAPH_FOREACH_STAGE (g, id) {
        const Stage *s = tessi_stage(g, id);
        for (uint32_t k = 0; k < s->pieces.n && is; k++)
            is = !is_load_of(g, s->pieces.at[k].body, stage);
    }
    return is;
}

ScalarType tessi_warp_type(const Warps *t, const PlanHeld *h)
{
    const ScalarType type = tessi_stage(t->l->g, h->stage)->type;
    const bool small = type == TYPE_U8 || type == TYPE_I8 || type == TYPE_U16 || type == TYPE_I16;
    return h->is_image && small && is_read_as_float(t->l->g, h->stage) ? TYPE_F32 : type;
}

/* Element i of the rows that a step adds of an image. */
static Cell cell_of(const Warps *t, const PlanHeld *h, uint32_t i)
{
    const int64_t line = i / t->columns, lines = tessi_warp_lines(t, h);
    return (Cell){ line / lines, line % lines - h->line, i % t->columns };
}

/* The same of what is read ahead. */
static void element_ahead(const Warps *t, const PlanHeld *h, uint32_t i, LExprId *index)
{
    const Cell at = cell_of(t, h, i);
    for (uint8_t d = 0; d < t->y; d++)
        index[d] = tessi_l_int(t->l, 0);
    index[t->y] = tessi_l_int(t->l, at.row);
    if (t->warp.planes)
        index[t->y + 1] = tessi_l_int(t->l, h->line + at.line);
    index[t->n_dims - 1] = tessi_l_int(t->l, at.column);
}

/* How the elements of an image are found. */
typedef enum Found {
    FOUND_INSIDE,  /* they are there */
    FOUND_IN_ROWS, /* in columns that are there, of rows that rules answer */
    FOUND_BY_RULES
} Found;

/* Elements of an image that a step adds. */
static uint32_t elements_of(const Warps *t, const PlanHeld *h)
{
    return (uint32_t)(t->rows * tessi_warp_lines(t, h) * t->columns);
}

/* These elements of all images, into what is held of them or what is held ahead: together, as channels of a pixel stand
 * side by side. */
static void take_elements(const Warps *t, Point **coord, Found found)
{
    Lower *l = t->l;
    const TileColumns columns = tessi_warp_vectors(t);
    uint32_t n = 0;
    for (uint32_t k = 0; k < t->n_images; k++)
        n += elements_of(t, &t->warp.held.at[k]);
    LExprId *value = ARENA_NEW_ARRAY(l->arena, LExprId, n), index[MAX_DIMS], *next = value;
    for (uint32_t k = 0; k < t->n_images; k++) {
        const PlanHeld *h = &t->warp.held.at[k];
        for (uint32_t i = 0; i < elements_of(t, h); i++, next++) {
            *next = found == FOUND_INSIDE
                        ? tessi_eval_stage(l, h->stage, coord[k][i], true)
                        : tessi_warp_image(t, k, coord[k][i], found == FOUND_IN_ROWS);
            tessi_pin(l, *next, tessi_scope_depth(l));
        }
    }
    if (found != FOUND_BY_RULES)
        tessi_tile_takes(l, value, n, &columns);
    tessi_scope_place(l, value, n);
    next = value;
    for (uint32_t k = 0; k < t->n_images; k++) {
        const PlanHeld *h = &t->warp.held.at[k];
        for (uint32_t i = 0; i < elements_of(t, h); i++, next++) {
            if (t->ahead)
                element_ahead(t, h, i, index);
            else
                tessi_warp_element(t, h, cell_of(t, h, i), index);
            tessi_warp_put(t, LSTMT_STORE, t->ahead ? t->ahead[k] : t->held[k], index, *next);
        }
    }
}

/* The first column of the thread, or of the one at the edge that is next to it. */
static LExprId nearest_columns(const Warps *t)
{
    Lower *l = t->l;
    const LExprId zero = tessi_l_int(l, 0), columns = tessi_l_int(l, t->columns);
    LExprId last = tessi_l_op(l, OP_SUB, tessi_warp_size(t, 1), columns);
    LExprId x = tessi_l_op(l, OP_MAX, tessi_l_op(l, OP_MIN, t->column, last), zero);
    return tessi_scope_let(l, "nearest", x);
}

/* The rows of images that the step adds. Threads whose columns are all there take them as vectors, but for those of
 * the next step: what comes by one of two ways is waited for where these meet, and not where it is of use (turns of 5
 * and 9 points lost a fifth and more so). */
void tessi_warp_take(Warps *t)
{
    Lower *l = t->l;
    const Nest *nest = &t->part[t->n_parts - 1].nest;
    const LExprId column = t->column;
    Point **coord = ARENA_NEW_ARRAY(l->arena, Point *, t->n_images);
    Place *held = ARENA_NEW_ARRAY(l->arena, Place, t->n_images);
    if (t->in_planes)
        t->column = nearest_columns(t);
    for (uint32_t k = 0; k < t->n_images; k++) {
        const PlanHeld *h = &t->warp.held.at[k];
        const int64_t around[2] = { h->line, h->below };
        const Patch patch = tessi_warp_patch(t, nest, h->delay, around, NULL);
        coord[k] = tessi_patch_points(l, nest, &patch);
        held[k] = l->place[h->stage.v];
        l->place[h->stage.v] = (Place){ 0 };
    }
    if (!t->answers) {
        take_elements(t, coord, FOUND_INSIDE);
    } else if (t->in_planes) {
        take_elements(t, coord, FOUND_IN_ROWS);
    } else if (t->ahead) {
        take_elements(t, coord, FOUND_BY_RULES);
    } else {
        tessi_scope_if(l, tessi_warp_columns_there(t));
        take_elements(t, coord, FOUND_IN_ROWS);
        tessi_scope_else(l);
        take_elements(t, coord, FOUND_BY_RULES);
        tessi_scope_close(l);
    }
    for (uint32_t k = 0; k < t->n_images; k++)
        l->place[t->warp.held.at[k].stage.v] = held[k];
    t->column = column;
}

/* What was read ahead. */
void tessi_warp_take_from_ahead(const Warps *t, uint32_t number)
{
    const PlanHeld *h = &t->warp.held.at[number];
    LExprId to[MAX_DIMS], from[MAX_DIMS];
    for (uint32_t i = 0; i < elements_of(t, h); i++) {
        tessi_warp_element(t, h, cell_of(t, h, i), to);
        element_ahead(t, h, i, from);
        tessi_warp_put(t, LSTMT_STORE, t->held[number], to,
                       tessi_lexpr_load(t->l->p, t->ahead[number], from, t->n_dims));
    }
}

/* Asks the second cache for a plane of an image, a line of it for each thread; the lines around are those of other
 * warps. */
void tessi_warp_fetch(const Warps *t, uint32_t number)
{
    enum { LINE_BYTES = 128 };
    Lower *l = t->l;
    const PlanHeld *h = &t->warp.held.at[number];
    const int64_t bytes = tessi_type_info(tessi_stage(l->g, h->stage)->type)->bytes,
                  apart = LINE_BYTES / bytes, beside = (PLAN_WARP * t->columns + apart - 1) / apart;
    LExprId at[MAX_DIMS];
    for (uint8_t d = 0; d < t->y; d++)
        at[d] = t->outer[d].e;
    at[t->y] = tessi_l_op(l, OP_ADD, t->row, tessi_l_int(l, KERNEL_FETCH_STEPS - h->delay));
    for (int64_t from = 0; from < beside * t->lines; from += PLAN_WARP) {
        LExprId k = tessi_l_op(l, OP_ADD, t->lane, tessi_l_int(l, from));
        LExprId line =
            tessi_l_op(l, OP_FLOORMOD, tessi_l_op(l, OP_FLOORDIV, k, tessi_l_int(l, beside)),
                       tessi_l_int(l, t->lines));
        LExprId column =
            tessi_l_op(l, OP_MUL, tessi_l_op(l, OP_FLOORMOD, k, tessi_l_int(l, beside)),
                       tessi_l_int(l, apart));
        LExprId own = tessi_l_op(l, OP_MUL, t->lane, tessi_l_int(l, t->columns));
        at[t->y + 1] = tessi_l_op(l, OP_ADD, t->line, line);
        at[t->y + 2] = tessi_l_op(l, OP_ADD, tessi_l_op(l, OP_SUB, t->column, own), column);
        tessi_kernel_fetch(l, h->stage, at);
    }
}
