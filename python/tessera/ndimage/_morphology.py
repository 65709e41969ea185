"""Grey and binary morphology with SciPy's names, signatures and rules."""
import operator

import numpy as np

from ._engine import Output, Pipe, Remote, all_axes, as_array, as_image, at, plain, sequence, warn
from ._filters import _check_origin, _mask, _pipe_of, _real, _spread, _window, extreme_filter


def _reflected(array):
    return None if array is None else np.asarray(array)[(slice(None, None, -1),) * np.ndim(array)]


def _reflected_origins(origin, sizes):
    """The origins of a window turned around: those of even extents move to the other of the middle two."""
    return [-o - (1 - int(n) % 2) for o, n in zip(origin, sizes)]


def _needs_one(size, footprint, structure):
    if size is None and footprint is None and structure is None:
        raise ValueError("size, footprint, or structure must be specified")


def grey_erosion(
    input, size=None, footprint=None, structure=None, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None
):
    """Grey erosion, as `scipy.ndimage.grey_erosion`."""
    _needs_one(size, footprint, structure)
    return extreme_filter(input, size, footprint, structure, output, mode, cval, origin, axes, "min")


def grey_dilation(
    input, size=None, footprint=None, structure=None, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None
):
    """Grey dilation, as `scipy.ndimage.grey_dilation`."""
    _needs_one(size, footprint, structure)
    n = len(all_axes(axes, np.ndim(input)))
    footprint, structure = _reflected(footprint), _reflected(structure)
    sizes = (
        footprint.shape if footprint is not None else structure.shape if structure is not None else sequence(size, n)
    )
    origins = _reflected_origins(sequence(origin, n), sizes)
    return extreme_filter(input, size, footprint, structure, output, mode, cval, origins, axes, "max")


def _warn_of_size(size, footprint):
    if size is not None and footprint is not None:
        warn("ignoring size because footprint is set")
        return None
    return size


def _two_steps(first, second, input, size, footprint, structure, output, mode, cval, origin, axes):
    """One after the other. SciPy keeps what a structure makes of bools in their bytes, which need not be 0 or 1 in
    between."""
    image = as_array(input)
    if image.dtype == np.bool_ and structure is not None:
        image, output = image.view(np.uint8), np.bool_ if output is None else output
    made = first(image, size, footprint, structure, None, mode, cval, origin, axes=axes)
    return second(made, size, footprint, structure, output, mode, cval, origin, axes=axes)


def grey_opening(
    input, size=None, footprint=None, structure=None, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None
):
    """Erosion, then dilation, as `scipy.ndimage.grey_opening`."""
    size = _warn_of_size(size, footprint)
    return _two_steps(grey_erosion, grey_dilation, input, size, footprint, structure, output, mode, cval, origin, axes)


def grey_closing(
    input, size=None, footprint=None, structure=None, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None
):
    """Dilation, then erosion, as `scipy.ndimage.grey_closing`."""
    size = _warn_of_size(size, footprint)
    return _two_steps(grey_dilation, grey_erosion, input, size, footprint, structure, output, mode, cval, origin, axes)


def _given(output):
    return output if isinstance(output, (np.ndarray, Remote)) else None


def morphological_gradient(
    input, size=None, footprint=None, structure=None, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None
):
    """Dilation less erosion, as `scipy.ndimage.morphological_gradient`."""
    place = _given(output)
    high = grey_dilation(input, size, footprint, structure, None, mode, cval, origin, axes=axes)
    low = grey_erosion(input, size, footprint, structure, place, mode, cval, origin, axes=axes)
    return np.subtract(high, low, place)


def morphological_laplace(
    input, size=None, footprint=None, structure=None, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None
):
    """Dilation plus erosion less twice the image, as `scipy.ndimage.morphological_laplace`."""
    image = as_array(input)
    high = grey_dilation(image, size, footprint, structure, None, mode, cval, origin, axes=axes)
    low = grey_erosion(image, size, footprint, structure, _given(output), mode, cval, origin, axes=axes)
    np.add(high, low, low)
    np.subtract(low, image, low)
    return np.subtract(low, image, low)


def _difference(a, b, place):
    if a.dtype == np.bool_ and b.dtype == np.bool_:
        return np.bitwise_xor(a, b, out=place)
    return np.subtract(a, b, out=place)


def white_tophat(
    input, size=None, footprint=None, structure=None, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None
):
    """The image less its opening, as `scipy.ndimage.white_tophat`."""
    image = as_array(input)
    opened = grey_opening(
        image, _warn_of_size(size, footprint), footprint, structure, output, mode, cval, origin, axes=axes
    )
    return _difference(image, opened, opened)


def black_tophat(
    input, size=None, footprint=None, structure=None, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None
):
    """The closing less the image, as `scipy.ndimage.black_tophat`."""
    image = as_array(input)
    closed = grey_closing(
        image, _warn_of_size(size, footprint), footprint, structure, output, mode, cval, origin, axes=axes
    )
    return _difference(closed, image, closed)


# ---- Binary
# --------------------------------------------------------------------------------------------------
def generate_binary_structure(rank, connectivity):
    """The neighbours of a point that differ from it in at most so many coordinates, as
    `scipy.ndimage.generate_binary_structure`."""
    if rank < 1:
        return np.array(True)
    return np.abs(np.indices([3] * rank) - 1).sum(0) <= max(connectivity, 1)


def _binary_step(image, structure, mask, border, origins, which):
    """Erosion ('all') or dilation ('any') once, of a bool image."""
    pipe = Pipe(image)
    rules = pipe.rules(["constant"] * image.ndim, bool(border))
    ranges, names, offsets = _window(structure.shape, origins)
    if not structure.any():
        body = "true" if which == "all" else "false"
    else:
        where = "" if structure.all() else f" where inside[{', '.join(names)}] != 0"
        body = f"{which}({ranges}{where} : {at(offsets)})"
    masks = (
        []
        if structure.all() or not structure.any()
        else [_mask(structure.astype(int), whole=True).replace("mask w", "mask inside")]
    )
    pipe.stage(body, "bool", "bool", rules, structure.size, masks=masks)
    if mask is not None:
        sizes = ", ".join(f"N{d}" for d in range(image.ndim))
        pipe.declarations.append(f"vector#{image.ndim} bool m[{sizes}];")
        pipe.inputs.append(mask)
        pipe.combine([pipe.last, "a", "m"], "P2 ? P0 : P1", "bool")
    return pipe


def _differ(a, b):
    return a.differs_from(b) if isinstance(a, Remote) else not np.array_equal(a, b)


def _binary(input, structure, iterations, mask, output, border, origin, axes, which):
    try:
        iterations = operator.index(iterations)
    except TypeError as error:
        raise TypeError("iterations parameter should be an integer") from error
    image = _real(as_array(input))
    if image.ndim == 0:  # a point, as a line of one
        made = _binary(
            image[None], [True] if structure is None else np.reshape(structure, 1), iterations,
            None if mask is None else np.reshape(mask, 1), bool, border, origin, axes, which,
        )
        return Output(output if _given(output) is not None else bool, image).finish(made[0])
    axes = all_axes(axes, image.ndim)
    structure = generate_binary_structure(len(axes), 1) if structure is None else np.asarray(structure, dtype=bool)
    if structure.ndim != len(axes):
        raise RuntimeError("structure and input must have same dimensionality")
    if structure.size < 1:
        raise RuntimeError("structure must not be empty")
    if mask is not None:
        mask = plain(as_array(mask) != 0)
        if mask.shape != image.shape:
            raise RuntimeError("mask and input must have equal sizes")
    origins = sequence(origin, len(axes))
    if which == "any":
        origins = _reflected_origins(origins, structure.shape)
        structure = _reflected(structure)
    structure, origins = _spread(structure, origins, axes, image.ndim, "structure")
    for n, o in zip(structure.shape, origins):
        _check_origin(n, o)
    if _given(output) is not None:
        if np.iscomplexobj(output):
            raise TypeError("Complex output type not supported")
    else:
        output = bool
    place = Output(output, image)
    current = plain(image != 0)
    if image.size == 0:
        return place.finish(current)
    _pipe_of(current)
    done = 0
    while True:
        made = _binary_step(current, structure, mask, border, origins, which).run(Output(None, current))
        done += 1
        if done == iterations or (iterations < 1 and not _differ(made, current)):
            return place.finish(made)
        current = made


def binary_erosion(
    input, structure=None, iterations=1, mask=None, output=None, border_value=0, origin=0, brute_force=False, *,
    axes=None,
):
    """Binary erosion, as `scipy.ndimage.binary_erosion`; `brute_force` changes nothing."""
    return _binary(input, structure, iterations, mask, output, border_value, origin, axes, "all")


def binary_dilation(
    input, structure=None, iterations=1, mask=None, output=None, border_value=0, origin=0, brute_force=False, *,
    axes=None,
):
    """Binary dilation, as `scipy.ndimage.binary_dilation`; `brute_force` changes nothing."""
    return _binary(input, structure, iterations, mask, output, border_value, origin, axes, "any")
