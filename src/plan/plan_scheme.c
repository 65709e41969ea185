/* The schemes of the first paper as plans, for any graph: each stage by itself in memory, and overlapped tiles of
 * all stages that one group alone reads. What others are measured against; chosen plans do better. */
#include <string.h>

#include "plan/plan_costs.h"
#include "plan/plan_groups.h"
#include "plan/plan_passes.h"

typedef struct Scheme {
    const PlanFacts *f;
    const Machine *m;
    Plan *p;
    uint32_t *group_of; /* by StageId: group + 1, 0 = none */
    StageList *readers; /* by StageId */
    bool *gone;         /* by group: its stages are passes of another */
    PlanRegions regions;
    const char *not_loaded; /* why blocks of the group in hand read some images from memory */
} Scheme;

/* The compiler made it out of another stage, "smooth.lines" of "smooth": the paper's programs have the whole. */
static bool is_part(const Graph *g, StageId id)
{
    const char *name = tessi_stage(g, id)->name, *dot = strrchr(name, '.');
    GRAPH_FOREACH_STAGE (g, other) {
        const char *of = tessi_stage(g, other)->name;
        if (dot && strlen(of) == (size_t)(dot - name) && !strncmp(of, name, strlen(of)))
            return true;
    }
    return false;
}

static int64_t most_threads(const Machine *m)
{
    return m->block_threads < PLAN_MAX_BLOCK ? m->block_threads : PLAN_MAX_BLOCK;
}

/* A block of points is halved until the machine can run its threads, rows first. */
static void fit_threads(PlanGroup *group, const Machine *m)
{
    PlanThreads of = tessi_level_threads_all(&group->levels);
    while (of.of[0] * of.of[1] > most_threads(m)) {
        const int k = of.of[1] > 1;
        of.of[k] = (uint16_t)(of.of[k] / 2);
        tessi_level_set_threads(&group->levels, k, of.of[k]);
    }
}

Plan *tessi_plan_apart(const PlanFacts *f, const Machine *m)
{
    Plan *p = tessi_plan_empty(f, m->name);
    p->gpu = tessi_machine_is_gpu(m);
    GRAPH_FOREACH_STAGE (f->g, id)
        if (tessi_plan_computes(f, id) && f->can_inline[id.v] && is_part(f->g, id))
            p->stage[id.v].placement = PLACE_INLINE;
    GRAPH_FOREACH_STAGE (f->g, id) {
        if (!tessi_plan_computes(f, id) || p->stage[id.v].placement == PLACE_INLINE)
            continue;
        PlanGroup *group = tessi_plan_add_group(p, f->g, id);
        if (!p->gpu)
            continue;
        tessi_plan_point_kernel(group);
        fit_threads(group, m);
        if (tessi_stage_is_plain(f->g, tessi_stage(f->g, id)))
            group->split = SPLIT_INTERIOR;
    }
    return p;
}

/* Registers of a thread hold 4 x 4 points where they can. */
static void give_register_tiles(const PlanFacts *f, const Plan *p, PlanGroup *group)
{
    enum { OUTPUTS = 4, MOST_POINTS = 4096 }; /* of windows written out: 16 x 16 */
    const StageId id = group->members.at[0];
    if (!tessi_plan_can_tile(f, id) || !tessi_plan_stays_in_plane(f, p, group)
        || f->window_points[id.v] * OUTPUTS * OUTPUTS > MOST_POINTS)
        return;
    tessi_plan_set_kernel(group, KERNEL_REGISTER);
    group->split = SPLIT_EDGES;
    tessi_level_set_threads(&group->levels, 0, 32);
    tessi_level_set_threads(&group->levels, 1, 4);
    tessi_level_set_outputs_all(&group->levels, (PlanOutputs){ { OUTPUTS, OUTPUTS } });
}

Plan *tessi_plan_unfused_register(const PlanFacts *f, const Machine *m)
{
    Plan *p = tessi_plan_apart(f, m);
    VEC_FOREACH (PlanGroup, group, &p->groups)
        if (p->gpu)
            give_register_tiles(f, p, group);
    return p;
}

/* ---- Overlapped tiles ------------------------------------------------------------------------ */

/* Tiles of `rows` x `columns`; a few planes where stages are read in other planes. */
static void set_tile(const Scheme *s, PlanGroup *group, int64_t rows, int64_t columns)
{
    for (uint8_t d = 0; d < group->n_dims; d++) {
        bool wide = false;
        VEC_FOREACH (const PlanPass, pass, &group->passes) {
            const PlanRegion *r = &s->regions.at[pass->stages.at[0].v];
            wide = wide || r->lo[d] != r->hi[d];
        }
        tessi_level_set_tile(group, d,
                             d + 1 == group->n_dims   ? columns
                             : d + 2 == group->n_dims ? rows
                             : wide && !s->p->gpu     ? 8
                                                      : 1);
    }
}

/* Points of the largest tile in between, or elements of the largest image that is loaded: a thread for each, in whole
 * warps. */
static int64_t threads_of(const Scheme *s, const PlanGroup *group)
{
    const uint8_t n = group->n_dims;
    int64_t most = tessi_level_tile(group, n - 2) * tessi_level_tile(group, n - 1);
    VEC_FOREACH (const PlanPass, pass, &group->passes) {
        const PlanRegion *r = &s->regions.at[pass->stages.at[0].v];
        int64_t points = 1;
        for (uint8_t d = (uint8_t)(n - 2); d < n; d++)
            points *= tessi_level_tile(group, d) + r->hi[d] - r->lo[d];
        most = points > most ? points : most;
    }
    VEC_FOREACH (const PlanStaged, staged, &group->staged) {
        PlanCopy copy;
        if (!tessi_plan_copied(s->f, s->p, group, staged, &copy) && copy.copied > (double)most)
            most = copy.copied > PLAN_MAX_TILE ? PLAN_MAX_TILE : (int64_t)copy.copied;
    }
    const int64_t warps = (most + PLAN_WARP - 1) / PLAN_WARP * PLAN_WARP;
    return warps > most_threads(s->m) && most <= most_threads(s->m) ? most : warps;
}

/* Shared memory and threads that a block may have on this machine. */
static int64_t most_shared(const Machine *m)
{
    return m->shared_bytes < PLAN_MAX_SHARED_BYTES ? m->shared_bytes : PLAN_MAX_SHARED_BYTES;
}

static const char *fits_machine(const Scheme *s, const PlanGroup *group, int64_t threads)
{
    const int64_t bytes = tessi_plan_block_bytes(s->f, s->p, group);
    const long long rows = (long long)tessi_level_tile(group, group->n_dims - 2);
    const long long columns = (long long)tessi_level_tile(group, group->n_dims - 1);
    if (bytes > most_shared(s->m))
        return tessi_sprintf(
            s->f->arena,
            "a tile of %lld x %lld needs %lld bytes of shared memory, and a block of "
            "this machine has %lld",
            rows, columns, (long long)bytes, (long long)most_shared(s->m));
    return threads > most_threads(s->m)
               ? tessi_sprintf(s->f->arena,
                               "a tile of %lld x %lld needs %lld threads, and a block of this "
                               "machine has %lld",
                               rows, columns, (long long)threads, (long long)most_threads(s->m))
               : NULL;
}

enum { DEFAULT_SIDE = 32 }; /* of a block, before it is halved */

/* Section 2.1.1: the block is halved until shared memory and threads suffice; rows first, for wide tiles read whole
 * lines. */
static const char *halve_block(Scheme *s, PlanGroup *group)
{
    int64_t rows = DEFAULT_SIDE, columns = DEFAULT_SIDE;
    for (;;) {
        set_tile(s, group, rows, columns);
        tessi_level_set_threads(&group->levels, 0, 1);
        const char *fault = tessi_plan_check_tiles(s->f, s->p, group, &s->regions);
        const int64_t threads = fault ? 1 : threads_of(s, group);
        if (!fault)
            fault = fits_machine(s, group, threads);
        if (!fault) {
            tessi_level_set_threads(&group->levels, 0, (uint16_t)threads);
            return NULL;
        }
        if (rows == 1 && columns == 1)
            return fault;
        *(columns > rows ? &columns : &rows) /= 2;
    }
}

/* Has blocks load what they read of an image; or why not. */
static const char *load_image(Scheme *s, PlanGroup *group, StageId image)
{
    const PlanStaged staged = { .image = image, .in = STAGED_SHARED };
    VEC_PUSH(s->f->arena, &group->staged, staged);
    const char *fault = tessi_plan_check_staged(s->f, s->p, group);
    group->staged.n -= fault != NULL;
    return fault;
}

/* All that the group reads, each image once; a tile of one point needs the least memory. */
static void load_images(Scheme *s, PlanGroup *group)
{
    Arena *a = s->f->arena;
    bool *seen = ARENA_NEW_ARRAY(a, bool, s->f->g->stages.n);
    StageList images = { 0 };
    s->not_loaded = "";
    group->staged.at = NULL; /* the memory may be another group's too */
    group->staged.n = group->staged.cap = 0;
    set_tile(s, group, 1, 1);
    for (uint32_t i = 0; i <= group->passes.n; i++) {
        const StageList part = tessi_plan_part(group, i);
        VEC_FOREACH (const StageId, id, &part) {
            tessi_plan_stored_reads(s->f, s->p, *id, &images);
            VEC_FOREACH (const StageId, image, &images) {
                const bool wanted = !seen[image->v] && !tessi_plan_in_passes(group, *image);
                const char *fault = wanted ? load_image(s, group, *image) : NULL;
                seen[image->v] = true;
                if (fault)
                    tessi_plan_add_reason(a, &s->not_loaded,
                                          tessi_sprintf(a, "'%s' is read from memory: %s",
                                                        tessi_stage(s->f->g, *image)->name, fault));
            }
        }
    }
}

/* A block and a thread for each point of its tiles: algorithm 1 with what is loaded. */
static const char *settle_block(Scheme *s, PlanGroup *group)
{
    tessi_plan_point_kernel(group);
    tessi_plan_set_kernel(group, KERNEL_TILE);
    tessi_level_set_threads(&group->levels, 1, 1);
    group->split = SPLIT_INTERIOR;
    load_images(s, group);
    return halve_block(s, group);
}

/* As many rows as let the tiles in between fit three quarters of the second cache; the rest is for what is read and
 * written. */
static const char *fill_cache(Scheme *s, PlanGroup *group)
{
    enum { ROWS = 8, COLUMNS = 256, MOST_ROWS = 1 << 12 };
    int64_t rows = ROWS;
    set_tile(s, group, rows, COLUMNS);
    const char *fault = tessi_plan_check_tiles(s->f, s->p, group, &s->regions);
    while (!fault && group->n_dims > 1 && rows < MOST_ROWS) {
        set_tile(s, group, 2 * rows, COLUMNS);
        const int64_t bytes =
            tessi_plan_tile_bytes(s->f, group, &s->regions, tessi_level_tile_all(group).of, 0);
        if (4 * bytes > 3 * s->m->l2_bytes
            || tessi_plan_check_tiles(s->f, s->p, group, &s->regions))
            break;
        rows *= 2;
    }
    set_tile(s, group, rows, COLUMNS);
    return fault;
}

/* Makes group `h` the first pass of group `into`; NULL, or why it cannot be, and nothing is changed. */
static const char *absorb(Scheme *s, uint32_t h, uint32_t into)
{
    Arena *a = s->f->arena;
    PlanGroup *from = &s->p->groups.at[h], *to = &s->p->groups.at[into];
    const StageId id = from->members.at[0];
    PlanGroup fused = *to;
    fused.members.at = NULL;
    fused.members.n = fused.members.cap = 0;
    fused.passes.at = NULL;
    fused.passes.n = fused.passes.cap = 0;
    tessi_plan_insert_pass(a, &fused, 0, id);
    VEC_APPEND(a, &fused.passes, &to->passes);
    VEC_APPEND(a, &fused.members, &to->members);
    if (s->f->returned[id.v])
        VEC_PUSH(a, &fused.members, id);
    const Stage *result = tessi_stage(s->f->g, fused.members.at[0]);
    if (from->n_dims != to->n_dims || from->n_dims < (s->p->gpu ? 2 : 1) || from->passes.n
        || !tessi_stage_is_plain(s->f->g, tessi_stage(s->f->g, id))
        || !tessi_stage_is_plain(s->f->g, result)
        || (s->f->returned[id.v] && !tessi_stage_same_domain(tessi_stage(s->f->g, id), result)))
        return "it is not computed point by point with its reader";
    fused.split = SPLIT_INTERIOR;
    if (s->p->gpu) { /* before its regions are asked for */
        tessi_plan_point_kernel(&fused);
        tessi_plan_set_kernel(&fused, KERNEL_TILE);
    }
    if (!s->f->returned[id.v])
        s->p->stage[id.v].placement = PLACE_SCRATCH;
    const char *fault = tessi_plan_regions(s->f, s->p, &fused, &s->regions);
    if (!fault)
        fault = s->p->gpu ? settle_block(s, &fused) : fill_cache(s, &fused);
    if (fault) {
        s->p->stage[id.v].placement = PLACE_MEMORY;
        return fault;
    }
    *to = fused;
    s->gone[h] = true;
    s->group_of[id.v] = into + 1;
    return NULL;
}

/* ---- What blocks came to --------------------------------------------------------------------- */

/* Whole warps of a block that have no point among so many. */
static int64_t idle_warps(const PlanGroup *group, int64_t points)
{
    return (tessi_level_threads(&group->levels, 0) + PLAN_WARP - 1) / PLAN_WARP
           - (points + PLAN_WARP - 1) / PLAN_WARP;
}

/* What a block loads of an image. */
static void explain_copy(Scheme *s, PlanGroup *group, const PlanStaged *staged)
{
    Arena *a = s->f->arena;
    const Stage *image = tessi_stage(s->f->g, staged->image);
    PlanCopy copy;
    if (tessi_plan_copied(s->f, s->p, group, staged, &copy))
        return;
    const int64_t idle = idle_warps(group, (int64_t)copy.copied);
    const uint8_t y = (uint8_t)(group->n_dims - 2), x = (uint8_t)(y + 1);
    const char *halo =
        tessi_sprintf(a, "a halo of rows %lld..%lld and columns %lld..%lld", (long long)copy.lo[y],
                      (long long)copy.hi[y], (long long)copy.lo[x], (long long)copy.hi[x]);
    tessi_plan_add_reason(a, &group->reason,
                          tessi_sprintf(a, "'%s': %.0f elements loaded, %s; %lld idle warp%s",
                                        image->name, copy.copied, copy.whole ? "all of it" : halo,
                                        (long long)idle, idle == 1 ? "" : "s"));
}

/* Halos, shared memory, halvings and warps without work, a fact a line. */
static void explain_block(Scheme *s, PlanGroup *group)
{
    Arena *a = s->f->arena;
    const uint8_t y = (uint8_t)(group->n_dims - 2), x = (uint8_t)(y + 1);
    tessi_plan_regions(s->f, s->p, group, &s->regions);
    int halvings = 0;
    for (uint8_t d = y; d <= x; d++)
        for (int64_t side = DEFAULT_SIDE; side > tessi_level_tile(group, d); side /= 2)
            halvings++;
    tessi_plan_add_reason(
        a, &group->reason,
        tessi_sprintf(
            a,
            "tile %lld x %lld after %d halving%s of %d x %d: %lld bytes of shared memory "
            "of %lld, %u threads of %lld",
            (long long)tessi_level_tile(group, y), (long long)tessi_level_tile(group, x), halvings,
            halvings == 1 ? "" : "s", DEFAULT_SIDE, DEFAULT_SIDE,
            (long long)tessi_plan_block_bytes(s->f, s->p, group), (long long)most_shared(s->m),
            (unsigned)tessi_level_threads(&group->levels, 0), (long long)most_threads(s->m)));
    VEC_FOREACH (const PlanStaged, staged, &group->staged)
        explain_copy(s, group, staged);
    for (uint32_t i = 0; i <= group->passes.n; i++) {
        const StageId id =
            i < group->passes.n ? group->passes.at[i].stages.at[0] : group->members.at[0];
        const PlanRegion *r = &s->regions.at[id.v];
        const int64_t rows = tessi_level_tile(group, y) + r->hi[y] - r->lo[y];
        const int64_t columns = tessi_level_tile(group, x) + r->hi[x] - r->lo[x];
        const int64_t idle = idle_warps(group, rows * columns);
        const char *halo =
            i == group->passes.n
                ? ""
                : tessi_sprintf(a, ", a halo of rows %lld..%lld and columns %lld..%lld",
                                (long long)r->lo[y], (long long)r->hi[y], (long long)r->lo[x],
                                (long long)r->hi[x]);
        tessi_plan_add_reason(a, &group->reason,
                              tessi_sprintf(a, "'%s': %lld x %lld points%s; %lld idle warp%s",
                                            tessi_stage(s->f->g, id)->name, (long long)rows,
                                            (long long)columns, halo, (long long)idle,
                                            idle == 1 ? "" : "s"));
    }
}

/* The block of all that is fused; a stage that nothing is fused with is a tile too. */
static void finish_block(Scheme *s, PlanGroup *group)
{
    PlanGroup tile = *group;
    if (group->n_dims < 2
        || !tessi_stage_is_plain(s->f->g, tessi_stage(s->f->g, group->members.at[0])))
        return;
    const char *fault = settle_block(s, &tile);
    if (fault) {
        tessi_plan_add_reason(s->f->arena, &group->reason, fault);
        return;
    }
    *group = tile;
    if (*s->not_loaded)
        tessi_plan_add_reason(s->f->arena, &group->reason, s->not_loaded);
    explain_block(s, group);
}

Plan *tessi_plan_overlapped(const PlanFacts *f, const Machine *m)
{
    Scheme s = { .f = f, .m = m, .p = tessi_plan_apart(f, m) };
    PlanGroup *groups = s.p->groups.at;
    s.group_of = ARENA_NEW_ARRAY(f->arena, uint32_t, f->g->stages.n);
    s.gone = ARENA_NEW_ARRAY(f->arena, bool, s.p->groups.n);
    s.readers = tessi_plan_readers(f, s.p);
    for (uint32_t i = 0; i < s.p->groups.n; i++)
        s.group_of[groups[i].members.at[0].v] = i + 1;
    for (uint32_t h = s.p->groups.n; h-- > 0;) { /* readers before what they read */
        const uint32_t into = tessi_plan_only_reader(s.f, s.readers, s.group_of, groups, h);
        const char *fault = into ? absorb(&s, h, into - 1) : NULL;
        if (fault)
            groups[h].reason =
                tessi_sprintf(f->arena, "not fused with '%s': %s", groups[into - 1].name, fault);
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < s.p->groups.n; i++)
        if (!s.gone[i])
            groups[kept++] = groups[i];
    s.p->groups.n = kept;
    for (uint32_t i = 0; i < kept && s.p->gpu; i++)
        finish_block(&s, &groups[i]);
    tessi_plan_order(s.p, f);
    return s.p;
}
