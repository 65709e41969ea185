"""Reading and writing the gallery's pictures."""
import os
import pathlib
import sys

import numpy as np
from PIL import Image

SIZE = int(os.environ.get("GALLERY_SIZE", 256))  # tests take less
IMAGES = pathlib.Path(__file__).resolve().parents[1] / "images"


def photo(name="camera.png", size=SIZE, colour=False):
    """A picture as floats of 0..1."""
    picture = Image.open(IMAGES / name).convert("RGB" if colour else "L").resize((size, size), Image.Resampling.LANCZOS)
    return np.asarray(picture, np.float32) / 255


def show(*panels):
    """Writes the panels side by side to the file that the command line names."""
    panels = [np.repeat(p[..., None], 3, -1) if p.ndim == 2 else p for p in map(np.asarray, panels)]
    row = np.clip(np.concatenate(panels, 1), 0, 1)
    Image.fromarray((row * 255 + 0.5).astype(np.uint8)).save(
        sys.argv[1] if len(sys.argv) > 1 else "gallery.jpg", quality=85
    )


def stretched(a):
    """Its range as 0..1."""
    a = np.asarray(a, float)
    return (a - a.min()) / max(a.max() - a.min(), 1e-9)
