/* The bound that no plan goes below, and where a plan loses the rest. */
#include "plan/plan_times.h"

/* Groups of which it is said what is lost; from what share of the bound on nothing is said; and how much of the time is
 * worth a line, or how much more than each stage once, in per cent. */
enum { MOST_NAMED = 3, LITTLE = 60, WORTH = 5 };

double tessi_estimate_must_move(const Estimator *c)
{
    const Graph *g = c->f->g;
    double bytes = 0;
    bool *is_result = ARENA_NEW_ARRAY(c->f->arena, bool, g->stages.n);
    VEC_FOREACH (const Image, image, &g->outputs)
        VEC_FOREACH (const Channel, channel, &image->channels)
            is_result[channel->stage.v] = true;
    GRAPH_FOREACH_STAGE (g, id) {
        const Stage *s = tessi_stage(g, id);
        if (c->f->needed[id.v] && (s->kind == STAGE_INPUT || is_result[id.v]))
            bytes += tessi_estimate_points(c, s) * tessi_type_info(s->type)->bytes;
    }
    return bytes;
}

/* Every stage once a point. */
static double compute_once(const Estimator *c)
{
    const Graph *g = c->f->g;
    double seconds = 0;
    GRAPH_FOREACH_STAGE (g, id) {
        const Stage *s = tessi_stage(g, id);
        if (s->kind != STAGE_INPUT && tessi_plan_computes(c->f, id))
            seconds += tessi_estimate_points(c, tessi_estimate_domain(c, id))
                       * tessi_plan_turns(c->f, id)
                       * tessi_plan_op_seconds(c->m, &c->an->cost[id.v], s->type);
    }
    return seconds;
}

/* Bytes a second of the callers' images. */
static double reached(const Estimator *c)
{
    const Machine *m = c->m;
    const double plain = tessi_estimate_memory(m, false), past = tessi_estimate_memory(m, true);
    const double memory = past > plain ? past : plain;
    const double near = 1e9 * (tessi_machine_is_gpu(m) ? m->l2_gbs : m->l3_gbs);
    return tessi_estimate_stays(c) && near > memory ? near : memory;
}

/* Every input that matters is read once and every result written once; every stage is computed once a point, or in what
 * the plan takes where that is less: neighbours share parts of sums and sorted columns. */
void tessi_estimate_bound(const Estimator *c, PlanEstimate *e)
{
    const double once = compute_once(c);
    e->bound_memory = e->must_move / reached(c);
    e->bound_compute = once < e->planned_compute ? once : e->planned_compute;
    Estimator least = *c;
    least.compares = true; /* without what fills and drains a device */
    e->bound_start = c->p->groups.n ? tessi_estimate_group(&least, &c->p->groups.at[0]).start : 0;
}

double tessi_plan_bound_seconds(const PlanEstimate *e)
{
    const double busy = e->bound_memory > e->bound_compute ? e->bound_memory : e->bound_compute;
    return busy + e->bound_start;
}

/* ---- As reasons ------------------------------------------------------------------------------ */

static const char *ms(Arena *a, double seconds)
{
    return tessi_sprintf(a, "%.3f ms", seconds * 1e3);
}

/* A group's own share of the bound: what it moves of the callers' images, and its operations once. */
static double own_bound(const Estimator *c, const GroupTime *t)
{
    const PlanTraffic *moved = &t->cost.traffic;
    const double outer = moved->read + moved->written - moved->inner_read - moved->inner_written;
    const double memory = outer * t->points / reached(c);
    const double once = t->compute / (t->cost.inlined * t->cost.overlap);
    return memory > once ? memory : once;
}

/* What takes the time of a group, the longest first said. */
static const char *what_takes(const Estimator *c, Arena *a, const GroupTime *t)
{
    const PlanTraffic *moved = &t->cost.traffic;
    const double inner = moved->inner_read + moved->inner_written;
    const double again = t->cost.inlined * t->cost.overlap;
    Text out = tessi_text_new(a);
    if (c->p->gpu && t->cost.kernel.issue_seconds > 0)
        tessi_text_addf(&out, "instructions %s, near caches %s, memory %s",
                        ms(a, t->cost.kernel.issue_seconds * t->points),
                        ms(a, t->cost.kernel.cache_seconds * t->points), ms(a, t->memory));
    else
        tessi_text_addf(&out, "arithmetic %s, memory %s", ms(a, t->compute), ms(a, t->memory));
    if (inner > 0)
        tessi_text_addf(&out, "; %s B a point are of images between groups",
                        tessi_plan_number(a, inner));
    if (100 * again > 100 + WORTH)
        tessi_text_addf(&out, "; operations %s times those of each stage once",
                        tessi_plan_number(a, again));
    return tessi_text_str(&out);
}

typedef struct Loss {
    const PlanGroup *group;
    GroupTime time;
    double turns, lost; /* lost: seconds of all turns */
} Loss;

/* Those that lose most, the most first; how many. */
static uint32_t find_losses(const Estimator *c, double all, Loss *most)
{
    uint32_t n = 0;
    VEC_FOREACH (const PlanGroup, group, &c->p->groups) {
        Loss l = { group, tessi_estimate_group(c, group),
                   tessi_plan_turns(c->f, group->members.at[0]), 0 };
        l.lost = l.turns * (l.time.seconds + l.time.start - own_bound(c, &l.time));
        if (100 * l.lost < WORTH * all)
            continue;
        uint32_t at = n < MOST_NAMED ? n++ : MOST_NAMED;
        for (; at > 0 && most[at - 1].lost < l.lost; at--)
            if (at < MOST_NAMED)
                most[at] = most[at - 1];
        if (at < MOST_NAMED)
            most[at] = l;
    }
    return n;
}

static void say_losses(const Estimator *c, Arena *a, const PlanEstimate *e, const char **reason)
{
    Loss most[MOST_NAMED];
    const uint32_t n = find_losses(c, e->seconds, most);
    for (uint32_t i = 0; i < n; i++) {
        const Loss *l = &most[i];
        tessi_plan_add_reason(
            a, reason,
            tessi_sprintf(a, "lost in '%s': %s of %s%s; %s", l->group->name, ms(a, l->lost),
                          ms(a, l->turns * (l->time.seconds + l->time.start)),
                          l->turns > 1 ? tessi_sprintf(a, " in %.0f turns", l->turns) : "",
                          what_takes(c, a, &l->time)));
    }
}

static void say_bound(const Estimator *c, Arena *a, const PlanEstimate *e, const char **reason)
{
    const double bound = tessi_plan_bound_seconds(e);
    const char *first = c->p->gpu ? "the first launch" : "waking threads";
    tessi_plan_add_reason(a, reason,
                          tessi_sprintf(a, "bound %s: %.0f bytes take %s, operations %s, %s %s",
                                        ms(a, bound), e->must_move, ms(a, e->bound_memory),
                                        ms(a, e->bound_compute), first, ms(a, e->bound_start)));
    tessi_plan_add_reason(
        a, reason,
        tessi_sprintf(a, "expected %s, %.0f %% of the bound; starting %u group%s takes %s of it",
                      ms(a, e->seconds), 100 * bound / e->seconds, c->p->groups.n,
                      c->p->groups.n == 1 ? "" : "s", ms(a, e->start_seconds)));
}

const Plan *tessi_plan_with_bound(Arena *a, const Plan *p, const Graph *g, const Analysis *an,
                                  const Machine *machine, const int64_t *params)
{
    const PlanEstimate e = tessi_plan_estimate(p, g, an, machine, params);
    Plan *with = ARENA_NEW(a, Plan);
    *with = *p;
    Arena *scratch = tessi_scratch_open(p->arena);
    Machine own = *machine;
    own.vector_bytes = tessi_plan_vector_bytes(p, machine);
    const Estimator c = { tessi_plan_facts(scratch, g), an, &own, p, params, e.must_move, false };
    if (e.seconds > 0) {
        say_bound(&c, a, &e, &with->reason);
        if (100 * tessi_plan_bound_seconds(&e) < LITTLE * e.seconds)
            say_losses(&c, a, &e, &with->reason);
    }
    tessi_scratch_close(scratch);
    return with;
}
