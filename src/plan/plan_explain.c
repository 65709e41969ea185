/* What the model expects of each group of a chosen plan for CPUs, as reasons: bytes, operations, what is computed
 * more than once, time and what bounds it; and for decisions that no search made, what the alternative would cost.
 * One fact a line, the same for all groups. */
#include "plan/needs.h"

typedef struct Explainer {
    const PlanFacts *f;
    const Analysis *an;
    const Machine *m;
    Plan *p;
    PlanRegions regions;
} Explainer;

typedef struct Prediction {
    PlanTraffic traffic;
    double operations;      /* of a point; 0 = not counted */
    double inlined;         /* operations, over those if each stage were computed once a point */
    double overlap;         /* the same for overlaps of tiles */
    double compute, memory; /* seconds of a point */
    double seconds;
} Prediction;

static bool has_windows(const PlanFacts *f, const StageList *stages)
{
    bool any = false;
    VEC_FOREACH (const StageId, s, stages)
        any = any || f->has_window[s->v];
    return any;
}

/* The loops of a group or of one of its passes: rows at once, and rows that a vector of columns goes down. */
typedef struct Steps {
    uint8_t rows;
    uint16_t band;
} Steps;

/* Stages computed together in such steps, vectors side by side where they have windows. */
static RowCost cost_of(const Explainer *c, const Machine *m, const PlanGroup *group,
                       const StageList *stages, Steps steps)
{
    const bool windows = has_windows(c->f, stages);
    const int64_t most = tessi_level_roll(&group->levels) ? tessi_level_roll(&group->levels)
                         : steps.band && tessi_level_tile(group, 0)
                             ? tessi_level_tile(group, group->n_dims - 2)
                             : steps.band;
    if (steps.band)
        return tessi_plan_cost_of_carrying(c->f, c->an, m, c->p, stages, steps.rows,
                                           (uint32_t)(most < steps.band ? most : steps.band));
    RowCost cost = tessi_plan_cost_of_rows(c->f, c->an, m, c->p, stages, windows ? 1 : steps.rows);
    if (windows && steps.rows > 1)
        cost.seconds -= tessi_plan_shared_seconds(c->f, m, stages);
    return cost;
}

static void predict_tile(Explainer *c, const Machine *m, const PlanGroup *group,
                         const RowCost *members, Prediction *x)
{
    RowCost *cost = ARENA_NEW_ARRAY(c->f->arena, RowCost, group->passes.n);
    double operations = members->operations, once = members->once;
    for (uint32_t i = 0; i < group->passes.n; i++) {
        const PlanPass *pass = &group->passes.at[i];
        cost[i] =
            cost_of(c, m, group, &pass->stages,
                    (Steps){ tessi_level_rows(&pass->levels), tessi_level_band(&pass->levels) });
        operations += cost[i].operations;
        once += cost[i].once;
    }
    tessi_plan_regions(c->f, c->p, group, &c->regions);
    const PlanTile tile =
        tessi_plan_cost_of_tile(c->f, m, group, &c->regions, cost, members, x->traffic.images,
                                tessi_level_tile_all(group).of, tessi_level_roll(&group->levels));
    x->compute = tile.seconds;
    x->overlap = tile.overlap;
    x->operations = operations * tile.overlap;
    x->inlined = once > 0 ? operations / once : 1;
}

static Prediction predict(Explainer *c, const Machine *m, const PlanGroup *group)
{
    Prediction x = { .traffic = tessi_plan_traffic(c->f, c->p, group), .inlined = 1, .overlap = 1 };
    x.memory = tessi_plan_traffic_seconds(m, &x.traffic);
    StageList list = { 0 };
    tessi_plan_own_members(c->f->arena, group, &list);
    if (group->strip) {
        x.compute = group->transform ? tessi_plan_transform_seconds(c->f, m, group)
                                     : tessi_plan_median_seconds(c->f, m, group);
    } else {
        RowCost cost =
            cost_of(c, m, group, &list,
                    (Steps){ tessi_level_rows(&group->levels), tessi_level_band(&group->levels) });
        cost.seconds +=
            2.0 * (group->members.n - list.n) * tessi_plan_load_seconds(m, TYPE_F32); /* copied */
        x.operations = cost.operations;
        x.inlined = cost.once > 0 ? cost.operations / cost.once : 1;
        x.compute = cost.seconds;
        if (tessi_level_tile(group, 0))
            predict_tile(c, m, group, &cost, &x);
        else
            x.compute += tessi_plan_reread_seconds(c->f, m, &list, tessi_level_rows(&group->levels),
                                                   INT32_MAX);
    }
    x.seconds = tessi_plan_together(m, x.compute, x.memory);
    return x;
}

/* ---- Lines ----------------------------------------------------------------------------------- */

static void say(const Explainer *c, PlanGroup *group, const char *line)
{
    tessi_plan_add_reason(c->f->arena, &group->reason, line);
}

static void say_what_it_takes(const Explainer *c, PlanGroup *group, const Prediction *x)
{
    Arena *a = c->f->arena;
    Text t;
    tessi_text_init(&t, a);
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

static void say_what_is_repeated(const Explainer *c, PlanGroup *group, const Prediction *x)
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
static void say_split(const Explainer *c, PlanGroup *group, const Prediction *x)
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

static void say_stream(const Explainer *c, PlanGroup *group, const Prediction *x)
{
    const Machine *m = c->m;
    if (!group->stream)
        return;
    say(c, group,
        tessi_sprintf(c->f->arena,
                      "results go past the caches from %lld KiB on: %lld ps of memory, "
                      "%lld ps through them",
                      (long long)(m->l3_bytes / 2 / 1024),
                      tessi_plan_ps(x->memory * m->memory_gbs / m->memory_stream_gbs),
                      tessi_plan_ps(x->memory)));
}

/* Why so many rows at once; of those that go down a band the stages that are carried say it. */
static const char *rows_reason(const Explainer *c, const StageList *stages, Steps steps,
                               uint8_t columns)
{
    return steps.band
               ? NULL
               : tessi_plan_rows_reason(c->f, c->an, c->m, c->p, stages, steps.rows, columns);
}

static void say_rows(const Explainer *c, PlanGroup *group)
{
    VEC_FOREACH (const PlanPass, pass, &group->passes) {
        const char *why =
            rows_reason(c, &pass->stages,
                        (Steps){ tessi_level_rows(&pass->levels), tessi_level_band(&pass->levels) },
                        tessi_level_columns(&group->levels));
        if (why)
            tessi_plan_add_reason(c->f->arena, &c->p->stage[pass->stages.at[0].v].reason, why);
    }
    StageList list = { 0 };
    tessi_plan_own_members(c->f->arena, group, &list);
    const char *why = rows_reason(
        c, &list, (Steps){ tessi_level_rows(&group->levels), tessi_level_band(&group->levels) },
        tessi_level_columns(&group->levels));
    if (why)
        say(c, group, why);
}

void tessi_plan_explain(const PlanFacts *f, const Analysis *an, const Machine *m, Plan *p)
{
    Explainer c = { .f = f, .an = an, .m = m, .p = p };
    Machine narrow = *m;
    narrow.vector_bytes /= 2;
    double all = 0, narrower = 0;
    VEC_FOREACH (PlanGroup, group, &p->groups) {
        if (!group->n_dims)
            continue;
        const Prediction x = predict(&c, m, group);
        say_rows(&c, group);
        say_what_it_takes(&c, group, &x);
        say_what_is_repeated(&c, group, &x);
        say_split(&c, group, &x);
        say_stream(&c, group, &x);
        all += x.seconds;
        narrower += predict(&c, &narrow, group).seconds;
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
