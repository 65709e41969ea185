/* Medians of wide rectangles, strip by strip. What is read is copied first, all borders answered; of reals their
 * places in order.
 *
 * By counting: bit by bit from the highest the median is found as the greatest number than which no more values are
 * less than its rank, for all points of a row at once, in vectors. The work grows with the area.
 *
 * By histograms that slide along the rows, for integers of 8 and 16 bits; bins count from the least value of the
 * type.
 *
 * 8 bits (Perreault and Hebert): each column keeps the histogram of its part of the window, which a step down
 * changes by two values. A step to the right adds one column and takes one away: of the histogram of upper halves of
 * values at once, of those of lower halves when a median has that upper half again. Histograms are kept added up, so
 * that the place of the median is the number of bins that are not above its rank: a comparison of vectors. The work
 * does not depend on the window.
 *
 * 16 bits: histograms of columns would not fit a cache. The window has one, and its sums over 16, 256 and 4096 bins;
 * a step to the right adds a column of values and takes one away. */
#include "loop/lower_median.h"
#include "loop/lower_gather.h"
#include "loop/lower_window.h"

enum { LEVELS = 4 }; /* of the sums for 16 bits */

typedef struct Median {
    Lower *l;
    const PlanGroup *group;
    const Stage *stage;
    WideMedian what;
    ScalarType type;
    Gather read;
    int64_t wide, rank;
    LBufferId values, results;
    LBufferId coarse, fine;       /* of columns, which have one of zeros before the first */
    LBufferId of_coarse, of_fine; /* of the window */
    LBufferId last;               /* the column at which of_fine has this upper half */
    LBufferId keys, bits;         /* by counting: the median as far as it is known; powers of two */
    LBufferId level[LEVELS];      /* 16 bits: sums over 4096, 256, 16 and 1 bins */
    LExprId y, x, columns;        /* first row and column of the strip; columns of it */
} Median;

/* ---- Short forms ----------------------------------------------------------------------------- */

static LExprId bins(const Median *m, uint8_t flags)
{
    Lower *l = m->l;
    return count_to(l, "k", BINS, flags);
}

static LExprId load1(const Median *m, LBufferId b, LExprId col)
{
    return load(m->l, b, tessi_l_int(m->l, 0), col);
}

static void put1(const Median *m, LBufferId b, LExprId col, LExprId value)
{
    put(m->l, LSTMT_STORE, b, tessi_l_int(m->l, 0), col, value);
}

static void clear(const Median *m, LBufferId b, int64_t rows, int64_t cols)
{
    Lower *l = m->l;
    LExprId zero = tessi_l_int(l, 0);
    LExprId row = loop(l, "j", zero, tessi_l_int(l, rows), 0);
    LExprId col = loop(l, "k", zero, tessi_l_int(l, cols), LFOR_SIMD);
    put(l, LSTMT_STORE, b, row, col, i32(l, 0));
    close(l, 2);
}

/* The bin of the value at a place of what was copied. */
static LExprId bin_at(const Median *m, LExprId row, LExprId col)
{
    Lower *l = m->l;
    LExprId v = i32_of(l, load(l, m->values, row, col));
    const int64_t least = tessi_type_range(m->type).lo;
    return now(l, "bin", op(l, OP_SUB, v, i32(l, least)));
}

/* ---- 8 bits ---------------------------------------------------------------------------------- */

/* sums[row][from + k] += by, for all k from `bin` on. */
static void count_from(const Median *m, LBufferId sums, LExprId row, LExprId from, LExprId bin,
                       int by)
{
    Lower *l = m->l;
    LExprId k = bins(m, LFOR_SIMD);
    LExprId at = op(l, OP_ADD, from, k);
    LExprId had = now(l, "had", load(l, sums, row, at));
    LExprId counts = op(l, OP_LE, bin, i32_of(l, k));
    LExprId next = tessi_l_select(l, counts, op(l, OP_ADD, had, i32(l, by)), had);
    put(l, LSTMT_STORE, sums, row, at, next);
    close(l, 1);
}

/* Row `row` of what was copied comes to the histograms of the columns, or leaves them. */
static void change_columns(const Median *m, LExprId row, int by)
{
    Lower *l = m->l;
    LExprId j = count_to(l, "j", m->wide, 0);
    LExprId bin = bin_at(m, row, j), column = now(l, "column", add(l, j, 1));
    LExprId upper = now(l, "upper", op(l, OP_SHR, bin, i32(l, HALF)));
    LExprId lower = now(l, "lower", op(l, OP_AND, bin, i32(l, BINS - 1)));
    LExprId from = now(l, "from", op(l, OP_MUL, index_of(l, upper), tessi_l_int(l, BINS)));
    count_from(m, m->coarse, column, tessi_l_int(l, 0), upper, by);
    count_from(m, m->fine, column, from, lower, by);
    close(l, 1);
}

/* How many sums from `from` on are not above a rank: the bin of that rank. */
static LExprId find_bin(const Median *m, const char *name, LBufferId sums, LExprId from,
                        LExprId rank)
{
    Lower *l = m->l;
    LVarId n = tessi_scope_var(l, name, TYPE_I32, i32(l, 0));
    LExprId k = bins(m, 0);
    LExprId below = op(l, OP_LE, load1(m, sums, op(l, OP_ADD, from, k)), rank);
    LExprId one = tessi_l_select(l, below, i32(l, 1), i32(l, 0));
    tessi_lower_set(l, n, op(l, OP_ADD, var(l, n), one));
    close(l, 1);
    return var(l, n);
}

/* The histogram of lower halves for the columns of x: from that of the column where it was up to date, or anew. */
static void bring_up_to_date(const Median *m, LExprId upper, LExprId from, LExprId x)
{
    Lower *l = m->l;
    const int64_t cols = m->what.cols;
    LExprId last = now(l, "last", index_of(l, load1(m, m->last, upper)));
    LExprId steps = op(l, OP_SUB, x, last);
    LExprId far = op(l, OP_LT, tessi_l_int(l, cols), op(l, OP_MUL, steps, tessi_l_int(l, 2)));
    for (int again = 1; again >= 0; again--) {
        if (again)
            tessi_scope_if(l, far);
        else
            tessi_scope_else(l);
        LExprId k = bins(m, LFOR_SIMD), at = op(l, OP_ADD, from, k);
        LVarId sum =
            tessi_scope_var(l, "sum", TYPE_I32, again ? i32(l, 0) : load1(m, m->of_fine, at));
        LExprId j = again ? loop(l, "j", add(l, x, 1), add(l, x, cols + 1), 0)
                          : loop(l, "j", add(l, last, 1), add(l, x, 1), 0);
        LExprId next = var(l, sum);
        if (again) {
            next = op(l, OP_ADD, next, load(l, m->fine, j, at));
        } else {
            next = op(l, OP_ADD, next, load(l, m->fine, add(l, j, cols), at));
            next = op(l, OP_SUB, next, load(l, m->fine, j, at));
        }
        tessi_lower_set(l, sum, next);
        close(l, 1);
        put1(m, m->of_fine, at, var(l, sum));
        close(l, 1);
    }
    close(l, 1);
    put1(m, m->last, upper, i32_of(l, x));
}

static void start_row_of_8(const Median *m)
{
    Lower *l = m->l;
    LExprId k = bins(m, LFOR_SIMD);
    LVarId sum = tessi_scope_var(l, "sum", TYPE_I32, i32(l, 0));
    LExprId j = loop(l, "j", tessi_l_int(l, 1), tessi_l_int(l, m->what.cols), 0);
    LExprId column = load(l, m->coarse, j, k);
    tessi_lower_set(l, sum, op(l, OP_ADD, var(l, sum), column));
    close(l, 1);
    put1(m, m->of_coarse, k, var(l, sum));
    put1(m, m->last, k, i32(l, -(int64_t)m->what.cols));
    close(l, 1);
}

static LExprId median_of_8(const Median *m, LExprId x)
{
    Lower *l = m->l;
    LExprId k = bins(m, LFOR_SIMD);
    LExprId sum =
        op(l, OP_ADD, load1(m, m->of_coarse, k), load(l, m->coarse, add(l, x, m->what.cols), k));
    put1(m, m->of_coarse, k, now(l, "sum", op(l, OP_SUB, sum, load(l, m->coarse, x, k))));
    close(l, 1);
    LExprId upper = find_bin(m, "upper", m->of_coarse, tessi_l_int(l, 0), i32(l, m->rank));
    upper = now(l, "half", index_of(l, upper));
    LExprId from = now(l, "from", op(l, OP_MUL, upper, tessi_l_int(l, BINS)));
    LExprId before = op(l, OP_MAX, add(l, upper, -1), tessi_l_int(l, 0));
    LExprId below = tessi_l_select(l, op(l, OP_LT, tessi_l_int(l, 0), upper),
                                   load1(m, m->of_coarse, before), i32(l, 0));
    LExprId rank = now(l, "rank", op(l, OP_SUB, i32(l, m->rank), below));
    bring_up_to_date(m, upper, from, x);
    LExprId lower = find_bin(m, "lower", m->of_fine, from, rank);
    return op(l, OP_ADD, i32_of(l, from), lower);
}

/* ---- 16 bits --------------------------------------------------------------------------------- */

/* The values of a column come to the histogram, or leave it. */
static void change_window(const Median *m, LExprId row, LExprId column, int by)
{
    Lower *l = m->l;
    LExprId i = count_to(l, "i", m->what.rows, 0);
    LExprId bin = bin_at(m, op(l, OP_ADD, row, i), column);
    for (int k = 0; k < LEVELS; k++) {
        LExprId at = op(l, OP_SHR, bin, i32(l, HALF * (LEVELS - 1 - k)));
        put(l, LSTMT_ADD, m->level[k], tessi_l_int(l, 0), now(l, "at", index_of(l, at)),
            i32(l, by));
    }
    close(l, 1);
}

/* The columns [from, to), all at once. */
static void change_columns_of_16(const Median *m, LExprId row, LExprId from, LExprId to, int by)
{
    LExprId j = loop(m->l, "j", from, to, 0);
    change_window(m, row, j, by);
    close(m->l, 1);
}

static LExprId median_of_16(const Median *m)
{
    Lower *l = m->l;
    LVarId bin = tessi_scope_var(l, "bin", TYPE_I32, i32(l, 0));
    LVarId rank = tessi_scope_var(l, "rank", TYPE_I32, i32(l, m->rank));
    for (int level = 0; level < LEVELS; level++) {
        LExprId from = op(l, OP_MUL, index_of(l, var(l, bin)), tessi_l_int(l, BINS));
        from = now(l, "from", from);
        LVarId sum = tessi_scope_var(l, "sum", TYPE_I32, i32(l, 0));
        LVarId below = tessi_scope_var(l, "below", TYPE_I32, i32(l, 0));
        LVarId n = tessi_scope_var(l, "n", TYPE_I32, i32(l, 0));
        LExprId k = bins(m, 0);
        LExprId count = load1(m, m->level[level], op(l, OP_ADD, from, k));
        LExprId next = now(l, "next", op(l, OP_ADD, var(l, sum), count));
        LExprId under = now(l, "under", op(l, OP_LE, next, var(l, rank)));
        LExprId one = tessi_l_select(l, under, i32(l, 1), i32(l, 0));
        tessi_lower_set(l, sum, next);
        tessi_lower_set(l, below, tessi_l_select(l, under, next, var(l, below)));
        tessi_lower_set(l, n, op(l, OP_ADD, var(l, n), one));
        close(l, 1);
        LExprId upper = op(l, OP_MUL, var(l, bin), i32(l, BINS));
        tessi_lower_set(l, bin, op(l, OP_ADD, upper, var(l, n)));
        tessi_lower_set(l, rank, op(l, OP_SUB, var(l, rank), var(l, below)));
    }
    return var(l, bin);
}

/* ---- By counting ----------------------------------------------------------------------------- */

LBufferId tessi_median_bits(Lower *l, const char *stage, ScalarType key)
{
    const uint32_t n = 8u * tessi_type_info(key)->bytes;
    Value *bit = ARENA_NEW_ARRAY(l->arena, Value, n);
    for (uint32_t k = 0; k < n; k++) {
        const int64_t power = (int64_t)((uint64_t)1 << (n - 1 - k));
        bit[k] = tessi_eval_cast(key, TYPE_I64, tessi_value_int(power));
    }
    LBuffer b = { .name = tessi_sprintf(l->arena, "%s_bits", stage),
                  .kind = LBUF_TABLE,
                  .type = key,
                  .n_dims = 1,
                  .size = { tessi_l_int(l, n) },
                  .table = bit,
                  .n_table = n };
    return tessi_loop_buffer(l->p, &b);
}

/* Counters as wide as keys, unless these count too little. */
static ScalarType counter_type(const Median *m)
{
    switch (tessi_type_info(m->what.key)->bytes) {
    case 1: return m->rank * 2 < UINT8_MAX ? TYPE_U8 : TYPE_U16;
    case 2: return TYPE_U16;
    case 4: return TYPE_I32;
    default: return TYPE_I64;
    }
}

static void count_row(const Median *m, LExprId row)
{
    enum { VECTORS = 4 };
    Lower *l = m->l;
    const ScalarType key = m->what.key, counter = counter_type(m);
    const LExprId zero = tessi_l_int(l, 0), strip = tessi_l_int(l, m->group->strip);
    LExprId x = loop(l, "x", zero, strip, LFOR_SIMD);
    put1(m, m->keys, x, number(l, key, tessi_type_range(key).lo));
    close(l, 1);
    const int64_t n_bits = 8 * tessi_type_info(key)->bytes;
    LExprId b = loop(l, "b", zero, tessi_l_int(l, n_bits), 0);
    LExprId bit = now(l, "bit", tessi_lexpr_load(l->p, m->bits, &b, 1));
    x = loop(l, "x", zero, strip, LFOR_SIMD);
    l->scopes.at[tessi_scope_depth(l)].stmt->vectors = VECTORS;
    LExprId least = now(l, "least", load1(m, m->keys, x));
    LExprId tried = now(l, "tried", op(l, OP_ADD, least, bit));
    LVarId less = tessi_scope_var(l, "less", counter, number(l, counter, 0));
    LExprId i = loop(l, "i", zero, tessi_l_int(l, m->what.rows), 0);
    LExprId j = loop(l, "j", zero, tessi_l_int(l, m->what.cols), 0);
    LExprId value = load(l, m->values, op(l, OP_ADD, row, i), op(l, OP_ADD, x, j));
    LExprId had = var(l, less);
    LExprId more = op(l, OP_ADD, had, number(l, counter, 1));
    LExprId is_less = op(l, OP_LT, now(l, "value", value), tried);
    tessi_lower_set(l, less, tessi_l_select(l, is_less, more, had));
    close(l, 2);
    LExprId fits = op(l, OP_LE, var(l, less), number(l, counter, m->rank));
    put1(m, m->keys, x, tessi_l_select(l, fits, tried, least));
    close(l, 2);
    x = loop(l, "x", zero, strip, LFOR_SIMD);
    LExprId found = load1(m, m->keys, x);
    if (m->read.ordered)
        found = tessi_lexpr_op(l->p, OP_AT_ORDER, found, (LExprId){ 0 }, (LExprId){ 0 });
    put1(m, m->results, x, found);
    close(l, 1);
}

/* ---- Strips ---------------------------------------------------------------------------------- */

static void give(const Median *m, LExprId x, LExprId bin)
{
    LExprId value = op(m->l, OP_ADD, bin, i32(m->l, tessi_type_range(m->type).lo));
    put1(m, m->results, x, tessi_lexpr_cast(m->l->p, m->type, value));
}

static void make_histograms(Median *m)
{
    Lower *l = m->l;
    if (m->group->counts) {
        m->keys = local(l, m->stage, "keys", m->what.key, 1, m->group->strip);
        return;
    }
    if (tessi_type_info(m->type)->bytes == 1) {
        m->coarse = local(l, m->stage, "coarse", TYPE_I32, m->wide + 1, BINS);
        m->fine = local(l, m->stage, "fine", TYPE_I32, m->wide + 1, BINS * BINS);
        m->of_coarse = local(l, m->stage, "of_coarse", TYPE_I32, 1, BINS);
        m->of_fine = local(l, m->stage, "of_fine", TYPE_I32, 1, BINS * BINS);
        m->last = local(l, m->stage, "last", TYPE_I32, 1, BINS);
        clear(m, m->coarse, m->wide + 1, BINS);
        clear(m, m->fine, m->wide + 1, BINS * BINS);
        LExprId i = count_to(l, "i", m->what.rows - 1, 0);
        change_columns(m, i, 1);
        close(l, 1);
        return;
    }
    for (int k = 0, n = BINS; k < LEVELS; k++, n *= BINS) {
        m->level[k] = local(l, m->stage, tessi_sprintf(l->arena, "bins%d", k), TYPE_I32, 1, n);
        clear(m, m->level[k], 1, n);
    }
}

/* Row `row` of the strip, whose values stand from that row of what was copied on. */
static void run_row(const Median *m, LExprId row)
{
    Lower *l = m->l;
    const bool bytes = tessi_type_info(m->what.key)->bytes == 1;
    const LExprId zero = tessi_l_int(l, 0), cols = tessi_l_int(l, m->what.cols - 1);
    if (bytes) {
        change_columns(m, add(l, row, m->what.rows - 1), 1);
        start_row_of_8(m);
    } else {
        change_columns_of_16(m, row, zero, cols, 1);
    }
    LExprId x = loop(l, "x", zero, m->columns, 0);
    if (bytes) {
        give(m, x, median_of_8(m, x));
    } else {
        change_window(m, row, add(l, x, m->what.cols - 1), 1);
        give(m, x, median_of_16(m));
        change_window(m, row, x, -1);
    }
    close(l, 1);
    if (bytes)
        change_columns(m, row, -1);
    else
        change_columns_of_16(m, row, m->columns, op(l, OP_ADD, m->columns, cols), -1);
}

/* Opens the loop over strips, and over parts of them of so many rows. */
static void open_tasks(Median *m)
{
    Lower *l = m->l;
    const int64_t step[2] = { m->group->median, m->group->strip };
    LExprId count[2];
    for (uint8_t d = 0; d < 2; d++) {
        LExprId size = tessi_lower_size(l, m->stage->size[d]);
        count[d] = op(l, OP_FLOORDIV, add(l, size, step[d] - 1), tessi_l_int(l, step[d]));
    }
    LExprId task = loop(l, "task", tessi_l_int(l, 0), op(l, OP_MUL, count[0], count[1]),
                        tessi_level_parallel(&m->group->levels) ? LFOR_PARALLEL : 0);
    LExprId at[2] = { op(l, OP_FLOORDIV, task, count[1]), op(l, OP_FLOORMOD, task, count[1]) };
    m->y = now(l, "y_from", op(l, OP_MUL, at[0], tessi_l_int(l, step[0])));
    m->x = now(l, "x_from", op(l, OP_MUL, at[1], tessi_l_int(l, step[1])));
}

void tessi_lower_median(Lower *l, const PlanGroup *group)
{
    Median m = { .l = l, .group = group };
    m.stage = tessi_stage(l->g, group->members.at[0]);
    tessi_stage_wide_median(l->g, &l->walk, m.stage, &m.what);
    m.type = tessi_expr(l->g, m.what.window)->type;
    m.wide = (int64_t)group->strip + m.what.cols - 1;
    m.rank = (int64_t)m.what.rows * m.what.cols / 2;
    l->n_loop_dims = 2;
    l->inside_last = l->inside_rows = false;
    m.read = tessi_gather_new(l, tessi_access(l->g, m.what.read), m.type);
    m.read.ordered = tessi_is_real(m.type);
    if (group->counts)
        m.bits = tessi_median_bits(l, m.stage->name, m.what.key);
    open_tasks(&m);
    tessi_gather_at(&m.read, tessi_expr(l->g, m.what.window)->window, m.y, m.x);
    LExprId end[2];
    for (uint8_t d = 0; d < 2; d++)
        end[d] = tessi_l_op(l, OP_SUB, tessi_lower_size(l, m.stage->size[d]), d ? m.x : m.y);
    LExprId rows = tessi_l_op(l, OP_MIN, end[0], tessi_l_int(l, group->median));
    rows = tessi_scope_let(l, "rows", rows);
    m.columns = tessi_l_op(l, OP_MIN, end[1], tessi_l_int(l, group->strip));
    m.columns = tessi_scope_let(l, "columns", m.columns);
    m.values =
        local(l, m.stage, "values", m.what.key, (int64_t)group->median + m.what.rows - 1, m.wide);
    m.results = local(l, m.stage, "results", m.type, 1, group->strip);
    tessi_gather_rows(&m.read, m.values, 0, add(l, rows, m.what.rows - 1), tessi_l_int(l, m.wide));
    make_histograms(&m);
    LExprId row = loop(l, "row", tessi_l_int(l, 0), rows, 0);
    (group->counts ? count_row : run_row)(&m, row);
    tessi_give_row(l, group, m.what.window, m.results, tessi_l_int(l, 0),
                   tessi_l_op(l, OP_ADD, m.y, row), m.x, tessi_l_op(l, OP_ADD, m.x, m.columns));
    close(l, 2);
}
