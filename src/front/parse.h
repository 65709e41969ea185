/* front/parse (private to the parser's files): recursive descent over the tokens of one file.
 *
 * Errors: the first one in a statement sets `panic`; from then on the current token reads as TOK_BROKEN, which fits
 * nowhere, so that every function returns soon and silently. The loop over statements skips to the next one
 * (tessi_parse_recover) and goes on. Functions that return expressions never return NULL; a statement with an error
 * is left out of the tree. */
#ifndef TESSERA_FRONT_PARSE_H
#define TESSERA_FRONT_PARSE_H

#include "front/ast.h"
#include "front/lex.h"

enum {
    PARSE_MAX_NESTING = 200, /* brackets, calls and loops within each other */
    PARSE_MAX_USED_FILES = 64,
    PARSE_MAX_DIMENSIONS = 4
};

/* What is being read: where it ends and how `a < b` reads differ. */
typedef enum ParseContext {
    CONTEXT_PROGRAM, /* statements of the program: X<i> is a member of a family */
    CONTEXT_VECTOR,  /* a vector function: likewise */
    CONTEXT_STENCIL  /* a stencil: < always compares */
} ParseContext;

typedef struct Parser {
    Arena *arena;
    Diags *diags;
    SourceMap *sources;
    Ast *ast;
    UseReader use;
    void *use_user;
    IdMap name_ids; /* interned names; ids are positions in `names` + 1 */
    VEC(const char *) names;
    VEC(const char *) used;     /* interned names of the files read by `use` */
    VEC(const char *) families; /* interned names of families defined so far */

    /* the file being read */
    uint16_t file;
    const char *text;
    const Token *tokens; /* TOK_END last */
    uint32_t n_tokens, at;
    bool forma;
    ParseContext context;
    bool panic;
    int open_braces; /* of the mask or struct being read; recovery closes them */
    int nesting;
} Parser;

/* ---- Tokens (parse_token.c) ---- */
static inline TokenKind tessi_parse_peek(const Parser *p)
{
    return p->panic ? TOK_BROKEN : p->tokens[p->at].kind;
}
/* The token `ahead` places further on; TOK_END past the end. */
TokenKind tessi_parse_look(const Parser *p, uint32_t ahead);
/* The token `ahead` places further on is a name with this text. */
bool tessi_parse_is_word(const Parser *p, uint32_t ahead, const char *word);
void tessi_parse_advance(Parser *p);
bool tessi_parse_accept(Parser *p, TokenKind kind);
bool tessi_parse_accept_word(Parser *p, const char *word);
bool tessi_parse_expect(Parser *p, TokenKind kind,
                        const char *what); /* what: NULL = the token itself */
/* Closes a bracket opened at token `opening`. */
bool tessi_parse_close(Parser *p, TokenKind kind, uint32_t opening);
/* A `;`, or the end of a line where one is missing (reported, and read on as if it stood there). */
void tessi_parse_semicolon(Parser *p);
Span tessi_parse_token_span(const Parser *p, uint32_t token);
Span tessi_parse_span_from(const Parser *p,
                           uint32_t first); /* from token `first` to the last one taken */
const char *tessi_parse_shown(const Parser *p, uint32_t token); /* "'foo'", "the end of the file" */

/* ---- Errors (parse_token.c) ---- */
/* Reports "expected .., but found .." at the current token and panics; NULL when already in panic. */
Diag *tessi_parse_unexpected(Parser *p, const char *expected);
/* Skips to where the next statement may begin. */
void tessi_parse_recover(Parser *p);
/* One level deeper; false (reported) when that is too deep. Always pair with tessi_parse_leave. */
bool tessi_parse_enter(Parser *p);
void tessi_parse_leave(Parser *p);

/* ---- Names and types (parse_decl.c, parse_token.c) ---- */
const char *tessi_parse_intern(Parser *p, const char *s, size_t n);
Name tessi_parse_token_name(Parser *p, uint32_t token);
Name tessi_parse_name(Parser *p, const char *what); /* what: "the name of an image" */
bool tessi_parse_type(Parser *p, AstType *out);     /* [const] [vector#D | mask#D] element */
bool tessi_parse_at_typeof(const Parser *p, uint32_t ahead); /* typeof( */
bool tessi_parse_element_type(Parser *p, AstType *out);      /* float, rgb, struct rgb, typeof(X) */
/* At a name where a type or keyword is due: reports when it looks like one misspelt (and is no struct). */
bool tessi_parse_misspelt(Parser *p);

/* ---- Expressions (parse_expr.c) ---- */
AstExpr *tessi_parse_expr(Parser *p);
AstExpr *tessi_parse_unary(Parser *p); /* without infix operators and ?: */
AstExpr *tessi_parse_sum(Parser *p);   /* without comparisons and what is looser */
AstExpr *tessi_parse_new(Parser *p, AstExprKind kind);
void tessi_parse_push(Parser *p, AstExpr *parent, AstExpr *child); /* into parent->arg */
/* Makes parent at least one higher than child; every child that is not in `arg` goes through here. NULL is nothing. */
void tessi_parse_adopt(Parser *p, AstExpr *parent, const AstExpr *child);

/* ---- What stands in brackets (parse_list.c) ---- */
bool tessi_parse_at_family(const Parser *p); /* `< index >` follows */
/* After `<`: i, 3, i-1, 8*i+j; then perhaps a second number. Leaves the closing >. */
void tessi_parse_family_numbers(Parser *p, AstExpr **first, AstExpr **second);
void tessi_parse_offsets(Parser *p, AstOffsets *out); /* at `@` */
bool tessi_parse_ranges(Parser *p, AstRanges *out);   /* at `[`; true when one of them has `..` */
void tessi_parse_expr_list(Parser *p, TokenKind close, AstExprs *out); /* up to and with `close` */
void tessi_parse_borders(Parser *p, AstBorders *out); /* rule, [rule, rule], rule:policy */
/* What stands behind the colons after a value: the same, and valid(image). */
AstExpr *tessi_parse_qualified(Parser *p, AstExpr *value, AstBorders *out);
bool tessi_parse_at_window(const Parser *p);
AstExpr *tessi_parse_window(Parser *p);
void tessi_parse_window_vars(Parser *p, AstWindowVars *out);
AstExpr *tessi_parse_call(Parser *p);
AstExpr *tessi_parse_composition(Parser *p);
/* How parts are written, to an error at a colon. */
void tessi_parse_range_help(Parser *p, Diag *d);

/* ---- Statements (parse_stmt.c) ---- */
AstStmt *tessi_parse_stmt(Parser *p);          /* NULL after an error */
bool tessi_parse_at_type(const Parser *p);     /* a typed name follows */
bool tessi_parse_at_mask(const Parser *p);     /* mask NAME [ */
bool tessi_parse_at_declared(const Parser *p); /* vector#2 float NAME[M, N] = */
/* Statements up to a token that begins none: `return`, `}`, `endfor`, `stencil`, the end of the file. */
void tessi_parse_stmts(Parser *p, AstStmts *out);
/* return a, b; */
void tessi_parse_return(Parser *p, AstExprs *out, Span *span);

/* ---- Words of other languages (parse_foreign.c) ---- */
/* A statement begins that is none of ours: reports it, and goes behind it. */
bool tessi_parse_foreign_statement(Parser *p);
/* Behind the head of a loop: reports `{` and goes behind it. */
bool tessi_parse_foreign_braces(Parser *p);
bool tessi_parse_foreign_infix(Parser *p); /* behind a value: **, and, or; reports it and panics */
bool tessi_parse_at_foreign_pair(const Parser *p);       /* .* and the like */
bool tessi_parse_foreign_method(Parser *p, Name method); /* behind value.method: a parenthesis */
bool tessi_parse_foreign_value(Parser *p);               /* at a name: not x */
bool tessi_parse_foreign_change(Parser *p, const char *name); /* behind a name: +=, ++ */

/* ---- Definitions and declarations (parse_define.c, parse_decl.c) ---- */
/* A struct, a stencil or a vector function begins at the token `ahead` places further on. */
bool tessi_parse_at_definition(const Parser *p, uint32_t ahead);
void tessi_parse_definition(Parser *p);
bool tessi_parse_at_decl(const Parser *p); /* parameter, vector#.., mask#.., or a typed name */
void tessi_parse_decl(Parser *p);
/* The whole file: definitions, declarations, statements (parse.c). */
/* Refuses what the parser reads and the original dialect does not have. */
void tessi_parse_forma(Diags *d, const Ast *ast);
void tessi_parse_file(Parser *p, uint16_t file, bool forma, bool used);

#endif
