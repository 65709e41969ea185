/* The loop interpreter: did lowering keep the meaning? It executes a loop program as written and checks what no
 * printed program can: that every load and store is inside its buffer, that nothing is read before it was stored,
 * that index arithmetic does not overflow, and that the iterations of parallel and SIMD loops do not touch what
 * another one stores. */
#ifndef TESSERA_INTERP_LOOP_INTERP_H
#define TESSERA_INTERP_LOOP_INTERP_H

#include "interp/interp.h"
#include "loop/loop.h"

/* Runs a sound program (tessi_loop_verify). False with one sentence that names the function, the buffer and the
 * indices. */
bool tessi_interpret_loops(const LoopProgram *p, const InterpArgs *args, Failure *f);

#endif
