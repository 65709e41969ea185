"""Three exposures of one scene made one picture: each point from the exposures that show it well."""
import numpy as np
from pictures import SIZE, photo, show

import tessera


@tessera.stencil(border="mirror")
def fused(A, B, C):
    a = tessera.sum(lambda i, j: np.exp(-12.5 * (A[i, j] - 0.5) ** 2), (-2, 2), (-2, 2))
    b = tessera.sum(lambda i, j: np.exp(-12.5 * (B[i, j] - 0.5) ** 2), (-2, 2), (-2, 2))
    c = tessera.sum(lambda i, j: np.exp(-12.5 * (C[i, j] - 0.5) ** 2), (-2, 2), (-2, 2))
    return (a * A + b * B + c * C) / (a + b + c)


scene = photo() * np.linspace(0.1, 3, SIZE, dtype=np.float32)
exposures = [np.clip(scene * gain, 0, 1).astype(np.float32) for gain in (0.4, 1, 3)]
show(*exposures, fused(*exposures))
