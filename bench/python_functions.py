"""Functions of tessera.ndimage and tessera.skimage beside SciPy, scikit-image and OpenCV: the best time of each, in one
run, as a table.

    python3 bench/python_functions.py [--size=2048] [--runs=7] [--threads=2] [--calls]

It needs the package with numpy, scipy, scikit-image and opencv-python-headless; what is missing leaves its column
empty. Run it on a machine that does nothing else. --calls measures what a call costs beside the library's own time, and
what importing costs."""
import argparse
import os
import subprocess
import sys
import time


def best(call, runs):
    call()
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times) * 1e3


def optional(name):
    try:
        return __import__(name, fromlist=["_"])
    except ImportError:
        return None


def table(size, runs, threads):
    import numpy as np
    import tessera.ndimage as ours
    import tessera.skimage as ours_skimage
    from scipy import ndimage as scipy
    cv2, filters, morphology = optional("cv2"), optional("skimage.filters"), optional("skimage.morphology")
    if cv2:
        cv2.setNumThreads(threads)
    rng = np.random.default_rng(7)
    real = rng.random((size, size), np.float32)
    byte = (real * 255).astype(np.uint8)
    flag = real > 0.5
    mask = rng.random((7, 7))
    disc = np.hypot(*np.indices((9, 9)) - 4) <= 4.5
    places = np.indices((size, size)) * 0.9 + 3.3
    turn = np.array([[0.9, 0.1], [-0.1, 0.9]])
    square = np.ones((3, 3), np.uint8)
    border = cv2.BORDER_REFLECT if cv2 else None
    s = lambda name, *a, **k: (lambda m: getattr(m, name)(*a, **k))
    rows = [
        (
            "gaussian_filter 2, float", s("gaussian_filter", real, 2),
            lambda: cv2.GaussianBlur(real, (17, 17), 2, borderType=border),
        ),
        (
            "gaussian_filter 5, float", s("gaussian_filter", real, 5),
            lambda: cv2.GaussianBlur(real, (41, 41), 5, borderType=border),
        ),
        (
            "gaussian_filter 2, uint8", s("gaussian_filter", byte, 2),
            lambda: cv2.GaussianBlur(byte, (17, 17), 2, borderType=border),
        ),
        ("gaussian_filter1d 2", s("gaussian_filter1d", real, 2), None),
        ("uniform_filter 7, float", s("uniform_filter", real, 7), lambda: cv2.blur(real, (7, 7), borderType=border)),
        ("uniform_filter 7, uint8", s("uniform_filter", byte, 7), lambda: cv2.blur(byte, (7, 7), borderType=border)),
        ("median_filter 3, uint8", s("median_filter", byte, 3), lambda: cv2.medianBlur(byte, 3)),
        ("median_filter 5, uint8", s("median_filter", byte, 5), lambda: cv2.medianBlur(byte, 5)),
        ("median_filter 3, float", s("median_filter", real, 3), lambda: cv2.medianBlur(real, 3)),
        ("rank_filter 2 of 3x3", s("rank_filter", byte, 2, size=3), None),
        ("percentile_filter 25, 5x5", s("percentile_filter", byte, 25, size=5), None),
        ("minimum_filter 7", s("minimum_filter", byte, 7), lambda: cv2.erode(byte, np.ones((7, 7), np.uint8))),
        (
            "maximum_filter 15, float", s("maximum_filter", real, 15),
            lambda: cv2.dilate(real, np.ones((15, 15), np.uint8)),
        ),
        (
            "maximum_filter, disc", s("maximum_filter", byte, footprint=disc),
            lambda: cv2.dilate(byte, disc.astype(np.uint8)),
        ),
        ("grey_erosion 3", s("grey_erosion", byte, 3), lambda: cv2.erode(byte, square)),
        (
            "grey_opening 5", s("grey_opening", byte, 5),
            lambda: cv2.morphologyEx(byte, cv2.MORPH_OPEN, np.ones((5, 5), np.uint8)),
        ),
        (
            "white_tophat 5", s("white_tophat", byte, 5),
            lambda: cv2.morphologyEx(byte, cv2.MORPH_TOPHAT, np.ones((5, 5), np.uint8)),
        ),
        (
            "morphological_gradient 3", s("morphological_gradient", byte, 3),
            lambda: cv2.morphologyEx(byte, cv2.MORPH_GRADIENT, square),
        ),
        ("binary_erosion", s("binary_erosion", flag), None),
        ("binary_dilation, 3 times", s("binary_dilation", flag, iterations=3), None),
        ("convolve 7x7, float", s("convolve", real, mask), lambda: cv2.filter2D(real, -1, mask, borderType=border)),
        ("correlate1d 5", s("correlate1d", real, [1, 2, 3, 2, 1]), None),
        ("sobel", s("sobel", real), lambda: cv2.Sobel(real, cv2.CV_32F, 1, 0, borderType=border)),
        ("prewitt", s("prewitt", real), None),
        ("laplace", s("laplace", real), lambda: cv2.Laplacian(real, cv2.CV_32F, borderType=border)),
        ("gaussian_laplace 2", s("gaussian_laplace", real, 2), None),
        ("gaussian_gradient_magnitude 2", s("gaussian_gradient_magnitude", real, 2), None),
        ("map_coordinates, linear", s("map_coordinates", real, places, order=1), None),
        (
            "affine_transform, linear", s("affine_transform", real, turn, order=1),
            lambda: cv2.warpAffine(real, np.float32([[0.9, 0.1, 0], [-0.1, 0.9, 0]]), real.shape),
        ),
        ("zoom 0.5, linear", s("zoom", real, 0.5, order=1), lambda: cv2.resize(real, None, fx=0.5, fy=0.5)),
    ]
    skimage_rows = [
        ("skimage sobel", "sobel", filters, real, ()), ("skimage unsharp_mask", "unsharp_mask", filters, real, (2,)),
        ("skimage opening, 3x3", "opening", morphology, byte, (square,)),
    ]
    print(f"{size}x{size}, milliseconds, best of {runs}\n")
    print(
        "| function | Tessera | SciPy | scikit-image | OpenCV | of SciPy |\n| --- | ---: | ---: | ---: | ---: | ---: |"
    )
    for name, call, opencv in rows:
        mine, theirs = best(lambda: call(ours), runs), best(lambda: call(scipy), 2)
        other = f"{best(opencv, runs):.2f}" if cv2 and opencv else ""
        print(f"| {name} | {mine:.2f} | {theirs:.2f} | | {other} | {mine / theirs:.2f} |", flush=True)
    for name, function, module, image, arguments in skimage_rows if filters else []:
        mine = best(lambda: getattr(ours_skimage, function)(image, *arguments), runs)
        theirs = best(lambda: getattr(module, function)(image, *arguments), 2)
        print(f"| {name} | {mine:.2f} | | {theirs:.2f} | | {mine / theirs:.2f} |", flush=True)


def calls():
    import numpy as np
    import tessera
    p = tessera.compile(
        "stencil f(vector#2 float X) { return X@[0, -1] + X@[0, 1]; }\nparameter M, N;\nvector#2 float a[M, N];\n"
        "return f(a);\n"
    )
    for n in (1, 64):
        a = np.ones((n, n), np.float32)
        out = np.empty_like(a)
        for name, call in (("a call", lambda: p(a)), ("a call with out=", lambda: p(a, out=out))):
            call()
            start = time.perf_counter()
            for _ in range(20000):
                call()
            spent = (time.perf_counter() - start) / 20000 * 1e6
            print(f"{name}, {n}x{n}: {spent:.1f} us, of which the library's run takes {p.time.run_ms * 1e3:.1f}")
    code = "import time; t = time.perf_counter(); import tessera; print((time.perf_counter() - t) * 1e3)"
    print(
        "import tessera:",
        min(
            float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout) for _ in range(5)
        ),
        "ms",
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--size", type=int, default=2048)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--calls", action="store_true")
    options = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", str(options.threads))
    calls() if options.calls else table(options.size, options.runs, options.threads)
