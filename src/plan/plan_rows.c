/* How many rows are computed in one pass. Rows that are computed together share every place at which a stage is
 * evaluated or an image is read: three rows above one another, read by each of eight rows, are ten places and not
 * twenty-four. The number of distinct places is counted exactly; more rows always share more, until the code grows
 * too large. */
#include "graph/graph_fold.h"
#include "plan/needs.h"
#include "plan/plan_costs.h"

enum { MAX_OFFSETS = 1024, NEAR = 32 /* rows and columns: half of the bits of a word */ };

bool tessi_plan_offset_at(const Graph *g, const Access *a, const int32_t *point, Offset *out)
{
    const uint8_t n = a->n_dims;
    int64_t offset[MAX_DIMS];
    if (n < 2 || !tessi_access_distances(g, a, point, offset))
        return false;
    for (int d = 0; d < n - 2; d++)
        if (offset[d])
            return false;
    *out = (Offset){ offset[n - 2], offset[n - 1] };
    return true;
}

bool tessi_plan_read_offset(const Graph *g, const PlanRead *r, Offset *out)
{
    return r->access.v && !r->dynamic
           && tessi_plan_offset_at(g, tessi_access(g, r->access), NULL, out);
}

static bool is_near(Offset o)
{
    return o.dy >= -NEAR && o.dy < NEAR && o.dx >= -NEAR && o.dx < NEAR;
}

/* Where the number of one that is not near stands, or would. */
static uint32_t *slot_of(const OffsetSet *s, Offset o)
{
    uint64_t at = tessi_hash_u64(tessi_hash_u64(0, (uint64_t)o.dy), (uint64_t)o.dx);
    for (;; at++) {
        uint32_t *slot = &s->slot[at & (s->n_slots - 1)];
        const Offset *known = *slot ? &s->at.at[*slot - 1] : NULL;
        if (!known || (known->dy == o.dy && known->dx == o.dx))
            return slot;
    }
}

/* At most half of the slots are taken. */
static void grow_slots(Arena *a, OffsetSet *s)
{
    s->n_slots = s->n_slots ? 2 * s->n_slots : 16;
    s->slot = ARENA_NEW_ARRAY(a, uint32_t, s->n_slots);
    for (uint32_t i = 0; i < s->at.n; i++)
        if (!is_near(s->at.at[i]))
            *slot_of(s, s->at.at[i]) = i + 1;
}

void tessi_plan_add_offset(Arena *a, OffsetSet *s, Offset o)
{
    const bool near = is_near(o);
    uint64_t *row = NULL, bit = 0;
    uint32_t *slot = NULL;
    if (near) {
        if (!s->near)
            s->near = ARENA_NEW_ARRAY(a, uint64_t, (size_t)2 * NEAR);
        row = &s->near[o.dy + NEAR];
        bit = (uint64_t)1 << (o.dx + NEAR);
    } else {
        if (2 * s->n_far >= s->n_slots)
            grow_slots(a, s);
        slot = slot_of(s, o);
    }
    if (near ? (*row & bit) != 0 : *slot != 0)
        return;
    if (s->at.n == MAX_OFFSETS) {
        s->loose += 1;
        return;
    }
    VEC_PUSH(a, &s->at, o);
    if (near) {
        *row |= bit;
    } else {
        *slot = s->at.n;
        s->n_far++;
    }
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

/* ---- Stages that share a loop ---------------------------------------------------------------- */

void tessi_plan_spread(Arena *a, const Graph *g, const PlanRead *r, const OffsetSet *from,
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

/* Of a stage in registers a step finds all rows but the last ones: it evaluates as many as it has itself. */
static OffsetSet last_rows(Arena *a, const OffsetSet *s, uint32_t rows)
{
    OffsetSet kept = { .loose = s->loose };
    VEC_FOREACH (const Offset, o, &s->at) {
        bool found = false;
        VEC_FOREACH (const Offset, other, &s->at)
            found = found || (other->dx == o->dx && other->dy - o->dy >= rows);
        if (!found)
            VEC_PUSH(a, &kept.at, *o);
    }
    return kept;
}

/* Vectors of a row that begin beside where they are stored reach into the next line of the cache, which is a second
 * load: always where they fill a line, and the more rarely the narrower they are. */
static double crossing_seconds(const Machine *m, const OffsetSet *s, ScalarType t)
{
    const double bytes = (double)m->vector_bytes / 4 * tessi_type_info(t)->bytes;
    const double often = bytes < (double)m->line_bytes ? bytes / (double)m->line_bytes : 1;
    double beside = 0;
    VEC_FOREACH (const Offset, o, &s->at)
        beside += o->dx != 0;
    return beside * often * tessi_plan_load_seconds(m, t);
}

/* What a point of a histogram, or of values that run, takes beside its operations. */
static double counted_seconds(const PlanFacts *f, const Machine *m, StageId id)
{
    const Stage *s = tessi_stage(f->g, id);
    const double cycle = 1 / (m->ghz * 1e9 * (double)m->cores);
    if (s->kind == STAGE_HISTOGRAM)
        return m->count_cycles * cycle;
    if (s->kind != STAGE_SCAN)
        return 0;
    const Stage *source = tessi_stage(f->g, s->source);
    const ScalarType runs = s->n_states ? s->type : tessi_running_type(s, source->type);
    if (s->along < source->n_dims)
        return m->run_loads * tessi_plan_load_seconds(m, runs);
    return m->run_cycles * cycle * (s->n_states ? 1 : tessi_type_info(runs)->bytes / 8.0);
}

static RowCost cost_of_rows(const PlanFacts *f, const Analysis *an, const Machine *m, const Plan *p,
                            const StageList *stages, uint32_t rows, bool carried)
{
    Arena *a = tessi_scratch_open(f->arena);
    RowCost cost = { 0 };
    Needs needs = { 0 };
    tessi_needs(f, a, p, stages->at, stages->n, &needs);
    OffsetSet *places = ARENA_NEW_ARRAY(a, OffsetSet, needs.at.n);
    for (uint32_t i = 0; i < needs.at.n; i++)
        for (uint32_t r = 0; needs.at.at[i].root && r < rows; r++)
            tessi_plan_add_offset(a, &places[i], (Offset){ r, 0 });
    for (uint32_t i = 0; i < needs.at.n; i++) {
        const Need *need = &needs.at.at[i];
        const uint32_t v = need->stage.v;
        if (carried && p->stage[v].placement == PLACE_REGISTERS)
            places[i] = last_rows(a, &places[i], rows);
        double n = places[i].at.n + places[i].loose;
        ScalarType t = tessi_stage(f->g, need->stage)->type;
        if (!need->computed) {
            const bool apart =
                need->load == NEED_CROSSED && rows > 1; /* not in blocks: pass_turn.c */
            cost.seconds += n * tessi_plan_found_seconds(m, t, need->load)
                            * (apart ? m->column_cycles / m->crossed_cycles : 1);
            if (need->load == NEED_DENSE)
                cost.crossing += crossing_seconds(m, &places[i], t);
            cost.nodes += n;
            continue;
        }
        cost.seconds += n * tessi_plan_op_seconds(m, &an->cost[v], t);
        if (need->root && tessi_need_is_apart(f, need->stage))
            cost.seconds += tessi_plan_found_seconds(m, t, NEED_STRIDED) * rows;
        cost.seconds += n * counted_seconds(f, m, need->stage);
        cost.operations += n * tessi_cost_operations(&an->cost[v]);
        cost.once += tessi_cost_operations(&an->cost[v]);
        cost.nodes += n * (double)f->nodes[v];
        NEED_FOREACH (r, &needs, need)
            tessi_plan_spread(a, f->g, r->read, &places[i], &places[r->of]);
    }
    cost.seconds /= rows;
    cost.crossing /= rows;
    cost.operations /= rows;
    tessi_scratch_close(a);
    return cost;
}

RowCost tessi_plan_cost_of_rows(const PlanFacts *f, const Analysis *an, const Machine *m,
                                const Plan *p, const StageList *stages, uint32_t rows)
{
    return cost_of_rows(f, an, m, p, stages, rows, false);
}

/* Seconds of a point that several rows at once hide from one another: what starts a step of a loop, and of the time
 * in which one operation waits for the one before as much as other steps do not fill (measured: separable masks of 5
 * to 17 points, one row to 8). */
static double exposed_seconds(const PlanFacts *f, const Analysis *an, const Machine *m,
                              const StageList *stages)
{
    double cycles = 0, lanes = (double)m->vector_bytes / 4;
    VEC_FOREACH (const StageId, s, stages) {
        bool shifts = !f->pointwise[s->v];
        VEC_FOREACH (const PlanRead, r, &f->reads[s->v]) {
            Offset o;
            shifts = shifts && (r->same_point || tessi_plan_read_offset(f->g, r, &o));
        }
        if (!shifts)
            continue;
        cycles += m->step_start_cycles;
        for (int k = 0; k < N_OP_CLASSES; k++)
            cycles += m->step_wait_cycles * an->cost[s->v].ops[k];
    }
    return cycles / (lanes < 1 ? 1 : lanes) / (m->ghz * 1e9 * (double)m->cores);
}

RowCost tessi_plan_cost_of_carrying(const PlanFacts *f, const Analysis *an, const Machine *m,
                                    const Plan *p, const StageList *stages, uint32_t rows,
                                    uint32_t down)
{
    const RowCost again = cost_of_rows(f, an, m, p, stages, rows, false);
    RowCost cost = cost_of_rows(f, an, m, p, stages, rows, true);
    const double start = (again.seconds - cost.seconds) * rows; /* the rows above the first */
    cost.seconds += start / down + exposed_seconds(f, an, m, stages) / rows;
    return cost;
}

RowCost tessi_plan_cost_of_repeating(const PlanFacts *f, const Analysis *an, const Machine *m,
                                     const Plan *p, const StageList *stages, uint32_t rows)
{
    RowCost cost = cost_of_rows(f, an, m, p, stages, rows, false);
    cost.seconds += exposed_seconds(f, an, m, stages) / rows;
    return cost;
}

uint8_t tessi_plan_best_rows(const PlanFacts *f, const Analysis *an, const Machine *m,
                             const Plan *p, const StageList *stages, int most_nodes, RowCost *best)
{
    static const uint8_t candidates[] = { 2, 4, 8 };
    uint8_t rows = 1;
    *best = tessi_plan_cost_of_rows(f, an, m, p, stages, 1);
    VEC_FOREACH (const StageId, s, stages)
        if (f->has_window[s->v]) {
            rows = most_nodes ? tessi_plan_window_rows(f, m, stages, NULL) : 1;
            best->seconds -= rows > 1 ? tessi_plan_shared_seconds(f, m, stages) : 0;
            return rows;
        }
    VEC_FOREACH (const StageId, s, stages)
        most_nodes = tessi_plan_can_block_rows(f, *s) ? most_nodes : 0;
    const double exposed = exposed_seconds(f, an, m, stages);
    double least = best->seconds + exposed;
    for (size_t i = 0; i < sizeof candidates && most_nodes && candidates[i] <= f->most_rows; i++) {
        RowCost cost = tessi_plan_cost_of_rows(f, an, m, p, stages, candidates[i]);
        double seconds = cost.seconds + exposed / candidates[i];
        if (cost.nodes > most_nodes || seconds > m->rows_gain * least)
            break;
        *best = cost;
        least = seconds;
        rows = candidates[i];
    }
    return rows;
}

/* Beside what the steps cost, what the cheaper of half the rows and half the vectors would. */
static const char *steps_reason(const PlanFacts *f, const Machine *m, const StageList *stages,
                                double alone, uint8_t rows, uint8_t columns)
{
    const double seconds = alone - tessi_plan_shared_by(f, m, stages, rows, columns);
    const uint8_t fewer[2][2] = { { rows / 2, columns }, { rows, columns / 2 } };
    double next = alone;
    uint8_t best = 2;
    for (uint8_t k = 0; k < 2; k++) {
        if (fewer[k][0] < 2 || !fewer[k][1])
            continue;
        const double other = alone - tessi_plan_shared_by(f, m, stages, fewer[k][0], fewer[k][1]);
        if (best == 2 || other < next) {
            best = k;
            next = other;
        }
    }
    Text t = tessi_text_new(f->arena);
    tessi_text_addf(&t,
                    "the sums of %d rows, %d vectors of each, stay in registers: %lld ps a point",
                    rows, columns, tessi_plan_ps(seconds));
    if (tessi_plan_ps(seconds)
        == tessi_plan_ps(
            alone)) /* they share no loads, and only fill the time in which sums wait */
        return tessi_text_str(&t);
    if (best < 2)
        tessi_text_addf(&t, ", of %d rows and %d vectors %lld ps", fewer[best][0], fewer[best][1],
                        tessi_plan_ps(next));
    tessi_text_addf(&t, ", one by one %lld ps", tessi_plan_ps(alone));
    return tessi_text_str(&t);
}

const char *tessi_plan_rows_reason(const PlanFacts *f, const Analysis *an, const Machine *m,
                                   const Plan *p, const StageList *stages, uint8_t rows,
                                   uint8_t columns)
{
    if (rows == 1 || !stages->n)
        return NULL;
    const RowCost one = tessi_plan_cost_of_rows(f, an, m, p, stages, 1);
    if (tessi_plan_window_rows(f, m, stages, NULL) > 1)
        return steps_reason(f, m, stages, one.seconds, rows, columns);
    const RowCost best = tessi_plan_cost_of_rows(f, an, m, p, stages, rows);
    if (best.seconds > m->rows_gain * one.seconds)
        return tessi_sprintf(
            f->arena, "%d rows at once share no reads but fill the time in which operations wait",
            rows);
    return tessi_sprintf(f->arena, "%d rows at once cost %lld ps a point, one at a time %lld ps",
                         rows, tessi_plan_ps(best.seconds), tessi_plan_ps(one.seconds));
}

void tessi_plan_choose_rows(const PlanFacts *f, const Analysis *an, const Machine *m, Plan *p)
{
    VEC_FOREACH (PlanGroup, group, &p->groups) {
        if (group->split != SPLIT_INTERIOR || !tessi_level_vector(&group->levels)
            || tessi_level_tile(group, 0) || group->strip)
            continue;
        StageList members = { group->members.at, group->members.n, group->members.n };
        RowCost best;
        tessi_level_set_rows(&group->levels,
                             tessi_plan_best_rows(f, an, m, p, &members, PLAN_BLOCK_NODES, &best));
        if (tessi_plan_in_pairs(f, p, &members)) {
            tessi_level_set_columns(&group->levels, 2);
            group->reason = tessi_sprintf(f->arena, "%s%seven and odd bytes side by side",
                                          group->reason, *group->reason ? "\n" : "");
        }
        if (tessi_level_rows(&group->levels) > 1)
            tessi_plan_window_columns(f, m, &members, &group->levels);
    }
}
