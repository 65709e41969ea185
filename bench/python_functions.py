"""Functions of tessera.ndimage and tessera.skimage beside SciPy, scikit-image and OpenCV: the best time of each, in one
run, as a table; then what a call and an import cost, and what of it has to hold.

    python3 bench/python_functions.py [--size=2048] [--runs=7] [--threads=2] [--results=FILE] [--only=NAME] [--device]

It needs the package with numpy, scipy, scikit-image and opencv-python-headless; what is missing leaves its column
empty. Run it on a machine that does nothing else: it takes two to four minutes, half of them for the C compiler when
it is run first. With --results, times go to a file as they are measured, and those that stand there are not measured
again. --device has the same functions on a CUDA device too, on arrays of CuPy, beside CuPy's functions and PyTorch's
(--device=only: there alone)."""
import argparse
import json
import os
import subprocess
import sys
import time

SLOW = 0.25  # seconds of one call of a library that compiles nothing, which is enough then
MOST_SECONDS = 1.0  # for the times of one function of one library, beyond its first two


def best(call, runs, slow=float("inf")):
    """Milliseconds of the fastest of some calls; the first is for caches and compilers, unless it takes more than
    `slow` seconds."""
    start = time.perf_counter()
    call()
    first = time.perf_counter() - start
    if first > slow:
        return first * 1e3
    times, begun = [], time.perf_counter()
    while len(times) < runs and (not times or time.perf_counter() - begun < MOST_SECONDS):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min([*times, *([first] if first < min(times) else [])]) * 1e3


class Results:
    """Times by function and library, which a file keeps."""

    def __init__(self, path, settings):
        self.path, self.times = path, {}
        if path and os.path.exists(path):
            with open(path) as file:
                for line in file:
                    row = json.loads(line)
                    if row["settings"] == settings:
                        self.times[row["function"], row["library"]] = row["ms"]
        self.settings = settings

    def time(self, function, library, call, runs, slow=float("inf")):
        """Milliseconds, or None where there is nothing to call."""
        if call is None:
            return None
        key = function, library
        if key not in self.times:
            self.times[key] = best(call, runs, slow)
            if self.path:
                with open(self.path, "a") as file:
                    print(json.dumps(dict(settings=self.settings, function=function, library=library,
                                          ms=self.times[key])), file=file)
        return self.times[key]


def cell(ms):
    return "" if ms is None else f"{ms:.2f}"


def optional(name):
    try:
        return __import__(name, fromlist=["_"])
    except ImportError:
        return None


def rows_of(size, threads):
    """(name, call of a module like scipy.ndimage, call of OpenCV, call of a module like skimage's, its module)."""
    import numpy as np
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
        ("correlate1d 5", s("correlate1d", real, np.array([1.0, 2, 3, 2, 1])), None),
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
    of_skimage = [
        ("skimage sobel", "sobel", filters, real, ()), ("skimage unsharp_mask", "unsharp_mask", filters, real, (2,)),
        ("skimage opening, 3x3", "opening", morphology, byte, (square,)),
    ]
    return (
        [(name, call, opencv if cv2 else None, None) for name, call, opencv in rows],
        [(name, lambda m, f=f, i=i, a=a: getattr(m, f)(i, *a), module) for name, f, module, i, a in of_skimage],
    )


def table(size, runs, threads, results, only):
    import tessera.ndimage as ours
    import tessera.skimage as ours_skimage
    from scipy import ndimage as scipy
    of_scipy, of_skimage = rows_of(size, threads)
    print(f"{size}x{size}, {threads} threads, milliseconds, best of {runs}\n")
    print(
        "| function | Tessera | SciPy | scikit-image | OpenCV | of SciPy | of OpenCV |\n"
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    )

    def row(name, mine, scipy=None, skimage=None, opencv=None):
        other = scipy if skimage is None else skimage
        ratios = [f"{mine / t:.2f}" if t else "" for t in (other, opencv)]
        print(f"| {name} | {' | '.join([cell(mine), cell(scipy), cell(skimage), cell(opencv), *ratios])} |", flush=True)

    for name, call, opencv, _ in of_scipy:
        if only in name:
            row(
                name, results.time(name, "tessera", lambda: call(ours), runs),
                results.time(name, "scipy", lambda: call(scipy), 3, SLOW), None,
                results.time(name, "opencv", opencv, runs),
            )
    for name, call, module in of_skimage:
        if only in name:
            row(name, results.time(name, "tessera", lambda: call(ours_skimage), runs), None,
                results.time(name, "skimage", module and (lambda: call(module)), 3, SLOW))


def requirements(results):
    """What has to hold, as sentences."""
    name = "gaussian_filter 2, float"
    mine = results.times.get((name, "tessera"))
    for library, most in (("scipy", 0.1), ("opencv", 0.3)):
        theirs = results.times.get((name, library))
        if mine and theirs:
            said = "holds" if mine <= most * theirs else "FAILS"
            print(f"{said}: {name}: {mine / theirs:.3f} of {library}, at most {most}")


class Moved:
    """A module whose functions get their arrays on the device."""

    def __init__(self, module, send):
        self.module, self.send, self.moved = module, send, {}

    def __getattr__(self, name):
        function = getattr(self.module, name)
        return lambda *a, **k: function(*(self._sent(x) for x in a), **{n: self._sent(x) for n, x in k.items()})

    def _sent(self, x):
        import numpy as np
        if not isinstance(x, np.ndarray):
            return x
        if id(x) not in self.moved:
            self.moved[id(x)] = x, self.send(x)
        return self.moved[id(x)][1]


def of_torch(torch, name, real):
    """The same by PyTorch's own functions, in floats, where it has them."""
    x = torch.from_numpy(real).cuda()[None, None]
    functional = torch.nn.functional
    line = lambda n: torch.ones(1, 1, n, 1, device="cuda") / n
    around = lambda n: functional.pad(x, (n,) * 4, "reflect")
    separable = lambda n: lambda: functional.conv2d(functional.conv2d(around(n // 2), line(n)), line(n).mT)
    edges = torch.ones(1, 1, 3, 3, device="cuda")
    grid = torch.rand(1, *real.shape, 2, device="cuda") * 2 - 1
    calls = {
        "gaussian_filter 2, float": separable(17), "gaussian_filter 5, float": separable(41),
        "gaussian_filter1d 2": lambda: functional.conv2d(functional.pad(x, (8, 8, 0, 0), "reflect"), line(17).mT),
        "uniform_filter 7, float": lambda: functional.avg_pool2d(around(3), 7, 1),
        "maximum_filter 15, float": lambda: functional.max_pool2d(x, 15, 1, 7),
        "median_filter 3, float": lambda: around(1).unfold(2, 3, 1).unfold(3, 3, 1).flatten(-2).median(-1).values,
        "convolve 7x7, float": lambda: functional.conv2d(around(3), torch.ones(1, 1, 7, 7, device="cuda")),
        "sobel": lambda: functional.conv2d(around(1), edges), "laplace": lambda: functional.conv2d(around(1), edges),
        "map_coordinates, linear": lambda: functional.grid_sample(x, grid, align_corners=True),
        "zoom 0.5, linear": lambda: functional.interpolate(x, scale_factor=0.5, mode="bilinear"),
    }
    return calls.get(name)


def on_device(size, runs, only):
    """The functions with arrays of CuPy on a CUDA device, beside CuPy's and PyTorch's."""
    import cupy
    import cupyx.scipy.ndimage as theirs
    import numpy as np
    import tessera.ndimage as ours
    import tessera.skimage as ours_skimage
    torch = optional("torch")
    begin, end = cupy.cuda.Event(), cupy.cuda.Event()

    def timed(call):
        if call is None:
            return None
        times = []
        for _ in range(runs + 2):
            cupy.cuda.Device().synchronize()
            begin.record()
            call()
            end.record()
            end.synchronize()
            times.append(cupy.cuda.get_elapsed_time(begin, end))
        return min(times)

    real = np.random.default_rng(7).random((size, size), np.float32)
    print(f"{size}x{size} on the device, milliseconds, best of {runs}\n")
    print("| function | Tessera | CuPy | PyTorch | of CuPy |\n| --- | ---: | ---: | ---: | ---: |")
    module, mine = Moved(theirs, cupy.asarray), Moved(ours, cupy.asarray)
    of_scipy, of_skimage = rows_of(size, 1)
    rows = [(name, call, mine, module) for name, call, _, _ in of_scipy]
    rows += [(name, call, Moved(ours_skimage, cupy.asarray), None) for name, call, _ in of_skimage]
    for name, call, here, there in rows:
        if only not in name:
            continue
        times = [timed(lambda: call(here))]
        try:
            times.append(timed(there and (lambda: call(there))))
        except Exception as error:  # what CuPy does not have
            print(f"(CuPy: {name}: {type(error).__name__})", file=sys.stderr)
            times.append(None)
        times.append(timed(of_torch(torch, name, real) if torch and there else None))
        times.append(times[0] / times[1] if times[1] else None)
        print(f"| {name} | {' | '.join('' if v is None else f'{v:.3f}' for v in times)} |", flush=True)


def calls():
    import numpy as np
    import tessera
    p = tessera.compile(
        "stencil f(vector#2 float X) { return X@[0, -1] + X@[0, 1]; }\nparameter M, N;\nvector#2 float a[M, N];\n"
        "return f(a);\n", threads=1
    )
    n = 5000
    for size in (1, 64):
        a = np.ones((size, size), np.float32)
        out = np.empty_like(a)
        for name, call in (("a call", lambda: p(a)), ("a call with out=", lambda: p(a, out=out))):
            over = []
            for _ in range(5):
                call()
                start = time.perf_counter()
                for _ in range(n):
                    call()
                spent = (time.perf_counter() - start) / n * 1e6
                runs = min(_library(p, call) for _ in range(50))
                over.append((spent - runs, spent, runs))
            beyond, spent, runs = min(over)
            said = "" if size != 64 else "holds: " if beyond <= 10 else "FAILS: "
            print(f"{said}{name}, {size}x{size}: {spent:.1f} us, of which the library's run takes {runs:.1f}; "
                  f"{beyond:.1f} beyond it{', at most 10' if said else ''}")
    code = "import time; t = time.perf_counter(); import tessera; print((time.perf_counter() - t) * 1e3)"
    ms = min(
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout) for _ in range(5)
    )
    print(f"{'holds' if ms <= 50 else 'FAILS'}: import tessera: {ms:.1f} ms, at most 50")


def _library(p, call):
    """Microseconds of the library's own run in one call."""
    call()
    return p.time.run_ms * 1e3


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--size", type=int, default=2048)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--results")
    parser.add_argument("--only", default="")
    parser.add_argument("--device", nargs="?", const="too", choices=["too", "only"])
    options = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", str(options.threads))
    if options.device != "only":
        kept = Results(options.results, [options.size, options.threads, options.runs])
        table(options.size, options.runs, options.threads, kept, options.only)
        print()
        requirements(kept)
        calls()
        print()
    if options.device:
        on_device(options.size, options.runs, options.only)
