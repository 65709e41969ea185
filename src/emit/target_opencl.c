/* OpenCL C: the row of the language, and the launcher of a .cl file in C with the API of OpenCL 1.2. */
#include "emit/gpu_private.h"

#define FLAGS "-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt"

static void options(const GpuHost *h, Text *out)
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
        tessi_text_addf(out, "%s\n#define %s \"%s%s\"\n", cases[i].condition, h->options, FLAGS,
                        cases[i].promises);
    tessi_text_add(out, "#endif\n");
}

/* ---- The launcher ------------------------------------------------------------------------------------------------ */

#define CONTEXT "$e = clGetCommandQueueInfo($q, CL_QUEUE_CONTEXT, sizeof(cl_context), &$m, NULL);"
#define RELEASE "if ($c)\n    clReleaseMemObject($c);"

static void define_temps(GpuHost *h)
{
    CWriter *w = h->w;
    tessi_gpu_host_lines(h, "cl_int $e = CL_SUCCESS;");
    if (!h->module->temps.n)
        return;
    const char **bytes = ARENA_NEW_ARRAY(w->arena, const char *, w->p->buffers.n);
    VEC_FOREACH (const LBufferId, id, &h->module->temps) {
        if (w->p->buffers.at[id->v].in_constant || h->table[id->v])
            w->buffer[id->v] = tessi_c_name(w->names, w->p->buffers.at[id->v].name);
        h->word['c'] = w->buffer[id->v];
        h->word['b'] = bytes[id->v] =
            tessi_c_name(w->names, tessi_sprintf(w->arena, "%s_bytes", w->buffer[id->v]));
        tessi_text_addf(&w->line, "const size_t %s = ", bytes[id->v]);
        tessi_gpu_host_end_of(h, *id, "0");
        tessi_text_add(&w->line, ";");
        tessi_c_end_line(w);
        tessi_gpu_host_lines(h, "if ($b == SIZE_MAX)\n    return 1;\ncl_mem $c = NULL;");
    }
    tessi_gpu_host_lines(h, "cl_context $m = NULL;\n" CONTEXT);
    VEC_FOREACH (const LBufferId, id, &h->module->temps) {
        h->word['c'] = w->buffer[id->v];
        h->word['b'] = bytes[id->v];
        h->word['i'] = h->table[id->v];
        tessi_gpu_host_lines(
            h, h->table[id->v]
                   ? "if ($e == CL_SUCCESS)\n    $c = clCreateBuffer($m, CL_MEM_READ_ONLY | "
                     "CL_MEM_COPY_HOST_PTR, $b, $i, &$e);"
                   : "if ($e == CL_SUCCESS)\n    $c = clCreateBuffer($m, CL_MEM_READ_WRITE, $b, "
                     "NULL, &$e);");
    }
}

/* The type that kernels take where the launcher's is another; NULL: it is the same. */
static const char *other_type(const GpuHost *h, const GpuArg *arg)
{
    switch (arg->kind) {
    case GPU_ARG_INPUT_STRIDE:
    case GPU_ARG_OUTPUT_STRIDE: return "cl_long";
    case GPU_ARG_PARAM: return h->index;
    case GPU_ARG_SCALAR: return arg->type == TYPE_BOOL ? "cl_uchar" : NULL;
    case GPU_ARG_INPUT:
    case GPU_ARG_OUTPUT:
    case GPU_ARG_TEMP: break;
    }
    return NULL;
}

/* Constants of the kernels' types; those have no declaration any more. */
static void convert(GpuHost *h, const GpuArg *arg)
{
    CWriter *w = h->w;
    const char *type = other_type(h, arg);
    CParameter *given = type ? tessi_gpu_host_given(h, arg) : NULL;
    if (!given || !given->declaration)
        return;
    const char *value = tessi_c_name(w->names, tessi_sprintf(w->arena, "arg_%s", given->name));
    tessi_c_line(w, "const %s %s = (%s)%s;", type, value, type, given->name);
    *given = (CParameter){ NULL, value, *arg };
}

static void begin(GpuHost *h)
{
    define_temps(h);
    VEC_FOREACH (const GpuKernel, k, &h->module->kernels)
        VEC_FOREACH (const GpuArg, arg, &k->args)
            convert(h, arg);
}

static void launch_kernel(GpuHost *h, const GpuKernel *k)
{
    CWriter *w = h->w;
    const char *block = tessi_c_name(w->names, "block"), *args = tessi_c_name(w->names, "args");
    tessi_c_line(w, "static const size_t %s[3] = { %u, %u, %u };", block, k->block[0], k->block[1],
                 k->block[2]);
    tessi_text_addf(&w->line, "const struct %s %s[] = {", h->launch, args);
    for (uint32_t i = 0; i < k->args.n; i++) {
        const char *value = tessi_gpu_host_value(h, &k->args.at[i]);
        tessi_text_addf(&w->line, "%s { sizeof %s, &%s }", i ? "," : "", value, value);
    }
    tessi_text_add(&w->line, k->args.n ? " };" : " { 0, NULL } };");
    tessi_c_end_line(w);
    const char *blocks = tessi_gpu_host_grid(h, k);
    tessi_c_line(w, "%s = %s(%s, %s, \"%s\", %s, %s, %s, %u);", h->error, h->launch, h->queue,
                 h->program, k->name, block, blocks, args, k->args.n);
}

static void end(GpuHost *h)
{
    VEC_FOREACH (const LBufferId, id, &h->module->temps) {
        h->word['c'] = h->w->buffer[id->v];
        tessi_gpu_host_lines(h, RELEASE);
    }
    tessi_gpu_host_lines(h, "return $e == CL_MEM_OBJECT_ALLOCATION_FAILURE || "
                            "$e == CL_OUT_OF_HOST_MEMORY ? 1 : $e;");
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

static void functions(GpuHost *h)
{
    CWriter *w = h->w;
    if (h->bound)
        tessi_text_addf(w->out,
                        "\n#ifdef TESS_WIDE_INDEX\n"
                        "typedef cl_long %s; /* of sizes in kernels */\n"
                        "#else\n"
                        "typedef cl_int %s; /* of sizes in kernels */\n"
                        "#endif\n",
                        h->index, h->index);
    else
        tessi_text_addf(w->out, "\ntypedef cl_long %s; /* of sizes in kernels */\n", h->index);
    tessi_gpu_host_functions(h);
    VEC_FOREACH (const LBufferId, id, &h->module->temps)
        if (h->table[id->v])
            tessi_c_table(w, &w->p->buffers.at[id->v], "static", h->table[id->v]);
    if (h->module->kernels.n)
        launch_function(h);
}

/* ---- For the self-test ------------------------------------------------------------------------------------------- */

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

static void before_on_host(GpuHost *h)
{
    tessi_text_add(h->w->out, "\n");
    options(h, h->w->out);
    open_function(h);
}

/* ---- The row ----------------------------------------------------------------------------------------------------- */

#define HEADER                               \
    "#ifndef CL_TARGET_OPENCL_VERSION\n"     \
    "#define CL_TARGET_OPENCL_VERSION 120\n" \
    "#endif\n"                               \
    "#include <CL/cl.h>\n"

static const GpuApi api = {
    .host = &tessi_emit_c,
    .usage = "It is the text for clBuildProgram, with %,\n"
             "and in C the launcher of these kernels: cc -x c -c $.cl.",
    .usage_more =
        "\nOn NVIDIA's devices from sm_90 on, with -DTESS_NV_HALVES minima and maxima of pairs are "
        "one instruction.",
    .usage_of_test = "\n\nA program that tests itself:\n"
                     "    cc -x c -std=c11 -ffp-contract=off -DTESSERA_SELFTEST $.cl -lOpenCL -lm",
    .before_kernels = "#ifdef __OPENCL_VERSION__\n",
    .before_launcher = "\n#else /* the launcher, in C */\n#include <math.h>\n#include <stdbool.h>\n"
                       "#include <stddef.h>\n#include <stdint.h>\n" HEADER,
    .includes = HEADER,
    .returns = "Puts the work on the queue, which is in order. The program is this file, built "
               "with the options\n"
               "of the header. Images begin where their buffers begin, pixels without gaps in "
               "their rows.\n"
               "Returns 0 when that is done, 1 when memory is short, 2 when a size is not "
               "positive, 3 when the\n"
               "sizes need -DTESS_WIDE_INDEX, 4 when -DTESS_ALIGNED_ROWS promised too much, else "
               "an error of\n"
               "OpenCL. Intermediate images are made for the call.",
    .launch = "launch",
    .queue = "queue",
    .memory = "context",
    .queue_type = "cl_command_queue",
    .program_type = "cl_program",
    .ok = "CL_SUCCESS",
    .linkage = "int ",
    .linkage_on_host = "static int ",
    .handle = "cl_mem",
    .options = options,
    .functions = functions,
    .begin = begin,
    .launch_kernel = launch_kernel,
    .ask = "?$e = clEnqueueReadBuffer($q, $i, CL_TRUE, 0, sizeof $c, &$c, 0, NULL, NULL);\n"
           "if ($e != CL_SUCCESS)\n"
           "    break;",
    .end = end,
    .before_on_host = before_on_host,
    .begin_on_host = "static cl_command_queue $q;\n"
                     "static cl_program $p;\n"
                     "cl_context $m = NULL;\n"
                     "int $s = -1;\n"
                     "cl_int $e = $p ? CL_SUCCESS : $o(&$q, &$p);\n"
                     "?" CONTEXT,
    .upload = "const size_t $b = (size_t)($n) * $u;\n"
              "cl_mem $c = NULL;\n"
              "?$c = clCreateBuffer($m, CL_MEM_READ_WRITE, $b, NULL, &$e);\n"
              "?$e = clEnqueueWriteBuffer($q, $c, CL_TRUE, 0, $b, $i, 0, NULL, NULL);",
    .download = "?$e = clEnqueueReadBuffer($q, $c, CL_TRUE, 0, $b, $i, 0, NULL, NULL);",
    .release = RELEASE,
    .end_on_host = "return $e == CL_SUCCESS ? $s : $e;",
};

/* Outside of kernels only constant memory can be declared. */
const EmitTarget tessi_emit_opencl = {
    .name = "opencl",
    .title = "OpenCL",
    .language = "OpenCL C 1.2",
    .suffix = ".cl",
    .header_mark = "CL_TARGET_OPENCL_VERSION",
    .flags = FLAGS,
    .texts = C_IN_C | C_IN_OPENCL,
    .api = &api,
    EMIT_KERNEL_WORDS,
};
