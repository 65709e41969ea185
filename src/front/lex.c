/* The lexer. It reports what is no token (stray characters, broken numbers and strings) and hands on TOK_BROKEN for
 * it. */
#include <string.h>

#include "front/lex.h"

typedef struct Lexer {
    Arena *arena;
    Diags *diags;
    const char *text;
    uint32_t n, at;
    uint16_t file;
    bool forma;
    bool said_on_line; /* a stray character was reported on this line: one is enough */
    Tokens tokens;
} Lexer;

typedef struct Word {
    const char *text;
    uint8_t length;
    char dialects; /* B, T or F */
    TokenKind kind;
} Word;

enum { B = 'B', T = 'T', F = 'F' };
static const Word punctuations[] = {
#define PUNCTUATION(id, text, dialects) { text, sizeof text - 1, dialects, TOK_##id },
#include "front/token.def"
};
static const Word reserved_words[] = {
#define KEYWORD(id, text, dialects) { text, sizeof text - 1, dialects, TOK_##id },
#define TYPE_WORD(text, dialects)   { text, sizeof text - 1, dialects, TOK_TYPE },
#include "front/token.def"
};
enum {
    N_PUNCTUATIONS = sizeof punctuations / sizeof punctuations[0],
    N_RESERVED = sizeof reserved_words / sizeof reserved_words[0]
};

/* Characters that come with text copied from a printed page, and what was meant. */
static const struct {
    const char *bytes, *meant;
} typographic[] = {
    { "\xe2\x88\x92", "'-'" },  { "\xe2\x80\x93", "'-'" },  { "\xe2\x80\x94", "'-'" },
    { "\xc3\x97", "'*'" },      { "\xc2\xb7", "'*'" },      { "\xc3\xb7", "'/'" },
    { "\xe2\x89\xa4", "'<='" }, { "\xe2\x89\xa5", "'>='" }, { "\xe2\x89\xa0", "'!='" },
    { "\xe2\x80\x9c", "'\"'" }, { "\xe2\x80\x9d", "'\"'" }, { "\xe2\x80\xa6", "'..'" },
    { "\xc2\xa0", "a blank" },
};

static bool in_dialect(char dialects, bool forma)
{
    return dialects == B || dialects == (forma ? F : T);
}

const char *tessi_token_text(TokenKind kind)
{
    for (size_t i = 0; i < N_PUNCTUATIONS; i++)
        if (punctuations[i].kind == kind)
            return punctuations[i].text;
    for (size_t i = 0; i < N_RESERVED; i++)
        if (reserved_words[i].kind == kind && kind != TOK_TYPE)
            return reserved_words[i].text;
    return NULL;
}

const char *tessi_nearest_keyword(const char *word, bool forma)
{
    const char *candidates[N_RESERVED];
    size_t n = 0;
    for (size_t i = 0; i < N_RESERVED; i++)
        if (in_dialect(reserved_words[i].dialects, forma))
            candidates[n++] = reserved_words[i].text;
    return tessi_nearest_word(word, candidates, n);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_hex_digit(char c)
{
    return is_digit(c) || ((c | 32) >= 'a' && (c | 32) <= 'f');
}

static bool is_letter(char c)
{
    return ((c | 32) >= 'a' && (c | 32) <= 'z');
}

static bool is_word(char c)
{
    return is_letter(c) || is_digit(c) || c == '_';
}

/* The text ends in NUL, so looking one or two characters ahead of a character that is not NUL is safe. */
static char peek(const Lexer *x, uint32_t ahead)
{
    return x->at + ahead < x->n ? x->text[x->at + ahead] : '\0';
}

static Span span_from(const Lexer *x, uint32_t begin)
{
    return (Span){ x->file, begin, x->at };
}

static void push(Lexer *x, TokenKind kind, uint32_t begin)
{
    Token t = { kind, begin, x->at };
    VEC_PUSH(x->arena, &x->tokens, t);
}

static void push_broken(Lexer *x, uint32_t begin)
{
    if (!x->tokens.n || x->tokens.at[x->tokens.n - 1].kind != TOK_BROKEN)
        push(x, TOK_BROKEN, begin);
}

/* Reports text without meaning, unless something on the line was reported already. */
static Diag *report_stray(Lexer *x, DiagCode code, uint32_t begin, const char *shown)
{
    push_broken(x, begin);
    if (x->said_on_line)
        return NULL;
    x->said_on_line = true;
    return tessi_diag(x->diags, code, span_from(x, begin), shown);
}

/* Length of the UTF-8 character at p with `left` bytes behind it; 0 when it is none. */
static uint32_t utf8_length(const char *p, uint32_t left)
{
    const unsigned char *c = (const unsigned char *)p;
    uint32_t n = c[0] < 0x80   ? 1
                 : c[0] < 0xc2 ? 0
                 : c[0] < 0xe0 ? 2
                 : c[0] < 0xf0 ? 3
                 : c[0] < 0xf5 ? 4
                               : 0;
    if (n > left)
        return 0;
    for (uint32_t i = 1; i < n; i++)
        if ((c[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xf0 && c[1] < 0x90);
    bool surrogate = c[0] == 0xed && c[1] >= 0xa0;
    bool beyond = c[0] == 0xf4 && c[1] >= 0x90;
    return overlong || surrogate || beyond ? 0 : n;
}

static void bad_character(Lexer *x)
{
    uint32_t begin = x->at, length = utf8_length(x->text + begin, x->n - begin);
    if (!length || !x->text[begin]) { /* one report for a stretch of binary data */
        while (x->at < x->n && (!x->text[x->at] || !utf8_length(x->text + x->at, x->n - x->at)))
            x->at++;
        unsigned byte = (unsigned char)x->text[begin];
        tessi_diag(x->diags, DIAG_NOT_TEXT, span_from(x, begin), byte);
        push_broken(x, begin);
        return;
    }
    x->at += length;
    unsigned char c = (unsigned char)x->text[begin];
    const char *shown = c < 32 || c == 127
                            ? tessi_sprintf(x->arena, "the control character 0x%02x", c)
                            : tessi_sprintf(x->arena, "'%.*s'", (int)length, x->text + begin);
    Diag *d = report_stray(x, DIAG_BAD_CHARACTER, begin, shown);
    for (size_t i = 0; i < sizeof typographic / sizeof typographic[0]; i++)
        if (d && strlen(typographic[i].bytes) == length
            && !memcmp(typographic[i].bytes, x->text + begin, length))
            tessi_diag_help(x->diags, d, "did you mean %s?", typographic[i].meant);
    if (d && c == '\'')
        tessi_diag_help(x->diags, d, "the name of a used file stands in double quotes");
}

static bool too_long(Lexer *x, uint32_t begin, const char *what)
{
    if (x->at - begin <= LEX_LONGEST_WORD)
        return false;
    Span s = { x->file, begin, begin + 20 };
    const char *counted = tessi_sprintf(x->arena, "characters in %s", what);
    tessi_diag(x->diags, DIAG_LIMIT, s, counted, (long long)LEX_LONGEST_WORD);
    push_broken(x, begin);
    return true;
}

static void lex_word(Lexer *x)
{
    uint32_t begin = x->at;
    while (is_word(peek(x, 0)))
        x->at++;
    if (too_long(x, begin, "a name"))
        return;
    size_t length = x->at - begin;
    for (size_t i = 0; i < N_RESERVED; i++) {
        const Word *w = &reserved_words[i];
        if (w->length == length && !memcmp(w->text, x->text + begin, length)
            && in_dialect(w->dialects, x->forma)) {
            push(x, w->kind, begin);
            return;
        }
    }
    push(x, TOK_NAME, begin);
}

/* Reads digits [. digits] [exponent] [suffix]; *why is set when the number is not of the dialect. */
static TokenKind scan_decimal(Lexer *x, const char **why)
{
    bool real = false, digits_before = is_digit(peek(x, 0));
    while (is_digit(peek(x, 0)))
        x->at++;
    if (peek(x, 0) == '.' && peek(x, 1) != '.') {
        real = true;
        x->at++;
        if (x->forma && !(digits_before && is_digit(peek(x, 0))))
            *why = "the original dialect wants digits on both sides of the point";
        while (is_digit(peek(x, 0)))
            x->at++;
    }
    char c = peek(x, 0);
    if (c == 'e' || c == 'E') {
        char sign = peek(x, 1);
        if (is_digit(sign) || ((sign == '+' || sign == '-') && is_digit(peek(x, 2)))) {
            real = true;
            x->at += 2;
            while (is_digit(peek(x, 0)))
                x->at++;
            if (x->forma)
                *why = "the original dialect has no exponents";
        }
    }
    c = peek(x, 0);
    bool suffix = x->forma ? c == 'f' : c == 'f' || c == 'F' || c == 'd' || c == 'D';
    if (suffix && !is_word(peek(x, 1))) {
        if (x->forma && !real)
            *why = "the original dialect writes 3.0f";
        real = true;
        x->at++;
    }
    return real ? TOK_REAL : TOK_INT;
}

static void lex_number(Lexer *x)
{
    uint32_t begin = x->at;
    TokenKind kind = TOK_INT;
    const char *why = NULL;
    if (peek(x, 0) == '0' && (peek(x, 1) == 'x' || peek(x, 1) == 'X')) {
        x->at += 2;
        while (is_hex_digit(peek(x, 0)))
            x->at++;
        if (x->at == begin + 2)
            why = "0x wants hexadecimal digits behind it";
        else if (x->forma)
            why = "the original dialect has decimal integers only";
    } else {
        kind = scan_decimal(x, &why);
    }
    if (is_word(peek(x, 0))) {
        if (!why)
            why = x->forma ? "a number ends before the first letter, except for a final f"
                           : "a number ends before the first letter, except for a final f or d";
        while (is_word(peek(x, 0)))
            x->at++;
    }
    if (too_long(x, begin, "a number"))
        return;
    if (!why) {
        push(x, kind, begin);
        return;
    }
    const char *shown = tessi_strndup(x->arena, x->text + begin, x->at - begin);
    tessi_diag(x->diags, DIAG_BAD_NUMBER, span_from(x, begin), shown, why);
    push_broken(x, begin);
}

static void lex_string(Lexer *x)
{
    uint32_t begin = x->at++;
    while (x->at < x->n && peek(x, 0) != '"' && peek(x, 0) != '\n' && peek(x, 0))
        x->at++;
    if (peek(x, 0) != '"') {
        tessi_diag(x->diags, DIAG_UNCLOSED_STRING, span_from(x, begin));
        push_broken(x, begin);
        return;
    }
    x->at++;
    if (x->forma)
        report_stray(x, DIAG_NOT_IN_FORMA, begin, "text in quotes");
    else if (!too_long(x, begin, "a file name"))
        push(x, TOK_STRING, begin);
}

static void skip_comment(Lexer *x)
{
    uint32_t begin = x->at;
    if (peek(x, 1) == '/') {
        while (x->at < x->n && peek(x, 0) != '\n')
            x->at++;
        return;
    }
    x->at += 2;
    while (x->at < x->n && !(peek(x, 0) == '*' && peek(x, 1) == '/'))
        x->at++;
    Span opening = { x->file, begin, begin + 2 };
    if (x->at < x->n) {
        x->at += 2;
        if (x->forma)
            tessi_diag(x->diags, DIAG_NOT_IN_FORMA, opening, "a comment between /* and */");
        return;
    }
    tessi_diag(x->diags, DIAG_UNCLOSED_COMMENT, opening);
    push_broken(x, begin);
}

static void lex_punctuation(Lexer *x)
{
    uint32_t begin = x->at;
    for (size_t i = 0; i < N_PUNCTUATIONS; i++) {
        const Word *w = &punctuations[i];
        if (w->length > x->n - begin || memcmp(w->text, x->text + begin, w->length))
            continue;
        x->at += w->length;
        if (in_dialect(w->dialects, x->forma)) {
            push(x, w->kind, begin);
        } else {
            report_stray(x, DIAG_NOT_IN_FORMA, begin,
                         tessi_sprintf(x->arena, "the operator '%s'", w->text));
        }
        return;
    }
    bad_character(x);
}

static void skip_blank(Lexer *x)
{
    if (x->text[x->at++] == '\n')
        x->said_on_line = false;
}

static void lex_token(Lexer *x)
{
    char c = peek(x, 0);
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r')
        skip_blank(x);
    else if (c == '/' && (peek(x, 1) == '/' || peek(x, 1) == '*'))
        skip_comment(x);
    else if (is_letter(c) || (c == '_' && !x->forma))
        lex_word(x);
    else if (is_digit(c) || (c == '.' && is_digit(peek(x, 1))))
        lex_number(x);
    else if (c == '"')
        lex_string(x);
    else
        lex_punctuation(x);
}

Tokens tessi_lex(Arena *a, Diags *d, const SourceFile *file, uint16_t index, bool forma)
{
    Lexer x = { .arena = a, .diags = d, .text = file->text, .file = index, .forma = forma };
    if (file->n > LEX_LONGEST_FILE) {
        Span start = { index, 0, 0 };
        tessi_diag(d, DIAG_LIMIT, start, "bytes in a file", (long long)LEX_LONGEST_FILE);
        push_broken(&x, 0);
    } else {
        x.n = (uint32_t)file->n;
        if (x.n >= 3 && !memcmp(x.text, "\xef\xbb\xbf", 3))
            x.at = 3; /* a byte order mark */
    }
    while (x.at < x.n && !tessi_diags_full(d))
        lex_token(&x);
    push(&x, TOK_END, x.at);
    return x.tokens;
}
