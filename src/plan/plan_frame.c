/* Frames: how the points around the blocks inside are computed. Every stage in between that is read at a distance
 * becomes a pass, so that its own border rule is answered once, in shared memory, and no reader needs code for it. */
#include <string.h>

#include "plan/plan_passes.h"

typedef struct Frame {
    const PlanFacts *f;
    const PlanGroup *group; /* whose frame it is */
    Plan *plan;
} Frame;

/* The stages of the passes, what is read before its readers: those of the group's own, and all in between that are
 * read at a distance. What warps hold although it is read at the point itself alone is as well computed again. */
static void find_passes(const Frame *c, StageList *out)
{
    const PlanGroup *group = c->group;
    PlanStage *stage = c->plan->stage;
    const bool warps = tessi_plan_kernel(group) == KERNEL_WARP;
    Needs needs = { 0 };
    VEC_FOREACH (const PlanPass, pass, &group->passes)
        VEC_FOREACH (const StageId, id, &pass->stages)
            if (tessi_placement_is_scratch(stage[id->v].placement))
                stage[id->v].placement = PLACE_INLINE;
    tessi_needs(c->f, c->f->arena, c->plan, group->members.at, group->members.n, &needs);
    bool *far = ARENA_NEW_ARRAY(c->f->arena, bool, needs.at.n);
    VEC_FOREACH (const NeedRead, r, &needs.reads)
        far[r->of] = far[r->of] || !r->read->same_point;
    for (uint32_t i = needs.at.n; i-- > 0;) {
        const Need *need = &needs.at.at[i];
        const uint32_t v = need->stage.v;
        const bool own =
            tessi_plan_in_passes(group, need->stage) && !(warps && c->f->can_inline[v]);
        if (!need->computed || !(own || (far[i] && !need->root)))
            continue;
        if (!need->root)
            stage[v].placement = PLACE_SCRATCH;
        VEC_PUSH(c->f->arena, out, need->stage);
    }
}

/* Columns and rows of a thread: a few in a row, so that rows move as vectors, and little code. */
static void choose_outputs(const Frame *c, const StageList *stages, uint8_t columns,
                           PlanLevels *levels)
{
    enum { MOST_POINTS = 1024 }; /* of windows written out */
    PlanOutputs out = { { columns, columns > 1 ? PLAN_FRAME_ROWS : 1 } };
    VEC_FOREACH (const StageId, id, stages)
        if (!tessi_plan_can_tile(c->f, *id)
            || c->f->window_points[id->v] * out.of[0] * out.of[1] > MOST_POINTS)
            out = (PlanOutputs){ { 1, 1 } };
    tessi_level_set_outputs_all(levels, out);
}

const char *tessi_plan_frame(const PlanFacts *f, const Plan *p, const PlanGroup *group, int side,
                             Plan *plan_out, PlanGroup *out, PlanRegions *regions)
{
    Arena *a = f->arena;
    if (group->n_dims < 2)
        return "it has one dimension";
    if (tessi_plan_kernel(group) != KERNEL_REGISTER && tessi_plan_kernel(group) != KERNEL_TILE
        && tessi_plan_kernel(group) != KERNEL_WARP)
        return "it is no kernel of register tiles, tiles or warps";
    *plan_out = *p;
    plan_out->stage = ARENA_NEW_ARRAY(a, PlanStage, p->n_stages);
    memcpy(plan_out->stage, p->stage, p->n_stages * sizeof *p->stage);
    *out = (PlanGroup){
        .name = group->name, .n_dims = group->n_dims, .split = SPLIT_EDGES, .reason = ""
    };
    tessi_levels_one_by_one(&out->levels, group->n_dims);
    tessi_level_set_parallel(out, tessi_level_parallel(&group->levels));
    tessi_level_set_vector(out, tessi_level_vector(&group->levels));
    tessi_plan_set_kernel(out, KERNEL_TILE);
    tessi_level_set_threads(&out->levels, 0, PLAN_FRAME_THREADS);
    for (uint8_t d = 0; d < group->n_dims; d++)
        tessi_level_set_tile(out, d, 1);
    tessi_level_set_tile(out, group->n_dims - 2, group->frame.rows[side]);
    tessi_level_set_tile(out, group->n_dims - 1, group->frame.columns[side]);
    VEC_APPEND(a, &out->members, &group->members);
    const Frame c = { f, group, plan_out };
    StageList stages = { 0 };
    find_passes(&c, &stages);
    VEC_FOREACH (const StageId, id, &stages)
        tessi_plan_insert_pass(a, out, out->passes.n, *id);
    const char *fault = tessi_plan_regions(f, plan_out, out, regions);
    if (fault)
        return fault;
    tessi_plan_make_passes(f, plan_out, regions, &stages, 0, out);
    /* Vectors of the frame begin where threads of the blocks inside may end. */
    const uint8_t of = tessi_level_outputs(&group->levels, 0);
    const uint8_t columns = of % 4 == 0 ? 4 : of % 2 == 0 ? 2 : 1;
    VEC_FOREACH (PlanPass, pass, &out->passes)
        choose_outputs(&c, &pass->stages, columns, &pass->levels);
    choose_outputs(&c, &out->members, columns, &out->levels);
    return tessi_plan_check_tiles(f, plan_out, out, regions);
}

const char *tessi_plan_fit_frame(const PlanFacts *f, const Plan *p, PlanGroup *group, bool *chain)
{
    /* Thin ones, whose passes are one round of the threads of a block or two. */
    static const uint16_t length[] = { 64, 32, 32 }, thickness[] = { 8, 8, 4 };
    Arena *scratch = tessi_scratch_open(f->arena);
    const PlanFacts own = tessi_plan_facts_in(scratch, f);
    PlanRegions regions = { 0 };
    const char *fault = "";
    *chain = true;
    for (size_t k = 0; fault && k < sizeof length / sizeof *length; k++) {
        PlanGroup side;
        Plan plan;
        group->frame = (PlanFrame){ .rows = { thickness[k], length[k] },
                                    .columns = { length[k], thickness[k] } };
        fault = tessi_plan_frame(&own, p, group, 0, &plan, &side, &regions);
        *chain = *chain && (fault || side.passes.n);
        if (!fault)
            fault = tessi_plan_frame(&own, p, group, 1, &plan, &side, &regions);
    }
    fault = fault ? tessi_strdup(f->arena, fault) : NULL;
    tessi_scratch_close(scratch);
    return fault;
}

void tessi_plan_choose_frame(const PlanFacts *f, const Plan *p, PlanGroup *group)
{
    bool chain;
    if (tessi_plan_is_spread(group))
        return; /* the blocks of a frame end where threads of those inside do */
    const char *fault = tessi_plan_fit_frame(f, p, group, &chain);
    if (fault || !chain)
        group->frame = (PlanFrame){ 0 };
    if (!chain)
        return;
    const char *why =
        fault ? tessi_sprintf(f->arena, "edges are whole blocks: %s", fault)
              : "edges are a thin frame, computed with all stages in between in shared memory";
    group->reason = *group->reason ? tessi_sprintf(f->arena, "%s\n%s", group->reason, why) : why;
}
