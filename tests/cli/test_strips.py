"""Runs in strips (--memory): the files are those of a run in memory, byte for byte, whatever format and program; what
cannot be cut is refused with its reason; files that end early and disks that fill leave nothing behind."""
import os
import pathlib
import random
import re
import resource
import signal
import struct
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import tool
from tool import check, run

SLOW = "--target=interp" # no compiler is started
HEAD = "parameter M, N;\nvector#2 uint8 a[M, N];\n"
LOW = "--memory=24592K" # what the tool takes itself, and 16 KiB for strips
PROGRAMS = {
    "blur": """stencil f(vector#2 uint8 A) { return cast<uint8>(sum(i = -2..2, j = -1..1 : cast<int>(A@[i, j])) / 15); }
""" + HEAD + "return f(a:mirror);\n",
    "wrap": """stencil f(vector#2 uint8 A) { return cast<uint8>((A@[-3, 0] + A@[2, 1] + index(0)) / 2); }
""" + HEAD + "return f(a:wrap);\n",
    "rules": """stencil f(vector#2 uint8 A, vector#2 uint8 B) { return A@[-3, 0] + B@[4, 0] + 10 * index(0); }
stencil g(vector#2 int A, vector#2 int B) { return A@[-1, 1] - B@[2, 0]; }
""" + HEAD + "b = f(a:wrap, a:clamp);\nreturn g(b@[(0, 2), (0, 1)]:wrap, b@[(0, 2), (0, 1)]:mirror);\n",
    "numbers": """stencil f(vector#2 uint8 A, float m, float t) { return (A - m) / t; }
""" + HEAD + "m = mean(a);\nt = maximum(abs(a - m));\nreturn f(a, m, t), m, histogram(a, 256);\n",
    "warp": """stencil f(vector#2 uint8 A) { d = cast<int>(A@[1, 1] % 7) - 3;
    return A[clamp(index(0) + d, 0, size(A, 0) - 1), index(1)] + A@[-1, 0]; }
stencil g(vector#2 float A, vector#2 uint8 B) {
    return A[cast<int>(floor(index(0) + 2.5 * sin(0.1 * index(1)) + 0.01 * B)), cast<int>(B)]; }
""" + HEAD + "b = 1.5 * f(a:mirror);\nreturn g(b:reflect, a);\n",
    "pyramid": """stencil f(vector#2 uint8 A) { return (A@[-1, 0] + 2 * A + A@[1, 0]) / 4.0; }
stencil g(vector#2 float A) { return A@[0, -1] + A@[1, 1]; }
""" + HEAD + "b = f(a:clamp);\nc = b@[(0, 2), (0, 2)];\nreturn g(c:reflect), b;\n",
    "ends": """stencil f(vector#2 uint8 A) { return A@[-2, 0] + 2 * A + A@[1, 1] + index(0); }
""" + HEAD + "return f(a[5..20, ..]:mirror), f(a[..M / 2, 1..]:clamp);\n",
    "lines": """stencil f(vector#2 uint8 A, vector#1 float m, vector#1 int64 t) {
    return A@[1, 0] - m[index(1)] + 0.1 * t[index(0)]; }
""" + HEAD + "return f(a:mirror, mean(a, 0), sum(a, 1)), std(1.5 * a, 0), argmax(a, 0), minimum(a, 1),\n"
    "    mean(std(a, 0));\n",
}


def picture(path, rows=301, columns=40):
    tool.write_npy(path, (rows, columns), "|u1", [(i * i // 7 + 13 * i) % 251 for i in range(rows * columns)])


def outputs(folder, name, n, suffix):
    return [folder / f"{name}{k}{suffix if k == 0 else '.npy'}" for k in range(n)]


def in_strips(name, folder, program, image, n, suffix=".npy", memory=None):
    """Runs both ways and compares what they wrote."""
    # Reals between the stages of one, sums for each column of the other.
    memory = memory or ("--memory=24640K" if name in ("warp", "lines") else LOW)
    whole, strips = outputs(folder, "whole", n, suffix), outputs(folder, "strips", n, suffix)
    code, _, err = run("run", program, image, *(f"-o{p}" for p in whole), SLOW)
    check(f"{name} in memory", code == 0, err)
    code, _, err = run("run", program, image, *(f"-o{p}" for p in strips), SLOW, memory, "-v")
    check(f"{name} in strips", code == 0 and " strips of " in err, err)
    same = [a.read_bytes() == b.read_bytes() for a, b in zip(whole, strips) if a.exists() and b.exists()]
    check(f"{name}, the same bytes", same == [True] * n, f"{same} {err}")


def test_programs(folder):
    picture(folder / "a.npy")
    for name, text in PROGRAMS.items():
        (folder / f"{name}.tess").write_text(text)
        n = {"numbers": 3, "pyramid": 2, "ends": 2, "lines": 4}.get(name, 1)
        in_strips(name, folder, folder / f"{name}.tess", folder / "a.npy", n)


def test_formats(folder):
    program = folder / "blur.tess"
    for suffix in (".png", ".tif", ".jpg", ".pgm", ".pam"):
        image = folder / f"in{suffix}"
        if run("apply", "median", folder / "a.npy", "-o", image, SLOW)[0]:
            continue # the build does not have it
        in_strips(suffix, folder, program, image, 1, suffix)
    code, _, err = run("run", program, folder / "a.npy", "-o", folder / "x.webp", SLOW, LOW)
    check("written at once", code == 1 and "not written row by row" in err or "cannot write" in err, err)
    check("and nothing left", not list(folder.glob("*x.webp*")))


def test_layouts(folder):
    """TIFF in tiles and compressed, in memory and in strips: the pixels are those of other files."""
    program, plain = folder / "blur.tess", folder / "plain.npy"
    floats = folder / "floats.tess"
    floats.write_text("parameter M, N;\nvector#2 uint8 a[M, N];\nreturn a / 3.0;\n")
    again = {"uint8": folder / "again8.tess", "float": folder / "again32.tess"}
    for type, path in again.items():
        path.write_text(f"parameter M, N;\nvector#2 {type} a[M, N];\nreturn a;\n")
    for program, type in ((folder / "blur.tess", "uint8"), (floats, "float")):
        run("run", program, folder / "a.npy", "-o", plain, SLOW)
        for layout in (["--tile=16"], ["--tile=64", "--compress=deflate"], ["--compress=lzw"], ["--compress=zstd"]):
            for memory in ([], [LOW if layout[0] != "--tile=64" else "--memory=25M"]):
                image = folder / "layout.tif"
                code, _, err = run("run", program, folder / "a.npy", "-o", image, SLOW, *layout, *memory)
                if code and ("libtiff" in err):
                    continue # this build has no TIFF, or not that compression
                back = run("run", again[type], image, "-o", folder / "back.npy", SLOW)
                check(f"{type} {layout} {memory}", code == 0 and back[0] == 0
                      and (folder / "back.npy").read_bytes() == plain.read_bytes(), err + back[2])
    code, _, err = run("run", program, folder / "a.npy", "-o", folder / "x.npy", SLOW, "--tile=32")
    check("tiles of NPY", code == 1 and "are for TIFF" in err, err)
    code, _, err = run("run", program, folder / "a.npy", "-o", folder / "x.tif", SLOW, "--tile=20")
    check("tiles of 20", code == 2 and "a multiple of 16" in err, err)


def half(rows):
    """The copy that --pyramid makes of rows of integers."""
    rows = [*rows, rows[-1]][:len(rows) + len(rows) % 2]
    rows = [[*row, row[-1]][:len(row) + len(row) % 2] for row in rows]
    return [[(a[x] + a[x + 1] + b[x] + b[x + 1] + 2) // 4 for x in range(0, len(a), 2)]
            for a, b in zip(rows[::2], rows[1::2])]


def read_tiff(data):
    """Directories of a small TIFF without compression: of each its kind, and its pixels from tiles of 16."""
    found, at = [], struct.unpack_from("<I", data, 4)[0]
    while at:
        n = struct.unpack_from("<H", data, at)[0]
        tags = {}
        for k in range(n):
            tag, kind, count, value = struct.unpack_from("<HHII", data, at + 2 + 12 * k)
            size = {1: 1, 3: 2, 4: 4}.get(kind, 0)
            place = at + 10 + 12 * k if size * count <= 4 else value
            tags[tag] = struct.unpack_from(f"<{count}{'xBxHI'[kind]}", data, place) if size else ()
        width, height = tags[256][0], tags[257][0]
        rows = [[0] * width for _ in range(height)]
        across = (width + 15) // 16
        for k, begin in enumerate(tags[324]):
            for y in range(16 * (k // across), min(height, 16 * (k // across) + 16)):
                for x in range(16 * (k % across), min(width, 16 * (k % across) + 16)):
                    rows[y][x] = data[begin + 16 * (y % 16) + x % 16]
        found.append((tags.get(254, (0,))[0], rows))
        at = struct.unpack_from("<I", data, at + 2 + 12 * n)[0]
    return found


def test_pyramid(folder):
    words = ["run", folder / "blur.tess", folder / "a.npy", "-o", folder / "p.tif", SLOW, "--tile=16", "--pyramid"]
    code, _, err = run(*words)
    if code and "libtiff" in err:
        return
    data = (folder / "p.tif").read_bytes()
    found = read_tiff(data)
    sizes = [(len(rows), len(rows[0])) for _, rows in found]
    check("sizes of a pyramid", sizes == [(301, 40), (151, 20), (76, 10), (38, 5), (19, 3), (10, 2)], f"{sizes} {err}")
    check("kinds of its pages", [kind for kind, _ in found] == [0, 1, 1, 1, 1, 1], str([kind for kind, _ in found]))
    check("each is half of the one before", all(half(a) == b for (_, a), (_, b) in zip(found, found[1:])))
    code, _, err = run(*words, LOW, "-v")
    check("a pyramid in strips", code == 0 and " strips of " in err and (folder / "p.tif").read_bytes() == data, err)
    code, out, err = run("info", folder / "p.tif")
    check("it is one picture", code == 0 and "uint8, 301 x 40" in out, out + err)
    code, _, err = run("run", folder / "blur.tess", folder / "a.npy", "-o", folder / "x.png", SLOW, "--pyramid")
    check("a pyramid of PNG", code == 1 and "are for TIFF" in err, err)
    check("nothing is left", not list(folder.glob("p.tif?*")), str(list(folder.glob("p.tif?*"))))


def test_plan(folder):
    code, out, err = run("explain", folder / "numbers.tess", folder / "a.npy", LOW, SLOW)
    check("explained", code == 0 and "pass 3, the results" in out and "from the beginning 3 times" in out
          and "strips of" in out, out + err)
    code, out, err = run("explain", folder / "numbers.tess", folder / "a.npy", "--memory=1G", SLOW)
    check("in one piece", code == 0 and out.count("in one piece") == 3, out + err)
    written = 4 * 301 * 40 + 4 * 256 # reals and counts; the number is printed
    check("disk", f"disk: {3 * 301 * 40 / 1024:.1f} KiB read, {written / 1024:.1f} KiB written\n" in out, out)
    check("no device", "on the device" not in out, out)
    code, out, err = run("explain", folder / "numbers.tess", folder / "a.npy", "--memory=half", SLOW)
    allowed = re.match(r"memory: ([0-9.]+) ([MG])iB allowed \(half of what is free\)", out)
    check("half of what is free", code == 0 and allowed, out + err)
    code, _, err = run("run", folder / "blur.tess", folder / "a.npy", "-o", folder / "x.npy", "--memory=9Q")
    check("a size that is none", code == 2 and "a size as 512K" in err, err)


def refused(name, folder, program, words, *more):
    (folder / "no.tess").write_text(program)
    code, out, err = run("run", folder / "no.tess", folder / "a.npy", "-o", folder / "no.npy", SLOW, LOW, *more)
    check(name, code == 1 and err.count("\n") == 1 and all(w in err for w in words), err)
    check(f"{name}: nothing is left", not list(folder.glob("*no.npy*")))


def test_refused(folder):
    turned = "stencil f(vector#2 uint8 A, vector#2 uint8 B) { return A[size(A, 0) - 1 - index(0), 0] + B; }\n"
    refused("turned", folder, turned + HEAD + "return f(a, a);\n", ["not computed in strips", "'output'"])
    refused("too small", folder, PROGRAMS["blur"], ["strips cannot be lower"], "--memory=24577K")


def test_rounds(folder):
    """Turns that together reach too far, and a condition of whole images: a few turns at a time."""
    step = "stencil f(vector#2 float A) { return (A@[-1, 0] + A@[1, 0] + A@[0, -1] + A@[0, 1]) / 4; }\n" + HEAD
    (folder / "ends.tess").write_text(
        step + "t<0> = 1.0 * a;\nfor i = 1..50 until maximum(abs(t<i> - t<i-1>)) < 4 every 2\n"
        "    t<i> = f(t<i-1>:mirror);\nendfor\nreturn t<50>, mean(t<50>), turns(t);\n")
    (folder / "long.tess").write_text(
        step.replace(HEAD, "parameter M, N;\nint n = 200;\nvector#2 uint8 a[M, N];\n")
        + "t<0> = 1.0 * a;\nfor i = 1..n\n    t<i> = f(t<i-1>:wrap) + 0.001 * a;\nendfor\nreturn t<n>;\n")
    for name, more in (("ends", []), ("long", ["n=41"])):
        out, right = folder / "rounds.npy", folder / "right.npy"
        words = ["run", folder / f"{name}.tess", folder / "a.npy", *more, SLOW]
        code, numbers, err = run(*words, "-o", right)
        check(f"{name} in memory", code == 0, err)
        code, again, err = run(*words, "-o", out, "--memory=24610K", "-v")
        told = [line for line in err.splitlines() if line.startswith("in ") and "rounds of turns" in line]
        check(f"{name} in rounds", code == 0 and told and int(told[0].split()[1]) > 3, err)
        check(f"{name}, the same", out.read_bytes() == right.read_bytes() and again == numbers, again + numbers)
        check(f"{name}, nothing is left", not list(folder.glob("rounds.npy?*")), str(list(folder.glob("rounds*"))))
    code, out, err = run("explain", folder / "ends.tess", folder / "a.npy", SLOW, "--memory=24610K")
    check("rounds are explained", code == 0 and "round 2: at most 24 times" in out, out + err)
    check("and their files", f"files between rounds: at most {2 * 4 * 301 * 40 / 1024:.1f} KiB\n" in out
          and "read by each round that needs it" in out, out)


def test_resume_rounds(folder, kills):
    """Killed at random moments, a run in rounds goes on behind the last that was finished."""
    rng = random.Random(21)
    tool.write_npy_bytes(folder / "seed.npy", (900, 60), "'|u1'", bytes(i * i % 251 for i in range(54000)))
    (folder / "steps.tess").write_text((folder / "long.tess").read_text())
    out, right = folder / "steps.npy", folder / "steps_right.npy"
    words = ["run", folder / "steps.tess", folder / "seed.npy", "n=40", SLOW, "-o"]
    code, _, err = run(*words, right)
    words += [out, "--resume", "--memory=24800K"]
    code, _, err = run(*words[:-3], folder / "steps.png", *words[-2:])
    check("what cannot be gone on with is refused at once", code and "cannot be gone on with" in err, err)
    gone_on = killed = 0
    while killed < kills or not gone_on:
        words[-1] = f"--memory={rng.choice((24800, 24800, 25000))}K" # the last has more turns in a round
        process = subprocess.Popen([tool.TOOL, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            _, err = process.communicate(timeout=rng.uniform(0.05, 0.5))
            check("a run in rounds to its end", process.returncode == 0 and out.read_bytes() == right.read_bytes(), err)
            out.unlink()
        except subprocess.TimeoutExpired:
            process.kill()
            _, err = process.communicate()
            killed += 1
        gone_on += b"goes on behind round" in err
    code, _, err = run(*words)
    check("rounds after kills", code == 0 and out.read_bytes() == right.read_bytes(), err)
    left = list(folder.glob("steps.npy?*")) + list(folder.glob(".tess-*"))
    check("nothing of rounds is left", not left, str(left))


def test_sizes(folder):
    """Inputs of different size, and sizes past 2^31: one sentence, and nothing is computed."""
    picture(folder / "other.npy", 300)
    two = folder / "two.tess"
    two.write_text("parameter M, N;\nvector#2 uint8 a[M, N];\nvector#2 uint8 b[M, N];\nreturn a + b;\n")
    for memory in ([], [LOW]):
        code, _, err = run("run", two, folder / "a.npy", folder / "other.npy", "-o", folder / "no.npy", SLOW, *memory)
        check(f"different sizes {memory}", code == 1 and "image 'b' is 300 rows" in err and err.count("\n") == 1, err)
    # A file with a hole, of more rows than an int counts, and one of more bytes than a size.
    for rows, columns, words in ((3 << 30, 2, "too large"), (1 << 40, 1 << 40, "cut short")):
        tool.write_npy_bytes(folder / "huge.npy", (rows, columns), "'|u1'", b"")
        head = (folder / "huge.npy").stat().st_size
        os.truncate(folder / "huge.npy", head + min(rows * columns, 7 << 30))
        code, _, err = run("run", folder / "blur.tess", folder / "huge.npy", "-o", folder / "no.npy", SLOW)
        check(f"{rows} x {columns}", code == 1 and err.count("\n") == 1 and words in err, err)
    (folder / "huge.npy").unlink()
    check("nothing is left of them", not list(folder.glob("*no.npy*")))


def test_ends_early(folder):
    data = (folder / "a.npy").read_bytes()
    (folder / "cut.npy").write_bytes(data[:-100])
    code, _, err = run("run", folder / "blur.tess", folder / "cut.npy", "-o", folder / "cut-out.npy", SLOW, LOW)
    check("cut short", code == 1 and "it is cut short" in err and err.count("\n") == 1, err)
    if (folder / "in.png").exists():
        (folder / "cut.png").write_bytes((folder / "in.png").read_bytes()[:-300])
        code, _, err = run("run", folder / "blur.tess", folder / "cut.png", "-o", folder / "cut-out.npy", SLOW, LOW)
        check("a PNG that ends early", code == 1 and "cannot read" in err and err.count("\n") == 1, err)
    check("nothing is left", not list(folder.glob("*cut-out*")))


def test_full_disk(folder):
    """A file that may not grow further stands for a disk that fills."""
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))
    picture(folder / "long.npy", 20000)
    done = subprocess.run(
        [tool.TOOL, "run", folder / "blur.tess", folder / "long.npy", "-o", folder / "full.npy", SLOW,
         "--memory=24800K"],
        capture_output=True, preexec_fn=limit, env=dict(os.environ, TESSERA_CACHE=""), timeout=120,
    )
    err = done.stderr.decode()
    check("a full disk", done.returncode == 1 and "cannot write" in err and "too large" in err, err)
    check("nothing is left of it", not list(folder.glob("*full.npy*")), list(folder.glob("*full.npy*")))


def test_small_device(folder):
    """A device whose memory is too small computes in parts, which -v says."""
    picture(folder / "wide.npy", 1500, 1200)
    (folder / "small.tess").write_text("parameter M, N;\nvector#2 uint8 a[M, N];\nreturn a / 3.0;\n")
    words = ["run", folder / "small.tess", folder / "wide.npy", "-o"]
    code, _, err = run(*words, folder / "parts.npy", "--target=opencl", "--device-memory=4", "-v")
    if code and "OpenCL" in err:
        return # there is no device
    check("a small device", code == 0 and "parts, since the device does not hold the whole" in err, err)
    run(*words, folder / "whole.npy", SLOW)
    check("its pixels", (folder / "parts.npy").read_bytes() == (folder / "whole.npy").read_bytes())


def test_signal(folder):
    """A signal ends a run behind the strip at hand, and leaves nothing."""
    words = [tool.TOOL, "run", folder / "blur.tess", folder / "long.npy", "-o", folder / "signal.npy", SLOW,
             "--memory=24700K"]
    process = subprocess.Popen(list(map(str, words)), stderr=subprocess.PIPE)
    while process.poll() is None and not list(folder.glob(".tess*")):
        time.sleep(0.005)
    process.terminate()
    process.communicate(timeout=60)
    check("ended by the signal", process.returncode == -signal.SIGTERM, process.returncode)
    check("nothing is left by it", not list(folder.glob(".tess*")) + list(folder.glob("signal*")))


def test_resume(folder, kills):
    """Killed at random moments, a run that is gone on with ends with the right files."""
    rng = random.Random(20)
    picture(folder / "tall.npy", 12000, 60)
    for suffix in (".npy", ".tif"):
        source, out, right = folder / "tall.npy", folder / f"out{suffix}", folder / f"right{suffix}"
        if run("run", folder / "pyramid.tess", source, "-o", folder / "x.npy", "-o", right, SLOW)[0]:
            continue
        words = [tool.TOOL, "run", folder / "pyramid.tess", source, "-o", folder / "thin.npy", "-o", out, SLOW,
                 "--memory=24700K", "--resume"]
        wanted, gone_on = kills, 0
        while wanted > 0:
            process = subprocess.Popen(list(map(str, words)), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            try:
                _, err = process.communicate(timeout=rng.uniform(0.05, 0.5))
                check(f"a run to its end {suffix}", process.returncode == 0, err.decode())
                check(f"{suffix} after kills", out.read_bytes() == right.read_bytes()
                      and (folder / "thin.npy").read_bytes() == (folder / "x.npy").read_bytes())
                check(f"nothing is left {suffix}", not list(folder.glob("*.part")) + list(folder.glob("*.resume*")))
                out.unlink()
            except subprocess.TimeoutExpired:
                process.kill()
                _, err = process.communicate()
                wanted -= 1
            gone_on += b"goes on behind row" in err
        code, _, err = run(*words[1:])
        check(f"the end {suffix}", code == 0 and out.read_bytes() == right.read_bytes(), err)
        check(f"gone on with {suffix}", gone_on > 0)


def test_resume_anew(folder):
    """What another program, input or options have left counts for nothing; a full disk can be cleared."""
    out = folder / "anew.npy"
    words = ["run", folder / "blur.tess", folder / "long.npy", "-o", out, SLOW, "--memory=24800K", "--resume"]

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (500000, 500000))
    full = subprocess.run([tool.TOOL, *map(str, words)], capture_output=True, preexec_fn=limit,
                          env=dict(os.environ, TESSERA_CACHE=""), timeout=120)
    check("it ends early", full.returncode == 1 and (folder / "anew.npy.resume").exists(), full.stderr.decode())
    journal = (folder / "anew.npy.resume").read_bytes()
    part = (folder / "anew.npy.part").read_bytes()
    run("run", folder / "blur.tess", folder / "long.npy", "-o", folder / "right.npy", SLOW)
    for name, change in (
        ("goes on", lambda: None),
        ("another input", lambda: os.utime(folder / "long.npy")),
        ("a file cut short", lambda: (folder / "anew.npy.part").write_bytes(part[:1000])),
        ("a broken journal", lambda: (folder / "anew.npy.resume").write_bytes(journal[:-4])),
    ):
        (folder / "anew.npy.resume").write_bytes(journal)
        (folder / "anew.npy.part").write_bytes(part)
        change()
        code, _, err = run(*words)
        told = "goes on behind row" if name == "goes on" else "begins anew"
        check(name, code == 0 and told in err and out.read_bytes() == (folder / "right.npy").read_bytes(), err)
        check(f"{name}, nothing is left", not list(folder.glob("anew.npy.*")), list(folder.glob("anew.npy.*")))
    code, _, err = run(*words[:3], "-o", folder / "x.png", *words[5:])
    check("compressed", code == 1 and "cannot be gone on with" in err, err)


kills = int(sys.argv[1].partition("=")[2]) if sys.argv[1:] and sys.argv[1].startswith("--kills=") else 4
with tool.workspace() as name:
    folder = pathlib.Path(name)
    test_programs(folder)
    test_formats(folder)
    test_layouts(folder)
    test_pyramid(folder)
    test_plan(folder)
    test_refused(folder)
    test_rounds(folder)
    test_sizes(folder)
    test_ends_early(folder)
    test_full_disk(folder)
    test_small_device(folder)
    test_signal(folder)
    test_resume(folder, kills)
    test_resume_anew(folder)
    test_resume_rounds(folder, max(kills // 2, 2))
tool.finish()
