"""Microscopy: what a lens has blurred, made sharp again by Richardson and Lucy."""
import numpy as np
from pictures import SIZE, photo, show

import tessera.ndimage as ndimage
from tessera.skimage import richardson_lucy

x = np.arange(-5, 6)
psf = np.exp(-np.add.outer(x**2, x**2) / 8).astype(np.float32)
psf /= psf.sum()
blurred = ndimage.convolve(photo(), psf) + np.random.default_rng(0).normal(0, 0.002, (SIZE, SIZE)).astype(np.float32)
show(blurred, richardson_lucy(blurred, psf, 30))
