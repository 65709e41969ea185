/* The text form of loop programs: what is printed reads back identically, and nothing a text holds does harm. */
#include <math.h>

#include "loop/loop_passes.h"
#include "unit/loop_testing.h"

static const char everything[] =
    "loops \"a program\"\n"
    "## the plan\n"
    "##   and its reasons\n"
    "width 32\n"
    "param M\n"
    "param \"N#x\"\n"
    "scalar sigma: float\n"
    "scalar half: float16\n"
    "scalar x#1: bool\n"
    "input in: { r: uint8 @0, \"g.\": uint8 @1 } pixel 2 [M, \"N#x\"]\n"
    "input mix: { a: uint8 @0, b: double @1 } mixed 9 [M, \"N#x\"]\n"
    "output out: { \"\": float16 @0 } pixel 2 [M, \"N#x\"]\n"
    "positive M, \"N#x\" - 2, min(M, 7)\n"
    "buffer in.r: input 0/0 uint8[M, \"N#x\"]\n"
    "buffer mix: input 1/1 double[M, \"N#x\"]\n"
    "buffer out: output 0/0 float16[M, \"N#x\"]\n"
    "buffer total: temp int64[]\n"
    "buffer line: local float[9]\n"
    "buffer flags: table in memory bool[3] = { true, false, true }\n"
    "buffer reals: table double[2, 8] = { 0.1, -0.0, inf, -inf, nan, 1e+300, 5e-324, 3.0, 0.0, "
    "0.0, 0.0, 0.0,\n"
    "  0.0, 0.0, 0.0, 0.0 }\n"
    "buffer weights: constant float[5, 5]\n"
    "\n"
    "## computes\n"
    "## things\n"
    "function \"out<1>\" {\n"
    "  # a comment\n"
    "  #| of two lines\n"
    "  store total[] = -9223372036854775808i64\n"
    "  parallel for y in 0 .. M {\n"
    "    simd for x#2 in max(y - 3, 0) .. \"N#x\" * 2 + 1 step 4 least 3 {\n"
    "      let v: float = -f32(in.r[y, x#2]) * (sigma + half) - 0.5f\n"
    "      let x#3: bool = (v < inff | x#1) & ~flags[floormod(x#2, 3)] == true\n"
    "      local line\n"
    "      here at: index = x#2 + 1\n"
    "      keep held: float = line[at]\n"
    "      after next: index = at - 1 after held\n"
    "      unroll for k in 0 .. 9 {\n"
    "        store line[k] = fma(v, nanf, 1e+10f)\n"
    "      }\n"
    "      sort line, 9\n"
    "      var acc: int32 = 7i32 - (3i32 - i32(x#2)) % 2i32\n"
    "      if likely x#3 {\n"
    "        set acc = acc << 2i32 ^ sat_i32(mix[y, x#2])\n"
    "      } else {\n"
    "        store out[y, x#2] = f16(mix[y, x#2]) + round16(line[4])\n"
    "      }\n"
    "      atomic add total[] += i64(acc) / 3i64\n"
    "    }\n"
    "  }\n"
    "}\n"
    "\n"
    "function second {\n"
    "  parallel for strip in 0 .. 3 {\n"
    "  }\n"
    "  for x#4 in 0 .. 3 {\n"
    "    add total[] += 1i64\n"
    "  }\n"
    "}\n";

static void reads_back_identically(void **state)
{
    LoopProgram *p = loop_testing_read(*state, everything);
    assert_string_equal(loop_testing_print(*state, p), everything);
}

static void keeps_names_and_values(void **state)
{
    LoopProgram *p = loop_testing_read(*state, everything);
    assert_string_equal(p->name, "a program");
    assert_string_equal(p->comment, "the plan\n  and its reasons");
    assert_string_equal(p->params.at[1], "N#x");
    assert_string_equal(p->scalars.at[2].name, "x");
    assert_string_equal(p->inputs.at[0].channel_name[1], "g.");
    assert_false(p->inputs.at[1].uniform);
    assert_string_equal(p->functions.at[0].name, "out<1>");
    assert_string_equal(p->functions.at[0].comment, "computes\nthings");
    assert_string_equal(p->functions.at[0].body.at[0]->text, "a comment\nof two lines");
    assert_null(p->functions.at[1].comment);
    const LBuffer *reals = &p->buffers.at[7];
    assert_int_equal(reals->n_table, 16);
    assert_true(signbit(reals->table[1].f) != 0);
    assert_true(isnan(reals->table[4].f));
    assert_true(reals->table[6].f == 5e-324);
}

typedef struct Case {
    const char *text, *said;
} Case;

static void faults_get_one_sentence(void **state)
{
    static const Case cases[] = {
        { "", "expected 'loops', found 'the end'" },
        { "loops", "expected a name" },
        { "loops p\nparam", "expected a name" },
        { "loops p\nfoo x", "line 2: expected a declaration, found 'foo'" },
        { "loops p\nparam M\nparam M", "'M' is declared twice" },
        { "loops p\nbuffer b: heap float[2]", "'heap' is not a kind of buffer" },
        { "loops p\nbuffer b: temp float[2, 2, 2, 2, 2]", "at most 4 indices" },
        { "loops p\nbuffer b: temp complex[2]", "no type is called 'complex'" },
        { "loops p\nbuffer b: table float[1] = { 1.0 }", "expected a constant of type float" },
        { "loops p\nbuffer b: table in bool[1] = { true }",
          "tables are in constant memory, or 'in memory'" },
        { "loops p\nbuffer b: table uint8[1] = { 256u8 }", "256u8 does not fit its type" },
        { "loops p\nbuffer b: table int8[1] = { -129i8 }", "-129i8 does not fit its type" },
        { "loops p\nbuffer b: table double[1] = { 1e999 }", "the number 1e999 is too large" },
        { "loops p\nbuffer b: table double[1] = { 1e }", "no digits behind its 'e'" },
        { "loops p\nbuffer b: table double[1] = { 1.0q }", "'1.0q' is not a number" },
        { "loops p\nfunction f { let x: float = y }", "nothing is called 'y' here" },
        { "loops p\nfunction f { let x: float = 1.0f + 1 }",
          "'add' does not take arguments of these types" },
        { "loops p\nfunction f { let x: float = frob(1) }", "no operator is called 'frob'" },
        { "loops p\nfunction f { let x: float = min(1) }",
          "'min' takes another number of arguments" },
        { "loops p\nfunction f { let x: float = min(1, 2, 3, 4) }", "too many arguments" },
        { "loops p\nfunction f { let x: float = 1 }",
          "expected an expression of type float, found one of type index" },
        { "loops p\nfunction f { if 1 { } }", "expected an expression of type bool" },
        { "loops p\nfunction f { set x = 1 }", "no variable is called 'x'" },
        { "loops p\nfunction f { parallel x }", "expected 'for'" },
        { "loops p\nfunction f {", "expected a statement, found 'the end'" },
        { "loops p\nfunction f { ## x\n }", "a comment inside a block begins with '# '" },
        { "loops p\n# x\nfunction f { }", "a comment between declarations begins with '## '" },
        { "loops p\nparam \"M", "a quoted name has no end" },
        { "loops p\nparam \"\\zz\"", "without two hexadecimal digits" },
        { "loops p\nparam M $", "the character '$' has no meaning" },
        { "loops p\nparam M \x80", "the byte 128 has no meaning" },
        { "loops p\nbuffer b: temp float[99999999999999999999]", "does not fit its type" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        loop_testing_refused(*state, cases[i].text, cases[i].said);
        loop_testing_refused(*state, cases[i].text, "E0803");
    }
}

/* n times `open`, then `middle`, then n times `close`. */
static const char *nested(Arena *a, int n, const char *open, const char *middle, const char *close)
{
    Text t = tessi_text_new(a);
    for (int i = 0; i < n; i++)
        tessi_text_add(&t, open);
    tessi_text_add(&t, middle);
    for (int i = 0; i < n; i++)
        tessi_text_add(&t, close);
    return tessi_text_str(&t);
}

static void nesting_is_bounded(void **state)
{
    Arena *a = *state;
    const char *head =
        "loops p\nscalar s: float\nbuffer b: temp float[]\nfunction f { store b[] = ";
    const char *depth = nested(a, 100000, "(", "s", ")");
    loop_testing_refused(a, tessi_sprintf(a, "%s%s }", head, depth), "nested too deeply");
    const char *sum = nested(a, 5000, "s + ", "s", "");
    loop_testing_refused(a, tessi_sprintf(a, "%s%s }", head, sum),
                         "too large to be written in one piece");
    const char *calls = nested(a, 990, "sqrt(", "s", ")");
    const char *text = tessi_sprintf(a, "%s%s }", head, calls);
    LoopProgram *p = loop_testing_read(a, text);
    assert_non_null(strstr(loop_testing_print(a, p), calls));
    const char *blocks = nested(a, 100000, "if true { ", "", "}");
    loop_testing_refused(a, tessi_sprintf(a, "loops p\nfunction f { %s }", blocks),
                         "blocks are nested more than 64 deep");
}

/* Doubling by sharing: small as a graph, 2^40 nodes as a tree. */
static void trees_are_bounded(void **state)
{
    LoopProgram *p =
        loop_testing_read(*state, loop_testing_wrap(*state, "", "  store out[0, 0] = s\n"));
    LExprId x = tessi_lexpr_scalar(p, 0), none = { 0 };
    for (int i = 0; i < 40; i++)
        x = tessi_lexpr_op(p, OP_MUL, x, x, none);
    p->functions.at[0].body.at[0]->a = x;
    assert_non_null(strstr(tessi_loop_verify(p), "too large to be written in one piece"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOOP_TEST(reads_back_identically),  LOOP_TEST(keeps_names_and_values),
        LOOP_TEST(faults_get_one_sentence), LOOP_TEST(nesting_is_bounded),
        LOOP_TEST(trees_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
