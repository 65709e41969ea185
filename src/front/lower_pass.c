/* front/lower_pass: one reduction over a window whose points need not be valid: of values, of the weights that they are
 * multiplied with, or of validities; as a loop of the graph, or written out where an offset is not affine. */
#include "front/lower_holes.h"
#include "graph/graph_fold.h"

static const ExprId NONE = { 0 };

static ExprId op(Lower *l, Op op, ExprId a, ExprId b)
{
    return tessi_expr_op(l->g, op, a, b, NONE);
}

ExprId tessi_lower_usable(Lower *l, LBody *b, const TExpr *e)
{
    ExprId valid = tessi_lower_validity(l, b, e->arg[0], ASKED_ENOUGH);
    if (e->window->where)
        valid =
            tessi_lower_both(l, valid, tessi_lower_validity(l, b, e->window->where, ASKED_ENOUGH));
    return valid;
}

/* Where a condition on pixels does not hold, the value is not read. */
static ExprId all_valid(Lower *l, LBody *b, const TExpr *e)
{
    const TExpr *where = e->window->where;
    ExprId value = tessi_lower_validity(l, b, e->arg[0], ASKED_ALL);
    if (!where || where->is_static)
        return value;
    if (value.v)
        value = tessi_expr_op(l->g, OP_SELECT, tessi_lower_expr(l, b, where, 0), value,
                              tessi_lower_number(l, TYPE_BOOL, 1));
    return tessi_lower_both(l, tessi_lower_validity(l, b, where, ASKED_ALL), value);
}

/* ---- weights --------------------------------------------------------------------------------- */
static bool is_weight(const TExpr *e)
{
    return e->is_static || (e->kind == TE_MASK && e->n_args)
           || (e->kind == TE_CAST && is_weight(e->arg[0]));
}

/* The next factor of a value, and what it is multiplied with: false at the end. */
typedef struct Factor {
    const TExpr *weight; /* NULL: 1 */
    bool divides, negative;
} Factor;

static bool next_factor(const TExpr **value, uint32_t *channel, Factor *f)
{
    const TExpr *e = *value;
    *f = (Factor){ .weight = NULL };
    switch (e->kind) {
    case TE_STRUCT:
        *value = e->arg[*channel];
        *channel = 0;
        return true;
    case TE_FIELD:
        *value = e->arg[0];
        *channel = e->slot;
        return true;
    case TE_CAST: *value = e->arg[0]; return !tessi_tt_is_untyped(e->arg[0]->type);
    case TE_OP: break;
    default: return false;
    }
    if (e->op == OP_NEG) {
        f->negative = true;
        *value = e->arg[0];
        return true;
    }
    if (e->op != OP_MUL
        && !(e->op == OP_DIV && tessi_is_real(tessi_lower_field(e->type, *channel))))
        return false;
    const bool left = e->op == OP_MUL && is_weight(e->arg[0]);
    f->divides = e->op == OP_DIV;
    if (!left && !is_weight(e->arg[1]))
        return false;
    f->weight = e->arg[left ? 0 : 1];
    *value = e->arg[left ? 1 : 0];
    return true;
}

static bool weight_at(Lower *l, const TExpr *value, uint32_t channel, const WindowPoint *p,
                      double *weight)
{
    Factor f;
    *weight = 1;
    while (next_factor(&value, &channel, &f)) {
        Value v;
        if (f.negative)
            *weight = -*weight;
        if (!f.weight)
            continue;
        if (tessi_static_eval(f.weight, p, &l->budget, &v) != EVAL_OK)
            return false;
        const double w = tessi_tt_is_integer(f.weight->type) ? (double)v.i : v.f;
        *weight = f.divides ? *weight / w : *weight * w;
    }
    return true;
}

/* What is left of a value without its weights is one read. */
void tessi_lower_look_at_value(const TExpr *value, uint32_t channel, Weights *w)
{
    Factor f;
    w->unit = true;
    while (next_factor(&value, &channel, &f))
        w->unit &= !f.weight && !f.negative;
    w->plain = value->kind == TE_READ && !value->read->absolute;
}

void tessi_lower_find_weights(Lower *l, LBody *b, const TExpr *e, uint32_t channel, Weights *w)
{
    WindowPoint p;
    *w = (Weights){ .known = true };
    tessi_lower_look_at_value(e->arg[0], channel, w);
    w->n = (uint32_t)tessi_window_count(e->window);
    w->at = ARENA_NEW_ARRAY(l->a, double, w->n);
    tessi_window_first(&p, e->window, b->point);
    for (uint32_t i = 0; w->known && i < w->n; i++) {
        if (tessi_lower_condition_at(l, e->window, &p) != 0)
            w->known = weight_at(l, e->arg[0], channel, &p, &w->at[i]);
        w->above |= w->at[i] > 0;
        w->below |= w->at[i] < 0;
        w->sum[w->at[i] < 0] += w->at[i];
        (void)tessi_window_next(&p);
    }
    w->known &= w->above || w->below;
}

/* The factor as an expression, where it is not known. */
static ExprId weight_expr(Lower *l, LBody *b, const TExpr *value, uint32_t channel, ScalarType t)
{
    ExprId weight = tessi_lower_number(l, t, 1);
    Factor f;
    while (next_factor(&value, &channel, &f)) {
        if (f.negative)
            weight = tessi_expr_op(l->g, OP_NEG, weight, NONE, NONE);
        if (!f.weight)
            continue;
        ExprId w = f.weight->is_static ? tessi_lower_static(l, b, f.weight, t)
                                       : tessi_lower_convert(l, tessi_lower_expr(l, b, f.weight, 0),
                                                             f.weight->type.scalar, t);
        weight = op(l, f.divides ? OP_DIV : OP_MUL, weight, w);
    }
    return weight;
}

/* A table over the points of a window. */
static ExprId window_table(Lower *l, const TWindow *w, WindowId window, ScalarType t,
                           const char *name, Value *at, uint32_t n)
{
    Graph *g = l->g;
    Table table = { .name = name, .type = t, .n = n, .n_dims = w->n_vars, .at = at };
    ExprId flat = NONE;
    for (uint32_t v = 0; v < w->n_vars; v++) {
        table.dim[v] = (uint32_t)(w->hi[v] - w->lo[v] + 1);
        ExprId i =
            op(l, OP_SUB, tessi_expr_winvar(g, window, v), tessi_expr_int(g, TYPE_I32, w->lo[v]));
        ExprId extent = tessi_expr_int(g, TYPE_I32, table.dim[v]);
        flat = v ? op(l, OP_ADD, op(l, OP_MUL, flat, extent), i) : i;
    }
    return tessi_expr_table(g, tessi_graph_table(g, &table), flat);
}

Value tessi_lower_weight_value(ScalarType t, double x)
{
    return tessi_eval_cast(t, TYPE_F64, tessi_value_real(x));
}

static ExprId known_weights(Lower *l, const TWindow *typed, WindowId window, const Pass *p)
{
    Value *at = ARENA_NEW_ARRAY(l->g->arena, Value, p->weights->n);
    for (uint32_t i = 0; i < p->weights->n; i++)
        at[i] = tessi_lower_weight_value(p->type, p->weights->at[i]);
    return window_table(l, typed, window, p->type, "weights", at, p->weights->n);
}

static ExprId known_signs(Lower *l, const TWindow *typed, WindowId window, const Pass *p)
{
    Value *at = ARENA_NEW_ARRAY(l->g->arena, Value, p->weights->n);
    for (uint32_t i = 0; i < p->weights->n; i++)
        at[i] = tessi_value_int(p->sign > 0 ? p->weights->at[i] > 0 : p->weights->at[i] < 0);
    return window_table(l, typed, window, TYPE_BOOL, "signs", at, p->weights->n);
}

/* Weights of the sign that counts, which only the run knows. */
static ExprId signed_weights(Lower *l, ExprId weight, const Pass *p)
{
    const ExprId zero = tessi_lower_number(l, p->type, 0);
    return op(l, OP_LT, p->sign > 0 ? zero : weight, p->sign > 0 ? weight : zero);
}

/* ---- a pass as a loop of the graph, or written out ------------------------------------------- */
/* `point`: number of the point in an unrolled window; -1: the window is a loop. */
static ExprId body_of(Lower *l, LBody *b, const TExpr *e, uint32_t channel, const Pass *p,
                      int64_t point)
{
    const Weights *w = p->weights;
    switch (p->body) {
    case BODY_VALUE: return tessi_lower_expr(l, b, e->arg[0], channel);
    case BODY_ONE: return tessi_lower_number(l, p->type, 1);
    case BODY_ENOUGH: return tessi_lower_usable(l, b, e);
    case BODY_ALL: return all_valid(l, b, e);
    case BODY_WEIGHT: break;
    }
    if (!w || !w->known)
        return weight_expr(l, b, e->arg[0], channel, p->type);
    if (point >= 0)
        return tessi_expr_const(l->g, p->type, tessi_lower_weight_value(p->type, w->at[point]));
    return known_weights(l, e->window, b->windows->window, p);
}

static ExprId data_condition(Lower *l, LBody *b, const TExpr *e, uint32_t channel, const Pass *p)
{
    ExprId where = NONE;
    if (p->data_where && e->window->where && !e->window->where->is_static)
        where = tessi_lower_expr(l, b, e->window->where, 0);
    if (p->usable)
        where = tessi_lower_both(l, where, tessi_lower_usable(l, b, e));
    if (p->sign && !p->weights->known)
        where = tessi_lower_both(
            l, where, signed_weights(l, weight_expr(l, b, e->arg[0], channel, p->type), p));
    return where;
}

static ExprId as_loop(Lower *l, LBody *b, const TExpr *e, uint32_t channel, const Pass *p)
{
    const LWindow *outer = b->windows;
    const LWindow here = { outer, e->window, tessi_lower_graph_window(l, b, e->window) };
    ExprId where = NONE;
    Value always;
    b->windows = &here;
    const ExprId body = body_of(l, b, e, channel, p, -1);
    if (body.v) {
        where = data_condition(l, b, e, channel, p);
        if (e->window->where && e->window->where->is_static)
            where = tessi_lower_both(l, tessi_lower_expr(l, b, e->window->where, 0), where);
        if (p->sign && p->weights->known)
            where = tessi_lower_both(l, known_signs(l, e->window, here.window, p), where);
        if (where.v && tessi_expr_is_const(l->g, where, &always) && always.i)
            where = NONE;
    }
    b->windows = outer;
    return body.v ? tessi_expr_window(l->g, p->reduction, here.window, body, where) : NONE;
}

static bool counts_at(const Pass *p, uint32_t point)
{
    if (!p->sign || !p->weights->known)
        return true;
    return p->sign > 0 ? p->weights->at[point] > 0 : p->weights->at[point] < 0;
}

static ExprId written_out(Lower *l, LBody *b, const TExpr *e, uint32_t channel, const Pass *p)
{
    const WindowPoint *outer = b->point;
    const uint32_t epoch = b->epoch;
    const Op combine = tessi_reduction_op(p->reduction);
    uint32_t before = l->g->exprs.n, n = 0;
    ExprId sum = NONE;
    bool answered = true;
    WindowPoint point;
    tessi_window_first(&point, e->window, outer);
    b->point = &point;
    do {
        b->epoch = ++l->epoch;
        if (tessi_lower_condition_at(l, e->window, &point) == 0 || !counts_at(p, n++))
            continue;
        const ExprId body = body_of(l, b, e, channel, p, n - 1);
        answered = body.v != 0;
        if (!answered || tessi_lower_too_long(l, e, before))
            break;
        before = l->g->exprs.n;
        const ExprId where = data_condition(l, b, e, channel, p);
        if (!sum.v)
            sum = tessi_expr_const(l->g, p->type, tessi_reduction_identity(p->reduction, p->type));
        const ExprId more = op(l, combine, sum, body);
        sum = where.v ? tessi_expr_op(l->g, OP_SELECT, where, more, sum) : more;
    } while (tessi_window_next(&point));
    b->point = outer;
    b->epoch = epoch;
    if (!answered)
        return NONE;
    return sum.v ? sum
                 : tessi_expr_const(l->g, p->type, tessi_reduction_identity(p->reduction, p->type));
}

ExprId tessi_lower_pass(Lower *l, LBody *b, const TExpr *e, uint32_t channel, const Pass *p)
{
    const LFill fill = b->fill;
    const uint32_t epoch = b->epoch;
    if (fill != p->fill) {
        b->fill = p->fill;
        b->epoch = ++l->epoch;
    }
    const ExprId result =
        e->window->must_unroll ? written_out(l, b, e, channel, p) : as_loop(l, b, e, channel, p);
    b->fill = fill;
    b->epoch = epoch;
    return result;
}
