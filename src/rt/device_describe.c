/* A device as a machine description: what its driver says of it, in the keys of plan/machine_keys.def. What the
 * driver does not say is left out. */
#include "rt/device.h"
#include "rt/machine_lines.h"

#include <stdio.h>

static const char *const isa_before[] = {
#define DRIVER(id, file, name, isa) isa,
#include "rt/drivers.def"
#undef DRIVER
};

static int64_t as_int(uint64_t value)
{
    return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

void tessi_device_describe(const DeviceInfo *info, Text *out)
{
    const int64_t most_bytes = INT64_C(1) << 40;
    tessi_machine_text(out, "name", info->name, "a device");
    tessi_text_add(out, "target = gpu\n");
    char isa[sizeof info->arch + 8];
    snprintf(isa, sizeof isa, "%s%s", isa_before[info->kind], info->arch);
    tessi_machine_text(out, "isa", isa, "");
    tessi_machine_int(out, "cores", info->compute_units, 1, 65536);
    tessi_machine_int(out, "l2_bytes", as_int(info->cache_bytes), 1, most_bytes);
    tessi_machine_int(out, "registers", info->unit_registers, 1, most_bytes);
    tessi_machine_int(out, "threads", info->unit_threads, 1, 1048576);
    tessi_machine_int(out, "block_threads", info->block_threads, 1, 1048576);
    if (info->pair_choices)
        tessi_text_add(out, "pair_choices = 1\n");
    if (info->products_per_cycle)
        tessi_machine_int(out, "products_per_cycle", info->products_per_cycle, 1, 65536);
    tessi_machine_int(out, "shared_bytes", info->unit_shared_bytes, 1, most_bytes);
    /* Shared memory is a part of the near cache. */
    tessi_machine_int(out, "l1_bytes", info->unit_shared_bytes, 1, most_bytes);
    /* What drivers do not say, as it is on the GPUs of the last ten years: 128 lanes, an instruction of each a
     * cycle, lines of 128 bytes. */
    tessi_text_add(out, "line_bytes = 128\nvector_bytes = 512\nl3_bytes = 0\nsimple_per_cycle = "
                        "1\nmul_per_cycle = 1\n"
                        "fma_per_cycle = 1\ndiv_per_cycle = 0.08\nsqrt_per_cycle = 0.08\n"
                        "math_per_cycle = 0.04\nload_per_cycle = 0.25\n");
    /* Threads that are iterations of a loop exchange nothing at once, and hold little from step to step. */
    if (info->is_cpu)
        tessi_text_add(out, "warp_edge_most_registers = 16\n");
    /* Under load the clock is lower than the one named, and copies reach about that much of what the pins could
     * move. */
    const double clock_share = 0.945, memory_share = 0.87;
    if (!tessi_machine_clock(out, info->ghz * clock_share) && !info->is_cpu)
        tessi_text_add(out, "ghz = 1.5\n");
    /* OpenCL does not say how fast the memory of a GPU is: with each multiprocessor comes about that much. */
    const double unit_gbs = info->is_cpu ? 0 : 20 * (double)info->compute_units;
    const double gbs = info->memory_gbs > 0 ? info->memory_gbs * memory_share : unit_gbs;
    tessi_machine_real(out, "memory_gbs", gbs, 0.1, 1e6);
    /* The second cache serves so many bytes a cycle to each multiprocessor, measured on an H200. */
    const double l2_bytes_a_cycle = 28;
    const double ghz = info->ghz > 0 ? info->ghz * clock_share : 1.5;
    if (!info->is_cpu)
        tessi_machine_real(out, "l2_gbs", l2_bytes_a_cycle * ghz * (double)info->compute_units, 0.1,
                           1e6);
}
