/* A whole program in C: tables, one static function for each group, and the public function that checks the sizes,
 * makes the intermediate images and calls the groups in order. */
#include "emit/c_file.h"
#include "loop/loop_passes.h"
#include "loop/loop_repeat.h"
#include "loop/pass.h"

/* What the groups of a program need together, and how they are called. */
typedef struct Groups {
    VEC(const char *) calls;
    LoopSame same;
    CSplit **split;         /* of the functions that are written, by number */
    CParameters *list;      /* of the functions that are written, by number */
    CParameters parameters; /* of all of them, with repetitions */
    bool *buffer_used;      /* by LBufferId */
    bool parts_used;
} Groups;

typedef struct GroupCalls {
    CWriter *w;
    const Groups *groups;
    const char *ended; /* Workspace.ended */
} GroupCalls;

/* ---- Groups ---------------------------------------------------------------------------------- */

static const char *call_of(CWriter *w, const char *name, const CParameters *list)
{
    Text call = tessi_text_new(w->arena);
    tessi_text_addf(&call, "%s(", name);
    for (uint32_t i = 0; i < list->n; i++)
        tessi_text_addf(&call, "%s%s", i ? ", " : "", list->at[i].name);
    tessi_text_add(&call, ");");
    return tessi_text_str(&call);
}

/* The variable that decides whether the stores of a block bypass the caches, or none. */
static LVarId stream_condition(const CWriter *w, const LBlock *block)
{
    PASS_FOREACH (s, block) {
        const LExpr *condition = tessi_lexpr(w->p, s->b);
        if (s->kind == LSTMT_STORE && condition->kind == LEXPR_VAR)
            return condition->var;
    }
    return (LVarId){ 0 };
}

/* A group that differs from function `first` in its images alone calls that with its own. */
static void call_with_own_images(CWriter *w, uint32_t number, const char *name, Groups *groups)
{
    const LoopTwins *twins = &groups->same.twins[number];
    CParameters list = { 0 };
    VEC_FOREACH (const CParameter, parameter, &groups->list[groups->same.first[number]]) {
        CParameter own = *parameter;
        VEC_FOREACH (const LoopTwin, twin, twins) {
            if (parameter->name != w->buffer[twin->first.v])
                continue;
            own.name = w->buffer[twin->here.v];
            groups->buffer_used[twin->here.v] = true;
        }
        VEC_PUSH(w->arena, &list, own);
    }
    VEC_PUSH(w->arena, &groups->calls, call_of(w, name, &list));
}

/* Its comment, which names the images of the first group, holds for the others too. */
static void group_comment(CWriter *w, const LFunction *f, uint32_t n_same)
{
    const char *comment = f->comment ? f->comment : "";
    if (n_same > 1)
        comment = tessi_sprintf(w->arena, "%s%sCalled for %u groups, which differ in their images.",
                                comment, *comment ? "\n" : "", (unsigned)n_same);
    if (*comment)
        tessi_c_comment(w, comment);
}

/* Writes one group as a static function. */
static void group(CWriter *w, uint32_t number, const char *name, Groups *groups)
{
    const LFunction *f = &w->p->functions.at[number];
    Text *out = w->out, body;
    tessi_loop_needs(w->p, f, w->arena, &w->needs);
    tessi_c_forget_uses(w);
    body = tessi_text_new(w->arena);
    w->out = &body; /* the body first: it says which parameters the function needs */
    w->indent++;
    w->stream_if = stream_condition(w, &f->body);
    w->split = groups->split[number];
    tessi_c_block(w, &f->body);
    if (w->streamed)
        tessi_c_line(w, "TESS_STREAM_END();");
    w->streamed = false;
    w->indent--;
    w->out = out;

    CParameters list = tessi_c_parameters(w, C_USED);
    tessi_text_addf(out, "%s\n", tessi_text_str(&w->split->text));
    w->split = NULL;
    group_comment(w, f, groups->same.n_same[number]);
    tessi_c_signature(w, "static void ", name, &list, "");
    tessi_text_addf(out, "{\n%s}\n", tessi_text_str(&body));

    VEC_PUSH(w->arena, &groups->calls, call_of(w, name, &list));
    groups->list[number] = list;
    VEC_APPEND(w->arena, &groups->parameters, &list);
    for (uint32_t i = 1; i < w->p->buffers.n; i++)
        groups->buffer_used[i] = groups->buffer_used[i] || w->buffer_used[i];
    groups->parts_used = groups->parts_used || w->parts_used;
}

/* ---- Tables ---------------------------------------------------------------------------------- */

static void table_value(Text *out, ScalarType t, Value v)
{
    uint16_t bits;
    if (t == TYPE_F16) {
        tessi_store_element(t, &bits, v);
        tessi_text_addf(out, "0x%04x", (unsigned)bits);
    } else if (t == TYPE_BOOL) {
        tessi_text_add(out, v.i ? "1" : "0");
    } else {
        tessi_c_constant(out, t, v);
    }
}

/* How many rows, planes, ... (not the table itself) have an edge at element i. */
static int edges(const CWriter *w, const LBuffer *b, uint32_t i)
{
    uint32_t span = 1;
    int n = 0;
    for (int d = b->n_dims - 1; d > 0; d--) {
        span *= (uint32_t)tessi_lexpr(w->p, b->size[d])->value.i;
        n += i % span == 0;
    }
    return n;
}

void tessi_c_table(CWriter *w, const LBuffer *b, const char *storage, const char *name)
{
    tessi_text_add(w->out, "\n");
    tessi_text_addf(&w->line, "%s %s %s", storage, tessi_c_element(b->type), name);
    for (int d = 0; d < b->n_dims; d++)
        tessi_text_addf(&w->line, "[%lld]", (long long)tessi_lexpr(w->p, b->size[d])->value.i);
    tessi_text_add(&w->line, b->n_dims ? " = {" : "[1] = {");
    tessi_c_end_line(w);
    w->indent++;
    for (uint32_t i = 0; i < b->n_table; i++) {
        int ends = edges(w, b, i + 1);
        tessi_text_addf(&w->line, "%.*s", edges(w, b, i), "{{{{");
        table_value(&w->line, b->type, b->table[i]);
        tessi_text_addf(&w->line, "%.*s,", ends, "}}}}");
        if (ends || i + 1 == b->n_table)
            tessi_c_end_line(w);
        else
            tessi_text_add(&w->line, " ");
    }
    w->indent--;
    tessi_text_add(w->out, "};\n");
}

/* The tables among the buffers that are used; they have their names. */
static void used_tables(CWriter *w, const bool *used)
{
    for (uint32_t i = 1; i < w->p->buffers.n; i++)
        if (w->p->buffers.at[i].kind == LBUF_TABLE && used[i])
            tessi_c_table(w, &w->p->buffers.at[i], w->target->table, w->buffer[i]);
}

/* ---- The public function --------------------------------------------------------------------- */

/* Adds a size to a list without repetition, unless it is a positive constant. */
typedef VEC(LExprId) Sizes;
static void add_size(CWriter *w, Sizes *sizes, LExprId size)
{
    const LExpr *e = tessi_lexpr(w->p, size);
    if (e->kind == LEXPR_CONST && e->value.i >= 1)
        return;
    for (uint32_t i = 0; i < sizes->n; i++)
        if (sizes->at[i].v == size.v)
            return;
    VEC_PUSH(w->arena, sizes, size);
}

void tessi_c_check_sizes(CWriter *w, const char *otherwise)
{
    const LoopProgram *p = w->p;
    Sizes sizes = { 0 };
    for (uint32_t i = 0; i < p->inputs.n + p->outputs.n; i++) {
        const LImage *im = i < p->inputs.n ? &p->inputs.at[i] : &p->outputs.at[i - p->inputs.n];
        for (int d = 0; d < im->n_dims; d++)
            add_size(w, &sizes, im->size[d]);
    }
    VEC_FOREACH (LExprId, size, &p->must_be_positive)
        add_size(w, &sizes, *size);
    VEC_FOREACH (LBuffer, b, &p->buffers)
        for (int d = 0; b->kind == LBUF_TEMP && d < b->n_dims; d++)
            add_size(w, &sizes, b->size[d]);
    if (!sizes.n)
        return;
    tessi_text_add(&w->line, "if (");
    for (uint32_t i = 0; i < sizes.n; i++) {
        tessi_text_add(&w->line, i ? " || " : "");
        tessi_c_expr(w, sizes.at[i], C_SUM);
        tessi_text_add(&w->line, " < 1");
    }
    tessi_text_add(&w->line, ")");
    tessi_c_end_line(w);
    tessi_text_addf(w->out, "%*s%s\n", (w->indent + 1) * C_INDENT, "", otherwise);
}

void tessi_c_check_equal(CWriter *w, const char *otherwise)
{
    const LExprId *pair = w->p->must_be_equal.at;
    if (!w->p->must_be_equal.n)
        return;
    tessi_text_add(&w->line, "if (");
    for (uint32_t i = 0; i < w->p->must_be_equal.n; i += 2) {
        tessi_text_add(&w->line, i ? " || " : "");
        tessi_c_expr(w, pair[i], C_SUM);
        tessi_text_add(&w->line, " != ");
        tessi_c_expr(w, pair[i + 1], C_SUM);
    }
    tessi_text_add(&w->line, ")");
    tessi_c_end_line(w);
    tessi_text_addf(w->out, "%*s%s\n", (w->indent + 1) * C_INDENT, "", otherwise);
}

/* ---- The workspace --------------------------------------------------------------------------- */

/* Names of the file's helpers, and variables of the function that lays the workspace out. */
typedef struct Workspace {
    const char *pitch, *end;    /* functions */
    const char *memory, *bytes; /* variables */
    const char *ended; /* likewise: how loops with conditions ended; NULL: there are none */
} Workspace;

static bool is_used_temp(const CWriter *w, const Groups *groups, uint32_t id)
{
    return w->p->buffers.at[id].kind == LBUF_TEMP && groups->buffer_used[id];
}

static void workspace_functions(CWriter *w, const Workspace *names)
{
    tessi_text_add(w->out, "\n");
    if (w->pitches.n) {
        tessi_c_comment(w, "Elements from one row of an intermediate image to the next: an odd "
                           "number of cache lines, so that\nrows above each other do not compete "
                           "for the same places in the cache.");
        tessi_c_line(w, "static ptrdiff_t %s(ptrdiff_t row, ptrdiff_t line)", names->pitch);
        tessi_text_add(
            w->out, "{\n"
                    "    return row <= 4 * line ? row : (((row + line - 1) / line) | 1) * line;\n"
                    "}\n\n");
    }
    tessi_c_comment(w, "Where an intermediate image of n0 * n1 * n2 * n3 elements ends that begins "
                       "at byte `begin` of the\nworkspace; PTRDIFF_MAX when it is too large.");
    tessi_c_line(w,
                 "static ptrdiff_t %s(ptrdiff_t begin, ptrdiff_t element, ptrdiff_t n0, "
                 "ptrdiff_t n1, ptrdiff_t n2, ptrdiff_t n3)",
                 names->end);
    tessi_text_addf(w->out,
                    "{\n"
                    "    const ptrdiff_t n[4] = { n0, n1, n2, n3 };\n"
                    "    ptrdiff_t bytes = element;\n"
                    "    for (int d = 0; d < 4; d++) {\n"
                    "        if (bytes > PTRDIFF_MAX / 2 / n[d])\n"
                    "            return PTRDIFF_MAX;\n"
                    "        bytes *= n[d];\n"
                    "    }\n"
                    "    bytes = (bytes + %d) / %d * %d + %d;\n"
                    "    return bytes > PTRDIFF_MAX - begin ? PTRDIFF_MAX : begin + bytes;\n"
                    "}\n",
                    LAYOUT_PAGE - 1, LAYOUT_PAGE, LAYOUT_PAGE, LAYOUT_SKEW);
}

static void call_end(CWriter *w, const Workspace *names, uint32_t id, const char *begin)
{
    const LBuffer *b = &w->p->buffers.at[id];
    tessi_text_addf(&w->line, "%s(%s, sizeof(%s)", names->end, begin, tessi_c_element(b->type));
    for (int d = 0; d < LOOP_MAX_DIMS; d++) {
        tessi_text_add(&w->line, ", ");
        if (d == b->n_dims - 1 && w->pitch_of[id])
            tessi_text_add(&w->line, w->pitches.at[w->pitch_of[id] - 1].name);
        else if (d < b->n_dims)
            tessi_c_expr(w, b->size[d], C_LOOSE);
        else
            tessi_text_add(&w->line, "1");
    }
    tessi_text_add(&w->line, ")");
}

static void define_pitches(CWriter *w, const Workspace *names)
{
    VEC_FOREACH (const CPitch, pitch, &w->pitches) {
        tessi_text_addf(&w->line, "const ptrdiff_t %s = %s(", pitch->name, names->pitch);
        tessi_c_expr(w, pitch->row, C_LOOSE);
        tessi_text_addf(&w->line, ", %u);", pitch->line);
        tessi_c_end_line(w);
    }
}

/* Where the slots begin: place 0 the first, the place behind the last is their end. The end of a slot is that of its
 * largest image. */
static const char **define_places(CWriter *w, const Workspace *names)
{
    const LoopLayout *layout = &w->layout;
    const char **place = ARENA_NEW_ARRAY(w->arena, const char *, layout->n_slots + 1);
    const uint32_t n_places = layout->n_slots + (layout->thread_bytes > 0);
    place[0] = "0";
    for (uint32_t slot = 1; slot <= layout->n_slots; slot++) {
        place[slot] = tessi_c_name(w->names, slot < n_places ? "place" : "end");
        const LBuffer *first = NULL;
        for (uint32_t i = 1; i < w->p->buffers.n; i++) {
            const LBuffer *b = &w->p->buffers.at[i];
            if (layout->slot[i] != slot || (first && tessi_loop_same_shape(first, b)))
                continue;
            const char *largest = slot < n_places ? "place" : "end";
            if (first) {
                largest = tessi_c_name(w->names, largest);
                tessi_text_addf(&w->line, "const ptrdiff_t %s = tess_max_idx(%s, ", largest,
                                place[slot]);
                call_end(w, names, i, place[slot - 1]);
                tessi_text_add(&w->line, ");");
                place[slot] = largest;
            } else {
                tessi_text_addf(&w->line, "const ptrdiff_t %s = ", place[slot]);
                call_end(w, names, i, place[slot - 1]);
                tessi_text_add(&w->line, ";");
            }
            tessi_c_end_line(w);
            first = b;
        }
    }
    return place;
}

/* The parts of the threads, behind the slots. Returns the end of the workspace. */
static const char *define_parts(CWriter *w, const Groups *groups, const Workspace *names,
                                const char *begin)
{
    if (!groups->parts_used)
        return begin;
    const char *end = tessi_c_name(w->names, "end");
    tessi_c_line(w, "const ptrdiff_t %s = %s(%s, %lld, TESS_THREADS, 1, 1, 1);", end, names->end,
                 begin, (long long)w->layout.thread_bytes);
    return end;
}

static LPlace place_of(void *user, uint32_t i)
{
    const CWriter *w = ((const GroupCalls *)user)->w;
    return w->p->functions.at[i].place;
}

static void put_call(void *user, uint32_t i)
{
    const GroupCalls *calls = user;
    tessi_c_line(calls->w, "%s", calls->groups->calls.at[i]);
}

static void ask_condition(void *user, LBufferId condition, const char *met)
{
    CWriter *w = ((const GroupCalls *)user)->w;
    tessi_c_line(w, "%s = %s[0];", met, w->buffer[condition.v]);
}

static void say_how_it_ended(void *user, const LRepeat *r, const char *turns, const char *met)
{
    const GroupCalls *calls = user;
    CWriter *w = calls->w;
    const unsigned at = 2 * (r->loop - 1);
    const char *by = r->by > 1 ? tessi_sprintf(w->arena, " * %u", (unsigned)r->by) : "";
    tessi_c_line(w, "if (%s) {", calls->ended);
    w->indent++;
    tessi_c_line(w, "%s[%u] %s= %s%s;", calls->ended, at, r->unless_met ? "+" : "", turns, by);
    if (!r->unless_met)
        tessi_c_line(w, "%s[%u] = %s;", calls->ended, at + 1, met);
    w->indent--;
    tessi_c_line(w, "}");
}

static void call_groups(CWriter *w, const Groups *groups, const char *ended)
{
    const char *before = tessi_c_name(w->names, "rounding");
    tessi_c_line(w, "const tess_rounding %s = tess_round_to_nearest();", before);
    GroupCalls calls = { w, groups, ended };
    tessi_c_calls(w, &(CCalls){ groups->calls.n, place_of, put_call, ask_condition,
                                ended ? say_how_it_ended : NULL, &calls });
    tessi_c_line(w, "tess_round_as(%s);", before);
    tessi_c_line(w, "return 0;");
}

/* Small images on the stack. */
static void define_arrays(CWriter *w, const Groups *groups)
{
    for (uint32_t i = 1; i < w->p->buffers.n; i++) {
        int64_t bytes = tessi_loop_stack_bytes(w->p, (LBufferId){ i });
        const LBuffer *b = &w->p->buffers.at[i];
        if (bytes && !w->layout.slot[i] && is_used_temp(w, groups, i))
            tessi_c_line(w, "%s %s[%lld];", tessi_c_element(b->type), w->buffer[i],
                         (long long)bytes / tessi_type_info(b->type)->bytes);
    }
}

/* Between the checks and the end of the function that has the workspace. */
static void run_in_workspace(CWriter *w, const Groups *groups, const Workspace *names)
{
    define_pitches(w, names);
    const char **place = define_places(w, names), *behind = place[w->layout.n_slots],
               *end = define_parts(w, groups, names, behind);
    if (w->layout.n_slots || groups->parts_used) {
        tessi_c_line(w, "if (%s > *%s) {", end, names->bytes);
        tessi_c_line(w, "%*s*%s = %s;", C_INDENT, "", names->bytes, end);
        tessi_c_line(w, "%*sreturn 3;", C_INDENT, "");
        tessi_c_line(w, "}");
    } else {
        tessi_c_line(w, "(void)%s, (void)%s;", names->memory, names->bytes);
    }
    for (uint32_t i = 1; i < w->p->buffers.n; i++) {
        if (!w->layout.slot[i] || !is_used_temp(w, groups, i))
            continue;
        const char *type = tessi_c_element(w->p->buffers.at[i].type);
        tessi_c_line(w, "%s *const %s = (%s *)(%s + %s);", type, w->buffer[i], type, names->memory,
                     place[w->layout.slot[i] - 1]);
    }
    if (groups->parts_used)
        tessi_c_line(w, "unsigned char *const %s = %s + %s;", w->parts, names->memory, behind);
    define_arrays(w, groups);
    call_groups(w, groups, names->ended);
}

static bool contains(const CParameters *list, const char *name)
{
    VEC_FOREACH (CParameter, parameter, list)
        if (tessi_streq(parameter->name, name))
            return true;
    return false;
}

/* Parameters nobody uses, so that compilers do not warn about them. */
static void mention_unused(CWriter *w, const Groups *groups)
{
    CParameters all = tessi_c_parameters(w, C_DEFINED), here = tessi_c_parameters(w, C_USED);
    VEC_FOREACH (CParameter, parameter, &all)
        if (!contains(&groups->parameters, parameter->name) && !contains(&here, parameter->name))
            tessi_c_line(w, "(void)%s;", parameter->name);
}

static void head(CWriter *w, const char *before, const char *name, const char *after)
{
    tessi_text_addf(&w->line, "%sint %s(", before, name);
    CParameters list = tessi_c_parameters(w, C_DEFINED);
    tessi_c_declare(w, &list);
    tessi_text_addf(&w->line, "%s%s)", list.n && *after ? ", " : "", after);
    tessi_c_end_line(w);
}

/* A function with all parameters of the program and its groups called in order; in the given workspace, unless it is
 * NULL. */
static void running_function(CWriter *w, const Groups *groups, bool is_static,
                             const Workspace *names)
{
    Text *out = w->out, body;
    tessi_c_forget_uses(w);
    body = tessi_text_new(w->arena);
    w->out = &body;
    w->indent++;
    tessi_c_check_sizes(w, "return 2;");
    tessi_c_check_equal(w, "return 5;");
    if (names) {
        run_in_workspace(w, groups, names);
    } else {
        define_arrays(w, groups);
        call_groups(w, groups, NULL);
    }
    w->out = out;
    w->indent--;
    const char *more =
        names ? tessi_sprintf(w->arena, "unsigned char *restrict %s, ptrdiff_t *restrict %s%s%s",
                              names->memory, names->bytes,
                              names->ended ? ", ptrdiff_t *restrict " : "",
                              names->ended ? names->ended : "")
              : "";
    head(w, is_static ? "static " : "", names ? w->run_name : w->public_name, more);
    tessi_text_add(out, "{\n");
    w->indent++;
    mention_unused(w, groups);
    w->indent--;
    tessi_text_addf(out, "%s}\n", tessi_text_str(&body));
}

/* The public function of a program that needs a workspace: asks for its size, makes it and runs. */
static void allocating_function(CWriter *w, bool is_static, const Workspace *names)
{
    Text call = tessi_text_new(w->arena);
    CParameters list = tessi_c_parameters(w, C_DEFINED);
    VEC_FOREACH (const CParameter, parameter, &list)
        tessi_text_addf(&call, "%s, ", parameter->name);
    const char *status = tessi_c_name(w->names, "status");
    const char *ended = names->ended ? ", NULL" : "";
    tessi_text_add(w->out, "\n");
    if (!is_static)
        tessi_c_describe(w, tessi_c_returns);
    head(w, is_static ? "static " : "", w->public_name, "");
    tessi_text_add(w->out, "{\n");
    w->indent++;
    tessi_c_line(w, "ptrdiff_t %s = 0;", names->bytes);
    tessi_c_line(w, "int %s = %s(%sNULL, &%s%s);", status, w->run_name, tessi_text_str(&call),
                 names->bytes, ended);
    tessi_c_line(w, "if (%s != 3)", status);
    tessi_c_line(w, "%*sreturn %s;", C_INDENT, "", status);
    tessi_c_line(w, "if (%s == PTRDIFF_MAX)", names->bytes);
    tessi_c_line(w, "%*sreturn 1;", C_INDENT, "");
    tessi_c_line(w, "unsigned char *%s = aligned_alloc(%d, (size_t)%s);", names->memory,
                 LAYOUT_LINE, names->bytes);
    tessi_c_line(w, "if (!%s)", names->memory);
    tessi_c_line(w, "%*sreturn 1;", C_INDENT, "");
    tessi_c_line(w, "%s = %s(%s%s, &%s%s);", status, w->run_name, tessi_text_str(&call),
                 names->memory, names->bytes, ended);
    tessi_c_line(w, "free(%s);", names->memory);
    tessi_c_line(w, "return %s;", status);
    w->indent--;
    tessi_text_add(w->out, "}\n");
}

/* ---- All together ---------------------------------------------------------------------------- */

/* Function by function; values that several compute come before. */
static void write_groups(CWriter *w, const char *const *function, CValues *values, Groups *groups)
{
    tessi_c_define_values(w, values);
    for (uint32_t i = 0; i < w->p->functions.n; i++)
        if (groups->same.first[i] == i)
            group(w, i, function[i], groups);
        else
            call_with_own_images(w, i, function[groups->same.first[i]], groups);
}

static const char *file_name(CWriter *w, const char *wanted)
{
    return tessi_c_file_name(w, wanted ? wanted : "");
}

void tessi_c_program(CWriter *w, bool is_static)
{
    const LoopProgram *p = w->p;
    Groups groups = { .buffer_used = ARENA_NEW_ARRAY(w->arena, bool, p->buffers.n) };
    const char **function = ARENA_NEW_ARRAY(w->arena, const char *, p->functions.n + 1);
    /* Names of the file come first; they stay taken when the next program of the file is written. */
    groups.same = tessi_loop_same(p, w->arena);
    groups.list = ARENA_NEW_ARRAY(w->arena, CParameters, p->functions.n);
    groups.split = ARENA_NEW_ARRAY(w->arena, CSplit *, p->functions.n);
    const LoopParts *parts = tessi_loop_parts(p, &groups.same, w->arena);
    for (uint32_t i = 0; i < p->functions.n; i++) {
        if (groups.same.first[i] != i)
            continue;
        function[i] = file_name(w, p->functions.at[i].name);
        groups.split[i] = tessi_c_split(w, &parts[i], function[i]);
    }
    for (uint32_t i = 1; i < p->buffers.n; i++)
        if (p->buffers.at[i].kind == LBUF_TABLE)
            w->buffer[i] = file_name(w, p->buffers.at[i].name);
    Workspace names = { .pitch = file_name(w, "pitch"), .end = file_name(w, "end") };
    const bool has_parts = w->layout.thread_bytes > 0;
    const bool has_memory = w->layout.n_slots || has_parts, has_ends = tessi_loop_conditions(p) > 0;
    w->run_name = has_memory || has_ends ? file_name(w, "run") : NULL;
    CValues *values = tessi_c_find_values(w, &groups.same, groups.split);
    w->mark = tessi_c_names_mark(w->names);
    tessi_c_name_parameters(w);
    w->parts = has_parts ? tessi_c_name(w->names, "parts") : NULL;

    Text *out = w->out, functions;
    functions = tessi_text_new(w->arena);
    w->out = &functions; /* the groups first: they say which tables are used */
    write_groups(w, function, values, &groups);
    w->out = out;
    used_tables(w, groups.buffer_used);
    if (has_memory)
        workspace_functions(w, &names);
    tessi_text_add(out, tessi_text_str(&functions));
    names.memory = tessi_c_name(w->names, "workspace");
    names.bytes = tessi_c_name(w->names, "bytes");
    names.ended = has_ends ? tessi_c_name(w->names, "ended") : NULL;
    tessi_text_add(out, "\n");
    if (!w->run_name) {
        if (!is_static)
            tessi_c_describe(w, tessi_c_returns);
        running_function(w, &groups, is_static, NULL);
        return;
    }
    tessi_c_comment(
        w, "The whole program in a workspace of *bytes bytes that is aligned to cache lines.\n"
           "Returns 3, with the number of bytes that are needed, when they are too few.");
    running_function(w, &groups, true, &names);
    allocating_function(w, is_static, &names);
}
