/* Between device.c and the drivers behind it: one table of functions each. Only device*.c, cuda*.c and opencl*.c
 * include it. */
#ifndef TESSERA_RT_DEVICE_OPS_H
#define TESSERA_RT_DEVICE_OPS_H

#include <stdatomic.h>

#include "rt/device.h"

/* As the functions of device.h with these names; arguments are checked there. */
typedef struct DeviceOps {
    void (*close)(Device *d);
    bool (*owns)(Device *d, DeviceStream stream, void *buffer);
    bool (*alloc)(Device *d, size_t bytes, DeviceBuffer *b, Failure *f);
    bool (*part)(Device *d, void *whole, size_t offset, size_t bytes, DeviceBuffer *b, Failure *f);
    void (*part_free)(Device *d, DeviceBuffer *b);
    void (*free)(Device *d, DeviceBuffer *b);
    bool (*copy)(Device *d, const DeviceCopy *copy, DeviceStream stream, Failure *f);
    bool (*peer)(const DevicePeerCopy *copy, Failure *f); /* NULL: through the host */
    bool (*fill)(Device *d, void *buffer, size_t offset, size_t bytes, uint8_t value,
                 DeviceStream stream, Failure *f);
    bool (*build)(Device *d, DeviceBuild *job, DeviceModule **module, Failure *f);
    void (*module_free)(Device *d, DeviceModule *m);
    bool (*kernel)(Device *d, DeviceModule *m, const char *name, DeviceKernel **kernel, Failure *f);
    void (*kernel_free)(Device *d, DeviceKernel *k);
    bool (*variable)(Device *d, DeviceModule *m, const char *name, void **handle, Failure *f);
    bool (*launch)(Device *d, const DeviceLaunch *launch, DeviceStream stream, Failure *f);
    bool (*stream_new)(Device *d, DeviceStream *stream, Failure *f);
    void (*stream_free)(Device *d, DeviceStream stream);
    bool (*synchronise)(Device *d, DeviceStream stream, Failure *f);
    bool (*flush)(Device *d, DeviceStream stream, Failure *f);
    bool (*record)(Device *d, DeviceStream stream, DeviceEvent *event, Failure *f);
    bool (*wait)(Device *d, DeviceEvent event, Failure *f);
    bool (*await)(Device *d, DeviceStream stream, DeviceEvent event, Failure *f);
    bool (*elapsed)(Device *d, DeviceEvent from, DeviceEvent to, double *ms, Failure *f);
    void (*event_free)(Device *d, DeviceEvent event);
    bool (*graph_new)(Device *d, bool (*put)(void *user, DeviceStream stream, Failure *f),
                      void *user, DeviceGraph **graph, Failure *f);
    bool (*graph_launch)(Device *d, DeviceGraph *g, DeviceStream stream, Failure *f);
    void (*graph_free)(Device *d, DeviceGraph *g);
} DeviceOps;

/* The first member of each driver's device and kernel. */
struct Device {
    const DeviceOps *ops;
    DeviceInfo info;
    atomic_ullong used_bytes; /* of buffers made here */
    uint64_t most_bytes;      /* 0: as many as there are */
};
struct DeviceKernel {
    DeviceKernelInfo info;
};

/* How each opens a device. */
#define DRIVER(id, file, name, isa)                                                          \
    bool tessi_##file##_open(int number, DeviceStream stream, void *buffer, Device **device, \
                             Failure *f);
#include "rt/drivers.def"
#undef DRIVER

#endif
