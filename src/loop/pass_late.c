/* The pass `late`: where a step over vectors stores several rows, the stores come last. Processors hold back loads
 * from places that agree in the low 12 bits with a store still on its way, and rows of images are often a multiple
 * of 4096 bytes apart. */
#include "loop/loop_passes.h"
#include "loop/vector.h"

enum { REGISTERS = 32 };

typedef struct Late {
    LoopProgram *p;
    uint32_t *loaded, *stored; /* by LBufferId: the stamp of the loop that does it */
    uint32_t *seen, stamp;     /* by LExprId */
    bool meets;                /* the loop in hand loads what it stores */
} Late;

/* Arrays of vectors are registers. */
static void touch(Late *l, uint32_t *table, LBufferId b)
{
    table[b.v] = l->stamp;
    l->meets = l->meets
               || (l->loaded[b.v] == l->stamp && l->stored[b.v] == l->stamp
                   && !l->p->buffers.at[b.v].lanes);
}

/* Nothing that the loop stores is loaded in it. */
static bool can_wait(Late *l, const LBlock *block)
{
    l->stamp++;
    l->meets = false;
    PASS_FOREACH (s, block) {
        PASS_STMT_PARTS (e, l->p, l->seen, l->stamp, s)
            if (e->kind == LEXPR_LOAD)
                touch(l, l->loaded, e->buffer);
        if (s->kind == LSTMT_STORE)
            touch(l, l->stored, s->buffer);
    }
    return !l->meets;
}

static bool is_store_of_row(const Late *l, const LStmt *s)
{
    return s->kind == LSTMT_STORE && !l->p->buffers.at[s->buffer.v].lanes;
}

/* Stores of one row stand side by side, those of several copies of it. */
static bool stores_rows(const Late *l, const LBlock *block)
{
    const LStmt *first = NULL;
    for (uint32_t i = 0; i < block->n; i++) {
        const LStmt *s = block->at[i];
        if (!is_store_of_row(l, s))
            continue;
        bool same = !first || first->buffer.v == s->buffer.v;
        for (int d = 0; first && same && d < s->n_index - 1; d++)
            same = first->index[d].v == s->index[d].v;
        if (!same)
            return true;
        first = s;
    }
    return false;
}

/* Nothing that stands behind the stores changes what they would store, nor where, nor stores itself. */
static bool is_calm(const Late *l, const LBlock *block, bool inside)
{
    for (uint32_t i = 0; i < block->n; i++) {
        const LStmt *s = block->at[i];
        const bool defines = s->kind == LSTMT_LET || s->kind == LSTMT_VAR
                             || (s->kind == LSTMT_SET && l->p->vars.at[s->var.v].lanes);
        const bool good = defines || s->kind == LSTMT_FOR || s->kind == LSTMT_IF
                          || s->kind == LSTMT_COMMENT || s->kind == LSTMT_PREFETCH
                          || (s->kind == LSTMT_STORE && !inside);
        if (!good || !is_calm(l, &s->body, true) || !is_calm(l, &s->orelse, true))
            return false;
    }
    return true;
}

static bool is_beside(const Late *l, const LStmt *a, const LStmt *b)
{
    const int64_t apart = tessi_store_apart(a);
    return tessi_store_apart(b) == apart && tessi_loop_same_pixels(l->p, a, b, apart);
}

/* Moves the first of the stores, and the others of the same pixels behind it. */
static void put_pixels(Late *l, LBlock *late, LBlock *out)
{
    uint32_t n = 0;
    LStmt *first = late->at[0];
    for (uint32_t i = 0; i < late->n; i++) {
        if (i == 0 || is_beside(l, first, late->at[i]))
            VEC_PUSH(l->p->arena, out, late->at[i]);
        else
            late->at[n++] = late->at[i];
    }
    late->n = n;
}

/* More than there are registers for, if all of them are held until the stores. */
static bool loads_much(Late *l, const LBlock *block)
{
    uint32_t n = 0;
    l->stamp++;
    for (uint32_t i = 0; i < block->n; i++) {
        const LStmt *s = block->at[i];
        if (s->kind == LSTMT_LET && l->p->vars.at[s->var.v].is_row)
            continue;
        PASS_STMT_PARTS (e, l->p, l->seen, l->stamp, s)
            n += e->kind == LEXPR_LOAD || e->kind == LEXPR_AT;
    }
    return n > REGISTERS;
}

static void put_off(Late *l, LBlock *block)
{
    LBlock out = { 0 }, late = { 0 };
    const bool much = loads_much(l, block);
    for (uint32_t i = 0; i < block->n; i++) {
        LStmt *s = block->at[i];
        if (!is_store_of_row(l, s)) {
            VEC_PUSH(l->p->arena, &out, s);
            continue;
        }
        s->a = tessi_pass_let(l->p, &out, l->p->buffers.at[s->buffer.v].name, s->a);
        if (much)
            out.at[out.n - 1]->flags |= LLET_HERE;
        VEC_PUSH(l->p->arena, &late, s);
    }
    while (late.n > 0)
        put_pixels(l, &late, &out);
    *block = out;
}

static void visit(Late *l, LBlock *block, bool in_vectors)
{
    if (in_vectors && stores_rows(l, block) && is_calm(l, block, false))
        put_off(l, block);
    for (uint32_t i = 0; i < block->n; i++) {
        LStmt *s = block->at[i];
        const bool vectors = s->kind == LSTMT_FOR && s->lanes && can_wait(l, &s->body);
        visit(l, &s->body, in_vectors || vectors);
        visit(l, &s->orelse, in_vectors);
    }
}

void tessi_loop_late(LoopProgram *p)
{
    Arena *a = tessi_scratch_open(p->arena);
    Late l = { .p = p,
               .loaded = ARENA_NEW_ARRAY(a, uint32_t, p->buffers.n),
               .stored = ARENA_NEW_ARRAY(a, uint32_t, p->buffers.n),
               .seen = ARENA_NEW_ARRAY(a, uint32_t, p->exprs.n) };
    VEC_FOREACH (LFunction, f, &p->functions)
        if (!f->is_kernel)
            visit(&l, &f->body, false);
    tessi_scratch_close(a);
}
