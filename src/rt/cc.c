/* The C compiler: finding it, trying its flags once, compiling. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* st_mtim, realpath under -std=c11 */
#endif
#include "rt/cc.h"
#include "rt/cc_pieces.h"
#include "rt/cc_threads.h"
#include "rt/cpu.h"
#include "rt/env.h"
#include "rt/file.h"
#include "rt/process.h"
#include "rt/thread.h"
#include "tessera.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <threads.h>
#include <time.h>

enum { MAX_FLAGS = 48, COMPILE_SECONDS = 600, PROBE_SECONDS = 60, LINE_SHOWN = 200 };

/* Contraction is off because the graph alone decides about rounding; the other two let loops with
 * floor or sqrt become vector code and change no result. */
static const char *const common_flags[] = {
    "-std=c11", "-O2", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fPIC",
};
#if defined(__x86_64__) || defined(__i386__)
/* Some processors make compilers prefer half of their vectors; generated code is made for whole ones. */
static const char *const native_flags[] = { "-march=native", "-mprefer-vector-width=512" };
/* Older than the processor, GCC takes it for the nearest one that it knows, and may then think that wide loads cost
 * so little that it repeats them. */
static const char wide_tuning[] = "-mtune=skylake-avx512";
#else
static const char *const native_flags[] = { "-mcpu=native" };
static const char wide_tuning[] = "";
#endif

/* What GCC spends a tenth to a fifth of its time on and generated code has no use for: the graph has shared and moved
 * already what can be, and functions are made as they are to be called. */
static const char *const gcc_flags[] = { "-fno-tree-pre",     "-fno-gcse",    "-fno-code-hoisting",
                                         "-fno-thread-jumps", "-fno-ipa-sra", "-fno-ipa-cp" };

typedef struct Argv {
    const char *at[MAX_FLAGS + 1];
    size_t n;
} Argv;

static void push(Argv *argv, const char *s)
{
    if (argv->n < MAX_FLAGS)
        argv->at[argv->n++] = s;
}

static bool has_own_threads(const CcJob *job)
{
    return job->tool->own_threads && job->kind == CC_SHARED;
}

static void push_flags(Argv *argv, const CcJob *job)
{
    const CcTool *tool = job->tool;
    const bool native = tool->native && !job->portable;
    for (size_t i = 0; i < sizeof common_flags / sizeof *common_flags; i++)
        push(argv, common_flags[i]);
    for (size_t i = 0; native && i < sizeof native_flags / sizeof *native_flags; i++)
        push(argv, native_flags[i]);
    if (native && tool->mistuned)
        push(argv, wide_tuning);
    for (size_t i = 0; tool->gcc && i < sizeof gcc_flags / sizeof *gcc_flags; i++)
        push(argv, gcc_flags[i]);
    /* Without the OpenMP runtime its pragmas for vectors still count. */
    if (tool->openmp || !has_own_threads(job))
        push(argv, tool->openmp ? "-fopenmp" : "-fopenmp-simd");
    for (const char *const *more = job->flags; more && *more; more++)
        push(argv, *more);
}

/* ---- Running ---- */

/* The line of a log that says most: the first with "error", else the first. */
static const char *telling_line(const char *log, int *n)
{
    const char *at = strstr(log, "error");
    while (at && at > log && at[-1] != '\n')
        at--;
    at = at ? at : log;
    size_t length = strcspn(at, "\n");
    *n = length < LINE_SHOWN ? (int)length : LINE_SHOWN;
    return at;
}

/* Runs and wants success. The output of a failure becomes *log. `what` names the program in
 * sentences; what it writes in passing goes to `dir`, where it is removed with the rest. */
static bool run(const Argv *argv, const RtHost *host, const char *dir, const char *what, char **log,
                Failure *f)
{
    ProcessResult r;
    const ProcessOptions options = { .timeout_s = COMPILE_SECONDS, .tmpdir = dir, .host = host };
    if (argv->n >= MAX_FLAGS)
        return tessi_failf(f, TESS_ERROR_COMPILER, "too many flags for %s", what);
    if (!tessi_process_run(argv->at, &options, &r, f)) {
        if (f && f->status == TESS_ERROR_FILE)
            f->status = TESS_ERROR_COMPILER;
        return false;
    }
    bool ok = r.exit_code == 0;
    if (!ok) {
        char how[96];
        tessi_process_describe(&r, how, sizeof how);
        int n = 0;
        const char *said = r.output ? telling_line(r.output, &n) : "";
        tessi_failf(f, TESS_ERROR_COMPILER, "%s '%.160s' failed: %s%s%.*s%s", what, argv->at[0],
                    how, n ? " (" : "", n, said, n ? ")" : "");
        if (log) {
            *log = r.output;
            r.output = NULL;
        }
    }
    tessi_process_result_dispose(&r);
    return ok;
}

/* Lays out what stands for an OpenMP runtime; *source, the caller's to free, is to be compiled too. The driver must
 * not see the flag, since it would link the runtime that is not there. */
static bool push_own_threads(Argv *argv, const char *dir, char **source, Failure *f)
{
    static const char *const flags[] = { "-Xclang", "-fopenmp", "-pthread", "-Wl,-z,defs", "-I" };
    char *header = tessi_path_join(dir, "omp.h");
    *source = tessi_path_join(dir, "threads.c");
    bool ok = header && *source;
    if (!ok)
        tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    ok = ok && tessi_file_write(header, tessi_cc_threads_h, strlen(tessi_cc_threads_h), f)
         && tessi_file_write(*source, tessi_cc_threads, strlen(tessi_cc_threads), f);
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        push(argv, flags[i]);
    push(argv, dir);
    push(argv, *source);
    free(header);
    return ok;
}

/* Of one source, or of `n` objects to be linked. */
static bool compile_files(const CcJob *job, const char *dir, bool link, char *const *files,
                          size_t n, const char *object, char **log, Failure *f)
{
    const CcTool *tool = job->tool;
    Argv argv = { 0 };
    char *threads = NULL;
    push(&argv, tool->path);
    push_flags(&argv, job);
    push(&argv, "-pipe"); /* the assembler works while the compiler does */
    push(&argv, link ? "-shared" : "-c");
    push(&argv, "-o");
    push(&argv, object);
    for (size_t i = 0; i < n; i++)
        push(&argv, files[i]);
    bool ok = !has_own_threads(job) || push_own_threads(&argv, dir, &threads, f);
    if (link)
        push(&argv, "-lm");
    ok = ok && run(&argv, tool->host, dir, "the C compiler", log, f);
    free(threads);
    return ok;
}

/* ---- Pieces side by side ---- */

typedef struct Team {
    atomic_bool stops;
    atomic_int n_at_work;
} Team;

typedef struct Piece {
    Team *team;
    const CcJob *job;
    CcTool tool;
    RtHost host;
    const char *dir;
    char *text, *source, *object, *log;
    Failure failure;
    bool ok;
    RtThread thread;
} Piece;

/* What the host says is asked by one thread alone, which tells the others. */
static int hold_as_told(void *user, int change)
{
    Team *team = user;
    (void)change;
    return atomic_load(&team->stops);
}

static int compile_piece(void *user)
{
    Piece *p = user;
    CcJob job = *p->job;
    p->host = (RtHost){ hold_as_told, p->team };
    p->tool = *p->job->tool;
    p->tool.host = &p->host;
    job.tool = &p->tool;
    p->ok = p->source && p->object;
    if (!p->ok)
        tessi_failf(&p->failure, TESS_ERROR_MEMORY, "out of memory");
    p->ok = p->ok && tessi_file_write(p->source, p->text, strlen(p->text), &p->failure)
            && compile_files(&job, p->dir, false, &p->source, 1, p->object, &p->log, &p->failure);
    if (!p->ok)
        atomic_store(&p->team->stops, true);
    atomic_fetch_sub(&p->team->n_at_work, 1);
    return 0;
}

static void work_side_by_side(Piece *pieces, size_t n, const RtHost *host)
{
    Team *team = pieces->team;
    tessi_host_hold(host, 1);
    for (size_t i = 0; i < n; i++)
        if (!tessi_thread_start(&pieces[i].thread, compile_piece, &pieces[i]))
            compile_piece(&pieces[i]);
    while (atomic_load(&team->n_at_work)) {
        if (tessi_host_hold(host, 0))
            atomic_store(&team->stops, true);
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    }
    for (size_t i = 0; i < n; i++)
        tessi_thread_join(&pieces[i].thread);
    tessi_host_hold(host, -1);
}

/* Frees the texts. What failed first by itself is told, not what was ended because of it. */
static bool compile_pieces(const CcJob *job, const char *dir, char **texts, size_t n,
                           const char *object, char **log, Failure *f)
{
    Team team;
    Piece pieces[MOST_PIECES] = { 0 };
    atomic_init(&team.stops, false);
    atomic_init(&team.n_at_work, (int)n);
    for (size_t i = 0; i < n; i++) {
        char source[] = "piece0.c", made[] = "piece0.o";
        source[5] = made[5] = (char)('0' + i);
        pieces[i] = (Piece){ .team = &team, .job = job, .dir = dir, .text = texts[i] };
        pieces[i].source = tessi_path_join(dir, source);
        pieces[i].object = tessi_path_join(dir, made);
    }
    work_side_by_side(pieces, n, job->tool->host);
    const Piece *failed = NULL;
    for (size_t i = 0; i < n; i++)
        if (!pieces[i].ok && (!failed || (pieces[i].log && !failed->log)))
            failed = &pieces[i];
    if (failed && f)
        *f = failed->failure;
    if (failed && failed->log && log)
        *log = strdup(failed->log);
    char *objects[MOST_PIECES];
    for (size_t i = 0; i < n; i++)
        objects[i] = pieces[i].object;
    const bool ok = !failed && compile_files(job, dir, true, objects, n, object, log, f);
    for (size_t i = 0; i < n; i++) {
        free(pieces[i].text);
        free(pieces[i].source);
        free(pieces[i].object);
        free(pieces[i].log);
    }
    return ok;
}

/* Compiles in `dir`; *made (owned by the caller) is the file that came out. */
static bool compile_in(const char *dir, const CcJob *job, char **made, char **log, Failure *f)
{
    char *source = tessi_path_join(dir, "program.c");
    char *object = tessi_path_join(dir, job->kind == CC_SHARED ? "program.so" : "program.o");
    char *archive = job->kind == CC_ARCHIVE ? tessi_path_join(dir, "program.a") : NULL;
    bool ok = source && object && (archive || job->kind != CC_ARCHIVE);
    if (!ok)
        tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    char *texts[MOST_PIECES];
    const bool may = ok && job->kind == CC_SHARED && !has_own_threads(job);
    const size_t n = may ? tessi_cc_pieces(job->c_text, tessi_cpu_count(), texts) : 1;
    if (n > 1)
        ok = compile_pieces(job, dir, texts, n, object, log, f);
    else
        ok = ok && tessi_file_write(source, job->c_text, strlen(job->c_text), f)
             && compile_files(job, dir, job->kind == CC_SHARED, &source, 1, object, log, f);
    if (ok && archive) {
        Argv argv = { .at = { "ar", "rcsD", archive, object }, .n = 4 };
        ok = run(&argv, job->tool->host, dir, "the archiver", log, f);
    }
    char **product = archive ? &archive : &object;
    if (ok && !tessi_file_exists(*product))
        ok = tessi_failf(f, TESS_ERROR_COMPILER,
                         "the C compiler '%.200s' succeeded without writing anything",
                         job->tool->path);
    *made = NULL;
    if (ok) {
        *made = *product;
        *product = NULL;
    }
    free(source);
    free(object);
    free(archive);
    return ok;
}

bool tessi_cc_compile_raw(const CcJob *job, char **log, Failure *f)
{
    *log = NULL;
    if (!job->tool->path)
        return tessi_failf(f, TESS_ERROR_COMPILER, "there is no C compiler");
    char *dir, *made;
    const RtHost *host = job->tool->host;
    if (!tessi_temp_dir(host, &dir, f))
        return false;
    bool ok = compile_in(dir, job, &made, log, f);
    if (ok) {
        uint8_t *data;
        size_t n;
        ok = tessi_file_read(made, 0, &data, &n, f);
        if (ok) {
            ok = tessi_file_write(job->out, data, n, f);
            free(data);
        }
        free(made);
    }
    tessi_temp_dir_remove(host, dir);
    free(dir);
    return ok;
}

bool tessi_cc_compile(const CcJob *job, Failure *f)
{
    char *log;
    bool ok = tessi_cc_compile_raw(job, &log, f);
    if (log && job->log)
        tessi_text_add(job->log, log);
    free(log);
    return ok;
}

bool tessi_cc_kind_of(const char *path, CcKind *kind)
{
    const char *suffix = tessi_path_suffix(path);
    static const char *const suffixes[] = {
        [CC_OBJECT] = ".o", [CC_SHARED] = ".so", [CC_ARCHIVE] = ".a"
    };
    for (int k = 0; k < 3; k++)
        if (tessi_streq(suffix, suffixes[k])) {
            *kind = (CcKind)k;
            return true;
        }
    return false;
}

void tessi_cc_add_key(const CcJob *job, CacheKey *key)
{
    Argv argv = { 0 };
    push_flags(&argv, job);
    tessi_cache_key_add(key, &job->tool->identity, sizeof job->tool->identity);
    for (size_t i = 0; i < argv.n; i++)
        tessi_cache_key_add_text(key, argv.at[i]);
    if (job->tool->own_threads)
        tessi_cache_key_add_text(key, tessi_cc_threads);
}

/* ---- Finding ---- */

static void add_bytes(Hasher *h, const void *p, size_t n)
{
    tessi_hasher_add(h, &n, sizeof n);
    tessi_hasher_add(h, p, n);
}

/* Of the program behind the name, without running it, and of what -march=native means here. */
static bool hash_program(CcTool *tool)
{
    struct stat st;
    char *real = realpath(tool->path, NULL);
    const bool ok = real && stat(real, &st) == 0;
    if (ok) {
        const uint64_t facts[3] = { (uint64_t)st.st_size, (uint64_t)st.st_mtim.tv_sec,
                                    (uint64_t)st.st_mtim.tv_nsec };
        Digest cpu;
        Hasher h;
        tool->knows_cpu = tessi_cpu_digest(&cpu);
        tessi_hasher_init(&h);
        add_bytes(&h, tool->path, strlen(tool->path));
        add_bytes(&h, real, strlen(real));
        add_bytes(&h, facts, sizeof facts);
        add_bytes(&h, &cpu, sizeof cpu);
        tool->identity = tessi_hasher_end(&h);
    }
    free(real);
    return ok;
}

static bool read_version(CcTool *tool, Failure *f)
{
    ProcessResult r;
    const char *argv[] = { tool->path, "--version", NULL };
    const ProcessOptions options = { .timeout_s = PROBE_SECONDS, .host = tool->host };
    if (!tessi_process_run(argv, &options, &r, f)) {
        if (f && f->status == TESS_ERROR_FILE)
            f->status = TESS_ERROR_COMPILER;
        return false;
    }
    bool ok = r.exit_code == 0;
    if (!ok)
        tessi_failf(f, TESS_ERROR_COMPILER, "'%.200s --version' failed; is it a C compiler?",
                    tool->path);
    else if (!(tool->version = strndup(r.output, strcspn(r.output, "\n"))))
        ok = tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    tessi_process_result_dispose(&r);
    return ok;
}

/* Uses what generated code uses, so that missing headers or a missing OpenMP runtime show here. What comes out says
 * whether the compiler is GCC, of a version that knows all of gcc_flags, and whether there are 512-bit vectors and it
 * tunes for AMD's Zen 1 to 3, which have none. */
#define PROBE_GCC      "tessera probe: gcc "
#define PROBE_MISTUNED "tessera probe: mistuned "
static const char probe_text[] =
    "#include <math.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <string.h>\n"
    "#if defined(__AVX512F__)"
    " && (defined(__tune_znver1__) || defined(__tune_znver2__) || defined(__tune_znver3__))\n"
    "const char tess_probe_tuning[] = \"" PROBE_MISTUNED "1\";\n#endif\n"
    "#if defined(__GNUC__) && __GNUC__ >= 8 && !defined(__clang__) && !defined(__INTEL_COMPILER)\n"
    "const char tess_probe_gcc[] = \"" PROBE_GCC "1\";\n#endif\n"
    "int tess_probe(const float *a, float *b, ptrdiff_t n)\n{\n"
    "#pragma omp parallel for schedule(static)\n"
    "    for (ptrdiff_t i = 0; i < n; i++)\n        b[i] = fmaf(a[i], 2.0f, floorf(a[i]));\n"
    "    return 0;\n}\n";

/* Whether what the compiler made of the probe says so. */
static bool says(const char *made, const char *fact)
{
    uint8_t *data;
    size_t n;
    if (!tessi_file_read(made, 0, &data, &n, NULL))
        return false;
    const size_t length = strlen(fact);
    bool found = false;
    for (size_t i = 0; i + length < n && !found; i++)
        found = data[i] == (uint8_t)*fact && memcmp(data + i, fact, length + 1) == 0;
    free(data);
    return found;
}

/* Finds the most that the compiler takes: one try when it takes everything. */
static bool probe(CcTool *tool, Failure *f)
{
    char *dir;
    if (!tessi_temp_dir(tool->host, &dir, f))
        return false;
    bool ok = false;
    enum { LAST = 5 };
    for (int without = 0; without <= LAST && !ok; without++) {
        tool->openmp = without % 3 == 0;
        tool->own_threads = without % 3 == 1;
        tool->native = without < 3;
        char *made = NULL, *log = NULL;
        CcJob job = { .tool = tool, .c_text = probe_text, .kind = CC_SHARED };
        ok = compile_in(dir, &job, &made, &log, f);
        if (!ok && without == LAST && log) { /* the plainest try: what it says is the reason */
            log[strcspn(log, "\n")] = 0;
            tessi_failf(f, TESS_ERROR_COMPILER, "the C compiler '%.120s' does not work: %.240s",
                        tool->path, log);
        }
        tool->mistuned = ok && tool->native && *wide_tuning && says(made, PROBE_MISTUNED "1");
        tool->gcc = ok && says(made, PROBE_GCC "1");
        free(made);
        free(log);
    }
    tessi_temp_dir_remove(tool->host, dir);
    free(dir);
    return ok;
}

typedef struct Version {
    CcTool *tool;
    Failure failure;
} Version;

static int version_thread(void *user)
{
    Version *v = user;
    return read_version(v->tool, &v->failure);
}

/* Its version and the most that it takes, found out side by side. */
static bool look_at(CcTool *tool, Failure *f)
{
    Version version = { .tool = tool };
    thrd_t thread;
    int found = 0;
    const bool started = thrd_create(&thread, version_thread, &version) == thrd_success;
    const bool works = probe(tool, f);
    if (started)
        thrd_join(thread, &found);
    else
        found = version_thread(&version);
    if (!found && f)
        *f = version.failure;
    return found && works;
}

/* What was found is kept as "native openmp mistuned gcc version", openmp 2 where its threads are ours. */
static bool recall(const RtCache *cache, CacheKey key, CcTool *tool)
{
    size_t n;
    char *text = tool->knows_cpu ? tessi_cache_read(cache, key, ".cc", &n) : NULL;
    bool ok = text && n > 8;
    if (ok) {
        tool->native = text[0] == '1';
        tool->openmp = text[2] == '1';
        tool->own_threads = text[2] == '2';
        tool->mistuned = text[4] == '1';
        tool->gcc = text[6] == '1';
        tool->version = strdup(text + 8);
        ok = tool->version != NULL;
    }
    free(text);
    return ok;
}

static void remember(const RtCache *cache, CacheKey key, const CcTool *tool)
{
    size_t room = strlen(tool->version) + 12;
    char *text = tool->knows_cpu ? malloc(room) : NULL;
    if (!text)
        return;
    const int threads = tool->own_threads ? 2 : tool->openmp;
    int n = snprintf(text, room, "%d %d %d %d %s", tool->native, threads, tool->mistuned, tool->gcc,
                     tool->version);
    tessi_cache_insert(cache, key, ".cc", text, (size_t)n);
    free(text);
}

/* With the version, which may be another behind the same name. */
static void identify(CcTool *tool)
{
    Hasher h;
    tessi_hasher_init(&h);
    add_bytes(&h, &tool->identity, sizeof tool->identity);
    add_bytes(&h, tool->version, strlen(tool->version));
    tool->identity = tessi_hasher_end(&h);
}

static bool find_out(const RtCache *cache, CacheKey key, CcTool *tool, Failure *f)
{
    if (!look_at(tool, f)) {
        tessi_cc_dispose(tool);
        return false;
    }
    remember(cache, key, tool);
    identify(tool);
    return true;
}

/* ---- Meanwhile ---- */

/* A compiler that is being looked at by a thread. */
struct CcTrial {
    CcTool tool;
    CacheKey key;
    const char *name; /* asked for */
    const RtCache *cache;
    const RtHost *host;
    Failure failure;
    RtThread thread;
};

static int trial_thread(void *user)
{
    CcTrial *t = user;
    return find_out(t->cache, t->key, &t->tool, &t->failure);
}

/* What the driver would tell the compiler about this processor, which takes it no time. */
static bool seems_mistuned(const CcTool *tool)
{
    /* With -pipe it does not even make the names of files between its parts, which are files. */
    const char *argv[] = { tool->path, "-###", native_flags[0], "-pipe",
                           "-xc",      "-c",   "/dev/null",     NULL };
    const ProcessOptions options = { .timeout_s = PROBE_SECONDS, .host = tool->host };
    ProcessResult r;
    if (!*wide_tuning || !tessi_process_run(argv, &options, &r, NULL))
        return false;
    static const char *const zen[] = { "-mtune=znver1", "-mtune=znver2", "-mtune=znver3" };
    bool found = false;
    for (size_t i = 0; i < sizeof zen / sizeof *zen && r.exit_code == 0; i++)
        found = found || strstr(r.output, zen[i]);
    found = found && strstr(r.output, "-mavx512f");
    tessi_process_result_dispose(&r);
    return found;
}

/* By its version: "gcc (Debian 12.2.0-14) 12.2.0", "cc (GCC) 14.1.0". */
static bool seems_gcc(const CcTool *tool)
{
    const char *number = strrchr(tool->version, ')');
    return number && !strstr(tool->version, "clang") && !strstr(tool->version, "Intel")
           && atoi(number + 1) >= 8;
}

/* Begins to look at the tool, and says of it what most compilers take. NULL when it must be looked at now. */
static CcTrial *begin_trial(const char *name, const RtCache *cache, CacheKey key, CcTool *tool)
{
    CcTrial *t = calloc(1, sizeof *t);
    if (!t || !read_version(tool, NULL)) {
        free(t);
        return NULL;
    }
    *t = (CcTrial){ .tool = { .path = strdup(tool->path),
                              .identity = tool->identity,
                              .knows_cpu = tool->knows_cpu,
                              .host = tool->host },
                    .key = key,
                    .name = name,
                    .cache = cache,
                    .host = tool->host };
    if (!t->tool.path || !tessi_thread_start(&t->thread, trial_thread, t)) {
        tessi_cc_dispose(&t->tool);
        free(t);
        free(tool->version);
        tool->version = NULL;
        return NULL;
    }
    tool->native = tool->openmp = true;
    tool->gcc = seems_gcc(tool);
    tool->mistuned = seems_mistuned(tool);
    identify(tool);
    return t;
}

bool tessi_cc_settle(CcTrial *t, CcTool *tool, Failure *f)
{
    const bool lost = tessi_thread_is_lost(&t->thread);
    const bool works = tessi_thread_join(&t->thread);
    tessi_cc_dispose(tool);
    if (lost)
        return tessi_cc_find(t->name, t->cache, t->host, tool, f);
    *tool = t->tool;
    const char *name = t->name;
    const RtCache *cache = t->cache;
    const RtHost *host = t->host;
    free(t);
    return works || tessi_cc_find(name, cache, host, tool, f); /* perhaps there is another */
}

/* ---- By name ---- */

static const char *const usual[] = { "cc", "gcc", "clang" };
enum { N_USUAL = sizeof usual / sizeof *usual };

/* Who is looked for, and where a trial may be put instead of finding out now (may be NULL). */
typedef struct Search {
    const char *name;
    const RtCache *cache;
    const RtHost *host;
    CcTrial **trial;
    bool remembered; /* nothing is to be tried */
} Search;

static bool try_tool(const Search *s, char *path, CcTool *tool, Failure *f)
{
    *tool = (CcTool){ .path = path, .host = s->host };
    if (!hash_program(tool)) {
        tessi_failf(f, TESS_ERROR_COMPILER, "cannot look at the C compiler '%.200s'", path);
        tessi_cc_dispose(tool);
        return false;
    }
    CacheKey key = tessi_cache_key();
    tessi_cache_key_add_text(&key, probe_text);
    tessi_cache_key_add_text(&key, tessi_cc_threads);
    tessi_cache_key_add(&key, &tool->identity, sizeof tool->identity);
    if (recall(s->cache, key, tool)) {
        identify(tool);
        return true;
    }
    if (s->remembered) {
        tessi_cc_dispose(tool);
        return false;
    }
    if (s->trial && (*s->trial = begin_trial(s->name, s->cache, key, tool)))
        return true;
    return find_out(s->cache, key, tool, f);
}

/* The one that the environment names: a sentence about it says so. */
static bool find_named(const Search *s, const char *wanted, bool by_environment, CcTool *tool,
                       Failure *f)
{
    Failure why = { 0 };
    char *path = tessi_process_find(wanted);
    if (path && try_tool(s, path, tool, &why))
        return true;
    if (!path)
        return tessi_failf(f, TESS_ERROR_COMPILER, "there is no C compiler '%.200s'%s%s", wanted,
                           by_environment ? ", which TESSERA_CC names" : "",
                           strchr(wanted, ' ') ? "; it must be one program, without flags" : "");
    return tessi_failf(f, why.status, "%s%s", why.text,
                       by_environment && why.status == TESS_ERROR_COMPILER
                           ? " (TESSERA_CC names this compiler)"
                           : "");
}

static bool find(const Search *s, CcTool *tool, Failure *f)
{
    *tool = (CcTool){ 0 };
    const char *env = tessi_env("TESSERA_CC");
    const bool is_named = s->name && *s->name;
    if (is_named || env)
        return find_named(s, is_named ? s->name : env, !is_named, tool, f);
    Failure first = { 0 };
    for (size_t i = 0; i < N_USUAL; i++) {
        char *path = tessi_process_find(usual[i]);
        if (path && try_tool(s, path, tool, first.status ? NULL : &first))
            return true;
        if (path && s->remembered)
            return false; /* a trial would begin with this one */
    }
    if (first.status)
        return tessi_failf(f, first.status, "%s", first.text);
    return tessi_failf(
        f, TESS_ERROR_COMPILER,
        "there is no C compiler: neither cc, gcc nor clang is on PATH, and TESSERA_CC is not set");
}

bool tessi_cc_is_absent(const char *name)
{
    if ((name && *name) || tessi_env("TESSERA_CC"))
        return false;
    bool found = false;
    for (size_t i = 0; i < N_USUAL && !found; i++) {
        char *path = tessi_process_find(usual[i]);
        found = path != NULL;
        free(path);
    }
    return !found;
}

bool tessi_cc_find(const char *name, const RtCache *cache, const RtHost *host, CcTool *tool,
                   Failure *f)
{
    return find(&(Search){ name, cache, host, NULL, false }, tool, f);
}

bool tessi_cc_find_remembered(const char *name, const RtCache *cache, const RtHost *host,
                              CcTool *tool)
{
    return find(&(Search){ name, cache, host, NULL, true }, tool, NULL);
}

bool tessi_cc_find_early(const char *name, const RtCache *cache, const RtHost *host, CcTool *tool,
                         CcTrial **trial, Failure *f)
{
    *trial = NULL;
    return find(&(Search){ name, cache, host, trial, false }, tool, f);
}

void tessi_cc_dispose(CcTool *tool)
{
    free(tool->path);
    free(tool->version);
    *tool = (CcTool){ 0 };
}
