"""bench/fit.py finds constants that made-up measurements were made with, and keeps within its bounds."""
import json
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import tool

TRUE = {"tile_row_cycles": 160, "walk_cycles": 8, "memory_exposed": 0.5, "tile_miss_cycles": 3000}
# A tool whose law is known: a sum of constants, by the plan's numbers.
FAKE = """#!{python}
import math, re, sys
standard = {{"tile_row_cycles": 80.0, "walk_cycles": 16.0, "memory_exposed": 0.5, "tile_miss_cycles": 30.0}}
word = lambda name: [a for a in sys.argv if a.startswith(name)][0].partition("=")[2]
text = open(word("--machine")).read()
value = {{n: float((re.findall(n + " = (.*)", text) or [v])[-1]) for n, v in standard.items()}}
parts = dict(zip(standard, map(float, open(word("--plan")).read().split())))
total = sum(parts[n] * value[n] for n in standard)
print("estimate x\\nmachine m\\npredicted %.6f ms" % total)
for n in standard:
    if parts[n]:
        print("constant %s %.4f" % (n, parts[n] * value[n] / total))
"""
# What the plans count of each constant.
PLANS = [
    (1, 0, 0, 0), (1, 4, 0, 0), (0.5, 9, 1, 0), (0, 5, 7, 0), (0, 0, 300, 0), (2, 1, 30, 0), (0, 3, 100, 0),
    (0.01, 0, 0, 1), (0.3, 0, 90, 0.5),
]


def write_audit(path):
    rows = []
    for i, parts in enumerate(PLANS):
        ms = sum(n * c for n, c in zip(parts, TRUE.values()))
        plan = {"plan": " ".join(map(str, parts)), "predicted_ms": 1.0, "measured_ms": ms * (1.01 if i % 2 else 0.99)}
        rows.append({"program": f"p{i}.tess", "words": ["M=8"], "plans": [plan]})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def fit(folder, *options):
    command = [
        sys.executable, tool.ROOT / "bench" / "fit.py", folder / "audit.json", "--machine", folder / "a.machine",
        "-o", folder / "new.machine", "--tool", folder / "fake", *options,
    ]
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=100)


with tool.workspace() as name:
    folder = pathlib.Path(name)
    (folder / "fake").write_text(FAKE.format(python=sys.executable))
    (folder / "fake").chmod(0o755)
    (folder / "a.machine").write_text("# mine\nname = a\ntile_row_cycles = 100\nghz = 3\n")
    write_audit(folder / "audit.json")
    done = fit(folder, "--rounds=6")
    text = (folder / "new.machine").read_text() if done.returncode == 0 else ""
    found = {n: float(v) for n, v in re.findall(r"^(\w+) = ([\d.]+)$", text, re.M)}
    tool.check("it runs", done.returncode == 0, done.stderr)
    for key in ("tile_row_cycles", "walk_cycles"):
        tool.check(key, abs(found.get(key, 0) / TRUE[key] - 1) < 0.1, text)
    tool.check("a constant at its bound", found.get("tile_miss_cycles") == 120, text)
    tool.check("the rest stays", text.startswith("# mine\nname = a\nghz = 3\n") and "stream_gain" not in text, text)
    tool.check("changes are said", "tile_row_cycles 100 -> 1" in done.stdout and "cycles:" in done.stdout, done.stdout)
    better = re.findall(r"off by ([\d.]+) times", done.stdout)
    tool.check("it fits better", len(better) == 2 and float(better[1]) < float(better[0]), done.stdout)
    code, _, error = tool.run("explain", tool.ROOT / "examples/blur.tess", f"--machine={folder}/new.machine")
    tool.check("the tool reads it", code == 0, error)
    fit(folder, "--only=^walk")
    text = (folder / "new.machine").read_text()
    tool.check("only those that are asked for", "tile_row_cycles = 100\n" in text and "walk_cycles" in text, text)
    (folder / "audit.json").write_text("")
    done = fit(folder)
    tool.check("nothing measured", done.returncode == 1 and "no plan was measured" in done.stderr, done.stderr)
tool.finish()
