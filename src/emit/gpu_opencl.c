/* The launcher of a .cl file: C with the API of OpenCL 1.2. */
#include "emit/gpu_private.h"

void tessi_gpu_opencl_options(const GpuHost *h, Text *out)
{
    static const struct {
        const char *condition, *promises;
    } cases[] = {
        { "#if defined(TESS_WIDE_INDEX) && defined(TESS_ALIGNED_ROWS)",
          " -DTESS_WIDE_INDEX -DTESS_ALIGNED_ROWS" },
        { "#elif defined(TESS_WIDE_INDEX)", " -DTESS_WIDE_INDEX" },
        { "#elif defined(TESS_ALIGNED_ROWS)", " -DTESS_ALIGNED_ROWS" },
        { "#else", "" },
    };
    tessi_text_add(out,
                   "/* The options for clBuildProgram, which must be those of the launcher. */\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        tessi_text_addf(out, "%s\n#define %s \"%s%s\"\n", cases[i].condition, h->options,
                        tessi_emit_gpu_flags(GPU_OPENCL), cases[i].promises);
    tessi_text_add(out, "#endif\n");
}

/* ---- The launcher --------------------------------------------------------------------------------------------------------------- */

/* A name for the number of bytes of what is called `name`. */
static const char *bytes_of(const GpuHost *h, const char *name)
{
    return tessi_c_name(h->w->names, tessi_sprintf(h->w->arena, "%s_bytes", name));
}

static void define_temps(GpuHost *h)
{
    CWriter *w = h->w;
    tessi_c_line(w, "cl_int %s = CL_SUCCESS;", h->error);
    if (!h->module->temps.n)
        return;
    const char **bytes_name = ARENA_NEW_ARRAY(w->arena, const char *, w->p->buffers.n);
    VEC_FOREACH (const LBufferId, id, &h->module->temps) {
        if (w->p->buffers.at[id->v].in_constant || h->table[id->v])
            w->buffer[id->v] = tessi_c_name(w->names, w->p->buffers.at[id->v].name);
        const char *bytes = bytes_name[id->v] = bytes_of(h, w->buffer[id->v]);
        tessi_text_addf(&w->line, "const size_t %s = ", bytes);
        tessi_gpu_host_end_of(h, *id, "0");
        tessi_text_add(&w->line, ";");
        tessi_c_end_line(w);
        tessi_c_line(w, "if (%s == SIZE_MAX)", bytes);
        tessi_c_line(w, "%*sreturn 1;", C_INDENT, "");
        tessi_c_line(w, "cl_mem %s = NULL;", w->buffer[id->v]);
    }
    tessi_c_line(w, "cl_context %s = NULL;", h->memory);
    tessi_c_line(w,
                 "%s = clGetCommandQueueInfo(%s, CL_QUEUE_CONTEXT, sizeof(cl_context), &%s, NULL);",
                 h->error, h->queue, h->memory);
    VEC_FOREACH (const LBufferId, id, &h->module->temps) {
        const char *table = h->table[id->v];
        tessi_c_line(w, "if (%s == CL_SUCCESS)", h->error);
        tessi_c_line(w, "%*s%s = clCreateBuffer(%s, %s, %s, %s, &%s);", C_INDENT, "",
                     w->buffer[id->v], h->memory,
                     table ? "CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR" : "CL_MEM_READ_WRITE",
                     bytes_name[id->v], table ? table : "NULL", h->error);
    }
}

/* What the kernels' arguments are called, and constants of the kernels' types where those of the launcher are others. */
typedef struct Values {
    const char **param, **scalar;
    const char *(*stride)[LOOP_MAX_DIMS]; /* by image, inputs first */
} Values;

static const char *convert(GpuHost *h, const char *type, const char *name)
{
    const char *value = tessi_c_name(h->w->names, tessi_sprintf(h->w->arena, "arg_%s", name));
    tessi_c_line(h->w, "const %s %s = (%s)%s;", type, value, type, name);
    return value;
}

static void convert_value(GpuHost *h, Values *v, const GpuArg *arg)
{
    CWriter *w = h->w;
    const uint32_t image = arg->index + (arg->kind == GPU_ARG_OUTPUT_STRIDE ? w->p->inputs.n : 0);
    switch (arg->kind) {
    case GPU_ARG_INPUT_STRIDE:
    case GPU_ARG_OUTPUT_STRIDE:
        if (!v->stride[image][arg->dim])
            v->stride[image][arg->dim] =
                convert(h, "cl_long", tessi_gpu_host_image(h, image)->stride[arg->dim]);
        break;
    case GPU_ARG_PARAM:
        if (!v->param[arg->index])
            v->param[arg->index] = convert(h, h->index, w->param[arg->index]);
        break;
    case GPU_ARG_SCALAR:
        if (!v->scalar[arg->index])
            v->scalar[arg->index] = arg->type == TYPE_BOOL
                                        ? convert(h, "cl_uchar", w->scalar[arg->index])
                                        : w->scalar[arg->index];
        break;
    case GPU_ARG_INPUT:
    case GPU_ARG_OUTPUT:
    case GPU_ARG_TEMP: break;
    }
}

static Values convert_values(GpuHost *h)
{
    const CWriter *w = h->w;
    Values v = { .param = ARENA_NEW_ARRAY(w->arena, const char *, w->p->params.n + 1),
                 .scalar = ARENA_NEW_ARRAY(w->arena, const char *, w->p->scalars.n + 1) };
    const char **strides = ARENA_NEW_ARRAY(w->arena, const char *,
                                           (w->p->inputs.n + w->p->outputs.n + 1) * LOOP_MAX_DIMS);
    v.stride = (const char *(*)[LOOP_MAX_DIMS])(void *)strides;
    VEC_FOREACH (const GpuKernel, k, &h->module->kernels)
        for (uint32_t i = 0; i < k->args.n; i++)
            convert_value(h, &v, &k->args.at[i]);
    return v;
}

static const char *value_of(const GpuHost *h, const Values *v, const GpuArg *arg)
{
    const CWriter *w = h->w;
    switch (arg->kind) {
    case GPU_ARG_INPUT: return w->inputs[arg->index].name;
    case GPU_ARG_OUTPUT: return w->outputs[arg->index].name;
    case GPU_ARG_TEMP: return w->buffer[arg->index];
    case GPU_ARG_INPUT_STRIDE: return v->stride[arg->index][arg->dim];
    case GPU_ARG_OUTPUT_STRIDE: return v->stride[w->p->inputs.n + arg->index][arg->dim];
    case GPU_ARG_PARAM: return v->param[arg->index];
    case GPU_ARG_SCALAR: break;
    }
    return v->scalar[arg->index];
}

static void launch(GpuHost *h, const GpuKernel *k, const Values *v)
{
    CWriter *w = h->w;
    const uint32_t mark = tessi_c_names_mark(w->names);
    const char *block = tessi_c_name(w->names, "block"), *args = tessi_c_name(w->names, "args");
    tessi_c_line(w, "if (%s == CL_SUCCESS) {", h->error);
    w->indent++;
    tessi_c_line(w, "static const size_t %s[3] = { %u, %u, %u };", block, k->block[0], k->block[1],
                 k->block[2]);
    tessi_text_addf(&w->line, "const struct %s %s[] = {", h->launch, args);
    for (uint32_t i = 0; i < k->args.n; i++) {
        const char *value = value_of(h, v, &k->args.at[i]);
        tessi_text_addf(&w->line, "%s { sizeof %s, &%s }", i ? "," : "", value, value);
    }
    tessi_text_add(&w->line, k->args.n ? " };" : " { 0, NULL } };");
    tessi_c_end_line(w);
    const char *blocks = tessi_gpu_host_grid(h, k);
    tessi_c_line(w, "%s = %s(%s, %s, \"%s\", %s, %s, %s, %u);", h->error, h->launch, h->queue,
                 h->program, k->name, block, blocks, args, k->args.n);
    w->indent--;
    tessi_c_line(w, "}");
    tessi_c_names_leave(w->names, mark);
}

static void launch_function(GpuHost *h)
{
    CWriter *w = h->w;
    tessi_text_addf(w->out,
                    "\nstruct %s {\n"
                    "    size_t bytes;\n"
                    "    const void *value;\n"
                    "};\n\n",
                    h->launch);
    tessi_c_comment(
        w, "Puts a kernel with n arguments on the queue, in a grid of so many blocks; not at "
           "all when some number\n"
           "is below 1. Kernels loop along y and z.");
    tessi_c_line(
        w,
        "static cl_int %s(cl_command_queue queue, cl_program program, const char *name, "
        "const size_t *block, ptrdiff_t x, ptrdiff_t y, ptrdiff_t z, const struct %s *args, "
        "cl_uint n)",
        h->launch, h->launch);
    tessi_text_add(
        w->out,
        "{\n"
        "    const size_t threads[3] = { (size_t)x * block[0], (size_t)(y < 65535 ? y : 65535) * "
        "block[1],\n"
        "        (size_t)(z < 65535 ? z : 65535) * block[2] };\n"
        "    if (x < 1 || y < 1 || z < 1)\n"
        "        return CL_SUCCESS;\n"
        "    cl_int error = CL_SUCCESS;\n"
        "    const cl_kernel kernel = clCreateKernel(program, name, &error);\n"
        "    for (cl_uint i = 0; error == CL_SUCCESS && i < n; i++)\n"
        "        error = clSetKernelArg(kernel, i, args[i].bytes, args[i].value);\n"
        "    if (error == CL_SUCCESS)\n"
        "        error = clEnqueueNDRangeKernel(queue, kernel, 3, NULL, threads, block, 0, NULL, "
        "NULL);\n"
        "    if (kernel)\n"
        "        clReleaseKernel(kernel);\n"
        "    return error;\n"
        "}\n");
}

static void head(GpuHost *h, const char *before, const char *name, const CParameters *list)
{
    CWriter *w = h->w;
    tessi_text_addf(&w->line, "%sint %s(", before, name);
    tessi_c_declare(w, list);
    tessi_text_add(&w->line, ")");
    tessi_c_end_line(w);
    tessi_text_add(w->out, "{\n");
}

void tessi_gpu_opencl_launcher(GpuHost *h)
{
    CWriter *w = h->w;
    Text *out = w->out, body;
    tessi_text_init(&body, w->arena);
    w->out = &body; /* first: it says which functions it needs */
    tessi_gpu_host_function(h);
    w->indent++;
    tessi_gpu_host_checks(h);
    define_temps(h);
    const Values v = convert_values(h);
    VEC_FOREACH (const GpuKernel, k, &h->module->kernels)
        launch(h, k, &v);
    VEC_FOREACH (const LBufferId, id, &h->module->temps) {
        tessi_c_line(w, "if (%s)", w->buffer[id->v]);
        tessi_c_line(w, "%*sclReleaseMemObject(%s);", C_INDENT, "", w->buffer[id->v]);
    }
    tessi_c_line(w,
                 "return %s == CL_MEM_OBJECT_ALLOCATION_FAILURE || %s == CL_OUT_OF_HOST_MEMORY ? 1 "
                 ": %s;",
                 h->error, h->error, h->error);
    w->indent--;
    w->out = out;
    if (h->bound)
        tessi_text_addf(out,
                        "\n#ifdef TESS_WIDE_INDEX\n"
                        "typedef cl_long %s; /* of sizes in kernels */\n"
                        "#else\n"
                        "typedef cl_int %s; /* of sizes in kernels */\n"
                        "#endif\n",
                        h->index, h->index);
    else
        tessi_text_addf(out, "\ntypedef cl_long %s; /* of sizes in kernels */\n", h->index);
    tessi_gpu_host_functions(h);
    VEC_FOREACH (const LBufferId, id, &h->module->temps)
        if (h->table[id->v])
            tessi_c_table(w, &w->p->buffers.at[id->v], "static", h->table[id->v]);
    if (h->module->kernels.n)
        launch_function(h);
    tessi_text_add(out, "\n");
    tessi_c_describe(w, tessi_gpu_host_returns(GPU_OPENCL));
    const CParameters list = tessi_gpu_host_parameters(h);
    head(h, "", w->public_name, &list);
    tessi_text_addf(out, "%s}\n", tessi_text_str(&body));
}

/* ---- For the self-test ------------------------------------------------------------------------------------------------------------ */

static void open_function(const GpuHost *h)
{
    tessi_text_addf(
        h->w->out,
        "\n#include <stdio.h>\n\n"
        "/* A queue on the first device, and this file as its program. */\n"
        "static cl_int %s(cl_command_queue *queue, cl_program *program)\n"
        "{\n"
        "    static char text[1 << 26], log[1 << 16];\n"
        "    const char *start = text;\n"
        "    FILE *file = fopen(__FILE__, \"rb\");\n"
        "    const size_t bytes = file ? fread(text, 1, sizeof text, file) : 0;\n"
        "    if (file)\n"
        "        fclose(file);\n"
        "    cl_platform_id platform = NULL;\n"
        "    cl_device_id device = NULL;\n"
        "    cl_int error = clGetPlatformIDs(1, &platform, NULL);\n"
        "    if (error == CL_SUCCESS)\n"
        "        error = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);\n"
        "    cl_context context = NULL;\n"
        "    if (error == CL_SUCCESS)\n"
        "        context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);\n"
        "    if (error == CL_SUCCESS)\n"
        "        *queue = clCreateCommandQueue(context, device, 0, &error);\n"
        "    if (error == CL_SUCCESS)\n"
        "        *program = clCreateProgramWithSource(context, 1, &start, &bytes, &error);\n"
        "    if (error == CL_SUCCESS)\n"
        "        error = clBuildProgram(*program, 1, &device, %s, NULL, NULL);\n"
        "    if (error == CL_BUILD_PROGRAM_FAILURE\n"
        "        && clGetProgramBuildInfo(*program, device, CL_PROGRAM_BUILD_LOG, sizeof log - 1, "
        "log, NULL)\n"
        "               == CL_SUCCESS)\n"
        "        fprintf(stderr, \"%%s\\n\", log);\n"
        "    if (error != CL_SUCCESS)\n"
        "        fprintf(stderr, \"OpenCL: error %%d\\n\", (int)error);\n"
        "    return error;\n"
        "}\n",
        h->open, h->options);
}

static uint32_t unit_bytes(const CImage *im)
{
    return im->image->uniform ? tessi_type_info(im->image->channel_type[0])->bytes : 1;
}

static void if_well(GpuHost *h, const char *statement)
{
    tessi_c_line(h->w, "if (%s == CL_SUCCESS)", h->error);
    h->w->indent++;
    tessi_c_line(h->w, "%s", statement);
    h->w->indent--;
}

static void call_launcher(GpuHost *h, const char *const *copy, const char *status)
{
    CWriter *w = h->w;
    const CParameters list = tessi_gpu_host_parameters(h);
    Text call;
    tessi_text_init(&call, w->arena);
    for (uint32_t i = 0; i < list.n; i++) {
        const char *name = list.at[i].name;
        for (uint32_t k = 0; k < w->p->inputs.n + w->p->outputs.n; k++)
            if (tessi_streq(tessi_gpu_host_image(h, k)->name, name))
                name = copy[k];
        tessi_text_addf(&call, "%s%s", i ? ", " : "", name);
    }
    if_well(h,
            tessi_sprintf(w->arena, "%s = %s(%s);", status, w->public_name, tessi_text_str(&call)));
}

static void on_host_body(GpuHost *h)
{
    CWriter *w = h->w;
    const uint32_t n = w->p->inputs.n + w->p->outputs.n;
    const char *status = tessi_c_name(w->names, "status");
    const char **copy = ARENA_NEW_ARRAY(w->arena, const char *, n + 1);
    const char **bytes = ARENA_NEW_ARRAY(w->arena, const char *, n + 1);
    tessi_c_line(w, "static cl_command_queue %s;", h->queue);
    tessi_c_line(w, "static cl_program %s;", h->program);
    tessi_c_line(w, "cl_context %s = NULL;", h->memory);
    tessi_c_line(w, "int %s = -1;", status);
    tessi_c_line(w, "cl_int %s = %s ? CL_SUCCESS : %s(&%s, &%s);", h->error, h->program, h->open,
                 h->queue, h->program);
    if_well(h,
            tessi_sprintf(
                w->arena,
                "%s = clGetCommandQueueInfo(%s, CL_QUEUE_CONTEXT, sizeof(cl_context), &%s, NULL);",
                h->error, h->queue, h->memory));
    for (uint32_t k = 0; k < n; k++) {
        const CImage *im = tessi_gpu_host_image(h, k);
        copy[k] = tessi_c_name(w->names, tessi_sprintf(w->arena, "%s_copy", im->name));
        bytes[k] = bytes_of(h, copy[k]);
        tessi_c_line(w, "const size_t %s = (size_t)(%s) * %u;", bytes[k],
                     tessi_gpu_host_extent(h, k), unit_bytes(im));
        tessi_c_line(w, "cl_mem %s = NULL;", copy[k]);
        if_well(h, tessi_sprintf(w->arena,
                                 "%s = clCreateBuffer(%s, CL_MEM_READ_WRITE, %s, NULL, &%s);",
                                 copy[k], h->memory, bytes[k], h->error));
        if_well(h, tessi_sprintf(
                       w->arena,
                       "%s = clEnqueueWriteBuffer(%s, %s, CL_TRUE, 0, %s, %s, 0, NULL, NULL);",
                       h->error, h->queue, copy[k], bytes[k], im->name));
    }
    call_launcher(h, copy, status);
    for (uint32_t k = 0; k < n; k++) {
        if (k >= w->p->inputs.n)
            if_well(h,
                    tessi_sprintf(w->arena,
                                  "%s = clEnqueueReadBuffer(%s, %s, CL_TRUE, 0, %s, %s, 0, NULL, "
                                  "NULL);",
                                  h->error, h->queue, copy[k], bytes[k],
                                  tessi_gpu_host_image(h, k)->name));
        tessi_c_line(w, "if (%s)", copy[k]);
        tessi_c_line(w, "%*sclReleaseMemObject(%s);", C_INDENT, "", copy[k]);
    }
    tessi_c_line(w, "return %s == CL_SUCCESS ? %s : %s;", h->error, status, h->error);
}

void tessi_gpu_opencl_on_host(GpuHost *h)
{
    CWriter *w = h->w;
    tessi_gpu_host_function(h);
    tessi_text_add(w->out, "\n");
    tessi_gpu_opencl_options(h, w->out);
    open_function(h);
    tessi_text_add(w->out, "\n/* The same for images in memory of the host. */\n");
    const CParameters list = tessi_c_parameters(w, C_DECLARED);
    head(h, "static ", h->on_host, &list);
    w->indent++;
    on_host_body(h);
    w->indent--;
    tessi_text_add(w->out, "}\n");
}
