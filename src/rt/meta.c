/* Metadata in memory: tags, copies, what it says in words. */
#include "rt/meta.h"
#include "rt/meta_ifd.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Tags ---- */

static const struct {
    uint16_t id, type;
    const char *name;
} kept[] = {
#define META_TAG(id, type, name) { id, type, name },
#include "rt/meta_tags.def"
#undef META_TAG
};
enum { N_KEPT = sizeof kept / sizeof *kept };

uint16_t tessi_tag_kept(size_t i, const char **name, uint16_t *type)
{
    if (i >= N_KEPT)
        return 0;
    if (name)
        *name = kept[i].name;
    if (type)
        *type = kept[i].type;
    return kept[i].id;
}

size_t tessi_tag_size(uint16_t type)
{
    /* byte, text, short, long, rational, signed byte, undefined, signed short, signed long, signed rational, float,
     * double, IFD; of BigTIFF also long8, signed long8, IFD8 */
    static const uint8_t sizes[] = { 0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4, 0, 0, 8, 8, 8 };
    return type < sizeof sizes ? sizes[type] : 0;
}

const RtTag *tessi_tag_find(const RtTags *tags, uint16_t id)
{
    for (size_t i = 0; i < tags->n; i++)
        if (tags->at[i].id == id)
            return &tags->at[i];
    return NULL;
}

void tessi_tag_remove(RtTags *tags, uint16_t id)
{
    for (size_t i = 0; i < tags->n; i++)
        if (tags->at[i].id == id) {
            free(tags->at[i].data);
            tags->n--;
            memmove(&tags->at[i], &tags->at[i + 1], (tags->n - i) * sizeof *tags->at);
            return;
        }
}

void tessi_tag_add(RtTags *tags, uint16_t id, uint16_t type, uint64_t n, const void *data)
{
    const size_t bytes = (size_t)n * tessi_tag_size(type);
    tessi_tag_remove(tags, id);
    if (tags->n == tags->cap) {
        const size_t cap = tags->cap ? 2 * tags->cap : 16;
        RtTag *at = realloc(tags->at, cap * sizeof *at);
        if (!at) {
            tags->failed = true;
            return;
        }
        tags->at = at;
        tags->cap = cap;
    }
    uint8_t *copy = malloc(bytes + 1);
    if (!copy) {
        tags->failed = true;
        return;
    }
    if (bytes)
        memcpy(copy, data, bytes);
    copy[bytes] = 0; /* texts end, whatever the file says */
    size_t i = tags->n++;
    for (; i > 0 && tags->at[i - 1].id > id; i--)
        tags->at[i] = tags->at[i - 1];
    tags->at[i] = (RtTag){ .id = id, .type = type, .n = n, .data = copy };
}

void tessi_tags_dispose(RtTags *tags)
{
    for (size_t i = 0; i < tags->n; i++)
        free(tags->at[i].data);
    free(tags->at);
    *tags = (RtTags){ 0 };
}

/* ---- All of it ---- */

void tessi_meta_dispose(RtMeta *m)
{
    tessi_bytes_dispose(&m->icc);
    tessi_bytes_dispose(&m->exif);
    tessi_bytes_dispose(&m->xmp);
    tessi_bytes_dispose(&m->doubts);
    tessi_tags_dispose(&m->tags);
    *m = (RtMeta){ 0 };
}

bool tessi_meta_failed(const RtMeta *m)
{
    return m->icc.failed || m->exif.failed || m->xmp.failed || m->doubts.failed || m->tags.failed;
}

bool tessi_meta_copy(const RtMeta *from, RtMeta *to)
{
    *to = *from;
    to->icc = to->exif = to->xmp = to->doubts = (RtBytes){ 0 };
    to->tags = (RtTags){ 0 };
    tessi_bytes_add(&to->icc, from->icc.at, from->icc.n);
    tessi_bytes_add(&to->exif, from->exif.at, from->exif.n);
    tessi_bytes_add(&to->xmp, from->xmp.at, from->xmp.n);
    tessi_bytes_add(&to->doubts, from->doubts.at, from->doubts.n);
    tessi_bytes_add(&to->xmp, "", 1); /* a text ends for those who look for its end */
    to->xmp.n = from->xmp.n;
    for (size_t i = 0; i < from->tags.n; i++) {
        const RtTag *t = &from->tags.at[i];
        tessi_tag_add(&to->tags, t->id, t->type, t->n, t->data);
    }
    if (!tessi_meta_failed(to))
        return true;
    tessi_meta_dispose(to);
    return false;
}

bool tessi_icc_fits(const RtBytes *icc, int channels)
{
    static const char *const spaces[] = { "", "GRAY", "GRAY", "RGB ", "RGB " };
    return icc->n >= 128 && channels >= 1 && channels <= 4
           && memcmp(icc->at + 16, spaces[channels], 4) == 0;
}

/* ---- In words ---- */

static bool bytes_item(const char *name, const RtBytes *b, RtMetaItem *item)
{
    item->name = name;
    snprintf(item->text, sizeof item->text, "%zu bytes", b->n);
    if (tessi_streq(name, "ICC profile") && b->n >= 20)
        snprintf(item->text, sizeof item->text, "%zu bytes, %.*s", b->n, 4,
                 (const char *)b->at + 16);
    return true;
}

/* Numbers as they are, texts to the end of their first line. */
static void tag_text(const RtTag *t, char *text, size_t size)
{
    text[0] = 0;
    if (t->type == 2) {
        const char *s = (const char *)t->data;
        const size_t n = strcspn(s, "\r\n");
        snprintf(text, size, "%.*s%s", (int)(n < 200 ? n : 200), s, s[n] || n > 200 ? " ..." : "");
        return;
    }
    for (uint64_t i = 0; i < t->n; i++) {
        const size_t used = strlen(text), left = size - used;
        double real;
        uint16_t small;
        if (t->type == 12)
            memcpy(&real, t->data + 8 * i, 8);
        else if (t->type == 3)
            memcpy(&small, t->data + 2 * i, 2);
        else {
            snprintf(text, size, "%" PRIu64 " values", t->n);
            return;
        }
        if (left < 40) {
            snprintf(text + used, left, " ...");
            return;
        }
        const char *blank = i ? " " : "";
        if (t->type == 12)
            snprintf(text + used, left, "%s%.10g", blank, real);
        else
            snprintf(text + used, left, "%s%u", blank, (unsigned)small);
    }
}

static bool resolution_item(const RtMeta *m, RtMetaItem *item)
{
    static const char *const units[] = { " (a ratio)", " a inch", " a cm" };
    item->name = "resolution";
    snprintf(item->text, sizeof item->text, "%.6g x %.6g%s", m->resolution[0], m->resolution[1],
             m->unit == RT_UNIT_INCH ? " an inch" : units[m->unit]);
    return true;
}

bool tessi_meta_item(const RtMeta *m, size_t i, RtMetaItem *item)
{
    if (m->icc.n && i-- == 0)
        return bytes_item("ICC profile", &m->icc, item);
    if (m->exif.n && i-- == 0)
        return bytes_item("EXIF", &m->exif, item);
    if (m->xmp.n && i-- == 0)
        return bytes_item("XMP", &m->xmp, item);
    if (m->resolution[0] > 0 && i-- == 0)
        return resolution_item(m, item);
    if (m->orientation > 1 && i-- == 0) {
        item->name = "orientation";
        snprintf(item->text, sizeof item->text, "%d", m->orientation);
        return true;
    }
    if (i >= m->tags.n)
        return false;
    const RtTag *t = &m->tags.at[i];
    item->name = "tag";
    for (size_t k = 0; k < N_KEPT; k++)
        if (kept[k].id == t->id)
            item->name = kept[k].name;
    tag_text(t, item->text, sizeof item->text);
    return true;
}
