/* Files of kernels with their launcher and a self-test, for builds ahead of time. A .cu file is CUDA C++, and C where its self-test has
 * the reference; a .cl file is OpenCL C, and C where a C compiler reads it. */
#include "emit/gpu_private.h"

/* ---- The head ------------------------------------------------------------------------------------------------------------------- */

static const char *usage(const GpuProgramOptions *o, GpuLanguage language, const char *name,
                         Arena *a)
{
    static const char *const promises =
        "\n-DTESS_WIDE_INDEX is for images whose sizes 32 bits do not hold; with "
        "-DTESS_ALIGNED_ROWS kernels\n"
        "rely on all rows of all images beginning at multiples of 16 bytes, and are faster.";
    const char *flags = tessi_emit_gpu_flags(language);
    Text text;
    tessi_text_init(&text, a);
    if (language == GPU_CUDA)
        tessi_text_addf(&text, "Compile with nvcc %s.", flags);
    else
        tessi_text_addf(&text,
                        "It is the text for clBuildProgram, with %s,\nand in C the launcher of "
                        "these kernels: cc -x c -c %s.cl.",
                        flags, name);
    tessi_text_add(&text, promises);
    if (language == GPU_OPENCL)
        tessi_text_add(
            &text, "\nOn NVIDIA's devices from sm_90 on, with -DTESS_NV_HALVES minima and maxima "
                   "of pairs are one instruction.");
    if (o->reference && language == GPU_CUDA)
        tessi_text_addf(&text,
                        "\n\nA program that tests itself:\n"
                        "    cc -x c -std=c11 -ffp-contract=off -DTESSERA_SELFTEST -c %s.cu -o "
                        "reference.o\n"
                        "    nvcc %s -DTESSERA_SELFTEST %s.cu reference.o",
                        name, flags, name);
    else if (o->reference)
        tessi_text_addf(&text,
                        "\n\nA program that tests itself:\n"
                        "    cc -x c -std=c11 -ffp-contract=off -DTESSERA_SELFTEST %s.cl -lOpenCL "
                        "-lm",
                        name);
    return tessi_text_str(&text);
}

static const char wide_always[] = "#ifndef TESS_WIDE_INDEX\n#define TESS_WIDE_INDEX\n#endif\n";

static const char *before_kernels(GpuLanguage language, bool wide, Arena *a)
{
    return tessi_sprintf(a, "%s%s",
                         language == GPU_CUDA ? "#ifdef __cplusplus\n#include <cuda_runtime.h>\n"
                                              : "#ifdef __OPENCL_VERSION__\n",
                         wide ? wide_always : "");
}

static const char opencl_header[] = "#ifndef CL_TARGET_OPENCL_VERSION\n"
                                    "#define CL_TARGET_OPENCL_VERSION 120\n"
                                    "#endif\n"
                                    "#include <CL/cl.h>\n";

/* ---- The program ---------------------------------------------------------------------------------------------------------------- */

/* The reference and the main of the self-test. */
static void selftest(GpuHost *h, const GpuProgramOptions *o)
{
    CWriter *w = h->w, reference;
    Text *out = w->out;
    tessi_c_names_leave(w->names, w->mark);
    const char *name =
        tessi_c_name(w->names, tessi_sprintf(w->arena, "%s_reference", w->public_name));
    tessi_c_writer_init(&reference, o->reference, name, w->names, out);
    tessi_text_addf(out, "\n%s", o->c_prelude);
    tessi_c_frame(out);
    tessi_c_program(&reference, true);
    w->functions = NULL;
    tessi_c_selftest(w, h->on_host, &reference);
}

static void declare_on_host(GpuHost *h)
{
    CWriter *w = h->w;
    tessi_text_add(w->out, "#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n\n"
                           "/* The program on the device, for images in memory of the host. */\n");
    tessi_text_addf(&w->line, "int %s(", h->on_host);
    const CParameters list = tessi_c_parameters(w, C_DECLARED);
    tessi_c_declare(w, &list);
    tessi_text_add(&w->line, ");");
    tessi_c_end_line(w);
}

static void host(GpuHost *h, const GpuProgramOptions *o)
{
    Text *out = h->w->out;
    if (h->language == GPU_OPENCL)
        tessi_text_addf(out,
                        "\n#else /* the launcher, in C */\n#include <math.h>\n#include "
                        "<stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n%s",
                        opencl_header);
    if (h->language == GPU_CUDA)
        tessi_gpu_cuda_launcher(h);
    else
        tessi_gpu_opencl_launcher(h);
    if (!o->reference)
        return;
    tessi_text_add(out, "\n#ifdef TESSERA_SELFTEST");
    if (h->language == GPU_CUDA) {
        tessi_gpu_cuda_on_host(h);
        tessi_text_add(
            out, "#endif /* TESSERA_SELFTEST */\n\n"
                 "#elif defined(TESSERA_SELFTEST) /* C: what the device is compared with */\n");
        declare_on_host(h);
        selftest(h, o);
    } else {
        tessi_gpu_opencl_on_host(h);
        selftest(h, o);
        tessi_text_add(out, "#endif /* TESSERA_SELFTEST */\n");
    }
}

void tessi_emit_gpu_program(const LoopProgram *p, GpuLanguage language, const GpuProgramOptions *o,
                            Text *out)
{
    Arena *a = out->arena;
    CNames names;
    CWriter w;
    GpuModule module;
    tessi_c_names_init(&names, tessi_gpu_texts(language), a);
    const char *name = tessi_c_name(&names, tessi_emit_c_name(p, a));
    LoopBound bound;
    const bool wide = !tessi_loop_index_bound(p, a, &bound);
    const GpuEmitOptions kernels = { .prelude = o->gpu_prelude,
                                     .source_name = o->source_name,
                                     .usage = usage(o, language, name, a),
                                     .before = before_kernels(language, wide, a) };
    tessi_emit_gpu(p, language, &kernels, out, &module);
    tessi_c_writer_init(&w, p, name, &names, out);
    GpuHost h = { .w = &w, .module = &module, .language = language, .bound = wide ? NULL : &bound };
    tessi_gpu_host_begin(&h);
    host(&h, o);
    tessi_text_add(out, "#endif\n");
}

void tessi_emit_gpu_header(const LoopProgram *p, GpuLanguage language, const GpuProgramOptions *o,
                           Text *out)
{
    Arena *a = out->arena;
    CNames names;
    CWriter w;
    const GpuModule none = { 0 };
    tessi_c_names_init(&names, tessi_gpu_texts(language), a);
    const char *name = tessi_c_name(&names, tessi_emit_c_name(p, a));
    tessi_c_writer_init(&w, p, name, &names, out);
    GpuHost h = { .w = &w, .module = &none, .language = language };
    tessi_gpu_host_begin(&h);
    tessi_gpu_host_function(&h);
    w.functions = NULL;
    tessi_c_comment(&w, tessi_sprintf(a, "%s%s%s by Tessera.", name,
                                      o->source_name ? ", compiled from " : "",
                                      o->source_name ? o->source_name : ""));
    tessi_text_addf(out,
                    "#ifndef TESSERA_%s_H\n#define TESSERA_%s_H\n\n"
                    "#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n",
                    name, name);
    if (language == GPU_CUDA) {
        tessi_text_add(out, "#include <cuda_runtime_api.h>\n\n");
    } else {
        tessi_text_addf(out, "%s\n", opencl_header);
        tessi_gpu_opencl_options(&h, out);
        tessi_text_add(out, "\n");
    }
    tessi_text_add(out, "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
    tessi_c_describe(&w, tessi_gpu_host_returns(language));
    tessi_text_addf(&w.line, "int %s(", name);
    const CParameters list = tessi_gpu_host_parameters(&h);
    tessi_c_declare(&w, &list);
    tessi_text_add(&w.line, ");");
    tessi_c_end_line(&w);
    tessi_text_add(out, "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
}
