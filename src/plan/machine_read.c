/* Machine descriptions: lines `key = value`, comments from '#' to the end of the line, blank lines. */
#include <string.h>

#include "plan/machine_text.h"

typedef struct Slice {
    const char *at;
    size_t n;
} Slice;

typedef struct MachineReader {
    Arena *arena;
    Diags *diags;
    Machine *m;
    int line;
    int seen_at[N_MACHINE_KEYS]; /* line of each key; 0 = not yet */
} MachineReader;

static bool bad(MachineReader *r, const char *fmt, ...) TESS_PRINTF(2, 3);
static bool bad(MachineReader *r, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const char *what = tessi_vsprintf(r->arena, fmt, args);
    va_end(args);
    tessi_diag(r->diags, DIAG_BAD_MACHINE_TEXT, (Span){ 0 },
               tessi_sprintf(r->arena, "line %d: %s", r->line, what));
    return false;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static Slice trimmed(Slice s)
{
    while (s.n && is_blank(s.at[0])) {
        s.at++;
        s.n--;
    }
    while (s.n && is_blank(s.at[s.n - 1]))
        s.n--;
    return s;
}

/* Up to a '#' that begins the line or a word. */
static Slice without_comment(Slice s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.at[i] == '#' && (i == 0 || is_blank(s.at[i - 1]) || s.at[i - 1] == '='))
            s.n = i;
    return s;
}

static bool read_int(Slice s, int64_t *out)
{
    int64_t x = 0;
    if (!s.n)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        if (s.at[i] < '0' || s.at[i] > '9' || !tessi_mul_i64(x, 10, &x)
            || !tessi_add_i64(x, s.at[i] - '0', &x))
            return false;
    }
    *out = x;
    return true;
}

/* digits [. digits] [e [+-] digits], what tessi_read_real can read. */
static bool is_decimal(Slice s)
{
    size_t i = 0, digits = 0;
    while (i < s.n && s.at[i] >= '0' && s.at[i] <= '9')
        digits++, i++;
    if (i < s.n && s.at[i] == '.' && digits)
        for (i++; i < s.n && s.at[i] >= '0' && s.at[i] <= '9';)
            digits++, i++;
    if (i < s.n && digits && (s.at[i] == 'e' || s.at[i] == 'E')) {
        i++;
        if (i < s.n && (s.at[i] == '+' || s.at[i] == '-'))
            i++;
        for (digits = 0; i < s.n && s.at[i] >= '0' && s.at[i] <= '9'; i++)
            digits++;
    }
    return digits && i == s.n && s.n <= 255;
}

static int key_by_name(MachineReader *r, Slice name)
{
    for (int k = 0; k < N_MACHINE_KEYS; k++) {
        const char *key = tessi_machine_key(k)->name;
        if (strlen(key) == name.n && memcmp(key, name.at, name.n) == 0)
            return k;
    }
    const char *names[N_MACHINE_KEYS];
    for (int k = 0; k < N_MACHINE_KEYS; k++)
        names[k] = tessi_machine_key(k)->name;
    size_t shown = name.n > 40 ? 40 : name.n;
    const char *word = tessi_strndup(r->arena, name.at, shown);
    const char *near = tessi_nearest_word(word, names, N_MACHINE_KEYS);
    if (near)
        bad(r, "there is no key '%s'; did you mean '%s'?", word, near);
    else
        bad(r, "there is no key '%s'", word);
    return -1;
}

static bool is_word_of(Slice s, const char *words)
{
    for (const char *at = words; *at; at += strspn(at, " ")) {
        const size_t n = strcspn(at, " ");
        if (n == s.n && memcmp(at, s.at, n) == 0)
            return true;
        at += n;
    }
    return false;
}

static bool set_value(MachineReader *r, const MachineKey *key, Slice value)
{
    char *at = (char *)r->m + key->offset;
    const char *shown = tessi_strndup(r->arena, value.at, value.n > 40 ? 40 : value.n);
    switch (key->kind) {
    case MACHINE_TEXT: {
        if (!value.n && !key->may_be_empty)
            return bad(r, "the %s is empty", key->name);
        if (*key->words && !is_word_of(value, key->words))
            return bad(r, "%s is one of the words %s, not '%s'", key->name, key->words, shown);
        const char *text = tessi_strndup(r->arena, value.at, value.n);
        memcpy(at, &text, sizeof text);
        return true;
    }
    case MACHINE_INT: {
        int64_t x;
        if (!read_int(value, &x) || x < key->least_int || x > key->most_int)
            return bad(r, "%s is an integer from %lld to %lld, not '%s'", key->name,
                       (long long)key->least_int, (long long)key->most_int, shown);
        memcpy(at, &x, sizeof x);
        return true;
    }
    case MACHINE_REAL: {
        double x;
        if (!is_decimal(value) || !tessi_read_real(value.at, value.n, false, &x)
            || !(x >= key->least && x <= key->most)) {
            Text range = tessi_text_new(r->arena);
            tessi_text_add_real(&range, key->least, false);
            tessi_text_add(&range, " to ");
            tessi_text_add_real(&range, key->most, false);
            return bad(r, "%s is a number from %s, not '%s'", key->name, tessi_text_str(&range),
                       shown);
        }
        memcpy(at, &x, sizeof x);
        return true;
    }
    }
    return false;
}

static bool read_line(MachineReader *r, Slice line)
{
    for (size_t i = 0; i < line.n; i++)
        if ((unsigned char)line.at[i] < ' ' && line.at[i] != '\t' && line.at[i] != '\r')
            return bad(r, "the byte 0x%02x cannot stand in a text", (unsigned char)line.at[i]);
    line = trimmed(without_comment(line));
    if (!line.n)
        return true;
    const char *equals = memchr(line.at, '=', line.n);
    if (!equals)
        return bad(r, "expected 'key = value'");
    size_t before = (size_t)(equals - line.at);
    Slice name = trimmed((Slice){ line.at, before });
    Slice value = trimmed((Slice){ equals + 1, line.n - before - 1 });
    int k = key_by_name(r, name);
    if (k < 0)
        return false;
    if (r->seen_at[k])
        return bad(r, "%s has been given in line %d already", tessi_machine_key(k)->name,
                   r->seen_at[k]);
    r->seen_at[k] = r->line;
    return set_value(r, tessi_machine_key(k), value);
}

Machine *tessi_machine_read(Arena *a, Diags *d, const char *text, size_t n)
{
    MachineReader r = { .arena = a, .diags = d, .m = tessi_machine_default(a) };
    for (size_t at = 0; at < n;) {
        const char *end = memchr(text + at, '\n', n - at);
        size_t length = end ? (size_t)(end - text) - at : n - at;
        r.line++;
        if (!read_line(&r, (Slice){ text + at, length }))
            return NULL;
        at += length + 1;
    }
    return r.m;
}
