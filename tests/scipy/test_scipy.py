"""Every border rule against SciPy: correlate with masks of odd and even sizes, halos wider than the image, on images of odd and even
sizes down to one pixel, and the rank filters. SciPy is the oracle here because it shares nothing with us."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import tool

try:
    import numpy as np
    from scipy import ndimage
except ImportError:
    print("skipped: this python3 has no scipy (Debian: python3-scipy)")
    sys.exit(tool.SKIPPED)

RULES = {"clamp": "nearest", "mirror": "mirror", "reflect": "reflect", "wrap": "grid-wrap", "constant(7)": "constant"}
SIZES = [(1, 1), (1, 2), (2, 1), (2, 2), (3, 3), (4, 5), (5, 4), (8, 9), (17, 13)]
MASKS = [(1, 1), (3, 3), (5, 5), (1, 7), (7, 1), (2, 2), (4, 2), (3, 6), (11, 9)]
rng = np.random.default_rng(20261120)


def program(mask, rule):
    """A correlation: an even mask is centred as SciPy centres it, at size // 2."""
    h, w = mask.shape
    terms = []
    for i in range(h):
        for j in range(w):
            terms.append(f"{mask[i, j]!r} * X@[{i - h // 2}, {j - w // 2}]")
    return (f"stencil f(vector#2 double X) {{ return {' + '.join(terms)}; }}\n"
            f"parameter M, N;\nvector#2 double a[M, N];\nreturn f(a:{rule});\n")


def windows(function, size, rule):
    low, high = -(size // 2), (size - 1) // 2
    return (f"stencil f(vector#2 uint8 X) {{ return {function}(i = {low}..{high}, j = {low}..{high} : X@[i, j]); }}\n"
            f"parameter M, N;\nvector#2 uint8 a[M, N];\nreturn f(a:{rule});\n")


def result(folder, text, image, target):
    (folder / "f.tess").write_text(text)
    np.save(folder / "in.npy", image)
    status, _, errors = tool.run("run", folder / "f.tess", folder / "in.npy", "-o", folder / "out.npy", f"--target={target}", "-q")
    if status:
        return None, errors
    return np.load(folder / "out.npy"), ""


with tool.workspace() as folder:
    folder = pathlib.Path(folder)
    for rule, mode in RULES.items():
        for mask_size in MASKS:
            mask = rng.integers(-4, 5, mask_size).astype(float) / 4
            for size in SIZES:
                image = rng.integers(0, 256, size).astype(float)
                have, errors = result(folder, program(mask, rule), image, "interp")
                want = ndimage.correlate(image, mask, mode=mode, cval=7.0)
                good = have is not None and have.shape == want.shape and np.allclose(have, want, rtol=1e-12, atol=1e-9)
                tool.check(f"correlate {rule} mask {mask_size} image {size}", good, errors or f"\n{have}\n{want}")
        # One compiled run a rule; that C and interpreter agree everywhere is the differential tests' matter.
        image = rng.integers(0, 256, (33, 29)).astype(float)
        mask = rng.integers(-4, 5, (5, 4)).astype(float) / 4
        have, errors = result(folder, program(mask, rule), image, "c")
        want = ndimage.correlate(image, mask, mode=mode, cval=7.0)
        tool.check(f"correlate {rule} compiled", have is not None and np.allclose(have, want, rtol=1e-12, atol=1e-9), errors)
        for function, reference in (("median", ndimage.median_filter), ("min", ndimage.minimum_filter),
                                    ("max", ndimage.maximum_filter)):
            for window in (3, 4, 5):
                for size in ((1, 1), (2, 3), (9, 8)):
                    image = rng.integers(0, 256, size).astype(np.uint8)
                    have, errors = result(folder, windows(function, window, rule), image, "interp")
                    want = reference(image, size=window, mode=mode, cval=7)
                    good = have is not None and np.array_equal(have, want)
                    tool.check(f"{function} {window} {rule} {size}", good, errors or f"\n{image}\n{have}\n{want}")
tool.finish()
