"""Ridges at several scales: the larger curvature of the picture, smoothed by Gaussians of three widths."""
import numpy as np
from pictures import photo, show, stretched

import tessera
import tessera.ndimage as ndimage


@tessera.stencil
def ridge(XX, XY, YY, scale):
    half = (XX - YY) / 2
    return scale * scale * max((XX + YY) / 2 + np.sqrt(half * half + XY * XY), 0.0)


@tessera.stencil
def strongest(A, B, C):
    return max(A, B, C)


image = photo()
scales = [
    ridge(*(ndimage.gaussian_filter(image, s, order) for order in ((0, 2), (1, 1), (2, 0))), s) for s in (1.0, 2.0, 4.0)
]
show(image, stretched(strongest(*scales)))
