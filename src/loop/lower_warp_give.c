/* What warps give: the rows of the members that are the tile's own, stored by the threads that computed them. */
#include "loop/lower_warp.h"

/* One line of a row of member i, where it is the thread's own. */
static void give_line(const Warps *t, uint32_t i, LExprId y, LExprId line)
{
    Lower *l = t->l;
    const uint32_t n = 1u + t->n_dims; /* a value and where it belongs */
    const StageId id = t->group->members.at[i];
    const Place *place = &l->place[id.v];
    LExprId cell[PLAN_MAX_OUTPUTS * (1 + MAX_DIMS)], at[MAX_DIMS];
    for (int64_t c = 0; c < t->columns; c++) {
        LExprId *to = cell + c * n + 1;
        for (uint8_t d = 0; d < t->y; d++)
            to[d] = t->outer[d].e;
        to[t->y] = y;
        if (t->warp.planes)
            to[t->y + 1] = line;
        to[t->n_dims - 1] = tessi_l_op(l, OP_ADD, t->column, tessi_l_int(l, c));
        for (uint8_t d = 0; d < t->n_dims; d++)
            at[d] = tessi_l_op(l, OP_SUB, to[d], place->origin[d]);
        to[-1] = tessi_lexpr_load(l->p, place->scratch, at, t->n_dims);
        tessi_scope_place(l, to, t->n_dims);
    }
    if (!t->answers)
        tessi_tile_gives(l, l->buffer[id.v], cell + 1, t->n_dims, cell, n, (uint32_t)t->columns);
    for (int64_t c = 0; c < t->columns && t->answers; c++) {
        LExprId *at_column = cell + c * n + 1;
        tessi_scope_if(l, tessi_l_op(l, OP_LT, at_column[t->n_dims - 1], tessi_warp_size(t, 1)));
        tessi_tile_gives(l, l->buffer[id.v], at_column, t->n_dims, at_column - 1, n, 1);
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
    x = tessi_scope_let(l, "own", tessi_l_op(l, OP_AND, x, tessi_l_op(l, OP_LT, t->lane, hi)));
    const LExprId end =
        t->edges ? tessi_l_op(l, OP_ADD, t->own[0], t->rows_of_strip) : (LExprId){ 0 };
    for (int64_t r = 0; r < t->rows * t->lines; r++) {
        LExprId y = tessi_l_op(l, OP_ADD, t->row, tessi_l_int(l, r / t->lines - last->delay));
        LExprId own = tessi_l_op(l, OP_AND, x, tessi_l_op(l, OP_LE, t->own[0], y)), line = { 0 };
        if (t->edges) /* whole steps may go beyond a strip */
            own = tessi_l_op(l, OP_AND, own, tessi_l_op(l, OP_LT, y, end));
        if (t->warp.planes)
            line = tessi_l_op(l, OP_ADD, t->line, tessi_l_int(l, r % t->lines));
        if (t->warp.planes && t->answers)
            own = tessi_l_op(l, OP_AND, own, tessi_l_op(l, OP_LT, line, tessi_warp_size(t, 2)));
        tessi_scope_if(l, own);
        for (uint32_t i = 0; i < t->group->members.n; i++)
            give_line(t, i, y, line);
        tessi_scope_close(l);
    }
}
