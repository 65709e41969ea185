"""Plans that papers have, by name: what they copy and how many loads that saves, as the lecture on convolution counts
them; the same pixels from all of them on the first OpenCL device, for every border rule, images of one pixel, windows
wider than the image and rows with padding; what does not fit is refused."""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import tool

MACHINE = tool.ROOT / "machines" / "generic-gpu.machine"
LECTURE = ["lecture-basic", "lecture-constant", "lecture-tiled", "lecture-cached"]
SCHEMES = ["unfused", "unfused-register", "overlapped"]
ISP = ["naive", "isp", "isp-warp", "isp+m"]
STAGED = ["staged-none", "staged-mask", "staged-image", "staged-both", "staged-square", "adaptive-tiling"]
PROGRAMS = {
    "line": (
        "stencil f(vector#1 {t} X, mask#1 {t} m) {{ return convolve(X, m); }}\nparameter N;\nvector#1 {t} X[N];\n"
        "mask#1 {t} m[{k}];\nreturn f(X:{rule}, m);\n"
    ),
    "plane": (
        "stencil f(vector#2 {t} X, mask#2 {t} m) {{ return convolve(X, m); }}\nparameter M, N;\nvector#2 {t} X[M, N];\n"
        "mask#2 {t} m[{k}, {k}];\nreturn f(X:{rule}, m);\n"
    ),
    "colour": (
        "struct rgb {{ {t} r; {t} g; {t} b; }}\nstencil f(vector#2 any X, mask#1 {t} m) {{ return sum(i in m : m[i] * "
        "X@[i, 0]); }}\nparameter M, N;\nvector#2 rgb X[M, N];\n"
        "mask#1 {t} m[{k}];\ny = f(X:{rule}, m);\nreturn f(y:{rule}, m);\n"
    ),
}


def program(folder, name, t="float", k=5, rule="constant(0)"):
    path = folder / f"{name}.tess"
    path.write_text(PROGRAMS[name].format(t=t, k=k, rule=rule))
    return path


def plan_of(path, preset, block=None):
    """The preset's plan as a text, perhaps with other blocks, which is then read back."""
    code, text, errors = tool.run("explain", path, f"--machine={MACHINE}", f"--plan={preset}")
    tool.check(f"{preset} of {path.stem}", code == 0, errors)
    if block:
        edited = path.parent / "edited.plan"
        threads = "".join(f"    {d} {n} thread\n" for d, n in zip("yx", reversed(block.split())))
        edited.write_text(re.sub(r"(    y \d+ thread\n)?    x \d+ thread\n", threads, text))
        code, text, errors = tool.run("explain", path, f"--machine={MACHINE}", f"--plan={edited}")
        tool.check(f"{preset} of {path.stem} read back", code == 0, errors)
    return text


def check_loads(folder):
    """The lecture's examples: a tile of 8 points under a mask of 5, one of 4; in two dimensions a tile of 8 x 8 under 5
    x 5."""
    line, plane = program(folder, "line"), program(folder, "plane")
    for path, block, shared, centre in [
        (
            line,
            "8 1",
            "# 40 loads of a block become 12: 3.3 times fewer",
            "# 40 loads of a block become 8, and 6 that may be in caches",
        ),
        (
            line,
            "4 1",
            "# 20 loads of a block become 8: 2.5 times fewer",
            "# 20 loads of a block become 4, and 6 that may be in caches",
        ),
        (
            plane,
            "8 8",
            "# 1600 loads of a block become 144: 11.1 times fewer",
            "# 1600 loads of a block become 64, and 444 that may be in caches",
        ),
    ]:
        name = f"{path.stem}, tiles of {block}"
        basic, constant, tiled, cached = (plan_of(path, preset, block) for preset in LECTURE)
        n = 5 if path == line else 25
        tool.check(
            f"{name}: nothing copied",
            "shared" not in basic
            and "\n    constant " not in basic
            and f"why a point loads {n} of X, {n} of m\n" in basic,
            basic,
        )
        tool.check(
            f"{name}: the mask in constant memory",
            "\n    copy m in constant\n" in constant and "scratch" not in constant, constant,
        )
        tool.check(
            f"{name}: tiles",
            "\n    copy m in constant\n" in tiled
            and f"\n    copy X at x.grid in scratch\n        {shared}\n" in tiled, tiled,
        )
        tool.check(
            f"{name}: halos left to the caches",
            f"\n    copy X at x.grid in scratch centre\n        {centre}\n" in cached, cached,
        )


def check_schemes(folder):
    """Of the first paper: each stage by itself, or all as overlapped tiles; on CPUs here, with the masks' parts that
    the compiler makes inlined."""
    path = folder / "chain.tess"
    path.write_text(
        "stencil across(vector#2 float X) { mask m[3, 3] = { 1, 2, 1, 2, 4, 2, 1, 2, 1 } / 16; return convolve(X, m); "
        "}\n"
        "stencil wide(vector#2 float X) { return (X@[-4, 0] + X@[0, 3] + X) / 3; }\nparameter M, N;\nvector#2 float "
        "X[M, N];\n"
        "a = across(X:mirror);\nb = wide(a:constant(2));\nc = exp(b) - a;\nt = wide(c:wrap);\nreturn t, b;\n"
    )
    _, unfused, errors = tool.run("explain", path, "--plan=unfused", "--machine=machines/generic-avx2.machine")
    tool.check(
        "unfused: a group a stage",
        [line for line in unfused.splitlines() if line.startswith("group")] == [f"group {s}" for s in "abct"]
        and "stage a.lines inline" in unfused,
        errors + unfused,
    )
    _, overlapped, errors = tool.run("explain", path, "--plan=overlapped", "--machine=machines/generic-avx2.machine")
    tool.check(
        "overlapped: c, which wraps around, and what its other rules reach",
        "stage c at x.grid in scratch" in overlapped or "not fused with 't'" in overlapped, errors + overlapped,
    )
    canny = tool.ROOT / "bench" / "programs" / "canny.tess"
    for machine, rows, columns in (("generic-avx2", 64, 256), ("h200", 16, 32)):
        tile = f"    y {rows} grid\n    x {columns} grid\n"
        _, text, errors = tool.run("explain", canny, "--plan=overlapped", f"--machine=machines/{machine}.machine")
        tool.check(
            f"overlapped for {machine}: all in one group",
            text.count("\ngroup ") == 1 and text.count(" in scratch\n") >= 4 and tile in text, errors + text,
        )
    for plan in SCHEMES:
        for size in ("1x1", "5x3", "300x70"):
            code, _, errors = tool.run(
                "run", path, f"random:1:{size}", "-o", folder / "t.npy", "-o", folder / "b.npy", "--verify",
                f"--plan={plan}",
            )
            tool.check(f"{plan} of {size}", code == 0, errors)
    for command in (
        ["explain", path, "--plan=lecture-tiled", "--machine=machines/generic-avx2.machine"],
        ["run", path, "random:1:9x9", "-o", folder / "t.npy", "-o", folder / "b.npy", "--plan=staged-both"],
    ):
        code, _, errors = tool.run(*command)
        tool.check("kernels are not for CPUs", code == 1 and "is one of kernels, for GPUs" in errors, errors)
    kernels = folder / "kernels.plan"
    kernels.write_text(tool.run("explain", path, f"--machine={MACHINE}")[1])
    for command in (
        ["explain", path, "--dump=c", f"--machine={MACHINE}"],
        ["build", path, "-o", folder / "t.c", f"--machine={MACHINE}"],
        ["run", path, "random:1:9x9", "-o", folder / "t.npy", "-o", folder / "b.npy", f"--plan={kernels}"],
    ):
        code, _, errors = tool.run(*command)
        tool.check(
            "C is not for GPUs", code == 1 and "the plan is for a GPU, and C is for CPUs" in errors,
            f"{command}: {errors}",
        )


def check_shared_memory(folder):
    """The block of overlapped tiles is halved until it fits the machine's shared memory and threads, and says what it
    came to."""
    path = tool.ROOT / "tests" / "corpus" / "graph_diamond.tess"
    h200 = (tool.ROOT / "machines" / "h200.machine").read_text()
    says = {
        ("233472", 1024): [
            "why tile 16 x 32 after 1 halving of 32 x 32: 7920 bytes of shared memory of 49152, 736 threads of 1024",
            "why 's': 735 elements loaded, a halo of rows -2..3 and columns -2..1; 0 idle warps",
            "why 'a': 17 x 33 points, a halo of rows 0..1 and columns 0..1; 5 idle warps",
            "why 'output': 16 x 32 points; 7 idle warps",
            "    copy s at x.grid in scratch\n        # 2244 loads of a block become 735: 3.1 times fewer\n",
        ],
        ("4000", 1024): ["tile 8 x 16 after 3 halvings of 32 x 32", "bytes of shared memory of 4000"],
        ("1000", 1024): ["tile 4 x 8 after 5 halvings of 32 x 32"],
        ("20", 1024): [
            "not fused with 'output': a tile of 1 x 1 needs ",
            " bytes of shared memory, and a block of this machine has 20",
        ],
        ("0", 1024): ["a block of this machine has 0"],
        ("233472", 256): ["tile 8 x 16 after 3 halvings of 32 x 32", "256 threads of 256"],
        ("233472", 3): ["16 bytes of shared memory of 49152, 3 threads of 3", "    x 2 thread\n"],
    }
    for (shared, threads), lines in says.items():
        machine = folder / "small.machine"
        machine.write_text(
            "\n".join(
                f"shared_bytes = {shared}" if line.startswith("shared_bytes") else line for line in h200.splitlines()
            )
            + f"\nblock_threads = {threads}\n"
        )
        _, text, errors = tool.run("explain", path, "--plan=overlapped", "--target=loops", f"--machine={machine}")
        tool.check(
            f"overlapped with {shared} bytes of shared memory, {threads} threads",
            all(line in text for line in lines),
            errors + text,
        )
        code, _, errors = tool.run(
            "run", path, "random:1:37x53", "-o", folder / "out.npy", "--verify", "--plan=overlapped", "--target=loops",
            f"--machine={machine}",
        )
        tool.check(f"pixels with {shared} bytes, {threads} threads", code == 0, errors)


REGIONS = """stencil f(vector#2 float X) {{ return (X@[-2, -1] + X@[1, 2] * 2 + X@[0, -3] + X@[3, 0]) / 3; }}
stencil g(vector#2 float X) {{ return sum(i = -1..1, j = 0..2 : X@[i, j]) + X@[0, -1]; }}
parameter M, N;
vector#2 float X[M, N];
return f(X:{rule}), g(X:{rule});
"""


def check_regions(folder):
    """Nine regions by blocks and by warps of any width, for every rule, of images with room for all of them, for some,
    and for one point; and the paper's model, whose figures for 32 and 40 registers are the paper's."""
    path, page = folder / "regions.tess", folder / "regions.plan"
    ways = [
        ("regions", 32, 8), ("regions", 8, 4), ("warp-regions", 32, 2), ("warp-regions", 128, 1),
        ("warp-regions", 16, 4), ("warp", 128, 1), ("warp", 16, 2),
    ]
    for i, rule in enumerate(["clamp", "mirror", "reflect", "wrap", "constant(2)"]):
        path.write_text(REGIONS.format(rule=rule))
        isp = tool.run("explain", path, f"--machine={MACHINE}", "--plan=isp")[1]
        for k, (split, x, y) in enumerate(ways):
            page.write_text(
                isp.replace("    y 8 thread\n    x 32 thread\n", f"    y {y} thread\n    x {x} thread\n").replace(
                    "split regions", f"split {split}"
                )
            )
            size = ["1x1", "9x33", "37x150"][(i + k) % 3]
            code, _, errors = tool.run(
                "run", path, f"random:1:{size}", "-o", folder / "f.npy", "-o", folder / "g.npy", "--target=loops",
                "--verify", f"--plan={page}",
            )
            tool.check(f"{split} of {x} x {y}, {rule}, {size}", code == 0, errors)
    blocks = "TL 1 T 62 TR 1 L 254 Body 15748 R 254 BL 1 B 62 BR 1"
    for plan, lines in {
        "isp": [
            "why G = ", " in 2048 x 2048: R = ", "occupancy 100 % with 32 registers, 75 % with 40",
            f"why blocks: {blocks}", "    split regions\n",
        ],
        "isp-warp:64x128": ["warps: TL 2 T 4 TR 2 L 59 Body 118 R 59 BL 3 B 6 BR 3", "    split warp-regions\n"],
        "isp+m:64x64": ["in 64 x 64", "why rules everywhere: G is at most 1", "    split none\n"],
        "isp+m:4096x8192": ["in 4096 x 8192", "why regions: G is more than 1", "    split regions\n"],
        "naive": ["    split none\n"],
    }.items():
        _, text, errors = tool.run("explain", path, f"--plan={plan}", "--machine=machines/h200.machine")
        tool.check(f"{plan} says its terms", all(line in text for line in lines), errors + text)
    code, _, errors = tool.run("explain", path, "--plan=isp+m:64", "--machine=machines/h200.machine")
    tool.check("a size has two numbers", code == 1 and "comes a size, as 512x768, not '64'" in errors, errors)


def loads_of_lanes(loops, name, threads):
    """The indices of each read of a copy in shared memory by each thread of a block, evaluated from the loops as they
    are emitted: lists of rows and columns, thread after thread."""
    functions = {
        "floordiv": lambda a, b: a // b, "floormod": lambda a, b: a % b, "min": min, "max": max,
        "select": lambda c, a, b: a if c else b,
    }
    rename = str.maketrans("#", "_")
    reads = {}
    for lane in range(threads[0] * threads[1]):
        at = [lane % threads[0], lane // threads[0]]
        values = {"M": 1000, "N": 2000, **functions}
        for number, line in enumerate(loops.splitlines()):
            words = line.strip().translate(rename)
            if m := re.match(r"grid (\d) for (\w+) in", words):
                values[m[2]] = 3
            elif m := re.match(r"thread (\d) for (\w+) in", words):
                values[m[2]] = at[int(m[1])]
            elif m := re.match(r"let (\w+): index = (.*)$", words):
                values[m[1]] = eval(m[2], {}, values)
            elif not words.startswith("store " + name) and not words.startswith("local"):
                for k, m in enumerate(re.finditer(re.escape(name) + r"\[([^]]*), ([^],]*)\]", words)):
                    reads.setdefault((number, k), []).append([eval(m[i], {}, values) for i in (1, 2)])
    return [lanes for lanes in reads.values() if len(lanes) == threads[0] * threads[1]]


def check_banks(folder):
    """No two rows of a warp meet in a bank of shared memory: counted from the addresses of each read that is emitted,
    with 32 banks of 4 bytes. Without the padding they do."""
    path, page = program(folder, "plane", rule="mirror"), folder / "banks.plan"
    plan = tool.run("explain", path, f"--machine={MACHINE}", "--plan=staged-square")[1]
    tool.check("rows are padded", "copy X at x.grid in scratch pad 28\n" in plan and " 0 bank conflicts" in plan, plan)
    for pad, expected in ((" pad 28", False), ("", True), (" pad 12", True)):
        text = plan.replace(" pad 28", pad)
        page.write_text(text)
        loops = tool.run("explain", path, f"--machine={MACHINE}", f"--plan={page}", "--dump=loops")[1]
        rows, columns = map(int, re.search(r"buffer X_shared: local float\[(\d+), (\d+)\]", loops).groups())
        reads = loads_of_lanes(loops, "X_shared", (16, 16))
        conflicts = 0
        for lanes in reads:
            for warp in range(0, 256, 32):
                words = {row * columns + column for row, column in lanes[warp : warp + 32]}
                conflicts += len(words) - len({word % 32 for word in words})
        tool.check(
            f"rows of {columns}: conflicts among {len(reads)} reads", len(reads) >= 25 and (conflicts > 0) == expected,
            f"{conflicts} conflicts\n{loops}",
        )


def is_missing(errors):
    return "OpenCL" in errors and ("no device" in errors or "cannot be opened" in errors or "not installed" in errors)


def check_pixels(folder):
    cases = [
        ("line", "int16", 9, "wrap", ["4", "257"], ["lecture-tiled", "staged-mask", *SCHEMES]),
        ("plane", "float", 5, "constant(2)", ["1x1", "9x33"], LECTURE),
        ("plane", "double", 3, "reflect", ["17x70"], STAGED),
        ("colour", "float", 5, "mirror", ["2x3x3", "19x41x3"], ["lecture-cached", "staged-both", *SCHEMES, *ISP]),
    ]
    # takes less time, and the plan is what counts; optimised kernels have their turn, too
    as_written = {} if tool.turn(3, 12) else {"POCL_EXTRA_BUILD_FLAGS": "-cl-opt-disable"}
    for name, t, k, rule, sizes, presets in cases:
        path = program(folder, name, t, k, rule)
        mask = f"random:2:{k}x{k}" if name == "plane" else f"random:2:{k}"
        for preset in presets:
            for size in sizes:
                image = folder / "image.npy"
                size = [int(n) for n in size.split("x")]
                if name == "colour":
                    values = [float(n * 7 % 11) for n in range(size[0] * size[1] * 3)]
                    tool.write_npy(image, size, "<f4", values)
                code, _, errors = tool.run(
                    "run", path, image if name == "colour" else f"random:1:{'x'.join(map(str, size))}", mask, "-o",
                    folder / "out.npy", "--target=opencl", "--verify", f"--plan={preset}", env=as_written,
                )
                if is_missing(errors):
                    return print("without OpenCL: pixels are not compared")
                tool.check(f"{preset} of {name} {t} {rule} {size}", code == 0, errors)


SEPARABLE = """stencil gauss(vector#2 float X) {
    mask m[i = -3..3, j = -3..3] = (4 - abs(i)) * (4 - abs(j)) normalized;
    return convolve(X, m);
}
parameter M, N;
vector#2 float X[M, N];
return gauss(X:mirror);
"""


def check_masks_as_written(folder):
    """A mask known when compiling, which would be applied by rows and columns, is applied as papers do: 49 loads a
    point."""
    path, page = folder / "separable.tess", folder / "separable.plan"
    path.write_text(SEPARABLE)
    for preset in ("lecture-tiled", "staged-image"):
        text = plan_of(path, preset)
        tool.check(
            f"{preset} counts the mask as written",
            "a point loads 49 of X" in text and "# 12544 loads of a block become 532" in text,
            text,
        )
        page.write_text(text)
        for plan in (preset, page):
            code, _, errors = tool.run(
                "run", path, "random:1:33x70", "-o", folder / "out.npy", "--target=opencl", "--verify", f"--plan={plan}"
            )
            tool.check(f"pixels of {plan}", code == 0 or is_missing(errors), errors)
    page.write_text(text.replace("masks written\n", ""))
    code, _, errors = tool.run(
        "run", path, "random:1:33x70", "-o", folder / "out.npy", "--target=opencl", f"--plan={page}"
    )
    tool.check("without the line it is of another graph", code == 1 and "says nothing about stage" in errors, errors)
    page.write_text(text.replace("masks written", "masks folded"))
    code, _, errors = tool.run("explain", path, f"--machine={MACHINE}", f"--plan={page}")
    tool.check("masks are written or not", code == 1 and "masks can be 'written', not 'folded'" in errors, errors)


def check_vectors_of_threads(folder):
    """A kernel of which PoCL 3.1 makes wrong vectors when it is left to."""
    path = tool.ROOT / "tests" / "corpus" / "graph_diamond.tess"
    code, _, errors = tool.run(
        "run", path, "random:1:66x131", "-o", folder / "out.npy", "--target=opencl", "--verify", "--plan=overlapped"
    )
    tool.check("overlapped of a diamond", code == 0 or is_missing(errors), errors)


def check_refused(folder):
    path = program(folder, "plane")
    text = plan_of(path, "lecture-tiled")
    for change, says in [
        (("in scratch", "in scratch twice"), "expected 'centre', 'pad' or the end of the line"),
        (("in scratch", "in scratch pad 129"), "129"), (("m in constant", "m in constant pad 4"), "expected the end"),
       
        (("m in constant", "m in constant centre"), "expected the end of the line"),
        (("m in constant", "X in constant"), "'X' is not of constant size"),
        (("m in constant", "m at x.grid in scratch centre"), "does not read 'm' at constant distances"),
        (("X at x.grid in scratch", "m in constant"), "copies 'm' twice"), (("copy X", "copy Y"), "no stage 'Y'"),
        (("x 32 thread", "x 32 thread\n    y 2 unroll"), "kernels of points"),
        (("y 8 thread\n    x 32 thread", "x 1024 thread"), None),
        (("split none", "split warp"), "not split by warps"),
    ]:
        edited = folder / "edited.plan"
        edited.write_text(text.replace(*change))
        code, _, errors = tool.run("explain", path, f"--machine={MACHINE}", f"--plan={edited}")
        tool.check(
            f"{change[1]} is {'refused' if says else 'fine'}", (code == 1 and says in errors) if says else code == 0,
            errors,
        )
    path.write_text(path.read_text().replace("m[5, 5]", "m[91, 91]"))
    edited.write_text(text)
    code, _, errors = tool.run("explain", path, f"--machine={MACHINE}", f"--plan={edited}")
    tool.check(
        "masks of 33 KiB in constant memory are refused",
        code == 1 and "more than 32768 bytes into constant memory" in errors, errors,
    )
    code, _, errors = tool.run("explain", path, f"--machine={MACHINE}", "--plan=lecture-tild")
    tool.check("a name that is neither file nor preset", code != 0 and "lecture-tild" in errors, errors)


if __name__ == "__main__":
    with tool.workspace() as name:
        folder = pathlib.Path(name)
        tool.keep_nothing()
        check_loads(folder)
        check_refused(folder)
        check_schemes(folder)
        check_shared_memory(folder)
        check_regions(folder)
        check_banks(folder)
        check_pixels(folder)
        check_masks_as_written(folder)
        check_vectors_of_threads(folder)
    tool.finish()
