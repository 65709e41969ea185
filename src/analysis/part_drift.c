/* How far from its own point a computed index can lie: index(0) + d with a d that has bounds, also where it is kept
 * inside the image. So images that are warped a little can be cut as others are. */
#include <math.h>
#include <stdint.h>

#include "analysis/part.h"

/* An expression as `times` index(dim) + lo..hi. */
typedef struct Drift {
    int times;
    double lo, hi;
} Drift;

typedef struct DriftOf {
    const Graph *g;
    const Analysis *ranges;
    int dim;
    int64_t extent;        /* of the images there */
    const int64_t *params; /* of the run */
} DriftOf;

static bool drift(const DriftOf *f, ExprId id, Drift *out);

static bool known(const DriftOf *f, ExprId id, double *lo, double *hi)
{
    const ValueRange *r = &f->ranges->expr_range[id.v];
    const bool real = tessi_is_real(tessi_expr(f->g, id)->type);
    const double far = (double)INT32_MAX;
    *lo = real ? r->lo : (double)r->i.lo;
    *hi = real ? r->hi : (double)r->i.hi;
    return !(real && r->maybe_nan) && *lo >= -far && *hi <= far;
}

/* What does not go with the index, by the values that it can have; waves have bounds that ranges do not tell. */
static bool values(const DriftOf *f, ExprId id, double *lo, double *hi)
{
    const Expr *e = tessi_expr(f->g, id);
    double a, b, c, d;
    if (known(f, id, lo, hi))
        return true;
    if (e->kind == EXPR_CAST && tessi_is_real(e->type))
        return values(f, e->arg[0], lo, hi);
    if (e->kind != EXPR_OP || !values(f, e->arg[0], &a, &b))
        return false;
    if (e->op == OP_SIN || e->op == OP_COS) {
        *lo = -1;
        *hi = 1;
        return true;
    }
    if ((e->op != OP_MUL && e->op != OP_FMA) || !tessi_is_real(e->type)
        || !values(f, e->arg[1], &c, &d))
        return false;
    *lo = fmin(fmin(a * c, a * d), fmin(b * c, b * d));
    *hi = fmax(fmax(a * c, a * d), fmax(b * c, b * d));
    if (e->op == OP_FMA && !values(f, e->arg[2], &a, &b))
        return false;
    *lo += e->op == OP_FMA ? a : 0;
    *hi += e->op == OP_FMA ? b : 0;
    return true;
}

static bool by_values(const DriftOf *f, ExprId id, Drift *out)
{
    *out = (Drift){ 0 };
    return values(f, id, &out->lo, &out->hi);
}

static ExprId uncast(const DriftOf *f, ExprId id)
{
    while (tessi_expr(f->g, id)->kind == EXPR_CAST)
        id = tessi_expr(f->g, id)->arg[0];
    return id;
}

/* The last point of the images, or one behind. */
static bool is_end(const DriftOf *f, ExprId id)
{
    const Expr *e = tessi_expr(f->g, uncast(f, id));
    const bool sum = e->kind == EXPR_OP && (e->op == OP_SUB || e->op == OP_ADD);
    const Expr *size = sum ? tessi_expr(f->g, uncast(f, e->arg[0])) : e;
    const Expr *by = sum ? tessi_expr(f->g, e->arg[1]) : NULL;
    int64_t n;
    if (size->kind != EXPR_SIZE || (by && by->kind != EXPR_CONST)
        || !tessi_size_eval(f->g, size->size, f->params, &n))
        return false;
    const double more = !by ? 0 : tessi_is_real(by->type) ? by->value.f : (double)by->value.i;
    const double end = (double)n + (sum && e->op == OP_SUB ? -more : more);
    return end >= (double)f->extent - 1 && end <= (double)f->extent;
}

/* max(index + d, 0) lies no further away than 0 or d, and so does min(index + d, last). */
static bool bounded_by(const DriftOf *f, const Expr *e, Drift *out)
{
    for (int k = 0; k < 2; k++) {
        const Expr *bound = tessi_expr(f->g, e->arg[1 - k]);
        const bool zero =
            bound->kind == EXPR_CONST
            && (tessi_is_real(bound->type) ? bound->value.f == 0 : bound->value.i == 0);
        const bool fits = e->op == OP_MAX ? zero : is_end(f, e->arg[1 - k]);
        if (!fits || !drift(f, e->arg[k], out) || out->times != 1)
            continue;
        out->lo = fmin(out->lo, 0);
        out->hi = fmax(out->hi, e->op == OP_MAX ? 0 : 1);
        return true;
    }
    return false;
}

/* A sum of reals may be off by the distance between two of them, as large as the image is. */
static void round_off(const DriftOf *f, ScalarType type, Drift *out)
{
    if (!tessi_is_real(type))
        return;
    const double unit = type == TYPE_F64 ? 0x1p-50 : 0x1p-21;
    out->lo -= unit * (double)f->extent;
    out->hi += unit * (double)f->extent;
}

static bool of_sum(const DriftOf *f, const Expr *e, Drift *out)
{
    Drift a, b;
    if (!drift(f, e->arg[0], &a) || !drift(f, e->arg[1], &b))
        return false;
    const bool minus = e->op == OP_SUB;
    *out = (Drift){ a.times + (minus ? -b.times : b.times), a.lo + (minus ? -b.hi : b.lo),
                    a.hi + (minus ? -b.lo : b.hi) };
    round_off(f, e->type, out);
    return true;
}

/* A product that has bounds, and what goes with the index. */
static bool of_fused(const DriftOf *f, const Expr *e, Drift *out)
{
    double a, b, c, d;
    if (!values(f, e->arg[0], &a, &b) || !values(f, e->arg[1], &c, &d) || !drift(f, e->arg[2], out))
        return false;
    out->lo += fmin(fmin(a * c, a * d), fmin(b * c, b * d));
    out->hi += fmax(fmax(a * c, a * d), fmax(b * c, b * d));
    round_off(f, e->type, out);
    return true;
}

static bool uses_index(const DriftOf *f, ExprId id)
{
    const Expr *e = tessi_expr(f->g, id);
    if (e->kind == EXPR_INDEX)
        return (int)e->ref == f->dim;
    bool uses = false;
    for (int k = 0; (e->kind == EXPR_CAST || e->kind == EXPR_OP) && k < e->n_args; k++)
        uses = uses || uses_index(f, e->arg[k]);
    return uses;
}

static bool with_index(const DriftOf *f, const Expr *e, Drift *out)
{
    const bool is_op = e->kind == EXPR_OP;
    if (is_op && (e->op == OP_ADD || e->op == OP_SUB))
        return of_sum(f, e, out);
    if (is_op && e->op == OP_FMA)
        return of_fused(f, e, out);
    if (is_op && (e->op == OP_MIN || e->op == OP_MAX))
        return bounded_by(f, e, out);
    const bool rounds =
        is_op && (e->op == OP_FLOOR || e->op == OP_CEIL || e->op == OP_ROUND || e->op == OP_TRUNC);
    if ((e->kind != EXPR_CAST && !rounds) || !drift(f, e->arg[0], out))
        return false;
    const ScalarType from = tessi_expr(f->g, e->arg[0])->type;
    if (e->kind == EXPR_CAST && tessi_type_info(e->type)->bytes < 4)
        return false; /* it may wrap around */
    if (tessi_is_real(from)) {
        out->lo -= 1;
        out->hi += 1;
    }
    round_off(f, e->type, out);
    return true;
}

static bool drift(const DriftOf *f, ExprId id, Drift *out)
{
    const Expr *e = tessi_expr(f->g, id);
    *out = (Drift){ .times = 1 };
    if (e->kind == EXPR_INDEX && (int)e->ref == f->dim)
        return true;
    return (uses_index(f, id) && with_index(f, e, out)) || by_values(f, id, out);
}

bool tessi_part_drift(const Graph *g, const Analysis *ranges, ExprId index, int dim, int64_t extent,
                      const int64_t *params, int64_t *lo, int64_t *hi)
{
    const DriftOf f = { .g = g, .ranges = ranges, .dim = dim, .extent = extent, .params = params };
    Drift d;
    if (tessi_expr(g, index)->type != TYPE_I32 || !drift(&f, index, &d) || d.times != 1
        || d.lo < -(1 << 30) || d.hi > 1 << 30)
        return false;
    *lo = (int64_t)floor(d.lo);
    *hi = (int64_t)ceil(d.hi);
    return true;
}
