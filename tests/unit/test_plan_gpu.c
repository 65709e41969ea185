/* Plans of kernels: how many points a thread computes, and how blocks stand to an image. */
#include "graph_testing.h"
#include "plan/plan.h"

static const Machine *large_gpu(Arena *a)
{
    Machine *m = tessi_machine_default(a);
    m->target = "gpu";
    m->cores = 132;
    m->vector_bytes = 512;
    m->line_bytes = 128;
    m->ghz = 1.87;
    m->l2_gbs = 7000;
    m->memory_gbs = m->memory_stream_gbs = 4170;
    m->simple_per_cycle = m->mul_per_cycle = m->fma_per_cycle = 1;
    m->load_per_cycle = 0.25;
    m->registers = 65536;
    m->registers_a_thread = 255;
    m->shared_bytes = 232448;
    m->threads = 2048;
    m->latency_us = 0.4;
    return m;
}

static const Plan *plan_for_gpu(Arena *a, const char *text)
{
    Graph *g = testing_read(a, text, NULL);
    return tessi_plan_choose(a, g, tessi_analyse(g, a), large_gpu(a), PLAN_LARGE);
}

static int columns_of_a_thread(Arena *a, const char *text)
{
    return tessi_level_outputs(&plan_for_gpu(a, text)->groups.at[0].levels, 0);
}

static void bytes_of_tiles_take_whole_registers(void **state)
{
    const Plan *p = plan_for_gpu(
        *state,
        "graph t param M, N image X[M, N] uint8 stage X[M, N] uint8 = image X "
        "stage a[M, N] uint8 = min(min(min(X@[0,-3]:clamp, X@[0,-1]:clamp), X), X@[0,3]:clamp) "
        "stage b[M, N] uint8 = min(min(min(a@[-3,0]:clamp, a@[-1,0]:clamp), a), a@[3,0]:clamp) "
        "stage c[M, N] uint8 = max(max(max(b@[0,-3]:clamp, b@[0,-1]:clamp), b), b@[0,3]:clamp) "
        "stage d[M, N] uint8 = max(max(max(c@[-3,0]:clamp, c@[-1,0]:clamp), c), c@[3,0]:clamp) "
        "stage o[M, N] float = cast<float>(X) - cast<float>(d) "
        "output d[M, N] uint8 = d output o[M, N] float = o");
    VEC_FOREACH (const PlanGroup, group, &p->groups)
        VEC_FOREACH (const PlanPass, pass, &group->passes)
            assert_true(
                tessi_level_outputs(&pass->levels, 0) * tessi_level_outputs(&pass->levels, 1) < 96);
}

/* Four pixels of three bytes are three words. */
static void channels_are_stored_by_few_columns(void **state)
{
    assert_int_equal(columns_of_a_thread(*state, "graph t param M, N image X[M, N] uint8 "
                                                 "stage X[M, N] uint8 = image X "
                                                 "stage o[M, N] uint8 = min(X, 100u8) "
                                                 "output o[M, N] uint8 = o"),
                     16);
    assert_int_equal(columns_of_a_thread(
                         *state, "graph t param M, N image X[M, N] { r uint8, g uint8, b uint8 } "
                                 "stage X.r[M, N] uint8 = image X channel 0 "
                                 "stage X.g[M, N] uint8 = image X channel 1 "
                                 "stage X.b[M, N] uint8 = image X channel 2 "
                                 "stage o.r[M, N] uint8 = X.g stage o.g[M, N] uint8 = X.b "
                                 "stage o.b[M, N] uint8 = X.r "
                                 "output o[M, N] { r uint8 = o.r, g uint8 = o.g, b uint8 = o.b }"),
                     4);
}

/* The threads of a block stand in the columns that there are: sixteen channels, and rows of pixels. */
static void blocks_are_no_wider_than_images(void **state)
{
    const Plan *p = plan_for_gpu(*state, "graph t param M, N image X[M, N, 16] float "
                                         "stage X[M, N, 16] float = image X "
                                         "stage o[M, N, 16] float = X + X@[0,1,0]:clamp "
                                         "output o[M, N, 16] float = o");
    const PlanLevels *levels = &p->groups.at[0].levels;
    assert_int_equal(tessi_level_threads(levels, 0) * tessi_level_outputs(levels, 0), 16);
    assert_true(tessi_level_threads(levels, 0) * tessi_level_threads(levels, 1) >= 128);
}

/* Three channels have no tiles of two or four columns. */
static void tiles_divide_few_columns(void **state)
{
    assert_int_equal(columns_of_a_thread(*state, "graph t param M, N image X[M, N, 3] float "
                                                 "stage X[M, N, 3] float = image X "
                                                 "stage o[M, N, 3] float = X * 2.0f "
                                                 "output o[M, N, 3] float = o"),
                     1);
}

/* Rows that are columns are read in vectors of both, by blocks as high as wide. */
static void transpositions_have_square_blocks(void **state)
{
    const Plan *p = plan_for_gpu(*state, "graph t param M image X[M, M] float "
                                         "stage X[M, M] float = image X "
                                         "stage o[M, M] float = X@[(0,1,1),(0,1,0)] "
                                         "output o[M, M] float = o");
    const PlanLevels *levels = &p->groups.at[0].levels;
    assert_int_equal(tessi_level_outputs(levels, 0), 4);
    assert_int_equal(tessi_level_outputs(levels, 1), 4);
    assert_true(tessi_level_threads(levels, 1) >= tessi_level_threads(levels, 0));
}

/* However much there is to compute for each of them. */
static void channels_share_a_kernel(void **state)
{
    Text text = tessi_text_new(*state);
    tessi_text_add(&text, "graph t param M, N image X[M, N] { r uint8, g uint8, b uint8 } ");
    for (int c = 0; c < 3; c++)
        tessi_text_addf(&text, "stage X.%c[M, N] uint8 = image X channel %d ", "rgb"[c], c);
    for (int c = 0; c < 3; c++) {
        tessi_text_addf(&text, "stage o.%c[M, N] uint8 = X.%c", "rgb"[c], "rgb"[c]);
        for (int k = 0; k < 100; k++)
            tessi_text_addf(&text, " + X.%c@[%d,%d]:clamp", "rgb"[c], k % 9 - 4, k / 9 - 5);
        tessi_text_add(&text, " ");
    }
    tessi_text_add(&text, "output o[M, N] { r uint8 = o.r, g uint8 = o.g, b uint8 = o.b }");
    assert_int_equal(plan_for_gpu(*state, tessi_text_str(&text))->groups.n, 1);
}

/* Rows, then columns of seven taps on each of three bytes: the rows of all channels are one pass, which reads pixels
 * whole. */
static void channels_are_placed_together(void **state)
{
    Text text = tessi_text_new(*state);
    tessi_text_add(&text, "graph t param M, N image X[M, N] { r uint8, g uint8, b uint8 } ");
    for (int c = 0; c < 3; c++)
        tessi_text_addf(&text, "stage X.%c[M, N] uint8 = image X channel %d ", "rgb"[c], c);
    for (int c = 0; c < 6; c++) {
        const char *from = c < 3 ? "X" : "w", *to = c < 3 ? "w" : "o";
        tessi_text_addf(&text, "stage %s.%c[M, N] float = 0.5f", to, "rgbrgb"[c]);
        for (int k = -3; k <= 3; k++)
            tessi_text_addf(&text, " + 0.%df * cast<float>(%s.%c@[%d,%d]:mirror)", k + 5, from,
                            "rgbrgb"[c], c < 3 ? 0 : k, c < 3 ? k : 0);
        tessi_text_add(&text, " ");
    }
    tessi_text_add(&text, "output o[M, N] { r float = o.r, g float = o.g, b float = o.b }");
    const Plan *p = plan_for_gpu(*state, tessi_text_str(&text));
    assert_int_equal(p->groups.n, 1);
    assert_int_equal(p->groups.at[0].passes.n, 1);
    assert_int_equal(p->groups.at[0].passes.at[0].stages.n, 3);
}

/* Means of 25 x 25 bytes in parts of five: a thread converts a byte once for all the parts that read it, so the parts
 * stay where they are read. */
static void conversions_are_shared(void **state)
{
    const Plan *p = plan_for_gpu(
        *state,
        "graph t param M, N image X[M, N] uint8 stage X[M, N] uint8 = image X "
        "stage p[M, N + 20] float = cast<float>(X@[0,-12]:clamp) + cast<float>(X@[0,-11]:clamp) "
        "+ cast<float>(X@[0,-10]:clamp) + cast<float>(X@[0,-9]:clamp) + "
        "cast<float>(X@[0,-8]:clamp) "
        "stage r[M, N] float = (p + p@[0,5] + p@[0,10] + p@[0,15] + p@[0,20]) * 0.04f "
        "stage q[M + 20, N] float = r@[-12,0]:clamp + r@[-11,0]:clamp + r@[-10,0]:clamp "
        "+ r@[-9,0]:clamp + r@[-8,0]:clamp "
        "stage o[M, N] uint8 = sat<uint8>((q + q@[5,0] + q@[10,0] + q@[15,0] + q@[20,0]) * 0.04f) "
        "output o[M, N] uint8 = o");
    assert_int_equal(p->groups.n, 2);
}

/* Sums of 20 parts, ten rows apart: a thread has rows as far apart, which read the same. */
static void parts_are_read_apart(void **state)
{
    Text text = tessi_text_new(*state);
    tessi_text_add(&text, "graph t param M, N image X[M, N] float stage X[M, N] float = image X "
                          "stage p[M + 191, N] float = X@[-100,0]:reflect");
    for (int k = -99; k < -90; k++)
        tessi_text_addf(&text, " + X@[%d,0]:reflect", k);
    tessi_text_add(&text, " stage o[M, N] float = p");
    for (int k = 10; k < 200; k += 10)
        tessi_text_addf(&text, " + p@[%d,0]", k);
    tessi_text_add(&text, " + X@[100,0]:reflect output o[M, N] float = o");
    const Plan *p = plan_for_gpu(*state, tessi_text_str(&text));
    assert_int_equal(p->groups.n, 1);
    assert_int_equal(tessi_level_apart(&p->groups.at[0].levels, 1), 10);
}

static void add_sum(Text *t, const char *of, bool down)
{
    tessi_text_addf(t, "%s@[%s]:reflect", of, down ? "-8,0" : "0,-8");
    for (int k = -7; k <= 8; k++)
        tessi_text_addf(t, down ? " + %s@[%d,0]:reflect" : " + %s@[0,%d]:reflect", of, k);
}

/* Two sums of 17 x 17 points, and two of what comes of them: kernels in lanes, one for each pair, with what comes of
 * the first pair stored once. */
static void windows_of_rows_go_through_lanes(void **state)
{
    static const char *const stages[][3] = {
        { "p", "X", "f" }, { "q", "Y", "g" }, { "u", "a", "v" }, { "w", "b", "z" }
    };
    Text text = tessi_text_new(*state);
    tessi_text_add(&text, "graph t param M, N image X[M, N] float stage X[M, N] float = image X "
                          "stage Y[M, N] float = X * X");
    for (int k = 0; k < 4; k++) {
        tessi_text_addf(&text, " stage %s[M, N] float = ", stages[k][0]);
        add_sum(&text, stages[k][1], false);
        tessi_text_addf(&text, " stage %s[M, N] float = ", stages[k][2]);
        add_sum(&text, stages[k][0], true);
        if (k == 1)
            tessi_text_add(&text, " stage a[M, N] float = (g - f * f) / (g + 0.01f) "
                                  "stage b[M, N] float = f - a * f");
    }
    tessi_text_add(&text, " stage o[M, N] float = v * X + z output o[M, N] float = o");
    const Plan *p = plan_for_gpu(*state, tessi_text_str(&text));
    assert_int_equal(p->groups.n, 2);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(tessi_plan_kernel(&p->groups.at[i]), KERNEL_WARP);
        assert_int_equal(p->groups.at[i].members.n, 2 - i);
    }
}

/* Rules are answered in what threads hold: what is inlined may be read inside and at the point alone. */
static void warps_answer_of_what_they_hold(void **state)
{
    static const struct {
        const char *inner, *outer, *stages, *complaint;
    } cases[] = {
        { "clamp", "wrap", "stage a in lanes\ny 2 unroll\nx 4 unroll\nstage b inline\n",
          "'a' is needed beyond its edge, where 'b' does not wrap around" },
        { "wrap", "wrap", "stage a in lanes\ny 2 unroll\nx 4 unroll\nstage b inline\n", NULL },
        { "clamp", "mirror", "stage a in lanes\ny 2 unroll\nx 4 unroll\nstage b inline\n", NULL },
        { "clamp", "mirror", "stage a inline\nstage b inline\n",
          "'a' is inlined and 'o' reads it with a border rule, which warps answer of what they "
          "hold "
          "alone" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Graph *g = testing_read(
            *state,
            tessi_sprintf(*state,
                          "graph t param M, N image X[M, N] float stage X[M, N] float = image X "
                          "stage b[M, N] float = X@[0,1]:%s stage a[M, N] float = 2f * b "
                          "stage o[M, N] float = a@[0,-1]:%s + a@[0,1]:%s output o[M, N] float = o",
                          cases[i].inner, cases[i].outer, cases[i].outer),
            NULL);
        const char *complaint;
        testing_plan(*state, g,
                     tessi_sprintf(*state,
                                   "target gpu\ngroup o\ny 9..18 grid 24 blocks\nx 120 grid\n"
                                   "x 32 thread\nx lanes\ny step\ny 2 unroll\nx 4 unroll\n%s"
                                   "stage o in memory\nsplit interior\n",
                                   cases[i].stages),
                     &complaint);
        if (cases[i].complaint)
            assert_non_null(strstr(complaint, cases[i].complaint));
        else
            assert_string_equal(complaint, "");
    }
}

/* A stack through three windows is one kernel in lanes; not where one of them takes roots, for which registers lack. */
static void plain_stacks_are_computed_in_lanes(void **state)
{
    static const char *const last[] = { "b", "sqrt(b)" };
    for (int i = 0; i < 2; i++) {
        const Plan *p = plan_for_gpu(
            *state,
            tessi_sprintf(
                *state,
                "graph t param L, M, N image X[L, M, N] float stage X[L, M, N] float = image X "
                "stage a[L, M, N] float = X@[0,0,-2]:reflect + X@[0,0,-1]:reflect + 2f * X "
                "+ X@[0,0,1]:reflect + X@[0,0,2]:reflect "
                "stage b[L, M, N] float = a@[0,-2,0]:reflect + a@[0,-1,0]:reflect + 2f * a "
                "+ a@[0,1,0]:reflect + a@[0,2,0]:reflect stage c[L, M, N] float = %s "
                "stage d[L, M, N] float = c@[-2,0,0]:reflect + c@[-1,0,0]:reflect + 2f * c "
                "+ c@[1,0,0]:reflect + c@[2,0,0]:reflect output d[L, M, N] float = d",
                last[i]));
        assert_int_equal(p->groups.n, i ? 2 : 1);
        assert_int_equal(tessi_level_march(&p->groups.at[0].levels).planes, !i);
    }
}

/* Strips of images that are not large have few rows beside those that turns go through again. */
static void fewer_turns_are_one_where_strips_are_short(void **state)
{
    const Graph *g = testing_read(
        *state,
        "graph t param M, N image X[M, N] float stage X[M, N] float = image X repeat T turns 48 "
        "stage T_before[M, N] float = entry of X "
        "stage T[M, N] float = T_before + 0.25f * (T_before@[-1,0]:clamp + T_before@[1,0]:clamp "
        "+ T_before@[0,-1]:clamp + T_before@[0,1]:clamp - 4f * T_before) "
        "end T_before = T stage T_last[M, N] float = last T_before output T[M, N] float = T_last",
        NULL);
    uint32_t turns[PLAN_SIZES];
    for (int size = 0; size < PLAN_SIZES; size++)
        turns[size] = tessi_plan_times(*state, g, large_gpu(*state), (PlanSize)size)[0].turns;
    assert_true(turns[PLAN_LARGE] > turns[PLAN_MEDIUM]);
    assert_true(turns[PLAN_LARGE] > turns[PLAN_SMALL]);
    assert_true(turns[PLAN_SMALL] > 1);
}

/* The group that computes the stage of that name; NULL: none does. */
static const PlanGroup *group_with(const Graph *g, const Plan *p, const char *name)
{
    VEC_FOREACH (const PlanGroup, group, &p->groups)
        VEC_FOREACH (const StageId, id, &group->members)
            if (tessi_streq(tessi_stage(g, *id)->name, name))
                return group;
    return NULL;
}

/* Where it is largest is found without an image of what is compared, in a second round of the same group: a column's
 * maximum is read at the point. */
static void reductions_take_what_reads_their_own_line(void **state)
{
    const char *text = "graph t param L, M, K image V[L, M, M] float image W[K] float "
                       "stage V[L, M, M] float = image V stage W[K] float = image W "
                       "stage most[M, M] float = reduce max V along 0 "
                       "stage where[L, M, M] float = select(V == most@[(0,1,1),(0,1,2)], V, -V) "
                       "stage first[M, M] float = reduce min where along 0 "
                       "stage ends[L, M, M] float = V * W@[(0,1,2)]:clamp "
                       "stage least[M, M] float = reduce min ends along 0 "
                       "stage next[L, M, M] float = V * most@[(0,1,2),(0,1,1)] "
                       "stage low[M, M] float = reduce min next along 0 "
                       "output first[M, M] float = first output least[M, M] float = least "
                       "output low[M, M] float = low";
    Graph *g = testing_read(*state, text, NULL);
    const Plan *p = plan_for_gpu(*state, text);
    assert_null(tessi_plan_verify(*state, p, g));
    assert_null(group_with(g, p, "where"));
    assert_non_null(group_with(g, p, "ends")); /* W may be shorter */
    assert_ptr_equal(group_with(g, p, "first"), group_with(g, p, "most"));
    assert_ptr_not_equal(group_with(g, p, "low"), group_with(g, p, "most")); /* of other lines */
}

/* Pieces of a lattice are several points of a thread, and both channels one kernel; pieces with a gap are not. */
static void lattices_are_register_tiles(void **state)
{
    const char *text =
        "graph t param M, N image X[M, N] uint8 stage X[M, N] uint8 = image X "
        "stage o.a[M, 2*N] uint8 piece [0, 0] step [1, 2] count [M, N] = X "
        "piece [0, 1] step [1, 2] count [M, N] = X "
        "stage o.b[M, 2*N] uint8 piece [0, 0] step [1, 2] count [M, N] = X "
        "piece [0, 1] step [1, 2] count [M, N] = min(X, 7u8) "
        "stage p[M, 3*N] uint8 piece [0, 0] step [1, 3] count [M, N] = X "
        "piece [0, 1] step [1, 3] count [M, N] = X "
        "output o[M, 2*N] { a uint8 = o.a, b uint8 = o.b } output p[M, 3*N] uint8 = p";
    Graph *g = testing_read(*state, text, NULL);
    const Plan *p = plan_for_gpu(*state, text);
    assert_null(tessi_plan_verify(*state, p, g));
    assert_ptr_equal(group_with(g, p, "o.a"), group_with(g, p, "o.b"));
    assert_true(tessi_level_outputs(&group_with(g, p, "o.a")->levels, 0) > 1);
    assert_int_equal(tessi_level_outputs(&group_with(g, p, "p")->levels, 0), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = { GRAPH_TEST(reductions_take_what_reads_their_own_line),
                                        GRAPH_TEST(lattices_are_register_tiles),
                                        GRAPH_TEST(bytes_of_tiles_take_whole_registers),
                                        GRAPH_TEST(channels_are_stored_by_few_columns),
                                        GRAPH_TEST(channels_share_a_kernel),
                                        GRAPH_TEST(channels_are_placed_together),
                                        GRAPH_TEST(conversions_are_shared),
                                        GRAPH_TEST(parts_are_read_apart),
                                        GRAPH_TEST(windows_of_rows_go_through_lanes),
                                        GRAPH_TEST(warps_answer_of_what_they_hold),
                                        GRAPH_TEST(blocks_are_no_wider_than_images),
                                        GRAPH_TEST(tiles_divide_few_columns),
                                        GRAPH_TEST(transpositions_have_square_blocks),
                                        GRAPH_TEST(plain_stacks_are_computed_in_lanes),
                                        GRAPH_TEST(fewer_turns_are_one_where_strips_are_short) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
