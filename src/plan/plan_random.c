/* Random legal plans, for tests: whatever is inlined, grouped or split, the pixels stay the same. */
#include "plan/plan_base.h"

enum { MAX_RANDOM_NODES = 3000 };

typedef struct Random {
    uint64_t state;
} Random;

static uint32_t draw(Random *r, uint32_t n)
{
    r->state = tessi_hash_u64(r->state, 0x9e3779b97f4a7c15u);
    return (uint32_t)((r->state >> 17) % n);
}

static void inline_some(const PlanFacts *f, Plan *p, Random *r)
{
    uint32_t eagerness = draw(r, 4);
    GRAPH_FOREACH_STAGE (f->g, id) {
        if (!f->can_inline[id.v] || draw(r, 4) >= eagerness)
            continue;
        p->stage[id.v] = (PlanStage){ PLACE_INLINE, "drawn" };
        int64_t *nodes = tessi_plan_code_nodes(f, p);
        for (uint32_t v = 1; v < f->g->stages.n; v++)
            if (nodes[v] > MAX_RANDOM_NODES && nodes[v] > f->nodes[v])
                p->stage[id.v] = (PlanStage){ PLACE_MEMORY, "" };
    }
}

static void draw_kernel(const PlanFacts *f, PlanGroup *group, Random *r)
{
    static const uint16_t widths[] = { 32, 64, 1, 7 };
    tessi_plan_point_kernel(group);
    group->block[0] = widths[draw(r, 4)];
    if (group->n_dims >= 2)
        group->block[1] = (uint16_t)(1 + draw(r, 5));
    (void)f;
}

/* Joins two groups when that leaves an order of execution. */
static void join_some(const PlanFacts *f, Plan *p, Random *r)
{
    for (uint32_t tries = draw(r, 8); tries-- > 0 && p->groups.n > 1;) {
        uint32_t i = draw(r, p->groups.n), k = draw(r, p->groups.n);
        PlanGroup *into = &p->groups.at[i], *from = &p->groups.at[k];
        const Stage *a = tessi_stage(f->g, into->members.at[0]);
        const Stage *b = tessi_stage(f->g, from->members.at[0]);
        if (i == k || !tessi_stage_is_plain(a) || !tessi_stage_is_plain(b)
            || !tessi_stage_same_domain(a, b))
            continue;
        Plan joined = *p;
        joined.groups.at = NULL;
        joined.groups.n = joined.groups.cap = 0;
        for (uint32_t j = 0; j < p->groups.n; j++)
            if (j != k)
                VEC_PUSH(f->arena, &joined.groups, p->groups.at[j]);
        PlanGroup *target = &joined.groups.at[i - (k < i)];
        const PlanGroup old = *target;
        target->rows = old.rows < from->rows ? old.rows : from->rows;
        target->members.at = NULL;
        target->members.n = target->members.cap = 0;
        VEC_FOREACH (const StageId, s, &old.members)
            VEC_PUSH(f->arena, &target->members, *s);
        VEC_FOREACH (const StageId, s, &from->members)
            VEC_PUSH(f->arena, &target->members, *s);
        if (tessi_plan_order(&joined, f))
            *p = joined;
    }
}

Plan *tessi_plan_random(Arena *a, const Graph *g, const Machine *m, uint64_t seed)
{
    PlanFacts *f = tessi_plan_facts(a, g);
    Plan *p = tessi_plan_empty(f, m->name);
    Random r = { tessi_hash_u64(seed, 1) };
    p->gpu = tessi_machine_is_gpu(m);
    inline_some(f, p, &r);
    GRAPH_FOREACH_STAGE (g, id) {
        if (!tessi_plan_computes(f, id) || p->stage[id.v].placement != PLACE_MEMORY)
            continue;
        PlanGroup *group = tessi_plan_add_group(p, g, id);
        group->reason = "drawn";
        if (draw(&r, 3) == 0)
            group->parallel = -1;
        if (draw(&r, 3) == 0)
            group->vector = -1;
        if (draw(&r, 3) == 0)
            group->split = SPLIT_NONE;
        if (p->gpu) {
            draw_kernel(f, group, &r);
            continue;
        }
        if (tessi_plan_can_block_rows(f, id) && group->split == SPLIT_INTERIOR && draw(&r, 2))
            group->rows = (uint8_t)(2 + draw(&r, 4));
    }
    join_some(f, p, &r);
    return p;
}
