/* Batches: one program on many inputs. */
#ifndef TESSERA_CLI_BATCH_H
#define TESSERA_CLI_BATCH_H

#include "cli/cli.h"

/* One run of a batch: the files that vary from run to run, and its results. */
typedef struct Item {
    char *name;     /* what {name} stands for */
    char **files;   /* one for each input of Batch.input */
    char **outputs; /* one for each of the line */
    Said said;      /* what there was to say, until it is its turn */
    bool done, failed;
} Item;

typedef struct Batch {
    size_t *input, n_inputs; /* the inputs whose files vary */
    char **shared; /* for each input of the program the word for all runs, or NULL; borrowed */
    Item *items;
    size_t n;
} Batch;

/* pattern.c: whether the line is for many inputs: one of its words is a pattern, or an output has {name} */
bool cli_is_batch(const CommandLine *line);
/* `text` with every {name} replaced, owned; NULL without memory. */
char *cli_with_name(const char *text, const char *name);
/* Finds the files and names the results; an exit status, after saying what is wrong. */
int cli_batch_open(const CommandLine *line, const tess_program *p, Batch *b);
void cli_batch_free(const CommandLine *line, Batch *b);

/* batch.c: reads, runs and writes all items, whose files agree about what is no data; an exit status */
int cli_batch_run(const CommandLine *line, tess_program *p, Batch *b, const Nodata *nodata);
void cli_batch_bar(const Batch *b, size_t done, size_t n_failed);
void cli_say_failed(const CommandLine *line, const Batch *b, size_t n_failed); /* which */

/* video.c: the same of videos, one after the other */
int cli_run_videos(const CommandLine *line, tess_program *p, Batch *b);

#endif
