#!/usr/bin/python3
"""SciPy's lane (scipy.ndimage, one thread): what someone writes who has NumPy arrays and no compiler at hand."""
import json
import statistics
import sys
import time

try:
    import numpy as np
    from scipy import ndimage
except ImportError as missing:
    print(json.dumps({"error": f"{missing}"}))
    sys.exit(1)

options = dict(argument.split("=", 1) for argument in sys.argv[1:])
height, width, planes, k = (int(options.get(name, 0)) for name in ("height", "width", "planes", "k"))
image = np.fromfile(options["input"], np.dtype(options["dtype"])).reshape(
    (planes, height, width) if planes > 1 else (height, width)
)
weights = np.fromfile(options["weights"], np.float32) if "weights" in options else None
result = np.empty_like(image)
EDGE = "nearest"


def gradient():
    x, y = (ndimage.sobel(image, axis, mode=EDGE) for axis in (1, 0))
    np.hypot(x, y, out=result)


def conv2d():
    ndimage.correlate(image, weights.reshape(k, k), output=result, mode=EDGE)


def separable():
    rows = ndimage.correlate1d(image, weights[:k], axis=1, mode=EDGE)
    ndimage.correlate1d(rows, weights[k:], axis=0, output=result, mode=EDGE)


def unsharp():
    smooth = ndimage.gaussian_filter(image, (0, 1.5, 1.5), truncate=2.0, mode=EDGE)
    np.add(image, np.float32(0.7) * (image - smooth), out=result)


def laplace5():
    mask = np.array(
        [[0, 0, -1, 0, 0], [0, -1, -2, -1, 0], [-1, -2, 16, -2, -1], [0, -1, -2, -1, 0], [0, 0, -1, 0, 0]], np.float32
    )
    ndimage.correlate(image, mask, output=result, mode=EDGE)


def gauss3():
    ndimage.correlate(image, np.outer([1, 2, 1], [1, 2, 1]).astype(np.float32) / 16, output=result, mode=EDGE)


def blur():
    ndimage.uniform_filter(image, 3, output=result, mode=EDGE)


JOBS = {
    "blur": blur, "sobel": gradient, "laplace5": laplace5, "gauss3": gauss3, "unsharp": unsharp, "conv2d": conv2d,
    "conv2d_given": conv2d, "separable": separable,
}
run = JOBS.get(options["job"])
if run is None or int(options["threads"]) != 1:
    print(json.dumps({"error": "SciPy has no call with this result, or no threads"}))
    sys.exit(1)


def timed():
    start = time.perf_counter()
    run()
    return (time.perf_counter() - start) * 1e3


first = timed()
if "output" in options:
    result.tofile(options["output"])
print(json.dumps({"ready": True, "compile_ms": 0, "first_ms": first, "run_ms": timed()}), flush=True)
times = []
for line in sys.stdin:
    batch = [timed() for _ in range(int(line))]
    times += batch
    print(json.dumps({"preempted": 0, "ms": batch}), flush=True)
if times:
    print(
        json.dumps(
            {
                "rival": "scipy", "job": options["job"], "dtype": options["dtype"], "width": width, "height": height,
                "k": k, "threads": 1, "median_ms": statistics.median(times), "min_ms": min(times), "runs": len(times),
            }
        )
    )
