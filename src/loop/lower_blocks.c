/* The blocks of a kernel over the rows and columns of an image: all of them, those that lie inside with all they
 * read, or the others. */
#include "loop/lower_kernel.h"

static LExprId along(const Blocks *b, int k)
{
    return tessi_kernel_blocks(b->l, b->end[k], b->size[k]);
}

static LExprId start(const Blocks *b, int k, LExprId number)
{
    return tessi_l_op(b->l, OP_MUL, number, tessi_l_int(b->l, b->size[k]));
}

/* Blocks [from, to) lie inside. */
static void inside(const Blocks *b, int k, LExprId *from, LExprId *to)
{
    Lower *l = b->l;
    *from = tessi_l_op(l, OP_MIN, tessi_kernel_blocks(l, b->from[k], b->size[k]), along(b, k));
    *to = tessi_l_op(l, OP_MIN, tessi_kernel_blocks(l, b->to[k], b->size[k]), along(b, k));
    *to = tessi_l_op(l, OP_MAX, *to, *from);
}

static LExprId open_grid(Blocks *b, int k, LExprId n)
{
    return tessi_kernel_grid(b->l, k == 0, k == 0 ? "block_y" : "block_x", n);
}

void tessi_blocks_all(Blocks *b)
{
    for (int k = 0; k < 2; k++)
        b->first[k] = start(b, k, open_grid(b, k, along(b, k)));
}

void tessi_blocks_inside(Blocks *b)
{
    Lower *l = b->l;
    LExprId from, to;
    for (int k = 0; k < 2; k++) {
        inside(b, k, &from, &to);
        LExprId number = open_grid(b, k, tessi_l_op(l, OP_SUB, to, from));
        b->first[k] = start(b, k, tessi_l_op(l, OP_ADD, from, number));
    }
}

/* k, or beyond the blocks inside, which are left out. */
static LExprId around(Lower *l, LExprId k, LExprId from, LExprId to)
{
    LExprId beyond = tessi_l_op(l, OP_ADD, k, tessi_l_op(l, OP_SUB, to, from));
    return tessi_l_select(l, tessi_l_op(l, OP_LT, k, from), k, beyond);
}

/* The last block begins where it is whole, as far as blocks may begin there: it computes some points again, and few
 * one by one. */
static LExprId no_later(const Blocks *b, int k, LExprId first)
{
    Lower *l = b->l;
    if (!b->begins[k])
        return first;
    const LExprId beyond = tessi_l_op(l, OP_SUB, b->end[k], tessi_l_int(l, b->size[k]));
    LExprId last = tessi_kernel_blocks(l, beyond, b->begins[k]);
    last = tessi_l_op(l, OP_MUL, last, tessi_l_int(l, b->begins[k]));
    return tessi_l_op(l, OP_MIN, first, tessi_l_op(l, OP_MAX, last, tessi_l_int(l, 0)));
}

void tessi_blocks_edges(Blocks *b)
{
    Lower *l = b->l;
    LExprId y_from, y_to, x_from, x_to;
    inside(b, 0, &y_from, &y_to);
    inside(b, 1, &x_from, &x_to);
    LExprId columns = along(b, 1), rows = along(b, 0);
    LExprId inner_rows = tessi_l_op(l, OP_SUB, y_to, y_from);
    LExprId inner_columns = tessi_l_op(l, OP_SUB, x_to, x_from);
    /* First the blocks above and below those inside, row by row; then those left and right of them. */
    LExprId in_rows = tessi_l_op(l, OP_MUL, columns, tessi_l_op(l, OP_SUB, rows, inner_rows));
    LExprId sides = tessi_l_op(l, OP_SUB, columns, inner_columns);
    LExprId all = tessi_l_op(l, OP_ADD, in_rows, tessi_l_op(l, OP_MUL, inner_rows, sides));
    LExprId k = tessi_kernel_grid(l, 0, "block", all);
    LExprId in_row = tessi_scope_let(l, "in_row", tessi_l_op(l, OP_LT, k, in_rows));
    LExprId n = tessi_l_select(l, in_row, columns, sides);
    LExprId at = tessi_l_select(l, in_row, k, tessi_l_op(l, OP_SUB, k, in_rows));
    n = tessi_scope_let(l, "n", tessi_l_op(l, OP_MAX, n, tessi_l_int(l, 1)));
    LExprId row = tessi_scope_let(l, "row", tessi_l_op(l, OP_FLOORDIV, at, n));
    LExprId column = tessi_scope_let(l, "column", tessi_l_op(l, OP_FLOORMOD, at, n));
    row =
        tessi_l_select(l, in_row, around(l, row, y_from, y_to), tessi_l_op(l, OP_ADD, row, y_from));
    column = tessi_l_select(l, in_row, column, around(l, column, x_from, x_to));
    b->first[0] = tessi_scope_let(l, "block_y", no_later(b, 0, start(b, 0, row)));
    b->first[1] = tessi_scope_let(l, "block_x", no_later(b, 1, start(b, 1, column)));
}

/* ---- Frames ---------------------------------------------------------------------------------- */

Frame tessi_blocks_frame(const Blocks *b, const int64_t *step)
{
    Lower *l = b->l;
    Frame f;
    LExprId any = tessi_lexpr_const(l->p, TYPE_BOOL, tessi_value_int(1));
    for (int k = 0; k < 2; k++) {
        /* Rows of the frame are computed in pairs, and columns in vectors, from where it begins. */
        const int64_t whole = k ? step[k] : PLAN_FRAME_ROWS;
        LExprId from = tessi_kernel_blocks(l, b->from[k], whole);
        f.from[k] = tessi_l_op(l, OP_MUL, from, tessi_l_int(l, whole));
        LExprId points = tessi_l_op(l, OP_SUB, b->to[k], f.from[k]);
        points = tessi_l_op(l, OP_ADD, points, tessi_l_int(l, b->size[k] - 1));
        points = tessi_l_op(l, OP_FLOORDIV, points, tessi_l_int(l, step[k]));
        points = tessi_l_op(l, OP_MUL, points, tessi_l_int(l, step[k]));
        f.to[k] = tessi_l_op(l, OP_ADD, f.from[k], points);
        any = tessi_l_op(l, OP_AND, any, tessi_l_op(l, OP_LT, f.from[k], b->to[k]));
    }
    for (int k = 0; k < 2; k++) {
        f.from[k] = tessi_l_select(l, any, f.from[k], b->end[k]);
        f.to[k] = tessi_l_select(l, any, f.to[k], b->end[k]);
    }
    return f;
}

void tessi_blocks_in_frame(Blocks *b, const Frame *frame, LExprId *own)
{
    Lower *l = b->l;
    for (int k = 0; k < 2; k++) {
        LExprId points = tessi_l_op(l, OP_SUB, frame->to[k], frame->from[k]);
        LExprId number = open_grid(b, k, tessi_kernel_blocks(l, points, b->size[k]));
        LExprId last = tessi_l_op(l, OP_SUB, frame->to[k], tessi_l_int(l, b->size[k]));
        own[k] = tessi_l_op(l, OP_ADD, frame->from[k], start(b, k, number));
        own[k] = tessi_scope_let(l, k ? "own_x" : "own_y", own[k]);
        b->first[k] = tessi_l_op(l, OP_MIN, own[k], last);
    }
}

void tessi_blocks_around(Blocks *b, const Frame *frame, int side)
{
    Lower *l = b->l;
    for (int k = 0; k < 2; k++) {
        LExprId zero = tessi_l_int(l, 0), size = tessi_l_int(l, b->size[k]);
        if (k != side) { /* the rows beside the points inside; all columns above and below them */
            LExprId from = k ? zero : frame->from[k], to = k ? b->end[k] : frame->to[k];
            LExprId points = tessi_l_op(l, OP_SUB, to, from);
            LExprId number = open_grid(b, k, tessi_kernel_blocks(l, points, b->size[k]));
            b->first[k] = tessi_l_op(l, OP_ADD, from, start(b, k, number));
            b->end[k] = to;
            continue;
        }
        LExprId before = tessi_kernel_blocks(l, frame->from[k], b->size[k]);
        LExprId after = tessi_l_op(l, OP_SUB, b->end[k], frame->to[k]);
        after = tessi_kernel_blocks(l, after, b->size[k]);
        LExprId number = open_grid(b, k, tessi_l_op(l, OP_ADD, before, after));
        LExprId beyond = tessi_l_op(l, OP_SUB, number, before);
        beyond = tessi_l_op(l, OP_ADD, frame->to[k], tessi_l_op(l, OP_MUL, beyond, size));
        LExprId is_before = tessi_scope_let(l, "is_before", tessi_l_op(l, OP_LT, number, before));
        b->first[k] = tessi_l_select(l, is_before, start(b, k, number), beyond);
        b->end[k] = tessi_l_select(l, is_before, frame->from[k], b->end[k]);
    }
}
