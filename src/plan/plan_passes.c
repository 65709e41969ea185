/* Passes: which stages of a group with tiles one nest of loops computes. */
#include <string.h>

#include "plan/plan_passes.h"

void tessi_plan_insert_pass(Arena *a, PlanGroup *group, uint32_t at, StageId id)
{
    PlanPass pass = { 0 };
    tessi_levels_one_by_one(&pass.levels, 0);
    VEC_PUSH(a, &pass.stages, id);
    VEC_PUSH(a, &group->passes, pass);
    for (uint32_t i = group->passes.n - 1; i > at; i--)
        group->passes.at[i] = group->passes.at[i - 1];
    group->passes.at[at] = pass;
}

/* How many passes have to come before the stage. */
static uint32_t depth_of(const PlanFacts *f, const Plan *p, const PlanGroup *group, StageId id)
{
    StageList reads = { 0 };
    uint32_t depth = 0;
    tessi_plan_stored_reads(f, p, id, &reads);
    for (uint32_t i = 0; i < group->passes.n; i++)
        VEC_FOREACH (const StageId, s, &group->passes.at[i].stages)
            VEC_FOREACH (const StageId, r, &reads)
                if (r->v == s->v)
                    depth = i + 1;
    return depth;
}

/* They read channels of one image, which threads of a GPU move together. */
static bool read_pixels(const PlanFacts *f, const Plan *p, StageId a, StageId b)
{
    StageList of_a = { 0 }, of_b = { 0 };
    tessi_plan_stored_reads(f, p, a, &of_a);
    tessi_plan_stored_reads(f, p, b, &of_b);
    VEC_FOREACH (const StageId, x, &of_a)
        VEC_FOREACH (const StageId, y, &of_b)
            if (f->channels[x->v] > 1 && f->image[x->v] == f->image[y->v])
                return true;
    return false;
}

static bool is_field(const Image *image, const char *name)
{
    VEC_FOREACH (const Channel, c, &image->channels)
        if (tessi_streq(c->name, name))
            return true;
    return false;
}

/* Its name ends like a channel of some image of the program. Names of stages in functions look the same otherwise;
 * on CPUs channels of a pixel become neighbours in a row where all are computed alike. */
static bool has_field(const PlanFacts *f, StageId id)
{
    const char *dot = strrchr(tessi_stage(f->g, id)->name, '.');
    bool found = false;
    for (uint32_t i = 0; dot && i < f->g->inputs.n && !found; i++)
        found = is_field(&f->g->inputs.at[i], dot + 1);
    for (uint32_t i = 0; dot && i < f->g->outputs.n && !found; i++)
        found = is_field(&f->g->outputs.at[i], dot + 1);
    return found;
}

/* Computing them together is worth while. */
static bool go_together(const PlanFacts *f, const Plan *p, const PlanPass *pass, StageId id,
                        int64_t most_nodes)
{
    const StageId first = pass->stages.at[0];
    int64_t nodes = f->nodes[id.v];
    VEC_FOREACH (const StageId, s, &pass->stages)
        nodes += f->nodes[s->v];
    const bool pixel =
        tessi_plan_same_pixel(tessi_stage(f->g, id), tessi_stage(f->g, first))
        && (p->gpu ? read_pixels(f, p, id, first) : has_field(f, id) && has_field(f, first));
    return nodes <= most_nodes && f->has_window[id.v] == f->has_window[first.v]
           && (pixel || tessi_plan_share_reads(f, p, id, first, false));
}

void tessi_plan_make_passes(const PlanFacts *f, const Plan *p, const PlanRegions *regions,
                            const StageList *stages, int64_t most_nodes, PlanGroup *group)
{
    group->passes.at = NULL;
    group->passes.n = group->passes.cap = 0;
    VEC_FOREACH (const StageId, id, stages) {
        PlanPass *join = NULL;
        for (uint32_t i = depth_of(f, p, group, *id); i < group->passes.n && !join; i++) {
            PlanPass *pass = &group->passes.at[i];
            if (tessi_plan_same_region(f, regions, *id, pass->stages.at[0])
                && (!most_nodes || go_together(f, p, pass, *id, most_nodes)))
                join = pass;
        }
        if (join)
            VEC_PUSH(f->arena, &join->stages, *id);
        else
            tessi_plan_insert_pass(f->arena, group, group->passes.n, *id);
    }
}
