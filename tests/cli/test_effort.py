"""--effort: how much code plans may make for what it gains. Less of it by quick, no less by best; the same pixels. And
what code says once: equal stages are one pass of code, channels of pixels stay together."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import tool

NIGHT = tool.ROOT / "bench" / "programs" / "night.tess"
MACHINE = f"--machine={tool.ROOT / 'machines' / 'generic-avx2.machine'}"
PROGRAM = """stencil f(vector#2 float X) { return sum(i = -1..1, j = -1..1 : (i + 2 * j) * X@[i, j]); }
parameter M, N;
vector#2 float a[M, N];
return f(f(a:mirror):clamp);
"""


def test_text():
    size = {}
    for effort in "quick", "normal", "best":
        code, out, err = tool.run("explain", NIGHT, MACHINE, f"--effort={effort}", "--dump=c")
        tool.check(f"explain --effort={effort}", code == 0, err)
        size[effort] = len(out)
    tool.check("quick makes much less code of night", 3 * size["quick"] < 2 * size["normal"], str(size))
    tool.check("best no less", size["best"] >= size["normal"], str(size))
    code, _, said = tool.run("explain", NIGHT, "--effort=some")
    tool.check("no other word", code == 2 and "--effort takes normal, quick or best" in said, said)


def test_pixels(folder):
    (folder / "f.tess").write_text(PROGRAM)
    results = []
    for effort in "quick", "normal":
        result = folder / f"{effort}.npy"
        code, _, err = tool.run(
            "run", folder / "f.tess", "random:1:45x67", f"--effort={effort}", "--target=c", "-o", result)
        tool.check(f"run --effort={effort}", code == 0, err)
        results.append(result.read_bytes() if code == 0 else None)
    tool.check("the pixels are the same", results[0] == results[1])


def test_copies():
    machine = f"--machine={tool.ROOT / 'machines' / 'generic-avx512.machine'}"
    for name, together in ("harris", "gaussian.rows"), ("night", "b.r"):
        code, plan, err = tool.run("explain", tool.ROOT / "examples" / f"{name}.tess", machine)
        tool.check(f"explain {name}", code == 0, err)
        passes = plan.count(f"with {together}\n")
        tool.check(f"{name}: {passes} stages go with {together}", passes == (2 if name == "night" else 0))
    code, out, err = tool.run("explain", tool.ROOT / "examples" / "harris.tess", machine, "--dump=c")
    called = out.count("harris_gaussian_rows(")
    tool.check("the weights of a row stand in one function", code == 0 and called >= 8, f"{called} {err}")


test_text()
test_copies()
with tool.workspace() as place:
    test_pixels(pathlib.Path(place))
tool.finish()
