/* The planner: recompute a stage at its uses when the cost model says that costs less than a trip through memory,
 * and compute together what shares a domain and reads the same images. */
#include "plan/plan_costs.h"
#include "plan/plan_groups.h"
#include "plan/plan_passes.h"

typedef struct Chooser {
    const PlanFacts *f;
    const Analysis *an;
    const Machine *m;
    Plan *p;
    /* by StageId: computing one point, inlined stages included, all cores at work */
    double *seconds;
    double *taps;        /* by StageId: how often a point is read */
    OffsetSet *reads;    /* by StageId: from where */
    StageList *readers;  /* by StageId: each once */
    PlanCodeSize size;   /* of the code of one evaluation */
    bool *for_reduction; /* read by a reduction or histogram */
    bool *dynamic;       /* read by computed index */
    bool *same_point;    /* read at the point itself only */
    bool *scratch;       /* can live in scratch memory as far as its readers go */
    uint32_t *group_of;  /* by StageId: group + 1 */
} Chooser;

/* ---- Inlining -------------------------------------------------------------------------------- */

static double own_seconds(const Chooser *c, StageId id)
{
    const StageCost *cost = &c->an->cost[id.v];
    ScalarType t = tessi_stage(c->f->g, id)->type;
    double seconds =
        tessi_plan_op_seconds(c->m, cost, t) + cost->loads * tessi_plan_load_seconds(c->m, t);
    VEC_FOREACH (const PlanRead, r, &c->f->reads[id.v]) {
        const ScalarType of = tessi_stage(c->f->g, r->producer)->type;
        const NeedLoad how = tessi_need_load(c->f, id, r);
        if (how != NEED_DENSE && !tessi_plan_is_inline(c->p, r->producer))
            seconds +=
                r->times * r->passed * r->readers / r->skipped
                * (tessi_plan_found_seconds(c->m, of, how) - tessi_plan_load_seconds(c->m, of));
    }
    return seconds;
}

/* A read by a stage whose rows can be computed together is shared with other rows; any other is an evaluation of its
 * own. */
static void add_read(const Chooser *c, StageId consumer, const PlanRead *r, double times,
                     OffsetSet *set)
{
    Offset o;
    if (tessi_plan_can_block_rows(c->f, consumer) && tessi_plan_read_offset(c->f->g, r, &o))
        tessi_plan_add_offset(c->f->arena, set, o);
    else
        set->loose += times;
}

/* How many rows a group that recomputes the stage at these places can be expected to get; chosen when the groups are
 * known. */
static uint32_t supposed_rows(const Chooser *c, StageId id, const OffsetSet *set)
{
    uint32_t rows = PLAN_BLOCK_ROWS;
    while (rows > 1
           && tessi_plan_shared_evaluations(c->f->arena, set, rows) * rows
                      * (double)c->size.nodes[id.v]
                  > c->m->repeated_nodes)
        rows /= 2;
    return rows;
}

/* Evaluations of a producer that one point of the consumer causes. */
static double evaluations_by(const Chooser *c, StageId consumer, StageId producer)
{
    OffsetSet set = { 0 };
    VEC_FOREACH (const PlanRead, r, &c->f->reads[consumer.v])
        if (r->producer.v == producer.v)
            add_read(c, consumer, r, r->times, &set);
    return tessi_plan_shared_evaluations(c->f->arena, &set, supposed_rows(c, producer, &set));
}

static void find_uses(Chooser *c)
{
    const Graph *g = c->f->g;
    for (uint32_t v = 1; v < g->stages.n; v++)
        c->same_point[v] = c->scratch[v] = true;
    GRAPH_FOREACH_STAGE (g, id) {
        bool reduces = tessi_stage_is_whole(tessi_stage(g, id));
        VEC_FOREACH (const PlanRead, r, &c->f->reads[id.v]) {
            uint32_t p = r->producer.v;
            c->taps[p] += r->times / r->skipped;
            if (!c->readers[p].n || c->readers[p].at[c->readers[p].n - 1].v != id.v)
                VEC_PUSH(c->f->arena, &c->readers[p], id);
            add_read(c, id, r, r->times * r->readers / r->skipped, &c->reads[p]);
            c->for_reduction[p] = c->for_reduction[p] || reduces;
            c->dynamic[p] = c->dynamic[p] || r->dynamic;
            c->same_point[p] = c->same_point[p] && r->same_point;
            c->scratch[p] = c->scratch[p] && tessi_plan_read_at_distance(g, r);
        }
    }
}

/* What repeating a stage costs its readers a point, beyond computing it once. They may need what it is computed from
 * anyway: this looks at all of them together. */
static double cost_of_repeating(const Chooser *c, StageId id)
{
    const int most_nodes = (int)c->m->repeated_nodes;
    StageList self = { 0 };
    RowCost repeated, shared, once;
    PlanStage *at = &c->p->stage[id.v];
    VEC_PUSH(c->f->arena, &self, id);
    at->placement = PLACE_INLINE;
    tessi_plan_best_rows(c->f, c->an, c->m, c->p, &c->readers[id.v], most_nodes, &repeated);
    at->placement = PLACE_MEMORY;
    tessi_plan_best_rows(c->f, c->an, c->m, c->p, &c->readers[id.v], most_nodes, &shared);
    tessi_plan_best_rows(c->f, c->an, c->m, c->p, &self, most_nodes, &once);
    return repeated.seconds - shared.seconds - once.seconds;
}

/* What repeating a stage is weighed by: seconds of a point of it. */
typedef struct Weighed {
    double again, trip; /* computing it again at its uses; writing and reading it */
    const char *where;  /* that would be done */
    const char *taps;   /* how often it is read, for reasons */
    bool small;         /* its code is */
} Weighed;

/* Computing a point of the stage, with what is inlined into it; whether something is. */
static bool count_seconds(Chooser *c, StageId id)
{
    StageId last = { 0 };
    bool inlined = false;
    c->seconds[id.v] = own_seconds(c, id);
    VEC_FOREACH (const PlanRead, r, &c->f->reads[id.v]) {
        if (!tessi_plan_is_inline(c->p, r->producer))
            continue;
        inlined = true;
        if (r->producer.v != last.v) /* reads of one producer stand together */
            c->seconds[id.v] += evaluations_by(c, id, r->producer) * c->seconds[r->producer.v];
        last = r->producer;
    }
    return inlined;
}

static Weighed weigh(Chooser *c, StageId id)
{
    Arena *a = c->f->arena;
    const Stage *s = tessi_stage(c->f->g, id);
    const bool computed_from_inlined = count_seconds(c, id);
    const uint32_t rows = supposed_rows(c, id, &c->reads[id.v]);
    const double evaluations = tessi_plan_shared_evaluations(a, &c->reads[id.v], rows);
    const bool scratch = s->n_dims && c->scratch[id.v] && tessi_stage_is_plain(c->f->g, s)
                         && !tessi_machine_is_gpu(c->m);
    Weighed x = { .again = evaluations > 1 ? (evaluations - 1) * c->seconds[id.v] : 0,
                  .trip = tessi_plan_trip_seconds(c->m, s->type),
                  .where = scratch ? "scratch memory" : "memory" };
    if (scratch) { /* written and read in a tile, some of it twice */
        x.trip = (1 + evaluations) * tessi_plan_load_seconds(c->m, s->type)
                 + c->m->tile_overlap * c->seconds[id.v];
        x.trip *= c->m->tile_burden;
    }
    if (scratch && x.again > x.trip && x.again < c->m->look_again * x.trip && computed_from_inlined)
        x.again = cost_of_repeating(c, id);
    const bool alone = c->f->pointwise[id.v] || c->same_point[id.v];
    x.small = (double)c->size.nodes[id.v] <= (alone ? c->m->pointwise_nodes : c->m->stencil_nodes);
    x.taps = tessi_sprintf(a, "%s times a point", tessi_plan_number(a, c->taps[id.v]));
    if (evaluations < c->taps[id.v])
        x.taps = tessi_sprintf(a, "%s, %s where %u rows share them", x.taps,
                               tessi_plan_number(a, evaluations), rows);
    return x;
}

/* It is nothing but a small image with two dimensions changed over. */
static bool is_turned(const Chooser *c, const Stage *s)
{
    const Expr *body = tessi_expr(c->f->g, s->pieces.at[0].body);
    if (body->kind != EXPR_LOAD || s->n_dims < 2)
        return false;
    int64_t size;
    for (uint8_t d = 0; d < s->n_dims; d++)
        if (!tessi_size_is_const(c->f->g, s->size[d], &size))
            return false;
    const AccessDim *last = &tessi_access(c->f->g, body->access)->dim[s->n_dims - 1];
    return !last->absolute && last->src >= 0 && last->src != s->n_dims - 1;
}

/* Why the stage has to be in memory, whatever it costs; NULL: it need not. */
static const char *must_be_stored(const Chooser *c, StageId id, const Weighed *x)
{
    const Stage *s = tessi_stage(c->f->g, id);
    if (c->f->returned[id.v])
        return "a result";
    if (s->kind != STAGE_COMPUTE)
        return "a reduction is computed once";
    if (!tessi_stage_is_plain(c->f->g, s))
        return "made of parts, which are written one over the other";
    if (s->n_dims && c->dynamic[id.v])
        return "read at computed places";
    if (c->for_reduction[id.v] && !c->f->unruled[id.v])
        return "reductions read their source from memory where border rules answer for it";
    if (is_turned(c, s))
        return "turned, so that its readers find neighbours side by side";
    if (c->f->has_window[id.v])
        return "has a window loop, which runs over strips of points of its own stage";
    if (!x->small)
        return tessi_sprintf(c->f->arena, "read %s and too large to repeat (%lld nodes)", x->taps,
                             (long long)c->size.nodes[id.v]);
    return c->size.depth[id.v] >= PLAN_MAX_INLINE_DEPTH ? tessi_plan_too_deep(c->f->arena) : NULL;
}

static void place(Chooser *c, StageId id)
{
    Arena *a = c->f->arena;
    PlanStage *at = &c->p->stage[id.v];
    tessi_plan_size_stage(c->f, c->p, id, &c->size);
    const Weighed x = weigh(c, id);
    const bool image = tessi_stage(c->f->g, id)->n_dims > 0;
    at->reason = must_be_stored(c, id, &x);
    if (at->reason)
        return;
    if (image && x.again > x.trip) {
        at->reason = tessi_sprintf(a,
                                   "read %s: computing it again would cost %lld ps a point, the "
                                   "trip through %s %lld ps",
                                   x.taps, tessi_plan_ps(x.again), x.where, tessi_plan_ps(x.trip));
        return;
    }
    at->placement = PLACE_INLINE;
    at->reason = "a single number, computed where it is used";
    if (image)
        at->reason = tessi_sprintf(a,
                                   "read %s: computing it again costs %lld ps a point, a trip "
                                   "through %s would cost %lld ps",
                                   x.taps, tessi_plan_ps(x.again), x.where, tessi_plan_ps(x.trip));
}

/* ---- Grouping -------------------------------------------------------------------------------- */

static void add_to_groups(Chooser *c, StageId id)
{
    enum { LOOK_BACK = 24 };
    const Grouping g = { c->f, c->p, &c->size, c->group_of, LOOK_BACK, (int)c->m->loop_nodes };
    PlanGroup alone = { .reason = "" };
    tessi_plan_choose_transform(c->f, c->m, id, &alone);
    tessi_plan_choose_median(c->f, c->an, c->m, id, &alone);
    tessi_plan_add_stage(&g, id, &alone);
}

/* Values are counted, or run, or are reduced, along lines that stand side by side, all in one row of strips. */
static bool has_shares(const Chooser *c, const Stage *s)
{
    if (s->kind == STAGE_HISTOGRAM)
        return true;
    if (s->kind == STAGE_SCAN)
        return s->along < s->n_dims;
    return s->kind == STAGE_REDUCE && s->along == 1 && tessi_stage(c->f->g, s->source)->n_dims == 2;
}

/* Such strips are as wide as they can be where each core has as many; parts of what is counted are as many as cores. */
static void choose_shares(const Chooser *c)
{
    VEC_FOREACH (PlanGroup, group, &c->p->groups) {
        const Stage *s = tessi_stage(c->f->g, group->members.at[0]);
        const int64_t cores = tessi_level_parallel(&group->levels) ? c->m->cores : 1;
        group->shares = (uint16_t)(!has_shares(c, s) || cores < 2 ? 0
                                   : cores < PLAN_MAX_SHARES      ? cores
                                                                  : PLAN_MAX_SHARES);
    }
}

static Plan *choose(Arena *a, const Graph *g, const Analysis *an, const Machine *m)
{
    PlanFacts *f = tessi_plan_facts(a, g);
    uint32_t n = g->stages.n;
    Chooser c = { .f = f, .an = an, .m = m, .p = tessi_plan_empty(f, m->name) };
    c.seconds = ARENA_NEW_ARRAY(a, double, n);
    c.taps = ARENA_NEW_ARRAY(a, double, n);
    c.reads = ARENA_NEW_ARRAY(a, OffsetSet, n);
    c.readers = ARENA_NEW_ARRAY(a, StageList, n);
    tessi_plan_code_size(f, c.p, &c.size);
    c.for_reduction = ARENA_NEW_ARRAY(a, bool, n);
    c.dynamic = ARENA_NEW_ARRAY(a, bool, n);
    c.same_point = ARENA_NEW_ARRAY(a, bool, n);
    c.scratch = ARENA_NEW_ARRAY(a, bool, n);
    c.group_of = ARENA_NEW_ARRAY(a, uint32_t, n);
    find_uses(&c);
    GRAPH_FOREACH_STAGE (g, id)
        if (tessi_plan_computes(f, id))
            place(&c, id);
    tessi_plan_limit_code(f, c.p);
    tessi_plan_code_size(f, c.p, &c.size);
    tessi_plan_limit_rows(f, c.p, &c.size);
    GRAPH_FOREACH_STAGE (g, id)
        if (tessi_plan_computes(f, id) && c.p->stage[id.v].placement == PLACE_MEMORY)
            add_to_groups(&c, id);
    tessi_plan_fuse(f, an, m, c.p);
    tessi_plan_find_runs(f, c.p);
    tessi_plan_order(c.p, f);
    tessi_plan_choose_rows(f, an, m, c.p);
    tessi_plan_choose_carries(f, an, m, c.p);
    tessi_plan_choose_streams(f, m, c.p);
    choose_shares(&c);
    tessi_plan_explain(f, an, m, c.p);
    return c.p;
}

/* The bytes of the widest vectors that the rows of all stages fill, which may be known to be short; 0: any. Reductions
 * and scans go along rows of their source, however small their result. */
static uint8_t width_of_rows(const Graph *g, const Machine *m)
{
    int64_t width = 0;
    GRAPH_FOREACH_STAGE (g, id) {
        const Stage *s = tessi_stage(g, id);
        int64_t points;
        if (s->source.v)
            s = tessi_stage(g, s->source);
        else if (s->kind != STAGE_COMPUTE)
            continue;
        if (!s->n_dims)
            continue;
        if (!tessi_size_is_const(g, s->size[s->n_dims - 1], &points))
            return 0;
        const int64_t bytes = points * tessi_type_info(s->type)->bytes;
        width = bytes > width ? bytes : width;
    }
    int64_t fits = PLAN_LEAST_WIDTH;
    while (2 * fits <= width)
        fits *= 2;
    return width && fits < m->vector_bytes && fits < PLAN_MOST_WIDTH ? (uint8_t)fits : 0;
}

static Plan *choose_for_cpu(Arena *a, const Graph *g, const Analysis *an, const Machine *m)
{
    const uint8_t width = width_of_rows(g, m);
    Machine narrow = *m;
    if (width)
        narrow.vector_bytes = width;
    Plan *p = choose(a, g, an, &narrow);
    p->width = width;
    return p;
}

Plan *tessi_plan_choose(Arena *a, const Graph *g, const Analysis *an, const Machine *m,
                        PlanSize size)
{
    Arena *scratch = tessi_scratch_open(a);
    const Plan *p = tessi_machine_is_gpu(m) ? tessi_plan_choose_gpu(scratch, g, an, m, size)
                                            : choose_for_cpu(scratch, g, an, m);
    Plan *kept = tessi_plan_keep(a, p);
    tessi_scratch_close(scratch);
    return kept;
}
