/* Kernels of the strip machine for processors with AVX-512 (F, BW, DQ, VL); cmake/sources.cmake has the flags. */
#include "vm/vm_kernels.h"
#ifdef TESSI_VM_X86
#define VM_TABLE tessi_vm_kernels_avx512
#define VM_NAME  "avx512"
#include "vm/vm_kernels_body.h"
#endif
