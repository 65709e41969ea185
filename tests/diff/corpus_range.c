/* The range that index arithmetic covers in a run with given sizes, exactly: what the bound of loop_bound.c is
 * compared with. Each variable has the range of all its definitions so far; a value that depends on data has that of
 * its type. */
#include "diff/corpus.h"
#include "loop/loop_private.h"

typedef struct Range {
    int64_t lo, hi;
} Range;

typedef struct Ranges {
    const LoopProgram *p;
    const int64_t *params;
    Range *var; /* by LVarId; lo > hi: not defined yet */
    Range *value;
    uint32_t *stamp_of, stamp; /* by LExprId: of the statement in hand */
    bool fits;
} Ranges;

static Range checked(Ranges *r, int64_t lo, int64_t hi)
{
    if (lo < INT32_MIN || hi > INT32_MAX)
        r->fits = false;
    lo = lo < INT32_MIN ? INT32_MIN : lo > INT32_MAX ? INT32_MAX : lo;
    hi = hi < INT32_MIN ? INT32_MIN : hi > INT32_MAX ? INT32_MAX : hi;
    return (Range){ lo, hi };
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a < b ? b : a;
}

static int64_t divide_down(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

static Range quotient_range(const Range *a, const Range *b)
{
    if (b->lo < 1) /* which gives 0 */
        return (Range){ least(a->lo, 0), most(a->hi, 0) };
    return (Range){ divide_down(a->lo, a->lo < 0 ? b->lo : b->hi),
                    divide_down(a->hi, a->hi < 0 ? b->hi : b->lo) };
}

/* Ranges have 32 bits, so nothing here overflows. */
static Range op_range(Ranges *r, Op op, const Range *a, const Range *b, const Range *c)
{
    switch (op) {
    case OP_NEG: return checked(r, -a->hi, -a->lo);
    case OP_ADD: return checked(r, a->lo + b->lo, a->hi + b->hi);
    case OP_SUB: return checked(r, a->lo - b->hi, a->hi - b->lo);
    case OP_MUL: {
        int64_t w = a->lo * b->lo, x = a->lo * b->hi, y = a->hi * b->lo, z = a->hi * b->hi;
        return checked(r, least(least(w, x), least(y, z)), most(most(w, x), most(y, z)));
    }
    case OP_MIN: return (Range){ least(a->lo, b->lo), least(a->hi, b->hi) };
    case OP_MAX: return (Range){ most(a->lo, b->lo), most(a->hi, b->hi) };
    case OP_FLOORDIV: return quotient_range(a, b);
    case OP_FLOORMOD: return (Range){ 0, most(b->hi - 1, 0) };
    case OP_SELECT: return (Range){ least(b->lo, c->lo), most(b->hi, c->hi) };
    default: return (Range){ 0, 1 }; /* comparisons */
    }
}

static Range type_range(Ranges *r, ScalarType from)
{
    if (tessi_is_real(from)) {
        r->fits = false;
        return (Range){ INT32_MIN, INT32_MAX };
    }
    Interval i = tessi_type_range(from);
    return checked(r, i.lo, i.hi);
}

static Range range_of(Ranges *r, LExprId id)
{
    if (r->stamp_of[id.v] == r->stamp)
        return r->value[id.v];
    const LExpr *e = tessi_lexpr(r->p, id);
    Range arg[LOOP_MAX_DIMS] = { { 0, 0 } }, out = { 0, 0 };
    for (int i = 0; i < e->n_args; i++)
        arg[i] = range_of(r, e->arg[i]); /* what stands in loads and conditions counts too */
    if (e->type == TYPE_INDEX) {
        switch (e->kind) {
        case LEXPR_CONST: out = checked(r, e->value.i, e->value.i); break;
        case LEXPR_VAR: out = r->var[e->var.v]; break;
        case LEXPR_PARAM: out = checked(r, r->params[e->ref], r->params[e->ref]); break;
        case LEXPR_OP: out = op_range(r, e->op, &arg[0], &arg[1], &arg[2]); break;
        case LEXPR_CAST:
        case LEXPR_SAT: out = type_range(r, tessi_lexpr(r->p, e->arg[0])->type); break;
        case LEXPR_LANES: out = (Range){ 1, LOOP_MOST_VECTOR / e->ref }; break;
        case LEXPR_VECTORS: out = (Range){ 0, arg[0].hi }; break;
        case LEXPR_SPLAT: out = arg[0]; break;
        case LEXPR_RAMP: out = checked(r, arg[0].lo, arg[0].hi + LOOP_MOST_VECTOR); break;
        case LEXPR_AT:
        case LEXPR_PAIRS:
        case LEXPR_BOTH:
        case LEXPR_SCALAR:
        case LEXPR_LOAD: break;
        }
    }
    r->stamp_of[id.v] = r->stamp;
    r->value[id.v] = out;
    return out;
}

static Range range_now(Ranges *r, LExprId id)
{
    r->stamp++;
    return id.v ? range_of(r, id) : (Range){ 0, 0 };
}

static void define(Ranges *r, LVarId var, int64_t lo, int64_t hi)
{
    Range *v = &r->var[var.v];
    *v = v->lo > v->hi ? (Range){ lo, hi } : (Range){ least(v->lo, lo), most(v->hi, hi) };
}

static void block_ranges(Ranges *r, const LBlock *block)
{
    for (uint32_t i = 0; i < block->n; i++) {
        const LStmt *s = block->at[i];
        Range a = range_now(r, s->a), b = range_now(r, s->b);
        for (int k = 0; k < s->n_index; k++)
            range_now(r, s->index[k]);
        if (s->kind == LSTMT_FOR) {
            checked(r, a.lo,
                    b.hi
                        + s->step
                              * (s->lanes ? LOOP_MOST_VECTOR / s->lanes
                                          : 1)); /* the loop ends behind its bound */
            define(r, s->var, a.lo, most(a.lo, b.hi - 1));
        }
        bool is_index = s->var.v && r->p->vars.at[s->var.v].type == TYPE_INDEX;
        if (s->kind == LSTMT_LET && is_index)
            define(r, s->var, a.lo, a.hi);
        if ((s->kind == LSTMT_VAR || s->kind == LSTMT_SET) && is_index)
            r->fits = false; /* it may grow with each iteration */
        block_ranges(r, &s->body);
        block_ranges(r, &s->orelse);
    }
}

/* The distance of the last element of a row, or of an intermediate image, from its first. */
enum { PITCH = 15 }; /* by which rows of intermediate images are longer, at most */
static void buffer_ranges(Ranges *r, const LBuffer *b)
{
    int64_t n = 1;
    if (b->kind == LBUF_INPUT || b->kind == LBUF_OUTPUT) {
        const LImage *im =
            b->kind == LBUF_INPUT ? &r->p->inputs.at[b->image] : &r->p->outputs.at[b->image];
        n = im->pixel_bytes;
    }
    for (int d = 0; d < b->n_dims; d++) {
        int64_t size = range_now(r, b->size[d]).hi;
        const bool last = d == b->n_dims - 1;
        if (b->kind == LBUF_TEMP || last)
            n = checked(r, 0, n * (most(size, 1) + (last ? PITCH : 0))).hi;
    }
}

bool corpus_fits_32(Arena *a, const LoopProgram *p, const int64_t *params)
{
    Ranges r = { .p = p, .params = params, .fits = true };
    r.var = ARENA_NEW_ARRAY(a, Range, p->vars.n);
    r.value = ARENA_NEW_ARRAY(a, Range, p->exprs.n);
    r.stamp_of = ARENA_NEW_ARRAY(a, uint32_t, p->exprs.n);
    for (uint32_t i = 0; i < p->vars.n; i++)
        r.var[i] = (Range){ 1, 0 };
    for (uint32_t i = 1; i < p->buffers.n; i++)
        buffer_ranges(&r, &p->buffers.at[i]);
    VEC_FOREACH (LFunction, f, &p->functions) {
        for (int axis = 0; axis < LOOP_MAX_AXES; axis++)
            range_now(&r, f->grid[axis]);
        block_ranges(&r, &f->body);
    }
    return r.fits;
}
