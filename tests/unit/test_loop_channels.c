/* The pass over loops that treat the channels of pixels alike: what stays in its way, and what does not. The values are
 * those of tests/corpus/channels_*.tess. */
#include "loop_testing.h"

static const char head[] = "loops t\n"
                           "vectors 32\n"
                           "param N\n"
                           "input in: { r: uint8 @0, g: uint8 @1 } pixel 2 [N]\n"
                           "output out: { r: uint8 @0, g: uint8 @1 } pixel 2 [N]\n"
                           "positive N\n"
                           "buffer in.r: input 0/0 uint8[N]\n"
                           "buffer in.g: input 0/1 uint8[N]\n"
                           "buffer out.r: output 0/0 uint8[N]\n"
                           "buffer out.g: output 0/1 uint8[N]\n"
                           "buffer wide.r: local uint8[40]\n"
                           "buffer wide.g: local uint8[40]\n"
                           "buffer in.r_edge: local uint8[8]\n"
                           "buffer in.g_edge: local uint8[8]\n"
                           "function t {\n"
                           "  local wide.r\n"
                           "  local wide.g\n";
/* What is computed at an edge reads copies, of the channels in turn, the last one first. */
static const char edge[] = "  local in.g_edge\n"
                           "  simd for k in 0 .. min(N, 8) {\n"
                           "    store in.g_edge[k] = in.g[k]\n"
                           "  }\n"
                           "  local in.r_edge\n"
                           "  simd for k in 0 .. min(N, 8) {\n"
                           "    store in.r_edge[k] = in.r[k]\n"
                           "  }\n"
                           "  simd for x in 0 .. min(N, 8) {\n"
                           "    store wide.r[x] = in.r_edge[x] + 1u8\n"
                           "    store wide.g[x] = in.g_edge[x] + 1u8\n"
                           "  }\n";
static const char other[] = "  simd for x in 0 .. min(N, 8) {\n"
                            "    store wide.r[x] = in.r[x] + 1u8\n"
                            "  }\n"
                            "  simd for x in 0 .. min(N, 8) {\n"
                            "    store wide.g[x] = in.g[x] + 1u8\n"
                            "  }\n";
static const char rest[] = "  simd for x in 0 .. min(N, 8) {\n"
                           "    store out.r[x] = wide.r[x] + 2u8\n"
                           "    store out.g[x] = wide.g[x] + 2u8\n"
                           "  }\n"
                           "}\n";

static const char *side_by_side(Arena *a, const char *before)
{
    LoopProgram *p = loop_testing_read(a, tessi_sprintf(a, "%s%s%s", head, before, rest));
    tessi_loop_channels_side_by_side(p);
    const char *fault = tessi_loop_verify(p);
    if (fault)
        fail_msg("%s", fault);
    return loop_testing_print(a, p);
}

static void copies_at_edges_are_in_nobodys_way(void **state)
{
    const char *text = side_by_side(*state, edge);
    const char *const wanted[] = { "local in_edge\n", "store in_edge[k * 2 + 1] = in.g[k]",
                                   "store wide[x#1] = in_edge[x#1]", "store out[x#2] = wide[x#2]" };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (!strstr(text, wanted[i]))
            fail_msg("no '%s' in\n%s", wanted[i], text);
}

/* Loops that compute one channel each would go from pixel to pixel: the image in between stays as it is. */
static void what_is_computed_alone_keeps_channels_apart(void **state)
{
    const char *text = side_by_side(*state, other);
    assert_non_null(strstr(text, "local wide.r"));
    assert_null(strstr(text, "wide["));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOOP_TEST(copies_at_edges_are_in_nobodys_way),
        LOOP_TEST(what_is_computed_alone_keeps_channels_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
