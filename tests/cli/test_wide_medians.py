"""Medians of wide windows in strips, by counting, by histograms and by networks, on CPUs and as kernels: compiled and
interpreted loops give what the interpreter of graphs sorts, for any border rule, size, window, strip and type. Small
ones are networks of their stages, whose plans for GPUs are looked at here."""
import math
import pathlib
import random
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import tool

RULES = [
    "clamp", "mirror", "reflect", "wrap", "constant(7)", "none", "[clamp, wrap]", "[constant(2), mirror]",
    "[wrap, constant(100)]",
]
WINDOWS = [
    (-3, 4, -3, 4), (-4, 4, -4, 4), (0, 0, -30, 30), (-30, 30, 0, 0), (-9, 2, 1, 9), (3, 12, -8, -1), (-8, 8, -7, 7),
]
TYPES = ["uint8", "int8", "uint16", "int16", "int32", "uint32", "float", "double", "float16"]
CASES, TURNS = 45, 3 # a third of them in each commit, with all rules and types
MACHINE = ["--machine=machines/generic-avx2.machine"]
GPU = ["--machine=machines/h200.machine"]


def program(rng, number):
    low_i, high_i, low_j, high_j = WINDOWS[number % len(WINDOWS)]
    rule, element = RULES[number % len(RULES)], TYPES[number // 2 % len(TYPES)]
    image = "range(X)" if number % 5 == 0 else "X"
    height, width = rng.choice([1, 2, 17, 40]), rng.choice([1, 5, 31, 64])
    if rule == "none":
        height, width = height + high_i - low_i + 2, width + high_j - low_j + 2
    median = f"median(i = {low_i}..{high_i}, j = {low_j}..{high_j} : X@[i, j])"
    if number % 3 == 0:
        median = f"cast<{element}>(X@[0, 1] / 2 + {median} / 2)"
    return (
        f"stencil range(vector#2 {element} X) {{ return cast<{element}>(cast<int>(X) % 5 - 1); }}\n"
        f"stencil f(vector#2 {element} X) {{ return {median}; }}\n"
        f"parameter M, N;\nvector#2 {element} X[M, N];\nY = {image};\nreturn f(Y:{rule});\n"
    ), f"random:{number}:{height}x{width}"


def same(folder, want, *words):
    """Whether a run gives the bytes `want`; None: those of the interpreter of graphs, which sorts slowly. With what was
    said, and the bytes for the next one."""
    out = folder / "out.npy"
    code, _, errors = tool.run("run", *words, "-o", out, *([] if want else ["--verify"]))
    got = out.read_bytes() if code == 0 else want
    return code == 0 and want in (None, got), errors, got


def check_case(folder, number):
    rng = random.Random(number)
    source, plan = folder / "median.tess", folder / "median.plan"
    text, image = program(rng, number)
    source.write_text(text)
    code, chosen, errors = tool.run("explain", source, image, *MACHINE)
    strips = re.compile(r"(histogram|count) \d+ \d+")
    tool.check(f"case {number}: the plan has strips", code == 0 and bool(strips.search(chosen)), text + chosen + errors)
    kinds = ["histogram", "count"] if "by histograms" in chosen else ["count"]
    size = f"{rng.choice(kinds)} {rng.choice([1, 3, 16, 64])} {rng.choice([1, 7, 32, 100])}"
    plan.write_text(strips.sub(size, chosen))
    want = None
    for target in ("c", "loops") if number % 4 == 0 else ("loops",):
        good, errors, want = same(folder, want, source, image, *MACHINE, f"--plan={plan}", f"--target={target}")
        tool.check(f"case {number}, {target}, {size}", good, text + image + errors)


def kernel_lines(rng, kind):
    """The levels of a plan that say how a kernel goes about a median, and the line with its strips."""
    line = rng.choice([1, 7, 32, 64, 100])
    if kind == "histogram":
        rows = rng.choice([1, 5, 16, 64])
        grid = f"y {rng.randint(1, rows)}..{rows} grid {rng.randint(1, 30)} blocks" if rng.random() < 0.5 else "y grid"
        return f"    {grid}\n    x grid\n    x {line} thread\n", f"histogram {rows} {line}"
    high, outputs = rng.choice([1, 2, 4]), 2 * rng.randint(1, 3) if kind == "pairs" else rng.choice([1, 2, 3, 4])
    levels = f"    y grid\n    x grid\n    y {high} thread\n    x {line} thread\n    y {outputs} unroll\n"
    before, after = "packed\n    " if kind == "pairs" else "", "" if kind == "count" else "\n    network"
    return levels, f"{before}count {high * outputs} {line}{after}"


def check_kernel(folder, number, with_device):
    rng = random.Random(1000 + number)
    source, plan = folder / "kernel.tess", folder / "kernel.plan"
    text, image = program(rng, number)
    source.write_text(text)
    code, chosen, errors = tool.run("explain", source, image, *GPU)
    strips = re.compile(r"(histogram|count) \d+ \d+")
    tool.check(
        f"kernel {number}: the plan has strips", code == 0 and bool(strips.search(chosen)), text + chosen + errors
    )
    kinds = ["histogram", "count"] if "by histograms" in chosen else ["count"]
    if "by a network of" in chosen:
        kinds += ["network"] + ["pairs"] * any(f"vector#2 {small} X" in text for small in TYPES[:4])
    levels, line = kernel_lines(rng, rng.choice(kinds))
    group = (r"    y [^\n]*grid[^\n]*\n(?:    [xy] [^\n]*\n)+((?:    stage [^\n]*\n(?:        [^\n]*\n)*)+)"
             r"(?:    packed\n)?    (?:histogram|count) [^\n]*(?:\n    network)?")
    wanted = re.sub(group, rf"{levels}\1    {line}", chosen)
    right = None
    for which, plan_text in ("drawn", wanted), ("chosen", chosen):
        plan.write_text(plan_text)
        for target in ("loops", "opencl") if with_device and number % 5 == 0 else ("loops",):
            good, errors, right = same(folder, right, source, image, *GPU, f"--plan={plan}", f"--target={target}")
            fits = which == "chosen" or "have to fit" not in errors
            tool.check(f"kernel {number}, {target}, {which}", good or not fits, text + image + plan_text + errors)


def check_refused_kernels(folder):
    source, plan = folder / "refused.tess", folder / "refused.plan"
    source.write_text("stencil f(vector#2 uint8 X) { return median(i = -5..5, j = -5..5 : X@[i, j]); }\n"
                      "parameter M, N;\nvector#2 uint8 X[M, N];\nout = f(X);\nreturn out;\n")
    _, chosen, _ = tool.run("explain", source, *GPU)
    wrong = [
        ("x 128 thread", "x 64 thread", "a column for each thread"),
        ("x 128 thread", "x 128 thread\n    x lanes", "have loops of their own"),
        ("split none", "split interior", "not split"),
        ("histogram 128", "count 128", "a row for each output"),
        ("y 8..128 grid", "y 8..127 grid", "at most the rows"),
        ("x 128 thread", "x 128 thread\n    y step ahead", "have loops of their own"),
    ]
    wide = chosen.replace("x 128 thread", "x 512 thread").replace("histogram 128 128", "histogram 128 512")
    wrong.append((chosen, wide, "have to fit"))
    for old, new, sentence in wrong:
        plan.write_text(chosen.replace(old, new))
        code, _, errors = tool.run("explain", source, *GPU, f"--plan={plan}")
        tool.check(f"{new} on a GPU", code == 1 and sentence in errors, errors)
    counted = re.sub(r"y 8\.\.128[^\n]*", "y grid", chosen).replace("x 128", "x 32")
    counted = counted.replace("histogram 128 128", "count 3 32").replace("x 32 thread", "x 32 thread\n    y 3 unroll")
    for old, new, wider, sentence in [
        ("    count", "    packed\n    count", 0, "only register tiles and networks"),
        ("32\n    split", "32\n    network\n    split", 1, "at most 128 words"),
        ("count 3 32\n", "packed\n    count 3 32\n    network\n", 0, "threads of 2 rows"),
        ("count", "histogram", 0, "a column for each thread"),
    ]:
        text = source.read_text()
        source.write_text(text.replace("-5..5, j", "-6..6, j") if wider else text)
        plan.write_text(counted.replace(old, new))
        code, _, errors = tool.run("explain", source, *GPU, f"--plan={plan}")
        tool.check(f"{new} on a GPU", code == 1 and sentence in errors, errors + counted.replace(old, new))
        source.write_text(text)
    plan.write_text(chosen)
    source.write_text(source.read_text().replace("uint8", "uint16"))
    code, _, errors = tool.run("explain", source, *GPU, f"--plan={plan}")
    tool.check("16 bits have no histograms on a GPU", code == 1 and "integers of 8 bits" in errors, errors)
    body = "median(i = -200..60, j = -60..60 : X@[i, j])"
    source.write_text(f"stencil f(vector#2 float X) {{ return {body}; }}\n"
                      "parameter M, N;\nvector#2 float X[M, N];\nout = f(X);\nreturn out;\n")
    code, chosen, errors = tool.run("explain", source, *GPU)
    points = "    y 8 thread\n    x 32 thread\n    stage" in chosen
    tool.check(f"{body} is sorted", code == 0 and "shared memory does not hold" in chosen and points, chosen + errors)


def check_networks(folder):
    """Networks of small integers are computed two in a word where that is an instruction, in tiles whose rows share
    what they sort."""
    source, machine = folder / "network.tess", folder / "plain.machine"
    machine.write_text(
        (tool.ROOT / "machines/h200.machine").read_text().replace("pair_choices = 1", "pair_choices = 0")
    )
    for element, pairs in ("uint8", True), ("int16", True), ("int32", False), ("float", False):
        source.write_text(f"stencil f(vector#2 {element} X) {{ return median(i = -2..2, j = -2..2 : X@[i, j]); }}\n"
                          f"parameter M, N;\nvector#2 {element} X[M, N];\nout = f(X);\nreturn out;\n")
        for which, packed in (GPU, pairs), ([f"--machine={machine}"], False):
            code, chosen, errors = tool.run("explain", source, *which)
            rows = re.search(r"y (\d+) unroll", chosen)
            tool.check(
                f"{element}, {which}: packed is {packed}", code == 0 and ("    packed\n" in chosen) == packed,
                chosen + errors,
            )
            tool.check(f"{element}, {which}: rows share", rows and int(rows[1]) >= 4, chosen)
    source.write_text("stencil f(vector#2 uint8 X) { return median(i = -3..3, j = -3..3 : X@[i, j]); }\n"
                      "parameter M, N;\nvector#2 uint8 X[M, N];\nreturn f(X);\n")
    code, chosen, errors = tool.run("explain", source, *GPU)
    operations = int(re.search(r"network of (\d+) minima", chosen)[1])
    points = math.prod(int(n) for n in re.findall(r"[xy] (\d+) unroll", chosen))
    code, text, errors = tool.run("explain", source, *GPU, "--dump=cuda")
    written = len(re.findall(r"tess_(?:min|max)_(?:halves|u8)\w*\(", text))
    tool.check("what a network sorts is taken once", code == 0 and points > 1 and written < operations * points,
               f"{written} minima and maxima for {points} points of {operations}\n{chosen}{errors}")


def check_shapes(folder, with_device):
    """Kernels write the values of small shapes out; of large ones each point goes through its own runs."""
    source = folder / "shape.tess"
    for radius, rolled in (5, False), (8, False), (9, True):
        source.write_text(
            f"stencil f(vector#2 uint16 X) {{\n"
            f"    return median(i = -{radius}..{radius}, j = -{radius}..{radius} where i * i + j * j <= {radius**2}\n"
            f"                  : X@[i, j]);\n}}\nparameter M, N;\nvector#2 uint16 X[M, N];\nreturn f(X:wrap);\n")
        code, text, errors = tool.run("explain", source, *GPU, "--dump=loops")
        loops = len(re.findall(r"for run\b", text))
        tool.check(f"a disc of radius {radius} in runs is {rolled}", code == 0 and (loops > 0) == rolled, errors)
        right = None
        for target in ("loops", "opencl") if with_device else ("loops",):
            good, errors, right = same(folder, right, source, "random:3:19x45", *GPU, f"--target={target}")
            tool.check(f"a disc of radius {radius}, {target}", good, errors)


def check_widest(folder, with_device):
    """Windows of up to 2^20 points: sorted on CPUs, counted bit by bit by threads of kernels, which have little
    memory."""
    source = folder / "widest.tess"

    def check(body, element, *options):
        source.write_text(
            f"stencil f(vector#2 {element} X) {{ return {body}; }}\nparameter M, N;\nvector#2 {element} X[M, N];\n"
            f"return f(X:mirror);\n"
        )
        code, _, errors = tool.run("run", source, "random:1:1x1", "--verify", "-o", folder / "out.npy", *options)
        tool.check(f"{body} of {element} {options}", code == 0, errors)

    check("median(i = 0..1023, j = 0..1023 : X@[i, j])", "double", *MACHINE, "--target=c")
    check("median(i = 0..512, j = 0..511 : X@[i, j])", "float", *MACHINE, "--target=loops")
    for element, columns in (
        ("uint8", 505), ("bool", 505), ("int16", 253), ("float16", 127), ("float", 127), ("int64", 64), ("double", 64),
    ):
        part = f"i = -64..65, j = {-columns // 2}..{columns // 2}"
        bodies = [
            f"median({part} : X@[i, j + 1]) + max({part} : X@[i, j])",
            f"median({part} where (i + j) % 3 == 0 : X@[i, j])", f"median({part} where i > 90 : X@[i, j])",
        ]
        for body in bodies if element == "float" else bodies[:1]:
            check(body, element, *GPU, "--target=loops")
            if with_device and element == "float":
                check(body, element, *GPU, "--target=opencl")


def check_refused(folder):
    source, plan = folder / "refused.tess", folder / "refused.plan"
    source.write_text("stencil f(vector#2 uint8 X) { return median(i = -5..5, j = -5..5 : X@[i, j]); }\n"
                      "parameter M, N;\nvector#2 uint8 X[M, N];\nout = f(X);\nreturn out;\n")
    _, chosen, _ = tool.run("explain", source, *MACHINE)
    for wrong in ("1024 1024", "0 64", "64", "64 64 64"):
        plan.write_text(re.sub(r"count \d+ \d+", f"histogram {wrong}", chosen))
        code, _, errors = tool.run("explain", source, *MACHINE, f"--plan={plan}")
        tool.check(f"histogram {wrong}", code == 1 and "error" in errors, errors)
    source.write_text(source.read_text().replace("uint8", "float"))
    plan.write_text(chosen.replace("count", "histogram"))
    code, _, errors = tool.run("explain", source, *MACHINE, f"--plan={plan}")
    tool.check("reals have none", code == 1 and "histograms are for" in errors, errors)


with tool.workspace() as place:
    folder = pathlib.Path(place)
    tool.keep_nothing()
    numbers = [n for n in range(CASES) if tool.turn(n * TURNS // CASES, TURNS)]
    for number in numbers:
        check_case(folder, number)
    check_refused(folder)
    with_device = tool.run("machine", "--target=opencl")[0] == 0
    for number in numbers:
        check_kernel(folder, number, with_device)
    check_widest(folder, with_device)
    check_refused_kernels(folder)
    check_networks(folder)
    check_shapes(folder, with_device)
tool.finish()
