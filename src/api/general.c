/* General code in the meantime: a program whose masks have extents that come with the run is compiled for each of
 * them. Until that is done, runs can take code that was compiled once for all extents (loop/lower_general.c); a
 * thread compiles the other meanwhile. The pixels are the same to the bit. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/passes.h"
#include "api/general.h"
#include "api/host.h"
#include "loop/lower.h"

/* The code for these extents, being compiled. The thread reads nothing that changes, and writes only here. */
typedef struct Compilation {
    const tess_program *program;
    const Variant *variant;
    RtModule module;
    ModuleEntry entry;
    bool ok;
    Failure failure;
    RtThread thread;
    atomic_bool done;
} Compilation;

struct General {
    ModuleEntry entry; /* the program's; NULL: there is none for this variant */
    int64_t *params;   /* those behind the program's own */
    uint32_t n_params;
    Compilation *compilation; /* NULL: none, or it is installed */
};

/* ---- The thread ------------------------------------------------------------------------------ */

static int compile(void *user)
{
    Compilation *c = user;
    c->ok = tessi_load_text(c->program, c->variant->loops, c->variant->c_text, &c->module,
                            &c->entry, NULL, &c->failure);
    atomic_store(&c->done, true);
    return 0;
}

static void free_compilation(Compilation *c)
{
    if (!c || tessi_thread_is_lost(&c->thread))
        return;
    tessi_thread_join(&c->thread);
    tessi_module_close(&c->module);
    free(c);
}

static bool start(const tess_program *p, Variant *v, Failure *f)
{
    Compilation *c = calloc(1, sizeof *c);
    if (!c)
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    c->program = p;
    c->variant = v;
    atomic_init(&c->done, false);
    v->general->compilation = c;
    if (!tessi_thread_start(&c->thread, compile, c)) /* no thread to be had: at once, then */
        compile(c);
    return true;
}

/* What the thread made becomes the variant's. */
static bool install(Variant *v, Failure *f)
{
    Compilation *c = v->general->compilation;
    tessi_thread_join(&c->thread);
    const bool ok = c->ok;
    if (ok) {
        v->module = c->module;
        v->entry = c->entry;
        c->module = (RtModule){ 0 };
    } else {
        *f = c->failure;
    }
    v->general->compilation = NULL;
    free_compilation(c);
    return ok;
}

/* ---- The general code ------------------------------------------------------------------------ */

bool tessi_has_transforms(const Plan *plan)
{
    VEC_FOREACH (const PlanGroup, group, &plan->groups)
        if (group->transform)
            return true;
    return false;
}

static bool same_form(const Image *a, const Image *b)
{
    return a->n_dims == b->n_dims && a->channels.n == b->channels.n;
}

/* Both have images of pixels where the other has: runs hand over the same. */
static bool same_forms(const Graph *a, const Graph *b)
{
    for (uint32_t i = 0; i < a->inputs.n; i++)
        if (!same_form(&a->inputs.at[i], &b->inputs.at[i]))
            return false;
    for (uint32_t i = 0; i < a->outputs.n; i++)
        if (!same_form(&a->outputs.at[i], &b->outputs.at[i]))
            return false;
    return true;
}

/* The graph that is planned has small masks written out, point by point. */
static const Graph *rolled_graph(const tess_program *p, Variant *v, Failure *f)
{
    Graph *g = tessi_graph_simplify_rolled(v->lowered, &v->arena, (FpMode)p->options.fp);
    g = tessi_graph_exact_passes(g, &v->arena, v->is_packed);
    const char *fault = tessi_graph_verify(g);
    if (fault)
        tessi_failf(f, TESS_ERROR_INTERNAL, "internal error in pass 'simplify': %s", fault);
    return fault || !same_forms(g, v->graph) ? NULL : g;
}

LoopProgram *tessi_general_loops(const tess_program *p, Variant *v, int64_t **params, uint32_t *n,
                                 Failure *f)
{
    const Graph *g =
        tessi_has_transforms(v->plan) || tessi_is_graph_text(p) ? NULL : rolled_graph(p, v, f);
    if (!g)
        return NULL;
    Plan *plan = tessi_plan_naive(&v->arena, g, v->machine);
    VEC_FOREACH (PlanGroup, group, &plan->groups) {
        if (plan->gpu)
            break;
        tessi_level_set_parallel(group, group->n_dims > 0);
        tessi_level_set_vector(group, group->n_dims > 0);
    }
    GeneralSums *sums = tessi_general_sums(&v->arena, g, plan);
    if (!sums)
        return NULL;
    *n = tessi_general_params(g, sums, NULL);
    *params = ARENA_NEW_ARRAY(&v->arena, int64_t, *n);
    tessi_general_params(g, sums, *params);
    return tessi_pass_check_loops(tessi_lower_general_loops(&v->arena, g, plan, v->machine, sums),
                                  f);
}

/* One a program: its text is the same for all extents, but for programs that also count with them. */
static bool load_general(tess_program *p, Variant *v, const LoopProgram *loops, General *general,
                         Failure *f)
{
    const char *text = tessi_c_text(p, loops, &v->arena);
    mtx_lock(&p->general_lock);
    if (!p->general_text
        && tessi_load_text(p, loops, text, &p->general_module, &p->general_entry, NULL, f)) {
        p->general_text = strdup(text);
        if (!p->general_text)
            tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    }
    const bool ok = p->general_text;
    if (ok && strcmp(p->general_text, text) == 0)
        general->entry = p->general_entry;
    mtx_unlock(&p->general_lock);
    return ok;
}

/* Makes the general code, or the other where there is none or it need not be compiled. */
static bool begin(tess_program *p, Variant *v, Failure *f)
{
    if (!tessi_find_compiler(p, f))
        return false;
    General *general = ARENA_NEW(&v->arena, General);
    const LoopProgram *loops = tessi_general_loops(p, v, &general->params, &general->n_params, f);
    if (!loops)
        return !f->status && tessi_variant_load(p, v, f);
    if (p->options.general == TESS_GENERAL_MEANWHILE && tessi_variant_recall(p, v))
        return true;
    if (!load_general(p, v, loops, general, f))
        return false;
    if (!general->entry)
        return tessi_variant_load(p, v, f);
    v->general = general;
    return true;
}

bool tessi_general_load(tess_program *p, Variant *v, Failure *f)
{
    if (v->entry)
        return true;
    if (p->options.general == TESS_GENERAL_NEVER)
        return tessi_variant_load(p, v, f);
    if (!v->general && !begin(p, v, f))
        return false;
    if (v->entry || p->options.general == TESS_GENERAL_ALWAYS)
        return true;
    const Compilation *c = v->general->compilation;
    if (!c || tessi_thread_is_lost(&c->thread)) /* the first time, or the last one failed */
        return start(p, v, f);
    return !atomic_load(&v->general->compilation->done) || install(v, f);
}

void tessi_general_take(const Variant *v, tess_args *a)
{
    const bool general = !v->entry;
    a->entry = general ? v->general->entry : v->entry;
    a->more_params = general ? v->general->params : NULL;
    a->n_more_params = general ? v->general->n_params : 0;
}

void tessi_general_forget(Variant *v)
{
    if (v->general)
        free_compilation(v->general->compilation);
}
