"""How fast files are read, computed and written in strips, beside a copy of the file: 20000 x 20000 of uint16, NPY and
uncompressed BigTIFF, and smaller pictures as PNG and JPEG beside their codecs (a program that returns its image).

    python3 bench/strips.py build/tessera FOLDER [--size=20000] [--times=5] [--memory=256M]

FOLDER keeps the files (6 GB) and `strips.json`, what has been measured: a run that was ended goes on where it stopped.
A copy and a run take turns, and both find the page cache in the same state: nothing under the name that they write, and
pages that were free a moment ago. (`cp` empties a file that is there and takes its pages, a run writes beside it until
it is complete; and memory that a virtual machine has not touched for long may cost several times the copy.) Least times
count."""
import json
import os
import pathlib
import subprocess
import sys
import time

HEAD = "parameter M, N;\nvector#2 uint16 a[M, N];\n"
MEAN = "cast<uint16>(sum(i = -2..2, j = -2..2 : cast<int>(A@[i, j])) / 25)"
PROGRAMS = {
    "copy": HEAD + "return a;\n",
    "blur": "stencil f(vector#2 uint16 A) { return " + MEAN + "; }\n" + HEAD + "return f(a:mirror);\n",
    "sobel": """stencil f(vector#2 float A) {
    x = A@[-1, 1] + 2 * A@[0, 1] + A@[1, 1] - A@[-1, -1] - 2 * A@[0, -1] - A@[1, -1];
    y = A@[1, -1] + 2 * A@[1, 0] + A@[1, 1] - A@[-1, -1] - 2 * A@[-1, 0] - A@[-1, 1];
    return cast<uint16>(min(sqrt(x * x + y * y), 65535.0)); }
""" + HEAD + "return f((1.0 * a):mirror);\n",
    "gauss3": """stencil f(vector#2 uint16 A) { return cast<int>(A@[-1, 0]) + 2 * A + A@[1, 0]; }
stencil g(vector#2 int A) { return cast<uint16>((A@[0, -1] + 2 * A + A@[0, 1]) / 16); }
""" + HEAD + "return g(f(a:mirror):mirror);\n",
    "harris": """stencil dx(vector#2 float A) { return A@[0, 1] - A@[0, -1]; }
stencil dy(vector#2 float A) { return A@[1, 0] - A@[-1, 0]; }
stencil s(vector#2 float A) { return sum(i = -1..1, j = -1..1 : A@[i, j]); }
stencil r(vector#2 float A, vector#2 float B, vector#2 float C) {
    return cast<uint16>(clamp((A * B - C * C - 0.04 * (A + B) * (A + B)) * 1e-6, 0.0, 65535.0)); }
""" + HEAD + """f = 0.01 * a;
x = dx(f:mirror);
y = dy(f:mirror);
return r(s((x * x):mirror), s((y * y):mirror), s((x * y):mirror));
""",
}
GOALS = {"blur": 0.9, "sobel": 0.9, "gauss3": 0.9, "harris": 0.6}


def clear(*paths):
    """Removes the files that will be written, and leaves memory for them that was in use a moment ago."""
    size = max((path.stat().st_size for path in paths if path.exists()), default=0)
    if size:
        page, scratch = bytes(1 << 20), paths[0].with_suffix(".scratch")
        with open(scratch, "wb", buffering=0) as file:
            for _ in range(size // len(page) + 1):
                file.write(page)
        scratch.unlink()
    for path in paths:
        path.unlink(missing_ok=True)


def seconds(*words):
    """Elapsed, and processor time of the process and its threads."""
    start = time.monotonic()
    process = subprocess.Popen(list(map(str, words)), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    error = process.stderr.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{' '.join(map(str, words))}: {error}")
    return time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def least(measured):
    return [min(m[k] for m in measured) for k in range(3)]


def against(times, first, second, written):
    """The least of both, which take turns; the first turn of each does not count."""
    a, b = [], []
    for turn in range(times + 1):
        for measured, run in ((a, first), (b, second)):
            clear(*written)
            measured.append(run())
    return least(a[1:]), least(b[1:])


def main():
    tool, folder = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    options = dict(word[2:].split("=") for word in sys.argv[3:])
    size, times = int(options.get("size", 20000)), int(options.get("times", 5))
    memory = f"--memory={options.get('memory', '256M')}"
    folder.mkdir(parents=True, exist_ok=True)
    results = folder / "strips.json"
    known = json.loads(results.read_text()) if results.exists() else {}
    for name, text in PROGRAMS.items():
        (folder / f"{name}.tess").write_text(text)
        (folder / f"{name}8.tess").write_text(text.replace("uint16", "uint8").replace("65535.0", "255.0"))
    small = max(size // 4, 64)
    noise = folder / "noise.tess"
    noise.write_text("stencil f(vector#2 T A) { return cast<T>(A + 5 * index(0) % 37 + 3 * index(1) % 29); }\n"
                     "parameter M, N;\nvector#2 T a[M, N];\nreturn f(a);\n".replace("T", "uint16"))
    noise8 = folder / "noise8.tess"
    noise8.write_text(noise.read_text().replace("uint16", "uint8"))
    for suffix in (".npy", ".tif", ".png", ".jpg"):
        picture = suffix in (".png", ".jpg")
        into, out, copy = (folder / f"{n}{suffix}" for n in ("in", "out", "copy"))
        n = small if picture else size
        if not into.exists():
            part = folder / f"part{suffix}"
            made_by = noise8 if suffix == ".jpg" else noise
            subprocess.run([tool, "run", made_by, f"ramp:{n}x{n}", "-o", part, "--quiet"], check=True)
            part.rename(into)
        for name in ("blur", "sobel", "gauss3", "harris"):
            key = f"{suffix[1:]} {name} {n}"
            if key in known:
                continue
            eight = "8" if suffix == ".jpg" else ""
            run = [tool, "run", folder / f"{name}{eight}.tess", into, "-o", out, memory]
            plain = [tool, "run", folder / f"copy{eight}.tess", into, "-o", copy, memory] if picture \
                else ["cp", into, copy]
            known[key] = against(times, lambda: seconds(*plain), lambda: seconds(*run), (out, copy))
            results.write_text(json.dumps(known, indent=1))
    print(f"{'':24} {'copy or codec, s':>18} {'run, s':>9} {'speed':>7} {'goal':>6} {'CPU s':>12} {'MiB':>6}")
    for key, (plain, ran) in known.items():
        goal = GOALS[key.split()[1]]
        print(f"{key:24} {plain[0]:18.3f} {ran[0]:9.3f} {plain[0] / ran[0]:7.2f} {goal:6} "
              f"{plain[1]:5.2f} {ran[1]:6.2f} {ran[2]:6.0f}")


main()
