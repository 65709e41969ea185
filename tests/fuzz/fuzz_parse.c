/* Any bytes through the lexer, the parser (both dialects), the tree printer and the renderers of diagnostics. */
#include <stdio.h>
#include <stdlib.h>

#include "front/ast.h"
#include "fuzz.h"

typedef struct Input {
    const char *text;
    size_t n;
} Input;

/* Every used file has the text of the input itself, so that `use` goes through cycles too. */
static const char *read_used(void *user, const char *name, size_t *n)
{
    const Input *input = user;
    *n = input->n;
    return name[0] == '-' ? NULL : input->text;
}

static void parse_as(Input *input, bool forma)
{
    Arena arena;
    SourceMap sources;
    Diags diags;
    tessi_arena_init(&arena, out_of_memory, NULL);
    tessi_sources_init(&sources, &arena);
    tessi_diags_init(&diags, &arena, &sources);
    Text out = tessi_text_new(&arena);
    uint16_t file = tessi_sources_add(&sources, "input", input->text, input->n);
    const Ast *ast = tessi_parse(&arena, &diags, &sources, file, forma, read_used, input);
    tessi_ast_print(ast, &out);
    tessi_diags_render(&diags, &out, true);
    tessi_diags_render_json(&diags, &out);
    if (!diags.n_errors && !ast->result.n)
        abort(); /* a program without result was accepted */
    tessi_arena_dispose(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Input input = { (const char *)data, size };
    parse_as(&input, false);
    parse_as(&input, true);
    return 0;
}
