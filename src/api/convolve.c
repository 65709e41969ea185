/* tess_convolve and tess_separable: each kind of convolution becomes a program, which is compiled once and kept by
 * its key: element types, border rules, extents and, unless they vary, the coefficients. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/backend.h"
#include "api/convolve.h"
#include "base/rounding.h"

enum { MOST_PROGRAMS = 256 }; /* a caller that sweeps coefficients must not fill the memory */

typedef struct KeptProgram {
    struct KeptProgram *next; /* most recently used first */
    uint64_t hash;
    size_t n_key;
    char *key;
    tess_program *program;
    tess_args *idle; /* arguments that no call is using, with the memory of earlier runs */
    int users;
} KeptProgram;

struct tess_convolver {
    Arena arena; /* texts of the options */
    tess_options options;
    mtx_t lock; /* guards all that follows */
    bool has_lock;
    bool varying;
    KeptProgram *entries;
    Failure failure;
};

/* One call. */
typedef struct Call {
    Arena *arena;
    Convolution what;
    Text key;
    KeptProgram *entry; /* held while the call lasts */
    tess_args *args;
    Failure failure;
} Call;

/* ---- Taking the request apart ---------------------------------------------------------------- */
static bool check_tensor(const DLTensor *t, const char *name, ScalarType *type, Failure *f)
{
    char text[32];
    if (!t || !t->data)
        return tessi_failf(f, TESS_ERROR_ARGUMENT, "%s has no data", name);
    if (!tessi_scalar_type(t->dtype, type))
        return tessi_failf(f, TESS_ERROR_ARGUMENT, "%s has elements of an unknown type (%s)", name,
                           tessi_dl_type_text(t->dtype, text));
    if (t->ndim < 1 || t->ndim > MAX_DIMS + 1)
        return tessi_failf(f, TESS_ERROR_ARGUMENT, "%s has %d dimension%s; 1 to %d can be", name,
                           t->ndim, t->ndim == 1 ? "" : "s", MAX_DIMS);
    if (!t->shape)
        return tessi_failf(f, TESS_ERROR_ARGUMENT, "%s has no shape", name);
    for (int d = 0; d < t->ndim; d++)
        if (t->shape[d] < 1)
            return tessi_failf(f, TESS_ERROR_ARGUMENT,
                               "%s has size %lld in dimension %d; sizes start at 1", name,
                               (long long)t->shape[d], d);
    return true;
}

/* Images of as many dimensions as the mask, or one more for the channels. */
static bool describe_images(const DLTensor *image, const DLTensor *out, int n_dims, Convolution *c,
                            Failure *f)
{
    if (!check_tensor(image, "the image", &c->image, f)
        || !check_tensor(out, "the result", &c->out, f))
        return false;
    if (n_dims > MAX_DIMS || image->ndim < n_dims || image->ndim > n_dims + 1)
        return tessi_failf(f, TESS_ERROR_ARGUMENT,
                           "the image has %d dimension%s, but the masks are for %d (one more can "
                           "be for the channels)",
                           image->ndim, image->ndim == 1 ? "" : "s", n_dims);
    c->n_dims = n_dims;
    if (image->ndim == n_dims)
        return true;
    if (image->shape[n_dims] > MAX_CHANNELS)
        return tessi_failf(
            f, TESS_ERROR_ARGUMENT,
            "the last dimension of the image has %lld channels; at most %d are possible",
            (long long)image->shape[n_dims], MAX_CHANNELS);
    c->n_channels = (int)image->shape[n_dims];
    return true;
}

/* The elements of a mask in order. */
static bool read_mask(Call *call, const DLTensor *t, Coefficients *m, ScalarType type)
{
    const char *base = (const char *)t->data + t->byte_offset;
    int64_t at[MAX_DIMS] = { 0 }, strides[MAX_DIMS], compact = 1;
    size_t bytes = tessi_type_info(type)->bytes;
    if (!tessi_is_host_memory(t->device.device_type))
        return tessi_failf(&call->failure, TESS_ERROR_ARGUMENT,
                           "masks lie in memory of the host, not of a device");
    m->type = type;
    for (int d = t->ndim - 1; d >= 0; d--) {
        strides[d] = t->strides ? t->strides[d] : compact;
        if (!tessi_mul_i64(compact, t->shape[d], &compact) || compact > MAX_MASK_ELEMENTS)
            return tessi_failf(&call->failure, TESS_ERROR_ARGUMENT,
                               "a mask has at most %d coefficients", MAX_MASK_ELEMENTS);
    }
    m->n = compact;
    m->at = ARENA_NEW_ARRAY(call->arena, Value, (size_t)m->n);
    for (int64_t k = 0; k < m->n; k++) {
        int64_t offset = 0;
        for (int d = 0; d < t->ndim; d++)
            offset += at[d] * strides[d];
        m->at[k] = tessi_load_element(type, base + offset * (int64_t)bytes);
        if (tessi_is_real(type) && !isfinite(m->at[k].f))
            return tessi_failf(&call->failure, TESS_ERROR_ARGUMENT,
                               "coefficient %lld of the mask is not finite", (long long)k);
        for (int d = t->ndim - 1; d >= 0 && ++at[d] == t->shape[d]; d--)
            at[d] = 0;
    }
    return true;
}

/* The mask `t` along the dimensions from `first` on; the others have extent 1. */
static bool add_mask(Call *call, const DLTensor *t, int first, ScalarType type)
{
    Coefficients *m = &call->what.mask[call->what.n_masks++];
    for (int d = 0; d < call->what.n_dims; d++)
        m->shape[d] = d >= first && d < first + t->ndim ? t->shape[d - first] : 1;
    return read_mask(call, t, m, type);
}

/* The sizes of the result: the image's, less what the masks reach under rule NONE. */
static bool check_sizes(const DLTensor *image, const DLTensor *out, const Convolution *c,
                        Failure *f)
{
    if (out->ndim != image->ndim)
        return tessi_failf(f, TESS_ERROR_ARGUMENT,
                           "the result has %d dimension%s, and the image %d", out->ndim,
                           out->ndim == 1 ? "" : "s", image->ndim);
    for (int d = 0; d < image->ndim; d++) {
        int64_t extent = 1;
        for (int m = 0; m < c->n_masks && d < c->n_dims && c->rule[d] == BORDER_NONE; m++)
            extent += c->mask[m].shape[d] - 1;
        const int64_t size = image->shape[d] - (extent - 1);
        if (size < 1)
            return tessi_failf(f, TESS_ERROR_ARGUMENT,
                               "nothing is left under 'none': in dimension %d the mask has extent "
                               "%lld and the image size %lld",
                               d, (long long)extent, (long long)image->shape[d]);
        if (out->shape[d] != size)
            return tessi_failf(f, TESS_ERROR_ARGUMENT,
                               "the result has size %lld in dimension %d, but needs %lld",
                               (long long)out->shape[d], d, (long long)size);
    }
    return true;
}

/* Everything but the coefficients, and those too unless they vary. */
static void make_key(Call *call)
{
    const Convolution *c = &call->what;
    call->key = tessi_text_new(call->arena);
    tessi_text_addf(&call->key, "%d %d %d %d %d %d ", c->n_dims, c->n_channels, (int)c->image,
                    (int)c->out, (int)c->sum, c->varying);
    for (int d = 0; d < c->n_dims; d++)
        tessi_text_addf(&call->key, "%d ", (int)c->rule[d]);
    tessi_text_addn(&call->key, (const char *)&c->outside, sizeof c->outside);
    for (int m = 0; m < c->n_masks; m++) {
        const Coefficients *mask = &c->mask[m];
        if (!c->open)
            tessi_text_addn(&call->key, (const char *)mask->shape, sizeof mask->shape);
        tessi_text_addf(&call->key, "%d ", (int)mask->type);
        if (!c->varying)
            tessi_text_addn(&call->key, (const char *)mask->at, (size_t)mask->n * sizeof(Value));
    }
}

/* ---- Programs -------------------------------------------------------------------------------- */
static void free_entry(KeptProgram *e)
{
    if (!e)
        return;
    tess_args_free(e->idle);
    tess_program_free(e->program);
    free(e->key);
    free(e);
}

/* The oldest entry that no call is using, out of the list; NULL when there is room for one more, or no such entry. */
static KeptProgram *take_oldest_beyond_limit(tess_convolver *c)
{
    int n = 0;
    KeptProgram **oldest = NULL;
    for (KeptProgram **link = &c->entries; *link; link = &(*link)->next) {
        n++;
        if (!(*link)->users)
            oldest = link;
    }
    if (n < MOST_PROGRAMS || !oldest)
        return NULL;
    KeptProgram *e = *oldest;
    *oldest = e->next;
    return e;
}

/* The entry of this key, now the first; NULL when there is none. */
static KeptProgram *find_entry(tess_convolver *c, const Text *key, uint64_t hash)
{
    for (KeptProgram **link = &c->entries; *link; link = &(*link)->next) {
        KeptProgram *e = *link;
        if (e->hash != hash || e->n_key != key->n || memcmp(e->key, key->at, key->n) != 0)
            continue;
        *link = e->next;
        e->next = c->entries;
        c->entries = e;
        return e;
    }
    return NULL;
}

/* The options of a new program: the first one says for all what there is to note. */
static tess_options take_options(tess_convolver *c)
{
    mtx_lock(&c->lock);
    const tess_options o = c->options;
    c->options.note = NULL;
    mtx_unlock(&c->lock);
    return o;
}

static void give_note_back(tess_convolver *c, const tess_options *o)
{
    mtx_lock(&c->lock);
    c->options.note = o->note ? o->note : c->options.note;
    mtx_unlock(&c->lock);
}

static KeptProgram *new_entry(tess_convolver *c, Call *call, const Text *program, uint64_t hash)
{
    KeptProgram *e = calloc(1, sizeof *e);
    if (!e || !(e->key = malloc(call->key.n))) {
        free_entry(e);
        tessi_failf(&call->failure, TESS_ERROR_MEMORY, "out of memory");
        return NULL;
    }
    memcpy(e->key, call->key.at, call->key.n);
    e->n_key = call->key.n;
    e->hash = hash;
    tess_diags *d = NULL;
    const tess_options options = take_options(c);
    tess_status status =
        tess_compile(program->at, program->n, "convolve.tess", &options, &e->program, &d);
    if (status != TESS_OK) {
        const char *why = tess_status_text(status);
        for (uint32_t k = 0; d && k < d->diags.list.n; k++) {
            if (d->diags.list.at[k].severity == SEV_ERROR) {
                why = d->diags.list.at[k].text;
                break;
            }
        }
        tessi_failf(&call->failure,
                    (int)(status == TESS_ERROR_PROGRAM ? TESS_ERROR_ARGUMENT : status), "%s", why);
        free_entry(e);
        e = NULL;
        give_note_back(c, &options);
    }
    tess_diags_free(d);
    return e;
}

/* The entry of this key becomes the call's: the one that is there, else `made`, if any. Returns what is not needed
 * any more. */
static KeptProgram *take_entry(tess_convolver *c, Call *call, uint64_t hash, KeptProgram *made)
{
    KeptProgram *left = made;
    mtx_lock(&c->lock);
    KeptProgram *e = find_entry(c, &call->key, hash);
    if (!e && made) {
        left = take_oldest_beyond_limit(c);
        made->next = c->entries;
        c->entries = e = made;
    }
    if (e) {
        e->users++;
        call->entry = e;
        call->args = e->idle;
        e->idle = NULL;
    }
    mtx_unlock(&c->lock);
    return left;
}

/* The entry for this call, held until given back, and arguments to run it with. Other calls do not wait while it is
 * made; should two make the same, one is left over. */
static bool take(tess_convolver *c, Call *call)
{
    Text program;
    uint64_t hash = tessi_hash_bytes(0, call->key.at, call->key.n);
    take_entry(c, call, hash, NULL);
    if (!call->entry) {
        program = tessi_text_new(call->arena);
        tessi_convolution_text(&call->what, &program);
        KeptProgram *made = new_entry(c, call, &program, hash);
        if (made)
            free_entry(take_entry(c, call, hash, made));
    }
    const KeptProgram *e = call->entry;
    if (e && !call->args && tess_args_new(e->program, &call->args) != TESS_OK)
        return tessi_failf(&call->failure, TESS_ERROR_MEMORY, "out of memory");
    return e != NULL;
}

static void give_back(tess_convolver *c, Call *call)
{
    KeptProgram *e = call->entry;
    tess_args *args = call->args;
    if (!e)
        return;
    mtx_lock(&c->lock);
    e->users--;
    if (!e->idle) {
        e->idle = args;
        args = NULL;
    }
    mtx_unlock(&c->lock);
    tess_args_free(args);
}

/* ---- Running --------------------------------------------------------------------------------- */
/* The coefficients of mask m as the program takes them. */
static tess_status bind_mask(Call *call, int m)
{
    const Convolution *c = &call->what;
    Coefficients *mask = &call->what.mask[m];
    ScalarType from = tessi_is_real(mask->type) ? TYPE_F64 : TYPE_I64;
    size_t bytes = tessi_type_info(c->sum)->bytes;
    char *data = tessi_alloc_array(call->arena, (size_t)mask->n, bytes);
    for (int64_t k = 0; k < mask->n; k++)
        tessi_store_element(c->sum, data + (size_t)k * bytes,
                            tessi_eval_cast(c->sum, from, mask->at[k]));
    DLTensor t = { .data = data,
                   .device = { kDLCPU, 0 },
                   .ndim = c->n_dims,
                   .dtype = tessi_dl_type(c->sum),
                   .shape = mask->shape };
    tess_status s = tess_args_image(call->args, tessi_sprintf(call->arena, "m%d", m), &t);
    if (s == TESS_OK && m > 0)
        s = tess_args_scalar(call->args, tessi_sprintf(call->arena, "outside%d", m),
                             tessi_convolution_outside(c, m));
    return s;
}

/* What was asked for: mask[0] for all dimensions, or one mask for each (NULL: none). */
typedef struct Request {
    const DLTensor *image, *out;
    const DLTensor *const *mask;
    size_t n_masks;
    bool separable;
    const char *border;
    void *stream;
} Request;

static void run(Call *call, const Request *r)
{
    tess_args *args = call->args;
    tess_status s = tess_args_image(args, "image", r->image);
    for (int m = 0; m < call->what.n_masks && call->what.varying && s == TESS_OK; m++)
        s = bind_mask(call, m);
    if (s == TESS_OK)
        s = tess_args_output(args, 0, r->out);
    if (s == TESS_OK)
        s = tess_run(call->entry->program, args, r->stream);
    if (s != TESS_OK)
        tessi_failf(&call->failure, (int)s, "%s", tess_args_error(args));
}

static bool describe(Call *call, const Request *r)
{
    Convolution *c = &call->what;
    Failure *f = &call->failure;
    ScalarType types[MAX_DIMS];
    if (!r->n_masks)
        return tessi_failf(f, TESS_ERROR_ARGUMENT, "there is no mask");
    if (r->n_masks > MAX_DIMS)
        return tessi_failf(f, TESS_ERROR_ARGUMENT, "there are %zu masks; at most %d are possible",
                           r->n_masks, MAX_DIMS);
    for (size_t m = 0; m < r->n_masks; m++) {
        if (r->separable && !r->mask[m])
            continue;
        if (!check_tensor(r->mask[m], "the mask", &types[m], f))
            return false;
        if (r->separable && r->mask[m]->ndim != 1)
            return tessi_failf(f, TESS_ERROR_ARGUMENT,
                               "mask %zu has %d dimensions; masks along a dimension have one", m,
                               r->mask[m]->ndim);
    }
    if (!describe_images(r->image, r->out, r->separable ? (int)r->n_masks : r->mask[0]->ndim, c, f)
        || !tessi_convolution_border(c, r->border, f))
        return false;
    for (size_t m = r->n_masks; m-- > 0;) /* rows first */
        if (r->mask[m] && !add_mask(call, r->mask[m], (int)m, types[m]))
            return false;
    if (!c->n_masks)
        return tessi_failf(f, TESS_ERROR_ARGUMENT, "there is no mask");
    c->sum = tessi_convolution_sum(c);
    make_key(call);
    return check_sizes(r->image, r->out, c, f) && tessi_convolution_outside_fits(c, f);
}

static bool convolve(tess_convolver *c, Call *call, const Request *r)
{
    Guard guard;
    if (GUARDED(&guard, call->arena)) {
        if (describe(call, r) && take(c, call))
            run(call, r);
    } else {
        tessi_failf(&call->failure, TESS_ERROR_MEMORY, "out of memory");
    }
    give_back(c, call);
    return call->failure.status == 0;
}

static tess_status answer_rounded(tess_convolver *c, const Request *r)
{
    if (!c)
        return TESS_ERROR_ARGUMENT;
    Arena arena;
    tessi_arena_init(&arena, NULL, NULL);
    Call call = { .arena = &arena };
    mtx_lock(&c->lock);
    call.what.varying = c->varying;
    call.what.open = c->varying && c->options.general != TESS_GENERAL_NEVER;
    mtx_unlock(&c->lock);
    if (!convolve(c, &call, r)) {
        mtx_lock(&c->lock);
        c->failure = call.failure;
        mtx_unlock(&c->lock);
    }
    tessi_arena_dispose(&arena);
    return (tess_status)call.failure.status;
}

static tess_status answer(tess_convolver *c, const Request *r)
{
    const Rounding callers = tessi_round_to_nearest();
    const tess_status status = answer_rounded(c, r);
    tessi_round_as(callers);
    return status;
}

/* ---- The entries ----------------------------------------------------------------------------- */
tess_status tess_convolve(tess_convolver *c, const DLTensor *image, const DLTensor *mask,
                          const char *border, const DLTensor *out, void *stream)
{
    return answer(c, &(Request){ image, out, &mask, 1, false, border, stream });
}

tess_status tess_separable(tess_convolver *c, const DLTensor *image, const DLTensor *const *masks,
                           size_t n_masks, const char *border, const DLTensor *out, void *stream)
{
    if (!masks)
        return TESS_ERROR_ARGUMENT;
    return answer(c, &(Request){ image, out, masks, n_masks, true, border, stream });
}

static bool init_convolver(tess_convolver *c, const tess_options *options)
{
    Guard guard;
    tessi_arena_init(&c->arena, NULL, NULL);
    c->has_lock = mtx_init(&c->lock, mtx_plain) == thrd_success;
    if (!c->has_lock || !GUARDED(&guard, &c->arena))
        return false;
    tessi_options_copy(&c->arena, options, &c->options);
    c->options.border = NULL;
    c->options.plan = NULL;
    c->options.n_constants = 0;
    return true;
}

tess_status tess_convolver_new(const tess_options *options, tess_convolver **convolver)
{
    if (!convolver)
        return TESS_ERROR_ARGUMENT;
    *convolver = NULL;
    if (options && !options->struct_size)
        return TESS_ERROR_ARGUMENT;
    tess_convolver *c = calloc(1, sizeof *c);
    if (!c || !init_convolver(c, options)) {
        tess_convolver_free(c);
        return TESS_ERROR_MEMORY;
    }
    *convolver = c;
    return TESS_OK;
}

void tess_convolver_free(tess_convolver *c)
{
    if (!c)
        return;
    for (KeptProgram *e = c->entries; e;) {
        KeptProgram *next = e->next;
        free_entry(e);
        e = next;
    }
    if (c->has_lock)
        mtx_destroy(&c->lock);
    tessi_arena_dispose(&c->arena);
    free(c);
}

void tess_convolver_vary(tess_convolver *c, int varying)
{
    if (!c)
        return;
    mtx_lock(&c->lock);
    c->varying = varying != 0;
    mtx_unlock(&c->lock);
}

const char *tess_convolver_error(const tess_convolver *c)
{
    return c ? c->failure.text : "";
}
