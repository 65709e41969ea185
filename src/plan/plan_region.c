/* Regions: which part of each stage a tile of a group needs, from the members back to what they read; and whether
 * the stages of the passes can be computed tile by tile at all.
 *
 * A stage in scratch memory holds, beyond its own edges, what its border rule answers there, so that its readers
 * need no rules. That takes one rule for all its readers, and, for the rules that look back into the image, a region
 * around the tile that is as wide on one side as on the other. A rule that looks at the other end of the image has
 * no tile to look into: there the stage itself is evaluated beyond its edge, which gives the same values when all it
 * reads wraps around as well. */
#include "plan/needs.h"

typedef struct Regions {
    Arena *arena;
    const Graph *g;
    const PlanFacts *f;
    const Plan *p;
    const Stage *domain; /* of the members */
    Needs needs;         /* of all stages of the group */
    bool *leads;   /* by number of a need: in scratch memory, or inlined and reading what is */
    bool *reached; /* the same: the group evaluates it */
    PlanRegions *out;
} Regions;

static const char *name_of(const Regions *r, StageId id)
{
    return tessi_stage(r->g, id)->name;
}

bool tessi_plan_distance(const Graph *g, const AccessDim *d, uint8_t dim, int64_t *lo, int64_t *hi)
{
    return tessi_access_reach(g, d, dim, lo, hi) && *lo > -PLAN_MAX_TILE && *hi < PLAN_MAX_TILE;
}

bool tessi_plan_read_at_distance(const Graph *g, const PlanRead *r)
{
    int64_t lo, hi;
    if (!r->access.v)
        return false;
    const Access *access = tessi_access(g, r->access);
    for (uint8_t d = 0; d < access->n_dims; d++)
        if (!tessi_plan_distance(g, &access->dim[d], d, &lo, &hi))
            return false;
    return true;
}

static bool looks_back(Border rule)
{
    return rule == BORDER_MIRROR || rule == BORDER_REFLECT;
}

/* Which stages have to do with scratch memory; all others may be read in any way. */
static void find_leads(Regions *r)
{
    for (uint32_t i = r->needs.at.n; i-- > 0;) { /* what is read stands before its readers */
        const Need *need = &r->needs.at.at[i];
        r->leads[i] = r->out->scratch[need->stage.v];
        NEED_FOREACH (read, &r->needs, need)
            r->leads[i] = r->leads[i] || (!need->root && r->leads[read->of]);
    }
}

/* What the read finds from a point beyond the edge of its reader is what it finds from the point that `wrap` answers
 * there. */
static bool wraps_around(const Regions *r, const Access *access, uint8_t d)
{
    const AccessDim *dim = &access->dim[d];
    const Stage *s = tessi_stage(r->g, access->producer);
    return (dim->rule == BORDER_WRAP || dim->rule == BORDER_INSIDE) && dim->scale == 1
           && s->size[d].v == r->domain->size[dim->src].v;
}

/* The same of all reads of an inlined stage that move with its dimension d: it is evaluated where its reader is.
 * Else the point is answered before. */
static bool goes_beyond(const Regions *r, const Need *need, uint8_t d)
{
    const Stage *s = tessi_stage(r->g, need->stage);
    if (!tessi_plan_is_inline(r->p, need->stage) || s->n_dims != r->domain->n_dims
        || s->size[d].v != r->domain->size[d].v)
        return false;
    NEED_FOREACH (read, &r->needs, need) {
        if (!read->read->access.v)
            return false;
        const Access *access = tessi_access(r->g, read->read->access);
        for (uint8_t e = 0; e < access->n_dims; e++)
            if (!access->dim[e].absolute && access->dim[e].src == (int8_t)d
                && !wraps_around(r, access, e))
                return false;
    }
    return true;
}

/* The same of steps: what the rule answers is computed by then, as far on one side as on the other. */
static void read_in_steps(const Regions *r, StageId reader, PlanRegion *to, uint8_t d, Border rule,
                          bool reached, const int64_t *distance)
{
    const PlanRegion *from = &r->out->at[reader.v];
    int64_t lo = distance[0], hi = distance[1];
    if (rule != BORDER_INSIDE) {
        const Stage *s = tessi_stage(r->g, reader), *t = tessi_stage(r->g, to->stage);
        to->uneven[d] = to->uneven[d] || s->n_dims != t->n_dims || s->size[d].v != t->size[d].v;
        lo = lo < 0 ? lo : 0;
        hi = hi > 0 ? hi : 0;
    }
    if (looks_back(rule)) {
        hi = -lo > hi ? -lo : hi;
        lo = -hi;
    }
    lo += r->out->scratch[reader.v] ? from->ahead[d] : from->back[d];
    hi += from->ahead[d];
    to->back[d] = reached && to->back[d] < lo ? to->back[d] : lo;
    to->ahead[d] = reached && to->ahead[d] > hi ? to->ahead[d] : hi;
}

/* Takes one dimension of a read into the region of what is read. */
static const char *read_dim(Regions *r, StageId reader, const Access *access, uint32_t of,
                            uint8_t d)
{
    StageId producer = access->producer;
    const Stage *s = tessi_stage(r->g, producer);
    const AccessDim *dim = &access->dim[d];
    bool wraps = !dim->absolute && dim->src >= 0 && r->out->wraps[reader.v][dim->src];
    if (wraps && !wraps_around(r, access, d))
        return tessi_sprintf(r->arena,
                             "'%s' is needed beyond its edge, where '%s' does not wrap around",
                             name_of(r, reader), name_of(r, producer));
    if (!r->leads[of]) {
        if (wraps && dim->src == (int8_t)d && goes_beyond(r, &r->needs.at.at[of], d))
            r->out->wraps[producer.v][d] = true;
        return NULL;
    }
    PlanRegion *to = &r->out->at[producer.v];
    const PlanRegion *from = &r->out->at[reader.v];
    int64_t lo, hi;
    bool scratch = r->out->scratch[producer.v];
    if (!tessi_plan_distance(r->g, dim, d, &lo, &hi))
        return tessi_sprintf(r->arena, "'%s' reads '%s' at no constant distance",
                             name_of(r, reader), name_of(r, producer));
    read_in_steps(r, reader, to, d, dim->rule, r->reached[of], (const int64_t[]){ lo, hi });
    lo += from->lo[d];
    hi += from->hi[d];
    bool same_size = s->size[d].v == r->domain->size[d].v;
    if (dim->rule == BORDER_WRAP || wraps) {
        r->out->wraps[producer.v][d] = true;
        same_size = same_size && tessi_stage(r->g, reader)->size[d].v == r->domain->size[d].v;
    } else if (dim->rule != BORDER_INSIDE) {
        lo = lo < 0 ? lo : 0;
        hi = hi > 0 ? hi : 0;
        if (looks_back(dim->rule)) {
            int64_t wide = -lo > hi ? -lo : hi;
            lo = -wide;
            hi = wide;
        }
        if (scratch && to->rule[d] != BORDER_INSIDE && to->rule[d] != dim->rule)
            return tessi_sprintf(r->arena, "'%s' is read with more than one border rule",
                                 name_of(r, producer));
        to->rule[d] = dim->rule;
    }
    if ((dim->rule != BORDER_INSIDE || wraps) && !same_size)
        return tessi_sprintf(r->arena, "'%s' has not the size of what reads it with a border rule",
                             name_of(r, producer));
    if (r->reached[of]) {
        lo = lo < to->lo[d] ? lo : to->lo[d];
        hi = hi > to->hi[d] ? hi : to->hi[d];
    }
    to->lo[d] = lo;
    to->hi[d] = hi;
    return NULL;
}

/* Beyond the edge by more than one rule cannot be: what wraps has no other. */
static const char *check_region(Regions *r, StageId id)
{
    const Stage *s = tessi_stage(r->g, id);
    const PlanRegion *region = &r->out->at[id.v];
    for (uint8_t d = 0; d < s->n_dims; d++) {
        if (!r->out->wraps[id.v][d])
            continue;
        if (r->out->scratch[id.v] && region->rule[d] != BORDER_INSIDE)
            return tessi_sprintf(r->arena, "'%s' is read with more than one border rule",
                                 name_of(r, id));
        if (s->size[d].v != r->domain->size[d].v)
            return tessi_sprintf(r->arena, "'%s' is needed beyond its edge and has another size",
                                 name_of(r, id));
    }
    return NULL;
}

/* A stage that the group evaluates. */
static void start_region(Regions *r, uint32_t i)
{
    const StageId id = r->needs.at.at[i].stage;
    r->out->at[id.v].stage = id;
    for (uint8_t d = 0; d < MAX_DIMS; d++)
        r->out->at[id.v].rule[d] = BORDER_INSIDE;
}

static const char *read_stage(Regions *r, StageId reader, const NeedRead *read)
{
    const StageId producer = read->read->producer;
    const bool leads = r->leads[read->of];
    if (!read->read->access.v)
        return NULL;
    const Access *access = tessi_access(r->g, read->read->access);
    PlanRegion *to = &r->out->at[producer.v];
    if (leads && !r->reached[read->of])
        start_region(r, read->of);
    if (leads && tessi_stage(r->g, producer)->n_dims != r->domain->n_dims)
        return tessi_sprintf(r->arena, "'%s' has other dimensions than the group",
                             name_of(r, producer));
    for (uint8_t d = 0; d < access->n_dims; d++) {
        const char *fault = read_dim(r, reader, access, read->of, d);
        if (fault)
            return fault;
    }
    if (access->outside.v && r->out->scratch[producer.v]) {
        if (to->outside.v && to->outside.v != access->outside.v)
            return tessi_sprintf(r->arena, "'%s' is read with more than one value outside",
                                 name_of(r, producer));
        to->outside = access->outside;
    }
    r->reached[read->of] = r->reached[read->of] || leads;
    return NULL;
}

static bool is_beyond(const PlanRegions *out, StageId id)
{
    bool any = false;
    for (int d = 0; d < MAX_DIMS; d++)
        any = any || out->wraps[id.v][d];
    return any;
}

/* Its memory; of what an earlier group has left there nothing stays. */
static void clear(const PlanFacts *f, PlanRegions *out)
{
    const uint32_t n = f->g->stages.n;
    if (!out->at) {
        out->at = ARENA_NEW_ARRAY(f->arena, PlanRegion, n);
        out->scratch = ARENA_NEW_ARRAY(f->arena, bool, n);
        out->wraps = tessi_alloc_array(f->arena, n, sizeof *out->wraps);
    }
    VEC_FOREACH (const StageId, id, &out->used) {
        out->at[id->v] = (PlanRegion){ .stage = { 0 } };
        out->scratch[id->v] = false;
        for (int d = 0; d < MAX_DIMS; d++)
            out->wraps[id->v][d] = false;
    }
    out->used.n = 0;
}

/* What readers of other sizes find by a rule may be anywhere in what a tile needs: steps keep all of that. */
static void keep_uneven(PlanRegion *region)
{
    for (uint8_t d = 0; d < MAX_DIMS; d++) {
        if (!region->uneven[d])
            continue;
        region->back[d] = region->lo[d] < region->back[d] ? region->lo[d] : region->back[d];
        region->ahead[d] = region->hi[d] > region->ahead[d] ? region->hi[d] : region->ahead[d];
    }
}

/* From the members back to what they read. */
static const char *find_regions(Regions *r)
{
    const char *fault = NULL;
    for (uint32_t i = 0; i < r->needs.at.n && !fault; i++) {
        const Need *need = &r->needs.at.at[i];
        if (!r->reached[i] && !is_beyond(r->out, need->stage))
            continue;
        fault = check_region(r, need->stage);
        keep_uneven(&r->out->at[need->stage.v]);
        NEED_FOREACH (read, &r->needs, need)
            fault = fault ? fault : read_stage(r, need->stage, read);
    }
    for (uint32_t i = r->needs.at.n; i-- > 0 && !fault;)
        if (r->out->scratch[r->needs.at.at[i].stage.v] && !r->reached[i])
            fault = tessi_sprintf(r->arena, "no member of the group reads '%s'",
                                  name_of(r, r->needs.at.at[i].stage));
    return fault;
}

const char *tessi_plan_regions(const PlanFacts *f, const Plan *p, const PlanGroup *group,
                               PlanRegions *out)
{
    Regions r = { .arena = f->arena, .g = f->g, .f = f, .p = p, .out = out };
    Arena *scratch = tessi_scratch_open(f->arena);
    r.domain = tessi_stage(f->g, group->members.at[0]);
    clear(f, out);
    tessi_needs_of_group(f, scratch, p, group, &r.needs);
    r.leads = ARENA_NEW_ARRAY(scratch, bool, r.needs.at.n);
    r.reached = ARENA_NEW_ARRAY(scratch, bool, r.needs.at.n);
    VEC_FOREACH (const Need, need, &r.needs.at)
        VEC_PUSH(f->arena, &out->used, need->stage);
    VEC_FOREACH (const PlanPass, pass, &group->passes)
        VEC_FOREACH (const StageId, id, &pass->stages)
            out->scratch[id->v] = true;
    find_leads(&r);
    VEC_FOREACH (const StageId, id, &group->members) {
        const uint32_t i = (uint32_t)(tessi_need_of(&r.needs, *id) - r.needs.at.at);
        r.reached[i] = true;
        start_region(&r, i);
    }
    const char *fault = find_regions(&r);
    tessi_scratch_close(scratch);
    return fault;
}

bool tessi_plan_same_region(const PlanFacts *f, const PlanRegions *regions, StageId a, StageId b)
{
    const PlanRegion *x = &regions->at[a.v], *y = &regions->at[b.v];
    for (uint8_t d = 0; d < MAX_DIMS; d++)
        if (x->lo[d] != y->lo[d] || x->hi[d] != y->hi[d] || x->ahead[d] != y->ahead[d]
            || regions->wraps[a.v][d] != regions->wraps[b.v][d])
            return false;
    return tessi_stage_same_domain(tessi_stage(f->g, a), tessi_stage(f->g, b));
}
