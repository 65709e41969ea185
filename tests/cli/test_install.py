"""The installed library from outside: `cmake --install` into an empty prefix, then the examples of docs/api.md compiled
with nothing but what pkg-config says, linked against the shared and the static library, and run; and the installed tool
finds its standard library. Manual pages and completions of shells are installed, and know what the help knows."""
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import tool

if not shutil.which("pkg-config"):
    print("skipped: no pkg-config here")
    sys.exit(tool.SKIPPED)


def command(*words, env=None):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, env=dict(os.environ, **(env or {})))
    return done.returncode, done.stdout, done.stderr


def link_flags():
    """A sanitized library needs the sanitizers in the program too."""
    cache = (tool.BUILD / "CMakeCache.txt").read_text()
    for line in cache.splitlines():
        if line.startswith("TESSERA_SANITIZE:") and line.split("=", 1)[1]:
            return [f"-fsanitize={line.split('=', 1)[1]}"]
    return []


COMPLETE = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_tessera
echo "${COMPREPLY[@]}"
"""


def check_manuals(prefix):
    pages = {page.stem: page.read_text() for page in prefix.glob("share/man/man1/*.1")}
    commands = re.findall(r"^  tessera (\w+)", tool.run("--help")[1], re.M)
    wanted = {"tessera", "tessera-mpi", *(f"tessera-{name}" for name in commands)}
    tool.check("a page a command", set(pages) == wanted, set(pages))
    for name in commands:
        text = pages.get(f"tessera-{name}", "").replace("\\-", "-")
        options = re.findall(r"^  (?:-\w,|   ) --([\w-]+)", tool.run(name, "--help")[1], re.M)
        missing = [option for option in options or ["help"] if f"\\fB--{option}\\fR" not in text]
        tool.check(f"options of tessera-{name}", not missing, missing)
    for variable in ("TESSERA_CC", "NO_COLOR"):
        tool.check(f"{variable} in the manual", variable in pages.get("tessera", ""))
    if shutil.which("groff"):
        for page in prefix.glob("share/man/man1/*.1"):
            _, _, said = command("groff", "-man", "-ww", "-z", page)
            tool.check(f"{page.name} is in order", not said, said)


def check_completions(prefix):
    bash, zsh = prefix / "share/bash-completion/completions/tessera", prefix / "share/zsh/site-functions/_tessera"
    for words, expected in (
        (["ap"], "apply"), (["run", "--tim"], "--time"), (["run", "--target", "=", "ope"], "opencl"),
        (["run", "--fp", "="], "default strict fast"), (["apply", "median_f"], "median_filter"), (["run", "pho"], ""),
        (["run", "--plan", "=", "lecture-b"], "lecture-basic"), (["cache", "--c"], "--clear"),
        (["check", "--time"], ""),
    ):
        _, out, said = command("bash", "-c", COMPLETE, "bash", bash, "tessera", *words)
        tool.check(f"completion of {words}", out.strip() == expected and not said, out + said)
    tool.check("completion for zsh", zsh.exists() and "'--target=[" in zsh.read_text())
    if shutil.which("zsh"):
        code, _, said = command("zsh", "-n", zsh)
        tool.check("zsh takes it", code == 0, said)


with tool.workspace() as place:
    prefix = pathlib.Path(place) / "prefix"
    code, _, errors = command("cmake", "--install", tool.BUILD, "--prefix", prefix)
    tool.check("install", code == 0, errors)
    check_manuals(prefix)
    check_completions(prefix)
    pc = next(iter(prefix.rglob("tessera.pc")), None)
    tool.check("a pkg-config file is installed", pc is not None)
    env = {"PKG_CONFIG_PATH": str(pc.parent) if pc else "", "LD_LIBRARY_PATH": str(pc.parent.parent) if pc else ""}
    _, flags, errors = command("pkg-config", "--cflags", "--libs", "tessera", env=env)
    flags = shlex.split(flags)
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    for name, expected in (
        ("edges", "beside the edge 0.0, on it 40.0\n"), ("smooth", "smoothed 28.12, sharpened 66\n"),
    ):
        example = tool.ROOT / "examples" / "api" / f"{name}.c"
        program = pathlib.Path(place) / name
        code, _, errors = command(
            compiler, "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", example, "-o", program, *flags,
            *link_flags(), env=env,
        )
        tool.check(f"the example {name}.c compiles", code == 0, errors)
        code, out, errors = command(program, env=env)
        tool.check(f"the example {name}.c runs", code == 0 and out == expected, out + errors)
        # The static library alone, with what it needs.
        _, static, errors = command("pkg-config", "--static", "--cflags", "--libs", "tessera", env=env)
        static = ["-l:libtessera.a" if flag == "-ltessera" else flag for flag in shlex.split(static)]
        code, _, errors = command(compiler, "-std=c11", example, "-o", program, *static, *link_flags(), env=env)
        tool.check(f"the example {name}.c links the static library", code == 0, errors)
        code, out, errors = command(program)
        tool.check(f"the example {name}.c runs with it", code == 0 and out == expected, out + errors)
    code, out, errors = command(
        prefix / "bin" / "tessera", "run", tool.ROOT / "examples" / "edges.tess", "random:1:20x30", "-o",
        pathlib.Path(place) / "e.npy",
    )
    tool.check("the installed tool runs", code == 0, errors)
tool.finish()
