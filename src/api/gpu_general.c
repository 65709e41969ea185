/* General kernels in the meantime, as api/general.c has it for C: the first run with masks of an extent that is not
 * in the cache takes kernels for masks of any extent, and a thread compiles those for the extent at hand. Kernels
 * for any extent are compiled once a program: they are those of the first variant that wanted them. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "api/general.h"
#include "api/gpu.h"

/* Kernels for these extents, being compiled. The thread reads nothing that changes, and writes only here. */
typedef struct GpuCompilation GpuCompilation;
struct GpuCompilation {
    GpuCompilation *next;
    const tess_program *program;
    GpuCode *code;
    bool ok;
    Failure failure;
    RtThread thread;
    atomic_bool done;
};

struct GpuGeneral {
    const LoopProgram *loops; /* NULL: there are none */
    int64_t *params; /* those of the program, for what asks for all, and those behind them */
    uint32_t n_own, n_params;
    GpuCompilation *compilations;
};

PlanSize tessi_gpu_size(unsigned form)
{
    return (PlanSize)(form / GPU_SIZE);
}

const LoopProgram *tessi_gpu_loops(const Variant *v, unsigned form)
{
    return form & GPU_GENERAL ? v->gpu_general->loops
                              : tessi_planned(v, tessi_gpu_size(form)).loops;
}

/* ---- The thread ------------------------------------------------------------------------------ */

static int compile(void *user)
{
    GpuCompilation *k = user;
    k->ok = tessi_gpu_code_load(k->program, k->code, false, &k->failure);
    atomic_store(&k->done, true);
    return 0;
}

static void free_compilation(GpuCompilation *k)
{
    if (tessi_thread_is_lost(&k->thread))
        return;
    tessi_thread_join(&k->thread);
    tessi_gpu_code_free(k->code);
    free(k);
}

/* Takes the code over. */
static bool start(const tess_program *p, Variant *v, GpuCode *code, Failure *f)
{
    GpuCompilation *k = calloc(1, sizeof *k);
    if (!k) {
        tessi_gpu_code_free(code);
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    }
    k->program = p;
    k->code = code;
    atomic_init(&k->done, false);
    k->next = v->gpu_general->compilations;
    v->gpu_general->compilations = k;
    if (!tessi_thread_start(&k->thread, compile, k)) /* no thread to be had: at once, then */
        compile(k);
    return true;
}

/* What the thread made becomes the variant's. */
static const GpuCode *install(Variant *v, GpuCompilation **link, Failure *f)
{
    GpuCompilation *k = *link;
    GpuCode *code = k->ok ? k->code : NULL;
    *link = k->next;
    if (code) {
        k->code = NULL;
        tessi_gpu_code_add(v, code);
    } else {
        *f = k->failure;
    }
    free_compilation(k);
    return code;
}

/* ---- The general kernels --------------------------------------------------------------------- */

static bool make_general(const tess_program *p, Variant *v, Failure *f)
{
    GpuGeneral *g = ARENA_NEW(&v->arena, GpuGeneral);
    int64_t *more = NULL;
    uint32_t n = 0;
    g->loops = tessi_general_loops(p, v, &more, &n, f);
    if (!g->loops && f->status)
        return false;
    g->n_own = v->graph->params.n;
    g->n_params = g->n_own + n;
    g->params = ARENA_NEW_ARRAY(&v->arena, int64_t, g->n_params);
    if (n)
        memcpy(g->params + g->n_own, more, n * sizeof *more);
    v->gpu_general = g;
    return true;
}

/* Whether general kernels have the bits of those of this form. */
static bool can_be_general(const tess_program *p, Variant *v, unsigned form, Failure *f)
{
    if (v->is_private || p->options.general == TESS_GENERAL_NEVER
        || tessi_has_transforms(tessi_planned(v, tessi_gpu_size(form)).plan))
        return false;
    return (v->gpu_general || make_general(p, v, f)) && v->gpu_general->loops;
}

/* Tables that a run hands over may differ where texts do not. */
static bool hands_over_tables(const Variant *v, unsigned form)
{
    VEC_FOREACH (const LBufferId, id, &v->gpu_text[form].module.temps)
        if (v->gpu_general->loops->buffers.at[id->v].kind == LBUF_TABLE)
            return true;
    return false;
}

/* The first variant that wanted general kernels; `v` when there was none. */
static Variant *first_variant(tess_program *p, Variant *v)
{
    mtx_lock(&p->lock);
    if (!p->general_variant) {
        p->general_variant = v;
        v->users++; /* until the program is freed */
    }
    Variant *first = p->general_variant;
    mtx_unlock(&p->lock);
    return first;
}

/* The variant whose general kernels serve: the text is the same for all extents, but for programs that also count
 * with them. */
static Variant *general_variant(tess_program *p, Variant *v, Variant *first, unsigned form)
{
    const char *text = tessi_gpu_text(p, v, form);
    return strcmp(tessi_gpu_text(p, first, form), text) == 0 && !hands_over_tables(v, form) ? first
                                                                                            : v;
}

static const GpuCode *guarded_code(tess_program *p, Variant *v, Variant *first, GpuContext *c,
                                   unsigned form, Failure *f)
{
    Guard guard;
    if (!GUARDED(&guard, &v->arena)) {
        tessi_failf(f, TESS_ERROR_MEMORY, "out of memory while compiling");
        return NULL;
    }
    tessi_guard_arena(&guard, &first->arena);
    return tessi_gpu_code(p, general_variant(p, v, first, form), c, form, f);
}

/* Whoever holds the lock of the first variant waits for that of no other. */
static const GpuCode *general_code(tess_program *p, Variant *v, GpuContext *c,
                                   const int64_t *params, Failure *f)
{
    GpuGeneral *g = v->gpu_general;
    unsigned form = GPU_GENERAL;
    memcpy(g->params, params, g->n_own * sizeof *params);
    if (!tessi_loop_fits_32(g->loops, g->params))
        form |= GPU_WIDE;
    Variant *first = first_variant(p, v);
    if (first != v)
        mtx_lock(&first->lock);
    const GpuCode *code = guarded_code(p, v, first, c, form, f);
    if (first != v)
        mtx_unlock(&first->lock);
    return code;
}

/* General kernels while those of this form are compiled by a thread, unless they are in the cache. */
static const GpuCode *meanwhile(tess_program *p, Variant *v, GpuContext *c, unsigned form,
                                const int64_t *params, Failure *f)
{
    GpuCode *code = tessi_gpu_code_print(p, v, c, form, f);
    if (!code)
        return NULL;
    if (tessi_gpu_code_load(p, code, true, f)) {
        tessi_gpu_code_add(v, code);
        return code;
    }
    const GpuCode *general = f->status ? NULL : general_code(p, v, c, params, f);
    if (!general) {
        tessi_gpu_code_free(code);
        return NULL;
    }
    return start(p, v, code, f) ? general : NULL;
}

const GpuCode *tessi_gpu_code_now(tess_program *p, Variant *v, GpuContext *c, unsigned form,
                                  const int64_t *params, Failure *f)
{
    const bool always = p->options.general == TESS_GENERAL_ALWAYS;
    const GpuCode *there = always ? NULL : tessi_gpu_code_find(v, c, form);
    if (there)
        return there;
    if (!can_be_general(p, v, form, f))
        return f->status ? NULL : tessi_gpu_code(p, v, c, form, f);
    if (always)
        return general_code(p, v, c, params, f);
    for (GpuCompilation **k = &v->gpu_general->compilations; *k; k = &(*k)->next)
        if ((*k)->code->context == c && (*k)->code->form == form)
            return atomic_load(&(*k)->done) ? install(v, k, f) : general_code(p, v, c, params, f);
    return meanwhile(p, v, c, form, params, f);
}

const int64_t *tessi_gpu_params(const Variant *v, const GpuCode *code, const int64_t *params,
                                Arena *arena)
{
    if (!(code->form & GPU_GENERAL))
        return params;
    const GpuGeneral *g = v->gpu_general;
    int64_t *all = ARENA_NEW_ARRAY(arena, int64_t, g->n_params);
    memcpy(all, params, g->n_own * sizeof *all);
    memcpy(all + g->n_own, g->params + g->n_own, (g->n_params - g->n_own) * sizeof *all);
    return all;
}

void tessi_gpu_general_forget(Variant *v)
{
    while (v->gpu_general && v->gpu_general->compilations) {
        GpuCompilation *k = v->gpu_general->compilations;
        v->gpu_general->compilations = k->next;
        free_compilation(k);
    }
}
