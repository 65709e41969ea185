/* Windows in registers: how many rows and vectors of a row share a pass over the windows of a group. Each has an accumulator for each
 * window; together they should fill about half of the registers, more rows than columns, since rows share what they read. */
#include "plan/plan_base.h"

enum { COLUMNS = 2, MOST_ROWS = 8 };

/* The elements of the stage lie side by side in memory. */
static bool is_dense(const Graph *g, StageId id)
{
    const Stage *s = tessi_stage(g, id);
    if (s->type == TYPE_F16)
        return false;
    return s->kind != STAGE_INPUT || g->inputs.at[s->image].channels.n == 1;
}

/* Reads of neighbouring points are reads of neighbours, or of one point. */
static bool reads_side_by_side(const Graph *g, const Stage *reader, const Access *access)
{
    int last = access->n_dims - 1;
    for (int d = 0; d <= last; d++) {
        const AccessDim *dim = &access->dim[d];
        bool along = !dim->absolute && dim->src == reader->n_dims - 1;
        if (along && (d != last || dim->scale != 1))
            return false;
    }
    return is_dense(g, access->producer);
}

static bool fits(const PlanFacts *f, StageId id, uint32_t *windows)
{
    const Stage *s = tessi_stage(f->g, id);
    if (!tessi_plan_can_join_rows(f, id) || s->type == TYPE_F16)
        return false;
    const ExprList *list = tessi_expr_walk(f->walk, f->g, &s->pieces.at[0].body, 1);
    VEC_FOREACH (const ExprId, e, list) {
        const Expr *x = tessi_expr(f->g, *e);
        if (x->kind == EXPR_LOAD && !reads_side_by_side(f->g, s, tessi_access(f->g, x->access)))
            return false;
        *windows += x->kind == EXPR_WINDOW;
    }
    return true;
}

uint8_t tessi_plan_window_rows(const PlanFacts *f, const Machine *m, const StageList *stages,
                               uint8_t *columns)
{
    uint32_t windows = 0;
    bool any = false;
    VEC_FOREACH (const StageId, s, stages)
        any = any || f->has_window[s->v];
    if (!any)
        return 1;
    VEC_FOREACH (const StageId, s, stages)
        if (!fits(f, *s, &windows))
            return 1;
    int64_t room = windows ? m->vector_registers / 2 / COLUMNS / windows : 1;
    uint8_t rows = 1;
    while (rows * 2 <= room && rows < MOST_ROWS)
        rows *= 2;
    if (columns && rows > 1)
        *columns = COLUMNS;
    return rows;
}
