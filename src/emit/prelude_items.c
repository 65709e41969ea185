/* Splits the text of a prelude into items: declarations, definitions of macros, conditions. */
#include <ctype.h>
#include <string.h>

#include "emit/prelude_items.h"

size_t tessi_prelude_word(const char *at)
{
    size_t n = 0;
    if (isalpha((unsigned char)*at) || *at == '_')
        while (isalnum((unsigned char)at[n]) || at[n] == '_')
            n++;
    return n;
}

const char *tessi_prelude_skip(const char *at)
{
    if (at[0] == '/' && at[1] == '*') {
        const char *end = strstr(at + 2, "*/");
        return end ? end + 2 : at + strlen(at);
    }
    if (at[0] == '/' && at[1] == '/')
        return at + strcspn(at, "\n");
    if (*at != '"' && *at != '\'')
        return at;
    const char quote = *at++;
    while (*at && *at != quote)
        at += at[0] == '\\' && at[1] ? 2 : 1;
    return *at ? at + 1 : at;
}

/* ---- Names ------------------------------------------------------------------------------------------------------- */

typedef struct SameName {
    const Prelude *p;
    const char *at;
    size_t n;
} SameName;

static bool same_name(void *user, uint32_t id)
{
    const SameName *wanted = user;
    const char *name = wanted->p->names.at[id - 1].at;
    return strncmp(name, wanted->at, wanted->n) == 0 && !name[wanted->n];
}

static uint32_t find_name(const Prelude *p, const char *at, size_t n, uint64_t hash)
{
    SameName wanted = { p, at, n };
    return tessi_idmap_find(&p->by_name, hash, same_name, &wanted);
}

uint32_t tessi_prelude_find(const Prelude *p, const char *at, size_t n)
{
    const uint32_t id = find_name(p, at, n, tessi_hash_bytes(0, at, n));
    return id ? id - 1 : NO_NAME;
}

uint32_t tessi_prelude_name(Prelude *p, const char *at, size_t n)
{
    const uint64_t hash = tessi_hash_bytes(0, at, n);
    uint32_t id = find_name(p, at, n, hash);
    if (!id) {
        VEC_PUSH(p->arena, &p->names, ((Name){ .at = tessi_strndup(p->arena, at, n) }));
        id = p->names.n;
        tessi_idmap_add(p->arena, &p->by_name, hash, id);
    }
    return id - 1;
}

void tessi_prelude_macros(const Prelude *p, Arena *a, const char *at, size_t n, ItemList *out)
{
    const uint32_t id = find_name(p, at, n, tessi_hash_bytes(0, at, n));
    if (!id)
        return;
    VEC_FOREACH (const Definition, by, &p->names.at[id - 1].definitions) {
        if (by->item == NO_ITEM)
            continue;
        const Item *item = &p->items.at[by->item];
        if (item->kind != ITEM_DEFINE)
            continue;
        const size_t word = tessi_prelude_word(item->body);
        if (item->has_parameters)
            VEC_PUSH(a, out, by->item);
        else if (word && !item->body[word] && !(word == n && memcmp(item->body, at, n) == 0))
            tessi_prelude_macros(p, a, item->body, word, out);
    }
}

void tessi_prelude_defines(Prelude *p, const char *at, size_t n, Definition by)
{
    const uint32_t name = tessi_prelude_name(p, at, n);
    VEC_PUSH(p->arena, &p->names.at[name].definitions, by);
}

/* ---- Ends -------------------------------------------------------------------------------------------------------- */

/* Behind the last character of a line, with the lines that `\` continues. */
static const char *line_end(const char *at)
{
    for (;;) {
        at += strcspn(at, "\n\\/\"'");
        if (!*at || *at == '\n')
            return at;
        const char *behind = tessi_prelude_skip(at);
        at = behind > at ? behind : at[0] == '\\' && at[1] ? at + 2 : at + 1;
    }
}

const char *tessi_prelude_behind_blanks(const char *at)
{
    for (;;) {
        const char *behind = at;
        if (isspace((unsigned char)*at))
            behind = at + 1;
        else if (at[0] == '\\' && at[1] == '\n')
            behind = at + 2;
        else if (at[0] == '/')
            behind = tessi_prelude_skip(at);
        if (behind == at)
            return at;
        at = behind;
    }
}

const char *tessi_prelude_declaration_end(const Prelude *p, const char *at)
{
    const size_t first = tessi_prelude_word(at);
    const bool is_type = first == 7 && memcmp(at, "typedef", first) == 0;
    const char *behind_first = tessi_prelude_behind_blanks(at + first);
    ItemList macros = { 0 };
    if (*behind_first == '(')
        tessi_prelude_macros(p, p->arena, at, first, &macros);
    const bool invokes = macros.n > 0;
    bool has_parentheses = false;
    int depth = 0;
    for (;;) {
        at += strcspn(at, "/\"'#(){}[];");
        const char *behind = tessi_prelude_skip(at);
        if (behind > at) {
            at = behind;
            continue;
        }
        const char c = *at;
        if (!c)
            return at;
        if (c == '#' && at[1] != '#' && at[-1] == '\n') {
            at = line_end(at);
            continue;
        }
        at++;
        depth += (c == '(' || c == '{' || c == '[') - (c == ')' || c == '}' || c == ']');
        has_parentheses |= c == '(';
        if (depth > 0)
            continue;
        if (c == ';' || (c == ')' && invokes) || (c == '}' && has_parentheses && !is_type))
            return at;
    }
}

/* ---- Items ------------------------------------------------------------------------------------------------------- */

typedef struct Splitter {
    Prelude *p;
    const char *at;
    const char *comment;
    size_t comment_n;
    bool apart;
    uint32_t around;
    /* Conditions that are left out, and their #endif with them: how many of those that are open, innermost last. */
    VEC(bool) left_out;
} Splitter;

static uint32_t add(Splitter *s, ItemKind kind, const char *end)
{
    Item item = { .kind = kind,
                  .comment = s->comment,
                  .comment_n = s->comment_n,
                  .text = s->at,
                  .n = (size_t)(end - s->at),
                  .around = s->around,
                  .apart = s->apart };
    VEC_PUSH(s->p->arena, &s->p->items, item);
    s->at = end;
    s->comment_n = 0;
    s->apart = false;
    return s->p->items.n - 1;
}

/* The text between the places without comments and continuations, blanks as one. */
static const char *plain(Arena *a, const char *at, const char *end)
{
    Text out = tessi_text_new(a);
    while (at < end) {
        const char *behind = tessi_prelude_behind_blanks(at);
        if (behind > at) {
            if (out.n && behind < end)
                tessi_text_add(&out, " ");
            at = behind;
            continue;
        }
        behind = tessi_prelude_skip(at);
        if (behind == at)
            behind += 1 + strcspn(at + 1, " \t\n\\/\"'");
        behind = behind < end ? behind : end;
        tessi_text_addn(&out, at, (size_t)(behind - at));
        at = behind;
    }
    return tessi_text_str(&out);
}

/* Whether the text is a declaration that may go when nobody wants what it declares. */
static bool is_member(const Prelude *p, const char *at)
{
    const size_t n = tessi_prelude_word(at);
    if ((n == 7 && memcmp(at, "TESS_FN", n) == 0) || (n == 7 && memcmp(at, "typedef", n) == 0))
        return true;
    ItemList macros = { 0 };
    bool all = false;
    if (*tessi_prelude_behind_blanks(at + n) == '(')
        tessi_prelude_macros(p, p->arena, at, n, &macros);
    VEC_FOREACH (const uint32_t, i, &macros) {
        all = p->items.at[*i].members.n > 0;
        if (!all)
            break;
    }
    return all;
}

/* Takes the body of a macro between the places apart where it is nothing but declarations. */
static void find_members(Prelude *p, Item *item, const char *at, const char *end)
{
    while (*tessi_prelude_behind_blanks(at) && tessi_prelude_behind_blanks(at) < end) {
        const char *begin = tessi_prelude_behind_blanks(at);
        const char *behind = is_member(p, begin) ? tessi_prelude_declaration_end(p, begin) : NULL;
        if (!behind || behind > end) {
            item->members.n = 0;
            return;
        }
        VEC_PUSH(p->arena, &item->members,
                 ((Member){ .text = at,
                            .n = (size_t)(behind - at),
                            .body = plain(p->arena, begin, behind) }));
        at = behind;
    }
}

static void add_define(Splitter *s, const char *name, const char *end)
{
    Prelude *p = s->p;
    const size_t n = tessi_prelude_word(name);
    const uint32_t index = add(s, ITEM_DEFINE, end);
    Item *item = &p->items.at[index];
    const char *at = name + n;
    if (*at == '(') {
        item->has_parameters = true;
        for (at = tessi_prelude_behind_blanks(at + 1); *at && *at != ')';
             at = tessi_prelude_behind_blanks(at + 1)) {
            const size_t length = tessi_prelude_word(at);
            VEC_PUSH(p->arena, &item->parameters, tessi_strndup(p->arena, at, length));
            at = tessi_prelude_behind_blanks(at + length);
            if (*at == ')')
                break;
        }
        at++;
    }
    item->body = plain(p->arena, at, end);
    if (item->has_parameters)
        find_members(p, item, at, end);
    tessi_prelude_defines(p, name, n, (Definition){ index, NO_MADE });
}

/* Behind the #endif that ends the condition whose first line ends at `at`; whether it has an #else or #elif. */
static const char *condition_end(const char *at, bool *has_else)
{
    *has_else = false;
    for (int depth = 1; *at && depth;) {
        at = *at == '\n' ? at + 1 : at;
        const char *word = at + 1 + strspn(at + 1, " ");
        if (*at == '#') {
            *has_else |= depth == 1 && strncmp(word, "el", 2) == 0;
            depth += (strncmp(word, "if", 2) == 0) - (strncmp(word, "endif", 5) == 0);
        }
        at = line_end(at);
    }
    return at;
}

/* Whether the condition says #ifndef of a name that the next line defines, without a value. */
static bool is_guard(const char *name, size_t n, const char *end)
{
    const char *next = tessi_prelude_behind_blanks(end), word[] = "#define ";
    return strncmp(next, word, strlen(word)) == 0 && strncmp(next + strlen(word), name, n) == 0
           && next[strlen(word) + n] == '\n';
}

/* Of names outside of any condition. */
static bool is_defined(Prelude *p, const char *name, size_t n)
{
    const uint32_t id = tessi_prelude_name(p, name, n);
    VEC_FOREACH (const Definition, by, &p->names.at[id].definitions)
        if (p->items.at[by->item].around == NO_ITEM)
            return true;
    return false;
}

static void begin_condition(Splitter *s, const char *word, const char *end)
{
    static const char ours[] = "TESSERA_PRELUDE_"; /* nobody else defines these */
    const char *name = word + strcspn(word, " ") + 1;
    const size_t n = tessi_prelude_word(name);
    bool has_else;
    const char *behind = condition_end(end, &has_else);
    const bool unless = strncmp(word, "ifndef ", 7) == 0 && !has_else;
    if (unless && is_defined(s->p, name, n)) {
        s->at = behind;
        s->comment_n = 0;
        return;
    }
    const bool left_out =
        unless && (is_guard(name, n, end) || strncmp(name, ours, strlen(ours)) == 0);
    VEC_PUSH(s->p->arena, &s->left_out, left_out);
    if (left_out) {
        s->at = end;
        s->comment_n = 0;
    } else {
        s->around = add(s, ITEM_IF, end);
    }
}

static void end_condition(Splitter *s, const char *end)
{
    if (!s->left_out.n || s->left_out.at[--s->left_out.n]) {
        s->at = end;
        return;
    }
    const uint32_t index = add(s, ITEM_ENDIF, end);
    s->around = s->p->items.at[s->p->items.at[index].around].around;
}

static void directive(Splitter *s)
{
    const char *word = s->at + 1 + strspn(s->at + 1, " "), *end = line_end(s->at);
    if (strncmp(word, "define ", 7) == 0)
        add_define(s, word + 7 + strspn(word + 7, " "), end);
    else if (strncmp(word, "if", 2) == 0)
        begin_condition(s, word, end);
    else if (strncmp(word, "el", 2) == 0)
        add(s, ITEM_ELSE, end);
    else if (strncmp(word, "endif", 5) == 0)
        end_condition(s, end);
    else
        add(s, ITEM_LINE, end);
}

static void comment(Splitter *s)
{
    static const char head[] = "/* ----";
    const char *end = tessi_prelude_skip(s->at);
    if (strncmp(s->at, head, strlen(head)) == 0) {
        add(s, ITEM_SECTION, end);
        return;
    }
    if (!s->comment_n)
        s->comment = s->at;
    s->comment_n = (size_t)(end - s->comment);
    s->at = end;
}

void tessi_prelude_split(Prelude *p, const char *text)
{
    Splitter s = { .p = p, .at = text, .around = NO_ITEM };
    while (*s.at) {
        if (*s.at == '\n' && s.at[1] == '\n') {
            s.apart = true;
            s.comment_n = 0; /* of the file, not of what follows */
        }
        if (isspace((unsigned char)*s.at))
            s.at++;
        else if (s.at[0] == '/' && s.at[1] == '*')
            comment(&s);
        else if (*s.at == '#')
            directive(&s);
        else
            add(&s, ITEM_DECLARATION, tessi_prelude_declaration_end(p, s.at));
    }
}
