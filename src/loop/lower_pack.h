/* Inside lowering: integers of neighbours two in a word, and elements of images as words. */
#ifndef TESSERA_LOOP_LOWER_PACK_H
#define TESSERA_LOOP_LOWER_PACK_H

#include "loop/lower_parts.h"

/* Where a load of a small element is found when its row is loaded in words. */
typedef struct InWord {
    LExprId word;    /* none: nowhere */
    uint8_t element; /* from the low bits */
} InWord;
typedef struct Words {
    InWord *of; /* by LExprId */
    uint32_t n;
} Words;

/* ---- lower_words.c ---- */
/* Loads what the roots read of small elements in rows as words. */
void tessi_words_take(Lower *l, const LExprId *root, uint32_t n, const TileColumns *columns,
                      Words *words);
/* Those of these loads that the roots still have are found in the words. */
void tessi_words_define(Lower *l, const Words *words, const LExprId *root, uint32_t n);

#endif
