/* Each template alone: its statements around expressions of a few lines, executed by the loop interpreter. */
#include "interp/loop_interp.h"
#include "loop/template.h"
#include "unit/loop_testing.h"

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

static LBufferId buffer(const Lower *l, const char *name)
{
    for (uint32_t i = 1; i < l->p->buffers.n; i++)
        if (tessi_streq(l->p->buffers.at[i].name, name))
            return (LBufferId){ i };
    fail_msg("no buffer is called %s", name);
    return (LBufferId){ 0 };
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
    Lower *l = begin(a, "loops test\n"
                        "param M\n"
                        "param N\n"
                        "input in: { \"\": double @0 } pixel 8 [M, N]\n"
                        "output sum: { \"\": double @0 } pixel 8 []\n"
                        "output most: { \"\": double @0 } pixel 8 []\n"
                        "buffer in: input 0/0 double[M, N]\n"
                        "buffer sum: output 0/0 double[]\n"
                        "buffer most: output 1/0 double[]\n"
                        "buffer sums: temp double[M]\n"
                        "buffer mosts: temp double[M]\n");
    const LExprId rows = tessi_lexpr_param(l->p, 0), zero = tessi_l_int(l, 0);
    Row row = { .l = l, .in = buffer(l, "in") };
    row.at = tessi_lexpr_var(l->p, tessi_scope_for(l, "row", zero, rows, 1, LFOR_PARALLEL));
    const TemplateArg args[] = { ARG_NUMBER("count", 2),
                                 ARG_EXPR("n", tessi_lexpr_param(l->p, 1)),
                                 ARG_EXPR("n_rows", rows),
                                 ARG_EXPR("row", row.at),
                                 ARG_TYPE("acc0", TYPE_F64),
                                 ARG_TYPE("acc1", TYPE_F64),
                                 ARG_NUMBER("bytes0", 8),
                                 ARG_NUMBER("bytes1", 8),
                                 ARG_NUMBER("has1", 0),
                                 ARG_NUMBER("has2", 0),
                                 ARG_NUMBER("has4", 0),
                                 ARG_NUMBER("has8", 1),
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOOP_TEST(faults_are_said),
        LOOP_TEST(reductions_keep_their_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
