/* What C tests share. */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>

static void out_of_memory(void *user) TESS_NORETURN;
static void out_of_memory(void *user)
{
    (void)user;
    fputs("a test ran out of memory\n", stderr);
    abort();
}

void support_arena_init(Arena *a)
{
    tessi_arena_init(a, out_of_memory, NULL);
}

char *support_read_file(Arena *a, const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    if (!f) {
        fprintf(stderr, "cannot read %s\n", path);
        abort();
    }
    fseek(f, 0, SEEK_END);
    long size = ftell(f);
    rewind(f);
    char *text = tessi_alloc(a, (size_t)size + 1);
    size_t got = fread(text, 1, (size_t)size, f);
    fclose(f);
    if (n)
        *n = got;
    return text;
}
