/* The texts of tests/golden/ as inputs: graph, plan and loops read back and print the same, and the graph's text
 * with the plan's text lowers to the loops' text. So a compilation can be taken up at any stop from what an earlier
 * run printed. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/graph.h"
#include "loop/loop_passes.h"
#include "loop/lower.h"
#include "support.h"

enum { MOST_PROGRAMS = 100, LEAST_PROGRAMS = 5 };

typedef struct Golden {
    Arena arena;
    Diags *diags;
    const char *name;
} Golden;

static char *text_of(Golden *t, const char *stop, size_t *n)
{
    return support_read_file(&t->arena,
                             tessi_sprintf(&t->arena, "tests/golden/%s.%s", t->name, stop), n);
}

static void must_read(const Golden *t, const char *stop, const void *made)
{
    if (!made)
        fail_msg("%s.%s: %s", t->name, stop,
                 t->diags->list.n ? t->diags->list.at[0].text : "no reason is given");
}

static void must_match(const Golden *t, const char *stop, Text *now, const char *expected)
{
    if (!tessi_streq(tessi_text_str(now), expected))
        fail_msg("%s.%s prints as\n%s", t->name, stop, tessi_text_str(now));
    now->n = 0;
}

static void check_program(Golden *t)
{
    size_t n;
    Text now = tessi_text_new(&t->arena);

    const char *text = text_of(t, "graph", &n);
    Graph *g = tessi_graph_read(&t->arena, t->diags, text, n);
    must_read(t, "graph", g);
    tessi_graph_print(g, &now);
    must_match(t, "graph", &now, text);

    text = text_of(t, "plan", &n);
    Plan *plan = tessi_plan_read(&t->arena, t->diags, g, text, n);
    must_read(t, "plan", plan);
    assert_null(tessi_plan_verify(&t->arena, plan, g));
    tessi_plan_print(plan, g, &now);
    must_match(t, "plan", &now, text);

    text = text_of(t, "loops", &n);
    LoopProgram *loops = tessi_loop_read(&t->arena, t->diags, text, n);
    must_read(t, "loops", loops);
    assert_null(tessi_loop_verify(loops));
    tessi_loop_print(loops, &now);
    must_match(t, "loops", &now, text);

    text = support_read_file(&t->arena,
                             tessi_sprintf(&t->arena, "machines/%s.machine", plan->machine), &n);
    Machine *machine = tessi_machine_read(&t->arena, t->diags, text, n);
    must_read(t, "machine", machine);
    text = text_of(t, "loops", &n);
    loops = tessi_lower_loops(&t->arena, g, plan, machine);
    for (const LoopPass *pass = tessi_loop_passes(); pass->name; pass++)
        pass->run(loops);
    tessi_loop_print(loops, &now);
    must_match(t, "loops", &now, text);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void test_texts_read_back(void **state)
{
    (void)state;
    DIR *folder = opendir(TESSERA_SOURCE_DIR "/tests/golden");
    assert_non_null(folder);
    char *names[MOST_PROGRAMS];
    size_t n = 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        const char *dot = strrchr(entry->d_name, '.');
        if (!dot || !tessi_streq(dot, ".graph"))
            continue;
        assert_true(n < MOST_PROGRAMS);
        names[n++] = strndup(entry->d_name, (size_t)(dot - entry->d_name));
    }
    closedir(folder);
    assert_true(n >= LEAST_PROGRAMS);
    qsort(names, n, sizeof *names, by_name);
    for (size_t i = 0; i < n; i++) {
        Golden t = { .name = names[i] };
        support_arena_init(&t.arena);
        SourceMap *sources = ARENA_NEW(&t.arena, SourceMap);
        tessi_sources_init(sources, &t.arena);
        t.diags = ARENA_NEW(&t.arena, Diags);
        tessi_diags_init(t.diags, &t.arena, sources);
        check_program(&t);
        tessi_arena_dispose(&t.arena);
        free(names[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_texts_read_back) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
