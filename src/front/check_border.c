/* front/check_border: border rules by name, per dimension, with their values; the rule in force where none is
 * written. */
#include "front/check.h"

#include <string.h>

static void unknown_border(Checker *c, Name name)
{
    VEC(const char *) words = { 0 };
    for (int b = 0; b < N_BORDERS; b++) {
        if (b == BORDER_INSIDE)
            continue;
        const BorderInfo *info = tessi_border_info((Border)b);
        VEC_PUSH(c->a, &words, info->name);
        for (const char *p = info->aliases; *p;) {
            size_t n = strcspn(p, " ");
            VEC_PUSH(c->a, &words, tessi_strndup(c->a, p, n));
            p += n + (p[n] == ' ');
        }
    }
    for (int m = 0; m < N_MISSING; m++)
        VEC_PUSH(c->a, &words, tessi_missing_name((Missing)m));
    VEC_PUSH(c->a, &words, "invalid");
    Diag *d = CHECK_DIAG(c, DIAG_UNKNOWN_BORDER, name.span, name.text);
    Missing policy;
    const char *near = tessi_nearest_word(name.text, words.at, words.n);
    if (tessi_missing_by_name(name.text, &policy)) {
        tessi_diag_help(c->d, d,
                        "what points that are not valid give stands by itself: 'X:mirror:%s'",
                        name.text);
        return;
    }
    if (near)
        tessi_diag_help(c->d, d, "did you mean '%s'?", near);
    else
        tessi_diag_help(
            c->d, d,
            "the rules are clamp, mirror, reflect, wrap, constant(v), invalid and none; points "
            "that are not valid: infect, renormalise, nearest(r) and zero");
}

/* The value of constant(v): a number, or a scalar of the program. */
static TExpr *outside_value(Checker *c, const AstBorder *b)
{
    if (!b->value)
        return tessi_te_int(c, 0, b->span);
    c->at.const_depth +=
        c->forma; /* its literals are untyped there, so that a value that does not fit is found */
    Operand o = tessi_check_vector(c, b->value);
    c->at.const_depth -= c->forma;
    if (o.kind == OPERAND_SCALAR || (o.kind == OPERAND_IMAGE && o.image->n_dims == 0))
        return tessi_check_operand_expr(c, o, b->value->span);
    if (o.kind != OPERAND_ERROR)
        CHECK_DIAG(c, DIAG_ARG_KIND, b->value->span, "v", "constant", "a number",
                   tessi_operand_text(c, o));
    return tessi_te_error(c, b->span);
}

static bool same_value(const TExpr *a, const TExpr *b)
{
    if (a->kind != TE_CONST || b->kind != TE_CONST || !tessi_tt_same(a->type, b->type))
        return a == b;
    return tessi_tt_is_integer(a->type) ? a->value.i == b->value.i : a->value.f == b->value.f;
}

bool tessi_borders_are_written(const AstBorders *b)
{
    return b->n || b->missing.name.text;
}

Span tessi_borders_span(const AstBorders *b)
{
    return b->n ? b->at[0].span : b->missing.span;
}

/* `invalid`: what is outside is not valid, and 0 where somebody looks. */
static bool is_invalid(const Checker *c, const AstBorder *rule)
{
    return !c->forma && tessi_streq(rule->name.text, "invalid");
}

/* What is not written stays as it is in force. */
static bool begin_rules(Checker *c, const AstBorders *b, BorderInForce *out)
{
    const BorderInForce before = c->at.border;
    *out = before;
    if (b->n)
        *out = (BorderInForce){ .n = (uint8_t)(b->n < MAX_DIMS ? b->n : MAX_DIMS),
                                .missing = before.missing };
    return !b->missing.name.text || tessi_check_missing(c, &b->missing, &out->missing);
}

bool tessi_check_border_in_force(Checker *c, const AstBorders *b, BorderInForce *out)
{
    TExpr *each[MAX_DIMS] = { NULL };
    bool differ = false;
    if (!begin_rules(c, b, out))
        return false;
    for (uint32_t i = 0; b->n && i < out->n; i++) {
        const AstBorder *rule = &b->at[i];
        if (i == 0)
            out->span = rule->span;
        out->span = tessi_span_join(out->span, rule->span);
        out->invalid[i] = is_invalid(c, rule);
        if (out->invalid[i])
            out->rule[i] = BORDER_CONSTANT;
        else if (!tessi_border_by_name(rule->name.text, &out->rule[i])
                 || out->rule[i] == BORDER_INSIDE) {
            unknown_border(c, rule->name);
            return false;
        }
        if (rule->value && (out->rule[i] != BORDER_CONSTANT || out->invalid[i])) {
            CHECK_DIAG(c, DIAG_BORDER_VALUE, rule->span, rule->name.text);
            return false;
        }
        if (out->rule[i] != BORDER_CONSTANT)
            continue;
        TExpr *v = outside_value(c, rule);
        if (tessi_tt_is_error(v->type))
            return false;
        differ |= out->outside && !same_value(out->outside, v);
        out->outside = each[i] = v;
    }
    for (uint32_t i = 0; differ && b->n && i < out->n; i++)
        out->each[i] = each[i];
    if (b->n > MAX_DIMS) {
        CHECK_DIAG(c, DIAG_BORDER_DIMENSIONS, out->span, (long long)b->n, (long long)MAX_DIMS);
        return false;
    }
    return true;
}

bool tessi_check_borders(Checker *c, const AstBorders *b, uint32_t n_dims, Span at, TBorder *out)
{
    BorderInForce rules = c->at.border;
    *out = (TBorder){ .span = at };
    if (tessi_borders_are_written(b) && !tessi_check_border_in_force(c, b, &rules))
        return false;
    out->missing = rules.missing;
    if (!tessi_check_nearest_reach(c, &rules.missing, n_dims, at))
        return false;
    for (uint32_t d = 0; d < n_dims; d++)
        out->rule[d] = BORDER_CLAMP;
    if (rules.n == 0)
        return true; /* nothing written and nothing in force */
    if (rules.n != 1 && rules.n != n_dims) {
        Diag *diag = CHECK_DIAG(c, DIAG_BORDER_DIMENSIONS, b->n ? rules.span : at,
                                (long long)rules.n, (long long)n_dims);
        if (!b->n)
            tessi_diag_note(c->d, diag, rules.span, "the rules in force are given here");
        return false;
    }
    out->written = true;
    out->outside = rules.outside;
    for (uint32_t d = 0; d < n_dims; d++)
        out->each[d] = rules.each[d];
    if (b->n)
        out->span = rules.span;
    for (uint32_t d = 0; d < n_dims; d++) {
        out->rule[d] = rules.rule[rules.n == 1 ? 0 : d];
        out->invalid[d] = rules.invalid[rules.n == 1 ? 0 : d];
    }
    return true;
}

bool tessi_check_border_value(Checker *c, TBorder *b, TType element)
{
    if (!b->outside)
        return true;
    if (c->forma && element.kind == TT_STRUCT) {
        CHECK_DIAG(c, DIAG_NOT_IN_FORMA, b->span, "a constant outside an image of structs");
        return false;
    }
    if (element.kind == TT_SCALAR && element.scalar == TYPE_F16)
        element.scalar = TYPE_F32;
    b->outside = tessi_check_convert(c, b->outside, element);
    bool ok = !tessi_tt_is_error(b->outside->type);
    for (uint32_t d = 0; ok && d < MAX_DIMS; d++) {
        if (!b->each[d])
            continue;
        b->each[d] = tessi_check_convert(c, b->each[d], element);
        ok = !tessi_tt_is_error(b->each[d]->type);
    }
    return ok;
}

void tessi_check_no_borders(Checker *c, const AstBorders *b, const char *why)
{
    if (tessi_borders_are_written(b))
        CHECK_DIAG(c, DIAG_BORDER_MISPLACED, tessi_borders_span(b), why);
}
