/* The kernel of a sum over a mask of any extent. A thread has the sums of a few points of a row, a line of threads
 * apart, so that what they read together lies side by side; each coefficient serves all of them:
 *
 *   for each row of the mask, and coefficient of it:  sum[k] += coefficient x what point k reads
 *
 * Blocks whose columns all lie inside do without the rule for columns. */
#include "loop/lower_gather.h"
#include "loop/lower_general.h"
#include "loop/lower_window.h"

enum { POINTS = 4 };

typedef struct Points {
    Lower *l;
    const GeneralSum *s;
    Gather read;
    LExprId x[POINTS];
    LVarId sum[POINTS];
} Points;

static LExprId plus(Lower *l, LExprId a, LExprId b)
{
    return tessi_l_op(l, OP_ADD, a, b);
}

static LExprId loop(Lower *l, const char *name, LExprId n, bool rolled)
{
    const uint8_t flags = rolled ? LFOR_ROLLED : 0;
    return tessi_lexpr_var(l->p, tessi_scope_for(l, name, tessi_l_int(l, 0), n, 1, flags));
}

/* What point `x` of the row reads at coefficient (i, j). */
static LExprId value_at(const Points *p, LExprId x, LExprId i, LExprId j, LExprId row, LExprId in,
                        bool inside)
{
    Lower *l = p->l;
    if (!inside)
        return tessi_gather_answered(&p->read, i, plus(l, x, j));
    LExprId at = plus(l, plus(l, p->read.first[1], x), j);
    LExprId value = tessi_gather_value(&p->read, row, at);
    return in.v ? tessi_l_select(l, in, value, p->read.outside) : value;
}

static void add_mask(const Points *p, bool inside)
{
    Lower *l = p->l;
    const Expr *e = tessi_expr(l->g, p->s->sum.window);
    LExprId i = loop(l, "i", p->s->extent[0], true), in = { 0 };
    LExprId row = tessi_scope_let(l, "row", tessi_gather_row(&p->read, i));
    if (p->read.read->dim[0].rule == BORDER_CONSTANT)
        in = tessi_scope_let(l, "in", tessi_l_op(l, OP_EQ, row, plus(l, p->read.first[0], i)));
    LExprId j = loop(l, "j", p->s->extent[1], !inside);
    const LExprId index[2] = { i, j };
    LExprId w = tessi_lexpr_load(l->p, l->buffer[p->s->mask.v], index, 2);
    w = tessi_scope_let(l, "w", w);
    for (int k = 0; k < POINTS; k++) {
        LExprId sum = tessi_lexpr_var(l->p, p->sum[k]);
        LExprId value = value_at(p, p->x[k], i, j, row, in, inside);
        sum = e->fused ? tessi_lexpr_op(l->p, OP_FMA, w, value, sum)
                       : plus(l, sum, tessi_l_op(l, OP_MUL, w, value));
        tessi_lower_set(l, p->sum[k], tessi_scope_place1(l, sum));
    }
    tessi_scope_close(l);
    tessi_scope_close(l);
}

/* All columns that points [x, end) read are inside. */
static LExprId is_inside(const Points *p, LExprId x, LExprId end)
{
    Lower *l = p->l;
    LExprId first = plus(l, x, p->read.first[1]);
    LExprId last = plus(l, plus(l, end, p->read.first[1]), p->s->extent[1]);
    return tessi_l_op(
        l, OP_AND, tessi_l_op(l, OP_LE, tessi_l_int(l, 0), first),
        tessi_l_op(l, OP_LT, tessi_l_op(l, OP_SUB, last, tessi_l_int(l, 2)), p->read.size[1]));
}

static void give(const Points *p, LExprId y, LExprId width)
{
    Lower *l = p->l;
    const Stage *stage = tessi_stage(l->g, p->s->stage);
    const ExprId body = stage->pieces.at[0].body;
    Nest nest = { 0 };
    tessi_nest_whole(l, stage, &nest);
    for (int k = 0; k < POINTS; k++) {
        tessi_scope_if(l, tessi_l_op(l, OP_LT, p->x[k], width));
        Eval *ev = tessi_eval_new(l, &body, 1, 2);
        ev->coord[0] = tessi_nest_coord(&nest, 0, y);
        ev->coord[1] = tessi_nest_coord(&nest, 1, p->x[k]);
        tessi_eval_set(l, ev, p->s->sum.window, tessi_lexpr_var(l->p, p->sum[k]));
        LExprId value = tessi_scope_place1(l, tessi_eval_expr(l, ev, body));
        LStmt *s = tessi_scope_stmt(l, LSTMT_STORE);
        s->buffer = l->buffer[p->s->stage.v];
        s->n_index = 2;
        s->index[0] = y;
        s->index[1] = p->x[k];
        s->a = value;
        tessi_scope_close(l);
    }
}

/* The sums of a thread whose first point is (y, x), of a block whose columns begin at `block_x`. */
static void points(Points *p, const PlanGroup *group, LExprId y, LExprId x, LExprId block_x,
                   LExprId width)
{
    Lower *l = p->l;
    const Expr *e = tessi_expr(l->g, p->s->sum.window);
    for (int k = 0; k < POINTS; k++) {
        p->x[k] = tessi_scope_let(
            l, "x", plus(l, x, tessi_l_int(l, k * tessi_level_threads(&group->levels, 0))));
        p->sum[k] = tessi_scope_var(l, "sum", e->type, tessi_window_start(l, e, COND_NONE));
    }
    LExprId end = plus(l, block_x, tessi_l_int(l, POINTS * tessi_level_threads(&group->levels, 0)));
    tessi_scope_if(l, is_inside(p, block_x, end));
    add_mask(p, true);
    tessi_scope_else(l);
    add_mask(p, false);
    tessi_scope_close(l);
    give(p, y, width);
}

void tessi_kernel_general(Lower *l, const PlanGroup *group, const GeneralSum *sum)
{
    Points p = { .l = l, .s = sum };
    const Stage *stage = tessi_stage(l->g, sum->stage);
    const LExprId height = tessi_lower_size(l, stage->size[0]),
                  width = tessi_lower_size(l, stage->size[1]);
    const int64_t rows = tessi_level_threads(&group->levels, 1),
                  columns = POINTS * (int64_t)tessi_level_threads(&group->levels, 0);
    tessi_kernel_open(
        l, group->name, tessi_sprintf(l->arena, "%s\nfor masks of any extent", stage->name),
        tessi_level_threads(&group->levels, 0), tessi_level_threads(&group->levels, 1));
    l->n_loop_dims = 2;
    l->inside_last = l->inside_rows = false;
    LExprId block_y = tessi_kernel_grid(l, 1, "block_y", tessi_kernel_blocks(l, height, rows));
    LExprId block_x = tessi_kernel_grid(l, 0, "block_x", tessi_kernel_blocks(l, width, columns));
    block_y = tessi_l_op(l, OP_MUL, block_y, tessi_l_int(l, rows));
    block_x = tessi_scope_let(l, "first", tessi_l_op(l, OP_MUL, block_x, tessi_l_int(l, columns)));
    LExprId y = tessi_kernel_threads(l, 1, "thread_y", rows);
    y = tessi_scope_let(l, "y", plus(l, block_y, y));
    tessi_scope_if(l, tessi_l_op(l, OP_LT, y, height));
    LExprId x = tessi_kernel_threads(l, 0, "thread_x", tessi_level_threads(&group->levels, 0));
    p.read = tessi_gather_new(l, tessi_access(l->g, sum->sum.read),
                              tessi_expr(l->g, sum->sum.window)->type);
    p.read.first[0] = tessi_scope_let(l, "first_y", plus(l, y, sum->least[0]));
    p.read.first[1] = sum->least[1];
    points(&p, group, y, plus(l, block_x, x), block_x, width);
    tessi_scope_close(l);
    tessi_scope_close(l);
    tessi_scope_close(l);
    tessi_scope_close(l);
    tessi_scope_close(l);
}
