/* Strips of teams: numbers of whole images from all, results to files that all write, or by rank 0 to those that only
 * one can write. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/strips_run.h"

/* ---- Numbers --------------------------------------------------------------------------------- */
bool cli_team_join(Strips *s, size_t pass)
{
    Team *t = s->line->team;
    const void *own = NULL;
    char *all = NULL;
    size_t n = 0, n_all = 0;
    if (tess_part_numbers(s->parts, pass, &own, &n) != TESS_OK || !t->gather(own, n, &all, &n_all))
        return cli_fail("out of memory"), false;
    const bool ok = tess_parts_join(s->parts, pass, all, n_all) == TESS_OK;
    free(all);
    return ok || (cli_fail("%s", tess_parts_error(s->parts)), false);
}

/* ---- Ways to files --------------------------------------------------------------------------- */
/* The rows of a result that a rank has. */
static bool rows_of(const Strips *s, int rank, size_t number, int64_t *first, int64_t *n)
{
    const size_t last = s->n_passes - 1;
    const StripPass *pass = &s->pass[last];
    int64_t place[TESS_MAX_SHAPE], shape[TESS_MAX_SHAPE];
    tess_part part = { .struct_size = sizeof part, .pass = last };
    *first = *n = 0;
    for (int d = 0; d < pass->pass.ndim; d++)
        part.end[d] = pass->pass.shape[d];
    cli_strips_share(s, last, rank, &part.begin[0], &part.end[0]);
    if (part.begin[0] >= part.end[0] || rank % pass->columns)
        return true; /* others have all of it, or write it */
    if (tess_part_share(s->parts, &part, number, place, shape) != TESS_OK)
        return cli_fail("%s", tess_parts_error(s->parts)), false;
    *first = place[0];
    *n = shape[0];
    return true;
}

/* It stays where it is computed. */
static bool keep(StripRun *r, size_t number)
{
    const Strips *s = r->s;
    Team *t = s->line->team;
    StripOutput *o = &r->output[number];
    const size_t size = (size_t)t->size;
    int64_t *first = calloc(2 * size, sizeof *first);
    bool ok = first != NULL;
    for (int rank = 0; ok && rank < t->size; rank++) {
        int64_t n;
        ok = rows_of(s, rank, number, &first[rank], &n);
        /* What does not grow with the images comes whole to all, and is the first one's. */
        first[size + (size_t)rank] = first[rank] + (rank && n == o->extent[0] ? 0 : n);
    }
    o->way = KEPT;
    o->shape.dtype = o->info.dtype;
    if (ok)
        o->kept =
            cli_team_image_new(t, s->line->outputs[o->output], &o->shape, first, first + size);
    free(first);
    return o->kept || (cli_fail("out of memory"), false);
}

bool cli_team_output(StripRun *r, size_t number)
{
    const Strips *s = r->s;
    Team *t = s->line->team;
    StripOutput *o = &r->output[number];
    char error[ERROR_SIZE] = "";
    int64_t first, n;
    o->way = HERE;
    if (s->line->keeps && o->output != SIZE_MAX)
        return keep(r, number);
    if (!rows_of(s, 0, number, &first, &n))
        return false;
    if (o->output == SIZE_MAX || n == o->extent[0])
        return true;
    const char *path = s->line->outputs[o->output];
    o->shape.dtype = o->info.dtype;
    const tess_status status =
        tess_writer_can_share(path, &o->shape, &o->store, error, sizeof error);
    o->way = status == TESS_OK ? SHARED : SENT;
    if (o->way == SENT)
        return true;
    if (!rows_of(s, t->rank, number, &first, &n) || !(o->file = t->open(path, error, sizeof error)))
        return cli_fail_about(path, error, ""), false;
    o->share = (tess_file_share){ first, first + n, t->put, o->file };
    o->store.share = &o->share;
    return true;
}

bool cli_team_has_order(Strips *s)
{
    bool in_order = false;
    for (size_t i = 0; s->line->team && i < s->n_passes; i++)
        in_order = in_order || tess_parts_in_order(s->parts, i);
    if (in_order)
        snprintf(s->why, sizeof s->why, "what goes along the rows takes them in order");
    return in_order;
}

/* ---- Rows of which several have columns ------------------------------------------------------ */
bool cli_team_settle_heights(Strips *s)
{
    const Team *t = s->line->team;
    for (size_t k = 0; t && k < s->n_passes; k++) {
        int64_t *all = NULL;
        size_t n;
        if (!t->gather(&s->pass[k].height, sizeof *all, (char **)&all, &n))
            return cli_fail("out of memory"), false;
        for (int i = 0; i < t->size; i++)
            if (all[i] < s->pass[k].height)
                s->pass[k].height = all[i];
        free(all);
    }
    return true;
}

/* Bytes of a point of dimension 1, with all that lies in it. */
static size_t column_bytes(const DLTensor *t)
{
    size_t bytes = t->dtype.bits / 8u;
    for (int d = 2; d < t->ndim; d++)
        bytes *= (size_t)t->shape[d];
    return bytes;
}

/* Columns from `first` on of rows that are `wide` columns. */
static void put_columns(char *rows, int64_t n_rows, int64_t wide, int64_t first, const char *from,
                        size_t stride, int64_t n, size_t column)
{
    for (int64_t y = 0; y < n_rows; y++)
        memcpy(rows + (size_t)(y * wide + first) * column, from + (size_t)y * stride,
               (size_t)n * column);
}

static bool columns_of(const StripRun *r, int rank, size_t number, int64_t *first, int64_t *n)
{
    const Strips *s = r->s;
    const size_t last = s->n_passes - 1;
    int64_t place[TESS_MAX_SHAPE], shape[TESS_MAX_SHAPE];
    tess_part part = { .struct_size = sizeof part, .pass = last };
    for (int d = 0; d < s->pass[last].pass.ndim; d++)
        part.end[d] = s->pass[last].pass.shape[d];
    cli_strips_columns(s, last, rank, &part.begin[1], &part.end[1]);
    if (tess_part_share(s->parts, &part, number, place, shape) != TESS_OK)
        return cli_fail("%s", tess_parts_error(s->parts)), false;
    *first = place[1];
    *n = shape[1];
    return true;
}

bool cli_team_shares_columns(const StripRun *r, size_t number, bool *shared, bool *has_it)
{
    const Team *team = r->s->line->team;
    const int columns = r->s->pass[r->s->n_passes - 1].columns;
    *shared = false;
    *has_it = !team || team->rank % (columns > 1 ? columns : 1) == 0;
    for (int k = 0; team && columns > 1 && k < 2; k++) {
        int64_t first, n;
        if (r->output[number].shape.ndim < 2)
            return true;
        if (!columns_of(r, k, number, &first, &n))
            return false;
        *shared = *shared || n < r->output[number].extent[1];
    }
    return true;
}

/* The columns of another one. */
static bool take_columns(StripRun *r, int rank, size_t number, const DLTensor *t, char *rows)
{
    const int64_t wide = r->output[number].extent[1];
    int64_t first, n;
    char *text = NULL;
    size_t bytes;
    if (!columns_of(r, rank, number, &first, &n) || !r->s->line->team->receive(rank, &text, &bytes))
        return cli_fail("out of memory"), false;
    const size_t column = column_bytes(t), stride = (size_t)n * column;
    const bool ok = bytes == stride * (size_t)t->shape[0];
    if (ok)
        put_columns(rows, t->shape[0], wide, first, text, stride, n, column);
    free(text);
    return ok || (cli_fail("internal error: processes share rows of different strips"), false);
}

bool cli_team_join_columns(StripRun *r, size_t number, const DLTensor *t)
{
    const Team *team = r->s->line->team;
    StripOutput *o = &r->output[number];
    const int columns = r->s->pass[r->s->n_passes - 1].columns, at = team->rank % columns;
    const bool is_first = at == 0;
    const int64_t wide = is_first ? o->extent[1] : t->shape[1];
    const size_t column = column_bytes(t), row = (size_t)wide * column;
    char *rows = malloc(row * (size_t)t->shape[0] + 1);
    if (!rows)
        return cli_fail("out of memory"), false;
    put_columns(rows, t->shape[0], wide, 0, (const char *)t->data + t->byte_offset,
                (size_t)t->strides[0] * (t->dtype.bits / 8u), t->shape[1], column);
    if (!is_first) {
        const bool ok = team->send(team->rank - at, rows, row * (size_t)t->shape[0]);
        free(rows);
        return ok;
    }
    bool ok = true;
    for (int k = 1; ok && k < columns; k++)
        ok = take_columns(r, team->rank + k, number, t, rows);
    DLTensor whole = *t;
    int64_t shape[TESS_MAX_SHAPE];
    memcpy(shape, o->extent, sizeof shape);
    shape[0] = t->shape[0];
    whole.shape = shape;
    whole.strides = NULL;
    whole.data = rows;
    whole.byte_offset = 0;
    ok = ok && cli_strips_add(r, number, &whole);
    free(o->joined); /* the writer is done with it */
    o->joined = rows;
    return ok;
}

/* ---- Results that rank 0 writes -------------------------------------------------------------- */
typedef struct Message {
    int64_t output, rows; /* output -1: this rank has sent all */
    DLDataType type;
} Message;

bool cli_team_send(const Team *t, size_t number, const DLTensor *rows)
{
    const Message head = { (int64_t)number, rows->shape[0], rows->dtype };
    size_t bytes = rows->dtype.bits / 8u;
    for (int d = 0; d < rows->ndim; d++)
        bytes *= (size_t)rows->shape[d];
    char *text = malloc(sizeof head + bytes);
    if (!text)
        return cli_fail("out of memory"), false;
    memcpy(text, &head, sizeof head);
    memcpy(text + sizeof head, (const char *)rows->data + rows->byte_offset, bytes);
    const bool ok = rows->shape[0] == 0 || t->send(0, text, sizeof head + bytes);
    free(text);
    return ok;
}

bool cli_team_assemble(StripOutput *o, const DLTensor *rows)
{
    int64_t shape[TESS_MAX_SHAPE];
    size_t row = rows->dtype.bits / 8u;
    for (int d = 0; d < rows->ndim; d++) {
        shape[d] = d ? rows->shape[d] : o->extent[0];
        row *= d ? (size_t)shape[d] : 1;
    }
    if (!o->whole && !(o->whole = tess_image_new(rows->dtype, rows->ndim, shape)))
        return false;
    memcpy((char *)o->whole->data + (size_t)o->rows * row,
           (const char *)rows->data + rows->byte_offset, (size_t)rows->shape[0] * row);
    return true;
}

/* Rows that came go to the writer, which reads them until the next ones are added. */
static bool take_message(StripRun *r, char *text, size_t n, bool *is_last)
{
    Message head;
    if (n < sizeof head)
        return false;
    memcpy(&head, text, sizeof head);
    *is_last = head.output < 0;
    if (*is_last) {
        free(text);
        return true;
    }
    StripOutput *o = &r->output[head.output];
    DLTensor rows = o->shape;
    int64_t shape[TESS_MAX_SHAPE];
    memcpy(shape, o->extent, sizeof shape);
    shape[0] = head.rows;
    rows.shape = shape;
    rows.dtype = head.type;
    rows.data = text + sizeof head;
    const bool ok = cli_strips_add(r, (size_t)head.output, &rows);
    free(o->held);
    o->held = text;
    return ok;
}

static bool receive_all(StripRun *r, int rank)
{
    for (bool is_last = false; !is_last;) {
        char *text = NULL;
        size_t n;
        if (!r->s->line->team->receive(rank, &text, &n))
            return cli_fail("out of memory"), false;
        if (!take_message(r, text, n, &is_last))
            return false;
    }
    return true;
}

bool cli_team_collect(StripRun *r)
{
    Team *t = r->s->line->team;
    const Message last = { .output = -1 };
    bool sends = false;
    for (size_t i = 0; i < r->n_outputs; i++)
        sends = sends || r->output[i].way == SENT;
    if (!sends)
        return true;
    if (t->rank)
        return t->send(0, &last, sizeof last);
    for (int rank = 1; rank < t->size; rank++)
        if (!receive_all(r, rank))
            return false;
    return true;
}

/* ---- Files that all have written ------------------------------------------------------------- */
/* What one has seen of the values in its rows. */
typedef struct Seen {
    int64_t n_saturated;
    double lo, hi;
    bool ok;
} Seen;

static bool join_seen(StripRun *r, StripOutput *o, Seen own)
{
    char *all = NULL;
    size_t n = 0;
    if (!r->s->line->team->gather(&own, sizeof own, &all, &n))
        return cli_fail("out of memory"), false;
    bool ok = true;
    tess_image_store *store = &o->store;
    store->n_saturated = 0;
    store->lo = INFINITY;
    store->hi = -INFINITY;
    for (size_t i = 0; i < n / sizeof own; i++) {
        Seen seen;
        memcpy(&seen, all + i * sizeof seen, sizeof seen);
        ok = ok && seen.ok;
        store->n_saturated += seen.n_saturated;
        store->lo = seen.lo < store->lo ? seen.lo : store->lo;
        store->hi = seen.hi > store->hi ? seen.hi : store->hi;
    }
    free(all);
    return ok;
}

bool cli_team_end(StripRun *r, StripOutput *o, bool ok, char *error, size_t error_size)
{
    const char *path = r->s->line->outputs[o->output];
    const bool had = o->writer != NULL;
    char doubt[ERROR_SIZE] = "";
    if (had && tess_writer_close(o->writer, ok, error, error_size) != TESS_OK)
        ok = (cli_fail_about(path, error, ""), false);
    o->writer = NULL;
    if (!ok) /* the run fails, and all are ended */
        return false;
    const Seen own = { had ? o->store.n_saturated : 0, had ? o->store.lo : INFINITY,
                       had ? o->store.hi : -INFINITY, ok };
    if (!join_seen(r, o, own))
        return false;
    o->store.share = NULL;
    ok = tess_writer_join(path, &o->shape, &o->store, doubt, sizeof doubt) == TESS_OK;
    if (!ok && r->s->line->team->rank == 0)
        cli_fail_about(path, doubt, "");
    error[0] = '\0';
    if (!r->s->line->team->close(o->file, ok, error, error_size))
        return ok && *error ? (cli_fail_about(path, error, ""), false) : false;
    snprintf(error, error_size, "%s", doubt);
    return true;
}
