/* The verifier: each rule of the loop language is broken once. */
#include "loop/loop_passes.h"
#include "unit/loop_testing.h"

typedef struct Case {
    const char *buffers, *statements, *said;
} Case;

static const char declared_twice[] = "buffer out2: output 0/0 float[M, N]\n";

static void broken_programs_are_refused(void **state)
{
    static const Case cases[] = {
        { "", "  for y in 0 .. M {\n    let v: float = s\n  }\n  store out[0, 0] = v\n",
          "'v' is used where it is not defined" },
        { "", "  for y in 0 .. M {\n    for y in 0 .. M {\n    }\n  }\n",
          "'y' is defined inside the scope of itself" },
        { "", "  let v: float = s\n  let v: float = s\n",
          "'v' is defined inside the scope of itself" },
        { "", "  let v: float = s\n  set v = s\n", "'v' is constant and set" },
        { "", "  for y in 0 .. M {\n    var v: float = s\n  }\n  set v = s\n",
          "a variable is set where it is not defined" },
        { "", "  var v: float = s\n  parallel for y in 0 .. M {\n    set v = s\n  }\n",
          "'v' belongs to all iterations of a parallel loop" },
        { "", "  var v: float = s\n  simd for y in 0 .. M {\n    set v = s\n  }\n",
          "'v' belongs to all iterations" },
        { "", "  simd for y in 0 .. M {\n    parallel for x in 0 .. N {\n    }\n  }\n",
          "a parallel loop stands inside a SIMD loop" },
        { "", "  for y in 0 .. M step 0 {\n  }\n", "a loop has the step 0" },
        { "", "  store in[0, 0] = s\n", "'in' is stored to, but only to be read" },
        { "", "  store taps[0] = s\n", "'taps' is stored to, but only to be read" },
        { "", "  store out[0] = s\n", "'out' has 2 dimensions and is stored to with 1 indices" },
        { "", "  store out[0, 0] = in[0]\n", "'in' has 2 dimensions and is read with 1 indices" },
        { "", "  store line[0] = s\n", "'line' is stored to where it does not exist" },
        { "", "  store out[0, 0] = line[0]\n", "'line' is read where it does not exist" },
        { "", "  local line\n  local line\n", "'line' is declared inside the scope of itself" },
        { "", "  local temp\n", "a buffer that is not local is declared" },
        { "", "  sort temp, 3\n", "'temp' is sorted, but not a local line" },
        { "", "  atomic add temp[0, 0] += s\n", "'temp' is added to atomically" },
        { "buffer b: local float[M]\n", "", "local buffer 'b' is not of constant size" },
        { "buffer b: local double[1000, 1100]\n", "",
          "local buffer 'b' is not of constant size, or too large" },
        { "buffer b: local float[0]\n", "", "local buffer 'b' is not of constant size" },
        { "buffer b: table float[3] = { 1.0f }\n", "",
          "table 'b' has not as many values as its size says" },
        { "buffer b: input 1/0 float[M, N]\n", "", "buffer 'b' names no image" },
        { "buffer b: input 0/1 float[M, N]\n", "", "buffer 'b' is no channel of its image" },
        { "buffer b: input 0/0 double[M, N]\n", "", "buffer 'b' is no channel of its image" },
        { "buffer b: input 0/0 float[N, M]\n", "", "buffer 'b' has other sizes than its image" },
        { declared_twice, "", "'out2' is a channel that another buffer holds" },
        { "buffer b: temp index[M]\n", "", "buffer 'b' has no type that can be stored" },
        { "buffer b: constant float[M]\n", "", "constant buffer 'b' is not of constant size" },
        { "buffer b: temp float[idx(s)]\n", "", "a size of 'b' depends on more than parameters" },
        { "input i: { a: float @1 } pixel 4 [M]\n", "",
          "a channel of image 'i' lies outside the pixel" },
        { "input i: { a: float @0, b: int8 @4 } pixel 5 [M]\n", "", "image 'i' is not uniform" },
        { "output o: { a: float @0, b: int32 @4 } mixed 8 [M]\nbuffer b: output 1/1 int32[M]\n",
          "  atomic add b[0] += 1i32\n", "'b' is added to atomically but need not be aligned" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = loop_testing_wrap(*state, cases[i].buffers, cases[i].statements);
        loop_testing_refused(*state, text, cases[i].said);
    }
}

static void sound_programs_pass(void **state)
{
    static const char *const sound[] = {
        "",
        "  for y in 0 .. M {\n  }\n  for y in 0 .. N {\n  }\n", /* the same variable in two blocks */
        "  for y in 0 .. M {\n    local line\n    store line[0] = s\n  }\n  local line\n",
        ("  parallel for y in 0 .. M {\n    var v: float = s\n"
         "    for x in 0 .. N {\n      set v = v + s\n    }\n  }\n"),
        "  atomic add counts[0] += 1u32\n",
    };
    for (size_t i = 0; i < sizeof sound / sizeof *sound; i++)
        assert_null(
            tessi_loop_verify(loop_testing_read(*state, loop_testing_wrap(*state, "", sound[i]))));
}

/* Faults that no text can hold. */
static void broken_expressions_are_refused(void **state)
{
    LoopProgram *p =
        loop_testing_read(*state, loop_testing_wrap(*state, "", "  store out[0, 0] = s + s\n"));
    LExprId sum = p->functions.at[0].body.at[0]->a;
    p->exprs.at[sum.v].type = TYPE_I32;
    assert_non_null(strstr(tessi_loop_verify(p), "operator 'add' does not fit"));
    p->exprs.at[sum.v].type = TYPE_F32;
    p->exprs.at[sum.v].arg[1] = sum;
    assert_non_null(strstr(tessi_loop_verify(p), "uses one that comes after it"));
    p->exprs.at[sum.v].arg[1] = p->exprs.at[sum.v].arg[0];
    assert_null(tessi_loop_verify(p));
    p->functions.at[0].body.at[0]->a.v = 0;
    assert_non_null(strstr(tessi_loop_verify(p), "an expression is missing"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOOP_TEST(broken_programs_are_refused),
        LOOP_TEST(sound_programs_pass),
        LOOP_TEST(broken_expressions_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
