/* tessera bench: median and least time of a program, beside the best plain copy of the same bytes in the same run. */
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "cli/bench.h"

enum { MOST_RUNS = 1000, FEWEST_RUNS = 5, MOST_BUFFERS = 64, MOST_THREADS = 256 };
static const double BUDGET_MS = 1000.0;

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

int bench_by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

size_t bench_bytes(const DLTensor *t)
{
    size_t bytes = t->dtype.bits / 8u;
    for (int d = 0; d < t->ndim; d++)
        bytes *= (size_t)t->shape[d];
    return bytes;
}

/* ---- The copy: what any program that reads its input and writes its output once must take at least. */
typedef struct CopyJob {
    char *to;
    const char *from;
    size_t n;
} CopyJob;

static int copy_part(void *user)
{
    CopyJob *job = user;
    memcpy(job->to, job->from, job->n);
    return 0;
}

static void copy_in_threads(char *to, const char *from, size_t n, int threads)
{
    CopyJob job[MOST_THREADS];
    thrd_t thread[MOST_THREADS];
    int started = 0;
    size_t part = n / (size_t)threads / 64 * 64;
    for (int i = 0; i < threads; i++) {
        size_t begin = part * (size_t)i;
        job[i] = (CopyJob){ to + begin, from + begin, i + 1 < threads ? part : n - begin };
    }
    for (; started < threads - 1; started++)
        if (thrd_create(&thread[started], copy_part, &job[started]) != thrd_success)
            break;
    for (int i = started; i < threads; i++)
        copy_part(&job[i]);
    for (int i = 0; i < started; i++)
        thrd_join(thread[i], NULL);
}

/* The least time over several runs and thread counts of copying half of `bytes` (so that `bytes` are moved), rotating
 * through several pairs of buffers like the program itself. 0 without memory. */
static double copy_ms(size_t bytes, int threads, size_t n_buffers)
{
    size_t half = bytes / 2 + 1;
    char *block = malloc(half * 2 * n_buffers);
    if (!block)
        return 0;
    memset(block, 1, half * 2 * n_buffers);
    double best = 1e30;
    for (int t = 1; t <= threads; t = t * 2 > threads && t < threads ? threads : t * 2) {
        for (size_t run = 0; run < 10; run++) {
            char *pair = block + run % n_buffers * 2 * half;
            double start = now_ms();
            copy_in_threads(pair + half, pair, half, t);
            double ms = now_ms() - start;
            best = ms < best ? ms : best;
        }
    }
    free(block);
    return best;
}

/* ---- The program, on rotating copies of its images. */
typedef struct Rotation {
    DLTensor *in[MOST_BUFFERS][16], *out[MOST_BUFFERS][16];
    const char *names[16];
    size_t n_in, n_out, n;
    size_t bytes; /* inputs and outputs of one run */
} Rotation;

static void free_rotation(Rotation *r)
{
    for (size_t k = 0; k < MOST_BUFFERS; k++) {
        for (size_t i = 0; i < 16; i++) {
            tess_image_free(r->in[k][i]);
            tess_image_free(r->out[k][i]);
        }
    }
    free(r);
}

/* Memory for a result like one of the library's, at the same place in a page where a row more leaves the room. */
static DLTensor *result_like(const DLTensor *t)
{
    const uint64_t place = ((uintptr_t)t->data + t->byte_offset) % 4096;
    size_t row = t->dtype.bits / 8u;
    for (int d = 1; d < t->ndim; d++)
        row *= (size_t)t->shape[d];
    if (row < place)
        return cli_copy(t);
    int64_t shape[TESS_MAX_SHAPE];
    for (int d = 0; d < t->ndim; d++)
        shape[d] = t->shape[d] + (d == 0);
    DLTensor *made = tess_image_new(t->dtype, t->ndim, shape);
    if (!made)
        return NULL;
    memset(made->data, 0, row * (size_t)shape[0]);
    made->shape[0]--;
    made->byte_offset = (place - (uintptr_t)made->data % 4096) % 4096;
    if (made->byte_offset > row)
        made->byte_offset = 0;
    return made;
}

/* Copies of inputs and results until together they are twice the last cache, so that every run starts cold as it
 * does on images that come from elsewhere. */
static bool make_rotation(Rotation *r, const Session *s)
{
    for (size_t i = 0; i < s->in.n; i++) {
        if (!s->in.images[i])
            continue;
        tess_info info = { .struct_size = sizeof info };
        tess_program_input(s->program, i, &info);
        if (r->n_in == 16)
            return false;
        r->names[r->n_in] = info.name;
        r->in[0][r->n_in++] = cli_copy(s->in.images[i]);
        r->bytes += bench_bytes(s->in.images[i]);
    }
    r->n_out = tess_program_outputs(s->program);
    if (r->n_out > 16)
        return false;
    for (size_t o = 0; o < r->n_out; o++) {
        const DLTensor *t;
        if (tess_args_result(s->in.args, o, &t) != TESS_OK)
            return false;
        r->out[0][o] = result_like(t);
        r->bytes += bench_bytes(t);
    }
    long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
    size_t last_cache = cache > 0 ? (size_t)cache : (size_t)32 << 20;
    r->n = 1 + 2 * last_cache / (r->bytes + 1);
    r->n = r->n > MOST_BUFFERS ? MOST_BUFFERS : r->n;
    for (size_t k = 0; k < r->n; k++) {
        for (size_t i = 0; i < r->n_in; i++)
            if (!r->in[k][i] && !(r->in[k][i] = cli_copy(r->in[0][i])))
                return false;
        for (size_t o = 0; o < r->n_out; o++)
            if (!r->out[k][o] && !(r->out[k][o] = result_like(r->out[0][o])))
                return false;
    }
    return true;
}

static bool timed_run(Session *s, const Rotation *r, size_t run, double *ms)
{
    size_t k = run % r->n;
    for (size_t i = 0; i < r->n_in; i++)
        if (tess_args_image(s->in.args, r->names[i], r->in[k][i]) != TESS_OK)
            return false;
    for (size_t o = 0; o < r->n_out; o++)
        if (tess_args_output(s->in.args, o, r->out[k][o]) != TESS_OK)
            return false;
    tess_timing t = { .struct_size = sizeof t };
    if (tess_run(s->program, s->in.args, NULL) != TESS_OK
        || tess_args_timing(s->in.args, &t) != TESS_OK)
        return false;
    *ms = t.run_ms;
    return true;
}

static void print_sizes(const Session *s, bool json)
{
    bool first = true;
    for (size_t i = 0; i < s->in.n; i++) {
        if (!s->in.images[i])
            continue;
        const DLTensor *t = s->in.images[i];
        printf(json ? "%s[" : "%s", first ? "" : json ? "," : " ");
        for (int d = 0; d < t->ndim; d++)
            printf("%s%lld", d ? json ? "," : "x" : "", (long long)t->shape[d]);
        printf("%s", json ? "]" : "");
        first = false;
    }
}

/* Element type of the first image. */
static const char *dtype_text(const Session *s, char text[16])
{
    static const char *const codes[] = { "int", "uint", "float" };
    size_t first = 0;
    while (first + 1 < s->in.n && !s->in.images[first])
        first++;
    tess_info info = { .struct_size = sizeof info };
    tess_program_input(s->program, first, &info);
    snprintf(text, 16, "%s%d", info.dtype.code <= 2 ? codes[info.dtype.code] : "bool",
             info.dtype.bits);
    return text;
}

static void print_result(const CommandLine *line, const Session *s, const BenchResult *r)
{
    char dtype[16];
    const double share = r->copy / r->median, gflops = r->estimate.operations / r->median / 1e6;
    const double bound = r->estimate.bound_ms;
    if (line->json) {
        printf("{\"program\":\"%s\",\"target\":\"%s\",\"device\":\"%s\",\"driver\":\"%s\","
               "\"dtype\":\"%s\",\"sizes\":[",
               line->program, r->target, r->device, r->driver, dtype_text(s, dtype));
        print_sizes(s, true);
        printf("],\"plan\":\"%s\",\"median_ms\":%.6f,\"min_ms\":%.6f,\"runs\":%d,\"copy_ms\":%.6f,"
               "\"share_of_copy\":%.4f,"
               "\"gflops\":%.3f,\"compile_ms\":%.3f,\"predicted_ms\":%.6f,\"bound_ms\":%.6f,"
               "\"share_of_bound\":%.4f}\n",
               line->plan_path ? line->plan_path : "chosen", r->median, r->least, r->runs, r->copy,
               share, gflops, r->compile, r->estimate.predicted_ms, bound, bound / r->median);
        return;
    }
    printf("%s on ", line->program);
    print_sizes(s, false);
    printf(" %s, target %s", dtype_text(s, dtype), r->target);
    if (*r->driver)
        printf(", %s (%s)", r->device, r->driver);
    putchar('\n');
    printf("  median %.3f ms, least %.3f ms of %d runs; predicted %.3f ms\n", r->median, r->least,
           r->runs, r->estimate.predicted_ms);
    printf("  copy   %.3f ms: the program runs at %.0f %% of a plain copy", r->copy, 100 * share);
    if (gflops > 0)
        printf(", %.2f GFLOP/s", gflops);
    printf("\n  bound  %.3f ms: memory %.3f ms, arithmetic %.3f ms, starting %.3f ms: the program "
           "runs at "
           "%.0f %% of it\n",
           bound, r->estimate.bound_memory_ms, r->estimate.bound_compute_ms,
           r->estimate.bound_start_ms, 100 * bound / r->median);
    printf("  compiled in %.1f ms\n", r->compile);
}

static bool measure(const CommandLine *line, Session *s, Rotation *rotation, BenchResult *r)
{
    if (tess_run(s->program, s->in.args, NULL)
        != TESS_OK) /* compiles, warms up, and makes the results to copy */
        return cli_fail("%s", tess_args_error(s->in.args)), false;
    tess_timing t = { .struct_size = sizeof t };
    tess_args_timing(s->in.args, &t);
    r->compile = t.front_ms + t.compile_ms;
    cli_progress(NULL, NULL);
    r->target = t.target;
    r->estimate.struct_size = sizeof r->estimate;
    if (tess_args_estimate(s->program, s->in.args, &r->estimate) != TESS_OK)
        return cli_fail("%s", tess_args_error(s->in.args)), false;
    if (bench_is_device(line))
        return bench_on_device(line, s, r);
    r->device = "cpu";
    r->driver = "";
    if (!make_rotation(rotation, s))
        return cli_fail("out of memory for the rotating buffers, or more than 16 images"), false;
    double ms[MOST_RUNS], first, begin = now_ms();
    if (!timed_run(s, rotation, 0, &first))
        return cli_fail("%s", tess_args_error(s->in.args)), false;
    int wanted = line->runs ? (line->runs < MOST_RUNS ? line->runs : MOST_RUNS) : MOST_RUNS;
    while (r->runs < wanted) {
        if (!line->runs && r->runs >= FEWEST_RUNS && now_ms() - begin > BUDGET_MS)
            break;
        if (!timed_run(s, rotation, (size_t)r->runs + 1, &ms[r->runs]))
            return cli_fail("%s", tess_args_error(s->in.args)), false;
        r->runs++;
    }
    qsort(ms, (size_t)r->runs, sizeof *ms, bench_by_value);
    r->median = ms[r->runs / 2];
    r->least = ms[0];
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int threads = line->options.threads ? line->options.threads : cores > 0 ? (int)cores : 1;
    r->copy =
        copy_ms(rotation->bytes, threads < MOST_THREADS ? threads : MOST_THREADS, rotation->n);
    return true;
}

int cmd_bench(const CommandLine *line)
{
    if (line->audit)
        return bench_audit(line);
    Session s;
    BenchResult result = { 0 };
    bool ok = cli_open(line, &s, true);
    Rotation *rotation = calloc(1, sizeof *rotation);
    if (ok && !rotation)
        ok = (cli_fail("out of memory"), false);
    if (ok)
        ok = measure(line, &s, rotation, &result);
    if (ok)
        print_result(line, &s, &result);
    if (rotation)
        free_rotation(rotation);
    cli_close(&s);
    return ok ? EXIT_OK : EXIT_DIAGNOSED;
}
