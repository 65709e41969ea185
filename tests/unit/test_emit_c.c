/* Generated C: compiles without warnings, is the same each time, agrees bit for bit with the loop interpreter for
 * every operator on every type, and its self-test notices a difference. */
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

#include "api/embedded.h"
#include "emit/emit.h"
#include "interp/loop_interp.h"
#include "loop/loop_passes.h"
#include "unit/loop_testing.h"

/* ---- Files and compilers --------------------------------------------------------------------- */

static const char *folder(Arena *a)
{
    static char name[4096];
    if (!name[0]) {
        const char *build = getenv("TESSERA_BUILD");
        snprintf(name, sizeof name, "%s/test-emit-XXXXXX", build ? build : ".");
        assert_non_null(mkdtemp(name));
    }
    return tessi_strdup(a, name);
}

static int remove_folder(void **state)
{
    (void)state;
    Arena a;
    tessi_arena_init(&a, loop_testing_out_of_memory, NULL);
    int result = system(tessi_sprintf(&a, "rm -rf '%s'", folder(&a)));
    tessi_arena_dispose(&a);
    return result;
}

static bool have(Arena *a, const char *compiler)
{
    return system(tessi_sprintf(a, "command -v %s >/dev/null 2>&1", compiler)) == 0;
}

static const char *write_file(Arena *a, const char *name, const char *text)
{
    const char *path = tessi_sprintf(a, "%s/%s", folder(a), name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
    assert_int_equal(fclose(f), 0);
    return path;
}

static const char warnings[] =
    "-std=c11 -Wall -Wextra -Wpedantic -Wconversion -Werror -ffp-contract=off "
    "-DTESSERA_WITHOUT_FMA";

static void must_run(Arena *a, const char *command)
{
    if (system(tessi_sprintf(a, "%s > %s/log 2>&1", command, folder(a))) == 0)
        return;
    if (system(tessi_sprintf(a, "head -n 40 %s/log >&2", folder(a))))
        fputs("no log\n", stderr);
    fail_msg("failed: %s", command);
}

static const char *emit(Arena *a, const LoopProgram *p, const LoopProgram *reference)
{
    EmitOptions options = { .prelude = tessi_embedded_prelude_c,
                            .source_name = "test.tess",
                            .reference = reference };
    Text out = tessi_text_new(a);
    tessi_emit_c.print_file(p, &tessi_emit_c, &options, &out);
    return tessi_text_str(&out);
}

/* ---- A program with some of everything ------------------------------------------------------- */

static const char mixture[] =
    "loops \"int\"\n"
    "## a plan */ with a trap /* inside\n"
    "param M\n"
    "param N\n"
    "param unused\n"
    "scalar sigma: float\n"
    "scalar half: float16\n"
    "scalar on: bool\n"
    "scalar n: uint8\n"
    "input float: { \"\": float @0 } pixel 4 [M, N]\n"
    "input rgb: { r: uint8 @0, g: uint8 @1, b: uint8 @2 } pixel 3 [M, N]\n"
    "input mix: { a: bool @0, h: float16 @1, d: double @3 } mixed 11 [M, N]\n"
    "input volume: { \"\": int16 @0 } pixel 2 [3, M, N]\n"
    "input bits: { \"\": bool @0 } pixel 1 [N]\n"
    "input idle: { \"\": int32 @0 } pixel 4 [M, N]\n"
    "output out: { \"\": float @0 } pixel 4 [M, N]\n"
    "output pair: { h: float16 @0, i: int32 @2 } mixed 6 [M, N]\n"
    "positive M, N, N * 2 + 1\n"
    "buffer pixels: input 0/0 float[M, N]\n"
    "buffer rgb.g: input 1/1 uint8[M, N]\n"
    "buffer mix.a: input 2/0 bool[M, N]\n"
    "buffer mix.h: input 2/1 float16[M, N]\n"
    "buffer mix.d: input 2/2 double[M, N]\n"
    "buffer volume: input 3/0 int16[3, M, N]\n"
    "buffer bits: input 4/0 bool[N]\n"
    "buffer out: output 0/0 float[M, N]\n"
    "buffer pair.h: output 1/0 float16[M, N]\n"
    "buffer pair.i: output 1/1 int32[M, N]\n"
    "buffer temp: temp float[M, N + 2]\n"
    "buffer cube: temp int32[2, M, N]\n"
    "buffer total: temp int64[]\n"
    "buffer counts: temp uint32[256]\n"
    "buffer ring: local float[2, 8]\n"
    "buffer gamma: table float[2, 3] = { 1.0f, 0.5f, -0.0f, 0.1f, 1e-40f, inff }\n"
    "buffer lazy: table int8[1] = { 1i8 }\n"
    "\n"
    "## gamma\n"
    "function \"tess_<1>\" {\n"
    "  store total[] = 0i64\n"
    "  for k in 0 .. 256 {\n"
    "    store counts[k] = 0u32\n"
    "  }\n"
    "  parallel for y in 0 .. M {\n"
    "    # the row\n"
    "    #| and its ends\n"
    "    simd for x in 0 .. N + 2 {\n"
    "      store temp[y, x] = pixels[y, min(max(x - 1, 0), N - 1)]\n"
    "    }\n"
    "    for x in 0 .. N {\n"
    "      atomic add counts[idx(rgb.g[y, x])] += 1u32\n"
    "      let sum: float = temp[y, x] + temp[y, x + 1] * 2.0f + temp[y, x + 2]\n"
    "      let long: float = sum * sum * (sum + 1.0f) * (sum + sum) - (sum - 3.0f) * -sum + "
    "sqrt(sum * sum + f32(mix.d[y, x]) * f32(mix.d[y, x])) + sum + sum + sum + sum + sum + sum + "
    "sum + sum + sum + sum\n"
    "      let dead: float = long\n"
    "      store out[y, x] = long * sigma + half * mix.h[y, x]\n"
    "      store cube[0, y, x] = i32(volume[2, y, x]) + i32(rgb.g[y, x] & n)\n"
    "      store cube[1, y, x] = select(mix.a[y, x] ^ bits[x] & on, 7i32, -2147483648i32)\n"
    "    }\n"
    "  }\n"
    "  for k in 0 .. idx(counts[0]) {\n"
    "    add total[] += i64(counts[0])\n"
    "  }\n"
    "}\n"
    "\n"
    "function \"tess_<1>\" {\n"
    "  parallel simd for y in 0 .. M {\n"
    "    local ring\n"
    "    for i in 0 .. 2 {\n"
    "      unroll for j in 0 .. 8 {\n"
    "        store ring[i, j] = gamma[i, floormod(j, 3)] + f32(j)\n"
    "      }\n"
    "    }\n"
    "    for y#2 in 0 .. N step 2 {\n"
    "      var for: float = ring[1, floormod(y#2, 8)]\n"
    "      if for < 3.0f {\n"
    "        set for = for + 1.0f\n"
    "      } else {\n"
    "        if for < 4.0f {\n"
    "          set for = 0.0f\n"
    "        } else {\n"
    "          let v: float = for * 0.25f\n"
    "          set for = v\n"
    "        }\n"
    "      }\n"
    "      add out[y, y#2] += for + f32(total[])\n"
    "      store pair.h[y, y#2] = for\n"
    "      store pair.i[y, y#2] = cube[0, y, y#2] - cube[1, y, y#2]\n"
    "      add pair.i[y, y#2] += 3i32\n"
    "      add pair.h[y, y#2] += 0.5f\n"
    "    }\n"
    "  }\n"
    "}\n";

static LoopProgram *read_mixture(Arena *a)
{
    return loop_testing_read(a, mixture);
}

static void compiles_without_warnings(void **state)
{
    Arena *a = *state;
    LoopProgram *p = read_mixture(a);
    const char *path = write_file(a, "mixture.c", emit(a, p, read_mixture(a)));
    static const char *const compilers[] = { "gcc", "clang" };
    static const char *const variants[] = { "", "-fopenmp", "-fopenmp -DTESSERA_ENTRY",
                                            "-DTESSERA_ENTRY", "-DTESSERA_SELFTEST" };
    for (size_t c = 0; c < 2; c++)
        for (size_t v = 0; v < 5 && have(a, compilers[c]); v++)
            must_run(a, tessi_sprintf(a, "%s %s -O1 %s -c %s -o %s/o.o", compilers[c], warnings,
                                      variants[v], path, folder(a)));
}

static void is_the_same_each_time(void **state)
{
    Arena *a = *state;
    assert_string_equal(emit(a, read_mixture(a), NULL), emit(a, read_mixture(a), NULL));
}

static void lines_are_short_and_names_legal(void **state)
{
    Arena *a = *state;
    const char *text = strstr(emit(a, read_mixture(a), NULL), "#include <stdlib.h>");
    assert_non_null(text);
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
        if (strcspn(line, "\n") > 100)
            fail_msg("%zu columns: %.200s", strcspn(line, "\n"), line);
        if (!line[strcspn(line, "\n")])
            break;
    }
    assert_non_null(strstr(text, "int int_(const float *restrict float_, ptrdiff_t float_stride"));
    assert_non_null(strstr(text, "static void int_tess_1("));
    assert_non_null(strstr(text, "static void int_tess_1_2("));
    assert_non_null(strstr(text, "static const float int_gamma[2][3]"));
    assert_null(strstr(text, "lazy")); /* nobody reads it */
}

static void header_serves_c_and_cxx(void **state)
{
    Arena *a = *state;
    Text out = tessi_text_new(a);
    tessi_emit_c.print_header(read_mixture(a), &tessi_emit_c, &(EmitOptions){ 0 }, &out);
    assert_null(strstr(tessi_text_str(&out), "restrict"));
    const char *path = write_file(a, "mixture.h", tessi_text_str(&out));
    must_run(a, tessi_sprintf(a, "cc %s -x c -fsyntax-only %s", warnings, path));
    if (have(a, "g++"))
        must_run(a, tessi_sprintf(a, "g++ -Wall -Werror -x c++ -fsyntax-only %s", path));
}

static void self_test_agrees_and_notices(void **state)
{
    Arena *a = *state;
    const char *flags =
        "-std=c11 -O1 -g -ffp-contract=off -DTESSERA_WITHOUT_FMA -DTESSERA_SELFTEST "
        "-fsanitize=address,undefined -fno-sanitize-recover=all";
    const char *good = write_file(a, "good.c", emit(a, read_mixture(a), read_mixture(a)));
    must_run(a, tessi_sprintf(a, "cc %s %s -o %s/good -lm && %s/good | grep -q ok", flags, good,
                              folder(a), folder(a)));

    LoopProgram *other = read_mixture(a);
    LBlock *body = &other->functions.at[0].body;
    LStmt *loop = body->at[2], *inner = loop->body.at[2], *store = inner->body.at[4];
    assert_int_equal(store->kind, LSTMT_STORE);
    LExprId none = { 0 };
    store->a = tessi_lexpr_op(other, OP_NEG, store->a, none, none);
    assert_null(tessi_loop_verify(other));
    const char *bad = write_file(a, "bad.c", emit(a, read_mixture(a), other));
    must_run(a, tessi_sprintf(a, "cc %s %s -o %s/bad -lm && ! %s/bad", flags, bad, folder(a),
                              folder(a)));
}

/* ---- Every operator on every type ------------------------------------------------------------ */

enum { N_POINTS = 97, MOST_OUTPUTS = 80 };

typedef int (*Entry)(void *const *images, const ptrdiff_t *strides, const ptrdiff_t *params,
                     const void *scalars, int threads, void *workspace, ptrdiff_t *bytes);

typedef struct Operators {
    LoopProgram *p;
    LExprId n, x, none;
    LBlock *block;
} Operators;

static void add_image(Operators *o, bool is_output, const char *name, ScalarType t)
{
    Arena *a = o->p->arena;
    LImage im = { .name = name, .n_dims = 1, .size = { o->n }, .n_channels = 1, .uniform = true };
    im.channel_type = ARENA_NEW(a, ScalarType);
    im.channel_name = ARENA_NEW(a, const char *);
    im.channel_offset = ARENA_NEW(a, uint32_t);
    im.channel_type[0] = t;
    im.channel_name[0] = "";
    im.pixel_bytes = tessi_type_info(t)->bytes;
    if (is_output)
        VEC_PUSH(a, &o->p->outputs, im);
    else
        VEC_PUSH(a, &o->p->inputs, im);
    LBuffer b = { .name = name,
                  .kind = is_output ? LBUF_OUTPUT : LBUF_INPUT,
                  .type = t,
                  .n_dims = 1,
                  .size = { o->n } };
    b.image = is_output ? o->p->outputs.n - 1 : o->p->inputs.n - 1;
    tessi_loop_buffer(o->p, &b);
}

static void store_result(Operators *o, LExprId value, const char *name)
{
    ScalarType t = tessi_lexpr(o->p, value)->type;
    if (t == TYPE_INDEX) {
        value = tessi_lexpr_cast(o->p, TYPE_I64, value);
        t = TYPE_I64;
    }
    add_image(o, true, name, t);
    LStmt *s = tessi_lstmt(o->p, o->block, LSTMT_STORE);
    s->buffer = (LBufferId){ o->p->buffers.n - 1 };
    s->n_index = 1;
    s->index[0] = o->x;
    s->a = value;
}

static bool applies(Op op, ScalarType t)
{
    const OpInfo *info = tessi_op_info(op);
    bool integer = tessi_is_integer(t) || t == TYPE_BOOL;
    if (op == OP_ROUND16)
        return t == TYPE_F32;
    if (info->domain == 'K')
        return t == TYPE_I32 || t == TYPE_I64;
    return info->domain == 'A' || (info->domain == 'N' && t != TYPE_BOOL)
           || (info->domain == 'I' && integer) || (info->domain == 'R' && tessi_is_real(t));
}

static LoopProgram *all_operators(Arena *a, ScalarType t)
{
    Operators o = { .p = tessi_loop_new(a, tessi_sprintf(a, "all_%s", tessi_type_info(t)->brief)) };
    LoopProgram *p = o.p;
    VEC_PUSH(a, &p->params, "N");
    o.n = tessi_lexpr_param(p, 0);
    LVarId x = tessi_loop_var(p, "x", TYPE_INDEX, false);
    o.x = tessi_lexpr_var(p, x);
    LExprId arg[3], condition;
    for (uint32_t i = 0; i < 3; i++) {
        add_image(&o, false, i == 0 ? "a" : i == 1 ? "b" : "c", t);
        arg[i] = tessi_lexpr_load(p, (LBufferId){ p->buffers.n - 1 }, &o.x, 1);
    }
    add_image(&o, false, "flag", TYPE_BOOL);
    condition = tessi_lexpr_load(p, (LBufferId){ p->buffers.n - 1 }, &o.x, 1);
    LFunction f = { .name = "all" };
    VEC_PUSH(a, &p->functions, f);
    LStmt *loop = tessi_lstmt(p, &p->functions.at[0].body, LSTMT_FOR);
    loop->var = x;
    loop->a = tessi_lexpr_index(p, 0);
    loop->b = o.n;
    loop->flags = LFOR_SIMD;
    o.block = &loop->body;
    for (int op = 0; op < N_OPS; op++) {
        if (!applies((Op)op, t == TYPE_F16 ? TYPE_F32 : t))
            continue;
        LExprId value = op == OP_SELECT ? tessi_lexpr_op(p, OP_SELECT, condition, arg[0], arg[1])
                                        : tessi_lexpr_op(p, (Op)op, arg[0], arg[1], arg[2]);
        store_result(&o, value, tessi_op_info((Op)op)->name);
    }
    for (int to = 0; to < N_TYPES; to++) {
        const char *brief = tessi_type_info((ScalarType)to)->brief;
        store_result(&o, tessi_lexpr_cast(p, (ScalarType)to, arg[0]),
                     tessi_sprintf(a, "to_%s", brief));
        if (to != TYPE_INDEX)
            store_result(&o, tessi_lexpr_sat(p, (ScalarType)to, arg[0]),
                         tessi_sprintf(a, "sat_%s", brief));
    }
    const char *fault = tessi_loop_verify(p);
    if (fault)
        fail_msg("%s", fault);
    return p;
}

static uint64_t next_random(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 16;
}

/* Small numbers, any bits, and the ends of the type. */
static void fill(ScalarType t, unsigned char *at, uint64_t *seed)
{
    static const double special[] = { 0.0,  -0.0,  1.0,  -1.0,  0.5,     2.5,
                                      -2.5, 255.5, 1e30, -1e30, 65504.0, 1e-40 };
    uint32_t bytes = tessi_type_info(t)->bytes;
    for (int i = 0; i < N_POINTS; i++, at += bytes) {
        uint64_t r = next_random(seed), kind = next_random(seed) % 4;
        int64_t small = (int64_t)(r % 21) - 10;
        Value v =
            tessi_is_real(t) ? tessi_value_real((double)small * 0.75) : tessi_value_int(small);
        if (kind == 0) {
            memcpy(at, &r, bytes);
            if (t == TYPE_BOOL)
                *at &= 1;
            continue;
        }
        if (kind == 1 && tessi_is_real(t))
            v.f = special[r % 12];
        else if (kind == 1 && t != TYPE_BOOL)
            v.i = r % 2 ? tessi_type_range(t).lo : tessi_type_range(t).hi;
        if (!tessi_is_real(t))
            v = tessi_eval_cast(t, TYPE_I64, v);
        tessi_store_element(t, at, v);
    }
}

static void compare_with_interpreter(Arena *a, ScalarType t)
{
    LoopProgram *p = all_operators(a, t);
    const char *brief = tessi_type_info(t)->brief;
    const char *path = write_file(a, tessi_sprintf(a, "all_%s.c", brief), emit(a, p, NULL));
    const char *library = tessi_sprintf(a, "%s/all_%s.so", folder(a), brief);
    must_run(a, tessi_sprintf(a, "cc %s -O2 -DTESSERA_ENTRY -fPIC -shared %s -o %s -lm", warnings,
                              path, library));
    void *handle = dlopen(library, RTLD_NOW);
    if (!handle)
        fail_msg("%s", dlerror());
    Entry entry;
    *(void **)&entry = dlsym(handle, tessi_sprintf(a, "all_%s_entry", brief));
    assert_true(entry != NULL);

    uint32_t n_out = p->outputs.n;
    assert_true(n_out <= MOST_OUTPUTS);
    void *images[4 + MOST_OUTPUTS];
    InterpImage inputs[4], outputs[MOST_OUTPUTS];
    uint64_t seed = 11;
    for (uint32_t i = 0; i < 4; i++) {
        ScalarType type = p->inputs.at[i].channel_type[0];
        int64_t bytes = tessi_type_info(type)->bytes;
        images[i] = tessi_alloc(a, N_POINTS * 8);
        fill(type, images[i], &seed);
        inputs[i] = (InterpImage){ images[i], { N_POINTS }, { bytes } };
    }
    for (uint32_t i = 0; i < n_out; i++) {
        images[4 + i] = tessi_alloc(a, N_POINTS * 8);
        int64_t bytes = tessi_type_info(p->outputs.at[i].channel_type[0])->bytes;
        outputs[i] = (InterpImage){ tessi_alloc(a, N_POINTS * 8), { N_POINTS }, { bytes } };
    }
    ptrdiff_t bytes = 0;
    const int64_t params[1] = { N_POINTS };
    const ptrdiff_t c_params[1] = { N_POINTS };
    ptrdiff_t strides[(4 + MOST_OUTPUTS) * EMIT_STRIDES] = { 0 };
    InterpArgs args = { .params = params, .inputs = inputs, .outputs = outputs };
    Failure failure = { 0 };
    if (!tessi_interpret_loops(p, &args, &failure))
        fail_msg("%s", failure.text);
    assert_int_equal(entry(images, strides, c_params, NULL, 2, NULL, &bytes), 0);
    const ptrdiff_t nothing[1] = { 0 };
    assert_int_equal(entry(images, strides, nothing, NULL, 0, NULL, &bytes), 2);

    for (uint32_t i = 0; i < n_out; i++) {
        ScalarType type = p->outputs.at[i].channel_type[0];
        uint32_t bytes = tessi_type_info(type)->bytes;
        for (uint32_t k = 0; k < N_POINTS; k++) {
            Value got = tessi_load_element(type, (unsigned char *)images[4 + i] + k * bytes);
            Value expected = tessi_load_element(type, (unsigned char *)outputs[i].data + k * bytes);
            if (!tessi_value_same(type, got, expected))
                fail_msg("%s of %s, point %u: %a (%lld) instead of %a (%lld)",
                         p->outputs.at[i].name, brief, k, got.f, (long long)got.i, expected.f,
                         (long long)expected.i);
        }
    }
    dlclose(handle);
}

static void operators_agree_with_the_interpreter(void **state)
{
    for (int t = 0; t < N_TYPES; t++)
        if (t != TYPE_INDEX)
            compare_with_interpreter(*state, (ScalarType)t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOOP_TEST(compiles_without_warnings),       LOOP_TEST(is_the_same_each_time),
        LOOP_TEST(lines_are_short_and_names_legal), LOOP_TEST(header_serves_c_and_cxx),
        LOOP_TEST(self_test_agrees_and_notices),    LOOP_TEST(operators_agree_with_the_interpreter),
    };
    return cmocka_run_group_tests(tests, NULL, remove_folder);
}
