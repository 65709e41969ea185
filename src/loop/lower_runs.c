/* Minima, maxima and exact sums of windows that overlap, in the straight-line code of a thread. Windows beside each
 * other along a row or a column, one step apart, have most of their values in common:
 *
 *   values      a b c d e f g h
 *   windows    [a b c d e]          all of them have the values of the middle, c d e (of three windows of five);
 *                [b c d e f]        what stands before it is taken from the middle backwards, what stands after it
 *                  [c d e f g]      forwards, and a window is one of these with one of those
 *
 * which are n + 2 r operations for r windows of n values, and not n r (van Herk, Gil and Werman). Of minima and maxima
 * integers alone: the order makes no difference to them, whereas reals have NaNs and two zeros. Of sums those that are
 * exact in any order: integers as wide as a register, and reals that are narrow integers and add up to no more than
 * their digits hold. */
#include "loop/loop_private.h"
#include "loop/lower_vectors.h"

enum { LEAST_VALUES = 4 }; /* of a window */

typedef struct Chain {
    Op op;
    VEC(LExprId) value;
    struct Chain *before, *after; /* the same one step further */
    struct Chain *other_end;      /* of the first of a run the last, of the last the first */
    struct Chain *beside;         /* the next that begins with the same value */
    bool written;
    LExprId root;
} Chain;

typedef struct Runs {
    Lower *l;
    Arena *scratch;
    uint32_t n; /* expressions when it began */
    bool *seen;
    uint32_t *uses; /* by LExprId: by how many expressions */
    Chain **chain;  /* by LExprId; NULL: none begins there */
    LExprId *now;   /* by LExprId: what it is written as */
    /* by LExprId: chains that begin with the value, the first and the last of them */
    Chain **first, **last;
    VEC(Chain *) all;
} Runs;

static bool is_choice(const LExpr *e)
{
    return e->kind == LEXPR_OP && (e->op == OP_MIN || e->op == OP_MAX) && !e->lanes
           && e->type != TYPE_INDEX && tessi_is_integer(e->type);
}

static bool is_sum(const LExpr *e)
{
    enum { REGISTER_BYTES = 4 };
    return e->kind == LEXPR_OP && e->op == OP_ADD && !e->lanes && e->type != TYPE_INDEX
           && (tessi_is_real(e->type) || tessi_type_info(e->type)->bytes >= REGISTER_BYTES);
}

/* ---- Finding ----------------------------------------------------------------------------------------------------- */

static void count_uses(Runs *r, LExprId id)
{
    const LExpr e = *tessi_lexpr(r->l->p, id);
    if (!id.v || r->uses[id.v]++ || e.kind == LEXPR_LOAD)
        return;
    for (int i = 0; i < e.n_args; i++)
        count_uses(r, e.arg[i]);
}

/* What others take too is one value: networks that sort would be computed anew for each of their ends. */
static void add_values(Runs *r, Chain *chain, LExprId id)
{
    const LExpr e = *tessi_lexpr(r->l->p, id);
    const bool shared = id.v != chain->root.v && r->uses[id.v] > 1;
    if ((!is_choice(&e) && !is_sum(&e)) || e.op != chain->op || shared) {
        VEC_PUSH(r->scratch, &chain->value, id);
        return;
    }
    r->seen[id.v] = true;
    add_values(r, chain, e.arg[0]);
    add_values(r, chain, e.arg[1]);
}

/* The sum is the same in any order: of reals, if all are integers of 8 or 16 bits and no sum of them is rounded. */
static bool is_exact(const Runs *r, const Chain *chain, ScalarType type)
{
    const uint32_t bytes = tessi_type_info(type)->bytes, digits = bytes == 8   ? 53
                                                                  : bytes == 4 ? 24
                                                                               : 11;
    const uint64_t most = (uint64_t)1 << digits;
    uint64_t sum = 0;
    VEC_FOREACH (const LExprId, id, &chain->value) {
        const LExpr *e = tessi_lexpr(r->l->p, *id);
        const ScalarType from = e->kind == LEXPR_CAST && !e->lanes && !e->ref
                                    ? tessi_lexpr(r->l->p, e->arg[0])->type
                                    : type;
        if (!tessi_is_integer(from) || from == TYPE_INDEX || tessi_type_info(from)->bytes > 2)
            return false;
        sum += (uint64_t)1 << 8 * tessi_type_info(from)->bytes;
    }
    return sum <= most;
}

static void find(Runs *r, LExprId id);

/* In what a sum adds up that is no window; its parts are none either. */
static void find_in_sum(Runs *r, LExprId id)
{
    const LExpr e = *tessi_lexpr(r->l->p, id);
    if (!is_sum(&e)) {
        find(r, id);
        return;
    }
    if (r->seen[id.v])
        return;
    r->seen[id.v] = true;
    find_in_sum(r, e.arg[0]);
    find_in_sum(r, e.arg[1]);
}

static void find(Runs *r, LExprId id)
{
    const LExpr e = *tessi_lexpr(r->l->p, id);
    if (!id.v || r->seen[id.v] || e.kind == LEXPR_LOAD)
        return;
    r->seen[id.v] = true;
    if (is_choice(&e) || is_sum(&e)) {
        Chain *chain = ARENA_NEW(r->scratch, Chain);
        chain->op = e.op;
        chain->root = id;
        chain->other_end = chain;
        add_values(r, chain, id);
        const bool window = chain->value.n >= LEAST_VALUES
                            && (tessi_is_integer(e.type) || is_exact(r, chain, e.type));
        if (window) {
            r->chain[id.v] = chain;
            VEC_PUSH(r->scratch, &r->all, chain);
        }
        VEC_FOREACH (const LExprId, value, &chain->value)
            if (is_sum(&e) && !window)
                find_in_sum(r, *value);
            else
                find(r, *value);
        return;
    }
    for (int i = 0; i < e.n_args; i++)
        find(r, e.arg[i]);
}

static bool is_next(const Chain *a, const Chain *b)
{
    /* small images turned over and over go round in a circle */
    bool next = a->op == b->op && a->value.n == b->value.n && !b->before && a->other_end != b;
    for (uint32_t i = 0; next && i + 1 < a->value.n; i++)
        next = a->value.at[i + 1].v == b->value.at[i].v;
    return next;
}

/* What follows a window begins with its second value. */
static void find_next(Runs *r)
{
    r->first = ARENA_NEW_ARRAY(r->scratch, Chain *, r->n);
    r->last = ARENA_NEW_ARRAY(r->scratch, Chain *, r->n);
    VEC_FOREACH (Chain *, b, &r->all) {
        const uint32_t key = (*b)->value.at[0].v;
        if (r->last[key])
            r->last[key]->beside = *b;
        else
            r->first[key] = *b;
        r->last[key] = *b;
    }
    VEC_FOREACH (Chain *, each, &r->all) {
        Chain *a = *each, *b = r->first[a->value.at[1].v];
        while (b && !is_next(a, b))
            b = b->beside;
        if (!b)
            continue;
        Chain *head = a->other_end, *tail = b->other_end;
        a->after = b;
        b->before = a;
        head->other_end = tail;
        tail->other_end = head;
    }
}

/* ---- Writing ----------------------------------------------------------------------------------------------------- */

static LExprId write(Runs *r, LExprId id);

static LExprId value_at(Runs *r, const Chain *chain, uint32_t i)
{
    for (; i >= chain->value.n; i--)
        chain = chain->after;
    return write(r, chain->value.at[i]);
}

/* Windows of a run from one on, which have some value in common. */
static void write_run(Runs *r, Chain *first, uint32_t windows)
{
    Lower *l = r->l;
    const uint32_t n = first->value.n;
    LExprId *before = ARENA_NEW_ARRAY(r->scratch, LExprId, windows);
    LExprId middle = value_at(r, first, windows - 1), after = { 0 };
    for (uint32_t i = windows; i < n; i++)
        middle = tessi_l_op(l, first->op, middle, value_at(r, first, i));
    before[windows - 1] = middle;
    for (uint32_t i = windows - 1; i-- > 0;)
        before[i] = tessi_l_op(l, first->op, value_at(r, first, i), before[i + 1]);
    Chain *chain = first;
    for (uint32_t i = 0; i < windows; i++, chain = chain->after) {
        if (i) {
            LExprId value = write(r, chain->value.at[n - 1]);
            after = after.v ? tessi_l_op(l, first->op, after, value) : value;
        }
        chain->written = true;
        r->now[chain->root.v] = after.v ? tessi_l_op(l, first->op, before[i], after) : before[i];
    }
}

static void write_chain(Runs *r, Chain *chain)
{
    while (chain->before && !chain->before->written)
        chain = chain->before;
    uint32_t windows = 1;
    for (const Chain *c = chain; c->after && windows < chain->value.n; c = c->after)
        windows++;
    write_run(r, chain, windows);
}

static LExprId write(Runs *r, LExprId id)
{
    if (id.v >= r->n || !r->seen[id.v])
        return id;
    Chain *chain = r->chain[id.v];
    while (chain && (chain->before || chain->after) && !r->now[id.v].v)
        write_chain(r, chain);
    if (r->now[id.v].v)
        return r->now[id.v];
    const LExpr e = *tessi_lexpr(r->l->p, id);
    LExprId arg[LOOP_MAX_DIMS] = { { 0 } };
    bool same = true;
    for (int i = 0; i < e.n_args; i++) {
        arg[i] = write(r, e.arg[i]);
        same = same && arg[i].v == e.arg[i].v;
    }
    return r->now[id.v] = same ? id : tessi_lexpr_with_args(r->l->p, &e, arg);
}

void tessi_share_runs(Lower *l, LExprId *value, uint32_t n)
{
    Arena *a = tessi_scratch_open(l->arena);
    Runs r = { .l = l, .scratch = a, .n = l->p->exprs.n };
    r.seen = ARENA_NEW_ARRAY(a, bool, r.n);
    r.uses = ARENA_NEW_ARRAY(a, uint32_t, r.n);
    r.chain = ARENA_NEW_ARRAY(a, Chain *, r.n);
    r.now = ARENA_NEW_ARRAY(a, LExprId, r.n);
    for (uint32_t i = 0; i < n; i++)
        count_uses(&r, value[i]);
    for (uint32_t i = 0; i < n; i++)
        find(&r, value[i]);
    find_next(&r);
    bool any = false;
    VEC_FOREACH (Chain *, chain, &r.all)
        any = any || (*chain)->after;
    for (uint32_t i = 0; i < n && any; i++)
        value[i] = write(&r, value[i]);
    tessi_scratch_close(a);
}
