/* Running graphs in tests: inputs filled with interesting values, results compared bit by bit. */
#ifndef TESSERA_TESTS_INTERP_TESTING_H
#define TESSERA_TESTS_INTERP_TESTING_H

#include "graph_testing.h"

#include <math.h>

#include "interp/graph_interp.h"

/* Zeros of both signs, NaN, infinities, subnormals and ordinary numbers, in a fixed sequence. */
static inline Value testing_value(ScalarType t, uint32_t *seed)
{
    static const double special[] = {
        0.0, -0.0, 1.0, -1.0, 0x1p-149, 3e38, -3e38, 0.1, 255.0, 1e-40
    };
    *seed = *seed * 1664525u + 1013904223u;
    uint32_t r = *seed >> 8;
    if (!tessi_is_real(t))
        return tessi_eval_cast(t, TYPE_I64, tessi_value_int((int64_t)r * 2654435761u));
    double f = r % 4 ? (double)(r % 20011) / 64.0 - 150.0 : special[(r >> 2) % 10];
    if (r % 41 == 0)
        f = r % 2 ? (double)NAN : (double)INFINITY;
    return tessi_eval_cast(t, TYPE_F64, tessi_value_real(f));
}

static inline InterpImage testing_allocate(Arena *a, const Graph *g, const Image *image,
                                           const int64_t *params)
{
    InterpImage result = { 0 };
    int64_t stride = image->pixel_bytes;
    for (uint32_t d = image->n_dims; d-- > 0;) {
        assert_true(tessi_size_eval(g, image->size[d], params, &result.size[d]));
        result.stride_bytes[d] = stride;
        stride *= result.size[d];
    }
    result.data = tessi_alloc(a, (size_t)stride);
    return result;
}

static inline size_t testing_bytes(const Image *image, const InterpImage *at)
{
    return image->n_dims ? (size_t)(at->size[0] * at->stride_bytes[0]) : image->pixel_bytes;
}

/* Runs the graph on images drawn from `seed`; the results are in *outputs. */
static inline bool testing_run(Arena *a, const Graph *g, const int64_t *params, uint32_t seed,
                               InterpImage **outputs, Failure *f)
{
    InterpImage *in = ARENA_NEW_ARRAY(a, InterpImage, g->inputs.n);
    Value *scalars = ARENA_NEW_ARRAY(a, Value, g->scalars.n);
    *outputs = ARENA_NEW_ARRAY(a, InterpImage, g->outputs.n);
    for (uint32_t k = 0; k < g->inputs.n; k++) {
        const Image *image = &g->inputs.at[k];
        in[k] = testing_allocate(a, g, image, params);
        for (size_t p = 0; p < testing_bytes(image, &in[k]); p += image->pixel_bytes) {
            VEC_FOREACH (const Channel, c, &image->channels)
                tessi_store_element(c->type, (char *)in[k].data + p + c->byte_offset,
                                    testing_value(c->type, &seed));
        }
    }
    for (uint32_t k = 0; k < g->scalars.n; k++)
        scalars[k] = testing_value(g->scalars.at[k].type, &seed);
    for (uint32_t k = 0; k < g->outputs.n; k++)
        (*outputs)[k] = testing_allocate(a, g, &g->outputs.at[k], params);
    InterpArgs args = {
        .params = params, .scalars = scalars, .inputs = in, .outputs = *outputs, .arena = a
    };
    return tessi_interpret_graph(g, &args, f);
}

/* The elements of two results of one shape agree bit by bit, any NaN with any other; else where they differ first. */
static inline bool testing_same(const Image *image, const InterpImage *a, const InterpImage *b,
                                size_t *where)
{
    for (size_t p = 0; p < testing_bytes(image, a); p += image->pixel_bytes) {
        VEC_FOREACH (const Channel, c, &image->channels) {
            Value x = tessi_load_element(c->type, (char *)a->data + p + c->byte_offset);
            Value y = tessi_load_element(c->type, (char *)b->data + p + c->byte_offset);
            *where = p / image->pixel_bytes;
            if (!tessi_value_same(c->type == TYPE_F16 ? TYPE_F32 : c->type, x, y))
                return false;
        }
    }
    return true;
}

/* Both graphs, which compute `what`, give the same bits. */
static inline void testing_same_bits(Arena *a, const Graph *g, const Graph *s, const char *what)
{
    static const int64_t sizes[][2] = { { 1, 1 }, { 2, 3 }, { 11, 7 } };
    for (size_t k = 0; k < 3; k++) {
        InterpImage *want, *got;
        Failure f = { 0 };
        size_t where = 0;
        if (!testing_run(a, g, sizes[k], 7, &want, &f) || !testing_run(a, s, sizes[k], 7, &got, &f))
            fail_msg("%s", f.text);
        if (!testing_same(&g->outputs.at[0], want, got, &where))
            fail_msg("%s: point %zu differs (%s)", what, where, testing_printed(a, s));
    }
}

#endif
