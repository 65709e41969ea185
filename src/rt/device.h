/* Graphics processors behind one interface, whichever of the two drivers serves them: CUDA (driver API and NVRTC)
 * and OpenCL 1.2, both opened at run time. Nothing here knows programs or plans.
 *
 * A Device is a context on one device and may be used from several threads at once. Handles of buffers, streams,
 * modules and kernels are those of the driver, so that memory and streams made by others pass as they are. Work put
 * on one stream is done in order; nothing waits unless it says so. Every failure is one sentence: TESS_ERROR_MEMORY
 * when the device's memory is short, TESS_ERROR_COMPILER when a text does not compile, else TESS_ERROR_DEVICE. */
#ifndef TESSERA_RT_DEVICE_H
#define TESSERA_RT_DEVICE_H

#include "base/base.h"
#include "rt/cache.h"

typedef enum DeviceKind {
#define DRIVER(id, file, name, isa) DEVICE_##id,
#include "rt/drivers.def"
#undef DRIVER
} DeviceKind;

typedef struct DeviceInfo {
    DeviceKind kind;
    int number; /* of the device, as in --device=N */
    char name[128];
    char driver[96];    /* name and version, for reports and cache keys */
    char arch[32];      /* CUDA: "sm_90"; OpenCL: the version of its C, "1.2" */
    bool is_cpu;        /* an OpenCL device that is the processor itself */
    bool addresses;     /* handles of buffers are addresses, which may be any */
    bool builds_beside; /* its compiler takes several texts at once, one a thread */
    bool has_graphs;    /* several launches can be recorded and replayed as one */
    bool shares_memory; /* with the host */
    bool pair_choices;  /* of two integers of 16 bits minima and maxima are one instruction */
    /* of bytes, that a unit for products of matrices adds up in a cycle; 0: there is none */
    int products_per_cycle;
    int compute_units, warp_threads;
    double ghz, memory_gbs; /* 0: unknown */
    uint64_t memory_bytes, largest_buffer_bytes, cache_bytes, constant_bytes;
    int64_t shared_bytes; /* of one block, as much as can be asked for */
    int64_t unit_shared_bytes, unit_threads, unit_registers; /* of a compute unit; 0: unknown */
    int64_t block_threads;                                   /* most threads of a block */
    int64_t block_size[3];                                   /* x, y, z */
    int64_t grid_size[3];                                    /* blocks in x, y, z */
    uint32_t align_bytes; /* of the start of a part of a buffer */
} DeviceInfo;

typedef struct Device Device;
typedef struct DeviceModule DeviceModule;
typedef struct DeviceKernel DeviceKernel;
typedef struct DeviceGraph DeviceGraph;
typedef void *DeviceStream; /* CUstream or cl_command_queue; NULL = the default one of the device */
typedef void *DeviceEvent;
typedef struct DeviceBuffer {
    void *handle; /* CUdeviceptr or cl_mem; NULL: none */
    size_t bytes;
} DeviceBuffer;

/* ---- Devices --------------------------------------------------------------------------------- */
const char *tessi_device_kind_name(DeviceKind kind); /* "CUDA", "OpenCL" */
/* Device number `number` of that kind, as the driver counts. With a stream (or, for OpenCL, a buffer) of the caller,
 * the context that this belongs to; `number` is ignored then. */
bool tessi_device_open(DeviceKind kind, int number, DeviceStream stream, void *buffer,
                       Device **device, Failure *f);
void tessi_device_close(Device *d); /* NULL is fine; after everything made with it */
const DeviceInfo *tessi_device_info(const Device *d);
/* Whether a stream or buffer of somebody else belongs to this context; NULL always does. */
bool tessi_device_owns(Device *d, DeviceStream stream, void *buffer);
/* From now on at most so many bytes of buffers; 0: as many as there are. */
void tessi_device_limit(Device *d, uint64_t most_bytes);
/* This device as a machine description; `key = value` lines. */
void tessi_device_describe(const DeviceInfo *info, Text *out);

/* ---- Memory ---------------------------------------------------------------------------------- */
bool tessi_device_alloc(Device *d, size_t bytes, DeviceBuffer *b, Failure *f);
void tessi_device_free(Device *d, DeviceBuffer *b); /* leaves it empty; fine when it is */
/* `bytes` bytes of a buffer from `offset` on, a multiple of align_bytes; to be freed before the whole. */
bool tessi_device_part(Device *d, void *whole, size_t offset, size_t bytes, DeviceBuffer *b,
                       Failure *f);
void tessi_device_part_free(Device *d, DeviceBuffer *b);

typedef enum DeviceCopyWay { DEVICE_TO_DEVICE, DEVICE_TO_HOST, DEVICE_WITHIN } DeviceCopyWay;
typedef struct
    DeviceCopy { /* `rows` rows of `row_bytes` bytes; strides in bytes, at least row_bytes */
    DeviceCopyWay way;
    void *to, *from; /* memory of the host, or handle of a buffer */
    size_t to_offset, from_offset, to_stride, from_stride, row_bytes, rows;
} DeviceCopy;
/* Enqueued; memory of the host must stay until the stream is synchronised. */
bool tessi_device_copy(Device *d, const DeviceCopy *copy, DeviceStream stream, Failure *f);
/* Bytes of a buffer of one device to that of another, of the same kind or through memory of the host. Enqueued on
 * to_stream, behind what was on from_stream when `after` was recorded there. */
typedef struct DevicePeerCopy {
    Device *to_device, *from_device;
    void *to, *from;
    size_t to_offset, from_offset, bytes;
    DeviceStream to_stream, from_stream;
    DeviceEvent after; /* NULL: nothing is waited for */
} DevicePeerCopy;
bool tessi_device_copy_peer(const DevicePeerCopy *copy, Failure *f);
/* Copies from one to the other are put on a stream, and may be under way for a while; else they are done at once. */
bool tessi_device_is_peer(const Device *a, const Device *b);
bool tessi_device_fill(Device *d, void *buffer, size_t offset, size_t bytes, uint8_t value,
                       DeviceStream stream, Failure *f);

/* ---- Programs -------------------------------------------------------------------------------- */
/* A kernel of which so many blocks are to fit a multiprocessor at once. */
typedef struct DeviceResident {
    const char *kernel;
    uint32_t blocks;
} DeviceResident;
typedef struct DeviceBuild {
    const char *text;               /* CUDA C++ or OpenCL C */
    const char *const *options;     /* of the compiler, NULL at the end; may be NULL */
    const RtCache *cache;           /* may be NULL */
    const DeviceResident *resident; /* for languages that cannot say so: OpenCL C */
    uint32_t n_resident;
    bool recall; /* from the cache alone: when it is not there, false without a failure */
    bool cached; /* out: it was compiled before */
    char *log;   /* out: what a failing compiler said, or NULL; owned by the caller, free */
} DeviceBuild;
bool tessi_device_build(Device *d, DeviceBuild *job, DeviceModule **module, Failure *f);
void tessi_device_module_free(Device *d, DeviceModule *m);

typedef struct DeviceKernelInfo {
    int64_t max_threads;                          /* of a block of this kernel */
    int64_t shared_bytes, local_bytes, registers; /* as compiled; -1: unknown */
} DeviceKernelInfo;
bool tessi_device_kernel(Device *d, DeviceModule *m, const char *name, DeviceKernel **kernel,
                         Failure *f);
void tessi_device_kernel_free(Device *d, DeviceKernel *k);
const DeviceKernelInfo *tessi_device_kernel_info(const DeviceKernel *k);

/* The memory of a variable of the module, as the handle of a buffer. CUDA only. */
bool tessi_device_variable(Device *d, DeviceModule *m, const char *name, void **handle, Failure *f);

typedef struct DeviceArg {
    const void *at; /* the value; of a buffer, its handle */
    size_t size;
} DeviceArg;
typedef struct DeviceLaunch {
    DeviceKernel *kernel;
    int64_t grid[3], block[3]; /* blocks, threads of a block: x, y, z */
    size_t shared_bytes;       /* beyond what the text declares */
    const DeviceArg *args;
    uint32_t n_args;
} DeviceLaunch;
/* One sentence about what the device cannot do of this, before anything is launched. */
bool tessi_device_can_launch(const Device *d, const DeviceLaunch *launch, const char *name,
                             Failure *f);
bool tessi_device_launch(Device *d, const DeviceLaunch *launch, DeviceStream stream, Failure *f);

/* ---- Streams, events, graphs ----------------------------------------------------------------- */
bool tessi_device_stream_new(Device *d, DeviceStream *stream, Failure *f);
void tessi_device_stream_free(Device *d, DeviceStream stream);
/* Waits for all work on the stream; reports what went wrong on the device since. */
bool tessi_device_synchronise(Device *d, DeviceStream stream, Failure *f);
/* Starts what was enqueued without waiting for it. */
bool tessi_device_flush(Device *d, DeviceStream stream, Failure *f);
/* A moment of the stream: recorded into *event, which is made when it is NULL. */
bool tessi_device_record(Device *d, DeviceStream stream, DeviceEvent *event, Failure *f);
bool tessi_device_wait(Device *d, DeviceEvent event, Failure *f); /* the host waits */
/* What is put on the stream from now on waits for the event. */
bool tessi_device_await(Device *d, DeviceStream stream, DeviceEvent event, Failure *f);
/* Milliseconds between two recorded events; waits for the second. */
bool tessi_device_elapsed(Device *d, DeviceEvent from, DeviceEvent to, double *ms, Failure *f);
void tessi_device_event_free(Device *d, DeviceEvent event);

/* Records what `put` puts on the stream that it is given, to be replayed as one. Only where has_graphs. */
bool tessi_device_graph_new(Device *d, bool (*put)(void *user, DeviceStream stream, Failure *f),
                            void *user, DeviceGraph **graph, Failure *f);
bool tessi_device_graph_launch(Device *d, DeviceGraph *g, DeviceStream stream, Failure *f);
void tessi_device_graph_free(Device *d, DeviceGraph *g);

#endif
