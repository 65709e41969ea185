/* Stages in registers. Loops that go down the rows a vector of columns at a time keep the values of such a stage
 * that the next step reads again, so that each row of it is computed once. Each column in which it is read is
 * carried by itself. */
#include "plan/needs.h"
#include "plan/plan_costs.h"

/* Where a stage is evaluated when the loops compute one row at row 0: in column `dx`, rows lo to hi. */
typedef struct Column {
    int64_t dx, lo, hi;
} Column;
typedef struct Uses {
    VEC(Column) at;
    StageId loose; /* reads it at no constant distance */
} Uses;

static void add_column(Arena *a, Uses *to, Column c)
{
    VEC_FOREACH (Column, known, &to->at) {
        if (known->dx != c.dx)
            continue;
        known->lo = c.lo < known->lo ? c.lo : known->lo;
        known->hi = c.hi > known->hi ? c.hi : known->hi;
        return;
    }
    VEC_PUSH(a, &to->at, c);
}

/* What one read of `reader` adds. Rows of a stage in registers are computed once, when they are the last of those in
 * use. */
static void spread(const PlanFacts *f, const Plan *p, StageId reader, const PlanRead *r,
                   const Uses *from, Uses *to)
{
    Offset o;
    const bool carried = p->stage[reader.v].placement == PLACE_REGISTERS;
    const bool same_plane =
        tessi_stage(f->g, reader)->n_dims == tessi_stage(f->g, r->producer)->n_dims;
    if (from->loose.v || !same_plane || !tessi_plan_read_offset(f->g, r, &o)) {
        to->loose = from->loose.v ? from->loose : reader;
        return;
    }
    VEC_FOREACH (const Column, c, &from->at)
        add_column(f->arena, to,
                   (Column){ c->dx + o.dx, (carried ? c->hi : c->lo) + o.dy, c->hi + o.dy });
}

/* Of all stages that the loops need, parallel to needs->at. */
static Uses *uses_of(const PlanFacts *f, const Plan *p, const Needs *needs)
{
    Uses *uses = ARENA_NEW_ARRAY(f->arena, Uses, needs->at.n);
    for (uint32_t i = 0; i < needs->at.n; i++) {
        const Need *need = &needs->at.at[i];
        if (need->root)
            add_column(f->arena, &uses[i], (Column){ 0 });
        NEED_FOREACH (r, needs, need)
            if (tessi_plan_is_inline(p, r->read->producer))
                spread(f, p, need->stage, r->read, &uses[i], &uses[r->of]);
    }
    return uses;
}

bool tessi_plan_has_carries(const Plan *p)
{
    for (uint32_t v = 1; v < p->n_stages; v++)
        if (p->stage[v].placement == PLACE_REGISTERS)
            return true;
    return false;
}

const char *tessi_plan_carries(const PlanFacts *f, const Plan *p, const StageId *stage, uint32_t n,
                               PlanCarries *out)
{
    const Graph *g = f->g;
    Needs needs = { 0 };
    int64_t total = 0;
    out->n = 0;
    if (!tessi_plan_has_carries(p))
        return NULL;
    tessi_needs(f, f->arena, p, stage, n, &needs);
    const Uses *uses = uses_of(f, p, &needs);
    for (uint32_t i = needs.at.n; i-- > 0;) { /* what is read before its readers */
        const Uses *u = &uses[i];
        const StageId id = needs.at.at[i].stage;
        if (p->stage[id.v].placement != PLACE_REGISTERS)
            continue;
        if (u->loose.v)
            return tessi_sprintf(f->arena,
                                 "stage '%s' cannot be in registers: '%s' reads at no constant "
                                 "distance in its own plane",
                                 tessi_stage(g, id)->name, tessi_stage(g, u->loose)->name);
        VEC_FOREACH (const Column, c, &u->at) {
            if (c->lo < c->hi)
                VEC_PUSH(f->arena, out, ((PlanCarry){ id, c->dx, c->lo, c->hi }));
            total += c->hi - c->lo;
        }
        if (total > PLAN_MAX_CARRIED)
            return tessi_sprintf(f->arena,
                                 "stage '%s' cannot be in registers: more than %d values of a "
                                 "column would be carried",
                                 tessi_stage(g, id)->name, PLAN_MAX_CARRIED);
    }
    return NULL;
}

/* ---- Is it legal? ---------------------------------------------------------------------------- */

typedef struct Check {
    const PlanFacts *f;
    const Plan *p;
    const PlanGroup *group;
    bool *carried; /* by StageId: by some loops */
} Check;

/* Loops over these stages can go down vectors of columns. */
static bool can_carry(const Check *c, const StageList *stages)
{
    bool can = stages->n && !c->p->gpu && c->group->split == SPLIT_INTERIOR && !c->group->strip;
    VEC_FOREACH (const StageId, id, stages)
        can = can && tessi_plan_can_block_rows(c->f, *id);
    return can;
}

/* The loops that compute these stages, going down `band` rows. */
static const char *check_loops(Check *c, StageId *stage, uint32_t n, uint16_t band)
{
    const StageList stages = { stage, n, n };
    PlanCarries carries = { 0 };
    if (!band)
        return NULL;
    if (!can_carry(c, &stages))
        return tessi_plan_fault(c->f->arena, c->group,
                                "bands are for split loops of CPUs over whole stages of two "
                                "dimensions or more without windows");
    const char *fault = tessi_plan_carries(c->f, c->p, stage, n, &carries);
    if (!fault && !carries.n)
        fault = tessi_sprintf(c->f->arena,
                              "group '%s' has a band where no stage in registers is read again "
                              "further down",
                              c->group->name);
    VEC_FOREACH (const PlanCarry, carry, &carries)
        c->carried[carry->stage.v] = true;
    return fault;
}

static const char *check_group(Check *c)
{
    const PlanGroup *group = c->group;
    StageList computed = { 0 };
    const char *fault = NULL;
    VEC_FOREACH (const PlanPass, pass, &group->passes)
        if (!fault)
            fault =
                check_loops(c, pass->stages.at, pass->stages.n, tessi_level_band(&pass->levels));
    tessi_plan_own_members(c->f->arena, group, &computed);
    return fault ? fault
                 : check_loops(c, computed.at, computed.n, tessi_level_band(&group->levels));
}

const char *tessi_plan_check_carries(const PlanFacts *f, const Plan *p)
{
    Check c = { .f = f, .p = p, .carried = ARENA_NEW_ARRAY(f->arena, bool, f->g->stages.n) };
    const char *fault = NULL;
    VEC_FOREACH (const PlanGroup, group, &p->groups) {
        c.group = group;
        fault = fault ? fault : check_group(&c);
    }
    GRAPH_FOREACH_STAGE (f->g, id)
        if (!fault && p->stage[id.v].placement == PLACE_REGISTERS && !c.carried[id.v])
            fault = tessi_sprintf(f->arena,
                                  "stage '%s' is in registers, and no loops with a band read a "
                                  "row of it again further down",
                                  tessi_stage(f->g, id)->name);
    return fault;
}

/* ---- Choosing -------------------------------------------------------------------------------- */

enum {
    BAND_ROWS = 64,
    SEARCH_BUDGET =
        500000 /* stages looked at; of a graph too large for it only a part is asked about */
};

typedef struct Chooser {
    const PlanFacts *f;
    const Analysis *an;
    const Machine *m;
    Plan *p;
    int64_t left; /* of the budget */
} Chooser;

/* Loops of the plan that could have a band. */
typedef struct Loops {
    StageList stages;
    PlanLevels *levels;
    uint32_t down;     /* rows that there are to go down */
    double walk;       /* seconds of a point: lines of images that are not the next of their row */
    const char **told; /* where the reason goes */
} Loops;

/* Of the images in memory that the loops read, and write where they compute members. */
static double walk_seconds(const Chooser *c, const StageList *stages, bool members)
{
    StageList stored = { 0 };
    double bytes = 0;
    VEC_FOREACH (const StageId, id, stages) {
        tessi_plan_stored_reads(c->f, c->p, *id, &stored);
        VEC_FOREACH (const StageId, s, &stored) {
            const Stage *image = tessi_stage(c->f->g, *s);
            if (image->n_dims && !tessi_placement_is_scratch(c->p->stage[s->v].placement))
                bytes += tessi_type_info(image->type)->bytes;
        }
        bytes += members ? tessi_type_info(tessi_stage(c->f->g, *id)->type)->bytes : 0;
    }
    const double lines = bytes / (double)c->m->line_bytes;
    return lines * c->m->walk_cycles / (c->m->ghz * 1e9 * (double)c->m->cores);
}

static bool fits(Chooser *c, const Loops *loops)
{
    PlanCarries carries = { 0 };
    int64_t values = 0;
    c->left -= c->f->g->stages.n;
    if (c->left < 0 || tessi_plan_carries(c->f, c->p, loops->stages.at, loops->stages.n, &carries))
        return false;
    VEC_FOREACH (const PlanCarry, carry, &carries)
        values += carry->hi - carry->lo;
    return values && (double)values * c->m->carry_registers <= (double)c->m->vector_registers;
}

/* The inlined stages that the loops evaluate, what is read before its readers. */
static void find_inlined(const Chooser *c, const StageList *stages, StageList *out)
{
    Needs needs = { 0 };
    tessi_needs(c->f, c->f->arena, c->p, stages->at, stages->n, &needs);
    for (uint32_t i = needs.at.n; i-- > 0;)
        if (tessi_plan_is_inline(c->p, needs.at.at[i].stage))
            VEC_PUSH(c->f->arena, out, needs.at.at[i].stage);
}

/* The best number of rows of a step for the stages in registers as they are, and what a point costs. */
static double best_step(const Chooser *c, const Loops *loops, uint8_t *rows)
{
    static const uint8_t candidates[] = { 2, 4, 8 };
    double best = -1;
    for (size_t i = 0; i < sizeof candidates; i++) {
        const RowCost cost = tessi_plan_cost_of_carrying(c->f, c->an, c->m, c->p, &loops->stages,
                                                         candidates[i], loops->down);
        if (cost.nodes > PLAN_BLOCK_NODES || (best >= 0 && cost.seconds > c->m->rows_gain * best))
            break;
        best = cost.seconds;
        *rows = candidates[i];
    }
    return best < 0 ? best : best + loops->walk;
}

static const char *names_of(const Chooser *c, const StageList *list)
{
    Text t = tessi_text_new(c->f->arena);
    for (uint32_t i = 0; i < list->n; i++)
        tessi_text_addf(&t, "%s'%s'",
                        !i                ? ""
                        : i + 1 < list->n ? ", "
                                          : " and ",
                        tessi_stage(c->f->g, list->at[i])->name);
    return tessi_text_str(&t);
}

/* Stages are tried one after the other; those stay in registers that make a point cheaper. */
static void choose_for(Chooser *c, const Loops *loops)
{
    Arena *a = c->f->arena;
    const uint8_t rows_before = tessi_level_rows(loops->levels);
    const double again =
        tessi_plan_cost_of_repeating(c->f, c->an, c->m, c->p, &loops->stages, rows_before).seconds;
    double best = again + loops->walk;
    uint8_t rows = rows_before;
    StageList inlined = { 0 }, carried = { 0 };
    find_inlined(c, &loops->stages, &inlined);
    bool any = inlined.n && fits(c, loops); /* other loops carry what these read */
    if (any) {
        const double seconds = best_step(c, loops, &rows);
        any = seconds >= 0 && seconds < best;
        best = any ? seconds : best;
    }
    VEC_FOREACH (const StageId, id, &inlined) {
        PlanStage *at = &c->p->stage[id->v];
        if (at->placement != PLACE_INLINE)
            continue;
        at->placement = PLACE_REGISTERS;
        uint8_t step = 0;
        const double seconds = fits(c, loops) ? best_step(c, loops, &step) : -1;
        if (seconds < 0 || seconds >= best) {
            at->placement = PLACE_INLINE;
            continue;
        }
        best = seconds;
        rows = step;
        VEC_PUSH(a, &carried, *id);
    }
    if (!carried.n && !any)
        return;
    tessi_level_set_rows(loops->levels, rows);
    tessi_level_set_band(loops->levels, BAND_ROWS);
    if (best <= c->m->small_gain * again && !tessi_plan_verify_with(c->f, c->p)) {
        VEC_FOREACH (const StageId, id, &carried)
            tessi_plan_add_reason(
                a, &c->p->stage[id->v].reason,
                tessi_sprintf(a,
                              "carried down the rows by '%s': %lld ps a point there, %lld ps if "
                              "%d rows at once begin anew",
                              tessi_stage(c->f->g, loops->stages.at[0])->name, tessi_plan_ps(best),
                              tessi_plan_ps(again), rows_before));
        return;
    }
    tessi_level_set_rows(loops->levels, rows_before);
    tessi_level_set_band(loops->levels, 0);
    VEC_FOREACH (const StageId, id, &carried)
        c->p->stage[id->v].placement = PLACE_INLINE;
    if (!carried.n || best - loops->walk > c->m->small_gain * again)
        return;
    tessi_plan_add_reason(
        a, loops->told,
        tessi_sprintf(a,
                      "%s in registers, carried down the rows, would cost %lld ps a point, %lld "
                      "of them to go down images, not %lld ps",
                      names_of(c, &carried), tessi_plan_ps(best), tessi_plan_ps(loops->walk),
                      tessi_plan_ps(again)));
}

void tessi_plan_choose_carries(const PlanFacts *f, const Analysis *an, const Machine *m, Plan *p)
{
    Chooser c = { f, an, m, p, SEARCH_BUDGET };
    VEC_FOREACH (PlanGroup, group, &p->groups) {
        const Check check = { .f = f, .p = p, .group = group };
        const uint8_t row = (uint8_t)(group->n_dims - 2);
        if (group->n_dims < 2 || !tessi_level_vector(&group->levels))
            continue;
        for (uint32_t k = 0; k <= group->passes.n; k++) {
            const bool members = k == group->passes.n;
            PlanPass *pass = members ? NULL : &group->passes.at[k];
            Loops loops = { .levels = members ? &group->levels : &pass->levels,
                            .down = BAND_ROWS,
                            .told = &group->reason };
            if (members)
                tessi_plan_own_members(f->arena, group, &loops.stages);
            else
                loops.stages = pass->stages;
            if (!can_carry(&check, &loops.stages))
                continue;
            const int64_t most = tessi_level_roll(&group->levels) ? tessi_level_roll(&group->levels)
                                 : tessi_level_tile(group, 0)     ? tessi_level_tile(group, row)
                                                                  : BAND_ROWS;
            loops.down = most < BAND_ROWS ? (uint32_t)most : BAND_ROWS;
            loops.walk = walk_seconds(&c, &loops.stages, members);
            choose_for(&c, &loops);
        }
    }
}
