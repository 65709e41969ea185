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
    words = ["M=16", "N=32", "--dump=estimate", f"--machine={machine}"]
    estimate = Done(*tool.run("explain", folder / "some" / "add.tess", *words))
    predicted = re.search(rf"^predicted ({NUMBER}) ms$", estimate.stdout, re.M)
    tool.check("the estimate", predicted and abs(float(predicted[1]) - found["predicted_ms"]) < 1e-5, estimate.stderr)
    tool.check("what it depends on", re.search(rf"^constant memory_exposed {NUMBER}$", estimate.stdout, re.M))
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
