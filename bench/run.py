#!/usr/bin/env python3
"""Measures Tessera beside its rivals and beside the plain copy: all contestants ("lanes") of a job are started
together, their results are compared, and then they run in turn, a batch of about 20 ms each after as long a warm-up,
round after round, because the memory's speed swings by the minute. A ratio is the median of the ratios of the rounds.

    bench/run.py --build build                  everything: some ten minutes
    bench/run.py --build build --fast           a choice of jobs, under a minute
    bench/run.py --build build --only harris --only conv2d:17 --size 4096 --threads 2
    bench/run.py --build build --only canny --append     renews these rows of the results file

Results go to bench/results/YYYY-MM-DD-cpu.json (--results FILE: elsewhere; --results -: nowhere). Rivals that are not
installed are left out with a message."""
import argparse
import array
import datetime
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

import results
import rivals
from jobs import BASELINES, BORDERS, BY_NAME, JOBS, WITH_BASELINES, WITH_BORDERS, weights_of

HERE = pathlib.Path(__file__).resolve().parent
FAST = (
    ("blur", 0), ("sobel", 0), ("harris", 0), ("canny", 0), ("conv2d", 5), ("conv2d", 17), ("separable", 9),
    ("blur_u8", 0),
)
PATIENCE = 8
REST_S = 0.01  # so that threads which wait by spinning are asleep when the next lane runs


class Lane:
    """One contestant: a process that runs the job when told."""

    def __init__(self, command, environment=None):
        self.process = subprocess.Popen(
            [str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        self.state = self.answer()
        self.batches = []
        self.disturbed = 0

    def answer(self):
        line = self.process.stdout.readline()
        try:
            return json.loads(line)
        except json.JSONDecodeError:
            return {"error": f"died with status {self.process.wait()}"}

    def batch(self, runs):
        """Runs a batch; again, a few times, when another process took the cores meanwhile."""
        for _ in range(PATIENCE):
            self.process.stdin.write(f"{runs}\n")
            self.process.stdin.flush()
            answer = self.answer()
            if "ms" not in answer:
                raise RuntimeError(answer.get("error", "no answer"))
            if answer["preempted"] < 2 + sum(answer["ms"]) / 50: # the kernel's own threads take a core now and then
                break
            time.sleep(10 * REST_S)
        else:
            self.disturbed += 1
        self.batches.append(answer["ms"])

    def close(self):
        self.process.stdin.close()
        self.process.stdout.read()
        self.process.wait()


class Bench:
    def __init__(self, options):
        self.options = options
        self.build = pathlib.Path(options.build).resolve()
        self.work = self.build / "bench" / "work"
        self.work.mkdir(parents=True, exist_ok=True)
        self.machine = results.machine(self.build / "tessera")
        self.rivals = rivals.Rivals(self.build, [] if options.no_rivals else options.rival or rivals.NAMES)

    def image(self, job, size):
        path = self.work / f"{job.dtype}-{job.planes}-{size}.raw"
        if not path.exists():
            subprocess.run(
                [self.build / "bench" / "bench_images", "make", job.dtype, str(job.planes), str(size), str(size), path],
                check=True,
            )
        return path

    def common(self, job, k, size, threads, lane):
        words = [
            f"dtype={job.dtype}", f"width={size}", f"height={size}", f"planes={job.planes}", f"k={k}",
            f"threads={threads}", f"input={self.image(job, size)}", f"output={self.work / lane}.out", f"rival={lane}",
        ]
        weights = weights_of(job, k)
        if weights:
            path = self.work / f"{job.name}-{k}.weights"
            path.write_bytes(array.array("f", weights).tobytes())
            words.append(f"weights={path}")
        return words

    def tessera(self, job, k, extra=()):
        words = [
            self.build / "bench" / "bench_tessera", f"job={job.name}",
            f"program={HERE / 'programs' / job.program}.tess", *extra,
        ]
        if job.name == "conv2d_given":
            words.append(f"mask=w:{k}")
        elif k:
            words.append(f"const=R:{k // 2}")
        return words

    def commands(self, table, job, k, size, threads):
        """The lanes of a table: name -> command."""
        copy = [self.build / "bench" / "bench_copy", "job=copy"]
        lanes = {}
        if table == "rivals":
            lanes["tessera"] = self.tessera(job, k)
            if self.options.fp or job.fp:
                lanes["tessera"].append(f"fp={self.options.fp or job.fp}")
            lanes.update(self.rivals.commands(job, k, size, threads))
        elif table == "fusion":
            lanes["tessera"] = self.tessera(job, k)
            for name in BASELINES:
                path = self.work / f"{name}.plan"
                path.write_text(f"preset {name}\n")
                lanes[name] = self.tessera(job, k, [f"plan={path}"])
        else:
            for rule in BORDERS:
                lanes[rule] = self.tessera(job, k, [f"border={rule}"])
        lanes["copy"] = [*copy, "stores=plain"]
        lanes["copy-streaming"] = [*copy, "stores=streaming"]
        return {name: [*words, *self.common(job, k, size, threads, name)] for name, words in lanes.items()}

    def agreement(self, table, job, size, reference, lane):
        """Compares a lane's result with the reference's; raises when they lie too far apart."""
        if lane.startswith("copy") or lane == reference or lane == "none":
            return None
        margin = job.halo if lane == "halide" else 0
        tolerance, deviating = (0.0, 0.0) if table == "fusion" else (job.tolerance, job.deviating)
        if table == "borders": # only pixels that no rule reaches
            margin, tolerance = 40, 0.0
        files = [self.work / f"{name}.out" for name in (reference, lane)]
        shape = [job.dtype, str(job.planes), str(size), str(size)]
        scale = 255.0 if job.dtype == "uint8" else self.largest(shape, files[0])
        done = subprocess.run(
            [self.build / "bench" / "bench_images", "compare", *shape, str(margin), repr(tolerance * scale), *files],
            capture_output=True, text=True, check=True,
        )
        found = json.loads(done.stdout.replace("nan", "NaN"))
        found["margin"] = margin
        if found["beyond"] > deviating * found["compared"]:
            raise RuntimeError(f"{lane} differs from {reference}: {found}")
        return found

    def largest(self, shape, path):
        done = subprocess.run(
            [self.build / "bench" / "bench_images", "compare", *shape, "0", "0", path, path], capture_output=True,
            text=True, check=True,
        )
        return json.loads(done.stdout)["largest"]

    def prepare(self, table, job, k, size, threads):
        """Fills the caches of compiled code: the lanes start and end."""
        for name, command in self.commands(table, job, k, size, threads).items():
            if "bench_tessera" in str(command[0]):
                lane = Lane(command)
                if "error" in lane.state:
                    print(f"{job.name} {k or ''} {name}: {lane.state['error']}", file=sys.stderr)
                lane.close()

    def measure(self, table, job, k, size, threads):
        """One row of a table."""
        row = {
            "table": table, "job": job.name, "k": k, "dtype": job.dtype, "width": size, "height": size,
            "planes": job.planes, "threads": threads, "lanes": {}, "agreement": {},
        }
        lanes, times, states = {}, {}, {}
        commands = self.commands(table, job, k, size, threads)
        try:
            for name, command in commands.items():
                lane = Lane(command)
                if "error" in lane.state:
                    if name in ("tessera", "clamp", "copy"):
                        raise RuntimeError(f"{name}: {lane.state['error']}")
                    if "no call with this result" not in lane.state["error"]:
                        print(f"  without {name}: {lane.state['error']}", file=sys.stderr)
                    lane.close()
                    continue
                lanes[name] = lane
                found = (
                    self.agreement(table, job, size, "clamp" if table == "borders" else "tessera", name)
                    if "clamp" in lanes or table != "borders"
                    else None
                )
                if found:
                    row["agreement"][name] = found
            states = {name: lane.state for name, lane in lanes.items()}
            for again in range(self.options.processes):
                if again: # other pages: how they lie in the caches differs from process to process
                    for name in lanes:
                        lanes[name].close()
                        lanes[name] = Lane(commands[name])
                self.rounds(lanes)
                for name, lane in lanes.items():
                    batches, disturbed = times.setdefault(name, [[], 0])
                    times[name] = [batches + lane.batches, disturbed + lane.disturbed]
        finally:
            for lane in lanes.values():
                lane.close()
            for path in self.work.glob("*.out"):
                path.unlink()
        for name, (batches, disturbed) in times.items():
            ms = sorted(ms for batch in batches for ms in batch)
            row["lanes"][name] = {"median_ms": statistics.median(ms), "min_ms": ms[0], "runs": len(ms),
                                  "compile_ms": states[name]["compile_ms"], "disturbed": disturbed,
                                  "rounds_ms": [statistics.median(batch) for batch in batches]}
        return row

    def rounds(self, lanes):
        names = list(lanes)
        runs = {
            name: max(1, min(400, int(self.options.batch_ms / max(lane.state["run_ms"], 1e-3))))
            for name, lane in lanes.items()
        }
        begun, n = time.monotonic(), 0
        while n < self.options.rounds and (n < 3 or time.monotonic() - begun < self.options.row_s):
            for i in range(len(names)):
                name = names[(i + n) % len(names)]
                lanes[name].batch(runs[name])
                time.sleep(REST_S)
            n += 1


def wanted_rows(options):
    """(table, job, k, size, threads) in order."""
    sizes, threads = options.size or (4096, 2048, 512), options.threads or (2, 1)
    tables = options.table or ("rivals", "fusion", "borders")
    if options.fast:
        sizes, threads, tables = options.size or (2048,), options.threads or (2,), options.table or ("rivals",)
    for table in tables:
        for job in JOBS:
            if job.name not in (
                WITH_BORDERS if table == "borders" else WITH_BASELINES if table == "fusion" else BY_NAME
            ):
                continue
            for k in job.sizes_of_mask:
                if options.only and not any(name in (job.name, f"{job.name}:{k}") for name in options.only):
                    continue
                if options.fast and not options.only and (job.name, k) not in FAST:
                    continue
                for size in sizes:
                    for n in threads:
                        if table == "rivals" or n == max(threads):
                            yield table, job, k, size, n


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=HERE.parent / "build", help="build folder")
    parser.add_argument("--only", action="append", help="JOB or JOB:K; may be repeated")
    parser.add_argument("--size", action="append", type=int, help="width and height; may be repeated")
    parser.add_argument("--threads", action="append", type=int, help="may be repeated")
    parser.add_argument("--table", action="append", choices=("rivals", "fusion", "borders"), help="may be repeated")
    parser.add_argument("--rival", action="append", choices=rivals.NAMES, help="only these rivals")
    parser.add_argument("--no-rivals", action="store_true", help="Tessera and the copy alone")
    parser.add_argument("--fp", choices=("fast",), help="Tessera with --fp=fast")
    parser.add_argument("--fast", action="store_true", help="a few jobs, fewer rounds")
    parser.add_argument("--rounds", type=int, help="rounds of a row (11; 5 with --fast)")
    parser.add_argument(
        "--processes", type=int, default=1, help="how often each lane is started anew and measured again (1)"
    )
    parser.add_argument("--batch-ms", type=float, default=20.0, help="length of one lane's turn")
    parser.add_argument("--row-s", type=float, default=2.5, help="no further round of a row after so many seconds")
    parser.add_argument("--prepare", action="store_true", help="compile everything, measure nothing")
    parser.add_argument("--append", action="store_true", help="add to the results file, replacing rows measured again")
    parser.add_argument("--results", help="results file, or - for none")
    options = parser.parse_args()
    options.rounds = options.rounds or (5 if options.fast else 11)
    bench = Bench(options)
    for message in bench.rivals.messages:
        print(message, file=sys.stderr)
    path = pathlib.Path(options.results) if options.results else HERE / "results" / f"{datetime.date.today()}-cpu.json"
    book = results.Book(None if options.results == "-" else path, options.append, bench)
    failed, shown = 0, None
    for table, job, k, size, threads in wanted_rows(options):
        if options.prepare:
            bench.prepare(table, job, k, size, threads)
            continue
        if shown != table:
            print(results.heading(table))
            shown = table
        try:
            row = bench.measure(table, job, k, size, threads)
        except (RuntimeError, subprocess.CalledProcessError) as error:
            print(f"{job.name} {k or ''} {size} {threads}: {error}", file=sys.stderr)
            failed += 1
            continue
        book.add(row)
        print(results.line(row), flush=True)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
