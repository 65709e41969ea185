/* The functions of the CUDA driver as a library of that name that needs no device: programs go all their way, and
 * every kernel is compiled, but nothing is computed. Found in the place of the driver by LD_LIBRARY_PATH. */
#ifndef TESSERA_TESTS_GPU_STUB_CUDA_H
#define TESSERA_TESTS_GPU_STUB_CUDA_H

#include "rt/cuda.h"

#define F(name, symbol, arguments) CUresult stub_##name arguments __asm__(symbol);
#define O                          F
#include "rt/cuda_driver.def"
#undef O
#undef F

#endif
