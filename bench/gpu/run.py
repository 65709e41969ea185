"""Everything about a GPU in one go: builds the tree, runs the tests on the device, then times the jobs beside the plain
copy of the same run, under the plans chosen and under the baselines of the papers, and writes a results file for
bench/report.py.

    python3 bench/gpu/run.py FOLDER [--seconds=520] [--masks=110] [--target=cuda] [--only=JOB,JOB] [--commit=ID]
    [--no-tests]

Each step is bounded in time and leaves its lines in FOLDER (gpu.jsonl, tests.txt), so that a call that was cut short
goes on where the last one stopped, also on another machine when these files are put there first. The tree is built in
TESSERA_BUILD, or in tessera-gpu-build among the temporary files. Needs cc, cmake and ninja, and the standard library of
Python. The last --masks seconds are those of masks.py, which needs PyTorch; 0 leaves it out."""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
from library import BUILD  # noqa: E402
PROGRAMS = ROOT / "bench" / "programs"
K = (3, 5, 7, 9, 11, 15, 17, 23, 31, 43)
STENCILS = ("blur", "sobel", "gauss3", "laplace5", "unsharp", "harris", "canny")
HEAVY = ("bilateral", "night")
BYTES = ("blur_u8", "box3_u8", "gauss5_u8", "sobel_u8")
MEDIANS = (5, 9, 31)
PARTITIONED = ("gauss3", "laplace5", "bilateral", "sobel", "night") # as in the paper on borders
FUSED = ("blur", "canny", "harris")                                 # as in the paper on fusion
BORDERS = ("none", "clamp", "mirror", "wrap", "constant")
# The lecture on convolution and the report on staging, whose images are doubled three times; plans are presets of the
# tool.
STAGED = {
    "lecture_1d": (["random:1:@", "random:2:5"], ("16777216",), "lecture", ("basic", "constant", "tiled", "cached")),
    "lecture_2d": (["random:1:@", "random:2:5x5"], ("4096x4096",), "lecture", ("basic", "constant", "tiled", "cached")),
    "gauss7_given": (
        ["random:1:@", "random:2:7"], ("321x481", "642x962", "1284x1924", "2568x3848"), "staged",
        ("none", "mask", "image", "both"),
    ),
}
TESTS_UNTIL, COMPILED_UNTIL = 0.35, 0.6  # shares of the time
RUNS = 40
GROUP_LINE = re.compile(r"^ +([xyzw]|split|resident|packed|frame|copy|stage .* (with|at)) ?.*\n", re.M)


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=520)
    parser.add_argument("--masks", type=float, default=110)
    parser.add_argument("--target", default="cuda")
    parser.add_argument("--only", default="")
    parser.add_argument("--commit", default="")
    parser.add_argument("--no-tests", action="store_true")
    return parser.parse_args()


OPTIONS = options()
FOLDER = OPTIONS.folder.resolve()
TOOL = str(BUILD / "tessera")
END = time.monotonic() + OPTIONS.seconds
WORKERS = min(12, os.cpu_count() or 1)
os.environ["TESSERA_CACHE"] = str(BUILD / "cache")
os.environ["TESSERA_TARGET"] = OPTIONS.target


def left():
    return END - time.monotonic()


def say(text):
    print(f"[{OPTIONS.seconds - left():6.1f} s] {text}", flush=True)


def run(command, seconds):
    """(exit code, output); 124 when it took too long."""
    if min(seconds, left()) <= 0:
        return 124, ""
    try:
        done = subprocess.run(
            list(map(str, command)), capture_output=True, text=True, timeout=min(seconds, left()), cwd=ROOT
        )
        return done.returncode, done.stdout + done.stderr
    except subprocess.TimeoutExpired as late:
        return 124, str(late.stdout or "")


def build():
    BUILD.mkdir(parents=True, exist_ok=True)
    for command in (
        ["cmake", "-S", ROOT, "-B", BUILD, "-G", "Ninja"],
        [
            "ninja", "-C", BUILD, "tessera", "tessera_shared",
            *([] if OPTIONS.no_tests else ["test_gpu_api", "test_gpu_corpus"]),
        ],
    ):
        code, output = run(command, 150)
        if code:
            sys.exit(f"{command[0]} failed:\n{output[-3000:]}")
    say("built")


# ---- Tests
# --------------------------------------------------------------------------------------------------
def note(name, code, output):
    if code == 124: # again next time
        return
    with open(FOLDER / "tests.txt", "a") as f:
        f.write(f"{name}: {'passed' if code == 0 else 'skipped' if code == 77 else f'FAILED ({code})'}\n")
        if code not in (0, 77):
            f.write(output[-4000:] + "\n")


def tests():
    done = (FOLDER / "tests.txt").read_text() if (FOLDER / "tests.txt").exists() else ""
    corpus = sorted(p for p in (ROOT / "tests" / "corpus").iterdir() if p.suffix in (".tess", ".idsl"))
    parts = [corpus[i::WORKERS * 2] for i in range(WORKERS * 2)]
    jobs = [("test_gpu_api", [BUILD / "tests" / "test_gpu_api"])]
    for name, program, inputs in programs():
        for size in ((61, 83), (1, 7), (300, 517)):
            files = [text.replace("@", f"{size[0]}x{size[1]}") for text in inputs]
            jobs.append(
                (
                    f"verify {name} {size[0]}x{size[1]}",
                    [TOOL, "run", program, *files, "-o", "RESULTS", f"--target={OPTIONS.target}", "--verify"],
                )
            )
    jobs += [(f"corpus part {i}", [BUILD / "tests" / "test_gpu_corpus", *part]) for i, part in enumerate(parts)]
    jobs = [job for job in jobs if f"{job[0]}: " not in done]

    def one(job):
        name, command = job
        scratch = BUILD / f"{re.sub('[^a-z0-9]', '_', name)}.npy"
        outputs = count_results(command[2]) if command[0] == TOOL else 0
        if outputs:
            at = command.index("-o")
            command = command[:at] + [w for i in range(outputs) for w in ("-o", f"{scratch}{i}.npy")] + command[at + 2:]
        code, output = run(command, min(240, left() - OPTIONS.seconds * (1 - TESTS_UNTIL)))
        note(name, code, output)
        for i in range(outputs):
            pathlib.Path(f"{scratch}{i}.npy").unlink(missing_ok=True)
        return code
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        codes = list(pool.map(one, jobs))
    say(f"tests: {codes.count(0)} passed, {codes.count(77)} skipped, {codes.count(124)} not done, "
        f"{sum(c not in (0, 77, 124) for c in codes)} failed")
    print((FOLDER / "tests.txt").read_text() if any(c not in (0, 77, 124) for c in codes) else "", end="")


def count_results(program):
    """Of the benches' programs, which return at the end of the text."""
    text = re.sub(r"//.*", "", pathlib.Path(program).read_text())
    result = re.search(r"^return ([^;]*);", text, re.M).group(1)
    depth, n = 0, 1
    for c in result:
        depth += (c in "([{") - (c in ")]}")
        n += c == "," and depth == 0
    return n


# ---- Jobs
# --------------------------------------------------------------------------------------------------
def programs():
    """(name, program, inputs): the sizes stand for @."""
    for name in (*STENCILS, *HEAVY, *BYTES):
        yield name, PROGRAMS / f"{name}.tess", ["random:1:3x@" if name == "unsharp" else "random:1:@"]
    yield "bilateral_fast", PROGRAMS / "bilateral.tess", ["random:1:@", "--fp=fast"]
    for k in MEDIANS:
        yield f"median{k}_u8", PROGRAMS / "median_u8.tess", ["random:1:@", f"R={k // 2}"]
    for k in K:
        yield f"conv2d_{k}", PROGRAMS / "conv2d.tess", ["random:1:@", f"R={k // 2}"]
    for k in K:
        yield f"conv2d_given_{k}", PROGRAMS / "conv2d_given.tess", [
            "random:1:@", f"random:2:{k}x{k}", f"K={k}", f"L={k}",
        ]


def plan_of(program, numbers, *preset):
    code, output = run([TOOL, "explain", program, *numbers, f"--target={OPTIONS.target}", *preset], 60)
    return output if code == 0 else ""


def by_points(chosen, split):
    """What the plan chosen computes together, a thread a point."""
    plan = re.sub(r"^(group [^\n]*\n)", r"\1    preset point\n", GROUP_LINE.sub("", chosen), flags=re.M)
    return re.sub(r"((?:^    stage [^\n]* in memory\n)+)", rf"\1    split {split}\n", plan, flags=re.M)


def plans(name, program, inputs):
    """Writes the texts of the plans that are not the tool's choice; their names."""
    numbers = [word for word in inputs if "=" in word]
    if name.startswith("conv2d"):
        return
    chosen = plan_of(program, numbers)
    if not chosen:
        return
    made = {
        "naive": plan_of(program, numbers, "--plan=lecture-basic"),
        "unfused": plan_of(program, numbers, "--plan=unfused-register"),
    }
    if name in FUSED:
        made["overlapped"] = plan_of(program, numbers, "--plan=overlapped")
    for split in ("none", "interior", "warp"):
        made[f"point-{split}"] = by_points(chosen, split)
    folder = BUILD / "plans"
    folder.mkdir(exist_ok=True)
    for plan, text in made.items():
        (folder / f"{name}.{plan}.plan").write_text(text)


def points():
    """(job, program, inputs, size, plan, border, target) in the order in which they matter."""
    wanted = [p for p in programs() if not OPTIONS.only or p[0] in OPTIONS.only.split(",")]
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(lambda p: plans(*p), wanted))
    simple = [p for p in wanted if not p[0].startswith("conv2d")]
    target = OPTIONS.target
    for size in (8192, 4096, 512):
        for p in simple:
            yield *p, size, "chosen", "", target
    for p in simple if target == "cuda" else []:
        yield *p, 8192, "chosen", "", "opencl"
    for p in simple:
        for plan in ("unfused", "naive", "overlapped") if p[0] in FUSED else ():
            yield *p, 8192, plan, "", target
    for border in BORDERS:
        for p in simple:
            if p[0] in STENCILS:
                yield *p, 4096, "chosen", border, target
    for name, (inputs, sizes, family, presets) in STAGED.items():
        for size in sizes if not OPTIONS.only or name in OPTIONS.only.split(",") else ():
            for plan in (*(f"{family}-{preset}" for preset in presets), "chosen"):
                yield name, PROGRAMS / f"{name}.tess", inputs, size, plan, "", target
    for size in (512, 4096, 1024, 2048):
        for p in simple:
            for border in BORDERS[1:] if p[0] in PARTITIONED else ():
                for plan in ("point-none", "point-interior", "point-warp"):
                    yield *p, size, plan, border, target


def command(point, verb, size):
    name, program, inputs, _, plan, border, target = point
    extent = f"{size}x{size}" if isinstance(size, int) else size
    words = [TOOL, verb, program, *[text.replace("@", extent) for text in inputs], f"--target={target}"]
    if plan.startswith(("lecture-", "staged-")):
        words.append(f"--plan={plan}")
    elif plan != "chosen":
        words.append(f"--plan={BUILD / 'plans' / f'{name}.{plan}.plan'}")
    if border:
        words.append(f"--border={border}")
    return words


def key(point):
    name, _, _, size, plan, border, target = point
    return [name, size, plan, border, target]


def measure():
    lines = FOLDER / "gpu.jsonl"
    results = [json.loads(line) for line in lines.read_text().splitlines()] if lines.exists() else []
    done = {json.dumps(r["key"]) for r in results}
    todo = [p for p in points() if json.dumps(key(p)) not in done]
    say(f"{len(todo)} points to measure, {len(done)} there")
    # Compiling is most of the time of a first run, and can be done side by side; timing cannot.
    # Small images have kernels of their own.
    seen, warm = set(), []
    for p in todo:
        small = isinstance(p[3], int) and p[3] < 1024 and p[4] == "chosen"
        size = 64 if small else 1024 if isinstance(p[3], int) else p[3]
        once = (p[0], size, *p[4:])
        if once not in seen:
            seen.add(once)
            warm.append((p, size))
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        list(
            pool.map(
                lambda w: left() > OPTIONS.seconds * (1 - COMPILED_UNTIL)
                and run(command(w[0], "bench", w[1]) + ["--runs=1"], 60),
                warm,
            )
        )
    say("compiled")
    with open(lines, "a") as f:
        for p in todo:
            if left() < 20 + OPTIONS.masks:
                say("out of time")
                break
            code, output = run(command(p, "bench", p[3]) + ["--json", f"--runs={RUNS}"], 30)
            if code == 124: # again next time
                continue
            record = {"key": key(p), "code": code, "commit": OPTIONS.commit}
            try:
                record.update(json.loads(output.splitlines()[-1]))
            except (ValueError, IndexError):
                record["error"] = output.strip()[-300:]
            f.write(json.dumps(record) + "\n")
            f.flush()
            results.append(record)
    return results


def table(results):
    good = [r for r in results if "median_ms" in r]
    print(f"{'job':14} {'size':>5} {'chosen ms':>10} {'copy':>6} {'GFLOP/s':>9}  best plan")
    for name, _, _ in programs():
        for size in (8192, 4096, 2048, 512):
            same = [
                r
                for r in good
                if r["key"][0] == name and r["key"][1] == size and not r["key"][3] and r["key"][4] == OPTIONS.target
            ]
            chosen = [r for r in same if r["key"][2] == "chosen"]
            if not chosen:
                continue
            c, best = chosen[0], min(same, key=lambda r: r["median_ms"])
            print(f"{name:14} {size:5} {c['median_ms']:10.4f} {c['share_of_copy']:6.1%} {c['gflops']:9.0f}  "
                  f"{best['key'][2]} {best['median_ms']:.4f} ({best['share_of_copy']:.1%})")
    bad = [r for r in results if "median_ms" not in r]
    print(f"{len(good)} measured, {len(bad)} not:")
    reasons = {}
    for r in bad:
        reasons.setdefault(r.get("error", "")[:160], []).append("/".join(map(str, r["key"])))
    for why, keys in sorted(reasons.items(), key=lambda x: -len(x[1]))[:12]:
        print(f"  {len(keys)} x {why}\n      {', '.join(keys[:3])}")


def masks():
    """The part about masks, in what is left of the time; it says what it measures."""
    if OPTIONS.masks > 0 and OPTIONS.target == "cuda" and left() > 0:
        words = [f"--seconds={min(OPTIONS.masks, left()):.0f}", f"--commit={OPTIONS.commit}"]
        subprocess.run([sys.executable, ROOT / "bench" / "gpu" / "masks.py", FOLDER, *words], check=False,
                       env={**os.environ, "TESSERA_BUILD": str(BUILD)})


def mask_rows():
    lines = FOLDER / "masks.jsonl"
    rows = [json.loads(line) for line in lines.read_text().splitlines()] if lines.exists() else []
    return [
        {k: r[k] for k in ("kind", "k", "l", "size", "median_ms", "copy_ms", "commit")}
        for r in rows
        if "median_ms" in r
    ]


def write_results(results, machine):
    """For bench/report.py: one row a line."""
    kept = ("median_ms", "copy_ms", "gflops")
    rows = [
        dict(
            zip(("job", "size", "plan", "border", "target"), r["key"]), **{k: r[k] for k in kept},
            commit=r.get("commit", ""),
        )
        for r in results
        if "median_ms" in r
    ]
    facts = next(({"device": r["device"], "driver": r["driver"]} for r in results if "device" in r), {})
    head = {**facts, "machine": dict(line.split(" = ", 1) for line in machine.splitlines() if " = " in line)}
    lists = {"rows": rows, "masks": mask_rows()}
    parts = [
        f' "{name}": [\n' + ",\n".join("  " + json.dumps(row) for row in part) + "\n ]" for name, part in lists.items()
    ]
    text = json.dumps(head, indent=1)[:-2] + ",\n" + ",\n".join(parts) + "\n}\n"
    (FOLDER / "results.json").write_text(text)


FOLDER.mkdir(parents=True, exist_ok=True)
build()
code, text = run([TOOL, "machine", f"--target={OPTIONS.target}"], 60)
(FOLDER / "machine.txt").write_text(text)
print(text)
if code:
    sys.exit(1)
if not OPTIONS.no_tests:
    tests()
measured = measure()
table(measured)
masks()
write_results(measured, text)
