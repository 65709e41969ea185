/* Formatting: programs of the corpus and random ones, as they are and with blanks, line breaks and comments strewn
 * between their tokens. What comes out means the same (its graph is the same), has all comments in their order, and
 * is formatted already. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/diag.h"
#include "diff/corpus.h"
#include "front/lex.h"
#include "prop/generate.h"
#include "support.h"
#include "tessera.h"

enum { MOST = 2000, N_RANDOM = 120, TEXT_SIZE = 1 << 16 };

static bool is_forma(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && strcmp(dot, ".idsl") == 0;
}

static char *formatted(const char *name, const char *text)
{
    char *out = NULL;
    tess_diags *d = NULL;
    if (tess_format_text(text, strlen(text), name, is_forma(name), &out, &d) != TESS_OK)
        fail_msg("%s is not formatted:\n%s\n%s", name, d ? tess_diags_text(d, 0) : "", text);
    tess_diags_free(d);
    return out;
}

/* The graph as text; NULL for programs that want what only a run has. */
static char *graph_of(const char *name, const char *text)
{
    tess_program *p = NULL;
    char *graph = NULL;
    if (tess_compile(text, strlen(text), name, NULL, &p, NULL) == TESS_OK)
        tess_dump(p, NULL, "graph", &graph, NULL);
    tess_program_free(p);
    return graph;
}

static void expect_same_meaning(const char *name, const char *before, const char *after)
{
    char *a = graph_of(name, before), *b = graph_of(name, after);
    if (!a != !b || (a && strcmp(a, b) != 0))
        fail_msg("%s means something else:\n%s\n%s\n%s", name, after, a ? a : "nothing",
                 b ? b : "nothing");
    tess_text_free(a);
    tess_text_free(b);
}

static char *expect_formatted(const char *name, const char *text)
{
    char *once = formatted(name, text), *twice = formatted(name, once);
    if (strcmp(once, twice) != 0)
        fail_msg("%s changes again:\n%s\n---- and then\n%s", name, once, twice);
    const size_t n = strlen(once);
    assert_true(n == 0 || once[n - 1] == '\n');
    assert_null(strstr(once, " \n"));
    assert_null(strstr(once, "\n\n\n"));
    assert_null(strchr(once, '\t'));
    tess_text_free(twice);
    return once;
}

/* ---- Strewing --------------------------------------------------------------------------------- */

static void strew(Text *out, uint64_t *rng, bool forma, int *n_comments)
{
    switch (gen_below(rng, 12)) {
    case 0: tessi_text_add(out, "\n"); break;
    case 1: tessi_text_add(out, "\n\n\n   "); break;
    case 2: tessi_text_add(out, "\t\r\n"); break;
    case 3: tessi_text_addf(out, " // comment%d\t \n", (*n_comments)++); break;
    case 4: tessi_text_addf(out, "\n  // comment%d\n", (*n_comments)++); break;
    case 5:
        if (!forma)
            tessi_text_addf(out, " /* comment%d */", (*n_comments)++);
        else
            tessi_text_add(out, "  ");
        break;
    default: tessi_text_add(out, gen_chance(rng, 70) ? " " : "     "); break;
    }
}

/* The tokens with anything between them. */
static const char *strewn(Arena *a, const char *text, bool forma, uint64_t seed, int *n_comments)
{
    SourceMap sources;
    Diags d;
    tessi_sources_init(&sources, a);
    tessi_diags_init(&d, a, &sources);
    const uint16_t file = tessi_sources_add(&sources, "x", text, strlen(text));
    const Tokens tokens = tessi_lex(a, &d, &sources.files.at[file], file, forma);
    Text out = tessi_text_new(a);
    *n_comments = 0;
    VEC_FOREACH (const Token, t, &tokens) {
        tessi_text_addn(&out, text + t->begin, t->end - t->begin);
        const bool has_next = t->kind != TOK_END;
        const bool is_hash = t->kind == TOK_HASH || (has_next && t[1].kind == TOK_HASH);
        if (!forma || !is_hash) /* the original wants vector#2 in one */
            strew(&out, &seed, forma, n_comments);
    }
    return tessi_text_str(&out);
}

static void expect_comments(const char *text, int n)
{
    for (int k = 0; k < n; k++) {
        char comment[30];
        snprintf(comment, sizeof comment, " comment%d", k);
        text = strstr(text, comment);
        assert_non_null(text);
        text += strlen(comment);
        assert_true(*text == '\n' || *text == ' ');
    }
}

static void try_program(Arena *a, const char *name, const char *text, uint64_t seed)
{
    char *once = expect_formatted(name, text);
    expect_same_meaning(name, text, once);
    int n_comments;
    const char *mess = strewn(a, text, is_forma(name), seed, &n_comments);
    char *tidied = expect_formatted(name, mess);
    expect_same_meaning(name, text, tidied);
    expect_comments(tidied, n_comments);
    tess_text_free(once);
    tess_text_free(tidied);
}

/* ---- Tests ------------------------------------------------------------------------------------ */

static void test_corpus(void **state)
{
    (void)state;
    static char *path[MOST];
    Arena a;
    support_arena_init(&a);
    const int n = corpus_list(&a, path, MOST);
    assert_true(n > 100);
    for (int i = 0; i < n; i++) {
        Arena own;
        support_arena_init(&own);
        size_t size;
        try_program(&own, path[i], support_read_file(&own, path[i], &size), (uint64_t)i);
        tessi_arena_dispose(&own);
    }
    tessi_arena_dispose(&a);
}

static void test_random(void **state)
{
    (void)state;
    static GenProgram p;
    static char text[TEXT_SIZE];
    for (uint64_t seed = 1; seed <= N_RANDOM; seed++) {
        Arena a;
        support_arena_init(&a);
        gen_program(&p, seed);
        if (gen_print(&p, text, sizeof text))
            try_program(&a, p.forma ? "random.idsl" : "random.tess", text, seed);
        tessi_arena_dispose(&a);
    }
}

static void expect(const char *before, const char *after)
{
    char *made = expect_formatted("x.tess", before);
    assert_string_equal(made, after);
    tess_text_free(made);
}

static void test_form(void **state)
{
    (void)state;
    expect("", "");
    expect("\n\n// only\n\n", "// only\n");
    expect("border   mirror ;use \"filters\" ;", "border mirror;\nuse \"filters\";\n");
    expect("stencil f(vector#2 float X,float s){return X@[ -1,0 ]*s;}",
           "stencil f(vector#2 float X, float s) { return X@[-1, 0]*s; }\n");
    expect("stencil f( vector # 2 any X )\n{\nm=sum(i=-1 .. 1,j=-1..1:X@[i,j]) ;\n\n\nreturn m "
           "/9.0\n;}",
           "stencil f(vector#2 any X) {\n    m = sum(i = -1..1, j = -1..1 : X@[i, j]);\n\n"
           "    return m / 9.0\n        ;\n}\n");
    expect("a=f(x : mirror,y:[clamp,wrap],c?1:2);",
           "a = f(x:mirror, y:[clamp, wrap], c ? 1 : 2);\n");
    expect("for i=1..3\nt<i> =g(t<i-1>);\nendfor\nreturn t<3>;",
           "for i = 1..3\n    t<i> = g(t<i-1>);\nendfor\nreturn t<3>;\n");
    expect("x=(@[ (0,1),(0,2) ]=a;[ 1..,3.. ]=b;);",
           "x = ( @[(0, 1), (0, 2)] = a; [1.., 3..] = b; );\n");
    expect("mask m[3,3]={-1,0,1,  -2,0,2,  -1,0,1}/4;",
           "mask m[3, 3] = { -1, 0, 1,  -2, 0, 2,  -1, 0, 1 } / 4;\n");
    expect("parameter M; // rows\nvector#1 float x[M]; // data\nreturn x;",
           "parameter M;         // rows\nvector#1 float x[M]; // data\nreturn x;\n");
    expect("x = a - -b + !c ^ -2 * cast<float>(d<3>);",
           "x = a - -b + !c^-2 * cast<float>(d<3>);\n");
    expect("x = f(a,\n      b);", "x = f(a,\n      b);\n");
    expect("x = f(\na,\nb\n);", "x = f(\n    a,\n    b\n);\n");
}

static void test_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = { "x = (a;", "x = a);", "x = [a);",  "stencil f() {",
                                         "x = $;",  "/* open", "use \"open" };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char *out = NULL;
        tess_diags *d = NULL;
        assert_int_equal(tess_format_text(wrong[i], strlen(wrong[i]), "x.tess", 0, &out, &d),
                         TESS_ERROR_PROGRAM);
        assert_null(out);
        assert_true(tess_diags_errors(d) > 0);
        tess_diags_free(d);
    }
    assert_int_equal(tess_format_text(NULL, 0, NULL, 0, NULL, NULL), TESS_ERROR_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_form), cmocka_unit_test(test_refused),
                                        cmocka_unit_test(test_corpus),
                                        cmocka_unit_test(test_random) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
