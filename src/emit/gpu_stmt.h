/* What the statements of kernels are besides those of C; all but the first do nothing outside of kernels. */
#ifndef TESSERA_EMIT_GPU_STMT_H
#define TESSERA_EMIT_GPU_STMT_H

#include "emit/c_private.h"

/* A loop of the grid or of the threads. */
void tessi_gpu_loop(CWriter *w, const LStmt *s, bool is_last);
/* Any other loop begins: when it runs threads, those of the iteration before must have finished. */
void tessi_gpu_enter_loop(CWriter *w, const LStmt *s);
/* Branches are alternatives: each begins with the threads as they were before all of them. */
typedef struct GpuBranches {
    bool threads_to_finish;
} GpuBranches;
GpuBranches tessi_gpu_enter_branches(CWriter *w, const LStmt *s);
void tessi_gpu_next_branch(CWriter *w, GpuBranches before, GpuBranches *after);
void tessi_gpu_leave_branches(CWriter *w, GpuBranches after);
/* Prints the shifts that stand together in a block from its statement i on; how many these are. */
uint32_t tessi_gpu_shifts(CWriter *w, const LBlock *block, uint32_t i);
/* Prints a product of matrices (LSTMT_PRODUCT). */
void tessi_gpu_product(CWriter *w, const LStmt *s);
/* The name of a stored type with which preludes make vectors: "uchar" of "uchar16". */
const char *tessi_gpu_vector_element(ScalarType t);
/* The LOCAL buffer is one that the threads of a block share. */
bool tessi_gpu_is_shared(const CWriter *w, LBufferId b);

#endif
