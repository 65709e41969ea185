"""Image pipelines of stencils, compiled.

A program says what the pixels of images are; Tessera decides how they are computed, and computes them.

>>> import numpy as np, tessera
>>> blur = tessera.compile('''
... stencil rows(vector#2 float X) { return (X@[0, -1] + X + X@[0, 1]) / 3.0; }
... parameter M, N;
... vector#2 float photo[M, N];
... return rows(photo:mirror);
... ''', name="blur")
>>> blur(np.array([[0, 3, 6]], np.float32))
array([[2., 3., 4.]], dtype=float32)

Submodules are loaded when they are first used: `tessera.ndimage` has the names of `scipy.ndimage`, `tessera.skimage`
those of scikit-image. """
import importlib

_HOMES = {
    "_program": ["compile", "Program", "Input", "Output", "Timing", "machine", "presets"],
    "_errors": [
        "Error", "CompileError", "ArgumentError", "ArgumentTypeError", "CompilerError", "DeviceError", "OutOfMemory",
        "FileError", "UnsupportedError", "InternalError", "TesseraWarning", "CopyWarning", "ProgramWarning",
    ],
    "_stencil": [
        "stencil", "sum", "prod", "min", "max", "mean", "median", "any", "all", "index", "const", "compute", "Stencil",
        "Lazy",
    ],
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}
_SUBMODULES = ["ndimage", "skimage", "dask"]
__all__ = [*_HOME, *_SUBMODULES, "__version__"]


def __getattr__(name):
    if name == "__version__":
        from ._core import version
        return version
    if name in _SUBMODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'tessera' has no attribute '{name}'")
    value = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted(__all__)
