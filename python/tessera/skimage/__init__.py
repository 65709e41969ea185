"""Functions of scikit-image, compiled: `filters`, `morphology` and `restoration` have them under its names, and so has
this module.

scikit-image finds them by the entry points `skimage_backends` and `skimage_backend_infos`, for the functions that its
version hands on to backends. """
from ..ndimage._device import takes_all as _takes_all
from . import filters, morphology, restoration

for _module in (filters, morphology, restoration):
    for _name, _function in list(vars(_module).items()):
        if _function.__class__ is type(_takes_all) and _function.__module__ == _module.__name__ and _name[0] != "_":
            setattr(_module, _name, _takes_all(_function))

from .filters import (
    difference_of_gaussians, farid, gaussian, laplace, median, prewitt, scharr, sobel, threshold_otsu, unsharp_mask,
)
from .morphology import black_tophat, closing, dilation, erosion, opening, white_tophat
from .restoration import denoise_bilateral, richardson_lucy

__all__ = [name for name in dir() if not name.startswith("_")]

_FUNCTIONS = {
    f"skimage.{module.__name__.rsplit('.', 1)[1]}:{name}": getattr(module, name)
    for module, names in (
        (
            filters,
            [
                "difference_of_gaussians", "farid", "gaussian", "laplace", "median", "prewitt", "scharr", "sobel",
                "threshold_otsu", "unsharp_mask",
            ],
        ),
        (morphology, ["black_tophat", "closing", "dilation", "erosion", "opening", "white_tophat"]),
        (restoration, ["denoise_bilateral", "richardson_lucy"]),
    )
    for name in names
}


class _Information:
    """What scikit-image asks of a backend first."""

    supported_functions = sorted(_FUNCTIONS)


def backend_information():
    """The entry point `skimage_backend_infos`."""
    return _Information()


class backend:
    """The entry point `skimage_backends`."""

    @staticmethod
    def can_has(name, *args, **kwargs):
        """Whether a call is wanted: of arrays of types that programs have."""
        import numpy as np
        image = args[0] if args else kwargs.get("image")
        known = isinstance(image, np.ndarray) and (image.dtype.kind in "bui" or image.dtype in (np.float32, np.float64))
        return name in _FUNCTIONS and known and 1 <= image.ndim <= 4

    @staticmethod
    def get_implementation(name):
        """The function behind a name."""
        return _FUNCTIONS[name]
