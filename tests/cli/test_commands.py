"""Commands around the compiler: what the help says of the surroundings, the cache, batches, filters without a program,
formatting, and watching files."""
import os
import pathlib
import pty
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import tool
from tool import check, run

# Read by others in our place: OpenMP.
INDIRECT = {"OMP_NUM_THREADS"}


def one_sentence(name, result, words=(), status=1):
    code, out, err = result
    check(name, code == status and err.count("\n") == 1 and err.startswith("tessera: ") and not out
          and all(str(word) in err for word in words), f"status {code}\n{out}{err}")


def test_environment():
    """The help names the variables that the code reads, and no others."""
    read = set()
    for path in [*tool.ROOT.glob("src/*/*.c"), *tool.ROOT.glob("cli/*.c")]:
        read |= set(re.findall(r'\b(?:tessi_env|getenv)\("(\w+)"\)', path.read_text()))
    help_text = run("--help")[1]
    told = set(re.findall(r"^  ([A-Z_]{4,}) ", help_text, re.M))
    check("variables of the help", told - INDIRECT == read, f"{told} {read}")
    check("all of them are told", INDIRECT <= told, help_text)


BLUR = """stencil blur(vector#2 float X) { return (X@[0, -1] + X + X@[0, 1]) / 3.0; }
parameter M, N;
vector#2 float photo[M, N];
return blur(photo:mirror);
"""
# A compiler that works on programs when it is let go.
SLOW_COMPILER = """#!/bin/sh
case "$*" in *program.c*) while [ ! -e {folder}/go ]; do sleep 0.05; done;; esac
exec cc "$@"
"""


def on_terminal(arguments, env, until=None, then=None):
    """What a command prints on a terminal; `then` is called when it has printed `until`."""
    master, slave = pty.openpty()
    child = subprocess.Popen([tool.TOOL, *map(str, arguments)], stderr=slave, stdout=slave, cwd=tool.ROOT,
                             env=dict(os.environ, **env))
    os.close(slave)
    shown = b""
    try:
        while piece := os.read(master, 4096):
            shown += piece
            if until and until in shown:
                then()
                until = None
    except OSError: # the terminal's other end was closed
        pass
    os.close(master)
    return child.wait(), shown.decode()


def test_progress(folder):
    """A terminal is told what takes long, and the line is gone in the end."""
    compiler = folder / "slow-cc"
    compiler.write_text(SLOW_COMPILER.format(folder=folder))
    compiler.chmod(0o755)
    env = {"TESSERA_CC": str(compiler), "TESSERA_CACHE": str(folder / "cache-of-slow")}
    arguments = ["run", folder / "blur.tess", "random:1:5x6", "-o", folder / "slow.npy", "--target=c", "--time"]
    code, shown = on_terminal(arguments, env, b"compiling ... ", lambda: (folder / "go").touch())
    check("compiling is shown", code == 0 and re.search(r"\rcompiling|\x1b\[Kcompiling \.\.\. 1 s", shown), shown)
    check("the line goes", re.search(r"\r\x1b\[Kfront ", shown), shown)
    code, out, err = run(*arguments)
    parts = re.findall(r"(\w+) [0-9.]+ ms", err)
    check("all parts of the time", parts == ["front", "plan", "compile", "read", "run", "write"], err)
    check("no line elsewhere", err.count("\n") == 1 and "\r" not in err and not out, err)


def test_cache(folder):
    env = {"TESSERA_CACHE": str(folder / "cache-of-slow")} # where a program lies, and what the compiler takes
    (folder / "cache-of-slow" / ("0" * 64 + ".rates")).write_bytes(b"measured")
    code, out, err = run("cache", env=env)
    found = re.fullmatch(r"(.*): (\d+) entries, ([0-9.]+) MiB of at most 512\n", out)
    check("cache", code == 0 and not err and found and found[1] == str(folder / "cache-of-slow"), out + err)
    code, out, _ = run("cache", "--size", env=env)
    sizes = [path.stat().st_size for path in (folder / "cache-of-slow").iterdir()]
    check("cache --size", code == 0 and int(out) == sum(sizes) > 8 and int(found[2]) == len(sizes), out)
    code, out, err = run("cache", "--clear", env=env)
    check("cache --clear", code == 0 and f"removed {len(sizes) - 1} entries" in out and not err, out + err)
    check("rates stay", [path.suffix for path in (folder / "cache-of-slow").iterdir()] == [".rates"])
    one_sentence("cache of two things", run("cache", "--clear", "--size", env=env), ["--clear"], 2)
    one_sentence("cache of a word", run("cache", "x", env=env), ["'x'"], 2)
    (folder / "open").mkdir()
    (folder / "open").chmod(0o777)
    one_sentence("cache of others", run("cache", env={"TESSERA_CACHE": str(folder / "open")}), ["others can write"])


def main():
    test_environment()
    with tool.workspace() as place:
        folder = pathlib.Path(place)
        (folder / "blur.tess").write_text(BLUR)
        test_progress(folder)
        test_cache(folder)
    tool.finish()


main()
