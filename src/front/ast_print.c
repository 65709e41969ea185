/* The tree as text, for --dump=ast: one line a node, two blanks a level, line:col (file:line:col in used files) first.
 * Expressions stand on one line, fully parenthesised, so that the text shows how they were read. */
#include "front/ast.h"

typedef struct Printer {
    const Ast *ast;
    Text *out;
    int level;
    /* where the last line:col was counted to: nodes come nearly in order, so counting goes on from there */
    uint16_t file;
    uint32_t offset, line_start;
    int line;
} Printer;

static void print_expr(Printer *p, const AstExpr *e);

static void add(Printer *p, const char *s)
{
    tessi_text_add(p->out, s);
}

static void begin_line(Printer *p, Span span)
{
    const SourceFile *source = &p->ast->sources->files.at[span.file];
    if (span.file != p->file || span.begin < p->offset) {
        p->file = span.file;
        p->offset = p->line_start = 0;
        p->line = 1;
    }
    for (; p->offset < span.begin; p->offset++) {
        if (source->text[p->offset] == '\n') {
            p->line++;
            p->line_start = p->offset + 1;
        }
    }
    if (span.file != p->ast->file)
        tessi_text_addf(p->out, "%s:", source->name);
    tessi_text_addf(p->out, "%d:%u", p->line, span.begin - p->line_start + 1);
    for (int i = 0; i <= p->level; i++)
        add(p, "  ");
}

static void print_list(Printer *p, const AstExprs *list)
{
    for (uint32_t i = 0; i < list->n; i++) {
        add(p, i ? ", " : "");
        print_expr(p, list->at[i]);
    }
}

static void print_type(Printer *p, const AstType *t)
{
    if (t->is_const)
        add(p, "const ");
    if (t->is_image || t->is_mask)
        tessi_text_addf(p->out, "%s#%d ", t->is_mask ? "mask" : "vector", t->n_dims);
    add(p, t->is_of ? "typeof(" : "");
    add(p, t->name.text);
    add(p, t->is_of ? ")" : "");
}

static void print_offsets(Printer *p, const AstOffsets *offsets)
{
    add(p, "@[");
    for (uint32_t i = 0; i < offsets->n; i++) {
        const AstOffset *o = &offsets->at[i];
        add(p, i ? ", " : "");
        add(p, o->scale ? "(" : "");
        print_expr(p, o->displacement);
        if (o->scale) {
            add(p, ", ");
            print_expr(p, o->scale);
            add(p, ")");
        }
    }
    add(p, "]");
}

static void print_ranges(Printer *p, const AstRanges *ranges)
{
    add(p, "[");
    for (uint32_t i = 0; i < ranges->n; i++) {
        const AstRange *r = &ranges->at[i];
        add(p, i ? ", " : "");
        if (r->drops)
            add(p, "=");
        if (r->lo)
            print_expr(p, r->lo);
        if (r->single)
            continue;
        add(p, "..");
        if (r->hi)
            print_expr(p, r->hi);
    }
    add(p, "]");
}

static void print_border(Printer *p, const AstBorder *b)
{
    add(p, b->name.text);
    if (b->value) {
        add(p, "(");
        print_expr(p, b->value);
        add(p, ")");
    }
}

static void print_borders(Printer *p, const AstBorders *borders)
{
    add(p, borders->n > 1 ? "[" : "");
    for (uint32_t i = 0; i < borders->n; i++) {
        add(p, i ? ", " : "");
        print_border(p, &borders->at[i]);
    }
    add(p, borders->n > 1 ? "]" : "");
    if (borders->missing.name.text) {
        add(p, borders->n ? ":" : "");
        print_border(p, &borders->missing);
    }
}

/* , a, b : a + b, 0 */
static void print_combination(Printer *p, const AstWindowMore *m)
{
    if (!m || !m->combine)
        return;
    tessi_text_addf(p->out, ", %s, %s : ", m->a.text, m->b.text);
    print_expr(p, m->combine);
    add(p, ", ");
    print_expr(p, m->start);
}

static void print_call(Printer *p, const AstExpr *e)
{
    add(p, e->name.text);
    add(p, "(");
    for (uint32_t i = 0; i < e->args.n; i++) {
        const AstArg *a = &e->args.at[i];
        add(p, i ? ", " : "");
        if (a->keyword.text)
            tessi_text_addf(p->out, "%s = ", a->keyword.text);
        print_expr(p, a->value);
        if (a->borders.n || a->borders.missing.name.text) {
            add(p, ":");
            print_borders(p, &a->borders);
        }
    }
    print_combination(p, e->more);
    add(p, ")");
}

static void print_window_vars(Printer *p, const AstWindowVars *vars)
{
    for (uint32_t i = 0; i < vars->n; i++) {
        const AstWindowVar *v = &vars->at[i];
        add(p, i ? ", " : "");
        add(p, v->name.text);
        if (v->lo) {
            add(p, " = ");
            print_expr(p, v->lo);
            add(p, "..");
            print_expr(p, v->hi);
        } else if (v->mask && (i + 1 == vars->n || vars->at[i + 1].mask != v->mask)) {
            add(p, " in ");
            print_expr(p, v->mask);
        }
    }
}

static void print_window(Printer *p, const AstExpr *e)
{
    add(p, e->name.text);
    add(p, "(");
    if (e->more && e->more->order) {
        print_expr(p, e->more->order);
        add(p, ", ");
    }
    print_window_vars(p, &e->vars);
    if (e->arg.n > 1) {
        add(p, " where ");
        print_expr(p, e->arg.at[1]);
    }
    add(p, " : ");
    print_expr(p, e->arg.at[0]);
    print_combination(p, e->more);
    add(p, ")");
}

static void print_composition(Printer *p, const AstExpr *e)
{
    add(p, "(");
    VEC_FOREACH (AstPart, part, &e->parts) {
        add(p, " ");
        if (part->offsets.n)
            print_offsets(p, &part->offsets);
        else
            print_ranges(p, &part->ranges);
        add(p, " = ");
        print_expr(p, part->value);
        add(p, ";");
    }
    add(p, " )");
}

static void print_real(Printer *p, const AstExpr *e)
{
    tessi_text_add_real(p->out, e->real, e->suffix == 'f');
    char suffix[2] = { e->suffix, '\0' };
    add(p, suffix);
}

/* What prints as <name><open><first arguments><close>. */
static void print_wrapped(Printer *p, const char *before, const AstType *type, const char *open,
                          const AstExpr *e)
{
    add(p, before);
    print_type(p, type);
    add(p, open);
    print_list(p, &e->arg);
    add(p, ")");
}

static void print_operation(Printer *p, const AstExpr *e)
{
    const char *op = tessi_ast_operator_text(e->op);
    add(p, "(");
    if (e->kind == AST_UNARY) {
        add(p, op);
        print_expr(p, e->arg.at[0]);
    } else if (e->kind == AST_TERNARY) {
        print_expr(p, e->arg.at[0]);
        add(p, " ? ");
        print_expr(p, e->arg.at[1]);
        add(p, " : ");
        print_expr(p, e->arg.at[2]);
    } else {
        print_expr(p, e->arg.at[0]);
        tessi_text_addf(p->out, " %s ", op);
        print_expr(p, e->arg.at[1]);
    }
    add(p, ")");
}

static void print_index(Printer *p, const AstExpr *e)
{
    print_expr(p, e->arg.at[0]);
    add(p, "[");
    for (uint32_t i = 1; i < e->arg.n; i++) {
        add(p, i > 1 ? ", " : "");
        print_expr(p, e->arg.at[i]);
    }
    add(p, "]");
}

/* Of a member of a family; nothing where there are none. */
static void print_numbers(Printer *p, const AstExpr *first, const AstExpr *second)
{
    if (!first)
        return;
    add(p, "<");
    print_expr(p, first);
    if (second) {
        add(p, ", ");
        print_expr(p, second);
    }
    add(p, ">");
}

static void print_expr(Printer *p, const AstExpr *e)
{
    switch (e->kind) {
    case AST_INT: tessi_text_addf(p->out, "%llu", (unsigned long long)e->integer); break;
    case AST_REAL: print_real(p, e); break;
    case AST_BOOL: add(p, e->integer ? "true" : "false"); break;
    case AST_NAME: add(p, e->name.text); break;
    case AST_MEMBER:
        print_expr(p, e->arg.at[0]);
        tessi_text_addf(p->out, ".%s", e->name.text);
        break;
    case AST_FAMILY:
        add(p, e->name.text);
        print_numbers(p, e->arg.at[0], e->arg.n > 1 ? e->arg.at[1] : NULL);
        break;
    case AST_INDEX: print_index(p, e); break;
    case AST_OFFSET:
        print_expr(p, e->arg.at[0]);
        print_offsets(p, &e->offsets);
        break;
    case AST_SUBDOMAIN:
        print_expr(p, e->arg.at[0]);
        print_ranges(p, &e->ranges);
        break;
    case AST_CALL: print_call(p, e); break;
    case AST_CAST: print_wrapped(p, "cast<", &e->type, ">(", e); break;
    case AST_SAT: print_wrapped(p, "sat<", &e->type, ">(", e); break;
    case AST_WRAP: print_wrapped(p, "wrap<", &e->type, ">(", e); break;
    case AST_STRUCT: print_wrapped(p, "struct ", &e->type, "(", e); break;
    case AST_UNARY:
    case AST_BINARY:
    case AST_TERNARY: print_operation(p, e); break;
    case AST_WINDOW: print_window(p, e); break;
    case AST_COMPOSE: print_composition(p, e); break;
    case AST_VALID:
        print_expr(p, e->arg.at[0]);
        add(p, ":valid(");
        print_expr(p, e->arg.at[1]);
        add(p, ")");
        break;
    }
}

static void print_mask(Printer *p, const AstStmt *s)
{
    const AstMask *m = &s->mask;
    tessi_text_addf(p->out, "mask %s[", s->name.text);
    print_list(p, &m->sizes);
    print_window_vars(p, &m->vars);
    add(p, "] = ");
    if (m->value) {
        print_expr(p, m->value);
    } else {
        add(p, "{ ");
        print_list(p, &m->list);
        add(p, " }");
    }
    if (m->divisor) {
        add(p, " / ");
        print_expr(p, m->divisor);
    }
    if (m->factor) {
        add(p, " * ");
        print_expr(p, m->factor);
    }
    add(p, m->normalized ? " normalized\n" : "\n");
}

static void print_assignment(Printer *p, const AstStmt *s)
{
    add(p, "assign ");
    if (s->is_const && !s->has_type)
        add(p, "const ");
    if (s->has_type) {
        print_type(p, &s->type);
        add(p, " ");
    }
    add(p, s->name.text);
    print_numbers(p, s->family, s->second);
    if (s->sizes.n) {
        add(p, "[");
        print_list(p, &s->sizes);
        add(p, "]");
    }
    VEC_FOREACH (const AstTarget, t, &s->more) {
        tessi_text_addf(p->out, ", %s", t->name.text);
        print_numbers(p, t->family, t->second);
    }
    if (s->ranges.n)
        print_ranges(p, &s->ranges);
    if (s->offsets.n)
        print_offsets(p, &s->offsets);
    add(p, " = ");
    print_expr(p, s->value);
    add(p, "\n");
}

static void print_stmts(Printer *p, const AstStmts *stmts)
{
    for (uint32_t i = 0; i < stmts->n; i++) {
        const AstStmt *s = stmts->at[i];
        begin_line(p, s->span);
        if (s->kind == AST_MASK) {
            print_mask(p, s);
        } else if (s->kind == AST_ASSIGN) {
            print_assignment(p, s);
        } else {
            tessi_text_addf(p->out, "for %s = ", s->name.text);
            print_expr(p, s->lo);
            add(p, "..");
            print_expr(p, s->hi);
            if (s->until) {
                add(p, " until ");
                print_expr(p, s->until);
            }
            if (s->every) {
                add(p, " every ");
                print_expr(p, s->every);
            }
            add(p, "\n");
            p->level++;
            print_stmts(p, &s->body);
            p->level--;
        }
    }
}

static void print_return(Printer *p, const AstExprs *result, Span span)
{
    if (!result->n)
        return;
    begin_line(p, span);
    add(p, "return ");
    print_list(p, result);
    add(p, "\n");
}

static void print_struct(Printer *p, const AstStructDef *s)
{
    begin_line(p, s->span);
    tessi_text_addf(p->out, "struct %s%s\n", s->name.text, s->predeclared ? " predeclared" : "");
    p->level++;
    VEC_FOREACH (AstField, f, &s->fields) {
        begin_line(p, f->name.span);
        add(p, "field ");
        print_type(p, &f->type);
        tessi_text_addf(p->out, " %s\n", f->name.text);
    }
    p->level--;
}

static void print_function(Printer *p, const AstFunction *f)
{
    begin_line(p, f->span);
    tessi_text_addf(p->out, "%s %s\n",
                    f->is_stencil  ? "stencil"
                    : f->is_scalar ? f->type.name.text
                                   : "vector",
                    f->name.text);
    p->level++;
    VEC_FOREACH (AstFunctionArg, a, &f->args) {
        begin_line(p, a->span);
        add(p, "argument ");
        print_type(p, &a->type);
        tessi_text_addf(p->out, " %s\n", a->name.text);
    }
    print_stmts(p, &f->body);
    print_return(p, &f->result, f->result_span);
    p->level--;
}

static void print_decl(Printer *p, const AstDecl *d)
{
    begin_line(p, d->span);
    if (d->kind == AST_DECL_PARAMETER) {
        add(p, "parameter");
    } else {
        add(p, "input ");
        print_type(p, &d->type);
    }
    tessi_text_addf(p->out, " %s", d->name.text);
    if (d->sizes.n) {
        add(p, "[");
        print_list(p, &d->sizes);
        add(p, "]");
    }
    if (d->init) {
        add(p, " = ");
        print_expr(p, d->init);
    }
    if (d->lo) {
        add(p, " in ");
        print_expr(p, d->lo);
        add(p, "..");
        print_expr(p, d->hi);
    }
    add(p, "\n");
}

void tessi_ast_print(const Ast *ast, Text *out)
{
    Printer p = { .ast = ast, .out = out };
    tessi_text_addf(out, "program%s\n", ast->forma ? " in the original dialect" : "");
    if (ast->border.n || ast->border.missing.name.text) {
        begin_line(&p, ast->border_span);
        add(&p, "border ");
        print_borders(&p, &ast->border);
        add(&p, "\n");
    }
    for (uint32_t i = 0; i < ast->structs.n; i++)
        print_struct(&p, ast->structs.at[i]);
    print_stmts(&p, &ast->constants);
    for (uint32_t i = 0; i < ast->functions.n; i++)
        print_function(&p, ast->functions.at[i]);
    for (uint32_t i = 0; i < ast->decls.n; i++)
        print_decl(&p, ast->decls.at[i]);
    print_stmts(&p, &ast->body);
    print_return(&p, &ast->result, ast->result_span);
}
