/* Sums of windows in the registers of threads that go down rows of pixels, each of which is read once:
 *
 *   for i, rows of pixels:  read row i (or, ahead, i + 1);  for the rows of the result whose windows have it:  their
 *                           sums += the row of the window over row i
 *
 * Which rows of the result a thread has at a time is a setting:
 *
 *   rolling   as many as a window has rows, K: sum[k] is that of the row of the result for which k rows of the window
 *             have been added up; each step makes sum[k + 1] of sum[k], for k = K - 1 .. 0, and stores sum[K]. A thread
 *             goes down a strip. The code is that of the whole window. Sums of rows above and below those of the
 *             thread hold values that nobody reads; most of their steps are left out, some rows of the window at a
 *             time.
 *   sweep     some, the same ones from the first to the last step: row i of pixels is row i - r of the window of row r
 *             of the result, if there is one. The code is that of one row of the window for each row and column of the
 *             thread, so that it is short for windows of any height, and reads at the point itself are possible.
 *
 * At each point the steps come in the order they always had. Coefficients that come with the run are copied into
 * shared memory first. Of dilated windows rows of pixels are some apart: a thread has every so many rows one of the
 * result, and others those between. */
#include "analysis/const_eval.h"
#include "loop/lower_given.h"
#include "loop/lower_group.h"
#include "loop/lower_march.h"
#include "loop/lower_window.h"

enum { ROWS_AT_ONCE = 5 }; /* rolling: rows of the window whose steps are left out together */
enum { TOGETHER = 16 };    /* sweep: elements that threads at edges ask for before they wait */

/* A read of the point alone. */
typedef struct Own {
    ExprId load;
    LExprId *value; /* by row and column of the thread */
} Own;

typedef struct Stepping {
    Lower *l;
    const Nest *nest;
    const Window *w;
    bool rolls;
    Sums
        sums; /* rolling: a row for each number of rows added up; else `result` of them is the row in hand */
    bool **holds; /* by sum and point of the window: its condition */
    VEC(Own) own; /* sweep */
    Lines lines;
    Coefficients given;
    March at;
    LExprId i; /* number of the row of pixels */
} Stepping;

/* ---- Sums ------------------------------------------------------------------------------------ */

static bool *where_it_holds(Lower *l, const Member *m)
{
    const Window *w = tessi_window(l->g, tessi_expr(l->g, m->id)->window);
    const ExprId where = tessi_window_if(l, m);
    bool *holds = ARENA_NEW_ARRAY(l->arena, bool, (size_t)tessi_window_points(w)), *at = holds;
    ConstEval eval;
    if (where.v)
        tessi_const_eval_init(&eval, l->g, l->arena, &l->walk, where,
                              tessi_expr(l->g, m->id)->window);
    int32_t point[MAX_WINDOW_VARS];
    for (int i = 0; i < MAX_WINDOW_VARS; i++)
        point[i] = w->lo[i];
    do {
        Value value = tessi_value_int(m->cond != COND_NEVER);
        if (where.v)
            tessi_const_eval(&eval, point, &value);
        *at++ = value.i;
    } while (tessi_window_step(w, point));
    return holds;
}

static void find_sums(Stepping *s)
{
    Lower *l = s->l;
    tessi_sums_find(l, s->nest, &s->sums);
    s->w = tessi_window(l->g, s->sums.window);
    s->holds = ARENA_NEW_ARRAY(l->arena, bool *, s->sums.at.n);
    for (uint32_t i = 0; i < s->sums.at.n && s->rolls; i++)
        s->holds[i] = where_it_holds(l, &s->sums.at.at[i].member);
}

static void find_own(Stepping *s)
{
    Lower *l = s->l;
    const ExprList list = tessi_reach(l, s->sums.bodies.at, s->sums.bodies.n);
    VEC_FOREACH (const ExprId, id, &list) {
        const Expr *e = tessi_expr(l->g, *id);
        if (e->kind == EXPR_LOAD && tessi_access_moves_by_point_only(tessi_access(l->g, e->access)))
            VEC_PUSH(l->arena, &s->own, ((Own){ .load = *id }));
    }
}

/* What the points of the thread have. */
static void read_own(Stepping *s)
{
    Lower *l = s->l;
    VEC_FOREACH (Own, own, &s->own) {
        own->value = ARENA_NEW_ARRAY(l->arena, LExprId, (size_t)s->sums.rows * s->sums.columns);
        for (uint32_t r = 0; r < s->sums.rows; r++)
            for (uint32_t c = 0; c < s->sums.columns; c++) {
                const ExprList load = { &own->load, 1, 1 };
                LExprId y = tessi_march_row(l, &s->at, tessi_l_int(l, r));
                Eval *ev = tessi_lines_eval(l, &s->lines, s->nest, &load, y, c);
                LExprId value = tessi_eval_expr(l, ev, own->load);
                own->value[r * s->sums.columns + c] =
                    tessi_scope_let(l, tessi_sprintf(l->arena, "own%u_%u", r, c), value);
            }
    }
}

/* ---- Steps ----------------------------------------------------------------------------------- */

/* An evaluation at one point of the window, in this column of it, for column c of row y of the result, whose sums have
 * number `row`. */
static Eval *eval_at(const Stepping *s, uint32_t row, LExprId y, uint32_t c, const WindowVars *vars,
                     int64_t column)
{
    Lower *l = s->l;
    Eval *ev = tessi_lines_eval(l, &s->lines, s->nest, &s->sums.bodies, y, c);
    VEC_PUSH(l->arena, &ev->open, *vars);
    tessi_given_set(l, &s->given, ev, column);
    VEC_FOREACH (const Own, own, &s->own)
        tessi_eval_set(l, ev, own->load, own->value[row * s->sums.columns + c]);
    return ev;
}

/* Rolling: what the step of one sum in row k of its window makes of what; the first one has the sum of the row before.
 */
static void add_step(Stepping *s, const Sum *sum, Eval *ev, uint32_t k, uint32_t c, bool first)
{
    const LVarId to = tessi_sum_var(&s->sums, sum, k, c), none = { 0 };
    const LVarId before = k ? tessi_sum_var(&s->sums, sum, k - 1, c) : none;
    tessi_sums_add(s->l, &s->sums, sum, ev, to, first ? before : to);
}

/* The steps of row k of the window, in order. */
static void roll_row(Stepping *s, uint32_t k)
{
    Lower *l = s->l;
    int32_t point[MAX_WINDOW_VARS];
    bool *begun = ARENA_NEW_ARRAY(l->arena, bool, s->sums.at.n);
    for (int i = 0; i < MAX_WINDOW_VARS; i++)
        point[i] = s->w->lo[i];
    point[0] = s->w->lo[0] + (int32_t)k;
    const int64_t in_row = tessi_window_points(s->w) / s->sums.rows;
    LExprId y = tessi_march_row(l, &s->at, tessi_l_op(l, OP_SUB, s->i, tessi_l_int(l, k)));
    for (int64_t at = k * in_row; at < (k + 1) * in_row; at++) {
        const int64_t column = at - k * in_row;
        if (s->given.masks.n)
            tessi_given_take(l, &s->given, tessi_l_int(l, k), column);
        WindowVars vars = { .window = s->sums.window, .is_point = true };
        for (int i = 0; i < s->w->n_vars; i++)
            vars.var[i] = tessi_l_int(l, point[i]);
        for (uint32_t c = 0; c < s->sums.columns; c++) {
            Eval *ev = eval_at(s, k, y, c, &vars, column);
            for (uint32_t i = 0; i < s->sums.at.n; i++) {
                if (!s->holds[i][at])
                    continue;
                add_step(s, &s->sums.at.at[i], ev, k, c, !begun[i]);
                begun[i] = begun[i] || c + 1 == s->sums.columns;
            }
        }
        tessi_window_step(s->w, point);
        if (s->given.masks.n) /* before the next are taken: there are not registers for all */
            tessi_sums_take(l, &s->sums);
    }
    for (uint32_t i = 0; i < s->sums.at.n; i++)
        for (uint32_t c = 0; c < s->sums.columns && !begun[i]; c++)
            add_step(s, &s->sums.at.at[i], NULL, k, c, true);
}

/* The steps of all rows of the window, the last first, for each makes room for the one before it. */
static void roll(Stepping *s)
{
    Lower *l = s->l;
    const uint32_t parts = (s->sums.rows + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE;
    for (uint32_t part = parts; part-- > 0;) {
        const uint32_t from = part * s->sums.rows / parts, to = (part + 1) * s->sums.rows / parts;
        LExprId end = tessi_l_op(l, OP_ADD, s->at.n, tessi_l_int(l, to - 1));
        LExprId any = tessi_l_op(l, OP_LT, s->i, end);
        if (from)
            any = tessi_l_op(l, OP_AND, tessi_l_op(l, OP_LE, tessi_l_int(l, from), s->i), any);
        tessi_scope_if(l, any);
        for (uint32_t k = to; k-- > from;)
            roll_row(s, k);
        tessi_sums_take(l, &s->sums);
        tessi_scope_close(l);
    }
}

/* The row of pixels in hand, as a row of the window of the thread's row in hand. */
static void sweep_row(Stepping *s)
{
    Lower *l = s->l;
    const uint32_t r = s->sums.result;
    LExprId row = tessi_l_op(l, OP_SUB, s->i, tessi_l_int(l, r));
    LExprId any = tessi_l_op(l, OP_LE, tessi_l_int(l, r), s->i);
    LExprId before = tessi_l_op(l, OP_LT, s->i, tessi_l_int(l, r + s->given.height));
    LExprId y = tessi_march_row(l, &s->at, tessi_l_int(l, r));
    tessi_scope_if(l, tessi_l_op(l, OP_AND, any, before));
    WindowVars vars = { .window = s->sums.window };
    vars.var[0] = tessi_l_op(l, OP_ADD, row, tessi_l_int(l, s->w->lo[0]));
    for (int64_t j = 0; j < s->given.across; j++) {
        tessi_given_take(l, &s->given, row, j);
        vars.var[1] = tessi_l_int(l, s->w->lo[1] + j);
        for (uint32_t c = 0; c < s->sums.columns; c++) {
            Eval *ev = eval_at(s, r, y, c, &vars, j);
            VEC_FOREACH (const Sum, sum, &s->sums.at) {
                const LVarId var = tessi_sum_var(&s->sums, sum, r, c);
                tessi_sums_add(l, &s->sums, sum, ev, var, var);
            }
        }
        tessi_sums_take(l, &s->sums);
    }
    tessi_scope_close(l);
}

/* What the row of pixels in hand adds to the sums. */
static void add_row_of_pixels(Stepping *s)
{
    s->l->copies = &s->lines.copies;
    if (s->rolls)
        roll(s);
    for (s->sums.result = 0; s->sums.result < s->sums.rows && !s->rolls; s->sums.result++)
        sweep_row(s);
    s->l->copies = NULL;
}

/* ---- Results --------------------------------------------------------------------------------- */

/* Rolling: the row that is complete now. */
static void store_row(Stepping *s, LBufferId to)
{
    Lower *l = s->l;
    LExprId last = tessi_l_int(l, s->sums.rows - 1);
    s->sums.result = s->sums.rows - 1;
    tessi_scope_if(l, tessi_l_op(l, OP_LE, last, s->i));
    LExprId row = tessi_march_row(l, &s->at, tessi_l_op(l, OP_SUB, s->i, last));
    row = tessi_scope_let(l, tessi_dim_name(2, 0), row);
    tessi_sums_give(l, &s->sums, &s->lines, &s->at, to, row);
    tessi_scope_close(l);
}

/* Sweep: all rows of the thread that are there. */
static void store_rows(Stepping *s, LBufferId to)
{
    Lower *l = s->l;
    /* A name of its own keeps the conditions of rows behind the sums, where registers are free. */
    s->at.y = tessi_scope_here(l, "at_y", s->at.y);
    for (s->sums.result = 0; s->sums.result < s->sums.rows; s->sums.result++) {
        LExprId row = tessi_march_row(l, &s->at, tessi_l_int(l, s->sums.result));
        tessi_scope_if(l, tessi_l_op(l, OP_LT, row, s->nest->to[0]));
        tessi_sums_give(l, &s->sums, &s->lines, &s->at, to, row);
        tessi_scope_close(l);
    }
}

/* ---- Kernel ---------------------------------------------------------------------------------- */

/* Sweep: opens the grid and says where the block stands. Of dilated windows the rows of a block are some apart, and
 * blocks below each other take those in between in turn. */
static void open_blocks(Stepping *s, const PlanGroup *group)
{
    Lower *l = s->l;
    LExprId height = s->nest->to[0], width = s->nest->to[1];
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
    s->at.y = tessi_scope_let(l, "first_y", y);
    s->at.column = tessi_edges_column(l, &e, tessi_l_op(l, OP_FLOORMOD, e.number, e.side));
}

static void find(Stepping *s, const PlanGroup *group)
{
    Lower *l = s->l;
    find_sums(s);
    s->sums.columns = tessi_level_outputs(&group->levels, 0);
    if (s->rolls)
        tessi_staged_declare(l, group, s->nest, NULL); /* in constant memory */
    else
        find_own(s);
    tessi_lines_find(l, s->nest, &s->sums.bodies, s->sums.columns, &s->lines);
    tessi_given_find(l, &s->sums.bodies, s->sums.window, &s->given);
    s->sums.rows = s->rolls ? (uint32_t)s->given.height : tessi_level_outputs(&group->levels, 1);
    s->lines.together = s->rolls ? 0 : TOGETHER;
    s->at.step = s->lines.step;
}

void tessi_kernel_sums(Lower *l, const Nest *nest, const PlanGroup *group)
{
    const uint32_t depth = tessi_scope_depth(l);
    const LBufferId to = l->buffer[group->members.at[0].v];
    Stepping s = { .l = l, .nest = nest, .rolls = tessi_plan_kernel(group) == KERNEL_ROLLING };
    const bool ahead = s.rolls && tessi_level_march(&group->levels).ahead;
    tessi_lower_dims(l, nest->n_dims);
    find(&s, group);
    if (s.rolls)
        tessi_march_blocks(l, group, nest->to[0], nest->to[1], &s.at);
    else
        open_blocks(&s, group);
    tessi_given_copy(l, nest, &s.given);
    tessi_march_threads(l, group, nest->to[1], &s.at);
    tessi_lines_declare(l, &s.lines, s.at.x);
    read_own(&s);
    if (ahead)
        tessi_lines_read(l, &s.lines, s.at.y);
    tessi_sums_declare(l, &s.sums, s.rolls);
    LExprId end = s.rolls ? tessi_l_op(l, OP_ADD, s.at.n, tessi_l_int(l, s.sums.rows - 1))
                          : tessi_l_int(l, s.sums.rows + s.given.height - 1);
    s.i = tessi_lexpr_var(l->p, tessi_scope_for(l, "i", tessi_l_int(l, 0), end, 1, LFOR_ROLLED));
    if (!ahead)
        tessi_lines_read(l, &s.lines, tessi_march_row(l, &s.at, s.i));
    tessi_lines_take(l, &s.lines);
    if (ahead)
        tessi_lines_read(l, &s.lines,
                         tessi_march_row(l, &s.at, tessi_l_op(l, OP_ADD, s.i, tessi_l_int(l, 1))));
    add_row_of_pixels(&s);
    if (s.rolls)
        store_row(&s, to);
    tessi_scope_close(l);
    if (!s.rolls)
        store_rows(&s, to);
    tessi_staged_end(l, group);
    tessi_scope_close_to(l, depth);
}
