"""Functions of `skimage.filters`, compiled, with their signatures and results."""
import warnings
from collections.abc import Iterable

import numpy as np

from .. import ndimage
from .._translate import TYPES
from ..ndimage._engine import Output, Pipe, Remote, as_array, literal, plain, sequence
from ..ndimage._filters import _correlate, _gaussian_of, _gaussian_stage
from ._common import as_float, float_pipe, float_type

_FARID_SMOOTH = [0.0376593171958126, 0.249153396177344, 0.426374573253687, 0.249153396177344, 0.0376593171958126]
_FARID_EDGE = [0.109603762960254, 0.276690988455557, 0, -0.276690988455557, -0.109603762960254]


def gaussian(
    image, sigma=1.0, *, mode="nearest", cval=0, preserve_range=False, truncate=4.0, channel_axis=None, out=None
):
    """Gaussian filter, as `skimage.filters.gaussian`."""
    if np.any(np.asarray(sigma) < 0.0):
        raise ValueError("Sigma values less than zero are not valid")
    image = as_array(image)
    if channel_axis is not None:
        sigma = _sigmas(sigma, image.ndim, channel_axis)
    if not preserve_range:
        image = as_float(image)
    image = image.astype(float_type(image.dtype), copy=False)
    if out is not None and out.dtype.kind != "f":
        raise ValueError(f"dtype of `out` must be float; got {out.dtype!r}.")
    return ndimage.gaussian_filter(image, sigma, output=out, mode=mode, cval=cval, truncate=truncate)


def difference_of_gaussians(
    image, low_sigma, high_sigma=None, *, mode="nearest", cval=0, channel_axis=None, truncate=4.0
):
    """What lies between two Gaussian filters, as `skimage.filters.difference_of_gaussians`."""
    image = as_float(image)
    n = image.ndim - (channel_axis is not None)
    low = np.array(low_sigma, dtype=float, ndmin=1)
    high = low * 1.6 if high_sigma is None else np.array(high_sigma, dtype=float, ndmin=1)
    for name, sigmas in (("low_sigma", low), ("high_sigma", high)):
        if len(sigmas) not in (1, n):
            raise ValueError(f"{name} must have length equal to number of spatial dimensions of input")
    low, high = low * np.ones(n), high * np.ones(n)
    if (high < low).any():
        raise ValueError("high_sigma must be equal to or larger than low_sigma for all axes")
    options = dict(mode=mode, cval=cval, channel_axis=channel_axis, truncate=truncate)
    return gaussian(image, low, **options) - gaussian(image, high, **options)


def median(image, footprint=None, out=None, mode="nearest", cval=0.0, behavior="ndimage"):
    """Median filter, as `skimage.filters.median`."""
    from .. import UnsupportedError
    if behavior != "ndimage":
        raise UnsupportedError("median has the behavior 'ndimage' alone")
    if footprint is None:
        footprint = ndimage.generate_binary_structure(np.ndim(image), np.ndim(image))
    return ndimage.median_filter(image, footprint=footprint, output=out, mode=mode, cval=cval)


def _along(weights, ndim, axis):
    return np.reshape(weights, [-1 if d == axis else 1 for d in range(ndim)])


def _inside(result, mask):
    """The result where all neighbours are in the mask, else 0."""
    if mask is not None:
        result *= ndimage.binary_erosion(mask, ndimage.generate_binary_structure(mask.ndim, mask.ndim), border_value=0)
    return result


def _convolved(pipe, kernel, mode, cval):
    """A convolution by a kernel of odd extents."""
    _correlate(pipe, np.flip(kernel), [mode] * pipe.ndim, cval, [0] * pipe.ndim, pipe.type)


def _edges(image, mask, smooth, axis, mode, cval, edge=(1, 0, -1)):
    pipe = float_pipe(image)
    n, start, found = pipe.ndim, pipe.branch(), []
    axes = list(range(n)) if axis is None else [axis] if np.isscalar(axis) else list(axis)
    for across in axes:
        kernel = _along(edge, n, across)
        for d in range(n):
            if d != across % n:
                kernel = kernel * _along(smooth, n, d)
        pipe.back(start)
        _convolved(pipe, kernel, mode, cval)
        found.append(pipe.last)
    if len(axes) > 1:
        squares = " + ".join(f"P{i} * P{i}" for i in range(len(axes)))
        pipe.combine(found, f"sqrt({squares}) / sqrt(cast<{TYPES[pipe.type]}>({n}))", pipe.type)
    return _inside(_result(pipe), mask)


def _result(pipe):
    """What a program gives, in the type that it computes in."""
    return pipe.run(Output(np.dtype(pipe.type), pipe.source))


def sobel(image, mask=None, *, axis=None, mode="reflect", cval=0.0):
    """Strength of edges, as `skimage.filters.sobel`."""
    return _edges(image, mask, np.array([1, 2, 1]) / 4, axis, mode, cval)


def prewitt(image, mask=None, *, axis=None, mode="reflect", cval=0.0):
    """Strength of edges, as `skimage.filters.prewitt`."""
    return _edges(image, mask, np.full(3, 1 / 3), axis, mode, cval)


def scharr(image, mask=None, *, axis=None, mode="reflect", cval=0.0):
    """Strength of edges, as `skimage.filters.scharr`."""
    return _edges(image, mask, np.array([3, 10, 3]) / 16, axis, mode, cval)


def farid(image, mask=None, *, axis=None, mode="reflect", cval=0.0):
    """Strength of edges, as `skimage.filters.farid`."""
    return _edges(image, mask, _FARID_SMOOTH, axis, mode, cval, _FARID_EDGE)


def laplace(image, ksize=3, mask=None):
    """The negative sum of second differences, as `skimage.filters.laplace`; `ksize` changes nothing there either."""
    pipe = float_pipe(image)
    kernel = np.zeros([3] * pipe.ndim)
    for d in range(pipe.ndim):
        kernel[tuple(slice(None) if e == d else 1 for e in range(pipe.ndim))] = -1
    kernel[(1,) * pipe.ndim] = 2.0 * pipe.ndim
    _convolved(pipe, kernel, "reflect", 0.0)
    return _inside(_result(pipe), mask)


def unsharp_mask(image, radius=1.0, amount=1.0, preserve_range=False, *, channel_axis=None):
    """What a Gaussian takes away, added, as `skimage.filters.unsharp_mask`."""
    image = as_array(image)
    if preserve_range:
        pipe = Pipe(plain(image.astype(float_type(image.dtype), copy=False)))
    else:
        pipe = float_pipe(image)
    start, n = pipe.branch(), pipe.ndim
    for d, sigma in enumerate(_sigmas(radius, n, channel_axis)):
        if sigma > 1e-15:
            _gaussian_stage(_gaussian_of(sigma, 0, 4.0, None), "reflect", 0.0, pipe, d, pipe.type)
    element = TYPES[pipe.type]
    body = f"P0 + (P0 - P1) * cast<{element}>({literal(amount)})"
    if not preserve_range:
        lowest = -1.0 if image.dtype.kind in "if" and image.min() < 0 else 0.0
        body = f"clamp({body}, cast<{element}>({literal(lowest)}), cast<{element}>(1))"
    pipe.combine([start[0], pipe.last], body, pipe.type)
    return _result(pipe)


def _sigmas(sigma, n, channel_axis):
    """One for each axis, 0 for that of the channels."""
    if channel_axis is None:
        return sequence(sigma, n)
    given = list(sigma) if isinstance(sigma, Iterable) else [sigma] * (n - 1)
    if len(given) == n - 1:
        given.insert(channel_axis % n, 0)
    return given


def _histogram_there(image, nbins):
    """The same on a device."""
    low, high = float(image.min()), float(image.max())
    whole = image.dtype.kind in "bui"
    n = int(high - low) + 1 if whole else nbins
    key = "X - low" if whole else f"min(floor((X - low) * {literal(n / (high - low))}), {n - 1}.0d)"
    sizes = ", ".join(f"N{d}" for d in range(image.ndim))
    text = (
        f"stencil f(vector#{image.ndim} double X, double low) {{ return {key}; }}\nparameter {sizes};\n"
        f"vector#{image.ndim} {TYPES[image.dtype.name]} a[{sizes}];\ndouble low;\n"
        f"return histogram(f(a, low), {n});\n"
    )
    counts = image.run(text, low=low).to_host()
    edges = np.linspace(low, high, n + 1)
    return counts, low + np.arange(n) if whole else (edges[:-1] + edges[1:]) / 2


def _histogram(image, nbins):
    """(counts, centres): every value of integers, else bins between the extremes."""
    if isinstance(image, Remote):
        return _histogram_there(image, nbins)
    if image.dtype.kind in "bui":
        image = image.astype(np.uint8) if image.dtype == bool else image
        low = int(image.min())
        return np.bincount((image.astype(np.int64) - low).ravel()), low + np.arange(int(image.max()) - low + 1)
    counts, edges = np.histogram(image.ravel(), nbins)
    return counts, (edges[:-1] + edges[1:]) / 2


def threshold_otsu(image=None, nbins=256, *, hist=None):
    """The value that parts an image best into two classes, as `skimage.filters.threshold_otsu`."""
    if image is None and hist is None:
        raise ValueError("Either image or hist must be provided.")
    if image is not None:
        image = as_array(image)
        if image.ndim > 2 and image.shape[-1] in (3, 4):
            warnings.warn(
                f"threshold_otsu is for grey images; one of shape {image.shape} looks like a colour image", stacklevel=2
            )
        lowest = image.min()
        if lowest == image.max():
            return lowest
    if hist is not None:
        counts, centres = hist if isinstance(hist, (tuple, list)) else (hist, np.arange(np.size(hist)))
        used = np.flatnonzero(counts)
        counts, centres = counts[used[0]:used[-1] + 1], centres[used[0]:used[-1] + 1]
    else:
        counts, centres = _histogram(image, nbins)
    counts = np.asarray(counts).astype(np.float32)
    below, above = np.cumsum(counts), np.cumsum(counts[::-1])[::-1]
    mean_below = np.cumsum(counts * centres) / below
    mean_above = (np.cumsum((counts * centres)[::-1]) / above[::-1])[::-1]
    between = below[:-1] * above[1:] * (mean_below[:-1] - mean_above[1:])**2
    return centres[np.argmax(between)]
