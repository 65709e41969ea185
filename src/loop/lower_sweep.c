/* Windows whose coefficients come with the run, or that read at the point itself, several rows of several columns a
 * thread. A block first copies such coefficients into shared memory, rows padded to whole vectors, and a thread
 * reads what its points have; then it goes over the rows of pixels that its rows of the result read:
 *
 *   for i, rows of pixels:  read row i;  for r, rows of the result:  if 0 <= i - r < K:  sum[r] += row i - r of the
 *                           window over row i
 *
 * The code is that of one row of the window for each row and column of the thread, so that it is short for windows
 * of any height. */
#include "loop/lower_given.h"
#include "loop/lower_group.h"
#include "loop/lower_march.h"
#include "loop/lower_window.h"

enum { TOGETHER = 16 }; /* elements that threads at edges ask for before they wait */

/* A read of the point alone. */
typedef struct Own {
    ExprId load;
    LExprId *value; /* by row and column of the thread */
} Own;

typedef struct Sweep {
    Lower *l;
    const Nest *nest;
    Sums sums; /* `result` of them is the row in hand */
    VEC(Own) own;
    Lines lines;
    Coefficients given;
    LExprId y, i; /* first row of the thread, number of the row of pixels */
} Sweep;

/* ---- Sums ------------------------------------------------------------------------------------ */

static void find(Sweep *s)
{
    Lower *l = s->l;
    tessi_sums_find(l, s->nest, &s->sums);
    tessi_given_find(l, &s->sums.bodies, s->sums.window, &s->given);
    const ExprList list = tessi_reach(l, s->sums.bodies.at, s->sums.bodies.n);
    VEC_FOREACH (const ExprId, id, &list) {
        const Expr *e = tessi_expr(l->g, *id);
        if (e->kind == EXPR_LOAD && tessi_access_moves_by_point_only(tessi_access(l->g, e->access)))
            VEC_PUSH(l->arena, &s->own, ((Own){ .load = *id }));
    }
}

/* ---- Steps ----------------------------------------------------------------------------------- */

/* Row i from the thread's first on: of dilated windows others stand between. */
static LExprId row_of(const Sweep *s, LExprId i)
{
    Lower *l = s->l;
    return tessi_l_op(l, OP_ADD, s->y, tessi_l_op(l, OP_MUL, i, tessi_l_int(l, s->lines.step)));
}

/* What the points of the thread have. */
static void read_own(Sweep *s)
{
    Lower *l = s->l;
    VEC_FOREACH (Own, own, &s->own) {
        own->value = ARENA_NEW_ARRAY(l->arena, LExprId, (size_t)s->sums.rows * s->sums.columns);
        for (uint32_t r = 0; r < s->sums.rows; r++)
            for (uint32_t c = 0; c < s->sums.columns; c++) {
                const ExprList load = { &own->load, 1, 1 };
                LExprId y = row_of(s, tessi_l_int(l, r));
                Eval *ev = tessi_lines_eval(l, &s->lines, s->nest, &load, y, c);
                LExprId value = tessi_eval_expr(l, ev, own->load);
                own->value[r * s->sums.columns + c] =
                    tessi_scope_let(l, tessi_sprintf(l->arena, "own%u_%u", r, c), value);
            }
    }
}

/* The steps of all columns at one point of the window. */
static void steps_at(Sweep *s, const WindowVars *vars, int64_t j)
{
    Lower *l = s->l;
    const uint32_t row = s->sums.result;
    LExprId y = row_of(s, tessi_l_int(l, row));
    for (uint32_t c = 0; c < s->sums.columns; c++) {
        Eval *ev = tessi_lines_eval(l, &s->lines, s->nest, &s->sums.bodies, y, c);
        VEC_PUSH(l->arena, &ev->open, *vars);
        tessi_given_set(l, &s->given, ev, j);
        VEC_FOREACH (const Own, own, &s->own)
            tessi_eval_set(l, ev, own->load, own->value[row * s->sums.columns + c]);
        VEC_FOREACH (const Sum, sum, &s->sums.at) {
            const LVarId var = tessi_sum_var(&s->sums, sum, row, c);
            tessi_sums_add(l, &s->sums, sum, ev, var, var);
        }
    }
    tessi_sums_take(l, &s->sums);
}

/* The row of pixels in hand, as a row of the window of the thread's row in hand. */
static void add_row_of_pixels(Sweep *s)
{
    Lower *l = s->l;
    LExprId row = tessi_l_op(l, OP_SUB, s->i, tessi_l_int(l, s->sums.result));
    LExprId any = tessi_l_op(l, OP_LE, tessi_l_int(l, s->sums.result), s->i);
    LExprId before = tessi_l_op(l, OP_LT, s->i, tessi_l_int(l, s->sums.result + s->given.height));
    tessi_scope_if(l, tessi_l_op(l, OP_AND, any, before));
    WindowVars vars = { .window = s->sums.window };
    vars.var[0] = tessi_l_op(l, OP_ADD, row, tessi_l_int(l, s->given.w->lo[0]));
    l->copies = &s->lines.copies;
    for (int64_t j = 0; j < s->given.across; j++) {
        tessi_given_take(l, &s->given, row, j);
        vars.var[1] = tessi_l_int(l, s->given.w->lo[1] + j);
        steps_at(s, &vars, j);
    }
    l->copies = NULL;
    tessi_scope_close(l);
}

/* ---- Kernel ---------------------------------------------------------------------------------- */

/* Opens the grid and says where the block stands: its first row, and its number in a row of them. Of dilated windows
 * the rows of a block are some apart, and blocks below each other take those in between in turn. */
static LExprId open_blocks(Sweep *s, const PlanGroup *group, LExprId height, LExprId width)
{
    Lower *l = s->l;
    const int64_t columns = (int64_t)tessi_level_threads(&group->levels, 0) * s->sums.columns;
    const int64_t rows = s->sums.rows * s->lines.step;
    LExprId one = tessi_l_int(l, 1), step = tessi_l_int(l, s->lines.step);
    LExprId across = tessi_l_op(l, OP_MAX, tessi_kernel_blocks(l, width, columns), one);
    LExprId down = tessi_l_op(l, OP_MUL, tessi_kernel_blocks(l, height, rows), step);
    LExprId block = tessi_l_op(l, OP_MUL, tessi_kernel_grid(l, 1, "block_y", down), across);
    block = tessi_l_op(l, OP_ADD, block, tessi_kernel_grid(l, 0, "block_x", across));
    across = tessi_scope_let(l, "across", across);
    LExprId edges = tessi_l_op(l, OP_MIN, across, tessi_l_int(l, 2));
    const EdgesFirst e = tessi_edges_first(l, block, across, tessi_l_op(l, OP_MUL, edges, down), 1);
    /* No block begins below the image: said before the product, for the bound of what 32 bits have to hold. */
    LExprId place = tessi_l_op(l, OP_MIN, tessi_l_op(l, OP_FLOORDIV, e.number, e.side),
                               tessi_l_op(l, OP_SUB, down, one));
    place = tessi_scope_let(l, "place", place);
    LExprId y =
        tessi_l_op(l, OP_MUL, tessi_l_op(l, OP_FLOORDIV, place, step), tessi_l_int(l, rows));
    y = tessi_l_op(l, OP_ADD, y, tessi_l_op(l, OP_FLOORMOD, place, step));
    s->y = tessi_scope_let(l, "first_y", y);
    return tessi_edges_column(l, &e, tessi_l_op(l, OP_FLOORMOD, e.number, e.side));
}

void tessi_kernel_sweep(Lower *l, const Nest *nest, const PlanGroup *group)
{
    const uint32_t depth = tessi_scope_depth(l);
    Sweep s = { .l = l, .nest = nest };
    s.sums.columns = tessi_level_outputs(&group->levels, 0);
    s.sums.rows = tessi_level_outputs(&group->levels, 1);
    LExprId height = nest->to[0], width = nest->to[1];
    l->n_loop_dims = nest->n_dims;
    l->inside_last = l->inside_rows = false;
    find(&s);
    tessi_lines_find(l, nest, &s.sums.bodies, s.sums.columns, &s.lines);
    s.lines.together = TOGETHER;
    March at = { .step = 1, .column = open_blocks(&s, group, height, width) };
    tessi_given_copy(l, nest, &s.given);
    tessi_march_threads(l, group, width, &at);
    tessi_lines_declare(l, &s.lines, at.x);
    read_own(&s);
    tessi_sums_declare(l, &s.sums, 0);
    LExprId end = tessi_l_int(l, s.sums.rows + s.given.height - 1);
    LVarId i = tessi_scope_for(l, "i", tessi_l_int(l, 0), end, 1, LFOR_ROLLED);
    s.i = tessi_lexpr_var(l->p, i);
    tessi_lines_read(l, &s.lines, row_of(&s, s.i));
    tessi_lines_take(l, &s.lines);
    for (s.sums.result = 0; s.sums.result < s.sums.rows; s.sums.result++)
        add_row_of_pixels(&s);
    tessi_scope_close(l);
    const LBufferId to = l->buffer[group->members.at[0].v];
    /* A name of its own keeps the conditions of rows behind the sums, where registers are free. */
    s.y = tessi_scope_here(l, "at_y", s.y);
    for (s.sums.result = 0; s.sums.result < s.sums.rows; s.sums.result++) {
        LExprId row = row_of(&s, tessi_l_int(l, s.sums.result));
        tessi_scope_if(l, tessi_l_op(l, OP_LT, row, height));
        tessi_sums_give(l, &s.sums, &s.lines, &at, to, row);
        tessi_scope_close(l);
    }
    tessi_scope_close_to(l, depth);
}
