"""Scalar types, conversions, operators and functions as sections 2, 4 and 15 of docs/language.md define them, on NumPy
arrays. A value is an array whose dtype is its type, a Literal that has no type yet, or a Pixel of several fields."""
import math

import numpy as np

TYPES = {
    "int8": np.int8, "int16": np.int16, "int32": np.int32, "int64": np.int64, "uint8": np.uint8, "uint16": np.uint16,
    "uint32": np.uint32, "float16": np.float16, "float": np.float32, "double": np.float64, "bool": np.bool_,
}
NAMES = {np.dtype(t): name for name, t in TYPES.items()}
INT, FLOAT, DOUBLE, INT64, BOOL = (np.dtype(t) for t in (np.int32, np.float32, np.float64, np.int64, np.bool_))


class Invalid(Exception):
    """The program is none, or the document leaves its pixels open."""


class Literal:
    """A literal without suffix, or constants computed from such: an int or a float of Python."""

    def __init__(self, value, span=None):
        self.value, self.span = value, span or (value, value)  # span: the least and the greatest that share its type


class Pixel:
    def __init__(self, fields):
        self.fields = fields  # name to array, in the order declared


class Trace:
    """What a run was like. exact: whether no operation rounded and numbers stayed small, so that sums may be taken in
    any order and products be fused without changing a bit. zeros: whether the sign of zeros is defined, too."""

    def __init__(self):
        self.exact = True
        self.zeros = True

    def note(self, result):
        """Reals that are small multiples of a power of two stay exact in the sums of a small program."""
        if not self.exact or result.dtype.kind != "f":
            return result
        least, most = (2.0 ** 30, 2.0 ** 20) if result.dtype == DOUBLE else (2.0 ** 7, 2.0 ** 12)
        wide = result.astype(np.float64)
        if not np.all(np.isfinite(wide)) or np.any(np.abs(wide) > most) or np.any(wide * least % 1 != 0):
            self.exact = False
        return result


def is_real(dtype):
    return dtype.kind == "f"


def equal_or_wider(a, b):
    """Where equal types stay as they are, halves apart."""
    if a.dtype == b.dtype and a.dtype != np.float16:
        return a, b
    kind = wider(promoted(a.dtype), promoted(b.dtype))
    return a.astype(kind), b.astype(kind)


def is_narrow(dtype):
    return dtype.kind != "f" and dtype.itemsize < 4


def promoted(dtype):
    """Types narrower than int become int in arithmetic, float16 is computed as float."""
    if is_narrow(dtype):
        return INT
    return FLOAT if dtype == np.float16 else dtype


def real_of(dtype):
    """What a function of reals, or a real literal, makes of a type."""
    if is_real(dtype):
        return promoted(dtype)
    return FLOAT if is_narrow(dtype) else DOUBLE


def wider(a, b):
    """The type in which two promoted types meet."""
    if is_real(a) or is_real(b):
        return DOUBLE if DOUBLE in (a, b) else FLOAT
    if INT64 in (a, b):
        return INT64
    return np.dtype(np.uint32) if np.dtype(np.uint32) in (a, b) else INT


def fits(value, dtype):
    if dtype == BOOL:
        return value in (0, 1)
    info = np.iinfo(dtype)
    return info.min <= value <= info.max


def typed(literal, dtype):
    """A literal takes the type it meets."""
    value = literal.value
    if isinstance(value, float):
        return np.array(value, real_of(dtype))
    if is_real(dtype):
        return np.array(value, promoted(dtype))
    for kind in (dtype, promoted(dtype), INT64):  # the first that it fits
        if fits(literal.span[0], kind) and fits(literal.span[1], kind):
            return np.array(value, kind)
    raise Invalid("a large literal")


def pair(a, b):
    """Both values typed."""
    if isinstance(a, Literal) and isinstance(b, Literal):
        raise Invalid("two literals")
    if isinstance(a, Literal):
        a = typed(a, b.dtype)
    if isinstance(b, Literal):
        b = typed(b, a.dtype)
    return a, b


def convert(v, dtype):
    """As by cast<T>."""
    dtype = np.dtype(dtype)
    if isinstance(v, Pixel):
        return Pixel({name: convert(f, dtype) for name, f in v.fields.items()})
    if isinstance(v, Literal):
        if dtype == BOOL:
            return np.array(v.value != 0)
        if isinstance(v.value, int):
            if not is_real(dtype) and not fits(v.value, dtype):
                raise Invalid("a literal that does not fit")
            return np.array(v.value, dtype)
        v = np.array(v.value, DOUBLE)
    if v.dtype == dtype:
        return v
    if dtype == BOOL:
        return v != 0
    if is_real(v.dtype) and not is_real(dtype):
        return to_integer(np.trunc(v), dtype)
    return v.astype(dtype)


def to_integer(whole, dtype):
    """Whole reals to integers: saturates, and NaN gives 0."""
    info = np.iinfo(dtype)
    wide = whole.astype(np.float64)
    inside = (wide >= info.min) & (wide <= info.max) & (wide < 2.0 ** 63)
    result = np.where(inside, wide, 0).astype(dtype)
    result = (
        np.where(wide > info.max, info.max, result) if dtype != INT64 else np.where(wide >= 2.0**63, info.max, result)
    )
    return np.where(wide < info.min, info.min, result).astype(dtype)


def saturated(v, dtype):
    """As by sat<T>, of integer types."""
    if isinstance(v, Pixel):
        return Pixel({name: saturated(f, dtype) for name, f in v.fields.items()})
    dtype = np.dtype(dtype)
    if isinstance(v, Literal):
        raise Invalid("sat of a literal")
    if is_real(v.dtype):
        return to_integer(np.rint(v), dtype)
    if v.dtype == BOOL:
        return v.astype(dtype)
    info = np.iinfo(dtype)
    wide = v.astype(np.int64)
    return np.clip(wide, info.min, info.max).astype(dtype)


# ---- Operators ---------------------------------------------------------------------------------------------------
def truth(v):
    if isinstance(v, Pixel):
        raise Invalid("a pixel as condition")
    if isinstance(v, Literal):
        return np.array(v.value != 0)
    return v if v.dtype == BOOL else v != 0


def by_field(function, *values):
    """Pixels field by field, also with scalars."""
    pixel = next(v for v in values if isinstance(v, Pixel))
    for v in values:
        if isinstance(v, Pixel) and list(v.fields) != list(pixel.fields):
            raise Invalid("pixels of two structs")
    return Pixel(
        {name: function(*(v.fields[name] if isinstance(v, Pixel) else v for v in values)) for name in pixel.fields}
    )


def has_pixel(*values):
    return any(isinstance(v, Pixel) for v in values)


def divided(a, b):
    """Integers: truncates; by 0 is 0; the least by -1 is itself."""
    safe = np.where(b == 0, 1, b).astype(a.dtype)
    if a.dtype.kind == "i":
        minus = safe == -1
        safe = np.where(minus, 1, safe).astype(a.dtype)
        quotient = np.floor_divide(a, safe)
        rest = a - quotient * safe
        quotient = quotient + ((rest != 0) & ((a < 0) != (safe < 0))).astype(a.dtype)
        quotient = np.where(minus, -a, quotient)
    else:
        quotient = np.floor_divide(a, safe)
    return np.where(b == 0, 0, quotient).astype(a.dtype)


def shifted(op, a, b):
    kind = promoted(a.dtype)
    if is_real(kind):
        raise Invalid("a shift of reals")
    a = a.astype(kind)
    if isinstance(b, Literal):
        b = np.array(b.value)
    if is_real(b.dtype):
        raise Invalid("a shift by reals")
    count = (b.astype(np.int64) % (8 * kind.itemsize)).astype(kind)
    return np.left_shift(a, count) if op == "<<" else np.right_shift(a, count)


def raised(a, b):
    """Integers: by squaring, wrapping."""
    one, zero = np.ones((), a.dtype), np.zeros((), a.dtype)
    result, base, left = np.broadcast_to(one, np.broadcast(a, b).shape), a, np.where(b < 0, 0, b).astype(np.int64)
    while np.any(left):
        result = np.where(left & 1, result * base, result).astype(a.dtype)
        base, left = base * base, left >> 1
    if a.dtype.kind == "i":
        odd = (b & 1) != 0
        below = np.where(a == 1, one, np.where(a == -1, np.where(odd, -one, one), zero))
        result = np.where(b < 0, below, result)
    return result.astype(a.dtype)


def arithmetic(trace, op, a, b):
    if has_pixel(a, b):
        return by_field(lambda x, y: arithmetic(trace, op, x, y), a, b)
    if op in ("&&", "||"):
        return truth(a) & truth(b) if op == "&&" else truth(a) | truth(b)
    if isinstance(a, Literal) and isinstance(b, Literal):
        return of_literals(op, a, b)
    if op in ("<<", ">>"):
        return shifted(op, typed(a, INT) if isinstance(a, Literal) else a, b)
    a, b = pair(a, b)
    if op in BITS and a.dtype == b.dtype == BOOL:
        return PLAIN[op](a, b)
    kind = wider(promoted(a.dtype), promoted(b.dtype))
    a, b = a.astype(kind), b.astype(kind)
    if op in COMPARISONS:
        return COMPARISONS[op](a, b)
    if is_real(kind):
        return of_reals(trace, op, a, b)
    return of_integers(op, a, b)


COMPARISONS = {
    "==": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal,
}
BITS = ("&", "|", "xor")
PLAIN = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "&": np.bitwise_and, "|": np.bitwise_or, "xor": np.bitwise_xor,
}


def of_literals(op, a, b):
    if op not in ("+", "-", "*"):
        raise Invalid("two literals")
    apply = {"+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: x * y}[op]
    ends = [apply(x, y) for x in a.span for y in b.span]
    return Literal(apply(a.value, b.value), (min(ends), max(ends)))


def of_integers(op, a, b):
    if op in PLAIN:
        return PLAIN[op](a, b)
    if op == "/":
        return divided(a, b)
    if op == "%":
        return np.where(b == 0, 0, a - divided(a, b) * b).astype(a.dtype)
    return raised(a, b)


def of_reals(trace, op, a, b):
    if op in ("+", "-", "*"):
        return trace.note(PLAIN[op](a, b))
    if op == "/":
        mantissa = np.frexp(b)[0]
        if np.any(np.abs(mantissa) != 0.5):  # by a power of two only is what the product with the reciprocal is
            trace.exact = False
        return trace.note(np.divide(a, b))
    if op == "%":
        return trace.note(np.fmod(a, b))
    raise Invalid(f"{op} of reals")


def negated(v):
    if isinstance(v, Pixel):
        return by_field(negated, v)
    if isinstance(v, Literal):
        return Literal(-v.value, (-v.span[1], -v.span[0]))
    return -v.astype(promoted(v.dtype))


def inverted(v):
    if isinstance(v, Pixel):
        return by_field(inverted, v)
    if isinstance(v, Literal) or is_real(v.dtype):
        raise Invalid("~ of what is no integer")
    return ~v.astype(promoted(v.dtype))


def chosen(c, a, b):
    """c ? a : b, in the common type; of equal types in that."""
    if has_pixel(c, a, b):
        return by_field(chosen, c, a, b)
    a, b = equal_or_wider(*pair(a, b))
    return np.where(truth(c), a, b)


# ---- Functions ---------------------------------------------------------------------------------------------------
def least(trace, a, b):
    return extreme(trace, np.less, a, b)


def most(trace, a, b):
    return extreme(trace, lambda x, y: np.less(y, x), a, b)


def extreme(trace, before, a, b):
    """a < b ? a : b or b < a ? a : b; equal types stay as they are."""
    if has_pixel(a, b):
        return by_field(lambda x, y: extreme(trace, before, x, y), a, b)
    a, b = equal_or_wider(*pair(a, b))
    return np.where(before(a, b), a, b)


def absolute(v):
    if isinstance(v, Pixel):
        return by_field(absolute, v)
    if isinstance(v, Literal):
        return Literal(abs(v.value))
    if v.dtype.kind != "u":
        v = v.astype(promoted(v.dtype))
    return v if v.dtype.kind == "u" else np.abs(v)


def rounded(v):
    """Halves away from zero."""
    size = np.abs(v)
    below = np.floor(size)
    return np.copysign(below + (size - below >= 0.5).astype(v.dtype), v)


REAL = {"sqrt": np.sqrt, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "round": rounded}


def function_of_real(trace, name, v):
    if isinstance(v, Pixel):
        return by_field(lambda x: function_of_real(trace, name, x), v)
    if isinstance(v, Literal):
        raise Invalid("a function of a literal")
    v = v.astype(real_of(v.dtype))
    return trace.note(REAL[name](v).astype(v.dtype))


def alike(values):
    """Arguments of a function of reals, in their common type."""
    if has_pixel(*values):
        raise Invalid("pixels")
    kinds = [real_of(v.dtype) for v in values if not isinstance(v, Literal)]
    if not kinds:
        raise Invalid("a function of literals")
    kind = DOUBLE if DOUBLE in kinds else FLOAT
    return [np.array(v.value, kind) if isinstance(v, Literal) else v.astype(kind) for v in values]


def remainder(trace, a, b):
    """fmod(a, b)"""
    return trace.note(np.fmod(*alike([a, b])))


def call(trace, name, values):
    if name == "min":
        return least(trace, *values)
    if name == "max":
        return most(trace, *values)
    if name == "clamp":
        return least(trace, most(trace, values[0], values[1]), values[2])
    if name == "mix":
        a, b, t = alike(values)
        return arithmetic(trace, "+", a, arithmetic(trace, "*", t, arithmetic(trace, "-", b, a)))
    if name == "select":
        return chosen(*values)
    if name == "abs":
        return absolute(values[0])
    if name == "isnan":
        if has_pixel(values[0]):
            return by_field(np.isnan, values[0])
        return np.isnan(values[0])
    if name == "fmod":
        return (
            by_field(lambda a, b: remainder(trace, a, b), *values) if has_pixel(*values) else remainder(trace, *values)
        )
    return function_of_real(trace, name, values[0])


def same_bits(have, want, zeros):
    """Bit for bit, any NaN like any other; without `zeros` -0 is 0."""
    if have.dtype != want.dtype or have.shape != want.shape:
        return False
    if not is_real(have.dtype):
        return bool(np.array_equal(have, want))
    nan = np.isnan(have)
    same = (have == want) & ((np.signbit(have) == np.signbit(want)) | (not zeros))
    return bool(np.all(same | (nan & np.isnan(want))))


def whole(value):
    return isinstance(value, int) or (math.isfinite(value) and value == math.floor(value))


def greatest(dtype):
    return np.array(np.inf if is_real(dtype) else True if dtype == BOOL else np.iinfo(dtype).max, dtype)


def lowest(dtype):
    return np.array(-np.inf if is_real(dtype) else False if dtype == BOOL else np.iinfo(dtype).min, dtype)
