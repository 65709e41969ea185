/* Names in generated text: legal, nothing that means something there (reserved.def), and unique in their scope. */
#include <string.h>

#include "emit/c_private.h"

/* ---- Reserved names -------------------------------------------------------------------------- */

typedef enum Kind { EXACTLY, NUMBERED, BEGINNING, ENDING, BEFORE_CAPITAL } Kind;
typedef struct Reserved {
    Kind kind;
    CTexts texts;
    const char *names;   /* separated by blanks */
    const char *numbers; /* NUMBERED: likewise */
} Reserved;

static const Reserved reserved[] = {
#define WORDS(text, names)          { EXACTLY, C_IN_##text, names, "" },
#define TYPES(text, names, numbers) { NUMBERED, C_IN_##text, names, numbers },
#define BEGINNINGS(text, names)     { BEGINNING, C_IN_##text, names, "" },
#define ENDINGS(text, names)        { ENDING, C_IN_##text, names, "" },
#define CAPITALS(text, names)       { BEFORE_CAPITAL, C_IN_##text, names, "" },
#include "emit/reserved.def"
};
enum { N_RESERVED = sizeof reserved / sizeof *reserved };

/* The next word of a list, whose length is *n; NULL at its end. */
static const char *next_word(const char **list, size_t *n)
{
    const char *word = *list + strspn(*list, " ");
    *n = strcspn(word, " ");
    *list = word + *n;
    return *n ? word : NULL;
}

static bool in_list(const char *list, const char *name, size_t length)
{
    size_t n;
    for (const char *word; (word = next_word(&list, &n));)
        if (n == length && memcmp(word, name, n) == 0)
            return true;
    return false;
}

static bool is_numbered(const Reserved *r, const char *name)
{
    const size_t n = strcspn(name, "0123456789");
    return name[n] && in_list(r->names, name, n) && in_list(r->numbers, name + n, strlen(name + n));
}

/* What begins or ends a reserved name stands in `r`; words are looked up elsewhere. */
static bool has_pattern(const Reserved *r, const char *name)
{
    const size_t length = strlen(name);
    const char *list = r->names, *word;
    size_t n;
    if (r->kind == NUMBERED)
        return is_numbered(r, name);
    while (r->kind != EXACTLY && (word = next_word(&list, &n))) {
        const char *at = r->kind == ENDING ? name + length - n : name;
        if (n > length || memcmp(word, at, n) != 0)
            continue;
        if (r->kind != BEFORE_CAPITAL || (name[n] >= 'A' && name[n] <= 'Z'))
            return true;
    }
    return false;
}

bool tessi_c_is_public(const char *name)
{
    const size_t n = strlen(name);
    const bool suffixed = n > 1 && (name[n - 1] == 'f' || name[n - 1] == 'l');
    for (int i = 0; i < N_RESERVED; i++) {
        const Reserved *r = &reserved[i];
        if (r->kind == BEFORE_CAPITAL && has_pattern(r, name))
            return true;
        if (r->kind == EXACTLY && r->texts == C_IN_PUBLIC
            && (in_list(r->names, name, n) || (suffixed && in_list(r->names, name, n - 1))))
            return true;
    }
    return false;
}

/* ---- Entries --------------------------------------------------------------------------------- */

typedef struct Query {
    const CNames *names;
    const char *name;
    size_t n;
} Query;

static bool same_entry(void *user, uint32_t id)
{
    const Query *q = user;
    const char *known = q->names->entries.at[id].name;
    return strlen(known) == q->n && memcmp(known, q->name, q->n) == 0;
}

static uint32_t find_entry(const CNames *names, const char *name, size_t n, uint64_t hash)
{
    return tessi_idmap_find(&names->map, hash, same_entry, &(Query){ names, name, n });
}

static uint32_t entry_of(CNames *names, const char *name, size_t n)
{
    const uint64_t h = tessi_hash_bytes(0, name, n);
    uint32_t id = find_entry(names, name, n, h);
    if (!id) {
        const CNameEntry fresh = { .name = tessi_strndup(names->arena, name, n), .next = 2 };
        VEC_PUSH(names->arena, &names->entries, fresh);
        id = names->entries.n - 1;
        tessi_idmap_add(names->arena, &names->map, h, id);
    }
    return id;
}

void tessi_c_names_init(CNames *names, CTexts texts, Arena *a)
{
    memset(names, 0, sizeof *names);
    names->arena = a;
    names->texts = texts;
    VEC_PUSH(a, &names->entries, (CNameEntry){ 0 });
    for (int i = 0; i < N_RESERVED; i++) {
        const char *list = reserved[i].names, *word;
        size_t n;
        if (reserved[i].kind != EXACTLY || !(reserved[i].texts & texts))
            continue;
        while ((word = next_word(&list, &n))) {
            const uint32_t id = entry_of(names, word, n);
            names->entries.at[id].is_reserved = true;
        }
    }
}

static bool is_taken(const CNames *names, const char *name)
{
    const size_t n = strlen(name);
    const uint32_t id = find_entry(names, name, n, tessi_hash_bytes(0, name, n));
    bool taken = id && names->entries.at[id].is_reserved;
    for (int i = 0; i < N_RESERVED && !taken; i++)
        taken = reserved[i].texts & names->texts && has_pattern(&reserved[i], name);
    return taken;
}

/* ---- Names ----------------------------------------------------------------------------------- */

/* Letters, digits and underscores stay; runs of anything else become one underscore, but not at the ends. */
static const char *legal(const CNames *names, const char *wanted)
{
    Text t = tessi_text_new(names->arena);
    bool gap = false;
    for (const char *c = wanted ? wanted : ""; *c; c++) {
        bool letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z');
        bool digit = *c >= '0' && *c <= '9';
        if (!letter && !digit) {
            gap = true;
            continue;
        }
        if (digit && !t.n)
            tessi_text_add(&t, "v");
        tessi_text_add(&t, gap && t.n ? "_" : "");
        tessi_text_addn(&t, c, 1);
        gap = false;
    }
    if (!t.n)
        tessi_text_add(&t, "v");
    if (is_taken(names, tessi_text_str(&t)))
        tessi_text_add(&t,
                       strncmp(t.at, "tess", 4) == 0 || strncmp(t.at, "TESS", 4) == 0 ? "" : "_");
    const char *name = tessi_text_str(&t);
    return is_taken(names, name) ? tessi_sprintf(names->arena, "v_%s", name) : name;
}

const char *tessi_c_name(CNames *names, const char *wanted)
{
    const char *name = legal(names, wanted);
    const uint32_t base = entry_of(names, name, strlen(name));
    uint32_t id = base;
    CNameUse use = { .base = base, .base_next = names->entries.at[base].next };
    while (names->entries.at[id].in_scope) {
        uint32_t number = names->entries.at[base].next++;
        const char *numbered =
            tessi_sprintf(names->arena, "%s_%u", names->entries.at[base].name, number);
        id = entry_of(names, numbered, strlen(numbered));
    }
    use.entry = id;
    names->entries.at[id].in_scope = true;
    VEC_PUSH(names->arena, &names->uses, use);
    return names->entries.at[id].name;
}

uint32_t tessi_c_names_mark(const CNames *names)
{
    return names->uses.n;
}

void tessi_c_names_leave(CNames *names, uint32_t mark)
{
    while (names->uses.n > mark) {
        CNameUse use = names->uses.at[--names->uses.n];
        names->entries.at[use.entry].in_scope = false;
        names->entries.at[use.base].next = use.base_next;
    }
}
