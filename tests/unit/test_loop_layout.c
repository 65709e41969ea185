/* Where intermediate images lie: lives, shared slots, padded rows and the size of the workspace. */
#include "loop/loop_layout.h"
#include "unit/loop_testing.h"

/* A chain a -> b -> c -> d of whole images, one of half size beside it, and a small one. */
static const char chain[] =
    "loops p\nparam M\nparam N\n"
    "input in: { \"\": float @0 } pixel 4 [M, N]\n"
    "output out: { \"\": float @0 } pixel 4 [M, N]\n"
    "positive M, N\n"
    "buffer in: input 0/0 float[M, N]\n"
    "buffer out: output 0/0 float[M, N]\n"
    "buffer a: temp float[M, N]\nbuffer b: temp int32[M, N]\n"
    "buffer c: temp float[M, N]\nbuffer d: temp float[M, N]\n"
    "buffer half: temp uint8[M, floordiv(N, 2)]\n"
    "buffer small: temp double[4, 8]\nbuffer unused: temp float[M, N]\n"
    "function fa { store a[0, 0] = in[0, 0] }\n"
    "function fb { store b[0, 0] = i32(a[0, 0]) }\n"
    "function fc { store c[0, 0] = f32(b[0, 0])\n store small[0, 0] = 1.0 }\n"
    "function fd { store d[0, 0] = c[0, 0]\n store half[0, 0] = u8(b[0, 0]) }\n"
    "function fe { store out[0, 0] = d[0, 0] + f32(half[0, 0]) }\n";

static uint32_t buffer(const LoopProgram *p, const char *name)
{
    for (uint32_t i = 1; i < p->buffers.n; i++)
        if (tessi_streq(p->buffers.at[i].name, name) && p->buffers.at[i].kind == LBUF_TEMP)
            return i;
    fail_msg("no buffer %s", name);
    return 0;
}

static void lives_span_first_to_last_touch(void **state)
{
    LoopProgram *p = loop_testing_read(*state, chain);
    LoopLayout layout = tessi_loop_layout(p, *state);
    LoopLife b = layout.life[buffer(p, "b")], unused = layout.life[buffer(p, "unused")];
    assert_int_equal(b.first, 1);
    assert_int_equal(b.last, 3);
    assert_true(unused.first > unused.last);
}

static void images_alive_together_lie_apart(void **state)
{
    LoopProgram *p = loop_testing_read(*state, chain);
    LoopLayout layout = tessi_loop_layout(p, *state);
    for (uint32_t i = 1; i < p->buffers.n; i++) {
        for (uint32_t k = 1; k < i; k++) {
            LoopLife x = layout.life[i], y = layout.life[k];
            if (layout.slot[i] && layout.slot[i] == layout.slot[k])
                assert_true(x.last < y.first || y.last < x.first);
        }
    }
}

static void slots_are_used_again(void **state)
{
    LoopProgram *p = loop_testing_read(*state, chain);
    LoopLayout layout = tessi_loop_layout(p, *state);
    assert_int_equal(layout.slot[buffer(p, "a")], 1);
    assert_int_equal(layout.slot[buffer(p, "b")], 2);
    assert_int_equal(layout.slot[buffer(p, "c")], 1); /* a is dead; b is not */
    assert_int_equal(layout.slot[buffer(p, "d")], 3); /* b and c are read beside it */
    assert_int_equal(layout.slot[buffer(p, "half")], 4);
    assert_int_equal(layout.slot[buffer(p, "small")], 0);
    assert_int_equal(layout.slot[buffer(p, "unused")], 0);
    assert_int_equal(layout.n_slots, 4);
}

static void rows_take_odd_numbers_of_lines(void **state)
{
    (void)state;
    for (int64_t row = 1; row < 5000; row++) {
        int64_t pitch = tessi_loop_pitch(row, TYPE_F32);
        assert_true(pitch >= row);
        if (pitch == row && row <= 64)
            continue; /* short rows stay as they are */
        assert_int_equal(pitch % 16, 0);
        assert_int_equal(pitch / 16 % 2, 1);
        assert_true(pitch < row + 32);
    }
    assert_int_equal(tessi_loop_pitch(4096, TYPE_F32), 4096 + 16);
    assert_int_equal(tessi_loop_pitch(4096, TYPE_U8), 4096 + 64);
}

static void sizes_add_up_and_saturate(void **state)
{
    LoopProgram *p = loop_testing_read(*state, chain);
    LoopLayout layout = tessi_loop_layout(p, *state);
    const int64_t params[2] = { 100, 1000 }, huge[2] = { INT64_C(1) << 40, INT64_C(1) << 40 };
    int64_t floats = (100 * 1008 * 4 + 4095) / 4096 * 4096 + LAYOUT_SKEW;
    int64_t bytes = (100 * 576 + 4095) / 4096 * 4096 + LAYOUT_SKEW;
    assert_int_equal(tessi_loop_workspace_bytes(p, &layout, params), 3 * floats + bytes);
    assert_true(tessi_loop_workspace_bytes(p, &layout, huge) == INT64_MAX);
}

/* A pyramid going down and up again: the small images take no place that a large one asks for. */
static void small_images_wait_for_no_large_slot(void **state)
{
    LoopProgram *p = loop_testing_read(
        *state, "loops p\nparam N\n"
                "input in: { \"\": float @0 } pixel 4 [N, N]\n"
                "output out: { \"\": float @0 } pixel 4 [N, N]\npositive N\n"
                "buffer in: input 0/0 float[N, N]\nbuffer out: output 0/0 float[N, N]\n"
                "buffer large: temp float[N, N]\n"
                "buffer down: temp float[floordiv(N, 2), floordiv(N, 2)]\n"
                "buffer low: temp float[floordiv(N, 4), floordiv(N, 4)]\n"
                "buffer up: temp float[N, N]\n"
                "function f1 { store large[0, 0] = in[0, 0] }\n"
                "function f2 { store down[0, 0] = large[0, 0] }\n"
                "function f3 { store low[0, 0] = down[0, 0] }\n"
                "function f4 { store up[0, 0] = low[0, 0] }\n"
                "function f5 { store out[0, 0] = up[0, 0] + low[0, 0] }\n");
    LoopLayout layout = tessi_loop_layout(p, *state);
    assert_int_equal(layout.slot[buffer(p, "up")], layout.slot[buffer(p, "large")]);
    assert_int_not_equal(layout.slot[buffer(p, "low")], layout.slot[buffer(p, "large")]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOOP_TEST(lives_span_first_to_last_touch), LOOP_TEST(images_alive_together_lie_apart),
        LOOP_TEST(slots_are_used_again),           LOOP_TEST(rows_take_odd_numbers_of_lines),
        LOOP_TEST(sizes_add_up_and_saturate),      LOOP_TEST(small_images_wait_for_no_large_slot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
