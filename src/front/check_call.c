/* front/check_call: the functions of expressions: the table builtins.def, and those with a shape of their own. */
#include "front/check.h"

#include <string.h>

typedef struct Builtin {
    const char *name;
    uint8_t n_args;
    OpRule rule;
    Op op;
} Builtin;
static const Builtin BUILTINS[] = {
#define BUILTIN(name, n_args, rule, op) { #name, n_args, RULE_##rule, OP_##op },
#include "front/builtins.def"
#undef BUILTIN
};
enum { N_BUILTINS = sizeof BUILTINS / sizeof BUILTINS[0] };

typedef enum Special {
    SPECIAL_CLAMP,
    SPECIAL_MIX,
    SPECIAL_SELECT,
    SPECIAL_INDEX,
    SPECIAL_SIZE,
    SPECIAL_CONVOLVE,
    SPECIAL_VALID,
    SPECIAL_ADD_SAT, /* from here on in the order of NarrowOp */
    SPECIAL_SUB_SAT,
    SPECIAL_AVG,
    SPECIAL_ABSD,
    N_SPECIALS
} Special;
static const struct {
    const char *name;
    uint8_t n_args;
} SPECIALS[N_SPECIALS] = { { "clamp", 3 },   { "mix", 3 },      { "select", 3 }, { "index", 1 },
                           { "size", 2 },    { "convolve", 2 }, { "valid", 1 },  { "add_sat", 2 },
                           { "sub_sat", 2 }, { "avg", 2 },      { "absd", 2 } };

static const Builtin *find_exact(const char *name, size_t n)
{
    for (int i = 0; i < N_BUILTINS; i++) {
        if (strlen(BUILTINS[i].name) == n && memcmp(BUILTINS[i].name, name, n) == 0)
            return &BUILTINS[i];
    }
    return NULL;
}

/* Also C's names: sqrtf; fabs, fmin, fmax, fabsf. */
static const Builtin *find_builtin(const char *name)
{
    size_t n = strlen(name);
    const Builtin *b = find_exact(name, n);
    if (!b && n > 1 && name[n - 1] == 'f')
        b = find_exact(name, n - 1);
    if (!b
        && (strncmp(name, "fabs", 4) == 0 || strncmp(name, "fmin", 4) == 0
            || strncmp(name, "fmax", 4) == 0))
        return n == 4                     ? find_exact(name + 1, 3)
               : n == 5 && name[4] == 'f' ? find_exact(name + 1, 3)
                                          : NULL;
    return b;
}

static int find_special(const char *name)
{
    for (int i = 0; i < N_SPECIALS; i++) {
        if (tessi_streq(SPECIALS[i].name, name))
            return i;
    }
    return -1;
}

bool tessi_is_builtin(const char *name)
{
    return name && (find_builtin(name) || find_special(name) >= 0);
}

const char *tessi_nearest_builtin(Checker *c, const char *name)
{
    const char *words[N_BUILTINS + N_SPECIALS];
    (void)c;
    for (int i = 0; i < N_BUILTINS; i++)
        words[i] = BUILTINS[i].name;
    for (int i = 0; i < N_SPECIALS; i++)
        words[N_BUILTINS + i] = SPECIALS[i].name;
    return tessi_nearest_word(name, words, N_BUILTINS + N_SPECIALS);
}

static bool right_count(Checker *c, const AstExpr *e, uint32_t expected)
{
    if (e->args.n == expected)
        return true;
    Diag *d = CHECK_DIAG(c, DIAG_ARG_COUNT, e->span, e->name.text, (long long)expected,
                         (long long)e->args.n);
    const bool max = tessi_streq(e->name.text, "max");
    if (e->args.n == 1 && !c->forma && (max || tessi_streq(e->name.text, "min")))
        tessi_diag_help(c->d, d, "of an image it is %s(a), over a window %s(i = -1..1 : X@[0, i])",
                        max ? "maximum" : "minimum", e->name.text);
    return false;
}

bool tessi_check_positional(Checker *c, const char *function, const AstArg *a)
{
    if (!a->keyword.text)
        return true;
    CHECK_DIAG(c, DIAG_NAMED_ARGUMENT, a->keyword.span, function, a->keyword.text);
    return false;
}

/* Border rules belong to calls of stencils and to convolve, keywords to convolve. */
static bool plain_arguments(Checker *c, const AstExpr *e)
{
    VEC_FOREACH (const AstArg, a, &e->args) {
        if (!tessi_check_positional(c, e->name.text, a))
            return false;
        if (tessi_borders_are_written(&a->borders)) {
            CHECK_DIAG(c, DIAG_BORDER_MISPLACED, tessi_borders_span(&a->borders),
                       "the function of a single point");
            return false;
        }
    }
    return true;
}

static bool dimension_number(Checker *c, const AstExpr *e, int64_t n_dims, uint32_t *dim)
{
    int64_t d;
    if (!tessi_check_const_int(c, e, "the number of a dimension", &d))
        return false;
    if (d < 0 || d >= n_dims) {
        CHECK_DIAG(c, DIAG_NO_DIMENSION, e->span, (long long)d, (long long)(n_dims - 1));
        return false;
    }
    *dim = (uint32_t)d;
    return true;
}

static TExpr *check_index_call(Checker *c, const AstExpr *e)
{
    uint32_t dim;
    if (!c->at.inst || !dimension_number(c, e->args.at[0].value, MAX_DIMS, &dim))
        return tessi_te_error(c, e->span);
    TExpr *n = tessi_te_new(c, TE_INDEX, tessi_tt_scalar(TYPE_I32), e->span, 0);
    n->slot = dim;
    TInstance *inst = c->at.inst;
    if (!inst->uses_index || dim > inst->max_index) {
        inst->max_index = dim;
        inst->index_span = e->args.at[0].value->span;
    }
    inst->uses_index = true;
    return n;
}

static TExpr *check_size_call(Checker *c, const AstExpr *e)
{
    const AstExpr *x = e->args.at[0].value;
    uint32_t dim;
    if (tessi_check_is_mask_expr(c, x)) {
        const TMask *m = tessi_check_mask_expr(c, x);
        if (!m || !dimension_number(c, e->args.at[1].value, m->n_dims, &dim))
            return tessi_te_error(c, e->span);
        return tessi_te_int(c, (int64_t)m->hi[dim] - m->lo[dim] + 1, e->span);
    }
    TExpr *n = tessi_te_new(c, TE_SIZE, tessi_tt_scalar(TYPE_I32), e->span, 0);
    Sym *sym = x->kind == AST_NAME ? tessi_scope_find(c->at.scope, x->name.text) : NULL;
    int64_t n_dims;
    if (sym && sym->kind == SYM_ARG && c->at.inst->args.at[sym->slot].kind == TARG_IMAGE) {
        sym->used = true;
        n->slot = sym->slot;
        n_dims = c->at.inst->args.at[sym->slot].n_dims;
    } else {
        bool stencil = c->at.inst && !c->at.operands;
        Operand o = stencil ? tessi_operand_error(x->span) : tessi_check_vector(c, x);
        if (stencil && x->kind == AST_NAME && !sym)
            tessi_check_unknown_name(c, x->name);
        else if (o.kind != OPERAND_IMAGE && (stencil || o.kind != OPERAND_ERROR))
            CHECK_DIAG(c, DIAG_NOT_AN_IMAGE, x->span, "this", "asked for its size");
        if (o.kind != OPERAND_IMAGE)
            return tessi_te_error(c, e->span);
        n->image = o.image;
        n_dims = o.image->n_dims;
    }
    if (!dimension_number(c, e->args.at[1].value, n_dims, &dim))
        return tessi_te_error(c, e->span);
    n->dim = (uint8_t)dim;
    return n;
}

/* ---- convolve ---------------------------------------------------------------------------------------------------- */
/* The image of convolve(X, m): an argument of the stencil, perhaps a field of it. */
static bool convolved_argument(Checker *c, const AstExpr *x, uint32_t *slot, int32_t *field)
{
    const AstExpr *base = x;
    while (base->kind == AST_MEMBER)
        base = base->arg.at[0];
    Sym *sym = base->kind == AST_NAME ? tessi_scope_find(c->at.scope, base->name.text) : NULL;
    *field = -1;
    if (!sym && base->kind == AST_NAME) {
        tessi_check_unknown_name(c, base->name);
        return false;
    }
    if (sym)
        sym->used = true;
    if (!sym || sym->kind != SYM_ARG || c->at.inst->args.at[sym->slot].kind != TARG_IMAGE) {
        if (!sym || sym->kind != SYM_OPERAND || sym->operand.kind != OPERAND_ERROR) {
            Diag *d = CHECK_DIAG(c, DIAG_NOT_AN_IMAGE, x->span, "this", "convolved");
            tessi_diag_help(c->d, d, "make it a stage of its own, and convolve that");
        }
        return false;
    }
    *slot = sym->slot;
    if (x->kind == AST_MEMBER) {
        uint32_t k;
        if (!tessi_check_field_number(c, c->at.inst->args.at[*slot].type, x->name, &k))
            return false;
        *field = (int32_t)k;
    }
    return true;
}

static bool convolved_image(Checker *c, const AstArg *arg, uint32_t *slot, int32_t *field)
{
    *field = -1;
    if (!c->at.operands) {
        if (tessi_borders_are_written(&arg->borders)) {
            CHECK_DIAG(c, DIAG_BORDER_MISPLACED, tessi_borders_span(&arg->borders),
                       "the body of a stencil");
            return false;
        }
        return convolved_argument(c, arg->value, slot, field);
    }
    Operand o = tessi_check_vector(c, arg->value);
    TBorder border = { 0 };
    if (o.kind == OPERAND_ERROR)
        return false;
    if (o.kind != OPERAND_IMAGE || o.image->n_dims == 0) {
        CHECK_DIAG(c, DIAG_NOT_AN_IMAGE, arg->value->span, "this", "convolved");
        return false;
    }
    if (!tessi_check_borders(c, &arg->borders, o.image->n_dims, arg->value->span, &border)
        || !tessi_check_border_value(c, &border, o.image->type))
        return false;
    *slot = tessi_check_image_slot(c, o, arg->value->span, NULL, &border);
    return true;
}

enum { MOST_DILATION = 1 << 14 };

static bool dilation_of(Checker *c, const AstArg *a, int32_t *dilation)
{
    int64_t d;
    if (!tessi_check_const_int(c, a->value, "the dilation", &d))
        return false;
    if (d < 1 || d > MOST_DILATION) {
        CHECK_DIAG(c, DIAG_BAD_SCALE, a->value->span, (long long)MOST_DILATION, (long long)d);
        return false;
    }
    *dilation = (int32_t)d;
    return true;
}

static bool method_of(Checker *c, const AstArg *a, MethodRequest *request)
{
    static const char *const names[] = { "auto", "direct", "separable", "fft" };
    const char *name = a->value->kind == AST_NAME ? a->value->name.text : "";
    if (tessi_method_by_name(name, &request->method)) {
        request->span = a->value->span;
        return true;
    }
    Diag *d = CHECK_DIAG(c, DIAG_UNKNOWN_METHOD, a->value->span,
                         *name ? tessi_sprintf(c->a, "'%s'", name) : "this");
    const char *near = tessi_nearest_word(name, names, sizeof names / sizeof *names);
    if (near)
        tessi_diag_help(c->d, d, "did you mean '%s'?", near);
    else
        tessi_diag_help(c->d, d, "the methods are auto, direct, separable and fft");
    return false;
}

/* What follows image and mask. */
static bool keywords(Checker *c, const AstExpr *e, int32_t *dilation, MethodRequest *method)
{
    *dilation = 1;
    for (uint32_t i = 2; i < e->args.n; i++) {
        const AstArg *a = &e->args.at[i];
        if (!a->keyword.text) {
            CHECK_DIAG(c, DIAG_ARG_COUNT, e->span, e->name.text, 2LL, (long long)e->args.n);
            return false;
        }
        for (uint32_t k = 2; k < i; k++) {
            if (!tessi_streq(e->args.at[k].keyword.text, a->keyword.text))
                continue;
            CHECK_DIAG(c, DIAG_KEYWORD_TWICE, a->keyword.span, e->name.text, a->keyword.text);
            return false;
        }
        if (tessi_streq(a->keyword.text, "dilation")) {
            if (!dilation_of(c, a, dilation))
                return false;
        } else if (tessi_streq(a->keyword.text, "method")) {
            if (!method_of(c, a, method))
                return false;
        } else {
            Diag *d =
                CHECK_DIAG(c, DIAG_UNKNOWN_KEYWORD, a->keyword.span, e->name.text, a->keyword.text);
            tessi_diag_help(c->d, d,
                            "it takes 'dilation = d', the distance between the taps, and 'method "
                            "= direct', 'separable' or 'fft'");
            return false;
        }
    }
    return true;
}

static TExpr *convolve(Checker *c, const AstExpr *e)
{
    uint32_t slot = 0;
    int32_t field, dilation;
    for (uint32_t i = 0; i < 2 && i < e->args.n; i++)
        if (!tessi_check_positional(c, e->name.text, &e->args.at[i]))
            return tessi_te_error(c, e->span);
    if (e->args.n < 2) {
        CHECK_DIAG(c, DIAG_ARG_COUNT, e->span, e->name.text, 2LL, (long long)e->args.n);
        return tessi_te_error(c, e->span);
    }
    if (!c->at.inst) {
        CHECK_DIAG(c, DIAG_CONST_NEEDED, e->span, "this value");
        return tessi_te_error(c, e->span);
    }
    if (c->at.window && c->at.window->level + 1 >= MAX_WINDOW_LEVELS) {
        tessi_check_limit(c, e->span, "windows inside windows", MAX_WINDOW_LEVELS);
        return tessi_te_error(c, e->span);
    }
    const TMask *m = tessi_check_mask_expr(c, e->args.at[1].value);
    tessi_check_no_borders(c, &e->args.at[1].borders, "a mask");
    bool ok = convolved_image(c, &e->args.at[0], &slot, &field);
    MethodRequest method = { .method = METHOD_AUTO };
    if (!keywords(c, e, &dilation, &method) || !ok || !m)
        return tessi_te_error(c, e->span);
    const TArg arg = c->at.inst->args.at[slot];
    if (arg.n_dims != m->n_dims) {
        Diag *d = CHECK_DIAG(c, DIAG_MASK_DIMENSIONS, e->args.at[1].value->span, m->name,
                             (long long)m->n_dims, (long long)arg.n_dims);
        tessi_diag_note(c->d, d, m->span, "'%s' is defined here", m->name);
        return tessi_te_error(c, e->span);
    }
    TExpr *read = tessi_check_read_slot(c, slot, e->span, NULL);
    if (tessi_tt_is_error(read->type))
        return read;
    /* The type of coefficient * pixel, found by multiplying one. */
    TExpr *pixel = tessi_te_new(
        c, TE_READ, field < 0 ? arg.type : tessi_tt_field(arg.type, (uint32_t)field), e->span, 0);
    TExpr *coefficient = tessi_te_new(c, TE_MASK, m->type, e->span, 0);
    coefficient->is_static = true;
    coefficient->mask = m;
    TExpr *product = tessi_check_binary(c, e->span, AST_OP_MUL, coefficient, pixel);
    TExpr *n = tessi_te_new(c, TE_CONVOLVE, product->type, e->span, 0);
    n->slot = slot;
    n->read = read->read;
    n->field = field;
    n->mask = m;
    n->dilation = dilation;
    n->method = method;
    c->at.inst->reads.at[c->at.inst->reads.n - 1] = n;
    return n;
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */
static TExpr *special(Checker *c, const AstExpr *e, Special which)
{
    if (which == SPECIAL_CONVOLVE)
        return convolve(c, e);
    if (!plain_arguments(c, e) || !right_count(c, e, SPECIALS[which].n_args))
        return tessi_te_error(c, e->span);
    if (which == SPECIAL_INDEX)
        return check_index_call(c, e);
    if (which == SPECIAL_SIZE)
        return check_size_call(c, e);
    TExpr *a[3];
    for (uint32_t i = 0; i < e->args.n; i++)
        a[i] = tessi_check_expr(c, e->args.at[i].value);
    if (which == SPECIAL_VALID)
        return tessi_tt_is_error(a[0]->type) ? a[0] : tessi_check_valid_of(c, a[0], e->span);
    if (which >= SPECIAL_ADD_SAT)
        return tessi_check_narrow(c, e->span, e->name.text, (NarrowOp)(which - SPECIAL_ADD_SAT),
                                  a[0], a[1]);
    if (which == SPECIAL_SELECT)
        return tessi_check_select(c, e->span, a[0], a[1], a[2]);
    if (which == SPECIAL_CLAMP) {
        tessi_check_unify(c, e->span, RULE_KEEP, a, 3);
        TExpr *low = tessi_check_apply(c, e->span, RULE_KEEP, OP_MAX, a, 2);
        return tessi_check_apply(c, e->span, RULE_KEEP, OP_MIN, (TExpr *[]){ low, a[2] }, 2);
    }
    tessi_check_unify(c, e->span, RULE_REAL, a, 3);
    TExpr *range = tessi_check_binary(c, e->span, AST_OP_SUB, a[1], a[0]);
    TExpr *part = tessi_check_binary(c, e->span, AST_OP_MUL, range, a[2]);
    return tessi_check_binary(c, e->span, AST_OP_ADD, a[0], part);
}

TExpr *tessi_check_no_such_function(Checker *c, const AstExpr *e)
{
    CHECK_DIAG(c, DIAG_NOT_IN_FORMA, e->name.span,
               tessi_sprintf(c->a, "the function '%s'", e->name.text));
    return tessi_te_error(c, e->span);
}

TExpr *tessi_check_builtin(Checker *c, const AstExpr *e)
{
    TExpr *args[2];
    const char *name = e->name.text;
    if (!name)
        return tessi_te_error(c, e->span);
    int which = find_special(name);
    if (which >= 0 && c->forma)
        return tessi_check_no_such_function(c, e);
    if (which >= 0)
        return special(c, e, (Special)which);
    const Builtin *b = find_builtin(name);
    if (!b) {
        tessi_check_unknown_function(c, e->name);
        return tessi_te_error(c, e->span);
    }
    bool any_number = !c->forma && (b->op == OP_MIN || b->op == OP_MAX);
    if (!plain_arguments(c, e) || (!(any_number && e->args.n > 2) && !right_count(c, e, b->n_args)))
        return tessi_te_error(c, e->span);
    for (uint32_t i = 0; i < b->n_args; i++)
        args[i] = tessi_check_expr(c, e->args.at[i].value);
    TExpr *r = tessi_check_apply(c, e->span, b->rule, b->op, args, b->n_args);
    for (uint32_t i = b->n_args; i < e->args.n; i++) {
        TExpr *pair[2] = { r, tessi_check_expr(c, e->args.at[i].value) };
        r = tessi_check_apply(c, e->span, b->rule, b->op, pair, 2);
    }
    return r;
}
