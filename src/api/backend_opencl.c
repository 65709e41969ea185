/* The row of OpenCL. */
#include "api/embedded.h"
#include "api/gpu.h"

static const BackendDevice device = {
    .kind = DEVICE_OPENCL,
    .memory = kDLOpenCL,
    .copy_text = "kernel void tess_copy(global const uint4 *restrict from, global uint4 *restrict "
                 "to, uint n)\n"
                 "{\n"
                 "    const uint i = (uint)get_global_id(0);\n"
                 "    if (i < n)\n"
                 "        to[i] = from[i];\n"
                 "}\n",
};

const Backend tessi_backend_opencl = {
    .target = TESS_TARGET_OPENCL,
    .name = "opencl",
    .device = &device,
    .emit = &tessi_emit_opencl,
    .prelude = tessi_embedded_prelude_opencl,
    GPU_BACKEND,
};
