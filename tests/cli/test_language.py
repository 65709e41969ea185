"""What the tool says about programs of people who come from other languages, about values given to a program, and about
sizes that a run finds to differ; files that are used by their whole name."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import tool

HEAD = "parameter M, N;\nvector#2 uint8 photo[M, N];\n"


def first_lines(text):
    return [line for line in text.splitlines() if "error[" in line or line.startswith(("tessera:", "  help:"))]


def check_foreign(folder):
    cases = {
        "# a comment\n" + HEAD + "return photo;": ["1:1: error[E0121]: '#'", "//"],
        "#include <math.h>\n" + HEAD + "return photo;": ["1:1: error[E0121]: '#include'", "use"],
        "import numpy as np\n" + HEAD + "return photo;": ["1:1: error[E0121]: 'import'", "use"],
        "def f(x):\n    y = x\n    return y\n" + HEAD + "return photo;": ["1:1: error[E0121]: 'def'", "stencil"],
        HEAD + "x = photo ** 2;\nreturn photo;": ["3:11: error[E0121]: '**'", "x^2"],
        HEAD + "x = photo > 1 and photo < 9;\nreturn x;": ["3:15: error[E0121]: 'and'", "&&"],
        HEAD + "x = photo > 1 or photo < 9;\nreturn x;": ["3:15: error[E0121]: 'or'", "||"],
        HEAD + "x = not photo;\nreturn x;": ["3:5: error[E0121]: 'not'", "!"],
        HEAD + "print(photo);\nreturn photo;": ["3:1: error[E0121]: 'print'", "return"],
        HEAD + "while (M > 2) { M = M / 2; }\nreturn photo;": ["3:1: error[E0121]: 'while'", "for"],
        HEAD + "if (M > 2) {\n  x = 1;\n}\nreturn photo;": ["3:1: error[E0121]: 'if'", "? a : b"],
        HEAD + "var a, b;\nreturn photo;": ["3:1: error[E0121]: 'var'", "a = value"],
        HEAD + "return photo; # a comment": ["3:15: error[E0121]: '#'", "//"],
        HEAD + "return photo <> 1;": ["3:14: error[E0121]: '<>'", "!="],
        HEAD + "return photo .* photo;": ["3:14: error[E0121]: '.*'", "a * b"],
        HEAD + "return photo |> f(2);": ["3:14: error[E0121]: '|>'", "f(a)"],
        HEAD + "return np.sqrt(photo);": ["3:11: error[E0121]: '.sqrt(..)'", "sqrt(..)"],
        HEAD + "for (int i = 0; i < 3; i++) { x = photo; }\nreturn photo;":
            ["3:1: error[E0121]: 'for (..)'", "endfor"],
        HEAD + "for i = 1..3 { x = photo; }\nreturn photo;": ["3:14: error[E0121]: '{'", "endfor"],
        HEAD + "for i in range(3):\n    x = photo\nreturn photo;": ["3:1: error[E0121]: 'for .. in'", "endfor"],
        HEAD + "x = photo;\nx += 1;\nreturn photo;": ["4:3: error[E0121]: '+='", "x + .."],
        "stencil f(vector#2 float X) { var a = 2; return a * X; }\n" + HEAD + "return f(photo);":
            ["1:31: error[E0121]: 'var'", "a = value"],
    }
    for text, (error, advice) in cases.items():
        path = folder / "foreign.tess"
        path.write_text(text)
        code, _, said = tool.run("check", path)
        lines = first_lines(said)
        good = code == 1 and len(lines) == 2 and error in lines[0] and advice in lines[1]
        tool.check(f"foreign {text!r}", good, said)
    calls = {
        "clip(photo, 0, 1)": "clamp(x, lo, hi)", "where(photo > 1, photo, 0)": "? a : b", "median(photo)": "median(i ",
        "any(photo > 1)": "count(a) > 0", "blur(photo)": "gaussian(X, 2)", "conv2(photo, photo)": "convolve(X, m)",
        "zeros(3, 3)": "vector#2", "imread(photo)": "command line", "max(photo)": "maximum(a)",
    }
    for call, advice in calls.items():
        (folder / "call.tess").write_text(HEAD + f"return {call};")
        code, _, said = tool.run("check", folder / "call.tess")
        lines = first_lines(said)
        tool.check(f"foreign {call}", code == 1 and len(lines) == 2 and advice in lines[1], said)
    (folder / "size.tess").write_text("vector#3 float scan;\ny = index(0);\nreturn scan, y;")
    code, _, said = tool.run("check", folder / "size.tess")
    declared = "vector#3 float name[size(scan, 0), size(scan, 1), size(scan, 2)] = ..;"
    tool.check("the size to declare", declared in said, said)
    names = "print = photo; and = print + 1; def = and; if = def@[0, 1]; not = if > 2;\nreturn not;"
    (folder / "names.tess").write_text(HEAD + names)
    code, _, said = tool.run("check", folder / "names.tess")
    tool.check("foreign words are names", code == 0 and not said, said)


def check_advice(folder):
    """What may have been meant."""
    box = "stencil box(vector#2 float X) { return sum(i = -1..1, j = -1..1 : X[i, j]); }\n"
    cases = {
        HEAD + "return gaussian(photo, 2.0);": ("E0203", "write 'use \"filters\";' at the top"),
        "stencil f(vector#2 float X) { return clahe(X); }\n" + HEAD + "return f(photo);":
            ("E0203", "write 'use \"filters\";' at the top"),
        "use filters;\n" + HEAD + "return photo;": ("E0101", "write 'use \"filters\";'"),
        HEAD + "return photo[:, 1:];": ("E0101", "A[.., 1..9]"),
        HEAD + "return photo[1:3, ..];": ("E0101", "A[.., 1..9]"),
        HEAD + "x = photo // 2;\nreturn x;": ("E0101", "// begins a comment"),
        HEAD + "return mean(photo, axis=0);": ("E0101", "sum(A, 0)"),
        HEAD + "return photo.shape;": ("E0307", "size(X, 0)"),
        HEAD + "return photo == None;": ("E0201", "valid"),
        HEAD + "x := photo;\nreturn x;": ("E0101", "by ="),
        HEAD + "x = photo;\nx = x + 1;\nreturn x;": ("E0202", "take another one"),
        HEAD + "float x = photo;\nreturn x;": ("E0318", "cast<float>(..)"),
        HEAD + "return photo[-1, 0] + photo[1, 0];": ("E0430", "A@[..]"),
        HEAD + "return photo[=-1, ..];": ("E0430", "size(A, 0) - 1"),
        "vector<float> x;\n" + HEAD + "return photo;": ("E0101", "vector#2 float"),
        "stencil f(float X) { return X; }\n" + HEAD + "return f(photo);": ("E0302", "'vector#2 float X'"),
        "stencil f(vector#2 float X) { for i = 0..1 y = X; endfor return X; }\n" + HEAD + "return f(photo);":
            ("E0422", "a window"),
        box + HEAD + "return box(photo);": ("E0404", "'X@[..]' from the point"),
    }
    for text, (error, advice) in cases.items():
        (folder / "advice.tess").write_text(text)
        code, _, said = tool.run("check", folder / "advice.tess")
        lines = first_lines(said)
        tool.check(f"advice {text!r}", code == 1 and error in lines[0] and advice in lines[1], said)


def check_counts(folder):
    """Numbers of turns that come with the run: one text for all of them; others are constants of the program."""
    loop = "t<0> = photo;\nfor i = 1..n\n    t<i> = BODY;\nendfor\nreturn t<n>;"
    head = "parameter M, N;\nvector#2 float photo[M, N];\n"
    for declared, body, texts in (
        ("parameter n;\n", "0.5 * t<i-1> + 1", 1),
        ("int n = 3;\n", "0.5 * t<i-1> + 1", 1),
        ("parameter n;\n", "0.5 * t<i-1> + i", 3),
    ):
        (folder / "counts.tess").write_text(declared + head + loop.replace("BODY", body))
        said = [tool.run("explain", folder / "counts.tess", f"n={n}", "--dump=graph") for n in (1, 9, 200)]
        wrong = [err for code, _, err in said if code]
        tool.check(f"{declared.strip()} {body}", not wrong and len({out for _, out, _ in said}) == texts, wrong)


def check_values(folder):
    (folder / "values.tess").write_text(
        HEAD + "const float k = 0.5 in 0..1;\nconst int n = 3;\nconst uint8 b = 1;\nreturn photo * k * n * b;")
    for given, sentence in {
        "k=3": "error[E0320]: the value given for 'k' is 3, outside of its range 0..1",
        "n=2.5":
            "error[E0321]: the value given for 'n' is 2.5, and it takes whole numbers from -2147483648 to 2147483647",
        "b=-1": "error[E0321]: the value given for 'b' is -1, and it takes whole numbers from 0 to 255",
        "M=4.5": "error[E0321]: the value given for 'M' is 4.5, and it takes whole numbers",
    }.items():
        code, _, said = tool.run("explain", folder / "values.tess", given)
        tool.check(f"value {given}", code == 1 and said.strip() == sentence, said)
    (folder / "reach.tess").write_text(
        HEAD + "stencil s(vector#2 float X, const int R) { return mean(i = -R..R : X@[0, i]); }\n"
        "const int R = 2;\nfloat by = 1;\nreturn by * s(photo, R);")
    sentence = "tessera: with its own values the program is right, and not with"
    code, _, said = tool.run("check", folder / "reach.tess", "R=-1", "by=3")
    tool.check("a value that makes no program", code == 1 and said.endswith(f"{sentence} R=-1 by=3\n"), said)
    (folder / "not.tess").write_text(HEAD + "return not (photo > 1);")
    code, _, said = tool.run("check", folder / "not.tess", "M=3")
    tool.check("a mistake that no value makes", code == 1 and sentence not in said, said)
    tool.check("not (..) of other languages", "help: it is written !x" in said, said)


def check_sizes(folder):
    tool.write_npy(folder / "a.npy", (3, 4), "<f4", range(12))
    tool.write_npy(folder / "b.npy", (2, 4), "<f4", range(8))
    head = "parameter M, N, K;\nvector#2 float a[M, N], b[K, N];\n"
    run = lambda text, b: ((folder / "sizes.tess").write_text(head + text), tool.run(
        "run", folder / "sizes.tess", folder / "a.npy", folder / b, "-o", folder / "out.npy", "--target=interp"))[1]
    code, _, said = run("return a - b;", "b.npy")
    sentence = "sizes.tess:3:8: the operands 'a' and 'b' have 3 and 2 points in dimension 0"
    tool.check("sizes differ", code == 1 and sentence in said, said)
    tool.check("nothing is written", not (folder / "out.npy").exists())
    code, _, said = run("return total(a, b, 4);", "b.npy")
    tool.check("keys of another size", code == 1 and sentence in said, said)
    code, _, said = run("return a - b;", "a.npy")
    tool.check("equal sizes", code == 0, said)
    code, _, said = run("return a[0..1, ..] - b;", "b.npy")
    tool.check("cut on purpose", code == 0 and tool.read_npy(folder / "out.npy")[0] == (2, 4), said)


def check_use(folder):
    (folder / "mine.tess").write_text("stencil twice(vector#2 any X) { return 2 * X; }")
    for name in "mine", "mine.tess":
        (folder / "use.tess").write_text(f'use "{name}";\nuse "mine";\n' + HEAD + "return twice(photo);")
        code, _, said = tool.run("check", folder / "use.tess")
        tool.check(f"use {name}", code == 0 and not said, said)
    (folder / "use.tess").write_text('use ".tess";\n' + HEAD + "return photo;")
    code, _, said = tool.run("check", folder / "use.tess")
    tool.check("use of no name", code == 1 and "E0113" in said, said)


with tool.workspace() as name:
    folder = pathlib.Path(name)
    check_advice(folder)
    check_foreign(folder)
    check_counts(folder)
    check_values(folder)
    check_sizes(folder)
    check_use(folder)
tool.finish()
