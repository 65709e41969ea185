/* Reductions along one dimension whose values read what other reductions of the same lines came to: the deviation
 * from a line's mean, the place of its maximum. A core or a thread has whole lines, and goes along each of them again:
 * such reductions are computed together, in rounds, and the second round finds the line in a near cache. */
#include "plan/needs.h"

bool tessi_plan_lines_fill(const Graph *g, const Stage *s)
{
    enum { LONG = 64 };
    const Stage *source = tessi_stage(g, s->source);
    int dims = 0;
    int64_t n;
    for (uint8_t d = 0; d < source->n_dims; d++)
        dims += d + 1 != s->along && !(tessi_size_is_const(g, source->size[d], &n) && n < LONG);
    return dims > 1 && s->along < source->n_dims;
}

/* A kernel that shares lines out among threads would have to wait for all of them between rounds. */
static bool has_whole_lines(const Graph *g, const Plan *p, const Stage *s)
{
    return !p->gpu || tessi_plan_lines_fill(g, s);
}

/* The box is of the very line of a stage that goes along the dimension `along`, counted from 1. */
static bool is_own_line(const NeedBox *box, const Stage *of)
{
    for (int d = 0; d <= of->n_dims; d++) { /* of what it reduces */
        const int own = tessi_stage_from_source(of, d);
        if (own < 0)
            continue;
        const AccessRange *r = &box->dim[own];
        if (r->dynamic || r->src != d || r->scale != 1 || r->base.v || r->lo || r->hi)
            return false;
    }
    return true;
}

bool tessi_plan_reads_own_line(const PlanFacts *f, const Plan *p, StageId id, StageId of)
{
    const Graph *g = f->g;
    if (!tessi_plan_goes_along(g, id) || !tessi_plan_goes_along(g, of)
        || !tessi_plan_can_share_loops(f, p, id, of) || !has_whole_lines(g, p, tessi_stage(g, id)))
        return false;
    const StageId source = tessi_stage(g, id)->source;
    if (!tessi_plan_is_inline(p, source))
        return false;
    Arena *scratch = tessi_scratch_open(f->arena);
    const PlanFacts own = tessi_plan_facts_in(scratch, f);
    Needs needs = { 0 };
    tessi_needs(&own, scratch, p, &source, 1, &needs);
    const Need *read = tessi_need_of(&needs, of);
    const NeedBox *box = tessi_needs_boxes(&own, scratch, &needs);
    const bool is = read && is_own_line(&box[read - needs.at.at], tessi_stage(g, of));
    tessi_scratch_close(scratch);
    return is;
}

uint32_t tessi_plan_rounds(const PlanFacts *f, const Plan *p, const PlanGroup *group,
                           uint32_t *round)
{
    uint32_t rounds = 1;
    StageList stored = { 0 };
    for (uint32_t i = 0; i < group->members.n; i++) {
        round[i] = 0;
        tessi_plan_stored_reads(f, p, group->members.at[i], &stored);
        for (uint32_t k = 0; k < i; k++)
            VEC_FOREACH (const StageId, s, &stored)
                if (s->v == group->members.at[k].v && round[i] < round[k] + 1)
                    round[i] = round[k] + 1;
        rounds = round[i] + 1 > rounds ? round[i] + 1 : rounds;
    }
    return rounds;
}
