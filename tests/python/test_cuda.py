"""Arrays in the memory of a CUDA device: used where they are, on the stream that is asked for. Skipped where there is
no device; those of PyTorch, CuPy and JAX where the library is not installed, or not for the device (`pip install torch
cupy-cuda12x "jax[cuda12]"`). Kernels need NVRTC: of the toolkit, or `pip install nvidia-cuda-nvrtc`."""
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


# ---- Other libraries' arrays: skipped where they are not installed, or see no device
# --------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def torch():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("PyTorch sees no CUDA device")
    return torch


@pytest.fixture(scope="module")
def cupy():
    cupy = pytest.importorskip("cupy")
    try:
        cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError:
        pytest.skip("CuPy sees no CUDA device")
    return cupy


@pytest.fixture(scope="module")
def on_device():
    return tessera.compile(SCALE, target="cuda")


def test_torch_tensors_stay_on_their_device(torch, on_device, rng):
    a = rng.random((200, 300), np.float32)
    want = tessera.compile(SCALE)(a, s=0.5)
    x = torch.from_numpy(a).cuda()
    y = on_device(x, s=0.5)
    assert isinstance(y, torch.Tensor) and y.device == x.device and y.dtype == torch.float32
    assert (y.cpu().numpy() == want).all() and on_device.time.copy_ms == 0
    out = torch.zeros_like(x)
    assert on_device(x, s=0.5, out=out) is out and torch.equal(out, y)
    wide = torch.zeros((200, 400), device="cuda")
    on_device(x, s=0.5, out=wide[:, 50:350])
    assert torch.equal(wide[:, 50:350], y) and not wide[:, :50].any() and not wide[:, 350:].any()
    assert torch.equal(on_device(x.clone().requires_grad_(), s=0.5), y)
    assert torch.equal(on_device(x[::2], s=0.5).cpu(), torch.from_numpy(tessera.compile(SCALE)(a[::2], s=0.5)))


@tessera.stencil(border="mirror")
def softened(X):
    return (X[-1, 0] + X + X[1, 0]) / 3


def test_stencils_of_device_tensors_run_there(torch, rng):
    a = rng.random((60, 70), np.float32)
    y = softened(softened(torch.from_numpy(a).cuda())).compute()
    assert y.is_cuda and (y.cpu().numpy() == np.asarray(softened(softened(a)))).all()


def test_torch_streams_are_respected(torch, on_device, rng):
    """The image is filled late, on the stream: who ran on another would read zeros."""
    a = torch.from_numpy(rng.random((500, 700), np.float32))
    want = on_device(a.cuda()).cpu()
    for give in (lambda s: {}, lambda s: {"stream": s}, lambda s: {"stream": s.cuda_stream}):
        stream = torch.cuda.Stream()
        x = torch.zeros((500, 700), device="cuda")
        values = a.cuda()
        torch.cuda.synchronize()
        named = give(stream)
        with torch.cuda.stream(stream):
            torch.cuda._sleep(200_000_000)
            x.copy_(values)
            y = None if named else on_device(x)
        if named:
            y = on_device(x, **named)
        stream.synchronize()
        assert torch.equal(y.cpu(), want)


def test_torch_in_threads_on_streams_of_their_own(torch, on_device, rng):
    import threading
    images = [torch.from_numpy(rng.random((90, 110), np.float32)).cuda() for _ in range(4)]
    wants = [on_device(x).cpu() for x in images]
    wrong = []

    def work(k):
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for _ in range(50):
                y = on_device(images[k])
                stream.synchronize()
                if not torch.equal(y.cpu(), wants[k]):
                    wrong.append(k)

    torch.cuda.synchronize()
    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not wrong


def test_torch_tensors_that_do_not_fit(torch, on_device):
    x = torch.ones((8, 9), device="cuda")
    before = torch.zeros((9, 8), device="cuda")
    for image, named in (
        (x.double(), {}), (x.T, {}), (x[:, ::2], {}), (x, {"out": before}), (x, {"out": x}),
        (x.to(torch.complex64), {}), (x.to(torch.bfloat16), {}),
    ):
        with pytest.raises(tessera.Error) as caught:
            on_device(image, **named)
        assert "\n" not in str(caught.value)
    assert not before.any() and (x == 1).all()
    with pytest.raises(tessera.DeviceError):
        tessera.compile(SCALE)(x)


def test_cupy_arrays(cupy, on_device, rng):
    a = rng.random((200, 300), np.float32)
    want = tessera.compile(SCALE)(a, s=0.5)
    x = cupy.asarray(a)
    y = on_device(x, s=0.5)
    assert isinstance(y, cupy.ndarray) and (cupy.asnumpy(y) == want).all() and on_device.time.copy_ms == 0
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        z = on_device(x, s=0.5)
    stream.synchronize()
    assert (cupy.asnumpy(z) == want).all()
    out = cupy.zeros_like(x)
    assert on_device(x, s=0.5, out=out, stream=stream) is out
    stream.synchronize()
    assert (cupy.asnumpy(out) == want).all()
    with pytest.raises(tessera.Error):
        on_device(x.T)


def test_jax_arrays(rng):
    jax = pytest.importorskip("jax")
    a = rng.random((20, 30), np.float32)
    x, p = jax.device_put(a, jax.devices("cpu")[0]), tessera.compile(SCALE)
    y = p(x)
    assert isinstance(y, jax.Array) and (np.asarray(y) == p(a)).all()
    with pytest.raises(tessera.ArgumentError, match="read-only"):
        p(a, out=x)
    assert (np.asarray(x) == a).all()


def test_jax_arrays_on_a_device(on_device, rng):
    jax = pytest.importorskip("jax")
    if jax.default_backend() != "gpu":
        pytest.skip("JAX sees no CUDA device")
    a = rng.random((200, 300), np.float32)
    x = jax.numpy.asarray(a)
    y = on_device(x)
    assert isinstance(y, jax.Array) and y.devices() == x.devices()
    assert (np.asarray(y) == tessera.compile(SCALE)(a)).all()


FUNCTIONS = [
    lambda m, a: m.ndimage.gaussian_filter(a, 2), lambda m, a: m.ndimage.median_filter(a, 3),
    lambda m, a: m.ndimage.gaussian_gradient_magnitude(a, 1, mode="constant", cval=0.3),
    lambda m, a: m.ndimage.grey_opening(a, (5, 3)), lambda m, a: m.ndimage.white_tophat(a, 3),
    lambda m, a: m.ndimage.zoom(a, 0.7, order=1), lambda m, a: m.ndimage.zoom(a, (1.2, 0.9), mode="nearest"),
    lambda m, a: m.ndimage.rotate(a, 30), lambda m, a: m.ndimage.sobel(a, output=np.float64),
    lambda m, a: m.ndimage.binary_erosion(a, iterations=0), lambda m, a: m.skimage.sobel(a),
    lambda m, a: m.skimage.unsharp_mask(a, 2), lambda m, a: m.skimage.threshold_otsu(a),
    lambda m, a: m.skimage.denoise_bilateral(a), lambda m, a: m.skimage.richardson_lucy(a, np.ones((3, 3)) / 9, 3),
]


def check_functions(send, host, is_there, rng):
    """All of them give what they give of NumPy's arrays, and leave it on the device."""
    import tessera.ndimage, tessera.skimage  # noqa: E401,F401
    real = rng.random((70, 90), np.float32)
    for call in FUNCTIONS:
        for a in (real, (real * 255).astype(np.uint8)):
            want, found = call(tessera, a), call(tessera, send(a))
            if np.ndim(want) == 0:
                assert float(found) == pytest.approx(float(want), rel=1e-5)
                continue
            assert is_there(found) and host(found).dtype == want.dtype
            np.testing.assert_allclose(host(found).astype(float), want.astype(float), rtol=1e-5,
                                       atol=1e-6 if want.dtype.kind == "f" else 1)


def test_functions_of_torch_tensors(torch, rng):
    check_functions(lambda a: torch.from_numpy(a).cuda(), lambda t: t.cpu().numpy(), lambda t: t.is_cuda, rng)


def test_functions_of_cupy_arrays(cupy, rng):
    check_functions(cupy.asarray, cupy.asnumpy, lambda t: isinstance(t, cupy.ndarray), rng)


def test_functions_of_jax_arrays(on_device, rng):
    jax = pytest.importorskip("jax")
    if jax.default_backend() != "gpu":
        pytest.skip("JAX sees no CUDA device")
    jax.config.update("jax_enable_x64", True)
    check_functions(jax.numpy.asarray, np.asarray, lambda t: next(iter(t.devices())).platform == "gpu", rng)


def test_results_in_jax_are_not_copied(on_device, rng):
    jax = pytest.importorskip("jax")
    if jax.default_backend() != "gpu":
        pytest.skip("JAX sees no CUDA device")
    a = rng.random((2000, 3000), np.float32)
    x = jax.numpy.asarray(a)
    for _ in range(5):
        y = on_device(x, s=0.5)
        assert on_device.time.copy_ms == 0
        assert float(jax.numpy.sum(y != jax.numpy.asarray(tessera.compile(SCALE)(a, s=0.5)))) == 0


def test_the_compiler_of_kernels_comes_from_pip(tmp_path):
    """`pip install tessera[cuda]` lays it in a folder of site-packages, where no loader looks; what the package opens
    is found by its name afterwards. Here an empty library stands for it."""
    import shutil
    import subprocess
    import sys
    compiler = shutil.which("cc")
    if not compiler:
        pytest.skip("there is no C compiler")
    folder = tmp_path / "nvidia/cu13/lib"
    folder.mkdir(parents=True)
    (tmp_path / "empty.c").write_text("int tess_stand_in = 13;\n")
    made = [compiler, "-shared", "-fPIC", "-Wl,-soname,libnvrtc.so.13", "-o", folder / "libnvrtc.so.13"]
    subprocess.run([*made, tmp_path / "empty.c"], check=True)
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import tessera, ctypes\n"
        f"tessera.compile({SCALE!r}, target='cuda')\n"
        "assert ctypes.c_int.in_dll(ctypes.CDLL('libnvrtc.so.13'), 'tess_stand_in').value == 13"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
