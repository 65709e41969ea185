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
    /* by number of a need: the rule that stages which read it at the point itself hand on; INSIDE: none */
    Border (*handed)[3];
    bool (*passes)[MAX_DIMS]; /* by StageId and dimension: what it reads answers its rule */
} Rules;

static bool join(Border *to, Border rule)
{
    const bool same = rule == BORDER_INSIDE || *to == BORDER_INSIDE || *to == rule;
    *to = rule == BORDER_INSIDE ? *to : rule;
    return same;
}

static const char *name_of(const Rules *r, StageId id)
{
    return tessi_stage(r->f->g, id)->name;
}

/* ---- Rules that are handed on ---------------------------------------------------------------- */

static uint32_t number_of(const Rules *r, StageId id)
{
    return (uint32_t)(tessi_need_of(&r->needs, id) - r->needs.at.at);
}

/* By which rule it is read at a distance in the way k, or needed there by what reads it at the point itself; false: by
 * more than one. */
static bool rule_of_reads(const Rules *r, uint32_t of, int k, Border *rule)
{
    bool one = true;
    *rule = r->handed[of][k];
    VEC_FOREACH (const Need, need, &r->needs.at) {
        NEED_FOREACH (read, &r->needs, need) {
            if (read->of != of || !read->read->access.v)
                continue;
            const AccessDim *dim = &tessi_access(r->f->g, read->read->access)->dim[r->dim[k]];
            const AccessRange range = tessi_access_range(r->f->g, dim);
            if (range.lo || range.hi)
                one = join(rule, dim->rule) && one;
        }
    }
    return one;
}

static bool depends_on_index(const Rules *r, const Stage *s, uint8_t d)
{
    bool any = false;
    VEC_FOREACH (const ExprId, id, tessi_expr_walk(r->f->walk, r->f->g, &s->pieces.at[0].body, 1)) {
        const Expr *e = tessi_expr(r->f->g, *id);
        any = any || (e->kind == EXPR_INDEX && e->ref == d);
    }
    return any;
}

/* What the stage is beyond its edges follows from what it reads there: it reads at the point itself, in dimension d. */
static bool is_level_in(const Rules *r, const Need *need, uint8_t d)
{
    const Stage *s = tessi_stage(r->f->g, need->stage);
    if (!need->computed || !tessi_stage_is_plain(r->f->g, s)
        || !tessi_stage_same_domain(s, r->domain) || depends_on_index(r, s, d))
        return false;
    NEED_FOREACH (read, &r->needs, need) {
        if (!read->read->access.v || read->read->dynamic)
            return false;
        const Access *access = tessi_access(r->f->g, read->read->access);
        for (uint8_t e = 0; e < access->n_dims; e++) {
            const AccessRange range = tessi_access_range(r->f->g, &access->dim[e]);
            const bool moves = range.src == (int8_t)d;
            if (moves && (e != d || range.scale != 1 || range.base.v || range.lo || range.hi))
                return false;
        }
    }
    return true;
}

/* A stage that is read beyond its edge by a rule that names another place, and itself reads at the point alone, hands
 * the rule on: computed beyond the edge, from what stands there, it is what the rule answers. Rows below the sum of a
 * row need no copies then, nor rows to be held for them. False: what it would be handed to has another rule. */
static bool hand_on(Rules *r)
{
    bool fits = true;
    VEC_FOREACH (const Need, need, &r->needs.at) { /* readers before what they read */
        const uint32_t i = (uint32_t)(need - r->needs.at.at);
        for (int k = 0; k < r->n && need->computed; k++) {
            const uint8_t d = r->dim[k];
            Border rule;
            const bool one = rule_of_reads(r, i, k, &rule);
            const bool passes = one && (rule == BORDER_CLAMP || looks_back(rule))
                                && !r->regions.wraps[need->stage.v][d] && is_level_in(r, need, d);
            fits = fits && (passes || r->handed[i][k] == BORDER_INSIDE);
            r->passes[need->stage.v][d] = passes;
            if (!passes)
                continue;
            NEED_FOREACH (read, &r->needs, need)
                if (tessi_access_range(r->f->g, &tessi_access(r->f->g, read->read->access)->dim[d])
                        .src
                    == (int8_t)d)
                    fits = join(&r->handed[read->of][k], rule) && fits;
        }
    }
    for (uint32_t i = 0; i < r->needs.at.n; i++)
        for (int k = 0; k < r->n && !r->needs.at.at[i].computed; k++) {
            Border rule;
            fits = rule_of_reads(r, i, k, &rule) && fits;
        }
    return fits;
}

static void hand_on_nothing(Rules *r)
{
    for (uint32_t i = 0; i < r->needs.at.n; i++) {
        for (int k = 0; k < 3; k++)
            r->handed[i][k] = BORDER_INSIDE;
        for (int d = 0; d < MAX_DIMS; d++)
            r->passes[r->needs.at.at[i].stage.v][d] = false;
    }
}

/* ---- Rules of what is held ------------------------------------------------------------------- */

/* Images are read by their rules, and by `wrap` where their reader is evaluated beyond its edge. */
static const char *rules_of_image(const Rules *r, PlanHeld *h)
{
    AccessRules rules = tessi_rules_none();
    const uint32_t of = number_of(r, h->stage);
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
        rules.mixed = !join(&h->rule[k], r->handed[of][k]) || rules.mixed;
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
        const bool answered = !wraps && !r->passes[h->stage.v][r->dim[k]];
        h->rule[k] = answered ? region->rule[r->dim[k]] : BORDER_INSIDE;
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
        if (access->dim[d].rule != BORDER_INSIDE && (range.lo || range.hi)
            && !r->passes[read->producer.v][d])
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
    r.handed = (Border(*)[3])ARENA_NEW_ARRAY(f->arena, Border, 3 * (size_t)r.needs.at.n);
    r.passes = tessi_alloc_array(f->arena, f->g->stages.n, sizeof *r.passes);
    w->passes = r.passes;
    hand_on_nothing(&r);
    if (!fault && !w->reads_images && !hand_on(&r))
        hand_on_nothing(&r);
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
