"""Filters of the library beside OpenCV, scikit-image, ITK, SciPy, pyoptflow and colour-demosaicing, where these are
installed: prints the rows of docs/filters.md, the largest difference divided by the largest value. With --check no row
may differ by more than the document says, and half as much again; tests/python runs it so.

    pip install scikit-image opencv-python-headless simpleitk pyoptflow colour-demosaicing
    python3 tests/scipy/compare_others.py
"""
import importlib
import pathlib
import re
import sys
import warnings

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import tool


def library(name):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what they could do with more packages
            return importlib.import_module(name)
    except ImportError:
        return None


cv, itk, sk, sp = library("cv2"), library("SimpleITK"), library("skimage"), library("scipy")
flow, mosaics = library("pyoptflow"), library("colour_demosaicing")
for part in sk and ("color", "feature", "filters", "morphology", "registration", "restoration") or ():
    library(f"skimage.{part}")
for part in sp and ("ndimage", "signal") or ():
    library(f"scipy.{part}")
rng = np.random.default_rng(20261123)
ROWS, COLUMNS = np.mgrid[:96, :120]
SHAPES = 90 + 60 * np.sin(COLUMNS / 7) * np.cos(ROWS / 9) + 70 * ((ROWS // 24 + COLUMNS // 30) % 2)
X = np.clip(SHAPES + rng.normal(0, 6, SHAPES.shape), 0, 255).astype(np.float32)
B = np.rint(X).astype(np.uint8)
C = rng.uniform(0, 1, (96, 120, 3)).astype(np.float32)
PSF = np.outer([1, 2, 1], [1, 3, 1]).astype(np.float32) / 20
MARK = np.where((ROWS % 32 == 16) & (COLUMNS % 40 == 20), X, 0).astype(np.float32)


def waves(rows, columns):
    return (90 + 60 * np.sin(columns / 7) * np.cos(rows / 9) + 30 * np.cos((rows + 2 * columns) / 5)).astype(np.float32)


def prefiltered(image):
    """Slopes along rows, cut off at 31, as bytes: what StereoBM compares."""
    wide = np.pad(image.astype(int), 1, mode="reflect")
    slopes = wide[:, 2:] - wide[:, :-2]
    return np.uint8(np.clip(slopes[:-2] + 2 * slopes[1:-1] + slopes[2:], -31, 31) + 31)


SS, ST = waves(ROWS, COLUMNS), waves(ROWS - 0.3, COLUMNS + 0.2)  # moved down, and to the left
SCENE = rng.integers(0, 256, SHAPES.shape, dtype=np.uint8)
SHIFTED = np.where(COLUMNS < 60, np.roll(SCENE, -3, 1), np.roll(SCENE, -9, 1))
CROSS = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]], np.float32)
INPUTS = {"cross": CROSS, "X": X, "B": B, "C": C, "psf": PSF, "mark": MARK, "SS": SS, "ST": ST,
          "left": prefiltered(SCENE), "right": prefiltered(SHIFTED)}
TYPES = {"X": "vector#2 float X[M, N];", "B": "vector#2 uint8 B[M, N];", "psf": "mask#2 float psf[3, 3];",
         "cross": "mask#2 float cross[3, 3];",
         "C": "struct colour { float r; float g; float b; }\nvector#2 colour C[M, N];",
         "mark": "vector#2 float mark[M, N];", "SS": "vector#2 float SS[M, N];", "ST": "vector#2 float ST[M, N];",
         "left": "vector#2 uint8 left[M, N];", "right": "vector#2 uint8 right[M, N];"}


def itk_filter(name, image=X, **settings):
    """An ITK filter by name; its boundaries are those of `clamp` (zero flux)."""
    made = getattr(itk, name + "ImageFilter")()
    for key, value in settings.items():
        getattr(made, "Set" + key)(value)
    return itk.GetArrayFromImage(made.Execute(itk.GetImageFromArray(image)))


def opencv():
    square = np.ones((5, 5), np.uint8)
    bigger = cv.INTER_LINEAR, cv.INTER_CUBIC
    yield "gaussian(X:mirror, 2)", "GaussianBlur, 13 x 13", cv.GaussianBlur(X, (13, 13), 2)
    yield "box(X:mirror, 2)", "blur", cv.blur(X, (5, 5))
    yield "median_filter(B, 2)", "medianBlur", cv.medianBlur(B, 5)
    yield "bilateral(X:mirror, 1.5, 30)", "bilateralFilter (a disc)", cv.bilateralFilter(X, 7, 30, 1.5)
    yield "sobel_x(X:mirror)", "Sobel", cv.Sobel(X, cv.CV_32F, 1, 0)
    yield "scharr_y(X:mirror)", "Scharr", cv.Scharr(X, cv.CV_32F, 0, 1)
    yield "laplacian(X:mirror)", "Laplacian", cv.Laplacian(X, cv.CV_32F)
    yield "erode(B, 2)", "erode", cv.erode(B, square)
    yield "close(B, 2)", "morphologyEx", cv.morphologyEx(B, cv.MORPH_CLOSE, square)
    yield "equalize(B)", "equalizeHist", cv.equalizeHist(B)
    yield "clahe(B:mirror, 2, 8, 8)", "createCLAHE", cv.createCLAHE(2, (8, 8)).apply(B)
    yield "otsu(B)", "threshold", np.array([cv.threshold(B, 0, 255, cv.THRESH_OTSU)[0]])
    yield "downsample(X:mirror)", "pyrDown", cv.pyrDown(X)
    yield "upsample(X:reflect)", "pyrUp", cv.pyrUp(X)
    yield "resize_linear(X, 130, 77)", "resize, INTER_LINEAR", cv.resize(X, (77, 130), interpolation=bigger[0])
    yield "resize_cubic(X, 130, 177, -0.75)", "resize, INTER_CUBIC", cv.resize(X, (177, 130), interpolation=bigger[1])
    yield "resize_area(X, 41, 50, 3)", "resize, INTER_AREA", cv.resize(X, (50, 41), interpolation=cv.INTER_AREA)
    cross = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]], np.uint8)
    yield "erode_by(B, cross)", "erode, a cross", cv.erode(B, cross)
    yield "dilate_by(B, cross)", "dilate, a cross", cv.dilate(B, cross)
    yield "integral(B)", "integral", cv.integral(B)[1:, 1:]
    yield "euclidean_distance(B > 90)", "distanceTransform, precise", cv.distanceTransform(
        np.uint8(B > 90), cv.DIST_L2, cv.DIST_MASK_PRECISE)
    yield "demosaic(B)", "cvtColor, Bayer", tuple(np.moveaxis(cv.cvtColor(B, cv.COLOR_BayerBG2RGB), 2, 0))
    yield "srgb_to_lab(C)", "cvtColor", tuple(np.moveaxis(cv.cvtColor(C, cv.COLOR_RGB2Lab), 2, 0))
    yield "nonlocal_means(B:mirror, 1, 4, 12)", "fastNlMeansDenoising", cv.fastNlMeansDenoising(B, None, 12, 3, 9)
    yield "disparity(left, right, 3, 15)", "StereoBM", opencv_disparity(), 24
    yield "warp(X:constant, B / 40.0, -mark / 30)", "remap", cv.remap(
        X, np.float32(COLUMNS - MARK / 30), np.float32(ROWS + B / 40.0), cv.INTER_LINEAR)
    yield "rgb_to_ycbcr(C)", "cvtColor", ycbcr()


def opencv_disparity():
    """Of what its prefilter, slopes cut off at 31, leaves."""
    made = cv.StereoBM.create(16, 7)
    made.setPreFilterType(1)  # slopes
    made.setPreFilterCap(31)
    made.setTextureThreshold(0)
    made.setUniquenessRatio(0)
    return np.floor(made.compute(SCENE, SHIFTED) / 16 + 0.5)


def ycbcr():
    y, cr, cb = channels(cv.cvtColor(C, cv.COLOR_RGB2YCrCb))
    return y, cb + 127.5, cr + 127.5  # ours are about 128


def channels(image):
    return tuple(np.moveaxis(image, 2, 0))


def scikit_image():
    f, m, r = sk.filters, sk.morphology, sk.restoration
    yield "gaussian(X, 2)", "gaussian, truncate=3", f.gaussian(X, 2, mode="nearest", truncate=3)
    yield "median_filter(B, 1)", "median", f.median(B, np.ones((3, 3)), behavior="ndimage", mode="nearest")
    yield "niblack(X:mirror, 3, 0.2)", "threshold_niblack", f.threshold_niblack(X, 7, 0.2)
    yield "sauvola(X:mirror, 3, 0.2, 128)", "threshold_sauvola", f.threshold_sauvola(X, 7, 0.2, 128)
    yield "otsu(B)", "threshold_otsu", np.array([f.threshold_otsu(B)])
    yield "total_variation(X, 20, 30)", "denoise_tv_chambolle", r.denoise_tv_chambolle(X, 20, 0, 31)
    yield "richardson_lucy(X:constant, psf, 5)", "richardson_lucy", r.richardson_lucy(X, PSF, 5, clip=False)
    yield "unsharp(X:reflect, 2, 0.8)", "unsharp_mask", f.unsharp_mask(X, 2, 0.8, preserve_range=True)
    yield "frangi(X:reflect, 2, 0.5, 5)", "frangi", f.frangi(X, [2], beta=0.5, gamma=5, mode="reflect")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of floats, which are integers here
        found = sk.feature.local_binary_pattern(B, 8, 1)
    straight = found.astype(np.uint8) & 85
    yield "local_binary_pattern(B:constant) & 85", "local_binary_pattern, straight neighbours", straight
    yield "white_tophat(B, 2)", "white_tophat", m.white_tophat(B, np.ones((5, 5)))
    yield "reconstruct(mark, X, 100000)", "reconstruction", m.reconstruction(np.minimum(MARK, X), X)
    yield "fast(B, 30)", "corner_fast > 0", 255.0 * (sk.feature.corner_fast(B.astype(float), 9, 30) > 0)
    yield "srgb_to_lab(C)", "rgb2lab", tuple(np.moveaxis(sk.color.rgb2lab(C), 2, 0))
    yield "hue(C)", "rgb2hsv", sk.color.rgb2hsv(C)[..., 0]
    yield "hsv_to_rgb(C.r, C.g, C.b)", "hsv2rgb", channels(sk.color.hsv2rgb(C))
    yield "lab_to_srgb(X / 3, SS - 90, ST - 90)", "lab2rgb", channels(
        sk.color.lab2rgb(np.stack([X / 3, SS - 90, ST - 90], -1)))
    yield "nonlocal_means(X:mirror, 1, 4, 12)", "denoise_nl_means", r.denoise_nl_means(
        X, 3, 4, 12, preserve_range=True), 8
    yield "lucas_kanade(SS, ST, 2.25)", "registration.optical_flow_ilk", tuple(-sk.registration.optical_flow_ilk(
        ST, SS, radius=4, num_warp=1, gaussian=True)[::-1]), 12


def scipy():
    yield "wiener(X:constant, 2, 100)", "signal.wiener", sp.signal.wiener(X.astype(float), (5, 5), 100)
    yield "euclidean_distance(B > 90)", "distance_transform_edt", sp.ndimage.distance_transform_edt(B > 90)
    yield "rotate(X:constant, 20)", "ndimage.rotate, order=1", sp.ndimage.rotate(
        X.astype(float), 20, reshape=False, order=1, mode="grid-constant")


def optical_flow():
    """Of pictures turned by 180 degrees: its slopes are those to the points before, ours to those behind."""
    u, v = flow.HornSchunck(SS[::-1, ::-1], ST[::-1, ::-1], alpha=3, Niter=20)
    yield "horn_schunck(SS, ST, 3, 20)", "HornSchunck", (-u[::-1, ::-1], -v[::-1, ::-1]), 21


def demosaicing():
    made = mosaics.demosaicing_CFA_Bayer_Malvar2004(X, "RGGB")
    yield "demosaic_malvar(X)", "demosaicing_CFA_Bayer_Malvar2004", channels(made), 2


def simple_itk():
    yield "gaussian(X, 2)", "DiscreteGaussian", itk_filter("DiscreteGaussian", Variance=4, MaximumError=0.003)
    yield "box(X, 2)", "BoxMean", itk_filter("BoxMean", Radius=[2, 2])
    yield "median_filter(B, 1)", "Median", itk_filter("Median", B, Radius=[1, 1])
    yield "erode(B, 2)", "GrayscaleErode", itk_filter("GrayscaleErode", B, KernelRadius=[2, 2], KernelType=itk.sitkBox)
    yield "laplacian(X)", "Laplacian", itk_filter("Laplacian")
    yield "bilateral(X, 1.5, 30)", "Bilateral", itk_filter("Bilateral", DomainSigma=1.5, RangeSigma=30)
    yield "otsu(B)", "OtsuThreshold", np.array([itk_threshold()])


def itk_threshold():
    made = itk.OtsuThresholdImageFilter()
    made.SetNumberOfHistogramBins(256)
    made.Execute(itk.GetImageFromArray(B))
    return made.GetThreshold()


def results(folder, calls):
    lines = [f"{', '.join(f'r{n}_{k}' for k in range(many))} = {call};" for n, (call, many) in enumerate(calls)]
    names = [f"r{n}_{k}" for n, (_, many) in enumerate(calls) for k in range(many)]
    used = [name for name in INPUTS if any(name in line for line in lines)]
    (folder / "all.tess").write_text(
        'use "filters";\nparameter M, N;\n' + "\n".join([TYPES[name] for name in used] + lines)
        + f"\nreturn {', '.join(names)};\n"
    )
    for name in used:
        np.save(folder / f"{name}.npy", INPUTS[name])
    outputs = [part for name in names for part in ("-o", folder / f"{name}.npy")]
    code, _, said = tool.run("run", folder / "all.tess", *(f"{n}={folder / n}.npy" for n in used), *outputs,
                             "--target=vm", "-q")
    if code:
        sys.exit(said)
    return [[np.load(folder / f"r{n}_{k}.npy").astype(float) for k in range(many)]
            for n, (_, many) in enumerate(calls)]


def differences():
    """(call, beside what, largest difference divided by the largest value) of each row; None where that is missing."""
    for name, there, rows in (("OpenCV", cv, opencv), ("scikit-image", sk, scikit_image), ("ITK", itk, simple_itk),
                              ("SciPy", sp, scipy), ("pyoptflow", flow, optical_flow),
                              ("colour-demosaicing", mosaics, demosaicing)):
        if not there:
            yield name, None, None
            continue
        cases = [(call, how, what if isinstance(what, tuple) else (what,), margin[0] if margin else 0)
                 for call, how, what, *margin in rows()]
        with tool.workspace() as folder:
            found = results(pathlib.Path(folder), [(call, len(what)) for call, _, what, _ in cases])
        for (call, how, wanted, margin), got in zip(cases, found):
            inside = (slice(margin, -margin),) * 2 if margin else ...
            yield call, f"{name}: {how}{', inside' if margin else ''}", max(
                np.abs(g - w)[inside].max() / max(1e-30, np.abs(w).max()) for g, w in zip(got, wanted))


def documented():
    """What docs/filters.md says of each row."""
    text = (tool.ROOT / "docs/filters.md").read_text()
    return {(call, how): float(most) for call, how, most in re.findall(r"\| `(.*)` \| (.*: .*) \| (\S+) \|", text)}


def main():
    said = documented()
    print("| call | beside | largest difference |\n| --- | --- | --- |")
    for call, how, off in differences():
        if how is None:
            print(f"{call} is not installed", file=sys.stderr)
            continue
        print(f"| `{call}` | {how} | {off:.1e} |")
        if "--check" in sys.argv:
            tool.check(f"{call} beside {how}", off <= 1.5 * said.get((call, how), -1) + 1e-6, off)
    if "--check" in sys.argv:
        tool.finish()


main()
