"""Commands around the compiler: what the help says of the surroundings, the cache, batches, filters without a program,
formatting, and watching files."""
import os
import pathlib
import pty
import re
import signal
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


def test_filters(folder):
    """The list has every operator that the library tells of, with a line from its comment."""
    text = (tool.ROOT / "lib" / "filters.tess").read_text()
    told = re.findall(r"^// .*\n(?:stencil|vector) (\w+)\(", text, re.M)
    code, out, err = run("filters")
    listed = re.findall(r"^  (\w+)\(.*\)", out, re.M)
    check("filters", code == 0 and not err and listed == told and len(told) > 30, f"{set(listed) ^ set(told)}\n{err}")
    line = "  box(X, radius)                       Mean of the square of side 2 * radius + 1.\n"
    check("a line each", line in out, out)
    check("a sentence has an end", "(Rec. 709 weights), real.\n" in out and "mixture.\n" in out, out)
    check("width", max(map(len, out.splitlines())) <= 115, out)
    check("parts of operators are none", "gaussian_rows" not in out and "odd_columns" not in out, out)
    code, out, err = run("filters", "gaussian")
    check("one filter", code == 0 and "const float sigma" in out and "cut off at 3 sigma" in out
          and "example: tessera apply gaussian sigma=2 in.png -o out.png" in out, out + err)
    one_sentence("no filter", run("filters", "gausian"), ["'gausian'", "did you mean 'gaussian'"])
    one_sentence("two filters", run("filters", "box", "open"), ["'open'"], 2)
    one_sentence("a filter of others", run("apply", "blur", "a.png", "-o", "b.png"), ["did you mean 'gaussian'"])
    one_sentence("a filter as a command", run("median", "a.png"), ["tessera apply median_filter"], 2)
    ours = re.findall(r'^OTHER_NAME\("(\w+)", "(\w+)"\)$', (tool.ROOT / "cli/other_names.def").read_text(), re.M)
    others, meant = {o for o, _ in ours}, {f for _, f in ours}
    check("names of others", len(ours) > 40 and not others & set(told) and meant <= set(told), meant - set(told))


CHAIN = """use "filters";
parameter M, N;
vector#2 uint8 in1[M, N];
a = box(in1, 2);
return sat<uint8>(unsharp(a, 1.5, 0.5));
"""


def test_apply(folder):
    """A chain on the command line is the program that one would write."""
    slow, out = "--target=interp", folder / "applied.npy"
    (folder / "chain.tess").write_text(CHAIN)
    grey = folder / "grey.pgm"
    grey.write_bytes(b"P5 9 7 255\n" + bytes(k * k % 251 for k in range(63)))
    run("run", folder / "chain.tess", grey, "-o", folder / "expected.npy", slow, "--border=wrap")
    for words in (
        ["box", "radius=2,", "unsharp", "sigma=1.5", "amount=0.5", grey],
        ["box radius=2,unsharp amount=0.5 sigma=1.5", grey], [grey.name, "box", "radius=2"][1:] + [
            ",unsharp", "amount=.5", "sigma=15e-1", grey],
        ["box", f"X={grey}", "radius=2", ",", "unsharp", "sigma=1.5", "amount=0.5"],
    ):
        out.unlink(missing_ok=True)
        code, _, err = run("apply", *words, "-o", out, slow, "--border=wrap")
        check(f"{words}", code == 0 and out.read_bytes() == (folder / "expected.npy").read_bytes(), err)
    colour = folder / "colour.ppm"
    colour.write_bytes(b"P6 3 2 255\n" + bytes(range(18)))
    for option, shape in (([], (2, 3, 3)), (["--gray"], (2, 3)), (["--each-channel"], (2, 3, 3))):
        code, _, err = run("apply", "dilate", "radius=1", colour, "-o", out, slow, *option)
        check(f"colour {option}", code == 0 and tool.read_npy(out)[:2] == (shape, "|u1"), err)
    code, _, err = run("apply", "difference", colour, colour, "-o", out, slow)
    check("two colour pictures", code == 0 and set(tool.read_npy(out)[2]) == {0}, err)
    code, _, err = run("apply", "subtract", "Y=" + str(grey), grey, "-o", out, slow)
    check("two images", code == 0 and set(tool.read_npy(out)[2]) == {0}, err)
    code, _, err = run("apply", "erode", "radius=1", "-", "-o", out, slow, stdin=colour.read_bytes())
    check("standard input", code == 0 and tool.read_npy(out)[:2] == ((2, 3, 3), "|u1"), err)
    deep, spread = folder / "deep.npy", folder / "spread.npy"
    tool.write_npy(deep, (2, 3), "<u2", [0, 1000, 65535, 7, 8, 9])
    for words, type_of in (
        (["gaussian", "sigma=1"], "<u2"), (["gaussian sigma=1, linear gain=200 offset=0"], "<u2"),
        (["sobel"], "<f4"), (["to_float, gaussian sigma=1"], "<f4"), (["threshold", "level=9"], "|u1"),
    ):
        code, _, err = run("apply", *words, deep, "-o", out, slow)
        check(f"the type of {words}", code == 0 and tool.read_npy(out)[1] == type_of, err)
    code, _, err = run("apply", "hessian", "sigma=1", deep, "-o", out, "-o", folder / "small.npy", slow)
    check("two results", code == 0 and (folder / "small.npy").exists(), err)
    tool.write_npy(spread, (1, 3), "<f4", [0.25, 0.5, 0.25])
    code, _, err = run("apply", "richardson_lucy", "steps=1", deep, spread, "-o", out, slow)
    check("a mask", code == 0 and tool.read_npy(out)[:2] == ((2, 3), "<u2"), err)
    tool.write_npy(folder / "stack.npy", (2, 3, 2), "<i2", range(12))
    code, _, err = run("apply", "dilate_3d", "radius=1", folder / "stack.npy", "-o", out, slow)
    check("a volume", code == 0 and tool.read_npy(out)[:2] == ((2, 3, 2), "<i2"), err)
    code, _, err = run("apply", "gray", grey, "-o", out, slow)
    check("no colours", code == 1 and "so: there is no field 'r' in a value of type uint8 (filters.tess:" in err, err)
    check("in one sentence", err.count("\n") == 1, err)
    (folder / "applied").mkdir()
    colour = colour.rename(folder / "g2.pgm")
    for words in ([folder / "g*.pgm"], [grey, colour]):
        code, _, err = run("apply", "erode", "radius=1", *words, "-o", folder / "applied" / "{name}.npy", slow)
        shapes = sorted(tool.read_npy(p)[0] for p in (folder / "applied").iterdir())
        check("a batch of grey and colour", code == 0 and shapes == [(2, 3, 3), (7, 9)], err)
        for path in (folder / "applied").iterdir():
            path.unlink()
    for words, said in (
        (["gausian", "sigma=2", grey], ["gausian", "gaussian"]), (["box", grey], ["box wants radius=VALUE"]),
        (["canny", "sigma=1", grey], ["low=VALUE high=VALUE steps=VALUE"]), (["box", "radius=1.5", grey], ["whole"]),
        (["box", "radius=x", grey], ["'x'", "radius"]), (["box", "size=2", grey], ["'size'", "filters box"]),
        (["box", "radius=1", "radius=2", grey], ["'radius'", "twice"]), (["sobel", grey, grey], ["no image is left"]),
        (["sobel"], ["no file is given", "'X'"]), (["sobel,", grey], [f"'{grey}'"]), (["sobel,"], ["last comma"]),
        (["sobel,,", "sobel", grey], ["before a comma"]),
        (["sobel", folder / "no.png"], ["no.png"]), (["sobel", folder / "no*.png"], ["no file matches"]),
        (["gaussian_1d", "sigma=1", grey], ["1 dimension"]), (["radius=2", grey], ["radius=2"]),
        (["sobel", ",", "laplacian", f"X={grey}", grey], ["laplacian", "before it"]),
        (["box", "radius=nan", grey], ["nan"]),
        (["box", "radius=-1", grey], ["range of 'i'", "1..-1", "filters.tess:"]),
        (["median", grey], ["did you mean 'median_filter'"]), (["rank_filter", "k=-1", "radius=1", grey], ["rank"]),
    ):
        one_sentence(f"apply {words}", run("apply", *words, "-o", folder / "nothing.npy", slow), said)
    one_sentence("apply nothing", run("apply"), ["which filter"], 2)
    one_sentence("apply to nowhere", run("apply", "sobel", grey), ["-o"], 2)
    check("nothing was written", not (folder / "nothing.npy").exists())


ANY = """stencil soft(vector#2 any X) { return sat<typeof(X)>(mean(i = -1..1, j = -1..1 : X@[i, j])); }
vector#2 any photo;
return soft(photo);
"""


def test_any(folder):
    """One program for all types, which the files bring, or --type."""
    path, slow, out = folder / "any.tess", "--target=interp", folder / "any.npy"
    path.write_text(ANY)
    shared = "parameter M, N;\nvector#2 any a[M, N], b[M, N];\nreturn a - b;\n"
    (folder / "two.tess").write_text(shared)
    for type_of in ("|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8"):
        for shape in ((2, 3), (2, 3, 2), (2, 3, 3), (2, 3, 4), (2, 3, 6)):
            n = 6 * (shape[2] if len(shape) > 2 else 1)
            tool.write_npy(folder / "of.npy", shape, type_of, [100] * n)
            code, _, err = run("run", path, folder / "of.npy", "-o", out, slow)
            check(f"{type_of} {shape}", code == 0 and tool.read_npy(out) == (shape, type_of, [100] * n), err)
    tool.write_npy(folder / "a.npy", (1, 2), "|u1", [1, 2])
    tool.write_npy(folder / "b.npy", (1, 2), "<f4", [0.5, 3])
    code, _, err = run("run", folder / "two.tess", folder / "a.npy", folder / "b.npy", "-o", out, slow)
    check("two types", code == 0 and tool.read_npy(out) == ((1, 2), "<f4", [0.5, -1]), err)
    code, _, err = run("run", "--type=b:uint8", "--type=int16", folder / "two.tess", folder / "a.npy",
                       f"b={folder / 'a.npy'}", "-o", out, slow)
    check("types as told", code == 0 and tool.read_npy(out) == ((1, 2), "<i4", [0, 0]), err)
    code, shown, err = run("explain", "--dump=types", "--type=uint8x3", path)
    check("explain", code == 0 and "input vector#2 struct rgb photo" in shown, err)
    check("check", run("check", path) == (0, "", ""), "")
    (folder / "colour.tess").write_text("vector#2 any photo;\nreturn photo.r + 1;\n")
    check("check of colour", run("check", folder / "colour.tess")[0] == 0)
    (folder / "wrong.tess").write_text("vector#2 any photo;\nreturn photo.r + photo.x;\n")
    code, _, err = run("check", folder / "wrong.tess")
    check("the fewest mistakes", code == 1 and err.count("error[") == 1 and "an image of struct rgb here" in err, err)
    lacks = ["'photo'", "declared 'any'"]
    for words in (["build", path, "-o", folder / "any.c"], ["explain", path], ["run", path, "-o", out]):
        one_sentence(f"any {words[0]}", run(*words), lacks)
    one_sentence("another size", run("run", folder / "two.tess", folder / "a.npy", folder / "of.npy", "-o", out), ["M"])
    one_sentence("no such image", run("explain", "--type=fotos:uint8", path), ["'fotos'"])
    one_sentence("no such type", run("explain", "--type=uint8x0", path), ["'uint8x0'"], 2)
    check("nothing is written", not (folder / "any.c").exists())


def test_nothing_to_read(folder):
    """Footprints without points, and scans of images without any."""
    slow, out = "--target=interp", folder / "of-nothing.npy"
    tool.write_npy(folder / "some.npy", (2, 3), "|u1", range(6))
    tool.write_npy(folder / "hole.npy", (3, 3), "<f4", [0] * 9)
    for hole in (folder / "hole.npy", "zero:3x3"):
        one_sentence(f"a footprint of no points, {hole}",
                     run("apply", "erode_by", folder / "some.npy", hole, "-o", out, slow), [str(hole), "no point"])
    tool.write_npy(folder / "empty.npy", (0, 3), "|u1", [])
    (folder / "scan.tess").write_text("parameter M, N, K = 0;\nvector#2 any x[M, N];\n"
                                      "return cumulate(x[K.., ..], 0);\n")
    one_sentence("a scan of no rows", run("run", folder / "scan.tess", folder / "empty.npy", "-o", out, slow),
                 ["empty.npy", "no pixels"])
    one_sentence("a scan of no rows left",
                 run("run", folder / "scan.tess", folder / "some.npy", "K=5", "-o", out, slow), ["size"])
    check("nothing is left of it", not out.exists())


def test_fmt(folder):
    """Files are formatted in their place; tests/prop/test_format.c has the form itself."""
    ugly, form = "stencil f(vector#2 any X){return X@[0,1];}", "stencil f(vector#2 any X) { return X@[0, 1]; }\n"
    names = [folder / "ugly.tess", folder / "fine.tess"]
    names[0].write_text(ugly)
    names[1].write_text(form)
    check("fmt --check", run("fmt", "--check", *names) == (1, f"{names[0]}\n", ""))
    check("which changes nothing", names[0].read_text() == ugly)
    before = names[1].stat()
    check("fmt", run("fmt", *names, "-v") == (0, f"{names[0]}\n", "") and names[0].read_text() == form)
    check("what is in form stays", names[1].stat().st_mtime_ns == before.st_mtime_ns)
    check("fmt of standard input", run("fmt", "-", stdin=ugly.encode()) == (0, form, ""))
    names[0].write_text("x = (a;")
    code, out, err = run("fmt", *names)
    check("a bracket open", code == 1 and not out and "error[E0101]: expected ')'" in err, out + err)
    check("it stays", names[0].read_text() == "x = (a;")
    one_sentence("fmt of no file", run("fmt", folder / "none.tess"), ["none.tess"])
    one_sentence("fmt of a picture", run("fmt", tool.ROOT / "examples/images/camera.png"), ["PNG"])
    one_sentence("fmt of nothing", run("fmt"), ["FILE"], 2)


def test_watch(folder):
    """A change of the program, of what it uses, or of the picture runs it again."""
    place = folder / "watched"
    place.mkdir()
    program, used, photo, out = (place / name for name in ("p.tess", "mine.tess", "photo.npy", "out.npy"))
    text = 'use "mine";\nparameter N;\nvector#1 float X[N];\nreturn times(X);\n'
    used.write_text("stencil times(vector#1 float X) { return 2 * X; }\n")
    program.write_text(text)
    tool.write_npy(photo, (2,), "<f4", [1, 2])
    command = [tool.TOOL, "watch", program, photo, "-o", out, "--target=interp"]
    child = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=tool.ROOT)

    def told():
        lines = []
        while not lines or not lines[-1].endswith("watched\n"):
            lines.append(child.stderr.readline())
            if not lines[-1]:
                break
        return "".join(lines)

    first = told()
    check("watch runs", re.fullmatch(r"done after \d+ ms; 3 files are watched\n", first), first)
    check("its result", tool.read_npy(out)[2] == [2, 4])
    tool.write_npy(photo, (3,), "<f4", [1, 2, 3])
    check("another picture", "done" in told() and tool.read_npy(out)[2] == [2, 4, 6])
    used.write_text("stencil times(vector#1 float X) { return 3 * X; }\n")
    check("what it uses", "done" in told() and tool.read_npy(out)[2] == [3, 6, 9])
    program.write_text(text.replace("times", "tims"))
    said = told()
    check("a mistake", "error[E0" in said and "failed after" in said and tool.read_npy(out)[2] == [3, 6, 9], said)
    program.write_text(text.replace("times(X)", "times(X), times(X)"))
    said = told()
    check("a program that does not fit the line", "-o" in said and "failed after" in said, said)
    child.send_signal(signal.SIGINT)
    check("Ctrl-C ends it", child.wait() == -signal.SIGINT)
    child.stderr.close()
    one_sentence("two results for one -o", run("watch", program, photo, "-o", out), ["-o"], 2)
    for words, said in (
        (["-", photo, "-o", out], "standard input"), ([program, "-", "-o", out], "standard input"),
        ([program, photo, "-o", photo], "read and written"),
    ):
        one_sentence(f"watch {said}", run("watch", *words), [said])


def main():
    test_environment()
    with tool.workspace() as place:
        folder = pathlib.Path(place)
        (folder / "blur.tess").write_text(BLUR)
        test_progress(folder)
        test_cache(folder)
        test_filters(folder)
        test_apply(folder)
        test_any(folder)
        test_nothing_to_read(folder)
        test_fmt(folder)
        test_watch(folder)
    tool.finish()


main()
