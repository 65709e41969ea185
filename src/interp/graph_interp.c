/* The graph interpreter: stage after stage into whole images. Side tables come from the arena before the first image
 * is allocated, so that every image can be freed on every path. */
#include "interp/graph_interp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tessera.h"

#include "interp/graph_stages.h"

typedef struct Run {
    const Graph *g;
    const InterpArgs *args;
    Failure *failure;
    StageImage *image;   /* by stage */
    uint32_t *last_use;  /* by stage: the last stage that reads it; UINT32_MAX for those returned */
    Region *region;      /* all pieces of all stages, in order */
    int64_t *size_value; /* by size */
    uint64_t used_bytes;
    TransformedSum sum; /* of the stage at hand; window none = it has none */
    const bool *test;   /* by stage: only a condition needs it */
    bool met;           /* the condition of the last repeat held */
    PointEval point;
} Run;

Value tessi_stage_image_get(const StageImage *image, const int64_t *index)
{
    int64_t offset = 0;
    for (uint32_t d = 0; d < image->n_dims; d++)
        offset += index[d] * image->stride_bytes[d];
    return tessi_load_element(image->type, image->at + offset);
}

bool tessi_next_point(uint32_t n_dims, const int64_t *size, int64_t *index)
{
    for (uint32_t d = n_dims; d-- > 0;) {
        if (++index[d] < size[d])
            return true;
        index[d] = 0;
    }
    return false;
}

/* ---- Preparation: arena only ----------------------------------------------------------------- */
static void note_uses(Run *r, StageId user, ExprWalk *walk, ExprId root)
{
    const ExprList *list = tessi_expr_walk(walk, r->g, &root, 1);
    VEC_FOREACH (const ExprId, id, list) {
        const Expr *e = tessi_expr(r->g, *id);
        if (e->kind == EXPR_LOAD)
            r->last_use[tessi_access(r->g, e->access)->producer.v] = user.v;
    }
}

/* What a turn reads, all turns read. */
static void keep_for_turns(Run *r)
{
    const Graph *g = r->g;
    uint32_t *end = ARENA_NEW_ARRAY(r->args->arena, uint32_t, g->repeats.n + 1);
    GRAPH_FOREACH_STAGE (g, id)
        end[tessi_stage(g, id)->repeat] = id.v;
    GRAPH_FOREACH_STAGE (g, id) {
        const uint32_t last = r->last_use[id.v];
        const uint32_t reader = last && last < UINT32_MAX ? g->stages.at[last].repeat : 0;
        if (reader)
            r->last_use[id.v] = end[reader];
    }
    VEC_FOREACH (const Repeat, repeat, &g->repeats)
        VEC_FOREACH (const Carried, c, &repeat->carried) {
            const uint32_t stop = end[tessi_stage(g, c->entry)->repeat];
            r->last_use[c->first.v] =
                r->last_use[c->first.v] > stop ? r->last_use[c->first.v] : stop;
            r->last_use[c->next.v] = r->last_use[c->entry.v] = UINT32_MAX;
        }
    VEC_FOREACH (const Repeat, again, &g->repeats)
        r->last_use[again->until.v] = UINT32_MAX;
    r->test = tessi_graph_tests(g, r->args->arena);
}

static void prepare(Run *r)
{
    const Graph *g = r->g;
    Arena *a = r->args->arena;
    ExprWalk walk = { .arena = a };
    r->image = ARENA_NEW_ARRAY(a, StageImage, g->stages.n);
    r->last_use = ARENA_NEW_ARRAY(a, uint32_t, g->stages.n);
    r->size_value = ARENA_NEW_ARRAY(a, int64_t, g->sizes.n);
    for (uint32_t id = 1; id < g->sizes.n; id++)
        if (!tessi_size_eval(g, (SizeId){ id }, r->args->params, &r->size_value[id]))
            r->size_value[id] = INT64_MIN;
    tessi_point_init(&r->point, g, a);
    r->point.scalars = r->args->scalars;
    r->point.size_value = r->size_value;
    r->point.load = tessi_stage_load;
    r->point.user = r->image;
    r->point.failure = r->failure;
    uint32_t n_pieces = 0, next = 0;
    GRAPH_FOREACH_STAGE (g, id)
        n_pieces += tessi_stage(g, id)->pieces.n;
    r->region = ARENA_NEW_ARRAY(a, Region, n_pieces);
    GRAPH_FOREACH_STAGE (g, id) {
        const Stage *s = tessi_stage(g, id);
        r->last_use[s->source.v] = r->last_use[s->keys.v] = id.v;
        VEC_FOREACH (const Piece, piece, &s->pieces) {
            r->region[next++] = tessi_point_region(&r->point, a, &walk, piece->body);
            note_uses(r, id, &walk, piece->body);
        }
    }
    VEC_FOREACH (const Image, out, &g->outputs) {
        VEC_FOREACH (const Channel, c, &out->channels)
            r->last_use[c->stage.v] = UINT32_MAX;
    }
    keep_for_turns(r);
}

/* ---- Images ---------------------------------------------------------------------------------- */
static bool image_fits(Run *r, const Image *image, const InterpImage *given, const char *what)
{
    for (uint32_t d = 0; d < image->n_dims; d++) {
        int64_t want = r->size_value[image->size[d].v];
        if (given->size[d] != want)
            return tessi_failf(r->failure, TESS_ERROR_ARGUMENT,
                               "%s '%s' has size %lld in dimension %u where %lld is needed", what,
                               image->name, (long long)given->size[d], (unsigned)d,
                               (long long)want);
    }
    if (!given->data)
        return tessi_failf(r->failure, TESS_ERROR_ARGUMENT, "%s '%s' has no data", what,
                           image->name);
    return true;
}

static bool stage_shape(Run *r, const Stage *s, StageImage *image, uint64_t *bytes)
{
    int64_t stride = tessi_type_info(s->type)->bytes;
    image->type = s->type;
    image->n_dims = s->n_dims;
    for (uint32_t d = s->n_dims; d-- > 0;) {
        int64_t n = r->size_value[s->size[d].v];
        image->size[d] = n;
        image->stride_bytes[d] = stride;
        if (n < 1 || n > 1 << 30 || !tessi_mul_i64(stride, n, &stride))
            return tessi_failf(r->failure, TESS_ERROR_ARGUMENT,
                               "stage '%s' would have size %lld in dimension %u", s->name,
                               (long long)n, (unsigned)d);
    }
    *bytes = (uint64_t)stride;
    return true;
}

static bool allocate_stage(Run *r, const Stage *s, StageImage *image)
{
    uint64_t bytes, limit = r->args->memory_limit_bytes;
    if (!stage_shape(r, s, image, &bytes))
        return false;
    bool too_much = limit && (bytes > limit || r->used_bytes > limit - bytes);
    image->owned = too_much || bytes > SIZE_MAX ? NULL : calloc((size_t)bytes, 1);
    if (!image->owned)
        return tessi_failf(r->failure, TESS_ERROR_MEMORY,
                           "there is not enough memory for stage '%s' (%llu bytes)", s->name,
                           (unsigned long long)bytes);
    r->used_bytes += bytes;
    image->at = image->owned;
    return true;
}

static void free_stage(Run *r, StageImage *image)
{
    if (!image->owned)
        return;
    uint64_t bytes = tessi_type_info(image->type)->bytes;
    for (uint32_t d = 0; d < image->n_dims; d++)
        bytes *= (uint64_t)image->size[d];
    r->used_bytes -= bytes;
    free(image->owned);
    image->owned = NULL;
    image->at = NULL;
}

/* ---- Stages ---------------------------------------------------------------------------------- */
static bool run_input(Run *r, const Stage *s, StageImage *image)
{
    uint64_t bytes;
    const InterpImage *given = &r->args->inputs[s->image];
    const Image *declared = &r->g->inputs.at[s->image];
    if (!stage_shape(r, s, image, &bytes) || !image_fits(r, declared, given, "image"))
        return false;
    memcpy(image->stride_bytes, given->stride_bytes, sizeof image->stride_bytes);
    image->at = (char *)given->data + declared->channels.at[s->channel].byte_offset;
    return true;
}

/* The sum as written has been computed at the point; from here on it is the one by transforms. */
static bool use_transformed(Run *r, const Region *region)
{
    PointEval *p = &r->point;
    const TransformedSum *sum = &r->sum;
    const int64_t at = p->x[0] * sum->cols + p->x[1];
    const double value = sum->at[at];
    if (sum->spoiled[at])
        return true;
    Value *written = &p->value[sum->window.v];
    if (fabs(value - written->f) > sum->differs)
        return tessi_failf(
            r->failure, TESS_ERROR_INTERNAL,
            "a sum by Fourier transforms at [%lld, %lld] is %.17g, as written %.17g; "
            "they may differ by %.3g",
            (long long)p->x[0], (long long)p->x[1], value, written->f, sum->differs);
    written->f = value;
    uint32_t first = 0;
    while (first < region->n && region->at[first].v <= sum->window.v)
        first++;
    const Region later = { region->at + first, region->n - first };
    return tessi_point_eval(p, &later);
}

static bool run_piece(Run *r, const StageImage *image, const Piece *piece, const Region *region)
{
    int64_t count[MAX_DIMS], offset[MAX_DIMS];
    PointEval *p = &r->point;
    for (uint32_t d = 0; d < image->n_dims; d++) {
        count[d] = r->size_value[piece->count[d].v];
        offset[d] = r->size_value[piece->offset[d].v];
        if (count[d] < 1)
            return true;
    }
    memset(p->x, 0, sizeof p->x);
    do {
        bool inside = true;
        int64_t at = 0;
        for (uint32_t d = 0; d < image->n_dims; d++) {
            int64_t x;
            inside = inside && tessi_mul_i64(piece->step[d], p->x[d], &x)
                     && tessi_add_i64(x, offset[d], &x) && x >= 0 && x < image->size[d];
            at += inside ? x * image->stride_bytes[d] : 0;
        }
        if (!inside)
            continue;
        if (!tessi_point_eval(p, region) || (r->sum.window.v && !use_transformed(r, region)))
            return false;
        tessi_store_element(image->type, image->at + at, p->value[piece->body.v]);
    } while (tessi_next_point(image->n_dims, count, p->x));
    return true;
}

static bool run_stage(Run *r, const Stage *s, StageImage *image, const Region *region)
{
    if (s->kind == STAGE_INPUT)
        return run_input(r, s, image);
    if (!allocate_stage(r, s, image))
        return false;
    switch (s->kind) {
    case STAGE_REDUCE:
        if (s->keys.v)
            return tessi_reduce_by_keys(&r->point, s, &r->image[s->source.v], &r->image[s->keys.v],
                                        image, region);
        tessi_reduce_image(s, &r->image[s->source.v], image);
        return true;
    case STAGE_SCAN: return tessi_scan_image(&r->point, s, &r->image[s->source.v], image, region);
    case STAGE_HISTOGRAM: tessi_histogram_image(&r->image[s->source.v], image); return true;
    default: break;
    }
    const StageId id = tessi_graph_stage_by_name(r->g, s->name);
    const uint32_t rows = r->args->transform ? r->args->transform[id.v] : 0;
    r->sum = (TransformedSum){ .at = NULL };
    bool ok = !rows || tessi_transform_stage(&r->point, r->args->arena, s, rows, &r->sum);
    for (uint32_t k = 0; k < s->pieces.n && ok; k++)
        ok = run_piece(r, image, &s->pieces.at[k], &region[k]);
    free(r->sum.at);
    free(r->sum.spoiled);
    return ok;
}

/* ---- Repeats --------------------------------------------------------------------------------- */

static int64_t turns_of(const Run *r, const RepeatCount *n)
{
    const int64_t x = n->from == COUNT_FROM_SCALAR  ? r->args->scalars[n->ref].i
                      : n->from == COUNT_FROM_PARAM ? r->args->params[n->ref]
                                                    : 0;
    return tessi_repeat_turns(n, x);
}

/* What the first turn finds: copies of images, or zeros where it finds nothing. */
static bool begin_repeat(Run *r, const Repeat *repeat)
{
    VEC_FOREACH (const Carried, c, &repeat->carried) {
        const Stage *s = tessi_stage(r->g, c->entry);
        StageImage *entry = &r->image[c->entry.v];
        const StageImage *first = c->first.v ? &r->image[c->first.v] : NULL;
        int64_t index[MAX_DIMS] = { 0 };
        if (!allocate_stage(r, s, entry))
            return false;
        while (first) {
            int64_t at = 0;
            for (uint32_t d = 0; d < s->n_dims; d++)
                at += index[d] * entry->stride_bytes[d];
            tessi_store_element(s->type, entry->at + at, tessi_stage_image_get(first, index));
            if (!tessi_next_point(s->n_dims, entry->size, index))
                break;
        }
    }
    return true;
}

/* What the turn leaves is what the next one finds; the rest of its images is gone. */
static void end_turn(Run *r, uint32_t number)
{
    const Repeat *repeat = &r->g->repeats.at[number - 1];
    StageImage *left = ARENA_NEW_ARRAY(r->args->arena, StageImage, repeat->carried.n);
    for (uint32_t k = 0; k < repeat->carried.n; k++) {
        left[k] = r->image[repeat->carried.at[k].next.v];
        r->image[repeat->carried.at[k].next.v].owned = NULL;
    }
    GRAPH_FOREACH_STAGE (r->g, id)
        if (tessi_stage(r->g, id)->repeat == number)
            free_stage(r, &r->image[id.v]);
    for (uint32_t k = 0; k < repeat->carried.n; k++)
        r->image[repeat->carried.at[k].entry.v] = left[k];
}

/* So many turns of a repeat were done. */
static void note_end(Run *r, uint32_t number, int64_t turns)
{
    const Graph *g = r->g;
    const Repeat *repeat = &g->repeats.at[number - 1];
    uint32_t loop = 0;
    for (uint32_t k = 0; k < number; k++)
        loop += g->repeats.at[k].until.v != 0;
    if (!r->args->ends || (!repeat->until.v && !repeat->unless_met))
        return;
    LoopEnd *end = &r->args->ends[loop - 1];
    const int64_t by = repeat->count.rest ? 1 : repeat->count.by;
    *end = (LoopEnd){ (repeat->unless_met ? end->turns : 0) + turns * by, r->met };
}

/* The body that begins at stage `first`, turn after turn. */
static bool run_repeat(Run *r, StageId first, const Region *region)
{
    const Graph *g = r->g;
    const uint32_t number = tessi_stage(g, first)->repeat;
    const Repeat *repeat = &g->repeats.at[number - 1];
    if (!begin_repeat(r, repeat))
        return false;
    const int64_t most = repeat->unless_met && r->met ? 0 : turns_of(r, &repeat->count);
    int64_t turn = 0;
    r->met = r->met && repeat->unless_met;
    while (turn < most && !r->met) {
        const bool tested = ++turn % (repeat->until.v ? repeat->every : 1) == 0;
        const Region *at = region;
        for (StageId id = first; id.v < g->stages.n && tessi_stage(g, id)->repeat == number;
             id.v++) {
            const Stage *s = tessi_stage(g, id);
            if (s->kind != STAGE_CARRIED && r->last_use[id.v] && (tested || !r->test[id.v])
                && !run_stage(r, s, &r->image[id.v], at))
                return false;
            at += s->pieces.n;
        }
        r->met = repeat->until.v && tested && *r->image[repeat->until.v].at;
        end_turn(r, number);
    }
    note_end(r, number, turn);
    VEC_FOREACH (const Carried, c, &repeat->carried) {
        StageImage *entry = &r->image[c->entry.v];
        if (!c->last.v || !r->last_use[c->last.v]) {
            free_stage(r, entry);
            continue;
        }
        r->image[c->last.v] = *entry;
        entry->owned = NULL;
    }
    return true;
}

static bool run_stages(Run *r)
{
    const Region *region = r->region;
    uint32_t open = 0;
    GRAPH_FOREACH_STAGE (r->g, id) {
        const Stage *s = tessi_stage(r->g, id);
        const bool begins = s->repeat && s->repeat != open;
        const bool is_needed = r->last_use[id.v] != 0 && !s->repeat && s->kind != STAGE_CARRIED;
        open = s->repeat;
        if (begins && !run_repeat(r, id, region))
            return false;
        if (is_needed && !run_stage(r, s, &r->image[id.v], region))
            return false;
        region += s->pieces.n;
        for (uint32_t k = 1; k < id.v; k++)
            if (r->last_use[k] == id.v)
                free_stage(r, &r->image[k]);
    }
    return true;
}

static bool write_outputs(Run *r)
{
    for (uint32_t k = 0; k < r->g->outputs.n; k++)
        if (!image_fits(r, &r->g->outputs.at[k], &r->args->outputs[k], "result"))
            return false;
    for (uint32_t k = 0; k < r->g->outputs.n; k++) {
        const InterpImage *out = &r->args->outputs[k];
        VEC_FOREACH (const Channel, channel, &r->g->outputs.at[k].channels) {
            const StageImage *image = &r->image[channel->stage.v];
            int64_t index[MAX_DIMS] = { 0 };
            do {
                char *at = (char *)out->data + channel->byte_offset;
                for (uint32_t d = 0; d < image->n_dims; d++)
                    at += index[d] * out->stride_bytes[d];
                tessi_store_element(channel->type, at, tessi_stage_image_get(image, index));
            } while (tessi_next_point(image->n_dims, image->size, index));
        }
    }
    return true;
}

bool tessi_interpret_graph(const Graph *g, const InterpArgs *args, Failure *f)
{
    Run run = { .g = g, .args = args, .failure = f };
    prepare(&run);
    bool ok = run_stages(&run) && write_outputs(&run);
    GRAPH_FOREACH_STAGE (g, id)
        free_stage(&run, &run.image[id.v]);
    return ok;
}
