"""Vector loops become vector instructions: generated C is compiled with gcc and clang for AVX-512, AVX2 and NEON, and
for each loop of the text that computes in vectors there is a loop of the assembly with arithmetic on registers of the
machine's full width. Every other program has its turn (tool.turn). What is not installed is skipped."""
import pathlib
import random
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import tool

# For every machine: stencils, and bytes in pairs. For the widest alone, to save time: windows of masks, tiles, lines
# after lines, rings of rows, stages in registers.
PROGRAMS = [("examples/blur.tess",), ("examples/sobel.tess",), ("examples/harris.tess",), ("examples/bilateral.tess",),
            ("bench/programs/gauss5_u8.tess",)]
MORE = [
    ("bench/programs/conv2d.tess", "R=4"), ("bench/programs/canny.tess",), ("bench/programs/separable.tess",),
    ("tests/golden/rings.tess",), ("tests/corpus/window_parts_inside.tess",),
]
FLAGS = ["-std=c11", "-O2", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fPIC"]
X86 = [c for c in ("gcc", "clang") if shutil.which(c)]
ARM = [c for c in ("aarch64-linux-gnu-gcc",) if shutil.which(c)]
ARM_CLANG = ["clang"] if ARM and shutil.which("clang") else []  # with the headers of the other
TARGETS = [("generic-avx512", X86, ["-march=skylake-avx512", "-mprefer-vector-width=512"], r"%zmm\d"),
           ("generic-avx2", X86, ["-mavx2", "-mfma"], r"%ymm\d"),
           ("generic-neon", ARM, [], r"\bv\d+\.(4s|2d|8h|16b)"),
           ("generic-neon", ARM_CLANG, ["--target=aarch64-linux-gnu"], r"\bv\d+\.(4s|2d|8h|16b)")]
MOVES = re.compile(r"^v?(mov|broadcast|pbroadcast|insert|extract|perm|pxor|xor|zero|ld|st|dup)")
LOOP = re.compile(r"for \(ptrdiff_t (\w+) = .*; \1 \+= (\d+ \* )?TESS_LANES_\w+\) \{$")
FEW = re.compile(r"const ptrdiff_t (\w+) = \d+ - \(\d+ & \(TESS_LANES")
ARITHMETIC = re.compile(
    r"tess_(fma|add|sub|mul|min|max|sqrt|abs|lt|le|eq)_(?!idx)\w+\(|tess_load_\w+\(.*\) [-+*/]|[-+*/] tess_load_|\) \* "
)

PROCESSOR = pathlib.Path("/proc/cpuinfo").read_text() if pathlib.Path("/proc/cpuinfo").exists() else ""
TYPES = ("float", "uint8", "int8", "uint16", "int16", "int32", "uint32")
STENCILS = (("f", "double", "3.3d", "cast<float>"), ("i", "double", "3.3d", "cast<int32>"),
            ("b", "double", "3.3d", "sat<uint8>"), ("s", "double", "3.3d", "sat<int16>"),
            ("l", "int64", "3", "cast<int64>"), ("w", "int64", "3", "cast<uint32>"),
            ("h", "int64", "3", "cast<int16>"), ("c", "int64", "3", "cast<int8>"))
LONGS = "".join(f"stencil {name}(vector#1 {wide} X) {{ return {convert}((X@[-1] + X@[1]) * {factor} - X); }}\n"
                for name, wide, factor, convert in STENCILS)
LONGS += "parameter N;\n" + "".join(f"vector#1 {name} x{number}[N];\n" for number, name in enumerate(TYPES))
LONGS += "return " + ", ".join([f"{f}(x{number}:clamp)" for number in range(len(TYPES)) for f in "fb"] +
                               [f"{f}(x0:clamp)" for f in "is"] +
                               [f"{f}(x{number}:clamp)" for number in range(1, len(TYPES)) for f in "lwhc"]) + ";\n"


def statements(text):
    """Lines of code, continued ones joined, with their indentation."""
    whole = ""
    for line in text.splitlines():
        whole = f"{whole} {line.strip()}" if whole else line
        ends = line.rstrip()[-1:] in "{};/" and whole.count("(") <= whole.count(
            ")"
        )  # the head of a loop may be cut behind a semicolon
        if not line or ends or line.lstrip().startswith(("#", "/*", "*", "TESS_")):
            yield whole
            whole = ""


def vector_loops(text):
    """How many loops compute in vectors, without those over a few elements, whose number is written down: they are no
    loops in the end."""
    lines, count, few = list(statements(text)), 0, set()
    for i, line in enumerate(lines):
        few.update(FEW.findall(line))
        if not LOOP.search(line) or any(f"< {end};" in line for end in few):
            continue
        indent = len(line) - len(line.lstrip())
        body = []
        for inner in lines[i + 1:]:
            if inner.startswith(" " * indent + "}"):
                break
            body.append(inner)
        count += any(ARITHMETIC.search(inner) for inner in body)
    return count


def graph_of(assembly):
    """The instructions, and for each the numbers of those that may follow."""
    label_at, instructions = {}, []
    for line in assembly.splitlines():
        label = re.match(r"^(\.?L\w+):", line)
        if label:
            label_at[label.group(1)] = len(instructions)
        elif re.match(r"^\t[a-z]", line):
            instructions.append(line.strip())
    follow = []
    for i, x in enumerate(instructions):
        jump = re.search(r"^(j\w+|b\.?\w*|cbn?z|tbn?z)\t(?:.*, )?(\.?L\w+)$", x)
        ends = re.match(r"(jmp|b|br|ret\w*)(\t|$)", x)
        follow.append([i + 1] * (not ends and i + 1 < len(instructions)) + ([label_at[jump.group(2)]] if jump else []))
    return instructions, follow


def cycles(nodes, follow):
    """The strongly connected parts that are loops (Tarjan's algorithm)."""
    number, low, stack, found = {}, {}, [], []
    for root in nodes:
        work = [] if root in number else [(root, iter(follow[root]))]
        while work:
            n, rest = work[-1]
            if n not in number:
                number[n] = low[n] = len(number)
                stack.append(n)
            step = next((m for m in rest if m in nodes and (m not in number or m in low)), None)
            if step is not None:
                if step in number:
                    low[n] = min(low[n], number[step])
                else:
                    work.append((step, iter(follow[step])))
                continue
            work.pop()
            if work:
                low[work[-1][0]] = min(low[work[-1][0]], low[n])
            if low[n] == number[n]:
                part = set(stack[stack.index(n):])
                del stack[stack.index(n):]
                for m in part:
                    low.pop(m)
                if len(part) > 1 or n in follow[n]:
                    found.append(part)
    return found


def innermost(nodes, follow, before):
    """Loops that have no loop in them: one that has falls apart without the instructions where it is entered."""
    for loop in cycles(nodes, follow):
        entries = {n for n in loop if any(m not in loop for m in before[n])} or {min(loop)}
        inner = list(innermost(loop - entries, follow, before))
        yield from inner or [loop]


def wide_loops(assembly, register):
    """How many innermost loops of the assembly have arithmetic on wide registers."""
    instructions, follow = graph_of(assembly)
    before = [[] for _ in instructions]
    for i, targets in enumerate(follow):
        for j in targets:
            before[j].append(i)
    return sum(any(re.search(register, instructions[i]) and not MOVES.match(instructions[i]) for i in loop)
               for loop in innermost(set(range(len(instructions))), follow, before))


def check_longs(folder, machine, flags, register):
    """Each vector of doubles or of 64-bit integers that shorter values become takes one instruction, or two from fewer
    than 32 bits, and so do those back: GCC alone makes halves, and puts them together. And they are the right ones."""
    source, made = folder / "longs.tess", folder / f"{machine}-longs.c"
    source.write_text(LONGS)
    described = f"--machine={tool.ROOT / 'machines' / machine}.machine"
    code, _, errors = tool.run("build", source, "--fp=strict", described, "-o", made)
    tool.check(f"build lanes of 64 bits for {machine}", code == 0, errors)
    done = subprocess.run(
        ["gcc", *FLAGS, *flags, "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-S", str(made), "-o", "-"],
        capture_output=True, text=True
    )
    tool.check(f"gcc compiles lanes of 64 bits for {machine}", done.returncode == 0, done.stderr[:2000])
    names = ("vcvtps2pd", "vcvtdq2pd", "vcvtpd2psy?", "vpmovsxdq", "vpmovzxdq")
    whole = [len(re.findall(rf"{name}\s.*{register}", done.stdout)) for name in names]
    halves = re.findall(r"vinsert\w+|vpinsr\w|vmovhlps", done.stdout)
    tool.check(f"conversions take whole vectors for {machine}", all(whole) and not halves, f"{whole}, {halves}")
    if ("avx512bw" if "512" in machine else "avx2") not in PROCESSOR:
        return
    inputs = [f"random:{number}:1003" for number in range(1, 8)]
    outputs = [word for number in range(LONGS.count(":clamp")) for word in ("-o", folder / f"longs{number}.npy")]
    code, _, errors = tool.run("run", source, *inputs, *outputs, "--verify", "-q", described)
    tool.check(f"lanes of 64 bits for {machine}", code == 0, errors)
    check_quotients(folder, described)


def check_quotients(folder, described):
    """Quotients of doubles by constants are made of products where that gives each the value that division has: for
    what no product holds exactly, and for divisors whose inverse is too far from a double, as 1 / 49, they divide."""
    divisors = ("5.0d", "3.0d", "1.5d", "49.0d", "0.3d", "1.0e200d")
    source, values = folder / "quotients.tess", folder / "values.txt"
    source.write_text("parameter N;\nvector#1 double X[N];\n" + "".join(
        f"stencil q{n}(vector#1 double X) {{ return X / {by}; }}\n" for n, by in enumerate(divisors)
    ) + "return " + ", ".join(f"q{n}(X)" for n in range(len(divisors))) + ";\n")
    rng = random.Random(7)
    special = ["0", "-0", "nan", "inf", "-inf", "5e-324", "-1e-310", "2.5e-308", "1e-272", "1e272", "1.7e308"]
    values.write_text("\n".join(
        special[n // 9 % len(special)] if n % 9 == 4 else repr(rng.uniform(-9, 9) * 10.0**rng.randint(-30, 30))
        for n in range(1500)
    ))
    outputs = [word for n in range(len(divisors)) for word in ("-o", folder / f"quotient{n}.npy")]
    code, _, errors = tool.run("run", source, values, *outputs, "--verify", "--fp=strict", "-q", described)
    tool.check(f"quotients for {described}", code == 0, errors)
    code, text, errors = tool.run("explain", source, "--dump=c", "--fp=strict", described)
    tool.check(f"quotients for {described} are products", text.count("tess_quotient_f64v64(") == 3, errors)


with tool.workspace() as place:
    folder = pathlib.Path(place)
    for machine, compilers, flags, register in TARGETS:
        if not compilers:
            print(f"skipped {machine}: no compiler for it here")
        for number, (path, *numbers) in enumerate(PROGRAMS + MORE * ("512" in machine) if compilers else []):
            if not tool.turn(number, 2):
                continue
            name = pathlib.Path(path).stem
            source = folder / f"{machine}-{name}.c"
            code, _, errors = tool.run(
                "build", tool.ROOT / path, *numbers, f"--machine={tool.ROOT / 'machines' / machine}.machine", "-o",
                source,
            )
            tool.check(f"build {name} for {machine}", code == 0, errors)
            expected = vector_loops(source.read_text().split("#ifdef TESSERA_SELFTEST")[0]) if code == 0 else 0
            tool.check(f"{name} for {machine} has vector loops", expected > 0)
            for compiler in compilers:
                done = subprocess.run(
                    [compiler, *FLAGS, *flags, "-S", str(source), "-o", "-"], capture_output=True, text=True
                )
                tool.check(f"{compiler} compiles {name} for {machine}", done.returncode == 0, done.stderr[:2000])
                found = wide_loops(done.stdout, register)
                tool.check(
                    f"{name} for {machine} with {compiler}", found >= expected,
                    f"{found} of {expected} loops are in full vectors",
                )
        if "gcc" in compilers and "avx" in machine:
            check_longs(folder, machine, flags, register)
tool.finish()
