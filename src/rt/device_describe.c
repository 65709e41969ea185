/* A device as a machine description: what its driver says of it, in the keys of plan/machine_keys.def. What the driver does not say is
 * left out. */
#include "rt/device.h"

#include <inttypes.h>

static void add_real(Text *out, const char *key, double value)
{
    if (value <= 0)
        return;
    tessi_text_addf(out, "%s = ", key);
    tessi_text_add_real(out, value, true);
    tessi_text_add(out, "\n");
}

void tessi_device_describe(const DeviceInfo *info, Text *out)
{
    tessi_text_addf(out, "name = %s\n", info->name);
    tessi_text_add(out, "target = gpu\n");
    tessi_text_addf(out, "isa = %s%s\n", info->kind == DEVICE_OPENCL ? "opencl-" : "", info->arch);
    if (info->compute_units > 0)
        tessi_text_addf(out, "cores = %d\n", info->compute_units);
    if (info->cache_bytes > 0)
        tessi_text_addf(out, "l2_bytes = %" PRIu64 "\n", info->cache_bytes);
    if (info->unit_registers > 0)
        tessi_text_addf(out, "registers = %" PRId64 "\n", info->unit_registers);
    if (info->unit_threads > 0)
        tessi_text_addf(out, "threads = %" PRId64 "\n", info->unit_threads);
    if (info->pair_choices)
        tessi_text_add(out, "pair_choices = 1\n");
    if (info->unit_shared_bytes > 0) /* which is a part of the cache */
        tessi_text_addf(out, "shared_bytes = %" PRId64 "\nl1_bytes = %" PRId64 "\n",
                        info->unit_shared_bytes, info->unit_shared_bytes);
    /* What drivers do not say, as it is on the GPUs of the last ten years: 128 lanes, an instruction of each a cycle, lines of 128
     * bytes. */
    tessi_text_add(out, "line_bytes = 128\nvector_bytes = 512\nl3_bytes = 0\nsimple_per_cycle = "
                        "1\nmul_per_cycle = 1\n"
                        "fma_per_cycle = 1\ndiv_per_cycle = 0.08\nsqrt_per_cycle = 0.08\n"
                        "math_per_cycle = 0.04\nload_per_cycle = 0.25\n");
    /* Under load the clock is lower than the one named, and copies reach about that much of what the pins could move. */
    const double clock_share = 0.945, memory_share = 0.87;
    add_real(out, "ghz", info->ghz * clock_share);
    /* OpenCL does not say how fast the memory of a GPU is: with each multiprocessor comes about that much. */
    const double unit_gbs = info->is_cpu ? 0 : 20 * (double)info->compute_units;
    add_real(out, "memory_gbs", info->memory_gbs > 0 ? info->memory_gbs * memory_share : unit_gbs);
}
