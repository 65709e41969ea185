/* Windows over pixels of several channels, for a strip of points at a time. A loop over a window inside the loop over
 * points leaves a compiler one chain of dependent operations; turned inside out, each step of the window runs over a
 * strip of points whose accumulators lie in a small array, and vectors are obvious. The order of operations at each
 * point, and so every bit, stays the same.
 *
 *   for strip:  acc[k] = start, for all k
 *               for i, j of the window:  acc[k] = step(acc[k], value at point k and i, j), for all k
 *               result of point k from acc[k], for all k */
#include "loop/loop_lanes.h"
#include "loop/lower_nest.h"
#include "loop/lower_window.h"

enum { STRIP = 256 };

/* ---- When ------------------------------------------------------------------------------------ */

static bool is_outermost(const Lower *l, ExprId id)
{
    return tessi_expr(l->g, id)->kind == EXPR_WINDOW && l->deps[id.v].level < 0;
}

/* Elements of neighbours do not lie side by side. */
static bool is_apart(const Lower *l, StageId id)
{
    const LBufferId image = l->buffer[id.v];
    return image.v && tessi_loop_dims(l, image) > 0 && !tessi_loop_is_dense(l->p, image);
}

/* What stands in pixels of several channels is neither loaded nor stored as vectors. In strips the steps of the window
 * are vectors all the same, and compilers take the channels apart. */
static bool has_channels(const Lower *l, const Nest *nest, const ExprList *list)
{
    bool any = false;
    for (uint32_t i = 0; i < nest->n_roots; i++)
        any = any || is_apart(l, nest->stage[i]);
    VEC_FOREACH (const ExprId, id, list) {
        const Expr *e = tessi_expr(l->g, *id);
        any = any || (e->kind == EXPR_LOAD && is_apart(l, tessi_access(l->g, e->access)->producer));
    }
    return any;
}

bool tessi_wants_strips(Lower *l, const Nest *nest)
{
    bool any = false;
    if (!nest->vector || !nest->roots || !nest->stage || nest->columns > 1)
        return false;
    ExprList list = tessi_reach(l, nest->roots, nest->n_roots);
    if (!has_channels(l, nest, &list))
        return false;
    for (uint32_t i = 0; i < list.n; i++) {
        const Expr *e = tessi_expr(l->g, list.at[i]);
        if (e->kind == EXPR_WINDOW && e->reduction == REDUCE_MEDIAN)
            return false; /* sorting is done point by point */
        any = any || is_outermost(l, list.at[i]);
    }
    return any;
}

/* ---- Strips ---------------------------------------------------------------------------------- */

typedef struct Strips {
    Lower *l;
    const Nest *nest;
    Eval *ev;
    LExprId first, length; /* of the strip in hand */
    LExprId k;             /* the point in hand */
} Strips;

/* Opens a loop over the points of the strip: the coordinate and all strips made so far get their values. */
static void open_points(Strips *s)
{
    Lower *l = s->l;
    uint8_t last = (uint8_t)(s->nest->n_dims - 1);
    LVarId k = tessi_scope_for(l, "k", tessi_l_int(l, 0), s->length, 1, LFOR_SIMD);
    s->k = tessi_lexpr_var(l->p, k);
    LExprId x = tessi_scope_let(l, tessi_dim_name(s->nest->n_dims, last),
                                tessi_l_op(l, OP_ADD, s->first, s->k));
    s->ev->coord[last] = tessi_nest_coord(s->nest, last, x);
    for (uint32_t i = 0; i < s->ev->exprs.n; i++) {
        if (!s->ev->strip[i].v)
            continue;
        LExprId value = tessi_lexpr_load(l->p, s->ev->strip[i], &s->k, 1);
        tessi_eval_set(l, s->ev, s->ev->exprs.at[i], value);
    }
}

static LBufferId new_strip(Strips *s, const char *name, ScalarType t)
{
    const int64_t size = STRIP;
    return tessi_scope_local(s->l, name, t, 1, &size);
}

static void store(Strips *s, LBufferId b, LExprId value)
{
    tessi_scope_store(s->l, b, &s->k, 1, value);
}

static void mark_made(Strips *s, ExprId id, LBufferId b)
{
    s->ev->strip[tessi_eval_cell(s->ev, id) - s->ev->value] = b;
}

/* ---- What does not change inside a window ---------------------------------------------------- */

static bool is_cheap(const Lower *l, ExprId id)
{
    const Expr *e = tessi_expr(l->g, id);
    if (e->kind == EXPR_CAST)
        e = tessi_expr(l->g, e->arg[0]);
    return e->kind != EXPR_OP && e->kind != EXPR_CAST && e->kind != EXPR_SAT;
}

/* Operations at the point that the window would repeat at each of its steps: they get strips of their own. */
static void keep_invariants(Strips *s, const Family *f)
{
    Lower *l = s->l;
    VEC(ExprId) kept = { 0 };
    VEC_FOREACH (const Member, m, &f->members) {
        const Expr *window = tessi_expr(l->g, m->id);
        ExprList list = tessi_reach(l, window->arg, window->n_args);
        for (uint32_t i = 0; i < list.n; i++) {
            ExprId child[MAX_EXPR_CHILDREN];
            if (l->deps[list.at[i].v].level < 0 && list.at[i].v != window->arg[0].v)
                continue;
            uint32_t n = tessi_expr_children(l->g, tessi_expr(l->g, list.at[i]), child);
            for (uint32_t k = 0; k < n; k++) {
                const ExprDeps *d = &l->deps[child[k].v];
                uint32_t place = (uint32_t)(tessi_eval_cell(s->ev, child[k]) - s->ev->value);
                if (d->level >= 0 || !d->point || is_cheap(l, child[k]) || s->ev->strip[place].v)
                    continue;
                ScalarType t = tessi_expr(l->g, child[k])->type;
                mark_made(s, child[k], new_strip(s, "kept", t));
                VEC_PUSH(l->arena, &kept, child[k]);
            }
        }
    }
    if (!kept.n)
        return;
    LBufferId *buffer = ARENA_NEW_ARRAY(l->arena, LBufferId, kept.n);
    LExprId *value = ARENA_NEW_ARRAY(l->arena, LExprId, kept.n);
    for (uint32_t i = 0; i < kept.n; i++) { /* not to be read while they are made */
        LBufferId *strip = &s->ev->strip[tessi_eval_cell(s->ev, kept.at[i]) - s->ev->value];
        buffer[i] = *strip;
        *strip = (LBufferId){ 0 };
    }
    open_points(s);
    for (uint32_t i = 0; i < kept.n; i++)
        value[i] = tessi_eval_expr(l, s->ev, kept.at[i]);
    tessi_scope_place(l, value, kept.n);
    for (uint32_t i = 0; i < kept.n; i++)
        store(s, buffer[i], value[i]);
    tessi_scope_close(l);
    for (uint32_t i = 0; i < kept.n; i++)
        mark_made(s, kept.at[i], buffer[i]);
}

/* ---- Windows --------------------------------------------------------------------------------- */

static void start(Strips *s, Family *f)
{
    Lower *l = s->l;
    VEC_FOREACH (Member, m, &f->members) {
        const Expr *e = tessi_expr(l->g, m->id);
        if (m->cond == COND_NEVER)
            continue;
        m->local = new_strip(s, tessi_reduction_name(e->reduction), e->type);
        if (m->cond == COND_STATIC)
            m->seen = tessi_scope_var(l, "seen", TYPE_BOOL, tessi_lower_bool(l, false));
    }
    open_points(s);
    VEC_FOREACH (const Member, m, &f->members)
        if (m->cond != COND_NEVER)
            store(s, m->local, tessi_window_start(l, tessi_expr(l->g, m->id), m->cond));
    tessi_scope_close(l);
}

/* The steps at the window's point in hand of all members that stand under the same condition. */
static void steps_under(Strips *s, const Family *f, ExprId where)
{
    Lower *l = s->l;
    VEC(LExprId) operands = { 0 };
    VEC(const Member *) taken = { 0 };
    VEC_FOREACH (const Member, m, &f->members)
        if (m->cond != COND_NEVER && tessi_window_if(l, m).v == where.v)
            VEC_PUSH(l->arena, &taken, m);
    if (!taken.n)
        return;
    open_points(s);
    for (uint32_t i = 0; i < taken.n; i++) {
        LExprId operand[WINDOW_OPERANDS];
        tessi_window_operands(l, s->ev, taken.at[i], operand);
        for (int k = 0; k < WINDOW_OPERANDS; k++)
            VEC_PUSH(l->arena, &operands, operand[k]);
    }
    tessi_scope_place(l, operands.at, operands.n);
    for (uint32_t i = 0; i < taken.n; i++) {
        const Member *m = taken.at[i];
        LExprId acc = tessi_lexpr_load(l->p, m->local, &s->k, 1);
        store(s, m->local,
              tessi_window_step_expr(l, m, &operands.at[(size_t)i * WINDOW_OPERANDS], acc));
    }
    tessi_scope_close(l);
    VEC_FOREACH (const Member, m, &f->members)
        if (m->seen.v && tessi_window_if(l, m).v == where.v)
            tessi_lower_set(l, m->seen, tessi_lower_bool(l, true));
}

static void run_family(Strips *s, ExprId id)
{
    Lower *l = s->l;
    ExprId where;
    Family f = tessi_window_family(l, s->ev, id);
    keep_invariants(s, &f);
    start(s, &f);
    tessi_window_open(l, s->ev, f.window);
    steps_under(s, &f, (ExprId){ 0 });
    for (uint32_t i = 0; tessi_window_next_if(l, &f, &i, &where);) {
        tessi_scope_if(l, tessi_eval_expr(l, s->ev, where));
        steps_under(s, &f, where);
        tessi_scope_close(l);
    }
    tessi_window_close(l, s->ev, f.window);
    VEC_FOREACH (const Member, m, &f.members) {
        if (m->seen.v) { /* the condition may have held nowhere */
            LExprId seen = tessi_lexpr_var(l->p, m->seen), none = { 0 };
            tessi_scope_if(l, tessi_lexpr_op(l->p, OP_NOT, seen, none, none));
            open_points(s);
            store(s, m->local, tessi_window_empty(l, tessi_expr(l->g, m->id)));
            tessi_scope_close(l);
            tessi_scope_close(l);
        }
        if (m->cond != COND_NEVER)
            mark_made(s, m->id, m->local);
    }
}

void tessi_lower_strips(Lower *l, const Nest *nest, Coord *coord, LExprId from, LExprId to)
{
    uint8_t last = (uint8_t)(nest->n_dims - 1);
    LVarId var = tessi_scope_for(l, "strip", from, to, STRIP, 0);
    l->guard_depth = tessi_scope_depth(l);
    Strips s = { .l = l, .nest = nest, .first = tessi_lexpr_var(l->p, var) };
    s.length = tessi_scope_let(
        l, "length",
        tessi_l_op(l, OP_MIN, tessi_l_op(l, OP_SUB, to, s.first), tessi_l_int(l, STRIP)));
    s.ev = tessi_eval_new(l, nest->roots, nest->n_roots, nest->n_dims);
    s.ev->strip = ARENA_NEW_ARRAY(l->arena, LBufferId, (size_t)s.ev->exprs.n + 1);
    for (uint8_t d = 0; d < last; d++)
        s.ev->coord[d] = coord[d];
    for (uint32_t i = 0; i < s.ev->exprs.n;
         i++) { /* ascending: what a window needs is made before it */
        ExprId id = s.ev->exprs.at[i];
        if (is_outermost(l, id) && !s.ev->strip[i].v
            && tessi_window_condition(l, tessi_expr(l->g, id)) != COND_NEVER)
            run_family(&s, id);
    }
    open_points(&s);
    coord[last] = s.ev->coord[last];
    nest->body(l, nest, coord, s.ev);
    tessi_scope_close(l);
    tessi_scope_close(l);
}
