/* Geometry of stages with respect to an input image, from the first stage to the last. */
#include "analysis/geometry.h"

#include "analysis/indices.h"

#include <math.h>

typedef struct Finder {
    const Graph *g;
    const int64_t *params;
    const Value *scalars;
    const Image *image;
    Geometry *at;   /* by StageId */
    Affine *affine; /* by ExprId, of the stage at hand */
    ExprWalk walk;
} Finder;

/* Offsets within lo..hi. */
typedef struct Extent {
    double lo, hi;
} Extent;

/* What the reads of a stage say together. */
typedef struct Sum {
    Geometry geometry;
    Extent offset[MAX_DIMS], middle[MAX_DIMS];
    bool any, differ; /* they have different scales */
    bool in_place;    /* one of them is the image where it is */
    bool anywhere;    /* one of them finds its place by values of pixels */
} Sum;

static Geometry identity(const Image *image)
{
    Geometry same = { .known = true, .n_dims = image->n_dims };
    for (int d = 0; d < image->n_dims; d++)
        same.dim[d].by[d] = 1;
    return same;
}

static bool same_directions(const GeometryDim *a, const GeometryDim *b)
{
    for (int d = 0; d < MAX_DIMS; d++)
        if (a->by[d] != b->by[d])
            return false;
    return true;
}

static bool same_geometry(const Geometry *a, const Geometry *b)
{
    bool same = a->known && b->known && a->n_dims == b->n_dims;
    for (int d = 0; same && d < a->n_dims; d++)
        same = same_directions(&a->dim[d], &b->dim[d]) && a->dim[d].offset == b->dim[d].offset;
    return same;
}

static bool value_of(const Finder *f, SizeId size, double *value)
{
    int64_t n;
    if (!tessi_size_eval(f->g, size, f->params, &n))
        return false;
    *value = (double)n;
    return true;
}

static bool has_size_of(const Finder *f, const Stage *s, int n_dims, const SizeId *size)
{
    bool same = s->n_dims == n_dims;
    for (int d = 0; same && d < n_dims; d++) {
        double is, want;
        same = value_of(f, s->size[d], &is) && value_of(f, size[d], &want) && is == want;
    }
    return same;
}

/* The middle of what a read reaches in this dimension, for point 0. */
static bool middle_of(const Finder *f, const AccessDim *dim, double *middle)
{
    if (!value_of(f, dim->add, middle))
        return false;
    for (int t = 0; t < dim->n_terms; t++) {
        const Window *w = tessi_window(f->g, dim->term[t].window);
        const int var = dim->term[t].var;
        *middle += dim->term[t].coef * ((double)w->lo[var] + (double)w->hi[var]) / 2;
    }
    return true;
}

/* A computed index. Along one dimension of the points, what reads the whole image at as many points as the stage has
 * lays edge upon edge: between what it rounds and chooses that is taken for its meaning. */
static bool computed_dim(const Finder *f, const Stage *s, const AccessDim *dim, SizeId size,
                         GeometryDim *out)
{
    const Affine *a = &f->affine[dim->index.v];
    double from, to;
    int along = -1, n = 0;
    *out = (GeometryDim){ .offset = a->add };
    for (int d = 0; d < MAX_DIMS; d++)
        if (a->by[d] != 0) {
            if (d >= s->n_dims)
                return false;
            along = d;
            n++;
            out->by[d] = a->by[d];
        }
    if (!a->known || n != 1 || !value_of(f, size, &from) || !value_of(f, s->size[along], &to))
        return a->known;
    const double all = from / to, by = out->by[along];
    const double edges = by < 0 ? from - 0.5 - all / 2 : (all - 1) / 2;
    if (fabs(fabs(by) - all) <= 1e-6 * all && fabs(out->offset - edges) <= a->vague + 0.75) {
        out->by[along] = by < 0 ? -all : all;
        out->offset = edges;
    }
    return true;
}

/* One dimension of the producer as a function of the stage's points. `stays`: neighbours that are read besides do not
 * move it. */
static bool read_dim(const Finder *f, const Stage *s, const Piece *piece, const AccessDim *dim,
                     SizeId size, bool stays, GeometryDim *out)
{
    *out = (GeometryDim){ 0 };
    if (!dim->absolute && dim->src >= 0)
        out->by[dim->src] = dim->scale;
    if (dim->absolute ? !computed_dim(f, s, dim, size, out) : !middle_of(f, dim, &out->offset))
        return false;
    out->middle = out->offset;
    if (stays && !dim->absolute && dim->src >= 0 && dim->scale == 1)
        out->offset = 0;
    for (int d = 0; d < s->n_dims; d++) {
        double offset;
        if (out->by[d] == 0)
            continue;
        if (!value_of(f, piece->offset[d], &offset))
            return false;
        out->by[d] /= piece->step[d];
        out->offset -= out->by[d] * offset;
        out->middle -= out->by[d] * offset;
    }
    return true;
}

/* The outer dimension as a function of what the inner ones are functions of. */
static GeometryDim composed(const GeometryDim *outer, const GeometryDim *inner, int n_inner)
{
    GeometryDim all = { .offset = outer->offset, .middle = outer->middle };
    for (int i = 0; i < n_inner; i++) {
        if (outer->by[i] == 0)
            continue;
        all.offset += outer->by[i] * inner[i].offset;
        all.middle += outer->by[i] * inner[i].middle;
        for (int d = 0; d < MAX_DIMS; d++)
            all.by[d] += outer->by[i] * inner[i].by[d];
    }
    return all;
}

/* An index that is no function of the point: flow, maps of lenses. */
static bool is_anywhere(const Finder *f, const Access *a)
{
    bool anywhere = false;
    for (int d = 0; d < a->n_dims; d++)
        anywhere |= a->dim[d].absolute && !f->affine[a->dim[d].index.v].known;
    return anywhere && f->at[a->producer.v].known;
}

/* Every so many points of the stage are this piece: it stands between others. */
static bool is_between(const Stage *s, const Piece *piece)
{
    bool between = false;
    for (int d = 0; d < s->n_dims; d++)
        between |= piece->step[d] > 1;
    return between;
}

/* What one read says; false: nothing. Points that are put between others lie in the middle of what they come from. */
static bool follow(const Finder *f, const Stage *s, const Piece *piece, const Access *a, bool plain,
                   Geometry *found)
{
    const Geometry *from = &f->at[a->producer.v];
    const Stage *producer = tessi_stage(f->g, a->producer);
    GeometryDim dim[MAX_DIMS];
    if (!from->known)
        return false;
    const bool stays = !plain && has_size_of(f, s, producer->n_dims, producer->size)
                       && tessi_piece_is_whole(f->g, s, piece);
    for (int d = 0; d < a->n_dims; d++)
        if (!read_dim(f, s, piece, &a->dim[d], producer->size[d], stays, &dim[d]))
            return false;
    *found = (Geometry){ .known = true, .n_dims = from->n_dims };
    for (int k = 0; k < from->n_dims; k++)
        found->dim[k] = composed(&from->dim[k], dim, a->n_dims);
    for (int k = 0; k < from->n_dims && is_between(s, piece); k++)
        found->dim[k].offset = found->dim[k].middle;
    return true;
}

static void widen(Extent *e, double x, bool any)
{
    e->lo = any ? fmin(e->lo, x) : x;
    e->hi = any ? fmax(e->hi, x) : x;
}

static void add(const Finder *f, Sum *sum, const Geometry *x)
{
    const Geometry place = identity(f->image);
    sum->in_place |= same_geometry(x, &place);
    if (!sum->any)
        sum->geometry = *x;
    for (int d = 0; d < x->n_dims; d++) {
        const GeometryDim *have = &sum->geometry.dim[d];
        sum->differ |= !same_directions(have, &x->dim[d]);
        widen(&sum->offset[d], x->dim[d].offset, sum->any);
        widen(&sum->middle[d], x->dim[d].middle, sum->any);
    }
    sum->any = true;
}

/* Nothing but the value of a read, as another type perhaps. */
static bool is_plain_read(const Graph *g, ExprId body)
{
    const Expr *e = tessi_expr(g, body);
    while (e->kind == EXPR_CAST || e->kind == EXPR_SAT)
        e = tessi_expr(g, e->arg[0]);
    return e->kind == EXPR_LOAD;
}

static Geometry of_computed(Finder *f, const Stage *s)
{
    Sum sum = { .any = false };
    VEC_FOREACH (const Piece, piece, &s->pieces) {
        const bool plain = is_plain_read(f->g, piece->body);
        const ExprList *list = tessi_expr_walk(&f->walk, f->g, &piece->body, 1);
        tessi_find_affine(f->g, list, f->params, f->scalars, f->affine);
        VEC_FOREACH (const ExprId, at, list) {
            const Expr *e = tessi_expr(f->g, *at);
            Geometry found;
            if (e->kind != EXPR_LOAD)
                continue;
            const Access *a = tessi_access(f->g, e->access);
            sum.anywhere |= is_anywhere(f, a);
            if (follow(f, s, piece, a, plain, &found))
                add(f, &sum, &found);
        }
    }
    const bool in_place =
        sum.in_place && !sum.anywhere && has_size_of(f, s, f->image->n_dims, f->image->size);
    if (!in_place && (!sum.any || sum.differ || sum.anywhere))
        return (Geometry){ .known = false };
    Geometry all = in_place ? identity(f->image) : sum.geometry;
    for (int d = 0; d < all.n_dims; d++) {
        all.dim[d].offset = in_place ? 0 : (sum.offset[d].lo + sum.offset[d].hi) / 2;
        all.dim[d].middle =
            sum.differ ? all.dim[d].offset : (sum.middle[d].lo + sum.middle[d].hi) / 2;
    }
    return all;
}

/* Running values lie where their images do; along a dimension that is dropped they lie in its middle. */
static Geometry of_source(const Finder *f, const Stage *s, bool drops)
{
    Geometry all = f->at[s->source.v];
    const int dropped = drops ? s->along - 1 : -1;
    double n = 0;
    all.known =
        all.known && (!drops || value_of(f, tessi_stage(f->g, s->source)->size[dropped], &n));
    for (int d = 0; drops && d < all.n_dims; d++) {
        GeometryDim *dim = &all.dim[d];
        dim->offset += dim->by[dropped] * (n - 1) / 2;
        dim->middle += dim->by[dropped] * (n - 1) / 2;
        for (int k = dropped; k < MAX_DIMS; k++)
            dim->by[k] = k + 1 < MAX_DIMS ? dim->by[k + 1] : 0;
    }
    return all;
}

/* In a loop an image lies where the first turn finds it, and behind the loop too, if turns leave it there. */
static Geometry of_carried(const Finder *f, const Stage *s)
{
    const uint32_t repeat = s->behind ? s->behind : s->repeat;
    const Carried *c = &f->g->repeats.at[repeat - 1].carried.at[s->carried];
    const Geometry before = c->first.v ? f->at[c->first.v] : (Geometry){ .known = false };
    if (!s->behind)
        return before;
    const Geometry *after = &f->at[c->next.v];
    return !before.known || same_geometry(&before, after) ? *after : (Geometry){ .known = false };
}

const Geometry *tessi_geometry(const Graph *g, uint32_t image, const int64_t *params,
                               const Value *scalars, Arena *a)
{
    Finder f = { .g = g,
                 .params = params,
                 .scalars = scalars,
                 .image = &g->inputs.at[image],
                 .at = ARENA_NEW_ARRAY(a, Geometry, g->stages.n),
                 .affine = ARENA_NEW_ARRAY(a, Affine, g->exprs.n),
                 .walk = { .arena = a } };
    GRAPH_FOREACH_STAGE (g, id) {
        const Stage *s = tessi_stage(g, id);
        if (s->kind == STAGE_INPUT && s->image == image)
            f.at[id.v] = identity(f.image);
        else if (s->kind == STAGE_COMPUTE)
            f.at[id.v] = of_computed(&f, s);
        else if (s->kind == STAGE_SCAN || (s->kind == STAGE_REDUCE && s->along && !s->keys.v))
            f.at[id.v] = of_source(&f, s, s->kind == STAGE_REDUCE || s->only_last);
        else if (s->kind == STAGE_CARRIED)
            f.at[id.v] = of_carried(&f, s);
    }
    return f.at;
}
