/* api: code for masks of any extent, which runs until that for the extents at hand is compiled. */
#ifndef TESSERA_API_GENERAL_H
#define TESSERA_API_GENERAL_H

#include "api/api.h"

/* Loops for masks of any extent, what these take as parameters behind those of the program, and how many; NULL
 * without a failure where there can be none with the same bits. */
LoopProgram *tessi_general_loops(const tess_program *p, Variant *v, int64_t **params, uint32_t *n,
                                 Failure *f);
bool tessi_has_transforms(const Plan *plan);
/* Makes the variant's entry, or has it made while general code stands in, as the options say; its text must be
 * there, and its lock be held. */
bool tessi_general_load(tess_program *p, Variant *v, Failure *f);
/* What this run calls; the variant's lock must be held. */
void tessi_general_take(const Variant *v, tess_args *a);
/* Waits for the thread. */
void tessi_general_forget(Variant *v);

#endif
