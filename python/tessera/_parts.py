"""Programs over images in parts. The library says what a part depends on: for each result, and for each number of whole
images, a program for parts, in which their place, the sizes of the whole and those numbers are given
(`tess_parts_text`). Each runs on parts, and the bits are those of the whole at once."""
import fractions
import functools
import json
import math
import re
import weakref

import numpy as np

from . import _errors


# ---- Passes
# --------------------------------------------------------------------------------------------------
def _ratio(pair):
    return None if pair is None else fractions.Fraction(*pair)


class Pass:
    """A program for parts of one target: a result, or what a number of whole images is taken of.

    Attributes
    ----------
    text : str
        The graph, with what is given.
    parted : list of str
        The images of which it takes parts; of others it takes all.
    cut, why, align, periodic, alike, margin, sizes
        For each dimension of the images: whether it may be cut, and why not, what the beginnings of parts have to be
        multiples of, whether images go on as they begin, whether all stages are as large as they are, how many points
        of the images a point depends on to each side, and the size of the whole.
    extent, steps
        The size of the target, and how many points of the images one of its points is; None: it is not cut there.
    """

    def __init__(self, found):
        self.text, self.parted, self.extent = found["text"], found["parted"], found["extent"]
        dims = found["dims"]
        self.n = len(dims)
        self.sizes, self.cut, self.align, self.periodic, self.alike, self.why = (
            [d[key] for d in dims] for key in ("size", "cut", "align", "periodic", "alike", "why")
        )
        self.margin = [_ratio(d["margin"]) for d in dims]
        self.steps = [_ratio(s) for s in found["step"]]
        self.given, self.params = found["given"], found["params"]
        self.wanted = {g["name"]: g["number"] for g in self.given if "number" in g}  # numbers of whole images

    def numbers(self, offset, numbers, known):
        """What a run on a part has to be given of the inputs that it has, but for numbers of whole images."""
        made = {name: value for name, value in {**self.params, **numbers}.items() if name in known}
        for g in self.given:
            if "offset" in g:
                d = g["offset"]
                begin = offset[d] % self.sizes[d] if self.periodic[d] else offset[d]
                made[g["name"]] = math.floor(begin / _ratio(g["step"]))
            elif "value" in g:
                made[g["name"]] = g["value"]
        return made

    def range_of(self, d, begin, end):
        """(begin, end) in the images of what points begin..end of the target depend on; beyond the image where it is
        periodic."""
        step, whole, align = self.steps[d], self.sizes[d], self.align[d]
        low = math.floor(step * begin - self.margin[d])
        high = math.ceil(step * (end - 1) + self.margin[d]) + 1
        if self.periodic[d]:
            return low, high
        return max(0, low // align * align), min(whole, -(-high // align) * align)

    def cuts(self, d):
        """Whether the target is computed in parts in this dimension."""
        return d < len(self.steps) and self.steps[d] is not None


class Number(Pass):
    """Of a number of whole images: the pass over what it is taken of."""

    def __init__(self, found):
        super().__init__(found)
        self.reduction = found["reduction"]
        self.source, self.type = (np.dtype(of_graph(found[key])) for key in ("source", "type"))
        self.counts = found.get("counts")
        self.is_image = self.counts is not None or self.type in (np.int64, np.uint64)  # scalars are told as doubles


class Parts:
    """The passes of a program for images of given shapes. Where the program is kept whole, there are only the shapes
    of its results."""

    def __init__(self, program, shapes, numbers):
        shapes = tuple(tuple(shapes[name]) for name in program._images)
        self.whole = kept_whole(program)
        self.shapes, text = program._core.parts(shapes, numbers, bool(self.whole))
        found = json.loads(text) if text else {"results": [], "numbers": []}
        self.results = [Pass(f) for f in found["results"]]
        self.numbers = [Number(f) for f in found["numbers"]]


@functools.lru_cache(maxsize=64)
def program_of(text, options):
    """A pass, compiled once in each process."""
    from . import _program
    return _program.compile(text, dialect="graph", name="part", quiet=True, **dict(options))


def of_graph(type):
    """NumPy's name of a graph's type."""
    return {"float": "float32", "double": "float64"}.get(type, type)


def options_of(program):
    """The options of a program that its passes have too, as what can be looked up."""
    kept = ("target", "fp", "threads", "device", "machine", "cc", "cache")
    return tuple((k, program._options[k]) for k in kept)


def run(text, options, arrays, numbers, keep):
    """A part of a result: those points of what the part decides that `keep` says."""
    result = program_of(text, options)(*(np.ascontiguousarray(a) for a in arrays), **numbers)
    return np.ascontiguousarray(result[keep])


def kept_whole(program):
    """Why images cannot be cut at all, or '': sums are computed by transforms, whose blocks of rows are counted from
    the first, so that rounding depends on where a point is; or turns are repeated, over all of which points depend on
    others."""
    if re.search(r"^\s+transform\b", program.plan, re.M):
        return "sums are transformed in blocks of rows, counted from the first"
    return "turns are repeated" if re.search(r"^repeat ", program.explain(stop="graph"), re.M) else ""


def of_part(program, arrays, numbers, offset, shape):
    """The results of a program for parts of images of a shape, as far as the parts decide them."""
    n = len(shape)
    shapes = {}
    for name, array in zip(program._images, arrays):
        mine = tuple(np.shape(array))
        shapes[name] = (*shape, *mine[n:]) if len(mine) >= n and name not in _masks(program) else mine
    extents = {tuple(np.shape(a)[:n]) for name, a in zip(program._images, arrays) if name not in _masks(program)}
    if len(offset) != n or len(extents) != 1 or len(next(iter(extents))) != n:
        raise _errors.ArgumentError(
            f"parts, their offset and the shape of the whole need the same {n} dimensions, and the parts one shape"
        )
    part = next(iter(extents))
    for d, (begin, size, whole) in enumerate(zip(offset, part, shape)):
        if begin < 0 or begin + size > whole:
            raise _errors.ArgumentError(
                f"a part of {size} at {begin} does not lie in dimension {d} of the whole, of {whole}"
            )
    works, cannot = _parts_of(program, shapes, numbers)
    if cannot:
        raise _errors.UnsupportedError(f"parts cannot be computed apart: points depend on far points {cannot}")
    results = [
        _decided(program, work, dict(zip(program._images, arrays)), numbers, offset, part, shape)
        for work in works
    ]
    return results[0] if len(results) == 1 else tuple(results)


_last = weakref.WeakKeyDictionary()  # of each program: (what it was asked, the answer)


def _parts_of(program, shapes, numbers):
    """(passes of the results, why there can be none), which the next part needs again."""
    asked = tuple(shapes.items()), tuple(numbers.items())
    known = _last.get(program)
    if known is None or known[0] != asked:
        parts = Parts(program, shapes, numbers)
        cannot = "of the images (numbers of whole images)" if parts.numbers else ""
        if parts.whole:
            cannot = f"({parts.whole})"
        known = _last[program] = asked, (parts.results, cannot)
    return known[1]


def _masks(program):
    return {i.name for i in program.inputs if i.kind == "mask"}


def _decided(program, work, arrays, numbers, offset, part, shape):
    extent, keep = work.extent, []
    for d, (begin, size, whole) in enumerate(zip(offset, part, shape)):
        inside = begin > 0, begin + size < whole
        if any(inside) and (not work.cuts(d) or work.periodic[d]):
            raise _errors.UnsupportedError(
                f"parts cannot be computed apart: a point depends on far points of the images (dimension {d}"
                f"{': ' + work.why[d] if work.why[d] else ''})"
            )
        if begin % work.align[d]:
            raise _errors.ArgumentError(
                f"a part begins at {begin} in dimension {d}, but results are computed in steps of {work.align[d]}"
            )
        step, margin = (work.steps[d], work.margin[d]) if any(inside) else (1, 0)
        first = -((-begin - margin) // step) if inside[0] else 0
        last = (begin + size - 1 - margin) // step + 1 if inside[1] else extent[d] if d < len(extent) else 0
        if last <= first:
            raise _errors.ArgumentError(
                f"a part of {size} points decides none in dimension {d}: each depends on {math.ceil(margin)} before "
                f"and behind it"
            )
        here = int(begin / step) if any(inside) else 0
        keep.append(slice(int(first) - here, int(last) - here) if any(inside) else slice(None))
    if not work.given and len(program.outputs) == 1:
        return program._run(tuple(arrays.values()), None, None, numbers, False)[tuple(keep)]
    made = program_of(work.text, options_of(program))
    inputs = tuple(arrays[name] for name in made._images)
    return made._run(inputs, None, None, work.numbers(offset, numbers, made._numbers), False)[tuple(keep)]


# ---- Numbers of whole images, in the order that docs/internals/reductions.md fixes
# --------------------------------------------------------------------------------------------------
LANES = 16


def _kind(reduction, dtype):
    """(type of the sums, value they start from, how a value joins them)."""
    dtype = np.dtype(dtype)
    if reduction in ("min", "max"):
        less = np.less if reduction == "min" else np.greater
        if dtype == np.bool_:
            start = reduction == "min"
        elif dtype.kind == "f":
            start = np.inf if reduction == "min" else -np.inf
        else:
            start = np.iinfo(dtype).max if reduction == "min" else np.iinfo(dtype).min
        return dtype, start, lambda value, sum: np.where(less(value, sum), value, sum)
    real = dtype.kind == "f" and reduction != "count"
    return np.dtype(np.float64 if real else np.int64), 0, lambda value, sum: sum + value


def rows(values, reduction):
    """The results of the rows of an image, or of some of its rows."""
    kind, start, join = _kind(reduction, values.dtype)
    values = (values != 0) if reduction == "count" else values
    n = values.shape[-1]
    sums = np.full((*values.shape[:-1], LANES), start, kind)
    with np.errstate(all="ignore"):
        for x in range(0, n, LANES):
            some = values[..., x:x + LANES].astype(kind)
            sums[..., :some.shape[-1]] = join(some, sums[..., :some.shape[-1]])
        half = LANES // 2
        while half:
            sums = join(sums[..., half:2 * half], sums[..., :half])
            half //= 2
    return sums[..., 0]


def total(rows, reduction, dtype, made, points):
    """The number that the results of all rows, in their order, are."""
    kind, start, join = _kind(reduction, dtype)
    sum = np.asarray(start, kind)
    with np.errstate(all="ignore"):
        for row in rows.reshape(-1):
            sum = join(row, sum)
        if reduction == "mean":
            sum = np.float64(sum) / points
        return np.asarray(sum).astype(made).item()


def histogram(values, n):
    with np.errstate(all="ignore"):
        place = np.floor(values.astype(np.float64))
    inside = (place >= 0) & (place < n)
    return np.bincount(place[inside].astype(np.int64), minlength=n).astype(np.uint32)
