/* Open loops, and the placing of LETs. While a body is put together its expressions are a graph with sharing;
 * placing turns it into statements: a value used more than once, or one that does not change in the loops around its
 * use, becomes a LET in the outermost open scope that has all it depends on. A FOR is appended to its parent when it
 * closes, so a LET appended to an outer scope meanwhile stands before the loop. */
#include <stdlib.h>

#include "loop/loop_private.h"
#include "loop/lower_state.h"

/* ---- What is known of an expression ---------------------------------------------------------- */

Known *tessi_known(Lower *l, LExprId id)
{
    while (l->known.n <= id.v) { /* operands have smaller ids */
        const LExpr *e = &l->p->exprs.at[l->known.n];
        Known k = { .varies = e->kind == LEXPR_VAR };
        for (int i = 0; i < e->n_args; i++)
            k.varies = k.varies || l->known.at[e->arg[i].v].varies;
        VEC_PUSH(l->scratch, &l->known, k);
    }
    return &l->known.at[id.v];
}

void tessi_pin(Lower *l, LExprId id, uint32_t depth)
{
    Known *k = tessi_known(l, id);
    if (k->pin < depth)
        k->pin = depth;
}

void tessi_hint(Lower *l, LExprId id, const char *name)
{
    Known *k = tessi_known(l, id);
    if (!k->hint)
        k->hint = name;
}

static void set_level(Lower *l, LVarId v, uint32_t level)
{
    while (l->var_level_cap <= v.v) {
        uint32_t used = l->var_level_cap;
        l->var_level =
            tessi_vec_grow(l->scratch, l->var_level, used, &l->var_level_cap, sizeof *l->var_level);
    }
    l->var_level[v.v] = level;
}

static LVarId new_var(Lower *l, const char *name, ScalarType t, bool is_mutable, uint32_t level)
{
    const LVarId v = tessi_loop_var(l->p, name, t, is_mutable);
    set_level(l, v, level);
    return v;
}

/* ---- Scopes ---------------------------------------------------------------------------------- */

uint32_t tessi_scope_depth(const Lower *l)
{
    return l->scopes.n - 1;
}

static void open_scope(Lower *l, LStmt *stmt, LBlock *block)
{
    Scope s = { .stmt = stmt, .block = block };
    VEC_PUSH(l->scratch, &l->scopes, s);
}

void tessi_scope_function(Lower *l, LBlock *block)
{
    open_scope(l, NULL, block);
}

static LStmt *new_stmt(Lower *l, LStmtKind kind)
{
    LBlock alone = { 0 };
    return tessi_lstmt(l->p, &alone, kind);
}

LVarId tessi_scope_for(Lower *l, const char *name, LExprId from, LExprId to, int64_t step,
                       uint8_t flags)
{
    LExprId bounds[2] = { from, to };
    tessi_scope_place(l, bounds, 2);
    LStmt *s = new_stmt(l, LSTMT_FOR);
    s->a = bounds[0];
    s->b = bounds[1];
    s->step = step;
    s->flags = flags;
    open_scope(l, s, &s->body);
    s->var = new_var(l, name, TYPE_INDEX, false, tessi_scope_depth(l));
    return s->var;
}

LVarId tessi_scope_grid(Lower *l, const char *name, uint8_t axis, LExprId blocks)
{
    LStmt *s = new_stmt(l, LSTMT_FOR);
    s->a = tessi_l_int(l, 0);
    s->b = blocks; /* as it is: launchers compute it, outside of the kernel */
    s->axis = axis;
    s->flags = LFOR_PARALLEL | LFOR_GRID;
    open_scope(l, s, &s->body);
    s->var = new_var(l, name, TYPE_INDEX, false, tessi_scope_depth(l));
    return s->var;
}

/* The depth of the innermost scope whose variables a placed expression reads. */
static uint32_t decided_at(const Lower *l, LExprId id)
{
    const LExpr *e = tessi_lexpr(l->p, id);
    uint32_t level = e->kind != LEXPR_VAR                 ? 0
                     : l->p->vars.at[e->var.v].is_mutable ? tessi_scope_depth(l)
                                                          : l->var_level[e->var.v];
    for (int i = 0; i < e->n_args; i++) {
        const uint32_t arg = decided_at(l, e->arg[i]);
        level = arg > level ? arg : level;
    }
    return level;
}

void tessi_scope_if(Lower *l, LExprId condition)
{
    LStmt *s = new_stmt(l, LSTMT_IF);
    s->a = tessi_scope_place1(l, condition);
    const uint32_t decided = decided_at(l, s->a);
    open_scope(l, s, &s->body);
    l->scopes.at[l->scopes.n - 1].decided = decided;
}

void tessi_scope_names(Lower *l)
{
    open_scope(l, NULL, l->scopes.at[l->scopes.n - 1].block);
}

void tessi_scope_likely(Lower *l, LExprId condition)
{
    tessi_scope_if(l, condition);
    l->scopes.at[l->scopes.n - 1].stmt->flags |= LIF_LIKELY;
}

/* Forgets what is known in the innermost scope only. */
static void forget(Lower *l)
{
    Scope *s = &l->scopes.at[l->scopes.n - 1];
    for (uint32_t i = 0; i < s->undo.n; i++) {
        if (s->undo.at[i].cell)
            *s->undo.at[i].cell = 0;
        else
            l->known.at[s->undo.at[i].expr].let = 0;
    }
    s->undo.n = 0;
}

void tessi_scope_else(Lower *l)
{
    Scope *s = &l->scopes.at[l->scopes.n - 1];
    forget(l);
    s->block = &s->stmt->orelse;
}

void tessi_scope_close(Lower *l)
{
    Scope *s = &l->scopes.at[l->scopes.n - 1];
    forget(l);
    LStmt *stmt = s->stmt;
    l->scopes.n--;
    if (stmt)
        VEC_PUSH(l->arena, l->scopes.at[l->scopes.n - 1].block, stmt);
}

void tessi_scope_close_to(Lower *l, uint32_t depth)
{
    while (tessi_scope_depth(l) > depth)
        tessi_scope_close(l);
}

LStmt *tessi_scope_stmt(Lower *l, LStmtKind kind)
{
    return tessi_lstmt(l->p, l->scopes.at[l->scopes.n - 1].block, kind);
}

LStmt *tessi_scope_store(Lower *l, LBufferId to, const LExprId *index, uint8_t n, LExprId value)
{
    const LExpr *e = tessi_lexpr(l->p, value);
    if (e->kind == LEXPR_OP && e->op == OP_ROUND16 && l->p->buffers.at[to.v].type == TYPE_F16)
        value = e->arg[0]; /* which the store does */
    LStmt *s = tessi_scope_stmt(l, LSTMT_STORE);
    s->buffer = to;
    s->n_index = n;
    for (uint8_t d = 0; d < n; d++)
        s->index[d] = index[d];
    s->a = value;
    return s;
}

void tessi_scope_move(Lower *l, LBufferId to, LBufferId from, const LExprId *index, uint8_t n)
{
    LStmt *s = tessi_scope_stmt(l, LSTMT_MOVE);
    s->buffer = to;
    s->other = from;
    s->n_index = n;
    for (uint8_t d = 0; d < n; d++)
        s->index[d] = index[d];
}

LBufferId tessi_scope_local(Lower *l, const char *name, ScalarType t, uint8_t n_dims,
                            const int64_t *size)
{
    LBuffer b = { .name = name, .kind = LBUF_LOCAL, .type = t, .n_dims = n_dims };
    for (uint8_t d = 0; d < n_dims; d++)
        b.size[d] = tessi_l_int(l, size[d]);
    const LBufferId id = tessi_loop_buffer(l->p, &b);
    tessi_scope_stmt(l, LSTMT_LOCAL)->buffer = id;
    return id;
}

LVarId tessi_scope_var(Lower *l, const char *name, ScalarType t, LExprId start)
{
    start = tessi_scope_place1(l, start);
    LVarId v = new_var(l, name, t, true, tessi_scope_depth(l));
    LStmt *s = tessi_scope_stmt(l, LSTMT_VAR);
    s->var = v;
    s->a = start;
    return v;
}

LExprId tessi_scope_let(Lower *l, const char *name, LExprId value)
{
    value = tessi_scope_place1(l, value);
    LVarId v = new_var(l, name, tessi_lexpr(l->p, value)->type, false, tessi_scope_depth(l));
    LStmt *s = tessi_scope_stmt(l, LSTMT_LET);
    s->var = v;
    s->a = value;
    return tessi_lexpr_var(l->p, v);
}

LExprId tessi_scope_here(Lower *l, const char *name, LExprId value)
{
    LExprId var = tessi_scope_let(l, name, value);
    LBlock *block = l->scopes.at[l->scopes.n - 1].block;
    block->at[block->n - 1]->flags |= LLET_HERE;
    return var;
}

LExprId tessi_scope_after(Lower *l, const char *name, LExprId value, LExprId after)
{
    after = tessi_scope_place1(l, after);
    LExprId var = tessi_scope_let(l, name, value);
    LBlock *block = l->scopes.at[l->scopes.n - 1].block;
    block->at[block->n - 1]->flags |= LLET_AFTER;
    block->at[block->n - 1]->b = after;
    return var;
}

LExprId tessi_scope_keep(Lower *l, const char *name, LExprId value)
{
    LExprId var = tessi_scope_let(l, name, value);
    LBlock *block = l->scopes.at[l->scopes.n - 1].block;
    block->at[block->n - 1]->flags |= LLET_KEPT;
    return var;
}

void tessi_scope_open(Lower *l, LStmt *s)
{
    open_scope(l, s, &s->body);
}

void tessi_scope_append(Lower *l, LStmt *s)
{
    VEC_PUSH(l->arena, l->scopes.at[l->scopes.n - 1].block, s);
}

void tessi_scope_own(Lower *l, LVarId v)
{
    set_level(l, v, tessi_scope_depth(l));
}

void tessi_scope_remember(Lower *l, uint32_t *cell)
{
    Undo u = { .cell = cell };
    VEC_PUSH(l->scratch, &l->scopes.at[l->scopes.n - 1].undo, u);
}

/* ---- Placing --------------------------------------------------------------------------------- */

/* Where a value of this level can stand: an IF is not left behind, so that what it guards is not computed in vain. */
static uint32_t home(const Lower *l, uint32_t level)
{
    while (level < tessi_scope_depth(l) && l->scopes.at[level + 1].stmt
           && l->scopes.at[level + 1].stmt->kind == LSTMT_IF)
        level++;
    return level;
}

/* Where a load of this level can stand: an IF that is decided there already may say whether there is the element. */
static uint32_t home_of_load(const Lower *l, uint32_t level)
{
    for (uint32_t d = tessi_scope_depth(l); d > level; d--) {
        const Scope *s = &l->scopes.at[d];
        if (s->stmt && s->stmt->kind == LSTMT_IF && s->decided <= level)
            return d;
    }
    return level;
}

static bool is_leaf(const LExpr *e)
{
    return e->kind == LEXPR_CONST || e->kind == LEXPR_VAR || e->kind == LEXPR_PARAM
           || e->kind == LEXPR_SCALAR;
}

/* Not worth a name: a leaf, or a leaf plus a leaf in an index. */
static bool is_trivial(const LoopProgram *p, const LExpr *e)
{
    if (is_leaf(e))
        return true;
    if (e->kind != LEXPR_OP || e->type != TYPE_INDEX || (e->op != OP_ADD && e->op != OP_SUB))
        return false;
    return is_leaf(tessi_lexpr(p, e->arg[0])) && is_leaf(tessi_lexpr(p, e->arg[1]));
}

static void gather(Lower *l, LExprId id, LExprList *list)
{
    Known *k = tessi_known(l, id);
    if (k->mark == l->generation)
        return;
    k->mark = l->generation;
    k->uses = 0;
    k->use_level = 0;
    k->moved = k->let;
    VEC_PUSH(l->scratch, list, id);
}

static int by_id(const void *a, const void *b)
{
    uint32_t x = ((const LExprId *)a)->v, y = ((const LExprId *)b)->v;
    return (x > y) - (x < y);
}

/* The depth of the innermost scope that an expression depends on; its operands are known. */
static uint32_t level_of(const Lower *l, LExprId id)
{
    const LExpr *e =
        tessi_lexpr(l->p, (LExprId){ l->known.at[id.v].moved ? l->known.at[id.v].moved : id.v });
    if (e->kind == LEXPR_VAR) /* what a loop may change is not read before the loop */
        return l->p->vars.at[e->var.v].is_mutable ? tessi_scope_depth(l) : l->var_level[e->var.v];
    uint32_t level = 0;
    for (int i = 0; i < e->n_args; i++)
        if (l->known.at[e->arg[i].v].level > level)
            level = l->known.at[e->arg[i].v].level;
    if (e->kind == LEXPR_LOAD && e->n_args)
        level = home_of_load(l, level);
    const uint32_t pin = l->known.at[id.v].pin, depth = tessi_scope_depth(l);
    if (pin <= level)
        return level;
    return pin < depth ? pin : depth; /* of a scope that has closed: then it stays in this one */
}

static void add_use(Lower *l, LExprId id, uint32_t user_level)
{
    Known *k = &l->known.at[id.v];
    k->uses++;
    if (user_level > k->use_level)
        k->use_level = user_level;
}

/* The expression with its arguments replaced by what they have become. */
static LExprId rebuild(Lower *l, LExprId id)
{
    LExpr e = *tessi_lexpr(l->p, id);
    bool same = true;
    for (int i = 0; i < e.n_args; i++) {
        uint32_t to = l->known.at[e.arg[i].v].moved;
        same = same && to == e.arg[i].v;
        e.arg[i].v = to;
    }
    return same ? id : tessi_lexpr_with_args(l->p, &e, e.arg);
}

static uint32_t let_at(Lower *l, LExprId original, LExprId value, uint32_t level)
{
    const char *name = l->known.at[original.v].hint;
    LVarId v = new_var(l, name ? name : "t", tessi_lexpr(l->p, value)->type, false, level);
    LStmt *s = tessi_lstmt(l->p, l->scopes.at[level].block, LSTMT_LET);
    s->var = v;
    s->a = value;
    LExprId var = tessi_lexpr_var(l->p, v);
    tessi_known(l, var);
    l->known.at[original.v].let = var.v;
    Undo u = { .expr = original.v };
    VEC_PUSH(l->scratch, &l->scopes.at[level].undo, u);
    return var.v;
}

void tessi_scope_define(Lower *l, LExprId original, LExprId value)
{
    tessi_known(l, original);
    let_at(l, original, value, tessi_scope_depth(l));
}

LExprList tessi_scope_reach(Lower *l, const LExprId *root, uint32_t n)
{
    LExprList list = { 0 };
    l->generation++;
    for (uint32_t i = 0; i < n; i++)
        gather(l, root[i], &list);
    for (uint32_t next = 0; next < list.n; next++) {
        LExprId id = list.at[next];
        if (l->known.at[id.v].moved)
            continue; /* has its LET already */
        const LExpr *e = tessi_lexpr(l->p, id);
        for (int i = 0; i < e->n_args; i++)
            gather(l, e->arg[i], &list);
    }
    if (list.n)
        qsort(list.at, list.n, sizeof *list.at, by_id);
    return list;
}

/* Counts the uses of each, and finds the first turn in which it is needed. */
static void count_uses(Lower *l, const LExprList *list, const LExprId *root, uint32_t n,
                       const Turns *turns)
{
    uint32_t depth = tessi_scope_depth(l);
    for (uint32_t next = 0; next < list->n; next++)
        l->known.at[list->at[next].v].turn = UINT32_MAX;
    for (uint32_t i = n; i-- > 0;) {
        add_use(l, root[i], depth);
        l->known.at[root[i].v].turn = i / turns->roots;
    }
    for (uint32_t next = list->n; next-- > 0;) {
        Known *k = &l->known.at[list->at[next].v];
        const LExpr *e = tessi_lexpr(l->p, list->at[next]);
        if (turns->loads_first && e->kind == LEXPR_LOAD)
            k->turn = 0;
        for (int i = 0; i < e->n_args && !k->moved; i++) {
            Known *arg = &l->known.at[e->arg[i].v];
            add_use(l, e->arg[i], k->level);
            arg->turn = k->turn < arg->turn ? k->turn : arg->turn;
        }
    }
}

/* Notes what is written for the expression, whose arguments are placed. */
static void measure(Lower *l, LExprId id)
{
    const LExpr *e = tessi_lexpr(l->p, id);
    Known *k = &l->known.at[id.v];
    k->nodes = 1;
    k->height = 0;
    for (int i = 0; i < e->n_args; i++) {
        const Known *arg = &l->known.at[e->arg[i].v];
        k->nodes += arg->nodes;
        k->height = arg->height > k->height ? arg->height : k->height;
    }
    k->height++;
}

/* A statement has room for several of these. */
static bool is_large(const Known *k)
{
    return k->nodes > LOOP_MAX_EXPR_NODES / 16 || k->height > LOOP_MAX_EXPR_DEPTH / 4;
}

static void place_one(Lower *l, LExprId id)
{
    if (l->known.at[id.v].moved) {
        l->known.at[id.v].nodes = l->known.at[id.v].height = 1;
        return;
    }
    LExprId value = rebuild(l, id);
    measure(l, id);
    const Known k = l->known.at[id.v];
    bool named = (k.uses > 1 || k.use_level > k.level || is_large(&k))
                 && !is_trivial(l->p, tessi_lexpr(l->p, value));
    if (named)
        l->known.at[id.v].nodes = l->known.at[id.v].height = 1;
    l->known.at[id.v].moved = named ? let_at(l, id, value, k.level) : value.v;
}

void tessi_scope_place_in_turns(Lower *l, LExprId *root, uint32_t n, const Turns *turns)
{
    LExprList list = tessi_scope_reach(l, root, n), later = { 0 };
    for (uint32_t next = 0; next < list.n; next++)
        l->known.at[list.at[next].v].level = home(l, level_of(l, list.at[next]));
    count_uses(l, &list, root, n, turns);
    for (uint32_t first = 0; first < n; first += turns->roots) {
        later.n = 0;
        for (uint32_t next = 0; next < list.n; next++) {
            if (l->known.at[list.at[next].v].turn == first / turns->roots)
                place_one(l, list.at[next]);
            else
                VEC_PUSH(l->scratch, &later, list.at[next]);
        }
        LExprList done = list;
        list = later;
        later = done;
        uint32_t end = n - first < turns->roots ? n : first + turns->roots;
        for (uint32_t i = first; i < end; i++)
            root[i].v = l->known.at[root[i].v].moved;
        if (turns->then)
            turns->then(turns->user, root + first);
    }
}

void tessi_scope_place(Lower *l, LExprId *root, uint32_t n)
{
    const Turns all = { .roots = n };
    if (n)
        tessi_scope_place_in_turns(l, root, n, &all);
}

LExprId tessi_scope_place1(Lower *l, LExprId root)
{
    tessi_scope_place(l, &root, 1);
    return root;
}
