/* The launcher of a .cu file: C++ with the runtime API of CUDA. */
#include "emit/gpu_private.h"

/* ---- The launcher --------------------------------------------------------------------------------------------------------------- */

/* The addresses of variables in constant memory. */
static void find_symbols(GpuHost *h)
{
    CWriter *w = h->w;
    for (uint32_t i = 0; i < h->module->temps.n; i++) {
        const uint32_t id = h->module->temps.at[i].v;
        const char *symbol = h->module->symbols.at[i];
        if (!symbol)
            continue;
        w->buffer[id] = tessi_c_name(w->names, w->p->buffers.at[id].name);
        tessi_c_line(w, "%s *%s = NULL;", tessi_c_element(w->p->buffers.at[id].type),
                     w->buffer[id]);
        tessi_c_line(w, "if (%s == cudaSuccess)", h->error);
        tessi_c_line(w, "%*s%s = cudaGetSymbolAddress((void **)&%s, %s);", C_INDENT, "", h->error,
                     w->buffer[id], symbol);
    }
}

static void define_workspace(GpuHost *h)
{
    CWriter *w = h->w;
    const LBufferId *temps = tessi_gpu_host_temps(h);
    uint32_t n = 0;
    while (temps[n].v)
        n++;
    if (!n) {
        tessi_c_line(w, "cudaError_t %s = cudaSuccess;", h->error);
        return;
    }
    const char **place = ARENA_NEW_ARRAY(w->arena, const char *, n + 1);
    place[0] = "0";
    for (uint32_t i = 0; i < n; i++) {
        place[i + 1] = tessi_c_name(w->names, i + 1 < n ? "place" : "end");
        tessi_text_addf(&w->line, "const size_t %s = ", place[i + 1]);
        tessi_gpu_host_end_of(h, temps[i], place[i]);
        tessi_text_add(&w->line, ";");
        tessi_c_end_line(w);
    }
    tessi_c_line(w, "if (%s == SIZE_MAX)", place[n]);
    tessi_c_line(w, "%*sreturn 1;", C_INDENT, "");
    tessi_c_line(w, "unsigned char *%s = NULL;", h->memory);
    tessi_c_line(w, "cudaError_t %s = cudaMallocAsync((void **)&%s, %s, %s);", h->error, h->memory,
                 place[n], h->queue);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t id = temps[i].v;
        const char *type = tessi_c_element(w->p->buffers.at[id].type);
        tessi_c_line(w, "%s *const %s = (%s *)(%s + %s);", type, w->buffer[id], type, h->memory,
                     place[i]);
    }
}

static void argument(GpuHost *h, const GpuArg *arg)
{
    CWriter *w = h->w;
    switch (arg->kind) {
    case GPU_ARG_INPUT: tessi_text_add(&w->line, w->inputs[arg->index].name); break;
    case GPU_ARG_OUTPUT: tessi_text_add(&w->line, w->outputs[arg->index].name); break;
    case GPU_ARG_TEMP: tessi_text_add(&w->line, w->buffer[arg->index]); break;
    case GPU_ARG_INPUT_STRIDE:
        tessi_text_add(&w->line, w->inputs[arg->index].stride[arg->dim]);
        break;
    case GPU_ARG_OUTPUT_STRIDE:
        tessi_text_add(&w->line, w->outputs[arg->index].stride[arg->dim]);
        break;
    case GPU_ARG_PARAM: tessi_text_addf(&w->line, "(tess_idx)%s", w->param[arg->index]); break;
    case GPU_ARG_SCALAR: tessi_text_add(&w->line, w->scalar[arg->index]); break;
    }
}

static void launch(GpuHost *h, const GpuKernel *k)
{
    CWriter *w = h->w;
    const uint32_t mark = tessi_c_names_mark(w->names);
    const char *grid = tessi_c_name(w->names, "grid");
    tessi_c_line(w, "if (%s == cudaSuccess) {", h->error);
    w->indent++;
    const char *blocks = tessi_gpu_host_grid(h, k);
    tessi_c_line(w, "const dim3 %s = %s(%s);", grid, h->launch, blocks);
    tessi_c_line(w, "if (%s.x > 0)", grid);
    w->indent++;
    tessi_text_addf(&w->line, "%s<<<%s, dim3(%u, %u, %u), 0, %s>>>(", k->name, grid, k->block[0],
                    k->block[1], k->block[2], h->queue);
    for (uint32_t i = 0; i < k->args.n; i++) {
        tessi_text_add(&w->line, i ? ", " : "");
        argument(h, &k->args.at[i]);
    }
    tessi_text_add(&w->line, ");");
    tessi_c_end_line(w);
    w->indent--;
    tessi_c_line(w, "%s = cudaGetLastError();", h->error);
    w->indent--;
    tessi_c_line(w, "}");
    tessi_c_names_leave(w->names, mark);
}

static void grid_function(GpuHost *h)
{
    CWriter *w = h->w;
    tessi_text_add(w->out, "\n");
    tessi_c_comment(w,
                    "A grid of so many blocks, of none at all when some number is below 1. Kernels "
                    "loop along y and z.");
    tessi_c_line(w, "static dim3 %s(ptrdiff_t x, ptrdiff_t y, ptrdiff_t z)", h->launch);
    tessi_text_add(
        w->out, "{\n"
                "    if (x < 1 || y < 1 || z < 1)\n"
                "        return dim3(0, 0, 0);\n"
                "    return dim3((unsigned)(x < UINT32_MAX ? x : UINT32_MAX), (unsigned)(y < 65535 "
                "? y : 65535),\n"
                "        (unsigned)(z < 65535 ? z : 65535));\n"
                "}\n");
}

void tessi_gpu_cuda_launcher(GpuHost *h)
{
    CWriter *w = h->w;
    Text *out = w->out, body;
    tessi_text_init(&body, w->arena);
    w->out = &body; /* first: it says which functions it needs */
    tessi_gpu_host_function(h);
    w->indent++;
    tessi_gpu_host_checks(h);
    define_workspace(h);
    find_symbols(h);
    VEC_FOREACH (const GpuKernel, k, &h->module->kernels)
        launch(h, k);
    if (tessi_gpu_host_temps(h)->v) {
        tessi_c_line(w, "if (%s)", h->memory);
        tessi_c_line(w, "%*scudaFreeAsync(%s, %s);", C_INDENT, "", h->memory, h->queue);
    }
    tessi_c_line(w, "return %s == cudaErrorMemoryAllocation ? 1 : -(int)%s;", h->error, h->error);
    w->indent--;
    w->out = out;
    tessi_gpu_host_functions(h);
    if (h->module->kernels.n)
        grid_function(h);
    tessi_text_add(out, "\n");
    tessi_c_describe(w, tessi_gpu_host_returns(GPU_CUDA));
    CParameters list = tessi_gpu_host_parameters(h);
    tessi_text_addf(&w->line, "extern \"C\" int %s(", w->public_name);
    tessi_c_declare(w, &list);
    tessi_text_add(&w->line, ")");
    tessi_c_end_line(w);
    tessi_text_addf(out, "{\n%s}\n", tessi_text_str(&body));
}

/* ---- For the self-test ------------------------------------------------------------------------------------------------------------ */

static const char *element_of(const CImage *im)
{
    return im->image->uniform ? tessi_c_element(im->image->channel_type[0]) : "unsigned char";
}

static void if_well(GpuHost *h, const char *statement)
{
    tessi_c_line(h->w, "if (%s == cudaSuccess)", h->error);
    tessi_c_line(h->w, "%*s%s", C_INDENT, "", statement);
}

/* Image k on the device, as it is on the host. */
static void copy_to_device(GpuHost *h, uint32_t k, const char *copy, const char *bytes)
{
    CWriter *w = h->w;
    const CImage *im = tessi_gpu_host_image(h, k);
    const char *element = element_of(im);
    tessi_c_line(w, "const size_t %s = (size_t)(%s) * sizeof(%s);", bytes,
                 tessi_gpu_host_extent(h, k), element);
    tessi_c_line(w, "%s *%s = NULL;", element, copy);
    if_well(h,
            tessi_sprintf(w->arena, "%s = cudaMalloc((void **)&%s, %s);", h->error, copy, bytes));
    if_well(h, tessi_sprintf(w->arena, "%s = cudaMemcpy(%s, %s, %s, cudaMemcpyHostToDevice);",
                             h->error, copy, im->name, bytes));
}

static void call_launcher(GpuHost *h, const char *const *copy, const char *status)
{
    CWriter *w = h->w;
    CParameters list = tessi_c_parameters(w, C_DECLARED);
    tessi_text_addf(&w->line, "%s = %s(", status, w->public_name);
    VEC_FOREACH (const CParameter, parameter, &list) {
        const char *name = parameter->name;
        for (uint32_t k = 0; k < w->p->inputs.n + w->p->outputs.n; k++)
            if (tessi_streq(tessi_gpu_host_image(h, k)->name, name))
                name = copy[k];
        tessi_text_addf(&w->line, "%s, ", name);
    }
    tessi_text_add(&w->line, "NULL);");
    tessi_c_end_line(w);
}

static void on_host_body(GpuHost *h)
{
    CWriter *w = h->w;
    const uint32_t n = w->p->inputs.n + w->p->outputs.n;
    const char *status = tessi_c_name(w->names, "status");
    const char **copy = ARENA_NEW_ARRAY(w->arena, const char *, n + 1);
    const char **bytes = ARENA_NEW_ARRAY(w->arena, const char *, n + 1);
    tessi_c_line(w, "cudaError_t %s = cudaSuccess;", h->error);
    tessi_c_line(w, "int %s = -1;", status);
    for (uint32_t k = 0; k < n; k++) {
        const char *name = tessi_gpu_host_image(h, k)->name;
        copy[k] = tessi_c_name(w->names, tessi_sprintf(w->arena, "%s_copy", name));
        bytes[k] = tessi_c_name(w->names, tessi_sprintf(w->arena, "%s_bytes", copy[k]));
        copy_to_device(h, k, copy[k], bytes[k]);
    }
    tessi_c_line(w, "if (%s == cudaSuccess)", h->error);
    w->indent++;
    call_launcher(h, copy, status);
    w->indent--;
    for (uint32_t k = 0; k < n; k++) {
        if (k >= w->p->inputs.n)
            if_well(h,
                    tessi_sprintf(w->arena, "%s = cudaMemcpy(%s, %s, %s, cudaMemcpyDeviceToHost);",
                                  h->error, tessi_gpu_host_image(h, k)->name, copy[k], bytes[k]));
        tessi_c_line(w, "cudaFree(%s);", copy[k]);
    }
    if_well(h, tessi_sprintf(w->arena, "return %s;", status));
    tessi_c_line(w, "fprintf(stderr, \"CUDA: %%s\\n\", cudaGetErrorString(%s));", h->error);
    tessi_c_line(w, "return -(int)%s;", h->error);
}

void tessi_gpu_cuda_on_host(GpuHost *h)
{
    CWriter *w = h->w;
    tessi_gpu_host_function(h);
    tessi_text_add(w->out, "\n#include <stdio.h>\n\n"
                           "/* The same for images in memory of the host. */\n");
    CParameters list = tessi_c_parameters(w, C_DECLARED);
    tessi_text_addf(&w->line, "extern \"C\" int %s(", h->on_host);
    tessi_c_declare(w, &list);
    tessi_text_add(&w->line, ")");
    tessi_c_end_line(w);
    tessi_text_add(w->out, "{\n");
    w->indent++;
    on_host_body(h);
    w->indent--;
    tessi_text_add(w->out, "}\n");
}
