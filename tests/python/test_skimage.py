"""tessera.skimage beside scikit-image."""
import inspect

import numpy as np
import pytest

skimage = pytest.importorskip("skimage")
from skimage import filters, morphology, restoration  # noqa: E402

import tessera  # noqa: E402
import tessera.skimage as ours  # noqa: E402


def same(function, theirs, *args, near=0, **named):
    try:
        want = theirs(*args, **named)
    except Exception as error:
        with pytest.raises(type(error)):
            function(*args, **named)
        return
    have = function(*args, **named)
    assert np.shape(have) == np.shape(want) and np.asarray(have).dtype == np.asarray(want).dtype, function.__name__
    assert np.allclose(have, want, rtol=near, atol=near), (function.__name__, named, np.abs(have - want).max())


def images(rng):
    yield (rng.random((9, 12)) * 255).astype(np.uint8)
    yield (rng.random((9, 12)) * 255 - 100).astype(np.int16)
    yield rng.random((9, 12)).astype(np.float32)
    yield rng.random((9, 12)) - 0.3
    yield rng.random((9, 12)) > 0.5
    yield rng.random((4, 5, 6))


def test_filters(rng):
    for x in images(rng):
        near = 1e-6 if x.dtype == np.float32 else 1e-12
        for name in ("sobel", "prewitt", "scharr", "farid", "laplace"):
            same(getattr(ours, name), getattr(filters, name), x, near=near)
            same(getattr(ours, name), getattr(filters, name), x, mask=rng.random(x.shape) > 0.1, near=near)
        same(ours.sobel, filters.sobel, x, axis=0, mode="constant", cval=0.5, near=near)
        same(ours.gaussian, filters.gaussian, x, 1.5, near=near)
        same(ours.gaussian, filters.gaussian, x, 1.0, preserve_range=True, mode="wrap", near=near)
        same(ours.difference_of_gaussians, filters.difference_of_gaussians, x, 1.0, near=near)
        same(ours.unsharp_mask, filters.unsharp_mask, x, near=near)
        same(ours.unsharp_mask, filters.unsharp_mask, x, 2, 1.5, preserve_range=True, near=near)
        same(ours.median, filters.median, x)
        same(ours.median, filters.median, x, np.ones((3,) * x.ndim), mode="mirror")
        if x.dtype != bool:
            same(ours.threshold_otsu, filters.threshold_otsu, x, near=1e-12)
    colour = rng.random((8, 9, 3))
    same(ours.gaussian, filters.gaussian, colour, 1.0, channel_axis=-1)
    same(ours.unsharp_mask, filters.unsharp_mask, colour, channel_axis=2, near=1e-12)
    same(ours.gaussian, filters.gaussian, colour, -1)
    same(ours.threshold_otsu, filters.threshold_otsu, hist=np.array([0, 3, 9, 1, 0, 4, 8, 0]))
    same(ours.threshold_otsu, filters.threshold_otsu, np.ones((3, 3)))


def test_morphology(rng):
    for x in images(rng):
        for name in ("erosion", "dilation", "opening", "closing", "white_tophat", "black_tophat"):
            f, g = getattr(ours, name), getattr(morphology, name)
            same(f, g, x)
            same(f, g, x, rng.random((3,) * x.ndim) > 0.3, mode="constant", cval=1)
            same(f, g, x, np.ones((2,) * x.ndim), mode="ignore")
    x = (rng.random((20, 22)) * 255).astype(np.uint8)
    same(ours.opening, morphology.opening, x, morphology.disk(3))
    same(ours.opening, morphology.opening, x, morphology.footprint_rectangle((5, 5), decomposition="separable"))
    out = np.zeros_like(x)
    assert ours.erosion(x, out=out) is out and (out == morphology.erosion(x)).all()
    same(ours.erosion, morphology.erosion, x, mode="nowhere")


def test_restoration(rng, monkeypatch):
    from tessera.skimage import restoration as module
    compiled = module.compiled
    monkeypatch.setattr(module, "compiled", lambda text, **options: compiled(text, target="vm", **options))
    psf = np.outer([1, 2, 1], [1, 3, 1]) / 20
    for kind in (np.float32, np.float64):
        x = rng.random((20, 25)).astype(kind)
        near = 1e-3 if kind == np.float32 else 1e-9
        same(ours.richardson_lucy, restoration.richardson_lucy, x, psf, num_iter=8, near=near)
        same(
            ours.richardson_lucy, restoration.richardson_lucy, x, psf, num_iter=3, clip=False, filter_epsilon=0.3,
            near=near,
        )
    x = rng.random((16, 17))
    same(ours.denoise_bilateral, restoration.denoise_bilateral, x, win_size=5, near=1e-3)
    same(
        ours.denoise_bilateral, restoration.denoise_bilateral, x, win_size=5, sigma_color=0.1, sigma_spatial=2,
        mode="edge", near=1e-3,
    )
    same(
        ours.denoise_bilateral, restoration.denoise_bilateral, rng.random((9, 10, 3)), win_size=5, channel_axis=-1,
        mode="symmetric", near=1e-3,
    )
    with pytest.raises(tessera.UnsupportedError):
        ours.richardson_lucy(x, np.ones((2, 2)) / 4)


def test_backend(rng):
    from importlib.metadata import entry_points
    backend = entry_points(group="skimage_backends")["tessera"].load()
    information = entry_points(group="skimage_backend_infos")["tessera"].load()()
    x = rng.random((5, 6))
    assert "skimage.filters:gaussian" in information.supported_functions
    assert backend.can_has("skimage.filters:gaussian", x) and not backend.can_has("skimage.filters:gaussian", [1])
    assert (backend.get_implementation("skimage.filters:sobel")(x) == ours.sobel(x)).all()
    for name in information.supported_functions:
        module, function = name.split(":")
        theirs = getattr(__import__(module, fromlist=["_"]), function)
        mine = [(p.name, p.kind) for p in inspect.signature(backend.get_implementation(name)).parameters.values()]
        assert mine == [(p.name, p.kind) for p in inspect.signature(theirs).parameters.values()], name
