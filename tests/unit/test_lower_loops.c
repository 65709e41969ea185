/* Lowering to loops keeps the meaning: the loops of any plan give the bits of the graph interpreter, for every
 * border, for tiny images and halos larger than the image; and they look the way they should: interiors without
 * tests, shared values computed once. */
#include "graph_testing.h"
#include "interp/graph_interp.h"
#include "interp/loop_interp.h"
#include "loop/loop_passes.h"
#include "loop/lower.h"
#include "support/random_graph.h"

enum { SCHEMES = 5, GPU_PLANS = 7, GPU_SCHEMES = 9, N_PLANS = 11, N_RUNS = 3, SMALL_BLOCK = 64 };

static Plan *plan_number(Arena *a, const Graph *g, int number, uint64_t seed)
{
    Machine *m = tessi_machine_default(a);
    if (number == 0)
        return tessi_plan_naive(a, g, m);
    if (number == 1)
        return tessi_plan_choose(a, g, tessi_analyse(g, a), m, PLAN_LARGE);
    if (number >= GPU_PLANS)
        m->target = "gpu";
    if (number >= GPU_SCHEMES)
        m->block_threads = SMALL_BLOCK; /* blocks of many threads take the interpreter long */
    const int scheme = number - (number >= GPU_PLANS ? GPU_SCHEMES : SCHEMES);
    const char *fault;
    if (scheme == 0 || scheme == 1)
        return tessi_plan_preset(a, g, m, scheme ? "overlapped" : "unfused", &fault);
    return tessi_plan_random(a, g, m, seed * 16 + (uint64_t)number);
}

static LoopProgram *lowered(Arena *a, const Graph *g, const Plan *p)
{
    const char *fault = tessi_plan_verify(a, p, g);
    if (fault)
        fail_msg("illegal plan: %s", fault);
    LoopProgram *loops = tessi_lower_loops(a, g, p, tessi_machine_default(a));
    fault = tessi_loop_verify(loops);
    if (fault)
        fail_msg("unsound loops: %s", fault);
    return loops;
}

static const char *loops_text(Arena *a, const LoopProgram *p)
{
    Text t = tessi_text_new(a);
    tessi_loop_print(p, &t);
    return tessi_text_str(&t);
}

/* Every byte, padding between the rows included; NaNs count as one value. */
static void assert_same_images(const Graph *g, const RandomRun *want, const RandomRun *got,
                               const char *what)
{
    for (uint32_t i = 0; i < g->outputs.n; i++) {
        const Image *image = &g->outputs.at[i];
        const char *x = want->outputs[i].data, *y = got->outputs[i].data;
        int64_t bytes = image_bytes(image, &want->outputs[i]);
        for (int64_t at = 0; at < bytes; at += image->pixel_bytes)
            for (uint32_t c = 0; c < image->channels.n; c++) {
                const Channel *channel = &image->channels.at[c];
                ScalarType t = channel->type == TYPE_F16 ? TYPE_F32 : channel->type;
                Value u = tessi_load_element(channel->type, x + at + channel->byte_offset);
                Value v = tessi_load_element(channel->type, y + at + channel->byte_offset);
                if (!tessi_value_same(t, u, v))
                    fail_msg("%s: %s, pixel %lld: %lld or %g, expected %lld or %g", what,
                             image->name, (long long)(at / image->pixel_bytes), (long long)v.i, v.f,
                             (long long)u.i, u.f);
            }
    }
}

/* The loops give the graph's bits, on images drawn by `seed`. */
static void run_once(Arena *a, const Graph *g, const LoopProgram *loops, uint64_t seed,
                     const char *what)
{
    RandomRun want = random_run(a, g, seed), got = random_run(a, g, seed);
    InterpArgs want_args = run_args(&want, a), got_args = run_args(&got, a);
    Failure f = { 0 };
    if (!tessi_interpret_graph(g, &want_args, &f))
        fail_msg("%s: graph: %s", what, f.text);
    if (!tessi_interpret_loops(loops, &got_args, &f))
        fail_msg("%s: loops: %s", what, f.text);
    assert_same_images(g, &want, &got, what);
}

/* The loops of a plan, which give the graph's bits. */
static LoopProgram *run_plan(Arena *a, const Graph *g, const char *plan, const char *what)
{
    const char *complaint;
    const Plan *p = testing_plan(a, g, plan, &complaint);
    if (!p)
        fail_msg("%s: %s", what, complaint);
    LoopProgram *loops = lowered(a, g, p);
    for (uint64_t seed = 0; seed < 25; seed++)
        run_once(a, g, loops, seed, what);
    return loops;
}

/* The first passes over loops, as many as `number` says: what each leaves is executed by some caller. */
static void run_passes(LoopProgram *loops, uint64_t number)
{
    uint64_t n = 0;
    while (tessi_loop_passes()[n].name)
        n++;
    for (uint64_t i = 0; i < number % (n + 1); i++) {
        const LoopPass *pass = &tessi_loop_passes()[i];
        pass->run(loops);
        const char *fault = tessi_loop_verify(loops);
        if (fault)
            fail_msg("unsound loops after pass '%s': %s", pass->name, fault);
    }
}

static void run_all(Arena *a, const Graph *g, uint64_t seed)
{
    for (int number = 0; number < N_PLANS; number++) {
        const Plan *p = plan_number(a, g, number, seed);
        LoopProgram *loops = lowered(a, g, p);
        run_passes(loops, (uint64_t)number + seed);
        for (int run = 0; run < N_RUNS; run++)
            run_once(a, g, loops, seed * 8 + (uint64_t)run,
                     tessi_sprintf(a, "graph %llu, plan %d, run %d", (unsigned long long)seed,
                                   number, run));
    }
}

static void any_plan_of_any_graph_gives_the_same_bits(void **state)
{
    Arena *a = *state;
    int sound = 0;
    const char *first = getenv("TESSERA_SEED"), *count = getenv("TESSERA_COUNT");
    const uint64_t from = first ? strtoull(first, NULL, 0) : 1;
    const uint64_t graphs = count ? strtoull(count, NULL, 0) : 1200;
    for (uint64_t seed = from; seed < from + graphs; seed++) {
        Graph *g = random_graph(a, seed);
        if (!tessi_graph_verify(g)) {
            run_all(a, g, seed);
            sound++;
        }
        tessi_arena_dispose(a);
        tessi_arena_init(a, testing_out_of_memory, NULL);
    }
    assert_true(count || sound > 1000);
}

/* Drawn by longer searches; each once showed a fault. */
static void graphs_that_once_failed(void **state)
{
    static const uint64_t seeds[] = { 7926, 8027, 8089, 12779, 14563, 15985, 15987 };
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
        Graph *g = random_graph(*state, seeds[i]);
        if (!tessi_graph_verify(g))
            run_all(*state, g, seeds[i]);
    }
}

/* What random plans of kernels found: steps of warps that lie inside answer no rules, not even of stages of another
 * size that are read at the point itself; and pixels are read whole when all their channels are computed, not while
 * one of them is. */
static void kernels_read_what_is_there(void **state)
{
    Arena *a = *state;
    const char *complaint;
    const Graph *halves =
        testing_read(a,
                     "graph t param M, N image X[M, N] float stage X[M, N] float = image X "
                     "stage s[(M + 1) / 2, (N + 1) / 2] float = cast<float>(index(1)) "
                     "stage r[M, N] float = s:clamp + X output o[M, N] float = r",
                     NULL);
    testing_plan(a, halves,
                 "target gpu\nstage s inline\n"
                 "group r\ny 11..23 grid 24 blocks\nx 128 grid\nx 32 thread\nx lanes\ny step\n"
                 "y 2 unroll\nx 4 unroll\nstage r in memory\nsplit interior\n",
                 &complaint);
    assert_non_null(strstr(complaint, "'s' has another size than 'r'"));

    const Graph *pixels =
        testing_read(a,
                     "graph t param M, N image X[M, N] float stage X[M, N] float = image X "
                     "stage b[M, N] float = X + 1f stage a[M, N] float = b - 2f * b@[0,1]:clamp "
                     "output o[M, N] { x float = a, y float = b }",
                     NULL);
    run_plan(a, pixels,
             "target gpu\ngroup b\ny grid\nx grid\nx 32 thread\nstage b in memory\nsplit none\n"
             "group a\ny grid\nx grid\nx 32 thread\nx 4 unroll\nstage a in memory\n"
             "split interior\n",
             "pixels in parts");
    /* A load that is the same in all turns of a loop stays behind the test that says whether there is the element. */
    const Graph *rest = testing_read(
        a,
        "graph t param M, N, P image X[M, N, P] float stage X[M, N, P] float = image X "
        "stage s[M, N, P] float = 1f - min(X@[=M - 1,0,=0]:clamp, X) "
        "stage r[M, P] double = reduce mean s along 1 output o[M, P] double = r",
        NULL);
    run_plan(a, rest,
             "target gpu\nstage s inline\ngroup r\nz grid\ny grid\nx grid\nx 8 thread\n"
             "stage r in memory\nsplit none\n",
             "rows that are no multiple of the threads");
    /* Threads that go down the rows of a window hold these rows, and not what is read at a computed column. */
    const Graph *column =
        testing_read(a,
                     "graph t param M, N image X[M, N] int32 stage X[M, N] int32 = image X "
                     "stage s[M, N] int32 = X@[0,{select(all($i = -2..-2, $j = -2..0 : "
                     "cast<bool>(X@[2*$i,-$j - 3]:[reflect,mirror])), 1, 0) + "
                     "X@[2,0]:[reflect,clamp]}]:constant(-4) "
                     "output o[M, N] int32 = s",
                     NULL);
    run_plan(a, column,
             "target gpu\ngroup s\ny 2..5 grid 3 blocks\nx grid\nx 32 thread\ny step\nx 2 unroll\n"
             "stage s in memory\nsplit none\n",
             "a column that a window finds");
}

/* A tile's copy of an image has what the tile reads; an inlined stage that is smaller is evaluated, beyond its edge,
 * somewhere else. */
static void copies_of_tiles_refuse_smaller_stages(void **state)
{
    const char *complaint;
    const Graph *g =
        testing_read(*state,
                     "graph t param M, N image X[M, N] float stage X[M, N] float = image X "
                     "stage s[max(1, M - 2), max(1, N - 2)] float = 1f / X@[3,0]:[wrap,mirror] "
                     "stage r[M, N] float = s:clamp output o[M, N] float = r",
                     NULL);
    testing_plan(*state, g,
                 "target gpu\nstage s inline\ngroup r\ny 1 grid\nx 64 grid\nx 11 thread\n"
                 "stage r in memory\ncopy X at x.grid in scratch\nsplit interior\n",
                 &complaint);
    assert_non_null(strstr(complaint, "does not read 'X' at constant distances"));
}

/* A 5-tap stencil in both directions under each rule, on images from 1 x 1 on. */
static void every_border_on_tiny_images(void **state)
{
    static const char *const rules[] = { "clamp", "mirror", "reflect", "wrap", "constant(9.0f)" };
    for (size_t i = 0; i < 5; i++) {
        Graph *g = testing_read(
            *state,
            tessi_sprintf(*state,
                          "graph t param M, N scalar k float image X[M, N] float "
                          "stage X[M, N] float = image X stage s[M, N] float = "
                          "X@[-7,0]:%s + 3.0f * X@[2,-5]:%s + X@[0,11]:%s output r[M, N] float = s",
                          rules[i], rules[i], rules[i]),
            NULL);
        for (uint64_t seed = 0; seed < 40; seed++)
            run_all(*state, g, seed);
    }
}

/* A chain of three whose stages reach up, down and to both sides, in rings of rows: steps shorter and longer than
 * what is read, tiles of a step and of many, rows one by one and in blocks. A stage that is also a result is copied
 * out of its ring. */
static void rings_hold_what_is_still_read(void **state)
{
    static const char *const rules[] = { "clamp", "mirror", "reflect", "wrap", "constant(9.0f)" };
    static const struct {
        int rows, columns, roll, at_once;
    } shapes[] = { { 1, 3, 1, 1 },  { 5, 8, 2, 1 },   { 9, 4, 3, 2 },   { 16, 16, 8, 4 },
                   { 7, 64, 7, 8 }, { 64, 16, 5, 2 }, { 32, 16, 16, 8 } };
    for (size_t i = 0; i < 5; i++) {
        Arena *a = *state;
        Graph *g = testing_read(
            a,
            tessi_sprintf(a,
                          "graph t param M, N image X[M, N] float stage X[M, N] float = image X "
                          "stage a[M, N] float = X@[-1,0]:%s + 3.0f * X@[1,-2]:%s "
                          "stage b[M, N] float = a@[-3,1]:%s - a@[2,0]:%s * a "
                          "stage c[M, N] float = b@[0,-1]:%s + b@[-2,1]:%s + a "
                          "output q[M, N] float = b output r[M, N] float = c",
                          rules[i], rules[i], rules[i], rules[i], rules[i], rules[i]),
            NULL);
        for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
            run_plan(
                a, g,
                tessi_sprintf(a,
                              "group g\ny %d grid\nx %d grid\ny %d step\ny %d unroll\nx lanes\n"
                              "stage a at y.step in scratch\ny %d unroll\n"
                              "stage b at y.step in scratch\ny %d unroll\n"
                              "stage b in memory\nstage c in memory\nsplit interior\n",
                              shapes[k].rows, shapes[k].columns, shapes[k].roll, shapes[k].at_once,
                              shapes[k].at_once, shapes[k].at_once),
                tessi_sprintf(a, "%s, shape %d", rules[i], (int)k));
        }
    }
}

/* Stages in registers: read at several rows and columns, through one another, by results of their own group, of
 * tiles and of steps of rings; bands longer and shorter than a step. */
static void rows_are_carried_down(void **state)
{
    static const char *const rules[] = { "clamp", "mirror", "reflect", "wrap", "constant(9.0f)" };
    static const struct {
        int rows, band;
    } shapes[] = { { 1, 1 }, { 1, 7 }, { 2, 16 }, { 3, 2 }, { 4, 64 }, { 8, 5 }, { 8, 32 } };
    static const char *const groups[] = { "stage b inline\ngroup g\ny grid\n",
                                          "group g\ny 9 grid\nx 16 grid\n",
                                          "group g\ny 32 serial\nx 16 serial\ny 8 step\n" };
    for (size_t i = 0; i < 5; i++) {
        Arena *a = *state;
        Graph *g = testing_read(
            a,
            tessi_sprintf(a,
                          "graph t param M, N image X[M, N] float stage X[M, N] float = image X "
                          "stage l[M, N] float = X@[0,-1]:%s - 3.0f * X@[0,2]:%s "
                          "stage a[M, N] float = l@[-3,0]:%s + l - 0.5f * l@[1,1]:%s "
                          "stage b[M, N] float = a@[-1,0]:%s - a@[2,0]:%s * a "
                          "stage c[M, N] float = b@[0,-1]:%s + l@[2,0]:%s - l@[-1,0]:%s "
                          "stage d[M, N] float = b@[4,0]:%s - b "
                          "output q[M, N] float = c output r[M, N] float = d",
                          rules[i], rules[i], rules[i], rules[i], rules[i], rules[i], rules[i],
                          rules[i], rules[i], rules[i]),
            NULL);
        for (size_t k = 0; k < 3 * (sizeof shapes / sizeof *shapes); k++) {
            const int rows = shapes[k / 3].rows, band = shapes[k / 3].band;
            const char *down =
                tessi_sprintf(a, "y %d serial\nx lanes\ny step\ny %d unroll\n", band, rows);
            const char *pass = tessi_sprintf(
                a, "stage b in scratch\ny %d serial\ny step\ny %d unroll\n", band, rows);
            run_plan(a, g,
                     tessi_sprintf(a,
                                   "stage l in registers\nstage a in registers\n%s%s%s"
                                   "stage c in memory\nstage d in memory\nsplit interior\n",
                                   groups[k % 3], down, k % 3 ? pass : ""),
                     tessi_sprintf(a, "%s, shape %d", rules[i], (int)k));
        }
    }
}

/* The lines of the loops between the line that holds `from` and the end of its block. */
static const char *block_after(Arena *a, const char *text, const char *from)
{
    const char *begin = strstr(text, from);
    assert_non_null(begin);
    const char *end = strstr(begin, "}");
    assert_non_null(end);
    return tessi_strndup(a, begin, (size_t)(end - begin));
}

static void interiors_have_no_tests(void **state)
{
    static const char *const rules[] = { "clamp", "mirror", "wrap", "constant(9.0f)" };
    for (size_t i = 0; i < 4; i++) {
        Graph *g = testing_read(
            *state,
            tessi_sprintf(
                *state,
                "graph t param M, N image X[M, N] float stage X[M, N] float = image X "
                "stage s[M, N] float = X@[-1,-2]:%s + X@[1,2]:%s output r[M, N] float = s",
                rules[i], rules[i]),
            NULL);
        const char *text = loops_text(*state, lowered(*state, g, plan_number(*state, g, 1, 0)));
        const char *interior = block_after(*state, text, "simd for");
        assert_null(strstr(interior, "select"));
        assert_null(strstr(interior, "min("));
        assert_null(strstr(interior, "max("));
        assert_null(strstr(interior, "floormod"));
        assert_non_null(strstr(text, "parallel for"));
    }
}

static void reads_proved_inside_need_no_edges(void **state)
{
    Graph *g = testing_read(
        *state,
        "graph t param M, N image X[M, N] float stage X[M, N] float = image X "
        "stage half[M / 2, N / 2] float = X@[(0,2),(1,2)]:mirror + X@[(1,2),(0,2)]:constant(1.0f) "
        "stage less[min(M, N), min(M, N)] float = X@[0,0]:wrap "
        "output r[M / 2, N / 2] float = half output q[min(M, N), min(M, N)] float = less",
        NULL);
    const char *text = loops_text(*state, lowered(*state, g, plan_number(*state, g, 1, 0)));
    assert_null(strstr(text, "select"));
    assert_null(strstr(text, "floormod"));
    assert_null(strstr(text, "for side"));
}

static uint32_t count(const char *text, const char *word)
{
    uint32_t n = 0;
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
        n++;
    return n;
}

static void shared_values_are_computed_once(void **state)
{
    Graph *g =
        testing_read(*state,
                     "graph t param M, N image X[M, N] float stage X[M, N] float = image X "
                     "stage a[M, N] float = exp(X) + 1.0f stage b[M, N] float = exp(X) - 1.0f "
                     "output r[M, N] { a float = a, b float = b }",
                     NULL);
    const char *text = loops_text(*state, lowered(*state, g, plan_number(*state, g, 1, 0)));
    assert_int_equal(count(text, "exp("), 1);
    assert_int_equal(count(text, "\nfunction "), 1);
    assert_non_null(strstr(text, "## a, b"));
}

static void windows_over_one_range_share_a_loop(void **state)
{
    Graph *g = testing_read(
        *state,
        "graph t param M, N image X[M, N] float stage X[M, N] float = image X "
        "stage s[M, N] float = max($i = -9..9 : X@[$i,0]:clamp) - min($i = -9..9 : X@[$i,0]:clamp) "
        "stage v[M, N] float = let %1 = sum($i = -9..9 : X@[$i,0]:clamp) / 19.0f; "
        "sum($i = -9..9 : X@[$i,0]:clamp - %1) "
        "output r[M, N] float = s output q[M, N] float = v",
        NULL);
    Plan *p = tessi_plan_naive(*state, g, tessi_machine_default(*state));
    const char *text = loops_text(*state, lowered(*state, g, p));
    assert_int_equal(count(text, "in -9 .. 10"), 3); /* one for s; v needs the mean first */
}

/* The innermost loops of a large window run over points, so that they can be vectors. */
static void large_windows_keep_their_sums_in_variables(void **state)
{
    Graph *g = testing_read(
        *state,
        "graph t param M, N scalar k float image X[M, N] float stage X[M, N] float = image X "
        "stage v[M, N] float = let %1 = sum($i = -9..9, $j = -9..9 : X@[$i,$j]:clamp) / 361.0f; "
        "sum($i = -9..9, $j = -9..9 : abs(X@[$i,$j]:clamp - %1) where $i * $i + $j * $j <= 81) "
        "output r[M, N] float = v",
        NULL);
    Plan *plan = plan_number(*state, g, 1, 0);
    assert_true(tessi_level_rows(&plan->groups.at[0].levels) > 1
                && tessi_level_columns(&plan->groups.at[0].levels) > 1);
    assert_null(strstr(loops_text(*state, lowered(*state, g, plan)), "for strip"));
    tessi_level_set_rows(&plan->groups.at[0].levels, 1);
    tessi_level_set_columns(&plan->groups.at[0].levels, 1);
    LoopProgram *loops = lowered(*state, g, plan);
    const char *text = loops_text(*state, loops);
    assert_null(strstr(text, "for strip"));
    const char *points = strstr(text, "simd 4 for x"); /* four vectors for two windows */
    assert_non_null(points);
    assert_non_null(strstr(points, "<= 81i32 {\n"));
    run_all(*state, g, 3);
}

/* Eight windows of 24 values beside each other: what all have is added up once where no order rounds, as of bytes; and
 * window by window where one may, as of integers of 32 bits. */
static void exact_sums_of_windows_are_shared(void **state)
{
    static const char *const types[] = { "uint8", "uint32" };
    Arena *a = *state;
    uint32_t sums[2];
    for (int k = 0; k < 2; k++) {
        Text t = tessi_text_new(a);
        tessi_text_addf(&t,
                        "graph t param M, N scalar k float image X[M, N] %s stage X[M, N] %s = "
                        "image X stage s[M, N] float = 0.1f * (cast<float>(X@[0,-12]:clamp)",
                        types[k], types[k]);
        for (int i = -11; i < 12; i++)
            tessi_text_addf(&t, " + cast<float>(X@[0,%d]:clamp)", i);
        tessi_text_add(&t, ") output r[M, N] float = s");
        Graph *g = testing_read(a, tessi_text_str(&t), NULL);
        const LoopProgram *loops = run_plan(
            a, g,
            "target gpu\ngroup s\ny grid\nx grid\nx 32 thread\nx 8 unroll\nstage s in memory\n"
            "split none\n",
            types[k]);
        sums[k] = count(loops_text(a, loops), " + ");
    }
    assert_true(sums[0] + 120 < sums[1]);
}

/* The sum of a row beyond the first or the last is that of the row that answers there: lanes read the image by the
 * rule and hold no rows to copy, however much farther they read below than above. Not of what knows its place. */
static void lanes_hand_rules_on(void **state)
{
    static const char *const rules[] = { "clamp", "mirror", "reflect" };
    static const char *const plan =
        "target gpu\ngroup o\ny 9..18 grid 24 blocks\nx 120 grid\nx 32 thread\nx lanes\ny step\n"
        "y 2 unroll\nx 4 unroll\nstage q inline\nstage r in lanes\ny 2 unroll\nx 4 unroll\n"
        "stage o in memory\nsplit interior\n";
    Arena *a = *state;
    for (int k = 0; k < 4; k++) {
        const char *const rule = rules[k % 3], *const own =
                                                   k == 3 ? " + cast<float>(index(0))" : "";
        Graph *g = testing_read(
            a,
            tessi_sprintf(
                a,
                "graph t param M, N scalar k float image X[M, N] float stage X[M, N] float "
                "= image X stage q[M, N] float = X * X%s "
                "stage r[M, N] float = q@[0,-2]:%s + q@[0,1]:%s + X "
                "stage o[M, N] float = r@[-1,0]:%s + 2f * r@[3,0]:%s output o[M, N] float "
                "= o",
                own, rule, rule, rule, rule),
            NULL);
        const char *complaint;
        testing_plan(a, g, plan, &complaint);
        if (k < 3)
            run_plan(a, g, plan, rule);
        else
            assert_non_null(
                strstr(complaint, "'q' is inlined and 'r' reads it with a border rule"));
    }
}

static void histograms_count_in_parts(void **state)
{
    Graph *g = testing_read(*state,
                            "graph t param M, N scalar k float image X[M, N] float "
                            "stage X[M, N] float = image X stage h[16] uint32 = histogram X "
                            "stage big[70000] uint32 = histogram X "
                            "output a[16] uint32 = h output b[70000] uint32 = big",
                            NULL);
    const char *text = loops_text(*state, lowered(*state, g, plan_number(*state, g, 1, 0)));
    assert_non_null(strstr(text, "store h_parts["));
    assert_int_equal(count(text, "atomic"), 1);
    for (uint64_t seed = 0; seed < 10; seed++)
        run_all(*state, g, seed);
}

static void functions_name_their_stages(void **state)
{
    Graph *g = testing_read(*state,
                            "graph t param M, N image X[M, N] float stage X[M, N] float = image X "
                            "stage first[M, N] float = sum($i = -9..9 : X@[$i,0]:clamp) "
                            "stage second[M, N] float = first@[0,1]:clamp + first@[0,-1]:clamp "
                            "output r[M, N] float = second output same[M, N] float = X",
                            NULL);
    LoopProgram *loops = lowered(*state, g, plan_number(*state, g, 1, 0));
    assert_int_equal(loops->functions.n, 2);
    assert_non_null(strstr(loops->functions.at[0].comment, "first"));
    assert_non_null(strstr(loops->functions.at[0].comment, "second"));
    assert_non_null(strstr(loops->functions.at[1].comment, "X, returned"));
    assert_non_null(strstr(loops->comment, "plan t"));
}

/* Warps that go down planes: blocks beside each other along rows and columns are counted among those that the plan
 * wants, so that strips are as long as that allows. */
static void strips_of_planes_are_long(void **state)
{
    Arena *a = *state;
    const Graph *g = testing_read(
        a,
        "graph t image X[512, 512, 512] float stage X[512, 512, 512] float = image X "
        "stage b[512, 512, 512] float = X@[-1,0,0]:clamp + X@[1,0,0]:clamp + X@[0,0,1]:clamp "
        "output o[512, 512, 512] float = b",
        NULL);
    const char *complaint;
    const Plan *plan = testing_plan(a, g,
                                    "target gpu\ngroup b\nz 16..32768 grid 528 blocks\ny 24 grid\n"
                                    "x 124 grid\nx 128 thread\nx lanes\nz step\ny 6 unroll\n"
                                    "x 4 unroll\nstage b in memory\nsplit interior\n",
                                    &complaint);
    assert_string_equal(complaint, "");
    LoopProgram *loops = lowered(a, g, plan);
    tessi_loop_simplify(loops);
    assert_non_null(strstr(loops_text(a, loops), "grid [24, 22, 1]"));
}

int main(void)
{
    const struct CMUnitTest tests[] = { GRAPH_TEST(any_plan_of_any_graph_gives_the_same_bits),
                                        GRAPH_TEST(graphs_that_once_failed),
                                        GRAPH_TEST(kernels_read_what_is_there),
                                        GRAPH_TEST(copies_of_tiles_refuse_smaller_stages),
                                        GRAPH_TEST(every_border_on_tiny_images),
                                        GRAPH_TEST(rings_hold_what_is_still_read),
                                        GRAPH_TEST(strips_of_planes_are_long),
                                        GRAPH_TEST(rows_are_carried_down),
                                        GRAPH_TEST(interiors_have_no_tests),
                                        GRAPH_TEST(reads_proved_inside_need_no_edges),
                                        GRAPH_TEST(shared_values_are_computed_once),
                                        GRAPH_TEST(windows_over_one_range_share_a_loop),
                                        GRAPH_TEST(large_windows_keep_their_sums_in_variables),
                                        GRAPH_TEST(exact_sums_of_windows_are_shared),
                                        GRAPH_TEST(lanes_hand_rules_on),
                                        GRAPH_TEST(histograms_count_in_parts),
                                        GRAPH_TEST(functions_name_their_stages) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
