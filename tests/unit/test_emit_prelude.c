/* Pruned preludes: what a program mentions is kept, through macros and conditions, and nothing else is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "emit/prelude.h"

static const char prelude[] = "/* What the file is for. */\n"
                              "#ifndef TESSERA_PRELUDE_TEST_H\n"
                              "#define TESSERA_PRELUDE_TEST_H\n"
                              "\n"
                              "#include <stdint.h>\n"
                              "#define FN static inline\n"
                              "/* ---- Sums ---- */\n"
                              "/* Of T. */\n"
                              "#define ADD(T, s)              \\\n"
                              "    FN T tess_add_##s(T a, T b) \\\n"
                              "    {                          \\\n"
                              "        return a + b;          \\\n"
                              "    }                          \\\n"
                              "    FN T tess_twice_##s(T a)   \\\n"
                              "    {                          \\\n"
                              "        return tess_add_##s(a, a); /* not tess_other */ \\\n"
                              "    }\n"
                              "ADD(int, i)\n"
                              "ADD(float, f)\n"
                              "FN int tess_other(void)\n"
                              "{\n"
                              "    return 0;\n"
                              "}\n"
                              "/* ---- By width ---- */\n"
                              "#if defined(WIDE)\n"
                              "#define LANES 8\n"
                              "#define NARROW(s) tess_wide_##s()\n"
                              "FN int tess_wide_i(void) { return LANES; }\n"
                              "#else\n"
                              "#include <narrow.h>\n"
                              "#define NARROW(s) tess_narrow_##s()\n"
                              "FN int tess_narrow_i(void) { return tess_other(); }\n"
                              "FN int tess_unused(void) { return 1; }\n"
                              "#endif\n"
                              "#define WIDTH NARROW\n"
                              "typedef struct pair {\n"
                              "    int a, b;\n"
                              "} tess_pair;\n"
                              "FN tess_pair tess_swap(tess_pair p)\n"
                              "{\n"
                              "#ifdef WIDE\n"
                              "    (void)p;\n"
                              "#endif\n"
                              "    return (tess_pair){ p.b, p.a };\n"
                              "}\n"
                              "#endif\n";

static void give_up(void *user) TESS_NORETURN;
static void give_up(void *user)
{
    (void)user;
    abort();
}

static Arena arena;

static const char *used(const char *program)
{
    Text out = tessi_text_new(&arena);
    tessi_prelude_used(prelude, program, &out);
    return tessi_text_str(&out);
}

static bool has(const char *text, const char *part)
{
    return strstr(text, part) != NULL;
}

static void test_nothing_is_used(void **state)
{
    (void)state;
    const char *text = used("/* tess_other */ \"tess_other\" 'tess_other' tess_others");
    assert_true(has(text, "#include <stdint.h>\n"));
    assert_false(has(text, "tess_other"));
    assert_false(has(text, "#if"));
    assert_false(has(text, "FN"));
    assert_false(has(text, "---- Sums"));
}

static void test_macros_make_names(void **state)
{
    (void)state;
    const char *text = used("tess_twice_f(1)");
    assert_true(has(text, "ADD(float, f)"));
    assert_true(has(text, "/* ---- Sums ---- */\n/* Of T. */\n#define ADD(T, s)"));
    assert_true(has(text, "#define FN static inline"));
    assert_false(has(text, "ADD(int, i)"));
    assert_false(has(text, "int tess_other"));
}

/* Functions of a macro go one by one; one that some invocation needs comes with all, and what it needs with it. */
static void test_members_of_macros_are_kept_one_by_one(void **state)
{
    (void)state;
    static const char members[] = "#define TESS_FN static\n"
                                  "#define BOTH(T, s)             \\\n"
                                  "    TESS_FN T tess_##s(T a)     \\\n"
                                  "    {                          \\\n"
                                  "        return tess_of_##s(a); \\\n"
                                  "    }                          \\\n"
                                  "    TESS_FN T tess_no_##s(T a)  \\\n"
                                  "    {                          \\\n"
                                  "        return a;              \\\n"
                                  "    }\n"
                                  "#define MORE(T, s)             \\\n"
                                  "    BOTH(T, s)                 \\\n"
                                  "    TESS_FN T tess_more_##s(T a) { return a; }\n"
                                  "TESS_FN int tess_of_i(int a) { return a; }\n"
                                  "TESS_FN float tess_of_f(float a) { return a; }\n"
                                  "TESS_FN float tess_of_g(float a) { return a; }\n"
                                  "MORE(int, i)\n"
                                  "BOTH(float, f)\n"
                                  "BOTH(float, g)\n";
    Text out = tessi_text_new(&arena);
    tessi_prelude_used(members, "tess_i(1); tess_no_f(2);", &out);
    const char *text = tessi_text_str(&out);
    assert_true(has(text, "T tess_##s(T a)") && has(text, "T tess_no_##s(T a)"));
    assert_true(has(text, "MORE(int, i)\nBOTH(float, f)\n"));
    assert_false(has(text, "tess_more"));
    assert_true(has(text, "int tess_of_i") && has(text, "float tess_of_f"));
    assert_false(has(text, "float tess_of_g"));

    out = tessi_text_new(&arena);
    tessi_prelude_used(members, "BOTH(int, h)\ntess_no_h(1);", &out);
    text = tessi_text_str(&out);
    assert_true(has(text, "#define BOTH(T, s)") && has(text, "\\\n    TESS_FN T tess_no_##s(T a)"));
    assert_false(has(text, "T tess_##s(T a)"));
}

static void test_all_outcomes_of_conditions_are_kept(void **state)
{
    (void)state;
    const char *text = used("WIDTH(i)");
    assert_true(has(text, "#define WIDTH NARROW\n"));
    assert_true(
        has(text, "#if defined(WIDE)\n#define LANES 8\n#define NARROW(s) tess_wide_##s()\n"));
    assert_true(has(text, "#else\n#include <narrow.h>\n#define NARROW(s) tess_narrow_##s()\n"));
    assert_true(has(text, "tess_narrow_i(void) { return tess_other(); }\n#endif\n"));
    assert_true(has(text, "int tess_other(void)"));
    assert_false(has(text, "tess_unused"));
    assert_false(has(text, "TESSERA_PRELUDE"));
}

static void test_functions_keep_their_types(void **state)
{
    (void)state;
    const char *text = used("x = tess_swap(x);");
    assert_true(has(text, "} tess_pair;\nFN tess_pair tess_swap(tess_pair p)\n{\n#ifdef WIDE\n"));
    assert_true(has(text, "return (tess_pair){ p.b, p.a };\n}\n"));
    assert_true(has(used("struct pair p;"), "} tess_pair;\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_used),
        cmocka_unit_test(test_macros_make_names),
        cmocka_unit_test(test_members_of_macros_are_kept_one_by_one),
        cmocka_unit_test(test_all_outcomes_of_conditions_are_kept),
        cmocka_unit_test(test_functions_keep_their_types),
    };
    tessi_arena_init(&arena, give_up, NULL);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    tessi_arena_dispose(&arena);
    return failed;
}
