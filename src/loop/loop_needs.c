/* What a function really needs: effects mark the variables and buffers their expressions use, those mark what
 * defines them, until nothing changes. Used to drop dead code and to pass only what is used. */
#include "loop/loop_passes.h"
#include "loop/pass.h"

typedef struct Marker {
    const LoopProgram *p;
    LoopNeeds *needs;
    Arena *arena;
    bool changed;
} Marker;

static void mark(Marker *m, bool *place)
{
    if (*place)
        return;
    m->changed = *place = true;
    VEC_PUSH(m->arena, &m->needs->marked, place);
}

static void mark_expr(Marker *m, LExprId id)
{
    PASS_PARTS (e, m->p, m->needs->seen, m->needs->stamp, id) {
        if (e->kind == LEXPR_VAR)
            mark(m, &m->needs->var[e->var.v]);
        if (e->kind == LEXPR_LOAD) {
            mark(m, &m->needs->buffer[e->buffer.v]);
            mark(m, &m->needs->loaded[e->buffer.v]);
        }
    }
}

static bool mark_block(Marker *m, const LBlock *block);

/* Stores into a LOCAL count only when something reads it. */
static bool has_effect(Marker *m, LBufferId b)
{
    return m->p->buffers.at[b.v].kind != LBUF_LOCAL || m->needs->buffer[b.v];
}

/* True when the statement has an effect. */
static bool mark_stmt(Marker *m, const LStmt *s)
{
    switch (s->kind) {
    case LSTMT_FOR:
        if (!mark_block(m, &s->body))
            return false;
        mark_expr(m, s->a);
        mark_expr(m, s->b);
        return true;
    case LSTMT_IF: {
        bool body = mark_block(m, &s->body), orelse = mark_block(m, &s->orelse);
        if (body || orelse)
            mark_expr(m, s->a);
        return body || orelse;
    }
    case LSTMT_LET:
    case LSTMT_VAR:
    case LSTMT_SET:
        if (!m->needs->var[s->var.v])
            return false;
        mark_expr(m, s->a);
        if (s->b.v)
            mark_expr(m, s->b);
        return true;
    case LSTMT_STORE:
    case LSTMT_ADD:
    case LSTMT_MOVE:
    case LSTMT_SHIFT:
    case LSTMT_PRODUCT:
    case LSTMT_SORT:
        if (!has_effect(m, s->buffer))
            return false;
        mark(m, &m->needs->buffer[s->buffer.v]);
        mark(m, &m->needs->stored[s->buffer.v]);
        if (s->other.v) {
            mark(m, &m->needs->buffer[s->other.v]);
            mark(m, &m->needs->loaded[s->other.v]);
        }
        mark_expr(m, s->a);
        if (s->b.v)
            mark_expr(m, s->b);
        for (int i = 0; i < s->n_index; i++)
            mark_expr(m, s->index[i]);
        return true;
    case LSTMT_PREFETCH: /* where it stands its place is known, but it is no reason for a loop */
        for (int i = 0; i < s->n_index; i++)
            mark_expr(m, s->index[i]);
        return false;
    case LSTMT_LOCAL:
    case LSTMT_COMMENT: return false;
    }
    return false;
}

/* Backwards, so that one round is nearly always enough: definitions stand before uses. */
static bool mark_block(Marker *m, const LBlock *block)
{
    bool effect = false;
    for (uint32_t i = block->n; i-- > 0;)
        effect = mark_stmt(m, block->at[i]) || effect;
    return effect;
}

/* Tables for the program as it is now, empty. */
static void clear(const LoopProgram *p, Arena *a, LoopNeeds *needs)
{
    if (p->vars.n > needs->n_vars || p->buffers.n > needs->n_buffers) {
        needs->n_vars = p->vars.n;
        needs->n_buffers = p->buffers.n;
        needs->var = ARENA_NEW_ARRAY(a, bool, p->vars.n);
        needs->buffer = ARENA_NEW_ARRAY(a, bool, p->buffers.n);
        needs->stored = ARENA_NEW_ARRAY(a, bool, p->buffers.n);
        needs->loaded = ARENA_NEW_ARRAY(a, bool, p->buffers.n);
        needs->marked.n = 0;
    }
    if (p->exprs.n > needs->n_exprs) { /* with room for those to come */
        needs->n_exprs = p->exprs.n + p->exprs.n / 2;
        needs->seen = ARENA_NEW_ARRAY(a, uint32_t, needs->n_exprs);
        needs->stamp = 0;
    }
    VEC_FOREACH (bool *, place, &needs->marked)
        **place = false;
    needs->marked.n = 0;
    needs->stamp++;
}

void tessi_loop_needs(const LoopProgram *p, const LFunction *f, Arena *a, LoopNeeds *needs)
{
    Marker m = { .p = p, .needs = needs, .arena = a };
    clear(p, a, needs);
    do {
        m.changed = false;
        mark_block(&m, &f->body);
    } while (m.changed);
}

bool tessi_loop_is_needed(const LoopNeeds *needs, const LStmt *s)
{
    switch (s->kind) {
    case LSTMT_LET: return needs->var[s->var.v] || s->flags & LLET_KEPT;
    case LSTMT_VAR:
    case LSTMT_SET: return needs->var[s->var.v];
    case LSTMT_PREFETCH:
    case LSTMT_LOCAL: return needs->buffer[s->buffer.v];
    case LSTMT_STORE:
    case LSTMT_ADD:
    case LSTMT_MOVE:
    case LSTMT_SHIFT:
    case LSTMT_PRODUCT:
    case LSTMT_SORT: return needs->stored[s->buffer.v];
    default: return true;
    }
}

/* ---- Images moved by vectors ----------------------------------------------------------------- */

static void note_moved(const LoopProgram *p, LBufferId id, bool *moved)
{
    const LBuffer *b = &p->buffers.at[id.v];
    if (b->kind == LBUF_INPUT)
        moved[b->image] = true;
    if (b->kind == LBUF_OUTPUT)
        moved[p->inputs.n + b->image] = true;
}

void tessi_loop_moved(const LoopProgram *p, bool *moved)
{
    VEC_FOREACH (const LFunction, f, &p->functions)
        PASS_FOREACH (s, &f->body)
            if (s->kind == LSTMT_MOVE) {
                note_moved(p, s->buffer, moved);
                note_moved(p, s->other, moved);
            }
}
