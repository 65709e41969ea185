/* Manual pages and completions, printed from the tables. */
#ifndef TESSERA_CLI_PAGES_H
#define TESSERA_CLI_PAGES_H

#include "cli/tables.h"

/* manual.c: the page of the tool, and of a command */
void pages_manual(FILE *out, CommandId ignored);
void pages_command(FILE *out, CommandId command);
void pages_mpi(FILE *out, CommandId ignored); /* of tessera-mpi */
/* complete.c */
void pages_bash(FILE *out, CommandId ignored);
void pages_zsh(FILE *out, CommandId ignored);

#endif
