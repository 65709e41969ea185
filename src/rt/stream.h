/* Images in files a few rows at a time, so that they need not be in memory as a whole. Decoders and encoders are those
 * of whole images: each runs in a thread of its own, which waits at the rows that nobody has asked for, or that are not
 * there yet. So files are read and written while others compute. "Rows" here are all elements of one index of the first
 * dimension: of a stack a page. */
#ifndef TESSERA_RT_STREAM_H
#define TESSERA_RT_STREAM_H

#include "rt/image.h"

typedef struct RtReader RtReader;
/* Opens a file and reads as far as its head; `want` as in tessi_image_read, of which the texts are borrowed until the
 * end. Refused are files that have to be in memory as a whole: pictures that are stored turned, interlaced or in one
 * piece, images of one dimension, pixels of several types. */
bool tessi_reader_open(const char *path, RtRequest *want, RtReader **reader, Failure *f);
void tessi_reader_close(RtReader *r);
/* Type and shape; it has no data. */
const RtImage *tessi_reader_image(const RtReader *r);
const RtMeta *tessi_reader_meta(const RtReader *r); /* what is known at the head */
const char *tessi_reader_format(const RtReader *r);
/* Bytes that the decoder holds besides the rows that are asked for. */
uint64_t tessi_reader_bytes(const RtReader *r);
/* Has rows from..to put at `at`, from now on; one such order at a time. Rows before those of the last order are read
 * again from the beginning, in formats that do not know where rows are. */
bool tessi_reader_order(RtReader *r, int64_t from, int64_t to, void *at, Failure *f);
/* Waits until the rows of the order are there. */
bool tessi_reader_wait(RtReader *r, Failure *f);
int tessi_reader_starts(const RtReader *r); /* how often the file was read from the beginning */

typedef struct RtSink RtSink;
/* Begins a file of an image like `whole`, whose data are not looked at. `store` as in tessi_image_write, borrowed until
 * the end; it can neither scale, nor hold formats that are written from behind or at once. */
bool tessi_sink_open(const char *path, const RtView *whole, RtStore *store, RtSink **sink,
                     Failure *f);
/* Whether such a file can be written by several, each its share of the rows (store->share). */
bool tessi_sink_can_share(const char *path, const RtView *whole, RtStore *store, Failure *f);
/* What the values of all shares were together: fills in the doubt about the file; false where it is one too many. */
typedef struct RtSeen {
    int64_t n_saturated;
    double lo, hi;
} RtSeen;
bool tessi_sink_join(const char *path, const RtView *whole, const RtSeen *seen, RtStore *store,
                     Failure *f);
/* The next n rows, which lie one behind the other; they are read until tessi_sink_wait. */
bool tessi_sink_write(RtSink *s, const void *rows, int64_t n, Failure *f);
bool tessi_sink_wait(RtSink *s, Failure *f);
/* What was written reaches the disk: so many rows are there, in a file of so many bytes. */
bool tessi_sink_settle(RtSink *s, int64_t *rows, uint64_t *bytes, Failure *f);
/* Ends the file, which shows under its name if all rows are there and `ok`; else nothing is left, or with
 * store->resumes what there is. Frees the sink. */
bool tessi_sink_close(RtSink *s, bool ok, Failure *f);

#endif
