"""Programs as text."""
import re

from tree import Build, Call, Compose, E, Field, Loop, Part, Place, Points, Reduce, Ref, Sample, ScalarOf, Stencil

LEVELS = {
    "||": 1, "&&": 2, "|": 3, "xor": 4, "&": 5, "==": 6, "!=": 6, "<": 7, "<=": 7, ">": 7, ">=": 7, "<<": 8, ">>": 8,
    "+": 9, "-": 9, "*": 10, "/": 10, "%": 10, "^": 12,
}
UNARY = 11


def real(value):
    text = repr(float(value))
    return text


def rule(r):
    names = [f"constant({expression(r.value)})" if n == "constant" and r.value is not None else n for n in r.names]
    return names[0] if len(names) == 1 else f"[{', '.join(names)}]"


def ref(r):
    text = r.name if r.index is None else f"{r.name}<{expression(r.index)}>"
    return text + (f":{rule(r.rule)}" if r.rule else "")


def level(e):
    if e.op == "binary":
        return LEVELS[e.of]
    if e.op == "unary" or (e.op == "literal" and e.value < 0):
        return UNARY
    return 0 if e.op == "choose" else 20


def inner(e, least):
    text = expression(e)
    return f"({text})" if level(e) < least else text


def binary(e):
    own = LEVELS[e.of]
    a, b = e.parts
    if e.of == "^":
        return f"{inner(a, own + 1)}^{inner(b, own + 1)}"
    return f"{inner(a, own)} {e.of} {inner(b, own + 1)}"


def steps(all_steps):
    if all(scale == 1 for _, scale in all_steps):
        return ", ".join(expression(offset) for offset, _ in all_steps)
    return ", ".join(f"({expression(offset)}, {scale})" for offset, scale in all_steps)


def window(e):
    variables = ", ".join(f"{v} = {low}..{high}" for v, low, high in e.variables)
    if e.info.get("mask"):
        variables = f"{', '.join(v for v, _, _ in e.variables)} in {e.mask}"
    where = f" where {expression(e.where)}" if e.where is not None else ""
    return f"{e.of}({variables}{where} : {expression(e.parts[0])})"


def image(of):
    return ref(of) if isinstance(of, Ref) else of


def convolve(e):
    mask = f"flip({e.mask})" if e.flip else e.mask
    spaced = f", dilation = {e.dilation}" if e.dilation != 1 else ""
    return f"convolve({image(e.of)}, {mask}{spaced})"


def expression(e):
    if e.op == "literal":
        value = e.value
        return (str(value).lower() if isinstance(value, (bool, int)) else real(value)) + e.suffix
    if e.op == "name":
        return e.of
    if e.op == "binary":
        return binary(e)
    if e.op == "unary":
        return f"{e.of}{inner(e.parts[0], UNARY + 1)}"
    if e.op == "choose":
        return f"{inner(e.parts[0], 1)} ? {inner(e.parts[1], 1)} : {inner(e.parts[2], 0)}"
    if e.op == "read":
        return image(e.of) if e.steps is None else f"{image(e.of)}@[{steps(e.steps)}]"
    if e.op == "at":
        return f"{image(e.of)}[{', '.join(map(expression, e.parts))}]"
    if e.op == "field":
        return f"{inner(e.parts[0], 20)}.{e.of}"
    if e.op == "pixel":
        return f"struct {e.of}({', '.join(map(expression, e.parts))})"
    if e.op == "index":
        return f"index({e.d})"
    if e.op == "size":
        return f"size({image(e.of)}, {e.d})"
    if e.op in ("cast", "sat"):
        return f"{e.op}<{e.to}>({expression(e.parts[0])})"
    if e.op == "call":
        return f"{e.of}({', '.join(map(expression, e.parts))})"
    if e.op == "window":
        return window(e)
    if e.op == "convolve":
        return convolve(e)
    if e.op == "coefficient":
        return f"{e.of}[{', '.join(map(expression, e.parts))}]"
    return f"{e.of}({image(e.image)})"  # reduce


# ---- Statements --------------------------------------------------------------------------------------------------
def bounds(first, last):
    if first is not None and last is not None and expression(first) == expression(last):
        return expression(first)
    return f"{inner(first, 9) if first is not None else ''}..{inner(last, 9) if last is not None else ''}"


def place(piece):
    if piece.steps:
        return "@[" + ", ".join(f"({expression(offset)}, {step})" for offset, step in piece.steps) + "]"
    return "[" + ", ".join(bounds(*r) for r in piece.ranges) + "]"


def statement(s):
    if isinstance(s, Loop):
        return (
            f"for {s.variable} = {s.first}..{s.last}\n"
            + "".join(f"    {statement(t)}\n" for t in s.statements)
            + "endfor"
        )
    target = ref(s.target)
    if isinstance(s, Call):
        arguments = ", ".join(
            ref(a) if isinstance(a, Ref) else expression(a) if isinstance(a, E) else a for a in s.arguments
        )
        return f"{target} = {s.function}({arguments});"
    if isinstance(s, (Points, ScalarOf)):
        return f"{target} = {expression(s.value)};"
    if isinstance(s, Part):
        return f"{target} = {ref(s.image)}[{', '.join(bounds(*r) for r in s.ranges)}];"
    if isinstance(s, Sample):
        return f"{target} = {ref(s.image)}@[{steps(s.steps)}];"
    if isinstance(s, Place):
        return f"{target}{place(s.piece)} = {piece_value(s.piece)};"
    if isinstance(s, Compose):
        return f"{target} = ( " + " ".join(f"{place(p)} = {piece_value(p)};" for p in s.pieces) + " );"
    if isinstance(s, Reduce):
        return f"{target} = {s.function}({ref(s.image)}{f', {s.bins}' if s.bins else ''});"
    if isinstance(s, Field):
        return f"{target} = {ref(s.image)}.{s.field};"
    assert isinstance(s, Build)
    return f"{target} = struct {s.struct}({', '.join(map(ref, s.images))});"


def piece_value(piece):
    return ref(piece.value) if isinstance(piece.value, Ref) else expression(piece.value)


# ---- Definitions -------------------------------------------------------------------------------------------------
def argument(a):
    if a.kind == "scalar":
        return f"{a.type} {a.name}"
    return f"{'vector' if a.kind == 'image' else 'mask'}#{a.dims} {a.type} {a.name}"


def function(f):
    arguments = ", ".join(map(argument, f.arguments))
    if isinstance(f, Stencil):
        body = [f"{l.type + ' ' if l.type else ''}{l.name} = {expression(l.value)};" for l in f.locals]
        return lines(f"stencil {f.name}({arguments})", body + [f"return {expression(f.result)};"])
    body = [line for s in f.statements for line in statement(s).split("\n")]
    return lines(f"vector {f.name}({arguments})", body + [f"return {', '.join(f.results)};"])


def lines(head, body):
    short = f"{head} {{ {' '.join(body)} }}\n"
    return short if len(short) < 100 else f"{head} {{\n" + "".join(f"    {line}\n" for line in body) + "}\n"


def mask(m):
    values = ", ".join(str(v) if isinstance(v, int) else real(v) for v in m.values)
    divided = f" / {m.divisor}" if m.divisor != 1 else ""
    return f"mask {m.name}[{', '.join(map(str, m.sizes))}] = {{ {values} }}{divided};\n"


def scalar(s):
    value = str(s.value).lower() if not isinstance(s.value, float) else real(s.value)
    return f"{'const ' if s.const else ''}{s.type} {s.name}{f' = {value}' if s.default else ''};\n"


def program(p, literal=None):
    """literal: whether sizes are numbers instead of parameters (None: as the program says)."""
    literal = p.literal_sizes if literal is None else literal
    text = f"border {p.border};\n" if p.border else ""
    for s, fields in p.structs.items():
        text += f"struct {s} {{ {' '.join(f'{t} {n};' for n, t in fields.items())} }}\n"
    text += "".join(map(mask, p.masks)) + "".join(map(function, p.functions))
    if p.parameters and not literal:
        text += f"parameter {', '.join(p.parameters)};\n"
    rest = []
    for i in p.inputs:
        kind = "vector" if i.kind == "image" else "mask"
        rest.append(f"{kind}#{len(i.sizes)} {i.type} {i.name}[{', '.join(map(expression, i.sizes))}];\n")
    rest += [scalar(s) for s in p.scalars]
    rest += [statement(s) + "\n" for s in p.statements]
    rest.append(f"return {', '.join(map(ref, p.results))};\n")
    return text + ("".join(rest) if not literal else with_numbers(p, rest))


def with_numbers(p, rest):
    """The parameters' names replaced by their values; their names are unlike any other."""
    body = "".join(rest)
    for n, value in p.parameters.items():
        body = re.sub(rf"\b{n}\b", str(value), body)
    return body
