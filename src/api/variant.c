/* Variants: the program compiled for given constants, made on first use and kept. */
#include <stdlib.h>
#include <string.h>

#include "analysis/passes.h"
#include "api/backend.h"

enum { MOST_VARIANTS = 64 }; /* a caller that sweeps a constant must not fill the memory */

Variant *tessi_variant_new(const Backend *b)
{
    Variant *v = calloc(1, sizeof *v);
    if (!v)
        return NULL;
    v->backend = b;
    v->is_packed = true; /* until something else is given */
    tessi_arena_init(&v->arena, NULL, NULL);
    v->has_lock = mtx_init(&v->lock, mtx_plain) == thrd_success;
    if (v->has_lock)
        return v;
    tessi_variant_free(v);
    return NULL;
}

void tessi_variant_free(Variant *v)
{
    if (!v)
        return;
    if (v->has_lock)
        mtx_destroy(&v->lock);
    if (v->backend->drop)
        v->backend->drop(v);
    tessi_arena_dispose(&v->arena);
    free(v);
}

static bool option_value(const tess_program *p, const char *name, double *value)
{
    bool found = false;
    for (size_t i = 0; i < p->options.n_constants; i++) { /* the last one counts */
        if (tessi_streq(p->options.constants[i].name, name)) {
            *value = p->options.constants[i].value;
            found = true;
        }
    }
    return found;
}

/* Whether pixels lie so close together, in an image so large, that their distance is worth a compilation: then loops
 * along the last dimension are written out, and vectors go on from pixel to pixel. */
static bool is_short_distance(const BoundImage *b, uint32_t dim)
{
    enum { LEAST_POINTS = 1 << 16 };
    double points = 1;
    for (int d = 0; d < b->tensor.ndim; d++)
        points *= (double)b->shape[d];
    return b->shape[dim] <= MOST_CHANNELS && points >= LEAST_POINTS;
}

/* The distance of pixels, where it is worth a compilation; who sets another number is told so by the run. */
static bool distance_value(const tess_args *args, const ProgramConstant *c, double *value)
{
    if (!args || c->image < 0 || !args->inputs[c->image].set
        || !is_short_distance(&args->inputs[c->image], c->dim))
        return false;
    *value = (double)args->inputs[c->image].shape[c->dim];
    return c->input < 0 || !args->scalar_set[c->input] || args->scalars[c->input] == *value;
}

/* A constant's value for these arguments: set by name, else by the options, else by the size of an image. */
static bool constant_value(const tess_program *p, const tess_args *args, const ProgramConstant *c,
                           double *value)
{
    if (c->is_optional)
        return option_value(p, c->name, value) || distance_value(args, c, value);
    if (args && c->input >= 0 && args->scalar_set[c->input]) {
        *value = args->scalars[c->input];
        return true;
    }
    if (option_value(p, c->name, value))
        return true;
    if (args && c->image >= 0 && args->inputs[c->image].set) {
        *value = (double)args->inputs[c->image].shape[c->dim];
        return true;
    }
    return false; /* its default, or an error of the front */
}

/* The first image that would give a constant its value, and is not there; NULL when there is none. */
static const tess_info *missing_image(const tess_program *p, const tess_args *args)
{
    double value;
    VEC_FOREACH (const ProgramConstant, c, &p->constants)
        if (args && c->image >= 0 && !c->is_optional && !constant_value(p, args, c, &value))
            return &p->inputs.at[c->image].info;
    return NULL;
}

/* Whether pixels of some elements lie one behind the other, so that these may be taken as their fields. */
static bool is_packed(const tess_info *info, const BoundImage *b, int least_dims)
{
    const int last = b->tensor.ndim - 1;
    return info->is_struct || b->tensor.ndim < least_dims || b->shape[last] > MOST_FIELDS
           || b->shape[last - 1] == 1 || b->strides[last - 1] == b->shape[last];
}

static bool all_packed(const tess_program *p, const tess_args *args)
{
    for (uint32_t i = 0; args && i < p->inputs.n; i++)
        if (args->inputs[i].set
            && !is_packed(&p->inputs.at[i].info, &args->inputs[i], FIELDS_OF_INPUTS_FROM))
            return false;
    for (uint32_t i = 0; args && i < p->outputs.n; i++)
        if (args->outputs[i].set
            && !is_packed(&p->outputs.at[i].info, &args->outputs[i], FIELDS_OF_RESULTS_FROM))
            return false;
    return true;
}

static void collect(const tess_program *p, const tess_args *args, Variant *v)
{
    v->is_packed = all_packed(p, args);
    VEC_FOREACH (const ProgramConstant, c, &p->constants) {
        double value;
        if (constant_value(p, args, c, &value)) {
            FrontConstant constant = { c->name, value };
            VEC_PUSH(&v->arena, &v->constants, constant);
        }
    }
}

/* Whether an existing variant has just the constants that these arguments give. */
static bool fits(const tess_program *p, const tess_args *args, const Variant *v)
{
    if (v->is_packed != all_packed(p, args))
        return false;
    VEC_FOREACH (const ProgramConstant, c, &p->constants) {
        double wanted = 0, has = 0;
        bool is_wanted = constant_value(p, args, c, &wanted), is_set = false;
        VEC_FOREACH (const FrontConstant, k, &v->constants) {
            if (tessi_streq(k->name, c->name)) {
                has = k->value;
                is_set = true;
            }
        }
        if (is_wanted != is_set || (is_wanted && memcmp(&wanted, &has, sizeof has) != 0))
            return false;
    }
    return true;
}

static bool make(const tess_program *p, const tess_args *args, Variant *v, tess_diags *d,
                 Failure *f)
{
    Guard guard;
    if (!GUARDED(&guard, &v->arena))
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory while compiling");
    tessi_guard_arena(&guard, &d->arena);
    if (tessi_compile_front(p, v, d))
        return true;
    const tess_info *missing = missing_image(p, args);
    if (missing)
        return tessi_failf(f, TESS_ERROR_ARGUMENT, "the %s '%s' is not given",
                           missing->kind == TESS_MASK ? "mask" : "image", missing->name);
    const char *first = "it does not compile for these constants";
    VEC_FOREACH (const Diag, diag, &d->diags.list) {
        if (diag->severity == SEV_ERROR) {
            first = diag->text;
            break;
        }
    }
    return tessi_failf(f, TESS_ERROR_PROGRAM, "%s", first);
}

/* ---- The list; its lock is held -------------------------------------------------------------- */

static Variant *find(const tess_program *p, const tess_args *args)
{
    for (Variant *v = p->variants; v; v = v->next)
        if (fits(p, args, v))
            return v;
    return NULL;
}

static void unlist(tess_program *p, Variant *v)
{
    Variant **link = &p->variants;
    while (*link != v)
        link = &(*link)->next;
    *link = v->next;
    v->is_listed = false;
}

/* Makes room for one more: the oldest variant that no run is using, out of the list; NULL when there is room, or
 * none. */
static Variant *take_oldest_beyond_limit(tess_program *p)
{
    int n = 0;
    Variant *oldest = NULL;
    for (Variant *v = p->variants; v; v = v->next) {
        n++;
        oldest = v->users ? oldest : v;
    }
    if (n < MOST_VARIANTS || !oldest)
        return NULL;
    unlist(p, oldest);
    return oldest;
}

/* An empty variant, held and locked, at the head of the list, so that others wait for it who want the same. */
static Variant *list_new(tess_program *p, const tess_args *args, Variant **dropped)
{
    Guard guard;
    Variant *v = tessi_variant_new(p->backend);
    if (!v || !GUARDED(&guard, &v->arena)) {
        tessi_variant_free(v);
        return NULL;
    }
    collect(p, args, v);
    *dropped = take_oldest_beyond_limit(p);
    v->users = 1;
    v->is_listed = true;
    v->next = p->variants;
    p->variants = v;
    mtx_lock(&v->lock);
    return v;
}

/* ---- Entering and leaving -------------------------------------------------------------------- */

/* Compiles the new variant. Should that fail, it is no longer listed, and those who wait for it learn why. */
static bool fill(tess_program *p, const tess_args *args, Variant *v, tess_diags *d, Failure *f)
{
    if (d ? make(p, args, v, d, f) : tessi_failf(f, TESS_ERROR_MEMORY, "out of memory"))
        return true;
    v->broken = *f;
    mtx_lock(&p->lock);
    unlist(p, v);
    mtx_unlock(&p->lock);
    return false;
}

static Variant *enter_new(tess_program *p, const tess_args *args, Variant *v, tess_diags **diags,
                          Failure *f)
{
    tess_diags *d = tessi_diags_new();
    const bool ok = fill(p, args, v, d, f);
    if (diags)
        *diags = d;
    else
        tess_diags_free(d);
    if (ok)
        return v;
    tessi_variant_leave(p, v);
    return NULL;
}

Variant *tessi_variant_enter(tess_program *p, const tess_args *args, tess_diags **diags, Failure *f)
{
    if (diags)
        *diags = NULL;
    if (!tessi_types_known(p, f))
        return NULL;
    Variant *dropped = NULL, *made = NULL;
    mtx_lock(&p->lock);
    Variant *v = find(p, args);
    if (v)
        v->users++;
    else
        made = list_new(p, args, &dropped);
    mtx_unlock(&p->lock);
    tessi_variant_free(dropped); /* may wait for a compiler */
    if (made)
        return enter_new(p, args, made, diags, f);
    if (!v) {
        tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
        return NULL;
    }
    mtx_lock(&v->lock);
    if (!v->broken.status)
        return v;
    *f = v->broken;
    tessi_variant_leave(p, v);
    return NULL;
}

Variant *tessi_variant_for_passes(tess_program *p, const tess_args *args, tess_diags **diags,
                                  Failure *f)
{
    Variant *v = tessi_variant_enter(p, args, diags, f);
    /* Runs without a lock may be reading what passes change: those keep the one without a plan. */
    while (v && v->is_known) {
        mtx_lock(&p->lock);
        if (v->is_listed)
            unlist(p, v);
        mtx_unlock(&p->lock);
        tessi_variant_leave(p, v);
        tess_diags_free(*diags);
        v = tessi_variant_enter(p, args, diags, f);
    }
    if (v && !*diags && !(*diags = tessi_diags_new())) {
        tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
        tessi_variant_leave(p, v);
        return NULL;
    }
    return v;
}

void tessi_variant_hold(tess_program *p, Variant *v)
{
    mtx_lock(&p->lock);
    v->users++;
    mtx_unlock(&p->lock);
}

void tessi_variant_release(tess_program *p, Variant *v)
{
    mtx_lock(&p->lock);
    const bool last = --v->users == 0 && !v->is_listed && !v->is_private;
    mtx_unlock(&p->lock);
    if (last)
        tessi_variant_free(v);
}

void tessi_variant_leave(tess_program *p, Variant *v)
{
    if (!v)
        return;
    mtx_unlock(&v->lock);
    tessi_variant_release(p, v);
}
