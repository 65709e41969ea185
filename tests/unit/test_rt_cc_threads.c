/* Generated C on threads of ours, by compilers that translate OpenMP's pragmas and have no runtime for them. */
#include "rt/cc.h"
#include "rt/module.h"
#include "rt/process.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 1003, SHARED = 90 /* variables of a region: more than fit where few do */ };

/* Loops of all kinds that generated code has; points say which thread was there. */
static const char head[] =
    "#include <omp.h>\n#include <stddef.h>\n"
    "int loops(int threads, ptrdiff_t n, int *a, int *b, int *c, int *counts)\n{\n"
    "    omp_set_num_threads(threads);\n"
    "#pragma omp parallel\n#pragma omp for schedule(static) nowait\n"
    "    for (ptrdiff_t i = 0; i < n; i++) {\n        a[i] = omp_get_thread_num() + 1;\n"
    "#pragma omp atomic\n        counts[i % 7]++;\n    }\n"
    "#pragma omp parallel\n#pragma omp for schedule(dynamic) nowait\n"
    "    for (ptrdiff_t i = 3; i < n; i += 2)\n        b[i] += omp_get_max_threads();\n";

static void write_program(char *out, size_t room)
{
    size_t at = (size_t)snprintf(out, room, "%s", head);
    for (int i = 0; i < SHARED; i++)
        at += (size_t)snprintf(out + at, room - at, "    ptrdiff_t x%d = n + %d;\n", i, i);
    at += (size_t)snprintf(out + at, room - at,
                           "#pragma omp parallel\n"
                           "#pragma omp for simd schedule(static) nowait\n"
                           "    for (ptrdiff_t i = 0; i < n; i++)\n"
                           "        c[i] = (int)(i");
    for (int i = 0; i < SHARED; i++)
        at += (size_t)snprintf(out + at, room - at, " + x%d", i);
    at += (size_t)snprintf(out + at, room - at, ");\n    threads = ");
    for (int i = 0; i < SHARED; i++)
        at += (size_t)snprintf(out + at, room - at, "x%d++ >= 0 && ", i);
    snprintf(out + at, room - at, "1;\n    return threads ? omp_get_max_threads() : -1;\n}\n");
}

typedef int (*Loops)(int threads, ptrdiff_t n, int *a, int *b, int *c, int *counts);

static void check(Loops loops, int threads, ptrdiff_t n)
{
    static int a[N], b[N], c[N];
    int counts[7] = { 0 }, last = 0;
    memset(b, 0, sizeof b);
    assert_int_equal(loops(threads, n, a, b, c, counts), threads);
    for (ptrdiff_t i = 0; i < n; i++) {
        assert_true(a[i] >= last && a[i] <= threads); /* one run of points for each thread */
        last = a[i];
        assert_int_equal(b[i], i >= 3 && i % 2);
        assert_int_equal(c[i], i + SHARED * n + SHARED * (SHARED - 1) / 2);
    }
    assert_int_equal(last, n < threads ? n : threads);
    for (ptrdiff_t k = 0; k < 7; k++)
        assert_int_equal(counts[k], n / 7 + (k < n % 7));
}

static void test_all_kinds_of_loops(void **state)
{
    (void)state;
    static char text[1 << 14];
    char *clang = tessi_process_find("clang"), out[] = "/tmp/tessera-threads-XXXXXX";
    const int fd = mkstemp(out);
    if (!clang || fd < 0)
        skip();
    close(fd);
    write_program(text, sizeof text);
    const CcTool tool = { .path = clang, .own_threads = true };
    const CcJob job = { .tool = &tool, .c_text = text, .kind = CC_SHARED, .out = out };
    Failure f = { 0 };
    RtModule m;
    if (!tessi_cc_compile(&job, &f))
        fail_msg("%s", f.text);
    assert_true(tessi_module_open(out, &m, &f));
    RtFunction found = tessi_module_function(&m, "loops", &f);
    Loops loops;
    memcpy(&loops, &found, sizeof loops);
    static const int threads[] = { 1, 2, 5, 16 };
    static const ptrdiff_t sizes[] = { 0, 1, 4, 15, N };
    for (int t = 0; t < 4; t++)
        for (int s = 0; s < 5; s++)
            check(loops, threads[t], sizes[s]);
    for (int again = 0; again < 200; again++)
        check(loops, 3, 64);
    tessi_module_close(&m);
    remove(out);
    free(clang);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_all_kinds_of_loops) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
