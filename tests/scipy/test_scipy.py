"""Every border rule against SciPy: correlate with masks of odd and even sizes, halos wider than the image, on images of
odd and even sizes down to one pixel, and the rank filters; `convolve` in one to three dimensions, flipped, spaced, with
holes, known or given with the run. SciPy is the oracle here because it shares nothing with us."""
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
            terms.append(f"{float(mask[i, j])!r} * X@[{i - h // 2}, {j - w // 2}]")
    return (f"stencil f(vector#2 double X) {{ return {' + '.join(terms)}; }}\n"
            f"parameter M, N;\nvector#2 double a[M, N];\nreturn f(a:{rule});\n")


def convolution(mask, rule, image, spaced, flipped, given):
    """The same by `convolve`, in any number of dimensions, with coefficients in the program or of any extents in the
    run."""
    n, form = image.ndim, "flip(m)" if flipped else "m"
    kind = {"float64": "double", "uint16": "uint16"}[image.dtype.name]
    sizes, extents = ", ".join("MNO"[:n]), ", ".join("KLP"[:n])
    shape, elements = ", ".join(map(str, mask.shape)), ", ".join(str(float(x)) for x in mask.ravel())
    define = "" if given else f"mask m[{shape}] = {{ {elements} }};\n"
    argument, declare, pass_on = (
        (f", mask#{n} double m", f"parameter {extents};\nmask#{n} double w[{extents}];\n", ", w")
        if given
        else ("", "", "")
    )
    return (
        f"{define}stencil f(vector#{n} {kind} X{argument}) {{ return cast<double>(convolve(X, {form}, dilation = "
        f"{spaced})); }}\n"
        f"parameter {sizes};\nvector#{n} {kind} a[{sizes}];\n{declare}return f(a:{rule}{pass_on});\n"
    )


def spread(mask, distance):
    """The mask with its taps so far apart, around the element that is its centre."""
    reach = [max(n // 2, n - 1 - n // 2) * distance for n in mask.shape]
    out = np.zeros([2 * r + 1 for r in reach])
    for at in np.ndindex(*mask.shape):
        out[tuple(r + (k - n // 2) * distance for r, k, n in zip(reach, at, mask.shape))] = mask[at]
    return out


def check_convolutions(folder, rule, mode):
    for number, (size, extent) in enumerate(
        [
            ((9,), (3,)), ((10,), (4,)), ((1,), (5,)), ((6, 7), (2, 5)), ((5, 4), (4, 4)), ((1, 1), (3, 2)),
            ((4, 5, 6), (3, 3, 3)), ((3, 4, 5), (2, 1, 4)), ((1, 2, 1), (2, 2, 3)),
        ]
    ):
        for spaced, flipped, given in ((1, False, False), (2, False, number % 2 == 0), (1, True, number % 2 == 1)):
            image = rng.integers(0, 256, size).astype(np.float64 if number % 2 else np.uint16)
            mask = rng.integers(-2, 3, extent).astype(float) / 4
            text = convolution(mask, rule, image, spaced, flipped, given)
            have, errors = result(folder, text, image, "c" if number == 4 else "interp", mask if given else None)
            want = (ndimage.convolve if flipped else ndimage.correlate)(
                image.astype(float), spread(mask, spaced), mode=mode, cval=7.0
            )
            good = have is not None and have.shape == want.shape and np.allclose(have, want, rtol=1e-6, atol=1e-6)
            tool.check(
                f"convolve {rule} mask {extent} image {size} {spaced} {flipped} {given}", good,
                errors or f"\n{have}\n{want}\n{text}",
            )


def windows(function, size, rule):
    low, high = -(size // 2), (size - 1) // 2
    return (f"stencil f(vector#2 uint8 X) {{ return {function}(i = {low}..{high}, j = {low}..{high} : X@[i, j]); }}\n"
            f"parameter M, N;\nvector#2 uint8 a[M, N];\nreturn f(a:{rule});\n")


def result(folder, text, image, target, mask=None):
    (folder / "f.tess").write_text(text)
    np.save(folder / "in.npy", image)
    if mask is not None:
        np.save(folder / "mask.npy", mask)
    masks = [] if mask is None else [folder / "mask.npy"]
    status, _, errors = tool.run(
        "run", folder / "f.tess", folder / "in.npy", *masks, "-o", folder / "out.npy", f"--target={target}", "-q"
    )
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
        check_convolutions(folder, rule, mode)
        # One compiled run a rule; that C and interpreter agree everywhere is the differential tests' matter.
        image = rng.integers(0, 256, (33, 29)).astype(float)
        mask = rng.integers(-4, 5, (5, 4)).astype(float) / 4
        have, errors = result(folder, program(mask, rule), image, "c")
        want = ndimage.correlate(image, mask, mode=mode, cval=7.0)
        tool.check(
            f"correlate {rule} compiled", have is not None and np.allclose(have, want, rtol=1e-12, atol=1e-9), errors
        )
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
