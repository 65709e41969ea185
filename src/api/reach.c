/* tess_result_shape, tess_input_shape: how large a result will be, and an input must be; tess_program_reach: how far
 * from a point of the results an input matters. */
#include <string.h>

#include "api/api.h"
#include "base/rounding.h"
#include "graph/graph_walk.h"

/* ---- Shapes ---------------------------------------------------------------------------------- */
/* The image of the graph that is this input; NULL: scalars, and images that nothing reads. */
static const Image *image_of(const Graph *g, const tess_info *info)
{
    VEC_FOREACH (const Image, image, &g->inputs)
        if (strcmp(image->name, info->name) == 0)
            return image;
    return NULL;
}

static bool shape_of(const tess_program *p, const Variant *v, tess_args *a, const tess_info *info,
                     const Image *image, Arena *arena, int *ndim, int64_t *shape)
{
    Guard guard;
    Failure *f = &a->failure;
    if (!GUARDED(&guard, arena))
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    if (!image)
        return tessi_failf(f, TESS_ERROR_ARGUMENT, "'%s' is no image that has a shape", info->name);
    int64_t *params = ARENA_NEW_ARRAY(arena, int64_t, v->graph->params.n);
    return tessi_bind_sizes(p, v, a, arena, params, f)
           && tessi_image_shape(info, v->graph, image, params, ndim, shape, f);
}

static tess_status shape_of_image(tess_program *p, tess_args *a, bool input, size_t i, int *ndim,
                                  int64_t *shape)
{
    if (!p || !a || !ndim || !shape || !tessi_args_begin(p, a)
        || i >= (input ? p->inputs.n : p->outputs.n))
        return TESS_ERROR_ARGUMENT;
    Variant *v = tessi_variant_enter(p, a, NULL, &a->failure);
    if (!v)
        return (tess_status)a->failure.status;
    Arena arena;
    tessi_arena_init(&arena, NULL, NULL);
    const tess_info *info = input ? &p->inputs.at[i].info : &p->outputs.at[i].info;
    const Image *image = input ? image_of(v->graph, info) : &v->graph->outputs.at[i];
    const bool ok = shape_of(p, v, a, info, image, &arena, ndim, shape);
    tessi_arena_dispose(&arena);
    tessi_variant_leave(p, v);
    return ok ? TESS_OK : (tess_status)a->failure.status;
}

tess_status tess_result_shape(tess_program *p, tess_args *a, size_t output, int *ndim,
                              int64_t shape[TESS_MAX_SHAPE])
{
    const Rounding callers = tessi_round_to_nearest();
    const tess_status status = shape_of_image(p, a, false, output, ndim, shape);
    tessi_round_as(callers);
    return status;
}

tess_status tess_input_shape(tess_program *p, tess_args *a, size_t input, int *ndim,
                             int64_t shape[TESS_MAX_SHAPE])
{
    const Rounding callers = tessi_round_to_nearest();
    const tess_status status = shape_of_image(p, a, true, input, ndim, shape);
    tessi_round_as(callers);
    return status;
}

/* ---- Reach ----------------------------------------------------------------------------------- */
/* Of one dimension of a stage: how far from the point of a result its points still matter to that. */
typedef struct Far {
    int64_t before, after;
    bool any; /* further than can be said */
} Far;

typedef struct Reach {
    const Graph *g;
    bool *wanted;         /* by StageId: a result depends on it */
    Far (*far)[MAX_DIMS]; /* by StageId */
    bool placed;          /* values depend on where in the image a point is */
} Reach;

static void join(Far *into, Far other)
{
    into->before = other.before > into->before ? other.before : into->before;
    into->after = other.after > into->after ? other.after : into->after;
    into->any |= other.any;
}

/* The points of a stage are computed one for one, in this dimension, from pieces that cover it. */
static bool is_even(const Graph *g, const Stage *s, int d)
{
    VEC_FOREACH (const Piece, piece, &s->pieces) {
        int64_t offset;
        if (piece->step[d] != 1 || !tessi_size_is_const(g, piece->offset[d], &offset) || offset
            || piece->count[d].v != s->size[d].v)
            return false;
    }
    return true;
}

/* What one consumer reads of one producer. Where rules bounce at an edge, what lies before a point counts as behind
 * it. */
static void follow(Reach *r, const Footprint *f)
{
    const Stage *user = tessi_stage(r->g, f->consumer);
    if (!r->wanted[f->consumer.v])
        return;
    r->wanted[f->producer.v] = true;
    for (int d = 0; d < f->n_dims; d++) {
        const AccessRange *dim = &f->dim[d];
        const Far at = d < user->n_dims ? r->far[f->consumer.v][d] : (Far){ .any = true };
        Far made = { .any = at.any || dim->dynamic || dim->src != d || dim->scale != 1
                            || dim->base.v || !is_even(r->g, user, d) };
        if (!made.any
            && (!tessi_add_i64(at.before, dim->lo < 0 ? -dim->lo : 0, &made.before)
                || !tessi_add_i64(at.after, dim->hi > 0 ? dim->hi : 0, &made.after)))
            made.any = true;
        join(&r->far[f->producer.v][d], made);
    }
}

/* Reads that wrap around, and bodies that ask where they are or how large an image is. */
static void look_at(Reach *r, ExprWalk *walk, const Stage *s)
{
    VEC_FOREACH (const Piece, piece, &s->pieces) {
        const ExprList *list = tessi_expr_walk(walk, r->g, &piece->body, 1);
        VEC_FOREACH (const ExprId, at, list) {
            const Expr *e = tessi_expr(r->g, *at);
            int64_t n;
            r->placed |= e->kind == EXPR_INDEX
                         || (e->kind == EXPR_SIZE && !tessi_size_is_const(r->g, e->size, &n));
            if (e->kind != EXPR_LOAD)
                continue;
            const Access *a = tessi_access(r->g, e->access);
            for (int d = 0; d < a->n_dims; d++)
                if (a->dim[d].rule == BORDER_WRAP)
                    r->far[a->producer.v][d].any = true;
        }
    }
}

static void find_reach(const Graph *g, Arena *arena, Reach *r)
{
    *r = (Reach){ .g = g };
    r->wanted = ARENA_NEW_ARRAY(arena, bool, g->stages.n);
    r->far = (Far(*)[MAX_DIMS])ARENA_NEW_ARRAY(arena, Far, (size_t)g->stages.n * MAX_DIMS);
    ExprWalk walk = { .arena = arena };
    GRAPH_FOREACH_STAGE (g, id)
        look_at(r, &walk, tessi_stage(g, id));
    VEC_FOREACH (const Image, image, &g->outputs)
        VEC_FOREACH (const Channel, c, &image->channels)
            r->wanted[c->stage.v] = true;
    Analysis an = { .g = g };
    tessi_analyse_footprints(&an, arena);
    /* Footprints are ordered by consumer, and consumers come after what they read. */
    for (uint32_t i = an.footprints.n; i-- > 0;)
        follow(r, &an.footprints.at[i]);
}

static bool reach_of(const Graph *g, const char *name, Arena *arena, tess_reach *reach, Failure *f)
{
    Guard guard;
    if (!GUARDED(&guard, arena))
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    Reach r;
    Far all[MAX_DIMS] = { { 0 } };
    find_reach(g, arena, &r);
    VEC_FOREACH (const Image, image, &g->inputs) {
        if (!tessi_streq(image->name, name))
            continue;
        reach->ndim = image->n_dims;
        VEC_FOREACH (const Channel, c, &image->channels)
            for (int d = 0; d < image->n_dims && r.wanted[c->stage.v]; d++)
                join(&all[d], r.far[c->stage.v][d]);
    }
    reach->placed = r.placed;
    for (int d = 0; d < MAX_DIMS; d++) {
        reach->any[d] = all[d].any;
        reach->before[d] = all[d].any ? 0 : all[d].before;
        reach->after[d] = all[d].any ? 0 : all[d].after;
    }
    return true;
}

static tess_status program_reach(tess_program *p, const tess_args *args, const char *name,
                                 tess_reach *reach)
{
    if (!p || !reach || reach->struct_size != sizeof *reach || (args && args->program != p))
        return TESS_ERROR_ARGUMENT;
    Failure f = { 0 };
    const int64_t number = tessi_input_number(p, name);
    *reach = (tess_reach){ .struct_size = sizeof *reach };
    if (number < 0 || p->inputs.at[number].info.ndim == 0)
        tessi_failf(&f, TESS_ERROR_ARGUMENT, "the program has no image '%s'",
                    name ? name : "(null)");
    Variant *v = f.status ? NULL : tessi_variant_enter(p, args, NULL, &f);
    if (v) {
        Arena arena;
        tessi_arena_init(&arena, NULL, NULL);
        reach_of(v->meaning, name, &arena, reach, &f);
        tessi_arena_dispose(&arena);
        tessi_variant_leave(p, v);
    }
    tessi_program_failure(p, &f);
    return (tess_status)f.status;
}

tess_status tess_program_reach(tess_program *p, const tess_args *args, const char *name,
                               tess_reach *reach)
{
    const Rounding callers = tessi_round_to_nearest();
    const tess_status status = program_reach(p, args, name, reach);
    tessi_round_as(callers);
    return status;
}
