/* Plans: what the planner decides, the text and back, and the sentence for every plan that is not legal. */
#include "graph_testing.h"
#include "plan/plan.h"
#include "plan/plan_knobs.h"
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
    return tessi_plan_choose(a, g, tessi_analyse(g, a), tessi_machine_default(a));
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
    Text t;
    tessi_text_init(&t, a);
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
    Plan *p = tessi_plan_choose(*state, g, tessi_analyse(g, *state), m);
    assert_int_equal(placed(g, p, "dear")->placement, PLACE_TILE);
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
    assert_non_null(strstr(text, "    rows 8\n"));
    Plan *again = testing_plan(*state, g, text, &complaint);
    assert_non_null(again);
    assert_int_equal(tessi_level_rows(&again->groups.at[0].levels), 8);
    again->groups.at[0].split = SPLIT_NONE;
    assert_non_null(tessi_plan_verify(*state, again, g));
    again->groups.at[0].split = SPLIT_INTERIOR;
    tessi_level_set_rows(&again->groups.at[0].levels, PLAN_MAX_ROWS + 1);
    assert_non_null(tessi_plan_verify(*state, again, g));
    static const char *const bad[] = {
        "rows 0", "rows 17", "rows 08", "rows x", "rows 1e1", "rows"
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char *line = strstr(text, "rows 8"),
             *wrong = tessi_sprintf(*state, "%.*s%s%s", (int)(line - text), text, bad[i], line + 6);
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
                         cases[i].why_not ? PLACE_MEMORY : PLACE_TILE);
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
    Plan *p = testing_plan(*state, g,
                           "group c\ntile 8 16\npass\nstage a tile\npass\nstage b tile\nrows 2\n"
                           "stage c memory\nloops 0 1\nsplit interior\n",
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
    int with_rings = 0, with_strips = 0, with_width = 0;
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
                with_rings += strstr(text, "    roll ") != NULL;
                with_strips += strstr(text, "    strip ") != NULL;
                with_width += strstr(text, "\nwidth ") != NULL;
            }
        }
        tessi_arena_dispose(a);
        tessi_arena_init(a, testing_out_of_memory, NULL);
    }
    assert_true(with_rings > 3 && with_strips > 20 && with_width > 20);
}

static void vectors_are_as_wide_as_plan_and_machine_allow(void **state)
{
    Graph *g = testing_read(*state, blur_text, NULL);
    Machine *m = tessi_machine_default(*state);
    const char *complaint;
    Plan *p = testing_plan(*state, g,
                           "plan blur\nwhy narrow\nwidth 16\nstage square inline\n"
                           "stage temp inline\ngroup o\nstage out memory\n",
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
        Plan *p = tessi_plan_choose(*state, g, tessi_analyse(g, *state), m);
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
    Plan *p = tessi_plan_choose(*state, g, tessi_analyse(g, *state), m);
    assert_int_equal(placed(g, p, "a")->placement, PLACE_MEMORY);
    assert_int_equal(placed(g, p, "b")->placement, PLACE_TILE);
    assert_null(tessi_plan_verify(*state, p, g));
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
    assert_true(e.seconds >= 24 * 20000.0 / (m->memory_gbs * 1e9) * 0.999);
}

static void illegal_plans_are_refused(void **state)
{
    static const char good[] = "plan blur\nmachine m\nstage square inline\n"
                               "group temp\nstage temp memory\nloops 0 1\nparallel 0\nvector 1\n"
                               "group out\nstage out memory\nloops 0 1\nsplit interior\n";
    static const struct {
        const char *text, *sentence;
    } cases[] = {
        { "stage square inline\ngroup t\nstage temp memory\nstage out memory\n",
          "group 't' reads stage 'temp' before it is computed" },
        { "stage square inline\ngroup o\nstage out memory\ngroup t\nstage temp memory\n",
          "group 'o' reads stage 'temp' before it is computed" },
        { "stage out inline\nstage temp inline\nstage square inline\n",
          "stage 'out' cannot be inline: it is a result" },
        { "stage temp inline\nstage square inline\n", "it says nothing about stage 'out'" },
        { "stage temp inline\nstage temp inline\n", "stage 'temp' is placed twice" },
        { "stage tmp inline\n", "the program computes no stage 'tmp'; did you mean 'temp'?" },
        { "stage X inline\n", "the program computes no stage 'X'" },
        { "stage square inline\ngroup t\nstage temp rows\ngroup o\nstage out memory\n",
          "stage 'temp' is in no pass" },
        { "stage square inline\ngroup o\ntile 8 8\npass\nstage temp rows\nstage out memory\n",
          "stage 'temp' of a pass of group 'o' is placed in rows" },
        { "stage square inline\ngroup o\ntile 8 8\nroll 4\npass\nstage temp tile\n"
          "stage out memory\n",
          "stage 'temp' of a pass of group 'o' is placed in tile" },
        { "stage square inline\nstage temp inline\ngroup o\nroll 4\nstage out memory\n",
          "group 'o' has rings of rows, and no tiles" },
        { "stage square inline\ngroup o\ntile 8 8\nroll 0\n", "rows are 1 to 1024, not '0'" },
        { "roll 4\n", "'roll' belongs to a group" },
        { "stage square inline\ngroup o\ntile 512 4096\nroll 512\npass\nstage temp rows\n"
          "stage out memory\n",
          "bytes of scratch memory; there are 1048576" },
        { "target gpu\nstage square inline\ngroup o\ntile 8 8\nroll 4\npass\n"
          "stage temp rows\nstage out memory\nkernel tile\nblock 64 1\n",
          "group 'o': rings of rows are for stages of two dimensions or more, on CPUs" },
        { "stage square inline\nstage temp register\ngroup o\nstage out memory\nvector 1\nrows 2\n"
          "split interior\n",
          "stage 'temp' is in registers, and no loops with a band read a row of it again further "
          "down" },
        { "stage square inline\nstage temp register\ngroup o\nstage out memory\nband 8\n"
          "split none\n",
          "bands are for split loops of CPUs over whole stages of two dimensions or more without "
          "windows" },
        { "stage square inline\nstage temp inline\ngroup o\nstage out memory\nband 8\n"
          "split interior\n",
          "group 'o' has a band where no stage in registers is read again further down" },
        { "stage square inline\nstage out register\ngroup o\nstage temp memory\n",
          "stage 'out' cannot be in registers: it is a result" },
        { "stage square inline\nstage temp register\ngroup o\nstage out memory\nparallel 0\n"
          "strip 8\nband 8\nsplit interior\n",
          "group 'o': bands are shared out as they are, not in strips of rows" },
        { "group o\nstage out memory\nband 4097\n", "rows are 1 to 4096, not '4097'" },
        { "stage square inline\nstage temp inline\ngroup o\nstage out memory\nloops 1 0\n",
          "this version lowers only loops in the order of the dimensions" },
        { "stage square inline\nstage temp inline\ngroup o\nstage out memory\nvector 0\n",
          "this version makes vectors only of the last dimension" },
        { "stage square inline\nstage temp inline\ngroup o\nstage out memory\nparallel 1\n",
          "this version shares out only dimension 0" },
        { "group o\nloops 0\n", "'loops' belongs to a group, after its stages" },
        { "group o\nstage out memory\nloops 0 0\n", "dimension 0 has two loops" },
        { "group o\nstage out memory\nloops 0 7\n", "a dimension is a number from 0 to 3" },
        { "group o\nstage out memory\nsplit maybe\n",
          "a split is 'none', 'interior', 'warp' or 'edges', not 'maybe'" },
        { "stage out memory\n", "stage 'out' is in no group" },
        { "stage out nowhere\n", "'nowhere' is no placement" },
        { "why not\n", "a reason belongs to a plan, a stage or a group" },
        { "stage \"out memory\n", "a name in quotes is not closed on its line" },
        { "group o p\n", "there is something after the end of the line" },
        { "stage\n", "expected the name of a stage" },
        { "stage square inline\ngroup o\npass\nstage temp tile\nstage out memory\n",
          "group 'o' has passes, and no tiles" },
        { "stage square inline\ngroup o\ntile 4\npass\nstage temp tile\nstage out memory\n",
          "group 'o': a tile has 1 to 1048576 points in each dimension" },
        { "stage square inline\ngroup o\ntile 0 4\n",
          "points of a tile are 1 to 1048576, not '0'" },
        { "stage square inline\ngroup o\ntile 4096 4096\npass\nstage temp tile\nstage out memory\n",
          "bytes of scratch memory; there are 1048576" },
        { "stage square inline\ngroup o\nstage temp tile\n", "stage 'temp' is in no pass" },
        { "stage square inline\ngroup t\ntile 4 4\npass\nstage temp tile\ngroup o\nstage out "
          "memory\n",
          "group 't' has no stages" },
        { "group t\ntile 4 4\npass\nstage square tile\nstage temp memory\ngroup o\ntile 4 4\n"
          "stage out memory\npass\n",
          "a pass of group 'o' has no stages" },
        { "group o\ntile 4 4\npass\nstage temp tile\npass\nstage square tile\nstage out memory\n",
          "a pass of group 'o' reads stage 'square' before it is computed" },
        { "group o\ntile 4 4\npass\nstage temp tile\nstage square tile\nstage out memory\n",
          "a pass of group 'o' reads stage 'square' before it is computed" },
        { "stage square inline\nstage temp inline\ngroup o\ntile 4 4\npass\nstage out tile\n"
          "stage out memory\npass\n",
          "a pass of group 'o' has no stages" },
        { "pass\n", "a pass belongs to a group" },
        { "stream\n", "'stream' belongs to a group" },
        { "stage square inline\nstage temp inline\ngroup o\nstage out memory\nsplit edges\n",
          "kernels of their own for edges are for register tiles" },
        { "stage square inline\nstage temp inline\ngroup o\nstage out memory\nresident 2\n",
          "resident blocks are for GPUs" },
        { "target gpu\nstage square inline\nstage temp inline\ngroup o\nstage out memory\n"
          "kernel register\nblock 32 32\nresident 3\n",
          "no more than 2048 threads fit a multiprocessor" },
        { "target gpu\nstage square inline\nstage temp inline\ngroup o\nstage out memory\n"
          "kernel point\npacked\n",
          "only register tiles are packed" },
        { "target gpu\nstage square inline\ngroup o\ntile 8 8\npass\nstage temp tile\n"
          "stage out memory\nkernel point\n",
          "tiles on GPUs are those of kernels of tiles" },
        { "target gpu\nstage square inline\ngroup o\ntile 8 8\npass\nstage temp tile\n"
          "stage out memory\nkernel tile\nblock 8 8\n",
          "their blocks one line of threads" },
        { "target gpu\nstage square inline\ngroup o\ntile 8 9\npass\nstage temp tile\n"
          "stage out memory\nkernel tile\nblock 64 1\noutputs 4 1\n",
          "a tile is a multiple of the outputs of a thread" },
        { "target gpu\nstage square inline\ngroup o\ntile 128 128\npass\nstage temp tile\n"
          "stage out memory\nkernel tile\nblock 64 1\n",
          "bytes of shared memory; there are 49152" },
        { "target gpu\nstage square inline\ngroup o\ntile 8 8\npass\nstage temp tile\nrows 2\n"
          "stage out memory\nkernel tile\nblock 64 1\n",
          "rows are for CPUs, outputs for GPUs" },
        { "stage square inline\ngroup o\ntile 8 8\npass\nstage temp tile\noutputs 4 2\n"
          "stage out memory\n",
          "rows are for CPUs, outputs for GPUs" },
        { "target gpu\nstage square inline\nstage temp inline\ngroup o\nstage out memory\n"
          "kernel rolling\nmarch 1 8 9\nsplit none\n",
          "rolling sums are for one whole stage of two dimensions" },
        { "target gpu\nstage square inline\nstage temp inline\ngroup o\nstage out memory\n"
          "kernel point\nmarch 1 8 9\n",
          "marches are for kernels of rolling sums" },
        { "target gpu\nstage square inline\nstage temp inline\ngroup o\nstage out memory\n"
          "kernel sweep\nsplit none\n",
          "sweeps are for one stage that could have rolling sums" },
        { "group o\nstage out memory\nmarch 1 8 9 later\n",
          "expected 'ahead' or the end of the line, not 'later'" },
        { "target gpu\nstage square inline\nstage temp inline\ngroup o\nstage out memory\n"
          "kernel register\nblock 32 4\noutputs 4 2\nframe 8 64 64 8\nsplit none\n",
          "frames are left where edges are kernels of their own" },
        { "target gpu\nstage square inline\nstage temp inline\ngroup o\nstage out memory\n"
          "kernel register\nblock 32 4\noutputs 4 2\nframe 8 66 64 8\nsplit edges\n",
          "the frame of group 'o': group 'o': a tile is a multiple of the outputs of a thread" },
        { "group o\nstage out memory\nframe 8 64\n", "a number of rows" },
        { "width 24\n", "vectors have 16, 32 or 64 bytes, not '24'" },
        { "width 16\nwidth 32\n", "line 2: 'width' is said twice of the same plan" },
        { "width 8\n", "vectors have 16, 32 or 64 bytes, not '8'" },
        { "width 128\n", "bytes of a vector are 1 to 64, not '128'" },
        { "target gpu\nwidth 32\nstage square inline\nstage temp inline\ngroup o\n"
          "stage out memory\nkernel point\nblock 32 8\n",
          "the width of vectors is for CPUs" },
        { "group o\nstrip 8\n", "'strip' belongs to a group, after its stages" },
        { "stage square inline\nstage temp inline\ngroup o\nstage out memory\nstrip 8\n",
          "group 'o': strips are for loops of CPUs that share out the rows" },
        { "stage square inline\nstage temp inline\ngroup o\nstage out memory\nparallel 0\n"
          "vector 1\nrows 8\nstrip 12\nsplit interior\n",
          "a strip of 12 rows is no whole number of times the 8 that are computed at once" },
        { "stage square inline\ngroup o\ntile 8 8\npass\nstage temp tile\nstage out memory\n"
          "parallel 0\nstrip 8\n",
          "group 'o': tiles are shared out as they are, not in strips of rows" },
        { "stage square inline\nstage temp inline\ngroup o\nstage out memory\nstrip 0\n",
          "rows of a strip are 1 to 32768, not '0'" },
        { "target gpu\nstage square inline\ngroup o\ntile 1 128\npass\nstage temp tile\n"
          "outputs 4 2\nstage out memory\nkernel warp\nblock 32 1\noutputs 4 2\nmarch 1 9 9\nframe "
          "8 64 64 8\nsplit edges\n",
          "the warps of a block compute 120 columns" },
        { "target gpu\nstage square inline\ngroup o\ntile 8 120\npass\nstage temp tile\n"
          "outputs 4 2\nstage out memory\nkernel warp\nblock 32 1\noutputs 4 2\nmarch 1 9 9\nframe "
          "8 64 64 8\nsplit edges\n",
          "strips of warps are as long as the march says" },
        { "target gpu\nstage square inline\ngroup o\ntile 1 120\npass\nstage temp tile\n"
          "outputs 4 1\nstage out memory\nkernel warp\nblock 32 1\noutputs 4 2\nmarch 1 9 9\nframe "
          "8 64 64 8\nsplit edges\n",
          "the passes of a kernel of warps have the outputs of the group" },
        { "target gpu\nstage square inline\ngroup o\ntile 1 120\npass\nstage temp tile\n"
          "outputs 4 2\nstage out memory\nkernel warp\nblock 48 1\noutputs 4 2\nmarch 1 9 9\nframe "
          "8 64 64 8\nsplit edges\n",
          "blocks of kernels of warps are whole warps" },
        { "target gpu\nstage square inline\ngroup o\ntile 1 120\npass\nstage temp tile\n"
          "outputs 4 2\nstage out memory\nkernel warp\nblock 32 1\noutputs 4 2\nframe 8 64 64 "
          "8\nsplit edges\n",
          "a march is of at least one row" },
        { "target gpu\nstage square inline\ngroup o\ntile 1 120\npass\nstage temp tile\n"
          "outputs 4 2\nstage out memory\nkernel warp\nblock 32 1\noutputs 4 2\nmarch 1 9 9\nsplit "
          "interior\n",
          "kernels of warps compute blocks inside, and leave a frame" },
        { "paint it\n", "no line of a plan begins with 'paint'" },
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
    PlanPass pass = { 0 };
    for (const Knob *k = tessi_knobs(); k->word; k++) {
        assert_ptr_equal(tessi_knob_by_word(k->word), k);
        for (uint32_t i = 0; i < k->n; i++) {
            tessi_knob_set(k, i, &group, NULL, k->number[i].most);
            assert_int_equal(tessi_knob_get(k, i, &group, NULL), k->number[i].most);
            if (!tessi_knob_is_of_pass(k))
                continue;
            tessi_knob_set(k, i, &group, &pass, k->number[i].most);
            assert_int_equal(tessi_knob_get(k, i, &group, &pass), k->number[i].most);
        }
    }
    tessi_knobs_unset(&group, &pass);
    assert_false(tessi_level_parallel(&group.levels));
    assert_int_equal(tessi_level_rows(&group.levels), 1);
    assert_int_equal(tessi_level_band(&pass.levels), 0);
    assert_null(tessi_knob_by_word("row"));
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
                                        GRAPH_TEST(estimates_add_up),
                                        GRAPH_TEST(illegal_plans_are_refused),
                                        GRAPH_TEST(fields_hold_their_numbers) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
