/* Images of files between the public functions and rt, within api/. */
#ifndef TESSERA_API_IMAGE_STORE_H
#define TESSERA_API_IMAGE_STORE_H

#include "api/gpu.h"
#include "rt/image.h"
#include "tessera.h"

/* What the pixels that `info` speaks of hold, in RT_IMAGE_CHANNELS fields; false where they are too many. */
bool tessi_image_record(const tess_info *info, RtField *field, RtRecord *record);
/* How a file is read for an input; false where it cannot be said. */
bool tessi_image_request(const tess_info *want, const tess_image_request *r, RtField *field,
                         RtRecord *record, RtRequest *request);
/* Anyone's tensor as rt sees images. */
bool tessi_image_view_of(const DLTensor *t, int picture_dims, RtView *view, Failure *f);
bool tessi_image_store(const tess_image_store *s, RtStore *out);
void tessi_share_of(const tess_image_store *s, RtShare *share, RtStore *out);
void tessi_image_told(const RtStore *store, tess_image_store *s); /* what was filled in */

#endif
