"""Stencils as Python functions. Calling one computes nothing yet: results that are asked for become one program, with
all that they are made of."""
import ast
import builtins
import collections
import functools
import inspect
import threading

import numpy as np

from . import _arrays, _errors, _program
from ._translate import RESERVED, TYPES, WINDOWS, Source, Translation, number, safe

_MOST_PROGRAMS = 256
_programs = collections.OrderedDict()  # by text and options: what was compiled last
_lock = threading.Lock()


def compiled(text, **options):
    """The program of a text, compiled once."""
    key = (text, tuple(sorted(options.items())))
    with _lock:
        if key in _programs:
            _programs.move_to_end(key)
            return _programs[key]
    made = _program.compile(text, **options)
    with _lock:
        _programs[key] = made
        while len(_programs) > _MOST_PROGRAMS:
            _programs.popitem(last=False)
    return made


def _window(name):
    def window(function, *ranges, where=None):
        raise _errors.ArgumentTypeError(
            f"tessera.{name} stands in functions that tessera.stencil translates; NumPy has it for arrays"
        )
    window.__name__ = window.__qualname__ = name
    window.__doc__ = (
        f"`{name}` of a function over a window, in a stencil: ``tessera.{name}(lambda i, j: X[i, j], (-1, 1), (-1, "
        f"1))``.\n\n"
        "Parameters\n----------\nfunction : lambda\n    Of one to four window variables.\n*ranges : (int, int)\n"
        "    Lowest and highest value of each, both included.\nwhere : lambda, optional\n    Of the same variables: "
        "the points that count.\n"
    )
    return window


sum, prod, min, max, mean, median, any, all = (_window(name) for name in WINDOWS)


def index(dimension):
    """The point's own coordinate in a dimension, in a stencil."""
    raise _errors.ArgumentTypeError("tessera.index stands in functions that tessera.stencil translates")


class const:
    """Annotates a number of a stencil whose value is to be compiled in, as those are anyway that stand in offsets and
    ranges: ``def blur(X, sigma: tessera.const)``. Another value compiles again."""


def stencil(function=None, *, border=None, **options):
    """Makes a stencil of a Python function.

    The function's syntax tree is translated; the function itself never runs. Its parameters are images, read at the
    point itself (``X``), at a distance (``X[-1, 0]``) or at an index (``X.at[i, j]``), and numbers.

    Parameters
    ----------
    function : function
        Of images and numbers, in assignments and one ``return``.
    border : str, list or dict, optional
        What reads beyond the edges give: 'clamp' (the default), 'mirror', 'reflect', 'wrap', 'constant(v)', 'none', or
        a list of rules, one a dimension. A dict gives them by parameter.
    **options
        Of `tessera.compile`, for programs of which this is the last stencil.

    Returns
    -------
    Stencil

    Examples
    --------
    >>> @tessera.stencil(border="mirror")
    ... def sharpen(X, amount):
    ...     return X + amount * (X - tessera.mean(lambda i, j: X[i, j], (-1, 1), (-1, 1)))
    >>> y = np.asarray(sharpen(sharpen(photo, 1.5), 0.5))  # one program
    """
    if function is None:
        return lambda f: Stencil(f, border, options)
    return Stencil(function, border, options)


class Stencil:
    """A function of relative indices, translated. Call it with arrays, numbers, and what other stencils gave."""

    def __init__(self, function, border, options):
        functools.update_wrapper(self, function)
        self._source, self._border, self._options = Source(function), border, options
        self._signature = inspect.signature(function)

    def __call__(self, *args, border=None, **named):
        """Builds the result, which is computed when it is asked for.

        Parameters
        ----------
        *args, **named
            As of the function.
        border : str or dict, optional
            In place of the stencil's.

        Returns
        -------
        Lazy
        """
        try:
            bound = self._signature.bind(*args, **named)
        except TypeError as error:
            raise _errors.ArgumentTypeError(f"{self.__name__}: {error}") from None
        bound.apply_defaults()
        return Lazy(
            self, [bound.arguments[p] for p in self._source.parameters], self._border if border is None else border,
            self._options,
        )

    def dimensions(self, parameter):
        """How many dimensions a parameter's image has for this stencil: as many as its indices; else as many as the
        image."""
        for node in ast.walk(self._source.tree):
            if isinstance(node, ast.Subscript):
                of = (
                    node.value.value
                    if isinstance(node.value, ast.Attribute) and node.value.attr == "at"
                    else node.value
                )
                if isinstance(of, ast.Name) and of.id == parameter:
                    return len(node.slice.elts) if isinstance(node.slice, ast.Tuple) else 1
        return None

    def __repr__(self):
        return f"<tessera.Stencil {self.__name__}{self._signature}>"


def _is_number(value):
    return isinstance(value, (int, float, np.number, np.bool_)) or (isinstance(value, np.ndarray) and value.ndim == 0)


class Lazy:
    """An image that is computed when it is asked for: by `compute`, `np.asarray`, indexing, or any attribute of an
    array."""

    __array_priority__ = 100

    def __init__(self, maker, arguments, border, options):
        self._maker, self._arguments, self._border, self._options = maker, arguments, border, options
        self._result = None
        if not builtins.any(isinstance(a, Lazy) or not _is_number(a) for a in arguments):
            raise _errors.ArgumentError("a stencil needs an image among its arguments")

    def compute(self, out=None, stream=None):
        """The image, computed once.

        Parameters
        ----------
        out : array, optional
            Memory for it.
        stream : optional
            As for programs.
        """
        if out is not None or self._result is None:
            made = compute(self, out=None if out is None else (out,), stream=stream)
            if out is not None:
                return made
            self._result = made
        return self._result

    def program(self):
        """The program that computes it, for looking at."""
        return _Building((self,)).program

    def __array__(self, dtype=None, copy=None):
        result = np.asarray(self.compute())
        return result.astype(dtype, copy=False) if dtype is not None else result.copy() if copy else result

    def __dlpack__(self, **options):
        return self.compute().__dlpack__(**options)

    def __dlpack_device__(self):
        return self.compute().__dlpack_device__()

    def __getitem__(self, key):
        return self.compute()[key]

    def __len__(self):
        return len(self.compute())

    def __iter__(self):
        return iter(self.compute())

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.compute(), name)

    def __repr__(self):
        maker = self._maker if isinstance(self._maker, str) else self._maker.__name__
        return f"<tessera.Lazy {maker}{'' if self._result is None else ', computed'}>"

    __hash__ = object.__hash__


def _operator(symbol, swapped=False):
    def operate(self, other=None):
        if other is not None and not (isinstance(other, Lazy) or _is_number(other) or hasattr(other, "shape")):
            return NotImplemented
        sides = [self] if other is None else [other, self] if swapped else [self, other]
        return Lazy(symbol, sides, None, self._options)
    return operate


_symbols = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "pow": "^", "and": "&", "or": "|", "xor": "xor"}
for _name, _symbol in _symbols.items():
    setattr(Lazy, f"__{_name}__", _operator(_symbol))
    setattr(Lazy, f"__r{_name}__", _operator(_symbol, swapped=True))
for _name, _symbol in dict(lt="<", le="<=", gt=">", ge=">=", eq="==", ne="!=").items():
    setattr(Lazy, f"__{_name}__", _operator(_symbol))
Lazy.__neg__ = _operator("-")
Lazy.__abs__ = _operator("abs")
Lazy.__hash__ = object.__hash__


def compute(*results, out=None, stream=None):
    """Computes several results of stencils in one program, so that what they share is computed once.

    Parameters
    ----------
    *results : Lazy
    out : tuple of arrays, optional
    stream : optional

    Returns
    -------
    array or tuple of arrays
    """
    for result in results:
        if not isinstance(result, Lazy):
            raise _errors.ArgumentTypeError(f"tessera.compute takes results of stencils, not {_arrays._kind(result)}")
    building = _Building(results)
    return building.program(*building.arrays, out=out, stream=stream, **building.numbers)


class _Building:
    """A program of what some results are made of."""

    def __init__(self, results):
        self.arrays, self.numbers = [], {}
        self.images, self.nodes = {}, {}  # by identity: (name, dimensions)
        self.declarations, self.definitions, self.places, self.statements = [], [], [], []
        self.functions, self.structs = {}, {}
        self.taken = set(RESERVED)
        self.wide = self._is_wide(results)
        made = [self._node(r)[0] for r in results]
        self.text, self.lines = self._text(made)
        options = {k: v for r in results for k, v in r._options.items()}
        if "target" not in options and builtins.any(_arrays.is_on_cuda(array) for array in self.arrays):
            options["target"] = "cuda"
        try:
            self.program = compiled(
                self.text,
                name=results[-1]._maker if isinstance(results[-1]._maker, str) else results[-1]._maker.__name__,
                **options,
            )
        except _errors.CompileError as error:
            raise self._at_python(error) from None

    @staticmethod
    def _is_wide(results):
        """Whether real numbers are doubles: some image has elements that floats do not hold."""
        todo, seen = list(results), set()
        while todo:
            node = todo.pop()
            if id(node) in seen:
                continue
            seen.add(id(node))
            if isinstance(node, Lazy):
                todo += node._arguments
            elif not _is_number(node) and _type_name(node) in ("float64", "int32", "int64", "uint32"):
                return True
        return False

    def _name(self, wanted):
        name, n = safe(wanted), 1
        while name in self.taken:
            n += 1
            name = f"{safe(wanted)}_{n}"
        self.taken.add(name)
        return name

    def _image(self, array, wanted, n_dims):
        """An array as an input of the program; it is found again by what it is."""
        if id(array) in self.images:
            return self.images[id(array)]
        shape = getattr(array, "shape", None)
        if shape is None:
            array = memoryview(array) if not isinstance(array, (list, str, bytes, type(None))) else array
            shape = getattr(array, "shape", None)
            if shape is None:
                raise _errors.ArgumentTypeError(f"'{wanted}' is {_arrays._kind(array)}, not an array or a number")
        element = _type_name(array)
        if element not in TYPES:
            raise _errors.ArgumentTypeError(
                f"image '{wanted}' has elements of type {element}; images have {_arrays._KNOWN}"
            )
        n = len(shape) if n_dims is None else n_dims
        pixel = TYPES[element]
        if len(shape) == n + 1 and 1 <= shape[-1] <= 16:
            pixel = self._struct(pixel, shape[-1])
        elif len(shape) != n or not 1 <= n <= 4:
            raise _errors.ArgumentError(f"'{wanted}' has {len(shape)} dimensions, but the stencil reads {n}")
        name = self._name(wanted)
        sizes = [self._name(f"{name}_{d}") for d in range(n)]
        self.declarations.append(f"parameter {', '.join(sizes)};\nvector#{n} {pixel} {name}[{', '.join(sizes)}];")
        self.arrays.append(array)
        self.images[id(array)] = name, n
        return name, n

    def _struct(self, element, channels):
        if (element, channels) not in self.structs:
            fields = "rgba"[:channels] if 3 <= channels <= 4 else [f"c{i}" for i in range(channels)]
            self.structs[element, channels] = self._name(f"{element}{channels}"), "".join(
                f" {element} {f};" for f in fields
            )
        return self.structs[element, channels][0]

    def _number(self, value, wanted, const=False):
        """A number as an input: another value needs no other program, unless it stands where a constant must."""
        name = self._name(wanted)
        value = value.item() if hasattr(value, "item") else value
        kind = "int" if isinstance(value, (bool, int)) else "double" if self.wide or const else "float"
        self.declarations.append(f"const {kind} {name} = {number(value) or 'nan'};" if const else f"{kind} {name};")
        if not const:
            self.numbers[name] = value
        return name

    def _operand(self, value, wanted, n_dims=None):
        if isinstance(value, Lazy):
            return self._node(value)
        if _is_number(value):
            return self._number(value, wanted), 0
        return self._image(value, wanted, n_dims)

    def _node(self, lazy):
        """(name, dimensions) of what a node gives, defined by now."""
        if id(lazy) in self.nodes:
            return self.nodes[id(lazy)]
        if isinstance(lazy._maker, str):
            made = self._pointwise(lazy)
        elif lazy._result is not None:
            made = self._image(lazy._result, lazy._maker.__name__, None)
        else:
            made = self._call(lazy)
        self.nodes[id(lazy)] = made
        return made

    def _pointwise(self, lazy):
        dims = None
        for a in lazy._arguments:
            if isinstance(a, Lazy):
                dims = self._node(a)[1]
        sides = [self._operand(a, "x", dims) for a in lazy._arguments]
        name, op = self._name("t"), lazy._maker
        terms = [s[0] for s in sides]
        body = (
            f"{op}({terms[0]})"
            if len(terms) == 1
            else f"1.0 * {terms[0]} / {terms[1]}" if op == "/" else f"{terms[0]} {op} {terms[1]}"
        )
        self.statements.append(f"{name} = {body};")
        return name, builtins.max(s[1] for s in sides)

    def _call(self, lazy):
        maker, source = lazy._maker, lazy._maker._source
        kinds, terms, dims = {}, [], 0
        for parameter, value in zip(source.parameters, lazy._arguments):
            if not isinstance(value, Lazy) and _is_number(value):
                const = parameter in source.needs_const
                terms.append(self._number(value, parameter, const))
                whole = isinstance(value.item() if hasattr(value, "item") else value, (bool, int))
                kinds[parameter] = "number", "int" if whole else "double" if self.wide or const else "float"
                continue
            name, n = self._operand(value, parameter, maker.dimensions(parameter))
            rule = _rule(lazy._border.get(parameter) if isinstance(lazy._border, dict) else lazy._border)
            terms.append(f"{name}:{rule}" if rule else name)
            kinds[parameter] = "image", maker.dimensions(parameter) or n
            dims = dims or kinds[parameter][1]
        function = self._function(maker, kinds)
        name = self._name(f"{maker.__name__}_of")
        self.statements.append(f"{name} = {function}({', '.join(terms)});")
        return name, dims

    def _function(self, maker, kinds):
        key = id(maker), tuple(sorted(kinds.items()))
        if key not in self.functions:
            name = self.functions[key] = self._name(maker.__name__)
            lines, places = Translation(maker._source, name, kinds).text()
            self.definitions += lines
            self.places += [(maker._source, p) if p else None for p in places]
        return self.functions[key]

    def _text(self, results):
        structs = [f"struct {name} {{{fields} }}" for name, fields in self.structs.values()]
        end = "\n".join([*self.declarations, *self.statements, f"return {', '.join(results)};", ""])
        return "\n".join([*structs, *self.definitions, end]), [None] * len(structs) + self.places

    def _at_python(self, error):
        """The same error at the line of Python that it is about."""
        for found in error.diagnostics:
            line = found.get("line", 0)
            place = self.lines[line - 1] if 0 < line <= len(self.lines) else None
            if place:
                return place[0].error_at(*place[1], found.get("message", "this does not work"))
        return error


def _rule(border):
    """A border rule as the language writes it, also given as a list of rules, one a dimension."""
    if border is None or isinstance(border, str):
        return border
    if not isinstance(border, (list, tuple)) or not builtins.all(isinstance(rule, str) for rule in border):
        raise _errors.ArgumentTypeError(f"a border rule is text, or a list of such for each dimension, not {border!r}")
    return f"[{', '.join(border)}]"


def _type_name(array):
    """NumPy's name of an array's element type, whoever made it."""
    dtype = getattr(array, "dtype", None)
    if dtype is None:
        return np.asarray(array).dtype.name
    return getattr(dtype, "name", None) or str(dtype).split(".")[-1]
