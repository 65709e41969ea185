/* A run in strips: what its files share. */
#ifndef TESSERA_CLI_STRIPS_RUN_H
#define TESSERA_CLI_STRIPS_RUN_H

#include "cli/strips.h"
#include "cli/team_images.h"

enum { ERROR_SIZE = 600 };

/* How a team writes a result. */
typedef enum ResultWay {
    HERE,   /* rank 0, which has all of it */
    SHARED, /* all together */
    SENT,   /* rank 0: the others send their rows */
    KEPT    /* nobody: each keeps its rows for the next run (team_images.h) */
} ResultWay;

/* A result on its way. */
typedef struct StripOutput {
    tess_info info;
    size_t output; /* of the line; SIZE_MAX: it is printed */
    DLTensor shape;
    int64_t extent[TESS_MAX_SHAPE];
    tess_writer *writer; /* NULL: the whole of it came with a part */
    tess_image_store store;
    tess_geometry geometry;
    char provenance[200];
    DLTensor *whole; /* a copy of that */
    int64_t rows;    /* that the writer has */
    /* Of a team: */
    ResultWay way;
    TeamImage *kept;
    TeamFile *file;
    char *held;   /* what came from others and is being written */
    char *joined; /* rows of which others had columns, likewise */
    tess_file_share share;
} StripOutput;

typedef struct StripRun {
    Strips *s;
    StripOutput *output;
    size_t n_outputs;
    double start;          /* of the pass */
    StripJournal *journal; /* NULL: without --resume */
    int64_t first;         /* rows of the images that a run before has finished */
    int64_t *there;        /* and of each file of the line */
} StripRun;

/* strips.c: takes rows of a result, of the last part or sent by others. */
bool cli_strips_add(StripRun *r, size_t number, const DLTensor *t);

/* strips_team.c: of teams; all of them are called by all. */
/* Chooses how a result is written, and opens what they write together. */
bool cli_team_output(StripRun *r, size_t number);
/* What rank 0 is to write, from another one. */
bool cli_team_send(const Team *t, size_t number, const DLTensor *rows);
bool cli_team_collect(StripRun *r); /* rank 0 receives all that */
/* Adds rows to a copy of the whole result. */
bool cli_team_assemble(StripOutput *o, const DLTensor *rows);
/* Strips of those who share rows are of one height. */
bool cli_team_settle_heights(Strips *s);
/* Whether those who share rows have columns of a result each; if not all have the same, and *has_it for the first. */
bool cli_team_shares_columns(const StripRun *r, size_t number, bool *shared, bool *has_it);
/* Some columns of rows of a result: the first of those who share the rows gets them from the others, and adds them. */
bool cli_team_join_columns(StripRun *r, size_t number, const DLTensor *t);
/* Joins what all have found about numbers of whole images. */
bool cli_team_join(Strips *s, size_t pass);
/* Ends a file that they have written together; `error` is a doubt then. */
bool cli_team_end(StripRun *r, StripOutput *o, bool ok, char *error, size_t error_size);

#endif
