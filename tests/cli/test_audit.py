"""bench/everyday: every program gives the interpreter's pixels and becomes kernels; tessera bench --audit makes their
inputs, predicts, measures and sums up. Nothing is said about times."""
import concurrent.futures
import json
import pathlib
import re
import sys
import typing

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import tool

EVERYDAY = sorted((tool.ROOT / "bench" / "everyday").glob("*.tess"))
SIDES = {"blend8": 256, "push_pull": 64}  # pyramids of many levels
COMPILED = ["curve_then_blur", "daub4_inverse", "rgb_gauss7_u8"]
NUMBER = r"\d+\.\d+"


class Done(typing.NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def audit(path, *options):
    return Done(*tool.run("bench", "--audit", path, *options))


def verify(path):
    return path, audit(path, "--verify", f"--side={SIDES.get(path.stem, 40)}", "--target=loops")


def check_pixels():
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for path, done in pool.map(verify, EVERYDAY):
            tool.check(f"{path.stem}: loops", "gives the same pixels" in done.stdout, done.stdout + done.stderr)
    for name in COMPILED:
        done = audit(tool.ROOT / f"bench/everyday/{name}.tess", "--verify", "--side=70", "--target=c", "--threads=1")
        tool.check(f"{name}: C", "gives the same pixels" in done.stdout, done.stdout + done.stderr)


def check_kernels():
    machine = f"--machine={tool.ROOT}/machines/h200.machine"
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        dump = lambda path: (path, Done(*tool.run("explain", path, "--dump=cuda", machine)))
        for path, done in pool.map(dump, EVERYDAY):
            tool.check(f"{path.stem}: CUDA", done.returncode == 0 and "TESS_KERNEL" in done.stdout, done.stderr)


def check_bound(program, machine):
    """explain says what no plan goes below, for sizes that are known, and where a plan loses much of it."""
    done = Done(*tool.run("explain", program, "M=16", "N=32", machine))
    share = re.search(r"^    why expected [\d.]+ ms, (\d+) % of the bound; starting 1 group takes", done.stdout, re.M)
    bound = re.search(r"^    why bound [\d.]+ ms: 8192 bytes take [\d.]+ ms, operations [\d.]+ ms", done.stdout, re.M)
    tool.check("the bound", bound and share and int(share[1]) <= 100, done.stdout + done.stderr)
    done = Done(*tool.run("explain", program, machine))
    tool.check("no bound without sizes", "why bound" not in done.stdout, done.stdout + done.stderr)
    grid = tool.ROOT / "bench" / "everyday" / "bilateral_grid.tess"
    done = Done(*tool.run("explain", grid, "M=4096", "N=4096", f"--machine={tool.ROOT}/machines/h200.machine"))
    lost = r"^    why lost in 'sums': [\d.]+ ms of [\d.]+ ms; .* 64 B a point are of images between groups"
    tool.check("what is lost", re.search(lost, done.stdout, re.M), done.stdout + done.stderr)


def check_runs_of_kernels(folder):
    """Predictions for GPUs: each kernel waits for the one before, and images that the second cache holds stay there."""
    machine = f"--machine={tool.ROOT}/machines/h200.machine"

    def predicted(program, side):
        words = [f"M={side}", f"N={side}", machine, "--dump=estimate"]
        done = Done(*tool.run("explain", program, *words))
        found = [re.search(rf"^{what} ({NUMBER}) ms$", done.stdout, re.M) for what in ("predicted", "to start")]
        tool.check(f"an estimate at {side}", all(found), done.stdout + done.stderr)
        return [float(x[1]) for x in found]

    program = folder / "twice.tess"
    program.write_text("parameter M, N;\nvector#2 float a[M, N];\nreturn 2 * a;\n")
    small, start = predicted(program, 1024)
    large, _ = predicted(program, 8192)
    tool.check("the second cache", (large - start) > 1.2 * 64 * (small - start), (small, large, start))
    grid = tool.ROOT / "bench" / "everyday" / "bilateral_grid.tess"
    _, starts = predicted(grid, 4096)
    kernels = tool.run("explain", grid, "M=4096", "N=4096", machine)[1].count("\ngroup ")
    alike = kernels > 3 and abs(starts - kernels * start) < 0.002
    tool.check("a start for each kernel", alike, (start, starts, kernels))


def check_second_lines(folder):
    """Predictions for CPUs: vectors read beside where they are stored reach into a second line of the cache."""
    machine = f"--machine={tool.ROOT}/machines/generic-avx512.machine"
    program = folder / "beside.tess"
    for reads, crosses in (("a@[0, -1] + a@[0, 1]", True), ("a@[-1, 0] + a@[1, 0]", False)):
        program.write_text(f"parameter M, N;\nvector#2 float a[M, N];\nreturn {reads};\n")
        done = Done(*tool.run("explain", program, "M=2048", "N=2048", machine, "--dump=estimate"))
        found = "constant run_crossing" in done.stdout
        tool.check(f"vectors of {reads} in two lines", done.returncode == 0 and found == crosses, done.stdout)


def check_audit(folder):
    folder = pathlib.Path(folder)
    (folder / "none").mkdir()
    (folder / "some").mkdir()
    text = "// Adds.\n// audit: M=S/2 gain=3\nparameter M, N;\nfloat gain;\nint shift in 1..9;\n"
    text += "vector#2 float a[M, N];\nvector#2 float b[M, 2 * N];\nreturn gain * a + b@[0, (0, 2)] + shift;\n"
    (folder / "some" / "add.tess").write_text(text)
    machine = tool.ROOT / "machines" / "generic-avx2.machine"
    options = ["--side=32", "--threads=1", "--plans=1", f"--machine={machine}"]
    done = audit(folder / "some", *options)
    row = rf"add +{NUMBER} +{NUMBER} +{NUMBER} +-?{NUMBER} +{NUMBER} +\d+"
    tool.check("a row", done.returncode == 0 and re.search(row, done.stdout), done.stdout + done.stderr)
    tool.check("the summary", re.search(r"of 1 within 0\.75 and 1\.33 \(\d+ %\), geometric mean", done.stdout))
    done = audit(folder / "some", *options, "--json")
    found = json.loads(done.stdout) if done.returncode == 0 else {}
    tool.check("the words", found.get("words") == ["M=16", "gain=3", "N=32", "shift=5"], done.stdout + done.stderr)
    plans = found.get("plans", [])
    good = len(plans) == 2 and all(p["plan"].startswith("plan add\n") and p["predicted_ms"] > 0 for p in plans)
    tool.check("the plans", good, found)
    tool.check("the bound", found.get("bound_ms", 0) > 0 and found["bound_memory_ms"] <= found["bound_ms"])
    alone = audit(folder / "some", *options[:2], "--plans=0", options[3], "--json")
    none = json.loads(alone.stdout)["plans"] if alone.returncode == 0 else []
    tool.check("no other plans", len(none) == 1 and none[0]["measured_ms"] > 0, alone.stdout + alone.stderr)
    words = ["M=16", "N=32", "--dump=estimate", f"--machine={machine}"]
    estimate = Done(*tool.run("explain", folder / "some" / "add.tess", *words))
    predicted = re.search(rf"^predicted ({NUMBER}) ms$", estimate.stdout, re.M)
    tool.check("the estimate", predicted and abs(float(predicted[1]) - found["predicted_ms"]) < 1e-5, estimate.stderr)
    tool.check("what it depends on", re.search(rf"^constant memory_exposed {NUMBER}$", estimate.stdout, re.M))
    check_runs_of_kernels(folder)
    check_second_lines(folder)
    check_bound(folder / "some" / "add.tess", f"--machine={machine}")
    for what, arguments, sentence in (
        ("an empty folder", [folder / "none"], "has no programs"),
        ("no folder", [folder / "nothing"], "cannot read"),
        ("an input too many", [folder / "some", "x=3"], "an audit makes the inputs itself"),
        ("a plan", [folder / "some", "--plan=naive.plan"], "not of --plan"),
    ):
        done = audit(*arguments)
        tool.check(what, done.returncode != 0 and sentence in done.stderr, done.stderr)
    (folder / "some" / "bad.tess").write_text("// audit: M=S/0\nparameter M;\nvector#1 float a[M];\nreturn a;\n")
    done = audit(folder / "some", *options)
    tool.check("others go on", done.returncode == 1 and "1 could not be measured" in done.stdout, done.stderr)


check_pixels()
check_kernels()
with tool.workspace() as workspace:
    check_audit(workspace)
tool.finish()
