/* Which results go past the caches, and from how many bytes on. */
#include "graph/graph_walk.h"
#include "plan/needs.h"
#include "plan/plan_groups.h"
#include "plan/plan_parts.h"

int64_t tessi_plan_stream_bytes(const Machine *m)
{
    const int64_t last = m->l3_bytes / 2, own = 2 * m->cores * m->l2_bytes;
    return m->l3_gbs < m->memory_stream_gbs && own < last ? own : last;
}

/* Its rows are known to be short, and most of them begin inside of a line of the caches, which then is written in part
 * and would have to be fetched after all. */
static bool has_ragged_rows(const PlanFacts *f, const Machine *m, const Stage *s)
{
    enum { SHORT = 16 }; /* lines */
    int64_t points;
    if (!tessi_size_is_const(f->g, s->size[s->n_dims - 1], &points))
        return false;
    const int64_t bytes = points * tessi_type_info(s->type)->bytes, line = m->line_bytes;
    return bytes < SHORT * line && bytes % line != 0;
}

static int64_t lane_bytes(ScalarType t)
{
    return tessi_type_info(t == TYPE_F16 ? TYPE_F32 : t)->bytes;
}

/* Bytes of the widest value that points of the stages are computed from, which is how wide all lanes are. */
static int64_t widest_bytes(const PlanFacts *f, const Plan *p, const StageList *stages)
{
    int64_t widest = 1;
    Needs needs = { 0 };
    tessi_needs(f, f->arena, p, stages->at, stages->n, &needs);
    VEC_FOREACH (const Need, need, &needs.at) {
        const Stage *s = tessi_stage(f->g, need->stage);
        widest = lane_bytes(s->type) > widest ? lane_bytes(s->type) : widest;
        if (!need->computed || !s->pieces.n)
            continue;
        const ExprList *list = tessi_expr_walk(f->walk, f->g, &s->pieces.at[0].body, 1);
        VEC_FOREACH (const ExprId, at, list) {
            const Expr *e = tessi_expr(f->g, *at);
            const bool vary = e->kind != EXPR_CONST && e->kind != EXPR_SCALAR;
            if (vary && lane_bytes(e->type) > widest)
                widest = lane_bytes(e->type);
        }
    }
    return widest;
}

/* A step of the loops stores to several places in turn, to each less than a line. Processors put few lines together at
 * a time, and what they have of the others goes to memory in parts: 5-point sums of floats in 8 rows by vectors of half
 * a line take 2.3 times as long as through the caches (Sapphire Rapids; Zen 3: 16 times), by whole lines 0.8. */
static bool tears_lines(const PlanFacts *f, const Machine *m, const Plan *p, const PlanGroup *group)
{
    const StageList members = { group->members.at, group->members.n, group->members.n };
    const uint32_t rows = tessi_level_rows(&group->levels);
    bool several = rows > 1 || tessi_level_band(&group->levels) > 0, whole = true;
    const int64_t points =
        m->vector_bytes / widest_bytes(f, p, &members) * tessi_level_columns(&group->levels);
    VEC_FOREACH (const StageId, id, &members) {
        const uint32_t image = f->image[id->v]; /* channels of one are put together to its pixels */
        several =
            several || (id->v != members.at[0].v && (!image || image != f->image[members.at[0].v]));
        whole = whole && points * f->pixel[id->v] >= m->line_bytes;
    }
    return several && !whole;
}

void tessi_plan_choose_streams(const PlanFacts *f, const Machine *m, Plan *p)
{
    if (m->memory_stream_gbs <= m->stream_gain * m->memory_gbs)
        return;
    VEC_FOREACH (PlanGroup, group, &p->groups) {
        const Stage *s = tessi_stage(f->g, group->members.at[0]);
        if (!s->n_dims || !tessi_level_vector(&group->levels) || !tessi_stage_is_plain(f->g, s)
            || has_ragged_rows(f, m, s))
            continue;
        group->stream = !tears_lines(f, m, p, group);
        if (!group->stream)
            group->reason = tessi_sprintf(f->arena,
                                          "%s%sresults go through the caches: a step stores less "
                                          "than a line to each of its places",
                                          group->reason, *group->reason ? "\n" : "");
    }
}
