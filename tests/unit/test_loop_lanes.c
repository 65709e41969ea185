/* Vectors in the loop language: what is printed reads back, rules that are broken are named, the interpreter
 * computes lanes and finds what is wrong with them, and the passes that make vectors keep what a program computes. */
#include "interp/loop_interp.h"
#include "loop/loop_passes.h"
#include "unit/loop_testing.h"

enum { ROWS = 3, COLUMNS = 150 };

/* ---- Text and rules ---------------------------------------------------------------------------------------------- */

static void everything_reads_back(void **state)
{
    const char *text = loop_testing_wrap(
        *state,
        "buffer bytes: temp uint8[64]\n"
        "buffer sum: local float v32[vectors_v32(49)]\n",
        "  for at in 0 .. N step 2 v32 {\n"
        "    let x: index = min(at, N - lanes_v32())\n"
        "    let in_row: float row v32 = row_v32(in[1, x])\n"
        "    var t: float v32 = splat_v32(s) * at(in_row, -1) + ramp_v32_f32(x)\n"
        "    local sum\n"
        "    store sum[0] = t\n"
        "    prefetch in[0, x + 400]\n"
        "    set t = select(t < load_v32(in[0, x]), sum[0], t)\n"
        "    store out[0, x] = t stream if N < 100\n"
        "  }\n"
        "  let i: index v32 = ramp_v32_index(3)\n"
        "  let two: float both v32 = both(each_v32(in[i, i]), each_v32(in[i, min(i + "
        "ramp_v32_index(1), i)]))\n"
        "  store out[1, 0] = at(two, 0) + at(two, 1)\n"
        "  store out[1, 0] = near_v32(in[1, i])\n"
        "  store out[1, 4] = apart_v32(in[1, 2], 6)\n"
        "  store out[2, 4] = apart_v32(in[1, 90], -2)\n"
        "  spread out[3, 4] = splat_v32(s) by 3\n"
        "  let even: uint16 v16 = evens_v16(bytes[0])\n"
        "  let odd: uint16 v16 = low(odds_v16(bytes[0]) + splat_v16(3u16))\n"
        "  let both: uint8 v8 = pairs(even, odd)\n"
        "  store bytes[0] = both\n");
    /* Reals do not count up. */
    loop_testing_refused(*state, text, "a vector counts up from no index");
    char *sound = tessi_strdup(*state, text), *at = strstr(sound, "ramp_v32_f32(x)");
    memcpy(at, "f32(ramp_v32_i3", 15);
    const char *rest = strstr(text, "ramp_v32_f32(x)") + 15;
    sound =
        (char *)tessi_sprintf(*state, "%.*sf32(ramp_v32_i32(x))%s", (int)(at - sound), text, rest);
    const char *printed = loop_testing_read_back(*state, sound);
    assert_non_null(strstr(printed, "  for at in 0 .. N step 2 v32 {\n"));
    assert_non_null(strstr(printed, "var t: float v32 = splat_v32(s) * at(in_row, -1) + f32("));
    assert_non_null(strstr(printed, "let two: float both v32 = both(each_v32(in[i, i]), each_"));
    assert_non_null(strstr(printed, "let both: uint8 v8 = pairs(even, odd)\n"));
}

typedef struct Case {
    const char *statements, *said;
} Case;

static void broken_vectors_are_refused(void **state)
{
    static const Case cases[] = {
        { "  let v: float v32 = s\n", "a value has not as many lanes as it should" },
        { "  let v: float = splat_v32(s)\n", "a value has not as many lanes as it should" },
        { "  let v: float v32 = splat_v32(s) + s\n", "other lanes than its own" },
        { "  let v: float v32 = splat_v32(s) + splat_v64(s)\n", "other lanes than its own" },
        { "  let v: float v16 = splat_v16(s)\n", "a lane cannot hold its value" },
        { "  if splat_v32(s) < splat_v32(s) {\n  }\n", "has not as many lanes" },
        { "  store out[0, 0] = splat_v32(s)\n  store taps[0] = s\n", "only to be read" },
        { "  store red[0, 0] = u8(ramp_v64_i32(0))\n  store red[0, 0] = splat_v8(1u8)\n",
          "has no room for it side by side" },
        { "  let v: float v32 = load_v32(pixels[0, 0])\n", "do not lie side by side" },
        { "  let v: int16 v16 = evens_v16(in[0, 0])\n", "even and odd elements are bytes" },
        { "  let v: float row v32 = load_v32(in[0, 0])\n", "'v' is no row" },
        { "  let v: float v32 = row_v32(in[0, 0])\n", "a row is no value" },
        { "  let v: float row v32 = row_v32(in[0, 0])\n  let w: float v32 = v + v\n",
          "a row is no value" },
        { "  let v: float row v32 = row_v32(temp[0, 0])\n  store temp[0, 0] = s\n",
          "stored to while a row of it is in use" },
        { "  let v: float row v32 = row_v32(in[0, 0])\n  let w: float v32 = at(v, 17)\n",
          "too far from the place of its row" },
        { "  let v: float v32 = apart_v32(in[0, 0], 65)\n", "does not take such arguments" },
        { "  spread temp[0, 0] = s by 2\n", "is no vector, or its elements are not apart" },
        { "  spread temp[0, 0] = splat_v32(s) by 1\n", "or its elements are not apart" },
        { "  let v: uint8 v16 = apart_v16(bytes[0], 3)\n",
          "elements apart are of pixels of one type" },
        { "  let i: index v32 = ramp_v32_index(0)\n  let v: float v32 = near_v32(in[i, 0])\n",
          "elements near each other lie side by side in one row" },
        { "  let v: float both v32 = both(load_v32(in[0, 0]), load_v32(in[0, 1]))\n",
          "elements of one buffer that each lane has of its own" },
        { "  let i: index v32 = ramp_v32_index(0)\n"
          "  let v: float both v32 = both(each_v32(in[0, i]), each_v32(in[1, i]))\n",
          "both are not elements of one row" },
        { "  let i: index v32 = ramp_v32_index(0)\n"
          "  let v: float both v32 = both(each_v32(in[i, 0]), each_v32(in[i, 1]))\n",
          "both are not elements that lie side by side" },
        { "  let i: index v32 = ramp_v32_index(0)\n"
          "  let v: float both v32 = both(each_v32(in[0, i]), each_v32(in[0, i]))\n"
          "  let w: float v32 = at(v, 2)\n",
          "too far from the place of its row" },
        { "  let w: float v32 = at(splat_v32(s), 1)\n", "read near no row" },
        { "  let v: uint8 v8 = pairs(splat_v16(1u16), splat_v16(1i16))\n",
          "pairs are not made of lanes of 16 bits" },
        { "  let v: int32 v32 = low(splat_v32(1i32))\n", "low bytes are of lanes of 16 bits" },
        { "  for x in 0 .. N step 65 v32 {\n  }\n", "a loop over vectors" },
        { "  simd for x in 0 .. N step 1 v32 {\n  }\n", "a loop over vectors" },
        { "  sort line, lanes_v32(3)\n", "takes another number of arguments" },
        { "  let n: index = vectors_v32(N)\n", "does not take such arguments" },
        { "  let n: index = vectors_v32(0)\n", "a constant number of values" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = loop_testing_wrap(
            *state,
            "output rgb: { r: float @0, g: float @4 } pixel 8 [M, N]\n"
            "output small: { r: uint8 @0, g: uint8 @1, b: uint8 @2 } pixel 3 [M, N]\n"
            "buffer pixels: output 1/0 float[M, N]\n"
            "buffer red: output 2/0 uint8[M, N]\n"
            "buffer bytes: temp uint8[64]\n",
            cases[i].statements);
        loop_testing_refused(*state, text, cases[i].said);
    }
}

static void kernels_have_no_vectors(void **state)
{
    loop_testing_refused(*state,
                         "loops k\nbuffer b: temp float[64]\n\n"
                         "kernel f grid [1, 1, 1] block [1, 1, 1] {\n"
                         "  store b[0] = splat_v32(1.0f)\n}\n",
                         "a kernel computes in vectors");
}

/* ---- Execution --------------------------------------------------------------------------------------------------- */

typedef struct World {
    float in[ROWS * COLUMNS], out[ROWS * COLUMNS];
    Failure failure;
} World;

static bool run(LoopProgram *p, World *w, int64_t columns)
{
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        w->in[i] = (float)((i * 37) % 101) / 8.0f;
        w->out[i] = -1.0f;
    }
    const int64_t params[2] = { ROWS, columns };
    const Value scalar = tessi_value_real(0.5);
    const InterpImage in = { w->in, { ROWS, columns }, { COLUMNS * 4, 4 } };
    const InterpImage out = { w->out, { ROWS, columns }, { COLUMNS * 4, 4 } };
    const InterpArgs args = {
        .params = params, .scalars = &scalar, .inputs = &in, .outputs = &out
    };
    w->failure.status = 0;
    w->failure.text[0] = '\0';
    return tessi_interpret_loops(p, &args, &w->failure);
}

static void lanes_are_executed(void **state)
{
    World w;
    LoopProgram *p = loop_testing_read(
        *state, loop_testing_wrap(*state, "buffer sum: local float v32[vectors_v32(8)]\n",
                                  "  local sum\n"
                                  "  store sum[vectors_v32(8) - 1] = load_v32(in[1, 3])\n"
                                  "  let r: float row v32 = row_v32(in[0, 4])\n"
                                  "  store out[0, 0] = sum[1] * splat_v32(s) + at(r, -2)\n"
                                  "  store out[1, 0] = f32(ramp_v32_u8(254))\n"
                                  "  store out[2, 0] = f32(lanes_v64())\n"));
    assert_true(run(p, &w, 20));
    for (int i = 0; i < 4; i++) {
        assert_true(w.out[i] == w.in[COLUMNS + 3 + i] * 0.5f + w.in[2 + i]);
        assert_true(w.out[COLUMNS + i] == (float)((254 + i) % 256));
    }
    assert_true(w.out[4] == -1.0f);
    assert_true(w.out[2 * COLUMNS]
                == 2.0f); /* vectors of 16 bytes, where nobody says another number */
}

static void faults_of_lanes_are_found(void **state)
{
    static const Case cases[] = {
        { "  store out[0, 5] = splat_v32(s)\n", "the store to 'out'[0, 8] is outside its size" },
        { "  store out[0, 0] = load_v32(in[0, 6])\n", "the load of 'in'[0, 8] is outside" },
        { "  let r: float row v32 = row_v32(in[0, 5])\n  store out[0, 0] = at(r, -1)\n",
          "the load of 'in'[0, 8] is outside" },
        { "  let r: float row v32 = row_v32(in[0, 2])\n  store out[0, 0] = at(r, -3)\n",
          "the load of 'in'[0, -1] is outside" },
        { "  store temp[0, 0] = s\n  store out[0, 0] = load_v32(temp[0, 0])\n",
          "the load of 'temp'[0, 1] comes before any store to it" },
        { "  local sum\n  store sum[0] = splat_v32(s)\n  store out[0, 0] = sum[1]\n",
          "the load of 'sum'[1] comes before any store to it" },
        { "  for x in 0 .. 9 {\n    store bytes[x] = 1u8\n  }\n"
          "  let e: uint16 v16 = odds_v16(bytes[2])\n  store out[0, 0] = s\n",
          "the load of 'bytes'[9] is outside its size" },
        { "  parallel for x in 0 .. 2 {\n    store out[0, x] = splat_v32(s)\n  }\n",
          "another iteration of the same loop touches it" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        World w;
        const char *fault;
        LoopProgram *p = loop_testing_try(
            *state,
            loop_testing_wrap(*state,
                              "buffer sum: local float v32[2]\nbuffer bytes: temp uint8[9]\n",
                              cases[i].statements),
            &fault);
        if (p && run(p, &w, 8))
            fail_msg("%swas executed", cases[i].statements);
        if (!strstr(p ? w.failure.text : fault, cases[i].said))
            fail_msg("%sexpected '%s', got '%s'", cases[i].statements, cases[i].said,
                     p ? w.failure.text : fault);
    }
}

/* ---- Passes ------------------------------------------------------------------------------------------------------ */

static const char sums[] = "  parallel for y in 0 .. M {\n"
                           "    simd for x in 5 .. N {\n"
                           "      var sum: float = s\n"
                           "      for k in -5 .. 30 {\n"
                           "        set sum = fma(f32(k), in[y, max(min(x + k, N - 1), 0)], sum)\n"
                           "      }\n"
                           "      store out[y, x] = sum\n"
                           "    }\n"
                           "  }\n";
static const char window[] = "  for y in 0 .. M {\n"
                             "    for x in 0 .. N + 40 {\n"
                             "      store long[y, x] = in[y, min(x, N - 1)]\n"
                             "    }\n"
                             "    simd for x in 3 .. N {\n"
                             "      var sum: float = s\n"
                             "      for k in -2 .. 35 {\n"
                             "        set sum = fma(f32(k), long[y, x + k], sum)\n"
                             "      }\n"
                             "      store out[y, x] = sum * 2.0f\n"
                             "    }\n"
                             "  }\n";
static const char stencil[] =
    "  simd 2 for x in 1 .. N - 1 {\n"
    "    store out[0, x] = in[0, x - 1] + in[0, x + 1] * f32(i32(x))\n"
    "    store out[1, x] = select(in[1, x - 1] < in[1, x], in[1, x + 1], s)\n"
    "  }\n";
/* What is held before column 0 takes a vector, as tiles have it; one place has a name. */
static const char held_before[] =
    "  for y in 0 .. M {\n"
    "    for x in 0 .. N + 40 {\n"
    "      store long[y, x] = in[y, min(x, N - 1)]\n"
    "    }\n"
    "    simd for x in 0 .. N {\n"
    "      let t: index = x + 17\n"
    "      let a: float = long[y, x + 16]\n"
    "      store out[y, x] = a - long[y, t] - long[y, x + 15] * long[y, t]\n"
    "    }\n"
    "  }\n";
static const char carried[] = "  for y in 0 .. M {\n"
                              "    for x in 0 .. N {\n"
                              "      store out[y, x] = in[y, x]\n"
                              "    }\n"
                              "  }\n"
                              "  simd for x in 0 .. N {\n"
                              "    store out[1, x] = out[0, x] + out[1, x]\n"
                              "  }\n";
static const char bytes[] =
    "  for x in 0 .. N {\n"
    "    store narrow[x] = sat_u8(in[0, x] * 20.0f)\n"
    "  }\n"
    "  simd 2 for x in 2 .. N - 3 {\n"
    "    let t: int16 = i16(narrow[x - 2]) + i16(narrow[x - 1]) - i16(narrow[x + 1])\n"
    "    store cut[x] = u8(t * 3i16)\n"
    "    store held[x] = sat_i8(t - i16(narrow[x + 3]))\n"
    "  }\n"
    "  for x in 2 .. N - 3 {\n"
    "    store out[0, x] = f32(cut[x]) + f32(held[x]) * 1000.0f\n"
    "  }\n";
/* Two sums that choose by the same truth values. */
static const char weighed[] = "  simd for x in 0 .. N - 6 {\n"
                              "    let t0: bool = in[0, x + 0] < s\n"
                              "    let t1: bool = in[0, x + 1] < s\n"
                              "    let t2: bool = in[0, x + 2] < s\n"
                              "    let t3: bool = in[0, x + 3] < s\n"
                              "    let t4: bool = in[0, x + 4] < s\n"
                              "    let t5: bool = in[0, x + 5] < s\n"
                              "    let t6: bool = in[0, x + 6] < s\n"
                              "    let v2: float = fma(2.5f, select(t2, in[0, x + 2], 0.0f), "
                              "fma(1.5f, select(t1, in[0, x + 1], 0.0f), "
                              "0.5f * select(t0, in[0, x + 0], 0.0f)))\n"
                              "    let v4: float = fma(4.5f, select(t4, in[0, x + 4], 0.0f), "
                              "fma(3.5f, select(t3, in[0, x + 3], 0.0f), v2))\n"
                              "    let v: float = fma(6.5f, select(t6, in[0, x + 6], 0.0f), "
                              "fma(5.5f, select(t5, in[0, x + 5], 0.0f), v4))\n"
                              "    let w2: float = fma(2.5f, select(t2, 1.0f, 0.0f), "
                              "fma(1.5f, select(t1, 1.0f, 0.0f), "
                              "0.5f * select(t0, 1.0f, 0.0f)))\n"
                              "    let w4: float = fma(4.5f, select(t4, 1.0f, 0.0f), "
                              "fma(3.5f, select(t3, 1.0f, 0.0f), w2))\n"
                              "    let w: float = fma(6.5f, select(t6, 1.0f, 0.0f), "
                              "fma(5.5f, select(t5, 1.0f, 0.0f), w4))\n"
                              "    store out[0, x] = v / w\n"
                              "    store out[1, x] = w\n"
                              "  }\n";

/* A row sampled between its elements: the index of the second may be that of the first, or far before it. */
static const char between[] =
    "  simd for x in 0 .. N {\n"
    "    let at: float = in[1, x] * 40.0f + f32(i32(x))\n"
    "    let first: int32 = i32(floor(at))\n"
    "    let a: float = in[0, min(max(index(first), 0), N - 1)]\n"
    "    let b: float = in[0, min(max(index(first + 1i32), 0), N - 1)]\n"
    "    store out[0, x] = fma(b - a, at - f32(first), a)\n"
    "    store out[1, x] = a + in[0, min(max(index(first + 2i32), 0), N - 1)]\n"
    "    store out[2, x] = in[0, min(max(index(first - 1i32), 0), N - 1)]\n"
    "  }\n";

/* Two points for each, the second one first. */
static const char doubled[] = "  simd for x in 0 .. floordiv(N, 2) {\n"
                              "    store out[1, x * 2 + 1] = in[0, x] + in[0, x + 1]\n"
                              "    store out[1, x * 2] = in[0, x]\n"
                              "  }\n";

/* The same where the second index is turned back beyond the last element, and the first below 0. */
static const char folded[] =
    "  simd for x in 0 .. N {\n"
    "    let at: float = in[1, x] * 40.0f + f32(i32(x))\n"
    "    let first: int32 = i32(floor(at))\n"
    "    let next: int32 = first + 1i32\n"
    "    let e: int32 = i32(N) - 1i32\n"
    "    let p: int32 = select(first < 0i32, -first, first)\n"
    "    let q: int32 = select(e < next, 2i32 * e - next, next)\n"
    "    let a: float = in[0, min(max(index(first), 0), N - 1)]\n"
    "    let b: float = in[0, min(max(index(q), 0), N - 1)]\n"
    "    store out[0, x] = fma(b - a, at - f32(first), a)\n"
    "    store out[1, x] = in[2, min(index(p), N - 1)] + in[2, min(index(first + 1i32), N - 1)]\n"
    "  }\n";

/* Each second element, as integers, of which compilers make no vectors. */
static const char second[] =
    "  simd for x in 0 .. floordiv(N - 1, 2) {\n"
    "    let t: index = x * 2\n"
    "    store out[0, x] = f32(sat_u8(in[0, t + 1] * 9.5f)) + in[1, 3 + t - 2]\n"
    "  }\n";

typedef struct Rewriting {
    const char *statements, *pass, *leaves; /* NULL: not that */
} Rewriting;

/* Runs the passes up to the one named, and says whether its text has what is looked for. */
static bool rewritten(Arena *a, LoopProgram *p, const Rewriting *r)
{
    for (const LoopPass *pass = tessi_loop_passes(); pass->name; pass++) {
        pass->run(p);
        const char *fault = tessi_loop_verify(p);
        if (fault)
            fail_msg("after %s: %s", pass->name, fault);
        if (tessi_streq(pass->name, r->pass))
            break;
    }
    return strstr(loop_testing_print(a, p), r->leaves) != NULL;
}

static void passes_keep_what_is_computed(void **state)
{
    static const Rewriting all[] = {
        { window, "slide", "local sum" },
        { window, "late", "prefetch" },
        { sums, "lanes", "each_v64(in" }, /* what is read does not lie side by side */
        { stencil, "lanes", "step 2 v32" },
        { stencil, "rows", "row_v32(in[" },
        { stencil, "late", "let out#2: float v32 = " },
        { between, "both", "at(in_both#2, 1)" },
        { folded, "both", "at(in_both#1, 1)" },
        { second, "lanes", "apart_v32(in[0, x * 2 + 1], 2)" },
        { doubled, "lanes", "spread out[1, x * 2 + 1] = " },
        { held_before, "rows", "row_v32(long[y, x + 16])" },
        { carried, "lanes", "let x_rest: index = " },
        { bytes, "pairs", "pairs(" },
        { bytes, "rows", "odds_v16(narrow[x - 2])" },
        { bytes, "late", "pairs(" },
        { weighed, "chains", "splat_v32(0.0f))\n      let t1#1" }, /* a second truth value */
    };
    static const int64_t columns[] = { 4, 7, 8, 9, 17, 31, 40, 64, 65, 101 };
    static const int widths[] = { 16, 32, 64 };
    for (size_t i = 0; i < 3 * sizeof all / sizeof *all; i++) {
        const Rewriting *r = &all[i / 3];
        const char *text = loop_testing_wrap(
            *state,
            tessi_sprintf(*state,
                          "vectors %d\nbuffer long: temp float[M, N + 40]\n"
                          "buffer narrow: temp uint8[N]\nbuffer cut: temp uint8[N]\n"
                          "buffer held: temp int8[N]\n",
                          widths[i % 3]),
            r->statements);
        LoopProgram *before = loop_testing_read(*state, text),
                    *after = loop_testing_read(*state, text);
        const bool found = rewritten(*state, after, r);
        if (!found && !(r->statements == bytes && tessi_streq(r->pass, "rows")))
            fail_msg("%s, %d bytes: no '%s' in\n%s", r->pass, widths[i % 3], r->leaves,
                     loop_testing_print(*state, after));
        for (size_t k = 0; k < sizeof columns / sizeof *columns; k++) {
            World want, got;
            if (!run(before, &want, columns[k]) || !run(after, &got, columns[k]))
                fail_msg("%s, %d bytes: %s%s", r->pass, widths[i % 3], want.failure.text,
                         got.failure.text);
            assert_memory_equal(want.out, got.out, sizeof want.out);
        }
    }
}

/* Every eighth element of a row: as there are an eighth as many, 32 bits hold where they are. */
static void parts_of_rows_have_narrow_indices(void **state)
{
    static const Rewriting cells = { "  simd for x in 0 .. floordiv(N, 8) {\n"
                                     "    var sum: float = s\n"
                                     "    for j in 0 .. 8 {\n"
                                     "      set sum = sum + in[0, x * 8 + j]\n"
                                     "    }\n"
                                     "    store out[0, x] = sum\n"
                                     "  }\n",
                                     "lanes", "each_v32(in" };
    LoopProgram *p = loop_testing_read(
        *state,
        loop_testing_wrap(*state, "vectors 32\npositive N, floordiv(N, 8)\n", cells.statements));
    assert_true(rewritten(*state, p, &cells));
}

/* Without vectors, and with what the lanes have to take in turn, loops stay as they are. */
static void other_loops_stay(void **state)
{
    static const char *const same[] = {
        "  simd for x in 0 .. N {\n    store out[0, floormod(x, 2)] = s\n  }\n",
        "  simd for x in 0 .. N {\n    if x < 3 {\n      store out[0, x] = s\n    }\n  }\n",
        "  simd for x in 0 .. N {\n    add counts[0] += 1u32\n  }\n",
        "  simd for x in 0 .. N step 2 {\n    store out[0, x] = s\n  }\n",
    };
    for (size_t i = 0; i <= sizeof same / sizeof *same; i++) {
        const bool none = i == sizeof same / sizeof *same;
        LoopProgram *p =
            loop_testing_read(*state, loop_testing_wrap(*state, none ? "" : "vectors 32\n",
                                                        none ? stencil : same[i]));
        const char *before = loop_testing_print(*state, p);
        tessi_loop_slide(p);
        tessi_loop_pairs(p);
        tessi_loop_lanes(p);
        tessi_loop_rows(p);
        tessi_loop_late(p);
        assert_string_equal(before, loop_testing_print(*state, p));
    }
}

/* Lanes that differ by coordinates alone, also through a table and a name, load from near each other. */
static void places_of_coordinates_are_near(void **state)
{
    LoopProgram *p = loop_testing_read(
        *state, loop_testing_wrap(*state,
                                  "vectors 32\n"
                                  "buffer table: local int32[8]\n"
                                  "buffer data: local int32[8]\n",
                                  "  local table\n"
                                  "  local data\n"
                                  "  for x in 0 .. 8 {\n"
                                  "    store table[x] = i32(x)\n"
                                  "    store data[x] = i32(in[0, x])\n"
                                  "  }\n"
                                  "  let i: index v32 = index(load_v32(table[0]))\n"
                                  "  let k: index v32 = index(load_v32(data[0]))\n"
                                  "  store out[0, 0] = each_v32(in[1, i + splat_v32(1)])\n"
                                  "  store out[0, 8] = each_v32(in[1, i + k])\n"
                                  "  store out[1, 0] = each_v32(in[i, i])\n"
                                  "  let a: float v32 = each_v32(in[1, i])\n"
                                  "  let b: float v32 = a + a\n"
                                  "  store out[1, 8] = each_v32(in[1, index(b)])\n"));
    tessi_loop_near(p);
    assert_null(tessi_loop_verify(p));
    const char *text = loop_testing_print(*state, p);
    assert_non_null(strstr(text, "store out[0, 0] = near_v32(in[1, i + splat_v32(1)])"));
    assert_non_null(strstr(text, "store out[0, 8] = each_v32(in[1, i + k])"));
    assert_non_null(strstr(text, "store out[1, 0] = each_v32(in[i, i])"));
    assert_non_null(strstr(text, "let a: float v32 = near_v32(in[1, i])"));
    assert_non_null(strstr(text, "store out[1, 8] = each_v32(in[1, idx(b)])"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOOP_TEST(everything_reads_back),
        LOOP_TEST(broken_vectors_are_refused),
        LOOP_TEST(kernels_have_no_vectors),
        LOOP_TEST(lanes_are_executed),
        LOOP_TEST(faults_of_lanes_are_found),
        LOOP_TEST(passes_keep_what_is_computed),
        LOOP_TEST(places_of_coordinates_are_near),
        LOOP_TEST(other_loops_stay),
        LOOP_TEST(parts_of_rows_have_narrow_indices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
