/* front/check_warn: what a program says and hardly means: quotients of integers that lose their fractions. */
#include "front/check.h"

static void warn(Checker *c, Span span)
{
    Diag *d = CHECK_DIAG(c, DIAG_DROPPED_FRACTION, span);
    tessi_diag_help(
        c->d, d,
        "for the fraction write '1.0 * a / b'; 'cast<int>(a / b)' says that it is not wanted");
}

/* Known when compiling, variables of windows included. */
static bool varies(const TExpr *e)
{
    return e->kind != TE_CONST && !e->is_static;
}

void tessi_warn_quotient(Checker *c, const AstExpr *ast, const TExpr *a, const TExpr *b, TExpr *e)
{
    if (c->forma || !tessi_tt_is_integer(e->type) || c->at.counts || c->at.truncated == ast)
        return;
    if (e->kind == TE_CONST && a->kind == TE_CONST && b->kind == TE_CONST && b->value.i != 0)
        e->dropped = a->value.i % b->value.i != 0;
    else
        e->dropped = true;
    bool now = e->kind == TE_CONST ? e->dropped : varies(a) && varies(b);
    if (!now || c->at.const_depth > 0)
        return;
    warn(c, ast->span);
    e->dropped = false;
}

void tessi_warn_dropped(Checker *c, const TExpr *e, TType to)
{
    bool real = to.kind == TT_UNTYPED_REAL || (to.kind == TT_SCALAR && tessi_is_real(to.scalar));
    if (e->dropped && real)
        warn(c, e->span);
}
