#!/usr/bin/env python3
"""Jobs of bench/everyday against Halide, by schedules written by hand and its autoschedulers, and against OpenCV and
scikit-image where these have a function for the same result.

    bench/everyday_rivals.py --build build [--results FILE.json] [--side 2048] [--threads 2] [--lanes hand,opencv]
                       [JOB ..]

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
import time

import numpy

HERE = pathlib.Path(__file__).resolve().parent
LANES = ("hand", "Mullapudi2016", "Adams2019", "opencv", "skimage")
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
    "rotate10": (["S,S:f4"], 1, 1e-2),
    "rgb_matrix_u8": (["S,S,3:u1"], 1, 1),
    "rgba_over_f32": (["S,S,4:f4", "S,S,4:f4"], 1, 1e-5),
    "haar_inverse": (["S/2,S/2:f4"] * 4, 1, 1e-5),
    "stack_smooth27": (["64,S/8,S/8:u2"], 1, 1),
    "diffuse_20": (["S/2,S/2:f4"], 1, 1e-4),
    "layer3x3_c16": (["S/8,S/8,16:f4", "3,3,16,16:f4"], 1, 1e-3),
    "table1024_f32": (["S,S:f4", "1024:f4"], 1, 1e-2),
}
# What libraries round or bring in from beyond the edges in their own way: how far off their results may be, and how
# many pixels along the edges are left out of the comparison.
LIBRARY_OFF = {
    "sobel_i16": (0, 1), "warp_field": (0.1, 9), "rotate10": (0.1, 2), "resize_27": (0.1, 2), "gauss9_u8": (1, 4),
}
LIBRARIES = {
    "opencv": {
        "transpose_f32", "gauss9_u8", "sobel_i16", "erode31_u8", "rgb_curves_u8", "warp_field", "rotate10",
        "resize_27", "rgb_matrix_u8",
    },
    "skimage": {"rotate10", "erode31_u8"},
}


def opencv(job, threads):
    """A function of the job's images by OpenCV."""
    import cv2
    cv2.setNumThreads(threads)
    near, mirror = cv2.BORDER_REPLICATE, cv2.BORDER_REFLECT_101

    def warp(image, down, right):
        y, x = numpy.indices(image.shape, numpy.float32)
        places = x + 16 * right - 8, y + 16 * down - 8
        return lambda: cv2.remap(image, *places, cv2.INTER_LINEAR, borderMode=near)

    def rotate(image):
        c, s, n = 0.98481, 0.17365, image.shape[0] // 2
        turn = numpy.array([[c, -s, n - c * n + s * n], [s, c, n - c * n - s * n]])
        how = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
        return lambda: cv2.warpAffine(image, turn, image.shape[::-1], flags=how)

    def resize(image):
        m, n = (size * 27 // 10 for size in image.shape)
        return lambda: cv2.resize(image, None, fx=2.7, fy=2.7)[:m, :n]

    binomial = numpy.array([1, 8, 28, 56, 70, 56, 28, 8, 1]) / 256
    matrix = numpy.array([[1.62, -0.48, -0.14], [-0.21, 1.51, -0.30], [0.02, -0.55, 1.53]])
    sobel = lambda a, x, y: cv2.Sobel(a, cv2.CV_16S, x, y, borderType=near)
    return {
        "transpose_f32": lambda a: lambda: cv2.transpose(a),
        "gauss9_u8": lambda a: lambda: cv2.sepFilter2D(a, -1, binomial, binomial, borderType=mirror),
        "sobel_i16": lambda a: lambda: (sobel(a, 1, 0), sobel(a, 0, 1)),
        "erode31_u8": lambda a: lambda: cv2.erode(a, numpy.ones((31, 31), numpy.uint8), borderType=near),
        "rgb_curves_u8": lambda a, *t: (lambda table: lambda: cv2.LUT(a, table))(numpy.stack(t, -1)[None]),
        "warp_field": warp,
        "rotate10": rotate,
        "resize_27": resize,
        "rgb_matrix_u8": lambda a: lambda: cv2.transform(a, matrix),
    }[job]


def skimage(job, threads):
    """The same by scikit-image."""
    from skimage import morphology, transform

    def rotate(image):
        c, s, n = 0.98481, 0.17365, image.shape[0] // 2
        turn = numpy.array([[c, -s, n - c * n + s * n], [s, c, n - c * n - s * n], [0, 0, 1]])
        return lambda: transform.warp(image, turn, order=1)

    return {
        "rotate10": rotate,
        "erode31_u8": lambda a: lambda: morphology.erosion(a, morphology.footprint_rectangle((31, 31))),
    }[job]


def library(lane, job, threads, *files):
    """Runs a job by a library of Python's: prints milliseconds, as the program of Halide does."""
    images = [numpy.load(path) for path in files[:len(JOBS[job][0])]]
    call = {"opencv": opencv, "skimage": skimage}[lane](job, threads)(*images)
    results, times, begun = call(), [], time.perf_counter()
    while not times or (len(times) < 40 and time.perf_counter() - begun < 0.5):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    for path, result in zip(files[len(images):], results if isinstance(results, tuple) else [results]):
        numpy.save(path, result)
    print(min(times) * 1e3)


def make(spec, side, path, seed):
    sizes, kind = spec.split(":")
    shape = [eval(size, {"S": side}) for size in sizes.replace("/", "//").split(",")]  # of the table above
    random = numpy.random.default_rng(seed)
    kind = numpy.dtype(kind)
    image = random.random(shape, kind) if kind.kind == "f" else random.integers(0, 256, shape, kind)
    numpy.save(path, image)
    return path


def run(command, timeout=600):
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return None, "takes too long"
    return (done.stdout, None) if done.returncode == 0 else (
        None, done.stderr.strip()[-300:] or f"exit status {done.returncode}"
    )


def off(ours, theirs, edge=0):
    """The largest difference of a result, but for so many pixels along its edges."""
    a, b = numpy.load(ours), numpy.load(theirs)
    if a.shape != b.shape and a.size == b.size and a.dtype != b.dtype:
        b = b.reshape(a.shape)
    if a.shape != b.shape:
        return float("inf")
    inside = tuple(slice(edge, n - edge) for n in a.shape[:2])
    return float(numpy.abs(a[inside].astype(numpy.float64) - b[inside].astype(numpy.float64)).max())


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
    for lane in options.lanes.split(","):
        if job not in LIBRARIES.get(lane, JOBS):
            continue
        theirs = [folder / f"{job}_{lane}{i}.npy" for i in range(n_results)]
        command, edge, most = [halide, job, lane, options.threads, *files, *theirs], 0, tolerance
        if lane in LIBRARIES:
            command = [sys.executable, __file__, "--library", lane, job, options.threads, *files, *theirs]
            most, edge = LIBRARY_OFF.get(job, (tolerance, 0))
        text, fault = run(command)
        if not fault and not all(path.exists() for path in theirs):
            fault = "no results"
        worst = None if fault else max(off(a, b, edge) for a, b in zip(ours, theirs))
        if fault or worst > most:
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
    print("| job | tessera ms | of bound % | halide by hand ms | Mullapudi2016 ms | Adams2019 ms | OpenCV ms "
          "| scikit-image ms | /hand | /OpenCV |")
    print("| --- |" + " ---: |" * 9)
    ratios = []
    for row in rows:
        if "fault" in row:
            print(f"| {row['job']} | {row['fault']} |")
            continue
        times = [row["lanes"].get(lane, {}).get("ms") for lane in LANES]
        cells = [f"{ms:.3g}" if ms else "-" for ms in times]
        ratio = f"{row['ms'] / times[0]:.2f}" if times[0] else "-"
        if times[0]:
            ratios.append(row["ms"] / times[0])
        beside = f"{row['ms'] / times[3]:.2f}" if times[3] else "-"
        share = round(100 * row["bound_ms"] / row["ms"])
        print(f"| {row['job']} | {row['ms']:.3g} | {share} | {' | '.join(cells)} | {ratio} | {beside} |")
    if ratios:
        print(f"\nGeometric mean of {len(ratios)} ratios to Halide by hand: {numpy.exp(numpy.log(ratios).mean()):.2f}")


def main():
    if sys.argv[1:2] == ["--library"]:
        lane, job, threads, *files = sys.argv[2:]
        library(lane, job, int(threads), *files)
        return
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--side", type=int, default=2048)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--lanes", default=",".join(LANES))
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
