/* Medians of wide windows in strips (lower_median.c), by histograms or by counting: which plans may, and when it
 * pays. */
#include "graph/graph_transform.h"
#include "plan/plan_costs.h"

enum { ROWS = 128, STRIP = 256, COUNTER_BYTES = 4 };

/* Of the largest array that a strip takes. */
static int64_t scratch_bytes(const WideMedian *median, bool counts, int64_t rows, int64_t strip)
{
    const int64_t bytes = tessi_type_info(median->key)->bytes, wide = strip + median->cols;
    const int64_t counters = COUNTER_BYTES * (bytes == 1 ? wide << 8 : (int64_t)1 << 16);
    const int64_t values = (rows + median->rows) * wide * bytes;
    return !counts && counters > values ? counters : values;
}

const char *tessi_plan_check_median(const PlanFacts *f, const Plan *p, const PlanGroup *group)
{
    Arena *a = f->arena;
    const Stage *s = tessi_stage(f->g, group->members.at[0]);
    WideMedian median;
    if (p->gpu)
        return tessi_plan_check_median_kernel(f, group);
    if (group->members.n != 1 || tessi_level_tile(group, 0) || tessi_level_rows(&group->levels) > 1
        || group->transform || !tessi_stage_wide_median(f->g, f->walk, s, &median))
        return tessi_plan_fault(
            a, group,
            "strips of medians are for the only window of one stage in two dimensions, a median of "
            "a rectangle or of a shape known when compiling");
    if (!group->counts && median.run)
        return tessi_plan_fault(a, group, "histograms are for rectangles");
    if (!group->counts && tessi_type_info(median.key)->bytes > 2)
        return tessi_plan_fault(a, group, "histograms are for integers of 8 or 16 bits");
    if (!group->strip
        || scratch_bytes(&median, group->counts, group->median, group->strip)
               > PLAN_MAX_SCRATCH_BYTES)
        return tessi_plan_fault(a, group, "strips of medians have to fit %d bytes",
                                PLAN_MAX_SCRATCH_BYTES);
    return NULL;
}

/* ---- What it costs, of one point, all cores at work ------------------------------------------ */

/* In operations that are no vectors'; as measured. */
static double histogram_seconds(const Machine *m, const WideMedian *median)
{
    const bool bytes = tessi_type_info(median->key)->bytes == 1;
    const double operations =
        bytes ? m->histogram_byte_operations
              : m->histogram_word_operations + m->histogram_row_operations * median->rows;
    return operations / (m->simple_per_cycle * m->ghz * 1e9 * (double)m->cores);
}

/* For each bit, every value is loaded, compared and counted. */
static double counting_seconds(const Machine *m, const WideMedian *median)
{
    const double values = median->points;
    double bytes = tessi_type_info(median->key)->bytes, bits = 8 * bytes;
    if (bytes < 2 && values > 255) /* counters are wider */
        bytes = 2;
    const double vector = (double)m->vector_bytes, lanes = vector < bytes ? 1 : vector / bytes;
    const double steps = m->ghz * 1e9 * (double)m->cores * lanes;
    return bits * values * (m->count_operations / m->simple_per_cycle + 1 / m->load_per_cycle)
           / steps;
}

double tessi_plan_median_seconds(const PlanFacts *f, const Machine *m, const PlanGroup *group)
{
    WideMedian median;
    const Stage *s = tessi_stage(f->g, group->members.at[0]);
    if (!group->median || !tessi_stage_wide_median(f->g, f->walk, s, &median))
        return 0;
    if (tessi_plan_kernel(group) != KERNEL_NONE)
        return tessi_plan_median_kernel_seconds(f, m, group);
    return (group->counts ? counting_seconds : histogram_seconds)(m, &median);
}

/* ---- Choosing -------------------------------------------------------------------------------- */

void tessi_plan_median_values(Text *text, const WideMedian *median)
{
    tessi_text_add(text, "the median of ");
    if (median->run)
        tessi_text_addf(text, "%u of ", (unsigned)median->points);
    tessi_text_addf(text, "%u x %u values", (unsigned)median->rows, (unsigned)median->cols);
}

void tessi_plan_choose_median(const PlanFacts *f, const Analysis *an, const Machine *m, StageId id,
                              PlanGroup *group)
{
    WideMedian median;
    const Stage *s = tessi_stage(f->g, id);
    if (!tessi_stage_wide_median(f->g, f->walk, s, &median))
        return;
    const bool narrow = tessi_type_info(median.key)->bytes <= 2 && !median.run;
    const double counted = counting_seconds(m, &median), slid = histogram_seconds(m, &median);
    const double sorted =
        tessi_plan_op_seconds(m, &an->cost[id.v], tessi_expr(f->g, median.window)->type);
    const bool counts = !narrow || counted < slid;
    int64_t rows = ROWS, strip = STRIP;
    while (strip > PLAN_STRIP_STEP
           && scratch_bytes(&median, counts, rows, strip) > PLAN_MAX_SCRATCH_BYTES) {
        rows = rows / 2 + 1;
        strip /= 2;
    }
    const bool chosen = (counts ? counted : slid) < sorted
                        && scratch_bytes(&median, counts, rows, strip) <= PLAN_MAX_SCRATCH_BYTES;
    Text text = tessi_text_new(f->arena);
    tessi_plan_median_values(&text, &median);
    tessi_text_addf(&text, " %s: by counting %.1f ns a point",
                    !chosen  ? "by sorting"
                    : counts ? "bit by bit, by counting what is less"
                             : "by histograms that slide along strips",
                    counted * 1e9);
    if (narrow)
        tessi_text_addf(&text, ", by histograms %.1f", slid * 1e9);
    tessi_text_addf(&text, ", by sorting %.1f", sorted * 1e9);
    group->reason = tessi_text_str(&text);
    if (!chosen)
        return;
    group->median = (uint16_t)rows;
    group->strip = (uint16_t)strip;
    group->counts = counts;
}
