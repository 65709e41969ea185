"""What docs/language.md says a program's results are, computed with NumPy."""
import itertools
import math

import numpy as np

import values
from borders import Image, gathered
from reads import Reads, constant
from tree import Build, Call, Compose, E, Field, Loop, Part, Place, Points, Reduce, Ref, Rule, Sample, ScalarOf, Stencil
from values import DOUBLE, FLOAT, INT, INT64, TYPES, Invalid, Literal, Pixel

MOST_POINTS = 40000


class Bound:
    """An image in the place of an argument: read by a rule, as another type."""

    def __init__(self, image, rules, value, type_):
        self.image, self.rules, self.value, self.type = image, rules, value, type_


class Body:
    """Expressions at all points of a domain at once."""

    def __init__(self, run, bound, reads, scope, reader):
        self.run, self.bound, self.scope, self.reader = run, bound, dict(scope), reader
        self.reads, self.spans = reads, {}  # spans: of the variables of windows around this place
        self.sizes, self.origin = reads.domain(bound)
        if math.prod(self.sizes) > MOST_POINTS:
            raise Invalid("large")

    def points(self, dimension):
        if dimension >= len(self.sizes):
            raise Invalid("no such dimension")
        shape = [1] * len(self.sizes)
        shape[dimension] = -1
        return (np.arange(self.sizes[dimension]) + self.origin[dimension]).reshape(shape)

    def value(self, e):
        return getattr(self, "of_" + e.op)(e)

    def parts(self, e):
        return [self.value(p) for p in e.parts]

    def of_literal(self, e):
        if e.suffix:
            return np.array(e.value, FLOAT if e.suffix == "f" else DOUBLE)
        return np.array(e.value) if isinstance(e.value, bool) else Literal(e.value)

    def of_name(self, e):
        if e.of not in self.scope:
            raise Invalid(f"no {e.of}")
        v = self.scope[e.of]
        return Literal(v, self.spans.get(e.of)) if type(v) in (int, float) else v

    def of_index(self, e):
        return (self.points(e.d) - self.origin[e.d]).astype(INT)

    def of_size(self, e):
        return np.array(self.bound[self.key(e.of)].image.shape[e.d], INT)

    def key(self, of):
        return self.reads.key(of, self.scope)

    def fetch(self, of, indices, form):
        b = self.bound[self.key(of)]
        self.run.event(b.image, self.reader, form, b.rules)
        v = gathered(b.image, b.rules, b.value, indices)
        return values.convert(v, TYPES[b.type]) if b.type in TYPES else v

    def of_read(self, e):
        steps = self.reads.steps(e, self.scope)
        form = "point" if e.steps is None else self.reads.form(steps)
        indices = [scale * self.points(d) + offset for d, (offset, scale) in enumerate(steps)]
        return self.fetch(e.of, indices, self.scope.get("form", form))

    def of_at(self, e):
        indices = []
        for v in self.parts(e):
            if isinstance(v, Pixel) or (not isinstance(v, Literal) and v.dtype.kind == "f"):
                raise Invalid("an index that is no integer")
            indices.append(np.asarray(v.value if isinstance(v, Literal) else v).astype(np.int64))
        return self.fetch(e.of, np.broadcast_arrays(*indices), "absolute")

    def of_field(self, e):
        v = self.value(e.parts[0])
        if not isinstance(v, Pixel) or e.of not in v.fields:
            raise Invalid("no such field")
        return v.fields[e.of]

    def of_pixel(self, e):
        fields = self.run.program.structs[e.of]
        parts = self.parts(e)
        if values.has_pixel(*parts):
            raise Invalid("a pixel as a field")
        return Pixel({n: values.convert(v, TYPES[t]) for (n, t), v in zip(fields.items(), parts)})

    def of_unary(self, e):
        v = self.value(e.parts[0])
        if e.of == "!":
            return values.by_field(lambda x: ~values.truth(x), v) if isinstance(v, Pixel) else ~values.truth(v)
        return values.negated(v) if e.of == "-" else values.inverted(v)

    def of_binary(self, e):
        return values.arithmetic(self.run.trace, e.of, *self.parts(e))

    def of_choose(self, e):
        return values.chosen(*self.parts(e))

    def of_call(self, e):
        return values.call(self.run.trace, e.of, self.parts(e))

    def of_cast(self, e):
        return values.convert(self.value(e.parts[0]), TYPES[e.to])

    def of_sat(self, e):
        return values.saturated(self.value(e.parts[0]), TYPES[e.to])

    def of_coefficient(self, e):
        indices = [constant(p, self.scope) for p in e.parts]
        return self.run.coefficient(self.scope.get(e.of, e.of), indices)

    def of_reduce(self, e):
        return self.run.reduced(e.of, self.run.image(e.image, self.scope), self.reader)

    def of_convolve(self, e):
        """Row by row over the coefficients that are not 0; those of the run are all there."""
        name = self.scope.get(e.mask, e.mask)
        total = None
        for taps, offsets in self.run.taps(name, e.flip, e.dilation):
            steps = [self.points(d) + o for d, o in enumerate(offsets)]
            term = values.arithmetic(self.run.trace, "*", taps, self.fetch(e.of, steps, "mask"))
            total = term if total is None else values.arithmetic(self.run.trace, "+", total, term)
        if total is None:
            raise Invalid("an empty mask")
        return total

    # ---- Windows --------------------------------------------------------------------------------------------------
    def of_window(self, e):
        """(value, condition) of each point; the condition None where it holds by itself."""
        outer, terms = dict(self.scope), []
        self.spans.update({v: (low, high) for v, low, high in e.variables})
        known = e.where is None or self.reads.is_constant(e.where, self.scope, e.variables)
        for at in itertools.product(*(range(low, high + 1) for _, low, high in e.variables)):
            self.scope = {**outer, **dict(zip((v for v, _, _ in e.variables), at)), "form": "window"}
            if e.where is not None and known and not constant(e.where, self.scope):
                continue
            holds = None if e.where is None or known else values.truth(self.value(e.where))
            terms.append((self.value(e.parts[0]), holds))
        self.scope = outer
        if not terms:
            raise Invalid("an empty window")
        if values.has_pixel(*(v for v, _ in terms)):
            fields = terms[0][0].fields
            return Pixel({n: self.fold(e.of, [(v.fields[n], h) for v, h in terms]) for n in fields})
        return self.fold(e.of, terms)

    def fold(self, of, terms):
        trace = self.run.trace
        if any(isinstance(v, Literal) for v, _ in terms):
            raise Invalid("a window without a type")
        kind = terms[0][0].dtype
        if kind == np.float16:
            kind, terms = FLOAT, [(v.astype(FLOAT), h) for v, h in terms]
        if of in ("any", "all"):
            neutral, both = (False, np.logical_or) if of == "any" else (True, np.logical_and)
            held = [values.truth(v) if h is None else np.where(h, values.truth(v), neutral) for v, h in terms]
            return both.reduce(np.broadcast_arrays(*held))
        if of in ("min", "max"):
            worst = values.greatest(kind) if of == "min" else values.lowest(kind)
            held = [v if h is None else np.where(h, v, worst) for v, h in terms]
            self.doubtful(held)
            result = held[0]
            for v in held[1:]:
                result = values.least(trace, result, v) if of == "min" else values.most(trace, result, v)
            return result
        if of == "median":
            return self.median(terms)
        if of == "prod":
            return self.accumulate("*", [np.where(h, v, np.ones((), kind)) if h is not None else v for v, h in terms])
        if of == "mean":
            kind = values.real_of(kind)
            terms = [(v.astype(kind), h) for v, h in terms]
        total = self.accumulate("+", [np.where(h, v, np.zeros((), kind)) if h is not None else v for v, h in terms])
        return total if of == "sum" else self.mean(total, terms, kind)

    def accumulate(self, op, held):
        kind = values.promoted(held[0].dtype)
        result = held[0].astype(kind)
        for v in held[1:]:
            result = values.arithmetic(self.run.trace, op, result, v.astype(kind))
        return result

    def mean(self, total, terms, kind):
        count = np.array(sum(np.ones((), INT) if h is None else h.astype(INT) for _, h in terms))
        if np.any(count == 0):
            raise Invalid("a mean of no points")
        return values.arithmetic(self.run.trace, "/", total, count.astype(kind))

    def median(self, terms):
        held = np.stack(np.broadcast_arrays(*(v for v, _ in terms)))
        if held.dtype.kind == "f":
            if np.any(np.isnan(held)):
                raise Invalid("a median with NaN")
            zeros = np.signbit(held) & (held == 0)
            order = np.lexsort((~zeros, held), axis=0)
            held = np.take_along_axis(held, order, axis=0)
        else:
            held = np.sort(held, axis=0)
        return held[len(terms) // 2]

    def doubtful(self, held):
        """The default mode may take minima in any order, which NaN and zeros of both signs can tell apart."""
        if held[0].dtype.kind == "f" and any(np.any(np.isnan(v)) for v in held):
            self.run.trace.exact = False


class Run:
    """One run of a program: what its statements define."""

    def __init__(self, program, inputs):
        """inputs: name to array, or Pixel, for images and masks."""
        self.program, self.trace, self.events = program, values.Trace(), set()
        self.renamed = {}  # stages of vector functions that have their results' names
        self.scope = dict(program.parameters)
        self.default = Rule([program.border or "clamp"], E("literal", value=0, suffix=""))
        self.run_masks = {i.name for i in program.inputs if i.kind == "mask"}
        for i in program.inputs:
            data = inputs[i.name]
            self.scope[i.name] = Image(data, i.type if isinstance(data, Pixel) else "", "input", i.name)
        for s in program.scalars:
            self.scope[s.name] = np.array(s.value, TYPES[s.type])
        self.inside = ""  # of a vector function: what its stages' names begin with

    # ---- Names ----------------------------------------------------------------------------------------------------
    def key(self, r, scope=None):
        if r.index is None:
            return r.name
        scope = self.scope if scope is None else scope
        return f"{r.name}<{constant(r.index, {**self.scope, **scope})}>"

    def reader(self, s):
        return self.inside + self.key(s.target)

    def image(self, r, scope=None):
        v = self.scope.get(self.key(r, scope))
        if not isinstance(v, Image):
            raise Invalid(f"no image {self.key(r, scope)}")
        return v

    def event(self, image, reader, form, rules):
        kind = rules[0] if len(set(rules)) == 1 else "mixed"
        self.events.add((image.name, reader, image.form, form, kind))

    # ---- Masks ----------------------------------------------------------------------------------------------------
    def coefficients(self, of):
        m = self.program.mask(of)
        if m is None:
            return None
        listed = m.values
        if m.divisor != 1 or any(isinstance(v, float) for v in listed):  # one that is real makes all of them so
            listed = [v / m.divisor for v in listed]
        spans = (min(listed), max(listed))  # all of a mask has one type
        return dict(zip(itertools.product(*map(range, m.sizes)), [Literal(v, spans) for v in listed])), m.sizes

    def taps(self, of, flip, dilation):
        known = self.coefficients(of)
        if known is None:
            data = self.scope[of].data
            table, sizes = {at: np.array(data[at]) for at in np.ndindex(*data.shape)}, data.shape
        else:
            table, sizes = known[0], known[1]
        turn = -1 if flip else 1
        placed = [(tuple(turn * (k - n // 2) * dilation for n, k in zip(sizes, at)), v) for at, v in table.items()]
        for offsets, v in sorted(placed, key=lambda tap: tap[0]):
            if known is None:
                yield v, offsets
            elif v.value != 0:
                yield v, offsets

    def coefficient(self, of, indices):
        known = self.coefficients(of)
        sizes = known[1] if known else self.scope[of].data.shape
        at = tuple(i + n // 2 for i, n in zip(indices, sizes))
        if known:
            return known[0][at]
        return np.array(self.scope[of].data[at])

    # ---- Calls ----------------------------------------------------------------------------------------------------
    def bind(self, image, rule, type_):
        rule = rule or self.default
        if len(rule.names) not in (1, image.ndim):
            raise Invalid("rules for other dimensions")
        value = None
        if "constant" in rule.names:
            value = (
                Body(self, {}, Reads(self), self.scope, "").value(rule.value) if rule.value is not None else Literal(0)
            )
        if isinstance(value, Literal):
            image.map(lambda f: check_value(value, f.dtype))
        if type_ in TYPES and image.struct or (type_ in self.program.structs and image.struct != type_):
            raise Invalid("a struct for a scalar type, or none for a struct")
        return Bound(image, [rule.of(d) for d in range(image.ndim)], value, type_)

    def call_stencil(self, f, arguments, reader):
        bound, scope = {}, {}
        for a, given in zip(f.arguments, arguments):
            if a.kind == "image":
                bound[a.name] = self.bind(self.image(given), given.rule, a.type)
                if bound[a.name].image.ndim != a.dims:
                    raise Invalid("dimensions")
            elif a.kind == "mask":
                scope[a.name] = given
            else:
                scope[a.name] = values.convert(self.scalar(given), TYPES[a.type])
        reads = Reads(self)
        for l in f.locals:
            reads.collect(l.value, scope)
        reads.collect(f.result, scope)
        body = Body(self, bound, reads, scope, reader)
        for l in f.locals:
            v = body.value(l.value)
            if l.type and isinstance(v, Pixel):
                raise Invalid("a pixel as a number")
            body.scope[l.name] = values.convert(v, TYPES[l.type]) if l.type else v
            if isinstance(body.scope[l.name], Literal):
                raise Invalid("a local without a type")
        return self.finish(body, body.value(f.result))

    def finish(self, body, v):
        if isinstance(v, Literal):
            raise Invalid("a result without a type")
        if isinstance(v, Pixel):
            return Image(
                Pixel({n: np.array(np.broadcast_to(x, body.sizes)) for n, x in v.fields.items()}), self.struct_of(v)
            )
        return Image(np.array(np.broadcast_to(v, body.sizes)))

    def struct_of(self, v):
        for name, fields in self.program.structs.items():
            if list(fields) == list(v.fields) and all(
                np.dtype(TYPES[t]) == v.fields[n].dtype for n, t in fields.items()
            ):
                return name
        return "*" + " ".join(v.fields)  # a struct's fields of other types

    def scalar(self, e):
        v = Body(self, {}, Reads(self), self.scope, "").value(e)
        if isinstance(v, Image):
            raise Invalid("an image as a scalar")
        return v

    def call_vector(self, f, arguments):
        """Its body sees its arguments and its own names; a rule at the call is in force inside."""
        inner, outer, default, inside = {}, self.scope, self.default, self.inside
        for a, given in zip(f.arguments, arguments):
            if a.kind == "image":
                inner[a.name] = self.image(given)
                if given.rule:
                    self.default = given.rule
            else:
                inner[a.name] = values.convert(self.scalar(given), TYPES[a.type])
        self.scope, self.inside = inner, f"{f.name}."
        self.statements(f.statements)
        results = [self.scope[name] for name in f.results]
        self.scope, self.default, self.inside = outer, default, inside
        return results

    # ---- Statements -----------------------------------------------------------------------------------------------
    def define(self, target, v, form):
        key = self.key(target)
        if key in self.scope:
            raise Invalid(f"{key} twice")
        if isinstance(v, Image):
            if 0 in v.shape or math.prod(v.shape) > MOST_POINTS:
                raise Invalid("no points, or too many")
            v = Image(
                v.data, v.struct, "family" if target.index is not None and form == "stencil" else form,
                self.inside + key,
            )
        self.scope[key] = v

    def statements(self, all_statements):
        for s in all_statements:
            self.statement(s)

    def statement(self, s):
        if isinstance(s, Loop):
            step = 1 if s.first <= s.last else -1
            for i in range(s.first, s.last + step, step):
                self.scope[s.variable] = i
                self.statements(s.statements)
            self.scope.pop(s.variable)
            return
        form, v = getattr(self, "do_" + type(s).__name__.lower())(s)
        self.define(s.target, v, form)

    def do_call(self, s):
        f = self.program.function(s.function)
        if isinstance(f, Stencil):
            return "stencil", self.call_stencil(f, s.arguments, self.reader(s))
        v = self.call_vector(f, s.arguments)[0]
        self.renamed[f"{f.name}.{f.results[0]}"] = self.key(s.target)
        return "vector function", v

    def do_points(self, s):
        return "image expression", self.points(s, s.value, {})

    def points(self, s, value, names):
        """An expression of images; names: more for its body."""
        reads = Reads(self)
        reads.agree = True
        reads.collect(value, {})
        if not reads.at:
            raise Invalid("no image")
        bound = {key: self.bind(self.image(r), rule, "") for key, (r, rule) in reads.refs.items()}
        body = Body(self, bound, reads, {**self.scope, **names}, self.reader(s))
        return self.finish(body, body.value(value))

    def do_part(self, s):
        image = self.image(s.image)
        self.event(image, self.reader(s), "part", ["-"])
        if len(s.ranges) != image.ndim:
            raise Invalid("ranges")
        cut = []
        for (first, last), n in zip(s.ranges, image.shape):
            low = 0 if first is None else max(0, constant(first, self.scope))
            high = n - 1 if last is None else min(n - 1, constant(last, self.scope))
            if low > high:
                raise Invalid("an empty part")
            cut.append(slice(low, high + 1))
        return "part", Image(image.map(lambda f: f[tuple(cut)]), image.struct)

    def do_sample(self, s):
        return "sample", self.points(s, E("read", of=s.image, steps=s.steps), {"form": "sample"})

    def piece(self, p, reader):
        """(shape, where, data) of what is placed."""
        if not isinstance(p.value, Ref):
            ends = [constant(last, self.scope) for _, last in p.ranges]
            starts = [0 if first is None else constant(first, self.scope) for first, _ in p.ranges]
            if any(s < 0 or e < s for s, e in zip(starts, ends)):
                raise Invalid("an empty range")
            return [e + 1 for e in ends], tuple(slice(s, e + 1) for s, e in zip(starts, ends)), p.value
        image = self.image(p.value)
        self.event(image, reader, "placed by steps" if p.steps else "placed", ["-"])
        if p.steps:
            shape, where, taken = [], [], []
            if len(p.steps) != image.ndim:
                raise Invalid("dimensions")
            for (offset, step), n in zip(p.steps, image.shape):
                at = np.arange(n) * step + constant(offset, self.scope)
                inside = (at >= 0) & (at < n * step)
                shape.append(n * step)
                where.append(at[inside])
                taken.append(np.arange(n)[inside])
            return shape, np.ix_(*where), image.map(lambda f: f[np.ix_(*taken)])
        fixed = len(p.ranges) - image.ndim
        if fixed < 0:
            raise Invalid("dimensions")
        starts = [0 if first is None else constant(first, self.scope) for first, _ in p.ranges]
        if min(starts) < 0:
            raise Invalid("a negative place")
        sizes = [1] * fixed + list(image.shape)
        where = tuple(slice(s, s + n) for s, n in zip(starts, sizes))
        return [s + n for s, n in zip(starts, sizes)], where, image.map(lambda f: f.reshape(sizes))

    def composed(self, pieces, reader):
        placed = [self.piece(p, reader) for p in pieces]
        if len({len(shape) for shape, _, _ in placed}) != 1:
            raise Invalid("dimensions")
        shape = [max(extents) for extents in zip(*(s for s, _, _ in placed))]
        if math.prod(shape) > MOST_POINTS:
            raise Invalid("large")
        first = next((data for _, _, data in placed if not isinstance(data, E)), None)
        if first is None:
            raise Invalid("only numbers")
        blank = Image(first).map(lambda f: np.zeros(shape, f.dtype))
        for _, where, data in placed:
            put(blank, where, data)
        struct = next((self.image(p.value).struct for p in pieces if isinstance(p.value, Ref)), "")
        return Image(blank, struct)

    def do_place(self, s):
        form = "placed by steps" if s.piece.steps else "placed"
        return form, self.composed([s.piece], self.reader(s))

    def do_compose(self, s):
        return "composition", self.composed(s.pieces, self.reader(s))

    def do_reduce(self, s):
        image = self.image(s.image)
        if s.function == "histogram":
            return "histogram", Image(self.histogram(image, s.bins, self.reader(s)))
        return "scalar", self.reduced(s.function, image, self.reader(s))

    def histogram(self, image, bins, reader):
        self.event(image, reader, "histogram", ["-"])
        if image.struct:
            raise Invalid("a histogram of pixels")
        v = np.floor(image.data.astype(np.float64)) if image.data.dtype.kind == "f" else image.data.astype(np.int64)
        counted = v[np.isfinite(v) & (v >= 0) & (v < bins)].astype(np.int64)
        return np.bincount(counted.ravel(), minlength=bins).astype(np.uint32)

    def reduced(self, of, image, reader):
        self.event(image, reader, of, ["-"])
        data = image.data
        if isinstance(data, Pixel):
            return Pixel({n: self.reduced_field(of, f) for n, f in data.fields.items()})
        return self.reduced_field(of, data)

    def reduced_field(self, of, data):
        if data.dtype.kind == "f" and not np.all(np.isfinite(data)):
            raise Invalid("a reduction of what is not finite")
        if of == "count":
            return np.array(np.count_nonzero(data), INT64)
        if of in ("minimum", "maximum"):
            if data.dtype.kind == "f" and np.any(data == 0):
                self.trace.zeros = False
            return np.array(data.min() if of == "minimum" else data.max())
        if data.dtype.kind != "f":
            total = data.astype(np.int64).sum()
            if of == "total":
                return np.array(total, INT64)
            real = values.real_of(data.dtype)
            if abs(int(total)) >= 2 ** 24:
                raise Invalid("a mean that may round twice")
        else:
            total = exact_total(data)
            real = data.dtype
            if of == "total":
                return np.array(total, real)
        if real == np.float16:
            raise Invalid("a mean of halves")
        n = data.size
        if n & (n - 1):
            self.trace.exact = False
        return np.array(np.array(total, real) / np.array(n, real), real)

    def do_scalarof(self, s):
        v = self.scalar(s.value)
        if isinstance(v, (Literal, Pixel)):
            raise Invalid("a scalar without a type")
        return "scalar", np.array(v)

    def do_field(self, s):
        image = self.image(s.image)
        self.event(image, self.reader(s), "field", ["-"])
        if not isinstance(image.data, Pixel) or s.field not in image.data.fields:
            raise Invalid("no such field")
        return "field", Image(image.data.fields[s.field])

    def do_build(self, s):
        fields, images = self.program.structs[s.struct], [self.image(r) for r in s.images]
        if any(i.struct for i in images) or len({i.shape for i in images}) != 1 or len(images) != len(fields):
            raise Invalid("fields")
        for i in images:
            self.event(i, self.reader(s), "struct", ["-"])
        return "struct", Image(
            Pixel({n: values.convert(i.data, TYPES[t]) for (n, t), i in zip(fields.items(), images)}), s.struct
        )

    def results(self):
        self.statements(self.program.statements)
        return [self.image(r) for r in self.program.results]


def check_value(literal, dtype):
    """Literals that are no value of a type are refused."""
    if dtype.kind != "f" and (isinstance(literal.value, float) or not values.fits(literal.value, dtype)):
        raise Invalid("a constant that is no value of the image's type")
    return np.zeros(0)


def put(into, where, data):
    if isinstance(into, Pixel):
        if isinstance(data, E) or not isinstance(data, Pixel) or list(into.fields) != list(data.fields):
            raise Invalid("parts of two types")
        for n, f in into.fields.items():
            put(f, where, data.fields[n])
    elif isinstance(data, E):
        check_value(Literal(data.value), into.dtype)
        into[where] = values.convert(Literal(data.value), into.dtype)
    else:
        if isinstance(data, Pixel) or data.dtype != into.dtype:
            raise Invalid("parts of two types")
        into[where] = data


def exact_total(data):
    """The sum of reals where no order of adding them rounds."""
    wide = data.astype(np.float64)
    bits = {np.dtype(np.float16): 8, FLOAT: 20, DOUBLE: 45}[data.dtype]
    unit = 2.0 ** 6
    if np.any(wide * unit % 1 != 0) or np.abs(wide).sum() * unit >= 2.0 ** bits:
        raise Invalid("a total that rounds")
    return wide.sum()
