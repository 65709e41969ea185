/* How far index arithmetic goes, before the sizes of a run are known: each value lies between -lo and hi, two
 * polynomials with positive factors in the magnitudes of the parameters. Whether 32 bits hold all of it is then one
 * comparison in a launcher. */
#include <math.h>
#include <string.h>

#include "loop/pass.h"

typedef LoopBound Bound;
typedef struct Reach {
    Bound lo, hi;
} Reach;

typedef struct Bounds {
    const LoopProgram *p;
    Arena *arena;
    bool *positive; /* by parameter: a run begins only when it is at least 1 */
    Reach *var;     /* by LVarId */
    bool *defined;
    Reach *value;
    uint32_t *stamp_of, stamp; /* by LExprId: of the statement in hand */
    Bound all;
} Bounds;

/* ---- Polynomials ----------------------------------------------------------------------------- */

static bool same_term(const LoopBoundTerm *a, const LoopBoundTerm *b)
{
    return a->n_params == b->n_params
           && memcmp(a->param, b->param, a->n_params * sizeof *a->param) == 0;
}

static LoopBoundTerm *term_of(Bounds *b, Bound *p, const LoopBoundTerm *like)
{
    VEC_FOREACH (LoopBoundTerm, t, p)
        if (same_term(t, like))
            return t;
    LoopBoundTerm fresh = *like;
    fresh.factor = 0;
    VEC_PUSH(b->arena, p, fresh);
    return &p->at[p->n - 1];
}

static Bound constant(Bounds *b, double factor)
{
    Bound p = { 0 };
    if (factor > 0)
        VEC_PUSH(b->arena, &p, (LoopBoundTerm){ .factor = factor });
    return p;
}

static Bound scaled(Bounds *b, const Bound *x, double factor)
{
    Bound p = { 0 };
    VEC_FOREACH (const LoopBoundTerm, t, x)
        term_of(b, &p, t)->factor = t->factor * factor;
    return p;
}

static Bound sum(Bounds *b, const Bound *x, const Bound *y)
{
    Bound p = scaled(b, x, 1);
    VEC_FOREACH (const LoopBoundTerm, t, y)
        term_of(b, &p, t)->factor += t->factor;
    return p;
}

/* Not below either. */
static Bound cover(Bounds *b, const Bound *x, const Bound *y)
{
    Bound p = scaled(b, x, 1);
    VEC_FOREACH (const LoopBoundTerm, t, y) {
        LoopBoundTerm *own = term_of(b, &p, t);
        own->factor = fmax(own->factor, t->factor);
    }
    return p;
}

static LoopBoundTerm term_product(const LoopBoundTerm *x, const LoopBoundTerm *y)
{
    LoopBoundTerm t = { .factor = x->factor * y->factor };
    if (x->n_params + y->n_params > LOOP_MAX_DIMS)
        return (LoopBoundTerm){ .factor = INFINITY };
    for (uint8_t i = 0, k = 0; i < x->n_params || k < y->n_params;) { /* both are sorted */
        const bool left = k == y->n_params || (i < x->n_params && x->param[i] <= y->param[k]);
        t.param[t.n_params++] = left ? x->param[i++] : y->param[k++];
    }
    return t;
}

static Bound product(Bounds *b, const Bound *x, const Bound *y)
{
    Bound p = { 0 };
    VEC_FOREACH (const LoopBoundTerm, s, x)
        VEC_FOREACH (const LoopBoundTerm, t, y) {
            const LoopBoundTerm both = term_product(s, t);
            term_of(b, &p, &both)->factor += both.factor;
        }
    return p;
}

/* The smaller one for images of a usual size: either would do. */
static Bound smaller(const Bound *x, const Bound *y)
{
    static const double usual = 1000;
    double at[2] = { 0, 0 };
    for (int k = 0; k < 2; k++)
        VEC_FOREACH (const LoopBoundTerm, t, k ? y : x)
            at[k] += t->factor * pow(usual, t->n_params);
    return at[1] < at[0] ? *y : *x;
}

/* ---- Values ---------------------------------------------------------------------------------- */

static void note(Bounds *b, const Reach *s)
{
    for (int k = 0; k < 2; k++)
        VEC_FOREACH (const LoopBoundTerm, t, k ? &s->hi : &s->lo) {
            LoopBoundTerm *own = term_of(b, &b->all, t);
            own->factor = fmax(own->factor, t->factor);
        }
}

static Reach noted(Bounds *b, Bound lo, Bound hi)
{
    Reach s = { lo, hi };
    note(b, &s);
    return s;
}

static Reach product_reach(Bounds *b, const Reach *x, const Reach *y)
{
    const Bound ll = product(b, &x->lo, &y->lo), hh = product(b, &x->hi, &y->hi);
    const Bound lh = product(b, &x->lo, &y->hi), hl = product(b, &x->hi, &y->lo);
    return noted(b, cover(b, &lh, &hl), cover(b, &ll, &hh));
}

/* a / b rounded down, b at least 1 where it matters. */
static Reach quotient_reach(Bounds *b, const LExpr *divisor, const Reach *x)
{
    if (divisor->kind != LEXPR_CONST || divisor->value.i < 1)
        return *x;
    const double by = 1.0 / (double)divisor->value.i;
    const Bound one = constant(b, 1), lo = scaled(b, &x->lo, by);
    return (Reach){ x->lo.n ? sum(b, &lo, &one) : lo, scaled(b, &x->hi, by) };
}

static Reach op_reach(Bounds *b, const LExpr *e, const Reach *arg)
{
    const Reach *x = &arg[0], *y = &arg[1];
    switch (e->op) {
    case OP_NEG: return noted(b, x->hi, x->lo);
    case OP_ADD: return noted(b, sum(b, &x->lo, &y->lo), sum(b, &x->hi, &y->hi));
    case OP_SUB: return noted(b, sum(b, &x->lo, &y->hi), sum(b, &x->hi, &y->lo));
    case OP_MUL: return product_reach(b, x, y);
    case OP_MIN: return (Reach){ cover(b, &x->lo, &y->lo), smaller(&x->hi, &y->hi) };
    case OP_MAX: return (Reach){ smaller(&x->lo, &y->lo), cover(b, &x->hi, &y->hi) };
    case OP_FLOORDIV: return quotient_reach(b, tessi_lexpr(b->p, e->arg[1]), x);
    case OP_FLOORMOD: return (Reach){ constant(b, 0), y->hi };
    case OP_SELECT: return (Reach){ cover(b, &y->lo, &arg[2].lo), cover(b, &y->hi, &arg[2].hi) };
    default: return (Reach){ constant(b, 0), constant(b, 1) }; /* comparisons */
    }
}

static Reach type_reach(Bounds *b, ScalarType from)
{
    if (tessi_is_real(from) || tessi_type_info(from)->bytes > 4 || from == TYPE_U32)
        return noted(b, constant(b, INFINITY), constant(b, INFINITY));
    const Interval i = tessi_type_range(from);
    return (Reach){ constant(b, -(double)i.lo), constant(b, (double)i.hi) };
}

static Reach param_reach(Bounds *b, uint32_t param)
{
    Bound p = { 0 };
    VEC_PUSH(b->arena, &p, ((LoopBoundTerm){ .factor = 1, .n_params = 1, .param = { param } }));
    return (Reach){ b->positive[param] ? constant(b, 0) : p, p };
}

static Reach reach_of(Bounds *b, LExprId id)
{
    if (b->stamp_of[id.v] == b->stamp)
        return b->value[id.v];
    const LExpr *e = tessi_lexpr(b->p, id);
    Reach arg[LOOP_MAX_DIMS] = { 0 }, out = { 0 };
    for (int i = 0; i < e->n_args; i++)
        arg[i] = reach_of(b, e->arg[i]); /* what stands in loads and conditions counts too */
    if (e->type == TYPE_INDEX) {
        switch (e->kind) {
        case LEXPR_CONST:
            out.lo = constant(b, -(double)e->value.i);
            out.hi = constant(b, (double)e->value.i);
            break;
        case LEXPR_VAR: out = b->var[e->var.v]; break;
        case LEXPR_PARAM: out = param_reach(b, e->ref); break;
        case LEXPR_OP: out = op_reach(b, e, arg); break;
        case LEXPR_CAST:
        case LEXPR_SAT: out = type_reach(b, tessi_lexpr(b->p, e->arg[0])->type); break;
        case LEXPR_LANES: out.hi = constant(b, LOOP_MOST_VECTOR / (double)e->ref); break;
        case LEXPR_VECTORS:
        case LEXPR_SPLAT: out = arg[0]; break;
        case LEXPR_RAMP: {
            const Bound lanes = constant(b, LOOP_MOST_VECTOR);
            out = noted(b, arg[0].lo, sum(b, &arg[0].hi, &lanes));
            break;
        }
        case LEXPR_AT:
        case LEXPR_PAIRS:
        case LEXPR_BOTH:
        case LEXPR_SCALAR:
        case LEXPR_LOAD: break;
        }
    }
    b->stamp_of[id.v] = b->stamp;
    b->value[id.v] = out;
    return out;
}

static Reach reach_now(Bounds *b, LExprId id)
{
    b->stamp++;
    return id.v ? reach_of(b, id) : (Reach){ 0 };
}

/* ---- Statements ------------------------------------------------------------------------------ */

static void define(Bounds *b, LVarId var, const Reach *s)
{
    Reach *v = &b->var[var.v];
    *v = b->defined[var.v] ? (Reach){ cover(b, &v->lo, &s->lo), cover(b, &v->hi, &s->hi) } : *s;
    b->defined[var.v] = true;
}

static void define_loop(Bounds *b, const LStmt *s, const Reach *from, const Reach *to)
{
    const double lanes = s->lanes ? (double)LOOP_MOST_VECTOR / s->lanes : 1;
    const Bound step = constant(b, (double)s->step * lanes);
    const Reach var = { from->lo, cover(b, &from->hi, &to->hi) };
    const Reach behind = { from->lo, sum(b, &to->hi, &step) }; /* where the loop ends */
    note(b, &behind);
    define(b, s->var, &var);
}

static void block_bounds(Bounds *b, const LBlock *block)
{
    PASS_FOREACH (s, block) {
        const Reach x = reach_now(b, s->a), y = reach_now(b, s->b);
        for (int k = 0; k < s->n_index; k++)
            reach_now(b, s->index[k]);
        const bool is_index = s->var.v && b->p->vars.at[s->var.v].type == TYPE_INDEX;
        if (s->kind == LSTMT_FOR)
            define_loop(b, s, &x, &y);
        else if (s->kind == LSTMT_LET && is_index)
            define(b, s->var, &x);
        else if ((s->kind == LSTMT_VAR || s->kind == LSTMT_SET) && is_index)
            noted(b, constant(b, INFINITY), constant(b, 0)); /* it may grow with each iteration */
    }
}

/* The distance of the last element of a row, or of an intermediate image, from its first. */
static void buffer_bounds(Bounds *b, const LBuffer *buffer)
{
    enum { PITCH = 15 }; /* by which rows of intermediate images are longer, at most */
    const Bound pad = constant(b, PITCH);
    const LImage *im = tessi_loop_image(b->p, buffer);
    Bound n = constant(b, im ? im->pixel_bytes : 1);
    for (int d = 0; d < buffer->n_dims; d++) {
        const Reach size = reach_now(b, buffer->size[d]);
        const bool last = d == buffer->n_dims - 1;
        const Bound side = last ? sum(b, &size.hi, &pad) : size.hi;
        if (buffer->kind == LBUF_TEMP || last)
            n = product(b, &n, &side);
    }
    noted(b, constant(b, 0), n);
}

static void image_sizes(Bounds *b, const LImage *im)
{
    for (int d = 0; d < im->n_dims; d++) {
        const LExpr *size = tessi_lexpr(b->p, im->size[d]);
        if (size->kind == LEXPR_PARAM)
            b->positive[size->ref] = true;
    }
}

bool tessi_loop_index_bound(const LoopProgram *p, Arena *a, LoopBound *bound)
{
    Bounds b = { .p = p,
                 .arena = a,
                 .positive = ARENA_NEW_ARRAY(a, bool, p->params.n + 1),
                 .var = ARENA_NEW_ARRAY(a, Reach, p->vars.n),
                 .defined = ARENA_NEW_ARRAY(a, bool, p->vars.n),
                 .value = ARENA_NEW_ARRAY(a, Reach, p->exprs.n),
                 .stamp_of = ARENA_NEW_ARRAY(a, uint32_t, p->exprs.n) };
    VEC_FOREACH (const LImage, im, &p->inputs)
        image_sizes(&b, im);
    VEC_FOREACH (const LImage, im, &p->outputs)
        image_sizes(&b, im);
    for (uint32_t i = 0; i < p->params.n; i++) {
        const Reach s = param_reach(&b, i);
        note(&b, &s);
    }
    for (uint32_t i = 1; i < p->buffers.n; i++)
        buffer_bounds(&b, &p->buffers.at[i]);
    VEC_FOREACH (LFunction, f, &p->functions) {
        for (int axis = 0; axis < LOOP_MAX_AXES; axis++)
            reach_now(&b, f->grid[axis]);
        block_bounds(&b, &f->body);
    }
    *bound = b.all;
    double constants = 0;
    VEC_FOREACH (const LoopBoundTerm, t, &b.all)
        constants += t->n_params == 0 || isinf(t->factor) ? t->factor : 0;
    return constants < INT32_MAX;
}

double tessi_loop_bound_value(const LoopBound *bound, const int64_t *params)
{
    double most = 0;
    VEC_FOREACH (const LoopBoundTerm, t, bound) {
        double term = t->factor;
        for (uint32_t i = 0; i < t->n_params; i++)
            term *= fabs((double)params[t->param[i]]);
        most += term;
    }
    return most;
}

bool tessi_loop_fits_32(const LoopProgram *p, const int64_t *params)
{
    LoopBound bound = { 0 };
    Arena *scratch = tessi_scratch_open(p->arena);
    const bool fits = tessi_loop_index_bound(p, scratch, &bound)
                      && tessi_loop_bound_value(&bound, params) <= INT32_MAX;
    tessi_scratch_close(scratch);
    return fits;
}
