/* The text of a plan, read back. Lines:
 *
 *   plan NAME            machine NAME      target gpu|cpu     width BYTES     masks written
 *   stage NAME PLACEMENT (before the first group: inlined stages; in a group: its members)
 *   group NAME
 *   pass                 (in a group with tiles, before its members: stages computed into scratch memory)
 *   why TEXT             (belongs to the group or stage before it; in the head, to the plan)
 *
 * those of groups and passes in knobs.def, and comments from '#' at the beginning of a line. Names with blanks stand
 * in double quotes. */
#include <string.h>

#include "plan/plan_base.h"
#include "plan/plan_knobs.h"

enum { MAX_NAME = 4096 };

typedef VEC(const char *) Words;

typedef struct PlanReader {
    Arena *arena;
    Diags *diags;
    const Graph *g;
    const PlanFacts *f;
    Plan *p;
    PlanGroup *group;                 /* being read; NULL = none yet */
    PlanPass *pass;                   /* being read; NULL = the members are */
    Words of_plan, of_group, of_pass; /* first words of the lines read */
    const char **why;                 /* where a reason goes */
    bool *placed;                     /* by StageId */
    int line;
    const char *at, *end; /* rest of the line */
} PlanReader;

static bool bad(PlanReader *r, DiagCode code, const char *fmt, ...) TESS_PRINTF(3, 4);
static bool bad(PlanReader *r, DiagCode code, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const char *what = tessi_vsprintf(r->arena, fmt, args);
    va_end(args);
    tessi_diag(r->diags, code, (Span){ 0 }, tessi_sprintf(r->arena, "line %d: %s", r->line, what));
    return false;
}

/* ---- Words ----------------------------------------------------------------------------------- */

static void skip_blanks(PlanReader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\r'))
        r->at++;
}

/* The next word of the line, "" at its end; NULL with a diagnostic for a quote that is not closed. */
static const char *word(PlanReader *r)
{
    skip_blanks(r);
    const char *begin = r->at;
    if (r->at == r->end || *r->at != '"') {
        while (r->at < r->end && *r->at != ' ' && *r->at != '\t' && *r->at != '\r')
            r->at++;
        if (r->at - begin > MAX_NAME) {
            bad(r, DIAG_BAD_PLAN_TEXT, "a word is longer than %d characters", MAX_NAME);
            return NULL;
        }
        return tessi_strndup(r->arena, begin, (size_t)(r->at - begin));
    }
    Text t;
    tessi_text_init(&t, r->arena);
    for (r->at++; r->at < r->end && *r->at != '"'; r->at++) {
        if (*r->at == '\\' && r->at + 1 < r->end) {
            r->at++;
            tessi_text_addn(&t, *r->at == 'n' ? "\n" : r->at, 1);
        } else {
            tessi_text_addn(&t, r->at, 1);
        }
    }
    if (r->at == r->end || t.n > MAX_NAME) {
        bad(r, DIAG_BAD_PLAN_TEXT, "a name in quotes is not closed on its line");
        return NULL;
    }
    r->at++;
    return tessi_text_str(&t);
}

/* A word that must be there. */
static const char *needed_word(PlanReader *r, const char *what)
{
    const char *w = word(r);
    if (w && !*w) {
        bad(r, DIAG_BAD_PLAN_TEXT, "expected %s", what);
        return NULL;
    }
    return w;
}

static bool line_ends(PlanReader *r)
{
    skip_blanks(r);
    return r->at == r->end
           || bad(r, DIAG_BAD_PLAN_TEXT, "there is something after the end of the line");
}

/* A dimension: one digit. */
static bool dimension(PlanReader *r, uint8_t *out)
{
    const char *w = needed_word(r, "a dimension");
    if (!w)
        return false;
    if (w[0] < '0' || w[0] >= '0' + MAX_DIMS || w[1])
        return bad(r, DIAG_BAD_PLAN_TEXT, "a dimension is a number from 0 to %d", MAX_DIMS - 1);
    *out = (uint8_t)(w[0] - '0');
    return true;
}

/* ---- Lines ----------------------------------------------------------------------------------- */

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
        return bad(r, DIAG_PLAN_MISMATCH, "the program computes no stage '%s'; did you mean '%s'?",
                   name, near);
    return bad(r, DIAG_PLAN_MISMATCH, "the program computes no stage '%s'", name);
}

/* An image that kernels may copy: an input, or a stage. */
static bool image_by_name(PlanReader *r, const char *name, StageId *out)
{
    GRAPH_FOREACH_STAGE (r->g, id) {
        if (tessi_stage(r->g, id)->kind != STAGE_INPUT || !r->f->needed[id.v]
            || !tessi_streq(tessi_stage(r->g, id)->name, name))
            continue;
        *out = id;
        return true;
    }
    return stage_by_name(r, name, out);
}

static bool read_staged(PlanReader *r, bool constant)
{
    PlanStaged staged = { .in = constant ? STAGED_CONSTANT : STAGED_SHARED };
    const char *name = needed_word(r, "the name of an image");
    if (!name || !image_by_name(r, name, &staged.image))
        return false;
    const char *centre = word(r);
    if (!centre)
        return false;
    if (*centre && (constant || !tessi_streq(centre, "centre")))
        return bad(r, DIAG_BAD_PLAN_TEXT, "expected %sthe end of the line, not '%s'",
                   constant ? "" : "'centre' or ", centre);
    if (*centre)
        staged.in = STAGED_CENTRE;
    VEC_PUSH(r->arena, &r->group->staged, staged);
    return line_ends(r);
}

/* The loops of a group are those of its first stage, until said otherwise. */
static void natural_loops(PlanReader *r, StageId id)
{
    const Stage *t = tessi_plan_domain(r->g, id);
    r->group->n_dims = t->n_dims;
    for (uint8_t d = 0; d < MAX_DIMS; d++)
        r->group->order[d] = d;
}

static bool read_stage(PlanReader *r)
{
    StageId id = { 0 };
    const char *name = needed_word(r, "the name of a stage");
    if (!name || !stage_by_name(r, name, &id))
        return false;
    const char *how = needed_word(r, "a placement");
    if (!how)
        return false;
    Placement placement;
    if (!tessi_placement_by_name(how, &placement))
        return bad(r, DIAG_BAD_PLAN_TEXT, "'%s' is no placement", how);
    PlanStage *s = &r->p->stage[id.v];
    bool copied =
        r->placed[id.v] && tessi_placement_is_scratch(s->placement) && placement == PLACE_MEMORY;
    if (r->placed[id.v] && !copied)
        return bad(r, DIAG_PLAN_MISMATCH, "stage '%s' is placed twice", name);
    r->placed[id.v] = true;
    s->placement = placement;
    r->why = &s->reason;
    if (tessi_plan_is_inline(r->p, id))
        return line_ends(r);
    if (!r->group)
        return bad(r, DIAG_BAD_PLAN_TEXT, "stage '%s' is in no group", name);
    if (tessi_placement_is_scratch(placement)) {
        if (!r->pass)
            return bad(r, DIAG_BAD_PLAN_TEXT, "stage '%s' is in no pass", name);
        VEC_PUSH(r->arena, &r->pass->stages, id);
        return line_ends(r);
    }
    r->pass = NULL;
    if (!r->group->members.n)
        natural_loops(r, id);
    VEC_PUSH(r->arena, &r->group->members, id);
    return line_ends(r);
}

static bool read_loops(PlanReader *r)
{
    for (uint8_t d = 0; d < r->group->n_dims; d++) {
        if (!dimension(r, &r->group->order[d]))
            return false;
        for (uint8_t k = 0; k < d; k++)
            if (r->group->order[k] == r->group->order[d])
                return bad(r, DIAG_BAD_PLAN_TEXT, "dimension %d has two loops", r->group->order[d]);
    }
    return line_ends(r);
}

/* A number from 1 to `most`, of what `name` says. */
static bool read_number(PlanReader *r, const char *name, int64_t most, int64_t *out)
{
    const char *w = needed_word(r, tessi_sprintf(r->arena, "a number of %s", name));
    if (!w)
        return false;
    int64_t n = 0;
    for (const char *c = w; *c >= '0' && *c <= '9' && n <= most; c++)
        n = w[0] == '0' ? 0 : 10 * n + (*c - '0');
    if (n < 1 || n > most || !tessi_streq(w, tessi_sprintf(r->arena, "%lld", (long long)n)))
        return bad(r, DIAG_BAD_PLAN_TEXT, "%s are 1 to %lld, not '%s'", name, (long long)most, w);
    *out = n;
    return true;
}

/* One of a few words. */
static bool read_choice(PlanReader *r, const Knob *k)
{
    const bool split = k->kind == KNOB_SPLIT;
    const char *kinds = split ? "'none', 'interior', 'warp' or 'edges'" : "a kind of kernel";
    const char *w = needed_word(r, kinds);
    if (!w)
        return false;
    if (split && !tessi_split_by_name(w, &r->group->split))
        return bad(r, DIAG_BAD_PLAN_TEXT, "a split is %s, not '%s'", kinds, w);
    if (!split && !tessi_kernel_by_name(w, &r->group->kind_of_kernel))
        return bad(r, DIAG_BAD_PLAN_TEXT, "'%s' is no kind of kernel", w);
    return line_ends(r);
}

static bool read_sizes(PlanReader *r)
{
    for (uint8_t d = 0; d < MAX_DIMS; d++) {
        skip_blanks(r);
        if (d && r->at == r->end)
            return true;
        int64_t n;
        if (!read_number(r, "points of a tile", PLAN_MAX_TILE, &n))
            return false;
        r->group->levels.tile[d] = n;
    }
    return line_ends(r);
}

/* The numbers of a knob, and the last word of its line. */
static bool read_numbers(PlanReader *r, const Knob *k, PlanPass *pass)
{
    for (uint32_t i = 0; i < k->n; i++) {
        int64_t value;
        if (!read_number(r, k->number[i].unit, k->number[i].most, &value))
            return false;
        tessi_knob_set(k, i, r->group, pass, value);
    }
    const char *last = k->last ? word(r) : "";
    if (!last)
        return false;
    if (*last && !tessi_streq(last, k->last))
        return bad(r, DIAG_BAD_PLAN_TEXT, "expected '%s' or the end of the line, not '%s'", k->last,
                   last);
    if (k->flag != KNOB_NOWHERE && (!k->last || *last))
        tessi_knob_set_flag(k, r->group);
    return line_ends(r);
}

static bool read_dimension_of(PlanReader *r, const Knob *k)
{
    uint8_t d;
    if (!dimension(r, &d))
        return false;
    tessi_knob_set(k, 0, r->group, NULL, d);
    return line_ends(r);
}

static bool read_knob(PlanReader *r, const Knob *k)
{
    PlanPass *pass = r->pass && tessi_knob_is_of_pass(k) ? r->pass : NULL;
    if (k->where == KNOB_HEAD || tessi_streq(k->word, "stream")
            ? !r->group
            : !pass && (!r->group || !r->group->members.n))
        return bad(r, DIAG_BAD_PLAN_TEXT, "'%s' belongs to a group%s", k->word,
                   k->where == KNOB_HEAD ? "" : ", after its stages");
    switch (k->kind) {
    case KNOB_SIZES: return read_sizes(r);
    case KNOB_ORDER: return read_loops(r);
    case KNOB_DIMENSION: return read_dimension_of(r, k);
    case KNOB_KERNEL:
    case KNOB_SPLIT: return read_choice(r, k);
    case KNOB_COPY: return read_staged(r, tessi_streq(k->word, "constant"));
    case KNOB_NUMBERS: break;
    }
    return read_numbers(r, k, pass);
}

static bool read_pass(PlanReader *r)
{
    PlanPass pass = { 0 };
    if (!r->group)
        return bad(r, DIAG_BAD_PLAN_TEXT, "a pass belongs to a group");
    tessi_knobs_unset(NULL, &pass);
    VEC_PUSH(r->arena, &r->group->passes, pass);
    r->pass = &r->group->passes.at[r->group->passes.n - 1];
    r->of_pass.n = 0;
    return line_ends(r);
}

static bool read_width(PlanReader *r)
{
    int64_t n;
    if (!read_number(r, "bytes of a vector", PLAN_MOST_WIDTH, &n))
        return false;
    if (n < PLAN_LEAST_WIDTH || n & (n - 1))
        return bad(r, DIAG_BAD_PLAN_TEXT, "vectors have 16, 32 or 64 bytes, not '%d'", (int)n);
    r->p->width = (uint8_t)n;
    return line_ends(r);
}

static bool read_masks(PlanReader *r)
{
    const char *w = needed_word(r, "'written'");
    if (!w)
        return false;
    if (!tessi_streq(w, "written"))
        return bad(r, DIAG_BAD_PLAN_TEXT, "masks can be 'written', not '%s'", w);
    r->p->masks_written = true;
    return line_ends(r);
}

static bool read_target(PlanReader *r)
{
    const char *w = needed_word(r, "'cpu' or 'gpu'");
    if (!w)
        return false;
    if (!tessi_streq(w, "cpu") && !tessi_streq(w, "gpu"))
        return bad(r, DIAG_BAD_PLAN_TEXT, "a target is 'cpu' or 'gpu', not '%s'", w);
    r->p->gpu = tessi_streq(w, "gpu");
    return line_ends(r);
}

static bool read_reason(PlanReader *r)
{
    skip_blanks(r);
    while (r->end > r->at && (r->end[-1] == '\r' || r->end[-1] == ' '))
        r->end--;
    if (!r->why)
        return bad(r, DIAG_BAD_PLAN_TEXT, "a reason belongs to a plan, a stage or a group");
    const char *line = tessi_strndup(r->arena, r->at, (size_t)(r->end - r->at));
    *r->why = **r->why ? tessi_sprintf(r->arena, "%s\n%s", *r->why, line) : line;
    return true;
}

static bool read_group(PlanReader *r)
{
    const char *name = needed_word(r, "the name of a group");
    if (!name)
        return false;
    PlanGroup group = { .name = name, .reason = "" };
    tessi_knobs_unset(&group, NULL);
    tessi_levels_one_by_one(&group.levels);
    VEC_PUSH(r->arena, &r->p->groups, group);
    r->group = &r->p->groups.at[r->p->groups.n - 1];
    r->pass = NULL;
    r->of_group.n = 0;
    r->why = &r->group->reason;
    return line_ends(r);
}

/* Lines that there may be several of: the others say what a later one would take back. */
static bool may_repeat(const char *key)
{
    static const char *const keys[] = { "stage", "group", "pass", "why" };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (tessi_streq(key, keys[i]))
            return true;
    const Knob *k = tessi_knob_by_word(key);
    return k && k->where == KNOB_COPIES;
}

static bool check_repeated(PlanReader *r, const char *key)
{
    const bool of_plan = tessi_streq(key, "plan") || tessi_streq(key, "machine")
                         || tessi_streq(key, "target") || tessi_streq(key, "width")
                         || tessi_streq(key, "masks");
    const Knob *k = tessi_knob_by_word(key);
    const bool of_pass = r->pass && k && tessi_knob_is_of_pass(k);
    Words *seen = of_plan ? &r->of_plan : of_pass ? &r->of_pass : &r->of_group;
    if (may_repeat(key))
        return true;
    VEC_FOREACH (const char *, other, seen)
        if (tessi_streq(key, *other))
            return bad(r, DIAG_BAD_PLAN_TEXT, "'%s' is said twice of the same %s", key,
                       of_plan   ? "plan"
                       : of_pass ? "pass"
                                 : "group");
    VEC_PUSH(r->arena, seen, key);
    return true;
}

static bool read_line(PlanReader *r)
{
    skip_blanks(r);
    if (r->at == r->end || *r->at == '#')
        return true;
    const char *key = word(r);
    if (!key || !check_repeated(r, key))
        return false;
    if (tessi_streq(key, "why"))
        return read_reason(r);
    if (tessi_streq(key, "stage"))
        return read_stage(r);
    if (tessi_streq(key, "group"))
        return read_group(r);
    if (tessi_streq(key, "plan") || tessi_streq(key, "machine")) {
        const char *name = needed_word(r, "a name");
        if (!name)
            return false;
        *(tessi_streq(key, "plan") ? &r->p->graph : &r->p->machine) = name;
        r->why = &r->p->reason;
        return line_ends(r);
    }
    if (tessi_streq(key, "width"))
        return read_width(r);
    if (tessi_streq(key, "pass"))
        return read_pass(r);
    if (tessi_streq(key, "target"))
        return read_target(r);
    if (tessi_streq(key, "masks"))
        return read_masks(r);
    const Knob *k = tessi_knob_by_word(key);
    if (k)
        return read_knob(r, k);
    return bad(r, DIAG_BAD_PLAN_TEXT, "no line of a plan begins with '%s'", key);
}

Plan *tessi_plan_read(Arena *a, Diags *d, const Graph *g, const char *text, size_t n)
{
    PlanReader r = { .arena = a, .diags = d, .g = g, .f = tessi_plan_facts(a, g) };
    r.p = tessi_plan_empty(r.f, "");
    r.placed = ARENA_NEW_ARRAY(a, bool, g->stages.n);
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
        bad(&r, DIAG_PLAN_MISMATCH, "it says nothing about stage '%s'", tessi_stage(g, id)->name);
        return NULL;
    }
    const char *fault = tessi_plan_verify(a, r.p, g);
    if (!fault)
        return r.p;
    tessi_diag(d, DIAG_PLAN_MISMATCH, (Span){ 0 }, fault);
    return NULL;
}
