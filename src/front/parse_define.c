/* Definitions: structs, stencils and vector functions. */
#include "front/parse.h"

/* `photo and (..)`, which is no function `and` of type `photo`. */
static bool is_infix_word(const Parser *p, uint32_t ahead)
{
    return tessi_parse_is_word(p, ahead, "and") || tessi_parse_is_word(p, ahead, "or");
}

bool tessi_parse_at_definition(const Parser *p, uint32_t ahead)
{
    TokenKind next = tessi_parse_look(p, ahead + 1), then = tessi_parse_look(p, ahead + 2);
    switch (tessi_parse_look(p, ahead)) {
    case TOK_STENCIL: return true;
    case TOK_VECTOR: return next != TOK_HASH;
    case TOK_STRUCT: return next != TOK_NAME || then == TOK_LBRACE || then == TOK_SEMICOLON;
    case TOK_TYPE:
    case TOK_NAME:
        return !p->forma && next == TOK_NAME && then == TOK_LPAREN && !is_infix_word(p, ahead + 1);
    default: return false;
    }
}

/* struct rgb { uint8 r; uint8 g, b; }   or, predeclared:   struct float4; */
static void struct_definition(Parser *p)
{
    uint32_t first = p->at;
    AstStructDef *s = ARENA_NEW(p->arena, AstStructDef);
    tessi_parse_advance(p);
    s->name = tessi_parse_name(p, "the name of a struct");
    if (!p->panic)
        VEC_PUSH(p->arena, &p->ast->structs, s);
    if (p->forma && tessi_parse_peek(p) == TOK_SEMICOLON) {
        s->predeclared = true;
    } else {
        uint32_t opening = p->at;
        if (tessi_parse_expect(p, TOK_LBRACE, "'{' and the fields"))
            p->open_braces++;
        do {
            AstField f = { 0 };
            tessi_parse_element_type(p, &f.type);
            do {
                f.name = tessi_parse_name(p, "the name of a field");
                if (!p->panic)
                    VEC_PUSH(p->arena, &s->fields, f);
            } while (!p->forma && tessi_parse_accept(p, TOK_COMMA));
            tessi_parse_semicolon(p);
        } while (tessi_parse_peek(p) == TOK_TYPE || tessi_parse_peek(p) == TOK_NAME);
        if (tessi_parse_close(p, TOK_RBRACE, opening))
            p->open_braces--;
    }
    s->span = tessi_parse_span_from(p, first);
    if (!p->forma || s->predeclared) /* C's habit; in Forma it ends the predeclared form */
        tessi_parse_accept(p, TOK_SEMICOLON);
}

static void function_args(Parser *p, AstFunction *f)
{
    uint32_t opening = p->at;
    tessi_parse_expect(p, TOK_LPAREN, "'(' and the arguments");
    if (tessi_parse_accept(p, TOK_RPAREN))
        return;
    do {
        AstFunctionArg a = { 0 };
        uint32_t first = p->at;
        TokenKind after = tessi_parse_look(p, 1);
        if (tessi_parse_peek(p) == TOK_NAME && (after == TOK_COMMA || after == TOK_RPAREN)) {
            Diag *d = tessi_parse_unexpected(p, "the type of an argument");
            if (d)
                tessi_diag_help(p->diags, d, "for an image: vector#2 float %s",
                                tessi_parse_token_name(p, p->at).text);
        }
        tessi_parse_type(p, &a.type);
        a.name = tessi_parse_name(p, "the name of an argument");
        a.span = tessi_parse_span_from(p, first);
        if (!p->panic)
            VEC_PUSH(p->arena, &f->args, a);
    } while (tessi_parse_accept(p, TOK_COMMA));
    tessi_parse_close(p, TOK_RPAREN, opening);
}

/* After an error in the head of a function: on to its body, when it has one. */
static void skip_to_body(Parser *p)
{
    uint32_t at = p->at;
    for (; p->tokens[at].kind != TOK_LBRACE; at++) {
        TokenKind kind = p->tokens[at].kind;
        if (kind == TOK_END || kind == TOK_SEMICOLON || kind == TOK_RBRACE || kind == TOK_STENCIL)
            return;
    }
    p->at = at;
    p->panic = false;
}

static void function_result(Parser *p, AstFunction *f, bool broken)
{
    const char *function = tessi_sprintf(p->arena, "the function '%s'", f->name.text);
    if (tessi_parse_peek(p) == TOK_RBRACE) {
        if (!broken) /* else it may be the `return` that was not understood */
            tessi_diag(p->diags, DIAG_MISSING_RETURN, tessi_parse_token_span(p, p->at), function);
        return;
    }
    if (tessi_parse_peek(p) == TOK_END)
        return; /* the open brace is reported */
    tessi_parse_return(p, &f->result, &f->result_span);
    broken = p->panic;
    if (p->panic) {
        tessi_parse_recover(p);
    } else if ((f->is_stencil || f->is_scalar || p->forma) && f->result.n > 1) {
        const char *what = f->is_stencil  ? "a stencil"
                           : f->is_scalar ? "a function of scalars"
                                          : "a function of the original dialect";
        Diag *d = tessi_diag(p->diags, DIAG_ONE_RESULT, f->result.at[1]->span, what);
        tessi_diag_help(p->diags, d, "several values are the fields of one: struct T(a, b)");
        f->result.n = 1;
    }
    TokenKind kind = tessi_parse_peek(p);
    if (kind == TOK_RBRACE || kind == TOK_END || kind == TOK_STENCIL || kind == TOK_BROKEN)
        return;
    if (!broken)
        tessi_diag(p->diags, DIAG_AFTER_RETURN, tessi_parse_token_span(p, p->at), function);
    AstStmts unreachable = { 0 };
    AstExprs unused = { 0 };
    Span span;
    while (!tessi_diags_full(p->diags)) {
        tessi_parse_stmts(p, &unreachable);
        if (tessi_parse_peek(p) != TOK_RETURN)
            return;
        tessi_parse_return(p, &unused, &span);
        if (p->panic)
            tessi_parse_recover(p);
    }
}

static void function_definition(Parser *p)
{
    uint32_t first = p->at;
    if (!tessi_parse_is_word(p, 0, "any") && tessi_parse_misspelt(p))
        return;
    AstFunction *f = ARENA_NEW(p->arena, AstFunction);
    f->is_stencil = tessi_parse_peek(p) == TOK_STENCIL;
    f->is_scalar = !f->is_stencil && tessi_parse_peek(p) != TOK_VECTOR;
    if (f->is_scalar)
        tessi_parse_element_type(p, &f->type);
    else
        tessi_parse_advance(p);
    if (!f->is_stencil && !f->is_scalar && tessi_parse_peek(p) == TOK_LT) {
        Diag *d = tessi_parse_unexpected(p, "'#' or the name of a function");
        if (d && !p->forma)
            tessi_diag_help(p->diags, d, "an image of two dimensions is 'vector#2 float A[M, N];'");
    }
    f->name = tessi_parse_name(p, f->is_stencil ? "the name of a stencil"
                                                : "'#' or the name of a function");
    function_args(p, f);
    uint32_t opening = p->at;
    if (!p->panic && tessi_parse_peek(p) != TOK_LBRACE)
        tessi_parse_unexpected(p, "'{' and the body of the function");
    if (p->panic) {
        skip_to_body(p);
        opening = p->at;
    }
    if (!tessi_parse_accept(p, TOK_LBRACE))
        return;
    ParseContext outside = p->context;
    p->context = f->is_stencil || f->is_scalar ? CONTEXT_STENCIL : CONTEXT_VECTOR;
    uint32_t errors = p->diags->n_errors;
    tessi_parse_stmts(p, &f->body);
    function_result(p, f, p->diags->n_errors > errors);
    p->context = outside;
    tessi_parse_close(p, TOK_RBRACE, opening);
    f->span = tessi_parse_span_from(p, first);
    VEC_PUSH(p->arena, &p->ast->functions, f);
}

void tessi_parse_definition(Parser *p)
{
    if (tessi_parse_peek(p) == TOK_STRUCT)
        struct_definition(p);
    else
        function_definition(p);
}
