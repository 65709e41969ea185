/* Groups: stages of one domain that read the same images are computed together, where that leaves an order to
 * compute everything in. */
#include "plan/plan_groups.h"

/* Computing group `target` must wait for something that the stage reads, and that is not of its own line. */
static bool depends_on_group(const Grouping *g, StageId id, uint32_t target)
{
    Arena *a = g->f->arena;
    bool *seen = ARENA_NEW_ARRAY(a, bool, g->p->groups.n);
    StageList stack = { 0 }, stored = { 0 };
    tessi_plan_stored_reads(g->f, g->p, id, &stored);
    VEC_FOREACH (const StageId, s, &stored)
        if (g->group_of[s->v] != target + 1 || !tessi_plan_reads_own_line(g->f, g->p, id, *s))
            VEC_PUSH(a, &stack, *s);
    while (stack.n) {
        const uint32_t group = g->group_of[stack.at[--stack.n].v];
        if (!group || seen[group - 1])
            continue;
        if (group - 1 == target)
            return true;
        seen[group - 1] = true;
        VEC_FOREACH (const StageId, member, &g->p->groups.at[group - 1].members) {
            tessi_plan_stored_reads(g->f, g->p, *member, &stored);
            VEC_APPEND(a, &stack, &stored);
        }
    }
    return false;
}

/* On CPUs: both are channels of one result, or read channels of one picture, whose lines of the cache they share; and
 * compute so little that these lines are what they wait for. */
static bool shares_pixels(const Grouping *g, StageId a, StageId b)
{
    enum { MOST_NODES = 64 };
    const PlanFacts *f = g->f;
    StageList x = { 0 }, y = { 0 };
    if (g->p->gpu || f->has_window[a.v] || f->has_window[b.v]
        || g->size->nodes[a.v] + g->size->nodes[b.v] > MOST_NODES)
        return false;
    if (f->image[a.v] && f->image[a.v] == f->image[b.v])
        return true;
    tessi_plan_stored_reads(f, g->p, a, &x);
    tessi_plan_stored_reads(f, g->p, b, &y);
    VEC_FOREACH (const StageId, s, &x)
        VEC_FOREACH (const StageId, t, &y)
            if (f->image[s->v] && f->image[s->v] == f->image[t->v])
                return true;
    return false;
}

static bool can_join(const Grouping *g, StageId id, const PlanGroup *group)
{
    const PlanFacts *f = g->f;
    const StageId first = group->members.at[0];
    const Stage *s = tessi_stage(f->g, id), *t = tessi_stage(f->g, first);
    if (!tessi_plan_can_share_loops(f, g->p, id, first))
        return false;
    int64_t nodes = g->size->nodes[id.v], most = g->most_nodes;
    if (g->p->gpu && f->image[id.v] == f->image[first.v])
        most *= f->channels[id.v]; /* pixels that a kernel stores whole */
    VEC_FOREACH (const StageId, member, &group->members)
        nodes += g->size->nodes[member->v];
    return !group->strip && nodes <= most
           && (!g->p->gpu || f->has_window[id.v] == f->has_window[first.v])
           && (tessi_plan_same_pixel(s, t) || shares_pixels(g, id, first)
               || tessi_plan_share_reads(f, g->p, first, id, g->p->gpu || s->kind == STAGE_REDUCE));
}

void tessi_plan_add_stage(const Grouping *g, StageId id, const PlanGroup *alone)
{
    const Stage *s = tessi_stage(g->f->g, id);
    Plan *p = g->p;
    const bool joins = !alone->strip && (s->n_dims > 0 || s->kind == STAGE_REDUCE);
    for (uint32_t i = p->groups.n; joins && i-- > 0 && p->groups.n - i <= g->look_back;) {
        PlanGroup *group = &p->groups.at[i];
        if (!can_join(g, id, group) || depends_on_group(g, id, i))
            continue;
        VEC_PUSH(g->f->arena, &group->members, id);
        group->reason = "computed together: same domain, same images read";
        g->group_of[id.v] = i + 1;
        return;
    }
    PlanGroup *group = tessi_plan_add_group(p, g->f->g, id);
    group->transform = alone->transform;
    group->median = alone->median;
    group->product = alone->product;
    group->counts = alone->counts;
    group->strip = alone->strip;
    group->reason = alone->reason;
    g->group_of[id.v] = p->groups.n;
}

uint32_t tessi_plan_only_reader(const PlanFacts *f, const StageList *readers,
                                const uint32_t *group_of, const PlanGroup *groups, uint32_t h)
{
    uint32_t reader = 0;
    VEC_FOREACH (const StageId, id, &groups[h].members)
        VEC_FOREACH (const StageId, r, &readers[id->v]) {
            const uint32_t group = group_of[r->v];
            if (group == h + 1)
                continue;
            if ((reader && group != reader) || !tessi_plan_same_part(f, *id, *r))
                return 0;
            reader = group;
        }
    return reader;
}
