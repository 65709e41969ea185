"""The tables of docs/performance.md about a GPU, from a results file of bench/gpu/run.py."""
import math

RULES = ("clamp", "mirror", "wrap", "constant")
# What the papers report: fused over unfused as gain in per cent, partitioned over naive as geometric mean.
PAPER_FUSED = {"blur": -5, "canny": 58, "harris": 44}
PAPER_PARTITIONED = {"gauss3": 1.438, "laplace5": 1.422, "bilateral": 1.355, "sobel": 1.877, "night": 1.102}


RIVALS = ("cudnn", "cupy", "fft")
PAIR_SIDES = (3, 7, 15, 23, 31, 43)


class GpuBook:
    def __init__(self, book):
        self.book = book
        self.rows = {(r["job"], r["size"], r["plan"], r["border"], r["target"]): r for r in book["rows"]}
        self.masks = {(r["kind"], r["k"], r["l"], r["size"]): r for r in book.get("masks", [])}
        d = book["machine"]
        self.peak = float(d["ghz"]) * float(d["cores"]) * float(d["vector_bytes"]) / 4 * 2  # GFLOP/s of multiply-adds

    def find(self, job, size, plan="chosen", border="", target="cuda"):
        return self.rows.get((job, size, plan, border, target))

    def mask(self, kind, k, l, size):
        return self.masks.get((kind, k, l, size))

    def tflops(self, row):
        return 2e-9 * row["k"] * row["l"] * row["size"] ** 2 / row["median_ms"]

    def of_peak(self, row):
        return 1e5 * self.tflops(row) / self.peak

    def jobs(self, size):
        return [
            job
            for (job, s, plan, border, target) in self.rows
            if (s, plan, border, target) == (size, "chosen", "", "cuda")
        ]


def number(x):
    return f"{x:.4f}" if x < 1 else f"{x:.2f}"


def share(row):
    return f"{100 * row['copy_ms'] / row['median_ms']:.0f}"


def machine(g):
    commits = sorted({row["commit"] for row in (*g.book["rows"], *g.masks.values())})
    return f"{g.book['device']}, driver of {g.book['driver']}; Tessera at {', '.join(commits)}"


def jobs(g, size):
    rows = []
    for job in g.jobs(size):
        if job.startswith("conv2d"): # of older files
            continue
        row, other = g.find(job, size), g.find(job, size, target="opencl")
        ratio = f"{other['median_ms'] / row['median_ms']:.2f}" if other else "-"
        rows.append((job, number(row["median_ms"]), number(row["copy_ms"]), share(row), ratio))
    return ("job", "ms", "copy ms", "of copy %", "OpenCL/CUDA"), rows


def per_tap(g, kind, size, k):
    """Time of a tap over the mean of the neighbours', which are one step smaller and larger."""
    row, near = g.mask(kind, k, k, size), [g.mask(kind, k + d, k + d, size) for d in (-2, 2)]
    taps = [r["median_ms"] / r["k"] ** 2 for r in near if r]
    return row["median_ms"] / k ** 2 / (sum(taps) / len(taps)) if row and taps else None


def masks(g, size):
    """Coefficients known when compiling, given with the run, and rivals."""
    rows = []
    for k in sorted({k for kind, k, l, s in g.masks if (kind, s) == ("known", size) and k == l}):
        known, given = g.mask("known", k, k, size), g.mask("given", k, k, size)
        ratio = per_tap(g, "known", size, k)
        rivals = [g.mask(rival, k, k, size) for rival in RIVALS]
        rows.append(
            (
                str(k), number(known["median_ms"]), share(known), f"{g.tflops(known):.1f}", f"{g.of_peak(known):.0f}",
                f"{ratio:.2f}" if ratio else "-", number(given["median_ms"]) if given else "-",
                f"{g.of_peak(given):.0f}" if given else "-", *(number(r["median_ms"]) if r else "-" for r in rivals),
            )
        )
    return (
        "K", "ms", "of copy %", "TFLOP/s", "of peak %", "a tap, of neighbours", "given, ms", "of peak %", "cuDNN ms",
        "CuPy ms", "FFT ms",
    ), rows


def forms(g, size):
    """Masks without symmetry, known when compiling, beside the same sizes in other forms and transforms by cuFFT."""
    kinds = ("known", "mirrored", "dilated", "fast", "fft")
    rows = []
    for k in sorted({k for kind, k, l, s in g.masks if kind in kinds[1:4] and s == size}):
        found = [g.mask(kind, k, k, size) for kind in kinds]
        rows.append((str(k), *(number(row["median_ms"]) if row else "-" for row in found)))
    return ("K", "as it is, ms", "same columns on both sides", "every second pixel", "--fp=fast", "cuFFT"), rows


def pairs(g, size, kind):
    """TFLOP/s of masks of K rows and L columns; * where that is less than 0.85 of the slowest neighbour, and not for
    the memory."""
    rows = []
    for i, k in enumerate(PAIR_SIDES):
        cells = []
        for j, l in enumerate(PAIR_SIDES):
            row = g.mask(kind, k, l, size)
            beside = [(i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)]
            near = [
                g.mask(kind, PAIR_SIDES[y], PAIR_SIDES[x], size)
                for y, x in beside
                if 0 <= min(y, x) and max(y, x) < len(PAIR_SIDES)
            ]
            slow = min((g.tflops(r) for r in near if r), default=0)
            cliff = row and g.tflops(row) < 0.85 * slow and row["copy_ms"] < 0.85 * row["median_ms"]
            cells.append(f"{g.tflops(row):.1f}" + (" *" if cliff else "") if row else "-")
        rows.append((str(k), *cells))
    return ("K, L", *map(str, PAIR_SIDES)), rows


def fusion(g, size):
    rows = []
    for job, paper in PAPER_FUSED.items():
        fused, unfused, naive, overlapped = (
            g.find(job, size, plan) for plan in ("chosen", "unfused", "naive", "overlapped")
        )
        if fused and unfused and naive:
            gain = 100 * (unfused["median_ms"] / fused["median_ms"] - 1)
            rows.append(
                (
                    job, *(number(row["median_ms"]) if row else "-" for row in (fused, unfused, naive, overlapped)),
                    f"{gain:+.0f}", f"{paper:+d}",
                )
            )
    return (
        "job", "fused ms", "a kernel a stage ms", "naive ms", "the paper's overlapped tiles ms", "gain %", "paper %",
    ), rows


def gain(g, job, size, rule):
    """Naive tests over the better way of partitioning, a thread a point."""
    naive, blocks, warps = (g.find(job, size, f"point-{split}", rule) for split in ("none", "interior", "warp"))
    return naive["median_ms"] / min(blocks["median_ms"], warps["median_ms"]) if naive and blocks and warps else None


def partitioned(g, sizes):
    rows = []
    for job, paper in PAPER_PARTITIONED.items():
        gains = {size: [x for rule in RULES if (x := gain(g, job, size, rule))] for size in sizes}
        every = [x for xs in gains.values() for x in xs]
        if every:
            mean = math.exp(sum(map(math.log, every)) / len(every))
            rows.append(
                (
                    job, *(f"{min(xs):.2f} .. {max(xs):.2f}" if xs else "-" for xs in gains.values()), f"{mean:.3f}",
                    f"{paper:.3f}",
                )
            )
    return ("job", *map(str, sizes), "geometric mean", "paper"), rows


def rules(g, size):
    rows = []
    for job in g.jobs(size):
        times = [g.find(job, size, border=rule) for rule in RULES]
        if all(times):
            rows.append((job, *(number(row["median_ms"]) for row in times)))
    return ("job", *(f"{rule} ms" for rule in RULES)), rows


def staged(g, job, family):
    """What copies of masks and images do, a thread a point; the plan chosen is beside them."""
    plans = [
        plan for plan in dict.fromkeys(plan for (j, _, plan, _, _) in g.rows if j == job) if plan.startswith(family)
    ]
    rows = []
    for size in dict.fromkeys(s for (j, s, _, _, _) in g.rows if j == job):
        times = [g.find(job, size, plan) for plan in (*plans, "chosen")]
        if all(times):
            base = times[0]["median_ms"]
            rows.append((size, *(f"{row['median_ms']:.4f} ({base / row['median_ms']:.2f})" for row in times)))
    return ("size", *(f"{plan} ms" for plan in plans), "chosen ms"), rows


TABLES = {"jobs": jobs, "masks": masks, "forms": forms, "fusion": fusion, "partitioned": partitioned, "rules": rules}


def table(g, words):
    """(head, rows) of the table that the words of a block name."""
    kind, *sizes = words
    if kind == "staged":
        return staged(g, *sizes)
    if kind == "pairs":
        return pairs(g, int(sizes[0]), sizes[1])
    return partitioned(g, list(map(int, sizes))) if kind == "partitioned" else TABLES[kind](g, int(sizes[0]))
