/* The row of CUDA. */
#include "api/embedded.h"
#include "api/gpu.h"

static const BackendDevice device = {
    .kind = DEVICE_CUDA,
    .memory = kDLCUDA,
    .host_memory = kDLCUDAHost,
    .addresses = true,
    .usual_context = true,
    .copy_text = "extern \"C\" __global__ void __launch_bounds__(256) "
                 "tess_copy(const uint4 *__restrict__ from,\n"
                 "                                                              "
                 "uint4 *__restrict__ to, unsigned n)\n"
                 "{\n"
                 "    const unsigned i = blockIdx.x * 256u + threadIdx.x;\n"
                 "    if (i < n)\n"
                 "        to[i] = from[i];\n"
                 "}\n",
};

const Backend tessi_backend_cuda = {
    .target = TESS_TARGET_CUDA,
    .name = "cuda",
    .device = &device,
    .emit = &tessi_emit_cuda,
    .prelude = tessi_embedded_prelude_cuda,
    GPU_BACKEND,
};
