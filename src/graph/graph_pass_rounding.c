/* The one place where rounding is decided, for all targets alike. Default: x / c becomes x * (1 / c), and a product
 * that is added or subtracted is added in the same operation. Fast: exponentials of floats become powers of two as
 * targets have them. Strict: only what changes no bit. The right operand is fused first: in a + b * c + d * e,
 * written ((a + b*c) + d*e), every product but none twice. */
#include <math.h>

#include "graph/graph_passes.h"

static const ExprId none = { 0 };

static ExprId contract(Graph *g, ExprId id, FpMode fp);

static bool is_product(const Graph *g, ExprId id)
{
    const Expr *e = tessi_expr(g, id);
    return e->kind == EXPR_OP && e->op == OP_MUL;
}

static ExprId negate(Graph *g, ExprId id)
{
    return tessi_expr_op(g, OP_NEG, id, none, none);
}

static ExprId fuse(Graph *g, ExprId x, ExprId y, ExprId sum, FpMode fp)
{
    ExprId fused = tessi_expr_op(g, OP_FMA, x, y, sum);
    return contract(g, fused, fp); /* fma(1, y, sum) is a sum again */
}

static ExprId contract_sum(Graph *g, const Expr *e, FpMode fp)
{
    ExprId left = e->arg[0], right = e->arg[1];
    const Expr l = *tessi_expr(g, left), r = *tessi_expr(g, right);
    bool minus = e->op == OP_SUB;
    if (is_product(g, right)) {
        /* left - x * y: the sign goes where it costs nothing */
        bool on_y = minus && tessi_expr_is_const(g, r.arg[1], NULL);
        ExprId x = minus && !on_y ? negate(g, r.arg[0]) : r.arg[0];
        ExprId y = on_y ? negate(g, r.arg[1]) : r.arg[1];
        return fuse(g, x, y, left, fp);
    }
    if (is_product(g, left))
        return fuse(g, l.arg[0], l.arg[1], minus ? negate(g, right) : right, fp);
    return none;
}

/* Multiplication by the reciprocal is exact for powers of two. */
static ExprId contract_division(Graph *g, const Expr *e, FpMode fp)
{
    Value c, one = tessi_value_real(1.0);
    int exponent;
    if (!tessi_expr_is_const(g, e->arg[1], &c) || !isfinite(c.f) || c.f == 0)
        return none;
    Value reciprocal = tessi_eval(OP_DIV, e->type, (const Value[2]){ one, c });
    double smallest = e->type == TYPE_F32 ? 0x1p-126 : 0x1p-1022;
    bool is_normal = isfinite(reciprocal.f) && fabs(reciprocal.f) >= smallest;
    bool is_exact = fabs(frexp(c.f, &exponent)) == 0.5;
    if (!is_normal || (fp == FP_STRICT && !is_exact))
        return none;
    return tessi_expr_op(g, OP_MUL, e->arg[0], tessi_expr_const(g, e->type, reciprocal), none);
}

/* c * x, with a constant factor that x has multiplied by c. */
static ExprId scaled(Graph *g, ExprId x, double c, int depth)
{
    enum { DEEP = 8 };
    const Expr e = *tessi_expr(g, x);
    Value k;
    if (tessi_expr_is_const(g, x, &k))
        return tessi_expr_real(g, e.type, k.f * c);
    if (e.kind != EXPR_OP || depth == DEEP)
        return none;
    if (e.op == OP_NEG) {
        const ExprId inner = scaled(g, e.arg[0], c, depth + 1);
        return inner.v ? negate(g, inner) : none;
    }
    for (int i = 0; e.op == OP_MUL && i < 2; i++) {
        const ExprId factor = scaled(g, e.arg[i], c, depth + 1);
        if (factor.v)
            return tessi_expr_op(g, OP_MUL, i ? e.arg[0] : factor, i ? factor : e.arg[1], none);
    }
    return none;
}

/* Targets have an instruction for powers of two. */
static ExprId near_power(Graph *g, const Expr *e)
{
    const double log2_e = 1.4426950408889634;
    ExprId x = e->arg[0];
    if (e->op == OP_EXP) {
        x = scaled(g, x, log2_e, 0);
        if (!x.v)
            x = tessi_expr_op(g, OP_MUL, tessi_expr_real(g, e->type, log2_e), e->arg[0], none);
    }
    return tessi_expr_op(g, OP_EXP2_NEAR, x, none, none);
}

/* log2 of a weight that is known when compiling, and positive: a constant or an element of a table. */
static ExprId log2_of(Graph *g, ExprId weight)
{
    const Expr e = *tessi_expr(g, weight);
    if (e.kind == EXPR_CONST)
        return e.value.f > 0 && isfinite(e.value.f) ? tessi_expr_real(g, e.type, log2(e.value.f))
                                                    : none;
    if (e.kind != EXPR_TABLE)
        return none;
    Table t = *tessi_table(g, e.table);
    Value *at = ARENA_NEW_ARRAY(g->arena, Value, t.n);
    for (uint32_t k = 0; k < t.n; k++) {
        if (!(t.at[k].f > 0) || !isfinite(t.at[k].f))
            return none;
        at[k] = tessi_eval_cast(t.type, TYPE_F64, tessi_value_real(log2(t.at[k].f)));
    }
    t.at = at;
    t.name = tessi_sprintf(g->arena, "%s.log2", t.name);
    return tessi_expr_table(g, tessi_graph_table(g, &t), e.arg[0]);
}

/* w * 2^(x * y) is 2^(x * y + log2(w)), whose exponent is one operation. */
static ExprId weighted_power(Graph *g, const Expr *e, FpMode fp)
{
    for (int i = 0; i < 2; i++) {
        const Expr power = *tessi_expr(g, e->arg[i]);
        if (power.kind != EXPR_OP || power.op != OP_EXP2_NEAR || !is_product(g, power.arg[0]))
            continue;
        const ExprId more = log2_of(g, e->arg[1 - i]);
        if (!more.v)
            continue;
        const ExprId x = contract(g, tessi_expr_op(g, OP_ADD, power.arg[0], more, none), fp);
        return tessi_expr_op(g, OP_EXP2_NEAR, x, none, none);
    }
    return none;
}

/* What the operator or window `id`, whose parts are done, becomes. */
static ExprId contract(Graph *g, ExprId id, FpMode fp)
{
    const Expr e = *tessi_expr(g, id);
    ExprId better = none;
    if (!tessi_is_real(e.type))
        return id;
    if (e.kind == EXPR_OP && e.op == OP_DIV)
        better = contract_division(g, &e, fp);
    if (fp == FP_STRICT)
        return better.v ? better : id;
    if (e.kind == EXPR_OP && fp == FP_FAST && e.type == TYPE_F32
        && (e.op == OP_EXP || e.op == OP_EXP2))
        better = near_power(g, &e);
    if (e.kind == EXPR_OP && fp == FP_FAST && e.op == OP_MUL)
        better = weighted_power(g, &e, fp);
    if (e.kind == EXPR_OP && (e.op == OP_ADD || e.op == OP_SUB))
        better = contract_sum(g, &e, fp);
    if (e.kind == EXPR_WINDOW && e.reduction == REDUCE_SUM && is_product(g, e.arg[0]))
        better = tessi_expr_asked(g, tessi_expr_window_fused(g, e.window, e.arg[0], e.arg[1]),
                                  tessi_expr_request(g, &e));
    return better.v ? better : id;
}

static ExprId change(Rewrite *r, ExprId id, const Expr *e)
{
    (void)id;
    const FpMode *fp = r->user;
    return contract(r->to, tessi_rewrite_rebuild(r, e), *fp);
}

void tessi_pass_rounding(Graph *g, FpMode fp)
{
    Rewrite r;
    tessi_rewrite_init(&r, g, g, g->arena);
    r.change = change;
    r.user = &fp;
    tessi_rewrite_bodies(g, &r);
}
