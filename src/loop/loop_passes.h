/* loop_passes: what is done with loops as a whole: text, checks, passes, and what a function needs. */
#ifndef TESSERA_LOOP_LOOP_PASSES_H
#define TESSERA_LOOP_LOOP_PASSES_H

#include "loop/loop.h"

/* ---- loop_print.c, loop_read.c, loop_verify.c, loop_simplify.c, loop_interleave.c ------------ */
void tessi_loop_print(const LoopProgram *p, Text *out);
LoopProgram *tessi_loop_read(Arena *a, Diags *d, const char *text, size_t n);
const char *tessi_loop_verify(const LoopProgram *p); /* NULL when sound, else one sentence */
void tessi_loop_simplify(LoopProgram *p);            /* dead LETs, empty loops, IFs of constants */
/* Vector loops of functions that compute several rows a step go down the rows that they read, all results side by
 * side. */
void tessi_loop_interleave(LoopProgram *p);
/* Statements that differ in values which do not change while they run get these by LETs before them: then they
 * differ in their surroundings alone, and are printed once (loop_same.h). */
void tessi_loop_share(LoopProgram *p);

/* Vector loops of CPUs (loop/vector.h). */
void tessi_loop_channels_side_by_side(LoopProgram *p);
void tessi_loop_sampled(LoopProgram *p);
void tessi_loop_turn(LoopProgram *p);
void tessi_loop_dots(LoopProgram *p);
void tessi_loop_slide(LoopProgram *p);
void tessi_loop_pairs(LoopProgram *p);
void tessi_loop_lanes(LoopProgram *p);
void tessi_loop_near(LoopProgram *p);
void tessi_loop_both(LoopProgram *p);
void tessi_loop_rows(LoopProgram *p);
void tessi_loop_late(LoopProgram *p);
void tessi_loop_chains(LoopProgram *p);

/* A pass: loops in, loops out, the same pixels. passes.def lists them in order; the end of the list has no name. */
typedef struct LoopPass {
    const char *name;
    void (*run)(LoopProgram *p);
} LoopPass;
const LoopPass *tessi_loop_passes(void);

/* What a function really needs, by backward propagation from its effects: variables whose value reaches a store to
 * memory, a condition or a bound, and LOCAL buffers that are read by such. Everything else may be left out. */
typedef struct LoopNeeds {
    bool *var;    /* by LVarId */
    bool *buffer; /* by LBufferId; TEMP, INPUT, OUTPUT, TABLE: accessed at all */
    bool *stored; /* by LBufferId: stored, added to or sorted */
    bool *loaded; /* by LBufferId: loaded or moved from */
    /* So that many functions are asked about in turn: what the one before marked, and the expressions that were
     * looked at. */
    VEC(bool *) marked;
    uint32_t *seen, stamp, n_vars, n_buffers, n_exprs;
} LoopNeeds;
/* `needs` starts as zeros; its memory is used again. */
void tessi_loop_needs(const LoopProgram *p, const LFunction *f, Arena *a, LoopNeeds *needs);
/* The statement, which is no loop and no branch, does something that is needed. */
bool tessi_loop_is_needed(const LoopNeeds *needs, const LStmt *s);
/* Marks the inputs, then the outputs of which elements are moved together (LSTMT_MOVE): their rows have to be
 * aligned where kernels rely on it, and those of no other image. */
void tessi_loop_moved(const LoopProgram *p, bool *moved);

#endif
