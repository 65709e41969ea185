/* Images in the memory of a team: who has which rows, and how they come to those who need them. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/team_images.h"

/* Rows of another one that were asked for. */
typedef struct TeamRows {
    int64_t from, to;
    char *at;
} TeamRows;

TeamImage *cli_team_image(const Team *t, const char *name)
{
    TeamImage *image = t ? t->images : NULL;
    while (image && strcmp(image->name, name) != 0)
        image = image->next;
    return image;
}

static void free_others(TeamImage *image)
{
    for (size_t i = 0; i < image->n_others; i++)
        free(image->others[i].at);
    free(image->others);
    image->others = NULL;
    image->n_others = 0;
}

static void free_image(TeamImage *image)
{
    free_others(image);
    free(image->name);
    free(image->first);
    free(image->rows);
    free(image);
}

TeamImage *cli_team_image_new(Team *t, const char *name, const DLTensor *shape,
                              const int64_t *first, const int64_t *end)
{
    const size_t size = (size_t)t->size;
    TeamImage *image = calloc(1, sizeof *image);
    if (!image)
        return NULL;
    image->team = t;
    image->row_bytes = shape->dtype.bits / 8u;
    for (int d = 0; d < shape->ndim; d++) {
        image->extent[d] = shape->shape[d];
        image->row_bytes *= d ? (size_t)shape->shape[d] : 1;
    }
    image->shape = *shape;
    image->shape.shape = image->extent;
    image->name = malloc(strlen(name) + 1);
    image->first = calloc(2 * size, sizeof *image->first);
    image->rows = malloc((size_t)(end[t->rank] - first[t->rank]) * image->row_bytes + 1);
    if (!image->name || !image->first || !image->rows) {
        free_image(image);
        return NULL;
    }
    image->end = image->first + size;
    strcpy(image->name, name);
    memcpy(image->first, first, size * sizeof *first);
    memcpy(image->end, end, size * sizeof *end);
    image->next = t->images;
    t->images = image;
    return image;
}

void cli_team_image_forget(Team *t, const char *name)
{
    for (TeamImage **at = &t->images; *at; at = &(*at)->next)
        if (strcmp((*at)->name, name) == 0) {
            TeamImage *image = *at;
            *at = image->next;
            free_image(image);
            return;
        }
}

double cli_team_image_bytes(const Team *t)
{
    double bytes = 0;
    for (const TeamImage *image = t->images; image; image = image->next)
        bytes += (double)(image->end[t->rank] - image->first[t->rank]) * (double)image->row_bytes;
    return bytes;
}

void cli_team_image_put(TeamImage *image, const DLTensor *rows, int64_t at)
{
    const int rank = image->team->rank;
    const int64_t first = image->first[rank], end = image->end[rank];
    const size_t stride =
        rows->strides ? (size_t)rows->strides[0] * (rows->dtype.bits / 8u) : image->row_bytes;
    const char *from = (const char *)rows->data + rows->byte_offset;
    for (int64_t y = 0; y < rows->shape[0]; y++)
        if (at + y >= first && at + y < end)
            memcpy(image->rows + (size_t)(at + y - first) * image->row_bytes,
                   from + (size_t)y * stride, image->row_bytes);
}

/* ---- Rows of others -------------------------------------------------------------------------- */
/* Rows from..to of an image that a rank needs; they may lie beyond its edges, where it goes on as it begins. */
typedef struct Need {
    int64_t from, to;
} Need;

static bool find_need(Strips *s, size_t input, int rank, size_t pass, Need *need)
{
    const tess_part_use use = tess_parts_use(s->parts, pass, input);
    tess_part part = { .struct_size = sizeof part, .pass = pass };
    *need = (Need){ 0, 0 };
    for (int d = 0; d < s->pass[pass].pass.ndim; d++)
        part.end[d] = s->pass[pass].pass.shape[d];
    cli_strips_share(s, pass, rank, &part.begin[0], &part.end[0]);
    if (use == TESS_PART_UNUSED || part.begin[0] >= part.end[0])
        return true;
    if (use == TESS_PART_WHOLE) {
        need->to = s->input[input].extent[0];
        return true;
    }
    if (tess_part_needs(s->parts, &part) != TESS_OK)
        return cli_fail("%s", tess_parts_error(s->parts)), false;
    *need = (Need){ part.from[0], part.to[0] };
    return true;
}

static bool begin_rows(const Team *t, TeamImage *image, int from_rank, int to_rank, Need need)
{
    if (t->rank == from_rank)
        return t->begin_send(
            to_rank, image->rows + (size_t)(need.from - image->first[from_rank]) * image->row_bytes,
            (size_t)(need.to - need.from) * image->row_bytes);
    TeamRows *more = realloc(image->others, (image->n_others + 1) * sizeof *more);
    if (!more)
        return false;
    image->others = more;
    TeamRows *rows = &more[image->n_others];
    *rows = (TeamRows){ need.from, need.to,
                        malloc((size_t)(need.to - need.from) * image->row_bytes + 1) };
    if (!rows->at)
        return false;
    image->n_others++;
    return t->begin_receive(from_rank, rows->at, (size_t)(need.to - need.from) * image->row_bytes);
}

/* What one has of the rows that another needs. */
static bool begin_pair(const Team *t, TeamImage *image, int from_rank, int to_rank, Need need)
{
    const int64_t n = image->extent[0];
    int64_t begin = n ? need.from - (need.from % n + n) % n : need.to; /* of that turn around */
    bool ok = true;
    for (; ok && begin < need.to; begin += n) {
        int64_t from = need.from - begin, to = need.to - begin;
        from = from > image->first[from_rank] ? from : image->first[from_rank];
        to = to < image->end[from_rank] ? to : image->end[from_rank];
        if (from < to)
            ok = begin_rows(t, image, from_rank, to_rank, (Need){ from, to });
    }
    return ok;
}

static bool begin_input(Strips *s, size_t input, TeamImage *image)
{
    const Team *t = s->line->team;
    free_others(image);
    for (size_t pass = 0; pass < s->n_passes; pass++)
        for (int to_rank = 0; to_rank < t->size; to_rank++) {
            Need need;
            if (!find_need(s, input, to_rank, pass, &need))
                return false;
            for (int from_rank = 0; from_rank < t->size; from_rank++)
                if (from_rank != to_rank && (t->rank == from_rank || t->rank == to_rank)
                    && !begin_pair(t, image, from_rank, to_rank, need))
                    return cli_fail("out of memory"), false;
        }
    return true;
}

bool cli_team_images_begin(Strips *s)
{
    bool ok = true;
    for (size_t i = 0; ok && i < s->n_inputs; i++)
        if (s->input[i].shared)
            ok = begin_input(s, i, s->input[i].shared);
    return ok;
}

/* The rows of `from` on that lie in one piece. */
static const char *find_rows(const TeamImage *image, int64_t from, int64_t *end)
{
    const int rank = image->team->rank;
    const int64_t first = image->first[rank];
    *end = image->end[rank];
    if (from >= first && from < *end)
        return image->rows + (size_t)(from - first) * image->row_bytes;
    image->team->settle();
    for (size_t i = 0; i < image->n_others; i++) {
        const TeamRows *rows = &image->others[i];
        *end = rows->to;
        if (from >= rows->from && from < rows->to)
            return rows->at + (size_t)(from - rows->from) * image->row_bytes;
    }
    return NULL;
}

bool cli_team_image_get(const TeamImage *image, int64_t from, int64_t to, char *at)
{
    while (from < to) {
        int64_t end;
        const char *rows = find_rows(image, from, &end);
        if (!rows)
            return cli_fail("internal error: rows of another process were not asked for"), false;
        end = end < to ? end : to;
        memcpy(at, rows, (size_t)(end - from) * image->row_bytes);
        at += (size_t)(end - from) * image->row_bytes;
        from = end;
    }
    return true;
}
