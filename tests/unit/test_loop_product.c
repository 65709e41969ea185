/* Products of matrices that warps of kernels take: executed, printed and read back, and held to their rules. */
#include "interp/loop_interp.h"
#include "unit/loop_testing.h"

enum { N = 64, ROWS = 24, WORDS = 10, WEIGHTS = 72 };

static const char *kernel(Arena *a, const char *block, const char *statements)
{
    return tessi_sprintf(a,
                         "loops test\n"
                         "param N\n"
                         "input in: { \"\": uint32 @0 } pixel 4 [N]\n"
                         "output out: { \"\": int32 @0 } pixel 4 [N, 4]\n"
                         "buffer in: input 0/0 uint32[N]\n"
                         "buffer out: output 0/0 int32[N, 4]\n"
                         "buffer rows: local uint32[24, 10]\n"
                         "buffer words: local uint32[72]\n"
                         "buffer sums: local int32[5]\n"
                         "\nkernel f grid [1, 1, 1] block [%s] {\n"
                         "  local rows\n"
                         "  local words\n"
                         "  thread 0 for k in 0 .. 240 {\n"
                         "    store rows[floordiv(k, 10), floormod(k, 10)] = in[floormod(k, 64)]\n"
                         "  }\n"
                         "  thread 0 for k in 0 .. 72 {\n"
                         "    store words[k] = in[floormod(k * 7, 64)]\n"
                         "  }\n"
                         "%s}\n",
                         block, statements);
}

static const char product[] = "  thread 0 for t in 0 .. 64 {\n"
                              "    local sums\n"
                              "    for k in 0 .. 5 {\n"
                              "      store sums[k] = 7i32\n"
                              "    }\n"
                              "    product sums[1] += rows[3, 2] by 9 times words[5]\n"
                              "    for k in 0 .. 4 {\n"
                              "      store out[t, k] = sums[k + 1]\n"
                              "    }\n"
                              "  }\n";

static uint32_t value(uint32_t i)
{
    return 0x9e3779b9u * (i + 1);
}

/* Sum 2 r + c of a thread, from the definition. */
static int32_t expected(int lane, int r, int c)
{
    int32_t sum = 7;
    const int row = 3 + lane / 4 + 9 * r, column = lane % 4 * 2 + c;
    for (int k = 0; k < 32; k++) {
        const uint32_t bytes = value((uint32_t)(row * WORDS + 2 + k / 4) % (uint32_t)N);
        const uint32_t weights = value((uint32_t)(5 + column * 8 + k / 4) * 7 % (uint32_t)N);
        const int32_t weight = (int8_t)(weights >> k % 4 * 8 & 255);
        sum += (int32_t)(bytes >> k % 4 * 8 & 255) * weight;
    }
    return sum;
}

static void a_warp_multiplies(void **state)
{
    LoopProgram *p = loop_testing_read(*state, kernel(*state, "64, 1, 1", product));
    uint32_t in[N];
    int32_t out[N][4];
    int64_t params[] = { N };
    Failure f = { 0 };
    for (uint32_t i = 0; i < N; i++)
        in[i] = value(i);
    InterpImage images[] = { { in, { N }, { 4 } }, { out, { N, 4 }, { 16, 4 } } };
    InterpArgs args = { .params = params, .inputs = &images[0], .outputs = &images[1] };
    if (!tessi_interpret_loops(p, &args, &f))
        fail_msg("%s", f.text);
    for (int t = 0; t < N; t++)
        for (int k = 0; k < 4; k++)
            assert_int_equal(out[t][k], expected(t % 32, k / 2, k % 2));
}

static void texts_read_back(void **state)
{
    const char *text = kernel(*state, "64, 1, 1", product);
    assert_non_null(strstr(loop_testing_read_back(*state, text),
                           "product sums[1] += rows[3, 2] by 9 times words[5]\n"));
}

static void rules_are_kept(void **state)
{
    static const struct Case {
        const char *block, *statements, *said;
    } cases[] = {
        { "48, 1, 1",
          "  thread 0 for t in 0 .. 48 {\n    local sums\n"
          "    product sums[1] += rows[3, 2] by 9 times words[5]\n  }\n",
          "a product is not taken by whole warps" },
        { "64, 1, 1",
          "  thread 0 for t in 0 .. 64 {\n    local sums\n    if t < 3 {\n"
          "      product sums[1] += rows[3, 2] by 9 times words[5]\n    }\n  }\n",
          "a product is not taken by whole warps" },
        { "64, 1, 1",
          "  thread 0 for t in 0 .. 64 {\n    local sums\n    for k in 0 .. t {\n"
          "      product sums[1] += rows[3, 2] by 9 times words[5]\n    }\n  }\n",
          "a product is not taken by whole warps" },
        { "64, 1, 1",
          "  thread 0 for t in 0 .. 32 {\n    local sums\n"
          "    product sums[1] += rows[3, 2] by 9 times words[5]\n  }\n",
          "a product is not taken by whole warps" },
        { "64, 1, 1",
          "  thread 0 for t in 0 .. 64 {\n    local sums\n"
          "    product sums[1] += rows[3, 2] by 9 times in[5]\n  }\n",
          "a product is not of local rows of words and local words" },
        { "64, 1, 1",
          "  thread 0 for t in 0 .. 64 {\n    local sums\n"
          "    product words[1] += rows[3, 2] by 9 times words[5]\n  }\n",
          "a product is not of local rows of words and local words" },
        { "64, 1, 1",
          "  thread 0 for t in 0 .. 64 {\n    local sums\n"
          "    product sums[1] += rows[3, 2] by t times words[5]\n  }\n",
          "a step is a constant" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = kernel(*state, cases[i].block, cases[i].statements);
        loop_testing_refused(*state, text, cases[i].said);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOOP_TEST(a_warp_multiplies),
        LOOP_TEST(texts_read_back),
        LOOP_TEST(rules_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
