"""Functions of images on a device, where there is none: arrays that lie in the host's memory but say that they are on
CUDA device 0, that no function of NumPy's reads, and programs for that device which the strip machine runs. What
device and driver do with them is tested in test_cuda.py."""
import inspect

import numpy as np
import pytest

import tessera
import tessera.ndimage as ours
import tessera.skimage
from tessera import _arrays, _program, _stencil


class Card:
    """An array that only DLPack reads."""

    def __init__(self, host, writable=False):
        self.host, self.writable = host, writable

    dtype = property(lambda self: self.host.dtype)
    shape = property(lambda self: self.host.shape)

    def __array__(self, *args, **named):
        raise TypeError("an array of a device is not copied in silence")

    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self, stream=None, **options):
        assert stream is not None
        return self.host.__dlpack__()

    def reshape(self, shape):
        return Card(self.host.reshape(shape))

    def __getitem__(self, key):
        return Card(self.host[key])


class CardKind(_arrays.Kind):
    device = 0

    def __init__(self, like):
        pass

    def allocate(self, shape, element):
        return Card(np.full(shape, 77, element))

    def send(self, array):
        return Card(array.copy())

    def view(self, array, element):
        return Card(array.host.view(element))

    def contiguous(self, array):
        return array if array.host.flags.c_contiguous else Card(np.ascontiguousarray(array.host))

    def assign(self, target, values):
        assert target.writable  # as arrays of JAX are not
        target.host[...] = values.host

    def to_host(self, array):
        return array.host.copy()


@pytest.fixture(autouse=True)
def no_device(monkeypatch):
    compile_for_all = _program.compile

    def compile_here(text, target="auto", **options):
        return compile_for_all(text, target="vm" if target == "cuda" else target, **options)

    monkeypatch.setattr(_program, "compile", compile_here)
    monkeypatch.setitem(_arrays._MAKERS, (__name__, "Card"), CardKind)
    monkeypatch.setattr(_stencil, "_programs", type(_stencil._programs)())


DISC = np.hypot(*np.indices((5, 5)) - 2) <= 2.2
HILL = 3 - np.hypot(*np.indices((3, 3)) - 1)
TURN = np.array([[0.9, 0.2], [-0.1, 0.8]])
# Arguments behind the image, of each function.
CALLS = {
    "gaussian_filter": [(1.3,), (2, 1)], "gaussian_filter1d": [(1.5,)], "uniform_filter": [(4,)],
    "uniform_filter1d": [(3, 0)], "median_filter": [(3,)], "rank_filter": [(2, 3)], "percentile_filter": [(30, 3)],
    "minimum_filter": [(3,)], "maximum_filter": [(None, DISC)], "minimum_filter1d": [(4,)], "maximum_filter1d": [(4,)],
    "grey_erosion": [(3,), (None, None, HILL)], "grey_dilation": [(3,)], "grey_opening": [(3,), (None, None, HILL)],
    "grey_closing": [(3,)], "white_tophat": [(3,)], "black_tophat": [(3,)], "morphological_gradient": [(3,)],
    "morphological_laplace": [(3,)], "binary_erosion": [(), (None, 2)], "binary_dilation": [(), (None, 0)],
    "convolve": [(HILL,)], "correlate": [(HILL,)], "convolve1d": [([1, 2, 3],)], "correlate1d": [([1, 2],)],
    "sobel": [()], "prewitt": [()], "laplace": [()], "gaussian_laplace": [(1,)], "gaussian_gradient_magnitude": [(1,)],
    "generic_gradient_magnitude": [(lambda i, axis, output, *a: ours.sobel(i, axis, float, *a[:2]),)],
    "generic_laplace": [
        (lambda image, axis, output, mode, cval: ours.correlate1d(image, [1, -2, 1], axis, output, mode, cval),)
    ],
    "shift": [((1.5, -2),), ((0.5, 1), None, 1)], "zoom": [(0.7,), (1,), (1.6, None, 1)], "rotate": [(20,)],
    "affine_transform": [(TURN,), (TURN, 1.5, (9, 8), None, 1, "nearest"), (TURN, 0, None, None, 4, "grid-wrap")],
    "map_coordinates": [(np.indices((6, 5)) * 1.7 + 0.2, None, 1), (np.indices((6, 5)) * 1.3, None, 3, "reflect")],
    "generic_filter": [()], "generate_binary_structure": None,
}


@tessera.stencil
def spread(X):
    return X[0, 1] - X[-1, 0]


def images(rng):
    real = rng.random((13, 11))
    return [real, (real * 9).astype(np.float32), (real * 255).astype(np.uint8), (real * 900 - 300).astype(np.int16),
            real > 0.5]


def same(found, want, exact=True):
    assert isinstance(found, Card) and found.host.dtype == want.dtype and found.shape == want.shape
    if exact:
        np.testing.assert_array_equal(found.host, want)
    else:
        np.testing.assert_allclose(found.host.astype(float), want.astype(float), rtol=1e-11, atol=1.0 * (
            want.dtype.kind in "iu") + 1e-12)


@pytest.mark.parametrize("name", [n for n in ours.__all__ if CALLS.get(n, ()) is not None])
def test_functions_of_ndimage(name, rng):
    function, spline = getattr(ours, name), name in ("shift", "zoom", "rotate", "affine_transform", "map_coordinates")
    for image in images(rng)[:2 if spline else 5]:
        if image.dtype == bool and name in ("white_tophat", "morphological_gradient", "morphological_laplace"):
            continue  # NumPy does not subtract bools
        for arguments in CALLS[name]:
            arguments = (spread,) if name == "generic_filter" else arguments
            same(function(Card(image), *arguments), function(image, *arguments), not spline)


def test_types_and_memory_of_results(rng):
    a = rng.random((9, 10), np.float32)
    for output in (np.float64, "int32", None):
        same(ours.gaussian_filter(Card(a), 1, output=output), ours.gaussian_filter(a, 1, output=output))
    out = Card(np.zeros(a.shape), True)
    assert ours.gaussian_filter(Card(a), 1, output=out) is out
    np.testing.assert_array_equal(out.host, ours.gaussian_filter(a, 1, output=float))
    turned = Card(a.T)
    same(ours.sobel(turned), ours.sobel(np.ascontiguousarray(a.T)))
    over = Card(a.copy(), True)
    ours.gaussian_filter(over, 1, output=over)
    np.testing.assert_array_equal(over.host, ours.gaussian_filter(a, 1))
    big = (a * 1e6).astype(np.uint64)
    same(ours.grey_erosion(Card(big), 3), ours.grey_erosion(big, 3))
    deep = rng.random((2, 3, 2, 3, 2))
    same(ours.uniform_filter(Card(deep), 2), ours.uniform_filter(deep, 2))
    mask = a > 0.3
    same(ours.binary_erosion(Card(a > 0.2), mask=Card(mask)), ours.binary_erosion(a > 0.2, mask=mask))


@pytest.mark.parametrize("call, word", [
    (lambda a: ours.gaussian_filter(Card(a), 1, output=a.copy()), "the memory for the result is not"),
    (lambda a: ours.gaussian_filter(Card(a.astype(complex)), 1), "complex128"),
    (lambda a: ours.map_coordinates(a, Card(np.zeros((2, 3)))), "but the image does not"),
    (lambda a: ours.sobel(Card(a[:0])), "shape"), (lambda a: ours.sobel(Card(a.astype(np.float16))), "float16"),
    (lambda a: ours.grey_erosion(Card(np.full((3, 3), 1 << 63, np.uint64)), 3), "2^63"),
])
def test_what_does_not_fit(call, word, rng):
    with pytest.raises((tessera.Error, RuntimeError)) as caught:
        call(rng.random((5, 6)))
    assert word in str(caught.value) and "\n" not in str(caught.value)


def test_arrays_of_nobody_known(rng):
    class Other:
        __cuda_array_interface__ = {"shape": (4, 5), "typestr": "<f4", "data": (4096, False), "version": 3}
    with pytest.raises(tessera.ArgumentTypeError, match="PyTorch, CuPy and JAX"):
        ours.sobel(Other())


PHOTO = np.random.default_rng(3).random((14, 15))
POINT = np.ones((3, 3)) / 9
OF_SKIMAGE = {
    "gaussian": [(1.2,)], "difference_of_gaussians": [(1, 2)], "median": [()], "sobel": [()], "prewitt": [()],
    "scharr": [()], "farid": [()], "laplace": [()], "unsharp_mask": [(1.5, 0.8)], "threshold_otsu": [()],
    "dilation": [(DISC,)], "erosion": [(DISC,)], "opening": [(DISC,)], "closing": [(DISC,)], "white_tophat": [(DISC,)],
    "black_tophat": [(DISC,)], "denoise_bilateral": [()], "richardson_lucy": [(POINT, 3)],
}


@pytest.mark.parametrize("name", sorted(OF_SKIMAGE))
def test_functions_of_skimage(name):
    function = getattr(tessera.skimage, name)
    for image in (PHOTO, PHOTO.astype(np.float32), (PHOTO * 255).astype(np.uint8)):
        for arguments in OF_SKIMAGE[name]:
            want, found = function(image, *arguments), function(Card(image), *arguments)
            if np.ndim(want) == 0:
                assert float(found) == pytest.approx(float(want), rel=1e-6)
            else:
                same(found, want, False) if want.dtype != np.float32 else np.testing.assert_allclose(
                    found.host, want, rtol=2e-5, atol=2e-6)


def test_all_functions_are_tried():
    public = {n for n in ours.__all__ if inspect.isfunction(getattr(ours, n))}
    assert public == set(CALLS)
    assert set(OF_SKIMAGE) == {n.split(":")[1] for n in tessera.skimage._FUNCTIONS}


def test_functions_of_xarray(rng):
    """Arrays of the host too come back as the kind that went in."""
    xarray = pytest.importorskip("xarray")
    a = xarray.DataArray(rng.random((6, 7)), {"y": np.arange(6) * 2.5}, ("y", "x"), "height", {"unit": "m"})
    for made, want in ((ours.gaussian_filter(a, 1), ours.gaussian_filter(a.values, 1)),
                       (tessera.skimage.sobel(a), tessera.skimage.sobel(a.values))):
        assert isinstance(made, xarray.DataArray) and made.attrs == {"unit": "m"} and (made.y == a.y).all()
        assert (made.values == want).all()
