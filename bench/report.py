#!/usr/bin/env python3
"""Writes the tables of docs/performance.md from a results file: what stands between `<!-- bench NAME -->` and `<!-- end
-->` is made anew. The page names its results files: one of a CPU and, for blocks `gpu ...`, one of a GPU, of which
there are plots too. --check: only says whether page and plots are what it would write.

    bench/report.py [--check] [--results bench/results/FILE.json]"""
import argparse
import json
import pathlib
import re
import sys

import gpu_tables
import plots
import results
from jobs import JOBS

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "performance.md"
IMAGES = ROOT / "docs" / "images"
BLOCK = re.compile(r"<!-- bench ([\w ]+) -->\n.*?<!-- end -->", re.S)
SOURCE = re.compile(r"\]\(\.\./(bench/results/[\w.-]+\.json)\)")


def markdown(head, rows):
    lines = ["| " + " | ".join(head) + " |", "| --- |" + " ---: |" * (len(head) - 1)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def machine_lines(book, source):
    m = book["machine"]
    d = m["description"]
    commits = sorted({row["commit"] for row in book["rows"]})
    rivals = ", ".join(
        {"halide": "Halide", "opencv": "OpenCV", "scipy": "SciPy"}[name] + f" {version}"
        for name, version in book["rivals"].items()
    )
    return (
        f"[{source.name}](../{source.relative_to(ROOT)}): {m['model']}, {m['cores']} cores, {d['isa']}; "
        f"{book['compiler']}; "
        f"{rivals}; Tessera at {', '.join(commits)}.\n"
    )


def label(row):
    return results.name_of(row) + (" *" if results.disturbed(row) else "")


def table(book, words):
    kind, *rest = words
    order = {job.name: i for i, job in enumerate(JOBS)}
    rows = sorted((row for row in book["rows"] if row["table"] == kind), key=lambda row: (order[row["job"]], row["k"]))
    if kind == "rivals":
        size, threads = map(int, rest)
        rows = [row for row in rows if (row["width"], row["threads"]) == (size, threads)]
        return markdown(("job", *results.COLUMNS[kind]), [(label(row), *results.cells(row)) for row in rows])
    return markdown(
        ("job", "size", *results.COLUMNS[kind]), [(label(row), str(row["width"]), *results.cells(row)) for row in rows]
    )


def gpu_book(text):
    """(name, book) of the results file of a GPU that the page names; None: it names none."""
    for name in SOURCE.findall(text):
        book = json.loads((ROOT / name).read_text())
        if "device" in book:
            return name, gpu_tables.GpuBook(book)
    return None


def gpu_block(text, words):
    found = gpu_book(text)
    if found:
        name, g = found
        return (
            f"[{name.split('/')[-1]}](../{name}): {gpu_tables.machine(g)}.\n"
            if words == ["machine"]
            else markdown(*gpu_tables.table(g, words))
        )
    sys.exit("report.py: the page names no results file of a GPU")


def page_text(text, source):
    book = json.loads(source.read_text())
    def fill(block):
        words = block.group(1).split()
        if words[0] == "gpu":
            return f"<!-- bench {block.group(1)} -->\n{gpu_block(text, words[1:])}<!-- end -->"
        made = machine_lines(book, source) if words == ["machine"] else table(book, words)
        return f"<!-- bench {block.group(1)} -->\n{made}<!-- end -->"
    return BLOCK.sub(fill, text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--results", help="default: the file that the page names")
    options = parser.parse_args()
    old = PAGE.read_text()
    named = SOURCE.search(old)
    if not options.results and not named:
        sys.exit("report.py: the page names no results file; give --results")
    source = pathlib.Path(options.results).resolve() if options.results else ROOT / named.group(1)
    new = page_text(old, source)
    found = gpu_book(new)
    files = [(PAGE, new)] + [(IMAGES / name, made) for name, made in (plots.plots(found[1]) if found else [])]
    for path, made in files:
        if not options.check:
            path.write_text(made)
        elif not path.exists() or path.read_text() != made:
            sys.exit(f"{path.relative_to(ROOT)} is not what bench/report.py makes of {source.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
