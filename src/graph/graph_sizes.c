/* Sizes of a run: parameters from the images given, every declared size checked, no stage empty or too large. */
#include "graph/graph.h"
#include "tessera.h"

static const int64_t max_stage_bytes = INT64_C(1) << 46, max_extent = INT64_C(1) << 30;

typedef struct Binding {
    const Graph *g; /* may be shared by threads: nothing is allocated in it */
    Arena *scratch;
    const int64_t *const *sizes;
    int64_t *params;
    bool *known;
    /* the image that determined the parameter; NULL when it was set by hand */
    const Image **source;
    Failure *failure;
} Binding;

/* ---- Sentences ------------------------------------------------------------------------------- */
static const char *shape_text(const Binding *b, const Image *image, const int64_t *size)
{
    Text t = tessi_text_new(b->scratch);
    if (image->n_dims == 2) {
        tessi_text_addf(&t, "%lld row%s by %lld column%s", (long long)size[0],
                        size[0] == 1 ? "" : "s", (long long)size[1], size[1] == 1 ? "" : "s");
        return tessi_text_str(&t);
    }
    for (uint32_t d = 0; d < image->n_dims; d++)
        tessi_text_addf(&t, "%s%lld", d ? " by " : "", (long long)size[d]);
    tessi_text_add(&t, image->n_dims == 1 ? " elements long" : "");
    return tessi_text_str(&t);
}

static const char *declared_text(const Binding *b, const Image *image)
{
    Text t = tessi_text_new(b->scratch);
    for (uint32_t d = 0; d < image->n_dims; d++) {
        tessi_text_add(&t, d ? ", " : "[");
        tessi_size_print(b->g, image->size[d], &t);
    }
    tessi_text_add(&t, "]");
    return tessi_text_str(&t);
}

static const char *size_text(const Binding *b, SizeId id)
{
    Text t = tessi_text_new(b->scratch);
    tessi_size_print(b->g, id, &t);
    return tessi_text_str(&t);
}

bool tessi_size_uses_param(const Graph *g, SizeId id, uint32_t param)
{
    const Size *s = tessi_size(g, id);
    if (s->kind == SIZE_OF_PARAM)
        return s->param == param;
    for (uint32_t k = 0; k < s->n_terms; k++)
        if (tessi_size_uses_param(g, s->atom[k], param))
            return true;
    return (s->a.v && tessi_size_uses_param(g, s->a, param))
           || (s->b.v && tessi_size_uses_param(g, s->b, param));
}

/* Image `image` has another extent in dimension `d` than the parameters ask for: says where they come from. */
static bool contradiction(Binding *b, const Image *image, const int64_t *size, uint32_t d)
{
    const Graph *g = b->g;
    Text why = tessi_text_new(b->scratch);
    for (uint32_t p = 0; p < g->params.n; p++) {
        if (!b->known[p] || !tessi_size_uses_param(g, image->size[d], p))
            continue;
        const char *name = g->params.at[p].name;
        long long value = (long long)b->params[p];
        if (b->source[p] == image)
            tessi_text_addf(&why, " and another dimension of it makes %s = %lld", name, value);
        else if (b->source[p])
            tessi_text_addf(&why, " and image '%s' makes %s = %lld", b->source[p]->name, name,
                            value);
        else
            tessi_text_addf(&why, " and %s = %lld is set", name, value);
    }
    return tessi_failf(b->failure, TESS_ERROR_ARGUMENT, "%s '%s' is %s, but it is declared %s%s",
                       image->is_mask ? "mask" : "image", image->name, shape_text(b, image, size),
                       declared_text(b, image), tessi_text_str(&why));
}

/* ---- Parameters ------------------------------------------------------------------------------ */
static bool all_known(const Binding *b, SizeId id)
{
    for (uint32_t p = 0; p < b->g->params.n; p++)
        if (!b->known[p] && tessi_size_uses_param(b->g, id, p))
            return false;
    return true;
}

/* Solves rest + coef * p = extent when p is the one unknown parameter; *solved says whether it did. False on a
 * contradiction. */
static bool solve(Binding *b, const Image *image, const int64_t *size, uint32_t d, bool *solved)
{
    const Graph *g = b->g;
    const SizeId declared = image->size[d];
    const Size *s = tessi_size(g, declared);
    SizeId lone_atom[1] = { declared };
    const int64_t lone_coef[1] = { 1 };
    bool is_affine = s->kind == SIZE_OF_AFFINE;
    uint32_t n = is_affine ? s->n_terms : 1;
    const SizeId *atom = is_affine ? s->atom : lone_atom;
    const int64_t *coefs = is_affine ? s->coef : lone_coef;
    int64_t rest = is_affine ? s->constant : 0, coef = 0, value;
    uint32_t unknown = 0;
    for (uint32_t k = 0; k < n; k++) {
        if (all_known(b, atom[k])) {
            if (!tessi_size_eval(g, atom[k], b->params, &value)
                || !tessi_mul_i64(value, coefs[k], &value) || !tessi_add_i64(rest, value, &rest))
                return true; /* the check of all sizes will say so */
            continue;
        }
        const Size *a = tessi_size(g, atom[k]);
        if (coef || a->kind != SIZE_OF_PARAM)
            return true; /* a second unknown, or one that cannot be solved for */
        coef = coefs[k];
        unknown = a->param;
    }
    if (!coef || !tessi_sub_i64(size[d], rest, &value) || (coef == -1 && value == INT64_MIN))
        return true;
    if (value % coef != 0)
        return tessi_failf(b->failure, TESS_ERROR_ARGUMENT,
                           "%s '%s' is %s, but it is declared %s, and no whole number %s fits",
                           image->is_mask ? "mask" : "image", image->name,
                           shape_text(b, image, size), declared_text(b, image),
                           g->params.at[unknown].name);
    b->params[unknown] = value / coef;
    b->known[unknown] = true;
    b->source[unknown] = image;
    *solved = true;
    return true;
}

static bool solve_all(Binding *b)
{
    bool progress = true;
    while (progress) {
        progress = false;
        for (uint32_t k = 0; k < b->g->inputs.n; k++) {
            const Image *image = &b->g->inputs.at[k];
            for (uint32_t d = 0; b->sizes[k] && d < image->n_dims; d++)
                if (!solve(b, image, b->sizes[k], d, &progress))
                    return false;
        }
    }
    for (uint32_t p = 0; p < b->g->params.n; p++) {
        const char *name = b->g->params.at[p].name;
        if (!b->known[p])
            return tessi_failf(b->failure, TESS_ERROR_ARGUMENT,
                               "no input image determines the parameter %s: set it with %s=VALUE",
                               name, name);
        if (b->params[p] >= 0)
            continue;
        if (b->source[p])
            return tessi_failf(b->failure, TESS_ERROR_ARGUMENT,
                               "image '%s' makes the parameter %s = %lld, which is negative",
                               b->source[p]->name, name, (long long)b->params[p]);
        return tessi_failf(b->failure, TESS_ERROR_ARGUMENT,
                           "the parameter %s is set to %lld, which is negative", name,
                           (long long)b->params[p]);
    }
    return true;
}

/* ---- Checks ---------------------------------------------------------------------------------- */
static bool check_images(Binding *b)
{
    for (uint32_t k = 0; k < b->g->inputs.n; k++) {
        const Image *image = &b->g->inputs.at[k];
        const int64_t *size = b->sizes[k];
        for (uint32_t d = 0; size && d < image->n_dims; d++) {
            int64_t want;
            if (size[d] < 1)
                return tessi_failf(b->failure, TESS_ERROR_ARGUMENT, "image '%s' is empty: it is %s",
                                   image->name, shape_text(b, image, size));
            if (!tessi_size_eval(b->g, image->size[d], b->params, &want) || want != size[d])
                return contradiction(b, image, size, d);
        }
    }
    return true;
}

/* "M - 2 = 0", and of a number the number. */
static const char *size_with_value(Binding *b, SizeId size, int64_t value)
{
    int64_t constant;
    if (tessi_size_is_const(b->g, size, &constant))
        return tessi_sprintf(b->scratch, "%lld", (long long)value);
    return tessi_sprintf(b->scratch, "%s = %lld", size_text(b, size), (long long)value);
}

static bool check_stages(Binding *b)
{
    const Graph *g = b->g;
    GRAPH_FOREACH_STAGE (g, id) {
        const Stage *s = tessi_stage(g, id);
        int64_t bytes = tessi_type_info(s->type)->bytes;
        for (uint32_t d = 0; d < s->n_dims; d++) {
            int64_t n;
            if (!tessi_size_eval(g, s->size[d], b->params, &n) || n > max_extent)
                return tessi_failf(b->failure, TESS_ERROR_ARGUMENT,
                                   "stage '%s' would be too large: its size is %s in dimension %u",
                                   s->name, size_text(b, s->size[d]), (unsigned)d);
            if (n < 1)
                return tessi_failf(b->failure, TESS_ERROR_ARGUMENT,
                                   "stage '%s' would be empty: its size is %s in dimension %u",
                                   s->name, size_with_value(b, s->size[d], n), (unsigned)d);
            if (!tessi_mul_i64(bytes, n, &bytes) || bytes > max_stage_bytes)
                return tessi_failf(b->failure, TESS_ERROR_ARGUMENT,
                                   "stage '%s' would be too large: it has more than %lld bytes",
                                   s->name, (long long)max_stage_bytes);
        }
    }
    return true;
}

/* Displacements and placements must leave room for index arithmetic. */
static bool check_displacement(Binding *b, SizeId id, const char *stage)
{
    int64_t n;
    if (tessi_size_eval(b->g, id, b->params, &n) && n >= -max_stage_bytes && n <= max_stage_bytes)
        return true;
    return tessi_failf(b->failure, TESS_ERROR_ARGUMENT,
                       "stage '%s' is read or placed at %s, which is too far away", stage,
                       size_text(b, id));
}

static bool check_displacements(Binding *b)
{
    const Graph *g = b->g;
    for (uint32_t k = 1; k < g->accesses.n; k++) {
        const Access *a = &g->accesses.at[k];
        for (uint32_t d = 0; d < a->n_dims; d++)
            if (!a->dim[d].absolute
                && !check_displacement(b, a->dim[d].add, tessi_stage(g, a->producer)->name))
                return false;
    }
    GRAPH_FOREACH_STAGE (g, id) {
        const Stage *s = tessi_stage(g, id);
        VEC_FOREACH (const Piece, p, &s->pieces) {
            for (uint32_t d = 0; d < s->n_dims; d++)
                if (!check_displacement(b, p->offset[d], s->name)
                    || !check_displacement(b, p->count[d], s->name))
                    return false;
        }
    }
    return true;
}

bool tessi_graph_bind_sizes(const Graph *g, Arena *scratch, const int64_t *const *sizes,
                            const bool *given, int64_t *params, Failure *f)
{
    Binding b = { .g = g, .scratch = scratch, .sizes = sizes, .params = params, .failure = f };
    b.known = ARENA_NEW_ARRAY(scratch, bool, g->params.n);
    b.source = ARENA_NEW_ARRAY(scratch, const Image *, g->params.n);
    for (uint32_t p = 0; p < g->params.n; p++)
        b.known[p] = given && given[p];
    return solve_all(&b) && check_images(&b) && check_stages(&b) && check_displacements(&b);
}
