/* Words of the text form of loop programs. */
#ifndef TESSERA_LOOP_LOOP_LEX_H
#define TESSERA_LOOP_LOOP_LEX_H

#include "loop/loop_private.h"

typedef enum LoopTokenKind {
    LTOK_END,
    LTOK_NAME, /* text: key (`x`, `x#2`), name: without the number; `quoted` names are never words of the language */
    LTOK_NUMBER,  /* text: digits and suffix */
    LTOK_SIGN,    /* text: punctuation */
    LTOK_COMMENT, /* text: the line without its marker; marker '#', '|' (#|) or 'H' (##) */
    LTOK_WRONG    /* text: what is wrong */
} LoopTokenKind;

typedef struct LoopToken {
    LoopTokenKind kind;
    const char *text, *name;
    bool quoted;
    char marker;
    int line;
} LoopToken;

typedef struct LoopLexer {
    Arena *arena;
    const char *at, *end;
    int line;
} LoopLexer;

LoopToken tessi_loop_next_token(LoopLexer *l);

#endif
