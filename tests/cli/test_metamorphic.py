"""Properties that hold whatever the implementation: a correlation's answer to an impulse is the mask turned round,
filters of constants are linear, and under `wrap` they commute with rolling the image. Values are small dyadic numbers,
so that equality is exact."""
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import tool

H, W = 9, 11
MASK = [[1, 2, -1], [0, 4, 0.5], [-2, 3, 1]]
ROWS = ", ".join(str(c) for row in MASK for c in row)
PROGRAM = f"""mask m[3,3] = {{ {ROWS} }};
stencil f(vector#2 float X) {{ return convolve(X, m); }}
parameter M, N;
vector#2 float a[M, N];
return f(a:BORDER);
"""
rng = random.Random(20261120)


def apply(folder, image, border, target):
    (folder / "f.tess").write_text(PROGRAM.replace("BORDER", border))
    tool.write_npy(folder / "a.npy", (H, W), "<f4", image)
    code, _, errors = tool.run("run", folder / "f.tess", folder / "a.npy", "-o", folder / "b.npy", f"--target={target}")
    tool.check(f"{border} on {target} runs", code == 0, errors)
    return tool.read_npy(folder / "b.npy")[2]


def rolled(image, dy, dx):
    return [image[(y - dy) % H * W + (x - dx) % W] for y in range(H) for x in range(W)]


with tool.workspace() as place:
    folder = pathlib.Path(place)
    for target in ("interp", "loops", "c"):
        impulse = [0.0] * (H * W)
        impulse[4 * W + 5] = 1.0
        answer = apply(folder, impulse, "constant", target)
        wanted = [0.0] * (H * W)
        for i in range(3):
            for j in range(3):
                wanted[(4 - (i - 1)) * W + 5 - (j - 1)] = float(MASK[i][j])
        tool.check(f"impulse on {target}", answer == wanted, f"{answer}")
        for border in ("clamp", "mirror", "reflect", "wrap", "constant"):
            a = [rng.randrange(64) / 4 for _ in range(H * W)]
            b = [rng.randrange(64) / 4 for _ in range(H * W)]
            fa, fb = apply(folder, a, border, target), apply(folder, b, border, target)
            both = apply(folder, [2 * x + y for x, y in zip(a, b)], border, target)
            tool.check(f"linear under {border} on {target}", both == [2 * x + y for x, y in zip(fa, fb)])
        a = [rng.randrange(64) / 4 for _ in range(H * W)]
        for dy, dx in ((1, 0), (0, 1), (4, 7), (-3, 2)):
            tool.check(
                f"rolled by {dy}, {dx} on {target}",
                apply(folder, rolled(a, dy, dx), "wrap", target) == rolled(apply(folder, a, "wrap", target), dy, dx),
            )
tool.finish()
