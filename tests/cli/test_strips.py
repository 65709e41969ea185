"""Runs in strips (--memory): the files are those of a run in memory, byte for byte, whatever format and program; what
cannot be cut is refused with its reason; files that end early and disks that fill leave nothing behind."""
import os
import pathlib
import resource
import signal
import subprocess
import sys

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
    "numbers": """stencil f(vector#2 uint8 A, float m, float t) { return (A - m) / t; }
""" + HEAD + "m = mean(a);\nt = maximum(abs(a - m));\nreturn f(a, m, t), m, histogram(a, 256);\n",
    "pyramid": """stencil f(vector#2 uint8 A) { return (A@[-1, 0] + 2 * A + A@[1, 0]) / 4.0; }
stencil g(vector#2 float A) { return A@[0, -1] + A@[1, 1]; }
""" + HEAD + "b = f(a:clamp);\nc = b@[(0, 2), (0, 2)];\nreturn g(c:reflect), b;\n",
}


def picture(path, rows=301, columns=40):
    tool.write_npy(path, (rows, columns), "|u1", [(i * i // 7 + 13 * i) % 251 for i in range(rows * columns)])


def outputs(folder, name, n, suffix):
    return [folder / f"{name}{k}{suffix if k == 0 else '.npy'}" for k in range(n)]


def in_strips(name, folder, program, image, n, suffix=".npy", memory=LOW):
    """Runs both ways and compares what they wrote."""
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
        n = {"numbers": 3, "pyramid": 2}.get(name, 1)
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


def test_plan(folder):
    code, out, err = run("explain", folder / "numbers.tess", folder / "a.npy", LOW, SLOW)
    check("explained", code == 0 and "pass 3, the results" in out and "from the beginning 3 times" in out
          and "strips of" in out, out + err)
    code, out, err = run("explain", folder / "numbers.tess", folder / "a.npy", "--memory=1G", SLOW)
    check("in one piece", code == 0 and out.count("in one piece") == 3, out + err)
    code, _, err = run("run", folder / "blur.tess", folder / "a.npy", "-o", folder / "x.npy", "--memory=9Q")
    check("a size that is none", code == 2 and "a size as 512K" in err, err)


def refused(name, folder, program, words, *more):
    (folder / "no.tess").write_text(program)
    code, out, err = run("run", folder / "no.tess", folder / "a.npy", "-o", folder / "no.npy", SLOW, LOW, *more)
    check(name, code == 1 and err.count("\n") == 1 and all(w in err for w in words), err)
    check(f"{name}: nothing is left", not list(folder.glob("*no.npy*")))


def test_refused(folder):
    turned = "stencil f(vector#2 uint8 A, vector#2 uint8 B) { return A[size(A, 0) - 1 - index(0), 0] + B; }\n"
    rules = "stencil f(vector#2 uint8 A, vector#2 uint8 B) { return A@[-1, 0] + B@[1, 0]; }\n"
    refused("turned", folder, turned + HEAD + "return f(a, a);\n", ["not computed in strips", "'output'"])
    refused("two rules", folder, rules + HEAD + "return f(a:wrap, a:clamp);\n", ["wrap around beside others"])
    refused("too small", folder, PROGRAMS["blur"], ["strips cannot be lower"], "--memory=24577K")


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


with tool.workspace() as name:
    folder = pathlib.Path(name)
    test_programs(folder)
    test_formats(folder)
    test_plan(folder)
    test_refused(folder)
    test_ends_early(folder)
    test_full_disk(folder)
tool.finish()
