"""What the functions with scikit-image's names share: its rules of types."""
import numpy as np


def as_float(image):
    """Integers scaled to 0..1 or -1..1, as `skimage.util.img_as_float`; reals as they are."""
    image = np.asarray(image)
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
