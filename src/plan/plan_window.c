/* Windows in registers: how many rows and vectors of a row share a pass over the windows of a group. Each has an
 * accumulator for each window; together they should fill about half of the registers. A step of so many rows and
 * columns loads a vector of pixels for each column and a weight for each row, so least for its points when it is as
 * high as wide; and the first and the last rows of pixels, which concern few of its rows, are few.
 *
 * Windows along the row that are wider than a vector share pixels in another way (loop/pass_slide.c): each vector
 * loaded is one of as many windows as cover it, whose accumulators are open at the same time. Rows then only hide
 * that operations wait for one another. */
#include "plan/plan_costs.h"

enum { MOST_ROWS = 8, MOST_COLUMNS = 4, SLIDING_COLUMNS = 2 };

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

/* The reads of a window move along dimension `d` of the stage as the window's variables run; all those by the point:
 * one step a step. */
typedef struct Motion {
    bool none, by_step;
} Motion;

static Motion motion(const Access *access, int8_t d)
{
    Motion m = { .none = true, .by_step = true };
    for (int k = 0; k < access->n_dims; k++) {
        const AccessDim *dim = &access->dim[k];
        if (dim->absolute || dim->src != d)
            continue;
        m.none = false;
        m.by_step = m.by_step && dim->scale == 1 && dim->n_terms == 1 && dim->term[0].coef == 1;
    }
    return m;
}

/* How many vectors of results a vector of pixels belongs to where all windows of the stage run along the row; 1
 * where some do not. */
static int64_t parts_of_windows(const PlanFacts *f, const Machine *m, StageId id)
{
    const Stage *s = tessi_stage(f->g, id);
    const uint32_t bytes = tessi_type_info(s->type)->bytes;
    const int8_t last = (int8_t)(s->n_dims - 1);
    int64_t taps = 0;
    WindowId only = { 0 };
    const ExprList *list = tessi_expr_walk(f->walk, f->g, &s->pieces.at[0].body, 1);
    VEC_FOREACH (const ExprId, e, list) {
        const Expr *x = tessi_expr(f->g, *e);
        if (x->kind == EXPR_WINDOW) {
            const Window *w = tessi_window(f->g, x->window);
            if (w->n_vars != 1 || x->arg[1].v || (only.v && only.v != x->window.v))
                return 1;
            only = x->window;
            taps = (int64_t)w->hi[0] - w->lo[0] + 1;
        }
        if (x->kind != EXPR_LOAD)
            continue;
        const Access *access = tessi_access(f->g, x->access);
        const Motion along = motion(access, last);
        if (!along.none && !along.by_step)
            return 1;
    }
    const int64_t lanes = m->vector_bytes / (bytes < 4 ? 4 : bytes);
    return bytes < 4 || lanes < 1 || taps <= lanes ? 1 : (taps + lanes - 1) / lanes;
}

/* The most rows of windows along the row whose accumulators fit the registers; 1 where windows are none of those. */
static uint8_t sliding_rows(const PlanFacts *f, const Machine *m, const StageList *stages,
                            uint32_t windows)
{
    uint8_t rows = MOST_ROWS;
    const int64_t parts = stages->n == 1 ? parts_of_windows(f, m, stages->at[0]) : 1;
    if (parts == 1)
        return 1;
    while (rows > 1
           && (double)(parts * rows * windows) > m->slide_registers * (double)m->vector_registers)
        rows /= 2;
    return rows;
}

/* The vectors that a row of the stages fills, where they are known to be few. */
static int64_t vectors_of_row(const PlanFacts *f, const Machine *m, const StageList *stages)
{
    int64_t most = MOST_COLUMNS;
    VEC_FOREACH (const StageId, id, stages) {
        const Stage *s = tessi_stage(f->g, *id);
        int64_t points;
        if (!s->n_dims || !tessi_size_is_const(f->g, s->size[s->n_dims - 1], &points))
            continue;
        const int64_t n = points * tessi_type_info(s->type)->bytes / m->vector_bytes;
        most = n < 1 ? 1 : n < most ? n : most;
    }
    return most;
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
    uint8_t rows = sliding_rows(f, m, stages, windows), across = SLIDING_COLUMNS;
    if (rows == 1) {
        const int64_t filled = (int64_t)(m->window_registers * (double)m->vector_registers);
        const int64_t room = windows ? filled / windows : 1;
        const int64_t most = vectors_of_row(f, m, stages);
        across = 1;
        for (bool grows = true; grows && 2 * rows * across <= room;) {
            uint8_t *more = rows <= across || 2 * across > most ? &rows : &across;
            grows = *more < (more == &rows ? MOST_ROWS : MOST_COLUMNS);
            *more = (uint8_t)(grows ? 2 * *more : *more);
        }
    }
    if (columns && rows > 1)
        *columns = across;
    return rows;
}

void tessi_plan_window_columns(const PlanFacts *f, const Machine *m, const StageList *stages,
                               PlanLevels *levels)
{
    uint8_t columns = 0;
    tessi_plan_window_rows(f, m, stages, &columns);
    if (columns)
        tessi_level_set_columns(levels, columns);
}

/* What a point of the stage does not load in steps of so many rows and vectors. */
static double shared_by(const PlanFacts *f, const Machine *m, StageId id, uint8_t rows,
                        uint8_t columns)
{
    double seconds = 0;
    const int8_t above = (int8_t)(tessi_stage(f->g, id)->n_dims - 2);
    const double parts = (double)parts_of_windows(f, m, id);
    VEC_FOREACH (const PlanRead, r, &f->reads[id.v]) {
        if (r->times <= 1 || !r->access.v || rows == 1)
            continue;
        const Access *access = tessi_access(f->g, r->access);
        const Motion down = motion(access, above);
        double loads = down.none || down.by_step ? 1.0 / rows : 1; /* of a step */
        if (parts > 1)
            loads = 1 / parts;
        else
            loads += 1.0 / columns;
        if (loads < 1)
            seconds += (1 - loads) * r->times
                       * tessi_plan_load_seconds(m, tessi_stage(f->g, r->producer)->type);
    }
    return seconds;
}

double tessi_plan_shared_by(const PlanFacts *f, const Machine *m, const StageList *stages,
                            uint8_t rows, uint8_t columns)
{
    double seconds = 0;
    VEC_FOREACH (const StageId, id, stages)
        seconds += shared_by(f, m, *id, rows, columns);
    return seconds;
}

double tessi_plan_shared_seconds(const PlanFacts *f, const Machine *m, const StageList *stages)
{
    double seconds = 0;
    VEC_FOREACH (const StageId, id, stages) {
        uint8_t columns = 1;
        const StageList alone = { .at = stages->at + (id - stages->at), .n = 1, .cap = 1 };
        const uint8_t rows = tessi_plan_window_rows(f, m, &alone, &columns);
        seconds += shared_by(f, m, *id, rows, columns);
    }
    return seconds;
}

/* Rows of pixels that a window of the reader runs over. */
static int64_t rows_of_pixels(const PlanFacts *f, const Access *access, int8_t above)
{
    int64_t n = 1;
    for (int k = 0; k < access->n_dims; k++) {
        const AccessDim *dim = &access->dim[k];
        int64_t lo, hi;
        if (!dim->absolute && dim->src == above && tessi_access_span(f->g, dim, &lo, &hi))
            n += hi - lo;
    }
    return n;
}

double tessi_plan_reread_seconds(const PlanFacts *f, const Machine *m, const StageList *stages,
                                 uint8_t rows, int64_t width)
{
    double seconds = 0;
    VEC_FOREACH (const StageId, id, stages) {
        const int8_t above = (int8_t)(tessi_stage(f->g, *id)->n_dims - 2);
        VEC_FOREACH (const PlanRead, r, &f->reads[id->v]) {
            if (r->times <= 1 || !r->access.v || above < 0)
                continue;
            const int64_t lines = rows_of_pixels(f, tessi_access(f->g, r->access), above);
            const double bytes = tessi_type_info(tessi_stage(f->g, r->producer)->type)->bytes;
            const double all = bytes * (double)(lines + rows - 1);
            if (lines > 1 && all * (double)width > m->cache_filled * (double)m->l1_bytes)
                seconds += (all / rows - bytes) / (m->l2_gbs * 1e9 * (double)m->cores);
        }
    }
    return seconds;
}
