/* A C text taken apart for compilers side by side: each function is in one piece, what follows them in the first. */
#include "rt/cc.h"
#include "rt/cc_pieces.h"
#include "rt/module.h"
#include "tessera.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LONG = 40000, LINE = 15 };

/* Two long functions that add to `to`, a short one behind each, and the entry. */
static char *text_of(size_t bytes)
{
    char *text = malloc(2 * bytes + 1000), *to = text;
    assert_non_null(text);
    to += sprintf(to, "#include <stdint.h>\n#define TESS_PART static\n");
    for (int k = 0; k < 2; k++) {
        to += sprintf(to, "\n%s void part%d(volatile int *to)\n{\n", k ? "TESS_PART" : "static", k);
        for (size_t i = 0; i < bytes / LINE; i++)
            to += sprintf(to, "    *to += %d0;\n", k + 1);
        to += sprintf(to, "}\n\nstatic int between%d(void)\n{\n    return %d;\n}\n", k, k);
    }
    sprintf(to,
            "\nint entry(void)\n{\n    int sum = between1();\n    part0(&sum);\n    part1(&sum);\n"
            "    return sum + between0();\n}\n");
    return text;
}

static int times(const char *text, const char *word)
{
    int n = 0;
    for (; (text = strstr(text, word)) != NULL; text++)
        n++;
    return n;
}

static void functions_are_shared_out(void **state)
{
    (void)state;
    char *text = text_of(LONG), *piece[MOST_PIECES];
    assert_int_equal(tessi_cc_pieces(text, 2, piece), 2);
    for (int k = 0; k < 2; k++) {
        const char *other = piece[1 - k];
        assert_true(!times(piece[k], "+= 10;") == (times(other, "+= 10;") > 0));
        assert_true(!times(piece[k], "+= 20;") == (times(other, "+= 20;") > 0));
        assert_int_equal(times(piece[k], "hidden"), 2);
        assert_int_equal(times(piece[k], "noinline"), 1);
        assert_int_equal(times(piece[k], "between0(void)"), 1);
        assert_int_equal(times(piece[k], "int entry"), k == 0);
    }
    free(piece[0]);
    free(piece[1]);
    free(text);
}

static void what_does_not_pay_stays_whole(void **state)
{
    (void)state;
    char *piece[MOST_PIECES], *text = text_of(LONG), *small = text_of(1000),
                              *large = text_of(8 * LONG);
    assert_int_equal(tessi_cc_pieces(text, 1, piece), 1);
    assert_int_equal(tessi_cc_pieces(small, 4, piece), 1);
    assert_int_equal(tessi_cc_pieces(large, 4, piece), 1);
    free(text);
    free(small);
    free(large);
}

/* ---- Compiled ---------------------------------------------------------------------------------------------------- */

/* A folder for temporary files, which are to be gone afterwards, and a compiler. */
typedef struct Place {
    char folder[40], out[60];
    CcTool tool;
} Place;

static void begin(Place *place)
{
    Failure f = { 0 };
    strcpy(place->folder, "/tmp/tessera-pieces-XXXXXX");
    if (!mkdtemp(place->folder) || setenv("TMPDIR", place->folder, 1))
        fail();
    snprintf(place->out, sizeof place->out, "%s.so", place->folder);
    if (!tessi_cc_find(NULL, NULL, NULL, &place->tool, &f))
        skip();
}

static bool compile(const Place *place, const char *text, Failure *f)
{
    const CcJob job = {
        .tool = &place->tool, .c_text = text, .kind = CC_SHARED, .out = place->out
    };
    return tessi_cc_compile(&job, f);
}

static void end(Place *place)
{
    tessi_cc_dispose(&place->tool);
    unsetenv("TMPDIR");
    remove(place->out);
    assert_int_equal(rmdir(place->folder), 0); /* which it is not where something was left */
}

static void pieces_are_one_program(void **state)
{
    (void)state;
    Place place = { 0 };
    Failure f = { 0 };
    RtModule m;
    char *text = text_of(LONG);
    begin(&place);
    if (!compile(&place, text, &f))
        fail_msg("%s", f.text);
    assert_true(tessi_module_open(place.out, &m, &f));
    RtFunction found = tessi_module_function(&m, "entry", &f);
    int (*entry)(void);
    memcpy(&entry, &found, sizeof entry);
    assert_int_equal(entry(), 1 + 30 * (LONG / LINE));
    assert_null(tessi_module_function(&m, "part0", &f));
    tessi_module_close(&m);
    end(&place);
    free(text);
}

static void a_piece_that_fails_ends_all(void **state)
{
    (void)state;
    Place place = { 0 };
    Failure f = { 0 };
    char *text = text_of(LONG);
    begin(&place);
    memcpy(strstr(text, "+= 20;"), "+= no;", 6);
    assert_false(compile(&place, text, &f));
    assert_int_equal(f.status, TESS_ERROR_COMPILER);
    assert_non_null(strstr(f.text, "no"));
    assert_int_equal(access(place.out, F_OK), -1);
    end(&place);
    free(text);
}

static int stop_after_some(void *user, int change)
{
    int *asked = user;
    *asked += change == 0;
    return *asked > 3;
}

static void a_host_that_has_enough_ends_all(void **state)
{
    (void)state;
    Place place = { 0 };
    Failure f = { 0 };
    int asked = 0;
    const RtHost host = { stop_after_some, &asked };
    char *text = text_of(LONG);
    begin(&place);
    place.tool.host = &host;
    assert_false(compile(&place, text, &f));
    assert_true(asked > 3);
    assert_int_equal(access(place.out, F_OK), -1);
    end(&place);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_are_shared_out),
        cmocka_unit_test(what_does_not_pay_stays_whole),
        cmocka_unit_test(pieces_are_one_program),
        cmocka_unit_test(a_piece_that_fails_ends_all),
        cmocka_unit_test(a_host_that_has_enough_ends_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
