/* tess_args: what a run is given (images, numbers, memory for results) and what it gave. Checked against the program's
 * signature here; sizes are checked against each other in bind.c when the run starts. */
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/gpu.h"

tess_status tess_args_new(const tess_program *p, tess_args **args)
{
    if (!args)
        return TESS_ERROR_ARGUMENT;
    *args = NULL;
    if (!p)
        return TESS_ERROR_ARGUMENT;
    tess_args *a = calloc(1, sizeof *a);
    if (!a)
        return TESS_ERROR_MEMORY;
    a->program = p;
    a->inputs =
        calloc(p->inputs.n + 1, sizeof *a->inputs); /* one more, so that zero is no special case */
    a->scalars = calloc(p->inputs.n + 1, sizeof *a->scalars);
    a->scalar_set = calloc(p->inputs.n + 1, sizeof *a->scalar_set);
    a->outputs = calloc(p->outputs.n + 1, sizeof *a->outputs);
    if (!a->inputs || !a->scalars || !a->scalar_set || !a->outputs) {
        tess_args_free(a);
        return TESS_ERROR_MEMORY;
    }
    *args = a;
    return TESS_OK;
}

tess_status tess_args_copy(const tess_args *from, tess_args **args)
{
    if (!args)
        return TESS_ERROR_ARGUMENT;
    *args = NULL;
    if (!from)
        return TESS_ERROR_ARGUMENT;
    tess_status status = tess_args_new(from->program, args);
    if (status != TESS_OK)
        return status;
    tess_args *a = *args;
    for (uint32_t i = 0; i < from->program->inputs.n; i++) {
        a->inputs[i] = from->inputs[i];
        a->inputs[i].tensor.shape = a->inputs[i].shape;
        a->inputs[i].tensor.strides = a->inputs[i].strides;
        a->scalars[i] = from->scalars[i];
        a->scalar_set[i] = from->scalar_set[i];
    }
    return TESS_OK;
}

void tess_args_free(tess_args *a)
{
    if (!a)
        return;
    for (uint32_t i = 0; a->outputs && i < a->program->outputs.n; i++)
        free(a->outputs[i].owned);
    free(a->inputs);
    free(a->scalars);
    free(a->scalar_set);
    free(a->outputs);
    tessi_ends_free(a);
    if (a->program->backend->forget)
        a->program->backend->forget(a);
    free(a);
}

/* The input of that name, which must be an image (or mask) or else a number; false with the sentence. */
static bool find_input(tess_args *a, const char *name, bool image, uint32_t *index)
{
    int64_t number = tessi_input_number(a->program, name);
    if (number < 0)
        return tessi_failf(&a->failure, TESS_ERROR_ARGUMENT, "the program has no input '%s'",
                           name ? name : "(null)");
    *index = (uint32_t)number;
    tess_kind kind = a->program->inputs.at[number].info.kind;
    return image == (kind == TESS_IMAGE || kind == TESS_MASK)
           || tessi_failf(
               &a->failure, TESS_ERROR_ARGUMENT,
               image ? "'%s' is a number, not an image" : "'%s' is an image, not a number", name);
}

/* Every target reads memory of the host; devices also their own. */
static bool reachable(const Backend *b, int32_t memory)
{
    return tessi_is_host_memory(memory) || (b->device && memory == b->device->memory);
}

/* What is kept for a device fits what was bound, until something else is. */
static void note_change(tess_args *a)
{
    if (a->gpu)
        a->gpu->fresh = false;
}

/* What a program wants of a tensor: its elements, and the length of the channel dimension, 0 where there is none. */
typedef struct Wanted {
    DLDataType element;
    bool mixed;
    int pixel;
} Wanted;

static Wanted wanted_of(const tess_info *info)
{
    Wanted want = { .element = info->channel_types[0],
                    .pixel = info->is_struct ? info->n_channels : 0 };
    for (int c = 1; c < info->n_channels; c++)
        want.mixed =
            want.mixed
            || memcmp(&info->channel_types[c], &info->channel_types[0], sizeof(DLDataType)) != 0;
    if (!want.mixed)
        return want;
    want.element = (DLDataType){ kDLUInt, 8, 1 };
    want.pixel = 0;
    for (int c = 0; c < info->n_channels; c++)
        want.pixel += info->channel_types[c].bits / 8;
    return want;
}

static bool check_elements(Failure *f, const Backend *b, const tess_info *info, const DLTensor *t,
                           DLDataType want)
{
    char have_text[32], want_text[32];
    if (!reachable(b, t->device.device_type))
        return tessi_failf(f, TESS_ERROR_DEVICE,
                           "image '%s' is in device memory that this program's target cannot use",
                           info->name);
    ScalarType have_type, want_type;
    const bool same = tessi_scalar_type(t->dtype, &have_type) && tessi_scalar_type(want, &want_type)
                      && have_type == want_type;
    return same
           || tessi_failf(f, TESS_ERROR_ARGUMENT,
                          "image '%s' has elements of type %s, but the program declares %s",
                          info->name, tessi_dl_type_text(t->dtype, have_text),
                          tessi_dl_type_text(want, want_text));
}

static bool check_shape(Failure *f, const tess_info *info, const DLTensor *t, const Wanted *want)
{
    const int pixel = want->pixel, n_dims = info->ndim + (pixel ? 1 : 0);
    if (t->ndim != n_dims)
        return tessi_failf(f, TESS_ERROR_ARGUMENT,
                           "image '%s' has %d dimension%s, but the program needs %d%s", info->name,
                           t->ndim, t->ndim == 1 ? "" : "s", n_dims,
                           pixel ? " (the last one for the channels)" : "");
    if (!t->shape)
        return tessi_failf(f, TESS_ERROR_ARGUMENT, "image '%s' has no shape", info->name);
    for (int d = 0; d < n_dims; d++)
        if (t->shape[d] < 1)
            return tessi_failf(f, TESS_ERROR_ARGUMENT,
                               "image '%s' has size %lld in dimension %d; sizes start at 1",
                               info->name, (long long)t->shape[d], d);
    if (pixel && t->shape[info->ndim] != pixel)
        return tessi_failf(f, TESS_ERROR_ARGUMENT,
                           want->mixed
                               ? "image '%s' has pixels of %lld bytes, but those of the program, "
                                 "with fields of several types, have %d"
                               : "image '%s' has %lld channels, but the program needs %d",
                           info->name, (long long)t->shape[info->ndim], pixel);
    return true;
}

static bool check_data(Failure *f, const tess_info *info, const DLTensor *t, DLDataType want)
{
    if (!t->data)
        return tessi_failf(f, TESS_ERROR_ARGUMENT, "image '%s' has no data", info->name);
    const Backend *there = tessi_backend_of_memory(t->device.device_type);
    const bool handle = there && !there->device->addresses;
    const uint64_t first = t->byte_offset + (handle ? 0 : (uintptr_t)t->data);
    return first % (want.bits / 8u) == 0
           || tessi_failf(f, TESS_ERROR_ARGUMENT,
                          "image '%s' does not begin at a multiple of the %d bytes of its "
                          "elements",
                          info->name, want.bits / 8);
}

/* Whether the memory layout of a tensor is one that a program can read: compact pixels, any stride between rows. */
static bool check_layout(Failure *f, const Backend *b, const tess_info *info, const DLTensor *t)
{
    const Wanted want = wanted_of(info);
    if (!check_elements(f, b, info, t, want.element) || !check_shape(f, info, t, &want)
        || !check_data(f, info, t, want.element))
        return false;
    int64_t compact = 1;
    for (int d = t->ndim - 1; t->strides && d >= info->ndim - 1; d--) {
        if (t->strides[d] != compact && t->shape[d] > 1)
            return tessi_failf(
                f, TESS_ERROR_ARGUMENT,
                "image '%s' has stride %lld in dimension %d; only row dimensions may be strided",
                info->name, (long long)t->strides[d], d);
        compact *= t->shape[d];
    }
    return true;
}

/* The dimension of more than one point with the shortest stride of those not passed yet, the last of equals; -1 when
 * there is none. */
static int nearest_dim(const DLTensor *t, const bool *passed)
{
    int nearest = -1;
    uint64_t least = UINT64_MAX;
    for (int d = t->ndim - 1; d >= 0; d--) {
        const uint64_t stride = (uint64_t)t->strides[d];
        const uint64_t step = t->strides[d] < 0 ? 0 - stride : stride;
        if (passed[d] || t->shape[d] == 1 || step >= least)
            continue;
        nearest = d;
        least = step;
    }
    return nearest;
}

/* Whether every row, plane and volume of a result begins where the one before has ended: elements that are one would
 * be written by several threads in any order. Rows that lie between others' elements are refused too, which nobody
 * needs. */
static bool check_apart(Failure *f, const tess_info *info, const DLTensor *t)
{
    bool passed[MAX_DIMS + 1] = { false };
    int64_t span = 1; /* elements from the first to the last of the dimensions passed */
    for (int d; t->strides && (d = nearest_dim(t, passed)) >= 0; passed[d] = true) {
        const int64_t stride = t->strides[d];
        int64_t reach;
        if (stride > -span && stride < span)
            return tessi_failf(
                f, TESS_ERROR_ARGUMENT,
                "the memory for result '%s' overlaps itself: its stride in dimension "
                "%d is %lld",
                info->name, d, (long long)stride);
        if (!tessi_mul_i64(t->shape[d] - 1, stride, &reach) || reach == INT64_MIN
            || !tessi_add_i64(span, reach < 0 ? -reach : reach, &span))
            return tessi_failf(f, TESS_ERROR_ARGUMENT,
                               "the memory for result '%s' is larger than any there is",
                               info->name);
    }
    return true;
}

/* Copies shape and strides, so that the caller's arrays need not live on; fills compact strides where none were
 * given. */
static void copy_tensor(BoundImage *b, const DLTensor *t)
{
    memset(b, 0, sizeof *b);
    b->set = true;
    b->tensor = *t;
    b->tensor.shape = b->shape;
    b->tensor.strides = b->strides;
    int64_t compact = 1;
    for (int d = t->ndim - 1; d >= 0; d--) {
        b->shape[d] = t->shape[d];
        bool given = t->strides && t->shape[d] > 1; /* a stride over one point says nothing */
        b->strides[d] = given ? t->strides[d] : compact;
        int64_t next;
        compact = tessi_mul_i64(compact, t->shape[d], &next) ? next : INT64_MAX;
    }
}

bool tessi_args_begin(const tess_program *p, tess_args *a)
{
    memset(&a->failure, 0, sizeof a->failure);
    return a->program == p
           || tessi_failf(&a->failure, TESS_ERROR_ARGUMENT,
                          "these arguments were made for another program");
}

tess_status tess_args_shape(tess_args *a, const char *name, const DLTensor *tensor)
{
    uint32_t i;
    if (!a || !tensor)
        return TESS_ERROR_ARGUMENT;
    tessi_args_begin(a->program, a);
    if (!find_input(a, name, true, &i))
        return (tess_status)a->failure.status;
    const tess_info *info = &a->program->inputs.at[i].info;
    const Wanted want = wanted_of(info);
    if (!check_elements(&a->failure, a->program->backend, info, tensor, want.element)
        || !check_shape(&a->failure, info, tensor, &want))
        return (tess_status)a->failure.status;
    DLTensor compact = *tensor;
    compact.strides = NULL;
    compact.data = NULL;
    note_change(a);
    copy_tensor(&a->inputs[i], &compact);
    return TESS_OK;
}

tess_status tess_args_image(tess_args *a, const char *name, const DLTensor *tensor)
{
    if (!a)
        return TESS_ERROR_ARGUMENT;
    tessi_args_begin(a->program, a);
    uint32_t i;
    if (!tessi_types_known(a->program, &a->failure))
        return (tess_status)a->failure.status;
    if (!tensor) {
        tessi_failf(&a->failure, TESS_ERROR_ARGUMENT, "there is no tensor for '%s'",
                    name ? name : "");
        return TESS_ERROR_ARGUMENT;
    }
    if (!find_input(a, name, true, &i)
        || !check_layout(&a->failure, a->program->backend, &a->program->inputs.at[i].info, tensor))
        return (tess_status)a->failure.status;
    note_change(a);
    copy_tensor(&a->inputs[i], tensor);
    return TESS_OK;
}

tess_status tess_args_scalar(tess_args *a, const char *name, double value)
{
    if (!a)
        return TESS_ERROR_ARGUMENT;
    tessi_args_begin(a->program, a);
    uint32_t i;
    if (!find_input(a, name, false, &i))
        return (tess_status)a->failure.status;
    const tess_info *info = &a->program->inputs.at[i].info;
    ScalarType type = info->kind == TESS_PARAMETER ? TYPE_I64 : a->program->inputs.at[i].type;
    if (!tessi_is_real(type)) {
        Interval range = tessi_type_range(type);
        range.lo = tessi_is_unsigned(type) ? 0 : range.lo;
        bool whole = value >= -9007199254740992.0 && value <= 9007199254740992.0
                     && (double)(int64_t)value == value;
        if (!whole || (int64_t)value < range.lo || (int64_t)value > range.hi) {
            tessi_failf(&a->failure, TESS_ERROR_ARGUMENT,
                        "'%s' is of type %s, which has no value %.17g", name,
                        tessi_type_info(type)->name, value);
            return TESS_ERROR_ARGUMENT;
        }
    }
    if (info->has_range && !(value >= info->lo && value <= info->hi)) {
        tessi_failf(&a->failure, TESS_ERROR_ARGUMENT, "'%s' must lie in %.17g..%.17g, not %.17g",
                    name, info->lo, info->hi, value);
        return TESS_ERROR_ARGUMENT;
    }
    note_change(a);
    a->scalars[i] = value;
    a->scalar_set[i] = true;
    return TESS_OK;
}

tess_status tess_args_output(tess_args *a, size_t output, const DLTensor *tensor)
{
    if (!a)
        return TESS_ERROR_ARGUMENT;
    tessi_args_begin(a->program, a);
    if (output >= a->program->outputs.n) {
        tessi_failf(&a->failure, TESS_ERROR_ARGUMENT,
                    "the program returns %u images; there is no number %zu", a->program->outputs.n,
                    output);
        return TESS_ERROR_ARGUMENT;
    }
    note_change(a);
    BoundImage *b = &a->outputs[output];
    free(b->owned);
    memset(b, 0, sizeof *b);
    if (!tensor) /* back to "allocated by the library" */
        return TESS_OK;
    if (!check_layout(&a->failure, a->program->backend, &a->program->outputs.at[output].info,
                      tensor)
        || !check_apart(&a->failure, &a->program->outputs.at[output].info, tensor))
        return (tess_status)a->failure.status;
    copy_tensor(b, tensor);
    return TESS_OK;
}

tess_status tess_args_result(const tess_args *a, size_t output, const DLTensor **tensor)
{
    if (!tensor)
        return TESS_ERROR_ARGUMENT;
    *tensor = NULL;
    if (!a || output >= a->program->outputs.n || !a->has_results)
        return TESS_ERROR_ARGUMENT;
    *tensor = &a->outputs[output].tensor;
    return TESS_OK;
}

const char *tess_args_error(const tess_args *a)
{
    return a ? a->failure.text : "";
}

tess_status tess_args_timing(const tess_args *a, tess_timing *t)
{
    if (!a || !t || t->struct_size > sizeof *t || t->struct_size < sizeof(size_t))
        return TESS_ERROR_ARGUMENT;
    size_t n = t->struct_size;
    memcpy(t, &a->timing, n);
    t->struct_size = n;
    return TESS_OK;
}
