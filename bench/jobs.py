"""The jobs of the bench: which program, on what pixels, how far rivals may lie from it."""
import dataclasses
import math


@dataclasses.dataclass(frozen=True)
class Job:
    name: str
    program: str
    dtype: str = "float32"
    planes: int = 1
    sizes_of_mask: tuple = (0,)  # K of a KxK mask
    tolerance: float = 1e-5      # largest difference from another's result, as a share of the largest value
    deviating: float = 0.0       # share of pixels that may lie beyond it (decisions that fall the other way)
    halo: int = 0                # pixels along the edges where Halide, which does not extend stages in between, differs
    rival: str = ""              # name of the job in the rivals' programs; "" = the same
    fp: str = ""                 # rounding that it is compiled under; "" = the default


K = (3, 5, 7, 9, 11, 15, 17, 23, 31, 43)
JOBS = (
    Job("blur", "blur"),
    Job("sobel", "sobel"),
    Job("laplace5", "laplace5"),
    Job("gauss3", "gauss3"),
    Job("harris", "harris", tolerance=1e-4, halo=1),
    Job("canny", "canny", deviating=1e-4, halo=3),
    Job("unsharp", "unsharp", planes=3),
    Job("bilateral", "bilateral", tolerance=1e-3),
    Job("night", "night", tolerance=1e-3, halo=15),
    Job("conv2d", "conv2d", sizes_of_mask=K),
    Job("conv2d_given", "conv2d_given", sizes_of_mask=K, rival="conv2d"),
    Job("conv2d_mirrored", "conv2d_mirrored", sizes_of_mask=K[2:], rival="conv2d"),
    Job("conv2d_fast", "conv2d", sizes_of_mask=K[3:], rival="conv2d", fp="fast"),
    Job("separable", "separable", sizes_of_mask=K),
    Job("blur_u8", "blur_u8", dtype="uint8", tolerance=0),
    Job("box3_u8", "box3_u8", dtype="uint8", tolerance=0),
    Job("gauss5_u8", "gauss5_u8", dtype="uint8", tolerance=1 / 255),
    Job("gauss159_u8", "gauss159_u8", dtype="uint8", tolerance=1 / 255),
    Job("sobel_u8", "sobel_u8", dtype="uint8", tolerance=1 / 255),
    Job("median_u8", "median_u8", dtype="uint8", sizes_of_mask=(3, 5, 7, 9, 15, 31), tolerance=0),
)
BY_NAME = {job.name: job for job in JOBS}
WITH_BORDERS = ("blur", "gauss3", "laplace5", "sobel", "bilateral", "harris", "canny", "night")
WITH_BASELINES = ("blur", "canny", "harris")
BASELINES = ("unfused", "overlapped") # plans of the first paper, by their names
BORDERS = ("none", "clamp", "mirror", "reflect", "wrap", "constant")


def normalized(values):
    total = math.fsum(values)
    return [v / total for v in values]


def weights_of(job, k):
    """The coefficients of programs/conv2d.tess and its like, for the rivals and for masks given at run time."""
    r = k // 2
    span = range(-r, r + 1)
    if job.name == "conv2d_mirrored":
        return normalized([1 / (1 + i * i + abs(i * j) + 2 * j * j) for i in span for j in span])
    if job.name.startswith("conv2d"):
        return normalized([1 + 0.5 * math.sin(3 * i + i * j + 5 * j) for i in span for j in span])
    if job.name == "separable":
        return normalized([1 + 0.5 * math.sin(1 + 2 * i) for i in span]) + normalized(
            [1 + 0.5 * math.cos(3 * i) for i in span]
        )
    return None
