"""What a program is run as, and whether its results are what they should be."""
import dataclasses

import numpy as np

import inputs
import printer
from driver import Failed, unpacked
from meaning import Run
from values import Invalid, Pixel, same_bits


@dataclasses.dataclass(frozen=True)
class Trial:
    target: str = "interp"
    plan: str = "chosen"
    machine: str = ""  # text
    fp: str = "strict"

    def name(self):
        return self.target + (" of kernels" if self.machine and self.target == "loops" else "")


class Meaning:
    """A program, and what NumPy says of it."""

    def __init__(self, program):
        self.program = program
        self.inputs = inputs.make(program)
        with np.errstate(all="ignore"):
            self.run = Run(program, self.inputs)
            self.results = self.run.results()
        self.text = printer.program(program)
        self.scalars = {s.name: s.value for s in program.scalars}


def difference(have, want, zeros):
    """A sentence, or none."""
    if isinstance(want, Pixel):
        found = [difference(have.fields[n], f, zeros) for n, f in want.fields.items()]
        return next((f"field {n}: {d}" for n, d in zip(want.fields, found) if d), None)
    if same_bits(have, want, zeros):
        return None
    if have.shape != want.shape or have.dtype != want.dtype:
        return f"an image of {have.shape} {have.dtype} for {want.shape} {want.dtype}"
    other = ~((have == want) | ((have != have) & (want != want)))
    if have.dtype.kind == "f" and not other.any():
        other = np.signbit(have) != np.signbit(want)
    at = tuple(int(k) for k in np.argwhere(other)[0])
    return f"{int(other.sum())} of {other.size} points, first {list(at)}: {have[at]!r} for {want[at]!r}"


def check(driver, meaning, trial):
    """(plan's text, what is wrong or none)"""
    try:
        plan, results = driver.run(
            meaning.text, meaning.inputs, meaning.scalars, trial.target, trial.fp, trial.plan, trial.machine
        )
    except Failed as failure:
        return "", f"failed: {failure}"
    trace = meaning.run.trace
    zeros = trace.zeros and trial.fp == "strict"
    for number, (have, image) in enumerate(zip(results, meaning.results)):
        wrong = difference(unpacked(have, image.data), image.data, zeros)
        if wrong:
            return plan, f"result {number + 1} differs: {wrong}"
    return plan, None


def kind(wrong):
    """Faults of one kind begin alike, whatever their numbers are."""
    words = wrong.split(":")[0] if not wrong.startswith("failed") else wrong[:90]
    return "".join(c for c in words if not c.isdigit())


def outcome(driver, program, trial):
    """The fault of a program that may be none at all."""
    try:
        meaning = Meaning(program)
    except (Invalid, KeyError, IndexError, StopIteration):
        return None
    if trial.fp != "strict" and not meaning.run.trace.exact:
        return None
    return check(driver, meaning, trial)[1]
