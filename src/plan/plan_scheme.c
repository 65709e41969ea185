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

Plan *tessi_plan_unfused(const PlanFacts *f, const Machine *m)
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

/* Threads for each point of the largest tile in between, in whole warps. */
static uint32_t threads_of(const Scheme *s, const PlanGroup *group)
{
    const uint8_t n = group->n_dims;
    int64_t most = 1;
    VEC_FOREACH (const PlanPass, pass, &group->passes) {
        const PlanRegion *r = &s->regions.at[pass->stages.at[0].v];
        int64_t points = 1;
        for (uint8_t d = (uint8_t)(n - 2); d < n; d++)
            points *= tessi_level_tile(group, d) + r->hi[d] - r->lo[d];
        most = points > most ? points : most;
    }
    most = (most + PLAN_WARP - 1) / PLAN_WARP * PLAN_WARP;
    return most > PLAN_MAX_BLOCK ? PLAN_MAX_BLOCK + 1 : (uint32_t)most;
}

/* Shared memory that a block may have on this machine. */
static int64_t most_shared(const Machine *m)
{
    return m->shared_bytes < PLAN_MAX_SHARED_BYTES ? m->shared_bytes : PLAN_MAX_SHARED_BYTES;
}

static int64_t shared_bytes_of(const Scheme *s, const PlanGroup *group)
{
    PlanExtent *extent = ARENA_NEW_ARRAY(s->f->arena, PlanExtent, group->passes.n + 1);
    tessi_plan_extents(group, &s->regions, extent);
    return tessi_plan_shared_bytes(s->f, group, extent);
}

static const char *fits_machine(const Scheme *s, const PlanGroup *group)
{
    const int64_t bytes = shared_bytes_of(s, group);
    return bytes > most_shared(s->m)
               ? tessi_sprintf(s->f->arena,
                               "a tile of %lld x %lld needs %lld bytes of shared memory, and a "
                               "block of this machine has %lld",
                               (long long)tessi_level_tile(group, group->n_dims - 2),
                               (long long)tessi_level_tile(group, group->n_dims - 1),
                               (long long)bytes, (long long)most_shared(s->m))
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
        const uint32_t threads = threads_of(s, group);
        tessi_level_set_threads(&group->levels, 0, (uint16_t)threads);
        const char *fault = tessi_plan_check_tiles(s->f, s->p, group, &s->regions);
        if (!fault)
            fault = fits_machine(s, group);
        if (threads <= PLAN_MAX_BLOCK && !fault)
            return NULL;
        if (rows == 1 && columns == 1)
            return fault ? fault : "a tile of one point needs more threads than a block has";
        *(columns > rows ? &columns : &rows) /= 2;
    }
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
    VEC_FOREACH (const PlanPass, p, &to->passes)
        VEC_PUSH(a, &fused.passes, *p);
    VEC_FOREACH (const StageId, member, &to->members)
        VEC_PUSH(a, &fused.members, *member);
    if (s->f->returned[id.v])
        VEC_PUSH(a, &fused.members, id);
    const Stage *result = tessi_stage(s->f->g, fused.members.at[0]);
    if (from->n_dims != to->n_dims || from->n_dims < (s->p->gpu ? 2 : 1) || from->passes.n
        || !tessi_stage_is_plain(s->f->g, tessi_stage(s->f->g, id))
        || !tessi_stage_is_plain(s->f->g, result)
        || (s->f->returned[id.v] && !tessi_stage_same_domain(tessi_stage(s->f->g, id), result)))
        return "it is not computed point by point with its reader";
    if (s->p->gpu) {
        tessi_plan_point_kernel(&fused);
        tessi_plan_set_kernel(&fused, KERNEL_TILE);
        tessi_level_set_threads(&fused.levels, 1, 1);
    }
    fused.split = SPLIT_INTERIOR;
    if (!s->f->returned[id.v])
        s->p->stage[id.v].placement = PLACE_SCRATCH;
    const char *fault = tessi_plan_regions(s->f, s->p, &fused, &s->regions);
    if (!fault)
        fault = s->p->gpu ? halve_block(s, &fused) : fill_cache(s, &fused);
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
        tessi_sprintf(a,
                      "tile %lld x %lld after %d halving%s of %d x %d: %lld bytes of shared memory "
                      "of %lld, %u threads of %d",
                      (long long)tessi_level_tile(group, y), (long long)tessi_level_tile(group, x),
                      halvings, halvings == 1 ? "" : "s", DEFAULT_SIDE, DEFAULT_SIDE,
                      (long long)shared_bytes_of(s, group), (long long)most_shared(s->m),
                      (unsigned)tessi_level_threads(&group->levels, 0), PLAN_MAX_BLOCK));
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

Plan *tessi_plan_overlapped(const PlanFacts *f, const Machine *m)
{
    Scheme s = { .f = f, .m = m, .p = tessi_plan_unfused(f, m) };
    PlanGroup *groups = s.p->groups.at;
    s.group_of = ARENA_NEW_ARRAY(f->arena, uint32_t, f->g->stages.n);
    s.gone = ARENA_NEW_ARRAY(f->arena, bool, s.p->groups.n);
    s.readers = tessi_plan_readers(f, s.p);
    for (uint32_t i = 0; i < s.p->groups.n; i++)
        s.group_of[groups[i].members.at[0].v] = i + 1;
    for (uint32_t h = s.p->groups.n; h-- > 0;) { /* readers before what they read */
        const uint32_t into = tessi_plan_only_reader(s.readers, s.group_of, groups, h);
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
    for (uint32_t i = 0; i < kept; i++)
        if (s.p->gpu && groups[i].passes.n)
            explain_block(&s, &groups[i]);
    tessi_plan_order(s.p, f);
    return s.p;
}
