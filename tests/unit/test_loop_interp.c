/* The loop interpreter: it computes what the program says, and finds what no printed program can. */
#include "interp/loop_interp.h"
#include "unit/loop_testing.h"

enum { ROWS = 4, COLUMNS = 5, PITCH = 7 };

typedef struct World {
    float in[ROWS * PITCH], out[ROWS * PITCH];
    Failure failure;
} World;

static bool run(Arena *a, World *w, const char *statements)
{
    LoopProgram *p = loop_testing_read(a, loop_testing_wrap(a, "", statements));
    for (int i = 0; i < ROWS * PITCH; i++) {
        w->in[i] = (float)i;
        w->out[i] = -1.0f;
    }
    int64_t params[2] = { ROWS, COLUMNS };
    Value scalar = tessi_value_real(0.5);
    InterpImage in = { w->in, { ROWS, COLUMNS }, { PITCH * 4, 4 } };
    InterpImage out = { w->out, { ROWS, COLUMNS }, { PITCH * 4, 4 } };
    InterpArgs args = { .params = params, .scalars = &scalar, .inputs = &in, .outputs = &out };
    w->failure.status = 0;
    w->failure.text[0] = '\0';
    return tessi_interpret_loops(p, &args, &w->failure);
}

static void computes(void **state)
{
    World w;
    bool good = run(*state, &w,
                    "  parallel for y in 0 .. M {\n"
                    "    simd for x in 0 .. N {\n"
                    "      store temp[y, x] = in[y, x] + s\n"
                    "    }\n"
                    "  }\n"
                    "  parallel for y in 0 .. M {\n"
                    "    for x in 0 .. N {\n"
                    "      local line\n"
                    "      for k in 0 .. 3 {\n"
                    "        store line[k] = taps[2 - k] * temp[y, min(x + k, N - 1)]\n"
                    "      }\n"
                    "      sort line, 3\n"
                    "      var most: float = 0.0f\n"
                    "      for k in 0 .. 3 step 2 {\n"
                    "        set most = max(most, line[k])\n"
                    "      }\n"
                    "      if y == 1 {\n"
                    "        store out[y, x] = most\n"
                    "      } else {\n"
                    "        store out[y, x] = line[1]\n"
                    "      }\n"
                    "    }\n"
                    "  }\n");
    if (!good)
        fail_msg("%s", w.failure.text);
    assert_true(w.out[0] == 1.0f * 2.5f);              /* the middle one of 4*0.5, 2*1.5, 1*2.5 */
    assert_true(w.out[PITCH] == 4.0f * 7.5f);          /* the largest of 4*7.5, 2*8.5, 1*9.5 */
    assert_true(w.out[COLUMNS] == -1.0f);              /* padding is left alone */
    assert_true(w.out[2 * PITCH + 4] == 2.0f * 18.5f); /* clamped at the end of the row */
}

typedef struct Case {
    const char *statements, *said;
} Case;

static void faults_are_found(void **state)
{
    static const Case cases[] = {
        { "  store out[0, N] = s\n", "the store to 'out'[0, 5] is outside its size 4 x 5" },
        { "  store out[0, 0] = in[-1, 0]\n", "the load of 'in'[-1, 0] is outside its size 4 x 5" },
        { "  store out[0, 0] = taps[3]\n", "the load of 'taps'[3] is outside its size 3" },
        { "  store out[0, 0] = temp[1, 2]\n",
          "the load of 'temp'[1, 2] comes before any store to it" },
        { "  store out[0, 0] = out[0, 0]\n", "the load of 'out'[0, 0] comes before any store" },
        { "  add out[0, 0] += s\n", "the addition to 'out'[0, 0] comes before any store" },
        { "  for y in 0 .. 2 {\n    local line\n    if y == 0 {\n      store line[0] = s\n    }\n"
          "    store out[y, 0] = line[0]\n  }\n",
          "the load of 'line'[0] comes before any store" }, /* a new one in each iteration */
        { "  local line\n  store line[0] = s\n  sort line, 2\n",
          "the sort of 'line'[1] comes before any store" },
        { "  local line\n  sort line, 5\n", "the sort up to 'line'[4] is outside" },
        { "  for k in 0 .. N least 6 {\n    store out[0, 0] = s\n  }\n",
          "the loop over 'k' runs from 0 to 5, less than 6" },
        { "  parallel for y in 0 .. M {\n    store out[0, 0] = s\n  }\n",
          "stores to 'out'[0, 0] in iteration y = 1, and another iteration of the same loop "
          "touches it" },
        { "  store temp[0, 0] = s\n  parallel for y in 1 .. M {\n    store temp[y, 0] = temp[y - "
          "1, 0]\n  }\n",
          "loads 'temp'[1, 0] in iteration y = 2, and another iteration of the same loop stores to "
          "it" },
        { "  for x in 0 .. N {\n    store temp[0, x] = s\n  }\n"
          "  simd for x in 0 .. N - 1 {\n    store temp[0, x] = temp[0, x + 1]\n  }\n",
          "stores to 'temp'[0, 1] in iteration x = 1" },
        { "  for y in 0 .. 2 {\n    simd for x in 0 .. N {\n      store temp[y, 0] = s\n    }\n  "
          "}\n",
          "stores to 'temp'[0, 0] in iteration x = 1" }, /* the inner loop */
        { "  parallel for y in 0 .. 2 {\n    simd for x in 0 .. N {\n      store temp[0, x] = s\n  "
          "  }\n  }\n",
          "stores to 'temp'[0, 0] in iteration y = 1" }, /* the outer one */
        { "  local line\n  parallel for y in 0 .. M {\n    store line[0] = s\n  }\n",
          "stores to 'line'[0] in iteration y = 1" },
        { "  store counts[0] = 0u32\n  parallel for y in 0 .. M {\n    add counts[0] += 1u32\n  "
          "}\n",
          "stores to 'counts'[0] in iteration y = 1" },
        { "  store counts[0] = 0u32\n  parallel for y in 0 .. M {\n    atomic add counts[0] += "
          "1u32\n"
          "    store out[y, 0] = f32(counts[0])\n  }\n",
          "adds to 'counts'[0] in iteration y = 1" },
        { "  store out[0, (M + 9223372036854775807) * 0] = s\n  store out[0, M + N + "
          "9223372036854775807] = s\n",
          "index arithmetic overflows" },
        { "  store out[0, floordiv(N, M - 4)] = s\n", "an index is divided by 0" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        World w;
        if (run(*state, &w, cases[i].statements))
            fail_msg("no fault found in\n%s", cases[i].statements);
        if (!strstr(w.failure.text, cases[i].said) || !strstr(w.failure.text, "function 'f'"))
            fail_msg("%sgave: %s", cases[i].statements, w.failure.text);
    }
}

static void innocent_programs_pass(void **state)
{
    static const char *const innocent[] = {
        /* all read one element that was stored before the loop */
        "  store temp[0, 0] = s\n  parallel for y in 0 .. M {\n    store out[y, 0] = temp[0, 0]\n  "
        "}\n",
        /* an iteration reads what it stored itself */
        "  parallel for y in 0 .. M {\n    store temp[y, 0] = s\n    store out[y, 0] = temp[y, "
        "0]\n  }\n",
        /* the second loop reads what other iterations of the first one stored */
        "  parallel for y in 0 .. M {\n    store temp[y, 0] = s\n  }\n"
        "  parallel for y in 0 .. M {\n    store out[y, 0] = temp[M - 1 - y, 0]\n  }\n",
        /* a sequential loop may carry */
        "  store temp[0, 0] = s\n  for y in 1 .. M {\n    store temp[y, 0] = temp[y - 1, 0]\n  }\n",
        /* atomic additions agree with each other */
        "  store counts[1] = 0u32\n  parallel for y in 0 .. M {\n    atomic add counts[1] += "
        "1u32\n  }\n"
        "  store out[0, 0] = f32(counts[1])\n",
        /* each iteration has a LOCAL of its own */
        "  parallel for y in 0 .. M {\n    local line\n    store line[0] = s\n    store out[y, 0] "
        "= line[0]\n  }\n",
        /* the same SIMD loop again, in the next row */
        "  for y in 0 .. M {\n    simd for x in 0 .. N {\n      store temp[0, x] = s\n    }\n  }\n",
    };
    for (size_t i = 0; i < sizeof innocent / sizeof *innocent; i++) {
        World w;
        if (!run(*state, &w, innocent[i]))
            fail_msg("%s%s", innocent[i], w.failure.text);
    }
}

static void sizes_are_checked(void **state)
{
    LoopProgram *p = loop_testing_read(*state, loop_testing_wrap(*state, "positive M - 4\n", ""));
    float pixels[8] = { 0 };
    int64_t params[2] = { 4, 2 };
    Value scalar = tessi_value_real(0.5);
    InterpImage image = { pixels, { 4, 2 }, { 8, 4 } }, small = { pixels, { 2, 2 }, { 8, 4 } };
    InterpArgs args = { .params = params, .scalars = &scalar, .inputs = &image, .outputs = &image };
    Failure f = { 0 };
    assert_false(tessi_interpret_loops(p, &args, &f));
    assert_non_null(strstr(f.text, "a size of 'test' is 0"));
    args.inputs = &small;
    assert_false(tessi_interpret_loops(p, &args, &f));
    assert_non_null(strstr(f.text, "image 'in' has size 2 where the program says 4"));
    params[0] = 5;
    image.size[0] = 5;
    args.inputs = &image;
    args.memory_limit_bytes = 16;
    assert_false(tessi_interpret_loops(p, &args, &f));
    assert_non_null(strstr(f.text, "not enough memory for 'temp'"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOOP_TEST(computes),
        LOOP_TEST(faults_are_found),
        LOOP_TEST(innocent_programs_pass),
        LOOP_TEST(sizes_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
