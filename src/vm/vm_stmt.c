/* Statements in the strip machine's compiler. A loop over points becomes a loop over strips where its points are
 * independent of each other, and everything in it can be computed for all points of a strip, one instruction after
 * the other; else its points are taken one by one, by the same instructions. */
#include <string.h>

#include "vm/vm_compile.h"

static void compile_block(VmCompile *c, const LBlock *block);

static uint32_t here(const VmCompile *c)
{
    return c->code->ins.n;
}

static void set_type(VmCompile *c, VmIns *ins, LBufferId b)
{
    ins->type = (uint8_t)c->p->buffers.at[b.v].type;
}

/* ---- Values ------------------------------------------------------------------------------------ */

/* Mutable variables, and what is not computed here, have a slot of their own. */
static void define_scalar(VmCompile *c, const LStmt *s, bool fresh)
{
    VmVar *v = &c->var[s->var.v];
    const LExpr *e = tessi_lexpr(c->p, s->a);
    const uint32_t slot = tessi_vm_scalar(c, s->a);
    const bool shares =
        s->kind == LSTMT_LET && (e->kind != LEXPR_VAR || !c->p->vars.at[e->var.v].is_mutable);
    if (fresh)
        *v = (VmVar){ .slot = shares ? slot : tessi_vm_scalar_slot(c, e->type) };
    if (v->slot != slot)
        tessi_vm_kernel(c, c->k->copy[tessi_vm_width(tessi_vm_bytes(e->type))], false, v->slot,
                        slot, 0, 0);
}

/* What the expression's value is read from may be stored to before the value is used. */
static bool may_change(const VmCompile *c, LExprId id)
{
    const LExpr *e = tessi_lexpr(c->p, id);
    while (e->kind == LEXPR_CAST)
        e = tessi_lexpr(c->p, e->arg[0]);
    return e->kind == LEXPR_LOAD && c->stored[e->buffer.v] == c->strip_stamp;
}

static void define_strip(VmCompile *c, const LStmt *s)
{
    VmVar *v = &c->var[s->var.v];
    const LExpr *e = tessi_lexpr(c->p, s->a);
    const unsigned bytes = tessi_vm_bytes(e->type);
    const bool moves = tessi_vm_varies(c, s->a);
    if (s->kind == LSTMT_LET && moves && e->type == TYPE_INDEX) {
        const VmAffine at = tessi_vm_affine(c, s->a);
        if (at.good) {
            *v = (VmVar){ .lanes = true, .is_affine = true, .at = at };
            return;
        }
    }
    *v = (VmVar){ .lanes = true, .owns = true };
    if (s->kind == LSTMT_LET && !may_change(c, s->a)) {
        v->slot = tessi_vm_strip(c, s->a, 0);
        if (tessi_vm_take(c, s->a))
            return;
    }
    v->slot = tessi_vm_strip_slot(c, bytes);
    if (moves) {
        tessi_vm_strip(c, s->a, v->slot);
        tessi_vm_done(c, s->a);
    } else {
        tessi_vm_kernel(c, c->k->spread[tessi_vm_width(bytes)], true, v->slot,
                        tessi_vm_scalar(c, s->a), 0, 0);
    }
}

static void define(VmCompile *c, const LStmt *s)
{
    tessi_vm_begin(c, &s->a, 1);
    if (c->in_strip && (s->kind == LSTMT_VAR || tessi_vm_varies(c, s->a)))
        define_strip(c, s);
    else
        define_scalar(c, s, true);
}

static void set(VmCompile *c, const LStmt *s)
{
    const VmVar *v = &c->var[s->var.v];
    tessi_vm_begin(c, &s->a, 1);
    if (!v->lanes && c->in_strip) {
        c->fault = "what one point computes the next one uses";
    } else if (!v->lanes) {
        define_scalar(c, s, false);
    } else if (tessi_vm_varies(c, s->a)) {
        tessi_vm_strip(c, s->a, v->slot);
        tessi_vm_done(c, s->a);
    } else {
        const unsigned bytes = tessi_vm_bytes(tessi_lexpr(c->p, s->a)->type);
        tessi_vm_kernel(c, c->k->spread[tessi_vm_width(bytes)], true, v->slot,
                        tessi_vm_scalar(c, s->a), 0, 0);
    }
}

/* ---- Stores ------------------------------------------------------------------------------------ */

static void store_scalar(VmCompile *c, const LStmt *s)
{
    VmAddress at;
    bool moves;
    const uint32_t value = tessi_vm_scalar(c, s->a);
    tessi_vm_address(c, s->buffer, s->index, s->n_index, &at, &moves);
    const uint32_t a = tessi_vm_note_address(c, &at);
    VmIns *ins = tessi_vm_emit(c, s->kind == LSTMT_ADD ? VM_ADD : VM_PUT);
    ins->a = a;
    ins->b = value;
    set_type(c, ins, s->buffer);
    if (s->kind == LSTMT_ADD && s->atomic)
        ins->by.gather = c->k->add_atomic[ins->type];
    else if (s->kind == LSTMT_ADD)
        ins->by.kernel = c->k->op[OP_ADD][ins->type][0];
    ins->strip = s->atomic;
}

/* The value as elements, in strip `d`. */
static void elements_into(VmCompile *c, const LStmt *s, uint32_t d)
{
    const ScalarType t = c->p->buffers.at[s->buffer.v].type;
    const unsigned w = tessi_vm_width(tessi_vm_bytes(t));
    if (t == TYPE_F16) {
        const bool moves = tessi_vm_varies(c, s->a);
        const uint32_t value =
            moves ? tessi_vm_strip(c, s->a, 0) : tessi_vm_spread(c, tessi_vm_scalar(c, s->a), 4);
        tessi_vm_kernel(c, c->k->store_f16, true, d, value, 0, 0);
        if (moves)
            tessi_vm_done(c, s->a);
    } else if (tessi_vm_varies(c, s->a)) {
        tessi_vm_strip(c, s->a, d);
        tessi_vm_done(c, s->a);
    } else {
        tessi_vm_kernel(c, c->k->spread[w], true, d, tessi_vm_scalar(c, s->a), 0, 0);
    }
}

/* Elements one by one: to places that do not change evenly, or added. */
static void scatter(VmCompile *c, const LStmt *s)
{
    VmAddress at;
    const ScalarType t = c->p->buffers.at[s->buffer.v].type;
    const unsigned bytes = tessi_type_info(t)->bytes, w = tessi_vm_width(bytes);
    const uint32_t d = tessi_vm_strip_slot(c, bytes);
    elements_into(c, s, d);
    const uint32_t offsets = tessi_vm_offsets(c, s->buffer, s->index, s->n_index, &at);
    if (!offsets) {
        c->fault = "all points store to one place";
        return;
    }
    const uint32_t a = tessi_vm_note_address(c, &at);
    VmIns *ins = tessi_vm_emit(c, VM_SCATTER);
    ins->d = d;
    ins->a = a;
    ins->b = offsets;
    ins->by.gather = s->kind == LSTMT_STORE ? c->k->scatter[w]
                     : s->atomic            ? c->k->add_atomic[t]
                                            : c->k->add[t];
    if (!ins->by.gather)
        c->fault = "it adds to elements of this type";
    tessi_vm_give_back(c, d);
    tessi_vm_give_back(c, offsets);
}

static void store_strip(VmCompile *c, const LStmt *s)
{
    VmAddress at;
    bool moves;
    if (s->kind == LSTMT_ADD
        || !tessi_vm_address(c, s->buffer, s->index, s->n_index, &at, &moves)) {
        scatter(c, s);
        return;
    }
    if (!moves) {
        c->fault = "all points store to one place";
        return;
    }
    const uint32_t view = tessi_vm_view(c, &at, VM_PLACE);
    elements_into(c, s, view);
    if (!tessi_vm_is_dense(c, &at)) {
        const uint32_t a = tessi_vm_note_address(c, &at);
        VmIns *ins = tessi_vm_emit(c, VM_FLUSH);
        ins->d = view;
        ins->a = a;
        set_type(c, ins, s->buffer);
    }
    tessi_vm_give_back(c, view);
}

static void store(VmCompile *c, const LStmt *s)
{
    LExprId roots[LOOP_MAX_DIMS + 1] = { s->a };
    memcpy(roots + 1, s->index, s->n_index * sizeof *roots);
    tessi_vm_begin(c, roots, s->n_index + 1);
    if (c->in_strip)
        store_strip(c, s);
    else
        store_scalar(c, s);
}

/* ---- Local buffers ----------------------------------------------------------------------------- */

static void bring_local(VmCompile *c, const LStmt *s)
{
    enum { MOST_BYTES = 4096 }; /* of each point */
    const LBuffer *b = &c->p->buffers.at[s->buffer.v];
    VmLocal *local = &c->code->local[s->buffer.v];
    uint64_t bytes = tessi_type_info(b->type)->bytes;
    for (int d = 0; d < b->n_dims; d++)
        bytes *= (uint64_t)tessi_loop_local_size(c->p, b->size[d]);
    if (c->in_strip && bytes > MOST_BYTES)
        c->fault = "each point has a large array";
    *local = (VmLocal){ .at = c->in_strip ? c->view_units : c->code->local_bytes,
                        .bytes = bytes,
                        .lanes = c->in_strip };
    if (c->in_strip) {
        c->view_units += bytes;
        c->expanded[s->buffer.v] = c->strip_stamp;
    } else {
        c->expanded[s->buffer.v] = 0;
        c->code->local_bytes += (bytes + VM_LINE - 1) / VM_LINE * VM_LINE;
    }
    VmIns *ins = tessi_vm_emit(c, VM_LOCAL);
    ins->a = s->buffer.v;
    ins->imm = c->in_strip ? (int64_t)c->loop : -1;
}

static void sort(VmCompile *c, const LStmt *s)
{
    tessi_vm_begin(c, &s->a, 1);
    const bool expanded = c->in_strip && c->expanded[s->buffer.v] == c->strip_stamp;
    if (c->in_strip && (!expanded || tessi_vm_varies(c, s->a))) {
        c->fault = "it sorts";
        return;
    }
    if (!c->k->sort[c->p->buffers.at[s->buffer.v].type])
        c->code->lacks = "the strip machine has no kernel that sorts values of this type";
    const uint32_t n = tessi_vm_scalar(c, s->a);
    VmIns *ins = tessi_vm_emit(c, VM_SORT);
    ins->a = s->buffer.v;
    ins->b = n;
    ins->strip = expanded;
    set_type(c, ins, s->buffer);
}

static void move(VmCompile *c, const LStmt *s)
{
    VmAddress at;
    bool moves;
    if (c->in_strip) {
        c->fault = "it moves lines";
        return;
    }
    tessi_vm_begin(c, s->index, s->n_index);
    const bool takes = tessi_loop_is_line(c->p, s->buffer);
    tessi_vm_address(c, takes ? s->other : s->buffer, s->index, s->n_index, &at, &moves);
    const uint32_t a = tessi_vm_note_address(c, &at);
    VmIns *ins = tessi_vm_emit(c, VM_MOVE);
    ins->a = a;
    ins->imm = c->code->moves.n;
    VEC_PUSH(c->a, &c->code->moves, s);
}

/* ---- Conditions -------------------------------------------------------------------------------- */

static void condition(VmCompile *c, const LStmt *s)
{
    tessi_vm_begin(c, &s->a, 1);
    if (tessi_vm_varies(c, s->a)) {
        c->fault = "a condition differs from point to point";
        return;
    }
    const uint32_t test = tessi_vm_scalar(c, s->a), at = here(c);
    tessi_vm_emit(c, VM_IF)->a = test;
    compile_block(c, &s->body);
    if (s->orelse.n) {
        const uint32_t jump = here(c);
        tessi_vm_emit(c, VM_JUMP);
        c->code->ins.at[at].imm = here(c);
        compile_block(c, &s->orelse);
        c->code->ins.at[jump].imm = here(c);
    } else {
        c->code->ins.at[at].imm = here(c);
    }
}

/* ---- Loops ------------------------------------------------------------------------------------- */

/* A loop with its bounds; its number. */
static uint32_t open_loop(VmCompile *c, const LStmt *s)
{
    tessi_vm_begin(c, (const LExprId[]){ s->a, s->b }, 2);
    if (tessi_vm_varies(c, s->a) || tessi_vm_varies(c, s->b))
        c->fault = "how often a loop runs differs from point to point";
    VmLoop loop = { .step = s->step, .parallel = s->flags & LFOR_PARALLEL };
    if (!c->fault) {
        loop.from = tessi_vm_scalar(c, s->a);
        loop.to = tessi_vm_scalar(c, s->b);
    }
    loop.var = tessi_vm_scalar_slot(c, TYPE_INDEX);
    c->var[s->var.v] = (VmVar){ .slot = loop.var };
    VEC_PUSH(c->a, &c->code->loops, loop);
    tessi_vm_emit(c, VM_LOOP)->imm = c->code->loops.n - 1;
    return c->code->loops.n - 1;
}

static void scalar_loop(VmCompile *c, const LStmt *s, const char *why)
{
    const uint32_t n = open_loop(c, s);
    c->code->loops.at[n].body = here(c);
    c->code->loops.at[n].scalar = why;
    compile_block(c, &s->body);
    c->code->loops.at[n].end = here(c);
}

/* How many points a strip has, and so where all of it lies. */
static void lay_out(VmCompile *c, VmLoop *loop)
{
    uint64_t lanes = VM_STRIP_BYTES / (c->strip_units ? c->strip_units : 1);
    lanes = lanes < VM_LEAST_STRIP ? VM_LEAST_STRIP : lanes > VM_MOST_STRIP ? VM_MOST_STRIP : lanes;
    loop->lanes = (uint32_t)(lanes / VM_LEAST_STRIP * VM_LEAST_STRIP);
    /* Memory of views stands behind the strips. */
    loop->view_at = c->strip_units * loop->lanes;
    loop->strip_bytes = loop->view_at + c->view_units * loop->lanes;
    if (c->code->strip_bytes < loop->strip_bytes)
        c->code->strip_bytes = loop->strip_bytes;
}

/* What is done once stands before the body. */
static void insert_before(VmCompile *c, VmLoop *loop, uint32_t body)
{
    const uint32_t n = c->before.n, all = here(c);
    if (!n) {
        loop->body = body;
        loop->end = all;
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        tessi_vm_emit(c, VM_JUMP);
    VmIns *ins = c->code->ins.at;
    memmove(ins + body + n, ins + body, (all - body) * sizeof *ins);
    memcpy(ins + body, c->before.at, n * sizeof *ins);
    for (uint32_t i = body + n; i < all + n; i++)
        if (ins[i].code == VM_IF || ins[i].code == VM_JUMP)
            ins[i].imm += n;
    for (uint32_t l = (uint32_t)(loop - c->code->loops.at) + 1; l < c->code->loops.n; l++) {
        c->code->loops.at[l].body += n;
        c->code->loops.at[l].end += n;
    }
    loop->body = body + n;
    loop->end = here(c);
}

static void begin_strips(VmCompile *c, const LStmt *s, uint32_t loop)
{
    c->in_strip = true;
    c->strip_stamp++;
    c->fault = NULL;
    c->x = s->var;
    c->loop = loop;
    c->strip_units = c->view_units = 0;
    for (int w = 0; w < VM_WIDTHS; w++)
        c->free_strips[w].n = c->free_views[w].n = 0;
    c->free_views[VM_WIDTHS].n = 0;
    c->before.n = c->rows.n = c->spreads.n = 0;
    tessi_vm_note_stores(c, &s->body);
}

/* Why the loop cannot be taken in strips; then nothing of it is left. */
static const char *strip_loop(VmCompile *c, const LStmt *s)
{
    const VmCode *code = c->code;
    const uint32_t ins = code->ins.n, addresses = code->addresses.n, taps = code->taps.n,
                   loops = code->loops.n, moves = code->moves.n;
    const uint32_t n = open_loop(c, s), body = here(c);
    c->first_slot = code->slots.n;
    begin_strips(c, s, n);
    compile_block(c, &s->body);
    c->in_strip = false;
    c->first_slot = 0;
    if (c->fault) {
        c->code->ins.n = ins;
        c->code->addresses.n = addresses;
        c->code->taps.n = taps;
        c->code->loops.n = loops;
        c->code->moves.n = moves;
        const char *why = c->fault;
        c->fault = NULL;
        return why;
    }
    VmLoop *loop = &c->code->loops.at[n];
    loop->strip = true;
    insert_before(c, loop, body);
    lay_out(c, loop);
    return NULL;
}

/* A loop that has another one over points in it is left to that. */
static void loop(VmCompile *c, const LStmt *s)
{
    if (c->in_strip) {
        scalar_loop(c, s, NULL);
        return;
    }
    const char *why = s->flags & LFOR_SIMD ? NULL : tessi_vm_dependent(c, s);
    if (!why && tessi_vm_has_points(c, &s->body)) {
        scalar_loop(c, s, NULL);
        return;
    }
    if (!why)
        why = strip_loop(c, s);
    if (why)
        scalar_loop(c, s, s->flags & LFOR_SIMD ? why : NULL);
}

/* ---- Blocks ------------------------------------------------------------------------------------ */

static void statement(VmCompile *c, const LStmt *s)
{
    switch (s->kind) {
    case LSTMT_FOR: loop(c, s); break;
    case LSTMT_IF: condition(c, s); break;
    case LSTMT_LET:
    case LSTMT_VAR: define(c, s); break;
    case LSTMT_SET: set(c, s); break;
    case LSTMT_STORE:
    case LSTMT_ADD: store(c, s); break;
    case LSTMT_LOCAL: bring_local(c, s); break;
    case LSTMT_SORT: sort(c, s); break;
    case LSTMT_MOVE: move(c, s); break;
    case LSTMT_SHIFT: /* refused */
    case LSTMT_PRODUCT:
    case LSTMT_PREFETCH:
    case LSTMT_COMMENT: break;
    }
}

static void compile_block(VmCompile *c, const LBlock *block)
{
    const VmVars *ends = c->in_strip ? tessi_vm_last_uses(c, block) : NULL;
    for (uint32_t i = 0; i < block->n && !c->fault; i++) {
        statement(c, block->at[i]);
        for (uint32_t k = 0; ends && k < ends[i].n; k++) {
            VmVar *v = &c->var[ends[i].at[k].v];
            if (v->lanes && v->owns && !c->fault)
                tessi_vm_give_back(c, v->slot);
            v->owns = false;
        }
    }
}

static void compile_function(VmCompile *c, const LFunction *f)
{
    VmFunction function = { .first = here(c), .first_byte = 8 * c->n_scalars };
    c->function = f;
    compile_block(c, &f->body);
    function.end = here(c);
    function.end_byte = 8 * c->n_scalars;
    VEC_PUSH(c->a, &c->code->functions, function);
}

/* The constants of a table as they lie in memory. */
static unsigned char *table_of(Arena *a, const LBuffer *b)
{
    const size_t bytes = tessi_type_info(b->type)->bytes;
    unsigned char *table = b->kind == LBUF_TABLE ? tessi_alloc_array(a, b->n_table, bytes) : NULL;
    for (uint32_t i = 0; table && i < b->n_table; i++)
        tessi_store_element(b->type, table + i * bytes, b->table[i]);
    return table;
}

VmCode *tessi_vm_compile(Arena *a, const LoopProgram *p, const VmKernels *k)
{
    VmCode *code = ARENA_NEW(a, VmCode);
    VmCompile c = { .a = a,
                    .code = code,
                    .p = p,
                    .k = k,
                    .var = ARENA_NEW_ARRAY(a, VmVar, p->vars.n),
                    .value = ARENA_NEW_ARRAY(a, VmValue, p->exprs.n),
                    .touched = ARENA_NEW_ARRAY(a, VmTouched, p->buffers.n),
                    .looked_at = ARENA_NEW_ARRAY(a, uint32_t, p->exprs.n),
                    .declared = ARENA_NEW_ARRAY(a, uint32_t, p->vars.n),
                    .used_at = ARENA_NEW_ARRAY(a, uint32_t, p->exprs.n),
                    .last_use = ARENA_NEW_ARRAY(a, uint32_t, p->vars.n),
                    .stored = ARENA_NEW_ARRAY(a, uint32_t, p->buffers.n),
                    .expanded = ARENA_NEW_ARRAY(a, uint32_t, p->buffers.n) };
    code->p = p;
    code->k = k;
    code->layout = tessi_loop_layout(p, a);
    code->local = ARENA_NEW_ARRAY(a, VmLocal, p->buffers.n);
    code->param = ARENA_NEW_ARRAY(a, uint32_t, p->params.n + 1);
    code->scalar = ARENA_NEW_ARRAY(a, uint32_t, p->scalars.n + 1);
    code->table = ARENA_NEW_ARRAY(a, unsigned char *, p->buffers.n);
    for (uint32_t i = 1; i < p->buffers.n; i++)
        code->table[i] = table_of(a, &p->buffers.at[i]);
    VEC_PUSH(a, &code->slots, ((VmSlot){ 0 }));
    VEC_FOREACH (const LFunction, f, &p->functions)
        compile_function(&c, f);
    code->frame_bytes = 8 * (uint64_t)c.n_scalars;
    return code;
}

static bool has_kernels(const LBlock *block)
{
    for (uint32_t i = 0; i < block->n; i++) {
        const LStmt *s = block->at[i];
        if (s->kind == LSTMT_SHIFT || s->kind == LSTMT_PRODUCT
            || (s->flags & (LFOR_GRID | LFOR_THREAD) && s->kind == LSTMT_FOR)
            || has_kernels(&s->body) || has_kernels(&s->orelse))
            return true;
    }
    return false;
}

const char *tessi_vm_refuses(const LoopProgram *p)
{
    VEC_FOREACH (const LFunction, f, &p->functions)
        if (f->is_kernel || has_kernels(&f->body))
            return "the strip machine runs on the processor: a plan for a GPU is not for it";
    for (uint32_t i = 1; i < p->exprs.n; i++)
        if (p->exprs.at[i].lanes || p->exprs.at[i].kind == LEXPR_LANES
            || p->exprs.at[i].kind == LEXPR_VECTORS)
            return "the strip machine makes strips of loops itself: these loops are made of "
                   "vectors";
    return NULL;
}
