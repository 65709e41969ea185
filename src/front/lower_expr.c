/* front/lower_expr: expressions, one channel at a time. Typed trees are DAGs, so results are remembered (LMemo);
 * what depends on an unrolled window is forgotten with its point. */
#include "front/lower.h"

static const ExprId NONE = { 0 };

ScalarType tessi_lower_field(TType t, uint32_t channel)
{
    return t.kind == TT_STRUCT ? t.st->field[channel].type : t.scalar;
}

uint32_t tessi_lower_channel(const TExpr *e, uint32_t channel)
{
    return e->type.kind == TT_STRUCT ? channel : 0;
}

LMemo *tessi_lower_memo(Lower *l, LMemo *table, const TExpr *e, uint32_t channel)
{
    LMemo *memo = &table[e->id];
    if (!channel)
        return memo;
    if (!memo->others)
        memo->others = ARENA_NEW_ARRAY(l->a, LMemo, e->type.st->n - 1);
    return &memo->others[channel - 1];
}

ExprId tessi_lower_number(Lower *l, ScalarType t, int64_t i)
{
    return tessi_is_real(t) ? tessi_expr_real(l->g, t, (double)i) : tessi_expr_int(l->g, t, i);
}

ExprId tessi_lower_convert(Lower *l, ExprId e, ScalarType from, ScalarType to)
{
    Graph *g = l->g;
    if (from == to)
        return e;
    if (to == TYPE_F16) /* kept as float, rounded */
        return tessi_expr_op(g, OP_ROUND16, tessi_lower_convert(l, e, from, TYPE_F32), NONE, NONE);
    from = tessi_value_type(from);
    /* The original dialect truncates reals and keeps the low bits: through int64, whose saturation is out of the
     * way. */
    if (l->t->forma && tessi_is_real(from) && tessi_is_integer(to) && to != TYPE_I64) {
        e = tessi_expr_cast(g, TYPE_I64, e);
        from = TYPE_I64;
    }
    return from == to ? e : tessi_expr_cast(g, to, e);
}

/* x^n for a small constant n, by repeated squaring: as small_power of static_eval.c. */
static ExprId small_power(Lower *l, ExprId base, ScalarType t, int64_t n)
{
    Graph *g = l->g;
    ExprId one = tessi_is_real(t) ? tessi_expr_real(g, t, 1) : tessi_expr_int(g, t, 1), r = NONE;
    for (uint64_t k = (uint64_t)(n < 0 ? -n : n); k; k >>= 1) {
        if (k & 1)
            r = r.v ? tessi_expr_op(g, OP_MUL, r, base, NONE) : base;
        if (k > 1)
            base = tessi_expr_op(g, OP_MUL, base, base, NONE);
    }
    if (!r.v)
        return one;
    return n < 0 ? tessi_expr_op(g, OP_DIV, one, r, NONE) : r;
}

static bool small_exponent(Lower *l, ExprId e, ScalarType t, int64_t *n)
{
    Value v;
    if (!tessi_expr_is_const(l->g, e, &v))
        return false;
    if (!tessi_is_real(t)) {
        *n = v.i;
        return v.i >= 0 && v.i <= 16;
    }
    if (!(v.f >= -16 && v.f <= 16) || v.f != (double)(int64_t)v.f)
        return false;
    *n = (int64_t)v.f;
    return true;
}

static ExprId lower_op(Lower *l, LBody *b, const TExpr *e, uint32_t channel)
{
    ExprId a[3] = { NONE, NONE, NONE }, sum;
    int64_t n;
    if (tessi_lower_written_sum(l, b, e, channel, &sum))
        return sum;
    for (uint32_t i = 0; i < e->n_args; i++)
        a[i] = tessi_lower_expr(l, b, e->arg[i], channel);
    if (e->op == OP_POW) {
        ScalarType t = tessi_value_type(tessi_lower_field(e->type, channel));
        if (small_exponent(l, a[1], t, &n))
            return small_power(l, a[0], t, n);
    }
    return tessi_expr_op(l->g, e->op, a[0], a[1], a[2]);
}

static ExprId lower_cast(Lower *l, LBody *b, const TExpr *e, uint32_t channel)
{
    const TExpr *arg = e->arg[0];
    ScalarType to = tessi_lower_field(e->type, channel);
    if (tessi_tt_is_untyped(arg->type)) {
        ExprId v = tessi_lower_static(l, b, arg, tessi_value_type(to));
        return to == TYPE_F16 ? tessi_lower_convert(l, v, TYPE_F32, to) : v;
    }
    ScalarType from = tessi_lower_field(arg->type, channel);
    ExprId v = tessi_lower_expr(l, b, arg, channel);
    if (e->kind == TE_CAST || to == TYPE_F16)
        return tessi_lower_convert(l, v, from, to);
    return from == to ? v : tessi_expr_sat(l->g, to, v);
}

static ExprId lower_argument(Lower *l, LBody *b, const TExpr *e, uint32_t channel)
{
    LBody vector_level = { .epoch = 1, .body_epoch = 1 };
    return tessi_lower_expr(l, &vector_level, b->call->args.at[e->slot].scalar, channel);
}

ExprId tessi_lower_value_scalar(Lower *l, const TValue *v, uint32_t channel)
{
    const LValue *value = &l->value[v->id];
    if (value->scalar)
        return value->scalar[channel];
    Access access = { .producer = value->stage[channel] };
    return tessi_expr_load(l->g, tessi_graph_access(l->g, &access));
}

static SizeId size_of(Lower *l, const LBody *b, const TExpr *e)
{
    const TValue *image = e->image ? e->image : b->call->args.at[e->slot].image;
    return l->value[image->id].size[e->dim];
}

static ExprId lower_kind(Lower *l, LBody *b, const TExpr *e, uint32_t channel)
{
    Graph *g = l->g;
    switch (e->kind) {
    case TE_CONST: return tessi_expr_const(g, tessi_value_type(e->type.scalar), e->value);
    case TE_OP: return lower_op(l, b, e, channel);
    case TE_CAST:
    case TE_SAT: return lower_cast(l, b, e, channel);
    case TE_READ: return tessi_lower_load(l, b, e, channel);
    case TE_ARG: return lower_argument(l, b, e, channel);
    case TE_LOCAL: return tessi_lower_local(l, b, e, channel);
    case TE_INDEX: return tessi_expr_index(g, e->slot);
    case TE_SIZE: return tessi_expr_size(g, size_of(l, b, e));
    case TE_PARAM: return tessi_expr_size(g, tessi_lower_size_expr(l, e));
    case TE_SCALAR: return tessi_expr_scalar(g, e->slot);
    case TE_STATE:
        return tessi_expr_state(g, e->slot, tessi_value_type(tessi_lower_field(e->type, channel)));
    case TE_VALUE: return tessi_lower_value_scalar(l, e->image, channel);
    case TE_WINDOW: return tessi_lower_window(l, b, e, channel);
    case TE_CONVOLVE: return tessi_lower_convolve(l, b, e, channel);
    case TE_MASK: return tessi_lower_mask(l, b, e, e->type.scalar);
    case TE_SHARE: return tessi_lower_share(l, b, e);
    case TE_VALID: {
        const ExprId valid = tessi_lower_is_valid(l, b, e->arg[0]);
        return valid.v ? valid : tessi_lower_number(l, TYPE_BOOL, 1);
    }
    case TE_FIELD: return tessi_lower_expr(l, b, e->arg[0], e->slot);
    case TE_STRUCT: return tessi_lower_expr(l, b, e->arg[channel], 0);
    case TE_WINVAR:
    case TE_ERROR: break;
    }
    l->failed =
        true; /* an error or an untyped value is left: the checker does not let it come here */
    return tessi_expr_int(g, TYPE_I32, 0);
}

ExprId tessi_lower_expr(Lower *l, LBody *b, const TExpr *e, uint32_t channel)
{
    channel = tessi_lower_channel(e, channel);
    LMemo *memo = tessi_lower_memo(l, l->memo, e, channel);
    if (memo->epoch == b->epoch)
        return memo->id;
    ExprId id = lower_kind(l, b, e, channel);
    memo->epoch = b->epoch;
    memo->id = id;
    return id;
}
