/* Bodies of pieces as text. Expressions are printed infix; those used more than once, and those nested too deep for
 * a reader, get a name (`let %1 = ..`) where they are computed: in front of the body, or in the innermost window
 * that they depend on. */
#include <string.h>

#include "graph/graph_text.h"
#include "graph/graph_walk.h"

struct BodyPrinter {
    const Graph *g;
    Arena *scratch;
    const ExprDeps *deps;
    uint32_t *uses;  /* by expression: users within the body being printed */
    uint32_t *depth; /* by expression: levels below it, down to the next named one */
    ExprWalk walk;
    ExprMap name; /* to the number of its `let` */
    uint32_t n_named;
    Text *out;
};

static void print_expr(BodyPrinter *p, ExprId id, int precedence);

BodyPrinter *tessi_body_printer(const Graph *g, Arena *scratch)
{
    BodyPrinter *p = ARENA_NEW(scratch, BodyPrinter);
    p->g = g;
    p->scratch = scratch;
    p->deps = tessi_expr_deps(g, scratch);
    p->uses = ARENA_NEW_ARRAY(scratch, uint32_t, g->exprs.n);
    p->depth = ARENA_NEW_ARRAY(scratch, uint32_t, g->exprs.n);
    p->walk.arena = p->name.arena = scratch;
    return p;
}

void tessi_print_constant(ScalarType t, Value v, Text *out)
{
    if (t == TYPE_BOOL) {
        tessi_text_add(out, v.i ? "true" : "false");
    } else if (!tessi_is_real(t)) {
        tessi_text_addf(out, "%lld%s", (long long)v.i,
                        t == TYPE_I32 ? "" : tessi_type_info(t)->brief);
    } else {
        bool single = t != TYPE_F64, special = v.f != v.f || v.f - v.f != 0;
        tessi_text_add_real(out, v.f, single);
        tessi_text_add(out, special ? "_" : "");
        tessi_text_add(out, single ? "f" : "d");
    }
}

/* ---- Reads ----------------------------------------------------------------------------------- */
static void print_winvar(BodyPrinter *p, WindowId w, uint32_t var)
{
    uint32_t level = tessi_window(p->g, w)->level;
    tessi_text_addf(p->out, "$%c", "ijkl"[var % MAX_WINDOW_VARS]);
    if (level)
        tessi_text_addf(p->out, "%u", (unsigned)level);
}

static void print_displacement(BodyPrinter *p, const AccessDim *d)
{
    for (uint32_t k = 0; k < d->n_terms; k++) {
        int64_t coef = d->term[k].coef;
        tessi_text_add(p->out, k ? (coef < 0 ? " - " : " + ") : (coef < 0 ? "-" : ""));
        if (coef != 1 && coef != -1)
            tessi_text_addf(p->out, "%lld*", (long long)(coef < 0 ? -coef : coef));
        print_winvar(p, d->term[k].window, d->term[k].var);
    }
    int64_t add;
    bool known = tessi_size_is_const(p->g, d->add, &add);
    if (d->n_terms && known && add == 0)
        return;
    if (d->n_terms && known && add < 0 && add > INT64_MIN + 1) {
        tessi_text_addf(p->out, " - %lld", (long long)-add);
        return;
    }
    tessi_text_add(p->out, d->n_terms ? " + " : "");
    tessi_size_print(p->g, d->add, p->out);
}

static void print_index(BodyPrinter *p, const AccessDim *d, uint32_t dim)
{
    if (d->absolute) {
        tessi_text_add(p->out, "{");
        print_expr(p, d->index, 0);
        tessi_text_add(p->out, "}");
        return;
    }
    bool plain = d->src == (int)dim && d->scale == 1;
    tessi_text_add(p->out, d->src < 0 ? "=" : plain ? "" : "(");
    print_displacement(p, d);
    if (d->src >= 0 && !plain) {
        tessi_text_addf(p->out, ",%d", (int)d->scale);
        if (d->src != (int)dim)
            tessi_text_addf(p->out, ",%d", (int)d->src);
        tessi_text_add(p->out, ")");
    }
}

bool tessi_is_displaced(const Graph *g, const AccessDim *d, uint32_t dim)
{
    int64_t add;
    return d->absolute || d->src != (int)dim || d->scale != 1 || d->n_terms
           || !tessi_size_is_const(g, d->add, &add) || add != 0;
}

static bool any_displaced(const Graph *g, const Access *a)
{
    for (uint32_t d = 0; d < a->n_dims; d++)
        if (tessi_is_displaced(g, &a->dim[d], d))
            return true;
    return false;
}

/* One rule says it all: for the displaced dimensions when there are any, the others being inside. */
static bool has_single_rule(const Graph *g, const Access *a, Border *rule)
{
    bool some = any_displaced(g, a), found = false;
    *rule = BORDER_INSIDE;
    for (uint32_t d = 0; d < a->n_dims; d++) {
        if (some && !tessi_is_displaced(g, &a->dim[d], d)) {
            if (a->dim[d].rule != BORDER_INSIDE)
                return false;
            continue;
        }
        if (found && a->dim[d].rule != *rule)
            return false;
        *rule = a->dim[d].rule;
        found = true;
    }
    return true;
}

static void print_rules(BodyPrinter *p, const Access *a)
{
    Border rule;
    bool single = has_single_rule(p->g, a, &rule);
    if (single && rule == BORDER_INSIDE)
        return;
    if (single)
        tessi_text_addf(p->out, ":%s", tessi_border_info(rule)->name);
    for (uint32_t d = 0; d < a->n_dims && !single; d++)
        tessi_text_addf(p->out, "%s%s", d ? "," : ":[", tessi_border_info(a->dim[d].rule)->name);
    tessi_text_add(p->out, single ? "" : "]");
    if (a->outside.v) {
        tessi_text_add(p->out, "(");
        print_expr(p, a->outside, 0);
        tessi_text_add(p->out, ")");
    }
}

static void print_load(BodyPrinter *p, const Access *a)
{
    tessi_graph_print_name(tessi_stage(p->g, a->producer)->name, p->out);
    if (any_displaced(p->g, a)) {
        tessi_text_add(p->out, "@[");
        for (uint32_t d = 0; d < a->n_dims; d++) {
            tessi_text_add(p->out, d ? "," : "");
            print_index(p, &a->dim[d], d);
        }
        tessi_text_add(p->out, "]");
    }
    print_rules(p, a);
}

/* ---- Operators ------------------------------------------------------------------------------- */
static void print_call(BodyPrinter *p, const char *name, const Expr *e)
{
    tessi_text_addf(p->out, "%s(", name);
    for (uint32_t k = 0; k < e->n_args; k++) {
        tessi_text_add(p->out, k ? ", " : "");
        print_expr(p, e->arg[k], 0);
    }
    tessi_text_add(p->out, ")");
}

static void open_paren(BodyPrinter *p, bool needed)
{
    tessi_text_add(p->out, needed ? "(" : "");
}

static void close_paren(BodyPrinter *p, bool needed)
{
    tessi_text_add(p->out, needed ? ")" : "");
}

/* Integers: x + -3 is written x - 3, which the constructors turn back. */
static bool prints_as_difference(const Graph *g, const Expr *e)
{
    Value v;
    return e->op == OP_ADD && tessi_is_integer(e->type) && tessi_expr_is_const(g, e->arg[1], &v)
           && v.i < 0 && v.i > tessi_type_range(e->type).lo;
}

static void print_infix(BodyPrinter *p, const Expr *e, int precedence)
{
    int own = tessi_op_precedence(e->op);
    Value v;
    open_paren(p, own < precedence);
    print_expr(p, e->arg[0], own);
    if (prints_as_difference(p->g, e)) {
        tessi_expr_is_const(p->g, e->arg[1], &v);
        v.i = -v.i;
        tessi_text_add(p->out, " - ");
        tessi_print_constant(e->type, v, p->out);
    } else {
        tessi_text_addf(p->out, " %s ", tessi_op_info(e->op)->infix);
        print_expr(p, e->arg[1], own + 1);
    }
    close_paren(p, own < precedence);
}

/* Multiply-adds read in the order of accumulation: c + [a * b] + [d * e]. */
static void print_fma(BodyPrinter *p, const Expr *e, int precedence)
{
    open_paren(p, PRECEDENCE_SUM < precedence);
    print_expr(p, e->arg[2], PRECEDENCE_SUM);
    tessi_text_add(p->out, " + [");
    print_expr(p, e->arg[0], PRECEDENCE_UNARY);
    tessi_text_add(p->out, " * ");
    print_expr(p, e->arg[1], PRECEDENCE_UNARY);
    tessi_text_add(p->out, "]");
    close_paren(p, PRECEDENCE_SUM < precedence);
}

static void print_op(BodyPrinter *p, const Expr *e, int precedence)
{
    if (e->op == OP_FMA) {
        print_fma(p, e, precedence);
    } else if (e->op == OP_NEG || e->op == OP_NOT) {
        open_paren(p, PRECEDENCE_UNARY < precedence);
        tessi_text_add(p->out, e->op == OP_NEG ? "-" : "~");
        print_expr(p, e->arg[0], PRECEDENCE_UNARY + 1);
        close_paren(p, PRECEDENCE_UNARY < precedence);
    } else if (tessi_op_precedence(e->op)) {
        print_infix(p, e, precedence);
    } else {
        print_call(p, tessi_op_info(e->op)->name, e);
    }
}

static void print_conversion(BodyPrinter *p, const Expr *e)
{
    tessi_text_addf(p->out, "%s<%s>(", e->kind == EXPR_CAST ? "cast" : "sat",
                    tessi_type_info(e->type)->name);
    print_expr(p, e->arg[0], 0);
    tessi_text_add(p->out, ")");
}

/* ---- Lets and windows ------------------------------------------------------------------------ */
static bool may_be_named(const Graph *g, const Expr *e)
{
    switch (e->kind) {
    case EXPR_CONST:
    case EXPR_SCALAR:
    case EXPR_INDEX:
    case EXPR_SIZE:
    case EXPR_WINVAR:
    case EXPR_STATE: return false;
    case EXPR_LOAD: {
        const Access *a = tessi_access(g, e->access);
        for (uint32_t d = 0; d < a->n_dims; d++)
            if (a->dim[d].absolute)
                return true;
        return false;
    }
    default: return true;
    }
}

/* Gives numbers to the shared and the deep expressions among those computed once for each point of `window_expr`,
 * and lists them. */
static ExprList name_shared(BodyPrinter *p, const ExprId *roots, uint32_t n_roots,
                            ExprId window_expr)
{
    const Expr *w = window_expr.v ? tessi_expr(p->g, window_expr) : NULL;
    ExprList named = { 0 };
    const ExprList *list = tessi_expr_walk(&p->walk, p->g, roots, n_roots);
    VEC_FOREACH (const ExprId, id, list) {
        if (!tessi_expr_belongs(p->g, &p->deps[id->v], w, &p->deps[window_expr.v]))
            continue;
        const Expr *e = tessi_expr(p->g, *id);
        ExprId child[MAX_EXPR_CHILDREN];
        uint32_t n = tessi_expr_children(p->g, e, child), depth = 0;
        for (uint32_t k = 0; k < n; k++)
            if (p->depth[child[k].v] > depth)
                depth = p->depth[child[k].v];
        p->depth[id->v] = depth + 1;
        bool is_root = id->v == roots[0].v;
        if (is_root || !may_be_named(p->g, e) || (p->uses[id->v] < 2 && depth < PRINTED_DEPTH))
            continue;
        p->depth[id->v] = 0;
        VEC_PUSH(p->scratch, &named, *id);
    }
    return named;
}

/* The definition of a named expression: everything but the name. */
static void print_unnamed(BodyPrinter *p, ExprId id, int precedence);

static void print_let(BodyPrinter *p, ExprId id)
{
    p->n_named++;
    tessi_text_addf(p->out, "let %%%u = ", (unsigned)p->n_named);
    uint32_t number = p->n_named; /* windows inside name their own */
    print_unnamed(p, id, 0);
    tessi_expr_map_set(&p->name, id, (ExprId){ number });
}

static void print_window(BodyPrinter *p, ExprId id, const Expr *e)
{
    const Window *w = tessi_window(p->g, e->window);
    if (e->ref)
        tessi_text_addf(p->out, "%s_", tessi_method_name(p->g->requests.at[e->ref - 1].method));
    tessi_text_addf(p->out, "%s%s(", e->fused ? "fused_" : "", tessi_reduction_name(e->reduction));
    for (uint32_t k = 0; k < w->n_vars; k++) {
        tessi_text_add(p->out, k ? ", " : "");
        print_winvar(p, e->window, k);
        tessi_text_addf(p->out, " = %d..%d", (int)w->lo[k], (int)w->hi[k]);
    }
    tessi_text_add(p->out, " : ");
    ExprList named = name_shared(p, e->arg, e->n_args, id);
    VEC_FOREACH (const ExprId, it, &named) {
        print_let(p, *it);
        tessi_text_add(p->out, "; ");
    }
    print_expr(p, e->arg[0], 0);
    if (e->n_args > 1) {
        tessi_text_add(p->out, " where ");
        print_expr(p, e->arg[1], 0);
    }
    tessi_text_add(p->out, ")");
    VEC_FOREACH (const ExprId, it, &named) /* out of scope */
        tessi_expr_map_set(&p->name, *it, (ExprId){ 0 });
}

static void print_unnamed(BodyPrinter *p, ExprId id, int precedence)
{
    const Expr *e = tessi_expr(p->g, id);
    switch (e->kind) {
    case EXPR_CONST: tessi_print_constant(e->type, e->value, p->out); break;
    case EXPR_OP: print_op(p, e, precedence); break;
    case EXPR_CAST:
    case EXPR_SAT: print_conversion(p, e); break;
    case EXPR_LOAD: print_load(p, tessi_access(p->g, e->access)); break;
    case EXPR_SCALAR:
        tessi_text_add(p->out, "scalar(");
        tessi_graph_print_name(p->g->scalars.at[e->ref].name, p->out);
        tessi_text_add(p->out, ")");
        break;
    case EXPR_INDEX: tessi_text_addf(p->out, "index(%u)", (unsigned)e->ref); break;
    case EXPR_STATE:
        tessi_text_addf(p->out, "state<%s>(%u)", tessi_type_info(e->type)->name, (unsigned)e->ref);
        break;
    case EXPR_SIZE:
        tessi_text_add(p->out, "size(");
        tessi_size_print(p->g, e->size, p->out);
        tessi_text_add(p->out, ")");
        break;
    case EXPR_WINVAR: print_winvar(p, e->window, e->ref); break;
    case EXPR_TABLE:
        tessi_graph_print_name(tessi_table(p->g, e->table)->name, p->out);
        tessi_text_add(p->out, "[");
        print_expr(p, e->arg[0], 0);
        tessi_text_add(p->out, "]");
        break;
    case EXPR_WINDOW: print_window(p, id, e); break;
    }
}

static void print_expr(BodyPrinter *p, ExprId id, int precedence)
{
    ExprId number = tessi_expr_map_get(&p->name, id);
    if (number.v)
        tessi_text_addf(p->out, "%%%u", (unsigned)number.v);
    else
        print_unnamed(p, id, precedence);
}

/* ---- Bodies ---------------------------------------------------------------------------------- */
static size_t current_column(const Text *out)
{
    size_t column = 0;
    while (column < out->n && out->at[out->n - 1 - column] != '\n')
        column++;
    return column;
}

static void count_uses(BodyPrinter *p, ExprId body)
{
    const ExprList *list = tessi_expr_walk(&p->walk, p->g, &body, 1);
    VEC_FOREACH (const ExprId, id, list) {
        p->uses[id->v] = 0;
        p->depth[id->v] = 0;
    }
    VEC_FOREACH (const ExprId, id, list) {
        ExprId child[MAX_EXPR_CHILDREN];
        uint32_t n = tessi_expr_children(p->g, tessi_expr(p->g, *id), child);
        for (uint32_t k = 0; k < n; k++)
            p->uses[child[k].v]++;
    }
}

void tessi_print_body(BodyPrinter *p, ExprId body, int indent, Text *out)
{
    Text line = tessi_text_new(p->scratch);
    p->out = &line;
    p->n_named = 0;
    tessi_expr_map_clear(&p->name);
    count_uses(p, body);
    ExprList named = name_shared(p, &body, 1, (ExprId){ 0 });
    VEC_FOREACH (const ExprId, it, &named) {
        line.n = 0;
        print_let(p, *it);
        tessi_text_add(&line, ";");
        tessi_text_addf(out, "\n%*s", indent, "");
        tessi_add_wrapped(out, tessi_text_str(&line), (size_t)indent, indent);
    }
    line.n = 0;
    print_expr(p, body, 0);
    const char *text = tessi_text_str(&line);
    size_t column = current_column(out);
    if (named.n || column + 1 + strlen(text) > LINE_WIDTH) {
        tessi_text_addf(out, "\n%*s", indent, "");
        column = (size_t)indent;
    } else {
        tessi_text_add(out, " ");
    }
    tessi_add_wrapped(out, text, column, indent);
    tessi_text_add(out, "\n");
}
