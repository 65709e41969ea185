/* Strings in an arena, the growing Text that printers write into, and word suggestions. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

char *tessi_strndup(Arena *a, const char *s, size_t n)
{
    char *p = tessi_alloc(a, n + 1);
    if (n)
        memcpy(p, s, n);
    return p;
}

char *tessi_strdup(Arena *a, const char *s)
{
    return tessi_strndup(a, s, strlen(s));
}

char *tessi_vsprintf(Arena *a, const char *fmt, va_list args)
{
    char room[128]; /* for most: formatting costs more than copying */
    va_list again;
    va_copy(again, args);
    const int n = vsnprintf(room, sizeof room, fmt, args);
    char *p = tessi_alloc(a, n < 0 ? 1 : (size_t)n + 1);
    if (n >= (int)sizeof room)
        vsnprintf(p, (size_t)n + 1, fmt, again);
    else if (n > 0)
        memcpy(p, room, (size_t)n + 1);
    va_end(again);
    return p;
}

char *tessi_sprintf(Arena *a, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    char *p = tessi_vsprintf(a, fmt, args);
    va_end(args);
    return p;
}

bool tessi_streq(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* Edit distance with transpositions of neighbours, cut off at words longer than the table. */
static unsigned edit_distance(const char *a, const char *b)
{
    enum { LONGEST = 40 };
    size_t n = strlen(a), m = strlen(b);
    if (n > LONGEST || m > LONGEST)
        return LONGEST;
    unsigned d[LONGEST + 1][LONGEST + 1];
    for (size_t i = 0; i <= n; i++)
        d[i][0] = (unsigned)i;
    for (size_t j = 0; j <= m; j++)
        d[0][j] = (unsigned)j;
    for (size_t i = 1; i <= n; i++) {
        for (size_t j = 1; j <= m; j++) {
            unsigned best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            if (d[i - 1][j] + 1 < best)
                best = d[i - 1][j] + 1;
            if (d[i][j - 1] + 1 < best)
                best = d[i][j - 1] + 1;
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped && d[i - 2][j - 2] + 1 < best)
                best = d[i - 2][j - 2] + 1;
            d[i][j] = best;
        }
    }
    return d[n][m];
}

const char *tessi_nearest_word(const char *word, const char *const *candidates, size_t n)
{
    const char *best = NULL;
    /* One slip in short words, more in long ones: a word that shares too little is no help. */
    size_t length = strlen(word);
    unsigned best_distance = length < 6 ? 1 : length < 9 ? 2 : 3;
    for (size_t i = 0; i < n; i++) {
        if (!candidates[i] || strlen(candidates[i]) < 2)
            continue;
        unsigned d = edit_distance(word, candidates[i]);
        if (d < best_distance || (d == best_distance && !best)) {
            best = candidates[i];
            best_distance = d;
        }
    }
    for (size_t i = 0; length > 3 && !best && i < n; i++)
        if (candidates[i] && strncmp(word, candidates[i], length) == 0)
            best = candidates[i];
    return best;
}

Text tessi_text_new(Arena *a)
{
    return (Text){ .arena = a };
}

static void reserve(Text *t, size_t more)
{
    if (more > SIZE_MAX / 2 - t->n)
        tessi_arena_fail(t->arena);
    size_t need = t->n + more + 1;
    if (need <= t->cap)
        return;
    size_t cap = t->cap ? t->cap * 2 : 32;
    while (cap < need)
        cap *= 2;
    t->at = tessi_alloc_more(t->arena, t->at, t->cap, cap);
    t->cap = cap;
}

void tessi_text_addn(Text *t, const char *s, size_t n)
{
    reserve(t, n);
    if (n)
        memcpy(t->at + t->n, s, n);
    t->n += n;
    t->at[t->n] = '\0';
}

void tessi_text_add(Text *t, const char *s)
{
    tessi_text_addn(t, s, strlen(s));
}

void tessi_text_vaddf(Text *t, const char *fmt, va_list args)
{
    char room[128];
    va_list again;
    va_copy(again, args);
    const int n = vsnprintf(room, sizeof room, fmt, args);
    if (n >= (int)sizeof room) {
        reserve(t, (size_t)n);
        vsnprintf(t->at + t->n, (size_t)n + 1, fmt, again);
        t->n += (size_t)n;
    } else if (n > 0) {
        tessi_text_addn(t, room, (size_t)n);
    }
    va_end(again);
}

void tessi_text_json(Text *out, const char *s)
{
    tessi_text_add(out, "\"");
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\')
            tessi_text_addf(out, "\\%c", c);
        else if (c == '\n')
            tessi_text_add(out, "\\n");
        else if (c < 32 || c == 127)
            tessi_text_addf(out, "\\u%04x", c);
        else
            tessi_text_addn(out, s, 1);
    }
    tessi_text_add(out, "\"");
}

void tessi_text_addf(Text *t, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    tessi_text_vaddf(t, fmt, args);
    va_end(args);
}

void tessi_text_add_real(Text *t, double x, bool single)
{
    if (isnan(x)) {
        tessi_text_add(t, "nan");
        return;
    }
    if (isinf(x)) {
        tessi_text_add(t, x < 0 ? "-inf" : "inf");
        return;
    }
    char s[64];
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(s, sizeof s, "%.*g", digits, x);
        /* The value is a float exactly when `single`: reading as double and rounding once more is then harmless only
         * if the text is read as float, so test with the reader that will be used. */
        bool same = single ? strtof(s, NULL) == (float)x : strtod(s, NULL) == x;
        if (same)
            break;
    }
    for (char *c = s; *c; c++)
        if (*c == ',') /* the host program may have chosen a locale with a decimal comma */
            *c = '.';
    tessi_text_add(t, s);
    if (!strpbrk(s, ".e"))
        tessi_text_add(t, ".0");
}

const char *tessi_text_str(const Text *t)
{
    return t->at ? t->at : "";
}
