#!/usr/bin/env python3
"""Jobs of bench/everyday against Halide: schedules written by hand, and its autoschedulers.

    bench/everyday_rivals.py --build build [--results FILE.json] [--side 2048] [--threads 2] [JOB ..]

Inputs are random. All lanes get the same files, and their results are compared with ours before any time counts. Each
round asks every lane in turn, and the quickest of its rounds counts. What the results file has already is not measured
again, so that a run that was stopped goes on. The table goes to standard output at the end.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy

HERE = pathlib.Path(__file__).resolve().parent
LANES = ("hand", "Mullapudi2016", "Adams2019")
# Inputs of each job, with S for the side; how many results; how far a result may be off (bytes: whole numbers).
JOBS = {
    "transpose_f32": (["S,S:f4"], 1, 0),
    "gauss9_u8": (["S,S:u1"], 1, 0),
    "sobel_i16": (["S,S:u1"], 2, 0),
    "haar_forward": (["S,S:f4"], 4, 1e-5),
    "stack_gauss5": (["64,S/8,S/8:f4"], 1, 1e-5),
    "depthwise3x3_c16": (["S/4,S/4,16:f4", "3,3,16:f4"], 1, 1e-4),
    "erode31_u8": (["S,S:u1"], 1, 0),
    "rgb_curves_u8": (["S,S,3:u1", "256:u1", "256:u1", "256:u1"], 1, 0),
    "warp_field": (["S,S:f4", "S,S:f4", "S,S:f4"], 1, 1e-2),
    "resize_27": (["S*10/27,S*10/27:f4"], 1, 1e-2),
}


def make(spec, side, path, seed):
    sizes, kind = spec.split(":")
    shape = [eval(size, {"S": side}) for size in sizes.replace("/", "//").split(",")]  # of the table above
    random = numpy.random.default_rng(seed)
    image = random.random(shape, numpy.float32) if kind == "f4" else random.integers(0, 256, shape, numpy.uint8)
    numpy.save(path, image)
    return path


def run(command, timeout=600):
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return None, "takes too long"
    return (done.stdout, None) if done.returncode == 0 else (None, done.stderr.strip()[-300:])


def off(ours, theirs):
    """The largest difference of a result, relative to its range where it is real."""
    a, b = numpy.load(ours), numpy.load(theirs)
    if a.shape != b.shape and a.size == b.size and a.dtype != b.dtype:
        b = b.reshape(a.shape)
    if a.shape != b.shape:
        return float("inf")
    return float(numpy.abs(a.astype(numpy.float64) - b.astype(numpy.float64)).max())


def measure(job, options, tool, halide, folder):
    inputs, n_results, tolerance = JOBS[job]
    row = {"job": job, "side": options.side, "threads": options.threads, "lanes": {}}
    program = HERE / "everyday" / f"{job}.tess"
    files = [make(spec, options.side, folder / f"{job}_{i}.npy", i) for i, spec in enumerate(inputs)]
    ours = [folder / f"{job}_ours{i}.npy" for i in range(n_results)]
    outputs = [word for path in ours for word in ("-o", path)]
    text, fault = run([tool, "run", program, *files, *outputs])
    if fault:
        row["fault"] = fault
        return row
    own = [tool, "bench", program, *files, "--json", f"--threads={options.threads}"]
    lanes = {}
    for lane in LANES:
        theirs = [folder / f"{job}_{lane}{i}.npy" for i in range(n_results)]
        command = [halide, job, lane, options.threads, *files, *theirs]
        text, fault = run(command)
        worst = None if fault else max(off(a, b) for a, b in zip(ours, theirs))
        if fault or worst > tolerance:
            row["lanes"][lane] = {"fault": fault or f"results differ by {worst}"}
            continue
        lanes[lane] = command
        row["lanes"][lane] = {"ms": float(text.split()[0]), "off": worst}
    row["ms"] = float("inf")
    for _ in range(options.rounds):
        text, fault = run(own)
        if fault:
            row["fault"] = fault
            return row
        found = json.loads(text.splitlines()[0])
        row["ms"] = min(row["ms"], found["min_ms"])
        row["bound_ms"] = found["bound_ms"]
        for lane, command in lanes.items():
            text, fault = run(command)
            if text:
                row["lanes"][lane]["ms"] = min(row["lanes"][lane]["ms"], float(text.split()[0]))
    return row


def table(rows):
    print("| job | tessera ms | of bound % | halide by hand ms | Mullapudi2016 ms | Adams2019 ms | /hand |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for row in rows:
        if "fault" in row:
            print(f"| {row['job']} | {row['fault']} |")
            continue
        times = [row["lanes"].get(lane, {}).get("ms") for lane in LANES]
        cells = [f"{ms:.3g}" if ms else "-" for ms in times]
        ratio = f"{row['ms'] / times[0]:.2f}" if times[0] else "-"
        share = round(100 * row["bound_ms"] / row["ms"])
        print(f"| {row['job']} | {row['ms']:.3g} | {share} | {' | '.join(cells)} | {ratio} |")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--side", type=int, default=2048)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("jobs", nargs="*")
    options = parser.parse_args()
    halide = options.build / "bench" / "rivals" / "halide_everyday"
    halide.parent.mkdir(parents=True, exist_ok=True)
    source = HERE / "rivals" / "halide_everyday.cpp"
    if not halide.exists() or halide.stat().st_mtime < source.stat().st_mtime:
        flags = ["-I/usr/include/halide14", "-l:libHalide14.so", "-lpthread", "-ldl"]
        fault = run(["c++", "-O1", "-std=c++17", source, "-o", halide, *flags])[1]
        if fault:
            sys.exit(f"everyday_rivals: no Halide (Debian: libhalide14-0-dev): {fault}")
    rows = json.loads(options.results.read_text()) if options.results and options.results.exists() else []
    with tempfile.TemporaryDirectory() as folder:
        for job in options.jobs or JOBS:
            if any(row["job"] == job and "fault" not in row for row in rows):
                continue
            rows = [row for row in rows if row["job"] != job]
            rows.append(measure(job, options, options.build / "tessera", halide, pathlib.Path(folder)))
            print(f"{job}: {json.dumps(rows[-1])}", file=sys.stderr, flush=True)
            if options.results:
                options.results.write_text(json.dumps(rows, indent=1) + "\n")
    table(rows)


if __name__ == "__main__":
    main()
