/* Runs on images whose rows lie in the memory of several devices, each its share. A device has room for its rows and
 * for those around them on which they depend; before a run these come from the devices that have them, by copies from
 * one device to the other, and a result lies in the same way, so that it can be the next run's image where it is. What
 * a part is, and what around it matters, is known to tess_parts, of which each device has one. */
#include <stdlib.h>
#include <string.h>

#include "api/gpu.h"
#include "api/part.h"
#include "base/rounding.h"

/* An image of one device: rows from..from + its extent, of which begin..end are its share. */
typedef struct ShareImage {
    DLTensor *image; /* NULL: this device has none of it */
    int64_t from, begin, end;
    DLTensor rows; /* the share */
    int64_t shape[MAX_DIMS + 1];
} ShareImage;

typedef struct Share {
    tess_parts *parts;
    Device *device; /* NULL: it has no rows */
    DeviceStream stream;
    DeviceEvent done; /* what was put on the stream by the last run */
    bool has_run;
    bool fetched;   /* others have copied rows of its images since */
    tess_part part; /* of the last pass */
    ShareImage *inputs, *outputs;
} Share;

struct tess_shares {
    tess_program *program;
    int n;
    Share *share;
    size_t n_passes;
    int64_t rows, align; /* of the images that are cut */
    Failure failure;
};

/* ---- Making ---------------------------------------------------------------------------------- */
static void free_images(ShareImage *images, size_t n)
{
    for (size_t i = 0; images && i < n; i++)
        tess_image_free(images[i].image);
    free(images);
}

void tess_shares_free(tess_shares *s)
{
    if (!s)
        return;
    for (int i = 0; s->share && i < s->n; i++) {
        Share *of = &s->share[i];
        if (of->device) {
            tessi_device_synchronise(of->device, of->stream, NULL);
            tessi_device_event_free(of->device, of->done);
            tessi_device_stream_free(of->device, of->stream);
        }
        free_images(of->inputs, s->program->inputs.n);
        free_images(of->outputs, s->program->outputs.n);
        tess_parts_free(of->parts);
    }
    free(s->share);
    free(s);
}

static bool no_memory(Failure *f)
{
    return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
}

static bool fail_parts(tess_shares *s, const Share *of)
{
    if (!of->parts || !of->parts->failure.status)
        return no_memory(&s->failure);
    s->failure = of->parts->failure;
    return false;
}

/* All passes share out the rows, at common multiples of where their parts begin. */
static bool find_shape(tess_shares *s, Share *first)
{
    s->align = 1;
    s->n_passes = tess_parts_passes(first->parts);
    for (size_t k = 0; k < s->n_passes; k++) {
        tess_pass pass = { .struct_size = sizeof pass };
        if (tess_parts_pass(first->parts, k, &pass) != TESS_OK)
            return fail_parts(s, first);
        if (!pass.ndim || !pass.cut[0])
            return tessi_failf(&s->failure, TESS_ERROR_UNSUPPORTED,
                               "the rows cannot be shared out: %.300s",
                               pass.ndim ? pass.why[0] : "the program reads no images");
        s->rows = pass.shape[0];
        int64_t a = s->align, b = pass.align[0];
        while (b) {
            const int64_t rest = a % b;
            a = b;
            b = rest;
        }
        s->align = s->align / a * pass.align[0];
    }
    return true;
}

static int64_t share_begin(const tess_shares *s, int i)
{
    const int64_t units = (s->rows + s->align - 1) / s->align;
    const int64_t begin = (units * i + s->n - 1) / s->n * s->align;
    return begin < s->rows ? begin : s->rows;
}

static bool part_of(tess_shares *s, Share *of, int number, size_t pass, tess_part *part)
{
    tess_pass shape = { .struct_size = sizeof shape };
    tess_parts_pass(of->parts, pass, &shape);
    *part = (tess_part){ .struct_size = sizeof *part, .pass = pass, .apart = shape.numbers > 0 };
    for (int d = 0; d < shape.ndim; d++)
        part->end[d] = shape.shape[d];
    part->begin[0] = share_begin(s, number);
    part->end[0] = share_begin(s, number + 1);
    return part->begin[0] >= part->end[0] || tess_part_needs(of->parts, part) == TESS_OK
           || fail_parts(s, of);
}

/* Room in the memory of the device, and the view of the rows that it is given for. */
static bool make_image(tess_shares *s, Share *of, DLDataType type, int ndim, const int64_t *shape,
                       ShareImage *im)
{
    tess_program *p = of->parts->passes.at[s->n_passes - 1].program;
    if (tess_device_image(p, type, ndim, shape, &im->image) != TESS_OK) {
        s->failure = p->failure;
        return s->failure.status ? false : no_memory(&s->failure);
    }
    of->device = ((const OwnedTensor *)im->image)->context->device;
    memcpy(im->shape, shape, (size_t)ndim * sizeof *shape);
    im->shape[0] = im->end - im->begin;
    im->rows = *im->image;
    im->rows.shape = im->shape;
    const int64_t row = im->image->strides[0] * (type.bits / 8);
    im->rows.byte_offset += (uint64_t)((im->begin - im->from) * row);
    return true;
}

static bool make_input(tess_shares *s, Share *of, int number, size_t input)
{
    const BoundImage *whole = &of->parts->args->inputs[input];
    ShareImage *im = &of->inputs[input];
    int64_t shape[MAX_DIMS + 1], from = INT64_MAX, to = INT64_MIN;
    bool used = false, cut = false;
    for (size_t k = 0; k < s->n_passes; k++) {
        tess_part part;
        const tess_part_use use = tess_parts_use(of->parts, k, input);
        if (use == TESS_PART_UNUSED)
            continue;
        used = true;
        if (use != TESS_PART_CUT)
            continue;
        if (!part_of(s, of, number, k, &part))
            return false;
        cut = true;
        from = part.from[0] < from ? part.from[0] : from;
        to = part.to[0] > to ? part.to[0] : to;
        im->begin = part.begin[0];
        im->end = part.end[0];
    }
    if (!used)
        return true;
    memcpy(shape, whole->shape, sizeof shape);
    if (!cut) {
        from = im->begin = 0;
        to = im->end = shape[0];
    }
    im->from = from;
    shape[0] = to - from;
    return make_image(s, of, whole->tensor.dtype, whole->tensor.ndim, shape, im);
}

static bool make_output(tess_shares *s, Share *of, size_t output)
{
    RunPass *pass = &of->parts->passes.at[s->n_passes - 1];
    ShareImage *im = &of->outputs[output];
    int64_t place[TESS_MAX_SHAPE], mine[TESS_MAX_SHAPE], shape[TESS_MAX_SHAPE];
    int ndim;
    if (tess_part_share(of->parts, &of->part, output, place, mine) != TESS_OK
        || tess_result_shape(pass->program, pass->args, output, &ndim, shape) != TESS_OK) {
        s->failure = pass->args->failure;
        return s->failure.status ? false : fail_parts(s, of);
    }
    im->from = tessi_part_first(of->parts, &of->part, output);
    im->begin = place[0];
    im->end = place[0] + mine[0];
    return make_image(s, of, pass->program->outputs.at[output].info.dtype, ndim, shape, im);
}

static bool is_image(const tess_program *p, size_t input)
{
    const tess_kind kind = p->inputs.at[input].info.kind;
    return kind == TESS_IMAGE || kind == TESS_MASK;
}

static bool make_share(tess_shares *s, int number)
{
    Share *of = &s->share[number];
    const tess_program *p = s->program;
    of->inputs = calloc(p->inputs.n + 1, sizeof *of->inputs);
    of->outputs = calloc(p->outputs.n + 1, sizeof *of->outputs);
    if (!of->inputs || !of->outputs)
        return no_memory(&s->failure);
    if (!part_of(s, of, number, s->n_passes - 1, &of->part))
        return false;
    if (of->part.begin[0] >= of->part.end[0])
        return true;
    for (uint32_t i = 0; i < p->inputs.n; i++)
        if (is_image(p, i) && !make_input(s, of, number, i))
            return false;
    if (!tessi_part_shapes(of->parts, &of->part))
        return fail_parts(s, of);
    for (uint32_t o = 0; o < p->outputs.n; o++)
        if (!make_output(s, of, o))
            return false;
    return tessi_device_stream_new(of->device, &of->stream, &s->failure);
}

static bool make(tess_shares *s, const tess_args *args)
{
    const tess_options *o = &s->program->options;
    if (!s->program->backend->device)
        return tessi_failf(&s->failure, TESS_ERROR_ARGUMENT,
                           "the program's target has no device memory");
    s->n = o->n_devices > 1 ? o->n_devices : 1;
    s->share = calloc((size_t)s->n, sizeof *s->share);
    if (!s->share)
        return no_memory(&s->failure);
    for (int i = 0; i < s->n; i++)
        if (tessi_parts_new_on(s->program, args, o->n_devices > 1 ? o->devices[i] : o->device,
                               &s->share[i].parts)
            != TESS_OK)
            return fail_parts(s, &s->share[i]);
    if (!find_shape(s, &s->share[0]))
        return false;
    for (int i = 0; i < s->n; i++)
        if (!make_share(s, i))
            return false;
    return true;
}

tess_status tess_shares_new(tess_program *p, const tess_args *args, tess_shares **shares)
{
    if (!shares)
        return TESS_ERROR_ARGUMENT;
    *shares = NULL;
    if (!p || !args || args->program != p)
        return TESS_ERROR_ARGUMENT;
    tess_shares *s = *shares = calloc(1, sizeof *s);
    if (!s)
        return TESS_ERROR_MEMORY;
    s->program = p;
    const Rounding callers = tessi_round_to_nearest();
    const bool ok = make(s, args);
    tessi_round_as(callers);
    return ok ? TESS_OK : (tess_status)s->failure.status;
}

const char *tess_shares_error(const tess_shares *s)
{
    return s ? s->failure.text : "";
}

int tess_shares_count(const tess_shares *s)
{
    return s ? s->n : 0;
}

/* ---- Where the images are -------------------------------------------------------------------- */
static tess_status tell(const ShareImage *im, const DLTensor **rows, int64_t *first)
{
    *rows = im->image && im->end > im->begin ? &im->rows : NULL;
    if (first)
        *first = im->begin;
    return TESS_OK;
}

/* The number of an image or mask; -1: there is none of that name. */
static int64_t image_number(const tess_shares *s, const char *name)
{
    const int64_t k = name ? tessi_input_number(s->program, name) : -1;
    return k >= 0 && is_image(s->program, (size_t)k) ? k : -1;
}

tess_status tess_share_input(const tess_shares *s, int device, const char *name,
                             const DLTensor **rows, int64_t *first)
{
    const int64_t input = s ? image_number(s, name) : -1;
    if (!s || device < 0 || device >= s->n || input < 0 || !rows)
        return TESS_ERROR_ARGUMENT;
    return tell(&s->share[device].inputs[input], rows, first);
}

tess_status tess_share_result(const tess_shares *s, int device, size_t output,
                              const DLTensor **rows, int64_t *first)
{
    if (!s || device < 0 || device >= s->n || output >= s->program->outputs.n || !rows)
        return TESS_ERROR_ARGUMENT;
    return tell(&s->share[device].outputs[output], rows, first);
}

static bool lies_alike(const ShareImage *a, const ShareImage *b)
{
    if (!a->image || !b->image)
        return a->image == b->image;
    const DLTensor *x = a->image, *y = b->image;
    return x->ndim == y->ndim && memcmp(&x->dtype, &y->dtype, sizeof x->dtype) == 0
           && memcmp(x->shape, y->shape, (size_t)x->ndim * sizeof *x->shape) == 0
           && a->from == b->from && a->begin == b->begin && a->end == b->end;
}

tess_status tess_shares_swap(tess_shares *s, size_t output, const char *name)
{
    const int64_t input = s ? image_number(s, name) : -1;
    if (!s || output >= s->program->outputs.n || input < 0)
        return TESS_ERROR_ARGUMENT;
    s->failure = (Failure){ 0 };
    for (int i = 0; i < s->n; i++)
        if (!lies_alike(&s->share[i].inputs[input], &s->share[i].outputs[output])) {
            tessi_failf(&s->failure, TESS_ERROR_ARGUMENT,
                        "the result '%s' cannot become the image '%s': they have not one size and "
                        "type",
                        s->program->outputs.at[output].info.name,
                        s->program->inputs.at[input].info.name);
            return TESS_ERROR_ARGUMENT;
        }
    for (int i = 0; i < s->n; i++) {
        ShareImage *a = &s->share[i].inputs[input], *b = &s->share[i].outputs[output];
        const ShareImage before = *a;
        *a = *b;
        *b = before;
        a->rows.shape = a->shape;
        b->rows.shape = b->shape;
    }
    return TESS_OK;
}

/* ---- Rows around shares ---------------------------------------------------------------------- */
/* Rows y..end of the image from the device that has row y, as many of them as it has, to row `at` of this one's. */
static bool fetch_some(tess_shares *s, Share *to, size_t input, int64_t y, int64_t end, int64_t at,
                       int64_t *n)
{
    int owner = 0;
    while (owner + 1 < s->n && share_begin(s, owner + 1) <= y)
        owner++;
    Share *from = &s->share[owner];
    const ShareImage *target = &to->inputs[input], *source = &from->inputs[input];
    *n = (source->end < end ? source->end : end) - y;
    const size_t row = (size_t)target->image->strides[0] * (target->image->dtype.bits / 8u);
    const DevicePeerCopy copy = { .to_device = to->device,
                                  .from_device = from->device,
                                  .to = target->image->data,
                                  .from = source->image->data,
                                  .to_offset = (size_t)(at - target->from) * row,
                                  .from_offset = (size_t)(y - source->from) * row,
                                  .bytes = (size_t)*n * row,
                                  .to_stream = to->stream,
                                  .from_stream = from->stream,
                                  .after = from->has_run ? from->done : NULL };
    from->fetched = from->fetched || tessi_device_is_peer(to->device, from->device);
    return tessi_device_copy_peer(&copy, &s->failure);
}

/* Rows from..to of the image, which may go on as it begins. */
static bool fetch(tess_shares *s, Share *to, size_t input, int64_t from, int64_t end)
{
    while (from < end) {
        const int64_t y = tessi_floormod(from, s->rows);
        int64_t n = 0;
        const int64_t most = end - from < s->rows - y ? end - from : s->rows - y;
        if (!fetch_some(s, to, input, y, y + most, from, &n))
            return false;
        from += n;
    }
    return true;
}

static bool fetch_around(tess_shares *s, Share *to)
{
    for (uint32_t i = 0; i < s->program->inputs.n; i++) {
        const ShareImage *im = &to->inputs[i];
        if (im->image
            && !(fetch(s, to, i, im->from, im->begin)
                 && fetch(s, to, i, im->end, im->from + im->image->shape[0])))
            return false;
    }
    return true;
}

/* ---- Runs ------------------------------------------------------------------------------------ */
/* The rows that a pass needs of the images, where they are. */
static void look(const tess_shares *s, const Share *of, const tess_part *part, DLTensor *view,
                 int64_t (*shape)[MAX_DIMS + 1], const DLTensor **image)
{
    for (uint32_t i = 0; i < s->program->inputs.n; i++) {
        const ShareImage *im = &of->inputs[i];
        if (!im->image)
            continue;
        view[i] = *im->image;
        if (tess_parts_use(of->parts, part->pass, i) == TESS_PART_CUT) {
            memcpy(shape[i], im->image->shape, sizeof *shape);
            shape[i][0] = part->to[0] - part->from[0];
            view[i].shape = shape[i];
            view[i].byte_offset += (uint64_t)((part->from[0] - im->from) * im->image->strides[0]
                                              * (im->image->dtype.bits / 8));
        }
        image[i] = &view[i];
    }
}

static bool run_share(tess_shares *s, Share *of, const tess_part *part)
{
    const size_t n = s->program->inputs.n, m = s->program->outputs.n;
    DLTensor *view = calloc(n + 1, sizeof *view);
    const DLTensor **image = calloc(n + 1, sizeof *image);
    const DLTensor **result = calloc(m + 1, sizeof *result);
    int64_t(*shape)[MAX_DIMS + 1] = calloc(n + 1, sizeof *shape);
    bool ok = (view && image && result && shape) || no_memory(&s->failure);
    if (ok) {
        look(s, of, part, view, shape, image);
        for (size_t o = 0; o < m; o++)
            result[o] = of->outputs[o].image;
        const bool is_last = part->pass + 1 == s->n_passes;
        ok = tessi_run_part_on(of->parts, part, image, is_last ? result : NULL, NULL,
                               is_last ? of->stream : NULL)
                 == TESS_OK
             || fail_parts(s, of);
    }
    free(view);
    free(image);
    free(result);
    free(shape);
    return ok;
}

/* What all say about numbers of whole images, to all. */
static bool join(tess_shares *s, size_t pass)
{
    RtBytes all = { 0 };
    bool ok = true;
    for (int i = 0; i < s->n && ok; i++) {
        const void *bytes;
        size_t n;
        ok = tess_part_numbers(s->share[i].parts, pass, &bytes, &n) == TESS_OK;
        if (ok && n)
            tessi_bytes_add(&all, bytes, n);
    }
    ok = (ok && !all.failed) || no_memory(&s->failure);
    for (int i = 0; i < s->n && ok; i++)
        ok = tess_parts_join(s->share[i].parts, pass, all.at, all.n) == TESS_OK
             || fail_parts(s, &s->share[i]);
    tessi_bytes_dispose(&all);
    return ok;
}

static bool run_pass(tess_shares *s, size_t pass)
{
    for (int i = 0; i < s->n; i++) {
        Share *of = &s->share[i];
        tess_part part;
        if (!of->device)
            continue;
        if (!part_of(s, of, i, pass, &part)
            || (part.apart && !tessi_device_synchronise(of->device, of->stream, &s->failure))
            || !run_share(s, of, &part))
            return false;
    }
    tess_pass shape = { .struct_size = sizeof shape };
    tess_parts_pass(s->share[0].parts, pass, &shape);
    return !shape.numbers || join(s, pass);
}

/* What others copied of its images in the run before may become its result, when images are swapped: it waits until
 * they have it. Those that copy from each other would wait anyway. */
static bool wait_for_readers(tess_shares *s, Share *of)
{
    for (int i = 0; i < s->n && of->fetched; i++) {
        const Share *reader = &s->share[i];
        if (reader != of && reader->has_run
            && !tessi_device_await(of->device, of->stream, reader->done, &s->failure))
            return false;
    }
    of->fetched = false;
    return true;
}

static bool run(tess_shares *s)
{
    for (int i = 0; i < s->n; i++)
        if (s->share[i].device && !wait_for_readers(s, &s->share[i]))
            return false;
    for (int i = 0; i < s->n; i++)
        if (s->share[i].device && !fetch_around(s, &s->share[i]))
            return false;
    for (size_t pass = 0; pass < s->n_passes; pass++)
        if (!run_pass(s, pass))
            return false;
    for (int i = 0; i < s->n; i++) {
        Share *of = &s->share[i];
        if (!of->device)
            continue;
        if (!tessi_device_record(of->device, of->stream, &of->done, &s->failure)
            || !tessi_device_flush(of->device, of->stream, &s->failure))
            return false;
        of->has_run = true;
    }
    return true;
}

tess_status tess_shares_run(tess_shares *s)
{
    if (!s)
        return TESS_ERROR_ARGUMENT;
    s->failure = (Failure){ 0 };
    const Rounding callers = tessi_round_to_nearest();
    const bool ok = run(s);
    tessi_round_as(callers);
    return ok ? TESS_OK : (tess_status)s->failure.status;
}

tess_status tess_shares_wait(tess_shares *s)
{
    if (!s)
        return TESS_ERROR_ARGUMENT;
    s->failure = (Failure){ 0 };
    bool ok = true;
    for (int i = 0; i < s->n; i++)
        if (s->share[i].device)
            ok = tessi_device_synchronise(s->share[i].device, s->share[i].stream,
                                          ok ? &s->failure : NULL)
                 && ok;
    return ok ? TESS_OK : (tess_status)s->failure.status;
}

tess_status tess_share_copy(tess_shares *s, int device, const DLTensor *from, const DLTensor *to)
{
    if (!s || device < 0 || device >= s->n || !s->share[device].device)
        return TESS_ERROR_ARGUMENT;
    tess_program *p = s->share[device].parts->passes.at[s->n_passes - 1].program;
    if (tess_shares_wait(s) != TESS_OK)
        return (tess_status)s->failure.status;
    const tess_status status = tess_image_copy(p, from, to);
    if (status != TESS_OK)
        s->failure = p->failure;
    return status;
}
