"""Geometric transforms with SciPy's names, by splines of orders 0 to 5: each point of the result is found in the image
by its coordinates, by SciPy's rules of what lies beyond the edges, and its neighbours are weighed. From order 2 on the
image is first made into the coefficients of its spline (python/src/spline.c)."""
import functools
import itertools
import math
import os
import re
from collections.abc import Iterable

import numpy as np

from .. import _core, _errors
from .._translate import TYPES
from ._engine import (
    Output, Pipe, Remote, along, as_array, as_image, chain, execute, finite, literal, plain, rule_of,
    sequence, warn,
)

# How coordinates outside are brought inside: below 0, and above n - 1, of x in an image of n points; l is n - 1, and
# images of one point have 0.
_MAPS = {
    "mirror": (
        "(m <= 1.0d - n ? m + 2.0d * l : -m)", "2.0d * l * trunc(-x / (2.0d * l)) + x", "(m >= n ? 2.0d * l - m : m)",
        "x - 2.0d * l * trunc(x / (2.0d * l))",
    ),
    "reflect": (
        "(m < -n ? m + 2.0d * n : (m > -1e-15d ? 1e-15d : -m) - 1.0d)",
        "(x < -2.0d * n ? 2.0d * n * trunc(-x / (2.0d * n)) + x : x)", "(m >= n ? 2.0d * n - m - 1.0d : m)",
        "x - 2.0d * n * trunc(x / (2.0d * n))",
    ),
    "wrap": ("m", "x + l * (trunc(-x / l) + 1.0d)", "m", "x - l * trunc(x / l)"),
    "grid-wrap": ("m", "x + n * (trunc((-1.0d - x) / n) + 1.0d)", "m", "x - n * trunc(x / n)"),
}
_MAPS["grid-mirror"] = _MAPS["reflect"]
# The rule for neighbours of a coordinate that lies inside.
_RULES = {
    "mirror": "mirror", "reflect": "reflect", "grid-mirror": "reflect", "wrap": "mirror", "grid-wrap": "wrap",
    "nearest": "clamp", "constant": "mirror", "grid-constant": "constant(cval)",
}


_PAD = 12  # points around an image whose spline does not end with it, as SciPy has them
# How the coefficients of splines go on beyond the edges.
_SPLINE_ENDS = {"grid-wrap": 2, "reflect": 1, "grid-mirror": 1, "nearest": 1}
# The weights of neighbours: of the distance t to the first of the two in the middle (u to the second) where the order
# is odd, of the distance t to the one in the middle where it is even.
_WEIGHTS = {
    0: ["1.0d"],
    1: ["1.0d - t", "t"],
    2: ["0.5d * (0.5d - t) * (0.5d - t)", "0.75d - t * t", "0.5d * (0.5d + t) * (0.5d + t)"],
    3: [
        "u * u * u / 6.0d", "(t * t * (t - 2.0d) * 3.0d + 4.0d) / 6.0d", "(u * u * (u - 2.0d) * 3.0d + 4.0d) / 6.0d",
        "t * t * t / 6.0d",
    ],
}


def _polynomial(variable, coefficients, divisor):
    """A polynomial by Horner's rule, the coefficient of the highest power first."""
    text = f"{float(coefficients[0])}d"
    for c in coefficients[1:]:
        text = f"({text}) * {variable} + ({float(c)}d)"
    return f"({text}) / {float(divisor)}d"


# The pieces of the B-splines of orders 4 and 5, of the distances to their middles.
_WEIGHTS[4] = [
    _polynomial("(0.5d - t)", [1, 0, 0, 0, 0], 24), _polynomial("(1.0d + t)", [-16, 80, -120, 20, 55], 96),
    _polynomial("t", [48, 0, -120, 0, 115], 192), _polynomial("(1.0d - t)", [-16, 80, -120, 20, 55], 96),
    _polynomial("(0.5d + t)", [1, 0, 0, 0, 0], 24),
]
_WEIGHTS[5] = [
    _polynomial("u", [1, 0, 0, 0, 0, 0], 120), _polynomial("(1.0d + t)", [5, -45, 150, -210, 75, 51], 120),
    _polynomial("t", [-10, 30, 0, -60, 0, 66], 120), _polynomial("u", [-10, 30, 0, -60, 0, 66], 120),
    _polynomial("(1.0d + u)", [5, -45, 150, -210, 75, 51], 120), _polynomial("t", [1, 0, 0, 0, 0, 0], 120),
]


def _check_order(order):
    if not 0 <= order <= 5:
        raise RuntimeError("spline order not supported")


def _spline(image, orders, mode, cval, prefilter):
    """(coefficients of the image's spline along the axes of order 2 and more, how many points they have more at each
    edge of each axis)."""
    if max(orders) < 2 or not prefilter:
        return image, [0] * image.ndim
    pads = [_PAD if order > 1 and mode in ("nearest", "grid-constant") else 0 for order in orders]
    if isinstance(image, Remote):
        return _spline_there(image, orders, mode, cval, pads), pads
    image = image.astype(np.float64)
    if any(pads):
        wide = dict(mode="edge") if mode == "nearest" else dict(constant_values=cval)
        image = np.pad(image, [(pad, pad) for pad in pads], **wide)
    made = np.ascontiguousarray(image)
    for axis, (n, order) in enumerate(zip(made.shape, orders)):
        if order < 2:
            continue
        before, behind = math.prod(made.shape[:axis]), math.prod(made.shape[axis + 1:])
        _in_threads(
            functools.partial(
                _core.spline_filter, made.ctypes.data, before, n, behind, order, _SPLINE_ENDS.get(mode, 0)
            ), made.size
        )
    return made, pads


def _in_threads(work, size):
    """Calls `work(part, parts)` for all parts of an image: as many as there are cores, or as OpenMP is told to use."""
    told = os.environ.get("OMP_NUM_THREADS", "")
    cores = int(told) if told.isdecimal() and int(told) else len(os.sched_getaffinity(0))
    parts = min(cores, size // 50000 + 1)
    if parts == 1:
        return work(0, 1)
    from concurrent.futures import ThreadPoolExecutor
    with ThreadPoolExecutor(parts) as pool:
        list(pool.map(work, range(parts), [parts] * parts))


# The poles of the recursions that make the coefficients of splines.
_POLES = {
    2: [math.sqrt(8) - 3], 3: [math.sqrt(3) - 2],
    4: [
        math.sqrt(664 - math.sqrt(438976)) + math.sqrt(304) - 19,
        math.sqrt(664 + math.sqrt(438976)) - math.sqrt(304) - 19,
    ],
    5: [
        math.sqrt(67.5 - math.sqrt(4436.25)) + math.sqrt(26.25) - 6.5,
        math.sqrt(67.5 + math.sqrt(4436.25)) - math.sqrt(26.25) - 6.5,
    ],
}


@functools.lru_cache
def _spline_weights(pole):
    """The two recursions of a pole as weights of the neighbours to both sides, as far as doubles show them."""
    reach = math.ceil(math.log(1e-17) / math.log(abs(pole)))
    return [(1 - pole) / (1 + pole) * pole**abs(k) for k in range(-reach, reach + 1)]


def _spline_there(image, orders, mode, cval, pads):
    """The same on a device, where recursions along rows would leave most of it idle: as correlations, which the rule
    of the borders makes the same."""
    if any(pads):
        sizes = ", ".join(f"N{d}" for d in range(image.ndim))
        places = ", ".join(f"P{d}" for d in range(image.ndim))
        at = ", ".join(f"index({d}) - {pad}" for d, pad in enumerate(pads))
        rule = "clamp" if mode == "nearest" else "constant(cval)"
        text = (
            f"stencil f(vector#{image.ndim} uint8 P, vector#{image.ndim} double X) {{ return X[{at}]; }}\n"
            f"parameter {sizes}, {places};\nvector#{image.ndim} {TYPES[image.dtype.name]} a[{sizes}];\n"
            f"vector#{image.ndim} uint8 p[{places}];\ndouble cval;\nwide = cast<double>(a);\n"
            f"return f(p, wide:{rule});\n"
        )
        larger = image.empty([n + 2 * pad for n, pad in zip(image.shape, pads)], np.uint8)
        image = image.run(text, larger, cval=float(cval))
    pipe = Pipe(image)
    if pipe.type != "float64":
        pipe.stage("cast<double>(X)", "any", "float64", None)
    rule = {2: "wrap", 1: "reflect", 0: "mirror"}[_SPLINE_ENDS.get(mode, 0)]
    for axis, order in enumerate(orders):
        for pole in _POLES.get(order, ()):
            weights = _spline_weights(pole)
            half = len(weights) // 2
            terms = [f"{along(image.ndim, axis, 0)} * {literal(weights[half])}"]
            terms += [
                f"({along(image.ndim, axis, k)} + {along(image.ndim, axis, -k)}) * {literal(weights[half + k])}"
                for k in range(-half, 0)
            ]
            locals, total = chain(terms)
            rules = ", ".join(rule if d == axis else "clamp" for d in range(image.ndim))
            pipe.stage(total, "double", "float64", f"[{rules}]" if image.ndim > 1 else rule, 2 * len(weights), locals)
    return pipe.run(Output(np.float64, image))


def _named(text, d):
    return re.sub(r"\b([mnlx])\b", rf"\g<1>{d}", text)


def _coordinate(d, expression, mode, pad):
    """Locals that make of a coordinate where it is read: m, the coordinate brought inside."""
    more = f" + {pad}.0d" if pad else ""
    lines = [f"n{d} = cast<double>(size(X, {d}));", f"l{d} = n{d} - 1.0d;", f"x{d} = {expression}{more};"]
    if mode in ("constant", "grid-constant", "nearest"):  # neighbours outside are answered one by one
        return lines + [f"c{d} = x{d};"]
    below, below_m, above, above_m = (_named(t, d) for t in _MAPS[mode])
    lines += [f"a{d} = {below_m};", f"b{d} = {above_m};"]
    low, high = below.replace(f"m{d}", f"a{d}"), above.replace(f"m{d}", f"b{d}")
    return lines + [f"c{d} = x{d} >= 0.0d && x{d} <= l{d} ? x{d} : n{d} <= 1.0d ? 0.0d : x{d} < 0.0d ? {low} : {high};"]


# Where index q lies that is below 0, or above the last, e, by less than the image is long.
_FOLDS = {
    "mirror": ("-{q}", "2 * e - {q}"), "reflect": ("-1 - {q}", "2 * e + 1 - {q}"),
    "wrap": ("{q} + e + 1", "{q} - e - 1"),
}


def _places(d, order, fold):
    """Where the neighbours of a coordinate lie in dimension d: locals, and an index for each. With `fold` those beyond
    the edges are brought inside here, by comparisons, and the rule need not divide."""
    plain = [f"i{d} + {k}" if k else f"i{d}" for k in range(order + 1)]
    if not fold:
        return [], plain
    below, above = (text.replace("e", f"e{d}") for text in _FOLDS[fold])
    lines, found = [f"e{d} = size(X, {d}) - 1;"], [f"p{d}{k}" for k in range(order + 1)]
    for k, q in enumerate(plain):
        text = f"q{d}{k}"
        if k < order // 2 or fold == "wrap":
            text = f"{text} < 0 ? {below.format(q=text)} : {text}"
        if k >= order // 2 + order % 2 or fold == "wrap":
            text = f"q{d}{k} > e{d} ? {above.format(q=f'q{d}{k}')} : {text}"
        lines += [f"q{d}{k} = {q};", f"p{d}{k} = {text};"]
    return lines, found


def _flat(orders, places):
    """The neighbours of orders 0 and 1, weighed as SciPy does it, since integers show the last bit of a half."""
    terms = []
    for corner in itertools.product(*(range(order + 1) for order in orders)):
        at = ", ".join(places[d][k] for d, k in enumerate(corner))
        weights = "".join(f" * w{d}{k}" for d, k in enumerate(corner) if orders[d])
        terms.append(f"cast<double>(X[{at}]){weights}")
    return " + ".join(terms)


def _weighed(corners, d, orders, places):
    """The neighbours from dimension d on, weighed: `corners` says where they lie in those before."""
    if d == len(orders):
        return f"cast<double>(X[{', '.join(corners)}])"
    terms = [
        _weighed([*corners, places[d][k]], d + 1, orders, places) + (f" * w{d}{k}" if orders[d] else "")
        for k in range(orders[d] + 1)
    ]
    return f"({' + '.join(terms)})" if len(terms) > 1 else terms[0]


def _text(source, n_out, coordinates, orders, mode, pads, made, declarations, arguments):
    """A program that reads image `a` at coordinates: `coordinates` has an expression for each of its dimensions."""
    ndim = source.ndim
    lines = [line for d, c in enumerate(coordinates) for line in _coordinate(d, c, mode, pads[d])]
    rule, places = _RULES[mode], []
    fold = rule if rule in _FOLDS and all(n > 2 * order + 2 for n, order in zip(source.shape, orders)) else None
    for d, order in enumerate(orders):
        lines.append(f"f{d} = floor(c{d}{'' if order % 2 else ' + 0.5d'});")
        lines.append(f"i{d} = cast<int>(f{d}){f' - {order // 2}' if order > 1 else ''};")
        lines.append(f"t{d} = c{d} - f{d};")
        if order:
            lines.append(f"u{d} = 1.0d - t{d};")
            lines += [f"w{d}{k} = {re.sub(r'([tu])', rf'{chr(92)}g<1>{d}', w)};" for k, w in enumerate(_WEIGHTS[order])]
        more, found = _places(d, order, fold)
        lines, places = lines + more, [*places, found]
    lines.append(f"v = {_flat(orders, places) if max(orders) < 2 else _weighed([], 0, orders, places)};")
    if mode == "constant":  # also where a coordinate is NaN
        inside = " && ".join(f"x{d} >= 0.0d && x{d} <= l{d}" for d in range(ndim))
        lines.append(f"r = {inside} ? v : cval;")
    else:
        lines.append("r = v;")
    limits = np.iinfo(made) if made[0] in "iu" else None
    if made == "bool":
        result = "cast<uint8>(cast<int64>(r))"
    elif limits is None:
        result = f"cast<{TYPES[made]}>(r)"
    elif limits.min == 0:
        result = f"cast<{made}>(r > 0.0d ? r + 0.5d : 0.0d)"
    else:
        result = f"cast<{made}>(r > 0.0d ? r + 0.5d : r - 0.5d)"
    sizes = ", ".join(f"N{d}" for d in range(ndim))
    inner = "\n    ".join([*lines, f"return {result};"])
    image = "a"
    widen = ""
    if mode == "grid-constant":  # whose constant need not be a value of the image's type
        image, widen = "wide", "wide = cast<double>(a);\n"
    return (
        f"stencil f({', '.join(a[0] for a in arguments)}, vector#{ndim} any X, double cval) {{\n    {inner}\n}}\n"
        f"parameter {sizes};\nvector#{ndim} {TYPES[source.dtype.name]} a[{sizes}];\n{declarations}double cval;\n{widen}"
        f"r = f({', '.join(a[1] for a in arguments)}, {image}:{'clamp' if fold else rule}, cval);\nreturn r;\n"
    )


def _stored_type(place):
    return "bool" if place.dtype == np.bool_ else place.stage_type


def _run(image, place, text, others, cval, orders):
    operations = math.prod(place.shape) * (20 + 8 * math.prod(order + 1 for order in orders))
    result = execute(text, [image, *others], {"cval": float(cval)}, operations)
    if place.dtype == np.uint64:
        result = result.view(np.uint64)
    return place.finish(result if result.shape == place.shape else result.reshape(place.shape))


def _check_mode(mode):
    rule_of(mode)
    return mode


def _transform(image, place, coordinates, orders, mode, cval, prefilter):
    """A result whose coordinates are expressions of its own indices; `orders` has one of the spline for each."""
    _check_mode(mode)
    image = plain(image)
    if 0 in place.shape:
        return place.finish(np.zeros(place.shape, place.dtype))
    if image.size == 0:
        return place.finish(np.full(place.shape, cval, place.dtype))
    n_out = len(place.shape)
    if image.ndim > 4 or n_out > 4:
        raise _errors.UnsupportedError(f"transforms have up to 4 dimensions, not {max(image.ndim, n_out)}")
    image, pads = _spline(image, orders, mode, cval, prefilter)
    sizes = ", ".join(f"P{d}" for d in range(n_out))
    declarations = f"parameter {sizes};\nvector#{n_out} uint8 p[{sizes}];\n"  # says how large the result is
    arguments = [(f"vector#{n_out} uint8 P", "p")]
    text = _text(image, n_out, coordinates, orders, mode, pads, _stored_type(place), declarations, arguments)
    shaped = image.empty(place.shape, np.uint8) if isinstance(image, Remote) else np.zeros(place.shape, np.uint8)
    return _run(image, place, text, [shaped], cval, orders)


def _complex_parts(function):
    """Transforms of complex images: real and imaginary part apart."""
    @functools.wraps(function)
    def transform(input, *args, output=None, cval=0.0, **named):
        image = as_image(input)
        if image.dtype.kind != "c":
            return function(image, *args, output=output, cval=cval, **named)
        real = function(image.real, *args, output=np.float64, cval=np.real(cval), **named)
        imaginary = function(image.imag, *args, output=np.float64, cval=np.imag(cval), **named)
        return Output(output, image, real.shape, complex_output=True).finish(real + 1j * imaginary)
    return transform


def _line(coordinates):
    if isinstance(coordinates, Remote):
        return coordinates.astype(np.float64, copy=False).reshape([-1])
    return np.ascontiguousarray(coordinates, np.float64).reshape(-1)


@_complex_parts
def _map_coordinates(image, coordinates, order, mode, prefilter, *, output, cval):
    place = Output(output, image, coordinates.shape[1:])
    _check_mode(mode)
    image, points = plain(image), int(np.prod(place.shape))
    if points == 0 or image.size == 0:
        return place.finish(np.full(place.shape, cval, place.dtype))
    if image.ndim > 4:
        raise _errors.UnsupportedError(f"transforms have up to 4 dimensions, not {image.ndim}")
    orders = [order] * image.ndim
    image, pads = _spline(image, orders, mode, cval, prefilter)
    others = [_line(c) for c in coordinates]
    declarations = "parameter P;\n" + "".join(f"vector#1 double q{d}[P];\n" for d in range(image.ndim))
    arguments = [(f"vector#1 double Q{d}", f"q{d}") for d in range(image.ndim)]
    text = _text(
        image, 1, [f"Q{d}" for d in range(image.ndim)], orders, mode, pads, _stored_type(place), declarations, arguments
    )
    return _run(image, place, text, others, cval, orders)


def map_coordinates(input, coordinates, output=None, order=3, mode="constant", cval=0.0, prefilter=True):
    """The image at given coordinates, as `scipy.ndimage.map_coordinates`."""
    _check_order(order)
    coordinates = as_array(coordinates)
    if np.iscomplexobj(coordinates):
        raise TypeError("Complex type not supported")
    if np.ndim(input) < 1 or coordinates.ndim < 2:
        raise RuntimeError("input and output rank must be > 0")
    if coordinates.shape[0] != np.ndim(input):
        raise RuntimeError("invalid shape for coordinate array")
    return _map_coordinates(input, coordinates, order, mode, prefilter, output=output, cval=cval)


def _row(offset, factors):
    """A coordinate that is a sum of multiples of the indices, added in SciPy's order."""
    return literal(offset) + "".join(f" + cast<double>(index({d})) * {literal(f)}" for d, f in enumerate(factors))


@_complex_parts
def _affine(image, rows, shape, orders, mode, prefilter, *, output, cval):
    return _transform(image, Output(output, image, shape), rows, orders, mode, cval, prefilter)


def affine_transform(
    input, matrix, offset=0.0, output_shape=None, output=None, order=3, mode="constant", cval=0.0, prefilter=True
):
    """An affine transform, as `scipy.ndimage.affine_transform`."""
    _check_order(order)
    image = as_image(input)
    if output_shape is None:
        output_shape = output.shape if isinstance(output, (np.ndarray, Remote)) else image.shape
    if image.ndim < 1 or len(output_shape) < 1:
        raise RuntimeError("input and output rank must be > 0")
    matrix = np.asarray(matrix, dtype=np.float64)
    n = image.ndim
    if matrix.ndim not in (1, 2) or matrix.shape[0] < 1:
        raise RuntimeError("no proper affine matrix provided")
    if matrix.ndim == 2 and matrix.shape[1] == n + 1 and matrix.shape[0] in (n, n + 1):
        if matrix.shape[0] == n + 1 and not np.array_equal(matrix[n], [0] * n + [1]):
            raise ValueError(
                f"Expected homogeneous transformation matrix with shape {matrix.shape} for image shape {image.shape}, "
                f"but its last row is {matrix[n].tolist()}"
            )
        offset, matrix = matrix[:n, n], matrix[:n, :n]
    if matrix.shape[0] != n:
        raise RuntimeError("affine matrix has wrong number of rows")
    if matrix.ndim == 2 and matrix.shape[1] != len(output_shape):
        raise RuntimeError("affine matrix has wrong number of columns")
    offset = finite("the offset", np.asarray(sequence(offset, n), dtype=np.float64))
    finite("the matrix", matrix)
    if offset.ndim != 1 or offset.shape[0] < 1:
        raise RuntimeError("no proper offset provided")
    if matrix.ndim == 2:
        rows = [_row(o, m) for o, m in zip(offset, matrix)]
    else:
        with np.errstate(all="ignore"):
            rows = [
                f"(cast<double>(index({d})) + {literal(o / m)}) * {literal(m)}"
                for d, (o, m) in enumerate(zip(offset, matrix))
            ]
    return _affine(image, rows, tuple(output_shape), [order] * image.ndim, mode, prefilter, output=output, cval=cval)


def shift(input, shift, output=None, order=3, mode="constant", cval=0.0, prefilter=True):
    """The image moved, as `scipy.ndimage.shift`."""
    _check_order(order)
    image = as_image(input)
    if image.ndim < 1:
        raise RuntimeError("input and output rank must be > 0")
    steps = finite("the shift", sequence(shift, image.ndim))
    rows = [f"cast<double>(index({d})) + {literal(-float(s))}" for d, s in enumerate(steps)]
    return _affine(image, rows, image.shape, [order] * image.ndim, mode, prefilter, output=output, cval=cval)


def zoom(input, zoom, output=None, order=3, mode="constant", cval=0.0, prefilter=True, *, grid_mode=False):
    """The image at another size, as `scipy.ndimage.zoom`."""
    _check_order(order)
    image = as_image(input)
    if image.ndim < 1:
        raise RuntimeError("input and output rank must be > 0")
    factors = finite("zoom", sequence(zoom, image.ndim))
    shape = tuple(int(round(n * z)) for n, z in zip(image.shape, factors))
    if prefilter and all(z == 1 for z in factors):
        place = Output(output, image, shape)
        return place.copy_of(image.astype(place.dtype))
    if grid_mode and mode in ("constant", "wrap"):
        warn(f"It is recommended to use mode = grid-{mode} instead of {mode} when grid_mode is True.")
    rows = []
    for d, (n, m) in enumerate(zip(image.shape, shape)):
        n, m = (n, m) if grid_mode else (n - 1, m - 1)
        step = literal(n / m if m else 1.0)
        at = f"cast<double>(index({d}))"
        rows.append(f"({at} + 0.5d) * {step} - 0.5d" if grid_mode else f"{at} * {step}")
    return _affine(image, rows, shape, [order] * image.ndim, mode, prefilter, output=output, cval=cval)


def _of_degrees(angle):
    """(cosine, sine) of degrees, from the nearest quarter turn, where they are exact."""
    eighths = int(abs(angle) // 45)
    eighths += eighths % 2
    rest = math.radians(abs(angle) - 45.0 * eighths)
    c, s = math.cos(rest), math.sin(rest)
    c, s = [(c, s), (-s, c), (-c, -s), (s, -c)][eighths // 2 % 4]
    return c, math.copysign(1.0, angle) * s


def rotate(input, angle, axes=(1, 0), reshape=True, output=None, order=3, mode="constant", cval=0.0, prefilter=True):
    """The image turned in a plane, as `scipy.ndimage.rotate`."""
    _check_order(order)
    image = as_image(input)
    n = image.ndim
    if n < 2:
        raise ValueError("input array should be at least 2D")
    axes = list(axes) if isinstance(axes, Iterable) else [axes]
    if len(axes) != 2:
        raise ValueError("axes should contain exactly two values")
    if not all(float(a).is_integer() for a in axes):
        raise ValueError("axes should contain only integer values")
    axes = sorted(int(a) + (n if a < 0 else 0) for a in axes)
    if axes[0] < 0 or axes[1] >= n:
        raise ValueError("invalid rotation plane specified")
    c, s = _of_degrees(finite("the angle", angle))
    turn = np.array([[c, s], [-s, c]])
    plane = np.array([image.shape[a] for a in axes])
    made = plane
    if reshape:
        made = (np.ptp(turn @ [[0, 0, plane[0], plane[0]], [0, plane[1], 0, plane[1]]], axis=1) + 0.5).astype(int)
    offset = (plane - 1) / 2 - turn @ ((made - 1) / 2)
    shape, rows = list(image.shape), [_row(0.0, [float(e == d) for e in range(n)]) for d in range(n)]
    for k, axis in enumerate(axes):
        shape[axis] = int(made[k])
        factors = [0.0] * n
        factors[axes[0]], factors[axes[1]] = turn[k]
        rows[axis] = literal(offset[k]) + "".join(
            f" + cast<double>(index({d})) * {literal(f)}" for d, f in enumerate(factors) if d in axes
        )
    orders = [order if d in axes else 0 for d in range(n)]  # each plane is turned by itself
    return _affine(image, rows, tuple(shape), orders, mode, prefilter, output=output, cval=cval)
