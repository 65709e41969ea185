"""A stack of noisy slices: a median in three dimensions, and the brightest value along the stack."""
import numpy as np
from pictures import photo, show

import tessera.ndimage as ndimage

rng = np.random.default_rng(4)
stack = np.stack([photo() * weight for weight in (0.6, 0.8, 1.0, 0.8, 0.6)]).astype(np.float32)
stack[rng.random(stack.shape) < 0.15] = 1
clean = ndimage.median_filter(stack, size=(3, 3, 3))
show(stack[2], clean[2], ndimage.maximum_filter1d(clean, 5, axis=0)[2])
