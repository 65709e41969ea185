/* Any bytes through the reader of machine descriptions; what it accepts is printed and read again. With -DREPLAY: a program that
 * does so with the files given. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void out_of_memory(void *user) TESS_NORETURN;
static void out_of_memory(void *user)
{
    (void)user;
    fputs("out of memory\n", stderr);
    abort();
}

static void must(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "broken: %s\n", what);
    abort();
}

static const char *printed(Arena *a, const Machine *m)
{
    Text out;
    tessi_text_init(&out, a);
    tessi_machine_print(m, &out);
    return tessi_text_str(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Arena arena;
    SourceMap sources;
    Diags diags;
    if (size > 1 << 16)
        return 0;
    tessi_arena_init(&arena, out_of_memory, NULL);
    tessi_sources_init(&sources, &arena);
    tessi_diags_init(&diags, &arena, &sources);
    const Machine *m = tessi_machine_read(&arena, &diags, (const char *)data, size);
    must((m != NULL) == (diags.n_errors == 0),
         "a fault without a sentence, or a sentence without a fault");
    if (m) {
        const char *text = printed(&arena, m);
        const Machine *again = tessi_machine_read(&arena, &diags, text, strlen(text));
        must(again != NULL, "a printed machine was not read back");
        must(strcmp(text, printed(&arena, again)) == 0, "a machine did not read back identically");
    }
    tessi_arena_dispose(&arena);
    return 0;
}

#ifdef REPLAY
int main(int argc, char **argv)
{
    static uint8_t data[1 << 16];
    for (int i = 1; i < argc; i++) {
        FILE *f = fopen(argv[i], "rb");
        if (!f) {
            fprintf(stderr, "cannot read %s\n", argv[i]);
            return 1;
        }
        size_t n = fread(data, 1, sizeof data, f);
        fclose(f);
        LLVMFuzzerTestOneInput(data, n);
    }
    return 0;
}
#endif
