"""Remote sensing: a vegetation index where clouds hide the ground, filled from the neighbours that are seen."""
import numpy as np
from pictures import SIZE, photo, show

import tessera

NODATA = -1.0


@tessera.stencil
def index_of(red, infrared):
    return (infrared - red) / (infrared + red) if red >= 0 and infrared + red > 0 else -9.0


@tessera.stencil
def filled(V):
    weight = tessera.sum(lambda i, j: 1.0 if V[i, j] > -9 else 0.0, (-6, 6), (-6, 6))
    total = tessera.sum(lambda i, j: V[i, j] if V[i, j] > -9 else 0.0, (-6, 6), (-6, 6))
    return V if V > -9 else total / max(weight, 1.0)


red, infrared = photo(), photo()[::-1] * 0.8 + 0.1
clouds = np.hypot(*(np.indices((SIZE, SIZE)) - SIZE // 2)) % 64 < 9
red = np.where(clouds, np.float32(NODATA), red)
v = index_of(red, infrared)
raw, whole = tessera.compute(v, filled(v))
show(np.where(raw > -9, raw / 2 + 0.5, 0), whole / 2 + 0.5)
