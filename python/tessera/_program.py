"""Compiled programs: `tessera.compile` and what it gives."""
import collections
import collections.abc
import html
import operator
import os
import pathlib
import re
import shutil
import sys
import warnings

import numpy as np

from . import _arrays, _core, _errors

_TARGETS = {"auto": 0, "c": 1, "cuda": 2, "opencl": 3, "interp": 4, "loops": 5, "vm": 6}
_FPS = {"default": 0, "strict": 1, "fast": 2}
_FIRSTS = {"wait": 0, "now": 1, "auto": 2}
_EFFORTS = {"normal": 0, "quick": 1, "best": 2}
_DIALECTS = {None: 0, "tessera": 0, "forma": 1, "graph": 2}
_PRESETS = tuple(_core.presets())

Input = collections.namedtuple("Input", "name kind dtype ndim channels default range const")
Input.__doc__ = """An input of a program.

Attributes
----------
name : str
kind : {'image', 'mask', 'scalar', 'parameter'}
dtype : str
    NumPy's name of the element type; 'any' where that is the array's.
ndim : int
    Dimensions, without the channels.
channels : tuple of str
    Names of the fields of its pixels; empty for plain images.
default : float or None
range : tuple of float or None
    Lowest and highest value.
const : bool
    Whether another value compiles the program again.
"""
Output = collections.namedtuple("Output", "name dtype ndim channels nodata", defaults=(None,))
Output.__doc__ = """A result of a program: its name, element type, dimensions and channels, and the value that it holds
where it is not valid (None: it is valid everywhere)."""
Timing = collections.namedtuple("Timing", "target front_ms compile_ms run_ms copy_ms compile_cached strips")
Timing.__doc__ = "How long the last run took, in milliseconds, and where it ran."


def machine():
    """A description of this machine, as `tessera.compile(machine=...)` takes it."""
    return _core.machine()


def presets():
    """The names of plans that any program takes as `plan`: those of papers, to measure others against."""
    return _PRESETS


def _choice(what, word, words):
    if word in words:
        return words[word]
    raise _errors.ArgumentError(f"{what} is {word!r}, but it can be {', '.join(map(repr, words))}")


def _read(path, what):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise _errors.FileError(f"{what} '{os.fspath(path)}' cannot be read: {error.strerror}") from error


def _is_path(text):
    return isinstance(text, os.PathLike) or (
        isinstance(text, str) and "\n" not in text and text.endswith((".tess", ".idsl"))
    )


def _plan_text(plan):
    if plan is None or (isinstance(plan, str) and ("\n" in plan or plan.startswith("preset "))):
        return plan
    if plan in _PRESETS:
        return f"preset {plan}"
    return _read(plan, "the plan").decode("utf-8", "replace")


def _compiler():
    """A compiler from PyPI, where the machine has none: `pip install tessera[cc]`."""
    if os.environ.get("TESSERA_CC") or any(shutil.which(name) for name in ("cc", "gcc", "clang")):
        return None
    script = pathlib.Path(__file__).with_name("zig-cc")
    beside = script.parent.parent / "ziglang" / "zig"
    return str(script) if beside.exists() and os.access(script, os.X_OK) else None


def _open_nvrtc():
    """The compiler of kernels from PyPI, where there is one: `pip install tessera[cuda]`. What is open already is found
    by its name."""
    import ctypes
    import glob
    for folder in sys.path:
        for path in sorted(glob.glob(os.path.join(folder, "nvidia", "*", "lib", "libnvrtc.so.*"))):
            try:
                ctypes.CDLL(path)
                return
            except OSError:
                continue


_NUMPY_NAMES = {"float": "float32", "double": "float64", "int": "int32"}


def _type(word):
    """(NumPy's name, number of fields) of 'uint8x3'."""
    match = re.fullmatch(r"([a-z]+[0-9]*)(?:x([0-9]+))?", word) if isinstance(word, str) else None
    name = match and _NUMPY_NAMES.get(match[1], match[1])
    if not match or name not in _arrays.TYPES or not 1 <= int(match[2] or 1) <= 64:
        raise _errors.ArgumentError(f"types has {word!r}, but a type is written as 'uint16', or 'uint8x3' for pixels")
    return name, int(match[2] or 1)


def _types(types):
    if types is None:
        return ()
    if isinstance(types, str):
        return ((None, *_type(types)),)
    return tuple((name, *_type(word)) for name, word in dict(types).items())


def _check_names(what, given, known):
    for name in given or ():
        if name is not None and name not in known:
            has = ", ".join(f"'{n}'" for n in known) or "none"
            raise _errors.ArgumentError(f"{what} names {name!r}, but the program has {has}")


def _nodata(nodata):
    """As a dict of numbers by names, None being that of all images."""
    if nodata is None:
        return None
    values = dict(nodata) if isinstance(nodata, collections.abc.Mapping) else {None: nodata}
    for name, value in values.items():
        if name is not None and not isinstance(name, str):
            raise _errors.ArgumentTypeError(f"nodata has the name {name!r}, but images are named by text")
        if isinstance(value, (str, bytes)) or not hasattr(value, "__float__") or np.ndim(value):
            raise _errors.ArgumentTypeError(
                f"nodata is {_arrays._kind(value)}, but it is a number, or a dict of numbers"
            )
        values[name] = float(value)
    return values


def compile(
    program, *, target="auto", border=None, fp="default", plan=None, threads=0, device=0, name=None, dialect=None,
    machine=None, constants=None, types=None, nodata=None, first="wait", effort="normal", cc=None, cache=None,
    library=None, quiet=False,
):
    """Compiles a program.

    Parameters
    ----------
    program : str, bytes or path
        The text, or a path (a string that ends in ``.tess`` or ``.idsl`` is one).
    target : {'auto', 'c', 'cuda', 'opencl', 'interp', 'loops', 'vm'}
        Where it runs. 'auto' is 'c', or 'vm', the strip machine, where there is no C compiler.
    border : str, optional
        The border rule of reads that name none, in place of the program's.
    fp : {'default', 'strict', 'fast'}
        How far rounding may differ from the program as written.
    plan : str or path, optional
        A plan as text or in a file, or the name of a preset. Chosen by default.
    threads : int
        At most so many; 0 is all cores.
    device : int
        Number of the device, of targets that are one.
    name : str, optional
        Stands in diagnostics.
    dialect : {'forma', 'graph'}, optional
        Reads the original dialect, or the text of a graph as ``explain(stop="graph")`` gives it.
    machine, cc, cache, library : str, optional
        A description of the machine, a C compiler, the folder of compiled programs ('' for none), the folder of `use`
        files.
    constants : dict, optional
        Values of parameters and const inputs that are needed while compiling.
    types : str or dict, optional
        Element types of images declared ``any``, by name, or one for all: 'uint16', or 'uint8x3' for pixels of three
        fields. Without it they are those of the arrays: each choice of types is compiled once, when it is first met.
    nodata : float or dict, optional
        Pixels that hold this value, in all images or in those named, are not valid: what they give is said by the
        program, or by ``border="mirror:renormalise"``. Results hold the first where they are not valid, where their
        type has it (`Output.nodata`).
    first : {'wait', 'now', 'auto'}
        What the first runs do while the program is compiled: wait for it, or run at once by the strip machine, while a
        process of its own compiles for the cache; ``'auto'``: where that is expected to take less time.
    effort : {'normal', 'quick', 'best'}
        What more code has to gain for the time that it takes to compile.
    quiet : bool
        Whether not to warn of what the compiler warns of.

    Returns
    -------
    Program

    Raises
    ------
    CompileError
        The text is wrong; the message shows the lines with carets.

    Examples
    --------
    >>> p = tessera.compile("edges.tess")
    >>> edges = p(photo, gain=2.0)
    """
    if isinstance(program, bytes):
        text = program
    elif _is_path(program):
        text = _read(program, "the program")
        name = name or os.fspath(program)
    elif isinstance(program, str):
        text = program.encode("utf-8", "surrogatepass")
    else:
        raise _errors.ArgumentTypeError(f"a program is text or a path, not {_arrays._kind(program)}")
    if dialect not in _DIALECTS:
        raise _errors.ArgumentError(f"dialect is {dialect!r}, but it can be 'forma' or 'graph'")
    if machine is not None and "\n" not in machine:
        machine = _read(machine, "the machine").decode("utf-8", "replace")
    options = dict(
        target=target, border=border, fp=fp, plan=_plan_text(plan), threads=threads, device=device,
        name=name or "program.tess", dialect=dialect, machine=machine, constants=dict(constants or {}), cc=cc,
        cache=cache, library=library, types=_types(types), nodata=_nodata(nodata), first=first, effort=effort,
    )
    made = Program.__new__(Program)
    made._open(text, options)
    if made.diagnostics and not quiet:
        warnings.warn(made.diagnostics.rstrip("\n"), _errors.ProgramWarning, stacklevel=_arrays._outside())
    return made


def _compile_again(text, options):
    made = Program.__new__(Program)
    made._open(text, options)
    return made


class Program:
    """A compiled program; `tessera.compile` makes them. Call it with arrays.

    Programs may be used from several threads at once, are pickled as text and options, and hold no global state.
    """

    __slots__ = ("_text", "_options", "_core", "_images", "_numbers", "_n_out", "_any", "_instances", "__weakref__")

    def _open(self, text, options):
        self._text, self._options = text, options
        target = _choice("target", options["target"], _TARGETS)
        if options["target"] == "cuda":
            _open_nvrtc()
        self._core = _core.Program(
            text, options["name"], target, _choice("fp", options["fp"], _FPS), options["threads"], options["device"],
            _DIALECTS[options["dialect"]], options["border"], options["plan"], options["machine"],
            options["library"], options["cache"], options["cc"] or _compiler(), options["constants"] or None, 0,
            list(options["types"]), options["nodata"], _choice("first", options["first"], _FIRSTS),
            _choice("effort", options["effort"], _EFFORTS),
        )
        inputs = self._core.inputs
        self._images = tuple(i[0] for i in inputs if i[1] in ("image", "mask"))
        self._numbers = frozenset(i[0] for i in inputs if i[1] in ("scalar", "parameter"))
        self._n_out = len(self._core.outputs)
        self._any = {i[0]: i[3] for i in inputs if i[11]}
        self._instances = {}
        images = [i[0] for i in inputs if i[1] == "image"]
        _check_names("nodata", options["nodata"], images)
        _check_names("types", [t[0] for t in options["types"]], images)
        _check_names("constants", options["constants"], [i[0] for i in inputs if i[1] in ("scalar", "parameter")])

    def __reduce__(self):
        return _compile_again, (self._text, self._options)

    # ---- Types that come with the arrays
    # ----------------------------------------------------------------------------------------------
    def instance(self, *images, **named):
        """The program for the types of these arrays, where images are declared ``any``: compiled when it is first met,
        then kept. A program without such images is its own instance.

        Returns
        -------
        Program
        """
        if not self._any:
            return self
        arrays = dict(zip(self._images, images))
        arrays.update((name, named[name]) for name in self._images if name in named)
        for name in self._any:
            if name not in arrays:
                raise _errors.ArgumentError(f"the image '{name}' is not given")
        types = tuple((name, *_arrays.type_of(arrays[name], name, ndim)) for name, ndim in self._any.items())
        made = self._instances.get(types)
        if made is None:
            options = dict(self._options, types=self._options["types"] + types)
            made = self._instances.setdefault(types, _compile_again(self._text, options))
        return made

    # ---- Running
    # ----------------------------------------------------------------------------------------------
    def __call__(self, *images, out=None, stream=None, offset=None, shape=None, **named):
        """Runs the program.

        Parameters
        ----------
        *images : array
            Arrays for the images and masks, in the order declared: of NumPy, PyTorch, CuPy or JAX, or with DLPack, the
            buffer protocol or `__cuda_array_interface__`. They are read as they lie where the elements of rows follow
            each other; else a copy is made, with a `CopyWarning`.
        out : array or tuple of arrays, optional
            Memory for the results.
        stream : optional
            Of a device: a stream of PyTorch or CuPy, or its number.
        offset, shape : tuple of int, optional
            The images are parts, at `offset`, of images of this shape. Results are then those points that the parts
            decide: where a part ends inside the image, as many less as `margins` says; where it ends with the image,
            its border rules answer. Where results have fewer points than images, as thumbnails have, `offset` has to
            be a multiple of how many points of an image one of theirs is.
        **named
            Numbers, and images by name.

        Returns
        -------
        array or tuple of arrays
            The results, of the kind that went in.
        """
        if self._any:
            return self.instance(*images, **named)(
                *images, out=out, stream=stream, offset=offset, shape=shape, **named
            )
        if offset is not None or shape is not None:
            return self._part(images, out, stream, offset, shape, named)
        if any(isinstance(image, np.ma.MaskedArray) for image in (*images, *named.values())):
            return self._masked(images, out, stream, named)
        if not named and out is None and stream is None and len(images) == len(self._images):
            for image in images:
                if type(image) is not np.ndarray:
                    break
            else:
                results = self._core.run(images, None, None, None, 0, None, False)
                return results[0] if self._n_out == 1 else results
        return self._run(images, out, stream, named, False)

    def verify(self, *images, **named):
        """Runs the program and compares each pixel, bit by bit, with the graph interpreter; an `InternalError` names
        the first that differs."""
        return self.instance(*images, **named)._run(images, None, None, named, True)

    def _bind(self, images, named):
        """(arrays in the order declared, numbers), with what does not fit refused."""
        if len(images) > len(self._images):
            raise _errors.ArgumentError(
                f"the program takes {_count(len(self._images), 'image')}, not {len(images)}; numbers are given by name"
            )
        arrays = list(images)
        for name in self._images[len(images):]:
            if name not in named:
                raise _errors.ArgumentError(f"the image '{name}' is not given")
            arrays.append(named[name])
        numbers = {}
        for name, value in named.items():
            if name in self._numbers:
                numbers[name] = value
            elif name in self._images[:len(images)]:
                raise _errors.ArgumentError(f"the image '{name}' is given twice")
            elif name not in self._images:
                known = ", ".join(f"'{n}'" for n in (*self._images, *sorted(self._numbers)))
                raise _errors.ArgumentError(f"the program has no input '{name}'; it has {known}")
        return tuple(arrays), numbers

    def _outs(self, out):
        if out is None:
            return None
        outs = out if isinstance(out, (tuple, list)) else (out,)
        if len(outs) != self._n_out:
            raise _errors.ArgumentError(
                f"the program returns {_count(self._n_out, 'image')}, but 'out' has {len(outs)}"
            )
        return tuple(outs)

    def _run(self, images, out, stream, named, verify):
        arrays, numbers = self._bind(images, named)
        outs = self._outs(out)
        kind = _arrays.kind_of(arrays)
        stream = kind.stream if stream is None else stream
        handle = _arrays._stream_of(stream)
        results = self._core.run(arrays, numbers or None, outs, stream, handle, kind.of_program(self), verify)
        if kind.finish:
            results = tuple(r if outs is not None and outs[i] is r else kind.finish(r) for i, r in enumerate(results))
        return results[0] if self._n_out == 1 else results

    def _masked(self, images, out, stream, named):
        """Masked arrays: what is masked holds the value that says so, and results that hold theirs are masked."""
        arrays, numbers = self._bind(images, named)
        nodata = self._options["nodata"] or {}
        filled = []
        for name, array in zip(self._images, arrays):
            if isinstance(array, np.ma.MaskedArray):
                if name not in nodata and None not in nodata:
                    raise _errors.ArgumentError(
                        f"image '{name}' is a masked array: compile the program with nodata=VALUE, which masked points "
                        "then hold, or give its '.data'"
                    )
                array = array.filled(nodata.get(name, nodata.get(None)))
            filled.append(array)
        results = self._run(tuple(filled), out, stream, numbers, False)
        made = []
        for array, value in zip((results,) if self._n_out == 1 else results, (o.nodata for o in self.outputs)):
            if value is not None and isinstance(array, np.ndarray):
                array = np.ma.array(array, mask=np.isnan(array) if value != value else array == value, fill_value=value)
            made.append(array)
        return made[0] if self._n_out == 1 else tuple(made)

    def _part(self, images, out, stream, offset, shape, named):
        if offset is None or shape is None:
            raise _errors.ArgumentError("a part needs both: 'offset', where it begins, and 'shape', that of the whole")
        if out is not None:
            raise _errors.UnsupportedError("results of parts have no 'out': they are smaller than what is computed")
        from . import _parts
        arrays, numbers = self._bind(images, named)
        try:
            offset, shape = tuple(map(operator.index, offset)), tuple(map(operator.index, shape))
        except TypeError:
            raise _errors.ArgumentError(
                f"'offset' and 'shape' have a whole number for each dimension; they are {offset!r} and {shape!r}"
            ) from None
        return _parts.of_part(self, arrays, numbers, offset, shape)

    def margins(self, **numbers):
        """How many points at each edge of a part of an image are not decided by the part.

        Returns
        -------
        tuple of int
            One for each dimension.

        Raises
        ------
        UnsupportedError
            Points depend on far ones (numbers of whole images, `wrap`, scaled or computed indices), or on where they
            are, or are computed in blocks that are counted from the first.
        """
        from . import _parts
        whole = _parts.kept_whole(self)
        if whole:
            raise _errors.UnsupportedError(f"parts cannot be computed apart: {whole}")
        found = {
            name: dims
            for name, dims in self.reach(**numbers).items()
            if dict((i.name, i.kind) for i in self.inputs)[name] == "image"
        }
        if len({len(dims) for dims in found.values()}) != 1:
            raise _errors.UnsupportedError(
                "parts can be computed of programs whose images have the same number of dimensions"
            )
        for name, dims in found.items():
            if None in dims:
                raise _errors.UnsupportedError(
                    f"parts cannot be computed apart: a point depends on far points of '{name}' (dimension "
                    f"{dims.index(None)})"
                )
        if self.placed:
            raise _errors.UnsupportedError(
                "parts cannot be computed apart: points depend on where in the image they are"
            )
        return tuple(max(max(dims[d]) for dims in found.values()) for d in range(len(next(iter(found.values())))))

    # ---- Facts
    # ----------------------------------------------------------------------------------------------
    @property
    def name(self):
        """The name in diagnostics."""
        return self._options["name"]

    @property
    def _on_cuda(self):
        """bool: whether it runs on a CUDA device."""
        return self._options["target"] == "cuda"

    def _device_image(self, shape, element):
        """Memory of its device, which `_core.lend` lends."""
        return self._core.device_image(shape, element)

    @property
    def text(self):
        """The text of the program."""
        return self._text.decode("utf-8", "replace")

    @property
    def inputs(self):
        """tuple of Input: what the program takes, in the order declared."""
        return tuple(
            Input(
                i[0], i[1], "any" if i[11] else i[2], i[3], i[4] if i[10] and not i[11] else (), i[7],
                None if i[8] is None else (i[8], i[9]), i[6],
            )
            for i in self._core.inputs
        )

    @property
    def outputs(self):
        """tuple of Output: what it returns."""
        if self._any: # their types are known with those of the images
            return tuple(Output(o[0], "any", o[3], ()) for o in self._core.outputs)
        return tuple(Output(o[0], o[2], o[3], o[4] if o[10] else (), o[12]) for o in self._core.outputs)

    @property
    def scalars(self):
        """dict of Input: the numbers that it takes, by name."""
        return {i.name: i for i in self.inputs if i.kind == "scalar"}

    @property
    def depth(self):
        """dict: how far each image reaches, with the numbers' defaults: see `reach`."""
        return self.reach()

    def reach(self, **numbers):
        """How far from a point of the results each image matters.

        Returns
        -------
        dict
            By name, a tuple with one entry for each dimension: (before, after), or None where there is no bound.
        """
        _, given = self._bind((None,) * len(self._images), numbers)
        facts = {name: self._core.reach(name, given or None) for name in self._images}
        return {name: tuple(None if f[3][d] else (f[1][d], f[2][d]) for d in range(f[0])) for name, f in facts.items()}

    @property
    def placed(self):
        """bool: whether values depend on where in the image a point is."""
        return any(self._core.reach(name, None)[4] for name in self._images)

    def shapes(self, *images, **named):
        """The shapes of the results for these arguments, without a run."""
        if self._any:
            return self.instance(*images, **named).shapes(*images, **named)
        arrays, numbers = self._bind(images, named)
        return self._core.shapes(arrays, numbers or None)

    @property
    def plan(self):
        """str: the plan, which `tessera.compile(plan=...)` takes."""
        return self._core.dump("plan", None, None)

    def explain(self, *images, stop="plan", **named):
        """Any stop of the compiler as text: 'plan' (with its reasons), 'graph', 'analysis', 'loops', 'c', 'cuda',
        'opencl', ...

        With images and numbers the sizes and constants are those of a run with them.
        """
        if self._any and images:
            return self.instance(*images, **named).explain(*images, stop=stop, **named)
        if not images and not named:
            return self._core.dump(stop, None, None)
        if images or any(name in self._images for name in named):
            arrays, numbers = self._bind(images, named)
            return self._core.dump(stop, arrays, numbers or {})
        return self._core.dump(stop, None, self._bind((None,) * len(self._images), named)[1])

    @property
    def time(self):
        """Timing or None: how long the last run took."""
        facts = self._core.time
        return None if facts is None else Timing(facts[0], *facts[1:5], bool(facts[5]), facts[6])

    @property
    def diagnostics(self):
        """str: what the compiler warned of."""
        return self._core.diagnostics_text

    def _signature(self):
        def one(i):
            kind = (
                i.dtype
                + ("[" + ", ".join("?" * i.ndim) + "]" if i.ndim else "")
                + (f" of {', '.join(i.channels)}" if i.channels else "")
            )
            return f"{i.name}: {kind}" + (f" = {i.default:g}" if getattr(i, "default", None) is not None else "")
        takes = ", ".join(one(i) for i in self.inputs if i.kind != "parameter")
        gives = ", ".join(one(o) for o in self.outputs)
        return takes, gives

    def __repr__(self):
        takes, gives = self._signature()
        return f"<tessera.Program '{self.name}' ({takes}) -> ({gives}), target {self._options['target']}>"

    def _repr_html_(self):
        takes, gives = self._signature()
        if self._any:
            return (
                f"<div><b>{html.escape(self.name)}</b> ({html.escape(takes)}) &rarr; ({html.escape(gives)})"
                f"<details><summary>program</summary><pre>{html.escape(self.text)}</pre></details></div>"
            )
        return (
            f"<div><b>{html.escape(self.name)}</b> ({html.escape(takes)}) &rarr; "
            f"({html.escape(gives)})<br>{self._picture()}"
            f"<details><summary>program</summary><pre>{html.escape(self.text)}</pre></details>"
            f"<details><summary>plan</summary><pre>{html.escape(self.plan)}</pre></details></div>"
        )

    def _picture(self):
        """What a point of the result depends on, as a drawing: the last two dimensions of each image."""
        drawn = []
        for name, dims in self.depth.items():
            if not dims or None in dims[-2:]:
                continue
            (up, down), (left, right) = (((0, 0),) + dims)[-2:]
            if max(up + down, left + right) > 64:
                continue
            cell = 10 if max(up + down, left + right) <= 24 else 4
            width, height = (left + right + 1) * cell, (up + down + 1) * cell
            squares = "".join(f'<rect x="{x * cell}" y="{y * cell}" width="{cell - 1}" height="{cell - 1}" '
                              f'fill="{"#c33" if (x, y) == (left, up) else "#9bd"}"/>'
                              for y in range(up + down + 1) for x in range(left + right + 1))
            drawn.append(
                f'<figure style="display:inline-block;margin:4px"><svg width="{width}" '
                f'height="{height}">{squares}</svg>'
                f"<figcaption>{html.escape(name)}</figcaption></figure>"
            )
        return "".join(drawn)


def _count(n, what):
    return f"{n} {what}" + ("" if n == 1 else "s")
