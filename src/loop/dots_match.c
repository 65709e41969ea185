/* Which sums of a loop over points are sums of products of bytes with small whole weights: windows are executed, for
 * their indices, and what they would add is noted. */
#include <limits.h>
#include <math.h>

#include "loop/dots.h"
#include "loop/pass.h"

static const LExprId none = { 0 };

/* ---- Values ------------------------------------------------------------------------------------------------------ */

LExprId tessi_dots_named(const Dots *s, LExprId id)
{
    const LExpr *e = tessi_lexpr(s->p, id);
    const LStmt *d = e->kind == LEXPR_VAR && e->var.v < s->n_vars ? s->definition[e->var.v] : NULL;
    return d && d->kind == LSTMT_LET ? tessi_dots_named(s, d->a) : id;
}

/* What a chain of conversions begins with. */
static LExprId unconverted(const Dots *s, LExprId id)
{
    const LExprId value = tessi_dots_named(s, id);
    const LExpr *e = tessi_lexpr(s->p, value);
    return e->kind == LEXPR_CAST && !e->ref ? unconverted(s, e->arg[0]) : value;
}

static bool is_sum(const Dots *s, LExprId id, LVarId var)
{
    (void)s;
    const LExpr *e = tessi_lexpr(s->p, id);
    return e->kind == LEXPR_VAR && e->var.v == var.v;
}

/* The value of an index in the iteration in hand of the loops around; false: it depends on more. */
static bool evaluate(const Dots *s, LExprId id, int64_t *value)
{
    const LExpr *e = tessi_lexpr(s->p, tessi_dots_named(s, id));
    int64_t a = 0, b = 0;
    if (e->kind == LEXPR_CONST) {
        *value = e->value.i;
        return tessi_is_integer(e->type);
    }
    for (uint32_t i = 0; e->kind == LEXPR_VAR && i < s->depth; i++)
        if (s->nested[i]->var.v == e->var.v) {
            *value = s->value[i];
            return true;
        }
    if ((e->kind != LEXPR_OP && e->kind != LEXPR_CAST) || e->n_args < 1 || e->n_args > 2
        || !tessi_is_integer(e->type) || !evaluate(s, e->arg[0], &a)
        || (e->n_args > 1 && !evaluate(s, e->arg[1], &b)))
        return false;
    const int64_t small = 1 << 20; /* no conversion and no operation leaves its type */
    if (a < -small || a > small || b < -small || b > small)
        return false;
    switch (e->kind == LEXPR_CAST ? OP_ADD : e->op) {
    case OP_ADD: *value = a + b; return tessi_type_info(e->type)->bytes >= 4;
    case OP_SUB: *value = a - b; return tessi_type_info(e->type)->bytes >= 4;
    case OP_MUL: *value = a * b; return tessi_type_info(e->type)->bytes >= 4;
    default: return false;
    }
}

/* How an index grows with a variable. */
static bool slope_of(const Dots *s, LExprId id, LVarId var, int64_t *slope)
{
    const LExpr *e = tessi_lexpr(s->p, tessi_dots_named(s, id));
    int64_t a = 0, b = 0;
    *slope = e->kind == LEXPR_VAR && e->var.v == var.v;
    if (e->kind != LEXPR_OP)
        return e->n_args == 0; /* a load or a conversion may depend on it */
    for (int i = 0; i < e->n_args; i++)
        if (i > 1 || !slope_of(s, e->arg[i], var, i ? &b : &a))
            return false;
    const LExpr *c = tessi_lexpr(s->p, e->arg[1]);
    const bool times = e->op == OP_MUL && c->kind == LEXPR_CONST && c->value.i == -1;
    *slope = e->op == OP_ADD ? a + b : e->op == OP_SUB ? a - b : times ? -a : 0;
    return (!a && !b) || e->op == OP_ADD || e->op == OP_SUB || times;
}

/* ---- What is a sum of products of bytes -------------------------------------------------------------------------- */

static bool is_weight(const Dots *s, LExprId id)
{
    const LExpr *e = tessi_lexpr(s->p, id);
    const LBuffer *b = &s->p->buffers.at[e->buffer.v];
    return e->kind == LEXPR_LOAD && !e->lanes && b->kind == LBUF_TABLE && b->n_dims == 1;
}

static bool is_pixel(const Dots *s, Pixel *pixel)
{
    const LExpr *e = tessi_lexpr(s->p, pixel->load);
    const LBuffer *b = &s->p->buffers.at[e->buffer.v];
    if (e->kind != LEXPR_LOAD || e->lanes || b->type != TYPE_U8 || b->kind == LBUF_TABLE || b->lanes
        || e->ref || !tessi_loop_is_dense(s->p, e->buffer))
        return false;
    const LVarId x = s->loop->var, j = s->nested[s->depth - 1]->var;
    for (int d = 0; d < e->n_args; d++) {
        int64_t by_x, by_j;
        const int64_t wanted = d == e->n_args - 1;
        if (!slope_of(s, e->arg[d], x, &by_x) || !slope_of(s, e->arg[d], j, &by_j) || by_x != wanted
            || by_j * by_j != wanted)
            return false;
        pixel->falls = by_j < 0;
    }
    return true;
}

/* A pixel, or a sum or difference of two. */
static bool find_pixels(const Dots *s, LExprId id, Step *step)
{
    const LExprId value = unconverted(s, id);
    const LExpr *e = tessi_lexpr(s->p, value);
    const bool two = e->kind == LEXPR_OP && (e->op == OP_ADD || e->op == OP_SUB)
                     && e->type != TYPE_U8 && e->type != TYPE_I8;
    step->n_pixels = two ? 2 : 1;
    for (uint32_t i = 0; i < step->n_pixels; i++) {
        step->pixel[i] = (Pixel){ .load = two ? unconverted(s, e->arg[i]) : value,
                                  .negated = i && e->op == OP_SUB };
        if (!is_pixel(s, &step->pixel[i]))
            return false;
    }
    return true;
}

/* The product of a weight and pixels, whichever comes first. */
static bool find_factors(const Dots *s, LExprId a, LExprId b, Step *step)
{
    step->weight = unconverted(s, a);
    if (is_weight(s, step->weight))
        return find_pixels(s, b, step);
    step->weight = unconverted(s, b);
    return is_weight(s, step->weight) && find_pixels(s, a, step);
}

static bool find_product(const Dots *s, LExprId id, Step *step)
{
    const LExprId value = tessi_dots_named(s, id);
    const LExpr *e = tessi_lexpr(s->p, value);
    if (e->kind == LEXPR_CAST && tessi_is_integer(e->type)
        && tessi_lexpr(s->p, tessi_dots_named(s, e->arg[0]))->type
               == TYPE_I16) /* which hold 128 times 255 */
        return find_product(s, e->arg[0], step);
    const bool wide = e->type == TYPE_I32 || e->type == TYPE_I16 || e->type == TYPE_F32;
    return e->kind == LEXPR_OP && e->op == OP_MUL && wide
           && find_factors(s, e->arg[0], e->arg[1], step);
}

Sum *tessi_dots_sum_of(Dots *s, LVarId var)
{
    for (uint32_t i = 0; i < s->n; i++)
        if (s->sum[i].start->var.v == var.v)
            return &s->sum[i];
    return NULL;
}

bool tessi_dots_find_step(Dots *s, const LStmt *set, Step *step)
{
    const LExpr *e = tessi_lexpr(s->p, set->a);
    step->sum = tessi_dots_sum_of(s, set->var);
    if (!step->sum || step->sum->dropped || e->kind != LEXPR_OP)
        return false;
    if (e->op == OP_FMA)
        return is_sum(s, e->arg[2], set->var) && find_factors(s, e->arg[0], e->arg[1], step);
    if (e->op != OP_ADD)
        return false;
    const int own = is_sum(s, e->arg[0], set->var) ? 0 : 1;
    return is_sum(s, e->arg[own], set->var) && find_product(s, e->arg[1 - own], step);
}

double tessi_dots_weight(const Dots *s, LBufferId table, int64_t i)
{
    const LBuffer *b = &s->p->buffers.at[table.v];
    return tessi_is_real(b->type) ? b->table[i].f : (double)b->table[i].i;
}

/* The largest power of two, of reals, of which all weights are multiples. */
static bool find_exponent(const Dots *s, LBufferId table, int *exponent)
{
    const LBuffer *b = &s->p->buffers.at[table.v];
    int least = INT_MAX;
    for (uint32_t i = 0; i < b->n_table && tessi_is_real(b->type); i++) {
        const double w = tessi_dots_weight(s, table, i);
        if (!isfinite(w))
            return false;
        least = tessi_power_in(w) < least ? tessi_power_in(w) : least;
    }
    *exponent = least == INT_MAX ? 0 : least;
    return *exponent > -64 && *exponent < 32;
}

bool tessi_dots_counts(const Dots *s, LBufferId where, int64_t i)
{
    return !where.v || s->p->buffers.at[where.v].table[i].i;
}

/* Notes what one iteration of the loops around the window adds to a sum. */
static bool note_weights(Dots *s, const Step *step)
{
    const LExpr *load = tessi_lexpr(s->p, step->weight);
    const LStmt *window = s->nested[s->depth - 1];
    const int64_t from = tessi_lexpr(s->p, window->a)->value.i,
                  to = tessi_lexpr(s->p, window->b)->value.i;
    Sum *sum = step->sum;
    int64_t first = 0, i;
    for (int64_t j = from; j < to; j++) {
        s->value[s->depth - 1] = j;
        if (!evaluate(s, load->arg[0], &i) || i < 0
            || i >= s->p->buffers.at[load->buffer.v].n_table)
            return false;
        first = j == from ? i : first;
        const bool counts = tessi_dots_counts(s, step->where, i);
        const double w = counts ? ldexp(tessi_dots_weight(s, load->buffer, i), -sum->exponent) : 0;
        if (i != first + (j - from) || w != floor(w) || fabs(w) > INT8_MAX)
            return false;
        sum->most += (int64_t)fabs(w) * UINT8_MAX * step->n_pixels;
        /* 0 times a difference may be -0. */
        sum->raised = sum->raised || (counts && (step->n_pixels > 1 ? w > 0 : !signbit(w)));
    }
    return ++s->windows < MOST_WINDOWS;
}

static bool note_step(Dots *s, const LStmt *set, LExprId where, uint32_t depth)
{
    Step step;
    if (depth + 1 < s->depth) { /* each iteration of the loops around */
        const LStmt *f = s->nested[depth];
        for (int64_t i = tessi_lexpr(s->p, f->a)->value.i; i < tessi_lexpr(s->p, f->b)->value.i;
             i++) {
            s->value[depth] = i;
            if (!note_step(s, set, where, depth + 1))
                return false;
        }
        return true;
    }
    if (!tessi_dots_find_step(s, set, &step))
        return false;
    if (where.v
        && tessi_dots_named(s, tessi_lexpr(s->p, where)->arg[0]).v
               != tessi_dots_named(s, tessi_lexpr(s->p, step.weight)->arg[0]).v)
        return false;
    step.where = where.v ? tessi_lexpr(s->p, where)->buffer : (LBufferId){ 0 };
    const LBufferId table = tessi_lexpr(s->p, step.weight)->buffer;
    if (!step.sum->table.v && !find_exponent(s, table, &step.sum->exponent))
        return false;
    if (step.sum->table.v && step.sum->table.v != table.v)
        return false;
    step.sum->table = table;
    step.sum->last = s->at;
    return note_weights(s, &step);
}

/* ---- Which loops ------------------------------------------------------------------------------------------------- */

static bool has_steps(const LBlock *block)
{
    for (uint32_t i = 0; i < block->n; i++)
        if (block->at[i]->kind == LSTMT_SET
            || (block->at[i]->kind == LSTMT_IF && has_steps(&block->at[i]->body)))
            return true;
    return false;
}

static bool is_bounded(const Dots *s, const LStmt *f)
{
    enum { MOST = 256 };
    const LExpr *a = tessi_lexpr(s->p, f->a), *b = tessi_lexpr(s->p, f->b);
    return a->kind == LEXPR_CONST && b->kind == LEXPR_CONST && f->step == 1 && !f->lanes
           && !(f->flags & (LFOR_SIMD | LFOR_PARALLEL)) && b->value.i - a->value.i <= MOST
           && b->value.i > a->value.i;
}

/* The sums that these statements change stay as they are. */
static void drop(Dots *s, const LStmt *t)
{
    Sum *sum = t->kind == LSTMT_SET ? tessi_dots_sum_of(s, t->var) : NULL;
    if (sum && !sum->dropped)
        sum->dropped = s->changed = true;
    for (uint32_t i = 0; i < t->body.n; i++)
        drop(s, t->body.at[i]);
    for (uint32_t i = 0; i < t->orelse.n; i++)
        drop(s, t->orelse.at[i]);
}

/* Names and steps; those of weights of 0 may be passed over. */
static bool note_steps(Dots *s, const LBlock *block, LExprId where)
{
    bool good = true;
    for (uint32_t i = 0; i < block->n && good; i++) {
        const LStmt *t = block->at[i];
        const LExprId truth = t->kind == LSTMT_IF ? tessi_dots_named(s, t->a) : none;
        if (t->kind == LSTMT_SET)
            good = note_step(s, t, where, 0);
        else if (t->kind == LSTMT_IF)
            good =
                !where.v && !t->orelse.n && is_weight(s, truth) && note_steps(s, &t->body, truth);
        else
            good = t->kind == LSTMT_LET;
    }
    return good;
}

/* A loop of steps: all that it does is to add to sums. */
static bool note_window(Dots *s, const LStmt *f)
{
    const int64_t taps = tessi_lexpr(s->p, f->b)->value.i - tessi_lexpr(s->p, f->a)->value.i;
    return taps >= TAPS && note_steps(s, &f->body, none);
}

/* Looks at the windows of a statement, and drops the sums of those that are none. */
static void note(Dots *s, const LStmt *t)
{
    if (t->kind != LSTMT_FOR || !is_bounded(s, t) || s->depth == MOST_NESTED) {
        drop(s, t);
        return;
    }
    s->nested[s->depth++] = t;
    if (has_steps(&t->body) && !note_window(s, t))
        drop(s, t);
    for (uint32_t i = 0; i < t->body.n && !has_steps(&t->body); i++)
        note(s, t->body.at[i]);
    s->depth--;
}

/* Somebody but its own steps wants to know the sum before it is complete: in the first n statements. */
static bool is_read(const Dots *s, const LBlock *body, uint32_t n, LVarId var)
{
    PASS_FOREACH (t, (&(LBlock){ .at = body->at, .n = n })) {
        if (t->kind == LSTMT_SET && t->var.v == var.v)
            continue;
        PASS_STMT_PARTS (e, s->p, NULL, 0, t)
            if (e->kind == LEXPR_VAR && e->var.v == var.v)
                return true;
    }
    return false;
}

static bool is_start(const Dots *s, const LStmt *t)
{
    const LExpr *e = tessi_lexpr(s->p, t->a);
    return t->kind == LSTMT_VAR && e->kind == LEXPR_CONST
           && ((e->type == TYPE_I32 && e->value.i == 0)
               || (e->type == TYPE_F32 && e->value.f == 0));
}

/* One round: what is found of the sums that are left; some may be dropped. */
static void look(Dots *s)
{
    const LBlock *body = &s->loop->body;
    s->changed = false;
    s->windows = s->depth = 0;
    for (uint32_t i = 0; i < s->n; i++)
        s->sum[i] = (Sum){ .start = s->sum[i].start, .dropped = s->sum[i].dropped };
    for (s->at = 0; s->at < body->n; s->at++)
        note(s, body->at[s->at]);
    for (uint32_t i = 0; i < s->n; i++) {
        Sum *sum = &s->sum[i];
        const bool real = tessi_lexpr(s->p, sum->start->a)->type == TYPE_F32;
        const bool good = sum->table.v && (!real || (sum->most < EXACT && sum->raised))
                          && !is_read(s, body, sum->last + 1, sum->start->var);
        if (!good && !sum->dropped)
            sum->dropped = s->changed = true;
    }
}

/* Some value has 64 bits: words of four bytes would be in lanes of as many. */
static bool has_long(const Dots *s, const LBlock *block)
{
    PASS_FOREACH (t, block)
        PASS_STMT_PARTS (e, s->p, NULL, 0, t)
            if (e->type != TYPE_INDEX && tessi_type_info(e->type)->bytes > 4)
                return true;
    return false;
}

bool tessi_dots_qualify(Dots *s)
{
    enum { MOST_ROUNDS = 8 };
    const LBlock *body = &s->loop->body;
    s->n = 0;
    for (uint32_t i = 0; i < body->n; i++)
        if (is_start(s, body->at[i]) && s->n < MOST_SUMS)
            s->sum[s->n++] = (Sum){ .start = body->at[i] };
    if (!s->n || has_long(s, body))
        return false;
    s->changed = true;
    for (int round = 0; s->changed && round < MOST_ROUNDS; round++)
        look(s);
    bool any = false;
    for (uint32_t i = 0; i < s->n; i++)
        any = any || !s->sum[i].dropped;
    return any && !s->changed;
}
