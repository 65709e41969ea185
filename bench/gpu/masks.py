"""Masks of every size on a GPU beside cuDNN, CuPy and a Fourier transform, all in one process on the same images.

    python3 bench/gpu/masks.py FOLDER [--seconds=150] [--commit=ID] [--only=KIND,KIND]

What is measured goes line by line to FOLDER/masks.jsonl, and a later call goes on from there. A result that does not
agree with a convolution in double precision is reported instead of its time. Expects the tool and the library in
TESSERA_BUILD, as bench/gpu/run.py builds them, and needs PyTorch; without CuPy its times are left out."""
import argparse
import concurrent.futures
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import time

from library import BUILD, Library

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "bench" / "programs"
SIZES = (8192, 4096)
ODD = range(3, 44, 2)
SIDES = (3, 7, 15, 23, 31, 43)
MIRRORED = (5, 7, 11, 15, 23, 31, 43) # of which the same columns stand on both sides
RIVAL_SIDES = (3, 7, 11, 17, 23, 31, 43)
RIVALS = ("cudnn", "fft", "cupy")
DILATED_SIDES = (7, 11, 15, 21) # every second pixel
FAST_SIDES = (23, 31, 43)       # under --fp=fast, which may take transforms
PROGRAM = {"known": "conv2d_pair.tess", "fast": "conv2d_pair.tess", "dilated": "conv2d_dilated.tess",
           "mirrored": "conv2d_mirrored.tess"}
BATCHES, BATCH_MS = 9, 4.0
AGREES = 2e-5  # of the largest result: both sum up in single precision


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=150)
    parser.add_argument("--commit", default="")
    parser.add_argument("--only", default="")
    return parser.parse_args()


def points(only):
    """(kind, K, L, size) in the order in which they matter."""
    made = [("known", k, k, size) for size in SIZES for k in ODD]
    made += [("mirrored", k, k, size) for size in SIZES for k in MIRRORED]
    made += [("given", k, k, size) for size in reversed(SIZES) for k in ODD]
    made += [("known", k, l, size) for size in SIZES for k in SIDES for l in SIDES if k != l]
    made += [(rival, k, k, 4096) for rival in RIVALS for k in RIVAL_SIDES]
    made += [("given", k, l, 4096) for k in SIDES for l in SIDES if k != l]
    made += [(rival, k, k, 8192) for rival in RIVALS for k in RIVAL_SIDES]
    made += [("dilated", k, k, size) for size in SIZES for k in DILATED_SIDES]
    made += [("fast", k, k, size) for size in SIZES for k in FAST_SIDES]
    made += [("given", k, l, 8192) for k in SIDES for l in SIDES if k != l]
    return [p for p in made if not only or p[0] in only.split(",")]


# ---- Compiling, which is most of the time of a first run, side by side
# -----------------------------------------------------------------
def compile_all(todo, seconds):
    programs = {p[:3] for p in todo if p[0] not in RIVALS}

    def one(p):
        kind, k, l = p
        words = (
            [PROGRAMS / "conv2d_given.tess", "random:1:1024x1024", f"random:2:{k}x{l}", f"K={k}", f"L={l}"]
            if kind == "given"
            else [PROGRAMS / PROGRAM[kind], "random:1:1024x1024", f"R={k // 2}", f"S={l // 2}"]
            + ["--fp=fast"] * (kind == "fast")
        )
        if time.monotonic() < end:
            subprocess.run(
                [BUILD / "tessera", "bench", *words, "--target=cuda", "--runs=1"], capture_output=True, timeout=120,
                check=False,
            )
    end = time.monotonic() + seconds
    with concurrent.futures.ThreadPoolExecutor(min(14, os.cpu_count() or 1)) as pool:
        list(pool.map(one, sorted(programs, key=lambda p: -p[1] * p[2])))


# ---- Images and what is right
# --------------------------------------------------------------------------------------------------------
class Images:
    """Of one size: a photograph with its spectrum in double precision, extended by its edge so that all masks find
    their pixels."""

    def __init__(self, torch, size):
        self.torch, self.size, self.reach = torch, size, max(ODD) // 2
        torch.manual_seed(size)
        self.photo = torch.rand(size, size, device="cuda")
        self.result = torch.empty_like(self.photo)
        self.side = fast_size(size + 4 * self.reach)
        self.spectrum = torch.fft.rfft2(self.padded(self.reach, self.reach).double(), s=(self.side, self.side))

    def padded(self, y, x):
        return self.torch.nn.functional.pad(self.photo[None, None], (x, x, y, y), mode="replicate")[0, 0]

    def agrees(self, result, mask):
        """Largest difference from the sum in double precision, over the largest result."""
        torch, (k, l) = self.torch, mask.shape
        spectrum = torch.fft.rfft2(mask.double(), s=(self.side, self.side)).conj() * self.spectrum
        y, x = self.reach - k // 2, self.reach - l // 2
        right = torch.fft.irfft2(spectrum, s=(self.side, self.side))[y:y + self.size, x:x + self.size]
        return float((result - right).abs().max() / right.abs().max())


def fast_size(n):
    """The least product of 2, 3, 5 and 7 from n on."""
    def is_product(m):
        for p in (2, 3, 5, 7):
            while m % p == 0:
                m //= p
        return m == 1
    while not is_product(n):
        n += 1
    return n


def mask_of(torch, kind, k, l):
    """That of conv2d_pair.tess or conv2d_mirrored.tess."""
    def weight(i, j):
        return (
            1 / (1 + i * i + abs(i * j) + 2 * j * j)
            if kind == "mirrored"
            else 1 + 0.5 * math.sin(3.0 * i + i * j + 5.0 * j)
        )
    values = [[weight(i, j) for j in range(-(l // 2), l // 2 + 1)] for i in range(-(k // 2), k // 2 + 1)]
    made = torch.tensor(values, dtype=torch.float64)
    return (made / made.sum()).float().cuda()


def dilated(mask):
    """With a row and a column of zeros between neighbours."""
    k, l = mask.shape
    made = mask.new_zeros(2 * k - 1, 2 * l - 1)
    made[::2, ::2] = mask
    return made


def limit(kind):
    """Transforms round relative to the largest of all values."""
    return AGREES * (20 if kind in ("fft", "fast") else 1)


# ---- Runs
# --------------------------------------------------------------------------------------------------
def time_torch(torch, work):
    """A function that gives the mean milliseconds of some calls of `work`."""
    def measure(runs):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(runs):
            work()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) / runs
    return measure


def median(measure):
    measure(2)
    runs = max(1, int(BATCH_MS / measure(1)))
    return statistics.median(measure(runs) for _ in range(BATCHES))


def run_tessera(library, images, kind, mask):
    k, l = mask.shape
    program = (library.program(PROGRAMS / "conv2d_given.tess", K=k, L=l) if kind == "given" else
               library.program(PROGRAMS / PROGRAM[kind], fast=kind == "fast", R=k // 2, S=l // 2))
    try:
        program.bind(images.result, photo=images.photo, **({"w": mask} if kind == "given" else {}))
        images.result.fill_(math.nan)
        program.run()
        error = images.agrees(images.result, dilated(mask) if kind == "dilated" else mask)
        return error, median(program.time_runs) if error < limit(kind) else None
    finally:
        program.free()


def rival_work(torch, images, kind, mask):
    """A function that computes the result and returns it. Edges of pixels are there beforehand, unless the rival makes
    them itself."""
    k, l = mask.shape
    n = images.size
    if kind == "cudnn":
        photo, weights = images.padded(k // 2, l // 2)[None, None], mask[None, None]
        return lambda: torch.nn.functional.conv2d(photo, weights)[0, 0]
    if kind == "fft":
        photo, side = images.padded(k // 2, l // 2), fast_size(n + max(k, l) - 1)
        spectrum = torch.fft.rfft2(mask, s=(side, side)).conj()
        return lambda: torch.fft.irfft2(torch.fft.rfft2(photo, s=(side, side)).mul_(spectrum), s=(side, side))[:n, :n]
    import cupy
    from cupyx.scipy import ndimage
    photo, weights, result = (
        cupy.from_dlpack(images.photo), cupy.from_dlpack(mask)[::-1, ::-1].copy(), cupy.from_dlpack(images.result),
    )

    def work():
        ndimage.convolve(photo, weights, output=result, mode="nearest")
        return images.result
    return work


def run_rival(torch, images, kind, mask):
    try:
        work = rival_work(torch, images, kind, mask)
    except ImportError:
        return None, None
    error = images.agrees(work(), mask)
    return error, median(time_torch(torch, work)) if error < limit(kind) else None


def time_copy(library, size):
    program = library.program(PROGRAMS / "conv2d_pair.tess", R=1, S=1)
    try:
        return program.time_copy(2 * 4 * size * size, 20)
    finally:
        program.free()


def main():
    asked = options()
    try:
        import torch
    except ImportError:
        sys.exit("masks.py: needs PyTorch")
    start = time.monotonic()
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    lines = asked.folder / "masks.jsonl"
    asked.folder.mkdir(parents=True, exist_ok=True)
    there = [json.loads(line) for line in lines.read_text().splitlines()] if lines.exists() else []
    done = {(r["kind"], r["k"], r["l"], r["size"]) for r in there}
    todo = [p for p in points(asked.only) if p not in done]
    os.environ.setdefault("TESSERA_CACHE", str(BUILD / "cache"))
    compile_all(todo, asked.seconds / 2)
    print(
        f"{len(todo)} masks to measure, {len(done)} there; compiled after {time.monotonic() - start:.0f} s", flush=True
    )
    library, images, copy_ms, wrong = Library(BUILD / "libtessera.so"), {}, {}, 0
    with open(lines, "a") as f:
        for kind, k, l, size in todo:
            if time.monotonic() - start > asked.seconds:
                print("out of time")
                break
            if size not in images:
                images[size] = Images(torch, size)
                copy_ms[size] = time_copy(library, size)
            mask = mask_of(torch, kind, k, l)
            run = run_rival if kind in RIVALS else run_tessera
            error, ms = run(torch if kind in RIVALS else library, images[size], kind, mask)
            if error is None: # not installed
                continue
            record = {
                "kind": kind, "k": k, "l": l, "size": size, "commit": asked.commit, "copy_ms": copy_ms[size],
                "difference": error,
            }
            if ms is None:
                wrong += 1
                print(f"{kind} {k}x{l} at {size}: differs by {error:.1e}")
            else:
                record["median_ms"] = ms
                print(
                    f"{kind:8} {k:2}x{l:<2} {size} {ms:9.4f} ms {2e-9 * k * l * size * size / ms:6.1f} TFLOP/s",
                    flush=True,
                )
            f.write(json.dumps(record) + "\n")
            f.flush()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
