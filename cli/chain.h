/* Filters of the library applied one after the other, as the command line names them: `gaussian sigma=2, sobel in.png`.
 */
#ifndef TESSERA_CLI_CHAIN_H
#define TESSERA_CLI_CHAIN_H

#include "cli/cli.h"

enum { MOST_ARGUMENTS = 16 };

/* One filter. Of its first image that is not given the value is what comes from the filter before. */
typedef struct Link {
    const tess_operator *op;
    char *value[MOST_ARGUMENTS]; /* number or file, owned; NULL: not given */
} Link;

typedef struct Chain {
    Link *at;
    size_t n;
    char **
        files; /* of its images, in the order of the inputs of the program: in1, in2, ..; borrowed */
    size_t n_files;
    size_t n_more; /* behind them: further files of the one image, as a shell makes of in/a*.png */
} Chain;

/* Takes the words apart. False after saying what is wrong; to be freed then too. */
bool cli_chain_read(const tess_library *library, const CommandLine *line, Chain *chain);
void cli_chain_free(Chain *chain);

/* The program that applies the chain to images of any type; NULL without memory. */
char *cli_chain_program(const Chain *chain);

#endif
