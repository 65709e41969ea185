/* Which loops can be executed in vectors. All control in the body must be the same for all lanes, and what the lanes
 * read and write must lie side by side; then each statement becomes one on vectors. Any other loop is left to the C
 * compiler. */
#include <string.h>

#include "loop/vector.h"

/* ---- Shapes ------------------------------------------------------------------------------------------------------ */

static LShape shape_of_op(Vectors *v, const LExpr *e)
{
    LShape of[3] = { SHAPE_UNIFORM, SHAPE_UNIFORM, SHAPE_UNIFORM };
    for (int i = 0; i < e->n_args; i++)
        of[i] = tessi_vector_shape(v, e->arg[i]);
    if (of[0] == SHAPE_UNIFORM && of[1] == SHAPE_UNIFORM && of[2] == SHAPE_UNIFORM)
        return SHAPE_UNIFORM;
    const bool ramp = e->type == TYPE_INDEX && of[0] + of[1] == SHAPE_RAMP
                      && (e->op == OP_ADD || (e->op == OP_SUB && of[0] == SHAPE_RAMP));
    return ramp ? SHAPE_RAMP : SHAPE_LANES;
}

static LShape find_shape(Vectors *v, const LExpr *e)
{
    if (e->kind == LEXPR_VAR)
        return (LShape)v->var_shape[e->var.v];
    if (e->kind == LEXPR_OP)
        return shape_of_op(v, e);
    for (int i = 0; i < e->n_args; i++)
        if (tessi_vector_shape(v, e->arg[i]) != SHAPE_UNIFORM)
            return SHAPE_LANES;
    return SHAPE_UNIFORM;
}

LShape tessi_vector_shape(Vectors *v, LExprId id)
{
    if (v->shape_stamp[id.v] != v->stamp) {
        const LShape shape = find_shape(v, tessi_lexpr(v->p, id));
        v->shape[id.v] = (uint8_t)shape;
        v->shape_stamp[id.v] = v->stamp;
    }
    return (LShape)v->shape[id.v];
}

/* Gives the variables of a block their shapes; true when one has changed. */
static bool shape_variables(Vectors *v, const LBlock *block)
{
    bool changed = false;
    for (uint32_t i = 0; i < block->n; i++) {
        const LStmt *s = block->at[i];
        changed |= shape_variables(v, &s->body);
        changed |= shape_variables(v, &s->orelse);
        if (s->kind != LSTMT_LET && s->kind != LSTMT_VAR && s->kind != LSTMT_SET)
            continue;
        LShape shape = tessi_vector_shape(v, s->a);
        if (s->kind != LSTMT_LET && shape == SHAPE_RAMP)
            shape = SHAPE_LANES; /* later values may be anything */
        uint8_t *known = &v->var_shape[s->var.v];
        if (*known < shape) {
            *known = (uint8_t)shape;
            changed = true;
        }
    }
    return changed;
}

/* ---- Values ------------------------------------------------------------------------------------------------------ */

static void touch(Vectors *v, bool *table, LBufferId b)
{
    if (!v->loaded[b.v] && !v->stored[b.v])
        VEC_PUSH(v->scratch, &v->touched, b.v);
    table[b.v] = true;
}

static void widen(Vectors *v, ScalarType t)
{
    const uint32_t bytes = t == TYPE_BOOL               ? 1
                           : t == TYPE_INDEX && v->near ? 4
                                                        : tessi_type_info(t)->bytes;
    if (v->lane_bytes < bytes)
        v->lane_bytes = (uint8_t)bytes;
}

bool tessi_vector_side_by_side(Vectors *v, LBufferId b, const LExprId *index)
{
    const int last = v->p->buffers.at[b.v].n_dims - 1;
    for (int d = 0; d < last; d++)
        if (tessi_vector_shape(v, index[d]) != SHAPE_UNIFORM)
            return false;
    return last >= 0 && tessi_loop_is_dense(v->p, b)
           && tessi_vector_shape(v, index[last]) == SHAPE_RAMP;
}

/* Elements from one pixel to the next. */
static uint32_t pixel_elements(const Vectors *v, LBufferId id)
{
    const LBuffer *b = &v->p->buffers.at[id.v];
    const LImage *im = tessi_loop_image(v->p, b);
    return im && !b->flat ? im->pixel_bytes / tessi_type_info(b->type)->bytes : 1;
}

/* Two vectors hold the elements of all lanes, `step` pixels apart; of those as wide as their lanes, four. */
static bool is_shuffled(const Vectors *v, LBufferId b, uint32_t step)
{
    const uint32_t lane = v->lane_bytes < 4 ? 4 : v->lane_bytes, lanes = LOOP_MOST_VECTOR / lane,
                   bytes = tessi_type_info(v->p->buffers.at[b.v].type)->bytes,
                   most = (bytes < 4 ? 2 : 4) * LOOP_MOST_VECTOR;
    return ((lanes - 1) * step * pixel_elements(v, b) + 1) * bytes <= most;
}

int32_t tessi_vector_apart(Vectors *v, const LExpr *load)
{
    const int last = load->n_args - 1;
    int64_t slope;
    for (int d = 0; d < last; d++)
        if (tessi_vector_shape(v, load->arg[d]) != SHAPE_UNIFORM)
            return 0;
    if (last < 0 || load->ref || tessi_vector_shape(v, load->arg[last]) == SHAPE_UNIFORM
        || !tessi_vector_slope(v, load->arg[last], &slope, NULL))
        return 0;
    const bool good = slope && tessi_loop_can_be_apart(v->p, load->buffer, 4)
                      && is_shuffled(v, load->buffer, (uint32_t)(slope < 0 ? -slope : slope));
    return good ? (int32_t)slope : 0;
}

/* Compilers know shuffles for each second, third, fourth or eighth element, and for rows of elements backwards. */
static bool is_odd_stride(Vectors *v, const LExpr *load)
{
    const int32_t apart = tessi_vector_apart(v, load);
    const uint32_t pixel = pixel_elements(v, load->buffer),
                   n = (uint32_t)(apart < 0 ? -apart : apart) * pixel;
    return (n > 4 && n != 8) || (apart < 0 && pixel > 1);
}

/* How wide elements are that are shuffled out of whole vectors of them, of which processors with the widest vectors
 * take two at once; 0: of others. */
static uint8_t shuffled_bytes(Vectors *v, const LExpr *load)
{
    enum { MOST_STRIDE = 3 }; /* of four compilers make as much */
    const int32_t apart = tessi_vector_apart(v, load);
    const bool good = v->p->vector_bytes == LOOP_MOST_VECTOR && apart > 0
                      && (uint32_t)apart * pixel_elements(v, load->buffer) <= MOST_STRIDE;
    return good ? (uint8_t)tessi_type_info(v->p->buffers.at[load->buffer.v].type)->bytes : 0;
}

static bool has_vector_form(const LExpr *e, ScalarType operands)
{
    if (operands == TYPE_F16)
        return false;
    if (operands != TYPE_BOOL)
        return true;
    return e->op == OP_AND || e->op == OP_OR || e->op == OP_XOR || e->op == OP_NOT
           || e->op == OP_SELECT || e->op == OP_EQ || e->op == OP_NE || e->op == OP_LT
           || e->op == OP_LE;
}

/* A cast or saturation for which there is a vector form. */
static bool converts(ScalarType to, ScalarType from, bool saturates)
{
    if (to == TYPE_F16 || from == TYPE_F16)
        return false;
    if (!tessi_is_real(from) || tessi_is_real(to) || to == TYPE_BOOL)
        return !saturates || (to != TYPE_INDEX && from != TYPE_INDEX);
    const uint32_t bytes = tessi_type_info(to)->bytes;
    return from == TYPE_F32 ? bytes <= 4 : to == TYPE_I64 || (bytes <= 4 && to != TYPE_U32);
}

static bool check_value(Vectors *v, LExprId id);
static bool check_load(Vectors *v, const LExpr *e);

static bool check_conversion(Vectors *v, const LExpr *e)
{
    const LExpr *x = tessi_lexpr(v->p, e->arg[0]);
    if (e->kind == LEXPR_CAST && e->ref && (e->ref != LCAST_ROUNDS_TO_F16 || x->type != TYPE_F32))
        return false;
    if (e->type != TYPE_INDEX) /* for which check_index has decided */
        widen(v, e->type);
    v->to_integers = v->to_integers || (tessi_is_real(x->type) && tessi_is_integer(e->type));
    if (e->kind == LEXPR_CAST && tessi_is_integer(e->type)
        && tessi_vector_shape(v, e->arg[0]) == SHAPE_RAMP)
        return true; /* the coordinates are counted up in the type wanted */
    return converts(e->type, x->type, e->kind == LEXPR_SAT) && check_value(v, e->arg[0]);
}

/* Notes what the uniform parts load. */
static void note_loads(Vectors *v, LExprId id)
{
    PASS_PARTS (e, v->p, v->noted, v->stamp, id)
        if (e->kind == LEXPR_LOAD)
            touch(v, v->loaded, e->buffer);
}

/* An index whose value the lanes hold: as the narrow integer that it is, else in 32 bits where these suffice. */
static bool check_index(Vectors *v, LExprId id)
{
    if (tessi_vector_narrow_index(v, id).v)
        return true;
    v->far = v->far || (v->near && !tessi_vector_index_fits(v, id));
    widen(v, TYPE_INDEX);
    return !v->far;
}

static bool check_op(Vectors *v, LExprId id, const LExpr *e)
{
    const ScalarType operands = tessi_lexpr(v->p, e->arg[e->op == OP_SELECT ? 1 : 0])->type;
    if (!has_vector_form(e, operands))
        return false;
    widen(v, operands);
    for (int i = 0; i < e->n_args && tessi_vector_shape(v, id) != SHAPE_RAMP; i++)
        if (!check_value(v, e->arg[i]))
            return false;
    return true;
}

/* Elements side by side, or one by one from wherever they are. */
static bool check_load(Vectors *v, const LExpr *e)
{
    const ScalarType t = v->p->buffers.at[e->buffer.v].type;
    const bool near = tessi_vector_side_by_side(v, e->buffer, e->arg);
    const bool apart = !near && tessi_vector_apart(v, e);
    int n = 0;
    if (e->ref == LLOAD_FOURS && !near)
        return false;
    touch(v, v->loaded, e->buffer);
    widen(v, near && !e->ref ? t : e->type);
    if (apart)
        widen(v, TYPE_I32);
    for (int i = 0; i < e->n_args; i++) {
        note_loads(v, e->arg[i]);
        if (near || apart || tessi_vector_shape(v, e->arg[i]) == SHAPE_UNIFORM)
            continue;
        if (n++ || !tessi_loop_is_dense(v->p, e->buffer)) /* narrow indices are of lines */
            widen(v, TYPE_INDEX);
        v->gathers = v->gathers || !tessi_vector_is_affine(v, e->arg[i]);
        if (!check_value(v, e->arg[i]))
            return false;
    }
    v->strides = v->strides || !near;
    v->odd_strides = v->odd_strides || (!near && is_odd_stride(v, e));
    if (!near && v->strided_bytes > shuffled_bytes(v, e))
        v->strided_bytes = shuffled_bytes(v, e);
    return true;
}

/* Expressions of vectors are somewhat larger than those that they are made of. */
static bool has_room(const Vectors *v, LExprId id)
{
    return v->nodes[id.v] <= LOOP_MAX_EXPR_NODES / 8 && v->depth[id.v] <= LOOP_MAX_EXPR_DEPTH / 8;
}

static bool check_value(Vectors *v, LExprId id)
{
    const LExpr *e = tessi_lexpr(v->p, id);
    if (!has_room(v, id) || e->lanes
        || e->type == TYPE_U64) /* for which there are no vector forms */
        return false;
    if (tessi_vector_shape(v, id) == SHAPE_UNIFORM) {
        note_loads(v, id);
        return e->type != TYPE_INDEX || check_index(v, id);
    }
    if (v->checked[id.v] == v->stamp)
        return true;
    if (e->type == TYPE_INDEX && !check_index(v, id))
        return false;
    if (e->type != TYPE_BOOL && e->type != TYPE_INDEX)
        widen(v, e->type);
    switch (e->kind) {
    case LEXPR_VAR:
        v->needed[e->var.v] = v->stamp;
        if (tessi_vector_is_offset(v, e->var) && !check_value(v, v->definition[e->var.v]->a))
            return false;
        break;
    case LEXPR_LOAD:
        if (!check_load(v, e))
            return false;
        break;
    case LEXPR_OP:
        if (!check_op(v, id, e))
            return false;
        break;
    case LEXPR_CAST:
    case LEXPR_SAT:
        if (!check_conversion(v, e))
            return false;
        break;
    default: return false;
    }
    v->checked[id.v] = v->stamp;
    return true;
}

/* ---- Statements -------------------------------------------------------------------------------------------------- */

static bool check_uniform(Vectors *v, LExprId id)
{
    note_loads(v, id);
    return tessi_vector_shape(v, id) == SHAPE_UNIFORM && has_room(v, id);
}

static bool check_definition(Vectors *v, const LStmt *s)
{
    if (s->kind == LSTMT_SET && !v->declared[s->var.v])
        return false; /* carried from lane to lane */
    v->declared[s->var.v] = true;
    if (v->var_shape[s->var.v] == SHAPE_RAMP) {
        note_loads(v, s->a);
        return true;
    }
    if (tessi_vector_is_offset(
            v, s->var)) { /* loads of elements apart need it of the first lane alone */
        note_loads(v, s->a);
        return true;
    }
    if (v->var_shape[s->var.v] == SHAPE_UNIFORM && tessi_lexpr(v->p, s->a)->type == TYPE_INDEX)
        return check_uniform(v, s->a);
    return check_value(v, s->a);
}

int64_t tessi_vector_store_apart(Vectors *v, const LStmt *s, LExprId *first)
{
    const int last = s->n_index - 1;
    int64_t slope;
    for (int d = 0; d < last; d++)
        if (tessi_vector_shape(v, s->index[d]) != SHAPE_UNIFORM)
            return 0;
    return last >= 0 && tessi_vector_shape(v, s->index[last]) != SHAPE_UNIFORM
                   && tessi_loop_can_be_spread(v->p, s->buffer, 4)
                   && tessi_vector_slope(v, s->index[last], &slope, first) && slope > 0
               ? slope
               : 0;
}

/* The block stores all elements of these pixels, or of so many points, which are put together: no room is left between
 * them. */
static bool fills_pixels(const Vectors *v, const LBlock *block, const LStmt *s, int64_t apart)
{
    const uint32_t n = tessi_loop_channels(v->p, s->buffer) * (uint32_t)apart;
    uint32_t found = 0;
    for (uint32_t i = 0; i < block->n; i++)
        found += tessi_loop_same_pixels(v->p, s, block->at[i], apart);
    return found == n;
}

/* One element of each pixel, side by side: bytes that two vectors hold. Of each point of a lattice, where all are put
 * together. */
static bool check_spread(Vectors *v, const LBlock *block, const LStmt *s)
{
    const int64_t apart = tessi_vector_store_apart(v, s, NULL);
    const bool dense = tessi_loop_is_dense(v->p, s->buffer),
               fills = apart && fills_pixels(v, block, s, apart);
    const uint32_t bytes = tessi_type_info(v->p->buffers.at[s->buffer.v].type)->bytes;
    if (apart == 1 ? !is_shuffled(v, s->buffer, 1) || (!fills && bytes > 2)
                   : !fills || !tessi_loop_joined(v->p, s->buffer, apart))
        return false;
    if (!dense)
        widen(v, TYPE_I32);
    v->spreads = true;
    v->holes = v->holes || !fills;
    v->pairs = v->pairs || (apart > 1 && !dense);
    return true;
}

static bool check_store(Vectors *v, const LBlock *block, const LStmt *s)
{
    for (int i = 0; i < s->n_index; i++)
        note_loads(v, s->index[i]);
    widen(v, tessi_value_type(v->p->buffers.at[s->buffer.v].type));
    touch(v, v->stored, s->buffer);
    if (s->b.v && !check_uniform(v, s->b))
        return false;
    if (!tessi_vector_side_by_side(v, s->buffer, s->index) && !check_spread(v, block, s))
        return false;
    return check_value(v, s->a);
}

static bool check_block(Vectors *v, const LBlock *block)
{
    for (uint32_t i = 0; i < block->n; i++) {
        const LStmt *s = block->at[i];
        bool good = false;
        switch (s->kind) {
        case LSTMT_FOR:
            good = !(s->flags & LFOR_PARALLEL) && !s->lanes && check_uniform(v, s->a)
                   && check_uniform(v, s->b) && check_block(v, &s->body);
            break;
        case LSTMT_IF:
            good = check_uniform(v, s->a) && check_block(v, &s->body) && check_block(v, &s->orelse);
            break;
        case LSTMT_LET:
        case LSTMT_VAR:
        case LSTMT_SET: good = check_definition(v, s); break;
        case LSTMT_STORE: good = check_store(v, block, s); break;
        case LSTMT_COMMENT: good = true; break;
        case LSTMT_ADD:
        case LSTMT_LOCAL:
        case LSTMT_MOVE:
        case LSTMT_SHIFT:
        case LSTMT_PRODUCT:
        case LSTMT_SORT:
        case LSTMT_PREFETCH: break;
        }
        if (!good)
            return false;
    }
    return true;
}

/* ---- Loops ------------------------------------------------------------------------------------------------------- */

/* Nothing is known of any loop. */
static void forget(Vectors *v)
{
    VEC_FOREACH (const uint32_t, x, &v->vars) {
        v->var_shape[*x] = SHAPE_UNIFORM;
        v->declared[*x] = false;
        for (uint32_t c = 0; c < VECTOR_MOST_COPIES; c++)
            v->var_as[c][*x] = (LExprId){ 0 };
    }
    VEC_FOREACH (const uint32_t, b, &v->touched)
        v->loaded[*b] = v->stored[*b] = false;
    v->vars.n = v->touched.n = 0;
}

/* Whether the body has a form on vectors, with indices of lanes in 32 bits or in 64. */
static bool check_body(Vectors *v, const LStmt *loop, bool near)
{
    VEC_FOREACH (const uint32_t, x, &v->vars)
        v->declared[*x] = false;
    v->stamp++;
    v->near = near;
    v->far = v->gathers = v->strides = v->odd_strides = v->to_integers = v->spreads = v->holes =
        v->pairs = false;
    v->lane_bytes = 1;
    v->strided_bytes = UINT8_MAX;
    return check_block(v, &loop->body);
}

static bool has_loop(const LBlock *block)
{
    PASS_FOREACH (s, block)
        if (s->kind == LSTMT_FOR)
            return true;
    return false;
}

static bool qualifies(Vectors *v, const LStmt *loop)
{
    v->loop = loop;
    v->form = &tessi_vector_plain;
    VEC_PUSH(v->scratch, &v->vars, loop->var.v);
    PASS_FOREACH (s, &loop->body)
        if (s->var.v)
            VEC_PUSH(v->scratch, &v->vars, s->var.v);
    v->var_shape[loop->var.v] = SHAPE_RAMP;
    do
        v->stamp++;
    while (shape_variables(v, &loop->body));
    if (!has_room(v, loop->a) || !has_room(v, loop->b))
        return false;
    if (!check_body(v, loop, true) && !(v->far && check_body(v, loop, false)))
        return false;
    /* Compilers know how to load each second element, in innermost loops that they make vectors of; less of those as
     * wide as lanes. */
    if (v->strides && !v->gathers && !v->odd_strides && !v->to_integers && !v->pairs
        && v->strided_bytes < v->lane_bytes && !has_loop(&loop->body))
        return false;
    if (v->spreads && (v->holes || v->gathers) && (!v->to_integers || has_loop(&loop->body)))
        return false;
    v->repeatable = true;
    VEC_FOREACH (const uint32_t, b, &v->touched)
        v->repeatable = v->repeatable && !(v->loaded[*b] && v->stored[*b]);
    v->copies = loop->vectors < 1                    ? 1
                : loop->vectors > VECTOR_MOST_COPIES ? VECTOR_MOST_COPIES
                                                     : loop->vectors;
    return true;
}

static int nesting_of(const LBlock *block)
{
    int most = 0;
    for (uint32_t i = 0; i < block->n; i++) {
        const int body = nesting_of(&block->at[i]->body),
                  orelse = nesting_of(&block->at[i]->orelse);
        most = body > most ? body : most;
        most = orelse > most ? orelse : most;
    }
    return most + 1;
}

static void visit(Vectors *v, LBlock *block, VectorRewrite rewrite, int nesting)
{
    enum { MOST_MORE = 6 }; /* levels that a rewriting adds */
    LBlock out = { 0 };
    for (uint32_t i = 0; i < block->n; i++) {
        LStmt *s = block->at[i];
        const bool simd = s->kind == LSTMT_FOR && s->flags & LFOR_SIMD
                          && !(s->flags & LFOR_PARALLEL) && s->step == 1
                          && nesting + nesting_of(&s->body) + MOST_MORE <= LOOP_MAX_NESTING;
        const bool done = simd && qualifies(v, s) && rewrite(v, s, &out);
        forget(v);
        if (!done)
            VEC_PUSH(v->p->arena, &out, s);
        if (s->kind != LSTMT_FOR || !s->lanes) {
            visit(v, &s->body, rewrite, nesting + 1); /* those that are computed point by point */
            visit(v, &s->orelse, rewrite, nesting + 1);
        }
    }
    *block = out;
}

static void measure(Vectors *v)
{
    for (uint32_t id = 1; id < v->p->exprs.n; id++) {
        const LExpr *e = &v->p->exprs.at[id];
        uint64_t nodes = 1;
        uint32_t depth = 0;
        for (int i = 0; i < e->n_args; i++) {
            nodes += v->nodes[e->arg[i].v];
            depth = depth < v->depth[e->arg[i].v] ? v->depth[e->arg[i].v] : depth;
        }
        v->nodes[id] = nodes > UINT32_MAX ? UINT32_MAX : (uint32_t)nodes;
        v->depth[id] = depth + 1;
    }
}

void tessi_vector_visit(LoopProgram *p, VectorRewrite rewrite)
{
    if (!p->vector_bytes)
        return;
    Arena *a = tessi_scratch_open(p->arena);
    const uint32_t n = p->exprs.n;
    Vectors v = { .p = p, .scratch = a, .n_vars = p->vars.n };
    v.var_shape = ARENA_NEW_ARRAY(a, uint8_t, p->vars.n);
    v.needed = ARENA_NEW_ARRAY(a, uint32_t, p->vars.n);
    v.definition = ARENA_NEW_ARRAY(a, const LStmt *, p->vars.n);
    v.fits = ARENA_NEW_ARRAY(a, bool, n);
    v.fits_stamp = ARENA_NEW_ARRAY(a, uint32_t, n);
    v.declared = ARENA_NEW_ARRAY(a, bool, p->vars.n);
    v.loaded = ARENA_NEW_ARRAY(a, bool, p->buffers.n);
    v.stored = ARENA_NEW_ARRAY(a, bool, p->buffers.n);
    v.shape = ARENA_NEW_ARRAY(a, uint8_t, n);
    v.shape_stamp = ARENA_NEW_ARRAY(a, uint32_t, n);
    v.noted = ARENA_NEW_ARRAY(a, uint32_t, n);
    v.checked = ARENA_NEW_ARRAY(a, uint32_t, n);
    v.nodes = ARENA_NEW_ARRAY(a, uint32_t, n);
    v.depth = ARENA_NEW_ARRAY(a, uint32_t, n);
    v.scalar_stamp = ARENA_NEW_ARRAY(a, uint32_t, n);
    v.value_stamp = ARENA_NEW_ARRAY(a, uint32_t, n);
    v.expr_as = ARENA_NEW_ARRAY(a, LExprId, n);
    v.scalar = ARENA_NEW_ARRAY(a, LExprId, n);
    v.value = ARENA_NEW_ARRAY(a, LExprId, n);
    for (uint32_t c = 0; c < VECTOR_MOST_COPIES; c++)
        v.var_as[c] = ARENA_NEW_ARRAY(a, LExprId, p->vars.n);
    measure(&v);
    VEC_FOREACH (LFunction, f, &p->functions)
        tessi_pass_definitions(&f->body, v.definition);
    VEC_FOREACH (LFunction, f, &p->functions)
        if (!f->is_kernel)
            visit(&v, &f->body, rewrite, 1);
    tessi_scratch_close(a);
}
