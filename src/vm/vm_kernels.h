/* Kernels of the strip machine: what its instructions do, as functions over arrays that were compiled with the
 * library, once for each kind of processor. All of them call the functions of prelude/, so they give the bits that
 * generated code gives. */
#ifndef TESSERA_VM_VM_KERNELS_H
#define TESSERA_VM_VM_KERNELS_H

#include "base/scalar.h"

/* d[i] from a[i], b[i], c[i] for i < n; a scalar operand is read at [0]. `d` may be one of the operands, if elements
 * have as many bytes, but not overlap one. Any alignment. */
typedef void (*VmKernel)(void *d, const void *a, const void *b, const void *c, size_t n);
/* Elements `stride` bytes apart, to or from neighbours. */
typedef void (*VmMove)(void *d, const void *a, ptrdiff_t stride, size_t n);
/* d[i] at a + at[i], and the other way round: d + at[i] from a[i]. */
typedef void (*VmGather)(void *d, const void *a, const int64_t *at, size_t n);
/* d[i] = start + weight[0] * row[0][i] + weight[1] * row[1][i] ..., in this order; reals with fused multiply-adds. */
typedef void (*VmSum)(void *d, const void *const *row, const void *weight, uint32_t n_rows,
                      const void *start, size_t n);
/* Sorts the `count` values that lie `pitch` bytes apart, of each of n lanes, by total order. */
typedef void (*VmSort)(void *d, size_t pitch, size_t count, size_t n);

/* Forms: which operands are scalars. */
enum { VM_LANES = 0, VM_LAST = 1 };           /* of operators: none; the last */
enum { VM_FIRST_OF_3 = 1, VM_LAST_OF_3 = 2 }; /* of FMA: both may be */
enum { VM_SECOND = 1, VM_THIRD = 2 };         /* of SELECT: both may be */
enum { VM_WIDTHS = 4 };                       /* elements of 1, 2, 4, 8 bytes */

typedef struct VmKernels {
    const char *name; /* of the instruction set */
    VmKernel op[N_OPS][N_TYPES][2];
    VmKernel steps[N_TYPES][2][2]; /* max(min(a, b), c): [outer is max][inner is max] */
    VmKernel fma[N_TYPES][4], select[VM_WIDTHS][4];
    VmKernel cast[N_TYPES][N_TYPES], sat[N_TYPES][N_TYPES]; /* to, from */
    VmKernel round_to_f16, low_byte[N_TYPES];
    VmKernel copy[VM_WIDTHS], spread[VM_WIDTHS]; /* spread: a scalar to all lanes */
    VmKernel load_f16, store_f16, load_bool;     /* elements as they lie in images */
    VmKernel ramp;                               /* int64: a[0] + i * b[0] */
    VmKernel scale;                              /* int64: a[i] * b[0] + c[i] */
    VmMove pull[VM_WIDTHS], push[VM_WIDTHS];
    VmGather gather[VM_WIDTHS], scatter[VM_WIDTHS];
    VmGather add[N_TYPES],
        add_atomic[N_TYPES]; /* to elements, one after the other; may be the same */
    VmSum sum[N_TYPES];      /* NULL: not worth it here */
    VmSort sort[N_TYPES];
} VmKernels;

extern const VmKernels tessi_vm_kernels_any;
#if defined(__x86_64__) && defined(__GNUC__)
#define TESSI_VM_X86 1
extern const VmKernels tessi_vm_kernels_avx2, tessi_vm_kernels_avx512;
#endif

/* Those that suit this processor best. */
const VmKernels *tessi_vm_kernels(void);
/* Those of a name, if this processor can execute them; NULL: there are none, or it cannot. */
const VmKernels *tessi_vm_kernels_named(const char *name);

#endif
