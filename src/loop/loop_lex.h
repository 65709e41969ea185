/* Words of the text form of loop programs. */
#ifndef TESSERA_LOOP_LOOP_LEX_H
#define TESSERA_LOOP_LOOP_LEX_H

#include "loop/loop_private.h"

typedef enum LoopTokenKind {
    LTOK_END,
    /* text: key (`x`, `x#2`), name: without the number; `quoted` names are never words of the language. Of
     * parameters of a template that are no part of its text both begin with `$` */
    LTOK_NAME,
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
    const char *at; /* where it begins */
} LoopToken;

/* A parameter of a template that is part of its text: `$name`, or `$(name)` inside of other names. */
typedef struct LoopWord {
    const char *name, *text; /* "": nothing stands there; NULL: it is no part of the text */
} LoopWord;
typedef VEC(LoopWord) LoopWords;

typedef struct LoopLexer {
    Arena *arena;
    const char *at, *end;
    int line;
    const LoopWords *words; /* of the template; NULL: a `$` has no meaning */
} LoopLexer;

LoopToken tessi_loop_next_token(LoopLexer *l);

#endif
