/* Kernels of warps that compute the edges too: what stands outside an image or a stage is answered where threads hold
 * it, so that all who read it need no rules. A row outside is a copy of one that is held, a column that of a column
 * of the same thread or a neighbour's. */
#include "plan/plan_parts.h"

#include "plan/needs.h"

bool tessi_plan_warp_has_edges(const PlanGroup *group)
{
    return tessi_plan_kernel(group) == KERNEL_WARP && group->split == SPLIT_INTERIOR;
}

static bool looks_back(Border rule)
{
    return rule == BORDER_MIRROR || rule == BORDER_REFLECT;
}

typedef struct Rules {
    const PlanFacts *f;
    const PlanGroup *group;
    const Stage *domain; /* of the members */
    PlanRegions regions;
    Needs needs;
    uint8_t dim[3]; /* of the march, of columns, and of rows of planes */
    int n;          /* of them */
} Rules;

static const char *name_of(const Rules *r, StageId id)
{
    return tessi_stage(r->f->g, id)->name;
}

/* Images are read by their rules, and by `wrap` where their reader is evaluated beyond its edge. */
static const char *rules_of_image(const Rules *r, PlanHeld *h)
{
    AccessRules rules = tessi_rules_none();
    const uint32_t of = (uint32_t)(tessi_need_of(&r->needs, h->stage) - r->needs.at.at);
    bool wraps[3] = { false };
    VEC_FOREACH (const Need, need, &r->needs.at) {
        NEED_FOREACH (read, &r->needs, need) {
            if (read->of != of)
                continue;
            tessi_rules_join(&rules, tessi_access(r->f->g, read->read->access));
            for (int k = 0; k < r->n; k++)
                wraps[k] = wraps[k] || r->regions.wraps[need->stage.v][r->dim[k]];
        }
    }
    h->outside = rules.outside;
    for (int k = 0; k < r->n; k++) {
        h->rule[k] = rules.rule[r->dim[k]];
        if (wraps[k] && h->rule[k] == BORDER_INSIDE)
            h->rule[k] = BORDER_WRAP;
        rules.mixed = rules.mixed || (wraps[k] && h->rule[k] != BORDER_WRAP);
    }
    return rules.mixed ? tessi_sprintf(r->f->arena, "'%s' is read with more than one border rule",
                                       name_of(r, h->stage))
                       : NULL;
}

/* Rows and columns that look back are held when they are wanted. */
static const char *rules_of_stage(const Rules *r, PlanHeld *h)
{
    const PlanRegion *region = &r->regions.at[h->stage.v];
    const int64_t beyond[3][2] = { { h->up, h->down },
                                   { h->left, h->right },
                                   { h->line_up, h->line_down } };
    h->outside = region->outside;
    for (int k = 0; k < r->n; k++) {
        const bool wraps = r->regions.wraps[h->stage.v][r->dim[k]];
        h->rule[k] = wraps ? BORDER_INSIDE : region->rule[r->dim[k]];
        if (h->rule[k] == BORDER_WRAP)
            return tessi_sprintf(r->f->arena, "'%s' is read at the other end of the image",
                                 name_of(r, h->stage));
        if (looks_back(h->rule[k])
            && (beyond[k][0] != beyond[k][1] || (!k && h->keep < 2 * beyond[k][0])))
            return tessi_sprintf(r->f->arena, "'%s' is read farther on one side than on the other",
                                 name_of(r, h->stage));
    }
    return NULL;
}

static bool has_size_of_members(const Rules *r, StageId id)
{
    const Stage *s = tessi_stage(r->f->g, id);
    if (s->n_dims != r->group->n_dims)
        return !s->n_dims;
    for (uint8_t d = 0; d < r->group->n_dims; d++)
        if (s->size[d].v != r->domain->size[d].v)
            return false;
    return true;
}

static bool is_held(const PlanWarp *w, StageId id)
{
    bool held = false;
    VEC_FOREACH (const PlanHeld, h, &w->held)
        held = held || h->stage.v == id.v;
    return held;
}

/* It is read inside alone, as parts of sums are that begin before the image and end behind it. */
static bool is_read_inside(const Rules *r, const Need *of)
{
    AccessRules rules = tessi_rules_none();
    bool inside = true;
    VEC_FOREACH (const Need, need, &r->needs.at)
        NEED_FOREACH (read, &r->needs, need)
            if (&r->needs.at.at[read->of] == of && read->read->access.v)
                tessi_rules_join(&rules, tessi_access(r->f->g, read->read->access));
    for (uint8_t d = 0; d < r->group->n_dims; d++)
        inside = inside && rules.rule[d] == BORDER_INSIDE;
    return inside;
}

/* A read of what is inlined, which is evaluated where the read points to: no rule leads elsewhere, and beyond an edge
 * it wraps around as its reader does. */
static const char *rules_of_inlined(const Rules *r, StageId reader, const PlanRead *read)
{
    const Access *access = tessi_access(r->f->g, read->access);
    for (uint8_t d = 0; d < access->n_dims; d++) {
        const AccessRange range = tessi_access_range(r->f->g, &access->dim[d]);
        if (access->dim[d].rule != BORDER_INSIDE && (range.lo || range.hi))
            return tessi_sprintf(
                r->f->arena,
                "'%s' is inlined and '%s' reads it with a border rule, which warps "
                "answer of what they hold alone",
                name_of(r, read->producer), name_of(r, reader));
        if (r->regions.wraps[reader.v][d] && !r->regions.wraps[read->producer.v][d])
            return tessi_sprintf(r->f->arena,
                                 "'%s' is needed beyond its edge, where '%s' does not wrap around",
                                 name_of(r, reader), name_of(r, read->producer));
    }
    return NULL;
}

static const char *rules_of_all_inlined(const Rules *r, const PlanWarp *w)
{
    const char *fault = NULL;
    VEC_FOREACH (const Need, need, &r->needs.at)
        NEED_FOREACH (read, &r->needs, need) {
            const Need *of = &r->needs.at.at[read->of];
            if (!fault && of->computed && !of->root && !is_held(w, of->stage)
                && read->read->access.v)
                fault = rules_of_inlined(r, need->stage, read->read);
        }
    return fault;
}

const char *tessi_plan_warp_rules(const PlanFacts *f, const Plan *p, const PlanGroup *group,
                                  PlanWarp *w)
{
    const uint8_t last = (uint8_t)(group->n_dims - 1);
    Rules r = { .f = f,
                .group = group,
                .dim = { tessi_plan_march_dim(group), last, (uint8_t)(last - 1) },
                .n = w->planes ? 3 : 2 };
    r.domain = tessi_stage(f->g, group->members.at[0]);
    const char *fault = tessi_plan_regions(f, p, group, &r.regions);
    tessi_needs_of_group(f, f->arena, p, group, &r.needs);
    if (w->reads_images)
        fault =
            tessi_sprintf(f->arena, "group '%s' reads images that warps do not hold", group->name);
    VEC_FOREACH (PlanHeld, h, &w->held)
        if (!fault)
            fault = h->is_image ? rules_of_image(&r, h) : rules_of_stage(&r, h);
    /* What is inlined too: read at the point itself it may have a rule, which steps inside do not answer. */
    VEC_FOREACH (const Need, need, &r.needs.at)
        if (!fault && !has_size_of_members(&r, need->stage)
            && (!need->computed || is_held(w, need->stage) || !is_read_inside(&r, need)))
            fault = tessi_sprintf(f->arena, "'%s' has another size than '%s'",
                                  name_of(&r, need->stage), r.domain->name);
    return fault ? fault : rules_of_all_inlined(&r, w);
}
