/* Programs whose inputs are `any`: instances for types, made on first use and kept. */
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "base/rounding.h"

static bool front_type(const tess_typed *from, FrontType *to)
{
    *to = (FrontType){ .name = from->name, .n_fields = (uint32_t)from->channels };
    return from->channels >= 1 && tessi_scalar_type(from->dtype, &to->type);
}

bool tessi_types_copy(tess_program *p)
{
    const FrontType all = { NULL, TYPE_F32, 1 };
    VEC_PUSH(&p->arena, &p->types, all);
    for (size_t i = 0; i < p->options.n_types; i++) {
        FrontType t;
        if (!front_type(&p->options.types[i], &t))
            return false;
        VEC_PUSH(&p->arena, &p->types, t);
    }
    return true;
}

bool tessi_is_open(const tess_program *p, const AstDecl *decl)
{
    if (decl->kind != AST_DECL_IMAGE || decl->type.is_of || !decl->name.text
        || !tessi_streq(decl->type.name.text, "any"))
        return false;
    for (uint32_t i = 1; i < p->types.n; i++) /* the first stands for those without */
        if (!p->types.at[i].name || tessi_streq(p->types.at[i].name, decl->name.text))
            return false;
    return true;
}

bool tessi_lacks_types(const tess_program *p, const Ast *ast)
{
    for (uint32_t i = 0; i < ast->decls.n; i++)
        if (tessi_is_open(p, ast->decls.at[i]))
            return true;
    return false;
}

static const char *first_open(const tess_program *p)
{
    VEC_FOREACH (const Input, in, &p->inputs)
        if (in->info.is_any)
            return in->info.name;
    return "";
}

bool tessi_types_known(const tess_program *p, Failure *f)
{
    return !p->is_open
           || tessi_failf(f, TESS_ERROR_ARGUMENT,
                          "the type of the image '%s' is not given: it is declared 'any'",
                          first_open(p));
}

/* ---- Instances ------------------------------------------------------------------------------- */

/* The types for all open inputs, in their order, from a list in which the last that fits counts. */
static bool choose(tess_program *p, const tess_typed *types, size_t n, tess_typed *chosen,
                   size_t *n_chosen)
{
    *n_chosen = 0;
    VEC_FOREACH (const Input, in, &p->inputs) {
        const tess_typed *found = NULL;
        for (size_t i = 0; in->info.is_any && i < n; i++)
            if (!types[i].name || tessi_streq(types[i].name, in->info.name))
                found = &types[i];
        FrontType t;
        if (in->info.is_any && !found)
            return tessi_failf(&p->failure, TESS_ERROR_ARGUMENT,
                               "the type of the image '%s' is not given: it is declared 'any'",
                               in->info.name);
        if (found && !front_type(found, &t))
            return tessi_failf(&p->failure, TESS_ERROR_ARGUMENT,
                               "the language has no type for the elements of the image '%s'",
                               in->info.name);
        if (found)
            chosen[(*n_chosen)++] = (tess_typed){ in->info.name, found->dtype, found->channels };
    }
    return true;
}

static bool same_types(const tess_options *o, const tess_typed *chosen, size_t n, size_t before)
{
    for (size_t i = 0; i < n; i++) {
        const tess_typed *t = &o->types[before + i];
        if (memcmp(&t->dtype, &chosen[i].dtype, sizeof t->dtype) != 0
            || t->channels != chosen[i].channels)
            return false;
    }
    return true;
}

/* The lock is held. */
static tess_program *find(const tess_program *p, const tess_typed *chosen, size_t n)
{
    for (const Instance *i = p->instances; i; i = i->next)
        if (same_types(&i->program->options, chosen, n, p->options.n_types))
            return i->program;
    return NULL;
}

/* Adds the program, unless another thread has made it meanwhile; the one that is kept. */
static tess_program *keep(tess_program *p, tess_program *made, const tess_typed *chosen, size_t n)
{
    Instance *entry = calloc(1, sizeof *entry);
    mtx_lock(&p->lock);
    tess_program *there = find(p, chosen, n);
    if (!there && entry) {
        *entry = (Instance){ p->instances, made };
        p->instances = entry;
    }
    mtx_unlock(&p->lock);
    if (!there && entry)
        return made;
    free(entry);
    tess_program_free(made);
    return there;
}

static tess_status instantiate(tess_program *p, const tess_typed *chosen, size_t n,
                               tess_program **instance, tess_diags **diags)
{
    const size_t before = p->options.n_types;
    tess_typed *types = calloc(before + n + 1, sizeof *types);
    if (!types)
        return TESS_ERROR_MEMORY;
    if (before)
        memcpy(types, p->options.types, before * sizeof *types);
    memcpy(types + before, chosen, n * sizeof *types);
    tess_options options = p->options;
    options.types = types;
    options.n_types = before + n;
    tess_program *made = NULL;
    const tess_status status = tess_compile(p->text, p->n_text, p->name, &options, &made, diags);
    free(types);
    if (status != TESS_OK)
        return status;
    *instance = keep(p, made, chosen, n);
    return *instance ? TESS_OK : TESS_ERROR_MEMORY;
}

tess_status tess_program_instance(tess_program *p, const tess_typed *types, size_t n,
                                  tess_program **instance, tess_diags **diags)
{
    if (diags)
        *diags = NULL;
    if (!p || !instance || (n && !types))
        return TESS_ERROR_ARGUMENT;
    *instance = p->is_open ? NULL : p;
    if (*instance)
        return TESS_OK;
    tess_typed *chosen = calloc(p->inputs.n + 1, sizeof *chosen);
    size_t n_chosen;
    if (!chosen)
        return TESS_ERROR_MEMORY;
    tess_status status = TESS_ERROR_ARGUMENT;
    mtx_lock(&p->lock);
    if (choose(p, types, n, chosen, &n_chosen)) {
        *instance = find(p, chosen, n_chosen);
        status = TESS_OK;
    }
    mtx_unlock(&p->lock);
    if (status == TESS_OK && !*instance)
        status = instantiate(p, chosen, n_chosen, instance, diags);
    free(chosen);
    return status;
}

void tessi_instances_free(tess_program *p)
{
    for (Instance *i = p->instances; i;) {
        Instance *next = i->next;
        tess_program_free(i->program);
        free(i);
        i = next;
    }
    p->instances = NULL;
}
