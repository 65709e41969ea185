/* plan_reader: what the files that read plan pages share. */
#ifndef TESSERA_PLAN_PLAN_READER_H
#define TESSERA_PLAN_PLAN_READER_H

#include "plan/plan_base.h"

typedef VEC(const char *) PlanWords;

/* What a page says of a place, compared with what it is when all is read. */
typedef struct PlanSaid {
    int line;        /* 0: nothing */
    uint32_t number; /* of the group */
    Placement place;
    const char *at; /* the level; NULL: not said */
    int64_t keep;   /* 0: not said */
} PlanSaid;

typedef struct PlanReader {
    Arena *arena;
    Diags *diags;
    const Graph *g;
    const PlanFacts *f;
    Plan *p;
    PlanGroup *group;            /* being read; NULL = none yet */
    PlanPass *pass;              /* being read; NULL = the members are */
    bool preset;                 /* the levels of the group began as those of a preset */
    PlanWords of_plan, of_group; /* first words of the lines read */
    const char **why;            /* where a reason goes */
    bool *placed;                /* by StageId */
    PlanSaid *said;              /* by StageId */
    int line;
    const char *at, *end; /* rest of the line */
} PlanReader;

/* Says what is wrong with the line; false. */
bool tessi_plan_bad(PlanReader *r, DiagCode code, const char *fmt, ...) TESS_PRINTF(3, 4);
void tessi_plan_skip_blanks(PlanReader *r);
/* The next word of the line, "" at its end; NULL with a diagnostic for a quote that is not closed. */
const char *tessi_plan_word(PlanReader *r);
/* A word that must be there. */
const char *tessi_plan_needed_word(PlanReader *r, const char *what);
bool tessi_plan_line_ends(PlanReader *r);
/* A number from 1 to `most`, of what `name` says. */
bool tessi_plan_read_number(PlanReader *r, const char *name, int64_t most, int64_t *out);
/* A number that fills the word from `begin` to `end`: 1 to `most`. */
bool tessi_plan_number_in(const char *begin, const char *end, int64_t most, int64_t *out);

/* ---- plan_read_levels.c */
/* The dimension that a word names, from the last; -1: none. */
int tessi_plan_dimension(const char *word);
/* The rest of a line that begins with the name of a dimension. */
bool tessi_plan_read_level(PlanReader *r, int dim);
/* The levels of a name (level_presets.def). */
bool tessi_plan_read_preset(PlanReader *r);
/* What says now what a page of before said by the word; NULL: it never did. */
const char *tessi_plan_old_word(const char *word);

#endif
