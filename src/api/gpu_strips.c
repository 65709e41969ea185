/* Runs in strips of rows, for images that do not fit the device: the program is run on a band of rows at a time,
 * with as many rows more on both sides as the wanted rows depend on. Where such a band ends inside the image its
 * border rules answer wrongly, but only in rows that nobody wants. So no kernel knows of strips, and the pixels are
 * the same. A sum by Fourier transforms depends, in its last bits, on all rows of the pair of blocks that is
 * transformed together: bands begin where a pair does, and have all that pairs with wanted rows read.
 *
 * It needs programs whose rows depend on near rows only: every stage has as many rows as the images, give or take a
 * constant; no read wraps around, scales rows, or finds its row by computing; no expression asks for the row or for
 * the height. */
#include "api/gpu.h"

#include <stdlib.h>
#include <string.h>

#include "graph/graph_transform.h"

enum { ALIGNED_ROWS = 16, MOST_STEP = 1 << 24 };

/* What the rows of a program depend on. */
typedef struct Rows {
    const Graph *g;
    uint32_t param;  /* the size parameter that counts rows */
    bool *has_rows;  /* by StageId: its first dimension counts them */
    int64_t *excess; /* by StageId: its rows less the parameter */
    int64_t *reach;  /* by StageId: how far from an output's row its rows are still needed */
    /* by StageId: rows of it that are transformed together; 0: it takes no transforms */
    int64_t *pair;
    int64_t step; /* bands begin at multiples of so many rows */
    Failure why;  /* why the program cannot be run in strips */
} Rows;

/* False, with what keeps the program from being run in strips: what stands in the way of stage `id` ("%s" is its
 * name). */
static bool no_strips(Rows *r, StageId id, const char *fmt)
{
    return tessi_failf(&r->why, TESS_ERROR_MEMORY, fmt, tessi_stage(r->g, id)->name);
}

/* ---- Whether a size is rows + constant, or has nothing to do with rows ----------------------- */
static bool depends(const Graph *g, SizeId id, uint32_t param)
{
    const Size *s = tessi_size(g, id);
    switch (s->kind) {
    case SIZE_OF_PARAM: return s->param == param;
    case SIZE_OF_FLOORDIV: return depends(g, s->a, param);
    case SIZE_OF_MIN:
    case SIZE_OF_MAX:
    case SIZE_OF_PRODUCT: return depends(g, s->a, param) || depends(g, s->b, param);
    case SIZE_OF_AFFINE: break;
    }
    for (uint32_t i = 0; i < s->n_terms; i++)
        if (depends(g, s->atom[i], param))
            return true;
    return false;
}

/* The size is parameter *param plus *constant. */
static bool is_shifted_param(const Graph *g, SizeId id, uint32_t *param, int64_t *constant)
{
    const Size *s = tessi_size(g, id);
    *constant = 0;
    if (s->kind == SIZE_OF_AFFINE) {
        if (s->n_terms != 1 || s->coef[0] != 1)
            return false;
        *constant = s->constant;
        s = tessi_size(g, s->atom[0]);
    }
    *param = s->param;
    return s->kind == SIZE_OF_PARAM;
}

/* Sizes of a stage or image: only the first may count rows, and then as rows + constant. */
static bool sort_sizes(const Rows *r, const SizeId *size, uint8_t n_dims, bool *has_rows,
                       int64_t *excess)
{
    uint32_t param;
    *has_rows = n_dims > 0 && is_shifted_param(r->g, size[0], &param, excess) && param == r->param;
    for (int d = *has_rows; d < n_dims; d++)
        if (depends(r->g, size[d], r->param))
            return false;
    return true;
}

/* ---- The program ----------------------------------------------------------------------------- */
static bool sort_stage(Rows *r, StageId id)
{
    const Stage *s = tessi_stage(r->g, id);
    if (s->kind == STAGE_CARRIED)
        return no_strips(r, id, "'%s' goes from turn to turn of a loop, each over the whole image");
    if (!sort_sizes(r, s->size, s->n_dims, &r->has_rows[id.v], &r->excess[id.v]))
        return no_strips(r, id, "'%s' has not one row for each row of the result");
    if (!r->has_rows[id.v])
        return true;
    VEC_FOREACH (const Piece, piece, &s->pieces) {
        int64_t offset;
        if (piece->step[0] != 1 || !tessi_size_is_const(r->g, piece->offset[0], &offset) || offset
            || piece->count[0].v != s->size[0].v)
            return no_strips(r, id, "'%s' is composed of parts of other rows");
    }
    return true;
}

/* What an expression says of rows other than near ones; NULL: nothing. */
static const char *far_rows(const Rows *r, const Expr *e)
{
    if (e->kind == EXPR_INDEX && e->ref == 0)
        return "'%s' asks for the row it is at";
    if (e->kind == EXPR_SIZE && depends(r->g, e->size, r->param))
        return "'%s' asks for the number of rows";
    const Access *a = e->kind == EXPR_LOAD ? tessi_access(r->g, e->access) : NULL;
    if (a && a->n_dims > 0 && r->has_rows[a->producer.v] && a->dim[0].rule == BORDER_WRAP)
        return "'%s' reads rows that wrap around";
    return NULL;
}

static bool check_bodies(Rows *r, Arena *arena)
{
    ExprWalk walk = { .arena = arena };
    GRAPH_FOREACH_STAGE (r->g, id) {
        const Stage *s = tessi_stage(r->g, id);
        if (tessi_stage_is_whole(s) && r->has_rows[s->source.v])
            return no_strips(r, id, "'%s' is of all rows");
        VEC_FOREACH (const Piece, piece, &s->pieces) {
            const ExprList *list = tessi_expr_walk(&walk, r->g, &piece->body, 1);
            VEC_FOREACH (const ExprId, at, list) {
                const char *why = far_rows(r, tessi_expr(r->g, *at));
                if (why)
                    return no_strips(r, id, why);
            }
        }
    }
    return true;
}

/* One consumer's reads of one producer: near rows of it, or nothing that counts rows. */
static bool follow(Rows *r, const Footprint *f)
{
    const uint32_t user = f->consumer.v, from = f->producer.v;
    for (int d = 0; d < f->n_dims; d++) {
        const AccessRange *dim = &f->dim[d];
        const bool rows = d == 0 && r->has_rows[from];
        int64_t base = 0;
        if (!rows) {
            if (r->has_rows[user] && !dim->dynamic && dim->src == 0)
                return no_strips(r, f->consumer, "'%s' reads at columns that depend on the row");
            continue;
        }
        if (dim->dynamic)
            return no_strips(r, f->consumer, "'%s' computes the rows that it reads");
        if (dim->src == 0 && dim->scale != 1)
            return no_strips(r, f->consumer, "'%s' reads every second row, or fewer");
        if (!r->has_rows[user] || dim->src != 0
            || (dim->base.v && !tessi_size_is_const(r->g, dim->base, &base)))
            return no_strips(r, f->consumer, "'%s' reads rows by their number");
        const int64_t lo = dim->lo + base, hi = dim->hi + base;
        int64_t away = lo < 0 && -lo > hi ? -lo : hi > 0 ? hi : 0;
        const int64_t differ = r->excess[from] - r->excess[user];
        away += 2
                * (differ < 0
                       ? -differ
                       : differ); /* rules reflect at the producer's edge, not at the consumer's */
        away += r->pair[user];
        if (r->reach[user] + away > r->reach[from])
            r->reach[from] = r->reach[user] + away;
    }
    return true;
}

static bool find_pairs(const Plan *plan, Arena *arena, Rows *r)
{
    ExprWalk walk = { .arena = arena };
    r->step = ALIGNED_ROWS;
    VEC_FOREACH (const PlanGroup, group, &plan->groups) {
        const StageId id = group->members.at[0];
        WideSum sum;
        bool must;
        if (!group->transform || !r->has_rows[id.v])
            continue;
        if (!tessi_stage_wide_sum(r->g, &walk, tessi_stage(r->g, id), &sum, &must))
            return no_strips(r, id, "'%s' is summed in another way than was planned");
        const int64_t pair = r->pair[id.v] = 2 * ((int64_t)group->transform - sum.rows + 1);
        int64_t a = r->step, b = pair;
        while (b) { /* their greatest common divisor */
            const int64_t rest = a % b;
            a = b;
            b = rest;
        }
        r->step *= pair / a;
        if (r->step > MOST_STEP)
            return no_strips(r, id, "'%s' is transformed in blocks that fit no strip");
    }
    return true;
}

/* Fills `r`; false with r->why when the program cannot be run in strips. */
static bool understand(const Variant *v, const Plan *plan, Arena *arena, Rows *r)
{
    const Graph *g = r->g = v->graph;
    int64_t excess;
    r->has_rows = ARENA_NEW_ARRAY(arena, bool, g->stages.n);
    r->excess = ARENA_NEW_ARRAY(arena, int64_t, g->stages.n);
    r->reach = ARENA_NEW_ARRAY(arena, int64_t, g->stages.n);
    r->pair = ARENA_NEW_ARRAY(arena, int64_t, g->stages.n);
    if (!g->outputs.at[0].n_dims
        || !is_shifted_param(g, g->outputs.at[0].size[0], &r->param, &excess))
        return tessi_failf(&r->why, TESS_ERROR_MEMORY,
                           "the result '%s' has not one row for each row of an image",
                           g->outputs.at[0].name);
    GRAPH_FOREACH_STAGE (g, id)
        if (!sort_stage(r, id))
            return false;
    VEC_FOREACH (const Image, image, &g->outputs) {
        bool has_rows;
        if (!sort_sizes(r, image->size, image->n_dims, &has_rows, &excess) || !has_rows)
            return tessi_failf(&r->why, TESS_ERROR_MEMORY,
                               "the result '%s' has not as many rows as the first", image->name);
    }
    if (!check_bodies(r, arena) || !find_pairs(plan, arena, r))
        return false;
    /* Footprints are ordered by consumer, and consumers come after what they read: backwards, every reach is known
     * before it is used. */
    for (uint32_t i = v->analysis->footprints.n; i-- > 0;)
        if (!follow(r, &v->analysis->footprints.at[i]))
            return false;
    return true;
}

/* ---- Running --------------------------------------------------------------------------------- */
typedef struct Strips {
    const Rows *rows;
    const GpuCall *call;
    uint32_t n_images;
    int64_t n_rows; /* value of the parameter */
    int64_t above,
        beyond; /* rows needed before the first and, of the parameter, after the last wanted one */
    int64_t height; /* wanted rows of a strip */
    GpuSlot *slot[2];
    DeviceStream stream[2];
} Strips;

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The largest number of rows of an output. */
static int64_t output_rows(const Strips *s)
{
    int64_t most = 0;
    for (uint32_t o = 0; o < s->rows->g->outputs.n; o++) {
        const int64_t n = s->call->images[s->rows->g->inputs.n + o].size[0];
        most = n > most ? n : most;
    }
    return most;
}

static void shift(GpuImage *im, int64_t first, int64_t n)
{
    im->offset = (size_t)((int64_t)im->offset + first * im->stride_bytes[0]);
    im->size[0] = n;
}

/* The strip that computes rows [begin, begin + height) of every output. */
static bool prepare_strip(const Strips *s, GpuSlot *slot, int64_t begin, GpuImage *images,
                          GpuPart *parts, int64_t *params, Failure *f)
{
    const Graph *g = s->rows->g;
    /* A multiple, so that also the rows of 1-D images, which are pixels, stay as well aligned as the image is. */
    const int64_t step = s->rows->step;
    const int64_t first = begin > s->above ? (begin - s->above) / step * step : 0;
    const int64_t n = least(s->n_rows - first, begin + s->height + s->beyond - first);
    params[s->rows->param] = n;
    for (uint32_t i = 0; i < s->n_images; i++) {
        const bool is_input = i < g->inputs.n;
        const Image *image = is_input ? &g->inputs.at[i] : &g->outputs.at[i - g->inputs.n];
        bool has_rows;
        int64_t excess;
        images[i] = s->call->images[i];
        parts[i] = (GpuPart){ 0 };
        if (!sort_sizes(s->rows, image->size, image->n_dims, &has_rows, &excess) || !has_rows)
            continue;
        if (is_input) {
            shift(&images[i], first, n + excess);
            continue;
        }
        const int64_t left = images[i].size[0] - begin;
        parts[i] = (GpuPart){ .is_part = true,
                              .rows = n + excess,
                              .skip = begin - first,
                              .wanted = least(s->height, left > 0 ? left : 0) };
        shift(&images[i], begin, parts[i].wanted);
    }
    GpuCall strip = {
        .params = params, .scalars = s->call->scalars, .images = images, .parts = parts
    };
    return tessi_gpu_prepare(slot, &strip, f);
}

static bool run_strip(const Strips *s, int k, int64_t begin, GpuImage *images, GpuPart *parts,
                      int64_t *params, Failure *f)
{
    return prepare_strip(s, s->slot[k], begin, images, parts, params, f)
           && tessi_gpu_upload(s->slot[k], s->stream[k], f)
           && tessi_gpu_launch(s->slot[k], s->stream[k], f);
}

/* One strip comes back while the next one is being computed. */
static bool run_strips(const Strips *s, uint32_t n_params, Arena *arena, int *n_strips, Failure *f)
{
    Device *d = tessi_gpu_slot_device(s->slot[0]);
    GpuImage *images = ARENA_NEW_ARRAY(arena, GpuImage, s->n_images);
    GpuPart *parts = ARENA_NEW_ARRAY(arena, GpuPart, s->n_images);
    int64_t *params = ARENA_NEW_ARRAY(arena, int64_t, n_params);
    memcpy(params, s->call->params, n_params * sizeof *params);
    const int64_t end = output_rows(s);
    int k = 0;
    *n_strips = 0;
    for (int64_t begin = 0; begin < end; begin += s->height, k ^= 1, ++*n_strips) {
        if (!run_strip(s, k, begin, images, parts, params, f)
            || !tessi_device_flush(d, s->stream[k], f)
            || (begin > 0 && !tessi_gpu_download(s->slot[k ^ 1], s->stream[k ^ 1], f))
            || (begin > 0 && !tessi_device_flush(d, s->stream[k ^ 1], f)))
            return false;
    }
    return tessi_gpu_download(s->slot[k ^ 1], s->stream[k ^ 1], f);
}

/* Finishes both streams, whatever has happened. */
static bool finish(const Strips *s, bool ok, Failure *f)
{
    Device *d = tessi_gpu_slot_device(s->slot[0]);
    for (int k = 0; k < 2; k++)
        ok = tessi_device_synchronise(d, s->stream[k], ok ? f : NULL) && ok;
    return ok;
}

static bool open_streams(Strips *s, Device *d, DeviceStream after, Failure *f)
{
    DeviceEvent event = NULL;
    bool ok = tessi_device_record(d, after, &event, f);
    for (int k = 0; k < 2 && ok; k++)
        ok = tessi_device_stream_new(d, &s->stream[k], f)
             && tessi_device_await(d, s->stream[k], event, f);
    tessi_device_event_free(d, event);
    return ok;
}

/* Smaller and smaller strips until two of them fit the device. */
static bool try_heights(Strips *s, const GpuCode *code, Arena *arena, int *n_strips, Failure *f)
{
    for (s->height = (output_rows(s) + 1) / 2;; s->height = (s->height + 1) / 2) {
        bool ok = false;
        for (int k = 0; k < 2; k++)
            s->slot[k] = tessi_gpu_slot_new(code);
        if (s->slot[0] && s->slot[1])
            ok = finish(s, run_strips(s, code->loops->params.n, arena, n_strips, f), f);
        else
            tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
        for (int k = 0; k < 2; k++)
            tessi_gpu_slot_free(s->slot[k]);
        /* With strips lower than what they depend on, most of the work would be done again and again. */
        if (ok || f->status != TESS_ERROR_MEMORY || s->height == 1
            || s->height <= s->above + s->rows->step - ALIGNED_ROWS)
            return ok;
    }
}

/* Behind the sentence of what does not fit: why parts of it will not do. */
static bool add_reason(Failure *f, const Failure *why)
{
    const Failure first = *f;
    return tessi_failf(f, first.status,
                       "%.250s; strips of rows, which may fit, cannot be had: %.200s", first.text,
                       why->text);
}

bool tessi_gpu_run_strips(const Variant *v, const GpuCode *code, const GpuCall *call,
                          DeviceStream stream, Arena *arena, int *n_strips, Failure *f)
{
    Rows rows = { 0 };
    if (!understand(v, code->form & GPU_SMALL ? v->small_plan : v->plan, arena, &rows))
        return add_reason(f, &rows.why);
    const Graph *g = v->graph;
    Strips s = { .rows = &rows,
                 .call = call,
                 .n_images = g->inputs.n + g->outputs.n,
                 .n_rows = call->params[rows.param] };
    GRAPH_FOREACH_STAGE (g, id) {
        if (!rows.has_rows[id.v])
            continue;
        const int64_t beyond = rows.reach[id.v] - rows.excess[id.v];
        s.above = rows.reach[id.v] > s.above ? rows.reach[id.v] : s.above;
        s.beyond = beyond > s.beyond ? beyond : s.beyond;
    }
    if (s.n_rows < 4 * (s.above + s.beyond + 1)) {
        tessi_failf(&rows.why, TESS_ERROR_MEMORY,
                    "a row of the results depends on %lld rows of the %lld",
                    (long long)(s.above + s.beyond + 1), (long long)s.n_rows);
        return add_reason(f, &rows.why);
    }
    Device *d = code->context->device;
    Failure own = { 0 };
    bool ok = open_streams(&s, d, stream, &own) && try_heights(&s, code, arena, n_strips, &own);
    for (int k = 0; k < 2; k++)
        tessi_device_stream_free(d, s.stream[k]);
    if (!ok)
        *f = own;
    return ok;
}
