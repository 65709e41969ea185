/* Instances of templates: texts of the loop language whose statements go where lowering is (template.h). */
#include "loop/loop_template.h"

#include <string.h>

#include "loop/template.h"

enum { MOST_ARGS = 8, MOST_TURNS = 4096 };

struct LoopTemplate {
    Lower *l;
    const TemplateArg *args;
    void *user;
    const char *prefix;
    LoopWords words;
    bool has_given; /* the statement at hand has expressions that are not of the text alone */
    LExprId result;
};

/* ---- Expressions ----------------------------------------------------------------------------- */

static int read_args(LoopReader *r, LExprId *arg)
{
    return tessi_loop_read_list(r, arg, MOST_ARGS);
}

LExprId tessi_template_hole(LoopReader *r, const char *name)
{
    LExprId arg[MOST_ARGS];
    const LExprId none = { 0 };
    const LoopName *found = tessi_loop_find_name(r, name);
    if (!found || found->kind != LNAME_HOLE) {
        tessi_loop_fault(r, "no function of the template is called '%s'", name);
        return none;
    }
    const TemplateArg *hole = &r->of->args[found->id];
    if (read_args(r, arg) < 0)
        return none;
    r->of->has_given = true;
    return hole->hole(r->of->user, arg);
}

LExprId tessi_template_expr(LoopReader *r, LExprId e)
{
    r->of->has_given = r->of->has_given || tessi_lexpr(r->p, e)->kind != LEXPR_CONST;
    return e;
}

void tessi_template_load(LoopReader *r, LExprId load)
{
    tessi_pin(r->of->l, load, tessi_scope_depth(r->of->l));
}

/* ---- Statements ------------------------------------------------------------------------------ */

bool tessi_template_local(LoopReader *r, LStmt *s)
{
    LoopToken name;
    LBuffer b = { .kind = LBUF_LOCAL };
    if (!tessi_loop_expect_name(r, &name) || !tessi_loop_expect(r, ":")
        || !tessi_loop_read_type(r, &b.type) || !tessi_loop_read_sizes(r, b.size, &b.n_dims))
        return false;
    b.name = r->of->prefix ? tessi_sprintf(r->arena, "%s_%s", r->of->prefix, name.name) : name.name;
    s->buffer = tessi_loop_buffer(r->p, &b);
    return tessi_loop_declare(r, &name, LNAME_BUFFER, s->buffer.v);
}

void tessi_template_place(LoopReader *r, LStmt *s)
{
    tessi_scope_place(r->of->l, &s->a, 1);
}

void tessi_template_var(LoopReader *r, LVarId v)
{
    tessi_scope_own(r->of->l, v);
}

void tessi_template_open(LoopReader *r, LStmt *s)
{
    Lower *l = r->of->l;
    LExprId at[2] = { s->a, s->b };
    if (!(s->flags & LFOR_GRID)
        || s->kind == LSTMT_IF) { /* launchers compute the bounds of grids */
        tessi_scope_place(l, at, s->kind == LSTMT_FOR ? 2 : 1);
        s->a = at[0];
        s->b = at[1];
    } else {
        l->p->functions.at[l->p->functions.n - 1].grid[s->axis] = s->b;
    }
    r->of->has_given = false;
    tessi_scope_open(l, s);
}

void tessi_template_else(LoopReader *r)
{
    tessi_scope_else(r->of->l);
}

void tessi_template_add(LoopReader *r, LStmt *s)
{
    Lower *l = r->of->l;
    if (s->kind == LSTMT_FOR || s->kind == LSTMT_IF) {
        tessi_scope_close(l);
        return;
    }
    const bool stores = s->kind == LSTMT_STORE || s->kind == LSTMT_ADD || s->kind == LSTMT_SET;
    if (r->of->has_given && stores) {
        LExprId part[LOOP_MAX_DIMS + 1];
        memcpy(part, s->index, s->n_index * sizeof *part);
        part[s->n_index] = s->a;
        tessi_scope_place(l, part, s->n_index + 1u);
        memcpy(s->index, part, s->n_index * sizeof *part);
        s->a = part[s->n_index];
    }
    r->of->has_given = false;
    tessi_scope_append(l, s);
}

/* ---- What is decided while it is read -------------------------------------------------------- */

static bool read_number(LoopReader *r, int64_t *value)
{
    const LExprId e = tessi_loop_read_expr(r);
    if (!e.v)
        return false;
    const LExpr *c = tessi_lexpr(r->p, e);
    if (c->kind != LEXPR_CONST || (c->type != TYPE_INDEX && c->type != TYPE_BOOL))
        return tessi_loop_fault(r, "what a template decides by is a constant");
    *value = c->value.i;
    return true;
}

/* `{` statements `}`, in the scope that is open; or past all of it. */
static bool read_part(LoopReader *r, LBlock *block, bool taken)
{
    if (!tessi_loop_expect(r, "{"))
        return false;
    if (!taken) {
        for (int depth = 1; depth && r->token.kind != LTOK_END; tessi_loop_advance(r))
            depth += tessi_loop_is_sign(r, "{") - tessi_loop_is_sign(r, "}");
        return !r->fault;
    }
    while (!tessi_loop_is_sign(r, "}"))
        if (!tessi_loop_read_stmt(r, block))
            return false;
    return tessi_loop_expect(r, "}");
}

static bool read_when(LoopReader *r, LBlock *block)
{
    int64_t holds;
    if (!read_number(r, &holds) || !read_part(r, block, holds != 0))
        return false;
    return !tessi_loop_accept_word(r, "otherwise") || read_part(r, block, !holds);
}

/* The values that `each` goes through; their number, -1 on a fault. */
static int read_turns(LoopReader *r, int64_t *turn)
{
    int n = 0;
    int64_t end;
    do {
        if (n == MOST_TURNS || !read_number(r, &turn[n++]))
            return -1;
    } while (tessi_loop_accept(r, ","));
    if (n != 1 || !tessi_loop_accept(r, ".."))
        return n;
    if (!read_number(r, &end) || end - turn[0] > MOST_TURNS)
        return -1;
    n = (int)(end - turn[0]);
    for (int i = 1; i < n; i++)
        turn[i] = turn[0] + i;
    return n < 0 ? 0 : n;
}

static bool read_each(LoopReader *r, LBlock *block)
{
    LoopToken name, key;
    if (!tessi_loop_expect_name(r, &name) || !tessi_loop_accept_word(r, "in"))
        return tessi_loop_fault(r, "expected a name and 'in'");
    key = name;
    key.text = tessi_sprintf(r->arena, "$%s", name.text);
    int64_t *turn = ARENA_NEW_ARRAY(r->arena, int64_t, MOST_TURNS);
    const int n = read_turns(r, turn);
    if (n <= 0)
        return n == 0 && read_part(r, block, false);
    const LoopToken begin = r->token, first = r->ahead;
    const uint32_t word = r->of->words.n;
    VEC_PUSH(r->arena, &r->of->words, ((LoopWord){ .name = name.text }));
    for (int i = 0; i < n; i++) {
        r->of->words.at[word].text = tessi_sprintf(r->arena, "%lld", (long long)turn[i]);
        tessi_loop_declare(r, &key, LNAME_EXPR, tessi_lexpr_index(r->p, turn[i]).v);
        r->lexer.at = first.at; /* the first word again, as it now reads */
        r->lexer.line = begin.line;
        r->token = begin;
        r->ahead = tessi_loop_next_token(&r->lexer);
        if (!read_part(r, block, true))
            return false;
    }
    r->of->words.n = word;
    return true;
}

/* What stands behind `template NAME`; NULL when there is none. */
static const char *text_of(Arena *a, const char *name, int *line)
{
    const char *head = tessi_sprintf(a, "\ntemplate %s {", name);
    const char *found = strstr(tessi_loop_templates, head);
    *line = 1;
    for (const char *at = tessi_loop_templates; found && at <= found; at++)
        *line += *at == '\n';
    return found ? found + strlen(head) - 1 : NULL;
}

/* Reads the statements of a template. */
static bool read_template(LoopReader *r, LBlock *block, const char *name)
{
    const char *text = text_of(r->arena, name, &r->lexer.line);
    if (!text)
        return tessi_loop_fault(r, "no template is called '%s'", name);
    r->lexer.at = text;
    r->lexer.end = text + strlen(text);
    r->token = (LoopToken){ 0 };
    r->ahead = tessi_loop_next_token(&r->lexer);
    tessi_loop_advance(r);
    return read_part(r, block, true);
}

/* A parameter of the part of a template that is used, and whose name it was before. */
typedef struct Bound {
    LoopToken key;
    LoopName before;
    LoopNameKind kind; /* an expression, or a buffer */
    uint32_t id;
} Bound;

static bool read_bound(LoopReader *r, Bound *b)
{
    const LoopName *found = tessi_loop_find_name(r, r->token.text);
    const bool is_buffer = found && found->kind == LNAME_BUFFER && r->ahead.text[0] != '[';
    b->kind = is_buffer ? LNAME_BUFFER : LNAME_EXPR;
    b->id = is_buffer ? found->id : tessi_loop_read_expr(r).v;
    if (is_buffer)
        tessi_loop_advance(r);
    return b->id != 0;
}

/* Binds it; a number is part of the text too. */
static void bind(LoopReader *r, Bound *b)
{
    const LExpr *e = b->kind == LNAME_EXPR ? tessi_lexpr(r->p, (LExprId){ b->id }) : NULL;
    const bool number = e && e->kind == LEXPR_CONST && e->type == TYPE_INDEX && e->value.i >= 0;
    const char *text = number ? tessi_sprintf(r->arena, "%lld", (long long)e->value.i) : NULL;
    VEC_PUSH(r->arena, &r->of->words, ((LoopWord){ b->key.text, text }));
    b->key.text = tessi_sprintf(r->arena, "$%s", b->key.text);
    const LoopName *known = tessi_loop_find_name(r, b->key.text);
    b->before = known ? *known : (LoopName){ 0 };
    tessi_loop_declare(r, &b->key, b->kind, b->id);
}

/* `(` name `=` expression, ... `)` */
static int read_bounds(LoopReader *r, Bound *bound)
{
    int n = 0;
    if (!tessi_loop_expect(r, "("))
        return -1;
    while (!tessi_loop_is_sign(r, ")")) {
        if (n == MOST_ARGS || !tessi_loop_expect_name(r, &bound[n].key)
            || !tessi_loop_expect(r, "="))
            return -1;
        if (!read_bound(r, &bound[n++]))
            return -1;
        if (!tessi_loop_accept(r, ","))
            break;
    }
    for (int i = 0; i < n; i++) /* all at once: they may be made of others of these names */
        bind(r, &bound[i]);
    return n;
}

/* `use` name bounds: the statements of another template, as if they stood here. */
static bool read_use(LoopReader *r, LBlock *block)
{
    LoopToken name;
    Bound bound[MOST_ARGS];
    const uint32_t words = r->of->words.n;
    if (!tessi_loop_expect_name(r, &name))
        return false;
    const int n = read_bounds(r, bound);
    if (n < 0 || !tessi_loop_is_sign(r, ")"))
        return tessi_loop_fault(r, "expected ')'");
    const LoopReader here = *r;
    if (++r->depth > LOOP_MAX_NESTING || !read_template(r, block, name.name))
        return tessi_loop_fault(r, "templates use one another without end");
    r->depth = here.depth;
    r->of->words.n = words;
    for (int i = n; i-- > 0;)
        if (bound[i].before.key)
            tessi_loop_declare(r, &bound[i].key, bound[i].before.kind, bound[i].before.id);
    r->lexer = here.lexer;
    r->ahead = here.ahead;
    r->token = here.token;
    tessi_loop_advance(r);
    return true;
}

/* `$name(` arguments `)` for its statements. */
static bool read_given(LoopReader *r)
{
    LExprId arg[MOST_ARGS];
    const LoopName *found = tessi_loop_find_name(r, r->token.text);
    if (!found || found->kind != LNAME_PART)
        return tessi_loop_fault(r, "no statements are called '%s'", r->token.text);
    const TemplateArg *part = &r->of->args[found->id];
    tessi_loop_advance(r);
    const int n = read_args(r, arg);
    if (n < 0)
        return false;
    r->of->has_given = false;
    part->part(r->of->user, arg);
    return true;
}

static bool read_result(LoopReader *r)
{
    r->of->result = tessi_loop_read_expr(r);
    return r->of->result.v != 0;
}

bool tessi_template_stmt(LoopReader *r, LBlock *block, bool *good)
{
    const LoopToken *t = &r->token;
    if (t->kind == LTOK_COMMENT && t->marker == 'H')
        tessi_loop_advance(r);
    else if (t->kind == LTOK_NAME && t->text[0] == '$')
        *good = read_given(r);
    else if (tessi_loop_accept_word(r, "when"))
        *good = read_when(r, block);
    else if (tessi_loop_accept_word(r, "each"))
        *good = read_each(r, block);
    else if (tessi_loop_accept_word(r, "use"))
        *good = read_use(r, block);
    else if (tessi_loop_accept_word(r, "result"))
        *good = read_result(r);
    else
        return false;
    return true;
}

/* ---- Instances ------------------------------------------------------------------------------- */

static const char *words_of(Arena *a, const TemplateArg *arg)
{
    switch (arg->kind) {
    case TEMPLATE_TYPE: return tessi_type_info(arg->type)->name;
    case TEMPLATE_WORDS: return arg->words;
    case TEMPLATE_NUMBER:
        return arg->number < 0 ? NULL : tessi_sprintf(a, "%lld", (long long)arg->number);
    default: return NULL;
    }
}

static void declare_arg(LoopReader *r, uint32_t i)
{
    const TemplateArg *arg = &r->of->args[i];
    LoopToken name = { .kind = LTOK_NAME, .text = tessi_sprintf(r->arena, "$%s", arg->name) };
    const char *words = words_of(r->arena, arg);
    if (words)
        VEC_PUSH(r->arena, &r->of->words, ((LoopWord){ arg->name, words }));
    switch (arg->kind) {
    case TEMPLATE_NUMBER:
        tessi_loop_declare(r, &name, LNAME_EXPR, tessi_lexpr_index(r->p, arg->number).v);
        break;
    case TEMPLATE_EXPR: tessi_loop_declare(r, &name, LNAME_EXPR, arg->expr.v); break;
    case TEMPLATE_BUFFER: tessi_loop_declare(r, &name, LNAME_BUFFER, arg->buffer.v); break;
    case TEMPLATE_HOLE: tessi_loop_declare(r, &name, LNAME_HOLE, i); break;
    case TEMPLATE_PART: tessi_loop_declare(r, &name, LNAME_PART, i); break;
    case TEMPLATE_TYPE:
    case TEMPLATE_WORDS: break;
    }
}

LExprId tessi_template(Lower *l, const char *name, const char *prefix, const TemplateArg *args,
                       void *user)
{
    LoopTemplate of = { .l = l, .args = args, .user = user, .prefix = prefix };
    LoopReader r = { .arena = l->arena, .p = l->p, .of = &of };
    LBlock unused = { 0 };
    VEC_PUSH(r.arena, &r.names, (LoopName){ 0 });
    for (uint32_t i = 0; args[i].name; i++)
        declare_arg(&r, i);
    r.lexer = (LoopLexer){ .arena = l->arena, .words = &of.words };
    read_template(&r, &unused, name);
    if (r.fault)
        l->p->fault = tessi_sprintf(l->arena, "template %s: %s", name, r.fault);
    return of.result;
}
