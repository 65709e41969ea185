/* Masks: windows that combine a value at constant distances, the sums with weights known when compiling. What the
 * user wrote as a sum over a mask (not as a chain of +) may be added up in another order
 * (docs/decisions/017-masks.md):
 *
 *   - a mask of rank one is split: a stage adds up along the inner variables, the rest adds up values of that stage.
 *     The border rules
 *     act in each dimension by themselves, so reading the stage under the rule of the outer dimension gives what
 *       reading the image
 *     gave. Under strict rounding only integers are split, which is exact; minima, maxima, any and all lose nothing
 *       either;
 *   - under fast rounding a mask that is nearly a sum of few such products is split into that many;
 *   - what is left is written out tap by tap, skipping those without weight; integers multiply once for equal weights.
 */
#include <math.h>
#include <stdlib.h>

#include "graph/graph_taps.h"
#include "graph/graph_transform.h"

enum {
    LOW_RANK_UNITS = 16, /* half units that a mask of low rank may differ by from the one written */
    MOST_PRODUCTS = 5
};

static const ExprId none = { 0 };

static ExprId combine(Masks *m, const Domain *at, const Taps *t, ExprId otherwise);

static ExprId plus(Graph *g, ExprId sum, ExprId x)
{
    return sum.v ? tessi_expr_op(g, OP_ADD, sum, x, none) : x;
}

static uint32_t count_used(const Taps *t)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < t->weights.n; k++)
        n += t->weights.used[k];
    return n;
}

/* ---- Splitting ------------------------------------------------------------------------------- */

/* The dimension of the access that variable `var` moves; -1 when there is not exactly one, or it moves by others
 * too. */
static int moved_dim(const Access *a, uint32_t var)
{
    int found = -1;
    for (uint32_t d = 0; d < a->n_dims; d++)
        for (uint32_t k = 0; k < a->dim[d].n_terms; k++) {
            if (a->dim[d].term[k].var != var)
                continue;
            if (found >= 0 || a->dim[d].n_terms != 1)
                return -1;
            found = (int)d;
        }
    return found;
}

bool tessi_taps_axis(Masks *m, ExprId value, uint32_t var, Axis *axis)
{
    *axis = (Axis){ .var = var };
    const ExprList *list = tessi_expr_walk(&m->walk, m->to, &value, 1);
    VEC_FOREACH (const ExprId, it, list) {
        const Expr *e = tessi_expr(m->to, *it);
        if (e->kind != EXPR_LOAD)
            continue;
        const Access *a = tessi_access(m->to, e->access);
        int d = moved_dim(a, var);
        if (d < 0)
            return false;
        const AccessDim *dim = &a->dim[d];
        SizeId size = tessi_stage(m->to, a->producer)->size[d];
        if (!axis->size.v) {
            axis->dim = *dim;
            axis->size = size;
        }
        if (dim->src < 0 || dim->src != axis->dim.src || dim->scale != axis->dim.scale
            || dim->add.v != axis->dim.add.v || dim->rule != axis->dim.rule
            || dim->term[0].coef != axis->dim.term[0].coef || size.v != axis->size.v)
            return false;
        for (uint32_t other = 0; other < a->n_dims; other++)
            if ((int)other != d && a->dim[other].src == dim->src)
                return false;
    }
    return axis->size.v != 0;
}

/* The value at a line of the axis, the other variables in a window of their own. */
typedef struct Line {
    const Axis *axis;
    WindowId from, to;
} Line;

static ExprId read_on_line(Rewrite *r, ExprId id, const Expr *e)
{
    (void)id;
    const Line *line = r->user;
    if (e->kind != EXPR_LOAD)
        return tessi_rewrite_rebuild(r, e);
    Access a = *tessi_access(r->to, e->access);
    int moved = moved_dim(&a, line->axis->var);
    for (uint32_t d = 0; d < a.n_dims; d++) {
        AccessDim *dim = &a.dim[d];
        if ((int)d == moved) {
            *dim = (AccessDim){ .rule = BORDER_INSIDE, .src = dim->src, .scale = 1 };
            continue;
        }
        for (uint32_t k = 0; k < dim->n_terms; k++) {
            dim->term[k].window = line->to;
            dim->term[k].var = (uint8_t)(dim->term[k].var - (dim->term[k].var > line->axis->var));
        }
    }
    return tessi_expr_load(r->to, tessi_graph_access(r->to, &a));
}

/* Every read answers with what lies outside. */
static ExprId read_outside(Rewrite *r, ExprId id, const Expr *e)
{
    (void)id;
    if (e->kind == EXPR_LOAD)
        return tessi_access(r->to, e->access)->outside;
    return tessi_rewrite_rebuild(r, e);
}

static ExprId rewritten(Masks *m, ExprId value, ExprId (*change)(Rewrite *, ExprId, const Expr *),
                        Line *line)
{
    Rewrite r;
    tessi_rewrite_init(&r, m->to, m->to, m->to->arena);
    r.change = change;
    r.user = line;
    return tessi_rewrite_expr(&r, value);
}

StageId tessi_masks_stage(Masks *m, const Domain *at, const char *name, ScalarType t, ExprId body)
{
    enum { LOOK_BACK = 64 };
    for (uint32_t k = m->made.n; k-- > 0 && m->made.n - k <= LOOK_BACK;) {
        const Stage *s = tessi_stage(m->to, m->made.at[k]);
        bool same = s->repeat == m->to->open_repeat && s->n_dims == at->n_dims
                    && s->pieces.at[0].body.v == body.v;
        for (uint8_t d = 0; d < s->n_dims && same; d++)
            same = s->size[d].v == at->count[d].v;
        if (same)
            return m->made.at[k];
    }
    Stage s = { .name = tessi_sprintf(m->to->arena, "%s.%s", at->name, name),
                .span = at->span,
                .kind = STAGE_COMPUTE,
                .type = t,
                .n_dims = at->n_dims };
    Piece piece = { .body = body };
    for (uint8_t d = 0; d < s.n_dims; d++) {
        s.size[d] = piece.count[d] = at->count[d];
        piece.offset[d] = tessi_size_const(m->to, 0);
        piece.step[d] = 1;
    }
    VEC_PUSH(m->to->arena, &s.pieces, piece);
    StageId id = tessi_graph_stage(m->to, &s);
    VEC_PUSH(m->to->arena, &m->made, id);
    return id;
}

/* The window without one of its variables, or with that one only. */
static WindowId part_of_window(Masks *m, WindowId id, uint32_t var, bool only)
{
    const Window from = *tessi_window(m->to, id);
    Window w = { .level = from.level };
    for (uint32_t k = 0; k < from.n_vars; k++) {
        if ((k == var) != only)
            continue;
        w.lo[w.n_vars] = from.lo[k];
        w.hi[w.n_vars++] = from.hi[k];
    }
    return tessi_graph_window(m->to, &w);
}

/* What a line gives that lies outside altogether; none when it is not a constant. */
static ExprId line_outside(Masks *m, const Taps *line, ExprId value)
{
    Graph *g = m->to;
    ExprId outside = rewritten(m, value, read_outside, NULL), sum = none;
    Value v;
    if (!tessi_expr_is_const(g, outside, &v))
        return none;
    if (line->reduction != REDUCE_SUM)
        return outside;
    for (uint32_t k = 0; k < line->weights.n; k++) {
        if (!line->weights.used[k])
            continue;
        ExprId c = tessi_expr_const(g, line->type, line->weights.at[k]);
        ExprId x = tessi_expr_op(g, OP_MUL, c, outside, none);
        sum = sum.v ? tessi_expr_op(g, OP_ADD, sum, x, none) : x;
    }
    return sum;
}

/* Weights that are a product, by way of a stage of lines. */
static ExprId by_lines(Masks *m, const Domain *at, const Taps *t, const Axis *axis,
                       const Matrix *across_weights, const Matrix *line_weights)
{
    Graph *g = m->to;
    Taps line = *t, across = *t;
    uint32_t var = axis->var;
    line.weights = *line_weights;
    across.weights = *across_weights;
    line.window = part_of_window(m, t->window, var, false);
    across.window = part_of_window(m, t->window, var, true);
    Line by = { axis, t->window, line.window };
    line.value = rewritten(m, t->value, read_on_line, &by);
    Access read = { .n_dims = at->n_dims };
    if (axis->dim.rule == BORDER_CONSTANT) {
        read.outside = line_outside(m, &line, t->value);
        if (!read.outside.v)
            return none;
    }
    Domain lines = *at;
    lines.count[axis->dim.src] = axis->size;
    ExprId body = combine(m, &lines, &line, none);
    if (!body.v)
        return none;
    read.producer = tessi_masks_stage(m, &lines, "lines", t->type, body);
    for (uint8_t d = 0; d < at->n_dims; d++)
        read.dim[d] = (AccessDim){ .rule = BORDER_INSIDE, .src = (int8_t)d, .scale = 1 };
    read.dim[axis->dim.src] = axis->dim;
    read.dim[axis->dim.src].term[0].window = across.window;
    read.dim[axis->dim.src].term[0].var = 0;
    across.value = tessi_expr_load(g, tessi_graph_access(g, &read));
    return combine(m, at, &across, none);
}

double tessi_half_unit(ScalarType t)
{
    return t == TYPE_F64 ? 0x1p-53 : 0x1p-24;
}

/* A mask of rank one along the axis. */
static ExprId split(Masks *m, const Domain *at, const Taps *t, const Axis *axis)
{
    Matrix across, line;
    bool always = t->method == METHOD_SEPARABLE;
    if (!tessi_matrix_factor(&t->weights, m->to->arena, t->type, axis->var, always, &across, &line))
        return none;
    ExprId done = by_lines(m, at, t, axis, &across, &line);
    m->form.error += 4 * tessi_half_unit(t->type);
    m->form.terms = m->form.terms ? m->form.terms : 1;
    return done;
}

/* The largest number of products that is cheaper than so many taps. A tap of a line takes the time of two in a loop
 * over the whole mask, as measured, and of three where the results of more lines are added up than registers hold. */
static uint32_t most_products(uint32_t taps, uint32_t taps_of_product)
{
    uint32_t n = MOST_PRODUCTS;
    while (n && n * taps_of_product * (n > 3 ? 3 : 2) >= taps)
        n--;
    return n;
}

/* A mask that is nearly a sum of few products, where that is cheaper. */
static ExprId split_low_rank(Masks *m, const Domain *at, const Taps *t, const Axis *axis)
{
    const Matrix *w = &t->weights;
    uint32_t rows = w->dim[axis->var], cols = w->n / rows;
    uint32_t most = most_products(count_used(t), rows + cols);
    LowRank low;
    if (t->method == METHOD_SEPARABLE)
        most = 1;
    if (!most || rows == 1 || cols == 1
        || !tessi_matrix_low_rank(w, m->to->arena, t->type, axis->var,
                                  tessi_half_unit(t->type) * LOW_RANK_UNITS, most, &low)
        || low.error > tessi_half_unit(t->type) * LOW_RANK_UNITS)
        return none;
    double before = m->form.error, worst = 0;
    ExprId sum = none;
    for (uint32_t k = 0; k < low.n; k++) {
        m->form.error = 0;
        ExprId x = by_lines(m, at, t, axis, &low.across[k], &low.line[k]);
        if (!x.v)
            return none;
        sum = plus(m->to, sum, x);
        worst = fmax(worst, m->form.error);
    }
    m->form.error =
        before + low.error + low.growth * (worst + (low.n - 1) * tessi_half_unit(t->type));
    m->form.terms = m->form.terms > low.n ? m->form.terms : low.n;
    return sum;
}

typedef ExprId Splitter(Masks *m, const Domain *at, const Taps *t, const Axis *axis);

/* Splits off the outermost dimension that can be; of what is filled the innermost. */
static ExprId split_by(Masks *m, const Domain *at, const Taps *t, Splitter *splitter)
{
    for (uint8_t i = 0; i + 1 < at->n_dims; i++) {
        const uint8_t d = t->filled ? (uint8_t)(at->n_dims - 1 - i) : i;
        for (uint32_t var = 0; var < tessi_window(m->to, t->window)->n_vars; var++) {
            Axis axis;
            if (!tessi_taps_axis(m, t->value, var, &axis) || axis.dim.src != d)
                continue;
            const MaskForm before = m->form;
            ExprId done = splitter(m, at, t, &axis);
            if (done.v)
                return done;
            m->form = before;
        }
    }
    return none;
}

static ExprId split_any(Masks *m, const Domain *at, const Taps *t)
{
    bool exact = !tessi_is_real(t->type) || t->reduction != REDUCE_SUM;
    if (tessi_window(m->to, t->window)->n_vars < 2 || (m->fp == FP_STRICT && !exact))
        return none;
    ExprId done = split_by(m, at, t, split);
    return done.v || exact || m->fp != FP_FAST ? done : split_by(m, at, t, split_low_rank);
}

/* ---- Writing out ----------------------------------------------------------------------------- */

static bool is_small(Masks *m, const Taps *t, uint32_t steps)
{
    uint32_t n = count_used(t), nodes = tessi_expr_walk(&m->walk, m->to, &t->value, 1)->n;
    if (2 * n > t->weights.n && tessi_is_long_line(m->to, t->window, t->reduction, t->type, n))
        return false;
    return steps <= UNROLL_TAPS && n * nodes <= UNROLL_NODES;
}

static ExprId minus(Graph *g, ExprId sum, ExprId x)
{
    return sum.v ? tessi_expr_op(g, OP_SUB, sum, x, none) : tessi_expr_op(g, OP_NEG, x, none, none);
}

/* One row of integer taps: each weight multiplies the sum of what it is the weight of, negative weights what they
 * are positive for. */
static ExprId integer_row(Graph *g, const Taps *t, const ExprId *value, const Value *weight,
                          uint32_t n)
{
    ExprId sum = none;
    bool *done = ARENA_NEW_ARRAY(g->arena, bool, n);
    for (int pass = 0; pass < 2;
         pass++) { /* what is added first: a sum that starts with - costs one more */
        for (uint32_t k = 0; k < n; k++) {
            if (done[k] || !value[k].v || (pass == 0 && weight[k].i < 0))
                continue;
            ExprId add = none, sub = none;
            int64_t w = weight[k].i < 0 ? -weight[k].i : weight[k].i;
            for (uint32_t i = k; i < n; i++) {
                if (done[i] || !value[i].v || (weight[i].i != w && weight[i].i != -w))
                    continue;
                done[i] = true;
                if (weight[i].i == w)
                    add = plus(g, add, value[i]);
                else
                    sub = plus(g, sub, value[i]);
            }
            ExprId c = tessi_expr_int(g, t->type, w);
            ExprId both = add.v && sub.v ? minus(g, add, sub) : add.v ? add : sub;
            ExprId x = tessi_expr_op(g, OP_MUL, c, both, none);
            sum = add.v ? plus(g, sum, x) : minus(g, sum, x);
        }
    }
    return sum;
}

/* One row of real taps, added to `sum`. */
static ExprId real_row(Graph *g, const Taps *t, const Columns *c, const ExprId *value,
                       const Value *weight, ExprId sum)
{
    for (uint32_t k = 0; k < c->n; k++) {
        if (c->like[k] != k || !value[k].v)
            continue;
        ExprId x = value[k];
        for (uint32_t j = k + 1; j < c->n; j++)
            if (c->like[j] == k)
                x = c->turned[j] ? minus(g, x, value[j]) : plus(g, x, value[j]);
        sum = plus(g, sum,
                   tessi_expr_op(g, OP_MUL, tessi_expr_const(g, t->type, weight[k]), x, none));
    }
    return sum;
}

static ExprId write_out(Masks *m, const Taps *t, const Columns *c)
{
    Graph *g = m->to;
    const Window w = *tessi_window(g, t->window);
    const uint32_t row = c->n;
    uint32_t k = 0;
    ExprId *value = ARENA_NEW_ARRAY(g->arena, ExprId, row), sum = none;
    int32_t point[MAX_WINDOW_VARS];
    bool real = tessi_is_real(t->type);
    for (uint32_t i = 0; i < MAX_WINDOW_VARS; i++)
        point[i] = w.lo[i];
    tessi_subst_begin(g, &t->value, 1, t->window);
    do {
        bool used = t->weights.used[k] && (real || t->weights.at[k].i);
        ExprId x = used ? tessi_subst_at(g, t->value, point) : none;
        value[k % row] = x;
        k++;
        if (k % row)
            continue;
        const Value *weight = &t->weights.at[k - row];
        if (real) {
            sum = real_row(g, t, c, value, weight, sum);
            continue;
        }
        x = integer_row(g, t, value, weight, row);
        sum = x.v ? plus(g, sum, x) : sum;
    } while (tessi_window_step(&w, point));
    Value zero = real ? tessi_value_real(0) : tessi_value_int(0);
    return sum.v ? sum : tessi_expr_const(g, t->type, zero);
}

/* ---- Loops ----------------------------------------------------------------------------------- */

static ExprId flat_index(Graph *g, WindowId id)
{
    const Window w = *tessi_window(g, id);
    ExprId flat = tessi_expr_int(g, TYPE_I32, 0);
    for (uint32_t k = 0; k < w.n_vars; k++) {
        ExprId n = tessi_expr_int(g, TYPE_I32, (int64_t)w.hi[k] - w.lo[k] + 1);
        ExprId at = tessi_expr_op(g, OP_SUB, tessi_expr_winvar(g, id, k),
                                  tessi_expr_int(g, TYPE_I32, w.lo[k]), none);
        flat = tessi_expr_op(g, OP_ADD, tessi_expr_op(g, OP_MUL, flat, n, none), at, none);
    }
    return flat;
}

static TableId weight_table(Graph *g, const Taps *t, ScalarType type, const char *name)
{
    const Window *w = tessi_window(g, t->window);
    Table table = { .name = name, .type = type, .n = t->weights.n, .n_dims = w->n_vars };
    table.at = ARENA_NEW_ARRAY(g->arena, Value, table.n);
    for (uint32_t k = 0; k < table.n; k++)
        table.at[k] = type == TYPE_BOOL ? tessi_value_int(t->weights.used[k]) : t->weights.at[k];
    for (uint32_t k = 0; k < w->n_vars; k++)
        table.dim[k] = (uint32_t)(w->hi[k] - w->lo[k] + 1);
    return tessi_graph_table(g, &table);
}

static ExprId as_loop(Masks *m, const Domain *at, const Taps *t)
{
    Graph *g = m->to;
    ExprId body = t->value, where = none, flat = flat_index(g, t->window);
    if (t->reduction == REDUCE_SUM) {
        TableId weights =
            weight_table(g, t, t->type, tessi_sprintf(g->arena, "%s.weights", at->name));
        body = tessi_expr_op(g, OP_MUL, tessi_expr_table(g, weights, flat), body, none);
    }
    if (count_used(t) < t->weights.n) {
        TableId taps = weight_table(g, t, TYPE_BOOL, tessi_sprintf(g->arena, "%s.taps", at->name));
        where = tessi_expr_table(g, taps, flat);
    }
    return tessi_expr_window(g, t->reduction, t->window, body, where);
}

/* ---- The cheapest form ----------------------------------------------------------------------- */

/* Whether the weights lie along one variable. */
static bool is_line(Masks *m, const Taps *t)
{
    const Window *w = tessi_window(m->to, t->window);
    uint32_t wide = 0;
    for (uint32_t k = 0; k < w->n_vars; k++)
        wide += w->lo[k] < w->hi[k];
    return wide < 2;
}

/* The reduction as an expression at the points of `at`: in parts, written out, as it was (`otherwise`, if there is
 * one), or a loop. None when the method asked for does not do. */
static ExprId combine(Masks *m, const Domain *at, const Taps *t, ExprId otherwise)
{
    ExprId parts = t->method == METHOD_DIRECT ? none : split_any(m, at, t);
    if (parts.v || (t->method == METHOD_SEPARABLE && !is_line(m, t)))
        return parts;
    if (t->method != METHOD_DIRECT)
        parts = tessi_taps_in_parts(m, at, t);
    if (!parts.v && t->method != METHOD_DIRECT)
        parts = tessi_taps_in_runs(m, at, t);
    if (parts.v)
        return parts;
    const uint32_t taps = count_used(t);
    if (otherwise.v && t->weights.n > MAX_MASK_ELEMENTS) { /* which a table should not hold */
        m->form.steps += taps;
        m->form.error += (taps + 1) * tessi_half_unit(t->type);
        return otherwise;
    }
    if (t->reduction == REDUCE_SUM) {
        const Columns c = tessi_taps_columns(m, t);
        const uint32_t steps = c.most > 1 ? c.steps : taps;
        if (is_small(m, t, steps)) {
            m->form.folded = c.most > 1;
            m->form.steps += steps;
            m->form.error += (steps + (c.most > 1 ? c.most : 1)) * tessi_half_unit(t->type);
            return write_out(m, t, &c);
        }
    }
    Taps half;
    if (tessi_taps_fold(m, t, &half)) {
        m->form.folded = true;
        m->form.steps += count_used(&half);
        m->form.error += (count_used(&half) + 2) * tessi_half_unit(t->type);
        return as_loop(m, at, &half);
    }
    m->form.steps += taps;
    m->form.error += (taps + 1) * tessi_half_unit(t->type);
    return otherwise.v ? otherwise : as_loop(m, at, t);
}

/* ---- What is asked for ----------------------------------------------------------------------- */

/* The values are products with what a mask has that comes with the run. */
static bool reads_mask(Masks *m, ExprId value)
{
    const ExprList *list = tessi_expr_walk(&m->walk, m->to, &value, 1);
    VEC_FOREACH (const ExprId, at, list) {
        const Expr *e = tessi_expr(m->to, *at);
        const Stage *s = e->kind == EXPR_LOAD
                             ? tessi_stage(m->to, tessi_access(m->to, e->access)->producer)
                             : NULL;
        if (s && s->kind == STAGE_INPUT && m->to->inputs.at[s->image].is_mask)
            return true;
    }
    return false;
}

/* Why these weights are no product of lines. */
static const char *not_separable(Masks *m, const Taps *t)
{
    Arena *a = m->to->arena;
    Axis axis;
    LowRank low;
    if (tessi_is_real(t->type) && m->fp == FP_STRICT)
        return "under strict rounding a sum of reals is added up as written";
    if (reads_mask(m, t->value))
        return "its coefficients come with the run";
    if (!tessi_taps_axis(m, t->value, 0, &axis))
        return "the variables of the window do not each move the reads along one dimension";
    bool flat = tessi_window(m->to, t->window)->n_vars == 2;
    if (!flat || !tessi_is_real(t->type)
        || !tessi_matrix_low_rank(&t->weights, a, t->type, 0, 0, 1, &low))
        return "the mask is no product of one-dimensional masks";
    if (low.rank == 1)
        return "what lies outside the image is not known when compiling, or the mask has holes";
    return tessi_sprintf(a,
                         "the mask has rank %u; the nearest product of a column and a row is off "
                         "by %.*g %% of its weights",
                         (unsigned)low.rank, low.error < 1 ? 2 : 3, 100 * low.error);
}

static void start_form(Masks *m, const Taps *t, MethodRequest asked)
{
    m->form = (MaskForm){ .stage = m->domain.name,
                          .reduction = t->reduction,
                          .points = t->weights.n,
                          .asked = asked.method,
                          .span = asked.span,
                          .taps = count_used(t),
                          .exact = !tessi_is_real(t->type) };
}

static void end_form(Masks *m, const Taps *t)
{
    m->form.method = m->form.terms ? METHOD_SEPARABLE : METHOD_DIRECT;
    m->form.error_written = (m->form.taps + 1) * tessi_half_unit(t->type);
    if (m->form.taps > 1)
        VEC_PUSH(m->to->arena, &m->to->forms, m->form);
}

static ExprId as_asked(Masks *m, Taps *t, MethodRequest asked, ExprId now)
{
    start_form(m, t, asked);
    t->method = asked.method;
    t->filled = tessi_taps_filled(m, t->value);
    ExprId done = combine(m, &m->domain, t, now);
    if (!done.v) {
        start_form(m, t, asked);
        m->form.fault = not_separable(m, t);
        t->method = METHOD_DIRECT;
        done = combine(m, &m->domain, t, now);
    }
    end_form(m, t);
    return done;
}

/* Neighbours have taps in common: some variable of the window goes on for longer than they are apart. */
static bool overlaps(Masks *m, const Taps *t)
{
    const Window w = *tessi_window(m->to, t->window);
    Axis axis;
    for (uint32_t var = 0; var < w.n_vars; var++)
        if (tessi_taps_axis(m, t->value, var, &axis)
            && (int64_t)w.hi[var] - w.lo[var] >= llabs((int64_t)axis.dim.scale))
            return true;
    return false;
}

/* In parts, which neighbours share; none where it cannot be taken apart. */
static ExprId with_condition(Masks *m, const Expr *window)
{
    Taps t;
    if (!tessi_taps_where(m, window, &t) || !overlaps(m, &t))
        return none;
    start_form(m, &t, (MethodRequest){ .method = METHOD_AUTO });
    t.filled = tessi_taps_filled(m, t.value);
    ExprId done = split_any(m, &m->domain, &t);
    if (!done.v)
        done = tessi_taps_in_parts(m, &m->domain, &t);
    if (!done.v)
        done = tessi_taps_in_runs(m, &m->domain, &t);
    if (!done.v)
        return none;
    end_form(m, &t);
    /* Under a condition sums start from 0, which can be told where all is -0. */
    if (t.reduction == REDUCE_SUM && tessi_is_real(t.type))
        done = tessi_expr_op(m->to, OP_ADD, tessi_expr_real(m->to, t.type, 0.0), done, none);
    return done;
}

/* The planner sees to it, where it can be. */
static ExprId by_transforms(Masks *m, MethodRequest asked, ExprId now)
{
    WideSum sum;
    MaskForm form = { .stage = m->domain.name, .asked = METHOD_FFT, .span = asked.span };
    if (m->fp == FP_STRICT)
        form.fault = "under strict rounding a sum of reals is added up as written";
    else if (tessi_wide_sum(m->to, &m->walk, m->domain.n_dims, now, &sum, &form.fault))
        return tessi_expr_asked(m->to, now, asked);
    VEC_PUSH(m->to->arena, &m->to->forms, form);
    return now;
}

/* ---- The pass -------------------------------------------------------------------------------- */

/* What can be taken by transforms, and is worth a stage of its own. */
static bool is_wide(Masks *m, const Expr *e, ExprId id)
{
    enum { WIDE = 100 }; /* taps, beside which a trip through memory is little */
    const Method asked = tessi_expr_request(m->to, e).method;
    WideSum sum;
    return (asked == METHOD_FFT || (asked == METHOD_AUTO && m->fp == FP_FAST))
           && tessi_wide_sum(m->to, &m->walk, m->domain.n_dims, id, &sum, NULL)
           && (asked == METHOD_FFT || sum.rows * sum.cols >= WIDE);
}

/* A stage is computed by transforms of one sum: where there are several, or the stage is made of pieces, each
 * becomes a stage. */
static ExprId set_apart(Masks *m, ExprId id)
{
    const Expr e = *tessi_expr(m->to, id);
    if (!m->apart || e.kind != EXPR_WINDOW || !is_wide(m, &e, id))
        return id;
    return tessi_expr_load_at(m->to, tessi_masks_stage(m, &m->domain, "sum", e.type, id), NULL);
}

static void enter(void *user, const Graph *copy, const Stage *s, const Piece *p)
{
    Masks *m = user;
    uint32_t windows = 0;
    const ExprList *list = tessi_expr_walk(&m->walk, m->from, &p->body, 1);
    VEC_FOREACH (const ExprId, id, list)
        windows += tessi_expr(m->from, *id)->kind == EXPR_WINDOW;
    m->apart = windows > 1 || !tessi_piece_is_whole(copy, s, p);
    m->domain = (Domain){ .name = s->name, .span = s->span, .n_dims = s->n_dims };
    for (uint8_t d = 0; d < s->n_dims; d++)
        m->domain.count[d] = p->count[d];
}

static ExprId computed(Rewrite *r, const Expr *e)
{
    Masks *m = r->user;
    Taps t;
    m->to = r->to;
    ExprId now = tessi_rewrite_rebuild(r, e);
    const Expr window = *tessi_expr(r->to, now);
    if (window.kind != EXPR_WINDOW)
        return now;
    MethodRequest asked = { .method = METHOD_AUTO };
    ExprId parts;
    if (window.ref) {
        asked = r->to->requests.at[window.ref - 1];
        now = tessi_expr_window(r->to, REDUCE_SUM, window.window, window.arg[0], window.arg[1]);
    }
    if (asked.method == METHOD_AUTO && m->choice.as_written)
        return now;
    /* A mask of one coefficient is taken as it stands by every method. */
    if (asked.method != METHOD_AUTO && tessi_window_points(tessi_window(r->to, window.window)) == 1)
        return now;
    if (asked.method == METHOD_FFT)
        return by_transforms(m, asked, now);
    const bool known = !(m->choice.keeps_given && tessi_is_given_window(m->to, &m->walk, &window))
                       && tessi_taps_find(m, &window, &t);
    if (known)
        now = as_asked(m, &t, asked, now);
    else if (asked.method == METHOD_AUTO && (parts = with_condition(m, &window)).v)
        return parts;
    if (asked.method == METHOD_DIRECT && m->fp == FP_FAST) /* planners would do otherwise */
        return tessi_expr_asked(r->to, now, asked);
    if (!known && asked.method == METHOD_SEPARABLE) {
        MaskForm form = { .stage = m->domain.name,
                          .asked = asked.method,
                          .span = asked.span,
                          .fault = "its weights are not known when compiling" };
        VEC_PUSH(r->to->arena, &r->to->forms, form);
    }
    return now;
}

static ExprId change(Rewrite *r, ExprId id, const Expr *e)
{
    (void)id;
    const ExprId now = computed(r, e);
    return e->kind == EXPR_WINDOW ? set_apart(r->user, now) : now;
}

Graph *tessi_graph_copy_with_masks(const Graph *g, Arena *a, FpMode fp, MaskChoice choice)
{
    Masks m = { .fp = fp, .walk = { .arena = a }, .from = g, .choice = choice };
    return tessi_graph_copy(g, a, &(GraphChange){ change, enter, &m });
}
