/* The corpus in parts: every program of which parts can be computed apart, in strips of 1, 2, 3, 7 and more rows and in
 * tiles, has the bits of the whole at once; the others say why not. With arguments only the files named are run, with
 * --all every program; else every sixth. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/api.h"
#include "diff/corpus.h"
#include "support.h"

enum { MOST_CASES = 2000, EVERY = 6 };

static char **given;
static int n_given, every = EVERY;
static bool is_loud;

static const int64_t some_sizes[][4] = { { 23, 17, 5, 3 }, { 40, 6, 4, 2 }, { 9, 8, 7, 3 } };
enum { N_SOME_SIZES = sizeof some_sizes / sizeof *some_sizes };
static const int64_t heights[] = { 1, 2, 3, 7, 16 };
enum { N_HEIGHTS = sizeof heights / sizeof *heights };

/* ---- Parts of tensors ------------------------------------------------------------------------ */
static int64_t wrapped(int64_t x, int64_t n)
{
    return ((x % n) + n) % n;
}

/* A compact copy of the points from..to, in the dimensions before `n_dims`; beyond its edges an image goes on as it
 * begins. */
static DLTensor *copy_part(const DLTensor *t, int n_dims, const int64_t *from, const int64_t *to)
{
    int64_t shape[8], at[8] = { 0 }, n = 1;
    for (int d = 0; d < t->ndim; d++)
        n *= shape[d] = d < n_dims ? to[d] - from[d] : t->shape[d];
    DLTensor *copy = tess_image_new(t->dtype, t->ndim, shape);
    const size_t bytes = t->dtype.bits / 8u;
    for (int64_t i = 0; i < n; i++) {
        int64_t offset = 0;
        for (int d = 0; d < t->ndim; d++)
            offset += (d < n_dims ? wrapped(from[d] + at[d], t->shape[d]) : at[d]) * t->strides[d];
        memcpy((char *)copy->data + (size_t)i * bytes, (char *)t->data + offset * (int64_t)bytes,
               bytes);
        for (int d = t->ndim - 1; d >= 0 && ++at[d] == shape[d]; d--)
            at[d] = 0;
    }
    return copy;
}

/* Whether a part of a result is what the whole has there; counts its elements. */
static bool same_part(const DLTensor *part, const int64_t *place, const DLTensor *whole,
                      int64_t *n_seen)
{
    int64_t at[8] = { 0 }, n = 1;
    const size_t bytes = part->dtype.bits / 8u;
    for (int d = 0; d < part->ndim; d++)
        n *= part->shape[d];
    ScalarType type;
    corpus_type(part, &type);
    for (int64_t i = 0; i < n; i++) {
        int64_t here = 0, there = 0;
        for (int d = 0; d < part->ndim; d++) {
            here += at[d] * part->strides[d];
            there += (place[d] + at[d]) * whole->strides[d];
        }
        const Value a = tessi_load_element(type, (char *)part->data + part->byte_offset
                                                     + here * (int64_t)bytes),
                    b = tessi_load_element(type, (char *)whole->data + there * (int64_t)bytes);
        if (!tessi_value_same(type, a, b))
            return false;
        for (int d = part->ndim - 1; d >= 0 && ++at[d] == part->shape[d]; d--)
            at[d] = 0;
    }
    *n_seen += n;
    return true;
}

/* ---- Runs ------------------------------------------------------------------------------------ */
typedef struct Runs {
    const CorpusRun *truth;
    tess_parts *parts;
    const DLTensor *image[64];
    int64_t seen[CORPUS_MOST_IMAGES];
    Text *why;
} Runs;

static bool run_one(Runs *r, const tess_pass *pass, tess_part *part)
{
    const DLTensor *images[64] = { NULL };
    DLTensor *owned[64] = { NULL };
    const size_t n = tess_program_inputs(r->truth->program);
    bool ok = tess_part_needs(r->parts, part) == TESS_OK;
    for (size_t i = 0; ok && i < n; i++) {
        if (tess_parts_use(r->parts, part->pass, i) == TESS_PART_CUT)
            images[i] = owned[i] = copy_part(r->image[i], pass->ndim, part->from, part->to);
        else
            images[i] = r->image[i];
    }
    ok = ok && tess_run_part(r->parts, part, images) == TESS_OK;
    if (!ok)
        tessi_text_add(r->why, tess_parts_error(r->parts));
    for (int o = 0; ok && pass->numbers == 0 && o < r->truth->n_out; o++) {
        const DLTensor *t;
        int64_t place[TESS_MAX_SHAPE], told[TESS_MAX_SHAPE], shape[TESS_MAX_SHAPE];
        ok = tess_part_result(r->parts, (size_t)o, &t, place) == TESS_OK
             && tess_part_share(r->parts, part, (size_t)o, told, shape) == TESS_OK
             && memcmp(told, place, (size_t)t->ndim * sizeof *place) == 0
             && memcmp(shape, t->shape, (size_t)t->ndim * sizeof *shape) == 0
             && same_part(t, place, r->truth->out[o], &r->seen[o]);
        if (!ok)
            tessi_text_addf(r->why, "result %d differs in the part of rows %lld to %lld", o,
                            (long long)part->begin[0], (long long)part->end[0]);
    }
    for (size_t i = 0; i < n; i++)
        tess_image_free(owned[i]);
    return ok;
}

/* The ends of a part in a dimension: `size` points from `begin` on, as far as steps allow. */
static int64_t end_of(const tess_pass *pass, int d, int64_t begin, int64_t size)
{
    if (!pass->cut[d])
        return pass->shape[d];
    const int64_t align = pass->align[d], end = begin + (size + align - 1) / align * align;
    return end < pass->shape[d] ? end : pass->shape[d];
}

/* As processes do with a share of an image each: the last one is done first, and what each says about its rows is
 * joined. */
static bool run_apart(Runs *r, const tess_pass *pass, tess_part *part, int64_t height)
{
    const void *bytes;
    size_t n;
    part->apart = 1;
    for (part->end[0] = pass->shape[0]; part->end[0] > 0; part->end[0] = part->begin[0]) {
        const int64_t most = (part->end[0] - 1) / pass->align[0] * pass->align[0];
        const int64_t begin = (part->end[0] - height) / pass->align[0] * pass->align[0];
        part->begin[0] = !pass->cut[0] || part->end[0] <= height ? 0 : begin < most ? begin : most;
        if (!run_one(r, pass, part))
            return false;
    }
    return tess_part_numbers(r->parts, part->pass, &bytes, &n) == TESS_OK
           && tess_parts_join(r->parts, part->pass, bytes, n) == TESS_OK;
}

static bool run_pass(Runs *r, size_t number, int64_t height, int64_t width)
{
    tess_pass pass = { .struct_size = sizeof pass };
    tess_part part = { .struct_size = sizeof part, .pass = number };
    assert_int_equal(tess_parts_pass(r->parts, number, &pass), TESS_OK);
    if (pass.ndim == 0)
        return run_one(r, &pass, &part);
    for (int d = 0; d < pass.ndim; d++)
        part.end[d] = pass.shape[d];
    if (pass.numbers && height % 2 && !tess_parts_in_order(r->parts, number))
        return run_apart(r, &pass, &part, height);
    for (int64_t y = 0; y < pass.shape[0]; y = part.end[0]) {
        part.begin[0] = y;
        part.end[0] = end_of(&pass, 0, y, height);
        const bool tiles = pass.ndim > 1 && width && pass.numbers == 0;
        for (int64_t x = 0; x < (tiles ? pass.shape[1] : 1); x = tiles ? part.end[1] : 1) {
            if (tiles) {
                part.begin[1] = x;
                part.end[1] = end_of(&pass, 1, x, width);
            }
            if (!run_one(r, &pass, &part))
                return false;
        }
    }
    return true;
}

static bool run_passes(Runs *r, int64_t height, int64_t width)
{
    memset(r->seen, 0, sizeof r->seen);
    for (size_t i = 0; i < tess_parts_passes(r->parts); i++)
        if (!run_pass(r, i, height, width))
            return false;
    for (int o = 0; o < r->truth->n_out; o++) {
        int64_t n = 1;
        for (int d = 0; d < r->truth->out[o]->ndim; d++)
            n *= r->truth->out[o]->shape[d];
        if (r->seen[o] < n) {
            tessi_text_addf(r->why, "of the %lld elements of result %d only %lld were computed",
                            (long long)n, o, (long long)r->seen[o]);
            return false;
        }
    }
    return true;
}

/* How many passes have images that cannot be cut into strips. */
static int count_whole(tess_parts *parts, const char **why)
{
    int n = 0;
    for (size_t i = 0; i < tess_parts_passes(parts); i++) {
        tess_pass pass = { .struct_size = sizeof pass };
        assert_int_equal(tess_parts_pass(parts, i, &pass), TESS_OK);
        if (pass.ndim > 0 && !pass.cut[0]) {
            n++;
            *why = pass.why[0];
            assert_non_null(*why);
        }
    }
    return n;
}

/* As many results as the program has, each of them a graph. */
static void check_text(tess_parts *parts, const tess_program *p)
{
    char *json = NULL;
    size_t n = 0;
    assert_int_equal(tess_parts_text(parts, NULL), TESS_ERROR_ARGUMENT);
    assert_int_equal(tess_parts_text(NULL, &json), TESS_ERROR_ARGUMENT);
    assert_int_equal(tess_parts_text(parts, &json), TESS_OK);
    const char *numbers = strstr(json, "\n\"numbers\": [");
    assert_non_null(numbers);
    for (const char *at = json; (at = strstr(at, "\"text\": \"graph part\\n")) && at < numbers;
         at++)
        n++;
    assert_int_equal(n, tess_program_outputs(p));
    tess_text_free(json);
}

static bool run_parts(const CorpusRun *truth, bool *is_cut, const char *path, Text *why)
{
    Runs r = { .truth = truth, .why = why };
    int image = 0;
    for (size_t i = 0; i < tess_program_inputs(truth->program); i++) {
        tess_info info = { .struct_size = sizeof info };
        tess_program_input(truth->program, i, &info);
        if (info.kind == TESS_IMAGE || info.kind == TESS_MASK)
            r.image[i] = truth->in[image++];
    }
    const tess_status status = tess_parts_new(truth->program, truth->args, &r.parts);
    const char *reason = tess_parts_error(r.parts);
    bool ok = status == TESS_OK;
    if (!ok)
        tessi_text_add(why, reason);
    if (ok)
        check_text(r.parts, truth->program);
    const int whole = ok ? count_whole(r.parts, &reason) : 1;
    *is_cut = whole == 0;
    if (whole && is_loud)
        printf("%s: %s\n", path, reason);
    if (status == TESS_ERROR_UNSUPPORTED && *reason) {
        tess_parts_free(r.parts);
        return true;
    }
    for (int k = 0; ok && k < N_HEIGHTS; k++)
        ok = run_passes(&r, heights[k], 0);
    ok = ok && run_passes(&r, 5, 4);
    tess_parts_free(r.parts);
    return ok;
}

static bool run_case(const char *path, int *n_cut)
{
    Arena a;
    support_arena_init(&a);
    CorpusCase c;
    corpus_read(&a, path, &c);
    const int n_params = corpus_params(&c);
    bool ok = true, is_cut = false;
    Text why = tessi_text_new(&a);
    for (int k = 0; ok && k < N_SOME_SIZES && (k == 0 || (n_params && !c.fixed_size)); k++) {
        int64_t sizes[CORPUS_MOST_PARAMS];
        corpus_sizes(&c, n_params, some_sizes[k], sizes);
        const CorpusSetting s = { .target = TESS_TARGET_INTERP,
                                  .sizes = c.fixed_size ? c.sizes : sizes,
                                  .seed = 3 };
        CorpusRun truth;
        bool cut = false;
        ok = corpus_run(&c, &s, &truth, &why) && run_parts(&truth, &cut, path, &why);
        is_cut = is_cut || cut;
        corpus_close(&truth);
    }
    if (!ok)
        fprintf(stderr, "%s: %s\n", path, tessi_text_str(&why));
    *n_cut += is_cut;
    tessi_arena_dispose(&a);
    return ok;
}

static void test_corpus_in_parts(void **state)
{
    (void)state;
    Arena a;
    support_arena_init(&a);
    char *paths[MOST_CASES];
    const int n = corpus_cases(&a, given, n_given, paths, MOST_CASES);
    int failed = 0, n_cut = 0, n_run = 0;
    for (int i = 0; i < n; i += every, n_run++)
        failed += !run_case(paths[i], &n_cut);
    printf("%d programs, %d of them in strips, %d failed\n", n_run, n_cut, failed);
    tessi_arena_dispose(&a);
    assert_int_equal(failed, 0);
    if (!n_given) /* most can be cut */
        assert_true(n_cut > n_run / 2);
}

int main(int argc, char **argv)
{
    given = argv + 1;
    n_given = argc - 1;
    is_loud = n_given > 0;
    if (n_given)
        every = 1;
    if (n_given && strcmp(given[0], "--all") == 0)
        n_given = 0;
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_corpus_in_parts) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
