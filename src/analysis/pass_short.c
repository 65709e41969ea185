/* Reductions along a dimension of few points, as over the channels of a picture of which they are the last dimension,
 * are written out: the result is a stage as any other, with vectors of points and fused with its readers, where a line
 * of its own would cost more to begin than to go along. In the order of docs/internals/reductions.md: as lines have no
 * more points than partial results, each is of one value. */
#include "analysis/passes.h"
#include "graph/graph_fold.h"

enum { PARTIALS = 16 };

static const ExprId none = { 0 };

/* Of extrema the new value stands first: a NaN is passed over. */
static ExprId both(Graph *g, const Stage *s, ExprId old, ExprId v)
{
    const Op op = tessi_reduction_op(s->reduction);
    const bool first = op == OP_MIN || op == OP_MAX;
    return tessi_expr_op(g, op, first ? v : old, first ? old : v, none);
}

/* The source at point k of the line. */
static ExprId value_at(Graph *g, const Stage *s, int64_t k)
{
    const SizeId zero = tessi_size_const(g, 0);
    Access a = { .producer = s->source, .n_dims = tessi_stage(g, s->source)->n_dims };
    for (uint8_t d = 0; d < a.n_dims; d++) {
        const int own = tessi_stage_from_source(s, d);
        a.dim[d] = own < 0 ? (AccessDim){ .src = -1, .add = tessi_size_const(g, k) }
                           : (AccessDim){ .src = (int8_t)own, .scale = 1, .add = zero };
        a.dim[d].rule = BORDER_INSIDE;
    }
    const ExprId v = tessi_expr_load(g, tessi_graph_access(g, &a));
    return s->reduction == REDUCE_COUNT ? tessi_expr_cast(g, TYPE_BOOL, v) : v;
}

/* Partial results beyond the values are what all start from, and leave others as they are; of reals the values are
 * joined with it, which turns -0 of a sum into 0 and drops a NaN of extrema. */
static ExprId total_of(Graph *g, const Stage *s, ScalarType acc, int64_t n)
{
    const ExprId start = tessi_expr_const(g, acc, tessi_reduction_identity(s->reduction, acc));
    ExprId partial[PARTIALS];
    for (int64_t k = 0; k < n; k++) {
        const ExprId v = tessi_expr_cast(g, acc, value_at(g, s, k));
        partial[k] = tessi_is_real(acc) ? both(g, s, start, v) : v;
    }
    for (int64_t half = PARTIALS / 2; half; half /= 2)
        for (int64_t k = 0; k + half < n && k < half; k++)
            partial[k] = both(g, s, partial[k], partial[k + half]);
    return partial[0];
}

static ExprId written_out(Graph *g, const Stage *s, int64_t n)
{
    ScalarType acc = tessi_accumulator_type(s->reduction, tessi_stage(g, s->source)->type);
    ExprId total = total_of(g, s, acc, n);
    if (s->reduction == REDUCE_MEAN)
        total = tessi_expr_op(g, OP_DIV, tessi_expr_cast(g, TYPE_F64, total),
                              tessi_expr_real(g, TYPE_F64, (double)n), none);
    return tessi_expr_cast(g, s->type, total);
}

/* The points of its lines, if it is one of those; 0: it is not. Results of 16 bits are rounded from doubles at once. */
static int64_t short_line(const Graph *g, const Stage *s)
{
    int64_t n;
    if (s->kind != STAGE_REDUCE || !s->along || !s->n_dims || s->keys.v || s->n_states
        || s->type == TYPE_F16)
        return 0;
    const Stage *source = tessi_stage(g, s->source);
    return tessi_size_is_const(g, source->size[s->along - 1], &n) && n <= PARTIALS ? n : 0;
}

void tessi_pass_short(Graph *g)
{
    GRAPH_FOREACH_STAGE (g, id) {
        Stage s = *tessi_stage(g, id);
        const int64_t n = short_line(g, &s);
        if (n < 1)
            continue;
        Piece piece = { .body = written_out(g, &s, n) };
        for (uint8_t d = 0; d < s.n_dims; d++) {
            piece.step[d] = 1;
            piece.offset[d] = tessi_size_const(g, 0);
            piece.count[d] = s.size[d];
        }
        s.kind = STAGE_COMPUTE;
        s.reduction = REDUCE_SUM;
        s.source = (StageId){ 0 };
        s.along = 0;
        VEC_PUSH(g->arena, &s.pieces, piece);
        *tessi_stage(g, id) = s;
    }
}
