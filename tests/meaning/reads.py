"""Which elements an expression reads: constants, footprints, and the size of a result (section 3)."""
import itertools

from tree import Ref
from values import Invalid


def constant(e, scope):
    """The value of an expression of numbers, parameters, loop and window variables."""
    if e.op == "literal":
        return e.value
    if e.op == "name":
        v = scope.get(e.of)
        if not isinstance(v, (int, float)):
            raise Invalid(f"{e.of} is no constant")
        return v
    parts = [constant(p, scope) for p in e.parts]
    if e.op == "unary" and e.of == "-":
        return -parts[0]
    if e.op == "call" and e.of == "abs":
        return abs(parts[0])
    if e.op == "binary" and e.of in OPERATORS:
        return OPERATORS[e.of](*parts)
    raise Invalid("no constant")


OPERATORS = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": lambda a, b: divide(a, b),
    "%": lambda a, b: modulo(a, b), "==": lambda a, b: a == b, "!=": lambda a, b: a != b, "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
    "&&": lambda a, b: bool(a) and bool(b), "||": lambda a, b: bool(a) or bool(b),
}


def divide(a, b):
    if b == 0 or (a < 0) != (b < 0) and a % b:
        raise Invalid("a division whose rounding matters")
    return a // b


def modulo(a, b):
    if b <= 0:
        raise Invalid("a remainder by what is not positive")
    return a % b if a >= 0 else -(-a % b)


class Reads:
    """The footprints of an expression in the images it reads."""

    def __init__(self, run):
        self.run = run
        self.agree = False  # the operands of an expression of images have one size
        self.at = {}    # key to the set of offsets, a tuple of a dimension each
        self.scale = {}  # key to scales
        self.refs = {}  # key to (Ref, rule), in statements
        self.absolute = set()

    def key(self, of, scope):
        if not isinstance(of, Ref):
            return of
        key = f"{self.run.key(of, scope)}:{repr_rule(of.rule)}"
        self.refs[key] = (of, of.rule)
        return key

    def steps(self, e, scope):
        if e.steps is None:
            dims = self.dims.get(self.key(e.of, scope))
            return [(0, 1)] * dims
        return [(constant(offset, scope), scale) for offset, scale in e.steps]

    @staticmethod
    def form(steps):
        if any(scale != 1 for _, scale in steps):
            return "sampled"
        return "offset" if any(offset for offset, _ in steps) else "point"

    def is_constant(self, e, scope, variables):
        inner = {**scope, **{v: low for v, low, _ in variables}}
        try:
            constant(e, inner)
        except Invalid:
            return False
        return True

    def collect(self, e, scope):
        if e.op == "window":
            known = e.where is None or self.is_constant(e.where, scope, e.variables)
            for at in itertools.product(*(range(low, high + 1) for _, low, high in e.variables)):
                inner = {**scope, **dict(zip((v for v, _, _ in e.variables), at))}
                if e.where is not None and known and not constant(e.where, inner):
                    continue
                if not known:
                    self.collect(e.where, inner)
                self.collect(e.parts[0], inner)
            return
        if e.op == "read":
            self.add(e, scope)
        elif e.op == "at":
            self.absolute.add(self.key(e.of, scope))
        elif e.op == "size":
            self.key(e.of, scope)
        elif e.op == "convolve":
            key = self.key(e.of, scope)
            for _, offsets in self.run.taps(scope.get(e.mask, e.mask), e.flip, e.dilation):
                self.note(key, tuple(offsets), (1,) * len(offsets))
        for part in e.parts:
            self.collect(part, scope)

    def add(self, e, scope):
        key = self.key(e.of, scope)
        if e.steps is None:
            self.note(key, None, None)
        else:
            self.note(key, tuple(constant(o, scope) for o, _ in e.steps), tuple(s for _, s in e.steps))

    def note(self, key, offsets, scale):
        if scale is not None and self.scale.setdefault(key, scale) != scale:
            raise Invalid("two scales")
        self.at.setdefault(key, set()).add(offsets)

    def domain(self, bound):
        """(sizes, origin): the points of the result, and which of them is the first."""
        self.dims = {key: b.image.ndim for key, b in bound.items()}
        for key in bound:
            if key not in self.at and key not in self.absolute:
                self.at[key] = set()  # an argument that nothing reads takes part in the size
        if not self.at:
            if bound:
                raise Invalid("no size")
            return [], []
        sizes, first, last = None, None, None
        for key, offsets in self.at.items():
            b = bound[key]
            n = b.image.ndim
            scale = self.scale.get(key, (1,) * n)
            if None in offsets:
                offsets = (offsets - {None}) | {(0,) * n}
                if scale != (1,) * n:
                    raise Invalid("two scales")
            counts = [size // s for size, s in zip(b.image.shape, scale)]
            if sizes is None:
                sizes, first, last = counts, [0] * n, [c - 1 for c in counts]
            if len(sizes) != n:
                raise Invalid("images of different dimensions")
            if self.agree and counts != sizes:
                raise Invalid("operands of different sizes")
            for d in range(n):
                last[d] = min(last[d], counts[d] - 1)
                if b.rules[d] == "none" and offsets:
                    reach = [o[d] for o in offsets]
                    first[d] = max(first[d], max(-(o // scale[d]) for o in reach))
                    last[d] = min(last[d], min((b.image.shape[d] - 1 - o) // scale[d] for o in reach))
        if any("none" in bound[key].rules for key in self.absolute):
            raise Invalid("none for an absolute index")
        if any(l < f for f, l in zip(first, last)):
            raise Invalid("no points")
        return [l - f + 1 for f, l in zip(first, last)], first


def repr_rule(rule):
    return None if rule is None else (tuple(rule.names), None if rule.value is None else str(rule.value.info))
