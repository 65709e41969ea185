/* The text of a plan, read back. Lines:
 *
 *   plan NAME            machine NAME      target gpu|cpu     width BYTES
 *   stage NAME PLACEMENT (before the first group: inlined stages; in a group: its members)
 *   group NAME           loops D...   parallel D   strip N   vector D   rows N   columns N   band N   split none|interior|warp|edges   tile N...   stream
 *                        kernel KIND  block X Y    outputs X Y   resident N   packed   march LEAST MOST BLOCKS
 *                        frame ROWS COLUMNS ROWS COLUMNS (of GPUs)
 *   pass                 (in a group with tiles, before its members: stages computed into scratch memory; may have rows N)
 *                        shared IMAGE [centre]   constant IMAGE (of kernels of points)
 *   why TEXT             (belongs to the group or stage before it; in the head, to the plan)
 *
 * and comments from '#' at the beginning of a line. Names with blanks stand in double quotes. */
#include <string.h>

#include "graph/graph_transform.h"
#include "plan/plan_base.h"

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

/* ---- Words -------------------------------------------------------------------------------------------------------------- */

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

/* ---- Lines ---------------------------------------------------------------------------------------------------------------- */

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
    const Stage *t = tessi_stage(r->g, id);
    if (t->kind == STAGE_REDUCE || t->kind == STAGE_HISTOGRAM)
        t = tessi_stage(r->g, t->source);
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

static bool read_split(PlanReader *r)
{
    static const char kinds[] = "'none', 'interior', 'warp' or 'edges'";
    const char *w = needed_word(r, kinds);
    if (!w)
        return false;
    if (!tessi_split_by_name(w, &r->group->split))
        return bad(r, DIAG_BAD_PLAN_TEXT, "a split is %s, not '%s'", kinds, w);
    return line_ends(r);
}

/* A number from 1 to `most`, of what `name` says. */
static bool read_number(PlanReader *r, const char *name, int most, int *out)
{
    const char *w = needed_word(r, tessi_sprintf(r->arena, "a number of %s", name));
    if (!w)
        return false;
    int n = 0;
    for (const char *c = w; *c >= '0' && *c <= '9' && n <= most; c++)
        n = w[0] == '0' ? 0 : 10 * n + (*c - '0');
    if (n < 1 || n > most || !tessi_streq(w, tessi_sprintf(r->arena, "%d", n)))
        return bad(r, DIAG_BAD_PLAN_TEXT, "%s are 1 to %d, not '%s'", name, most, w);
    *out = n;
    return true;
}

static bool read_rows(PlanReader *r)
{
    int n;
    if (!read_number(r, "rows", PLAN_MAX_ROWS, &n))
        return false;
    *(r->pass ? &r->pass->rows : &r->group->rows) = (uint8_t)n;
    return line_ends(r);
}

static bool read_columns(PlanReader *r)
{
    int n;
    if (!read_number(r, "columns", PLAN_MAX_COLUMNS, &n))
        return false;
    r->group->columns = (uint8_t)n;
    return line_ends(r);
}

static bool read_band(PlanReader *r)
{
    int n;
    if (!read_number(r, "rows", PLAN_MAX_BAND, &n))
        return false;
    *(r->pass ? &r->pass->band : &r->group->band) = (uint16_t)n;
    return line_ends(r);
}

static bool read_tile(PlanReader *r)
{
    for (uint8_t d = 0; d < MAX_DIMS; d++) {
        const char *w = word(r);
        int64_t n = 0;
        if (!w)
            return false;
        if (!*w)
            return d > 0 || bad(r, DIAG_BAD_PLAN_TEXT, "expected the size of a tile");
        for (const char *c = w; *c >= '0' && *c <= '9' && n <= PLAN_MAX_TILE; c++)
            n = w[0] == '0' ? 0 : 10 * n + (*c - '0');
        if (n < 1 || n > PLAN_MAX_TILE
            || !tessi_streq(w, tessi_sprintf(r->arena, "%lld", (long long)n)))
            return bad(r, DIAG_BAD_PLAN_TEXT, "a tile has 1 to %d points a dimension, not '%s'",
                       PLAN_MAX_TILE, w);
        r->group->tile[d] = n;
    }
    return line_ends(r);
}

static bool read_roll(PlanReader *r)
{
    int n;
    if (!read_number(r, "rows", PLAN_MAX_ROLL, &n))
        return false;
    r->group->roll = (uint16_t)n;
    return line_ends(r);
}

static bool read_pass(PlanReader *r)
{
    PlanPass pass = { .rows = 1, .outputs = { 1, 1 } };
    if (!r->group)
        return bad(r, DIAG_BAD_PLAN_TEXT, "a pass belongs to a group");
    VEC_PUSH(r->arena, &r->group->passes, pass);
    r->pass = &r->group->passes.at[r->group->passes.n - 1];
    r->of_pass.n = 0;
    return line_ends(r);
}

static bool read_kernel(PlanReader *r)
{
    const char *w = needed_word(r, "a kind of kernel");
    if (!w)
        return false;
    if (!tessi_kernel_by_name(w, &r->group->kernel))
        return bad(r, DIAG_BAD_PLAN_TEXT, "'%s' is no kind of kernel", w);
    return line_ends(r);
}

static bool read_block(PlanReader *r)
{
    int x, y;
    if (!read_number(r, "threads", PLAN_MAX_BLOCK, &x)
        || !read_number(r, "threads", PLAN_MAX_BLOCK, &y))
        return false;
    r->group->block[0] = (uint16_t)x;
    r->group->block[1] = (uint16_t)y;
    return line_ends(r);
}

static bool read_outputs(PlanReader *r)
{
    int x, y;
    if (!read_number(r, "outputs", PLAN_MAX_OUTPUTS, &x)
        || !read_number(r, "outputs", PLAN_MAX_OUTPUTS, &y))
        return false;
    uint8_t *outputs = r->pass ? r->pass->outputs : r->group->outputs;
    outputs[0] = (uint8_t)x;
    outputs[1] = (uint8_t)y;
    return line_ends(r);
}

static bool read_transform(PlanReader *r)
{
    int rows, columns;
    if (!read_number(r, "rows", MOST_TRANSFORM, &rows)
        || !read_number(r, "columns", PLAN_MAX_STRIP, &columns))
        return false;
    r->group->transform = (uint16_t)rows;
    r->group->strip = (uint16_t)columns;
    return line_ends(r);
}

static bool read_median(PlanReader *r, bool counts)
{
    int rows, columns;
    if (!read_number(r, "rows", PLAN_MAX_STRIP, &rows)
        || !read_number(r, "columns", PLAN_MAX_STRIP, &columns))
        return false;
    r->group->median = (uint16_t)rows;
    r->group->counts = counts;
    r->group->strip = (uint16_t)columns;
    return line_ends(r);
}

static bool read_march(PlanReader *r)
{
    int least, most, blocks;
    if (!read_number(r, "rows", PLAN_MAX_MARCH, &least)
        || !read_number(r, "rows", PLAN_MAX_MARCH, &most)
        || !read_number(r, "blocks", PLAN_MAX_MARCH_BLOCKS, &blocks))
        return false;
    const char *ahead = word(r);
    if (!ahead)
        return false;
    if (*ahead && !tessi_streq(ahead, "ahead"))
        return bad(r, DIAG_BAD_PLAN_TEXT, "expected 'ahead' or the end of the line, not '%s'",
                   ahead);
    r->group->march = (PlanMarch){ .least = (uint16_t)least,
                                   .most = (uint16_t)most,
                                   .blocks = (uint32_t)blocks,
                                   .ahead = *ahead };
    return line_ends(r);
}

static bool read_resident(PlanReader *r)
{
    int n;
    if (!read_number(r, "blocks", PLAN_MAX_RESIDENT, &n))
        return false;
    r->group->resident = (uint8_t)n;
    return line_ends(r);
}

static bool read_frame(PlanReader *r)
{
    for (int side = 0; side < 2; side++) {
        int rows, columns;
        if (!read_number(r, "rows", PLAN_MAX_FRAME, &rows)
            || !read_number(r, "columns", PLAN_MAX_FRAME, &columns))
            return false;
        r->group->frame.rows[side] = (uint16_t)rows;
        r->group->frame.columns[side] = (uint16_t)columns;
    }
    return line_ends(r);
}

static bool read_width(PlanReader *r)
{
    int n;
    if (!read_number(r, "bytes of a vector", PLAN_MOST_WIDTH, &n))
        return false;
    if (n < PLAN_LEAST_WIDTH || n & (n - 1))
        return bad(r, DIAG_BAD_PLAN_TEXT, "vectors have 16, 32 or 64 bytes, not '%d'", n);
    r->p->width = (uint8_t)n;
    return line_ends(r);
}

static bool read_strip(PlanReader *r)
{
    int n;
    if (!read_number(r, "rows of a strip", PLAN_MAX_STRIP_ROWS, &n))
        return false;
    r->group->strip_rows = (uint16_t)n;
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
    PlanGroup group = { .name = name,
                        .parallel = -1,
                        .vector = -1,
                        .rows = 1,
                        .columns = 1,
                        .reason = "",
                        .block = { 1, 1 },
                        .outputs = { 1, 1 } };
    VEC_PUSH(r->arena, &r->p->groups, group);
    r->group = &r->p->groups.at[r->p->groups.n - 1];
    r->pass = NULL;
    r->of_group.n = 0;
    r->why = &r->group->reason;
    return line_ends(r);
}

static bool read_dimension_of(PlanReader *r, int8_t *out)
{
    uint8_t d;
    if (!dimension(r, &d))
        return false;
    *out = (int8_t)d;
    return line_ends(r);
}

/* Lines that there may be several of: the others say what a later one would take back. */
static bool may_repeat(const char *key)
{
    static const char *const keys[] = { "stage", "group", "pass", "why", "shared", "constant" };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (tessi_streq(key, keys[i]))
            return true;
    return false;
}

/* The line speaks of the pass begun last. */
static bool is_of_pass(const PlanReader *r, const char *key)
{
    return r->pass
           && (tessi_streq(key, "rows") || tessi_streq(key, "outputs") || tessi_streq(key, "band"));
}

static bool check_repeated(PlanReader *r, const char *key)
{
    const bool of_plan = tessi_streq(key, "plan") || tessi_streq(key, "machine")
                         || tessi_streq(key, "target") || tessi_streq(key, "width");
    const bool of_pass = is_of_pass(r, key);
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
    if (tessi_streq(key, "tile") || tessi_streq(key, "roll") || tessi_streq(key, "stream")) {
        if (!r->group)
            return bad(r, DIAG_BAD_PLAN_TEXT, "'%s' belongs to a group", key);
        if (tessi_streq(key, "tile"))
            return read_tile(r);
        if (tessi_streq(key, "roll"))
            return read_roll(r);
        r->group->stream = true;
        return line_ends(r);
    }
    const bool of_pass = is_of_pass(r, key);
    if (tessi_streq(key, "target"))
        return read_target(r);
    bool of_group =
        tessi_streq(key, "loops") || tessi_streq(key, "parallel") || tessi_streq(key, "vector")
        || tessi_streq(key, "rows") || tessi_streq(key, "columns") || tessi_streq(key, "split")
        || tessi_streq(key, "kernel") || tessi_streq(key, "block") || tessi_streq(key, "outputs")
        || tessi_streq(key, "resident") || tessi_streq(key, "packed")
        || tessi_streq(key, "transform") || tessi_streq(key, "histogram")
        || tessi_streq(key, "count") || tessi_streq(key, "march") || tessi_streq(key, "shared")
        || tessi_streq(key, "constant") || tessi_streq(key, "frame") || tessi_streq(key, "strip")
        || tessi_streq(key, "band");
    if (of_group && !of_pass && (!r->group || !r->group->members.n))
        return bad(r, DIAG_BAD_PLAN_TEXT, "'%s' belongs to a group, after its stages", key);
    if (tessi_streq(key, "loops"))
        return read_loops(r);
    if (tessi_streq(key, "parallel"))
        return read_dimension_of(r, &r->group->parallel);
    if (tessi_streq(key, "strip"))
        return read_strip(r);
    if (tessi_streq(key, "vector"))
        return read_dimension_of(r, &r->group->vector);
    if (tessi_streq(key, "rows"))
        return read_rows(r);
    if (tessi_streq(key, "columns"))
        return read_columns(r);
    if (tessi_streq(key, "band"))
        return read_band(r);
    if (tessi_streq(key, "split"))
        return read_split(r);
    if (tessi_streq(key, "kernel"))
        return read_kernel(r);
    if (tessi_streq(key, "block"))
        return read_block(r);
    if (tessi_streq(key, "outputs"))
        return read_outputs(r);
    if (tessi_streq(key, "resident"))
        return read_resident(r);
    if (tessi_streq(key, "march"))
        return read_march(r);
    if (tessi_streq(key, "frame"))
        return read_frame(r);
    if (tessi_streq(key, "transform"))
        return read_transform(r);
    if (tessi_streq(key, "histogram") || tessi_streq(key, "count"))
        return read_median(r, tessi_streq(key, "count"));
    if (tessi_streq(key, "shared") || tessi_streq(key, "constant"))
        return read_staged(r, tessi_streq(key, "constant"));
    if (tessi_streq(key, "packed")) {
        r->group->packed = true;
        return line_ends(r);
    }
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
