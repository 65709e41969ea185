/* Types, and the declarations of parameters and inputs. */
#include "front/parse.h"

bool tessi_parse_at_typeof(const Parser *p, uint32_t ahead)
{
    return !p->forma && tessi_parse_is_word(p, ahead, "typeof")
           && tessi_parse_look(p, ahead + 1) == TOK_LPAREN;
}

bool tessi_parse_element_type(Parser *p, AstType *out)
{
    uint32_t first = p->at;
    if (tessi_parse_accept(p, TOK_TYPE)) {
        out->name = tessi_parse_token_name(p, p->at - 1);
    } else if (tessi_parse_at_typeof(p, 0)) {
        tessi_parse_advance(p);
        tessi_parse_advance(p);
        out->is_of = true;
        out->name = tessi_parse_name(p, "an image");
        tessi_parse_expect(p, TOK_RPAREN, NULL);
    } else {
        if (!p->forma)
            tessi_parse_accept(p, TOK_STRUCT);
        out->name = tessi_parse_name(p, "a type");
    }
    out->span = tessi_parse_span_from(p, first);
    return !p->panic;
}

bool tessi_parse_misspelt(Parser *p)
{
    if (tessi_parse_peek(p) != TOK_NAME)
        return false;
    Name word = tessi_parse_token_name(p, p->at);
    for (uint32_t i = 0; i < p->ast->structs.n; i++)
        if (p->ast->structs.at[i]->name.text == word.text)
            return false;
    if (!p->forma && (tessi_streq(word.text, "rgb") || tessi_streq(word.text, "rgba")))
        return false;
    const char *meant = tessi_nearest_keyword(word.text, p->forma);
    if (!meant)
        return false;
    Diag *d = tessi_diag(p->diags, DIAG_UNKNOWN_WORD, word.span, word.text);
    tessi_diag_help(p->diags, d, "did you mean '%s'?", meant);
    p->panic = true;
    return true;
}

/* After `vector` or `mask`: #D */
static void dimensions(Parser *p, AstType *t, const char *what)
{
    uint32_t hash = p->at;
    if (!tessi_parse_expect(p, TOK_HASH, "'#' and the number of dimensions"))
        return;
    if (p->forma && p->tokens[hash].begin != p->tokens[hash - 1].end)
        tessi_diag(p->diags, DIAG_NOT_IN_FORMA, tessi_parse_token_span(p, hash),
                   "a blank before '#'");
    uint64_t n = 0;
    Token token = p->tokens[p->at];
    if (!tessi_parse_expect(p, TOK_INT, "the number of dimensions"))
        return;
    bool read = tessi_read_integer(p->text + token.begin, token.end - token.begin, &n);
    if (!read || n < 1 || n > PARSE_MAX_DIMENSIONS) {
        tessi_diag(p->diags, DIAG_BAD_DIMENSION, tessi_parse_token_span(p, p->at - 1), what,
                   (long long)PARSE_MAX_DIMENSIONS);
        n = 1;
    }
    t->n_dims = (uint8_t)n;
}

static bool at_mask_type(const Parser *p, uint32_t ahead)
{
    return !p->forma && tessi_parse_is_word(p, ahead, "mask")
           && tessi_parse_look(p, ahead + 1) == TOK_HASH;
}

bool tessi_parse_type(Parser *p, AstType *out)
{
    uint32_t first = p->at;
    out->is_const = tessi_parse_accept(p, TOK_CONST);
    if (at_mask_type(p, 0)) {
        out->is_mask = true;
        tessi_parse_advance(p);
        dimensions(p, out, "a mask");
    } else if (tessi_parse_accept(p, TOK_VECTOR)) {
        out->is_image = true;
        dimensions(p, out, "an image");
    }
    tessi_parse_element_type(p, out);
    out->span = tessi_parse_span_from(p, first);
    return !p->panic;
}

bool tessi_parse_at_decl(const Parser *p)
{
    TokenKind kind = tessi_parse_peek(p);
    return kind == TOK_PARAMETER || kind == TOK_VECTOR || at_mask_type(p, 0)
           || (tessi_parse_at_type(p) && !tessi_parse_at_mask(p));
}

static void push_decl(Parser *p, const AstDecl *decl)
{
    if (p->panic)
        return;
    AstDecl *d = ARENA_NEW(p->arena, AstDecl);
    *d = *decl;
    VEC_PUSH(p->arena, &p->ast->decls, d);
}

/* parameter M = 5, N; */
static void parameters(Parser *p)
{
    tessi_parse_advance(p);
    do {
        AstDecl d = { .kind = AST_DECL_PARAMETER };
        uint32_t first = p->at;
        d.name = tessi_parse_name(p, "the name of a parameter");
        if (tessi_parse_accept(p, TOK_ASSIGN))
            d.init = tessi_parse_expr(p);
        d.span = tessi_parse_span_from(p, first);
        push_decl(p, &d);
    } while (tessi_parse_accept(p, TOK_COMMA));
    tessi_parse_semicolon(p);
}

/* After the type: name[M, N], or the name alone of an image that has sizes of its own */
static void sized_input(Parser *p, AstDecl *d)
{
    d->kind = AST_DECL_IMAGE;
    d->name = tessi_parse_name(p, d->type.is_mask ? "the name of a mask" : "the name of an image");
    const TokenKind next = tessi_parse_peek(p);
    d->own_sizes = !p->forma && d->type.is_image && (next == TOK_SEMICOLON || next == TOK_COMMA);
    if (!d->own_sizes
        && tessi_parse_expect(p, TOK_LBRACKET,
                              p->forma ? "'[' and the sizes" : "';', or '[' and the sizes"))
        tessi_parse_expr_list(p, TOK_RBRACKET, &d->sizes);
}

/* After the type: name [= default] [in lo..hi] */
static void scalar_input(Parser *p, AstDecl *d)
{
    d->kind = AST_DECL_SCALAR;
    d->name = tessi_parse_name(p, "the name of a scalar");
    if (p->forma)
        return;
    if (tessi_parse_peek(p) == TOK_LBRACKET) { /* as C declares arrays */
        Diag *wrong = tessi_parse_unexpected(p, "';' behind the name of a number");
        if (wrong)
            tessi_diag_help(p->diags, wrong,
                            "an image of two dimensions is 'vector#2 float %s[M, N];'",
                            d->name.text);
        return;
    }
    if (tessi_parse_accept(p, TOK_ASSIGN))
        d->init = tessi_parse_expr(p);
    if (tessi_parse_accept_word(p, "in")) {
        d->lo = tessi_parse_expr(p);
        tessi_parse_expect(p, TOK_DOTDOT, "'..' and the largest value");
        d->hi = tessi_parse_expr(p);
    }
}

void tessi_parse_decl(Parser *p)
{
    if (tessi_parse_peek(p) == TOK_PARAMETER) {
        parameters(p);
        return;
    }
    uint32_t first = p->at;
    AstType type = { 0 };
    tessi_parse_type(p, &type);
    do {
        AstDecl d = { .type = type };
        if (type.is_image || type.is_mask)
            sized_input(p, &d);
        else
            scalar_input(p, &d);
        d.span = tessi_parse_span_from(p, first);
        push_decl(p, &d);
        first =
            p->at < p->n_tokens - 1 ? p->at + 1 : p->at; /* the next one begins behind the comma */
    } while (!p->forma && tessi_parse_accept(p, TOK_COMMA));
    tessi_parse_semicolon(p);
}
