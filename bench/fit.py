#!/usr/bin/env python3
"""Fits the constants of the cost models (src/plan/machine_costs.def) to measurements, and writes a machine file.

    tessera bench --audit bench/everyday --json > audit.json
    bench/fit.py --machine mine.machine audit.json -o fitted.machine

Each plan that was measured is one equation: the logarithm of what it took is that of what is predicted. For a plan and
a machine `tessera explain --dump=estimate` says what is predicted and by how many per cent that grows with each
constant; so the equations are linear for small changes, and a few rounds of least squares find the constants. Plans
that the model knows nothing of (far off whatever the constants) count less, constants stay within --within times of
the standard, and what little depends on hardly moves.

Audits of other machines take part with --also FILE.machine:audit.json: their constants are those fitted, the rest of
the description is theirs."""
import argparse
import concurrent.futures
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile
import typing

ROOT = pathlib.Path(__file__).resolve().parents[1]
FAR = 0.3  # a logarithm: what is off by more than a third counts less
CALM = 0.02  # weight of staying at the standard, against a plan
SHORT = 0.005  # milliseconds: below that launches and clocks are measured
GOOD = (0.75, 1.33)


class Constant(typing.NamedTuple):
    standard: float
    unit: str
    sentence: str


class Sample(typing.NamedTuple):
    """A plan that was measured."""
    program: str
    words: tuple
    plan: str  # path of its text
    machine: str  # text of the description, without constants
    measured: float


class Estimate(typing.NamedTuple):
    predicted: float
    share: dict  # by constant: the change of the logarithm of what is predicted with its own


def read_constants(path):
    pattern = r'^COST\(\w+, (\w+), ([\d.]+), "([^"]+)",\s*"([^"]+)"\)'
    found = re.findall(pattern, path.read_text(), flags=re.M)
    return {name: Constant(float(standard), unit, sentence) for name, standard, unit, sentence in found}


def split_machine(text, constants):
    """A machine description as (the lines that are no constants, the constants in it)."""
    lines, values = [], {}
    for line in text.splitlines():
        match = re.match(r"\s*(\w+)\s*=\s*([\d.e+-]+)", line)
        if match and match[1] in constants:
            values[match[1]] = float(match[2])
        else:
            lines.append(line)
    return "\n".join(lines).rstrip() + "\n", values


def read_audit(path, machine, folder, samples):
    for line in pathlib.Path(path).read_text().splitlines():
        row = json.loads(line)
        for plan in row["plans"]:
            if plan["measured_ms"] < SHORT or plan["predicted_ms"] <= 0:
                continue
            text = folder / f"{len(samples)}.plan"
            text.write_text(plan["plan"])
            samples.append(Sample(row["program"], tuple(row["words"]), str(text), machine, plan["measured_ms"]))


def estimate(tool, sample, machine):
    command = [
        tool, "explain", sample.program, *sample.words, f"--plan={sample.plan}", f"--machine={machine}",
        "--dump=estimate",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    predicted = re.search(r"^predicted ([\d.]+) ms$", done.stdout, re.M)
    if done.returncode or not predicted or float(predicted[1]) <= 0:
        sys.exit(f"fit.py: {' '.join(command)} gives no estimate: {done.stderr.strip()}")
    share = {name: float(value) for name, value in re.findall(r"^constant (\w+) (-?[\d.]+)$", done.stdout, re.M)}
    return Estimate(float(predicted[1]), share)


def with_constants(text, values, constants):
    lines = [f"{name} = {value:.4g}" for name, value in sorted(values.items()) if value != constants[name].standard]
    return text + "".join(line + "\n" for line in lines)


def estimate_all(tool, samples, values, constants, folder):
    paths = {}
    for text in {sample.machine for sample in samples}:
        paths[text] = folder / f"{len(paths)}.machine"
        paths[text].write_text(with_constants(text, values, constants))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda sample: estimate(tool, sample, paths[sample.machine]), samples))


def least_squares(rows, residual, weight, at, most, sweeps=400):
    """The x in [-most, most] for which sum weight * (residual - rows (x - at))^2 + CALM |x|^2 is least, one variable
    after the other. rows: dicts; at: a dict, from where x starts."""
    x, left = dict(at), list(residual)
    columns = {}
    for i, row in enumerate(rows):
        for name, share in row.items():
            columns.setdefault(name, []).append((i, share))
    for _ in range(sweeps):
        moved = 0
        for name, column in columns.items():
            slope = sum(weight[i] * share * left[i] for i, share in column)
            square = sum(weight[i] * share * share for i, share in column)
            new = (square * x[name] + slope) / (square + CALM)
            new = min(max(new, -most), most)
            for i, share in column:
                left[i] -= share * (new - x[name])
            moved = max(moved, abs(new - x[name]))
            x[name] = new
        if moved < 1e-6:
            break
    return x


def summary(samples, estimates):
    logs = [math.log(e.predicted / s.measured) for s, e in zip(samples, estimates)]
    good = sum(math.log(GOOD[0]) <= x <= math.log(GOOD[1]) for x in logs)
    spread = math.exp(math.sqrt(sum(x * x for x in logs) / len(logs)))
    mean = math.exp(sum(logs) / len(logs))
    return (
        f"{good} of {len(logs)} plans within {GOOD[0]} and {GOOD[1]}, predicted over measured {mean:.2f} on average, "
        f"off by {spread:.2f} times"
    )


def fit(tool, samples, values, constants, options, folder):
    """The constants that fit, and the estimates before and after."""
    at = {name: math.log(values.get(name, c.standard) / c.standard) for name, c in constants.items()}
    most = math.log(options.within)
    current = lambda: {name: constants[name].standard * math.exp(x) for name, x in at.items()}
    before = now = estimate_all(tool, samples, current(), constants, folder)
    for _ in range(options.rounds):
        rows = [
            {name: share for name, share in e.share.items() if re.search(options.only, name) and name in constants}
            for e in now
        ]
        residual = [math.log(s.measured / e.predicted) for s, e in zip(samples, now)]
        weight = [min(1.0, FAR / abs(r)) if r else 1.0 for r in residual]
        at = least_squares(rows, residual, weight, at, most)
        now = estimate_all(tool, samples, current(), constants, folder)
    return current(), before, now


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("audit", help="what tessera bench --audit --json has printed on the machine")
    parser.add_argument("--machine", required=True, help="its description, with which the audit was made")
    parser.add_argument("--also", action="append", default=[], metavar="MACHINE:AUDIT", help="the same of another one")
    parser.add_argument("-o", dest="output", required=True, help="where the description with new constants goes")
    parser.add_argument("--tool", default=str(ROOT / "build" / "tessera"))
    parser.add_argument("--costs", type=pathlib.Path, default=ROOT / "src" / "plan" / "machine_costs.def")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--within", type=float, default=4, help="times the standard, either way (at most 16)")
    parser.add_argument("--only", default="", help="a regular expression: constants whose names it finds")
    options = parser.parse_args()
    if not 1 < options.within <= 16 or options.rounds < 1:
        parser.error("--within is more than 1 and at most 16, --rounds at least 1")
    constants = read_constants(options.costs)
    samples = []
    with tempfile.TemporaryDirectory(prefix="tessera-fit-") as name:
        folder = pathlib.Path(name)
        text, values = split_machine(pathlib.Path(options.machine).read_text(), constants)
        read_audit(options.audit, text, folder, samples)
        for pair in options.also:
            machine, _, audit = pair.partition(":")
            read_audit(audit, split_machine(pathlib.Path(machine).read_text(), constants)[0], folder, samples)
        if not samples:
            sys.exit("fit.py: no plan was measured")
        fitted, before, after = fit(options.tool, samples, values, constants, options, folder)
    print(f"before: {summary(samples, before)}\nafter:  {summary(samples, after)}")
    for name, c in constants.items():
        old = values.get(name, c.standard)
        if abs(math.log(fitted[name] / old)) > 0.005:
            print(f"{name} {old:.4g} -> {fitted[name]:.4g} {c.unit}: {c.sentence}")
        else:
            fitted[name] = old
    pathlib.Path(options.output).write_text(with_constants(text, fitted, constants))


if __name__ == "__main__":
    main()
