/* Inside of finding repeats: a loop of the text whose turns are held against one of them, and the graph with a repeat
 * in its place. */
#ifndef TESSERA_GRAPH_GRAPH_REPEAT_FIND_H
#define TESSERA_GRAPH_GRAPH_REPEAT_FIND_H

#include "graph/graph_passes.h"

enum { MAX_LAG = 8, MAX_START = 3, EXACT_REAL = 1 << 24, MOST_LOOKED_AT = 256 };

typedef VEC(StageId) Stages;

/* A constant of the turn held against the others that grows by so much from turn to turn. */
typedef struct Growing {
    ExprId id;
    int64_t by;
} Growing;

typedef struct Finder {
    Graph *g;
    Arena *a, *texts; /* texts: of what is said about the loop */
    uint32_t loop, n_turns;
    uint32_t start,
        model;       /* the first turn of the repeat; the one that is held against the others */
    Stages *turn;    /* by turn: its stages */
    uint32_t *place; /* by stage: its place among those of its turn */
    uint32_t width;  /* stages of a turn */
    uint32_t *lag;   /* by place: how many turns back it is read; 0 = by its own alone */
    StageId (*first)
        [MAX_LAG]; /* by place: what stands for it before the first turn, one turn before, two .. */
    bool *depends; /* by stage: on a turn of the loop */
    VEC(Growing) growing;
    ExprId *match;   /* by expression of the model: its like in the turn at hand */
    uint32_t *stamp; /* of match */
    uint32_t epoch, n_exprs;
    const char *why;
} Finder;

/* ---- graph_repeat_make.c ---- */
/* The graph with the repeat that was found. */
Graph *tessi_repeat_make(Finder *f);
/* A stage that a turn of the repeat makes. */
bool tessi_repeat_in_loop(const Finder *f, const Stage *s);
/* Only a repeat does what the loop says. */
bool tessi_loop_has_to_repeat(const GraphLoop *loop);
/* The constant is a whole number, exactly. */
bool tessi_whole_value(const Expr *e, int64_t *value);

#endif
