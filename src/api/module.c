/* The generated C of a variant as a function in this process. */
#include <stdio.h>
#include <string.h>

#include "api/host.h"
#include "rt/detached.h"
#include "rt/kernel.h"

/* Programs of thousands of stages would keep a compiler busy for minutes at -O3; the bits are the same at any level. */
enum { LARGE_TEXT = 1 << 20, MOST_FLAGS = 4 };

static void note(const tess_program *p, const char *sentence)
{
    if (p->options.note && *sentence)
        p->options.note(p->options.user, sentence);
}

/* The lock is held. */
void tessi_open_cache(tess_program *p)
{
    if (p->has_cache)
        return;
    tessi_cache_open(&p->cache, p->options.cache);
    p->has_cache = true;
    note(p, p->cache.refused.text);
}

static void open_tools(tess_program *p)
{
    tessi_open_cache(p);
    p->host = (RtHost){ p->options.hold, p->options.user };
}

/* No compiler was found: whether there is none at all. */
static void note_absence(tess_program *p)
{
    p->lacks_compiler = tessi_cc_is_absent(p->options.cc);
    if (p->lacks_compiler && p->options.target == TESS_TARGET_AUTO)
        note(p,
             "there is no C compiler (neither cc, gcc nor clang is on PATH), so the strip machine "
             "runs, which is slower than compiled code");
}

/* The C compiler, looked for once a program. The lock is held. */
static bool expect_compiler(tess_program *p)
{
    if (p->has_tool)
        return p->tool.path != NULL;
    open_tools(p);
    const bool found =
        tessi_cc_find_early(p->options.cc, &p->cache, &p->host, &p->tool, &p->trial, &p->no_tool);
    p->has_tool = true;
    if (!found)
        note_absence(p);
    return found;
}

/* The same where nothing has to be tried for it. */
static bool knows_compiler(tess_program *p)
{
    if (p->has_tool)
        return p->tool.path && !p->trial;
    open_tools(p);
    p->has_tool = tessi_cc_find_remembered(p->options.cc, &p->cache, &p->host, &p->tool);
    return p->has_tool;
}

bool tessi_lacks_compiler(tess_program *p, bool ahead)
{
    mtx_lock(&p->lock);
    /* A trial would keep a process from ending that waits for no compiler. */
    if (!ahead)
        expect_compiler(p);
    else if (!knows_compiler(p))
        note_absence(p);
    const bool lacks = p->lacks_compiler;
    mtx_unlock(&p->lock);
    return lacks;
}

static void settle(tess_program *p)
{
    if (p->trial)
        tessi_cc_settle(p->trial, &p->tool, &p->no_tool);
    p->trial = NULL;
}

bool tessi_find_compiler(tess_program *p, Failure *f)
{
    mtx_lock(&p->lock);
    expect_compiler(p);
    settle(p);
    const bool found = p->tool.path != NULL;
    if (!found && f)
        *f = p->no_tool;
    mtx_unlock(&p->lock);
    return found;
}

void tessi_forget_tools(tess_program *p)
{
    settle(p);
    if (p->has_tool)
        tessi_cc_dispose(&p->tool);
    if (p->has_cache)
        tessi_cache_dispose(&p->cache);
}

/* What the text is compiled with, NULL at the end. */
static void set_flags(size_t length, const char *flags[MOST_FLAGS])
{
    int n = 0;
    flags[n++] = "-DTESSERA_ENTRY";
#if defined(__ELF__)
    flags[n++] = "-Wl,-Bsymbolic"; /* our function, whatever the process calls so */
#endif
    if (length > LARGE_TEXT)
        flags[n++] = "-O1";
    flags[n] = NULL;
}

const char *tessi_code_function(const LoopProgram *loops, Arena *a)
{
    return tessi_sprintf(a, "%s_entry", tessi_emit_c_name(loops, a));
}

static bool load_in(Arena *a, const tess_program *p, const LoopProgram *loops, const char *c_text,
                    bool recall, RtModule *module, ModuleEntry *entry, bool *cached, Failure *f)
{
    Guard guard;
    if (!GUARDED(&guard, a))
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory while compiling");
    const char *flags[MOST_FLAGS];
    set_flags(strlen(c_text), flags);
    const char *name = tessi_code_function(loops, a);
    Text log = tessi_text_new(a);
    KernelJob job = { .tool = &p->tool,
                      .cache = &p->cache,
                      .c_text = c_text,
                      .function = name,
                      .flags = flags,
                      .log = &log,
                      .recall = recall };
    RtFunction function;
    if (!tessi_kernel_load(&job, module, &function, cached, f))
        return false;
    *entry = (ModuleEntry)function;
    return true;
}

static bool load_text(const tess_program *p, const LoopProgram *loops, const char *c_text,
                      bool recall, RtModule *module, ModuleEntry *entry, bool *cached, Failure *f)
{
    Arena arena;
    tessi_arena_init(&arena, NULL, NULL);
    const bool ok = load_in(&arena, p, loops, c_text, recall, module, entry, cached, f);
    tessi_arena_dispose(&arena);
    return ok;
}

bool tessi_load_text(const tess_program *p, const LoopProgram *loops, const char *c_text,
                     RtModule *module, ModuleEntry *entry, bool *cached, Failure *f)
{
    return load_text(p, loops, c_text, false, module, entry, cached, f);
}

bool tessi_code_recall(tess_program *p, const CodeName *code, RtModule *module, ModuleEntry *entry)
{
    const char *flags[MOST_FLAGS];
    RtFunction function;
    if (!tessi_knows_compiler(p))
        return false;
    set_flags(code->length, flags);
    KernelJob job = { .tool = &p->tool,
                      .cache = &p->cache,
                      .digest = &code->text,
                      .function = code->function,
                      .flags = flags };
    if (!tessi_kernel_load(&job, module, &function, NULL, NULL))
        return false;
    *entry = (ModuleEntry)function;
    return true;
}

bool tessi_variant_recall(tess_program *p, Variant *v)
{
    return tessi_find_compiler(p, NULL)
           && load_text(p, v->loops, v->c_text, true, &v->module, &v->entry, &v->module_cached,
                        NULL);
}

/* The first code is compiled while it is found out what the compiler takes. The program's lock is held meanwhile:
 * there is no code yet whose runs could wait. */
static bool load_on_trial(tess_program *p, Variant *v)
{
    bool ok = false;
    mtx_lock(&p->lock);
    if (expect_compiler(p) && p->trial) {
        ok =
            tessi_load_text(p, v->loops, v->c_text, &v->module, &v->entry, &v->module_cached, NULL);
        settle(p);
    }
    mtx_unlock(&p->lock);
    return ok;
}

/* Should the compiler take less than was hoped, the code is compiled again. The variant's lock is held. */
bool tessi_variant_load(tess_program *p, Variant *v, Failure *f)
{
    if (v->entry || load_on_trial(p, v))
        return true;
    return tessi_find_compiler(p, f)
           && tessi_load_text(p, v->loops, v->c_text, &v->module, &v->entry, &v->module_cached, f);
}

/* ---- Code that later runs find ------------------------------------------------------------------ */

typedef struct Later {
    const tess_program *p;
    const char *c_text;
} Later;

/* In a process of its own: it shares nothing with this one, not even the compiler that was found. */
static void compile_later(void *user, const RtHost *host)
{
    const Later *later = user;
    const tess_program *p = later->p;
    const char *flags[MOST_FLAGS];
    CcTool tool;
    if (!tessi_cc_find(p->options.cc, &p->cache, host, &tool, NULL))
        return;
    set_flags(strlen(later->c_text), flags);
    tessi_kernel_keep(
        &(KernelJob){ .tool = &tool, .cache = &p->cache, .c_text = later->c_text, .flags = flags },
        NULL);
    tessi_cc_dispose(&tool);
}

bool tessi_variant_begin(tess_program *p, Variant *v)
{
    char name[24];
    Later later = { p, v->c_text };
    mtx_lock(&p->lock);
    tessi_open_cache(p);
    mtx_unlock(&p->lock);
    snprintf(name, sizeof name, "%016llx",
             (unsigned long long)tessi_hash_bytes(0, v->c_text, strlen(v->c_text)));
    return p->cache.dir && tessi_detached_run(name, compile_later, &later);
}

bool tessi_knows_compiler(tess_program *p)
{
    mtx_lock(&p->lock);
    const bool knows = knows_compiler(p);
    mtx_unlock(&p->lock);
    return knows;
}
