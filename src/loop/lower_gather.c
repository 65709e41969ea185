/* Copies of part of an image, answered by border rules: each row is a run of vectors between two short ends. */
#include "loop/lower_gather.h"

Gather tessi_gather_new(Lower *l, const Access *read, ScalarType type)
{
    Gather g = { .l = l, .read = read, .type = type };
    for (uint8_t d = 0; d < 2; d++)
        g.size[d] = tessi_lower_size(l, tessi_stage(l->g, read->producer)->size[d]);
    if (read->outside.v) {
        Eval *ev = tessi_eval_new(l, &read->outside, 1, 0);
        LExprId outside = tessi_eval_expr(l, ev, read->outside);
        g.outside = tessi_scope_let(l, "outside", tessi_lexpr_cast(l->p, type, outside));
    }
    return g;
}

void tessi_gather_at(Gather *g, WindowId window, LExprId y, LExprId x)
{
    Lower *l = g->l;
    const LExprId at[2] = { y, x };
    for (uint8_t d = 0; d < 2; d++) {
        LExprId first = tessi_l_op(l, OP_ADD, at[d], tessi_lower_size(l, g->read->dim[d].add));
        first = tessi_l_op(l, OP_ADD, first, tessi_l_int(l, tessi_window(l->g, window)->lo[d]));
        g->first[d] = tessi_scope_let(l, d ? "x_first" : "y_first", first);
    }
}

LExprId tessi_gather_row(const Gather *g, LExprId k)
{
    LExprId row = tessi_l_op(g->l, OP_ADD, g->first[0], k);
    return tessi_border_expr(g->l, g->read->dim[0].rule, row, g->size[0]);
}

static LExprId copied(const Gather *g, LExprId value)
{
    const LExprId none = { 0 };
    return g->ordered ? tessi_lexpr_op(g->l->p, OP_ORDER, value, none, none) : value;
}

LExprId tessi_gather_value(const Gather *g, LExprId row, LExprId col)
{
    const Coord at[2] = { { .e = row, .dim = -1 }, { .e = col, .dim = -1 } };
    LExprId value = tessi_eval_stage(g->l, g->read->producer, at, false);
    return copied(g, tessi_lexpr_cast(g->l->p, g->type, value));
}

LExprId tessi_gather_answered(const Gather *g, LExprId k, LExprId x)
{
    Lower *l = g->l;
    const LExprId row = tessi_gather_row(g, k), col = tessi_l_op(l, OP_ADD, g->first[1], x);
    const LExprId at = tessi_border_expr(l, g->read->dim[1].rule, col, g->size[1]);
    LExprId value = tessi_gather_value(g, row, at);
    const LExprId found[2] = { row, at },
                  wanted[2] = { tessi_l_op(l, OP_ADD, g->first[0], k), col };
    for (uint8_t d = 0; d < 2; d++)
        if (g->read->dim[d].rule == BORDER_CONSTANT)
            value = tessi_l_select(l, tessi_l_op(l, OP_EQ, found[d], wanted[d]), value,
                                   copied(g, g->outside));
    return value;
}

/* The columns [from, end) of a row; `in_rows`: the row is one of the image, none = it certainly is. */
static void gather_columns(const Gather *g, LBufferId to, LExprId k, LExprId row, LExprId in_rows,
                           LExprId from, LExprId end, bool inside)
{
    Lower *l = g->l;
    const Border rule = g->read->dim[1].rule;
    LExprId x = tessi_lexpr_var(
        l->p, tessi_scope_for(l, "x", from, end, 1, inside ? LFOR_SIMD : LFOR_ROLLED));
    LExprId col = tessi_l_op(l, OP_ADD, g->first[1], x);
    LExprId at = inside ? col : tessi_border_expr(l, rule, col, g->size[1]);
    LExprId value = tessi_gather_value(g, row, at);
    if (in_rows.v)
        value = tessi_l_select(l, in_rows, value, copied(g, g->outside));
    if (!inside && rule == BORDER_CONSTANT)
        value = copied(g, g->outside);
    value = tessi_scope_place1(l, value);
    LStmt *s = tessi_scope_stmt(l, LSTMT_STORE);
    s->buffer = to;
    s->n_index = 2;
    s->index[0] = k;
    s->index[1] = x;
    s->a = value;
    tessi_scope_close(l);
}

void tessi_gather_rows(const Gather *g, LBufferId to, int64_t from, LExprId rows, LExprId columns)
{
    Lower *l = g->l;
    LExprId zero = tessi_l_int(l, 0), in_rows = { 0 };
    LExprId before = tessi_l_op(l, OP_SUB, zero, g->first[1]);
    LExprId after = tessi_l_op(l, OP_SUB, g->size[1], g->first[1]);
    before = tessi_l_op(l, OP_MIN, tessi_l_op(l, OP_MAX, before, zero), columns);
    after = tessi_l_op(l, OP_MIN, tessi_l_op(l, OP_MAX, after, before), columns);
    before = tessi_scope_let(l, "inside_from", before);
    after = tessi_scope_let(l, "inside_to", after);
    LExprId k = tessi_lexpr_var(l->p, tessi_scope_for(l, "k", zero, rows, 1, 0));
    LExprId number = tessi_l_op(l, OP_ADD, k, tessi_l_int(l, from));
    LExprId row = tessi_scope_let(l, "row", tessi_gather_row(g, number));
    if (g->read->dim[0].rule == BORDER_CONSTANT) {
        LExprId wanted = tessi_l_op(l, OP_ADD, g->first[0], number);
        in_rows = tessi_scope_let(l, "in", tessi_l_op(l, OP_EQ, row, wanted));
    }
    gather_columns(g, to, k, row, in_rows, zero, before, false);
    gather_columns(g, to, k, row, in_rows, before, after, true);
    gather_columns(g, to, k, row, in_rows, after, columns, false);
    tessi_scope_close(l);
}

void tessi_give_point(Lower *l, const PlanGroup *group, ExprId window, LExprId value, LExprId y,
                      LExprId x)
{
    const StageId id = group->members.at[0];
    const Stage *stage = tessi_stage(l->g, id);
    const ExprId body = stage->pieces.at[0].body;
    Nest nest = { 0 };
    tessi_nest_whole(l, stage, &nest);
    Eval *ev = tessi_eval_new(l, &body, 1, 2);
    ev->coord[0] = tessi_nest_coord(&nest, 0, y);
    ev->coord[1] = tessi_nest_coord(&nest, 1, x);
    tessi_eval_set(l, ev, window, value);
    LExprId result = tessi_scope_place1(l, tessi_eval_expr(l, ev, body));
    LStmt *s = tessi_scope_stmt(l, LSTMT_STORE);
    s->buffer = l->buffer[id.v];
    s->n_index = 2;
    s->index[0] = y;
    s->index[1] = x;
    s->a = result;
    s->b = l->stream;
}

void tessi_give_row(Lower *l, const PlanGroup *group, ExprId window, LBufferId values, LExprId row,
                    LExprId y, LExprId x, LExprId x_end)
{
    LExprId at =
        tessi_lexpr_var(l->p, tessi_scope_for(l, "x", x, x_end, 1,
                                              tessi_level_vector(&group->levels) ? LFOR_SIMD : 0));
    const LExprId index[2] = { row, tessi_l_op(l, OP_SUB, at, x) };
    tessi_give_point(l, group, window, tessi_lexpr_load(l->p, values, index, 2), y, at);
    tessi_scope_close(l);
}
