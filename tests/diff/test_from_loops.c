/* A twentieth of the corpus: what each pass over loops leaves, read back, goes on to the same loops, on CPUs and on
 * GPUs, and from there to a text. (That may name parts of large expressions in another order, that in which they were
 * made, which texts of loops do not keep.) A graph goes on to itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "diff/corpus.h"
#include "loop/loop_passes.h"
#include "rt/file.h"
#include "tessera.h"

enum { MOST_CASES = 1000, EVERY = 20 };

static char *read_text(const char *path, size_t *n)
{
    uint8_t *data = NULL;
    Failure f;
    if (!tessi_file_read(path, (size_t)1 << 24, &data, n, &f))
        fail_msg("%s", f.text);
    return (char *)data;
}

static char *dump(tess_program *p, const char *stop)
{
    char *text = NULL;
    if (tess_dump(p, NULL, stop, &text, NULL) != TESS_OK)
        fail_msg("%s: %s", stop, tess_program_error(p));
    return text;
}

static void check(const char *path, const char *from, const char *loops, const char *stop,
                  const char *wanted)
{
    char *text = NULL;
    tess_diags *d = NULL;
    if (tess_dump_loops(loops, strlen(loops), path, from, stop, &text, &d) != TESS_OK)
        fail_msg("%s from %s to %s: %s", path, from, stop, d ? tess_diags_text(d, 0) : "");
    if (strcmp(text, wanted) != 0)
        fail_msg("%s: %s is another from %s", path, stop, from);
    tess_diags_free(d);
    tess_text_free(text);
}

static void check_text(const char *path, const char *loops, const char *target)
{
    char *text = NULL;
    const tess_status status =
        tess_dump_loops(loops, strlen(loops), path, "loops", target, &text, NULL);
    assert_int_equal(status, TESS_OK);
    assert_non_null(strstr(text, "compiled from"));
    tess_text_free(text);
}

static tess_program *compile(const char *path, const char *text, size_t n, tess_options *options)
{
    tess_program *p = NULL;
    tess_diags *d = NULL;
    tess_compile(text, n, path, options, &p, &d);
    tess_diags_free(d);
    return p;
}

/* The passes of one program for one machine. False when it has to be compiled with constants. */
static bool goes_on(const CorpusCase *c, const char *machine, const char *target)
{
    const char *path = c->path;
    enum { GRAPH_TEXT = 2 };
    tess_options options;
    tess_options_init(&options);
    options.machine = machine;
    options.constants = c->set;
    options.n_constants = (size_t)c->n_set;
    tess_program *p = compile(path, c->text, c->n, &options);
    if (!p)
        return false;
    char *last = NULL;
    const tess_status status = tess_dump(p, NULL, "loops", &last, NULL);
    if (status != TESS_OK && strstr(tess_program_error(p), "compiling needs it")) {
        tess_program_free(p);
        return false;
    }
    assert_int_equal(status, TESS_OK);
    char *graph = dump(p, "graph");
    const char *before = "lower";
    for (const LoopPass *pass = tessi_loop_passes();; before = pass++->name) {
        char stop[64];
        snprintf(stop, sizeof stop, "loops:%s", before);
        char *loops = dump(p, stop);
        check(path, stop, loops, "loops", last);
        tess_text_free(loops);
        if (!pass->name)
            break;
    }
    check_text(path, last, target);
    options.forma = GRAPH_TEXT;
    options.n_constants = 0; /* they are part of it */
    tess_program *again = compile(path, graph, strlen(graph), &options);
    if (!again)
        fail_msg("%s: its graph does not compile", path);
    /* Stages share expressions, which are named in the order in which they were made: the first reading may change it,
     * the second not. */
    char *once = dump(again, "graph");
    tess_program *third = compile(path, once, strlen(once), &options);
    if (!third)
        fail_msg("%s: its graph does not compile again", path);
    char *twice = dump(third, "graph");
    assert_string_equal(twice, once);
    tess_text_free(twice);
    tess_text_free(once);
    tess_program_free(third);
    tess_program_free(again);
    tess_text_free(graph);
    tess_text_free(last);
    tess_program_free(p);
    return true;
}

static void passes_read_back(void **state)
{
    (void)state;
    Arena a;
    char *paths[MOST_CASES];
    size_t n_cpu, n_gpu;
    int gone = 0;
    char *cpu = read_text(TESSERA_SOURCE_DIR "/machines/generic-avx2.machine", &n_cpu);
    char *gpu = read_text(TESSERA_SOURCE_DIR "/machines/h200.machine", &n_gpu);
    cpu = realloc(cpu, n_cpu + 1);
    gpu = realloc(gpu, n_gpu + 1);
    cpu[n_cpu] = gpu[n_gpu] = '\0';
    tessi_arena_init(&a, NULL, NULL);
    const int n = corpus_list(&a, paths, MOST_CASES);
    for (int i = 0; i < n; i += EVERY) {
        CorpusCase c;
        corpus_read(&a, paths[i], &c);
        gone += goes_on(&c, cpu, "c");
        gone += goes_on(&c, gpu, "cuda");
    }
    tessi_arena_dispose(&a);
    free(cpu);
    free(gpu);
    assert_true(gone > n / EVERY);
}

static void what_cannot_be_is_said(void **state)
{
    static const char *const cases[][3] = {
        { "loops", "plan", "'plan' comes before loops" },
        { "loops:lanes", "loops:slide", "pass 'slide' does not come behind 'lanes'" },
        { "graph", "loops", "'graph' is no text of loops" },
        { "loops:nothing", "loops", "there is no pass 'nothing'" },
        { "loops", "cuda", "they are loops of processors, and CUDA has kernels" },
    };
    static const char loops[] = "loops f\n\nfunction f {\n}\n";
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text;
        tess_diags *d;
        assert_int_not_equal(
            tess_dump_loops(loops, strlen(loops), "f", cases[i][0], cases[i][1], &text, &d),
            TESS_OK);
        assert_null(text);
        assert_non_null(strstr(tess_diags_text(d, 0), cases[i][2]));
        tess_diags_free(d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(passes_read_back),
                                        cmocka_unit_test(what_cannot_be_is_said) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
