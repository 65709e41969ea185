/* front: the way from text to graph. parse.c makes the tree (ast.h), check*.c the typed tree (typed.h), lower*.c the
 * graph. */
#ifndef TESSERA_FRONT_FRONT_H
#define TESSERA_FRONT_FRONT_H

#include "front/ast.h"
#include "front/typed.h"
#include "graph/graph.h"

enum { MOST_CHANNELS = 32 }; /* of an image whose last size is a constant for the sake of speed */

/* A parameter or scalar set by the user. Only those whose value is needed while compiling are used here; sizes and
 * ordinary scalars stay parameters of the graph. */
typedef struct FrontConstant {
    const char *name;
    double value;
} FrontConstant;

/* The element type of an input that is declared `any`, and its fields: 1 is a plain image. */
typedef struct FrontType {
    const char *name; /* NULL: of all that no other names */
    ScalarType type;
    uint32_t n_fields;
} FrontType;

/* The value of input `input` (NULL: of all of them) that says that there is none. */
typedef struct FrontNodata {
    const char *input;
    double value;
} FrontNodata;

typedef struct FrontOptions {
    const char *name;   /* of the program (and the graph) */
    const char *border; /* rule for reads that name none; NULL = the program's own, else clamp */
    const FrontConstant *constants;
    size_t n_constants;
    const FrontType *types; /* the last that fits an input counts; none: plain float */
    size_t n_types;
    const FrontNodata *nodata;
    size_t n_nodata;
    bool fast; /* sums may be off, so that none of them says whether there is anything to add */
    /* turns more than the usual few that loops are gone through whose number only the run knows */
    uint32_t stand_in;
    bool constant_counts;  /* size parameters as numbers of turns are constants of the program */
    uint32_t max_stages;   /* 0 = 4096 */
    uint32_t max_unrolled; /* expression nodes made while unrolling; 0 = 1000000 */
} FrontOptions;

/* Checks the program; the typed tree is complete only when no error was added to d. Never NULL. */
Typed *tessi_check(Arena *a, Diags *d, const Ast *ast, const FrontOptions *o);
/* The graph of a typed tree without errors; NULL with a diagnostic when a limit is passed. */
Graph *tessi_lower(Arena *a, Diags *d, const Typed *t, const FrontOptions *o);

/* Both: NULL when the program has errors. *typed_out (may be NULL) receives the typed tree also then; its
 * `constants` say which parameters and const inputs were needed (`known` false: diagnosed; with d->n_errors ==
 * n_missing, values alone would cure it). */
Graph *tessi_front(Arena *a, Diags *d, SourceMap *sources, const Ast *ast, const FrontOptions *o,
                   Typed **typed_out);

#endif
