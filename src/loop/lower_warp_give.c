/* What warps give: the rows of the members that are the tile's own, stored by the threads that computed them. */
#include "loop/lower_warp.h"

/* The thread's own of a line of a row: of each column the values of the members, and where they belong. */
typedef struct Line {
    LExprId *place;
    uint32_t stride; /* from column to column */
} Line;

static Line place_line(const Warps *t, LExprId y, LExprId line)
{
    Lower *l = t->l;
    const StageList *members = &t->group->members;
    const uint32_t n = members->n + t->n_dims;
    Line made = { .place = ARENA_NEW_ARRAY(l->arena, LExprId, (size_t)n * (size_t)t->columns),
                  .stride = n };
    LExprId at[MAX_DIMS];
    for (int64_t c = 0; c < t->columns; c++) {
        LExprId *value = made.place + c * n, *to = value + members->n;
        for (uint8_t d = 0; d < t->y; d++)
            to[d] = t->outer[d].e;
        to[t->y] = y;
        if (t->warp.planes)
            to[t->y + 1] = line;
        to[t->n_dims - 1] = tessi_l_op(l, OP_ADD, t->column, tessi_l_int(l, c));
        for (uint32_t i = 0; i < members->n; i++) {
            const Place *place = &l->place[members->at[i].v];
            for (uint8_t d = 0; d < t->n_dims; d++)
                at[d] = tessi_l_op(l, OP_SUB, to[d], place->origin[d]);
            value[i] = tessi_lexpr_load(l->p, place->scratch, at, t->n_dims);
        }
        tessi_scope_place(l, to, t->n_dims);
    }
    return made;
}

/* Stores so many columns of it from one on. */
static void give_columns(const Warps *t, const Line *line, int64_t from, uint32_t columns)
{
    Lower *l = t->l;
    const StageList *members = &t->group->members;
    const LExprId *place = line->place + from * line->stride;
    uint32_t **pixels = ARENA_NEW_ARRAY(l->arena, uint32_t *, members->n);
    bool *in_pixel = ARENA_NEW_ARRAY(l->arena, bool, members->n);
    tessi_pixels_find(l, members->at, members->n, columns, pixels, in_pixel);
    for (uint32_t i = 0; i < members->n; i++) {
        const TileRow row = {
            l->buffer[members->at[i].v], place + members->n, place, t->n_dims, line->stride, columns
        };
        if (pixels[i])
            tessi_pixels_give(l, &row, pixels[i]);
        else if (!in_pixel[i])
            tessi_tile_gives(l, row.to, row.index, t->n_dims, place + i, line->stride, columns);
    }
}

/* A line of a row, where it is the thread's own. */
static void give_line(const Warps *t, LExprId y, LExprId at)
{
    Lower *l = t->l;
    const Line line = place_line(t, y, at);
    const bool by_column = t->answers && t->ahead;
    if (!t->answers || t->in_planes) {
        give_columns(t, &line, 0, (uint32_t)t->columns);
        return;
    }
    if (!by_column) {
        tessi_scope_if(l, tessi_warp_columns_there(t));
        give_columns(t, &line, 0, (uint32_t)t->columns);
        tessi_scope_else(l);
    }
    for (int64_t c = 0; c < t->columns; c++) {
        const LExprId x = tessi_l_op(l, OP_ADD, t->column, tessi_l_int(l, c));
        tessi_scope_if(l, tessi_l_op(l, OP_LT, x, tessi_warp_size(t, 1)));
        give_columns(t, &line, c, 1);
        tessi_scope_close(l);
    }
    if (!by_column)
        tessi_scope_close(l);
}

/* A row, or the lines of a plane that are there: within one branch, which compilers move no loads of the next step
 * across (sunk to where they are used each would be waited for alone). */
static void give_row(const Warps *t, LExprId y)
{
    Lower *l = t->l;
    for (int64_t k = 0; k < t->lines; k++) {
        LExprId line = { 0 };
        if (t->warp.planes)
            line = tessi_l_op(l, OP_ADD, t->line, tessi_l_int(l, k));
        const bool asks = t->warp.planes && t->answers;
        if (asks)
            tessi_scope_if(l, tessi_l_op(l, OP_LT, line, tessi_warp_size(t, 2)));
        give_line(t, y, line);
        if (asks)
            tessi_scope_close(l);
    }
}

void tessi_warp_give(const Warps *t)
{
    Lower *l = t->l;
    const Part *last = &t->part[t->n_parts - 1];
    LExprId x = tessi_l_op(l, OP_LE, t->own[1], t->column);
    LExprId lo = tessi_l_int(l, t->warp.left / t->columns);
    LExprId hi = tessi_l_int(l, PLAN_WARP - t->warp.right / t->columns);
    x = tessi_l_op(l, OP_AND, x, tessi_l_op(l, OP_LE, lo, t->lane));
    if (t->in_planes)
        x = tessi_l_op(l, OP_AND, x, tessi_l_op(l, OP_LT, t->column, tessi_warp_size(t, 1)));
    x = tessi_scope_let(l, "own", tessi_l_op(l, OP_AND, x, tessi_l_op(l, OP_LT, t->lane, hi)));
    const LExprId end =
        t->edges ? tessi_l_op(l, OP_ADD, t->own[0], t->rows_of_strip) : (LExprId){ 0 };
    for (int64_t r = 0; r < t->rows; r++) {
        LExprId y = tessi_l_op(l, OP_ADD, t->row, tessi_l_int(l, r - last->delay));
        LExprId own = tessi_l_op(l, OP_AND, x, tessi_l_op(l, OP_LE, t->own[0], y));
        if (t->edges) /* whole steps may go beyond a strip */
            own = tessi_l_op(l, OP_AND, own, tessi_l_op(l, OP_LT, y, end));
        tessi_scope_if(l, own);
        give_row(t, y);
        tessi_scope_close(l);
    }
}
