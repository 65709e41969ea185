/* Code found without a plan. What a run calls follows from the program's text, what it was compiled with and the
 * machine: a note in the cache, named by a hash of all these, says which text of C that gave. So a run whose code lies
 * there need not plan, lower and print to find its name (docs/decisions/061-warm-runs.md).
 *
 * The note is of use to the very library alone that wrote it: its build, as the linker counts it, is part of the name.
 */
#include <stdlib.h>
#include <string.h>

#include "api/general.h"
#include "api/host.h"
#include "rt/build.h"
#include "rt/clock.h"
#include "rt/kernel.h"

#define SUFFIX ".known"

/* What the note holds; the name of the function, with its NUL, is behind it. */
typedef struct Note {
    Digest text;      /* of C */
    Digest interface; /* of what the planned graph takes and gives */
    uint64_t length;  /* of the text */
    double few_points;
} Note;

/* ---- The key ----------------------------------------------------------------------------------------------------- */

static void add_text(CacheKey *k, const char *s)
{
    const uint8_t is_there = s != NULL;
    tessi_cache_key_add(k, &is_there, 1);
    if (s)
        tessi_cache_key_add_text(k, s);
}

static void add_number(CacheKey *k, double x)
{
    tessi_cache_key_add(k, &x, sizeof x);
}

/* The front takes nothing of such numbers. */
static bool is_of_run(const Variant *v, const char *name)
{
    VEC_FOREACH (const TScalar, s, &v->typed->scalars)
        if (tessi_streq(s->name, name))
            return true;
    return false;
}

/* What the front goes by beside the text: FrontOptions, and which constants are known. */
static void add_front(CacheKey *k, const tess_program *p, const Variant *v)
{
    const tess_options *o = &p->options;
    add_text(k, p->name);
    add_text(k, o->border);
    add_number(k, o->forma);
    add_number(k, (double)o->fp);
    VEC_FOREACH (const FrontConstant, c, &v->constants) {
        if (is_of_run(v, c->name))
            continue;
        add_text(k, c->name);
        add_number(k, c->value);
    }
    add_text(k, NULL);
    add_number(k, v->is_packed);
    add_number(k, p->types.n);
    VEC_FOREACH (const FrontType, t, &p->types) {
        add_text(k, t->name);
        add_number(k, t->type);
        add_number(k, t->n_fields);
    }
    add_number(k, (double)o->n_nodata);
    for (size_t i = 0; i < o->n_nodata; i++) {
        add_text(k, o->nodata[i].name);
        add_number(k, o->nodata[i].value);
    }
}

/* What the planner goes by beside the graph. */
static bool add_plan(CacheKey *k, tess_program *p, Arena *a)
{
    Failure ignored;
    Text machine = tessi_text_new(a);
    if (!tessi_pass_machine_text(p, p->backend, &machine, &ignored))
        return false;
    add_text(k, tessi_text_str(&machine));
    add_text(k, p->options.plan);
    add_number(k, p->options.threads);
    add_number(k, (double)p->options.effort);
    return true;
}

/* False when there is none: of builds that are not told from others. */
static bool key_of(tess_program *p, const Variant *v, Arena *a, CacheKey *k)
{
    RtBuild build;
    if (!tessi_build_identity(&build))
        return false;
    *k = tessi_cache_key();
    tessi_cache_key_add(k, build.at, build.n);
    VEC_FOREACH (const SourceFile, file, &v->ast->sources->files) {
        add_text(k, file->name);
        add_number(k, (double)file->n);
        tessi_cache_key_add(k, file->text, file->n);
    }
    add_front(k, p, v);
    return add_plan(k, p, a);
}

static void add_images(CacheKey *k, const Graph *g, bool results)
{
    const uint32_t n = results ? g->outputs.n : g->inputs.n;
    add_number(k, n);
    for (uint32_t i = 0; i < n; i++) {
        const Image *image = results ? &g->outputs.at[i] : &g->inputs.at[i];
        add_text(k, image->name);
        add_number(k, image->n_dims);
        add_number(k, image->channels.n);
    }
}

/* Of what is handed to the code and in which order. */
static Digest interface_of(const Graph *g)
{
    CacheKey k = tessi_cache_key();
    add_images(&k, g, false);
    add_images(&k, g, true);
    add_number(&k, g->params.n);
    VEC_FOREACH (const Param, param, &g->params)
        add_text(&k, param->name);
    add_number(&k, g->scalars.n);
    VEC_FOREACH (const Scalar, s, &g->scalars) {
        add_text(&k, s->name);
        add_number(&k, s->type);
    }
    return tessi_hasher_end(&k.hasher);
}

/* ---- Finding and keeping ----------------------------------------------------------------------------------------- */

/* Programs whose graph is given are parts of others, which ask for plans. */
static bool can_be_known(const tess_program *p)
{
    return p->options.general == TESS_GENERAL_NEVER && !tessi_is_graph_text(p);
}

static bool take(tess_program *p, Variant *v, const char *data, size_t n)
{
    Note note;
    if (n <= sizeof note || data[n - 1] != '\0')
        return false;
    memcpy(&note, data, sizeof note);
    const Digest of_graph = interface_of(v->graph);
    const CodeName code = { note.text, (size_t)note.length, data + sizeof note };
    if (memcmp(&of_graph, &note.interface, sizeof of_graph) != 0
        || !tessi_code_recall(p, &code, &v->module, &v->entry))
        return false;
    v->few_points = note.few_points;
    v->is_known = v->module_cached = true;
    return true;
}

static bool find(tess_program *p, Variant *v, Arena *a)
{
    Guard guard;
    CacheKey key;
    size_t n;
    if (!GUARDED(&guard, a) || !key_of(p, v, a, &key))
        return false;
    char *data = tessi_cache_read(&p->cache, key, SUFFIX, &n);
    const bool found = data && take(p, v, data, n);
    free(data);
    return found;
}

static void open_cache(tess_program *p)
{
    mtx_lock(&p->lock);
    tessi_open_cache(p);
    mtx_unlock(&p->lock);
}

bool tessi_known_find(const Run *run)
{
    Variant *v = run->v;
    tess_timing *timing = &run->a->timing;
    if (!v->is_known) {
        if (run->wants_plan || v->entry || v->plan || v->begun || !can_be_known(run->p)
            || !tessi_run_fits_stored(run))
            return false;
        const double start = tessi_clock_ms();
        Arena a;
        open_cache(run->p);
        tessi_arena_init(&a, NULL, NULL);
        const bool found = run->p->cache.dir && find(run->p, v, &a);
        tessi_arena_dispose(&a);
        if (!found)
            return false;
        v->compile_ms = tessi_clock_ms() - start;
    }
    timing->front_ms = v->front_ms;
    timing->compile_ms = v->compile_ms;
    timing->compile_cached = true;
    return true;
}

static void keep(tess_program *p, const Variant *v, Arena *a)
{
    Guard guard;
    CacheKey key;
    if (!GUARDED(&guard, a) || !key_of(p, v, a, &key))
        return;
    Note note;
    memset(&note, 0, sizeof note);
    note.text = tessi_kernel_digest(v->c_text);
    note.interface = interface_of(v->graph);
    note.length = strlen(v->c_text);
    note.few_points = v->few_points;
    Text data = tessi_text_new(a);
    tessi_text_addn(&data, (const char *)&note, sizeof note);
    const char *function = tessi_code_function(v->loops, a);
    tessi_text_addn(&data, function, strlen(function) + 1);
    tessi_cache_insert(&p->cache, key, SUFFIX, data.at, data.n);
}

/* Sums by transforms are compared with others than those as written, which takes the plan. */
void tessi_known_keep(tess_program *p, const Variant *v)
{
    if (!can_be_known(p) || !v->c_text || tessi_has_transforms(v->plan) || !p->cache.dir)
        return;
    Arena a;
    tessi_arena_init(&a, NULL, NULL);
    keep(p, v, &a);
    tessi_arena_dispose(&a);
}
