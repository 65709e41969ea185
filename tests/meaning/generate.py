"""Random programs: statement after statement, each kept when the evaluator can compute it."""
import numpy as np

import inputs
from bodies import INTEGERS, RULES, Bodies, Source
from meaning import Run
from borders import Image
from tree import (
    Argument, Build, Call, Compose, E, Field, Input, Local, Loop, Mask, Part, Piece, Place, Points, Program, Reduce,
    Ref, Rule, Sample, Scalar, ScalarOf, Stencil, Vector, copy, name, number,
)
from values import Invalid, Pixel

MOST_RESULTS = 5
REALS = ["float", "float", "double", "float16"]
SIZES = {
    1: [[1], [2], [5], [17], [64], [97], [131], [600]],
    2: [[1, 1], [1, 9], [7, 1], [2, 3], [5, 7], [13, 17], [16, 16], [31, 37], [3, 150], [70, 5], [37, 64], [41, 67]],
    3: [[1, 1, 1], [2, 3, 4], [3, 5, 7], [4, 9, 13], [1, 6, 20], [2, 17, 23]],
}
KINDS = {
    "call": 30, "points": 10, "part": 7, "sample": 7, "place": 10, "compose": 11, "reduce": 6, "histogram": 4,
    "loop": 6, "vector": 7, "fields": 12, "wide": 5,
}


# The statements that make an image so, and that read one so, for programs that aim at a pair.
MAKES = {
    "stencil": "call", "vector function": "vector", "image expression": "points", "family": "loop", "part": "part",
    "sample": "sample", "placed": "place", "placed by steps": "place", "composition": "compose", "field": "fields",
    "struct": "fields", "histogram": "histogram",
}
READS = {
    "point": "call", "sampled": "call", "window": "wide", "mask": "call", "absolute": "call", "part": "part",
    "sample": "sample", "placed": "place", "placed by steps": "place", "field": "fields", "struct": "fields",
    "reduction": "reduce", "histogram": "histogram",
}


class Aim:
    """A pair that a program aims at: how an image is made, how it is read, and by which rule; each may be empty."""

    def __init__(self, made="", read="", rule=""):
        self.made, self.read, self.rule = made, read, rule

    def has(self, *names):
        return self.made in names or self.read in names


class Generator:
    def __init__(self, seed, wanted=()):
        """wanted: kinds of statements to begin with."""
        self.seed = seed
        self.rng = np.random.default_rng(seed)
        self.program = Program(seed=seed)
        self.exact = bool(self.rng.integers(3))
        self.made = 0
        self.wanted, self.aim = list(wanted), Aim()
        self.draw = Bodies(self.rng, self.exact, [])
        self.pick, self.chance, self.between = self.draw.pick, self.draw.chance, self.draw.between

    def fresh(self, letter):
        self.made += 1
        return f"{letter}{self.made}"

    # ---- The head -------------------------------------------------------------------------------------------------
    def make(self):
        p = self.program
        self.dims = int(self.rng.choice([1, 2, 3], p=[0.2, 0.65, 0.15]))
        self.sizes = list(SIZES[self.dims][self.rng.integers(len(SIZES[self.dims]))])
        p.literal_sizes = self.chance(33)
        p.border = self.pick("", "", "", "", "mirror", "reflect", "wrap", "clamp", "constant")
        p.parameters = {f"P{d}": n for d, n in enumerate(self.sizes)}
        if self.chance(35):
            self.aim = Aim(self.pick(*MAKES), self.pick(*READS), self.pick(*RULES, "mixed"))
            self.wanted = [MAKES[self.aim.made], READS[self.aim.read]]
        if self.chance(35) or self.aim.has("field", "struct"):
            self.add_struct()
        for _ in range(self.between(0, 2)):
            self.add_mask(self.dims if self.chance(70) else 1)
        for _ in range(self.between(1, 3)):
            self.add_input()
        for _ in range(self.between(0, 2)):
            kind = self.pick("float", "int32", "uint8", "double", "bool")
            p.scalars.append(
                Scalar(
                    self.fresh("q"), kind,
                    True if kind == "bool" else self.between(0, 9) if kind in INTEGERS else self.between(-8, 20) / 4.0,
                )
            )
        self.run = Run(p, inputs.make(p))
        self.images = {i.name: i.kind for i in p.inputs if i.kind == "image"}
        for _ in range(self.between(1, 6)):
            self.add_statement()
        self.choose_results()
        return p

    def add_struct(self):
        types = (
            [self.pick("uint8", "int16", "float")] * 3
            if self.chance(60)
            else [self.pick(*INTEGERS, "float", "double") for _ in range(3)]
        )
        self.program.structs[self.fresh("pixel")] = dict(zip("rgb"[:self.between(1, 3)], types))

    def add_mask(self, dims):
        sizes = [self.pick(1, 2, 3, 3, 3, 5) if dims < 3 else self.pick(1, 2, 3) for _ in range(dims)]
        count = int(np.prod(sizes))
        if self.exact or self.chance(50):
            separable = self.chance(50)
            values = [self.between(-3, 4) for _ in range(count)]
            if separable and dims == 2:
                a, b = [self.between(0, 3) for _ in range(sizes[0])], [self.between(-1, 3) for _ in range(sizes[1])]
                values = [x * y for x in a for y in b]
            divisor = self.pick(1, 1, 2, 4, 16)
        else:
            values = [round(float(self.rng.normal(0, 1)), 3) for _ in range(count)]
            divisor = self.pick(1, 1, 3, 10)
        if not any(values):
            values[count // 2] = 1
        self.program.masks.append(Mask(self.fresh("m"), sizes, values, divisor))

    def narrow_masks(self):
        """Those for any stencil: chains under wide ones would be computed again and again for each point."""
        return [m for m in self.program.masks if len(m.values) <= 25]

    def size_expression(self, d):
        """An extent as the program may write it."""
        e = name(f"P{d}")
        kind = self.between(0, 9)
        if kind == 0:
            return E("binary", e, number(self.between(1, 3)), of="+")
        if kind == 1 and self.sizes[d] >= 4:
            return E("binary", e, number(2), of="/")
        if kind == 2 and self.sizes[d] >= 4:
            return E("binary", e, number(self.between(1, 3)), of="-")
        return e

    def add_input(self):
        p = self.program
        kind = self.pick(*INTEGERS, *REALS, *REALS, "uint8", "bool")
        first = not p.inputs
        if p.structs and (self.chance(50) or first and self.aim.has("field")):
            kind = list(p.structs)[0]
        if not first and self.chance(15):
            sizes = [number(self.pick(1, 3, 9, 40))]
        else:
            sizes = [name(f"P{d}") if first else self.size_expression(d) for d in range(self.dims)]
        style = "small" if self.exact or self.chance(30) else "wild"
        if not first and self.chance(12) and kind not in p.structs and kind != "bool":
            sizes = [number(self.pick(1, 3, 3, 5, 2, 7)) for _ in range(self.dims)]
            p.inputs.append(Input(self.fresh("w"), "mask", kind, sizes, len(p.inputs), style))
            return
        p.inputs.append(Input(self.fresh("a"), "image", kind, sizes, len(p.inputs), style))

    # ---- Statements -----------------------------------------------------------------------------------------------
    def attempt(self, statement, functions=()):
        """Keeps a statement that means something."""
        before, trace = dict(self.run.scope), (self.run.trace.exact, self.run.trace.zeros)
        default, count = self.run.default, len(self.program.functions)
        self.program.functions += functions
        try:
            self.run.statement(statement)
            self.program.statements.append(statement)
            return True
        except Invalid:
            self.run.scope, self.run.default = before, default
            self.run.trace.exact, self.run.trace.zeros = trace
            del self.program.functions[count:]
            return False

    def add_statement(self):
        kinds, weights = list(KINDS), np.array(list(KINDS.values()), float)
        kind = self.wanted.pop(0) if self.wanted else kinds[self.rng.choice(len(kinds), p=weights / weights.sum())]
        for _ in range(12):
            if getattr(self, "try_" + kind)():
                return

    def known(self, dims=None, struct=None):
        """Names of images; the latest are likeliest."""
        names = [n for n, v in self.run.scope.items() if isinstance(v, Image) and n not in self.run.run_masks
                 and (dims is None or v.ndim == dims) and (struct is None or bool(v.struct) == struct)]
        return names

    def some(self, dims=None, struct=None):
        names = self.known(dims, struct)
        if not names:
            return None
        aimed = [n for n in names if self.run.scope[n].form == self.aim.made]
        if aimed and self.chance(60):
            return aimed[-1]
        back = min(int(self.rng.geometric(0.4)), len(names))
        return names[-back] if self.chance(75) else self.pick(*names)

    def ref(self, image, rule=None):
        if "<" in image:
            family, index = image[:-1].split("<")
            return Ref(family, number(int(index)), rule)
        return Ref(image, None, rule)

    def rule(self, dims, scalars=()):
        """A rule, mostly that which is aimed at."""
        aimed = self.aim.rule
        if not aimed or self.chance(30) or (aimed == "mixed" and dims == 1):
            return self.draw.rule(dims, scalars)
        if aimed == "mixed":
            return Rule(
                [self.pick("clamp", "wrap")] + [self.pick("mirror", "reflect", "none") for _ in range(dims - 1)]
            )
        return Rule([aimed], number(self.between(0, 9)) if aimed == "constant" else None)

    def scalars(self):
        return [n for n, v in self.run.scope.items() if isinstance(v, np.ndarray) and v.ndim == 0]

    def target(self):
        return Ref(self.fresh("s"))

    def stencil(self, given, scalars, own_name=None):
        """A function for images of these names (the dimensions of the first are its own) and so many scalars."""
        p, run = self.program, self.run
        images = [run.scope[n] for n in given]
        dims = images[0].ndim
        arguments, sources = [], []
        pixels = all(v.struct for v in images) and self.chance(50)
        for n, v, letter in zip(given, images, "XYZ"):
            absolute = v.ndim != dims or (letter != "X" and self.chance(80 if self.aim.read == "absolute" else 15))
            sampled = not absolute and self.chance(70 if self.aim.read == "sampled" else 12)
            scales = [self.pick(1, 2, 2, 3, 4) for _ in range(dims)] if sampled else None
            declared = (
                "any"
                if v.struct or self.chance(30)
                else self.pick(*INTEGERS, *REALS, self.type_of(v), self.type_of(v), self.type_of(v))
            )
            if v.struct in p.structs and self.chance(50):
                declared = v.struct
            fields = [] if pixels or not v.struct else list(v.data.fields)
            arguments.append(Argument(letter, "image", declared, v.ndim))
            sources.append(Source(letter, v.ndim, fields, scales, absolute, reach=self.pick(0, 1, 1, 2, 3)))
        names = []
        for letter in "pq"[:scalars]:
            names.append(letter)
            arguments.append(Argument(letter, "scalar", self.pick("float", "int32", "double", "uint8"), 0))
        masks = [(m.name, len(m.sizes)) for m in self.narrow_masks()]
        for i in p.inputs:
            if i.kind == "mask" and self.chance(50):
                arguments.append(Argument("w", "mask", i.type, len(i.sizes)))
                masks.append(("w", len(i.sizes)))
                break
        draw = Bodies(self.rng, self.exact, masks)
        draw.sources, draw.scalars, draw.dims = sources, names, dims
        draw.extents = {m.name: m.sizes for m in self.narrow_masks()}
        local = []
        for letter in "cde"[:self.pick(0, 0, 1, 2)]:
            value = E("binary", draw.read(), draw.value(self.between(0, 2)), of=self.pick("+", "-"))
            local.append(
                Local(letter, self.pick("", "", "", "int32", "float", "double", "uint8") if not pixels else "", value)
            )
            draw.locals.append(letter)
        result = draw.value(self.between(1, 3))
        if not self.reads_first(local, result):
            result = E("binary", result, draw.read(sources[0]), of="+")
        if self.chance(30):
            result = E(self.pick("cast", "cast", "sat"), result, to=self.pick("uint8", "int16", "uint16", "int8"))
        if p.structs and not pixels and self.chance(25):
            struct = list(p.structs)[0]
            result = E(
                "pixel", *[result if k == 0 else draw.value(1) for k in range(len(p.structs[struct]))], of=struct
            )
        own_name = own_name or self.fresh("f")
        return Stencil(own_name, arguments, local, result)

    def reads_first(self, local, result):
        return any(
            e.op in ("read", "convolve") and e.of == "X"
            for root in [l.value for l in local] + [result]
            for e in root.walk()
        )

    def type_of(self, v):
        from values import NAMES
        return "any" if isinstance(v.data, Pixel) else NAMES[v.data.dtype]

    def call(self, target, function, given):
        arguments, scalars, masks = [], self.scalars(), [i.name for i in self.program.inputs if i.kind == "mask"]
        images = iter(given)
        outer = [s.name for s in self.program.scalars]
        for a in function.arguments:
            if a.kind == "image":
                image = next(images)
                arguments.append(self.ref(image, self.rule(self.run.scope[image].ndim, outer)))
            elif a.kind == "mask":
                arguments.append(masks[0])
            else:
                value = name(self.pick(*scalars)) if scalars and self.chance(70) else number(self.between(0, 5))
                if value.op == "name" and self.chance(25):
                    value = E("binary", value, number(2), of="*")
                arguments.append(value)
        return Call(target, function.name, arguments)

    def try_call(self):
        first = self.some()
        given = [first]
        while len(given) < 3 and self.chance(80 if self.aim.read == "absolute" and len(given) == 1 else 35):
            given.append(self.some())
        scalars = self.scalars()
        old = [
            f
            for f in self.program.functions
            if isinstance(f, Stencil) and len([a for a in f.arguments if a.kind == "image"]) == len(given)
        ]
        if old and self.chance(25):
            return self.attempt(self.call(self.target(), self.pick(*old), given))
        f = self.stencil(given, self.pick(0, 1, 2) if scalars and self.chance(60) else 0)
        return self.attempt(self.call(self.target(), f, given), [f])

    def try_points(self):
        dims = self.run.scope[self.some()].ndim
        draw = Bodies(self.rng, self.exact, [(m.name, len(m.sizes)) for m in self.narrow_masks()])
        for n in dict.fromkeys(self.some(dims) for _ in range(self.between(1, 3))):
            v = self.run.scope[n]
            scales = [self.pick(1, 2, 3) for _ in range(dims)] if self.chance(15) else None
            fields = list(v.data.fields) if v.struct and self.chance(50) else []
            draw.sources.append(Source(self.ref(n), dims, fields, scales, False, self.pick(0, 1, 2)))
        draw.dims, draw.scalars = dims, self.scalars()
        draw.extents = {m.name: m.sizes for m in self.narrow_masks()}
        return self.attempt(Points(self.target(), draw.value(self.between(1, 3))))

    # ---- Parts and placement --------------------------------------------------------------------------------------
    def bound(self, value):
        """The number, perhaps in terms of a parameter."""
        d = self.between(0, self.dims - 1)
        left = value - self.sizes[d]
        if self.chance(40) and abs(left) < 100:
            return E("binary", name(f"P{d}"), number(abs(left)), of="+" if left >= 0 else "-")
        return number(value)

    def try_part(self):
        image = self.some()
        ranges = []
        for n in self.run.scope[image].shape:
            low = self.between(0, n - 1)
            high = self.between(low, n + 1)
            kind = self.between(0, 5)
            ranges.append(
                (
                    None if kind in (0, 1) else self.bound(low),
                    None if kind in (0, 2) else self.bound(low if kind == 3 else high),
                )
            )
        return self.attempt(Part(self.target(), self.ref(image), ranges))

    def try_sample(self):
        image = self.some()
        shape = self.run.scope[image].shape
        steps = [(number(self.between(-3, 3)), self.pick(1, 1, 2, 3, 5)) for _ in shape]
        return self.attempt(Sample(self.target(), self.ref(image), steps))

    def piece(self, image, extra=0):
        shape = self.run.scope[image].shape
        if self.chance(45):
            return Piece(self.ref(image), steps=[(number(self.between(-2, 4)), self.pick(1, 1, 2, 3)) for _ in shape])
        starts = [self.pick(0, 0, 1, 2, 3, 5) for _ in range(len(shape) + extra)]
        return Piece(
            self.ref(image),
            ranges=[
                (self.bound(s) if s or self.chance(30) else None, None if k >= extra else self.bound(s))
                for k, s in enumerate(starts)
            ],
        )

    def try_place(self):
        image = self.some()
        extra = 1 if self.run.scope[image].ndim < 3 and self.chance(20) else 0
        piece = self.piece(image, extra)
        for k, (first, last) in enumerate(piece.ranges[:extra]):
            piece.ranges[k] = (number(self.between(0, 3)), None)
        return self.attempt(Place(self.target(), piece))

    def try_compose(self):
        first = self.some()
        v = self.run.scope[first]
        alike = [n for n in self.known(v.ndim) if self.type_of(self.run.scope[n]) == self.type_of(v)]
        pieces = [self.piece(first)]
        for _ in range(self.between(0, 3)):
            if self.chance(30) and not v.struct:
                ranges = []
                for n in v.shape:
                    low = self.between(0, n)
                    ranges.append((None if low == 0 else self.bound(low), self.bound(low + self.between(0, 4))))
                pieces.append(Piece(number(self.pick(1, 3, 7)), ranges=ranges))
            else:
                pieces.append(self.piece(self.pick(*alike)))
        order = self.rng.permutation(len(pieces))
        return self.attempt(Compose(self.target(), [pieces[k] for k in order]))

    # ---- Whole images ---------------------------------------------------------------------------------------------
    def try_reduce(self):
        image = self.some(struct=True) if self.chance(50) else None
        image = image or self.some(struct=False)
        if image is None:
            return True
        t = self.target()
        if not self.attempt(Reduce(t, self.pick("minimum", "maximum", "total", "mean", "count"), self.ref(image))):
            return False
        if self.run.scope[image].struct:
            e = E("binary", E("read", of=self.ref(image), steps=None), name(t.name), of=self.pick("+", "-"))
            self.attempt(Points(self.target(), e))
            return True
        if self.chance(30):
            e = E("binary", name(t.name), number(self.pick(1, 2)), of=self.pick("+", "-", "*"))
            if self.chance(40):
                e = E(
                    "binary", e, E("reduce", of=self.pick("minimum", "maximum", "count"), image=self.ref(image)),
                    of=self.pick("+", "-"),
                )
            self.attempt(ScalarOf(self.target(), e))
        self.use_scalar()
        return True

    def use_scalar(self):
        """A stage that a reduction feeds."""
        image = self.some()
        if self.chance(50):
            e = E(
                "binary", E("read", of=self.ref(image, None), steps=None), name(self.scalars()[-1]),
                of=self.pick("+", "-"),
            )
            return self.attempt(Points(self.target(), e))
        for _ in range(4):
            f = self.stencil([image], 1)
            s = self.call(self.target(), f, [image])
            s.arguments = [name(self.scalars()[-1]) if isinstance(a, E) else a for a in s.arguments]
            if self.attempt(s, [f]):
                return True
        return False

    def try_histogram(self):
        image = self.some(struct=False)
        if image is None:
            return True
        t = self.target()
        if not self.attempt(Reduce(t, "histogram", self.ref(image), self.pick(1, 4, 16, 40))):
            return False
        for _ in range(4):
            given = [t.name] if self.chance(60) else [image, t.name]
            f = self.stencil(given, 0)
            if self.attempt(self.call(self.target(), f, given), [f]):
                break
        return True

    # ---- Families and vector functions ----------------------------------------------------------------------------
    def try_loop(self):
        image = self.some()
        family, variable = self.fresh("t"), "n"
        turns, deep, down = self.between(1, 4), self.chance(35), self.chance(35)
        start = turns + deep if down else 0
        f = self.stencil([image] * (2 if deep else 1), 0)
        step = -1 if down else 1
        begun = len(self.program.statements)
        for k in range(1 + deep):
            alias = Points(Ref(family, number(start + k * step)), E("read", of=self.ref(image), steps=None))
            if not self.attempt(alias):
                return False
        first = start + step * (1 + deep)
        last = first + step * (turns - 1)
        if last < 0 or (turns > 1 and (last < first) != down):
            self.drop(begun)
            return False
        refs = []
        for k in range(1 + deep):
            back = E("binary", name(variable), number(k + 1), of="+" if down else "-")
            refs.append(Ref(family, back, self.rule(self.run.scope[image].ndim)))
        images = iter(refs)
        masks = [i.name for i in self.program.inputs if i.kind == "mask"]
        arguments = [next(images) if a.kind == "image" else masks[0] for a in f.arguments]
        body = [Call(Ref(family, name(variable)), f.name, arguments)]
        if turns == 1 and down:
            last = first
        if not self.attempt(Loop(variable, first, last, body), [f]):
            self.drop(begun)
            return False
        return True

    def drop(self, begun):
        """Forgets the statements from number `begun` on."""
        for s in self.program.statements[begun:]:
            self.run.scope.pop(self.run.key(s.target), None)
        del self.program.statements[begun:]

    def try_vector(self):
        """Two stencils after each other in a function."""
        image = self.some()
        v = self.run.scope[image]
        f = self.stencil([image], 0)
        if len(f.arguments) > 1:
            return False
        rules = [self.rule(v.ndim) if self.chance(50) else None for _ in range(2)]
        inner = [Call(Ref("u"), f.name, [Ref("A", None, rules[0])])]
        if self.chance(30):
            inner = [
                Sample(
                    Ref("u"), Ref("A"), [(number(self.between(-2, 2)), self.pick(1, 1, 2, 3)) for _ in range(v.ndim)]
                )
            ]
        if self.chance(60):
            inner.append(
                Points(
                    Ref("v"),
                    E(
                        "binary", E("read", of=Ref("u"), steps=[(number(self.between(-1, 1)), 1)] * v.ndim),
                        E("read", of=Ref("u"), steps=None), of="+",
                    ),
                )
            )
        vector = Vector(self.fresh("g"), [Argument("A", "image", "any", v.ndim)], inner, [inner[-1].target.name])
        rule = self.rule(v.ndim) if self.chance(80) else None
        return self.attempt(Call(self.target(), vector.name, [self.ref(image, rule)]), [f, vector])

    def try_fields(self):
        if not self.program.structs:
            return self.try_call()
        struct, fields = next(iter(self.program.structs.items()))
        image = self.some(struct=True)
        if image is not None and self.chance(80 if self.aim.made == "field" else 50):
            return self.attempt(Field(self.target(), self.ref(image), self.pick(*self.run.scope[image].data.fields)))
        first = self.some(struct=False)
        if first is None:
            return False
        dims = self.run.scope[first].ndim
        return self.attempt(Build(self.target(), struct, [self.ref(self.some(dims, False)) for _ in fields]))

    def try_wide(self):
        """A sum over a wide window, which kernels may roll down the rows."""
        image = self.some(2, False)
        if image is None:
            return self.try_call()
        rows, columns = self.pick(5, 7, 9), self.pick(5, 8, 9)
        variables = [(n, -(size // 2), size - 1 - size // 2) for n, size in zip("ij", (rows, columns))]
        read = E("read", of="X", steps=[(name("i"), 1), (name("j"), 1)])
        of, where = self.pick("sum", "sum", "sum", "max", "median"), None
        if of == "sum" and self.chance(80):
            weight = E("binary", E("binary", name("i"), number(3), of="*"), name("j"), of="-")
            read = E("binary", weight, read, of="*")
        elif self.chance(70):
            third = E("binary", E("binary", name("i"), name("j"), of="+"), number(3), of="%")
            where = E("binary", third, number(0), of="!=")
        given = [i for i in self.program.inputs if i.kind == "mask" and len(i.sizes) == 2]
        arguments = [Argument("X", "image", self.pick("any", "float", "uint8", "int32"), 2)]
        if given and self.chance(60):
            result = E("convolve", of="X", mask="w", dilation=self.pick(1, 1, 2), flip=False)
            arguments.append(Argument("w", "mask", given[0].type, 2))
        elif self.chance(30):
            mask = Mask(self.fresh("m"), [rows, columns], [self.between(-3, 4) for _ in range(rows * columns)])
            self.program.masks.append(mask)
            result = E("convolve", of="X", mask=mask.name, dilation=1, flip=False)
        else:
            result = E("window", read, of=of, variables=variables, where=where)
        f = Stencil(self.fresh("f"), arguments, [], result)
        return self.attempt(self.call(self.target(), f, [image]), [f])

    # ---- Results --------------------------------------------------------------------------------------------------
    def choose_results(self):
        """What nothing reads, and now and then what something does."""
        read = {made for made, *_ in self.run.events}
        names = [n for n in self.known() if self.run.scope[n].form != "input"] or self.known()
        last = [n for n in names if n not in read] or names[-1:]
        picked = last[-MOST_RESULTS:]
        for n in names:
            if n not in picked and len(picked) < MOST_RESULTS and self.chance(10):
                picked.append(n)
        self.program.results = [self.ref(n) for n in picked]


def generate(seed, wanted=()):
    with np.errstate(all="ignore"):
        return Generator(seed, wanted).make()
