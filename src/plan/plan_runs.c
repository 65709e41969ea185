/* Values that run along rows, and then down the columns of what comes of that, as integral images do: CPUs compute both
 * in one sweep. The stage of the rows is a pass of the group of the columns; it lives in scratch, of which no more than
 * the points in hand are there. */
#include "plan/plan_passes.h"

/* What `reader` and the stages inlined into it read of each other, and of `rows`, is at the point itself. */
static bool reads_at_point(const PlanFacts *f, const Plan *p, StageId reader, StageId rows)
{
    StageList seen = { 0 };
    bool good = true, found = false;
    VEC_PUSH(f->arena, &seen, reader);
    for (uint32_t i = 0; i < seen.n && good; i++) {
        VEC_FOREACH (const PlanRead, r, &f->reads[seen.at[i].v]) {
            const bool inlined = tessi_plan_is_inline(p, r->producer);
            if (!inlined && r->producer.v != rows.v)
                continue;
            good = good && r->same_point;
            found = found || !inlined;
            bool known = !inlined;
            VEC_FOREACH (const StageId, s, &seen)
                known = known || s->v == r->producer.v;
            if (!known)
                VEC_PUSH(f->arena, &seen, r->producer);
        }
    }
    return good && found;
}

static bool runs_by_reduction(const Stage *s)
{
    return s->kind == STAGE_SCAN && !s->n_states && s->n_dims > 1;
}

/* Why not; NULL: they can. */
static const char *fault_of(const PlanFacts *f, const Plan *p, StageId columns, StageId rows)
{
    const Stage *c = tessi_stage(f->g, columns), *r = tessi_stage(f->g, rows);
    if (p->gpu)
        return "values run along rows and columns in one sweep on CPUs";
    if (!runs_by_reduction(c) || c->along == c->n_dims)
        return "values run across the rows that run in a pass";
    if (!runs_by_reduction(r) || r->along != r->n_dims || r->reverse || r->type == TYPE_F16)
        return "its one pass is of values that run along rows, from the first point on";
    if (!tessi_stage_same_domain(c, r) || !reads_at_point(f, p, columns, rows))
        return "what runs along the rows is read at the point itself, and elsewhere nowhere";
    return NULL;
}

const char *tessi_plan_check_runs(const PlanFacts *f, const Plan *p, const PlanGroup *group)
{
    if (!runs_by_reduction(tessi_stage(f->g, group->members.at[0])))
        return tessi_sprintf(f->arena, "group '%s' has passes, and no tiles", group->name);
    const bool one =
        group->members.n == 1 && group->passes.n == 1 && group->passes.at[0].stages.n == 1;
    const char *fault =
        !one ? "values that run across rows have one pass of one stage"
             : fault_of(f, p, group->members.at[0], group->passes.at[0].stages.at[0]);
    return fault ? tessi_plan_fault(f->arena, group, "%s", fault) : NULL;
}

static uint32_t group_of(const Plan *p, StageId id)
{
    for (uint32_t i = 0; i < p->groups.n; i++)
        VEC_FOREACH (const StageId, s, &p->groups.at[i].members)
            if (s->v == id.v)
                return i;
    return UINT32_MAX;
}

bool tessi_plan_join_runs(const PlanFacts *f, Plan *p, uint32_t into, StageId rows)
{
    PlanGroup *group = &p->groups.at[into];
    const uint32_t from = group_of(p, rows);
    if (group->members.n != 1 || group->passes.n || from == UINT32_MAX || from == into
        || p->groups.at[from].members.n != 1 || f->returned[rows.v]
        || !tessi_plan_same_part(f, group->members.at[0], rows)
        || fault_of(f, p, group->members.at[0], rows))
        return false;
    tessi_plan_insert_pass(f->arena, group, 0, rows);
    p->stage[rows.v].placement = PLACE_SCRATCH;
    p->stage[rows.v].reason = "a row runs along, and at once on from the row above";
    for (uint32_t i = from; i + 1 < p->groups.n; i++)
        p->groups.at[i] = p->groups.at[i + 1];
    p->groups.n--;
    return true;
}

void tessi_plan_find_runs(const PlanFacts *f, Plan *p)
{
    const StageList *readers = tessi_plan_readers(f, p);
    for (uint32_t i = 0; i < p->groups.n; i++) {
        const StageId columns = p->groups.at[i].members.at[0];
        StageList stored = { 0 };
        if (!runs_by_reduction(tessi_stage(f->g, columns)))
            continue;
        tessi_plan_stored_reads(f, p, columns, &stored);
        VEC_FOREACH (const StageId, rows, &stored) {
            const StageList *all = &readers[rows->v];
            if (all->n == 1 && all->at[0].v == columns.v && tessi_plan_join_runs(f, p, i, *rows)) {
                i = UINT32_MAX; /* groups have moved */
                break;
            }
        }
    }
}
