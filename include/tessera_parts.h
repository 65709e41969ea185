/* Parts of larger images, and images shared among devices: what runs in strips, several processes and several devices
 * have in common. tessera.h includes it. */
#ifndef TESSERA_PARTS_H
#define TESSERA_PARTS_H

#include "tessera.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Parts of larger images ------------------------------------------------------------------ */
/* Runs on images that are not in memory as a whole: strips of a file, chunks of others' arrays, the share of a process.
 * The bits are those of the whole at once: borders are those of whole images, and a part is given with what lies around
 * it. A program is run in passes over the images: one for each depth of numbers of whole images (means, histograms),
 * in the order that docs/internals/reductions.md fixes, and a last one for the results. In each, a part says which
 * points of the images it decides (begin..end), tess_part_needs says which must be given for that (from..to), and
 * tess_run_part computes it. A tess_parts is used by one thread at a time. */
typedef struct tess_parts tess_parts;
/* `args` has the numbers, and the images or the shapes (tess_args_shape) of all images as wholes. *parts is made in any
 * case but shortage of memory or a wrong call, for its error; after a failure it is good for nothing else. The program
 * must live on. */
TESS_API tess_status tess_parts_new(tess_program *p, const tess_args *args, tess_parts **parts);
TESS_API void tess_parts_free(tess_parts *parts);
TESS_API const char *tess_parts_error(const tess_parts *parts);

typedef struct tess_pass {
    size_t struct_size;
    int ndim;    /* of the images that are cut; 0: there are none, and a pass is one part */
    int numbers; /* of whole images that it gives; 0: it gives the results */
    int placed;  /* a point depends on where it is, or on numbers of whole images */
    int64_t shape[4];
    int cut[4];         /* parts may begin and end in dimension d */
    const char *why[4]; /* else: why not, "'blur' reads ...". Borrowed */
    int64_t align[4];   /* they do so at multiples of this, or with the image */
    int64_t margin[4];  /* how many points more on both sides matter to a part */
    int periodic[4]; /* images go on as they begin: from may be negative, and to beyond their end */
} tess_pass;
TESS_API size_t tess_parts_passes(const tess_parts *parts);
TESS_API tess_status tess_parts_pass(tess_parts *parts, size_t i, tess_pass *pass);
/* Not 0: numbers of the pass go along the rows (mean(a, 0)), and take its parts in order: none can be apart. */
TESS_API int tess_parts_in_order(const tess_parts *parts, size_t i);
typedef enum tess_part_use {
    TESS_PART_UNUSED, /* the pass does not need that input */
    TESS_PART_CUT,    /* its points from..to */
    TESS_PART_WHOLE   /* all of it: masks, tables */
} tess_part_use;
TESS_API tess_part_use tess_parts_use(const tess_parts *parts, size_t pass, size_t input);

typedef struct tess_part {
    size_t struct_size;
    size_t pass;
    int64_t begin[4], end[4]; /* points of the images that it decides */
    int64_t from[4], to[4];   /* filled in by tess_part_needs */
    /* Not 0: others compute other parts of the pass, as processes with a share of an image each. What the parts here
     * have to say about numbers of whole images is kept for tess_part_numbers; they may come in any order. */
    int apart;
} tess_part;
TESS_API tess_status tess_part_needs(tess_parts *parts, tess_part *part);
/* What a part takes: bytes of its images, of its results, and of what lies between them. Plans, but does not run. */
typedef struct tess_part_memory {
    size_t struct_size;
    double images, results, between;
} tess_part_memory;
TESS_API tess_status tess_part_needs_memory(tess_parts *parts, const tess_part *part,
                                            tess_part_memory *memory);
/* images[i]: what the part needs of input i, as tess_args_image takes it; not looked at where it is unused. Numbers of
 * whole images take parts in order, of whole rows (cut in dimension 0 alone); results any part, in any order. */
TESS_API tess_status tess_run_part(tess_parts *parts, const tess_part *part,
                                   const DLTensor *const *images);
/* What parts computed `apart` in this pass have to say about its numbers so far: some bytes for each row of the images,
 * valid until the next part. */
TESS_API tess_status tess_part_numbers(const tess_parts *parts, size_t pass, const void **bytes,
                                       size_t *n);
/* Ends a pass whose parts were computed apart: `bytes` are those of all of them, one behind the other in any order,
 * wherever they come from; numbers have the bits of one run through all rows. */
TESS_API tess_status tess_parts_join(tess_parts *parts, size_t pass, const void *bytes, size_t n);
/* Where in the whole the first point lies that a part of the last pass decides of a result, and how many it decides in
 * each dimension. */
TESS_API tess_status tess_part_share(tess_parts *parts, const tess_part *part, size_t output,
                                     int64_t place[TESS_MAX_SHAPE], int64_t shape[TESS_MAX_SHAPE]);
/* What the last part of the last pass has decided of a result, and where in the whole its first point is. An extent
 * is 0 where it decides nothing. Results that do not grow with the images come whole with each part. Valid until the
 * part after the next, so that they can be written while that is computed. */
TESS_API tess_status tess_part_result(const tess_parts *parts, size_t output,
                                      const DLTensor **tensor, int64_t place[TESS_MAX_SHAPE]);

/* The programs of parts as texts, for those who run them elsewhere, as schedulers with processes of their own: JSON
 * with "results" and "numbers" (of whole images, which results and others may need), each result and each number by
 * itself, cut as far as it alone can be:
 *   text      graph of a part; images have the names of the program's, "parted" are those of which it takes a part
 *   dims      of the images: size, cut, align, margin as [numerator, denominator], periodic, why; alike: all
 *             stages that grow with them are as large as they are
 *   extent    what is computed, of the whole
 *   step      points of the images for one of its points; null: all of it is computed in each part
 *   given     inputs of the text beside the program's: where the part begins in dimension `offset` over `step`, a
 *             `value`, or `number` K of "numbers", which integers of 64 bits and histograms are images for
 *   params    that the sizes of images do not tell
 * and numbers: reduction, source (the type of what it is taken of), type, counts (of a histogram). *json is freed with
 * tess_text_free; after a failure it is NULL. */
TESS_API tess_status tess_parts_text(tess_parts *parts, char **json);

/* A program with one loop over turns as programs that are run one after the other, each at most `most` of its turns
 * (with a condition as many as it is asked after): the first has with them what comes before the loop, the last what
 * stands behind it, alone where a condition may end the loop. Each takes what it needs of the program's images and
 * numbers by their names, and `carried_K`, an image or a number, which was the result `next_K` of the one before; the
 * last one has the program's results. For images that are not in memory: each round is a pass over them. *rounds as
 * *parts of tess_parts_new; UNSUPPORTED: there is no such loop. */
typedef struct tess_rounds tess_rounds;
typedef struct tess_round {
    size_t struct_size;
    tess_program *program; /* of the rounds */
    int64_t times;         /* that it is run */
    int ends; /* where its last result `ends_now` is not 0 it is not run again, and the one behind is left out if it is
               * not the last */
    int64_t turns; /* of one run of it */
} tess_round;
TESS_API tess_status tess_rounds_new(tess_program *p, const tess_args *args, int64_t most,
                                     tess_rounds **rounds);
/* How many turns at a time keep what is computed twice to an eighth of `rows` rows, of which each turn asks for
 * `around` more (0: that is not known), and at most 32. */
TESS_API int64_t tess_rounds_most(int64_t rows, double around);
TESS_API void tess_rounds_free(tess_rounds *r);
TESS_API const char *tess_rounds_error(const tess_rounds *r);
TESS_API size_t tess_rounds_count(const tess_rounds *r);
TESS_API tess_status tess_rounds_round(const tess_rounds *r, size_t i, tess_round *round);

/* ---- Images shared among devices ------------------------------------------------------------- */
/* Runs on images whose rows lie in the memory of several devices (tess_options.devices), each its share: for images
 * that are made there and stay there. A run first brings the rows around each share from the devices that have them, by
 * copies between devices; the results lie in the same way. The bits are those of one device. A tess_shares is used by
 * one thread at a time. */
typedef struct tess_shares tess_shares;
/* `args` as for tess_parts_new. *shares is made in any case but shortage of memory or a wrong call, for its error;
 * after a failure it is good for nothing else. TESS_ERROR_UNSUPPORTED: the rows cannot be shared out. The program must
 * live on. */
TESS_API tess_status tess_shares_new(tess_program *p, const tess_args *args, tess_shares **shares);
TESS_API void tess_shares_free(tess_shares *s);
TESS_API const char *tess_shares_error(const tess_shares *s);
TESS_API int tess_shares_count(const tess_shares *s); /* of shares: tess_options.n_devices, or 1 */
/* The share of an image or a result: a tensor in the memory of device number `device` of the options, whose first row
 * is row *first of the whole; NULL where it has none of it. Images are to be filled by the caller (masks, and images
 * that are read anywhere, are there as wholes for each device); they are the caller's between tess_shares_wait and the
 * next run. Valid until tess_shares_swap. */
TESS_API tess_status tess_share_input(const tess_shares *s, int device, const char *name,
                                      const DLTensor **rows, int64_t *first);
TESS_API tess_status tess_share_result(const tess_shares *s, int device, size_t output,
                                       const DLTensor **rows, int64_t *first);
/* Copies to or from such a tensor, as tess_image_copy; waits. */
TESS_API tess_status tess_share_copy(tess_shares *s, int device, const DLTensor *from,
                                     const DLTensor *to);
/* Puts a run on the devices' streams; it may return before it is done. With numbers of whole images it waits for
 * these. */
TESS_API tess_status tess_shares_run(tess_shares *s);
TESS_API tess_status tess_shares_wait(tess_shares *s);
/* The result becomes the image and the image the result, which have one size and type: for the next turns. Nothing is
 * copied. */
TESS_API tess_status tess_shares_swap(tess_shares *s, size_t output, const char *name);

#ifdef __cplusplus
}
#endif

#endif
