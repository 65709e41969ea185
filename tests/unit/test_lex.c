/* The lexer: token kinds in both dialects, the values of numbers (against strtod), and text that is no program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "front/lex.h"
#include "support.h"

typedef struct Lexed {
    Arena arena;
    SourceMap sources;
    Diags diags;
    Tokens tokens;
} Lexed;

static void lex_bytes(Lexed *x, const char *text, size_t n, bool forma)
{
    support_arena_init(&x->arena);
    tessi_sources_init(&x->sources, &x->arena);
    tessi_diags_init(&x->diags, &x->arena, &x->sources);
    uint16_t file = tessi_sources_add(&x->sources, "t", text, n);
    x->tokens = tessi_lex(&x->arena, &x->diags, &x->sources.files.at[file], file, forma);
}

/* The tokens as letters: i integer, r real, n name, t type, s string, ! broken, or their own text. */
static void assert_lexes(const char *text, bool forma, const char *expected)
{
    Lexed x;
    lex_bytes(&x, text, strlen(text), forma);
    Text got = tessi_text_new(&x.arena);
    for (uint32_t i = 0; i + 1 < x.tokens.n; i++) {
        TokenKind kind = x.tokens.at[i].kind;
        const char *shown = kind == TOK_INT      ? "i"
                            : kind == TOK_REAL   ? "r"
                            : kind == TOK_NAME   ? "n"
                            : kind == TOK_TYPE   ? "t"
                            : kind == TOK_STRING ? "s"
                            : kind == TOK_BROKEN ? "!"
                                                 : tessi_token_text(kind);
        tessi_text_addf(&got, "%s%s", i ? " " : "", shown);
    }
    assert_string_equal(tessi_text_str(&got), expected);
    assert_int_equal(x.tokens.at[x.tokens.n - 1].kind, TOK_END);
    tessi_arena_dispose(&x.arena);
}

static void assert_one_error(const char *text, size_t n, bool forma, DiagCode code)
{
    Lexed x;
    lex_bytes(&x, text, n, forma);
    assert_int_equal(x.diags.n_errors, 1);
    assert_int_equal(x.diags.list.at[0].code, code);
    tessi_arena_dispose(&x.arena);
}

static void test_ranges_and_reals(void **state)
{
    (void)state;
    assert_lexes("1..4 ..5 1.. 1...5 X.r", false, "i .. i .. i i .. i .. r n . n");
    assert_lexes("1.5 .5 1. 1e-3 3.0f 3f 3d 0x1F 1.e2", false, "r r r r r r r i r");
    assert_lexes("1.5 1.5f 3..5 7", true, "r r i .. i i");
    assert_lexes("1.", true, "!");
    assert_lexes(".5", true, "!");
    assert_lexes("1e3", true, "!");
    assert_lexes("3f", true, "!");
    assert_lexes("0x1f", true, "!");
    assert_lexes("3px 0x 1.5ff", false, "!");
}

static void test_words_of_each_dialect(void **state)
{
    (void)state;
    assert_lexes("const xor true mask in where uint8 int", false, "const xor true n n n t t");
    assert_lexes("const xor true mask do while uint8 int", true, "n n n n do while n t");
    assert_lexes("stencils _a a_1", false, "n n n");
    assert_lexes("a << b >> c && d || e", false, "n << n >> n && n || n");
    assert_lexes("o<0>=X vector#2", true, "n < i >= n vector # i");
    assert_lexes("a % b", true, "n ! n");
}

static void test_comments(void **state)
{
    (void)state;
    assert_lexes("a // b\r\nc /* d\n * e */ f /**/ // end", false, "n n n");
    assert_lexes("\xef\xbb\xbf"
                 "a /* \xff\xfe */",
                 false, "n");
    assert_one_error("a /* b", 6, false, DIAG_UNCLOSED_COMMENT);
}

static void test_no_text(void **state)
{
    (void)state;
    assert_one_error("a \0\0\xff\xfe b", 8, false, DIAG_NOT_TEXT);
    assert_one_error("a \xc3", 3, false, DIAG_NOT_TEXT);         /* cut short */
    assert_one_error("a \xed\xa0\x80", 5, false, DIAG_NOT_TEXT); /* a surrogate */
    assert_one_error("a \xe2\x88\x92 b", 7, false, DIAG_BAD_CHARACTER);
    assert_one_error("$ $ $", 5, false, DIAG_BAD_CHARACTER); /* one a line */
    assert_one_error("use \"x", 6, false, DIAG_UNCLOSED_STRING);
    assert_one_error("\"x\"", 3, true, DIAG_NOT_IN_FORMA);
}

static void test_lengths(void **state)
{
    (void)state;
    static char word[LEX_LONGEST_WORD + 1];
    memset(word, 'a', sizeof word);
    assert_one_error(word, sizeof word, false, DIAG_LIMIT);
    memset(word, '7', sizeof word);
    assert_one_error(word, sizeof word, false, DIAG_LIMIT);
    char *file = calloc(LEX_LONGEST_FILE + 1, 1);
    memset(file, ' ', LEX_LONGEST_FILE + 1);
    assert_one_error(file, LEX_LONGEST_FILE + 1, false, DIAG_LIMIT);
    free(file);
}

static void test_integers(void **state)
{
    (void)state;
    uint64_t value = 0;
    assert_true(tessi_read_integer("9223372036854775807", 19, &value));
    assert_true(value == INT64_MAX);
    assert_false(tessi_read_integer("9223372036854775808", 19, &value));
    assert_true(tessi_read_integer("0x7fffFFFFffffFFFF", 18, &value));
    assert_true(value == INT64_MAX);
    assert_false(tessi_read_integer("0x8000000000000000", 18, &value));
    assert_true(tessi_read_integer("0000000000000000000000012", 25, &value));
    assert_int_equal(value, 12);
}

static void assert_reads_as_strtod(const char *text)
{
    double got = -1, want = strtod(text, NULL);
    bool fits = tessi_read_real(text, strlen(text), false, &got);
    if (fits != (want <= 1.7976931348623157e308) || (fits && memcmp(&got, &want, sizeof got)))
        fail_msg("%s: %a instead of %a", text, got, want);
    float want_single = strtof(text, NULL);
    fits = tessi_read_real(text, strlen(text), true, &got);
    if (fits != (want_single <= 3.40282347e38f) || (fits && got != (double)want_single))
        fail_msg("%sf: %a instead of %a", text, got, (double)want_single);
}

static void test_reals_at_the_edges(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "0.0",
        "1.",
        ".5",
        "0.1",
        "1e0",
        "1e22",
        "1e23",
        "8.5e-5",
        "123456789012345678901234567890",
        "9007199254740993.",
        "9007199254740992.5",
        "9007199254740993.0000000000000000000000000001",
        "2.2250738585072014e-308",
        "2.2250738585072011e-308",
        "4.9406564584124654e-324",
        "2.4703282292062327e-324",
        "2.4703282292062328e-324",
        "1e-400",
        "1e-99999999999",
        "1.7976931348623157e308",
        "1.7976931348623158e308",
        "1.7976931348623159e308",
        "1e309",
        "1e99999999999",
        "16777217.0",
        "16777219.",
        "1.00000005960464477539062501",
        "3.4028235e38",
        "3.4028236e38",
        "1.1754943508e-38",
        "1.4012984643e-45",
        "7.0064923e-46",
        "0.000000e5",
        "179769313486231570000000000000000000000000000000000000000000000000000000000000000000000e22"
        "2",
        "0."
        "0000000000000000000000000000000000000000000000000000000000000000000000000000000000000001",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_reads_as_strtod(texts[i]);
    char halfway[LEX_LONGEST_WORD + 1] = "4503599627370496.5";
    memset(halfway + 18, '0', LEX_LONGEST_WORD - 19);
    halfway[LEX_LONGEST_WORD - 1] = '1';
    assert_reads_as_strtod(halfway);
}

static void test_reals_at_random(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int round = 0; round < 40000; round++) {
        char text[64];
        seed = tessi_hash_u64(seed, (uint64_t)round);
        unsigned long long digits = seed >> (seed % 61);
        int exponent = (int)(seed / 64 % 700) - 360;
        if (round % 3 == 0)
            exponent /= 12;
        snprintf(text, sizeof text, "%llu.%llue%d", digits, (unsigned long long)(seed >> 40),
                 exponent);
        assert_reads_as_strtod(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranges_and_reals),
        cmocka_unit_test(test_words_of_each_dialect),
        cmocka_unit_test(test_comments),
        cmocka_unit_test(test_no_text),
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_reals_at_the_edges),
        cmocka_unit_test(test_reals_at_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
