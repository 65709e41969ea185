/* interp: what a run hands to either interpreter. The graph interpreter (graph_interp.c) says what a program means;
 * the loop interpreter (loop_interp.c) says whether lowering kept the meaning. The first is simple, slow and never
 * optimised; the second is as quick as its checks let it be, since tests wait for it. */
#ifndef TESSERA_INTERP_INTERP_H
#define TESSERA_INTERP_INTERP_H

#include "base/base.h"
#include "base/scalar.h"
#include "graph/graph.h"

/* An image in memory: pixels at data + sum of index[d] * stride_bytes[d]; the channels of a pixel lie at the byte
 * offsets that the program's image states. */
typedef struct InterpImage {
    void *data;
    int64_t size[MAX_DIMS];
    int64_t stride_bytes[MAX_DIMS];
} InterpImage;

typedef struct InterpArgs {
    const int64_t *params;     /* one for each size parameter */
    const Value *scalars;      /* one for each input scalar, of its type */
    const InterpImage *inputs; /* one for each input image; never written */
    /* one for each output image; only its pixels are written, padding is left alone */
    const InterpImage *outputs;
    uint64_t memory_limit_bytes; /* of intermediate images; 0 = no limit */
    /* of the graph interpreter, by stage: rows of the Fourier transforms by which its wide sum is taken, 0 = none
     * (graph_transform.h). The sum is computed as written too, and must not differ by more than is promised. NULL =
     * no stage */
    const uint16_t *transform;
    Arena *arena;  /* for side tables; the caller disposes of it after the run */
    LoopEnd *ends; /* out: of each loop with a condition, in order; NULL: nobody asks */
} InterpArgs;

#endif
