/* Sums of windows in the registers of a thread that goes down the rows of pixels: some rows and columns of them. */
#include "loop/lower_march.h"

void tessi_sums_find(Lower *l, const Nest *nest, Sums *sums)
{
    sums->nest = nest;
    ExprList list = tessi_reach(l, nest->roots, nest->n_roots);
    for (uint32_t i = 0; i < list.n; i++) {
        const Expr *e = tessi_expr(l->g, list.at[i]);
        if (e->kind != EXPR_WINDOW)
            continue;
        Sum sum = { .member = { .id = list.at[i], .cond = tessi_window_condition(l, e) } };
        sums->window = e->window;
        VEC_PUSH(l->arena, &sums->bodies, e->arg[0]);
        VEC_PUSH(l->arena, &sums->at, sum);
    }
}

void tessi_sums_declare(Lower *l, Sums *sums, uint32_t first)
{
    VEC_FOREACH (Sum, sum, &sums->at) {
        const Expr *e = tessi_expr(l->g, sum->member.id);
        const char *name = tessi_reduction_name(e->reduction);
        LExprId start = tessi_window_start(l, e, sum->member.cond);
        sum->var = ARENA_NEW_ARRAY(l->arena, LVarId, (size_t)sums->rows * sums->columns);
        for (uint32_t r = 0; r < sums->rows; r++)
            for (uint32_t c = 0; c < sums->columns; c++)
                sum->var[r * sums->columns + c] = tessi_scope_var(
                    l, tessi_sprintf(l->arena, "%s%u_%u", name, first + r, c), e->type, start);
    }
}

LVarId tessi_sum_var(const Sums *sums, const Sum *sum, uint32_t row, uint32_t column)
{
    return sum->var[row * sums->columns + column];
}

void tessi_sums_add(Lower *l, Sums *sums, const Sum *sum, Eval *ev, LVarId to, LVarId from)
{
    LExprId operand[WINDOW_OPERANDS];
    SumStep step = { .sum = sum, .from = from, .to = to, .moves = !ev };
    step.first_operand = sums->operands.n;
    VEC_PUSH(l->arena, &sums->steps, step);
    if (!ev)
        return;
    tessi_window_operands(l, ev, &sum->member, operand);
    for (int i = 0; i < WINDOW_OPERANDS; i++)
        VEC_PUSH(l->arena, &sums->operands, operand[i]);
}

void tessi_sums_take(Lower *l, Sums *sums)
{
    tessi_scope_place(l, sums->operands.at, sums->operands.n);
    VEC_FOREACH (const SumStep, step, &sums->steps) {
        const Member *m = &step->sum->member;
        LExprId sum = step->from.v ? tessi_lexpr_var(l->p, step->from)
                                   : tessi_window_start(l, tessi_expr(l->g, m->id), m->cond);
        if (!step->moves)
            sum = tessi_window_step_expr(l, m, &sums->operands.at[step->first_operand], sum);
        tessi_lower_set(l, step->to, sum);
    }
    sums->steps.n = sums->operands.n = 0;
}

/* A name of its own keeps what is computed from the sum behind its steps. */
static void set_sums(Lower *l, void *user, Eval *ev, uint32_t column)
{
    const Sums *sums = user;
    VEC_FOREACH (const Sum, sum, &sums->at) {
        LExprId value = tessi_window_empty(l, tessi_expr(l->g, sum->member.id));
        if (sum->member.cond != COND_NEVER) {
            const LVarId var = tessi_sum_var(sums, sum, sums->result, column);
            value = tessi_scope_let(l, "result", tessi_lexpr_var(l->p, var));
        }
        tessi_eval_set(l, ev, sum->member.id, value);
    }
}

void tessi_sums_give(Lower *l, const Sums *sums, const Lines *lines, const March *m, LBufferId to,
                     LExprId row)
{
    Sums own = *sums;
    const LineResults results = { .nest = sums->nest,
                                  .to = to,
                                  .whole = m->whole,
                                  .width = sums->nest->to[1],
                                  .set_sums = set_sums,
                                  .user = &own };
    tessi_lines_give(l, lines, &results, row);
}
