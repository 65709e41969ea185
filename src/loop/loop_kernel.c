/* Kernels: the rules that loops of grids and threads obey beyond those of all loops, and the sizes of a launch. */
#include "loop/pass.h"

/* ---- Sizes of a run -------------------------------------------------------------------------- */

static bool size_op(Op op, int64_t a, int64_t b, int64_t *out)
{
    switch (op) {
    case OP_NEG: return tessi_sub_i64(0, a, out);
    case OP_ADD: return tessi_add_i64(a, b, out);
    case OP_SUB: return tessi_sub_i64(a, b, out);
    case OP_MUL: return tessi_mul_i64(a, b, out);
    case OP_FLOORDIV:
    case OP_FLOORMOD:
        if (b < 1)
            return false;
        break;
    default: break;
    }
    Value args[3] = { tessi_value_int(a), tessi_value_int(b) };
    *out = tessi_eval(op, TYPE_INDEX, args).i;
    return true;
}

bool tessi_loop_eval_size(const LoopProgram *p, LExprId id, const int64_t *params, int64_t *value)
{
    const LExpr *e = tessi_lexpr(p, id);
    int64_t arg[LOOP_MAX_DIMS] = { 0 };
    switch (e->kind) {
    case LEXPR_CONST: *value = e->value.i; return true;
    case LEXPR_PARAM: *value = params[e->ref]; return true;
    case LEXPR_OP:
        for (int i = 0; i < e->n_args; i++)
            if (!tessi_loop_eval_size(p, e->arg[i], params, &arg[i]))
                return false;
        if (e->op == OP_SELECT) {
            *value = arg[0] ? arg[1] : arg[2];
            return true;
        }
        return size_op(e->op, arg[0], arg[1], value);
    default: return false;
    }
}

/* ---- Rules ----------------------------------------------------------------------------------- */

enum { MOST_THREADS = 1024 };

typedef struct KernelCheck {
    const LoopProgram *p;
    const LFunction *f;
    bool one_thread; /* blocks are of one thread: it executes everything */
    /* the thread loop around gives each thread of the block, a line, one iteration */
    bool line_of_threads;
    bool branch;                          /* an IF or a loop stands between it and the statement */
    bool diverges;                        /* and it may be that not all threads take it alike */
    unsigned threads_around, grid_around; /* axes, as bits */
    bool below_grid;                      /* some statement that is no grid loop stands around */
} KernelCheck;

static const char *fault(const KernelCheck *c, const char *what)
{
    return tessi_sprintf(c->p->arena, "kernel '%s': %s", c->f->name ? c->f->name : "", what);
}

static bool is_constant(const LoopProgram *p, LExprId id, int64_t value)
{
    const LExpr *e = tessi_lexpr(p, id);
    return e->kind == LEXPR_CONST && e->value.i == value;
}

static bool runs_over_grid(const KernelCheck *c, const LStmt *s)
{
    LExprId blocks = c->f->grid[s->axis];
    return is_constant(c->p, s->a, 0) && s->step == 1
           && (blocks.v ? s->b.v == blocks.v : is_constant(c->p, s->b, 1));
}

static bool loads_local(const LoopProgram *p, LExprId id)
{
    PASS_PARTS (e, p, NULL, 0, id)
        if (e->kind == LEXPR_LOAD && p->buffers.at[e->buffer.v].kind == LBUF_LOCAL)
            return true;
    return false;
}

static bool is_held(const KernelCheck *c, LBufferId b)
{
    return b.v && c->p->buffers.at[b.v].held;
}

/* Held buffers are used where each thread is what it was in the loops before. */
static const char *check_held(const KernelCheck *c, const LStmt *s)
{
    bool held = is_held(c, s->buffer) || is_held(c, s->other);
    PASS_STMT_PARTS (e, c->p, NULL, 0, s)
        held = held || (e->kind == LEXPR_LOAD && is_held(c, e->buffer));
    if (held && !c->line_of_threads)
        return fault(c, "a held buffer is used where threads have not one iteration each");
    if (s->kind == LSTMT_PRODUCT
        && (!c->line_of_threads || c->diverges || c->f->block[0] % LOOP_WARP))
        return fault(c, "a product is not taken by whole warps");
    if (s->kind == LSTMT_SHIFT && (c->branch || c->f->block[0] % LOOP_WARP))
        return fault(c, "a shift is not executed by whole warps");
    return NULL;
}

static const char *check_grid(const KernelCheck *c, const LStmt *s)
{
    if (c->below_grid || c->threads_around)
        return fault(c, "a grid loop does not stand outermost");
    if (s->flags & LFOR_THREAD)
        return fault(c, "a loop is of the grid and of the threads");
    if (c->grid_around >> s->axis & 1)
        return fault(c, "two grid loops run along one axis");
    if (!runs_over_grid(c, s))
        return fault(c, "a grid loop does not run over the grid");
    return NULL;
}

static const char *check_thread(const KernelCheck *c, const LStmt *s)
{
    if (c->threads_around >> s->axis & 1)
        return fault(c, "two thread loops inside each other run along one axis");
    if (!is_constant(c->p, s->a, 0) || s->step != 1)
        return fault(c, "a thread loop does not begin at 0 or not step by 1");
    return NULL;
}

static bool covers_block(const KernelCheck *c)
{
    for (int axis = 0; axis < LOOP_MAX_AXES; axis++)
        if (c->f->block[axis] > 1 && !(c->threads_around >> axis & 1))
            return false;
    return true;
}

static const char *check_kernel_block(KernelCheck *c, const LBlock *block);

static const char *check_kernel_for(KernelCheck *c, const LStmt *s)
{
    const KernelCheck before = *c;
    const char *wrong = NULL;
    if (s->flags & LFOR_GRID)
        wrong = check_grid(c, s);
    else if (s->flags & LFOR_THREAD)
        wrong = check_thread(c, s);
    else if (!c->threads_around && (loads_local(c->p, s->a) || loads_local(c->p, s->b)))
        wrong = fault(c, "a loop around threads depends on what one of them stored");
    if (wrong)
        return wrong;
    if (s->flags & LFOR_GRID)
        c->grid_around |= 1u << s->axis;
    else
        c->below_grid = true;
    c->branch = c->branch || (c->threads_around && !(s->flags & LFOR_THREAD));
    c->diverges = c->diverges
                  || (c->threads_around
                      && (tessi_lexpr(c->p, s->a)->kind != LEXPR_CONST
                          || tessi_lexpr(c->p, s->b)->kind != LEXPR_CONST));
    if (s->flags & LFOR_THREAD) {
        c->threads_around |= 1u << s->axis;
        c->line_of_threads = s->axis == 0 && is_constant(c->p, s->b, c->f->block[0])
                             && c->f->block[1] == 1 && c->f->block[2] == 1;
    }
    wrong = check_kernel_block(c, &s->body);
    *c = before;
    return wrong;
}

static const char *check_kernel_stmt(KernelCheck *c, const LStmt *s)
{
    const char *wrong = s->kind == LSTMT_LOCAL ? NULL : check_held(c, s);
    if (wrong)
        return wrong;
    switch (s->kind) {
    case LSTMT_FOR: return check_kernel_for(c, s);
    case LSTMT_IF: {
        const KernelCheck before = *c;
        if (!c->threads_around && loads_local(c->p, s->a))
            return fault(c, "a condition around threads depends on what one of them stored");
        c->below_grid = true;
        c->branch = c->branch || c->threads_around;
        c->diverges = c->diverges || c->threads_around;
        wrong = check_kernel_block(c, &s->body);
        if (!wrong)
            wrong = check_kernel_block(c, &s->orelse);
        *c = before;
        return wrong;
    }
    case LSTMT_LET:
    case LSTMT_VAR:
    case LSTMT_SET:
        return !c->one_thread && !c->threads_around && loads_local(c->p, s->a)
                   ? fault(c, "a value outside of thread loops depends on what one stored")
                   : NULL;
    case LSTMT_STORE:
    case LSTMT_ADD:
    case LSTMT_MOVE:
    case LSTMT_SHIFT:
    case LSTMT_PRODUCT:
    case LSTMT_PREFETCH:
    case LSTMT_SORT: return covers_block(c) ? NULL : fault(c, "several threads execute one store");
    case LSTMT_LOCAL:
        return is_held(c, s->buffer) && c->threads_around
                   ? fault(c, "a held buffer is brought into being by a thread")
                   : NULL;
    case LSTMT_COMMENT: return NULL;
    }
    return NULL;
}

static const char *check_kernel_block(KernelCheck *c, const LBlock *block)
{
    for (uint32_t i = 0; i < block->n; i++) {
        const char *wrong = check_kernel_stmt(c, block->at[i]);
        if (wrong)
            return wrong;
    }
    return NULL;
}

/* Loops of kernels, or what their threads hold. */
static bool has_threads(const LoopProgram *p, const LBlock *block)
{
    PASS_FOREACH (s, block)
        if ((s->kind == LSTMT_FOR && (s->flags & (LFOR_GRID | LFOR_THREAD)))
            || (s->kind == LSTMT_LOCAL && p->buffers.at[s->buffer.v].held))
            return true;
    return false;
}

const char *tessi_loop_verify_kernel(const LoopProgram *p, const LFunction *f)
{
    KernelCheck c = { .p = p, .f = f, .one_thread = true };
    if (!f->is_kernel)
        return has_threads(p, &f->body) ? fault(&c, "it has loops of kernels and is none") : NULL;
    uint64_t threads = 1;
    for (int axis = 0; axis < LOOP_MAX_AXES; axis++) {
        if (!f->block[axis] || f->block[axis] > MOST_THREADS || f->grid[axis].v >= p->exprs.n)
            return fault(&c, "its grid or block has no size");
        threads *= f->block[axis];
    }
    if (threads > MOST_THREADS)
        return fault(&c, "a block has more than 1024 threads");
    if (threads * f->resident > 2 * MOST_THREADS)
        return fault(&c, "more than 2048 threads are to fit a multiprocessor");
    c.one_thread = threads == 1;
    return check_kernel_block(&c, &f->body);
}
