/* The loops of a group. Outer dimensions run as rows (one parallel loop, collapsed when there are several); the last
 * dimension runs in vectors. With a split, each row has an interior, where the guards hold and no read is tested,
 * and edges: what is left of it on both sides, in one loop over two ranges so that the general code stands there
 * once. In rows where a guard of an outer dimension fails the interior is empty and the first edge is the whole row. */
#include "loop/lower_nest.h"

#include "loop/lower_given.h"

enum { LINE_CHUNK = 4096 }; /* points that one task of a 1-D image takes */

Bounds tessi_nest_bounds(Lower *l, const Nest *nest, bool all_rows)
{
    uint8_t last = (uint8_t)(nest->n_dims - 1);
    Bounds b = { .from = nest->from[last], .to = nest->to[last] };
    l->n_loop_dims = nest->n_dims;
    l->inside_last = l->inside_rows = nest->split;
    if (!nest->split)
        return b;
    Coord coord[MAX_DIMS];
    for (uint8_t d = 0; d < nest->n_dims; d++)
        coord[d] = tessi_nest_coord(nest, d, (LExprId){ 0 });
    tessi_read_guards(l, nest->roots, nest->n_roots, coord, &b.guards);
    /* Rules other than CONSTANT cost nothing in outer dimensions: the index is answered once a row. */
    VEC_FOREACH (const Guard, g, &b.guards)
        b.rows = b.rows || (g->dim < last && (g->is_constant || all_rows));
    if (!b.rows && !all_rows) {
        b.guards.n = 0;
        l->inside_rows = false;
        tessi_read_guards(l, nest->roots, nest->n_roots, coord, &b.guards);
    }
    b.any = b.guards.n > 0;
    tessi_guard_range(l, &b.guards, (int8_t)last, &b.from, &b.to);
    return b;
}

/* The guards of the first `n` dimensions hold at `coord`. */
LExprId tessi_nest_plane_inside(Lower *l, const Nest *nest, const Bounds *b, const Coord *coord,
                                uint8_t n)
{
    LExprId in = tessi_lexpr_const(l->p, TYPE_BOOL, tessi_value_int(1));
    for (uint8_t d = 0; d < n; d++) {
        LExprId from = nest->from[d], to = nest->to[d];
        bool guarded = false;
        VEC_FOREACH (const Guard, g, &b->guards)
            guarded = guarded || g->dim == d;
        if (!guarded)
            continue;
        tessi_guard_range(l, &b->guards, (int8_t)d, &from, &to);
        in = tessi_l_op(l, OP_AND, in, tessi_l_op(l, OP_LE, from, coord[d].e));
        in = tessi_l_op(l, OP_AND, in, tessi_l_op(l, OP_LT, coord[d].e, to));
    }
    return in;
}

/* for x in [from, to): body. */
static void line(Lower *l, const Nest *nest, Coord *coord, LExprId from, LExprId to, uint8_t flags,
                 bool inside)
{
    uint8_t last = (uint8_t)(nest->n_dims - 1);
    bool rows = l->inside_rows, had_sort = l->has_sort;
    l->inside_last = inside;
    l->inside_rows = inside && rows;
    l->has_sort = false;
    if ((flags & LFOR_SIMD) && tessi_wants_strips(l, nest)) {
        tessi_lower_strips(l, nest, coord, from, to);
        l->inside_rows = rows;
        l->has_sort = had_sort;
        return;
    }
    LVarId var = tessi_scope_for(l, tessi_dim_name(nest->n_dims, last), from, to, 1, flags);
    l->guard_depth = tessi_scope_depth(l);
    if (flags & LFOR_SIMD)
        l->scopes.at[l->guard_depth].stmt->vectors = nest->columns;
    coord[last] = tessi_nest_coord(nest, last, tessi_lexpr_var(l->p, var));
    nest->body(l, nest, coord, NULL);
    if (l->has_sort) /* no vector executes a sort */
        l->scopes.at[l->guard_depth].stmt->flags &= (uint8_t)~LFOR_SIMD;
    tessi_scope_close(l);
    l->inside_rows = rows;
    l->has_sort = had_sort;
}

/* Opens a loop over the two ranges around the interior. */
static void open_sides(Lower *l, const Nest *nest, LExprId from, LExprId to, LExprId *begin,
                       LExprId *end)
{
    uint8_t last = (uint8_t)(nest->n_dims - 1);
    LVarId side = tessi_scope_for(l, "side", tessi_l_int(l, 0), tessi_l_int(l, 2), 1, 0);
    LExprId is_first = tessi_l_op(l, OP_EQ, tessi_lexpr_var(l->p, side), tessi_l_int(l, 0));
    *begin = tessi_l_select(l, is_first, nest->from[last], to);
    *end = tessi_l_select(l, is_first, from, nest->to[last]);
}

static void edges(Lower *l, const Nest *nest, Coord *coord, LExprId from, LExprId to)
{
    LExprId begin, end;
    open_sides(l, nest, from, to, &begin, &end);
    line(l, nest, coord, begin, end, 0, false);
    tessi_scope_close(l);
}

/* No read leaves the row: it is inside or not as a whole, and vectors answer the rules of other dimensions. */
static bool is_whole_row(const Nest *nest, const Bounds *b)
{
    const uint8_t last = (uint8_t)(nest->n_dims - 1);
    return b->from.v == nest->from[last].v && b->to.v == nest->to[last].v;
}

void tessi_nest_split_line(Lower *l, const Nest *nest, Coord *coord, const Bounds *b)
{
    uint8_t last = (uint8_t)(nest->n_dims - 1);
    uint8_t simd = nest->vector ? LFOR_SIMD : 0;
    if (!b->any) {
        line(l, nest, coord, nest->from[last], nest->to[last], simd, false);
        return;
    }
    LExprId range[2] = { b->from, b->to };
    if (b->rows && simd && is_whole_row(nest, b)) {
        tessi_scope_if(l, tessi_nest_plane_inside(l, nest, b, coord, last));
        line(l, nest, coord, b->from, b->to, simd, true);
        tessi_scope_else(l);
        line(l, nest, coord, b->from, b->to, simd, false);
        tessi_scope_close(l);
        return;
    }
    if (b->rows) {
        LExprId in = tessi_nest_plane_inside(l, nest, b, coord, last);
        range[0] = tessi_l_select(l, in, b->from, nest->to[last]);
        range[1] = tessi_l_select(l, in, b->to, nest->to[last]);
    }
    tessi_hint(l, range[0], "inside_from");
    tessi_hint(l, range[1], "inside_to");
    tessi_scope_place(l, range, 2);
    edges(l, nest, coord, range[0], range[1]);
    line(l, nest, coord, range[0], range[1], simd, true);
}

/* A 1-D image: its interior in chunks, so that there is something to share out. */
static void chunked_line(Lower *l, const Nest *nest, const Bounds *b)
{
    Coord coord[MAX_DIMS];
    uint8_t simd = nest->vector ? LFOR_SIMD : 0;
    LExprId range[2] = { b->from, b->to }, size = tessi_l_int(l, LINE_CHUNK);
    tessi_hint(l, range[0], "inside_from");
    tessi_hint(l, range[1], "inside_to");
    tessi_scope_place(l, range, 2);
    if (b->any)
        edges(l, nest, coord, range[0], range[1]);
    LExprId length = tessi_l_op(l, OP_SUB, range[1], range[0]);
    LExprId n = tessi_l_op(l, OP_FLOORDIV,
                           tessi_l_op(l, OP_ADD, length, tessi_l_int(l, LINE_CHUNK - 1)), size);
    LVarId chunk = tessi_scope_for(l, "chunk", tessi_l_int(l, 0), n, 1, LFOR_PARALLEL);
    LExprId from =
        tessi_l_op(l, OP_ADD, range[0], tessi_l_op(l, OP_MUL, tessi_lexpr_var(l->p, chunk), size));
    LExprId to = tessi_l_op(l, OP_MIN, tessi_l_op(l, OP_ADD, from, size), range[1]);
    line(l, nest, coord, from, to, simd, b->any);
    tessi_scope_close(l);
}

static uint8_t row_dim(const Nest *nest)
{
    return (uint8_t)(nest->n_dims - 2);
}

/* A row is so short that to find out where it lies would take as long as its points: cores share out what is around
 * rows of rows. */
static bool has_short_rows(Lower *l, const Nest *nest)
{
    enum { SHORT = 256 };
    int64_t points;
    return nest->n_dims > 2 && nest->parallel
           && tessi_size_is_const(l->g, nest->count[nest->n_dims - 1], &points) && points < SHORT
           && !tessi_size_is_const(l->g, nest->count[nest->n_dims - 3], &points);
}

/* Opens the parallel loop over the dimensions before the last two. */
static void open_planes(Lower *l, const Nest *nest, Coord *coord, uint8_t flags)
{
    const uint8_t planes = (uint8_t)(nest->n_dims - 2);
    LExprId n = tessi_l_int(l, 1);
    for (uint8_t d = 0; d < planes; d++)
        n = tessi_l_op(l, OP_MUL, n, tessi_nest_extent(l, nest, d));
    LVarId plane = tessi_scope_for(l, "plane", tessi_l_int(l, 0), n, 1, flags);
    tessi_nest_outer_coords(l, nest, tessi_lexpr_var(l->p, plane), planes, coord);
}

void tessi_nest_single_rows(Lower *l, const Nest *nest, Coord *coord, LExprId y, LExprId end)
{
    uint8_t row = row_dim(nest);
    LVarId v = tessi_scope_for(l, tessi_dim_name(nest->n_dims, row), y, end, 1, 0);
    coord[row] = tessi_nest_coord(nest, row, tessi_lexpr_var(l->p, v));
}

LExprId tessi_nest_rows(Lower *l, const Nest *nest, Coord *coord, uint8_t flags)
{
    uint8_t outer = (uint8_t)(nest->n_dims - 1);
    LExprId from = nest->from[0], to = nest->to[0];
    if (outer != 1) {
        from = tessi_l_int(l, 0);
        to = tessi_nest_row_count(l, nest);
    }
    LVarId row = tessi_scope_for(l, outer == 1 ? tessi_dim_name(2, 0) : "row", from, to, 1, flags);
    LExprId number = tessi_lexpr_var(l->p, row);
    if (outer == 1) {
        coord[0] = tessi_nest_coord(nest, 0, number);
        return number;
    }
    tessi_nest_row_coords(l, nest, number, coord);
    return number;
}

/* ---- Blocks of rows -------------------------------------------------------------------------- */

/* The `n` rows from y are there, and the guards of all dimensions but the last hold in them. */
static LExprId block_is_inside(Lower *l, const Nest *nest, const Bounds *b, const Coord *coord,
                               LExprId y, uint32_t n)
{
    uint8_t row = row_dim(nest);
    LExprId from = nest->from[row], to = nest->to[row];
    tessi_guard_range(l, &b->guards, (int8_t)row, &from, &to);
    LExprId end = tessi_l_op(l, OP_ADD, y, tessi_l_int(l, n));
    LExprId in =
        tessi_l_op(l, OP_AND, tessi_l_op(l, OP_LE, from, y), tessi_l_op(l, OP_LE, end, to));
    return tessi_l_op(l, OP_AND, in, tessi_nest_plane_inside(l, nest, b, coord, row));
}

/* The columns [from, to) of `rows` rows, in one loop whose body computes them all. */
static void block_line(Lower *l, const Nest *nest, const Coord *outer, LExprId y, LExprId from,
                       LExprId to, uint8_t flags, bool inside, uint32_t least)
{
    Coord coord[PLAN_MAX_ROWS][MAX_DIMS];
    uint8_t row = row_dim(nest), last = (uint8_t)(nest->n_dims - 1);
    LVarId x = tessi_scope_for(l, tessi_dim_name(nest->n_dims, last), from, to, 1, flags);
    bool had_sort = l->has_sort;
    l->has_sort = false;
    l->inside_last = inside;
    l->guard_depth = tessi_scope_depth(l);
    l->scopes.at[l->guard_depth].stmt->least = least;
    if (flags & LFOR_SIMD)
        l->scopes.at[l->guard_depth].stmt->vectors = nest->columns;
    for (uint32_t r = 0; r < nest->rows; r++) {
        for (uint8_t d = 0; d < row; d++)
            coord[r][d] = outer[d];
        coord[r][row] = tessi_nest_coord(nest, row, tessi_l_op(l, OP_ADD, y, tessi_l_int(l, r)));
        coord[r][last] = tessi_nest_coord(nest, last, tessi_lexpr_var(l->p, x));
    }
    nest->block(l, nest, coord, nest->rows);
    if (l->has_sort) /* no vector executes a sort */
        l->scopes.at[l->guard_depth].stmt->flags &= (uint8_t)~LFOR_SIMD;
    tessi_scope_close(l);
    l->has_sort = had_sort;
}

/* The two ranges around the interior, for `rows` rows. */
static void block_edges(Lower *l, const Nest *nest, const Bounds *b, const Coord *outer, LExprId y)
{
    LExprId begin, end;
    open_sides(l, nest, b->from, b->to, &begin, &end);
    block_line(l, nest, outer, y, begin, end, 0, false, 0);
    tessi_scope_close(l);
}

/* The interior leaves something of the row. */
static LExprId has_edges(Lower *l, const Nest *nest, const Bounds *b)
{
    uint8_t last = (uint8_t)(nest->n_dims - 1);
    return tessi_l_op(l, OP_OR, tessi_l_op(l, OP_LT, nest->from[last], b->from),
                      tessi_l_op(l, OP_LT, b->to, nest->to[last]));
}

/* The interior is as wide as a step of the vector loop. */
LExprId tessi_nest_has_vectors(Lower *l, const Bounds *b)
{
    return tessi_l_op(l, OP_LE, tessi_l_op(l, OP_ADD, b->from, tessi_l_int(l, b->columns)), b->to);
}

/* Opens the loop over blocks of rows, one for all planes; the first row of the block. */
static LExprId open_blocks(Lower *l, const Nest *nest, Coord *coord)
{
    uint8_t row = row_dim(nest), flags = nest->parallel ? LFOR_PARALLEL : 0;
    if (!row)
        return tessi_lexpr_var(
            l->p, tessi_scope_for(l, "block", nest->from[0], nest->to[0], nest->rows, flags));
    if (has_short_rows(l, nest)) {
        open_planes(l, nest, coord, flags);
        return tessi_lexpr_var(
            l->p, tessi_scope_for(l, "block", nest->from[row], nest->to[row], nest->rows, 0));
    }
    LExprId rows = tessi_l_int(l, nest->rows);
    LExprId extent = tessi_l_op(l, OP_MAX, tessi_nest_extent(l, nest, row), tessi_l_int(l, 0));
    extent = tessi_l_op(l, OP_ADD, extent, tessi_l_int(l, nest->rows - 1));
    LExprId blocks = tessi_l_op(l, OP_FLOORDIV, extent, rows), total = blocks;
    for (uint8_t d = 0; d < row; d++)
        total = tessi_l_op(l, OP_MUL, total, tessi_nest_extent(l, nest, d));
    LVarId block = tessi_scope_for(l, "block", tessi_l_int(l, 0), total, 1, flags);
    LExprId number = tessi_lexpr_var(l->p, block);
    LExprId first = tessi_l_op(l, OP_MUL, tessi_l_op(l, OP_FLOORMOD, number, blocks), rows);
    first = tessi_l_op(l, OP_ADD, first, nest->from[row]);
    tessi_nest_outer_coords(l, nest, tessi_l_op(l, OP_FLOORDIV, number, blocks), row, coord);
    return tessi_scope_let(l, tessi_dim_name(nest->n_dims, row), first);
}

/* The same from copies. */
static void edges_from_copies(Lower *l, const Nest *nest, const Bounds *b, const Coord *outer,
                              LExprId y)
{
    LExprId begin, end;
    CopyList copies = b->copies;
    open_sides(l, nest, b->from, b->to, &begin, &end);
    end = tessi_scope_let(l, "edge_to", end);
    LVarId edge = tessi_scope_for(l, "edge", begin, end, b->columns, 0);
    LExprId from = tessi_lexpr_var(l->p, edge);
    LExprId points =
        tessi_l_op(l, OP_MIN, tessi_l_op(l, OP_SUB, end, from), tessi_l_int(l, b->columns));
    points = tessi_scope_let(l, "points", points);
    VEC_FOREACH (Copy, c, &copies) {
        LExprId columns = tessi_l_int(l, c->size[1] - b->columns);
        columns = tessi_scope_let(l, "columns", tessi_l_op(l, OP_ADD, points, columns));
        tessi_copy_declare(l, c, "edge");
        tessi_copy_begin(l, c, (const LExprId[]){ y, from });
        tessi_copy_by_rows(l, c, tessi_l_int(l, c->size[0]), columns);
    }
    l->copies = &copies;
    block_line(l, nest, outer, y, from, tessi_l_op(l, OP_ADD, from, points), LFOR_SIMD, false,
               b->columns);
    l->copies = NULL;
    tessi_scope_close(l);
    tessi_scope_close(l);
}

/* How many points of a row, left and right, read beyond the image that is copied. */
static void edge_widths(const Lower *l, const Nest *nest, const Bounds *b, const Copy *c,
                        int64_t width[2])
{
    const Lin count = tessi_lin_size(l->g, nest->count[1]);
    const Lin image = tessi_lin_size(l->g, tessi_stage(l->g, c->image)->size[1]);
    const Lin more = tessi_lin_add_scaled(&count, &image, -1);
    const int64_t beyond = more.ok && !more.n ? more.constant : 0;
    const int64_t right = c->hi[1] - (b->columns - 1) + beyond;
    width[0] = c->lo[1] < 0 ? -c->lo[1] : 0;
    width[1] = right > 0 ? right : 0;
}

/* Whether to copy what the edges of a block read is less work than to answer each of their reads. */
static bool copies_pay(const Lower *l, const Nest *nest, const Bounds *b)
{
    enum { WORK_OF_ELEMENT = 2 }; /* in reads: by less it is not worth its code */
    double work = 0;
    int64_t edge[2] = { 0, 0 }, width[2];
    VEC_FOREACH (const Copy, c, &b->copies) {
        edge_widths(l, nest, b, c, width);
        for (int side = 0; side < 2; side++)
            edge[side] = width[side] > edge[side] ? width[side] : edge[side];
    }
    const int64_t steps =
        (edge[0] + b->columns - 1) / b->columns + (edge[1] + b->columns - 1) / b->columns;
    VEC_FOREACH (const Copy, c, &b->copies)
        work += (double)steps * WORK_OF_ELEMENT * (double)c->size[0] * (double)c->size[1];
    return nest->windows
           || (double)(edge[0] + edge[1]) * nest->rows * (double)b->copies.reads > work;
}

/* Copies of what the edges of a block of rows read, if that is all and not too much. */
static bool find_copies(Lower *l, const Nest *nest, Bounds *b)
{
    enum { MOST_BYTES = 1 << 18, MOST_READS = 4096 };
    const CopyReaders readers = { .stage = nest->stage,
                                  .n = nest->n_roots,
                                  .extent = { nest->rows, b->columns },
                                  .beyond = { nest->beyond[0], nest->beyond[1] },
                                  .rows_inside = !nest->windows };
    int64_t bytes = 0;
    tessi_copies_find(l, &readers, &b->copies);
    tessi_copies_size(&b->copies);
    bool ok = !b->copies.others && b->copies.reads < MOST_READS;
    VEC_FOREACH (const Copy, c, &b->copies) {
        ok = ok && !c->loose;
        bytes += c->size[0] * c->size[1] * tessi_type_info(c->type)->bytes;
    }
    return ok && b->copies.n && bytes <= MOST_BYTES && copies_pay(l, nest, b);
}

/* Edges of blocks are widened to whole steps of vectors, and computed from copies where that can be and pays. */
void tessi_nest_widen_edges(Lower *l, const Nest *nest, Bounds *b)
{
    enum { WIDEST_VECTOR = 64 }; /* bytes */
    uint32_t widest = 1, columns = nest->columns ? nest->columns : 1;
    ExprList list = tessi_reach(l, nest->roots, nest->n_roots);
    for (uint32_t i = 0; i < list.n; i++) {
        uint32_t bytes = tessi_type_info(tessi_expr(l->g, list.at[i])->type)->bytes;
        widest = bytes > widest ? bytes : widest;
    }
    b->columns = columns * (WIDEST_VECTOR / widest);
    if (!b->any || !nest->vector || nest->n_dims != 2 || !find_copies(l, nest, b)) {
        b->copies.n = 0;
        return;
    }
    LExprId step = tessi_l_int(l, b->columns), up = tessi_l_int(l, b->columns - 1);
    LExprId left = tessi_l_op(l, OP_ADD, tessi_l_op(l, OP_SUB, b->from, nest->from[1]), up);
    left = tessi_l_op(l, OP_MUL, tessi_l_op(l, OP_FLOORDIV, left, step), step);
    LExprId right = tessi_l_op(l, OP_ADD, tessi_l_op(l, OP_SUB, nest->to[1], b->to), up);
    right = tessi_l_op(l, OP_MUL, tessi_l_op(l, OP_FLOORDIV, right, step), step);
    LExprId from = tessi_l_op(l, OP_ADD, nest->from[1], left);
    LExprId to = tessi_l_op(l, OP_SUB, nest->to[1], right);
    b->from = tessi_l_op(l, OP_MIN, from, nest->to[1]);
    b->to = tessi_l_op(l, OP_MAX, to, b->from);
}

/* What stands left and right of the interior of a block. */
void tessi_nest_edges_of_block(Lower *l, const Nest *nest, const Bounds *b, Coord *coord, LExprId y,
                               LExprId end)
{
    l->inside_rows = l->inside_rows && b->copies.n;
    if (nest->tiled)
        tessi_scope_if(l, has_edges(l, nest, b));
    if (b->copies.n) {
        edges_from_copies(l, nest, b, coord, y);
    } else if (nest->windows) {
        block_edges(l, nest, b, coord, y);
    } else {
        tessi_nest_single_rows(l, nest, coord, y, end);
        edges(l, nest, coord, b->from, b->to);
        tessi_scope_close(l);
    }
    if (nest->tiled)
        tessi_scope_close(l);
}

/* Rows in blocks. Where a block lies wholly inside and has room for a vector, its interior is computed together and
 * only its edges row by row; any other block is computed row by row. With windows blocks may touch the first and
 * last rows (where that needs an index answered for each step only), and the edges are computed together too: the
 * loops are long enough to make up for it. */
static void blocks_of_rows(Lower *l, const Nest *nest)
{
    Coord coord[MAX_DIMS] = { { .dim = -1 } };
    uint8_t row = row_dim(nest);
    Bounds inside = tessi_nest_bounds(l, nest, !nest->windows);
    const Bounds single = tessi_nest_bounds(l, nest, false);
    tessi_nest_widen_edges(l, nest, &inside);
    const uint32_t depth = tessi_scope_depth(l);
    LExprId y = open_blocks(l, nest, coord);
    if (nest->tiled) { /* the last block takes some rows again */
        LExprId last = tessi_l_op(l, OP_SUB, nest->to[row], tessi_l_int(l, nest->rows));
        LExprId first = tessi_l_op(l, OP_MAX, tessi_l_op(l, OP_MIN, y, last), nest->from[row]);
        y = tessi_scope_let(l, tessi_dim_name(nest->n_dims, row), first);
    }
    LExprId end = tessi_l_op(l, OP_ADD, y, tessi_l_int(l, nest->rows));
    LExprId is_whole = block_is_inside(l, nest, &inside, coord, y, nest->rows);
    if (nest->vector)
        is_whole = tessi_l_op(l, OP_AND, is_whole, tessi_nest_has_vectors(l, &inside));
    LExprId whole = tessi_scope_let(l, "whole", is_whole);

    tessi_scope_if(l, whole);
    l->inside_rows = !nest->windows || inside.rows;
    if (inside.any)
        tessi_nest_edges_of_block(l, nest, &inside, coord, y, end);
    l->inside_rows = !nest->windows || inside.rows;
    block_line(l, nest, coord, y, inside.from, inside.to, nest->vector ? LFOR_SIMD : 0, true,
               nest->vector ? inside.columns : 0);
    tessi_scope_close(l);

    LExprId others = tessi_lexpr_op(l->p, OP_NOT, whole, (LExprId){ 0 }, (LExprId){ 0 });
    if (nest->windows && nest->vector && inside.any && is_whole_row(nest, &inside)) {
        LExprId all = tessi_l_op(l, OP_LE, end, nest->to[row]);
        tessi_scope_if(l, tessi_l_op(l, OP_AND, others, all));
        l->inside_rows = false;
        block_line(l, nest, coord, y, inside.from, inside.to, LFOR_SIMD, false, 0);
        tessi_scope_close(l);
        others = tessi_l_op(l, OP_LT, nest->to[row], end);
    }
    tessi_scope_if(l, others);
    l->inside_rows = single.rows;
    tessi_nest_single_rows(l, nest, coord, y, tessi_l_op(l, OP_MIN, end, nest->to[row]));
    tessi_nest_split_line(l, nest, coord, &single);
    tessi_scope_close_to(l, depth);
}

void tessi_lower_nest(Lower *l, const Nest *nest)
{
    Coord coord[MAX_DIMS] = { { .dim = -1 } };
    uint8_t parallel = nest->parallel ? LFOR_PARALLEL : 0;
    tessi_lower_dims(l, nest->n_dims);
    if (nest->n_dims == 0) {
        nest->body(l, nest, coord, NULL);
        return;
    }
    if (nest->carries) {
        tessi_lower_carried(l, nest);
        return;
    }
    if (nest->rows > 1) {
        LocalMasks masks;
        tessi_given_local(l, nest, &masks);
        blocks_of_rows(l, nest);
        tessi_given_local_end(l, &masks);
        return;
    }
    Bounds b = tessi_nest_bounds(l, nest, false);
    if (nest->n_dims == 1) {
        if (nest->parallel)
            chunked_line(l, nest, &b);
        else
            tessi_nest_split_line(l, nest, coord, &b);
        return;
    }
    const uint32_t depth = tessi_scope_depth(l);
    if (has_short_rows(l, nest)) {
        const uint8_t row = row_dim(nest);
        open_planes(l, nest, coord, parallel);
        tessi_nest_single_rows(l, nest, coord, nest->from[row], nest->to[row]);
    } else {
        tessi_nest_rows(l, nest, coord, parallel);
    }
    tessi_nest_split_line(l, nest, coord, &b);
    tessi_scope_close_to(l, depth);
}
