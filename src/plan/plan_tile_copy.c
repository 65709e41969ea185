/* What the parts of a kernel of tiles read of an image that its blocks copy: the tile of the members and those of its
 * passes, each widened by its reads. One copy serves them all, so all must read by one rule and at constant distances,
 * through inlined stages at the point of their readers alone: elsewhere the rules of these come first. */
#include "plan/needs.h"

typedef struct TileReads {
    const PlanFacts *f;
    const Plan *p;
    const PlanGroup *group;
    const PlanRegions *regions;
    StageId image;
    PlanCopy *copy;
    PlanExtent extent; /* of the part in hand */
    bool any;
} TileReads;

/* Where a stage is evaluated for a part. */
typedef struct Evaluated {
    double points; /* that evaluate it */
    bool elsewhere;
    bool beyond[MAX_DIMS]; /* past the edges too, where all wraps around */
} Evaluated;

/* What the part computes in dimension d, relative to the first point of the tile. */
static void part_range(const TileReads *t, uint8_t d, int64_t *lo, int64_t *n)
{
    const int k = d - (t->group->n_dims - 2);
    *lo = k < 0 ? 0 : t->extent.lo[k];
    *n = k < 0 ? 1 : t->extent.n[k];
}

static void take_rules(TileReads *t, const Access *access, const Evaluated *from)
{
    AccessRules *rules = &t->copy->rules;
    Access wrapped = *access;
    for (uint8_t d = 0; d < access->n_dims; d++)
        if (from->beyond[d])
            wrapped.dim[d].rule = BORDER_WRAP;
    tessi_rules_join(rules, &wrapped);
}

static const char *take_read(TileReads *t, const PlanRead *read, const Evaluated *from)
{
    const Graph *g = t->f->g;
    const Access *access = tessi_access(g, read->access);
    const char *const image = tessi_stage(g, t->image)->name;
    if (!tessi_access_moves(access))
        return NULL;
    bool fits = access->n_dims == t->group->n_dims && !from->elsewhere;
    for (uint8_t d = 0; fits && d < access->n_dims; d++) {
        int64_t lo, hi, first, n;
        fits = tessi_plan_distance(g, &access->dim[d], d, &lo, &hi);
        if (!fits)
            break;
        part_range(t, d, &first, &n);
        lo += first;
        hi += first + n - tessi_level_tile(t->group, d);
        if (!t->any || lo < t->copy->lo[d])
            t->copy->lo[d] = lo;
        if (!t->any || hi > t->copy->hi[d])
            t->copy->hi[d] = hi;
    }
    if (!fits)
        return tessi_sprintf(t->f->arena,
                             "group '%s' does not read '%s' at constant distances from its points",
                             t->group->name, image);
    t->any = true;
    t->copy->loads += from->points * read->times;
    take_rules(t, access, from);
    return NULL;
}

/* A rule answers also at the point itself: the stage is smaller than what the tiles compute. */
static bool is_answered_at_edges(const TileReads *t, const Access *access)
{
    const Graph *g = t->f->g;
    const Stage *s = tessi_stage(g, access->producer);
    const Stage *domain = tessi_stage(g, t->group->members.at[0]);
    for (uint8_t d = 0; d < access->n_dims && d < domain->n_dims; d++)
        if (access->dim[d].rule != BORDER_INSIDE && s->size[d].v != domain->size[d].v)
            return true;
    return false;
}

/* An inlined stage is evaluated where its reader is, or elsewhere too. */
static void reach_inlined(const TileReads *t, const NeedRead *read, const Evaluated *from,
                          Evaluated *to)
{
    const bool first = to->points <= 0;
    const Access *access = tessi_access(t->f->g, read->read->access);
    to->elsewhere = to->elsewhere || from->elsewhere || !read->read->same_point
                    || is_answered_at_edges(t, access);
    to->points += from->points * read->read->times;
    for (uint8_t d = 0; d < t->group->n_dims; d++) {
        to->elsewhere = to->elsewhere || (!first && to->beyond[d] != from->beyond[d]);
        to->beyond[d] = from->beyond[d];
    }
}

static const char *read_part(TileReads *t, uint32_t i)
{
    const StageList part = tessi_plan_part(t->group, i);
    Needs needs = { 0 };
    tessi_needs(t->f, t->f->arena, t->p, part.at, part.n, &needs);
    Evaluated *at = ARENA_NEW_ARRAY(t->f->arena, Evaluated, needs.at.n);
    const char *fault = NULL;
    for (uint32_t k = 0; k < needs.at.n && !fault; k++) {
        const Need *need = &needs.at.at[k];
        if (need->root) {
            at[k].points = (double)t->extent.n[0] * (double)t->extent.n[1];
            for (uint8_t d = 0; d < t->group->n_dims; d++)
                at[k].beyond[d] = i < t->group->passes.n && t->regions->wraps[need->stage.v][d];
        }
        NEED_FOREACH (read, &needs, need) {
            if (fault || at[k].points <= 0 || !read->read->access.v)
                continue;
            if (read->read->producer.v == t->image.v)
                fault = take_read(t, read->read, &at[k]);
            else if (needs.at.at[read->of].computed)
                reach_inlined(t, read, &at[k], &at[read->of]);
        }
    }
    return fault;
}

const char *tessi_plan_tile_reads(const PlanFacts *f, const Plan *p, const PlanGroup *group,
                                  StageId image, PlanCopy *out)
{
    PlanRegions regions = { 0 };
    TileReads t = {
        .f = f, .p = p, .group = group, .regions = &regions, .image = image, .copy = out
    };
    if (group->n_dims < 2 || tessi_level_tile(group, 0) < 1)
        return tessi_sprintf(f->arena, "group '%s' has no tiles", group->name);
    const char *fault = tessi_plan_regions(f, p, group, &regions);
    if (fault)
        return fault;
    PlanExtent *extent = ARENA_NEW_ARRAY(f->arena, PlanExtent, group->passes.n + 1);
    tessi_plan_extents(group, &regions, extent);
    for (int k = 0; k < 2; k++)
        extent[group->passes.n].n[k] = tessi_level_tile(group, group->n_dims - 2 + k);
    for (uint32_t i = 0; i <= group->passes.n && !fault; i++) {
        t.extent = extent[i];
        fault = read_part(&t, i);
    }
    return fault;
}
