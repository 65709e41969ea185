/* The analyses: footprints, value ranges, masks and their rank, costs, and the warning they feed. */
#include <math.h>

#include "analysis/analysis.h"
#include "graph_testing.h"
#include "interp/graph_interp.h"
#include "support/random_graph.h"

static StageId stage_named(const Graph *g, const char *name)
{
    GRAPH_FOREACH_STAGE (g, id)
        if (tessi_streq(tessi_stage(g, id)->name, name))
            return id;
    fail_msg("no stage %s", name);
    return (StageId){ 0 };
}

static const Footprint *footprint(const Analysis *an, const char *consumer, const char *producer)
{
    StageId c = stage_named(an->g, consumer), p = stage_named(an->g, producer);
    VEC_FOREACH (const Footprint, f, &an->footprints)
        if (f->consumer.v == c.v && f->producer.v == p.v)
            return f;
    fail_msg("%s does not read %s", consumer, producer);
    return NULL;
}

static void assert_dim(const AccessRange *d, int src, int scale, int64_t lo, int64_t hi)
{
    assert_false(d->dynamic);
    assert_int_equal(d->src, src);
    assert_int_equal(d->scale, scale);
    assert_int_equal(d->lo, lo);
    assert_int_equal(d->hi, hi);
}

static void footprints_are_hulls(void **state)
{
    Arena *a = *state;
    Graph *g = testing_read(a,
                            "graph t param M, N image X[M, N] float stage X[M, N] float = image X "
                            "stage s[M, N] float = X@[-2,1]:clamp + X@[0,3]:clamp + "
                            "sum($i = -4..1, $j = 0..2 : X@[$i,2*$j]:mirror) "
                            "stage u[M, N] float = s@[(0,2),(1,3)]:wrap + s@[(1,2),(1,3)]:wrap "
                            "stage v[M, N] float = s@[{cast<int32>(X)},0]:clamp + s@[=3,0]:clamp "
                            "output r[M, N] float = u output q[M, N] float = v",
                            NULL);
    Analysis *an = tessi_analyse(g, a);
    const Footprint *f = footprint(an, "s", "X");
    assert_int_equal(f->n_accesses, 3);
    assert_dim(&f->dim[0], 0, 1, -4, 1);
    assert_dim(&f->dim[1], 1, 1, 0, 4);
    f = footprint(an, "u", "s");
    assert_dim(&f->dim[0], 0, 2, 0, 1);
    assert_dim(&f->dim[1], 1, 3, 1, 1);
    f = footprint(an, "v", "s");
    assert_true(f->dim[0].dynamic);
    assert_dim(&f->dim[1], 1, 1, 0, 0);
}

static const ValueRange *range(const Analysis *an, const char *stage)
{
    return &an->stage_range[stage_named(an->g, stage).v];
}

static void integers_have_exact_ranges(void **state)
{
    Arena *a = *state;
    Graph *g = testing_read(
        a,
        "graph t param M, N image X[M, N] uint8 stage X[M, N] uint8 = image X "
        "stage sum[M, N] int32 = cast<int32>(X) + 2 * cast<int32>(X@[0,1]:clamp) "
        "stage diff[M, N] int32 = cast<int32>(X) - cast<int32>(X@[0,1]:clamp) "
        "stage half[M, N] int32 = sum / 4 "
        "stage wraps[M, N] uint8 = cast<uint8>(sum) "
        "stage fits[M, N] uint8 = cast<uint8>(min(sum, 200)) "
        "stage sat8[M, N] uint8 = sat<uint8>(diff) "
        "stage outside[M, N] int32 = half@[1,0]:constant(-7) "
        "stage box[M, N] int32 = sum($i = 0..2, $j = 0..3 : cast<int32>(X@[$i,$j]:clamp)) "
        "stage found[M, N] int32 = min($i = 0..2 : $i where X@[$i,0]:clamp == X) "
        "output g[M, N] int32 = found output a[M, N] int32 = half output b[M, N] uint8 = wraps "
        "output c[M, N] uint8 = fits "
        "output d[M, N] uint8 = sat8 output e[M, N] int32 = outside output f[M, N] int32 = box",
        NULL);
    Analysis *an = tessi_analyse(g, a);
    const struct {
        const char *stage;
        int64_t lo, hi;
    } expected[] = { { "X", 0, 255 },          { "sum", 0, 765 },   { "diff", -255, 255 },
                     { "half", 0, 191 },       { "wraps", 0, 255 }, { "fits", 0, 200 },
                     { "sat8", 0, 255 },       { "box", 0, 3060 },  { "outside", -7, 191 },
                     { "found", 0, INT32_MAX } };
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        assert_int_equal(range(an, expected[i].stage)->i.lo, expected[i].lo);
        assert_int_equal(range(an, expected[i].stage)->i.hi, expected[i].hi);
    }
}

static void reals_have_bounds_and_maybe_nan(void **state)
{
    Arena *a = *state;
    Graph *g = testing_read(
        a,
        "graph t param M, N image X[M, N] uint8 image Y[M, N] float "
        "stage X[M, N] uint8 = image X stage Y[M, N] float = image Y "
        "stage mean[M, N] float = (cast<float>(X) + cast<float>(X@[0,1]:clamp)) * 0.5f "
        "stage root[M, N] float = sqrt(mean) stage bad[M, N] float = sqrt(Y) "
        "stage ratio[M, N] float = mean / (mean + 1.0f) "
        "stage any[M, N] float = mean / mean "
        "output a[M, N] float = root output b[M, N] float = bad output c[M, N] float = ratio "
        "output d[M, N] float = any",
        NULL);
    Analysis *an = tessi_analyse(g, a);
    assert_true(range(an, "mean")->lo == 0 && range(an, "mean")->hi == 255);
    assert_false(range(an, "mean")->maybe_nan);
    assert_true(range(an, "root")->hi == (double)sqrtf(255));
    assert_true(range(an, "ratio")->lo == 0 && range(an, "ratio")->hi == 255);
    assert_true(range(an, "bad")->maybe_nan);
    assert_true(range(an, "any")->maybe_nan);
    assert_true(isinf(range(an, "Y")->hi));
}

static void masks_have_their_rank(void **state)
{
    Arena *a = *state;
    Graph *g = testing_read(
        a,
        "graph t param M, N image X[M, N] float stage X[M, N] float = image X "
        "table w[9] float = { 1, 2, 1, 2, 4, 2, 1, 2, 1 } "
        "stage sobel[M, N] float = X@[-1,1]:clamp - X@[-1,-1]:clamp + 2.0f * (X@[0,1]:clamp - "
        "X@[0,-1]:clamp) + X@[1,1]:clamp - X@[1,-1]:clamp "
        "stage laplace[M, N] float = X@[-1,0]:clamp + X@[1,0]:clamp + X@[0,-1]:clamp + "
        "X@[0,1]:clamp - 4.0f * X "
        "stage gauss[M, N] float = sum($i = -1..1, $j = -1..1 : w[(3 * ($i + 1) + $j) + 1] * "
        "X@[$i,$j]:clamp) / 16.0f "
        "stage no[M, N] float = X * X@[0,1]:clamp "
        "output a[M, N] float = sobel output b[M, N] float = laplace output c[M, N] float = gauss "
        "output d[M, N] float = no",
        NULL);
    Analysis *an = tessi_analyse(g, a);
    assert_int_equal(an->masks.n, 3);
    const MaskInfo *sobel = &an->masks.at[0], *laplace = &an->masks.at[1],
                   *gauss = &an->masks.at[2];
    assert_int_equal(sobel->rank, 1);
    assert_int_equal(sobel->rows, 3);
    assert_int_equal(sobel->col0, -1);
    assert_int_equal(laplace->rank, 2);
    assert_int_equal(gauss->rank, 1);
    for (uint32_t i = 0; i < 9; i++) {
        static const double want[9] = { 1, 2, 1, 2, 4, 2, 1, 2, 1 };
        assert_true(fabs(gauss->coef[i] - want[i] / 16) < 1e-15);
        assert_true(fabs(gauss->column[i / 3] * gauss->row[i % 3] - gauss->coef[i]) < 1e-15);
    }
}

static void windows_are_multiplied_out(void **state)
{
    Arena *a = *state;
    Graph *g = testing_read(a,
                            "graph t param M, N image X[M, N] float stage X[M, N] float = image X "
                            "stage s[M, N] float = sum($i = -2..2, $j = 0..1 : X@[$i,$j]:clamp * "
                            "X@[$i,$j]:clamp) / X "
                            "output r[M, N] float = s",
                            NULL);
    Analysis *an = tessi_analyse(g, a);
    const StageCost *c = &an->cost[stage_named(g, "s").v];
    assert_true(c->ops[OPC_MUL] == 10 && c->ops[OPC_SIMPLE] == 10 && c->ops[OPC_DIV] == 1);
    assert_true(c->loads == 11);
    assert_true(c->distinct_bytes == 4 && c->stored_bytes == 4);
    assert_true(tessi_cost_operations(c) == 21);
}

static void narrowing_is_told_once_a_stage(void **state)
{
    Arena *a = *state;
    Graph *g = testing_read(
        a,
        "graph t param M, N image X[M, N] uint8 stage X[M, N] uint8 = image X "
        "stage bad[M, N] uint8 = cast<uint8>(cast<int32>(X) + 1) + cast<uint8>(cast<int32>(X) + 2) "
        "stage good[M, N] uint8 = cast<uint8>((cast<int32>(X) + 1) / 2) "
        "output a[M, N] uint8 = bad output b[M, N] uint8 = good",
        NULL);
    SourceMap sources;
    Diags d;
    tessi_sources_init(&sources, a);
    tessi_diags_init(&d, a, &sources);
    tessi_warn_values(tessi_analyse(g, a), g, &d);
    assert_int_equal(d.n_warnings, 1);
    assert_int_equal(d.list.at[0].code, DIAG_NARROWING);
    assert_string_equal(d.list.at[0].text,
                        "'bad' narrows values to uint8 that can be from 1 to 256");
}

static void print_says_it_all(void **state)
{
    Arena *a = *state;
    Graph *g = testing_read(a,
                            "graph t param M, N image X[M, N] uint8 stage X[M, N] uint8 = image X "
                            "stage s[M, N] int32 = cast<int32>(X@[0,-1]:clamp) + "
                            "cast<int32>(X@[0,1]:clamp) "
                            "output r[M, N] int32 = s",
                            NULL);
    Text t = tessi_text_new(a);
    tessi_analysis_print(tessi_analyse(g, a), g, &t);
    assert_string_equal(tessi_text_str(&t),
                        "stage X: uint8\n"
                        "    values 0 .. 255\n"
                        "stage s: int32\n"
                        "    values 0 .. 510\n"
                        "    reads X at [i0 + 0, i1 + -1..1] in 2 accesses\n"
                        "    a point costs 3 simple, 2 loads, 1 bytes in, 4 bytes out\n");
}

static void assert_inside(const ValueRange *r, ScalarType t, Value v, uint64_t seed)
{
    bool in;
    if (!tessi_is_real(t))
        in = v.i >= r->i.lo && v.i <= r->i.hi;
    else
        in = isnan(v.f) ? r->maybe_nan : v.f >= r->lo && v.f <= r->hi;
    if (!in)
        fail_msg("seed %llu: %lld or %g is outside [%lld, %lld], [%g, %g]",
                 (unsigned long long)seed, (long long)v.i, v.f, (long long)r->i.lo,
                 (long long)r->i.hi, r->lo, r->hi);
}

/* What random graphs compute lies in the ranges that the analysis claims. */
static void ranges_are_sound(void **state)
{
    for (uint64_t seed = 1; seed <= 800; seed++) {
        Arena *a = *state;
        Graph *g = random_graph(a, seed);
        if (tessi_graph_verify(g))
            continue;
        Analysis *an = tessi_analyse(g, a);
        RandomRun run = random_run(a, g, seed);
        InterpArgs args = run_args(&run, a);
        Failure f = { 0 };
        assert_true(tessi_interpret_graph(g, &args, &f));
        for (uint32_t i = 0; i < g->outputs.n; i++) {
            const Image *image = &g->outputs.at[i];
            const char *pixel = run.outputs[i].data,
                       *end = pixel + image_bytes(image, &run.outputs[i]);
            int64_t row = image->n_dims ? run.outputs[i].size[image->n_dims - 1] : 1, x = 0;
            for (; pixel < end; pixel += image->pixel_bytes, x++) {
                if (x % (row + RANDOM_PADDING) >= row && image->n_dims)
                    continue; /* between the rows */
                for (uint32_t c = 0; c < image->channels.n; c++) {
                    const Channel *channel = &image->channels.at[c];
                    Value v = tessi_load_element(channel->type, pixel + channel->byte_offset);
                    assert_inside(&an->stage_range[channel->stage.v], channel->type, v, seed);
                }
            }
        }
        tessi_arena_dispose(a);
        tessi_arena_init(a, testing_out_of_memory, NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { GRAPH_TEST(footprints_are_hulls),
                                        GRAPH_TEST(integers_have_exact_ranges),
                                        GRAPH_TEST(reals_have_bounds_and_maybe_nan),
                                        GRAPH_TEST(masks_have_their_rank),
                                        GRAPH_TEST(windows_are_multiplied_out),
                                        GRAPH_TEST(narrowing_is_told_once_a_stage),
                                        GRAPH_TEST(print_says_it_all),
                                        GRAPH_TEST(ranges_are_sound) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
