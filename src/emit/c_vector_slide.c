/* Windows along a row that are wider than a vector. A vector of pixels that begins at x + i is what the point x takes at its step i, and
 * what the point one vector further left takes as many steps later. So the loop goes along the row a vector's width at a time, keeps
 * the sums of all vectors of results whose windows are open there ("parts" of a window, the oldest first), loads each vector once and
 * gives it to all of them:
 *
 *   for at:  for k of a vector's width:  v = X[at + k];  sum[0] += w[k + width] * v;  sum[1] += w[k] * v
 *            sum[0] is complete;  sum[0] = sum[1];  sum[1] = start
 *
 * For each point the steps come in the order they always had, so the bits stay. */
#include "emit/c_private.h"

enum {
    MOST_SUMS =
        24,   /* with what they are made from, they fill the most registers that processors have */
    AHEAD = 3 /* vectors; rows of tiles are too short for processors to foresee what is read next */
};

/* ---- What moves with what ----------------------------------------------------------------------------------------------------- */

/* What a value depends on; bits. */
enum {
    OF_STEP = 1,  /* the step of the window alone: a weight */
    OF_PIXEL = 2, /* the sum of point and step */
    OF_SUM = 4,   /* the values of the steps before */
    OF_OTHERS = 8 /* anything that cannot be shared */
};

/* An index is a sum of multiples of point and step and of a value that depends on `kind`. */
typedef struct Motion {
    unsigned kind;
    int64_t point, step;
} Motion;

/* What a variable is while a loop slides. */
typedef struct CMoving {
    unsigned kind;
    Motion motion;   /* of an index that has a name */
    const char *sum; /* the array of its sums */
} Moving;

typedef struct Slide {
    CWriter *w;
    const LStmt *loop, *window; /* over the points and over the steps of one */
    int64_t first, taps;
    uint32_t n_sums;
    bool weighs;          /* some step depends on which one it is */
    Moving *moving;       /* by LVarId */
    LBlock pixels, steps; /* the window's statements that serve all parts, and those of each */
} Slide;

static unsigned kind_of(Motion m)
{
    if (!m.point)
        return m.step ? m.kind | OF_STEP : m.kind;
    return m.kind | (m.point == 1 && m.step == 1 ? OF_PIXEL : OF_OTHERS);
}

static Motion motion(const Slide *s, LExprId id)
{
    const LExpr *e = tessi_lexpr(s->w->p, id);
    Motion m = { 0 };
    if (e->kind == LEXPR_VAR) {
        if (e->var.v == s->loop->var.v)
            return (Motion){ .point = 1 };
        if (e->var.v == s->window->var.v)
            return (Motion){ .step = 1 };
        m = s->moving[e->var.v].motion;
        m.kind |= s->moving[e->var.v].kind;
        return m;
    }
    if (e->kind == LEXPR_OP && e->type == TYPE_INDEX && (e->op == OP_ADD || e->op == OP_SUB)) {
        const Motion a = motion(s, e->arg[0]), b = motion(s, e->arg[1]);
        const int64_t sign = e->op == OP_ADD ? 1 : -1;
        return (Motion){ a.kind | b.kind, a.point + sign * b.point, a.step + sign * b.step };
    }
    for (int i = 0; i < e->n_args; i++)
        m.kind |= kind_of(motion(s, e->arg[i]));
    return m;
}

/* The one load of pixels of a step; false when there are several, or none that the parts can share. */
static bool find_pixel(const Slide *s, LExprId id, LExprId *pixel)
{
    const LExpr *e = tessi_lexpr(s->w->p, id);
    if (tessi_c_shape(s->w, id) != C_LANES)
        return tessi_c_shape(s->w, id) == C_UNIFORM;
    if (e->kind == LEXPR_LOAD || (e->kind == LEXPR_VAR && s->moving[e->var.v].kind == OF_PIXEL)) {
        const bool only = !pixel->v || pixel->v == id.v;
        *pixel = id;
        return only && kind_of(motion(s, id)) == OF_PIXEL;
    }
    for (int i = 0; i < e->n_args; i++)
        if (!find_pixel(s, e->arg[i], pixel))
            return false;
    return true;
}

/* ---- Which loops slide ---------------------------------------------------------------------------------------------------------- */

static bool take_step(Slide *s, LStmt *at)
{
    const Motion m = motion(s, at->a);
    const unsigned kind = kind_of(m);
    LExprId pixel = { 0 };
    if (kind & OF_OTHERS)
        return false;
    s->weighs = s->weighs || kind & OF_STEP;
    if (at->kind == LSTMT_SET) {
        VEC_PUSH(s->w->arena, &s->steps, at);
        return s->moving[at->var.v].kind == OF_SUM && find_pixel(s, at->a, &pixel) && pixel.v;
    }
    if (at->kind != LSTMT_LET || (kind & OF_SUM))
        return false;
    const bool index = tessi_lexpr(s->w->p, at->a)->type == TYPE_INDEX;
    s->moving[at->var.v] =
        (Moving){ .kind = index ? m.kind : kind, .motion = index ? m : (Motion){ 0 } };
    if (kind == OF_PIXEL)
        VEC_PUSH(s->w->arena, &s->pixels, at);
    else
        VEC_PUSH(s->w->arena, &s->steps, at);
    return kind == OF_PIXEL || tessi_c_shape(s->w, at->a) == C_UNIFORM;
}

static bool take_window(Slide *s, const LStmt *window)
{
    const LExpr *from = tessi_lexpr(s->w->p, window->a), *to = tessi_lexpr(s->w->p, window->b);
    if (s->window || window->step != 1 || window->flags & LFOR_PARALLEL || from->kind != LEXPR_CONST
        || to->kind != LEXPR_CONST)
        return false;
    s->window = window;
    s->first = from->value.i;
    s->taps = to->value.i - from->value.i;
    for (uint32_t i = 0; i < window->body.n; i++)
        if (!take_step(s, window->body.at[i]))
            return false;
    return true;
}

/* The sums start, one loop runs over the steps of the windows, then the results are stored. */
static bool take_loop(Slide *s)
{
    for (uint32_t i = 0; i < s->loop->body.n; i++) {
        const LStmt *at = s->loop->body.at[i];
        switch (at->kind) {
        case LSTMT_VAR:
            if (s->window || tessi_c_shape(s->w, at->a) != C_UNIFORM
                || s->w->vector.var_shape[at->var.v] != C_LANES)
                return false;
            s->moving[at->var.v].kind = OF_SUM;
            s->n_sums++;
            break;
        case LSTMT_LET:
            if (!s->window && tessi_c_shape(s->w, at->a) != C_UNIFORM)
                return false;
            break;
        case LSTMT_FOR:
            if (!take_window(s, at))
                return false;
            break;
        case LSTMT_STORE:
            if (!s->window)
                return false;
            break;
        case LSTMT_COMMENT: break;
        default: return false;
        }
    }
    return s->window && s->n_sums;
}

static bool find_slide(CWriter *w, const LStmt *loop, Slide *s)
{
    *s = (Slide){ .w = w, .loop = loop };
    if (!w->vector.moving)
        w->vector.moving = ARENA_NEW_ARRAY(w->arena, Moving, w->p->vars.n);
    s->moving = w->vector.moving;
    tessi_c_vector_clear(w, s->moving, sizeof *s->moving);
    if (!w->vector.repeatable || w->vector.pairs || !take_loop(s))
        return false;
    const int64_t lanes = w->vector_bytes / w->vector.lane_bytes;
    const int64_t parts = (s->taps + lanes - 1) / lanes;
    return parts > 1 && parts * s->n_sums <= MOST_SUMS;
}

/* ---- Printing -------------------------------------------------------------------------------------------------------------------- */

typedef VEC(LExprId) LExprIds;

typedef struct SlideNames {
    const char *parts, *last, *part, *from, *to, *at, *k;
} SlideNames;

static void name_sums(const Slide *s, const char *part)
{
    CWriter *w = s->w;
    for (uint32_t i = 0; s->loop->body.at[i] != s->window; i++) {
        const LStmt *at = s->loop->body.at[i];
        if (at->kind == LSTMT_VAR)
            w->vector.name[at->var.v] =
                tessi_sprintf(w->arena, "%s[%s]", s->moving[at->var.v].sum, part);
    }
}

/* The sums of one part start. */
static void start_sums(const Slide *s)
{
    CWriter *w = s->w;
    for (uint32_t i = 0; i < s->loop->body.n; i++) {
        const LStmt *at = s->loop->body.at[i];
        if (at->kind != LSTMT_VAR)
            continue;
        tessi_c_prepare(w, &at->a, 1);
        tessi_text_addf(&w->line, "%s = ", w->vector.name[at->var.v]);
        tessi_c_vector_value(w, at->a, C_LOOSE);
        tessi_text_add(&w->line, ";");
        tessi_c_end_line(w);
    }
}

static void declare_sums(const Slide *s, const SlideNames *n)
{
    CWriter *w = s->w;
    LBlock before = { 0 };
    for (uint32_t i = 0; s->loop->body.at[i] != s->window; i++) {
        LStmt *at = s->loop->body.at[i];
        if (at->kind != LSTMT_VAR)
            VEC_PUSH(w->arena, &before, at);
    }
    for (uint32_t i = 0; i < before.n; i++)
        tessi_c_statement(w, before.at[i]);
    for (uint32_t i = 0; s->loop->body.at[i] != s->window; i++) {
        const LStmt *at = s->loop->body.at[i];
        if (at->kind != LSTMT_VAR)
            continue;
        const LVar *x = &w->p->vars.at[at->var.v];
        const char *sum = s->moving[at->var.v].sum = tessi_c_name(w->names, x->name);
        tessi_c_line(w, "%s %s[%s];", tessi_c_vector_type(w, x->type), sum, n->parts);
    }
    tessi_c_line(w, "TESS_UNROLL");
    tessi_c_line(w, "for (int %s = 0; %s < %s; %s++) {", n->part, n->part, n->parts, n->part);
    w->indent++;
    name_sums(s, n->part);
    start_sums(s);
    w->indent--;
    tessi_c_line(w, "}");
}

/* Names what the step in hand loads for all parts. */
static void share_pixels(const Slide *s, LExprIds *named)
{
    CWriter *w = s->w;
    const char **shared = w->vector.shared_names;
    for (uint32_t i = 0; i < s->pixels.n; i++)
        tessi_c_statement(w, s->pixels.at[i]);
    for (uint32_t i = 0; i < s->steps.n; i++) {
        LExprId pixel = { 0 };
        if (s->steps.at[i]->kind != LSTMT_SET)
            continue;
        find_pixel(s, s->steps.at[i]->a, &pixel);
        const LExpr *e = tessi_lexpr(w->p, pixel);
        if (e->kind != LEXPR_LOAD || shared[pixel.v])
            continue;
        tessi_c_prepare(w, &pixel, 1);
        const char *name = tessi_c_name(w->names, w->p->buffers.at[e->buffer.v].name);
        tessi_text_addf(&w->line, "const %s %s = ", tessi_c_vector_type(w, e->type), name);
        tessi_c_vector_value(w, pixel, C_LOOSE);
        tessi_text_add(&w->line, ";");
        tessi_c_end_line(w);
        shared[pixel.v] = name;
        VEC_PUSH(w->arena, named, pixel);
    }
}

/* An element of an image, by an index without names of the window's own. */
static bool is_of_image(const Slide *s, LExprId id)
{
    const LExpr *e = tessi_lexpr(s->w->p, id);
    if (e->kind == LEXPR_LOAD && s->w->p->buffers.at[e->buffer.v].kind == LBUF_LOCAL)
        return false;
    if (e->kind == LEXPR_VAR && (s->moving[e->var.v].kind || s->moving[e->var.v].motion.point))
        return false;
    for (int i = 0; i < e->n_args; i++)
        if (!is_of_image(s, e->arg[i]))
            return false;
    return true;
}

/* Asks for the pixels that the loop comes to next but one. */
static void prefetch(const Slide *s, const SlideNames *n)
{
    CWriter *w = s->w;
    LExprIds asked = { 0 };
    for (uint32_t i = 0; i < s->steps.n; i++) {
        LExprId pixel = { 0 };
        if (s->steps.at[i]->kind != LSTMT_SET)
            continue;
        find_pixel(s, s->steps.at[i]->a, &pixel);
        bool known = tessi_lexpr(w->p, pixel)->kind != LEXPR_LOAD || !is_of_image(s, pixel);
        VEC_FOREACH (const LExprId, id, &asked)
            known = known || id->v == pixel.v;
        if (!known)
            VEC_PUSH(w->arena, &asked, pixel);
    }
    if (!asked.n)
        return;
    const char *i = w->var[s->window->var.v] =
        tessi_c_name(w->names, w->p->vars.at[s->window->var.v].name);
    tessi_c_line(w, "const ptrdiff_t %s = %lld;", i, (long long)s->first);
    const char *ahead = w->vector.name[s->loop->var.v] = tessi_c_name(w->names, "ahead");
    tessi_c_line(w, "const ptrdiff_t %s = %s + %d * TESS_LANES_%s;", ahead, n->at, AHEAD,
                 tessi_c_lanes(w));
    VEC_FOREACH (const LExprId, id, &asked) {
        const LExpr *e = tessi_lexpr(w->p, *id);
        tessi_c_prepare(w, e->arg, e->n_args);
        tessi_text_add(&w->line, "TESS_PREFETCH(&");
        tessi_c_place(w, e->buffer, e->arg);
        tessi_text_add(&w->line, ");");
        tessi_c_end_line(w);
    }
}

/* What a vector of pixels gives to each part whose window it lies in. */
static void step(const Slide *s, const SlideNames *n)
{
    CWriter *w = s->w;
    LExprIds named = { 0 };
    if (!w->vector.shared_names)
        w->vector.shared_names = ARENA_NEW_ARRAY(w->arena, const char *, w->p->exprs.n);
    const char *name = w->p->vars.at[s->window->var.v].name;
    const char *i = w->var[s->window->var.v] = tessi_c_name(w->names, name);
    tessi_c_line(w, "const ptrdiff_t %s = %s %c %lld;", i, n->k, s->first < 0 ? '-' : '+',
                 (long long)(s->first < 0 ? -s->first : s->first));
    w->vector.name[s->loop->var.v] = n->at;
    share_pixels(s, &named);
    tessi_c_line(w, "TESS_UNROLL");
    tessi_c_line(w, "for (int %s = 0; %s < %s; %s++) {", n->part, n->part, n->parts, n->part);
    w->indent++;
    tessi_c_line(w, "if (%s > 0 || %s < %s) {", n->part, n->k, n->last);
    w->indent++;
    if (s->weighs) {
        const char *own = w->var[s->window->var.v] = tessi_c_name(w->names, name);
        tessi_c_line(w, "const ptrdiff_t %s = %s + (%s - 1 - %s) * TESS_LANES_%s;", own, i,
                     n->parts, n->part, tessi_c_lanes(w));
    }
    name_sums(s, n->part);
    w->vector.shared = w->vector.shared_names;
    tessi_c_block(w, &s->steps);
    w->vector.shared = NULL;
    VEC_FOREACH (const LExprId, id, &named)
        w->vector.shared_names[id->v] = NULL;
    w->indent--;
    tessi_c_line(w, "}");
    w->indent--;
    tessi_c_line(w, "}");
}

/* The oldest part is complete: its results are stored, and the others grow older. */
static void advance(const Slide *s, const SlideNames *n)
{
    CWriter *w = s->w;
    LBlock after = { 0 };
    uint32_t i = 0;
    while (s->loop->body.at[i++] != s->window)
        ;
    for (; i < s->loop->body.n; i++)
        VEC_PUSH(w->arena, &after, s->loop->body.at[i]);
    const char *lanes = tessi_c_lanes(w);
    uint32_t mark = tessi_c_names_mark(w->names);
    tessi_c_line(w, "if (%s >= %s + (%s - 1) * TESS_LANES_%s) {", n->at, n->from, n->parts, lanes);
    const char *x = tessi_c_name(w->names, w->p->vars.at[s->loop->var.v].name);
    w->indent++;
    tessi_c_line(w, "const ptrdiff_t %s = %s - (%s - 1) * TESS_LANES_%s;", x, n->at, n->parts,
                 lanes);
    w->vector.name[s->loop->var.v] = x;
    name_sums(s, "0");
    tessi_c_vector_body(w, &after);
    w->indent--;
    tessi_c_line(w, "}");
    tessi_c_names_leave(w->names, mark);
    tessi_c_line(w, "TESS_UNROLL");
    tessi_c_line(w, "for (int %s = 0; %s + 1 < %s; %s++) {", n->part, n->part, n->parts, n->part);
    w->indent++;
    for (uint32_t k = 0; s->loop->body.at[k] != s->window; k++) {
        const LStmt *at = s->loop->body.at[k];
        const char *sum = at->kind == LSTMT_VAR ? s->moving[at->var.v].sum : NULL;
        if (sum)
            tessi_c_line(w, "%s[%s] = %s[%s + 1];", sum, n->part, sum, n->part);
    }
    w->indent--;
    tessi_c_line(w, "}");
    name_sums(s, tessi_sprintf(w->arena, "%s - 1", n->parts));
    start_sums(s);
}

/* The points [from, to), whole vectors. */
static void run(const Slide *s, const SlideNames *n)
{
    CWriter *w = s->w;
    const char *lanes = tessi_c_lanes(w), *taps = tessi_c_name(w->names, "steps");
    declare_sums(s, n);
    tessi_c_line(
        w, "for (ptrdiff_t %s = %s; %s < %s + (%s - 1) * TESS_LANES_%s; %s += TESS_LANES_%s) {",
        n->at, n->from, n->at, n->to, n->parts, lanes, n->at, lanes);
    w->indent++;
    tessi_c_line(w, "const ptrdiff_t %s = %s < %s + (%s - 2) * TESS_LANES_%s ? TESS_LANES_%s : %s;",
                 taps, n->at, n->to, n->parts, lanes, lanes, n->last);
    uint32_t mark = tessi_c_names_mark(w->names);
    prefetch(s, n);
    tessi_c_line(w, "for (ptrdiff_t %s = 0; %s < %s; %s++) {", n->k, n->k, taps, n->k);
    w->indent++;
    step(s, n);
    w->indent--;
    tessi_c_line(w, "}");
    tessi_c_names_leave(w->names, mark);
    advance(s, n);
    w->indent--;
    tessi_c_line(w, "}");
}

bool tessi_c_vector_slides(CWriter *w, const LStmt *loop)
{
    Slide s;
    return find_slide(w, loop, &s);
}

void tessi_c_vector_slide(CWriter *w, const LStmt *loop, CText begin, CText end)
{
    Slide s;
    if (!find_slide(w, loop, &s))
        return;
    const char *lanes = tessi_c_lanes(w);
    const uint32_t mark = tessi_c_names_mark(w->names);
    SlideNames n;
    n.parts = tessi_c_name(w->names, "parts");
    n.last = tessi_c_name(w->names, "last");
    n.part = tessi_c_name(w->names, "part");
    n.from = tessi_c_name(w->names, "from");
    n.to = tessi_c_name(w->names, "to");
    n.at = tessi_c_name(w->names, "at");
    n.k = tessi_c_name(w->names, "k");
    const char *start = tessi_c_name(w->names, "start");
    w->vector.copies = 1;
    tessi_c_line(w, "/* %s of a window, each as wide as a vector; steps of the %s one */", n.parts,
                 n.last);
    tessi_c_line(w, "enum { %s = (%lld + TESS_LANES_%s - 1) / TESS_LANES_%s };", n.parts,
                 (long long)s.taps, lanes, lanes);
    tessi_c_line(w, "enum { %s = %lld - (%s - 1) * TESS_LANES_%s };", n.last, (long long)s.taps,
                 n.parts, lanes);
    tessi_c_line(w, "for (ptrdiff_t %s = %s, %s; %s < %s; %s = %s) {", start, begin.text, n.to,
                 start, tessi_c_inside(w, end, C_SUM), start, n.to);
    w->indent++;
    const CText from = tessi_c_word(n.from),
                vector = tessi_c_word(tessi_sprintf(w->arena, "TESS_LANES_%s", lanes));
    const CText whole =
        tessi_c_join(w, tessi_c_join(w, tessi_c_join(w, end, "-", from), "/", vector), "*", vector);
    tessi_c_line(w, "const ptrdiff_t %s = tess_min_idx(%s, %s);", n.from, start,
                 tessi_c_join(w, end, "-", vector).text);
    tessi_c_line(w, "%s = %s;", n.to, tessi_c_join(w, from, "+", whole).text);
    run(&s, &n);
    w->indent--;
    tessi_c_line(w, "}");
    tessi_c_names_leave(w->names, mark);
}
