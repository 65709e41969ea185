"""Sums over wide masks by Fourier transforms: the compiled loops and the interpreted loops give the bits of the
algorithm as the interpreter of graphs has it, which holds each sum against the one as written; for any border rule,
size, mask, type, transform and strip. What is not finite spreads no further than in sums as written."""
import array
import math
import pathlib
import random
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import tool

RULES = [
    "clamp", "mirror", "reflect", "wrap", "constant(7)", "none", "[clamp, wrap]", "[constant(2), mirror]",
    "[wrap, constant(1)]",
]
MASKS = [(3, 3), (5, 9), (12, 7), (23, 1), (1, 23), (33, 5), (8, 40), (43, 2)]
TYPES = ["float", "float", "uint8", "double", "float16", "int16"]
CASES = 24
MACHINE = ["--machine=machines/generic-avx2.machine"]
GPU = ["--machine=machines/generic-gpu.machine"]


def weights(rng, rows, cols, holes):
    return ", ".join("0" if holes and rng.random() < 0.3 else f"{rng.uniform(-1, 1):.4f}" for _ in range(rows * cols))


def program(rng, rule, kind):
    """Its text, the sizes of its inputs."""
    rows, cols = rng.choice(MASKS)
    height, width = rng.choice([1, 2, 17, 64, 130]), rng.choice([1, 5, 16, 63, 150])
    if rule == "none":
        height, width = height + rows, width + cols
    image = f"parameter M, N;\nvector#2 {rng.choice(TYPES)} X[M, N];\n"
    if kind == "later":
        text = (f"stencil f(vector#2 any X, mask#2 float m) {{ return convolve(X, m, method = fft); }}\n{image}"
                f"mask#2 float w[{rows}, {cols}];\nreturn f(X:{rule}, w);\n")
        return text, rows, [f"{height}x{width}", f"{rows}x{cols}"]
    value = "convolve(X, m, method = fft)"
    if kind == "inside":
        value = f"X@[0,0] - 0.25 * abs({value}) + X@[1,-1]"
    text = (f"mask m[{rows}, {cols}] = {{ {weights(rng, rows, cols, kind == 'holes')} }};\n"
            f"stencil f(vector#2 any X) {{ return {value}; }}\n{image}return f(X:{rule});\n")
    return text, rows, [f"{height}x{width}"]


def check_case(folder, number):
    rng = random.Random(number)
    text, rows, sizes = program(rng, RULES[number % len(RULES)], ["known", "holes", "later", "inside"][number % 4])
    source, plan = folder / "wide.tess", folder / "wide.plan"
    source.write_text(text)
    inputs = [f"random:{number}:{size}" for size in sizes]
    options = [*MACHINE, "--fp=" + rng.choice(["fast", "default"])]
    code, chosen, errors = tool.run("explain", source, *inputs, *options)
    tool.check(f"case {number}: the plan has transforms", code == 0 and "transform" in chosen, text + errors)
    n = rng.choice([n for n in (32, 64, 128, 256, 512, 1024) if n >= rows])
    strip = 16 if n >= 512 else rng.choice([16, 32, 80, 128])
    plan.write_text(re.sub(r"transform \d+ \d+", f"transform {n} {strip}", chosen))
    for target in ("c", "loops") if number % 3 == 0 else ("loops",):
        code, _, errors = tool.run(
            "run", source, *inputs, *options, f"--plan={plan}", f"--target={target}", "--verify", "-o",
            folder / "out.npy",
        )
        tool.check(f"case {number}, {target}, transform {n} {strip}", code == 0, text + errors)


def check_not_finite(folder, value, options):
    """Infinities and NaN reach no further than the mask does."""
    height, width, reach, at = 150, 40, 6, [(2, 3, math.inf), (70, 25, math.nan), (77, 38, -math.inf)]
    source, image, out = folder / "spoiled.tess", folder / "spoiled.npy", folder / "out.npy"
    source.write_text(
        f"mask m[i = -{reach}..{reach}, j = -{reach}..{reach}] = 1.0 / (3 + i * i + 2 * j * j + i * j);\n"
        f"stencil f(vector#2 float X) {{ return {value}; }}\nparameter M, N;\nvector#2 float X[M, N];\nreturn "
        f"f(X:constant(1));\n"
    )
    rng = random.Random(1)
    pixels = array.array("f", [rng.random() for _ in range(height * width)])
    for y, x, what in at:
        pixels[y * width + x] = what
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({height}, {width}), }}"
    image.write_bytes(b"\x93NUMPY\x01\x00\x76\x00" + head.ljust(117).encode() + b"\n" + pixels.tobytes())
    code, _, errors = tool.run("run", source, image, "--verify", "-o", out, *options)
    if "no OpenCL" in errors:
        return
    tool.check(f"{value}, {options}: the bits", code == 0, errors)
    results = array.array("f", out.read_bytes()[-4 * height * width:]) if code == 0 else []
    for place, result in enumerate(results):
        near = any(abs(place // width - y) <= reach and abs(place % width - x) <= reach for y, x, _ in at)
        if math.isfinite(result) == near:
            tool.check(f"{value}, {options}: the result at {divmod(place, width)}", False, str(result))
            break


def check_kernels(folder, number):
    """The same of a plan for a GPU; some of them executed through OpenCL."""
    rng = random.Random(number + 1000)
    text, rows, sizes = program(rng, RULES[number % len(RULES)], ["known", "inside", "later", "holes"][number % 4])
    source, plan = folder / "wide.tess", folder / "wide.plan"
    source.write_text(text)
    inputs = [f"random:{number}:{size}" for size in sizes]
    options = [*GPU, "--fp=" + rng.choice(["fast", "default"])]
    code, chosen, errors = tool.run("explain", source, *inputs, *options)
    has = code == 0 and re.search(r"thread\n(.*\n)*    transform ", chosen)
    tool.check(f"kernels {number}: the plan has transforms", has, text + errors)
    n = rng.choice([n for n in (32, 64, 128, 256) if n >= rows])
    strip, columns = 8 * rng.choice([k for k in (1, 2, 3, 4, 8) if k * n <= 256]), rng.choice([1, 2, 4])
    chosen = re.sub(r"transform \d+ \d+", f"transform {n} {strip}", re.sub(r" *outputs .*\n", "", chosen))
    plan.write_text(re.sub(r"(block) \d+ 1", rf"\1 {rng.choice([32, 96, 256])} 1\n    outputs {columns} 1", chosen))
    for target in ("opencl", "loops") if number % 6 == 0 else ("loops",):
        code, _, errors = tool.run(
            "run", source, *inputs, *options, f"--plan={plan}", f"--target={target}", "--verify", "-o",
            folder / "out.npy",
        )
        if target == "opencl" and "no OpenCL" in errors:
            continue
        tool.check(f"kernels {number}, {target}, transform {n} {strip}", code == 0, text + errors)


def check_choice(folder):
    source = folder / "choice.tess"
    mask = weights(random.Random(1), 31, 31, False)
    source.write_text(f"mask m[31, 31] = {{ {mask} }};\nstencil f(vector#2 float X) {{ return convolve(X, m); }}\n"
                      "parameter M, N;\nvector#2 float X[M, N];\nreturn f(X:mirror);\n")
    for fp, wanted in (("fast", True), ("default", False), ("strict", False)):
        _, plan, errors = tool.run("explain", source, *MACHINE, f"--fp={fp}")
        tool.check(f"a wide mask under {fp}", ("    transform " in plan) == wanted, plan + errors)
    _, plan, _ = tool.run("explain", source, *MACHINE, "--fp=fast")
    tool.check("its reason", "by Fourier transforms of" in plan and "off by at most" in plan, plan)
    two = folder / "two.tess"
    two.write_text(
        source.read_text().replace(
            "return convolve(X, m);", "a = convolve(X, m); b = convolve(X, flip(m)); return a * a + b * b;"
        )
    )
    _, plan, errors = tool.run("explain", two, *MACHINE, "--fp=fast")
    tool.check("two sums of a stage are two stages", plan.count("    transform ") == 2, plan + errors)
    code, _, errors = tool.run(
        "run", two, "random:3:50x60", *MACHINE, "--fp=fast", "--verify", "-o", folder / "out.npy"
    )
    tool.check("and give the pixels", code == 0, errors)
    direct = folder / "direct.tess"
    direct.write_text(source.read_text().replace("(X, m)", "(X, m, method = direct)"))
    _, plan, _ = tool.run("explain", direct, *MACHINE, "--fp=fast")
    tool.check("direct is asked for", "    transform " not in plan, plan)
    asked = folder / "asked.tess"
    asked.write_text(source.read_text().replace("(X, m)", "(X, m, method = fft)"))
    for fp, wanted in (("fast", True), ("default", False)):
        code, plan, errors = tool.run("explain", source, *GPU, f"--fp={fp}")
        tool.check(f"a wide mask in kernels under {fp}", ("\n    transform " in plan) == wanted, plan + errors)
    code, plan, errors = tool.run("explain", asked, *GPU)
    tool.check(
        "asked for in kernels", code == 0 and "\n    transform " in plan and "off by at most" in plan, plan + errors
    )
    code, graph, errors = tool.run("explain", asked, *MACHINE, "--dump=graph")
    tool.check("the request stays with the sum", "fft_fused_sum(" in graph, graph + errors)


def check_later_sizes(folder):
    """Both sizes of a mask may come with the run, which compiles for them."""
    source = folder / "later.tess"
    source.write_text("stencil f(vector#2 float X, mask#2 float m) { return convolve(X, m); }\n"
                      "parameter M, N, K, L;\nvector#2 float X[M, N];\nmask#2 float w[K, L];\nreturn f(X:mirror, w);\n")
    for size in ("5x3", "31x33", "4x4"):
        code, _, errors = tool.run(
            "run", source, "random:1:40x50", f"random:2:{size}", "--fp=fast", "--verify", "-o", folder / "out.npy"
        )
        tool.check(f"a mask of {size} comes with the run", code == 0, errors)


def check_refused(folder):
    source, plan = folder / "refused.tess", folder / "refused.plan"
    source.write_text("mask m[9, 9] = { " + weights(random.Random(2), 9, 9, False) + " };\n"
                      "stencil f(vector#2 float X) { return convolve(X, m, method = fft); }\n"
                      "parameter M, N;\nvector#2 float X[M, N];\nout = f(X:mirror);\nreturn out;\n")
    _, chosen, _ = tool.run("explain", source, *MACHINE)
    for wrong in ("48 128", "64 100", "1024 1024", "2048 16", "0 16", "64"):
        plan.write_text(re.sub(r"transform \d+ \d+", f"transform {wrong}", chosen))
        code, _, errors = tool.run("explain", source, *MACHINE, f"--plan={plan}")
        tool.check(f"transform {wrong}", code == 1 and "error" in errors, errors)
    _, kernels, _ = tool.run("explain", source, *GPU)
    for wrong in (
        "transform 64 20", "transform 256 64", "transform 64 16\n    x 3 unroll", "transform 64 16\n    y 2 unroll",
    ):
        transform, _, unroll = wrong.partition("\n")
        levels = re.sub(r"( *x \d+ thread\n)", rf"\1{unroll}\n", re.sub(r" *\w \d+ unroll\n", "", kernels))
        plan.write_text(re.sub(r"transform \d+ \d+", transform, levels))
        code, _, errors = tool.run("explain", source, *GPU, f"--plan={plan}")
        tool.check(f"kernels of {wrong}", code == 1 and "error" in errors, errors)
    plan.write_text(re.sub(r" *transform \d+ \d+\n", "", chosen))
    code, _, errors = tool.run("explain", source, *MACHINE, f"--plan={plan}")
    tool.check("a plan without what is asked for", code == 1 and "asks for 'method = fft'" in errors, errors)


with tool.workspace() as place:
    folder = pathlib.Path(place)
    tool.keep_nothing()
    for number in range(CASES):
        check_case(folder, number)
    for number in range(CASES):
        check_kernels(folder, number)
    for value in ("convolve(X, m, method = fft)", "2 * convolve(X, m, method = fft) + 1"):
        for options in (MACHINE, [*MACHINE, "--target=loops"], [*GPU, "--target=loops"], [*GPU, "--target=opencl"]):
            check_not_finite(folder, value, options)
    check_choice(folder)
    check_later_sizes(folder)
    check_refused(folder)
tool.finish()
