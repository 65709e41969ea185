/* A text of kernels in modules (api/gpu_modules.c), on a device that keeps the texts it is to compile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "api/gpu.h"
#include "rt/device_ops.h"

enum { LONG = 20000, SHORT = 500, N_PARTS = 4 };
static const size_t bytes_of[N_PARTS] = { LONG, SHORT, SHORT, LONG };
static atomic_int built, alive;
static char fails; /* the letter of the kernel that does not compile; 0: none */

struct DeviceModule {
    char *text;
};

static bool build(Device *d, DeviceBuild *job, DeviceModule **module, Failure *f)
{
    (void)d;
    atomic_fetch_add(&built, 1);
    if (fails && strchr(job->text, fails))
        return tessi_failf(f, TESS_ERROR_COMPILER, "kernel %c does not compile", fails);
    *module = malloc(sizeof **module);
    (*module)->text = strdup(job->text);
    job->cached = job->recall;
    atomic_fetch_add(&alive, 1);
    return true;
}

static void module_free(Device *d, DeviceModule *m)
{
    (void)d;
    free(m->text);
    free(m);
    atomic_fetch_sub(&alive, 1);
}

static const DeviceOps ops = { .build = build, .module_free = module_free };

/* "head", then kernels that are a letter each, of some length. */
typedef struct Program {
    Arena arena;
    Device device;
    GpuContext context;
    EmitModule emitted;
    GpuCode code;
} Program;

static void begin(Program *p)
{
    *p = (Program){ .device = { .ops = &ops, .info = { .builds_beside = true } } };
    tessi_arena_init(&p->arena, NULL, NULL);
    Text text = tessi_text_new(&p->arena);
    tessi_text_add(&text, "head");
    for (uint32_t i = 0; i < N_PARTS; i++) {
        VEC_PUSH(&p->arena, &p->emitted.parts, text.n);
        VEC_PUSH(&p->arena, &p->emitted.kernels, ((GpuKernel){ .name = "k", .part = i }));
        for (size_t k = 0; k < bytes_of[i]; k++)
            tessi_text_addf(&text, "%c", (char)('A' + (int)i));
    }
    p->context.device = &p->device;
    p->code =
        (GpuCode){ .context = &p->context, .emitted = &p->emitted, .text = tessi_text_str(&text) };
    atomic_store(&built, 0);
}

static bool compile(Program *p, bool recall, bool *cached, Failure *f)
{
    return tessi_gpu_modules_build(&p->code.modules, &p->code, NULL, recall, cached, f);
}

static bool defines(const Program *p, uint32_t module, const char *kernels)
{
    const char *text = p->code.modules.at[module]->text;
    bool all = strncmp(text, "head", 4) == 0;
    for (char k = 'A'; k < 'A' + N_PARTS; k++)
        all = all && !strchr(text, k) == !strchr(kernels, k);
    return all;
}

static void test_parts(void **state)
{
    (void)state;
    for (int recall = 0; recall < 2; recall++) {
        Program p;
        bool cached;
        begin(&p);
        assert_true(compile(&p, recall, &cached, NULL));
        assert_int_equal(cached, recall);
        assert_int_equal(p.code.modules.n, 2);
        assert_true(defines(&p, 0, "A") && defines(&p, 1, "BCD"));
        for (uint32_t i = 0; i < N_PARTS; i++)
            assert_ptr_equal(tessi_gpu_module_of(&p.code.modules, &p.emitted.kernels.at[i]),
                             p.code.modules.at[i > 0]);
        tessi_gpu_modules_free(&p.code.modules, &p.device);
        assert_int_equal(atomic_load(&alive), 0);
        tessi_arena_dispose(&p.arena);
    }
}

/* One module where each would have variables of its own, and where the compiler takes one text at a time. */
static void test_whole(void **state)
{
    (void)state;
    for (int beside = 0; beside < 2; beside++) {
        Program p;
        bool cached;
        begin(&p);
        p.device.info.builds_beside = beside;
        if (beside)
            VEC_PUSH(&p.arena, &p.emitted.symbols, "coefficients");
        assert_true(compile(&p, false, &cached, NULL));
        assert_int_equal(atomic_load(&built), 1);
        assert_true(defines(&p, 0, "ABCD"));
        tessi_gpu_modules_free(&p.code.modules, &p.device);
        tessi_arena_dispose(&p.arena);
    }
}

static void test_failures(void **state)
{
    (void)state;
    for (fails = 'A'; fails < 'A' + N_PARTS; fails++) {
        Program p;
        Failure f = { 0 };
        bool cached;
        char said[] = "kernel A does not compile";
        said[7] = fails;
        begin(&p);
        assert_false(compile(&p, false, &cached, &f));
        assert_string_equal(f.text, said);
        assert_int_equal(atomic_load(&alive), 0);
        tessi_arena_dispose(&p.arena);
    }
    fails = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_whole),
        cmocka_unit_test(test_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
