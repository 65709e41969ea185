/* The pass `slide`: windows along a row that are wider than a vector. A vector of pixels that begins at x + i is
 * what the point x takes at its step i, and what the point one vector further left takes as many steps later. So the
 * loop goes along the row a vector's width at a time, keeps the sums of all vectors of results whose windows are
 * open there ("parts" of a window, the oldest first), loads each vector once and gives it to all of them:
 *
 *   for at:  for k of a vector's width:  v = X[at + k];  sum[0] += w[k + width] * v;  sum[1] += w[k] * v
 *            sum[0] is complete;  sum[0] = sum[1];  sum[1] = start
 *
 * For each point the steps come in the order they always had, so the bits stay. */
#include "loop/loop_passes.h"
#include "loop/vector.h"

enum {
    MOST_SUMS =
        24,   /* with what they are made from, they fill the most registers that processors have */
    AHEAD = 3 /* vectors; rows of tiles are too short for processors to foresee what is read next */
};

/* ---- What moves with what ---------------------------------------------------------------------------------------- */

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

/* What a variable of the loop is while it slides. */
typedef struct Moving {
    LVarId var;
    unsigned kind;
    Motion motion; /* of an index that has a name */
    LBufferId sum; /* the array of its sums */
} Moving;

typedef struct Slide {
    Vectors *v;
    const LStmt *loop, *window; /* over the points and over the steps of one */
    int64_t first, taps;
    uint32_t n_sums;
    bool weighs; /* some step depends on which one it is */
    VEC(Moving) moving;
    LBlock pixels, steps; /* the window's statements that serve all parts, and those of each */
    /* While it is rewritten. */
    LExprId parts, last, from,
        to; /* parts of a window, each as wide as a vector; steps of the last one; points */
} Slide;

static const Moving *moving(const Slide *s, LVarId var)
{
    static const Moving none = { .kind = 0 };
    VEC_FOREACH (const Moving, m, &s->moving)
        if (m->var.v == var.v)
            return m;
    return &none;
}

static unsigned kind_of(Motion m)
{
    if (!m.point)
        return m.step ? m.kind | OF_STEP : m.kind;
    return m.kind | (m.point == 1 && m.step == 1 ? OF_PIXEL : OF_OTHERS);
}

static Motion motion(const Slide *s, LExprId id)
{
    const LExpr *e = tessi_lexpr(s->v->p, id);
    Motion m = { 0 };
    if (e->kind == LEXPR_VAR) {
        if (e->var.v == s->loop->var.v)
            return (Motion){ .point = 1 };
        if (e->var.v == s->window->var.v)
            return (Motion){ .step = 1 };
        const Moving *known = moving(s, e->var);
        m = known->motion;
        m.kind |= known->kind;
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
    const LExpr *e = tessi_lexpr(s->v->p, id);
    const LShape shape = tessi_vector_shape(s->v, id);
    if (shape != SHAPE_LANES)
        return shape == SHAPE_UNIFORM;
    if (e->kind == LEXPR_LOAD || (e->kind == LEXPR_VAR && moving(s, e->var)->kind == OF_PIXEL)) {
        const bool only = !pixel->v || pixel->v == id.v;
        *pixel = id;
        return only && kind_of(motion(s, id)) == OF_PIXEL;
    }
    for (int i = 0; i < e->n_args; i++)
        if (!find_pixel(s, e->arg[i], pixel))
            return false;
    return true;
}

/* ---- Which loops slide ------------------------------------------------------------------------------------------- */

static bool take_step(Slide *s, LStmt *at)
{
    const Motion m = motion(s, at->a);
    const unsigned kind = kind_of(m);
    LExprId pixel = { 0 };
    if (kind & OF_OTHERS)
        return false;
    s->weighs = s->weighs || kind & OF_STEP;
    if (at->kind == LSTMT_SET) {
        VEC_PUSH(s->v->scratch, &s->steps, at);
        return moving(s, at->var)->kind == OF_SUM && find_pixel(s, at->a, &pixel) && pixel.v;
    }
    if (at->kind != LSTMT_LET || (kind & OF_SUM))
        return false;
    const bool index = tessi_lexpr(s->v->p, at->a)->type == TYPE_INDEX;
    const Moving fresh = { .var = at->var,
                           .kind = index ? m.kind : kind,
                           .motion = index ? m : (Motion){ 0 } };
    VEC_PUSH(s->v->scratch, &s->moving, fresh);
    if (kind == OF_PIXEL)
        VEC_PUSH(s->v->scratch, &s->pixels, at);
    else
        VEC_PUSH(s->v->scratch, &s->steps, at);
    return kind == OF_PIXEL || tessi_vector_shape(s->v, at->a) == SHAPE_UNIFORM;
}

static bool take_window(Slide *s, const LStmt *window)
{
    const LExpr *from = tessi_lexpr(s->v->p, window->a), *to = tessi_lexpr(s->v->p, window->b);
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

static bool take_sum(Slide *s, const LStmt *at)
{
    if (s->window || tessi_vector_shape(s->v, at->a) != SHAPE_UNIFORM
        || s->v->var_shape[at->var.v] != SHAPE_LANES)
        return false;
    VEC_PUSH(s->v->scratch, &s->moving, ((Moving){ .var = at->var, .kind = OF_SUM }));
    s->n_sums++;
    return true;
}

/* The sums start, one loop runs over the steps of the windows, then the results are stored. */
static bool take_loop(Slide *s)
{
    for (uint32_t i = 0; i < s->loop->body.n; i++) {
        const LStmt *at = s->loop->body.at[i];
        bool good = false;
        switch (at->kind) {
        case LSTMT_VAR: good = take_sum(s, at); break;
        case LSTMT_LET: good = s->window || tessi_vector_shape(s->v, at->a) == SHAPE_UNIFORM; break;
        case LSTMT_FOR: good = take_window(s, at); break;
        case LSTMT_STORE: good = s->window != NULL; break;
        case LSTMT_COMMENT: good = true; break;
        default: break;
        }
        if (!good)
            return false;
    }
    return s->window && s->n_sums;
}

static bool find_slide(Vectors *v, const LStmt *loop, Slide *s)
{
    *s = (Slide){ .v = v, .loop = loop };
    if (!v->repeatable || !take_loop(s))
        return false;
    const int64_t lanes = tessi_loop_lane_count(v->p, v->lane_bytes);
    const int64_t parts = (s->taps + lanes - 1) / lanes;
    return parts > 1 && parts * s->n_sums <= MOST_SUMS;
}

/* ---- Rewriting --------------------------------------------------------------------------------------------------- */

static LExprId op(const Slide *s, Op what, LExprId a, LExprId b)
{
    return tessi_pass_op(s->v->p, what, a, b);
}

static LExprId plus(const Slide *s, LExprId a, int64_t n)
{
    return tessi_pass_plus(s->v->p, a, n);
}

/* n vectors in lanes. */
static LExprId width_of(const Slide *s, LExprId n)
{
    return op(s, OP_MUL, n, tessi_lexpr_lanes(s->v->p, s->v->lane_bytes));
}

static LExprId let(const Slide *s, LBlock *out, const char *name, LExprId value)
{
    return tessi_pass_let(s->v->p, out, name, value);
}

/* The point of the window's loop and the step that values are now of. */
static void stand_at(const Slide *s, LExprId x, LExprId step)
{
    s->v->var_as[0][s->loop->var.v] = x;
    s->v->var_as[0][s->window->var.v] = step;
    tessi_vector_use_copy(s->v, 0);
}

static LExprId sum_at(const Slide *s, const Moving *m, LExprId part)
{
    return tessi_lexpr_load(s->v->p, m->sum, &part, 1);
}

/* The sums are now those of this part. */
static void use_part(const Slide *s, LExprId part)
{
    VEC_FOREACH (const Moving, m, &s->moving)
        if (m->sum.v)
            s->v->var_as[0][m->var.v] = sum_at(s, m, part);
    tessi_vector_use_copy(s->v, 0);
}

static void store_sum(const Slide *s, LBlock *out, const Moving *m, LExprId part, LExprId value)
{
    LStmt *store = tessi_lstmt(s->v->p, out, LSTMT_STORE);
    store->buffer = m->sum;
    store->n_index = 1;
    store->index[0] = part;
    store->a = value;
}

static LStmt *for_parts(const Slide *s, LBlock *out, LExprId end, LExprId *part)
{
    *part = tessi_vector_new_var(s->v, "part");
    LStmt *loop = tessi_pass_for(s->v->p, out, tessi_lexpr(s->v->p, *part)->var,
                                 tessi_lexpr_index(s->v->p, 0), end);
    loop->flags = LFOR_UNROLL;
    return loop;
}

/* The sums of one part start. */
static void start_sums(const Slide *s, LBlock *out, LExprId part)
{
    tessi_vector_use_copy(s->v, 0);
    for (uint32_t i = 0; s->loop->body.at[i] != s->window; i++) {
        const LStmt *at = s->loop->body.at[i];
        if (at->kind == LSTMT_VAR)
            store_sum(s, out, moving(s, at->var), part, tessi_vector_value(s->v, at->a));
    }
}

static void declare_sums(Slide *s, LBlock *out)
{
    LoopProgram *p = s->v->p;
    LBlock before = { 0 };
    LExprId part;
    for (uint32_t i = 0; s->loop->body.at[i] != s->window; i++)
        if (s->loop->body.at[i]->kind != LSTMT_VAR)
            VEC_PUSH(s->v->scratch, &before, s->loop->body.at[i]);
    tessi_vector_body(s->v, &before, out);
    VEC_FOREACH (Moving, m, &s->moving) {
        if (m->kind != OF_SUM)
            continue;
        const LVar *x = &p->vars.at[m->var.v];
        LBuffer b = { .name = x->name, .kind = LBUF_LOCAL, .type = x->type, .n_dims = 1 };
        b.lanes = s->v->lane_bytes;
        b.size[0] = tessi_lexpr_vectors(p, s->v->lane_bytes, s->taps);
        m->sum = tessi_loop_buffer(p, &b);
        tessi_lstmt(p, out, LSTMT_LOCAL)->buffer = m->sum;
    }
    LStmt *start = for_parts(s, out, s->parts, &part);
    start_sums(s, &start->body, part);
}

typedef VEC(LExprId) LExprIds;

/* The loads of pixels of all steps, each once. */
static LExprIds pixels(const Slide *s)
{
    LExprIds all = { 0 };
    for (uint32_t i = 0; i < s->steps.n; i++) {
        LExprId pixel = { 0 };
        if (s->steps.at[i]->kind != LSTMT_SET)
            continue;
        find_pixel(s, s->steps.at[i]->a, &pixel);
        bool known = tessi_lexpr(s->v->p, pixel)->kind != LEXPR_LOAD;
        VEC_FOREACH (const LExprId, id, &all)
            known = known || id->v == pixel.v;
        if (!known)
            VEC_PUSH(s->v->scratch, &all, pixel);
    }
    return all;
}

/* An element of an image, by an index without names of the window's own. */
static bool is_of_image(const Slide *s, LExprId id)
{
    PASS_PARTS (e, s->v->p, NULL, 0, id) {
        if (e->kind == LEXPR_LOAD && s->v->p->buffers.at[e->buffer.v].kind == LBUF_LOCAL)
            return false;
        if (e->kind == LEXPR_VAR && (moving(s, e->var)->kind || moving(s, e->var)->motion.point))
            return false;
    }
    return true;
}

/* Asks for the pixels that the loop comes to next but one. */
static void prefetch(const Slide *s, LExprId at, LBlock *out)
{
    const LExprIds all = pixels(s);
    bool stands = false;
    VEC_FOREACH (const LExprId, id, &all) {
        if (!is_of_image(s, *id))
            continue;
        if (!stands)
            stand_at(s, let(s, out, "ahead", op(s, OP_ADD, at, tessi_vector_points(s->v, AHEAD))),
                     tessi_lexpr_index(s->v->p, s->first));
        stands = true;
        const LExpr e = *tessi_lexpr(s->v->p, *id);
        LStmt *fetch = tessi_lstmt(s->v->p, out, LSTMT_PREFETCH);
        fetch->buffer = e.buffer;
        fetch->n_index = e.n_args;
        for (int d = 0; d < e.n_args; d++)
            fetch->index[d] = tessi_vector_scalar(s->v, e.arg[d]);
    }
}

/* The window's statements that each part has. */
static void add_steps(const Slide *s, LExprId part, LBlock *out)
{
    for (uint32_t i = 0; i < s->steps.n; i++) {
        LStmt *at = s->steps.at[i];
        if (at->kind == LSTMT_SET) {
            tessi_vector_use_copy(s->v, 0);
            store_sum(s, out, moving(s, at->var), part, tessi_vector_value(s->v, at->a));
        } else {
            tessi_vector_body(s->v, &(LBlock){ .at = &at, .n = 1 }, out);
        }
    }
}

/* What a vector of pixels gives to each part whose window it lies in. */
static void step(const Slide *s, LExprId at, LExprId k, LBlock *out)
{
    LoopProgram *p = s->v->p;
    const char *name = p->vars.at[s->window->var.v].name;
    const LExprId i = let(s, out, name, plus(s, k, s->first));
    LExprId part;
    stand_at(s, at, i);
    tessi_vector_body(s->v, &s->pixels, out);
    const LExprIds all = pixels(s);
    VEC_FOREACH (const LExprId, id, &all) {
        const LBufferId b = tessi_lexpr(p, *id)->buffer;
        tessi_vector_use_copy(s->v, 0);
        s->v->expr_as[id->v] = let(s, out, p->buffers.at[b.v].name, tessi_vector_value(s->v, *id));
    }
    LStmt *parts = for_parts(s, out, s->parts, &part);
    LStmt *inside = tessi_lstmt(p, &parts->body, LSTMT_IF);
    inside->a = op(s, OP_OR, op(s, OP_LT, tessi_lexpr_index(p, 0), part), op(s, OP_LT, k, s->last));
    if (s->weighs)
        stand_at(s, at,
                 let(s, &inside->body, name,
                     op(s, OP_ADD, i, width_of(s, op(s, OP_SUB, plus(s, s->parts, -1), part)))));
    use_part(s, part);
    add_steps(s, part, &inside->body);
    VEC_FOREACH (const LExprId, id, &all)
        s->v->expr_as[id->v] = (LExprId){ 0 };
}

/* The oldest part is complete: its results are stored, and the others grow older. */
static void advance(const Slide *s, LExprId at, LBlock *out)
{
    LoopProgram *p = s->v->p;
    LBlock after = { 0 };
    LExprId part, others = width_of(s, plus(s, s->parts, -1));
    uint32_t i = 0;
    while (s->loop->body.at[i++] != s->window)
        ;
    for (; i < s->loop->body.n; i++)
        VEC_PUSH(s->v->scratch, &after, s->loop->body.at[i]);
    LStmt *complete = tessi_lstmt(p, out, LSTMT_IF);
    complete->a = op(s, OP_LE, op(s, OP_ADD, s->from, others), at);
    stand_at(s, let(s, &complete->body, p->vars.at[s->loop->var.v].name, op(s, OP_SUB, at, others)),
             tessi_lexpr_index(p, s->first));
    use_part(s, tessi_lexpr_index(p, 0));
    tessi_vector_body(s->v, &after, &complete->body);
    LStmt *older = for_parts(s, out, plus(s, s->parts, -1), &part);
    VEC_FOREACH (const Moving, m, &s->moving)
        if (m->sum.v)
            store_sum(s, &older->body, m, part, sum_at(s, m, plus(s, part, 1)));
    start_sums(s, out, plus(s, s->parts, -1));
}

/* The points [from, to), whole vectors. */
static void run(Slide *s, LBlock *out)
{
    LoopProgram *p = s->v->p;
    const LExprId width = tessi_lexpr_lanes(p, s->v->lane_bytes);
    declare_sums(s, out);
    const LExprId at = tessi_vector_new_var(s->v, "at"), k = tessi_vector_new_var(s->v, "k");
    LStmt *along = tessi_pass_for(s->v->p, out, tessi_lexpr(p, at)->var, s->from,
                                  op(s, OP_ADD, s->to, width_of(s, plus(s, s->parts, -1))));
    along->lanes = s->v->lane_bytes;
    const LExprId ends = op(s, OP_ADD, s->to, width_of(s, plus(s, s->parts, -2)));
    const LExprId steps = let(s, &along->body, "steps",
                              tessi_lexpr_op(p, OP_SELECT, op(s, OP_LT, at, ends), width, s->last));
    prefetch(s, at, &along->body);
    LStmt *window = tessi_pass_for(s->v->p, &along->body, tessi_lexpr(p, k)->var,
                                   tessi_lexpr_index(p, 0), steps);
    step(s, at, k, &window->body);
    advance(s, at, &along->body);
}

/* The whole vectors from `begin` on; where some points are left, the last vector once more. */
static void fill(Vectors *v, const LStmt *loop, uint32_t n, LExprId begin, LExprId end, LBlock *out)
{
    LoopProgram *p = v->p;
    Slide s;
    if (n != 1 || !find_slide(v, loop, &s))
        return;
    v->copies = 1;
    const LExprId width = tessi_lexpr_lanes(p, v->lane_bytes), zero = tessi_lexpr_index(p, 0);
    s.parts = let(&s, out, "parts", tessi_lexpr_vectors(p, v->lane_bytes, s.taps));
    s.last = let(&s, out, "last",
                 op(&s, OP_SUB, tessi_lexpr_index(p, s.taps), width_of(&s, plus(&s, s.parts, -1))));
    const LExprId count = op(&s, OP_FLOORDIV, op(&s, OP_SUB, end, begin), width);
    const LExprId whole = let(&s, out, "whole", op(&s, OP_ADD, begin, width_of(&s, count)));
    const LExprId turn = tessi_vector_new_var(v, "turn");
    const LExprId more = op(&s, OP_MIN, op(&s, OP_SUB, end, whole), tessi_lexpr_index(p, 1));
    LStmt *turns = tessi_pass_for(v->p, out, tessi_lexpr(p, turn)->var, zero, plus(&s, more, 1));
    const LExprId first = op(&s, OP_EQ, turn, zero);
    s.from = let(&s, &turns->body, "from",
                 tessi_lexpr_op(p, OP_SELECT, first, begin, op(&s, OP_SUB, end, width)));
    s.to = let(&s, &turns->body, "to", tessi_lexpr_op(p, OP_SELECT, first, whole, end));
    run(&s, &turns->body);
}

/* ---- The pass ---------------------------------------------------------------------------------------------------- */

static bool rewrite(Vectors *v, LStmt *loop, LBlock *out)
{
    Slide s;
    if (!find_slide(v, loop, &s))
        return false;
    tessi_vector_overlapping(v, loop, 1, fill, out);
    return true;
}

void tessi_loop_slide(LoopProgram *p)
{
    tessi_vector_visit(p, rewrite);
}
