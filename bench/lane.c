/* What all lanes share: options, memory, timing and the conversation with bench/run.py. */
#include "lane.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { PAGE = 4096, MOST_RUNS = 100000, MOST_IN_A_BATCH = 1000 };
static const double WARM_UP_MS = 20.0;

double lane_now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

void lane_fail(const char *reason)
{
    printf("{\"error\":\"");
    for (const char *c = reason; *c; c++)
        putchar(*c == '"' || *c == '\\' || (unsigned char)*c < ' ' ? ' ' : *c);
    printf("\"}\n");
    exit(1);
}

const char *lane_option(const Lane *lane, const char *name, const char *otherwise)
{
    size_t n = strlen(name);
    for (int i = 1; i < lane->argc; i++)
        if (!strncmp(lane->argv[i], name, n) && lane->argv[i][n] == '=')
            return lane->argv[i] + n + 1;
    return otherwise;
}

void *lane_memory(size_t bytes)
{
    void *p = aligned_alloc(PAGE, (bytes + PAGE) / PAGE * PAGE);
    if (!p)
        lane_fail("out of memory");
    memset(p, 0, bytes);
    return p;
}

static void *file_contents(const char *path, size_t bytes)
{
    void *p = lane_memory(bytes);
    FILE *f = fopen(path, "rb");
    if (!f || fread(p, 1, bytes, f) != bytes)
        lane_fail("an input file is missing or too short");
    fclose(f);
    return p;
}

static size_t file_size(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END))
        lane_fail("a file cannot be read");
    long n = ftell(f);
    fclose(f);
    return n > 0 ? (size_t)n : 0;
}

void lane_open(Lane *lane, int argc, char **argv)
{
    *lane = (Lane){ .argc = argc, .argv = argv };
    lane->rival = lane_option(lane, "rival", argv[0]);
    lane->job = lane_option(lane, "job", "");
    lane->dtype = lane_option(lane, "dtype", "float32");
    lane->width = atoi(lane_option(lane, "width", "0"));
    lane->height = atoi(lane_option(lane, "height", "0"));
    lane->planes = atoi(lane_option(lane, "planes", "1"));
    lane->k = atoi(lane_option(lane, "k", "0"));
    lane->threads = atoi(lane_option(lane, "threads", "1"));
    const char *input = lane_option(lane, "input", NULL),
               *weights = lane_option(lane, "weights", NULL);
    if (lane->width < 1 || lane->height < 1 || lane->planes < 1 || lane->threads < 1 || !input)
        lane_fail("a lane wants width=, height=, planes=, threads= and input=");
    size_t element = strcmp(lane->dtype, "uint8") ? sizeof(float) : 1;
    lane->bytes = (size_t)lane->width * (size_t)lane->height * (size_t)lane->planes * element;
    lane->in = file_contents(input, lane->bytes);
    if (weights) {
        size_t n = file_size(weights);
        lane->n_weights = n / sizeof(float);
        lane->weights = (float *)file_contents(weights, n);
    }
}

static bool write_result(const Lane *lane, const void *result, size_t bytes)
{
    const char *path = lane_option(lane, "output", NULL);
    if (!path)
        return true;
    FILE *f = fopen(path, "wb");
    bool ok = f && fwrite(result, 1, bytes, f) == bytes;
    return f && !fclose(f) && ok;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double timed(bool (*run)(void *), void *user)
{
    double start = lane_now_ms();
    if (!run(user))
        lane_fail("a run failed");
    return lane_now_ms() - start;
}

/* How often the kernel took a core from this process for another. */
static long preemptions(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nivcsw;
}

/* One batch: runs that are not counted until threads and clocks are awake, then `n` that are. */
static void batch(bool (*run)(void *), void *user, int n, double *ms)
{
    double start = lane_now_ms();
    do
        timed(run, user);
    while (lane_now_ms() - start < WARM_UP_MS);
    long preempted = preemptions();
    for (int i = 0; i < n; i++)
        ms[i] = timed(run, user);
    printf("{\"preempted\":%ld,\"ms\":[", preemptions() - preempted);
    for (int i = 0; i < n; i++)
        printf("%s%.6f", i ? "," : "", ms[i]);
    printf("]}\n");
    fflush(stdout);
}

int lane_serve(const Lane *lane, bool (*run)(void *user), void *user, const void *result,
               size_t result_bytes, double compile_ms)
{
    double first = timed(run, user);
    if (!write_result(lane, result, result_bytes))
        lane_fail("the result cannot be written");
    double again = timed(run, user);
    printf("{\"ready\":true,\"compile_ms\":%.3f,\"first_ms\":%.4f,\"run_ms\":%.4f}\n", compile_ms,
           first, again);
    fflush(stdout);
    double *all = (double *)malloc(sizeof *all * MOST_RUNS);
    if (!all)
        lane_fail("out of memory");
    int n_all = 0;
    char line[64];
    while (fgets(line, sizeof line, stdin)) {
        int n = atoi(line);
        if (n < 1 || n > MOST_IN_A_BATCH || n_all + n > MOST_RUNS)
            break;
        batch(run, user, n, all + n_all);
        n_all += n;
    }
    qsort(all, (size_t)n_all, sizeof *all, by_value);
    if (n_all)
        printf("{\"rival\":\"%s\",\"job\":\"%s\",\"dtype\":\"%s\",\"width\":%d,\"height\":%d,\"k\":"
               "%d,\"threads\":%d,"
               "\"median_ms\":%.6f,\"min_ms\":%.6f,\"runs\":%d}\n",
               lane->rival, lane->job, lane->dtype, lane->width, lane->height, lane->k,
               lane->threads, all[n_all / 2], all[0], n_all);
    free(all);
    return 0;
}
