/* Windows whose coefficients come with the run, several rows of several columns a thread. A block first copies the coefficients into shared
 * memory, rows padded to whole vectors; then each thread goes over the rows of pixels that its rows of the result read:
 *
 *   for i, rows of pixels:  read row i;  for r, rows of the result:  if 0 <= i - r < K:  sum[r] += row i - r of the window over row i
 *
 * The code is that of one row of the window for each row and column of the thread, so that it is short for windows of any height. */
#include "loop/lower_line.h"
#include "loop/lower_window.h"

/* Coefficients: a read that moves with the window alone. */
typedef struct Given {
    ExprId load;
    LBufferId shared;
    uint32_t width; /* elements that move at once */
} Given;

typedef struct Sum {
    Member member;
    LVarId *var; /* by row and column of the thread */
} Sum;

typedef struct Sweep {
    Lower *l;
    const Nest *nest;
    WindowId window;
    const Window *w;
    uint32_t rows, columns; /* of a thread */
    int64_t height, across; /* of the window */
    VEC(Sum) sums;
    VEC(Given) given;
    ExprList bodies;
    Lines lines;
    LExprId x, y, i;
    uint32_t row; /* of the thread, in hand */
} Sweep;

/* ---- Coefficients ---------------------------------------------------------------------------------------------------------------- */

static bool stays(const Access *a)
{
    for (int d = 0; d < a->n_dims; d++)
        if (a->dim[d].absolute || a->dim[d].src >= 0)
            return false;
    return true;
}

static void find(Sweep *s)
{
    Lower *l = s->l;
    ExprList list = tessi_reach(l, s->nest->roots, s->nest->n_roots);
    for (uint32_t i = 0; i < list.n; i++) {
        const Expr *e = tessi_expr(l->g, list.at[i]);
        if (e->kind != EXPR_WINDOW)
            continue;
        Sum sum = { .member = { .id = list.at[i], .cond = COND_NONE } };
        s->window = e->window;
        VEC_PUSH(l->arena, &s->bodies, e->arg[0]);
        VEC_PUSH(l->arena, &s->sums, sum);
    }
    s->w = tessi_window(l->g, s->window);
    s->height = (int64_t)s->w->hi[0] - s->w->lo[0] + 1;
    s->across = (int64_t)s->w->hi[1] - s->w->lo[1] + 1;
    list = tessi_reach(l, s->bodies.at, s->bodies.n);
    for (uint32_t i = 0; i < list.n; i++) {
        const Expr *e = tessi_expr(l->g, list.at[i]);
        if (e->kind == EXPR_LOAD && stays(tessi_access(l->g, e->access)))
            VEC_PUSH(l->arena, &s->given, ((Given){ .load = list.at[i] }));
    }
}

/* The block's threads fill shared memory; what pads a row is any coefficient of it. */
static void copy_given(Sweep *s, Given *g)
{
    enum { VECTOR_BYTES = 16 };
    Lower *l = s->l;
    const Expr *e = tessi_expr(l->g, g->load);
    const Stage *mask = tessi_stage(l->g, tessi_access(l->g, e->access)->producer);
    g->width = VECTOR_BYTES / tessi_type_info(mask->type)->bytes;
    const int64_t pitch = (s->across + g->width - 1) / g->width * g->width;
    LBuffer b = { .name = tessi_sprintf(l->arena, "%s_shared", mask->name),
                  .kind = LBUF_LOCAL,
                  .type = mask->type,
                  .n_dims = 2 };
    b.size[0] = tessi_l_int(l, s->height);
    b.size[1] = tessi_l_int(l, pitch);
    g->shared = tessi_loop_buffer(l->p, &b);
    tessi_scope_stmt(l, LSTMT_LOCAL)->buffer = g->shared;
    LExprId number = tessi_kernel_threads(l, 0, "element", s->height * pitch);
    LExprId at[2];
    at[0] = tessi_scope_let(l, "row", tessi_l_op(l, OP_FLOORDIV, number, tessi_l_int(l, pitch)));
    at[1] = tessi_scope_let(l, "column", tessi_l_op(l, OP_FLOORMOD, number, tessi_l_int(l, pitch)));
    LExprId last = tessi_l_int(l, s->across - 1);
    WindowVars vars = { .window = s->window };
    vars.var[0] = tessi_l_op(l, OP_ADD, at[0], tessi_l_int(l, s->w->lo[0]));
    vars.var[1] =
        tessi_l_op(l, OP_ADD, tessi_l_op(l, OP_MIN, at[1], last), tessi_l_int(l, s->w->lo[1]));
    Eval *ev = tessi_eval_new(l, &g->load, 1, s->nest->n_dims);
    VEC_PUSH(l->arena, &ev->open, vars);
    LExprId value = tessi_eval_expr(l, ev, g->load);
    tessi_pin(l, value, tessi_scope_depth(l));
    value = tessi_scope_place1(l, value);
    LStmt *store = tessi_scope_stmt(l, LSTMT_STORE);
    store->buffer = g->shared;
    store->n_index = 2;
    store->index[0] = at[0];
    store->index[1] = at[1];
    store->a = value;
    tessi_scope_close(l);
}

/* The coefficients of columns [first, first + width) of row `row` of the window. */
static void take_given(Sweep *s, const Given *g, LExprId row, int64_t first, LExprId *out)
{
    Lower *l = s->l;
    const LBuffer shared = l->p->buffers.at[g->shared.v];
    LBuffer b = { .name = tessi_sprintf(l->arena, "%s_line", shared.name),
                  .kind = LBUF_LOCAL,
                  .type = shared.type,
                  .n_dims = 1 };
    b.size[0] = tessi_l_int(l, g->width);
    LBufferId line = tessi_loop_buffer(l->p, &b);
    tessi_scope_stmt(l, LSTMT_LOCAL)->buffer = line;
    LStmt *move = tessi_scope_stmt(l, LSTMT_MOVE);
    move->buffer = line;
    move->other = g->shared;
    move->n_index = 2;
    move->index[0] = row;
    move->index[1] = tessi_l_int(l, first);
    for (uint32_t k = 0; k < g->width && first + k < s->across; k++) {
        LExprId at = tessi_l_int(l, k), value = tessi_lexpr_load(l->p, line, &at, 1);
        tessi_pin(l, value, tessi_scope_depth(l));
        out[first + k] = tessi_scope_let(l, "w", value);
    }
}

/* ---- Steps ------------------------------------------------------------------------------------------------------------------------ */

static LVarId sum_of(const Sweep *s, const Sum *sum, uint32_t row, uint32_t column)
{
    return sum->var[row * s->columns + column];
}

static void declare_sums(Sweep *s)
{
    Lower *l = s->l;
    VEC_FOREACH (Sum, sum, &s->sums) {
        const Expr *e = tessi_expr(l->g, sum->member.id);
        const char *name = tessi_reduction_name(e->reduction);
        LExprId start = tessi_window_start(l, e, COND_NONE);
        sum->var = ARENA_NEW_ARRAY(l->arena, LVarId, (size_t)s->rows * s->columns);
        for (uint32_t r = 0; r < s->rows; r++)
            for (uint32_t c = 0; c < s->columns; c++)
                sum->var[r * s->columns + c] = tessi_scope_var(
                    l, tessi_sprintf(l->arena, "%s%u_%u", name, r, c), e->type, start);
    }
}

/* The steps of all columns at one point of the window. */
static void steps_at(Sweep *s, const WindowVars *vars, LExprId *const *given, int64_t j)
{
    Lower *l = s->l;
    LExprList operands = { 0 };
    for (uint32_t c = 0; c < s->columns; c++) {
        Eval *ev = tessi_eval_new(l, s->bodies.at, s->bodies.n, s->nest->n_dims);
        LExprId at[2] = { tessi_l_op(l, OP_ADD, s->y, tessi_l_int(l, s->row)),
                          tessi_l_op(l, OP_ADD, s->x, tessi_l_int(l, c)) };
        for (uint8_t d = 0; d < 2; d++) {
            ev->coord[d] = tessi_nest_coord(s->nest, d, at[d]);
            ev->coord[d].loose = true;
        }
        VEC_PUSH(l->arena, &ev->open, *vars);
        for (uint32_t g = 0; g < s->given.n; g++)
            tessi_eval_set(l, ev, s->given.at[g].load, given[g][j]);
        VEC_FOREACH (const Sum, sum, &s->sums) {
            LExprId operand[WINDOW_OPERANDS];
            tessi_window_operands(l, ev, &sum->member, operand);
            for (int k = 0; k < WINDOW_OPERANDS; k++)
                VEC_PUSH(l->arena, &operands, operand[k]);
        }
    }
    tessi_scope_place(l, operands.at, operands.n);
    const LExprId *operand = operands.at;
    for (uint32_t c = 0; c < s->columns; c++)
        VEC_FOREACH (const Sum, sum, &s->sums) {
            const LVarId var = sum_of(s, sum, s->row, c);
            LExprId value = tessi_lexpr_var(l->p, var);
            tessi_lower_set(l, var, tessi_window_step_expr(l, &sum->member, operand, value));
            operand += WINDOW_OPERANDS;
        }
}

/* The row of pixels in hand, as a row of the window of the thread's row in hand. */
static void add_row_of_pixels(Sweep *s)
{
    Lower *l = s->l;
    LExprId row = tessi_l_op(l, OP_SUB, s->i, tessi_l_int(l, s->row));
    LExprId any = tessi_l_op(l, OP_LE, tessi_l_int(l, s->row), s->i);
    LExprId before = tessi_l_op(l, OP_LT, s->i, tessi_l_int(l, s->row + s->height));
    tessi_scope_if(l, tessi_l_op(l, OP_AND, any, before));
    LExprId **given = ARENA_NEW_ARRAY(l->arena, LExprId *, s->given.n);
    for (uint32_t g = 0; g < s->given.n; g++)
        given[g] = ARENA_NEW_ARRAY(l->arena, LExprId, (size_t)s->across);
    WindowVars vars = { .window = s->window };
    vars.var[0] = tessi_l_op(l, OP_ADD, row, tessi_l_int(l, s->w->lo[0]));
    l->patches = &s->lines.patches;
    for (int64_t j = 0; j < s->across; j++) {
        for (uint32_t g = 0; g < s->given.n; g++)
            if (j % s->given.at[g].width == 0)
                take_given(s, &s->given.at[g], row, j, given[g]);
        vars.var[1] = tessi_l_int(l, s->w->lo[1] + j);
        steps_at(s, &vars, given, j);
    }
    l->patches = NULL;
    tessi_scope_close(l);
}

/* ---- Kernel ----------------------------------------------------------------------------------------------------------------------- */

static void set_sums(void *user, Eval *ev, uint32_t c)
{
    const Sweep *s = user;
    Lower *l = s->l;
    VEC_FOREACH (const Sum, sum, &s->sums) {
        LExprId value = tessi_lexpr_var(l->p, sum_of(s, sum, s->row, c));
        tessi_eval_set(l, ev, sum->member.id, tessi_scope_let(l, "result", value));
    }
}

void tessi_kernel_sweep(Lower *l, const Nest *nest, const PlanGroup *group)
{
    const uint32_t depth = tessi_scope_depth(l);
    Sweep s = { .l = l, .nest = nest, .columns = group->outputs[0], .rows = group->outputs[1] };
    LExprId height = nest->to[0], width = nest->to[1];
    l->n_loop_dims = nest->n_dims;
    l->inside_last = l->inside_rows = false;
    find(&s);
    tessi_lines_find(l, s.bodies.at, s.bodies.n, s.columns, &s.lines);
    const int64_t across = (int64_t)group->block[0] * s.columns;
    LExprId block_y = tessi_kernel_grid(l, 1, "block_y", tessi_kernel_blocks(l, height, s.rows));
    LExprId block_x = tessi_kernel_grid(l, 0, "block_x", tessi_kernel_blocks(l, width, across));
    VEC_FOREACH (Given, g, &s.given)
        copy_given(&s, g);
    s.y = tessi_scope_let(l, "first_y", tessi_l_op(l, OP_MUL, block_y, tessi_l_int(l, s.rows)));
    LExprId thread = tessi_kernel_threads(l, 0, "thread_x", group->block[0]);
    LExprId x = tessi_l_op(l, OP_MUL, block_x, tessi_l_int(l, group->block[0]));
    x = tessi_l_op(l, OP_MUL, tessi_l_op(l, OP_ADD, x, thread), tessi_l_int(l, s.columns));
    s.x = tessi_scope_let(l, tessi_dim_name(2, 1), x);
    tessi_scope_if(l, tessi_l_op(l, OP_LT, s.x, width));
    LExprId whole = tessi_l_op(l, OP_ADD, s.x, tessi_l_int(l, s.columns));
    whole = tessi_scope_let(l, "whole", tessi_l_op(l, OP_LE, whole, width));
    tessi_lines_declare(l, &s.lines, s.x);
    declare_sums(&s);
    LVarId i = tessi_scope_for(l, "i", tessi_l_int(l, 0), tessi_l_int(l, s.rows + s.height - 1), 1,
                               LFOR_ROLLED);
    s.i = tessi_lexpr_var(l->p, i);
    tessi_lines_read(l, &s.lines, tessi_l_op(l, OP_ADD, s.y, s.i));
    tessi_lines_take(l, &s.lines);
    for (s.row = 0; s.row < s.rows; s.row++)
        add_row_of_pixels(&s);
    tessi_scope_close(l);
    const LineResults results = { .nest = nest,
                                  .to = l->buffer[group->members.at[0].v],
                                  .whole = whole,
                                  .width = width,
                                  .set_sums = set_sums,
                                  .user = &s };
    for (s.row = 0; s.row < s.rows; s.row++) {
        LExprId row = tessi_l_op(l, OP_ADD, s.y, tessi_l_int(l, s.row));
        tessi_scope_if(l, tessi_l_op(l, OP_LT, row, height));
        tessi_lines_give(l, &s.lines, &results, row);
        tessi_scope_close(l);
    }
    while (tessi_scope_depth(l) > depth)
        tessi_scope_close(l);
}
