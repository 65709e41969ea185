/* The parser's view of the tokens: looking, taking, expecting, interning, and going on after an error. */
#include <string.h>

#include "front/parse.h"

enum { LONGEST_SHOWN = 40 }; /* characters of a token quoted in a message */

TokenKind tessi_parse_look(const Parser *p, uint32_t ahead)
{
    if (p->panic)
        return TOK_BROKEN;
    return ahead < p->n_tokens - p->at ? p->tokens[p->at + ahead].kind : TOK_END;
}

bool tessi_parse_is_word(const Parser *p, uint32_t ahead, const char *word)
{
    if (tessi_parse_look(p, ahead) != TOK_NAME)
        return false;
    Token t = p->tokens[p->at + ahead];
    return strlen(word) == t.end - t.begin && !memcmp(p->text + t.begin, word, t.end - t.begin);
}

void tessi_parse_advance(Parser *p)
{
    if (p->tokens[p->at].kind != TOK_END)
        p->at++;
}

bool tessi_parse_accept(Parser *p, TokenKind kind)
{
    if (tessi_parse_peek(p) != kind)
        return false;
    tessi_parse_advance(p);
    return true;
}

bool tessi_parse_accept_word(Parser *p, const char *word)
{
    if (!tessi_parse_is_word(p, 0, word))
        return false;
    tessi_parse_advance(p);
    return true;
}

bool tessi_parse_expect(Parser *p, TokenKind kind, const char *what)
{
    if (tessi_parse_accept(p, kind))
        return true;
    tessi_parse_unexpected(p,
                           what ? what : tessi_sprintf(p->arena, "'%s'", tessi_token_text(kind)));
    return false;
}

void tessi_parse_range_help(Parser *p, Diag *d)
{
    if (!p->forma)
        tessi_diag_help(p->diags, d,
                        "the ends of a range, both included, have '..' between them: "
                        "A[.., 1..9]");
}

bool tessi_parse_close(Parser *p, TokenKind kind, uint32_t opening)
{
    if (tessi_parse_accept(p, kind))
        return true;
    if (p->panic)
        return false;
    Span opened = tessi_parse_token_span(p, opening);
    const char *bracket = tessi_token_text(p->tokens[opening].kind);
    if (tessi_parse_peek(p) == TOK_END) {
        tessi_diag(p->diags, DIAG_NOT_CLOSED, opened, bracket);
        p->panic = true;
        return false;
    }
    const bool at_colon = kind == TOK_RBRACKET && tessi_parse_peek(p) == TOK_COLON;
    Diag *d = tessi_parse_unexpected(p, tessi_sprintf(p->arena, "'%s'", tessi_token_text(kind)));
    if (d)
        tessi_diag_note(p->diags, d, opened, "the '%s' stands here", bracket);
    if (d && at_colon)
        tessi_parse_range_help(p, d);
    return false;
}

static bool on_a_later_line(const Parser *p)
{
    uint32_t before = p->at ? p->tokens[p->at - 1].end : 0;
    uint32_t here = p->tokens[p->at].begin;
    return here > before && memchr(p->text + before, '\n', here - before);
}

/* What follows on the line is a comment with a semicolon at its end. */
static bool remark_ends_statement(const Parser *p, uint32_t after)
{
    const char *rest = p->text + after;
    rest += strspn(rest, " \t");
    size_t n = strcspn(rest, "\r\n");
    while (n && (rest[n - 1] == ' ' || rest[n - 1] == '\t'))
        n--;
    return n > 2 && rest[0] == '/' && rest[1] == '/' && rest[n - 1] == ';';
}

void tessi_parse_semicolon(Parser *p)
{
    if (tessi_parse_accept(p, TOK_SEMICOLON) || p->panic)
        return;
    TokenKind kind = tessi_parse_peek(p);
    bool line_over = kind == TOK_END || kind == TOK_RBRACE || on_a_later_line(p);
    if (!line_over || kind == TOK_BROKEN) {
        tessi_parse_unexpected(p, "';'");
        return;
    }
    uint32_t after = p->tokens[p->at - 1].end;
    Span gap = { p->file, after, after };
    Diag *d = tessi_diag(p->diags, DIAG_UNEXPECTED, gap, "';'", tessi_parse_shown(p, p->at));
    if (!p->forma && remark_ends_statement(p, after))
        tessi_diag_help(p->diags, d, "// begins a comment; the quotient of integers is a / b");
}

Span tessi_parse_token_span(const Parser *p, uint32_t token)
{
    return (Span){ p->file, p->tokens[token].begin, p->tokens[token].end };
}

Span tessi_parse_span_from(const Parser *p, uint32_t first)
{
    uint32_t last = p->at > first ? p->at - 1 : first;
    return (Span){ p->file, p->tokens[first].begin, p->tokens[last].end };
}

const char *tessi_parse_shown(const Parser *p, uint32_t token)
{
    Token t = p->tokens[token];
    if (t.kind == TOK_END)
        return "the end of the file";
    uint32_t n = t.end - t.begin;
    bool cut = n > LONGEST_SHOWN;
    return tessi_sprintf(p->arena, "'%.*s%s'", (int)(cut ? LONGEST_SHOWN : n), p->text + t.begin,
                         cut ? "..." : "");
}

/* `X:clamp[..]` in the body of a stencil: rules stand where it is called. */
static void help_with_border_rule(Parser *p, Diag *d)
{
    Border rule;
    const Token *at = p->tokens + p->at;
    if (p->forma || !p->at || p->at + 1 >= p->n_tokens || at[-1].kind != TOK_NAME
        || at[0].kind != TOK_COLON || at[1].kind != TOK_NAME)
        return;
    const Name image = tessi_parse_token_name(p, p->at - 1),
               name = tessi_parse_token_name(p, p->at + 1);
    if (tessi_border_by_name(name.text, &rule))
        tessi_diag_help(p->diags, d,
                        "a border rule stands where a stencil is given the image: f(%s:%s)",
                        image.text, name.text);
}

Diag *tessi_parse_unexpected(Parser *p, const char *expected)
{
    if (p->panic)
        return NULL;
    bool reported = tessi_parse_peek(p) == TOK_BROKEN;
    p->panic = true;
    if (reported)
        return NULL;
    Diag *d = tessi_diag(p->diags, DIAG_UNEXPECTED, tessi_parse_token_span(p, p->at), expected,
                         tessi_parse_shown(p, p->at));
    help_with_border_rule(p, d);
    return d;
}

bool tessi_parse_enter(Parser *p)
{
    p->nesting++;
    if (p->nesting <= PARSE_MAX_NESTING || p->panic)
        return !p->panic;
    tessi_diag(p->diags, DIAG_LIMIT, tessi_parse_token_span(p, p->at), "levels of nesting",
               (long long)PARSE_MAX_NESTING);
    p->panic = true;
    return false;
}

void tessi_parse_leave(Parser *p)
{
    p->nesting--;
}

/* A `;` ends a statement unless the next token goes on with the parts of a composition. */
static bool goes_on_in_composition(TokenKind after)
{
    return after == TOK_AT || after == TOK_LBRACKET || after == TOK_RPAREN;
}

/* A `}` ends a definition unless it closed the coefficients of a mask. */
static bool goes_on_in_mask(const Parser *p, TokenKind after)
{
    return after == TOK_SEMICOLON || after == TOK_SLASH || after == TOK_STAR
           || tessi_parse_is_word(p, 1, "normalized");
}

void tessi_parse_recover(Parser *p)
{
    p->panic = false;
    int braces = p->open_braces;
    p->open_braces = 0;
    for (;; p->at++) {
        TokenKind kind = p->tokens[p->at].kind;
        if (kind == TOK_END || kind == TOK_STENCIL || kind == TOK_PARAMETER)
            return;
        TokenKind after = p->tokens[p->at + 1].kind;
        switch (kind) {
        case TOK_LBRACE: braces++; break;
        case TOK_RBRACE:
            if (!braces)
                return;
            if (--braces == 0 && !goes_on_in_mask(p, after)) {
                p->at++;
                return;
            }
            break;
        case TOK_FOR:
        case TOK_ENDFOR:
        case TOK_RETURN:
        case TOK_CONST:
            if (!braces)
                return;
            break;
        case TOK_SEMICOLON:
            if (!braces && !goes_on_in_composition(after)) {
                p->at++;
                return;
            }
            break;
        default: break;
        }
    }
}

typedef struct Sought {
    const Parser *parser;
    const char *text;
    size_t n;
} Sought;

static bool same_name(void *user, uint32_t id)
{
    const Sought *s = user;
    const char *known = s->parser->names.at[id - 1];
    return !strncmp(known, s->text, s->n) && !known[s->n];
}

const char *tessi_parse_intern(Parser *p, const char *s, size_t n)
{
    uint64_t hash = tessi_hash_bytes(0, s, n);
    Sought sought = { p, s, n };
    uint32_t id = tessi_idmap_find(&p->name_ids, hash, same_name, &sought);
    if (!id) {
        VEC_PUSH(p->arena, &p->names, (const char *)tessi_strndup(p->arena, s, n));
        id = p->names.n;
        tessi_idmap_add(p->arena, &p->name_ids, hash, id);
    }
    return p->names.at[id - 1];
}

Name tessi_parse_token_name(Parser *p, uint32_t token)
{
    Token t = p->tokens[token];
    Name name = { tessi_parse_intern(p, p->text + t.begin, t.end - t.begin),
                  tessi_parse_token_span(p, token) };
    return name;
}

Name tessi_parse_name(Parser *p, const char *what)
{
    if (tessi_parse_peek(p) == TOK_NAME) {
        tessi_parse_advance(p);
        return tessi_parse_token_name(p, p->at - 1);
    }
    TokenKind kind = tessi_parse_peek(p);
    bool reserved = kind == TOK_TYPE || (kind >= TOK_STENCIL && kind < N_TOKENS);
    Diag *d = tessi_parse_unexpected(p, what);
    if (d && reserved) {
        tessi_diag_help(p->diags, d, "%s is a reserved word; choose another name",
                        tessi_parse_shown(p, p->at));
        if (!on_a_later_line(p))
            tessi_parse_advance(p); /* meant as a name: no statement begins with it */
    }
    Name none = { tessi_parse_intern(p, "?", 1), tessi_parse_token_span(p, p->at) };
    return none;
}
