/* Executes loop programs statement by statement, with every check the loop language promises to pass. */
#include "interp/loop_interp.h"

#include <stdlib.h>
#include <string.h>

#include "interp/loop_run.h"
#include "loop/loop_repeat.h"

/* ---- Variables ------------------------------------------------------------------------------- */

/* All lanes, of which the variable may be one that they are computed from. */
static bool fetch(Run *r, LExprId id, Value *to)
{
    Operand v;
    const uint32_t n = tessi_run_values(r, id, &v);
    for (uint32_t k = 0; k < n; k++)
        to[k] = v.at[k * v.step];
    return n > 0;
}

/* Where a row is; the vector there is fetched. */
static bool define_row(Run *r, const LStmt *s)
{
    const LExpr *e = tessi_lexpr(r->p, s->a);
    Value *place = tessi_run_vector(r, s->var);
    Operand here;
    int64_t index[LOOP_MAX_DIMS];
    if (!tessi_run_values(r, s->a, &here) || !tessi_run_index(r, e->arg, e->n_args, index))
        return false;
    for (int d = 0; d < e->n_args; d++)
        place[d] = tessi_value_int(index[d]);
    place[LOOP_MAX_DIMS] = tessi_value_int(e->buffer.v);
    return true;
}

static bool define(Run *r, const LStmt *s)
{
    const LVar *x = &r->p->vars.at[s->var.v];
    if (!x->lanes)
        return tessi_run_value(r, s->a, &r->var[s->var.v]);
    Value *to = tessi_run_vector(r, s->var);
    const LExpr *e = tessi_lexpr(r->p, s->a);
    if (x->is_both)
        return fetch(r, e->arg[0], to) && fetch(r, e->arg[1], to + BOTH_APART);
    return x->is_row ? define_row(r, s) : fetch(r, s->a, to);
}

/* ---- Statements ------------------------------------------------------------------------------ */

static bool run_block(Run *r, const LBlock *block);

static bool run_for(Run *r, const LStmt *s)
{
    Value from, to;
    if (!tessi_run_value(r, s->a, &from) || !tessi_run_value(r, s->b, &to))
        return false;
    if (s->least && to.i - from.i < (int64_t)s->least)
        return tessi_failf(r->failure, TESS_ERROR_INTERNAL,
                           "function '%s': the loop over '%s' runs from %lld to %lld, less than %u",
                           r->function->name, r->p->vars.at[s->var.v].name, (long long)from.i,
                           (long long)to.i, s->least);
    bool checked = s->flags & (LFOR_PARALLEL | LFOR_SIMD);
    ActiveLoop *loop = &r->loops[r->n_loops];
    if (checked) {
        *loop = (ActiveLoop){ .execution = ++r->n_executions };
        r->loop_stmt[r->n_loops++] = s;
    }
    bool good = true;
    const int64_t step = s->lanes ? s->step * tessi_loop_lane_count(r->p, s->lanes) : s->step;
    for (int64_t i = from.i; good && i < to.i;) {
        loop->iteration += checked;
        r->var[s->var.v].i = i;
        if (s->flags & LFOR_THREAD && s->axis == 0)
            r->thread = i;
        good = run_block(r, &s->body);
        if (!tessi_add_i64(i, step, &i))
            break;
    }
    r->n_loops -= checked;
    return good;
}

/* A store of what the element has already is no race of a kernel's threads. */
static TouchKind kind_of_store(const Run *r, const LoopBuffer *b, int64_t element, const void *has,
                               const void *bytes, size_t n)
{
    const bool kernel = r->n_loops && r->loop_stmt[0]->flags & (LFOR_GRID | LFOR_THREAD);
    const bool same = tessi_loop_buffer_is_stored(b, element) && !memcmp(has, bytes, n);
    return kernel && same ? TOUCH_SAME : TOUCH_WRITE;
}

/* Stores v there. */
static bool put(Run *r, const LStmt *s, const int64_t *index, Value v)
{
    char bytes[sizeof v];
    LoopBuffer *b = tessi_run_buffer(r, s->buffer);
    const ScalarType t = b->buffer->type;
    unsigned char *at;
    const int64_t element = tessi_loop_buffer_element(b, index, &at);
    if (element < 0)
        return tessi_run_fail_outside(r, b, index, "the store to");
    if (s->kind == LSTMT_ADD && !tessi_loop_buffer_is_stored(b, element))
        return tessi_run_fail_at(r, b, index, "the addition to", "comes before any store to it");
    if (s->kind == LSTMT_ADD)
        v = tessi_eval(OP_ADD, tessi_value_type(t), (Value[]){ tessi_load_element(t, at), v });
    const size_t n = tessi_type_info(t)->bytes;
    tessi_store_element(t, bytes, v);
    if (!tessi_run_touch(r, b, element, index,
                         s->atomic ? TOUCH_ADD : kind_of_store(r, b, element, at, bytes, n)))
        return false;
    memcpy(at, bytes, n);
    tessi_loop_buffer_note_store(b, element);
    return true;
}

/* Values, and the place of the first of them, are known before any is stored. */
static bool run_store(Run *r, const LStmt *s)
{
    const bool is_vector = r->buffers[s->buffer.v].buffer->lanes;
    int64_t index[LOOP_MAX_DIMS + 1], none = 0;
    Operand v;
    const uint32_t n = tessi_run_values(r, s->a, &v);
    if (!n || !tessi_run_index(r, s->index, s->n_index, index))
        return false;
    int64_t *along = is_vector ? &index[s->n_index] : s->n_index ? &index[s->n_index - 1] : &none;
    if (is_vector)
        *along = 0;
    const int64_t apart = is_vector ? 1 : tessi_store_apart(s);
    for (uint32_t k = 0; k < n; k++, *along += apart)
        if (!put(r, s, index, v.at[k * v.step]))
            return false;
    return true;
}

/* Elements from `from` on into `to`, one after another; one of them is a line. */
static bool run_move(Run *r, const LStmt *s)
{
    LoopBuffer *to = &r->buffers[s->buffer.v], *from = &r->buffers[s->other.v];
    int64_t index[LOOP_MAX_DIMS], k;
    const bool takes = tessi_loop_is_line(r->p, s->buffer);
    const LBufferId some = takes ? s->other : s->buffer;
    const uint32_t channels = tessi_loop_channels(r->p, some);
    uint32_t channel = channels > 1 ? r->p->buffers.at[some.v].channel : 0;
    const LBuffer *line = (takes ? to : from)->buffer, *other = (takes ? from : to)->buffer;
    const uint32_t held = tessi_loop_line_holds(line->type, other->type); /* by one of the line */
    const int64_t n = (takes ? to : from)->size[0] * held;
    const size_t bytes = tessi_type_info(other->type)->bytes;
    int64_t in_line;
    const int64_t *at = takes ? &in_line : index, *source = takes ? index : &in_line;
    if (!tessi_run_index(r, s->index, s->n_index, index))
        return false;
    tessi_run_buffer(r, s->buffer);
    tessi_run_buffer(r, s->other);
    for (k = 0; k < n; k++) {
        in_line = k / held;
        *(takes ? &from : &to) = &r->buffers[tessi_loop_channel(r->p, some, channel).v];
        const size_t part = (size_t)(k % held) * bytes;
        unsigned char *is, *write;
        int64_t read = tessi_loop_buffer_element(from, source, &is);
        int64_t written = tessi_loop_buffer_element(to, at, &write);
        if (read < 0 || written < 0)
            return tessi_run_fail_outside(r, takes ? from : to, index, "the move of");
        if (from->stored) {
            if (!tessi_loop_buffer_is_stored(from, read))
                return tessi_run_fail_at(r, from, source, "the move of",
                                         "comes before any store to it");
            if (!tessi_run_touch(r, from, read, source, TOUCH_READ))
                return false;
        }
        *(takes ? &write : &is) += part;
        if (!tessi_run_touch(r, to, written, at, kind_of_store(r, to, written, write, is, bytes)))
            return false;
        memcpy(write, is, bytes);
        tessi_loop_buffer_note_store(to, written);
        channel = (channel + 1) % channels;
        index[s->n_index - 1] += channel == 0;
    }
    return true;
}

/* The value is asked of the thread farther on, which stored it in a loop before. */
static bool run_shift(Run *r, const LStmt *s)
{
    const int64_t thread = r->thread, lane = thread % LOOP_WARP + s->step;
    Value v;
    if (lane >= 0 && lane < LOOP_WARP)
        r->thread += s->step;
    const bool good = tessi_run_value(r, s->a, &v);
    int64_t index[LOOP_MAX_DIMS + 1] = { 0 };
    r->thread = thread;
    return good && tessi_run_index(r, s->index, s->n_index, index) && put(r, s, index, v);
}

static bool run_product(Run *r, const LStmt *s)
{
    const LExpr *rows = tessi_lexpr(r->p, s->a), *words = tessi_lexpr(r->p, s->b);
    const int64_t lane = r->thread % LOOP_WARP;
    int64_t at[LOOP_MAX_DIMS], row[LOOP_MAX_DIMS], word[LOOP_MAX_DIMS];
    if (!tessi_run_index(r, s->index, 1, at) || !tessi_run_index(r, rows->arg, 2, row)
        || !tessi_run_index(r, words->arg, 1, word))
        return false;
    LoopBuffer *sums = tessi_run_buffer(r, s->buffer);
    for (int64_t i = 0; i < PRODUCT_SUMS; i++, at[0]++) {
        const int64_t y = row[0] + lane / 4 + i / 2 * s->step;
        const int64_t column = word[0] + PRODUCT_WORDS * (lane % 4 * 2 + i % 2);
        Value sum, bytes, weights;
        unsigned char *to = NULL;
        if (!tessi_run_load(r, s->buffer, at, &sum)
            || !tessi_run_touch(r, sums, tessi_loop_buffer_element(sums, at, &to), at, TOUCH_WRITE))
            return false;
        for (int64_t k = 0; k < PRODUCT_WORDS; k++) {
            if (!tessi_run_load(r, rows->buffer, (const int64_t[]){ y, row[1] + k }, &bytes)
                || !tessi_run_load(r, words->buffer, (const int64_t[]){ column + k }, &weights))
                return false;
            sum = tessi_eval(OP_DOT, TYPE_U32, (const Value[]){ bytes, weights, sum });
        }
        tessi_store_element(TYPE_U32, to, sum);
    }
    return true;
}

typedef struct SortItem {
    int64_t key;
    Value value;
} SortItem;

/* An integer that orders like the value: for reals -inf .. -0 < +0 .. inf < every NaN. */
static int64_t sort_key(ScalarType t, Value v)
{
    if (!tessi_is_real(t)) /* of uint64, in the order of its bits */
        return t == TYPE_U64 ? v.i ^ INT64_MIN : v.i;
    if (v.f != v.f)
        return INT64_MAX;
    int64_t bits;
    memcpy(&bits, &v.f, sizeof bits);
    return bits < 0 ? bits ^ INT64_MAX : bits;
}

static int compare_items(const void *a, const void *b)
{
    int64_t x = ((const SortItem *)a)->key, y = ((const SortItem *)b)->key;
    return (x > y) - (x < y);
}

static bool run_sort(Run *r, const LStmt *s)
{
    LoopBuffer *b = &r->buffers[s->buffer.v];
    ScalarType t = b->buffer->type;
    Value n;
    if (!tessi_run_value(r, s->a, &n))
        return false;
    int64_t last = n.i - 1;
    if (n.i < 0 || n.i > b->size[0])
        return tessi_run_fail_outside(r, b, &last, "the sort up to");
    SortItem *items = calloc((size_t)n.i + 1, sizeof *items);
    if (!items)
        return tessi_failf(r->failure, TESS_ERROR_MEMORY, "not enough memory to sort");
    bool good = true;
    for (int64_t i = 0; good && i < n.i; i++) {
        good = tessi_loop_buffer_is_stored(b, i)
               || tessi_run_fail_at(r, b, &i, "the sort of", "comes before any store to it");
        good = good && tessi_run_touch(r, b, i, &i, TOUCH_WRITE);
        items[i].value = tessi_load_element(t, b->data + i * b->stride[0]);
        items[i].key = sort_key(t, items[i].value);
    }
    qsort(items, (size_t)n.i, sizeof *items, compare_items);
    for (int64_t i = 0; good && i < n.i; i++)
        tessi_store_element(t, b->data + i * b->stride[0], items[i].value);
    free(items);
    return good;
}

static bool run_stmt(Run *r, const LStmt *s)
{
    Value v;
    switch (s->kind) {
    case LSTMT_FOR: return run_for(r, s);
    case LSTMT_IF: return tessi_run_value(r, s->a, &v) && run_block(r, v.i ? &s->body : &s->orelse);
    case LSTMT_LET:
    case LSTMT_VAR:
    case LSTMT_SET: return define(r, s);
    case LSTMT_STORE:
    case LSTMT_ADD: return run_store(r, s);
    case LSTMT_LOCAL: r->buffers[s->buffer.v].life++; return true;
    case LSTMT_MOVE: return run_move(r, s);
    case LSTMT_SHIFT: return run_shift(r, s);
    case LSTMT_PRODUCT: return run_product(r, s);
    case LSTMT_SORT: return run_sort(r, s);
    case LSTMT_PREFETCH:
    case LSTMT_COMMENT: return true;
    }
    return false;
}

static bool run_block(Run *r, const LBlock *block)
{
    for (uint32_t i = 0; i < block->n; i++)
        if (!run_stmt(r, block->at[i]))
            return false;
    return true;
}

/* ---- Preparation ----------------------------------------------------------------------------- */

static bool size_of(Run *r, LExprId id, const char *of, int64_t *n)
{
    Value v;
    if (!tessi_run_value(r, id, &v))
        return false;
    *n = v.i;
    return v.i >= 1
           || tessi_failf(r->failure, TESS_ERROR_ARGUMENT, "a size of '%s' is %lld",
                          tessi_run_shown(of), (long long)v.i);
}

static bool same_size(Run *r, LExprId a, LExprId b)
{
    Value x, y;
    if (!tessi_run_value(r, a, &x) || !tessi_run_value(r, b, &y))
        return false;
    return x.i == y.i
           || tessi_failf(r->failure, TESS_ERROR_ARGUMENT,
                          "images that are computed with each other have %lld and %lld points",
                          (long long)x.i, (long long)y.i);
}

static bool check_image(Run *r, const LImage *im, const InterpImage *given)
{
    for (int d = 0; d < im->n_dims; d++) {
        int64_t n;
        if (!size_of(r, im->size[d], im->name, &n))
            return false;
        if (n != given->size[d])
            return tessi_failf(r->failure, TESS_ERROR_ARGUMENT,
                               "image '%s' has size %lld where the program says %lld",
                               tessi_run_shown(im->name), (long long)given->size[d], (long long)n);
    }
    return true;
}

static void bind_image(LoopBuffer *b, const LImage *im, const InterpImage *given)
{
    b->data = (unsigned char *)given->data + im->channel_offset[b->buffer->channel];
    for (int d = 0; d < im->n_dims; d++)
        b->stride[d] = given->stride_bytes[d];
    if (b->buffer->flat)
        b->stride[im->n_dims - 1] = tessi_type_info(b->buffer->type)->bytes;
}

/* Threads of the widest block. */
static uint32_t most_threads(const LoopProgram *p)
{
    uint32_t most = 1;
    VEC_FOREACH (const LFunction, f, &p->functions)
        most = f->block[0] > most ? f->block[0] : most;
    return most;
}

/* Channels share the shadow of the buffer that all of the image are, where there is one. */
static void share_shadows(Run *r)
{
    for (uint32_t i = 1; i < r->p->buffers.n; i++) {
        const LBuffer *flat = &r->p->buffers.at[i];
        for (uint32_t k = 1; flat->flat && flat->kind == LBUF_OUTPUT && k < r->p->buffers.n; k++) {
            const LBuffer *b = &r->p->buffers.at[k];
            if (b->kind != LBUF_OUTPUT || b->image != flat->image || b->flat)
                continue;
            r->buffers[k].flat = &r->buffers[i];
            r->buffers[k].channels = r->p->outputs.at[b->image].n_channels;
        }
    }
}

static bool make_buffers(Run *r)
{
    const uint32_t threads = most_threads(r->p);
    uint64_t room = r->args->memory_limit_bytes ? r->args->memory_limit_bytes : UINT64_MAX;
    for (uint32_t i = 1; i < r->p->buffers.n; i++) {
        const LBuffer *lb = &r->p->buffers.at[i];
        LoopBuffer *b = &r->buffers[i];
        uint64_t bytes = tessi_type_info(lb->type)->bytes;
        b->buffer = lb;
        b->lanes = lb->lanes ? tessi_loop_lane_count(r->p, lb->lanes) : 1;
        b->copies = lb->held ? threads : 1;
        for (int d = 0; d < lb->n_dims; d++) {
            if (!size_of(r, lb->size[d], lb->name, &b->size[d]))
                return false;
            bytes = bytes > UINT64_MAX / (uint64_t)b->size[d] ? UINT64_MAX
                                                              : bytes * (uint64_t)b->size[d];
        }
        if (lb->kind == LBUF_INPUT)
            bind_image(b, &r->p->inputs.at[lb->image], &r->args->inputs[lb->image]);
        if (lb->kind == LBUF_OUTPUT)
            bind_image(b, &r->p->outputs.at[lb->image], &r->args->outputs[lb->image]);
        bool counts = lb->kind == LBUF_TEMP;
        if ((counts && bytes > room) || !tessi_loop_buffer_make(b))
            return tessi_failf(r->failure, TESS_ERROR_MEMORY, "not enough memory for '%s'",
                               tessi_run_shown(lb->name));
        room -= counts ? bytes : 0;
    }
    share_shadows(r);
    return true;
}

/* A truth value in memory; one that was never stored is a fault of the program. */
static bool holds(void *user, LBufferId condition)
{
    Run *r = user;
    const LoopBuffer *b = &r->buffers[condition.v];
    if (tessi_loop_buffer_is_stored(b, 0))
        return *b->data != 0;
    return !tessi_failf(r->failure, TESS_ERROR_INTERNAL, "the condition '%s' was never stored",
                        b->buffer->name);
}

static bool run_functions(Run *r)
{
    const InterpArgs *args = r->args;
    LoopOrder order = tessi_loop_order(r->p, r->arena, args->params, args->scalars);
    order.holds = holds;
    order.user = r;
    order.ends = args->ends;
    for (uint32_t i; tessi_loop_order_next(&order, &i);) {
        r->function = &r->p->functions.at[i];
        if (!run_block(r, &r->function->body))
            return false;
    }
    return !r->failure->status;
}

static bool run_program(Run *r)
{
    const LoopProgram *p = r->p;
    int64_t n;
    for (uint32_t i = 0; i < p->inputs.n; i++)
        if (!check_image(r, &p->inputs.at[i], &r->args->inputs[i]))
            return false;
    for (uint32_t i = 0; i < p->outputs.n; i++)
        if (!check_image(r, &p->outputs.at[i], &r->args->outputs[i]))
            return false;
    VEC_FOREACH (LExprId, size, &p->must_be_positive)
        if (!size_of(r, *size, p->name, &n))
            return false;
    for (uint32_t i = 0; i < p->must_be_equal.n; i += 2)
        if (!same_size(r, p->must_be_equal.at[i], p->must_be_equal.at[i + 1]))
            return false;
    if (!make_buffers(r))
        return false;
    return run_functions(r);
}

bool tessi_interpret_loops(const LoopProgram *p, const InterpArgs *args, Failure *f)
{
    Arena *a = args->arena ? args->arena : p->arena;
    Failure failure = { 0 }; /* what f says before is none of ours, and f may be NULL */
    Run r = { .p = p,
              .args = args,
              .failure = &failure,
              .arena = a,
              .buffers = ARENA_NEW_ARRAY(a, LoopBuffer, p->buffers.n),
              .var = ARENA_NEW_ARRAY(a, Value, p->vars.n),
              .vector = ARENA_NEW_ARRAY(a, Value *, p->vars.n),
              .code = ARENA_NEW_ARRAY(a, EvalCode, p->exprs.n),
              .node = ARENA_NEW_ARRAY(a, EvalNode, p->exprs.n) };
    bool good = run_program(&r);
    for (uint32_t i = 1; i < p->buffers.n; i++)
        tessi_loop_buffer_free(&r.buffers[i]);
    if (f && failure.status)
        *f = failure;
    return good;
}
