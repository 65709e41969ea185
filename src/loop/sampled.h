/* The pass `sampled`: what loops over points of images that are sampled anywhere share between rows. */
#ifndef TESSERA_LOOP_SAMPLED_H
#define TESSERA_LOOP_SAMPLED_H

#include "loop/pass.h"

enum { SAMPLED_MOST_TABLES = 16, SAMPLED_MOST_ROWS = 16, SAMPLED_MOST_LINES = 8 };

/* What a value depends on. */
enum { ON_POINT = 1, ON_ROW = 2, ON_MORE = 4 /* what changes meanwhile */ };

/* By LExprId, as many as have been asked for; those of an earlier round do not count, so that a new one costs nothing,
 * however many values the program has. */
typedef struct Note {
    uint32_t round, value;
} Note;
typedef struct Notes {
    Note *at;
    uint32_t n, round;
} Notes;

/* Values of the points of a row that depend on nothing else. */
typedef struct Table {
    LExprId value;
    LBufferId buffer;
} Table;

/* The same of several rows of an image: `form` has the variable `read` for the index of the row. */
typedef struct Samples {
    LExprId form;
    LExprId row[SAMPLED_MOST_LINES]; /* that the row in hand reads */
    uint32_t n;
    uint32_t first; /* of those before it that have the same rows, or itself */
    LBufferId buffer;
} Samples;

typedef struct Sampled {
    LoopProgram *p;
    Arena *scratch;
    const LStmt **definition; /* by LVarId */
    uint8_t *where;           /* by LVarId: where it is defined, WHERE_... */
    bool *stored;             /* by LBufferId: in the rows in hand */
    uint32_t n_vars;

    const LStmt *rows, *points; /* the loops over y and x */
    LExprId read;
    Notes depends, whole, cost, key, form, scattered, seen, nodes, changed, widest;
    Table table[SAMPLED_MOST_TABLES];
    Samples samples[SAMPLED_MOST_ROWS];
    uint32_t n_tables, n_samples;
    int64_t columns; /* of a block, at most */
    LExprId x_from;  /* the first point of the block */
} Sampled;
enum { WHERE_OUTSIDE, WHERE_ROW, WHERE_POINT, WHERE_INSIDE };

/* ---- sampled_values.c ---- */
/* What is noted of a value in this round; 0 at first. */
uint32_t *tessi_sampled_note(Sampled *s, Notes *notes, LExprId id);
void tessi_sampled_forget(Notes *notes);
/* Finds what is worth keeping of the loops in hand; false: nothing. */
bool tessi_sampled_find(Sampled *s);
uint32_t tessi_sampled_depends(Sampled *s, LExprId id);
/* A value of the loop over points without names of its own. */
LExprId tessi_sampled_whole(Sampled *s, LExprId id);
/* The number of what stands for a whole value, counted from 1; 0: nothing does. */
uint32_t tessi_sampled_table(const Sampled *s, LExprId whole);
uint32_t tessi_sampled_row(Sampled *s, LExprId whole, uint32_t *line);

#endif
