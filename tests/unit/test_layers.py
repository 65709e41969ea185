"""The house rules of CONTRIBUTING.md that a machine can check: who includes whom, names of symbols, no writable
globals, headers that compile alone, the size of files, the numbers of decisions, and formatting."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
MAY_INCLUDE = {
    "base": {"base"},
    "graph": {"base", "graph"},
    "front": {"base", "graph", "front"},
    "analysis": {"base", "graph", "analysis"},
    "plan": {"base", "graph", "analysis", "plan"},
    "loop": {"base", "graph", "analysis", "plan", "loop"},
    "emit": {"base", "loop", "emit"},
    "interp": {"base", "graph", "loop", "interp"},
    "vm": {"base", "graph", "loop", "interp", "vm"},
    "rt": {"base", "rt"},
    "api": {"base", "graph", "front", "analysis", "plan", "loop", "emit", "interp", "vm", "rt", "api"},
}
OUTSIDE = {
    "prelude/c.h": {"base", "vm"}, "prelude/c_math.h": {"base", "vm"}, "tessera.h": set(MAY_INCLUDE) - {"base"},
    "tessera_dlpack.h": {"api", "rt"},
}
OTHER_LANGUAGES = {"prelude/cuda.h", "prelude/opencl.h"}  # CUDA C++ and OpenCL C
LONGEST_FILE = 800
WIDEST_LINE = 120
MIDDLE = ("plan", "loop", "emit")
LONGEST_HEADER, LONGEST_PASS, LONGEST_FUNCTION = 300, 600, 60  # of the middle
LARGEST_CIRCLE = 6
problems = []


def sources(*patterns):
    return sorted(p for pattern in patterns for p in ROOT.glob(pattern))


def check_includes():
    for path in sources("src/*/*.[ch]", "src/*/*.def"):
        layer = path.parent.name
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
            if not match:
                continue
            target = match.group(1)
            allowed = layer in OUTSIDE[target] if target in OUTSIDE else target.split("/")[0] in MAY_INCLUDE[layer]
            if "/" not in target and target not in OUTSIDE:
                allowed = False
            if not allowed:
                problems.append(f"{path.relative_to(ROOT)}:{number}: layer {layer} must not include {target}")


def check_columns():
    """Lines of code and scripts have 120 columns at most."""
    suffixes = {".c", ".h", ".def", ".py", ".pyi", ".sh", ".cmake", ".txt"}
    folders = ("bench", "cli", "cmake", "examples", "include", "prelude", "python", "src", "tests")
    for path in sources("*", *(f"{folder}/**/*" for folder in folders)):
        if path.suffix not in suffixes or (path.suffix == ".txt" and path.name != "CMakeLists.txt"):
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if len(line) > WIDEST_LINE:
                problems.append(f"{path.relative_to(ROOT)}:{number}: {len(line)} columns, not {WIDEST_LINE}")


def check_sources():
    """cmake/sources.cmake names every source."""
    named = set(re.findall(r"[\w/]+\.c\b", (ROOT / "cmake/sources.cmake").read_text()))
    there = {str(path.relative_to(ROOT)) for path in sources("src/*/*.c", "cli/*.c", "python/src/*.c")}
    problems.extend(f"cmake/sources.cmake lacks {name}" for name in sorted(there - named))
    problems.extend(f"cmake/sources.cmake names {name}, which is not there" for name in sorted(named - there))


def check_lengths():
    for path in sources(
        "src/*/*.[ch]", "cli/*.[ch]", "prelude/*.h", "python/**/*.[ch]", "python/**/*.py", "tests/**/*.[ch]",
        "tests/**/*.py",
    ):
        lines = len(path.read_text().splitlines())
        if lines > LONGEST_FILE:
            problems.append(f"{path.relative_to(ROOT)}: {lines} lines; {LONGEST_FILE} is the end")


def check_middle():
    """Headers, passes (of lowering, and of loops) and functions of the middle are short."""
    function = re.compile(r"^(?![ #/}])[^\n;]*(?:\n[^\n;{}]+)*\n\{\n.*?^\}$", re.M | re.S)
    for layer in MIDDLE:
        for path in sources(f"src/{layer}/*.h"):
            lines = len(path.read_text().splitlines())
            if lines > LONGEST_HEADER:
                problems.append(f"{path.relative_to(ROOT)}: {lines} lines; {LONGEST_HEADER} is the end of a header")
        for path in sources(f"src/{layer}/*.c"):
            text = path.read_text()
            lines = len(text.splitlines())
            if path.name.startswith(("lower", "pass_")) and lines > LONGEST_PASS:
                problems.append(f"{path.relative_to(ROOT)}: {lines} lines; {LONGEST_PASS} is the end of a pass")
            for match in function.finditer(text):
                lines = match.group().count("\n") + 1
                if lines > LONGEST_FUNCTION:
                    number = text.count("\n", 0, match.start()) + 1
                    problems.append(f"{path.relative_to(ROOT)}:{number}: a function of {lines} lines, "
                                    f"not {LONGEST_FUNCTION}")


def circles(users):
    """The strongly connected components of a graph, as lists (Tarjan's algorithm)."""
    order, low, stack, found = {}, {}, [], []

    def visit(at):
        order[at] = low[at] = len(order)
        stack.append(at)
        for to in users[at]:
            if to not in order:
                visit(to)
            if to in stack:
                low[at] = min(low[at], low[to])
        if low[at] == order[at]:
            place = stack.index(at)
            found.append(stack[place:])
            del stack[place:]

    for at in users:
        if at not in order:
            visit(at)
    return found


def check_circles():
    """No more than a few files need one another's functions; those of the front do, as its grammar does."""
    comment = re.compile(r"/\*.*?\*/", re.S)
    code = {str(path.relative_to(ROOT)): comment.sub("", path.read_text()) for path in sources("src/*/*.c")}
    defined = {}
    for name, text in code.items():
        for function in re.findall(r"^(?!static)[A-Za-z][^;{}=()]*?\b(tessi?_\w+)\([^;{}]*\)\n\{", text, re.M):
            defined[function] = name
    users = {
        name: {defined[used] for used in re.findall(r"\btessi?_\w+", text) if used in defined} - {name}
        for name, text in code.items()
    }
    for circle in circles(users):
        if len(circle) > LARGEST_CIRCLE and not circle[0].startswith("src/front/"):
            problems.append(f"{len(circle)} files need one another, not {LARGEST_CIRCLE}: {', '.join(sorted(circle))}")


def check_headers_alone():
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    for path in sources("src/*/*.h", "include/*.h", "prelude/*.h", "cli/*.h"):
        if str(path.relative_to(ROOT)) in OTHER_LANGUAGES:
            continue
        command = [
            compiler, "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-D_POSIX_C_SOURCE=200809L",
            "-fsyntax-only", f"-I{ROOT}/src", f"-I{ROOT}/include", f"-I{ROOT}", "-x", "c", str(path),
        ]
        run = subprocess.run(command, capture_output=True, text=True)
        errors = [line for line in run.stderr.splitlines() if "error:" in line and "#pragma once" not in line]
        if run.returncode and errors:
            problems.append(f"{path.relative_to(ROOT)} does not compile alone: {errors[0]}")


def check_symbols():
    archive = pathlib.Path(os.environ.get("TESSERA_BUILD", ROOT / "build")) / "libtessera.a"
    nm = shutil.which("nm")
    if not archive.exists() or not nm:
        print("skipped the symbols: no libtessera.a or no nm here")
        return
    table = subprocess.run([nm, str(archive)], capture_output=True, text=True, check=True).stdout
    for line in table.splitlines():
        match = re.match(r"[0-9a-f]+ ([A-Za-z]) (\S+)", line)
        if not match:
            continue
        kind, name = match.groups()
        if "asan" in name or "ubsan" in name or name.startswith("__"):
            continue
        if kind.isupper() and not name.startswith("tess"):
            problems.append(f"symbol {name} has no tess prefix")
        # b and d are writable data; .data.rel.ro (constant tables of pointers) shows as d as well, so look at the
        # section.
        if kind in "bBC":
            problems.append(f"writable global {name}")
    readelf = shutil.which("objdump")
    if readelf:
        table = subprocess.run([readelf, "-t", str(archive)], capture_output=True, text=True, check=True).stdout
        for line in table.splitlines():
            if re.search(r"\sO\s+\.data\s", line) or re.search(r"\sO\s+\.data\.(?!rel\.ro)", line):
                if "asan" not in line and "Lubsan" not in line:
                    problems.append(f"writable global {line.split()[-1]}")


def check_opencl():
    """NVIDIA's OpenCL refuses macros with any number of arguments; other compilers of it only warn."""
    for path in sources("prelude/c.h", "prelude/c_math.h", "prelude/opencl.h"):
        if "__VA_ARGS__" in path.read_text():
            problems.append(f"{path.relative_to(ROOT)}: macros with any number of arguments are no OpenCL C")


def check_targets():
    """What the targets are is known by their rows alone: everything else asks a row, and no `if` names a language."""
    rows = sources(
        "src/emit/target_*.c", "src/api/backend_*.c", "src/rt/cuda*.[ch]", "src/rt/opencl*.[ch]", "src/api/embedded.h"
    )
    names = re.compile(
        r"cuda|opencl|TESS_TARGET_(?!AUTO)[A-Z]|tessi_(emit|backend)_(c|interp|loops)\b|kDLCUDA|kDLOpenCL", re.I
    )
    comment = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
    for path in sources("src/*/*.[ch]", "cli/*.[ch]"):
        code = comment.sub(lambda match: re.sub(r"[^\n]", "", match.group()), path.read_text()).splitlines()
        named = [number for number, line in enumerate(code, 1) if names.search(re.sub(r"\btess_target_\w+", "", line))]
        if path in rows and not named:
            problems.append(f"{path.relative_to(ROOT)}: the row of a target that names none; is it still one?")
        problems.extend(
            f"{path.relative_to(ROOT)}:{number}: only rows name a target; ask the row"
            for number in named
            if path not in rows
        )


# Numbers that stand in cost models without a name of machine_costs.def: counts, widths of registers and vectors,
# units, sizes of caches and images that are no measurements.
PLAIN_NUMBERS = {"0", "1", "2", "3", "4", "8", "16", "1e9", "1e3", "1e-6", "1e-9", "1e12", "1e15"}
PLAIN_IN_FILE = {
    "plan_cost.c": {"0.5", "9e15", "100"},  # rounding, and hundredths
    "plan_estimate.c": {"1.02", "0.0005"},  # by how much constants are changed to see what depends on them
    "plan_gpu_cost.c": {"2048", "8192", "128"},  # sides of images; four warps
    "plan_median.c": {"128", "256", "255"},  # strips; what a byte counts
    "plan_median_gpu.c": {"256"},  # bins of bytes
    "plan_rolling_cost.c": {"8192", "128"},  # side of an image; four warps
    "plan_rows.c": {"1024", "32"},  # places that are kept
    "plan_shared.c": {"5", "32"},  # sides of tiles; bits of a hash
    "plan_transform.c": {"128", "256", "10", "32", "100e-12"},  # strips; digits that are printed
    "plan_warp_cost.c": {"8192", "7"},  # side of an image; rounding to eight
}
PLAIN_FRACTIONS = {"1.005"}  # what is worth a line


def check_constants():
    """Fitted constants have names: no other numbers stand in the cost models, no fractions in the planners. It cannot
    know a constant that happens to be a plain number."""
    for path in sources("src/plan/plan_*.c"):
        text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m[0].count("\n"), path.read_text(), flags=re.S)
        text = re.sub(r'"(\\.|[^"\\])*"', '""', text)
        model = "cost" in path.name or path.name in PLAIN_IN_FILE or path.name == "plan_window.c"
        for number, line in enumerate(text.splitlines(), 1):
            for found in re.findall(r"(?<![\w.])\d[\d.]*(?:[eE][-+]?\d+)?\b", line):
                value = re.sub(r"\.0*$", "", found)
                known = value in PLAIN_NUMBERS | PLAIN_IN_FILE.get(path.name, PLAIN_FRACTIONS)
                if not known and (model or "." in value):
                    problems.append(f"{path.relative_to(ROOT)}:{number}: {found} has no name in machine_costs.def")
    named = re.findall(r"^COST\(\w+, (\w+)", (ROOT / "src/plan/machine_costs.def").read_text(), flags=re.M)
    used = "".join(path.read_text() for path in sources("src/plan/*.c"))
    problems.extend(f"machine_costs.def: nothing reads {name}" for name in named if f"->{name}" not in used)


def check_decisions():
    """Each has a number of its own, in its name and its first line."""
    seen = {}
    for path in sources("docs/decisions/*.md"):
        number, first = path.name[:3], path.read_text().split("\n", 1)[0]
        if not re.match(rf"# {number}\. \S", first):
            problems.append(f"{path.relative_to(ROOT)}: its first line should begin with '# {number}. '")
        if seen.setdefault(number, path.name) != path.name:
            problems.append(f"{path.relative_to(ROOT)}: {seen[number]} has the number {number} already")


def check_format():
    tool = shutil.which("clang-format")
    version = subprocess.run([tool, "--version"], capture_output=True, text=True).stdout if tool else ""
    if "version 14." not in version:
        print("skipped the formatting: no clang-format 14 here")
        return
    files = [str(p) for p in sources("src/*/*.[ch]", "cli/*.[ch]", "include/*.h", "prelude/*.h", "python/**/*.[ch]",
                                         "tests/**/*.[ch]")]
    run = subprocess.run([tool, "--dry-run", "-Werror", *files], capture_output=True, text=True, cwd=ROOT)
    bad = sorted({line.split(":")[0] for line in run.stderr.splitlines() if "error:" in line})
    problems.extend(f"{pathlib.Path(name).relative_to(ROOT)}: run clang-format 14 on it" for name in bad)


check_includes()
check_lengths()
check_middle()
check_circles()
check_columns()
check_sources()
check_headers_alone()
check_symbols()
check_opencl()
check_targets()
check_constants()
check_decisions()
check_format()
print("\n".join(problems) or "the layers, names, headers and formatting are in order")
sys.exit(bool(problems))
