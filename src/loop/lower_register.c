/* Register tiles: each thread computes several columns and rows of points, straight-line, so that neighbours share what they read and
 * rows move as vectors.
 *
 *   for blocks: if the block with its halo lies inside (split interior): tiles without border rules
 *               else, by thread: if its tile is whole: the tile, halo columns and rows answered by their rules once a tile
 *                                else the points of it that there are, one by one */
#include "loop/lower_parts.h"

typedef struct Tiles {
    Lower *l;
    const Nest *nest;
    const PlanGroup *group;
    LExprId block_y, block_x; /* first row and column of the block */
    uint32_t rows, columns;   /* of a thread's tile */
} Tiles;

/* ---- Points of a tile ------------------------------------------------------------------------------------------------------- */

/* The coordinate first + k of a whole tile of `n` points along dimension d. */
static Coord tile_coord(const Tiles *t, uint8_t d, LExprId first, uint32_t k, uint32_t n)
{
    LExprId at = tessi_l_op(t->l, OP_ADD, first, tessi_l_int(t->l, k));
    Coord c = tessi_nest_coord(t->nest, d, at);
    c.lo = c.hi = k;
    c.less = (int64_t)n - 1;
    return c;
}

static void whole_tile(const Tiles *t, LExprId y, LExprId x, bool inside)
{
    Lower *l = t->l;
    l->inside_last = l->inside_rows = inside;
    l->guard_depth = tessi_scope_depth(l);
    typedef Coord Point[MAX_DIMS];
    Point *coord = ARENA_NEW_ARRAY(l->arena, Point, t->rows * t->columns);
    for (uint32_t r = 0; r < t->rows; r++) {
        for (uint32_t c = 0; c < t->columns; c++) {
            coord[r * t->columns + c][0] = tile_coord(t, 0, y, r, t->rows);
            coord[r * t->columns + c][1] = tile_coord(t, 1, x, c, t->columns);
        }
    }
    t->nest->tile(l, t->nest, coord, t->rows, t->columns);
    l->inside_last = l->inside_rows = false;
}

/* for rows, for columns: the point, every read tested. */
static void points_of_tile(const Tiles *t, LExprId y, LExprId x)
{
    Lower *l = t->l;
    LExprId first[2] = { y, x };
    const uint32_t n[2] = { t->rows, t->columns };
    Coord coord[MAX_DIMS] = { { .dim = -1 } };
    for (uint8_t d = 0; d < 2; d++) {
        LExprId end = tessi_l_op(l, OP_ADD, first[d], tessi_l_int(l, n[d]));
        end = tessi_l_op(l, OP_MIN, end, t->nest->to[d]);
        LVarId v = tessi_scope_for(l, tessi_dim_name(2, d), first[d], end, 1, LFOR_ROLLED);
        coord[d] = tessi_nest_coord(t->nest, d, tessi_lexpr_var(l->p, v));
    }
    t->nest->body(l, t->nest, coord, NULL);
    tessi_scope_close(l);
    tessi_scope_close(l);
}

/* ---- Threads --------------------------------------------------------------------------------------------------------------------- */

/* Opens the threads along a dimension; the first point of the thread's tile there. */
static LExprId open_threads(const Tiles *t, uint8_t d, LExprId block)
{
    Lower *l = t->l;
    uint8_t axis = d == 0;
    uint32_t n = d == 0 ? t->rows : t->columns;
    LExprId thread =
        tessi_kernel_threads(l, axis, axis ? "thread_y" : "thread_x", t->group->block[axis]);
    LExprId at = tessi_l_op(l, OP_MUL, thread, tessi_l_int(l, n));
    return tessi_scope_let(l, tessi_dim_name(2, d), tessi_l_op(l, OP_ADD, block, at));
}

static void tiles_inside(const Tiles *t)
{
    LExprId y = open_threads(t, 0, t->block_y), x = open_threads(t, 1, t->block_x);
    whole_tile(t, y, x, true);
    tessi_scope_close(t->l);
    tessi_scope_close(t->l);
}

static LExprId is_whole(const Tiles *t, uint8_t d, LExprId first)
{
    LExprId end = tessi_l_op(t->l, OP_ADD, first, tessi_l_int(t->l, d ? t->columns : t->rows));
    return tessi_l_op(t->l, OP_LE, end, t->nest->to[d]);
}

static void tiles_anywhere(const Tiles *t)
{
    Lower *l = t->l;
    LExprId y = open_threads(t, 0, t->block_y), x = open_threads(t, 1, t->block_x);
    LExprId whole = tessi_l_op(l, OP_AND, is_whole(t, 0, y), is_whole(t, 1, x));
    whole = tessi_scope_let(l, "whole", whole);
    tessi_scope_if(l, whole);
    whole_tile(t, y, x, false);
    tessi_scope_else(l);
    points_of_tile(t, y, x);
    tessi_scope_close(l);
    tessi_scope_close(l);
    tessi_scope_close(l);
}

/* ---- Blocks ---------------------------------------------------------------------------------------------------------------------- */

void tessi_kernel_register(Lower *l, const Nest *nest, const PlanGroup *group)
{
    Tiles t = { .l = l,
                .nest = nest,
                .group = group,
                .rows = group->outputs[1],
                .columns = group->outputs[0] };
    const int64_t height = (int64_t)group->block[1] * t.rows;
    const int64_t width = (int64_t)group->block[0] * t.columns;
    l->n_loop_dims = nest->n_dims;
    l->inside_last = l->inside_rows = false;
    LExprId y = tessi_kernel_grid(l, 1, "block_y", tessi_kernel_blocks(l, nest->to[0], height));
    LExprId x = tessi_kernel_grid(l, 0, "block_x", tessi_kernel_blocks(l, nest->to[1], width));
    t.block_y = tessi_l_op(l, OP_MUL, y, tessi_l_int(l, height));
    t.block_x = tessi_l_op(l, OP_MUL, x, tessi_l_int(l, width));
    if (group->split == SPLIT_INTERIOR) {
        const LExprId first[2] = { t.block_y, t.block_x };
        const int64_t reach[2] = { height - 1, width - 1 };
        tessi_scope_if(l, tessi_kernel_inside(l, nest, first, reach));
        tiles_inside(&t);
        tessi_scope_else(l);
        tiles_anywhere(&t);
        tessi_scope_close(l);
    } else {
        tiles_anywhere(&t);
    }
    tessi_scope_close(l);
    tessi_scope_close(l);
}

/* ---- Vectors ------------------------------------------------------------------------------------------------------------------------ */

enum { VECTOR_BYTES = 16 };

/* Elements that move at once; 1 when none do. */
static uint32_t vector_elements(const Lower *l, LBufferId id, uint32_t columns)
{
    const LBuffer *b = &l->p->buffers.at[id.v];
    uint32_t bytes = tessi_type_info(b->type)->bytes, n = VECTOR_BYTES / bytes;
    bool rows = b->kind == LBUF_TEMP;
    if (b->kind == LBUF_INPUT || b->kind == LBUF_OUTPUT) {
        const LImage *im =
            b->kind == LBUF_INPUT ? &l->p->inputs.at[b->image] : &l->p->outputs.at[b->image];
        rows = im->pixel_bytes == bytes && (b->type != TYPE_BOOL || b->kind == LBUF_OUTPUT);
    }
    if (!rows || b->n_dims < 2)
        return 1; /* pixels of several channels, any byte for `true`, or no row to be aligned */
    while (n > 1 && columns % n)
        n /= 2;
    return n;
}

/* index = x + c with 0 <= c < columns. */
static bool column_of(const Lower *l, LExprId index, LExprId x, uint32_t columns, uint32_t *c)
{
    *c = 0;
    if (index.v == x.v)
        return true;
    const LExpr *e = tessi_lexpr(l->p, index);
    if (e->kind != LEXPR_OP || e->op != OP_ADD || e->arg[0].v != x.v)
        return false;
    const LExpr *k = tessi_lexpr(l->p, e->arg[1]);
    if (k->kind != LEXPR_CONST || k->value.i < 0 || k->value.i >= columns)
        return false;
    *c = (uint32_t)k->value.i;
    return true;
}

/* Loads of one vector: of a buffer, in a row, from column `first` on. */
typedef struct VectorUse {
    LBufferId buffer;
    uint32_t first, n, n_found;
    LExprId load[VECTOR_BYTES]; /* by element; none = not loaded */
} VectorUse;
typedef VEC(VectorUse) VectorUses;

static bool same_row(const Lower *l, LExprId a, LExprId b)
{
    const LExpr *x = tessi_lexpr(l->p, a), *y = tessi_lexpr(l->p, b);
    for (int d = 0; d + 1 < x->n_args; d++)
        if (x->arg[d].v != y->arg[d].v)
            return false;
    return true;
}

static VectorUse *vector_use(Lower *l, VectorUses *uses, LExprId load, uint32_t first, uint32_t n)
{
    const LExpr *e = tessi_lexpr(l->p, load);
    VEC_FOREACH (VectorUse, u, uses) {
        LExprId some = { 0 };
        for (uint32_t k = 0; k < u->n && !some.v; k++)
            some = u->load[k];
        if (u->buffer.v == e->buffer.v && u->first == first && same_row(l, some, load))
            return u;
    }
    VEC_PUSH(l->arena, uses, ((VectorUse){ .buffer = e->buffer, .first = first, .n = n }));
    return &uses->at[uses->n - 1];
}

static LBufferId new_line(Lower *l, const char *name, ScalarType t, uint32_t n)
{
    LBuffer b = { .name = name, .kind = LBUF_LOCAL, .type = t, .n_dims = 1 };
    b.size[0] = tessi_l_int(l, n);
    LBufferId id = tessi_loop_buffer(l->p, &b);
    tessi_scope_stmt(l, LSTMT_LOCAL)->buffer = id;
    return id;
}

static void take(Lower *l, const VectorUse *u)
{
    const LExpr load = *tessi_lexpr(l->p, u->load[0]);
    const LBuffer b = l->p->buffers.at[u->buffer.v];
    LExprId index[MAX_DIMS];
    for (int d = 0; d < load.n_args; d++)
        index[d] = load.arg[d];
    tessi_scope_place(l, index, load.n_args);
    LBufferId line = new_line(l, tessi_sprintf(l->arena, "%s_line", b.name), b.type, u->n);
    LStmt *s = tessi_scope_stmt(l, LSTMT_MOVE);
    s->buffer = line;
    s->other = u->buffer;
    s->n_index = load.n_args;
    for (int d = 0; d < load.n_args; d++)
        s->index[d] = index[d];
    for (uint32_t k = 0; k < u->n; k++) {
        LExprId at = tessi_l_int(l, k);
        tessi_scope_define(l, u->load[k], tessi_lexpr_load(l->p, line, &at, 1));
    }
}

void tessi_tile_takes(Lower *l, const LExprId *root, uint32_t n, LExprId x, uint32_t columns)
{
    VectorUses uses = { 0 };
    LExprList list = tessi_scope_reach(l, root, n);
    for (uint32_t i = 0; i < list.n; i++) {
        const LExpr *e = tessi_lexpr(l->p, list.at[i]);
        uint32_t c;
        if (e->kind != LEXPR_LOAD || !e->n_args
            || !column_of(l, e->arg[e->n_args - 1], x, columns, &c))
            continue;
        uint32_t width = vector_elements(l, e->buffer, columns);
        if (width < 2)
            continue;
        VectorUse *u = vector_use(l, &uses, list.at[i], c / width * width, width);
        u->load[c % width] = list.at[i];
        u->n_found++;
    }
    VEC_FOREACH (const VectorUse, u, &uses)
        if (u->n_found == u->n)
            take(l, u);
}

void tessi_tile_gives(Lower *l, LBufferId to, const LExprId *index, uint8_t n_index,
                      const LExprId *value, uint32_t stride, uint32_t columns)
{
    const LBuffer b = l->p->buffers.at[to.v];
    uint32_t width = vector_elements(l, to, columns);
    LBufferId line = { 0 };
    for (uint32_t c = 0; c < columns; c++) {
        LExprId last = index[n_index - 1 + (size_t)c * stride];
        if (width > 1 && c % width == 0)
            line = new_line(l, tessi_sprintf(l->arena, "%s_line", b.name), b.type, width);
        LStmt *s = tessi_scope_stmt(l, LSTMT_STORE);
        s->a = value[(size_t)c * stride];
        s->buffer = width > 1 ? line : to;
        s->n_index = width > 1 ? 1 : n_index;
        for (uint8_t d = 0; d < n_index; d++)
            s->index[d] = d + 1 == n_index ? last : index[d];
        if (width > 1)
            s->index[0] = tessi_l_int(l, c % width);
        if (width < 2 || c % width != width - 1)
            continue;
        LStmt *move = tessi_scope_stmt(l, LSTMT_MOVE);
        move->buffer = to;
        move->other = line;
        move->n_index = n_index;
        for (uint8_t d = 0; d < n_index; d++)
            move->index[d] =
                d + 1 == n_index ? index[n_index - 1 + (size_t)(c - width + 1) * stride] : index[d];
    }
}
