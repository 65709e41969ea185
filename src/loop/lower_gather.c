/* What the windows of templates read: values at coordinates, and copies of rows. */
#include "loop/lower_gather.h"
#include "loop/lower_nest.h"

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

static Copy copy_of(const Gather *g)
{
    Copy c = tessi_copy_new(g->l, g->read->producer);
    tessi_rules_join(&c.rules, g->read);
    c.type = g->type;
    c.ordered = g->ordered;
    for (int d = 0; d < 2; d++)
        c.first[d] = g->first[d];
    return c;
}

LExprId tessi_gather_row(const Gather *g, LExprId k)
{
    LExprId row = tessi_l_op(g->l, OP_ADD, g->first[0], k);
    return tessi_answer(g->l, g->read->dim[0].rule, row, g->size[0]).at;
}

LExprId tessi_gather_value(const Gather *g, LExprId row, LExprId col)
{
    const Copy c = copy_of(g);
    return tessi_copy_element(g->l, &c, (const Answer[]){ { .at = row }, { .at = col } });
}

LExprId tessi_gather_answered(const Gather *g, LExprId k, LExprId x)
{
    const Copy c = copy_of(g);
    const LExprId at[2] = { k, x };
    Answer a[2];
    for (uint8_t d = 0; d < 2; d++)
        a[d] = tessi_copy_answer(g->l, &c, d, tessi_l_op(g->l, OP_ADD, g->first[d], at[d]));
    return tessi_copy_element(g->l, &c, a);
}

void tessi_gather_rows(const Gather *g, LBufferId to, int64_t from, LExprId rows, LExprId columns)
{
    Copy c = copy_of(g);
    c.buffer = to;
    c.first[0] = tessi_l_op(g->l, OP_ADD, c.first[0], tessi_l_int(g->l, from));
    tessi_copy_by_rows(g->l, &c, rows, columns);
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
    const LExprId at[2] = { y, x };
    tessi_scope_store(l, l->buffer[id.v], at, 2, result)->b = l->stream;
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
