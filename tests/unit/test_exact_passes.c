/* The passes that keep every bit: what they make of typical programs, and that results stay the same. */
#include "interp_testing.h"

#include "analysis/passes.h"
#include "support/random_graph.h"

#define HEAD                                                                               \
    "graph g\nparam M, N\nimage P[M, N] uint8\nimage S[M, N] int16\nimage K[M, N] int32\n" \
    "image X[M, N] float\nstage P[M, N] uint8 = image P\nstage S[M, N] int16 = image S\n"  \
    "stage K[M, N] int32 = image K\nstage X[M, N] float = image X\n"
#define TAIL(type) "output y[M, N] " type " = y\n"

static Graph *passed(Arena *a, const char *text)
{
    Graph *g = tessi_graph_exact_passes(testing_read(a, text, NULL), a, true);
    const char *fault = tessi_graph_verify(g);
    if (fault)
        fail_msg("%s\n%s", fault, text);
    return g;
}

/* The stages that `stages` become. */
static void check(Arena *a, const char *stages, const char *type, const char *want)
{
    const char *text = tessi_sprintf(a, "%s%soutput y[M, N] %s = y\n", HEAD, stages, type);
    const char *got = testing_printed(a, passed(a, text));
    const char *begin = strstr(got, "image X\n");
    assert_non_null(begin);
    begin += strlen("image X\n");
    got = tessi_strndup(a, begin, (size_t)(strstr(begin, "output y") - begin));
    assert_string_equal(got, want);
}

static void test_sums_need_room_for_their_result(void **state)
{
    check(*state, "stage y[M, N] int32 = cast<int32>(P) + cast<int32>(P@[0,1]:clamp)\n", "int32",
          "stage y[M, N] int32 = cast<int32>(cast<uint16>(P) + cast<uint16>(P@[0,1]:clamp))\n");
    check(*state, "stage y[M, N] int32 = cast<int32>(P) - cast<int32>(P@[0,1]:clamp)\n", "int32",
          "stage y[M, N] int32 = cast<int32>(cast<int16>(P) - cast<int16>(P@[0,1]:clamp))\n");
    check(*state, "stage y[M, N] int32 = cast<int32>(P) * 300\n", "int32",
          "stage y[M, N] int32 = cast<int32>(P) * 300\n");
    check(*state, "stage y[M, N] int32 = cast<int32>(P) & 15\n", "int32",
          "stage y[M, N] int32 = cast<int32>(P & 15u8)\n");
}

static void test_quotients_need_room_for_their_operands(void **state)
{
    check(*state, "stage y[M, N] uint8 = cast<uint8>((cast<int32>(P) * 3 + 2) / 4)\n", "uint8",
          "stage y[M, N] uint8 = cast<uint8>((cast<uint16>(P) * 3u16 + 2u16) / 4u16)\n");
    check(*state, "stage y[M, N] int32 = cast<int32>(S) * 3 / 4\n", "int32",
          "stage y[M, N] int32 = cast<int32>(S) * 3 / 4\n");
    check(*state, "stage y[M, N] int32 = cast<int32>(P) >> (K & 15)\n", "int32",
          "stage y[M, N] int32 = cast<int32>(P) >> (K & 15)\n");
    check(*state, "stage y[M, N] int32 = cast<int32>(P) >> (cast<int32>(P) & 15)\n", "int32",
          "stage y[M, N] int32 = cast<int32>(cast<uint16>(P) >> cast<uint16>(P & 15u8))\n");
    check(*state, "stage y[M, N] int32 = cast<int32>(P) >> (cast<int32>(P) & 31)\n", "int32",
          "stage y[M, N] int32 = cast<int32>(P) >> cast<int32>(P & 31u8)\n");
}

static void test_minima_and_choices_in_bytes(void **state)
{
    check(*state, "stage y[M, N] uint8 = cast<uint8>(min(cast<int32>(P), 100))\n", "uint8",
          "stage y[M, N] uint8 = min(P, 100u8)\n");
    check(*state,
          "stage y[M, N] uint8 = cast<uint8>(select(cast<int32>(P) < 7, 255, cast<int32>(P)))\n",
          "uint8", "stage y[M, N] uint8 = select(P < 7u8, 255u8, P)\n");
    check(*state, "stage y[M, N] uint8 = sat<uint8>(cast<int32>(P) - 100)\n", "uint8",
          "stage y[M, N] uint8 = cast<uint8>(max(cast<int16>(P) - 100i16, 0i16))\n");
}

static void test_stages_are_stored_narrow(void **state)
{
    check(*state,
          "stage t[M, N] int32 = cast<int32>(P) * 2\n"
          "stage y[M, N] int32 = t + t@[0,1]:constant(-1)\n",
          "int32",
          "stage t[M, N] int16 = cast<int16>(cast<uint16>(P) * 2u16)\n"
          "stage y[M, N] int32 = cast<int32>(t + t@[0,1]:constant(-1i16))\n");
    check(*state,
          "stage t[M, N] int32 = cast<int32>(P)\n"
          "stage y[M, N] int32 = t + t@[0,1]:constant(70000)\n",
          "int32",
          "stage t[M, N] int32 = cast<int32>(P)\n"
          "stage y[M, N] int32 = t + t@[0,1]:constant(70000)\n");
    /* A result keeps its type, and so does what a reduction reads. */
    check(*state,
          "stage t[M, N] int32 = cast<int32>(P)\n"
          "stage m int32 = reduce min t\nstage h int32 = m / 2\n"
          "stage y[M, N] int32 = h + cast<int32>(P)\n",
          "int32",
          "stage t[M, N] int32 = cast<int32>(P)\nstage m int32 = reduce min t\n"
          "stage h uint8 = cast<uint8>(m / 2)\n"
          "stage y[M, N] int32 = cast<int32>(cast<uint16>(h) + cast<uint16>(P))\n");
}

/* Where readers leave high bits out the low ones are enough of sums, products and choices; not of quotients,
 * comparisons, shifts to the right and reals. */
static void test_low_bits(void **state)
{
    check(*state,
          "stage s[M, N] int64 = scan sum P along 1\nstage y[M, N] int16 = cast<int16>(s + s)\n",
          "int16",
          "stage s[M, N] uint16 = scan sum P along 1\n"
          "stage y[M, N] int16 = cast<int16>(s + s)\n");
    check(*state,
          "stage t[M, N] int64 = cast<int64>(K) * cast<int64>(S)\n"
          "stage s[M, N] int64 = scan prod t along 1\nstage y[M, N] uint32 = cast<uint32>(s)\n",
          "uint32",
          "stage t[M, N] uint32 = cast<uint32>(K) * cast<uint32>(S)\n"
          "stage y[M, N] uint32 = scan prod t along 1\n");
    check(*state, "stage y[M, N] uint8 = cast<uint8>(K + cast<int32>(P) * 7 & 255)\n", "uint8",
          "stage y[M, N] uint8 = cast<uint8>(K + cast<int32>(cast<uint16>(P) * 7u16))\n");
    check(*state, "stage y[M, N] uint8 = cast<uint8>(select(K < 7, cast<int32>(P) << 9, 3))\n",
          "uint8",
          "stage y[M, N] uint8 = cast<uint8>(select(K < 7, cast<uint16>(P) << 9u16, 3u16))\n");
    static const char *const readers[] = { "s / 3i64",
                                           "s >> 3i64",
                                           "min(s, 3i64)",
                                           "cast<int64>(cast<float>(s))",
                                           "cast<int64>(s < 3i64)",
                                           "abs(s)" };
    for (size_t k = 0; k < sizeof readers / sizeof *readers; k++) {
        const char *stages = tessi_sprintf(*state,
                                           "stage s[M, N] int64 = scan sum P along 1\n"
                                           "stage y[M, N] uint8 = cast<uint8>(%s)\n",
                                           readers[k]);
        const char *text = tessi_sprintf(*state, "%s%soutput y[M, N] uint8 = y\n", HEAD, stages);
        const char *got = testing_printed(*state, passed(*state, text));
        assert_non_null(strstr(got, "stage s[M, N] int64 = scan sum P along 1\n"));
    }
    /* One reader that wants all of it is enough; a result, too, keeps its type. */
    const char *both = tessi_sprintf(*state,
                                     "%sstage s[M, N] int64 = scan sum P along 1\n"
                                     "stage t[M, N] uint8 = cast<uint8>(s)\n"
                                     "stage y[M, N] float = cast<float>(s) + cast<float>(t)\n"
                                     "output y[M, N] float = y\n",
                                     HEAD);
    assert_non_null(strstr(testing_printed(*state, passed(*state, both)), "s[M, N] int64 = scan"));
}

/* Along few points a reduction is a stage as any other, in its order; along more, or by parameters, it stays. */
static void test_short_lines(void **state)
{
    const char *head = "graph g\nparam M\nimage X[M, 3] float\nimage Y[M, 17] uint8\n"
                       "stage X[M, 3] float = image X\nstage Y[M, 17] uint8 = image Y\n";
    const char *text = tessi_sprintf(*state,
                                     "%sstage m[M] float = reduce max X along 1\n"
                                     "stage s[M] float = reduce sum X along 1\n"
                                     "stage c[M] int64 = reduce count X along 1\n"
                                     "stage t[3] float = reduce sum X along 0\n"
                                     "stage u[M] int64 = reduce sum Y along 1\n"
                                     "output m[M] float = m\noutput s[M] float = s\n"
                                     "output c[M] int64 = c\noutput t[3] float = t\n"
                                     "output u[M] int64 = u\n",
                                     head);
    const char *got = testing_printed(*state, passed(*state, text));
    static const char *const wanted[] = {
        "stage s[M] float =\n    cast<float>(0.0d + cast<double>(X@[0,=0]) + (0.0d + "
        "cast<double>(X@[0,=2]))\n      + (0.0d + cast<double>(X@[0,=1])))\n",
        "stage t[3] float = reduce sum X along 0\n",
        "stage u[M] int64 = reduce sum Y along 1\n",
    };
    for (size_t k = 0; k < sizeof wanted / sizeof *wanted; k++)
        if (!strstr(got, wanted[k]))
            fail_msg("%s\nis not in\n%s", wanted[k], got);
    assert_null(strstr(got, "reduce max"));
    assert_null(strstr(got, "reduce count"));
}

static void test_windows(void **state)
{
    check(*state, "stage y[M, N] int32 = sum($i = -50..50 : cast<int32>(P@[0,$i]:clamp))\n",
          "int32",
          "stage y[M, N] int32 = cast<int32>(sum($i = -50..50 : "
          "cast<uint16>(P@[0,$i]:clamp)))\n");
    check(*state, "stage y[M, N] int32 = sum($i = -500..500 : cast<int32>(P@[0,$i]:clamp))\n",
          "int32", "stage y[M, N] int32 = sum($i = -500..500 : cast<int32>(P@[0,$i]:clamp))\n");
    check(*state, "stage y[M, N] int32 = max($i = -50..50 : cast<int32>(P@[0,$i]:clamp))\n",
          "int32", "stage y[M, N] int32 = cast<int32>(max($i = -50..50 : P@[0,$i]:clamp))\n");
}

static void test_medians_of_few_values_are_networks(void **state)
{
    check(*state, "stage y[M, N] uint8 = median($i = -1..1 : P@[0,$i]:clamp)\n", "uint8",
          "stage y[M, N] uint8 = min(max(P@[0,-1]:clamp, P), max(min(P@[0,-1]:clamp, P), "
          "P@[0,1]:clamp))\n");
    check(*state, "stage y[M, N] float = median($i = 0..1 : X@[0,$i]:clamp)\n", "float",
          "stage y[M, N] float = at_order(max(order(X), order(X@[0,1]:clamp)))\n");
    check(*state, "stage y[M, N] float = median($i = 0..7, $j = 0..7 : X@[$i,$j]:clamp)\n", "float",
          "stage y[M, N] float = median($i = 0..7, $j = 0..7 : X@[$i,$j]:clamp)\n");
}

static void test_common_windows_are_stages(void **state)
{
    /* The stage is larger by as much as its uses are apart; a read that was inside has the rule of the others. */
    check(*state,
          "stage y[M, N] float = let %1 = X@[0,1]:mirror - X; let %2 = X - X@[0,-1]:mirror; "
          "%1 * abs(%1) - %2 * abs(%2)\n",
          "float",
          "stage y.common[M, N + 1] float =\n"
          "    let %1 = X:[inside,mirror] - X@[0,-1]:mirror;\n"
          "    %1 * abs(%1)\n"
          "stage y[M, N] float = y.common@[0,1] - y.common\n");
    /* Large ones first, then small ones inside and outside of them. */
    check(*state,
          "stage y[M, N] float = sqrt(sqrt(abs(X@[0,1]:clamp)) + X@[0,2]:clamp) "
          "- sqrt(sqrt(abs(X@[3,1]:clamp)) + X@[3,2]:clamp) * sqrt(abs(X@[0,-1]:[clamp,clamp]))\n",
          "float",
          "stage y.common[M + 3, N + 2] float = sqrt(abs(X@[0,-1]:[clamp,clamp]))\n"
          "stage y.common_2[M + 3, N] float = sqrt(y.common@[0,2] + X@[0,2]:[clamp,clamp])\n"
          "stage y[M, N] float = y.common_2 - y.common_2@[3,0] * y.common\n");
    /* Not: little work, coordinates, other rules, too far apart. */
    static const char *const kept[] = {
        "stage y[M, N] float = (X - X@[0,1]:clamp) * (X@[1,0]:clamp - X@[1,1]:clamp)\n",
        ("stage y[M, N] float =\n    let %1 = cast<float>(index(1)) * 2.5f;\n"
         "    (%1 - X) * (%1 - X@[0,1]:clamp)\n"),
        "stage y[M, N] float = sqrt(abs(X@[0,1]:clamp)) - sqrt(abs(X@[0,2]:wrap))\n",
        "stage y[M, N] float = sqrt(abs(X@[0,1]:clamp)) - sqrt(abs(X@[0,99]:clamp))\n",
    };
    for (size_t k = 0; k < sizeof kept / sizeof *kept; k++)
        check(*state, kept[k], "float", kept[k]);
}

/* ---- Bits ------------------------------------------------------------------------------------ */

static const char *const bodies[] = {
    "cast<int32>(P) * cast<int32>(P@[0,1]:wrap) - cast<int32>(S) % 100",
    "abs(cast<int32>(S) - cast<int32>(P)) / (cast<int32>(P) - 128)",
    "cast<int32>(cast<int8>(cast<int32>(P) - 200)) >> 3",
    "(cast<int32>(P) << 7) >> (cast<int32>(P) & 7)",
    "cast<int32>(sat<int8>(cast<int32>(P) - 128)) ^ cast<int32>(sat<uint16>(cast<int32>(S) + 5))",
    "select(cast<int32>(P) < cast<int32>(S), cast<int32>(P) | 256, -cast<int32>(P))",
    "cast<int32>(cast<float>(cast<int32>(P) * 100) / 7.0f) + cast<int32>(sat<uint8>(X))",
    "median($i = -2..2 : cast<int32>(P@[0,$i]:mirror) - 100)",
    "median($i = -2..2, $j = -3..3 : K@[$i,$j]:mirror where $i * $j < 3)",
    "cast<int32>(median($i = 0..5, $j = -2..1 : sqrt(X@[$i,$j]:wrap)) * 99.0f)",
    "cast<int32>(1.0f / median($i = -1..1, $j = -1..1 : trunc(X@[$i,$j]:wrap / 64.0f)))",
    "sum($i = -20..20 : cast<int32>(P@[$i,0]:reflect) where cast<int32>(P@[$i,0]:reflect) < 99)",
    "max($i = -20..20 : cast<int32>(P@[$i,0]:reflect) - 9 where cast<int32>(P@[$i,0]:reflect) < 2)",
    "min($i = -20..20 : cast<int32>(S@[$i,0]:clamp))",
    "~cast<int32>(P) - 3",
    "cast<int32>(P) ^ 3",
    "K / 3 + (K >> 1) + (K & 255)",
    "max(cast<int32>(P@[{K},{cast<int32>(P) - 100}]:mirror), min(K, 70))",
};

static void test_bodies_keep_their_bits(void **state)
{
    Arena *a = *state;
    for (size_t k = 0; k < sizeof bodies / sizeof *bodies; k++) {
        const char *text =
            tessi_sprintf(a,
                          HEAD "stage t[M, N] int32 = %s\nstage y[M, N] int32 = "
                               "t@[-1,0]:clamp + t@[0,2]:constant(9)\n" TAIL("int32"),
                          bodies[k]);
        const char *complaint;
        Graph *g = testing_read(a, text, &complaint);
        if (!g)
            fail_msg("%s: %s", bodies[k], complaint);
        testing_same_bits(a, g, passed(a, text), bodies[k]);
    }
}

/* An expression over X and P, drawn by `seed`, moved by (dy, dx). */
static void draw_moved(Text *t, uint64_t seed, int depth, int dy, int dx, const char *const *rule)
{
    uint64_t h = tessi_hash_u64(seed, (uint64_t)depth);
    int y = dy + (int)(h >> 8) % 3 - 1, x = dx + (int)(h >> 16) % 3 - 1;
    if (depth == 0 || h % 7 == 0) {
        tessi_text_addf(t, "%s@[%d,%d]:%s", h & 64 ? "X" : "sqrt(cast<float>(P", y, x,
                        rule[(h & 64) != 0]);
        tessi_text_add(t, h & 64 ? "" : "))");
        return;
    }
    static const char *const form[] = { "(", "abs(", "sqrt(", "max(1.5f, " };
    tessi_text_add(t, form[h % 4]);
    draw_moved(t, h, depth - 1, y, x, rule);
    if (h % 4 == 0) {
        tessi_text_add(t, h & 32 ? " - " : " * ");
        draw_moved(t, ~h, depth - 1, y, x, rule);
    }
    tessi_text_add(t, ")");
}

static void test_shifted_copies_keep_their_bits(void **state)
{
    static const char *const rules[] = { "clamp", "mirror", "reflect", "wrap", "constant(3.0f)" };
    uint32_t hoists = 0;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        Arena *a = *state;
        uint64_t h = tessi_hash_u64(seed, 1);
        const char *const rule[2] = { h % 5 == 4 ? "constant(3u8)" : rules[h % 5],
                                      rules[h / 5 % 5] };
        Text t = tessi_text_new(a);
        tessi_text_add(&t, HEAD "stage y[M, N] float = ");
        for (uint64_t k = 0; k < 4; k++) {
            uint64_t at = tessi_hash_u64(h, k);
            tessi_text_add(&t, k ? " + " : "");
            draw_moved(&t, h + (k == 3), 1 + (int)(h % 5), (int)(at % 7) - 3, (int)(at / 7 % 9) - 4,
                       rule);
        }
        tessi_text_add(&t, "\n" TAIL("float"));
        const char *text = tessi_text_str(&t), *complaint = "";
        Graph *g = testing_read(a, text, &complaint);
        if (!g)
            fail_msg("%s: %s", text, complaint);
        Graph *s = passed(a, text);
        hoists += s->stages.n - g->stages.n;
        testing_same_bits(a, g, s, text);
        tessi_arena_dispose(a);
        tessi_arena_init(a, testing_out_of_memory, NULL);
    }
    assert_true(hoists > 400);
}

static void run_random(Arena *a, const Graph *g, const Graph *s, uint64_t seed)
{
    RandomRun want = random_run(a, g, seed), got = random_run(a, g, seed);
    InterpArgs want_args = run_args(&want, a), got_args = run_args(&got, a);
    Failure f = { 0 };
    size_t where = 0;
    assert_true(tessi_interpret_graph(g, &want_args, &f));
    assert_true(tessi_interpret_graph(s, &got_args, &f));
    for (uint32_t i = 0; i < g->outputs.n; i++)
        if (!testing_same(&g->outputs.at[i], &want.outputs[i], &got.outputs[i], &where))
            fail_msg("seed %llu: image %u, point %zu differs\n%s", (unsigned long long)seed, i,
                     where, testing_printed(a, g));
}

static void test_random_graphs_keep_their_bits(void **state)
{
    for (uint64_t seed = 1; seed <= 1500; seed++) {
        Arena *a = *state;
        Graph *g = random_graph(a, seed);
        if (!tessi_graph_verify(g)) {
            Graph *s = tessi_graph_exact_passes(g, a, true);
            assert_null(tessi_graph_verify(s));
            run_random(a, g, s, seed);
        }
        tessi_arena_dispose(a);
        tessi_arena_init(a, testing_out_of_memory, NULL);
    }
}

/* What takes a power of one byte is a table of its values; what two bytes decide is not, nor what costs no more than
 * to look it up. */
static void test_functions_of_bytes_are_tables(void **state)
{
    static const char *const tables[] = {
        "stage y[M, N] uint8 = sat<uint8>(255f * pow(cast<float>(P) / 255f, 0.45f))\n",
        "stage y[M, N] uint8 = sat<uint8>(8f * exp(cast<float>(P) / 64f))\n",
        "stage y[M, N] float = 1f + X * pow(cast<float>(P@[0,1]:clamp), 0.45f)\n",
    };
    static const char *const others[] = {
        "stage y[M, N] float = pow(cast<float>(P), cast<float>(P@[0,1]:clamp))\n",
        "stage y[M, N] float = exp(cast<float>(P) / 64f)\n",
        "stage y[M, N] float = pow(X, 0.45f)\n",
        "stage y[M, N] uint8 = sat<uint8>(sqrt(cast<float>(P)))\n",
    };
    for (size_t i = 0; i < sizeof tables / sizeof *tables + sizeof others / sizeof *others; i++) {
        const bool is = i < sizeof tables / sizeof *tables;
        const char *stages = is ? tables[i] : others[i - sizeof tables / sizeof *tables];
        const char *type = strstr(stages, "] uint8") ? "uint8" : "float";
        Graph *g = passed(*state,
                          tessi_sprintf(*state, "%s%soutput y[M, N] %s = y\n", HEAD, stages, type));
        Graph *after = tessi_graph_bytes_in_tables(g, *state);
        const char *fault = tessi_graph_verify(after);
        if (fault || (after != g) != is)
            fail_msg("%s%s", fault ? fault : "", testing_printed(*state, after));
        if (is)
            assert_non_null(strstr(testing_printed(*state, after), "curve[cast<int32>(P"));
    }
}

#define WIDE                                                              \
    HEAD "stage twice[M, N] float = X * 2.0f\nstage wide[M, 2*N] float\n" \
         "  piece [0, 0] step [1, 2] count [M, N] = X\n"                  \
         "  piece [0, 1] step [1, 2] count [M, N] = twice\n"

/* What becomes of the reader of a composition, which ends the text. */
static const char *reader_of_wide(Arena *a, const char *reader)
{
    const char *got = testing_printed(a, passed(a, tessi_sprintf(a, "%s%s", WIDE, reader)));
    const char *begin = strstr(got, "stage y");
    assert_non_null(begin);
    return begin;
}

static void test_readers_of_compositions_are_composed(void **state)
{
    assert_string_equal(
        reader_of_wide(*state, "stage y[M, 2*N] float = wide + 1.0f\noutput y[M, 2*N] float = y\n"),
        "stage y[M, 2*N] float\n"
        "  piece [0, 0] step [1, 2] count [M, N] = X + 1.0f\n"
        "  piece [0, 1] step [1, 2] count [M, N] = twice + 1.0f\n"
        "output y[M, 2*N] float = y\n");
    const char *shifted = "stage y[M, 2*N - 2] float = wide@[0,1] + 1.0f\n"
                          "output y[M, 2*N - 2] float = y\n";
    assert_non_null(strstr(reader_of_wide(*state, shifted), "= X@[0,1] + 1.0f\n"));
    /* whatever N is, 4 * (N / 2) points are none beyond 2 * N: no rule is asked */
    const char *halved = "stage y[M, 4*(N / 2)] float = wide:clamp + 1.0f\n"
                         "output y[M, 4*(N / 2)] float = y\n";
    assert_non_null(strstr(reader_of_wide(*state, halved),
                           "piece [0, 1] step [1, 2] count [M, 2*(N / 2)] = twice + 1.0f\n"));
}

/* Where one read crosses an edge, classes have different numbers of points, or the composition is a result. */
static void test_compositions_stay_where_they_must(void **state)
{
    static const char *const stays[] = {
        "stage y[M, 2*N] float = wide + wide@[0,1]:clamp\noutput y[M, 2*N] float = y\n",
        "stage y[M, 2*N - 1] float = wide + 1.0f\noutput y[M, 2*N - 1] float = y\n",
        "stage y[M, 2*N] float = wide + 1.0f\noutput y[M, 2*N] float = y\n"
        "output w[M, 2*N] float = wide\n",
    };
    for (int k = 0; k < 3; k++)
        assert_string_equal(reader_of_wide(*state, stays[k]), stays[k]);
}

/* How many stages there are of an image of channels and `rest`, and whether its channels are fields. */
static uint32_t stages_of_channels(Arena *a, const char *rest, bool *are_fields)
{
    const char *text = tessi_sprintf(a,
                                     "graph g\nparam M, N\nimage C[M, N, 3] uint8\n"
                                     "stage C[M, N, 3] uint8 = image C\n%s",
                                     rest);
    const Graph *g = passed(a, text);
    *are_fields = g->inputs.at[0].is_struct;
    return g->stages.n - 1;
}

static void test_channels_become_fields_where_they_are_known(void **state)
{
    static const struct Case {
        uint32_t stages;
        bool are_fields;
        const char *rest;
    } cases[] = {
        { 6, true,
          "stage y[M, N, 3] uint8 = C@[0,1,1]:[clamp,clamp,wrap]\noutput y[M, N, 3] uint8 = y\n" },
        { 8, true, "stage y int64 = reduce sum C\nstage z[1] int64 = y\noutput z[1] int64 = z\n" },
        { 4, true, "stage y[M, N] uint8 = C@[0,0,=2]\noutput y[M, N] uint8 = y\n" },
        { 6, true, "stage y[N, 3] int64 = reduce sum C along 0\noutput y[N, 3] int64 = y\n" },
        /* which channel is read is known by the run alone; along the channels; the other way round */
        { 2, false,
          "stage y[M, N] uint8 = C@[0,0,{min(index(1), 2)}]:clamp\noutput y[M, N] uint8 = y\n" },
        { 2, false, "stage y[M, N, 3] int64 = scan sum C along 2\noutput y[M, N, 3] int64 = y\n" },
        { 2, false,
          "stage y[3, N, M] uint8 = C@[(0,1,2),(0,1,1),(0,1,0)]\noutput y[3, N, M] uint8 = y\n" },
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        bool are_fields;
        const uint32_t n = stages_of_channels(*state, cases[k].rest, &are_fields);
        if (n != cases[k].stages || are_fields != cases[k].are_fields)
            fail_msg("%u stages, %s:\n%s", n, are_fields ? "fields" : "no fields", cases[k].rest);
    }
}

static void test_results_know_their_class(void **state)
{
    static const struct Case {
        const char *size, *body;
        uint32_t pieces;
    } cases[] = {
        { "2*M, 2*N", "P@[{index(0) / 2},{index(1) / 2}]:clamp", 4 },
        { "2*M, N", "cast<uint8>(index(0) % 2)", 2 },
        { "M, N", "cast<uint8>(index(0) % 2)", 1 }, /* whose rows may be odd in number */
        { "4*M, N", "P@[{index(0) / 4},0]:clamp", 1 },
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const char *text =
            tessi_sprintf(*state, "%sstage y[%s] uint8 = %s\noutput y[%s] uint8 = y\n", HEAD,
                          cases[k].size, cases[k].body, cases[k].size);
        Graph *g = tessi_graph_phases_asked(passed(*state, text), *state);
        assert_null(tessi_graph_verify(g));
        assert_int_equal(tessi_stage(g, tessi_graph_stage_by_name(g, "y"))->pieces.n,
                         cases[k].pieces);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        GRAPH_TEST(test_sums_need_room_for_their_result),
        GRAPH_TEST(test_quotients_need_room_for_their_operands),
        GRAPH_TEST(test_minima_and_choices_in_bytes),
        GRAPH_TEST(test_stages_are_stored_narrow),
        GRAPH_TEST(test_low_bits),
        GRAPH_TEST(test_short_lines),
        GRAPH_TEST(test_windows),
        GRAPH_TEST(test_functions_of_bytes_are_tables),
        GRAPH_TEST(test_medians_of_few_values_are_networks),
        GRAPH_TEST(test_common_windows_are_stages),
        GRAPH_TEST(test_readers_of_compositions_are_composed),
        GRAPH_TEST(test_compositions_stay_where_they_must),
        GRAPH_TEST(test_channels_become_fields_where_they_are_known),
        GRAPH_TEST(test_results_know_their_class),
        GRAPH_TEST(test_bodies_keep_their_bits),
        GRAPH_TEST(test_shifted_copies_keep_their_bits),
        GRAPH_TEST(test_random_graphs_keep_their_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
