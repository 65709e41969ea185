"""Of which type results are where constants of integers meet reals, and arithmetic that saturates, averages and takes
distances, beside the same in Python: `const int k` beside float stays float (docs/language.md)."""
import itertools
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import tool  # noqa: E402
from tool import check, run  # noqa: E402

HEAD = "parameter N;\nvector#1 %s a[N];\n"
# What a stage computes from X, for elements of each type, and the type of the result.
CONSTANTS = [
    ("X * (k / 7.0)", {"float": "<f4", "double": "<f8", "uint8": "<f4", "int16": "<f4", "int32": "<f8"}),
    ("X + k * 0.5", {"float": "<f4", "double": "<f8", "uint16": "<f4"}),
    ("exp(-k / 2.0) * X", {"float": "<f4", "double": "<f8"}),
    ("X * sqrt(k)", {"float": "<f4", "double": "<f8"}),
    ("X / k", {"float": "<f4", "double": "<f8", "int32": "<i4"}),
    ("X * k", {"float": "<f4", "uint8": "<i4", "int64": "<i8"}),
    ("k > 2 ? X / 7.0 : X", {"float": "<f4", "double": "<f8"}),
    ("X * (k * PI)", {"float": "<f4", "double": "<f8"}),
]
# Where the constant stands.
PLACES = {
    "a constant": "const int k = 3;\nstencil f(vector#1 any X) { return %s; }\n" + HEAD + "return f(a);\n",
    "a constant inside": "stencil f(vector#1 any X) { const int k = 3; return %s; }\n" + HEAD + "return f(a);\n",
    "an argument": "stencil f(vector#1 any X, const int k) { return %s; }\n" + HEAD + "return f(a, 3);\n",
}
LIMITS = {"uint8": (0, 255, "|u1"), "int8": (-128, 127, "|i1"), "uint16": (0, 65535, "<u2"),
          "int16": (-32768, 32767, "<i2")}


def type_of(folder, text, element):
    """Type and values of the result of 0, 1 and 5."""
    path = folder / "one.tess"
    path.write_text(text)
    code = {"float": "<f4", "double": "<f8", "int32": "<i4", "int64": "<i8"}.get(element) or LIMITS[element][2]
    tool.write_npy(folder / "a.npy", (3,), code, [0, 1, 5])
    status, _, err = run("run", path, folder / "a.npy", "-o", folder / "r.npy", "--target=interp")
    return tool.read_npy(folder / "r.npy")[1:] if status == 0 else (None, err)


def test_constants(folder):
    for (place, text), (expression, want) in itertools.product(PLACES.items(), CONSTANTS):
        for element, code in want.items():
            got, values = type_of(folder, text % (expression, element), element)
            check(f"{expression} of {element}, {place}", got == code, (got, values))
            if got != code:
                continue
            # The constant counts with its value: as if the number stood there.
            literal = type_of(folder, text % (expression.replace("k", "3"), element), element)
            check(f"{expression} of {element}: its value, {place}", literal[1] == values, (literal, values))


def saturated(x, low, high):
    return min(max(x, low), high)


def test_arithmetic(folder):
    """All pairs of values near the ends and in the middle."""
    for element, (low, high, code) in LIMITS.items():
        some = sorted({low, low + 1, low + 2, (low + high) // 2, (low + high) // 2 + 1, 0, 1, 2, 3, high - 1, high})
        pairs = list(itertools.product(some, some))
        for name, side in (("a", 0), ("b", 1)):
            tool.write_npy(folder / f"{name}.npy", (len(pairs),), code, [p[side] for p in pairs])
        (folder / "two.tess").write_text(
            f"parameter N;\nvector#1 {element} a[N];\nvector#1 {element} b[N];\n"
            f"return sat<{element}>(a + b), sat<{element}>(a - b), avg(a, b), absd(a, b), wrap<{element}>(a + b),\n"
            f"wrap<{element}>(a * b);\n")
        names = [folder / f"r{i}.npy" for i in range(6)]
        status, _, err = run("run", folder / "two.tess", folder / "a.npy", folder / "b.npy", "--target=interp",
                             *(w for n in names for w in ("-o", n)))
        check(f"arithmetic of {element}", status == 0, err)
        width = high - low + 1
        want = [[saturated(x + y, low, high) for x, y in pairs], [saturated(x - y, low, high) for x, y in pairs],
                [(x + y + 1) >> 1 for x, y in pairs], [min(abs(x - y), high) for x, y in pairs],
                [(x + y - low) % width + low for x, y in pairs], [(x * y - low) % width + low for x, y in pairs]]
        for n, values, what in zip(names, want, ("a + b", "a - b", "avg", "absd", "a + b wrapped", "a * b wrapped")):
            got = tool.read_npy(n)[2] if n.exists() else []
            check(f"{what} of {element}", got == values,
                  next(((p, g, w) for p, g, w in zip(pairs, got, values) if g != w), len(got)))


def main():
    with tool.workspace() as name:
        folder = pathlib.Path(name)
        test_constants(folder)
        test_arithmetic(folder)
    tool.finish()


main()
