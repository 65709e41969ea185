/* Formatting programs. What stands between two tokens is decided from these tokens, their brackets and what the author
 * wrote there; nothing is parsed, so that programs with mistakes can be formatted too. */
#include "front/format.h"

#include <string.h>

#include "front/lex.h"

enum { WIDEST = 120, STEP = 4, FARTHEST_COMMENT = 80 };

typedef enum PieceKind { PIECE_TOKEN, PIECE_LINE_COMMENT, PIECE_BLOCK_COMMENT } PieceKind;

/* A token or a comment. */
typedef struct Piece {
    PieceKind kind;
    TokenKind token;
    uint32_t begin, end;
    uint32_t column;    /* in its line */
    uint32_t questions; /* of brackets: ? that wait for their : */
    uint32_t match;     /* of brackets: the other one's number */
    uint32_t newlines;  /* before it */
    bool is_apart;      /* there was something blank before it */
    bool has_semicolon; /* of ( with its ): a composition */
    bool is_window;     /* of (: variables are bound in it */
    bool is_list;       /* of { with its }: the elements of a mask */
    bool is_unary;
    bool is_choice; /* of : that it belongs to a ? */
} Piece;
typedef VEC(Piece) Pieces;

/* A comment behind code: where it is in `out`. */
typedef struct Comment {
    size_t at, column;
} Comment;

typedef struct Formatter {
    Arena *arena;
    Diags *d;
    const char *text;
    uint16_t file;
    Pieces pieces;
    Text out;
    uint32_t questions;  /* outside of brackets */
    uint32_t line_begin; /* in the text, while it is split */
    size_t written_base; /* the column where the author began the statement */
    size_t line_start;   /* of the line in `out` */
    int level;           /* of blocks and loops */
    int depth;           /* of ( and [, and { of masks */
    bool in_statement, in_for_head, is_inline;
    VEC(Comment) comments; /* behind code, in lines that follow each other */
    uint32_t inline_end;   /* the } of a block on one line */
} Formatter;

/* ---- Pieces ----------------------------------------------------------------------------------- */

static uint32_t comment_end(const char *text, uint32_t at, uint32_t n)
{
    if (text[at + 1] == '/') {
        const char *end = memchr(text + at, '\n', n - at);
        return end ? (uint32_t)(end - text) : n;
    }
    const char *end = strstr(text + at + 2, "*/");
    return end ? (uint32_t)(end - text) + 2 : n;
}

/* Comments in the gap before a token, and what is blank in it. */
static void add_gap(Formatter *f, uint32_t at, uint32_t end, Piece *next)
{
    uint32_t newlines = 0;
    bool is_apart = false;
    while (at < end) {
        const char c = f->text[at];
        if (c == '/') {
            const PieceKind kind =
                f->text[at + 1] == '/' ? PIECE_LINE_COMMENT : PIECE_BLOCK_COMMENT;
            Piece comment = { .kind = kind,
                              .column = at - f->line_begin,
                              .begin = at,
                              .newlines = newlines,
                              .is_apart = true };
            const uint32_t begin = at;
            at = comment_end(f->text, at, end);
            for (uint32_t k = begin; k < at; k++)
                if (f->text[k] == '\n')
                    f->line_begin = k + 1;
            comment.end = at;
            while (comment.end > comment.begin && strchr(" \t\r", f->text[comment.end - 1]))
                comment.end--;
            VEC_PUSH(f->arena, &f->pieces, comment);
            newlines = 0;
            is_apart = true;
            continue;
        }
        newlines += c == '\n';
        if (c == '\n')
            f->line_begin = at + 1;
        is_apart = true;
        at++;
    }
    next->column = end - f->line_begin;
    next->newlines = newlines;
    next->is_apart = is_apart;
}

static void split(Formatter *f, const Tokens *tokens)
{
    uint32_t at = 0;
    if (strncmp(f->text, "\xef\xbb\xbf", 3) == 0) /* a byte order mark */
        at = 3;
    VEC_FOREACH (const Token, t, tokens) {
        Piece p = { .token = t->kind, .begin = t->begin, .end = t->end };
        add_gap(f, at, t->begin, &p);
        VEC_PUSH(f->arena, &f->pieces, p);
        at = t->end;
    }
}

static bool text_is(const Formatter *f, const Piece *p, const char *word)
{
    const size_t n = p->end - p->begin;
    return p->kind == PIECE_TOKEN && strlen(word) == n && memcmp(f->text + p->begin, word, n) == 0;
}

static bool is_opening(TokenKind t)
{
    return t == TOK_LPAREN || t == TOK_LBRACKET || t == TOK_LBRACE;
}

static TokenKind closing_of(TokenKind t)
{
    return t == TOK_LPAREN ? TOK_RPAREN : t == TOK_LBRACKET ? TOK_RBRACKET : TOK_RBRACE;
}

static bool ends_operand(const Piece *p)
{
    return p->token == TOK_NAME || p->token == TOK_INT || p->token == TOK_REAL
           || p->token == TOK_TRUE || p->token == TOK_FALSE || p->token == TOK_RPAREN
           || p->token == TOK_RBRACKET || p->token == TOK_RBRACE || p->token == TOK_GT
           || p->token == TOK_DOTDOT || p->token == TOK_TYPE;
}

/* What is known of a token from those before it. `open` are the brackets around it. */
static void note(Formatter *f, uint32_t i, const uint32_t *open, uint32_t n_open, const Piece *last)
{
    Piece *p = &f->pieces.at[i], *around = n_open ? &f->pieces.at[open[n_open - 1]] : NULL;
    if (p->token == TOK_LBRACE)
        p->is_list = last && last->token == TOK_ASSIGN;
    uint32_t *questions = around ? &around->questions : &f->questions;
    if (around && p->token == TOK_SEMICOLON)
        around->has_semicolon = true;
    if (p->token == TOK_SEMICOLON)
        *questions = 0;
    *questions += p->token == TOK_QUESTION;
    p->is_choice = p->token == TOK_COLON && *questions;
    *questions -= p->is_choice;
    if (around && (p->token == TOK_ASSIGN || text_is(f, p, "in")))
        around->is_window = true;
    if (p->token == TOK_BANG || p->token == TOK_TILDE)
        p->is_unary = true;
    if (p->token == TOK_MINUS || p->token == TOK_PLUS)
        p->is_unary = !last || !ends_operand(last) || last->token == TOK_DOTDOT
                      || text_is(f, last, "where") || text_is(f, last, "in")
                      || (last->token == TOK_GT && p->is_apart && !f->pieces.at[i + 1].is_apart);
}

static const char *quoted(const Formatter *f, TokenKind t)
{
    return tessi_sprintf(f->arena, "'%s'", tessi_token_text(t));
}

/* Matches brackets; false with a diagnostic when they do not. */
static bool match(Formatter *f)
{
    uint32_t *open = ARENA_NEW_ARRAY(f->arena, uint32_t, f->pieces.n + 1), n = 0;
    const Piece *last = NULL;
    for (uint32_t i = 0; i < f->pieces.n; i++) {
        Piece *p = &f->pieces.at[i];
        if (p->kind != PIECE_TOKEN || p->token == TOK_END)
            continue;
        note(f, i, open, n, last);
        last = p;
        if (is_opening(p->token)) {
            open[n++] = i;
        } else if (p->token == TOK_RPAREN || p->token == TOK_RBRACKET || p->token == TOK_RBRACE) {
            if (!n || closing_of(f->pieces.at[open[n - 1]].token) != p->token) {
                const Span here = { f->file, p->begin, p->end };
                tessi_diag(f->d, DIAG_UNEXPECTED, here, "the bracket that this one closes",
                           quoted(f, p->token));
                return false;
            }
            Piece *opening = &f->pieces.at[open[--n]];
            opening->match = i;
            p->match = open[n];
            p->has_semicolon = opening->has_semicolon;
            p->is_list = opening->is_list;
        }
    }
    if (n) {
        const Piece *p = &f->pieces.at[open[n - 1]];
        const Span here = { f->file, p->begin, p->end };
        tessi_diag(f->d, DIAG_UNEXPECTED, here, quoted(f, closing_of(p->token)),
                   "the end of the file");
    }
    return n == 0;
}

/* ---- Between two tokens on a line ------------------------------------------------------------- */

static bool is_word(const Piece *p)
{
    return p->token == TOK_NAME || p->token == TOK_TYPE || p->token == TOK_INT
           || p->token == TOK_REAL || p->token == TOK_STRING
           || (tessi_token_text(p->token) && tessi_token_text(p->token)[0] >= 'a');
}

static bool is_border_name(const Formatter *f, const Piece *p)
{
    static const char names[] =
#define BORDER(id, name, aliases, picture, scipy, opencv) name " " aliases " "
#include "base/borders.def"
#undef BORDER
#define MISSING(id, name, other) name " " other " "
#include "front/missing.def"
#undef MISSING
        "invalid valid ";
    const size_t n = p->end - p->begin;
    for (const char *s = names; *s; s += strcspn(s, " "), s += strspn(s, " "))
        if (strcspn(s, " ") == n && memcmp(s, f->text + p->begin, n) == 0)
            return true;
    return false;
}

/* Whether the lexer would read something else where these stand side by side. */
static bool would_join(const Formatter *f, const Piece *a, const Piece *b)
{
    static const char *const pairs[] = { "..", "<<", ">>", "<=", ">=", "==",
                                         "!=", "&&", "||", "//", "/*" };
    const char x = f->text[a->end - 1], y = f->text[b->begin];
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i][0] == x && pairs[i][1] == y)
            return true;
    return is_word(a) && is_word(b);
}

static bool colon_is_apart(const Formatter *f, uint32_t i, const Piece *around)
{
    const Piece *p = &f->pieces.at[i], *next = p + 1;
    if (next->kind == PIECE_TOKEN && (is_border_name(f, next) || next->token == TOK_LBRACKET))
        return false;
    return (around && around->is_window) || p->is_apart || next->is_apart;
}

/* Operators that the author may write with or without blanks, as i*i + j*j. */
static bool is_free(const Piece *p)
{
    switch (p->token) {
    case TOK_STAR:
    case TOK_SLASH:
    case TOK_PERCENT:
    case TOK_PLUS:
    case TOK_MINUS:
    case TOK_SHL:
    case TOK_SHR:
    case TOK_AND:
    case TOK_OR: return !p->is_unary;
    default: return false;
    }
}

/* A comparison, or what encloses an index of a family or a type. */
static bool is_angle(const Piece *p)
{
    return p->token == TOK_LT || p->token == TOK_GT;
}

static bool is_spaced(const Piece *p)
{
    switch (p->token) {
    case TOK_ASSIGN:
    case TOK_EQ:
    case TOK_NE:
    case TOK_LE:
    case TOK_GE:
    case TOK_ANDAND:
    case TOK_OROR:
    case TOK_QUESTION:
    case TOK_XOR:
    case TOK_LBRACE:
    case TOK_RBRACE: return true;
    default: return false;
    }
}

/* No blank stands on the side of these that faces what they belong to. */
static bool binds(const Piece *a, const Piece *b)
{
    switch (a->token) {
    case TOK_LPAREN: return !a->has_semicolon;
    case TOK_LBRACKET:
    case TOK_AT:
    case TOK_DOT:
    case TOK_HASH:
    case TOK_CARET: return true;
    default: break;
    }
    switch (b->token) {
    case TOK_RPAREN: return !b->has_semicolon;
    case TOK_RBRACKET:
    case TOK_COMMA:
    case TOK_SEMICOLON:
    case TOK_AT:
    case TOK_DOT:
    case TOK_HASH:
    case TOK_CARET: return true;
    default: return false;
    }
}

static bool free_is_apart(const Formatter *f, uint32_t i)
{
    const Piece *p = &f->pieces.at[i];
    return p->is_apart || p[1].is_apart || (i && p[-1].token == TOK_RBRACE);
}

static bool is_call(const Formatter *f, const Piece *a, const Piece *b)
{
    if (b->token == TOK_LBRACKET)
        return ends_operand(a);
    return b->token == TOK_LPAREN
           && (a->token == TOK_GT
                   ? !b->is_apart
                   : a->token == TOK_NAME && !text_is(f, a, "where") && !text_is(f, a, "in"));
}

/* Blanks before piece i on the line of the one before it. `around` is its opening bracket, or NULL. */
static uint32_t blanks(const Formatter *f, uint32_t i, const Piece *around)
{
    const Piece *a = &f->pieces.at[i - 1], *b = &f->pieces.at[i];
    if (a->kind != PIECE_TOKEN || b->kind != PIECE_TOKEN)
        return 1;
    if (would_join(f, a, b))
        return 1;
    if (a->token == TOK_COLON || b->token == TOK_COLON) {
        const uint32_t colon = b->token == TOK_COLON ? i : i - 1;
        return f->pieces.at[colon].is_choice || colon_is_apart(f, colon, around);
    }
    const bool is_behind = a->token == TOK_COMMA || a->token == TOK_SEMICOLON;
    if ((!is_behind || b->token != TOK_AT) && binds(a, b))
        return 0;
    if (a->token == TOK_COMMA && around && around->is_list) { /* rows of a mask may stand apart */
        const uint32_t written = b->begin - a->end;
        return written && !memchr(f->text + a->end, '\t', written) ? written : 1;
    }
    if (is_behind || is_spaced(a) || is_spaced(b))
        return 1;
    if (a->is_unary || is_call(f, a, b))
        return 0;
    if (a->token == TOK_DOTDOT || b->token == TOK_DOTDOT)
        return 0;
    if (is_angle(a) || is_angle(b))
        return b->is_apart;
    if (is_free(b))
        return free_is_apart(f, i);
    if (is_free(a))
        return free_is_apart(f, i - 1);
    return 1;
}

/* ---- Lines ------------------------------------------------------------------------------------ */

static size_t column(const Formatter *f)
{
    return f->out.n - f->line_start;
}

static void add_blanks(Formatter *f, size_t n)
{
    while (n--)
        tessi_text_add(&f->out, " ");
}

/* Moves comments behind code in lines that follow each other into one column. */
static void align_comments(Formatter *f)
{
    const uint32_t n_comments = f->comments.n;
    size_t farthest = 0;
    VEC_FOREACH (const Comment, c, &f->comments)
        if (c->column <= FARTHEST_COMMENT && c->column > farthest)
            farthest = c->column;
    f->comments.n = 0;
    if (n_comments < 2)
        return;
    const Comment *c = f->comments.at;
    const size_t first = c->at, end = f->out.n;
    const char *tail = tessi_strndup(f->arena, f->out.at + first, end - first);
    f->out.n = first;
    for (uint32_t i = 0; i < n_comments; i++) {
        const size_t next = i + 1 < n_comments ? c[i + 1].at : end;
        if (c[i].column < farthest)
            add_blanks(f, farthest - c[i].column);
        tessi_text_addn(&f->out, tail + (c[i].at - first), next - c[i].at);
    }
}

/* Ends the line, and begins the next with its indent behind at most one empty line. */
static void break_line(Formatter *f, const Piece *next, bool has_comment)
{
    const bool is_empty = next->newlines > 1 && f->out.n;
    if (!has_comment || is_empty)
        align_comments(f);
    if (f->out.n)
        tessi_text_add(&f->out, is_empty ? "\n\n" : "\n");
    f->line_start = f->out.n;
    const bool closes = next->kind == PIECE_TOKEN
                        && (next->token == TOK_RPAREN || next->token == TOK_RBRACKET
                            || next->token == TOK_RBRACE || next->token == TOK_ENDFOR);
    /* What goes on from the line of a loop's head, goes on from where the loop begins. */
    const int level = f->level - (f->in_for_head && f->level ? 1 : 0);
    const size_t written = next->column, base = (size_t)level * STEP;
    if (!f->in_statement && !f->depth) {
        f->written_base = written;
        add_blanks(f, base);
    } else if (closes) {
        add_blanks(f, base);
    } else { /* a statement goes on: as far from its beginning as the author has it */
        add_blanks(f, base + (written > f->written_base ? written - f->written_base : STEP));
    }
}

/* The bracket around piece i of which `open` is the innermost that is open before it; NULL at none. */
static const Piece *around_of(const Formatter *f, uint32_t i, const Piece *open)
{
    const Piece *p = &f->pieces.at[i];
    const bool closes = p->kind == PIECE_TOKEN && p->match && !is_opening(p->token);
    return closes ? &f->pieces.at[p->match] : open;
}

/* Whether the block that opens at i stands on one line, and fits there. */
static bool fits_line(const Formatter *f, uint32_t i)
{
    size_t width = column(f);
    const uint32_t end = f->pieces.at[i].match;
    uint32_t *open = ARENA_NEW_ARRAY(f->arena, uint32_t, end - i + 2), n_open = 0;
    for (uint32_t k = i; k <= end && width <= WIDEST; k++) {
        const Piece *p = &f->pieces.at[k];
        if ((k > i && p->newlines) || p->kind == PIECE_LINE_COMMENT)
            return false;
        const Piece *innermost = n_open ? &f->pieces.at[open[n_open - 1]] : NULL;
        width += p->end - p->begin + (k > i ? blanks(f, k, around_of(f, k, innermost)) : 0);
        if (p->kind == PIECE_TOKEN && is_opening(p->token))
            open[n_open++] = k;
        else if (p->kind == PIECE_TOKEN && p->match)
            n_open--;
    }
    return width <= WIDEST;
}

/* ---- The whole -------------------------------------------------------------------------------- */

/* What changes before a token is written. */
static void before(Formatter *f, const Piece *p)
{
    if (p->token == TOK_ENDFOR && f->level)
        f->level--;
    if (p->token == TOK_RBRACE && !p->is_list && !f->is_inline) {
        f->level -= f->level > 0;
        f->in_statement = false;
    }
    if (p->token == TOK_RPAREN || p->token == TOK_RBRACKET
        || (p->token == TOK_RBRACE && p->is_list))
        f->depth--;
}

/* What changes behind it; true when a line ends there. */
static bool behind(Formatter *f, uint32_t i)
{
    const Piece *p = &f->pieces.at[i];
    switch (p->token) {
    case TOK_LPAREN:
    case TOK_LBRACKET: f->depth++; return false;
    case TOK_SEMICOLON:
        if (f->depth)
            return false;
        f->in_statement = false;
        return !f->is_inline;
    case TOK_LBRACE:
        f->in_statement = p->is_list;
        if (p->is_list) {
            f->depth++;
            return false;
        }
        f->is_inline = f->inline_end == p->match;
        f->level += !f->is_inline;
        return !f->is_inline;
    case TOK_RBRACE:
        if (p->is_list)
            return false;
        f->is_inline = false;
        f->in_statement =
            f->pieces.at[i + 1].kind == PIECE_TOKEN && f->pieces.at[i + 1].token == TOK_SEMICOLON;
        return !f->in_statement;
    case TOK_FOR:
        f->in_for_head = true;
        f->in_statement = false;
        f->level++;
        return false;
    case TOK_ENDFOR: f->in_statement = false; return f->pieces.at[i + 1].token != TOK_SEMICOLON;
    default: f->in_statement = true; return false;
    }
}

static bool is_block(const Piece *p)
{
    return p->kind == PIECE_TOKEN && p->token == TOK_LBRACE && !p->is_list;
}

/* Whether piece i begins a line. */
static bool begins_line(const Formatter *f, uint32_t i, bool ended)
{
    const Piece *p = &f->pieces.at[i], *last = i ? p - 1 : NULL;
    if (!last)
        return true;
    if (last->kind == PIECE_LINE_COMMENT)
        return true;
    if (p->kind != PIECE_TOKEN) /* a comment stays with what it stands behind */
        return p->newlines > 0;
    if (is_block(p))
        return false;
    if (p->token == TOK_RBRACE && !p->is_list && !f->is_inline)
        return true;
    return ended || (p->newlines > 0 && !f->is_inline);
}

static void print(Formatter *f)
{
    uint32_t *open = ARENA_NEW_ARRAY(f->arena, uint32_t, f->pieces.n + 1), n_open = 0;
    bool ended = false, has_comment = false;
    for (uint32_t i = 0; i < f->pieces.n; i++) {
        Piece *p = &f->pieces.at[i];
        const bool is_token = p->kind == PIECE_TOKEN;
        if (is_token && p->token == TOK_END)
            break;
        const bool starts = begins_line(f, i, ended);
        if (starts && f->in_for_head && !f->depth) /* the head of a loop ends with its line */
            f->in_for_head = f->in_statement = false;
        if (is_token)
            before(f, p);
        if (is_token && n_open && open[n_open - 1] == p->match && !is_opening(p->token))
            n_open--;
        const bool opened = i && is_block(p - 1);
        if (starts) {
            Piece first = *p;
            if (opened || (is_token && p->token == TOK_RBRACE))
                first.newlines = first.newlines > 1 ? 1 : first.newlines;
            break_line(f, &first, has_comment);
            has_comment = false;
        } else {
            const Piece *innermost = n_open ? &f->pieces.at[open[n_open - 1]] : NULL;
            add_blanks(f, blanks(f, i, around_of(f, i, innermost)));
        }
        if (p->kind == PIECE_LINE_COMMENT && !starts) {
            VEC_PUSH(f->arena, &f->comments, ((Comment){ f->out.n, column(f) }));
            has_comment = true;
        }
        if (is_block(p) && fits_line(f, i))
            f->inline_end = p->match;
        tessi_text_addn(&f->out, f->text + p->begin, p->end - p->begin);
        if (is_token) {
            if (is_opening(p->token))
                open[n_open++] = i;
            ended = behind(f, i);
        }
    }
    align_comments(f);
    if (f->out.n)
        tessi_text_add(&f->out, "\n");
}

/* The same tokens, or a fault of ours. */
static bool same_tokens(Formatter *f, const Tokens *before_it, bool forma)
{
    SourceFile made = { "formatted", tessi_text_str(&f->out), f->out.n };
    Diags *ignored = ARENA_NEW(f->arena, Diags);
    tessi_diags_init(ignored, f->arena, f->d->sources);
    const Tokens after = tessi_lex(f->arena, ignored, &made, f->file, forma);
    bool same = after.n == before_it->n;
    for (uint32_t i = 0; same && i < after.n; i++) {
        const Token *x = &before_it->at[i], *y = &after.at[i];
        same = x->kind == y->kind && x->end - x->begin == y->end - y->begin
               && memcmp(f->text + x->begin, made.text + y->begin, x->end - x->begin) == 0;
    }
    if (!same)
        tessi_diag(f->d, DIAG_INTERNAL, (Span){ 0 }, "format", "the tokens are others");
    return same;
}

const char *tessi_format(Arena *a, Diags *d, const SourceMap *sources, uint16_t index, bool forma)
{
    const SourceFile *file = &sources->files.at[index];
    Formatter f = { .arena = a, .d = d, .text = file->text, .file = index };
    const Tokens tokens = tessi_lex(a, d, file, index, forma);
    if (d->n_errors)
        return NULL;
    f.out = tessi_text_new(a);
    split(&f, &tokens);
    if (!match(&f))
        return NULL;
    print(&f);
    return same_tokens(&f, &tokens, forma) ? tessi_text_str(&f.out) : NULL;
}
