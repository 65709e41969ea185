"""A picture larger than memory, as dask has it: chunk by chunk, with the bits of the whole."""
import dask.array
import numpy as np
from pictures import photo, show

import tessera

p = tessera.compile(
    'use "filters";\nborder mirror;\nparameter M, N;\nvector#2 float image[M, N];\nreturn unsharp(image, 2.0, 1.5);\n'
)
image = photo()
chunks = dask.array.from_array(image, chunks=(100, 70))
sharp = tessera.dask.map(p, chunks).compute()
assert (sharp == p(image)).all()
grid = np.zeros_like(image)
grid[::100], grid[:, ::70] = 0.5, 0.5
show(np.maximum(image, grid), sharp)
