"""Pictures of other sizes and turned ones beside those of OpenCV and Pillow, whose pixels are kept in
tests/data/resize.json, so that neither has to be there. With both,

    python3 tests/cli/test_resize.py --write

makes that file anew (last by OpenCV 4.10.0 and Pillow 13.0.0)."""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import tool  # noqa: E402
from tool import check, run  # noqa: E402

KEPT = tool.ROOT / "tests/data/resize.json"
M, N = 8, 9
PICTURE = [(37 * r * r + 91 * c + 13 * r * c) % 256 for r in range(M) for c in range(N)]
# Whole factors and others, both ways; one dimension alone; the same size.
LARGER = [(16, 18), (13, 11), (8, 21), (19, 9), (8, 9)]
SMALLER = [(4, 3), (5, 7), (3, 9), (7, 4)]
WHOLE = [(4, 3), (2, 9), (8, 1)]
ALL = LARGER + SMALLER + [(11, 5), (3, 20)]
# Call, whose pixels, the name of its rule there, sizes, pixels at the edges that are left out, the largest difference
# of values of 0 .. 255. Pillow leaves out points beyond the edge where ours are those of the edge. OpenCV turns to
# places of 1/32 of a pixel.
ROWS = [
    ("resize_nearest(a, m, n)", "cv", "INTER_NEAREST_EXACT", ALL, 0, 0),
    ("resize_nearest(a, m, n)", "pil", "NEAREST", ALL, 0, 0),
    ("resize_linear(a, m, n)", "cv", "INTER_LINEAR", ALL, 0, 1e-4),
    ("resize_linear(a, m, n)", "pil", "BILINEAR", LARGER, 0, 1e-4),
    ("resize_cubic(a, m, n, -0.75)", "cv", "INTER_CUBIC", ALL, 0, 3e-4),
    ("resize_cubic(a, m, n, -0.5)", "pil", "BICUBIC", LARGER, 2, 3e-4),
    ("resize_area(a, m, n, 9)", "cv", "INTER_AREA", SMALLER + WHOLE, 0, 1e-4),
    ("resize_area(a, m, n, 9)", "pil", "BOX", WHOLE, 0, 1e-4),
    ("resize_lanczos(a, m, n)", "pil", "LANCZOS", LARGER, 3, 3e-4),
    ("rotate(a:constant, 23)", "cv", "warpAffine", [(8, 9)], 0, 4),
]


def theirs(row, m, n):
    """Pixels by OpenCV or Pillow."""
    import cv2
    import numpy as np
    from PIL import Image
    picture, name = np.float32(PICTURE).reshape(M, N), row[2]
    if name == "warpAffine":
        turn = cv2.getRotationMatrix2D(((N - 1) / 2, (M - 1) / 2), 23, 1)
        made = cv2.warpAffine(picture, turn, (N, M), flags=cv2.INTER_LINEAR)
    elif row[1] == "cv":
        made = cv2.resize(picture, (n, m), interpolation=getattr(cv2, name))
    else:
        made = np.asarray(Image.fromarray(picture).resize((n, m), getattr(Image.Resampling, name)))
    return [float(f"{v:.7g}") for v in made.ravel()]


def write():
    kept = {f"{row[0]} {row[1]} {m}x{n}": theirs(row, m, n) for row in ROWS for m, n in row[3]}
    KEPT.write_text("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in kept.items()) + "\n}\n")


def is_between(k, size, was):
    """Two pixels are equally near: ours is the one behind, theirs that of a product of reals, which is the same where
    the factor is whole."""
    return was % size != 0 and (2 * k + 1) * was % (2 * size) == 0


def inner(m, n, edge, nearest):
    """Points that are compared: those whose neighbours lie in the picture."""
    down, right = edge * m / M if m > M else 0, edge * n / N if n > N else 0
    return [r * n + c for r in range(m) for c in range(n) if down <= r < m - down and right <= c < n - right
            and not (nearest and (is_between(r, m, M) or is_between(c, n, N)))]


def main():
    if "--write" in sys.argv:
        write()
        return
    kept = json.loads(KEPT.read_text())
    with tool.workspace() as name:
        folder = pathlib.Path(name)
        tool.write_npy(folder / "a.npy", (M, N), "<f4", PICTURE)
        for call, whose, rule, sizes, edge, most in ROWS:
            program = folder / "one.tess"
            for m, n in sizes:
                sized = call.replace("m, n", f"{m}, {n}")
                program.write_text(f'use "filters";\nparameter M, N;\nvector#2 float a[M, N];\nreturn {sized};\n')
                status, _, err = run("run", program, folder / "a.npy", "-o", folder / "r.npy", "--target=interp")
                key = f"{call} {whose} {m}x{n}"
                if status or "rotate" not in call and tool.read_npy(folder / "r.npy")[0] != (m, n):
                    check(key, False, err)
                    continue
                ours, points = tool.read_npy(folder / "r.npy")[2], inner(m, n, edge, most == 0)
                off = max(abs(ours[k] - kept[key][k]) for k in points)
                check(f"{key} ({rule})", len(points) > m * n // 16 and off <= most, off)
    tool.finish()


main()
