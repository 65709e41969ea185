/* Plans are for as many cores as runs may have threads, unless a description says what the machine is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/api.h"
#include "plan/plan_costs.h"

static Machine planned_for(int threads, const char *machine)
{
    static const char text[] = "parameter M, N; vector#2 float a[M, N]; return 2 * a;";
    tess_options o;
    tess_program *p = NULL;
    tess_options_init(&o);
    o.target = TESS_TARGET_C;
    o.threads = threads;
    o.machine = machine;
    assert_int_equal(tess_compile(text, strlen(text), "threads.tess", &o, &p, NULL), TESS_OK);
    char *plan = NULL;
    assert_int_equal(tess_dump(p, NULL, "plan", &plan, NULL), TESS_OK);
    tess_text_free(plan);
    const Machine m = *p->variants->machine;
    tess_program_free(p);
    return m;
}

static void test_threads(void **state)
{
    (void)state;
    const Machine whole = planned_for(0, NULL), one = planned_for(1, NULL);
    const double share = 1 / (double)whole.cores;
    assert_int_equal(one.cores, 1);
    assert_true(one.l2_gbs == whole.l2_gbs);
    assert_true(one.l3_gbs == whole.l3_gbs * share);
    assert_true(one.memory_gbs <= whole.memory_gbs && one.memory_gbs >= whole.memory_gbs * share);
    assert_true(whole.cores == 1 || one.memory_gbs < whole.memory_gbs);
    assert_int_equal(planned_for((int)whole.cores + 1, NULL).cores, whole.cores);
    assert_int_equal(planned_for(1, "cores = 8\n").cores, 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_threads) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
