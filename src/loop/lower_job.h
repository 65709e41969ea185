/* Inside lowering: what the loops of a group evaluate at a point, and where it is stored. */
#ifndef TESSERA_LOOP_LOWER_JOB_H
#define TESSERA_LOOP_LOWER_JOB_H

#include "loop/lower_nest.h"

/* Says which stages are computed next. */
void tessi_comment_stages(Lower *l, const StageId *stage, uint32_t n);
/* Where stages in scratch memory are evaluated beyond their edges; nothing is in scratch memory any more. */
void tessi_places_wrap(Lower *l, const PlanRegions *regions);
void tessi_places_forget(Lower *l);
/* What n plain stages compute at a point. */
const ExprId *tessi_bodies(Lower *l, const StageId *stage, uint32_t n);
/* Computes stages, or pieces of a stage at the same points, in a nest with its ranges set. */
typedef struct Job {
    const StageId *stage; /* n of them */
    const Piece *piece;   /* n of them, of these stages; NULL = plain stages */
    uint32_t n;
    const ExprId *roots; /* NULL = store zeros */
    bool to_scratch;
    const char *part; /* distinguishes the kernels of a group; "" when there is one */
    uint16_t band;    /* of its loops: as PlanGroup.band */
    uint32_t
        lattice; /* the pieces of each stage, which are a whole lattice; 0 where they are not so */
} Job;
/* ---- lower_pieces.c ---- */
/* The piece coordinates whose points are inside the stage. */
void tessi_piece_range(Lower *l, const Stage *s, const Piece *piece, Nest *nest);
/* Some pieces with the same steps cover the stage between them, so that nothing need be cleared. */
bool tessi_pieces_cover(const Lower *l, const Stage *s);
/* Pieces from number `first` on that give different classes of one lattice from the same points; 1 where the next one
 * does not. */
uint32_t tessi_pieces_together(Lower *l, const Stage *s, uint32_t first);
/* ---- lower_job.c ---- */
/* Fills in how the nest computes the job. */
void tessi_job_nest(Lower *l, const PlanGroup *group, uint8_t rows, Nest *nest, const Job *job);

#endif
