/* The launchers in files of kernels, and for the self-test functions that do the same for images of the host: names,
 * checks, sizes of intermediate images, numbers of blocks, and the order of it all. The API of the language says the
 * rest. */
#include <math.h>
#include <string.h>

#include "emit/gpu_private.h"
#include "loop/loop_passes.h"

/* ---- Names ------------------------------------------------------------------------------------------------------- */

void tessi_gpu_host_begin(GpuHost *h)
{
    CWriter *w = h->w;
    h->options =
        tessi_c_file_name(w, "options"); /* first: the header has it too, without the kernels */
    VEC_FOREACH (const GpuKernel, k, &h->module->kernels)
        tessi_c_name(w->names, k->name);
    static const struct {
        Op op;
        const char *name;
    } functions[] = { { OP_MIN, "least" },
                      { OP_MAX, "most" },
                      { OP_FLOORDIV, "divide" },
                      { OP_FLOORMOD, "rest" },
                      { OP_SELECT, "select" } };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        h->functions.name[functions[i].op] = tessi_c_file_name(w, functions[i].name);
    w->functions = &h->functions;
    h->api = h->target->api;
    w->handle = h->api->handle;
    h->index = h->api->index ? h->api->index : tessi_c_file_name(w, "index");
    h->end = tessi_c_file_name(w, "end");
    h->launch = tessi_c_file_name(w, h->api->launch);
    h->on_host = tessi_c_file_name(w, "on_host");
    h->open = tessi_c_file_name(w, "open");
    h->table = ARENA_NEW_ARRAY(w->arena, const char *, w->p->buffers.n);
    VEC_FOREACH (const LBufferId, id, &h->module->temps)
        if (w->p->buffers.at[id->v].kind == LBUF_TABLE)
            h->table[id->v] = tessi_c_file_name(w, w->p->buffers.at[id->v].name);
    w->mark = tessi_c_names_mark(w->names);
}

void tessi_gpu_host_function(GpuHost *h)
{
    CWriter *w = h->w;
    tessi_c_names_leave(w->names, w->mark);
    tessi_c_name_parameters(w);
    h->queue = tessi_c_name(w->names, h->api->queue);
    h->program = tessi_c_name(w->names, "program");
    h->error = tessi_c_name(w->names, "error");
    h->memory = tessi_c_name(w->names, h->api->memory);
    h->word['e'] = h->error;
    h->word['q'] = h->queue;
    h->word['m'] = h->memory;
    h->word['p'] = h->program;
    h->word['o'] = h->open;
}

/* ---- Parameters -------------------------------------------------------------------------------------------------- */

static void add(GpuHost *h, CParameters *list, const char *type, const char *name)
{
    CParameter parameter = { tessi_sprintf(h->w->arena, "%s %s", type, name), name, { 0 } };
    VEC_PUSH(h->w->arena, list, parameter);
}

CParameters tessi_gpu_host_parameters(GpuHost *h)
{
    CParameters list = tessi_c_parameters(h->w, h->w->handle ? C_BUFFERS : C_DECLARED);
    add(h, &list, h->api->queue_type, h->queue);
    if (h->api->program_type)
        add(h, &list, h->api->program_type, h->program);
    return list;
}

static bool is_same(const GpuArg *a, const GpuArg *b)
{
    return a->kind == b->kind && a->index == b->index && a->dim == b->dim;
}

CParameter *tessi_gpu_host_given(const GpuHost *h, const GpuArg *arg)
{
    VEC_FOREACH (CParameter, parameter, &h->given)
        if (parameter->name != h->queue && is_same(&parameter->arg, arg))
            return parameter;
    return NULL;
}

const char *tessi_gpu_host_value(const GpuHost *h, const GpuArg *arg)
{
    return arg->kind == GPU_ARG_TEMP ? h->w->buffer[arg->index]
                                     : tessi_gpu_host_given(h, arg)->name;
}

static const char *extent(GpuHost *h, uint32_t k)
{
    const CImage *im = tessi_c_image(h->w, k);
    const char *row = im->image->n_dims > 1
                          ? im->stride[0]
                          : tessi_sprintf(h->w->arena, "%u",
                                          im->image->pixel_bytes / tessi_c_unit_bytes(im->image));
    return tessi_c_join(h->w, tessi_c_printed(h->w, im->image->size[0]), "*", tessi_c_word(row))
        .text;
}

/* ---- Checks ------------------------------------------------------------------------------------------------------ */

static bool is_size(const CWriter *w, uint32_t param)
{
    for (uint32_t k = 0; k < w->p->inputs.n + w->p->outputs.n; k++) {
        const LImage *im =
            k < w->p->inputs.n ? &w->p->inputs.at[k] : &w->p->outputs.at[k - w->p->inputs.n];
        for (int d = 0; d < im->n_dims; d++) {
            const LExpr *size = tessi_lexpr(w->p, im->size[d]);
            if (size->kind == LEXPR_PARAM && size->ref == param)
                return true;
        }
    }
    return false;
}

/* The factor is rounded up to what is easy to read; sizes are known to be positive here. */
static void add_term(CWriter *w, const LoopBoundTerm *t)
{
    if (t->factor != 1 || !t->n_params)
        tessi_text_addf(&w->line,
                        t->factor == floor(t->factor) && t->factor < 1e9 ? "%.0f." : "%.3g",
                        t->factor == floor(t->factor) ? t->factor : t->factor * 1.005);
    for (uint32_t k = 0; k < t->n_params; k++)
        tessi_text_addf(&w->line, is_size(w, t->param[k]) ? "%s(double)%s" : "%sfabs((double)%s)",
                        k || t->factor != 1 ? " * " : "", w->param[t->param[k]]);
}

static void check_indices(GpuHost *h)
{
    CWriter *w = h->w;
    if (!h->bound || !w->p->params.n)
        return;
    bool first = true;
    tessi_text_add(w->out, "#ifndef TESS_WIDE_INDEX\n");
    tessi_text_add(&w->line, "if (");
    for (int degree = LOOP_MAX_DIMS; degree >= 0; degree--)
        VEC_FOREACH (const LoopBoundTerm, t, h->bound) {
            if (t->n_params != degree)
                continue;
            tessi_text_add(&w->line, first ? "" : " + ");
            add_term(w, t);
            first = false;
        }
    tessi_text_add(&w->line, " > INT32_MAX)");
    tessi_c_end_line(w);
    tessi_c_line(w, "%*sreturn 3; /* the indices of the kernels have 32 bits */", C_INDENT, "");
    tessi_text_add(w->out, "#endif\n");
}

static void check_rows(GpuHost *h)
{
    CWriter *w = h->w;
    const uint32_t n = w->p->inputs.n + w->p->outputs.n;
    bool first = true, *moved = ARENA_NEW_ARRAY(w->arena, bool, n + 1);
    tessi_loop_moved(w->p, moved);
    tessi_text_add(w->out, "#ifdef TESS_ALIGNED_ROWS\n");
    tessi_text_add(&w->line, "if (");
    for (uint32_t k = 0; k < n; k++) {
        if (!moved[k])
            continue;
        const CImage *im = tessi_c_image(h->w, k);
        if (!w->handle) {
            tessi_text_addf(&w->line, "%s(uintptr_t)%s %% 16 != 0", first ? "" : " || ", im->name);
            first = false;
        }
        for (int d = 0; d + 1 < im->image->n_dims; d++, first = false)
            tessi_text_addf(&w->line, "%s%s * %u %% 16 != 0", first ? "" : " || ", im->stride[d],
                            tessi_c_unit_bytes(im->image));
    }
    tessi_text_add(&w->line, first ? "false)" : ")");
    tessi_c_end_line(w);
    tessi_c_line(w, "%*sreturn 4;", C_INDENT, "");
    tessi_text_add(w->out, "#endif\n");
}

static bool passes(const GpuHost *h, const GpuArg *passed)
{
    VEC_FOREACH (const GpuKernel, k, &h->module->kernels)
        VEC_FOREACH (const GpuArg, arg, &k->args)
            if (is_same(arg, passed))
                return true;
    return false;
}

static bool is_value(GpuArgKind kind)
{
    return kind == GPU_ARG_PARAM || kind == GPU_ARG_SCALAR;
}

/* Parameters that no kernel takes, so that compilers do not warn about them: images, then values, then those of the
 * API. */
static void mention_unused(GpuHost *h)
{
    const uint32_t n = h->given.n - (h->api->program_type ? 2 : 1);
    for (int values = 0; values < 2; values++)
        for (uint32_t i = 0; i < n; i++)
            if (is_value(h->given.at[i].arg.kind) == values && !passes(h, &h->given.at[i].arg))
                tessi_c_line(h->w, "(void)%s;", h->given.at[i].name);
    for (uint32_t i = n; i < h->given.n && !h->module->kernels.n; i++)
        tessi_c_line(h->w, "(void)%s;", h->given.at[i].name);
}

static void checks(GpuHost *h)
{
    mention_unused(h);
    tessi_c_check_sizes(h->w, "return 2;");
    tessi_c_check_equal(h->w, "return 5;");
    check_indices(h);
    check_rows(h);
}

/* ---- Sizes ------------------------------------------------------------------------------------------------------- */

void tessi_gpu_host_end_of(GpuHost *h, LBufferId id, const char *begin)
{
    CWriter *w = h->w;
    const LBuffer *b = &w->p->buffers.at[id.v];
    tessi_text_addf(&w->line, "%s(%s, sizeof(%s)", h->end, begin, tessi_c_element(b->type));
    for (int d = b->n_dims - LOOP_MAX_DIMS; d < b->n_dims; d++) {
        tessi_text_add(&w->line, ", ");
        if (d < 0)
            tessi_text_add(&w->line, "1");
        else
            tessi_c_expr(w, b->size[d], C_LOOSE);
    }
    tessi_text_add(&w->line, ")");
}

const LBufferId *tessi_gpu_host_temps(const GpuHost *h)
{
    const EmitModule *m = h->module;
    LBufferId *temps = ARENA_NEW_ARRAY(h->w->arena, LBufferId, m->temps.n + 1);
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->temps.n; i++)
        if (!m->symbols.at[i])
            temps[n++] = m->temps.at[i];
    return temps;
}

const char *tessi_gpu_host_grid(GpuHost *h, const GpuKernel *k)
{
    LExprId sizes[LOOP_MAX_AXES];
    uint32_t n = 0;
    for (int axis = 0; axis < LOOP_MAX_AXES; axis++)
        if (k->grid[axis].v)
            sizes[n++] = k->grid[axis];
    tessi_c_prepare(h->w, sizes, n);
    Text out = tessi_text_new(h->w->arena);
    for (int axis = 0; axis < LOOP_MAX_AXES; axis++)
        tessi_text_addf(&out, "%s%s", axis ? ", " : "",
                        k->grid[axis].v ? tessi_c_printed(h->w, k->grid[axis]).text : "1");
    h->w->stamp++; /* temporaries are not known outside the block */
    return tessi_text_str(&out);
}

/* ---- Functions --------------------------------------------------------------------------------------------------- */

static void index_functions(const GpuHost *h, Text *out)
{
    static const struct {
        Op op;
        const char *parameters, *value;
    } functions[] = {
        { OP_MIN, "ptrdiff_t a, ptrdiff_t b", "a < b ? a : b" },
        { OP_MAX, "ptrdiff_t a, ptrdiff_t b", "b < a ? a : b" },
        { OP_FLOORDIV, "ptrdiff_t a, ptrdiff_t b", "b < 1 ? 0 : a / b - (a % b < 0)" },
        { OP_FLOORMOD, "ptrdiff_t a, ptrdiff_t b", "b < 1 ? 0 : a % b + (a % b < 0 ? b : 0)" },
        { OP_SELECT, "bool c, ptrdiff_t a, ptrdiff_t b", "c ? a : b" },
    };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (h->functions.used[functions[i].op])
            tessi_text_addf(out,
                            "\nstatic ptrdiff_t %s(%s)\n"
                            "{\n"
                            "    return %s;\n"
                            "}\n",
                            h->functions.name[functions[i].op], functions[i].parameters,
                            functions[i].value);
}

static void end_function(GpuHost *h)
{
    CWriter *w = h->w;
    tessi_text_add(w->out, "\n");
    tessi_c_comment(w,
                    "Where an intermediate image of n0 * n1 * n2 rows of n3 elements ends that "
                    "begins at a byte: rows\n"
                    "have multiples of 16 bytes, images of 256. SIZE_MAX when that is too many.");
    tessi_c_line(w,
                 "static size_t %s(size_t begin, size_t element, ptrdiff_t n0, ptrdiff_t n1, "
                 "ptrdiff_t n2, ptrdiff_t n3)",
                 h->end);
    tessi_text_add(w->out,
                   "{\n"
                   "    const size_t most = SIZE_MAX / 4;\n"
                   "    const size_t n[4] = { (size_t)n3, (size_t)n2, (size_t)n1, (size_t)n0 };\n"
                   "    size_t bytes = element;\n"
                   "    for (int d = 0; d < 4; d++) {\n"
                   "        if (begin > most || bytes > most / n[d])\n"
                   "            return SIZE_MAX;\n"
                   "        bytes *= n[d];\n"
                   "        if (d == 0)\n"
                   "            bytes = (bytes + 15) / 16 * 16;\n"
                   "    }\n"
                   "    return begin + (bytes + 255) / 256 * 256;\n"
                   "}\n");
}

void tessi_gpu_host_functions(GpuHost *h)
{
    index_functions(h, h->w->out);
    if (tessi_gpu_host_temps(h)->v)
        end_function(h);
}

/* ---- The launcher ------------------------------------------------------------------------------------------------ */

static void line(GpuHost *h, const char *text, size_t n)
{
    const bool conditional = n && *text == '?';
    if (conditional)
        tessi_c_line(h->w, "if (%s == %s)", h->error, h->api->ok);
    h->w->indent += conditional;
    for (size_t i = conditional; i < n; i++)
        if (text[i] == '$')
            tessi_text_add(&h->w->line, h->word[(unsigned char)text[++i]]);
        else
            tessi_text_addn(&h->w->line, text + i, 1);
    tessi_c_end_line(h->w);
    h->w->indent -= conditional;
}

void tessi_gpu_host_lines(GpuHost *h, const char *lines)
{
    for (size_t n; *lines; lines += n + (lines[n] == '\n')) {
        n = strcspn(lines, "\n");
        line(h, lines, n);
    }
}

static void launch(GpuHost *h, const GpuKernel *k)
{
    CWriter *w = h->w;
    const uint32_t mark = tessi_c_names_mark(w->names);
    tessi_c_line(w, "if (%s == %s) {", h->error, h->api->ok);
    w->indent++;
    h->api->launch_kernel(h, k);
    w->indent--;
    tessi_c_line(w, "}");
    tessi_c_names_leave(w->names, mark);
}

static LPlace place_of(void *user, uint32_t i)
{
    return ((const GpuHost *)user)->module->kernels.at[i].place;
}

static void put_launch(void *user, uint32_t i)
{
    GpuHost *h = user;
    launch(h, &h->module->kernels.at[i]);
}

static void ask_condition(void *user, LBufferId condition, const char *met)
{
    GpuHost *h = user;
    h->word['i'] = h->w->buffer[condition.v];
    h->word['c'] = met;
    tessi_gpu_host_lines(h, h->api->ask);
}

void tessi_gpu_host_launcher(GpuHost *h)
{
    CWriter *w = h->w;
    Text *out = w->out, body;
    body = tessi_text_new(w->arena);
    w->out = &body; /* first: it says which functions it needs */
    tessi_gpu_host_function(h);
    h->given = tessi_gpu_host_parameters(h);
    w->indent++;
    checks(h);
    h->api->begin(h);
    tessi_c_calls(w,
                  &(CCalls){ h->module->kernels.n, place_of, put_launch, ask_condition, NULL, h });
    h->api->end(h);
    w->indent--;
    w->out = out;
    h->api->functions(h);
    tessi_text_add(out, "\n");
    tessi_c_describe(w, h->api->returns);
    const CParameters list = tessi_gpu_host_parameters(h);
    tessi_c_signature(w, h->api->linkage, w->public_name, &list, "");
    tessi_text_addf(out, "{\n%s}\n", tessi_text_str(&body));
}

/* ---- For the self-test ------------------------------------------------------------------------------------------- */

/* Copies take the places of the images, and the default queue that of a queue that nobody made. */
static void call_launcher(GpuHost *h, const char *const *copy)
{
    CWriter *w = h->w;
    const CParameters list = tessi_gpu_host_parameters(h);
    Text call = tessi_text_new(w->arena);
    for (uint32_t i = 0; i < list.n; i++) {
        const char *name = list.at[i].name;
        for (uint32_t k = 0; k < w->p->inputs.n + w->p->outputs.n; k++)
            if (tessi_streq(tessi_c_image(h->w, k)->name, name))
                name = copy[k];
        if (name == h->queue && !h->api->program_type)
            name = "NULL";
        tessi_text_addf(&call, "%s%s", i ? ", " : "", name);
    }
    tessi_gpu_host_lines(
        h, tessi_sprintf(w->arena, "?$s = %s(%s);", w->public_name, tessi_text_str(&call)));
}

/* What is written next is about image k. */
static void about_image(GpuHost *h, uint32_t k, const char *copy, const char *bytes)
{
    const CImage *im = tessi_c_image(h->w, k);
    h->word['i'] = im->name;
    h->word['c'] = copy;
    h->word['b'] = bytes;
    h->word['n'] = extent(h, k);
    h->word['t'] = tessi_c_image_element(im);
    h->word['u'] = tessi_sprintf(h->w->arena, "%u", tessi_c_unit_bytes(im->image));
}

static void on_host_body(GpuHost *h)
{
    CWriter *w = h->w;
    const uint32_t n = w->p->inputs.n + w->p->outputs.n;
    const char **copy = ARENA_NEW_ARRAY(w->arena, const char *, n + 1);
    const char **bytes = ARENA_NEW_ARRAY(w->arena, const char *, n + 1);
    h->word['s'] = tessi_c_name(w->names, "status");
    tessi_gpu_host_lines(h, h->api->begin_on_host);
    for (uint32_t k = 0; k < n; k++) {
        const char *name = tessi_c_image(w, k)->name;
        copy[k] = tessi_c_name(w->names, tessi_sprintf(w->arena, "%s_copy", name));
        bytes[k] = tessi_c_name(w->names, tessi_sprintf(w->arena, "%s_bytes", copy[k]));
        about_image(h, k, copy[k], bytes[k]);
        tessi_gpu_host_lines(h, h->api->upload);
    }
    call_launcher(h, copy);
    for (uint32_t k = 0; k < n; k++) {
        about_image(h, k, copy[k], bytes[k]);
        if (k >= w->p->inputs.n)
            tessi_gpu_host_lines(h, h->api->download);
        tessi_gpu_host_lines(h, h->api->release);
    }
    tessi_gpu_host_lines(h, h->api->end_on_host);
}

void tessi_gpu_host_on_host(GpuHost *h)
{
    CWriter *w = h->w;
    tessi_gpu_host_function(h);
    h->api->before_on_host(h);
    tessi_text_add(w->out, "\n/* The same for images in memory of the host. */\n");
    const CParameters list = tessi_c_parameters(w, C_DECLARED);
    tessi_c_signature(w, h->api->linkage_on_host, h->on_host, &list, "");
    tessi_text_add(w->out, "{\n");
    w->indent++;
    on_host_body(h);
    w->indent--;
    tessi_text_add(w->out, "}\n");
}
