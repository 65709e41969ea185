"""Rows of results: the file they are kept in, and how they are shown."""
import json
import os
import pathlib
import statistics
import subprocess

from jobs import BORDERS

HERE = pathlib.Path(__file__).resolve().parent
KEY = ("table", "job", "k", "width", "threads")


def output_of(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, cwd=HERE).stdout.strip()
    except FileNotFoundError:
        return ""


def commit():
    """The last commit that changed what is measured; + when there are changes since."""
    text = output_of("git", "log", "-1", "--format=%h", "--", "../src", "../prelude", "../lib")
    return text + (
        "+"
        if text
        and output_of("git", "status", "--porcelain", "--untracked-files=no", "--", "../src", "../prelude", "../lib")
        else ""
    )


def machine(tool):
    model = next((line.split(":", 1)[1].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
                  if line.startswith("model name")), "unknown")
    described = dict(line.split(" = ", 1) for line in output_of(tool, "machine").splitlines() if " = " in line)
    return {"model": model, "cores": os.cpu_count(), "description": described}


class Book:
    """The results file: what it was measured on, and the rows, one a line."""

    def __init__(self, path, append, bench):
        self.path = path
        self.commit = commit()
        compiler = output_of(os.environ.get("TESSERA_CC", "cc"), "--version").splitlines()
        self.head = {
            "machine": bench.machine, "compiler": compiler[0] if compiler else "", "rivals": bench.rivals.versions(),
        }
        self.rows = []
        if path and append and path.exists():
            self.rows = json.loads(path.read_text())["rows"]

    def add(self, row):
        row["commit"] = self.commit
        key = [row[name] for name in KEY]
        self.rows = [old for old in self.rows if [old[name] for name in KEY] != key] + [row]
        if self.path:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            text = json.dumps(self.head, indent=1)[:-2] + ',\n "rows": [\n'
            text += ",\n".join(json.dumps(rounded(r), separators=(",", ":")) for r in self.rows) + "\n]}\n"
            temporary = self.path.with_suffix(".new")
            temporary.write_text(text)
            temporary.replace(self.path)


def rounded(value):
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, dict):
        return {k: rounded(v) for k, v in value.items()}
    return [rounded(v) for v in value] if isinstance(value, list) else value


def rounds(row, lane):
    """The times of a lane, round by round; the copy's are the better of its two kinds, the kind chosen for the whole
    row."""
    if lane == "copy":
        kinds = [row["lanes"][name] for name in ("copy", "copy-streaming") if name in row["lanes"]]
        return min(kinds, key=lambda kind: kind["median_ms"])["rounds_ms"]
    if lane == "opencv-best":
        calls = [row["lanes"][name] for name in ("opencv", "opencv-strips") if name in row["lanes"]]
        return min(calls, key=lambda call: call["median_ms"])["rounds_ms"] if calls else None
    return row["lanes"][lane]["rounds_ms"] if lane in row["lanes"] else None


def ratio(row, one, other):
    """Median over the rounds of the time of `one` over that of `other`; None when a lane is missing."""
    a, b = rounds(row, one), rounds(row, other)
    return statistics.median(x / y for x, y in zip(a, b)) if a and b else None


def median(row, lane):
    values = rounds(row, lane)
    return statistics.median(values) if values else None


def number(value, form="{:.2f}"):
    return "-" if value is None else form.format(value)


def time_text(ms):
    return "-" if ms is None else f"{ms:.3f}" if ms < 1 else f"{ms:.2f}" if ms < 100 else f"{ms:.0f}"


def name_of(row):
    return f"{row['job']} {row['k']}" if row["k"] else row["job"]


def disturbed(row):
    """Whether other processes took a core while a lane ran, each time it was tried."""
    return any(lane["disturbed"] for lane in row["lanes"].values())


COLUMNS = {
    "rivals": (
        "tessera ms", "copy ms", "halide ms", "opencv ms", "strips ms", "scipy ms", "of copy %", "/halide", "/opencv",
    ),
    "fusion": ("chosen ms", "unfused ms", "tiles ms", "copy ms", "chosen %", "tiles %"),
    "borders": ("none ms", *(f"{rule} %" for rule in BORDERS[1:]), "copy ms"),
}


def cells(row):
    """The figures of a row, as text, in the order of COLUMNS."""
    if row["table"] == "rivals":
        share = ratio(row, "copy", "tessera")
        return [
            *(
                time_text(median(row, lane))
                for lane in ("tessera", "copy", "halide", "opencv", "opencv-strips", "scipy")
            ),
            number(share and 100 * share, "{:.0f}"),
            number(ratio(row, "tessera", "halide")),
            number(ratio(row, "tessera", "opencv-best")),
        ]
    if row["table"] == "fusion":
        gains = [ratio(row, "unfused", lane) for lane in ("tessera", "overlapped")]
        return [*(time_text(median(row, lane)) for lane in ("tessera", "unfused", "overlapped", "copy")),
                *(number(g and 100 * (g - 1), "{:+.0f}") for g in gains)]
    changes = [ratio(row, rule, "none") for rule in BORDERS[1:]]
    return [
        time_text(median(row, "none")), *(number(c and 100 * (c - 1), "{:+.1f}") for c in changes),
        time_text(median(row, "copy")),
    ]


def heading(table):
    return f"\n{'job':<16}{'size':>6}{'thr':>4} " + "".join(f"{column:>12}" for column in COLUMNS[table])


def line(row):
    """A row as text; '*' when other processes disturbed a part of it."""
    return (
        f"{name_of(row):<16}{row['width']:>6}{row['threads']:>4} "
        + "".join(f"{text:>12}" for text in cells(row))
        + (" *" if disturbed(row) else "")
    )
