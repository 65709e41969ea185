/* tess_build: ahead of time, to the text of a target with its header and self-test, or on to an object, a shared
 * library or an archive. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/backend.h"
#include "base/rounding.h"
#include "rt/file.h"

/* A file as somebody wants it. */
typedef struct Product {
    const char *suffix;
    const Backend *backend;
    bool is_binary; /* compiled by the row, to ... */
    CcKind kind;
} Product;

static const struct {
    const char *suffix;
    CcKind kind;
} binaries[] = { { ".o", CC_OBJECT }, { ".so", CC_SHARED }, { ".a", CC_ARCHIVE } };
enum { N_BINARIES = sizeof binaries / sizeof *binaries };

/* ".c, .cu, .cl, .o, .so or .a" */
static const char *suffixes(char *known, size_t size)
{
    size_t n = 0;
    for (const Backend *const *b = tessi_backends; *b; b++)
        if ((*b)->emit)
            n += (size_t)snprintf(known + n, size - n, "%s%s", n ? ", " : "", (*b)->emit->suffix);
    for (int i = 0; i < N_BINARIES; i++)
        n += (size_t)snprintf(known + n, size - n, "%s%s", i + 1 < N_BINARIES ? ", " : " or ",
                              binaries[i].suffix);
    return known;
}

static bool product_of(const char *path, Product *product, Failure *f)
{
    const char *suffix = tessi_path_suffix(path);
    char known[128];
    for (const Backend *const *b = tessi_backends; *b; b++) {
        if ((*b)->emit && tessi_streq((*b)->emit->suffix, suffix)) {
            *product = (Product){ .suffix = suffix, .backend = *b };
            return true;
        }
        for (int i = 0; (*b)->compile && i < N_BINARIES; i++) {
            if (tessi_streq(binaries[i].suffix, suffix)) {
                *product = (Product){ suffix, *b, true, binaries[i].kind };
                return true;
            }
        }
    }
    return tessi_failf(f, TESS_ERROR_ARGUMENT, "'%s': the name must end in %s", path,
                       suffixes(known, sizeof known));
}

/* blur.tess -> blur: the function is named after the file written. */
static const char *base_name(Arena *a, const char *path, const char *suffix)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    return tessi_strndup(a, name, strlen(name) - strlen(suffix));
}

/* Headers of builds differ by language: one must not take the place of another, which would no longer compile. This
 * is the row that printed the header with this text. */
static const Backend *printer_of(const char *text)
{
    const Backend *other = tessi_backends[0];
    for (const Backend *const *b = tessi_backends; *b; b++)
        if ((*b)->emit && (*b)->emit->header_mark && strstr(text, (*b)->emit->header_mark))
            other = *b;
    return other;
}

static bool check_header(const char *path, const char *header, Arena *a, Failure *f)
{
    enum { LARGEST_HEADER = 1 << 20 };
    uint8_t *data;
    size_t n;
    if (!tessi_file_exists(path) || !tessi_file_read(path, LARGEST_HEADER, &data, &n, NULL))
        return true;
    const char *text = tessi_strndup(a, (const char *)data, n);
    free(data);
    const Backend *there = printer_of(text), *wanted = printer_of(header);
    return there == wanted || !strstr(text, "by Tessera.")
           || tessi_failf(f, TESS_ERROR_FILE,
                          "%s is the header of a build for %s, which one for %s would replace: "
                          "give it another name, or remove that",
                          path, there->emit->title, wanted->emit->title);
}

static bool write_product(tess_program *p, const char *path, const Product *product,
                          const char *text, const char *header, const char *header_path, Failure *f)
{
    PendingFile pending = { 0 };
    tessi_phase(p, "compiling");
    if (!tessi_file_prepare(header_path, header, strlen(header), &pending, f))
        return false;
    const bool ok = product->is_binary ? product->backend->compile(p, text, product->kind, path, f)
                                       : tessi_file_write(path, text, strlen(text), f);
    if (ok)
        return tessi_file_commit(&pending, f);
    tessi_file_discard(&pending);
    return false;
}

/* The program shares everything but its name with the row's loops. */
static bool emit(tess_program *p, Variant *v, const Backend *b, const char *name, tess_diags *d,
                 Text *text, Text *header, Failure *f)
{
    const Machine *m = NULL;
    const LoopProgram *loops = b->ahead(b, p, v, d, &m, f);
    const LoopProgram *reference = loops ? tessi_pass_reference(v, m, &v->arena, f) : NULL;
    if (!reference)
        return false;
    LoopProgram named = *loops;
    named.name = name;
    EmitOptions options = tessi_backend_options(p, b);
    options.reference = reference;
    b->emit->print_file(&named, b->emit, &options, text);
    b->emit->print_header(&named, b->emit, &options, header);
    return true;
}

/* The variant's lock is held. */
static bool build_variant(tess_program *p, Variant *v, const char *path, const Product *product,
                          tess_diags *d, Failure *f)
{
    Guard guard;
    if (!GUARDED(&guard, &v->arena))
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory while compiling");
    tessi_guard_arena(&guard, &d->arena);
    Text text = tessi_text_new(&v->arena), header = tessi_text_new(&v->arena);
    const char *name = base_name(&v->arena, path, product->suffix);
    if (!emit(p, v, product->backend, name, d, &text, &header, f))
        return false;
    const char *header_path =
        tessi_sprintf(&v->arena, "%.*s.h", (int)(strlen(path) - strlen(product->suffix)), path);
    return check_header(header_path, tessi_text_str(&header), &v->arena, f)
           && write_product(p, path, product, tessi_text_str(&text), tessi_text_str(&header),
                            header_path, f);
}

static bool build(tess_program *p, const char *path, tess_diags **d, Failure *f)
{
    Product product;
    Variant *v = product_of(path, &product, f) ? tessi_variant_for_passes(p, NULL, d, f) : NULL;
    const bool ok = v && build_variant(p, v, path, &product, *d, f);
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
