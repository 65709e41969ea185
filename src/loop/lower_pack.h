/* Inside lowering: integers of neighbours two in a word, and elements of images as words. */
#ifndef TESSERA_LOOP_LOWER_PACK_H
#define TESSERA_LOOP_LOWER_PACK_H

#include "loop/lower_vectors.h"

/* Where a load of a small element is found when its row is loaded in words. */
typedef struct InWord {
    LExprId word;    /* none: nowhere */
    uint8_t element; /* from the low bits */
} InWord;
typedef struct Words {
    InWord *of; /* by LExprId */
    uint32_t n;
} Words;

typedef struct Fact { /* of an expression */
    int64_t lo, hi;   /* its values, when it is an integer; lo > hi: nothing is known */
    uint32_t height;
    uint8_t weight; /* operations that pairs would share; saturates */
    bool can;       /* pairs of it can be computed from pairs of its arguments */
} Fact;

enum { LANE = 65536 }; /* what half a word holds */
enum { MOST_DOTS = 16 };
typedef struct Dot {
    LExprId e;       /* a word, or a value by itself */
    int64_t coef[4]; /* of its bytes, or of it */
    bool is_word;
} Dot;
/* constant + the sum of coefficients times bytes or values. */
typedef struct Dots {
    Dot at[MOST_DOTS];
    uint32_t n;
    int64_t constant;
} Dots;

/* ---- lower_facts.c ---- */
/* An integer of 32 bits at most. */
bool tessi_is_number(ScalarType t);
bool tessi_fact_constant(const Lower *l, LExprId id, int64_t *value);
/* Its values fit half a word. */
bool tessi_fact_fits(const Fact *f);
/* x / d = x * factor >> shift for 0 <= x <= most; false when no word holds the products. */
bool tessi_fact_quotient(int64_t most, int64_t d, int64_t *factor, int *shift);
/* A range that holds two. */
Fact tessi_fact_around(const Fact *a, const Fact *b);
/* Of an expression, when those of its arguments are known. */
Fact tessi_fact_of(Lower *l, const Fact *fact, LExprId id);

/* ---- lower_dots.c ---- */
/* The value of an expression as such a sum; false when it is none, or none of words. */
bool tessi_dots_find(Lower *l, const Words *words, const Fact *fact, LExprId id, Dots *dots);
/* The sum, modulo 2^32. */
LExprId tessi_dots_sum(Lower *l, const Dots *dots);

/* ---- lower_words.c ---- */
/* The word that holds a load; NULL. */
const InWord *tessi_in_word(Lower *l, const Words *words, LExprId id);
/* Loads what the roots read of small elements in rows as words. */
void tessi_words_take(Lower *l, const LExprId *root, uint32_t n, const TileColumns *columns,
                      Words *words);
/* Those of these loads that the roots still have are found in the words. */
void tessi_words_define(Lower *l, const Words *words, const LExprId *root, uint32_t n);

#endif
