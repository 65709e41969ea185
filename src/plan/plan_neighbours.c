/* The edits that make the neighbours of a plan: one line of its page said otherwise, put in or left out, as the tables
 * of those lines have it (levels.def, level_presets.def, knobs.def, stagings.def, placements.def). Each is made without
 * asking whether it is legal; the verifier keeps those that are, so that whatever plans can say, and it accepts, is
 * tried. */
#include "plan/plan_neighbours.h"
#include "plan/plan_costs.h"
#include "plan/plan_knobs.h"
#include "plan/plan_passes.h"

typedef struct Editor {
    Arena *arena;
    const PlanFacts *f;
    const Plan *from;
    PlanNeighbours *out;
    VEC(uint64_t) pages; /* hashes of those that are neighbours, and of the plan itself */
} Editor;

/* Whether no neighbour has this page yet. */
static bool is_new(Editor *e, const Plan *p)
{
    Text text;
    tessi_text_init(&text, e->arena);
    tessi_plan_print(p, e->f->g, &text);
    const uint64_t hash = tessi_hash_bytes(0, tessi_text_str(&text), text.n);
    VEC_FOREACH (const uint64_t, page, &e->pages)
        if (*page == hash)
            return false;
    VEC_PUSH(e->arena, &e->pages, hash);
    return true;
}

/* Keeps an edited plan if it is one. */
static bool offer(Editor *e, Plan *p, StageId about, const char *change)
{
    if (!tessi_plan_order(p, e->f) || tessi_plan_verify_with(e->f, p))
        return false;
    PlanNeighbour n = { .plan = p, .about = about, .change = change };
    if (is_new(e, p))
        VEC_PUSH(e->arena, e->out, n);
    return true;
}

static StageId about_group(const Editor *e, uint32_t i)
{
    return e->from->groups.at[i].members.at[0];
}

/* Those of pass k, or, where it has no such pass, the group's own. */
static PlanLevels *levels_of(PlanGroup *group, uint32_t k)
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

/* The stage computed otherwise: again at each use, or once into memory. */
static void place(Editor *e, StageId s, Placement to)
{
    Placement from = e->from->stage[s.v].placement;
    if (from == to)
        return;
    Plan *p = tessi_plan_copy(e->arena, e->from);
    p->stage[s.v].placement = to;
    if (tessi_placement_is_scratch(from))
        remove_from_passes(p, s);
    if (to == PLACE_MEMORY)
        add_alone(e, p, s);
    else if (from == PLACE_MEMORY)
        remove_member(e, p, s);
    offer(e, p, s, to == PLACE_MEMORY ? "stored" : "inline");
}

/* An inlined stage carried down the rows by group i, or by one of its passes; one in registers is computed again at
 * each use. */
static void carry(Editor *e, uint32_t i, StageId s)
{
    enum { BAND = 64 };
    static const uint8_t rows[] = { 2, 4, 8 };
    const PlanGroup *old = &e->from->groups.at[i];
    if (e->from->gpu || old->n_dims < 2 || !tessi_plan_is_inline(e->from, s))
        return;
    for (uint32_t k = 0; k <= old->passes.n; k++) {
        for (size_t n = 0; n < sizeof rows; n++) {
            Plan *p = tessi_plan_copy(e->arena, e->from);
            PlanLevels *levels = levels_of(&p->groups.at[i], k);
            tessi_level_set_band(levels, BAND);
            tessi_level_set_rows(levels, rows[n]);
            p->stage[s.v].placement = PLACE_REGISTERS;
            if (!offer(e, p, s, tessi_sprintf(e->arena, "in registers, y %d unroll", rows[n])))
                break; /* these loops do not read it again further down */
        }
    }
}

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
    offer(e, p, about, "nothing in registers");
}

/* An inlined stage in a pass of its own, where the tiles of group i read it. */
static void place_in_pass(Editor *e, uint32_t i, StageId s)
{
    const PlanGroup *old = &e->from->groups.at[i];
    if (!tessi_plan_is_inline(e->from, s) || !tessi_level_tile(old, 0))
        return;
    const uint8_t outputs = e->from->gpu && tessi_plan_can_tile(e->f, s) ? 4 : 1;
    for (uint32_t at = 0; at <= old->passes.n; at++) {
        Plan *p = tessi_plan_copy(e->arena, e->from);
        PlanGroup *group = &p->groups.at[i];
        tessi_plan_insert_pass(e->arena, group, at, s);
        tessi_level_set_outputs_all(&group->passes.at[at].levels,
                                    (PlanOutputs){ { outputs, outputs } });
        p->stage[s.v].placement = tessi_plan_scratch_placement(group);
        if (offer(e, p, s, tessi_sprintf(e->arena, "in the tiles of %s", group->name)))
            return; /* the other places differ only in order */
    }
}

/* ---- Groups ---------------------------------------------------------------------------------- */

static void separate(Editor *e, uint32_t i)
{
    const PlanGroup *group = &e->from->groups.at[i];
    for (uint32_t k = 0; group->members.n > 1 && k < group->members.n; k++) {
        Plan *p = tessi_plan_copy(e->arena, e->from);
        StageId s = group->members.at[k];
        remove_member(e, p, s);
        add_alone(e, p, s);
        tessi_level_set_rows(&p->groups.at[p->groups.n - 1].levels,
                             tessi_level_rows(&group->levels));
        offer(e, p, s, "by itself");
    }
}

static void join(Editor *e, uint32_t i, uint32_t k)
{
    const PlanGroup *from = &e->from->groups.at[k];
    if (!tessi_plan_can_share_loops(e->f, about_group(e, i), about_group(e, k)))
        return; /* most pairs: not worth a copy */
    Plan *p = tessi_plan_copy(e->arena, e->from);
    VEC_FOREACH (const StageId, s, &from->members)
        VEC_PUSH(e->arena, &p->groups.at[i].members, *s);
    remove_group(p, k);
    offer(e, p, about_group(e, i), tessi_sprintf(e->arena, "together with %s", from->name));
}

/* ---- Levels ---------------------------------------------------------------------------------- */

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

/* The plan with this group instead of its number i. */
static bool offer_group(Editor *e, uint32_t i, StageId about, const PlanGroup *changed,
                        const char *change)
{
    for (int how = 0; how < N_LENIENCES; how++) {
        Plan *from = tessi_plan_copy(e->arena, e->from);
        from->groups.at[i] = *changed;
        Plan *p = tessi_plan_copy(e->arena, from); /* with passes and copies of its own */
        PlanGroup *group = &p->groups.at[i];
        give_way(group, (Lenience)how);
        tessi_plan_fit_median_kernel(group);
        tessi_plan_place_passes(p, group);
        if (offer(e, p, about, change))
            return true;
    }
    return false;
}

static void offer_levels(Editor *e, uint32_t i, uint32_t k, const PlanLevels *levels,
                         const char *change)
{
    const PlanGroup *old = &e->from->groups.at[i];
    Plan *p = tessi_plan_copy(e->arena, e->from);
    PlanGroup *group = &p->groups.at[i];
    *levels_of(group, k) = *levels;
    offer_group(e, i, k < old->passes.n ? old->passes.at[k].stages.at[0] : about_group(e, i), group,
                change);
}

/* The level of that dimension and kind becomes this one. */
static void offer_level(Editor *e, uint32_t i, uint32_t k, const PlanLevel *level)
{
    PlanLevels levels = *levels_of(&e->from->groups.at[i], k);
    Text text;
    tessi_text_init(&text, e->arena);
    tessi_level_print(level, &text);
    if (!tessi_level_put(&levels, level))
        return;
    const PlanLevels made = tessi_levels_arranged(&levels);
    const PlanLevel *now = tessi_level_find(&made, level->dim, (LevelHow)level->how);
    if (now && tessi_level_is(now, level)) /* else lowering has none such here */
        offer_levels(e, i, k, &made, tessi_text_str(&text));
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
    PlanLevels without = *levels_of(&e->from->groups.at[i], k);
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
    offer_levels(e, i, k, &without,
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
    const PlanLevels *levels = levels_of(&e->from->groups.at[i], k);
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
    const PlanGroup *old = &e->from->groups.at[i];
    PlanLevels levels;
    for (size_t n = 0; tessi_level_preset_name(n); n++) {
        const char *name = tessi_level_preset_name(n);
        if (!old->n_dims || !tessi_level_preset(e->arena, n, &levels)
            || (tessi_level_find(&levels, 0, LEVEL_THREAD) != NULL) != e->from->gpu)
            continue;
        PlanGroup group = *old;
        group.levels = tessi_levels_for(&levels, old->n_dims);
        if (tessi_streq(name, "point"))
            tessi_plan_point_kernel(&group);
        offer_group(e, i, about_group(e, i), &group, tessi_sprintf(e->arena, "preset %s", name));
    }
}

/* The group computed by warps, which need passes of their own. */
static void make_warp(Editor *e, uint32_t i)
{
    static const uint8_t columns_and_rows[] = { 4, 4 };
    Plan *p = tessi_plan_copy(e->arena, e->from);
    if (e->from->gpu && !tessi_plan_make_warp(e->f, p, &p->groups.at[i], columns_and_rows, 1))
        offer(e, p, about_group(e, i), "preset warp");
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
        offer(e, p, about_group(e, 0),
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
        Text text;
        tessi_text_init(&text, e->arena);
        tessi_text_add(&text, k->word);
        tessi_knob_set_usual(k, &group);
        for (uint32_t n = 0; n < k->n; n++) {
            const int64_t number = tessi_knob_get(k, n, &group) >> halvings;
            tessi_knob_set(k, n, &group, number);
            tessi_text_addf(&text, " %lld", (long long)number);
        }
        if (offer_group(e, i, about_group(e, i), &group, tessi_text_str(&text)))
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
            offer_group(e, i, about_group(e, i), &group,
                        tessi_sprintf(e->arena, "%s, %lld %s", k->word, (long long)beside[b],
                                      k->number[n].unit));
        }
    }
    PlanGroup group = *old;
    tessi_knob_leave_out(k, &group);
    offer_group(e, i, about_group(e, i), &group, tessi_sprintf(e->arena, "no %s", k->word));
}

static void change_split(Editor *e, uint32_t i)
{
    for (int split = 0; split < N_SPLITS; split++) {
        PlanGroup group = e->from->groups.at[i];
        group.split = (Split)split;
        group.frame = (PlanFrame){ 0 };
        offer_group(e, i, about_group(e, i), &group,
                    tessi_sprintf(e->arena, "split %s", tessi_split_name((Split)split)));
    }
}

/* The image copied so by the blocks of the group; in N_STAGINGS, not at all. */
static void offer_copy(Editor *e, uint32_t i, StageId image, int in)
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
    offer(e, p, about_group(e, i),
          tessi_sprintf(e->arena, "%s %s", tessi_stage(e->f->g, image)->name, names[in]));
}

static void change_copies(Editor *e, uint32_t i)
{
    Needs needs = { 0 };
    const StageList *members = &e->from->groups.at[i].members;
    tessi_needs(e->f, e->arena, e->from, members->at, members->n, &needs);
    VEC_FOREACH (const StageId, image, &needs.stored)
        for (int in = 0; in <= N_STAGINGS; in++)
            offer_copy(e, i, *image, in);
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

/* Group k computed by passes of group i. */
static void fuse(Editor *e, uint32_t i, uint32_t k)
{
    Plan *p = tessi_plan_copy(e->arena, e->from);
    PlanGroup *into = &p->groups.at[i], from = p->groups.at[k];
    VEC(PlanPass) passes = { 0 };
    VEC_FOREACH (const PlanPass, pass, &from.passes)
        VEC_PUSH(e->arena, &passes, *pass);
    PlanPass own = { 0 };
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
    VEC_FOREACH (const PlanPass, pass, &into->passes)
        VEC_PUSH(e->arena, &passes, *pass);
    into->passes.at = passes.at;
    into->passes.n = into->passes.cap = passes.n;
    if (!tessi_level_tile(into, 0))
        give_tiles(e, into);
    tessi_plan_place_passes(p, into);
    remove_group(p, k);
    offer(e, p, about_group(e, k),
          tessi_sprintf(e->arena, "in the tiles of %s", e->from->groups.at[i].name));
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
    (void)is_new(&e, tessi_plan_copy(a, p));
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
            place(&e, id, PLACE_INLINE);
        place(&e, id, PLACE_MEMORY);
        for (uint32_t i = 0; i < p->groups.n; i++) {
            place_in_pass(&e, i, id);
            carry(&e, i, id);
        }
    }
    for (uint32_t i = 0; i < p->groups.n; i++) {
        separate(&e, i);
        for (uint32_t k = i + 1; k < p->groups.n; k++)
            join(&e, i, k);
        for (uint32_t k = 0; k < i; k++)
            if (reads_group(&e, i, k))
                fuse(&e, i, k);
    }
}
