/* Splits the text form of loop programs into words; any bytes are harmless. */
#include <string.h>

#include "loop/loop_lex.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static char peek(const LoopLexer *l, size_t ahead)
{
    return (size_t)(l->end - l->at) > ahead ? l->at[ahead] : '\0';
}

static LoopToken wrong(const LoopLexer *l, const char *what)
{
    return (LoopToken){ .kind = LTOK_WRONG, .text = what, .line = l->line };
}

static void skip_blanks(LoopLexer *l)
{
    while (l->at < l->end && (*l->at == ' ' || *l->at == '\n')) {
        l->line += *l->at == '\n';
        l->at++;
    }
}

static LoopToken comment(LoopLexer *l)
{
    LoopToken t = { .kind = LTOK_COMMENT, .marker = '#', .line = l->line };
    l->at++;
    if (peek(l, 0) == '#' || peek(l, 0) == '|') {
        t.marker = *l->at == '#' ? 'H' : '|';
        l->at++;
    }
    if (peek(l, 0) == ' ')
        l->at++;
    const char *begin = l->at;
    while (l->at < l->end && *l->at != '\n')
        l->at++;
    if (memchr(begin, '\0', (size_t)(l->at - begin)))
        return wrong(l, "a comment holds a NUL byte");
    t.text = tessi_strndup(l->arena, begin, (size_t)(l->at - begin));
    return t;
}

static int hex_digit(char c)
{
    return is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* ---- Parameters of templates ----------------------------------------------------------------- */

static const char *word_of(const LoopLexer *l, const char *name)
{
    for (uint32_t i = l->words->n; i-- > 0;) /* the latest of this name */
        if (tessi_streq(l->words->at[i].name, name))
            return l->words->at[i].text;
    return NULL;
}

static const char *read_name(LoopLexer *l);

/* `$(name)`: its text; NULL when it is no part of the text. */
static const char *read_inserted(LoopLexer *l)
{
    l->at += 2;
    const char *word = word_of(l, read_name(l));
    l->at += peek(l, 0) == ')';
    return word;
}

/* Letters and digits. */
static const char *read_letters(LoopLexer *l)
{
    const char *begin = l->at;
    while (is_letter(peek(l, 0)) || is_digit(peek(l, 0))
           || (peek(l, 0) == '.' && (is_letter(peek(l, 1)) || is_digit(peek(l, 1)))))
        l->at++;
    return tessi_strndup(l->arena, begin, (size_t)(l->at - begin));
}

/* The same with what is inserted between them. */
static const char *read_name(LoopLexer *l)
{
    const char *name = read_letters(l);
    while (l->words && peek(l, 0) == '$' && peek(l, 1) == '(') {
        const char *word = read_inserted(l);
        name = tessi_sprintf(l->arena, "%s%s%s", name, word ? word : "", read_letters(l));
    }
    return name;
}

/* `$name`: what it stands for; its name where that is no part of the text. */
static LoopToken parameter(LoopLexer *l)
{
    l->at++;
    const char *name = read_name(l), *word = word_of(l, name);
    if (word && !*word)
        return tessi_loop_next_token(l);
    LoopToken t = { .kind = LTOK_NAME, .line = l->line };
    t.text = t.name = word ? word : tessi_sprintf(l->arena, "$%s", name);
    if (is_digit(*t.text))
        t.kind = LTOK_NUMBER;
    return t;
}

/* ---- Names ----------------------------------------------------------------------------------- */

/* The number behind a name that has several owners, appended to its text. */
static void add_ordinal(LoopLexer *l, LoopToken *t)
{
    if (peek(l, 0) != '#' || !(is_digit(peek(l, 1)) || (l->words && peek(l, 1) == '$')))
        return;
    l->at++;
    t->text = tessi_sprintf(l->arena, "%s#%s", t->text, read_name(l));
    t->quoted = true;
}

static LoopToken quoted_name(LoopLexer *l)
{
    Text name = tessi_text_new(l->arena);
    l->at++;
    while (l->at < l->end && *l->at != '"') {
        char c = *l->at++;
        if (c == '\\') {
            int high = hex_digit(peek(l, 0)), low = hex_digit(peek(l, 1));
            if (high < 0 || low < 0 || (high == 0 && low == 0))
                return wrong(l, "a quoted name holds a \\ without two hexadecimal digits");
            c = (char)(unsigned char)(high * 16 + low);
            l->at += 2;
        } else if ((unsigned char)c < ' ') {
            return wrong(l, "a quoted name holds a control character");
        }
        tessi_text_addn(&name, &c, 1);
    }
    if (l->at == l->end)
        return wrong(l, "a quoted name has no end");
    l->at++;
    LoopToken t = { .kind = LTOK_NAME, .quoted = true, .line = l->line };
    t.name = tessi_text_str(&name);
    t.text = tessi_sprintf(l->arena, "\"%s", t.name); /* differs from every plain name */
    add_ordinal(l, &t);
    return t;
}

static LoopToken plain_name(LoopLexer *l)
{
    LoopToken t = { .kind = LTOK_NAME, .line = l->line };
    t.text = t.name = read_name(l);
    add_ordinal(l, &t);
    return t;
}

/* A name that begins with one of the program, which may be any: its key is none of the template's. */
static LoopToken given_name(LoopLexer *l)
{
    LoopToken t = { .kind = LTOK_NAME, .quoted = true, .line = l->line };
    t.name = read_name(l);
    t.text = tessi_sprintf(l->arena, "$(%s", t.name);
    add_ordinal(l, &t);
    return t;
}

static LoopToken number(LoopLexer *l)
{
    const char *begin = l->at;
    while (is_digit(peek(l, 0)))
        l->at++;
    if (peek(l, 0) == '.' && is_digit(peek(l, 1))) {
        l->at++;
        while (is_digit(peek(l, 0)))
            l->at++;
    }
    if (peek(l, 0) == 'e') {
        size_t sign = peek(l, 1) == '+' || peek(l, 1) == '-';
        if (!is_digit(peek(l, 1 + sign)))
            return wrong(l, "a number has no digits behind its 'e'");
        l->at += 1 + sign;
        while (is_digit(peek(l, 0)))
            l->at++;
    }
    while (is_letter(peek(l, 0)) || is_digit(peek(l, 0))) /* the suffix */
        l->at++;
    if (l->at - begin > 200)
        return wrong(l, "a number has more than 200 characters");
    const char *text = tessi_strndup(l->arena, begin, (size_t)(l->at - begin));
    return (LoopToken){ .kind = LTOK_NUMBER, .text = text, .line = l->line };
}

static LoopToken sign(LoopLexer *l)
{
    static const char *const signs[] = { "..", "<<", ">>", "<=", "==", "!=", "+=", "+", "-",
                                         "*",  "/",  "%",  "&",  "|",  "^",  "~",  "<", "=",
                                         "(",  ")",  "[",  "]",  "{",  "}",  ",",  ":", "@" };
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        size_t n = strlen(signs[i]);
        if ((size_t)(l->end - l->at) >= n && memcmp(l->at, signs[i], n) == 0) {
            l->at += n;
            return (LoopToken){ .kind = LTOK_SIGN, .text = signs[i], .line = l->line };
        }
    }
    unsigned char c = (unsigned char)*l->at;
    if (c > ' ' && c < 127)
        return wrong(l, tessi_sprintf(l->arena, "the character '%c' has no meaning", c));
    return wrong(l, tessi_sprintf(l->arena, "the byte %u has no meaning", (unsigned)c));
}

static LoopToken next_token(LoopLexer *l)
{
    if (l->at == l->end)
        return (LoopToken){ .kind = LTOK_END, .text = "the end", .line = l->line };
    char c = *l->at;
    if (c == '$' && l->words)
        return peek(l, 1) == '(' ? given_name(l) : parameter(l);
    if (c == '#')
        return comment(l);
    if (c == '"')
        return quoted_name(l);
    if (is_letter(c))
        return plain_name(l);
    if (is_digit(c))
        return number(l);
    return sign(l);
}

LoopToken tessi_loop_next_token(LoopLexer *l)
{
    skip_blanks(l);
    const char *at = l->at;
    LoopToken t = next_token(l);
    t.at = at;
    return t;
}
