/* Loops in explicit vectors. A row ends with a vector that overlaps the one before it where points may be computed twice, else point
 * by point; ranges shorter than a vector run point by point. */
#include "emit/c_private.h"

/* ---- Statements -------------------------------------------------------------------------------------------------------------- */

static void define(CWriter *w, const LStmt *s, CShape shape)
{
    const LVar *x = &w->p->vars.at[s->var.v];
    const char **name = &w->vector.name[w->vector.copy * w->p->vars.n + s->var.v];
    tessi_c_prepare(w, &s->a, 1);
    Text line = w->line;
    tessi_text_init(&w->line, w->arena);
    if (shape == C_RAMP)
        tessi_c_expr(w, s->a, C_LOOSE);
    else
        tessi_c_vector_value(w, s->a, C_LOOSE);
    const char *value = tessi_text_str(&w->line);
    w->line = line;
    if (s->kind != LSTMT_SET) {
        *name = tessi_c_name(w->names, x->name);
        tessi_text_addf(&w->line, "%s%s ", s->kind == LSTMT_LET ? "const " : "",
                        shape == C_RAMP ? tessi_c_type(w, x->type)
                                        : tessi_c_vector_type(w, x->type));
    }
    tessi_text_addf(&w->line, "%s = %s;", *name, value);
    tessi_c_end_line(w);
}

static void add_stored(CWriter *w, const LStmt *s, ScalarType element)
{
    bool truth = element != w->p->buffers.at[s->buffer.v].type;
    if (truth) {
        tessi_c_use_conversion(w, TYPE_U8, TYPE_BOOL, false);
        tessi_text_addf(&w->line, "tess_u8%s_from_b(", tessi_c_lanes(w));
    }
    tessi_c_vector_value(w, s->a, C_LOOSE);
    tessi_text_add(&w->line, truth ? ")" : "");
}

/* Ends the call that stores; a late one is put off. */
static void end_store(CWriter *w, const LStmt *s, bool late)
{
    if (s->b.v) {
        tessi_text_add(&w->line, ", ");
        tessi_c_expr(w, s->b, C_LOOSE);
    }
    tessi_text_add(&w->line, ");");
    if (!late) {
        tessi_c_end_line(w);
        return;
    }
    const char *line = tessi_sprintf(w->arena, "%s", tessi_text_str(&w->line));
    VEC_PUSH(w->arena, w->vector.late, line);
    w->line.n = 0;
}

/* Late stores keep their value in a variable until the end of the step. */
static void store(CWriter *w, const LStmt *s)
{
    const LBuffer *b = &w->p->buffers.at[s->buffer.v];
    ScalarType element = b->type == TYPE_BOOL ? TYPE_U8 : b->type;
    LExprId roots[LOOP_MAX_DIMS + 1];
    for (int i = 0; i < s->n_index; i++)
        roots[i] = s->index[i];
    roots[s->n_index] = s->a;
    tessi_c_prepare(w, roots, s->n_index + 1u);
    tessi_c_use_type(w, element);
    w->streamed = w->streamed || s->b.v;
    bool late = w->vector.late && w->indent == w->vector.late_indent;
    const char *value = NULL;
    if (late) {
        value = tessi_c_name(w->names, b->name);
        tessi_text_addf(&w->line, "const %s %s = ", tessi_c_vector_type(w, element), value);
        add_stored(w, s, element);
        tessi_text_add(&w->line, ";");
        tessi_c_end_line(w);
    }
    tessi_text_addf(&w->line, "tess_%s_%s%s(&", s->b.v ? "stream" : "store",
                    tessi_type_info(element)->brief, tessi_c_lanes(w));
    tessi_c_place(w, s->buffer, s->index);
    tessi_text_add(&w->line, ", ");
    if (late)
        tessi_text_add(&w->line, value);
    else
        add_stored(w, s, element);
    end_store(w, s, late);
}

/* Both copies at once. */
static void store_pairs(CWriter *w, const LStmt *s)
{
    const LBuffer *b = &w->p->buffers.at[s->buffer.v];
    const char *brief = tessi_type_info(b->type)->brief, *lanes = tessi_c_lanes(w), *half[2];
    tessi_c_use_pairs(w, b->type);
    for (w->vector.copy = 0; w->vector.copy < 2; w->vector.copy++) {
        tessi_c_prepare(w, &s->a, 1);
        half[w->vector.copy] = tessi_c_name(w->names, w->vector.copy ? "odds" : "evens");
        tessi_text_addf(&w->line, "const %s %s = ", tessi_c_vector_type(w, b->type),
                        half[w->vector.copy]);
        tessi_c_vector_value(w, s->a, C_LOOSE);
        tessi_text_add(&w->line, ";");
        tessi_c_end_line(w);
    }
    w->vector.copy = 0;
    const char *pairs = tessi_c_name(w->names, b->name);
    tessi_c_line(w, "const tess_%s%s_pairs %s = tess_pairs_%s%s(%s, %s);", brief, lanes, pairs,
                 brief, lanes, half[0], half[1]);
    tessi_c_prepare(w, s->index, s->n_index);
    w->streamed = w->streamed || s->b.v;
    tessi_text_addf(&w->line, "tess_%s_pairs_%s%s(&", s->b.v ? "stream" : "store", brief, lanes);
    tessi_c_place(w, s->buffer, s->index);
    tessi_text_addf(&w->line, ", %s", pairs);
    end_store(w, s, w->vector.late && w->indent == w->vector.late_indent);
}

bool tessi_c_vector_statement(CWriter *w, const LStmt *s)
{
    bool defines = s->kind == LSTMT_LET || s->kind == LSTMT_VAR || s->kind == LSTMT_SET;
    CShape shape = defines ? (CShape)w->vector.var_shape[s->var.v] : C_LANES;
    if ((!defines && s->kind != LSTMT_STORE) || shape == C_UNIFORM)
        return false;
    if (w->vector.pairs && !defines) {
        store_pairs(w, s);
        return true;
    }
    for (w->vector.copy = 0; w->vector.copy < w->vector.copies; w->vector.copy++) {
        if (defines)
            define(w, s, shape);
        else
            store(w, s);
    }
    w->vector.copy = 0;
    return true;
}

/* ---- Loops -------------------------------------------------------------------------------------------------------------------- */

static void body(CWriter *w, const LStmt *loop)
{
    w->indent++;
    tessi_c_block(w, &loop->body);
    w->indent--;
}

/* Names the coordinate of the first lane of each copy; the first is `x`. */
static void name_coordinates(CWriter *w, const LStmt *loop, const char *x)
{
    for (uint32_t c = 0; c < w->vector.copies; c++) {
        const char **name = &w->vector.name[c * w->p->vars.n + loop->var.v];
        *name = x;
        if (!c || w->vector.pairs)
            continue;
        *name = tessi_c_name(w->names, w->p->vars.at[loop->var.v].name);
        tessi_c_line(w, "const ptrdiff_t %s = %s + %u * TESS_LANES_%s;", *name, x, c,
                     tessi_c_lanes(w));
    }
}

static uint32_t count_stores(const LBlock *block)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < block->n; i++)
        n += block->at[i]->kind == LSTMT_STORE;
    return n;
}

/* Where a step stores several rows the stores come last: processors hold back loads from places that agree in the low 12 bits with a
 * store still on its way, and rows of images are often a multiple of 4096 bytes apart. */
void tessi_c_vector_body(CWriter *w, const LBlock *block)
{
    CLines late = { 0 }, *const around = w->vector.late;
    const int indent_around = w->vector.late_indent;
    if (w->vector.repeatable && count_stores(block) > 1) {
        w->vector.late = &late;
        w->vector.late_indent = w->indent;
    }
    tessi_c_block(w, block);
    w->vector.late = around;
    w->vector.late_indent = indent_around;
    VEC_FOREACH (const char *, line, &late)
        tessi_c_line(w, "%s", *line);
}

/* The body on vectors, in braces. */
static void vectors(CWriter *w, const LStmt *loop, const char *x)
{
    w->indent++;
    name_coordinates(w, loop, x);
    tessi_c_vector_body(w, &loop->body);
    w->indent--;
    tessi_c_line(w, "}");
}

/* Point by point, from where the loop variable stands or from `begin`. */
static void points(CWriter *w, const LStmt *loop, CText begin, CText end)
{
    const LStmt *in = w->vector.loop;
    uint32_t mark = tessi_c_names_mark(w->names);
    w->vector.loop = NULL;
    const char *x = w->var[loop->var.v] = tessi_c_name(w->names, w->p->vars.at[loop->var.v].name);
    tessi_c_line(w, "for (ptrdiff_t %s = %s; %s < %s; %s++) {", x, begin.text, x,
                 tessi_c_inside(w, end, C_SUM), x);
    body(w, loop);
    tessi_c_line(w, "}");
    w->vector.loop = in;
    tessi_c_names_leave(w->names, mark);
}

/* The number of points. */
static CText extent(const CWriter *w, CText begin, CText end)
{
    return tessi_streq(begin.text, "0") ? end : tessi_c_join(w, end, "-", begin);
}

/* The number of lanes. */
static CText lanes(const CWriter *w)
{
    return tessi_c_word(tessi_sprintf(w->arena, "TESS_LANES_%s", tessi_c_lanes(w)));
}

/* The points of n vectors side by side. */
static CText step_of(const CWriter *w, uint32_t n)
{
    const CText count = tessi_c_word(tessi_sprintf(w->arena, "%u", n));
    return n > 1 ? tessi_c_join(w, count, "*", lanes(w)) : lanes(w);
}

static bool streams(const LBlock *block)
{
    for (uint32_t i = 0; i < block->n; i++) {
        const LStmt *s = block->at[i];
        if ((s->kind == LSTMT_STORE && s->b.v) || streams(&s->body) || streams(&s->orelse))
            return true;
    }
    return false;
}

/* Where the whole vector of the row begins that x stands in; x may be below 0. */
static CText vector_before(const CWriter *w, CText x)
{
    if (tessi_streq(x.text, "0"))
        return x;
    const char *rest = tessi_sprintf(w->arena, "tess_floormod_idx(%s, %s)", x.text, lanes(w).text);
    return tessi_c_join(w, x, "-", tessi_c_word(rest));
}

/* x = begin, begin + step, ...; the last one is end - step. Where stores bypass the caches, or rows are read at several places, all but
 * the first and the last stand at whole vectors of a row. */
static void steps(CWriter *w, const LStmt *loop, CText begin, CText end, CText step)
{
    uint32_t mark = tessi_c_names_mark(w->names);
    const char *at = tessi_c_name(w->names, "at");
    const char *x = tessi_c_name(w->names, w->p->vars.at[loop->var.v].name);
    const bool aligned = streams(&loop->body) || tessi_c_vector_has_rows(w);
    const CText from = aligned ? vector_before(w, begin) : begin;
    const char *last = tessi_c_join(w, end, "-", step).text;
    tessi_c_line(w, "for (ptrdiff_t %s = %s; %s < %s; %s += %s) {", at, from.text, at,
                 tessi_c_inside(w, end, C_SUM), at, step.text);
    w->indent++;
    if (aligned)
        tessi_c_line(w, "const ptrdiff_t %s = tess_max_idx(tess_min_idx(%s, %s), %s);", x, at, last,
                     begin.text);
    else
        tessi_c_line(w, "const ptrdiff_t %s = tess_min_idx(%s, %s);", x, at, last);
    w->indent--;
    vectors(w, loop, x);
    tessi_c_names_leave(w->names, mark);
}

/* A range as wide as a step, or point by point. */
static void overlapping(CWriter *w, const LStmt *loop, CText begin, CText end)
{
    enum { WIDEST_VECTOR = 64 }; /* bytes */
    const bool slides = tessi_c_vector_slides(w, loop);
    const uint32_t vectors_of_step = slides ? 1 : w->vector.copies;
    const bool wide = loop->least * w->vector.lane_bytes >= vectors_of_step * WIDEST_VECTOR;
    const CText step = step_of(w, vectors_of_step);
    if (!wide) {
        tessi_c_line(w, "if (%s) {", tessi_c_join(w, extent(w, begin, end), ">=", step).text);
        w->indent++;
    }
    if (slides)
        tessi_c_vector_slide(w, loop, begin, end);
    else
        steps(w, loop, begin, end, step);
    if (wide)
        return;
    w->indent--;
    tessi_c_line(w, "} else {");
    w->indent++;
    points(w, loop, begin, end);
    w->indent--;
    tessi_c_line(w, "}");
}

/* Whole vectors, then what is left. */
static void with_rest(CWriter *w, const LStmt *loop, CText begin, CText end)
{
    const CText step = step_of(w, w->vector.copies);
    const char *name = w->p->vars.at[loop->var.v].name;
    const char *rest = tessi_c_name(w->names, tessi_sprintf(w->arena, "%s_rest", name ? name : ""));
    const CText all =
        tessi_c_word(tessi_sprintf(w->arena, "tess_max_idx(%s, 0)", extent(w, begin, end).text));
    tessi_c_line(w, "const ptrdiff_t %s = %s;", rest,
                 tessi_c_join(w, end, "-", tessi_c_join(w, all, "%", step)).text);
    uint32_t mark = tessi_c_names_mark(w->names);
    const char *x = tessi_c_name(w->names, name);
    tessi_c_line(w, "for (ptrdiff_t %s = %s; %s < %s; %s += %s) {", x, begin.text, x, rest, x,
                 step.text);
    vectors(w, loop, x);
    tessi_c_names_leave(w->names, mark);
    points(w, loop, tessi_c_word(rest), end);
}

bool tessi_c_vector_loop(CWriter *w, const LStmt *loop)
{
    if (!tessi_c_vector_begin(w, loop))
        return false;
    CVector in = w->vector;
    w->vector.loop = NULL; /* the bounds are of the world outside */
    const CText begin = tessi_c_bound(w, loop, loop->a, "begin");
    const CText end = tessi_c_bound(w, loop, loop->b, "end");
    w->vector = in;
    (in.repeatable ? overlapping : with_rest)(w, loop, begin, end);
    tessi_c_vector_end(w);
    return true;
}
