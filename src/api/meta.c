/* Public metadata: what files say besides pixels, and what made a result. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/image_meta.h"
#include "rt/digest.h"

bool tessi_meta_give(RtMeta *m, tess_meta **out)
{
    *out = calloc(1, sizeof **out);
    if (!*out) {
        tessi_meta_dispose(m);
        return false;
    }
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

/* Rows and columns of the image as functions of those of the result; false where they are none of its last two
 * dimensions. */
static bool map_of(const tess_geometry *g, int result_dims, RtMap *map)
{
    *map = (RtMap){ 0 };
    if (g->ndim < 2 || result_dims < 2)
        return false;
    for (int k = 0; k < 2; k++) {
        const int d = g->ndim - 2 + k, from = g->source[d] - (result_dims - 2);
        if (g->source[d] < 0 || from < 0 || from > 1)
            return false;
        map->a[k][from] = g->scale[d];
        map->b[k] = g->offset[d];
    }
    return map->a[0][0] * map->a[1][1] != map->a[0][1] * map->a[1][0];
}

bool tessi_meta_for_result(const tess_image_store *s, int result_dims, RtMeta *m, bool *any)
{
    RtMap map = { { { 1, 0 }, { 0, 1 } }, { 0, 0 } };
    *m = (RtMeta){ 0 };
    *any = s->meta && (!s->geometry || map_of(s->geometry, result_dims, &map));
    return !*any || tessi_meta_of_result(&s->meta->meta, &map, m);
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
