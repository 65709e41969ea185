"""Points that are not valid, against NumPy: every policy under every border rule, on images down to one pixel, full of
holes and without any valid point. The reference gathers the points of each window one by one; a sum over a mask is
also held to two convolutions and a division, and to astropy.convolution where that is installed."""
import pathlib
import subprocess
import sys
import tempfile

try: # before this folder could be taken for SciPy
    from astropy.convolution import convolve as astropy_convolve
except ImportError:
    astropy_convolve = None

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import tool

try:
    import numpy as np
except ImportError:
    print("skipped: this python3 has no numpy (Debian: python3-numpy)")
    sys.exit(tool.SKIPPED)

SIZES = [(1, 1), (1, 5), (4, 1), (5, 7)]
RULES = ["clamp", "mirror", "reflect", "wrap", "constant(3)", "invalid", "[invalid, wrap]", "[mirror, constant(2)]"]
MASKS = {
    "bell": [[1, 2, 1], [2, 4, 2], [1, 2, 1]],
    "tall": [[0.25], [0.5], [0.125], [0.5], [0.25]],
    "holed": [[1, 0, 2], [0, 0, 0], [3, 0, 1]],
    "slope": [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]],
    "sharp": [[0, -1, 0], [-1, 5, -1], [0, -1, 0]],
    "minus": [[-1, -2, -1]],
}
rng = np.random.default_rng(20261123)


def place(i, n, rule):
    """The index that answers index i of n, or None outside."""
    if 0 <= i < n:
        return i
    if rule in ("invalid", "none") or rule.startswith("constant"):
        return None
    if rule == "clamp":
        return min(max(i, 0), n - 1)
    if rule == "wrap":
        return i % n
    period = max(2 * n - 2, 1) if rule == "mirror" else 2 * n
    i %= period
    return min(i, period - i) if rule == "mirror" else min(i, period - 1 - i)


def rules_of(rule):
    return [r.strip() for r in rule.strip("[]").split(",")] if rule.startswith("[") else [rule, rule]


def read(image, valid, rule, y, x):
    """Value and validity of a point, perhaps outside."""
    at = []
    for i, n, r in zip((y, x), image.shape, rules_of(rule)):
        k = place(i, n, r)
        if k is None:
            return (0.0, False) if r == "invalid" else (float(r[9:-1]), True)
        at.append(k)
    return image[tuple(at)], valid[tuple(at)]


def gather(image, valid, rule, y, x, lo, hi):
    points = [read(image, valid, rule, y + i, x + j) for i in range(lo[0], hi[0] + 1) for j in range(lo[1], hi[1] + 1)]
    return np.array([p[0] for p in points], float), np.array([p[1] for p in points], bool)


def extent(mask):
    return [-(n // 2) for n in mask.shape], [n - 1 - n // 2 for n in mask.shape]


def weighted(x, v, w):
    """Weights above and below 0 each for themselves."""
    total, ok = 0.0, True
    for sign in (w > 0, w < 0):
        if sign.any():
            held = w[sign & v].sum()
            ok = ok and bool((sign & v).any())
            total += (w * x)[sign & v].sum() * w[sign].sum() / held if held else 0
    return total, ok


def median(x, v, _):
    s = np.sort(x[v])
    return (s[len(s) // 2], True) if len(s) else (0, False)


def of_valid(f):
    return lambda x, v, _: (f(x[v]), True) if v.any() else (0, False)


# What a window gives under `renormalise`: its text, its extents, and the reference.
BOX = "i = -1..1, j = -1..1"
CROSS = "X@[-1, 0] + 2 * X - (X@[0, 1] + X@[0, -1] / 2) * 3"
WEIGHTS = np.array([0, 1, 0, -1.5, 2, -3, 0, 0, 0])
WINDOWS = {
    f"sum({BOX} : X@[i, j])": lambda x, v, _: weighted(x, v, np.ones(9)),
    f"sum({BOX} : (i + 2) * X@[i, j] / 4.0)": lambda x, v, _: weighted(x, v, np.repeat([1, 2, 3], 3) / 4),
    f"sum({BOX} : j * X@[i, j])": lambda x, v, _: weighted(x, v, np.tile([-1.0, 0, 1], 3)),
    f"sum({BOX} where i * j == 0 : X@[i, j] * X@[i, j])":
        lambda x, v, _: weighted(x * x, v, np.array([0, 1, 0, 1, 1, 1, 0, 1, 0.0])),
    f"sum({BOX} where X@[i, j] > 4 : X@[i, j])":
        lambda x, v, _: (x[v & (x > 4)].sum() * 9 / v.sum(), True) if v.any() else (0, False),
    f"sum({BOX} where X@[i, j] > 4 : 1) * 1.0": of_valid(lambda x: (x > 4).sum()),
    f"mean({BOX} : X@[i, j])": of_valid(np.mean),
    f"mean({BOX} where i != 0 : X@[i, j])":
        lambda x, v, _: of_valid(np.mean)(x[[0, 1, 2, 6, 7, 8]], v[[0, 1, 2, 6, 7, 8]], _),
    f"min({BOX} : X@[i, j])": of_valid(np.min),
    f"max({BOX} : X@[i, j])": of_valid(np.max),
    f"max({BOX} : -X@[i, j])": of_valid(lambda x: -np.min(x)),
    f"prod({BOX} : X@[i, j])": of_valid(np.prod),
    f"median({BOX} : X@[i, j])": median,
    f"range({BOX} : X@[i, j])": of_valid(lambda x: x.max() - x.min()),
    f"var({BOX} : X@[i, j])": of_valid(np.var),
    f"argmin({BOX} : X@[i, j]) * 1.0":
        lambda x, v, _: (np.where(v, x, np.inf).argmin(), True) if v.any() else (0, False),
    f"rank(1, {BOX} : X@[i, j])":
        lambda x, v, _: (np.sort(x[v])[1], True) if v.sum() > 1 else (np.nan, v.any()),
    f"percentile(25, {BOX} : X@[i, j])":
        of_valid(lambda x: np.sort(x)[int(np.floor(25 * (len(x) - 1) / 100 + 0.5))]),
    f"(any({BOX} : X@[i, j] > 8) ? 1.0 : 0.0)": of_valid(lambda x: (x > 8).any()),
    f"sum({BOX} : X@[2 * i * j, j])": None,  # written out: its offsets are not affine
    CROSS: lambda x, v, _: weighted(x, v, WEIGHTS),
}


def read_points(text):
    """The points of the 3x3 window that are read at all."""
    i, j = np.mgrid[-1:2, -1:2]
    if text == CROSS:
        return WEIGHTS != 0
    return ((i * j == 0) if "where i * j == 0" in text else (i != 0) if "where i != 0" in text else (i == i)).ravel()


def reference(policy, image, valid, rule, lo, hi, combine, used=...):
    """A window at every point: what it gives, and where that is valid."""
    out, ok = np.zeros(image.shape), np.zeros(image.shape, bool)
    for y, x in np.ndindex(*image.shape):
        values, holds = gather(image, valid, rule, y, x, lo, hi)
        if policy == "renormalise":
            out[y, x], ok[y, x] = combine(values, holds, None)
        elif policy == "infect":
            out[y, x], ok[y, x] = combine(values, np.ones_like(holds), None)[0], holds[used].all()
        else:  # zero
            out[y, x], ok[y, x] = combine(np.where(holds, values, 0), np.ones_like(holds), None)[0], True
    return out, ok


def nearest(image, valid, distance):
    """Each point's nearest valid one: the least distance, of several the first in row-major order."""
    out, ok = image.copy(), valid.copy()
    reach = int(distance)
    for y, x in np.ndindex(*image.shape):
        best = None
        for i in range(-reach, reach + 1):
            for j in range(-reach, reach + 1):
                inside = 0 <= y + i < image.shape[0] and 0 <= x + j < image.shape[1]
                if inside and i * i + j * j <= distance * distance and valid[y + i, x + j]:
                    if best is None or i * i + j * j < best[0]:
                        best = (i * i + j * j, image[y + i, x + j])
        ok[y, x] = best is not None
        out[y, x] = best[1] if best else image[y, x]
    return out, ok


def run(text, image, outputs, *options):
    """The program's results for this image."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "p.tess").write_text(text)
        np.save(folder / "in.npy", image)
        names = [folder / f"{k}.npy" for k in range(outputs)]
        command = [tool.TOOL, "run", folder / "p.tess", folder / "in.npy", "--target=interp", "-q", *options]
        for name in names:
            command += ["-o", name]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        if done.returncode:
            print(text, done.stderr)
            sys.exit(1)
        return [np.load(name) for name in names]


def head(kind="double"):
    return f"parameter M, N;\nvector#2 {kind} a[M, N];\n"


def picture(shape, share):
    image = rng.integers(1, 10, shape).astype(float)
    valid = rng.random(shape) >= share
    return np.where(valid, image, -99), valid


def compare(what, got, got_valid, want, want_valid, text):
    close = np.allclose(np.where(want_valid, got, 0), np.where(want_valid, want, 0), rtol=1e-12, atol=1e-12,
                        equal_nan=True)
    if close and (got_valid.astype(bool) == want_valid).all():
        return
    print(f"{what}\n{text}\ngot\n{got}\n{got_valid}\nwant\n{want}\n{want_valid}")
    sys.exit(1)


def several(policy, rule, texts):
    """One program that computes all of these, each with its validity."""
    functions = "".join(f"stencil f{k}(vector#2 double X) {{ return {t}; }}\n" for k, t in enumerate(texts))
    calls = "".join(f"r{k} = f{k}(p:{rule}:{policy});\n" for k in range(len(texts)))
    results = ", ".join(f"r{k}, valid(r{k})" for k in range(len(texts)))
    return functions + head() + "p = a:valid(a != -99);\n" + calls + f"return {results};\n"


def test_windows():
    texts = list(WINDOWS)
    for policy in ("renormalise", "infect", "zero"):
        for n, rule in enumerate(RULES):
            shape, share = SIZES[n % len(SIZES)], (0.4, 0.2, 1.0)[n % 3]
            if n == 0:
                shape = (5, 7)
            image, valid = picture(shape, share)
            text = several(policy, rule, texts)
            got = run(text, image, 2 * len(texts))
            for k, t in enumerate(texts):
                if WINDOWS[t] is None:
                    continue
                with np.errstate(all="ignore"):
                    want, ok = reference(policy, image, valid, rule, (-1, -1), (1, 1), WINDOWS[t],
                                         read_points(t))
                compare(f"{policy} {rule} {shape} {t}", got[2 * k], got[2 * k + 1], want, ok, "")


def test_masks():
    define = "".join(
        f"mask {name}[{len(m)}, {len(m[0])}] = {{ {', '.join(str(w) for row in m for w in row)} }};\n"
        for name, m in MASKS.items()
    )
    for policy in ("renormalise", "infect", "zero"):
        for n, rule in enumerate(RULES):
            for shape, share in ((SIZES[n % 4], 0.3), ((5, 7), (0.2, 0.6, 1.0)[n % 3])):
                image, valid = picture(shape, share)
                text = define + several(policy, rule, [f"convolve(X, {name})" for name in MASKS])
                got = run(text, image, 2 * len(MASKS))
                for k, mask in enumerate(MASKS.values()):
                    w = np.array(mask, float)
                    lo, hi = extent(w)
                    used = w.ravel() != 0
                    combine = lambda x, v, _: weighted(x, v, w.ravel())
                    if policy == "infect":  # what stands under a weight of 0 is not read
                        want, ok = reference("renormalise", image, valid, rule, lo, hi, lambda x, v, _: (
                            (w.ravel() * np.where(used, x, 0)).sum(), v[used].all()))
                    else:
                        want, ok = reference(policy, image, valid, rule, lo, hi, combine)
                    compare(f"{policy} {rule} {shape} {w}", got[2 * k], got[2 * k + 1], want, ok, text)


def test_nearest():
    for n, distance in enumerate(("1", "2", "2.5", "3")):
        for shape in SIZES:
            image, valid = picture(shape, (0.7, 1.0)[shape == (1, 5) and n == 1])
            text = (f"stencil s(vector#2 double X) {{ return X@[0, 1]; }}\n{head()}p = a:valid(a != -99);\n"
                    f"q = s(p:nearest({distance}):wrap);\nreturn q, valid(q);\n")
            got, got_valid = run(text, image, 2)
            want, ok = nearest(image, valid, float(distance))
            compare(f"nearest({distance}) {shape}", got, got_valid, np.roll(want, -1, 1), np.roll(ok, -1, 1), text)


def test_whole_images():
    text = (head() + "p = a:valid(a != -99);\n"
            "return minimum(p), maximum(p), total(p), mean(p), count(p) * 1.0, histogram(p, 10);\n")
    image, valid = picture((5, 7), 0.4)
    x = image[valid]
    got = run(text, image, 6)
    want = [x.min(), x.max(), x.sum(), x.mean(), len(x)]
    assert np.allclose([g.ravel()[0] for g in got[:5]], want), (got, want)
    text = head() + "p = a:valid(a != -99);\ns = sum(p, 1);\nm = mean(p, 0);\nreturn s, valid(s), m, valid(m);\n"
    image[2], valid[2] = -99, False
    along = run(text, image, 4)
    lines = np.where(valid, image, 0)
    with np.errstate(all="ignore"):
        compare("sum(p, 1)", along[0], along[1], lines.sum(1), valid.any(1), text)
        compare("mean(p, 0)", along[2], along[3], lines.sum(0) / valid.sum(0), valid.any(0), text)
    assert (got[5] == np.bincount(x.astype(int), minlength=10)).all(), got[5]


def test_two_convolutions():
    """The definition in the words of NumPy: two convolutions and a division; astropy's filling in of NaN is the same
    where the outside counts as missing."""
    w = np.outer([1, 4, 6, 4, 1], [1, 4, 6, 4, 1]) / 256
    image, valid = picture((23, 31), 0.3)
    image[~valid] = np.nan
    def correlate(x):
        padded = np.pad(x, 2)
        return sum(w[i, j] * padded[i:i + x.shape[0], j:j + x.shape[1]] for i in range(5) for j in range(5))
    want = correlate(np.where(valid, image, 0)) / correlate(valid.astype(float))
    text = (f"mask g[5, 5] = {{ {', '.join(map(str, w.ravel()))} }};\n"
            f"{head()}return convolve(a:valid(!isnan(a)):renormalise:invalid, g);\n")
    (got,) = run(text, image, 1)
    assert np.allclose(got, want, rtol=1e-12), abs(got - want).max()
    holes = image.copy()
    holes[3:20, 5:25] = np.nan  # windows without a valid point
    for how, options in ((", method = fft", ["--target=c"]), ("", ["--fp=fast"])):
        text = (f"mask g[5, 5] = {{ {', '.join(map(str, w.ravel()))} }};\n"
                f"{head()}s = convolve(a:valid(!isnan(a)):renormalise:invalid, g{how});\nreturn s, valid(s);\n")
        near, ok = run(text, holes, 2, *options)
        with np.errstate(all="ignore"):
            exact = correlate(np.where(np.isnan(holes), 0, holes)) / correlate((~np.isnan(holes)).astype(float))
        # what has next to no weight is divided by the error of a transform
        held = correlate((~np.isnan(holes)).astype(float))
        assert (ok.astype(bool) == (held > 0)).all() and (np.isnan(near) == (held == 0)).all(), how
        assert np.allclose(near[held > 0.01], exact[held > 0.01], rtol=1e-9), how
    if not astropy_convolve:
        return
    theirs = astropy_convolve(image, w, boundary="fill", fill_value=np.nan, nan_treatment="interpolate")
    assert np.allclose(got, theirs, rtol=1e-12), abs(got - theirs).max()
    print("compared with astropy")


for test in (test_two_convolutions, test_whole_images, test_nearest, test_masks, test_windows):
    test()
print("as NumPy")
