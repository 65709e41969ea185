"""A camera's raw mosaic of red, green and blue made a colour picture, linearly."""
import numpy as np
from pictures import photo, show

import tessera


@tessera.stencil(border="mirror")
def green(R):
    cross = (R[-1, 0] + R[1, 0] + R[0, -1] + R[0, 1]) / 4
    return R if (tessera.index(0) + tessera.index(1)) % 2 == 1 else cross


@tessera.stencil(border="mirror")
def at_corners(R, row, column):
    y, x = (tessera.index(0) + row) % 2, (tessera.index(1) + column) % 2
    across, down = (R[0, -1] + R[0, 1]) / 2, (R[-1, 0] + R[1, 0]) / 2
    diagonal = (R[-1, -1] + R[-1, 1] + R[1, -1] + R[1, 1]) / 4
    return R if y == 0 and x == 0 else across if y == 0 else down if x == 0 else diagonal


picture = photo("chelsea.png", colour=True)
raw = picture[..., 1].copy()
raw[::2, ::2], raw[1::2, 1::2] = picture[::2, ::2, 0], picture[1::2, 1::2, 2]
show(raw, np.stack(tessera.compute(at_corners(raw, 0, 0), green(raw), at_corners(raw, 1, 1)), -1))
