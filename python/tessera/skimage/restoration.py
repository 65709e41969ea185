"""Functions of `skimage.restoration`, compiled, with their signatures."""
import math

import numpy as np

from .. import _errors
from .._stencil import compiled
from .._translate import TYPES
from ..ndimage._device import run as run_there
from ..ndimage._engine import RULES, Remote, as_array, in_rows
from ._common import as_float, float_type


def _sizes(n):
    return ", ".join(f"N{d}" for d in range(n))


def _step(n, kind, guarded):
    """A program of one step: the estimate times what the blurred ratio of image and blurred estimate says."""
    point = ", ".join(["i", "j", "k", "l"][:n])
    extents = ", ".join(f"K{d}" for d in range(n))
    guard = "B < least ? 0 : I / B" if guarded else "I / B"
    return (
        f"stencil blurred(vector#{n} {kind} X, mask#{n} {kind} m) {{ return sum({point} in m : m[{point}] * "
        f"X@[{point}]) + cast<{kind}>(1e-12d); }}\n"
        f"stencil weighed(vector#{n} {kind} X, mask#{n} {kind} m) {{ return sum({point} in m : m[{point}] * "
        f"X@[{point}]); }}\n"
        f"stencil ratio(vector#{n} {kind} I, vector#{n} {kind} B, {kind} least) {{ return {guard}; }}\n"
        f"parameter {_sizes(n)}, {extents};\nvector#{n} {kind} image[{_sizes(n)}];\nvector#{n} {kind} "
        f"estimate[{_sizes(n)}];\n"
        f"mask#{n} {kind} psf[{extents}];\nmask#{n} {kind} turned[{extents}];\n{kind} least;\n"
        f"b = blurred(estimate:constant(0), turned);\nr = ratio(image, b, least);\nw = weighed(r:constant(0), psf);\n"
        f"next = estimate * w;\nreturn next;\n"
    )


def richardson_lucy(image, psf, num_iter=50, clip=True, filter_epsilon=None):
    """Deconvolution by Richardson and Lucy, as `skimage.restoration.richardson_lucy`, for spread functions of odd
    extents."""
    image, psf = as_array(image), np.asarray(psf)
    kind = float_type(image.dtype)
    if psf.ndim != image.ndim or not 1 <= image.ndim <= 4:
        raise _errors.ArgumentError(f"the image has {image.ndim} dimensions, but the spread function {psf.ndim}")
    if not all(n % 2 for n in psf.shape):
        raise _errors.UnsupportedError(f"spread functions have odd extents here, not {psf.shape}")
    image = in_rows(image.astype(kind, copy=False))
    psf = np.ascontiguousarray(psf, kind)
    turned = np.ascontiguousarray(np.flip(psf))
    text, estimate = _step(image.ndim, TYPES[kind.name], bool(filter_epsilon)), np.full(image.shape, 0.5, kind)
    if isinstance(image, Remote):
        estimate, psf, turned = (image.beside(a) for a in (estimate, psf, turned))
        for _ in range(num_iter):
            estimate = run_there(text, [image, estimate, psf, turned], {"least": filter_epsilon or 0.0}, "default")
        return estimate.clip(-1, 1) if clip else estimate
    step, other = compiled(text, name="richardson_lucy", quiet=True), np.empty(image.shape, kind)
    for _ in range(num_iter):
        step(image, estimate, psf, turned, least=filter_epsilon or 0.0, out=other)
        estimate, other = other, estimate
    return np.clip(estimate, -1, 1, out=estimate) if clip else estimate


def _nearness(win_size, sigma, dtype):
    """The weights of distances. scikit-image's table has a row and a column more than the window and is read by the
    window's width, so that they are not symmetric about the point; results are the same only with the same weights."""
    steps = np.arange(-win_size // 2, win_size // 2 + 1)
    table = np.exp(-0.5 * (np.hypot(*np.meshgrid(steps, steps, indexing="ij"))**2 / sigma**2)).astype(dtype)
    return table.ravel()[:win_size * win_size].reshape(win_size, win_size)


def _bilateral(channels, kind, win_size, rule):
    radius, pixel, declare = (win_size - 1) // 2, kind, ""
    distance = "(X@[i, j] - X) * (X@[i, j] - X)"
    if channels > 1:
        names = [f"c{c}" for c in range(channels)]
        pixel, declare = "pixel", f"struct pixel {{{''.join(f' {kind} {n};' for n in names)} }}\n"
        distance = " + ".join(f"(X@[i, j].{n} - X.{n}) * (X@[i, j].{n} - X.{n})" for n in names)
    window = f"i = -{radius}..{radius}, j = -{radius}..{radius}"
    weight = f"near[i + {radius}, j + {radius}] * exp(alike * ({distance}))"
    return (
        f"{declare}stencil f(vector#2 {pixel} X, vector#2 {kind} near, {kind} alike) {{\n"
        f"    weights = sum({window} : {weight});\n    values = sum({window} : {weight} * X@[i, j]);\n    return "
        f"values / weights;\n}}\n"
        f"parameter M, N;\nvector#2 {pixel} image[M, N];\nvector#2 {kind} near[{win_size}, {win_size}];\n{kind} "
        f"alike;\n{kind} edge;\n"
        f"return f(image:{rule.replace('constant', 'constant(edge)')}, near, alike);\n"
    )


def _moved(image, source, destination):
    return image.moveaxis(source, destination) if isinstance(image, Remote) else np.moveaxis(
        image, source, destination
    )


def denoise_bilateral(
    image, win_size=None, sigma_color=None, sigma_spatial=1, bins=10000, mode="constant", cval=0, *, channel_axis=None
):
    """Bilateral filter, as `skimage.restoration.denoise_bilateral`, with exponentials in place of tables: `bins`
    changes nothing."""
    image = as_array(image)
    if channel_axis is not None:
        image = _moved(image, channel_axis, -1)
    if image.ndim != 2 + (channel_axis is not None):
        raise ValueError(
            f"Bilateral filter is for images of two dimensions, and channels by channel_axis, not of shape "
            f"{image.shape}"
        )
    if image.min() == image.max():
        return image if channel_axis is None else _moved(image, -1, channel_axis)
    win_size = max(5, 2 * math.ceil(3 * sigma_spatial) + 1) if win_size is None else int(win_size)
    if win_size % 2 == 0:
        raise _errors.UnsupportedError(f"windows have odd sizes here, not {win_size}")
    lowest = min(float(image.min()), 0.0)  # scikit-image's constant is above the lowest value, if that is negative
    image = in_rows(as_float(image))
    sigma_color = sigma_color or image.std()
    rule = RULES.get({"edge": "nearest", "symmetric": "reflect", "reflect": "mirror"}.get(mode, mode))
    if rule is None:
        raise ValueError(f"unsupported mode, got {mode!r}")
    channels = 1 if channel_axis is None else image.shape[-1]
    text = _bilateral(channels, TYPES[image.dtype.name], win_size, rule)
    arrays = [image, np.ascontiguousarray(_nearness(win_size, sigma_spatial, image.dtype))]
    numbers = dict(alike=-0.5 / (channels * float(sigma_color))**2, edge=float(cval) + lowest)
    if isinstance(image, Remote):
        result = run_there(text, arrays, numbers, "default")
    else:
        result = compiled(text, name="denoise_bilateral", quiet=True)(*arrays, **numbers)
    return result if channel_axis is None else _moved(result, -1, channel_axis)
