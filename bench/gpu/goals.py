"""What the goals for masks on a GPU ask and the results do not show: what was not measured, and what was and falls
short.

    python3 bench/gpu/goals.py [RESULTS.json]

RESULTS.json is a file of bench/results (default: the newest of a GPU). The goals, at 8192 x 8192 and 4096 x 4096: masks
known when compiling take 97, 93 and 80 % of the copy at K = 3, 5 and 7, 80 % of the multipliers' peak at 11 and 85 %
from 15 on; given with the run, 75 % from 11 on; no pair takes longer a tap than the mean of its neighbours over 0.85,
unless the copy takes 0.85 of its time; none takes longer than the best of cuDNN, CuPy and a transform."""
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
from gpu_tables import PAIR_SIDES, RIVALS, GpuBook  # noqa: E402

SIZES = (8192, 4096)
ODD = range(3, 44, 2)
COPY_SHARE = {3: 97, 5: 93, 7: 80}
NEAR = 0.85


def goals(kind, k):
    """What share of the copy, or of the peak, a square mask is to take; None: nothing."""
    if kind == "known" and k in COPY_SHARE:
        return COPY_SHARE[k], "of copy"
    if k < 11 or (kind == "known" and k == 13):
        return None
    return (75 if kind == "given" else 80 if k == 11 else 85), "of peak"


def squares(g):
    for kind in ("known", "given"):
        for size in SIZES:
            for k in ODD:
                row, goal = g.mask(kind, k, k, size), goals(kind, k)
                if not row:
                    yield kind, k, k, size, "not measured"
                elif goal:
                    has = 100 * row["copy_ms"] / row["median_ms"] if goal[1] == "of copy" else g.of_peak(row)
                    if has < goal[0]:
                        yield kind, k, k, size, f"{has:.1f} % {goal[1]}, goal {goal[0]}"


def pairs(g):
    for kind in ("known", "given"):
        for size in SIZES:
            for i, k in enumerate(PAIR_SIDES):
                for j, l in enumerate(PAIR_SIDES):
                    row = g.mask(kind, k, l, size)
                    beside = [
                        (y, x)
                        for y, x in ((i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1))
                        if 0 <= min(y, x) and max(y, x) < len(PAIR_SIDES)
                    ]
                    near = [
                        1 / g.tflops(r)
                        for r in (g.mask(kind, PAIR_SIDES[y], PAIR_SIDES[x], size) for y, x in beside)
                        if r
                    ]
                    if not row:
                        yield kind, k, l, size, "not measured"
                    elif near and row["copy_ms"] < NEAR * row["median_ms"]:
                        share = sum(near) / len(near) * g.tflops(row)
                        if share < NEAR:
                            yield kind, k, l, size, (
                                f"{share:.2f} of its neighbours' speed a tap, goal {NEAR}; "
                                f"the copy takes {row['copy_ms'] / row['median_ms']:.2f} of its time"
                            )


def rivals(g):
    for size in SIZES:
        for k in ODD:
            row = g.mask("known", k, k, size)
            for name in RIVALS:
                other = g.mask(name, k, k, size)
                if row and other and row["median_ms"] > other["median_ms"]:
                    yield "known", k, k, size, f"{row['median_ms']:.3f} ms, {name} {other['median_ms']:.3f}"


def main():
    path = sys.argv[1] if len(sys.argv) > 1 else max((ROOT / "bench" / "results").glob("*-h200.json"))
    g = GpuBook(json.loads(pathlib.Path(path).read_text()))
    for title, found in (("Square masks", squares(g)), ("Pairs", pairs(g)), ("Slower than others", rivals(g))):
        print(f"{title}:")
        lines = [f"  {kind} {k} x {l} at {size}: {what}" for kind, k, l, size, what in found]
        print("\n".join(lines) if lines else "  nothing is missing")
    return 0


if __name__ == "__main__":
    sys.exit(main())
