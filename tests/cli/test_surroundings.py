"""What surrounds the tool and is not as it should be: each fault is said by name, and being ended leaves nothing
behind."""
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import tool
from tool import check, run

BLUR = """stencil blurx(vector#2 float X) { return (X@[0,-1] + X + X@[0,1]) / 3.0; }
parameter M, N;
vector#2 float input[M, N];
return blurx(input:mirror);
"""
# Writes its process's number and a file of its own, and does not end by itself, as long as `hangs` is there. A child
# has its output.
WRAPPER = """#!/bin/sh
case "$*" in *program.c*) compiles=1;; *) compiles=0;; esac
if [ -e {folder}/hangs ] && [ $compiles = 1 ]; then
    : >"$TMPDIR/of-the-compiler"
    sleep 1000 &
    echo $$ $! >{folder}/numbers.new
    mv {folder}/numbers.new {folder}/numbers
    wait
fi
[ -e {folder}/leaves ] && sleep 1000 &
[ -e {folder}/leaves ] && echo $! >>{folder}/left
exec cc "$@"
"""


def is_running(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().split(")")[1].split()[0] not in "ZX"
    except OSError:
        return False


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return condition()


def arguments(folder, *more):
    return ["run", folder / "blur.tess", "random:1:5x6", "-o", folder / "out.npy", *more]


def one_sentence(name, result, words):
    code, out, err = result
    check(name, code == 1 and err.count("\n") == 1 and all(word in err for word in words), f"status {code}: {err}")


def test_places(folder):
    """TMPDIR and HOME that name nothing, or what may not be written."""
    (folder / "file").write_text("x")
    for n, place in enumerate(("no-such-place", "file")):
        env = {"TMPDIR": str(folder / place), "TESSERA_CACHE": str(folder / f"cache-{n}")}
        one_sentence(f"TMPDIR is {place}", run(*arguments(folder), env=env), ["TMPDIR", place])
    env = {"TMPDIR": "/proc", "TESSERA_CACHE": str(folder / "cache-2")} # root may write everywhere else
    one_sentence("TMPDIR cannot be written", run(*arguments(folder), env=env), ["TMPDIR", "/proc"])
    env = {"HOME": str(folder / "no-home"), "TESSERA_CACHE": "", "XDG_CACHE_HOME": ""}
    code, _, err = run(*arguments(folder), env=env)
    check("HOME names nothing", code == 0 and err.count("\n") == 1 and "HOME names no directory" in err, err)
    check("a home is not made", not (folder / "no-home").exists())
    code, _, err = run(*arguments(folder, "--diagnostics=json"), env=env)
    check("notes in JSON", code == 0 and err.startswith('{"severity":"warning"') and "HOME" in err, err)
    (folder / "shared").mkdir()
    (folder / "shared").chmod(0o777)
    for place in ("shared", "shared/inner"):
        code, _, err = run(*arguments(folder), env={"TESSERA_CACHE": str(folder / place)})
        check(
            "a cache that others can write to",
            code == 0 and err.count("\n") == 1 and "others can write to" in err and "/shared'" in err, err,
        )
        check("nothing is put there", not any((folder / "shared").iterdir()))


def test_ignored_children(folder):
    """The tool sees to its own signals, whatever who started it ignores."""
    done = subprocess.run([tool.TOOL, *map(str, arguments(folder, "--target=c"))], capture_output=True, text=True,
                          env=dict(os.environ, TESSERA_CACHE=str(folder / "cache-ignored")),
                          preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    check("started with SIGCHLD ignored", done.returncode == 0 and not done.stderr, done.stderr)


def test_left_behind(folder):
    """A compiler that leaves a process with its output open is waited for itself, and nobody else."""
    (folder / "leaves").touch()
    code, _, err = run(
        *arguments(folder, "--target=c"),
        env={"TESSERA_CC": str(folder / "wrapper"), "TESSERA_CACHE": str(folder / "cache-left")},
    )
    left = (folder / "left").read_text().split()
    check("not waited for", code == 0 and not err and left and all(map(is_running, left)), err)
    for pid in left:
        os.kill(int(pid), signal.SIGKILL)
    (folder / "leaves").unlink()


def interrupt(folder, name, words, sig, cache):
    """Sends the signal while the compiler runs."""
    place, outputs = folder / "tmp", folder / "outputs"
    place.mkdir(exist_ok=True)
    outputs.mkdir(exist_ok=True)
    (folder / "numbers").unlink(missing_ok=True)
    env = dict(os.environ, TESSERA_CC=str(folder / "wrapper"), TMPDIR=str(place), TESSERA_CACHE=str(cache))
    child = subprocess.Popen([tool.TOOL, *map(str, words)], stderr=subprocess.PIPE, text=True, env=env,
                             preexec_fn=lambda: signal.signal(sig, signal.SIG_DFL))
    found = wait_for((folder / "numbers").exists)
    during = [str(p) for p in place.rglob("*")]
    child.send_signal(sig)
    child.send_signal(sig) # as `timeout` does
    _, err = child.communicate(timeout=100)
    check(f"{name}: it was compiling", found and any("of-the-compiler" in p for p in during), str(during))
    check(f"{name}: ended by the signal, silently", child.returncode == -sig and not err, f"{child.returncode}: {err}")
    check(
        f"{name}: the compiler has ended too",
        found and wait_for(lambda: not any(map(is_running, (folder / "numbers").read_text().split())), 10),
    )
    left = [str(p) for where in (place, outputs) for p in where.rglob("*")]
    check(f"{name}: nothing is left", not left, str(left))


def test_interrupted_compiler(folder):
    cache = folder / "cache-interrupted"
    run_words = ["run", folder / "blur.tess", "random:1:5x6", "-o", folder / "outputs/out.npy"]
    build_words = ["build", folder / "blur.tess", "-o", folder / "outputs/blur.so"]
    env = {"TESSERA_CC": str(folder / "wrapper"), "TESSERA_CACHE": str(cache)}
    (folder / "hangs").touch()
    interrupt(folder, "while it is tried", run_words, signal.SIGINT, cache)
    interrupt(folder, "while it is tried for a build", build_words, signal.SIGTERM, cache)
    (folder / "hangs").unlink()
    code, _, err = run(*arguments(folder), env=env)
    check("afterwards it works", code == 0 and not err, err)
    (folder / "blur.tess").write_text(BLUR.replace("3.0", "4.0"))
    (folder / "hangs").touch()
    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        interrupt(folder, f"run, signal {sig}", run_words, sig, cache)
    interrupt(folder, "build", build_words, signal.SIGTERM, cache)
    interrupt(folder, "bench", ["bench", folder / "blur.tess", "random:1:9x9", "--target=c"], signal.SIGINT, cache)
    (folder / "hangs").unlink()


def test_interrupted_output(folder):
    """While a large result is written, one signal waits for it; no half of it stays."""
    outputs = folder / "large"
    outputs.mkdir()
    (folder / "zero.tess").write_text(
        "stencil f(vector#2 uint8 X) { return X; }\nparameter M, N;\nvector#2 uint8 a[M, N];\nreturn f(a);\n"
    )
    child = subprocess.Popen(
        [tool.TOOL, "run", str(folder / "zero.tess"), "zero:8000x8000", "-o", str(outputs / "a.npy")],
        stderr=subprocess.PIPE, text=True, preexec_fn=lambda: signal.signal(signal.SIGTERM, signal.SIG_DFL),
    )
    wait_for(lambda: any(outputs.iterdir()))
    child.send_signal(signal.SIGTERM)
    _, err = child.communicate(timeout=100)
    names = [p.name for p in outputs.iterdir()]
    check(
        "nothing half-written", names in ([], ["a.npy"]) and child.returncode in (0, -signal.SIGTERM) and not err,
        f"{names} {child.returncode} {err}",
    )
    check("what is there is whole", not names or (outputs / "a.npy").stat().st_size == 8000 * 8000 + 128)


def test_interrupted_computing(folder):
    """Where there is nothing to lose, a signal ends the tool at once."""
    child = subprocess.Popen(
        [
            tool.TOOL, "run", str(folder / "blur.tess"), "random:1:9000x9000", "-o", str(folder / "slow.npy"),
            "--target=interp",
        ],
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    time.sleep(0.5)
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=100)
    check("computing", child.returncode == -signal.SIGINT and not err and not (folder / "slow.npy").exists(), err)


with tool.workspace() as workspace:
    workspace = pathlib.Path(workspace)
    (workspace / "blur.tess").write_text(BLUR)
    (workspace / "wrapper").write_text(WRAPPER.format(folder=workspace))
    (workspace / "wrapper").chmod(0o755)
    for test in (
        test_places, test_ignored_children, test_left_behind, test_interrupted_compiler, test_interrupted_output,
        test_interrupted_computing,
    ):
        test(workspace)
tool.finish()
