"""Random expressions: what stencils compute from what they are given."""
from tree import E, Ref, Rule, name, number

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"]
WINDOWS = ["sum", "prod", "min", "max", "mean", "median", "any", "all"]
RULES = ["clamp", "mirror", "reflect", "wrap", "constant", "none"]


class Source:
    """Something with pixels that an expression may read: an argument, or an image in a statement."""

    def __init__(self, of, dims, fields=(), scales=None, absolute=False, reach=3):
        self.of, self.dims, self.fields = of, dims, list(fields)
        self.scales, self.absolute, self.reach = scales, absolute, reach


class Bodies:
    """exact: only what leaves small numbers exact."""

    def __init__(self, rng, exact, masks):
        self.rng, self.exact, self.masks = rng, exact, masks
        self.sources, self.scalars, self.locals, self.variables = [], [], [], []
        self.dims = 0
        self.extents = {}  # of the masks whose coefficients are known
        self.windows = 0  # how many stand around this place

    def pick(self, *choices):
        return choices[self.rng.integers(len(choices))]

    def chance(self, percent):
        return bool(self.rng.integers(100) < percent)

    def between(self, low, high):
        return int(self.rng.integers(low, high + 1))

    # ---- Reads ----------------------------------------------------------------------------------------------------
    def offset(self, reach):
        if self.variables and self.chance(60):
            v = name(self.pick(*self.variables))
            if self.chance(20):
                v = E("binary", number(self.pick(2, 3, -1)), v, of="*")
            return v if self.chance(70) else E("binary", v, number(self.between(0, 2)), of=self.pick("+", "-"))
        far = 40 if self.chance(3) else reach
        return number(self.between(-far, far))

    def steps(self, source):
        scales = source.scales or [1] * source.dims
        reach = [source.reach if self.chance(75) else 0 for _ in scales]
        return [(self.offset(r), s) for r, s in zip(reach, scales)]

    def field_of(self, source, e):
        return E("field", e, of=self.pick(*source.fields)) if source.fields else e

    def read(self, source=None):
        source = source or self.pick(*self.sources)
        if source.absolute:
            return self.field_of(source, E("at", *[self.position(d) for d in range(source.dims)], of=source.of))
        if source.scales is None and self.chance(25):
            return self.field_of(source, E("read", of=source.of, steps=None))
        return self.field_of(source, E("read", of=source.of, steps=self.steps(source)))

    def position(self, d):
        """An absolute index."""
        plain = [s for s in self.sources if not s.absolute]
        kind = self.between(0, 3)
        if kind == 0 and plain and self.windows == 0:
            return E("cast", self.read(self.pick(*plain)), to="int32")
        if kind == 1 and self.dims:
            return E("index", d=self.between(0, self.dims - 1))
        if self.dims:
            return E("binary", E("index", d=min(d, self.dims - 1)), self.offset(5), of=self.pick("+", "-"))
        return number(self.between(0, 3))

    # ---- Windows --------------------------------------------------------------------------------------------------
    def window(self, depth):
        self.windows += 1
        used = len(self.variables)
        count = self.pick(1, 1, 2, 2, 3) if self.windows == 1 else 1
        variables = []
        for n in ["i", "j", "k", "u", "v", "w"][used:used + count]:
            low = self.between(-2, 1)
            variables.append((n, low, low + self.between(0, 3 if count < 3 else 1)))
        of = self.pick(*WINDOWS)
        if self.exact and of in ("prod", "mean"):
            of = "sum"
        outer = list(self.variables)
        self.variables += [n for n, _, _ in variables]
        body = self.value(min(depth, 2))
        where = None
        if self.chance(25):
            where = self.condition_on_variables([n for n, _, _ in variables])
        elif self.chance(15) and of not in ("median", "mean"):
            where = self.condition(1)
        self.variables = outer
        self.windows -= 1
        return E("window", body, of=of, variables=variables, where=where)

    def condition_on_variables(self, names):
        total = None
        for n in names:
            square = E("binary", name(n), name(n), of="*")
            total = square if total is None else E("binary", total, square, of="+")
        return E("binary", total, number(self.between(1, 4)), of=self.pick("<=", "<", "!=", ">="))

    def over_mask(self):
        """A window over the extents of a mask."""
        plain = [s for s in self.sources if not s.absolute]
        fitting = [(s, m, sizes) for s in plain for m, sizes in self.extents.items() if len(sizes) == s.dims]
        if not fitting or self.variables:
            return self.read()
        source, mask, sizes = self.pick(*fitting)
        names = ["i", "j", "k"][:len(sizes)]
        steps = [(name(n), s) for n, s in zip(names, source.scales or [1] * source.dims)]
        read = self.field_of(source, E("read", of=source.of, steps=steps))
        body = E("binary", E("coefficient", *map(name, names), of=mask), read, of="*")
        variables = [(n, -(size // 2), size - 1 - size // 2) for n, size in zip(names, sizes)]
        of = "sum" if self.exact or self.chance(60) else self.pick("sum", "max", "min", "mean")
        return E("window", body, of=of, variables=variables, where=None, mask=mask)

    def convolve(self):
        plain = [s for s in self.sources if not s.absolute and s.scales is None]
        fitting = [(s, m) for s in plain for m, dims in self.masks if dims == s.dims]
        if not fitting:
            return self.read()
        source, mask = self.pick(*fitting)
        of = source.of
        if isinstance(of, Ref):  # in statements a rule stands there alone
            of = Ref(of.name, of.index, self.rule(source.dims, self.scalars))
        e = E("convolve", of=of, mask=mask, dilation=self.pick(1, 1, 1, 2, 3), flip=self.chance(20))
        return self.field_of(source, e)

    # ---- Values ---------------------------------------------------------------------------------------------------
    def literal(self):
        if self.exact:
            return number(self.pick(0, 1, 2, 3, 4, 5, 7, 0.5, 0.25, 1.5, -1, -2))
        if self.chance(15):
            return E("literal", value=self.between(-8, 8) / 4.0, suffix=self.pick("f", "d"))
        return number(self.pick(0, 1, 2, 3, 5, 10, 100, 127, 0.5, 0.1, 3.0, 1e-3, 255.0, -1, -2.5, 1.75))

    def leaf(self):
        kind = self.between(0, 11)
        if kind == 0 and self.scalars:
            return name(self.pick(*self.scalars))
        if kind == 1 and self.dims:
            return E("index", d=self.between(0, self.dims - 1))
        if kind == 2:
            source = self.pick(*self.sources)
            if not source.absolute and not isinstance(source.of, Ref):
                return E("size", of=source.of, d=self.between(0, source.dims - 1))
        if kind in (3, 4) and self.locals:
            return name(self.pick(*self.locals))
        return self.read()

    def integer(self, e):
        return E("cast", e, to=self.pick(*INTEGERS))

    def condition(self, depth):
        if self.chance(15):
            return E("unary", self.condition(0), of="!")
        if depth > 0 and self.chance(25):
            return E("binary", self.condition(0), self.condition(0), of=self.pick("&&", "||"))
        operator = self.pick("<", "<=", ">", ">=", "==", "!=")
        return E("binary", self.value(depth - 1), self.operand(depth - 1), of=operator)

    def operand(self, depth):
        return self.literal() if self.chance(35) else self.value(depth)

    def value(self, depth):
        if depth <= 0:
            return self.leaf()
        if self.windows < 2 and self.chance(18 if self.windows == 0 else 4):
            return self.window(depth - 1)
        if self.windows == 0 and self.masks and self.chance(12):
            return self.convolve() if self.chance(75) else self.over_mask()
        return self.exact_value(depth) if self.exact or self.chance(50) else self.any_value(depth)

    def exact_value(self, depth):
        kind = self.between(0, 11)
        a = self.value(depth - 1)
        if kind <= 5:
            return E("binary", a, self.operand(depth - 1), of=self.pick("+", "-"))
        if kind == 6:
            return E("binary", a, number(self.pick(2, 3, 0.5, -1, 1)), of="*")
        if kind == 7:
            return E("binary", a, number(self.pick(2, 4, 2.0, 4.0)), of="/")
        if kind == 8:
            return E("call", a, self.operand(depth - 1), of=self.pick("min", "max"))
        if kind == 9:
            return E("choose", self.condition(depth - 1), a, self.operand(depth - 1))
        if kind == 10:
            return E("call", a, of=self.pick("abs", "floor", "ceil", "round", "trunc"))
        return E("cast", a, to=self.pick(*INTEGERS, "float", "double", "bool", "float16"))

    def any_value(self, depth):
        kind = self.between(0, 11)
        a = self.value(depth - 1)
        if kind <= 2:
            return E("binary", a, self.operand(depth - 1), of=self.pick("*", "*", "/", "%"))
        if kind == 3:
            return E("binary", self.integer(a), self.integer(self.value(depth - 1)), of=self.pick("&", "|", "xor"))
        if kind == 4:
            count = self.integer(self.leaf()) if self.chance(30) else number(self.between(0, 9))
            return E("binary", self.integer(a), count, of=self.pick("<<", ">>"))
        if kind == 5:
            exponent = number(self.between(0, 4)) if self.chance(60) else E("cast", self.leaf(), to="int8")
            return E("binary", self.integer(a), exponent, of="^")
        if kind == 6:
            return E("unary", a, of="-") if self.chance(60) else E("unary", self.integer(a), of="~")
        if kind == 7:
            return E("call", E("call", a, of="abs"), of="sqrt")
        if kind == 8:
            return E("call", a, number(self.between(-3, 3)), number(self.between(4, 90)), of="clamp")
        if kind == 9:
            return E("call", a, self.value(depth - 1), number(self.pick(0.25, 0.5, 0.3)), of="mix")
        if kind == 10:
            return E("sat", a, to=self.pick("int8", "int16", "uint8", "uint16"))
        if self.chance(50):
            return E("call", self.condition(depth - 1), a, self.value(depth - 1), of="select")
        return E("call", a, self.operand(depth - 1), of="fmod")

    # ---- Rules ----------------------------------------------------------------------------------------------------
    def rule(self, dims, scalars=(), none=True):
        if self.chance(12):
            return None
        names = [self.pick(*RULES)]
        if dims > 1 and self.chance(25):
            names = [self.pick(*RULES) for _ in range(dims)]
        if not none:
            names = ["wrap" if n == "none" else n for n in names]
        value = None
        if "constant" in names and self.chance(85):
            value = number(self.pick(0, 1, 3, 7, 100, -1, 0.5, 2.75))
            if scalars and self.chance(20):
                value = name(self.pick(*scalars))
        return Rule(names, value)
