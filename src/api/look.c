/* tess_image_look: what a file holds. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/image_meta.h"
#include "base/rounding.h"
#include "rt/image.h"
#include "rt/video.h"

/* The range of the elements. */
static void measure(const RtImage *image, tess_image_facts *facts)
{
    const size_t bytes = tessi_type_info(image->dtype)->bytes;
    const char *at = image->data;
    facts->lo = INFINITY;
    facts->hi = -INFINITY;
    for (int64_t i = 0, n = tessi_image_elements(image); i < n; i++, at += bytes) {
        const Value v = tessi_load_element(image->dtype, at);
        const double x = tessi_value_number(image->dtype, v);
        if (!isfinite(x)) {
            facts->n_not_finite++;
            continue;
        }
        facts->lo = x < facts->lo ? x : facts->lo;
        facts->hi = x > facts->hi ? x : facts->hi;
    }
}

static void tell_video(const RtVideoFacts *video, tess_image_facts *facts)
{
    const RtVideoForm *form = &video->form;
    facts->is_video = 1;
    facts->is_cut = video->cut;
    facts->frames = video->frames;
    memcpy(facts->rate, video->rate, sizeof facts->rate);
    tessi_video_space(form, facts->packed);
    facts->dtype = tessi_dl_type(form->type);
    facts->channels = form->channels;
    facts->ndim = form->channels > 1 ? 3 : 2;
    facts->shape[0] = form->height;
    facts->shape[1] = form->width;
    facts->shape[2] = form->channels;
    facts->lo = INFINITY;
    facts->hi = -INFINITY;
}

static bool look(const char *path, int64_t page, tess_image_facts *facts, Failure *f)
{
    RtImage image;
    RtMeta meta = { 0 };
    RtRequest request = tessi_request_as_stored();
    request.page = page;
    request.meta = &meta;
    request.inks = true;
    RtVideoFacts video = { .form = { .planar = false } };
    request.video = &video;
    const bool ok = tessi_image_read(path, &request, &image, f);
    facts->format = request.format_found ? request.format_found : "";
    facts->pages = request.pages_found > 1 ? request.pages_found : 1;
    if (!ok)
        return false;
    if (video.form.planar) {
        tell_video(&video, facts);
        return true;
    }
    snprintf(facts->packed, sizeof facts->packed, "%s", request.packed_found);
    facts->dtype = tessi_dl_type(image.dtype);
    facts->ndim = image.ndim;
    memcpy(facts->shape, image.shape, sizeof facts->shape);
    facts->channels = image.channels > 1 ? image.channels : 1;
    measure(&image, facts);
    tessi_image_dispose(&image);
    return tessi_meta_give(&meta, &facts->meta)
           || tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
}

tess_status tess_image_look(const char *path, int64_t page, tess_image_facts *facts, char *error,
                            size_t error_size)
{
    if (!path || !facts || facts->struct_size != sizeof *facts || page < 0)
        return TESS_ERROR_ARGUMENT;
    *facts = (tess_image_facts){ .struct_size = sizeof *facts, .format = "" };
    Failure f = { 0 };
    const Rounding before = tessi_round_to_nearest();
    const bool ok = look(path, page, facts, &f);
    tessi_round_as(before);
    if (ok)
        return TESS_OK;
    if (error && error_size)
        snprintf(error, error_size, "%s", f.text);
    return (tess_status)f.status;
}

_Static_assert((int)TESS_N_TYPES == (int)TYPE_INDEX, "the types of the language, in their order");

tess_status tess_file_format(size_t i, tess_format *format)
{
    RtFormatFacts facts;
    if (!format || format->struct_size != sizeof *format || !tessi_image_format_facts(i, &facts))
        return TESS_ERROR_ARGUMENT;
    format->name = facts.name;
    format->suffixes = facts.suffixes;
    format->channels = facts.channels;
    format->depths = facts.depths;
    format->keeps = facts.keeps;
    format->stacks = facts.stacks;
    memcpy(format->stores, facts.stores, sizeof format->stores);
    return TESS_OK;
}
