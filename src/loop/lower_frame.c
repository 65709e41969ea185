/* What blocks inside leave around them: kernels of thin tiles, which have copied the images that they read, with every
 * read beyond an edge answered, so that the code that computes from them is that of the blocks inside. */
#include "loop/lower_group.h"
#include "loop/lower_tiles.h"

/* Of parts before the members as much is needed as what comes after them reads, in whole patches. */
static void find_limits(const Tiles *t, Part *part)
{
    Lower *l = t->l;
    int64_t beyond[2] = { 0, 0 };
    for (uint32_t i = t->group->passes.n; i-- > 0;) {
        const PlanRegion *region = &t->regions.at[part[i].job.stage[0].v];
        for (int k = 0; k < 2; k++) {
            LExprId reach = tessi_l_int(l, region->hi[t->y + k] + beyond[k]);
            part[i].limit[k] = tessi_l_op(l, OP_ADD, t->end[k], reach);
            beyond[k] += part[i].outputs.of[1 - k] - 1;
        }
    }
}

/* Copies of the images that the parts read at a distance, as far as there is room: rows of whole vectors. */
static void find_images(const Tiles *t, const Part *part, CopyList *images)
{
    Lower *l = t->l;
    int64_t most =
        PLAN_MAX_SHARED_BYTES - tessi_plan_shared_bytes(tessi_lower_facts(l), t->group, t->extent);
    for (uint32_t i = 0; i <= t->group->passes.n; i++) {
        CopyReaders readers = { .stage = part[i].job.stage, .n = part[i].job.n };
        for (int k = 0; k < 2; k++) {
            readers.from[k] = part[i].extent.lo[k];
            readers.extent[k] = part[i].extent.n[k];
            readers.beyond[k] = part[i].nest.beyond[k];
        }
        tessi_copies_find(l, &readers, images);
    }
    tessi_copies_size(images);
    VEC_FOREACH (Copy, c, images) {
        c->dropped = c->loose || !c->far;
        if (c->dropped)
            continue;
        const uint32_t bytes = tessi_type_info(c->type)->bytes;
        const int64_t vector = 16 / bytes;
        c->size[1] = (c->size[1] + vector - 1) / vector * vector;
        c->dropped = c->size[0] * c->size[1] * bytes > most;
        most -= c->dropped ? 0 : c->size[0] * c->size[1] * bytes;
    }
}

static void take_images(const Tiles *t, const Part *part, CopyList *images)
{
    Lower *l = t->l;
    bool any = false;
    if (t->y) /* these copies have the two dimensions of a tile */
        return;
    find_images(t, part, images);
    VEC_FOREACH (Copy, c, images) {
        if (c->dropped)
            continue;
        if (!any)
            tessi_scope_stmt(l, LSTMT_COMMENT)->text = "images, answered";
        any = true;
        tessi_copy_declare(l, c, "edge");
        tessi_copy_begin(l, c, t->first);
    }
    VEC_FOREACH (const Copy, c, images)
        if (!c->dropped)
            tessi_copy_by_line(l, c, false);
    l->copies = any ? images : NULL;
}

/* The points on one side of those inside. */
static void frame_side(Tiles *t, const Frame *frame, int side)
{
    Lower *l = t->l;
    const uint32_t depth = tessi_scope_depth(l);
    Part *part = tessi_tiles_parts(t);
    Nest *members = &part[t->group->passes.n].nest;
    Blocks blocks = { .l = l };
    CopyList images = { 0 };
    for (int k = 0; k < 2; k++) {
        blocks.size[k] = t->size[k];
        blocks.end[k] = members->to[t->y + k];
    }
    if (t->y)
        tessi_kernel_outer(l, members, t->outer);
    tessi_blocks_around(&blocks, frame, side);
    for (int k = 0; k < 2; k++) {
        t->first[k] = tessi_scope_let(l, k ? "tile_x" : "tile_y", blocks.first[k]);
        t->end[k] = tessi_scope_let(l, k ? "end_x" : "end_y", blocks.end[k]);
        members->to[t->y + k] = t->end[k];
    }
    find_limits(t, part);
    tessi_tiles_declare(t);
    take_images(t, part, &images);
    tessi_tiles_run(t, part, BLOCKS_AT_EDGES, (LExprId){ 0 });
    l->copies = NULL;
    tessi_scope_close_to(l, depth);
    tessi_tiles_forget(t);
}

void tessi_kernel_frame(Lower *l, const PlanGroup *group, const Frame *frame)
{
    static const char *const name[] = { "ends", "sides" };
    static const char *const where[] = { "above and below", "left and right of" };
    const Plan *plan = l->plan;
    PlanRegions regions = { 0 };
    for (int side = 0; side < 2; side++) {
        Plan *own = ARENA_NEW(l->arena, Plan);
        PlanGroup *tiles = ARENA_NEW(l->arena, PlanGroup);
        tessi_plan_frame(tessi_lower_facts(l), plan, group, side, own, tiles, &regions);
        Tiles t = tessi_tiles_new(l, tiles);
        t.regions = regions;
        tessi_plan_extents(tiles, &t.regions, t.extent);
        const char *about =
            tessi_sprintf(l->arena, "%s, %s the blocks inside.", group->name, where[side]);
        tessi_kernel_open(l, tessi_sprintf(l->arena, "%s_%s", group->name, name[side]), about,
                          tessi_level_threads(&tiles->levels, 0), 1)
            ->beside = true;
        l->plan = own;
        frame_side(&t, frame, side);
        l->plan = plan;
        tessi_scope_close(l);
    }
}
