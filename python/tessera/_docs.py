"""Docstrings in numpydoc's form for functions with names of others: one table says what a parameter of a name is,
whichever function has it."""
import inspect

_PARAMETERS = """
input: array: The image: of NumPy, PyTorch, CuPy, JAX or xarray.
image: array: The image: of NumPy, PyTorch, CuPy, JAX or xarray.
output: array or dtype: Memory for the result, or its element type; that of the image by default.
out: array: Memory for the result.
mode: str or sequence of str: What lies beyond the edges: 'reflect', 'mirror', 'nearest', 'wrap', 'constant' or
    another of the original's; where the function goes along axes also one for each.
cval: number: The value beyond the edges by mode 'constant'.
origin: int or sequence of int: By how many points windows are moved against the direction of the axes.
axes: int or sequence of int: The axes to go along; all by default.
axis: int: The axis to go along.
size: int or sequence of int: Extent of the window, one for all axes or one for each.
footprint: array of bool: The points of the window that count, in place of `size`.
structure: array: What is added to the points of the window, or subtracted; of binary functions the points that count.
weights: array: What the points of the window are multiplied by.
sigma: float or sequence of float: Standard deviation of the Gaussian, in points.
order: int or sequence of int: Of Gaussians which derivative (0: none); of transforms the order of the spline, 0 to 5.
truncate: float: At how many standard deviations the Gaussian ends.
radius: int, float or sequence: Of Gaussian filters after how many points weights end, in place of `truncate`; of
    unsharp_mask the standard deviation.
kwargs: : `truncate` and `radius` of the Gaussian.
rank: int: Which of the sorted values, from the last where it is negative; of structures how many dimensions.
percentile: float: Which of the sorted values, from 0 to 100.
connectivity: int: In how many coordinates neighbours may differ.
function: tessera.Stencil: A function that `tessera.stencil` has made, whose first parameter is the image. It says
    itself what it reads: `size` and `footprint` are not used.
extra_arguments: sequence: More arguments for the function.
extra_keywords: dict: More named arguments for the function.
derivative: callable: `derivative(input, axis, output, mode, cval, ...)` gives the derivative along an axis.
derivative2: callable: `derivative2(input, axis, output, mode, cval, ...)` gives the second derivative along an axis.
iterations: int: How often; until nothing changes where it is less than 1.
mask: array of bool: Where points may change; of edges where the result is not 0.
border_value: bool: The value beyond the edges.
brute_force: bool: Changes nothing.
coordinates: array: Where to read the image, with a first dimension of one coordinate for each of the image's.
matrix: array: What coordinates of the result are multiplied by; or its diagonal; or homogeneous, with the offset.
offset: float or sequence of float: What is added then.
output_shape: tuple of int: Shape of the result; that of the image by default.
prefilter: bool: Whether coefficients of the spline are still to be made of the image.
shift: float or sequence of float: By how many points the image is moved.
zoom: float or sequence of float: How many times as large the result is.
grid_mode: bool: Whether points have extents, and not their centres are what is spread.
angle: float: In degrees.
reshape: bool: Whether the result is as large as the whole turned image needs.
win_size: int: Extent of the window.
sigma_color: float: Standard deviation of values that count as alike; that of the image by default.
sigma_spatial: float: Standard deviation of distances.
bins: int: Changes nothing.
channel_axis: int: The axis of channels, which are filtered one by one.
low_sigma: float or sequence of float: Standard deviation of the narrower Gaussian.
high_sigma: float or sequence of float: Of the wider one; 1.6 times the other by default.
preserve_range: bool: Whether values of integers stay as they are, and are not scaled to 0..1.
ksize: int: Changes nothing.
behavior: {'ndimage'}: How borders are met.
psf: array: What a point becomes, of odd extents.
num_iter: int: How many steps.
clip: bool: Whether results are kept within -1..1.
filter_epsilon: float: Below which blurred values give 0 in place of a quotient.
nbins: int: Number of bins of reals.
hist: array or pair of arrays: Counts, or counts and the values in the middle of their bins, in place of an image.
amount: float: How much of what the Gaussian takes away is added.
"""
_SAID = {
    line.split(": ", 1)[0]: line.split(": ", 2)[1:] for line in _PARAMETERS.replace("\n    ", " ").strip().splitlines()
}


def _lines(text, width=110):
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + len(word) >= width:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    return lines


def document(function):
    """Adds what the parameters are, and what is returned, to a docstring of some lines."""
    if not function.__doc__ or "Parameters\n" in function.__doc__:
        return
    lines = [*inspect.cleandoc(function.__doc__).splitlines(), "", "Parameters", "----------"]
    for name, parameter in inspect.signature(function).parameters.items():
        kind, said = _SAID[name]
        has_default = parameter.default is not parameter.empty
        lines.append(f"{name} : {kind}{', optional' if has_default else ''}" if kind else f"**{name}")
        lines += [f"    {line}" for line in _lines(said)]
    lines += ["", "Returns", "-------", "array", "    Of the kind of the image, and where that lies."]
    function.__doc__ = "\n".join(lines)
