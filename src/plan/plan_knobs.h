/* plan_knobs: the words of a plan page as a table (knobs.def). A knob is a word, up to four numbers that follow it, and
 * perhaps a flag: one that the word itself sets, or one that a last word on the line sets. */
#ifndef TESSERA_PLAN_PLAN_KNOBS_H
#define TESSERA_PLAN_PLAN_KNOBS_H

#include "plan/plan.h"

/* How the rest of the line reads. */
typedef enum KnobKind {
    KNOB_NUMBERS,   /* all its numbers, then the last word if there is one */
    KNOB_SIZES,     /* a number for each dimension */
    KNOB_ORDER,     /* all dimensions */
    KNOB_DIMENSION, /* one dimension */
    KNOB_KERNEL,    /* a kind of kernel */
    KNOB_SPLIT,     /* a kind of split */
    KNOB_COPY       /* the name of an image */
} KnobKind;

/* Where on a page the line stands. */
typedef enum KnobWhere {
    KNOB_HEAD,      /* before the passes and members of a group */
    KNOB_BODY,      /* after them */
    KNOB_OF_KERNEL, /* after them, in plans for GPUs */
    KNOB_COPIES     /* among the copies of images */
} KnobWhere;

enum { KNOB_MOST_NUMBERS = 4, KNOB_SAYS_NOTHING = -2 };
#define KNOB_NOWHERE SIZE_MAX

/* A field of a group, of a pass, or of both: 1 to `most`, or `unset` where the line is missing. Where `unset` is
 * KNOB_SAYS_NOTHING the number alone is no reason for the line. */
typedef struct KnobNumber {
    const char *unit; /* in diagnostics: "rows are 1 to 16" */
    int64_t most, unset;
    size_t of_group, of_pass; /* where the field is; KNOB_NOWHERE: it has none */
    uint8_t bytes;            /* of the field; one that can be -1 is signed */
} KnobNumber;

typedef struct Knob {
    const char *word;
    KnobKind kind;
    KnobWhere where;
    uint32_t n;
    KnobNumber number[KNOB_MOST_NUMBERS];
    size_t flag;      /* of a group; KNOB_NOWHERE: it has none */
    bool sets;        /* what the flag becomes */
    const char *last; /* the last word that sets it; NULL: the line itself does */
} Knob;

/* In the order of pages; the end has no word. */
const Knob *tessi_knobs(void);
const Knob *tessi_knob_by_word(const char *word); /* NULL when there is none */

/* The line can stand in a pass. */
bool tessi_knob_is_of_pass(const Knob *k);
/* Number i of the group, or of the pass where that is not NULL; the line can stand there. */
int64_t tessi_knob_get(const Knob *k, uint32_t i, const PlanGroup *group, const PlanPass *pass);
void tessi_knob_set(const Knob *k, uint32_t i, PlanGroup *group, PlanPass *pass, int64_t value);
bool tessi_knob_flag(const Knob *k, const PlanGroup *group);
void tessi_knob_set_flag(const Knob *k, PlanGroup *group);
/* The page has a line for it. */
bool tessi_knob_is_said(const Knob *k, const PlanGroup *group, const PlanPass *pass);
/* A group, a pass whose numbers are all unset. */
void tessi_knobs_unset(PlanGroup *group, PlanPass *pass);
/* NULL, or one sentence about the first number out of its range. */
const char *tessi_knobs_check(Arena *a, const PlanGroup *group);

#endif
