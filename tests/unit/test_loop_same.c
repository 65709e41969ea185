/* Which functions are the same but for their intermediate images, and what stands for what. */
#include "loop/loop_passes.h"
#include "unit/loop_testing.h"

#include "loop/loop_same.h"

#define HEAD                                       \
    "loops p\n"                                    \
    "param N\n"                                    \
    "input in: { \"\": float @0 } pixel 4 [N]\n"   \
    "output out: { \"\": float @0 } pixel 4 [N]\n" \
    "positive N\n"                                 \
    "buffer in: input 0/0 float[N]\n"              \
    "buffer out: output 0/0 float[N]\n"            \
    "buffer a: temp float[N]\n"                    \
    "buffer b: temp float[N]\n"                    \
    "buffer c: temp float[N]\n"                    \
    "buffer d: temp float[N - 1]\n"                \
    "buffer e: temp int32[N]\n"                    \
    "\n"
#define FUNCTION(name, to, value)                                                         \
    "function " name " {\n  parallel for x in 0 .. N - 1 {\n    store " to "[x] = " value \
    "\n  }\n}\n"

static LoopSame same(Arena *a, const char *functions, const LoopProgram **out)
{
    LoopProgram *p = loop_testing_read(a, tessi_sprintf(a, HEAD "%s", functions));
    assert_null(tessi_loop_verify(p));
    *out = p;
    return tessi_loop_same(p, a);
}

static bool pair_is_same(Arena *a, const char *first, const char *second)
{
    const LoopProgram *p;
    const LoopSame s = same(a, tessi_sprintf(a, "%s%s", first, second), &p);
    assert_int_equal(s.first[0], 0);
    assert_int_equal(s.n_same[0], s.first[1] == 0 ? 2 : 1);
    return s.first[1] == 0;
}

static void test_images_stand_for_each_other(void **state)
{
    const LoopProgram *p;
    const LoopSame s = same(*state,
                            FUNCTION("f", "b", "a[x] + a[x + 1]") FUNCTION("g", "out", "b[x]")
                                FUNCTION("h", "c", "b[x] + b[x + 1]"),
                            &p);
    assert_int_equal(s.first[2], 0);
    assert_int_equal(s.first[1], 1);
    assert_int_equal(s.n_same[0], 2);
    assert_int_equal(s.twins[2].n, 2);
    for (uint32_t i = 0; i < 2; i++) {
        const LoopTwin twin = s.twins[2].at[i];
        const char *first = p->buffers.at[twin.first.v].name,
                   *here = p->buffers.at[twin.here.v].name;
        assert_true((tessi_streq(first, "a") && tessi_streq(here, "b"))
                    || (tessi_streq(first, "b") && tessi_streq(here, "c")));
    }
}

static void test_differences(void **state)
{
    Arena *a = *state;
    const char *f = FUNCTION("f", "b", "a[x] * 2.0f");
    assert_true(pair_is_same(a, f, FUNCTION("g", "c", "b[x] * 2.0f")));
    assert_true(pair_is_same(a, f, FUNCTION("g", "a", "b[x] * 2.0f")));
    assert_false(pair_is_same(a, f, FUNCTION("g", "c", "b[x] * 3.0f")));
    assert_false(pair_is_same(a, f, FUNCTION("g", "c", "b[x + 1] * 2.0f")));
    assert_false(pair_is_same(a, f, FUNCTION("g", "c", "b[x] + 2.0f")));
    assert_false(
        pair_is_same(a, f, FUNCTION("g", "c", "in[x] * 2.0f"))); /* images of callers stay */
    assert_false(pair_is_same(a, f, FUNCTION("g", "out", "a[x] * 2.0f")));
    assert_false(pair_is_same(a, f, FUNCTION("g", "c", "c[x] * 2.0f"))); /* two images, and one */
    assert_false(pair_is_same(a, f, FUNCTION("g", "d", "b[x] * 2.0f"))); /* of another size */
    assert_false(pair_is_same(a, f, FUNCTION("g", "e", "i32(b[x] * 2.0f)")));
}

static void test_loops_and_order(void **state)
{
    Arena *a = *state;
    const char *f = FUNCTION("f", "c", "a[x] - b[x]");
    assert_true(pair_is_same(a, f, FUNCTION("g", "c", "b[x] - a[x]"))); /* a for b and b for a */
    assert_false(pair_is_same(a, f, FUNCTION("g", "c", "a[x] - a[x]")));
    assert_false(pair_is_same(
        a, f, "function g {\n  for x in 0 .. N - 1 {\n    store c[x] = a[x] - b[x]\n  }\n}\n"));
    assert_false(pair_is_same(
        a, f,
        "function g {\n  parallel for x in 1 .. N - 1 {\n    store c[x] = a[x] - b[x]\n  }\n}\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOOP_TEST(test_images_stand_for_each_other),
        LOOP_TEST(test_differences),
        LOOP_TEST(test_loops_and_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
