/* Those that need not do anything. */
#include "gpu/stub/cuda.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"
#define F(name, symbol, arguments)                       \
    __attribute__((weak)) CUresult stub_##name arguments \
    {                                                    \
        return CUDA_OK;                                  \
    }
#define O F
#include "rt/cuda_driver.def"
