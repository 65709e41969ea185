"""--first=now: the strip machine runs while a process of its own compiles; what that leaves in the cache runs next, and
one that is ended leaves nothing behind."""
import os
import pathlib
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import tool

PROGRAM = """stencil f(vector#2 float X) { return (X@[0, -1] + 2 * X + X@[1, 0]) / 3.0; }
parameter M, N;
vector#2 float a[M, N];
return f(a:mirror);
"""
SECONDS = 120 # at most; what is waited for takes one


def waited(done):
    end = time.monotonic() + SECONDS
    while not done() and time.monotonic() < end:
        time.sleep(0.05)
    return done()


def run(folder, env, result, *options):
    code, out, err = tool.run("run", folder / "f.tess", "random:1:99x101", "-o", folder / result, *options, env=env)
    tool.check(f"run {' '.join(options)}", code == 0, err)
    return err


def environment(folder, name):
    places = {"TESSERA_CACHE": folder / name / "cache", "TMPDIR": folder / name / "tmp"}
    for place in places.values():
        place.mkdir(parents=True)
    return {key: str(place) for key, place in places.items()}


def modules(env):
    return list(pathlib.Path(env["TESSERA_CACHE"]).glob("*.so"))


def test_code_comes_later(folder):
    env = environment(folder, "later")
    said = run(folder, env, "now.npy", "--first=now", "-v")
    tool.check("the strip machine ran", "the strip machine ran" in said, said)
    tool.check("the code comes, from a process of its own", waited(lambda: modules(env)))
    said = run(folder, env, "then.npy", "--first=now", "-v")
    tool.check("later runs find it", "was in the cache" in said, said)
    tool.check("nothing is left of it", waited(lambda: not list(pathlib.Path(env["TMPDIR"]).iterdir())))
    run(folder, env, "strips.npy", "--target=vm")
    same = len({(folder / name).read_bytes() for name in ("now.npy", "then.npy", "strips.npy")}) == 1
    tool.check("the pixels are the same", same)


HEAT = """stencil f(vector#2 float X) { return (X@[0, -1] + 2 * X + X@[1, 0]) / 4.0; }
parameter M, N;
vector#2 float a[M, N];
int steps = 8 in 0..1000000;
t<0> = a;
for i = 1..steps
    t<i> = f(t<i-1>:mirror);
endfor
return t<steps>;
"""


def test_rule(folder):
    """Where nothing is said, runs do not wait for the compiler that would take longer than they do."""
    env = environment(folder, "rule")
    env["TESSERA_FIRST"] = ""
    said = run(folder, env, "rule.npy", "-v")
    tool.check("the strip machine runs by rule", "the strip machine ran" in said, said)
    for option in ("--first=wait", "--verify", "--target=c"):
        said = run(folder, env, "waits.npy", "-v", option)
        tool.check(f"not with {option}", "the strip machine ran" not in said, said)
    (folder / "heat.tess").write_text(HEAT)
    for steps, waits in (10, False), (300000, True):
        image = "random:1:99x101" if steps == 10 else "random:1:9x11" # which takes both no time
        code, _, said = tool.run(
            "run", folder / "heat.tess", image, f"steps={steps}", "-v", "-o", folder / "heat.npy", env=env)
        tool.check(f"{steps} turns", code == 0 and ("the strip machine ran" not in said) == waits, said)
    for word in "now", "sometimes":
        env["TESSERA_FIRST"] = word
        code, _, said = tool.run("run", folder / "f.tess", "random:1:9x9", "-o", folder / "rule.npy", env=env)
        tool.check(f"TESSERA_FIRST={word}", (code == 0) == (word == "now"), said)
    idle = lambda: not list(pathlib.Path(env["TMPDIR"]).iterdir())
    tool.check("nothing of it is left in the end", waited(idle))


def test_nobody_waits(folder):
    """The run itself starts no compiler, not even to try it, so it ends with its picture."""
    env = environment(folder, "waits")
    log, script = folder / "parents", folder / "log-cc"
    script.write_text(f"#!/bin/sh\necho $PPID >> {log}\nexec cc \"$@\"\n")
    script.chmod(0o755)
    env["TESSERA_CC"] = str(script)
    arguments = "run", folder / "f.tess", "random:1:99x101", "-o", folder / "alone.npy", "--first=now"
    process = subprocess.Popen([tool.TOOL, *map(str, arguments)], env={**os.environ, **env})
    tool.check("the first picture comes", process.wait() == 0)
    tool.check("and the code behind it", waited(lambda: modules(env)))
    parents = log.read_text().split() if log.exists() else []
    tool.check("by another process", parents and str(process.pid) not in parents, f"{process.pid} of {parents}")


def test_interrupted(folder):
    """A compiler that never ends: the process that waits for it is ended."""
    env = environment(folder, "ended")
    pid = folder / "pid"
    slow = folder / "slow-cc"
    slow.write_text(
        "#!/bin/sh\ncase \"$*\" in *-DTESSERA_ENTRY*) echo $$ $PPID > %s.new; mv %s.new %s; exec sleep 1000;; esac\n"
        "exec cc \"$@\"\n" % (pid, pid, pid)
    )
    slow.chmod(0o755)
    env["TESSERA_CC"] = str(slow)
    run(folder, env, "ended.npy", "--first=now")
    tool.check("the compiler is at work when the run has ended", waited(pid.exists))
    compiler, waiting = map(int, pid.read_text().split())
    before = set(pathlib.Path(env["TMPDIR"]).iterdir())
    run(folder, env, "again.npy", "--first=now") # which must not start another
    time.sleep(0.2)
    tool.check("one compiler for one program", set(pathlib.Path(env["TMPDIR"]).iterdir()) <= before)
    os.kill(waiting, signal.SIGTERM)
    tool.check("nothing is left behind", waited(lambda: not list(pathlib.Path(env["TMPDIR"]).iterdir())))
    tool.check("nor the compiler", waited(lambda: not pathlib.Path(f"/proc/{compiler}").exists()))
    tool.check("nor half of a module", not modules(env))


with tool.workspace() as place:
    work = pathlib.Path(place)
    (work / "f.tess").write_text(PROGRAM)
    test_code_comes_later(work)
    test_rule(work)
    test_nobody_waits(work)
    test_interrupted(work)
tool.finish()
