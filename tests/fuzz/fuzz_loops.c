/* Any bytes through the reader of loop programs; what it accepts goes through the verifier, the printer and the
 * reader again, the passes over loops and the C printer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit/emit.h"
#include "fuzz.h"
#include "loop/loop_passes.h"

static const char *printed(Arena *a, const LoopProgram *p)
{
    Text out = tessi_text_new(a);
    tessi_loop_print(p, &out);
    return tessi_text_str(&out);
}

static void use_program(Arena *a, Diags *d, LoopProgram *p)
{
    must(!tessi_loop_verify(p), "a program was read that is not sound");
    const char *text = printed(a, p);
    LoopProgram *again = tessi_loop_read(a, d, text, strlen(text));
    must(again != NULL, "a printed program was not read back");
    must(strcmp(text, printed(a, again)) == 0, "a program did not read back identically");

    for (const LoopPass *pass = tessi_loop_passes(); pass->name; pass++) {
        pass->run(p);
        const char *fault = tessi_loop_verify(p);
        /* Constants put in place of variables make expressions no larger. */
        must(!fault, fault ? fault : "");
    }
    Text c = tessi_text_new(a), header = tessi_text_new(a);
    EmitOptions options = { .source_name = "fuzz.tess", .reference = again };
    tessi_emit_c.print_file(p, &tessi_emit_c, &options, &c);
    tessi_emit_c.print_header(p, &tessi_emit_c, &options, &header);
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
    LoopProgram *p = tessi_loop_read(&arena, &diags, (const char *)data, size);
    must((p != NULL) == (diags.n_errors == 0),
         "a fault without a sentence, or a sentence without a fault");
    if (p)
        use_program(&arena, &diags, p);
    tessi_arena_dispose(&arena);
    return 0;
}
