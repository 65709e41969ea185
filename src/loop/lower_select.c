/* Medians of windows whose values nobody stores: the threads of a GPU have little memory of their own. As
 * lower_median.c counts, bit by bit from the highest: the median is the greatest number than which no more values
 * are less than its rank. The window is gone through once for each bit. */
#include "loop/lower_eval.h"
#include "loop/lower_median.h"
#include "loop/lower_window.h"

enum { MOST_STORED = 1 << 16 }; /* bytes of a thread */

bool tessi_window_is_selected(const Lower *l, const Expr *e)
{
    const int64_t bytes = tessi_type_info(e->type)->bytes;
    return l->plan->gpu && e->reduction == REDUCE_MEDIAN
           && tessi_window_points(tessi_window(l->g, e->window)) > MOST_STORED / bytes;
}

static LExprId number(Lower *l, ScalarType t, int64_t i)
{
    return tessi_lexpr_const(l->p, t, tessi_value_int(i));
}

static LExprId i32(Lower *l, int64_t i)
{
    return number(l, TYPE_I32, i);
}

LBufferId tessi_median_bits(Lower *l, const char *stage, ScalarType key)
{
    const uint32_t n = 8u * tessi_type_info(key)->bytes;
    Value *bit = ARENA_NEW_ARRAY(l->arena, Value, n);
    for (uint32_t k = 0; k < n; k++) {
        const int64_t power = (int64_t)((uint64_t)1 << (n - 1 - k));
        bit[k] = tessi_eval_cast(key, TYPE_I64, tessi_value_int(power));
    }
    return tessi_lower_values(l, stage, "bits", key, bit, n);
}

LBufferId tessi_median_runs(Lower *l, const char *stage, const WideMedian *median)
{
    enum { FACTS = 3 };
    const uint32_t n = FACTS * median->n_runs;
    if (!median->run)
        return (LBufferId){ 0 };
    Value *at = ARENA_NEW_ARRAY(l->arena, Value, n);
    for (uint32_t k = 0; k < median->n_runs; k++) {
        at[FACTS * k] = tessi_value_int(median->run[k].row);
        at[FACTS * k + 1] = tessi_value_int(median->run[k].from);
        at[FACTS * k + 2] = tessi_value_int(median->run[k].to);
    }
    return tessi_lower_values(l, stage, "runs", TYPE_I32, at, n);
}

typedef struct Selection {
    Lower *l;
    Eval *ev;
    const Expr *e;
    Member member;
    ScalarType key; /* integers that compare as the values do */
} Selection;

/* Adds one to a counter for every point of the window where the condition holds, and whose value is less than
 * `tried` (none: any). */
static LExprId count(const Selection *s, const char *name, LExprId tried)
{
    Lower *l = s->l;
    const LVarId n = tessi_scope_var(l, name, TYPE_I32, i32(l, 0));
    const ExprId where = tessi_window_if(l, &s->member);
    tessi_window_open(l, s->ev, s->e->window);
    if (where.v)
        tessi_scope_if(l, tessi_eval_expr(l, s->ev, where));
    LExprId more = tessi_l_op(l, OP_ADD, tessi_lexpr_var(l->p, n), i32(l, 1));
    if (tried.v) {
        LExprId value = tessi_eval_expr(l, s->ev, s->e->arg[0]);
        if (tessi_is_real(s->e->type))
            value = tessi_lexpr_op(l->p, OP_ORDER, value, (LExprId){ 0 }, (LExprId){ 0 });
        else
            value = tessi_lexpr_cast(l->p, s->key, value);
        const LExprId is_less = tessi_scope_place1(l, tessi_l_op(l, OP_LT, value, tried));
        more = tessi_l_select(l, is_less, more, tessi_lexpr_var(l->p, n));
    }
    tessi_lower_set(l, n, more);
    if (where.v)
        tessi_scope_close(l);
    tessi_window_close(l, s->ev, s->e->window);
    return tessi_lexpr_var(l->p, n);
}

static ScalarType key_of(ScalarType t)
{
    return t == TYPE_F32 ? TYPE_I32 : t == TYPE_F64 ? TYPE_I64 : t == TYPE_BOOL ? TYPE_U8 : t;
}

LExprId tessi_window_selected(Lower *l, Eval *ev, ExprId id)
{
    const Expr e = *tessi_expr(l->g, id);
    Selection s = { .l = l, .ev = ev, .e = &e, .key = key_of(e.type) };
    s.member = (Member){ .id = id, .cond = tessi_window_condition(l, &e) };
    if (s.member.cond == COND_NEVER)
        return tessi_window_empty(l, &e);
    const int64_t points = tessi_window_points(tessi_window(l->g, e.window));
    const bool all = s.member.cond == COND_NONE;
    const LExprId n = all ? i32(l, points) : count(&s, "n", (LExprId){ 0 });
    const LExprId rank = tessi_scope_let(l, "rank", tessi_l_op(l, OP_SHR, n, i32(l, 1)));
    const LVarId found =
        tessi_scope_var(l, "found", s.key, number(l, s.key, tessi_type_least(s.key)));
    const LBufferId bits = tessi_median_bits(l, "median", s.key);
    const int64_t n_bits = 8 * tessi_type_info(s.key)->bytes;
    const LVarId at = tessi_scope_for(l, "b", tessi_l_int(l, 0), tessi_l_int(l, n_bits), 1, 0);
    const LExprId b = tessi_lexpr_var(l->p, at);
    const LExprId bit = tessi_scope_let(l, "bit", tessi_lexpr_load(l->p, bits, &b, 1));
    const LExprId tried =
        tessi_scope_let(l, "tried", tessi_l_op(l, OP_ADD, tessi_lexpr_var(l->p, found), bit));
    const LExprId less = count(&s, "less", tried);
    const LExprId fits = tessi_l_op(l, OP_LE, less, rank);
    tessi_lower_set(l, found, tessi_l_select(l, fits, tried, tessi_lexpr_var(l->p, found)));
    tessi_scope_close(l);
    LExprId value = tessi_lexpr_var(l->p, found);
    if (tessi_is_real(e.type))
        value = tessi_lexpr_op(l->p, OP_AT_ORDER, value, (LExprId){ 0 }, (LExprId){ 0 });
    else
        value = tessi_lexpr_cast(l->p, e.type, value);
    if (s.member.cond == COND_STATIC)
        value =
            tessi_l_select(l, tessi_l_op(l, OP_LT, i32(l, 0), n), value, tessi_window_empty(l, &e));
    return tessi_scope_let(l, "median", value);
}
