/* Sums of integers in narrow partial results: a vector has eight times as many lanes of bytes in 16 bits as of the 64
 * that a total has. The range of what is added says how many values a partial result holds. */
#include "loop/lower_few.h"

#include "analysis/analysis.h"

enum { LEAST_CHUNK = 16 };

/* Whether type `to` has every value of `from`. */
static bool keeps(ScalarType to, ScalarType from)
{
    if (from == TYPE_BOOL)
        return tessi_is_integer(to);
    if (!tessi_is_integer(to) || !tessi_is_integer(from))
        return false;
    const int more = tessi_type_info(to)->bytes - tessi_type_info(from)->bytes;
    return tessi_is_unsigned(from) ? more > 0 || (more == 0 && tessi_is_unsigned(to))
                                   : more >= 0 && !tessi_is_unsigned(to);
}

LExprId tessi_few_value(const Lower *l, LExprId v)
{
    for (;;) {
        const LExpr *e = tessi_lexpr(l->p, v);
        if (e->kind != LEXPR_CAST || e->ref || tessi_known((Lower *)l, v)->let
            || !keeps(e->type, tessi_lexpr(l->p, e->arg[0])->type))
            return v;
        v = e->arg[0];
    }
}

/* The bytes of the values that a point is made of, which say how many lanes its loop has. */
static uint32_t bytes_of_point(const Lower *l, StageId id)
{
    const Stage *s = tessi_stage(l->g, id);
    uint32_t most = tessi_type_info(s->type)->bytes;
    if (s->kind != STAGE_COMPUTE || l->plan->stage[id.v].placement != PLACE_INLINE)
        return most;
    most = 1;
    for (uint32_t k = 0; k < s->pieces.n; k++) {
        const Expr *e = tessi_expr(l->g, s->pieces.at[k].body);
        while (e->kind == EXPR_CAST && keeps(e->type, tessi_expr(l->g, e->arg[0])->type))
            e = tessi_expr(l->g, e->arg[0]);
        uint32_t bytes = tessi_type_info(e->type)->bytes;
        for (int i = 0; e->kind == EXPR_OP && i < e->n_args; i++) {
            const uint32_t of = tessi_type_info(tessi_expr(l->g, e->arg[i])->type)->bytes;
            bytes = of > bytes ? of : bytes;
        }
        most = bytes > most ? bytes : most;
    }
    return most;
}

FewSums tessi_few_sums(Lower *l, const Stage *reduction)
{
    static const ScalarType types[2][3] = { { TYPE_U8, TYPE_U16, TYPE_U32 },
                                            { TYPE_I8, TYPE_I16, TYPE_I32 } };
    const FewSums none = { 0 };
    const ScalarType source = tessi_stage(l->g, reduction->source)->type;
    const bool counts = reduction->reduction == REDUCE_COUNT;
    if (l->plan->gpu
        || (!counts && reduction->reduction != REDUCE_SUM && reduction->reduction != REDUCE_MEAN))
        return none;
    Interval i = { 0, 1 };
    if (!counts && source != TYPE_BOOL) {
        if (!tessi_is_integer(source) || tessi_type_info(source)->bytes > 4)
            return none;
        Analysis an = { .g = l->g };
        tessi_analyse_ranges(&an, l->scratch);
        i = an.stage_range[reduction->source.v].i;
    }
    const int64_t below = -i.lo, most = below > i.hi ? below : i.hi > 0 ? i.hi : 1;
    const bool sign = i.lo < 0;
    const uint32_t least = bytes_of_point(l, reduction->source);
    for (int k = 0; k < 3; k++) {
        const uint32_t bytes = 1u << k, lanes = PARTIAL_BYTES / bytes;
        const int64_t own = ((int64_t)1 << (8 * bytes - sign)) - 1,
                      all = INT32_MAX / (int64_t)lanes;
        const int64_t chunk = (own < all ? own : all) / most - 1;
        if (bytes >= least && chunk >= LEAST_CHUNK)
            return (FewSums){ lanes, types[sign][k], sign ? TYPE_I32 : TYPE_U32, chunk };
    }
    return none;
}
