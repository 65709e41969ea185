"""Linear and rank filters with SciPy's names, signatures and rules."""
import functools
import math
import operator
from collections.abc import Iterable

import numpy as np

from .. import _errors
from .._translate import TYPES
from ._engine import (
    Output, Pipe, Remote, all_axes, along, as_image, at, bounds, chain, finite, in_rows, literal, one_axis, plain,
    rule_of, sequence, stored, warn,
)

_TINY = np.finfo(float).eps  # below it SciPy takes a weight for none
_MOST_TERMS = 400
_WRITTEN = 20    # terms of a sum over a range that compilation writes out, in integers where they are whole


# ---- Stages
# --------------------------------------------------------------------------------------------------
def _reach(size, origin):
    """First and last offset of a window of that size."""
    return -(size // 2) - origin, size - 1 - size // 2 - origin


def _check_origin(size, origin):
    if size // 2 + origin < 0 or size // 2 + origin >= size:
        raise ValueError(f"invalid origin: {origin} moves a window of {size} off its point")


def _range_of(pipe, weights):
    """Between which values a weighted sum lies; (None, None) where that is not known."""
    if pipe.lowest is None:
        return None, None
    ends = np.sort([pipe.lowest * weights, pipe.highest * weights], axis=0)
    return float(ends[0].sum()) * (1 + 1e-9), float(ends[1].sum()) * (1 + 1e-9)


def _forget_range(pipe, made):
    pipe.lowest, pipe.highest = bounds(made) or (None, None)


def _correlate1d(pipe, weights, axis, mode, cval, origin, made):
    """A weighted sum along an axis. Weights that are symmetric about the middle are given to pairs, as SciPy does:
    rounding shows it."""
    weights = np.asarray(weights, dtype=np.float64)
    n = len(weights)
    rules = pipe.rules([mode if d == axis else None for d in range(pipe.ndim)], cval)
    half = n // 2
    symmetric = 0
    if n & 1:
        before, after = weights[:half][::-1], weights[half + 1:]
        if (abs(before - after) <= _TINY).all():
            symmetric = 1
        elif (abs(before + after) <= _TINY).all():
            symmetric = -1
    point = lambda k: along(pipe.ndim, axis, k - origin)
    if symmetric:
        terms = [f"{point(0)} * {literal(weights[half])}"]
        terms += [
            f"({point(k)} {'+' if symmetric > 0 else '-'} {point(-k)}) * {literal(weights[half + k])}"
            for k in range(-half, 0)
        ]
    else:
        last = n - half - 1
        terms = [f"{point(last)} * {literal(weights[n - 1])}"]
        terms += [f"{point(k)} * {literal(weights[half + k])}" for k in range(-half, last)]
    locals, text = chain(terms)
    low, high = _range_of(pipe, weights)
    pipe.stage(stored(text, "float64", made, low, high), "double", made, rules, 2 * n, locals)
    _forget_range(pipe, made)


def _uniform1d(pipe, size, axis, mode, cval, origin, made):
    rules = pipe.rules([mode if d == axis else None for d in range(pipe.ndim)], cval)
    lo, hi = _reach(size, origin)
    text = f"sum(k = {lo}..{hi} : {along(pipe.ndim, axis, 'k')}) / {literal(size)}"
    if made == "float32" and bounds(pipe.source.dtype) is None:
        # No bits of SciPy's to keep: doubles in any order, with products for quotients, and rounded once.
        pipe.fp = "default"
        if pipe.read_wide:
            pipe.stage(text, "double", "float64", rules, size)
            return
    pipe.stage(stored(text, "float64", made, pipe.lowest, pipe.highest), "double", made, rules, size)
    _forget_range(pipe, made)


def _extreme1d(pipe, size, axis, mode, cval, origin, made, which):
    rules = pipe.rules([mode if d == axis else None for d in range(pipe.ndim)], cval)
    lo, hi = _reach(size, origin)
    pipe.stage(
        stored(f"{which}(k = {lo}..{hi} : {along(pipe.ndim, axis, 'k')})", pipe.type, made), "any", made, rules, size
    )


def _offsets(shape, origins):
    """The offset of each element of an array about its centre, in its order."""
    return [[i - n // 2 - o for i, n, o in zip(index, shape, origins)] for index in np.ndindex(*shape)]


def _window(shape, origins):
    """The ranges of a window and the offsets that its variables are."""
    names = "ijkl"[:len(shape)]
    ranges = ", ".join(f"{v} = {-(n // 2)}..{n - 1 - n // 2}" for v, n in zip(names, shape))
    offsets = [v if not o else f"{v} - {o}" if o > 0 else f"{v} + {-o}" for v, o in zip(names, origins)]
    return ranges, names, offsets


def _mask(values, whole=False):
    finite("the elements of weights and structures", values)
    write = (lambda v: str(int(v))) if whole else (lambda v: literal(v)[:-1] if v >= 0 else f"(-{literal(-v)[:-1]})")
    return f"mask w[{', '.join(map(str, values.shape))}] = {{ {', '.join(write(v) for v in values.ravel())} }};"


def _correlate(pipe, weights, modes, cval, origins, made):
    """A sum over a mask of any dimensions, of the elements that are not zero, in their order."""
    weights = np.where(abs(weights) > _TINY, weights, 0.0)
    rules = pipe.rules(modes, cval)
    low, high = _range_of(pipe, weights)
    terms = [f"{at(o)} * {literal(w)}" for o, w in zip(_offsets(weights.shape, origins), weights.ravel()) if w]
    if not terms:
        pipe.stage(stored("cast<double>(0)", "float64", made, 0, 0), "double", made, rules)
    elif len(terms) <= _MOST_TERMS:
        locals, text = chain(terms)
        pipe.stage(stored(text, "float64", made, low, high), "double", made, rules, 2 * len(terms), locals)
    else:
        ranges, names, offsets = _window(weights.shape, origins)
        text = f"sum({ranges} where w[{', '.join(names)}] != 0 : {at(offsets)} * w[{', '.join(names)}])"
        pipe.stage(
            stored(text, "float64", made, low, high), "double", made, rules, 2 * len(terms), masks=[_mask(weights)]
        )
    _forget_range(pipe, made)


def _extreme(pipe, footprint, structure, modes, cval, origins, made, which):
    """The least or greatest value under a footprint, less or plus a structure. SciPy adds a structure in the type of
    the image, but its first element, which is added in double."""
    rules = pipe.rules(modes, pipe.element(cval))
    ranges, names, offsets = _window(footprint.shape, origins)
    masks, where, have = [], "", pipe.type
    inside = footprint.copy()
    if structure is not None:
        have = "float64"
        element = "uint8" if pipe.type == "bool" else TYPES[pipe.type]
        heights = -structure if which == "min" else structure
        first = tuple(np.argwhere(footprint)[0])
        inside[first] = False
        place = _offsets(footprint.shape, origins)[np.ravel_multi_index(first, footprint.shape)]
        start = f"cast<double>({at(place)}) + {literal(heights[first])}"
        heights = heights.astype(
            np.float32 if pipe.type == "float32" else float if pipe.type == "float64" else np.int64
        )
        masks.append(_mask(heights, whole=heights.dtype.kind == "i").replace("mask w", "mask height"))
    if not inside.all():
        masks.append(_mask(inside.astype(int), whole=True).replace("mask w", "mask inside"))
        where = f" where inside[{', '.join(names)}] != 0"
    if structure is None:
        text = f"{which}({ranges}{where} : {at(offsets)})"
    elif not inside.any():
        text = start
    else:
        value = f"cast<double>(cast<{element}>({at(offsets)} + height[{', '.join(names)}]))"
        text = f"{which}({start}, {which}({ranges}{where} : {value}))"
    pipe.stage(stored(text, have, made), "any", made, rules, footprint.size, masks=masks)


def _rank(pipe, footprint, rank, modes, cval, origins, made):
    """The element of that rank under a footprint: the median of as many values more below or above as move it to the
    middle."""
    n = int(footprint.sum())
    below, above = max(n - 1 - 2 * rank, 0), max(2 * rank - n, 0)  # so that (n + below + above) // 2 == rank + below
    more = below + above
    rules = pipe.rules(modes, pipe.element(cval) if pipe.ndim > 1 else cval)
    ranges, names, offsets = _window(footprint.shape, origins)
    masks, where, body = [], "", at(offsets)
    if more or not footprint.all():
        rest = footprint.size // footprint.shape[0]
        padded = np.zeros((footprint.shape[0] + 2 * (-(-more // rest)), *footprint.shape[1:]), int)
        first = padded.shape[0] // 2 - footprint.shape[0] // 2
        padded[first:first + footprint.shape[0]] = footprint
        free = np.r_[0:first * rest, (first + footprint.shape[0]) * rest:padded.size]
        padded.ravel()[free[:more]] = 1
        ranges, names, _ = _window(padded.shape, origins)
        masks.append(_mask(padded, whole=True).replace("mask w", "mask inside"))
        where = f" where inside[{', '.join(names)}] != 0"
        if more:
            lo, hi = -(footprint.shape[0] // 2), footprint.shape[0] - 1 - footprint.shape[0] // 2
            body = f"{names[0]} >= {lo} && {names[0]} <= {hi} ? {body} : {_end_of(pipe, below > 0)}"
    pipe.stage(
        stored(f"median({ranges}{where} : {body})", pipe.type, made), "any", made, rules, 4 * (n + more), masks=masks
    )


def _end_of(pipe, lowest):
    """The least or greatest value of the pipe's type."""
    limits = bounds(pipe.type)
    if limits is None:
        infinity = f"cast<{TYPES[pipe.type]}>(1e308d * 1e308d)"
        return f"-{infinity}" if lowest else infinity
    if pipe.type == "bool":
        return "false" if lowest else "true"
    return f"cast<{pipe.type}>({f'{limits[0] + 1} - 1' if lowest else limits[1]})"


# ---- What the functions share
# ------------------------------------------------------------------------------------------------------------
def _by_parts(function):
    """Linear filters of complex images: real and imaginary part apart."""
    @functools.wraps(function)
    def filter(input, *args, output=None, cval=0.0, **named):
        image = as_image(input)
        if image.dtype.kind != "c":
            if np.iscomplexobj(cval):
                raise ValueError("Cannot provide a complex-valued cval when the input is real.")
            return function(image, *args, output=output, cval=cval, **named)
        place = Output(output, image, complex_output=True)
        part = np.promote_types(place.dtype, np.complex64).type(0).real.dtype
        real = function(image.real, *args, output=part, cval=np.real(cval), **named)
        imaginary = function(image.imag, *args, output=part, cval=np.imag(cval), **named)
        return place.finish(real + 1j * imaginary)
    return filter


def _pipe_of(image):
    """A program for up to four dimensions."""
    if image.ndim > 4:
        raise _errors.UnsupportedError(
            f"images of {image.ndim} dimensions have no program; filters along single axes do"
        )
    return Pipe(plain(image))


def _follow(pipe, stages, made, sums="reals"):
    """Stages along axes, each `(axis, function(pipe, axis, type))`; `sums`: they read doubles, but those of "whole"
    numbers, which are computed in integers of few bits."""
    limits = bounds(made)
    narrow = sums == "whole" and limits is not None and limits[1] < 1 << 16
    for n, (axis, stage) in enumerate(stages, 1):
        pipe.read_wide = bool(sums) and not narrow and n < len(stages)
        stage(pipe, axis, made)
    pipe.read_wide = False


def _passes(image, place, stages, sums="reals"):
    """Runs stages along axes: in one program, or, of more than four dimensions, one by one."""
    if image.size == 0 or not stages:
        return place.copy_of(image.astype(place.dtype))
    if image.ndim <= 4 and place.dtype != np.uint64:  # which programs do not have between stages
        pipe = Pipe(plain(image))
        _follow(pipe, stages, place.stage_type, sums)
        return pipe.run(place)
    for axis, stage in stages:
        before, behind = math.prod(image.shape[:axis]), math.prod(image.shape[axis + 1:])
        flat = in_rows(image).reshape((before, image.shape[axis], behind))
        pipe = Pipe(plain(flat))
        stage(pipe, 1, place.stage_type)
        image = pipe.run(Output(place.dtype, flat)).reshape(image.shape)
    return place.finish(image)


# ---- Correlations
# --------------------------------------------------------------------------------------------------
def correlate1d(input, weights, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):
    """One-dimensional correlation along an axis, as `scipy.ndimage.correlate1d`."""
    image, weights = as_image(input), np.asarray(weights)
    if image.dtype.kind == "c" or weights.dtype.kind == "c":
        weights = weights.conj()
        return _complex(
            lambda i, w, c: correlate1d(i, w, axis, np.float64, mode, c, origin), image, weights, output, cval
        )
    weights = np.asarray(weights, dtype=np.float64)
    if weights.ndim != 1 or weights.shape[0] < 1:
        raise RuntimeError("no filter weights given")
    axis = one_axis(axis, image.ndim)
    if not -(len(weights) // 2) <= origin <= (len(weights) - 1) // 2:
        raise ValueError(f"Invalid origin: {origin} moves {len(weights)} weights off their point")
    rule_of(mode)
    place = Output(output, image)
    return _passes(
        image, place, [(axis, lambda pipe, d, made: _correlate1d(pipe, weights, d, mode, cval, origin, made))]
    )


def convolve1d(input, weights, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):
    """One-dimensional convolution along an axis, as `scipy.ndimage.convolve1d`."""
    weights = np.asarray(weights)[::-1]
    if weights.dtype.kind == "c":
        weights = weights.conj()
    return correlate1d(input, weights, axis, output, mode, cval, -origin - (1 - len(weights) % 2))


def _complex(real, image, weights, output, cval):
    """A linear filter where image or weights are complex, by four real ones."""
    place = Output(output, image, complex_output=True)
    if image.dtype.kind != "c" and np.iscomplexobj(cval):
        raise ValueError("Cannot provide a complex-valued cval when the input is real.")
    parts = [(image.real, np.real(cval), 1)] + ([(image.imag, np.imag(cval), 1j)] if image.dtype.kind == "c" else [])
    coefficients = [(weights.real, 1)] + ([(weights.imag, 1j)] if weights.dtype.kind == "c" else [])
    return place.finish(sum(real(i, w, c) * (u * v) for i, c, u in parts for w, v in coefficients))


def _correlation(input, weights, output, mode, cval, origin, axes, convolution):
    image, weights = as_image(input), np.asarray(weights)
    if image.dtype.kind == "c" or weights.dtype.kind == "c":
        weights = weights if convolution else weights.conj()
        return _complex(
            lambda i, w, c: _correlation(i, w, np.float64, mode, c, origin, axes, convolution), image, weights, output,
            cval,
        )
    axes = all_axes(axes, image.ndim)
    weights, origins = _spread(np.asarray(weights, dtype=np.float64), origin, axes, image.ndim, "weights")
    if convolution:
        weights = weights[(slice(None, None, -1),) * weights.ndim]
        origins = [-o - (1 - n % 2) for o, n in zip(origins, weights.shape)]
    for o, n in zip(origins, weights.shape):
        if not -(n // 2) <= o <= (n - 1) // 2:
            raise ValueError(f"Invalid origin: {o} moves {n} weights off their point")
    if not isinstance(mode, str) and isinstance(mode, Iterable):
        raise RuntimeError("A sequence of modes is not supported")
    rule_of(mode)
    place = Output(output, image)
    if image.size == 0:
        return place.finish(image)
    pipe = _pipe_of(image)
    _correlate(pipe, weights, [mode] * image.ndim, cval, origins, place.stage_type)
    return pipe.run(place)


def _spread(array, origin, axes, ndim, what):
    """A mask over some axes as one over all, with its origins."""
    if array.ndim != len(axes) or 0 in array.shape:
        raise RuntimeError(f"{what}.ndim ({array.ndim}) must match len(axes) ({len(axes)}), and no extent may be 0")
    origins = sequence(origin, len(axes))
    shape, all_origins = [1] * ndim, [0] * ndim
    for size, axis in zip(array.shape, sorted(axes)):
        shape[axis] = size
    for axis, o in zip(axes, origins):
        all_origins[axis] = o
    return array.reshape(shape), all_origins


def correlate(input, weights, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None):
    """Correlation, as `scipy.ndimage.correlate`."""
    return _correlation(input, weights, output, mode, cval, origin, axes, False)


def convolve(input, weights, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None):
    """Convolution, as `scipy.ndimage.convolve`."""
    return _correlation(input, weights, output, mode, cval, origin, axes, True)


# ---- Gaussians
# --------------------------------------------------------------------------------------------------
@functools.lru_cache(256)
def _gaussian_weights(sigma, order, radius):
    """A Gaussian's weights, or those of its derivative of that order: a polynomial times the Gaussian, by the rule of
    products."""
    if order < 0:
        raise ValueError("order must be non-negative")
    square = sigma * sigma
    x = np.arange(-radius, radius + 1)
    bell = np.exp(-0.5 / square * x**2)
    bell = bell / bell.sum()
    if order == 0:
        return bell
    exponents = np.arange(order + 1)
    polynomial = np.zeros(order + 1)
    polynomial[0] = 1
    derive = np.diag(exponents[1:], 1) + np.diag(np.ones(order) / -square, -1)
    for _ in range(order):
        polynomial = derive.dot(polynomial)
    return (x[:, None]**exponents).dot(polynomial) * bell


def _gaussian_of(sigma, order, truncate, radius):
    sigma = float(finite("sigma", sigma))
    reach = int(truncate * sigma + 0.5) if radius is None else radius
    if not isinstance(reach, (int, np.integer)) or reach < 0:
        raise ValueError("Radius must be a nonnegative integer.")
    return _gaussian_weights(sigma, order, int(reach))[::-1]


def gaussian_filter1d(
    input, sigma, axis=-1, order=0, output=None, mode="reflect", cval=0.0, truncate=4.0, *, radius=None
):
    """One-dimensional Gaussian filter, as `scipy.ndimage.gaussian_filter1d`."""
    return correlate1d(input, _gaussian_of(sigma, order, truncate, radius), axis, output, mode, cval, 0)


def gaussian_filter(
    input, sigma, order=0, output=None, mode="reflect", cval=0.0, truncate=4.0, *, radius=None, axes=None
):
    """Gaussian filter, as `scipy.ndimage.gaussian_filter`: all axes in one program."""
    return _gaussian(input, sigma, order, mode, truncate, radius, axes, output=output, cval=cval)


@_by_parts
def _gaussian(image, sigma, order, mode, truncate, radius, axes, *, output, cval):
    axes = all_axes(axes, image.ndim)
    n = len(axes)
    place, stages = Output(output, image), []
    for axis, s, o, m, r in zip(
        axes, finite("sigma", sequence(sigma, n)), sequence(order, n), sequence(mode, n), sequence(radius, n)
    ):
        if s > 1e-15:
            weights = _gaussian_of(s, o, truncate, r)
            rule_of(m)
            stages.append((axis, functools.partial(_gaussian_stage, weights, m, cval)))
    return _passes(image, place, stages)


def _gaussian_stage(weights, mode, cval, pipe, axis, made):
    _correlate1d(pipe, weights, axis, mode, cval, 0, made)


# ---- Derivatives
# --------------------------------------------------------------------------------------------------
def _smoothed_difference(image, across, axis, mode, output, cval):
    axis = one_axis(axis, image.ndim)
    modes = sequence(mode, image.ndim)
    for m in modes:
        rule_of(m)
    axes = [axis] + [d for d in range(image.ndim) if d != axis]
    stages = [
        (d, functools.partial(_gaussian_stage, [-1, 0, 1] if d == axis else across, modes[d], cval)) for d in axes
    ]
    return _passes(image, Output(output, image), stages, "whole")


@_by_parts
def _prewitt(image, axis, mode, *, output, cval):
    return _smoothed_difference(image, [1, 1, 1], axis, mode, output, cval)


@_by_parts
def _sobel(image, axis, mode, *, output, cval):
    return _smoothed_difference(image, [1, 2, 1], axis, mode, output, cval)


def prewitt(input, axis=-1, output=None, mode="reflect", cval=0.0):
    """Prewitt's derivative, as `scipy.ndimage.prewitt`."""
    return _prewitt(input, axis, mode, output=output, cval=cval)


def sobel(input, axis=-1, output=None, mode="reflect", cval=0.0):
    """Sobel's derivative, as `scipy.ndimage.sobel`."""
    return _sobel(input, axis, mode, output=output, cval=cval)


def _sum_of_axes(image, stages_of, modes, axes, place, magnitude):
    """The sum over axes of what their stages make, or the root of the sum of squares, in the type of the output."""
    if not axes or image.size == 0:
        return place.copy_of(image.astype(place.dtype))
    if place.dtype == np.uint64:  # which programs do not have between stages
        parts = [_passes(image, Output(np.uint64, image), stages_of(axis, modes[n])) for n, axis in enumerate(axes)]
        total = sum(p * p for p in parts) if magnitude else sum(parts)
        return place.finish(np.sqrt(total).astype(np.uint64) if magnitude else total)
    pipe = _pipe_of(image)
    start, names = pipe.branch(), []
    for n, axis in enumerate(axes):
        pipe.back(start)
        _follow(pipe, stages_of(axis, modes[n]), place.stage_type)
        names.append(pipe.last)
    kind = place.stage_type
    total = None
    for n in range(len(names)):
        term = _in_type(f"P{n} * P{n}", kind) if magnitude else f"P{n}"
        total = term if total is None else _in_type(f"{total} + {term}", kind)
    if magnitude:
        root = total if kind in ("float32", "float64") else f"cast<double>({total})"
        total = stored(f"sqrt({root})", "float64" if root != total else kind, kind)
    pipe.combine(names, total, kind)
    return pipe.run(place)


def _in_type(text, kind):
    """An operation of integers wraps around in their type."""
    return f"({text})" if kind in ("float32", "float64") else f"cast<{kind}>({text})"


def _second_difference(axis, mode, cval):
    return [(axis, functools.partial(_gaussian_stage, [1, -2, 1], mode, cval))]


def laplace(input, output=None, mode="reflect", cval=0.0, *, axes=None):
    """Second differences along all axes, as `scipy.ndimage.laplace`."""
    return _laplace(input, mode, axes, output=output, cval=cval)


@_by_parts
def _laplace(image, mode, axes, *, output, cval):
    axes = all_axes(axes, image.ndim)
    modes = sequence(mode, len(axes))
    return _sum_of_axes(
        image, lambda axis, m: _second_difference(axis, m, cval), modes, axes, Output(output, image), False
    )


def _gaussian_derivatives(image, sigma, order, mode, axes, options, output, cval, magnitude):
    axes = all_axes(axes, image.ndim)
    sigmas = [0.0] * image.ndim
    for axis, s in zip(axes, finite("sigma", sequence(sigma, len(axes)))):
        sigmas[axis] = s
    truncate, radius = options.pop("truncate", 4.0), sequence(options.pop("radius", None), image.ndim)
    if options:
        raise TypeError(f"unexpected arguments: {', '.join(options)}")

    def stages(axis, mode):
        return [
            (
                d,
                functools.partial(
                    _gaussian_stage, _gaussian_of(sigmas[d], order if d == axis else 0, truncate, radius[d]), mode, cval
                ),
            )
            for d in range(image.ndim)
            if sigmas[d] > 1e-15
        ]
    return _sum_of_axes(image, stages, sequence(mode, len(axes)), axes, Output(output, image), magnitude)


@_by_parts
def _gaussian_laplace(image, sigma, mode, axes, options, *, output, cval):
    return _gaussian_derivatives(image, sigma, 2, mode, axes, dict(options), output, cval, False)


def gaussian_laplace(input, sigma, output=None, mode="reflect", cval=0.0, *, axes=None, **kwargs):
    """Laplacian of a Gaussian, as `scipy.ndimage.gaussian_laplace`."""
    return _gaussian_laplace(input, sigma, mode, axes, kwargs, output=output, cval=cval)


def gaussian_gradient_magnitude(input, sigma, output=None, mode="reflect", cval=0.0, *, axes=None, **kwargs):
    """Length of the gradient of a Gaussian, as `scipy.ndimage.gaussian_gradient_magnitude`."""
    if np.iscomplexobj(input):
        def derivative(image, axis, output, mode, cval):
            return gaussian_filter(
                image, sigma, [int(d == axis) for d in range(image.ndim)], output, mode, cval, **kwargs
            )
        return generic_gradient_magnitude(input, derivative, output, mode, cval, axes=axes)
    return _gaussian_derivatives(_real(as_image(input)), sigma, 1, mode, axes, dict(kwargs), output, cval, True)


def _real(image):
    if image.dtype.kind == "c":
        raise TypeError("Complex type not supported")
    return image


def _of_function(function, image, *arguments, **named):
    """What a function of the caller's gives: of images on a device it takes and gives the caller's arrays."""
    if isinstance(image, Remote):
        return Remote(function(image.array, *arguments, **named))
    return np.asarray(function(image, *arguments, **named))


def _generic(input, function, output, mode, cval, arguments, named, axes, magnitude):
    image = as_image(input)
    axes = all_axes(axes, image.ndim)
    place, named = Output(output, image), named or {}
    result = image.astype(place.dtype) if not axes else None
    for axis, m in zip(axes, sequence(mode, len(axes))):
        made = _of_function(function, image, axis, place.dtype, m, cval, *arguments, **named)
        made = np.multiply(made, made) if magnitude else made
        result = made if result is None else result + made
    if magnitude and axes:
        result = np.sqrt(result)
    return place.finish(result.astype(place.dtype, copy=False))


def generic_laplace(
    input, derivative2, output=None, mode="reflect", cval=0.0, extra_arguments=(), extra_keywords=None, *, axes=None
):
    """The sum of second derivatives that a function gives, as `scipy.ndimage.generic_laplace`."""
    return _generic(input, derivative2, output, mode, cval, extra_arguments, extra_keywords, axes, False)


def generic_gradient_magnitude(
    input, derivative, output=None, mode="reflect", cval=0.0, extra_arguments=(), extra_keywords=None, *, axes=None
):
    """The length of the gradient that a function gives, as `scipy.ndimage.generic_gradient_magnitude`."""
    return _generic(input, derivative, output, mode, cval, extra_arguments, extra_keywords, axes, True)


# ---- Means
# --------------------------------------------------------------------------------------------------
@_by_parts
def _uniform(image, size, mode, origin, axes, *, output, cval):
    n = len(axes)
    place, stages = Output(output, image), []
    for axis, s, o, m in zip(axes, finite("size", sequence(size, n)), sequence(origin, n), sequence(mode, n)):
        rule_of(m)
        if s > 1:
            _check_origin(int(s), o)
            stages.append((axis, lambda pipe, d, made, s=int(s), o=o, m=m: _uniform1d(pipe, s, d, m, cval, o, made)))
    short = max(sequence(size, n), default=0) <= _WRITTEN
    return _passes(image, place, stages, "whole" if short else "reals")


def uniform_filter1d(input, size, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):
    """Means along an axis, as `scipy.ndimage.uniform_filter1d`."""
    if finite("size", size) < 1:
        raise RuntimeError("incorrect filter size")
    _check_origin(size, origin)
    image = as_image(input)
    return _uniform(image, size, mode, origin, (one_axis(axis, image.ndim),), output=output, cval=cval)


def uniform_filter(input, size=3, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None):
    """Means of boxes, as `scipy.ndimage.uniform_filter`."""
    image = as_image(input)
    return _uniform(image, size, mode, origin, all_axes(axes, image.ndim), output=output, cval=cval)


# ---- Extrema and ranks
# --------------------------------------------------------------------------------------------------
def _extreme_filter1d(input, size, axis, output, mode, cval, origin, which):
    image = _real(as_image(input))
    axis = one_axis(axis, image.ndim)
    if finite("size", size) < 1:
        raise RuntimeError("incorrect filter size")
    _check_origin(size, origin)
    rule_of(mode)
    return _passes(
        image, Output(output, image),
        [(axis, lambda pipe, d, made: _extreme1d(pipe, int(size), d, mode, cval, origin, made, which))], None,
    )


def minimum_filter1d(input, size, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):
    """Least values along an axis, as `scipy.ndimage.minimum_filter1d`."""
    return _extreme_filter1d(input, size, axis, output, mode, cval, origin, "min")


def maximum_filter1d(input, size, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):
    """Greatest values along an axis, as `scipy.ndimage.maximum_filter1d`."""
    return _extreme_filter1d(input, size, axis, output, mode, cval, origin, "max")


def extreme_filter(input, size, footprint, structure, output, mode, cval, origin, axes, which):
    """Minimum or maximum over a box, a footprint, or a structure; also for morphology."""
    if size is not None and footprint is not None:
        warn("ignoring size because footprint is set")
    image = _real(as_image(input))
    place = Output(output, image)
    axes = all_axes(axes, image.ndim)
    if structure is None and footprint is None and size is None:
        raise RuntimeError("no footprint provided")
    if footprint is not None:
        footprint = np.asarray(footprint, dtype=bool)
        if structure is None and not footprint.any():
            raise ValueError("All-zero footprint is not supported.")
    if structure is not None:
        structure = np.asarray(structure, dtype=np.float64)
        footprint = np.ones(structure.shape, bool) if footprint is None else footprint
    elif footprint is None or footprint.all():
        return _extreme_box(
            image, size if footprint is None else footprint.shape, place, mode, cval, origin, axes, which
        )
    footprint, origins = _spread(footprint, origin, axes, image.ndim, "footprint")
    for n, o in zip(footprint.shape, origins):
        _check_origin(n, o)
    if structure is not None:
        if structure.ndim != len(axes):
            raise RuntimeError("structure array has incorrect shape")
        structure = structure.reshape(footprint.shape)
    if not isinstance(mode, str) and isinstance(mode, Iterable):
        raise RuntimeError("A sequence of modes is not supported for non-separable footprints")
    rule_of(mode)
    if image.size == 0:
        return place.finish(image)
    pipe = _pipe_of(image)
    _extreme(pipe, footprint, structure, [mode] * image.ndim, cval, origins, place.stage_type, which)
    return pipe.run(place)


def _extreme_box(image, size, place, mode, cval, origin, axes, which):
    n, stages = len(axes), []
    for axis, s, o, m in zip(axes, finite("size", sequence(size, n)), sequence(origin, n), sequence(mode, n)):
        rule_of(m)
        if s > 1:
            _check_origin(int(s), o)
            stages.append(
                (axis, lambda pipe, d, made, s=int(s), o=o, m=m: _extreme1d(pipe, s, d, m, cval, o, made, which))
            )
    return _passes(image, place, stages, None)


def minimum_filter(input, size=None, footprint=None, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None):
    """Least values of windows, as `scipy.ndimage.minimum_filter`."""
    return extreme_filter(input, size, footprint, None, output, mode, cval, origin, axes, "min")


def maximum_filter(input, size=None, footprint=None, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None):
    """Greatest values of windows, as `scipy.ndimage.maximum_filter`."""
    return extreme_filter(input, size, footprint, None, output, mode, cval, origin, axes, "max")


def _rank_filter(input, rank_of, size, footprint, output, mode, cval, origin, axes):
    if size is not None and footprint is not None:
        warn("ignoring size because footprint is set")
    image = _real(as_image(input))
    axes = all_axes(axes, image.ndim)
    if footprint is None:
        if size is None:
            raise RuntimeError("no footprint or filter size provided")
        footprint = np.ones([int(s) for s in finite("size", sequence(size, len(axes)))], dtype=bool)
    modes = [mode] * image.ndim
    if not isinstance(mode, str) and isinstance(mode, Iterable):
        modes = [None] * image.ndim
        for axis, m in zip(axes, sequence(mode, len(axes))):
            modes[axis] = m
    footprint, origins = _spread(np.asarray(footprint, dtype=bool), origin, axes, image.ndim, "footprint")
    for n, o in zip(footprint.shape, origins):
        _check_origin(n, o)
    n = int(footprint.sum())
    rank = rank_of(n)
    rank += n if rank < 0 else 0
    if not 0 <= rank < n:
        raise RuntimeError("rank not within filter footprint size")
    if rank in (0, n - 1):
        mode = mode if isinstance(mode, str) else list(mode)
        if not isinstance(mode, str) and not footprint.all():
            raise RuntimeError("A sequence of modes is not supported for non-separable footprints")
        return extreme_filter(
            image, None, footprint, None, output,
            modes if not isinstance(mode, str) and len(mode) != image.ndim else mode, cval, origins, None,
            "min" if rank == 0 else "max",
        )
    if not isinstance(mode, str):
        raise RuntimeError("A sequence of modes is not supported by non-separable rank filters")
    rule_of(mode)
    place = Output(output, image)
    if image.size == 0:
        return place.finish(image)
    pipe = _pipe_of(image)
    _rank(pipe, footprint, rank, modes, cval, origins, place.stage_type)
    return pipe.run(place)


def rank_filter(input, rank, size=None, footprint=None, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None):
    """The values of a rank in windows, as `scipy.ndimage.rank_filter`."""
    rank = operator.index(rank)
    return _rank_filter(input, lambda n: rank, size, footprint, output, mode, cval, origin, axes)


def median_filter(input, size=None, footprint=None, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None):
    """Medians of windows, as `scipy.ndimage.median_filter`."""
    return _rank_filter(input, lambda n: n // 2, size, footprint, output, mode, cval, origin, axes)


def percentile_filter(
    input, percentile, size=None, footprint=None, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None
):
    """Percentiles of windows, as `scipy.ndimage.percentile_filter`."""
    percentile = percentile + 100.0 if percentile < 0 else percentile
    if not 0 <= percentile <= 100:
        raise RuntimeError("invalid percentile")
    return _rank_filter(
        input, lambda n: n - 1 if percentile == 100 else int(float(n) * percentile / 100.0), size, footprint, output,
        mode, cval, origin, axes,
    )


def generic_filter(
    input, function, size=None, footprint=None, output=None, mode="reflect", cval=0.0, origin=0, extra_arguments=(),
    extra_keywords=None, *, axes=None,
):
    """A stencil at every point, as `scipy.ndimage.generic_filter`."""
    from .._stencil import Stencil
    if not isinstance(function, Stencil):
        raise _errors.UnsupportedError(
            "generic_filter takes functions that tessera.stencil has made; others cannot be compiled"
        )
    image = _real(as_image(input))
    rule = rule_of(mode)
    if origin or axes is not None:
        raise _errors.UnsupportedError(
            "generic_filter of a stencil has no origin and no axes: the stencil's offsets say where it reads"
        )
    place = Output(output, image)
    def filtered(array):
        return function(
            array, *extra_arguments, border=f"constant({float(cval)!r})" if rule == "constant" else rule,
            **(extra_keywords or {}),
        ).compute()
    return place.finish(_of_function(filtered, plain(image)).astype(place.dtype, copy=False))
