/* What a program names of a library: its text with blanks in the place of the functions that nothing reaches by name,
 * so that a run does not read hundreds of functions for the sake of two. Lines and columns stay where they are. */
#include <string.h>

#include "front/ast.h"

/* A function of the library, from the first word of its definition to its brace. */
typedef struct Item {
    uint32_t hash, begin, end, next; /* next: of the same bucket, counted from 1 */
    bool kept;
} Item;

enum { BUCKETS = 1024, FNV = 16777619 };

typedef struct Named {
    const char *text;
    uint32_t n;
    VEC(Item) items;
    uint32_t buckets[BUCKETS];
    VEC(uint32_t) open; /* kept, but not searched yet */
    Arena *arena;
} Named;

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_of_word(char c)
{
    return is_letter(c) || (c >= '0' && c <= '9');
}

/* The word that begins at `at`; returns its end. */
static uint32_t word(const char *text, uint32_t at, uint32_t n, uint32_t *hash)
{
    uint32_t h = 2166136261u;
    for (; at < n && is_of_word(text[at]); at++)
        h = (h ^ (unsigned char)text[at]) * FNV;
    *hash = h;
    return at;
}

/* Behind a comment or a text in quotes that begins at `at`; `at` itself where neither does. */
static uint32_t skip(const char *text, uint32_t at, uint32_t n)
{
    if (text[at] == '/' && at + 1 < n && text[at + 1] == '/') {
        const char *end = memchr(text + at, '\n', n - at);
        return end ? (uint32_t)(end - text) : n;
    }
    if (text[at] == '/' && at + 1 < n && text[at + 1] == '*') {
        for (at += 2; at + 1 < n && !(text[at] == '*' && text[at + 1] == '/');)
            at++;
        return at + 2 < n ? at + 2 : n;
    }
    if (text[at] == '"') {
        for (at++; at < n && text[at] != '"' && text[at] != '\n';)
            at++;
        return at < n ? at + 1 : n;
    }
    return at;
}

static void keep(Named *x, uint32_t hash)
{
    for (uint32_t i = x->buckets[hash % BUCKETS]; i; i = x->items.at[i - 1].next) {
        Item *item = &x->items.at[i - 1];
        if (item->hash == hash && !item->kept) {
            item->kept = true;
            VEC_PUSH(x->arena, &x->open, i - 1);
        }
    }
}

/* Keeps what words of a text name. */
static void keep_named(Named *x, const char *text, uint32_t at, uint32_t n)
{
    while (at < n) {
        const uint32_t behind = skip(text, at, n);
        uint32_t hash;
        if (behind != at) {
            at = behind;
        } else if (is_of_word(text[at])) {
            at = word(text, at, n, &hash);
            keep(x, hash);
        } else {
            at++;
        }
    }
}

/* What begins at `at`, outside of all braces, to where it ends. A function is what has a name before its first
 * parenthesis and a brace behind; all else (constants, masks, structs) ends with a semicolon or a brace and stays. */
static uint32_t read_item(Named *x, uint32_t at)
{
    Item item = { .begin = at };
    uint32_t last = 0;
    int depth = 0;
    bool is_function = false, has_value = false, closed = false;
    while (at < x->n) {
        const uint32_t behind = skip(x->text, at, x->n);
        const char c = x->text[at];
        if (behind != at) {
            at = behind;
            continue;
        }
        if (is_of_word(c)) {
            at = word(x->text, at, x->n, &last);
            continue;
        }
        at++;
        has_value |= c == '=' && !depth && !is_function;
        if (c == '(' && !depth && !is_function && !has_value && last) {
            is_function = true;
            item.hash = last;
        }
        depth += c == '(' || c == '{' || c == '[';
        depth -= (c == ')' || c == '}' || c == ']') && depth > 0;
        closed = !depth && c == '}' && !has_value;
        if (closed || (!depth && c == ';'))
            break;
    }
    item.end = at;
    if (is_function && closed) {
        uint32_t *bucket = &x->buckets[item.hash % BUCKETS];
        item.next = *bucket;
        VEC_PUSH(x->arena, &x->items, item);
        *bucket = x->items.n;
    }
    return at;
}

const char *tessi_use_named(Arena *a, const SourceMap *sources, const char *text, size_t n)
{
    if (n > UINT32_MAX / 2)
        return text;
    Named *x = ARENA_NEW(a, Named);
    x->arena = a;
    x->text = text;
    x->n = (uint32_t)n;
    for (uint32_t at = 0; at < x->n;) {
        const uint32_t behind = skip(text, at, x->n);
        at = behind != at ? behind : is_of_word(text[at]) ? read_item(x, at) : at + 1;
    }
    VEC_FOREACH (const SourceFile, file, &sources->files) {
        if (file->text)
            keep_named(x, file->text, 0, (uint32_t)file->n);
    }
    uint32_t from = 0;
    VEC_FOREACH (const Item, item, &x->items) { /* what stays by itself */
        keep_named(x, text, from, item->begin);
        from = item->end;
    }
    keep_named(x, text, from, x->n);
    while (x->open.n) {
        const Item item = x->items.at[x->open.at[--x->open.n]];
        keep_named(x, text, item.begin, item.end);
    }
    char *made = tessi_strndup(a, text, n);
    VEC_FOREACH (const Item, item, &x->items) {
        for (uint32_t at = item->begin; at < item->end && !item->kept; at++)
            made[at] = text[at] == '\n' ? '\n' : ' ';
    }
    return made;
}
