/* Tessera's lane: a program compiled and run through the public interface, on the caller's buffers.
 * program=FILE [plan=FILE] [border=RULE] [const=NAME:VALUE] [mask=NAME:K] [fp=fast] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "include/tessera.h"
#include "lane.h"

typedef struct Job {
    tess_program *program;
    tess_args *args;
} Job;

static char *text_of(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    char *text = (char *)calloc(1, 1 << 20);
    if (!f || !text)
        lane_fail("a program or plan cannot be read");
    *n = fread(text, 1, (1 << 20) - 1, f);
    fclose(f);
    return text;
}

static bool run(void *user)
{
    Job *job = (Job *)user;
    return tess_run(job->program, job->args, NULL) == TESS_OK;
}

/* NAME:VALUE of an option; false when the option is not there. */
static bool name_and_value(const Lane *lane, const char *option, char name[32], double *value)
{
    const char *text = lane_option(lane, option, NULL);
    return text && sscanf(text, "%31[^:]:%lf", name, value) == 2;
}

static void compile(const Lane *lane, Job *job)
{
    tess_options o;
    tess_options_init(&o);
    o.target = TESS_TARGET_C;
    o.threads = lane->threads;
    o.border = lane_option(lane, "border", NULL);
    if (!strcmp(lane_option(lane, "fp", ""), "fast"))
        o.fp = TESS_FP_FAST;
    const char *plan = lane_option(lane, "plan", NULL), *program = lane_option(lane, "program", "");
    size_t n;
    if (plan)
        o.plan = text_of(plan, &n);
    char name[32];
    double value, size;
    tess_constant constants[3];
    if (name_and_value(lane, "const", name, &value))
        constants[o.n_constants++] = (tess_constant){ name, value };
    char mask[32];
    if (name_and_value(lane, "mask", mask, &size)) {
        constants[o.n_constants++] = (tess_constant){ "K", size };
        constants[o.n_constants++] = (tess_constant){ "L", size };
    }
    o.constants = constants;
    char *text = text_of(program, &n);
    tess_diags *diags = NULL;
    if (tess_compile(text, n, program, &o, &job->program, &diags) != TESS_OK)
        lane_fail(diags ? tess_diags_text(diags, 0) : "the program does not compile");
    tess_diags_free(diags);
    free(text);
}

static void bind_inputs(const Lane *lane, Job *job, int64_t shape[3], int64_t mask_shape[2],
                        DLTensor tensors[2])
{
    DLDataType type = { kDLFloat, 32, 1 };
    if (!strcmp(lane->dtype, "uint8"))
        type = (DLDataType){ kDLUInt, 8, 1 };
    shape[0] = lane->planes, shape[1] = lane->height, shape[2] = lane->width;
    int ndim = lane->planes > 1 ? 3 : 2;
    tensors[0] = (DLTensor){ .data = lane->in,
                             .device = { kDLCPU, 0 },
                             .ndim = ndim,
                             .dtype = type,
                             .shape = shape + 3 - ndim };
    if (tess_args_new(job->program, &job->args) != TESS_OK
        || tess_args_image(job->args, "photo", &tensors[0]) != TESS_OK)
        lane_fail(job->args ? tess_args_error(job->args) : "out of memory");
    char name[32];
    double size;
    if (!name_and_value(lane, "mask", name, &size))
        return;
    mask_shape[0] = mask_shape[1] = (int64_t)size;
    if (lane->n_weights < (size_t)(mask_shape[0] * mask_shape[1]))
        lane_fail("too few weights");
    tensors[1] = (DLTensor){ .data = lane->weights,
                             .device = { kDLCPU, 0 },
                             .ndim = 2,
                             .dtype = { kDLFloat, 32, 1 },
                             .shape = mask_shape };
    if (tess_args_image(job->args, name, &tensors[1]) != TESS_OK)
        lane_fail(tess_args_error(job->args));
}

/* The result in memory of our own: its shape is what a first run made, its rows begin at whole cache lines. */
static size_t bind_output(Job *job, DLTensor *out, int64_t shape[5], int64_t strides[5])
{
    const DLTensor *made = NULL;
    if (tess_run(job->program, job->args, NULL) != TESS_OK
        || tess_args_result(job->args, 0, &made) != TESS_OK)
        lane_fail(tess_args_error(job->args));
    int64_t element = made->dtype.bits / 8, line = 64 / element, stride = 1;
    *out = *made;
    for (int d = made->ndim - 1; d >= 0; d--) {
        shape[d] = made->shape[d];
        strides[d] = stride;
        stride *= d == made->ndim - 1 ? (shape[d] + line - 1) / line * line : shape[d];
    }
    size_t bytes = (size_t)(stride * element);
    out->shape = shape;
    out->strides = strides;
    out->byte_offset = 0;
    out->data = lane_memory(bytes);
    if (tess_args_output(job->args, 0, out) != TESS_OK)
        lane_fail(tess_args_error(job->args));
    return bytes;
}

int main(int argc, char **argv)
{
    Lane lane;
    lane_open(&lane, argc, argv);
    Job job = { 0 };
    int64_t shape[3], mask_shape[2], out_shape[5], out_strides[5];
    DLTensor tensors[2], out;
    double start = lane_now_ms();
    compile(&lane, &job);
    bind_inputs(&lane, &job, shape, mask_shape, tensors);
    size_t bytes = bind_output(&job, &out, out_shape, out_strides);
    double compile_ms = lane_now_ms() - start;
    int status = lane_serve(&lane, run, &job, out.data, bytes, compile_ms);
    tess_args_free(job.args);
    tess_program_free(job.program);
    return status;
}
