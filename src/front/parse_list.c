/* What stands in brackets and after them: offsets, ranges, call arguments with their borders, windows, compositions. */
#include <string.h>

#include "front/parse.h"

static const char *const windows[] = { "sum",    "prod", "min",        "max",   "mean", "median",
                                       "any",    "all",  "range",      "var",   "std",  "argmin",
                                       "argmax", "rank", "percentile", "reduce" };
enum { N_WINDOWS = sizeof windows / sizeof windows[0] };

static bool is_index_part(TokenKind kind)
{
    return kind == TOK_INT || kind == TOK_NAME;
}

static bool names_a_family(const Parser *p, Token name)
{
    bool known = false;
    VEC_FOREACH (const char *const, it, &p->families) {
        size_t n = strlen(*it);
        known |= n == name.end - name.begin && !memcmp(*it, p->text + name.begin, n);
    }
    return known;
}

/* At the < of `cast<T>`, `sat<T>`, `wrap<T>`, or of a member within the number of another. */
static bool opens_angle(const Parser *p, uint32_t at)
{
    const Token before = p->tokens[at - 1];
    const size_t n = before.end - before.begin;
    const char *word = p->text + before.begin;
    return before.kind == TOK_CAST || (n == 3 && !memcmp(word, "sat", n))
           || (n == 4 && !memcmp(word, "wrap", n)) || names_a_family(p, before);
}

/* `< 8*i + j >` or `< i, j >` behind the name of a family: up to the first > outside of brackets. */
static bool at_computed_family(const Parser *p)
{
    const bool known = names_a_family(p, p->tokens[p->at - 1]);
    int depth = 0, angles = 0;
    for (uint32_t at = p->at + 1; known; at++) {
        switch (p->tokens[at].kind) {
        case TOK_LT:
            if (!opens_angle(p, at))
                return false;
            angles++;
            break;
        case TOK_LPAREN:
        case TOK_LBRACKET: depth++; break;
        case TOK_RPAREN:
        case TOK_RBRACKET:
            if (--depth < 0)
                return false;
            break;
        case TOK_GT:
            if (angles > 0)
                angles--;
            else if (depth == 0)
                return true;
            break;
        case TOK_END:
        case TOK_SEMICOLON:
        case TOK_ASSIGN:
        case TOK_LBRACE:
        case TOK_RBRACE:
        case TOK_BROKEN: return false;
        default: break;
        }
    }
    return false;
}

bool tessi_parse_at_family(const Parser *p)
{
    if (tessi_parse_look(p, 0) != TOK_LT)
        return false;
    TokenKind after = tessi_parse_look(p, 2);
    bool simple =
        is_index_part(tessi_parse_look(p, 1))
        && (after == TOK_GT
            || ((after == TOK_PLUS || after == TOK_MINUS) && is_index_part(tessi_parse_look(p, 3))
                && tessi_parse_look(p, 4) == TOK_GT));
    return simple || (!p->forma && at_computed_family(p));
}

static AstExpr *index_part(Parser *p)
{
    TokenKind kind = tessi_parse_peek(p);
    if (kind == TOK_INT)
        return tessi_parse_unary(p);
    AstExpr *e = tessi_parse_new(p, AST_NAME);
    e->name = tessi_parse_name(p, "an integer or a loop variable");
    e->span = e->name.span;
    return e;
}

static AstExpr *family_index(Parser *p)
{
    uint32_t first = p->at;
    AstExpr *e = index_part(p);
    TokenKind sign = tessi_parse_peek(p);
    if (sign != TOK_PLUS && sign != TOK_MINUS)
        return e;
    tessi_parse_advance(p);
    AstExpr *moved = tessi_parse_new(p, AST_BINARY);
    moved->op = sign == TOK_PLUS ? AST_OP_ADD : AST_OP_SUB;
    tessi_parse_push(p, moved, e);
    tessi_parse_push(p, moved, index_part(p));
    moved->span = tessi_parse_span_from(p, first);
    return moved;
}

void tessi_parse_family_numbers(Parser *p, AstExpr **first, AstExpr **second)
{
    *second = NULL;
    *first = p->forma ? family_index(p) : tessi_parse_sum(p);
    if (!p->forma && tessi_parse_accept(p, TOK_COMMA))
        *second = tessi_parse_sum(p);
}

/* At `(`: does a comma stand directly inside? Tells (displacement, scale) from a parenthesised displacement. */
static bool at_pair(const Parser *p)
{
    int depth = 0;
    for (uint32_t ahead = p->at; !p->panic; ahead++) {
        switch (p->tokens[ahead].kind) {
        case TOK_LPAREN:
        case TOK_LBRACKET: depth++; break;
        case TOK_RPAREN:
        case TOK_RBRACKET:
            if (--depth == 0)
                return false;
            break;
        case TOK_COMMA:
            if (depth == 1)
                return true;
            break;
        case TOK_END:
        case TOK_SEMICOLON: return false;
        default: break;
        }
    }
    return false;
}

void tessi_parse_offsets(Parser *p, AstOffsets *out)
{
    tessi_parse_expect(p, TOK_AT, NULL);
    uint32_t opening = p->at;
    if (!tessi_parse_expect(p, TOK_LBRACKET, NULL))
        return;
    do {
        AstOffset o = { 0 };
        uint32_t first = p->at;
        if (tessi_parse_peek(p) == TOK_LPAREN && at_pair(p)) {
            tessi_parse_advance(p);
            o.displacement = tessi_parse_expr(p);
            tessi_parse_expect(p, TOK_COMMA, NULL);
            o.scale = tessi_parse_expr(p);
            tessi_parse_close(p, TOK_RPAREN, first);
        } else {
            o.displacement = tessi_parse_expr(p);
        }
        o.span = tessi_parse_span_from(p, first);
        VEC_PUSH(p->arena, out, o);
    } while (tessi_parse_accept(p, TOK_COMMA));
    tessi_parse_close(p, TOK_RBRACKET, opening);
}

static bool ends_range(TokenKind kind)
{
    return kind == TOK_COMMA || kind == TOK_RBRACKET || kind == TOK_BROKEN;
}

bool tessi_parse_ranges(Parser *p, AstRanges *out)
{
    bool any = false;
    uint32_t opening = p->at;
    if (!tessi_parse_expect(p, TOK_LBRACKET, NULL))
        return false;
    do {
        AstRange r = { 0 };
        uint32_t first = p->at;
        r.drops = !p->forma && tessi_parse_accept(p, TOK_ASSIGN);
        any |= r.drops;
        if (r.drops || tessi_parse_peek(p) != TOK_DOTDOT)
            r.lo = tessi_parse_expr(p);
        if (!r.drops && tessi_parse_accept(p, TOK_DOTDOT)) {
            any = true;
            if (!ends_range(tessi_parse_peek(p)))
                r.hi = tessi_parse_expr(p);
        } else {
            r.single = true;
            r.hi = r.lo;
        }
        r.span = tessi_parse_span_from(p, first);
        VEC_PUSH(p->arena, out, r);
    } while (tessi_parse_accept(p, TOK_COMMA));
    tessi_parse_close(p, TOK_RBRACKET, opening);
    return any;
}

void tessi_parse_expr_list(Parser *p, TokenKind close, AstExprs *out)
{
    uint32_t opening = p->at - 1;
    do {
        VEC_PUSH(p->arena, out, tessi_parse_expr(p));
    } while (tessi_parse_accept(p, TOK_COMMA));
    tessi_parse_close(p, close, opening);
}

static AstBorder parse_border(Parser *p)
{
    AstBorder b = { 0 };
    uint32_t first = p->at;
    b.name = tessi_parse_name(p, "a border rule");
    uint32_t opening = p->at;
    if (tessi_parse_accept(p, TOK_LPAREN)) {
        b.value = tessi_parse_expr(p);
        tessi_parse_close(p, TOK_RPAREN, opening);
    }
    b.span = tessi_parse_span_from(p, first);
    return b;
}

/* A policy about points that are not valid; nearest is one where a distance stands behind it. */
static bool at_missing(const Parser *p)
{
    static const char *const names[] = {
#define MISSING(id, name, other) name, other,
#include "front/missing.def"
#undef MISSING
    };
    bool is_one = false;
    for (size_t i = 0; !is_one && i < sizeof names / sizeof names[0]; i++)
        is_one = tessi_parse_is_word(p, 0, names[i]);
    return is_one
           && (!tessi_parse_is_word(p, 0, "nearest") || tessi_parse_look(p, 1) == TOK_LPAREN);
}

static void only_once(Parser *p, const AstBorder *first, const AstBorder *second)
{
    Diag *d = tessi_diag(p->diags, DIAG_RULE_TWICE, second->span);
    tessi_diag_note(p->diags, d, first->span, "the first stands here");
    p->panic = true;
}

/* The rules behind one colon. */
static void parse_rules(Parser *p, AstBorders *out)
{
    const uint32_t opening = p->at, before = out->n;
    if (!p->forma && at_missing(p)) {
        const AstBorder policy = parse_border(p);
        if (out->missing.name.text)
            only_once(p, &out->missing, &policy);
        out->missing = policy;
        return;
    }
    if (p->forma || !tessi_parse_accept(p, TOK_LBRACKET)) {
        VEC_PUSH(p->arena, out, parse_border(p));
    } else {
        do {
            VEC_PUSH(p->arena, out, parse_border(p));
        } while (tessi_parse_accept(p, TOK_COMMA));
        tessi_parse_close(p, TOK_RBRACKET, opening);
    }
    if (before && out->n > before)
        only_once(p, &out->at[0], &out->at[before]);
}

void tessi_parse_borders(Parser *p, AstBorders *out)
{
    do {
        parse_rules(p, out);
    } while (!p->forma && !p->panic && tessi_parse_accept(p, TOK_COLON));
}

AstExpr *tessi_parse_qualified(Parser *p, AstExpr *value, AstBorders *out)
{
    while (!p->panic && tessi_parse_accept(p, TOK_COLON)) {
        if (p->forma || !tessi_parse_is_word(p, 0, "valid")
            || tessi_parse_look(p, 1) != TOK_LPAREN) {
            parse_rules(p, out);
            continue;
        }
        AstExpr *e = tessi_parse_new(p, AST_VALID);
        tessi_parse_advance(p);
        const uint32_t opening = p->at;
        tessi_parse_advance(p);
        tessi_parse_push(p, e, value);
        tessi_parse_push(p, e, tessi_parse_expr(p));
        tessi_parse_close(p, TOK_RPAREN, opening);
        e->span = tessi_span_join(value->span, tessi_parse_token_span(p, p->at - 1));
        value = e;
    }
    return value;
}

static bool is_window_name(const Parser *p)
{
    for (size_t i = 0; i < N_WINDOWS; i++)
        if (tessi_parse_is_word(p, 0, windows[i]))
            return true;
    return false;
}

static bool has_order(const Parser *p)
{
    return tessi_parse_is_word(p, 0, "rank") || tessi_parse_is_word(p, 0, "percentile");
}

/* Behind `NAME (`: over the first argument and its comma; to where it is where there is none. */
static uint32_t behind_argument(const Parser *p, uint32_t ahead)
{
    int depth = 0;
    for (uint32_t at = ahead;; at++) {
        const TokenKind kind = tessi_parse_look(p, at);
        if (kind == TOK_END || kind == TOK_BROKEN || kind == TOK_SEMICOLON || kind == TOK_COLON)
            return ahead;
        if (kind == TOK_COMMA && depth == 0)
            return at + 1;
        depth += kind == TOK_LPAREN || kind == TOK_LBRACKET;
        depth -= kind == TOK_RPAREN || kind == TOK_RBRACKET;
        if (depth < 0)
            return ahead;
    }
}

/* NAME ( i = ..   or   NAME ( i, j in ..; of ranks behind a number */
bool tessi_parse_at_window(const Parser *p)
{
    if (!is_window_name(p) || tessi_parse_look(p, 1) != TOK_LPAREN)
        return false;
    for (uint32_t ahead = has_order(p) ? behind_argument(p, 2) : 2;
         tessi_parse_look(p, ahead) == TOK_NAME; ahead += 2) {
        TokenKind after = tessi_parse_look(p, ahead + 1);
        if (after == TOK_ASSIGN || tessi_parse_is_word(p, ahead + 1, "in"))
            return true;
        if (after != TOK_COMMA)
            return false;
    }
    return false;
}

void tessi_parse_window_vars(Parser *p, AstWindowVars *out)
{
    uint32_t waiting = 0; /* variables before the `in` that gives their mask */
    do {
        AstWindowVar v = { .name = tessi_parse_name(p, "the name of a window's variable") };
        if (!waiting && tessi_parse_accept(p, TOK_ASSIGN)) {
            v.lo = tessi_parse_expr(p);
            tessi_parse_expect(p, TOK_DOTDOT, "'..' and the upper bound");
            v.hi = tessi_parse_expr(p);
            VEC_PUSH(p->arena, out, v);
            continue;
        }
        VEC_PUSH(p->arena, out, v);
        waiting++;
        if (tessi_parse_accept_word(p, "in")) {
            AstExpr *mask = tessi_parse_expr(p);
            for (; waiting; waiting--)
                out->at[out->n - waiting].mask = mask;
        }
    } while (tessi_parse_accept(p, TOK_COMMA));
    if (!waiting)
        return;
    const bool keyword = tessi_parse_peek(p) == TOK_ASSIGN;
    Diag *d = tessi_parse_unexpected(p, "'=' or 'in' behind the variable of a window");
    if (d && keyword)
        tessi_diag_help(p->diags, d, "the number of a dimension is given alone: sum(A, 0)");
    else if (d)
        tessi_diag_help(p->diags, d, "the value at each point follows a ':'");
}

/* a + b, 0   behind   a, b : */
static void combined_how(Parser *p, AstExpr *e)
{
    AstWindowMore *m = e->more;
    m->combine = tessi_parse_expr(p);
    tessi_parse_expect(p, TOK_COMMA, "',' and the value to start with");
    m->start = tessi_parse_expr(p);
    tessi_parse_adopt(p, e, m->combine);
    tessi_parse_adopt(p, e, m->start);
}

/* , a, b : a + b, 0 */
static void combination(Parser *p, AstExpr *e)
{
    AstWindowMore *m = e->more;
    tessi_parse_expect(p, TOK_COMMA, "',' and how two values are combined: a, b : a + b, 0");
    m->a = tessi_parse_name(p, "the name of what is combined so far");
    tessi_parse_expect(p, TOK_COMMA, NULL);
    m->b = tessi_parse_name(p, "the name of the next value");
    tessi_parse_expect(p, TOK_COLON, NULL);
    combined_how(p, e);
}

AstExpr *tessi_parse_window(Parser *p)
{
    uint32_t first = p->at;
    AstExpr *e = tessi_parse_new(p, AST_WINDOW), *where = NULL;
    const bool order = has_order(p), reduces = tessi_parse_is_word(p, 0, "reduce");
    e->name = tessi_parse_name(p, "a window");
    uint32_t opening = p->at;
    tessi_parse_expect(p, TOK_LPAREN, NULL);
    if (order || reduces)
        e->more = ARENA_NEW(p->arena, AstWindowMore);
    if (order) {
        e->more->order = tessi_parse_expr(p);
        tessi_parse_adopt(p, e, e->more->order);
        tessi_parse_expect(p, TOK_COMMA, NULL);
    }
    tessi_parse_window_vars(p, &e->vars);
    VEC_FOREACH (AstWindowVar, v, &e->vars) {
        tessi_parse_adopt(p, e, v->lo);
        tessi_parse_adopt(p, e, v->hi);
        tessi_parse_adopt(p, e, v->mask);
    }
    if (tessi_parse_accept_word(p, "where"))
        where = tessi_parse_expr(p);
    tessi_parse_expect(p, TOK_COLON, "':' and the value at each point of the window");
    tessi_parse_push(p, e, tessi_parse_expr(p));
    if (where)
        tessi_parse_push(p, e, where);
    if (reduces)
        combination(p, e);
    tessi_parse_close(p, TOK_RPAREN, opening);
    e->span = tessi_parse_span_from(p, first);
    return e;
}

/* name(i = lo..: the author meant a window, but `name` is none. */
static void unknown_window(Parser *p, const AstExpr *call)
{
    Diag *d = tessi_diag(p->diags, DIAG_UNKNOWN_WINDOW, call->name.span, call->name.text);
    const char *near = tessi_nearest_word(call->name.text, windows, N_WINDOWS);
    if (near)
        tessi_diag_help(p->diags, d, "did you mean '%s'?", near);
    else
        tessi_diag_help(
            p->diags, d,
            "sum, prod, min, max, mean, median, any, all, range, var, std, argmin, argmax, rank, "
            "percentile and reduce are");
    p->panic = true;
}

/* reduce(A, 0, a, b : a + b, 0) and cumulate: at the colon; the names are the last argument and the one in hand. */
static bool combines(const Parser *p, const AstExpr *e, const AstArg *last)
{
    const bool named = tessi_streq(e->name.text, "reduce") || tessi_streq(e->name.text, "cumulate");
    return !p->forma && named && !e->more && e->args.n >= 2 && last->value->kind == AST_NAME
           && e->args.at[e->args.n - 1].value->kind == AST_NAME;
}

static void call_combines(Parser *p, AstExpr *e, const AstArg *last)
{
    e->more = ARENA_NEW(p->arena, AstWindowMore);
    e->more->a = e->args.at[--e->args.n].value->name;
    e->more->b = last->value->name;
    combined_how(p, e);
}

AstExpr *tessi_parse_call(Parser *p)
{
    uint32_t first = p->at;
    AstExpr *e = tessi_parse_new(p, AST_CALL);
    e->name = tessi_parse_name(p, "a function");
    uint32_t opening = p->at;
    tessi_parse_expect(p, TOK_LPAREN, NULL);
    if (tessi_parse_peek(p) != TOK_RPAREN) {
        do {
            AstArg a = { 0 };
            if (!p->forma && tessi_parse_peek(p) == TOK_NAME
                && tessi_parse_look(p, 1) == TOK_ASSIGN) {
                a.keyword = tessi_parse_name(p, "a name");
                tessi_parse_advance(p);
            }
            a.value = tessi_parse_expr(p);
            tessi_parse_adopt(p, e, a.value);
            if (a.keyword.text && tessi_parse_peek(p) == TOK_DOTDOT)
                unknown_window(p, e);
            if (tessi_parse_peek(p) == TOK_COLON && combines(p, e, &a)) {
                tessi_parse_advance(p);
                call_combines(p, e, &a);
                continue;
            }
            a.value = tessi_parse_qualified(p, a.value, &a.borders);
            tessi_parse_adopt(p, e, a.value);
            tessi_parse_adopt(p, e, a.borders.missing.value);
            VEC_FOREACH (AstBorder, b, &a.borders)
                tessi_parse_adopt(p, e, b->value);
            VEC_PUSH(p->arena, &e->args, a);
        } while (tessi_parse_accept(p, TOK_COMMA));
    }
    tessi_parse_close(p, TOK_RPAREN, opening);
    e->span = tessi_parse_span_from(p, first);
    return e;
}

AstExpr *tessi_parse_composition(Parser *p)
{
    uint32_t first = p->at;
    AstExpr *e = tessi_parse_new(p, AST_COMPOSE);
    tessi_parse_advance(p);
    if (tessi_parse_peek(p) == TOK_RPAREN) {
        tessi_parse_advance(p);
        tessi_diag(p->diags, DIAG_NO_PARTS, tessi_parse_span_from(p, first));
        p->panic = true;
    }
    TokenKind next = tessi_parse_peek(p);
    while (next == TOK_AT || next == TOK_LBRACKET) {
        AstPart part = { 0 };
        uint32_t start = p->at;
        if (next == TOK_AT)
            tessi_parse_offsets(p, &part.offsets);
        else
            tessi_parse_ranges(p, &part.ranges);
        tessi_parse_expect(p, TOK_ASSIGN, NULL);
        part.value = tessi_parse_expr(p);
        part.span = tessi_parse_span_from(p, start);
        VEC_FOREACH (AstOffset, o, &part.offsets) {
            tessi_parse_adopt(p, e, o->displacement);
            tessi_parse_adopt(p, e, o->scale);
        }
        VEC_FOREACH (AstRange, r, &part.ranges) {
            tessi_parse_adopt(p, e, r->lo);
            tessi_parse_adopt(p, e, r->hi);
        }
        tessi_parse_adopt(p, e, part.value);
        VEC_PUSH(p->arena, &e->parts, part);
        if (p->forma || tessi_parse_peek(p) != TOK_RPAREN)
            tessi_parse_expect(p, TOK_SEMICOLON, NULL);
        next = tessi_parse_peek(p);
    }
    tessi_parse_close(p, TOK_RPAREN, first);
    e->span = tessi_parse_span_from(p, first);
    return e;
}
