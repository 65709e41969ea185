/* Coordinates in lanes of 32 bits: which index arithmetic stays within them, given that no image has more than 2^30
 * points along a dimension. */
#include "loop/vector.h"

enum { MOST_POINTS = 1 << 30 }; /* along a dimension */

typedef struct Range {
    int64_t lo, hi;
    bool known;
} Range;

static Range some(int64_t lo, int64_t hi)
{
    return (Range){ lo, hi, lo >= INT32_MIN && hi <= INT32_MAX };
}

static Range range_of(Vectors *v, LExprId id);

/* An extent of some image, which a run checks. */
static bool is_extent(const LoopProgram *p, LExprId size)
{
    VEC_FOREACH (const LExprId, known, &p->must_be_positive)
        if (known->v == size.v)
            return true;
    return false;
}

static Range of_variable(Vectors *v, LVarId var)
{
    const LStmt *s = v->definition[var.v];
    if (!s || (s->kind != LSTMT_LET && s->kind != LSTMT_FOR))
        return (Range){ 0 };
    const Range a = range_of(v, s->a);
    if (s->kind == LSTMT_LET)
        return a;
    const Range b = range_of(v, s->b);
    const int64_t last = b.hi - 1 < a.lo ? a.lo : b.hi - 1;
    return a.known && b.known ? some(a.lo, last) : (Range){ 0 };
}

static Range of_select(Range a, Range b)
{
    return (Range){ a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi, a.known && b.known };
}

static Range of_operation(Op op, Range a, Range b)
{
    Interval i;
    if (tessi_op_interval(op, (Interval){ a.lo, a.hi }, (Interval){ b.lo, b.hi }, &i))
        return some(i.lo, i.hi);
    switch (op) {
    case OP_FLOORDIV:
        return b.lo < 1 ? (Range){ 0 } : some(a.lo < 0 ? a.lo : 0, a.hi < 0 ? 0 : a.hi / b.lo);
    case OP_FLOORMOD: return b.lo < 1 ? (Range){ 0 } : some(0, b.hi - 1);
    default: return (Range){ 0 };
    }
}

static Range of_type(ScalarType from)
{
    if (!tessi_is_integer(from) || from == TYPE_INDEX || tessi_type_info(from)->bytes > 4)
        return (Range){ 0 };
    const Interval i = tessi_type_range(from);
    return some(i.lo, i.hi);
}

/* Ranges have 32 bits, so nothing here overflows. */
static Range of_node(Vectors *v, const LExpr *e)
{
    switch (e->kind) {
    case LEXPR_CONST: return some(e->value.i, e->value.i);
    case LEXPR_VAR: return of_variable(v, e->var);
    case LEXPR_CAST: return of_type(tessi_lexpr(v->p, e->arg[0])->type);
    case LEXPR_LANES: return some(1, LOOP_MOST_VECTOR);
    case LEXPR_OP: break;
    default: return (Range){ 0 };
    }
    const uint8_t first = e->op == OP_SELECT ? 1 : 0;
    const Range a = range_of(v, e->arg[first]);
    if (e->n_args == 1 || !a.known)
        return a.known ? of_operation(e->op, a, a) : a;
    const Range b = range_of(v, e->arg[first + 1]);
    if (!b.known)
        return b;
    return e->op == OP_SELECT ? of_select(a, b) : of_operation(e->op, a, b);
}

static Range range_of(Vectors *v, LExprId id)
{
    const LExpr e = *tessi_lexpr(v->p, id);
    const Range r = of_node(v, &e);
    if (!is_extent(v->p, id))
        return r;
    /* A part of an image, as a quotient of its size is, may have fewer points than images can have. */
    const int64_t most = r.known && r.hi >= 1 && r.hi < MOST_POINTS ? r.hi : MOST_POINTS;
    return some(1, most);
}

bool tessi_vector_index_fits(Vectors *v, LExprId id)
{
    if (v->fits_stamp[id.v] != v->stamp) {
        v->fits_stamp[id.v] = v->stamp;
        v->fits[id.v] = range_of(v, id).known;
    }
    return v->fits[id.v];
}

/* What a name of the loop stands for. */
static LExprId named(const Vectors *v, LExprId id)
{
    const LExpr *e = tessi_lexpr(v->p, id);
    const LStmt *s = e->kind == LEXPR_VAR ? v->definition[e->var.v] : NULL;
    return s && s->kind == LSTMT_LET ? s->a : id;
}

LExprId tessi_vector_narrow_index(Vectors *v, LExprId id)
{
    const LExpr *e = tessi_lexpr(v->p, named(v, id));
    const LExprId none = { 0 };
    if (e->kind != LEXPR_CAST || e->type != TYPE_INDEX)
        return none;
    const ScalarType t = tessi_lexpr(v->p, e->arg[0])->type;
    return tessi_is_integer(t) && t != TYPE_INDEX && tessi_type_info(t)->bytes <= 2 ? e->arg[0]
                                                                                    : none;
}

bool tessi_vector_is_affine(Vectors *v, LExprId id)
{
    const LExprId value = named(v, id);
    if (tessi_vector_shape(v, value) != SHAPE_LANES)
        return true;
    const LExpr e = *tessi_lexpr(v->p, value);
    if (e.kind != LEXPR_OP || (e.op != OP_ADD && e.op != OP_SUB && e.op != OP_MUL))
        return false;
    return tessi_vector_is_affine(v, e.arg[0]) && tessi_vector_is_affine(v, e.arg[1])
           && (e.op != OP_MUL || tessi_vector_shape(v, e.arg[1]) == SHAPE_UNIFORM);
}

static int64_t known_factor(const LoopProgram *p, LExprId id)
{
    const LExpr *e = tessi_lexpr(p, id);
    const bool good =
        e->kind == LEXPR_CONST && e->value.i >= -LOOP_MOST_APART && e->value.i <= LOOP_MOST_APART;
    return good ? e->value.i : 0;
}

bool tessi_vector_slope(Vectors *v, LExprId id, int64_t *slope, LExprId *first)
{
    const LExprId value = named(v, id);
    const LShape shape = tessi_vector_shape(v, value);
    int64_t other;
    LExprId at;
    if (shape != SHAPE_LANES) {
        *slope = shape == SHAPE_RAMP;
        if (first)
            *first = tessi_vector_scalar(v, value);
        return true;
    }
    const LExpr e = *tessi_lexpr(v->p, value);
    if (e.kind != LEXPR_OP || e.type != TYPE_INDEX
        || !tessi_vector_slope(v, e.arg[0], slope, first ? &at : NULL))
        return false;
    const int64_t factor = e.op == OP_MUL ? known_factor(v->p, e.arg[1]) : 0;
    LExprId with = e.arg[1];
    if (factor) {
        *slope *= factor;
    } else if (e.op == OP_ADD || e.op == OP_SUB) {
        if (!tessi_vector_slope(v, e.arg[1], &other, first ? &with : NULL))
            return false;
        *slope += e.op == OP_ADD ? other : -other;
    } else {
        return false;
    }
    if (first)
        *first = tessi_pass_op(v->p, e.op, at, with);
    return *slope >= -LOOP_MOST_APART && *slope <= LOOP_MOST_APART;
}

bool tessi_vector_is_offset(Vectors *v, LVarId var)
{
    const LStmt *s = v->definition[var.v];
    int64_t slope;
    return v->var_shape[var.v] == SHAPE_LANES && v->p->vars.at[var.v].type == TYPE_INDEX && s
           && s->kind == LSTMT_LET && tessi_vector_slope(v, s->a, &slope, NULL);
}
