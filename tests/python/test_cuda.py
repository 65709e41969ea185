"""Arrays in the memory of a CUDA device: used where they are, on the stream that is asked for. Skipped where there is
no device."""
import ctypes

import numpy as np
import pytest

import tessera
from conftest import SCALE


class OnDevice:
    """An array in device memory, by the driver alone, that says so by `__cuda_array_interface__`."""

    def __init__(self, cuda, array):
        self.cuda, self.shape, self.dtype = cuda, array.shape, array.dtype
        self.pointer = ctypes.c_uint64()
        assert cuda.cuMemAlloc_v2(ctypes.byref(self.pointer), ctypes.c_size_t(array.nbytes)) == 0
        assert (
            cuda.cuMemcpyHtoD_v2(self.pointer, array.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(array.nbytes))
            == 0
        )

    @property
    def __cuda_array_interface__(self):
        return {"shape": self.shape, "typestr": self.dtype.str, "data": (self.pointer.value, False), "version": 3}

    def host(self):
        made = np.empty(self.shape, self.dtype)
        assert self.cuda.cuCtxSynchronize() == 0
        assert (
            self.cuda.cuMemcpyDtoH_v2(made.ctypes.data_as(ctypes.c_void_p), self.pointer, ctypes.c_size_t(made.nbytes))
            == 0
        )
        return made


@pytest.fixture(scope="module")
def cuda():
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        pytest.skip("there is no CUDA driver")
    device, context = ctypes.c_int(), ctypes.c_void_p()
    if (
        driver.cuInit(0)
        or driver.cuDeviceGet(ctypes.byref(device), 0)
        or driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
    ):
        pytest.skip("there is no CUDA device")
    assert driver.cuCtxSetCurrent(context) == 0
    return driver


def test_device_arrays_are_used_where_they_are(cuda, rng):
    a = rng.random((200, 300), np.float32)
    p, want = tessera.compile(SCALE, target="cuda"), tessera.compile(SCALE)(a, s=0.5)
    assert (p(a, s=0.5) == want).all() and p.time.target == "cuda"  # by copies
    x, y = OnDevice(cuda, a), OnDevice(cuda, np.zeros_like(a))
    assert p(x, s=0.5, out=y) is y and (y.host() == want).all() and p.time.copy_ms == 0
    stream = ctypes.c_void_p()
    assert cuda.cuStreamCreate(ctypes.byref(stream), 1) == 0
    z = OnDevice(cuda, np.zeros_like(a))
    p(x, s=0.5, out=z, stream=stream.value)
    assert cuda.cuStreamSynchronize(stream) == 0 and (z.host() == want).all()
    with pytest.raises(tessera.DeviceError):
        tessera.compile(SCALE)(x)
