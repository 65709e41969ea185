/* The device: like an H200 to those who compile for it (the cache knows code by architecture and version of the
 * driver), with memory of the host. */
#include <stdio.h>
#include <stdlib.h>

#include "gpu/stub/cuda.h"

enum { VERSION = 13000, MAJOR = 75, MINOR = 76, INTEGRATED = 18, LARGE = 1 << 16 };

CUresult stub_driver_version(int *version)
{
    *version = VERSION;
    return CUDA_OK;
}

CUresult stub_device_count(int *n)
{
    *n = 1;
    return CUDA_OK;
}

CUresult stub_device_name(char *name, int room, CUdevice d)
{
    (void)d;
    snprintf(name, (size_t)room, "a device that computes nothing");
    return CUDA_OK;
}

CUresult stub_device_attribute(int *value, int attribute, CUdevice d)
{
    (void)d;
    *value = attribute == MAJOR ? 9 : attribute == MINOR || attribute == INTEGRATED ? 0 : LARGE;
    return CUDA_OK;
}

CUresult stub_device_memory(size_t *bytes, CUdevice d)
{
    (void)d;
    *bytes = (size_t)1 << 37;
    return CUDA_OK;
}

static CUresult made(void *memory)
{
    return memory ? CUDA_OK : CUDA_OUT_OF_MEMORY;
}

CUresult stub_memory_alloc(CUdeviceptr *p, size_t bytes)
{
    void *memory = calloc(bytes, 1);
    *p = (CUdeviceptr)(uintptr_t)memory;
    return made(memory);
}

CUresult stub_memory_free(CUdeviceptr p)
{
    free((void *)(uintptr_t)p);
    return CUDA_OK;
}

CUresult stub_host_alloc(void **memory, size_t bytes, unsigned flags)
{
    (void)flags;
    *memory = calloc(bytes, 1);
    return made(*memory);
}

CUresult stub_host_free(void *memory)
{
    free(memory);
    return CUDA_OK;
}

CUresult stub_event_elapsed(float *ms, CUevent from, CUevent to)
{
    (void)from;
    (void)to;
    *ms = 1;
    return CUDA_OK;
}

CUresult stub_function_attribute(int *value, int attribute, CUfunction k)
{
    (void)attribute;
    (void)k;
    *value = 1 << 10;
    return CUDA_OK;
}

/* NVRTC looks for what the driver may have beside these, and does without. */
CUresult cuGetExportTable(const void **table, const void *id);
CUresult cuGetExportTable(const void **table, const void *id)
{
    enum { NOT_FOUND = 500 };
    (void)id;
    *table = NULL;
    return NOT_FOUND;
}
