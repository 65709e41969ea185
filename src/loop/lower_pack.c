/* Two integers of 16 bits in a word. The points of a register tile that stand side by side compute the same from
 * neighbouring elements; where their integers need 16 bits at most, one operation on words of 32 bits does both.
 *
 * A word V stands for the values a and b of a pair as V = a + bias + (b + bias) * 65536, modulo 2^32. Sums,
 * differences and products with constants are those of words, whatever the signs; borrows cancel out. Where halves
 * are looked at by themselves, the bias makes both of them numbers from 0 to 65535.
 *
 * Pairs are found from the results down, all of one height in the expressions before those below: so all pairs that
 * are wanted of values x0, x1, x2, ... side by side are known together, and every second is made of the halves of
 * its neighbours. What has no form for pairs is computed for each point by itself, from halves. */
#include "loop/lower_pack.h"

#define EACH 0x10001 /* the same in both halves */
enum { WORTH = 2 /* operations, for halves to be taken apart */ };

typedef enum PairKind {
    PAIR_APART,   /* each as it is */
    PAIR_OPEN,    /* each by itself, from what its arguments become */
    PAIR_OP,      /* one operation on pairs */
    PAIR_SHIFTED, /* the halves of its neighbours */
    PAIR_LOAD,    /* elements in words */
    PAIR_DOT      /* each by itself: sums of products of bytes with constants */
} PairKind;

typedef struct Packed {
    LExprId e; /* none: not yet */
    int64_t bias;
    bool high; /* the values are in the upper bytes of the halves */
} Packed;

typedef struct Pair {
    LExprId e[2];
    PairKind kind;
    bool wanted; /* as a word */
    bool walked;
    uint32_t next; /* of the same height */
    uint32_t left, right;
    Packed value;
} Pair;

typedef struct Pack {
    Lower *l;
    const Words *words;
    Fact *fact; /* by LExprId */
    uint32_t n;
    VEC(Pair) pairs; /* at[0] unused */
    IdMap map;
    uint32_t *level; /* by height: the first pair */
    uint32_t n_levels;
    uint32_t *begins, *ends; /* by LExprId: the pair in hand of which it is the left, the right */
    LExprId *apart;          /* by LExprId: what it has become by itself */
} Pack;

/* ---- Words ----------------------------------------------------------------------------------- */

static LExprId word(const Pack *k, int64_t i)
{
    return tessi_lexpr_const(k->l->p, TYPE_U32, tessi_value_int((int64_t)(uint32_t)i));
}

static LExprId op2(const Pack *k, Op op, LExprId a, LExprId b)
{
    return tessi_l_op(k->l, op, a, b);
}

static LExprId bytes(const Pack *k, LExprId a, LExprId b, uint32_t digits)
{
    return tessi_lexpr_op(k->l->p, OP_BYTES, a, b, word(k, digits));
}

static LExprId plus(const Pack *k, LExprId a, int64_t i)
{
    return (uint32_t)i ? op2(k, OP_ADD, a, word(k, i)) : a;
}

static LExprId as_word(const Pack *k, LExprId a)
{
    return tessi_lexpr_cast(k->l->p, TYPE_U32, a);
}

/* ---- Pairs ----------------------------------------------------------------------------------- */

static bool is_choice(const LExpr *e)
{
    return e->kind == LEXPR_OP && (e->op == OP_MIN || e->op == OP_MAX);
}

typedef struct Wanted {
    const Pack *k;
    LExprId a, b;
} Wanted;

static bool same_pair(void *user, uint32_t id)
{
    const Wanted *w = user;
    const Pair *p = &w->k->pairs.at[id];
    return p->e[0].v == w->a.v && p->e[1].v == w->b.v;
}

static uint32_t find(const Pack *k, LExprId a, LExprId b)
{
    Wanted w = { k, a, b };
    return tessi_idmap_find(&k->map, tessi_hash_u64(a.v, b.v), same_pair, &w);
}

static uint32_t want(Pack *k, LExprId a, LExprId b, bool as_word)
{
    Arena *arena = k->l->arena;
    uint32_t id = find(k, a, b);
    if (!id) {
        const uint32_t x = k->fact[a.v].height, y = k->fact[b.v].height, h = x > y ? x : y;
        Pair p = { .e = { a, b }, .next = k->level[h] };
        VEC_PUSH(arena, &k->pairs, p);
        id = k->level[h] = k->pairs.n - 1;
        tessi_idmap_add(arena, &k->map, tessi_hash_u64(a.v, b.v), id);
    }
    k->pairs.at[id].wanted = k->pairs.at[id].wanted || as_word;
    return id;
}

static bool is_alike(const LExpr *a, const LExpr *b)
{
    return a->kind == b->kind && a->type == b->type && a->op == b->op && a->ref == b->ref
           && a->n_args == b->n_args;
}

/* The argument that must be the same constant for both points; -1. */
static int constant_arg(const Pack *k, const LExpr *e)
{
    int64_t c;
    if (e->kind != LEXPR_OP
        || (e->op != OP_MUL && e->op != OP_SHL && e->op != OP_SHR && e->op != OP_DIV))
        return -1;
    return tessi_fact_constant(k->l, e->arg[1], &c) ? 1 : 0;
}

/* Sums of a few products of bytes: more of them take longer than pairs do, on another pipe. */
static bool are_dots(const Pack *k, const Pair *p)
{
    enum { MOST = 6 };
    Dots a, b;
    return tessi_dots_find(k->l, k->words, k->fact, p->e[0], &a)
           && tessi_dots_find(k->l, k->words, k->fact, p->e[1], &b) && a.n + b.n <= MOST;
}

/* One bias makes numbers of all four of what is chosen from. */
static bool has_bias(const Pack *k, const LExpr *a, const LExpr *b)
{
    const Fact x = tessi_fact_around(&k->fact[a->arg[0].v], &k->fact[a->arg[1].v]);
    const Fact y = tessi_fact_around(&k->fact[b->arg[0].v], &k->fact[b->arg[1].v]);
    const Fact all = tessi_fact_around(&x, &y);
    return tessi_fact_fits(&all);
}

static PairKind kind_of(const Pack *k, const Pair *p)
{
    const LExpr *a = tessi_lexpr(k->l->p, p->e[0]), *b = tessi_lexpr(k->l->p, p->e[1]);
    if (p->wanted
        && (tessi_in_word(k->l, k->words, p->e[0]) || tessi_in_word(k->l, k->words, p->e[1]))
        && a->kind == LEXPR_LOAD && b->kind == LEXPR_LOAD && a->type == b->type)
        return PAIR_LOAD;
    if (p->e[0].v == p->e[1].v || !is_alike(a, b) || tessi_known(k->l, p->e[0])->let
        || tessi_known(k->l, p->e[1])->let
        || (a->kind != LEXPR_OP && a->kind != LEXPR_CAST && a->kind != LEXPR_SAT))
        return PAIR_APART;
    const Fact *x = &k->fact[p->e[0].v], *y = &k->fact[p->e[1].v];
    const int c = constant_arg(k, a);
    const bool same = c < 0 || a->arg[c].v == b->arg[c].v;
    const bool worth = x->weight >= WORTH && y->weight >= WORTH;
    if (!p->wanted && worth && are_dots(k, p))
        return PAIR_DOT;
    if (is_choice(a) && !has_bias(k, a, b))
        return PAIR_OPEN;
    return x->can && y->can && same && (p->wanted || worth) ? PAIR_OP : PAIR_OPEN;
}

static bool is_power(int64_t d, int64_t *log)
{
    for (*log = 0; (int64_t)1 << *log < d; (*log)++)
        ;
    return (int64_t)1 << *log == d;
}

/* A quotient is computed from the halves of what is divided. */
static bool takes_halves(const Pack *k, const LExpr *e)
{
    int64_t d = 0, log;
    return e->kind == LEXPR_OP && e->op == OP_DIV && tessi_fact_constant(k->l, e->arg[1], &d)
           && !is_power(d, &log);
}

static void want_arguments(Pack *k, const Pair p)
{
    const LExpr a = *tessi_lexpr(k->l->p, p.e[0]), b = *tessi_lexpr(k->l->p, p.e[1]);
    const int c = p.kind == PAIR_OP ? constant_arg(k, &a) : -1;
    for (int i = 0; i < a.n_args; i++)
        if (i != c)
            want(k, a.arg[i], b.arg[i], p.kind == PAIR_OP && !takes_halves(k, &a));
}

/* The pairs of a height are all there: links those that overlap. */
static void link(Pack *k, uint32_t first)
{
    for (uint32_t id = first; id; id = k->pairs.at[id].next) {
        const Pair *p = &k->pairs.at[id];
        if (p->kind != PAIR_OP && p->kind != PAIR_LOAD)
            continue;
        k->begins[p->e[0].v] = id;
        k->ends[p->e[1].v] = id;
    }
    for (uint32_t id = first; id; id = k->pairs.at[id].next) {
        Pair *p = &k->pairs.at[id];
        if (p->kind != PAIR_OP && p->kind != PAIR_LOAD)
            continue;
        const uint32_t left = k->ends[p->e[0].v], right = k->begins[p->e[1].v];
        p->left = left && k->begins[p->e[0].v] == id ? left : 0;
        p->right = right && k->ends[p->e[1].v] == id ? right : 0;
    }
}

/* From an end of a chain on, every second pair is made of its neighbours. */
static void walk(Pack *k, uint32_t id)
{
    for (bool shifted = false; id && !k->pairs.at[id].walked; id = k->pairs.at[id].right) {
        Pair *p = &k->pairs.at[id];
        p->walked = true;
        shifted = shifted && p->right && k->pairs.at[p->right].kind == PAIR_OP
                  && !k->pairs.at[p->right].walked;
        if (shifted)
            p->kind = PAIR_SHIFTED;
        shifted = !shifted;
    }
}

/* Elements of two words, where the pairs beside it are each in one. */
static void shift_load(Pack *k, Pair *p)
{
    const InWord *a = tessi_in_word(k->l, k->words, p->e[0]),
                 *b = tessi_in_word(k->l, k->words, p->e[1]);
    if (!a || !b || a->word.v == b->word.v || !p->left || !p->right)
        return;
    const Pair *left = &k->pairs.at[p->left], *right = &k->pairs.at[p->right];
    const InWord *first = tessi_in_word(k->l, k->words, left->e[0]),
                 *last = tessi_in_word(k->l, k->words, right->e[1]);
    if (first && last && first->word.v == a->word.v && last->word.v == b->word.v)
        p->kind = PAIR_SHIFTED;
}

static void settle(Pack *k, uint32_t first)
{
    for (uint32_t id = first; id; id = k->pairs.at[id].next)
        k->pairs.at[id].kind = kind_of(k, &k->pairs.at[id]);
    link(k, first);
    for (uint32_t id = first; id; id = k->pairs.at[id].next) {
        Pair *p = &k->pairs.at[id];
        if (p->kind == PAIR_LOAD)
            shift_load(k, p);
        else if (p->kind == PAIR_OP && !p->left)
            walk(k, id);
    }
    for (uint32_t id = first; id; id = k->pairs.at[id].next)
        if (k->pairs.at[id].kind == PAIR_OP || k->pairs.at[id].kind == PAIR_OPEN)
            want_arguments(k, k->pairs.at[id]);
}

/* ---- Values ---------------------------------------------------------------------------------- */

static Packed value(Pack *k, uint32_t id);
static LExprId alone(Pack *k, uint32_t id, int side);

static Fact range(const Pack *k, uint32_t id)
{
    const Pair *p = &k->pairs.at[id];
    return tessi_fact_around(&k->fact[p->e[0].v], &k->fact[p->e[1].v]);
}

/* With values in the low bytes of the halves. */
static Packed low(const Pack *k, Packed v)
{
    if (v.high)
        v.e = bytes(k, v.e, word(k, 0), 0x4341);
    v.high = false;
    return v;
}

static Packed with_bias(const Pack *k, Packed v, int64_t bias)
{
    v = low(k, v);
    v.e = plus(k, v.e, (bias - v.bias) * EACH);
    v.bias = bias;
    return v;
}

/* With halves that are numbers. */
static Packed halves(Pack *k, uint32_t id)
{
    const Packed v = value(k, id);
    const Fact f = range(k, id);
    if (v.high || (f.lo + v.bias >= 0 && f.hi + v.bias < LANE))
        return v;
    return with_bias(k, v, f.lo < 0 ? -f.lo : 0);
}

/* Two pairs so, with one bias and in the low bytes. */
static void both_halves(Pack *k, uint32_t left, uint32_t right, Packed v[2])
{
    v[0] = low(k, halves(k, left));
    v[1] = low(k, halves(k, right));
    if (v[0].bias == v[1].bias)
        return;
    const int64_t a = range(k, left).lo, b = range(k, right).lo, lo = a < b ? a : b;
    for (int i = 0; i < 2; i++)
        v[i] = with_bias(k, v[i], lo < 0 ? -lo : 0);
}

static Packed shifted(Pack *k, const Pair *p)
{
    Packed v[2];
    both_halves(k, p->left, p->right, v);
    return (Packed){ .e = bytes(k, v[0].e, v[1].e, 0x5432), .bias = v[0].bias };
}

/* Two values by themselves, in one word. */
static Packed joined(Pack *k, uint32_t id, LExprId a, LExprId b)
{
    int64_t x, y;
    if (tessi_fact_constant(k->l, a, &x) && tessi_fact_constant(k->l, b, &y))
        return (Packed){ .e = word(k, x + y * LANE) };
    a = as_word(k, a);
    b = as_word(k, b);
    if (range(k, id).lo >= 0)
        return (Packed){ .e = bytes(k, a, b, 0x5410) };
    return (Packed){ .e = op2(k, OP_ADD, a, op2(k, OP_SHL, b, word(k, 16))) };
}

/* The elements of a word, those with a sign raised so that none is negative. */
static LExprId raised(const Pack *k, LExprId e, ScalarType t)
{
    const LExprId by = word(k, t == TYPE_I8 ? 0x80808080 : 0x80008000);
    return t == TYPE_I8 || t == TYPE_I16 ? op2(k, OP_XOR, e, by) : e;
}

static Packed loaded(Pack *k, const Pair *p)
{
    const ScalarType t = tessi_lexpr(k->l->p, p->e[0])->type;
    const int64_t bias = t == TYPE_I8 ? 128 : t == TYPE_I16 ? LANE / 2 : 0;
    const bool is_byte = tessi_type_info(t)->bytes == 1;
    LExprId e[2];
    uint32_t at[2], zero = 8; /* the number of a byte that is 0 */
    for (uint32_t i = 0; i < 2; i++) {
        const InWord *in = tessi_in_word(k->l, k->words, p->e[i]);
        e[i] = in ? raised(k, in->word, t) : plus(k, as_word(k, p->e[i]), bias);
        at[i] = 4 * i + (in ? in->element * (is_byte ? 1u : 2u) : 0);
        if (!in && is_byte)
            zero = 4 * i + 1;
    }
    if (e[0].v == e[1].v) {
        if (!is_byte && at[0] == 0 && at[1] == 6)
            return (Packed){ .e = e[0], .bias = bias };
        at[1] -= 4;
        e[1] = word(k, 0);
        zero = 4;
    }
    const uint32_t upper[2] = { is_byte ? zero & 7 : at[0] + 1, is_byte ? zero & 7 : at[1] + 1 };
    LExprId v = bytes(k, e[0], e[1], at[0] | upper[0] << 4 | at[1] << 8 | upper[1] << 12);
    if (is_byte && zero == 8)
        v = op2(k, OP_AND, v, word(k, 0xff00ff));
    return (Packed){ .e = v, .bias = bias };
}

/* a and b by d, in one word. */
static Packed divided(const Pack *k, LExprId a, LExprId b, int64_t most, int64_t d)
{
    int64_t factor = 0;
    int shift = 0;
    tessi_fact_quotient(most, d, &factor, &shift);
    a = op2(k, OP_MUL, a, word(k, factor));
    b = op2(k, OP_MUL, b, word(k, factor));
    if (shift == 16)
        return (Packed){ .e = bytes(k, a, b, 0x7632) };
    return (Packed){ .e = op2(k, OP_AND, bytes(k, a, b, 0x7733), word(k, 0xff00ff)) };
}

static Packed shifted_down(const Pack *k, Packed v, int64_t by)
{
    if (by == 0)
        return v;
    if (by == 8)
        return (Packed){ .e = v.e, .high = true };
    LExprId e = op2(k, OP_SHR, v.e, word(k, by));
    return (Packed){ .e = op2(k, OP_AND, e, word(k, ((LANE - 1) >> by) * EACH)) };
}

/* A sum of products of bytes, as a word. */
static LExprId summed(const Pack *k, LExprId id)
{
    Dots dots;
    tessi_dots_find(k->l, k->words, k->fact, id, &dots);
    return tessi_dots_sum(k->l, &dots);
}

static Packed quotients(Pack *k, uint32_t id, int64_t d)
{
    const PairKind kind = k->pairs.at[id].kind;
    const int64_t most = range(k, id).hi;
    const LExprId *e = k->pairs.at[id].e;
    if (kind == PAIR_DOT)
        return divided(k, summed(k, e[0]), summed(k, e[1]), most, d);
    if (kind != PAIR_OP && kind != PAIR_SHIFTED && kind != PAIR_LOAD)
        return divided(k, as_word(k, alone(k, id, 0)), as_word(k, alone(k, id, 1)), most, d);
    const Packed v = with_bias(k, value(k, id), 0);
    return divided(k, op2(k, OP_AND, v.e, word(k, LANE - 1)), op2(k, OP_SHR, v.e, word(k, 16)),
                   most, d);
}

/* The lesser or the greater of halves that are numbers, with one bias. */
static Packed chosen(Pack *k, Op op, uint32_t x_id, uint32_t y_id)
{
    Packed v[2];
    both_halves(k, x_id, y_id, v);
    const Op two = op == OP_MIN ? OP_MIN_HALVES : OP_MAX_HALVES;
    return (Packed){ .e = op2(k, two, v[0].e, v[1].e), .bias = v[0].bias };
}

static Packed computed(Pack *k, uint32_t id)
{
    const LExpr a = *tessi_lexpr(k->l->p, k->pairs.at[id].e[0]);
    const LExpr b = *tessi_lexpr(k->l->p, k->pairs.at[id].e[1]);
    const int c = constant_arg(k, &a);
    const int first = c == 0 ? 1 : 0;
    const uint32_t x_id = find(k, a.arg[first], b.arg[first]);
    int64_t by = 0, log;
    if (takes_halves(k, &a)) {
        tessi_fact_constant(k->l, a.arg[1], &by);
        return quotients(k, x_id, by);
    }
    Packed x = value(k, x_id), y;
    if (a.kind == LEXPR_CAST)
        return x;
    x = low(k, x);
    if (c >= 0)
        tessi_fact_constant(k->l, a.arg[c], &by);
    switch (a.op) {
    case OP_SHL: by = (int64_t)1 << by; /* fall through */
    case OP_MUL: return (Packed){ .e = op2(k, OP_MUL, x.e, word(k, by)), .bias = x.bias * by };
    case OP_SHR: return shifted_down(k, with_bias(k, x, 0), by);
    case OP_DIV: is_power(by, &log); return shifted_down(k, with_bias(k, x, 0), log);
    case OP_NEG: return (Packed){ .e = op2(k, OP_SUB, word(k, 0), x.e), .bias = -x.bias };
    default: break;
    }
    const uint32_t y_id = find(k, a.arg[1], b.arg[1]);
    if (is_choice(&a))
        return chosen(k, a.op, x_id, y_id);
    y = low(k, value(k, y_id));
    const bool add = a.op == OP_ADD;
    return (Packed){ .e = op2(k, a.op, x.e, y.e), .bias = add ? x.bias + y.bias : x.bias - y.bias };
}

static Packed value(Pack *k, uint32_t id)
{
    if (k->pairs.at[id].value.e.v)
        return k->pairs.at[id].value;
    const Pair p = k->pairs.at[id];
    Packed v = { 0 };
    switch (p.kind) {
    case PAIR_APART:
    case PAIR_DOT:
    case PAIR_OPEN: v = joined(k, id, alone(k, id, 0), alone(k, id, 1)); break;
    case PAIR_LOAD: v = loaded(k, &p); break;
    case PAIR_SHIFTED: v = shifted(k, &p); break;
    case PAIR_OP: v = computed(k, id); break;
    }
    k->pairs.at[id].value = v;
    return v;
}

/* Half of a word, as a value of type t. */
static LExprId half(Pack *k, uint32_t id, int side, ScalarType t)
{
    const Packed v = low(k, halves(k, id));
    LExprId e = side ? op2(k, OP_SHR, v.e, word(k, 16)) : op2(k, OP_AND, v.e, word(k, LANE - 1));
    if (v.bias) {
        e = tessi_lexpr_cast(k->l->p, TYPE_I32, e);
        e = op2(k, OP_SUB, e, tessi_lexpr_const(k->l->p, TYPE_I32, tessi_value_int(v.bias)));
    }
    return tessi_lexpr_cast(k->l->p, t, e);
}

static LExprId opened(Pack *k, const Pair *p, int side)
{
    const LExpr a = *tessi_lexpr(k->l->p, p->e[0]), b = *tessi_lexpr(k->l->p, p->e[1]);
    LExprId arg[3] = { { 0 } };
    for (int i = 0; i < a.n_args; i++)
        arg[i] = alone(k, find(k, a.arg[i], b.arg[i]), side);
    if (a.kind == LEXPR_SAT)
        return tessi_lexpr_sat(k->l->p, a.type, arg[0]);
    if (a.kind == LEXPR_CAST)
        return tessi_lexpr_cast(k->l->p, a.ref == LCAST_ROUNDS_TO_F16 ? TYPE_F16 : a.type, arg[0]);
    return tessi_lexpr_op(k->l->p, a.op, arg[0], arg[1], arg[2]);
}

/* The value of one point of a pair; of an expression in several pairs always the same. */
static LExprId alone(Pack *k, uint32_t id, int side)
{
    const Pair p = k->pairs.at[id];
    const LExprId e = p.e[side];
    if (k->apart[e.v].v)
        return k->apart[e.v];
    LExprId v = e;
    if (p.kind == PAIR_OP || p.kind == PAIR_SHIFTED)
        v = half(k, id, side, tessi_lexpr(k->l->p, e)->type);
    else if (p.kind == PAIR_OPEN)
        v = opened(k, &p, side);
    else if (p.kind == PAIR_DOT)
        v = tessi_lexpr_cast(k->l->p, tessi_lexpr(k->l->p, e)->type, summed(k, e));
    k->apart[e.v] = v;
    return v;
}

/* ---- Tiles ----------------------------------------------------------------------------------- */

static Pack *new_pack(Lower *l, const Words *words, const LExprId *root, uint32_t n)
{
    Pack *k = ARENA_NEW(l->arena, Pack);
    const LExprList list = tessi_scope_reach(l, root, n);
    uint32_t most = 0;
    *k = (Pack){ .l = l, .words = words, .n = l->p->exprs.n };
    k->fact = ARENA_NEW_ARRAY(l->arena, Fact, k->n);
    k->begins = ARENA_NEW_ARRAY(l->arena, uint32_t, k->n);
    k->ends = ARENA_NEW_ARRAY(l->arena, uint32_t, k->n);
    k->apart = ARENA_NEW_ARRAY(l->arena, LExprId, k->n);
    VEC_PUSH(l->arena, &k->pairs, (Pair){ 0 });
    for (uint32_t i = 0; i < list.n; i++) {
        k->fact[list.at[i].v] = tessi_fact_of(k->l, k->fact, list.at[i]);
        most = k->fact[list.at[i].v].height > most ? k->fact[list.at[i].v].height : most;
    }
    k->level = ARENA_NEW_ARRAY(l->arena, uint32_t, most + 1);
    k->n_levels = most + 1;
    return k;
}

/* A word of elements as they are stored: from one pair of 16 bits, or from two pairs of bytes. */
static LExprId stored(Pack *k, const uint32_t *pair, bool is_byte)
{
    Packed v[2];
    for (int i = 0; i < 1 + is_byte; i++) {
        v[i] = halves(k, pair[i]);
        if (v[i].bias) { /* a sign is the upper bit */
            v[i] = with_bias(k, v[i], LANE / 2);
            v[i].e = op2(k, OP_XOR, v[i].e, word(k, (int64_t)(LANE / 2) * EACH));
        }
    }
    if (!is_byte)
        return low(k, v[0]).e;
    return bytes(k, v[0].e, v[1].e, (v[0].high ? 0x31 : 0x20) | (v[1].high ? 0x7500 : 0x6400));
}

/* The cell of value i at a point. */
static LExprId *cell(const PackTile *t, uint32_t i, uint32_t row, uint32_t column)
{
    return &t->value[(size_t)t->stride * (row * t->columns + column) + i];
}

static void give_back(Pack *k, const PackTile *t, uint32_t i, uint32_t row, const uint32_t *pair)
{
    const uint32_t n = t->columns / 2;
    if (!t->bytes[i]) {
        for (uint32_t c = 0; c < t->columns; c++)
            *cell(t, i, row, c) = alone(k, pair[c / 2], c % 2);
        return;
    }
    const uint32_t step = 2 / t->bytes[i];
    for (uint32_t w = 0; w < n / step; w++)
        *cell(t, i, row, w) = stored(k, pair + (size_t)w * step, step == 2);
    for (uint32_t c = n / step; c < t->columns; c++)
        *cell(t, i, row, c) = word(k, 0);
}

void tessi_pack_tile(Lower *l, const PackTile *t)
{
    Words words;
    const uint32_t points = t->rows * t->columns, n = t->columns / 2;
    tessi_words_take(l, t->value, t->stride * points, t->at, &words);
    Pack *k = new_pack(l, &words, t->value, t->stride * points);
    uint32_t *pair = ARENA_NEW_ARRAY(l->arena, uint32_t, (size_t)t->n * t->rows * n);
    uint32_t *next = pair;
    for (uint32_t i = 0; i < t->n; i++)
        for (uint32_t r = 0; r < t->rows; r++)
            for (uint32_t c = 0; c < n; c++)
                *next++ =
                    want(k, *cell(t, i, r, 2 * c), *cell(t, i, r, 2 * c + 1), t->bytes[i] > 0);
    for (uint32_t h = k->n_levels; h-- > 0;)
        settle(k, k->level[h]);
    for (uint32_t i = 0; i < t->n; i++)
        for (uint32_t r = 0; r < t->rows; r++)
            give_back(k, t, i, r, pair + (size_t)(i * t->rows + r) * n);
    tessi_words_define(l, &words, t->value, t->stride * points);
}
