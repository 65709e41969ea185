/* Runs in strips of rows, for images that do not fit the device, and for large ones of the host, which cross the bus in
 * both directions at once so. The kernels of the program are run on a band of rows at a time, with as many rows more on
 * both sides as the wanted rows depend on. Where such a band ends inside the image its border rules answer wrongly, but
 * only in rows that nobody wants. So no kernel knows of strips, and the pixels are the same. What rows depend on is
 * known to analysis/part; here programs are wanted of which a part is no other program: nothing asks where it is, how
 * large the whole is, or for a number of it. A sum by Fourier transforms depends, in its last bits, on all rows of the
 * pair of blocks that is transformed together: bands begin where a pair does, and have all that pairs with wanted rows
 * read. */
#include "api/gpu.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/part.h"
#include "graph/graph_transform.h"
#include "rt/thread.h"

enum { ALIGNED_ROWS = 16, MOST_STEP = 1 << 24, MOST_SLOTS = 3 };

typedef struct Strips {
    const Graph *g; /* that is run */
    PartPass part;
    PartPass
        around; /* the same, for the rows of a band: they begin at aligned ones, where pairs of blocks do */
    const GpuCall *call;
    uint32_t n_images, param; /* param: that counts rows */
    int64_t n_rows, height;   /* of the images, and of the wanted rows of a strip */
    int n_slots;              /* strips on their way */
    GpuSlot *slot[MOST_SLOTS];
    DeviceStream stream[MOST_SLOTS];
} Strips;

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- The program ----------------------------------------------------------------------------- */
/* "%s" is a name. */
static bool no_strips(Failure *why, const char *fmt, const char *name)
{
    return tessi_failf(why, TESS_ERROR_MEMORY, fmt, name);
}

/* Bands begin at multiples of so many rows. */
static bool align_to(Strips *s, int64_t rows)
{
    int64_t *align = &s->around.align[0], a = *align, b = rows;
    while (b) { /* their greatest common divisor */
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    *align *= rows / a;
    return *align <= MOST_STEP;
}

/* Rows that are transformed together matter to each other. */
static bool add_pairs(Strips *s, const Plan *plan, Arena *arena, Failure *why)
{
    ExprWalk walk = { .arena = arena };
    VEC_FOREACH (const PlanGroup, group, &plan->groups) {
        const Stage *of = tessi_stage(s->g, group->members.at[0]);
        WideSum sum;
        bool must;
        if (!group->transform)
            continue;
        if (!tessi_stage_wide_sum(s->g, &walk, of, &sum, &must))
            return no_strips(why, "'%s' is summed in another way than was planned", of->name);
        const int64_t pair = 2 * ((int64_t)group->transform - sum.rows + 1);
        s->around.margin[0] = tessi_ratio_plus(s->around.margin[0], (Ratio){ pair, 1 });
        if (s->part.align[0] != 1)
            return no_strips(why, "'%s' is transformed in a program that samples rows", of->name);
        if (!align_to(s, pair))
            return no_strips(why, "'%s' is transformed in blocks that fit no strip", of->name);
    }
    return true;
}

/* False with what keeps the program from being run in strips, as one of its graphs has it. */
static bool understand_as(Strips *s, const Graph *g, const Plan *plan, Arena *arena, Failure *why)
{
    PartPass *part = &s->part;
    VEC_FOREACH (const Repeat, repeat, &g->repeats)
        return no_strips(why, "'%s' goes from turn to turn of a loop, each over the whole image",
                         repeat->name);
    GRAPH_FOREACH_STAGE (g, id)
        if (tessi_stage_is_number(tessi_stage(g, id)))
            return no_strips(why, "'%s' is of all rows", tessi_stage(g, id)->name);
    tessi_part_pass(g, arena, s->call->params, g->outputs.at, NULL, g->outputs.n, 0, part);
    if (!part->n_dims || !part->cut[0])
        return no_strips(why, "%s", part->n_dims ? part->why[0] : "it reads no images");
    VEC_FOREACH (const Image, image, &g->outputs)
        if (!tessi_part_cuts(part, image->channels.at[0].stage, 0))
            return no_strips(why, "the result '%s' has not rows as the images have", image->name);
    if (part->periodic[0])
        return no_strips(why, "%s", "it reads rows that wrap around");
    if (part->given.n)
        return no_strips(why, "%s", "a point depends on where it is, or on the number of rows");
    s->param = (uint32_t)part->param[0];
    s->n_rows = s->call->params[s->param];
    s->around = *part;
    return align_to(s, ALIGNED_ROWS) && add_pairs(s, plan, arena, why);
}

/* In the graph that is planned, sums over the channels have the images' points. */
static bool understand(Strips *s, const Variant *v, const Plan *plan, Arena *arena, Failure *why)
{
    Failure written = { 0 }, planned = { 0 };
    if (understand_as(s, v->written_out, plan, arena, &written)
        || understand_as(s, v->graph, plan, arena, &planned))
        return true;
    *why = written;
    return false;
}

/* ---- Running --------------------------------------------------------------------------------- */
/* The input of that name is cut. */
static bool is_cut(const Strips *s, const char *name)
{
    const Graph *whole = s->part.whole;
    for (uint32_t i = 0; i < whole->inputs.n; i++)
        if (tessi_streq(whole->inputs.at[i].name, name))
            return s->part.reads[i] && s->part.parted[i];
    return false;
}

/* The rows of result o that the rows begin..end of the images decide, in a band from row `from` on, as far as the
 * caller wants them. */
static bool place_result(const Strips *s, uint32_t o, int64_t from, int64_t begin, int64_t end,
                         const int64_t *params, GpuImage *image, GpuPart *part)
{
    const StageId stage = s->part.whole->outputs.at[o].channels.at[0].stage;
    const GpuPart *given = s->call->parts ? &s->call->parts[s->g->inputs.n + o] : NULL;
    const bool is_window = given && given->is_part;
    const int64_t skip = is_window ? given->skip : 0, stop = skip + image->size[0];
    int64_t first = tessi_part_point(&s->part, stage, 0, begin), rows;
    int64_t last = end == s->n_rows ? stop : tessi_part_point(&s->part, stage, 0, end);
    first = first < skip ? skip : first;
    last = least(last, stop);
    if (!tessi_size_eval(s->g, s->g->outputs.at[o].size[0], params, &rows))
        return false;
    *part = (GpuPart){ .is_part = true,
                       .rows = rows,
                       .skip = first - tessi_part_point(&s->part, stage, 0, from),
                       .wanted = last > first ? last - first : 0 };
    image->offset = (size_t)((int64_t)image->offset + (first - skip) * image->stride_bytes[0]);
    image->size[0] = part->wanted;
    return true;
}

static bool prepare_strip(const Strips *s, GpuSlot *slot, int64_t begin, GpuImage *images,
                          GpuPart *parts, int64_t *params, Failure *f)
{
    const Graph *g = s->g;
    const int64_t end = least(begin + s->height, s->n_rows);
    int64_t from, to;
    tessi_part_range(&s->around, 0, begin, end, &from, &to);
    params[s->param] = to - from;
    memcpy(images, s->call->images, s->n_images * sizeof *images);
    memset(parts, 0, s->n_images * sizeof *parts);
    for (uint32_t i = 0; i < g->inputs.n; i++) {
        GpuImage *im = &images[i];
        if (!is_cut(s, g->inputs.at[i].name))
            continue;
        im->offset = (size_t)((int64_t)im->offset + from * im->stride_bytes[0]);
        im->size[0] = to - from;
    }
    for (uint32_t o = 0; o < g->outputs.n; o++)
        if (!place_result(s, o, from, begin, end, params, &images[g->inputs.n + o],
                          &parts[g->inputs.n + o]))
            return tessi_failf(f, TESS_ERROR_ARGUMENT, "the size of '%s' is too large",
                               g->outputs.at[o].name);
    GpuCall strip = {
        .params = params, .scalars = s->call->scalars, .images = images, .parts = parts
    };
    return tessi_gpu_prepare(slot, &strip, f);
}

/* Strips on their way: this thread sends them and starts their kernels, another one fetches what they come to, since a
 * copy from or to ordinary memory of the host keeps the thread that asked for it. */
typedef struct Pipe {
    const Strips *s;
    GpuImage *images; /* of the strip that is made ready */
    GpuPart *parts;
    int64_t *params;
    mtx_t lock; /* guards what follows */
    cnd_t changed;
    int64_t sent, fetched; /* so many strips */
    bool ended;            /* no more are sent */
    Failure failure;       /* of fetching */
} Pipe;

static bool fetch(Pipe *p, int64_t number)
{
    const int k = (int)(number % p->s->n_slots);
    Failure f = { 0 };
    const bool ok =
        tessi_gpu_download(p->s->slot[k], p->s->stream[k], &f)
        && tessi_device_synchronise(tessi_gpu_slot_device(p->s->slot[k]), p->s->stream[k], &f);
    mtx_lock(&p->lock);
    p->fetched++;
    if (!ok)
        p->failure = f;
    cnd_signal(&p->changed);
    mtx_unlock(&p->lock);
    return ok;
}

static int fetch_all(void *user)
{
    Pipe *p = user;
    bool more = true;
    for (int64_t number = 0; more; number++) {
        mtx_lock(&p->lock);
        while (number >= p->sent && !p->ended)
            cnd_wait(&p->changed, &p->lock);
        more = number < p->sent;
        mtx_unlock(&p->lock);
        more = more && fetch(p, number);
    }
    return 0;
}

/* The slot of the strip is free; false: fetching has failed. */
static bool wait_for_slot(Pipe *p, int64_t number)
{
    mtx_lock(&p->lock);
    while (number >= p->fetched + p->s->n_slots && !p->failure.status)
        cnd_wait(&p->changed, &p->lock);
    const bool ok = !p->failure.status;
    mtx_unlock(&p->lock);
    return ok;
}

static void say_sent(Pipe *p, bool ended)
{
    mtx_lock(&p->lock);
    p->sent += !ended;
    p->ended = ended;
    cnd_signal(&p->changed);
    mtx_unlock(&p->lock);
}

static bool send(const Pipe *p, int k, int64_t begin, Failure *f)
{
    GpuSlot *slot = p->s->slot[k];
    const DeviceStream stream = p->s->stream[k];
    return prepare_strip(p->s, slot, begin, p->images, p->parts, p->params, f)
           && tessi_gpu_upload(slot, stream, f) && tessi_gpu_launch(slot, stream, f)
           && tessi_device_flush(tessi_gpu_slot_device(slot), stream, f);
}

static bool send_all(Pipe *p, bool alone, Failure *f)
{
    for (int64_t begin = 0, number = 0; begin < p->s->n_rows; begin += p->s->height, number++) {
        if (!wait_for_slot(p, number))
            return true; /* the other thread knows why */
        if (!send(p, (int)(number % p->s->n_slots), begin, f))
            return false;
        say_sent(p, false);
        if (alone)
            fetch(p, number);
    }
    return true;
}

static bool run_strips(const Strips *s, uint32_t n_params, Arena *arena, int *n_strips, Failure *f)
{
    Pipe p = { .s = s,
               .images = ARENA_NEW_ARRAY(arena, GpuImage, s->n_images),
               .parts = ARENA_NEW_ARRAY(arena, GpuPart, s->n_images),
               .params = ARENA_NEW_ARRAY(arena, int64_t, n_params) };
    RtThread thread = { 0 };
    memcpy(p.params, s->call->params, n_params * sizeof *p.params);
    if (mtx_init(&p.lock, mtx_plain) != thrd_success)
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    if (cnd_init(&p.changed) != thrd_success) {
        mtx_destroy(&p.lock);
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    }
    const bool alone = !tessi_thread_start(&thread, fetch_all, &p);
    bool ok = send_all(&p, alone, f);
    say_sent(&p, true);
    tessi_thread_join(&thread);
    if (ok && p.failure.status) {
        *f = p.failure;
        ok = false;
    }
    *n_strips = (int)p.sent;
    cnd_destroy(&p.changed);
    mtx_destroy(&p.lock);
    return ok;
}

/* Finishes all streams, whatever has happened. */
static bool finish(const Strips *s, bool ok, Failure *f)
{
    Device *d = tessi_gpu_slot_device(s->slot[0]);
    for (int k = 0; k < s->n_slots; k++)
        ok = tessi_device_synchronise(d, s->stream[k], ok ? f : NULL) && ok;
    return ok;
}

static bool open_streams(Strips *s, Device *d, DeviceStream after, Failure *f)
{
    DeviceEvent event = NULL;
    bool ok = tessi_device_record(d, after, &event, f);
    for (int k = 0; k < s->n_slots && ok; k++)
        ok = tessi_device_stream_new(d, &s->stream[k], f)
             && tessi_device_await(d, s->stream[k], event, f);
    tessi_device_event_free(d, event);
    return ok;
}

/* Smaller and smaller strips, of these many rows at first, until as many as are on their way fit the device. */
static bool try_heights(Strips *s, int64_t height, const GpuCode *code, Arena *arena, int *n_strips,
                        Failure *f)
{
    const int64_t align = s->part.align[0], margin = tessi_ratio_ceil(s->around.margin[0]);
    for (;; height = (s->height + 1) / 2) {
        const int64_t before = s->height;
        s->height = (height + align - 1) / align * align;
        bool ok = true;
        for (int k = 0; k < s->n_slots; k++)
            ok = (s->slot[k] = tessi_gpu_slot_new(code)) != NULL && ok;
        if (ok)
            ok = finish(s, run_strips(s, code->loops->params.n, arena, n_strips, f), f);
        else
            tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
        for (int k = 0; k < s->n_slots; k++)
            tessi_gpu_slot_free(s->slot[k]);
        /* With strips lower than what they depend on, most of the work would be done again and again. */
        if (ok || f->status != TESS_ERROR_MEMORY || s->height == before || s->height <= margin)
            return ok;
    }
}

static bool run_on_streams(Strips *s, int64_t height, const GpuCode *code, DeviceStream stream,
                           Arena *arena, int *n_strips, Failure *f)
{
    Device *d = code->context->device;
    const bool ok =
        open_streams(s, d, stream, f) && try_heights(s, height, code, arena, n_strips, f);
    for (int k = 0; k < s->n_slots; k++)
        tessi_device_stream_free(d, s->stream[k]);
    return ok;
}

static bool make(Strips *s, int n_slots, const Variant *v, const GpuCode *code, const GpuCall *call,
                 Arena *arena, Failure *why)
{
    const PlannedSize planned = tessi_planned(v, tessi_gpu_size(code->form));
    *s = (Strips){ .g = planned.graph,
                   .call = call,
                   .n_slots = n_slots,
                   .n_images = v->graph->inputs.n + v->graph->outputs.n };
    return understand(s, v, planned.plan, arena, why);
}

/* ---- Images that do not fit ------------------------------------------------------------------ */
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
    Strips s;
    Failure own = { 0 }, why = { 0 };
    if (!make(&s, 2, v, code, call, arena, &why))
        return add_reason(f, &why);
    const int64_t depends = 2 * tessi_ratio_ceil(s.around.margin[0]) + 1;
    if (s.n_rows < 2 * depends) {
        tessi_failf(&why, TESS_ERROR_MEMORY,
                    "a row of the results depends on %lld rows of the %lld", (long long)depends,
                    (long long)s.n_rows);
        return add_reason(f, &why);
    }
    const bool ok = run_on_streams(&s, (s.n_rows + 1) / 2, code, stream, arena, n_strips, &own);
    if (!ok)
        *f = own;
    return ok;
}

/* ---- Images of the host ---------------------------------------------------------------------- */
/* Bytes that cross the bus; 0: some image lies on the device. */
static double bytes_of_host(const GpuCall *call, uint32_t n_images)
{
    double all = 0;
    for (uint32_t i = 0; i < n_images; i++) {
        const GpuImage *im = &call->images[i];
        double bytes = (double)im->pixel_bytes;
        for (int d = 0; d < im->n_dims; d++)
            bytes *= (double)im->size[d];
        if (im->on_device)
            return 0;
        all += bytes;
    }
    return all;
}

bool tessi_gpu_run_piped(const Variant *v, const GpuCode *code, const GpuCall *call,
                         DeviceStream stream, Arena *arena, int *n_strips, Failure *f)
{
    /* One strip is sent while another is computed and a third one comes back. A strip takes long beside what it takes
     * to begin one, and what is sent twice is a small part of it. */
    enum { STRIP_BYTES = 256 << 20, LEAST_STRIPS = 4, AROUND = 16 };
    Strips s;
    Failure why = { 0 };
    *n_strips = 0;
    const double strips =
        bytes_of_host(call, v->graph->inputs.n + v->graph->outputs.n) / STRIP_BYTES;
    if (strips < LEAST_STRIPS || !make(&s, MOST_SLOTS, v, code, call, arena, &why))
        return true;
    const int64_t least = AROUND * 2 * tessi_ratio_ceil(s.around.margin[0]);
    const int64_t height = (int64_t)((double)s.n_rows / strips) + 1;
    if (s.n_rows < LEAST_STRIPS * least)
        return true;
    if (run_on_streams(&s, height > least ? height : least, code, stream, arena, n_strips, f))
        return true;
    *n_strips = 0;
    return f->status == TESS_ERROR_MEMORY;
}
