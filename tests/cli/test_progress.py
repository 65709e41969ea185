"""The line of progress: on a terminal, after a second, for each thing that may take long; gone in the end, and nowhere
else. --time: a figure for every part, reading and writing too."""
import os
import pathlib
import re
import select
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import tool

PROGRAM = """stencil f(vector#2 uint8 X) { return sat<uint8>((X@[0, -1] + 2 * X + X@[1, 0]) / 4); }
parameter M, N;
vector#2 uint8 a[M, N];
return f(a:mirror);
"""
HEAT = """stencil f(vector#2 float X) { return (X@[0, -1] + 2 * X + X@[1, 0]) / 4.0; }
parameter M, N;
vector#2 float a[M, N];
int steps = 8 in 0..2000000000;
t<0> = a;
for i = 1..steps
    t<i> = f(t<i-1>:mirror);
endfor
return t<steps>;
"""
SECONDS = 60 # at most; what is waited for comes after one
ERASE = "\r\x1b[K"


class Terminal:
    """A run whose standard error is a terminal. Standard output is a pipe that nobody reads."""

    def __init__(self, env, *arguments):
        self.fd, side = os.openpty()
        self.run = subprocess.Popen(
            [tool.TOOL, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=side,
            env={**os.environ, **env})
        os.close(side)
        self.said = ""

    def wait_for(self, text):
        """Whether the run says it before it ends."""
        end = time.monotonic() + SECONDS
        while text not in self.said and time.monotonic() < end:
            if not select.select([self.fd], [], [], 1)[0]:
                continue
            try:
                more = os.read(self.fd, 4096)
            except OSError: # the other side is closed
                break
            self.said += more.decode()
        return text in self.said

    def end(self, interrupt=False):
        if interrupt:
            self.run.send_signal(signal.SIGINT)
        self.run.stdout.close()
        self.wait_for("\0")
        os.close(self.fd)
        return self.run.wait()


def slow_compiler(folder):
    script = folder / "slow-cc"
    script.write_text("#!/bin/sh\ncase \"$*\" in *-DTESSERA_ENTRY*) sleep 1.5;; esac\nexec cc \"$@\"\n")
    script.chmod(0o755)
    return script


def test_compiling(folder, env):
    program = folder / "f.tess"
    env = {**env, "TESSERA_CC": str(slow_compiler(folder))}
    result = folder / "f.pgm"
    first = ["run", program, "random:1:9x9", "--first=wait", "-o", result]
    terminal = Terminal(env, *first)
    tool.check("compiling is said", terminal.wait_for("compiling ... 1 s"), repr(terminal.said))
    code = terminal.end()
    tool.check("and is gone in the end", code == 0 and terminal.said.endswith(ERASE), repr(terminal.said))
    code, _, said = tool.run(*first, "--fp=strict", env=env)
    tool.check("nothing is said elsewhere", code == 0 and said == "", repr(said))
    terminal = Terminal(env, *first, "--border=wrap", "-q")
    tool.check("nothing is said when quiet", terminal.end() == 0 and terminal.said == "", repr(terminal.said))


def test_reading_and_writing(folder, env):
    fifo = folder / "late.pgm"
    os.mkfifo(fifo)
    terminal = Terminal(env, "run", folder / "f.tess", fifo, "-o", "-")
    with open(fifo, "wb") as late:
        tool.check("reading is said", terminal.wait_for(f"reading {fifo} ... 1 s"), repr(terminal.said))
        late.write(b"P5 1000 1000 255\n" + bytes(1000000))
    tool.check("writing is said", terminal.wait_for("writing"), repr(terminal.said))
    terminal.end()


def test_strips(folder, env):
    """How far a run in strips is, and how long it will take."""
    large = folder / "large.pgm"
    large.write_bytes(b"P5 1000 40000 255\n" + bytes(40000000))
    out = folder / "strips.pgm"
    terminal = Terminal(env, "run", folder / "f.tess", large, "-o", out, "--target=interp", "--memory=26M")
    tool.check("rows are said", terminal.wait_for(" s to go"), repr(terminal.said))
    said = re.search(r"pass 1 of 1, rows (\d+) of 40000, (\d+) s to go \.\.\. \d+ s", terminal.said)
    tool.check("with those that are done", said and 0 < int(said[1]) < 40000, repr(terminal.said))
    code = terminal.end(interrupt=True)
    tool.check("and is gone when strips are interrupted", code != 0 and " s" not in terminal.said.split(ERASE)[-1],
               repr(terminal.said))
    tool.check("nothing is left", not list(folder.glob("strips.pgm*")), str(list(folder.iterdir())))


def test_running_and_tuning(folder, env):
    for what, arguments in (
        ("running", ["run", folder / "heat.tess", "random:1:60x60", "steps=2000000000", "-o", folder / "h.npy"]),
        ("tuning", ["tune", folder / "f.tess", "random:1:60x60", "--seconds=30", "-o", folder / "f.plan"]),
    ):
        terminal = Terminal(env, *arguments)
        tool.check(f"{what} is said", terminal.wait_for(what), repr(terminal.said))
        code = terminal.end(interrupt=True)
        rest = terminal.said.split(ERASE)[-1]
        tool.check(f"and is gone when {what} is interrupted", code != 0 and " s" not in rest, repr(terminal.said))


def test_time(folder, env):
    begun = time.monotonic()
    code, _, said = tool.run(
        "run", folder / "f.tess", "random:1:400x500", "--time", "--first=wait", "-o", folder / "t.pgm", env=env)
    wall = 1e3 * (time.monotonic() - begun)
    parts = dict(re.findall(r"(\w+) ([\d.]+) ms", said))
    names = {"front", "plan", "compile", "read", "run", "write"}
    tool.check("--time names every part", code == 0 and set(parts) == names, said)
    tool.check("which are parts of the whole", sum(map(float, parts.values())) <= wall, f"{said} {wall}")


with tool.workspace() as place:
    work = pathlib.Path(place)
    (work / "f.tess").write_text(PROGRAM)
    (work / "heat.tess").write_text(HEAT)
    surroundings = {"TESSERA_CACHE": str(work / "cache")}
    (work / "cache").mkdir(mode=0o700)
    test_compiling(work, surroundings)
    test_reading_and_writing(work, surroundings)
    test_strips(work, surroundings)
    test_running_and_tuning(work, surroundings)
    test_time(work, surroundings)
tool.finish()
