"""Filters of the library beside SciPy and NumPy in float64, on images of odd sizes: the largest difference of each, and
what it may be, and that it is what docs/filters.md says. With --table the rows of that page."""

import colorsys
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import tool

try:
    import numpy as np
    from scipy import ndimage
except ImportError:
    print("skipped: this python3 has no scipy (Debian: python3-scipy)")
    sys.exit(tool.SKIPPED)

rng = np.random.default_rng(20261123)
PHOTO = rng.uniform(0, 255, (23, 31)).astype(np.float32)
SMOOTH = ndimage.gaussian_filter(PHOTO, 2).astype(np.float32)
MOVED = ndimage.shift(SMOOTH, (0.3, 0.6), order=1, mode="nearest").astype(np.float32)
BYTES = np.clip(
    np.where(rng.uniform(size=(23, 31)) < 0.4, rng.normal(60, 15, (23, 31)), rng.normal(170, 20, (23, 31))), 0, 255
).astype(np.uint8)
LEFT = np.roll(PHOTO, -2, axis=1)
COLOUR = np.round(rng.uniform(0, 1, (23, 31, 3)), 1).astype(np.float32)
TINTED = (COLOUR * np.array([0.5, 0.8, 0.9], np.float32)).astype(np.float32)
TABLE = np.sort(rng.uniform(0, 1, 256)).astype(np.float32)
PSF = np.outer([1, 2, 3, 1], [1, 4, 2]).astype(np.float32)
PSF /= PSF.sum()
WEIGHT = np.linspace(0, 1, 31, dtype=np.float32) * np.ones((23, 1), np.float32)
FOOTPRINT = np.array([[0, 1, 0], [1, 0, 1], [0, 2, 2]], np.float32)
VOLUME = rng.uniform(0, 255, (5, 7, 9)).astype(np.float32)
LINE = rng.uniform(0, 255, 40).astype(np.float32)
CLAMP = "nearest"


def gaussian(x, sigma, order=0):
    return ndimage.gaussian_filter(x.astype(float), sigma, order, mode=CLAMP, truncate=np.ceil(3 * sigma) / sigma)


def box(x, r):
    return ndimage.uniform_filter(x.astype(float), 2 * r + 1, mode=CLAMP)


def disc(r):
    y, x = np.mgrid[-r : r + 1, -r : r + 1]
    return y * y + x * x <= r * r


def nonmax(m, gx, gy):
    """What is larger than the neighbour before it along the gradient, whose angle is rounded to 45 degrees, and not
    smaller than the one behind."""
    edged, octant = np.pad(m, 1, mode="edge"), np.round(np.arctan2(gy, gx) / (np.pi / 4)).astype(int) % 4
    out = np.zeros_like(m)
    for (i, j), value in np.ndenumerate(m):
        y, x = ((0, 1), (1, 1), (1, 0), (1, -1))[octant[i, j]]
        if value > edged[i + 1 - y, j + 1 - x] and value >= edged[i + 1 + y, j + 1 + x]:
            out[i, j] = value
    return out


def lanczos(x, n, axis):
    """x with n points along the axis, by six points each."""
    at = (np.arange(n) + 0.5) * x.shape[axis] / n - 0.5
    first = np.floor(at).astype(int)
    out = weights = 0
    for k in range(-2, 4):
        w = np.sinc(at - first - k) * np.sinc((at - first - k) / 3)
        w = w if axis == 1 else w[:, None]
        out = out + w * np.take(x, np.clip(first + k, 0, x.shape[axis] - 1), axis)
        weights = weights + w
    return out / weights


def cubic(x, n, axis, a):
    """The same by cubic convolution with four points each (Keys 1981, with `a` free)."""
    at = (np.arange(n) + 0.5) * x.shape[axis] / n - 0.5
    first = np.floor(at).astype(int)
    out = 0
    for k in range(-1, 3):
        d = np.abs(at - first - k)
        near, far = ((a + 2) * d - (a + 3)) * d * d + 1, a * (((d - 5) * d + 8) * d - 4)
        w = np.where(d <= 1, near, np.where(d < 2, far, 0))
        out = out + (w if axis == 1 else w[:, None]) * np.take(x, np.clip(first + k, 0, x.shape[axis] - 1), axis)
    return out


def mean_inside(x, r):
    share = ndimage.uniform_filter(np.ones(x.shape), 2 * r + 1, mode="constant")
    return ndimage.uniform_filter(x.astype(float), 2 * r + 1, mode="constant") / share


def roots(xx, xy, yy):
    mean, root = (xx + yy) / 2, np.hypot((xx - yy) / 2, xy)
    return mean + root, mean - root


def structure(x, sigma, around):
    gx, gy = gaussian(x, sigma, (0, 1)), gaussian(x, sigma, (1, 0))
    return roots(gaussian(gx * gx, around), gaussian(gx * gy, around), gaussian(gy * gy, around))


def hessian(x, sigma):
    return roots(gaussian(x, sigma, (0, 2)), gaussian(x, sigma, (1, 1)), gaussian(x, sigma, (2, 0)))


def frangi(x, sigma, beta, c):
    a, b = hessian(x, sigma)
    first, second = np.where(abs(a) < abs(b), a, b), np.where(abs(a) < abs(b), b, a)
    with np.errstate(all="ignore"):
        value = np.exp(-((first / second) ** 2) / (2 * beta**2)) * (1 - np.exp(-(first**2 + second**2) / (2 * c**2)))
    return np.where(second > 0, value, 0)


def guided(x, guide, r, eps):
    x, guide = x.astype(float), guide.astype(float)
    a = (box(guide * x, r) - box(guide, r) * box(x, r)) / (box(guide * guide, r) - box(guide, r) ** 2 + eps)
    b = box(x, r) - a * box(guide, r)
    return box(a, r) * guide + box(b, r)


def around(x, r):
    return np.pad(x.astype(float), r, mode="edge")


def centres(n, m):
    """Where n points lie among m, edge upon edge."""
    return (np.arange(n) + 0.5) * m / n - 0.5


def resized(x, n, m, order):
    places = np.meshgrid(centres(n, x.shape[0]), centres(m, x.shape[1]), indexing="ij")
    return ndimage.map_coordinates(x.astype(float), places, order=order, mode=CLAMP)


def warped(x, dy, dx):
    i, j = np.mgrid[: x.shape[0], : x.shape[1]]
    return ndimage.map_coordinates(x.astype(float), (i + dy, j + dx), order=1, mode=CLAMP)


def nearest_zero(x):
    rows, columns = np.nonzero(~x)
    i, j = np.mgrid[: x.shape[0], : x.shape[1]]
    which = np.argmin((i[..., None] - rows) ** 2 + (j[..., None] - columns) ** 2, axis=-1)
    return rows[which], columns[which]


def nonlocal_means(x, patch, reach, h):
    n, m = x.shape
    wide, r = around(x, patch + reach), patch + reach
    at = lambda i, j: wide[r + i : r + i + n, r + j : r + j + m]
    weights = values = 0
    for i in range(-reach, reach + 1):
        for j in range(-reach, reach + 1):
            d = sum(
                (at(i + k, j + l) - at(k, l)) ** 2 for k in range(-patch, patch + 1) for l in range(-patch, patch + 1)
            )
            w = np.exp(-d / (h * h * (2 * patch + 1) ** 2))
            weights, values = weights + w, values + w * at(i, j)
    return values / weights


def diffusion(x, kappa, rate, steps):
    x = x.astype(float)
    for _ in range(steps):
        wide = around(x, 1)
        d = [wide[:-2, 1:-1] - x, wide[2:, 1:-1] - x, wide[1:-1, :-2] - x, wide[1:-1, 2:] - x]
        x = x + rate * sum(np.exp(-((k / kappa) ** 2)) * k for k in d)
    return x


def divergence(px, py):
    out = px + py
    out[:, 1:] -= px[:, :-1]
    out[1:, :] -= py[:-1, :]
    out[:, -1] -= px[:, -1]
    out[-1, :] -= py[-1, :]
    return out


def variation(x, weight, steps):
    x = x.astype(float)
    px = py = np.zeros_like(x)
    for _ in range(steps):
        u = x - divergence(px, py)
        gx, gy = np.zeros_like(x), np.zeros_like(x)
        gx[:, :-1], gy[:-1] = np.diff(u, axis=1), np.diff(u, axis=0)
        norm = 1 + 0.25 / weight * np.hypot(gx, gy)
        px, py = (px - 0.25 * gx) / norm, (py - 0.25 * gy) / norm
    return x - divergence(px, py)


def local(x, r):
    x = x.astype(float)
    return box(x, r), np.maximum(box(x * x, r) - box(x, r) ** 2, 0)


def wiener(x, r, noise):
    mean, variance = local(x, r)
    with np.errstate(all="ignore"):
        return np.where(variance < noise, mean, mean + (1 - noise / variance) * (x - mean))


def richardson_lucy(x, psf, steps):
    x, u = x.astype(float), x.astype(float)
    for _ in range(steps):
        blurred = ndimage.convolve(u, psf.astype(float), mode=CLAMP)
        u = u * ndimage.correlate(np.where(blurred > 1e-12, x / blurred, 0), psf.astype(float), mode=CLAMP)
    return u


def niblack(x, r, k):
    mean, variance = local(x, r)
    return mean - k * np.sqrt(variance)


def sauvola(x, r, k, half):
    mean, variance = local(x, r)
    return mean * (1 + k * (np.sqrt(variance) / half - 1))


def otsu(x):
    count = np.bincount(x.ravel(), minlength=256).astype(float)
    low, value = np.cumsum(count), np.cumsum(count * np.arange(256))
    high = low[-1] - low
    with np.errstate(all="ignore"):
        between = low * high * (value / low - (value[-1] - value) / high) ** 2
    return np.nanargmax(np.where((low > 0) & (high > 0), between, 0))


def patterns(x):
    wide, n, m = around(x, 1), *x.shape
    places = [(0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1), (1, 0), (1, 1)]
    return sum((wide[1 + i : 1 + i + n, 1 + j : 1 + j + m] >= x) << k for k, (i, j) in enumerate(places))


def fast(x, t):
    circle = [
        (-3, 0),
        (-3, 1),
        (-2, 2),
        (-1, 3),
        (0, 3),
        (1, 3),
        (2, 2),
        (3, 1),
        (3, 0),
        (3, -1),
        (2, -2),
        (1, -3),
        (0, -3),
        (-1, -3),
        (-2, -2),
        (-3, -1),
    ]
    wide, n, m = around(x, 3), *x.shape
    ring = np.array([wide[3 + i : 3 + i + n, 3 + j : 3 + j + m] for i, j in circle] * 2)
    found = np.zeros(x.shape, bool)
    for k in range(16):
        found |= (ring[k : k + 9] > x + t).all(0) | (ring[k : k + 9] < x - t).all(0)
    return 255 * found


def reconstruct(marker, limit, steps):
    out = np.minimum(marker, limit)
    for _ in range(steps):
        out = np.minimum(ndimage.maximum_filter(out, 3, mode=CLAMP), limit)
    return out


def slopes(a, b):
    a, b = (np.pad(x.astype(float), ((0, 1), (0, 1)), mode="edge") for x in (a, b))
    both = a + b
    sx = (both[:-1, 1:] - both[:-1, :-1] + both[1:, 1:] - both[1:, :-1]) / 4
    sy = (both[1:, :-1] - both[:-1, :-1] + both[1:, 1:] - both[:-1, 1:]) / 4
    d = b - a
    return sx, sy, (d[:-1, :-1] + d[1:, :-1] + d[:-1, 1:] + d[1:, 1:]) / 4


def horn_schunck(a, b, alpha, steps):
    sx, sy, st = slopes(a, b)
    mean = np.array([[1, 2, 1], [2, 0, 2], [1, 2, 1]]) / 12
    u = v = np.zeros(a.shape)
    for _ in range(steps):
        au, av = (ndimage.correlate(x, mean, mode=CLAMP) for x in (u, v))
        step = (sx * au + sy * av + st) / (alpha**2 + sx**2 + sy**2)
        u, v = au - sx * step, av - sy * step
    return u, v


def lucas_kanade(a, b, sigma):
    sx, sy, st = slopes(a, b)
    xx, xy, yy, xt, yt = (gaussian(p, sigma) for p in (sx * sx, sx * sy, sy * sy, sx * st, sy * st))
    d = xx * yy - xy * xy
    return (xy * yt - yy * xt) / d, (xy * xt - xx * yt) / d


def disparity(left, right, r, most):
    costs = []
    for d in range(most + 1):
        wide_l, wide_r = (around(x, r + most) for x in (left, right))
        at = lambda w, i, j: w[r + most + i : r + most + i + left.shape[0], r + most + j : r + most + j + left.shape[1]]
        costs.append(
            sum(abs(at(wide_l, i, j) - at(wide_r, i, j - d)) for i in range(-r, r + 1) for j in range(-r, r + 1))
        )
    return np.argmin(costs, axis=0)


def linear_light(v):
    return np.where(v <= 0.04045, v / 12.92, ((v + 0.055) / 1.055) ** 2.4)


def hsv(x):
    """By the usual definition, as Python's own colorsys has it."""
    return [np.array([[colorsys.rgb_to_hsv(*point)[k] for point in row] for row in x.tolist()]) for k in range(2)]


def lab(x):
    """CIE 15, with the numbers that scikit-image has."""
    xyz = (
        linear_light(x)
        @ np.array([[0.412453, 0.357580, 0.180423], [0.212671, 0.715160, 0.072169], [0.019334, 0.119193, 0.950227]]).T
        / [0.95047, 1, 1.08883]
    )
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return 116 * f[..., 1] - 16, 500 * (f[..., 0] - f[..., 1]), 200 * (f[..., 1] - f[..., 2])


def channels(x):
    return tuple(x[..., k] for k in range(3))


def from_lab(l, a, b):
    m = (l.astype(float) + 16) / 116
    f = np.stack([m + a / 500.0, m, m - b / 200.0], -1)
    xyz = np.where(f > 0.2068966, f**3, (f - 16 / 116) / 7.787) * [0.95047, 1, 1.08883]
    to = np.array([[0.412453, 0.357580, 0.180423], [0.212671, 0.715160, 0.072169], [0.019334, 0.119193, 0.950227]])
    light = np.maximum(xyz @ np.linalg.inv(to).T, 0)
    return channels(np.clip(np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055), 0, 1))


YCBCR = np.array([[0.299, 0.587, 0.114], [-0.168736, -0.331264, 0.5], [0.5, -0.418688, -0.081312]])


def ycbcr(x):
    return channels(x.astype(float) @ YCBCR.T + [0, 128, 128])


def from_ycbcr(y, b, r):
    return channels((np.stack([y, b, r], -1) - [0.0, 128, 128]) @ np.round(np.linalg.inv(YCBCR), 6).T)


def bilateral_cube(x, space, value):
    """The mean of the neighbours, weighed by distance and difference."""
    r = int(np.ceil(2 * space))
    wide = np.pad(x.astype(float), r, mode="edge")
    values, weights = 0, 0
    for at in np.ndindex(*(2 * r + 1,) * 3):
        y = wide[tuple(slice(k, k + n) for k, n in zip(at, x.shape))]
        away = sum((k - r) ** 2 for k in at)
        w = np.exp(-away / (2 * space**2) - (y - x) ** 2 / (2.0 * value**2))
        values, weights = values + w * y, weights + w
    return values / weights


def slope(x, sigma):
    r = int(np.ceil(3 * sigma))
    i = np.arange(-r, r + 1)
    g = np.exp(-i * i / (2 * sigma**2))
    return ndimage.correlate1d(x.astype(float), i / sigma**2 * g / g.sum(), mode=CLAMP)


def mosaic_masks(shape):
    y, x = np.indices(shape)
    return (y % 2 == 0) & (x % 2 == 0), (y + x) % 2 == 1, (y % 2 == 1) & (x % 2 == 1)


def demosaic(x):
    """Means of what there is of a colour under masks that keep to the pattern."""
    out = []
    for place, kernel in zip(
        mosaic_masks(x.shape),
        ([[1, 2, 1], [2, 4, 2], [1, 2, 1]], [[0, 1, 0], [1, 4, 1], [0, 1, 0]], [[1, 2, 1], [2, 4, 2], [1, 2, 1]]),
    ):
        out.append(ndimage.correlate(np.where(place, x, 0).astype(float), np.array(kernel) / 4, mode="mirror"))
    return tuple(out)


def malvar(x):
    """The filters of the paper's figure 2, on all of the image, chosen by place."""
    g = np.array([[0, 0, -1, 0, 0], [0, 0, 2, 0, 0], [-1, 2, 4, 2, -1], [0, 0, 2, 0, 0], [0, 0, -1, 0, 0]]) / 8
    beside = (
        np.array([[0, 0, 0.5, 0, 0], [0, -1, 0, -1, 0], [-1, 4, 5, 4, -1], [0, -1, 0, -1, 0], [0, 0, 0.5, 0, 0]]) / 8
    )
    far = (
        np.array([[0, 0, -1.5, 0, 0], [0, 2, 0, 2, 0], [-1.5, 0, 6, 0, -1.5], [0, 2, 0, 2, 0], [0, 0, -1.5, 0, 0]]) / 8
    )
    green, along, down, opposite = (
        ndimage.correlate(x.astype(float), m, mode="mirror") for m in (g, beside, beside.T, far)
    )
    red, greens, blue = mosaic_masks(x.shape)
    y = np.indices(x.shape)[0] % 2
    return (
        np.select([red, greens & (y == 0), greens], [x, along, down], opposite),
        np.where(greens, x, green),
        np.select([blue, greens & (y == 1), greens], [x, along, down], opposite),
    )


# Call, largest difference allowed over the largest value, what it should be.
def scharr(x, axis):
    return ndimage.correlate1d(
        ndimage.correlate1d(x.astype(float), [-1, 0, 1], axis, mode=CLAMP), [3, 10, 3], 1 - axis, mode=CLAMP
    )


def bilateral(x, space, value):
    r, x = int(np.ceil(2 * space)), x.astype(float)
    n, m = x.shape
    wide, weights, values = around(x, r), 0, 0
    for i in range(-r, r + 1):
        for j in range(-r, r + 1):
            at = wide[r + i : r + i + n, r + j : r + j + m]
            w = np.exp(-(i * i + j * j) / (2 * space**2) - (at - x) ** 2 / (2 * value**2))
            weights, values = weights + w, values + w * at
    return values / weights


def sobel(x):
    return [ndimage.sobel(x.astype(float), axis, mode=CLAMP) for axis in (1, 0)]


def harris(x, sigma, k):
    gx, gy = sobel(x)
    xx, xy, yy = (gaussian(p, sigma) for p in (gx * gx, gx * gy, gy * gy))
    return xx * yy - xy * xy - k * (xx + yy) ** 2


def canny(x, sigma, low, high):
    """With full hysteresis: regions of weak edges that hold a strong one."""
    gx, gy = sobel(gaussian(x, sigma))
    strength = np.hypot(gx, gy)
    wide = around(strength, 1)
    n, m = x.shape
    at = lambda i, j: wide[1 + i : 1 + i + n, 1 + j : 1 + j + m]
    pairs = [(at(0, -1), at(0, 1)), (at(-1, 0), at(1, 0)), (at(-1, -1), at(1, 1)), (at(-1, 1), at(1, -1))]
    flat, steep = abs(gy) <= 0.41421356 * abs(gx), abs(gx) <= 0.41421356 * abs(gy)
    way = np.where(flat, 0, np.where(steep, 1, np.where(gx * gy > 0, 2, 3)))
    before, after = (np.choose(way, [p[k] for p in pairs]) for k in (0, 1))
    thin = np.where((strength > before) & (strength >= after), strength, 0)
    parts, _ = ndimage.label(thin > low, np.ones((3, 3)))
    strong = np.unique(parts[thin > high])
    return 255 * np.isin(parts, strong[strong > 0])


def equalize(x):
    counts = np.cumsum(np.bincount(x.ravel(), minlength=256))
    first = counts[x.min()]
    return np.rint(255.0 * (counts[x] - first) / (counts[255] - first))


def smaller(x):
    kernel = np.array([1, 4, 6, 4, 1]) / 16
    for axis in (1, 0):
        x = ndimage.correlate1d(x.astype(float), kernel, axis, mode=CLAMP)
    return x[: x.shape[0] // 2 * 2 : 2, : x.shape[1] // 2 * 2 : 2]


def larger(x, shape=None):
    for axis in (1, 0):
        even = ndimage.correlate1d(x.astype(float), np.array([1, 6, 1]) / 8, axis, mode=CLAMP)
        odd = ndimage.correlate1d(x.astype(float), [0, 0.5, 0.5], axis, mode=CLAMP)
        x = np.stack([even, odd], axis + 1).reshape(*np.array(x.shape) * np.where(np.arange(2) == axis, 2, 1))
    return x if shape is None else np.pad(x, [(0, s - n) for s, n in zip(shape, x.shape)], mode="edge")


def blend_pyramids(x, y, weight, levels):
    if levels == 0:
        return x + weight * (y - x)
    below = [smaller(image) for image in (x, y, weight)]
    fine_x, fine_y = x - larger(below[0], x.shape), y - larger(below[1], x.shape)
    return larger(blend_pyramids(*below, levels - 1), x.shape) + fine_x + weight * (fine_y - fine_x)


def shares(n, m):
    """What of n pixels the stretches of m of the same length cover, as a matrix."""
    ends = np.arange(m + 1) * n / m
    k = np.arange(n)
    covered = np.minimum(k + 1, ends[1:, None]) - np.maximum(k, ends[:-1, None])
    return np.maximum(covered, 0) * m / n


def clahe(x, limit, rows, columns):
    """The algorithm of OpenCV, in the order of its operations."""
    n, m = x.shape
    wide = np.pad(x, ((0, -n % rows), (0, -m % columns)), mode="reflect")
    height, width = wide.shape[0] // rows, wide.shape[1] // columns
    most = max(int(limit * height * width / 256), 1)
    curves = np.empty((rows, columns, 256))
    for i in range(rows):
        for j in range(columns):
            tile = wide[i * height : (i + 1) * height, j * width : (j + 1) * width]
            counts = np.bincount(tile.ravel(), minlength=256)
            excess = int(np.maximum(counts - most, 0).sum())
            counts = np.minimum(counts, most) + excess // 256
            rest = excess % 256
            counts[:: max(256 // max(rest, 1), 1)][:rest] += 1
            scaled = np.cumsum(counts).astype(np.float32) * (np.float32(255) / (height * width))
            curves[i, j] = np.rint(np.minimum(scaled, 255))
    y, x_at = np.arange(n)[:, None] / height - 0.5, np.arange(m)[None, :] / width - 0.5
    i, j = np.floor(y).astype(int), np.floor(x_at).astype(int)
    v, u = y - i, x_at - j
    at = lambda di, dj: curves[np.clip(i + di, 0, rows - 1), np.clip(j + dj, 0, columns - 1), x]
    return np.rint((1 - v) * ((1 - u) * at(0, 0) + u * at(0, 1)) + v * ((1 - u) * at(1, 0) + u * at(1, 1)))


CASES = [
    ("scharr_x(X)", 1e-6, scharr(PHOTO, 1)),
    ("scharr_y(X)", 1e-6, scharr(PHOTO, 0)),
    ("scharr(X)", 1e-6, np.hypot(scharr(PHOTO, 0), scharr(PHOTO, 1))),
    ("bilateral(X, 1.5, 60)", 1e-5, bilateral(PHOTO, 1.5, 60)),
    ("unsharp(X, 1.5, 0.8)", 1e-6, PHOTO + 0.8 * (PHOTO - gaussian(PHOTO, 1.5))),
    ("harris(S, 1, 0.05)", 1e-4, harris(SMOOTH, 1, 0.05)),
    ("canny(X, 1, 60, 140, 100000)", 0, canny(PHOTO, 1, 60, 140)),
    ("equalize(B)", 0, equalize(BYTES)),
    ("clahe(B:mirror, 2, 3, 4)", 0, clahe(BYTES, 2, 3, 4)),
    ("downsample(X)", 1e-6, smaller(PHOTO)),
    ("upsample(X)", 1e-6, larger(PHOTO)),
    ("blend_pyramids(X, S, W, 3)", 1e-5, blend_pyramids(PHOTO, SMOOTH, WEIGHT, 3)),
    ("resize_area(X, 9, 14, 3)", 1e-6, shares(23, 9) @ PHOTO @ shares(31, 14).T),
    ("resize_area(B, 23, 5, 7)", 1e-6, BYTES @ shares(31, 5).T),
    ("erode_by(B, F)", 0, ndimage.minimum_filter(BYTES, footprint=FOOTPRINT != 0, mode=CLAMP)),
    ("dilate_by(B, F)", 0, ndimage.grey_dilation(BYTES, footprint=FOOTPRINT != 0, mode=CLAMP)),
    ("rank_filter(B, 3, 1)", 0, ndimage.rank_filter(BYTES, 3, 3, mode=CLAMP)),
    ("percentile_filter(B, 75, 1)", 0, ndimage.percentile_filter(BYTES, 75, 3, mode=CLAMP)),
    ("gaussian_3d(V, 1)", 1e-6, gaussian(VOLUME, 1)),
    ("box_3d(V, 1)", 1e-6, box(VOLUME, 1)),
    ("median_3d(V, 1)", 0, ndimage.median_filter(VOLUME, 3, mode=CLAMP)),
    ("erode_3d(V, 1)", 0, ndimage.minimum_filter(VOLUME, 3, mode=CLAMP)),
    ("dilate_3d(V, 1)", 0, ndimage.maximum_filter(VOLUME, 3, mode=CLAMP)),
    ("open_3d(V, 1)", 0, ndimage.grey_opening(VOLUME, 3, mode=CLAMP)),
    ("close_3d(V, 1)", 0, ndimage.grey_closing(VOLUME, 3, mode=CLAMP)),
    ("bilateral_3d(V, 0.5, 60)", 1e-6, bilateral_cube(VOLUME, 0.5, 60)),
    ("laplacian_3d(V)", 1e-6, ndimage.laplace(VOLUME.astype(float), mode=CLAMP)),
    (
        "gradient_3d(V, 1)", 1e-5,
        np.linalg.norm(
            [ndimage.correlate1d(gaussian(VOLUME, 1), [-0.5, 0, 0.5], axis, mode=CLAMP) for axis in range(3)], axis=0
        ),
    ),
    ("gaussian_1d(L, 2)", 1e-6, gaussian(LINE, 2)),
    ("box_1d(L, 2)", 1e-6, box(LINE, 2)),
    ("median_1d(L, 2)", 0, ndimage.median_filter(LINE, 5, mode=CLAMP)),
    ("erode_1d(L, 2)", 0, ndimage.minimum_filter(LINE, 5, mode=CLAMP)),
    ("dilate_1d(L, 2)", 0, ndimage.maximum_filter(LINE, 5, mode=CLAMP)),
    ("slope_1d(L, 2)", 1e-5, slope(LINE, 2)),
    ("gaussian(X, 1.5)", 1e-6, gaussian(PHOTO, 1.5)),
    ("box(X, 2)", 1e-6, box(PHOTO, 2)),
    ("median_filter(X, 1)", 0, ndimage.median_filter(PHOTO, 3, mode=CLAMP)),
    ("erode(B, 2)", 0, ndimage.minimum_filter(BYTES, 5, mode=CLAMP)),
    ("dilate(B, 2)", 0, ndimage.maximum_filter(BYTES, 5, mode=CLAMP)),
    ("open(B, 1)", 0, ndimage.grey_opening(BYTES, 3, mode=CLAMP)),
    ("close(B, 1)", 0, ndimage.grey_closing(BYTES, 3, mode=CLAMP)),
    ("gradient(B, 1)", 0, ndimage.morphological_gradient(BYTES, 3, mode=CLAMP)),
    ("sobel_x(X)", 1e-6, ndimage.sobel(PHOTO.astype(float), 1, mode=CLAMP)),
    ("sobel_y(X)", 1e-6, ndimage.sobel(PHOTO.astype(float), 0, mode=CLAMP)),
    ("prewitt_x(X)", 1e-6, ndimage.prewitt(PHOTO.astype(float), 1, mode=CLAMP)),
    ("laplacian(X)", 1e-6, ndimage.laplace(PHOTO.astype(float), mode=CLAMP)),
    ("gaussian_x(X, 1.5)", 1e-5, gaussian(PHOTO, 1.5, (0, 1))),
    ("gaussian_y(X, 1.5)", 1e-5, gaussian(PHOTO, 1.5, (1, 0))),
    ("gaussian_xx(X, 2)", 1e-5, gaussian(PHOTO, 2, (0, 2))),
    ("gaussian_xy(X, 2)", 1e-5, gaussian(PHOTO, 2, (1, 1))),
    ("gaussian_yy(X, 2)", 1e-5, gaussian(PHOTO, 2, (2, 0))),
    ("gaussian_gradient(X, 1)", 1e-5, np.hypot(gaussian(PHOTO, 1, (0, 1)), gaussian(PHOTO, 1, (1, 0)))),
    ("laplacian_of_gaussian(X, 2)", 1e-5, gaussian(PHOTO, 2, (0, 2)) + gaussian(PHOTO, 2, (2, 0))),
    ("difference_of_gaussians(X, 1, 2)", 1e-5, gaussian(PHOTO, 1) - gaussian(PHOTO, 2)),
    ("structure_tensor(X, 1, 2)", 1e-5, structure(PHOTO, 1, 2)),
    ("hessian(X, 2)", 1e-5, hessian(PHOTO, 2)),
    ("frangi(X, 2, 0.5, 8)", 1e-4, frangi(PHOTO, 2, 0.5, 8)),
    ("guided(X, S, 3, 100)", 1e-4, guided(PHOTO, SMOOTH, 3, 100)),
    ("nonlocal_means(X, 1, 2, 60)", 1e-5, nonlocal_means(PHOTO, 1, 2, 60)),
    ("anisotropic_diffusion(X, 60, 0.2, 5)", 1e-5, diffusion(PHOTO, 60, 0.2, 5)),
    ("total_variation(X, 20, 12)", 1e-5, variation(PHOTO, 20, 12)),
    ("wiener(X, 2, 3000)", 1e-4, wiener(PHOTO, 2, 3000)),
    ("richardson_lucy(S, psf, 6)", 1e-5, richardson_lucy(SMOOTH, PSF, 6)),
    ("niblack(X, 3, 0.2)", 1e-4, niblack(PHOTO, 3, 0.2)),
    ("sauvola(X, 3, 0.2, 128)", 1e-4, sauvola(PHOTO, 3, 0.2, 128)),
    ("otsu(B)", 0, np.array([otsu(BYTES)])),
    ("local_binary_pattern(B)", 0, patterns(BYTES)),
    ("fast(B, 30)", 0, fast(BYTES.astype(int), 30)),
    ("white_tophat(B, 2)", 0, ndimage.white_tophat(BYTES, 5, mode=CLAMP)),
    ("black_tophat(B, 2)", 0, ndimage.black_tophat(BYTES, 5, mode=CLAMP)),
    ("reconstruct(S, X, 4)", 0, reconstruct(SMOOTH, PHOTO, 4)),
    ("reconstruct(S, X, 100000)", 0, reconstruct(SMOOTH, PHOTO, 200)),
    ("horn_schunck(S, T, 3, 20)", 1e-4, horn_schunck(SMOOTH, MOVED, 3, 20)),
    ("lucas_kanade(S, T, 2)", 1e-3, lucas_kanade(SMOOTH, MOVED, 2)),
    ("disparity(X, R, 1, 4)", 0, disparity(PHOTO, LEFT, 1, 4)),
    ("srgb_to_linear(X / 255)", 1e-5, linear_light(PHOTO / 255.0)),
    ("hue(C)", 1e-5, hsv(COLOUR)[0]),
    ("saturation(C)", 1e-6, hsv(COLOUR)[1]),
    ("largest(C)", 0, COLOUR.max(axis=2)),
    ("srgb_to_linear(C).g", 1e-5, linear_light(COLOUR[..., 1])),
    ("srgb_to_lab(C)", 1e-4, lab(COLOUR)),
    ("hsv_to_rgb(hue(C), saturation(C), largest(C))", 1e-6, channels(COLOUR)),
    ("lab_to_srgb(X / 3, S - 128, T - 128)", 1e-4, from_lab(PHOTO / 3, SMOOTH - 128, MOVED - 128)),
    ("rgb_to_ycbcr(C)", 1e-6, ycbcr(COLOUR)),
    ("ycbcr_to_rgb(X, S, T)", 1e-6, from_ycbcr(PHOTO, SMOOTH, MOVED)),
    ("white_balance(C)", 1e-6, COLOUR * (COLOUR.mean() / COLOUR.mean((0, 1)))),
    ("white_patch(K)", 1e-6, TINTED * (TINTED.max() / TINTED.max((0, 1)))),
    ("tone_curve(B, table)", 0, TABLE[BYTES]),
    ("demosaic(X)", 1e-6, demosaic(PHOTO)),
    ("demosaic_malvar(X)", 1e-6, malvar(PHOTO)),
    (
        "grey_world(X, S, T)",
        1e-5,
        (PHOTO * (SMOOTH.mean() / PHOTO.mean()), SMOOTH, MOVED * (SMOOTH.mean() / MOVED.mean())),
    ),
    (
        "distance(B > 40, 6)",
        1e-6,
        np.minimum(ndimage.distance_transform_edt(np.pad(BYTES > 40, 6, mode="edge"))[6:-6, 6:-6], 6),
    ),
    ("linear_to_srgb(srgb_to_linear(X / 255))", 1e-5, PHOTO / 255.0),
    ("integral(X)", 1e-6, PHOTO.astype(float).cumsum(0).cumsum(1)),
    ("integral(B)", 0, BYTES.astype(np.int64).cumsum(0).cumsum(1)),
    ("local_mean(X, 3)", 1e-6, mean_inside(PHOTO, 3)),
    ("gaussian_recursive(X, 2.5)", 1e-3, ndimage.gaussian_filter(PHOTO.astype(float), 2.5, mode=CLAMP, truncate=8)),
    ("resize_linear(X, 40, 17)", 1e-5, resized(PHOTO, 40, 17, 1)),
    ("resize_nearest(X, 50, 20)", 0, resized(PHOTO, 50, 20, 0)),
    (
        "rotate(X:constant, 20)",
        1e-4,
        ndimage.rotate(PHOTO.astype(float), 20, reshape=False, order=1, mode="grid-constant"),
    ),
    ("warp(X, S / 50 - 3, T / 40 - 2)", 1e-5, warped(PHOTO, SMOOTH / 50 - 3, MOVED / 40 - 2)),
    ("euclidean_distance(B > 170)", 1e-6, ndimage.distance_transform_edt(BYTES > 170)),
    ("euclidean_distance(B != 999)", 0, np.full(BYTES.shape, 32768)),
    ("euclidean_distance_3d(V > 4)", 1e-6, ndimage.distance_transform_edt(VOLUME > 4)),
    ("nearest_zero(B > 30)", 0, nearest_zero(BYTES > 30)),
    ("nearest_zero(B != 999)", 0, (np.full(BYTES.shape, -1),) * 2),
    ("to_uint8(X)", 0, np.rint(PHOTO).astype(np.uint8)),
    ("to_float(B)", 0, BYTES),
    ("linear(X, 1.5, -3)", 1e-6, 1.5 * PHOTO.astype(float) - 3),
    ("subtract(X, S)", 1e-6, PHOTO.astype(float) - SMOOTH),
    ("difference(X, S)", 1e-6, np.abs(PHOTO.astype(float) - SMOOTH)),
    ("add(X, S)", 1e-6, PHOTO.astype(float) + SMOOTH),
    ("blend(X, S, W)", 1e-6, (1 - WEIGHT.astype(float)) * PHOTO + WEIGHT.astype(float) * SMOOTH),
    ("threshold(X, 90)", 0, np.where(PHOTO > 90, 255, 0)),
    ("gray(C)", 1e-6, COLOUR.astype(float) @ [0.2126, 0.7152, 0.0722]),
    ("gamma(X, 0.45)", 1e-6, 255 * (PHOTO.astype(float) / 255) ** 0.45),
    ("prewitt_y(X)", 1e-6, ndimage.prewitt(PHOTO.astype(float), 0, mode=CLAMP)),
    ("magnitude(X, S)", 1e-6, np.hypot(PHOTO.astype(float), SMOOTH)),
    ("sobel(X)", 1e-6, np.hypot(*(ndimage.sobel(PHOTO.astype(float), d, mode=CLAMP) for d in (0, 1)))),
    ("prewitt(X)", 1e-6, np.hypot(*(ndimage.prewitt(PHOTO.astype(float), d, mode=CLAMP) for d in (0, 1)))),
    ("erode_disc(B, 3)", 0, ndimage.minimum_filter(BYTES, footprint=disc(3), mode=CLAMP)),
    ("dilate_disc(B, 3)", 0, ndimage.maximum_filter(BYTES, footprint=disc(3), mode=CLAMP)),
    ("peaks(X, 2)", 0, np.where(PHOTO == ndimage.maximum_filter(PHOTO, 5, mode=CLAMP), PHOTO, 0)),
    ("nonmax(X, S - 128, T - 128)", 0, nonmax(PHOTO, SMOOTH - 128, MOVED - 128)),
    ("resize_lanczos(X, 40, 17)", 1e-5, lanczos(lanczos(PHOTO.astype(float), 40, 0), 17, 1)),
    ("resize_cubic(X, 40, 17, -0.75)", 1e-5, cubic(cubic(PHOTO.astype(float), 40, 0, -0.75), 17, 1, -0.75)),
    ("normalise(X, 10, 200)", 1e-6, 10 + 190 * (PHOTO.astype(float) - PHOTO.min()) / np.ptp(PHOTO)),
    ("distance_steps(B > 80)", 0, ndimage.distance_transform_cdt(BYTES > 80, "taxicab")),
]
INPUTS = {
    "X": PHOTO, "S": SMOOTH, "T": MOVED, "R": LEFT, "B": BYTES, "C": COLOUR, "K": TINTED, "psf": PSF, "table": TABLE,
    "W": WEIGHT, "F": FOOTPRINT, "V": VOLUME, "L": LINE,
}


def results(folder, chosen):
    """What the program of these calls gives, result by result."""
    names, lines = [], []
    for n, (call, _, expected) in enumerate(chosen):
        own = [f"r{n}_{k}" for k in range(len(expected) if isinstance(expected, tuple) else 1)]
        lines.append(f"{', '.join(own)} = {call};")
        names += own
    (folder / "all.tess").write_text(
        'use "filters";\nparameter M, N, O, P, Q;\n'
        "vector#2 float X[M, N];\nvector#2 float S[M, N];\nvector#2 float T[M, N];\nvector#2 float R[M, N];\n"
        "vector#2 uint8 B[M, N];\nstruct colour { float r; float g; float b; }\nvector#2 colour C[M, N];\n"
        "vector#2 colour K[M, N];\n"
        "vector#1 float table[256];\nmask#2 float psf[4, 3];\n"
        "vector#2 float W[M, N];\nmask#2 float F[3, 3];\nvector#3 float V[O, P, Q];\nvector#1 float L;\n"
        + "\n".join(lines) + f"\nreturn {', '.join(names)};\n"
    )
    for name, array in INPUTS.items():
        np.save(folder / f"{name}.npy", array)
    given = [f"{name}={folder / name}.npy" for name in INPUTS]
    outputs = [part for name in names for part in ("-o", folder / f"{name}.npy")]
    code, _, errors = tool.run("run", folder / "all.tess", *given, *outputs, "--target=interp")
    tool.check("the program of all filters runs", code == 0, errors)
    return {name: np.load(folder / f"{name}.npy") for name in names} if code == 0 else {}


with tool.workspace() as place:
    found = {}
    for first in range(0, len(CASES), 40): # programs have at most 64 results
        part = results(pathlib.Path(place), CASES[first : first + 40])
        found.update((f"r{int(name[1:].split('_')[0]) + first}_{name.split('_')[1]}", r) for name, r in part.items())
# Each row of the page in turn: a call has one for each of its results.
SAID = [(call, float(most)) for call, most in re.findall(
    r"^\| `(.*)` \| (\d\S*) \|$", (tool.ROOT / "docs/filters.md").read_text(), re.M)]
LISTED = set(re.findall(r"^  ?(\w+)\(", tool.run("filters")[1], re.M))
CALLED = set(re.findall(r"(\w+)\(", " ".join(call for call, _, _ in CASES)))
tool.check("every filter has a row", len(LISTED) > 100 and LISTED <= CALLED, sorted(LISTED - CALLED))
TOLD = dict.fromkeys(call for call, _ in SAID)
tool.check("every row has a test", set(TOLD) <= {call for call, _, _ in CASES}, TOLD)
for n, (call, allowed, expected) in enumerate(CASES):
    rows = [most for of, most in SAID if of == call]
    for k, wanted in enumerate(expected if isinstance(expected, tuple) else (expected,)):
        if f"r{n}_{k}" not in found:
            continue
        got = found[f"r{n}_{k}"].astype(float)
        scale = max(1e-30, float(np.max(np.abs(wanted)))) if allowed else 1
        off = float(np.max(np.abs(got - wanted))) / scale
        if "--table" in sys.argv:
            print(f"| `{call}` | {off:.1e} |")
        if rows: # other versions of SciPy round otherwise
            tool.check(f"{call} {k} as docs/filters.md says", off <= 1.5 * rows[k % len(rows)] + 1e-7, f"{off:.2e}")
        tool.check(f"{call} {k}", got.shape == np.shape(wanted) and off <= allowed, f"off by {off:.2e}")
tool.finish()
