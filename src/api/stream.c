/* Public readers and writers of images a few rows at a time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/image_meta.h"
#include "api/image_store.h"
#include "base/rounding.h"
#include "rt/env.h"
#include "rt/stream.h"

struct tess_reader {
    RtReader *reader;
    RtField field[RT_IMAGE_CHANNELS];
    RtRecord record;
    OwnedTensor image;
};

struct tess_writer {
    RtSink *sink;
    RtStore store;
    RtShare share;
    RtMeta meta;
    RtField field[RT_IMAGE_CHANNELS];
    RtRecord record;
    tess_image_store *told;
};

static tess_status say(const Failure *f, char *error, size_t error_size)
{
    if (error && error_size)
        snprintf(error, error_size, "%s", f->text);
    return (tess_status)f->status;
}

/* ---- Reading --------------------------------------------------------------------------------- */
tess_status tess_reader_open(const char *path, const tess_info *want, tess_image_request *request,
                             tess_reader **reader, char *error, size_t error_size)
{
    Failure f = { 0 };
    RtRequest asked;
    if (!path || !want || !request || !reader || request->struct_size != sizeof *request
        || request->page < 0)
        return TESS_ERROR_ARGUMENT;
    *reader = NULL;
    tess_reader *r = calloc(1, sizeof *r);
    if (!r)
        return TESS_ERROR_MEMORY;
    bool ok = tessi_image_request(want, request, r->field, &r->record, &asked);
    if (ok && tessi_record_is_mixed(&r->record))
        ok = tessi_failf(&f, TESS_ERROR_UNSUPPORTED,
                         "pixels with fields of several types are not read row by row");
    ok = ok && tessi_reader_open(path, &asked, &r->reader, &f);
    request->pages = asked.pages_found;
    request->channels = asked.channels_found;
    RtMeta meta = { 0 };
    if (ok && request->meta)
        ok = (tessi_meta_copy(tessi_reader_meta(r->reader), &meta)
              && tessi_meta_give(&meta, request->meta))
             || tessi_failf(&f, TESS_ERROR_MEMORY, "out of memory");
    if (!ok) {
        tess_reader_close(r);
        return f.status ? say(&f, error, error_size) : TESS_ERROR_ARGUMENT;
    }
    const RtImage *image = tessi_reader_image(r->reader);
    tessi_owned_tensor(&r->image, tessi_dl_type(image->dtype), image->ndim, image->shape);
    *reader = r;
    return TESS_OK;
}

void tess_reader_close(tess_reader *r)
{
    if (r)
        tessi_reader_close(r->reader);
    free(r);
}

const DLTensor *tess_reader_image(const tess_reader *r)
{
    return r ? &r->image.tensor : NULL;
}

tess_status tess_reader_order(tess_reader *r, int64_t from, int64_t to, void *rows, char *error,
                              size_t error_size)
{
    Failure f = { 0 };
    if (!r || !rows || from < 0 || to <= from || to > r->image.shape[0])
        return TESS_ERROR_ARGUMENT;
    return tessi_reader_order(r->reader, from, to, rows, &f) ? TESS_OK : say(&f, error, error_size);
}

tess_status tess_reader_wait(tess_reader *r, char *error, size_t error_size)
{
    Failure f = { 0 };
    if (!r)
        return TESS_ERROR_ARGUMENT;
    return tessi_reader_wait(r->reader, &f) ? TESS_OK : say(&f, error, error_size);
}

tess_status tess_reader_look(const tess_reader *r, tess_reader_facts *facts)
{
    if (!r || !facts || facts->struct_size != sizeof *facts)
        return TESS_ERROR_ARGUMENT;
    facts->bytes = tessi_reader_bytes(r->reader);
    facts->starts = tessi_reader_starts(r->reader);
    return TESS_OK;
}

/* ---- Writing --------------------------------------------------------------------------------- */
static bool prepare_sink(tess_writer *w, const DLTensor *whole, RtView *view, Failure *f)
{
    bool any = false;
    DLTensor like = *whole;
    like.data = w; /* which nobody looks at */
    like.device = (DLDevice){ kDLCPU, 0 };
    like.strides = NULL;
    const tess_info *result = w->told->result;
    if (!tessi_image_store(w->told, &w->store)
        || !tessi_image_view_of(&like, result ? result->ndim : w->told->picture_dims, view, f))
        return f->status ? false
                         : tessi_failf(f, TESS_ERROR_ARGUMENT, "a depth is 1, 8 or 16 bits");
    if (result && !tessi_image_record(result, w->field, &w->record))
        return tessi_failf(f, TESS_ERROR_ARGUMENT, "its pixels have too many fields");
    if (result && tessi_record_is_mixed(&w->record))
        return tessi_failf(f, TESS_ERROR_UNSUPPORTED,
                           "pixels with fields of several types are not written row by row");
    if (!tessi_meta_for_result(w->told, view->picture_dims, &w->meta, &any))
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    w->store.meta = any ? &w->meta : NULL;
    w->store.provenance = w->told->provenance;
    const tess_file_share *share = w->told->share;
    tessi_share_of(w->told, &w->share, &w->store);
    return !share
           || (share->put && share->from >= 0 && share->from <= share->to
               && share->to <= whole->shape[0] && !w->told->resumes)
           || tessi_failf(f, TESS_ERROR_ARGUMENT, "a share of rows is none of this image");
}

static bool open_sink(tess_writer *w, const char *path, const DLTensor *whole, Failure *f)
{
    RtView view;
    return prepare_sink(w, whole, &view, f) && tessi_sink_open(path, &view, &w->store, &w->sink, f);
}

/* One without a file. */
static tess_status new_writer(const char *path, const DLTensor *whole, tess_image_store *store,
                              tess_writer **writer)
{
    if (!path || !whole || !store || store->struct_size != sizeof *store)
        return TESS_ERROR_ARGUMENT;
    tess_writer *w = *writer = calloc(1, sizeof *w);
    if (!w)
        return TESS_ERROR_MEMORY;
    w->told = store;
    return TESS_OK;
}

static void free_writer(tess_writer *w)
{
    tessi_meta_dispose(&w->meta);
    free(w);
}

tess_status tess_writer_can_share(const char *path, const DLTensor *whole, tess_image_store *store,
                                  char *error, size_t error_size)
{
    Failure f = { 0 };
    RtView view;
    tess_writer *w;
    const tess_status status = new_writer(path, whole, store, &w);
    if (status != TESS_OK)
        return status;
    const bool ok =
        prepare_sink(w, whole, &view, &f) && tessi_sink_can_share(path, &view, &w->store, &f);
    free_writer(w);
    return ok ? TESS_OK : say(&f, error, error_size);
}

tess_status tess_writer_join(const char *path, const DLTensor *whole, tess_image_store *store,
                             char *error, size_t error_size)
{
    Failure f = { 0 };
    RtView view;
    tess_writer *w;
    const tess_status status = new_writer(path, whole, store, &w);
    if (status != TESS_OK)
        return status;
    const RtSeen seen = { store->n_saturated, store->lo, store->hi };
    const bool ok =
        prepare_sink(w, whole, &view, &f) && tessi_sink_join(path, &view, &seen, &w->store, &f);
    tessi_image_told(&w->store, store);
    if (ok && error && error_size)
        tessi_store_doubt(&w->store, error, error_size);
    free_writer(w);
    return ok ? TESS_OK : say(&f, error, error_size);
}

tess_status tess_writer_open(const char *path, const DLTensor *whole, tess_image_store *store,
                             tess_writer **writer, char *error, size_t error_size)
{
    Failure f = { 0 };
    if (!writer)
        return TESS_ERROR_ARGUMENT;
    *writer = NULL;
    tess_writer *w;
    const tess_status status = new_writer(path, whole, store, &w);
    if (status != TESS_OK)
        return status;
    if (open_sink(w, path, whole, &f)) {
        *writer = w;
        return TESS_OK;
    }
    free_writer(w);
    return say(&f, error, error_size);
}

tess_status tess_writer_add(tess_writer *w, const DLTensor *rows, char *error, size_t error_size)
{
    Failure f = { 0 };
    if (!w || !rows || !rows->data || rows->ndim < 1)
        return TESS_ERROR_ARGUMENT;
    const char *at = (const char *)rows->data + rows->byte_offset;
    return tessi_sink_write(w->sink, at, rows->shape[0], &f) ? TESS_OK : say(&f, error, error_size);
}

tess_status tess_writer_settle(tess_writer *w, int64_t *n_rows, uint64_t *n_bytes, char *error,
                               size_t error_size)
{
    Failure f = { 0 };
    if (!w || !n_rows || !n_bytes)
        return TESS_ERROR_ARGUMENT;
    return tessi_sink_settle(w->sink, n_rows, n_bytes, &f) ? TESS_OK : say(&f, error, error_size);
}

tess_status tess_writer_close(tess_writer *w, int ok, char *error, size_t error_size)
{
    Failure f = { 0 };
    if (!w)
        return TESS_ERROR_ARGUMENT;
    const bool shows = tessi_sink_close(w->sink, ok != 0, &f);
    tessi_image_told(&w->store, w->told);
    if (shows && error && error_size)
        tessi_store_doubt(&w->store, error, error_size);
    free_writer(w);
    return shows ? TESS_OK : f.status ? say(&f, error, error_size) : TESS_ERROR_FILE;
}

uint64_t tess_memory_free(void)
{
    return tessi_memory_free();
}
