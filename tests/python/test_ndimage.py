"""tessera.ndimage beside scipy.ndimage: the same results to the last bit, the same types, and the same errors."""
import inspect
import pathlib
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies
from scipy import ndimage as scipy_ndimage

import tessera
import tessera.ndimage as ours
from tessera.ndimage import _engine

MODES = ["reflect", "mirror", "nearest", "wrap", "constant", "grid-wrap"]
TYPES = ["uint8", "int16", "float32", "float64", "bool"]
SHAPES = [(7,), (6, 9), (3, 5, 4)]


def image_of(rng, dtype, shape):
    if dtype == "bool":
        return rng.random(shape) > 0.5
    return (rng.random(shape) * 250 - (0 if dtype[0] == "u" else 100)).astype(dtype)


def same(name, *args, near=0, **named):
    """Both give the same, or raise the same kind of error."""
    try:
        want = getattr(scipy_ndimage, name)(*args, **named)
    except Exception as error:
        with pytest.raises(type(error)):
            getattr(ours, name)(*args, **named)
        return
    have = getattr(ours, name)(*args, **named)
    assert have.dtype == want.dtype and have.shape == want.shape, name
    if near:
        assert np.allclose(have, want, rtol=near, atol=near * 250), (name, named)
    else:
        assert np.array_equal(have, want, equal_nan=have.dtype.kind in "fc"), (name, named, have, want)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", TYPES)
def test_filters(rng, dtype, mode):
    for shape in SHAPES:
        x = image_of(rng, dtype, shape)
        n = x.ndim
        weights = rng.random((4,) * n) - 0.3
        same("gaussian_filter", x, 1.1, mode=mode, cval=3.7)
        same("gaussian_filter", x, 0.8, order=1, mode=mode)
        same("gaussian_filter1d", x, 1.5, axis=0, order=2, mode=mode, truncate=2)
        same("uniform_filter", x, 4, mode=mode, near=1e-6 if dtype[0] == "f" else 0)
        same("uniform_filter1d", x, 3, axis=0, mode=mode, origin=1, near=1e-6 if dtype[0] == "f" else 0)
        same("median_filter", x, 3, mode=mode, cval=2.5)
        same("rank_filter", x, 2, size=(3,) * n, mode=mode, cval=-1)
        same("rank_filter", x, -2, footprint=rng.random((3,) * n) > 0.2, mode=mode)
        same("percentile_filter", x, 70, size=4, mode=mode, origin=-1)
        same("minimum_filter", x, 4, mode=mode, origin=1, cval=-3.5)
        same("maximum_filter", x, footprint=rng.random((3,) * n) > 0.4, mode=mode, origin=1)
        same("minimum_filter1d", x, 3, axis=0, mode=mode)
        same("maximum_filter1d", x, 4, mode=mode, origin=-2)
        same("correlate", x, weights, mode=mode, origin=1, cval=2.2)
        same("convolve", x, weights, mode=mode, origin=-1)
        same("correlate1d", x, [0.1, 0.2, 0.7], axis=0, mode=mode, origin=-1)
        same("convolve1d", x, [1.5, -2, 0.25, 1], axis=0, mode=mode)
        same("sobel", x, mode=mode)
        same("prewitt", x, axis=0, mode=mode)
        same("laplace", x, mode=mode)
        same("gaussian_laplace", x, 1.0, mode=mode)
        same("gaussian_gradient_magnitude", x, 1.0, mode=mode)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", TYPES)
def test_morphology(rng, dtype, mode):
    for shape in SHAPES:
        x = image_of(rng, dtype, shape)
        n = x.ndim
        heights = rng.random((3,) * n) * 5
        same("grey_erosion", x, 3, mode=mode)
        same("grey_erosion", x, structure=heights, mode=mode, cval=1)
        same("grey_dilation", x, (4,) * n, mode=mode, cval=1)
        same("grey_dilation", x, structure=heights, mode=mode, origin=1)
        for name in (
            "grey_opening", "grey_closing", "white_tophat", "black_tophat", "morphological_gradient",
            "morphological_laplace",
        ):
            same(name, x, 3, mode=mode)
            same(name, x, footprint=rng.random((3,) * n) > 0.3, mode=mode, output=np.float64)


def test_binary(rng):
    for shape in SHAPES:
        b, mask = rng.random(shape) > 0.4, rng.random(shape) > 0.3
        for iterations in (1, 2, 0):
            for name in ("binary_erosion", "binary_dilation"):
                same(name, b, iterations=iterations)
                same(name, b, iterations=iterations, mask=mask)
                same(
                    name, b.astype(int) * 3, structure=np.ones((2,) * b.ndim), border_value=1,
                    iterations=abs(iterations), origin=-1,
                )


def test_axes_modes_outputs(rng):
    x = rng.random((4, 5, 6)).astype(np.float32)
    same("gaussian_filter", x, (1, 0.5), axes=(0, 2), mode=("wrap", "nearest"))
    same("median_filter", x, (3, 2), axes=(2, 0))
    same("correlate", x, np.ones((3, 2)), axes=(0, 2), origin=(1, 0))
    same("maximum_filter", x, 3, axes=1, mode="mirror")
    same("gaussian_filter", x, 1, output=np.float64)
    same("gaussian_filter", x * 300, 1, output=np.uint8)
    same("sobel", x, output="int16")
    same("gaussian_filter", rng.random((2, 3, 2, 3, 4)), 1.0)  # more dimensions than programs have
    same("gaussian_filter", x + 1j * x[::-1], 1.0, mode="constant", cval=1 + 2j)
    same("correlate1d", x, [1, 2j, 3])
    same("uniform_filter", (x * 1e19).astype(np.uint64), 3, near=1e-12)
    for view in (x[::-1], x[:, ::2, ::-1], x.T, x.astype(">f4")):
        same("gaussian_filter", view, 1)
    for empty in (np.zeros((0, 4)), np.zeros((3, 0, 2), np.uint8)):
        same("gaussian_filter", empty, 1)
        same("median_filter", empty, 3)
    out = np.zeros((4, 5, 6), np.float32)
    assert ours.gaussian_filter(x, 1, output=out) is out and (out == scipy_ndimage.gaussian_filter(x, 1)).all()
    y = x.copy()
    assert ours.median_filter(y, 3, output=y) is y and (y == scipy_ndimage.median_filter(x, 3)).all()
    part = np.zeros((4, 5, 12), np.float32)
    ours.gaussian_filter(x, 1, output=part[..., ::2])
    assert (part[..., ::2] == out).all() and not part[..., 1::2].any()


def test_weights_that_are_not_finite(rng):
    image = image_of(rng, "float32", (6, 9))
    for value in (np.nan, np.inf, -np.inf):
        same("correlate1d", image, [1, value, 2])
        same("convolve", image, np.array([[1, 2, 3], [1, value, 1], [0, 0, 2]]))
        same("gaussian_filter", image, 1, mode="constant", cval=value)


def test_coordinates_that_are_not_finite(rng):
    """Where a coordinate is NaN, maps of lenses say that there is nothing."""
    image, places = image_of(rng, "float32", (6, 9)), rng.random((2, 4, 5)) * 6
    places[0, 1, 2] = places[1, 3, 3] = np.nan
    for order in (0, 1):
        same("map_coordinates", image, places, order=order, cval=3.5)


def test_compiled_is_what_is_interpreted(rng, monkeypatch):
    """What is little is interpreted; the bits do not show it."""
    x = rng.random((30, 41)).astype(np.float32)
    calls = [
        lambda: ours.gaussian_filter(x, 1.2, mode="mirror"), lambda: ours.rank_filter(x, 5, size=3),
        lambda: ours.correlate(x, np.arange(15).reshape(3, 5) / 7), lambda: ours.grey_dilation(x, structure=np.eye(3)),
    ]
    monkeypatch.setattr(_engine, "_LITTLE", 1e12)
    little = [call() for call in calls]
    monkeypatch.setattr(_engine, "_LITTLE", 0)
    assert all((call() == want).all() for call, want in zip(calls, little))


def same_as_a_row(name, x, size, mode, origin, cval):
    """SciPy 1.17 reads beside the array where a window of its filter of ranks in one dimension is wider than the image
    (a pixel alone, `mirror`, 3: any number comes), and answers right for the same points as a row in two."""
    want = getattr(scipy_ndimage, name)(x[None], (1, size), mode=mode, origin=(0, origin), cval=cval)[0]
    have = getattr(ours, name)(x, size, mode=mode, origin=origin, cval=cval)
    assert have.dtype == want.dtype and np.array_equal(have, want), (name, mode, size, origin)


@settings(max_examples=40, deadline=None)
@given(
    strategies.lists(strategies.integers(1, 7), min_size=1, max_size=3), strategies.sampled_from(TYPES),
    strategies.sampled_from(MODES), strategies.integers(1, 5), strategies.integers(-2, 2),
    strategies.sampled_from(["minimum_filter", "maximum_filter", "median_filter", "grey_closing", "correlate1d"]),
)
@example([1], "uint8", "mirror", 3, 0, "median_filter")
def test_any_shape_size_and_origin(shape, dtype, mode, size, origin, name):
    """Where SciPy refuses, so does this."""
    x = image_of(np.random.default_rng(size), dtype, tuple(shape))
    if name == "correlate1d":
        same(name, x, np.arange(size) - 1.5, mode=mode, origin=origin, cval=1.5)
    elif name == "median_filter" and shape[0] < size and len(shape) == 1 and 0 <= size // 2 + origin < size:
        same_as_a_row(name, x, size, mode, origin, 1.5)
    else:
        same(name, x, size, mode=mode, origin=origin, cval=1.5)


def test_wide_masks(rng, monkeypatch):
    monkeypatch.setattr(_engine, "_LITTLE", 1e12)
    x = rng.random((40, 30))
    same("correlate", x, rng.random((25, 21)), near=1e-13)
    same("gaussian_filter", x, 12.0)
    same("median_filter", (x * 255).astype(np.uint8), 9)


def test_bad_arguments():
    x = np.ones((4, 5))
    for name, args, named in (
        ("gaussian_filter", (x, 1), dict(mode="nowhere")), ("gaussian_filter", (x, (1, 2, 3)), {}),
        ("median_filter", (x,), {}), ("correlate", (x, [1, 2]), {}), ("correlate1d", (x, []), {}),
        ("correlate1d", (x, [1, 2], 5), {}), ("convolve", (x, np.ones((3, 3))), dict(origin=5)),
        ("rank_filter", (x, 9, 3), {}), ("percentile_filter", (x, 200, 3), {}),
        ("minimum_filter", (x,), dict(footprint=np.zeros((3, 3)))), ("minimum_filter", (x * 1j, 3), {}),
        ("gaussian_filter", (x, 1), dict(output=np.zeros((2, 2)))), ("gaussian_filter", (x, 1), dict(axes=(0, 0))),
        ("grey_erosion", (x,), {}), ("uniform_filter1d", (x, 0), {}), ("gaussian_filter", (x, 1), dict(radius=-1)),
        ("binary_erosion", (x,), dict(structure=np.ones(3))), ("gaussian_filter", (x.astype(np.float16), 1), {}),
    ):
        same(name, *args, **named)
    with pytest.raises(tessera.UnsupportedError):
        ours.generic_filter(x, np.ptp, 3)


@tessera.stencil
def spread(X, gain):
    return gain * (
        tessera.max(lambda i, j: X[i, j], (-1, 1), (-1, 1)) - tessera.min(lambda i, j: X[i, j], (-1, 1), (-1, 1))
    )


def test_generic_filter_of_stencils(rng):
    x = rng.random((6, 7))
    assert np.allclose(ours.generic_filter(x, spread, 3, mode="mirror", extra_arguments=(2.0,)),
                       scipy_ndimage.generic_filter(x, lambda v: 2 * np.ptp(v), 3, mode="mirror"), rtol=1e-15)


def test_signatures_are_those_of_scipy():
    for name in ours.__all__:
        function, theirs = getattr(ours, name), getattr(scipy_ndimage, name, None)
        if not inspect.isfunction(function):
            continue
        assert theirs and function.__doc__
        mine = [(p.name, p.default) for p in inspect.signature(function).parameters.values()]
        assert mine == [(p.name, p.default) for p in inspect.signature(theirs).parameters.values()], name


@pytest.mark.parametrize("size", [3, (4, 21), 40])
def test_means_of_floats_are_rounded_once(rng, size):
    x = rng.standard_normal((70, 83)).astype(np.float32) + np.float32(3)
    exact = scipy_ndimage.uniform_filter(x.astype(np.float64), size)
    assert (abs(ours.uniform_filter(x, size) - exact) <= 2 * np.spacing(abs(exact).astype(np.float32))).all()



def test_a_part_of_scipys_own_tests():
    """All of them take minutes: python3 tests/python/scipy_suite.py."""
    suite = pathlib.Path(__file__).with_name("scipy_suite.py")
    done = subprocess.run([sys.executable, suite, "-k", "test_gaussian01 or test_rank0 or test_grey_erosion0"],
                          capture_output=True, text=True)
    if "skipped" in done.stdout.splitlines()[:1]:
        pytest.skip(done.stdout)
    assert done.returncode == 0, done.stdout[-3000:]


ALL_MODES = [*MODES, "grid-constant", "grid-mirror"]


@pytest.mark.parametrize("mode", ALL_MODES)
def test_transforms(rng, mode):
    """Coordinates are SciPy's to the last bit; linear weights may be off by one in it."""
    for dtype in TYPES:
        for shape in [*SHAPES, (1, 3)]:
            x, n = image_of(rng, dtype, shape), len(shape)
            places = rng.random((n, 4, 5)) * 30 - 12
            places[:, 0, :3] = np.arange(3)
            for order in (0, 1):
                near = 1e-13 if dtype == "float64" and order else 1e-6 if dtype == "float32" and order else 0
                same("map_coordinates", x, places, order=order, mode=mode, cval=2.5, near=near)
                same("shift", x, 1.3, order=order, mode=mode, cval=3, near=near)
                same("shift", x, -2, order=order, mode=mode)
                same("zoom", x, 1.7, order=order, mode=mode, near=near)
                same(
                    "affine_transform", x, rng.random(n) + 0.1, offset=0.4, order=order, mode=mode,
                    output_shape=(5,) * n, near=near,
                )
                if dtype != "bool":  # where a sum of weights that is 1 but for its last bit is not true
                    same("affine_transform", x, rng.random((n, n)), offset=0.4, order=order, mode=mode, near=near)
                    if n > 1:
                        same("rotate", x, 33, order=order, mode=mode, near=near)
                        same("rotate", x, 90, order=order, mode=mode, reshape=False, near=near)
                    if n > 1 and dtype[0] == "f":
                        same("rotate", x, -120, order=order, mode=mode, axes=(0, n - 1), near=near)


@pytest.mark.parametrize("order", [2, 3, 4, 5])
def test_splines(rng, order):
    """Of the orders that are filtered first, SciPy's default among them; on few points, where edges matter most."""
    for mode in ALL_MODES:
        for shape in [(9,), (5, 2), (1, 5), (3, 4, 2), (14,)]:
            x, n = rng.random(shape) * 200, len(shape)
            places = rng.random((n, 4, 3)) * 30 - 12
            same("map_coordinates", x, places, order=order, mode=mode, cval=2.5, near=1e-12)
            same("map_coordinates", x, places, order=order, mode=mode, prefilter=False, near=1e-12)
            if n == 2:
                same("shift", x, 1.3, order=order, mode=mode, cval=3, near=1e-12)
                have, want = (m.zoom(x.astype(np.uint8), 1.7, order=order, mode=mode) for m in (ours, scipy_ndimage))
                assert have.dtype == want.dtype and abs(have.astype(int) - want).max() <= 1  # at halves
                same("affine_transform", x, [[0.9, 0.2], [-0.1, 1.1]], order=order, mode=mode, near=1e-12)
            if n > 1 and order == 3:
                same("rotate", x, 33, mode=mode, near=1e-12)
    same("rotate", rng.random((3, 6, 5)), 33, axes=(1, 2), order=order, near=1e-12)
    same("zoom", (rng.random((6, 5)) + 1j).astype(np.complex64), 1.5, order=order, near=1e-6)


def test_spline_coefficients_of_threads(rng, monkeypatch):
    """Lines of each axis are shared out among threads, and what they give does not tell."""
    from tessera.ndimage import _interpolation
    for threads in ("1", "3"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        for shape in ((301, 403), (3, 41, 1001)):
            x = rng.random(shape)
            for order, mode in ((2, "mirror"), (3, "grid-wrap"), (5, "reflect")):
                made, _ = _interpolation._spline(x, [order] * len(shape), mode, 0.0, True)
                want = scipy_ndimage.spline_filter(x, order, mode=mode)
                np.testing.assert_allclose(made, want, rtol=1e-12, atol=1e-12)


def test_transforms_refuse_what_scipy_refuses():
    same("zoom", np.ones((3, 3)), 2, order=9)
    same("rotate", np.ones(3), 2, order=1)
    same("map_coordinates", np.ones((3, 3)), np.ones((3, 2)), order=1)
    same("affine_transform", np.ones((3, 3)), np.ones((4, 4)), order=1)


def test_docstrings_say_what_each_parameter_is():
    import inspect
    import tessera.skimage
    for module in (ours, tessera.skimage):
        for name in module.__all__:
            function = getattr(module, name)
            if inspect.isfunction(function) and name != "backend_information":
                has = {line.split(" :")[0].strip("*") for line in function.__doc__.splitlines() if line[:1] != " "}
                assert set(inspect.signature(function).parameters) <= has and "Returns" in has, name


def test_a_call_that_is_made_again(rng, monkeypatch):
    """Its program is remembered, of an image of this type and shape and of these arguments, and nothing else is."""
    from tessera.ndimage import _engine
    monkeypatch.setattr(_engine, "_LITTLE", 0)
    made = []
    run = _engine.Pipe.run
    monkeypatch.setattr(_engine.Pipe, "run", lambda pipe, place: made.append(1) or run(pipe, place))
    x, y = rng.random((9, 11), np.float32), rng.random((9, 11), np.float32)
    calls = [
        lambda m, a: m.correlate(a, [[1, 2, 3]], mode="constant", cval=0.5),
        lambda m, a: m.correlate(a, [[1, 2, 4]], mode="constant", cval=0.5),
        lambda m, a: m.correlate(a, [[1, 2, 4]], mode="constant", cval=1.5),
        lambda m, a: m.correlate(a, np.array([[1, 2, 4]], float), mode="constant", cval=1.5),
        lambda m, a: m.correlate(a, [[1, 2, 4]], mode="constant", cval=1.5, output=np.float64),
    ]
    for call in calls:
        for image in (x, y, x[:, :10], np.asfortranarray(x), x.astype(np.uint8), np.ascontiguousarray(x[:8])):
            for _ in range(2):
                have, want = call(ours, image), call(scipy_ndimage, image)
                assert have.dtype == want.dtype and (have == want).all()
    assert len(made) == len(calls) * (3 + 2 * 2)
    out = np.zeros_like(x)
    for image in (x, y):
        assert ours.correlate(image, [[1, 2, 3]], out) is out
        assert (out == scipy_ndimage.correlate(image, [[1, 2, 3]])).all()
    for _ in range(2):
        with pytest.warns(UserWarning, match="ignoring size") as said:
            ours.minimum_filter(x, 3, np.ones((3, 3), bool))
        assert said[0].filename == __file__
    assert ours.uniform_filter(x, True).shape == ours.uniform_filter(x, 1).shape
