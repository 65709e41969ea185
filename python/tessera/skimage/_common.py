"""What the functions with scikit-image's names share: its rules of types, and programs that begin with them."""
import numpy as np

from ..ndimage._engine import Pipe, as_array, plain


def as_float(image):
    """Integers scaled to 0..1 or -1..1, as `skimage.util.img_as_float`; reals as they are."""
    image = as_array(image)
    if image.dtype.kind == "f":
        return image.astype(np.float32) if image.dtype == np.float16 else image
    if image.dtype.kind == "b":
        return image.astype(np.float64)
    if image.dtype.kind == "u":
        return image * (1.0 / np.iinfo(image.dtype).max)
    if image.dtype.kind == "i":
        return np.maximum(image * (1.0 / np.iinfo(image.dtype).max), -1.0)
    raise ValueError(f"images of {image.dtype.name} are not known here")


def float_type(dtype):
    """The type that scikit-image computes in."""
    return np.dtype(np.float32) if dtype in (np.float16, np.float32) else np.dtype(np.float64)


def float_pipe(image):
    """A program whose last image is `as_float` of one, in the type that scikit-image computes in."""
    image = as_array(image)
    if image.dtype.kind not in "buif" or image.dtype in (np.float16, np.uint64) or not 1 <= image.ndim <= 4:
        image = as_float(image)
    pipe, kind = Pipe(plain(image)), image.dtype.kind
    if kind != "f":
        scale = "" if kind == "b" else f" * {1.0 / np.iinfo(image.dtype).max!r}d"
        body = f"cast<double>(X){scale}"
        pipe.stage(f"max({body}, -1.0d)" if kind == "i" else body, "any", "float64", None)
        pipe.lowest = pipe.highest = None
    return pipe

