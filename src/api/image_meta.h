/* Metadata between files and programs, within api/. */
#ifndef TESSERA_API_IMAGE_META_H
#define TESSERA_API_IMAGE_META_H

#include "api/api.h"
#include "rt/meta.h"

struct tess_meta {
    RtMeta meta;
};

/* Takes over *m; false without memory. */
bool tessi_meta_give(RtMeta *m, tess_meta **out);
/* What is stored with a result of so many dimensions, owned by the caller. *any: something is. False without memory. */
bool tessi_meta_for_result(const tess_image_store *s, int result_dims, RtMeta *m, bool *any);
/* The picture has a place on earth, but it is not known where the points of the result lie in it. */
bool tessi_meta_loses_place(const tess_image_store *s);

#endif
