/* front/check_scope: scopes and symbols, "did you mean", and the notes that say how an error was reached. */
#include "front/check.h"

#include <string.h>

Diag *tessi_check_noted(Checker *c, Diag *diag)
{
    int shown = 0;
    for (const CallFrame *f = c->frame; f && shown < 3; f = f->outer) {
        bool known = !tessi_check_depends_on_call(f->function);
        VEC_FOREACH (const DiagNote, n, &diag->notes) {
            known |= n->span.file == f->span.file && n->span.begin == f->span.begin;
        }
        if (known)
            continue;
        tessi_diag_note(c->d, diag, f->span, "in '%s', called here", f->function->name.text);
        shown++;
    }
    tessi_check_note_any(c, diag);
    return diag;
}

void tessi_check_limit(Checker *c, Span span, const char *what, int64_t most)
{
    if (!c->over_limit)
        CHECK_DIAG(c, DIAG_LIMIT, span, what, (long long)most);
    c->over_limit = true;
}

Scope *tessi_scope_new(Checker *c, Scope *outer)
{
    Scope *s = ARENA_NEW(c->a, Scope);
    s->outer = outer;
    return s;
}

typedef struct Query {
    const Scope *scope;
    const char *name;
} Query;

static bool is_named(void *user, uint32_t number)
{
    const Query *q = user;
    return tessi_streq(q->scope->syms.at[number - 1]->name.text, q->name);
}

static uint64_t hash_of(const char *name)
{
    return tessi_hash_bytes(0, name, strlen(name));
}

Sym *tessi_scope_find_here(const Scope *s, const char *name)
{
    if (!name)
        return NULL;
    uint32_t number = tessi_idmap_find(&s->by_name, hash_of(name), is_named, &(Query){ s, name });
    return number ? s->syms.at[number - 1] : NULL;
}

Sym *tessi_scope_find(const Scope *s, const char *name)
{
    for (; s; s = s->outer) {
        Sym *sym = tessi_scope_find_here(s, name);
        if (sym)
            return sym;
    }
    return NULL;
}

Sym *tessi_scope_add(Checker *c, Name name, SymKind kind)
{
    if (!name.text)
        return NULL;
    Sym *old = tessi_scope_find_here(c->at.scope, name.text);
    /* The original dialect binds a local again; what follows sees the new value. */
    if (old && c->forma && kind == SYM_LOCAL && old->kind == SYM_LOCAL)
        return old;
    if (old) {
        Diag *d = CHECK_DIAG(c, DIAG_DUPLICATE_NAME, name.span, name.text);
        tessi_diag_note(c->d, d, old->name.span, "'%s' is first defined here", name.text);
        if (!c->forma)
            tessi_diag_help(c->d, d, "a name is given once: take another one here");
        return NULL;
    }
    Sym *sym = ARENA_NEW(c->a, Sym);
    sym->name = name;
    sym->kind = kind;
    VEC_PUSH(c->a, &c->at.scope->syms, sym);
    tessi_idmap_add(c->a, &c->at.scope->by_name, hash_of(name.text), c->at.scope->syms.n);
    return sym;
}

void tessi_check_unknown_name(Checker *c, Name name)
{
    VEC(const char *) words = { 0 };
    if (!name.text)
        return;
    for (const Scope *s = c->at.scope; s; s = s->outer) {
        VEC_FOREACH (Sym *const, it, &s->syms) {
            VEC_PUSH(c->a, &words, (*it)->name.text);
        }
    }
    Diag *d = CHECK_DIAG(c, DIAG_UNKNOWN_NAME, name.span, name.text);
    const Sym *hidden = c->program ? tessi_scope_find_here(c->program, name.text) : NULL;
    const char *near = tessi_nearest_word(name.text, words.at, words.n);
    const char *foreign = c->forma ? NULL : tessi_foreign_name(name.text);
    if (foreign) {
        tessi_diag_help(c->d, d, "%s", foreign);
    } else if (hidden) {
        tessi_diag_note(c->d, d, hidden->name.span, "'%s' belongs to the program, defined here",
                        name.text);
        tessi_diag_help(c->d, d, "a function sees only its arguments: give it '%s' as one",
                        name.text);
    } else if (near) {
        tessi_diag_help(c->d, d, "did you mean '%s'?", near);
    } else if (tessi_check_function_named(c, name) || tessi_is_builtin(name.text)) {
        tessi_diag_help(c->d, d, "'%s' is a function: call it with arguments in parentheses",
                        name.text);
    } else if (c->at.sizes) {
        tessi_diag_help(c->d, d,
                        "a size that inputs bring is declared before them: 'parameter %s;'",
                        name.text);
    }
}

const AstFunction *tessi_check_function_named(const Checker *c, Name name)
{
    const AstFunction *elsewhere = NULL;
    VEC_FOREACH (AstFunction *const, f, &c->ast->functions) {
        if (!name.text || !(*f)->name.text || !tessi_streq((*f)->name.text, name.text))
            continue;
        if ((*f)->name.span.file == name.span.file)
            return *f;
        elsewhere = elsewhere ? elsewhere : *f;
    }
    return elsewhere;
}

bool tessi_check_is_defined(Checker *c, const AstExpr *e, const AstFunction *f)
{
    if (f->name.span.file != e->name.span.file || f->name.span.begin <= e->name.span.begin)
        return true;
    Diag *d = CHECK_DIAG(c, DIAG_USED_EARLY, e->name.span, f->name.text);
    tessi_diag_note(c->d, d, f->name.span, "'%s' is defined here", f->name.text);
    return false;
}

const AstStructDef *tessi_check_struct_named(const Checker *c, const char *name)
{
    VEC_FOREACH (AstStructDef *const, s, &c->ast->structs) {
        if ((*s)->name.text && name && tessi_streq((*s)->name.text, name))
            return *s;
    }
    return NULL;
}

void tessi_check_warn_unused(Checker *c, const Scope *s)
{
    if (c->d->n_errors) /* what failed may have been the use */
        return;
    VEC_FOREACH (Sym *const, it, &s->syms) {
        if ((*it)->warn_unused && !(*it)->used)
            CHECK_DIAG(c, DIAG_UNUSED_STAGE, (*it)->name.span, (*it)->name.text);
    }
}
