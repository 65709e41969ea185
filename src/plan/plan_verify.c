/* Is a plan legal for its graph, and does this version lower it? One sentence about the first fault. */
#include "plan/plan_costs.h"
#include "plan/plan_knobs.h"

typedef struct Check {
    const PlanFacts *f;
    const Plan *p;
    uint32_t *group_of; /* by StageId: group + 1 */
} Check;

static const char *name_of(const Check *c, StageId id)
{
    return tessi_stage(c->f->g, id)->name;
}

static const char *check_placements(Check *c)
{
    Arena *a = c->f->arena;
    GRAPH_FOREACH_STAGE (c->f->g, id) {
        if (!tessi_plan_computes(c->f, id))
            continue;
        Placement placement = c->p->stage[id.v].placement;
        if (tessi_placement_is_scratch(placement) && c->f->returned[id.v])
            return tessi_sprintf(a, "stage '%s' is a result and has to be in memory as well",
                                 name_of(c, id));
        const bool inlined = tessi_plan_is_inline(c->p, id);
        if (inlined && !c->f->can_inline[id.v])
            return tessi_sprintf(a, "stage '%s' cannot be %s: %s", name_of(c, id),
                                 placement == PLACE_INLINE ? "inline" : "in registers",
                                 c->f->returned[id.v]
                                     ? "it is a result"
                                     : "only a stage computed in one piece can be recomputed");
        if (inlined && c->group_of[id.v])
            return tessi_sprintf(a, "stage '%s' is %s and yet in group '%s'", name_of(c, id),
                                 placement == PLACE_INLINE ? "inline" : "in registers",
                                 c->p->groups.at[c->group_of[id.v] - 1].name);
        if (!inlined && !c->group_of[id.v])
            return tessi_sprintf(a, "no group computes stage '%s'", name_of(c, id));
    }
    return NULL;
}

static const char *check_members(Check *c, uint32_t i)
{
    Arena *a = c->f->arena;
    const PlanGroup *group = &c->p->groups.at[i];
    if (!group->members.n)
        return tessi_sprintf(a, "group '%s' has no stages", group->name);
    StageId first = group->members.at[0];
    VEC_FOREACH (const StageId, id, &group->members) {
        if (id->v == 0 || id->v >= c->f->g->stages.n || !tessi_plan_computes(c->f, *id))
            return tessi_sprintf(a, "group '%s' names a stage that is not computed", group->name);
        if (c->group_of[id->v])
            return tessi_sprintf(a, "stage '%s' is computed twice", name_of(c, *id));
        c->group_of[id->v] = i + 1;
        const Stage *s = tessi_stage(c->f->g, *id);
        if (group->members.n > 1 && !tessi_plan_can_share_loops(c->f, c->p, *id, first))
            return tessi_sprintf(a, "stage '%s' cannot share the loops of group '%s': %s",
                                 name_of(c, *id), group->name,
                                 tessi_stage_is_plain(c->f->g, s)
                                     ? "its sizes differ"
                                     : "it is not computed in one piece");
        if (tessi_placement_is_scratch(c->p->stage[id->v].placement))
            return tessi_sprintf(a, "stage '%s' in group '%s' belongs into one of its passes",
                                 name_of(c, *id), group->name);
    }
    VEC_FOREACH (const PlanPass, pass, &group->passes) {
        VEC_FOREACH (const StageId, id, &pass->stages) {
            if (id->v == 0 || id->v >= c->f->g->stages.n)
                return tessi_sprintf(a, "group '%s' names a stage that is not computed",
                                     group->name);
            if (c->group_of[id->v] && c->group_of[id->v] != i + 1)
                return tessi_sprintf(a, "stage '%s' is computed twice", name_of(c, *id));
            c->group_of[id->v] = i + 1;
            if (!tessi_plan_same_part(c->f, *id, first))
                return tessi_sprintf(
                    a,
                    "stages '%s' and '%s' are computed in different parts of the program: a "
                    "repeat or its condition is between them",
                    name_of(c, *id), name_of(c, first));
        }
    }
    return NULL;
}

static const char *check_loops(Check *c, const PlanGroup *group)
{
    Arena *a = c->f->arena;
    const Stage *s = tessi_plan_domain(c->f->g, group->members.at[0]);
    if (group->n_dims != s->n_dims)
        return tessi_sprintf(a, "group '%s' has %d loops where its stages have %d dimensions",
                             group->name, group->n_dims, s->n_dims);
    const char *fault = tessi_plan_check_levels(c->f, c->p, group);
    if (!fault)
        fault = tessi_knobs_check(a, group);
    if (fault)
        return fault;
    VEC_FOREACH (const StageId, id, &group->members) {
        bool copied = tessi_level_tile(group, 0) && tessi_plan_in_passes(group, *id);
        if (tessi_level_rows(&group->levels) > 1 && !copied
            && (group->split != SPLIT_INTERIOR || !tessi_plan_can_join_rows(c->f, *id)))
            return tessi_plan_fault(a, group,
                                    "several rows at once are for split loops over whole stages of "
                                    "two dimensions or more that sort nothing");
    }
    return NULL;
}

/* Can a thread compute several points of the stage? */
static const char *check_outputs(Check *c, const PlanGroup *group, StageId id,
                                 const uint8_t *outputs)
{
    Arena *a = c->f->arena;
    const bool alone =
        tessi_plan_kernel(group) == KERNEL_REGISTER; /* nothing is in shared memory */
    if (!(alone ? tessi_plan_can_unroll : tessi_plan_can_tile)(c->f, id))
        return tessi_plan_fault(a, group,
                                "several outputs a thread are for whole stages of two dimensions "
                                "or more that sort nothing, with windows of constant size, and in "
                                "register tiles for lattices");
    if (c->f->window_points[id.v] * outputs[0] * outputs[1] > PLAN_MAX_WRITTEN_OUT)
        return tessi_plan_fault(
            a, group,
            "the windows of all outputs of a thread have more than %d points to be written out",
            PLAN_MAX_WRITTEN_OUT);
    return NULL;
}

/* Words of a group that only some kernels know. */
static const char *check_words(Check *c, const PlanGroup *group, KernelKind kind)
{
    Arena *a = c->f->arena;
    if (tessi_split_is_by_warp(group->split) && !tessi_plan_has_warps(group))
        return tessi_plan_fault(
            a, group,
            "splitting by warps is for kernels of points of two dimensions or more whose rows of "
            "threads are warps (%d), several, or as many of one",
            PLAN_WARP);
    if (group->split == SPLIT_REGIONS && kind != KERNEL_POINT)
        return tessi_plan_fault(a, group, "regions are for kernels of points");
    if (group->split == SPLIT_EDGES
        && ((kind != KERNEL_REGISTER && kind != KERNEL_TILE && kind != KERNEL_WARP)
            || !tessi_plan_stays_in_plane(c->f, c->p, group)))
        return tessi_plan_fault(a, group,
                                "kernels of their own for edges are for register tiles, tiles and "
                                "warps of stages that read only their own plane");
    if (group->frame.rows[0] && group->split != SPLIT_EDGES)
        return tessi_plan_fault(a, group, "frames are left where edges are kernels of their own");
    if (group->resident && !c->p->gpu)
        return tessi_plan_fault(a, group, "resident blocks are for GPUs");
    if (group->stream && c->p->gpu)
        return tessi_plan_fault(a, group, "stores past the caches are for CPUs");
    const StageKind first = tessi_stage(c->f->g, group->members.at[0])->kind;
    if (group->shares > 1
        && (c->p->gpu
            || (first != STAGE_SCAN && first != STAGE_REDUCE && first != STAGE_HISTOGRAM)))
        return tessi_plan_fault(
            a, group, "shares are for values that run, are reduced, or are counted, on CPUs");
    if (group->packed && kind != KERNEL_REGISTER && !group->network)
        return tessi_plan_fault(a, group, "only register tiles and networks are packed");
    if (group->network && (kind != KERNEL_MEDIAN || !group->counts))
        return tessi_plan_fault(a, group, "networks are for kernels of medians that else count");
    return NULL;
}

/* Threads of a block, and what of the image they have. */
static const char *check_threads(Check *c, const PlanGroup *group, KernelKind kind)
{
    Arena *a = c->f->arena;
    const PlanThreads threads = tessi_level_threads_all(&group->levels);
    const int all = threads.of[0] * threads.of[1];
    if (all > PLAN_MAX_BLOCK || !all)
        return tessi_plan_fault(a, group, "blocks have 1 to %d threads", PLAN_MAX_BLOCK);
    if (all * group->resident > PLAN_MAX_THREADS)
        return tessi_plan_fault(a, group, "no more than %d threads fit a multiprocessor",
                                PLAN_MAX_THREADS);
    if (group->n_dims < 2 && threads.of[1] != 1)
        return tessi_sprintf(a, "group '%s' has one dimension, and its blocks two", group->name);
    const bool tiles = kind == KERNEL_TILE || kind == KERNEL_WARP;
    if (tiles != (tessi_level_tile(group, 0) > 0))
        return tessi_plan_fault(
            a, group, "%s",
            tiles ? "the grid of a kernel of warps has as many columns as they compute"
                  : "steps through the tiles of a GPU keep stages in lanes so far, "
                    "not in scratch");
    if (tiles && (group->n_dims < 2 || threads.of[1] != 1))
        return tessi_plan_fault(a, group,
                                "kernels of tiles and of warps are for stages of two dimensions or "
                                "more, their blocks one line of threads");
    return NULL;
}

/* Can threads compute so many points of its stages? */
static const char *check_points(Check *c, const PlanGroup *group, KernelKind kind)
{
    for (uint32_t i = 0; i <= group->passes.n; i++) {
        const bool pass = i < group->passes.n;
        const StageList stages = tessi_plan_part(group, i);
        const PlanOutputs outputs =
            tessi_level_outputs_all(pass ? &group->passes.at[i].levels : &group->levels);
        if (outputs.of[0] == 1 && outputs.of[1] == 1 && kind != KERNEL_WARP
            && (pass || kind != KERNEL_REGISTER))
            continue;
        VEC_FOREACH (const StageId, id, &stages) {
            const char *fault = !pass && tessi_plan_in_passes(group, *id)
                                    ? NULL
                                    : check_outputs(c, group, *id, outputs.of);
            if (fault)
                return fault;
        }
    }
    return NULL;
}

/* Kernels: in GPU plans every group is one, in others none. */
static const char *check_kernel(Check *c, const PlanGroup *group)
{
    const KernelKind kind = tessi_plan_kernel(group);
    const char *fault = check_words(c, group, kind);
    if (!fault && c->p->gpu)
        fault = check_threads(c, group, kind);
    if (fault || !c->p->gpu || group->transform) /* plan_transform.c */
        return fault;
    if (kind == KERNEL_ROLLING)
        return tessi_plan_check_rolling(c->f, c->p, group);
    if (kind == KERNEL_SWEEP)
        return tessi_plan_check_sweep(c->f, c->p, group);
    if (group->median || group->product)
        return NULL; /* plan_median_gpu.c, plan_product.c */
    if (tessi_level_march(&group->levels).least && kind != KERNEL_WARP)
        return tessi_plan_fault(c->f->arena, group,
                                "marches are for kernels of rolling sums, of warps and of medians");
    return check_points(c, group, kind);
}

/* The parts of the program stand one behind the other. */
static const char *check_part(Check *c, uint32_t i)
{
    const StageId now = c->p->groups.at[i].members.at[0];
    if (!i || !c->f->part
        || c->f->part[c->p->groups.at[i - 1].members.at[0].v] <= c->f->part[now.v])
        return NULL;
    return tessi_sprintf(c->f->arena,
                         "group '%s' stands behind groups of a later part of the program: the "
                         "groups of a repeat stand together",
                         c->p->groups.at[i].name);
}

static bool stands_before(const PlanGroup *group, StageId first, StageId second)
{
    VEC_FOREACH (const StageId, id, &group->members)
        if (id->v == first.v || id->v == second.v)
            return id->v == first.v;
    return false;
}

/* What a group reads from memory must have been computed by the groups before it, or of its own line by members before
 * it. */
static const char *check_order(Check *c, uint32_t i)
{
    StageList stored = { 0 }, all = { 0 };
    const PlanGroup *group = &c->p->groups.at[i];
    tessi_plan_group_stages(c->f, group, &all);
    VEC_FOREACH (const StageId, id, &all) {
        tessi_plan_stored_reads(c->f, c->p, *id, &stored);
        VEC_FOREACH (const StageId, s, &stored) {
            uint32_t other = c->group_of[s->v];
            bool scratch = tessi_placement_is_scratch(c->p->stage[s->v].placement);
            if (scratch && other != i + 1)
                return tessi_sprintf(c->f->arena,
                                     "group '%s' reads stage '%s', which is in scratch memory of "
                                     "another group",
                                     group->name, name_of(c, *s));
            if (!tessi_plan_computes(c->f, *s) || other - 1 < i
                || (other == i + 1
                    && (tessi_plan_in_passes(group, *s)
                        || (stands_before(group, *s, *id)
                            && tessi_plan_reads_own_line(c->f, c->p, *id, *s)))))
                continue;
            return tessi_sprintf(c->f->arena, "group '%s' reads stage '%s' before it is computed",
                                 group->name, name_of(c, *s));
        }
    }
    return NULL;
}

static const char *check_size(Check *c)
{
    Arena *a = c->f->arena;
    const Graph *g = c->f->g;
    PlanCodeSize size = { 0 };
    tessi_plan_code_size(c->f, c->p, &size);
    GRAPH_FOREACH_STAGE (g, id) {
        if (size.depth[id.v] && size.nodes[id.v] > PLAN_MAX_GROUP_NODES)
            return tessi_sprintf(
                a, "stage '%s' with what is inlined into it makes more than %d operations",
                name_of(c, id), PLAN_MAX_GROUP_NODES);
        if (size.depth[id.v] > PLAN_MAX_INLINE_DEPTH)
            return tessi_sprintf(
                a, "more than %d stages are inlined into one another up to stage '%s'",
                PLAN_MAX_INLINE_DEPTH, name_of(c, id));
    }
    return NULL;
}

static const char *check_frame(Check *c, const PlanGroup *group)
{
    Arena *scratch = tessi_scratch_open(c->f->arena);
    const PlanFacts own = tessi_plan_facts_in(scratch, c->f);
    PlanRegions regions = { 0 };
    const char *fault = NULL;
    for (int side = 0; side < 2 && !fault && group->frame.rows[0]; side++) {
        Plan plan;
        PlanGroup frame;
        fault = tessi_plan_frame(&own, c->p, group, side, &plan, &frame, &regions);
    }
    fault = fault ? tessi_strdup(c->f->arena, fault) : NULL;
    tessi_scratch_close(scratch);
    return fault ? tessi_sprintf(c->f->arena, "the frame of group '%s': %s", group->name, fault)
                 : NULL;
}

const char *tessi_plan_verify(Arena *a, const Plan *p, const Graph *g)
{
    Arena *scratch = tessi_scratch_open(a);
    const char *fault = tessi_plan_verify_with(tessi_plan_facts(scratch, g), p);
    fault = fault ? tessi_strdup(a, fault) : NULL;
    tessi_scratch_close(scratch);
    return fault;
}

const char *tessi_plan_verify_with(const PlanFacts *f, const Plan *p)
{
    if (p->n_stages != f->g->stages.n)
        return "the plan was made for another graph";
    if (p->gpu && p->width)
        return "the width of vectors is for CPUs";
    Check c = { .f = f, .p = p };
    PlanRegions regions = { 0 };
    c.group_of = ARENA_NEW_ARRAY(f->arena, uint32_t, f->g->stages.n);
    const char *fault = NULL;
    for (uint32_t i = 0; i < p->groups.n && !fault; i++)
        fault = check_members(&c, i);
    if (!fault)
        fault = check_placements(&c);
    for (uint32_t i = 0; i < p->groups.n && !fault; i++) {
        fault = check_loops(&c, &p->groups.at[i]);
        if (!fault)
            fault = check_kernel(&c, &p->groups.at[i]);
        if (!fault && p->groups.at[i].transform)
            fault = tessi_plan_check_transform(c.f, p, &p->groups.at[i]);
        if (!fault && p->groups.at[i].median)
            fault = tessi_plan_check_median(c.f, p, &p->groups.at[i]);
        if (!fault && p->groups.at[i].product)
            fault = tessi_plan_check_product(c.f, p, &p->groups.at[i]);
        if (!fault)
            fault = check_part(&c, i);
        if (!fault)
            fault = check_order(&c, i);
        if (!fault)
            fault = tessi_plan_check_staged(c.f, p, &p->groups.at[i]);
        if (!fault)
            fault = tessi_plan_check_tiles(c.f, p, &p->groups.at[i], &regions);
        if (!fault)
            fault = check_frame(&c, &p->groups.at[i]);
    }
    if (!fault)
        fault = tessi_plan_check_carries(c.f, p);
    if (!fault)
        fault = tessi_plan_check_constants(c.f, p);
    return fault ? fault : check_size(&c);
}
