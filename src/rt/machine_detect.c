/* This machine as the text of a machine description: cores, caches, vectors and clock, from the
 * system. */
#include "base/base.h"
#include "rt/env.h"
#include "rt/file.h"
#include "rt/machine.h"

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

/* The value of the first "key : value" line of /proc/cpuinfo. */
static bool find_cpuinfo(const char *cpuinfo, const char *key, char *out, size_t room)
{
    size_t n = strlen(key);
    for (const char *line = cpuinfo; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        const char *end = line + strcspn(line, "\n"),
                   *colon = memchr(line, ':', (size_t)(end - line));
        if (strncmp(line, key, n) != 0 || !colon
            || (line[n] != '\t' && line[n] != ' ' && line[n] != ':'))
            continue;
        colon++;
        colon += strspn(colon, " \t");
        snprintf(out, room, "%.*s", (int)(end - colon), colon);
        return *out != 0;
    }
    return false;
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

void tessi_machine_detect(Text *out)
{
    char *cpuinfo = NULL, model[128] = "this machine";
    size_t n;
    if (!tessi_file_read("/proc/cpuinfo", 1 << 24, (uint8_t **)&cpuinfo, &n, NULL))
        cpuinfo = NULL;
    double ghz = 0;
    if (cpuinfo) {
        find_cpuinfo(cpuinfo, "model name", model, sizeof model);
        ghz = detect_ghz(cpuinfo, model);
    }
    free(cpuinfo); /* before the arena, which may jump out */
    const Isa isa = detect_isa();
    const Caches caches = detect_caches();

    tessi_text_addf(out, "name = %s\n", model);
    tessi_text_addf(out, "cores = %d\n", tessi_cpu_count());
    tessi_text_addf(out, "isa = %s\n", isa.name);
    tessi_text_addf(out, "vector_bytes = %d\n", isa.vector_bytes);
    tessi_text_addf(out, "vector_registers = %d\n", isa.registers);
    if (caches.line > 0)
        tessi_text_addf(out, "line_bytes = %" PRId64 "\n", caches.line);
    for (int level = 1; level <= 3; level++)
        if (caches.bytes[level] > 0)
            tessi_text_addf(out, "l%d_bytes = %" PRId64 "\n", level, caches.bytes[level]);
    if (ghz > 0) {
        tessi_text_add(out, "ghz = ");
        tessi_text_add_real(out, ghz, true);
        tessi_text_add(out, "\n");
    }
}
