/* What the tests on devices share. They need no test library, so that they are built wherever there is a device, and
 * take the target from TESSERA_TARGET: opencl (PoCL makes a device of any processor), or cuda. */
#ifndef TESSERA_TESTS_GPU_TEST_H
#define TESSERA_TESTS_GPU_TEST_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/backend.h"
#include "rt/device.h"
#include "tessera.h"

enum { SKIPPED = 77 };

#define EXPECT(condition)                                                           \
    do {                                                                            \
        if (!(condition)) {                                                         \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            exit(1);                                                                \
        }                                                                           \
    } while (0)
#define FAIL(...)                                       \
    do {                                                \
        fprintf(stderr, "%s:%d: ", __FILE__, __LINE__); \
        fprintf(stderr, __VA_ARGS__);                   \
        fputc('\n', stderr);                            \
        exit(1);                                        \
    } while (0)

static inline tess_target gpu_target(void)
{
    const char *wanted = getenv("TESSERA_TARGET");
    for (int t = 0; wanted && tess_target_name((tess_target)t); t++)
        if (tess_target_has_device((tess_target)t)
            && strcmp(tess_target_name((tess_target)t), wanted) == 0)
            return (tess_target)t;
    return TESS_TARGET_OPENCL;
}

/* For tess_options.cache: none for OpenCL, as PoCL would compile each kernel once more to have a binary of it. */
static inline const char *gpu_cache(void)
{
    return gpu_target() == TESS_TARGET_OPENCL ? "" : NULL;
}

static inline const BackendDevice *gpu_device(void)
{
    return tessi_backend_of(gpu_target())->device;
}

/* Has PoCL compile without optimisation, which takes two thirds of the time: for tests of what is done with kernels.
 * What it makes of them with it is for test_gpu_corpus, and for TESSERA_ALL=1. */
static inline void compile_quickly(void)
{
    const char *all = getenv("TESSERA_ALL");
    if (!all || strcmp(all, "1") != 0)
        setenv("POCL_EXTRA_BUILD_FLAGS", "-cl-opt-disable", 0);
}

/* Ends the test as skipped where there is no device. While the device stays open its context need not be made again
 * for each program. */
static inline Device *need_gpu(void)
{
    Device *d;
    Failure f;
    if (tessi_device_open(gpu_device()->kind, 0, NULL, NULL, &d, &f))
        return d;
    printf("skipped: %s\n", f.text);
    exit(SKIPPED);
}

#endif
