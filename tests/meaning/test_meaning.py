"""Random programs written from docs/language.md, with NumPy as their meaning: interpreters, generated C and OpenCL
under chosen, naive, random and named plans, with sizes as parameters and as numbers, must give those bits. The output
says which pairs of forms, rules, places in plans and targets have met.

    test_meaning.py                    the 50 of 200 programs whose turn it is (tool.turn)
    test_meaning.py [COUNT [SEED]]     in 2000 programs and more all pairs must meet
    --every=N                          compiles every Nth (25; of 2000 and more every 10th), by PoCL every 4Nth
    --kinds=call,place,...             programs begin with these statements (generate.py)
    --only=TARGET                      interp, loops, kernels, c or opencl
"""
import dataclasses
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import tool

try:
    import numpy as np
except ImportError:
    print("skipped: this python3 has no numpy (Debian: python3-numpy)")
    sys.exit(tool.SKIPPED)

import coverage
import shrink
from driver import Driver
from generate import generate
from trial import Meaning, Trial, check

USUAL_COUNT, TURNS, USUAL_SEED, USUAL_EVERY, ALL_PAIRS, MOST_FAILURES = 50, 4, 20261122, 25, 2000, 5
BUDGET = {"c": 300, "opencl": 60}  # programs to try while shrinking, where each is compiled
GPU = (tool.ROOT / "machines" / "h200.machine").read_text()
CPU_PLANS = ["chosen", "random", "drawn register", "preset overlapped", "drawn band", "random", "naive", "drawn roll",
             "drawn register", "random", "preset unfused", "drawn band"]
GPU_PLANS = ["random", "preset overlapped", "random", "chosen", "drawn rolling", "small", "random", "drawn sweep",
             "drawn frame"]
LOOPS = 4  # plans of each kind for the interpreter of the loops


def trials(k, exact, every, opencl):
    """What program number k is run as, wherever a run begins."""
    def plan(names, number):
        name = names[number % len(names)]
        if name.startswith("drawn"):
            return f"drawn {k + number} {name.split()[1]}"
        return f"random {k + number}" if name == "random" else name

    modes = ["default", "strict"] if exact else ["strict"]
    yield Trial()
    for n in range(k * LOOPS, (k + 1) * LOOPS):
        yield Trial("loops", plan(CPU_PLANS, n), "", modes[n % len(modes)])
        yield Trial("loops", plan(GPU_PLANS, n), GPU, modes[n // 2 % len(modes)])
    if k % every == 0:
        yield Trial("c", plan(CPU_PLANS, k // every), "", modes[k // every % len(modes)])
    if opencl and k % (4 * every) == every:
        yield Trial("opencl", plan(GPU_PLANS, k // (4 * every)), "", modes[k // every % len(modes)])


def wanted(trial, only):
    return not only or only == trial.name().replace("loops of kernels", "kernels")


def compiled(trial):
    """The same, compiled."""
    return dataclasses.replace(trial, target="opencl" if trial.machine else "c")


def report(driver, program, trial, wrong):
    print(f"\nprogram {program.seed}, {trial.name()}, plan {trial.plan}, --fp={trial.fp}: {wrong}")
    small, trial, wrong = shrink.shrink(driver, program, trial, wrong, BUDGET.get(trial.target, 1500))
    print(f"shrunk:\n{shrink.corpus_text(small, trial, wrong)}", flush=True)


def has_opencl(driver):
    try:
        driver.run("parameter N;\nvector#1 int a[N];\nreturn a + 1;\n", {"a": np.zeros(3, np.int32)}, {}, "opencl")
        return True
    except Exception as failure:
        print(f"without OpenCL: {failure}")
        return False


class Session:
    """What is run, and what came of it."""

    def __init__(self, options, count):
        self.every = int(options.get("every", USUAL_EVERY if count < ALL_PAIRS else 10))
        self.only = options.get("only", "")
        self.all_pairs = count >= ALL_PAIRS and not self.only
        self.driver, self.pairs, self.runs, self.failures = Driver(), coverage.Coverage(), {}, 0
        self.opencl = self.only in ("", "opencl") and has_opencl(self.driver)

    def attempt(self, meaning, trial):
        """The plan; none where the program failed."""
        plan, wrong = check(self.driver, meaning, trial)
        self.runs[trial.name()] = self.runs.get(trial.name(), 0) + 1
        if wrong:
            self.failures += 1
            tool.failures.append(f"program {meaning.program.seed}")
            report(self.driver, meaning.program, trial, wrong)
            return None
        self.pairs.add(meaning.run, trial.name(), plan)
        return plan

    def program(self, meaning):
        """All that it is run as; compiled also where a pair meets that has not before, when all shall."""
        self.pairs.programs += 1
        for trial in trials(meaning.program.seed, meaning.run.trace.exact, self.every, self.opencl):
            if not wanted(trial, self.only):
                continue
            plan = self.attempt(meaning, trial)
            if plan is None:
                return
            more = compiled(trial)
            if trial.target == "loops" and self.all_pairs and (more.target == "c" or self.opencl):
                if self.pairs.is_new(meaning.run, more.name(), plan) and self.attempt(meaning, more) is None:
                    return


def main():
    options = dict(a[2:].split("=", 1) for a in sys.argv[1:] if a.startswith("--"))
    numbers = [int(a) for a in sys.argv[1:] if not a.startswith("--")]
    turns = [k for k in range(TURNS) if tool.turn(k, TURNS)]
    usual = [USUAL_COUNT * len(turns), USUAL_SEED + (0 if numbers else turns[0] * USUAL_COUNT)]
    count, seed = (numbers + usual[len(numbers):])[:2]
    kinds = [k for k in options.get("kinds", "").split(",") if k]
    session = Session(options, count)
    print(f"{count} programs from number {seed}", flush=True)
    for k in range(count):
        session.program(Meaning(generate(seed + k, kinds)))
        if session.failures >= MOST_FAILURES:
            break
        if k % 100 == 99:
            print(f"{k + 1} programs", flush=True)
    session.driver.stop()
    table, missing = session.pairs.tables()
    print(table)
    print(", ".join(f"{n} runs by {name}" for name, n in session.runs.items()))
    for pair in missing if session.all_pairs and not session.failures else []:
        tool.check(pair, not session.opencl and "opencl" in pair, "has not met")
    tool.finish()


main()
