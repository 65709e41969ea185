/* Small helpers for the tests of the loops: an arena that must not fail, and programs read from text. */
#ifndef TESSERA_TESTS_LOOP_TESTING_H
#define TESSERA_TESTS_LOOP_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "loop/loop_passes.h"

static TESS_NORETURN void loop_testing_out_of_memory(void *user)
{
    (void)user;
    fail_msg("out of memory");
    abort();
}

static inline int loop_testing_setup(void **state)
{
    Arena *a = malloc(sizeof *a);
    tessi_arena_init(a, loop_testing_out_of_memory, NULL);
    *state = a;
    return 0;
}

static inline int loop_testing_teardown(void **state)
{
    tessi_arena_dispose(*state);
    free(*state);
    return 0;
}

#define LOOP_TEST(f) cmocka_unit_test_setup_teardown(f, loop_testing_setup, loop_testing_teardown)

/* The program, or NULL and the diagnostics as text in *fault. */
static inline LoopProgram *loop_testing_try(Arena *a, const char *text, const char **fault)
{
    SourceMap sources;
    Diags diags;
    tessi_sources_init(&sources, a);
    tessi_diags_init(&diags, a, &sources);
    LoopProgram *p = tessi_loop_read(a, &diags, text, strlen(text));
    Text out = tessi_text_new(a);
    tessi_diags_render(&diags, &out, false);
    *fault = tessi_text_str(&out);
    return p;
}

static inline LoopProgram *loop_testing_read(Arena *a, const char *text)
{
    const char *fault;
    LoopProgram *p = loop_testing_try(a, text, &fault);
    if (!p)
        fail_msg("%s", fault);
    return p;
}

/* It is no program, and that is said. */
static inline void loop_testing_refused(Arena *a, const char *text, const char *said)
{
    const char *fault;
    if (loop_testing_try(a, text, &fault) || !strstr(fault, said))
        fail_msg("%.999s\nexpected '%s', got: %s", text, said, fault);
}

static inline const char *loop_testing_print(Arena *a, const LoopProgram *p)
{
    Text out = tessi_text_new(a);
    tessi_loop_print(p, &out);
    return tessi_text_str(&out);
}

/* The program as it is printed, which reads back. */
static inline const char *loop_testing_read_back(Arena *a, const char *text)
{
    const char *printed = loop_testing_print(a, loop_testing_read(a, text));
    assert_string_equal(printed, loop_testing_print(a, loop_testing_read(a, printed)));
    return printed;
}

/* A program with sizes M and N, an input, an output and a temp of floats, around the statements of one function. */
static inline const char *loop_testing_wrap(Arena *a, const char *buffers, const char *statements)
{
    return tessi_sprintf(a,
                         "loops test\n"
                         "param M\n"
                         "param N\n"
                         "scalar s: float\n"
                         "input in: { \"\": float @0 } pixel 4 [M, N]\n"
                         "output out: { \"\": float @0 } pixel 4 [M, N]\n"
                         "buffer in: input 0/0 float[M, N]\n"
                         "buffer out: output 0/0 float[M, N]\n"
                         "buffer temp: temp float[M, N]\n"
                         "buffer counts: temp uint32[4]\n"
                         "buffer line: local float[4]\n"
                         "buffer taps: table float[3] = { 1.0f, 2.0f, 4.0f }\n"
                         "%s"
                         "\n"
                         "function f {\n"
                         "%s"
                         "}\n",
                         buffers, statements);
}
/* The buffer of that name; a test that asks for another fails. */
static inline LBufferId loop_testing_buffer(const LoopProgram *p, const char *name)
{
    for (uint32_t i = 1; i < p->buffers.n; i++)
        if (tessi_streq(p->buffers.at[i].name, name))
            return (LBufferId){ i };
    fail_msg("no buffer is called %s", name);
    return (LBufferId){ 0 };
}

#endif
