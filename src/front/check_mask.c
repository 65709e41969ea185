/* front/check_mask: masks: their definitions, computed in double when compiling; flip(m); elements m[i,j]. */
#include "front/check.h"

#include <math.h>

TMask *tessi_mask_new(Checker *c, const char *name, Span span, uint32_t n_dims)
{
    TMask *m = ARENA_NEW(c->a, TMask);
    m->name = name;
    m->span = span;
    m->n_dims = (uint8_t)n_dims;
    m->type = tessi_tt_kind(TT_UNTYPED_INT);
    m->number = c->t->masks.n + 1;
    VEC_PUSH(c->a, &c->t->masks, m);
    return m;
}

static bool count_elements(Checker *c, TMask *m)
{
    int64_t n = 1;
    for (int d = 0; d < m->n_dims; d++) {
        n *= (int64_t)m->hi[d] - m->lo[d] + 1;
        if (n > MAX_MASK_ELEMENTS) {
            CHECK_DIAG(c, DIAG_LIMIT, m->span, "elements of a mask", (long long)MAX_MASK_ELEMENTS);
            return false;
        }
    }
    m->n = (uint32_t)n;
    m->at = ARENA_NEW_ARRAY(c->a, Value, m->n);
    return true;
}

static void make_real(TMask *m)
{
    if (m->type.kind == TT_UNTYPED_REAL)
        return;
    for (uint32_t i = 0; i < m->n; i++)
        m->at[i] = tessi_value_real((double)m->at[i].i);
    m->type = tessi_tt_kind(TT_UNTYPED_REAL);
}

static bool is_number(Checker *c, const TExpr *e)
{
    if (tessi_tt_is_error(e->type))
        return false;
    if (e->type.kind != TT_STRUCT)
        return true;
    CHECK_DIAG(c, DIAG_NO_CONVERSION, e->span, tessi_tt_name(c, e->type), "a number");
    return false;
}

static void set_element(TMask *m, uint32_t i, TType type, Value v)
{
    if (!tessi_tt_is_integer(type))
        make_real(m);
    m->at[i] = m->type.kind == TT_UNTYPED_REAL && tessi_tt_is_integer(type)
                   ? tessi_value_real((double)v.i)
                   : v;
}

static double as_real(const TExpr *e)
{
    return tessi_tt_is_integer(e->type) ? (double)e->value.i : e->value.f;
}

/* Extents of a list: the centre is element n / 2, as in SciPy and OpenCV. */
static bool list_extents(Checker *c, const AstMask *ast, TMask *m)
{
    for (uint32_t d = 0; d < m->n_dims; d++) {
        int32_t n = 0;
        if (!tessi_check_const_i32(c, ast->sizes.at[d], "the size of a mask", &n))
            return false;
        if (n < 1) {
            CHECK_DIAG(c, DIAG_MASK_SIZE, ast->sizes.at[d]->span, (long long)n);
            return false;
        }
        m->lo[d] = -(n / 2);
        m->hi[d] = m->lo[d] + n - 1;
    }
    return count_elements(c, m);
}

static bool scale_list(Checker *c, const AstMask *ast, TMask *m)
{
    if (ast->factor) {
        TExpr *f = tessi_check_const(c, ast->factor, "the factor of a mask");
        if (!is_number(c, f))
            return false;
        make_real(m);
        for (uint32_t i = 0; i < m->n; i++)
            m->at[i].f *= as_real(f);
    }
    if (ast->divisor) {
        TExpr *f = tessi_check_const(c, ast->divisor, "the divisor of a mask");
        if (!is_number(c, f))
            return false;
        if (as_real(f) == 0) {
            CHECK_DIAG(c, DIAG_CONST_ZERO_DIVISION, ast->divisor->span);
            return false;
        }
        make_real(m);
        for (uint32_t i = 0; i < m->n; i++)
            m->at[i].f /= as_real(f);
    }
    return true;
}

static bool fill_list(Checker *c, const AstMask *ast, TMask *m)
{
    if (!list_extents(c, ast, m))
        return false;
    if (ast->list.n != m->n) {
        CHECK_DIAG(c, DIAG_MASK_COUNT, m->span, m->name, (long long)m->n, (long long)ast->list.n);
        return false;
    }
    for (uint32_t i = 0; i < m->n; i++) {
        TExpr *e = tessi_check_const(c, ast->list.at[i], "an element of a mask");
        if (!is_number(c, e))
            return false;
        set_element(m, i, e->type, e->value);
    }
    return scale_list(c, ast, m);
}

static TExpr *coefficient_expr(Checker *c, const AstMask *ast, TWindow *w)
{
    Context saved = c->at;
    c->at.scope = tessi_scope_new(c, c->at.scope);
    c->at.window = w;
    for (uint32_t v = 0; v < w->n_vars; v++) {
        Sym *sym = tessi_scope_add(c, ast->vars.at[v].name, SYM_WINVAR);
        if (sym) {
            sym->window = w;
            sym->slot = v;
        }
    }
    c->at.const_depth++;
    TExpr *e = tessi_check_expr(c, ast->value);
    c->at = saved;
    if (is_number(c, e) && !e->is_static) {
        CHECK_DIAG(c, DIAG_CONST_NEEDED, ast->value->span, "the value of a mask");
        return tessi_te_error(c, ast->value->span);
    }
    return e;
}

static bool fill_computed(Checker *c, const AstMask *ast, TMask *m)
{
    TWindow *w = ARENA_NEW(c->a, TWindow);
    w->n_vars = m->n_dims;
    for (uint32_t d = 0; d < m->n_dims; d++) {
        if (!tessi_check_const_i32(c, ast->vars.at[d].lo, "the extent of a mask", &m->lo[d])
            || !tessi_check_const_i32(c, ast->vars.at[d].hi, "the extent of a mask", &m->hi[d]))
            return false;
        if (m->lo[d] > m->hi[d]) {
            CHECK_DIAG(c, DIAG_EMPTY_WINDOW, ast->vars.at[d].name.span, ast->vars.at[d].name.text,
                       (long long)m->lo[d], (long long)m->hi[d]);
            return false;
        }
        w->name[d] = ast->vars.at[d].name.text;
        w->lo[d] = m->lo[d];
        w->hi[d] = m->hi[d];
    }
    if (!count_elements(c, m))
        return false;
    TExpr *e = coefficient_expr(c, ast, w);
    if (tessi_tt_is_error(e->type))
        return false;
    WindowPoint p;
    tessi_window_first(&p, w, NULL);
    for (uint32_t i = 0; i < m->n; i++, (void)tessi_window_next(&p)) {
        Value v = { 0 };
        EvalStatus s = tessi_static_eval(e, &p, &c->budget, &v);
        if (s == EVAL_TOO_LONG) {
            tessi_check_limit(c, ast->value->span, "steps of computing constants",
                              CHECK_MAX_EVALUATION);
            return false;
        }
        if (s != EVAL_OK) {
            if (s == EVAL_ZERO_DIVISION)
                CHECK_DIAG(c, DIAG_CONST_ZERO_DIVISION, ast->value->span);
            else if (s == EVAL_OVERFLOW)
                CHECK_DIAG(c, DIAG_CONST_OVERFLOW, ast->value->span);
            else
                CHECK_DIAG(c, DIAG_CONST_NEEDED, ast->value->span, "the value of a mask");
            return false;
        }
        set_element(m, i, e->type, v);
    }
    return true;
}

/* Nobody means a mask without a weight: mostly a quotient of integers came out as zero. */
static void warn_of_zeros(Checker *c, const AstMask *ast, const TMask *m)
{
    for (uint32_t i = 0; i < m->n; i++)
        if (m->type.kind == TT_UNTYPED_INT ? m->at[i].i != 0 : m->at[i].f != 0)
            return;
    Diag *d = CHECK_DIAG(c, DIAG_MASK_ZERO, m->span, m->name);
    if (ast->value && m->type.kind == TT_UNTYPED_INT)
        tessi_diag_help(c->d, d,
                        "quotients of integers drop their fraction: write '1.0 / 3' for a third");
}

static bool finish_mask(Checker *c, const AstMask *ast, TMask *m)
{
    double sum = 0;
    if (ast->normalized)
        make_real(m);
    else
        warn_of_zeros(c, ast, m);
    if (m->type.kind == TT_UNTYPED_INT)
        return true;
    for (uint32_t i = 0; i < m->n; i++)
        sum += m->at[i].f;
    if (ast->normalized) {
        if (sum == 0 || !isfinite(sum)) {
            CHECK_DIAG(c, DIAG_MASK_SUM, m->span, m->name, sum == 0 ? "zero" : "not finite");
            return false;
        }
        for (uint32_t i = 0; i < m->n; i++)
            m->at[i].f /= sum;
    } else if (fabs(sum - 1) > 1e-7 && fabs(sum - 1) < 0.02) {
        Text t = tessi_text_new(c->a);
        tessi_text_add_real(&t, sum, true);
        Diag *d = CHECK_DIAG(c, DIAG_MASK_NEARLY_ONE, m->span, m->name, tessi_text_str(&t));
        tessi_diag_help(c->d, d, "write 'normalized' at the end to make the sum 1");
    }
    return true;
}

void tessi_check_mask_stmt(Checker *c, const AstStmt *s)
{
    bool computed = s->mask.value != NULL;
    uint32_t n_dims = computed ? s->mask.vars.n : s->mask.sizes.n;
    bool ok = n_dims >= 1 && n_dims <= MAX_DIMS;
    if (!ok)
        CHECK_DIAG(c, DIAG_LIMIT, s->span, "dimensions of a mask", (long long)MAX_DIMS);
    TMask *m = tessi_mask_new(c, s->name.text, s->name.span, ok ? n_dims : 1);
    Context saved = c->at;
    c->at.in_constant = true;
    ok = ok && (computed ? fill_computed(c, &s->mask, m) : fill_list(c, &s->mask, m))
         && finish_mask(c, &s->mask, m);
    c->at = saved;
    Sym *sym = tessi_scope_add(c, s->name, SYM_OPERAND);
    if (!sym)
        return;
    sym->operand =
        (Operand){ .kind = ok ? OPERAND_MASK : OPERAND_ERROR, .span = s->name.span, .mask = m };
    tessi_check_define(c, s->name, NULL, NULL, m);
}

/* ---- uses ------------------------------------------------------------------------------------ */
static const AstExpr *flipped(Checker *c, const AstExpr *e)
{
    bool flip = e->kind == AST_CALL && e->args.n == 1 && tessi_streq(e->name.text, "flip")
                && !tessi_check_function_named(c, e->name);
    return flip ? e->args.at[0].value : NULL;
}

bool tessi_check_is_mask_expr(Checker *c, const AstExpr *e)
{
    if (flipped(c, e))
        return true;
    const Sym *sym = e->kind == AST_NAME ? tessi_scope_find(c->at.scope, e->name.text) : NULL;
    return sym && sym->kind == SYM_OPERAND && sym->operand.kind == OPERAND_MASK;
}

static const TMask *flip_mask(Checker *c, const TMask *m)
{
    TMask *f = tessi_mask_new(c, m->name, m->span, m->n_dims);
    uint32_t number = f->number;
    *f = *m;
    f->number = number;
    f->name = tessi_sprintf(c->a, "flip(%s)", m->name);
    f->flipped = !m->flipped;
    for (int d = 0; d < m->n_dims; d++) {
        f->lo[d] = -m->hi[d];
        f->hi[d] = -m->lo[d];
    }
    if (!m->at)
        return f;
    f->flipped = false;
    f->at = ARENA_NEW_ARRAY(c->a, Value, m->n);
    for (uint32_t i = 0; i < m->n; i++)
        f->at[i] = m->at[m->n - 1 - i];
    return f;
}

const TMask *tessi_check_mask_expr(Checker *c, const AstExpr *e)
{
    const AstExpr *inner = flipped(c, e);
    if (inner) {
        if (!tessi_check_positional(c, "flip", &e->args.at[0]))
            return NULL;
        tessi_check_no_borders(c, &e->args.at[0].borders, "a mask");
        const TMask *m = tessi_check_mask_expr(c, inner);
        return m ? flip_mask(c, m) : NULL;
    }
    Sym *sym = e->kind == AST_NAME ? tessi_scope_find(c->at.scope, e->name.text) : NULL;
    if (!sym && e->kind == AST_NAME) {
        tessi_check_unknown_name(c, e->name);
        return NULL;
    }
    if (sym)
        sym->used = true;
    if (sym && sym->kind == SYM_OPERAND && sym->operand.kind == OPERAND_MASK)
        return sym->operand.mask;
    if (!sym || sym->kind != SYM_OPERAND || sym->operand.kind != OPERAND_ERROR) {
        Diag *d = CHECK_DIAG(c, DIAG_NOT_A_MASK, e->span,
                             sym ? tessi_sprintf(c->a, "'%s'", sym->name.text) : "this");
        if (sym)
            tessi_diag_note(c->d, d, sym->name.span, "'%s' is defined here", sym->name.text);
    }
    return NULL;
}

const TMask *tessi_check_mask_as(Checker *c, const TMask *m, TType element)
{
    if (tessi_tt_same(m->type, element) || element.kind != TT_SCALAR)
        return m;
    TMask *t = tessi_mask_new(c, m->name, m->span, m->n_dims);
    uint32_t number = t->number;
    *t = *m;
    t->number = number;
    t->type = element;
    if (!m->at) {
        t->given = m;
        return t;
    }
    t->at = ARENA_NEW_ARRAY(c->a, Value, m->n);
    ScalarType from = m->type.kind == TT_UNTYPED_INT    ? TYPE_I64
                      : m->type.kind == TT_UNTYPED_REAL ? TYPE_F64
                                                        : m->type.scalar;
    for (uint32_t i = 0; i < m->n; i++)
        t->at[i] = tessi_eval_cast(element.scalar, from, m->at[i]);
    return t;
}

TExpr *tessi_check_mask_element(Checker *c, const TMask *m, const AstExpr *e)
{
    if (e->arg.n - 1 != m->n_dims) {
        CHECK_DIAG(c, DIAG_DIMENSIONS, e->span, m->name, (long long)m->n_dims, "indices",
                   (long long)(e->arg.n - 1));
        return tessi_te_error(c, e->span);
    }
    TExpr *n = tessi_te_new(c, TE_MASK, m->type, e->span, m->n_dims);
    n->mask = m;
    n->is_static = m->at != NULL;
    bool constant = n->is_static;
    Interval r;
    for (uint32_t d = 0; d < m->n_dims; d++) {
        TExpr *i = tessi_check_expr(c, e->arg.at[d + 1]);
        if (tessi_tt_is_error(i->type))
            return i;
        if (!tessi_tt_is_integer(i->type)) {
            CHECK_DIAG(c, DIAG_NEEDS_INTEGER, i->span, "an index", tessi_tt_name(c, i->type));
            return tessi_te_error(c, e->span);
        }
        if (i->is_static && tessi_static_range(i, &r) && (r.lo < m->lo[d] || r.hi > m->hi[d])) {
            Diag *diag =
                CHECK_DIAG(c, DIAG_MASK_INDEX, i->span, m->name, (long long)m->lo[d],
                           (long long)m->hi[d], (long long)(r.lo < m->lo[d] ? r.lo : r.hi));
            tessi_diag_note(c->d, diag, m->span, "'%s' is defined here", m->name);
            return tessi_te_error(c, e->span);
        }
        n->arg[d] = i->is_static ? i : tessi_check_convert(c, i, tessi_tt_scalar(TYPE_I32));
        n->is_static &= i->is_static;
        constant &= i->kind == TE_CONST;
    }
    Value v;
    uint64_t budget = 100;
    if (constant && tessi_static_eval(n, NULL, &budget, &v) == EVAL_OK)
        return tessi_te_const(c, m->type, v, e->span);
    if (!n->is_static
        && tessi_tt_is_untyped(m->type)) { /* indexed by data: the table needs a type */
        Interval all = tessi_type_range(TYPE_I32);
        const bool fits = tessi_static_range(n, &r) && r.lo >= all.lo && r.hi <= all.hi;
        TType t = tessi_tt_scalar(m->type.kind != TT_UNTYPED_INT ? TYPE_F32
                                  : fits                         ? TYPE_I32
                                                                 : TYPE_I64);
        n->mask = tessi_check_mask_as(c, m, t);
        n->type = t;
    }
    return n;
}
