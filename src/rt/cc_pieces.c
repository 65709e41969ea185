/* Takes a C text apart at the bodies of its large functions, evenly by length. */
#include "rt/cc_pieces.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Compilers take 5 to 13 us for a byte of such functions, and 100 ms to start, to read the rest and to link (EPYC,
 * gcc 12): a piece that is worth it has so many bytes. Together they need some 35 MB for each piece and 600 bytes of
 * memory for each of the text (estimated from two programs in two pieces); longer texts might need over 300 MB. */
enum { LEAST_PIECE = 16384, LEAST_BODY = 4096, MOST_TEXT = 250000, MOST_BODIES = 256 };

/* How such functions begin, and what they begin with where other pieces call them. */
typedef struct Head {
    const char *is, *becomes;
} Head;
static const Head heads[] = {
    { "\nstatic void ", "\n__attribute__((visibility(\"hidden\"))) void " },
    { "\nTESS_PART void ", "\n__attribute__((visibility(\"hidden\"), noinline)) void " },
};
enum { N_HEADS = sizeof heads / sizeof *heads, LONGER = 64 /* at most */ };

typedef struct Body {
    /* the line break before, the one before its brace, the first behind it */
    const char *head, *at, *end;
    const Head *kind;
    size_t piece;
} Body;

static size_t length(const Body *b)
{
    return (size_t)(b->end - b->at);
}

static const char *next_head(const char *from, const Head **kind)
{
    const char *found = NULL;
    for (size_t i = 0; i < N_HEADS; i++) {
        const char *at = strstr(from, heads[i].is);
        if (at && (!found || at < found)) {
            found = at;
            *kind = &heads[i];
        }
    }
    return found;
}

static size_t find_bodies(const char *text, Body *bodies)
{
    size_t n = 0;
    const char *stop = strstr(text, "\n#ifdef TESSERA_");
    const Head *kind;
    for (const char *from = text; n < MOST_BODIES && (from = next_head(from, &kind)) != NULL;) {
        Body b = { .head = from, .at = strstr(from, "\n{\n"), .kind = kind };
        const char *declared = strstr(from, ";\n");
        b.end = b.at ? strstr(b.at, "\n}\n") : NULL;
        from += 1;
        if (!b.end || (stop && b.end > stop) || (declared && declared < b.at))
            continue;
        b.end += 2;
        from = b.end;
        if (length(&b) >= LEAST_BODY)
            bodies[n++] = b;
    }
    return n;
}

static size_t lightest(const size_t *load, size_t pieces)
{
    size_t least = 0;
    for (size_t k = 1; k < pieces; k++)
        least = load[k] < load[least] ? k : least;
    return least;
}

/* The longest first, each to the piece that has least. Returns the bytes of the smallest piece. */
static size_t share_out(Body *bodies, size_t n, size_t pieces)
{
    size_t load[MOST_PIECES] = { 0 };
    for (size_t i = 0; i < n; i++)
        bodies[i].piece = MOST_PIECES;
    for (size_t turn = 0; turn < n; turn++) {
        Body *longest = NULL;
        for (size_t i = 0; i < n; i++)
            if (bodies[i].piece == MOST_PIECES
                && (!longest || length(&bodies[i]) > length(longest)))
                longest = &bodies[i];
        longest->piece = lightest(load, pieces);
        load[longest->piece] += length(longest);
    }
    return load[lightest(load, pieces)];
}

static void put(char **to, const char *at, const char *end)
{
    memcpy(*to, at, (size_t)(end - at));
    *to += end - at;
}

static char *piece_text(const char *text, const Body *bodies, size_t n, size_t piece)
{
    char *made = malloc(strlen(text) + n * LONGER + 2), *to = made;
    const char *at = text;
    for (size_t i = 0; made && i < n; i++) {
        const Body *b = &bodies[i];
        put(&to, at, b->head);
        put(&to, b->kind->becomes, b->kind->becomes + strlen(b->kind->becomes));
        put(&to, b->head + strlen(b->kind->is), b->at);
        if (b->piece == piece)
            put(&to, b->at, b->end);
        else
            *to++ = ';';
        at = b->end;
    }
    if (made && piece == 0)
        put(&to, at, at + strlen(at));
    if (made) {
        *to++ = '\n';
        *to = 0;
    }
    return made;
}

size_t tessi_cc_pieces(const char *text, int threads, char *pieces[MOST_PIECES])
{
    Body bodies[MOST_BODIES];
    const size_t bytes = strlen(text);
    if (threads < 2 || bytes < 2 * LEAST_PIECE || bytes > MOST_TEXT)
        return 1;
    const size_t n = find_bodies(text, bodies);
    size_t count = threads < MOST_PIECES ? (size_t)threads : MOST_PIECES;
    while (count > 1 && share_out(bodies, n, count) < LEAST_PIECE)
        count--;
    bool ok = count > 1;
    for (size_t k = 0; ok && k < count; k++) {
        pieces[k] = piece_text(text, bodies, n, k);
        for (size_t i = 0; !pieces[k] && i < k; i++)
            free(pieces[i]);
        ok = pieces[k] != NULL;
    }
    return ok ? count : 1;
}
