/* plan_knobs: the words of a plan page that set fields of a group, as a table (knobs.def). A knob is a word, up to four
 * numbers that follow it, and perhaps a flag that the word itself sets. */
#ifndef TESSERA_PLAN_PLAN_KNOBS_H
#define TESSERA_PLAN_PLAN_KNOBS_H

#include "plan/plan.h"

/* How the rest of the line reads. */
typedef enum KnobKind {
    KNOB_NUMBERS, /* all its numbers */
    KNOB_SPLIT,   /* a kind of split */
    KNOB_COPY     /* the name of an image, and its place */
} KnobKind;

enum { KNOB_MOST_NUMBERS = 4, KNOB_SAYS_NOTHING = -2 };
#define KNOB_NOWHERE SIZE_MAX

/* A field of a group: 1 to `most`, or `unset` where the line is missing. Where `unset` is KNOB_SAYS_NOTHING the number
 * alone is no reason for the line. */
typedef struct KnobNumber {
    const char *unit; /* in diagnostics: "rows are 1 to 16" */
    int64_t most, unset;
    size_t of_group; /* where the field is */
    uint8_t bytes;   /* of the field */
} KnobNumber;

typedef struct Knob {
    const char *word;
    KnobKind kind;
    uint32_t n;
    KnobNumber number[KNOB_MOST_NUMBERS];
    size_t flag; /* of a group; KNOB_NOWHERE: it has none */
    bool sets;   /* what the flag becomes */
    const char *example;
} Knob;

/* In the order of pages; the end has no word. */
const Knob *tessi_knobs(void);
const Knob *tessi_knob_by_word(const char *word); /* NULL when there is none */

int64_t tessi_knob_get(const Knob *k, uint32_t i, const PlanGroup *group);
void tessi_knob_set(const Knob *k, uint32_t i, PlanGroup *group, int64_t value);
bool tessi_knob_flag(const Knob *k, const PlanGroup *group);
void tessi_knob_set_flag(const Knob *k, PlanGroup *group);
/* The page has a line for it. */
bool tessi_knob_is_said(const Knob *k, const PlanGroup *group);
/* The group as the example of knobs.def has it, and without the line. */
void tessi_knob_set_usual(const Knob *k, PlanGroup *group);
void tessi_knob_leave_out(const Knob *k, PlanGroup *group);
/* A group whose numbers are all unset. */
void tessi_knobs_unset(PlanGroup *group);
/* NULL, or one sentence about the first number out of its range. */
const char *tessi_knobs_check(Arena *a, const PlanGroup *group);

#endif
