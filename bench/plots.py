"""Plots of masks on a GPU as SVG, from a results file of bench/gpu/run.py: speed over K, and over K and L."""
from gpu_tables import PAIR_SIDES

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 400, 52, 150, 28, 44
MOST = 70 # TFLOP/s, of the axis
SERIES = (  # kind, size, label, colour, dashes
    ("known", 8192, "known, 8192", "#1b6ca8", ""),
    ("known", 4096, "known, 4096", "#1b6ca8", "5 3"),
    ("given", 8192, "given, 8192", "#c4572a", ""),
    ("given", 4096, "given, 4096", "#c4572a", "5 3"),
    ("fft", 4096, "FFT (torch), 4096", "#5b8c3a", "2 3"),
    ("cudnn", 4096, "cuDNN, 4096", "#777777", ""),
    ("cupy", 4096, "CuPy, 4096", "#a05fa0", "5 3"),
)


def text(x, y, words, anchor="middle", extra=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{extra}>{words}</text>'


def page(width, height, parts):
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
        f'font-size="12">\n'
        f'<rect width="{width}" height="{height}" fill="white"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def apart(labels, least=15):
    """Labels (y, words, colour) from the top, moved down where they would overlap."""
    placed = []
    for y, words, colour in sorted(labels):
        placed.append((max(y, placed[-1][0] + least) if placed else y, words, colour))
    return placed


def over_k(g):
    """Lines of TFLOP/s over K; an FFT's are those that a direct sum would need."""
    sides = sorted({k for _, k, l, _ in g.masks if k == l})
    def x(k):
        return LEFT + (WIDTH - LEFT - RIGHT) * (k - sides[0]) / (sides[-1] - sides[0])
    def y(tflops):
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * min(tflops, MOST) / MOST
    parts, labels = [], []
    for t in range(0, MOST + 1, 10):
        parts += [
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(t):.1f}" y2="{y(t):.1f}" stroke="#dddddd"/>',
            text(LEFT - 8, y(t) + 4, t, "end"),
        ]
    for k in sides[::2]:
        parts.append(text(x(k), HEIGHT - BOTTOM + 18, k))
    peak = y(g.peak / 1000)
    parts += [
        f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{peak:.1f}" y2="{peak:.1f}" stroke="#333333"/>',
        text(LEFT + 4, peak - 5, "multiply-adds alone", "start"),
        text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, "K, of masks of K x K"),
        text(14, TOP - 10, "TFLOP/s", "start"),
    ]
    for kind, size, label, colour, dashes in SERIES:
        rows = [row for k in sides if (row := g.mask(kind, k, k, size))]
        inside = [row for row in rows if g.tflops(row) <= MOST]
        if not inside:
            continue
        points = " ".join(f"{x(row['k']):.1f},{y(g.tflops(row)):.1f}" for row in rows)
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"'
            + (f' stroke-dasharray="{dashes}"' if dashes else "")
            + "/>"
        )
        labels.append((y(g.tflops(rows[-1])), label, colour))
    parts += [
        text(WIDTH - RIGHT + 8, at + 4, label, "start", f' fill="{colour}"') for at, label, colour in apart(labels)
    ]
    return page(WIDTH, HEIGHT, parts)


def shade(tflops):
    """From white to blue."""
    part = min(tflops / MOST, 1)
    return "#" + "".join(f"{round(255 + (to - 255) * part):02x}" for to in (0x1b, 0x6c, 0xa8))


def over_pairs(g):
    """A field for each K and L with its TFLOP/s; known and given side by side."""
    CELL, GAP, HEAD = 48, 90, 64
    parts = []
    shown = [
        (kind, size, label)
        for kind, size, label in (
            ("known", 8192, "known when compiling, 8192"), ("given", 4096, "given with the run, 4096"),
        )
        if g.mask(kind, PAIR_SIDES[0], PAIR_SIDES[-1], size)
    ]
    for n, (kind, size, label) in enumerate(shown):
        left = LEFT + n * (len(PAIR_SIDES) * CELL + GAP)
        parts += [
            text(left + len(PAIR_SIDES) * CELL / 2, 20, f"TFLOP/s, {label}"),
            text(left + len(PAIR_SIDES) * CELL / 2, 40, "L columns"), text(left - 10, HEAD - 6, "K rows", "end"),
        ]
        for i, k in enumerate(PAIR_SIDES):
            parts += [
                text(left + (i + 0.5) * CELL, HEAD - 8, k), text(left - 10, HEAD + (i + 0.5) * CELL + 4, k, "end"),
            ]
            for j, l in enumerate(PAIR_SIDES):
                row = g.mask(kind, k, l, size)
                if row:
                    at, down, t = left + j * CELL, HEAD + i * CELL, g.tflops(row)
                    parts += [
                        f'<rect x="{at}" y="{down}" width="{CELL - 2}" height="{CELL - 2}" fill="{shade(t)}"/>',
                        text(
                            at + CELL / 2 - 1, down + CELL / 2 + 3, f"{t:.0f}",
                            extra=' fill="white"' if t > 0.55 * MOST else "",
                        ),
                    ]
    return page(LEFT + max(len(shown), 1) * (len(PAIR_SIDES) * CELL + GAP), HEAD + len(PAIR_SIDES) * CELL + 12, parts)


def plots(g):
    """(name of the file in docs/images, its text)"""
    return [("gpu-masks.svg", over_k(g)), ("gpu-mask-pairs.svg", over_pairs(g))] if g.masks else []
