/* What CUDA's driver says of a device that another driver opened. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "rt/cuda.h"

static CUresult answer; /* of the calls that find devices */

static CUresult init(unsigned flags)
{
    (void)flags;
    return answer;
}

static CUresult count(int *n)
{
    *n = 3;
    return answer;
}

static CUresult get(CUdevice *d, int number)
{
    *d = number;
    return number == 0 ? 1 : CUDA_OK; /* one that cannot be used */
}

static CUresult name_of(char *name, int room, CUdevice d)
{
    snprintf(name, (size_t)room, "Fake %d", d);
    return CUDA_OK;
}

static CUresult attribute(int *value, int number, CUdevice d)
{
    *value = 1000 * d + number;
    return CUDA_OK;
}

static const CudaDriver driver = { .init = init,
                                   .device_count = count,
                                   .device_get = get,
                                   .device_name = name_of,
                                   .device_attribute = attribute };

static void units_are_those_of_the_same_name(void **state)
{
    (void)state;
    DeviceInfo info = { .name = "Fake 2", .shared_bytes = 49152, .unit_shared_bytes = 49152 };
    answer = CUDA_OK;
    assert_true(tessi_cuda_fill_units(&driver, &info));
    assert_int_equal(info.shared_bytes, 49152); /* of a block: the driver that launches knows */
    assert_int_equal(info.unit_shared_bytes, 2081);
    assert_int_equal(info.unit_threads, 2039);
    assert_int_equal(info.unit_registers, 2082);
    assert_int_equal(info.cache_bytes, 2038);
    assert_true(info.pair_choices);
    assert_true(info.products_per_cycle > 0);
    assert_true(info.memory_gbs > 0);
}

static void others_stay(void **state)
{
    (void)state;
    static const char *const names[] = { "Fake 0", "Fake 3", "" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        DeviceInfo info = { .unit_shared_bytes = 7 };
        snprintf(info.name, sizeof info.name, "%s", names[i]);
        answer = CUDA_OK;
        assert_false(tessi_cuda_fill_units(&driver, &info));
        assert_int_equal(info.unit_shared_bytes, 7);
    }
    DeviceInfo info = { .name = "Fake 2" };
    answer = CUDA_NO_DEVICE;
    assert_false(tessi_cuda_fill_units(&driver, &info));
    assert_int_equal(info.unit_threads, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units_are_those_of_the_same_name),
        cmocka_unit_test(others_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
