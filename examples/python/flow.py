"""Optical flow by Lucas and Kanade: where each neighbourhood has moved, from one least-squares fit a point."""
import numpy as np
from pictures import photo, show

import tessera
import tessera.ndimage as ndimage


@tessera.stencil
def slope_x(A):
    return (A[0, 1] - A[0, -1]) / 2


@tessera.stencil
def slope_y(A):
    return (A[1, 0] - A[-1, 0]) / 2


@tessera.stencil
def moved(GX, GY, T, along):
    xx = tessera.sum(lambda i, j: GX[i, j] * GX[i, j], (-7, 7), (-7, 7)) + 1e-3
    yy = tessera.sum(lambda i, j: GY[i, j] * GY[i, j], (-7, 7), (-7, 7)) + 1e-3
    xy = tessera.sum(lambda i, j: GX[i, j] * GY[i, j], (-7, 7), (-7, 7))
    xt = tessera.sum(lambda i, j: GX[i, j] * T[i, j], (-7, 7), (-7, 7))
    yt = tessera.sum(lambda i, j: GY[i, j] * T[i, j], (-7, 7), (-7, 7))
    d = xx * yy - xy * xy
    return (xy * yt - yy * xt) / d if along > 0 else (xy * xt - xx * yt) / d


before = ndimage.gaussian_filter(photo(), 2)
after = ndimage.rotate(before, 1.0, reshape=False, order=1, mode="nearest")
gx, gy = slope_x(before), slope_y(before)
u, v = tessera.compute(moved(gx, gy, after - before, 1), moved(gx, gy, after - before, 0))
show(before, np.stack([u / 6 + 0.5, v / 6 + 0.5, np.full_like(u, 0.5)], -1))
