/* Runs in parts, on several devices at a time or on one that is too small for the whole: each device has a share of the
 * rows of the images, which lie in memory of the host, and computes it in as many parts as its memory asks for. What a
 * part is, and what around it matters, is known to tess_parts; each device has one of its own, in a thread. Numbers of
 * whole images are joined after each pass, in the order of the rows. */
#include "api/devices.h"

#include <stdlib.h>
#include <string.h>

#include "api/part.h"
#include "api/shares.h"
#include "rt/bytes.h"
#include "rt/clock.h"
#include "rt/thread.h"

/* One device at work on a pass. */
typedef struct Member {
    DeviceTeam *team;
    tess_args *a; /* of the run: inputs are read, of results each writes its rows */
    tess_parts *parts;
    RtThread thread;
    int64_t begin, end, height; /* its rows, and those of a part */
    int n_parts;
    tess_status status;
} Member;

struct DeviceTeam {
    tess_program *program;
    const Variant *v;
    Member *member;
    int n;
    size_t pass;
    tess_pass shape;
    tess_shares
        *rounds;  /* turns in rounds, over images in memory of the devices; NULL: all in one run */
    int64_t *key; /* what the parts were made for: shapes and numbers */
    size_t n_key;
};

/* ---- Making ---------------------------------------------------------------------------------- */
void tessi_devices_free(DeviceTeam *t)
{
    for (int i = 0; t && i < t->n; i++)
        tess_parts_free(t->member[i].parts);
    if (t) {
        tess_shares_free(t->rounds);
        free(t->member);
        free(t->key);
    }
    free(t);
}

/* All that parts depend on, as words. */
static void write_key(const tess_program *p, const tess_args *a, RtBytes *key)
{
    for (uint32_t i = 0; i < p->inputs.n; i++) {
        const DLTensor *t = &a->inputs[i].tensor;
        tessi_bytes_add(key, &a->scalars[i], sizeof a->scalars[i]);
        tessi_bytes_add(key, &t->ndim, sizeof t->ndim);
        for (int d = 0; d < t->ndim; d++)
            tessi_bytes_add(key, &t->shape[d], sizeof t->shape[d]);
    }
}

static DeviceTeam *new_team(const Run *run, const int *device, int n, Failure *f)
{
    DeviceTeam *t = calloc(1, sizeof *t);
    if (t)
        t->member = calloc((size_t)n, sizeof *t->member);
    if (!t || !t->member) {
        free(t);
        tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
        return NULL;
    }
    t->program = run->p;
    t->v = run->v;
    t->n = n;
    if (n > 1 && tessi_shares_make(run->p, run->a, true, &t->rounds) == TESS_OK)
        return t;
    tess_shares_free(t->rounds);
    t->rounds = NULL;
    for (int i = 0; i < n; i++) {
        Member *m = &t->member[i];
        m->team = t;
        if (tessi_parts_new_on(run->p, run->a, device[i], &m->parts) == TESS_OK)
            continue;
        if (m->parts)
            *f = m->parts->failure;
        else
            tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
        tessi_devices_free(t);
        return NULL;
    }
    return t;
}

/* That of the run before, where it was made for the same. */
static DeviceTeam *team_for(const Run *run, const int *device, int n, Failure *f)
{
    tess_args *a = run->a;
    RtBytes key = { 0 };
    write_key(run->p, a, &key);
    DeviceTeam *t = a->team;
    if (t && !key.failed && t->v == run->v && t->n == n && t->n_key == key.n
        && memcmp(t->key, key.at, key.n) == 0) {
        tessi_bytes_dispose(&key);
        return t;
    }
    tessi_devices_free(t);
    a->team = t = key.failed ? NULL : new_team(run, device, n, f);
    if (t) {
        t->key = (int64_t *)(void *)key.at;
        t->n_key = key.n;
        return t;
    }
    tessi_bytes_dispose(&key);
    return NULL;
}

/* ---- Images ---------------------------------------------------------------------------------- */
/* The points of `from`, whose extents they are, to those of `to`, both from their data on. */
static void copy_elements(const DLTensor *from, const DLTensor *to)
{
    const size_t size = from->dtype.bits / 8u;
    const int last = from->ndim - 1;
    const bool together = from->strides[last] == 1 && to->strides[last] == 1;
    int64_t at[MAX_DIMS + 1] = { 0 };
    for (int d = 0; d < from->ndim; d++)
        if (from->shape[d] < 1)
            return;
    for (bool more = true; more;) {
        int64_t here = 0, there = 0;
        for (int d = 0; d < from->ndim; d++) {
            here += at[d] * from->strides[d];
            there += at[d] * to->strides[d];
        }
        const int64_t n = together ? from->shape[last] : 1;
        memcpy((char *)to->data + there * (int64_t)size, (char *)from->data + here * (int64_t)size,
               (size_t)n * size);
        at[last] += n;
        int d = last;
        for (; d >= 0 && at[d] == from->shape[d]; d--) {
            at[d] = 0;
            if (d > 0)
                at[d - 1]++;
        }
        more = d >= 0;
    }
}

/* A copy of rows beyond the edges of an image that goes on as it begins. */
static DLTensor *copy_around(const DLTensor *t, int64_t from, int64_t to)
{
    int64_t shape[MAX_DIMS + 1];
    memcpy(shape, t->shape, (size_t)t->ndim * sizeof *shape);
    shape[0] = to - from;
    DLTensor *copy = tess_image_new(t->dtype, t->ndim, shape);
    const int64_t size = t->dtype.bits / 8;
    for (int64_t y = from; copy && y < to; y++) {
        DLTensor row = *t, at = *copy;
        row.data = (char *)t->data + tessi_floormod(y, t->shape[0]) * t->strides[0] * size;
        at.data = (char *)copy->data + (y - from) * copy->strides[0] * size;
        row.shape = at.shape = shape;
        shape[0] = 1;
        copy_elements(&row, &at);
    }
    return copy;
}

/* Points from..to of the first dimension, where they lie or as a copy. */
static bool slice(const DLTensor *t, const tess_part *part, DLTensor *view, int64_t *shape,
                  DLTensor **copy)
{
    const int64_t from = part->from[0], to = part->to[0];
    *copy = NULL;
    if (from < 0 || to > t->shape[0]) {
        *copy = copy_around(t, from, to);
        if (*copy)
            *view = **copy;
        return *copy != NULL;
    }
    *view = *t;
    memcpy(shape, t->shape, (size_t)t->ndim * sizeof *shape);
    shape[0] = to - from;
    view->shape = shape;
    view->data = (char *)t->data + from * t->strides[0] * (t->dtype.bits / 8);
    return true;
}

typedef struct PartImages {
    const DLTensor **image;
    DLTensor *view, **copy;
    int64_t (*shape)[MAX_DIMS + 1];
    uint32_t n;
} PartImages;

static void free_images(PartImages *im)
{
    for (uint32_t i = 0; im->copy && i < im->n; i++)
        tess_image_free(im->copy[i]);
    free(im->image);
    free(im->view);
    free(im->copy);
    free(im->shape);
}

static bool make_images(const Member *m, const tess_part *part, PartImages *im)
{
    const tess_program *p = m->team->program;
    const size_t n = im->n = p->inputs.n;
    im->image = calloc(n + 1, sizeof *im->image);
    im->view = calloc(n + 1, sizeof *im->view);
    im->copy = calloc(n + 1, sizeof *im->copy);
    im->shape = calloc(n + 1, sizeof *im->shape);
    bool ok = im->image && im->view && im->copy && im->shape;
    for (size_t i = 0; ok && i < n; i++) {
        const tess_part_use use = tess_parts_use(m->parts, part->pass, i);
        im->image[i] = &m->a->inputs[i].tensor;
        if (use != TESS_PART_CUT)
            continue;
        ok = slice(&m->a->inputs[i].tensor, part, &im->view[i], im->shape[i], &im->copy[i]);
        im->image[i] = &im->view[i];
    }
    return ok;
}

/* ---- One device ------------------------------------------------------------------------------ */
typedef struct PartResults {
    const DLTensor **result;
    DLTensor *view;
    int64_t (*shape)[MAX_DIMS + 1];
    PartRows *rows;
} PartResults;

static void free_results(PartResults *r)
{
    free(r->result);
    free(r->view);
    free(r->shape);
    free(r->rows);
}

/* Where in the caller's memory the rows of result o go that a part decides. What comes whole with each part is taken of
 * the first one. */
static bool place_result(const Member *m, const tess_part *part, uint32_t o, PartResults *r)
{
    RunPass *pass = &m->parts->passes.at[part->pass];
    const DLTensor *to = &m->a->outputs[o].tensor;
    int64_t place[TESS_MAX_SHAPE], mine[TESS_MAX_SHAPE];
    int ndim;
    if (tess_result_shape(pass->program, pass->args, o, &ndim, r->shape[o]) != TESS_OK
        || tess_part_share(m->parts, part, o, place, mine) != TESS_OK)
        return false;
    const int64_t first = tessi_part_first(m->parts, part, o);
    if (mine[0] == to->shape[0] && part->begin[0] > 0)
        return true;
    r->view[o] = *to;
    r->view[o].shape = r->shape[o];
    r->view[o].data = (char *)to->data + first * to->strides[0] * (to->dtype.bits / 8);
    r->rows[o] = (PartRows){ true, place[0] - first, mine[0] };
    r->result[o] = &r->view[o];
    return true;
}

static tess_status make_results(const Member *m, const tess_part *part, PartResults *r)
{
    const uint32_t n = m->team->program->outputs.n;
    r->result = calloc(n + 1, sizeof *r->result);
    r->view = calloc(n + 1, sizeof *r->view);
    r->shape = calloc(n + 1, sizeof *r->shape);
    r->rows = calloc(n + 1, sizeof *r->rows);
    if (!r->result || !r->view || !r->shape || !r->rows)
        return TESS_ERROR_MEMORY;
    if (!tessi_part_shapes(m->parts, part))
        return (tess_status)m->parts->failure.status;
    for (uint32_t o = 0; o < n; o++)
        if (!place_result(m, part, o, r))
            return TESS_ERROR_INTERNAL;
    return TESS_OK;
}

static tess_status run_one(Member *m, tess_part *part)
{
    const bool has_results = !m->team->shape.numbers;
    PartImages im = { 0 };
    PartResults r = { 0 };
    tess_status status = tess_part_needs(m->parts, part);
    if (status == TESS_OK && !make_images(m, part, &im))
        status = TESS_ERROR_MEMORY;
    if (status == TESS_OK && has_results)
        status = make_results(m, part, &r);
    if (status == TESS_OK)
        status = tessi_run_part_on(m->parts, part, im.image, has_results ? r.result : NULL,
                                   has_results ? r.rows : NULL, NULL);
    free_images(&im);
    free_results(&r);
    return status;
}

/* Its rows, in lower and lower parts where the memory of the device is short. */
static int run_share(void *user)
{
    Member *m = user;
    const tess_pass *shape = &m->team->shape;
    m->status = TESS_OK;
    for (int64_t at = m->begin; at < m->end && m->status == TESS_OK;) {
        tess_part part = { .struct_size = sizeof part, .pass = m->team->pass };
        for (int d = 0; d < shape->ndim; d++)
            part.end[d] = shape->shape[d];
        part.begin[0] = at;
        part.end[0] = shape->ndim == 0 ? 0 : m->end - at > m->height ? at + m->height : m->end;
        part.apart = shape->numbers > 0;
        m->status = run_one(m, &part);
        if (m->status == TESS_ERROR_MEMORY && shape->cut[0] && m->height > shape->align[0]) {
            const int64_t half = m->height / 2 / shape->align[0] * shape->align[0];
            m->height = half > shape->align[0] ? half : shape->align[0];
            m->status = TESS_OK;
            continue;
        }
        m->n_parts++;
        at = shape->ndim == 0 ? m->end : part.end[0];
    }
    return 0;
}

/* ---- All of them ----------------------------------------------------------------------------- */
static int64_t share_begin(const DeviceTeam *t, int i)
{
    const tess_pass *shape = &t->shape;
    const int64_t all = shape->ndim ? shape->shape[0] : 1;
    if (!shape->ndim || !shape->cut[0])
        return i == 0 ? 0 : all;
    const int64_t units = (all + shape->align[0] - 1) / shape->align[0];
    const int64_t begin = (units * i + t->n - 1) / t->n * shape->align[0];
    return begin < all ? begin : all;
}

static bool give_up(const Member *m, Failure *f)
{
    if (m->parts->failure.status)
        *f = m->parts->failure;
    else
        tessi_failf(f, (int)m->status,
                    m->status == TESS_ERROR_MEMORY ? "out of memory" : "a part failed");
    return false;
}

static bool join_numbers(DeviceTeam *t, Failure *f)
{
    RtBytes all = { 0 };
    bool ok = true;
    for (int i = 0; i < t->n && ok; i++) {
        const void *bytes;
        size_t n;
        ok = tess_part_numbers(t->member[i].parts, t->pass, &bytes, &n) == TESS_OK;
        if (ok && n)
            tessi_bytes_add(&all, bytes, n);
    }
    ok = (ok && !all.failed) || tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    for (int i = 0; i < t->n && ok; i++) {
        t->member[i].status = tess_parts_join(t->member[i].parts, t->pass, all.at, all.n);
        ok = t->member[i].status == TESS_OK || give_up(&t->member[i], f);
    }
    tessi_bytes_dispose(&all);
    return ok;
}

static bool run_pass(DeviceTeam *t, Failure *f)
{
    t->shape = (tess_pass){ .struct_size = sizeof t->shape };
    if (tess_parts_pass(t->member[0].parts, t->pass, &t->shape) != TESS_OK)
        return give_up(&t->member[0], f);
    bool ok = true;
    for (int i = 0; i < t->n; i++) {
        Member *m = &t->member[i];
        m->begin = share_begin(t, i);
        m->end = share_begin(t, i + 1);
        m->height = m->end - m->begin;
        m->status = TESS_OK;
        if (i > 0 && m->begin < m->end && !tessi_thread_start(&m->thread, run_share, m))
            run_share(m); /* there are no threads: then one after the other */
    }
    run_share(&t->member[0]);
    for (int i = 1; i < t->n; i++)
        tessi_thread_join(&t->member[i].thread);
    for (int i = 0; i < t->n && ok; i++)
        ok = t->member[i].status == TESS_OK || give_up(&t->member[i], f);
    return ok && (!t->shape.numbers || join_numbers(t, f));
}

/* Whether the results can be computed in parts of rows. */
static bool is_cut(const DeviceTeam *t, Failure *f)
{
    const size_t last = tess_parts_passes(t->member[0].parts) - 1;
    tess_pass pass = { .struct_size = sizeof pass };
    if (tess_parts_pass(t->member[0].parts, last, &pass) != TESS_OK)
        return give_up(&t->member[0], f);
    return (pass.ndim && pass.cut[0])
           || tessi_failf(f, TESS_ERROR_UNSUPPORTED, "%.400s",
                          pass.ndim ? pass.why[0] : "it reads no images");
}

static bool run_all(const Run *run, const int *device, int n, Failure *f)
{
    const double start = tessi_clock_ms();
    DeviceTeam *t = team_for(run, device, n, f);
    if (!t)
        return false;
    if (t->rounds) {
        const bool ok = tessi_shares_run_host(t->rounds, run->a);
        *f = t->rounds->failure;
        run->a->timing.run_ms = tessi_clock_ms() - start;
        run->a->timing.strips += t->n;
        return ok;
    }
    for (int i = 0; i < t->n; i++) {
        t->member[i].a = run->a;
        t->member[i].n_parts = 0;
        t->member[i].thread = (RtThread){ 0 };
    }
    if (!is_cut(t, f))
        return false;
    for (t->pass = 0; t->pass < tess_parts_passes(t->member[0].parts); t->pass++)
        if (!run_pass(t, f))
            return false;
    run->a->timing.run_ms = tessi_clock_ms() - start;
    for (int i = 0; i < t->n; i++)
        run->a->timing.strips += t->member[i].n_parts;
    return true;
}

/* Images that lie on a device stay there. */
static bool is_on_host(const Run *run)
{
    const int32_t memory = run->backend->device->memory;
    for (uint32_t i = 0; i < run->p->inputs.n; i++)
        if (run->a->inputs[i].set && run->a->inputs[i].tensor.device.device_type == memory)
            return false;
    for (uint32_t o = 0; o < run->p->outputs.n; o++)
        if (run->a->outputs[o].tensor.device.device_type == memory)
            return false;
    return true;
}

static bool cannot(Failure *f)
{
    return tessi_failf(f, TESS_ERROR_UNSUPPORTED, "its images lie in memory of one device");
}

bool tessi_run_on_devices(const Run *run, Failure *f)
{
    const tess_options *o = &run->p->options;
    return is_on_host(run) ? run_all(run, o->devices, o->n_devices, f) : cannot(f);
}

bool tessi_run_in_parts(const Run *run, Failure *f)
{
    return is_on_host(run) ? run_all(run, &run->p->options.device, 1, f) : cannot(f);
}
