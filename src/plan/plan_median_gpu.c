/* Medians of wide windows on GPUs (lower_median_kernel.c), by histograms, by counting or by networks: which plans may,
 * and when it pays. */
#include "graph/graph_network.h"
#include "graph/graph_transform.h"
#include "plan/plan_costs.h"

#include <math.h>

enum { BINS = 256 + 16, ROWS_AT_ONCE = 4 }; /* as lowering has them */

static bool is_narrow(const WideMedian *median)
{
    return tessi_type_info(median->key)->bytes == 1;
}

static int64_t counter_bytes(const WideMedian *median)
{
    return median->points <= UINT8_MAX ? 1 : 2;
}

static int64_t shared_bytes(const WideMedian *median, const PlanGroup *group)
{
    const int64_t wide = (int64_t)group->strip + median->cols - 1;
    if (!group->counts)
        return BINS * counter_bytes(median) * group->strip + 2 * ROWS_AT_ONCE * wide;
    const int64_t bytes = group->packed ? 4 : tessi_type_info(median->key)->bytes;
    return ((int64_t)group->median + median->rows - 1) * wide * bytes;
}

static bool can_sort(const WideMedian *median)
{
    const uint32_t words = tessi_type_info(median->key)->bytes > 4 ? 2 : 1;
    return words * median->points <= MEDIAN_MOST_SORTED;
}

static bool can_pair(const WideMedian *median, const PlanGroup *group)
{
    return group->network && tessi_type_info(median->key)->bytes <= 2
           && tessi_level_outputs(&group->levels, 1) % 2 == 0;
}

void tessi_plan_fit_median_kernel(PlanGroup *group)
{
    if (tessi_plan_kernel(group) != KERNEL_MEDIAN)
        return;
    PlanMarch march = tessi_level_march(&group->levels);
    const uint16_t lines = group->counts ? tessi_level_threads(&group->levels, 1) : 1;
    tessi_level_set_threads(&group->levels, 0, group->strip);
    tessi_level_set_threads(&group->levels, 1, lines);
    tessi_level_set_outputs(&group->levels, 0, 1);
    tessi_level_set_outputs(&group->levels, 1,
                            (uint8_t)(group->counts ? group->median / lines : 1));
    march.most = march.least ? group->median : 0;
    tessi_level_set_march(&group->levels, march);
}

const char *tessi_plan_check_median_kernel(const PlanFacts *f, const PlanGroup *group)
{
    Arena *a = f->arena;
    WideMedian median;
    if (tessi_plan_kernel(group) != KERNEL_MEDIAN || group->members.n != 1
        || group->split != SPLIT_NONE
        || !tessi_stage_wide_median(f->g, f->walk, tessi_stage(f->g, group->members.at[0]),
                                    &median))
        return tessi_plan_fault(a, group,
                                "on GPUs strips of medians are kernels of kind 'median', not "
                                "split, for the only window of one stage in two dimensions, a "
                                "median of a rectangle or of a shape known when compiling");
    if (!group->counts && median.run)
        return tessi_plan_fault(a, group, "histograms are for rectangles");
    if (group->strip != tessi_level_threads(&group->levels, 0)
        || tessi_level_outputs(&group->levels, 0) != 1
        || (group->counts ? group->median
                                != tessi_level_threads(&group->levels, 1)
                                       * tessi_level_outputs(&group->levels, 1)
                          : tessi_level_threads(&group->levels, 1) != 1
                                || tessi_level_outputs(&group->levels, 1) != 1))
        return tessi_plan_fault(a, group,
                                "on GPUs strips of medians have a column for each thread of a "
                                "line, and by counting a row for each output");
    const PlanMarch march = tessi_level_march(&group->levels);
    if (march.least
        && (group->counts || march.most != group->median || march.least > march.most
            || march.ahead))
        return tessi_plan_fault(
            a, group,
            "of medians only histograms march, not ahead, and at most the rows of their strips");
    if (!group->counts && !is_narrow(&median))
        return tessi_plan_fault(a, group, "on GPUs histograms are for integers of 8 bits");
    if (group->network && !can_sort(&median))
        return tessi_plan_fault(a, group, "networks of medians are for at most %d words",
                                MEDIAN_MOST_SORTED);
    if (group->packed && !can_pair(&median, group))
        return tessi_plan_fault(a, group,
                                "networks of medians are packed for integers of at most 16 bits "
                                "and threads of 2 rows, 4 and so on");
    if (shared_bytes(&median, group) > PLAN_MAX_SHARED_BYTES)
        return tessi_plan_fault(a, group, "on GPUs strips of medians have to fit %d bytes",
                                PLAN_MAX_SHARED_BYTES);
    return NULL;
}

/* ---- What it costs, of one point ------------------------------------------------------------- */

static double lanes_a_second(const Machine *m)
{
    return (double)m->vector_bytes / 4 * m->ghz * 1e9 * (double)m->cores;
}

/* In cycles of the shared memory, which answers a warp in one: a column of the window has counters of two values
 * read and written, and with counters of two bytes there are too few warps to keep it busy. Fitted to an H200
 * (decision 041), as what follows. */
static double histogram_seconds(const Machine *m, const WideMedian *median)
{
    const bool wide = counter_bytes(median) > 1;
    const double column = wide ? m->median_wide_column_cycles : m->median_column_cycles;
    const double answers = PLAN_WARP * m->ghz * 1e9 * (double)m->cores;
    const double again = 1 + (double)median->rows / 2 / PLAN_MEDIAN_ROWS;
    return (column * median->cols * again + m->median_point_cycles) / answers;
}

/* For each bit, every value is compared and counted; narrow integers are subtracted instead. A point that goes through
 * its own runs shares no loads, and its loops are not written out. */
static double counting_seconds(const Machine *m, const WideMedian *median)
{
    const double bytes = tessi_type_info(median->key)->bytes;
    const double own =
        median->run && median->points > MEDIAN_MOST_WRITTEN ? m->median_count_run : 0;
    const double value = own
                         + (bytes > 4   ? m->median_count_wide
                            : bytes > 2 ? m->median_count_word
                                        : m->median_count_narrow);
    return 8 * bytes * (double)median->points * value / lanes_a_second(m);
}

static uint32_t network_size(Arena *a, const WideMedian *median)
{
    const uint32_t n = median->run ? median->n_runs : median->rows;
    uint32_t *values = ARENA_NEW_ARRAY(a, uint32_t, n);
    for (uint32_t i = 0; i < n; i++)
        values[i] = median->run ? median->run[i].to - median->run[i].from : median->cols;
    return tessi_network_size(a, values, n);
}

/* Each value is loaded, of 64 bits in two words that are compared and chosen one after the other. */
static double network_seconds(const PlanFacts *f, const Machine *m, const WideMedian *median,
                              bool packed)
{
    enum { LONG_SLOTS = 4 };
    const double bytes = tessi_type_info(median->key)->bytes;
    const double choice = bytes > 4 ? LONG_SLOTS : m->choice_slots;
    const double slots =
        m->median_network * (choice * network_size(f->arena, median) + (double)median->points);
    return slots / (packed ? 2 : 1) / lanes_a_second(m);
}

double tessi_plan_median_kernel_seconds(const PlanFacts *f, const Machine *m,
                                        const PlanGroup *group)
{
    WideMedian median;
    tessi_stage_wide_median(f->g, f->walk, tessi_stage(f->g, group->members.at[0]), &median);
    if (group->network)
        return network_seconds(f, m, &median, group->packed && m->pair_choices);
    return (group->counts ? counting_seconds : histogram_seconds)(m, &median);
}

/* ---- Choosing -------------------------------------------------------------------------------- */

/* Tiles for counting, the largest that fit; false where none do. */
static bool fit_tile(const WideMedian *median, PlanGroup *group)
{
    static const uint8_t shapes[][2] = { { 4, 4 }, { 4, 2 }, { 4, 1 }, { 1, 1 } };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        group->strip = PLAN_WARP;
        group->packed = group->packed && shapes[i][1] % 2 == 0;
        group->median = (uint16_t)(shapes[i][0] * shapes[i][1]);
        tessi_level_set_threads(&group->levels, 1, shapes[i][0]);
        tessi_level_set_outputs(&group->levels, 1, shapes[i][1]);
        if (shared_bytes(median, group) <= PLAN_MAX_SHARED_BYTES)
            return true;
    }
    return false;
}

/* So many threads that warps share words of counters; and where the image is small, strips so short that there are
 * three blocks for each multiprocessor: one alone waits for its memory as long as two or three take together. */
static bool fit_histograms(const Machine *m, const WideMedian *median, PlanGroup *group)
{
    enum { LEAST = 2 * ROWS_AT_ONCE };
    group->strip = (uint16_t)(4 * PLAN_WARP / counter_bytes(median));
    group->median = PLAN_MEDIAN_ROWS;
    tessi_level_set_march(&group->levels,
                          (PlanMarch){ .least = LEAST,
                                       .most = PLAN_MEDIAN_ROWS,
                                       .blocks = (uint32_t)(m->median_blocks * (double)m->cores) });
    return shared_bytes(median, group) <= PLAN_MAX_SHARED_BYTES;
}

/* Of each way, seconds of a point; INFINITY: there is none. */
typedef struct Prices {
    double by_bits, by_network, slid, sorted;
} Prices;

/* `chosen`: NULL for sorting. */
static void describe(Text *text, Arena *a, const WideMedian *median, const PlanGroup *chosen,
                     bool fits, bool packed, const Prices *prices)
{
    tessi_plan_median_values(text, median);
    tessi_text_addf(text, " %s: by counting %.3f ns a point",
                    !fits     ? "by sorting, for shared memory does not hold what a block reads"
                    : !chosen ? "by sorting"
                    : chosen->network ? "by a network of minima and maxima"
                    : chosen->counts  ? "bit by bit, by counting what is less"
                                      : "by histograms of threads that go down the rows",
                    prices->by_bits * 1e9);
    if (can_sort(median))
        tessi_text_addf(text, ", by a network of %u minima and maxima%s %.3f",
                        network_size(a, median), packed ? ", two in a word," : "",
                        prices->by_network * 1e9);
    if (prices->slid < INFINITY)
        tessi_text_addf(text, ", by histograms %.3f", prices->slid * 1e9);
    tessi_text_addf(text, ", by sorting %.3f", prices->sorted * 1e9);
}

void tessi_plan_choose_median_kernel(const PlanFacts *f, const Analysis *an, const Machine *m,
                                     StageId id, PlanGroup *group)
{
    WideMedian median;
    const Stage *s = tessi_stage(f->g, id);
    if (!tessi_stage_wide_median(f->g, f->walk, s, &median)) {
        if (f->sorts[id.v])
            group->reason = "a median is found point by point: only that of a rectangle, or of a "
                            "shape known when compiling, that is the one window of a stage in two "
                            "dimensions can be found otherwise";
        return;
    }
    const bool packed = m->pair_choices && tessi_type_info(median.key)->bytes <= 2;
    const double by_bits = counting_seconds(m, &median), slid = histogram_seconds(m, &median);
    const double by_network = can_sort(&median) ? network_seconds(f, m, &median, packed) : INFINITY;
    const double counted = fmin(by_bits, by_network);
    const double sorted =
        tessi_plan_op_seconds(m, &an->cost[id.v], tessi_expr(f->g, median.window)->type);
    PlanGroup tried = { .n_dims = 2 };
    tessi_levels_one_by_one(&tried.levels, 2);
    const bool bins = is_narrow(&median) && !median.run;
    tried.counts = !bins || counted < slid;
    tried.network = tried.counts && by_network < by_bits;
    tried.packed = tried.network && packed;
    const bool fits = tried.counts ? fit_tile(&median, &tried) : fit_histograms(m, &median, &tried);
    const bool chosen = fits && (tried.counts ? counted : slid) < sorted;
    const Prices prices = { by_bits, by_network, bins ? slid : INFINITY, sorted };
    Text text = tessi_text_new(f->arena);
    describe(&text, f->arena, &median, chosen ? &tried : NULL, fits, packed, &prices);
    if (chosen && !tried.counts)
        tessi_text_addf(
            &text,
            "\nstrips of %u to %u rows, so few that there are %u blocks: one alone waits "
            "for its memory as long as two or three take together",
            tessi_level_march(&tried.levels).least, tessi_level_march(&tried.levels).most,
            (unsigned)tessi_level_march(&tried.levels).blocks);
    group->reason = tessi_text_str(&text);
    if (!chosen)
        return;
    tessi_level_set_threads(&tried.levels, 0, tried.strip);
    group->median = tried.median;
    tessi_level_set_march(&group->levels, tessi_level_march(&tried.levels));
    group->strip = tried.strip;
    group->counts = tried.counts;
    group->network = tried.network;
    group->packed = tried.packed;
    for (int d = 0; d < 2; d++) {
        tessi_level_set_threads(&group->levels, d, tessi_level_threads(&tried.levels, d));
        tessi_level_set_outputs(&group->levels, d, tessi_level_outputs(&tried.levels, d));
    }
}

void tessi_plan_median_kernel(const PlanGroup *chosen, PlanGroup *group)
{
    group->median = chosen->median;
    tessi_level_set_march(&group->levels, tessi_level_march(&chosen->levels));
    group->strip = chosen->strip;
    group->counts = chosen->counts;
    group->network = chosen->network;
    group->packed = chosen->packed;
    if (!group->median)
        return;
    tessi_plan_set_kernel(group, KERNEL_MEDIAN);
    group->split = SPLIT_NONE;
    for (int d = 0; d < 2; d++) {
        tessi_level_set_threads(&group->levels, d, tessi_level_threads(&chosen->levels, d));
        tessi_level_set_outputs(&group->levels, d, tessi_level_outputs(&chosen->levels, d));
    }
}
