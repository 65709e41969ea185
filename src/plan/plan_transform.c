/* Sums over wide masks by Fourier transforms (graph_transform.h): which plans may, what it costs, and when it pays. */
#include "graph/graph_transform.h"
#include "plan/plan_costs.h"
#include "plan/plan_gpu_cost.h"

enum { STRIP = 128 };
enum {
    GPU_STEP = 8,
    GPU_MOST_COLUMNS = 4,
    GPU_THREADS = 256,
    GPU_STRIP_BYTES = 32 << 10 /* of both parts of a strip */
};

int64_t tessi_plan_transform_columns(uint32_t strip, uint32_t cols)
{
    const int64_t step = PLAN_STRIP_STEP, steps = (strip + cols - 1 + step - 1) / step;
    return (steps | 1)
           * step; /* an odd number, so that rows above one another lie in different places of a cache */
}

/* Of one of the four arrays that a strip takes. */
static int64_t scratch_bytes(ScalarType t, uint32_t n, uint32_t strip, uint32_t cols)
{
    return tessi_plan_transform_columns(strip, cols) * n * tessi_type_info(t)->bytes;
}

static const char *check_on_gpu(const PlanFacts *f, const PlanGroup *group, ScalarType t)
{
    const int64_t bytes = 2 * (int64_t)group->transform * group->strip * tessi_type_info(t)->bytes;
    if (tessi_plan_kernel(group) != KERNEL_TRANSFORM || tessi_level_threads(&group->levels, 1) != 1)
        return tessi_plan_fault(
            f->arena, group,
            "on GPUs transforms are kernels of kind 'transform', their blocks one line of threads");
    if (tessi_level_outputs(&group->levels, 1) != 1
        || tessi_level_outputs(&group->levels, 0) > GPU_MOST_COLUMNS
        || (tessi_level_outputs(&group->levels, 0) & (tessi_level_outputs(&group->levels, 0) - 1)))
        return tessi_plan_fault(f->arena, group,
                                "on GPUs threads transform 1, 2 .. %d columns at once",
                                GPU_MOST_COLUMNS);
    if (group->strip % GPU_STEP || !group->strip || bytes > PLAN_MAX_SHARED_BYTES)
        return tessi_plan_fault(f->arena, group,
                                "on GPUs strips of transforms have a multiple of %d columns, and "
                                "no more than fit %d bytes",
                                GPU_STEP, PLAN_MAX_SHARED_BYTES);
    return NULL;
}

const char *tessi_plan_check_transform(const PlanFacts *f, const Plan *p, const PlanGroup *group)
{
    Arena *a = f->arena;
    const uint32_t n = group->transform;
    const Stage *s = tessi_stage(f->g, group->members.at[0]);
    WideSum sum;
    bool must;
    if (group->members.n != 1 || tessi_level_tile(group, 0) || tessi_level_rows(&group->levels) > 1
        || group->median || !tessi_stage_wide_sum(f->g, f->walk, s, &sum, &must))
        return tessi_plan_fault(a, group,
                                "transforms are for the only sum over a wide mask of one stage in "
                                "two dimensions, where rounding may differ");
    if (n < LEAST_TRANSFORM || n > MOST_TRANSFORM || (n & (n - 1)) || n < sum.rows)
        return tessi_plan_fault(
            a, group,
            "transforms have %d, twice that, .. %d rows, and no fewer than the mask, which has %u",
            LEAST_TRANSFORM, MOST_TRANSFORM, (unsigned)sum.rows);
    if (p->gpu)
        return check_on_gpu(f, group, tessi_expr(f->g, sum.window)->type);
    if (group->strip % PLAN_STRIP_STEP || group->strip < PLAN_STRIP_STEP
        || scratch_bytes(tessi_expr(f->g, sum.window)->type, n, group->strip, sum.cols)
               > PLAN_MAX_SCRATCH_BYTES)
        return tessi_plan_fault(
            a, group,
            "strips of transforms have a multiple of %d columns, and no more than fit %d bytes",
            PLAN_STRIP_STEP, PLAN_MAX_SCRATCH_BYTES);
    return NULL;
}

static uint16_t transform_of(const Plan *p, StageId id)
{
    VEC_FOREACH (const PlanGroup, group, &p->groups)
        if (group->transform && group->members.at[0].v == id.v)
            return group->transform;
    return 0;
}

const char *tessi_plan_missing_transform(Arena *a, const Plan *p, const Graph *g)
{
    ExprWalk walk = { .arena = a };
    GRAPH_FOREACH_STAGE (g, id) {
        bool asked = false, done;
        VEC_FOREACH (const Piece, piece, &tessi_stage(g, id)->pieces) {
            const ExprList *list = tessi_expr_walk(&walk, g, &piece->body, 1);
            VEC_FOREACH (const ExprId, e, list)
                asked = asked || tessi_expr_request(g, tessi_expr(g, *e)).method == METHOD_FFT;
        }
        done = transform_of(p, id) != 0;
        if (asked && !done && p->needed[id.v])
            return tessi_sprintf(
                a, "'%s' asks for 'method = fft', which %s", tessi_stage(g, id)->name,
                p->gpu ? "is for the only window of a stage computed in one piece, with masks "
                         "that transforms in shared memory can hold"
                       : "is for the only window of a stage computed in one piece, "
                         "with masks that transforms of 1024 rows can hold");
    }
    return NULL;
}

bool tessi_plan_same_transforms(const Plan *a, const Plan *b)
{
    for (uint32_t v = 1; v < a->n_stages; v++)
        if (transform_of(a, (StageId){ v }) != transform_of(b, (StageId){ v }))
            return false;
    return true;
}

void tessi_plan_transform_kernel(PlanGroup *group)
{
    tessi_plan_point_kernel(group);
    tessi_plan_set_kernel(group, KERNEL_TRANSFORM);
    tessi_level_set_threads(&group->levels, 0, GPU_THREADS);
    tessi_level_set_threads(&group->levels, 1, 1);
    tessi_level_set_outputs(
        &group->levels, 0,
        group->strip >= PLAN_WARP ? 2 : 1); /* of narrow strips, they would be in many rows */
    group->split = SPLIT_NONE;
}

void tessi_plan_take_transforms(Plan *to, const Plan *from)
{
    VEC_FOREACH (PlanGroup, group, &to->groups)
        VEC_FOREACH (const PlanGroup, other, &from->groups) {
            if (!other->transform || other->members.at[0].v != group->members.at[0].v)
                continue;
            group->transform = other->transform;
            group->strip = to->gpu == from->gpu ? other->strip
                           : to->gpu            ? GPU_STEP
                                                : PLAN_STRIP_STEP;
            if (to->gpu)
                tessi_plan_transform_kernel(group);
        }
}

/* ---- What it costs --------------------------------------------------------------------------- */

typedef struct TransformCost {
    uint32_t n, strip;
    double seconds; /* of one point, all cores at work */
} TransformCost;

static double per_second(const Machine *m, double per_cycle, ScalarType t)
{
    const double lanes = (double)m->vector_bytes / tessi_type_info(t)->bytes;
    return per_cycle * (lanes < 1 ? 1 : lanes) * m->ghz * 1e9 * (double)m->cores;
}

/* Additions and multiply-adds of a pass for one element of two blocks: counted. */
static double pass_operations(uint32_t radix, bool factors)
{
    return (radix == 8 ? 8.0 : 4.0) + (factors ? 4.0 * (radix - 1) / radix : 0);
}

static TransformCost cost_of(const Machine *m, ScalarType t, const WideSum *sum, uint32_t n,
                             uint32_t strip)
{
    uint32_t radix[MAX_RADICES], size = n, count = tessi_transform_radices(n, radix);
    const double fma = 1 / per_second(m, m->fma_per_cycle, t);
    const double simple = 1 / per_second(m, m->simple_per_cycle, t);
    const double load = 1 / per_second(m, m->load_per_cycle, t);
    const double wide = (double)tessi_plan_transform_columns(strip, sum->cols) / strip;
    const double bytes = tessi_type_info(t)->bytes;
    double passes = 0; /* there and back, for a column of the strip */
    for (uint32_t k = 0; k < count; k++) {
        passes +=
            (1 + wide)
            * (pass_operations(radix[k], size > radix[k]) * simple + m->transform_passes * load);
        size /= radix[k];
    }
    const double taps = sum->cols * 4 * fma / m->tap_share;
    const double memory = 2 * (wide + 1) * bytes / (m->memory_gbs * 1e9);
    /* What the caches near a core do not hold comes from the next, pass by pass. */
    const double held =
        m->transform_held * (double)scratch_bytes(t, n, strip, sum->cols) / (double)m->l2_bytes
        - m->transform_free;
    const double missed = held < 0 ? 0 : held > m->transform_missed ? m->transform_missed : held;
    const double far = missed * (count + 1.0) * m->transform_passes * bytes / (m->l3_gbs * 1e9);
    return (TransformCost){ n, strip,
                            n * (passes + taps + memory + far) / (2.0 * (n - sum->rows + 1)) };
}

/* On a GPU, three kernels in turn, each of which reads and writes whole images: what waits for memory and what
 * issues overlap, the less the more alike they are. Columns of few bytes side by side are read in parts of lines.
 * `answers`: instructions for an element that is read beyond those that any does. */
static TransformCost gpu_cost_with(const Machine *m, ScalarType t, const WideSum *sum, uint32_t n,
                                   uint32_t strip, double answers)
{
    uint32_t radix[MAX_RADICES], size = n, count = tessi_transform_radices(n, radix);
    const double bytes = tessi_type_info(t)->bytes, words = bytes / 4;
    const double rows = (double)n / (n - sum->rows + 1); /* of the spectrum for one of the result */
    const double parts = 1 + m->transform_part_bytes / (strip * bytes);
    const double slot = words / (m->issue_share * per_second(m, 1, TYPE_F32));
    double pass = 0;
    for (uint32_t k = 0; k < count; k++) {
        pass += pass_operations(radix[k], size > radix[k]) + m->transform_butterfly;
        size /= radix[k];
    }
    const double issue[2] = { rows / 2 * (pass + answers) * slot,
                              rows * 2 * sum->cols * m->transform_tap_slots * slot };
    const double moved[2] = { (1 + rows) * bytes * parts, 2 * rows * bytes };
    double seconds = 3 * m->launch_us * 1e-6 / m->transform_points;
    for (int k = 0; k < 2; k++) { /* there and back; the taps */
        const double memory = moved[k] / (m->memory_gbs * 1e9);
        seconds += (k ? 1 : 2) * tessi_gpu_overlapped(m, memory, issue[k], 0);
    }
    return (TransformCost){ n, strip, seconds };
}

static TransformCost gpu_cost_of(const Machine *m, ScalarType t, const WideSum *sum, uint32_t n,
                                 uint32_t strip)
{
    return gpu_cost_with(m, t, sum, n, strip, 0);
}

static TransformCost cheapest_on_gpu(const Machine *m, ScalarType t, const WideSum *sum)
{
    TransformCost best = { 0 };
    for (uint32_t n = LEAST_TRANSFORM; n <= MOST_TRANSFORM; n *= 2) {
        const uint32_t strip = GPU_STRIP_BYTES / 2 / tessi_type_info(t)->bytes / n;
        if (n < sum->rows || strip < GPU_STEP)
            continue;
        const TransformCost cost = gpu_cost_of(m, t, sum, n, strip);
        if (!best.n || cost.seconds < best.seconds)
            best = cost;
    }
    return best;
}

static TransformCost cheapest(const Machine *m, ScalarType t, const WideSum *sum)
{
    TransformCost best = { 0 };
    for (uint32_t n = LEAST_TRANSFORM; n <= MOST_TRANSFORM; n *= 2) {
        for (uint32_t strip = STRIP / 2; strip <= 2 * STRIP; strip *= 2) {
            if (n < sum->rows || scratch_bytes(t, n, strip, sum->cols) > PLAN_MAX_SCRATCH_BYTES)
                continue;
            const TransformCost cost = cost_of(m, t, sum, n, strip);
            if (!best.n || cost.seconds < best.seconds)
                best = cost;
        }
    }
    return best;
}

/* Tap by tap: rows and columns side by side share their loads, and little but the multiply-adds counts. */
static double direct_seconds(const Machine *m, ScalarType t, const WideSum *sum)
{
    const double taps = (double)sum->rows * sum->cols;
    const double near_peak = tessi_machine_is_gpu(m) ? m->tap_gpu_share : m->tap_share;
    const double seconds = taps / (near_peak * per_second(m, m->fma_per_cycle, t));
    const double memory = 2.0 * tessi_type_info(t)->bytes / (m->memory_gbs * 1e9);
    return !tessi_machine_is_gpu(m) || seconds > memory ? seconds : memory;
}

double tessi_plan_transform_seconds(const PlanFacts *f, const Machine *m, const PlanGroup *group)
{
    WideSum sum;
    bool must;
    const Stage *s = tessi_stage(f->g, group->members.at[0]);
    if (!group->transform || !tessi_stage_wide_sum(f->g, f->walk, s, &sum, &must))
        return 0;
    const ScalarType t = tessi_expr(f->g, sum.window)->type;
    return (tessi_machine_is_gpu(m) ? gpu_cost_of : cost_of)(m, t, &sum, group->transform,
                                                             group->strip)
        .seconds;
}

/* Were blocks inside told from others, they would answer no rules: at most so much faster, as all kernels but the
 * first read what is there. */
static const char *split_reason(const PlanFacts *f, const Machine *m, ScalarType t,
                                const WideSum *sum, const TransformCost *cost)
{
    const Access *read = tessi_access(f->g, sum->read);
    double answers = 0;
    for (int d = read->n_dims - 2; d < read->n_dims; d++)
        answers += tessi_plan_rule_instructions(m, read->dim[d].rule);
    const double with = gpu_cost_with(m, t, sum, cost->n, cost->strip, answers).seconds;
    return tessi_sprintf(f->arena,
                         "rules everywhere: gain of splitting by blocks G = %.2f (rules: %lld "
                         "instructions an element read)",
                         with / cost->seconds, tessi_plan_amount(answers));
}

/* ---- Choosing -------------------------------------------------------------------------------- */

static const char *reason(Arena *a, const WideSum *sum, ScalarType t, const TransformCost *cost,
                          double direct, bool chosen, bool asked)
{
    const int digits = cost->seconds < 100e-12;
    Text text = tessi_text_new(a);
    tessi_text_addf(
        &text,
        "the sum over %u x %u weights by Fourier transforms of %u rows, %u of them results, "
        "%.*f ps a point; tap by tap %.*f",
        (unsigned)sum->rows, (unsigned)sum->cols, (unsigned)cost->n,
        (unsigned)(cost->n - sum->rows + 1), digits, cost->seconds * 1e12, digits, direct * 1e12);
    if (!chosen) {
        tessi_text_add(&text, ", which is done");
        return tessi_text_str(&text);
    }
    tessi_text_addf(
        &text, "%s\nit is off by at most %.1e of sum |weight| times the greatest |value|",
        asked ? ", but 'method = fft' asks" : "", tessi_transform_error(t, cost->n, sum->cols));
    return tessi_text_str(&text);
}

void tessi_plan_choose_transform(const PlanFacts *f, const Machine *m, StageId id, PlanGroup *group)
{
    WideSum sum;
    bool must;
    if (!tessi_stage_wide_sum(f->g, f->walk, tessi_stage(f->g, id), &sum, &must))
        return;
    const ScalarType t = tessi_expr(f->g, sum.window)->type;
    const bool gpu = tessi_machine_is_gpu(m);
    const TransformCost cost = (gpu ? cheapest_on_gpu : cheapest)(m, t, &sum);
    const double direct = direct_seconds(m, t, &sum);
    if (!cost.n)
        return;
    const bool chosen = must || cost.seconds < direct;
    group->reason =
        reason(f->arena, &sum, t, &cost, direct, chosen, must && cost.seconds >= direct);
    if (!chosen)
        return;
    if (gpu)
        tessi_plan_add_reason(f->arena, &group->reason, split_reason(f, m, t, &sum, &cost));
    group->transform = (uint16_t)cost.n;
    group->strip = (uint16_t)cost.strip;
}
