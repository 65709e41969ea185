/* The row of the strip machine: programs executed by the library itself, on the processor, without a compiler. */
#include <string.h>

#include "api/backend.h"
#include "api/embedded.h"
#include "rt/clock.h"
#include "rt/env.h"

static bool always(tess_program *p)
{
    (void)p;
    return true;
}

/* ---- The machine ------------------------------------------------------------------------------- */

/* The line sets a key that is set otherwise for the strip machine. */
static bool is_replaced(const char *line)
{
    const size_t key = strcspn(line, " \n");
    for (const char *own = tessi_embedded_strips; *own; own += strcspn(own, "\n"), own += *own != 0)
        if (*own != '#' && strcspn(own, " \n") == key && strncmp(own, line, key) == 0)
            return true;
    return false;
}

static bool describe(tess_program *p, Text *out, Failure *f)
{
    Text host = tessi_text_new(out->arena);
    if (!tessi_host_describe(p, &host, f))
        return false;
    for (const char *line = tessi_text_str(&host); *line;) {
        const size_t n = strcspn(line, "\n");
        const char *next = line + n + (line[n] != 0);
        if (!is_replaced(line))
            tessi_text_addf(out, "%.*s\n", (int)n, line);
        line = next;
    }
    tessi_text_add(out, tessi_embedded_strips);
    return true;
}

/* ---- Runs -------------------------------------------------------------------------------------- */

/* Those of the program, or where it has another row those made in the place of that. */
static const LoopProgram *loops_of(const tess_program *p, const Variant *v)
{
    return p->backend == &tessi_backend_vm ? v->loops : v->other_loops;
}

static bool load(tess_program *p, Variant *v, Failure *f)
{
    if (v->vm)
        return true;
    const LoopProgram *loops = loops_of(p, v);
    const char *refused = tessi_vm_refuses(loops);
    if (refused)
        return tessi_failf(f, TESS_ERROR_PROGRAM, "%s", refused);
    const double start = tessi_clock_ms();
    VmCode *code = tessi_vm_compile(&v->arena, loops, tessi_vm_kernels());
    if (tessi_vm_lacks(code))
        return tessi_failf(f, TESS_ERROR_UNSUPPORTED, "%s", tessi_vm_lacks(code));
    v->vm = code;
    tessi_pass_note(&v->times, &v->arena, "strips", start);
    v->compile_ms = tessi_clock_ms() - start;
    return true;
}

static bool prepare(Run *run)
{
    return tessi_run_on_host(run) && tessi_run_passes(run, load);
}

static bool bind(const Run *run, Binding *b)
{
    return tessi_bind(run->p, run->v, loops_of(run->p, run->v), run->a, run->arena, b,
                      &run->a->failure);
}

static bool launch(const Run *run, const Binding *b)
{
    const InterpArgs args = { .params = b->params,
                              .scalars = b->scalars,
                              .inputs = b->inputs,
                              .outputs = b->outputs,
                              .arena = run->arena,
                              .ends = run->a->ends };
    const double start = tessi_clock_ms();
    const VmCode *code = run->v->vm;
    const int threads = run->p->options.threads ? run->p->options.threads : tessi_cpu_count();
    const int64_t bytes = tessi_vm_workspace_bytes(code, b->params);
    const bool room = bytes <= run->a->workspace_bytes || tessi_host_workspace(run->a, bytes)
                      || tessi_failf(&run->a->failure, TESS_ERROR_MEMORY,
                                     "out of memory for the intermediate images");
    const bool ok = room && tessi_vm_run(code, &args, run->a->workspace, threads, &run->a->failure);
    run->a->timing.run_ms = tessi_clock_ms() - start;
    return ok;
}

/* ---- The row ----------------------------------------------------------------------------------- */

const Backend tessi_backend_vm = {
    .target = TESS_TARGET_VM,
    .name = "vm",
    .can_run = always,
    .forget = tessi_host_forget,
    .describe = describe,
    .prepare = prepare,
    .bind = bind,
    .launch = launch,
    .last_pass = "simplify",
    .time = tessi_host_time,
};
