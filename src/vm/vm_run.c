/* A run of the strip machine: its buffers, its threads, its functions one after the other. */
#include <stdlib.h>
#include <string.h>

#include "tessera.h"

#include "loop/loop_repeat.h"
#include "vm/vm_state.h"

/* ---- Intermediate images ----------------------------------------------------------------------- */

static bool size_of(const VmCode *code, LExprId id, const int64_t *params, int64_t *n)
{
    return tessi_loop_eval_size(code->p, id, params, n) && *n >= 1;
}

/* Fills in strides and elements; false when the bytes are too many to count. */
static bool shape(const VmCode *code, LBufferId id, const int64_t *params, VmBuffer *b,
                  int64_t *bytes)
{
    const LBuffer *lb = &code->p->buffers.at[id.v];
    const bool padded = tessi_loop_is_padded(code->p, id);
    b->bytes = tessi_type_info(lb->type)->bytes;
    b->elements = 1;
    *bytes = b->bytes;
    for (int d = lb->n_dims - 1; d >= 0; d--) {
        int64_t n;
        if (!size_of(code, lb->size[d], params, &n))
            return false;
        b->stride[d] = *bytes;
        b->elements *= n;
        if (padded && d == lb->n_dims - 1)
            n = tessi_loop_pitch(n, lb->type);
        if (!tessi_mul_i64(*bytes, n, bytes))
            return false;
    }
    return true;
}

/* Where each intermediate image lies behind `memory`, those of one slot in one place; the bytes of all, INT64_MAX
 * when they cannot be counted. */
static int64_t place_images(const VmCode *code, const int64_t *params, char *memory,
                            VmBuffer *buffers)
{
    int64_t end = 0;
    for (uint32_t slot = 0; slot <= code->layout.n_slots; slot++) {
        int64_t begin = end;
        for (uint32_t i = 1; i < code->p->buffers.n; i++) {
            VmBuffer ignored, *b = buffers ? &buffers[i] : &ignored;
            int64_t bytes;
            if (code->p->buffers.at[i].kind != LBUF_TEMP || code->layout.slot[i] != slot)
                continue;
            if (slot == 0) /* those that are small have a place each */
                begin = end;
            if (!shape(code, (LBufferId){ i }, params, b, &bytes)
                || !tessi_add_i64(begin, bytes + LAYOUT_PAGE + LAYOUT_SKEW, &bytes))
                return INT64_MAX;
            if (buffers)
                b->data = memory + begin;
            bytes = bytes / LAYOUT_LINE * LAYOUT_LINE;
            end = bytes > end ? bytes : end;
        }
    }
    return end;
}

int64_t tessi_vm_workspace_bytes(const VmCode *code, const int64_t *params)
{
    return place_images(code, params, NULL, NULL);
}

/* ---- The other buffers ------------------------------------------------------------------------- */

static void bind_image(VmBuffer *b, const LBuffer *lb, const LImage *image,
                       const InterpImage *given)
{
    b->bytes = tessi_type_info(lb->type)->bytes;
    b->data = (char *)given->data + image->channel_offset[lb->channel];
    for (int d = 0; d < lb->n_dims; d++)
        b->stride[d] = given->stride_bytes[d];
    if (lb->flat)
        b->stride[lb->n_dims - 1] = b->bytes;
}

static bool make_buffers(VmRun *run, char *workspace, Failure *f)
{
    const VmCode *code = run->code;
    const LoopProgram *p = code->p;
    const int64_t *params = run->args->params;
    int64_t bytes;
    for (uint32_t i = 1; i < p->buffers.n; i++) {
        const LBuffer *lb = &p->buffers.at[i];
        VmBuffer *b = &run->buffers[i];
        if (lb->kind == LBUF_INPUT)
            bind_image(b, lb, &p->inputs.at[lb->image], &run->args->inputs[lb->image]);
        else if (lb->kind == LBUF_OUTPUT)
            bind_image(b, lb, &p->outputs.at[lb->image], &run->args->outputs[lb->image]);
        else if (!shape(code, (LBufferId){ i }, params, b, &bytes))
            return tessi_failf(f, TESS_ERROR_MEMORY, "not enough memory for '%s'", lb->name);
        if (lb->kind == LBUF_TABLE)
            b->data = (char *)code->table[i];
    }
    place_images(code, params, workspace, run->buffers);
    return true;
}

/* ---- Threads ----------------------------------------------------------------------------------- */

static size_t whole_lines(uint64_t bytes)
{
    return (size_t)((bytes + VM_LINE - 1) / VM_LINE * VM_LINE);
}

static void give_values(VmThread *t)
{
    const VmCode *code = t->code;
    const InterpArgs *args = t->run->args;
    for (uint32_t i = 0; i < code->p->params.n; i++)
        if (code->param[i])
            *(int64_t *)t->at[code->param[i]] = args->params[i];
    for (uint32_t i = 0; i < code->p->scalars.n; i++)
        if (code->scalar[i])
            tessi_vm_store_value(t->at[code->scalar[i]], code->p->scalars.at[i].type,
                                 args->scalars[i]);
    VEC_FOREACH (const VmConstant, k, &code->constants)
        tessi_vm_store_value(t->at[k->slot], k->type, k->value);
}

bool tessi_vm_thread_init(VmThread *t, const VmRun *run)
{
    const VmCode *code = run->code;
    const uint32_t n_slots = code->slots.n, n_buffers = code->p->buffers.n;
    const size_t strips = whole_lines(code->strip_bytes), locals = whole_lines(code->local_bytes),
                 frame = whole_lines(code->frame_bytes), at = whole_lines(n_slots * sizeof *t->at),
                 base = whole_lines(n_buffers * sizeof *t->base),
                 taps = whole_lines(code->most_taps * sizeof(double));
    char *m = aligned_alloc(VM_LINE, strips + locals + frame + at + base + 2 * taps + VM_LINE);
    if (!m)
        return false;
    *t = (VmThread){ .run = run, .code = code, .memory = m, .strips = m, .locals = m + strips };
    t->frame = t->locals + locals;
    t->at = (void **)(void *)(t->frame + frame);
    t->base = (char **)(void *)((char *)t->at + at);
    t->rows = (const void **)(void *)((char *)t->base + base);
    t->weights = (char *)t->rows + taps;
    memset(t->frame, 0, frame + at);
    for (uint32_t i = 1; i < n_slots; i++) {
        const VmSlot *s = &code->slots.at[i];
        if (s->kind == VM_SCALAR)
            t->at[i] = t->frame + s->at;
        else if (s->kind == VM_STRIP && s->loop < code->loops.n)
            t->at[i] = t->strips + (size_t)s->at * code->loops.at[s->loop].lanes;
    }
    for (uint32_t i = 1; i < n_buffers; i++)
        t->base[i] = run->buffers[i].data;
    give_values(t);
    return true;
}

void tessi_vm_thread_dispose(VmThread *t)
{
    free(t->memory);
}

/* ---- Runs -------------------------------------------------------------------------------------- */

static bool sizes_are_positive(const VmCode *code, const int64_t *params, Failure *f)
{
    int64_t n = 0;
    VEC_FOREACH (const LExprId, size, &code->p->must_be_positive)
        if (!size_of(code, *size, params, &n))
            return tessi_failf(f, TESS_ERROR_ARGUMENT, "a size of '%s' is %lld", code->p->name,
                               (long long)n);
    return true;
}

static bool holds(void *user, LBufferId condition)
{
    const VmThread *t = user;
    return *t->run->buffers[condition.v].data != 0;
}

/* One after the other, those of repeats turn after turn. */
static void run_functions(VmThread *t)
{
    const InterpArgs *args = t->run->args;
    LoopOrder order = tessi_loop_order(t->code->p, args->arena, args->params, args->scalars);
    order.holds = holds;
    order.user = t;
    order.ends = args->ends;
    for (uint32_t i; tessi_loop_order_next(&order, &i);) {
        t->function = &t->code->functions.at[i];
        tessi_vm_exec(t, t->function->first, t->function->end);
    }
}

bool tessi_vm_run(const VmCode *code, const InterpArgs *args, void *workspace, int threads,
                  Failure *f)
{
    VmRun run = { .code = code,
                  .args = args,
                  .buffers = ARENA_NEW_ARRAY(args->arena, VmBuffer, code->p->buffers.n) };
    VmThread t;
    if (!sizes_are_positive(code, args->params, f) || !make_buffers(&run, workspace, f))
        return false;
    if (!tessi_vm_thread_init(&t, &run))
        return tessi_failf(f, TESS_ERROR_MEMORY, "not enough memory for the strip machine");
    run.team = tessi_vm_team_start(&run, threads);
    run_functions(&t);
    tessi_vm_team_end(run.team);
    tessi_vm_thread_dispose(&t);
    return true;
}
