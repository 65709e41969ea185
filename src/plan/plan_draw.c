/* Edits drawn from the tables of levels, splits and knobs, for tests: words that are new to a table are drawn too.
 * What is legal is kept. */
#include "plan/plan_draw.h"
#include "plan/plan_base.h"
#include "plan/plan_knobs.h"

static uint32_t draw(PlanDraw *d, uint32_t n)
{
    d->state = tessi_hash_u64(d->state, 0x9e3779b97f4a7c15u);
    return (uint32_t)(d->state >> 33) % n;
}

/* Small numbers and powers of two more often than others. */
static int64_t draw_size(PlanDraw *d, int64_t most)
{
    int64_t n = draw(d, 2) ? INT64_C(1) << draw(d, 8) : 1 + draw(d, 40);
    return n < most ? n : most;
}

/* A level of any kind along any dimension is put in, made another size, or left out. */
static void draw_level(PlanDraw *d, PlanLevels *levels)
{
    const LevelHow how = (LevelHow)draw(d, N_LEVEL_HOWS);
    PlanLevel level = { .dim = (uint8_t)draw(d, levels->n_dims ? levels->n_dims : 2),
                        .how = (uint8_t)how };
    level.size = draw(d, 4) ? (uint32_t)draw_size(d, tessi_level_most(how)) : 0;
    tessi_level_leave_out(levels, level.dim, how);
    if (draw(d, 4) && levels->n < PLAN_MAX_LEVELS)
        levels->at[levels->n++] = level;
    *levels = tessi_levels_arranged(levels);
}

static void draw_knob(PlanDraw *d, PlanGroup *group)
{
    uint32_t n = 0;
    for (const Knob *k = tessi_knobs(); k->word; k++)
        n++;
    const Knob *k = &tessi_knobs()[draw(d, n)];
    if (k->kind == KNOB_SPLIT)
        group->split = (Split)draw(d, N_SPLITS);
    if (k->kind != KNOB_NUMBERS)
        return;
    if (tessi_knob_is_said(k, group)) {
        tessi_knob_leave_out(k, group);
        return;
    }
    if (k->flag != KNOB_NOWHERE)
        tessi_knob_set_flag(k, group);
    for (uint32_t i = 0; i < k->n; i++)
        tessi_knob_set(k, i, group, draw_size(d, k->number[i].most));
}

/* Transforms and medians in strips are drawn by their own functions: a transform has other bits. */
static bool keeps_bits(const PlanGroup *before, const PlanGroup *after)
{
    return before->transform == after->transform;
}

uint32_t tessi_plan_draw_edits(const PlanFacts *f, Plan *p, uint32_t n, PlanDraw *d)
{
    uint32_t made = 0;
    for (uint32_t i = 0; i < n && p->groups.n; i++) {
        PlanGroup *group = &p->groups.at[draw(d, p->groups.n)];
        const PlanGroup before = *group;
        const uint32_t pass = draw(d, group->passes.n + 1);
        PlanLevels *levels =
            pass < group->passes.n ? &group->passes.at[pass].levels : &group->levels;
        const PlanLevels were = *levels;
        if (draw(d, 3))
            draw_level(d, levels);
        else
            draw_knob(d, group);
        if (keeps_bits(&before, group) && !tessi_plan_verify_with(f, p)) {
            made++;
            continue;
        }
        *levels = were;
        *group = before;
    }
    return made;
}
