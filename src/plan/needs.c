/* What stages that are computed together need: one walk through what is inlined, and what is known of each stage on
 * the way. */
#include "plan/needs.h"
#include "plan/plan_costs.h"

#include <stdlib.h>

/* ---- What is reached ------------------------------------------------------------------------- */

/* Goes through the reads of the stages of the stack, which are marked, and of what is inlined into them. Every stage
 * that is read goes to `found` (NULL: nobody wants to know) once, and what is in memory to `stored`. */
static void walk(const PlanFacts *f, Arena *a, const Plan *p, StageList *stack, StageList *found,
                 StageList *stored)
{
    uint32_t *seen = f->mark, now = f->mark[0];
    while (stack->n) {
        const StageId at = stack->at[--stack->n];
        VEC_FOREACH (const PlanRead, r, &f->reads[at.v]) {
            if (seen[r->producer.v] == now)
                continue;
            seen[r->producer.v] = now;
            if (found)
                VEC_PUSH(a, found, r->producer);
            VEC_PUSH(a, tessi_plan_is_inline(p, r->producer) ? stack : stored, r->producer);
        }
    }
}

void tessi_plan_stored_reads(const PlanFacts *f, const Plan *p, StageId s, StageList *out)
{
    StageList stack = { 0 };
    out->n = 0;
    ++f->mark[0];
    VEC_PUSH(f->arena, &stack, s);
    walk(f, f->arena, p, &stack, NULL, out);
}

static int readers_first(const void *a, const void *b)
{
    const uint32_t x = ((const Need *)a)->stage.v, y = ((const Need *)b)->stage.v;
    return (x < y) - (x > y);
}

bool tessi_need_is_small(const Graph *g, const Stage *s)
{
    enum { SMALL = 1 << 16 };
    int64_t bytes = tessi_type_info(s->type)->bytes, n;
    for (uint8_t d = 0; d < s->n_dims; d++)
        if (!tessi_size_is_const(g, s->size[d], &n) || !tessi_mul_i64(bytes, n, &bytes)
            || bytes > SMALL)
            return false;
    return true;
}

bool tessi_need_is_apart(const PlanFacts *f, StageId id)
{
    return f->pixel[id.v] != tessi_type_info(tessi_stage(f->g, id)->type)->bytes;
}

NeedLoad tessi_need_load(const PlanFacts *f, StageId reader, const PlanRead *r)
{
    const Graph *g = f->g;
    const Access *a = r->access.v ? tessi_access(g, r->access) : NULL;
    const int8_t row = (int8_t)(tessi_stage(g, reader)->n_dims - 1);
    if (r->dynamic)
        return NEED_GATHERED;
    NeedLoad load = NEED_DENSE;
    for (int d = 0; a && d < a->n_dims; d++) {
        const AccessDim *dim = &a->dim[d];
        if (dim->src != row)
            continue;
        if (d < a->n_dims - 1)
            return tessi_need_is_small(g, tessi_stage(g, r->producer)) ? NEED_GATHERED
                                                                       : NEED_CROSSED;
        load = dim->scale == 1 ? NEED_DENSE : NEED_STRIDED;
    }
    return load == NEED_DENSE && tessi_need_is_apart(f, r->producer) ? NEED_STRIDED : load;
}

double tessi_plan_found_seconds(const Machine *m, ScalarType t, NeedLoad how)
{
    const double dense = tessi_plan_load_seconds(m, t);
    const double cycle = 1 / (m->ghz * 1e9 * (double)m->cores);
    switch (how) {
    case NEED_DENSE: return dense;
    case NEED_STRIDED: return m->strided_loads * dense;
    case NEED_GATHERED: return m->gather_cycles * cycle;
    case NEED_CROSSED: return m->crossed_cycles * cycle;
    }
    return dense;
}

/* Puts them in order, and lists what they read by where it stands. */
static void link_reads(const PlanFacts *f, Arena *a, Needs *out)
{
    qsort(out->at.at, out->at.n, sizeof *out->at.at, readers_first);
    for (uint32_t i = 0; i < out->at.n; i++)
        f->slot[out->at.at[i].stage.v] = i;
    VEC_FOREACH (Need, need, &out->at) {
        need->first = out->reads.n;
        if (!need->computed)
            continue;
        need->passed = need->root ? 1 : need->passed;
        VEC_FOREACH (const PlanRead, r, &f->reads[need->stage.v]) {
            Need *of = &out->at.at[f->slot[r->producer.v]];
            const NeedLoad load = tessi_need_load(f, need->stage, r);
            const NeedLoad worst = load > need->load ? load : need->load;
            const double passed = need->passed * r->passed;
            VEC_PUSH(a, &out->reads, ((NeedRead){ f->slot[r->producer.v], r }));
            of->load = worst > of->load ? worst : of->load;
            of->passed = passed > of->passed ? passed : of->passed;
        }
        need->n = out->reads.n - need->first;
    }
}

void tessi_needs(const PlanFacts *f, Arena *a, const Plan *p, const StageId *stage, uint32_t n,
                 Needs *out)
{
    StageList stack = { 0 }, found = { 0 };
    out->at.n = out->reads.n = out->stored.n = 0;
    const uint32_t now = ++f->mark[0];
    for (uint32_t i = 0; i < n; i++) {
        if (f->mark[stage[i].v] == now) /* a stage of a pass that is a member too */
            continue;
        f->mark[stage[i].v] = now;
        VEC_PUSH(a, &out->at, ((Need){ stage[i], .root = true, .computed = true }));
    }
    for (uint32_t i = out->at.n; i-- > 0;) /* the first is gone through first */
        VEC_PUSH(a, &stack, out->at.at[i].stage);
    walk(f, a, p, &stack, &found, &out->stored);
    VEC_FOREACH (const StageId, id, &found)
        VEC_PUSH(a, &out->at, ((Need){ *id, .computed = tessi_plan_is_inline(p, *id) }));
    link_reads(f, a, out);
}

void tessi_needs_of_group(const PlanFacts *f, Arena *a, const Plan *p, const PlanGroup *group,
                          Needs *out)
{
    StageList all = { 0 };
    tessi_plan_group_stages(f, group, &all);
    tessi_needs(f, a, p, all.at, all.n, out);
}

StageList *tessi_plan_readers(const PlanFacts *f, const Plan *p)
{
    StageList *readers = ARENA_NEW_ARRAY(f->arena, StageList, f->g->stages.n), stored = { 0 };
    GRAPH_FOREACH_STAGE (f->g, id) {
        if (!tessi_plan_computes(f, id) || tessi_plan_is_inline(p, id))
            continue;
        tessi_plan_stored_reads(f, p, id, &stored);
        VEC_FOREACH (const StageId, s, &stored)
            VEC_PUSH(f->arena, &readers[s->v], id);
    }
    return readers;
}

bool tessi_plan_share_reads(const PlanFacts *f, const Plan *p, StageId a, StageId b, bool pixels)
{
    StageList x = { 0 }, y = { 0 };
    tessi_plan_stored_reads(f, p, a, &x);
    tessi_plan_stored_reads(f, p, b, &y);
    VEC_FOREACH (const StageId, s, &x)
        VEC_FOREACH (const StageId, t, &y)
            if (s->v == t->v
                || (pixels && tessi_plan_same_pixel(tessi_stage(f->g, *s), tessi_stage(f->g, *t))))
                return true;
    return false;
}

const Need *tessi_need_of(const Needs *needs, StageId id)
{
    uint32_t lo = 0, hi = needs->at.n;
    while (lo < hi) {
        const uint32_t mid = lo + (hi - lo) / 2;
        if (needs->at.at[mid].stage.v == id.v)
            return &needs->at.at[mid];
        if (needs->at.at[mid].stage.v > id.v)
            lo = mid + 1;
        else
            hi = mid;
    }
    return NULL;
}

/* ---- Where it is read ------------------------------------------------------------------------ */

/* Takes in one read, from where its reader is evaluated. */
static void read_from(const PlanFacts *f, const NeedBox *at, StageId reader, const PlanRead *r,
                      NeedBox *to)
{
    const Access *access = r->access.v ? tessi_access(f->g, r->access) : NULL;
    const uint8_t n = tessi_stage(f->g, r->producer)->n_dims;
    bool follows = access && !at->loose.v;
    for (uint8_t d = 0; d < n; d++) {
        AccessRange range = { .dynamic = true };
        if (access) {
            range = tessi_access_range(f->g, &access->dim[d]);
            range = tessi_range_compose(at->dim, &range);
        }
        follows = follows && tessi_range_follows(&range, d);
        if (to->reached)
            tessi_range_join(&to->dim[d], &range);
        else
            to->dim[d] = range;
    }
    if (access)
        tessi_rules_join(&to->rules, access);
    if (!follows && !to->loose.v)
        to->loose = at->loose.v ? at->loose : reader;
    to->reached = true;
}

NeedBox *tessi_needs_boxes(const PlanFacts *f, Arena *a, const Needs *needs)
{
    NeedBox *box = ARENA_NEW_ARRAY(a, NeedBox, needs->at.n), point = { .reached = true };
    for (uint8_t d = 0; d < MAX_DIMS; d++)
        point.dim[d] = tessi_range_of_point(d);
    for (uint32_t i = 0; i < needs->at.n; i++)
        box[i].rules = tessi_rules_none();
    for (uint32_t i = 0; i < needs->at.n; i++) {
        const Need *need = &needs->at.at[i];
        NeedBox at = need->root ? point : box[i];
        const bool whole = tessi_stage_is_plain(f->g, tessi_stage(f->g, need->stage));
        for (uint8_t d = 0; d < MAX_DIMS && !whole; d++) /* its reads are seen from its pieces */
            at.dim[d].dynamic = true;
        NEED_FOREACH (r, needs, need)
            read_from(f, &at, need->stage, r->read, &box[r->of]);
    }
    return box;
}
