/* What the tests of the front share: a program from text to typed tree and graph, with its diagnostics. */
#ifndef TESSERA_TESTS_UNIT_FRONT_TESTING_H
#define TESSERA_TESTS_UNIT_FRONT_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "front/front.h"
#include "support.h"

typedef struct Front {
    Arena arena;
    SourceMap sources;
    Diags diags;
    Typed *typed;
    Graph *graph; /* NULL with errors */
} Front;

static inline void front_open(Front *f, const char *text, bool forma, const FrontOptions *o)
{
    support_arena_init(&f->arena);
    tessi_sources_init(&f->sources, &f->arena);
    uint16_t file = tessi_sources_add(&f->sources, "test.tess", text, strlen(text));
    tessi_diags_init(&f->diags, &f->arena, &f->sources);
    Ast *ast = tessi_parse(&f->arena, &f->diags, &f->sources, file, forma, NULL, NULL);
    f->typed = NULL;
    f->graph = NULL;
    if (f->diags.n_errors == 0)
        f->graph = tessi_front(&f->arena, &f->diags, &f->sources, ast, o, &f->typed);
}

static inline void front_close(Front *f)
{
    tessi_arena_dispose(&f->arena);
}

static inline const char *front_diags(Front *f)
{
    Text t = tessi_text_new(&f->arena);
    tessi_diags_render(&f->diags, &t, false);
    return tessi_text_str(&t);
}

/* Stops the test with the diagnostics when the program is wrong. */
static inline void front_must_compile(Front *f, const char *what)
{
    if (!f->graph) {
        print_error("%s\n%s", what, front_diags(f));
        fail();
    }
}

#endif
