/* The pass `chains`: sums over one window that choose by the same truth values, as a sum of values and that of their
 * weights do where points need not be valid, go tap by tap, side by side. One sum behind the other, each truth value
 * waits in a register from one sum to the next, and processors have few registers for those: a window of nine taps
 * writes them to memory and reads them again. Each sum keeps the order of its own terms. */
#include "loop/loop_passes.h"
#include "loop/pass.h"

enum {
    TRUTHS_AT_HAND = 6
}; /* truth values that wait in registers without harm; AVX-512 has 7 for them */
enum { TERM_DEPTH = 4 }; /* how deep in a term its truth value is looked for */

/* What is added up by one LET. */
typedef struct Chain {
    LStmt *let;
    VEC(LExprId) links;   /* sums from the whole one down to the first term */
    VEC(LVarId) truths;   /* of each link's term: the truth value that it reads, if any */
    LExprId so_far;       /* while it is written: the name of the sum before */
    struct Chain *beside; /* the next of those that go side by side with it */
    bool follows;         /* it is not the first of these */
} Chain;

typedef struct Chains {
    LoopProgram *p;
    Arena *scratch;
    LStmt **let;   /* by LVarId: of the run of LETs in hand, those that are not written yet */
    LStmt **named; /* by LExprId: the LET of a link that has one */
    Chain **
        chain; /* by LVarId: that which has it as a sum; of a truth value, the first whose last term reads it */
    bool *waits;    /* by LVarId: it is written where it is asked for */
    uint32_t *seen; /* by LExprId */
    uint32_t stamp, n_vars;
    VEC(Chain *) chains;
    LBlock out;
} Chains;

static LStmt *let_of(const Chains *c, LExprId id)
{
    const LExpr *e = tessi_lexpr(c->p, id);
    return e->kind == LEXPR_VAR && e->var.v < c->n_vars ? c->let[e->var.v] : NULL;
}

/* ---- Finding ----------------------------------------------------------------------------------------------------- */

static bool is_sum(const Chains *c, LExprId id)
{
    const LStmt *let = let_of(c, id);
    const LExpr *e = tessi_lexpr(c->p, let ? let->a : id);
    return e->kind == LEXPR_OP && (e->op == OP_FMA || e->op == OP_ADD);
}

/* Which argument is the sum before; -1: there is none. */
static int before(const Chains *c, const LExpr *e)
{
    if (e->kind != LEXPR_OP || !e->lanes)
        return -1;
    if (e->op == OP_FMA)
        return 2;
    return e->op != OP_ADD ? -1 : is_sum(c, e->arg[0]) ? 0 : is_sum(c, e->arg[1]) ? 1 : -1;
}

/* A vector of truth values that has a name, in a term. */
static LVarId truth_in(const Chains *c, LExprId id, int depth)
{
    const LExpr *e = tessi_lexpr(c->p, id);
    LVarId truth = { 0 };
    if (e->kind == LEXPR_VAR && e->type == TYPE_BOOL && e->lanes && let_of(c, id))
        return e->var;
    for (int i = 0; i < e->n_args && e->kind != LEXPR_LOAD && depth && !truth.v; i++)
        truth = truth_in(c, e->arg[i], depth - 1);
    return truth;
}

static LVarId truth_of(const Chains *c, const LExpr *link)
{
    const int sum = before(c, link);
    LVarId truth = { 0 };
    for (int i = 0; i < link->n_args && !truth.v; i++)
        if (i != sum)
            truth = truth_in(c, link->arg[i], TERM_DEPTH);
    return truth;
}

static void find_links(Chains *c, LStmt *let)
{
    Chain *chain = ARENA_NEW(c->scratch, Chain);
    chain->let = let;
    LExprId at = let->a;
    c->named[at.v] = let;
    for (;;) {
        const LExpr *e = tessi_lexpr(c->p, at);
        const int sum = before(c, e);
        VEC_PUSH(c->scratch, &chain->links, at);
        VEC_PUSH(c->scratch, &chain->truths, truth_of(c, e));
        if (sum < 0)
            break;
        at = e->arg[sum];
        LStmt *named = let_of(c, at);
        if (named && c->chain[named->var.v])
            break; /* a part of another chain */
        if (named) {
            at = named->a;
            c->named[at.v] = named;
            c->chain[named->var.v] = chain;
        }
    }
    c->chain[let->var.v] = chain;
    VEC_PUSH(c->scratch, &c->chains, chain);
}

static bool share_truths(const Chain *a, const Chain *b)
{
    uint32_t n = 0;
    for (uint32_t i = 0; a->links.n == b->links.n && i < a->links.n; i++)
        n += a->truths.at[i].v && a->truths.at[i].v == b->truths.at[i].v;
    return n > TRUTHS_AT_HAND;
}

/* What a value is made of waits until it is asked for. */
static void let_wait(Chains *c, LExprId id)
{
    const LStmt *let = let_of(c, id);
    if (!id.v || c->seen[id.v] == c->stamp)
        return;
    c->seen[id.v] = c->stamp;
    if (let) {
        c->waits[let->var.v] = true;
        let_wait(c, let->a);
    }
    const LExpr *e = tessi_lexpr(c->p, id);
    for (int i = 0; i < e->n_args; i++)
        let_wait(c, e->arg[i]);
}

/* Puts chains side by side; false: none. */
static bool pair_chains(Chains *c)
{
    bool any = false;
    for (uint32_t i = c->chains.n; i--;) { /* they were found from the last to the first */
        Chain *chain = c->chains.at[i];
        const LVarId key = chain->truths.at[0];
        Chain *other = c->chain[key.v];
        if (!key.v)
            continue;
        if (!other) {
            c->chain[key.v] = chain;
        } else if (share_truths(other, chain)) {
            chain->beside = other->beside;
            other->beside = chain;
            chain->follows = any = true;
            let_wait(c, other->let->a);
            let_wait(c, chain->let->a);
        }
    }
    return any;
}

/* ---- Writing ----------------------------------------------------------------------------------------------------- */

static void write_let(Chains *c, LStmt *let);

static void write_what_it_reads(Chains *c, LExprId id)
{
    if (!id.v || c->seen[id.v] == c->stamp)
        return;
    c->seen[id.v] = c->stamp;
    LStmt *let = let_of(c, id);
    if (let)
        write_let(c, let);
    const LExpr *e = tessi_lexpr(c->p, id);
    for (int i = 0; i < e->n_args; i++)
        write_what_it_reads(c, e->arg[i]);
}

static void write_let(Chains *c, LStmt *let)
{
    write_what_it_reads(c, let->a);
    c->let[let->var.v] = NULL;
    VEC_PUSH(c->p->arena, &c->out, let);
}

static void write_link(Chains *c, Chain *chain, uint32_t i)
{
    const LExprId id = chain->links.at[i];
    LExpr e = *tessi_lexpr(c->p, id);
    const int sum = i + 1 < chain->links.n ? before(c, &e) : -1;
    LStmt *let = c->named[id.v];
    for (int k = 0; k < e.n_args; k++)
        if (k != sum)
            write_what_it_reads(c, e.arg[k]);
    if (sum >= 0)
        e.arg[sum] = chain->so_far;
    const LExprId value = sum >= 0 ? tessi_lexpr_with_args(c->p, &e, e.arg) : id;
    if (!let) {
        chain->so_far = tessi_pass_let(c->p, &c->out, c->p->vars.at[chain->let->var.v].name, value);
        return;
    }
    if (c->let[let->var.v]) { /* else a term of a chain beside asked for it */
        let->a = value;
        c->let[let->var.v] = NULL;
        VEC_PUSH(c->p->arena, &c->out, let);
    }
    chain->so_far = tessi_lexpr_var(c->p, let->var);
}

static void write_side_by_side(Chains *c, Chain *first)
{
    for (uint32_t i = first->links.n; i--;)
        for (Chain *chain = first; chain; chain = chain->beside)
            write_link(c, chain, i);
}

/* ---- Runs of LETs ------------------------------------------------------------------------------------------------ */

static void write_run(Chains *c, LStmt *const *run, uint32_t n)
{
    c->stamp++;
    for (uint32_t i = 0; i < n; i++) {
        const LVarId v = run[i]->var;
        Chain *chain = c->chain[v.v];
        if (!c->let[v.v])
            continue;
        if (chain && chain->let == run[i] && chain->beside && !chain->follows)
            write_side_by_side(c, chain);
        else if (!c->waits[v.v])
            write_let(c, run[i]);
    }
    for (uint32_t i = 0; i < n; i++)
        if (c->let[run[i]->var.v])
            write_let(c, run[i]);
}

/* Writes a run of LETs to the new block. */
static void visit_run(Chains *c, LStmt *const *run, uint32_t n)
{
    c->chains.n = 0;
    c->stamp++;
    for (uint32_t i = 0; i < n; i++)
        c->let[run[i]->var.v] = run[i];
    for (uint32_t i = n; i--;)
        if (!c->chain[run[i]->var.v] && before(c, tessi_lexpr(c->p, run[i]->a)) >= 0)
            find_links(c, run[i]);
    const bool any = pair_chains(c);
    if (any)
        write_run(c, run, n);
    for (uint32_t i = 0; i < n; i++) {
        const LVarId v = run[i]->var;
        c->let[v.v] = NULL;
        c->chain[v.v] = NULL;
        c->waits[v.v] = false;
        if (!any)
            VEC_PUSH(c->p->arena, &c->out, run[i]);
    }
    VEC_FOREACH (Chain *, chain, &c->chains)
        VEC_FOREACH (LExprId, link, &(*chain)->links)
            c->named[link->v] = NULL;
}

static void visit(Chains *c, LBlock *block, bool in_vectors)
{
    for (uint32_t i = 0; i < block->n; i++) {
        LStmt *s = block->at[i];
        visit(c, &s->body, in_vectors || (s->kind == LSTMT_FOR && s->lanes));
        visit(c, &s->orelse, in_vectors);
    }
    if (!in_vectors)
        return;
    c->out = (LBlock){ 0 };
    for (uint32_t i = 0; i < block->n;) {
        uint32_t n = 0;
        while (i + n < block->n && block->at[i + n]->kind == LSTMT_LET)
            n++;
        if (n > TRUTHS_AT_HAND)
            visit_run(c, block->at + i, n);
        else
            for (uint32_t k = 0; k < (n ? n : 1); k++)
                VEC_PUSH(c->p->arena, &c->out, block->at[i + k]);
        i += n ? n : 1;
    }
    *block = c->out;
}

void tessi_loop_chains(LoopProgram *p)
{
    Arena *a = tessi_scratch_open(p->arena);
    const uint32_t n_vars = p->vars.n, n_exprs = p->exprs.n; /* those of the program as it comes */
    Chains c = { .p = p,
                 .scratch = a,
                 .let = ARENA_NEW_ARRAY(a, LStmt *, n_vars),
                 .named = ARENA_NEW_ARRAY(a, LStmt *, n_exprs),
                 .chain = ARENA_NEW_ARRAY(a, Chain *, n_vars),
                 .waits = ARENA_NEW_ARRAY(a, bool, n_vars),
                 .seen = ARENA_NEW_ARRAY(a, uint32_t, n_exprs),
                 .n_vars = n_vars };
    VEC_FOREACH (LFunction, f, &p->functions)
        if (!f->is_kernel)
            visit(&c, &f->body, false);
    tessi_scratch_close(a);
}
