/* Small helpers for the tests of the graph: an arena that must not fail, and graphs built in few words. */
#ifndef TESSERA_TESTS_GRAPH_TESTING_H
#define TESSERA_TESTS_GRAPH_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/graph.h"
#include "plan/plan.h"

static TESS_NORETURN void testing_out_of_memory(void *user)
{
    (void)user;
    fail_msg("out of memory");
    abort();
}

static inline int testing_setup(void **state)
{
    Arena *a = malloc(sizeof *a);
    tessi_arena_init(a, testing_out_of_memory, NULL);
    *state = a;
    return 0;
}

static inline int testing_teardown(void **state)
{
    tessi_arena_dispose(*state);
    free(*state);
    return 0;
}

#define GRAPH_TEST(f) cmocka_unit_test_setup_teardown(f, testing_setup, testing_teardown)

static inline const char *testing_printed(Arena *a, const Graph *g)
{
    Text t = tessi_text_new(a);
    tessi_graph_print(g, &t);
    return tessi_text_str(&t);
}

/* The graph, or NULL and its complaint. */
static inline Graph *testing_read(Arena *a, const char *text, const char **complaint)
{
    SourceMap *sources = ARENA_NEW(a, SourceMap);
    Diags *d = ARENA_NEW(a, Diags);
    tessi_sources_init(sources, a);
    tessi_diags_init(d, a, sources);
    Graph *g = tessi_graph_read(a, d, text, strlen(text));
    assert_int_equal(d->n_errors, g ? 0 : 1);
    if (complaint)
        *complaint = g ? "" : d->list.at[0].text;
    else if (!g)
        fail_msg("%s: %s", d->list.at[0].text, text);
    return g;
}

/* A graph with parameters M and N and one input image X[M, N] of type `t`, whose stage is number 1. */
static inline Graph *testing_graph(Arena *a, ScalarType t)
{
    Graph *g = tessi_graph_new(a, "test");
    VEC_PUSH(a, &g->params, ((Param){ .name = "M" }));
    VEC_PUSH(a, &g->params, ((Param){ .name = "N" }));
    SizeId m = tessi_size_param(g, 0), n = tessi_size_param(g, 1);
    Image image = { .name = "X", .n_dims = 2, .size = { m, n } };
    image.pixel_bytes = tessi_type_info(t)->bytes;
    Stage stage = { .name = "X", .kind = STAGE_INPUT, .type = t, .n_dims = 2, .size = { m, n } };
    Channel channel = { .name = "", .type = t, .stage = tessi_graph_stage(g, &stage) };
    VEC_PUSH(a, &image.channels, channel);
    VEC_PUSH(a, &g->inputs, image);
    return g;
}

/* The read X@[dy + i, dx + j] of a 2-D stage; i and j are the variables of `w` when it is given. */
static inline ExprId testing_load(Graph *g, StageId producer, int64_t dy, int64_t dx, Border rule,
                                  WindowId w)
{
    Access a = { .producer = producer, .n_dims = 2 };
    for (uint32_t d = 0; d < 2; d++) {
        int64_t add = d ? dx : dy;
        a.dim[d] = (AccessDim){ .src = (int8_t)d, .scale = 1, .add = tessi_size_const(g, add) };
        a.dim[d].rule = add || w.v ? rule : BORDER_INSIDE;
        if (w.v) {
            a.dim[d].n_terms = 1;
            a.dim[d].term[0] = (AccessTerm){ .window = w, .var = (uint8_t)d, .coef = 1 };
        }
    }
    ScalarType t = tessi_stage(g, producer)->type;
    a.outside = tessi_expr_int(g, t, 0);
    return tessi_expr_load(g, tessi_graph_access(g, &a));
}

static inline ExprId testing_op(Graph *g, Op op, ExprId a, ExprId b)
{
    return tessi_expr_op(g, op, a, b, (ExprId){ 0 });
}

/* A plain stage of the size of X. */
static inline StageId testing_stage(Graph *g, const char *name, ScalarType t, ExprId body)
{
    const Stage *x = tessi_stage(g, (StageId){ 1 });
    Stage s = { .name = name, .kind = STAGE_COMPUTE, .type = t, .n_dims = x->n_dims };
    Piece p = { .body = body };
    for (uint32_t d = 0; d < x->n_dims; d++) {
        s.size[d] = p.count[d] = x->size[d];
        p.offset[d] = tessi_size_const(g, 0);
        p.step[d] = 1;
    }
    VEC_PUSH(g->arena, &s.pieces, p);
    return tessi_graph_stage(g, &s);
}

static inline void testing_return(Graph *g, StageId id)
{
    const Stage *s = tessi_stage(g, id);
    Image image = { .name = s->name, .n_dims = s->n_dims };
    memcpy(image.size, s->size, sizeof image.size);
    image.pixel_bytes = tessi_type_info(s->type)->bytes;
    VEC_PUSH(g->arena, &image.channels, ((Channel){ .name = "", .type = s->type, .stage = id }));
    VEC_PUSH(g->arena, &g->outputs, image);
}

/* The 3x3 window at nesting level 0. */
static inline WindowId testing_window(Graph *g, int32_t radius)
{
    Window w = { .n_vars = 2, .lo = { -radius, -radius }, .hi = { radius, radius } };
    return tessi_graph_window(g, &w);
}

/* The plan that `text` says; NULL with the one complaint about it. */
static inline Plan *testing_plan(Arena *a, const Graph *g, const char *text, const char **complaint)
{
    SourceMap *sources = ARENA_NEW(a, SourceMap);
    Diags *d = ARENA_NEW(a, Diags);
    tessi_sources_init(sources, a);
    tessi_diags_init(d, a, sources);
    Plan *p = tessi_plan_read(a, d, g, text, strlen(text));
    assert_int_equal(d->n_errors, p ? 0 : 1);
    *complaint = p ? "" : d->list.at[0].text;
    return p;
}

#endif
