/* What the model expects of each group of a chosen plan for CPUs, as reasons: bytes, operations, what is computed
 * more than once, time and what bounds it; and for decisions that no search made, what the alternative would cost.
 * One fact a line, the same for all groups. */
#include "plan/needs.h"
#include "plan/plan_costs.h"

typedef struct Explainer {
    const PlanFacts *f;
    const Analysis *an;
    const Machine *m;
    Plan *p;
} Explainer;

/* ---- Lines ----------------------------------------------------------------------------------- */

static void say(const Explainer *c, PlanGroup *group, const char *line)
{
    tessi_plan_add_reason(c->f->arena, &group->reason, line);
}

static void say_what_it_takes(const Explainer *c, PlanGroup *group, const GroupCost *x)
{
    Arena *a = c->f->arena;
    Text t = tessi_text_new(a);
    tessi_text_addf(&t, "%s B read and %s B written a point, %lld ps; ",
                    tessi_plan_number(a, x->traffic.read), tessi_plan_number(a, x->traffic.written),
                    tessi_plan_ps(x->memory));
    if (x->operations > 0)
        tessi_text_addf(&t, "%s operation%s", tessi_plan_number(a, x->operations),
                        x->operations == 1 ? "" : "s");
    else
        tessi_text_add(&t, "arithmetic");
    tessi_text_addf(&t, ", %lld ps; together %lld ps, bound by %s", tessi_plan_ps(x->compute),
                    tessi_plan_ps(x->seconds), x->compute > x->memory ? "arithmetic" : "memory");
    say(c, group, tessi_text_str(&t));
}

static void say_what_is_repeated(const Explainer *c, PlanGroup *group, const GroupCost *x)
{
    Arena *a = c->f->arena;
    const bool inlined = x->inlined > 1.005, overlap = x->overlap > 1.005;
    if (!inlined && !overlap)
        return;
    const char *where = inlined ? "inline" : "in overlaps of tiles";
    if (inlined && overlap)
        where = tessi_sprintf(a, "%s inline and %s in overlaps of tiles",
                              tessi_plan_number(a, x->inlined), tessi_plan_number(a, x->overlap));
    say(c, group,
        tessi_sprintf(a, "%s times the operations of computing each stage once, %s",
                      tessi_plan_number(a, x->inlined * x->overlap), where));
}

/* Coordinates of the reads of a point that rules may have to answer. */
static double ruled_reads(const Explainer *c, const PlanGroup *group)
{
    double n = 0;
    Needs needs = { 0 };
    tessi_needs_of_group(c->f, c->f->arena, c->p, group, &needs);
    VEC_FOREACH (const NeedRead, r, &needs.reads) {
        const AccessId id = r->read->access;
        const Access *access = id.v ? tessi_access(c->f->g, id) : NULL;
        for (uint8_t d = 0; access && d < access->n_dims; d++)
            n += access->dim[d].rule == BORDER_INSIDE ? 0 : r->read->times;
    }
    return n;
}

/* Rules answered everywhere: point by point, as their places do not lie side by side. */
static void say_split(const Explainer *c, PlanGroup *group, const GroupCost *x)
{
    const Machine *m = c->m;
    const double reads = ruled_reads(c, group), lanes = (double)m->vector_bytes / 4;
    if (group->split != SPLIT_INTERIOR || group->strip || reads <= 0)
        return;
    const double answers =
        m->rule_operations * reads / (m->simple_per_cycle * m->ghz * 1e9 * (double)m->cores);
    const double everywhere =
        x->compute * (lanes > 1 && tessi_level_vector(&group->levels) ? lanes : 1) + answers;
    say(c, group,
        tessi_sprintf(c->f->arena,
                      "inside no rule is answered: %lld ps of arithmetic, %lld ps with rules "
                      "everywhere, point by point",
                      tessi_plan_ps(x->compute), tessi_plan_ps(everywhere)));
}

static void say_stream(const Explainer *c, PlanGroup *group, const GroupCost *x)
{
    const Machine *m = c->m;
    if (!group->stream)
        return;
    say(c, group,
        tessi_sprintf(c->f->arena,
                      "results go past the caches from %lld KiB on: %lld ps of memory, "
                      "%lld ps through them",
                      (long long)(tessi_plan_stream_bytes(m) / 1024),
                      tessi_plan_ps(x->memory * m->memory_gbs / m->memory_stream_gbs),
                      tessi_plan_ps(x->memory)));
}

/* Why so many rows at once; of those that go down a band the stages that are carried say it. */
static const char *rows_reason(const Explainer *c, const StageList *stages,
                               const PlanLevels *levels, const PlanGroup *group)
{
    return tessi_level_band(levels)
               ? NULL
               : tessi_plan_rows_reason(c->f, c->an, c->m, c->p, stages, tessi_level_rows(levels),
                                        tessi_level_columns(&group->levels));
}

static void say_rows(const Explainer *c, PlanGroup *group)
{
    VEC_FOREACH (const PlanPass, pass, &group->passes) {
        const char *why = rows_reason(c, &pass->stages, &pass->levels, group);
        if (why)
            tessi_plan_add_reason(c->f->arena, &c->p->stage[pass->stages.at[0].v].reason, why);
    }
    StageList list = { 0 };
    tessi_plan_own_members(c->f->arena, group, &list);
    const char *why = rows_reason(c, &list, &group->levels, group);
    if (why)
        say(c, group, why);
}

void tessi_plan_explain(const PlanFacts *f, const Analysis *an, const Machine *m, Plan *p)
{
    const Explainer c = { f, an, m, p };
    Machine narrow = *m;
    narrow.vector_bytes /= 2;
    double all = 0, narrower = 0;
    VEC_FOREACH (PlanGroup, group, &p->groups) {
        if (!group->n_dims)
            continue;
        const GroupCost x = tessi_plan_group_cost(f, an, m, p, group);
        say_rows(&c, group);
        say_what_it_takes(&c, group, &x);
        say_what_is_repeated(&c, group, &x);
        say_split(&c, group, &x);
        say_stream(&c, group, &x);
        all += x.seconds;
        narrower += tessi_plan_group_cost(f, an, &narrow, p, group).seconds;
    }
    if (all > 0 && narrow.vector_bytes >= PLAN_LEAST_WIDTH)
        p->reason = tessi_sprintf(f->arena,
                                  "a point of all groups %lld ps in vectors of %lld bytes, %lld ps "
                                  "in vectors of %lld",
                                  tessi_plan_ps(all), (long long)m->vector_bytes,
                                  tessi_plan_ps(narrower), (long long)narrow.vector_bytes);
    if (f->most_rows < PLAN_BLOCK_ROWS)
        tessi_plan_add_reason(f->arena, &p->reason,
                              tessi_sprintf(f->arena,
                                            "no more than %d at once of the rows of a stage: the "
                                            "code of so many stages would be too much",
                                            f->most_rows));
}
