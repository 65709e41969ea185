/* Strips: runs on images that are not in memory as a whole. Files are read, computed and written a strip of rows at a
 * time, in as many passes as there are depths of numbers of whole images. */
#ifndef TESSERA_CLI_STRIPS_H
#define TESSERA_CLI_STRIPS_H

#include <stdint.h>

#include "cli/cli.h"

/* An image, as a file that is read row by row, or in memory where that cannot be. */
typedef struct StripInput {
    const char *path; /* NULL: this input is a number */
    tess_info info;
    DLTensor shape; /* of the whole, without data */
    int64_t extent[TESS_MAX_SHAPE];
    size_t row_bytes;
    tess_meta *meta;
    tess_reader *reader;      /* NULL: it is in memory */
    char cannot[300];         /* then: why it is not read row by row */
    struct TeamImage *shared; /* not NULL: the team has it in memory, each some of its rows */
    DLTensor *whole;
    DLTensor *window[2]; /* rows of it as bytes, by turns */
    size_t window_bytes[2];
    int64_t from, to; /* what is in the window of the strip at hand */
    bool pending;     /* the reader is at work on the next one */
} StripInput;

/* How a pass is cut. */
typedef struct StripPass {
    tess_pass pass;
    int64_t height, n_strips;
    int columns;             /* of a team: so many share each row; 1: one has it */
    tess_part_memory memory; /* of its highest strip */
    double bytes;            /* all that is in memory then */
} StripPass;

typedef struct Strips {
    const CommandLine *line;
    tess_program *program;
    tess_args *args;
    tess_parts *parts;
    StripInput *input;
    size_t n_inputs, n_passes;
    StripPass *pass;
    double limit, whole; /* bytes allowed, and needed to have all in memory */
    char why[400];       /* of teams: why there are no parts */
    tess_rounds *rounds; /* the turns of its loop are run a few at a time; NULL: all in one run */
    const struct Strips *origin; /* of the last round: the program that it ends; or NULL */
    double *numbers;             /* results that are numbers go there; NULL: they are printed */
} Strips;

typedef enum StripsNeed { STRIPS_FAILED, STRIPS_NOT, STRIPS_WANTED } StripsNeed;

/* strips_plan.c: whether a run needs strips, and how they are cut; where `always`, only the latter. NOT: it fits into
 * the memory that is allowed. FAILED after saying why. Strips are to be freed in any case. */
StripsNeed cli_strips_plan(const CommandLine *line, tess_program *p, bool always, Strips *s);
void cli_strips_free(Strips *s);
/* The strip at row `begin` of a pass, which ends at row `end` or before. */
void cli_strips_part(const Strips *s, size_t pass, int64_t begin, int64_t end, tess_part *part);
/* The rows of the images that one of a team has in a pass; alone, all of them. */
void cli_strips_share(const Strips *s, size_t pass, int rank, int64_t *begin, int64_t *end);
/* Likewise the columns. */
void cli_strips_columns(const Strips *s, size_t pass, int rank, int64_t *begin, int64_t *end);
void cli_strips_explain(Strips *s);              /* prints the plan: explain --memory */
void cli_size_text(double bytes, char text[32]); /* "1.5 GiB" */
double cli_result_bytes(tess_program *p, tess_args *a, size_t number); /* of numbers 0 */

/* strips_rounds.c: whether the turns of the program's loop can be run apart, a few at a time, over strips so high; all
 * of them together depend on so many rows around. */
bool cli_rounds_find(Strips *s, int64_t height, int64_t around);
bool cli_rounds_run(Strips *s);
void cli_rounds_explain(const Strips *s);
/* The name of a file in which a round leaves its result k, in turns one of two; NULL: out of memory. */
char *cli_turns_file(const Strips *s, long id, size_t k, int generation);
void cli_turns_remove(const Strips *s, long id,
                      size_t k); /* both, with what is unfinished of them */

/* strips_resume.c: what is finished of a run, for --resume. False after saying why. */
typedef struct StripJournal StripJournal;
/* What a run before has left: *end rows of the images are finished (0: begin anew), of file i of the line rows[i]. */
bool cli_journal_open(const Strips *s, StripJournal **journal, int64_t *end, int64_t *rows);
/* The strip up to row `end` was computed, and with it so many rows of each file were handed to the writers. */
void cli_journal_add(StripJournal *j, int64_t end, const int64_t *rows);
/* So many rows of each file are on the disk, in so many bytes. */
bool cli_journal_settle(StripJournal *j, const int64_t *settled, const uint64_t *bytes);
void cli_journal_close(StripJournal *j, bool is_done); /* done: there is nothing to go on with */
/* A number of the version, what the program means, and all that it is run on. */
bool cli_journal_key(const Strips *s, uint64_t *key);

/* strips_turns.c: the same of a run in rounds, between rounds. */
typedef struct TurnsDone {
    size_t round;   /* the last program that was run */
    int64_t times;  /* how often; 0: nothing is done */
    int ends;       /* its condition holds */
    long id;        /* of files */
    int generation; /* of those that are whole */
    struct {
        uint64_t bytes; /* of a file; 0: it is a number */
        double number;
    } * left;
    size_t n_left; /* where nothing is done, as many as there may be */
} TurnsDone;
/* What a run before has left, or nothing. */
bool cli_turns_read(const Strips *s, TurnsDone *done);
bool cli_turns_write(const Strips *s, TurnsDone *done); /* fills in the bytes of files */
void cli_turns_forget(TurnsDone *done);
void cli_turns_end(const Strips *s); /* there is nothing to go on with */

/* strips_team.c: whether numbers take parts in order, which none of a team computes beside the others; says why */
bool cli_team_has_order(Strips *s);
/* strips.c: runs them; false after saying why not */
bool cli_strips_run(Strips *s);

#endif
