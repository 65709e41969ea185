/* Rows of image files as they are wanted: a decoder in a thread of its own. */
#include "rt/image_codec.h"
#include "rt/stream.h"
#include "rt/thread.h"
#include "tessera.h"

#include <stdlib.h>
#include <string.h>

struct RtReader {
    char *path;
    RtRequest want;
    RtThread thread;
    mtx_t lock; /* guards what follows, but for the decoder's own */
    cnd_t changed;
    /* By the decoder's thread: */
    bool has_head, has_ended;
    Failure failure;
    RtImage image; /* without data */
    RtMeta meta;
    uint64_t bytes;
    int64_t per; /* rows of the file in one index of the first dimension */
    size_t row;  /* bytes of a row of the file in the image */
    /* The order, in rows of the file: */
    bool has_order, is_closing;
    int64_t from, to, next; /* next: the first that is not there yet */
    uint8_t *at;
    int starts;
};

/* ---- The decoder's side ---------------------------------------------------------------------- */
static bool fail_whole(Failure *f, const char *why)
{
    return tessi_failf(f, TESS_ERROR_UNSUPPORTED, "its rows cannot be read one by one: %s", why);
}

static bool begin(void *user, const ImageDecode *d, uint64_t bytes, Failure *f)
{
    RtReader *r = user;
    const RtImage *image = d->image;
    if (image->ndim < 2 || d->n_rows % image->shape[0])
        return fail_whole(f, image->ndim < 2 ? "it has one dimension" : "they are too short");
    if (d->want->turn && d->meta.orientation > 1)
        return fail_whole(f,
                          "it is stored turned or mirrored; --no-orient reads it as it is stored");
    if (d->band > 1 && d->band == d->n_rows && d->head.ndim > 1 && bytes > (1 << 24))
        return fail_whole(f, "they are stored interlaced or in one piece");
    mtx_lock(&r->lock);
    if (!r->has_head) {
        r->image = *image;
        r->per = d->n_rows / image->shape[0];
        r->row = d->image_row;
        r->bytes = bytes;
        if (!tessi_meta_copy(&d->meta, &r->meta))
            r->meta = (RtMeta){ 0 };
        r->has_head = true;
    }
    const bool same = r->row == d->image_row && r->image.shape[0] == image->shape[0];
    cnd_broadcast(&r->changed);
    while (!r->has_order && !r->is_closing)
        cnd_wait(&r->changed, &r->lock);
    const bool ok = !r->is_closing;
    mtx_unlock(&r->lock);
    return same ? ok : tessi_failf(f, TESS_ERROR_FILE, "it has changed while it was read");
}

static int64_t first(void *user)
{
    const RtReader *r = user;
    return r->from;
}

static int64_t run(void *user, int64_t k, uint8_t **at)
{
    RtReader *r = user;
    *at = NULL;
    mtx_lock(&r->lock);
    while (!r->is_closing && k >= r->to)
        cnd_wait(&r->changed, &r->lock);
    if (!r->is_closing && k >= r->from)
        *at = r->at + (size_t)(k - r->from) * r->row;
    const int64_t n = *at ? r->to - k : 1;
    mtx_unlock(&r->lock);
    return n;
}

static uint8_t *place(void *user, int64_t k)
{
    uint8_t *at;
    run(user, k, &at);
    return at;
}

static bool done(void *user, int64_t k)
{
    RtReader *r = user;
    mtx_lock(&r->lock);
    if (k >= r->from)
        r->next = k + 1;
    if (r->next == r->to)
        cnd_broadcast(&r->changed);
    const bool ok = !r->is_closing;
    mtx_unlock(&r->lock);
    return ok;
}

static int decode(void *user)
{
    RtReader *r = user;
    RtImage image;
    Failure f = { 0 };
    RtRequest want = r->want;
    const RowTaker taker = { r, begin, first, place, run, done };
    want.taker = &taker;
    want.meta = NULL;
    const bool ok = tessi_image_read(r->path, &want, &image, &f);
    mtx_lock(&r->lock);
    r->want.format_found = want.format_found;
    memcpy(r->want.packed_found, want.packed_found, sizeof want.packed_found);
    r->want.pages_found = want.pages_found;
    r->want.channels_found = want.channels_found;
    if (!ok)
        r->failure = f;
    r->has_ended = true;
    cnd_broadcast(&r->changed);
    mtx_unlock(&r->lock);
    return 0;
}

/* ---- The other side -------------------------------------------------------------------------- */
static bool start(RtReader *r, Failure *f)
{
    r->has_ended = r->is_closing = false;
    r->failure = (Failure){ 0 };
    r->starts++;
    return tessi_thread_start(&r->thread, decode, r)
           || tessi_failf(f, TESS_ERROR_MEMORY, "no thread can be started for reading");
}

static void stop(RtReader *r)
{
    mtx_lock(&r->lock);
    r->is_closing = true;
    cnd_broadcast(&r->changed);
    mtx_unlock(&r->lock);
    tessi_thread_join(&r->thread);
    r->thread = (RtThread){ 0 };
}

bool tessi_reader_open(const char *path, RtRequest *want, RtReader **reader, Failure *f)
{
    RtReader *r = *reader = calloc(1, sizeof *r);
    if (!r || !(r->path = strdup(path)) || mtx_init(&r->lock, mtx_plain) != thrd_success) {
        free(r ? r->path : NULL);
        free(r);
        *reader = NULL;
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    }
    cnd_init(&r->changed);
    r->want = *want;
    bool ok = start(r, f);
    if (ok) {
        mtx_lock(&r->lock);
        while (!r->has_head && !r->has_ended)
            cnd_wait(&r->changed, &r->lock);
        ok = r->has_head;
        if (!ok && f)
            *f = r->failure;
        mtx_unlock(&r->lock);
    }
    if (ok)
        return true;
    if (r->has_ended) { /* so that what was found can be told of */
        want->pages_found = r->want.pages_found;
        want->channels_found = r->want.channels_found;
    }
    tessi_reader_close(r);
    *reader = NULL;
    return false;
}

void tessi_reader_close(RtReader *r)
{
    if (!r)
        return;
    if (r->starts)
        stop(r);
    cnd_destroy(&r->changed);
    mtx_destroy(&r->lock);
    tessi_meta_dispose(&r->meta);
    free(r->path);
    free(r);
}

const RtImage *tessi_reader_image(const RtReader *r)
{
    return &r->image;
}

const RtMeta *tessi_reader_meta(const RtReader *r)
{
    return &r->meta;
}

uint64_t tessi_reader_bytes(const RtReader *r)
{
    return r->bytes;
}

int tessi_reader_starts(const RtReader *r)
{
    return r->starts;
}

bool tessi_reader_order(RtReader *r, int64_t from, int64_t to, void *at, Failure *f)
{
    const bool again = r->has_order && from * r->per < r->next;
    if (again)
        stop(r);
    mtx_lock(&r->lock);
    r->from = r->next = from * r->per;
    r->to = to * r->per;
    r->at = at;
    r->has_order = true;
    cnd_broadcast(&r->changed);
    mtx_unlock(&r->lock);
    return !again || start(r, f);
}

bool tessi_reader_wait(RtReader *r, Failure *f)
{
    mtx_lock(&r->lock);
    /* With the last row the end of the file is looked at too. */
    const bool last = r->to == r->image.shape[0] * r->per;
    while (!r->has_ended && (r->next < r->to || last))
        cnd_wait(&r->changed, &r->lock);
    const bool ok = r->next >= r->to && !r->failure.status;
    if (!ok && f)
        *f = r->failure;
    mtx_unlock(&r->lock);
    return ok;
}
