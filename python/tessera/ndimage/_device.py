"""Images in the memory of a CUDA device, as the functions of `tessera.ndimage` and `tessera.skimage` take them: what
these ask of arrays, `Remote` answers by programs that run there, so that the same functions serve both. Arrays are
those of PyTorch, CuPy and JAX; results are of the kind that went in."""
import functools
import inspect
import math
import sys
import threading
import warnings

import numpy as np

from .. import _arrays, _errors, _stencil
from .._docs import document
from .._translate import TYPES

# Operations of NumPy's as expressions; the first argument is A, the second B, and both have the type of the result or,
# of comparisons, a type that holds both.
_OPERATIONS = {
    "add": "A + B", "subtract": "A - B", "multiply": "A * B", "divide": "A / B", "sqrt": "sqrt(A)",
    "maximum": "max(A, B)", "minimum": "min(A, B)", "negative": "-A", "absolute": "abs(A)", "bitwise_xor": "A != B",
    "logical_xor": "A != B", "not_equal": "A != B", "equal": "A == B", "less": "A < B", "greater": "A > B",
}
_TAKEN = {"weights", "footprint", "structure", "psf", "sigma", "matrix", "offset"}  # small, and compiled in


def _name_of(array):
    return str(array.dtype).rsplit(".", 1)[-1]


def _sizes(n):
    return ", ".join(f"N{d}" for d in range(n))


class Remote:
    """An array on a device, for the time of a call."""

    def __init__(self, array, kind=None, given=False):
        self.kind, self.given = kind or _arrays.kind_of([array]), given  # given: the caller's memory for a result
        name = _name_of(array)
        if name not in _arrays.TYPES:
            raise _errors.UnsupportedError(
                f"images on a device have elements of the types {', '.join(_arrays.TYPES)}, not {name}"
            )
        self.array, self.dtype, self.shape = array, np.dtype(name), tuple(int(n) for n in array.shape)
        self.ndim, self.size = len(self.shape), int(np.prod(self.shape))
        if self.ndim == 0 or self.size == 0:
            raise _errors.UnsupportedError(f"images on a device have points, but this one has the shape {self.shape}")

    def __array__(self, *args, **named):
        raise _errors.UnsupportedError("this function does not take images on a device; give it one of the host")

    # ---- Views
    def view(self, dtype):
        return Remote(self.kind.view(self.array, np.dtype(dtype).name), self.kind)

    def readable(self):
        """The same as programs read it: rows of elements one behind the other."""
        return Remote(self.kind.contiguous(self.array), self.kind)

    def reshape(self, shape):
        return Remote(self.readable().array.reshape(tuple(shape)), self.kind)

    def moveaxis(self, source, destination):
        return Remote(self.kind.moveaxis(self.array, source, destination), self.kind)

    def to_host(self):
        return self.kind.to_host(self.array)

    def __setitem__(self, key, values):
        if key is not Ellipsis:
            raise _errors.UnsupportedError("images on a device are written whole")
        values = values if isinstance(values, Remote) else self._sent(values)
        self.kind.assign(self.array, values.astype(self.dtype, copy=False).array)

    def _sent(self, array):
        return self.beside(np.broadcast_to(array, self.shape))

    def beside(self, array):
        """An array of the host, on the same device."""
        return Remote(self.kind.send(np.ascontiguousarray(array)), self.kind)

    # ---- Values
    def run(self, text, *more, **numbers):
        return run(text, [self, *more], numbers)

    def astype(self, dtype, copy=True):
        from ._engine import stored
        dtype = np.dtype(dtype)
        if dtype == self.dtype and not copy:
            return self
        if dtype.name not in _arrays.TYPES:
            raise _errors.UnsupportedError(f"images on a device have no elements of type {dtype.name}")
        return self.run(_program([self], stored("A", self.dtype.name, dtype.name)))

    def __array_ufunc__(self, function, method, *inputs, out=None, **options):
        text = _OPERATIONS.get(function.__name__)
        if method != "__call__" or text is None or options:
            return NotImplemented
        known = [i for i in inputs if isinstance(i, Remote)]
        wanted = function(*(np.empty(0, i.dtype) if isinstance(i, Remote) else i for i in inputs)).dtype
        within = np.result_type(*(np.empty(0, i.dtype) if isinstance(i, Remote) else i for i in inputs))
        for i in inputs:
            if not isinstance(i, Remote) and np.ndim(i) or isinstance(i, Remote) and i.shape != known[0].shape:
                raise _errors.ArgumentError("images on a device are combined with numbers and images of their shape")
        type_of = TYPES[(within if wanted == bool else wanted).name]
        images, numbers = [], {}
        for name, i in zip("AB", inputs):
            if isinstance(i, Remote):
                text = text.replace(name, f"cast<{type_of}>(P{len(images)})")
                images.append(i)
            else:
                text = text.replace(name, f"cast<{type_of}>(number)")
                numbers["number"] = float(i)
        made = run(_program(images, f"cast<{TYPES[wanted.name]}>({text})", "P", numbers), images, numbers)
        if not out or out[0] is None:
            return made
        return out[0].take(made)

    def __neg__(self):
        return np.negative(self)

    def clip(self, low=None, high=None, out=None):
        made = self if low is None else np.maximum(self, low)
        made = made if high is None else np.minimum(made, high)
        if out is None:
            return made
        return out.take(made)

    def take(self, values):
        """Becomes what was computed, in the caller's memory where it is that."""
        if self.given:
            self[...] = values
        else:
            self.array = values.astype(self.dtype, copy=False).array
        return self

    def __iter__(self):
        return (Remote(self.array[i], self.kind) for i in range(self.shape[0]))

    def empty(self, shape, dtype):
        """Memory beside it, for who reads nothing of it."""
        make = self.kind.allocate
        return Remote(make(shape, np.dtype(dtype).name), self.kind) if make else self.beside(np.zeros(shape, dtype))

    def _number(self, body):
        sizes = _sizes(self.ndim)
        declared = f"parameter {sizes};\nvector#{self.ndim} {TYPES[self.dtype.name]} a[{sizes}];\n"
        return self.run(declared + body).to_host().reshape(-1)[0]

    def min(self):
        return self._number("return minimum(a);\n")

    def max(self):
        return self._number("return maximum(a);\n")

    def std(self):
        return self._number("return std(a);\n")

    def differs_from(self, other):
        """Whether any element does."""
        return bool(np.not_equal(self, other).view(np.uint8).max())


for _operator, _function in dict(add=np.add, sub=np.subtract, mul=np.multiply, truediv=np.divide).items():
    setattr(Remote, f"__{_operator}__", lambda self, other, f=_function: f(self, other))
    setattr(Remote, f"__r{_operator}__", lambda self, other, f=_function: f(other, self))
for _operator, _function in dict(lt=np.less, gt=np.greater, ne=np.not_equal, eq=np.equal).items():
    setattr(Remote, f"__{_operator}__", lambda self, other, f=_function: f(self, other))


def _program(images, body, name="A", numbers=()):
    """A program of one stencil, point by point: `body` in terms of A, or of P0, P1 and a number."""
    n, sizes = images[0].ndim, _sizes(images[0].ndim)
    names = [name] if name == "A" else [f"P{i}" for i in range(len(images))]
    takes = [f"vector#{n} {TYPES[i.dtype.name]} {p}" for i, p in zip(images, names)]
    given = [f"a{i}" for i in range(len(images))]
    declared = [f"vector#{n} {TYPES[i.dtype.name]} {g}[{sizes}];\n" for i, g in zip(images, given)]
    if numbers:
        takes, given, declared = [*takes, "double number"], [*given, "number"], [*declared, "double number;\n"]
    return (
        f"stencil f({', '.join(takes)}) {{ return {body}; }}\nparameter {sizes};\n{''.join(declared)}"
        f"return f({', '.join(given)});\n"
    )


def run(text, inputs, numbers, fp="strict"):
    """Runs a program on the device of its inputs, of which those of the host are sent there."""
    first = next(i for i in inputs if isinstance(i, Remote))
    program = _stencil.compiled(text, target="cuda", device=first.kind.device, fp=fp, name="ndimage", quiet=True)
    images = [(i if isinstance(i, Remote) else first.beside(i)).readable() for i in inputs]
    for i in images:
        if i.kind.device != first.kind.device:
            raise _errors.ArgumentError(f"images lie on two devices, {first.kind.device} and {i.kind.device}")
    arrays = [i.array for i in images]
    result = program(*arrays, **numbers)
    note_run(program, arrays, numbers, None, result)
    return Remote(result, first.kind)


# ---- Calls that came before
# --------------------------------------------------------------------------------------------------
_MOST_CALLS, _MOST_BYTES, _MOST_SIZE = 512, 4096, 1 << 16
_calls = {}  # what a call comes to, by function, image and arguments: (program, other arrays, numbers)


class _Runs(threading.local):
    """The runs of programs of the call at hand: (program, arrays, numbers, place, result); None: it is not to be
    kept."""

    seen = None


_runs = _Runs()


def note_run(*run):
    if _runs.seen is not None:
        _runs.seen.append(run)


def warn(sentence):
    """Warns, in every call."""
    _runs.seen = None
    warnings.warn(sentence, UserWarning, stacklevel=_arrays._outside())


def _frozen(value):
    """What tells a small argument from others; TypeError for what cannot be told."""
    if value is None or isinstance(value, (str, type)):
        return value
    if isinstance(value, (bool, int, float, np.generic, np.dtype)):
        return type(value), repr(value)
    if isinstance(value, (tuple, list)):
        return tuple(map(_frozen, value))
    if type(value) is np.ndarray and value.nbytes <= _MOST_BYTES and value.dtype.kind in "biuf":
        return value.shape, value.dtype.str, value.tobytes()
    raise TypeError


def _key_of(function, about, others, named):
    try:
        return function, about, *map(_frozen, others), *((n, _frozen(v)) for n, v in named.items())
    except TypeError:
        return None


def _remembered(key, image, call):
    """A call of a function of which one program of the image is all: straight to that, the next time."""
    known = _calls.get(key)
    if known is not None:
        program, arrays, numbers = known
        result = program(image, *arrays, **numbers)
        note_run(program, [image, *arrays], numbers, None, result)
        return result
    outer, _runs.seen = _runs.seen, []
    try:
        made, seen = call(), _runs.seen
    finally:
        _runs.seen = outer
    if seen is None:
        _runs.seen = None
        return made
    if outer is not None:
        outer += seen
    if key is not None and len(seen) == 1:
        program, arrays, numbers, place, result = seen[0]
        size = sum(math.prod(a.shape) for a in arrays[1:])
        if arrays[0] is image and place is None and made is result and size < _MOST_SIZE:
            if len(_calls) >= _MOST_CALLS:
                _calls.clear()
            _calls[key] = program, tuple(arrays[1:]), numbers
    return made


# ---- Functions of such arrays
# --------------------------------------------------------------------------------------------------
def _taken(name, value):
    """An argument as the functions take it."""
    if isinstance(value, (list, tuple)) and any(_arrays.is_on_cuda(v) for v in value):
        return type(value)(_taken(name, v) for v in value)
    if not _arrays.is_on_cuda(value):
        return value
    kind = _arrays.kind_of([value])
    if kind.device is None:
        raise _errors.ArgumentTypeError(
            f"'{name}' is {_arrays._kind(value)} on a device; functions take those of PyTorch, CuPy and JAX there"
        )
    return kind.to_host(value) if name in _TAKEN else Remote(value, kind, name in ("output", "out"))


def takes_all(function, remember=False):
    """A function of NumPy's arrays that takes those of PyTorch, CuPy, JAX and xarray too, on the host and on devices,
    and gives results of the kind of its first argument. `remember`: programs depend on an image's type and shape
    alone."""
    signature = inspect.signature(function)
    document(function)

    @functools.wraps(function)
    def of_any(*args, **named):
        first = args[0] if args else named.get("input", named.get("image"))
        if remember and args and type(first) is np.ndarray and first.flags.c_contiguous and first.flags.aligned:
            key = _key_of(function, (first.dtype.str, first.shape), args[1:], named)
            return _remembered(key, first, lambda: function(*args, **named))
        plain = type(first) in (np.ndarray, Remote) or isinstance(first, (np.generic, list, tuple, int, float))
        if plain:
            return function(*args, **named)
        kind = _arrays.kind_of([first])
        if kind is _arrays.NUMPY and not _arrays.is_on_cuda(first):
            return function(*args, **named)
        if kind.device is not None and args:
            args = kind.contiguous(first), *args[1:]
            about = type(first), str(first.dtype), tuple(first.shape), kind.device
            key = _key_of(function, about, args[1:], named) if remember else None
            return _remembered(key, args[0], lambda: of_others(kind, args, named))
        return of_others(kind, args, named)

    def of_others(kind, args, named):
        try:
            bound = signature.bind(*args, **named)
        except TypeError:
            return function(*args, **named)  # says what is wrong with its own name
        for name, value in bound.arguments.items():
            bound.arguments[name] = _taken(name, value)
        output = bound.arguments.get("output", bound.arguments.get("out"))
        if kind.device is not None and isinstance(output, np.ndarray):
            raise _errors.ArgumentError("the image is on a device, but the memory for the result is not")
        made = function(*bound.args, **bound.kwargs)
        return output if isinstance(made, np.ndarray) and hasattr(output, "shape") else _returned(made, kind)
    return of_any


def _returned(made, kind):
    if isinstance(made, Remote):
        return made.array
    if isinstance(made, np.ndarray) and made.ndim and kind is not _arrays.NUMPY:
        return kind.send(made)
    return made


def wrap_all(module):
    """Makes all public functions of a module take all arrays."""
    module = sys.modules[module]
    for name in module.__all__:
        function = getattr(module, name)
        if inspect.isfunction(function):
            made = takes_all(function, remember=True)
            setattr(module, name, made)
            setattr(sys.modules[function.__module__], name, made)
