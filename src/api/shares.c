/* Runs on images whose rows lie in the memory of several devices, each its share. A device has room for its rows and
 * for those around them on which they depend; before a run these come from the devices that have them, by copies from
 * one device to the other, and a result lies in the same way, so that it can be the next run's image where it is. What
 * a part is, and what around it matters, is known to tess_parts, of which each device has one. Turns in rounds are
 * such runs one after the other. */
#include <stdlib.h>
#include <string.h>

#include "api/shares.h"
#include "base/rounding.h"
#include "rt/thread.h"

static bool no_memory(Failure *f)
{
    return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
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
    return k >= 0 && tessi_is_image(s->program, (size_t)k) ? k : -1;
}

tess_status tess_share_input(const tess_shares *s, int device, const char *name,
                             const DLTensor **rows, int64_t *first)
{
    const int64_t input = s ? image_number(s, name) : -1;
    if (!s || device < 0 || device >= s->n || input < 0 || !rows)
        return TESS_ERROR_ARGUMENT;
    return tell(&s->share[device].images[input], rows, first);
}

tess_status tess_share_result(const tess_shares *s, int device, size_t output,
                              const DLTensor **rows, int64_t *first)
{
    if (!s || device < 0 || device >= s->n || output >= s->program->outputs.n || !rows)
        return TESS_ERROR_ARGUMENT;
    return tell(&s->share[device].images[s->program->inputs.n + output], rows, first);
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

static void swap(tess_shares *s, size_t one, size_t other)
{
    for (int i = 0; i < s->n; i++) {
        ShareImage *a = &s->share[i].images[one], *b = &s->share[i].images[other];
        const ShareImage before = *a;
        *a = *b;
        *b = before;
        a->rows.shape = a->shape;
        b->rows.shape = b->shape;
    }
}

tess_status tess_shares_swap(tess_shares *s, size_t output, const char *name)
{
    const int64_t input = s ? image_number(s, name) : -1;
    if (!s || output >= s->program->outputs.n || input < 0)
        return TESS_ERROR_ARGUMENT;
    const size_t result = s->program->inputs.n + output;
    s->failure = (Failure){ 0 };
    for (int i = 0; i < s->n; i++)
        if (!lies_alike(&s->share[i].images[input], &s->share[i].images[result])) {
            tessi_failf(&s->failure, TESS_ERROR_ARGUMENT,
                        "the result '%s' cannot become the image '%s': they have not one size and "
                        "type",
                        s->program->outputs.at[output].info.name,
                        s->program->inputs.at[input].info.name);
            return TESS_ERROR_ARGUMENT;
        }
    swap(s, (size_t)input, result);
    return TESS_OK;
}

/* ---- Rows around shares ---------------------------------------------------------------------- */
/* Rows y..end of the image from the device that has row y, as many of them as it has, to row `at` of this one's. */
static bool fetch_some(tess_shares *s, Share *to, size_t image, int64_t y, int64_t end, int64_t at,
                       int64_t *n)
{
    int owner = 0;
    while (owner + 1 < s->n && tessi_share_begin(s, owner + 1) <= y)
        owner++;
    Share *from = &s->share[owner];
    const ShareImage *target = &to->images[image], *source = &from->images[image];
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
static bool fetch(tess_shares *s, Share *to, size_t image, int64_t from, int64_t end)
{
    while (from < end) {
        const int64_t y = tessi_floormod(from, s->rows);
        int64_t n = 0;
        const int64_t most = end - from < s->rows - y ? end - from : s->rows - y;
        if (!fetch_some(s, to, image, y, y + most, from, &n))
            return false;
        from += n;
    }
    return true;
}

static bool fetch_around(tess_shares *s, const ShareRound *r, int number)
{
    Share *to = &s->share[number];
    const ShareWork *w = &r->work[number];
    for (size_t i = 0; i < r->program->inputs.n; i++) {
        if (r->input[i] == NO_IMAGE)
            continue;
        const ShareImage *im = &to->images[r->input[i]];
        if (im->image && w->from[i] < w->to[i]
            && !(fetch(s, to, r->input[i], w->from[i], im->begin)
                 && fetch(s, to, r->input[i], im->end, w->to[i])))
            return false;
    }
    return true;
}

/* ---- Runs ------------------------------------------------------------------------------------ */
/* Rows from.. of an image, where they are. */
static void look(const ShareImage *im, int64_t from, int64_t n, DLTensor *view, int64_t *shape)
{
    *view = *im->image;
    memcpy(shape, im->image->shape, (size_t)view->ndim * sizeof *shape);
    shape[0] = n;
    view->shape = shape;
    view->byte_offset +=
        (uint64_t)((from - im->from) * im->image->strides[0] * (im->image->dtype.bits / 8));
}

typedef struct Views {
    DLTensor *view;
    const DLTensor **at;
    int64_t (*shape)[MAX_DIMS + 1];
} Views;

static bool new_views(tess_shares *s, size_t n, Views *v)
{
    v->view = calloc(n + 1, sizeof *v->view);
    v->at = calloc(n + 1, sizeof *v->at);
    v->shape = calloc(n + 1, sizeof *v->shape);
    return (v->view && v->at && v->shape) || no_memory(&s->failure);
}

static void free_views(Views *v)
{
    free(v->view);
    free(v->at);
    free(v->shape);
}

static void look_at_inputs(const ShareRound *r, const Share *of, const ShareWork *w,
                           const tess_part *part, Views *v)
{
    for (size_t i = 0; i < r->program->inputs.n; i++) {
        const ShareImage *im = r->input[i] == NO_IMAGE ? NULL : &of->images[r->input[i]];
        if (!im || !im->image)
            continue;
        const bool cut = tess_parts_use(w->parts, part->pass, i) == TESS_PART_CUT;
        const int64_t from = cut ? part->from[0] : im->begin;
        look(im, from, (cut ? part->to[0] : im->end) - from, &v->view[i], v->shape[i]);
        v->at[i] = &v->view[i];
    }
}

/* All that the part computes. */
static bool look_at_outputs(tess_shares *s, const ShareRound *r, const Share *of, ShareWork *w,
                            const tess_part *part, Views *v)
{
    RunPass *pass = &w->parts->passes.at[part->pass];
    if (!tessi_part_shapes(w->parts, part))
        return tessi_shares_fail(s, w->parts);
    for (size_t o = 0; o < r->program->outputs.n; o++) {
        int64_t shape[TESS_MAX_SHAPE];
        int ndim;
        if (tess_result_shape(pass->program, pass->args, o, &ndim, shape) != TESS_OK)
            return no_memory(&s->failure);
        look(&of->images[r->output[o]], tessi_part_first(w->parts, part, o), shape[0], &v->view[o],
             v->shape[o]);
        v->at[o] = &v->view[o];
    }
    return true;
}

static bool run_share(tess_shares *s, const ShareRound *r, int number, const tess_part *part)
{
    const Share *of = &s->share[number];
    ShareWork *w = &r->work[number];
    const bool is_last = part->pass + 1 == r->n_passes;
    Views in = { 0 }, out = { 0 };
    bool ok = new_views(s, r->program->inputs.n, &in) && new_views(s, r->program->outputs.n, &out);
    if (ok)
        look_at_inputs(r, of, w, part, &in);
    ok = ok && (!is_last || look_at_outputs(s, r, of, w, part, &out))
         && (tessi_run_part_on(w->parts, part, in.at, is_last ? out.at : NULL, NULL,
                               is_last ? of->stream : NULL)
                 == TESS_OK
             || tessi_shares_fail(s, w->parts));
    free_views(&in);
    free_views(&out);
    return ok;
}

/* What all say about numbers of whole images, to all. */
static bool join(tess_shares *s, const ShareRound *r, size_t pass)
{
    RtBytes all = { 0 };
    bool ok = true;
    for (int i = 0; i < s->n && ok; i++) {
        const void *bytes;
        size_t n;
        ok = tess_part_numbers(r->work[i].parts, pass, &bytes, &n) == TESS_OK;
        if (ok && n)
            tessi_bytes_add(&all, bytes, n);
    }
    ok = (ok && !all.failed) || no_memory(&s->failure);
    for (int i = 0; i < s->n && ok; i++)
        ok = tess_parts_join(r->work[i].parts, pass, all.at, all.n) == TESS_OK
             || tessi_shares_fail(s, r->work[i].parts);
    tessi_bytes_dispose(&all);
    return ok;
}

static bool run_pass(tess_shares *s, const ShareRound *r, size_t pass)
{
    for (int i = 0; i < s->n; i++) {
        Share *of = &s->share[i];
        tess_part part;
        if (!of->device)
            continue;
        if (!tessi_share_part(s, r, i, pass, &part)
            || (part.apart && !tessi_device_synchronise(of->device, of->stream, &s->failure))
            || !run_share(s, r, i, &part))
            return false;
    }
    tess_pass shape = { .struct_size = sizeof shape };
    tess_parts_pass(r->work[0].parts, pass, &shape);
    return !shape.numbers || join(s, r, pass);
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

static bool run_once(tess_shares *s, const ShareRound *r)
{
    for (int i = 0; i < s->n; i++)
        if (s->share[i].device && !wait_for_readers(s, &s->share[i]))
            return false;
    for (int i = 0; i < s->n; i++)
        if (s->share[i].device && !fetch_around(s, r, i))
            return false;
    for (size_t pass = 0; pass < r->n_passes; pass++)
        if (!run_pass(s, r, pass))
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

/* ---- Rounds ---------------------------------------------------------------------------------- */
/* A number that each device has as an image of one element. */
static bool read_number(tess_shares *s, const ShareRound *r, size_t output, double *number)
{
    const Share *of = &s->share[0];
    for (int i = 0; !of->device; i++)
        of = &s->share[i];
    const ShareWork *w = &r->work[of - s->share];
    tess_program *p = w->parts->passes.at[r->n_passes - 1].program;
    int64_t element = 0;
    ScalarType type = TYPE_U8;
    const DLTensor *from = &of->images[r->output[output]].rows;
    DLTensor to = *from;
    to.data = &element;
    to.byte_offset = 0;
    to.strides = NULL;
    to.device = (DLDevice){ kDLCPU, 0 };
    if (!tessi_device_synchronise(of->device, of->stream, &s->failure))
        return false;
    if (!tessi_scalar_type(to.dtype, &type) || tess_image_copy(p, from, &to) != TESS_OK) {
        s->failure = p->failure;
        return s->failure.status ? false : no_memory(&s->failure);
    }
    *number = tessi_value_number(type, tessi_load_element(type, &element));
    return true;
}

/* What a round has left becomes what the next one takes. */
static bool carry(tess_shares *s, const ShareRound *r, bool *ends)
{
    for (size_t k = 0; k < r->n_left; k++) {
        if (!r->program->outputs.at[k].info.is_number)
            swap(s, s->first_carried + k, s->first_carried + s->n_carried + k);
        else if (!read_number(s, r, k, &s->number[k]))
            return false;
    }
    double now = 0;
    if (r->ends && !read_number(s, r, r->n_left, &now))
        return false;
    *ends = *ends || now != 0;
    return true;
}

static void give_numbers(const tess_shares *s, const ShareRound *r)
{
    for (size_t i = 0; i < r->program->inputs.n; i++) {
        if (r->carried[i] == NO_IMAGE || r->input[i] != NO_IMAGE)
            continue;
        for (int k = 0; k < s->n; k++) {
            tess_args *a = r->work[k].parts->args;
            a->scalars[i] = s->number[r->carried[i]];
            a->scalar_set[i] = true;
        }
    }
}

static bool run(tess_shares *s)
{
    bool ends = false;
    for (size_t k = 0; k < s->n_rounds; k++) {
        const ShareRound *r = &s->round[k];
        const bool is_last = k + 1 == s->n_rounds;
        for (int64_t t = 0; t < r->times && (!ends || is_last); t++) {
            give_numbers(s, r);
            if (!run_once(s, r) || !(is_last || carry(s, r, &ends)))
                return false;
        }
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

static tess_program *program_on(const tess_shares *s, int device)
{
    const ShareRound *r = &s->round[0];
    return r->work[device].parts->passes.at[r->n_passes - 1].program;
}

tess_status tess_share_copy(tess_shares *s, int device, const DLTensor *from, const DLTensor *to)
{
    if (!s || device < 0 || device >= s->n || !s->share[device].device)
        return TESS_ERROR_ARGUMENT;
    tess_program *p = program_on(s, device);
    if (tess_shares_wait(s) != TESS_OK)
        return (tess_status)s->failure.status;
    const tess_status status = tess_image_copy(p, from, to);
    if (status != TESS_OK)
        s->failure = p->failure;
    return status;
}

/* ---- Images of the host ---------------------------------------------------------------------- */
/* Copies between the images of a caller and the share of one device, beside those of the others. */
typedef struct Mover {
    const tess_shares *s;
    const tess_args *a;
    int number;
    bool back, ok;
    RtThread thread;
} Mover;

static bool move_one(const Mover *m, const ShareImage *im, const DLTensor *whole)
{
    if (!im->image || im->begin >= im->end)
        return true;
    if (m->back && im->end - im->begin == whole->shape[0] && m->number > 0)
        return true; /* it is the same on all */
    DLTensor rows = *whole;
    rows.shape = im->rows.shape;
    rows.data = (char *)whole->data + im->begin * whole->strides[0] * (whole->dtype.bits / 8);
    const DLTensor *from = m->back ? &im->rows : &rows, *to = m->back ? &rows : &im->rows;
    return tess_image_copy(program_on(m->s, m->number), from, to) == TESS_OK;
}

static int move(void *user)
{
    Mover *m = user;
    const tess_program *p = m->s->program;
    const ShareImage *images = m->s->share[m->number].images;
    const size_t n = m->back ? p->outputs.n : p->inputs.n;
    m->ok = true;
    for (size_t i = 0; i < n && m->ok; i++)
        m->ok = m->back ? move_one(m, &images[p->inputs.n + i], &m->a->outputs[i].tensor)
                        : !tessi_is_image(p, i) || move_one(m, &images[i], &m->a->inputs[i].tensor);
    return 0;
}

static bool move_all(tess_shares *s, const tess_args *a, bool back)
{
    Mover *mover = calloc((size_t)s->n, sizeof *mover);
    if (!mover)
        return no_memory(&s->failure);
    bool ok = true;
    for (int i = 0; i < s->n; i++) {
        mover[i] = (Mover){ .s = s, .a = a, .number = i, .back = back };
        if (i + 1 == s->n || !tessi_thread_start(&mover[i].thread, move, &mover[i]))
            move(&mover[i]);
    }
    for (int i = 0; i < s->n; i++) {
        if (i + 1 < s->n)
            tessi_thread_join(&mover[i].thread);
        if (!mover[i].ok && ok) {
            s->failure = program_on(s, i)->failure;
            ok = false;
        }
    }
    free(mover);
    return ok;
}

bool tessi_shares_run_host(tess_shares *s, const tess_args *a)
{
    s->failure = (Failure){ 0 };
    return tess_shares_wait(s) == TESS_OK && move_all(s, a, false) && run(s)
           && tess_shares_wait(s) == TESS_OK && move_all(s, a, true);
}
