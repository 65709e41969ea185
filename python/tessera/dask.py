"""Programs over dask arrays: chunk by chunk, with as many points more at each edge as the program reads."""
import numpy as np

from . import _errors


def map(program, *arrays, **numbers):
    """A program over dask arrays, by `dask.array.map_overlap` with the program's reach; nothing is computed yet.

    The bits are those of the whole arrays at once, whatever the chunks.

    Parameters
    ----------
    program : tessera.Program
        It has one result, of the shape of its images, each point of which depends on near points of the images alone.
    *arrays : dask array
        For its images, in the order declared, all of one shape.
    **numbers
        Its numbers.

    Returns
    -------
    dask array

    Raises
    ------
    UnsupportedError
        Points of the result depend on far ones (numbers of whole images, `wrap`, scaled or computed indices), or on
        where they are.
    """
    import dask.array
    reach = program.margins(**numbers)
    if len(program.outputs) != 1:
        raise _errors.UnsupportedError(f"tessera.dask.map takes programs of one result, not of {len(program.outputs)}")
    if any(i.channels for i in program.inputs) or program.outputs[0].channels:
        raise _errors.UnsupportedError("tessera.dask.map takes programs whose pixels have one field")
    shapes = {a.shape for a in arrays}
    if len(shapes) != 1 or len(next(iter(shapes))) != len(reach):
        raise _errors.ArgumentError(
            f"the arrays should have one shape of {len(reach)} dimensions, not "
            f"{', '.join(str(a.shape) for a in arrays)}"
        )

    def part(*blocks):
        return program(*(np.ascontiguousarray(b) for b in blocks), **numbers)

    kind = np.dtype(program.outputs[0].dtype)
    return dask.array.map_overlap(
        part, *arrays, depth=dict(enumerate(reach)), boundary="none", trim=True, allow_rechunk=True, dtype=kind,
        meta=np.empty((0,) * len(reach), kind),
    )
