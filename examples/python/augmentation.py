"""Training data for PyTorch: a tensor goes in, tensors come out, sharper or softer and brighter or darker by chance.
Without PyTorch, arrays do."""
import numpy as np
from pictures import photo, show

import tessera

try:
    from torch import from_numpy
except ImportError:
    from numpy import asarray as from_numpy


@tessera.stencil(border="reflect")
def augmented(X, sway, gain):
    near = tessera.mean(lambda i, j: X[i, j], (-2, 2), (-2, 2))
    return np.clip(gain * (X + sway * (X - near)), 0.0, 1.0)


rng = np.random.default_rng(2)
tensor = from_numpy(photo())
batch = [augmented(tensor, rng.uniform(-1, 3), rng.uniform(0.6, 1.5)).compute() for _ in range(3)]
assert all(type(b) is type(tensor) for b in batch)
show(tensor, *batch)
