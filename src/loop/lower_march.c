/* Threads in one line that go down strips of rows. Blocks all run at once: how far they go follows from how many
 * there are to be. */
#include "loop/lower_march.h"
#include "loop/lower_kernel.h"

/* The blocks of a kernel: `edges` of them side by side (the first and the last) and `inner` ones between, each going
 * down strips of rows of its own height. At the edges threads read elements one by one, and would be the last to
 * finish. */
typedef struct Strips {
    LExprId edges, inner;
    LExprId rows[2], n[2]; /* of inner ones and of those at the edges: height and number */
} Strips;

/* So few rows that there are enough blocks, within limits: n strips of each inner column, and at the edges what is
 * left of the blocks, which is `more` 16ths of n more, or better. */
static Strips strips_of(Lower *l, const PlanMarch *march, LExprId blocks, LExprId height,
                        LExprId across, int64_t more)
{
    enum { PART = 16 };
    LExprId one = tessi_l_int(l, 1);
    Strips s = { .edges = tessi_l_op(l, OP_MIN, across, tessi_l_int(l, 2)) };
    s.inner = tessi_l_op(l, OP_SUB, across, s.edges);
    LExprId part = tessi_l_op(l, OP_MUL, across, tessi_l_int(l, PART));
    LExprId longer = more == 1 ? s.edges : tessi_l_op(l, OP_MUL, s.edges, tessi_l_int(l, more));
    part = tessi_l_op(l, OP_ADD, part, longer);
    LExprId n = tessi_l_op(l, OP_MUL, blocks, tessi_l_int(l, PART));
    n = tessi_l_op(l, OP_FLOORDIV, n, part);
    n = tessi_l_op(l, OP_MAX, n, one);
    tessi_hint(l, n, "strips");
    LExprId left = tessi_l_op(l, OP_SUB, blocks, tessi_l_op(l, OP_MUL, n, s.inner));
    left = tessi_l_op(l, OP_MAX, tessi_l_op(l, OP_FLOORDIV, left, s.edges), one);
    const LExprId wanted[2] = { n, left };
    for (int k = 0; k < 2; k++) {
        LExprId up = tessi_l_op(l, OP_ADD, height, tessi_l_op(l, OP_SUB, wanted[k], one));
        LExprId rows = tessi_l_op(l, OP_FLOORDIV, up, wanted[k]);
        rows = tessi_l_op(l, OP_MAX, rows, tessi_l_int(l, march->least));
        s.rows[k] = tessi_l_op(l, OP_MIN, rows, tessi_l_int(l, march->most));
        tessi_hint(l, s.rows[k], k ? "edge_rows" : "inner_rows");
        up = tessi_l_op(l, OP_ADD, height, tessi_l_op(l, OP_SUB, s.rows[k], one));
        s.n[k] = tessi_l_op(l, OP_FLOORDIV, up, s.rows[k]);
    }
    return s;
}

/* n things for each phase of rows. */
static LExprId phases(Lower *l, LExprId n, int64_t step)
{
    return step == 1 ? n : tessi_l_op(l, OP_MUL, n, tessi_l_int(l, step));
}

static LExprId rows_of_phase(Lower *l, LExprId height, int64_t step)
{
    LExprId up = tessi_l_op(l, OP_ADD, height, tessi_l_int(l, step - 1));
    return step == 1 ? height : tessi_l_op(l, OP_FLOORDIV, up, tessi_l_int(l, step));
}

EdgesFirst tessi_edges_first(Lower *l, LExprId block, LExprId across, LExprId at_edges,
                             int64_t step)
{
    LExprId edges = tessi_l_op(l, OP_MIN, across, tessi_l_int(l, 2));
    LExprId inner = tessi_l_op(l, OP_SUB, across, edges);
    EdgesFirst e = { .across = across };
    at_edges = tessi_scope_let(l, "at_edges", at_edges);
    e.edge = tessi_scope_let(l, "edge", tessi_l_op(l, OP_LT, block, at_edges));
    LExprId number = tessi_l_op(l, OP_SUB, block, at_edges);
    e.number = tessi_scope_let(l, "number", tessi_l_select(l, e.edge, block, number));
    LExprId side =
        tessi_l_select(l, e.edge, edges, tessi_l_op(l, OP_MAX, inner, tessi_l_int(l, 1)));
    e.side = tessi_scope_let(l, "side_by_side", phases(l, side, step));
    return e;
}

LExprId tessi_edges_column(Lower *l, const EdgesFirst *e, LExprId place)
{
    LExprId one = tessi_l_int(l, 1);
    LExprId last = tessi_l_op(l, OP_MUL, place, tessi_l_op(l, OP_SUB, e->across, one));
    LExprId column = tessi_l_select(l, e->edge, last, tessi_l_op(l, OP_ADD, place, one));
    return tessi_scope_let(l, "column", column);
}

void tessi_march_blocks(Lower *l, const PlanGroup *group, LExprId height, LExprId width, March *m)
{
    const PlanMarch march = tessi_level_march(&group->levels);
    const int64_t columns =
        (int64_t)tessi_level_threads(&group->levels, 0) * tessi_level_outputs(&group->levels, 0);
    const int64_t most = march.blocks / m->step, blocks = most ? most : 1;
    LExprId across = tessi_kernel_blocks(l, width, columns);
    tessi_march_strips(l, group, tessi_l_int(l, blocks), height, across, m);
}

void tessi_march_strips(Lower *l, const PlanGroup *group, LExprId blocks, LExprId height,
                        LExprId across, March *m)
{
    const PlanMarch march = tessi_level_march(&group->levels);
    LExprId one = tessi_l_int(l, 1), step = tessi_l_int(l, m->step);
    const int64_t more = m->more ? m->more : 1;
    LExprId rows = rows_of_phase(l, height, m->step);
    across = tessi_l_op(l, OP_MAX, across, one);
    const Strips all = strips_of(l, &march, blocks, rows, across, more);
    LExprId number = tessi_l_op(l, OP_MUL, all.inner, all.n[0]);
    number = tessi_l_op(l, OP_ADD, number, tessi_l_op(l, OP_MUL, all.edges, all.n[1]));
    LExprId block = tessi_kernel_grid(l, 0, "block", phases(l, number, m->step));
    across = tessi_scope_let(l, "across", across);
    Strips s = strips_of(l, &march, blocks, rows, across, more);
    LExprId at_edges = phases(l, tessi_l_op(l, OP_MUL, s.edges, s.n[1]), m->step);
    const EdgesFirst e = tessi_edges_first(l, block, across, at_edges, m->step);
    LExprId strip =
        tessi_scope_let(l, "strip_rows", tessi_l_select(l, e.edge, s.rows[1], s.rows[0]));
    /* No strip begins above or below the image: said before the product, for the bound of what 32 bits have to hold. */
    LExprId y = tessi_l_op(l, OP_MIN, tessi_l_op(l, OP_FLOORDIV, e.number, e.side),
                           tessi_l_op(l, OP_SUB, rows, one));
    y = tessi_l_op(l, OP_MAX, y, tessi_l_int(l, 0));
    y = tessi_l_op(l, OP_MUL, y, strip);
    y = tessi_l_op(l, OP_MIN, y, tessi_l_op(l, OP_SUB, rows, one));
    LExprId column = tessi_l_op(l, OP_FLOORMOD, e.number, e.side);
    if (m->step > 1) {
        LExprId phase = tessi_scope_let(l, "phase", tessi_l_op(l, OP_FLOORMOD, column, step));
        column = tessi_l_op(l, OP_FLOORDIV, column, step);
        y = tessi_scope_let(l, "first", y);
        rows = rows_of_phase(l, tessi_l_op(l, OP_SUB, height, phase), m->step);
        m->n = tessi_l_op(l, OP_SUB, rows, y);
        m->y = tessi_l_op(l, OP_ADD, tessi_l_op(l, OP_MUL, y, step), phase);
        m->y = tessi_scope_let(l, "first_y", m->y);
    } else {
        m->y = tessi_scope_let(l, "first_y", y);
        m->n = tessi_l_op(l, OP_SUB, height, m->y);
    }
    m->n = tessi_scope_let(l, "rows", tessi_l_op(l, OP_MIN, strip, m->n));
    m->column = tessi_edges_column(l, &e, column);
}

LExprId tessi_march_row(Lower *l, const March *m, LExprId i)
{
    return tessi_l_op(l, OP_ADD, m->y, phases(l, i, m->step));
}

void tessi_march_threads(Lower *l, const PlanGroup *group, LExprId width, March *m)
{
    LExprId thread = tessi_kernel_threads(l, 0, "thread_x", tessi_level_threads(&group->levels, 0));
    LExprId x =
        tessi_l_op(l, OP_MUL, m->column, tessi_l_int(l, tessi_level_threads(&group->levels, 0)));
    x = tessi_l_op(l, OP_ADD, x, thread);
    x = tessi_l_op(l, OP_MUL, x, tessi_l_int(l, tessi_level_outputs(&group->levels, 0)));
    m->x = tessi_scope_let(l, tessi_dim_name(2, 1), x);
    tessi_scope_if(l, tessi_l_op(l, OP_LT, m->x, width));
    LExprId end =
        tessi_l_op(l, OP_ADD, m->x, tessi_l_int(l, tessi_level_outputs(&group->levels, 0)));
    m->whole = tessi_scope_let(l, "whole", tessi_l_op(l, OP_LE, end, width));
}
