/* Rows into image files as they come: an encoder in a thread of its own. */
#include "rt/image_codec.h"
#include "rt/stream.h"
#include "rt/thread.h"
#include "tessera.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct RtSink {
    char *path;
    RtView view;
    RtStore *store;
    const ImageFormat *format;
    ImageRows rows;
    RtOutput out;
    RtThread thread;
    mtx_t lock; /* guards what follows */
    cnd_t changed;
    bool has_ended, ok, is_closing;
    Failure failure;
    int64_t per;         /* rows of the file in one index of the first dimension */
    size_t row;          /* bytes of one, in the image */
    int64_t begin, end;  /* the rows that are there, of the file */
    const uint8_t *at;   /* row `begin` */
    bool is_taken;       /* the encoder needs none of them any more */
    uint64_t origin;     /* of a file that resumes: where its first row begins */
    uint64_t file_row;   /* and how long rows are there */
    int64_t first, last; /* the rows that come; others are there already, or come from others */
    void *blank;         /* a row for an encoder that has to come to its end */
};

/* ---- The encoder's side ---------------------------------------------------------------------- */
/* The head is written: behind it nothing but rows, of which not all are ours. */
static void begin_rows(RtSink *s)
{
    const bool has_rest = !s->store->share || s->first == 0;
    RtOutput *out = &s->out;
    s->origin = out->at;
    const uint64_t rows = s->origin + (uint64_t)s->rows.n_rows * s->file_row;
    out->gap[0].from = has_rest ? s->origin : 0;
    out->gap[0].to = s->origin + (uint64_t)s->first * s->file_row;
    out->gap[1].from = s->origin + (uint64_t)s->last * s->file_row;
    out->gap[1].to = has_rest ? rows : UINT64_MAX;
}

static const void *row_of(void *user, int64_t k)
{
    RtSink *s = user;
    const void *row = s->blank;
    if (k == 0 && s->file_row)
        begin_rows(s);
    s->rows.passes = k < s->first || k >= s->last;
    if (s->rows.passes)
        return row;
    mtx_lock(&s->lock);
    while (!s->is_closing && k >= s->end) {
        s->is_taken = true;
        cnd_broadcast(&s->changed);
        cnd_wait(&s->changed, &s->lock);
    }
    if (k < s->end && k >= s->begin)
        row = s->at + (size_t)(k - s->begin) * s->row;
    else
        s->out.error = s->out.error ? s->out.error : ECANCELED;
    mtx_unlock(&s->lock);
    return row;
}

static int64_t run_of(void *user, int64_t k)
{
    RtSink *s = user;
    mtx_lock(&s->lock);
    const int64_t n = !s->rows.passes && k >= s->begin && k < s->end ? s->end - k : 1;
    mtx_unlock(&s->lock);
    return n;
}

static int encode(void *user)
{
    RtSink *s = user;
    Failure f = { 0 };
    const bool ok = tessi_image_encode_rows(s->path, s->format, &s->rows, s->store, &s->out, &f);
    mtx_lock(&s->lock);
    s->ok = ok && !s->out.error;
    s->failure = f;
    s->has_ended = s->is_taken = true;
    cnd_broadcast(&s->changed);
    mtx_unlock(&s->lock);
    return 0;
}

/* ---- The other side -------------------------------------------------------------------------- */
static void free_sink(RtSink *s)
{
    tessi_rows_end(&s->rows);
    free(s->blank);
    free(s->path);
    free(s);
}

/* Rows lie one behind the other in the file, all of one length. */
static bool is_even(const RtSink *s)
{
    const RtLayout *layout = &s->store->layout;
    return s->format->even && s->rows.pages == 1 && !layout->tile && !layout->compress;
}

static bool prepare(RtSink *s, Failure *f)
{
    const RtShare *share = s->store->share;
    const char *whole = s->format->streams ? NULL : s->format->name;
    if (whole)
        return tessi_failf(f, TESS_ERROR_ARGUMENT,
                           "%s is not written row by row; PNG, JPEG, TIFF, "
                           "NPY, PGM, PPM and PAM are",
                           whole);
    if (s->store->scale)
        return tessi_failf(f, TESS_ERROR_ARGUMENT,
                           "--scale has to see all values before the first "
                           "is written");
    s->rows.source = row_of;
    s->rows.source_run = run_of;
    s->rows.source_user = s;
    if (!tessi_rows_begin(&s->view, s->format, s->store, &s->rows, f))
        return false;
    if (s->rows.row_begin < 1 || s->rows.n_rows % s->view.shape[0])
        return tessi_failf(f, TESS_ERROR_ARGUMENT,
                           "an image of one dimension is not written row by "
                           "row");
    s->per = s->rows.n_rows / s->view.shape[0];
    s->row =
        tessi_type_info(s->view.dtype)->bytes * (size_t)s->rows.width * (size_t)s->rows.channels;
    s->first = share ? share->from * s->per : s->store->resumes ? s->store->rows_there * s->per : 0;
    s->last = share ? share->to * s->per : s->rows.n_rows;
    s->begin = s->end = s->first;
    if (s->store->resumes && (s->store->layout.tile || s->store->layout.compress))
        return tessi_failf(
            f, TESS_ERROR_ARGUMENT,
            "tiles and compressed strips cannot be gone on with; rows as they are can");
    if (s->store->resumes && !s->format->even)
        return tessi_failf(
            f, TESS_ERROR_ARGUMENT,
            "%s is compressed, and cannot be gone on with; NPY, TIFF, PGM, PPM and PAM "
            "can",
            s->format->name);
    const char *depths = s->format->depths;
    const bool bits = s->rows.type == TYPE_BOOL && depths[0] == '1'; /* eight in a byte */
    if (s->store->resumes && !is_even(s))
        return tessi_failf(f, TESS_ERROR_ARGUMENT,
                           "stacks of pages cannot be gone on with in %s; in NPY they can",
                           s->format->name);
    if (share && !is_even(s))
        return tessi_failf(f, TESS_ERROR_UNSUPPORTED,
                           "its rows do not lie one behind the other: NPY, raw files, TIFF of one "
                           "page without tiles and compression, PGM, PPM and PAM are written by "
                           "several");
    if (s->store->resumes || share)
        s->file_row = bits ? (s->rows.row_bytes + 7) / 8 : s->rows.row_bytes;
    s->blank = calloc(1, s->row);
    return s->blank || tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
}

static bool open_output(RtSink *s, const char *path, Failure *f)
{
    const RtShare *share = s->store->share;
    if (!share)
        return s->store->resumes ? tessi_output_open_part(path, s->first == 0, &s->out, f)
                                 : tessi_output_open(path, s->format->seeks, &s->out, f);
    if (!tessi_output_open_put(share->put, share->user, &s->out, f))
        return false;
    if (s->first > 0) /* the head is others' */
        s->out.gap[0].to = UINT64_MAX;
    return true;
}

bool tessi_sink_can_share(const char *path, const RtView *whole, RtStore *store, Failure *f)
{
    RtSink s = { .view = *whole, .store = store };
    const RtShare all = { .to = whole->shape[0] };
    const RtShare *before = store->share;
    store->share = &all;
    s.format = tessi_image_begin_store(path, &s.view, store, f);
    const bool ok = s.format && prepare(&s, f);
    store->share = before;
    tessi_rows_end(&s.rows);
    free(s.blank);
    return ok;
}

bool tessi_sink_join(const char *path, const RtView *whole, const RtSeen *seen, RtStore *store,
                     Failure *f)
{
    if (!tessi_sink_can_share(path, whole, store, f))
        return false;
    store->n = 1;
    for (int d = 0; d < whole->ndim; d++)
        store->n *= whole->shape[d];
    store->n_saturated = seen->n_saturated;
    store->lo = seen->lo;
    store->hi = seen->hi;
    if (store->converted)
        tessi_rows_find_doubt(whole->dtype, store);
    return !store->strict || store->doubt == RT_DOUBT_NONE
           || tessi_rows_fail_doubt(tessi_image_format_of(path), store, f);
}

bool tessi_sink_open(const char *path, const RtView *whole, RtStore *store, RtSink **sink,
                     Failure *f)
{
    *sink = NULL;
    RtSink *s = calloc(1, sizeof *s);
    if (!s || !(s->path = strdup(path))) {
        free(s);
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    }
    s->view = *whole;
    s->store = store;
    s->format = tessi_image_begin_store(path, &s->view, store, f);
    if (!s->format || !prepare(s, f) || !open_output(s, path, f)) {
        free_sink(s);
        return false;
    }
    if (mtx_init(&s->lock, mtx_plain) == thrd_success && cnd_init(&s->changed) == thrd_success
        && tessi_thread_start(&s->thread, encode, s)) {
        *sink = s;
        return true;
    }
    tessi_output_close(path, &s->out, false, NULL);
    free_sink(s);
    return tessi_failf(f, TESS_ERROR_MEMORY, "no thread can be started for writing");
}

static bool fail_sink(const RtSink *s, Failure *f)
{
    if (s->out.error && s->out.error != ECANCELED)
        return tessi_failf(f, TESS_ERROR_FILE, "cannot write '%.160s': %s", s->path,
                           strerror(s->out.error));
    return tessi_failf(f, s->failure.status ? s->failure.status : TESS_ERROR_FILE,
                       "cannot write '%.160s': %.300s", s->path,
                       s->failure.status ? s->failure.text : "its rows end early");
}

bool tessi_sink_wait(RtSink *s, Failure *f)
{
    mtx_lock(&s->lock);
    while (s->end > s->begin && !s->is_taken && !s->has_ended)
        cnd_wait(&s->changed, &s->lock);
    const bool failed = s->has_ended && (!s->ok || s->end < s->last);
    mtx_unlock(&s->lock);
    return !failed || fail_sink(s, f);
}

bool tessi_sink_write(RtSink *s, const void *rows, int64_t n, Failure *f)
{
    if (!tessi_sink_wait(s, f))
        return false;
    mtx_lock(&s->lock);
    s->begin = s->end;
    s->end += n * s->per;
    s->at = rows;
    s->is_taken = false;
    cnd_broadcast(&s->changed);
    mtx_unlock(&s->lock);
    return true;
}

bool tessi_sink_settle(RtSink *s, int64_t *rows, uint64_t *bytes, Failure *f)
{
    if (!tessi_sink_wait(s, f))
        return false;
    mtx_lock(&s->lock); /* the encoder waits for rows, or has ended */
    const bool ok = tessi_output_sync(&s->out);
    const uint64_t there = s->origin && s->file_row && s->out.size > s->origin
                               ? (s->out.size - s->origin) / s->file_row
                               : 0;
    *rows = (int64_t)(there < (uint64_t)s->end ? there : (uint64_t)s->end) / s->per;
    *bytes = s->out.size;
    mtx_unlock(&s->lock);
    return ok || fail_sink(s, f);
}

bool tessi_sink_close(RtSink *s, bool ok, Failure *f)
{
    if (!s)
        return ok;
    mtx_lock(&s->lock);
    const bool complete = s->end == s->last;
    s->is_closing = !ok || !complete;
    cnd_broadcast(&s->changed);
    mtx_unlock(&s->lock);
    tessi_thread_join(&s->thread);
    tessi_rows_settle(&s->rows, s->last - s->first, s->store);
    const bool doubtful = s->store->strict && s->store->doubt != RT_DOUBT_NONE && !s->store->share;
    if (ok && s->ok && doubtful)
        tessi_rows_fail_doubt(s->format, s->store, &s->failure);
    const bool good = ok && complete && s->ok && !doubtful;
    bool shows = tessi_output_close(s->path, &s->out, good, good ? f : NULL);
    if (ok && !good)
        shows = fail_sink(s, f);
    cnd_destroy(&s->changed);
    mtx_destroy(&s->lock);
    free_sink(s);
    return shows;
}
