/* Convolutions without a program: what was asked for, and the program that does it. */
#ifndef TESSERA_API_CONVOLVE_H
#define TESSERA_API_CONVOLVE_H

#include "api/api.h"

enum { MAX_CHANNELS = 16 };

/* A mask with an extent for every dimension of the image. */
typedef struct Coefficients {
    int64_t shape[MAX_DIMS];
    int64_t n;
    ScalarType type;
    Value *at; /* row-major */
} Coefficients;

/* The image is convolved with mask[0], the result of that with mask[1], and so on. */
typedef struct Convolution {
    int n_dims, n_channels; /* 0 channels: pixels are numbers */
    ScalarType image, out, sum;
    Border rule[MAX_DIMS];
    double outside; /* with rule CONSTANT */
    bool varying;   /* coefficients are inputs of the program */
    bool open;      /* so are the extents of their masks */
    int n_masks;
    Coefficients mask[MAX_DIMS];
} Convolution;

/* The type in which products are added: integers so wide that none overflows, if there is one. */
ScalarType tessi_convolution_sum(const Convolution *c);
/* The program: images "image", masks "m0", "m1", ... and scalars "outside1", ... if they vary; one result. */
void tessi_convolution_text(const Convolution *c, Text *out);
/* What lies outside the image that mask `m` is applied to, under rule CONSTANT: a line of what lies outside the
 * image, convolved. */
double tessi_convolution_outside(const Convolution *c, int m);
/* Whether sums of this type can have it: those of integers a whole number. */
bool tessi_convolution_outside_fits(const Convolution *c, Failure *f);
/* "clamp" or "[clamp, constant(3)]" into c->rule and c->outside; NULL is clamp. */
bool tessi_convolution_border(Convolution *c, const char *text, Failure *f);

#endif
