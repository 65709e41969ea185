"""Vector loops become vector instructions: generated C is compiled with gcc and clang for AVX-512, AVX2 and NEON, and for each loop of the text that
computes in vectors there is a loop of the assembly with arithmetic on registers of the machine's full width. What is not installed is skipped."""
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import tool

PROGRAMS = ["blur.tess", "sobel.tess", "harris.tess", "bilateral.tess"]
FLAGS = ["-std=c11", "-O2", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fPIC"]
X86 = [c for c in ("gcc", "clang") if shutil.which(c)]
ARM = [c for c in ("aarch64-linux-gnu-gcc",) if shutil.which(c)]
TARGETS = [("generic-avx512", X86, ["-march=skylake-avx512", "-mprefer-vector-width=512"], r"%zmm\d"),
           ("generic-avx2", X86, ["-mavx2", "-mfma"], r"%ymm\d"),
           ("generic-neon", ARM, [], r"\bv\d+\.(4s|2d|8h|16b)")]
MOVES = re.compile(r"^v?(mov|broadcast|pbroadcast|insert|extract|perm|pxor|xor|zero|ld|st|dup)")
LOOP = re.compile(r"for \(ptrdiff_t (\w+) = .*; \1 \+= (\d+ \* )?TESS_LANES_\w+\) \{$")
ARITHMETIC = re.compile(r"tess_(fma|add|sub|mul|min|max|sqrt|abs|lt|le|eq)_\w+\(|tess_load_\w+\(.*\) [-+*/]|[-+*/] tess_load_|\) \* ")


def statements(text):
    """Lines of code, continued ones joined, with their indentation."""
    whole = ""
    for line in text.splitlines():
        whole = f"{whole} {line.strip()}" if whole else line
        if not line or line.rstrip()[-1:] in "{};/" or line.lstrip().startswith(("#", "/*", "*", "TESS_")):
            yield whole
            whole = ""


def vector_loops(text):
    """How many loops compute in vectors."""
    lines, count = list(statements(text)), 0
    for i, line in enumerate(lines):
        if not LOOP.search(line):
            continue
        indent = len(line) - len(line.lstrip())
        body = []
        for inner in lines[i + 1:]:
            if inner.startswith(" " * indent + "}"):
                break
            body.append(inner)
        count += any(ARITHMETIC.search(inner) for inner in body)
    return count


def wide_loops(assembly, register):
    """How many innermost loops of the assembly have arithmetic on wide registers."""
    label_at, instructions, jumps = {}, [], []
    for line in assembly.splitlines():
        label = re.match(r"^(\.?L\w+):", line)
        if label:
            label_at[label.group(1)] = len(instructions)
        elif re.match(r"^\t[a-z]", line):
            instructions.append(line.strip())
            target = re.search(r"^(j\w+|b\.\w+|b|cbn?z|tbn?z)\t.*?(\.?L\w+)$", line.strip())
            if target and target.group(2) in label_at:
                jumps.append((label_at[target.group(2)], len(instructions)))
    inner = {j for j in jumps if not any(k != j and j[0] <= k[0] and k[1] <= j[1] for k in jumps)}
    wide = [j for j in inner
            if any(re.search(register, x) and not MOVES.match(x) for x in instructions[j[0]:j[1]])]
    return len(wide)


with tool.workspace() as place:
    folder = pathlib.Path(place)
    for machine, compilers, flags, register in TARGETS:
        if not compilers:
            print(f"skipped {machine}: no compiler for it here")
        for name in PROGRAMS if compilers else []:
            source = folder / f"{machine}-{name}".replace(".tess", ".c")
            code, _, errors = tool.run("build", tool.ROOT / "examples" / name, f"--machine={tool.ROOT / 'machines' / machine}.machine", "-o", source)
            tool.check(f"build {name} for {machine}", code == 0, errors)
            expected = vector_loops(source.read_text().split("#ifdef TESSERA_SELFTEST")[0]) if code == 0 else 0
            tool.check(f"{name} for {machine} has vector loops", expected > 0)
            for compiler in compilers:
                done = subprocess.run([compiler, *FLAGS, *flags, "-S", str(source), "-o", "-"], capture_output=True, text=True)
                tool.check(f"{compiler} compiles {name} for {machine}", done.returncode == 0, done.stderr[:2000])
                found = wide_loops(done.stdout, register)
                tool.check(f"{name} for {machine} with {compiler}", found >= expected, f"{found} of {expected} loops are in full vectors")
tool.finish()
