/* What the strip machine's compiler asks about loops: whether their points may be computed side by side, what they
 * store to, and where values are used last. */
#include "loop/pass.h"
#include "vm/vm_compile.h"

/* ---- Independence ------------------------------------------------------------------------------ */

typedef struct Look {
    VmCompile *c;
    const LStmt *loop;
    const char *fault;
} Look;
enum { LOADED = 1, STORED = 2, ADDED = 4, INNER = 8 };

/* What was found out about the buffer in this look. */
static uint8_t *touched(Look *l, LBufferId b)
{
    VmTouched *t = &l->c->touched[b.v];
    if (t->stamp != l->c->look_stamp) {
        *t = (VmTouched){ l->c->look_stamp, 0 };
        VEC_PUSH(l->c->a, &l->c->touched_buffers, b);
    }
    return &t->how;
}

/* The index is the loop's variable, so that each point has an element of its own. */
static bool names_point(const Look *l, const LStmt *s)
{
    for (int d = 0; d < s->n_index; d++) {
        const LExpr *e = tessi_lexpr(l->c->p, s->index[d]);
        if (e->kind == LEXPR_VAR && e->var.v == l->loop->var.v)
            return true;
    }
    return false;
}

static void look_at_stmt(Look *l, const LStmt *s)
{
    PASS_STMT_PARTS (e, l->c->p, l->c->looked_at, l->c->look_stamp, s)
        if (e->kind == LEXPR_LOAD)
            *touched(l, e->buffer) |= LOADED;
    switch (s->kind) {
    case LSTMT_LET:
    case LSTMT_VAR: l->c->declared[s->var.v] = l->c->look_stamp; break;
    case LSTMT_SET:
        if (l->c->declared[s->var.v] != l->c->look_stamp)
            l->fault = "what one point computes the next one uses";
        break;
    case LSTMT_STORE:
        *touched(l, s->buffer) |= STORED;
        if (!(*touched(l, s->buffer) & INNER) && !names_point(l, s))
            l->fault = "points may store to one place";
        break;
    case LSTMT_ADD:
        *touched(l, s->buffer) |= ADDED;
        if (tessi_is_real(l->c->p->buffers.at[s->buffer.v].type))
            l->fault = "sums of reals depend on the order";
        break;
    case LSTMT_LOCAL: *touched(l, s->buffer) |= INNER; break;
    case LSTMT_FOR:
        if (s->flags & LFOR_SIMD)
            l->fault = "a loop over points stands in it";
        break;
    case LSTMT_MOVE: l->fault = "it moves lines"; break;
    default: break;
    }
}

const char *tessi_vm_dependent(VmCompile *c, const LStmt *loop)
{
    Look l = { .c = c, .loop = loop };
    c->look_stamp++;
    c->touched_buffers.n = 0;
    PASS_FOREACH (s, &loop->body)
        if (!l.fault)
            look_at_stmt(&l, s);
    for (uint32_t i = 0; i < c->touched_buffers.n && !l.fault; i++) {
        const uint8_t t = c->touched[c->touched_buffers.at[i].v].how;
        if (!(t & INNER) && (t & (STORED | ADDED)) && (t & LOADED))
            l.fault = "it reads what it stores to";
        if (!(t & INNER) && (t & STORED) && (t & ADDED))
            l.fault = "it stores to what it adds to";
    }
    return l.fault;
}

bool tessi_vm_has_points(VmCompile *c, const LBlock *block)
{
    for (uint32_t i = 0; i < block->n; i++) {
        const LStmt *s = block->at[i];
        if (s->kind == LSTMT_FOR && (s->flags & LFOR_SIMD || !tessi_vm_dependent(c, s)))
            return true;
        if (tessi_vm_has_points(c, &s->body) || tessi_vm_has_points(c, &s->orelse))
            return true;
    }
    return false;
}

void tessi_vm_note_stores(VmCompile *c, const LBlock *block)
{
    for (uint32_t i = 0; i < block->n; i++) {
        const LStmt *s = block->at[i];
        if (s->kind == LSTMT_STORE || s->kind == LSTMT_ADD || s->kind == LSTMT_SORT)
            c->stored[s->buffer.v] = c->strip_stamp;
        tessi_vm_note_stores(c, &s->body);
        tessi_vm_note_stores(c, &s->orelse);
    }
}

/* ---- Last uses --------------------------------------------------------------------------------- */

static void use_in(VmCompile *c, const LBlock *block)
{
    PASS_FOREACH (s, block) {
        PASS_STMT_PARTS (e, c->p, c->used_at, c->use_stamp, s)
            if (e->kind == LEXPR_VAR)
                c->last_use[e->var.v] = c->use_stamp;
        if (s->kind == LSTMT_SET || s->kind == LSTMT_LET || s->kind == LSTMT_VAR)
            c->last_use[s->var.v] = c->use_stamp;
    }
}

VmVars *tessi_vm_last_uses(VmCompile *c, const LBlock *block)
{
    VmVars *ends = ARENA_NEW_ARRAY(c->a, VmVars, block->n + 1);
    const uint32_t before = c->use_stamp;
    for (uint32_t i = 0; i < block->n; i++) {
        c->use_stamp++;
        use_in(c, &(LBlock){ .at = block->at + i, .n = 1 });
    }
    for (uint32_t i = 0; i < block->n; i++) {
        const LStmt *s = block->at[i];
        if (s->kind == LSTMT_LET || s->kind == LSTMT_VAR)
            VEC_PUSH(c->a, &ends[c->last_use[s->var.v] - before - 1], s->var);
    }
    return ends;
}

/* ---- What is in strips ------------------------------------------------------------------------- */

typedef struct Share {
    uint64_t strips, points; /* instructions of loops over strips, and of the innermost others */
} Share;

/* Of loop k and those inside, which stand behind it in the order in which they begin; gives the first behind them. */
static uint32_t count_share(const VmCode *code, uint32_t k, Share *share)
{
    const VmLoop *loop = &code->loops.at[k];
    const uint64_t n = loop->end - loop->body;
    uint32_t next = k + 1;
    bool is_inner = true;
    for (; next < code->loops.n && code->loops.at[next].body <= loop->end; is_inner = false)
        next = count_share(code, next, loop->strip ? &(Share){ 0 } : share);
    share->strips += loop->strip ? n : 0;
    share->points += !loop->strip && is_inner ? n : 0;
    return next;
}

bool tessi_vm_is_in_strips(const VmCode *code)
{
    for (uint32_t k = 0; k < code->loops.n;) {
        Share share = { 0 };
        k = count_share(code, k, &share);
        if (share.points > share.strips)
            return false;
    }
    VEC_FOREACH (const VmLoop, loop, &code->loops)
        if (loop->scalar)
            return false;
    return true;
}
