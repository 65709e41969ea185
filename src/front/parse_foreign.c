/* front/parse_foreign: hints for what people type who come from other languages (foreign.def). */
#include "front/parse.h"

#include <string.h>

typedef enum Place { STATEMENT, INFIX, VALUE, NAME, FIELD, CALL } Place;
static const struct {
    const char *word;
    Place place;
    const char *advice;
} foreign[] = {
#define FOREIGN(word, place, advice) { word, place, advice },
#include "front/foreign.def"
#undef FOREIGN
};
enum { N_FOREIGN = sizeof foreign / sizeof *foreign };
static const struct {
    TokenKind first, second;
    const char *advice;
} pairs[] = {
#define FOREIGN_PAIR(first, second, advice) { TOK_##first, TOK_##second, advice },
#include "front/foreign.def"
#undef FOREIGN_PAIR
};
enum { N_PAIRS = sizeof pairs / sizeof *pairs };

static const char *advice_on_word(const char *word, Place place)
{
    for (int i = 0; i < N_FOREIGN; i++)
        if (foreign[i].place == place && tessi_streq(foreign[i].word, word))
            return foreign[i].advice;
    return NULL;
}

const char *tessi_foreign_name(const char *word)
{
    return advice_on_word(word, NAME);
}

const char *tessi_foreign_field(const char *word)
{
    return advice_on_word(word, FIELD);
}

const char *tessi_foreign_call(const char *word)
{
    return advice_on_word(word, CALL);
}

static const char *advice_on(const Parser *p, Place place)
{
    for (int i = 0; i < N_FOREIGN; i++)
        if (foreign[i].place == place && tessi_parse_is_word(p, 0, foreign[i].word))
            return foreign[i].advice;
    return NULL;
}

static void report(Parser *p, Span span, const char *shown, const char *advice)
{
    Diag *d = tessi_diag(p->diags, DIAG_FOREIGN_WORD, span, shown);
    tessi_diag_help(p->diags, d, "%s", advice);
}

/* Characters before a token on its line. */
static uint32_t column_of(const Parser *p, uint32_t token)
{
    uint32_t begin = p->tokens[token].begin, column = 0;
    while (column < begin && p->text[begin - column - 1] != '\n')
        column++;
    return column;
}

static bool same_line(const Parser *p, uint32_t a, uint32_t b)
{
    uint32_t from = p->tokens[a].begin, to = p->tokens[b].begin;
    return !memchr(p->text + from, '\n', to - from);
}

/* Over the statement: to its `;`, else to the end of its line and of the lines indented more, and over a block in
 * braces. */
static void skip_statement(Parser *p)
{
    const uint32_t first = p->at, indent = column_of(p, first);
    uint32_t line = first;
    int braces = 0, parens = 0;
    for (; p->tokens[p->at].kind != TOK_END; p->at++) {
        const TokenKind kind = p->tokens[p->at].kind;
        parens += (kind == TOK_LPAREN) - (kind == TOK_RPAREN);
        if (!braces && !same_line(p, line, p->at)) {
            if (kind != TOK_LBRACE && column_of(p, p->at) <= indent)
                return;
            line = p->at;
        }
        if (kind == TOK_RBRACE && braces == 0)
            return;
        braces += kind == TOK_LBRACE;
        braces -= kind == TOK_RBRACE;
        if (braces == 0 && ((kind == TOK_SEMICOLON && parens <= 0) || kind == TOK_RBRACE)) {
            p->at++;
            return;
        }
    }
}

/* What may follow the name that a statement of ours begins with. */
static bool goes_on(const Parser *p)
{
    TokenKind next = tessi_parse_look(p, 1);
    return next == TOK_ASSIGN || next == TOK_LBRACKET || next == TOK_AT || next == TOK_LT
           || next == TOK_COMMA;
}

static bool foreign_for(Parser *p)
{
    const bool brackets = tessi_parse_look(p, 1) == TOK_LPAREN;
    if (p->forma || p->panic || !(brackets || tessi_parse_is_word(p, 2, "in")))
        return false;
    report(p, tessi_parse_token_span(p, p->at), brackets ? "for (..)" : "for .. in",
           "a loop over images is 'for i = 1..9 .. endfor', over neighbours sum(i = -1..1 : X@[0, "
           "i])");
    skip_statement(p);
    return true;
}

bool tessi_parse_foreign_braces(Parser *p)
{
    if (p->forma || p->panic || tessi_parse_peek(p) != TOK_LBRACE)
        return false;
    report(p, tessi_parse_token_span(p, p->at), "{",
           "the statements of a loop stand between its head and 'endfor', without braces");
    tessi_parse_advance(p);
    return true;
}

bool tessi_parse_foreign_statement(Parser *p)
{
    if (p->forma || p->panic)
        return false;
    if (p->tokens[p->at].kind == TOK_HASH) {
        const uint32_t first = p->at;
        bool include = tessi_parse_is_word(p, 1, "include");
        report(p, tessi_parse_token_span(p, first), include ? "#include" : "#",
               include ? "definitions of another file come by 'use \"name\";'"
                       : "a comment begins with //");
        while (p->tokens[p->at].kind != TOK_END && same_line(p, first, p->at))
            p->at++;
        return true;
    }
    if (p->tokens[p->at].kind == TOK_FOR)
        return foreign_for(p);
    const char *advice = advice_on(p, STATEMENT);
    if (!advice || goes_on(p))
        return false;
    report(p, tessi_parse_token_span(p, p->at), tessi_parse_token_name(p, p->at).text, advice);
    skip_statement(p);
    return true;
}

/* What is said of two tokens that touch each other, the first at hand; NULL: nothing. */
static const char *advice_on_pair(const Parser *p)
{
    const TokenKind first = tessi_parse_peek(p), second = tessi_parse_look(p, 1);
    for (int i = 0; i < N_PAIRS; i++)
        if (pairs[i].first == first && pairs[i].second == second
            && p->tokens[p->at + 1].begin == p->tokens[p->at].end)
            return pairs[i].advice;
    return NULL;
}

bool tessi_parse_at_foreign_pair(const Parser *p)
{
    return !p->forma && advice_on_pair(p) != NULL;
}

bool tessi_parse_foreign_infix(Parser *p)
{
    if (p->forma || p->panic)
        return false;
    const char *advice = tessi_parse_peek(p) == TOK_NAME ? advice_on(p, INFIX) : NULL;
    const char *of_pair = advice_on_pair(p);
    if (of_pair) {
        Span span = tessi_parse_token_span(p, p->at);
        span.end = p->tokens[p->at + 1].end;
        report(p, span, tessi_strndup(p->arena, p->text + span.begin, span.end - span.begin),
               of_pair);
    } else if (advice) {
        report(p, tessi_parse_token_span(p, p->at), tessi_parse_token_name(p, p->at).text, advice);
    } else {
        return false;
    }
    p->panic = true;
    return true;
}

bool tessi_parse_foreign_method(Parser *p, Name method)
{
    if (p->forma || p->panic || tessi_parse_peek(p) != TOK_LPAREN || !method.text)
        return false;
    report(p, method.span, tessi_sprintf(p->arena, ".%s(..)", method.text),
           tessi_sprintf(p->arena, "functions take images as arguments: %s(..)", method.text));
    p->panic = true;
    return true;
}

bool tessi_parse_foreign_value(Parser *p)
{
    TokenKind next = tessi_parse_look(p, 1);
    if (p->forma || (next != TOK_NAME && next != TOK_INT && next != TOK_TRUE && next != TOK_FALSE))
        return false;
    const char *advice = advice_on(p, VALUE);
    if (!advice)
        return false;
    report(p, tessi_parse_token_span(p, p->at), tessi_parse_token_name(p, p->at).text, advice);
    p->panic = true;
    return true;
}

bool tessi_parse_foreign_change(Parser *p, const char *name)
{
    TokenKind kind = tessi_parse_peek(p), next = tessi_parse_look(p, 1);
    bool arithmetic =
        kind == TOK_PLUS || kind == TOK_MINUS || kind == TOK_STAR || kind == TOK_SLASH;
    if (p->forma || !arithmetic || (next != TOK_ASSIGN && next != kind))
        return false;
    Span span = tessi_parse_token_span(p, p->at);
    span.end = p->tokens[p->at + 1].end;
    const char *shown = tessi_strndup(p->arena, p->text + span.begin, span.end - span.begin);
    report(p, span, shown,
           tessi_sprintf(p->arena, "a name is given one value: 'more = %s %s ..;'", name,
                         tessi_token_text(kind)));
    p->panic = true;
    return true;
}
