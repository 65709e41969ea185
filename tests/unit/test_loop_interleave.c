/* The order of steps that compute several rows: down the rows that they read, results side by side, and never past a
 * store. */
#include "loop/loop_passes.h"
#include "unit/loop_testing.h"

#define HEAD_WITH(out)                                \
    "loops p\n"                                       \
    "param M\n"                                       \
    "param N\n"                                       \
    "input in: { \"\": float @0 } pixel 4 [M, N]\n"   \
    "output out: { \"\": float @0 } pixel 4 [M, N]\n" \
    "positive M, N\n"                                 \
    "buffer in: input 0/0 float[M, N]\n"              \
    "buffer " out ": output 0/0 float[M, N]\n"        \
    "\n"                                              \
    "function f {\n"                                  \
    "  for y in 1 .. M - 2 step 2 {\n"                \
    "    simd for x in 0 .. N {\n"
#define HEAD HEAD_WITH("out")
#define TAIL "    }\n  }\n}\n"

static void check(Arena *a, const char *before, const char *after)
{
    LoopProgram *p = loop_testing_read(a, before);
    tessi_loop_interleave(p);
    assert_null(tessi_loop_verify(p));
    Text text = tessi_text_new(a);
    tessi_loop_print(p, &text);
    assert_string_equal(tessi_text_str(&text), after);
}

static void test_chains_run_side_by_side(void **state)
{
    check(*state,
          HEAD "      store out[y, x] = in[y - 1, x] * 2.0f + in[y, x] + in[y + 1, x]\n"
               "      store out[y + 1, x] = in[y, x] * 2.0f + in[y + 1, x] + in[y + 2, x]\n" TAIL,
          HEAD_WITH("out#1") "      let out#2: float = in[y - 1, x] * 2.0f\n"
                             "      let out#3: float = out#2 + in[y, x]\n"
                             "      let out#4: float = in[y, x] * 2.0f\n"
                             "      store out#1[y, x] = out#3 + in[y + 1, x]\n"
                             "      let out#5: float = out#4 + in[y + 1, x]\n"
                             "      store out#1[y + 1, x] = out#5 + in[y + 2, x]\n" TAIL);
}

static void test_definitions_stand_where_their_rows_are(void **state)
{
    check(*state,
          HEAD "      let last: float = in[y + 2, x] * in[y + 2, x]\n"
               "      # the first row\n"
               "      let first: float = in[y, x] * 3.0f\n"
               "      store out[y, x] = first\n"
               "      store out[y + 1, x] = first + last\n" TAIL,
          HEAD "      # the first row\n"
               "      let first: float = in[y, x] * 3.0f\n"
               "      store out[y, x] = first\n"
               "      let last: float = in[y + 2, x] * in[y + 2, x]\n"
               "      store out[y + 1, x] = first + last\n" TAIL);
}

/* One result, a condition, or a buffer that is read and written: nothing moves. */
static void test_what_stays_as_it_is(void **state)
{
    static const char *const texts[] = {
        HEAD "      store out[y, x] = in[y - 1, x] * 2.0f + in[y, x] + in[y + 1, x]\n" TAIL,
        HEAD "      store out[y, x] = out[y + 1, x] * 2.0f + in[y + 1, x]\n"
             "      store out[y + 1, x] = in[y, x] * 2.0f\n" TAIL,
        HEAD "      if x < 3 {\n"
             "        store out[y, x] = in[y + 1, x] * 2.0f\n"
             "      }\n"
             "      store out[y + 1, x] = in[y, x] * 2.0f + in[y + 1, x]\n"
             "      store out[y + 2, x] = in[y, x] * 2.0f\n" TAIL
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        check(*state, texts[i], texts[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOOP_TEST(test_chains_run_side_by_side),
        LOOP_TEST(test_definitions_stand_where_their_rows_are),
        LOOP_TEST(test_what_stays_as_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
