/* Which names the items of a prelude define and mention, through its macros. */
#include <ctype.h>
#include <string.h>

#include "emit/prelude_items.h"

/* ---- Invocations ------------------------------------------------------------------------------------------------- */

typedef struct Piece {
    const char *at;
    size_t n;
} Piece;
typedef VEC(Piece) Pieces;

/* The arguments of an invocation whose '(' stands at `at`; returns what is behind its ')'. */
static const char *arguments(Arena *a, const char *at, Pieces *out)
{
    int depth = 0;
    const char *begin = at + 1;
    for (; *at; at++) {
        const char *behind = tessi_prelude_skip(at);
        if (behind > at) {
            at = behind - 1;
            continue;
        }
        depth += (*at == '(' || *at == '{') - (*at == ')' || *at == '}');
        if (depth > 1 || !(depth == 0 || *at == ','))
            continue;
        while (begin < at && isspace((unsigned char)*begin))
            begin++;
        const char *end = at;
        while (end > begin && isspace((unsigned char)end[-1]))
            end--;
        VEC_PUSH(a, out, ((Piece){ begin, (size_t)(end - begin) }));
        begin = at + 1;
        if (depth == 0)
            return at + 1;
    }
    return at;
}

static const Piece *argument_of(const Item *macro, const Pieces *list, const char *at, size_t n)
{
    for (uint32_t i = 0; i < macro->parameters.n && i < list->n; i++)
        if (strncmp(macro->parameters.at[i], at, n) == 0 && !macro->parameters.at[i][n])
            return &list->at[i];
    return NULL;
}

/* The body with arguments in the place of parameters, words joined at ##. */
static void expand(const Item *macro, const char *body, const Pieces *list, Text *out)
{
    for (const char *at = body; *at;) {
        const size_t n = tessi_prelude_word(at);
        const char *behind = tessi_prelude_skip(at);
        if (n) {
            const Piece *given = argument_of(macro, list, at, n);
            tessi_text_addn(out, given ? given->at : at, given ? given->n : n);
            at += n;
        } else if (behind > at || isdigit((unsigned char)*at)) {
            while (behind == at || isalnum((unsigned char)*behind)) /* a number with its letters */
                behind++;
            tessi_text_addn(out, at, (size_t)(behind - at));
            at = behind;
        } else if (at[0] == '#' && at[1] == '#') {
            while (out->n && out->at[out->n - 1] == ' ')
                out->at[--out->n] = '\0';
            for (at += 2; *at == ' ';)
                at++;
        } else {
            tessi_text_addn(out, at++, 1);
        }
    }
    tessi_text_add(out, "\n");
}

/* An invocation of a macro: the definitions of that, its arguments, what stands behind it. */
typedef struct Invocation {
    ItemList macros;
    Pieces list;
    const char *behind;
} Invocation;

/* Whether the word of n characters at `at` begins one. */
static bool find_invocation(const Prelude *p, Arena *a, const char *at, size_t n, Invocation *out)
{
    const char *open = at + n + strspn(at + n, " \n");
    *out = (Invocation){ 0 };
    if (*open == '(')
        tessi_prelude_macros(p, a, at, n, &out->macros);
    if (out->macros.n)
        out->behind = arguments(a, open, &out->list);
    return out->macros.n > 0;
}

/* What those of its definitions that have no members make of it. */
static const char *expanded(const Prelude *p, Arena *a, const Invocation *x)
{
    Text out = tessi_text_new(a);
    VEC_FOREACH (uint32_t, i, &x->macros)
        if (!p->items.at[*i].members.n)
            expand(&p->items.at[*i], p->items.at[*i].body, &x->list, &out);
    return tessi_text_str(&out);
}

/* ---- What is defined --------------------------------------------------------------------------------------------- */

static bool is_word(const char *at, size_t n, const char *word)
{
    return strlen(word) == n && memcmp(at, word, n) == 0;
}

/* A function or a table has the word before its first parenthesis, bracket or '=', a type the last word; a structure
 * also its tag. */
static void define_one(Prelude *p, const char *at, const char *end, Definition by)
{
    const bool is_type = is_word(at, tessi_prelude_word(at), "typedef");
    const char *last = at;
    size_t last_n = 0;
    bool tag = false;
    int depth = 0;
    while (at < end) {
        const size_t n = tessi_prelude_word(at);
        const char *behind = tessi_prelude_skip(at);
        if (tag && n)
            tessi_prelude_defines(p, at, n, by);
        tag = n ? is_word(at, n, "struct") || is_word(at, n, "enum") || is_word(at, n, "union")
                : tag && *at == ' ';
        if (n && depth == 0 && !is_word(at, n, "__attribute__")) {
            last = at;
            last_n = n;
        }
        if (!is_type && depth == 0 && (*at == '(' || *at == '[' || *at == '='))
            break;
        depth +=
            (*at == '(' || *at == '{' || *at == '[') - (*at == ')' || *at == '}' || *at == ']');
        at = n ? at + n : behind > at ? behind : at + 1;
    }
    if (last_n)
        tessi_prelude_defines(p, last, last_n, by);
}

static void define_all(Prelude *p, Arena *a, const char *at, const char *end, Definition by);

/* What an invocation defines, all of it or member by member. */
static void define_invocation(Prelude *p, Arena *a, const Invocation *x, Definition by)
{
    const char *text = expanded(p, a, x);
    define_all(p, a, text, text + strlen(text), by);
    VEC_FOREACH (const uint32_t, i, &x->macros)
        for (uint32_t k = 0; k < p->items.at[*i].members.n; k++) {
            Text out = tessi_text_new(p->arena);
            expand(&p->items.at[*i], p->items.at[*i].members.at[k].body, &x->list, &out);
            text = tessi_text_str(&out);
            VEC_PUSH(p->arena, &p->made, ((Made){ text, by.item, *i, k, by.made, false }));
            define_all(p, a, text, text + strlen(text), (Definition){ by.item, p->made.n - 1 });
        }
}

static void define_all(Prelude *p, Arena *a, const char *at, const char *end, Definition by)
{
    while (at < end) {
        if (isspace((unsigned char)*at) || *at == ';') {
            at++;
            continue;
        }
        const size_t n = tessi_prelude_word(at);
        Invocation x;
        if (n && find_invocation(p, a, at, n, &x)) {
            define_invocation(p, a, &x, by);
            at = x.behind;
            continue;
        }
        const char *behind = tessi_prelude_declaration_end(p, at);
        define_one(p, at, behind, by);
        at = behind;
    }
}

void tessi_prelude_define(Prelude *p)
{
    for (uint32_t i = 0; i < p->items.n; i++) {
        const Item *item = &p->items.at[i];
        if (item->kind != ITEM_DECLARATION)
            continue;
        Arena *scratch = tessi_scratch_open(p->arena);
        define_all(p, scratch, item->text, item->text + item->n, (Definition){ i, NO_MADE });
        tessi_scratch_close(scratch);
    }
}

static bool has_members(const Prelude *p, const Invocation *x)
{
    VEC_FOREACH (const uint32_t, i, &x->macros)
        if (p->items.at[*i].members.n)
            return true;
    return false;
}

void tessi_prelude_define_program(Prelude *p, const char *program)
{
    Arena *scratch = tessi_scratch_open(p->arena);
    for (const char *at = program; *at;) {
        const size_t n = tessi_prelude_word(at);
        const char *behind = tessi_prelude_skip(at);
        Invocation x;
        if (n && find_invocation(p, scratch, at, n, &x) && has_members(p, &x)) {
            define_invocation(p, scratch, &x, (Definition){ NO_ITEM, NO_MADE });
            at = x.behind;
        } else {
            at = n ? at + n : behind > at ? behind : at + 1;
        }
    }
    tessi_scratch_close(scratch);
}

/* ---- What is mentioned ------------------------------------------------------------------------------------------- */

static bool always(void *user, uint32_t id)
{
    (void)user;
    (void)id;
    return true;
}

/* Whether this is the first invocation with these letters. */
static bool is_new(Prelude *p, const char *at, const char *end)
{
    const uint64_t hash = tessi_hash_bytes(0, at, (size_t)(end - at));
    if (tessi_idmap_find(&p->invocations, hash, always, NULL))
        return false;
    tessi_idmap_add(p->arena, &p->invocations, hash, 1);
    return true;
}

/* What the macro at `at`, a word of n characters, makes of its arguments; its members speak for themselves. */
static void mention_invocation(Prelude *p, const char *at, size_t n)
{
    Arena *scratch = tessi_scratch_open(p->arena);
    Invocation x;
    if (find_invocation(p, scratch, at, n, &x) && is_new(p, at, x.behind)) {
        const char *text = expanded(p, scratch, &x);
        tessi_prelude_mention(p, text, strlen(text));
    }
    tessi_scratch_close(scratch);
}

void tessi_prelude_mention(Prelude *p, const char *text, size_t n)
{
    for (const char *at = text; at < text + n;) {
        const size_t length = tessi_prelude_word(at);
        const char *behind = tessi_prelude_skip(at);
        if (!length) {
            if (isdigit((unsigned char)*at))
                while (isalnum((unsigned char)*behind))
                    behind++;
            at = behind > at ? behind : at + 1;
            continue;
        }
        const uint32_t name = tessi_prelude_find(p, at, length);
        if (name != NO_NAME && !p->names.at[name].wanted) {
            p->names.at[name].wanted = true;
            VEC_PUSH(p->arena, &p->to_do, name);
        }
        if (name != NO_NAME)
            mention_invocation(p, at, length);
        at += length;
    }
}
