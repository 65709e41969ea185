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
static void expand(const Item *macro, const Pieces *list, Text *out)
{
    for (const char *at = macro->body; *at;) {
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

/* Behind the invocation of a macro at `at`, a word of n characters, and what all its definitions make of it; NULL where
 * it is none. */
static const char *invocation(const Prelude *p, Arena *a, const char *at, size_t n,
                              const char **text)
{
    const char *open = at + n + strspn(at + n, " \n");
    ItemList macros = { 0 };
    if (*open == '(')
        tessi_prelude_macros(p, a, at, n, &macros);
    if (!macros.n)
        return NULL;
    Pieces list = { 0 };
    const char *behind = arguments(a, open, &list);
    Text out;
    tessi_text_init(&out, a);
    VEC_FOREACH (uint32_t, i, &macros)
        expand(&p->items.at[*i], &list, &out);
    *text = tessi_text_str(&out);
    return behind;
}

/* ---- What is defined --------------------------------------------------------------------------------------------- */

static bool is_word(const char *at, size_t n, const char *word)
{
    return strlen(word) == n && memcmp(at, word, n) == 0;
}

/* A function or a table has the word before its first parenthesis, bracket or '=', a type the last word; a structure
 * also its tag. */
static void define_one(Prelude *p, const char *at, const char *end, uint32_t item)
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
            tessi_prelude_defines(p, at, n, item);
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
        tessi_prelude_defines(p, last, last_n, item);
}

static void define_all(Prelude *p, Arena *a, const char *at, const char *end, uint32_t item)
{
    while (at < end) {
        if (isspace((unsigned char)*at) || *at == ';') {
            at++;
            continue;
        }
        const size_t n = tessi_prelude_word(at);
        const char *text, *behind = n ? invocation(p, a, at, n, &text) : NULL;
        if (behind) {
            define_all(p, a, text, text + strlen(text), item);
            at = behind;
            continue;
        }
        behind = tessi_prelude_declaration_end(p, at);
        define_one(p, at, behind, item);
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
        define_all(p, scratch, item->text, item->text + item->n, i);
        tessi_scratch_close(scratch);
    }
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

/* What the macro at `at`, a word of n characters, makes of its arguments. */
static void mention_invocation(Prelude *p, const char *at, size_t n)
{
    Arena *scratch = tessi_scratch_open(p->arena);
    const char *text, *behind = invocation(p, scratch, at, n, &text);
    if (behind && is_new(p, at, behind))
        tessi_prelude_mention(p, text, strlen(text));
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
