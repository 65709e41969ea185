/* Kernels of the strip machine for processors with AVX2 and fused multiply-adds; cmake/sources.cmake has the flags. */
#include "vm/vm_kernels.h"
#ifdef TESSI_VM_X86
#define VM_TABLE tessi_vm_kernels_avx2
#define VM_NAME  "avx2"
#include "vm/vm_kernels_body.h"
#endif
