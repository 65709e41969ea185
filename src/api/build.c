/* tess_build: ahead of time, to text in C, CUDA C++ or OpenCL C with its header and self-test, or on to an object, a shared library or an
 * archive. */
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/embedded.h"
#include "base/rounding.h"
#include "emit/emit.h"
#include "rt/cc.h"
#include "rt/file.h"

typedef enum ProductKind { PRODUCT_C, PRODUCT_BINARY, PRODUCT_CUDA, PRODUCT_OPENCL } ProductKind;
typedef struct Product {
    const char *suffix;
    ProductKind kind;
    CcKind binary;
} Product;
static const Product products[] = {
    { ".c", PRODUCT_C, CC_OBJECT },       { ".cu", PRODUCT_CUDA, CC_OBJECT },
    { ".cl", PRODUCT_OPENCL, CC_OBJECT }, { ".o", PRODUCT_BINARY, CC_OBJECT },
    { ".so", PRODUCT_BINARY, CC_SHARED }, { ".a", PRODUCT_BINARY, CC_ARCHIVE },
};

static const Product *product_of(const char *path, Failure *f)
{
    const char *suffix = tessi_path_suffix(path);
    for (size_t i = 0; i < sizeof products / sizeof *products; i++)
        if (tessi_streq(products[i].suffix, suffix))
            return &products[i];
    tessi_failf(f, TESS_ERROR_ARGUMENT, "'%s': the name must end in .c, .cu, .cl, .o, .so or .a",
                path);
    return NULL;
}

/* blur.tess -> blur: the function is named after the file written. */
static const char *base_name(Arena *a, const char *path, const char *suffix)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    return tessi_strndup(a, name, strlen(name) - strlen(suffix));
}

/* C and kernels have headers of their own: one must not take the place of the other, which would no longer compile. `mark` is what a
 * header of this kind includes. */
static const char *const header_mark[] = { [PRODUCT_C] = NULL,
                                           [PRODUCT_BINARY] = NULL,
                                           [PRODUCT_CUDA] = "cuda_runtime_api.h",
                                           [PRODUCT_OPENCL] = "CL_TARGET_OPENCL_VERSION" };

/* What made the header with this text: a product that has its like. */
static ProductKind kind_of_header(const char *text)
{
    for (ProductKind k = PRODUCT_CUDA; k <= PRODUCT_OPENCL; k++)
        if (strstr(text, header_mark[k]))
            return k;
    return PRODUCT_C;
}

static bool check_header(const char *path, const char *header, Arena *a, Failure *f)
{
    enum { LARGEST_HEADER = 1 << 20 };
    static const char *const what[] = {
        [PRODUCT_C] = "C", [PRODUCT_CUDA] = "CUDA", [PRODUCT_OPENCL] = "OpenCL"
    };
    uint8_t *data;
    size_t n;
    if (!tessi_file_exists(path) || !tessi_file_read(path, LARGEST_HEADER, &data, &n, NULL))
        return true;
    const char *text = tessi_strndup(a, (const char *)data, n);
    free(data);
    const ProductKind there = kind_of_header(text), wanted = kind_of_header(header);
    return there == wanted || !strstr(text, "by Tessera.")
           || tessi_failf(f, TESS_ERROR_FILE,
                          "%s is the header of a build for %s, which one for %s would replace: "
                          "give it another name, or remove that",
                          path, what[there], what[wanted]);
}

static bool write_product(tess_program *p, const char *path, const Product *product,
                          const char *text, const char *header, const char *header_path, Failure *f)
{
    PendingFile pending = { 0 };
    if (!tessi_file_prepare(header_path, header, strlen(header), &pending, f))
        return false;
    bool ok;
    if (product->kind != PRODUCT_BINARY) {
        ok = tessi_file_write(path, text, strlen(text), f);
    } else {
        /* With the flags for this machine: what it lacks is slow here in any case. */
        static const char *const flags[] = { "-DTESSERA_WITHOUT_FMA", NULL };
        CcJob job = {
            .tool = &p->tool, .c_text = text, .kind = product->binary, .flags = flags, .out = path
        };
        ok = tessi_find_compiler(p, f) && tessi_cc_compile(&job, f);
    }
    if (ok)
        return tessi_file_commit(&pending, f);
    tessi_file_discard(&pending);
    return false;
}

/* C with OpenMP. The program shares everything but its name with the variant's. */
static bool emit_c(tess_program *p, Variant *v, const char *name, tess_diags *d, Text *text,
                   Text *header, Failure *f)
{
    if (!tessi_pass_plan(p, v, d, f) || !tessi_pass_is_for_cpu(v->plan, f)
        || !tessi_pass_loops(v, f))
        return false;
    LoopProgram named = *v->loops;
    named.name = name;
    LoopProgram *reference = tessi_pass_reference(v, v->machine, &v->arena, f);
    if (!reference)
        return false;
    EmitOptions options = { .prelude = tessi_embedded_prelude_c,
                            .vector_prelude = tessi_embedded_prelude_c_vector,
                            .vector_bytes = (uint32_t)v->machine->vector_bytes,
                            .source_name = p->name,
                            .reference = reference };
    tessi_emit_c.print_file(&named, &tessi_emit_c, &options, text);
    tessi_emit_c.print_header(&named, &tessi_emit_c, &options, header);
    return true;
}

static bool emit_kernels(tess_program *p, Variant *v, const EmitTarget *t, const char *name,
                         tess_diags *d, Text *text, Text *header, Failure *f)
{
    LoopProgram *kernels = tessi_pass_kernels_ahead(p, v, d, f);
    LoopProgram *reference =
        kernels ? tessi_pass_reference(v, tessi_machine_default(&v->arena), &v->arena, f) : NULL;
    if (!reference)
        return false;
    kernels->name = name;
    EmitOptions options = { .prelude = tessi_pass_prelude(t),
                            .reference_prelude = tessi_embedded_prelude_c,
                            .source_name = p->name,
                            .reference = reference };
    t->print_file(kernels, t, &options, text);
    t->print_header(kernels, t, &options, header);
    return true;
}

static bool emit(tess_program *p, Variant *v, ProductKind kind, const char *name, tess_diags *d,
                 Text *text, Text *header, Failure *f)
{
    if (kind == PRODUCT_CUDA || kind == PRODUCT_OPENCL)
        return emit_kernels(p, v, kind == PRODUCT_CUDA ? &tessi_emit_cuda : &tessi_emit_opencl,
                            name, d, text, header, f);
    return emit_c(p, v, name, d, text, header, f);
}

/* The variant's lock is held. */
static bool build_variant(tess_program *p, Variant *v, const char *path, const Product *product,
                          tess_diags *d, Failure *f)
{
    Guard guard;
    if (!GUARDED(&guard, &v->arena))
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory while compiling");
    tessi_guard_arena(&guard, &d->arena);
    Text text, header;
    tessi_text_init(&text, &v->arena);
    tessi_text_init(&header, &v->arena);
    const char *name = base_name(&v->arena, path, product->suffix);
    if (!emit(p, v, product->kind, name, d, &text, &header, f))
        return false;
    const char *header_path =
        tessi_sprintf(&v->arena, "%.*s.h", (int)(strlen(path) - strlen(product->suffix)), path);
    return check_header(header_path, tessi_text_str(&header), &v->arena, f)
           && write_product(p, path, product, tessi_text_str(&text), tessi_text_str(&header),
                            header_path, f);
}

static bool build(tess_program *p, const char *path, tess_diags **d, Failure *f)
{
    const Product *product = product_of(path, f);
    Variant *v = product ? tessi_variant_for_passes(p, NULL, d, f) : NULL;
    const bool ok = v && build_variant(p, v, path, product, *d, f);
    tessi_variant_leave(p, v);
    return ok;
}

static tess_status build_files(tess_program *p, const char *path, tess_diags **diags)
{
    if (diags)
        *diags = NULL;
    if (!p || !path)
        return TESS_ERROR_ARGUMENT;
    tess_diags *d = NULL;
    Failure failure = { 0 };
    const RtHost host = { p->options.hold, p->options.user };
    tessi_host_hold(&host, 1);
    const bool ok = build(p, path, &d, &failure);
    tessi_host_hold(&host, -1);
    tessi_program_failure(p, &failure);
    if (diags)
        *diags = d;
    else
        tess_diags_free(d);
    return ok ? TESS_OK : (tess_status)failure.status;
}

tess_status tess_build(tess_program *p, const char *path, tess_diags **diags)
{
    const Rounding callers = tessi_round_to_nearest();
    const tess_status status = build_files(p, path, diags);
    tessi_round_as(callers);
    return status;
}
