/* The parts of the CUDA driver API and of NVRTC that are used, declared here so that the build needs no CUDA. Values
 * and layouts are those of the drivers' binary interface. Only cuda*.c and tests include it. */
#ifndef TESSERA_RT_CUDA_H
#define TESSERA_RT_CUDA_H

#include "rt/device_ops.h"

typedef int CUresult, CUdevice;
typedef unsigned long long CUdeviceptr;
typedef void *CUcontext, *CUstream, *CUmodule, *CUfunction, *CUevent, *CUgraph, *CUgraphExec;
enum { CUDA_OK = 0, CUDA_OUT_OF_MEMORY = 2, CUDA_NO_DEVICE = 100, CUDA_INVALID_DEVICE = 101 };

typedef struct CudaCopy2D {
    size_t from_x, from_y;
    int from_type;
    const void *from_host;
    CUdeviceptr from_device;
    void *from_array;
    size_t from_pitch;
    size_t to_x, to_y;
    int to_type;
    void *to_host;
    CUdeviceptr to_device;
    void *to_array;
    size_t to_pitch;
    size_t width, height;
} CudaCopy2D;

typedef struct CudaDriver {
#define F(name, symbol, arguments) CUresult(*name) arguments;
#define O                          F
#include "rt/cuda_driver.def"
#undef O
#undef F
} CudaDriver;

typedef int NvrtcResult;
typedef struct NvrtcProgramObject *NvrtcProgram;
typedef struct Nvrtc {
#define F(name, symbol, arguments) NvrtcResult(*name) arguments;
#include "rt/cuda_nvrtc.def"
#undef F
} Nvrtc;

/* ---- cuda_load.c: false with the sentence when the library is not here */
bool tessi_cuda_load_driver(CudaDriver *driver, Failure *f);
bool tessi_cuda_load_nvrtc(Nvrtc *nvrtc, Failure *f);

/* ---- cuda.c */
typedef struct CudaStage CudaStage;
typedef struct CudaDevice {
    Device base;
    CudaDriver api;
    const Nvrtc *nvrtc; /* NULL: looked for when a text must be compiled */
    CUdevice device;
    CUcontext context;
    bool retained;                 /* the context is the device's primary one and was retained */
    _Atomic(CudaStage *) stage[2]; /* of large copies: to the host, to the device; NULL: none yet */
    atomic_bool had_large[2];      /* likewise: there was one */
    uint64_t asked; /* by number of a device: it was asked for access to its memory */
} CudaDevice;
struct DeviceModule;
/* The device by a driver and compiler given as tables; `nvrtc` may be NULL. */
bool tessi_cuda_open_with(const CudaDriver *driver, const Nvrtc *nvrtc, int number,
                          DeviceStream stream, void *buffer, Device **device, Failure *f);
/* What a multiprocessor of the device with the name in *info has, and how fast its memory is; the rest of *info
 * stays. False: the driver knows no such device. */
bool tessi_cuda_fill_units(const CudaDriver *driver, DeviceInfo *info);
/* Makes the context current for this thread; false with the sentence. */
bool tessi_cuda_enter(CudaDevice *d, Failure *f);
void tessi_cuda_leave(CudaDevice *d);
/* True when r is success; else one sentence, "CUDA cannot <what>: <why>". */
bool tessi_cuda_check(const CudaDriver *api, CUresult r, const char *what, Failure *f);

CUresult tessi_cuda_copy_linear(const CudaDevice *d, const DeviceCopy *copy, CUstream stream);

/* ---- cuda_stage.c: large copies between the device and ordinary memory of the host */
/* Whether a copy is one; a single row may be of any length. */
bool tessi_cuda_stages(CudaDevice *d, const DeviceCopy *copy);
/* In the place of the driver's copy; to the host it is done when this returns. *done false: there is no memory for it,
 * and nothing was done. The context must be entered. */
CUresult tessi_cuda_stage_copy(CudaDevice *d, const DeviceCopy *copy, CUstream stream, bool *done);
void tessi_cuda_stage_free(CudaDevice *d);

/* ---- cuda_build.c, with the meaning of device_ops.h */
bool tessi_cuda_build(Device *d, DeviceBuild *job, DeviceModule **module, Failure *f);
void tessi_cuda_module_free(Device *d, DeviceModule *m);
bool tessi_cuda_kernel(Device *d, DeviceModule *m, const char *name, DeviceKernel **kernel,
                       Failure *f);
void tessi_cuda_kernel_free(Device *d, DeviceKernel *k);
bool tessi_cuda_variable(Device *d, DeviceModule *m, const char *name, void **handle, Failure *f);
bool tessi_cuda_launch(Device *d, const DeviceLaunch *launch, DeviceStream stream, Failure *f);

#endif
