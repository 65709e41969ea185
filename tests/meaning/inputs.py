"""Elements of inputs: small numbers, which sums leave exact, or anything that the type has."""
import numpy as np

from reads import constant
from values import TYPES, Pixel

SPECIAL = [0.0, -0.0, 1e-3, 32768.0, -2.5, 0.1, 1e9]


def elements(rng, dtype, shape, style):
    dtype = np.dtype(dtype)
    if dtype == np.bool_:
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind == "f":
        small = rng.integers(-12, 40, shape) / 4.0
        if style == "small":
            return small.astype(dtype)
        wild = rng.normal(0, 100, shape)
        picked = rng.random(shape)
        wild = np.where(picked < 0.1, rng.choice(SPECIAL, shape), wild)
        with np.errstate(over="ignore"):
            return np.where(picked < 0.4, small, wild).astype(dtype)
    small = rng.integers(0 if dtype.kind == "u" else -9, 24, shape).astype(dtype)
    if style == "small":
        return small
    info = np.iinfo(dtype)
    wild = rng.integers(
        info.min, info.max, shape, dtype=np.int64 if dtype != np.uint64 else dtype, endpoint=True
    ).astype(dtype)
    return np.where(rng.random(shape) < 0.3, wild, small).astype(dtype)


def make(program):
    """name to data, the same for the same program."""
    made = {}
    for i in program.inputs:
        rng = np.random.default_rng([program.seed & 0xffffffff, i.seed])
        shape = tuple(constant(e, program.parameters) for e in i.sizes)
        if i.type in program.structs:
            made[i.name] = Pixel(
                {n: elements(rng, TYPES[t], shape, i.style) for n, t in program.structs[i.type].items()}
            )
        else:
            made[i.name] = elements(rng, TYPES[i.type], shape, i.style)
    return made
