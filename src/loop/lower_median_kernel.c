/* Medians of wide rectangles on GPUs. What a block reads is copied to shared memory first, all borders answered.
 *
 * By histograms, for integers of 8 bits: each thread has one of its window, in shared memory, and goes down the rows
 * of a strip. A step down adds a row of the window and takes one away, of bins of values and of bins of upper
 * halves; the median is looked for in these first, and then in the 16 bins of one. A value that comes and one that
 * goes are counted together, since of what is stored nobody knows before that it is not loaded next. Warps share
 * words of counters, each with a part of its own, so that no two threads of a warp want the same bank.
 *
 * By counting: bit by bit from the highest the median is the greatest number than which no more values are less than
 * its rank, of some points above one another in each thread, which share what they load. The work grows with the
 * area. */
#include "loop/lower_gather.h"
#include "loop/lower_median.h"
#include "loop/lower_window.h"

enum { ROWS_AT_ONCE = 4 };

typedef struct Median {
    Lower *l;
    const PlanGroup *group;
    const Stage *stage;
    WideMedian what;
    ScalarType type;
    Gather read;
    int64_t wide, rank;     /* elements of a row that a block reads */
    LExprId end[2];         /* rows and columns of the image */
    LExprId y, x;           /* first row and column of the block */
    LExprId high;           /* rows of a block */
    LBufferId values;       /* by counting: all that the block reads */
    LBufferId come, go;     /* by histograms: bins of rows, */
    LBufferId coarse, fine; /* and their counters, by thread */
    ScalarType counter;
} Median;

/* ---- Histograms: rows ------------------------------------------------------------------------ */

/* The bin of the element in row k and column x from the first. */
static LExprId bin_of(const Median *m, LExprId k, LExprId x)
{
    Lower *l = m->l;
    LExprId v = i32_of(l, tessi_gather_answered(&m->read, k, x));
    v = op(l, OP_SUB, v, i32(l, tessi_type_range(m->type).lo));
    v = tessi_lexpr_cast(m->l->p, TYPE_U8, v);
    tessi_pin(l, v, tessi_scope_depth(l));
    return v;
}

/* Bins of some rows: those that come, from row `come` of what is read on, and with `goes` those that go. */
static void copy_rows(const Median *m, LExprId come, bool goes, LExprId go)
{
    Lower *l = m->l;
    LExprId wide = tessi_l_int(l, m->wide);
    LExprId n = tessi_kernel_threads(l, 0, "element", ROWS_AT_ONCE * m->wide);
    LExprId row = now(l, "row", op(l, OP_FLOORDIV, n, wide));
    LExprId col = now(l, "column", op(l, OP_FLOORMOD, n, wide));
    LExprId bin[2] = { bin_of(m, op(l, OP_ADD, come, row), col) };
    if (goes)
        bin[1] = bin_of(m, op(l, OP_ADD, go, row), col);
    tessi_scope_place(l, bin, 1 + goes);
    put(l, LSTMT_STORE, m->come, row, col, bin[0]);
    if (goes)
        put(l, LSTMT_STORE, m->go, row, col, bin[1]);
    close(l, 1);
}

/* Where the counters of a thread stand among those of the block. */
static LExprId slot_of(const Median *m, LExprId thread)
{
    const int64_t parts = 4 / tessi_type_info(m->counter)->bytes, together = PLAN_WARP * parts;
    Lower *l = m->l;
    if (m->group->strip % together)
        return thread;
    LExprId in = op(l, OP_FLOORMOD, thread, tessi_l_int(l, together));
    LExprId lane = op(l, OP_FLOORMOD, in, tessi_l_int(l, PLAN_WARP));
    LExprId slot = op(l, OP_SUB, thread, in);
    slot = op(l, OP_ADD, slot, op(l, OP_MUL, lane, tessi_l_int(l, parts)));
    return now(l, "slot", op(l, OP_ADD, slot, op(l, OP_FLOORDIV, in, tessi_l_int(l, PLAN_WARP))));
}

/* Opens the threads that have a column of the image. */
static LExprId open_threads(const Median *m, LExprId *slot)
{
    Lower *l = m->l;
    LExprId thread = tessi_kernel_threads(l, 0, "thread_x", m->group->strip);
    tessi_scope_if(l, op(l, OP_LT, op(l, OP_ADD, m->x, thread), m->end[1]));
    *slot = slot_of(m, thread);
    return thread;
}

/* ---- Histograms: counters -------------------------------------------------------------------- */

static LExprId upper_half(const Median *m, LExprId bin)
{
    return op(m->l, OP_FLOORDIV, bin, tessi_l_int(m->l, BINS));
}

static void clear_counters(const Median *m)
{
    Lower *l = m->l;
    LExprId slot, zero = number(l, m->counter, 0);
    open_threads(m, &slot);
    LExprId k = count_to(l, "k", BINS, LFOR_ROLLED);
    put(l, LSTMT_STORE, m->coarse, k, slot, zero);
    close(l, 1);
    k = count_to(l, "k", BINS * BINS, LFOR_ROLLED);
    put(l, LSTMT_STORE, m->fine, k, slot, zero);
    close(l, 3);
}

static LExprId bin_at(const Median *m, const char *name, LBufferId rows, LExprId row, LExprId col)
{
    return now(m->l, name, index_of(m->l, load(m->l, rows, row, col)));
}

/* A value comes and another goes; where both are of one bin, nothing changes. */
static void exchange(const Median *m, LBufferId counters, LExprId come, LExprId go, LExprId slot)
{
    Lower *l = m->l;
    LExprId differ = op(l, OP_NE, come, go);
    LExprId one = tessi_l_select(l, differ, number(l, m->counter, 1), number(l, m->counter, 0));
    one = now(l, "one", one);
    LExprId more = now(l, "more", load(l, counters, come, slot));
    LExprId less = now(l, "less", load(l, counters, go, slot));
    put(l, LSTMT_STORE, counters, come, slot, op(l, OP_ADD, more, one));
    put(l, LSTMT_STORE, counters, go, slot, op(l, OP_SUB, less, one));
}

/* The rows of the first window but its last, and the row above them. */
static void count_first_rows(const Median *m)
{
    Lower *l = m->l;
    const int64_t n = m->what.rows;
    LExprId from = count_to(l, "part", (n + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE, LFOR_ROLLED);
    from = now(l, "from", op(l, OP_MUL, from, tessi_l_int(l, ROWS_AT_ONCE)));
    copy_rows(m, add(l, from, -1), false, from);
    LExprId slot, thread = open_threads(m, &slot);
    LExprId left = op(l, OP_SUB, tessi_l_int(l, n), from);
    LExprId r = loop(l, "r", tessi_l_int(l, 0), op(l, OP_MIN, left, tessi_l_int(l, ROWS_AT_ONCE)),
                     LFOR_ROLLED);
    LExprId j = count_to(l, "j", m->what.cols, 0);
    LExprId bin = bin_at(m, "bin", m->come, r, op(l, OP_ADD, thread, j));
    put(l, LSTMT_ADD, m->coarse, upper_half(m, bin), slot, number(l, m->counter, 1));
    put(l, LSTMT_ADD, m->fine, bin, slot, number(l, m->counter, 1));
    close(l, 5);
}

/* The bin among 16 from `first` on in which the value of a rank lies; the rank becomes that within the bin. */
static LExprId find_bin(const Median *m, const char *name, LBufferId counters, LExprId first,
                        LExprId slot, LVarId rank)
{
    Lower *l = m->l;
    LVarId n = tessi_scope_var(l, name, TYPE_I32, i32(l, 0));
    LVarId sum = tessi_scope_var(l, "sum", TYPE_I32, i32(l, 0));
    LVarId below = tessi_scope_var(l, "below", TYPE_I32, i32(l, 0));
    LExprId k = count_to(l, "k", BINS, LFOR_UNROLL);
    LExprId count = i32_of(l, load(l, counters, op(l, OP_ADD, first, k), slot));
    LExprId next = now(l, "next", op(l, OP_ADD, var(l, sum), count));
    LExprId under = now(l, "under", op(l, OP_LE, next, var(l, rank)));
    tessi_lower_set(l, sum, next);
    tessi_lower_set(l, below, tessi_l_select(l, under, next, var(l, below)));
    LExprId one = tessi_l_select(l, under, i32(l, 1), i32(l, 0));
    tessi_lower_set(l, n, op(l, OP_ADD, var(l, n), one));
    close(l, 1);
    tessi_lower_set(l, rank, op(l, OP_SUB, var(l, rank), var(l, below)));
    return now(l, name, index_of(l, var(l, n)));
}

static void slide(const Median *m)
{
    Lower *l = m->l;
    const LExprId zero = tessi_l_int(l, 0), at_once = tessi_l_int(l, ROWS_AT_ONCE);
    LExprId rows = op(l, OP_SUB, m->end[0], m->y);
    rows = now(l, "rows", op(l, OP_MIN, rows, m->high));
    LExprId part = loop(l, "part", zero, tessi_kernel_blocks(l, rows, ROWS_AT_ONCE), LFOR_ROLLED);
    LExprId from = now(l, "from", op(l, OP_MUL, part, at_once));
    copy_rows(m, add(l, from, (int64_t)m->what.rows - 1), true, add(l, from, -1));
    LExprId slot, thread = open_threads(m, &slot);
    LExprId left = op(l, OP_SUB, rows, from);
    LExprId r = loop(l, "r", zero, op(l, OP_MIN, left, at_once), LFOR_ROLLED);
    LExprId j = count_to(l, "j", m->what.cols, 0);
    LExprId col = op(l, OP_ADD, thread, j);
    LExprId come = bin_at(m, "comes", m->come, r, col), go = bin_at(m, "goes", m->go, r, col);
    exchange(m, m->fine, come, go, slot);
    exchange(m, m->coarse, now(l, "comes_above", upper_half(m, come)),
             now(l, "goes_above", upper_half(m, go)), slot);
    close(l, 1);
    LVarId rank = tessi_scope_var(l, "rank", TYPE_I32, i32(l, m->rank));
    LExprId upper = find_bin(m, "upper", m->coarse, zero, slot, rank);
    LExprId first = now(l, "first", op(l, OP_MUL, upper, tessi_l_int(l, BINS)));
    LExprId bin = op(l, OP_ADD, first, find_bin(m, "lower", m->fine, first, slot, rank));
    bin = op(l, OP_ADD, i32_of(l, bin), i32(l, tessi_type_range(m->type).lo));
    bin = now(l, "median", tessi_lexpr_cast(l->p, m->type, bin));
    LExprId y = now(l, "y", op(l, OP_ADD, op(l, OP_ADD, m->y, from), r));
    tessi_give_point(l, m->group, m->what.window, bin, y, now(l, "x", op(l, OP_ADD, m->x, thread)));
    close(l, 4);
}

static void by_histograms(Median *m)
{
    Lower *l = m->l;
    const int64_t points = (int64_t)m->what.rows * m->what.cols, threads = m->group->strip;
    m->counter = points <= UINT8_MAX ? TYPE_U8 : TYPE_U16;
    m->come = local(l, m->stage, "come", TYPE_U8, ROWS_AT_ONCE, m->wide);
    m->go = local(l, m->stage, "go", TYPE_U8, ROWS_AT_ONCE, m->wide);
    m->coarse = local(l, m->stage, "coarse", m->counter, BINS, threads);
    m->fine = local(l, m->stage, "fine", m->counter, BINS * BINS, threads);
    clear_counters(m);
    count_first_rows(m);
    slide(m);
}

/* ---- Counting -------------------------------------------------------------------------------- */

static void copy_tile(Median *m)
{
    Lower *l = m->l;
    const int64_t rows = (int64_t)m->group->median + m->what.rows - 1;
    m->values = local(l, m->stage, "values", m->what.key, rows, m->wide);
    LExprId row = tessi_kernel_threads(l, 1, "row", rows);
    LExprId col = tessi_kernel_threads(l, 0, "column", m->wide);
    LExprId value = tessi_gather_answered(&m->read, row, col);
    tessi_pin(l, value, tessi_scope_depth(l));
    put(l, LSTMT_STORE, m->values, row, col, tessi_scope_place1(l, value));
    close(l, 2);
}

/* The points of a thread, the row of the first of them in the tile and their column. */
typedef struct Points {
    int64_t n;
    LExprId row, col;
    LVarId *key,
        /* the greatest number known to be no more than the median; how many values are less than the one tried */
        *less;
    LExprId *tried, *least; /* least: the same, as values are compared with it */
} Points;

/* 1 where value < tried, else 0: of narrow integers the sign of the difference, which takes an instruction less. */
static LExprId is_less(const Median *m, LExprId value, LExprId tried)
{
    Lower *l = m->l;
    if (tessi_type_info(m->what.key)->bytes > 2)
        return tessi_l_select(l, op(l, OP_LT, value, tried), i32(l, 1), i32(l, 0));
    LExprId sign = tessi_lexpr_cast(l->p, TYPE_U32, op(l, OP_SUB, i32_of(l, value), tried));
    return i32_of(l, op(l, OP_SHR, sign, number(l, TYPE_U32, 31)));
}

/* Row i of the values that the points read, which those from `from` to `to` have in their windows. */
static void count_row(const Median *m, const Points *p, LExprId i, int64_t from, int64_t to)
{
    Lower *l = m->l;
    LExprId j = count_to(l, "j", m->what.cols, 0);
    LExprId at = op(l, OP_ADD, p->row, i);
    LExprId value = now(l, "value", load(l, m->values, at, op(l, OP_ADD, p->col, j)));
    for (int64_t k = from; k < to; k++) {
        LExprId one = is_less(m, value, p->least[k]);
        tessi_lower_set(l, p->less[k], op(l, OP_ADD, var(l, p->less[k]), one));
    }
    close(l, 1);
}

/* All rows: those that all points have are a loop. */
static void count_rows(const Median *m, const Points *p)
{
    Lower *l = m->l;
    const int64_t high = m->what.rows, n = p->n;
    for (int64_t i = 0; i < high + n - 1; i++) {
        if (i == n - 1 && n < high) {
            LExprId row = loop(l, "i", tessi_l_int(l, i), tessi_l_int(l, high), 0);
            count_row(m, p, row, 0, n);
            close(l, 1);
            i = high - 1;
            continue;
        }
        count_row(m, p, tessi_l_int(l, i), i < high ? 0 : i - high + 1, i < n ? i + 1 : n);
    }
}

static void try_bits(const Median *m, const Points *p)
{
    Lower *l = m->l;
    const ScalarType key = m->what.key;
    const LBufferId bits = tessi_median_bits(l, m->stage->name, key);
    LExprId b = count_to(l, "b", 8 * (int64_t)tessi_type_info(key)->bytes, LFOR_ROLLED);
    LExprId bit = now(l, "bit", tessi_lexpr_load(l->p, bits, &b, 1));
    for (int64_t k = 0; k < p->n; k++) {
        p->tried[k] = now(l, "tried", op(l, OP_ADD, var(l, p->key[k]), bit));
        p->least[k] =
            tessi_type_info(key)->bytes > 2 ? p->tried[k] : now(l, "least", i32_of(l, p->tried[k]));
        p->less[k] = tessi_scope_var(l, "less", TYPE_I32, i32(l, 0));
    }
    count_rows(m, p);
    for (int64_t k = 0; k < p->n; k++) {
        LExprId fits = op(l, OP_LE, var(l, p->less[k]), i32(l, m->rank));
        tessi_lower_set(l, p->key[k], tessi_l_select(l, fits, p->tried[k], var(l, p->key[k])));
    }
    close(l, 1);
}

static void by_counting(Median *m)
{
    Lower *l = m->l;
    const ScalarType key = m->what.key;
    Points p = { .n = tessi_level_outputs(&m->group->levels, 1) };
    p.key = ARENA_NEW_ARRAY(l->arena, LVarId, (size_t)p.n);
    p.less = ARENA_NEW_ARRAY(l->arena, LVarId, (size_t)p.n);
    p.tried = ARENA_NEW_ARRAY(l->arena, LExprId, (size_t)p.n);
    p.least = ARENA_NEW_ARRAY(l->arena, LExprId, (size_t)p.n);
    copy_tile(m);
    LExprId line =
        tessi_kernel_threads(l, 1, "thread_y", tessi_level_threads(&m->group->levels, 1));
    p.col = tessi_kernel_threads(l, 0, "thread_x", tessi_level_threads(&m->group->levels, 0));
    p.row = now(l, "first", op(l, OP_MUL, line, tessi_l_int(l, p.n)));
    LExprId x = now(l, "x", op(l, OP_ADD, m->x, p.col));
    LExprId y = now(l, "y", op(l, OP_ADD, m->y, p.row));
    LExprId some = op(l, OP_AND, op(l, OP_LT, x, m->end[1]), op(l, OP_LT, y, m->end[0]));
    tessi_scope_if(l, some);
    for (int64_t k = 0; k < p.n; k++)
        p.key[k] = tessi_scope_var(l, "key", key, number(l, key, tessi_type_range(key).lo));
    try_bits(m, &p);
    for (int64_t k = 0; k < p.n; k++) {
        LExprId row = now(l, "row", add(l, y, k)), found = var(l, p.key[k]);
        if (m->read.ordered)
            found = tessi_lexpr_op(l->p, OP_AT_ORDER, found, (LExprId){ 0 }, (LExprId){ 0 });
        tessi_scope_if(l, op(l, OP_LT, row, m->end[0]));
        tessi_give_point(l, m->group, m->what.window, now(l, "median", found), row, x);
        close(l, 1);
    }
    close(l, 3);
}

/* ---- Kernel ---------------------------------------------------------------------------------- */

/* So few rows that there are as many blocks as the march says, within its limits. */
static LExprId rows_of_blocks(const Median *m)
{
    Lower *l = m->l;
    const PlanMarch march = tessi_level_march(&m->group->levels);
    if (!march.least)
        return tessi_l_int(l, m->group->median);
    const LExprId one = tessi_l_int(l, 1);
    LExprId across = op(l, OP_MAX, tessi_kernel_blocks(l, m->end[1], m->group->strip), one);
    LExprId n = op(l, OP_FLOORDIV, tessi_l_int(l, march.blocks), across);
    n = op(l, OP_MAX, n, one);
    tessi_hint(l, n, "strips");
    LExprId rows = op(l, OP_FLOORDIV, op(l, OP_ADD, m->end[0], add(l, n, -1)), n);
    rows = op(l, OP_MAX, rows, tessi_l_int(l, march.least));
    return op(l, OP_MIN, rows, tessi_l_int(l, march.most));
}

void tessi_kernel_median(Lower *l, const PlanGroup *group)
{
    Median m = { .l = l, .group = group };
    m.stage = tessi_stage(l->g, group->members.at[0]);
    tessi_stage_wide_median(l->g, &l->walk, m.stage, &m.what);
    m.type = tessi_expr(l->g, m.what.window)->type;
    m.wide = (int64_t)group->strip + m.what.cols - 1;
    m.rank = (int64_t)m.what.rows * m.what.cols / 2;
    l->n_loop_dims = 2;
    l->inside_last = l->inside_rows = false;
    tessi_kernel_open(l, group->name, tessi_group_comment(l, group),
                      tessi_level_threads(&group->levels, 0),
                      tessi_level_threads(&group->levels, 1))
        ->resident = group->resident;
    const uint32_t depth = tessi_scope_depth(l);
    for (uint8_t d = 0; d < 2; d++)
        m.end[d] = tessi_lower_size(l, m.stage->size[d]);
    m.high = rows_of_blocks(&m);
    LExprId high = tessi_l_op(l, OP_ADD, m.end[0], add(l, m.high, -1));
    LExprId block_y = tessi_kernel_grid(l, 1, "block_y", op(l, OP_FLOORDIV, high, m.high));
    LExprId block_x =
        tessi_kernel_grid(l, 0, "block_x", tessi_kernel_blocks(l, m.end[1], group->strip));
    if (tessi_level_march(&group->levels).least)
        m.high = now(l, "strip_rows", rows_of_blocks(&m));
    LExprId y = op(l, OP_MUL, block_y, m.high);
    if (tessi_level_march(&group->levels)
            .least) /* as it is; said for the bound of what 32 bits have to hold */
        y = op(l, OP_MIN, y, add(l, m.end[0], -1));
    m.y = now(l, "y_from", y);
    m.x = now(l, "x_from", op(l, OP_MUL, block_x, tessi_l_int(l, group->strip)));
    m.read = tessi_gather_new(l, tessi_access(l->g, m.what.read), m.type);
    m.read.ordered = tessi_is_real(m.type);
    tessi_gather_at(&m.read, tessi_expr(l->g, m.what.window)->window, m.y, m.x);
    (group->counts ? by_counting : by_histograms)(&m);
    while (tessi_scope_depth(l) > depth)
        tessi_scope_close(l);
    tessi_scope_close(l);
}
