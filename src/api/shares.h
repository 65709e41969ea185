/* Inside tess_shares: images whose rows lie in the memory of several devices, and the programs that run over them one
 * after the other: the caller's, or rounds of its turns. */
#ifndef TESSERA_API_SHARES_H
#define TESSERA_API_SHARES_H

#include "api/gpu.h"
#include "api/part.h"

/* An image of one device: rows from..from + its extent, of which begin..end are its share. */
typedef struct ShareImage {
    DLTensor *image; /* NULL: this device has none of it */
    int64_t from, begin, end;
    DLTensor rows; /* the share */
    int64_t shape[MAX_DIMS + 1];
} ShareImage;

/* What one device does in a round. */
typedef struct ShareWork {
    tess_parts *parts;
    tess_part part;     /* of the last pass */
    int64_t *from, *to; /* by input: the rows that it needs */
} ShareWork;

/* A program over the shares. Images have numbers: those of the caller's inputs, its results, and what is carried from
 * round to round, now and next. */
typedef struct ShareRound {
    tess_program *program;
    tess_args *args; /* shapes and numbers */
    int64_t times;
    bool ends;               /* its last result says whether to go on */
    size_t n_passes, n_left; /* n_left: results that the next one takes */
    size_t *input, *output;  /* by input and result of the program: the image; NO_IMAGE: a number */
    size_t *carried;         /* by input: number k of what is carried; NO_IMAGE: the caller's */
    ShareWork *work;         /* by device */
} ShareRound;
#define NO_IMAGE SIZE_MAX

typedef struct Share {
    Device *device; /* NULL: it has no rows */
    DeviceStream stream;
    DeviceEvent done; /* what was put on the stream by the last run */
    bool has_run;
    bool fetched; /* others have copied rows of its images since */
    ShareImage *images;
} Share;

struct tess_shares {
    tess_program *program;
    tess_rounds *rounds; /* NULL: all turns are one run */
    int n;
    Share *share;
    ShareRound *round;
    size_t n_rounds;
    size_t n_images, first_carried, n_carried;
    double *number;      /* by number of what is carried: its value, where it is a number */
    int64_t rows, align; /* of the images that are cut */
    Failure failure;
};

/* shares_make.c */
int64_t tessi_share_begin(const tess_shares *s, int i);
bool tessi_share_part(tess_shares *s, const ShareRound *r, int number, size_t pass,
                      tess_part *part);
bool tessi_shares_fail(tess_shares *s, const tess_parts *parts);
/* tess_shares_new within a run; rounds: only where there are several rounds of turns, else UNSUPPORTED. */
tess_status tessi_shares_make(tess_program *p, const tess_args *args, bool rounds,
                              tess_shares **shares);
/* shares.c: the run over images and results of the host */
bool tessi_shares_run_host(tess_shares *s, const tess_args *a);
bool tessi_is_image(const tess_program *p, size_t input);

#endif
