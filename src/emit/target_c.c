/* C: the frame of a file (head, prelude, switches, the entry for launchers), its header, and the row of the
 * language. */
#include <string.h>

#include "emit/c_file.h"
#include "emit/prelude.h"
#include "loop/loop_repeat.h"

/* ---- Documentation ----------------------------------------------------------------------------------------------- */

static void describe_image(CWriter *w, Text *out, const LImage *im, const char *name,
                           const char *role)
{
    tessi_text_addf(out, "\n%s (%s): ", name, role);
    for (int d = 0; d < im->n_dims; d++) {
        Text line = w->line;
        w->line = tessi_text_new(w->arena);
        tessi_c_expr(w, im->size[d], im->n_dims > 1 ? C_UNARY : C_LOOSE);
        tessi_text_addf(out, "%s%s", d ? " x " : "", tessi_text_str(&w->line));
        w->line = line;
    }
    bool plain = im->n_channels == 1;
    tessi_text_add(out, plain ? " pixels of " : " pixels of {");
    for (uint32_t c = 0; c < im->n_channels; c++) {
        tessi_text_addf(out, "%s%s",
                        c       ? ", "
                        : plain ? ""
                                : " ",
                        tessi_type_info(im->channel_type[c])->name);
        if (!plain && im->channel_name[c] && *im->channel_name[c])
            tessi_text_addf(out, " %s", im->channel_name[c]);
    }
    tessi_text_add(out, plain ? "" : " }");
    if (im->n_dims > 1)
        tessi_text_addf(out, "; stride%s in %s", im->n_dims > 2 ? "s" : "",
                        im->uniform ? "elements" : "bytes");
}

const char tessi_c_returns[] =
    "Returns 0 when done, 1 when memory is short, 2 when a size is not positive.";

void tessi_c_describe(CWriter *w, const char *returns)
{
    Text text = tessi_text_new(w->arena);
    tessi_text_add(&text, returns);
    if (w->p->must_be_equal.n)
        tessi_text_add(&text,
                       "\nReturns 5 when images that are computed with each other differ in size.");
    for (uint32_t i = 0; i < w->p->inputs.n; i++)
        describe_image(w, &text, w->inputs[i].image, w->inputs[i].name, "in");
    for (uint32_t i = 0; i < w->p->outputs.n; i++)
        describe_image(w, &text, w->outputs[i].image, w->outputs[i].name, "out");
    tessi_c_comment(w, tessi_text_str(&text));
}

void tessi_c_header(CWriter *w, const char *includes, const char *returns, const CParameters *list)
{
    tessi_text_addf(w->out,
                    "#ifndef TESSERA_%s_H\n#define TESSERA_%s_H\n\n"
                    "#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n%s"
                    "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n",
                    w->public_name, w->public_name, includes);
    tessi_c_describe(w, returns);
    tessi_c_signature(w, "int ", w->public_name, list, ";");
    tessi_text_add(w->out, "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
}

void tessi_c_head(CWriter *w, const EmitOptions *o, const char *usage)
{
    Text text = tessi_text_new(w->arena);
    tessi_text_addf(&text, "%s", w->p->name);
    if (o->source_name)
        tessi_text_addf(&text, ", compiled from %s", o->source_name);
    tessi_text_addf(&text, " by Tessera%s", usage);
    if (w->p->comment && *w->p->comment)
        tessi_text_addf(&text, "\n\n%s", w->p->comment);
    tessi_c_comment(w, tessi_text_str(&text));
}

static void head_comment(CWriter *w, const EmitOptions *o)
{
    const char *usage = tessi_sprintf(
        w->arena,
        ". Compile with\n"
        "    cc %s -fopenmp -c %s.c\n"
        "and link with -fopenmp -lm; without -fopenmp it runs on one core.%s",
        w->target->flags, w->public_name,
        o->reference ? " With -DTESSERA_SELFTEST it is a program that tests itself." : "");
    tessi_c_head(w, o, usage);
}

/* ---- Switches ---------------------------------------------------------------------------------------------------- */

static const char diagnostics[] =
    "\n/* No warnings about conditions that constants decide, nor about loops left unvectorised. "
    "*/\n"
    "#if defined(__clang__)\n"
    "#pragma clang diagnostic ignored \"-Wunknown-warning-option\"\n"
    "#pragma clang diagnostic ignored \"-Wbitwise-instead-of-logical\"\n"
    "#pragma clang diagnostic ignored \"-Wpass-failed\"\n"
    "#pragma clang diagnostic ignored \"-Wtautological-compare\"\n"
    "#pragma clang diagnostic ignored \"-Wtautological-constant-in-range-compare\"\n"
    "#pragma clang diagnostic ignored \"-Wtautological-constant-out-of-range-compare\"\n"
    "#elif defined(__GNUC__)\n"
    "#pragma GCC diagnostic ignored \"-Wbool-compare\"\n"
    "#pragma GCC diagnostic ignored \"-Wtype-limits\"\n"
    "#endif\n";

static const char switches[] =
    "\n/* How loops run: on all cores with -fopenmp, and in vectors. */\n"
    "#if defined(_OPENMP)\n"
    "#include <omp.h>\n"
    "#define TESS_THREADS omp_get_max_threads()\n"
    "#define TESS_THREAD  omp_get_thread_num()\n"
    "/* Each thread rounds to nearest. */\n"
    "#define TESS_ON_THREADS                                                                  \\\n"
    "    _Pragma(\"omp parallel\")                                                            \\\n"
    "    for (tess_rounding tess_before = tess_round_to_nearest(), *tess_once = &tess_before; \\\n"
    "         tess_once; tess_round_as(tess_before), tess_once = NULL)\n"
    "#define TESS_PARALLEL      TESS_ON_THREADS _Pragma(\"omp for schedule(static) nowait\")\n"
    "#define TESS_PARALLEL_LONG TESS_ON_THREADS _Pragma(\"omp for schedule(dynamic) nowait\")\n"
    "#define TESS_PARALLEL_SIMD TESS_ON_THREADS _Pragma(\"omp for simd schedule(static) nowait\")\n"
    "#define TESS_SIMD          _Pragma(\"omp simd\")\n"
    "#define TESS_ATOMIC        _Pragma(\"omp atomic\")\n"
    "#else\n"
    "#define TESS_THREADS 1\n"
    "#define TESS_THREAD  0\n"
    "#define TESS_PARALLEL\n"
    "#define TESS_PARALLEL_LONG\n"
    "#define TESS_PARALLEL_SIMD TESS_SIMD\n"
    "#define TESS_ATOMIC\n"
    "#if defined(__clang__)\n"
    "#define TESS_SIMD _Pragma(\"clang loop vectorize(assume_safety)\")\n"
    "#elif defined(__GNUC__)\n"
    "#define TESS_SIMD _Pragma(\"GCC ivdep\")\n"
    "#else\n"
    "#define TESS_SIMD\n"
    "#endif\n"
    "#endif\n"
    "#if defined(__clang__)\n"
    "#define TESS_UNROLL _Pragma(\"clang loop unroll(full)\")\n"
    "#elif defined(__GNUC__)\n"
    "#define TESS_UNROLL _Pragma(\"GCC unroll 64\")\n"
    "#else\n"
    "#define TESS_UNROLL\n"
    "#endif\n";

void tessi_c_frame(Text *out)
{
    tessi_text_addf(out, "\n#include <stdlib.h>\n%s%s", diagnostics, switches);
}

/* Fused multiply-adds, or functions that are made of them. */
static bool has_fma(const LoopProgram *p)
{
    VEC_FOREACH (const LExpr, e, &p->exprs)
        if (e->kind == LEXPR_OP && tessi_is_real(e->type)
            && (e->op == OP_FMA || (e->op >= OP_CBRT && e->op <= OP_HYPOT)))
            return true;
    return false;
}

/* Whoever launches the entry has seen to the flags. */
static const char needs_fma[] =
    "\n#if (defined(__x86_64__) || defined(__i386__)) && !defined(__FMA__) \\\n"
    "    && !defined(TESSERA_ENTRY) && !defined(TESSERA_WITHOUT_FMA)\n"
    "#error \"Compile with -march=native, or -mavx2 -mfma: else each fused multiply-add is a call, "
    "and "
    "the program many times slower, which -DTESSERA_WITHOUT_FMA accepts.\"\n"
    "#endif\n";

/* ---- The entry --------------------------------------------------------------------------------------------------- */

/* Names in the launcher's entry, which hide nothing that it calls. */
typedef struct EntryNames {
    const char *images, *strides, *params, *scalars, *threads, *workspace, *bytes, *before, *status;
} EntryNames;

static void entry_image(Text *call, const EntryNames *names, const LImage *im, uint32_t number)
{
    tessi_text_addf(call, "%s%s[%u]", call->n ? ", " : "", names->images, number);
    for (int d = 0; d < im->n_dims - 1; d++)
        tessi_text_addf(call, ", %s[%u]", names->strides, number * EMIT_STRIDES + (uint32_t)d);
}

static void entry_scalar(const CWriter *w, Text *call, const EntryNames *names, ScalarType t,
                         uint32_t number)
{
    tessi_text_add(call, call->n ? ", " : "");
    if (tessi_is_real(t))
        tessi_text_addf(call, "%s((const double *)%s)[%u]", t == TYPE_F64 ? "" : "(float)",
                        names->scalars, number);
    else if (t == TYPE_BOOL)
        tessi_text_addf(call, "((const int64_t *)%s)[%u] != 0", names->scalars, number);
    else
        tessi_text_addf(call, "(%s)((const int64_t *)%s)[%u]", tessi_c_type(w, t), names->scalars,
                        number);
}

static const char *entry_call(const CWriter *w, const EntryNames *names)
{
    const LoopProgram *p = w->p;
    Text call = tessi_text_new(w->arena);
    for (uint32_t i = 0; i < p->inputs.n; i++)
        entry_image(&call, names, &p->inputs.at[i], i);
    for (uint32_t i = 0; i < p->params.n; i++)
        tessi_text_addf(&call, "%s%s[%u]", call.n ? ", " : "", names->params, i);
    for (uint32_t i = 0; i < p->scalars.n; i++)
        entry_scalar(w, &call, names, p->scalars.at[i].type, i);
    for (uint32_t i = 0; i < p->outputs.n; i++)
        entry_image(&call, names, &p->outputs.at[i], p->inputs.n + i);
    if (w->run_name)
        tessi_text_addf(&call, "%s%s, %s", call.n ? ", " : "", names->workspace, names->bytes);
    if (w->run_name && tessi_loop_conditions(p))
        tessi_text_addf(&call, ", %s + 1", names->bytes);
    return tessi_text_str(&call);
}

static void entry(CWriter *w)
{
    tessi_c_names_leave(w->names, w->mark);
    EntryNames names = { .images = tessi_c_name(w->names, "images"),
                         .strides = tessi_c_name(w->names, "strides"),
                         .params = tessi_c_name(w->names, "params"),
                         .scalars = tessi_c_name(w->names, "scalars"),
                         .threads = tessi_c_name(w->names, "threads"),
                         .workspace = tessi_c_name(w->names, "workspace"),
                         .bytes = tessi_c_name(w->names, "bytes"),
                         .before = tessi_c_name(w->names, "threads_before"),
                         .status = tessi_c_name(w->names, "status") };
    const char *head =
        tessi_sprintf(w->arena,
                      "int %s_entry(void *const *%s, const ptrdiff_t *%s, const ptrdiff_t *%s, "
                      "const void *%s, int %s, void *%s, ptrdiff_t *%s)",
                      w->public_name, names.images, names.strides, names.params, names.scalars,
                      names.threads, names.workspace, names.bytes);
    tessi_text_add(w->out, "\n#ifdef TESSERA_ENTRY\n");
    tessi_c_comment(w, "The same for launchers: images (inputs, then outputs), 4 strides for each, "
                       "sizes, scalars of\n"
                       "8 bytes each (int64_t or double), threads (0: OpenMP's default), a "
                       "workspace for intermediate\n"
                       "images and its bytes. Returns 3, with the bytes needed, when they are "
                       "too few.");
    tessi_c_line(w, "%s;", head);
    tessi_c_line(w, "%s", head);
    tessi_text_addf(w->out,
                    "{\n"
                    "    (void)%s, (void)%s, (void)%s, (void)%s;\n"
                    "    (void)%s, (void)%s, (void)%s;\n"
                    "#ifdef _OPENMP\n"
                    "    const int %s = omp_get_max_threads();\n"
                    "    if (%s > 0)\n"
                    "        omp_set_num_threads(%s);\n"
                    "#endif\n",
                    names.images, names.strides, names.params, names.scalars, names.threads,
                    names.workspace, names.bytes, names.before, names.threads, names.threads);
    w->indent++;
    tessi_c_line(w, "const int %s = %s(%s);", names.status,
                 w->run_name ? w->run_name : w->public_name, entry_call(w, &names));
    w->indent--;
    tessi_text_addf(w->out,
                    "#ifdef _OPENMP\n"
                    "    omp_set_num_threads(%s);\n"
                    "#endif\n"
                    "    return %s;\n"
                    "}\n"
                    "#endif /* TESSERA_ENTRY */\n",
                    names.before, names.status);
    tessi_c_names_leave(w->names, w->mark);
}

/* ---- Files ------------------------------------------------------------------------------------------------------- */

static void begin(CWriter *w, const EmitTarget *t, const LoopProgram *p, CNames *names, Text *out)
{
    tessi_c_begin(w, t, p, names, out);
    tessi_c_file_name(w, "entry"); /* taken */
}

/* The types and operators of vectors that the program has. */
static void vectors(CWriter *w)
{
    tessi_text_add(w->out, "\n/* The vectors of this program. */\n");
    VEC_FOREACH (const char *, line, &w->vector_types)
        tessi_c_line(w, "%s", *line);
    VEC_FOREACH (const char *, line, &w->vector_operators)
        tessi_c_line(w, "%s", *line);
}

/* The program whose text `of` is compared with, and main. */
static void selftest(CWriter *w, const EmitTarget *t, const LoopProgram *p, CNames *names)
{
    CWriter reference;
    const char *name = tessi_c_file_name(w, "reference");
    tessi_c_writer_init(&reference, t, p, name, names, w->out);
    tessi_text_add(w->out, "\n#ifdef TESSERA_SELFTEST\n");
    tessi_c_program(&reference, true);
    tessi_c_selftest(w, w->public_name, &reference);
    tessi_text_add(w->out, "#endif /* TESSERA_SELFTEST */\n");
}

/* What the program uses of the preludes. */
static void prelude(const CWriter *w, const EmitOptions *options, const char *program, Text *out)
{
    const bool has_vectors = w->vector_types.n && options->vector_prelude;
    Text text = tessi_text_new(out->arena);
    if (has_vectors)
        tessi_text_addf(&text, "#define TESS_VECTOR_MOST %u\n", w->p->vector_bytes);
    tessi_text_add(&text, options->prelude);
    if (has_vectors)
        tessi_text_add(&text, options->vector_prelude);
    tessi_prelude_used(tessi_text_str(&text), program, out);
}

static void emit(const LoopProgram *p, const EmitTarget *t, const EmitOptions *options, Text *out)
{
    CNames names;
    CWriter w;
    begin(&w, t, p, &names, out);
    Text functions = tessi_text_new(out->arena), program = tessi_text_new(out->arena);
    w.out = &functions; /* first: they say which vector types are needed */
    tessi_c_program(&w, false);
    entry(&w);
    if (options->reference)
        selftest(&w, t, options->reference, &names);
    w.out = &program;
    if (w.vector_types.n && options->vector_prelude)
        vectors(&w);
    tessi_c_frame(&program);
    tessi_text_add(&program, tessi_text_str(&functions));
    w.out = out;
    head_comment(&w, options);
    if (has_fma(p))
        tessi_text_add(out, needs_fma);
    if (options->prelude)
        prelude(&w, options, tessi_text_str(&program), out);
    tessi_text_add(out, tessi_text_str(&program));
}

static void print_file(const LoopProgram *p, const EmitTarget *t, const EmitOptions *options,
                       Text *out)
{
    Arena *scratch = tessi_scratch_open(out->arena);
    Text text = tessi_text_new(scratch);
    emit(p, t, options, &text);
    tessi_text_addn(out, tessi_text_str(&text), text.n);
    tessi_scratch_close(scratch);
}

static void print(const LoopProgram *p, const EmitTarget *t, const EmitOptions *options, Text *out,
                  EmitModule *module)
{
    *module = (EmitModule){ 0 };
    print_file(p, t, options, out);
}

static void print_header(const LoopProgram *p, const EmitTarget *t, const EmitOptions *options,
                         Text *out)
{
    CNames names;
    CWriter w;
    begin(&w, t, p, &names, out);
    tessi_c_name_parameters(&w);
    head_comment(&w, options);
    const CParameters list = tessi_c_parameters(&w, C_DECLARED);
    tessi_c_header(&w, "\n", tessi_c_returns, &list);
}

const EmitTarget tessi_emit_c = {
    .name = "c",
    .title = "C",
    .language = "C",
    .suffix = ".c",
    .flags = "-std=c11 -O3 -march=native -ffp-contract=off -fno-math-errno -fno-trapping-math",
    .print = print,
    .print_file = print_file,
    .print_header = print_header,
    .here = "TESS_HERE",
    .texts = C_IN_C,
    .index = "ptrdiff_t",
    .flag = "bool",
    .byte = "unsigned char",
    .stride = "ptrdiff_t",
    .value = "",
    .global = "",
    .const_global = "const ",
    .constant = "const ",
    .restricted = "restrict ",
    .parallel = "TESS_PARALLEL",
    .simd = "TESS_SIMD",
    .unroll = "TESS_UNROLL",
    .atomic = "TESS_ATOMIC",
    .fuses_negations = true,
    .workspace = true,
    .table = "static const",
    .memory_table = "static const",
};
