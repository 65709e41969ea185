// Halide's lane: runs a job that halide_jobs has compiled. code=FILE.so
#include <HalideRuntime.h>
#include <dlfcn.h>

#include <cstring>

#include "../lane.h"

typedef int (*JobFunction)(halide_buffer_t *in, halide_buffer_t *weights, halide_buffer_t *out);

struct Run {
    JobFunction function;
    halide_buffer_t in, weights, out;
    halide_dimension_t dims[3], weight_dim;
};

static bool run(void *user)
{
    Run *r = static_cast<Run *>(user);
    return r->function(&r->in, &r->weights, &r->out) == 0;
}

int main(int argc, char **argv)
{
    Lane lane;
    lane_open(&lane, argc, argv);
    void *code = dlopen(lane_option(&lane, "code", ""), RTLD_NOW);
    if (!code)
        lane_fail(dlerror());
    Run r = {};
    r.function = reinterpret_cast<JobFunction>(dlsym(code, "job"));
    auto set_threads = reinterpret_cast<int (*)(int)>(dlsym(code, "halide_set_num_threads"));
    if (!r.function || !set_threads)
        lane_fail("the compiled job lacks a function");
    set_threads(lane.threads);
    bool bytes = !strcmp(lane.dtype, "uint8");
    r.dims[0] = { 0, lane.width, 1 };
    r.dims[1] = { 0, lane.height, lane.width };
    r.dims[2] = { 0, lane.planes, lane.width * lane.height };
    r.in.host = static_cast<uint8_t *>(lane.in);
    r.in.type = halide_type_t(bytes ? halide_type_uint : halide_type_float, bytes ? 8 : 32);
    r.in.dimensions = lane.planes > 1 ? 3 : 2;
    r.in.dim = r.dims;
    r.out = r.in;
    r.out.host = static_cast<uint8_t *>(lane_memory(lane.bytes));
    r.weight_dim = { 0, static_cast<int32_t>(lane.n_weights), 1 };
    r.weights.host = reinterpret_cast<uint8_t *>(lane.weights);
    r.weights.type = halide_type_t(halide_type_float, 32);
    r.weights.dimensions = 1;
    r.weights.dim = &r.weight_dim;
    float none = 0;
    if (!lane.weights)
        r.weights.host = reinterpret_cast<uint8_t *>(&none);
    return lane_serve(&lane, run, &r, r.out.host, lane.bytes, 0);
}
