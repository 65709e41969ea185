/* Executes loop programs statement by statement, with every check the loop language promises to pass. */
#include "interp/loop_interp.h"

#include <stdlib.h>
#include <string.h>

#include "tessera.h"

#include "interp/loop_memory.h"
#include "loop/loop_lanes.h"
#include "loop/loop_repeat.h"

enum {
    BOTH_APART = LOOP_MOST_VECTOR / 4
}; /* the most lanes of 32 bits: where the second of two vectors begins */

typedef struct Run {
    const LoopProgram *p;
    const InterpArgs *args;
    Failure *failure;
    Arena *arena;
    const LFunction *function;
    LoopBuffer *buffers; /* by LBufferId */
    Value *var;          /* by LVarId */
    Value **
        vector; /* by LVarId, of vectors: by lane; of rows: the index of the place, or two vectors */
    int64_t lane; /* of the vector that is computed */
    Value *value; /* by LExprId, of the current evaluation */
    uint64_t *stamp_of, stamp;
    ActiveLoop loops[LOOP_MAX_NESTING];
    const LStmt *loop_stmt[LOOP_MAX_NESTING];
    int n_loops;
    int64_t thread; /* of the block, in a loop of its threads along x */
    uint64_t n_executions;
    uint32_t next_touch_stamp;
} Run;

/* ---- Failures -------------------------------------------------------------------------------- */

static const char *shown(const char *name)
{
    return name ? name : "";
}

/* "function 'f': <what> 'buffer'[3, -1] <why>" */
static bool fail_at(Run *r, const LoopBuffer *b, const int64_t *index, const char *what,
                    const char *why)
{
    Text t;
    tessi_text_init(&t, r->arena);
    for (int d = 0; d < b->buffer->n_dims; d++)
        tessi_text_addf(&t, "%s%lld", d ? ", " : "", (long long)index[d]);
    return tessi_failf(r->failure, TESS_ERROR_INTERNAL, "function '%s': %s '%s'[%s] %s",
                       shown(r->function ? r->function->name : NULL), what, shown(b->buffer->name),
                       tessi_text_str(&t), why);
}

static bool fail_outside(Run *r, const LoopBuffer *b, const int64_t *index, const char *what)
{
    Text t;
    tessi_text_init(&t, r->arena);
    tessi_text_add(&t, "is outside its size");
    for (int d = 0; d < b->buffer->n_dims; d++)
        tessi_text_addf(&t, "%s %lld", d ? " x" : "", (long long)b->size[d]);
    return fail_at(r, b, index, what, tessi_text_str(&t));
}

/* ---- Expressions ----------------------------------------------------------------------------- */

static bool evaluate_once(Run *r, LExprId id, Value *out);

/* Constants and variables are at hand. */
static inline bool evaluate(Run *r, LExprId id, Value *out)
{
    const LExpr *e = tessi_lexpr(r->p, id);
    if (e->kind == LEXPR_CONST)
        *out = e->value;
    else if (e->kind == LEXPR_VAR)
        *out = e->lanes ? r->vector[e->var.v][r->lane] : r->var[e->var.v];
    else
        return evaluate_once(r, id, out);
    return true;
}

/* The buffer, of held ones that of the thread in hand. */
static LoopBuffer *buffer_of(Run *r, LBufferId id)
{
    LoopBuffer *b = &r->buffers[id.v];
    if (b->buffer->held)
        b->copy = (uint64_t)r->thread;
    return b;
}

static bool touch(Run *r, LoopBuffer *b, int64_t element, const int64_t *index, TouchKind kind)
{
    int depth =
        tessi_loop_buffer_touch(b, element, kind, r->loops, r->n_loops, &r->next_touch_stamp);
    if (depth == -1)
        return true;
    if (depth == -2)
        return tessi_failf(r->failure, TESS_ERROR_MEMORY,
                           "not enough memory to check '%s' for races", shown(b->buffer->name));
    const char *var = shown(r->p->vars.at[r->loop_stmt[depth]->var.v].name);
    const char *why = tessi_sprintf(
        r->arena, "in iteration %s = %lld, and another iteration of the same loop %s it", var,
        (long long)r->var[r->loop_stmt[depth]->var.v].i,
        kind == TOUCH_READ ? "stores to" : "touches");
    static const char *const what[] = { "loads", "stores to", "stores to", "adds to" };
    return fail_at(r, b, index, what[kind], why);
}

static bool read_index(Run *r, const LExprId *ids, int n, int64_t *index)
{
    for (int d = 0; d < n; d++) {
        Value v;
        if (!evaluate(r, ids[d], &v))
            return false;
        index[d] = v.i;
    }
    return true;
}

/* The element at the index. */
static bool load_at(Run *r, LBufferId id, const int64_t *index, Value *out)
{
    LoopBuffer *b = buffer_of(r, id);
    int64_t element = tessi_loop_buffer_element(b, index);
    if (element < 0)
        return fail_outside(r, b, index, "the load of");
    if (b->stored) {
        if (!tessi_loop_buffer_is_stored(b, element))
            return fail_at(r, b, index, "the load of", "comes before any store to it");
        if (!touch(r, b, element, index, TOUCH_READ))
            return false;
    }
    *out = tessi_load_element(b->buffer->type, tessi_loop_buffer_address(b, index));
    return true;
}

/* Four bytes, the first in the low bits. */
static bool load_four(Run *r, LBufferId b, int64_t *index, Value *out)
{
    uint32_t word = 0;
    for (int k = 0; k < 4; k++, index[r->buffers[b.v].buffer->n_dims - 1]++) {
        Value byte;
        if (!load_at(r, b, index, &byte))
            return false;
        word |= (uint32_t)byte.i << 8 * k;
    }
    *out = tessi_value_int(word);
    return true;
}

/* That of the lane in hand, of a vector. */
static bool load(Run *r, const LExpr *e, Value *out)
{
    const LBuffer *b = r->buffers[e->buffer.v].buffer;
    int64_t index[LOOP_MAX_DIMS + 1];
    Value other;
    if (!read_index(r, e->arg, e->n_args, index))
        return false;
    if (b->lanes) {
        index[b->n_dims] = r->lane;
    } else if (tessi_load_each(e)) {
        /* the indices are those of the lane */
    } else if ((e->ref & 0xff) == LLOAD_APART) {
        index[e->n_args - 1] += r->lane * tessi_load_apart(e);
    } else if (e->lanes && e->ref != LLOAD_EVENS && e->ref != LLOAD_ODDS) {
        index[e->n_args - 1] += r->lane;
    } else if (e->lanes) { /* both are fetched */
        index[e->n_args - 1] += 2 * r->lane + (e->ref == LLOAD_EVENS);
        if (!load_at(r, e->buffer, index, &other))
            return false;
        index[e->n_args - 1] += e->ref == LLOAD_EVENS ? -1 : 1;
    }
    if (e->ref == LLOAD_FOURS)
        return load_four(r, e->buffer, index, out);
    return load_at(r, e->buffer, index, out);
}

/* The lane in hand of a vector near a row, or of one of two. */
static bool load_near(Run *r, const LExpr *e, Value *out)
{
    const LExpr *row = tessi_lexpr(r->p, e->arg[0]);
    const Value *place = r->vector[row->var.v];
    if (r->p->vars.at[row->var.v].is_both) {
        *out = place[tessi_lexpr(r->p, e->arg[1])->value.i * BOTH_APART + r->lane];
        return true;
    }
    const LBufferId b = { (uint32_t)place[LOOP_MAX_DIMS].i };
    const int n = r->buffers[b.v].buffer->n_dims;
    int64_t index[LOOP_MAX_DIMS];
    for (int d = 0; d < n; d++)
        index[d] = place[d].i;
    index[n - 1] += tessi_lexpr(r->p, e->arg[1])->value.i + r->lane;
    return load_at(r, b, index, out);
}

/* Lanes of 32 bits hold whatever index they are given. */
static bool fits_lane(const LExpr *e, const Value *v)
{
    return e->lanes != 4 || e->type != TYPE_INDEX || (v->i >= INT32_MIN && v->i <= INT32_MAX);
}

/* INDEX never overflows, or generated C would be undefined. */
static bool index_arithmetic(Run *r, const LExpr *e, const Value *args, Value *out)
{
    bool fits = true;
    if (e->op == OP_ADD)
        fits = tessi_add_i64(args[0].i, args[1].i, &out->i);
    else if (e->op == OP_SUB)
        fits = tessi_sub_i64(args[0].i, args[1].i, &out->i);
    else if (e->op == OP_MUL)
        fits = tessi_mul_i64(args[0].i, args[1].i, &out->i);
    else if ((e->op == OP_FLOORDIV || e->op == OP_FLOORMOD) && args[1].i < 1)
        return tessi_failf(r->failure, TESS_ERROR_INTERNAL,
                           "function '%s': an index is divided by %lld",
                           shown(r->function ? r->function->name : NULL), (long long)args[1].i);
    else
        *out = tessi_eval(e->op, TYPE_INDEX, args);
    fits = fits && fits_lane(e, out);
    return fits
           || tessi_failf(r->failure, TESS_ERROR_INTERNAL,
                          "function '%s': index arithmetic overflows",
                          shown(r->function ? r->function->name : NULL));
}

/* A byte by wrapping, as a value of the type it was. */
static Value low_byte(ScalarType byte, ScalarType t, Value v)
{
    return tessi_eval_cast(t, byte, tessi_eval_cast(byte, t, v));
}

/* A lane of bytes is one of two lanes of 16 bits. */
static bool pair(Run *r, const LExpr *e, Value *out)
{
    const int64_t lane = r->lane;
    const LExprId half = e->arg[lane % 2];
    r->lane = lane / 2;
    const bool good = evaluate(r, half, out);
    r->lane = lane;
    if (good)
        *out = tessi_eval_cast(e->type, tessi_lexpr(r->p, half)->type, *out);
    return good;
}

static bool ramp(Run *r, const LExpr *e, Value *out)
{
    if (!evaluate(r, e->arg[0], out))
        return false;
    *out = tessi_value_int(out->i + r->lane);
    if (e->type != TYPE_INDEX)
        *out = tessi_eval_cast(e->type, TYPE_INDEX, *out);
    return true;
}

static bool operation(Run *r, const LExpr *e, Value *out)
{
    Value args[LOOP_MAX_DIMS];
    for (int i = 0; i < e->n_args; i++)
        if (!evaluate(r, e->arg[i], &args[i]))
            return false;
    ScalarType first = tessi_lexpr(r->p, e->arg[0])->type;
    if (e->kind == LEXPR_SAT)
        *out = tessi_eval_sat(e->type, first, args[0]);
    else if (e->kind == LEXPR_CAST && e->ref == LCAST_LOW_BYTE)
        *out = low_byte(tessi_is_unsigned(e->type) ? TYPE_U8 : TYPE_I8, e->type, args[0]);
    else if (e->kind == LEXPR_CAST)
        *out = tessi_eval_cast(e->ref == LCAST_ROUNDS_TO_F16 ? TYPE_F16 : e->type, first, args[0]);
    else if (first == TYPE_INDEX)
        return index_arithmetic(r, e, args, out);
    else
        *out = tessi_eval(e->op, e->op == OP_SELECT ? e->type : first, args);
    return true;
}

/* Each node once an evaluation, however often it is used. */
static bool evaluate_once(Run *r, LExprId id, Value *out)
{
    if (r->stamp_of[id.v] == r->stamp) {
        *out = r->value[id.v];
        return true;
    }
    const LExpr *e = tessi_lexpr(r->p, id);
    switch (e->kind) {
    case LEXPR_CONST:
    case LEXPR_VAR: return evaluate(r, id, out);
    case LEXPR_LANES:
        *out = tessi_value_int(tessi_loop_lane_count(r->p, (uint8_t)e->ref));
        return true;
    case LEXPR_VECTORS: {
        const int64_t n = tessi_loop_lane_count(r->p, (uint8_t)e->ref);
        *out = tessi_value_int((tessi_lexpr(r->p, e->arg[0])->value.i + n - 1) / n);
        return true;
    }
    case LEXPR_SPLAT: return evaluate(r, e->arg[0], out);
    case LEXPR_RAMP: return ramp(r, e, out);
    case LEXPR_PAIRS: return pair(r, e, out);
    case LEXPR_BOTH: break; /* no value */
    case LEXPR_AT:
        if (!load_near(r, e, out))
            return false;
        break;
    case LEXPR_PARAM: *out = tessi_value_int(r->args->params[e->ref]); return true;
    case LEXPR_SCALAR: *out = r->args->scalars[e->ref]; return true;
    case LEXPR_LOAD:
        if (!load(r, e, out))
            return false;
        break;
    case LEXPR_OP:
    case LEXPR_CAST:
    case LEXPR_SAT:
        if (!operation(r, e, out))
            return false;
        break;
    }
    r->stamp_of[id.v] = r->stamp;
    r->value[id.v] = *out;
    return true;
}

static bool evaluate_now(Run *r, LExprId id, Value *out)
{
    r->stamp++;
    return evaluate(r, id, out);
}

/* A value of each lane, or one; their number, 0 on failure. All are known before any is used. */
static int64_t evaluate_all(Run *r, LExprId id, Value *out)
{
    const uint8_t lanes = tessi_lexpr(r->p, id)->lanes;
    const int64_t n = lanes ? tessi_loop_lane_count(r->p, lanes) : 1;
    bool good = true;
    for (r->lane = 0; good && r->lane < n; r->lane++)
        good = evaluate_now(r, id, &out[r->lane]);
    r->lane = 0;
    return good ? n : 0;
}

/* Where a row is; the vector there is fetched. */
static bool define_row(Run *r, const LStmt *s)
{
    const LExpr *e = tessi_lexpr(r->p, s->a);
    Value here[LOOP_MOST_VECTOR], *place = r->vector[s->var.v];
    int64_t index[LOOP_MAX_DIMS];
    r->stamp++;
    if (!evaluate_all(r, s->a, here) || !read_index(r, e->arg, e->n_args, index))
        return false;
    for (int d = 0; d < e->n_args; d++)
        place[d] = tessi_value_int(index[d]);
    place[LOOP_MAX_DIMS] = tessi_value_int(e->buffer.v);
    return true;
}

static bool define(Run *r, const LStmt *s)
{
    const LVar *x = &r->p->vars.at[s->var.v];
    Value value[LOOP_MOST_VECTOR];
    if (!x->lanes)
        return evaluate_now(r, s->a, &r->var[s->var.v]);
    if (!r->vector[s->var.v])
        r->vector[s->var.v] = ARENA_NEW_ARRAY(r->arena, Value, LOOP_MOST_VECTOR);
    if (x->is_both) {
        const LExpr *e = tessi_lexpr(r->p, s->a);
        Value *to = r->vector[s->var.v];
        return evaluate_all(r, e->arg[0], to) && evaluate_all(r, e->arg[1], to + BOTH_APART);
    }
    if (x->is_row)
        return define_row(r, s);
    const int64_t n = evaluate_all(r, s->a, value);
    memcpy(r->vector[s->var.v], value, (size_t)n * sizeof *value);
    return n > 0;
}

/* ---- Statements ------------------------------------------------------------------------------ */

static bool run_block(Run *r, const LBlock *block);

static bool run_for(Run *r, const LStmt *s)
{
    Value from, to;
    if (!evaluate_now(r, s->a, &from) || !evaluate_now(r, s->b, &to))
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

/* Stores v, of a vector for the lane in hand, where the statement says. */
static bool put(Run *r, const LStmt *s, Value v)
{
    int64_t index[LOOP_MAX_DIMS + 1];
    char bytes[sizeof v];
    r->stamp++;
    if (!read_index(r, s->index, s->n_index, index))
        return false;
    if (r->buffers[s->buffer.v].buffer->lanes)
        index[s->n_index] = r->lane;
    else if (s->n_index)
        index[s->n_index - 1] += r->lane * tessi_store_apart(s);
    LoopBuffer *b = buffer_of(r, s->buffer);
    const ScalarType t = b->buffer->type;
    const int64_t element = tessi_loop_buffer_element(b, index);
    if (element < 0)
        return fail_outside(r, b, index, "the store to");
    void *at = tessi_loop_buffer_address(b, index);
    if (s->kind == LSTMT_ADD && !tessi_loop_buffer_is_stored(b, element))
        return fail_at(r, b, index, "the addition to", "comes before any store to it");
    if (s->kind == LSTMT_ADD)
        v = tessi_eval(OP_ADD, tessi_value_type(t), (Value[]){ tessi_load_element(t, at), v });
    const size_t n = tessi_type_info(t)->bytes;
    tessi_store_element(t, bytes, v);
    if (!touch(r, b, element, index,
               s->atomic ? TOUCH_ADD : kind_of_store(r, b, element, at, bytes, n)))
        return false;
    memcpy(at, bytes, n);
    tessi_loop_buffer_note_store(b, element);
    return true;
}

static bool run_store(Run *r, const LStmt *s)
{
    Value v[LOOP_MOST_VECTOR];
    const int64_t n = evaluate_all(r, s->a, v);
    bool good = n > 0;
    for (r->lane = 0; good && r->lane < n; r->lane++)
        good = put(r, s, v[r->lane]);
    r->lane = 0;
    return good;
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
    r->stamp++;
    if (!read_index(r, s->index, s->n_index, index))
        return false;
    buffer_of(r, s->buffer);
    buffer_of(r, s->other);
    for (k = 0; k < n; k++) {
        in_line = k / held;
        *(takes ? &from : &to) = &r->buffers[tessi_loop_channel(r->p, some, channel).v];
        const size_t part = (size_t)(k % held) * bytes;
        int64_t read = tessi_loop_buffer_element(from, source);
        int64_t written = tessi_loop_buffer_element(to, at);
        if (read < 0 || written < 0)
            return fail_outside(r, takes ? from : to, index, "the move of");
        if (from->stored) {
            if (!tessi_loop_buffer_is_stored(from, read))
                return fail_at(r, from, source, "the move of", "comes before any store to it");
            if (!touch(r, from, read, source, TOUCH_READ))
                return false;
        }
        char *write = (char *)tessi_loop_buffer_address(to, at) + (takes ? part : 0);
        const char *is = (const char *)tessi_loop_buffer_address(from, source) + (takes ? 0 : part);
        if (!touch(r, to, written, at, kind_of_store(r, to, written, write, is, bytes)))
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
    const bool good = evaluate_now(r, s->a, &v);
    r->thread = thread;
    return good && put(r, s, v);
}

static bool run_product(Run *r, const LStmt *s)
{
    const LExpr *rows = tessi_lexpr(r->p, s->a), *words = tessi_lexpr(r->p, s->b);
    const int64_t lane = r->thread % LOOP_WARP;
    int64_t at[LOOP_MAX_DIMS], row[LOOP_MAX_DIMS], word[LOOP_MAX_DIMS];
    r->stamp++;
    if (!read_index(r, s->index, 1, at) || !read_index(r, rows->arg, 2, row)
        || !read_index(r, words->arg, 1, word))
        return false;
    LoopBuffer *sums = buffer_of(r, s->buffer);
    for (int64_t i = 0; i < PRODUCT_SUMS; i++, at[0]++) {
        const int64_t y = row[0] + lane / 4 + i / 2 * s->step;
        const int64_t column = word[0] + PRODUCT_WORDS * (lane % 4 * 2 + i % 2);
        Value sum, bytes, weights;
        if (!load_at(r, s->buffer, at, &sum)
            || !touch(r, sums, tessi_loop_buffer_element(sums, at), at, TOUCH_WRITE))
            return false;
        for (int64_t k = 0; k < PRODUCT_WORDS; k++) {
            if (!load_at(r, rows->buffer, (const int64_t[]){ y, row[1] + k }, &bytes)
                || !load_at(r, words->buffer, (const int64_t[]){ column + k }, &weights))
                return false;
            sum = tessi_eval(OP_DOT, TYPE_U32, (const Value[]){ bytes, weights, sum });
        }
        tessi_store_element(TYPE_U32, tessi_loop_buffer_address(sums, at), sum);
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
    if (!evaluate_now(r, s->a, &n))
        return false;
    int64_t last = n.i - 1;
    if (n.i < 0 || n.i > b->size[0])
        return fail_outside(r, b, &last, "the sort up to");
    SortItem *items = calloc((size_t)n.i + 1, sizeof *items);
    if (!items)
        return tessi_failf(r->failure, TESS_ERROR_MEMORY, "not enough memory to sort");
    bool good = true;
    for (int64_t i = 0; good && i < n.i; i++) {
        good = tessi_loop_buffer_is_stored(b, i)
               || fail_at(r, b, &i, "the sort of", "comes before any store to it");
        good = good && touch(r, b, i, &i, TOUCH_WRITE);
        items[i].value = tessi_load_element(t, tessi_loop_buffer_address(b, &i));
        items[i].key = sort_key(t, items[i].value);
    }
    qsort(items, (size_t)n.i, sizeof *items, compare_items);
    for (int64_t i = 0; good && i < n.i; i++)
        tessi_store_element(t, tessi_loop_buffer_address(b, &i), items[i].value);
    free(items);
    return good;
}

static bool run_stmt(Run *r, const LStmt *s)
{
    Value v;
    switch (s->kind) {
    case LSTMT_FOR: return run_for(r, s);
    case LSTMT_IF: return evaluate_now(r, s->a, &v) && run_block(r, v.i ? &s->body : &s->orelse);
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
    if (!evaluate_now(r, id, &v))
        return false;
    *n = v.i;
    return v.i >= 1
           || tessi_failf(r->failure, TESS_ERROR_ARGUMENT, "a size of '%s' is %lld", shown(of),
                          (long long)v.i);
}

static bool same_size(Run *r, LExprId a, LExprId b)
{
    Value x, y;
    if (!evaluate_now(r, a, &x) || !evaluate_now(r, b, &y))
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
                               shown(im->name), (long long)given->size[d], (long long)n);
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
                               shown(lb->name));
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
              .value = ARENA_NEW_ARRAY(a, Value, p->exprs.n),
              .stamp_of = ARENA_NEW_ARRAY(a, uint64_t, p->exprs.n) };
    bool good = run_program(&r);
    for (uint32_t i = 1; i < p->buffers.n; i++)
        tessi_loop_buffer_free(&r.buffers[i]);
    if (f && failure.status)
        *f = failure;
    return good;
}
