/* front/lex: text to tokens, for both dialects (token.def). */
#ifndef TESSERA_FRONT_LEX_H
#define TESSERA_FRONT_LEX_H

#include "base/base.h"
#include "base/diag.h"

typedef enum TokenKind {
    TOK_END,    /* the end of the file; the last token */
    TOK_BROKEN, /* text that is no token; a diagnostic has been given */
    TOK_NAME,
    TOK_TYPE, /* a scalar type's name */
    TOK_INT,
    TOK_REAL,
    TOK_STRING, /* "text", the quotes included */
#define PUNCTUATION(id, text, dialects) TOK_##id,
#define KEYWORD(id, text, dialects)     TOK_##id,
#include "front/token.def"
    N_TOKENS
} TokenKind;

/* Kind and byte range only: values are read from the text when the parser wants them, so that tokens stay small. */
typedef struct Token {
    TokenKind kind;
    uint32_t begin, end;
} Token;
typedef VEC(Token) Tokens;

enum {
    LEX_LONGEST_FILE = 1 << 20, /* bytes of one file */
    LEX_LONGEST_WORD = 255      /* bytes of a name or a number */
};

/* All tokens of a file, TOK_END last. Stops early when the diagnostics are full. */
Tokens tessi_lex(Arena *a, Diags *d, const SourceFile *file, uint16_t index, bool forma);
/* The text of a punctuation or keyword token; NULL for the others. */
const char *tessi_token_text(TokenKind kind);
/* The reserved word (keyword or type name) of the dialect nearest to a word, or NULL. */
const char *tessi_nearest_keyword(const char *word, bool forma);

/* The value of a decimal or 0x integer of n characters; false when it is above INT64_MAX. */
bool tessi_read_integer(const char *s, size_t n, uint64_t *out);
/* The double (float when `single`) nearest to the decimal number of n <= LEX_LONGEST_WORD characters, ties to even,
 * whatever the locale; false when it is too large. The text has the form the lexer accepts, without suffix. */
bool tessi_read_real(const char *s, size_t n, bool single, double *out);

#endif
