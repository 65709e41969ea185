/* Stacks of several dimensions in pages: what ImageJ and OME write about them into TIFF's description. */
#ifndef TESSERA_RT_IMAGE_STACK_H
#define TESSERA_RT_IMAGE_STACK_H

#include "rt/image_codec.h"

/* How pages are arranged: `order` has the axes Z, C and T, the fastest first. */
typedef struct StackAxes {
    const char *who; /* "ImageJ" or "OME"; NULL: nobody says it */
    int64_t n[3];    /* along Z, C and T; of C those in pages of their own */
    char order[4];
} StackAxes;
enum { AXIS_Z, AXIS_C, AXIS_T };

/* What the description says of the pages; false with a sentence where that is not what there is. */
bool tessi_stack_axes(const char *description, int64_t pages, int samples, StackAxes *a,
                      Failure *f);
/* The number of a page, counted from 0. */
int64_t tessi_stack_page(const StackAxes *a, int64_t z, int64_t c, int64_t t);

/* The description of a result: `text` (NULL: none) of the picture that it was made from, with what is true of the
 * rows. Empty where there is nothing to say. */
void tessi_stack_describe(const char *text, const ImageRows *r, RtBytes *out);
/* Sizes of pixels in OME's description times y and x, and in ImageJ's, too, the distance of planes and of moments times
 * the factors of the picture's n_outer dimensions before its rows. */
void tessi_stack_scale(RtTags *tags, double y, double x, int n_outer, const double *outer);

#endif
