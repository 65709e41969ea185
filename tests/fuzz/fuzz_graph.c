/* Fuzzing the reader of graphs: any bytes give a sound graph or one diagnostic. A graph that was read prints a text
 * that reads back to the same, simplifies to a sound graph, and, when it is small, runs in strict mode with the same
 * bits as before. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "graph/graph.h"
#include "interp/graph_interp.h"

enum { MEMORY_LIMIT = 256 << 20, MAX_POINTS = 64, MAX_WORK = 2000 };

typedef struct Attempt {
    jmp_buf out_of_memory;
} Attempt;

static TESS_NORETURN void give_up(void *user)
{
    longjmp(((Attempt *)user)->out_of_memory, 1);
}

static void check(bool ok, const char *what, const char *text)
{
    if (ok)
        return;
    fprintf(stderr, "%s\n%s\n", what, text ? text : "");
    abort();
}

static const char *printed(Arena *a, const Graph *g)
{
    Text t = tessi_text_new(a);
    tessi_graph_print(g, &t);
    return tessi_text_str(&t);
}

static Graph *read_text(Arena *a, const char *text, size_t n)
{
    SourceMap sources;
    Diags d;
    tessi_sources_init(&sources, a);
    tessi_diags_init(&d, a, &sources);
    Graph *g = tessi_graph_read(a, &d, text, n);
    check((g != NULL) == (d.n_errors == 0), "a graph and an error, or neither", NULL);
    return g;
}

/* Images of a few points only, and no windows that would take long. */
static bool is_small(const Graph *g, const int64_t *params)
{
    for (uint32_t id = 1; id < g->windows.n; id++) {
        const Window *w = &g->windows.at[id];
        for (uint32_t k = 0; k < w->n_vars; k++)
            if ((int64_t)w->hi[k] - w->lo[k] > 8 || w->level > 1 || w->n_vars > 2)
                return false;
    }
    GRAPH_FOREACH_STAGE (g, id) {
        const Stage *s = tessi_stage(g, id);
        int64_t points = 1, n;
        for (uint32_t d = 0; d < s->n_dims; d++) {
            if (!tessi_size_eval(g, s->size[d], params, &n) || n < 1 || n > MAX_POINTS)
                return false;
            points *= n;
        }
        VEC_FOREACH (const Piece, p, &s->pieces) {
            int64_t visits = 1;
            for (uint32_t d = 0; d < s->n_dims; d++) {
                if (!tessi_size_eval(g, p->count[d], params, &n) || n > MAX_POINTS)
                    return false;
                visits *= n;
            }
            if (visits > MAX_POINTS)
                return false;
        }
        if (points > MAX_POINTS)
            return false;
    }
    return g->exprs.n < MAX_WORK && g->stages.n < 50;
}

static bool allocate(Arena *a, const Graph *g, const Image *image, const int64_t *params,
                     unsigned fill, InterpImage *result)
{
    int64_t stride = image->pixel_bytes;
    for (uint32_t d = image->n_dims; d-- > 0;) {
        if (!tessi_size_eval(g, image->size[d], params, &result->size[d]) || result->size[d] < 1
            || result->size[d] > 1000 || stride > 1000000)
            return false;
        result->stride_bytes[d] = stride;
        stride *= result->size[d];
    }
    unsigned char *at = tessi_alloc(a, (size_t)stride);
    for (int64_t k = 0; k < stride; k++)
        at[k] = (unsigned char)((unsigned)k * 37u * fill);
    result->data = at;
    return true;
}

static InterpImage *run(Arena *a, const Graph *g, const int64_t *params)
{
    InterpImage *in = ARENA_NEW_ARRAY(a, InterpImage, g->inputs.n);
    InterpImage *out = ARENA_NEW_ARRAY(a, InterpImage, g->outputs.n);
    Value *scalars = ARENA_NEW_ARRAY(a, Value, g->scalars.n);
    for (uint32_t k = 0; k < g->inputs.n; k++)
        if (!allocate(a, g, &g->inputs.at[k], params, 1, &in[k]))
            return NULL;
    for (uint32_t k = 0; k < g->outputs.n; k++)
        if (!allocate(a, g, &g->outputs.at[k], params, 0, &out[k]))
            return NULL;
    Failure f = { 0 };
    InterpArgs args = {
        .params = params, .scalars = scalars, .inputs = in, .outputs = out, .arena = a
    };
    return tessi_interpret_graph(g, &args, &f) ? out : NULL;
}

static void compare_runs(Arena *a, const Graph *g, const Graph *simple, const char *text)
{
    int64_t *params = ARENA_NEW_ARRAY(a, int64_t, g->params.n);
    for (uint32_t p = 0; p < g->params.n; p++)
        params[p] = 3 + p;
    if (!is_small(g, params))
        return;
    const InterpImage *want = run(a, g, params);
    const InterpImage *got = want ? run(a, simple, params) : NULL;
    check(!want || got, "the simplified graph fails where the graph runs", text);
    for (uint32_t k = 0; want && k < g->outputs.n; k++) {
        const Image *image = &g->outputs.at[k];
        int64_t bytes =
            image->n_dims ? want[k].size[0] * want[k].stride_bytes[0] : image->pixel_bytes;
        for (int64_t p = 0; p < bytes; p += image->pixel_bytes) {
            VEC_FOREACH (const Channel, c, &image->channels) {
                Value x = tessi_load_element(c->type, (char *)want[k].data + p + c->byte_offset);
                Value y = tessi_load_element(c->type, (char *)got[k].data + p + c->byte_offset);
                check(tessi_value_same(c->type, x, y), "strict simplification changes a value",
                      text);
            }
        }
    }
}

static void try_text(Arena *a, const char *text, size_t n)
{
    Graph *g = read_text(a, text, n);
    if (!g)
        return;
    const char *first = printed(a, g);
    Graph *again = read_text(a, first, strlen(first));
    check(again != NULL, "what was printed does not read back", first);
    check(strcmp(first, printed(a, again)) == 0, "what was read back prints otherwise", first);
    Graph *strict = tessi_graph_simplify(g, a, FP_STRICT);
    const char *violation = tessi_graph_verify(strict);
    check(!violation, violation, first);
    Graph *simple = tessi_graph_simplify(g, a, FP_DEFAULT);
    violation = tessi_graph_verify(simple);
    check(!violation, violation, first);
    const char *once = printed(a, simple);
    check(read_text(a, once, strlen(once)) != NULL, "the simplified graph does not read back",
          once);
    compare_runs(a, g, strict, first);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    Arena a;
    Attempt attempt;
    tessi_arena_init(&a, give_up, &attempt);
    a.limit_bytes = MEMORY_LIMIT;
    if (setjmp(attempt.out_of_memory) == 0)
        try_text(&a, (const char *)data, n);
    tessi_arena_dispose(&a);
    return 0;
}
