/* The parts of OpenCL 1.2 that are used, declared here so that the build needs no headers. Values are those of the
 * standard. Only opencl*.c and tests include it. */
#ifndef TESSERA_RT_OPENCL_H
#define TESSERA_RT_OPENCL_H

#include "rt/device_ops.h"

#include <threads.h>

typedef int32_t cl_int;
typedef uint32_t cl_uint;
typedef uint64_t cl_ulong, cl_bits;
typedef void *cl_platform, *cl_device, *cl_context, *cl_queue, *cl_mem, *cl_program, *cl_kernel,
    *cl_event;

typedef struct OpenclApi {
#define F(name, symbol, result, arguments) result(*name) arguments;
#include "rt/opencl_functions.def"
#undef F
} OpenclApi;

/* ---- opencl_load.c: false with the sentence when the library is not here */
bool tessi_opencl_load(OpenclApi *api, Failure *f);

/* ---- opencl.c */
typedef struct OpenclDevice {
    Device base;
    OpenclApi api;
    cl_platform platform;
    cl_device device;
    cl_context context;
    cl_queue queue;       /* the default stream */
    char identity[400];   /* of platform, driver and device, for the cache */
    Digest cpu;           /* likewise, of devices that are the processor itself */
    bool is_known;        /* else nothing made for it is kept */
    bool rounds_division; /* takes -cl-fp32-correctly-rounded-divide-sqrt */
    bool is_nvidia;       /* its binaries are PTX */
    /* One launch at a time: arguments are state of a kernel, and NVIDIA's driver 580 ended with a fault of memory in a
     * thread of its own where three threads had kernels on one device. */
    mtx_t launching;
} OpenclDevice;
bool tessi_opencl_open_with(const OpenclApi *api, int number, DeviceStream stream, void *buffer,
                            Device **device, Failure *f);
/* True when r is success; else one sentence, "OpenCL cannot <what>: <why>". */
bool tessi_opencl_check(cl_int r, const char *what, Failure *f);

/* ---- opencl_build.c, with the meaning of device_ops.h */
bool tessi_opencl_build(Device *d, DeviceBuild *job, DeviceModule **module, Failure *f);
void tessi_opencl_module_free(Device *d, DeviceModule *m);
bool tessi_opencl_kernel(Device *d, DeviceModule *m, const char *name, DeviceKernel **kernel,
                         Failure *f);
void tessi_opencl_kernel_free(Device *d, DeviceKernel *k);
bool tessi_opencl_launch(Device *d, const DeviceLaunch *launch, DeviceStream stream, Failure *f);

#endif
