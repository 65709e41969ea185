/* How many of an integer's low bits anything reads. Sums, differences, products, shifts to the left and bitwise
 * operators have the low k bits of their results from the low k bits of their operands; casts to narrower integers and
 * masks leave the others out. What compares, divides, shifts to the right, converts to reals or looks up needs the
 * value.
 *
 * From the results backwards: a stage is asked for as many bits as its readers are. */
#include "analysis/analysis.h"
#include "graph/graph_walk.h"

static uint32_t width_of(ScalarType t)
{
    return (uint32_t)tessi_type_info(t)->bytes * 8;
}

static void ask(uint8_t *at, ScalarType t, uint32_t bits)
{
    if (!tessi_is_integer(t) || bits >= width_of(t))
        bits = ALL_BITS;
    if (bits > *at)
        *at = (uint8_t)bits;
}

/* Bits of a mask that is known and not negative. */
static uint32_t bits_of_mask(const Graph *g, ExprId id)
{
    const Expr *e = tessi_expr(g, id);
    uint32_t n = 0;
    if (e->kind != EXPR_CONST || e->value.i < 0)
        return ALL_BITS;
    while (n < 63 && e->value.i >> n)
        n++;
    return n;
}

/* Bits of operand k that the low `bits` of an operation's result depend on. */
static uint32_t bits_of_operand(const Graph *g, const Expr *e, int k, uint32_t bits)
{
    switch (e->op) {
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_NEG:
    case OP_NOT:
    case OP_OR:
    case OP_XOR: return bits;
    case OP_AND: {
        const uint32_t mask = bits_of_mask(g, e->arg[1 - k]);
        return mask < bits ? mask : bits;
    }
    case OP_SELECT: return k == 0 ? ALL_BITS : bits;
    case OP_SHL: return k == 0 ? bits : ALL_BITS;
    default: return ALL_BITS;
    }
}

static uint32_t bits_of_argument(const Graph *g, const Expr *e, int k, uint32_t bits)
{
    const ScalarType from = tessi_expr(g, e->arg[k])->type;
    switch (e->kind) {
    case EXPR_OP: return bits_of_operand(g, e, k, bits);
    case EXPR_CAST:
        if (!tessi_is_integer(e->type) || width_of(e->type) > width_of(from))
            return tessi_is_integer(e->type) ? bits : ALL_BITS;
        return width_of(e->type) < bits ? width_of(e->type) : bits;
    case EXPR_WINDOW:
        return k == 0 && (e->reduction == REDUCE_SUM || e->reduction == REDUCE_PROD) ? bits
                                                                                     : ALL_BITS;
    default: return ALL_BITS;
    }
}

static void ask_children(const Graph *g, ExprId id, LowBits *low)
{
    const Expr *e = tessi_expr(g, id);
    const uint32_t bits = low->expr[id.v];
    for (int k = 0; k < e->n_args; k++)
        if (e->arg[k].v)
            ask(&low->expr[e->arg[k].v], tessi_expr(g, e->arg[k])->type,
                bits_of_argument(g, e, k, bits));
    if (e->kind != EXPR_LOAD)
        return;
    const Access *a = tessi_access(g, e->access);
    ask(&low->stage[a->producer.v], tessi_stage(g, a->producer)->type, bits);
    if (a->outside.v)
        ask(&low->expr[a->outside.v], tessi_expr(g, a->outside)->type, bits);
    for (uint32_t d = 0; d < a->n_dims; d++)
        if (a->dim[d].absolute)
            low->expr[a->dim[d].index.v] = ALL_BITS;
}

/* What is seen outside, carried from turn to turn, or asked by a repeat. */
static void ask_ends(const Graph *g, LowBits *low)
{
    VEC_FOREACH (const Image, image, &g->outputs)
        VEC_FOREACH (const Channel, c, &image->channels)
            low->stage[c->stage.v] = ALL_BITS;
    VEC_FOREACH (const Repeat, r, &g->repeats) {
        low->stage[r->until.v] = ALL_BITS;
        VEC_FOREACH (const Carried, c, &r->carried)
            low->stage[c->first.v] = low->stage[c->next.v] = ALL_BITS;
    }
}

bool tessi_stage_adds_up(const Graph *g, const Stage *s)
{
    return (s->kind == STAGE_REDUCE || s->kind == STAGE_SCAN) && !s->n_states && !s->keys.v
           && (s->reduction == REDUCE_SUM || s->reduction == REDUCE_PROD)
           && tessi_is_integer(s->type) && tessi_is_integer(tessi_stage(g, s->source)->type);
}

LowBits tessi_analyse_low_bits(const Graph *g, Arena *a)
{
    LowBits low = { .expr = ARENA_NEW_ARRAY(a, uint8_t, g->exprs.n),
                    .stage = ARENA_NEW_ARRAY(a, uint8_t, g->stages.n) };
    ExprWalk walk = { .arena = a };
    ask_ends(g, &low);
    for (uint32_t v = g->stages.n - 1; v > 0; v--) {
        const Stage *s = tessi_stage(g, (StageId){ v });
        const uint32_t bits = s->kind == STAGE_COMPUTE ? low.stage[v] : ALL_BITS;
        if (s->source.v)
            ask(&low.stage[s->source.v], tessi_stage(g, s->source)->type,
                tessi_stage_adds_up(g, s) ? low.stage[v] : ALL_BITS);
        low.stage[s->keys.v] = ALL_BITS;
        VEC_FOREACH (const Piece, piece, &s->pieces) {
            ask(&low.expr[piece->body.v], tessi_expr(g, piece->body)->type, bits);
            const ExprList *list = tessi_expr_walk(&walk, g, &piece->body, 1);
            for (uint32_t i = list->n; i > 0; i--)
                ask_children(g, list->at[i - 1], &low);
        }
    }
    return low;
}
