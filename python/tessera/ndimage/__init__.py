"""The names of `scipy.ndimage`, compiled: the same signatures, modes, origins, types and results.

Sums are of doubles, in SciPy's order, and each pass is stored as the type of the output, so that integers, ranks and
extrema are equal and floats are SciPy's to the last bit, but for `uniform_filter` of floats, where SciPy's sums slide
along: there each value is within 2 units in the last place of the sum in float64. """
from ._device import wrap_all as _wrap_all
from ._filters import (
    convolve, convolve1d, correlate, correlate1d, gaussian_filter, gaussian_filter1d, gaussian_gradient_magnitude,
    gaussian_laplace, generic_filter, generic_gradient_magnitude, generic_laplace, laplace, maximum_filter,
    maximum_filter1d, median_filter, minimum_filter, minimum_filter1d, percentile_filter, prewitt, rank_filter, sobel,
    uniform_filter, uniform_filter1d,
)
from ._interpolation import affine_transform, map_coordinates, rotate, shift, zoom
from ._morphology import (
    binary_dilation, binary_erosion, black_tophat, generate_binary_structure, grey_closing, grey_dilation,
    grey_erosion, grey_opening, morphological_gradient, morphological_laplace, white_tophat,
)

__all__ = [name for name in dir() if not name.startswith("_")]

_wrap_all(__name__)
