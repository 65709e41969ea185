/* Any text through the whole compiler, in both dialects: front, simplifier, the chosen and the naive plan, lowering,
 * the verifiers between them and the C printer. A program is refused with a sentence or compiles to the end. */
#include <stdio.h>
#include <stdlib.h>

#include "api/api.h"
#include "fuzz.h"

enum { LARGEST = 1 << 14, MOST_CONSTANTS = 16, CONSTANT = 3 };

static void sound(bool holds, const char *what, const char *why)
{
    if (holds)
        return;
    fprintf(stderr, "broken: %s: %s\n", what, why);
    abort();
}

/* The stops behind the graph. What they refuse now would be a fault of ours, but for memory. */
static void compile_on(tess_program *p)
{
    static const char *const stops[] = { "types", "analysis", "plan", "c" };
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++) {
        char *text;
        tess_status s = tess_dump(p, NULL, stops[i], &text, NULL);
        sound(s == TESS_OK || s == TESS_ERROR_MEMORY, stops[i], tess_program_error(p));
        tess_text_free(text);
    }
    Failure f = { 0 };
    Guard guard;
    Variant *v = p->variants;
    if (v->machine && GUARDED(&guard, &v->arena))
        sound(tessi_pass_reference(v, v->machine, &v->arena, &f) != NULL, "the naive plan", f.text);
}

static tess_program *compile(const char *text, size_t n, const tess_options *o)
{
    tess_program *p;
    tess_diags *diags;
    tess_status s = tess_compile(text, n, "fuzz.tess", o, &p, &diags);
    sound(s == TESS_OK || s == TESS_ERROR_MEMORY || s == TESS_ERROR_PROGRAM, "a program",
          tess_status_text(s));
    sound(s == TESS_ERROR_MEMORY || (s == TESS_OK) == (tess_diags_errors(diags) == 0),
          "a fault without a sentence, or a sentence without a fault", tess_diags_text(diags, 0));
    VEC_FOREACH (const Diag, d, &diags->diags.list)
        sound(d->code != DIAG_INTERNAL, "a pass", d->text);
    tess_diags_free(diags);
    return p;
}

static void compile_as(const char *text, size_t n, bool forma)
{
    tess_options o;
    tess_options_init(&o);
    o.forma = forma;
    o.machine = "name = fuzz\n";
    tess_program *p = compile(text, n, &o);
    if (p && !p->variants) { /* some constants come with the arguments */
        tess_constant constants[MOST_CONSTANTS];
        o.constants = constants;
        for (; o.n_constants < p->constants.n && o.n_constants < MOST_CONSTANTS; o.n_constants++)
            constants[o.n_constants] =
                (tess_constant){ p->constants.at[o.n_constants].name, CONSTANT };
        tess_program *again = compile(text, n, &o);
        tess_program_free(p);
        p = again;
    }
    if (p && p->variants)
        compile_on(p);
    tess_program_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > LARGEST)
        return 0;
    compile_as((const char *)data, size, false);
    compile_as((const char *)data, size, true);
    return 0;
}
