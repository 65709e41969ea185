/* Arenas: their limit, vectors and texts that grow in place, and scratch arenas that give their memory back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"

static void jump(void *user) TESS_NORETURN;
static void jump(void *user)
{
    longjmp(*(jmp_buf *)user, 1);
}

static void test_scratch_counts_while_it_is_open(void **state)
{
    (void)state;
    static jmp_buf out;
    Arena a;
    tessi_arena_init(&a, jump, &out);
    assert_int_equal(setjmp(out), 0);
    tessi_alloc(&a, 1000);
    const size_t before = a.used_bytes;
    Arena *outer = tessi_scratch_open(&a), *inner = tessi_scratch_open(outer);
    tessi_alloc(outer, 100000);
    tessi_alloc(inner, 1000000); /* a block of its own */
    assert_true(a.used_bytes >= before + 1100000);
    tessi_scratch_close(inner);
    assert_true(a.used_bytes < before + 200000);
    tessi_scratch_close(outer);
    assert_int_equal(a.used_bytes, before);
    assert_null(a.scratch);
    tessi_scratch_open(&a); /* the end of the arena closes it */
    tessi_arena_dispose(&a);
    assert_null(a.scratch);
}

static void test_shortage_in_scratch(void **state)
{
    (void)state;
    static jmp_buf out;
    static Arena a;
    tessi_arena_init(&a, jump, &out);
    a.limit_bytes = 100000;
    if (!setjmp(out)) {
        Arena *s = tessi_scratch_open(&a);
        tessi_alloc(tessi_scratch_open(s), 60000);
        tessi_alloc(s, 60000);
        fail_msg("the limit of the arena holds for its scratch arenas too");
    }
    assert_null(a.scratch);
    assert_int_equal(a.used_bytes, 0);
    assert_non_null(tessi_alloc(&a, 90000));
    tessi_arena_dispose(&a);
}

static void test_growing_keeps_what_there_is(void **state)
{
    (void)state;
    static jmp_buf out;
    Arena a;
    tessi_arena_init(&a, jump, &out);
    assert_int_equal(setjmp(out), 0);
    VEC(uint32_t) x = { 0 }, y = { 0 };
    for (uint32_t i = 0; i < 100000; i++) { /* now in place, now not */
        VEC_PUSH(&a, &x, i);
        if (i % 1000 > 500)
            VEC_PUSH(&a, &y, ~i);
    }
    for (uint32_t i = 0, k = 0; i < x.n; i++) {
        assert_int_equal(x.at[i], i);
        if (i % 1000 > 500)
            assert_int_equal(y.at[k++], ~i);
    }
    for (uint32_t i = x.n; i < x.cap; i++)
        assert_int_equal(x.at[i], 0);
    tessi_arena_dispose(&a);
    tessi_arena_init(&a, jump, &out);
    VEC(uint32_t) alone = { 0 };
    for (uint32_t i = 0; i < 1000; i++)
        VEC_PUSH(&a, &alone, i);
    assert_true(a.used_bytes < 2 * 1000 * sizeof(uint32_t)); /* nothing was left behind */
    tessi_arena_dispose(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scratch_counts_while_it_is_open),
        cmocka_unit_test(test_shortage_in_scratch),
        cmocka_unit_test(test_growing_keeps_what_there_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
