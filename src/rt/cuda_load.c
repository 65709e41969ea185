/* Finding the CUDA driver and NVRTC. */
#include "rt/cuda.h"
#include "rt/env.h"
#include "rt/library.h"
#include "tessera.h"

#include <stdio.h>

bool tessi_cuda_load_driver(CudaDriver *driver, Failure *f)
{
    static const char *const names[] = { "libcuda.so.1", NULL };
    static const RtSymbol symbols[] = {
#define F(name, symbol, arguments) { symbol, offsetof(CudaDriver, name), false },
#define O(name, symbol, arguments) { symbol, offsetof(CudaDriver, name), true },
#include "rt/cuda_driver.def"
#undef O
#undef F
    };
    const char *missing;
    if (tessi_library_load(names, symbols, sizeof symbols / sizeof *symbols, driver, &missing))
        return true;
    if (missing)
        return tessi_failf(f, TESS_ERROR_DEVICE,
                           "the NVIDIA driver here is too old: libcuda.so.1 has no %s", missing);
    return tessi_failf(f, TESS_ERROR_DEVICE,
                       "there is no NVIDIA driver here (libcuda.so.1), so nothing can run on CUDA");
}

/* The names under which NVRTC may be found, newest first: by the system's search, then in the toolkit's folder. */
enum { N_VERSIONS = 3, ROOM = 300 };
static const char *const versions[N_VERSIONS] = { "libnvrtc.so.13", "libnvrtc.so.12",
                                                  "libnvrtc.so.11.2" };

bool tessi_cuda_load_nvrtc(Nvrtc *nvrtc, Failure *f)
{
    static const RtSymbol symbols[] = {
#define F(name, symbol, arguments) { symbol, offsetof(Nvrtc, name), false },
#include "rt/cuda_nvrtc.def"
#undef F
    };
    const char *toolkit = tessi_env("CUDA_HOME");
    if (!toolkit)
        toolkit = tessi_env("CUDA_PATH");
    if (!toolkit)
        toolkit = "/usr/local/cuda";
    char paths[2 * N_VERSIONS][ROOM];
    const char *names[3 * N_VERSIONS + 1] = { NULL };
    for (int i = 0; i < N_VERSIONS; i++)
        names[i] = versions[i];
    for (int i = 0; i < 2 * N_VERSIONS; i++) {
        snprintf(paths[i], ROOM, "%.250s/%s/%s", toolkit, i % 2 ? "lib" : "lib64", versions[i / 2]);
        names[N_VERSIONS + i] = paths[i];
    }
    const char *missing;
    if (tessi_library_load(names, symbols, sizeof symbols / sizeof *symbols, nvrtc, &missing))
        return true;
    if (missing)
        return tessi_failf(f, TESS_ERROR_DEVICE, "the NVRTC library here is too old: it has no %s",
                           missing);
    return tessi_failf(f, TESS_ERROR_DEVICE,
                       "the compiler of CUDA is not here (libnvrtc.so.13, .12 or .11.2); it comes "
                       "with the CUDA toolkit");
}
