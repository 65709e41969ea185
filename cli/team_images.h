/* Images that stay in the memory of a team from one run to the next: each process has the rows that it has computed,
 * and gets those of others on which its own depend while it computes what does not. */
#ifndef TESSERA_CLI_TEAM_IMAGES_H
#define TESSERA_CLI_TEAM_IMAGES_H

#include "cli/strips.h"
#include "cli/team.h"

struct TeamImage {
    const Team *team;
    char *name; /* of the file that it would be */
    DLTensor shape;
    int64_t extent[TESS_MAX_SHAPE];
    size_t row_bytes;
    int64_t *first, *end; /* the rows of each rank */
    char *rows;           /* those of this one */
    struct TeamRows *others;
    size_t n_others;
    TeamImage *next;
};

/* NULL: the team has no such image. */
TeamImage *cli_team_image(const Team *t, const char *name);
/* An image of which each rank has some rows, first[rank]..end[rank]. NULL: out of memory. */
TeamImage *cli_team_image_new(Team *t, const char *name, const DLTensor *shape,
                              const int64_t *first, const int64_t *end);
void cli_team_image_forget(Team *t, const char *name);
/* Bytes of the images that this rank has. */
double cli_team_image_bytes(const Team *t);
/* Rows of a result, which begin at row `at` of the whole, as far as they are this rank's. */
void cli_team_image_put(TeamImage *image, const DLTensor *rows, int64_t at);
/* all: begins to send and to receive the rows of images that the passes of a run need of others. */
bool cli_team_images_begin(Strips *s);
/* Rows from..to to `at`; waits for those of others, if any of them are. */
bool cli_team_image_get(const TeamImage *image, int64_t from, int64_t to, char *at);

#endif
