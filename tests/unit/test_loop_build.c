/* Constructors of loop expressions: interning, folding, and the algebra of indices. */
#include "loop/loop_passes.h"
#include "unit/loop_testing.h"

static const LExprId none = { 0 };

static LExprId op(LoopProgram *p, Op o, LExprId a, LExprId b)
{
    return tessi_lexpr_op(p, o, a, b, none);
}

static int64_t index_value(const LoopProgram *p, LExprId id)
{
    assert_int_equal(tessi_lexpr(p, id)->kind, LEXPR_CONST);
    assert_int_equal(tessi_lexpr(p, id)->type, TYPE_INDEX);
    return tessi_lexpr(p, id)->value.i;
}

static void equal_expressions_are_one(void **state)
{
    LoopProgram *p = tessi_loop_new(*state, "p");
    LVarId v = tessi_loop_var(p, "x", TYPE_F32, false);
    LExprId x = tessi_lexpr_var(p, v), half = tessi_lexpr_const(p, TYPE_F32, tessi_value_real(0.5));
    assert_int_equal(op(p, OP_ADD, x, half).v, op(p, OP_ADD, x, half).v);
    assert_int_not_equal(op(p, OP_ADD, x, half).v, op(p, OP_ADD, half, x).v);
    LExprId zero = tessi_lexpr_const(p, TYPE_F32, tessi_value_real(0.0));
    LExprId minus_zero = tessi_lexpr_const(p, TYPE_F32, tessi_value_real(-0.0));
    assert_int_not_equal(zero.v, minus_zero.v);
    /* Adding 0 changes -0: not an identity of reals. */
    assert_int_not_equal(op(p, OP_ADD, x, zero).v, x.v);
}

static void constants_fold_exactly(void **state)
{
    LoopProgram *p = tessi_loop_new(*state, "p");
    LExprId most = tessi_lexpr_const(p, TYPE_I32, tessi_value_int(INT32_MAX));
    LExprId one = tessi_lexpr_const(p, TYPE_I32, tessi_value_int(1));
    assert_int_equal(tessi_lexpr(p, op(p, OP_ADD, most, one))->value.i, INT32_MIN);
    LExprId real = tessi_lexpr_const(p, TYPE_F64, tessi_value_real(-2.5));
    assert_int_equal(tessi_lexpr(p, tessi_lexpr_cast(p, TYPE_I32, real))->value.i, -2);
    assert_int_equal(tessi_lexpr(p, tessi_lexpr_sat(p, TYPE_U8, real))->value.i, 0);
    assert_int_equal(tessi_lexpr(p, op(p, OP_LT, one, most))->type, TYPE_BOOL);
    LExprId chosen = tessi_lexpr_op(p, OP_SELECT, op(p, OP_LT, one, most), one, most);
    assert_int_equal(chosen.v, one.v);
}

static void float16_is_a_rounded_float(void **state)
{
    LoopProgram *p = tessi_loop_new(*state, "p");
    LExprId x = tessi_lexpr_var(p, tessi_loop_var(p, "x", TYPE_F32, false));
    LExprId d = tessi_lexpr_var(p, tessi_loop_var(p, "d", TYPE_F64, false));
    const LExpr *from_float = tessi_lexpr(p, tessi_lexpr_cast(p, TYPE_F16, x));
    const LExpr *from_double = tessi_lexpr(p, tessi_lexpr_cast(p, TYPE_F16, d));
    assert_int_equal(from_float->op, OP_ROUND16);
    assert_int_equal(from_double->kind, LEXPR_CAST);
    /* What is rounded already stays as it is. */
    const LExprId once = tessi_lexpr_cast(p, TYPE_F16, x), other = tessi_lexpr_cast(p, TYPE_F16, d);
    assert_int_equal(tessi_lexpr_cast(p, TYPE_F16, once).v, once.v);
    assert_int_equal(tessi_lexpr_cast(p, TYPE_F16, other).v, other.v);
    assert_int_equal(from_double->type, TYPE_F32);
    assert_int_not_equal(tessi_lexpr_cast(p, TYPE_F32, d).v, tessi_lexpr_cast(p, TYPE_F16, d).v);
}

static void index_algebra(void **state)
{
    LoopProgram *p = tessi_loop_new(*state, "p");
    VEC_PUSH(p->arena, &p->params, "M");
    LExprId x = tessi_lexpr_var(p, tessi_loop_var(p, "x", TYPE_INDEX, false)),
            m = tessi_lexpr_param(p, 0);
    LExprId one = tessi_lexpr_index(p, 1), two = tessi_lexpr_index(p, 2),
            zero = tessi_lexpr_index(p, 0);
    LExprId x1 = op(p, OP_ADD, x, one);
    assert_int_equal(op(p, OP_SUB, x1, one).v, x.v);
    assert_int_equal(op(p, OP_ADD, one, x).v, x1.v);
    assert_int_equal(op(p, OP_ADD, x, zero).v, x.v);
    assert_int_equal(op(p, OP_MUL, x, one).v, x.v);
    assert_int_equal(index_value(p, op(p, OP_MUL, zero, x)), 0);
    assert_int_equal(index_value(p, op(p, OP_SUB, x1, x)), 1);
    LExprId sum = op(p, OP_ADD, m, x);
    assert_int_equal(op(p, OP_SUB, sum, x).v, m.v);
    assert_int_equal(op(p, OP_SUB, sum, m).v, x.v);
    assert_int_equal(op(p, OP_ADD, op(p, OP_SUB, m, x), x).v, m.v);
    assert_int_equal(op(p, OP_NEG, op(p, OP_NEG, x, none), none).v, x.v);
    assert_int_equal(op(p, OP_MIN, x, x1).v, x.v);
    assert_int_equal(op(p, OP_MAX, x, x1).v, x1.v);
    assert_int_equal(op(p, OP_MIN, op(p, OP_MIN, x, two), one).v, op(p, OP_MIN, x, one).v);
    LExprId twice = op(p, OP_MUL, x, two);
    assert_int_equal(op(p, OP_FLOORDIV, op(p, OP_ADD, twice, one), two).v, x.v);
    assert_int_equal(index_value(p, op(p, OP_FLOORMOD, op(p, OP_ADD, twice, one), two)), 1);
    assert_int_equal(tessi_lexpr(p, op(p, OP_LT, x, x1))->value.i, 1);
    assert_int_equal(tessi_lexpr(p, op(p, OP_EQ, x, x1))->value.i, 0);
}

/* Random index expressions: built with simplification, and evaluated beside it, they have the same value. */
typedef struct Pair {
    LExprId e;
    int64_t value;
} Pair;

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static int64_t value_of(const LoopProgram *p, LExprId id, const int64_t *vars)
{
    const LExpr *e = tessi_lexpr(p, id);
    if (e->kind == LEXPR_CONST)
        return e->value.i;
    if (e->kind == LEXPR_VAR)
        return vars[e->var.v];
    Value args[3];
    for (int i = 0; i < e->n_args; i++)
        args[i].i = value_of(p, e->arg[i], vars);
    return tessi_eval(e->op, TYPE_INDEX, args).i;
}

static void simplified_indices_keep_their_value(void **state)
{
    static const Op ops[] = { OP_ADD,      OP_SUB, OP_MUL, OP_MIN, OP_MAX, OP_FLOORDIV,
                              OP_FLOORMOD, OP_LT,  OP_LE,  OP_EQ,  OP_NE };
    uint32_t seed = 7;
    for (int round = 0; round < 2000; round++) {
        LoopProgram *p = tessi_loop_new(*state, "p");
        int64_t vars[4];
        Pair pool[24];
        int n = 0;
        for (uint32_t v = 1; v <= 3; v++) {
            vars[v] = (int64_t)(next_random(&seed) % 21) - 10;
            pool[n++] =
                (Pair){ tessi_lexpr_var(p, tessi_loop_var(p, "v", TYPE_INDEX, false)), vars[v] };
        }
        for (int64_t c = -3; c <= 3; c++)
            pool[n++] = (Pair){ tessi_lexpr_index(p, c), c };
        while (n < 24) {
            Op o = ops[next_random(&seed) % 11];
            Pair a = pool[next_random(&seed) % (uint32_t)n],
                 b = pool[next_random(&seed) % (uint32_t)n];
            if ((o == OP_FLOORDIV || o == OP_FLOORMOD)
                && (b.value < 1 || tessi_lexpr(p, b.e)->kind != LEXPR_CONST))
                continue;
            Value args[2] = { { .i = a.value }, { .i = b.value } };
            int64_t expected = tessi_eval(o, TYPE_INDEX, args).i;
            LExprId e = op(p, o, a.e, b.e);
            assert_int_equal(value_of(p, e, vars), expected);
            /* Built again from its parts, a node is itself: what is printed reads back as it was. */
            const LExpr *node = tessi_lexpr(p, e);
            if (node->kind == LEXPR_OP)
                assert_int_equal(op(p, node->op, node->arg[0], node->arg[1]).v, e.v);
            bool small = expected > -1000000 && expected < 1000000;
            if (tessi_lexpr(p, e)->type == TYPE_INDEX && small)
                pool[n++] = (Pair){ e, expected };
        }
    }
}

static void dead_code_goes(void **state)
{
    const char *text = loop_testing_wrap(*state, "",
                                         "  let unused: float = s\n"
                                         "  for y in 0 .. M {\n"
                                         "    local line\n"
                                         "    store line[0] = s\n"
                                         "    for x in 0 .. 0 {\n"
                                         "      store out[y, x] = s\n"
                                         "    }\n"
                                         "    for k in 2 .. 3 {\n"
                                         "      let v: float = in[y, k - 2]\n"
                                         "      store out[y, k - 2] = v\n"
                                         "    }\n"
                                         "    if true {\n"
                                         "      store out[y, 1] = s\n"
                                         "    }\n"
                                         "    for x in y .. y {\n"
                                         "      store out[y, x] = s\n"
                                         "    }\n"
                                         "  }\n");
    LoopProgram *p = loop_testing_read(*state, text);
    tessi_loop_simplify(p);
    assert_null(tessi_loop_verify(p));
    const char *printed = strstr(loop_testing_print(*state, p), "function");
    assert_string_equal(printed, "function f {\n"
                                 "  for y in 0 .. M {\n"
                                 "    let v: float = in[y, 0]\n"
                                 "    store out[y, 0] = v\n"
                                 "    store out[y, 1] = s\n"
                                 "  }\n"
                                 "}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOOP_TEST(equal_expressions_are_one),           LOOP_TEST(constants_fold_exactly),
        LOOP_TEST(float16_is_a_rounded_float),          LOOP_TEST(index_algebra),
        LOOP_TEST(simplified_indices_keep_their_value), LOOP_TEST(dead_code_goes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
