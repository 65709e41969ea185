/* The library of operators, lib/filters.tess, as a list: what each takes, from its definition, and what it does, from
 * the comment above it. */
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/embedded.h"

struct tess_library {
    Arena arena;
    VEC(tess_operator) operators;
    VEC(const char *) names;
    bool is_told; /* the definition before has a comment */
};

/* ---- Lines of the text ------------------------------------------------------------------------ */

typedef struct Line {
    const char *at;
    size_t n;
} Line;

static Line line_at(const char *text, size_t begin)
{
    return (Line){ text + begin, strcspn(text + begin, "\n") };
}

/* The line that ends before `begin`, the beginning of another; `begin` becomes its own. False at the top. */
static bool line_before(const char *text, size_t *begin, Line *line)
{
    if (!*begin)
        return false;
    size_t at = *begin - 1;
    while (at && text[at - 1] != '\n')
        at--;
    *begin = at;
    *line = line_at(text, at);
    return true;
}

static bool is_comment(Line l)
{
    return l.n >= 2 && strncmp(l.at, "//", 2) == 0;
}

/* "// ---- Smoothing -----": the name in it; empty when the line is another. */
static Line heading(Line l)
{
    static const char mark[] = "// ---- ";
    if (l.n < sizeof mark || strncmp(l.at, mark, sizeof mark - 1) != 0)
        return (Line){ l.at, 0 };
    Line name = { l.at + sizeof mark - 1, l.n - (sizeof mark - 1) };
    while (name.n && strchr("- ", name.at[name.n - 1]))
        name.n--;
    return name;
}

static bool is_blank(Line l)
{
    return strspn(l.at, " \t") >= l.n;
}

/* The comment that ends right above the line at `begin`, without its slashes; empty when there is none. */
static const char *comment_above(Arena *a, const char *text, size_t begin)
{
    Line line;
    size_t first = begin;
    for (size_t at = begin; line_before(text, &at, &line) && is_comment(line) && !heading(line).n;)
        first = at;
    Text out = tessi_text_new(a);
    for (size_t at = first; at < begin; at += line.n + 1) {
        line = line_at(text, at);
        const size_t slashes = line.n > 2 && line.at[2] == ' ' ? 3 : 2;
        tessi_text_addf(&out, "%s%.*s", at == first ? "" : "\n", (int)(line.n - slashes),
                        line.at + slashes);
    }
    return tessi_text_str(&out);
}

static const char *section_above(Arena *a, const char *text, size_t begin)
{
    Line line;
    while (line_before(text, &begin, &line))
        if (heading(line).n)
            return tessi_strndup(a, heading(line).at, heading(line).n);
    return "";
}

/* ---- Operators -------------------------------------------------------------------------------- */

static const char *type_text(Arena *a, const AstType *t)
{
    const char *constant = t->is_const ? "const " : "";
    return t->is_image || t->is_mask ? tessi_sprintf(
               a, "%s%s#%d %s", constant, t->is_mask ? "mask" : "vector", t->n_dims, t->name.text)
                                     : tessi_sprintf(a, "%s%s", constant, t->name.text);
}

static void add_arguments(Arena *a, const AstFunction *f, tess_operator *op)
{
    tess_argument *arguments = ARENA_NEW_ARRAY(a, tess_argument, f->args.n);
    for (uint32_t i = 0; i < f->args.n; i++) {
        const AstFunctionArg *arg = &f->args.at[i];
        arguments[i] = (tess_argument){ .name = tessi_strdup(a, arg->name.text),
                                        .type = type_text(a, &arg->type),
                                        .kind = arg->type.is_image  ? TESS_IMAGE
                                                : arg->type.is_mask ? TESS_MASK
                                                                    : TESS_SCALAR,
                                        .ndim = arg->type.n_dims,
                                        .is_const = arg->type.is_const };
    }
    op->arguments = arguments;
    op->n_arguments = f->args.n;
}

static bool same_arguments(const tess_operator *x, const tess_operator *y)
{
    bool same = x->n_arguments == y->n_arguments;
    for (size_t i = 0; same && i < x->n_arguments; i++)
        same = tessi_streq(x->arguments[i].name, y->arguments[i].name)
               && tessi_streq(x->arguments[i].type, y->arguments[i].type);
    return same;
}

/* What the comments of operators say whose values are of the kind of those of X. */
static const char in_units[] = "In the units of X.";

/* An operator without a comment right below one with the same arguments is meant by that one's comment too. Others
 * without a comment are parts of operators, and no operators themselves. */
static void add_operator(tess_library *l, const char *text, const AstFunction *f)
{
    size_t begin = f->span.begin, above;
    while (begin && text[begin - 1] != '\n')
        begin--;
    tess_operator op = { .struct_size = sizeof op, .name = tessi_strdup(&l->arena, f->name.text) };
    add_arguments(&l->arena, f, &op);
    op.comment = comment_above(&l->arena, text, begin);
    op.section = section_above(&l->arena, text, begin);
    Line line;
    above = begin;
    const tess_operator *last = l->is_told ? &l->operators.at[l->operators.n - 1] : NULL;
    if (!*op.comment && last && same_arguments(last, &op) && line_before(text, &above, &line)
        && !is_blank(line))
        op.comment = last->comment;
    op.in_units = strstr(op.comment, in_units) != NULL;
    l->is_told = *op.comment != '\0';
    if (!l->is_told)
        return;
    VEC_PUSH(&l->arena, &l->operators, op);
    VEC_PUSH(&l->arena, &l->names, op.name);
}

static bool fill(tess_library *l)
{
    Guard guard;
    if (!GUARDED(&guard, &l->arena))
        return false;
    SourceMap *sources = ARENA_NEW(&l->arena, SourceMap);
    Diags *d =
        ARENA_NEW(&l->arena, Diags); /* definitions alone are no program, which is no fault here */
    tessi_sources_init(sources, &l->arena);
    tessi_diags_init(d, &l->arena, sources);
    const char *text = tessi_embedded_filters;
    const uint16_t file = tessi_sources_add(sources, "filters.tess", text, strlen(text));
    const Ast *ast = tessi_parse(&l->arena, d, sources, file, false, NULL, NULL);
    VEC_FOREACH (AstFunction *const, f, &ast->functions)
        if (!(*f)->is_scalar)
            add_operator(l, text, *f);
    return true;
}

tess_status tess_library_open(tess_library **library)
{
    if (!library)
        return TESS_ERROR_ARGUMENT;
    *library = calloc(1, sizeof **library);
    if (!*library)
        return TESS_ERROR_MEMORY;
    tessi_arena_init(&(*library)->arena, NULL, NULL);
    if (fill(*library))
        return TESS_OK;
    tess_library_free(*library);
    *library = NULL;
    return TESS_ERROR_MEMORY;
}

void tess_library_free(tess_library *l)
{
    if (!l)
        return;
    tessi_arena_dispose(&l->arena);
    free(l);
}

const tess_operator *tess_library_operator(const tess_library *l, size_t i)
{
    return l && i < l->operators.n ? &l->operators.at[i] : NULL;
}

const tess_operator *tess_library_find(const tess_library *l, const char *name)
{
    for (size_t i = 0; l && name && i < l->operators.n; i++)
        if (tessi_streq(l->operators.at[i].name, name))
            return &l->operators.at[i];
    return NULL;
}

const char *tess_library_nearest(const tess_library *l, const char *name)
{
    return l && name ? tessi_nearest_word(name, l->names.at, l->names.n) : NULL;
}
