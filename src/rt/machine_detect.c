/* This machine as the text of a machine description: cores, caches and vectors from the system, rates as measured
 * before. */
#include "base/base.h"
#include "rt/cpu.h"
#include "rt/env.h"
#include "rt/file.h"
#include "rt/machine.h"
#include "rt/machine_lines.h"
#include "rt/machine_measure.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct Isa {
    const char *name;
    int vector_bytes, registers;
} Isa;

/* The widest vectors of this CPU that the C compiler will use for it. */
static Isa detect_isa(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f"))
        return (Isa){ "avx512", 64, 32 };
    if (__builtin_cpu_supports("avx2"))
        return (Isa){ "avx2", 32, 16 };
    return (Isa){ "sse", 16, 16 };
#elif defined(__aarch64__) || defined(__ARM_NEON)
    return (Isa){ "neon", 16, 32 };
#else
    return (Isa){ "scalar", 8, 16 };
#endif
}

/* A small file of the system, NUL-terminated, without final newline; false when it is not there. */
static bool read_small(const char *path, char *out, size_t room)
{
    uint8_t *data;
    size_t n;
    if (!tessi_file_read(path, 1 << 16, &data, &n, NULL))
        return false;
    snprintf(out, room, "%.*s", (int)(n < room ? n : room), (const char *)data);
    out[strcspn(out, "\n")] = 0;
    free(data);
    return *out != 0;
}

/* "48K", "2M" or "64" in bytes; 0 when it is none. */
static int64_t parse_bytes(const char *s)
{
    char *end;
    long long x = strtoll(s, &end, 10);
    int shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
    return x > 0 && x < (long long)1 << 30 ? (int64_t)x << shift : 0;
}

typedef struct Caches {
    int64_t bytes[4]; /* by level, 1 to 3; 0 = unknown */
    int64_t line;
} Caches;

static bool read_cache_file(int index, const char *leaf, char *out, size_t room)
{
    char path[128];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index, leaf);
    return read_small(path, out, room);
}

static Caches detect_caches(void)
{
    Caches c = { 0 };
    char text[64];
    for (int index = 0; index < 8; index++) {
        if (!read_cache_file(index, "type", text, sizeof text) || tessi_streq(text, "Instruction"))
            continue;
        int level = read_cache_file(index, "level", text, sizeof text) ? atoi(text) : 0;
        if (level < 1 || level > 3 || !read_cache_file(index, "size", text, sizeof text))
            continue;
        c.bytes[level] = parse_bytes(text);
        if (level == 1 && read_cache_file(index, "coherency_line_size", text, sizeof text))
            c.line = parse_bytes(text);
    }
#if defined(_SC_LEVEL1_DCACHE_SIZE)
    static const int sizes[] = { 0, _SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE,
                                 _SC_LEVEL3_CACHE_SIZE };
    for (int level = 1; level <= 3; level++)
        if (c.bytes[level] == 0 && sysconf(sizes[level]) > 0)
            c.bytes[level] = sysconf(sizes[level]);
    if (c.line == 0 && sysconf(_SC_LEVEL1_DCACHE_LINESIZE) > 0)
        c.line = sysconf(_SC_LEVEL1_DCACHE_LINESIZE);
#endif
    return c;
}

/* The value of a line of /proc/cpuinfo. */
static bool find_cpuinfo(const char *cpuinfo, const char *key, char *out, size_t room)
{
    size_t n;
    const char *value = tessi_cpu_value(cpuinfo, key, &n);
    if (value)
        snprintf(out, room, "%.*s", (int)n, value);
    return value != NULL;
}

/* Frequency in GHz, 0 when unknown. What the CPU runs at right now differs from call to call, but for
 * virtual machines, which are told one number. */
static double detect_ghz(const char *cpuinfo, const char *model)
{
    char text[64];
    if (read_small("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", text, sizeof text))
        return strtod(text, NULL) * 1e-6;
    const char *at = strrchr(model, '@');
    if (at && strstr(at, "GHz"))
        return strtod(at + 1, NULL);
    if (strstr(cpuinfo, " hypervisor") && find_cpuinfo(cpuinfo, "cpu MHz", text, sizeof text))
        return (double)(int)(strtod(text, NULL) / 100 + 0.5) / 10; /* to 0.1 GHz */
    return 0;
}

typedef struct Facts {
    char model[128];
    double ghz; /* 0 = unknown */
    int cores;
    Isa isa;
    Caches caches;
    Digest cpu;
    bool knows_cpu; /* else rates are not kept: nobody would know whose they are */
} Facts;

static Facts detect_facts(void)
{
    Facts f = { .model = "this machine", .cores = tessi_cpu_count() };
    char *cpuinfo = tessi_cpu_text();
    if (cpuinfo) {
        find_cpuinfo(cpuinfo, "model name", f.model, sizeof f.model);
        f.ghz = detect_ghz(cpuinfo, f.model);
    }
    f.knows_cpu = tessi_cpu_digest_of(cpuinfo, &f.cpu);
    free(cpuinfo);
    f.isa = detect_isa();
    f.caches = detect_caches();
    return f;
}

/* ---- Rates: measured once and remembered, or usual for the instruction set ------------------- */

static CacheKey rates_key(const Facts *f)
{
    CacheKey key = tessi_cache_key();
    tessi_cache_key_add_text(&key, "machine rates 1");
    tessi_cache_key_add(&key, &f->cpu, sizeof f->cpu);
    tessi_cache_key_add_text(&key, f->isa.name);
    tessi_cache_key_add(&key, &f->cores, sizeof f->cores);
    tessi_cache_key_add(&key, f->caches.bytes, sizeof f->caches.bytes);
    return key;
}

static bool recall_rates(const RtCache *cache, const Facts *f, MachineRates *rates)
{
    size_t n;
    char *data = f->knows_cpu ? tessi_cache_read(cache, rates_key(f), CACHE_RATES, &n) : NULL;
    const bool ok = data && n == sizeof *rates;
    if (ok)
        memcpy(rates, data, sizeof *rates);
    free(data);
    return ok;
}

double tessi_machine_usual_memory(int64_t cores)
{
    const double gbs = 20 + 4.0 * (double)cores;
    return gbs > 300 ? 300 : gbs;
}

static MachineRates usual_rates(const Facts *f)
{
    static const struct {
        const char *isa;
        double simple, mul, fma, load;       /* a cycle */
        double l1_bytes, l2_bytes, l3_bytes; /* a cycle and core */
    } usual[] = { { "avx512", 2, 2, 2, 2, 128, 48, 12 },
                  { "avx2", 2, 2, 2, 2, 64, 32, 10 },
                  { "neon", 4, 4, 4, 3, 48, 24, 10 },
                  { "sse", 2, 1, 1, 2, 32, 16, 6 },
                  { "scalar", 2, 1, 1, 2, 16, 8, 4 } };
    size_t k = 0;
    while (k + 1 < sizeof usual / sizeof *usual && !tessi_streq(usual[k].isa, f->isa.name))
        k++;
    const double ghz = tessi_machine_is_clock(f->ghz) ? f->ghz : 3,
                 memory = tessi_machine_usual_memory(f->cores),
                 memory_core = 12; /* one core of a server was seen at 10 to 18 */
    return (MachineRates){ .ghz = f->ghz,
                           .l1_gbs = usual[k].l1_bytes * ghz,
                           .l2_gbs = usual[k].l2_bytes * ghz,
                           .l3_gbs = usual[k].l3_bytes * ghz * f->cores,
                           .memory_gbs = memory,
                           .memory_stream_gbs = memory * 1.25,
                           .memory_core_gbs = memory_core,
                           .memory_core_stream_gbs = memory_core,
                           .simple_per_cycle = usual[k].simple,
                           .mul_per_cycle = usual[k].mul,
                           .fma_per_cycle = usual[k].fma,
                           .load_per_cycle = usual[k].load };
}

/* To three digits: more would only differ from one measurement to the next. */
static double to_three_digits(double x)
{
    double unit = 1;
    if (!(x > 0) || x > 1e12)
        return 0;
    while (x / unit >= 1000)
        unit *= 10;
    while (x / unit < 100)
        unit /= 10;
    return (double)(int64_t)(x / unit + 0.5) * unit;
}

static void add_rate(Text *out, const char *key, double x)
{
    const double rounded = to_three_digits(x);
    if (!(rounded > 0))
        return;
    tessi_text_addf(out, "%s = ", key);
    if (x >= 100)
        tessi_text_addf(out, "%" PRId64, (int64_t)rounded);
    else
        tessi_text_add_real(out, rounded, true);
    tessi_text_add(out, "\n");
}

static void describe(const Facts *f, const MachineRates *rates, Text *out)
{
    tessi_machine_text(out, "name", f->model, "this machine");
    tessi_machine_int(out, "cores", f->cores, 1, 65536);
    tessi_text_addf(out, "isa = %s\n", f->isa.name);
    tessi_text_addf(out, "vector_bytes = %d\n", f->isa.vector_bytes);
    tessi_text_addf(out, "vector_registers = %d\n", f->isa.registers);
    if (f->caches.line > 0)
        tessi_text_addf(out, "line_bytes = %" PRId64 "\n", f->caches.line);
    for (int level = 1; level <= 3; level++)
        if (f->caches.bytes[level] > 0)
            tessi_text_addf(out, "l%d_bytes = %" PRId64 "\n", level, f->caches.bytes[level]);
    tessi_machine_clock(out, to_three_digits(rates->ghz));
#define RATE(key) add_rate(out, #key, rates->key)
    RATE(l1_gbs);
    RATE(l2_gbs);
    RATE(l3_gbs);
    RATE(memory_gbs);
    RATE(memory_stream_gbs);
    RATE(memory_core_gbs);
    RATE(memory_core_stream_gbs);
    RATE(simple_per_cycle);
    RATE(mul_per_cycle);
    RATE(fma_per_cycle);
    RATE(div_per_cycle);
    RATE(sqrt_per_cycle);
    RATE(load_per_cycle);
    RATE(thread_start_us);
#undef RATE
}

void tessi_machine_detect(const RtCache *cache, Text *out)
{
    const Facts f = detect_facts();
    MachineRates rates;
    if (!recall_rates(cache, &f, &rates))
        rates = usual_rates(&f);
    describe(&f, &rates, out);
}

bool tessi_machine_is_measured(const RtCache *cache)
{
    const Facts f = detect_facts();
    MachineRates rates;
    return recall_rates(cache, &f, &rates);
}

/* Rates that are too low would change the plans of all that follows; those of before are better, also usual ones. */
static void keep_rates(const RtCache *cache, const Facts *f, const MachineRates *rates,
                       bool disturbed, Text *out)
{
    MachineRates used = *rates;
    if (disturbed) {
        const bool known = recall_rates(cache, f, &used);
        tessi_text_addf(out, "# others were at work while this was measured; here are %s\n",
                        known ? "the figures of before, which stay"
                              : "usual figures, and none are kept");
        if (!known)
            used = usual_rates(f);
    } else if (!f->knows_cpu
               || !tessi_cache_insert(cache, rates_key(f), CACHE_RATES, rates, sizeof *rates)) {
        tessi_text_addf(out, "# these figures could not be kept%s%.300s\n",
                        cache && cache->refused.status ? ": " : "",
                        cache ? cache->refused.text : "");
    }
    describe(f, &used, out);
}

void tessi_machine_keep(const RtCache *cache, const MachineRates *rates, bool disturbed, Text *out)
{
    const Facts f = detect_facts();
    keep_rates(cache, &f, rates, disturbed, out);
}

bool tessi_machine_detect_measured(const RtCache *cache, Text *out)
{
    const Facts f = detect_facts();
    const MachineSizes sizes = { f.cores, f.caches.bytes[1], f.caches.bytes[2], f.caches.bytes[3] };
    MachineRates rates;
    bool disturbed;
    if (!tessi_machine_measure(&sizes, &rates, &disturbed))
        return false;
    keep_rates(cache, &f, &rates, disturbed, out);
    return true;
}
