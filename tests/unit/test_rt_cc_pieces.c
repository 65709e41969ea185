/* A C text taken apart for compilers side by side: each function is in one piece, what follows them in the first. */
#include "rt/cc_pieces.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONG = 40000 };

/* Two long functions with names of their own, a short one between them, and the entry. */
static char *text_of(size_t bytes)
{
    char *text = malloc(2 * bytes + 1000), *to = text;
    assert_non_null(text);
    to += sprintf(to, "#include <stdint.h>\nstatic void first(int a);\n");
    for (int k = 0; k < 2; k++) {
        to += sprintf(to, "\nstatic void %s(int a)\n{\n", k ? "second" : "first");
        for (size_t i = 0; i < bytes; i += 16)
            to += sprintf(to, "    %s(a + 1);  \n", k ? "b" : "c");
        to += sprintf(to, "}\n\nstatic int between%d(void)\n{\n    return 1;\n}\n", k);
    }
    sprintf(to, "\nint entry(void)\n{\n    first(1), second(2);\n    return between0();\n}\n");
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
        assert_true(!times(piece[k], "    b(a + 1)") == (times(other, "    b(a + 1)") > 0));
        assert_true(!times(piece[k], "    c(a + 1)") == (times(other, "    c(a + 1)") > 0));
        assert_int_equal(times(piece[k], "hidden"), 2);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_are_shared_out),
        cmocka_unit_test(what_does_not_pay_stays_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
