/* Sums of windows that roll down the rows. Of K rows of a window, a row of pixels takes part in K rows of the
 * result: a thread keeps their sums in registers, and goes down its columns with each row of pixels read once:
 *
 *   for i, rows of pixels:  read row i (or, ahead, i + 1);  sum[k + 1] = sum[k] + row k of the window over row i, for k
 *                           = K - 1 .. 0;  store sum[K]
 *
 * sum[k] is that of the row of the result for which k rows of the window have been added up, so that at each point
 * the steps come in the order they always had. Sums of rows above and below those of the thread hold values that
 * nobody reads; most of their steps are left out, some rows of the window at a time.
 *
 * Of dilated windows rows of pixels are some apart: a thread has every so many rows one of the result, and others
 * those between. */
#include "analysis/const_eval.h"
#include "loop/lower_given.h"
#include "loop/lower_group.h"
#include "loop/lower_march.h"
#include "loop/lower_window.h"

enum { ROWS_AT_ONCE = 5 }; /* of the window: their steps are left out together */

typedef struct Rolling {
    Lower *l;
    const Nest *nest;
    const Window *w;
    Sums sums;    /* a row for each number of rows added up */
    bool **holds; /* by sum and point of the window: its condition */
    Lines lines;
    Coefficients given;
    March at;
    LExprId i; /* number of the row of pixels */
} Rolling;

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

static void find_sums(Rolling *r)
{
    Lower *l = r->l;
    tessi_sums_find(l, r->nest, &r->sums);
    r->holds = ARENA_NEW_ARRAY(l->arena, bool *, r->sums.at.n);
    for (uint32_t i = 0; i < r->sums.at.n; i++)
        r->holds[i] = where_it_holds(l, &r->sums.at.at[i].member);
    r->w = tessi_window(l->g, r->sums.window);
    r->sums.rows = (uint32_t)(r->w->hi[0] - r->w->lo[0] + 1);
    r->sums.result = r->sums.rows - 1;
}

/* ---- Steps ----------------------------------------------------------------------------------- */

/* An evaluation for column c of the row of the result that the row of pixels in hand is row k of the window for. */
static Eval *eval_at(const Rolling *r, uint32_t k, uint32_t c)
{
    Lower *l = r->l;
    LExprId y = tessi_march_row(l, &r->at, tessi_l_op(l, OP_SUB, r->i, tessi_l_int(l, k)));
    return tessi_lines_eval(l, &r->lines, r->nest, &r->sums.bodies, y, c);
}

/* What the step of one sum in row k of its window makes of what; the first one has the sum of the row before. */
static void add_step(Rolling *r, const Sum *sum, Eval *ev, uint32_t k, uint32_t c, bool first)
{
    const LVarId to = tessi_sum_var(&r->sums, sum, k, c), none = { 0 };
    const LVarId before = k ? tessi_sum_var(&r->sums, sum, k - 1, c) : none;
    tessi_sums_add(r->l, &r->sums, sum, ev, to, first ? before : to);
}

/* The steps of row k of the window, in order. */
static void steps_of_row(Rolling *r, uint32_t k)
{
    Lower *l = r->l;
    int32_t point[MAX_WINDOW_VARS];
    bool *begun = ARENA_NEW_ARRAY(l->arena, bool, r->sums.at.n);
    for (int i = 0; i < MAX_WINDOW_VARS; i++)
        point[i] = r->w->lo[i];
    point[0] = r->w->lo[0] + (int32_t)k;
    const int64_t in_row = tessi_window_points(r->w) / r->sums.rows;
    for (int64_t at = k * in_row; at < (k + 1) * in_row; at++) {
        const int64_t column = at - k * in_row;
        if (r->given.masks.n)
            tessi_given_take(l, &r->given, tessi_l_int(l, k), column);
        WindowVars vars = { .window = r->sums.window, .is_point = true };
        for (int i = 0; i < r->w->n_vars; i++)
            vars.var[i] = tessi_l_int(l, point[i]);
        for (uint32_t c = 0; c < r->sums.columns; c++) {
            Eval *ev = eval_at(r, k, c);
            VEC_PUSH(l->arena, &ev->open, vars);
            tessi_given_set(l, &r->given, ev, column);
            for (uint32_t s = 0; s < r->sums.at.n; s++) {
                Sum *sum = &r->sums.at.at[s];
                if (!r->holds[s][at])
                    continue;
                add_step(r, sum, ev, k, c, !begun[s]);
                begun[s] = begun[s] || c + 1 == r->sums.columns;
            }
        }
        tessi_window_step(r->w, point);
        if (r->given.masks.n) /* before the next are taken: there are not registers for all */
            tessi_sums_take(l, &r->sums);
    }
    for (uint32_t s = 0; s < r->sums.at.n; s++)
        for (uint32_t c = 0; c < r->sums.columns && !begun[s]; c++)
            add_step(r, &r->sums.at.at[s], NULL, k, c, true);
}

/* The steps of all rows of the window, the last first, for each makes room for the one before it. */
static void add_row_of_pixels(Rolling *r)
{
    Lower *l = r->l;
    const uint32_t parts = (r->sums.rows + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE;
    l->copies = &r->lines.copies;
    for (uint32_t part = parts; part-- > 0;) {
        const uint32_t from = part * r->sums.rows / parts, to = (part + 1) * r->sums.rows / parts;
        LExprId end = tessi_l_op(l, OP_ADD, r->at.n, tessi_l_int(l, to - 1));
        LExprId any = tessi_l_op(l, OP_LT, r->i, end);
        if (from)
            any = tessi_l_op(l, OP_AND, tessi_l_op(l, OP_LE, tessi_l_int(l, from), r->i), any);
        tessi_scope_if(l, any);
        for (uint32_t k = to; k-- > from;)
            steps_of_row(r, k);
        tessi_sums_take(l, &r->sums);
        tessi_scope_close(l);
    }
    l->copies = NULL;
}

/* ---- Results --------------------------------------------------------------------------------- */

static void store_row(Rolling *r, LBufferId to)
{
    Lower *l = r->l;
    LExprId last = tessi_l_int(l, r->sums.rows - 1);
    tessi_scope_if(l, tessi_l_op(l, OP_LE, last, r->i));
    LExprId row = tessi_march_row(l, &r->at, tessi_l_op(l, OP_SUB, r->i, last));
    row = tessi_scope_let(l, tessi_dim_name(2, 0), row);
    tessi_sums_give(l, &r->sums, &r->lines, &r->at, to, row);
    tessi_scope_close(l);
}

/* ---- Kernel ---------------------------------------------------------------------------------- */

void tessi_kernel_rolling(Lower *l, const Nest *nest, const PlanGroup *group)
{
    const uint32_t depth = tessi_scope_depth(l);
    Rolling r = { .l = l, .nest = nest };
    r.sums.columns = tessi_level_outputs(&group->levels, 0);
    LExprId height = nest->to[0], width = nest->to[1];
    l->n_loop_dims = nest->n_dims;
    l->inside_last = l->inside_rows = false;
    find_sums(&r);
    tessi_staged_declare(l, group, nest, NULL); /* in constant memory */
    tessi_lines_find(l, nest, &r.sums.bodies, r.sums.columns, &r.lines);
    tessi_given_find(l, &r.sums.bodies, r.sums.window, &r.given);
    r.at.step = r.lines.step;
    tessi_march_blocks(l, group, height, width, &r.at);
    tessi_given_copy(l, nest, &r.given);
    tessi_march_threads(l, group, width, &r.at);
    tessi_lines_declare(l, &r.lines, r.at.x);
    if (tessi_level_march(&group->levels).ahead)
        tessi_lines_read(l, &r.lines, r.at.y);
    tessi_sums_declare(l, &r.sums, 1);
    LExprId end = tessi_l_op(l, OP_ADD, r.at.n, tessi_l_int(l, r.sums.rows - 1));
    LVarId i = tessi_scope_for(l, "i", tessi_l_int(l, 0), end, 1, LFOR_ROLLED);
    r.i = tessi_lexpr_var(l->p, i);
    if (!tessi_level_march(&group->levels).ahead)
        tessi_lines_read(l, &r.lines, tessi_march_row(l, &r.at, r.i));
    tessi_lines_take(l, &r.lines);
    if (tessi_level_march(&group->levels).ahead) {
        LExprId next = tessi_l_op(l, OP_ADD, r.i, tessi_l_int(l, 1));
        tessi_lines_read(l, &r.lines, tessi_march_row(l, &r.at, next));
    }
    add_row_of_pixels(&r);
    store_row(&r, l->buffer[group->members.at[0].v]);
    tessi_staged_end(l, group);
    tessi_scope_close_to(l, depth);
}
