"""Every stop of the compiler prints for the programs of tests/golden/ what stands beside them: NAME.ast, .types,
.graph, .analysis, .plan, .loops and .c.txt (its own part of the C text, without prelude and entry), planned for a
machine described in machines/ so that the texts are the same everywhere. KERNELS has its files of kernels as well:
.cu.txt and .cl.txt, without preludes and reference, and their headers. With --accept they are written anew; read the
difference before you commit it. Plans are also fed back here, graphs and loops in test_golden_text.c."""
import difflib
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import tool

STOPS = ("ast", "types", "graph", "analysis", "plan", "loops", "c")
MACHINE = "--machine=machines/generic-avx2.machine"
FRAME_END, ENTRY = "#define TESS_UNROLL\n#endif\n", "\n#ifdef TESSERA_ENTRY\n"
KERNELS, KERNEL_MACHINE = "kernels", "--machine=machines/generic-gpu.machine"
PRELUDE, PROGRAM = "\n/* What this program uses of Tessera's prelude;", "\n/* ---- The program ---- */\n"
accept = sys.argv[1:] == ["--accept"]


def own_part(name, text):
    """Generated C from the plan in its head on, without what is the same in every file."""
    found = text.startswith("/*") and text.count(FRAME_END) == 1 and text.count(ENTRY) == 1
    tool.check(f"{name}: the frame of the file", found, text[:300])
    if not found:
        return text
    return text[:text.index("*/\n") + 3] + text[text.index(FRAME_END) + len(FRAME_END):text.index(ENTRY)]


def explain(program, stop, *more):
    code, out, errors = tool.run("explain", program.relative_to(tool.ROOT), f"--dump={stop}", MACHINE, *more)
    tool.check(f"{program.name} --dump={stop}", code == 0, errors)
    return own_part(program.name, out) if stop == "c" and code == 0 else out


def compare(path, text):
    if accept:
        path.write_text(text)
        return
    expected = path.read_text() if path.exists() else ""
    difference = "\n".join(
        difflib.unified_diff(expected.splitlines(), text.splitlines(), "expected", "now", lineterm="", n=2)
    )
    tool.check(path.name, expected == text, difference[:4000])


def kernels_of(program, folder):
    for suffix, language in ((".cu", "cuda"), (".cl", "opencl")):
        path = folder / language / f"{program.stem}{suffix}"  # headers of two languages have one name
        path.parent.mkdir(exist_ok=True)
        code, _, errors = tool.run("build", program.relative_to(tool.ROOT), KERNEL_MACHINE, "-o", path)
        tool.check(f"build {path.name}", code == 0, errors)
        text = path.read_text() if code == 0 else ""
        found = text.count(PRELUDE) == text.count(PROGRAM) == 2 and text.count("TESSERA_SELFTEST") > 2
        tool.check(f"{path.name}: the frame of the file", found, text[:300])
        if not found:
            continue
        reference = text.rindex(PRELUDE) if language == "opencl" else text.index("#elif ")
        text = text[:text.index(PRELUDE)] + text[text.index(PROGRAM) + len(PROGRAM):reference]
        compare(program.with_suffix(f"{suffix}.txt"), text)
        compare(program.with_suffix(f"{suffix}.h.txt"), path.with_suffix(".h").read_text() if code == 0 else "")


programs = sorted(path for path in (tool.ROOT / "tests" / "golden").iterdir() if path.suffix in (".tess", ".idsl"))
for program in programs:
    for stop in STOPS:
        compare(program.with_suffix(".c.txt" if stop == "c" else f".{stop}"), explain(program, stop))
    plan = program.with_suffix(".plan")
    again = explain(program, "plan", f"--plan={plan.relative_to(tool.ROOT)}")
    tool.check(f"{plan.name} reads back", again == plan.read_text(), again)
    if program.stem == KERNELS:
        with tool.workspace() as place:
            kernels_of(program, pathlib.Path(place))
tool.check("there are programs", len(programs) > 5)
tool.finish()
