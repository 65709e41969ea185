/* tess_build: ahead of time, to C text with its header and self-test, or on to an object, a shared library or an archive. */
#include <string.h>

#include "api/api.h"
#include "api/embedded.h"
#include "emit/emit.h"
#include "rt/cc.h"
#include "rt/file.h"

typedef struct Product {
    const char *suffix;
    CcKind kind;
    bool is_text;
} Product;
static const Product products[] = {
    { ".c", CC_OBJECT, true },
    { ".o", CC_OBJECT, false },
    { ".so", CC_SHARED, false },
    { ".a", CC_ARCHIVE, false },
};

static const Product *product_of(const char *path, Failure *f)
{
    const char *suffix = tessi_path_suffix(path);
    for (size_t i = 0; i < sizeof products / sizeof *products; i++)
        if (tessi_streq(products[i].suffix, suffix))
            return &products[i];
    bool device = tessi_streq(suffix, ".cu") || tessi_streq(suffix, ".cl");
    tessi_failf(f, device ? TESS_ERROR_UNSUPPORTED : TESS_ERROR_ARGUMENT,
                device ? "this version writes no %s; it writes .c, .o, .so and .a"
                       : "'%s': the name must end in .c, .o, .so or .a",
                device ? suffix : path);
    return NULL;
}

/* blur.tess -> blur: the function is named after the file written. */
static const char *base_name(Arena *a, const char *path, const char *suffix)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    return tessi_strndup(a, name, strlen(name) - strlen(suffix));
}

static bool write_product(tess_program *p, const char *path, const Product *product,
                          const char *text, const char *header, const char *header_path, Failure *f)
{
    PendingFile pending = { 0 };
    if (!tessi_file_prepare(header_path, header, strlen(header), &pending, f))
        return false;
    bool ok;
    if (product->is_text) {
        ok = tessi_file_write(path, text, strlen(text), f);
    } else {
        CcJob job = { .tool = &p->tool, .c_text = text, .kind = product->kind, .out = path };
        ok = tessi_find_compiler(p, f) && tessi_cc_compile(&job, f);
    }
    if (ok)
        return tessi_file_commit(&pending, f);
    tessi_file_discard(&pending);
    return false;
}

static bool build(tess_program *p, const char *path, tess_diags **d)
{
    Failure *f = &p->failure;
    const Product *product = product_of(path, f);
    if (!product)
        return false;
    Variant *v = tessi_variant_for_passes(p, NULL, d, f);
    if (!v)
        return false;
    Guard guard;
    if (!GUARDED(&guard, &v->arena))
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory while compiling");
    tessi_guard_arena(&guard, &(*d)->arena);
    if (!tessi_pass_plan(p, v, *d, f) || !tessi_pass_loops(v, f))
        return false;
    LoopProgram named = *v->loops; /* shares everything but the name */
    named.name = base_name(&v->arena, path, product->suffix);
    LoopProgram *reference = tessi_pass_reference(v, &v->arena, f);
    if (!reference)
        return false;
    EmitOptions options = { .prelude = tessi_embedded_prelude_c,
                            .vector_prelude = tessi_embedded_prelude_c_vector,
                            .vector_bytes = (uint32_t)v->machine->vector_bytes,
                            .source_name = p->name,
                            .reference = reference };
    Text text, header;
    tessi_text_init(&text, &v->arena);
    tessi_text_init(&header, &v->arena);
    tessi_emit_c(&named, &options, &text);
    tessi_emit_c_header(&named, &options, &header);
    const char *header_path =
        tessi_sprintf(&v->arena, "%.*s.h", (int)(strlen(path) - strlen(product->suffix)), path);
    return write_product(p, path, product, tessi_text_str(&text), tessi_text_str(&header),
                         header_path, f);
}

tess_status tess_build(tess_program *p, const char *path, tess_diags **diags)
{
    if (diags)
        *diags = NULL;
    if (!p || !path)
        return TESS_ERROR_ARGUMENT;
    tess_diags *d = NULL;
    mtx_lock(&p->lock);
    memset(&p->failure, 0, sizeof p->failure);
    bool ok = build(p, path, &d);
    mtx_unlock(&p->lock);
    if (diags)
        *diags = d;
    else
        tess_diags_free(d);
    return ok ? TESS_OK : (tess_status)p->failure.status;
}
