/* The edits that make the neighbours of a plan. Each is made without asking whether it is legal; the verifier keeps those that are, so
 * that whatever plans can say, and it accepts, is tried. */
#include "plan/plan_neighbours.h"
#include "plan/plan_base.h"

typedef struct Editor {
    Arena *arena;
    const PlanFacts *f;
    const Plan *from;
    PlanNeighbours *out;
} Editor;

Plan *tessi_plan_copy(Arena *a, const Plan *p)
{
    Plan *copy = ARENA_NEW(a, Plan);
    *copy = *p;
    copy->arena = a;
    copy->stage = ARENA_NEW_ARRAY(a, PlanStage, p->n_stages);
    for (uint32_t v = 0; v < p->n_stages; v++)
        copy->stage[v] = (PlanStage){ p->stage[v].placement, "" };
    copy->groups.at = NULL;
    copy->groups.n = copy->groups.cap = 0;
    VEC_FOREACH (const PlanGroup, group, &p->groups) {
        PlanGroup g = *group;
        g.reason = "";
        g.members.at = NULL;
        g.members.n = g.members.cap = 0;
        VEC_FOREACH (const StageId, s, &group->members)
            VEC_PUSH(a, &g.members, *s);
        VEC_PUSH(a, &copy->groups, g);
    }
    return copy;
}

/* Keeps an edited plan if it is one. */
static void offer(Editor *e, Plan *p, StageId about, const char *change)
{
    if (!tessi_plan_order(p, e->f) || tessi_plan_verify(e->arena, p, e->f->g))
        return;
    PlanNeighbour n = { .plan = p, .about = about, .change = change };
    VEC_PUSH(e->arena, e->out, n);
}

static StageId about_group(const Editor *e, uint32_t i)
{
    return e->from->groups.at[i].members.at[0];
}

/* ---- Placements -------------------------------------------------------------------------------------------------------------- */

static void remove_group(Plan *p, uint32_t i)
{
    for (; i + 1 < p->groups.n; i++)
        p->groups.at[i] = p->groups.at[i + 1];
    p->groups.n--;
}

/* Takes a stage out of its group, and the group out of the plan when nothing is left of it. */
static void remove_member(const Editor *e, Plan *p, StageId s)
{
    for (uint32_t i = 0; i < p->groups.n; i++) {
        PlanGroup *group = &p->groups.at[i];
        uint32_t kept = 0;
        for (uint32_t k = 0; k < group->members.n; k++)
            if (group->members.at[k].v != s.v)
                group->members.at[kept++] = group->members.at[k];
        group->members.n = kept;
        if (kept)
            group->name = tessi_stage(e->f->g, group->members.at[0])->name;
        else
            remove_group(p, i--);
    }
}

/* A group of its own for a stage, with loops as the planner would give it. */
static void add_alone(const Editor *e, Plan *p, StageId s)
{
    PlanGroup *group = tessi_plan_add_group(p, e->f->g, s);
    if (p->gpu)
        tessi_plan_point_kernel(group);
}

static void place(Editor *e, StageId s)
{
    Plan *p = tessi_plan_copy(e->arena, e->from);
    bool is_inline = p->stage[s.v].placement == PLACE_INLINE;
    p->stage[s.v].placement = is_inline ? PLACE_MEMORY : PLACE_INLINE;
    if (is_inline)
        add_alone(e, p, s);
    else
        remove_member(e, p, s);
    offer(e, p, s, is_inline ? "stored" : "inline");
}

/* ---- Groups -------------------------------------------------------------------------------------------------------------------- */

static void separate(Editor *e, uint32_t i)
{
    const PlanGroup *group = &e->from->groups.at[i];
    for (uint32_t k = 0; group->members.n > 1 && k < group->members.n; k++) {
        Plan *p = tessi_plan_copy(e->arena, e->from);
        StageId s = group->members.at[k];
        remove_member(e, p, s);
        add_alone(e, p, s);
        p->groups.at[p->groups.n - 1].rows = group->rows;
        offer(e, p, s, "by itself");
    }
}

static void join(Editor *e, uint32_t i, uint32_t k)
{
    const PlanGroup *from = &e->from->groups.at[k];
    const Stage *a = tessi_stage(e->f->g, about_group(e, i)),
                *b = tessi_stage(e->f->g, about_group(e, k));
    if (!tessi_stage_is_plain(a) || !tessi_stage_is_plain(b) || !tessi_stage_same_domain(a, b))
        return; /* most pairs: not worth a copy */
    Plan *p = tessi_plan_copy(e->arena, e->from);
    VEC_FOREACH (const StageId, s, &from->members)
        VEC_PUSH(e->arena, &p->groups.at[i].members, *s);
    remove_group(p, k);
    offer(e, p, about_group(e, i), tessi_sprintf(e->arena, "together with %s", from->name));
}

/* ---- Loops --------------------------------------------------------------------------------------------------------------------- */

/* A copy whose group i is to be changed. */
static PlanGroup *edit(Editor *e, uint32_t i, Plan **p)
{
    *p = tessi_plan_copy(e->arena, e->from);
    return &(*p)->groups.at[i];
}

static void change_rows(Editor *e, uint32_t i)
{
    for (uint8_t rows = 1; rows <= PLAN_MAX_ROWS; rows = (uint8_t)(rows * 2)) {
        if (rows == e->from->groups.at[i].rows)
            continue;
        Plan *p;
        edit(e, i, &p)->rows = rows;
        offer(e, p, about_group(e, i), tessi_sprintf(e->arena, "rows %d", rows));
    }
}

static void change_loops(Editor *e, uint32_t i)
{
    const PlanGroup *old = &e->from->groups.at[i];
    Plan *p;
    PlanGroup *group = edit(e, i, &p);
    group->split = old->split == SPLIT_INTERIOR ? SPLIT_NONE : SPLIT_INTERIOR;
    group->rows = group->split == SPLIT_NONE ? 1 : old->rows;
    offer(e, p, about_group(e, i), old->split == SPLIT_INTERIOR ? "split none" : "split interior");
    group = edit(e, i, &p);
    group->parallel = old->parallel < 0 ? 0 : -1;
    offer(e, p, about_group(e, i), old->parallel < 0 ? "parallel 0" : "not parallel");
}

static void change_kernel(Editor *e, uint32_t i)
{
    static const uint16_t widths[] = { 32, 64, 128, 256 }, heights[] = { 1, 2, 4, 8 };
    static const uint8_t outputs[][2] = { { 1, 1 }, { 4, 1 }, { 4, 2 }, { 4, 4 }, { 4, 8 } };
    const PlanGroup *old = &e->from->groups.at[i];
    if (old->kernel == KERNEL_NONE)
        return;
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
        for (size_t h = 0; h < sizeof heights / sizeof *heights; h++) {
            if (old->block[0] == widths[w] && old->block[1] == heights[h])
                continue;
            Plan *p;
            PlanGroup *group = edit(e, i, &p);
            group->block[0] = widths[w];
            group->block[1] = heights[h];
            offer(e, p, about_group(e, i),
                  tessi_sprintf(e->arena, "block %u %u", widths[w], heights[h]));
        }
    }
    for (size_t k = 0; k < sizeof outputs / sizeof *outputs; k++) {
        KernelKind kernel = k ? KERNEL_REGISTER : KERNEL_POINT;
        if (old->kernel == kernel && old->outputs[0] == outputs[k][0]
            && old->outputs[1] == outputs[k][1])
            continue;
        Plan *p;
        PlanGroup *group = edit(e, i, &p);
        group->kernel = kernel;
        group->outputs[0] = outputs[k][0];
        group->outputs[1] = outputs[k][1];
        offer(e, p, about_group(e, i),
              tessi_sprintf(e->arena, "outputs %u %u", outputs[k][0], outputs[k][1]));
    }
}

void tessi_plan_neighbours(Arena *a, const Graph *g, const Plan *p, PlanNeighbours *out)
{
    Editor e = { .arena = a, .f = tessi_plan_facts(a, g), .from = p, .out = out };
    for (uint32_t i = 0; i < p->groups.n; i++) {
        change_rows(&e, i);
        change_loops(&e, i);
        change_kernel(&e, i);
    }
    GRAPH_FOREACH_STAGE (g, id)
        if (tessi_plan_computes(e.f, id) && e.f->can_inline[id.v])
            place(&e, id);
    for (uint32_t i = 0; i < p->groups.n; i++) {
        separate(&e, i);
        for (uint32_t k = i + 1; k < p->groups.n; k++)
            join(&e, i, k);
    }
}
