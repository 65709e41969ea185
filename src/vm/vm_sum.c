/* Sums of rows with weights in the strip machine's compiler. a + b is fma(1, a, b), a - b is fma(-1, b, a), and
 * w * a is fma(w, a, -0), with the same bits: so a chain of such operations, in the order in which it is computed, is
 * one instruction, whose accumulators stay in registers. */
#include "vm/vm_compile.h"

enum { MOST_TAPS = 256 };

typedef struct Sum {
    VmCompile *c;
    ScalarType type;
    uint32_t n, n_operations;
    LExprId row[MOST_TAPS]; /* from the last to the first */
    uint32_t weight[MOST_TAPS];
    uint32_t start; /* scalar slot */
    bool done;
} Sum;

static uint32_t number(Sum *s, double x)
{
    return tessi_vm_constant(s->c, s->type, tessi_value_real(x));
}

/* One operand is a scalar, the other is not. */
static bool is_weighted(VmCompile *c, const LExpr *e)
{
    return tessi_vm_varies(c, e->arg[0]) != tessi_vm_varies(c, e->arg[1]);
}

/* The node continues a chain: nobody else wants its value. */
static bool continues(Sum *s, LExprId id)
{
    const LExpr *e = tessi_lexpr(s->c->p, id);
    if (e->kind != LEXPR_OP || s->c->value[id.v].stamp != s->c->stamp || s->c->value[id.v].used != 1
        || !tessi_vm_varies(s->c, id))
        return false;
    if (e->op == OP_MUL || e->op == OP_FMA)
        return is_weighted(s->c, e);
    return e->op == OP_ADD || (e->op == OP_SUB && tessi_vm_varies(s->c, e->arg[1]));
}

static void add_tap(Sum *s, uint32_t weight, LExprId row)
{
    s->weight[s->n] = weight;
    s->row[s->n++] = row;
}

/* The innermost value of the chain. */
static void end(Sum *s, LExprId id)
{
    if (tessi_vm_varies(s->c, id)) {
        add_tap(s, number(s, 1), id);
        s->start = number(s, -0.0);
    } else {
        s->start = tessi_vm_scalar(s->c, id);
    }
    s->done = true;
}

static void go_on(Sum *s, LExprId id)
{
    if (!continues(s, id))
        end(s, id);
}

/* Takes one operation; the rest of the chain, or none when it has ended. */
static LExprId take(Sum *s, LExprId id)
{
    const LExpr *e = tessi_lexpr(s->c->p, id);
    LExprId rest = { 0 };
    s->n_operations++;
    const bool first_moves = tessi_vm_varies(s->c, e->arg[0]);
    if (e->op == OP_MUL || e->op == OP_FMA) {
        add_tap(s, tessi_vm_scalar(s->c, e->arg[first_moves]), e->arg[!first_moves]);
        rest = e->op == OP_FMA ? e->arg[2] : rest;
        if (e->op == OP_MUL) {
            s->start = number(s, -0.0);
            s->done = true;
        }
    } else if (e->op == OP_SUB) {
        add_tap(s, number(s, -1), e->arg[1]);
        rest = e->arg[0];
    } else {
        const bool second = (!continues(s, e->arg[0]) && continues(s, e->arg[1])) || !first_moves;
        LExprId row = e->arg[!second];
        rest = e->arg[second];
        if (!tessi_vm_varies(s->c, row)) { /* the scalar is where it starts */
            const LExprId other = row;
            row = rest;
            rest = other;
        }
        add_tap(s, number(s, 1), row);
    }
    if (!s->done)
        go_on(s, rest);
    return s->done ? (LExprId){ 0 } : rest;
}

static bool is_possible(VmCompile *c, LExprId id)
{
    const LExpr *e = tessi_lexpr(c->p, id);
    if (!c->k->sum[e->type])
        return false;
    if (e->op == OP_FMA)
        return is_weighted(c, e);
    if (e->op == OP_MUL)
        return false;
    return (e->op == OP_ADD || e->op == OP_SUB) && tessi_vm_varies(c, e->arg[0])
           && tessi_vm_varies(c, e->arg[1]);
}

static uint32_t emit(Sum *s, uint32_t d)
{
    VmCompile *c = s->c;
    uint32_t slot[MOST_TAPS];
    for (uint32_t i = 0; i < s->n; i++)
        slot[i] = tessi_vm_strip(c, s->row[i], 0);
    d = d ? d : tessi_vm_strip_slot(c, tessi_vm_bytes(s->type));
    VmIns *ins = tessi_vm_emit(c, VM_SUM);
    ins->strip = 1;
    ins->type = (uint8_t)s->type;
    ins->d = d;
    ins->a = s->n;
    ins->b = s->start;
    ins->imm = c->code->taps.n;
    ins->by.sum = c->k->sum[s->type];
    for (uint32_t i = s->n; i-- > 0;) {
        VEC_PUSH(c->a, &c->code->taps, ((VmTap){ slot[i], s->weight[i] }));
        tessi_vm_done(c, s->row[i]);
    }
    if (c->code->most_taps < s->n)
        c->code->most_taps = s->n;
    return d;
}

uint32_t tessi_vm_as_sum(VmCompile *c, LExprId id, uint32_t d)
{
    Sum s = { .c = c, .type = tessi_lexpr(c->p, id)->type };
    if (!is_possible(c, id))
        return 0;
    LExprId rest = take(&s, id);
    while (rest.v && s.n + 2 < MOST_TAPS)
        rest = take(&s, rest);
    if (rest.v)
        end(&s, rest);
    if (s.n_operations < 2)
        return 0;
    return emit(&s, d);
}
