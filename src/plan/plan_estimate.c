/* What a run takes with sizes at hand: the groups of a plan at what their points cost, and what starting them costs. */
#include <math.h>

#include "plan/machine_text.h"
#include "plan/plan_times.h"

double tessi_estimate_points(const Estimator *c, const Stage *s)
{
    double points = 1;
    for (uint32_t d = 0; d < s->n_dims; d++) {
        int64_t n;
        points *= tessi_size_eval(c->f->g, s->size[d], c->params, &n) ? (double)n : 0;
    }
    return points;
}

const Stage *tessi_estimate_domain(const Estimator *c, StageId id)
{
    const Stage *s = tessi_stage(c->f->g, id);
    return s->kind == STAGE_COMPUTE ? s : tessi_stage(c->f->g, s->source);
}

double tessi_plan_most_points(const Graph *g, const int64_t *params)
{
    double most = 0;
    const Stage *last = NULL; /* most stages are as large as the one before */
    GRAPH_FOREACH_STAGE (g, id) {
        const Stage *s = tessi_plan_domain(g, id);
        if (tessi_stage(g, id)->kind == STAGE_INPUT || (last && tessi_stage_same_domain(last, s)))
            continue;
        last = s;
        double points = 1;
        int64_t n;
        for (uint8_t d = 0; d < s->n_dims; d++)
            points *= tessi_size_eval(g, s->size[d], params, &n) ? (double)n : 0;
        most = points > most ? points : most;
    }
    return most;
}

bool tessi_estimate_stays(const Estimator *c)
{
    const Machine *m = c->m;
    if (tessi_machine_is_gpu(m))
        return c->must_move <= m->run_kept * (double)m->l2_bytes && m->l2_gbs > m->memory_gbs;
    return c->must_move <= (double)m->l3_bytes / 2 && m->l3_gbs > m->memory_gbs;
}

double tessi_estimate_memory(const Machine *m, bool streams)
{
    const double all = streams ? m->memory_stream_gbs : m->memory_gbs;
    const double core = streams ? m->memory_core_stream_gbs : m->memory_core_gbs;
    const double reached = core * (double)m->cores;
    return 1e9 * (reached < all ? reached : all);
}

/* Images that another group has just written are in the last cache if they fill no more than half of it; so are those
 * of callers, where all images of a run fill no more: a run that is repeated, as those that are timed, finds them
 * there. */
static double memory_seconds(const Estimator *c, const PlanGroup *group, const PlanTraffic *t,
                             double points)
{
    const Machine *m = c->m;
    const bool gpu = tessi_machine_is_gpu(m);
    const double inner = (t->inner_read + t->inner_written) * points;
    const double outer = (t->read + t->written) * points - inner;
    const double cache = (double)(gpu ? m->l2_bytes : m->l3_bytes);
    const bool streams = group->stream && t->written * points > (double)tessi_plan_stream_bytes(m);
    const double shared = 1e9 * (streams ? m->memory_stream_gbs : m->memory_gbs);
    const double memory = c->compares ? shared : tessi_estimate_memory(m, streams);
    const double near = 1e9 * (gpu ? m->l2_gbs : m->l3_gbs);
    return outer / (!streams && tessi_estimate_stays(c) ? near : memory)
           + inner / (inner <= cache / 2 && near > memory ? near : memory);
}

static double start_seconds(const Estimator *c, const PlanGroup *group)
{
    const Machine *m = c->m;
    enum { TRANSFORM_KERNELS = 4, REDUCTION_KERNELS = 2 };
    if (!tessi_machine_is_gpu(m))
        return tessi_level_parallel(&group->levels) ? m->thread_start_us * 1e-6 : 0;
    const StageId first = group->members.at[0];
    const bool reduces = tessi_stage(c->f->g, first)->kind != STAGE_COMPUTE
                         && !tessi_plan_goes_along(c->f->g, first);
    const double kernels = group->transform ? TRANSFORM_KERNELS : reduces ? REDUCTION_KERNELS : 1;
    if (c->compares)
        return (m->few_launch_us * kernels + m->few_memory * m->latency_us) * 1e-6;
    return (m->run_start_us + m->few_launch_us * (kernels - 1)) * 1e-6;
}

/* By which times of memory, instructions and caches of a kernel add up. */
static double run_power(const Machine *m, KernelKind kind)
{
    return kind == KERNEL_POINT  ? m->run_point_power
           : kind == KERNEL_TILE ? m->run_tile_power
           : kind == KERNEL_WARP ? m->warp_power
                                 : m->run_power;
}

/* What a kernel takes of a run: less overlaps in kernels of points and tiles than where plans are compared, what waits
 * for memory is found by others in part, and instructions of threads with several outputs wait for each other. */
static double kernel_seconds(const Estimator *c, const PlanGroup *group, const GroupTime *t)
{
    const Machine *m = c->m;
    const KernelCost *k = &t->cost.kernel;
    const KernelKind kind = tessi_plan_kernel(group);
    const bool of_many = kind != KERNEL_POINT && kind != KERNEL_TILE && kind != KERNEL_WARP;
    const double waits = (k->dram_seconds - t->cost.memory) * t->points;
    const double memory = t->memory + (waits > 0 ? m->run_wait * waits : 0);
    const double piped = k->instructions > 0 ? k->piped / k->instructions : 0;
    const double waiting = of_many ? piped + m->run_issue * (1 - piped) : 1;
    const double issue = k->issue_seconds * t->points * waiting;
    const double near = k->cache_seconds * t->points * m->run_caches;
    const double power = run_power(m, kind);
    return pow(pow(memory, power) + pow(issue, power) + pow(near, power), 1 / power);
}

/* Together, of a plan for CPUs; loops without lanes or threads have those of the machine in vain. */
static double loop_seconds(const Estimator *c, const PlanGroup *group, GroupTime *t)
{
    const Machine *m = c->m;
    const bool plain = tessi_stage(c->f->g, group->members.at[0])->kind == STAGE_COMPUTE;
    const double lanes = (double)m->vector_bytes / 4;
    if (!c->compares)
        t->compute += m->run_crossing * t->cost.crossing * t->points;
    t->compute *=
        plain && group->n_dims && !tessi_level_vector(&group->levels) && lanes > 1 ? lanes : 1;
    t->compute *= group->n_dims && !tessi_level_parallel(&group->levels) ? (double)m->cores : 1;
    return tessi_plan_together(m, t->compute, t->memory);
}

/* Threads that go along a line one after the other wait for the memory again and again, however few lines there are. */
static double line_seconds(const Estimator *c, const PlanGroup *group, double points)
{
    enum { PARTIALS = 16, AT_ONCE = 8 };
    const Stage *s = tessi_stage(c->f->g, group->members.at[0]);
    const double lines = tessi_estimate_points(c, s), n = lines > 0 ? points / lines : 0;
    const double once = tessi_plan_lines_fill(c->f->g, s) ? PARTIALS : PARTIALS * AT_ONCE;
    return ceil(n / once) * c->m->latency_us * 1e-6;
}

GroupTime tessi_estimate_group(const Estimator *c, const PlanGroup *group)
{
    const Machine *m = c->m;
    GroupTime t = { .points =
                        tessi_estimate_points(c, tessi_estimate_domain(c, group->members.at[0])) };
    PlanFacts of_size = *c->f;
    of_size.points = t.points > 0 ? t.points : 1;
    t.cost = tessi_plan_group_cost(&of_size, c->an, m, c->p, group);
    t.compute = t.cost.compute * t.points;
    t.memory = memory_seconds(c, group, &t.cost.traffic, t.points);
    t.start = start_seconds(c, group);
    if (!tessi_machine_is_gpu(m)) {
        t.seconds = loop_seconds(c, group, &t);
        return t;
    }
    if (t.cost.kernel.issue_seconds > 0 && !c->compares) {
        t.seconds = kernel_seconds(c, group, &t);
        if (tessi_plan_goes_along(c->f->g, group->members.at[0]))
            t.seconds = fmax(t.seconds, line_seconds(c, group, t.points));
        return t;
    }
    const double other = t.memory - t.cost.memory * t.points; /* by which the caches are nearer */
    t.seconds = t.cost.seconds * t.points + other;
    t.seconds = t.seconds > t.compute ? t.seconds : t.compute;
    return t;
}

/* What a group reads and writes of whole images, and what it computes, again where the plan computes it again. */
static void count(const GroupTime *t, double turns, PlanEstimate *e)
{
    const double points = t->points * turns;
    e->bytes_read += points * t->cost.traffic.read;
    e->bytes_written += points * t->cost.traffic.written;
    e->operations += points * t->cost.operations;
    e->uncounted = e->uncounted || (t->cost.operations == 0 && t->cost.compute > 0);
    e->planned_compute += turns * t->compute;
}

PlanEstimate tessi_plan_estimate(const Plan *p, const Graph *g, const Analysis *an,
                                 const Machine *machine, const int64_t *params)
{
    PlanEstimate e = { 0 };
    Machine own = *machine;
    own.vector_bytes = tessi_plan_vector_bytes(p, machine);
    Arena *scratch = tessi_scratch_open(p->arena);
    Estimator c = { tessi_plan_facts(scratch, g), an, &own, p, params, 0, false };
    e.must_move = tessi_estimate_must_move(&c);
    VEC_FOREACH (const PlanGroup, group, &p->groups) {
        const double turns = tessi_plan_turns(c.f, group->members.at[0]);
        c.must_move = HUGE_VAL;
        c.compares = true;
        const GroupTime first = tessi_estimate_group(&c, group);
        e.first_seconds += turns * (first.seconds + first.start);
        c.must_move = e.must_move;
        c.compares = false;
        const GroupTime t = tessi_estimate_group(&c, group);
        e.seconds += turns * t.seconds;
        e.start_seconds += turns * t.start;
        count(&t, turns, &e);
    }
    c.m = machine;
    tessi_estimate_bound(&c, &e);
    if (e.uncounted)
        e.operations = 0;
    e.seconds += e.start_seconds;
    tessi_scratch_close(scratch);
    return e;
}

double tessi_plan_little_seconds(const Machine *m)
{
    return m->cores > 1 ? m->wake_us * 1e-6 / (1 - 1 / (double)m->cores) : HUGE_VAL;
}

/* ---- As text --------------------------------------------------------------------------------- */

static void print_ms(Text *out, const char *what, double seconds)
{
    tessi_text_addf(out, "%s%.6f ms", what, seconds * 1e3);
}

/* Of kernels also what they are made of. */
static void print_kernel(const KernelCost *k, double points, Text *out)
{
    print_ms(out, ": bytes ", k->dram_seconds * points);
    print_ms(out, ", instructions ", k->issue_seconds * points);
    print_ms(out, ", near caches ", k->cache_seconds * points);
    tessi_text_addf(out, "; %lld registers, %lld threads a multiprocessor", (long long)k->registers,
                    (long long)k->threads);
}

static void print_groups(const Estimator *c, Text *out)
{
    VEC_FOREACH (const PlanGroup, group, &c->p->groups) {
        const GroupTime t = tessi_estimate_group(c, group);
        const double turns = tessi_plan_turns(c->f, group->members.at[0]);
        tessi_text_addf(out, "group %s: ", group->name);
        print_ms(out, "", t.seconds);
        print_ms(out, ", computing ", t.compute);
        print_ms(out, ", memory ", t.memory);
        print_ms(out, ", to start ", t.start);
        tessi_text_addf(out, ", %.0f points", t.points);
        if (turns > 1)
            tessi_text_addf(out, ", %.0f turns", turns);
        if (c->p->gpu) {
            tessi_text_addf(out, "; kernel %s", tessi_kernel_name(tessi_plan_kernel(group)));
            print_kernel(&t.cost.kernel, t.points, out);
        } else if (t.cost.crossing > 0) {
            print_ms(out, "; second lines ", t.cost.crossing * t.points);
        }
        tessi_text_add(out, "\n");
    }
}

static void print_constants(const Plan *p, const Graph *g, const Analysis *an, const Machine *m,
                            const int64_t *params, double seconds, Text *out)
{
    const double STEP = 1.02, LEAST = 0.0005;
    const char *kind = tessi_machine_is_gpu(m) ? "gpu" : "cpu";
    for (int k = 0; k < N_MACHINE_KEYS; k++) {
        const MachineKey *key = tessi_machine_key(k);
        if (!tessi_streq(key->machines, kind) && !tessi_streq(key->machines, "any"))
            continue;
        Machine other = *m;
        *(double *)((char *)&other + key->offset) *= STEP;
        const double more = tessi_plan_estimate(p, g, an, &other, params).seconds;
        const double share = more > 0 && seconds > 0 ? log(more / seconds) / log(STEP) : 0;
        if (fabs(share) >= LEAST)
            tessi_text_addf(out, "constant %s %.4f\n", key->name, share);
    }
}

void tessi_plan_estimate_print(const Plan *p, const Graph *g, const Analysis *an, const Machine *m,
                               const int64_t *params, Text *out)
{
    const PlanEstimate e = tessi_plan_estimate(p, g, an, m, params);
    Arena *scratch = tessi_scratch_open(p->arena);
    const Estimator c = { tessi_plan_facts(scratch, g), an, m, p, params, e.must_move, false };
    tessi_text_addf(out, "estimate %s\nmachine %s\npredicted ", g->name, m->name);
    print_ms(out, "", e.seconds);
    print_ms(out, "\nto start ", e.start_seconds);
    tessi_text_addf(out, "\nbound by memory, %.0f bytes: ", e.must_move);
    print_ms(out, "", e.bound_memory);
    print_ms(out, "\nbound by operations: ", e.bound_compute);
    print_ms(out, "\nbound by starting: ", e.bound_start);
    tessi_text_add(out, "\n");
    print_groups(&c, out);
    print_constants(p, g, an, m, params, e.seconds, out);
    tessi_scratch_close(scratch);
}
