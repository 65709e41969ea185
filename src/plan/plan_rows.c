/* How many rows a group computes in one pass. Rows that are computed together share every place at which a stage is evaluated or an
 * image is read: three rows above one another, read by each of eight rows, are ten places and not twenty-four. The number of
 * distinct places is counted exactly; more rows always share more, until the code grows too large. */
#include "plan/plan_base.h"

enum { MAX_OFFSETS = 1024 };

bool tessi_plan_read_offset(const Graph *g, const PlanRead *r, Offset *out)
{
    if (!r->access.v || r->dynamic)
        return false;
    const Access *access = tessi_access(g, r->access);
    int64_t offset[2];
    if (access->n_dims != 2)
        return false;
    for (int d = 0; d < 2; d++) {
        const AccessDim *dim = &access->dim[d];
        if (dim->absolute || dim->src != d || dim->scale != 1 || dim->n_terms
            || !tessi_size_is_const(g, dim->add, &offset[d]))
            return false;
    }
    *out = (Offset){ offset[0], offset[1] };
    return true;
}

void tessi_plan_add_offset(Arena *a, OffsetSet *s, Offset o)
{
    VEC_FOREACH (const Offset, known, &s->at)
        if (known->dy == o.dy && known->dx == o.dx)
            return;
    if (s->at.n < MAX_OFFSETS)
        VEC_PUSH(a, &s->at, o);
    else
        s->loose += 1;
}

/* The set as seen from `rows` rows at once. */
static OffsetSet of_rows(Arena *a, const OffsetSet *s, uint32_t rows)
{
    OffsetSet all = { .loose = s->loose * rows };
    VEC_FOREACH (const Offset, o, &s->at)
        for (uint32_t r = 0; r < rows; r++)
            tessi_plan_add_offset(a, &all, (Offset){ o->dy + r, o->dx });
    return all;
}

double tessi_plan_shared_evaluations(Arena *a, const OffsetSet *s, uint32_t rows)
{
    OffsetSet all = of_rows(a, s, rows);
    return (all.at.n + all.loose) / rows;
}

/* ---- A group ------------------------------------------------------------------------------------------------------- */
typedef struct RowCost {
    double seconds; /* of one point */
    double nodes;   /* of the code of a block */
} RowCost;

/* What reading a producer at each place of `from` adds to the places of the producer. */
static void spread(Arena *a, const Graph *g, const PlanRead *r, const OffsetSet *from,
                   OffsetSet *to)
{
    Offset o;
    if (!tessi_plan_read_offset(g, r, &o)) {
        to->loose += (from->at.n + from->loose) * r->times;
        return;
    }
    to->loose += from->loose;
    VEC_FOREACH (const Offset, at, &from->at)
        tessi_plan_add_offset(a, to, (Offset){ at->dy + o.dy, at->dx + o.dx });
}

static RowCost cost_of_rows(const PlanFacts *f, const Analysis *an, const Machine *m, const Plan *p,
                            const PlanGroup *group, uint32_t rows)
{
    const Graph *g = f->g;
    RowCost cost = { 0 };
    OffsetSet *places = ARENA_NEW_ARRAY(f->arena, OffsetSet, g->stages.n);
    bool *is_member = ARENA_NEW_ARRAY(f->arena, bool, g->stages.n);
    VEC_FOREACH (const StageId, member, &group->members) {
        is_member[member->v] = true;
        for (uint32_t r = 0; r < rows; r++)
            tessi_plan_add_offset(f->arena, &places[member->v], (Offset){ r, 0 });
    }
    for (uint32_t v = g->stages.n; v-- > 1;) { /* readers before what they read */
        double n = places[v].at.n + places[v].loose;
        ScalarType t = tessi_stage(g, (StageId){ v })->type;
        if (n <= 0)
            continue;
        if (!is_member[v] && p->stage[v].placement != PLACE_INLINE) {
            cost.seconds += n * tessi_plan_load_seconds(m, t);
            cost.nodes += n;
            continue;
        }
        cost.seconds += n * tessi_plan_op_seconds(m, &an->cost[v], t);
        cost.nodes += n * (double)f->nodes[v];
        VEC_FOREACH (const PlanRead, r, &f->reads[v])
            spread(f->arena, g, r, &places[v], &places[r->producer.v]);
    }
    cost.seconds /= rows;
    return cost;
}

static bool can_block(const PlanFacts *f, const PlanGroup *group)
{
    bool can = group->split == SPLIT_INTERIOR && group->vector >= 0;
    VEC_FOREACH (const StageId, member, &group->members)
        can = can && tessi_plan_can_block_rows(f, *member);
    return can;
}

void tessi_plan_choose_rows(const PlanFacts *f, const Analysis *an, const Machine *m, Plan *p)
{
    static const uint8_t candidates[] = { 2, 4, 8 };
    VEC_FOREACH (PlanGroup, group, &p->groups) {
        if (!can_block(f, group))
            continue;
        const RowCost one = cost_of_rows(f, an, m, p, group, 1);
        RowCost best = one;
        for (size_t i = 0; i < sizeof candidates; i++) {
            RowCost cost = cost_of_rows(f, an, m, p, group, candidates[i]);
            if (cost.nodes > PLAN_BLOCK_NODES || cost.seconds > 0.98 * best.seconds)
                break;
            best = cost;
            group->rows = candidates[i];
        }
        if (group->rows == 1)
            continue;
        const char *why = tessi_sprintf(
            f->arena, "%d rows at once cost %lld ps a point, one at a time %lld ps", group->rows,
            (long long)(best.seconds * 1e12 + 0.5), (long long)(one.seconds * 1e12 + 0.5));
        group->reason =
            *group->reason ? tessi_sprintf(f->arena, "%s\n%s", group->reason, why) : why;
    }
}
