/* Every diagnostic has a case: tests/errors/ID.tess (or ID-2.tess, ID.idsl ...), whose first line says what must be
 * reported and where:
 *     // expect: E0203 at 4:12                     (or: at 4:12 of FILE, for a file that the program uses)
 * Programs without mistakes other than the expected one must give just that diagnostic. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/diag.h"
#include "support.h"
#include "tessera.h"

#define FOLDER TESSERA_SOURCE_DIR "/tests/errors"

enum { MOST_CASES = 1000 };

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static size_t list_cases(char **names)
{
    size_t n = 0;
    DIR *dir = opendir(FOLDER);
    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir));) {
        const char *dot = strrchr(e->d_name, '.');
        if (dot && (strcmp(dot, ".tess") == 0 || strcmp(dot, ".idsl") == 0)) {
            assert_true(n < MOST_CASES);
            names[n++] = strdup(e->d_name);
        }
    }
    closedir(dir);
    qsort(names, n, sizeof *names, by_name);
    return n;
}

/* Compiles one case; says what is wrong and returns false when the expected diagnostic is not there. */
static bool run_case(const char *name)
{
    Arena a;
    support_arena_init(&a);
    size_t n;
    char *text = support_read_file(&a, tessi_sprintf(&a, "%s/%s", FOLDER, name), &n);
    char code[16], file[128];
    int line, col;
    snprintf(file, sizeof file, "%s", name);
    bool ok = sscanf(text, "// expect: %15s at %d:%d of %127s", code, &line, &col, file) >= 3;
    if (!ok)
        fprintf(stderr, "%s: the first line must be `// expect: CODE at LINE:COLUMN`\n", name);

    tess_options options;
    tess_options_init(&options);
    options.library = FOLDER "/use";
    tess_program *p;
    tess_diags *d;
    tess_compile(text, n, name, &options, &p, &d);
    char *wanted = tessi_sprintf(&a, "\"code\":\"%s\",\"file\":\"%s\",\"line\":%d,\"column\":%d,",
                                 code, file, line, col);
    if (ok && !strstr(tess_diags_json(d), wanted)) {
        fprintf(stderr, "%s: expected %s at %d:%d, but got\n%s", name, code, line, col,
                tess_diags_text(d, 0));
        ok = false;
    }
    if (ok && tess_diags_errors(d) > 1) {
        fprintf(stderr, "%s: one mistake gave several errors\n%s", name, tess_diags_text(d, 0));
        ok = false;
    }
    tess_diags_free(d);
    tess_program_free(p);
    tessi_arena_dispose(&a);
    return ok;
}

static void test_cases(void **state)
{
    (void)state;
    char *names[MOST_CASES];
    size_t n = list_cases(names);
    int failed = 0;
    for (size_t i = 0; i < n; i++) {
        failed += !run_case(names[i]);
        free(names[i]);
    }
    printf("%zu cases\n", n);
    assert_int_equal(failed, 0);
}

/* Diagnostics that no program text can cause; each is tested where it arises. */
static bool has_no_program(DiagCode code)
{
    return code == DIAG_INTERNAL || code == DIAG_BAD_GRAPH_TEXT || code == DIAG_BAD_PLAN_TEXT
           || code == DIAG_BAD_LOOPS_TEXT || code == DIAG_LOOPS_STOP
           || code == DIAG_BAD_MACHINE_TEXT || code == DIAG_PLAN_MISMATCH
           || code == DIAG_GIVEN_RANGE || code == DIAG_GIVEN_TYPE;
}

static void test_every_diagnostic_has_a_case(void **state)
{
    (void)state;
    char *names[MOST_CASES];
    size_t n = list_cases(names);
    int missing = 0;
    for (int code = 0; code < N_DIAGS; code++) {
        const char *id = tessi_diag_id((DiagCode)code);
        bool found = has_no_program((DiagCode)code);
        for (size_t i = 0; i < n; i++) {
            size_t length = strlen(id);
            found = found
                    || (strncmp(names[i], id, length) == 0
                        && (names[i][length] == '.' || names[i][length] == '-'));
        }
        if (!found) {
            fprintf(stderr, "no case for %s\n", id);
            missing++;
        }
    }
    for (size_t i = 0; i < n; i++)
        free(names[i]);
    assert_int_equal(missing, 0);
}

static void test_codes_are_unique(void **state)
{
    (void)state;
    for (int i = 0; i < N_DIAGS; i++)
        for (int j = 0; j < i; j++)
            assert_string_not_equal(tessi_diag_code_text((DiagCode)i),
                                    tessi_diag_code_text((DiagCode)j));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_every_diagnostic_has_a_case),
        cmocka_unit_test(test_codes_are_unique),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
