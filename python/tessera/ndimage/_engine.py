"""Filters as programs: what the functions of `tessera.ndimage` are written with. A `Pipe` strings stages together into
one program, with SciPy's rules of types: sums are of doubles, in the order in which SciPy adds, and each stage is
stored as the type of the output. Programs are strict (`fp='strict'`), so that results are SciPy's to the last bit, but
for means over sliding windows, which SciPy sums up along the way."""
import math
import operator

import numpy as np

from .. import _arrays, _errors, _stencil
from .._translate import TYPES
from ._device import Remote, note_run, warn
from ._device import run as run_there

RULES = {
    "reflect": "reflect", "grid-mirror": "reflect", "mirror": "mirror", "nearest": "clamp", "wrap": "wrap",
    "grid-wrap": "wrap", "constant": "constant", "grid-constant": "constant",
}
_LITTLE = 40000  # operations that interpreting takes a few milliseconds for: less than the C compiler takes to start
_LINE = 16      # terms of a sum that stand together


# ---- Arguments
# --------------------------------------------------------------------------------------------------
def as_array(input):
    if isinstance(input, Remote):
        return input
    if _arrays.is_on_cuda(input):
        raise _errors.ArgumentError("an array lies on a device, but the image does not")
    return np.asarray(input)


def in_rows(array):
    """The same elements, one row behind the other."""
    return array.readable() if isinstance(array, Remote) else np.ascontiguousarray(array)


def as_image(input):
    """The array, of a type that images have; rows of any stride stay where they are."""
    array = as_array(input)
    if array.dtype.kind not in "biufc" or array.dtype in (np.float16, np.longdouble, np.clongdouble):
        raise RuntimeError(f"data type not supported: {array.dtype.name}")
    return array


def plain(array):
    """The same values as a program reads them."""
    if isinstance(array, Remote):
        if array.dtype != np.uint64:
            return array
        array = array.view(np.int64)
        if array.min() < 0:
            raise _errors.UnsupportedError("images on a device have no values from 2^63 on")
        return array
    if array.dtype == np.uint64:
        array = array.view(np.int64) if array.size and array.max() < 1 << 63 else array.astype(np.float64)
    if not array.dtype.isnative or not array.flags.aligned:
        array = array.astype(array.dtype.newbyteorder("="))
    if array.ndim and array.shape[-1] > 1 and array.strides[-1] != array.itemsize:
        array = np.ascontiguousarray(array)
    if array.ndim and any(s % array.itemsize for s in array.strides):
        array = np.ascontiguousarray(array)
    return array


def sequence(value, n):
    """One value for each of n axes; a single one stands for all."""
    if isinstance(value, str) or not np.iterable(value):
        return [value] * n
    values = list(value)
    if len(values) != n:
        raise RuntimeError(f"sequence argument must have length equal to input rank, {n}, not {len(values)}")
    return values


def finite(what, values):
    """The values, which must be numbers: sizes, widths and places that are NaN mean nothing."""
    for value in np.ravel(values).tolist():
        if not math.isfinite(value):
            raise _errors.ArgumentError(f"{what} must be finite, not {value}")
    return values


def one_axis(axis, ndim):
    axis = operator.index(axis)
    if not -ndim <= axis < ndim:
        raise np.exceptions.AxisError(axis, ndim) if hasattr(np, "exceptions") else np.AxisError(axis, ndim)
    return axis % ndim


def all_axes(axes, ndim):
    if axes is None:
        return tuple(range(ndim))
    if not np.isscalar(axes) and not np.iterable(axes):
        raise ValueError("axes must be an integer, several, or None")
    found = []
    for axis in [axes] if np.isscalar(axes) else axes:
        axis = operator.index(axis)
        if not -ndim <= axis < ndim:
            raise ValueError(f"specified axis: {axis} is out of range")
        found.append(axis % ndim)
    if len(set(found)) != len(found):
        raise ValueError("axes must be unique")
    return tuple(found)


def rule_of(mode):
    if not isinstance(mode, str) or mode not in RULES:
        raise RuntimeError(f"boundary mode not supported: {mode!r}")
    return RULES[mode]


class Output:
    """Where a result goes, by SciPy's `output`: nothing, a type, or an array."""

    def __init__(self, output, input, shape=None, complex_output=False):
        shape = input.shape if shape is None else tuple(shape)
        self.array, self.given = None, False
        if output is None:
            dtype = np.promote_types(input.dtype, np.complex64) if complex_output else input.dtype.newbyteorder("=")
        elif isinstance(output, (type, np.dtype)):
            dtype = np.dtype(output)
            if complex_output and dtype.kind != "c":
                warn("promoting specified output dtype to complex")
                dtype = np.promote_types(dtype, np.complex64)
        elif isinstance(output, str):
            dtype = np.dtype(output)
            if complex_output and dtype.kind != "c":
                raise RuntimeError("output must have complex dtype")
            if not issubclass(dtype.type, np.number):
                raise RuntimeError("output must have numeric dtype")
        else:
            self.array, self.given = as_array(output), True
            if self.array.shape != shape:
                raise RuntimeError(f"output shape not correct: {self.array.shape}, not {shape}")
            if complex_output and self.array.dtype.kind != "c":
                raise RuntimeError("output must have complex dtype")
            dtype = self.array.dtype
        if dtype.kind not in "biufc" or dtype in (np.float16, np.longdouble, np.clongdouble):
            raise RuntimeError(f"data type not supported: {dtype.name}")
        self.dtype, self.shape = dtype, shape

    @property
    def stage_type(self):
        """The type of stages: that of the output, or one that stands in for it."""
        return {"uint64": "int64", "bool": "uint8"}.get(self.dtype.name, self.dtype.name)

    def copy_of(self, array):
        return self.finish(array)

    def finish(self, result):
        if not self.given:
            return result if result.dtype == self.dtype else result.astype(self.dtype)
        if result is not self.array:
            with np.errstate(invalid="ignore"):
                self.array[...] = result
        return self.array

    def place_for(self, *inputs):
        """Memory that a program can write: the caller's array where it may."""
        a = self.array
        if isinstance(a, Remote):
            return None
        if (
            not self.given
            or a.dtype.name != self.stage_type
            or not a.dtype.isnative
            or not a.flags.writeable
            or not a.flags.c_contiguous
            or not a.flags.aligned
        ):
            return None
        return None if any(np.may_share_memory(a, i) for i in inputs) else a


# ---- Programs
# --------------------------------------------------------------------------------------------------
def literal(value):
    infinity = "(1e308d * 1e308d)"
    size = abs(float(value))
    text = f"{size!r}d" if math.isfinite(size) else infinity if size == size else f"({infinity} - {infinity})"
    return f"(-{text})" if np.signbit(value) else text


def bounds(dtype):
    """Lowest and highest value of an integer type; None of others."""
    if dtype == "bool":
        return 0, 1
    kind = np.dtype(dtype)
    return None if kind.kind == "f" else (int(np.iinfo(kind).min), int(np.iinfo(kind).max))


def stored(text, have, want, low=None, high=None):
    """An expression of type `have` as NumPy stores it in `want`: of reals in integers the low bits of what is left
    without the fraction. Where it is known to lie in low..high, and that in `want`, one conversion does."""
    if have == want:
        return text
    limits = bounds(want)
    if limits is None:
        return f"cast<{TYPES[want]}>({text})"
    if want == "bool":
        return f"cast<bool>(cast<int64>({text}))"
    if bounds(have) is None and not (low is not None and limits[0] - 1 < low and high < limits[1] + 1):
        text = f"cast<int64>({text})"
    return f"cast<{TYPES[want]}>({text})"


class Pipe:
    """A program under construction: `last` is the image made last, of type `type`."""

    def __init__(self, array):
        self.source, self.ndim = array, array.ndim
        self.last, self.type = "a", array.dtype.name
        self.definitions, self.statements, self.numbers, self.inputs = [], [], {}, [array]
        sizes = ", ".join(f"N{d}" for d in range(self.ndim))
        self.declarations = [f"parameter {sizes};", f"vector#{self.ndim} {TYPES[self.type]} a[{sizes}];"]
        self.operations, self.n = 0, 0
        self.read_wide = False  # the stage made next is read as doubles
        self.fp = "strict"
        self.lowest, self.highest = bounds(self.type) or (None, None)

    def constant(self, cval):
        """The rule that gives a constant, which need not be a value of the image's type."""
        value = float(cval)
        if "cval" not in self.numbers:
            self.declarations.append("double cval;")
        self.numbers["cval"] = value
        kind = np.dtype(self.type)
        if self.type != "float64" and not (kind.kind == "f" and float(np.float32(value)) == value):
            limits = bounds(self.type)
            if limits is None or value != value or not limits[0] <= value <= limits[1] or value != int(value):
                self.stage("cast<double>(X)", "any", "float64", None)
        if self.lowest is not None:
            self.lowest, self.highest = (
                (None, None) if value != value else (min(self.lowest, value), max(self.highest, value))
            )
        return "constant(cval)"

    def element(self, cval):
        """A constant as NumPy stores it in the image's type, for filters that compare elements as they are."""
        with np.errstate(all="ignore"):
            if self.lowest is None or self.type == "bool":
                return np.dtype(self.type).type(cval)
            return float(np.int64(cval).astype(self.type)) if np.isfinite(cval) else 0.0

    def rules(self, modes, cval):
        """The rules of an image, a mode for each dimension (None: nothing is read beyond)."""
        found = ["clamp" if m is None else rule_of(m) for m in modes]
        if "constant" in found:
            constant = self.constant(cval)
            found = [constant if r == "constant" else r for r in found]
        return found[0] if len(set(found)) == 1 else f"[{', '.join(found)}]"

    def stage(self, body, declared, made, rules, operations=1, locals=(), masks=()):
        """A stencil of the last image, and its result as the last one. Between sums values are kept as the doubles that
        these read: neighbours would be converted once for each of them."""
        self.n += 1
        if self.read_wide and made != "float64":
            body = f"cast<double>({body})"
        inner = [*masks, *locals, f"return {body};"]
        self.definitions.append(
            f"stencil f{self.n}(vector#{self.ndim} {declared} X) {{\n    " + "\n    ".join(inner) + "\n}"
        )
        self.statements.append(f"b{self.n} = f{self.n}({self.last}{':' + rules if rules else ''});")
        self.last, self.type = f"b{self.n}", made
        self.operations += operations
        return self.last

    def combine(self, names, body, made):
        """An image of several of one type, point by point: `body` in terms of P0, P1, ..."""
        self.n += 1
        arguments = ", ".join(f"vector#{self.ndim} any P{i}" for i in range(len(names)))
        self.definitions.append(f"stencil f{self.n}({arguments}) {{ return {body}; }}")
        self.statements.append(f"b{self.n} = f{self.n}({', '.join(names)});")
        self.last, self.type = f"b{self.n}", made
        return self.last

    def branch(self):
        return self.last, self.type, self.lowest, self.highest

    def back(self, branch):
        self.last, self.type, self.lowest, self.highest = branch

    def text(self):
        return "\n".join([*self.definitions, *self.declarations, *self.statements, f"return {self.last};", ""])

    def run(self, output):
        """The result, in `output`."""
        place = output.place_for(*self.inputs)
        if self.last == "a":
            return output.copy_of(self.source.astype(output.dtype))
        result = execute(
            self.text(), self.inputs, self.numbers, self.operations * self.source.size, place, self.fp
        )
        if output.dtype == np.uint64 and result.dtype == np.int64:
            result = result.view(np.uint64)
        return output.finish(result)


_seen = {}  # how often a text was interpreted


def execute(text, inputs, numbers, operations, place=None, fp="strict"):
    """Runs a text. What is little is interpreted until it has been asked for so often that the C compiler would have
    paid."""
    if any(isinstance(i, Remote) for i in inputs):
        return run_there(text, inputs, numbers, fp)
    count = _seen.get(text, 0)
    small = operations < _LITTLE and count < 20
    if small:
        if len(_seen) > 4096:
            _seen.clear()
        _seen[text] = count + 1
    program = _stencil.compiled(text, target="interp" if small else "auto", fp=fp, name="ndimage", quiet=True)
    result = program(*inputs, out=place, **numbers)
    if not small:
        note_run(program, inputs, numbers, place, result)
    return result


# ---- Sums
# --------------------------------------------------------------------------------------------------
def at(offsets):
    return f"X@[{', '.join(map(str, offsets))}]"


def along(ndim, axis, k):
    return at([k if d == axis else 0 for d in range(ndim)])


def chain(terms):
    """(locals, expression) of a sum from the first term to the last, in lines of a few."""
    locals, text = [], terms[0]
    for n, term in enumerate(terms[1:], 1):
        text += f" + {term}"
        if n % _LINE == 0 and n + 1 < len(terms):
            locals.append(f"t{n} = {text};")
            text = f"t{n}"
    return locals, text
