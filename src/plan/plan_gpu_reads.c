/* How the reads of kernels stand to the points of a thread: at samples of them, across them, or at no point. */
#include "plan/plan_costs.h"
#include "plan/plan_gpu_cost.h"

bool tessi_gpu_sampled(const Graph *g, const PlanRead *r, Offset *o, int64_t steps[2])
{
    if (!r->access.v || r->dynamic)
        return false;
    const Access *a = tessi_access(g, r->access);
    for (int d = 0; d < a->n_dims; d++) {
        const AccessDim *dim = &a->dim[d];
        int64_t add;
        const int k = d - a->n_dims + 2;
        if (dim->absolute || dim->src != d || dim->n_terms || dim->scale < 1
            || !tessi_size_is_const(g, dim->add, &add) || (k < 0 && (dim->scale != 1 || add)))
            return false;
        if (k >= 0) {
            *(k ? &o->dx : &o->dy) = add;
            steps[k] = dim->scale;
        }
    }
    return a->n_dims >= 2;
}

bool tessi_gpu_across(const Graph *g, const Stage *reader, const PlanRead *r)
{
    const Access *a = r->access.v ? tessi_access(g, r->access) : NULL;
    bool across = false;
    for (int d = 0; a && d + 1 < a->n_dims; d++)
        across = across || (!a->dim[d].absolute && a->dim[d].src == reader->n_dims - 1);
    return across && reader->n_dims > 0;
}

bool tessi_gpu_crossed(const Graph *g, const PlanRead *r, bool *mirrored)
{
    if (!r->access.v || r->dynamic)
        return false;
    const Access *a = tessi_access(g, r->access);
    for (int d = 0; d < a->n_dims; d++) {
        const int k = a->n_dims - 1 - d, src = k == 0 ? d - 1 : k == 1 ? d + 1 : d;
        const AccessDim *dim = &a->dim[d];
        const bool turns = k < 2 && dim->scale == -1;
        if (dim->absolute || dim->src != src || dim->n_terms || (dim->scale != 1 && !turns))
            return false;
        if (k == 0 && mirrored)
            *mirrored = turns;
    }
    return a->n_dims >= 2;
}

bool tessi_plan_is_crossed(const PlanFacts *f, const Plan *p, const PlanGroup *group)
{
    Needs needs = { 0 };
    bool crossed = false;
    tessi_needs(f, f->arena, p, group->members.at, group->members.n, &needs);
    VEC_FOREACH (const Need, need, &needs.at)
        NEED_FOREACH (r, &needs, need)
            crossed = crossed || tessi_gpu_crossed(f->g, r->read, NULL);
    return crossed;
}

static int64_t gcd(int64_t a, int64_t b)
{
    while (b) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a < 0 ? -a : a;
}

void tessi_gpu_note_apart(const OffsetSet *places, PlanApart *apart)
{
    enum { LEAST_READS = 4 };
    int64_t by[2] = { 0, 0 };
    if (places->at.n < LEAST_READS)
        return;
    VEC_FOREACH (const Offset, o, &places->at) {
        by[0] = gcd(by[0], o->dx - places->at.at[0].dx);
        by[1] = gcd(by[1], o->dy - places->at.at[0].dy);
    }
    for (int k = 0; k < 2; k++)
        if (by[k] > apart->of[k] && by[k] <= PLAN_MAX_APART && !by[1 - k])
            apart->of[k] = (uint16_t)by[k];
}
