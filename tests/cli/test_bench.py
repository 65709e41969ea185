"""The bench works, on pictures so small that nothing is learnt from its times, and docs/performance.md shows what its
results file holds."""
import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import tool

BENCH = tool.ROOT / "bench"
TINY = ["--no-rivals", "--size", "32", "--threads", "1", "--rounds", "2", "--batch-ms", "0.1"]


def run(*arguments):
    return subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, text=True, timeout=250)


def check_rows(folder):
    path = pathlib.Path(folder) / "results.json"
    jobs = [
        "--only", "blur", "--only", "unsharp", "--only", "conv2d_given:3", "--only", "separable:5", "--only",
        "sobel_u8",
    ]
    done = run(BENCH / "run.py", "--build", tool.BUILD, *TINY, *jobs, "--results", path)
    tool.check("the bench runs", done.returncode == 0 and not done.stderr, done.stderr)
    rows = json.loads(path.read_text())["rows"] if path.exists() else []
    found = [(row["table"], row["job"]) for row in rows]
    expected = [("rivals", name) for name in ("blur", "unsharp", "conv2d_given", "separable", "sobel_u8")] + [
        ("fusion", "blur"), ("borders", "blur"),
    ]
    tool.check("a row for each job", found == expected, found)
    for row in rows:
        for name, lane in row["lanes"].items():
            tool.check(
                f"{row['job']}: times of {name}", lane["runs"] >= 2 and 0 < lane["min_ms"] <= lane["median_ms"], lane
            )
    again = run(
        BENCH / "run.py", "--build", tool.BUILD, *TINY, "--only", "blur", "--table", "rivals", "--append", "--results",
        path,
    )
    rows = json.loads(path.read_text())["rows"] if path.exists() else []
    tool.check(
        "rows are renewed", again.returncode == 0 and len(rows) == len(expected) and rows[-1]["job"] == "blur",
        again.stderr,
    )


def check_page():
    done = run(BENCH / "report.py", "--check")
    tool.check("docs/performance.md", done.returncode == 0, done.stderr)


if not (tool.BUILD / "bench" / "bench_tessera").exists():
    print("skipped: built without the bench")
    sys.exit(tool.SKIPPED)
with tool.workspace() as folder:
    check_rows(folder)
check_page()
tool.finish()
