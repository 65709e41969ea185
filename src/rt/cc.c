/* The C compiler: finding it, trying its flags once, compiling. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* st_mtim, realpath under -std=c11 */
#endif
#include "rt/cc.h"
#include "rt/env.h"
#include "rt/file.h"
#include "rt/process.h"
#include "tessera.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <threads.h>

enum { MAX_FLAGS = 48, COMPILE_SECONDS = 600, PROBE_SECONDS = 60, LINE_SHOWN = 200 };

/* Contraction is off because the graph alone decides about rounding; the other two let loops with
 * floor or sqrt become vector code and change no result. */
static const char *const common_flags[] = {
    "-std=c11", "-O2", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fPIC",
};
#if defined(__x86_64__) || defined(__i386__)
/* Some processors make compilers prefer half of their vectors; generated code is made for whole ones. */
static const char *const native_flags[] = { "-march=native", "-mprefer-vector-width=512" };
/* Older than the processor, GCC takes it for the nearest one that it knows, and may then think that wide loads cost so little that
 * it repeats them. */
static const char wide_tuning[] = "-mtune=skylake-avx512";
#else
static const char *const native_flags[] = { "-mcpu=native" };
static const char wide_tuning[] = "";
#endif

typedef struct Argv {
    const char *at[MAX_FLAGS + 1];
    size_t n;
} Argv;

static void push(Argv *argv, const char *s)
{
    if (argv->n < MAX_FLAGS)
        argv->at[argv->n++] = s;
}

static void push_flags(Argv *argv, const CcTool *tool, bool portable, const char *const *more)
{
    for (size_t i = 0; i < sizeof common_flags / sizeof *common_flags; i++)
        push(argv, common_flags[i]);
    for (size_t i = 0; tool->native && !portable && i < sizeof native_flags / sizeof *native_flags;
         i++)
        push(argv, native_flags[i]);
    if (tool->native && !portable && tool->mistuned)
        push(argv, wide_tuning);
    /* Without the OpenMP runtime its pragmas for vectors still count. */
    push(argv, tool->openmp ? "-fopenmp" : "-fopenmp-simd");
    for (; more && *more; more++)
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
 * sentences. */
static bool run(const Argv *argv, double seconds, const char *what, char **log, Failure *f)
{
    ProcessResult r;
    if (argv->n >= MAX_FLAGS)
        return tessi_failf(f, TESS_ERROR_COMPILER, "too many flags for %s", what);
    if (!tessi_process_run(argv->at, &(ProcessOptions){ .timeout_s = seconds }, &r, f)) {
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

static bool compile_file(const CcTool *tool, const CcJob *job, bool link, const char *source,
                         const char *object, double seconds, char **log, Failure *f)
{
    Argv argv = { 0 };
    push(&argv, tool->path);
    push_flags(&argv, tool, job->portable, job->flags);
    push(&argv, "-pipe"); /* the assembler works while the compiler does */
    push(&argv, link ? "-shared" : "-c");
    push(&argv, "-o");
    push(&argv, object);
    push(&argv, source);
    if (link)
        push(&argv, "-lm");
    return run(&argv, seconds, "the C compiler", log, f);
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
    ok = ok && tessi_file_write(source, job->c_text, strlen(job->c_text), f);
    ok = ok
         && compile_file(job->tool, job, job->kind == CC_SHARED, source, object, COMPILE_SECONDS,
                         log, f);
    if (ok && archive) {
        Argv argv = { .at = { "ar", "rcsD", archive, object }, .n = 4 };
        ok = run(&argv, COMPILE_SECONDS, "the archiver", log, f);
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
    if (!tessi_temp_dir(&dir, f))
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
    tessi_temp_dir_remove(dir);
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
    push_flags(&argv, job->tool, job->portable, job->flags);
    tessi_cache_key_add(key, &job->tool->identity, sizeof job->tool->identity);
    for (size_t i = 0; i < argv.n; i++)
        tessi_cache_key_add_text(key, argv.at[i]);
}

/* ---- Finding ---- */

/* What -march=native means here: the first processor's model and features. */
static uint64_t hash_cpu(uint64_t seed)
{
    uint8_t *text;
    size_t n;
    if (!tessi_file_read("/proc/cpuinfo", 1 << 24, &text, &n, NULL))
        return seed;
    static const char *const keys[] = { "model name", "flags", "Features", "CPU part", "isa" };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *line = strstr((const char *)text, keys[i]);
        if (line)
            seed = tessi_hash_bytes(seed, line, strcspn(line, "\n"));
    }
    free(text);
    return seed;
}

/* Of the program behind the name, without running it. */
static bool hash_program(const char *path, uint64_t *hash)
{
    struct stat st;
    char *real = realpath(path, NULL);
    bool ok = real && stat(real, &st) == 0;
    if (ok) {
        uint64_t facts[3] = { (uint64_t)st.st_size, (uint64_t)st.st_mtim.tv_sec,
                              (uint64_t)st.st_mtim.tv_nsec };
        *hash = tessi_hash_bytes(0, path, strlen(path));
        *hash = tessi_hash_bytes(*hash, real, strlen(real));
        *hash = tessi_hash_bytes(*hash, facts, sizeof facts);
        *hash = hash_cpu(*hash);
    }
    free(real);
    return ok;
}

static bool read_version(CcTool *tool, Failure *f)
{
    ProcessResult r;
    const char *argv[] = { tool->path, "--version", NULL };
    if (!tessi_process_run(argv, &(ProcessOptions){ .timeout_s = PROBE_SECONDS }, &r, f))
        return false;
    bool ok = r.exit_code == 0;
    if (!ok)
        tessi_failf(f, TESS_ERROR_COMPILER, "'%.200s --version' failed; is it a C compiler?",
                    tool->path);
    else if (!(tool->version = strndup(r.output, strcspn(r.output, "\n"))))
        ok = tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    tessi_process_result_dispose(&r);
    return ok;
}

/* Uses what generated code uses, so that missing headers or a missing OpenMP runtime show here. What comes out says whether there are
 * 512-bit vectors and the compiler tunes for AMD's Zen 1 to 3, which have none. */
#define PROBE_FACT "tessera probe: mistuned "
static const char probe_text[] =
    "#include <math.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <string.h>\n"
    "#if defined(__AVX512F__)"
    " && (defined(__tune_znver1__) || defined(__tune_znver2__) || defined(__tune_znver3__))\n"
    "const char tess_probe_fact[] = \"" PROBE_FACT "1\";\n"
    "#else\nconst char tess_probe_fact[] = \"" PROBE_FACT "0\";\n#endif\n"
    "int tess_probe(const float *a, float *b, ptrdiff_t n)\n{\n"
    "#pragma omp parallel for schedule(static)\n"
    "    for (ptrdiff_t i = 0; i < n; i++)\n        b[i] = fmaf(a[i], 2.0f, floorf(a[i]));\n"
    "    return 0;\n}\n";

static bool says_mistuned(const char *made)
{
    uint8_t *data;
    size_t n;
    if (!tessi_file_read(made, 0, &data, &n, NULL))
        return false;
    const size_t length = strlen(PROBE_FACT);
    bool found = false;
    for (size_t i = 0; i + length < n && !found; i++)
        found = data[i] == PROBE_FACT[0] && memcmp(data + i, PROBE_FACT "1", length + 1) == 0;
    free(data);
    return found;
}

/* Finds the most that the compiler takes: one try when it takes everything. */
static bool probe(CcTool *tool, Failure *f)
{
    char *dir;
    if (!tessi_temp_dir(&dir, f))
        return false;
    bool ok = false;
    for (int without = 0; without < 4 && !ok; without++) {
        tool->openmp = !(without & 1);
        tool->native = !(without & 2);
        char *made = NULL, *log = NULL;
        CcJob job = { .tool = tool, .c_text = probe_text, .kind = CC_SHARED };
        ok = compile_in(dir, &job, &made, &log, f);
        if (!ok && without == 3 && log) { /* the plainest try: what it says is the reason */
            log[strcspn(log, "\n")] = 0;
            tessi_failf(f, TESS_ERROR_COMPILER, "the C compiler '%.120s' does not work: %.240s",
                        tool->path, log);
        }
        tool->mistuned = ok && tool->native && *wide_tuning && says_mistuned(made);
        free(made);
        free(log);
    }
    tessi_temp_dir_remove(dir);
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

/* What was found is kept as "native openmp mistuned version". */
static bool recall(const RtCache *cache, CacheKey key, CcTool *tool)
{
    size_t n, ignored;
    char *path = tessi_cache_find(cache, key, ".cc", &n);
    uint8_t *text = NULL;
    bool ok = path && tessi_file_read(path, 1 << 16, &text, &ignored, NULL) && n > 6 && n < ignored;
    if (ok) {
        text[n] = 0;
        tool->native = text[0] == '1';
        tool->openmp = text[2] == '1';
        tool->mistuned = text[4] == '1';
        tool->version = strdup((const char *)text + 6);
        ok = tool->version != NULL;
    }
    free(text);
    free(path);
    return ok;
}

static void remember(const RtCache *cache, CacheKey key, const CcTool *tool)
{
    size_t room = strlen(tool->version) + 10;
    char *text = malloc(room);
    if (!text)
        return;
    int n = snprintf(text, room, "%d %d %d %s", tool->native, tool->openmp, tool->mistuned,
                     tool->version);
    free(tessi_cache_insert(cache, key, ".cc", text, (size_t)n));
    free(text);
}

/* With the version, which may be another behind the same name. */
static void identify(CcTool *tool)
{
    tool->identity = tessi_hash_bytes(tool->identity, tool->version, strlen(tool->version));
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
    Failure failure;
    thrd_t thread;
};

static int trial_thread(void *user)
{
    CcTrial *t = user;
    return find_out(t->cache, t->key, &t->tool, &t->failure);
}

/* What the driver would tell the compiler about this processor, which takes it no time. */
static bool seems_mistuned(const char *path)
{
    const char *argv[] = { path, native_flags[0], "-###", "-xc", "-c", "/dev/null", NULL };
    ProcessResult r;
    if (!*wide_tuning
        || !tessi_process_run(argv, &(ProcessOptions){ .timeout_s = PROBE_SECONDS }, &r, NULL))
        return false;
    static const char *const zen[] = { "-mtune=znver1", "-mtune=znver2", "-mtune=znver3" };
    bool found = false;
    for (size_t i = 0; i < sizeof zen / sizeof *zen && r.exit_code == 0; i++)
        found = found || strstr(r.output, zen[i]);
    found = found && strstr(r.output, "-mavx512f");
    tessi_process_result_dispose(&r);
    return found;
}

/* Begins to look at the tool, and says of it what most compilers take. NULL when it must be looked at now. */
static CcTrial *begin_trial(const char *name, const RtCache *cache, CacheKey key, CcTool *tool)
{
    CcTrial *t = calloc(1, sizeof *t);
    if (!t || !read_version(tool, NULL)) {
        free(t);
        return NULL;
    }
    *t = (CcTrial){ .tool = { .path = strdup(tool->path), .identity = tool->identity },
                    .key = key,
                    .name = name,
                    .cache = cache };
    if (!t->tool.path || thrd_create(&t->thread, trial_thread, t) != thrd_success) {
        tessi_cc_dispose(&t->tool);
        free(t);
        free(tool->version);
        tool->version = NULL;
        return NULL;
    }
    tool->native = tool->openmp = true;
    tool->mistuned = seems_mistuned(tool->path);
    identify(tool);
    return t;
}

bool tessi_cc_settle(CcTrial *t, CcTool *tool, Failure *f)
{
    int works = 0;
    thrd_join(t->thread, &works);
    tessi_cc_dispose(tool);
    *tool = t->tool;
    const char *name = t->name;
    const RtCache *cache = t->cache;
    free(t);
    return works || tessi_cc_find(name, cache, tool, f); /* perhaps there is another */
}

/* ---- By name ---- */

/* `trial`: where a trial may be put, instead of finding out now; may be NULL. */
static bool try_tool(const char *name, char *path, const RtCache *cache, CcTool *tool,
                     CcTrial **trial, Failure *f)
{
    *tool = (CcTool){ .path = path };
    if (!hash_program(path, &tool->identity)) {
        tessi_failf(f, TESS_ERROR_COMPILER, "cannot look at the C compiler '%.200s'", path);
        tessi_cc_dispose(tool);
        return false;
    }
    CacheKey key = tessi_cache_key();
    tessi_cache_key_add_text(&key, probe_text);
    tessi_cache_key_add(&key, &tool->identity, sizeof tool->identity);
    if (recall(cache, key, tool)) {
        identify(tool);
        return true;
    }
    if (trial && (*trial = begin_trial(name, cache, key, tool)))
        return true;
    return find_out(cache, key, tool, f);
}

static bool find(const char *name, const RtCache *cache, CcTool *tool, CcTrial **trial, Failure *f)
{
    *tool = (CcTool){ 0 };
    const char *env = tessi_env("TESSERA_CC");
    const char *wanted = name && *name ? name : env;
    if (wanted) {
        char *path = tessi_process_find(wanted);
        if (path)
            return try_tool(name, path, cache, tool, trial, f);
        return tessi_failf(f, TESS_ERROR_COMPILER, "there is no C compiler '%.200s'%s", wanted,
                           wanted == env ? ", which TESSERA_CC names" : "");
    }
    static const char *const usual[] = { "cc", "gcc", "clang" };
    Failure last = { 0 };
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        char *path = tessi_process_find(usual[i]);
        if (path && try_tool(name, path, cache, tool, trial, &last))
            return true;
    }
    if (last.status)
        return tessi_failf(f, last.status, "%s", last.text);
    return tessi_failf(
        f, TESS_ERROR_COMPILER,
        "there is no C compiler: neither cc, gcc nor clang is on PATH, and TESSERA_CC is not set");
}

bool tessi_cc_find(const char *name, const RtCache *cache, CcTool *tool, Failure *f)
{
    return find(name, cache, tool, NULL, f);
}

bool tessi_cc_find_early(const char *name, const RtCache *cache, CcTool *tool, CcTrial **trial,
                         Failure *f)
{
    *trial = NULL;
    return find(name, cache, tool, trial, f);
}

void tessi_cc_dispose(CcTool *tool)
{
    free(tool->path);
    free(tool->version);
    *tool = (CcTool){ 0 };
}
