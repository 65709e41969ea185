"""How long the first result of a mask takes whose extent is known only when it comes, with an empty cache and nothing
loaded.

    python3 bench/gpu/first.py [--size=2048] [--target=cuda]

For each extent a process of its own compiles the program and runs it on images in memory of the host, with a mask of K
x K and then, in the same process, of K x (K + 2): once waiting for the compiler, once with general code meanwhile.
Expects the library in TESSERA_BUILD, as bench/gpu/run.py builds it; needs nothing else."""
import argparse
import ctypes
import hashlib
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

from library import BUILD, Library, Tensor

PROGRAM = pathlib.Path(__file__).resolve().parents[2] / "bench" / "programs" / "conv2d_given.tess"
EXTENTS = (3, 7, 15, 23, 31, 43)
WAYS = ("never", "meanwhile")
SETTLED = 4.0 # seconds after which no better code is expected


def image(rows, columns, seed):
    values = random.Random(seed)
    line = [values.random() for _ in range(columns)]
    made = (ctypes.c_float * (rows * columns))()
    for y in range(rows):
        at = values.randrange(columns)
        made[y * columns:(y + 1) * columns] = line[at:] + line[:at]
    return made


def tensor(data, rows, columns):
    REAL, CPU = 2, 1
    made = Tensor(ctypes.addressof(data), CPU, 0, 2, REAL, 32, 1, (ctypes.c_int64 * 2)(rows, columns))
    made.kept = data
    return made


class Timing(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t), ("front_ms", ctypes.c_double), ("compile_ms", ctypes.c_double),
        ("run_ms", ctypes.c_double),
    ]


def first_runs(program, waits, photo, mask, out):
    """Of the first run, and of the first by code for the extent: milliseconds until it was done, of its kernels, of
    planning and printing."""
    for name, t in (("photo", photo), ("w", mask)):
        program.check(program.c.tess_args_image(program.args, name.encode(), ctypes.byref(t)))
    program.check(program.c.tess_args_output(program.args, 0, ctypes.byref(out)))
    start, runs = time.perf_counter(), []
    timing = Timing(struct_size=ctypes.sizeof(Timing))
    while not runs or (time.perf_counter() - start < SETTLED and runs[-1][1] > 0.5 * runs[0][1] and len(runs) < 4000):
        program.run()
        program.check(program.c.tess_args_timing(program.args, ctypes.byref(timing)))
        runs.append((1000 * (time.perf_counter() - start), timing.run_ms, timing.front_ms))
        if waits:
            break
    program.run()
    return {"first": runs[0], "last": runs[-1], "digest": hashlib.sha256(out.kept).hexdigest()}


def measure(way, k, size, target):
    photo, out = tensor(image(size, size, 1), size, size), tensor((ctypes.c_float * (size * size))(), size, size)
    library = Library(BUILD / "libtessera.so")
    library.c.tess_args_timing.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    program = library.program(PROGRAM, target=target, general=WAYS.index(way))
    made = {}
    for columns in (k, k + 2):
        made[f"{k}x{columns}"] = first_runs(
            program, way == "never", photo, tensor(image(k, columns, 2), k, columns), out
        )
    program.free()
    return made


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=2048)
    parser.add_argument("--target", default="cuda")
    parser.add_argument("--extents", default=",".join(map(str, EXTENTS)))
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        print(json.dumps(measure(asked.one[0], int(asked.one[1]), asked.size, asked.target)))
        return 0
    print(
        f"milliseconds to the first result at {asked.size}x{asked.size} (of these, kernels); to the first by code for "
        f"the extent (kernels)"
    )
    wrong = 0
    for k in map(int, asked.extents.split(",")):
        digests = {}
        for way in WAYS:
            with tempfile.TemporaryDirectory() as cache:
                done = subprocess.run(
                    [
                        sys.executable, __file__, f"--size={asked.size}", f"--target={asked.target}", "--one", way,
                        str(k),
                    ],
                    env=os.environ | {"TESSERA_CACHE": cache},
                    capture_output=True,
                    text=True,
                    check=False,
                )
            if done.returncode:
                sys.exit(done.stderr)
            made = json.loads(done.stdout)
            for mask, r in made.items():
                digests.setdefault(mask, set()).add(r["digest"])
                print(
                    f"{way:10} {mask:7} {r['first'][0]:8.1f} ({r['first'][1]:7.3f}) {r['last'][0]:8.1f} "
                    f"({r['last'][1]:7.3f})"
                    f"   planning and printing {r['first'][2]:.1f}",
                    flush=True,
                )
        wrong += sum(len(d) != 1 for d in digests.values())
    print("the bits are the same" if not wrong else f"{wrong} masks with other bits")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
