"""Programs as trees: what the generator makes, the printer prints, the evaluator computes and the shrinker cuts."""
import dataclasses
from dataclasses import dataclass, field
from typing import Optional


class E:
    """An expression: an operation, its parts, and what else it says. The operations:

    literal value suffix | name of (a local, a scalar, a window's variable or a parameter) | index d | size of d
    read of steps: a step is (offset, scale), the offset an expression | at of: absolute indices are the parts | field
    of: a part | pixel of unary of | binary of | choose | call of | cast to | sat to | window of variables where |
    convolve of mask dilation flip | coefficient of reduce of: a scalar out of a whole image"""
    __slots__ = ("op", "parts", "info")

    def __init__(self, op, *parts, **info):
        self.op, self.parts, self.info = op, list(parts), info

    def __getattr__(self, name):
        try:
            return self.info[name]
        except KeyError:
            raise AttributeError(name) from None

    def walk(self):
        yield self
        for part in self.parts:
            yield from part.walk()
        for more in self.also():
            yield from more.walk()

    def also(self):
        """Expressions that are no operands: offsets and conditions."""
        if self.op == "read":
            return [offset for offset, _ in self.info["steps"] or []]
        if self.op == "window" and self.info["where"] is not None:
            return [self.info["where"]]
        return []

    def __getstate__(self):
        return self.op, self.parts, self.info

    def __setstate__(self, state):
        self.op, self.parts, self.info = state


def number(value):
    return E("literal", value=value, suffix="")


def name(of):
    return E("name", of=of)


@dataclass
class Rule:
    """names: one for all dimensions, or one for each."""
    names: list
    value: Optional[E] = None  # of constant

    def kind(self):
        return self.names[0] if len(set(self.names)) == 1 else "mixed"

    def of(self, dimension):
        return self.names[dimension] if len(self.names) > 1 else self.names[0]


@dataclass
class Ref:
    """An image in a statement: a member of a family where there is an index; with the rule that was written for it, and
    a field of it."""
    name: str
    index: Optional[E] = None
    rule: Optional[Rule] = None


@dataclass
class Mask:
    name: str
    sizes: list
    values: list  # row by row, before they are divided
    divisor: int = 1


@dataclass
class Argument:
    name: str
    kind: str  # image, scalar or mask
    type: str  # a scalar type, a struct or any
    dims: int = 0


@dataclass
class Local:
    name: str
    type: str  # "" where none is written
    value: E


@dataclass
class Stencil:
    name: str
    arguments: list
    locals: list
    result: E


@dataclass
class Vector:
    name: str
    arguments: list
    statements: list
    results: list  # names


@dataclass
class Input:
    name: str
    kind: str  # image or mask
    type: str
    sizes: list  # expressions of the parameters
    seed: int = 0
    style: str = "small"


@dataclass
class Scalar:
    name: str
    type: str
    value: object
    default: bool = True
    const: bool = False


# ---- Statements; `target` is a Ref -------------------------------------------------------------------------------
@dataclass
class Call:
    """A stencil or a vector function: Refs for images, expressions for scalars, names for masks."""
    target: Ref
    function: str
    arguments: list
    rule: Optional[Rule] = None  # unused: rules stand at arguments


@dataclass
class Points:
    """Whole images point by point."""
    target: Ref
    value: E


@dataclass
class Part:
    """A[a..b, ..]: a range is (first, last), each an expression or None."""
    target: Ref
    image: Ref
    ranges: list


@dataclass
class Sample:
    target: Ref
    image: Ref
    steps: list


@dataclass
class Piece:
    """What is placed: at ranges (first, last), the first of `fixed` of them single planes, or at steps (offset, step).
    value: a Ref, or a number."""
    value: object
    ranges: list = field(default_factory=list)
    steps: list = field(default_factory=list)


@dataclass
class Place:
    target: Ref
    piece: Piece


@dataclass
class Compose:
    target: Ref
    pieces: list


@dataclass
class Reduce:
    target: Ref
    function: str
    image: Ref
    bins: int = 0


@dataclass
class ScalarOf:
    target: Ref
    value: E


@dataclass
class Field:
    target: Ref
    image: Ref
    field: str


@dataclass
class Build:
    """struct s(a, b) of images."""
    target: Ref
    struct: str
    images: list


@dataclass
class Loop:
    variable: str
    first: int
    last: int
    statements: list


@dataclass
class Program:
    border: str = ""
    structs: dict = field(default_factory=dict)  # name to {field: type}
    masks: list = field(default_factory=list)
    functions: list = field(default_factory=list)
    parameters: dict = field(default_factory=dict)
    inputs: list = field(default_factory=list)
    scalars: list = field(default_factory=list)
    statements: list = field(default_factory=list)
    results: list = field(default_factory=list)  # Refs
    literal_sizes: bool = False
    seed: int = 0

    def function(self, of):
        return next(f for f in self.functions if f.name == of)

    def mask(self, of):
        return next((m for m in self.masks if m.name == of), None)


def copy(node):
    """A deep copy."""
    if isinstance(node, E):
        return E(node.op, *(copy(p) for p in node.parts), **{key: copy(value) for key, value in node.info.items()})
    if isinstance(node, (list, tuple)):
        return type(node)(copy(item) for item in node)
    if isinstance(node, dict):
        return {key: copy(value) for key, value in node.items()}
    if dataclasses.is_dataclass(node):
        return type(node)(**{f.name: copy(getattr(node, f.name)) for f in dataclasses.fields(node)})
    return node
