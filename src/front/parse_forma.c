/* The grammar of the original dialect: what its trees may hold. Both dialects are read by one parser, which makes
 * trees that the original would not have read; each is refused here. What depends on types is refused by the
 * checker. */
#include "front/parse.h"

typedef struct Forma {
    Diags *d;
    const Ast *ast;
    const AstFunction *f;  /* around the statement, or NULL: the program */
    const AstStmt *loop;   /* around the statement, or NULL */
    uint32_t n_statements; /* of a stencil that stand before */
} Forma;

static Diag *refuse(Forma *x, Span span, const char *what)
{
    return tessi_diag(x->d, DIAG_NOT_IN_FORMA, span, what);
}

static bool is_literal(const AstExpr *e)
{
    return (e->kind == AST_INT || e->kind == AST_REAL) && !e->in_parens;
}

static bool is_integer(const AstExpr *e)
{
    return is_literal(e) && e->kind == AST_INT;
}

static bool is_negative_literal(const AstExpr *e)
{
    return e->kind == AST_UNARY && e->op == AST_OP_NEG && !e->in_parens && is_literal(e->arg.at[0]);
}

static const char *text_of(const char *format, const Forma *x, const char *name)
{
    return tessi_sprintf(x->ast->arena, format, name ? name : "");
}

static bool is_struct(const Forma *x, Name type)
{
    VEC_FOREACH (AstStructDef *const, s, &x->ast->structs)
        if (type.text && (*s)->name.text == type.text)
            return true;
    return false;
}

/* The words of its border rules are keywords of the original. */
static void check_name(Forma *x, Name name)
{
    static const char *const words[] = { "constant", "clamped", "extend", "wrap", "mirror" };
    for (size_t i = 0; name.text && i < sizeof words / sizeof words[0]; i++)
        if (tessi_streq(name.text, words[i]))
            refuse(x, name.span, text_of("the name '%s', a word of border rules,", x, name.text));
}

/* ---- What both kinds of expressions hold ----------------------------------------------------- */
static void check_offsets(Forma *x, const AstOffsets *offsets)
{
    VEC_FOREACH (const AstOffset, o, offsets) {
        const AstExpr *by = o->displacement;
        const bool number =
            is_integer(by) || (is_negative_literal(by) && is_integer(by->arg.at[0]));
        if (!number)
            refuse(x, by->span, "an offset that is computed");
        else if (o->scale && !is_integer(o->scale))
            refuse(x, o->scale->span, "a scale that is computed");
    }
}

static bool is_loop_variable(const Forma *x, Name name)
{
    return x->loop && name.text && name.text == x->loop->name.text;
}

static void loop_variable_misused(Forma *x, const AstExpr *e)
{
    refuse(x, e->span, text_of("the loop variable '%s' outside of '<..>'", x, e->name.text));
}

/* Sizes and the ends of ranges. */
static void check_size(Forma *x, const AstExpr *e)
{
    if (e->in_parens) {
        refuse(x, e->span, "a size in parentheses");
    } else if (e->kind == AST_NAME) {
        if (is_loop_variable(x, e->name))
            loop_variable_misused(x, e);
    } else if (e->kind == AST_BINARY
               && (e->op == AST_OP_ADD || e->op == AST_OP_SUB || e->op == AST_OP_MUL)) {
        check_size(x, e->arg.at[0]);
        check_size(x, e->arg.at[1]);
    } else if (e->kind == AST_BINARY && e->op == AST_OP_DIV) {
        check_size(x, e->arg.at[0]);
        if (!is_integer(e->arg.at[1]))
            refuse(x, e->arg.at[1]->span, "a size divided by anything but a number");
    } else if (e->kind != AST_INT) {
        Diag *d = refuse(x, e->span, "a size of anything but numbers and parameters");
        tessi_diag_help(x->d, d, "they may be joined by + - * and /");
    }
}

static void check_ranges(Forma *x, const AstRanges *ranges)
{
    VEC_FOREACH (const AstRange, r, ranges) {
        if (r->lo)
            check_size(x, r->lo);
        if (r->hi && !r->single)
            check_size(x, r->hi);
    }
}

/* ---- Bodies of stencils ---------------------------------------------------------------------- */
static bool is_local(const Forma *x, Name name)
{
    for (uint32_t i = 0; i < x->n_statements; i++)
        if (x->f->body.at[i]->name.text == name.text)
            return true;
    return false;
}

static void check_point(Forma *x, const AstExpr *e);

/* image.field, image@[..].field */
static void check_field(Forma *x, const AstExpr *e)
{
    const AstExpr *base = e->arg.at[0];
    if (base->kind == AST_NAME && !base->in_parens) {
        if (is_local(x, base->name)) {
            Diag *d = refuse(x, e->span, "a field of a local");
            tessi_diag_help(x->d, d, "take the field of the image: b = A.%s", e->name.text);
        }
    } else if (base->kind == AST_OFFSET && !base->in_parens) {
        check_point(x, base);
    } else {
        refuse(x, e->span, "a field of anything but an image at a point");
    }
}

static void check_points(Forma *x, const AstExpr *e, uint32_t from)
{
    for (uint32_t i = from; i < e->arg.n; i++)
        check_point(x, e->arg.at[i]);
}

static void check_point(Forma *x, const AstExpr *e)
{
    const bool named = e->arg.n && e->arg.at[0]->kind == AST_NAME && !e->arg.at[0]->in_parens;
    switch (e->kind) {
    case AST_MEMBER: check_field(x, e); return;
    case AST_OFFSET:
        if (!named)
            refuse(x, e->span, "an offset of anything but the name of an image");
        check_offsets(x, &e->offsets);
        return;
    case AST_INDEX:
        if (!named)
            refuse(x, e->span, "an index of anything but the name of an image");
        check_points(x, e, 1);
        return;
    case AST_CALL:
        VEC_FOREACH (const AstArg, a, &e->args)
            check_point(x, a->value);
        return;
    case AST_STRUCT: refuse(x, e->span, "a struct within an expression"); return;
    case AST_TERNARY:
        if (!e->in_parens) {
            Diag *d = refuse(x, e->span, "a choice without parentheses");
            tessi_diag_help(x->d, d, "write (condition ? a : b)");
        }
        break;
    case AST_BINARY:
        if (e->op == AST_OP_POW)
            refuse(x, e->span, "the operator '^'");
        break;
    default: break;
    }
    check_points(x, e, 0);
}

static void check_stencil_result(Forma *x, const AstExpr *e)
{
    if (e->kind == AST_STRUCT && !e->in_parens)
        check_points(x, e, 0);
    else
        check_point(x, e);
}

/* ---- Expressions on images ------------------------------------------------------------------- */
static void check_image(Forma *x, const AstExpr *e);

/* X<3>, X<i>, X<i-1> where i counts up, X<i+1> where it counts down. */
static void check_member(Forma *x, const AstExpr *k)
{
    const bool moved = k->kind == AST_BINARY;
    const AstExpr *base = moved ? k->arg.at[0] : k;
    if (!moved && is_integer(k))
        return;
    if (base->kind != AST_NAME || !is_loop_variable(x, base->name)
        || (moved && !is_integer(k->arg.at[1]))) {
        Diag *d = refuse(x, k->span, "a member whose number is computed");
        tessi_diag_help(x->d, d, "write a number, or the variable of the loop: X<3>, X<i>, X<i-1>");
        return;
    }
    const AstExpr *lo = x->loop->lo, *hi = x->loop->hi;
    const bool down = is_integer(lo) && is_integer(hi) && lo->integer > hi->integer;
    if (moved && (k->op == AST_OP_ADD) != down)
        refuse(x, k->span,
               down ? "a member after this one in a loop that counts down"
                    : "a member after this one in a loop that counts up");
}

static void check_rule(Forma *x, const AstBorder *b)
{
    static const char *const words[] = { "constant", "clamped", "extend", "wrap", "mirror" };
    bool known = false;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        known = known || tessi_streq(b->name.text, words[i]);
    Border rule;
    if (!known && tessi_border_by_name(b->name.text, &rule)) {
        Diag *d = refuse(x, b->name.span, text_of("the border rule '%s'", x, b->name.text));
        tessi_diag_help(x->d, d, "its rules are clamped, extend, wrap, mirror and constant(n)");
    } else if (tessi_streq(b->name.text, "constant") && (!b->value || !is_integer(b->value))) {
        Diag *d = refuse(x, b->span, "a border constant that is no whole number of at least 0");
        tessi_diag_help(x->d, d, "write constant(n), n of digits only");
    }
}

static void check_call(Forma *x, const AstExpr *e)
{
    VEC_FOREACH (const AstArg, a, &e->args) {
        if (is_negative_literal(a->value)) {
            Diag *d = refuse(x, a->value->span, "a negative number as an argument");
            tessi_diag_help(x->d, d, "write the sign in the function");
        } else if (!is_literal(a->value)) {
            check_image(x, a->value);
        }
        VEC_FOREACH (const AstBorder, b, &a->borders)
            check_rule(x, b);
    }
}

/* Where an image is put: its size gives the upper ends. */
static void check_place(Forma *x, const AstRanges *ranges, const AstOffsets *offsets)
{
    check_offsets(x, offsets);
    check_ranges(x, ranges);
    VEC_FOREACH (const AstRange, r, ranges) {
        if (!r->single)
            continue;
        Diag *d = tessi_diag(x->d, DIAG_PLACE_UPPER, r->span);
        tessi_diag_help(x->d, d, "one index is both ends of a range; write its lower end, '%s'",
                        "1..");
    }
}

static void check_part(Forma *x, const AstPart *part)
{
    if (part->ranges.n && is_literal(part->value)) {
        check_ranges(x, &part->ranges);
        return;
    }
    check_place(x, &part->ranges, &part->offsets);
    if (is_negative_literal(part->value))
        refuse(x, part->value->span, "a part filled with a negative number");
    else
        check_image(x, part->value);
}

/* A name, and what may follow an image. */
static bool check_image_form(Forma *x, const AstExpr *e)
{
    switch (e->kind) {
    case AST_NAME:
        if (is_loop_variable(x, e->name))
            loop_variable_misused(x, e);
        VEC_FOREACH (AstDecl *const, decl, &x->ast->decls)
            if (!x->f && (*decl)->kind == AST_DECL_PARAMETER && (*decl)->name.text == e->name.text)
                refuse(x, e->span, text_of("the parameter '%s' as a value", x, e->name.text));
        return true;
    case AST_FAMILY: check_member(x, e->arg.at[0]); return true;
    case AST_CALL: check_call(x, e); return true;
    case AST_STRUCT:
        VEC_FOREACH (AstExpr *const, a, &e->arg)
            check_image(x, *a);
        return true;
    case AST_COMPOSE:
        VEC_FOREACH (const AstPart, part, &e->parts)
            check_part(x, part);
        return true;
    case AST_INDEX:
        for (uint32_t i = 1; i < e->arg.n; i++)
            check_size(x, e->arg.at[i]);
        break;
    case AST_SUBDOMAIN: check_ranges(x, &e->ranges); break;
    case AST_OFFSET: check_offsets(x, &e->offsets); break;
    case AST_MEMBER: break;
    default: return false;
    }
    check_image(x, e->arg.at[0]);
    return true;
}

static void check_image(Forma *x, const AstExpr *e)
{
    if (is_literal(e)) {
        refuse(x, e->span, "a number in the place of an image");
    } else if (e->in_parens && e->kind != AST_COMPOSE) {
        refuse(x, e->span, "an image in parentheses");
    } else if (!check_image_form(x, e)) {
        Diag *d = refuse(x, e->span, "an expression on whole images");
        tessi_diag_help(x->d, d, "write a stencil for it, and apply that");
    }
}

/* ---- Statements ------------------------------------------------------------------------------ */
static void check_statements(Forma *x, const AstStmts *body);

static void check_loop(Forma *x, const AstStmt *s)
{
    const AstStmt *outer = x->loop;
    if (outer)
        refuse(x, s->span, "a loop within a loop");
    if (!is_integer(s->lo) || !is_integer(s->hi))
        refuse(x, tessi_span_join(s->lo->span, s->hi->span), "a bound of a loop that is computed");
    check_name(x, s->name);
    x->loop = s;
    check_statements(x, &s->body);
    x->loop = outer;
}

static void check_assignment(Forma *x, const AstStmt *s)
{
    check_name(x, s->name);
    if (s->family && s->family->kind == AST_BINARY)
        refuse(x, s->family->span, "a computed number of the member that is defined");
    else if (s->family)
        check_member(x, s->family);
    check_place(x, &s->ranges, &s->offsets);
    check_image(x, s->value);
}

static void check_statements(Forma *x, const AstStmts *body)
{
    VEC_FOREACH (AstStmt *const, s, body) {
        if ((*s)->kind == AST_FOR)
            check_loop(x, *s);
        else if ((*s)->kind == AST_ASSIGN)
            check_assignment(x, *s);
    }
}

/* ---- Definitions and declarations ------------------------------------------------------------ */
static void check_function(Forma *x, const AstFunction *f)
{
    x->f = f;
    check_name(x, f->name);
    VEC_FOREACH (const AstFunctionArg, arg, &f->args) {
        check_name(x, arg->name);
        if (tessi_streq(arg->type.name.text, "any"))
            refuse(x, arg->type.name.span, "the type 'any'");
        else if (!arg->type.is_image && is_struct(x, arg->type.name))
            refuse(x, arg->type.name.span, "a scalar of a struct type");
    }
    for (uint32_t i = 0; f->is_stencil && i < f->body.n; i++) {
        const AstStmt *s = f->body.at[i];
        x->n_statements = i;
        check_name(x, s->name);
        if (s->kind == AST_ASSIGN)
            check_point(x, s->value);
    }
    x->n_statements = f->is_stencil ? f->body.n : 0;
    if (!f->is_stencil)
        check_statements(x, &f->body);
    VEC_FOREACH (AstExpr *const, r, &f->result) {
        if (f->is_stencil)
            check_stencil_result(x, *r);
        else
            check_image(x, *r);
    }
    x->n_statements = 0;
    x->f = NULL;
}

static void check_declaration(Forma *x, const AstDecl *decl)
{
    check_name(x, decl->name);
    if (decl->kind == AST_DECL_PARAMETER && decl->init && !is_integer(decl->init))
        refuse(x, decl->init->span, "a default that is computed");
    if (decl->kind == AST_DECL_SCALAR && is_struct(x, decl->type.name))
        refuse(x, decl->type.name.span, "a scalar of a struct type");
    VEC_FOREACH (AstExpr *const, size, &decl->sizes)
        check_size(x, *size);
}

void tessi_parse_forma(Diags *d, const Ast *ast)
{
    Forma x = { .d = d, .ast = ast };
    VEC_FOREACH (AstStructDef *const, s, &ast->structs) {
        check_name(&x, (*s)->name);
        VEC_FOREACH (const AstField, field, &(*s)->fields)
            check_name(&x, field->name);
    }
    VEC_FOREACH (AstFunction *const, f, &ast->functions)
        check_function(&x, *f);
    VEC_FOREACH (AstDecl *const, decl, &ast->decls)
        check_declaration(&x, *decl);
    check_statements(&x, &ast->body);
    VEC_FOREACH (AstExpr *const, r, &ast->result)
        check_image(&x, *r);
}
