/* Inside lowering: what sums by Fourier transforms (graph_transform.h) are made of, on CPUs (lower_transform.c) and
 * on GPUs (lower_spectrum.c). */
#ifndef TESSERA_LOOP_LOWER_FOURIER_H
#define TESSERA_LOOP_LOWER_FOURIER_H

#include "graph/graph_transform.h"
#include "loop/lower_gather.h"
#include "loop/lower_window.h"

enum { MOST_RADIX = 8 };

typedef struct Complex {
    LExprId re, im;
} Complex;
typedef struct Columns { /* buffers of two parts */
    LBufferId re, im;
} Columns;

typedef struct Transform {
    Lower *l;
    const PlanGroup *group;
    const Stage *stage;
    WideSum sum;
    ScalarType type;
    uint32_t n, rows;    /* of a transform; of these, results of a block */
    int64_t width, wide; /* columns of a strip; CPUs: with those that its taps read beyond it */
    LBufferId sine, frequency;
    Columns mask, in, out;
    LExprId y, x; /* the first point of the two blocks and the strip */
    Gather read;
} Transform;

/* What the group sums up, and how. */
Transform tessi_fourier_new(Lower *l, const PlanGroup *group);

/* A buffer of the group; columns of two parts, whose second dimension is `cols`. */
LBufferId tessi_fourier_buffer(const Transform *t, const char *name, LBufferKind kind,
                               ScalarType type, LExprId rows, LExprId cols);
Columns tessi_fourier_columns(const Transform *t, const char *name, LBufferKind kind, LExprId rows,
                              LExprId cols);
/* The sines of one turn and a quarter. */
LBufferId tessi_fourier_sine(const Transform *t, const char *name, ScalarType type);
/* The tables that the transform of the mask takes: `sine` and `frequency`. */
void tessi_fourier_tables(Transform *t);

/* The weight at row i, column j of the mask as a double; 0 where there is no tap. */
LExprId tessi_fourier_weight(const Transform *t, LExprId i, LExprId j);
/* In a scope of its own for (p, j): the transform of column j of the mask at row p of frequencies. `weights`: of the
 * mask, none = they are computed here. */
Complex tessi_fourier_of_mask(const Transform *t, LBufferId weights, LExprId frequency, LExprId j);

/* 0; not for a column with these sums at the first frequency when it is spoiled. */
LExprId tessi_fourier_trace(const Transform *t, Complex first);
LExprId tessi_fourier_is_trace(const Transform *t, LExprId trace);
/* The sum as written, at a point of the stage. */
LExprId tessi_fourier_written(const Transform *t, LExprId y, LExprId x);

/* One butterfly of `radix` rows, j of `size` / radix from the first of its block: rows are loaded into v before,
 * stored after. */
typedef struct Butterfly {
    uint32_t size, radix;
    bool back;
    Complex factor[MOST_RADIX]; /* those from 1 on, where there are any */
} Butterfly;
/* The factors, from a table of sines, as LETs. */
void tessi_fourier_factors(const Transform *t, Butterfly *b, LBufferId sine, LExprId j);
/* Transforms v in place. */
void tessi_fourier_butterfly(const Transform *t, const Butterfly *b, Complex *v);

/* Short forms. */
LExprId tessi_f_add(const Transform *t, LExprId a, int64_t b);
LExprId tessi_f_fma(const Transform *t, LExprId a, LExprId b, LExprId c);
LExprId tessi_f_neg(const Transform *t, LExprId a);
LExprId tessi_f_load(const Transform *t, LBufferId b, LExprId row, LExprId col);
void tessi_f_store(const Transform *t, LBufferId b, LExprId row, LExprId col, LExprId value);
LExprId tessi_f_loop(const Transform *t, const char *name, int64_t to, uint8_t flags);
void tessi_f_comment(const Transform *t, const char *text);

#endif
