/* The rules of vectors, for the verifier: how many bytes a lane has agrees in an operation and holds its values. */
#include "loop/loop_private.h"

enum { ROW_BYTES = 64 }; /* how far from its place a row is read, at most */

static bool holds(uint8_t lanes, ScalarType t)
{
    if (t == TYPE_INDEX) /* whose value fits the lane: in lanes of 32 bits so many bits of it */
        return tessi_loop_lanes_name(lanes) && lanes >= 4;
    return tessi_loop_lanes_name(lanes) && (t == TYPE_BOOL || tessi_type_info(t)->bytes <= lanes);
}

static bool is_byte(ScalarType t)
{
    return t == TYPE_U8 || t == TYPE_I8;
}

static bool is_half(ScalarType t)
{
    return t == TYPE_U16 || t == TYPE_I16;
}

/* Each lane has a place of its own, by some of the indices. */
static const char *each_fault(const LoopProgram *p, const LExpr *e)
{
    bool any = false;
    for (int i = 0; i < e->n_args; i++) {
        const LExpr *at = tessi_lexpr(p, e->arg[i]);
        if (at->lanes && at->lanes != e->lanes)
            return "an index has other lanes than what is loaded";
        any = any || at->lanes;
    }
    return any ? NULL : "all lanes are loaded from one place";
}

/* The last index alone differs from lane to lane. */
static bool is_along_row(const LoopProgram *p, const LExpr *e)
{
    for (int d = 0; d < e->n_args - 1; d++)
        if (tessi_lexpr(p, e->arg[d])->lanes)
            return false;
    return tessi_loop_can_be_near(p, e->buffer, e->lanes);
}

static const char *load_fault(const LoopProgram *p, const LExpr *e)
{
    const LBuffer *b = &p->buffers.at[e->buffer.v];
    if (b->lanes)
        return e->lanes == b->lanes && !e->ref ? NULL : "an element that is a vector is no scalar";
    if (e->ref == LLOAD_FOURS && (b->type != TYPE_U8 || (e->lanes && e->lanes != 4)))
        return "fours are of bytes without signs, in lanes of 32 bits";
    if (e->ref == LLOAD_FOURS && !tessi_loop_is_dense(p, e->buffer))
        return "elements that do not lie side by side are loaded as a word";
    if (!e->lanes)
        return e->ref && e->ref != LLOAD_FOURS ? "a load of a scalar is of one element" : NULL;
    if (e->ref == LLOAD_NEAR && !is_along_row(p, e))
        return "elements near each other lie side by side in one row, in lanes of 32 bits";
    if (tessi_load_each(e))
        return each_fault(p, e);
    if ((e->ref & 0xff) == LLOAD_APART)
        return tessi_load_apart(e) && tessi_load_apart(e) >= -LOOP_MOST_APART
                       && tessi_load_apart(e) <= LOOP_MOST_APART
                       && tessi_loop_can_be_apart(p, e->buffer, e->lanes)
                   ? NULL
                   : "elements apart are of pixels of one type, in lanes of 32 bits or 64";
    if (!tessi_loop_is_dense(p, e->buffer))
        return "elements that do not lie side by side are loaded as a vector";
    if ((e->ref == LLOAD_EVENS || e->ref == LLOAD_ODDS) && (!is_byte(b->type) || e->lanes != 2))
        return "even and odd elements are bytes, in lanes of 16 bits";
    if (e->ref == LLOAD_ROW && (e->lanes < 4 || tessi_type_info(b->type)->bytes != e->lanes))
        return "a row is of values as wide as its lanes, 32 bits or 64";
    return e->ref > LLOAD_FOURS ? "a load is of no kind" : NULL;
}

static bool is_index(const LExpr *e)
{
    return e->type == TYPE_INDEX && !e->lanes;
}

static const char *at_fault(const LoopProgram *p, const LExpr *e)
{
    const LExpr *row = tessi_lexpr(p, e->arg[0]), *k = tessi_lexpr(p, e->arg[1]);
    const int64_t most = ROW_BYTES / (e->lanes ? e->lanes : 1);
    if (row->kind != LEXPR_VAR || !p->vars.at[row->var.v].is_row || e->type != row->type
        || e->lanes != row->lanes)
        return "a vector is read near no row";
    const bool is_both = p->vars.at[row->var.v].is_both;
    return k->kind == LEXPR_CONST && is_index(k) && k->value.i >= (is_both ? 0 : -most)
                   && k->value.i <= (is_both ? 1 : most)
               ? NULL
               : "a vector is read too far from the place of its row";
}

static const char *pairs_fault(const LoopProgram *p, const LExpr *e)
{
    const LExpr *x = tessi_lexpr(p, e->arg[0]), *y = tessi_lexpr(p, e->arg[1]);
    const bool good = x->lanes == 2 && y->lanes == 2 && x->type == y->type && is_half(x->type)
                      && e->lanes == 1 && is_byte(e->type)
                      && tessi_is_unsigned(e->type) == tessi_is_unsigned(x->type);
    return good ? NULL : "pairs are not made of lanes of 16 bits";
}

static bool is_each(const LExpr *e)
{
    return e->kind == LEXPR_LOAD && tessi_load_each(e) && e->lanes >= 4;
}

static const char *both_fault(const LoopProgram *p, const LExpr *e)
{
    const LExpr *x = tessi_lexpr(p, e->arg[0]), *y = tessi_lexpr(p, e->arg[1]);
    if (!is_each(x) || !is_each(y) || x->buffer.v != y->buffer.v || x->lanes != e->lanes
        || y->lanes != e->lanes || x->type != e->type)
        return "both are not elements of one buffer that each lane has of its own";
    const int last = x->n_args - 1;
    for (int d = 0; d < last; d++)
        if (x->arg[d].v != y->arg[d].v)
            return "both are not elements of one row";
    const bool fits = tessi_loop_can_be_both(p, x->buffer, e->lanes);
    return fits && tessi_lexpr(p, x->arg[last])->lanes && tessi_lexpr(p, y->arg[last])->lanes
               ? NULL
               : "both are not elements that lie side by side";
}

bool tessi_loop_is_row(const LoopProgram *p, LExprId id)
{
    const LExpr *e = tessi_lexpr(p, id);
    return (e->kind == LEXPR_VAR && p->vars.at[e->var.v].is_row)
           || (e->kind == LEXPR_LOAD && e->ref == LLOAD_ROW) || e->kind == LEXPR_BOTH;
}

/* The number of arguments a kind has; -1: it depends. */
static int arguments_of(LExprKind kind)
{
    switch (kind) {
    case LEXPR_LANES: return 0;
    case LEXPR_VECTORS:
    case LEXPR_SPLAT:
    case LEXPR_RAMP: return 1;
    case LEXPR_AT:
    case LEXPR_PAIRS:
    case LEXPR_BOTH: return 2;
    default: return -1;
    }
}

static const char *count_fault(const LoopProgram *p, const LExpr *e)
{
    if (!is_index(e) || e->ref > UINT8_MAX || !tessi_loop_lanes_name((uint8_t)e->ref))
        return "lanes have 1, 2, 4 or 8 bytes";
    if (e->kind == LEXPR_LANES)
        return NULL;
    const LExpr *n = tessi_lexpr(p, e->arg[0]);
    return n->kind == LEXPR_CONST && is_index(n) && n->value.i >= 1 && n->value.i <= INT32_MAX
               ? NULL
               : "vectors hold a constant number of values";
}

/* The arguments of an operation, and their result. */
static const char *operation_fault(const LoopProgram *p, const LExpr *e)
{
    for (int i = 0; i < e->n_args; i++) {
        const LExpr *x = tessi_lexpr(p, e->arg[i]);
        if (x->lanes != e->lanes || (x->lanes && !holds(x->lanes, x->type)))
            return "an operation has arguments of other lanes than its own";
    }
    if (e->kind == LEXPR_CAST && e->ref == LCAST_LOW_BYTE) {
        const ScalarType from = tessi_lexpr(p, e->arg[0])->type;
        return e->lanes == 2 && is_half(e->type) && from == e->type
                   ? NULL
                   : "low bytes are of lanes of 16 bits";
    }
    return NULL;
}

const char *tessi_loop_lanes_fault(const LoopProgram *p, const LExpr *e)
{
    const LExpr *first = e->n_args ? tessi_lexpr(p, e->arg[0]) : NULL;
    const int n = arguments_of(e->kind);
    if (n >= 0 && n != e->n_args)
        return "a vector is made of another number of values";
    for (int i = 0; i < e->n_args; i++)
        if (tessi_loop_is_row(p, e->arg[i]) && (e->kind != LEXPR_AT || i))
            return "a row is no value";
    if (e->lanes && !holds(e->lanes, e->type))
        return "a lane cannot hold its value";
    switch (e->kind) {
    case LEXPR_CONST:
    case LEXPR_PARAM:
    case LEXPR_SCALAR: return e->lanes ? "a scalar has lanes" : NULL;
    case LEXPR_VAR:
        return e->lanes == p->vars.at[e->var.v].lanes ? NULL : "a variable has other lanes";
    case LEXPR_LOAD: return load_fault(p, e);
    case LEXPR_OP:
    case LEXPR_CAST:
    case LEXPR_SAT: return operation_fault(p, e);
    case LEXPR_LANES:
    case LEXPR_VECTORS: return count_fault(p, e);
    case LEXPR_SPLAT:
        return e->lanes && !first->lanes && first->type == e->type ? NULL
                                                                   : "what is spread is no scalar";
    case LEXPR_RAMP:
        return e->lanes && is_index(first) && (tessi_is_integer(e->type) || e->type == TYPE_INDEX)
                   ? NULL
                   : "a vector counts up from no index";
    case LEXPR_AT: return at_fault(p, e);
    case LEXPR_PAIRS: return pairs_fault(p, e);
    case LEXPR_BOTH: return both_fault(p, e);
    }
    return NULL;
}
