/* Threads in one line that go down strips of rows. Blocks all run at once: how far they go follows from how many there are to be. */
#include "loop/lower_march.h"

/* The blocks of a kernel: `edges` of them side by side (the first and the last) and `inner` ones between, each going down strips of rows
 * of its own height. At the edges threads read elements one by one, and would be the last to finish. */
typedef struct Strips {
    LExprId edges, inner;
    LExprId rows[2], n[2]; /* of inner ones and of those at the edges: height and number */
} Strips;

/* So few rows that there are enough blocks, within limits. */
static Strips strips_of(Lower *l, const PlanMarch *march, LExprId height, LExprId across)
{
    enum { SHORTER = 8 }; /* by this part */
    LExprId one = tessi_l_int(l, 1);
    Strips s = { .edges = tessi_l_op(l, OP_MIN, across, tessi_l_int(l, 2)) };
    s.inner = tessi_l_op(l, OP_SUB, across, s.edges);
    /* n * inner + SHORTER / (SHORTER - 1) * n * edges, rounded up, are not more than so many blocks. */
    LExprId room = tessi_l_op(l, OP_SUB, tessi_l_int(l, march->blocks), s.edges);
    room = tessi_l_op(l, OP_MUL, room, tessi_l_int(l, SHORTER - 1));
    LExprId part = tessi_l_op(l, OP_MUL, across, tessi_l_int(l, SHORTER - 1));
    LExprId n = tessi_l_op(l, OP_FLOORDIV, room, tessi_l_op(l, OP_ADD, part, s.edges));
    n = tessi_l_op(l, OP_MAX, n, one);
    tessi_hint(l, n, "strips");
    LExprId rows = tessi_l_op(l, OP_ADD, height, tessi_l_op(l, OP_SUB, n, one));
    rows = tessi_l_op(l, OP_MAX, tessi_l_op(l, OP_FLOORDIV, rows, n), tessi_l_int(l, march->least));
    s.rows[0] = tessi_l_op(l, OP_MIN, rows, tessi_l_int(l, march->most));
    tessi_hint(l, s.rows[0], "inner_rows");
    LExprId less = tessi_l_op(l, OP_FLOORDIV, s.rows[0], tessi_l_int(l, SHORTER));
    s.rows[1] = tessi_l_op(l, OP_SUB, s.rows[0], less);
    tessi_hint(l, s.rows[1], "edge_rows");
    for (int k = 0; k < 2; k++) {
        LExprId up = tessi_l_op(l, OP_ADD, height, tessi_l_op(l, OP_SUB, s.rows[k], one));
        s.n[k] = tessi_l_op(l, OP_FLOORDIV, up, s.rows[k]);
    }
    return s;
}

void tessi_march_blocks(Lower *l, const PlanGroup *group, LExprId height, LExprId width, March *m)
{
    LExprId one = tessi_l_int(l, 1);
    const int64_t columns = (int64_t)group->block[0] * group->outputs[0];
    LExprId across = tessi_l_op(l, OP_MAX, tessi_kernel_blocks(l, width, columns), one);
    const Strips all = strips_of(l, &group->march, height, across);
    LExprId blocks = tessi_l_op(l, OP_MUL, all.inner, all.n[0]);
    LExprId block = tessi_kernel_grid(
        l, 0, "block", tessi_l_op(l, OP_ADD, blocks, tessi_l_op(l, OP_MUL, all.edges, all.n[1])));
    across = tessi_scope_let(l, "across", across);
    Strips s = strips_of(l, &group->march, height, across);
    LExprId at_edges = tessi_scope_let(l, "at_edges", tessi_l_op(l, OP_MUL, s.edges, s.n[1]));
    LExprId edge = tessi_scope_let(l, "edge", tessi_l_op(l, OP_LT, block, at_edges));
    LExprId number = tessi_l_op(l, OP_SUB, block, at_edges);
    number = tessi_scope_let(l, "number", tessi_l_select(l, edge, block, number));
    LExprId side = tessi_l_select(l, edge, s.edges, tessi_l_op(l, OP_MAX, s.inner, one));
    side = tessi_scope_let(l, "side_by_side", side);
    LExprId strip = tessi_scope_let(l, "strip_rows", tessi_l_select(l, edge, s.rows[1], s.rows[0]));
    LExprId y = tessi_l_op(l, OP_MUL, tessi_l_op(l, OP_FLOORDIV, number, side), strip);
    y = tessi_l_op(l, OP_MIN, y, tessi_l_op(l, OP_SUB, height, one));
    m->y = tessi_scope_let(l, "first_y", y);
    m->n = tessi_l_op(l, OP_MIN, strip, tessi_l_op(l, OP_SUB, height, m->y));
    m->n = tessi_scope_let(l, "rows", m->n);
    LExprId column = tessi_l_op(l, OP_FLOORMOD, number, side);
    LExprId last = tessi_l_op(l, OP_MUL, column, tessi_l_op(l, OP_SUB, across, one));
    column = tessi_l_select(l, edge, last, tessi_l_op(l, OP_ADD, column, one));
    m->column = tessi_scope_let(l, "column", column);
}

void tessi_march_threads(Lower *l, const PlanGroup *group, LExprId width, March *m)
{
    LExprId thread = tessi_kernel_threads(l, 0, "thread_x", group->block[0]);
    LExprId x = tessi_l_op(l, OP_MUL, m->column, tessi_l_int(l, group->block[0]));
    x = tessi_l_op(l, OP_ADD, x, thread);
    x = tessi_l_op(l, OP_MUL, x, tessi_l_int(l, group->outputs[0]));
    m->x = tessi_scope_let(l, tessi_dim_name(2, 1), x);
    tessi_scope_if(l, tessi_l_op(l, OP_LT, m->x, width));
}
