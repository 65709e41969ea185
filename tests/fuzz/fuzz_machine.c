/* Any bytes through the reader of machine descriptions; what it accepts is printed and read again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "plan/plan.h"

static const char *printed(Arena *a, const Machine *m)
{
    Text out = tessi_text_new(a);
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
