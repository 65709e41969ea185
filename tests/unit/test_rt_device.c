/* rt/device on whatever OpenCL device is here (PoCL's is the processor itself): memory, copies with strides,
 * kernels, the cache. Skips without one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>

#include "rt/device.h"
#include "rt/file.h"
#include "tessera.h"

static Device *d;
static Failure f;

#define OK(call)                    \
    do {                            \
        if (!(call))                \
            fail_msg("%s", f.text); \
    } while (0)

static int open_device(void **state)
{
    (void)state;
    if (!tessi_device_open(DEVICE_OPENCL, 0, NULL, NULL, &d, &f))
        printf("skipped: %s\n", f.text);
    return 0;
}

static int close_device(void **state)
{
    (void)state;
    tessi_device_close(d);
    return 0;
}

static void need_device(void)
{
    if (!d)
        skip();
}

static void test_info(void **state)
{
    (void)state;
    need_device();
    const DeviceInfo *info = tessi_device_info(d);
    assert_int_equal(info->kind, DEVICE_OPENCL);
    assert_true(info->name[0] && info->driver[0] && info->arch[0]);
    assert_true(info->compute_units > 0 && info->memory_bytes > 0 && info->block_threads > 0);
}

static void test_missing_devices(void **state)
{
    (void)state;
    need_device();
    Device *none = NULL;
    assert_false(tessi_device_open(DEVICE_OPENCL, 1000, NULL, NULL, &none, &f));
    assert_int_equal(f.status, TESS_ERROR_DEVICE);
    assert_null(none);
    assert_non_null(strstr(f.text, "there is no OpenCL device 1000"));
}

/* Three rows of five bytes from rows of eight into rows of seven and back into rows of six. */
static void test_copies(void **state)
{
    (void)state;
    need_device();
    uint8_t in[24], out[24];
    for (int i = 0; i < 24; i++)
        in[i] = (uint8_t)i;
    memset(out, 0xee, sizeof out);
    DeviceBuffer a, b;
    OK(tessi_device_alloc(d, 32, &a, &f));
    OK(tessi_device_alloc(d, 40, &b, &f));
    OK(tessi_device_copy(d, &(DeviceCopy){ DEVICE_TO_DEVICE, a.handle, in, 3, 1, 7, 8, 5, 3 }, NULL,
                         &f));
    OK(tessi_device_copy(d, &(DeviceCopy){ DEVICE_WITHIN, b.handle, a.handle, 2, 3, 9, 7, 5, 3 },
                         NULL, &f));
    OK(tessi_device_copy(d, &(DeviceCopy){ DEVICE_TO_HOST, out, b.handle, 4, 2, 6, 9, 5, 3 }, NULL,
                         &f));
    OK(tessi_device_synchronise(d, NULL, &f));
    for (int y = 0; y < 3; y++)
        assert_memory_equal(out + 4 + 6 * y, in + 1 + 8 * y, 5);
    assert_int_equal(out[3], 0xee);
    assert_int_equal(out[9], 0xee);
    tessi_device_free(d, &a);
    tessi_device_free(d, &b);
    assert_null(a.handle);
}

static const char scale_text[] = "kernel void scale(global float *x, float by, int n)\n"
                                 "{ int i = get_global_id(0); if (i < n) x[i] *= by; }\n";

static void run_scale(DeviceKernel *k, DeviceStream stream, float by, int times)
{
    enum { N = 1000 };
    float x[N];
    int32_t n = N;
    for (int i = 0; i < N; i++)
        x[i] = (float)i;
    DeviceBuffer b;
    Failure mine = { 0 };
    bool ok = tessi_device_alloc(d, sizeof x, &b, &mine);
    DeviceArg args[] = { { &b.handle, sizeof b.handle }, { &by, sizeof by }, { &n, sizeof n } };
    DeviceLaunch launch = {
        .kernel = k, .grid = { 16, 1, 1 }, .block = { 64, 1, 1 }, .args = args, .n_args = 3
    };
    DeviceCopy up = { DEVICE_TO_DEVICE, b.handle, x, 0, 0, 0, 0, sizeof x, 1 };
    DeviceCopy down = { DEVICE_TO_HOST, x, b.handle, 0, 0, 0, 0, sizeof x, 1 };
    ok = ok && tessi_device_can_launch(d, &launch, "scale", &mine)
         && tessi_device_copy(d, &up, stream, &mine);
    for (int i = 0; ok && i < times; i++)
        ok = tessi_device_launch(d, &launch, stream, &mine);
    ok = ok && tessi_device_copy(d, &down, stream, &mine)
         && tessi_device_synchronise(d, stream, &mine);
    if (!ok)
        fprintf(stderr, "%s\n", mine.text);
    float factor = 1;
    for (int i = 0; i < times; i++)
        factor *= by;
    for (int i = 0; i < N; i++)
        ok = ok && x[i] == (float)i * factor;
    assert_true(ok);
    tessi_device_free(d, &b);
}

typedef struct Job {
    DeviceKernel *kernel;
    float by;
} Job;

static int run_job(void *user)
{
    Job *job = user;
    DeviceStream stream = NULL;
    Failure mine;
    if (!tessi_device_stream_new(d, &stream, &mine))
        return 1;
    for (int i = 0; i < 20; i++)
        run_scale(job->kernel, stream, job->by, 3);
    tessi_device_stream_free(d, stream);
    return 0;
}

static void test_kernel_cache_and_threads(void **state)
{
    (void)state;
    need_device();
    char *dir;
    OK(tessi_temp_dir(NULL, &dir, &f));
    RtCache cache;
    tessi_cache_open(&cache, dir);
    for (int round = 0; round < 2; round++) {
        DeviceBuild build = { .text = scale_text, .cache = &cache };
        DeviceModule *m;
        DeviceKernel *k;
        OK(tessi_device_build(d, &build, &m, &f));
        assert_int_equal(build.cached, round);
        OK(tessi_device_kernel(d, m, "scale", &k, &f));
        assert_true(tessi_device_kernel_info(k)->max_threads >= 64);
        run_scale(k, NULL, 2, 1);
        Job jobs[3] = { { k, 2 }, { k, 3 }, { k, 0.5f } };
        thrd_t threads[3];
        for (int i = 0; i < 3; i++)
            assert_int_equal(thrd_create(&threads[i], run_job, &jobs[i]), thrd_success);
        for (int i = 0; i < 3; i++) {
            int result;
            thrd_join(threads[i], &result);
            assert_int_equal(result, 0);
        }
        tessi_device_kernel_free(d, k);
        tessi_device_module_free(d, m);
    }
    tessi_cache_dispose(&cache);
    tessi_temp_dir_remove(NULL, dir);
    free(dir);
}

static void test_wrong_text(void **state)
{
    (void)state;
    need_device();
    DeviceBuild build = { .text = "kernel void k(global int *x) { x[0] = y; }" };
    DeviceModule *m;
    assert_false(tessi_device_build(d, &build, &m, &f));
    assert_int_equal(f.status, TESS_ERROR_COMPILER);
    assert_non_null(build.log);
    free(build.log);
}

static void test_parts_and_adoption(void **state)
{
    (void)state;
    need_device();
    DeviceBuffer whole, part;
    const size_t align = tessi_device_info(d)->align_bytes;
    OK(tessi_device_alloc(d, 4 * align, &whole, &f));
    OK(tessi_device_part(d, whole.handle, align, align, &part, &f));
    OK(tessi_device_fill(d, part.handle, 0, align, 7, NULL, &f));
    uint8_t *bytes = malloc(4 * align);
    OK(tessi_device_copy(
        d, &(DeviceCopy){ DEVICE_TO_HOST, bytes, whole.handle, 0, 0, 0, 0, 4 * align, 1 }, NULL,
        &f));
    OK(tessi_device_synchronise(d, NULL, &f));
    assert_int_equal(bytes[align], 7);
    assert_int_equal(bytes[2 * align - 1], 7);
    free(bytes);
    tessi_device_part_free(d, &part);
    if (align > 1)
        assert_false(tessi_device_part(d, whole.handle, 1, 1, &part, &f));

    Device *same = NULL;
    OK(tessi_device_open(DEVICE_OPENCL, 0, NULL, whole.handle, &same, &f));
    assert_true(tessi_device_owns(same, NULL, whole.handle));
    Device *other = NULL;
    OK(tessi_device_open(DEVICE_OPENCL, 0, NULL, NULL, &other, &f));
    assert_false(tessi_device_owns(other, NULL, whole.handle));
    tessi_device_close(other);
    tessi_device_close(same);
    tessi_device_free(d, &whole);
}

static void test_time(void **state)
{
    (void)state;
    need_device();
    DeviceEvent from = NULL, to = NULL;
    double ms = -1;
    OK(tessi_device_record(d, NULL, &from, &f));
    OK(tessi_device_record(d, NULL, &to, &f));
    OK(tessi_device_record(d, NULL, &to, &f)); /* again into the same */
    OK(tessi_device_await(d, NULL, from, &f));
    OK(tessi_device_flush(d, NULL, &f));
    OK(tessi_device_elapsed(d, from, to, &ms, &f));
    assert_true(ms >= 0 && ms < 60000);
    tessi_device_event_free(d, from);
    tessi_device_event_free(d, to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_info),       cmocka_unit_test(test_missing_devices),
        cmocka_unit_test(test_copies),     cmocka_unit_test(test_kernel_cache_and_threads),
        cmocka_unit_test(test_wrong_text), cmocka_unit_test(test_parts_and_adoption),
        cmocka_unit_test(test_time),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
