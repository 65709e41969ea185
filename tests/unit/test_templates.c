/* Each template alone: its statements around expressions of a few lines, executed by the loop interpreter. */
#include "interp/loop_interp.h"
#include "loop/loop_passes.h"
#include "loop/lower_kernel.h"
#include "loop/template.h"
#include "unit/loop_testing.h"

#define buffer(l, name) loop_testing_buffer((l)->p, name)

/* A program of which only the declarations are there, and a function to fill. */
static Lower *begin(Arena *a, const char *declarations)
{
    Lower *l = ARENA_NEW(a, Lower);
    const LFunction f = { .name = "f" };
    l->arena = l->scratch = a;
    l->p = loop_testing_read(a, declarations);
    VEC_PUSH(a, &l->p->functions, f);
    tessi_scope_function(l, &l->p->functions.at[0].body);
    return l;
}

static void run(const Lower *l, const InterpArgs *args)
{
    Failure failure = { 0 };
    const char *fault = tessi_loop_verify(l->p);
    if (fault || !tessi_interpret_loops(l->p, args, &failure))
        fail_msg("%s", fault ? fault : failure.text);
}

/* ---- The language of templates --------------------------------------------------------------- */

static void faults_are_said(void **state)
{
    const TemplateArg args[] = { ARG_NUMBER("count", 1), ARG_END };
    Lower *l = begin(*state, "loops test\n");
    tessi_template(l, "reduce_row", NULL, args, NULL);
    assert_non_null(strstr(tessi_loop_verify(l->p), "template reduce_row: line "));
    l = begin(*state, "loops test\n");
    tessi_template(l, "nothing_like_this", NULL, args, NULL);
    assert_non_null(strstr(tessi_loop_verify(l->p), "template nothing_like_this: "));
}

/* ---- reduce.loops ---------------------------------------------------------------------------- */

enum { ROWS = 3, MOST_COLUMNS = 40 };

typedef struct Row {
    Lower *l;
    LBufferId in;
    LExprId at;
} Row;

/* Number 0 is a sum, number 1 a maximum. */
static bool is_maximum(const Row *r, LExprId number)
{
    return tessi_lexpr(r->l->p, number)->value.i == 1;
}

static LExprId start(void *user, const LExprId *arg)
{
    const Row *r = user;
    return tessi_lexpr_const(r->l->p, TYPE_F64, tessi_value_real(is_maximum(r, arg[0]) ? -1e9 : 0));
}

static LExprId both(void *user, const LExprId *arg)
{
    const Row *r = user;
    return tessi_l_op(r->l, is_maximum(r, arg[0]) ? OP_MAX : OP_ADD, arg[1], arg[2]);
}

static LExprId with(void *user, const LExprId *arg)
{
    const Row *r = user;
    const LExprId at[2] = { r->at, arg[1] };
    return both(user, (LExprId[]){ arg[0], tessi_lexpr_load(r->l->p, r->in, at, 2), arg[2] });
}

static LExprId finish(void *user, const LExprId *arg)
{
    (void)user;
    return arg[1];
}

/* The sum and the maximum of an image, side by side, in the order that is documented. */
static void reduces(Arena *a, int columns)
{
    Lower *l = begin(
        a,
        "loops test\nparam M\nparam N\n"
        "input in: { \"\": double @0 } pixel 8 [M, N]\n"
        "output sum: { \"\": double @0 } pixel 8 []\noutput most: { \"\": double @0 } pixel 8 []\n"
        "buffer in: input 0/0 double[M, N]\n"
        "buffer sum: output 0/0 double[]\nbuffer most: output 1/0 double[]\n"
        "buffer sums: temp double[M]\nbuffer mosts: temp double[M]\n");
    const LExprId rows = tessi_lexpr_param(l->p, 0), zero = tessi_l_int(l, 0);
    Row row = { .l = l, .in = buffer(l, "in") };
    row.at = tessi_lexpr_var(l->p, tessi_scope_for(l, "row", zero, rows, 1, LFOR_PARALLEL));
    const TemplateArg args[] = { ARG_NUMBER("count", 2),
                                 ARG_NUMBER("along", 0),
                                 ARG_EXPR("n", tessi_lexpr_param(l->p, 1)),
                                 ARG_EXPR("n_rows", rows),
                                 ARG_EXPR("row", row.at),
                                 ARG_TYPE("acc0", TYPE_F64),
                                 ARG_TYPE("acc1", TYPE_F64),
                                 ARG_NUMBER("bytes0", 8),
                                 ARG_NUMBER("bytes1", 8),
                                 ARG_NUMBER("partials0", 16),
                                 ARG_NUMBER("partials1", 16),
                                 ARG_NUMBER("lanes0", 0),
                                 ARG_NUMBER("lanes1", 0),
                                 ARG_NUMBER("chunk64", 0),
                                 ARG_NUMBER("chunk128", 0),
                                 ARG_NUMBER("chunk256", 0),
                                 ARG_WORDS("name0", "true"), /* any name will do */
                                 ARG_WORDS("name1", "row"),
                                 ARG_BUFFER("rows0", buffer(l, "sums")),
                                 ARG_BUFFER("rows1", buffer(l, "mosts")),
                                 ARG_BUFFER("result0", buffer(l, "sum")),
                                 ARG_BUFFER("result1", buffer(l, "most")),
                                 ARG_HOLE("start", start),
                                 ARG_HOLE("with", with),
                                 ARG_HOLE("both", both),
                                 ARG_HOLE("finish", finish),
                                 ARG_END };
    tessi_template(l, "reduce_row", NULL, args, &row);
    tessi_scope_close(l);
    tessi_template(l, "reduce_total", NULL, args, &row);
    tessi_scope_close(l);

    double in[ROWS * MOST_COLUMNS], sum, most, expected = 0, largest = -1e9;
    for (int y = 0; y < ROWS; y++) {
        double part[16] = { 0 };
        for (int x = 0; x < columns; x++) {
            const double v = 1.0 / (1 + (x * 7 + y * 11) % 13);
            in[y * columns + x] = v;
            part[x % 16] += v;
            largest = v > largest ? v : largest;
        }
        for (int half = 8; half; half /= 2)
            for (int k = 0; k < half; k++)
                part[k] += part[k + half];
        expected += part[0];
    }
    const int64_t params[2] = { ROWS, columns };
    InterpImage image = { in, { ROWS, columns }, { columns * 8, 8 } };
    InterpImage out[2] = { { .data = &sum }, { .data = &most } };
    run(l, &(InterpArgs){ .params = params, .inputs = &image, .outputs = out });
    assert_true(sum == expected && most == largest);
}

static void reductions_keep_their_order(void **state)
{
    for (int columns = 1; columns <= MOST_COLUMNS; columns += 13)
        reduces(*state, columns);
}

/* ---- scan.loops ------------------------------------------------------------------------------ */

enum { POINTS = 63, RUN = 4, RUNS = 16 };

typedef struct Running {
    Lower *l;
    LBufferId in, to, totals;
    LExprId number;
} Running;

static LExprId run_at(void *user, const LExprId *arg)
{
    const Running *r = user;
    return tessi_lexpr_load(r->l->p, r->in, arg, 1);
}

static LExprId run_more(void *user, const LExprId *arg)
{
    const Running *r = user;
    return tessi_l_op(r->l, OP_ADD, arg[1], arg[0]);
}

static LExprId run_both(void *user, const LExprId *arg)
{
    const Running *r = user;
    return tessi_l_op(r->l, OP_ADD, arg[0], arg[1]);
}

/* x + y1 / 2 - y2 / 4 */
static LExprId run_step(void *user, const LExprId *arg)
{
    const Running *r = user;
    const LExprId half = tessi_lexpr_const(r->l->p, TYPE_F64, tessi_value_real(0.5)),
                  less = tessi_lexpr_const(r->l->p, TYPE_F64, tessi_value_real(-0.25));
    const LExprId near = tessi_l_op(r->l, OP_ADD, arg[0], tessi_l_op(r->l, OP_MUL, half, arg[1]));
    return tessi_l_op(r->l, OP_ADD, near, tessi_l_op(r->l, OP_MUL, less, arg[2]));
}

static LExprId run_begin(void *user, const LExprId *arg)
{
    const Running *r = user;
    (void)arg;
    return tessi_lexpr_const(r->l->p, TYPE_F64, tessi_value_real(1));
}

static LExprId run_of(void *user, const LExprId *arg)
{
    const Running *r = user;
    return tessi_lexpr_load(r->l->p, r->totals, arg, 1);
}

static void run_store(const Running *r, LBufferId to, LExprId i, LExprId v)
{
    LExprId part[2] = { i, v };
    tessi_scope_place(r->l, part, 2);
    tessi_scope_store(r->l, to, part, 1, part[1]);
}

static void run_give(void *user, const LExprId *arg)
{
    const Running *r = user;
    run_store(r, r->to, arg[0], arg[1]);
}

static void run_total(void *user, const LExprId *arg)
{
    const Running *r = user;
    run_store(r, r->totals, r->number, arg[0]);
}

static void run_before(void *user, const LExprId *arg)
{
    const Running *r = user;
    run_store(r, r->totals, arg[0], arg[1]);
}

static void instance_of_scan(Running *r, const char *name, const char *to, int states)
{
    Lower *l = r->l;
    const LExprId zero = tessi_l_int(l, 0);
    const LExprId start = tessi_lexpr_const(l->p, TYPE_F64, tessi_value_real(-0.0));
    const TemplateArg args[] = { ARG_TYPE("type", TYPE_F64),
                                 ARG_NUMBER("states", states),
                                 ARG_NUMBER("last", 0),
                                 ARG_NUMBER("ahead", 0),
                                 ARG_NUMBER("free", strcmp(to, "on") == 0),
                                 ARG_NUMBER("lanes", 1),
                                 ARG_NUMBER("block", RUN),
                                 ARG_EXPR("n", tessi_l_int(l, POINTS)),
                                 ARG_EXPR("width", tessi_l_int(l, 1)),
                                 ARG_EXPR("wide", tessi_l_int(l, 1)),
                                 ARG_EXPR("strip", zero),
                                 ARG_EXPR("number", r->number.v ? r->number : zero),
                                 ARG_EXPR("blocks", tessi_l_int(l, RUNS)),
                                 ARG_EXPR("start", start),
                                 ARG_HOLE("step", run_step),
                                 ARG_HOLE("begin", run_begin),
                                 ARG_HOLE("at", run_at),
                                 ARG_HOLE("more", run_more),
                                 ARG_HOLE("both", run_both),
                                 ARG_HOLE("of", run_of),
                                 ARG_PART("give", run_give),
                                 ARG_PART("total", run_total),
                                 ARG_PART("before", run_before),
                                 ARG_END };
    r->to = buffer(l, to);
    tessi_template(l, name, NULL, args, r);
}

static void for_runs(Running *r, const char *name, const char *to)
{
    Lower *l = r->l;
    r->number = tessi_lexpr_var(
        l->p, tessi_scope_for(l, "run", tessi_l_int(l, 0), tessi_l_int(l, RUNS), 1, LFOR_PARALLEL));
    instance_of_scan(r, name, to, 0);
    tessi_scope_close(l);
    r->number = (LExprId){ 0 };
}

/* Sums down a line at once and in three sweeps; steps. */
static void scans_run_in_blocks(void **state)
{
    static const char *const names[] = { "once", "sweeps", "line", "strip", "along", "on" };
    Text head = tessi_text_new(*state);
    tessi_text_addf(&head, "loops test\ninput in: { \"\": double @0 } pixel 8 [%d]\n", POINTS);
    for (int k = 0; k < 6; k++)
        tessi_text_addf(&head, "output %s: { \"\": double @0 } pixel 8 [%d]\n", names[k], POINTS);
    for (int k = 0; k < 6; k++)
        tessi_text_addf(&head, "buffer %s: output %d/0 double[%d]\n", names[k], k, POINTS);
    tessi_text_addf(&head, "buffer in: input 0/0 double[%d]\nbuffer totals: temp double[%d]\n",
                    POINTS, RUNS);
    Lower *l = begin(*state, tessi_text_str(&head));
    Running r = { .l = l, .in = buffer(l, "in"), .totals = buffer(l, "totals") };
    instance_of_scan(&r, "scan_strip", "once", 0);
    for_runs(&r, "scan_total", "sweeps");
    instance_of_scan(&r, "scan_before", "sweeps", 0);
    for_runs(&r, "scan_block", "sweeps");
    instance_of_scan(&r, "scan_line", "line", 2);
    instance_of_scan(&r, "scan_strip", "strip", 2);
    instance_of_scan(&r, "scan_along", "along", 0);
    instance_of_scan(&r, "scan_strip", "on", 0);
    tessi_scope_close(l);

    double in[POINTS], got[6][POINTS], before = 0, block = 0, y[2] = { 1, 1 };
    InterpImage image = { in, { POINTS }, { 8 } }, out[6];
    for (int i = 0; i < POINTS; i++)
        in[i] = 1.0 / (1 + i * 7 % 13);
    for (int k = 0; k < 6; k++)
        out[k] = (InterpImage){ got[k], { POINTS }, { 8 } };
    run(l, &(InterpArgs){ .inputs = &image, .outputs = out });
    for (int i = 0; i < POINTS; i++) {
        before += i % RUN == 0 ? block : 0;
        block = (i % RUN == 0 ? 0 : block) + in[i];
        assert_true(got[0][i] == before + block && got[1][i] == before + block);
        const double on = (i ? got[5][i - 1] : 0) + in[i];
        assert_true(got[4][i] == before + block && got[5][i] == on);
        const double next = in[i] + 0.5 * y[i % 2] + -0.25 * y[1 - i % 2];
        y[1 - i % 2] = next;
        assert_true(got[2][i] == next && got[3][i] == next);
    }
}

static void put(Lower *l, LBufferId to, LExprId y, LExprId x, LExprId value)
{
    LStmt *s = tessi_scope_stmt(l, LSTMT_STORE);
    s->buffer = to;
    s->n_index = 2;
    s->index[0] = y;
    s->index[1] = x;
    s->a = value;
}

static LExprId count(Lower *l, const char *name, LExprId n)
{
    return tessi_lexpr_var(l->p, tessi_scope_for(l, name, tessi_l_int(l, 0), n, 1, 0));
}

/* ---- bins.loops ------------------------------------------------------------------------------ */

enum { PARTS_OF_BINS = 2, BINS = 3 };

typedef struct Binned {
    Lower *l;
    LBufferId in, out, results;
} Binned;

static LExprId bins_both(void *user, const LExprId *arg)
{
    const Binned *b = user;
    return tessi_l_op(b->l, OP_ADD, arg[0], arg[1]);
}

/* Part p has the elements 3 p .. 3 p + 2, of which number k counts for bin k. */
static void bins_points(void *user, const LExprId *arg)
{
    const Binned *b = user;
    Lower *l = b->l;
    const LExprId k = count(l, "k", tessi_l_int(l, BINS));
    const LExprId i = tessi_l_op(l, OP_ADD, tessi_l_op(l, OP_MUL, arg[0], tessi_l_int(l, BINS)), k);
    const LExprId at[2] = { arg[0], k };
    put(l, b->results, at[0], at[1],
        tessi_l_op(l, OP_ADD, tessi_lexpr_load(l->p, b->results, at, 2),
                   tessi_lexpr_load(l->p, b->in, &i, 1)));
    tessi_scope_close(l);
}

static void bins_give(void *user, const LExprId *arg)
{
    const Binned *b = user;
    tessi_scope_store(b->l, b->out, arg, 1, arg[1]);
}

static void parts_have_bins(void **state)
{
    Lower *l = begin(*state, "loops test\n"
                             "input in: { \"\": double @0 } pixel 8 [6]\n"
                             "output out: { \"\": double @0 } pixel 8 [3]\n"
                             "buffer in: input 0/0 double[6]\nbuffer out: output 0/0 double[3]\n"
                             "buffer results: temp double[2, 3]\n");
    Binned b = { l, buffer(l, "in"), buffer(l, "out"), buffer(l, "results") };
    for (int k = 0; k < 2; k++) {
        const LExprId n = tessi_l_int(l, k ? BINS : PARTS_OF_BINS);
        const LExprId number = tessi_lexpr_var(
            l->p, tessi_scope_for(l, "number", tessi_l_int(l, 0), n, 1, LFOR_PARALLEL));
        const TemplateArg args[] = { ARG_TYPE("type", TYPE_F64),
                                     ARG_EXPR("bins", tessi_l_int(l, BINS)),
                                     ARG_EXPR("parts", tessi_l_int(l, PARTS_OF_BINS)),
                                     ARG_EXPR("part", number),
                                     ARG_EXPR("bin", number),
                                     ARG_EXPR("start", tessi_lexpr_const(l->p, TYPE_F64,
                                                                         tessi_value_real(0))),
                                     ARG_BUFFER("results", b.results),
                                     ARG_HOLE("both", bins_both),
                                     ARG_PART("points", bins_points),
                                     ARG_PART("give", bins_give),
                                     ARG_END };
        tessi_template(l, k ? "bins_total" : "bins_part", NULL, args, &b);
        tessi_scope_close(l);
    }
    tessi_scope_close(l);
    double in[6] = { 1, 2, 3, 10, 20, 30 }, out[3];
    InterpImage image = { in, { 6 }, { 8 } }, result = { out, { 3 }, { 8 } };
    run(l, &(InterpArgs){ .inputs = &image, .outputs = &result });
    assert_true(out[0] == 11 && out[1] == 22 && out[2] == 33);
}

/* ---- median.loops, median_kernel.loops ------------------------------------------------------- */

enum {
    HEIGHT = 9,
    WIDTH = 21,
    HIGH = 5,
    ACROSS = 3,
    BAND = 4,
    STRIP = 8,
    WIDE = STRIP + ACROSS - 1
};

/* The median of windows whose first value is the point's own; beyond the edge is the nearest inside. */
typedef struct Source {
    Lower *l;
    LBufferId in, out, values, results, come, go;
    LExprId y, x; /* the first point of the strip or block */
} Source;

static LExprId clamped(Lower *l, LExprId at, int64_t size)
{
    at = tessi_l_op(l, OP_MAX, at, tessi_l_int(l, 0));
    return tessi_l_op(l, OP_MIN, at, tessi_l_int(l, size - 1));
}

static LExprId answered(void *user, const LExprId *arg)
{
    const Source *m = user;
    Lower *l = m->l;
    const LExprId at[2] = { clamped(l, tessi_l_op(l, OP_ADD, m->y, arg[0]), HEIGHT),
                            clamped(l, tessi_l_op(l, OP_ADD, m->x, arg[1]), WIDTH) };
    return tessi_lexpr_load(l->p, m->in, at, 2);
}

static void begin_strip(void *user, const LExprId *arg)
{
    Source *m = user;
    m->y = arg[0];
    m->x = arg[1];
}

static void copy_strip(void *user, const LExprId *arg)
{
    const Source *m = user;
    Lower *l = m->l;
    const LExprId y = count(l, "y", arg[0]), x = count(l, "x", tessi_l_int(l, WIDE));
    put(l, m->values, y, x, answered(user, (LExprId[]){ y, x }));
    tessi_scope_close(l);
    tessi_scope_close(l);
}

static void give_strip(void *user, const LExprId *arg)
{
    const Source *m = user;
    Lower *l = m->l;
    const LExprId n = tessi_l_op(l, OP_SUB, arg[3], arg[2]), x = count(l, "x", n);
    const LExprId at[2] = { arg[0], x };
    put(l, m->out, arg[1], tessi_l_op(l, OP_ADD, arg[2], x),
        tessi_lexpr_load(l->p, m->results, at, 2));
    tessi_scope_close(l);
}

static void copy_block(void *user, const LExprId *arg)
{
    const Source *m = user;
    Lower *l = m->l;
    const bool goes = tessi_lexpr(l->p, arg[2])->value.i != 0;
    const LExprId y = tessi_kernel_threads(l, 1, "r", 4), x = tessi_kernel_threads(l, 0, "j", WIDE);
    for (int k = 0; k <= goes; k++) {
        const LExprId row = tessi_l_op(l, OP_ADD, arg[k], y);
        put(l, k ? m->go : m->come, y, x, answered(user, (LExprId[]){ row, x }));
    }
    tessi_scope_close(l);
    tessi_scope_close(l);
}

static void give_point(void *user, const LExprId *arg)
{
    const Source *m = user;
    put(m->l, m->out, arg[1], arg[2], arg[0]);
}

static LBufferId table(Lower *l, const char *name, ScalarType t, Value *at, uint32_t n)
{
    LBuffer b = { .name = name, .kind = LBUF_TABLE, .type = t, .n_dims = 1, .table = at };
    b.size[0] = tessi_l_int(l, n);
    b.n_table = n;
    return tessi_loop_buffer(l->p, &b);
}

static LBufferId powers(Lower *l, ScalarType t, uint32_t bits)
{
    Value *at = ARENA_NEW_ARRAY(l->arena, Value, bits);
    for (uint32_t k = 0; k < bits; k++)
        at[k] = tessi_eval_cast(t, TYPE_I64, tessi_value_int((int64_t)1 << (bits - 1 - k)));
    return table(l, "bits", t, at, bits);
}

static LBufferId array(Lower *l, const char *name, ScalarType t, int64_t rows, int64_t columns)
{
    LBuffer b = { .name = name, .kind = LBUF_LOCAL, .type = t, .n_dims = 2 };
    b.size[0] = tessi_l_int(l, rows);
    b.size[1] = tessi_l_int(l, columns);
    return tessi_loop_buffer(l->p, &b);
}

/* The shape that is tried: from each row of the window some columns left and right are left out. */
static bool in_shape(int i, int j)
{
    return i >= 0 && i < HIGH && j >= i % 2 && j < ACROSS - i % 3;
}

static LExprId within(void *user, const LExprId *arg)
{
    LoopProgram *p = ((const Source *)user)->l->p;
    const int64_t i = tessi_lexpr(p, arg[0])->value.i, j = tessi_lexpr(p, arg[1])->value.i;
    return tessi_lexpr_const(p, TYPE_BOOL, tessi_value_int(in_shape((int)i, (int)j)));
}

static LBufferId shape_runs(Lower *l, uint32_t *points)
{
    Value *at = ARENA_NEW_ARRAY(l->arena, Value, 3 * HIGH);
    *points = 0;
    for (int i = 0; i < HIGH; i++) {
        at[3 * i] = tessi_value_int(i);
        at[3 * i + 1] = tessi_value_int(i % 2);
        at[3 * i + 2] = tessi_value_int(ACROSS - i % 3);
        *points += (uint32_t)(ACROSS - i % 3 - i % 2);
    }
    return table(l, "runs", TYPE_I32, at, 3 * HIGH);
}

static int16_t median_at(const int16_t *in, int y, int x, bool shape)
{
    int16_t all[HIGH * ACROSS];
    size_t n = 0;
    for (int i = 0; i < HIGH; i++)
        for (int j = 0; j < ACROSS; j++) {
            if (shape && !in_shape(i, j))
                continue;
            const int row = y + i < HEIGHT ? y + i : HEIGHT - 1;
            const int column = x + j < WIDTH ? x + j : WIDTH - 1;
            const int16_t value = in[row * WIDTH + column];
            size_t k = n++;
            for (; k > 0 && all[k - 1] > value; k--)
                all[k] = all[k - 1];
            all[k] = value;
        }
    return all[n / 2];
}

/* Bytes in 16 bits, as all take. `how`: on CPUs; NULL: on GPUs, `counts` or not; four points write shapes out. */
static void medians(Arena *a, const char *how, bool counts, int64_t points, bool march, bool shape)
{
    Lower *l = begin(a, "loops test\ninput in: { \"\": int16 @0 } pixel 2 [9, 21]\n"
                        "output out: { \"\": int16 @0 } pixel 2 [9, 21]\n"
                        "buffer in: input 0/0 int16[9, 21]\nbuffer out: output 0/0 int16[9, 21]\n");
    const ScalarType t = TYPE_I16;
    Source m = { .l = l, .in = buffer(l, "in"), .out = buffer(l, "out") };
    m.values = array(l, "values", t, BAND + HIGH - 1, WIDE);
    m.results = array(l, "results", t, 1, STRIP);
    m.come = array(l, "come", t, 4, WIDE);
    m.go = array(l, "go", t, 4, WIDE);
    const int64_t least = counts || (how && tessi_streq(how, "median_count")) ? INT16_MIN : 0;
    uint32_t values;
    const LBufferId runs = shape_runs(l, &values);
    values = shape ? values : HIGH * ACROSS;
    const TemplateArg args[] = { ARG_WORDS("how", how ? how : ""),
                                 ARG_WORDS("parallel", "parallel"),
                                 ARG_EXPR("height", tessi_l_int(l, HEIGHT)),
                                 ARG_EXPR("width", tessi_l_int(l, WIDTH)),
                                 ARG_EXPR("block_rows", tessi_l_int(l, BAND)),
                                 ARG_NUMBER("band", BAND),
                                 ARG_NUMBER("strip", STRIP),
                                 ARG_NUMBER("high", HIGH),
                                 ARG_NUMBER("across", ACROSS),
                                 ARG_NUMBER("wide", WIDE),
                                 ARG_NUMBER("rank", values / 2),
                                 ARG_NUMBER("n_runs", shape ? HIGH : 0),
                                 ARG_NUMBER("rolled", points != 4),
                                 ARG_NUMBER("network", 0),
                                 ARG_NUMBER("least", least),
                                 ARG_NUMBER("n_bits", 16),
                                 ARG_NUMBER("ordered", 0),
                                 ARG_NUMBER("march", march),
                                 ARG_NUMBER("counts", counts),
                                 ARG_NUMBER("parts", 2),
                                 ARG_NUMBER("together", 0),
                                 ARG_NUMBER("tile_rows", BAND + HIGH - 1),
                                 ARG_NUMBER("points", points),
                                 ARG_NUMBER("block_x", STRIP),
                                 ARG_NUMBER("block_y", BAND / points),
                                 ARG_NUMBER("narrow", points != 2),
                                 ARG_TYPE("key", t),
                                 ARG_TYPE("type", t),
                                 ARG_TYPE("counter", TYPE_U16),
                                 ARG_BUFFER("values", m.values),
                                 ARG_BUFFER("results", m.results),
                                 ARG_BUFFER("come", m.come),
                                 ARG_BUFFER("go", m.go),
                                 ARG_BUFFER("bits", powers(l, t, 16)),
                                 ARG_BUFFER("runs", runs),
                                 ARG_PART("begin", begin_strip),
                                 ARG_PART("copy", how ? copy_strip : copy_block),
                                 ARG_PART("give", how ? give_strip : give_point),
                                 ARG_HOLE("answered", answered),
                                 ARG_HOLE("within", within),
                                 ARG_END };
    LFunction *f = &l->p->functions.at[0];
    f->is_kernel = !how;
    f->block[0] = STRIP;
    f->block[1] = (uint32_t)(counts ? BAND / points : 1);
    f->block[2] = 1;
    tessi_template(l, how ? "median_strips" : "median_blocks", "x", args, &m);
    tessi_scope_close(l);

    int16_t in[HEIGHT * WIDTH], out[HEIGHT * WIDTH];
    for (int i = 0; i < HEIGHT * WIDTH; i++)
        in[i] = (int16_t)((i * i * 31 + i * 7) % 256);
    InterpImage from = { in, { HEIGHT, WIDTH }, { WIDTH * 2, 2 } };
    InterpImage to = { out, { HEIGHT, WIDTH }, { WIDTH * 2, 2 } };
    run(l, &(InterpArgs){ .inputs = &from, .outputs = &to });
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++)
            assert_int_equal(out[y * WIDTH + x], median_at(in, y, x, shape));
}

static void medians_of_strips(void **state)
{
    medians(*state, "median_count", false, 1, false, false);
    medians(*state, "median_count", false, 1, false, true);
    medians(*state, "median_8", false, 1, false, false);
    medians(*state, "median_16", false, 1, false, false);
}

static void medians_of_blocks(void **state)
{
    medians(*state, NULL, false, 1, false, false);
    medians(*state, NULL, false, 1, true, false);
    medians(*state, NULL, true, 1, false, false);
    medians(*state, NULL, true, 2, false, true);
    medians(*state, NULL, true, 4, false, true);
    medians(*state, NULL, true, 2, false, false);
    medians(*state, NULL, true, 4, true, false);
}

/* ---- general.loops --------------------------------------------------------------------------- */

enum { LINES = 5, LONG = 300, TAPS_Y = 3, TAPS_X = 6, TOP = -1, LEFT = -4, SUMS = 256 };

/* What is read; beyond its edge is the nearest inside, or (`nought`) above and below it 0. */
typedef struct Plane {
    Lower *l;
    LBufferId in, out, sums;
    LExprId y, x; /* where the window of the first point begins */
    bool nought;
} Plane;

static LExprId row_read(void *user, const LExprId *arg)
{
    const Plane *m = user;
    return clamped(m->l, tessi_l_op(m->l, OP_ADD, m->y, arg[0]), LINES);
}

static LExprId value_read(void *user, const LExprId *arg)
{
    const Plane *m = user;
    return tessi_lexpr_load(m->l->p, m->in, arg, 2);
}

static LExprId zero(void *user, const LExprId *arg)
{
    const Plane *m = user;
    (void)arg;
    return tessi_lexpr_const(m->l->p, TYPE_F32, tessi_value_real(0));
}

static LExprId value_answered(void *user, const LExprId *arg)
{
    const Plane *m = user;
    Lower *l = m->l;
    const LExprId at[2] = { row_read(user, arg),
                            clamped(l, tessi_l_op(l, OP_ADD, m->x, arg[1]), LONG) };
    const LExprId value = value_read(user, at);
    const LExprId wanted = tessi_l_op(l, OP_ADD, m->y, arg[0]);
    return m->nought
               ? tessi_l_select(l, tessi_l_op(l, OP_EQ, at[0], wanted), value, zero(user, arg))
               : value;
}

static void begin_window(void *user, const LExprId *arg)
{
    Plane *m = user;
    m->y = arg[0];
    m->x = m->sums.v ? arg[1] : tessi_l_int(m->l, LEFT);
}

static void give_sums(void *user, const LExprId *arg)
{
    const Plane *m = user;
    Lower *l = m->l;
    const LExprId x = count(l, "x", tessi_l_op(l, OP_SUB, arg[3], arg[2]));
    const LExprId at[2] = { arg[0], x };
    put(l, m->out, arg[1], tessi_l_op(l, OP_ADD, arg[2], x),
        tessi_lexpr_load(l->p, m->sums, at, 2));
    tessi_scope_close(l);
}

static void give_sum(void *user, const LExprId *arg)
{
    const Plane *m = user;
    put(m->l, m->out, arg[1], arg[2], arg[0]);
}

static float sum_at(const float *in, const float *mask, bool nought, int y, int x)
{
    float sum = 0;
    for (int i = 0; i < TAPS_Y; i++)
        for (int j = 0; j < TAPS_X; j++) {
            const int row = y + TOP + i, column = x + LEFT + j;
            const int r = row < 0 ? 0 : row < LINES ? row : LINES - 1;
            const int c = column < 0 ? 0 : column < LONG ? column : LONG - 1;
            sum += mask[i * TAPS_X + j] * (nought && r != row ? 0 : in[r * LONG + c]);
        }
    return sum;
}

static void general_sums(Arena *a, bool kernel, bool nought)
{
    Lower *l = begin(a, "loops test\ninput in: { \"\": float @0 } pixel 4 [5, 300]\n"
                        "input mask: { \"\": float @0 } pixel 4 [3, 6]\n"
                        "output out: { \"\": float @0 } pixel 4 [5, 300]\n"
                        "buffer in: input 0/0 float[5, 300]\n"
                        "buffer mask: input 1/0 float[3, 6]\n"
                        "buffer out: output 0/0 float[5, 300]\n");
    Plane m = { .l = l, .in = buffer(l, "in"), .out = buffer(l, "out"), .nought = nought };
    if (!kernel)
        m.sums = array(l, "sums", TYPE_F32, 1, SUMS);
    const TemplateArg args[] = { ARG_EXPR("height", tessi_l_int(l, LINES)),
                                 ARG_EXPR("width", tessi_l_int(l, LONG)),
                                 ARG_EXPR("read_width", tessi_l_int(l, LONG)),
                                 ARG_EXPR("rows", tessi_l_int(l, TAPS_Y)),
                                 ARG_EXPR("columns", tessi_l_int(l, TAPS_X)),
                                 ARG_EXPR("top", tessi_l_int(l, TOP)),
                                 ARG_EXPR("left", tessi_l_int(l, LEFT)),
                                 ARG_EXPR("start", zero(&m, NULL)),
                                 ARG_NUMBER("wide", 8),
                                 ARG_NUMBER("high", 2),
                                 ARG_NUMBER("constant", nought),
                                 ARG_NUMBER("fused", 0),
                                 ARG_TYPE("type", TYPE_F32),
                                 ARG_BUFFER("mask", buffer(l, "mask")),
                                 ARG_BUFFER("sums", m.sums),
                                 ARG_HOLE("row", row_read),
                                 ARG_HOLE("read", value_read),
                                 ARG_HOLE("answered", value_answered),
                                 ARG_HOLE("outside", zero),
                                 ARG_PART("begin", begin_window),
                                 ARG_PART("give", kernel ? give_sum : give_sums),
                                 ARG_END };
    LFunction *f = &l->p->functions.at[0];
    f->is_kernel = kernel;
    f->block[0] = 8;
    f->block[1] = 2;
    f->block[2] = 1;
    tessi_template(l, kernel ? "general_blocks" : "general_strips", NULL, args, &m);
    tessi_scope_close(l);

    float in[LINES * LONG], mask[TAPS_Y * TAPS_X], out[LINES * LONG];
    for (int i = 0; i < LINES * LONG; i++)
        in[i] = (float)(i * i % 97);
    for (int i = 0; i < TAPS_Y * TAPS_X; i++)
        mask[i] = (float)(i % 7 - 3);
    InterpImage from[2] = { { in, { LINES, LONG }, { LONG * 4, 4 } },
                            { mask, { TAPS_Y, TAPS_X }, { TAPS_X * 4, 4 } } };
    InterpImage to = { out, { LINES, LONG }, { LONG * 4, 4 } };
    run(l, &(InterpArgs){ .inputs = from, .outputs = &to });
    for (int y = 0; y < LINES; y++)
        for (int x = 0; x < LONG; x++)
            assert_true(out[y * LONG + x] == sum_at(in, mask, nought, y, x));
}

static void sums_of_any_extent(void **state)
{
    for (int k = 0; k < 4; k++)
        general_sums(*state, k / 2 == 1, k % 2 == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOOP_TEST(faults_are_said),     LOOP_TEST(reductions_keep_their_order),
        LOOP_TEST(scans_run_in_blocks), LOOP_TEST(parts_have_bins),
        LOOP_TEST(medians_of_strips),   LOOP_TEST(medians_of_blocks),
        LOOP_TEST(sums_of_any_extent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
