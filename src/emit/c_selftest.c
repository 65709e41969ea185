/* The self-test of a generated file: a main that runs the program and its naive reference on small images with a
 * fixed pattern, and compares them bit for bit, padding included. */
#include "emit/c_file.h"

typedef struct SelfTest {
    CWriter *w;
    const char *tested;
    bool kernels;                          /* that is what it tests */
    const char *random, *differ, *compare; /* functions */
    const char *seed, *result, *wrong, *i; /* variables of `compare` */
    const char **total;                    /* by image: elements (bytes when mixed), inputs first */
    const char **expected;                 /* by output */
} SelfTest;

/* Names for the self-test that hide none of the program's. */
static void choose_names(SelfTest *t)
{
    CWriter *w = t->w;
    uint32_t n = w->p->inputs.n + w->p->outputs.n;
    const char *public_name = w->public_name;
    t->random = tessi_c_name(w->names, tessi_sprintf(w->arena, "%s_random", public_name));
    t->differ = tessi_c_name(w->names, tessi_sprintf(w->arena, "%s_differ", public_name));
    t->compare = tessi_c_name(w->names, tessi_sprintf(w->arena, "%s_compare", public_name));
    tessi_c_name_parameters(w);
    t->seed = tessi_c_name(w->names, "seed");
    t->result = tessi_c_name(w->names, "result");
    t->wrong = tessi_c_name(w->names, "wrong");
    t->i = tessi_c_name(w->names, "i");
    t->total = ARENA_NEW_ARRAY(w->arena, const char *, n + 1);
    t->expected = ARENA_NEW_ARRAY(w->arena, const char *, n + 1);
    for (uint32_t k = 0; k < n; k++) {
        const char *name = tessi_c_image(w, k)->name;
        t->total[k] = tessi_c_name(w->names, tessi_sprintf(w->arena, "%s_total", name));
        if (k >= w->p->inputs.n)
            t->expected[k] = tessi_c_name(w->names, tessi_sprintf(w->arena, "%s_expected", name));
    }
}

/* Kernels have powers of two of their own, whose bits are not those of the reference. */
static bool has_near_powers(const SelfTest *t)
{
    bool any = false;
    VEC_FOREACH (const LExpr, e, &t->w->p->exprs)
        any = any || (e->kind == LEXPR_OP && e->op == OP_EXP2_NEAR);
    return any && t->kernels;
}

static void helpers(SelfTest *t)
{
    const bool near = has_near_powers(t);
    tessi_text_addf(t->w->out,
                    "\n#include <stdio.h>\n\n"
                    "/* A fixed sequence of numbers below 256. */\n"
                    "static uint32_t %s(uint32_t *seed)\n"
                    "{\n"
                    "    *seed = *seed * 1664525u + 1013904223u;\n"
                    "    return *seed >> 24;\n"
                    "}\n\n"
                    "/* Whether two elements of reals (bytes: their size) or bytes differ; any NaN "
                    "equals any NaN%s. */\n"
                    "static bool %s(const void *a, const void *b, size_t bytes, bool real)\n"
                    "{\n"
                    "    if (memcmp(a, b, bytes) == 0)\n"
                    "        return false;\n"
                    "    if (!real)\n"
                    "        return true;\n"
                    "    const double x = bytes == 2   ? (double)tess_load_f16(a)\n"
                    "                     : bytes == 4 ? (double)tess_load_f32(a)\n"
                    "                                  : tess_load_f64(a);\n"
                    "    const double y = bytes == 2   ? (double)tess_load_f16(b)\n"
                    "                     : bytes == 4 ? (double)tess_load_f32(b)\n"
                    "                                  : tess_load_f64(b);\n"
                    "    return !(isnan(x) && isnan(y))%s;\n"
                    "}\n",
                    t->random,
                    near ? ",\n * and powers of two are the device's: reals may be off a little"
                         : "",
                    t->differ, near ? " && !(fabs(x - y) <= 1e-5 * (1.0 + fabs(y)))" : "");
}

/* Kernels may have been promised that rows are aligned. */
static const char kernel_strides[] = "\n#ifdef TESS_ALIGNED_ROWS\n"
                                     "#define TESS_STRIDE(row) ((row) / 16 * 16 + 16)\n"
                                     "#else\n"
                                     "#define TESS_STRIDE(row) ((row) + 3)\n"
                                     "#endif\n";

/* Strides a little longer than rows, so that they count. */
static void image_sizes(SelfTest *t, uint32_t k)
{
    CWriter *w = t->w;
    const CImage *im = tessi_c_image(w, k);
    const LImage *image = im->image;
    const uint32_t unit = tessi_c_unit_bytes(image);
    int last = image->n_dims - 1;
    for (int d = last - 1; d >= 0; d--) {
        tessi_text_addf(&w->line, "const ptrdiff_t %s = %s", im->stride[d],
                        t->kernels ? "TESS_STRIDE(" : "");
        tessi_c_expr(w, image->size[d + 1], C_PRODUCT);
        if (d == last - 1)
            tessi_text_addf(&w->line, " * %u%s;", image->pixel_bytes / unit,
                            t->kernels ? ")" : " + 3");
        else
            tessi_text_addf(&w->line, " * %s%s;", im->stride[d + 1], t->kernels ? ")" : " + 1");
        tessi_c_end_line(w);
    }
    tessi_text_addf(&w->line, "const ptrdiff_t %s = ", t->total[k]);
    tessi_c_expr(w, image->size[0], C_PRODUCT);
    if (last)
        tessi_text_addf(&w->line, " * %s;", im->stride[0]);
    else
        tessi_text_addf(&w->line, " * %u;", image->pixel_bytes / unit);
    tessi_c_end_line(w);
}

static void allocate(SelfTest *t, uint32_t k, const char *name)
{
    const char *element = tessi_c_image_element(tessi_c_image(t->w, k));
    tessi_c_line(t->w, "%s *%s = malloc((size_t)%s * sizeof(%s));", element, name, t->total[k],
                 element);
}

static void fill_input(SelfTest *t, uint32_t k)
{
    CWriter *w = t->w;
    const CImage *im = tessi_c_image(w, k);
    ScalarType type = im->image->channel_type[0];
    const char *number = tessi_sprintf(w->arena, "%s(&%s)", t->random, t->seed), *value;
    if (!im->image->uniform)
        value = tessi_sprintf(w->arena, "(unsigned char)%s", number);
    else if (type == TYPE_BOOL)
        value = tessi_sprintf(w->arena, "(uint8_t)(%s & 1)", number);
    else if (type == TYPE_F16)
        value = tessi_sprintf(w->arena, "tess_f16bits_from_f32((float)%s * 0.25f)", number);
    else if (tessi_is_real(type))
        value = tessi_sprintf(w->arena, "(%s)%s * 0.37%s", tessi_c_element(type), number,
                              type == TYPE_F32 ? "f" : "");
    else
        value = tessi_sprintf(w->arena, "(%s)(%s & %s)", tessi_c_element(type), number,
                              type == TYPE_I8 ? "127" : "255");
    tessi_c_line(w, "for (ptrdiff_t %s = 0; %s < %s; %s++)", t->i, t->i, t->total[k], t->i);
    w->indent++;
    tessi_c_line(w, "%s[%s] = %s;", im->name, t->i, value);
    w->indent--;
}

static void fill_output(SelfTest *t, uint32_t k, const char *name)
{
    CWriter *w = t->w;
    tessi_c_line(w, "for (ptrdiff_t %s = 0; %s < %s; %s++)", t->i, t->i, t->total[k], t->i);
    w->indent++;
    tessi_c_line(w, "%s[%s] = (%s)101;", name, t->i, tessi_c_image_element(tessi_c_image(w, k)));
    w->indent--;
}

static void call(SelfTest *t, const char *function, bool expected)
{
    CWriter *w = t->w;
    const LoopProgram *p = w->p;
    bool first = true;
    tessi_text_addf(&w->line, "%s(", function);
    for (uint32_t k = 0; k < p->inputs.n + p->outputs.n; k++) {
        if (k == p->inputs.n) {
            for (uint32_t i = 0; i < p->params.n; i++, first = false)
                tessi_text_addf(&w->line, "%s%s", first ? "" : ", ", w->param[i]);
            for (uint32_t i = 0; i < p->scalars.n; i++, first = false) {
                ScalarType type = p->scalars.at[i].type;
                tessi_text_add(&w->line, first ? "" : ", ");
                Value v = tessi_is_real(type) ? tessi_value_real(1.5 + i)
                                              : tessi_value_int(type == TYPE_BOOL ? 1 : 3 + i % 8);
                tessi_c_constant(&w->line, type, v);
            }
        }
        const CImage *im = tessi_c_image(w, k);
        tessi_text_addf(&w->line, "%s%s", first ? "" : ", ",
                        expected && k >= p->inputs.n ? t->expected[k] : im->name);
        first = false;
        for (int d = 0; d < im->image->n_dims - 1; d++)
            tessi_text_addf(&w->line, ", %s", im->stride[d]);
    }
    tessi_text_add(&w->line, ")");
}

static void compare_output(SelfTest *t, uint32_t k)
{
    CWriter *w = t->w;
    const CImage *im = tessi_c_image(w, k);
    bool real = im->image->uniform && tessi_is_real(im->image->channel_type[0]);
    tessi_c_line(w, "for (ptrdiff_t %s = 0; %s < %s; %s++)", t->i, t->i, t->total[k], t->i);
    w->indent++;
    tessi_c_line(w, "%s += %s(&%s[%s], &%s[%s], sizeof(%s), %s);", t->wrong, t->differ, im->name,
                 t->i, t->expected[k], t->i, tessi_c_image_element(im), real ? "true" : "false");
    w->indent--;
}

/* Memory for every image, and whether there is all of it. */
static void allocate_all(SelfTest *t, uint32_t n)
{
    CWriter *w = t->w;
    for (uint32_t k = 0; k < n; k++) {
        image_sizes(t, k);
        allocate(t, k, tessi_c_image(w, k)->name);
        if (t->expected[k])
            allocate(t, k, t->expected[k]);
    }
    tessi_c_line(w, "long %s = -1;", t->wrong);
    tessi_text_add(&w->line, "if (");
    for (uint32_t k = 0; k < n; k++) {
        tessi_text_addf(&w->line, "%s%s", k ? " && " : "", tessi_c_image(w, k)->name);
        if (t->expected[k])
            tessi_text_addf(&w->line, " && %s", t->expected[k]);
    }
    tessi_text_add(&w->line, n ? ") {" : "true) {");
    tessi_c_end_line(w);
}

static void run_both(SelfTest *t, const char *reference, uint32_t n)
{
    CWriter *w = t->w;
    tessi_c_line(w, "uint32_t %s = 1;", t->seed);
    tessi_c_line(w, "(void)%s;", t->seed);
    for (uint32_t k = 0; k < n; k++) {
        if (k < w->p->inputs.n) {
            fill_input(t, k);
            continue;
        }
        fill_output(t, k, tessi_c_image(w, k)->name);
        fill_output(t, k, t->expected[k]);
    }
    tessi_text_addf(&w->line, "const int %s = ", t->result);
    call(t, t->tested, false);
    tessi_text_add(&w->line, ";");
    tessi_c_end_line(w);
    tessi_text_addf(&w->line, "%s = %s != ", t->wrong, t->result);
    call(t, reference, true);
    tessi_text_add(&w->line, ";");
    tessi_c_end_line(w);
    for (uint32_t k = w->p->inputs.n; k < n; k++)
        compare_output(t, k);
}

/* compare(sizes): the number of elements that differ; -1 when the test could not run. */
static void compare_function(SelfTest *t, const char *reference)
{
    CWriter *w = t->w;
    const LoopProgram *p = w->p;
    uint32_t n = p->inputs.n + p->outputs.n;
    tessi_text_add(w->out, "\n/* The number of elements that differ from the reference; -1 when "
                           "memory is short. */\n");
    tessi_text_addf(&w->line, "static long %s(", t->compare);
    for (uint32_t i = 0; i < p->params.n; i++)
        tessi_text_addf(&w->line, "%sptrdiff_t %s", i ? ", " : "", w->param[i]);
    tessi_text_add(&w->line, p->params.n ? ")" : "void)");
    tessi_c_end_line(w);
    tessi_text_add(w->out, "{\n");
    w->indent++;
    for (uint32_t i = 0; i < p->params.n; i++)
        tessi_c_line(w, "(void)%s;", w->param[i]);
    tessi_c_check_sizes(w, "return 0;");
    tessi_c_check_equal(w, "return 0;");
    allocate_all(t, n);
    w->indent++;
    run_both(t, reference, n);
    w->indent--;
    tessi_c_line(w, "}");
    for (uint32_t k = 0; k < n; k++) {
        tessi_c_line(w, "free(%s);", tessi_c_image(w, k)->name);
        if (t->expected[k])
            tessi_c_line(w, "free(%s);", t->expected[k]);
    }
    tessi_c_line(w, "return %s;", t->wrong);
    w->indent--;
    tessi_text_add(w->out, "}\n");
}

/* The number of the first parameter that parameter i must be equal to. */
static uint32_t first_equal(const LoopProgram *p, uint32_t i)
{
    for (uint32_t k = 0; k < p->must_be_equal.n; k += 2) {
        const LExpr *a = tessi_lexpr(p, p->must_be_equal.at[k]),
                    *b = tessi_lexpr(p, p->must_be_equal.at[k + 1]);
        if (a->kind != LEXPR_PARAM || b->kind != LEXPR_PARAM)
            continue;
        if (a->ref == i && b->ref < i)
            return first_equal(p, b->ref);
        if (b->ref == i && a->ref < i)
            return first_equal(p, a->ref);
    }
    return i;
}

/* Each parameter takes every size of a list, the next one shifted, so that wide and tall images occur. */
static void main_function(SelfTest *t)
{
    CWriter *w = t->w;
    enum { N_SIZES = 9 };
    tessi_text_addf(w->out,
                    "\nint main(void)\n"
                    "{\n"
                    "    static const ptrdiff_t sizes[%d] = { 1, 2, 3, 5, 8, 17, 33, 64, 101 };\n"
                    "    int failed = 0;\n"
                    "    for (int c = 0; c < %d; c++) {\n",
                    N_SIZES, N_SIZES);
    w->indent = 2;
    tessi_text_addf(&w->line, "const long wrong = %s(", t->compare);
    for (uint32_t i = 0; i < w->p->params.n; i++)
        tessi_text_addf(&w->line, "%ssizes[(c + %u) %% %d]", i ? ", " : "",
                        first_equal(w->p, i) * 2 % N_SIZES, N_SIZES);
    tessi_text_add(&w->line, ");");
    tessi_c_end_line(w);
    w->indent = 0;
    tessi_text_addf(
        w->out,
        "        if (wrong != 0)\n"
        "            printf(\"%s: sizes %%td ...: %%ld elements differ\\n\", sizes[c], wrong);\n"
        "        failed += wrong != 0;\n"
        "    }\n"
        "    if (!failed)\n"
        "        printf(\"ok\\n\");\n"
        "    return failed != 0;\n"
        "}\n",
        w->public_name);
}

void tessi_c_selftest(CWriter *w, const char *tested, CWriter *reference)
{
    tessi_c_names_leave(w->names, reference->mark);
    SelfTest t = { .w = w, .tested = tested, .kernels = !tessi_streq(tested, w->public_name) };
    if (t.kernels)
        tessi_text_add(w->out, kernel_strides);
    choose_names(&t);
    helpers(&t);
    compare_function(&t, reference->public_name);
    main_function(&t);
}
