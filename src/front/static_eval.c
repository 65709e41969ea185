/* front/static_eval: the value of a static expression (constants, window variables, mask elements) and what is known
 * about it without a value: bounds, affine form. Untyped integers are computed exactly in int64, untyped reals in
 * double; typed expressions by tessi_eval, so that a constant folded here has the bits it would have at run time. */
#include "front/check.h"

int64_t tessi_window_count(const TWindow *w)
{
    int64_t n = 1;
    for (int v = 0; v < w->n_vars; v++) {
        int64_t points = (int64_t)w->hi[v] - w->lo[v] + 1;
        if (points <= 0)
            return 0;
        if (!tessi_mul_i64(n, points, &n))
            return INT64_MAX;
    }
    return n;
}

void tessi_window_first(WindowPoint *p, const TWindow *w, const WindowPoint *outer)
{
    *p = (WindowPoint){ .outer = outer, .window = w };
    for (int v = 0; v < w->n_vars; v++)
        p->at[v] = w->lo[v];
}

bool tessi_window_next(WindowPoint *p)
{
    for (int v = p->window->n_vars - 1; v >= 0; v--) {
        if (p->at[v] < p->window->hi[v]) {
            p->at[v]++;
            return true;
        }
        p->at[v] = p->window->lo[v];
    }
    return false;
}

static bool find_var(const WindowPoint *p, const TExpr *var, int64_t *value)
{
    for (; p; p = p->outer) {
        if (p->window == var->window) {
            *value = p->at[var->slot];
            return true;
        }
    }
    return false;
}

static EvalStatus untyped_power(int64_t base, int64_t n, Value *v)
{
    int64_t r = 1;
    if (n > 64 && (base > 1 || base < -1))
        return EVAL_OVERFLOW;
    if (base == 0 || base == 1 || base == -1) {
        v->i = n == 0 ? 1 : base == -1 ? (n % 2 ? -1 : 1) : base;
        return EVAL_OK;
    }
    for (; n > 0; n--) {
        if (!tessi_mul_i64(r, base, &r))
            return EVAL_OVERFLOW;
    }
    v->i = r;
    return EVAL_OK;
}

static EvalStatus untyped_integer(Op op, const Value *a, Value *v)
{
    bool ok = true;
    switch (op) {
    case OP_NEG: ok = tessi_sub_i64(0, a[0].i, &v->i); break;
    case OP_ADD: ok = tessi_add_i64(a[0].i, a[1].i, &v->i); break;
    case OP_SUB: ok = tessi_sub_i64(a[0].i, a[1].i, &v->i); break;
    case OP_MUL: ok = tessi_mul_i64(a[0].i, a[1].i, &v->i); break;
    case OP_DIV:
    case OP_MOD:
        if (a[1].i == 0)
            return EVAL_ZERO_DIVISION;
        ok = !(a[0].i == INT64_MIN && a[1].i == -1);
        if (ok)
            v->i = op == OP_DIV ? a[0].i / a[1].i : a[0].i % a[1].i;
        break;
    case OP_SHL:
        if (a[1].i < 0 || a[1].i > 62)
            return EVAL_OVERFLOW;
        ok = tessi_mul_i64(a[0].i, (int64_t)1 << a[1].i, &v->i);
        break;
    case OP_POW:
        if (a[1].i < 0)
            return EVAL_NOT_STATIC;
        return untyped_power(a[0].i, a[1].i, v);
    default: *v = tessi_eval(op, TYPE_I64, a);
    }
    return ok ? EVAL_OK : EVAL_OVERFLOW;
}

/* x^n as the graph computes it: by repeated squaring (see lower_expr.c), so that folding keeps the bits. */
static Value small_power(ScalarType t, Value base, int64_t n)
{
    Value one = tessi_is_real(t) ? tessi_value_real(1) : tessi_value_int(1), r = one;
    bool some = false;
    for (uint64_t k = (uint64_t)(n < 0 ? -n : n); k; k >>= 1) {
        if (k & 1) {
            r = some ? tessi_eval(OP_MUL, t, (Value[]){ r, base }) : base;
            some = true;
        }
        if (k > 1)
            base = tessi_eval(OP_MUL, t, (Value[]){ base, base });
    }
    return n < 0 ? tessi_eval(OP_DIV, t, (Value[]){ one, r }) : r;
}

static EvalStatus eval_op(const TExpr *e, const Value *a, Value *v)
{
    if (e->type.kind == TT_UNTYPED_INT)
        return untyped_integer(e->op, a, v);
    ScalarType t = e->type.kind == TT_UNTYPED_REAL ? TYPE_F64 : e->type.scalar;
    if (tessi_op_info(e->op)->result == 'B' && e->arg[0]->type.kind == TT_SCALAR)
        t = e->arg[0]->type.scalar; /* comparisons: the type of the operands */
    if (e->op == OP_POW && tessi_is_real(t) && a[1].f >= -16 && a[1].f <= 16
        && a[1].f == (double)(int64_t)a[1].f)
        *v = small_power(t, a[0], (int64_t)a[1].f);
    else
        *v = tessi_eval(e->op, tessi_value_type(t), a);
    return EVAL_OK;
}

static ScalarType value_type(TType t)
{
    return t.kind == TT_UNTYPED_INT ? TYPE_I64 : t.kind == TT_UNTYPED_REAL ? TYPE_F64 : t.scalar;
}

static EvalStatus eval_mask(const TExpr *e, const WindowPoint *point, uint64_t *budget, Value *v)
{
    const TMask *m = e->mask;
    int64_t flat = 0;
    if (!m->at)
        return EVAL_NOT_STATIC;
    for (int d = 0; d < m->n_dims; d++) {
        Value i;
        EvalStatus s = tessi_static_eval(e->arg[d], point, budget, &i);
        if (s != EVAL_OK)
            return s;
        if (i.i < m->lo[d] || i.i > m->hi[d])
            return EVAL_OUTSIDE_MASK;
        flat = flat * ((int64_t)m->hi[d] - m->lo[d] + 1) + (i.i - m->lo[d]);
    }
    *v = m->at[flat];
    return EVAL_OK;
}

static EvalStatus eval_window(const TExpr *e, const WindowPoint *point, uint64_t *budget, Value *v)
{
    if (e->reduction == REDUCE_MEDIAN || !e->is_static)
        return EVAL_NOT_STATIC;
    ScalarType t = value_type(e->type);
    WindowPoint p;
    int64_t n = 0;
    tessi_window_first(&p, e->window, point);
    bool more = tessi_window_count(e->window) > 0;
    for (; more; more = tessi_window_next(&p)) {
        Value one, keep = tessi_value_int(1);
        if (e->window->where) {
            EvalStatus s = tessi_static_eval(e->window->where, &p, budget, &keep);
            if (s != EVAL_OK)
                return s;
        }
        if (!keep.i)
            continue;
        EvalStatus s = tessi_static_eval(e->arg[0], &p, budget, &one);
        if (s != EVAL_OK)
            return s;
        if (n++ == 0) {
            *v = one;
        } else if (e->type.kind == TT_UNTYPED_INT) {
            s = untyped_integer(tessi_reduction_op(e->reduction), (Value[]){ *v, one }, v);
            if (s != EVAL_OK)
                return s;
        } else {
            *v = tessi_eval(tessi_reduction_op(e->reduction), t, (Value[]){ *v, one });
        }
    }
    if (n == 0)
        *v = tessi_is_real(t)
                 ? tessi_value_real(e->reduction == REDUCE_PROD)
                 : tessi_value_int(e->reduction == REDUCE_PROD || e->reduction == REDUCE_ALL);
    else if (e->is_mean)
        *v = tessi_eval(OP_DIV, t, (Value[]){ *v, tessi_value_real((double)n) });
    return EVAL_OK;
}

EvalStatus tessi_static_eval(const TExpr *e, const WindowPoint *point, uint64_t *budget, Value *v)
{
    Value a[3];
    EvalStatus s;
    if (*budget == 0)
        return EVAL_TOO_LONG;
    --*budget;
    switch (e->kind) {
    case TE_CONST: *v = e->value; return EVAL_OK;
    case TE_WINVAR: return find_var(point, e, &v->i) ? EVAL_OK : EVAL_NOT_STATIC;
    case TE_LOCAL: return tessi_static_eval(e->arg[0], point, budget, v);
    case TE_MASK: return eval_mask(e, point, budget, v);
    case TE_WINDOW: return eval_window(e, point, budget, v);
    case TE_OP:
        for (uint32_t i = 0; i < e->n_args; i++) {
            s = tessi_static_eval(e->arg[i], point, budget, &a[i]);
            if (s != EVAL_OK)
                return s;
        }
        return eval_op(e, a, v);
    case TE_CAST:
    case TE_SAT:
        if (e->type.kind == TT_STRUCT || e->arg[0]->type.kind == TT_STRUCT)
            return EVAL_NOT_STATIC;
        s = tessi_static_eval(e->arg[0], point, budget, &a[0]);
        if (s != EVAL_OK)
            return s;
        if (e->kind == TE_SAT)
            *v = tessi_eval_sat(value_type(e->type), value_type(e->arg[0]->type), a[0]);
        else
            *v = tessi_eval_cast(value_type(e->type), value_type(e->arg[0]->type), a[0]);
        return EVAL_OK;
    default: return EVAL_NOT_STATIC;
    }
}

/* Of whole coefficients that have no type yet. */
static bool mask_range(const TMask *m, Interval *range)
{
    if (!m || !m->at || m->type.kind != TT_UNTYPED_INT)
        return false;
    *range = (Interval){ m->at[0].i, m->at[0].i };
    for (uint32_t i = 1; i < m->n; i++) {
        range->lo = m->at[i].i < range->lo ? m->at[i].i : range->lo;
        range->hi = m->at[i].i > range->hi ? m->at[i].i : range->hi;
    }
    return true;
}

bool tessi_static_range(const TExpr *e, Interval *range)
{
    Interval a, b;
    switch (e->kind) {
    case TE_CONST:
        *range = (Interval){ e->value.i, e->value.i };
        return tessi_tt_is_integer(e->type);
    case TE_WINVAR:
        *range = (Interval){ e->window->lo[e->slot], e->window->hi[e->slot] };
        return true;
    case TE_CAST: return tessi_tt_is_integer(e->type) && tessi_static_range(e->arg[0], range);
    case TE_MASK: return mask_range(e->mask, range);
    case TE_OP: break;
    default: return false;
    }
    if (!tessi_tt_is_integer(e->type) || e->n_args > 2 || !tessi_static_range(e->arg[0], &a)
        || (e->n_args == 2 && !tessi_static_range(e->arg[1], &b)))
        return false;
    Interval minus = { -1, -1 };
    switch (e->op) {
    case OP_NEG: *range = tessi_interval_mul(a, minus); return true;
    case OP_ADD: *range = tessi_interval_add(a, b); return true;
    case OP_SUB: *range = tessi_interval_add(a, tessi_interval_mul(b, minus)); return true;
    case OP_MUL: *range = tessi_interval_mul(a, b); return true;
    default: return false;
    }
}

static bool add_scaled(StaticAffine *out, const StaticAffine *a, int64_t k)
{
    int64_t p;
    if (!tessi_mul_i64(a->constant, k, &p) || !tessi_add_i64(out->constant, p, &out->constant))
        return false;
    for (uint32_t i = 0; i < a->n; i++) {
        uint32_t j = 0;
        while (j < out->n
               && (out->term[j].window != a->term[i].window || out->term[j].var != a->term[i].var))
            j++;
        if (j == MAX_ACCESS_TERMS)
            return false;
        if (j == out->n)
            out->term[out->n++] = (StaticTerm){ a->term[i].window, a->term[i].var, 0 };
        if (!tessi_mul_i64(a->term[i].coef, k, &p)
            || !tessi_add_i64(out->term[j].coef, p, &out->term[j].coef))
            return false;
        if (out->term[j].coef == 0)
            out->term[j] = out->term[--out->n];
    }
    return true;
}

/* By the form of the expression alone. */
static bool affine_form(const TExpr *e, const WindowPoint *point, StaticAffine *out)
{
    StaticAffine a, b;
    int64_t value;
    switch (e->kind) {
    case TE_CONST: out->constant = e->value.i; return true;
    case TE_WINVAR:
        if (find_var(point, e, &value)) {
            out->constant = value;
            return true;
        }
        out->n = 1;
        out->term[0] = (StaticTerm){ e->window, e->slot, 1 };
        return true;
    case TE_CAST:
    case TE_LOCAL: return tessi_static_affine(e->arg[0], point, out);
    case TE_OP: break;
    default: return false;
    }
    if (e->n_args > 2 || !tessi_static_affine(e->arg[0], point, &a)
        || (e->n_args == 2 && !tessi_static_affine(e->arg[1], point, &b)))
        return false;
    switch (e->op) {
    case OP_NEG: return add_scaled(out, &a, -1);
    case OP_ADD: return add_scaled(out, &a, 1) && add_scaled(out, &b, 1);
    case OP_SUB: return add_scaled(out, &a, 1) && add_scaled(out, &b, -1);
    case OP_MUL:
        if (b.n == 0)
            return add_scaled(out, &a, b.constant);
        return a.n == 0 && add_scaled(out, &b, a.constant);
    default: return false;
    }
}

bool tessi_static_affine(const TExpr *e, const WindowPoint *point, StaticAffine *out)
{
    Value v;
    uint64_t budget = 10000;
    *out = (StaticAffine){ 0 };
    if (!tessi_tt_is_integer(e->type))
        return false;
    if (affine_form(e, point, out))
        return true;
    *out = (StaticAffine){ 0 };
    if (tessi_static_eval(e, point, &budget, &v) != EVAL_OK)
        return false;
    out->constant = v.i;
    return true;
}
