/* Inside lowering: what medians of wide windows on CPUs and on GPUs share, with short forms of the constructors for
 * both. */
#ifndef TESSERA_LOOP_LOWER_MEDIAN_H
#define TESSERA_LOOP_LOWER_MEDIAN_H

#include "graph/graph_transform.h"
#include "loop/lower_parts.h"

enum { HALF = 4, BINS = 1 << HALF }; /* bits of a value that are looked at a time */

/* A table of the powers of two of a key's bits, the highest first. */
LBufferId tessi_median_bits(Lower *l, const char *stage, ScalarType key);

static inline LExprId number(Lower *l, ScalarType t, int64_t i)
{
    return tessi_lexpr_const(l->p, t, tessi_value_int(i));
}

static inline LExprId i32(Lower *l, int64_t i)
{
    return number(l, TYPE_I32, i);
}

static inline LExprId i32_of(Lower *l, LExprId e)
{
    return tessi_lexpr_cast(l->p, TYPE_I32, e);
}

static inline LExprId index_of(Lower *l, LExprId i)
{
    return tessi_lexpr_cast(l->p, TYPE_INDEX, i);
}

static inline LExprId op(Lower *l, Op o, LExprId a, LExprId b)
{
    return tessi_l_op(l, o, a, b);
}

static inline LExprId add(Lower *l, LExprId a, int64_t b)
{
    return op(l, OP_ADD, a, tessi_l_int(l, b));
}

static inline LExprId var(Lower *l, LVarId v)
{
    return tessi_lexpr_var(l->p, v);
}

/* A value that changes, read here and not earlier. */
static inline LExprId now(Lower *l, const char *name, LExprId value)
{
    return tessi_scope_let(l, name, value);
}

static inline LExprId loop(Lower *l, const char *name, LExprId from, LExprId to, uint8_t flags)
{
    return var(l, tessi_scope_for(l, name, from, to, 1, flags));
}

static inline LExprId count_to(Lower *l, const char *name, int64_t n, uint8_t flags)
{
    return loop(l, name, tessi_l_int(l, 0), tessi_l_int(l, n), flags);
}

static inline void close(Lower *l, int n)
{
    while (n-- > 0)
        tessi_scope_close(l);
}

/* Brings an array of the stage into being; in a kernel, of the block. */
static inline LBufferId local(Lower *l, const Stage *s, const char *name, ScalarType t,
                              int64_t rows, int64_t cols)
{
    LBuffer b = { .name = tessi_sprintf(l->arena, "%s_%s", s->name, name),
                  .kind = LBUF_LOCAL,
                  .type = t,
                  .n_dims = 2,
                  .size = { tessi_l_int(l, rows), tessi_l_int(l, cols) } };
    LBufferId id = tessi_loop_buffer(l->p, &b);
    tessi_scope_stmt(l, LSTMT_LOCAL)->buffer = id;
    return id;
}

static inline LExprId load(Lower *l, LBufferId b, LExprId row, LExprId col)
{
    return tessi_lexpr_load(l->p, b, (LExprId[]){ row, col }, 2);
}

/* Stores, or for LSTMT_ADD adds. */
static inline void put(Lower *l, LStmtKind kind, LBufferId b, LExprId row, LExprId col,
                       LExprId value)
{
    LStmt *s = tessi_scope_stmt(l, kind);
    s->buffer = b;
    s->n_index = 2;
    s->index[0] = row;
    s->index[1] = col;
    s->a = value;
}

#endif
