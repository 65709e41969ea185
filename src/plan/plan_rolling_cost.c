/* What kernels of rolling sums and of sweeps cost on a GPU, by the point: threads that go over rows of pixels and keep
 * the sums of windows in registers. */
#include <math.h>

#include "plan/plan_costs.h"
#include "plan/plan_gpu_cost.h"

/* ---- Rolling sums and sweeps ----------------------------------------------------------------- */

/* Of what these kernels issue between two rows of pixels hardly anything waits for memory. */
static double long_issue_seconds(const Machine *m, double instructions)
{
    return m->long_issue_time * tessi_gpu_issue_seconds(m, instructions);
}

/* Warps that a scheduler of a multiprocessor has. */
static double warps_at_once(const Machine *m, const KernelCost *cost)
{
    return (double)cost->threads / tessi_gpu_lanes(m);
}

/* Threads that fit, in fours of warps, as registers are dealt out. */
static int64_t fitting_threads(const Machine *m, const KernelCost *cost)
{
    enum { FOUR_WARPS = 128 };
    const int64_t threads = m->registers / tessi_gpu_registers_for_threads(m, cost);
    return (threads < m->threads ? threads : m->threads) / FOUR_WARPS * FOUR_WARPS;
}

/* Shared memory answers a vector of coefficients, the same for all threads of a warp, in that many cycles. */
static double given_seconds(const Machine *m, double vectors)
{
    return vectors * m->given_cycles / (PLAN_WARP * m->ghz * 1e9 * (double)m->cores);
}

/* Instructions that answer a row of pixels by its rule, and one column. */
static void note_row_rules(const PlanFacts *f, const Machine *m, StageId id, double *row,
                           double *column)
{
    *row = *column = 0;
    VEC_FOREACH (const PlanRead, r, &f->reads[id.v]) {
        const Access *a = r->access.v ? tessi_access(f->g, r->access) : NULL;
        if (!a || a->n_dims < 2 || tessi_gpu_is_uniform(f->g, r))
            continue;
        const double y = tessi_plan_rule_instructions(m, a->dim[a->n_dims - 2].rule);
        const double x = tessi_plan_rule_instructions(m, a->dim[a->n_dims - 1].rule);
        *row = y > *row ? y : *row;
        *column = x > *column ? x : *column;
    }
}

/* Rules cost so many instructions of a thread, which are counted already. */
static void set_rules(const Rolling *r, double instructions, double points, KernelCost *cost)
{
    cost->rule_instructions = instructions;
    cost->plain_instructions = cost->instructions - instructions / points;
    cost->rule_cache_seconds = cost->cache_seconds;
    cost->halo[0] = r->rows / 2;
    cost->halo[1] = r->points / r->rows / 2;
}

/* Vectors of coefficients of one row of the window. */
static double given_vectors(const Rolling *r)
{
    return (double)r->given * ceil((double)r->points / (double)r->rows / 4);
}

/* What waits between two rows of pixels, in which a thread issues so many instructions: rows, code, coefficients. */
static void add_waits(const Machine *m, const PlanGroup *group, const Rolling *r, double issued,
                      KernelCost *cost)
{
    const bool ahead = tessi_level_march(&group->levels).ahead;
    const double columns = tessi_level_outputs(&group->levels, 0);
    const double warps = warps_at_once(m, cost), all = warps * issued;
    cost->long_code = cost->code > m->cached_code;
    if (cost->long_code)
        cost->issue_seconds *=
            m->rolling_long_base + m->rolling_long_time * cost->code / m->cached_code;
    if (!ahead && all < m->rolling_apart_cycles)
        cost->issue_seconds *= 1
                               + (m->rolling_wait_cycles + m->rolling_column_cycles * columns)
                                     * (1 / all - 1.0 / m->rolling_apart_cycles);
    else if (ahead && all < m->rolling_ahead_apart_cycles)
        cost->issue_seconds *=
            1 + m->rolling_ahead_cycles * (1 / all - 1.0 / m->rolling_ahead_apart_cycles);
    if (ahead && warps < m->rolling_enough_warps)
        cost->issue_seconds *= m->rolling_few_time;
    if ((double)(r->constants * r->points) * r->bytes > m->rolling_near_bytes)
        cost->issue_seconds *= m->rolling_far_time;
    if (r->given) /* three registers an instruction, where others have a constant */
        cost->issue_seconds *= m->given_time;
}

KernelCost tessi_plan_rolling_cost(const PlanFacts *f, const Analysis *an, const Machine *m,
                                   const PlanGroup *group, const Rolling *r)
{
    enum { SIDE = 8192 };
    KernelCost cost = { .windows = true };
    cost.operations = cost.once = tessi_cost_operations(&an->cost[group->members.at[0].v]);
    const double columns = tessi_level_outputs(&group->levels, 0),
                 words = r->bytes > 4 ? r->bytes / 4.0 : 1;
    const double line = (double)r->read + columns * (double)r->images;
    const double vector = columns >= 4 ? 4 : columns;
    const double steps = tessi_gpu_op_instructions(f, an, m, group->members.at[0]) * columns;
    const double given = r->given ? (double)r->rows * given_vectors(r) : 0;
    const double constants = (double)(r->constants * r->points); /* two at a time */
    const bool ahead = tessi_level_march(&group->levels).ahead;
    cost.registers =
        (int64_t)m->rolling_registers + (r->given ? (int64_t)m->rolling_given_registers : 0)
        + (int64_t)(words * ((double)(r->rows * r->sums) * columns + (ahead ? 2 : 1) * line));
    cost.threads = fitting_threads(m, &cost);
    /* A thread reads the rows above and below those that it computes, and makes half of the steps there. */
    const double rows = (double)SIDE * SIDE / columns / (double)(cost.threads * m->cores);
    const double again = (double)r->rows / 2 / rows;
    const double row = m->rolling_row_instructions + 2 * line / vector + (ahead ? line : 0) + given
                       + constants / 2;
    cost.code = steps;
    cost.instructions = (steps * (1 + again) + row * (1 + 2 * again)) / columns;
    cost.issue_seconds = long_issue_seconds(m, cost.instructions);
    add_waits(m, group, r, steps + row, &cost);
    const double bytes = (double)(r->bytes * (r->images + 1));
    cost.dram_seconds = bytes / (m->memory_gbs * 1e9);
    cost.cache_seconds = tessi_gpu_cache_seconds(m, line / vector, (double)r->bytes * vector, 1)
                         + given_seconds(m, given);
    cost.cache_seconds *= (1 + 2 * again) / columns;
    double row_rule, column_rule;
    note_row_rules(f, m, group->members.at[0], &row_rule, &column_rule);
    set_rules(r, row_rule + column_rule * (double)r->read / tessi_level_march(&group->levels).least,
              columns, &cost);
    cost.seconds =
        tessi_gpu_overlapped(m, cost.dram_seconds, cost.issue_seconds, cost.cache_seconds)
        + f->start_seconds;
    if (f->few) {
        const double high = tessi_level_march(&group->levels).least, window = (double)r->rows;
        cost.seconds = tessi_gpu_when_few(
            m, &cost, steps * (high + window / 2) + row * (high + window), high * columns,
            tessi_level_threads(&group->levels, 0), r->constants ? 2 : 1);
    }
    cost.feasible = cost.registers <= m->registers_a_thread && warps_at_once(m, &cost) >= 2;
    return cost;
}

KernelCost tessi_plan_sweep_cost(const PlanFacts *f, const Analysis *an, const Machine *m,
                                 const PlanGroup *group, const Rolling *r)
{
    KernelCost cost = { .windows = true };
    cost.operations = cost.once = tessi_cost_operations(&an->cost[group->members.at[0].v]);
    const double columns = tessi_level_outputs(&group->levels, 0),
                 rows = tessi_level_outputs(&group->levels, 1), outputs = rows * columns;
    const double words = r->bytes > 4 ? r->bytes / 4.0 : 1;
    const double line = (double)r->read + columns * (double)r->images;
    const double vector = columns >= 4 ? 4 : columns;
    const double steps = tessi_gpu_op_instructions(f, an, m, group->members.at[0]);
    /* Rows of pixels that a thread goes over, and vectors of coefficients that it loads. */
    const double over = (double)r->rows + rows - 1;
    const double given = rows * (double)r->rows * given_vectors(r);
    cost.registers =
        (int64_t)m->sweep_registers + (int64_t)(words * ((double)r->sums * outputs + line));
    cost.threads = fitting_threads(m, &cost);
    cost.instructions = steps
                        + (given + m->sweep_part_instructions * rows * (double)r->rows
                           + over
                                 * (m->sweep_row_instructions + 2 * line / vector
                                    + m->sweep_output_instructions * rows)
                           + m->sweep_group_instructions)
                              / outputs;
    cost.code = steps / (double)r->rows * outputs;
    cost.issue_seconds = long_issue_seconds(m, cost.instructions);
    cost.long_code = cost.code > m->cached_code;
    if (cost.long_code)
        cost.issue_seconds *= m->long_code_time;
    const double warps = warps_at_once(m, &cost);
    if (warps < m->sweep_enough_warps)
        cost.issue_seconds *= 1 + m->sweep_missing_time * (m->sweep_enough_warps - warps);
    cost.dram_seconds = (double)(r->bytes * (r->images + 1)) / (m->memory_gbs * 1e9);
    cost.cache_seconds =
        tessi_gpu_cache_seconds(m, over * line / vector, r->bytes, (int64_t)columns)
        + given_seconds(m, given);
    cost.cache_seconds /= outputs;
    double row_rule, column_rule;
    note_row_rules(f, m, group->members.at[0], &row_rule, &column_rule);
    set_rules(r, over * row_rule + column_rule * (double)r->read, outputs, &cost);
    cost.seconds =
        tessi_gpu_overlapped(m, cost.dram_seconds, cost.issue_seconds, cost.cache_seconds)
        + f->start_seconds;
    if (f->few)
        cost.seconds = tessi_gpu_when_few(m, &cost, cost.instructions * outputs, outputs,
                                          tessi_level_threads(&group->levels, 0), 1);
    cost.feasible = cost.registers <= m->registers_a_thread && warps > 0;
    return cost;
}
