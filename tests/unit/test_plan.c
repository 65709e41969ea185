/* Plans: what the planner decides, the text and back, and the sentence for every plan that is not legal. */
#include "graph_testing.h"
#include "plan/plan.h"
#include "plan/plan_knobs.h"
#include "plan/plan_parts.h"
#include "support/random_graph.h"

/* blur, with a point-wise stage in front that is read three times. */
static const char blur_text[] =
    "graph blur param M, N image X[M, N] float stage X[M, N] float = image X "
    "stage square[M, N] float = X * X "
    "stage temp[M, N] float = square@[0,-1]:clamp + square@[0,0]:clamp + square@[0,1]:clamp "
    "stage out[M, N] float = temp@[-1,0]:clamp + temp@[0,0]:clamp + temp@[1,0]:clamp "
    "output out[M, N] float = out";

static Plan *choose(Arena *a, const Graph *g)
{
    return tessi_plan_choose(a, g, tessi_analyse(g, a), tessi_machine_default(a), PLAN_LARGE);
}

static const PlanStage *placed(const Graph *g, const Plan *p, const char *name)
{
    GRAPH_FOREACH_STAGE (g, id)
        if (tessi_streq(tessi_stage(g, id)->name, name))
            return &p->stage[id.v];
    fail_msg("no stage %s", name);
    return NULL;
}

static const char *plan_text(Arena *a, const Plan *p, const Graph *g)
{
    Text t = tessi_text_new(a);
    tessi_plan_print(p, g, &t);
    return tessi_text_str(&t);
}

static void point_wise_stages_are_inlined(void **state)
{
    Graph *g = testing_read(*state, blur_text, NULL);
    Plan *p = choose(*state, g);
    assert_int_equal(placed(g, p, "square")->placement, PLACE_INLINE);
    assert_int_equal(placed(g, p, "out")->placement, PLACE_MEMORY);
    assert_string_equal(placed(g, p, "out")->reason, "a result");
    assert_null(tessi_plan_verify(*state, p, g));
}

static void dear_stages_are_not_repeated(void **state)
{
    Graph *g = testing_read(*state,
                            "graph t param M, N image X[M, N] float stage X[M, N] float = image X "
                            "stage dear[M, N] float = exp(sin(X)) + log(cos(X)) "
                            "stage once[M, N] float = exp(sin(X)) "
                            "stage out[M, N] float = dear@[0,-1]:clamp + dear@[0,1]:clamp + once "
                            "output out[M, N] float = out",
                            NULL);
    Machine *m = tessi_machine_default(*state);
    m->cores = 1;
    Plan *p = tessi_plan_choose(*state, g, tessi_analyse(g, *state), m, PLAN_LARGE);
    assert_int_equal(placed(g, p, "dear")->placement, PLACE_SCRATCH);
    assert_non_null(strstr(placed(g, p, "dear")->reason, "computing it again would cost"));
    assert_int_equal(placed(g, p, "once")->placement,
                     PLACE_INLINE); /* read once: nothing is repeated */
}

/* A table is looked up once a point and not nine times, though nothing else is computed. */
static void tables_are_not_looked_up_again(void **state)
{
    Graph *g = testing_read(*state,
                            "graph t param M, N image X[M, N] uint8 image T[256] float "
                            "stage X[M, N] uint8 = image X stage T[256] float = image T "
                            "stage bright[M, N] float = T@[{X}]:clamp "
                            "stage out[M, N] float = bright@[-1,-1]:clamp + bright@[0,-1]:clamp + "
                            "bright@[1,-1]:clamp + bright@[-1,1]:clamp + bright@[0,1]:clamp + "
                            "bright@[1,1]:clamp "
                            "output out[M, N] float = out",
                            NULL);
    Plan *p = choose(*state, g);
    assert_int_not_equal(placed(g, p, "bright")->placement, PLACE_INLINE);
    assert_non_null(strstr(placed(g, p, "bright")->reason, "computing it again would cost"));
}

/* temp is read in three rows: eight rows of out read it in ten, and the reason says so. */
static void rows_share_what_they_read(void **state)
{
    Graph *g = testing_read(*state, blur_text, NULL);
    Plan *p = choose(*state, g);
    const char *complaint, *text = plan_text(*state, p, g);
    assert_int_equal(placed(g, p, "temp")->placement, PLACE_INLINE);
    assert_non_null(strstr(placed(g, p, "temp")->reason, "1.25 where 8 rows share them"));
    assert_int_equal(tessi_level_rows(&p->groups.at[0].levels), 8);
    assert_non_null(strstr(text, "    y 8 unroll\n"));
    Plan *again = testing_plan(*state, g, text, &complaint);
    assert_non_null(again);
    assert_int_equal(tessi_level_rows(&again->groups.at[0].levels), 8);
    again->groups.at[0].split = SPLIT_NONE;
    assert_non_null(tessi_plan_verify(*state, again, g));
    again->groups.at[0].split = SPLIT_INTERIOR;
    tessi_level_set_rows(&again->groups.at[0].levels, PLAN_MAX_ROWS + 1);
    assert_non_null(tessi_plan_verify(*state, again, g));
    static const char *const bad[] = { "y 0 unroll", "y 17 unroll",  "y 08 unroll",
                                       "y x unroll", "y 1e1 unroll", "y unrolled" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char *line = strstr(text, "y 8 unroll"),
             *wrong =
                 tessi_sprintf(*state, "%.*s%s%s", (int)(line - text), text, bad[i], line + 10);
        assert_null(testing_plan(*state, g, wrong, &complaint));
    }
}

static void siblings_are_computed_together(void **state)
{
    Graph *g =
        testing_read(*state,
                     "graph t param M, N image X[M, N] float stage X[M, N] float = image X "
                     "stage dx[M, N] float = X@[0,1]:clamp - X@[0,-1]:clamp "
                     "stage dy[M, N] float = X@[1,0]:clamp - X@[-1,0]:clamp "
                     "stage after[M, N] float = X + dx@[1,1]:clamp "
                     "stage small[M - 1, N] float = X "
                     "output o[M, N] { a float = dx, b float = dy } output p[M, N] float = after "
                     "output q[M - 1, N] float = small",
                     NULL);
    Plan *p = choose(*state, g);
    assert_null(tessi_plan_verify(*state, p, g));
    /* dx and dy are computed together, for `after` too, which reads dx; `small` has another size */
    assert_int_equal(p->groups.n, 2);
    assert_int_equal(p->groups.at[0].passes.n, 2); /* dy is needed in a smaller region than dx */
    assert_int_equal(p->groups.at[0].members.n, 3);
}

/* Two stages deep, with a rule of each kind; the planner fuses what it can and says why it cannot. */
static void chains_are_fused_whatever_the_rule(void **state)
{
    static const struct {
        const char *first, *second, *why_not;
    } cases[] = {
        { "clamp", "clamp", NULL },
        { "mirror", "constant(0f)", NULL },
        { "wrap", "wrap", NULL },
        { "clamp", "wrap", "'dear' is needed beyond its edge, where 'X' does not wrap around" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = tessi_sprintf(
            *state,
            "graph t param M, N image X[M, N] float stage X[M, N] float = image X "
            "stage dear[M, N] float = exp(sin(X@[0,1]:%s)) + log(cos(X@[1,0]:%s)) "
            "stage out[M, N] float = dear@[0,-1]:%s + dear@[1,1]:%s + dear@[-1,0]:%s "
            "output out[M, N] float = out",
            cases[i].first, cases[i].first, cases[i].second, cases[i].second, cases[i].second);
        Graph *g = testing_read(*state, text, NULL);
        Plan *p = choose(*state, g);
        assert_null(tessi_plan_verify(*state, p, g));
        assert_int_equal(placed(g, p, "dear")->placement,
                         cases[i].why_not ? PLACE_MEMORY : PLACE_SCRATCH);
        if (cases[i].why_not)
            assert_non_null(strstr(plan_text(*state, p, g), cases[i].why_not));
    }
}

static void regions_grow_towards_what_is_read(void **state)
{
    Graph *g = testing_read(*state,
                            "graph t param M, N image X[M, N] float stage X[M, N] float = image X "
                            "stage a[M, N] float = X + 1f "
                            "stage b[M, N] float = a@[-2,0]:clamp + a@[1,0]:clamp "
                            "stage c[M, N] float = b@[0,3]:mirror "
                            "output c[M, N] float = c",
                            NULL);
    const char *complaint;
    Plan *p =
        testing_plan(*state, g,
                     "group c\ny 8 serial\nx 16 serial\nstage a in scratch\nstage b in scratch\n"
                     "y 2 unroll\nstage c in memory\nsplit interior\n",
                     &complaint);
    assert_string_equal(complaint, "");
    PlanRegions regions = { 0 };
    const PlanGroup *group = &p->groups.at[0];
    assert_null(tessi_plan_regions(tessi_plan_facts(*state, g), p, group, &regions));
    const PlanRegion *a = &regions.at[group->passes.at[0].stages.at[0].v];
    const PlanRegion *b = &regions.at[group->passes.at[1].stages.at[0].v];
    assert_int_equal(tessi_level_rows(&group->passes.at[1].levels), 2);
    assert_true(b->lo[0] == 0 && b->hi[0] == 0 && b->lo[1] == -3 && b->hi[1] == 3);
    assert_true(a->lo[0] == -2 && a->hi[0] == 1 && a->lo[1] == -3 && a->hi[1] == 3);
}

static void printed_plans_read_back(void **state)
{
    Arena *a = *state;
    int with_rings = 0, with_width = 0;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        Graph *g = random_graph(a, seed);
        if (!tessi_graph_verify(g)) {
            Machine *m = tessi_machine_default(a);
            Plan *plans[3] = { tessi_plan_naive(a, g, m), choose(a, g),
                               tessi_plan_random(a, g, m, seed) };
            for (int i = 0; i < 3; i++) {
                const char *fault = tessi_plan_verify(a, plans[i], g);
                if (fault)
                    fail_msg("seed %llu, plan %d: %s", (unsigned long long)seed, i, fault);
                const char *complaint, *text = plan_text(a, plans[i], g);
                Plan *again = testing_plan(a, g, text, &complaint);
                assert_string_equal(complaint, "");
                assert_string_equal(plan_text(a, again, g), text);
                with_rings += strstr(text, " step\n") != NULL;
                with_width += strstr(text, "\nwidth ") != NULL;
            }
        }
        tessi_arena_dispose(a);
        tessi_arena_init(a, testing_out_of_memory, NULL);
    }
    assert_true(with_rings > 1 && with_width > 20);
}

static void vectors_are_as_wide_as_plan_and_machine_allow(void **state)
{
    Graph *g = testing_read(*state, blur_text, NULL);
    Machine *m = tessi_machine_default(*state);
    const char *complaint;
    Plan *p = testing_plan(*state, g,
                           "plan blur\nwhy narrow\nwidth 16\nstage square inline\n"
                           "stage temp inline\ngroup o\nstage out in memory\n",
                           &complaint);
    assert_string_equal(complaint, "");
    assert_int_equal(tessi_plan_vector_bytes(p, m), 16);
    assert_string_equal(p->reason, "narrow");
    p->width = 64;
    assert_int_equal(tessi_plan_vector_bytes(p, m), m->vector_bytes);
    p->width = 0;
    assert_int_equal(tessi_plan_vector_bytes(p, m), m->vector_bytes);
}

/* What is expected of every group of a chosen plan is said with it. */
static void groups_say_what_they_cost(void **state)
{
    static const char chain[] =
        "graph t param M, N image X[M, N] float stage X[M, N] float = image X "
        "stage a[M, N] float = exp(X@[-1,0]:clamp) + exp(X@[1,-2]:clamp) "
        "stage b[M, N] float = sin(a@[-3,1]:clamp) - cos(a@[2,0]:clamp) "
        "stage c[M, N] float = b@[0,-1]:clamp + b@[-2,1]:clamp + b@[1,1]:clamp "
        "output r[M, N] float = c";
    static const char *const facts[2][6] = {
        { "\n    why a point of all groups ", " ps in vectors of 32 bytes, ",
          "    why 4 B read and 4 B written a point, ", " inside no rule is answered: ",
          " times the operations of computing each stage once", "the next best tiles, of " },
        { "    why 4 B read and 4 B written a point, ", " instructions, ", "bound by ",
          ": gain of splitting by blocks G = ",
          " times the operations of computing each stage once", NULL }
    };
    Graph *g = testing_read(*state, chain, NULL);
    for (size_t gpu = 0; gpu < 2; gpu++) {
        Machine *m = tessi_machine_default(*state);
        m->target = gpu ? "gpu" : "cpu";
        if (gpu)
            m->memory_gbs = m->memory_stream_gbs = 1; /* so that stages are inline */
        Plan *p = tessi_plan_choose(*state, g, tessi_analyse(g, *state), m, PLAN_LARGE);
        const char *text = plan_text(*state, p, g);
        for (size_t i = 0; i < 6 && facts[gpu][i]; i++)
            if (!strstr(text, facts[gpu][i]))
                fail_msg("no '%s' in\n%s", facts[gpu][i], text);
    }
}

/* `a`, whose windows are too wide to be written out for the columns of a thread, cannot be a pass of the tiles of
 * `b` and `c`. */
static void passes_without_a_kernel_are_not_fused(void **state)
{
    static const char text[] =
        "graph t param M, N image X[M, N] float stage X[M, N] float = image X "
        "stage a[M, N] uint8 = "
        "cast<uint8>(sum($i = -11..11, $j = -11..11 : min(abs(X@[$i,$j]:clamp - X), 200.0f))) "
        "stage b[M, N] float = exp(sin(cast<float>(a@[-1,0]:mirror))) "
        "+ log(2.0f + cos(cast<float>(a@[1,0]:mirror))) "
        "stage c[M, N] float = b@[-1,-1]:clamp + b@[1,1]:clamp + b@[0,1]:clamp + b@[-2,0]:clamp "
        "output r[M, N] float = c";
    Graph *g = testing_read(*state, text, NULL);
    Machine *m = tessi_machine_default(*state);
    m->target = "gpu";
    m->cores = 132;
    m->vector_bytes = 512;
    m->memory_gbs = m->memory_stream_gbs = 4170;
    m->simple_per_cycle = m->mul_per_cycle = m->fma_per_cycle = 1;
    m->math_per_cycle = 0.04; /* dear, so that `b` is not computed again */
    Plan *p = tessi_plan_choose(*state, g, tessi_analyse(g, *state), m, PLAN_LARGE);
    assert_int_equal(placed(g, p, "a")->placement, PLACE_MEMORY);
    assert_int_equal(placed(g, p, "b")->placement, PLACE_SCRATCH);
    assert_null(tessi_plan_verify(*state, p, g));
}

static bool goes_past_caches(Arena *a, const char *text, const Machine *m)
{
    Graph *g = testing_read(a, text, NULL);
    return tessi_plan_choose(a, g, tessi_analyse(g, a), m, PLAN_LARGE)->groups.at[0].stream;
}

/* By whole lines, or one row at a time: several rows at once are not, where vectors of what they store are less than
 * a line. */
static void lines_are_not_torn(void **state)
{
#define IMAGE(t) "graph t param M, N image X[M, N] " t " stage X[M, N] " t " = image X "
#define STAGE    "stage r[M, N] float = "
#define SUM      "X@[-1,0]:clamp + X@[1,0]:clamp + X@[0,-1]:clamp + X@[0,1]:clamp"
#define RESULT   " output r[M, N] float = r"
    static const char one[] = IMAGE("float") STAGE "X + 1.0f" RESULT;
    static const char sums[] = IMAGE("float") STAGE SUM RESULT;
    static const char doubles[] = IMAGE("double") STAGE "cast<float>(" SUM ")" RESULT;
    static const char two[] = IMAGE("float") STAGE "X + 1.0f stage s[M, N] float = X * 3.0f" RESULT
                                                   " output s[M, N] float = s";
    Machine *m = tessi_machine_default(*state);
    m->line_bytes = 64;
    for (m->vector_bytes = 32; m->vector_bytes <= 64; m->vector_bytes *= 2) {
        const bool whole = m->vector_bytes == 64;
        assert_true(goes_past_caches(*state, one, m));
        assert_int_equal(goes_past_caches(*state, sums, m), whole);
        assert_int_equal(goes_past_caches(*state, two, m), whole);
        assert_false(goes_past_caches(*state, doubles, m));
    }
#undef IMAGE
#undef STAGE
#undef SUM
#undef RESULT
}

/* Half of the last cache, or twice those of the cores where memory is reached as fast. */
static void small_results_stay(void **state)
{
    Machine *m = tessi_machine_default(*state);
    m->cores = 4;
    m->l2_bytes = 1 << 20;
    m->l3_bytes = 64 << 20;
    m->l3_gbs = 4 * m->memory_stream_gbs;
    assert_int_equal(tessi_plan_stream_bytes(m), 32 << 20);
    m->l3_gbs = m->memory_stream_gbs / 2;
    assert_int_equal(tessi_plan_stream_bytes(m), 8 << 20);
    m->l3_bytes = 8 << 20;
    assert_int_equal(tessi_plan_stream_bytes(m), 4 << 20);
}

static void estimates_add_up(void **state)
{
    Graph *g = testing_read(*state, blur_text, NULL);
    Machine *m = tessi_machine_default(*state);
    const int64_t params[2] = { 100, 200 };
    Plan *p = tessi_plan_naive(*state, g, m);
    PlanEstimate e = tessi_plan_estimate(p, g, tessi_analyse(g, *state), m, params);
    assert_true(e.operations == 20000.0 * 5);
    assert_true(e.bytes_read == 20000.0 * 12 && e.bytes_written == 20000.0 * 12);
    /* A run that is repeated finds images in the last cache that fill half of it, and no others. */
    m->l3_gbs = 4 * m->memory_gbs;
    m->l3_bytes = 8 * 20000 * 2;
    m->memory_exposed = m->thread_start_us = 0;
    m->simple_per_cycle = m->mul_per_cycle = m->fma_per_cycle = m->load_per_cycle = 1e9;
    e = tessi_plan_estimate(p, g, tessi_analyse(g, *state), m, params);
    m->l3_bytes--;
    const PlanEstimate far = tessi_plan_estimate(p, g, tessi_analyse(g, *state), m, params);
    assert_true(far.seconds > 1.5 * e.seconds);
    assert_true(far.seconds == far.first_seconds && e.first_seconds > e.seconds);
    assert_true(far.seconds >= far.must_move / (m->memory_stream_gbs * 1e9) * 0.999);
    /* A few cores reach less of the memory than all; plans are compared as before. */
    m->memory_core_gbs = m->memory_gbs / (2 * (double)m->cores);
    const PlanEstimate few = tessi_plan_estimate(p, g, tessi_analyse(g, *state), m, params);
    assert_true(few.seconds > 1.3 * far.seconds && few.first_seconds == far.first_seconds);
}

static void illegal_plans_are_refused(void **state)
{
    static const char good[] = "plan blur\nmachine m\nstage square inline\n"
                               "group temp\ny grid\nx lanes\nstage temp in memory\n"
                               "group out\nstage out in memory\nsplit interior\n";
    static const struct {
        const char *text, *sentence;
    } cases[] = {
        { "stage square inline\ngroup t\ny serial\nx serial\nstage temp in memory\nstage out in "
          "memory\n",
          "group 't' reads stage 'temp' before it is computed" },
        { "stage square inline\ngroup o\ny serial\nx serial\nstage out in memory\ngroup t\ny "
          "serial\nx serial\nstage temp in memory\n",
          "group 'o' reads stage 'temp' before it is computed" },
        { "stage out inline\nstage temp inline\nstage square inline\n",
          "stage 'out' cannot be inline: it is a result" },
        { "stage temp inline\nstage square inline\n", "it says nothing about stage 'out'" },
        { "stage temp inline\nstage temp inline\n", "stage 'temp' is placed twice" },
        { "stage tmp inline\n", "the program computes no stage 'tmp'; did you mean 'temp'?" },
        { "stage X inline\n", "the program computes no stage 'X'" },
        { "stage square inline\ngroup t\ny serial\nx serial\nstage temp at x.serial in "
          "scratch\ngroup o\ny serial\nx serial\nstage out in memory\n",
          "group 't' has no stages" },
        { "stage square inline\ngroup o\ny 8 serial\nx 8 serial\nx serial\nstage temp in "
          "lanes\nstage out in memory\n",
          "stage 'temp' lives in lanes, and the levels of group 'o' have it in scratch" },
        { "stage square inline\nstage temp inline\ngroup o\ny serial\ny 4 step\nx serial\nstage "
          "out in memory\n",
          "group 'o' has rings of rows, and no tiles" },
        { "stage square inline\ngroup o\ny 512 serial\nx 4096 serial\ny 512 step\nx serial\nstage "
          "temp at y.step in scratch\nstage out in memory\n",
          "bytes of scratch memory; there are 1048576" },
        { "target gpu\nstage square inline\ngroup o\ny 8 grid\nx 8 grid\nx 64 thread\ny "
          "step\nstage temp in scratch\nstage out in memory\n",
          "steps through the tiles of a GPU keep stages in lanes so far, not in scratch" },
        { "stage square inline\nstage temp in registers\ngroup o\ny serial\ny 2 unroll\nx "
          "lanes\nstage out in memory\nsplit interior\n",
          "stage 'temp' is in registers, and no loops with a band read a row of it again further "
          "down" },
        { "stage square inline\nstage temp in registers\ngroup o\ny serial\ny 8 serial\nx "
          "serial\ny step\nstage out in memory\nsplit none\n",
          "bands are for split loops of CPUs over whole stages of two dimensions or more without "
          "windows" },
        { "stage square inline\nstage temp inline\ngroup o\ny serial\ny 8 serial\nx serial\ny "
          "step\nstage out in memory\nsplit interior\n",
          "group 'o' has a band where no stage in registers is read again further down" },
        { "stage square inline\nstage out in registers\ngroup o\ny serial\nx serial\nstage temp in "
          "memory\n",
          "stage 'out' cannot be in registers: it is a result" },
        { "group o\nstage out in memory\nsplit maybe\n",
          "a split is 'none', 'interior', 'warp', 'edges', 'regions' or 'warp-regions', not "
          "'maybe'" },
        { "stage out in memory\n", "stage 'out' is in no group" },
        { "stage out nowhere\n",
          "line 1: expected 'inline', 'with', 'at' or 'in' after a stage, not 'nowhere'" },
        { "why not\n", "a reason belongs to a plan, a stage or a group" },
        { "stage \"out memory\n", "a name in quotes is not closed on its line" },
        { "group o p\ny serial\nx serial\n", "there is something after the end of the line" },
        { "stage\n", "expected the name of a stage" },
        { "stage square inline\ngroup o\ny serial\nx serial\nstage temp at x.serial in "
          "scratch\nstage out in memory\n",
          "group 'o' has passes, and no tiles" },
        { "stage square inline\ngroup o\ny 4 serial\nx lanes\nstage temp in scratch\nstage out in "
          "memory\n",
          "group 'o': tiles have a size in each dimension" },
        { "stage square inline\ngroup o\ny 4096 serial\nx 4096 serial\nx serial\nstage temp at "
          "x.serial in scratch\nstage out in memory\n",
          "bytes of scratch memory; there are 1048576" },
        { "stage square inline\ngroup o\ny serial\nx serial\nstage temp at x.serial in scratch\n",
          "line 5: it says nothing about stage 'out'" },
        { "stage square inline\ngroup t\ny 4 serial\nx 4 serial\nx serial\nstage temp at x.serial "
          "in scratch\ngroup o\ny serial\nx serial\nstage out in memory\n",
          "group 't' has no stages" },
        { "group o\ny 4 serial\nx 4 serial\nx serial\nstage temp at x.serial in scratch\nstage "
          "square at x.serial in scratch\nstage out in memory\n",
          "a pass of group 'o' reads stage 'square' before it is computed" },
        { "group o\ny 4 serial\nx 4 serial\nx serial\nstage temp at x.serial in scratch\nstage "
          "square with temp\nstage out in memory\n",
          "a pass of group 'o' reads stage 'square' before it is computed" },
        { "stage square inline\nstage temp inline\ngroup o\nstage out in scratch\nstage out in "
          "memory\n",
          "group 'o' has passes, and no tiles" },
        { "stream\n", "'stream' belongs to a group" },
        { "stage square inline\nstage temp inline\ngroup o\ny serial\nx serial\nstage out in "
          "memory\nsplit edges\n",
          "kernels of their own for edges are for register tiles" },
        { "stage square inline\nstage temp inline\ngroup o\ny serial\nx serial\nstage out in "
          "memory\nresident 2\n",
          "resident blocks are for GPUs" },
        { "target gpu\nstage square inline\nstage temp inline\ngroup o\ny grid\nx grid\ny 32 "
          "thread\nx 32 thread\nx 1 unroll\nstage out in memory\nresident 3\n",
          "no more than 2048 threads fit a multiprocessor" },
        { "target gpu\nstage square inline\nstage temp inline\ngroup o\ny grid\nx grid\nx 1 "
          "thread\nstage out in memory\npacked\n",
          "only register tiles and networks are packed" },
        { "target gpu\nstage square inline\nstage temp inline\ngroup o\ny grid\nx grid\nx 1 "
          "thread\nstage out in memory\nnetwork\n",
          "networks are for kernels of medians" },
        { "target gpu\nstage square inline\ngroup o\ny 8 grid\nx 8 grid\ny 8 thread\nx 8 "
          "thread\nstage temp at x.grid in scratch\nstage out in memory\n",
          "their blocks one line of threads" },
        { "target gpu\nstage square inline\ngroup o\ny 8 grid\nx 9 grid\nx 64 thread\nx 4 "
          "unroll\nstage temp at x.grid in scratch\nstage out in memory\n",
          "a tile is a multiple of the outputs of a thread" },
        { "target gpu\nstage square inline\ngroup o\ny 128 grid\nx 128 grid\nx 64 thread\nstage "
          "temp at x.grid in scratch\nstage out in memory\n",
          "bytes of shared memory; there are 49152" },
        { "stage square inline\ngroup o\nx 4 grid\ny grid\nx lanes\nstage temp in scratch\nstage "
          "out in memory\n",
          "lowering expects `y grid` in the place of `x 4 grid`" },
        { "target gpu\nstage square inline\nstage temp inline\ngroup o\ny 1..8 grid 9 blocks\nx "
          "grid\nx 1 thread\ny step\nstage out in memory\nsplit none\n",
          "rolling sums are for one whole stage of two dimensions" },
        { "target gpu\nstage square inline\nstage temp inline\ngroup o\ny 1..8 grid 9 blocks\nx "
          "grid\nx 1 thread\nstage out in memory\n",
          "marches are for kernels of rolling sums" },
        { "target gpu\nstage square inline\nstage temp inline\ngroup o\ny grid\nx grid\nx 1 "
          "thread\ny step\ny 1 unroll\nstage out in memory\nsplit none\n",
          "sweeps are for one stage that could have rolling sums" },
        { "target gpu\nstage square inline\nstage temp inline\ngroup o\ny grid\nx grid\ny 4 "
          "thread\nx 32 thread\ny 2 unroll\nx 4 unroll\nstage out in memory\nframe 8 64 64 "
          "8\nsplit none\n",
          "frames are left where edges are kernels of their own" },
        { "target gpu\nstage square inline\nstage temp inline\ngroup o\ny grid\nx grid\ny 4 "
          "thread\nx 32 thread\ny 2 unroll\nx 4 unroll\nstage out in memory\nframe 8 66 64 "
          "8\nsplit edges\n",
          "the frame of group 'o': group 'o': a tile is a multiple of the outputs of a thread" },
        { "group o\ny serial\nx serial\nstage out in memory\nframe 8 64\n", "a number of rows" },
        { "width 24\n", "vectors have 16, 32 or 64 bytes, not '24'" },
        { "width 16\nwidth 32\n", "line 2: 'width' is said twice of the same plan" },
        { "width 8\n", "vectors have 16, 32 or 64 bytes, not '8'" },
        { "width 128\n", "bytes of a vector are 1 to 64, not '128'" },
        { "target gpu\nwidth 32\nstage square inline\nstage temp inline\ngroup o\ny grid\nx "
          "grid\ny 8 thread\nx 32 thread\nstage out in memory\n",
          "the width of vectors is for CPUs" },
        { "stage square inline\ngroup o\ny grid\nx 8 grid\nx serial\nstage temp at x.grid in "
          "scratch\nstage out in memory\n",
          "group 'o': tiles have a size in each dimension" },
        { "target gpu\nstage square inline\ngroup o\ny 1..9 grid 9 blocks\nx 128 grid\nx 32 "
          "thread\nx lanes\ny step\ny 2 unroll\nx 4 unroll\nstage temp at y.step in lanes\ny 2 "
          "unroll\nx 4 unroll\nstage out in memory\nframe 8 64 64 8\nsplit edges\n",
          "the warps of a block compute 120 columns" },
        { "target gpu\nstage square inline\ngroup o\ny 8 grid\nx 120 grid\nx 32 thread\nx lanes\ny "
          "step\ny 2 unroll\nx 4 unroll\nstage temp at y.step in lanes\ny 2 unroll\nx 4 "
          "unroll\nstage out in memory\nframe 8 64 64 8\nsplit edges\n",
          "a march is of at least one row" },
        { "target gpu\nstage square inline\ngroup o\ny 1..9 grid 9 blocks\nx 120 grid\nx 32 "
          "thread\nx lanes\ny step\ny 2 unroll\nx 4 unroll\nstage temp at y.step in lanes\nx 4 "
          "unroll\nstage out in memory\nframe 8 64 64 8\nsplit edges\n",
          "the passes of a kernel of warps have the outputs of the group" },
        { "target gpu\nstage square inline\ngroup o\ny 1..9 grid 9 blocks\nx 120 grid\nx 48 "
          "thread\nx lanes\ny step\ny 2 unroll\nx 4 unroll\nstage temp at y.step in lanes\ny 2 "
          "unroll\nx 4 unroll\nstage out in memory\nframe 8 64 64 8\nsplit edges\n",
          "blocks of kernels of warps are whole warps" },
        { "target gpu\nstage square inline\ngroup o\ny 1 grid\nx 120 grid\nx 32 thread\nx lanes\ny "
          "step\ny 2 unroll\nx 4 unroll\nstage temp at y.step in lanes\ny 2 unroll\nx 4 "
          "unroll\nstage out in memory\nframe 8 64 64 8\nsplit edges\n",
          "a march is of at least one row" },
        { "target gpu\nstage square inline\ngroup o\ny 1..9 grid 9 blocks\nx 120 grid\nx 32 "
          "thread\nx lanes\ny step\ny 2 unroll\nx 4 unroll\nstage temp at y.step in lanes\ny 2 "
          "unroll\nx 4 unroll\nstage out in memory\nsplit none\n",
          "kernels of warps compute blocks inside, and leave a frame" },
        { "paint it\n", "no line of a plan begins with 'paint'" },
        { "group o\ny 0 grid\n", "line 2: the size of a level is 1 to 1048576, or two such numbers "
                                 "as in 16..4096, not '0'" },
        { "group o\ny 1048577 grid\n", "line 2: the size of a level is 1 to 1048576, or two such "
                                       "numbers as in 16..4096, not '1048577'" },
        { "stage square inline\nstage temp inline\ngroup o\ny 4..2 grid 3 blocks\nx grid\nx 32 "
          "thread\ny step\nstage out in memory\n",
          "the smallest part of a grid has more rows than the largest" },
        { "group o\ny 4..8 grid 3\n", "line 2: expected 'blocks'" },
        { "group o\ny grid later\n",
          "line 2: expected 'ahead', a distance as in '4 apart', or the end of the line, not "
          "'later'" },
        { "group o\ny 8 unroll 1 apart\n", "line 2: points stand 2 to 256 apart, not '1'" },
        { "group o\ny 8 unroll 10 away\n", "line 2: expected 'apart', not 'away'" },
        { "target gpu\nstage square inline\nstage temp inline\ngroup o\ny grid 3 apart\nx grid\nx "
          "32 thread\nstage out in memory\n",
          "what threads unroll stands apart, and nothing else" },
        { "target gpu\nstage square inline\nstage temp inline\ngroup o\ny grid\nx grid\ny 5 "
          "thread\nx 32 thread\ny 2 unroll 2 apart\nstage out in memory\n",
          "as many threads stand in between as points are apart, or a multiple of that" },
        { "target gpu\nstage square inline\nstage temp inline\ngroup o\ny 4 grid\nx 32 grid\nx 32 "
          "thread\ny 2 unroll 3 apart\nstage out in memory\n",
          "a tile is a multiple of the outputs of a thread, and of those in between" },
        { "group o\ny 8 stop\n", "line 2: no level runs as 'stop'; did you mean 'step'?" },
        { "group o\ny\n", "line 2: expected the size of a level, or how it runs" },
        { "y grid\n", "line 1: a level belongs to a group" },
        { "group o\nstage out in memory\ny grid\n",
          "line 3: the levels of a group stand before its stages in memory" },
        { "stage square inline\nstage temp inline\ngroup o\nx lanes\ny grid\nstage out in memory\n",
          "group 'o': lowering expects `y grid` in the place of `x lanes`" },
        { "stage square inline\nstage temp inline\ngroup o\ny grid\nx 4 step\nx lanes\nstage out "
          "in memory\n",
          "group 'o': `x 4 step`: lowering keeps what later steps read along y, and along z on "
          "GPUs" },
        { "stage square inline\nstage temp inline\ngroup o\ny lanes\nstage out in memory\n",
          "group 'o': `y lanes`: elements lie one behind the other along x alone, so lanes are "
          "along x" },
        { "stage square inline\nstage temp inline\ngroup o\nz grid\nstage out in memory\n",
          "group 'o': `z grid`: its stages have no dimension z" },
        { "stage square inline\nstage temp inline\ngroup o\ny grid\nx 8 lanes\nstage out in "
          "memory\n",
          "group 'o': `x 8 lanes`: lanes are as many as the machine has, and have no size" },
        { "stage square inline\nstage temp inline\ngroup o\ny grid\ny 4 unroll\ny 2 unroll\nx "
          "lanes\nstage out in memory\n",
          "group 'o': lowering expects `y 2 unroll` in the place of `y 4 unroll`" },
        { "stage square inline\nstage temp inline\ngroup o\ny grid\ny 17 unroll\nx lanes\nstage "
          "out in memory\n",
          "group 'o': `y 17 unroll`: sizes of `unroll` are 1 to 16" },
        { "stage square inline\nstage temp inline\ngroup o\ny grid\nx 16 unroll\nx lanes\nstage "
          "out in memory\n",
          "group 'o': no more than 8 vectors stand side by side" },
        { "stage square inline\nstage temp inline\ngroup o\ny 8 grid\nx lanes\nstage out in "
          "memory\n",
          "group 'o': tiles have a size in each dimension" },
        { "stage square inline\nstage temp inline\ngroup o\ny grid\nx 32 thread\nstage out in "
          "memory\n",
          "group 'o': threads are for GPUs, and the plan is for a CPU" },
        { "target gpu\nstage square inline\nstage temp inline\ngroup o\ny grid\nx lanes\nstage out "
          "in memory\n",
          "group 'o': the plan is for a GPU, and no level is of threads" },
        { "stage square inline\nstage temp inline\ngroup o\ny grid\ny 5000 serial\nx lanes\ny "
          "step\nstage out in memory\nsplit interior\n",
          "group 'o': bands have 1 to 4096 rows" },
        { "stage square inline\ngroup o\ny 8 grid\nx 8 grid\nx lanes\nstage temp at x.grid in "
          "scratch\nx 2 unroll\nstage out in memory\nsplit interior\n",
          "the levels of stage 'temp': `x 2 unroll` is for the levels of the group" },
        { "stage square inline\ngroup o\ny 8 grid\nx 8 grid\nx lanes\nstage temp at x.grid in "
          "scratch\ny 4 step\nstage out in memory\nsplit interior\n",
          "the levels of stage 'temp': steps through tiles are for the levels of the group" },
        { "stage square inline\ngroup o\ny 32 grid\nx 32 grid\ny 8 step\nx lanes\nstage temp at "
          "x.grid in scratch\nstage out in memory\n",
          "line 7: stage 'temp' is computed at y.step, not at x.grid: there lowering has no place "
          "for it" },
        { "stage square inline\ngroup o\ny 32 grid\nx 32 grid\ny 8 step\nx lanes\nstage temp at "
          "y.step in scratch keep 9\nstage out in memory\n",
          "stage 'temp' keeps 10 rows for its readers, not 9" },
        { "group o\ny 32 grid\nx 32 grid\ny 8 step\nx lanes\nstage square at y.step in scratch "
          "keep 10\nstage temp at y.step in scratch\nstage out in memory\n",
          "stage 'square' keeps 8 rows for its readers, not 10" },
        { "stage square inline\ngroup o\ny 32 grid\nx 32 grid\nx lanes\nstage temp at x.grid in "
          "scratch keep 9\nstage out in memory\n",
          "stage 'temp' keeps 0 rows for its readers, not 9" },
        { "stage square inline\ngroup o\ny 32 grid\nx 32 grid\nx lanes\nstage temp at x.grid in "
          "shared\nstage out in memory\n",
          "line 6: stages live in registers, lanes, scratch or memory, not in 'shared'" },
        { "stage square inline\ngroup o\ny 32 grid\nx 32 grid\nx lanes\nstage temp with "
          "square\nstage out in memory\n",
          "line 6: 'square' is not the stage in scratch or in lanes before this one" },
        { "stage out in nowhere\n",
          "line 1: stages live in registers, lanes, scratch or memory, not in 'nowhere'" },
        { "group o\npreset nests\n", "line 2: no levels are called 'nests'; did you mean 'nest'?" },
        { "group o\npreset nest\nx 4 step\nstage out in memory\n",
          "it says nothing about stage 'square'" },
        { "stage square inline\nstage temp inline\ngroup o\npreset nest\nx 4 step\nstage out in "
          "memory\n",
          "`x 4 step`: lowering keeps what later steps read along y, and along z on GPUs" },
        { "group o\ny grid\npreset nest\n", "line 3: a preset is the first line of a group" },
        { "group o\ntile 32 256\n",
          "line 2: `tile 32 256` is now said by levels, as `y 32 grid` and `x 256 grid`" },
        { "group o\nrows 8\n", "line 2: `rows 8` is now said by a level: `y 8 unroll`" },
        { "roll 4\n", "line 1: `roll 4` is now said by a level: `y 8 step`" },
        { "group o\nstage out in memory\nloops 1 0\n",
          "line 3: `loops 1 0` is now said by the order of levels, the outermost first" },
        { "group o\nstage temp tile\n",
          "line 2: `stage temp tile` is now said `stage temp at x.grid in scratch`" },
        { "stage out memory\n", "line 1: `stage out memory` is now said `stage out in memory`" },
        { "group o\nstage out in memory\nkernel register\n",
          "line 3: `kernel register` is now said by levels, as `x 32 thread`, or by a line `preset "
          "register`" },
        { "group o\nstage out in memory\ncopy X at y.step in scratch\n",
          "line 3: lowering copies images at x.grid alone so far, not at 'y.step'" },
        { "group o\nstage out in memory\ncopy X in scratch\n",
          "line 3: images are copied `at x.grid in scratch` or `in constant`, not in 'scratch'" },
        { "group o\nstage out in memory\ncopy X at x.grid in scratch edge\n",
          "line 3: expected 'centre', 'pad' or the end of the line, not 'edge'" },
    };
    Graph *g = testing_read(*state, blur_text, NULL);
    const char *complaint;
    assert_non_null(testing_plan(*state, g, good, &complaint));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_null(testing_plan(*state, g, cases[i].text, &complaint));
        if (!strstr(complaint, cases[i].sentence))
            fail_msg("expected '%s', got '%s'", cases[i].sentence, complaint);
    }
}

/* The field of each knob holds the greatest number that pages may give it. */
static void fields_hold_their_numbers(void **state)
{
    (void)state;
    PlanGroup group = { 0 };
    for (const Knob *k = tessi_knobs(); k->word; k++) {
        assert_ptr_equal(tessi_knob_by_word(k->word), k);
        for (uint32_t i = 0; i < k->n; i++) {
            tessi_knob_set(k, i, &group, k->number[i].most);
            assert_int_equal(tessi_knob_get(k, i, &group), k->number[i].most);
        }
    }
    tessi_knobs_unset(&group);
    assert_int_equal(group.resident, 0);
    assert_null(tessi_knob_by_word("pack"));
}

/* Whatever a level is set to is found again, and makes no other. */
static void levels_are_found_again(void **state)
{
    (void)state;
    PlanGroup group = { .n_dims = 3 };
    tessi_levels_one_by_one(&group.levels, 3);
    for (uint8_t d = 0; d < 3; d++)
        tessi_level_set_tile(&group, d, 8 + d);
    tessi_level_set_parallel(&group, true);
    tessi_level_set_vector(&group, true);
    tessi_level_set_rows(&group.levels, 4);
    tessi_level_set_columns(&group.levels, 2);
    tessi_level_set_roll(&group.levels, 16);
    tessi_level_set_band(&group.levels, 64);
    for (uint8_t d = 0; d < 3; d++)
        assert_int_equal(tessi_level_tile(&group, d), 8 + d);
    assert_true(tessi_level_parallel(&group.levels) && tessi_level_vector(&group.levels));
    assert_int_equal(tessi_level_rows(&group.levels), 4);
    assert_int_equal(tessi_level_columns(&group.levels), 2);
    assert_int_equal(tessi_level_roll(&group.levels), 16);
    assert_int_equal(tessi_level_band(&group.levels), 64);
    assert_int_equal(tessi_level_outputs(&group.levels, 1), 1);
    assert_int_equal(tessi_plan_kernel(&group), KERNEL_NONE);
    for (int kernel = KERNEL_POINT; kernel < N_KERNELS; kernel++) {
        PlanGroup made = { .n_dims = 3,
                           .transform = kernel == KERNEL_TRANSFORM,
                           .median = kernel == KERNEL_MEDIAN,
                           .product = kernel == KERNEL_PRODUCT };
        tessi_levels_one_by_one(&made.levels, 3);
        tessi_plan_set_kernel(&made, (KernelKind)kernel);
        for (uint8_t d = 0; d < 3 && kernel == KERNEL_TILE; d++)
            tessi_level_set_tile(&made, d, 8);
        assert_int_equal(tessi_plan_kernel(&made), kernel);
        tessi_level_set_threads(&made.levels, 0, 64);
        tessi_level_set_outputs(&made.levels, 0, 4);
        tessi_level_set_outputs(&made.levels, 0, 1);
        assert_int_equal(tessi_plan_kernel(&made),
                         kernel == KERNEL_POINT ? KERNEL_REGISTER : kernel);
    }
}

/* A preset and what differs from it say the same as all the levels. */
static void presets_stand_for_levels(void **state)
{
    static const struct {
        const char *head, *preset, *levels;
    } cases[] = {
        { "", "preset nest\n", "y grid\nx lanes\n" },
        { "", "preset rows\ny 4 unroll\nx 2 unroll\n",
          "y grid\ny 4 unroll\nx 2 unroll\nx lanes\n" },
        { "", "preset tiles\ny 64 grid\n", "y 64 grid\nx 256 grid\nx lanes\n" },
        { "", "preset tiles\ny 16 step\n", "y 32 grid\nx 256 grid\ny 16 step\nx lanes\n" },
        { "", "preset rings\n", "y 32 grid\nx 256 grid\ny 8 step\nx lanes\n" },
        { "target gpu\n", "preset point\n", "y grid\nx grid\ny 8 thread\nx 32 thread\n" },
        { "target gpu\n", "preset register\nx 8 unroll\n",
          "y grid\nx grid\ny 4 thread\nx 32 thread\ny 4 unroll\nx 8 unroll\n" },
        { "target gpu\n", "preset point\ny 1 thread\n", "x 32 thread\n" },
        { "target gpu\n", "preset tile\n",
          "y 16 grid\nx 64 grid\nx 128 thread\ny 2 unroll\nx 4 unroll\n" },
    };
    Graph *g = testing_read(*state, blur_text, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *texts[2], *levels[] = { cases[i].preset, cases[i].levels }, *complaint;
        for (int k = 0; k < 2; k++) {
            Plan *p =
                testing_plan(*state, g,
                             tessi_sprintf(*state,
                                           "%sstage square inline\nstage temp inline\ngroup o\n%s"
                                           "stage out in memory\nsplit interior\n",
                                           cases[i].head, levels[k]),
                             &complaint);
            if (!p)
                fail_msg("%s: %s", levels[k], complaint);
            texts[k] = plan_text(*state, p, g);
        }
        assert_string_equal(texts[0], texts[1]);
    }
}

static void little_runs_stay_on_one_thread(void **state)
{
    Machine *m = tessi_machine_default(*state);
    m->cores = 2;
    m->wake_us = 10;
    assert_true(tessi_plan_little_seconds(m) > 19e-6);
    assert_true(tessi_plan_little_seconds(m) < 21e-6);
    m->cores = 64;
    assert_true(tessi_plan_little_seconds(m) < 11e-6);
    m->cores = 1;
    assert_true(tessi_plan_little_seconds(m) > 1e9);
}

int main(void)
{
    const struct CMUnitTest tests[] = { GRAPH_TEST(point_wise_stages_are_inlined),
                                        GRAPH_TEST(dear_stages_are_not_repeated),
                                        GRAPH_TEST(tables_are_not_looked_up_again),
                                        GRAPH_TEST(rows_share_what_they_read),
                                        GRAPH_TEST(siblings_are_computed_together),
                                        GRAPH_TEST(chains_are_fused_whatever_the_rule),
                                        GRAPH_TEST(regions_grow_towards_what_is_read),
                                        GRAPH_TEST(printed_plans_read_back),
                                        GRAPH_TEST(vectors_are_as_wide_as_plan_and_machine_allow),
                                        GRAPH_TEST(groups_say_what_they_cost),
                                        GRAPH_TEST(passes_without_a_kernel_are_not_fused),
                                        GRAPH_TEST(lines_are_not_torn),
                                        GRAPH_TEST(small_results_stay),
                                        GRAPH_TEST(estimates_add_up),
                                        GRAPH_TEST(little_runs_stay_on_one_thread),
                                        GRAPH_TEST(illegal_plans_are_refused),
                                        GRAPH_TEST(fields_hold_their_numbers),
                                        GRAPH_TEST(levels_are_found_again),
                                        GRAPH_TEST(presets_stand_for_levels) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
