/* Makes tess_shares: which programs run over the shares, which images these have, and how many rows of each lie on each
 * device: its share and those around it on which one of the programs depends. A loop whose turns together would reach
 * too far is run in rounds (rounds.c), between which rows are exchanged. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/shares.h"
#include "base/rounding.h"

/* ---- Freeing, failing ------------------------------------------------------------------------ */
static void free_round(tess_shares *s, ShareRound *r)
{
    for (int i = 0; r->work && i < s->n; i++) {
        tess_parts_free(r->work[i].parts);
        free(r->work[i].from);
        free(r->work[i].to);
    }
    tess_args_free(r->args);
    free(r->work);
    free(r->input);
    free(r->output);
    free(r->carried);
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
        for (size_t k = 0; of->images && k < s->n_images; k++)
            tess_image_free(of->images[k].image);
        free(of->images);
    }
    for (size_t k = 0; s->round && k < s->n_rounds; k++)
        free_round(s, &s->round[k]);
    tess_rounds_free(s->rounds);
    free(s->round);
    free(s->number);
    free(s->share);
    free(s);
}

static bool no_memory(Failure *f)
{
    return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
}

bool tessi_shares_fail(tess_shares *s, const tess_parts *parts)
{
    if (!parts || !parts->failure.status)
        return no_memory(&s->failure);
    s->failure = parts->failure;
    return false;
}

bool tessi_is_image(const tess_program *p, size_t input)
{
    const tess_kind kind = p->inputs.at[input].info.kind;
    return kind == TESS_IMAGE || kind == TESS_MASK;
}

/* ---- Rounds ---------------------------------------------------------------------------------- */
/* What the image of a result of the round before is for this one: its shape. */
static bool bind_carried(tess_shares *s, ShareRound *r, const ShareRound *before, size_t input)
{
    const size_t k = r->carried[input];
    const tess_info *info = &r->program->inputs.at[input].info;
    int64_t shape[TESS_MAX_SHAPE];
    DLTensor t = { .shape = shape };
    if (!tessi_is_image(r->program, input))
        return tess_args_scalar(r->args, info->name, 0) == TESS_OK || no_memory(&s->failure);
    t.dtype = before->program->outputs.at[k].info.dtype;
    if (tess_result_shape(before->program, before->args, k, &t.ndim, shape) == TESS_OK
        && tess_args_shape(r->args, info->name, &t) == TESS_OK)
        return true;
    s->failure = r->args->failure.status ? r->args->failure : before->args->failure;
    return s->failure.status ? false : no_memory(&s->failure);
}

/* What the caller has given for an input of that name. */
static bool bind_given(tess_shares *s, ShareRound *r, const tess_args *args, size_t input)
{
    const tess_info *info = &r->program->inputs.at[input].info;
    const int64_t k = tessi_input_number(s->program, info->name);
    if (k < 0)
        return true;
    if (!tessi_is_image(r->program, input))
        return !args->scalar_set[k]
               || tess_args_scalar(r->args, info->name, args->scalars[k]) == TESS_OK
               || no_memory(&s->failure);
    r->input[input] = (size_t)k;
    DLTensor t = args->inputs[k].tensor;
    int64_t shape[MAX_DIMS + 1];
    memcpy(shape, args->inputs[k].shape, sizeof shape);
    t.shape = shape;
    t.strides = NULL;
    if (tess_args_shape(r->args, info->name, &t) == TESS_OK)
        return true;
    s->failure = r->args->failure;
    return false;
}

static size_t carried_number(const tess_shares *s, const char *name)
{
    unsigned k;
    return s->rounds && sscanf(name, "carried_%u", &k) == 1 && k < s->n_carried ? k : NO_IMAGE;
}

static bool name_images(tess_shares *s, ShareRound *r, const ShareRound *before,
                        const tess_args *args, bool is_last)
{
    const size_t n_in = r->program->inputs.n, n_out = r->program->outputs.n;
    r->input = calloc(n_in + 1, sizeof *r->input);
    r->carried = calloc(n_in + 1, sizeof *r->carried);
    r->output = calloc(n_out + 1, sizeof *r->output);
    if (!r->input || !r->carried || !r->output || tess_args_new(r->program, &r->args) != TESS_OK)
        return no_memory(&s->failure);
    for (size_t i = 0; i < n_in; i++) {
        r->input[i] = NO_IMAGE;
        const size_t k = r->carried[i] = carried_number(s, r->program->inputs.at[i].info.name);
        if (k != NO_IMAGE && tessi_is_image(r->program, i))
            r->input[i] = s->first_carried + k;
        if (!(k == NO_IMAGE ? bind_given(s, r, args, i) : bind_carried(s, r, before, i)))
            return false;
    }
    r->n_left = is_last ? 0 : n_out - r->ends;
    for (size_t o = 0; o < n_out; o++)
        r->output[o] = is_last ? s->program->inputs.n + o : s->first_carried + s->n_carried + o;
    return true;
}

/* All passes share out the rows, at common multiples of where their parts begin. */
static bool find_shape(tess_shares *s, ShareRound *r)
{
    const tess_parts *parts = r->work[0].parts;
    r->n_passes = tess_parts_passes(parts);
    for (size_t k = 0; k < r->n_passes; k++) {
        tess_pass pass = { .struct_size = sizeof pass };
        if (tess_parts_pass(r->work[0].parts, k, &pass) != TESS_OK)
            return tessi_shares_fail(s, parts);
        if (!pass.ndim || !pass.cut[0])
            return tessi_failf(&s->failure, TESS_ERROR_UNSUPPORTED,
                               "the rows cannot be shared out: %.300s",
                               pass.ndim ? pass.why[0] : "the program reads no images");
        if (s->rows && s->rows != pass.shape[0])
            return tessi_failf(&s->failure, TESS_ERROR_UNSUPPORTED,
                               "the rows cannot be shared out: images of %lld rows and of %lld are "
                               "cut",
                               (long long)s->rows, (long long)pass.shape[0]);
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

static bool make_work(tess_shares *s, ShareRound *r)
{
    const tess_options *o = &s->program->options;
    r->work = calloc((size_t)s->n, sizeof *r->work);
    if (!r->work)
        return no_memory(&s->failure);
    for (int i = 0; i < s->n; i++) {
        ShareWork *w = &r->work[i];
        w->from = calloc(r->program->inputs.n + 1, sizeof *w->from);
        w->to = calloc(r->program->inputs.n + 1, sizeof *w->to);
        if (!w->from || !w->to)
            return no_memory(&s->failure);
        if (tessi_parts_new_on(r->program, r->args, s->n > 1 ? o->devices[i] : o->device, &w->parts)
            != TESS_OK)
            return tessi_shares_fail(s, w->parts);
    }
    return find_shape(s, r);
}

/* Turns at a time: as many as keep what is computed twice to a part of a share. */
static bool find_rounds(tess_shares *s, const tess_args *args)
{
    tess_rounds *one = NULL;
    tess_parts *parts = NULL;
    tess_pass pass = { .struct_size = sizeof pass };
    tess_round round = { .struct_size = sizeof round };
    tess_status status = tess_rounds_new(s->program, args, 1, &one);
    int64_t margin = 1, rows = 0;
    if (status == TESS_OK && tess_rounds_round(one, 0, &round) == TESS_OK) {
        ShareRound r = { .program = round.program, .ends = round.ends };
        s->rounds = one;
        if (name_images(s, &r, NULL, args, tess_rounds_count(one) < 2)
            && tessi_parts_new_on(r.program, r.args, -1, &parts) == TESS_OK
            && tess_parts_pass(parts, tess_parts_passes(parts) - 1, &pass) == TESS_OK
            && pass.ndim) {
            margin = pass.margin[0];
            rows = pass.shape[0];
        }
        s->rounds = NULL;
        s->failure = (Failure){ 0 };
        free_round(s, &r);
    }
    tess_parts_free(parts);
    tess_rounds_free(one);
    const int64_t most = tess_rounds_most(rows / s->n, 2 * (double)margin);
    if (status == TESS_OK)
        status = tess_rounds_new(s->program, args, most, &s->rounds);
    if (status == TESS_OK && tess_rounds_count(s->rounds) > 1)
        return true;
    if (status == TESS_ERROR_MEMORY)
        return no_memory(&s->failure);
    tess_rounds_free(s->rounds);
    s->rounds = NULL;
    return true;
}

static bool make_rounds(tess_shares *s, const tess_args *args)
{
    s->n_rounds = s->rounds ? tess_rounds_count(s->rounds) : 1;
    s->round = calloc(s->n_rounds, sizeof *s->round);
    if (!s->round)
        return no_memory(&s->failure);
    for (size_t k = 0; k < s->n_rounds; k++) {
        tess_round round = { .struct_size = sizeof round, .program = s->program, .times = 1 };
        if (s->rounds)
            tess_rounds_round(s->rounds, k, &round);
        ShareRound *r = &s->round[k];
        r->program = round.program;
        r->times = round.times;
        r->ends = round.ends;
        const size_t n = round.program->outputs.n - r->ends;
        if (k + 1 < s->n_rounds && n > s->n_carried)
            s->n_carried = n;
    }
    s->first_carried = s->program->inputs.n + s->program->outputs.n;
    s->n_images = s->first_carried + 2 * s->n_carried + 1; /* and the condition */
    s->number = calloc(s->n_carried + 1, sizeof *s->number);
    if (!s->number)
        return no_memory(&s->failure);
    for (size_t k = 0; k < s->n_rounds; k++)
        if (!name_images(s, &s->round[k], k ? &s->round[k - 1] : NULL, args, k + 1 == s->n_rounds)
            || !make_work(s, &s->round[k]))
            return false;
    return true;
}

/* ---- Rows ------------------------------------------------------------------------------------ */
int64_t tessi_share_begin(const tess_shares *s, int i)
{
    const int64_t units = (s->rows + s->align - 1) / s->align;
    const int64_t begin = (units * i + s->n - 1) / s->n * s->align;
    return begin < s->rows ? begin : s->rows;
}

bool tessi_share_part(tess_shares *s, const ShareRound *r, int number, size_t pass, tess_part *part)
{
    tess_parts *parts = r->work[number].parts;
    tess_pass shape = { .struct_size = sizeof shape };
    tess_parts_pass(parts, pass, &shape);
    *part = (tess_part){ .struct_size = sizeof *part, .pass = pass, .apart = shape.numbers > 0 };
    for (int d = 0; d < shape.ndim; d++)
        part->end[d] = shape.shape[d];
    part->begin[0] = tessi_share_begin(s, number);
    part->end[0] = tessi_share_begin(s, number + 1);
    return part->begin[0] >= part->end[0] || tess_part_needs(parts, part) == TESS_OK
           || tessi_shares_fail(s, parts);
}

/* What one device is to have of an image. */
typedef struct Extent {
    bool used;
    DLDataType type;
    int ndim;
    int64_t shape[MAX_DIMS + 1]; /* of the whole */
    int64_t from, to, begin, end;
} Extent;

/* Rows that one round reads or leaves. */
static bool widen(tess_shares *s, Extent *e, const Extent *more)
{
    if (!e->used) {
        *e = *more;
        e->used = true;
        return true;
    }
    if (e->begin != more->begin || e->end != more->end)
        return tessi_failf(
            &s->failure, TESS_ERROR_UNSUPPORTED,
            "the rows cannot be shared out: an image is read in parts and as a whole");
    e->from = more->from < e->from ? more->from : e->from;
    e->to = more->to > e->to ? more->to : e->to;
    return true;
}

static bool add_input(tess_shares *s, ShareRound *r, int number, size_t input, Extent *extent)
{
    ShareWork *w = &r->work[number];
    const BoundImage *whole = &w->parts->args->inputs[input];
    Extent e = { .type = whole->tensor.dtype, .ndim = whole->tensor.ndim };
    bool is_whole = false, is_cut = false;
    memcpy(e.shape, whole->shape, sizeof e.shape);
    for (size_t k = 0; k < r->n_passes; k++) {
        tess_part part;
        const tess_part_use use = tess_parts_use(w->parts, k, input);
        is_whole = is_whole || use == TESS_PART_WHOLE;
        if (use != TESS_PART_CUT)
            continue;
        if (!tessi_share_part(s, r, number, k, &part))
            return false;
        e.from = is_cut && e.from < part.from[0] ? e.from : part.from[0];
        e.to = is_cut && e.to > part.to[0] ? e.to : part.to[0];
        e.begin = part.begin[0];
        e.end = part.end[0];
        is_cut = true;
    }
    if (!is_whole && !is_cut)
        return true;
    if (is_whole) {
        e.from = e.begin = 0;
        e.to = e.end = e.shape[0];
    }
    w->from[input] = e.from;
    w->to[input] = e.to;
    if (is_whole && is_cut)
        return tessi_failf(
            &s->failure, TESS_ERROR_UNSUPPORTED,
            "the rows cannot be shared out: '%.100s' is read in parts and as a whole",
            r->program->inputs.at[input].info.name);
    return widen(s, &extent[r->input[input]], &e);
}

static bool add_output(tess_shares *s, ShareRound *r, int number, size_t output, Extent *extent)
{
    const ShareWork *w = &r->work[number];
    RunPass *pass = &w->parts->passes.at[r->n_passes - 1];
    int64_t place[TESS_MAX_SHAPE], mine[TESS_MAX_SHAPE], shape[TESS_MAX_SHAPE];
    Extent e = { .type = pass->program->outputs.at[output].info.dtype };
    if (tess_part_share(w->parts, &w->part, output, place, mine) != TESS_OK
        || tess_result_shape(pass->program, pass->args, output, &e.ndim, shape) != TESS_OK) {
        s->failure = pass->args->failure;
        return s->failure.status ? false : tessi_shares_fail(s, w->parts);
    }
    e.from = tessi_part_first(w->parts, &w->part, output);
    e.to = e.from + shape[0];
    e.begin = place[0];
    e.end = place[0] + mine[0];
    if (tess_result_shape(r->program, r->args, output, &e.ndim, shape) != TESS_OK)
        return no_memory(&s->failure);
    memcpy(e.shape, shape, (size_t)e.ndim * sizeof *shape);
    return widen(s, &extent[r->output[output]], &e);
}

/* Images that may take each other's place have the same rows: what is carried, and those of the size that is cut. */
static void make_alike(const tess_shares *s, Extent *extent)
{
    int64_t from = 0, to = 0;
    bool any = false;
    for (int again = 0; again < 2; again++)
        for (size_t i = 0; i < s->n_images; i++) {
            Extent *e = &extent[i];
            if (!e->used || e->shape[0] != s->rows || e->end - e->begin == s->rows)
                continue;
            if (again) {
                e->from = from;
                e->to = to;
            }
            from = any && from < e->from ? from : e->from;
            to = any && to > e->to ? to : e->to;
            any = true;
        }
    for (size_t k = 0; k < s->n_carried; k++) {
        Extent *now = &extent[s->first_carried + k], *next = now + s->n_carried;
        if (!next->used)
            continue;
        if (!now->used)
            *now = *next;
        now->from = now->from < next->from ? now->from : next->from;
        now->to = now->to > next->to ? now->to : next->to;
        *next = *now;
    }
}

/* Room in the memory of the device, and the view of the rows that it is given for. */
static bool make_image(tess_shares *s, int number, const Extent *e, ShareImage *im)
{
    const ShareRound *r = &s->round[0];
    tess_program *p = r->work[number].parts->passes.at[r->n_passes - 1].program;
    int64_t shape[MAX_DIMS + 1];
    memcpy(shape, e->shape, sizeof shape);
    shape[0] = e->to - e->from;
    if (tess_device_image(p, e->type, e->ndim, shape, &im->image) != TESS_OK) {
        s->failure = p->failure;
        return s->failure.status ? false : no_memory(&s->failure);
    }
    s->share[number].device = ((const OwnedTensor *)im->image)->context->device;
    im->from = e->from;
    im->begin = e->begin;
    im->end = e->end;
    memcpy(im->shape, shape, sizeof shape);
    im->shape[0] = im->end - im->begin;
    im->rows = *im->image;
    im->rows.shape = im->shape;
    const int64_t row = im->image->strides[0] * (e->type.bits / 8);
    im->rows.byte_offset += (uint64_t)((im->begin - im->from) * row);
    return true;
}

static bool find_extents(tess_shares *s, ShareRound *r, int number, Extent *extent)
{
    ShareWork *w = &r->work[number];
    if (!tessi_share_part(s, r, number, r->n_passes - 1, &w->part))
        return false;
    if (w->part.begin[0] >= w->part.end[0])
        return true;
    for (size_t i = 0; i < r->program->inputs.n; i++)
        if (r->input[i] != NO_IMAGE && !add_input(s, r, number, i, extent))
            return false;
    if (!tessi_part_shapes(w->parts, &w->part))
        return tessi_shares_fail(s, w->parts);
    for (size_t o = 0; o < r->program->outputs.n; o++)
        if (!add_output(s, r, number, o, extent))
            return false;
    return true;
}

static bool make_share(tess_shares *s, int number)
{
    Share *of = &s->share[number];
    Extent *extent = calloc(s->n_images, sizeof *extent);
    of->images = calloc(s->n_images, sizeof *of->images);
    bool ok = (extent && of->images) || no_memory(&s->failure);
    for (size_t k = 0; ok && k < s->n_rounds; k++)
        ok = find_extents(s, &s->round[k], number, extent);
    if (ok)
        make_alike(s, extent);
    for (size_t i = 0; ok && i < s->n_images; i++)
        ok = !extent[i].used || make_image(s, number, &extent[i], &of->images[i]);
    free(extent);
    return ok && (!of->device || tessi_device_stream_new(of->device, &of->stream, &s->failure));
}

/* ---- All of it ------------------------------------------------------------------------------- */
static bool make(tess_shares *s, const tess_args *args, bool rounds)
{
    const tess_options *o = &s->program->options;
    if (!s->program->backend->device)
        return tessi_failf(&s->failure, TESS_ERROR_ARGUMENT,
                           "the program's target has no device memory");
    /* Before the programs of shares are made, each of which opens its device in a thread: PoCL is not safe against
     * several that find it at once. */
    if (!tessi_gpu_default_context(s->program, &s->failure))
        return false;
    s->n = o->n_devices > 1 ? o->n_devices : 1;
    s->align = 1;
    s->share = calloc((size_t)s->n, sizeof *s->share);
    if (!s->share)
        return no_memory(&s->failure);
    if (!find_rounds(s, args))
        return false;
    if (rounds && !s->rounds)
        return tessi_failf(&s->failure, TESS_ERROR_UNSUPPORTED, "there are no rounds of turns");
    if (!make_rounds(s, args))
        return false;
    for (int i = 0; i < s->n; i++)
        if (!make_share(s, i))
            return false;
    return true;
}

tess_status tessi_shares_make(tess_program *p, const tess_args *args, bool rounds,
                              tess_shares **shares)
{
    tess_shares *s = *shares = calloc(1, sizeof *s);
    if (!s)
        return TESS_ERROR_MEMORY;
    s->program = p;
    return make(s, args, rounds) ? TESS_OK : (tess_status)s->failure.status;
}

tess_status tess_shares_new(tess_program *p, const tess_args *args, tess_shares **shares)
{
    if (!shares)
        return TESS_ERROR_ARGUMENT;
    *shares = NULL;
    if (!p || !args || args->program != p)
        return TESS_ERROR_ARGUMENT;
    const Rounding callers = tessi_round_to_nearest();
    const tess_status status = tessi_shares_make(p, args, false, shares);
    tessi_round_as(callers);
    return status;
}
