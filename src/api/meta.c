/* Public metadata: what files say besides pixels, and what made a result. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/image_meta.h"
#include "rt/digest.h"

enum { TAG_TEXT = 2 };

bool tessi_meta_give(RtMeta *m, tess_meta **out)
{
    *out = calloc(1, sizeof **out);
    if (!*out) {
        tessi_meta_dispose(m);
        return false;
    }
    tessi_meta_find_doubts(m);
    (*out)->meta = *m;
    *m = (RtMeta){ 0 };
    return true;
}

void tess_meta_free(tess_meta *m)
{
    if (m)
        tessi_meta_dispose(&m->meta);
    free(m);
}

tess_status tess_meta_item(const tess_meta *m, size_t i, char *name, size_t name_size, char *text,
                           size_t text_size)
{
    RtMetaItem item;
    if (!m || !tessi_meta_item(&m->meta, i, &item))
        return TESS_ERROR_ARGUMENT;
    if (name && name_size)
        snprintf(name, name_size, "%s", item.name);
    if (text && text_size)
        snprintf(text, text_size, "%s", item.text);
    return TESS_OK;
}

const char *tess_meta_doubt(const tess_meta *m, size_t i)
{
    return m ? tessi_meta_doubt(&m->meta, i) : NULL;
}

/* Rows and columns of the image as functions of those of the result; false where they are none of its last two
 * dimensions. */
static bool map_of(const tess_geometry *g, int result_dims, RtMap *map)
{
    *map = (RtMap){ 0 };
    if (g->ndim < 2 || result_dims < 2)
        return false;
    for (int k = 0; k < 2; k++) {
        const int d = g->ndim - 2 + k;
        for (int x = 0; x < result_dims - 2; x++)
            if (g->by[d][x] != 0)
                return false;
        map->a[k][0] = g->by[d][result_dims - 2];
        map->a[k][1] = g->by[d][result_dims - 1];
        map->b[k] = g->offset[d];
    }
    map->n_outer = g->ndim - 2;
    for (int d = 0; d < map->n_outer; d++) { /* one that the result has not is as it was */
        for (int x = 0; x < result_dims - 2; x++)
            map->outer[d] += fabs(g->by[d][x]);
        map->outer[d] = map->outer[d] > 0 ? map->outer[d] : 1;
    }
    return map->a[0][0] * map->a[1][1] != map->a[0][1] * map->a[1][0];
}

/* Which value is no data, as GDAL has files say it. */
static bool add_nodata(const tess_image_store *s, RtMeta *m)
{
    char text[40];
    if (s->nodata_is == TESS_NODATA_KEPT)
        return true;
    tessi_tag_remove(&m->tags, TAG_NODATA);
    if (s->nodata_is != TESS_NODATA_VALUE)
        return true;
    snprintf(text, sizeof text, "%.17g", s->nodata);
    for (int digits = 1; digits < 17; digits++) { /* as few as it takes to read it again */
        char shorter[40];
        snprintf(shorter, sizeof shorter, "%.*g", digits, s->nodata);
        if (strtod(shorter, NULL) == s->nodata) {
            snprintf(text, sizeof text, "%s", shorter);
            break;
        }
    }
    if (isnan(s->nodata))
        snprintf(text, sizeof text, "nan");
    tessi_tag_add(&m->tags, TAG_NODATA, TAG_TEXT, strlen(text) + 1, text);
    return !m->tags.failed;
}

bool tessi_meta_loses_place(const tess_image_store *s)
{
    const int result_dims = s->result ? s->result->ndim : s->picture_dims;
    RtMap map;
    return result_dims >= 2 && s->meta && s->geometry && tessi_meta_is_placed(&s->meta->meta)
           && !map_of(s->geometry, result_dims, &map);
}

bool tessi_meta_for_result(const tess_image_store *s, int result_dims, RtMeta *m, bool *any)
{
    RtMap map = { .a = { { 1, 0 }, { 0, 1 } } };
    *m = (RtMeta){ 0 };
    *any = s->meta && (!s->geometry || map_of(s->geometry, result_dims, &map));
    if (*any && !tessi_meta_of_result(&s->meta->meta, &map, m))
        return false;
    *any |= s->nodata_is == TESS_NODATA_VALUE;
    return add_nodata(s, m);
}

void tess_program_provenance(const tess_program *p, char *text, size_t size)
{
    static const char *const contracts[] = { "default", "strict", "fast" };
    Hasher h;
    char hex[2 * DIGEST_BYTES + 1];
    if (!p || !text || !size)
        return;
    tessi_hasher_init(&h);
    tessi_hasher_add(&h, p->text, p->n_text);
    const Digest digest = tessi_hasher_end(&h);
    for (int i = 0; i < DIGEST_BYTES; i++)
        snprintf(hex + 2 * i, 3, "%02x", digest.at[i]);
    snprintf(text, size, "Tessera %s, program %s, fp %s", tess_version(), hex,
             contracts[p->options.fp]);
}
