"""Functions of `skimage.morphology`, compiled, with their signatures and results."""
import numpy as np

from .. import ndimage
from ..ndimage._engine import as_array

_MODES = ("reflect", "constant", "nearest", "mirror", "wrap", "max", "min", "ignore")


def _several(footprint):
    """Footprints with how often each is applied."""
    return (
        footprint
        if isinstance(footprint, (list, tuple))
        and len(footprint)
        and isinstance(footprint[0], (list, tuple))
        and np.ndim(footprint[0][0]) > 0
        else None
    )


def _footprints(image, footprint, turned):
    """A list of (footprint of odd extents, times)."""
    if footprint is None:
        footprint = ndimage.generate_binary_structure(np.ndim(image), 1)
    made = []
    for array, times in _several(footprint) or [(footprint, 1)]:
        array = np.asarray(array)
        array = np.pad(array, [(1 - n % 2, 0) for n in array.shape])
        made.append((array[(slice(None, None, -1),) * array.ndim] if turned else array, times))
    return made


def _constant(dtype, mode, cval):
    if mode not in _MODES:
        raise ValueError(f"unsupported mode, got {mode!r}")
    if mode not in ("max", "min"):
        return mode, cval
    if dtype == bool:
        return "constant", mode == "max"
    if dtype.kind in "iu":
        return "constant", getattr(np.iinfo(dtype), mode)
    return "constant", np.inf if mode == "max" else -np.inf


def _steps(filter, image, footprints, out, mode, cval):
    mode, cval = _constant(image.dtype, mode, cval)
    result = image
    for footprint, times in footprints:
        for _ in range(times):
            result = filter(result, footprint=footprint, mode=mode, cval=cval)
    if out is None:
        return result
    out[...] = result
    return out


def erosion(image, footprint=None, out=None, *, mode="reflect", cval=0.0):
    """Grey erosion, as `skimage.morphology.erosion`."""
    image = as_array(image)
    return _steps(
        ndimage.grey_erosion, image, _footprints(image, footprint, False), out, "max" if mode == "ignore" else mode,
        cval,
    )


def dilation(image, footprint=None, out=None, *, mode="reflect", cval=0.0):
    """Grey dilation, as `skimage.morphology.dilation`."""
    image = as_array(image)
    return _steps(
        ndimage.grey_dilation, image, _footprints(image, footprint, True), out, "min" if mode == "ignore" else mode,
        cval,
    )


def opening(image, footprint=None, out=None, *, mode="reflect", cval=0.0):
    """Erosion, then dilation, as `skimage.morphology.opening`."""
    eroded = erosion(image, _footprints(image, footprint, False), mode=mode, cval=cval)
    return dilation(eroded, _footprints(image, footprint, True), out, mode=mode, cval=cval)


def closing(image, footprint=None, out=None, *, mode="reflect", cval=0.0):
    """Dilation, then erosion, as `skimage.morphology.closing`."""
    dilated = dilation(image, _footprints(image, footprint, False), mode=mode, cval=cval)
    return erosion(dilated, _footprints(image, footprint, True), out, mode=mode, cval=cval)


def _less(a, b, out):
    result = np.logical_xor(a, b) if a.dtype == bool else np.subtract(a, b)
    if out is None:
        return result
    out[...] = result
    return out


def white_tophat(image, footprint=None, out=None, *, mode="reflect", cval=0.0):
    """The image less its opening, as `skimage.morphology.white_tophat`."""
    image = as_array(image)
    return _less(image, opening(image, footprint, mode=mode, cval=cval), out)


def black_tophat(image, footprint=None, out=None, *, mode="reflect", cval=0.0):
    """The closing less the image, as `skimage.morphology.black_tophat`."""
    image = as_array(image)
    return _less(closing(image, footprint, mode=mode, cval=cval), image, out)
