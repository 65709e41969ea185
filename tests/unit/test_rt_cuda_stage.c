/* rt/cuda_stage: large copies between the device and ordinary memory, on a driver that is a table of ours. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "rt/cuda.h"

static CUresult quiet_init(unsigned flags)
{
    (void)flags;
    return CUDA_OK;
}
static CUresult quiet_count(int *n)
{
    *n = 1;
    return CUDA_OK;
}
static CUresult quiet_get(CUdevice *d, int number)
{
    *d = number;
    return CUDA_OK;
}
static CUresult quiet_name(char *name, int room, CUdevice d)
{
    (void)room;
    (void)d;
    name[0] = 0;
    return CUDA_OK;
}
static CUresult quiet_number(int *value)
{
    *value = 0;
    return CUDA_OK;
}
static CUresult quiet_memory(size_t *bytes, CUdevice d)
{
    (void)d;
    *bytes = (size_t)1 << 30;
    return CUDA_OK;
}
static CUresult quiet_attribute(int *value, int attribute, CUdevice d)
{
    (void)attribute;
    (void)d;
    *value = 1;
    return CUDA_OK;
}
static CUresult quiet_retain(CUcontext *c, CUdevice d)
{
    (void)d;
    static int context;
    *c = &context;
    return CUDA_OK;
}
static CUresult quiet_release(CUdevice d)
{
    (void)d;
    return CUDA_OK;
}
static CUresult quiet_push(CUcontext c)
{
    (void)c;
    return CUDA_OK;
}
static CUresult quiet_pop(CUcontext *c)
{
    *c = NULL;
    return CUDA_OK;
}
static atomic_int n_staged;
static CUresult quiet_in(CUdeviceptr to, const void *from, size_t n, CUstream s)
{
    (void)s;
    n_staged++;
    memcpy((void *)(uintptr_t)to, from, n);
    return CUDA_OK;
}
static CUresult quiet_out(void *to, CUdeviceptr from, size_t n, CUstream s)
{
    (void)s;
    n_staged++;
    memcpy(to, (const void *)(uintptr_t)from, n);
    return CUDA_OK;
}
static CUresult quiet_2d(const CudaCopy2D *c, CUstream s)
{
    const char *from = c->from_type == 1 ? c->from_host : (const void *)(uintptr_t)c->from_device;
    char *to = c->to_type == 1 ? c->to_host : (void *)(uintptr_t)c->to_device;
    (void)s;
    n_staged++;
    for (size_t y = 0; y < c->height; y++)
        memcpy(to + y * c->to_pitch, from + y * c->from_pitch, c->width);
    return CUDA_OK;
}
static CUresult quiet_event(CUevent *e, unsigned flags)
{
    (void)flags;
    *e = malloc(1);
    return CUDA_OK;
}
static CUresult quiet_free(CUevent e)
{
    free(e);
    return CUDA_OK;
}
static CUresult quiet_wait(CUevent e)
{
    (void)e;
    return CUDA_OK;
}
static CUresult quiet_record(CUevent e, CUstream s)
{
    (void)e;
    (void)s;
    return CUDA_OK;
}
static CUresult pageable(void *value, int attribute, CUdeviceptr p)
{
    (void)value;
    (void)p;
    assert_int_equal(attribute, 2);
    return CUDA_INVALID_DEVICE;
}

static CUresult quiet_stream(CUstream *s, unsigned flags)
{
    return quiet_event(s, flags);
}
static CUresult quiet_await(CUstream s, CUevent e, unsigned flags)
{
    (void)s;
    (void)e;
    (void)flags;
    return CUDA_OK;
}
static atomic_int n_pinned;
static int most_pinned = 1000;
static CUresult pin(void **memory, size_t bytes, unsigned flags)
{
    (void)flags;
    if (n_pinned >= most_pinned)
        return CUDA_OUT_OF_MEMORY;
    n_pinned++;
    *memory = malloc(bytes);
    return CUDA_OK;
}
static CUresult unpin(void *memory)
{
    n_pinned--;
    free(memory);
    return CUDA_OK;
}

static const CudaDriver driver = { .init = quiet_init,
                                   .device_count = quiet_count,
                                   .device_get = quiet_get,
                                   .device_name = quiet_name,
                                   .driver_version = quiet_number,
                                   .device_memory = quiet_memory,
                                   .device_attribute = quiet_attribute,
                                   .context_retain = quiet_retain,
                                   .context_release = quiet_release,
                                   .context_push = quiet_push,
                                   .context_pop = quiet_pop,
                                   .copy_to_device = quiet_in,
                                   .copy_to_host = quiet_out,
                                   .copy_2d = quiet_2d,
                                   .event_create = quiet_event,
                                   .event_destroy = quiet_free,
                                   .event_synchronise = quiet_wait,
                                   .event_record = quiet_record,
                                   .stream_create = quiet_stream,
                                   .stream_destroy = quiet_free,
                                   .stream_synchronise = quiet_wait,
                                   .stream_wait = quiet_await,
                                   .pointer_attribute = pageable,
                                   .host_alloc = pin,
                                   .host_free = unpin };

/* Rows of so many bytes there and back, through memory with gaps of `gap` bytes between its rows. */
static void copy_there_and_back(Device *d, size_t row, size_t rows, size_t gap)
{
    const size_t n = row * rows;
    uint8_t *from = malloc(n), *there = calloc(row + gap, rows), *back = calloc(n, 1);
    assert_true(from && there && back);
    for (size_t i = 0; i < n; i++)
        from[i] = (uint8_t)(i * 2654435761u >> 13);
    DeviceCopy c = { .way = DEVICE_TO_DEVICE,
                     .to = there,
                     .from = from,
                     .row_bytes = row,
                     .rows = rows,
                     .to_stride = row + gap,
                     .from_stride = row };
    Failure f = { 0 };
    assert_true(tessi_device_copy(d, &c, NULL, &f));
    for (size_t y = 0; y < rows; y++)
        assert_memory_equal(there + y * (row + gap), from + y * row, row);
    c = (DeviceCopy){ .way = DEVICE_TO_HOST,
                      .to = back,
                      .from = there,
                      .row_bytes = row,
                      .rows = rows,
                      .to_stride = row,
                      .from_stride = row + gap };
    assert_true(tessi_device_copy(d, &c, NULL, &f));
    assert_memory_equal(back, from, n);
    free(from);
    free(there);
    free(back);
}

static Device *open_device(void)
{
    Device *d;
    Failure f = { 0 };
    assert_true(tessi_cuda_open_with(&driver, NULL, 0, NULL, NULL, &d, &f));
    return d;
}

static void test_large_copies(void **state)
{
    (void)state;
    Device *d = open_device();
    n_staged = 0;
    copy_there_and_back(d, 9 << 20, 1, 0);
    assert_int_equal(n_staged, 2); /* for one such copy nothing is made */
    n_staged = 0;
    copy_there_and_back(d, (11 << 20) + 123, 1, 0);
    assert_int_equal(n_staged, 2 * (6 + 1)); /* chunks of 2 MiB, and what is left behind pages */
    copy_there_and_back(d, 5000, 2500, 0);
    n_staged = 0;
    copy_there_and_back(d, 5000, 2500, 120);
    assert_int_equal(n_staged, 2 * 6);
    n_staged = 0;
    copy_there_and_back(d, 5000, 10, 120);
    assert_int_equal(n_staged, 2);
    tessi_device_close(d);
    assert_int_equal(n_pinned, 0);
}

/* With room for three buffers there is one lane of two; with none the driver copies. */
static void test_short_of_memory(void **state)
{
    (void)state;
    for (most_pinned = 0; most_pinned <= 3; most_pinned += 3) {
        Device *d = open_device();
        copy_there_and_back(d, 9 << 20, 1, 0);
        n_staged = 0;
        copy_there_and_back(d, 9 << 20, 1, 0);
        assert_int_equal(n_staged, most_pinned ? 5 + 1 : 2); /* back there is no room left */
        tessi_device_close(d);
        assert_int_equal(n_pinned, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_large_copies),
        cmocka_unit_test(test_short_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
