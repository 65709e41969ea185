/* Which kernels this processor can execute. */
#include <string.h>

#include "vm/vm_kernels.h"

const VmKernels *tessi_vm_kernels_named(const char *name)
{
#ifdef TESSI_VM_X86
    __builtin_cpu_init();
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    const bool avx512 = avx2 && __builtin_cpu_supports("avx512f")
                        && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq")
                        && __builtin_cpu_supports("avx512vl");
    if (avx512 && strcmp(name, tessi_vm_kernels_avx512.name) == 0)
        return &tessi_vm_kernels_avx512;
    if (avx2 && strcmp(name, tessi_vm_kernels_avx2.name) == 0)
        return &tessi_vm_kernels_avx2;
#endif
    return strcmp(name, tessi_vm_kernels_any.name) == 0 ? &tessi_vm_kernels_any : NULL;
}

const VmKernels *tessi_vm_kernels(void)
{
    static const char *const best_first[] = { "avx512", "avx2", "any" };
    const VmKernels *k = NULL;
    for (int i = 0; !k; i++)
        k = tessi_vm_kernels_named(best_first[i]);
    return k;
}
