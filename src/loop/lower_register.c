/* Register tiles: each thread computes several columns and rows of points, straight-line, so that neighbours share
 * what they read and rows move as vectors. Of more than two dimensions, the last two are tiled.
 *
 *   for blocks: if the block with its halo lies inside (split interior): tiles without border rules
 *               else, by thread: if its tile is whole: the tile, halo columns and rows answered by their rules once a
 *                 tile
 *                                else the points of it that there are, one by one */
#include "loop/lower_copy.h"

typedef struct Tiles {
    Lower *l;
    const Nest *nest;
    const PlanGroup *group;
    uint8_t y, x;             /* the dimensions of rows and columns */
    LExprId block_y, block_x; /* first row and column of the block */
    LExprId own[2]; /* points before it are those of the block before; none: there are no such */
    uint32_t rows, columns; /* of a thread's tile */
    int64_t height, width;  /* points of a block */
    Coord outer[MAX_DIMS];  /* the coordinates before these two */
} Tiles;

/* ---- Points of a tile ------------------------------------------------------------------------ */

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
    l->unroll_windows = true;
    typedef Coord Point[MAX_DIMS];
    Point *coord = ARENA_NEW_ARRAY(l->arena, Point, t->rows * t->columns);
    for (uint32_t r = 0; r < t->rows; r++) {
        for (uint32_t c = 0; c < t->columns; c++) {
            Coord *point = coord[r * t->columns + c];
            for (uint8_t d = 0; d < t->y; d++)
                point[d] = t->outer[d];
            point[t->y] = tile_coord(t, t->y, y, r, t->rows);
            point[t->x] = tile_coord(t, t->x, x, c, t->columns);
        }
    }
    t->nest->tile(l, t->nest, coord, t->rows, t->columns);
    l->unroll_windows = false;
    l->inside_last = l->inside_rows = false;
}

/* for rows, for columns: the point, every read tested. */
static void points_of_tile(const Tiles *t, LExprId y, LExprId x)
{
    Lower *l = t->l;
    LExprId first[2] = { y, x };
    const uint32_t n[2] = { t->rows, t->columns };
    Coord coord[MAX_DIMS] = { { .dim = -1 } };
    for (uint8_t d = 0; d < t->y; d++)
        coord[d] = t->outer[d];
    for (uint8_t k = 0; k < 2; k++) {
        const uint8_t d = (uint8_t)(t->y + k);
        LExprId end = tessi_l_op(l, OP_ADD, first[k], tessi_l_int(l, n[k]));
        end = tessi_l_op(l, OP_MIN, end, t->nest->to[d]);
        const char *name = tessi_dim_name(t->nest->n_dims, d);
        LVarId v = tessi_scope_for(l, name, first[k], end, 1, LFOR_ROLLED);
        coord[d] = tessi_nest_coord(t->nest, d, tessi_lexpr_var(l->p, v));
    }
    t->nest->body(l, t->nest, coord, NULL);
    tessi_scope_close(l);
    tessi_scope_close(l);
}

/* ---- Threads --------------------------------------------------------------------------------- */

/* Opens the threads along a dimension; the first point of the thread's tile there. */
static LExprId open_threads(const Tiles *t, uint8_t d, LExprId block)
{
    Lower *l = t->l;
    uint8_t axis = d == t->y;
    uint32_t n = axis ? t->rows : t->columns;
    LExprId thread = tessi_kernel_threads(l, axis, axis ? "thread_y" : "thread_x",
                                          tessi_level_threads(&t->group->levels, axis));
    LExprId at = tessi_l_op(l, OP_MUL, thread, tessi_l_int(l, n));
    return tessi_scope_let(l, tessi_dim_name(t->nest->n_dims, d), tessi_l_op(l, OP_ADD, block, at));
}

static void tiles_inside(const Tiles *t)
{
    Lower *l = t->l;
    const uint32_t depth = tessi_scope_depth(l);
    LExprId y = open_threads(t, t->y, t->block_y), x = open_threads(t, t->x, t->block_x);
    if (t->own[0].v) {
        LExprId own = tessi_l_op(l, OP_LE, t->own[0], y);
        tessi_scope_if(l, tessi_l_op(l, OP_AND, own, tessi_l_op(l, OP_LE, t->own[1], x)));
    }
    whole_tile(t, y, x, true);
    tessi_scope_close_to(l, depth);
}

static LExprId is_whole(const Tiles *t, uint8_t d, LExprId first)
{
    const uint32_t n = d == t->x ? t->columns : t->rows;
    LExprId end = tessi_l_op(t->l, OP_ADD, first, tessi_l_int(t->l, n));
    return tessi_l_op(t->l, OP_LE, end, t->nest->to[d]);
}

static void tiles_anywhere(const Tiles *t)
{
    Lower *l = t->l;
    LExprId y = open_threads(t, t->y, t->block_y), x = open_threads(t, t->x, t->block_x);
    LExprId whole = tessi_l_op(l, OP_AND, is_whole(t, t->y, y), is_whole(t, t->x, x));
    whole = tessi_scope_let(l, "whole", whole);
    tessi_scope_if(l, whole);
    whole_tile(t, y, x, false);
    tessi_scope_else(l);
    points_of_tile(t, y, x);
    tessi_scope_close(l);
    tessi_scope_close(l);
    tessi_scope_close(l);
}

/* ---- Blocks ---------------------------------------------------------------------------------- */

static Tiles new_tiles(Lower *l, const Nest *nest, const PlanGroup *group)
{
    l->n_loop_dims = nest->n_dims;
    l->inside_last = l->inside_rows = false;
    return (Tiles){ .l = l,
                    .nest = nest,
                    .group = group,
                    .y = (uint8_t)(nest->n_dims - 2),
                    .x = (uint8_t)(nest->n_dims - 1),
                    .rows = tessi_level_outputs(&group->levels, 1),
                    .columns = tessi_level_outputs(&group->levels, 0),
                    .height = (int64_t)tessi_level_threads(&group->levels, 1)
                              * tessi_level_outputs(&group->levels, 1),
                    .width = (int64_t)tessi_level_threads(&group->levels, 0)
                             * tessi_level_outputs(&group->levels, 0) };
}

/* How far a block reaches from its first point. Vectors may hold some columns more than are read. */
static void block_reach(const Tiles *t, int64_t *reach)
{
    for (uint8_t d = 0; d < t->y; d++)
        reach[d] = 0;
    reach[t->y] = t->height - 1;
    reach[t->x] = t->width - 1 + t->columns - 1;
}

static Blocks blocks_of(const Tiles *t)
{
    Lower *l = t->l;
    LExprId first[MAX_DIMS], end[MAX_DIMS];
    int64_t reach[MAX_DIMS];
    Blocks b = { .l = l, .size = { t->height, t->width } };
    block_reach(t, reach);
    tessi_kernel_inside_range(l, t->nest, reach, first, end);
    for (int k = 0; k < 2; k++) {
        b.end[k] = t->nest->to[t->y + k];
        b.from[k] = first[t->y + k];
        b.to[k] = end[t->y + k];
    }
    return b;
}

static Frame frame_of(const Tiles *t, const Blocks *b)
{
    const int64_t step[2] = { t->rows, t->columns };
    return tessi_blocks_frame(b, step);
}

Frame tessi_kernel_register_frame(Lower *l, const Nest *nest, const PlanGroup *group)
{
    const Tiles t = new_tiles(l, nest, group);
    const Blocks blocks = blocks_of(&t);
    return frame_of(&t, &blocks);
}

void tessi_kernel_register_edges(Lower *l, const Nest *nest, const PlanGroup *group)
{
    Tiles t = new_tiles(l, nest, group);
    const uint32_t depth = tessi_scope_depth(l);
    Blocks blocks = blocks_of(&t);
    if (t.y)
        tessi_kernel_outer(l, nest, t.outer);
    tessi_blocks_edges(&blocks);
    t.block_y = blocks.first[0];
    t.block_x = blocks.first[1];
    tiles_anywhere(&t);
    tessi_scope_close_to(l, depth);
}

void tessi_kernel_register(Lower *l, const Nest *nest, const PlanGroup *group)
{
    Tiles t = new_tiles(l, nest, group);
    const uint32_t depth = tessi_scope_depth(l);
    if (t.y)
        tessi_kernel_outer(l, nest, t.outer);
    Blocks blocks = blocks_of(&t);
    if (group->frame.rows[0]) {
        const Frame frame = frame_of(&t, &blocks);
        tessi_blocks_in_frame(&blocks, &frame, t.own);
    } else if (group->split == SPLIT_EDGES)
        tessi_blocks_inside(&blocks);
    else
        tessi_blocks_all(&blocks);
    t.block_y = blocks.first[0];
    t.block_x = blocks.first[1];
    if (group->split == SPLIT_EDGES) {
        tiles_inside(&t);
    } else if (group->split == SPLIT_INTERIOR) {
        LExprId first[MAX_DIMS];
        int64_t reach[MAX_DIMS];
        for (uint8_t d = 0; d < t.y; d++)
            first[d] = t.outer[d].e;
        first[t.y] = t.block_y;
        first[t.x] = t.block_x;
        block_reach(&t, reach);
        tessi_scope_if(l, tessi_kernel_inside(l, nest, first, reach));
        tiles_inside(&t);
        tessi_scope_else(l);
        tiles_anywhere(&t);
        tessi_scope_close(l);
    } else {
        tiles_anywhere(&t);
    }
    tessi_scope_close_to(l, depth);
}

/* ---- Vectors --------------------------------------------------------------------------------- */

enum { VECTOR_BYTES = 16 };

/* Elements that move at once; 1 when none do. */
uint32_t tessi_vector_elements(const Lower *l, LBufferId id, uint32_t columns)
{
    const LBuffer *b = &l->p->buffers.at[id.v];
    uint32_t bytes = tessi_type_info(b->type)->bytes, n = VECTOR_BYTES / bytes;
    bool rows = b->kind == LBUF_TEMP || b->kind == LBUF_LOCAL;
    if (b->kind == LBUF_INPUT || b->kind == LBUF_OUTPUT) {
        const LImage *im =
            b->kind == LBUF_INPUT ? &l->p->inputs.at[b->image] : &l->p->outputs.at[b->image];
        rows = im->pixel_bytes == bytes && (b->type != TYPE_BOOL || b->kind == LBUF_OUTPUT);
    }
    if (!rows || b->held || b->n_dims < 2)
        return 1; /* in registers, pixels of several channels, any byte for `true`, or no row to be aligned */
    while (n > 1 && columns % n)
        n /= 2;
    return n;
}

/* index = x + c with from <= c < to. */
bool tessi_column_of(const Lower *l, LExprId index, LExprId x, int64_t from, int64_t to, int64_t *c)
{
    *c = 0;
    if (index.v == x.v)
        return true;
    const LExpr *e = tessi_lexpr(l->p, index);
    if (e->kind != LEXPR_OP || e->op != OP_ADD || e->arg[0].v != x.v)
        return false;
    const LExpr *k = tessi_lexpr(l->p, e->arg[1]);
    if (k->kind != LEXPR_CONST || k->value.i < from || k->value.i >= to)
        return false;
    *c = k->value.i;
    return true;
}

/* Loads of one vector: of a buffer, in a row, from column `first` on. */
typedef struct VectorUse {
    LBufferId buffer;
    LExprId x; /* `first` is counted from here */
    int64_t first;
    uint32_t n, n_found;
    LExprId load[VECTOR_BYTES]; /* by element; none = not loaded */
} VectorUse;
typedef VEC(VectorUse) VectorUses;

bool tessi_same_row(const Lower *l, LExprId a, LExprId b)
{
    const LExpr *x = tessi_lexpr(l->p, a), *y = tessi_lexpr(l->p, b);
    for (int d = 0; d + 1 < x->n_args; d++)
        if (x->arg[d].v != y->arg[d].v)
            return false;
    return true;
}

static LExprId some_load(const VectorUse *u)
{
    uint32_t k = 0;
    while (!u->load[k].v)
        k++;
    return u->load[k];
}

static VectorUse *vector_use(Lower *l, VectorUses *uses, LExprId load, LExprId x, int64_t first,
                             uint32_t n)
{
    const LExpr *e = tessi_lexpr(l->p, load);
    VEC_FOREACH (VectorUse, u, uses) {
        if (u->buffer.v == e->buffer.v && u->first == first
            && tessi_same_row(l, some_load(u), load))
            return u;
    }
    VEC_PUSH(l->arena, uses, ((VectorUse){ .buffer = e->buffer, .x = x, .first = first, .n = n }));
    return &uses->at[uses->n - 1];
}

LBufferId tessi_new_line(Lower *l, const char *name, ScalarType t, uint32_t n)
{
    const int64_t size = n;
    return tessi_scope_local(l, name, t, 1, &size);
}

static void take(Lower *l, const VectorUse *u)
{
    const LExpr load = *tessi_lexpr(l->p, some_load(u));
    const LBuffer b = l->p->buffers.at[u->buffer.v];
    LExprId index[MAX_DIMS];
    for (int d = 0; d + 1 < load.n_args; d++)
        index[d] = load.arg[d];
    index[load.n_args - 1] = tessi_l_op(l, OP_ADD, u->x, tessi_l_int(l, u->first));
    tessi_scope_place(l, index, load.n_args);
    LBufferId line = tessi_new_line(l, tessi_sprintf(l->arena, "%s_line", b.name), b.type, u->n);
    LStmt *s = tessi_scope_stmt(l, LSTMT_MOVE);
    s->buffer = line;
    s->other = u->buffer;
    s->n_index = load.n_args;
    for (int d = 0; d < load.n_args; d++)
        s->index[d] = index[d];
    for (uint32_t k = 0; k < u->n; k++) {
        LExprId at = tessi_l_int(l, k);
        if (u->load[k].v)
            tessi_scope_define(l, u->load[k], tessi_lexpr_load(l->p, line, &at, 1));
    }
}

/* The columns of a buffer in shared memory that hold values. */
static int64_t shared_columns(const Lower *l, LBufferId id)
{
    for (uint32_t i = 0; l->copies && i < l->copies->n; i++)
        if (l->copies->at[i].buffer.v == id.v)
            return l->copies->at[i].size[1];
    GRAPH_FOREACH_STAGE (l->g, s)
        if (l->place[s.v].scratch.v == id.v)
            return l->place[s.v].columns;
    return 0;
}

/* Notes the vector that a load is part of, if there are some. */
static void note_load(Lower *l, LExprId load, const TileColumns *at, VectorUses *uses)
{
    const LExpr *e = tessi_lexpr(l->p, load);
    if (e->kind != LEXPR_LOAD || !e->n_args)
        return;
    const bool shared = l->p->buffers.at[e->buffer.v].kind == LBUF_LOCAL;
    const LExprId x = shared ? at->shared_x : at->x;
    int64_t c, from = shared ? INT64_MIN : at->from, to = shared ? INT64_MAX : at->to;
    if (!x.v || !tessi_column_of(l, e->arg[e->n_args - 1], x, from, to, &c))
        return;
    const uint32_t width =
        tessi_vector_elements(l, e->buffer, shared ? at->shared_aligned : at->aligned);
    const int64_t k = tessi_floormod(c, width);
    if (width < 2 || (shared && at->shared_last + c - k + width > shared_columns(l, e->buffer)))
        return;
    VectorUse *u = vector_use(l, uses, load, x, c - k, width);
    u->load[k] = load;
    u->n_found++;
}

void tessi_tile_takes(Lower *l, const LExprId *root, uint32_t n, const TileColumns *columns)
{
    enum { WORTH = 2 }; /* elements of a vector beside the tile that are read */
    VectorUses uses = { 0 };
    LExprList list = tessi_scope_reach(l, root, n);
    for (uint32_t i = 0; i < list.n; i++)
        note_load(l, list.at[i], columns, &uses);
    VEC_FOREACH (const VectorUse, u, &uses) {
        const bool beside = l->inside_last || u->x.v == columns->shared_x.v;
        if (u->n_found == u->n || (beside && u->n_found >= WORTH))
            take(l, u);
    }
}

void tessi_tile_give(Lower *l, const TileRow *row, uint32_t c, LBufferId *line)
{
    const LBuffer b = l->p->buffers.at[row->to.v];
    const uint32_t width = tessi_vector_elements(l, row->to, row->columns);
    const LExprId *index = row->index + (size_t)c * row->stride;
    if (width > 1 && c % width == 0)
        *line = tessi_new_line(l, tessi_sprintf(l->arena, "%s_line", b.name), b.type, width);
    LStmt *s = tessi_scope_stmt(l, LSTMT_STORE);
    s->a = row->value[(size_t)c * row->stride];
    s->buffer = width > 1 ? *line : row->to;
    s->n_index = width > 1 ? 1 : row->n_index;
    for (uint8_t d = 0; d < row->n_index; d++)
        s->index[d] = d + 1 == row->n_index ? index[d] : row->index[d];
    if (width > 1)
        s->index[0] = tessi_l_int(l, c % width);
    if (width < 2 || c % width != width - 1)
        return;
    LStmt *move = tessi_scope_stmt(l, LSTMT_MOVE);
    move->buffer = row->to;
    move->other = *line;
    move->n_index = row->n_index;
    for (uint8_t d = 0; d < row->n_index; d++)
        move->index[d] =
            d + 1 == row->n_index ? (index - (size_t)(width - 1) * row->stride)[d] : row->index[d];
}

void tessi_tile_gives(Lower *l, LBufferId to, const LExprId *index, uint8_t n_index,
                      const LExprId *value, uint32_t stride, uint32_t columns)
{
    const TileRow row = { to, index, value, n_index, stride, columns };
    LBufferId line = { 0 };
    for (uint32_t c = 0; c < columns; c++)
        tessi_tile_give(l, &row, c, &line);
}
