"""The limits that docs/language.md states: for each row of its table a program at the limit is accepted, and one beyond
it is refused with a sentence that names the number. The numbers are read from the page, so that page and compiler
agree."""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import tool

HEAD = "parameter N;\nvector#1 float X[N];\n"
ROW = re.compile(r"^\| ([^|]+?) \| (\d+) \|$", re.M)


def stencil(expression, before="", head=HEAD):
    return f"{before}stencil f(vector#1 float A) {{ return {expression}; }}\n{head}return f(X);\n"


def nested_windows(n):
    text = "A"
    for k in range(n):
        text = f"sum(i{k} = 0..0 : {text})"
    return stencil(text)


def doubled(n):
    """mix uses its first argument twice: k of them, one in the other, are about 6 * 2^k operations."""
    text, weight = "A", 6
    while 2 * weight <= n:
        text, weight = f"mix({text}, 1.0, s)", 2 * weight
    return f"stencil f(vector#1 float A, float s) {{ return {text}; }}\n{HEAD}return f(X, 2.0);\n"


def functions(n):
    text = "vector f0(vector#1 float A) { return A + 1; }\n"
    for k in range(1, n):
        text += f"vector f{k}(vector#1 float A) {{ return f{k - 1}(A); }}\n"
    return f"{text}{HEAD}return f{n - 1}(X);\n"


def loops(n, statement):
    """Loops of 1000 turns and one of the rest; what they make is never needed."""
    text, k = HEAD + "".join(f"t{i}<0> = X;\n" for i in range(n // 1000 + 1)), 0
    while n > 0:
        text += f"for i = 1..{min(n, 1000)}\nt{k}<i> = {statement};\nendfor\n"
        n, k = n - 1000, k + 1
    return text + "return X;\n"


def calls(n):
    """Each turn of the loop of 100 calls 100 of them, through one call."""
    inner = "vector g(vector#1 float A) {\n" + "".join(f"a{i} = h(A);\n" for i in range(99)) + "return A;\n}\n"
    head = "vector h(vector#1 float A) { return A; }\n" + inner
    whole, rest = divmod(n, 100)
    text = head + HEAD + f"for i = 1..{whole}\nt<i> = g(X);\nendfor\n"
    return text + "".join(f"b{i} = h(X);\n" for i in range(rest)) + "return X;\n"


def images(n):
    """One parameter and one input are there already; a result of its own would be one more."""
    return loops(n - 1, "X + 1")


def stages(n):
    """The input is one."""
    return HEAD + "t<0> = X;\n" + f"for i = 1..{n - 1}\nt<i> = t<i-1>@[1];\nendfor\nreturn t<{n - 1}>;\n"


def of_bytes(n):
    text = stencil("A")
    return text + "//" + "x" * (n - len(text) - 2)


# For each row: the program with n of it, and how many more are too many where that is not 1.
PROGRAMS = {
    "bytes of a file": (of_bytes, 1),
    "files that are used": (lambda n: "".join(f'use "u{i}";\n' for i in range(n)) + stencil("A"), 1),
    "characters of a name or number": (lambda n: f"struct {'s' * n} {{ float c; }}\n" + stencil("A"), 1),
    "nesting of brackets, calls and loops": (lambda n: stencil("(" * (n - 1) + "A" + ")" * (n - 1)), 1),
    "operations in one chain": (lambda n: stencil("A" + " + 1" * (n - 1)), 1),
    "operations of one expression": (doubled, 1 << 20),
    "fields of a struct": (
        lambda n: "struct s { "
        + "".join(f"float c{i}; " for i in range(n))
        + "}\nparameter N;\nvector#1 s X[N];\nreturn X;\n",
        1,
    ),
    "dimensions of an image": (lambda n: f"parameter N;\nvector#{n} float X[{', '.join('N' * n)}];\nreturn X;\n", 1),
    "distance of an offset": (lambda n: stencil(f"A@[-{n}]"), 1),
    "variables of a window": (lambda n: stencil(f"sum({', '.join(f'{v} = 0..1' for v in 'ijklmn'[:n])} : A@[i])"), 1),
    "points of a window": (lambda n: stencil(f"sum(i = 1..{n} : A@[i])"), 1),
    "windows inside windows": (nested_windows, 1),
    "elements of a mask": (lambda n: stencil("convolve(A, m)", f"mask m[i = 1..{n}] = i;\n"), 1),
    "distance between the taps of a dilated mask": (
        lambda n: stencil(f"convolve(A, m, dilation = {n})", "mask m[3] = { 1, 2, 1 };\n"), 1,
    ),
    "elements of a histogram": (lambda n: f"{HEAD}return histogram(X, {n});\n", 1),
    "functions calling each other": (functions, 1),
    "calls in a program": (calls, 1),
    "turns of one loop": (lambda n: f"{HEAD}for i = 1..{n}\nt<i> = X;\nendfor\nreturn t<1>;\n", 1),
    "turns of all loops": (lambda n: loops(n, "X"), 1),
    "images and scalars of a program": (images, 1),
    "stages of a program, one a field": (stages, 1),
    "returned images": (lambda n: HEAD + "return " + ", ".join(["X"] * n) + ";\n", 1),
}


def check_row(folder, name, limit):
    program, more = PROGRAMS[name]
    for n, right in ((limit, True), (limit + more, False)):
        (folder / "p.tess").write_text(program(n))
        code, _, err = tool.run("check", "p.tess", "-q", cwd=folder)
        said = err.strip().splitlines()[:2]
        if right:
            tool.check(f"{name}: {n}", code == 0, said)
        else:
            tool.check(
                f"{name}: {n} is too many",
                code == 1 and re.search(rf"\b{limit}\b", err) and err.count(": error[") == 1, said,
            )


with tool.workspace() as place:
    folder = pathlib.Path(place)
    for i in range(65):
        (folder / f"u{i}.tess").write_text("")
    page = (tool.ROOT / "docs" / "language.md").read_text()
    table = page[page.index("## 16. Limits"):page.index("## 17.")]
    rows = {name: int(number) for name, number in ROW.findall(table)}
    tool.check("every limit of the page is tried", rows.keys() == PROGRAMS.keys(), f"{rows.keys() ^ PROGRAMS.keys()}")
    for name, limit in rows.items():
        check_row(folder, name, limit)
tool.finish()
