/* Narrow integers. The language computes with int32 where a picture has 8 bits; a vector holds four times as many
 * lanes of 8 bits, twice as many of 16. Value ranges say which type is enough:
 *
 *   - sums, differences, products, left shifts and bitwise operators are right modulo 2^k, so only their result must
 *     fit;
 *   - quotients, comparisons, minima, selections and right shifts need their operands in the type too.
 *
 * Each integer expression is thereby given a type of its own, with the same value; conversions stand where types
 * meet. Stages that nobody outside sees are stored in the type that their values need.
 *
 * Where readers leave the high bits out (analysis_low.c), as many bits as they read are enough for the first kind, and
 * for running and other sums of images: of these values the low bits are the same. */
#include "analysis/analysis.h"
#include "analysis/passes.h"
#include "graph/graph_rewrite.h"

static const ExprId none = { 0 };

typedef struct Narrow {
    const ValueRange *range; /* of the expressions there were */
    LowBits low;
    const ExprDeps *deps;
} Narrow;

/* ---- Types ----------------------------------------------------------------------------------- */

static int bytes_of(ScalarType t)
{
    return tessi_type_info(t)->bytes;
}

static bool holds(ScalarType t, Interval i)
{
    Interval room = tessi_type_range(t);
    room.lo = tessi_is_unsigned(t) ? 0 : room.lo;
    return room.lo <= i.lo && i.hi <= room.hi;
}

/* The narrowest type of at least `least` bytes that holds the interval, unsigned where nothing is negative;
 * `otherwise` when no type narrower than it does. */
static ScalarType narrowest(Interval i, int least, ScalarType otherwise)
{
    static const ScalarType types[] = { TYPE_U8, TYPE_I8, TYPE_U16, TYPE_I16, TYPE_I32, TYPE_U32 };
    for (size_t k = 0; k < sizeof types / sizeof *types; k++)
        if (bytes_of(types[k]) >= least && bytes_of(types[k]) < bytes_of(otherwise)
            && holds(types[k], i))
            return types[k];
    return otherwise;
}

/* The unsigned type of so many bits, of at least `least` bytes, unless `otherwise` is as narrow. */
static ScalarType of_bits(uint32_t bits, int least, ScalarType otherwise)
{
    static const ScalarType types[] = { TYPE_U8, TYPE_U16, TYPE_U32 };
    for (size_t k = 0; k < sizeof types / sizeof *types; k++)
        if (bytes_of(types[k]) >= least && bytes_of(types[k]) < bytes_of(otherwise)
            && bits <= 8u * (uint32_t)bytes_of(types[k]))
            return types[k];
    return otherwise;
}

/* ---- Expressions ----------------------------------------------------------------------------- */

/* What `id` has become, as a value of type t: exactly when t holds it, else modulo 2^bits. The bits that nobody reads
 * may be any. */
static ExprId as(Rewrite *r, ScalarType t, ExprId id)
{
    ExprId now = tessi_expr_map_get(&r->map, id);
    return tessi_expr_cast(r->to, t, now);
}

static Interval range_of(const Rewrite *r, ExprId id)
{
    const Narrow *n = r->user;
    return n->range[id.v].i;
}

/* At each point, from data: not once for the whole image, and no weight of a window. */
static bool is_computed_often(const Narrow *n, ExprId id)
{
    const ExprDeps *d = &n->deps[id.v];
    return d->data && (d->point || d->level >= 0);
}

typedef enum Demand {
    DEMAND_NONE,     /* stays as it is */
    DEMAND_RESULT,   /* right modulo 2^k */
    DEMAND_OPERANDS, /* operands and result must fit */
    DEMAND_SHIFT     /* the same, and the count must be less than the width */
} Demand;

/* `least`: bytes below which vectors have no such operation. */
static Demand demand_of(Op op, int *least)
{
    *least = 1;
    switch (op) {
    case OP_SHL:
    case OP_SHR: *least = 2; return DEMAND_SHIFT;
    case OP_MUL: *least = 2; return DEMAND_RESULT;
    case OP_DIV:
    case OP_MOD: *least = 2; return DEMAND_OPERANDS;
    case OP_ADD:
    case OP_SUB:
    case OP_NEG:
    case OP_NOT:
    case OP_AND:
    case OP_OR:
    case OP_XOR: return DEMAND_RESULT;
    case OP_ABS:
    case OP_MIN:
    case OP_MAX:
    case OP_EQ:
    case OP_NE:
    case OP_LT:
    case OP_LE:
    case OP_SELECT: return DEMAND_OPERANDS;
    default: return DEMAND_NONE;
    }
}

/* The type to compute `e` in, of which readers want so many bits; t is the type of its operands. Never narrower than
 * an operand has become: converting that would cost what the narrower operation saves. */
static ScalarType type_for(const Rewrite *r, const Expr *e, Interval result, uint32_t bits,
                           ScalarType t)
{
    int least, first = e->op == OP_SELECT;
    Demand demand = demand_of(e->op, &least);
    if (demand == DEMAND_NONE)
        return t;
    Interval need = tessi_is_integer(e->type) ? result : range_of(r, e->arg[first]);
    for (int k = first; k < e->n_args; k++) {
        const Expr *now = tessi_expr(r->to, tessi_expr_map_get(&r->map, e->arg[k]));
        if (is_computed_often(r->user, e->arg[k]) && bytes_of(now->type) > least)
            least = bytes_of(now->type);
        if (demand == DEMAND_OPERANDS || (demand == DEMAND_SHIFT && k == 0))
            need = tessi_interval_union(need, range_of(r, e->arg[k]));
    }
    if (demand == DEMAND_SHIFT) {
        Interval count = range_of(r, e->arg[1]);
        if (count.lo < 0 || count.hi > 31)
            return t;
        if (count.hi > 15)
            least = 4;
    }
    const bool from_low = demand == DEMAND_RESULT || e->op == OP_SHL || e->op == OP_SELECT;
    t = narrowest(need, least, t);
    return from_low && tessi_is_integer(e->type) ? of_bits(bits, least, t) : t;
}

/* The operand of which a mask leaves all that is read; none: it is no such mask. */
static ExprId unmasked(const Rewrite *r, const Expr *e, uint32_t bits)
{
    for (int k = 0; k < 2 && e->op == OP_AND && bits < ALL_BITS; k++) {
        const Expr *mask = tessi_expr(r->from, e->arg[k]);
        const uint64_t read = ((uint64_t)1 << bits) - 1;
        if (mask->kind == EXPR_CONST && ((uint64_t)mask->value.i & read) == read)
            return tessi_expr_map_get(&r->map, e->arg[1 - k]);
    }
    return none;
}

static ExprId change_op(Rewrite *r, const Expr *e, Interval result, uint32_t bits, bool often)
{
    const ExprId whole = unmasked(r, e, bits);
    if (whole.v)
        return whole;
    ScalarType t = tessi_expr(r->from, e->arg[e->op == OP_SELECT])->type;
    ScalarType to = often && tessi_is_integer(t) ? type_for(r, e, result, bits, t) : t;
    ExprId arg[3] = { none, none, none };
    for (int k = 0; k < e->n_args; k++)
        arg[k] = as(r, e->op == OP_SELECT && k == 0 ? TYPE_BOOL : to, e->arg[k]);
    return tessi_expr_op(r->to, e->op, arg[0], arg[1], arg[2]);
}

/* The value is the same where the type holds it, and where all of it is there or readers want no more than is. */
static ExprId change_cast(Rewrite *r, const Expr *e, uint32_t bits)
{
    const Narrow *n = r->user;
    const bool enough = bits < ALL_BITS || n->low.expr[e->arg[0].v] == ALL_BITS;
    ScalarType from = tessi_expr(r->from, e->arg[0])->type;
    bool keeps = tessi_is_integer(e->type) && tessi_is_integer(from) && enough
                 && holds(e->type, range_of(r, e->arg[0]));
    ExprId now = tessi_expr_map_get(&r->map, e->arg[0]);
    return keeps ? now : tessi_expr_cast(r->to, e->type, now);
}

/* Saturation of an integer is a maximum and a minimum, as far as it can happen. */
static ExprId change_sat(Rewrite *r, const Expr *e)
{
    ExprId now = tessi_expr_map_get(&r->map, e->arg[0]);
    Interval i = range_of(r, e->arg[0]), room = tessi_type_range(e->type);
    ScalarType from = tessi_expr(r->to, now)->type;
    if (!tessi_is_integer(e->type) || !tessi_is_integer(from) || e->type == TYPE_U64
        || from == TYPE_U64)
        return tessi_expr_sat(r->to, e->type, now);
    if (i.lo < room.lo)
        now = tessi_expr_op(r->to, OP_MAX, now, tessi_expr_int(r->to, from, room.lo), none);
    if (i.hi > room.hi)
        now = tessi_expr_op(r->to, OP_MIN, now, tessi_expr_int(r->to, from, room.hi), none);
    return now;
}

static ExprId change_load(Rewrite *r, const Expr *e)
{
    Access a = *tessi_access(r->from, e->access);
    for (uint32_t d = 0; d < a.n_dims; d++)
        if (a.dim[d].absolute)
            a.dim[d].index = tessi_expr_map_get(&r->map, a.dim[d].index);
    ScalarType t = tessi_stage(r->to, a.producer)->type;
    if (a.outside.v)
        a.outside = as(r, tessi_value_type(t), a.outside);
    return tessi_expr_load(r->to, tessi_graph_access(r->to, &a));
}

static ExprId change_window(Rewrite *r, const Expr *e, Interval result, uint32_t bits, bool often)
{
    ExprId where = e->n_args > 1 ? tessi_expr_map_get(&r->map, e->arg[1]) : none;
    ScalarType to = e->type;
    Interval body = range_of(r, e->arg[0]);
    if (e->fused)
        return tessi_expr_asked(r->to,
                                tessi_expr_window_fused(r->to, e->window,
                                                        tessi_expr_map_get(&r->map, e->arg[0]),
                                                        where),
                                tessi_expr_request(r->from, e));
    if (tessi_is_integer(to) && often) {
        Interval both = tessi_interval_union(result, body);
        /* Under a condition minima and maxima start from the ends of their type. */
        if (e->reduction == REDUCE_SUM)
            to = of_bits(bits, 2, narrowest(both, 2, to));
        else if (e->reduction == REDUCE_PROD)
            to = of_bits(bits, 2, to);
        else if (e->reduction == REDUCE_MEDIAN
                 || (e->n_args == 1 && (e->reduction == REDUCE_MIN || e->reduction == REDUCE_MAX)))
            to = narrowest(both, 1, to);
    }
    return tessi_expr_window(r->to, e->reduction, e->window, as(r, to, e->arg[0]), where);
}

static ExprId change(Rewrite *r, ExprId id, const Expr *e)
{
    const Narrow *n = r->user;
    Interval result = n->range[id.v].i;
    const uint32_t bits = n->low.expr[id.v];
    bool often = is_computed_often(n, id);
    switch (e->kind) {
    case EXPR_OP: return change_op(r, e, result, bits, often);
    case EXPR_CAST: return change_cast(r, e, bits);
    case EXPR_SAT: return change_sat(r, e);
    case EXPR_LOAD: return change_load(r, e);
    case EXPR_WINDOW: return change_window(r, e, result, bits, often);
    case EXPR_TABLE: return tessi_expr_table(r->to, e->table, as(r, TYPE_I32, e->arg[0]));
    default: return tessi_rewrite_rebuild(r, e);
    }
}

/* ---- Stages ---------------------------------------------------------------------------------- */

bool *tessi_stages_seen(const Graph *g, Arena *a)
{
    bool *seen = ARENA_NEW_ARRAY(a, bool, g->stages.n);
    VEC_FOREACH (const Image, image, &g->outputs)
        VEC_FOREACH (const Channel, c, &image->channels)
            seen[c->stage.v] = true;
    GRAPH_FOREACH_STAGE (g, id) {
        const Stage *s = tessi_stage(g, id);
        seen[s->source.v] = seen[s->keys.v] =
            true; /* a reduction may start from the ends of the type */
    }
    VEC_FOREACH (const Repeat, r, &g->repeats) /* what is carried has one type */
        VEC_FOREACH (const Carried, c, &r->carried)
            seen[c->first.v] = seen[c->next.v] = true;
    return seen;
}

/* The type of a stage of which readers want so many bits. */
static ScalarType type_of_low(const Graph *g, const Stage *s, uint32_t bits)
{
    const bool adds_up = tessi_stage_adds_up(g, s) && s->n_dims;
    return tessi_is_integer(s->type) && (s->kind == STAGE_COMPUTE || adds_up)
               ? of_bits(bits, 1, s->type)
               : s->type;
}

static void retype_stages(Graph *g, const Analysis *an, const LowBits *low, Arena *scratch)
{
    const bool *seen = tessi_stages_seen(g, scratch);
    Interval *need = ARENA_NEW_ARRAY(scratch, Interval, g->stages.n);
    GRAPH_FOREACH_STAGE (g, id)
        need[id.v] = an->stage_range[id.v].i;
    for (uint32_t v = 1; v < g->accesses.n; v++) {
        const Access *a = &g->accesses.at[v];
        if (a->outside.v)
            need[a->producer.v] =
                tessi_interval_union(need[a->producer.v], an->expr_range[a->outside.v].i);
    }
    GRAPH_FOREACH_STAGE (g, id) {
        Stage *s = tessi_stage(g, id);
        if (!seen[id.v] && s->kind == STAGE_COMPUTE && tessi_is_integer(s->type))
            s->type = narrowest(need[id.v], 1, s->type);
        s->type = type_of_low(g, s, low->stage[id.v]);
    }
}

void tessi_pass_narrow(Graph *g, Arena *scratch)
{
    Analysis an = { .g = g };
    Narrow n;
    Rewrite r;
    tessi_analyse_ranges(&an, scratch);
    n.range = an.expr_range;
    n.low = tessi_analyse_low_bits(g, scratch);
    n.deps = tessi_expr_deps(g, scratch);
    retype_stages(g, &an, &n.low, scratch);
    tessi_rewrite_init(&r, g, g, scratch);
    r.change = change;
    r.user = &n;
    GRAPH_FOREACH_STAGE (g, id) {
        for (uint32_t k = 0; k < tessi_stage(g, id)->pieces.n; k++) {
            tessi_rewrite_expr(&r, tessi_stage(g, id)->pieces.at[k].body);
            ScalarType t = tessi_stage(g, id)->type;
            ExprId body = as(&r, tessi_value_type(t), tessi_stage(g, id)->pieces.at[k].body);
            tessi_stage(g, id)->pieces.at[k].body = body;
        }
    }
}
