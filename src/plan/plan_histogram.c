/* Medians of wide windows of 8 and 16 bits by histograms that slide along strips (lower_median.c): which plans may, and when it pays. */
#include "graph/graph_transform.h"
#include "plan/plan_base.h"

enum { ROWS = 128, STRIP = 256, COUNTER_BYTES = 4 };

/* Of the largest array that a strip takes. */
static int64_t scratch_bytes(const WideMedian *median, ScalarType t, int64_t rows, int64_t strip)
{
    const int64_t bytes = tessi_type_info(t)->bytes, wide = strip + median->cols;
    const int64_t counters = COUNTER_BYTES * (bytes == 1 ? wide << 8 : (int64_t)1 << 16);
    const int64_t values = (rows + median->rows) * wide * bytes;
    return counters > values ? counters : values;
}

const char *tessi_plan_check_histogram(const PlanFacts *f, const Plan *p, const PlanGroup *group)
{
    Arena *a = f->arena;
    const Stage *s = tessi_stage(f->g, group->members.at[0]);
    WideMedian median;
    if (p->gpu || group->members.n != 1 || group->tile[0] || group->rows > 1 || group->transform
        || !tessi_stage_wide_median(f->g, a, s, &median))
        return tessi_sprintf(a,
                             "group '%s': histograms are for the only window of one stage in two "
                             "dimensions, a median of a rectangle of 8 or 16 bits, on CPUs",
                             group->name);
    const ScalarType t = tessi_expr(f->g, median.window)->type;
    if (!group->strip
        || scratch_bytes(&median, t, group->histogram, group->strip) > PLAN_MAX_SCRATCH_BYTES)
        return tessi_sprintf(a, "group '%s': strips of histograms have to fit %d bytes",
                             group->name, PLAN_MAX_SCRATCH_BYTES);
    return NULL;
}

/* Of one point, all cores at work, in operations that are no vectors'; as measured. */
static double histogram_seconds(const Machine *m, ScalarType t, const WideMedian *median)
{
    const bool bytes = tessi_type_info(t)->bytes == 1;
    const double operations = bytes ? 100 : 340 + 20.0 * median->rows;
    return operations / (m->simple_per_cycle * m->ghz * 1e9 * (double)m->cores);
}

double tessi_plan_histogram_seconds(const PlanFacts *f, const Machine *m, const PlanGroup *group)
{
    WideMedian median;
    const Stage *s = tessi_stage(f->g, group->members.at[0]);
    if (!group->histogram || !tessi_stage_wide_median(f->g, f->arena, s, &median))
        return 0;
    return histogram_seconds(m, tessi_expr(f->g, median.window)->type, &median);
}

void tessi_plan_choose_histogram(const PlanFacts *f, const Analysis *an, const Machine *m,
                                 StageId id, PlanGroup *group)
{
    WideMedian median;
    if (!tessi_stage_wide_median(f->g, f->arena, tessi_stage(f->g, id), &median))
        return;
    const ScalarType t = tessi_expr(f->g, median.window)->type;
    const double seconds = histogram_seconds(m, t, &median);
    const double sorted = tessi_plan_op_seconds(m, &an->cost[id.v], t);
    int64_t rows = ROWS, strip = STRIP;
    while (strip > 1 && scratch_bytes(&median, t, rows, strip) > PLAN_MAX_SCRATCH_BYTES) {
        rows = rows / 2 + 1;
        strip /= 2;
    }
    const bool chosen =
        seconds < sorted && scratch_bytes(&median, t, rows, strip) <= PLAN_MAX_SCRATCH_BYTES;
    group->reason = tessi_sprintf(
        f->arena,
        "the median of %u x %u values by histograms that slide along strips, %.1f ns a "
        "point; sorted point by point %.1f%s",
        (unsigned)median.rows, (unsigned)median.cols, seconds * 1e9, sorted * 1e9,
        chosen ? "" : ", which is done");
    if (!chosen)
        return;
    group->histogram = (uint16_t)rows;
    group->strip = (uint16_t)strip;
}
