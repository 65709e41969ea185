"""tessera-mpi: the files are those of tessera, with any number of processes; what fails is said once, and nothing is
left behind. With --all the whole corpus on 1, 2, 3, 4 and 7 processes; else a fortieth on 3."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import tool
from tool import check

BUILD = tool.BUILD
START = os.environ.get("MPIEXEC", "mpirun")
TOOL, DRIVER = BUILD / "tessera-mpi", BUILD / "tests" / "mpi_driver"
# Both kinds of MPI want to be told that there may be more processes than cores, and that we know who we are.
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                   OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_btl_vader_single_copy_mechanism="none")
BLUR = """stencil f(vector#2 uint8 A) { return cast<uint8>(sum(i = -2..2, j = -1..1 : cast<int>(A@[i, j])) / 15); }
parameter M, N;
vector#2 uint8 a[M, N];
return f(a:mirror);
"""


def mpirun(n, *words):
    return subprocess.Popen([START, "-n", str(n), *map(str, words)], env=ENVIRONMENT, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def test_corpus(folder, processes, every):
    for n in processes:
        ran = mpirun(n, DRIVER, folder, every)
        out, err = ran.communicate()
        print(out.strip())
        check(f"the corpus on {n} processes",
              ran.returncode == 0 and f"in {n} processes, 0 differ, 0 do not run" in out, err[-2000:])


def test_bad(folder):
    ran = mpirun(2, TOOL, "run", folder / "f.tess", folder / "none.npy", "-o", folder / "out.npy")
    out, err = ran.communicate()
    check("a missing file is said once", ran.returncode == 1 and err.count("none.npy") == 1, err)


def test_columns(folder):
    """Shares that are rectangles: files of all and of the first, strips, samplings, pixels of fields."""
    tool.write_npy(folder / "square.npy", (120, 100), "|u1", [i * i % 251 for i in range(12000)])
    (folder / "wide.tess").write_text("""struct P { float u; float v; }
stencil f(vector#2 uint8 A) { return A@[-20, 1] + 2.0 * A@[20, -2] + A@[0, 3]; }
stencil g(vector#2 float A) { return struct P(A@[1, 0], A - index(1)); }
parameter M, N;
vector#2 uint8 a[M, N];
b = f(a:mirror);
return b, g(b:clamp), b@[(0, 2), (1, 3)], cast<uint8>(b * 0.2), maximum(b);
""")
    names = ["b.npy", "g.npy", "c.tif", "d.png"]
    words = ["run", folder / "wide.tess", folder / "square.npy", "--target=interp"]
    alone = tool.run(*words, *(f"-o{folder / n}" for n in names))
    for n, memory in ((6, "--memory=1G"), (4, "--memory=24780K")):
        ran = mpirun(n, TOOL, *words, *(f"-o{folder / f'all-{name}'}" for name in names), "-v", memory)
        out, err = ran.communicate()
        fine = ran.returncode == 0 and alone[0] == 0
        same = [fine and (folder / f"all-{k}").read_bytes() == (folder / k).read_bytes() for k in names]
        check(f"rectangles of {n}", same == [True] * 4 and "the columns of each" in err and out == alone[1],
              f"{same} {err} {alone[2]}")


def test_rounds(folder):
    """Turns a few at a time: what a round leaves stays with those who have it, or waits in files where memory is short;
    rows around shares, also those of the other side, come from their owners."""
    tool.write_npy(folder / "warm.npy", (72, 700), "|u1", [i * i % 251 for i in range(72 * 700)])
    (folder / "heat.tess").write_text("""stencil step(vector#2 float A, vector#2 uint8 S) {
    return A + 0.2 * (A@[-1, 0] + A@[1, 0] + A@[0, -1] - 3 * A) + 0.01 * S;
}
parameter M, N;
vector#2 uint8 s[M, N];
b<0> = 1.0 * s;
for i = 1..8
    b<i> = step(b<i-1>:wrap, s);
endfor
return b<8>;
""")
    words = ["run", folder / "heat.tess", folder / "warm.npy", "--target=interp", "-o"]
    alone = tool.run(*words, folder / "one.npy")
    for memory, kept in (("1G", True), ("24640K", False)):
        ran = mpirun(3, TOOL, *words, folder / "four.npy", "-v", f"--memory={memory}")
        out, err = ran.communicate()
        same = ran.returncode == 0 and (folder / "one.npy").read_bytes() == (folder / "four.npy").read_bytes()
        check(f"rounds in {memory}", alone[0] == 0 and same and "rounds of turns" in err
              and ("stayed in memory" in err) == kept, err)
    left = list(folder.glob("four.npy?*"))
    check("no file of a round is left", not left, str(left))


def test_few_rows(folder):
    """More processes than rows: some have none."""
    tool.write_npy(folder / "few.npy", (2, 7), "|u1", list(range(14)))
    (folder / "mean.tess").write_text(
        "parameter M, N;\nvector#2 uint8 a[M, N];\nreturn a - mean(a), histogram(a, 16);\n")
    words = ["run", folder / "mean.tess", folder / "few.npy", "--target=interp", "-o"]
    alone = tool.run(*words, folder / "one.npy", "-o", folder / "one2.npy")
    ran = mpirun(4, TOOL, *words, folder / "four.npy", "-o", folder / "four2.npy")
    out, err = ran.communicate()
    pairs = [(folder / f"one{k}.npy", folder / f"four{k}.npy") for k in ("", "2")]
    same = ran.returncode == 0 and all(a.read_bytes() == b.read_bytes() for a, b in pairs)
    check("two rows on four processes", alone[0] == 0 and same, err)


def ranks_of(pid):
    """The processes that mpirun has started; those of MPICH are children of a child."""
    shown = subprocess.run(["ps", "-eo", "pid=,ppid=,comm="], stdout=subprocess.PIPE, text=True).stdout
    lines = [line.split(None, 2) for line in shown.splitlines()]
    below, ranks = {pid}, []
    for process, parent, name in sorted(([int(a), int(b), c] for a, b, c in lines)):
        if parent in below:
            below.add(process)
            ranks += [process] if name.startswith(TOOL.name) else []
    return ranks


def test_death(folder):
    """One process is killed: all end, and no part of a file is left."""
    rows = bytes(i % 251 for i in range(60)) * 1000
    tool.write_npy_bytes(folder / "long.npy", (200000, 60), "'|u1'", rows * 200)
    ran = mpirun(3, TOOL, "run", folder / "f.tess", folder / "long.npy", "-o", folder / "out.npy", "--target=interp")
    victims = []
    while ran.poll() is None and not victims:
        time.sleep(0.1)
        victims = ranks_of(ran.pid)[1:2] if list(folder.glob("out.npy.mpi*")) else []
    os.kill(victims[0], signal.SIGKILL)
    out, err = ran.communicate()
    check("a process that dies ends all, which is said", ran.returncode != 0 and "signal 9" in out + err, out + err)
    left = list(folder.glob("out.npy*"))
    version = subprocess.run([START, "--version"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
    if "HYDRA" in version: # MPICH's ends the others by SIGKILL, and what they have begun stays under its own name
        left = [path for path in left if not path.name.startswith("out.npy.mpi-")]
    check("nothing is left", not left, str(left))


def main():
    if not TOOL.exists() or not DRIVER.exists() or not shutil.which(START):
        print("skipped: there is no tessera-mpi, or no mpirun")
        return tool.SKIPPED
    everything = "--all" in sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "f.tess").write_text(BLUR)
        test_corpus(folder, (1, 2, 3, 4, 7) if everything else (3,), 1 if everything else 40)
        test_bad(folder)
        test_columns(folder)
        test_rounds(folder)
        test_few_rows(folder)
        test_death(folder)
    tool.finish()


if __name__ == "__main__":
    sys.exit(main())
