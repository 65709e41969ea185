/* What a run takes with sizes at hand: the groups of a plan at what their points cost, what starting them costs, and
 * the bound that no plan can go below. */
#include <math.h>

#include "plan/machine_text.h"
#include "plan/needs.h"
#include "plan/plan_costs.h"

typedef struct Estimator {
    const PlanFacts *f;
    const Analysis *an;
    const Machine *m;
    const Plan *p;
    const int64_t *params;
    double must_move; /* bytes of the images that come with a run, and of its results */
} Estimator;

static double points_of(const Estimator *c, const Stage *s)
{
    double points = 1;
    for (uint32_t d = 0; d < s->n_dims; d++) {
        int64_t n;
        points *= tessi_size_eval(c->f->g, s->size[d], c->params, &n) ? (double)n : 0;
    }
    return points;
}

/* Reductions are done once a point of what they reduce. */
static const Stage *domain_of(const Estimator *c, StageId id)
{
    const Stage *s = tessi_stage(c->f->g, id);
    return s->kind == STAGE_COMPUTE ? s : tessi_stage(c->f->g, s->source);
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
    const bool streams = group->stream && t->written * points > cache / 2;
    const double memory = 1e9 * (streams ? m->memory_stream_gbs : m->memory_gbs);
    const double near = 1e9 * (gpu ? m->l2_gbs : m->l3_gbs);
    const bool stays = !gpu && c->must_move <= cache / 2 && near > memory;
    return outer / (stays ? near : memory)
           + inner / (inner <= cache / 2 && near > memory ? near : memory);
}

static double start_seconds(const Estimator *c, const PlanGroup *group)
{
    const Machine *m = c->m;
    enum { TRANSFORM_KERNELS = 4, REDUCTION_KERNELS = 2 };
    if (!tessi_machine_is_gpu(m))
        return tessi_level_parallel(&group->levels) ? m->thread_start_us * 1e-6 : 0;
    const bool reduces = tessi_stage(c->f->g, group->members.at[0])->kind != STAGE_COMPUTE;
    const double kernels = group->transform ? TRANSFORM_KERNELS : reduces ? REDUCTION_KERNELS : 1;
    return (m->few_launch_us * kernels + m->few_memory * m->latency_us) * 1e-6;
}

static double group_seconds(const Estimator *c, const PlanGroup *group)
{
    const Machine *m = c->m;
    const double points = points_of(c, domain_of(c, group->members.at[0]));
    const GroupCost x = tessi_plan_group_cost(c->f, c->an, m, c->p, group);
    const double memory = memory_seconds(c, group, &x.traffic, points);
    if (tessi_machine_is_gpu(m)) {
        const double other = memory - x.memory * points; /* by which the caches are nearer */
        const double busy = x.compute * points, seconds = x.seconds * points + other;
        return seconds > busy ? seconds : busy;
    }
    const bool plain = tessi_stage(c->f->g, group->members.at[0])->kind == STAGE_COMPUTE;
    const double lanes = (double)m->vector_bytes / 4;
    double compute = x.compute * points;
    compute *=
        plain && group->n_dims && !tessi_level_vector(&group->levels) && lanes > 1 ? lanes : 1;
    compute *= group->n_dims && !tessi_level_parallel(&group->levels) ? (double)m->cores : 1;
    return tessi_plan_together(m, compute, memory);
}

/* What a group reads and writes of whole images, and what it computes, again where the plan computes it again. */
static void count(const Estimator *c, const PlanGroup *group, PlanEstimate *e)
{
    const double points = points_of(c, domain_of(c, group->members.at[0]))
                          * tessi_plan_turns(c->f, group->members.at[0]);
    const GroupCost x = tessi_plan_group_cost(c->f, c->an, c->m, c->p, group);
    e->bytes_read += points * x.traffic.read;
    e->bytes_written += points * x.traffic.written;
    e->operations += points * x.operations;
    e->uncounted = e->uncounted || (x.operations == 0 && x.compute > 0);
}

/* Every input that matters is read once and every result written once; every stage is computed once a point. */
static void bound(const Estimator *c, PlanEstimate *e)
{
    const Graph *g = c->f->g;
    const Machine *m = c->m;
    const double memory =
        m->memory_stream_gbs > m->memory_gbs ? m->memory_stream_gbs : m->memory_gbs;
    double bytes = 0, compute = 0;
    bool *is_result = ARENA_NEW_ARRAY(c->f->arena, bool, g->stages.n);
    VEC_FOREACH (const Image, image, &g->outputs)
        VEC_FOREACH (const Channel, channel, &image->channels)
            is_result[channel->stage.v] = true;
    GRAPH_FOREACH_STAGE (g, id) {
        const Stage *s = tessi_stage(g, id);
        const bool input = s->kind == STAGE_INPUT;
        if (c->f->needed[id.v] && (input || is_result[id.v]))
            bytes += points_of(c, s) * tessi_type_info(s->type)->bytes;
        if (!input && tessi_plan_computes(c->f, id))
            compute += points_of(c, domain_of(c, id)) * tessi_plan_turns(c->f, id)
                       * tessi_plan_op_seconds(m, &c->an->cost[id.v], s->type);
    }
    e->must_move = bytes;
    e->bound_memory = bytes / (memory * 1e9);
    e->bound_compute = compute;
}

PlanEstimate tessi_plan_estimate(const Plan *p, const Graph *g, const Analysis *an,
                                 const Machine *machine, const int64_t *params)
{
    PlanEstimate e = { 0 };
    Machine own = *machine;
    own.vector_bytes = tessi_plan_vector_bytes(p, machine);
    Arena *scratch = tessi_scratch_open(p->arena);
    Estimator c = { tessi_plan_facts(scratch, g), an, &own, p, params, 0 };
    c.m = machine;
    bound(&c, &e);
    c.m = &own;
    VEC_FOREACH (const PlanGroup, group, &p->groups) {
        const double turns = tessi_plan_turns(c.f, group->members.at[0]);
        c.must_move = HUGE_VAL;
        e.first_seconds += turns * group_seconds(&c, group);
        c.must_move = e.must_move;
        e.seconds += turns * group_seconds(&c, group);
        e.start_seconds += turns * start_seconds(&c, group);
        count(&c, group, &e);
    }
    if (e.uncounted)
        e.operations = 0;
    e.seconds += e.start_seconds;
    e.first_seconds += e.start_seconds;
    tessi_scratch_close(scratch);
    return e;
}

bool tessi_plan_is_little(const Machine *m, double seconds)
{
    return seconds > 0 && seconds * (1 - 1 / (double)m->cores) < m->wake_us * 1e-6;
}

/* ---- As text --------------------------------------------------------------------------------- */

static void print_ms(Text *out, double seconds)
{
    tessi_text_addf(out, "%.6f ms", seconds * 1e3);
}

static void print_groups(const Estimator *c, Text *out)
{
    VEC_FOREACH (const PlanGroup, group, &c->p->groups) {
        const GroupCost x = tessi_plan_group_cost(c->f, c->an, c->m, c->p, group);
        const double points = points_of(c, domain_of(c, group->members.at[0]));
        tessi_text_addf(out, "group %s: ", group->name);
        print_ms(out, group_seconds(c, group));
        tessi_text_add(out, ", computing ");
        print_ms(out, x.compute * points);
        tessi_text_add(out, ", memory ");
        print_ms(out, memory_seconds(c, group, &x.traffic, points));
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
    const Estimator c = { tessi_plan_facts(scratch, g), an, m, p, params, e.must_move };
    tessi_text_addf(out, "estimate %s\nmachine %s\npredicted ", g->name, m->name);
    print_ms(out, e.seconds);
    tessi_text_add(out, "\nto start ");
    print_ms(out, e.start_seconds);
    tessi_text_addf(out, "\nbound by memory, %.0f bytes: ", e.must_move);
    print_ms(out, e.bound_memory);
    tessi_text_add(out, "\nbound by operations: ");
    print_ms(out, e.bound_compute);
    tessi_text_add(out, "\n");
    print_groups(&c, out);
    print_constants(p, g, an, m, params, e.seconds, out);
    tessi_scratch_close(scratch);
}
