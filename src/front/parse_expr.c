/* Expressions: literals, names, operators by precedence climbing, and what may follow a value (fields, offsets,
 * indices). */
#include "front/parse.h"

AstExpr *tessi_parse_new(Parser *p, AstExprKind kind)
{
    AstExpr *e = ARENA_NEW(p->arena, AstExpr);
    e->kind = kind;
    e->height = 1;
    return e;
}

void tessi_parse_adopt(Parser *p, AstExpr *parent, const AstExpr *child)
{
    if (!child || child->height < parent->height)
        return;
    if (child->height < AST_MAX_HEIGHT) {
        parent->height = (uint16_t)(child->height + 1);
        return;
    }
    parent->height = AST_MAX_HEIGHT;
    if (p->panic)
        return;
    tessi_diag(p->diags, DIAG_LIMIT, child->span, "operations in one chain",
               (long long)AST_MAX_HEIGHT);
    p->panic = true;
}

void tessi_parse_push(Parser *p, AstExpr *parent, AstExpr *child)
{
    VEC_PUSH(p->arena, &parent->arg, child);
    tessi_parse_adopt(p, parent, child);
}

/* What stands for an expression after an error: the statement is dropped, so no one reads it. */
static AstExpr *placeholder(Parser *p)
{
    AstExpr *e = tessi_parse_new(p, AST_INT);
    e->span = tessi_parse_token_span(p, p->at);
    return e;
}

static AstExpr *integer_literal(Parser *p)
{
    Token t = p->tokens[p->at];
    AstExpr *e = tessi_parse_new(p, AST_INT);
    e->span = tessi_parse_token_span(p, p->at);
    bool fits = tessi_read_integer(p->text + t.begin, t.end - t.begin, &e->integer);
    if (!fits || (p->forma && e->integer > INT32_MAX))
        tessi_diag(p->diags, DIAG_NUMBER_TOO_LARGE, e->span,
                   tessi_strndup(p->arena, p->text + t.begin, t.end - t.begin),
                   p->forma ? "int" : "every integer type");
    tessi_parse_advance(p);
    return e;
}

static AstExpr *real_literal(Parser *p)
{
    Token t = p->tokens[p->at];
    AstExpr *e = tessi_parse_new(p, AST_REAL);
    e->span = tessi_parse_token_span(p, p->at);
    const char *s = p->text + t.begin;
    size_t n = t.end - t.begin;
    char last = (char)(s[n - 1] | 32);
    if (last == 'f' || last == 'd') {
        e->suffix = last;
        n--;
    }
    if (!tessi_read_real(s, n, e->suffix == 'f', &e->real))
        tessi_diag(p->diags, DIAG_NUMBER_TOO_LARGE, e->span,
                   tessi_strndup(p->arena, s, t.end - t.begin),
                   e->suffix == 'f' ? "float" : "double");
    tessi_parse_advance(p);
    return e;
}

/* cast<type>(value) and sat<type>(value) */
static AstExpr *conversion(Parser *p, AstExprKind kind)
{
    uint32_t first = p->at;
    AstExpr *e = tessi_parse_new(p, kind);
    tessi_parse_advance(p);
    tessi_parse_expect(p, TOK_LT, NULL);
    tessi_parse_element_type(p, &e->type);
    tessi_parse_expect(p, TOK_GT, NULL);
    uint32_t opening = p->at;
    if (tessi_parse_expect(p, TOK_LPAREN, NULL)) {
        tessi_parse_push(p, e, tessi_parse_expr(p));
        tessi_parse_close(p, TOK_RPAREN, opening);
    }
    e->span = tessi_parse_span_from(p, first);
    return e;
}

/* struct rgb(a, b, c) */
static AstExpr *struct_value(Parser *p)
{
    uint32_t first = p->at;
    AstExpr *e = tessi_parse_new(p, AST_STRUCT);
    tessi_parse_advance(p);
    e->type.name = tessi_parse_name(p, "the name of a struct");
    e->type.span = e->type.name.span;
    uint32_t opening = p->at;
    if (tessi_parse_expect(p, TOK_LPAREN, NULL)) {
        do {
            tessi_parse_push(p, e, tessi_parse_expr(p));
        } while (tessi_parse_accept(p, TOK_COMMA));
        tessi_parse_close(p, TOK_RPAREN, opening);
    }
    e->span = tessi_parse_span_from(p, first);
    return e;
}

/* sat<type>( or wrap<type>( */
static bool at_conversion(const Parser *p, const char *word)
{
    TokenKind type = tessi_parse_look(p, 2);
    return !p->forma && tessi_parse_is_word(p, 0, word) && tessi_parse_look(p, 1) == TOK_LT
           && (tessi_parse_at_typeof(p, 2)
               || ((type == TOK_TYPE || type == TOK_NAME) && tessi_parse_look(p, 3) == TOK_GT
                   && tessi_parse_look(p, 4) == TOK_LPAREN));
}

static AstExpr *named(Parser *p)
{
    if (at_conversion(p, "sat"))
        return conversion(p, AST_SAT);
    if (at_conversion(p, "wrap"))
        return conversion(p, AST_WRAP);
    if (!p->forma && tessi_parse_at_window(p))
        return tessi_parse_window(p);
    if (tessi_parse_foreign_value(p))
        return placeholder(p);
    if (tessi_parse_look(p, 1) == TOK_LPAREN)
        return tessi_parse_call(p);
    uint32_t first = p->at;
    AstExpr *e = tessi_parse_new(p, AST_NAME);
    e->name = tessi_parse_name(p, "a name");
    if (p->context != CONTEXT_STENCIL && tessi_parse_at_family(p)) {
        e->kind = AST_FAMILY;
        tessi_parse_advance(p);
        AstExpr *number, *second;
        tessi_parse_family_numbers(p, &number, &second);
        tessi_parse_push(p, e, number);
        if (second)
            tessi_parse_push(p, e, second);
        tessi_parse_expect(p, TOK_GT, NULL);
    }
    e->span = tessi_parse_span_from(p, first);
    return e;
}

static AstExpr *parenthesised(Parser *p)
{
    TokenKind inner = tessi_parse_look(p, 1);
    if (inner == TOK_AT || inner == TOK_LBRACKET || inner == TOK_RPAREN)
        return tessi_parse_composition(p);
    uint32_t opening = p->at;
    tessi_parse_advance(p);
    AstExpr *e = tessi_parse_expr(p);
    tessi_parse_close(p, TOK_RPAREN, opening);
    e->in_parens = true;
    return e;
}

static AstExpr *truth(Parser *p)
{
    AstExpr *e = tessi_parse_new(p, AST_BOOL);
    e->span = tessi_parse_token_span(p, p->at);
    e->integer = tessi_parse_peek(p) == TOK_TRUE;
    tessi_parse_advance(p);
    return e;
}

static AstExpr *no_expression(Parser *p)
{
    TokenKind kind = tessi_parse_peek(p);
    Diag *d = tessi_parse_unexpected(p, "an expression");
    if (d && kind == TOK_TYPE) {
        const char *type = tessi_parse_token_name(p, p->at).text;
        tessi_diag_help(p->diags, d, "a value is converted by cast<%s>(..)", type);
    } else if (d && kind == TOK_LBRACE) {
        tessi_diag_help(p->diags, d, "the coefficients of a mask are one list, row after row");
    } else if (d && kind == TOK_COLON) {
        tessi_parse_range_help(p, d);
    }
    return placeholder(p);
}

static AstExpr *primary(Parser *p)
{
    switch (tessi_parse_peek(p)) {
    case TOK_INT: return integer_literal(p);
    case TOK_REAL: return real_literal(p);
    case TOK_TRUE:
    case TOK_FALSE: return truth(p);
    case TOK_NAME: return named(p);
    case TOK_LPAREN: return parenthesised(p);
    case TOK_STRUCT: return struct_value(p);
    case TOK_CAST: return conversion(p, AST_CAST);
    default: return no_expression(p);
    }
}

/* value[..]: an index when no entry has `..`, else a subdomain. */
static AstExpr *subscript(Parser *p, AstExpr *value)
{
    AstRanges ranges = { 0 };
    bool subdomain = tessi_parse_ranges(p, &ranges);
    AstExpr *e = tessi_parse_new(p, subdomain ? AST_SUBDOMAIN : AST_INDEX);
    tessi_parse_push(p, e, value);
    VEC_FOREACH (AstRange, r, &ranges) {
        if (subdomain) {
            VEC_PUSH(p->arena, &e->ranges, *r);
            tessi_parse_adopt(p, e, r->lo);
            tessi_parse_adopt(p, e, r->hi);
        } else {
            tessi_parse_push(p, e, r->lo);
        }
    }
    return e;
}

static AstExpr *offset_read(Parser *p, AstExpr *value)
{
    AstExpr *e = tessi_parse_new(p, AST_OFFSET);
    tessi_parse_push(p, e, value);
    tessi_parse_offsets(p, &e->offsets);
    VEC_FOREACH (AstOffset, o, &e->offsets) {
        tessi_parse_adopt(p, e, o->displacement);
        tessi_parse_adopt(p, e, o->scale);
    }
    return e;
}

static AstExpr *postfix(Parser *p)
{
    uint32_t first = p->at;
    AstExpr *e = primary(p);
    for (;;) {
        switch (tessi_parse_peek(p)) {
        case TOK_DOT: {
            if (tessi_parse_at_foreign_pair(p))
                return e;
            AstExpr *member = tessi_parse_new(p, AST_MEMBER);
            tessi_parse_advance(p);
            tessi_parse_push(p, member, e);
            member->name = tessi_parse_name(p, "the name of a field");
            e = member;
            if (tessi_parse_foreign_method(p, member->name))
                return e;
            break;
        }
        case TOK_AT: e = offset_read(p, e); break;
        case TOK_LBRACKET: e = subscript(p, e); break;
        default: return e;
        }
        e->span = tessi_parse_span_from(p, first);
    }
}

static AstExpr *binary(Parser *p, AstOperator op, AstExpr *left, AstExpr *right, uint32_t first)
{
    AstExpr *e = tessi_parse_new(p, AST_BINARY);
    e->op = op;
    e->span = tessi_parse_span_from(p, first);
    tessi_parse_push(p, e, left);
    tessi_parse_push(p, e, right);
    return e;
}

static AstOperator unary_operator(TokenKind kind)
{
    return kind == TOK_MINUS   ? AST_OP_NEG
           : kind == TOK_BANG  ? AST_OP_LNOT
           : kind == TOK_TILDE ? AST_OP_BNOT
                               : AST_OP_NONE;
}

AstExpr *tessi_parse_unary(Parser *p)
{
    uint32_t first = p->at;
    AstOperator op = unary_operator(tessi_parse_peek(p));
    bool plus = tessi_parse_peek(p) == TOK_PLUS && !p->forma;
    AstExpr *e;
    if (op != AST_OP_NONE || plus) {
        tessi_parse_advance(p);
        e = tessi_parse_enter(p) ? tessi_parse_unary(p) : placeholder(p);
        tessi_parse_leave(p);
        if (plus)
            return e;
        AstExpr *negated = tessi_parse_new(p, AST_UNARY);
        negated->op = op;
        negated->span = tessi_parse_span_from(p, first);
        tessi_parse_push(p, negated, e);
        return negated;
    }
    e = postfix(p);
    if (tessi_parse_accept(p, TOK_CARET)) {
        AstExpr *exponent = tessi_parse_enter(p) ? tessi_parse_unary(p) : placeholder(p);
        tessi_parse_leave(p);
        e = binary(p, AST_OP_POW, e, exponent, first);
    }
    return e;
}

typedef struct Infix {
    TokenKind token;
    AstOperator op;
    int level[2]; /* Tessera, Forma; 0 = not an operator there */
} Infix;
static const Infix infixes[] = {
#define INFIX(token, op, level, forma_level) { TOK_##token, AST_OP_##op, { level, forma_level } },
#include "front/token.def"
};

static const Infix *infix_of(TokenKind kind)
{
    for (size_t i = 0; i < sizeof infixes / sizeof infixes[0]; i++)
        if (infixes[i].token == kind)
            return &infixes[i];
    return NULL;
}

/* An expression of operators that bind at least as tight as `level`. */
static AstExpr *infix_expr(Parser *p, int level)
{
    uint32_t first = p->at;
    AstExpr *left = tessi_parse_unary(p);
    for (;;) {
        if (tessi_parse_foreign_infix(p))
            return left;
        const Infix *infix = infix_of(tessi_parse_peek(p));
        int found = infix ? infix->level[p->forma] : 0;
        if (!found || found < level)
            return left;
        tessi_parse_advance(p);
        AstExpr *right = infix_expr(p, found + 1);
        left = binary(p, infix->op, left, right, first);
    }
}

AstExpr *tessi_parse_sum(Parser *p)
{
    return infix_expr(p, infix_of(TOK_PLUS)->level[0]);
}

AstExpr *tessi_parse_expr(Parser *p)
{
    uint32_t first = p->at;
    AstExpr *e = placeholder(p);
    if (tessi_parse_enter(p)) {
        e = infix_expr(p, 1);
        if (tessi_parse_accept(p, TOK_QUESTION)) {
            AstExpr *choice = tessi_parse_new(p, AST_TERNARY);
            tessi_parse_push(p, choice, e);
            tessi_parse_push(p, choice, tessi_parse_expr(p));
            tessi_parse_expect(p, TOK_COLON, "':' and the other value");
            tessi_parse_push(p, choice, tessi_parse_expr(p));
            choice->span = tessi_parse_span_from(p, first);
            e = choice;
        }
    }
    tessi_parse_leave(p);
    return e;
}

const char *tessi_ast_operator_text(AstOperator op)
{
    switch (op) {
    case AST_OP_NEG: return "-";
    case AST_OP_LNOT: return "!";
    case AST_OP_BNOT: return "~";
    case AST_OP_POW: return "^";
    default: break;
    }
    for (size_t i = 0; i < sizeof infixes / sizeof infixes[0]; i++)
        if (infixes[i].op == op)
            return tessi_token_text(infixes[i].token);
    return "?";
}
