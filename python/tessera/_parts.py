"""Programs over images in parts. What a program means is read from the text of its graph: which points of the images
a point of a result depends on, and which numbers of whole images. From the graph one program is made for each such
number, in the order in which they need each other, and one for each result, in which those numbers are given; in both,
where a part lies is given too. Each runs on parts, and the bits are those of the whole at once.

A dimension is cut where the points of all stages lie in it as those of the images do, one for one or in steps, and
what they depend on is bounded. The others are left whole: what looks a point up anywhere, mirrors an image, or moves
one dimension into another."""
import fractions
import functools
import math
import re
import weakref

import numpy as np

from . import _errors

_TOKEN = re.compile(
    r'"[^"]*"|\$\w+|%\d+|[A-Za-z_]\w*(?:<\d+>)?(?:\.[A-Za-z_]\w*(?:<\d+>)?)*|\d+(?:\.\d+)?(?:e[+-]?\d+)?\w*|\.\.|\S'
)
_STATEMENT = re.compile(r"\n(?=(?:fp|param|scalar|image|mask|table|stage|output) )")
_LARGE = 720720 * 1000  # a size to see by how fast others grow with it; divisible by all that is small


# ---- Reading graphs
# --------------------------------------------------------------------------------------------------
class Tokens:
    """The words of a statement, with where they stand in its text."""

    def __init__(self, text):
        self.text = text
        self.found = [(m.group(), m.start(), m.end()) for m in _TOKEN.finditer(text)]
        self.words = [word for word, _, _ in self.found] + ["", "", ""]

    def close(self, at):
        """The bracket that closes the one at a place."""
        depth = 0
        for i in range(at, len(self.words)):
            depth += (self.words[i] in "([{" and self.words[i] != "") - (self.words[i] in ")]}" and self.words[i] != "")
            if depth == 0:
                return i
        raise _errors.InternalError("a graph's text has an open bracket")

    def groups(self, at):
        """What stands between commas in the brackets at a place, as pairs of places."""
        end, begin, found, i = self.close(at), at + 1, [], at + 1
        while i < end:
            if self.words[i] in ("(", "[", "{"):
                i = self.close(i)
            elif self.words[i] == ",":
                found.append((begin, i))
                begin = i + 1
            i += 1
        return found + [(begin, end)] if end > at + 1 else []


class Piece:
    """Some points of a stage: `offset + step * i` for i below `count` (None: all points), and what they read."""

    def __init__(self, offset, step, count=None):
        self.offset, self.step, self.count = offset, step, count
        self.reads = []  # (producer, a Place or None for each dimension, a rule for each, parameters in it)


class Stage:
    def __init__(self, name, sizes, type, text):
        self.name, self.sizes, self.type, self.text = name, sizes, type, text
        self.kind, self.source, self.reduction, self.pieces = "compute", None, None, []
        self.changes = []  # (begin, end, piece, what) in the text: 'index', 'size', or a name of a stage
        self.scalars, self.needs = set(), set()


class Place:
    """Where a read finds its producer in one dimension: scale * (the reader's coordinate) + lo..hi."""

    def __init__(self, source, scale, low, high):
        self.source, self.scale, self.low, self.high = source, scale, low, high


def _size(tokens, begin, end):
    return tuple(tokens.words[begin:end])


def _evaluate(size, values):
    """A size for given values of the parameters."""
    text = " ".join(str(values[w]) if w in values else "//" if w == "/" else w for w in size)
    if not re.fullmatch(r"[\d\s()+*/,minax-]*", text):
        raise KeyError(text)
    return int(eval(text, {"__builtins__": {}}, {"min": min, "max": max}))


def _range(words, variables):
    """(lowest, highest) of a sum of numbers and multiples of window variables; None of others."""
    low = high = 0
    sign, factor, variable = 1, 1, None
    for word in [*words, "+"]:
        if word in "+-":
            span = variables[variable] if variable else (1, 1)
            ends = [sign * factor * v for v in span] if words else [0]
            low, high = low + min(ends), high + max(ends)
            sign, factor, variable, words = 1 if word == "+" else -1, 1, None, words
        elif word.isdigit():
            factor *= int(word)
        elif word in variables and variable is None:
            variable = word
        elif word != "*":
            return None
    return low, high


def _span(words, variables):
    """As _range, of a text that may begin with a sign."""
    if words and words[0] in "+-":
        words = ["0", *words]
    return _range(words, variables)


def _place(tokens, begin, end, dim, variables):
    words = tokens.words[begin:end]
    if words[0] in ("=", "{"):
        return None
    source, scale = dim, 1
    if words[0] == "(" and tokens.close(begin) == end - 1:
        parts = [tokens.words[b:e] for b, e in tokens.groups(begin)]
        if len(parts) > 1:
            words, scale = parts[0], parts[1]
            if not (len(scale) == 1 and scale[0].isdigit() and int(scale[0]) > 0):
                return None
            scale = int(scale[0])
            source = int(parts[2][0]) if len(parts) > 2 else dim
    span = _span(words, variables)
    return span and Place(source, scale, *span)


class Graph:
    """A graph's statements."""

    def __init__(self, text):
        self.params, self.scalars, self.images, self.tables, self.outputs, self.stages = [], {}, {}, {}, [], {}
        self.fp = "fp default"
        for statement in _STATEMENT.split(text.rstrip("\n")):
            word, _, rest = statement.partition(" ")
            read = getattr(self, f"_read_{word}", None)
            if read is None:
                raise _errors.InternalError(f"a graph's text has a line that begins with '{word}'")
            read(statement, rest)

    def _read_graph(self, statement, rest):
        pass

    def _read_fp(self, statement, rest):
        self.fp = statement

    def _read_param(self, statement, rest):
        self.params += [t.strip() for t in rest.split(",")]

    def _read_scalar(self, statement, rest):
        self.scalars[Tokens(rest).words[0]] = statement

    def _read_image(self, statement, rest):
        tokens = Tokens(rest)
        sizes = [_size(tokens, *g) for g in tokens.groups(1)]
        self.images[tokens.words[0]] = (sizes, statement, statement.startswith("mask"))

    _read_mask = _read_image

    def _read_table(self, statement, rest):
        self.tables[Tokens(rest).words[0]] = statement

    def _read_output(self, statement, rest):
        tokens = Tokens(statement)
        equals = [i for i, w in enumerate(tokens.words) if w == "="]
        self.outputs.append((tokens.words[1], [tokens.words[i + 1] for i in equals], statement, "{" in tokens.words))

    def _read_stage(self, statement, rest):
        tokens = Tokens(statement)
        at, sizes = 2, []
        if tokens.words[2] == "[":
            sizes = [_size(tokens, *g) for g in tokens.groups(2)]
            at = tokens.close(2) + 1
        stage = Stage(tokens.words[1], sizes, tokens.words[at], statement)
        kind = tokens.words[at + 2]
        if tokens.words[at + 1] == "=" and kind == "image" and tokens.words[at + 3] in self.images:
            stage.kind, stage.source = "image", tokens.words[at + 3]
        elif tokens.words[at + 1] == "=" and kind in ("scan", "reduce") and "along" in tokens.words:
            self._read_along(stage, tokens, at + 2)
        elif tokens.words[at + 1] == "=" and kind == "reduce" and tokens.words[at + 4] in self.stages:
            stage.kind, stage.reduction, stage.source = "reduce", tokens.words[at + 3], tokens.words[at + 4]
        elif tokens.words[at + 1] == "=" and kind == "histogram" and tokens.words[at + 3] in self.stages:
            stage.kind, stage.source = "histogram", tokens.words[at + 3]
        else:
            self._read_bodies(stage, tokens, at + 1)
        if stage.kind in ("reduce", "histogram"):
            stage.needs = {stage.source}
        self.stages[stage.name] = stage

    def _read_along(self, stage, tokens, at):
        """What goes along a dimension from one end to the other: running values, and numbers of rows or columns."""
        stage.kind = "along"
        for word, begin, end in tokens.found[at:]:
            if word in self.stages:
                stage.needs.add(word)
                stage.changes.append((begin, end, None, word))
        stage.scalars |= {tokens.words[i + 2] for i, w in enumerate(tokens.words) if w == "scalar"}

    def _read_bodies(self, stage, tokens, at):
        n = len(stage.sizes)
        variables, i = {}, at
        piece = Piece([0] * n, [1] * n)
        if tokens.words[at] == "=":
            stage.pieces.append(piece)
        while i < len(tokens.found):
            word, after = tokens.words[i], tokens.words[i + 1]
            if word == "piece" and after == "[":
                offset = [tokens.words[b:e] for b, e in tokens.groups(i + 1)]
                i = tokens.close(i + 1) + 1
                step = [1] * n
                if tokens.words[i] == "step":
                    step = [int("".join(tokens.words[b:e])) for b, e in tokens.groups(i + 1)]
                    i = tokens.close(i + 1) + 1
                count = [_size(tokens, *g) for g in tokens.groups(i + 1)]
                i = tokens.close(i + 1) + 1
                fixed = [_span(o, {}) for o in offset]
                piece = Piece([f and f[0] for f in fixed], step, count)
                stage.pieces.append(piece)
                continue
            if word.startswith("$") and after == "=":
                end = i + 2
                while tokens.words[end] not in (",", ":", ")"):
                    end += 1
                middle = tokens.words.index("..", i)
                low = _span(tokens.words[i + 2:middle], {})
                high = _span(tokens.words[middle + 1:end], {})
                variables[word] = (low[0], high[0])
                i = end
                continue
            if word in ("scalar", "index", "size") and after == "(":
                close = tokens.close(i + 1)
                if word == "scalar":
                    stage.scalars.add(tokens.words[i + 2])
                else:
                    stage.changes.append((tokens.found[i][1], tokens.found[close][2], piece, word))
                i = close + 1
                continue
            if word in self.stages and after != "[":
                i = self._read_read(stage, piece, tokens, i, variables)
                continue
            i += 1

    def _read_read(self, stage, piece, tokens, i, variables):
        name = tokens.words[i]
        producer = self.stages[name]
        n = len(producer.sizes)
        stage.needs.add(name)
        stage.changes.append((tokens.found[i][1], tokens.found[i][2], piece, name))
        places, computed, i = [Place(d, 1, 0, 0) for d in range(n)], [], i + 1
        if tokens.words[i] == "@" and tokens.words[i + 1] == "[":
            groups = tokens.groups(i + 1)
            places = [_place(tokens, *g, d, variables) for d, g in enumerate(groups)]
            computed = [g for g in groups if tokens.words[g[0]] == "{"]
            fixed = {w for b, e in groups for w in tokens.words[b:e] if w in self.params and tokens.words[b] != "{"}
            i = tokens.close(i + 1) + 1
        else:
            fixed = set()
        rules = [None] * n
        if tokens.words[i] == ":" and n:
            if tokens.words[i + 1] == "[":
                rules = [tokens.words[b] for b, _ in tokens.groups(i + 1)]
            else:
                rules = [tokens.words[i + 1]] * n
        piece.reads.append((name, places, rules, fixed))
        # What is computed reads too.
        return min([b + 1 for b, _ in computed], default=i) if computed else i


# ---- Passes
# --------------------------------------------------------------------------------------------------
class Pass:
    """A program for parts of one target: a result, or what a number of whole images is taken of.

    Attributes
    ----------
    text : str
        The graph, with what is given: places of parts, sizes of the whole, and numbers of whole images.
    cut : list of bool
        Which dimensions of the images may be cut.
    margin, align, periodic
        For each dimension: how many points of the images a point depends on to each side, what the beginnings of
        parts have to be multiples of, and whether images go on as they begin.
    """

    def __init__(self, graph, wanted, statement, values, whole_rows):
        self.graph, self.statement = graph, statement
        self.names = self._closure(wanted)
        stages = [graph.stages[n] for n in graph.stages if n in self.names]
        self.images = [n for n in graph.images if any(s.kind == "image" and s.source == n for s in stages)]
        large = [n for n in self.images if not graph.images[n][2]]
        self.base = max((graph.images[n][0] for n in large), key=len, default=[])
        self.n = len(self.base)
        self.sizes = [s[0] if len(s) == 1 and s[0] in graph.params else None for s in self.base]
        self.cut = [s is not None and self.sizes.count(s) == 1 for s in self.sizes]
        self.parted = [n for n in large if graph.images[n][0] == self.base]
        self.values = values
        self.reduced = [s for s in graph.stages if s in self.names and graph.stages[s].kind in ("reduce", "histogram")]
        self.target = graph.stages[wanted[0]]
        if whole_rows and len(self.target.sizes) == self.n and self.n:
            self.cut[-1] = False
        self._look(stages)
        self._see_ends(stages)
        self._reach(stages)
        self._write(stages)

    def _closure(self, wanted):
        """All stages that are needed; what numbers of whole images are taken of is not."""
        found, open = set(), list(wanted)
        while open:
            name = open.pop()
            if name not in found:
                found.add(name)
                if self.graph.stages[name].kind in ("compute", "along"):
                    open += self.graph.stages[name].needs
        return found

    def _whole(self, d):
        if 0 <= d < self.n:
            self.cut[d] = False

    def _steps(self, stage):
        """For each dimension, how many points of the images a point of the stage is; None of those that do not grow
        with them. What grows otherwise leaves the dimension whole."""
        steps = []
        for k, size in enumerate(stage.sizes):
            step = None
            for d, name in enumerate(self.sizes):
                if name is None or name not in size:
                    continue
                values = dict(self.values)
                grown = [_evaluate(size, dict(values, **{name: m * _LARGE})) for m in (1, 2)]
                if grown[1] == grown[0]:
                    self._whole(d)
                elif d != k or len(stage.sizes) != self.n:
                    self._whole(d)
                else:
                    step = fractions.Fraction(_LARGE, grown[1] - grown[0])
            steps.append(step)
        return steps

    def _look(self, stages):
        """Which dimensions can be cut."""
        self.steps = {s.name: self._steps(s) for s in stages}
        self.wraps, self.ends = [False] * self.n, [False] * self.n
        for stage in stages:
            mine = self.steps[stage.name]
            if stage.kind == "along":
                for d in range(self.n):
                    self._whole(d)
            if stage.kind == "image" and stage.source not in self.parted:
                for d in range(self.n):
                    if self.sizes[d] in {w for size in stage.sizes for w in size}:
                        self._whole(d)
            for piece in stage.pieces:
                for name, places, rules, fixed in piece.reads:
                    for d in range(self.n):
                        if self.sizes[d] in fixed:
                            self._whole(d)
                    for d, (place, rule) in enumerate(zip(places, rules)):
                        self._look_at(mine, piece, self.steps[name][d], d, place, rule)

    def _look_at(self, mine, piece, step, d, place, rule):
        if step is None:
            if place is not None and 0 <= place.source < len(mine) and mine[place.source] is not None:
                self._whole(place.source)  # it is looked up at the point's own coordinate
            return
        own = mine[d] if d < len(mine) else None
        if own is None or place is None or place.source != d or piece.offset[d] is None:
            self._whole(d)
        elif step * place.scale != own * piece.step[d]:
            self._whole(d)
        elif place.low or place.high or piece.offset[d] or piece.step[d] != 1:
            if rule == "wrap":
                self.wraps[d] = True
            else:
                self.ends[d] = True

    def _see_ends(self, stages):
        """Images that go on as they begin can be cut where everything does."""
        self.align = [1] * self.n
        for stage in stages:
            for d, step in enumerate(self.steps[stage.name]):
                if step is not None:
                    for some in [step, *(step * p.step[d] for p in stage.pieces)]:
                        self.align[d] = math.lcm(self.align[d], some.numerator)
        for d in range(self.n):
            if self.wraps[d] and (self.ends[d] or self.align[d] != 1):
                self._whole(d)
        for stage in stages:
            for d, step in enumerate(self.steps[stage.name]):
                if step is None:
                    continue
                if self.wraps[d] and stage.sizes[d] != self.base[d]:
                    self._whole(d)
                if step * (_evaluate(stage.sizes[d], self.values) - 1) > self.values[self.sizes[d]] - 1:
                    self._whole(d)  # points beyond the image, which read it bounced
                if not all(self._covers(stage, piece, d) for piece in stage.pieces):
                    self._whole(d)
                name, align = self.sizes[d], self.align[d]
                whole = self.values[name]
                for less in (align, 2 * align):
                    have = _evaluate(stage.sizes[d], dict(self.values, **{name: whole - less}))
                    if whole > less and have != _evaluate(stage.sizes[d], self.values) - less / step:
                        self._whole(d)

    def _covers(self, stage, piece, d):
        """Whether the points of a piece are found from one end of its stage to the other."""
        size, step, begin = _evaluate(stage.sizes[d], self.values), piece.step[d], piece.offset[d]
        if piece.count is None or begin is None:
            return begin == 0 and step == 1
        last = begin + step * (_evaluate(piece.count[d], self.values) - 1)
        return 0 <= begin < step and size - step <= last < size

    def _reach(self, stages):
        far = {name: [fractions.Fraction(0)] * self.n for name in self.names}
        self.margin = [fractions.Fraction(0)] * self.n
        for stage in reversed(stages):
            mine = self.steps[stage.name]
            for piece in stage.pieces:
                for name, places, _, _ in piece.reads:
                    for d, place in enumerate(places):
                        step = self.steps[name][d]
                        if step is None or d >= self.n or not self.cut[d]:
                            continue
                        shift = fractions.Fraction(place.scale * piece.offset[d], piece.step[d])
                        away = max(abs(step * (place.low - shift)), abs(step * (place.high - shift)))
                        far[name][d] = max(far[name][d], far[stage.name][d] + away)
            for d, step in enumerate(mine):
                if step is not None and d < self.n and self.cut[d]:  # a stage may end before the image does
                    less = self.values[self.sizes[d]] - step * _evaluate(stage.sizes[d], self.values)
                    self.margin[d] = max(self.margin[d], far[stage.name][d] + max(0, less))
        self.periodic = [w and c for w, c in zip(self.wraps, self.cut)]

    def _write(self, stages):
        """The text; `given` has what each more scalar stands for: ('offset', dimension, step), ('size', size) or
        ('number', stage)."""
        graph = self.graph
        taken = {*graph.stages, *graph.scalars, *graph.images, *graph.tables, *graph.params}
        self.given, types = {}, {}

        def scalar(key, type):
            for known, other in self.given.items():
                if other == key:
                    return f"scalar({known})"
            name = f"given_{len(self.given)}"
            while name in taken:
                name += "_"
            self.given[name], types[name] = key, type
            return f"scalar({name})"

        bodies, scalars, images = [], set(), []
        for stage in stages:
            if stage.kind == "reduce" and not is_wide(stage):
                continue
            if stage.kind in ("histogram", "reduce"):
                name = f"given_{stage.name.strip(chr(34))}"
                sizes = ", ".join(" ".join(s) for s in stage.sizes) or "1"
                images.append(f'image "{name}"[{sizes}] {stage.type}')
                bodies.append(f'stage {stage.name}[{sizes}] {stage.type} = image "{name}"')
                continue
            scalars |= stage.scalars
            text, last = "", 0
            for begin, end, piece, what in sorted(stage.changes, key=lambda c: c[0]):
                if begin < last:
                    continue
                inner, new = stage.text[begin:end], None
                if what == "index":
                    d = int(Tokens(inner).words[2])
                    step = self.steps[stage.name][d] if d < len(self.steps[stage.name]) else None
                    if step is not None and d < self.n and self.cut[d]:
                        new = f"({inner} + {scalar(('offset', d, step * piece.step[d]), 'int32')})"
                        if self.periodic[d]:
                            new = f"({new} % {scalar(('size', self.base[d]), 'int32')})"
                elif what == "size":
                    size = tuple(Tokens(inner).words[2:-4])
                    if any(self.cut[d] and self.sizes[d] in size for d in range(self.n)):
                        new = scalar(("size", size), "int32")
                elif is_wide(graph.stages[what]):
                    new = f"{what}@[=0]"
                elif graph.stages[what].kind == "reduce":
                    new = scalar(("number", what), graph.stages[what].type)
                if new is not None:
                    text, last = text + stage.text[last:begin] + new, end
            bodies.append(text + stage.text[last:])
        head = ["graph part", graph.fp]
        used = {w for n in [*self.images] for size in graph.images[n][0] for w in size}
        used |= {w for s in stages for size in s.sizes for w in size} | set(Tokens("\n".join(bodies)).words)
        params = [p for p in graph.params if p in used]
        if params:
            head.append("param " + ", ".join(params))
        self.scalars = [s for s in graph.scalars if s in scalars]
        head += [graph.scalars[s] for s in self.scalars] + [f"scalar {n} {t}" for n, t in types.items()]
        head += [graph.images[n][1] for n in self.images] + images
        words = set(Tokens("\n".join(bodies)).words)
        head += [t for n, t in graph.tables.items() if n in words]
        self.text = "\n".join([*head, *bodies, self.statement, ""])
        sized = {s[0] for n in self.images for s in graph.images[n][0] if len(s) == 1}
        self.named = [p for p in params if p not in sized]  # parameters that no image tells

    def numbers(self, offset, numbers):
        """What a run on a part has to be given, but for numbers of whole images."""
        made = {_bare(s): numbers[_bare(s)] for s in self.scalars if _bare(s) in numbers}
        made.update({_bare(p): self.values[p] for p in self.named})
        for name, key in self.given.items():
            if key[0] == "offset":
                begin = offset[key[1]]
                made[name] = int((begin % self.values[self.sizes[key[1]]] if self.periodic[key[1]] else begin) / key[2])
            elif key[0] == "size":
                made[name] = _evaluate(key[1], self.values)
        return made

    def extent(self):
        """The size of the target."""
        return [_evaluate(size, self.values) for size in self.target.sizes]

    def range_of(self, d, begin, end):
        """(begin, end) in the images of what points begin..end of the target depend on; beyond the image where it is
        periodic."""
        step, whole, align = self.steps[self.target.name][d], self.values[self.sizes[d]], self.align[d]
        low = math.floor(step * begin - self.margin[d])
        high = math.ceil(step * (end - 1) + self.margin[d]) + 1
        if self.periodic[d]:
            return low, high
        return max(0, low // align * align), min(whole, -(-high // align) * align)

    def cuts(self, d):
        """Whether the target is computed in parts in this dimension."""
        steps = self.steps[self.target.name]
        return len(steps) == self.n and d < self.n and self.cut[d] and steps[d] is not None


def is_wide(stage):
    """A number of whole images that scalars, which are doubles, do not hold: it is given as an image of one element."""
    return stage.kind == "reduce" and stage.type in ("int64", "uint64")


def _bare(name):
    return name.strip('"')


class Parts:
    """The passes of a program for images of given shapes."""

    def __init__(self, program, shapes, numbers):
        graph = Graph(program.explain(stop="graph", **numbers))
        values = {}
        for name, (sizes, statement, _) in graph.images.items():
            for size, n in zip(sizes, shapes[_bare(name)]):
                if len(size) == 1 and size[0] in graph.params:
                    if values.setdefault(size[0], n) != n:
                        raise _errors.ArgumentError(
                            f"the images do not fit each other: '{_bare(size[0])}' is {values[size[0]]} in one and {n} "
                            f"in '{_bare(name)}'"
                        )
        for name in graph.params:
            if _bare(name) in numbers:
                values[name] = numbers[_bare(name)]
            if name not in values:
                raise _errors.ArgumentError(f"the parameter '{_bare(name)}' is not given")
        self.graph, self.values = graph, values
        self.reductions = [s for s in graph.stages.values() if s.kind in ("reduce", "histogram")]

    def of_number(self, stage):
        """The pass over what a number of whole images is taken of."""
        source = self.graph.stages[stage.source]
        sizes = ", ".join(" ".join(s) for s in source.sizes)
        statement = f"output part[{sizes}] {source.type} = {source.name}"
        return Pass(self.graph, [source.name], statement, self.values, stage.kind == "reduce")

    def of_output(self, i):
        _, stages, statement, _ = self.graph.outputs[i]
        return Pass(self.graph, stages, statement, self.values, False)


@functools.lru_cache(maxsize=64)
def program_of(text, options):
    """A pass, compiled once in each process."""
    from . import _program
    return _program.compile(text, dialect="graph", name="part", quiet=True, **dict(options))


def of_graph(type):
    """NumPy's name of a graph's type."""
    return {"float": "float32", "double": "float64"}.get(type, type)


def options_of(program):
    """The options of a program that its passes have too, as what can be looked up."""
    kept = ("target", "fp", "threads", "device", "machine", "cc", "cache")
    return tuple((k, program._options[k]) for k in kept)


def run(text, options, arrays, numbers, keep):
    """A part of a result: those points of what the part decides that `keep` says."""
    result = program_of(text, options)(*(np.ascontiguousarray(a) for a in arrays), **numbers)
    return np.ascontiguousarray(result[keep])


def kept_whole(program):
    """Why images cannot be cut at all, or '': sums are computed by transforms, whose blocks of rows are counted from
    the first, so that rounding depends on where a point is; or turns are repeated, over all of which points depend on
    others."""
    if re.search(r"^\s+transform\b", program.plan, re.M):
        return "sums are transformed in blocks of rows, counted from the first"
    return "turns are repeated" if re.search(r"^repeat ", program.explain(stop="graph"), re.M) else ""


def of_part(program, arrays, numbers, offset, shape):
    """The results of a program for parts of images of a shape, as far as the parts decide them."""
    n = len(shape)
    shapes = {}
    for name, array in zip(program._images, arrays):
        mine = tuple(np.shape(array))
        shapes[name] = (*shape, *mine[n:]) if len(mine) >= n and name not in _masks(program) else mine
    extents = {tuple(np.shape(a)[:n]) for name, a in zip(program._images, arrays) if name not in _masks(program)}
    if len(offset) != n or len(extents) != 1 or len(next(iter(extents))) != n:
        raise _errors.ArgumentError(
            f"parts, their offset and the shape of the whole need the same {n} dimensions, and the parts one shape"
        )
    part = next(iter(extents))
    for d, (begin, size, whole) in enumerate(zip(offset, part, shape)):
        if begin < 0 or begin + size > whole:
            raise _errors.ArgumentError(
                f"a part of {size} at {begin} does not lie in dimension {d} of the whole, of {whole}"
            )
    parts, cannot = _parts_of(program, shapes, numbers)
    if cannot:
        raise _errors.UnsupportedError(f"parts cannot be computed apart: points depend on far points {cannot}")
    results = [
        _decided(program, parts[i], dict(zip(program._images, arrays)), numbers, offset, part, shape)
        for i in range(len(program.outputs))
    ]
    return results[0] if len(results) == 1 else tuple(results)


_last = weakref.WeakKeyDictionary()  # of each program: (what it was asked, the answer)


def _parts_of(program, shapes, numbers):
    """(passes of the results, why there can be none), which the next part needs again."""
    asked = tuple(shapes.items()), tuple(numbers.items())
    known = _last.get(program)
    if known is None or known[0] != asked:
        parts = Parts(program, shapes, numbers)
        cannot = "of the images (numbers of whole images)" if parts.reductions else ""
        if kept_whole(program):
            cannot = f"({kept_whole(program)})"
        works = [] if cannot else [parts.of_output(i) for i in range(len(program.outputs))]
        known = _last[program] = asked, (works, cannot)
    return known[1]


def _masks(program):
    return {i.name for i in program.inputs if i.kind == "mask"}


def _decided(program, work, arrays, numbers, offset, part, shape):
    extent = work.extent()
    keep = []
    for d, (begin, size, whole) in enumerate(zip(offset, part, shape)):
        inside = begin > 0, begin + size < whole
        if any(inside) and (not work.cuts(d) or work.periodic[d]):
            raise _errors.UnsupportedError(
                f"parts cannot be computed apart: a point depends on far points of the images (dimension {d})"
            )
        if begin % work.align[d]:
            raise _errors.ArgumentError(
                f"a part begins at {begin} in dimension {d}, but results are computed in steps of {work.align[d]}"
            )
        step, margin = (work.steps[work.target.name][d], work.margin[d]) if any(inside) else (1, 0)
        first = -((-begin - margin) // step) if inside[0] else 0
        last = (begin + size - 1 - margin) // step + 1 if inside[1] else extent[d] if d < len(extent) else 0
        if last <= first:
            raise _errors.ArgumentError(
                f"a part of {size} points decides none in dimension {d}: each depends on {math.ceil(margin)} before "
                f"and behind it"
            )
        here = int(begin / step) if any(inside) else 0
        keep.append(slice(int(first) - here, int(last) - here) if any(inside) else slice(None))
    inputs = [arrays[_bare(name)] for name in work.images]
    if not work.given and len(program.outputs) == 1:
        return program._run(tuple(arrays.values()), None, None, numbers, False)[tuple(keep)]
    made = program_of(work.text, options_of(program))
    return made._run(tuple(inputs), None, None, work.numbers(list(offset), numbers), False)[tuple(keep)]


# ---- Numbers of whole images, in the order that docs/internals/reductions.md fixes
# --------------------------------------------------------------------------------------------------
LANES = 16


def _kind(reduction, dtype):
    """(type of the sums, value they start from, how a value joins them)."""
    dtype = np.dtype(dtype)
    if reduction in ("min", "max"):
        less = np.less if reduction == "min" else np.greater
        if dtype == np.bool_:
            start = reduction == "min"
        elif dtype.kind == "f":
            start = np.inf if reduction == "min" else -np.inf
        else:
            start = np.iinfo(dtype).max if reduction == "min" else np.iinfo(dtype).min
        return dtype, start, lambda value, sum: np.where(less(value, sum), value, sum)
    real = dtype.kind == "f" and reduction != "count"
    return np.dtype(np.float64 if real else np.int64), 0, lambda value, sum: sum + value


def rows(values, reduction):
    """The results of the rows of an image, or of some of its rows."""
    kind, start, join = _kind(reduction, values.dtype)
    values = (values != 0) if reduction == "count" else values
    n = values.shape[-1]
    sums = np.full((*values.shape[:-1], LANES), start, kind)
    with np.errstate(all="ignore"):
        for x in range(0, n, LANES):
            some = values[..., x:x + LANES].astype(kind)
            sums[..., :some.shape[-1]] = join(some, sums[..., :some.shape[-1]])
        half = LANES // 2
        while half:
            sums = join(sums[..., half:2 * half], sums[..., :half])
            half //= 2
    return sums[..., 0]


def total(rows, reduction, dtype, made, points):
    """The number that the results of all rows, in their order, are."""
    kind, start, join = _kind(reduction, dtype)
    sum = np.asarray(start, kind)
    with np.errstate(all="ignore"):
        for row in rows.reshape(-1):
            sum = join(row, sum)
        if reduction == "mean":
            sum = np.float64(sum) / points
        return np.asarray(sum).astype(made).item()


def histogram(values, n):
    with np.errstate(all="ignore"):
        place = np.floor(values.astype(np.float64))
    inside = (place >= 0) & (place < n)
    return np.bincount(place[inside].astype(np.int64), minlength=n).astype(np.uint32)
