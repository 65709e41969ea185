/* Edits of plans (plan_edits.h). */
#include "plan/plan_edits.h"
#include "plan/plan_costs.h"
#include "plan/plan_passes.h"

bool tessi_edit_is_new(Editor *e, const Plan *p)
{
    Text text = tessi_text_new(e->arena);
    tessi_plan_print(p, e->f->g, &text);
    const uint64_t hash = tessi_hash_bytes(0, tessi_text_str(&text), text.n);
    VEC_FOREACH (const uint64_t, page, &e->pages)
        if (*page == hash)
            return false;
    VEC_PUSH(e->arena, &e->pages, hash);
    return true;
}

bool tessi_edit_keep(Editor *e, Plan *p, StageId about, const char *change)
{
    if (!tessi_plan_order(p, e->f) || tessi_plan_verify_with(e->f, p))
        return false;
    PlanNeighbour n = { .plan = p, .about = about, .change = change };
    if (tessi_edit_is_new(e, p))
        VEC_PUSH(e->arena, e->out, n);
    return true;
}

StageId tessi_edit_about(const Editor *e, uint32_t i)
{
    return e->from->groups.at[i].members.at[0];
}

PlanLevels *tessi_edit_levels_of(PlanGroup *group, uint32_t k)
{
    return k < group->passes.n ? &group->passes.at[k].levels : &group->levels;
}

/* ---- Placements ------------------------------------------------------------------------------ */

static void remove_group(Plan *p, uint32_t i)
{
    for (; i + 1 < p->groups.n; i++)
        p->groups.at[i] = p->groups.at[i + 1];
    p->groups.n--;
}

static void take_out(StageList *list, StageId s)
{
    uint32_t kept = 0;
    for (uint32_t k = 0; k < list->n; k++)
        if (list->at[k].v != s.v)
            list->at[kept++] = list->at[k];
    list->n = kept;
}

static void remove_stage(PlanGroup *group, uint32_t pass, StageId s)
{
    take_out(&group->passes.at[pass].stages, s);
    if (group->passes.at[pass].stages.n)
        return;
    for (; pass + 1 < group->passes.n; pass++)
        group->passes.at[pass] = group->passes.at[pass + 1];
    group->passes.n--;
}

/* Takes a stage out of the passes of its group; members that are copied out of them are computed instead. */
static void remove_from_passes(Plan *p, StageId s)
{
    VEC_FOREACH (PlanGroup, group, &p->groups)
        for (uint32_t k = group->passes.n; k-- > 0;)
            remove_stage(group, k, s);
}

/* Takes a stage out of its group, and the group out of the plan when nothing is left of it. */
static void remove_member(const Editor *e, Plan *p, StageId s)
{
    for (uint32_t i = 0; i < p->groups.n; i++) {
        PlanGroup *group = &p->groups.at[i];
        take_out(&group->members, s);
        if (group->members.n)
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

bool tessi_edit_place(Editor *e, StageId s, Placement to)
{
    Placement from = e->from->stage[s.v].placement;
    if (from == to)
        return false;
    Plan *p = tessi_plan_copy(e->arena, e->from);
    p->stage[s.v].placement = to;
    if (tessi_placement_is_scratch(from))
        remove_from_passes(p, s);
    if (to == PLACE_MEMORY)
        add_alone(e, p, s);
    else if (from == PLACE_MEMORY)
        remove_member(e, p, s);
    return tessi_edit_keep(e, p, s, to == PLACE_MEMORY ? "stored" : "inline");
}

bool tessi_edit_carry(Editor *e, uint32_t i, uint32_t k, StageId s, uint16_t band, uint8_t rows)
{
    Plan *p = tessi_plan_copy(e->arena, e->from);
    PlanLevels *levels = tessi_edit_levels_of(&p->groups.at[i], k);
    tessi_level_set_band(levels, band);
    tessi_level_set_rows(levels, rows);
    p->stage[s.v].placement = PLACE_REGISTERS;
    return tessi_edit_keep(e, p, s, tessi_sprintf(e->arena, "in registers, y %d unroll", rows));
}

bool tessi_edit_into_pass(Editor *e, uint32_t i, StageId s)
{
    const PlanGroup *old = &e->from->groups.at[i];
    if (!tessi_plan_is_inline(e->from, s) || !tessi_level_tile(old, 0))
        return false;
    const uint8_t outputs = e->from->gpu && tessi_plan_can_tile(e->f, s) ? 4 : 1;
    for (uint32_t at = 0; at <= old->passes.n; at++) {
        Plan *p = tessi_plan_copy(e->arena, e->from);
        PlanGroup *group = &p->groups.at[i];
        tessi_plan_insert_pass(e->arena, group, at, s);
        tessi_level_set_outputs_all(&group->passes.at[at].levels,
                                    (PlanOutputs){ { outputs, outputs } });
        p->stage[s.v].placement = tessi_plan_scratch_placement(group);
        if (tessi_edit_keep(e, p, s, tessi_sprintf(e->arena, "in the tiles of %s", group->name)))
            return true; /* the other places differ only in order */
    }
    return false;
}

/* ---- Groups ---------------------------------------------------------------------------------- */

bool tessi_edit_separate(Editor *e, uint32_t i, uint32_t k)
{
    const PlanGroup *group = &e->from->groups.at[i];
    Plan *p = tessi_plan_copy(e->arena, e->from);
    const StageId s = group->members.at[k];
    remove_member(e, p, s);
    add_alone(e, p, s);
    tessi_level_set_rows(&p->groups.at[p->groups.n - 1].levels, tessi_level_rows(&group->levels));
    return tessi_edit_keep(e, p, s, "by itself");
}

bool tessi_edit_join(Editor *e, uint32_t i, uint32_t k)
{
    const PlanGroup *from = &e->from->groups.at[k];
    if (!tessi_plan_can_share_loops(e->f, e->from, tessi_edit_about(e, i), tessi_edit_about(e, k)))
        return false; /* most pairs: not worth a copy */
    Plan *p = tessi_plan_copy(e->arena, e->from);
    VEC_APPEND(e->arena, &p->groups.at[i].members, &from->members);
    remove_group(p, k);
    return tessi_edit_keep(e, p, tessi_edit_about(e, i),
                           tessi_sprintf(e->arena, "together with %s", from->name));
}

/* ---- Lines of a group ------------------------------------------------------------------------ */

/* What edits of a group try when it is not legal with all that it says: each drops more of what depends on the line
 * that was changed. */
typedef enum Lenience {
    AS_IT_IS,
    PASSES_TOO, /* they unroll as the group does */
    PLAIN,      /* no copies, packed words, frames, or limits of occupancy */
    ONE_ROW,    /* nor rows that share what they read */
    N_LENIENCES
} Lenience;

static void give_way(PlanGroup *group, Lenience how)
{
    VEC_FOREACH (PlanPass, pass, &group->passes)
        if (how == PASSES_TOO)
            tessi_level_set_outputs(&pass->levels, 1, tessi_level_outputs(&group->levels, 1));
    if (how < PLAIN)
        return;
    tessi_plan_drop_copies(group);
    group->packed = false;
    group->frame = (PlanFrame){ 0 };
    group->resident = 0;
    if (how == ONE_ROW)
        tessi_level_set_rows(&group->levels, 1);
}

static bool edit_leniently(Editor *e, uint32_t i, StageId about, const PlanGroup *changed,
                           const char *change, Lenience how)
{
    Plan *from = tessi_plan_copy(e->arena, e->from);
    from->groups.at[i] = *changed;
    Plan *p = tessi_plan_copy(e->arena, from); /* with passes and copies of its own */
    PlanGroup *group = &p->groups.at[i];
    give_way(group, how);
    tessi_plan_fit_median_kernel(group);
    tessi_plan_fit_product(group);
    tessi_plan_place_passes(p, group);
    return tessi_edit_keep(e, p, about, change);
}

bool tessi_edit_group_as_it_is(Editor *e, uint32_t i, const PlanGroup *changed, const char *change)
{
    return edit_leniently(e, i, tessi_edit_about(e, i), changed, change, AS_IT_IS);
}

bool tessi_edit_group(Editor *e, uint32_t i, StageId about, const PlanGroup *changed,
                      const char *change)
{
    for (int how = 0; how < N_LENIENCES; how++)
        if (edit_leniently(e, i, about, changed, change, (Lenience)how))
            return true;
    return false;
}

bool tessi_edit_levels(Editor *e, uint32_t i, uint32_t k, const PlanLevels *levels,
                       const char *change)
{
    const PlanGroup *old = &e->from->groups.at[i];
    Plan *p = tessi_plan_copy(e->arena, e->from);
    PlanGroup *group = &p->groups.at[i];
    *tessi_edit_levels_of(group, k) = *levels;
    return tessi_edit_group(
        e, i, k < old->passes.n ? old->passes.at[k].stages.at[0] : tessi_edit_about(e, i), group,
        change);
}

bool tessi_edit_preset(const Editor *e, uint32_t i, size_t n, PlanLevels *out)
{
    const PlanGroup *group = &e->from->groups.at[i];
    PlanLevels levels;
    if (!group->n_dims || !tessi_level_preset(e->arena, n, &levels)
        || (tessi_level_find(&levels, 0, LEVEL_THREAD) != NULL) != e->from->gpu)
        return false;
    *out = tessi_levels_for(&levels, group->n_dims);
    return true;
}

bool tessi_edit_copy(Editor *e, uint32_t i, StageId image, int in)
{
    static const char *const names[] = { "shared", "centre shared", "constant", "not copied" };
    Plan *p = tessi_plan_copy(e->arena, e->from);
    PlanGroup *group = &p->groups.at[i];
    const PlanStaged staged = { .image = image, .in = (StagedIn)in };
    uint32_t kept = 0;
    for (uint32_t k = 0; k < group->staged.n; k++)
        if (group->staged.at[k].image.v != image.v)
            group->staged.at[kept++] = group->staged.at[k];
    group->staged.n = kept;
    if (in < N_STAGINGS)
        VEC_PUSH(e->arena, &group->staged, staged);
    return tessi_edit_keep(
        e, p, tessi_edit_about(e, i),
        tessi_sprintf(e->arena, "%s %s", tessi_stage(e->f->g, image)->name, names[in]));
}

void tessi_edit_images(const Editor *e, uint32_t i, StageList *out)
{
    Needs needs = { 0 };
    const StageList *members = &e->from->groups.at[i].members;
    tessi_needs(e->f, e->arena, e->from, members->at, members->n, &needs);
    VEC_APPEND(e->arena, out, &needs.stored);
}

/* ---- Fusion ---------------------------------------------------------------------------------- */

static void give_tiles(Editor *e, PlanGroup *group)
{
    PlanLevels levels;
    for (size_t n = 0; tessi_level_preset_name(n); n++)
        if (tessi_streq(tessi_level_preset_name(n), e->from->gpu ? "tile" : "tiles")
            && tessi_level_preset(e->arena, n, &levels))
            group->levels = tessi_levels_for(&levels, group->n_dims);
    give_way(group, PLAIN);
    if (e->from->gpu)
        group->split = SPLIT_INTERIOR;
}

bool tessi_edit_fuse(Editor *e, uint32_t i, uint32_t k)
{
    Plan *p = tessi_plan_copy(e->arena, e->from);
    PlanGroup *into = &p->groups.at[i], from = p->groups.at[k];
    VEC(PlanPass) passes = { 0 };
    VEC_APPEND(e->arena, &passes, &from.passes);
    PlanPass own = { 0 };
    if (tessi_plan_join_runs(e->f, p, i, from.members.at[0]))
        return tessi_edit_keep(e, p, tessi_edit_about(e, k),
                               tessi_sprintf(e->arena, "in the sweep of %s", into->name));
    tessi_levels_one_by_one(&own.levels, 0);
    if (into->split == SPLIT_INTERIOR)
        tessi_level_set_rows(&own.levels, tessi_level_rows(&from.levels));
    VEC_FOREACH (const StageId, s, &from.members) {
        VEC_PUSH(e->arena, &own.stages, *s);
        if (e->f->returned[s->v]) /* copied out as well */
            VEC_PUSH(e->arena, &into->members, *s);
        else
            p->stage[s->v].placement = PLACE_SCRATCH;
    }
    VEC_PUSH(e->arena, &passes, own);
    VEC_APPEND(e->arena, &passes, &into->passes);
    into->passes.at = passes.at;
    into->passes.n = into->passes.cap = passes.n;
    if (!tessi_level_tile(into, 0))
        give_tiles(e, into);
    tessi_plan_place_passes(p, into);
    remove_group(p, k);
    return tessi_edit_keep(
        e, p, tessi_edit_about(e, k),
        tessi_sprintf(e->arena, "in the tiles of %s", e->from->groups.at[i].name));
}
