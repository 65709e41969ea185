/* The text of a plan, read back. Lines:
 *
 *   plan NAME            machine NAME      target gpu|cpu     width BYTES     masks written
 *   group NAME
 *   DIMENSION ...        (a level: plan_read_levels.c), or `preset NAME`
 *   stage NAME inline    (also before the first group)
 *   stage NAME [at LEVEL] in PLACE [keep ROWS], stage NAME with NAME
 *   why TEXT             (belongs to the group or stage before it; in the head, to the plan)
 *
 * those of groups in knobs.def, and comments from '#' at the beginning of a line. Names with blanks stand in double
 * quotes. */
#include <string.h>

#include "plan/plan_knobs.h"
#include "plan/plan_reader.h"

static bool stage_by_name(PlanReader *r, const char *name, StageId *out)
{
    VEC(const char *) names = { 0 };
    GRAPH_FOREACH_STAGE (r->g, id) {
        if (!tessi_plan_computes(r->f, id))
            continue;
        VEC_PUSH(r->arena, &names, tessi_stage(r->g, id)->name);
        if (!tessi_streq(tessi_stage(r->g, id)->name, name))
            continue;
        *out = id;
        return true;
    }
    const char *near = tessi_nearest_word(name, names.at, names.n);
    if (near)
        return tessi_plan_bad(r, DIAG_PLAN_MISMATCH,
                              "the program computes no stage '%s'; did you mean '%s'?", name, near);
    return tessi_plan_bad(r, DIAG_PLAN_MISMATCH, "the program computes no stage '%s'", name);
}

/* An image that kernels may copy: an input, or a stage. */
static bool image_by_name(PlanReader *r, const char *name, StageId *out)
{
    GRAPH_FOREACH_STAGE (r->g, id) {
        const StageKind kind = tessi_stage(r->g, id)->kind;
        if ((kind != STAGE_INPUT && kind != STAGE_CARRIED) || !r->f->needed[id.v]
            || !tessi_streq(tessi_stage(r->g, id)->name, name))
            continue;
        *out = id;
        return true;
    }
    return stage_by_name(r, name, out);
}

/* One thread, or one row that is written out: what is there without the level. */
static bool says_nothing(const PlanLevel *level)
{
    return level->size == 1 && (level->how == LEVEL_UNROLL || level->how == LEVEL_THREAD);
}

/* A level that lowering has although the page leaves it out: a loop that nothing is said of. */
static bool goes_unsaid(const PlanLevel *level)
{
    return says_nothing(level)
           || (!level->size && (level->how == LEVEL_GRID || level->how == LEVEL_SERIAL));
}

static bool is_among(const PlanLevel *level, const PlanLevels *levels)
{
    for (uint8_t i = 0; i < levels->n; i++)
        if (tessi_level_is(level, &levels->at[i]))
            return true;
    return false;
}

/* Adds the levels that lowering has and the page leaves out, and drops those that say nothing. Levels that follow a
 * preset find their place. */
static void complete(PlanLevels *levels, bool preset)
{
    const PlanLevels made = tessi_levels_arranged(levels);
    uint8_t said = 0;
    for (uint8_t i = 0; i < levels->n && preset; i++)
        if (!says_nothing(&levels->at[i]) && !is_among(&levels->at[i], &made))
            return;
    for (uint8_t i = 0; i < made.n && !preset; i++) {
        const PlanLevel *level = &made.at[i];
        while (said < levels->n && says_nothing(&levels->at[said])
               && !tessi_level_is(level, &levels->at[said]))
            said++;
        if (said < levels->n && tessi_level_is(level, &levels->at[said]))
            said++;
        else if (!goes_unsaid(level))
            return;
    }
    while (said < levels->n && says_nothing(&levels->at[said]))
        said++;
    if (said == levels->n || preset)
        *levels = made;
}

/* The loops of a group go over the dimensions of its first stage. */
static void natural_loops(PlanReader *r, StageId id)
{
    const Stage *t = tessi_plan_domain(r->g, id);
    r->group->n_dims = r->group->levels.n_dims = t->n_dims;
    complete(&r->group->levels, r->preset);
}

/* `centre` or nothing, after a copy in scratch memory. */
static bool read_copy(PlanReader *r)
{
    PlanStaged staged = { .in = STAGED_CONSTANT };
    const char *name = tessi_plan_needed_word(r, "the name of an image");
    if (!name || !image_by_name(r, name, &staged.image))
        return false;
    const char *word = tessi_plan_needed_word(r, "'at x.grid in scratch' or 'in constant'");
    if (word && tessi_streq(word, "at")) {
        word = tessi_plan_needed_word(r, "the level x.grid");
        if (word && !tessi_streq(word, "x.grid"))
            return tessi_plan_bad(r, DIAG_BAD_PLAN_TEXT,
                                  "lowering copies images at x.grid alone so far, not at '%s'",
                                  word);
        word = word ? tessi_plan_needed_word(r, "'in scratch'") : NULL;
        staged.in = STAGED_SHARED;
    }
    if (word && !tessi_streq(word, "in"))
        return tessi_plan_bad(r, DIAG_BAD_PLAN_TEXT, "expected 'in', not '%s'", word);
    word = word ? tessi_plan_needed_word(r, "'scratch' or 'constant'") : NULL;
    if (!word)
        return false;
    const char *place = staged.in == STAGED_SHARED ? "scratch" : "constant";
    if (!tessi_streq(word, place))
        return tessi_plan_bad(r, DIAG_BAD_PLAN_TEXT,
                              "images are copied `at x.grid in scratch` or `in constant`, not in "
                              "'%s'",
                              word);
    word = tessi_plan_word(r);
    if (word && tessi_streq(word, "centre") && staged.in == STAGED_SHARED) {
        staged.in = STAGED_CENTRE;
        word = tessi_plan_word(r);
    }
    if (word && tessi_streq(word, "pad") && staged.in != STAGED_CONSTANT) {
        int64_t pad;
        if (!tessi_plan_read_number(r, "elements", PLAN_MAX_PAD, &pad))
            return false;
        staged.pad = (uint8_t)pad;
        word = tessi_plan_word(r);
    }
    if (!word)
        return false;
    if (*word)
        return tessi_plan_bad(r, DIAG_BAD_PLAN_TEXT, "expected %sthe end of the line, not '%s'",
                              staged.in == STAGED_CONSTANT || staged.pad ? ""
                              : staged.in == STAGED_CENTRE               ? "'pad' or "
                                                                         : "'centre', 'pad' or ",
                              word);
    VEC_PUSH(r->arena, &r->group->staged, staged);
    return tessi_plan_line_ends(r);
}

/* What a page of before called the places. */
static const char *old_place(const char *word)
{
    return tessi_streq(word, "memory")     ? "in memory"
           : tessi_streq(word, "tile")     ? "at x.grid in scratch"
           : tessi_streq(word, "rows")     ? "at y.step in scratch"
           : tessi_streq(word, "register") ? "in registers"
                                           : NULL;
}

/* `keep N`, or the end of the line. */
static bool read_keep(PlanReader *r, PlanSaid *said)
{
    const char *word = tessi_plan_word(r);
    if (!word)
        return false;
    if (!*word)
        return true;
    if (!tessi_streq(word, "keep"))
        return tessi_plan_bad(r, DIAG_BAD_PLAN_TEXT,
                              "expected 'keep' or the end of the line, not '%s'", word);
    return tessi_plan_read_number(r, "rows", 1 << 20, &said->keep) && tessi_plan_line_ends(r);
}

/* `at LEVEL in PLACE keep N`, of which the first word is read. */
static bool read_place(PlanReader *r, const char *word, const char *name, PlanSaid *said)
{
    if (tessi_streq(word, "at")) {
        said->at = tessi_plan_needed_word(r, "a level, as y.step");
        word = said->at ? tessi_plan_needed_word(r, "'in' and a place") : NULL;
    }
    if (!word)
        return false;
    if (old_place(word))
        return tessi_plan_bad(r, DIAG_BAD_PLAN_TEXT, "`stage %s %s` is now said `stage %s %s`",
                              name, word, name, old_place(word));
    if (!tessi_streq(word, "in"))
        return tessi_plan_bad(r, DIAG_BAD_PLAN_TEXT,
                              "expected 'inline', 'with', 'at' or 'in' after a stage, not '%s'",
                              word);
    word = tessi_plan_needed_word(r, "a place");
    if (!word)
        return false;
    if (!tessi_placement_by_name(word, &said->place) || said->place == PLACE_INLINE)
        return tessi_plan_bad(r, DIAG_BAD_PLAN_TEXT,
                              "stages live in registers, lanes, scratch or memory, not in '%s'",
                              word);
    return read_keep(r, said);
}

/* The stage is computed by the loops of this other one. */
static bool read_with(PlanReader *r, PlanSaid *said)
{
    StageId other = { 0 };
    bool found = false;
    const char *name = tessi_plan_needed_word(r, "the name of a stage");
    if (!name || !stage_by_name(r, name, &other))
        return false;
    for (uint32_t i = 0; r->pass && i < r->pass->stages.n; i++)
        found = found || r->pass->stages.at[i].v == other.v;
    if (!found)
        return tessi_plan_bad(r, DIAG_BAD_PLAN_TEXT,
                              "'%s' is not the stage in scratch or in lanes before this one", name);
    *said = (PlanSaid){ .place = r->said[other.v].place };
    return tessi_plan_line_ends(r);
}

/* In a pass of its own, or in that before it. */
static void add_to_pass(PlanReader *r, StageId id, bool with)
{
    if (!with) {
        PlanPass pass = { 0 };
        VEC_PUSH(r->arena, &r->group->passes, pass);
        r->pass = &r->group->passes.at[r->group->passes.n - 1];
    }
    VEC_PUSH(r->arena, &r->pass->stages, id);
}

static bool check_placed_once(PlanReader *r, StageId id, Placement place)
{
    const bool copied = r->placed[id.v] && tessi_placement_is_scratch(r->p->stage[id.v].placement)
                        && place == PLACE_MEMORY;
    if (r->placed[id.v] && !copied)
        return tessi_plan_bad(r, DIAG_PLAN_MISMATCH, "stage '%s' is placed twice",
                              tessi_stage(r->g, id)->name);
    r->placed[id.v] = true;
    r->p->stage[id.v].placement = place;
    r->why = &r->p->stage[id.v].reason;
    return true;
}

static bool read_stage(PlanReader *r)
{
    StageId id = { 0 };
    PlanSaid said = { .place = PLACE_INLINE };
    const char *name = tessi_plan_needed_word(r, "the name of a stage");
    if (!name || !stage_by_name(r, name, &id))
        return false;
    const char *word = tessi_plan_needed_word(r, "'inline', or 'in' and a place");
    if (!word)
        return false;
    const bool with = tessi_streq(word, "with");
    if (with                          ? !read_with(r, &said)
        : tessi_streq(word, "inline") ? !tessi_plan_line_ends(r)
                                      : !read_place(r, word, name, &said))
        return false;
    if (!check_placed_once(r, id, said.place))
        return false;
    const bool scratch = tessi_placement_is_scratch(said.place);
    if (!r->group && said.place != PLACE_INLINE && said.place != PLACE_REGISTERS)
        return tessi_plan_bad(r, DIAG_BAD_PLAN_TEXT, "stage '%s' is in no group", name);
    if (r->group && (scratch || said.place == PLACE_REGISTERS)) {
        said.line = r->line;
        said.number = r->p->groups.n - 1;
    }
    r->said[id.v] = said.line || with ? said : r->said[id.v];
    if (scratch) {
        add_to_pass(r, id, with);
        return true;
    }
    if (said.place != PLACE_MEMORY)
        return true;
    r->pass = NULL;
    if (!r->group->members.n)
        natural_loops(r, id);
    VEC_PUSH(r->arena, &r->group->members, id);
    return true;
}

static bool read_split(PlanReader *r)
{
    static const char kinds[] = "'none', 'interior', 'warp', 'edges', 'regions' or 'warp-regions'";
    const char *w = tessi_plan_needed_word(r, kinds);
    if (!w)
        return false;
    if (!tessi_split_by_name(w, &r->group->split))
        return tessi_plan_bad(r, DIAG_BAD_PLAN_TEXT, "a split is %s, not '%s'", kinds, w);
    return tessi_plan_line_ends(r);
}

static bool read_knob(PlanReader *r, const Knob *k)
{
    if (tessi_streq(k->word, "stream") ? !r->group : !r->group || !r->group->members.n)
        return tessi_plan_bad(r, DIAG_BAD_PLAN_TEXT, "'%s' belongs to a group, after its stages",
                              k->word);
    if (k->kind == KNOB_SPLIT)
        return read_split(r);
    if (k->kind == KNOB_COPY)
        return read_copy(r);
    for (uint32_t i = 0; i < k->n; i++) {
        int64_t value;
        if (!tessi_plan_read_number(r, k->number[i].unit, k->number[i].most, &value))
            return false;
        tessi_knob_set(k, i, r->group, value);
    }
    if (k->flag != KNOB_NOWHERE)
        tessi_knob_set_flag(k, r->group);
    return tessi_plan_line_ends(r);
}

static bool read_width(PlanReader *r)
{
    int64_t n;
    if (!tessi_plan_read_number(r, "bytes of a vector", PLAN_MOST_WIDTH, &n))
        return false;
    if (n < PLAN_LEAST_WIDTH || n & (n - 1))
        return tessi_plan_bad(r, DIAG_BAD_PLAN_TEXT, "vectors have 16, 32 or 64 bytes, not '%d'",
                              (int)n);
    r->p->width = (uint8_t)n;
    return tessi_plan_line_ends(r);
}

static bool read_masks(PlanReader *r)
{
    const char *w = tessi_plan_needed_word(r, "'written'");
    if (!w)
        return false;
    if (!tessi_streq(w, "written"))
        return tessi_plan_bad(r, DIAG_BAD_PLAN_TEXT, "masks can be 'written', not '%s'", w);
    r->p->masks_written = true;
    return tessi_plan_line_ends(r);
}

static bool read_target(PlanReader *r)
{
    const char *w = tessi_plan_needed_word(r, "'cpu' or 'gpu'");
    if (!w)
        return false;
    if (!tessi_streq(w, "cpu") && !tessi_streq(w, "gpu"))
        return tessi_plan_bad(r, DIAG_BAD_PLAN_TEXT, "a target is 'cpu' or 'gpu', not '%s'", w);
    r->p->gpu = tessi_streq(w, "gpu");
    return tessi_plan_line_ends(r);
}

static bool read_reason(PlanReader *r)
{
    tessi_plan_skip_blanks(r);
    while (r->end > r->at && (r->end[-1] == '\r' || r->end[-1] == ' '))
        r->end--;
    if (!r->why)
        return tessi_plan_bad(r, DIAG_BAD_PLAN_TEXT,
                              "a reason belongs to a plan, a stage or a group");
    const char *line = tessi_strndup(r->arena, r->at, (size_t)(r->end - r->at));
    *r->why = **r->why ? tessi_sprintf(r->arena, "%s\n%s", *r->why, line) : line;
    return true;
}

static bool read_group(PlanReader *r)
{
    const char *name = tessi_plan_needed_word(r, "the name of a group");
    if (!name)
        return false;
    PlanGroup group = { .name = name, .reason = "" };
    tessi_knobs_unset(&group);
    VEC_PUSH(r->arena, &r->p->groups, group);
    r->group = &r->p->groups.at[r->p->groups.n - 1];
    r->pass = NULL;
    r->preset = false;
    r->of_group.n = 0;
    r->why = &r->group->reason;
    return tessi_plan_line_ends(r);
}

/* Lines that there may be several of: the others say what a later one would take back. */
static bool may_repeat(const char *key)
{
    static const char *const keys[] = { "stage", "group", "copy", "time", "why" };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (tessi_streq(key, keys[i]))
            return true;
    return tessi_plan_dimension(key) >= 0;
}

static bool check_repeated(PlanReader *r, const char *key)
{
    const bool of_plan = tessi_streq(key, "plan") || tessi_streq(key, "machine")
                         || tessi_streq(key, "target") || tessi_streq(key, "width")
                         || tessi_streq(key, "masks");
    PlanWords *seen = of_plan ? &r->of_plan : &r->of_group;
    if (may_repeat(key))
        return true;
    VEC_FOREACH (const char *, other, seen)
        if (tessi_streq(key, *other))
            return tessi_plan_bad(r, DIAG_BAD_PLAN_TEXT, "'%s' is said twice of the same %s", key,
                                  of_plan ? "plan" : "group");
    VEC_PUSH(r->arena, seen, key);
    return true;
}

/* A line that no page of today has. */
static bool read_old(PlanReader *r, const char *key)
{
    const char *now = tessi_plan_old_word(key);
    tessi_plan_skip_blanks(r);
    while (r->end > r->at && (r->end[-1] == '\r' || r->end[-1] == ' '))
        r->end--;
    if (now)
        return tessi_plan_bad(r, DIAG_BAD_PLAN_TEXT, "`%s%s%.*s` is now said %s", key,
                              r->at < r->end ? " " : "", (int)(r->end - r->at), r->at, now);
    return tessi_plan_bad(r, DIAG_BAD_PLAN_TEXT, "no line of a plan begins with '%s'", key);
}

/* `time NAME N`: the graph was made so (tessi_plan_times_said). */
static bool read_time(PlanReader *r)
{
    const char *name = tessi_plan_needed_word(r, "the name of a repeat");
    int64_t n;
    if (!name || !tessi_plan_read_number(r, "turns", PLAN_MAX_TIME, &n))
        return false;
    for (uint32_t k = 1; k <= r->g->repeats.n; k++)
        if (tessi_streq(r->g->repeats.at[k - 1].name, name) && tessi_plan_time_of(r->g, k) == n)
            return tessi_plan_line_ends(r);
    return tessi_plan_bad(r, DIAG_PLAN_MISMATCH, "no repeat '%s' can take %lld turns as one", name,
                          (long long)n);
}

static bool read_line(PlanReader *r)
{
    tessi_plan_skip_blanks(r);
    if (r->at == r->end || *r->at == '#')
        return true;
    const char *key = tessi_plan_word(r);
    if (!key || !check_repeated(r, key))
        return false;
    if (tessi_streq(key, "why"))
        return read_reason(r);
    if (tessi_streq(key, "stage"))
        return read_stage(r);
    if (tessi_streq(key, "group"))
        return read_group(r);
    if (tessi_streq(key, "plan") || tessi_streq(key, "machine")) {
        const char *name = tessi_plan_needed_word(r, "a name");
        if (!name)
            return false;
        *(tessi_streq(key, "plan") ? &r->p->graph : &r->p->machine) = name;
        r->why = &r->p->reason;
        return tessi_plan_line_ends(r);
    }
    if (tessi_streq(key, "width"))
        return read_width(r);
    if (tessi_streq(key, "time"))
        return read_time(r);
    if (tessi_streq(key, "target"))
        return read_target(r);
    if (tessi_streq(key, "masks"))
        return read_masks(r);
    if (tessi_streq(key, "preset"))
        return tessi_plan_read_preset(r);
    if (tessi_plan_dimension(key) >= 0)
        return tessi_plan_read_level(r, tessi_plan_dimension(key));
    const Knob *k = tessi_knob_by_word(key);
    if (k)
        return read_knob(r, k);
    return read_old(r, key);
}

/* Levels and rows that the page says of stages, and that follow from the rest. */
static bool check_said(PlanReader *r)
{
    PlanRegions regions = { 0 };
    GRAPH_FOREACH_STAGE (r->g, id) {
        const PlanSaid *said = &r->said[id.v];
        if (!said->line)
            continue;
        const PlanGroup *group = &r->p->groups.at[said->number];
        const char *at = tessi_level_of_place(group, said->place);
        const int64_t keep = tessi_plan_kept_rows(r->f, r->p, group, id, &regions);
        r->line = said->line;
        if (said->at && !tessi_streq(said->at, at))
            return tessi_plan_bad(r, DIAG_PLAN_MISMATCH,
                                  "stage '%s' is computed at %s, not at %s: there lowering has no "
                                  "place for it",
                                  tessi_stage(r->g, id)->name, at, said->at);
        if (said->keep && said->keep != keep)
            return tessi_plan_bad(
                r, DIAG_PLAN_MISMATCH, "stage '%s' keeps %lld %s for its readers, not %lld",
                tessi_stage(r->g, id)->name, (long long)keep,
                tessi_streq(at, "z.step") ? "planes" : "rows", (long long)said->keep);
    }
    return true;
}

Plan *tessi_plan_read(Arena *a, Diags *d, const Graph *g, const char *text, size_t n)
{
    PlanReader r = { .arena = a, .diags = d, .g = g, .f = tessi_plan_facts(a, g) };
    r.p = tessi_plan_empty(r.f, "");
    r.placed = ARENA_NEW_ARRAY(a, bool, g->stages.n);
    r.said = ARENA_NEW_ARRAY(a, PlanSaid, g->stages.n);
    if (memchr(text, 0, n)) {
        tessi_diag(d, DIAG_BAD_PLAN_TEXT, (Span){ 0 }, "it contains a zero byte");
        return NULL;
    }
    for (size_t at = 0; at < n;) {
        const char *newline = memchr(text + at, '\n', n - at);
        r.at = text + at;
        r.end = newline ? newline : text + n;
        at = (size_t)(r.end - text) + 1;
        r.line++;
        if (!read_line(&r))
            return NULL;
    }
    GRAPH_FOREACH_STAGE (g, id) {
        if (!tessi_plan_computes(r.f, id) || r.placed[id.v])
            continue;
        tessi_plan_bad(&r, DIAG_PLAN_MISMATCH, "it says nothing about stage '%s'",
                       tessi_stage(g, id)->name);
        return NULL;
    }
    VEC_FOREACH (PlanGroup, group, &r.p->groups)
        VEC_FOREACH (PlanPass, pass, &group->passes)
            complete(&pass->levels, false);
    const char *fault = tessi_plan_verify(a, r.p, g);
    if (!fault)
        return check_said(&r) ? r.p : NULL;
    tessi_diag(d, DIAG_PLAN_MISMATCH, (Span){ 0 }, fault);
    return NULL;
}
