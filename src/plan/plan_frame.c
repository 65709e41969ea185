/* Frames: how the points around the blocks inside are computed. Every stage in between that is read at a distance becomes a pass, so that
 * its own border rule is answered once, in shared memory, and no reader needs code for it. */
#include <string.h>

#include "plan/plan_base.h"

typedef struct Frame {
    const PlanFacts *f;
    const PlanGroup *group; /* whose frame it is */
    Plan *plan;
    PlanGroup *out;
    PlanRegions *regions;
} Frame;

static bool in_between(const Frame *c, StageId id)
{
    const Placement at = c->plan->stage[id.v].placement;
    return tessi_plan_computes(c->f, id) && (at == PLACE_INLINE || at == PLACE_TILE);
}

/* Puts stages in between that are read at a distance where those of passes are; all others stay as they are. */
static void place(const Frame *c, bool *reached)
{
    VEC_FOREACH (const StageId, id, &c->group->members)
        reached[id->v] = true;
    for (uint32_t v = c->f->g->stages.n; v-- > 1;) { /* readers before what they read */
        if (!reached[v])
            continue;
        VEC_FOREACH (const PlanRead, r, &c->f->reads[v]) {
            if (!in_between(c, r->producer))
                continue;
            reached[r->producer.v] = true;
            if (!r->same_point)
                c->plan->stage[r->producer.v].placement = PLACE_TILE;
        }
    }
}

static void add_pass(const Frame *c, StageId id)
{
    PlanPass pass = { .rows = 1, .outputs = { 1, 1 } };
    VEC_PUSH(c->f->arena, &pass.stages, id);
    VEC_PUSH(c->f->arena, &c->out->passes, pass);
}

/* The first pass after all that the stage reads. */
static uint32_t depth_of(const Frame *c, StageId id)
{
    StageList reads = { 0 };
    uint32_t depth = 0;
    tessi_plan_stored_reads(c->f, c->plan, id, &reads);
    for (uint32_t i = 0; i < c->out->passes.n; i++)
        VEC_FOREACH (const StageId, s, &c->out->passes.at[i].stages)
            for (uint32_t k = 0; k < reads.n; k++)
                if (reads.at[k].v == s->v)
                    depth = i + 1;
    return depth;
}

/* Stages of one region that do not wait for each other go together. */
static void join_passes(const Frame *c)
{
    PlanGroup apart = *c->out;
    c->out->passes.at = NULL;
    c->out->passes.n = c->out->passes.cap = 0;
    VEC_FOREACH (const PlanPass, pass, &apart.passes) {
        const StageId id = pass->stages.at[0];
        const uint32_t depth = depth_of(c, id);
        PlanPass *join = NULL;
        for (uint32_t i = depth; i < c->out->passes.n && !join; i++)
            if (tessi_plan_same_region(c->f, c->regions, id, c->out->passes.at[i].stages.at[0]))
                join = &c->out->passes.at[i];
        if (join)
            VEC_PUSH(c->f->arena, &join->stages, id);
        else
            add_pass(c, id);
    }
}

/* Columns and rows of a thread: a few in a row, so that rows move as vectors, and little code. */
static void choose_outputs(const Frame *c, const StageList *stages, uint8_t columns, uint8_t *out)
{
    enum { MOST_POINTS = 1024 }; /* of windows written out */
    out[0] = columns;
    out[1] = columns > 1 ? PLAN_FRAME_ROWS : 1;
    VEC_FOREACH (const StageId, id, stages)
        if (!tessi_plan_can_tile(c->f, *id)
            || c->f->window_points[id->v] * out[0] * out[1] > MOST_POINTS)
            out[0] = out[1] = 1;
}

const char *tessi_plan_frame(const PlanFacts *f, const Plan *p, const PlanGroup *group, int side,
                             Plan *plan_out, PlanGroup *out, PlanRegions *regions)
{
    Arena *a = f->arena;
    if (group->n_dims < 2)
        return "it has one dimension";
    if (group->kernel != KERNEL_REGISTER && group->kernel != KERNEL_TILE
        && group->kernel != KERNEL_WARP)
        return "it is no kernel of register tiles, tiles or warps";
    *plan_out = *p;
    plan_out->stage = ARENA_NEW_ARRAY(a, PlanStage, p->n_stages);
    memcpy(plan_out->stage, p->stage, p->n_stages * sizeof *p->stage);
    *out = (PlanGroup){ .name = group->name,
                        .n_dims = group->n_dims,
                        .parallel = group->parallel,
                        .vector = group->vector,
                        .rows = 1,
                        .columns = 1,
                        .split = SPLIT_EDGES,
                        .kernel = KERNEL_TILE,
                        .block = { PLAN_FRAME_THREADS, 1 },
                        .outputs = { 1, 1 },
                        .reason = "" };
    memcpy(out->order, group->order, sizeof out->order);
    for (uint8_t d = 0; d < group->n_dims; d++)
        out->tile[d] = 1;
    out->tile[group->n_dims - 2] = group->frame.rows[side];
    out->tile[group->n_dims - 1] = group->frame.columns[side];
    VEC_FOREACH (const StageId, id, &group->members)
        VEC_PUSH(a, &out->members, *id);
    const Frame c = { f, group, plan_out, out, regions };
    /* What warps hold although it is read at the point itself alone is as well computed again. */
    const bool warps = group->kernel == KERNEL_WARP;
    VEC_FOREACH (const PlanPass, pass, &group->passes)
        VEC_FOREACH (const StageId, id, &pass->stages)
            if (warps && f->can_inline[id->v])
                plan_out->stage[id->v].placement = PLACE_INLINE;
    bool *reached = ARENA_NEW_ARRAY(a, bool, f->g->stages.n);
    place(&c, reached);
    GRAPH_FOREACH_STAGE (f->g, id)
        if ((reached[id.v] && plan_out->stage[id.v].placement == PLACE_TILE)
            || (tessi_plan_in_passes(group, id) && !(warps && f->can_inline[id.v])))
            add_pass(&c, id);
    const char *fault = tessi_plan_regions(f, plan_out, out, regions);
    if (fault)
        return fault;
    join_passes(&c);
    /* Vectors of the frame begin where threads of the blocks inside may end. */
    const uint8_t columns = group->outputs[0] % 4 == 0 ? 4 : group->outputs[0] % 2 == 0 ? 2 : 1;
    VEC_FOREACH (PlanPass, pass, &out->passes) {
        StageList stages = { .at = pass->stages.at, .n = pass->stages.n };
        choose_outputs(&c, &stages, columns, pass->outputs);
    }
    StageList members = { .at = out->members.at, .n = out->members.n };
    choose_outputs(&c, &members, columns, out->outputs);
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
