/* Files of kernels with their launcher and a self-test, for builds ahead of time. The kernels and the launcher are
 * in one file: compilers for the device and for the host each see their part of it. */
#include "emit/gpu_private.h"
#include "emit/prelude.h"

/* ---- The head ---------------------------------------------------------------------------------------------------- */

/* The text with the name of the program for $ and the flags for %. */
static void fill(Text *out, const char *text, const char *name, const char *flags)
{
    for (const char *c = text; *c; c++)
        if (*c == '$' || *c == '%')
            tessi_text_add(out, *c == '$' ? name : flags);
        else
            tessi_text_addn(out, c, 1);
}

static const char *usage(const EmitTarget *t, const EmitOptions *o, const char *name, Arena *a)
{
    static const char *const promises =
        "\n-DTESS_WIDE_INDEX is for images whose sizes 32 bits do not hold; with "
        "-DTESS_ALIGNED_ROWS kernels\n"
        "rely on all rows of all images beginning at multiples of 16 bytes, and are faster.";
    Text text = tessi_text_new(a);
    fill(&text, t->api->usage, name, t->flags);
    tessi_text_add(&text, promises);
    fill(&text, t->api->usage_more, name, t->flags);
    if (o->reference)
        fill(&text, t->api->usage_of_test, name, t->flags);
    return tessi_text_str(&text);
}

static const char wide_always[] = "#ifndef TESS_WIDE_INDEX\n#define TESS_WIDE_INDEX\n#endif\n";

/* ---- The program ------------------------------------------------------------------------------------------------- */

/* The reference and the main of the self-test. */
static void selftest(GpuHost *h, const EmitOptions *o)
{
    CWriter *w = h->w, reference;
    Text *out = w->out, program;
    program = tessi_text_new(out->arena);
    tessi_c_names_leave(w->names, w->mark);
    const char *name = tessi_c_file_name(w, "reference");
    tessi_c_writer_init(&reference, h->api->host, o->reference, name, w->names, &program);
    tessi_c_frame(&program);
    tessi_c_program(&reference, true);
    w->functions = NULL;
    w->out = &program;
    tessi_c_selftest(w, h->on_host, &reference);
    w->out = out;
    const char *text = tessi_text_str(&program);
    tessi_prelude_used(o->reference_prelude, text, out);
    tessi_text_add(out, text);
}

static void declare_on_host(GpuHost *h)
{
    CWriter *w = h->w;
    tessi_text_add(w->out, "#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n\n"
                           "/* The program on the device, for images in memory of the host. */\n");
    const CParameters list = tessi_c_parameters(w, C_DECLARED);
    tessi_c_signature(w, "int ", h->on_host, &list, ";");
}

static void host(GpuHost *h, const EmitOptions *o)
{
    Text *out = h->w->out;
    tessi_text_add(out, h->api->before_launcher);
    tessi_gpu_host_launcher(h);
    if (!o->reference)
        return;
    tessi_text_add(out, "\n#ifdef TESSERA_SELFTEST");
    tessi_gpu_host_on_host(h);
    if (h->api->reference_apart) {
        tessi_text_add(
            out, "#endif /* TESSERA_SELFTEST */\n\n"
                 "#elif defined(TESSERA_SELFTEST) /* C: what the device is compared with */\n");
        declare_on_host(h);
    }
    selftest(h, o);
    if (!h->api->reference_apart)
        tessi_text_add(out, "#endif /* TESSERA_SELFTEST */\n");
}

void tessi_gpu_print_file(const LoopProgram *p, const EmitTarget *t, const EmitOptions *o,
                          Text *out)
{
    Arena *a = out->arena;
    CNames names;
    CWriter w;
    EmitModule module;
    tessi_c_begin(&w, t, p, &names, out);
    w.target = t->api->host;
    LoopBound bound;
    const bool wide = !tessi_loop_index_bound(p, a, &bound);
    tessi_gpu_kernels(p, t, o, usage(t, o, w.public_name, a),
                      tessi_sprintf(a, "%s%s", t->api->before_kernels, wide ? wide_always : ""),
                      out, &module);
    GpuHost h = { .w = &w, .target = t, .module = &module, .bound = wide ? NULL : &bound };
    tessi_gpu_host_begin(&h);
    host(&h, o);
    tessi_text_add(out, "#endif\n");
}

void tessi_gpu_print_header(const LoopProgram *p, const EmitTarget *t, const EmitOptions *o,
                            Text *out)
{
    Arena *a = out->arena;
    CNames names;
    CWriter w;
    const EmitModule none = { 0 };
    tessi_c_begin(&w, t, p, &names, out);
    w.target = t->api->host;
    GpuHost h = { .w = &w, .target = t, .module = &none };
    tessi_gpu_host_begin(&h);
    tessi_gpu_host_function(&h);
    w.functions = NULL;
    tessi_c_comment(&w, tessi_sprintf(a, "%s%s%s by Tessera.", w.public_name,
                                      o->source_name ? ", compiled from " : "",
                                      o->source_name ? o->source_name : ""));
    const CParameters list = tessi_gpu_host_parameters(&h);
    Text includes = tessi_text_new(a);
    tessi_text_addf(&includes, "%s\n", t->api->includes);
    if (t->api->options) {
        t->api->options(&h, &includes);
        tessi_text_add(&includes, "\n");
    }
    tessi_c_header(&w, tessi_text_str(&includes), t->api->returns, &list);
}
