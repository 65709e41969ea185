/* Statements: assignments, masks, loops and `return`, in functions and in the program. */
#include "front/parse.h"
#include "graph/graph.h"

bool tessi_parse_at_mask(const Parser *p)
{
    return !p->forma && tessi_parse_is_word(p, 0, "mask") && tessi_parse_look(p, 1) == TOK_NAME;
}

bool tessi_parse_at_type(const Parser *p)
{
    switch (tessi_parse_peek(p)) {
    case TOK_CONST:
    case TOK_TYPE: return true;
    case TOK_STRUCT:
        return tessi_parse_look(p, 1) == TOK_NAME && tessi_parse_look(p, 2) == TOK_NAME;
    case TOK_NAME: return tessi_parse_look(p, 1) == TOK_NAME;
    default: return false;
    }
}

/* const [type] name = value;   type name = value; */
static void typed_local(Parser *p, AstStmt *s)
{
    if (tessi_parse_misspelt(p))
        return;
    s->is_const = tessi_parse_peek(p) == TOK_CONST;
    s->has_type = !s->is_const || tessi_parse_look(p, 2) != TOK_ASSIGN;
    if (s->has_type)
        tessi_parse_type(p, &s->type);
    else
        tessi_parse_advance(p);
    s->name = tessi_parse_name(p, "the name of a value");
    tessi_parse_expect(p, TOK_ASSIGN, NULL);
    s->value = tessi_parse_expr(p);
    tessi_parse_semicolon(p);
}

bool tessi_parse_at_declared(const Parser *p)
{
    if (p->forma || tessi_parse_peek(p) != TOK_VECTOR || tessi_parse_look(p, 1) != TOK_HASH)
        return false;
    int depth = 0;
    for (uint32_t at = p->at; p->tokens[at].kind != TOK_END && p->tokens[at].kind != TOK_SEMICOLON;
         at++) {
        const TokenKind kind = p->tokens[at].kind;
        depth += kind == TOK_LBRACKET || kind == TOK_LPAREN;
        depth -= kind == TOK_RBRACKET || kind == TOK_RPAREN;
        if (depth == 0 && (kind == TOK_ASSIGN || kind == TOK_COMMA))
            return kind == TOK_ASSIGN;
    }
    return false;
}

static bool family_target(Parser *p, const char *name, AstExpr **family, AstExpr **second);

/* vector#2 float name[M, N] = value; */
static void declared_result(Parser *p, AstStmt *s)
{
    s->has_type = true;
    tessi_parse_type(p, &s->type);
    s->name = tessi_parse_name(p, "the name of an image");
    if (tessi_parse_peek(p) == TOK_LT) {
        family_target(p, s->name.text, &s->family, &s->second);
    }
    if (tessi_parse_expect(p, TOK_LBRACKET, "'[' and the sizes"))
        tessi_parse_expr_list(p, TOK_RBRACKET, &s->sizes);
    tessi_parse_expect(p, TOK_ASSIGN, NULL);
    s->value = tessi_parse_expr(p);
    tessi_parse_semicolon(p);
}

/* After name: `<index>`, which lexes as `< index >=` where the = follows at once. Returns whether the = was taken. */
static bool family_target(Parser *p, const char *name, AstExpr **family, AstExpr **second)
{
    tessi_parse_advance(p);
    VEC_PUSH(p->arena, &p->families, name);
    tessi_parse_family_numbers(p, family, second);
    if (tessi_parse_peek(p) != TOK_GE) {
        tessi_parse_expect(p, TOK_GT, NULL);
        return false;
    }
    if (p->forma) {
        Diag *d = tessi_parse_unexpected(p, "'>'");
        if (d)
            tessi_diag_help(p->diags, d, "the original dialect wants a blank between > and =");
        return false;
    }
    tessi_parse_advance(p);
    return true;
}

/* A value, perhaps with a validity. Border rules belong to reads. */
static AstExpr *named_value(Parser *p)
{
    AstExpr *value = tessi_parse_expr(p);
    AstBorders rules = { 0 };
    if (p->context == CONTEXT_STENCIL || p->forma)
        return value;
    value = tessi_parse_qualified(p, value, &rules);
    if (rules.n || rules.missing.name.text) {
        tessi_diag(p->diags, DIAG_BORDER_MISPLACED, rules.n ? rules.at[0].span : rules.missing.span,
                   "a statement");
    }
    return value;
}

static void assignment(Parser *p, AstStmt *s)
{
    s->name = tessi_parse_name(p, "a statement");
    bool assigned = false;
    if (p->context != CONTEXT_STENCIL && tessi_parse_peek(p) == TOK_LT)
        assigned = family_target(p, s->name.text, &s->family, &s->second);
    while (!assigned && !p->forma && tessi_parse_accept(p, TOK_COMMA)) {
        AstTarget t = { .name = tessi_parse_name(p, "the name of a result") };
        if (p->context != CONTEXT_STENCIL && tessi_parse_peek(p) == TOK_LT)
            assigned = family_target(p, t.name.text, &t.family, &t.second);
        VEC_PUSH(p->arena, &s->more, t);
    }
    if (!assigned && tessi_parse_peek(p) == TOK_AT)
        tessi_parse_offsets(p, &s->offsets);
    else if (!assigned && tessi_parse_peek(p) == TOK_LBRACKET)
        tessi_parse_ranges(p, &s->ranges);
    if (!assigned && tessi_parse_foreign_change(p, s->name.text))
        return;
    if (!assigned && !tessi_parse_accept(p, TOK_ASSIGN)) {
        TokenKind found = tessi_parse_peek(p);
        Diag *d = tessi_parse_unexpected(p, "'='");
        if (d && found == TOK_LPAREN)
            tessi_diag_help(p->diags, d, "a result needs a name: out = %s(..);", s->name.text);
        else if (d && found == TOK_EQ)
            tessi_diag_help(p->diags, d, "== compares; = gives a name to a value");
        else if (d && found == TOK_COLON)
            tessi_diag_help(p->diags, d, "a name gets its value by =");
    }
    s->value = named_value(p);
    tessi_parse_semicolon(p);
}

/* { list } [/ divisor] [* factor] */
static void coefficients(Parser *p, AstMask *m)
{
    uint32_t opening = p->at;
    if (!tessi_parse_expect(p, TOK_LBRACE, "'{' and the coefficients"))
        return;
    p->open_braces++;
    do {
        if (tessi_parse_peek(p) == TOK_RBRACE)
            break;
        if (m->list.n == MAX_MASK_ELEMENTS) {
            tessi_diag(p->diags, DIAG_LIMIT, tessi_parse_token_span(p, p->at),
                       "coefficients of a mask", (long long)MAX_MASK_ELEMENTS);
            p->panic = true;
        }
        VEC_PUSH(p->arena, &m->list, tessi_parse_expr(p));
    } while (tessi_parse_accept(p, TOK_COMMA));
    if (tessi_parse_close(p, TOK_RBRACE, opening))
        p->open_braces--;
    if (tessi_parse_accept(p, TOK_SLASH))
        m->divisor = tessi_parse_unary(p);
    if (tessi_parse_accept(p, TOK_STAR))
        m->factor = tessi_parse_unary(p);
    if (!m->divisor && tessi_parse_accept(p, TOK_SLASH))
        m->divisor = tessi_parse_unary(p);
}

static void mask_statement(Parser *p, AstStmt *s)
{
    s->kind = AST_MASK;
    tessi_parse_advance(p);
    s->name = tessi_parse_name(p, "the name of a mask");
    uint32_t opening = p->at;
    tessi_parse_expect(p, TOK_LBRACKET, "'[' and the extent of the mask");
    bool computed = tessi_parse_peek(p) == TOK_NAME && tessi_parse_look(p, 1) == TOK_ASSIGN;
    if (computed) {
        tessi_parse_window_vars(p, &s->mask.vars);
        tessi_parse_close(p, TOK_RBRACKET, opening);
    } else {
        tessi_parse_expr_list(p, TOK_RBRACKET, &s->mask.sizes);
    }
    tessi_parse_expect(p, TOK_ASSIGN, NULL);
    if (computed)
        s->mask.value = tessi_parse_expr(p);
    else
        coefficients(p, &s->mask);
    s->mask.normalized = tessi_parse_accept_word(p, "normalized");
    tessi_parse_semicolon(p);
}

/* A word of the head of a loop, and no family of that name. */
static bool head_word(Parser *p, const char *word)
{
    return !p->forma && tessi_parse_look(p, 1) != TOK_LT && tessi_parse_accept_word(p, word);
}

/* for i = lo..hi [until condition [every n]] statements endfor. After an error in its head the body is still read, so
 * that `endfor` finds its `for`. */
static bool for_loop(Parser *p, AstStmt *s)
{
    uint32_t first = p->at;
    s->kind = AST_FOR;
    tessi_parse_advance(p);
    s->name = tessi_parse_name(p, "the name of a loop variable");
    tessi_parse_expect(p, TOK_ASSIGN, NULL);
    s->lo = tessi_parse_expr(p);
    tessi_parse_expect(p, TOK_DOTDOT, "'..' and the last value");
    s->hi = tessi_parse_expr(p);
    if (head_word(p, "until")) {
        s->until = tessi_parse_expr(p);
        if (head_word(p, "every"))
            s->every = tessi_parse_expr(p);
    }
    bool head_broken = p->panic;
    if (head_broken)
        tessi_parse_recover(p);
    const uint32_t brace = p->at;
    const bool braces = tessi_parse_foreign_braces(p);
    if (tessi_parse_enter(p))
        tessi_parse_stmts(p, &s->body);
    tessi_parse_leave(p);
    if (braces)
        tessi_parse_close(p, TOK_RBRACE, brace);
    if (!braces || tessi_parse_peek(p) == TOK_ENDFOR)
        tessi_parse_close(p, TOK_ENDFOR, first);
    return !head_broken;
}

static void no_statement(Parser *p)
{
    TokenKind kind = tessi_parse_peek(p);
    Diag *d = tessi_parse_unexpected(p, "a statement");
    if (d && kind == TOK_DO)
        tessi_diag_help(p->diags, d, "'do' never worked in the original compiler; write 'for'");
    while (kind == TOK_DO && p->tokens[p->at].kind != TOK_WHILE && p->tokens[p->at].kind != TOK_END)
        tessi_parse_advance(p); /* over its body, so that `while` is not reported too */
}

AstStmt *tessi_parse_stmt(Parser *p)
{
    uint32_t first = p->at;
    AstStmt *s = ARENA_NEW(p->arena, AstStmt);
    bool whole = true;
    if (tessi_parse_peek(p) == TOK_FOR)
        whole = for_loop(p, s);
    else if (tessi_parse_at_mask(p))
        mask_statement(p, s);
    else if (tessi_parse_at_declared(p))
        declared_result(p, s);
    else if (!p->forma && tessi_parse_at_type(p))
        typed_local(p, s);
    else if (tessi_parse_peek(p) == TOK_NAME)
        assignment(p, s);
    else
        no_statement(p);
    s->span = tessi_parse_span_from(p, first);
    return whole && !p->panic ? s : NULL;
}

static bool ends_statements(TokenKind kind)
{
    return kind == TOK_END || kind == TOK_RETURN || kind == TOK_RBRACE || kind == TOK_ENDFOR
           || kind == TOK_STENCIL;
}

void tessi_parse_stmts(Parser *p, AstStmts *out)
{
    while (!p->panic && !ends_statements(tessi_parse_peek(p)) && !tessi_diags_full(p->diags)) {
        uint32_t start = p->at;
        if (tessi_parse_foreign_statement(p))
            continue;
        AstStmt *s = tessi_parse_stmt(p);
        if (s)
            VEC_PUSH(p->arena, out, s);
        if (p->panic)
            tessi_parse_recover(p);
        if (p->at == start)
            tessi_parse_advance(p);
    }
}

void tessi_parse_return(Parser *p, AstExprs *out, Span *span)
{
    uint32_t first = p->at;
    tessi_parse_expect(p, TOK_RETURN, NULL);
    do {
        VEC_PUSH(p->arena, out, named_value(p));
    } while (tessi_parse_accept(p, TOK_COMMA));
    *span = tessi_parse_span_from(p, first);
    tessi_parse_semicolon(p);
    if (p->panic)
        out->n = 0;
}
