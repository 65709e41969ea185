/* What threads of kernels hold, and shifts between them: executed, printed and read back, and held to their rules. */
#include "interp/loop_interp.h"
#include "unit/loop_testing.h"

enum { N = 64, WARP = 32 };

static const char *kernel(Arena *a, const char *block, const char *statements)
{
    return tessi_sprintf(a,
                         "loops test\n"
                         "param N\n"
                         "input in: { \"\": float @0 } pixel 4 [N]\n"
                         "output out: { \"\": float @0 } pixel 4 [N]\n"
                         "buffer in: input 0/0 float[N]\n"
                         "buffer out: output 0/0 float[N]\n"
                         "buffer x: held float[2]\n"
                         "buffer z: held int32[2]\n"
                         "buffer y: local float[2]\n"
                         "\nkernel f grid [1, 1, 1] block [%s] {\n%s}\n",
                         block, statements);
}

static const char load[] = "  local x\n"
                           "  thread 0 for t in 0 .. 64 {\n"
                           "    store x[0] = in[t]\n"
                           "  }\n";

static bool run(Arena *a, const char *statements, float *out, Failure *f)
{
    LoopProgram *p =
        loop_testing_read(a, kernel(a, "64, 1, 1", tessi_sprintf(a, "%s%s", load, statements)));
    float in[N];
    for (int i = 0; i < N; i++)
        in[i] = (float)i;
    int64_t params[] = { N };
    InterpImage images[] = { { in, { N }, { 4 } }, { out, { N }, { 4 } } };
    InterpArgs args = { .params = params, .inputs = &images[0], .outputs = &images[1] };
    f->text[0] = '\0';
    return tessi_interpret_loops(p, &args, f);
}

static void values_come_from_the_warp(void **state)
{
    static const int by[] = { 1, -1, 5, -31 };
    for (size_t k = 0; k < sizeof by / sizeof *by; k++) {
        float out[N];
        Failure f;
        const char *text = tessi_sprintf(*state,
                                         "  thread 0 for t in 0 .. 64 {\n"
                                         "    shift x[1] = x[0] by %d\n"
                                         "    store out[t] = x[1]\n"
                                         "  }\n",
                                         by[k]);
        if (!run(*state, text, out, &f))
            fail_msg("%s", f.text);
        for (int i = 0; i < N; i++) {
            const int lane = i % WARP + by[k];
            assert_true(out[i] == (float)(lane < 0 || lane >= WARP ? i : i + by[k]));
        }
    }
}

/* Threads may store what is there already, unless one reads it meanwhile. */
static void the_same_is_stored_twice(void **state)
{
    static const char *const refused[] = { "store out[0] = f32(t)",
                                           "store out[0] = 1.0f\n    store out[t] = out[0]" };
    float out[N];
    Failure f;
    const char *same = "  thread 0 for t in 0 .. 64 {\n    store out[min(t, 50)] = 2.0f\n  }\n";
    if (!run(*state, same, out, &f))
        fail_msg("%s", f.text);
    assert_true(out[50] == 2.0f);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        assert_false(
            run(*state,
                tessi_sprintf(*state, "  thread 0 for t in 0 .. 64 {\n    %s\n  }\n", refused[i]),
                out, &f));
        assert_non_null(strstr(f.text, "stores to 'out'[0] in iteration t = 1"));
    }
}

/* What another thread stores in the same loop may be there already, or not yet. */
static void races_are_found(void **state)
{
    float out[N];
    Failure f;
    assert_false(run(*state,
                     "  thread 0 for t in 0 .. 64 {\n"
                     "    store x[0] = 1.0f\n"
                     "    shift x[1] = x[0] by 1\n"
                     "    store out[t] = x[1]\n"
                     "  }\n",
                     out, &f));
    assert_non_null(strstr(f.text, "another iteration of the same loop touches it"));
    assert_false(run(*state,
                     "  thread 0 for t in 0 .. 64 {\n"
                     "    store out[t] = x[1]\n"
                     "  }\n",
                     out, &f));
    assert_non_null(strstr(f.text, "comes before any store"));
}

static void texts_read_back(void **state)
{
    const char *text = kernel(*state, "64, 1, 1",
                              tessi_sprintf(*state, "%s%s", load,
                                            "  thread 0 for t in 0 .. 64 {\n"
                                            "    shift x[1] = x[0] by -3\n"
                                            "    store out[t] = x[1]\n"
                                            "  }\n"));
    assert_non_null(strstr(loop_testing_read_back(*state, text), "] by -3\n"));
}

static void rules_are_kept(void **state)
{
    static const struct Case {
        const char *block, *statements, *said;
    } cases[] = {
        { "64, 1, 1", "  local x\n  thread 0 for t in 0 .. 32 {\n    store x[0] = 1.0f\n  }\n",
          "a held buffer is used where threads have not one iteration each" },
        { "64, 2, 1",
          "  local x\n  thread 1 for k in 0 .. 2 {\n  thread 0 for t in 0 .. 64 {\n    store x[0] "
          "= "
          "1.0f\n  }\n  }\n",
          "a held buffer is used where threads have not one iteration each" },
        { "64, 1, 1",
          "  local x\n  thread 0 for t in 0 .. 64 {\n    if t < 3 {\n      shift x[1] = x[0] by "
          "1\n   "
          " }\n  }\n",
          "a shift is not executed by whole warps" },
        { "48, 1, 1", "  local x\n  thread 0 for t in 0 .. 48 {\n    shift x[1] = x[0] by 1\n  }\n",
          "a shift is not executed by whole warps" },
        { "64, 1, 1", "  thread 0 for t in 0 .. 64 {\n    local x\n    store x[0] = 1.0f\n  }\n",
          "a held buffer is brought into being by a thread" },
        { "64, 1, 1",
          "  local x\n  local y\n  thread 0 for t in 0 .. 64 {\n    shift x[1] = y[0] by 1\n  }\n",
          "a shift is not between held buffers of one type" },
        { "64, 1, 1",
          "  local x\n  thread 0 for t in 0 .. 64 {\n    shift x[1] = x[0] by 32\n  }\n",
          "a shift by 32 leaves the warp" },
        { "64, 1, 1", "  local x\n  thread 0 for t in 0 .. 64 {\n    shift x[1] = x[0] by 0\n  }\n",
          "a shift by 0 leaves the warp" },
        { "64, 1, 1", "  local x\n  thread 0 for t in 0 .. 64 {\n    shift x[1] = x[0]\n  }\n",
          "expected 'by'" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = kernel(*state, cases[i].block, cases[i].statements);
        loop_testing_refused(*state, text, cases[i].said);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOOP_TEST(values_come_from_the_warp),
        LOOP_TEST(the_same_is_stored_twice),
        LOOP_TEST(races_are_found),
        LOOP_TEST(texts_read_back),
        LOOP_TEST(rules_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
