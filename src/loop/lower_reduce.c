/* Whole-image reductions and histograms. The order of a reduction is fixed by docs/internals/reductions.md: 16
 * partial results a row, combined in pairs, then the rows in order. Rows are therefore independent, and a vector of
 * partial results is what a CPU wants. */
#include "graph/graph_fold.h"
#include "loop/lower_parts.h"

enum { PARTIALS = 16 };

typedef struct Reducer {
    const Stage *stage, *source;
    ScalarType acc;
    Op op;
} Reducer;

static Reducer reducer_of(const Lower *l, const Stage *s)
{
    Reducer r = { .stage = s, .source = tessi_stage(l->g, s->source) };
    r.op = tessi_reduction_op(s->reduction);
    ScalarType t = tessi_value_type(r.source->type);
    r.acc = tessi_is_real(t) ? TYPE_F64 : TYPE_I64;
    if (s->reduction == REDUCE_COUNT)
        r.acc = TYPE_I64;
    if (r.op != OP_ADD)
        r.acc = t;
    return r;
}

static LExprId start_value(Lower *l, const Reducer *r)
{
    return tessi_lexpr_const(l->p, r->acc, tessi_reduction_identity(r->stage->reduction, r->acc));
}

/* For extrema the new value stands first: min(v, old) passes over a NaN. */
static LExprId combine(Lower *l, const Reducer *r, LExprId v, LExprId old)
{
    return r->op == OP_ADD ? tessi_l_op(l, OP_ADD, old, v) : tessi_l_op(l, r->op, v, old);
}

static LExprId element(Lower *l, const Reducer *r, LExprId v)
{
    if (r->stage->reduction == REDUCE_COUNT)
        v = tessi_lexpr_cast(l->p, TYPE_BOOL, v);
    return tessi_lexpr_cast(l->p, r->acc, v);
}

static void store(Lower *l, LBufferId buffer, LExprId index, LExprId value)
{
    LExprId place[2] = { index, value };
    tessi_scope_place(l, place, 2);
    LStmt *s = tessi_scope_stmt(l, LSTMT_STORE);
    s->buffer = buffer;
    s->n_index = tessi_loop_dims(l, buffer);
    s->index[0] = place[0];
    s->a = place[1];
}

/* Element `at` of an array that this nest writes: read here and not earlier. */
static LExprId load(Lower *l, LBufferId buffer, LExprId at)
{
    LExprId e = tessi_lexpr_load(l->p, buffer, &at, 1);
    tessi_pin(l, e, tessi_scope_depth(l));
    return e;
}

static LExprId open_loop(Lower *l, const char *name, LExprId from, LExprId to, uint8_t flags)
{
    return tessi_lexpr_var(l->p, tessi_scope_for(l, name, from, to, 1, flags));
}

/* partial[k] = combine(the source at x, partial[k]). */
static void take(Lower *l, const Reducer *r, Coord *coord, LBufferId partial, LExprId x, LExprId k)
{
    if (r->source->n_dims)
        coord[r->source->n_dims - 1].e = x;
    LExprId v = element(l, r, tessi_eval_stage(l, r->stage->source, coord, false));
    store(l, partial, k, combine(l, r, v, load(l, partial, k)));
}

/* The row at `coord` into partial[0]. */
static void reduce_row(Lower *l, const Reducer *r, const Nest *nest, Coord *coord,
                       LBufferId partial)
{
    LExprId zero = tessi_l_int(l, 0), width = tessi_l_int(l, PARTIALS), n = tessi_l_int(l, 1);
    if (nest->n_dims) {
        uint8_t last = (uint8_t)(nest->n_dims - 1);
        coord[last] = tessi_nest_coord(nest, last, zero);
        n = nest->to[last];
    }
    tessi_scope_stmt(l, LSTMT_LOCAL)->buffer = partial;
    LExprId k = open_loop(l, "k", zero, width, LFOR_SIMD);
    store(l, partial, k, start_value(l, r));
    tessi_scope_close(l);

    LExprId blocks = tessi_l_op(l, OP_FLOORDIV, n, width);
    LExprId block = open_loop(l, "block", zero, blocks, 0);
    LExprId first = tessi_l_op(l, OP_MUL, block, width);
    k = open_loop(l, "k", zero, width, LFOR_SIMD);
    take(l, r, coord, partial, tessi_l_op(l, OP_ADD, first, k), k);
    tessi_scope_close(l);
    tessi_scope_close(l);

    LExprId rest = tessi_l_op(l, OP_MUL, blocks, width);
    k = open_loop(l, "k", zero, tessi_l_op(l, OP_SUB, n, rest), 0);
    take(l, r, coord, partial, tessi_l_op(l, OP_ADD, rest, k), k);
    tessi_scope_close(l);

    for (int half = PARTIALS / 2; half; half /= 2) {
        k = open_loop(l, "k", zero, tessi_l_int(l, half), LFOR_SIMD);
        LExprId other = tessi_l_op(l, OP_ADD, k, tessi_l_int(l, half));
        store(l, partial, k, combine(l, r, load(l, partial, other), load(l, partial, k)));
        tessi_scope_close(l);
    }
}

/* What the rows come to: the mean's division, the conversion to the stage's type. */
static LExprId finish(Lower *l, const Reducer *r, LExprId total)
{
    if (r->stage->reduction == REDUCE_MEAN) {
        Value one = tessi_value_real(1);
        LExprId points = tessi_lexpr_const(l->p, TYPE_F64, one);
        for (uint8_t d = 0; d < r->source->n_dims; d++)
            points = tessi_l_op(
                l, OP_MUL, points,
                tessi_lexpr_cast(l->p, TYPE_F64, tessi_lower_size(l, r->source->size[d])));
        total = tessi_l_op(l, OP_DIV, tessi_lexpr_cast(l->p, TYPE_F64, total), points);
    }
    return tessi_lexpr_cast(l->p, r->stage->type, total);
}

/* The rows' results into `result`, one after another. */
static void combine_rows(Lower *l, const Reducer *r, LBufferId rows, LExprId n_rows,
                         LBufferId result)
{
    LExprId zero = tessi_l_int(l, 0);
    LVarId total = tessi_scope_var(l, r->stage->name, r->acc, start_value(l, r));
    LExprId so_far = tessi_lexpr_var(l->p, total);
    LExprId row = open_loop(l, "row", zero, n_rows, 0);
    LStmt *set = tessi_scope_stmt(l, LSTMT_SET);
    set->var = total;
    set->a = combine(l, r, load(l, rows, row), so_far);
    tessi_scope_close(l);
    store(l, result, zero, finish(l, r, so_far));
}

/* ---- On GPUs: 16 threads a row, which hold a partial result each */

enum { ROWS_A_BLOCK = 8 };

typedef struct RowKernel {
    const Reducer *r;
    const Nest *nest;
    LExprId n_rows, block;
    LBufferId partial; /* [ROWS_A_BLOCK][PARTIALS] */
} RowKernel;

/* Opens the threads of one step, `n` a row; sets the row in the block, the row, and the thread's number in its row. */
static void open_row_threads(Lower *l, const RowKernel *kernel, int64_t n, LExprId *place,
                             LExprId *row)
{
    place[0] = tessi_kernel_threads(l, 1, "r", ROWS_A_BLOCK);
    LExprId first = tessi_l_op(l, OP_MUL, kernel->block, tessi_l_int(l, ROWS_A_BLOCK));
    *row = tessi_scope_let(l, "row", tessi_l_op(l, OP_ADD, first, place[0]));
    tessi_scope_if(l, tessi_l_op(l, OP_LT, *row, kernel->n_rows));
    place[1] = tessi_kernel_threads(l, 0, "k", n);
}

static void close_row_threads(Lower *l)
{
    for (int i = 0; i < 3; i++)
        tessi_scope_close(l);
}

static void store2(Lower *l, LBufferId buffer, const LExprId *at, LExprId value)
{
    LExprId place[3] = { at[0], at[1], value };
    tessi_scope_place(l, place, 3);
    LStmt *s = tessi_scope_stmt(l, LSTMT_STORE);
    s->buffer = buffer;
    s->n_index = 2;
    s->index[0] = place[0];
    s->index[1] = place[1];
    s->a = place[2];
}

/* acc = combine(the source at x, acc). */
static void take_into(Lower *l, const Reducer *r, Coord *coord, LVarId acc, LExprId x)
{
    if (r->source->n_dims)
        coord[r->source->n_dims - 1].e = x;
    LExprId v = element(l, r, tessi_eval_stage(l, r->stage->source, coord, false));
    v = combine(l, r, v, tessi_lexpr_var(l->p, acc));
    v = tessi_scope_place1(l, v);
    LStmt *set = tessi_scope_stmt(l, LSTMT_SET);
    set->var = acc;
    set->a = v;
}

/* One thread's partial result of its row. */
static void partial_of_row(Lower *l, const RowKernel *kernel, LExprId row, const LExprId *place)
{
    const Nest *nest = kernel->nest;
    Coord coord[MAX_DIMS] = { { .dim = -1 } };
    LExprId zero = tessi_l_int(l, 0), width = tessi_l_int(l, PARTIALS), n = tessi_l_int(l, 1);
    LExprId k = place[1];
    tessi_nest_row_coords(l, nest, row, coord);
    if (nest->n_dims) {
        uint8_t last = (uint8_t)(nest->n_dims - 1);
        coord[last] = tessi_nest_coord(nest, last, zero);
        n = nest->to[last];
    }
    LVarId acc = tessi_scope_var(l, "partial", kernel->r->acc, start_value(l, kernel->r));
    LExprId blocks = tessi_l_op(l, OP_FLOORDIV, n, width);
    LExprId block = open_loop(l, "block", zero, blocks, 0);
    LExprId first = tessi_l_op(l, OP_MUL, block, width);
    take_into(l, kernel->r, coord, acc, tessi_l_op(l, OP_ADD, first, k));
    tessi_scope_close(l);
    LExprId rest = tessi_l_op(l, OP_MUL, blocks, width);
    tessi_scope_if(l, tessi_l_op(l, OP_LT, k, tessi_l_op(l, OP_SUB, n, rest)));
    take_into(l, kernel->r, coord, acc, tessi_l_op(l, OP_ADD, rest, k));
    tessi_scope_close(l);
    store2(l, kernel->partial, place, tessi_lexpr_var(l->p, acc));
}

static LExprId load2(Lower *l, LBufferId buffer, LExprId at, LExprId k)
{
    LExprId e = tessi_lexpr_load(l->p, buffer, (LExprId[]){ at, k }, 2);
    tessi_pin(l, e, tessi_scope_depth(l));
    return e;
}

/* Partial results of all rows, and then combined in pairs. */
static void reduce_rows(Lower *l, RowKernel *kernel, LBufferId rows)
{
    const Reducer *r = kernel->r;
    LExprId place[2], row;
    kernel->block =
        tessi_kernel_grid(l, 0, "block_x", tessi_kernel_blocks(l, kernel->n_rows, ROWS_A_BLOCK));
    tessi_scope_stmt(l, LSTMT_LOCAL)->buffer = kernel->partial;
    open_row_threads(l, kernel, PARTIALS, place, &row);
    partial_of_row(l, kernel, row, place);
    close_row_threads(l);
    for (int half = PARTIALS / 2; half; half /= 2) {
        open_row_threads(l, kernel, half, place, &row);
        LExprId other = tessi_l_op(l, OP_ADD, place[1], tessi_l_int(l, half));
        LExprId v = combine(l, r, load2(l, kernel->partial, place[0], other),
                            load2(l, kernel->partial, place[0], place[1]));
        if (half > 1)
            store2(l, kernel->partial, place, v);
        else
            store(l, rows, row, v);
        close_row_threads(l);
    }
    tessi_scope_close(l);
}

static void reduction_kernels(Lower *l, const PlanGroup *group, const Reducer *r, const Nest *nest,
                              LBuffer *rows, LExprId n_rows)
{
    RowKernel kernel = { .r = r, .nest = nest, .n_rows = n_rows };
    LBuffer partial = { .name = "partials", .kind = LBUF_LOCAL, .type = r->acc, .n_dims = 2 };
    partial.size[0] = tessi_l_int(l, ROWS_A_BLOCK);
    partial.size[1] = tessi_l_int(l, PARTIALS);
    kernel.partial = tessi_loop_buffer(l->p, &partial);
    LBufferId rows_id = tessi_loop_buffer(l->p, rows);
    const char *comment = tessi_group_comment(l, group);
    tessi_kernel_open(l, rows->name, comment, PARTIALS, ROWS_A_BLOCK);
    reduce_rows(l, &kernel, rows_id);
    tessi_scope_close(l);
    tessi_kernel_open(l, group->name, comment, 1, 1);
    combine_rows(l, r, rows_id, n_rows, l->buffer[group->members.at[0].v]);
    tessi_scope_close(l);
}

/* ---- Both */

void tessi_lower_reduction(Lower *l, const PlanGroup *group)
{
    StageId id = group->members.at[0];
    const Reducer r = reducer_of(l, tessi_stage(l->g, id));
    Nest nest = { .parallel = group->parallel >= 0 };
    Coord coord[MAX_DIMS];
    tessi_nest_whole(l, r.source, &nest);
    l->n_loop_dims = nest.n_dims;
    l->inside_last = l->inside_rows = false;
    LExprId zero = tessi_l_int(l, 0);
    LExprId n_rows = nest.n_dims > 1 ? tessi_nest_row_count(l, &nest) : tessi_l_int(l, 1);

    LBuffer partial = { .name = "partial", .kind = LBUF_LOCAL, .type = r.acc, .n_dims = 1 };
    partial.size[0] = tessi_l_int(l, PARTIALS);
    LBuffer rows = { .kind = LBUF_TEMP, .type = r.acc, .n_dims = 1, .size = { n_rows } };
    rows.name = tessi_sprintf(l->arena, "%s_rows", r.stage->name);
    if (l->plan->gpu) {
        reduction_kernels(l, group, &r, &nest, &rows, n_rows);
        return;
    }
    LBufferId partial_id = tessi_loop_buffer(l->p, &partial);
    LBufferId rows_id = tessi_loop_buffer(l->p, &rows);

    if (nest.n_dims > 1) {
        uint8_t flags = nest.parallel ? LFOR_PARALLEL : 0;
        LExprId row = tessi_nest_rows(l, &nest, coord, flags);
        reduce_row(l, &r, &nest, coord, partial_id);
        store(l, rows_id, row, load(l, partial_id, zero));
        tessi_scope_close(l);
    } else {
        reduce_row(l, &r, &nest, coord, partial_id);
        store(l, rows_id, zero, load(l, partial_id, zero));
    }
    combine_rows(l, &r, rows_id, n_rows, l->buffer[id.v]);
}

/* ---- Histograms ------------------------------------------------------------------------------ */

/* Parallel parts of the image count into arrays of their own, which are added up; too many bins for that are counted
 * by atomic additions. */
enum { PARTS = 32, MAX_PART_BINS = 4096 };

typedef struct Counting {
    StageId source;
    LBufferId counts;
    LExprId part; /* first index of `counts`; none = 0 */
    LExprId n;    /* number of bins */
    bool atomic;
} Counting;

/* The bin of value v and whether there is one; floor(v) for reals, of which a NaN has none. */
static LExprId bin_of(Lower *l, const Counting *c, LExprId v, LExprId *in)
{
    ScalarType t = TYPE_INDEX;
    if (tessi_is_real(tessi_lexpr(l->p, v)->type)) {
        t = TYPE_F64;
        LExprId wide = tessi_lexpr_cast(l->p, TYPE_F64, v);
        v = tessi_lexpr_op(l->p, OP_FLOOR, wide, (LExprId){ 0 }, (LExprId){ 0 });
    } else {
        v = tessi_lexpr_cast(l->p, TYPE_INDEX, v);
    }
    LExprId least = tessi_lexpr_const(l->p, t, (Value){ 0 });
    LExprId end = tessi_lexpr_cast(l->p, t, c->n);
    *in = tessi_l_op(l, OP_AND, tessi_l_op(l, OP_LE, least, v), tessi_l_op(l, OP_LT, v, end));
    return tessi_lexpr_cast(l->p, TYPE_INDEX, v);
}

static void add_to_bin(Lower *l, const Counting *c, LExprId bin)
{
    LStmt *s = tessi_scope_stmt(l, LSTMT_ADD);
    s->buffer = c->counts;
    if (c->part.v)
        s->index[s->n_index++] = c->part;
    s->index[s->n_index++] = bin;
    s->a = tessi_lexpr_const(l->p, TYPE_U32, tessi_value_int(1));
    s->atomic = c->atomic;
}

static void count_point(Lower *l, const Nest *nest, const Coord *coord, Eval *ev)
{
    (void)ev;
    const Counting *c = nest->user;
    LExprId in, place[2];
    place[0] = bin_of(l, c, tessi_eval_stage(l, c->source, coord, false), &in);
    place[1] = in;
    tessi_scope_place(l, place, 2);
    tessi_scope_if(l, place[1]);
    add_to_bin(l, c, place[0]);
    tessi_scope_close(l);
}

static void clear_bins(Lower *l, const Counting *c)
{
    LExprId bin = open_loop(l, "bin", tessi_l_int(l, 0), c->n, LFOR_SIMD);
    LStmt *s = tessi_scope_stmt(l, LSTMT_STORE);
    s->buffer = c->counts;
    if (c->part.v)
        s->index[s->n_index++] = c->part;
    s->index[s->n_index++] = bin;
    s->a = tessi_lexpr_const(l->p, TYPE_U32, (Value){ 0 });
    tessi_scope_close(l);
}

/* Dimension 0 in PARTS parts, each with its own row of counts. */
static void count_parts(Lower *l, const Stage *stage, Nest *nest, Counting *c, LBufferId sums)
{
    LExprId parts = tessi_l_int(l, PARTS), zero = tessi_l_int(l, 0), one = tessi_l_int(l, 1);
    LBuffer b = { .kind = LBUF_TEMP, .type = TYPE_U32, .n_dims = 2, .size = { parts, c->n } };
    b.name = tessi_sprintf(l->arena, "%s_parts", stage->name);
    c->counts = tessi_loop_buffer(l->p, &b);
    c->part = open_loop(l, "part", zero, parts, LFOR_PARALLEL);
    clear_bins(l, c);
    LExprId rows = nest->to[0];
    LExprId next = tessi_l_op(l, OP_ADD, c->part, one);
    nest->from[0] = tessi_l_op(l, OP_FLOORDIV, tessi_l_op(l, OP_MUL, rows, c->part), parts);
    nest->to[0] = tessi_l_op(l, OP_FLOORDIV, tessi_l_op(l, OP_MUL, rows, next), parts);
    tessi_lower_nest(l, nest);
    tessi_scope_close(l);

    LExprId bin = open_loop(l, "bin", zero, c->n, 0);
    LVarId sum =
        tessi_scope_var(l, "sum", TYPE_U32, tessi_lexpr_const(l->p, TYPE_U32, (Value){ 0 }));
    LExprId so_far = tessi_lexpr_var(l->p, sum);
    LExprId part = open_loop(l, "part", zero, parts, 0);
    LStmt *set = tessi_scope_stmt(l, LSTMT_SET);
    set->var = sum;
    set->a = tessi_l_op(l, OP_ADD, so_far,
                        tessi_lexpr_load(l->p, c->counts, (LExprId[]){ part, bin }, 2));
    tessi_scope_close(l);
    store(l, sums, bin, so_far);
    tessi_scope_close(l);
}

static void clear_bin(Lower *l, const Nest *nest, const Coord *coord, Eval *ev)
{
    (void)ev;
    const Counting *c = nest->user;
    store(l, c->counts, coord[0].e, tessi_lexpr_const(l->p, TYPE_U32, (Value){ 0 }));
}

static void histogram_kernels(Lower *l, const PlanGroup *group, Counting *c, const Nest *nest)
{
    enum { CLEAR_BLOCK = 128 };
    const char *comment = tessi_group_comment(l, group);
    Nest bins = { .body = clear_bin, .user = c };
    tessi_nest_whole(l, tessi_stage(l->g, group->members.at[0]), &bins);
    tessi_kernel_open(l, tessi_sprintf(l->arena, "%s_clear", group->name), comment, CLEAR_BLOCK, 1);
    tessi_kernel_points(l, &bins, (uint16_t[]){ CLEAR_BLOCK, 1 }, SPLIT_NONE, NULL);
    tessi_scope_close(l);
    c->atomic = nest->n_dims > 0;
    tessi_kernel_open(l, group->name, comment, nest->n_dims ? group->block[0] : 1,
                      nest->n_dims ? group->block[1] : 1);
    tessi_kernel_points(l, nest, group->block, SPLIT_NONE, NULL);
    tessi_scope_close(l);
}

void tessi_lower_histogram(Lower *l, const PlanGroup *group)
{
    StageId id = group->members.at[0];
    const Stage *stage = tessi_stage(l->g, id), *source = tessi_stage(l->g, stage->source);
    Counting c = { .source = stage->source, .counts = l->buffer[id.v] };
    c.n = tessi_lower_size(l, stage->size[0]);
    Nest nest = { .body = count_point, .user = &c };
    tessi_nest_whole(l, source, &nest);
    if (l->plan->gpu) {
        histogram_kernels(l, group, &c, &nest);
        return;
    }
    bool parallel = group->parallel >= 0 && nest.n_dims > 0;
    int64_t bins;
    if (parallel && tessi_size_is_const(l->g, stage->size[0], &bins) && bins <= MAX_PART_BINS) {
        count_parts(l, stage, &nest, &c, l->buffer[id.v]);
        return;
    }
    c.atomic = nest.parallel = parallel;
    clear_bins(l, &c);
    tessi_lower_nest(l, &nest);
}
