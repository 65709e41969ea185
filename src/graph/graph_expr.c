/* Constructors of expressions: one id for each meaning-by-structure, constants folded exactly, and those identities
 * that hold for every argument bit by bit. What changes rounding is decided in graph_simplify.c, never here. */
#include <math.h>
#include <string.h>

#include "graph/graph.h"
#include "graph/graph_fold.h"

const Expr *tessi_expr(const Graph *g, ExprId id)
{
    return &g->exprs.at[id.v < g->exprs.n ? id.v : 0];
}

bool tessi_expr_is_const(const Graph *g, ExprId id, Value *value)
{
    const Expr *e = tessi_expr(g, id);
    if (!id.v || e->kind != EXPR_CONST)
        return false;
    if (value)
        *value = e->value;
    return true;
}

bool tessi_expr_is_near(const Graph *g, ExprId id)
{
    const Expr *e = tessi_expr(g, id);
    return e->kind == EXPR_OP && e->op == OP_EXP2_NEAR;
}

/* ---- Interning ------------------------------------------------------------------------------- */
typedef struct ExprKey {
    const Graph *g;
    const Expr *e;
} ExprKey;

static bool same_expr(void *user, uint32_t id)
{
    const ExprKey *key = user;
    const Expr *a = &key->g->exprs.at[id], *b = key->e;
    if (a->kind != b->kind || a->type != b->type || a->op != b->op || a->reduction != b->reduction
        || a->fused != b->fused || a->ref != b->ref || a->n_args != b->n_args
        || a->access.v != b->access.v || a->size.v != b->size.v || a->window.v != b->window.v
        || a->table.v != b->table.v)
        return false;
    for (uint32_t k = 0; k < a->n_args; k++)
        if (a->arg[k].v != b->arg[k].v)
            return false;
    return a->kind != EXPR_CONST || tessi_value_same(a->type, a->value, b->value);
}

/* Members that do not belong to the kind of `e` must be zero. */
static ExprId intern_expr(Graph *g, const Expr *e)
{
    uint64_t h = tessi_hash_u64((uint64_t)e->kind, (uint64_t)e->type);
    h = tessi_hash_u64(h, (uint64_t)e->op << 32 | (uint64_t)e->reduction << 1 | e->fused);
    h = tessi_hash_u64(h, (uint64_t)e->ref << 32 | e->access.v);
    h = tessi_hash_u64(h, (uint64_t)e->size.v << 32 | e->window.v);
    h = tessi_hash_u64(h, e->table.v);
    for (uint32_t k = 0; k < e->n_args; k++)
        h = tessi_hash_u64(h, e->arg[k].v);
    if (e->kind == EXPR_CONST) {
        uint64_t bits = (uint64_t)e->value.i;
        if (tessi_is_real(e->type))
            memcpy(&bits, &e->value.f, sizeof bits);
        h = tessi_hash_u64(h, bits);
    }
    ExprKey key = { g, e };
    uint32_t id = tessi_idmap_find(&g->expr_map, h, same_expr, &key);
    if (!id) {
        id = g->exprs.n;
        VEC_PUSH(g->arena, &g->exprs, *e);
        tessi_idmap_add(g->arena, &g->expr_map, h, id);
    }
    return (ExprId){ id };
}

/* ---- Constants ------------------------------------------------------------------------------- */
/* The value is brought into its type first: float constants are rounded, integers wrapped; all NaNs are one. */
ExprId tessi_expr_const(Graph *g, ScalarType t, Value v)
{
    v = tessi_eval_cast(t, tessi_is_real(t) ? TYPE_F64 : TYPE_I64, v);
    if (tessi_is_real(t) && isnan(v.f))
        v.f = (double)NAN;
    return intern_expr(g, &(Expr){ .kind = EXPR_CONST, .type = tessi_value_type(t), .value = v });
}

ExprId tessi_expr_int(Graph *g, ScalarType t, int64_t i)
{
    Value v = tessi_eval_cast(t, TYPE_I64, tessi_value_int(i));
    return tessi_expr_const(g, t, v);
}

ExprId tessi_expr_real(Graph *g, ScalarType t, double f)
{
    Value v = tessi_eval_cast(t, TYPE_F64, tessi_value_real(f));
    return tessi_expr_const(g, t, v);
}

/* ---- Operators ------------------------------------------------------------------------------- */
/* The type that the operator works on. */
static ScalarType operand_type(const Graph *g, const Expr *e)
{
    return tessi_expr(g, e->arg[e->op == OP_SELECT ? 1 : 0])->type;
}

bool tessi_op_well_typed(const Graph *g, const Expr *e)
{
    ScalarType t = operand_type(g, e);
    const OpInfo *info = tessi_op_info(e->op);
    if (e->n_args != info->n_args || !tessi_op_takes(e->op, t) || info->domain == 'W')
        return false; /* words of several values belong to the loops */
    for (uint32_t k = 0; k < e->n_args; k++) {
        ScalarType want = e->op == OP_SELECT && k == 0 ? TYPE_BOOL : t;
        if (!e->arg[k].v || tessi_expr(g, e->arg[k])->type != want)
            return false;
    }
    return true;
}

ExprId tessi_expr_op(Graph *g, Op op, ExprId a, ExprId b, ExprId c)
{
    Expr e = { .kind = EXPR_OP, .op = op, .arg = { a, b, c } };
    e.n_args = tessi_op_info(op)->n_args;
    for (uint32_t k = e.n_args; k < 3; k++)
        e.arg[k] = (ExprId){ 0 };
    e.type = tessi_op_result(op, operand_type(g, &e));
    if (!tessi_op_well_typed(g, &e)) /* misuse: the verifier reports it */
        return intern_expr(g, &e);
    ExprId folded = tessi_fold_op(g, &e);
    return folded.v ? folded : intern_expr(g, &e);
}

/* ---- Conversions ----------------------------------------------------------------------------- */
/* Every value of `from` is a value of `to`. */
static bool holds_exactly(ScalarType to, ScalarType from)
{
    if (to == from)
        return true;
    if (tessi_is_real(from))
        return from == TYPE_F32 && to == TYPE_F64;
    if (from == TYPE_U64)
        return false;
    Interval r = tessi_type_range(from), exact = { 0, 0 };
    if (to == TYPE_U64)
        return r.lo >= 0;
    if (to == TYPE_F32)
        exact = (Interval){ -(1 << 24), 1 << 24 };
    else if (to == TYPE_F64)
        exact = (Interval){ -(INT64_C(1) << 53), INT64_C(1) << 53 };
    else if (!tessi_is_real(to))
        exact = tessi_type_range(to);
    return exact.lo <= r.lo && r.hi <= exact.hi;
}

/* float16 is a storage type: values of it are float values that ROUND16 leaves alone. */
static ExprId to_half(Graph *g, ExprId a)
{
    const Expr *e = tessi_expr(g, a);
    if (e->kind == EXPR_OP && e->op == OP_ROUND16)
        return a;
    ExprId single = tessi_expr_cast(g, TYPE_F32, a);
    return tessi_expr_op(g, OP_ROUND16, single, (ExprId){ 0 }, (ExprId){ 0 });
}

ExprId tessi_expr_cast(Graph *g, ScalarType to, ExprId a)
{
    if (to == TYPE_F16)
        return to_half(g, a);
    const Expr *e = tessi_expr(g, a);
    if (e->kind == EXPR_CAST && holds_exactly(e->type, tessi_expr(g, e->arg[0])->type)) {
        bool by_real = tessi_is_real(e->type) && !tessi_is_real(tessi_expr(g, e->arg[0])->type);
        if (by_real && tessi_is_integer(to)) /* reals saturate where integers wrap */
            return tessi_expr_sat(g, to, e->arg[0]);
        return tessi_expr_cast(g, to, e->arg[0]);
    }
    if (e->type == to)
        return a;
    if (e->kind == EXPR_CONST)
        return tessi_expr_const(g, to, tessi_eval_cast(to, e->type, e->value));
    return intern_expr(g, &(Expr){ .kind = EXPR_CAST, .type = to, .n_args = 1, .arg = { a } });
}

ExprId tessi_expr_sat(Graph *g, ScalarType to, ExprId a)
{
    if (to == TYPE_F16)
        return to_half(g, a);
    const Expr *e = tessi_expr(g, a);
    if (e->type == to)
        return a;
    if (e->kind == EXPR_CONST)
        return tessi_expr_const(g, to, tessi_eval_sat(to, e->type, e->value));
    if (!tessi_is_real(e->type) && holds_exactly(to, e->type))
        return tessi_expr_cast(g, to, a);
    return intern_expr(g, &(Expr){ .kind = EXPR_SAT, .type = to, .n_args = 1, .arg = { a } });
}

/* ---- Leaves ---------------------------------------------------------------------------------- */
ExprId tessi_expr_load(Graph *g, AccessId access)
{
    ScalarType t = tessi_stage(g, tessi_access(g, access)->producer)->type;
    return intern_expr(g,
                       &(Expr){ .kind = EXPR_LOAD, .type = tessi_value_type(t), .access = access });
}

ExprId tessi_expr_load_at(Graph *g, StageId from, const int64_t *far)
{
    Access a = { .producer = from, .n_dims = tessi_stage(g, from)->n_dims };
    for (uint8_t d = 0; d < a.n_dims; d++)
        a.dim[d] = (AccessDim){ .rule = BORDER_INSIDE,
                                .src = (int8_t)d,
                                .scale = 1,
                                .add = tessi_size_const(g, far ? far[d] : 0) };
    return tessi_expr_load(g, tessi_graph_access(g, &a));
}

ExprId tessi_expr_scalar(Graph *g, uint32_t scalar)
{
    ScalarType t = scalar < g->scalars.n ? g->scalars.at[scalar].type : TYPE_I32;
    return intern_expr(g,
                       &(Expr){ .kind = EXPR_SCALAR, .type = tessi_value_type(t), .ref = scalar });
}

ExprId tessi_expr_index(Graph *g, uint32_t dim)
{
    return intern_expr(g, &(Expr){ .kind = EXPR_INDEX, .type = TYPE_I32, .ref = dim });
}

ExprId tessi_expr_size(Graph *g, SizeId size)
{
    int64_t value;
    if (tessi_size_is_const(g, size, &value))
        return tessi_expr_int(g, TYPE_I32, value);
    return intern_expr(g, &(Expr){ .kind = EXPR_SIZE, .type = TYPE_I32, .size = size });
}

ExprId tessi_expr_winvar(Graph *g, WindowId w, uint32_t var)
{
    const Window *window = tessi_window(g, w);
    if (var < window->n_vars && window->lo[var] == window->hi[var])
        return tessi_expr_int(g, TYPE_I32, window->lo[var]);
    return intern_expr(g,
                       &(Expr){ .kind = EXPR_WINVAR, .type = TYPE_I32, .window = w, .ref = var });
}

ExprId tessi_expr_state(Graph *g, uint32_t number, ScalarType t)
{
    return intern_expr(g, &(Expr){ .kind = EXPR_STATE, .type = t, .ref = number });
}

ExprId tessi_expr_table(Graph *g, TableId table, ExprId flat_index)
{
    const Table *t = tessi_table(g, table);
    Value index;
    if (tessi_expr_is_const(g, flat_index, &index) && index.i >= 0 && index.i < t->n)
        return tessi_expr_const(g, t->type, t->at[index.i]);
    return intern_expr(g, &(Expr){ .kind = EXPR_TABLE,
                                   .type = tessi_value_type(t->type),
                                   .table = table,
                                   .n_args = 1,
                                   .arg = { flat_index } });
}

/* ---- Windows --------------------------------------------------------------------------------- */
Value tessi_reduction_identity(Reduction r, ScalarType t)
{
    const bool is_min = r == REDUCE_MIN;
    if (!is_min && r != REDUCE_MAX) {
        const bool one = r == REDUCE_PROD || r == REDUCE_ALL;
        return tessi_is_real(t) ? tessi_value_real(one ? 1.0 : 0.0) : tessi_value_int(one);
    }
    if (tessi_is_real(t))
        return tessi_value_real((double)(is_min ? INFINITY : -INFINITY));
    return tessi_value_int(is_min ? tessi_type_most(t) : tessi_type_least(t));
}

ScalarType tessi_accumulator_type(Reduction r, ScalarType source)
{
    switch (r) {
    case REDUCE_MIN:
    case REDUCE_MAX: return tessi_value_type(source);
    case REDUCE_COUNT: return TYPE_I64;
    default: return tessi_is_real(source) ? TYPE_F64 : TYPE_I64;
    }
}

ScalarType tessi_running_type(const Stage *s, ScalarType source)
{
    const ScalarType acc = tessi_accumulator_type(s->reduction, source);
    const bool wraps = s->reduction == REDUCE_SUM || s->reduction == REDUCE_PROD;
    return wraps && acc == TYPE_I64 && tessi_is_integer(s->type) ? s->type : acc;
}

Value tessi_scan_start(Reduction r, ScalarType acc)
{
    return r == REDUCE_SUM && tessi_is_real(acc) ? tessi_value_real(-0.0)
                                                 : tessi_reduction_identity(r, acc);
}

static bool window_is_empty(const Window *w)
{
    for (uint32_t k = 0; k < w->n_vars; k++)
        if (w->lo[k] > w->hi[k])
            return true;
    return false;
}

static ExprId new_window(Graph *g, Reduction r, WindowId w, ExprId body, ExprId where, bool fused)
{
    Expr e = { .kind = EXPR_WINDOW,
               .type = tessi_expr(g, body)->type,
               .reduction = r,
               .fused = fused,
               .window = w,
               .n_args = 1,
               .arg = { body } };
    Value condition;
    bool known = tessi_expr_is_const(g, where, &condition);
    if (window_is_empty(tessi_window(g, w)) || (known && !condition.i))
        return tessi_expr_const(g, e.type, tessi_reduction_identity(r, e.type));
    if (where.v && !known) {
        e.n_args = 2;
        e.arg[1] = where;
    }
    ExprId window = intern_expr(g, &e);
    /* Under a condition sums start from 0, also one that turns out to hold: where all is -0 that can be told. */
    if (known && r == REDUCE_SUM && tessi_is_real(e.type))
        window = tessi_expr_op(g, OP_ADD, tessi_expr_real(g, e.type, 0.0), window, (ExprId){ 0 });
    return window;
}

ExprId tessi_expr_window(Graph *g, Reduction r, WindowId w, ExprId body, ExprId where)
{
    return new_window(g, r, w, body, where, false);
}

ExprId tessi_expr_window_fused(Graph *g, WindowId w, ExprId product, ExprId where)
{
    const Expr *e = tessi_expr(g, product);
    bool is_product = e->kind == EXPR_OP && e->op == OP_MUL && tessi_is_real(e->type);
    return new_window(g, REDUCE_SUM, w, product, where, is_product);
}

ExprId tessi_expr_asked(Graph *g, ExprId window, MethodRequest request)
{
    Expr e = *tessi_expr(g, window);
    uint32_t k = 0;
    if (request.method == METHOD_AUTO || e.kind != EXPR_WINDOW || e.reduction != REDUCE_SUM)
        return window;
    for (; k < g->requests.n; k++) {
        const MethodRequest *have = &g->requests.at[k];
        if (have->method == request.method && have->span.file == request.span.file
            && have->span.begin == request.span.begin && have->span.end == request.span.end)
            break;
    }
    if (k == g->requests.n)
        VEC_PUSH(g->arena, &g->requests, request);
    e.ref = k + 1;
    return intern_expr(g, &e);
}

MethodRequest tessi_expr_request(const Graph *g, const Expr *window)
{
    if (window->kind != EXPR_WINDOW || !window->ref)
        return (MethodRequest){ .method = METHOD_AUTO };
    return g->requests.at[window->ref - 1];
}

ExprId tessi_expr_window_by(Graph *g, MethodRequest request, WindowId w, ExprId body, ExprId where)
{
    return tessi_expr_asked(g, tessi_expr_window(g, REDUCE_SUM, w, body, where), request);
}
