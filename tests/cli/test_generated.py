"""Generated C is for reading and for keeping: it compiles without warnings under gcc and clang, with and without
OpenMP, says of itself that it is right (its self-test), under the address and undefined behaviour sanitizers, is the
same to the byte each time, and as .o, .so and .a too."""
import pathlib
import platform
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import tool

PROGRAMS = ["blur.tess", "sobel.tess", "unsharp.tess", "life.tess", "equalize.tess", "volume.tess", "camera.tess"]
WARNINGS = [
    "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", "-ffp-contract=off",
    "-DTESSERA_WITHOUT_FMA",
]
# Small functions stay functions, which takes the compiler half of the time.
PLAIN = ["-O0", "-Dalways_inline=__unused__"]


def compile_c(compiler, source, output, *flags):
    libraries = [] if "-c" in flags else ["-lm"]
    done = subprocess.run(
        [compiler, *WARNINGS, *flags, str(source), "-o", str(output), *libraries], capture_output=True, text=True
    )
    return done.returncode, done.stderr


with tool.workspace() as place:
    folder = pathlib.Path(place)
    compilers = [c for c in ("gcc", "clang") if shutil.which(c)]
    for name in PROGRAMS:
        stem = name.split(".")[0]
        source = folder / f"{stem}.c"
        code, _, errors = tool.run("build", tool.ROOT / "examples" / name, "-o", source)
        tool.check(f"build {name}", code == 0, errors)
        if code:
            continue
        first = source.read_bytes()
        tool.run("build", tool.ROOT / "examples" / name, "-o", source)
        tool.check(f"{name} is the same each time", source.read_bytes() == first)
        for compiler in compilers:
            code, errors = compile_c(compiler, source, folder / f"{stem}.o", "-c", "-O1")
            tool.check(f"{name} with {compiler}", code == 0, errors[:2000])
        # Optimised, the checks in every lane of long straight code keep the compiler busy for minutes.
        code, errors = compile_c(compilers[0], source, folder / stem, "-DTESSERA_SELFTEST", *PLAIN, "-g1",
                                 "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
        tool.check(f"{name} self-test compiles", code == 0, errors[:2000])
        if code == 0:
            done = subprocess.run([str(folder / stem)], capture_output=True, text=True, timeout=250)
            tool.check(
                f"{name} self-test", done.returncode == 0 and "ok" in done.stdout, done.stdout + done.stderr[:2000]
            )
    # The head says how to compile the file; without multiply-adds of the processor it wants to be asked.
    source = folder / "unsharp.c"
    line = next((at for at in source.read_text().splitlines()[:4] if " cc " in at), "").lstrip("* ").split()
    done = (
        subprocess.run(line, capture_output=True, text=True, cwd=folder)
        if shutil.which("cc") and "-c" in line
        else None
    )
    tool.check("the command line in the head", done and done.returncode == 0, f"{line} {done and done.stderr[:2000]}")
    if (
        done
        and shutil.which("nm")
        and platform.machine() == "x86_64"
        and "fma" in pathlib.Path("/proc/cpuinfo").read_text()
    ):
        calls = subprocess.run(["nm", "-u", "unsharp.o"], capture_output=True, text=True, cwd=folder).stdout
        tool.check("multiply-adds are instructions", "fma" not in calls and calls, calls)
    if platform.machine() == "x86_64":
        for compiler in compilers:
            done = subprocess.run(
                [compiler, "-std=c11", "-ffp-contract=off", "-c", str(source), "-o", str(folder / "slow.o")],
                capture_output=True, text=True,
            )
            tool.check(
                f"{compiler} without multiply-adds",
                done.returncode != 0 and done.stderr.count("error:") == 1 and "-march=native" in done.stderr,
                done.stderr[:2000],
            )
    # Programs named like what generated files include or declare, with the launcher's entry.
    for stem in ("params", "status", "signbit", "fprintf", "INT8_C", "EXIT_FAILURE", "main", "int"):
        source = folder / f"{stem}.c"
        code, _, errors = tool.run("build", tool.ROOT / "examples" / "blur.tess", "-o", source)
        tool.check(f"build {stem}.c", code == 0, errors)
        code, errors = compile_c(
            compilers[0], source, folder / "named.o", "-c", *PLAIN, "-DTESSERA_ENTRY", "-DTESSERA_SELFTEST", "-fopenmp"
        )
        tool.check(f"a program named {stem}", code == 0, errors[:2000])
    # Images that are computed with each other have one size, as the library says with a sentence.
    (folder / "sums.tess").write_text(
        "vector#2 float a, b;\nc = a + b;\nreturn c[1.., ..] * b[..1, ..];\n"
    )
    (folder / "ask.c").write_text("""#include "sums.h"
        int main(void)
        {
            const float in[12] = { 0 };
            float out[12] = { 0 };
            const int same = sums(in, 4, in, 4, 3, 4, 3, 4, out, 4), wide = sums(in, 4, in, 3, 3, 4, 3, 3, out, 4);
            return !(same == 0 && wide == 5 && sums(in, 4, in, 4, 2, 4, 2, 4, out, 4) == 5);
        }""")
    source = folder / "sums.c"
    code, _, errors = tool.run("build", folder / "sums.tess", "-o", source)
    for flag in (None, "-DTESSERA_SELFTEST"):
        sources = [source] if flag else [folder / "ask.c", source]
        code, errors = compile_c(compilers[0], sources[0], folder / "ask", *(flag and [flag] or map(str, sources[1:])))
        ran = code == 0 and subprocess.run([str(folder / "ask")], capture_output=True, text=True)
        tool.check(f"sizes that disagree {flag}", ran and ran.returncode == 0, errors[:2000] or ran)
    for suffix in ("o", "so", "a"):
        target = folder / f"blur.{suffix}"
        code, _, errors = tool.run("build", tool.ROOT / "examples" / "blur.tess", "-o", target)
        tool.check(f"build .{suffix}", code == 0 and target.exists() and (folder / "blur.h").exists(), errors)
    (folder / "main.c").write_text('#include "blur.h"\nint main(void) { return 0; }\n')
    code, errors = compile_c(compilers[0], folder / "main.c", folder / "main", f"-I{folder}")
    tool.check("the header is C", code == 0, errors)
tool.finish()
