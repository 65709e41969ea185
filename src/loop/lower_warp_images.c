/* What warps read: the rows of images that a step adds, in the registers of threads, of this step or the next; and
 * planes of later steps, in the second cache. */
#include "loop/lower_group.h"
#include "loop/lower_warp.h"

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

/* These elements of an image, into what is held of it or what is held ahead. */
static void take_elements(const Warps *t, uint32_t number, Point *coord, Found found)
{
    Lower *l = t->l;
    const PlanHeld *h = &t->warp.held.at[number];
    const uint32_t n = (uint32_t)(t->rows * tessi_warp_lines(t, h) * t->columns);
    const TileColumns columns = tessi_warp_vectors(t);
    LExprId *value = ARENA_NEW_ARRAY(l->arena, LExprId, n), index[MAX_DIMS];
    for (uint32_t i = 0; i < n; i++) {
        value[i] = found == FOUND_INSIDE
                       ? tessi_eval_stage(l, h->stage, coord[i], true)
                       : tessi_warp_image(t, number, coord[i], found == FOUND_IN_ROWS);
        tessi_pin(l, value[i], tessi_scope_depth(l));
    }
    if (found != FOUND_BY_RULES)
        tessi_tile_takes(l, value, n, &columns);
    tessi_scope_place(l, value, n);
    for (uint32_t i = 0; i < n; i++) {
        if (t->ahead)
            element_ahead(t, h, i, index);
        else
            tessi_warp_element(t, h, cell_of(t, h, i), index);
        tessi_warp_put(t, LSTMT_STORE, t->ahead ? t->ahead[number] : t->held[number], index,
                       value[i]);
    }
}

/* The rows of an image that the step adds. Threads whose columns are all there take them as vectors, but for those of
 * the next step: what comes by one of two ways is waited for where these meet, and not where it is of use (turns of 5
 * and 9 points lost a fifth and more so). */
void tessi_warp_take(Warps *t, uint32_t number)
{
    Lower *l = t->l;
    const PlanHeld *h = &t->warp.held.at[number];
    const int64_t around[2] = { h->line, h->below };
    const Nest *nest = &t->part[t->n_parts - 1].nest;
    const Patch patch = tessi_warp_patch(t, nest, h->delay, around, NULL);
    Point *coord = tessi_patch_points(l, nest, &patch);
    const Place held = l->place[h->stage.v];
    l->place[h->stage.v] = (Place){ 0 };
    if (!t->answers) {
        take_elements(t, number, coord, FOUND_INSIDE);
    } else if (t->ahead) {
        take_elements(t, number, coord, FOUND_BY_RULES);
    } else {
        tessi_scope_if(l, tessi_warp_columns_there(t));
        take_elements(t, number, coord, FOUND_IN_ROWS);
        tessi_scope_else(l);
        take_elements(t, number, coord, FOUND_BY_RULES);
        tessi_scope_close(l);
    }
    l->place[h->stage.v] = held;
}

/* What was read ahead. */
void tessi_warp_take_from_ahead(const Warps *t, uint32_t number)
{
    const PlanHeld *h = &t->warp.held.at[number];
    LExprId to[MAX_DIMS], from[MAX_DIMS];
    for (uint32_t i = 0; i < t->rows * tessi_warp_lines(t, h) * t->columns; i++) {
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
