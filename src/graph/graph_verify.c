/* The verifier: everything that the other stops rely on without looking again. It runs after every pass and on every
 * graph that was read from text. The checks of expressions are in graph_verify_expr.c. */
#include "graph/graph_verify.h"

#include <string.h>

bool tessi_verify_fail(Verify *v, const char *fmt, ...)
{
    if (!v->sentence) {
        va_list args;
        va_start(args, fmt);
        v->sentence = tessi_vsprintf(v->g->arena, fmt, args);
        va_end(args);
    }
    return false;
}

static bool stored_type(ScalarType t)
{
    return (unsigned)t < TYPE_INDEX;
}

bool tessi_verify_size(Verify *v, SizeId id, const char *of)
{
    if (id.v == 0 || id.v >= v->g->sizes.n)
        return tessi_verify_fail(v, "%s has no size where it needs one", of);
    if (!tessi_size_is_valid(v->g, id))
        return tessi_verify_fail(v, "a size of %s overflows or is too complicated", of);
    return true;
}

/* ---- Tables ---------------------------------------------------------------------------------- */
static bool verify_sizes(Verify *v)
{
    const Graph *g = v->g;
    for (uint32_t id = 1; id < g->sizes.n; id++) {
        const Size *s = &g->sizes.at[id];
        bool sound = s->a.v < id && s->b.v < id && s->weight <= MAX_SIZE_WEIGHT;
        for (uint32_t k = 0; k < s->n_terms; k++)
            sound = sound && s->atom[k].v && s->atom[k].v < id;
        if (!sound)
            return tessi_verify_fail(v, "size %u stands before what it consists of", (unsigned)id);
        if (s->kind == SIZE_OF_PARAM && s->param >= g->params.n)
            return tessi_verify_fail(v, "size %u names parameter %u of %u", (unsigned)id,
                                     (unsigned)s->param, (unsigned)g->params.n);
        if (s->kind == SIZE_OF_FLOORDIV && s->constant <= 0)
            return tessi_verify_fail(v, "size %u divides by %lld", (unsigned)id,
                                     (long long)s->constant);
    }
    return true;
}

static bool verify_windows(Verify *v)
{
    for (uint32_t id = 1; id < v->g->windows.n; id++) {
        const Window *w = &v->g->windows.at[id];
        if (w->level >= MAX_WINDOW_LEVELS)
            return tessi_verify_fail(v, "windows are nested deeper than %d", MAX_WINDOW_LEVELS);
        if (w->n_vars < 1 || w->n_vars > MAX_WINDOW_VARS)
            return tessi_verify_fail(v, "window %u has %u variables", (unsigned)id, w->n_vars);
        int64_t n = tessi_window_points(w);
        if (n < 0 || n > MAX_WINDOW_POINTS)
            return tessi_verify_fail(v, "window %u has more than %d points", (unsigned)id,
                                     MAX_WINDOW_POINTS);
    }
    return true;
}

static bool verify_tables(Verify *v)
{
    for (uint32_t id = 1; id < v->g->tables.n; id++) {
        const Table *t = &v->g->tables.at[id];
        uint64_t n = 1;
        for (uint32_t d = 0; d < t->n_dims && d < MAX_DIMS && n <= UINT32_MAX; d++)
            n *= t->dim[d];
        if (!stored_type(t->type) || t->type == TYPE_F16)
            return tessi_verify_fail(v, "table '%s' has a type that no value has", t->name);
        if (!t->n || t->n_dims < 1 || t->n_dims > MAX_DIMS || n != t->n)
            return tessi_verify_fail(v, "table '%s' has %u elements, which is not its extent",
                                     t->name, (unsigned)t->n);
    }
    return true;
}

static bool verify_access(Verify *v, const Access *a)
{
    const Graph *g = v->g;
    if (!a->producer.v || a->producer.v >= g->stages.n)
        return tessi_verify_fail(v, "a read of no stage");
    const Stage *s = tessi_stage(g, a->producer);
    if (a->n_dims != s->n_dims)
        return tessi_verify_fail(v, "a read of '%s' has %u dimensions, the stage has %u", s->name,
                                 a->n_dims, s->n_dims);
    bool needs_outside = false;
    for (uint32_t d = 0; d < a->n_dims; d++) {
        const AccessDim *dim = &a->dim[d];
        if ((unsigned)dim->rule >= BORDER_NONE)
            return tessi_verify_fail(v, "a read of '%s' has no border rule", s->name);
        needs_outside |= dim->rule == BORDER_CONSTANT;
        if (dim->absolute) {
            if (!dim->index.v || !tessi_is_integer(tessi_expr(g, dim->index)->type))
                return tessi_verify_fail(v, "an index of a read of '%s' is not an integer",
                                         s->name);
            continue;
        }
        if (dim->src < -1 || dim->src >= MAX_DIMS || dim->n_terms > MAX_ACCESS_TERMS)
            return tessi_verify_fail(v, "an index of a read of '%s' is malformed", s->name);
        if (!tessi_verify_size(v, dim->add, s->name))
            return false;
        for (uint32_t k = 0; k < dim->n_terms; k++) {
            const AccessTerm *t = &dim->term[k];
            if (!t->window.v || t->window.v >= g->windows.n
                || t->var >= tessi_window(g, t->window)->n_vars)
                return tessi_verify_fail(v, "a read of '%s' names no window variable", s->name);
        }
    }
    if (needs_outside != (a->outside.v != 0))
        return tessi_verify_fail(v, "a read of '%s' %s", s->name,
                                 needs_outside
                                     ? "lacks the value for points outside"
                                     : "has a value for points outside and no rule for it");
    if (needs_outside && tessi_expr(g, a->outside)->type != tessi_value_type(s->type))
        return tessi_verify_fail(v, "the value outside '%s' has another type than the stage",
                                 s->name);
    return true;
}

static bool verify_accesses(Verify *v)
{
    for (uint32_t id = 1; id < v->g->accesses.n; id++)
        if (!verify_access(v, &v->g->accesses.at[id]))
            return false;
    return true;
}

/* ---- Stages ---------------------------------------------------------------------------------- */
static bool verify_body(Verify *v, StageId id, const Stage *s, ExprId body)
{
    const Graph *g = v->g;
    if (!body.v || body.v >= g->exprs.n)
        return tessi_verify_fail(v, "a piece of stage '%s' has no body", s->name);
    const Expr *root = tessi_expr(g, body);
    if (root->type != tessi_value_type(s->type))
        return tessi_verify_fail(v, "stage '%s' is %s, its body is %s", s->name,
                                 tessi_type_info(s->type)->name, tessi_type_info(root->type)->name);
    if (v->deps[body.v].level >= 0 || v->deps[body.v].clash)
        return tessi_verify_fail(v, "stage '%s' uses a window variable outside its window",
                                 s->name);
    const ExprList *list = tessi_expr_walk(&v->walk, g, &body, 1);
    VEC_FOREACH (const ExprId, it, list) {
        const Expr *e = tessi_expr(g, *it);
        if (e->kind == EXPR_STATE && !s->n_states)
            return tessi_verify_fail(v, "stage '%s' is no scan and uses a state of one", s->name);
        if (e->kind == EXPR_INDEX && e->ref >= s->n_dims)
            return tessi_verify_fail(v, "stage '%s' uses index(%u) of %u", s->name,
                                     (unsigned)e->ref, s->n_dims);
        if (e->kind != EXPR_LOAD)
            continue;
        const Access *a = tessi_access(g, e->access);
        const char *producer = tessi_stage(g, a->producer)->name;
        if (a->producer.v >= id.v)
            return tessi_verify_fail(v, "stage '%s' reads '%s', which comes later", s->name,
                                     producer);
        for (uint32_t d = 0; d < a->n_dims; d++)
            if (!a->dim[d].absolute && a->dim[d].src >= (int)s->n_dims)
                return tessi_verify_fail(v, "stage '%s' reads '%s' along a dimension that it lacks",
                                         s->name, producer);
    }
    return true;
}

static bool verify_pieces(Verify *v, StageId id, const Stage *s)
{
    if (!s->pieces.n)
        return tessi_verify_fail(v, "stage '%s' has no pieces", s->name);
    VEC_FOREACH (const Piece, p, &s->pieces) {
        for (uint32_t d = 0; d < s->n_dims; d++) {
            if (p->step[d] < 1)
                return tessi_verify_fail(v, "a piece of stage '%s' has step %d", s->name,
                                         p->step[d]);
            if (!tessi_verify_size(v, p->offset[d], s->name)
                || !tessi_verify_size(v, p->count[d], s->name))
                return false;
        }
        if (!verify_body(v, id, s, p->body))
            return false;
    }
    return true;
}

static bool verify_input(Verify *v, const Stage *s)
{
    const Graph *g = v->g;
    if (s->image >= g->inputs.n || s->channel >= g->inputs.at[s->image].channels.n)
        return tessi_verify_fail(v, "stage '%s' is a channel of no input image", s->name);
    const Image *image = &g->inputs.at[s->image];
    bool agrees = image->channels.at[s->channel].type == s->type && image->n_dims == s->n_dims;
    for (uint32_t d = 0; d < s->n_dims; d++)
        agrees = agrees && image->size[d].v == s->size[d].v;
    return agrees
           || tessi_verify_fail(v, "stage '%s' is not shaped like image '%s'", s->name,
                                image->name);
}

/* What goes along a dimension has the other sizes of its source, and a scan that one too. */
static bool verify_along(Verify *v, const Stage *s)
{
    const Stage *source = tessi_stage(v->g, s->source);
    const uint32_t kept = s->kind == STAGE_SCAN && !s->only_last;
    bool agrees = s->along <= source->n_dims && (s->along || s->kind == STAGE_REDUCE)
                  && s->n_dims == (s->along ? source->n_dims - 1u + kept : 0);
    for (int d = 0; agrees && s->along && d < source->n_dims; d++) {
        const int own = tessi_stage_from_source(s, d);
        agrees = own < 0 || s->size[own].v == source->size[d].v;
    }
    return agrees
           || tessi_verify_fail(v, "stage '%s' is not shaped like what it goes along", s->name);
}

static bool verify_keys(Verify *v, StageId id, const Stage *s)
{
    const Stage *source = tessi_stage(v->g, s->source);
    bool agrees = s->keys.v < id.v && s->kind == STAGE_REDUCE && !s->along && s->n_dims == 1;
    agrees = agrees && tessi_stage_same_domain(source, tessi_stage(v->g, s->keys))
             && tessi_stage(v->g, s->keys)->type != TYPE_BOOL;
    return agrees || tessi_verify_fail(v, "the keys of '%s' do not fit what it reduces", s->name);
}

/* The step and the start of a scan, and what combines two results of a reduction: of numbers, and of values that belong
 * there. */
static bool verify_steps(Verify *v, StageId id, const Stage *s)
{
    const ScalarType t = tessi_value_type(s->type);
    const ScalarType value = tessi_value_type(tessi_stage(v->g, s->source)->type);
    const bool scan = s->kind == STAGE_SCAN;
    if (s->pieces.n != (scan ? 2 : 3) || s->n_states > (scan ? MAX_SCAN_STATES : 1))
        return tessi_verify_fail(v, "scan '%s' is malformed", s->name);
    for (uint32_t k = 0; k < s->pieces.n; k++) {
        const ScalarType from = k < 2 ? value : t;
        const ExprId body = s->pieces.at[k].body;
        if (!verify_body(v, id, s, body))
            return false;
        const ExprList *list = tessi_expr_walk(&v->walk, v->g, &body, 1);
        VEC_FOREACH (const ExprId, it, list) {
            const Expr *e = tessi_expr(v->g, *it);
            const bool image = e->kind == EXPR_LOAD && tessi_access(v->g, e->access)->n_dims > 0;
            if (image || e->kind == EXPR_INDEX || e->kind == EXPR_WINDOW)
                return tessi_verify_fail(v, "scan '%s' reads images in its step", s->name);
            if (e->kind == EXPR_STATE
                && (e->type != (e->ref ? t : from) || e->ref > (k == 1 ? 0 : s->n_states)))
                return tessi_verify_fail(v, "scan '%s' uses a state that it has not", s->name);
        }
    }
    return true;
}

static bool verify_reduce(Verify *v, StageId id, const Stage *s)
{
    if (!s->source.v || s->source.v >= id.v)
        return tessi_verify_fail(v, "stage '%s' reduces an image that comes later", s->name);
    ScalarType from = tessi_stage(v->g, s->source)->type;
    if (s->kind == STAGE_HISTOGRAM) {
        if (s->n_dims != 1 || s->type != TYPE_U32 || from == TYPE_BOOL)
            return tessi_verify_fail(v, "histogram '%s' is malformed", s->name);
        return true;
    }
    const bool scan = s->kind == STAGE_SCAN;
    bool sums =
        s->reduction == REDUCE_SUM || s->reduction == REDUCE_PROD || s->reduction == REDUCE_MEAN;
    bool known = sums || s->reduction == REDUCE_MIN || s->reduction == REDUCE_MAX
                 || s->reduction == REDUCE_COUNT;
    if (s->n_states && (scan || s->keys.v))
        return (scan ? verify_along(v, s) : verify_keys(v, id, s)) && verify_steps(v, id, s);
    if (scan && (s->reduction == REDUCE_MEAN || s->reduction == REDUCE_COUNT || s->only_last))
        known = false;
    if (s->n_states || !known || (sums && from == TYPE_BOOL)
        || (s->keys.v && s->reduction == REDUCE_MEAN))
        return tessi_verify_fail(v, "reduction '%s' is malformed", s->name);
    return s->keys.v ? verify_keys(v, id, s) : verify_along(v, s);
}

static bool verify_stage(Verify *v, StageId id)
{
    const Stage *s = tessi_stage(v->g, id);
    if (!s->name || !*s->name)
        return tessi_verify_fail(v, "stage %u has no name", (unsigned)id.v);
    if (tessi_graph_stage_by_name(v->g, s->name).v != id.v)
        return tessi_verify_fail(v, "two stages are called '%s'", s->name);
    if (!stored_type(s->type) || s->n_dims > MAX_DIMS)
        return tessi_verify_fail(v, "stage '%s' is malformed", s->name);
    for (uint32_t d = 0; d < s->n_dims; d++)
        if (!tessi_verify_size(v, s->size[d], s->name))
            return false;
    switch (s->kind) {
    case STAGE_INPUT: return verify_input(v, s);
    case STAGE_COMPUTE: return verify_pieces(v, id, s);
    case STAGE_REDUCE:
    case STAGE_SCAN:
    case STAGE_HISTOGRAM: return verify_reduce(v, id, s);
    case STAGE_CARRIED: return true; /* with its repeat */
    }
    return tessi_verify_fail(v, "stage '%s' is of no kind", s->name);
}

/* ---- Images and scalars ---------------------------------------------------------------------- */
static bool verify_image(Verify *v, const Image *image, bool is_output)
{
    const Graph *g = v->g;
    uint32_t offset = 0;
    if (image->n_dims > MAX_DIMS || !image->channels.n
        || (!image->is_struct && image->channels.n > 1))
        return tessi_verify_fail(v, "image '%s' is malformed", image->name);
    for (uint32_t d = 0; d < image->n_dims; d++)
        if (!tessi_verify_size(v, image->size[d], image->name))
            return false;
    VEC_FOREACH (const Channel, c, &image->channels) {
        if (!stored_type(c->type) || c->byte_offset != offset)
            return tessi_verify_fail(v, "the channels of image '%s' are not interleaved",
                                     image->name);
        offset += tessi_type_info(c->type)->bytes;
        if (c->stage.v >= g->stages.n || (is_output && !c->stage.v))
            return tessi_verify_fail(v, "a channel of image '%s' is no stage", image->name);
        if (!c->stage.v)
            continue; /* an input that nothing reads */
        const Stage *s = tessi_stage(g, c->stage);
        bool agrees = s->type == c->type && s->n_dims == image->n_dims;
        for (uint32_t d = 0; d < image->n_dims && agrees; d++)
            agrees = s->size[d].v == image->size[d].v;
        if (!agrees)
            return tessi_verify_fail(v, "image '%s' and stage '%s' differ in type or size",
                                     image->name, s->name);
    }
    if (offset != image->pixel_bytes)
        return tessi_verify_fail(v, "the pixels of image '%s' have %u bytes, their channels %u",
                                 image->name, (unsigned)image->pixel_bytes, (unsigned)offset);
    return true;
}

static bool verify_outside(Verify *v)
{
    VEC_FOREACH (const Scalar, s, &v->g->scalars) {
        if (!s->name || !stored_type(s->type))
            return tessi_verify_fail(v, "an input scalar is malformed");
    }
    VEC_FOREACH (const Param, p, &v->g->params) {
        if (!p->name || !*p->name)
            return tessi_verify_fail(v, "a parameter has no name");
    }
    VEC_FOREACH (const Image, image, &v->g->inputs) {
        if (!verify_image(v, image, false))
            return false;
    }
    VEC_FOREACH (const Image, image, &v->g->outputs) {
        if (!verify_image(v, image, true))
            return false;
    }
    return true;
}

static bool verify_stages(Verify *v)
{
    GRAPH_FOREACH_STAGE (v->g, id) {
        if (!verify_stage(v, id))
            return false;
    }
    return true;
}

const char *tessi_graph_verify(const Graph *g)
{
    Arena *scratch = tessi_scratch_open(g->arena);
    Verify v = { .g = g, .walk = { .arena = scratch } };
    if (verify_sizes(&v) && verify_windows(&v) && verify_tables(&v) && verify_accesses(&v)
        && tessi_verify_exprs(&v) && verify_stages(&v))
        if (verify_outside(&v))
            v.sentence = tessi_repeats_verify(g, g->arena);
    tessi_scratch_close(scratch);
    return v.sentence;
}
