/* vm: the strip machine. It executes loop programs without a compiler: each loop over points is made into a list of
 * instructions once, and an instruction computes a strip of points by a kernel that was compiled with the library.
 * The bits are those of every target, since kernels call the functions of prelude/. docs/internals/vm.md. */
#ifndef TESSERA_VM_VM_H
#define TESSERA_VM_VM_H

#include "interp/interp.h"
#include "loop/loop.h"
#include "vm/vm_kernels.h"

typedef struct VmCode VmCode;

/* The sentence why a program is not executed, NULL when it is: kernels of GPUs, and loops that passes have made of
 * whole vectors. */
const char *tessi_vm_refuses(const LoopProgram *p);
/* Code for a sound program that is not refused; in the arena, as long as the program. */
VmCode *tessi_vm_compile(Arena *a, const LoopProgram *p, const VmKernels *k);
/* Why the code cannot be executed all the same; NULL: it can. */
const char *tessi_vm_lacks(const VmCode *code);
/* The instructions, one a line. */
void tessi_vm_print(const VmCode *code, Text *out);
/* Loops over points that are executed point by point, and why: one a line. For tests and the curious. */
void tessi_vm_print_scalar(const VmCode *code, Text *out);

/* What it does many times it mostly does for the points of strips. */
bool tessi_vm_is_in_strips(const VmCode *code);

/* Bytes of the intermediate images for these parameters; INT64_MAX when no machine has as many. */
int64_t tessi_vm_workspace_bytes(const VmCode *code, const int64_t *params);
/* Runs with so many threads (at least 1), with intermediate images in `workspace`, which is aligned to a cache line.
 * False with one sentence. */
bool tessi_vm_run(const VmCode *code, const InterpArgs *args, void *workspace, int threads,
                  Failure *f);

#endif
