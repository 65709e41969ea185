/* The neighbours of a plan: all its edits (plan_edits.h), as the tables of what pages say have them (levels.def,
 * level_presets.def, knobs.def, stagings.def, placements.def), so that whatever plans can say, and the verifier
 * accepts, is tried. */
#include "plan/plan_costs.h"
#include "plan/plan_edits.h"
#include "plan/plan_passes.h"

/* Nothing is carried any more. */
static void carry_nothing(Editor *e)
{
    if (!tessi_plan_has_carries(e->from))
        return;
    Plan *p = tessi_plan_copy(e->arena, e->from);
    StageId about = { 0 };
    VEC_FOREACH (PlanGroup, group, &p->groups) {
        tessi_level_set_band(&group->levels, 0);
        VEC_FOREACH (PlanPass, pass, &group->passes)
            tessi_level_set_band(&pass->levels, 0);
    }
    for (uint32_t v = 1; v < p->n_stages; v++) {
        if (p->stage[v].placement != PLACE_REGISTERS)
            continue;
        p->stage[v].placement = PLACE_INLINE;
        about = (StageId){ v };
    }
    tessi_edit_keep(e, p, about, "nothing in registers");
}

/* An inlined stage carried down the rows by group i, or by one of its passes. */
static void carry(Editor *e, uint32_t i, StageId s)
{
    enum { BAND = 64 };
    static const uint8_t rows[] = { 2, 4, 8 };
    const PlanGroup *old = &e->from->groups.at[i];
    if (e->from->gpu || old->n_dims < 2 || !tessi_plan_is_inline(e->from, s))
        return;
    for (uint32_t k = 0; k <= old->passes.n; k++)
        for (size_t n = 0; n < sizeof rows; n++)
            if (!tessi_edit_carry(e, i, k, s, BAND, rows[n]))
                break; /* these loops do not read it again further down */
}

/* ---- Levels ---------------------------------------------------------------------------------- */

/* The level of that dimension and kind becomes this one. */
static void offer_level(Editor *e, uint32_t i, uint32_t k, const PlanLevel *level)
{
    PlanLevels levels = *tessi_edit_levels_of(&e->from->groups.at[i], k);
    Text text = tessi_text_new(e->arena);
    tessi_level_print(level, &text);
    if (!tessi_level_put(&levels, level))
        return;
    const PlanLevels made = tessi_levels_arranged(&levels);
    const PlanLevel *now = tessi_level_find(&made, level->dim, (LevelHow)level->how);
    if (now && tessi_level_is(now, level)) /* else lowering has none such here */
        tessi_edit_levels(e, i, k, &made, tessi_text_str(&text));
}

enum { MOST_BESIDE = 4 };

/* Half and twice the number; of small ones the next too. */
static uint32_t numbers_beside(int64_t n, int64_t *out)
{
    enum { SMALL = 8 };
    uint32_t found = 0;
    out[found++] = n * 2;
    if (n > 1)
        out[found++] = n / 2;
    if (n > 2 && n <= SMALL)
        out[found++] = n - 1;
    if (n > 1 && n <= SMALL)
        out[found++] = n + 1;
    return found;
}

/* A level that there is, otherwise. */
static void change_level(Editor *e, uint32_t i, uint32_t k, const PlanLevel *old)
{
    PlanLevels without = *tessi_edit_levels_of(&e->from->groups.at[i], k);
    int64_t beside[MOST_BESIDE];
    PlanLevel level = *old;
    for (uint32_t n = old->most || !old->size ? 0 : numbers_beside(old->size, beside); n-- > 0;) {
        level.size = (uint32_t)beside[n];
        offer_level(e, i, k, &level);
    }
    for (uint32_t n = old->most ? numbers_beside(old->blocks, beside) : 0; n-- > 0;) {
        level = *old;
        level.blocks = (uint32_t)beside[n];
        offer_level(e, i, k, &level);
    }
    level = *old;
    level.ahead = !level.ahead;
    if (old->how == LEVEL_STEP)
        offer_level(e, i, k, &level);
    tessi_level_leave_out(&without, old->dim, (LevelHow)old->how);
    without = tessi_levels_arranged(&without);
    tessi_edit_levels(e, i, k, &without,
                      tessi_sprintf(e->arena, "no %s %s", tessi_level_dim_name(old->dim),
                                    tessi_level_name((LevelHow)old->how)));
}

/* A level of a kind that there is none of along the dimension: of the size that its example has, a quarter and four
 * times that, or without one. */
static void add_level(Editor *e, uint32_t i, uint32_t k, uint8_t dim, LevelHow how)
{
    const int64_t usual = tessi_level_usual(how);
    const int64_t sizes[] = { 0, usual / 4, usual, usual * 4 };
    for (size_t n = 0; n < (usual ? sizeof sizes / sizeof *sizes : 1); n++) {
        const PlanLevel level = { .dim = dim, .how = (uint8_t)how, .size = (uint32_t)sizes[n] };
        if ((!n || sizes[n]) && sizes[n] <= tessi_level_most(how))
            offer_level(e, i, k, &level);
    }
}

static void change_levels(Editor *e, uint32_t i, uint32_t k)
{
    const PlanLevels *levels = tessi_edit_levels_of(&e->from->groups.at[i], k);
    for (uint8_t dim = 0; dim < e->from->groups.at[i].n_dims; dim++) {
        for (int how = 0; how < N_LEVEL_HOWS; how++) {
            const PlanLevel *old = tessi_level_find(levels, dim, (LevelHow)how);
            if (old)
                change_level(e, i, k, old);
            else
                add_level(e, i, k, dim, (LevelHow)how);
        }
    }
}

/* Levels that have a name. With those of `point` nothing else stays that a kernel says. */
static void change_preset(Editor *e, uint32_t i)
{
    for (size_t n = 0; tessi_level_preset_name(n); n++) {
        const char *name = tessi_level_preset_name(n);
        PlanGroup group = e->from->groups.at[i];
        if (!tessi_edit_preset(e, i, n, &group.levels))
            continue;
        if (tessi_streq(name, "point"))
            tessi_plan_point_kernel(&group);
        tessi_edit_group(e, i, tessi_edit_about(e, i), &group,
                         tessi_sprintf(e->arena, "preset %s", name));
    }
}

/* The group computed by warps, which need passes of their own. */
static void make_warp(Editor *e, uint32_t i)
{
    static const uint8_t columns_and_rows[] = { 4, 4 };
    Plan *p = tessi_plan_copy(e->arena, e->from);
    if (e->from->gpu && !tessi_plan_make_warp(e->f, p, &p->groups.at[i], columns_and_rows, 1))
        tessi_edit_keep(e, p, tessi_edit_about(e, i), "preset warp");
}

/* ---- Other words of the page ----------------------------------------------------------------- */

/* Vectors of half and twice the width everywhere, or those of the machine. */
static void change_width(Editor *e)
{
    const int old = e->from->width;
    const int widths[] = { 0, old / 2, old ? 2 * old : PLAN_MOST_WIDTH / 2 };
    for (size_t k = 0; k < sizeof widths / sizeof *widths && e->from->groups.n; k++) {
        if (widths[k] == old || (widths[k] && widths[k] < PLAN_LEAST_WIDTH)
            || widths[k] >= PLAN_MOST_WIDTH)
            continue;
        Plan *p = tessi_plan_copy(e->arena, e->from);
        p->width = (uint8_t)widths[k];
        tessi_edit_keep(e, p, tessi_edit_about(e, 0),
                        widths[k] ? tessi_sprintf(e->arena, "width %d", widths[k])
                                  : "vectors of the machine");
    }
}

/* The line as its example has it, or with numbers so much smaller that the plan is legal. */
static void add_word(Editor *e, uint32_t i, const Knob *k)
{
    enum { HALVINGS = 4 };
    for (int halvings = 0; halvings <= (k->n ? HALVINGS : 0); halvings++) {
        PlanGroup group = e->from->groups.at[i];
        Text text = tessi_text_new(e->arena);
        tessi_text_add(&text, k->word);
        tessi_knob_set_usual(k, &group);
        for (uint32_t n = 0; n < k->n; n++) {
            const int64_t number = tessi_knob_get(k, n, &group) >> halvings;
            tessi_knob_set(k, n, &group, number);
            tessi_text_addf(&text, " %lld", (long long)number);
        }
        if (tessi_edit_group(e, i, tessi_edit_about(e, i), &group, tessi_text_str(&text)))
            return;
    }
}

/* One number of the line otherwise, or no such line, or one where there is none. */
static void change_numbers(Editor *e, uint32_t i, const Knob *k)
{
    const PlanGroup *old = &e->from->groups.at[i];
    if (!tessi_knob_is_said(k, old)) {
        add_word(e, i, k);
        return;
    }
    for (uint32_t n = 0; n < k->n; n++) {
        int64_t beside[MOST_BESIDE];
        for (uint32_t b = numbers_beside(tessi_knob_get(k, n, old), beside); b-- > 0;) {
            PlanGroup group = *old;
            if (beside[b] > k->number[n].most)
                continue;
            tessi_knob_set(k, n, &group, beside[b]);
            tessi_edit_group(e, i, tessi_edit_about(e, i), &group,
                             tessi_sprintf(e->arena, "%s, %lld %s", k->word, (long long)beside[b],
                                           k->number[n].unit));
        }
    }
    PlanGroup group = *old;
    tessi_knob_leave_out(k, &group);
    tessi_edit_group(e, i, tessi_edit_about(e, i), &group,
                     tessi_sprintf(e->arena, "no %s", k->word));
}

static void change_split(Editor *e, uint32_t i)
{
    for (int split = 0; split < N_SPLITS; split++) {
        PlanGroup group = e->from->groups.at[i];
        group.split = (Split)split;
        group.frame = (PlanFrame){ 0 };
        tessi_edit_group(e, i, tessi_edit_about(e, i), &group,
                         tessi_sprintf(e->arena, "split %s", tessi_split_name((Split)split)));
    }
}

static void change_copies(Editor *e, uint32_t i)
{
    StageList images = { 0 };
    tessi_edit_images(e, i, &images);
    VEC_FOREACH (const StageId, image, &images)
        for (int in = 0; in <= N_STAGINGS; in++)
            tessi_edit_copy(e, i, *image, in);
}

static void change_words(Editor *e, uint32_t i)
{
    for (const Knob *k = tessi_knobs(); k->word; k++) {
        switch (k->kind) {
        case KNOB_NUMBERS: change_numbers(e, i, k); break;
        case KNOB_SPLIT: change_split(e, i); break;
        case KNOB_COPY: change_copies(e, i); break;
        }
    }
}

/* Whether a stage that group i computes reads a member of group k. */
static bool reads_group(Editor *e, uint32_t i, uint32_t k)
{
    StageList mine = { 0 }, stored = { 0 };
    tessi_plan_group_stages(e->f, &e->from->groups.at[i], &mine);
    VEC_FOREACH (const StageId, s, &mine) {
        tessi_plan_stored_reads(e->f, e->from, *s, &stored);
        VEC_FOREACH (const StageId, r, &stored)
            VEC_FOREACH (const StageId, member, &e->from->groups.at[k].members)
                if (r->v == member->v)
                    return true;
    }
    return false;
}

void tessi_plan_neighbours(Arena *a, const Graph *g, const Plan *p, PlanNeighbours *out)
{
    Editor e = { .arena = a, .f = tessi_plan_facts(a, g), .from = p, .out = out };
    (void)tessi_edit_is_new(&e, tessi_plan_copy(a, p));
    change_width(&e);
    carry_nothing(&e);
    for (uint32_t i = 0; i < p->groups.n; i++) {
        for (uint32_t k = 0; k <= p->groups.at[i].passes.n; k++)
            change_levels(&e, i, k);
        change_preset(&e, i);
        make_warp(&e, i);
        change_words(&e, i);
    }
    GRAPH_FOREACH_STAGE (g, id) {
        if (!tessi_plan_computes(e.f, id) || e.f->returned[id.v])
            continue;
        if (e.f->can_inline[id.v])
            tessi_edit_place(&e, id, PLACE_INLINE);
        tessi_edit_place(&e, id, PLACE_MEMORY);
        for (uint32_t i = 0; i < p->groups.n; i++) {
            tessi_edit_into_pass(&e, i, id);
            carry(&e, i, id);
        }
    }
    for (uint32_t i = 0; i < p->groups.n; i++) {
        for (uint32_t k = 0; p->groups.at[i].members.n > 1 && k < p->groups.at[i].members.n; k++)
            tessi_edit_separate(&e, i, k);
        for (uint32_t k = i + 1; k < p->groups.n; k++)
            tessi_edit_join(&e, i, k);
        for (uint32_t k = 0; k < i; k++)
            if (reads_group(&e, i, k))
                tessi_edit_fuse(&e, i, k);
    }
}
