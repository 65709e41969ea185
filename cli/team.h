/* A team: processes that run a program together, each with a share of the images' rows, as strips (strips.h). How they
 * speak to each other is known to those who make the team (mpi.c). Functions marked "all" are called by all of them, in
 * the same order. */
#ifndef TESSERA_CLI_TEAM_H
#define TESSERA_CLI_TEAM_H

#include "cli/cli.h"

typedef struct TeamFile TeamFile;
typedef struct TeamImage TeamImage; /* team_images.h */
struct Team {
    int rank, size;
    bool failed;      /* one of them: there is nothing more to agree on */
    int near, n_near; /* which of those on this machine it is, and how many they are */
    /* all: the bytes of each, in the order of ranks; *bytes is the caller's. False: out of memory. */
    bool (*gather)(const void *own, size_t n, char **bytes, size_t *n_bytes);
    /* Messages to a rank, which receives those of another in their order; *bytes is the caller's. */
    bool (*send)(int rank, const void *bytes, size_t n);
    bool (*receive)(int rank, char **bytes, size_t *n);
    /* Messages that are under way while both compute: of two ranks, each begins its side of them in the same order, and
     * leaves the bytes alone until `settle`, which waits for all that it has begun. `look` moves them on. */
    bool (*begin_send)(int rank, const void *bytes, size_t n);
    bool (*begin_receive)(int rank, void *bytes, size_t n);
    void (*look)(void);
    void (*settle)(void);
    TeamImage *images; /* in the memory of all */
    /* all: a file that they write together, under another name until it is complete. NULL after `error`. */
    TeamFile *(*open)(const char *path, char *error, size_t error_size);
    int (*put)(void *file, uint64_t at, const void *bytes, size_t n); /* tess_file_share.put */
    /* all: it shows if `ok`; false with `error` at rank 0 */
    bool (*close)(TeamFile *file, bool ok, char *error, size_t error_size);
    void (*fail)(void); /* ends all, after one has said why; does not return */
};

/* team.c */
/* What the options leave open: threads and device of this one. */
void cli_team_settle(CommandLine *line);
/* all: whether it went well everywhere. Where not, the first that failed says what was kept of it since
 * cli_team_listen; rank 0 has said it. A failure is the last thing that they agree on. */
bool cli_team_agree(Team *t, bool ok);
void cli_team_listen(Team *t);
/* The rows first..end of n that are rank's, of so many, which begin at multiples of `align`; rank 0 has some. */
void cli_team_share(int size, int rank, int64_t n, int64_t align, int64_t *first, int64_t *end);
/* A run of the program on the line; an exit status. */
int cli_team_run(const CommandLine *line, Session *s);

#endif
