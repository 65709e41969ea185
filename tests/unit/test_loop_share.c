/* Statements that are the same but for their surroundings: what gets names before them, and which are one part. */
#include "loop/loop_passes.h"
#include "loop/loop_same.h"
#include "unit/loop_testing.h"

#define HEAD                                                  \
    "loops p\n"                                               \
    "param M\n"                                               \
    "param N\n"                                               \
    "input in: { a: float @0, b: float @4 } pixel 8 [M, N]\n" \
    "output out: { \"\": float @0 } pixel 4 [M, N]\n"         \
    "positive M, N\n"                                         \
    "buffer in.a: input 0/0 float[M, N]\n"                    \
    "buffer in.b: input 0/1 float[M, N]\n"                    \
    "buffer out: output 0/0 float[M, N]\n"                    \
    "buffer p: local float[8, 16]\n"                          \
    "buffer q: local float[4, 16]\n"                          \
    "buffer r: local float[8, 32]\n"                          \
    "\n"                                                      \
    "function f {\n"                                          \
    "  parallel for y in 0 .. M - 8 {\n"                      \
    "    local p\n"                                           \
    "    local q\n"                                           \
    "    local r\n"
#define TAIL                                                \
    "    for x in 0 .. 16 {\n"                              \
    "      store out[y, x] = p[0, x] + q[0, x] + r[0, x]\n" \
    "    }\n"                                               \
    "  }\n"                                                 \
    "}\n"
/* Fills `to` from channel `c` with rows from `from` on. */
#define FILL(to, c, from, n)                                                        \
    "    for " n " in " from " .. " from " + 4 {\n"                                 \
    "      for x in 0 .. 16 {\n"                                                    \
    "        store " to "[" n " - " from ", x] = " c "[" n ", x] * 3.0f + " c "[" n \
    " + 1, x] * 5.0f + " c "[" n " + 2, x] * 7.0f\n"                                \
    "      }\n"                                                                     \
    "    }\n"

static LoopProgram *shared(Arena *a, const char *text)
{
    LoopProgram *p = loop_testing_read(a, text);
    tessi_loop_share(p);
    const char *fault = tessi_loop_verify(p);
    if (fault)
        fail_msg("%s", fault);
    return p;
}

static LoopParts parts_of(Arena *a, const LoopProgram *p)
{
    const LoopSame same = tessi_loop_same(p, a);
    return tessi_loop_parts(p, &same, a)[0];
}

/* The calls of the part that has most. */
static uint32_t most_calls(Arena *a, const LoopProgram *p)
{
    const LoopParts parts = parts_of(a, p);
    uint32_t most = 0;
    VEC_FOREACH (const LoopPart, part, &parts.parts)
        most = part->n_calls > most ? part->n_calls : most;
    return most;
}

static uint32_t count(const char *text, const char *word)
{
    uint32_t n = 0;
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
        n++;
    return n;
}

/* Other arrays, even of fewer rows, another channel and another place make no difference. */
static void test_surroundings_may_differ(void **state)
{
    LoopProgram *p =
        shared(*state, HEAD FILL("p", "in.a", "y", "v") FILL("q", "in.b", "(y + 3)", "v") TAIL);
    const LoopParts parts = parts_of(*state, p);
    assert_int_equal(most_calls(*state, p), 2);
    const LoopCall *second = NULL;
    VEC_FOREACH (const LoopCall, call, &parts.calls)
        if (parts.parts.at[call->part].n_calls == 2)
            second = call;
    assert_int_equal(second->shifts.n, 1);
    assert_int_equal(second->shifts.at[0].channels, 1);
    assert_int_equal(second->twins.n, 1);
    assert_string_equal(p->buffers.at[second->twins.at[0].here.v].name, "q");
}

/* Values that are the same for both stay where they are; others get a name before each. */
static void test_only_differences_get_names(void **state)
{
    Text text = tessi_text_new(*state);
    LoopProgram *p =
        shared(*state, HEAD FILL("p", "in.a", "y", "v") FILL("q", "in.a", "y", "v") TAIL);
    tessi_loop_print(p, &text);
    assert_int_equal(count(tessi_text_str(&text), "let "), 0);
    assert_int_equal(most_calls(*state, p), 2);

    p = shared(*state,
               HEAD FILL("p", "in.a", "(y + 1)", "v") FILL("q", "in.a", "(y * 2)", "v") TAIL);
    text.n = 0;
    tessi_loop_print(p, &text);
    assert_true(count(tessi_text_str(&text), "let t") >= 2);
    assert_int_equal(most_calls(*state, p), 2);
}

/* Rows of another length, other constants in what is computed, and variables that change are a difference. */
static void test_what_is_not_the_same(void **state)
{
    static const char *const texts[] = {
        HEAD FILL("p", "in.a", "y", "v") FILL("r", "in.a", "y", "v") TAIL,
        HEAD FILL("p", "in.a", "y", "v") "    for v in y .. y + 4 {\n"
                                         "      for x in 0 .. 16 {\n"
                                         "        store q[v - y, x] = in.a[v, x] * 3.0f + in.a[v + "
                                         "1, x] * 5.0f + in.a[v + 2, x] * 8.0f\n"
                                         "      }\n"
                                         "    }\n" TAIL,
        HEAD "    var last: float = 0.0f\n"
             "    for v in y .. y + 4 {\n"
             "      set last = last * in.a[v, 0] * 3.0f + in.a[v + 1, 0] * 5.0f + in.a[v + 2, 0] * "
             "7.0f\n"
             "      store p[v - y, 0] = last\n"
             "    }\n"
             "    for v in y .. y + 4 {\n"
             "      set last = last * in.a[v, 0] * 3.0f + in.a[v + 1, 0] * 5.0f + in.a[v + 2, 0] * "
             "7.0f\n"
             "      store q[v - y, 0] = last\n"
             "    }\n" TAIL
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_true(most_calls(*state, shared(*state, texts[i])) < 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOOP_TEST(test_surroundings_may_differ),
        LOOP_TEST(test_only_differences_get_names),
        LOOP_TEST(test_what_is_not_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
