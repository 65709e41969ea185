/* Windows of equal weights (or none: minima, maxima, any, all) that are no product of lines, as discs: each row of the
 * window is runs of points beside each other, and runs are made of parts of a few lengths, which all rows and all
 * neighbours share. As those of lines (graph_taps_parts.c) parts are stages that reach beyond the image as far as they
 * are read, so they are never read outside, whatever the border rule. */
#include "graph/graph_taps.h"

enum {
    MOST_LENGTHS = 8,
    LONGEST_RUN = 1024,
    MOST_READS = 512,
    STAGE_TAPS = 6 /* what storing partial results costs, as measured */
};

static const ExprId none = { 0 };

/* Points beside each other; `at`: of the first, counted along each variable in the direction of the reads. */
typedef struct Run {
    uint32_t at[MAX_WINDOW_VARS], n;
} Run;

/* Parts of so many points; made of shorter ones where that takes fewer reads. */
typedef struct Length {
    uint32_t n;
    StageId stage;
} Length;

typedef struct Runs {
    Masks *m;
    const Domain *at;
    const Taps *t;
    Window window;
    Axis axis[MAX_WINDOW_VARS];
    uint32_t along; /* the variable of the runs */
    Op op;
    bool overlap; /* what is taken twice changes nothing */
    VEC(Run) runs;
    Length length[MOST_LENGTHS]; /* ascending */
    uint32_t n_lengths;
} Runs;

static uint32_t points_along(const Runs *r, uint32_t var)
{
    return (uint32_t)(r->window.hi[var] - r->window.lo[var] + 1);
}

static uint32_t reach_of(const Runs *r, uint32_t var)
{
    const int32_t coef = r->axis[var].dim.term[0].coef;
    return (uint32_t)(coef < 0 ? -coef : coef);
}

/* The value of the variable at the point that is number k in the direction of the reads. */
static int32_t value_at(const Runs *r, uint32_t var, uint32_t k)
{
    const bool down = r->axis[var].dim.term[0].coef < 0;
    return down ? r->window.hi[var] - (int32_t)k : r->window.lo[var] + (int32_t)k;
}

/* ---- The runs -------------------------------------------------------------------------------- */

static bool is_used(const Runs *r, const uint32_t *at)
{
    uint32_t flat = 0;
    for (uint32_t v = 0; v < r->window.n_vars; v++)
        flat = flat * points_along(r, v) + (uint32_t)(value_at(r, v, at[v]) - r->window.lo[v]);
    return r->t->weights.used[flat];
}

static void runs_of_row(Runs *r, Run row)
{
    Arena *a = r->m->to->arena;
    const uint32_t n = points_along(r, r->along);
    row.n = 0;
    for (uint32_t k = 0; k <= n; k++) {
        uint32_t at[MAX_WINDOW_VARS];
        for (uint32_t v = 0; v < r->window.n_vars; v++)
            at[v] = v == r->along ? k : row.at[v];
        const bool used = k < n && is_used(r, at);
        if (used && !row.n)
            row.at[r->along] = k;
        row.n += used;
        if (used || !row.n)
            continue;
        VEC_PUSH(a, &r->runs, row);
        row.n = 0;
    }
}

static void find_runs(Runs *r)
{
    Run row = { .n = 0 };
    for (uint32_t v = 0; v != r->window.n_vars;) {
        runs_of_row(r, row);
        for (v = 0; v < r->window.n_vars; v++) { /* the next row */
            if (v == r->along)
                continue;
            if (++row.at[v] < points_along(r, v))
                break;
            row.at[v] = 0;
        }
    }
}

/* ---- Lengths --------------------------------------------------------------------------------- */

/* How many reads of parts of the first lengths, and of points, make a run of n. */
static uint32_t reads_of(const Runs *r, uint32_t n_lengths, uint32_t n)
{
    uint32_t reads = 0;
    for (uint32_t k = n_lengths; k-- > 0;) {
        const uint32_t part = r->length[k].n;
        if (part > n)
            continue;
        if (r->overlap)
            return (n + part - 1) / part;
        reads += n / part;
        n %= part;
    }
    return reads + n;
}

static uint32_t cost_of(const Runs *r)
{
    uint32_t cost = 0;
    for (uint32_t k = 0; k < r->n_lengths; k++)
        cost += STAGE_TAPS + reads_of(r, k, r->length[k].n);
    VEC_FOREACH (const Run, run, &r->runs)
        cost += reads_of(r, r->n_lengths, run->n);
    return cost;
}

static void add_length(Runs *r, uint32_t n)
{
    uint32_t k = r->n_lengths++;
    for (; k > 0 && r->length[k - 1].n > n; k--)
        r->length[k] = r->length[k - 1];
    r->length[k] = (Length){ .n = n };
}

/* Adds the length that saves most, while one does. */
static uint32_t choose_lengths(Runs *r)
{
    uint32_t longest = 0, cost = cost_of(r);
    VEC_FOREACH (const Run, run, &r->runs)
        longest = run->n > longest ? run->n : longest;
    while (r->n_lengths < MOST_LENGTHS) {
        const Runs before = *r;
        uint32_t best = 0;
        for (uint32_t n = 2; n <= longest; n++) {
            add_length(r, n);
            const uint32_t tried = cost_of(r);
            *r = before;
            if (tried >= cost)
                continue;
            cost = tried;
            best = n;
        }
        if (!best)
            break;
        add_length(r, best);
    }
    return cost;
}

/* ---- Stages ---------------------------------------------------------------------------------- */

static ExprId with(const Runs *r, ExprId acc, ExprId x)
{
    return acc.v ? tessi_expr_op(r->m->to, r->op, acc, x, none) : x;
}

static ExprId read_point(const Runs *r, const uint32_t *at)
{
    int32_t value[MAX_WINDOW_VARS] = { 0 };
    for (uint32_t v = 0; v < r->window.n_vars; v++)
        value[v] = value_at(r, v, at[v]);
    tessi_subst_begin(r->m->to, &r->t->value, 1, r->t->window);
    return tessi_subst_at(r->m->to, r->t->value, value);
}

static ExprId read_part(const Runs *r, StageId part, const uint32_t *at)
{
    int64_t far[MAX_DIMS] = { 0 };
    for (uint32_t v = 0; v < r->window.n_vars; v++)
        far[r->axis[v].dim.src] = (int64_t)at[v] * reach_of(r, v);
    return tessi_expr_load_at(r->m->to, part, far);
}

/* Adds a run, of parts of the first lengths. */
static ExprId with_run(const Runs *r, uint32_t n_lengths, Run run, ExprId acc)
{
    for (uint32_t k = n_lengths; k-- > 0 && run.n;) {
        const uint32_t part = r->length[k].n, along = r->along;
        if (part > run.n)
            continue;
        for (; run.n >= part; run.n -= part, run.at[along] += part)
            acc = with(r, acc, read_part(r, r->length[k].stage, run.at));
        if (!r->overlap || !run.n)
            continue;
        run.at[along] -= part - run.n;
        acc = with(r, acc, read_part(r, r->length[k].stage, run.at));
        run.n = 0;
    }
    for (; run.n; run.n--, run.at[r->along]++)
        acc = with(r, acc, read_point(r, run.at));
    return acc;
}

static void make_stages(Runs *r)
{
    Graph *g = r->m->to;
    for (uint32_t k = 0; k < r->n_lengths; k++) {
        Domain domain = *r->at;
        for (uint32_t v = 0; v < r->window.n_vars; v++) {
            const uint32_t less = v == r->along ? r->length[k].n : 1;
            const int64_t more = (int64_t)reach_of(r, v) * (points_along(r, v) - less);
            SizeId *count = &domain.count[r->axis[v].dim.src];
            *count = tessi_size_add(g, *count, tessi_size_const(g, more));
        }
        const ExprId body = with_run(r, k, (Run){ .n = r->length[k].n }, none);
        r->length[k].stage = tessi_masks_stage(r->m, &domain, "runs", r->t->type, body);
    }
}

static bool find_axes(Runs *r)
{
    for (uint32_t v = 0; v < r->window.n_vars; v++) {
        if (!tessi_taps_axis(r->m, r->t->value, v, &r->axis[v]) || r->axis[v].dim.scale != 1
            || reach_of(r, v) > LONGEST_RUN)
            return false;
        if (r->axis[v].dim.src > r->axis[r->along].dim.src)
            r->along = v;
    }
    return points_along(r, r->along) <= LONGEST_RUN;
}

ExprId tessi_taps_in_runs(Masks *m, const Domain *at, const Taps *t)
{
    Graph *g = m->to;
    const bool is_sum = t->reduction == REDUCE_SUM;
    Runs r = {
        .m = m, .at = at, .t = t, .overlap = !is_sum, .window = *tessi_window(g, t->window)
    };
    Value weight;
    r.op = tessi_reduction_op(t->reduction);
    if (r.window.n_vars < 2 || (is_sum && tessi_is_real(t->type) && m->fp == FP_STRICT)
        || !tessi_taps_equal_weights(t, &weight) || !find_axes(&r))
        return none;
    find_runs(&r);
    uint32_t taps = 0, reads = 0;
    VEC_FOREACH (const Run, run, &r.runs)
        taps += run->n;
    if (taps <= UNROLL_TAPS || 4 * choose_lengths(&r) > 3 * taps)
        return none;
    VEC_FOREACH (const Run, run, &r.runs)
        reads += reads_of(&r, r.n_lengths, run->n);
    if (reads > MOST_READS)
        return none;
    make_stages(&r);
    ExprId sum = none;
    VEC_FOREACH (const Run, run, &r.runs)
        sum = with_run(&r, r.n_lengths, *run, sum);
    if (is_sum)
        sum = tessi_expr_op(g, OP_MUL, tessi_expr_const(g, t->type, weight), sum, none);
    for (uint32_t k = 0; k < r.n_lengths; k++)
        reads += reads_of(&r, k, r.length[k].n);
    m->form.steps += reads;
    m->form.parts += r.n_lengths;
    m->form.error += (reads + 2) * tessi_half_unit(t->type);
    return sum;
}
