/* Inside plan/: edits of a plan, each one line of its page said otherwise, put in or left out, or a stage computed
 * elsewhere. They are made without asking whether they are legal; the verifier keeps those that are. Neighbours are
 * all edits of a plan (plan_neighbours.c), random plans some of them, one after the other (plan_random.c). */
#ifndef TESSERA_PLAN_PLAN_EDITS_H
#define TESSERA_PLAN_PLAN_EDITS_H

#include "plan/plan_base.h"
#include "plan/plan_knobs.h"
#include "plan/plan_neighbours.h"

typedef struct Editor {
    Arena *arena;
    const PlanFacts *f;
    const Plan *from;
    PlanNeighbours *out;
    VEC(uint64_t) pages; /* hashes of those that are neighbours, and of the plan itself */
} Editor;

/* All edits of groups: of number i, of its pass k, or, where it has no such pass, of the group's own loops. They are
 * true when the edited plan is legal, and then it is appended to e->out, unless it is there. */
bool tessi_edit_keep(Editor *e, Plan *p, StageId about, const char *change);

/* Whether no neighbour has this page yet. */
bool tessi_edit_is_new(Editor *e, const Plan *p);
StageId tessi_edit_about(const Editor *e, uint32_t i);
PlanLevels *tessi_edit_levels_of(PlanGroup *group, uint32_t k);
/* The group as it is here; what depends on its other lines gives way where it must: passes, then copies, packed words,
 * frames and occupancy, then rows that share what they read. */
bool tessi_edit_group(Editor *e, uint32_t i, StageId about, const PlanGroup *changed,
                      const char *change);
/* The same, and nothing gives way. */
bool tessi_edit_group_as_it_is(Editor *e, uint32_t i, const PlanGroup *changed, const char *change);
bool tessi_edit_levels(Editor *e, uint32_t i, uint32_t k, const PlanLevels *levels,
                       const char *change);
/* The levels of preset n over the dimensions of the group; false when it has none, or is for the other target. */
bool tessi_edit_preset(const Editor *e, uint32_t i, size_t n, PlanLevels *out);
/* The image copied so by the blocks of the group; in N_STAGINGS, not at all. */
bool tessi_edit_copy(Editor *e, uint32_t i, StageId image, int in);
/* The images that the group reads. */
void tessi_edit_images(const Editor *e, uint32_t i, StageList *out);

/* The stage computed otherwise: again at each use, or once into memory. */
bool tessi_edit_place(Editor *e, StageId s, Placement to);
/* An inlined stage carried down the rows, `rows` a step. */
bool tessi_edit_carry(Editor *e, uint32_t i, uint32_t k, StageId s, uint16_t band, uint8_t rows);
/* An inlined stage in a pass of its own, where the tiles of the group read it. */
bool tessi_edit_into_pass(Editor *e, uint32_t i, StageId s);
/* Member k of group i by itself; the members of group k in the loops of group i; group k computed by its passes. */
bool tessi_edit_separate(Editor *e, uint32_t i, uint32_t k);
bool tessi_edit_join(Editor *e, uint32_t i, uint32_t k);
bool tessi_edit_fuse(Editor *e, uint32_t i, uint32_t k);

#endif
