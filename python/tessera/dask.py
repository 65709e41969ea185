"""Programs over dask arrays: chunk by chunk, with as many points more at each edge as the program reads."""
import functools
import itertools

import numpy as np

from . import _arrays, _errors, _parts


def map(program, *arrays, **numbers):
    """A program over dask arrays, chunk by chunk; nothing is computed yet.

    The bits are those of the whole arrays at once, whatever the chunks. Each chunk is computed of what it depends on:
    by `dask.array.map_overlap` with the program's reach where points depend on near points alone, else of slices of
    the arrays. Numbers of whole images (`mean`, `maximum`, histograms ...) are computed before, of all chunks in the
    order that the language fixes, so each costs a pass over what it is taken of. Dimensions in which points depend on
    far ones (computed indices, images mirrored or turned) are not cut: there each task has them whole.

    Parameters
    ----------
    program : tessera.Program
    *arrays : dask array, or DataArray of one
        For its images and masks, in the order declared; NumPy's arrays for those that are little.
    **numbers
        Its numbers.

    Returns
    -------
    dask array, or tuple of dask arrays
        The results; those whose points have several fields have a dimension more, of one chunk. Given a DataArray of
        xarray, so are they, with its coordinates and attributes.

    Raises
    ------
    UnsupportedError
        Pixels have fields of several types.
    """
    import dask.array
    if len(arrays) != len(program._images):
        raise _errors.ArgumentError(f"the program takes {len(program._images)} images, not {len(arrays)}")
    program = program.instance(*arrays)  # where images are declared `any`
    if any(o.dtype == "uint8" and len(set(types)) > 1 for o, types in _fields(program)):
        raise _errors.UnsupportedError("tessera.dask.map takes programs whose pixels have fields of one type")
    named = next((a for a in arrays if _is_xarray(a)), None)
    if named is not None:
        made = map(program, *(a.data if _is_xarray(a) else a for a in arrays), **numbers)
        results = [_arrays.like_xarray(named, m) for m in (made if isinstance(made, tuple) else (made,))]
        return results[0] if len(results) == 1 else tuple(results)
    arrays = [a if isinstance(a, dask.array.Array) else dask.array.from_array(np.asarray(a), -1) for a in arrays]
    near = _reach(program, arrays, numbers)
    if near is not None:
        return _by_overlap(program, arrays, numbers, near)
    results = _Map(program, arrays, numbers).results()
    return results[0] if len(results) == 1 else tuple(results)


def _is_xarray(array):
    return type(array).__module__.split(".")[0] == "xarray" and hasattr(array, "data")


def _fields(program):
    return [(o, raw[5]) for o, raw in zip(program.outputs, program._core.outputs)]


def _reach(program, arrays, numbers):
    """The depth where `map_overlap` does; None where it takes more."""
    try:
        margins = program.margins(**numbers)
    except _errors.UnsupportedError:
        return None
    plain = not any(i.channels or i.kind == "mask" for i in program.inputs) and len(program.outputs) == 1
    one_shape = len({a.shape for a in arrays}) == 1 and arrays[0].ndim == len(margins)
    if not plain or not one_shape or program.outputs[0].channels:
        return None
    work = _parts.Parts(program, {name: arrays[0].shape for name in program._images}, numbers).results[0]
    as_large = tuple(work.extent) == arrays[0].shape and all(m < n for m, n in zip(margins, arrays[0].shape))
    return margins if as_large and all(work.cut) and all(work.alike) else None


class _Block:
    """A program as a function of blocks, which goes to other processes."""

    def __init__(self, program, numbers):
        self.program, self.numbers = program, numbers

    def __call__(self, *blocks):
        return self.program(*(np.ascontiguousarray(b) for b in blocks), **self.numbers)


def _by_overlap(program, arrays, numbers, margins):
    import dask.array
    kind = np.dtype(program.outputs[0].dtype)
    return dask.array.map_overlap(
        _Block(program, numbers), *arrays, depth=dict(enumerate(margins)), boundary="none", trim=True,
        allow_rechunk=True, dtype=kind, meta=np.empty((0,) * len(margins), kind),
    )


class _Map:
    """The tasks of a program for arrays."""

    def __init__(self, program, arrays, numbers):
        shapes = {name: a.shape for name, a in zip(program._images, arrays)}
        self.program, self.numbers = program, numbers
        self.arrays = dict(zip(program._images, arrays))
        self.parts = _parts.Parts(program, shapes, numbers)
        self.options = _parts.options_of(program)
        self.known = {}  # numbers of whole images, by stage

    def results(self):
        import dask.array
        import dask
        outputs = self.program.outputs
        if self.parts.whole:  # nothing can be cut
            whole = dask.delayed(_whole)(self.program, list(self.arrays.values()), self.numbers)
            return [dask.array.from_delayed(whole[i], s, o.dtype)
                    for i, (s, o) in enumerate(zip(self.parts.shapes, outputs))]
        return [self._array(work, np.dtype(o.dtype), len(o.channels)) for work, o in zip(self.parts.results, outputs)]

    def _number(self, k):
        """A number of whole images, or a histogram, as a task."""
        from dask.base import tokenize
        if k not in self.known:
            work = self.parts.numbers[k]
            array = self._array(work, work.source, 0)
            blocks = list(itertools.product(*(range(n) for n in array.numblocks)))
            key = f"{array.name}-{tokenize(work.reduction, work.type.name, work.counts)}"
            if work.counts is not None:
                each = functools.partial(_parts.histogram, n=work.counts)
                end = _added
            else:
                each = functools.partial(_parts.rows, reduction=work.reduction)
                end = functools.partial(
                    _total, blocks=array.numblocks, reduction=work.reduction, dtype=work.source.name,
                    made=work.type.name, points=int(np.prod(work.extent)), wide=work.is_image,
                )
            tasks = {(f"{key}-part", *place): (each, (array.name, *place)) for place in blocks}
            tasks[key] = (end, [(f"{key}-part", *place) for place in blocks])
            self.known[k] = _Task(key, self._graph(key, tasks, [array]))
        return self.known[k]

    @staticmethod
    def _graph(name, tasks, needs):
        from dask.highlevelgraph import HighLevelGraph
        return HighLevelGraph.from_collections(name, tasks, dependencies=needs)

    def _array(self, work, dtype, channels):
        """What a pass gives, chunk by chunk."""
        import dask.array
        from dask.base import tokenize
        program = _parts.program_of(work.text, self.options)
        if _parts.kept_whole(program):
            work.steps = [None] * len(work.steps)
            work.cut = [False] * work.n
        lines = [self._chunks(work, d, size) for d, size in enumerate(work.extent)]
        inputs = program._images
        arrays = {n: self.arrays[n] for n in inputs if n not in work.wanted}
        given = {n: self._number(k) for n, k in work.wanted.items() if n not in inputs}
        counts = {n: self._number(k) for n, k in work.wanted.items() if n in inputs}
        name = "tessera-" + tokenize(
            work.text, self.options, sorted(self.numbers.items()), lines, {n: a.name for n, a in arrays.items()},
            [t.key for t in (*given.values(), *counts.values())],
        )
        tasks = {}
        for place in itertools.product(*(range(len(line)) for line in lines)):
            ranges = [line[k] for line, k in zip(lines, place)]
            offset, keep, cut = self._offsets(work, ranges)
            images_of, keys = [], []
            for i in inputs:
                if i in counts:
                    images_of.append(None)
                    keys.append([counts[i].key])
                else:
                    grid, found = _pieces(arrays[i], cut if i in work.parted else {})
                    images_of.append(grid)
                    keys.append(found)
            more = (slice(None),) if channels else ()
            numbers = work.numbers(offset, self.numbers, program._numbers)
            part = _Part(work.text, self.options, images_of, numbers, list(given), (*keep, *more))
            tail = (0,) if channels else ()
            tasks[(name, *place, *tail)] = (part, keys, [t.key for t in given.values()])
        needs = [*arrays.values(), *given.values(), *counts.values()]
        chunks = [tuple(end - begin for begin, end in line) for line in lines] + ([(channels,)] if channels else [])
        return dask.array.Array(self._graph(name, tasks, needs), name, chunks=tuple(chunks), dtype=dtype)

    def _chunks(self, work, d, size):
        """The ranges of points that tasks compute in a dimension of what a pass gives: as the first image has them."""
        if not work.cuts(d):
            return [(0, size)]
        step = work.steps[d]
        ends = np.cumsum(self.arrays[work.parted[0]].chunks[d])
        ends = sorted({min(size, int(-(-int(e) // step))) for e in ends} - {0} | {size})
        return list(zip([0, *ends], ends))

    def _offsets(self, work, ranges):
        """(where the part begins, what of its result is kept, what of the images it is)."""
        offset, keep, cut = [0] * work.n, [slice(None)] * len(ranges), {}
        for d, (begin, end) in enumerate(ranges):
            if work.cuts(d):
                low, high = work.range_of(d, begin, end)
                first = int(low / work.steps[d])
                offset[d], keep[d] = low, slice(begin - first, end - first)
                cut[d] = (low, high)
        for d in range(work.n):
            if d not in cut and work.cut[d]:
                cut[d] = (0, work.sizes[d])
        return offset, keep, cut


class _Task:
    """A task as what graphs may depend on."""

    def __init__(self, key, graph):
        self.key, self.graph = key, graph

    def __dask_graph__(self):
        return self.graph

    def __dask_keys__(self):
        return [self.key]

    def __dask_layers__(self):
        return (self.key,)


def _pieces(array, cut):
    """Of which chunks a part of an array consists: (how many in each dimension, what of each), their keys. Beyond its
    edges the array goes on as it begins."""
    lines = []
    for d, chunks in enumerate(array.chunks):
        low, high = cut.get(d, (0, array.shape[d]))
        ends = np.cumsum(chunks)
        line, at = [], low
        while at < high:
            k = int(np.searchsorted(ends, at % array.shape[d], "right"))
            begin = at % array.shape[d] - int(ends[k] - chunks[k])
            end = min(chunks[k], begin + high - at)
            line.append((k, slice(begin, end)))
            at += end - begin
        lines.append(line)
    found = list(itertools.product(*lines))
    shape = tuple(len(line) for line in lines)
    return (shape, [tuple(s for _, s in f) for f in found]), [(array.name, *(k for k, _ in f)) for f in found]


class _Part:
    """Computes a part of what a pass gives, of chunks and numbers of whole images."""

    def __init__(self, text, options, images, numbers, given, keep):
        self.text, self.options, self.images, self.numbers = text, options, images, numbers
        self.given, self.keep = given, keep

    def __call__(self, chunks, given):
        arrays = [self._joined(grid, of) for grid, of in zip(self.images, chunks)]
        return _parts.run(self.text, self.options, arrays, {**self.numbers, **dict(zip(self.given, given))}, self.keep)

    @staticmethod
    def _joined(grid, chunks):
        if grid is None:
            return chunks[0]
        shape, slices = grid
        parts = [np.asarray(c)[s] for c, s in zip(chunks, slices)]
        if len(parts) == 1:
            return parts[0]
        blocks = np.empty(len(parts), object)
        blocks[:] = parts
        return np.block(blocks.reshape(shape).tolist())


def _whole(program, arrays, numbers):
    results = program(*(np.ascontiguousarray(a) for a in arrays), **numbers)
    return results if isinstance(results, tuple) else (results,)


def _added(counts):
    return functools.reduce(np.add, counts)


def _total(rows, blocks, reduction, dtype, made, points, wide):
    """Of the results of rows, block by block, those of the whole image in their order, and of these the number."""
    grid = np.empty(blocks[:-1], object)
    for place, block in zip(np.ndindex(*blocks[:-1]), rows):
        grid[place] = block
    whole = np.block(grid.tolist()) if grid.ndim else grid.item()
    number = _parts.total(np.asarray(whole), reduction, np.dtype(dtype), np.dtype(made), points)
    return np.array([number], made) if wide else number
