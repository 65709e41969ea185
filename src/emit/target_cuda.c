/* CUDA C++: the row of the language, and the launcher of a .cu file in C++ with the runtime API. */
#include "emit/gpu_private.h"

/* ---- The launcher ------------------------------------------------------------------------------------------------ */

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

static void launch_kernel(GpuHost *h, const GpuKernel *k)
{
    CWriter *w = h->w;
    const char *grid = tessi_c_name(w->names, "grid");
    const char *blocks = tessi_gpu_host_grid(h, k);
    tessi_c_line(w, "const dim3 %s = %s(%s);", grid, h->launch, blocks);
    tessi_c_line(w, "if (%s.x > 0)", grid);
    w->indent++;
    tessi_text_addf(&w->line, "%s<<<%s, dim3(%u, %u, %u), 0, %s>>>(", k->name, grid, k->block[0],
                    k->block[1], k->block[2], h->queue);
    for (uint32_t i = 0; i < k->args.n; i++)
        tessi_text_addf(&w->line, "%s%s%s", i ? ", " : "",
                        k->args.at[i].kind == GPU_ARG_PARAM ? "(tess_idx)" : "",
                        tessi_gpu_host_value(h, &k->args.at[i]));
    tessi_text_add(&w->line, ");");
    tessi_c_end_line(w);
    w->indent--;
    tessi_c_line(w, "%s = cudaGetLastError();", h->error);
}

static void begin(GpuHost *h)
{
    define_workspace(h);
    find_symbols(h);
}

static void end(GpuHost *h)
{
    if (tessi_gpu_host_temps(h)->v)
        tessi_gpu_host_lines(h, "if ($m)\n    cudaFreeAsync($m, $q);");
    tessi_gpu_host_lines(h, "return $e == cudaErrorMemoryAllocation ? 1 : -(int)$e;");
}

static void functions(GpuHost *h)
{
    CWriter *w = h->w;
    tessi_gpu_host_functions(h);
    if (!h->module->kernels.n)
        return;
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

/* ---- For the self-test ------------------------------------------------------------------------------------------- */

static void before_on_host(GpuHost *h)
{
    tessi_text_add(h->w->out, "\n#include <stdio.h>\n");
}

/* ---- The row ----------------------------------------------------------------------------------------------------- */

static const GpuApi api = {
    .host = &tessi_emit_c,
    .usage = "Compile with nvcc %.",
    .usage_more = "",
    .usage_of_test = "\n\nA program that tests itself:\n"
                     "    cc -x c -std=c11 -ffp-contract=off -DTESSERA_SELFTEST -c $.cu -o "
                     "reference.o\n"
                     "    nvcc % -DTESSERA_SELFTEST $.cu reference.o",
    .before_kernels = "#ifdef __cplusplus\n#include <cuda_runtime.h>\n",
    .before_launcher = "",
    .includes = "#include <cuda_runtime_api.h>\n",
    .returns = "Puts the work on the stream. Images are in memory of the device, pixels without "
               "gaps in their rows.\n"
               "Returns 0 when that is done, 1 when memory is short, 2 when a size is not "
               "positive, 3 when the\n"
               "sizes need -DTESS_WIDE_INDEX, 4 when -DTESS_ALIGNED_ROWS promised too much, else "
               "minus an error of\n"
               "CUDA. Intermediate images are made and freed on the stream.",
    .reference_apart = true,
    .index = "tess_idx",
    .launch = "grid",
    .queue = "stream",
    .memory = "workspace",
    .queue_type = "cudaStream_t",
    .ok = "cudaSuccess",
    .linkage = "extern \"C\" int ",
    .linkage_on_host = "extern \"C\" int ",
    .functions = functions,
    .begin = begin,
    .launch_kernel = launch_kernel,
    .ask = "?$e = cudaMemcpyAsync(&$c, $i, sizeof $c, cudaMemcpyDeviceToHost, $q);\n"
           "?$e = cudaStreamSynchronize($q);\n"
           "if ($e != cudaSuccess)\n"
           "    break;",
    .end = end,
    .before_on_host = before_on_host,
    .begin_on_host = "cudaError_t $e = cudaSuccess;\n"
                     "int $s = -1;",
    .upload = "const size_t $b = (size_t)($n) * sizeof($t);\n"
              "$t *$c = NULL;\n"
              "?$e = cudaMalloc((void **)&$c, $b);\n"
              "?$e = cudaMemcpy($c, $i, $b, cudaMemcpyHostToDevice);",
    .download = "?$e = cudaMemcpy($i, $c, $b, cudaMemcpyDeviceToHost);",
    .release = "cudaFree($c);",
    .end_on_host = "?return $s;\n"
                   "fprintf(stderr, \"CUDA: %s\\n\", cudaGetErrorString($e));\n"
                   "return -(int)$e;",
};

const EmitTarget tessi_emit_cuda = {
    .name = "cuda",
    .title = "CUDA",
    .language = "CUDA C++",
    .suffix = ".cu",
    .header_mark = "cuda_runtime_api.h",
    .flags = "--std=c++17 --fmad=false",
    .texts = C_IN_C | C_IN_CUDA,
    .shuffles = true,
    .quick_powers = true,
    .memory_table = "static __device__ const",
    .constant_buffer = "__constant__",
    .api = &api,
    EMIT_KERNEL_WORDS,
};
