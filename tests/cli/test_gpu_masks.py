"""Kernels of masks on GPUs: which the planner chooses for which mask, that code of windows written out fits the cache
of instructions, and that sweeps, whose blocks at the edges come first, give the interpreter's pixels on the first
OpenCL device, for images of less than a block and of several side by side."""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import tool

MACHINE = f"--machine={tool.ROOT / 'machines' / 'h200.machine'}"
KNOWN = """stencil filter(vector#2 float X) {{
    mask m[i = -{r}..{r}, j = -{s}..{s}] = 1.0 + 0.5 * sin(3.0 * i + i * j + 5.0 * j);
    return sum(i = -{r}..{r}, j = -{s}..{s} : m[i, j] * X@[i, j]);
}}
parameter M, N;
vector#2 float X[M, N];
return filter(X);
"""
GIVEN = """stencil filter(vector#2 float X, mask#2 float m) {{ return convolve(X, m{how}); }}
parameter M, N;
vector#2 float X[M, N];
mask#2 float m[{k}, {l}];
return filter(X:{rule}, m);
"""
CACHED = 2048  # instructions of 16 bytes in 32 KiB


def plan_of(path):
    code, text, errors = tool.run("explain", path, MACHINE, "--dump=plan")
    tool.check(f"{path.stem} is planned", code == 0, errors)
    return text


def setting(plan, name):
    found = re.search(rf"^    {name} (.*)$", plan, re.MULTILINE)
    return found.group(1) if found else ""


def unrolled(plan, dimension):
    found = re.search(rf"^    {dimension} (\d+) unroll$", plan, re.MULTILINE)
    return int(found.group(1)) if found else 1


def rolls(plan):
    """"rolling" when a thread goes down row by row, "sweep" when by several."""
    stepped = re.search(r"^    y step", plan, re.MULTILINE)
    return stepped and ("sweep" if re.search(r"^    y \d+ unroll", plan, re.MULTILINE) else "rolling")


def check_choices(folder):
    path = folder / "known.tess"
    for k, l in ((7, 7), (5, 11), (9, 9), (15, 3), (23, 3), (3, 31), (7, 11)):
        path.write_text(KNOWN.format(r=k // 2, s=l // 2))
        plan = plan_of(path)
        columns, rows = unrolled(plan, "x"), unrolled(plan, "y")
        tool.check(
            f"{k} x {l} is written out, edges apart",
            columns * rows > 1 and not rolls(plan) and setting(plan, "split") == "edges", plan,
        )
        tool.check(f"{k} x {l} fits the cache of instructions", k * l * columns * rows <= 1.15 * CACHED, plan)
        tool.check(f"{k} x {l} says how many blocks are to fit", int(setting(plan, "resident") or 0) >= 4, plan)
    for k in (11, 17, 31):
        path.write_text(KNOWN.format(r=k // 2, s=k // 2))
        tool.check(f"{k} x {k} rolls", rolls(plan_of(path)) == "rolling")
    for k, kernel in ((11, "rolling"), (31, "sweep")):
        path.write_text(GIVEN.format(k=k, l=k, how="", rule="clamp"))
        tool.check(f"{k} x {k} given with the run: {kernel}", rolls(plan_of(path)) == kernel)


def check_sweeps(folder):
    path, plan, out = folder / "given.tess", folder / "given.plan", folder / "out.npy"
    cases = (("clamp", "", 9, 7), ("mirror", "", 8, 10), ("constant(2)", ", dilation = 2", 7, 9))
    for rule, how, k, l in cases:
        path.write_text(GIVEN.format(k=k, l=l, how=how, rule=rule))
        plan.write_text(
            "plan given\ntarget gpu\ngroup output\npreset sweep\nx 32 thread\ny 3 unroll\nx 4 unroll\n"
            "stage output in memory\nsplit none\n"
        )
        for size in ("1x1", "2x130", "7x128", "11x257", "20x700"):
            code, _, errors = tool.run(
                "run", path, f"random:3:{size}", f"random:4:{k}x{l}", "--target=opencl", f"--plan={plan}", "--verify",
                "-q", "-o", out,
            )
            tool.check(f"sweep, {rule}{how}, {size}", code == 0, errors)


with tool.workspace() as place:
    check_choices(pathlib.Path(place))
    if tool.run("machine", "--target=opencl")[0] == 0:
        check_sweeps(pathlib.Path(place))
    else:
        print("skipped the pixels of sweeps: no OpenCL device here")
tool.finish()
