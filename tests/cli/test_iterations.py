"""The programs of docs/iterations.md run, by the strip machine, and give what the interpreter gives; those with a
condition say how they ended. With --pictures they make docs/images/iterations/, with more turns."""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import tool

PAGE = tool.ROOT / "docs" / "iterations.md"
PICTURES = tool.ROOT / "docs" / "images" / "iterations"
PHOTO = tool.ROOT / "examples" / "images" / "camera.png"

# What programs are given, made of a photograph: an expression of its pixels, float, and the side of the picture.
INPUTS = {
    "photo": "p", "moved": "p@[0, 1]", "plate": "p > 160 ? 255 : 0",
    "dots": "abs(index(0) % 42 - 21) < 5 && abs(index(1) % 42 - 21) < 7 ? 1 : 0",
    "load": "index(0) % 32 == 16 && index(1) % 32 == 8 ? 4 : 0", "field": "cast<uint8>((p * 7) % 5 < 2)",
}
# Heading: its picture, inputs, what is set in the test and for the picture, results, and whether it has a condition.
PROGRAMS = {
    "Heat": ("heat", ["plate"], ["steps=9"], ["steps=60", "conductivity=0.2"], 1, False),
    "Edges that stay": ("diffusion", ["photo"], ["steps=9"], ["steps=60", "k=20"], 1, False),
    "Two images that react": ("gray_scott", ["dots"], ["steps=20"], ["steps=3000"], 1, False),
    "Sharp again": ("richardson_lucy", ["photo"], ["steps=9"], ["steps=12"], 1, False),
    "Motion": ("horn_schunck", ["photo", "moved"], ["steps=9"], ["steps=80"], 2, False),
    "An equation: Jacobi": ("jacobi", ["load"], ["most=40", "eps=0.3"], [], 2, True),
    "An equation: conjugate gradients": ("conjugate", ["load"], ["most=40"], [], 2, True),
    "Life": ("life", ["field"], ["generations=11"], ["generations=60"], 1, False),
}


def programs():
    for heading, text in re.findall(r"^## (.*?)\n.*?```tess\n(.*?)```", PAGE.read_text(), re.M | re.S):
        yield heading, text


def make_input(name, side, folder):
    path = folder / f"{name}-{side}.npy"
    if path.exists():
        return path
    value, read = INPUTS[name], "X@[4 * ({}), 4 * ({})]"
    text = re.sub(r"\bp\b", "X", value)
    whole = folder / f"{name}.tess"
    kind = "" if name == "field" else "1.0 * "
    whole.write_text(
        f"stencil made(vector#2 int X) {{ return {kind}({text}); }}\nparameter M, N;\nvector#2 uint8 photo[M, N];\n"
        f"small = cast<int>(photo[0..{4 * side - 1}, 0..{4 * side - 1}]@[(0, 4), (0, 4)]);\n"
        "return made(small:clamp);\n"
    )
    code, _, errors = tool.run("run", whole, PHOTO, "-o", path, "--target=vm")
    tool.check(f"input {name}", code == 0, errors)
    return path


def run(heading, text, side, chosen, folder, *more):
    name, inputs, _, _, n, _ = PROGRAMS[heading]
    path, results = folder / f"{name}.tess", [folder / f"{name}-{k}.npy" for k in range(n)]
    path.write_text(text)
    given = [make_input(i, side, folder) for i in inputs]
    outs = [a for r in results for a in ("-o", r)]
    code, _, errors = tool.run("run", path, *given, *chosen, *outs, "--target=vm", "-v", *more)
    tool.check(name, code == 0, errors)
    return results, errors


def picture(result, name, folder):
    shown = folder / "shown.tess"
    shown.write_text(
        "parameter M, N;\nvector#2 any X[M, N];\nlo = cast<float>(minimum(X));\nhi = cast<float>(maximum(X));\n"
        "return sat<uint8>(255.0 * (X - lo) / max(hi - lo, 0.000001));\n"
    )
    code, _, errors = tool.run("run", shown, result, "-o", PICTURES / f"{name}.png", "--target=vm")
    tool.check(f"picture {name}", code == 0, errors)


def main():
    found = {}
    for heading, text in programs():
        for start in PROGRAMS:
            if heading.startswith(start):
                found[start] = text
    tool.check("headings", list(found) == list(PROGRAMS), list(found))
    with tool.workspace() as folder:
        folder = pathlib.Path(folder)
        for start, text in found.items():
            name, _, few, many, _, ends = PROGRAMS[start]
            if "--pictures" in sys.argv:
                PICTURES.mkdir(exist_ok=True)
                picture(run(start, text, 128, many, folder)[0][0], name, folder)
                continue
            _, said = run(start, text, 24, few, folder, "--verify")
            tool.check(f"{name} is right", "verified" in said, said)
            tool.check(f"{name} ends", ends == ("held" in said), said)
            tool.check(f"{name} has a picture", (PICTURES / f"{name}.png").exists())
    tool.finish()


if __name__ == "__main__":
    main()
