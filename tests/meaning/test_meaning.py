"""Random programs written from docs/language.md, with NumPy as their meaning: interpreters, generated C and OpenCL under
chosen, naive, random and named plans, with sizes as parameters and as numbers, must give those bits. The output says
which pairs of forms, rules, places in plans and targets have met.

    test_meaning.py [COUNT [SEED]]     in 2000 programs and more all pairs must meet
    --every=N                          compiles every Nth (25; of 2000 and more every 10th), by PoCL every 2Nth
    --kinds=call,place,...             programs begin with these statements (generate.py)
    --only=TARGET                      interp, loops, kernels, c or opencl
"""
import pathlib
import sys
import time

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

USUAL_COUNT, USUAL_EVERY, ALL_PAIRS, MOST_FAILURES = 240, 25, 2000, 5
BUDGET = {"c": 300, "opencl": 60}  # programs to try while shrinking, where each is compiled
GPU = (tool.ROOT / "machines" / "h200.machine").read_text()
CPU_PLANS = ["chosen", "random", "drawn register", "preset overlapped", "drawn band", "random", "naive", "drawn roll",
             "drawn register", "random", "preset unfused", "drawn band"]
GPU_PLANS = ["random", "preset overlapped", "random", "chosen", "drawn rolling", "small", "random", "drawn sweep",
             "drawn frame"]
LOOPS = 2  # plans of each kind for the interpreter of the loops


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
    if opencl and k % (2 * every) == every:
        yield Trial("opencl", plan(GPU_PLANS, k // (2 * every)), "", modes[k // every % len(modes)])


def wanted(trial, only):
    return not only or only == ("kernels" if trial.machine else trial.target)


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


def main():
    options = dict(a[2:].split("=", 1) for a in sys.argv[1:] if a.startswith("--"))
    numbers = [int(a) for a in sys.argv[1:] if not a.startswith("--")]
    count, seed = (numbers + [USUAL_COUNT, 20261122][len(numbers):])[:2]
    every = int(options.get("every", USUAL_EVERY if count < ALL_PAIRS else 10))
    only, kinds = options.get("only", ""), [k for k in options.get("kinds", "").split(",") if k]
    driver, pairs, failures, began, runs = Driver(), coverage.Coverage(), 0, time.process_time(), {}
    opencl = only in ("", "opencl") and has_opencl(driver)
    print(f"{count} programs from seed {seed}")
    for k in range(count):
        program = generate(seed + k, kinds)
        meaning = Meaning(program)
        pairs.programs += 1
        for trial in trials(program.seed, meaning.run.trace.exact, every, opencl):
            if not wanted(trial, only):
                continue
            plan, wrong = check(driver, meaning, trial)
            runs[trial.name()] = runs.get(trial.name(), 0) + 1
            if wrong:
                failures += 1
                tool.failures.append(f"program {program.seed}")
                report(driver, program, trial, wrong)
                break
            pairs.add(meaning.run, trial.name(), plan)
        if failures >= MOST_FAILURES:
            break
    driver.stop()
    table, missing = pairs.tables()
    print(table)
    print(", ".join(f"{n} runs by {name}" for name, n in runs.items()))
    if count >= ALL_PAIRS and not only and not failures:
        for pair in missing:
            tool.check(pair, not opencl and "opencl" in pair, "has not met")
    tool.finish()


main()
