"""Batches: one program on the files of a pattern. What fails, fails alone; patterns that make no sense are refused
before anything is written."""
import os
import pathlib
import pty
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import tool
from tool import check, run

SLOPE = """stencil slope(vector#2 float X) { return X@[0, 1] - X@[0, -1]; }
parameter M, N;
vector#2 float photo[M, N];
return slope(photo:mirror);
"""
TWO = """stencil apart(vector#2 float X, vector#2 float Y, float by) { return by * (X - Y); }
parameter M, N;
vector#2 float left[M, N];
vector#2 float right[M, N];
float by = 2;
return apart(left, right, by), apart(right, left, by);
"""
SLOW = "--target=interp" # no compiler is started


def one_sentence(name, result, words=(), status=1):
    code, out, err = result
    check(name, code == status and err.count("\n") == 1 and err.startswith("tessera: ") and not out
          and all(str(word) in err for word in words), f"status {code}\n{out}{err}")


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def image(path, k, rows=3, columns=4):
    tool.write_npy(path, (rows, columns), "<f4", [k * i * i % 17 for i in range(rows * columns)])


def fresh(folder, name):
    made = folder / name
    made.mkdir()
    return made


def test_many(folder):
    """Each result is that of a run of its own; what the shell makes of a pattern is the same batch."""
    source, out = fresh(folder, "many"), fresh(folder, "many-out")
    for k in range(12):
        image(source / f"a{k:02}.npy", k, 3 + k % 3) # sizes differ
    (source / "folder.npy").mkdir()
    code, printed, err = run("run", folder / "slope.tess", source / "*.npy", "-o", out / "{name}_{name}.npy", SLOW,
                             "--time")
    check("a batch", code == 0 and not printed and names(out) == [f"a{k:02}_a{k:02}.npy" for k in range(12)], err)
    check("its times", err.count("\n") == 2 and "12 runs, together" in err, err)
    for k in (0, 7, 11):
        run("run", folder / "slope.tess", source / f"a{k:02}.npy", "-o", folder / "alone.npy", SLOW)
        same = (out / f"a{k:02}_a{k:02}.npy").read_bytes() == (folder / "alone.npy").read_bytes()
        check(f"item {k} is that of a run alone", same)
    files = [source / f"a{k:02}.npy" for k in range(3)]
    listed = fresh(folder, "listed")
    code, _, err = run("run", folder / "slope.tess", *files, "-o", listed / "{name}.npy", SLOW, "--threads=1")
    check("a list of files", code == 0 and not err and names(listed) == ["a00.npy", "a01.npy", "a02.npy"], err)
    code, _, err = run("run", folder / "slope.tess", files[1], "-o", listed / "{name}_1.npy", SLOW)
    check("one file with a name", code == 0 and (listed / "a01_1.npy").exists(), err)
    code, _, err = run("run", folder / "slope.tess", source / "*07.npy", "-o", folder / "seven.npy", SLOW)
    check("a pattern of one file", code == 0 and (folder / "seven.npy").exists(), err)
    (source / "a[0].npy").write_bytes(files[0].read_bytes())
    code, _, err = run("run", folder / "slope.tess", source / "a[0].npy", "-o", folder / "bracket.npy", SLOW)
    check("a file with brackets in its name", code == 0 and (folder / "bracket.npy").exists(), err)


def test_partners(folder):
    """Several inputs with {name} in common; what has no pattern is shared by all runs."""
    source, out = fresh(folder, "pairs"), fresh(folder, "pairs-out")
    for k, name in enumerate("abc"):
        image(source / f"{name}_left.npy", k)
        image(source / f"{name}_right.npy", k + 5)
    left, right = source / "{name}_left.npy", source / "{name}_right.npy"
    outputs = ["-o", out / "{name}1.npy", "-o", out / "{name}2.npy"]
    code, _, err = run("run", folder / "two.tess", left, f"right={right}", "by=3", *outputs, SLOW)
    check("pairs", code == 0 and names(out) == ["a1.npy", "a2.npy", "b1.npy", "b2.npy", "c1.npy", "c2.npy"], err)
    one = [value for value in tool.read_npy(out / "c1.npy")[2]]
    both = fresh(folder, "pairs-both")
    code, _, err = run("run", folder / "two.tess", left, right, "by=3", "-o", both / "{name}1.npy",
                       "-o", both / "{name}2.npy", SLOW)
    check("two patterns, all partners there", code == 0 and not err and names(both) == names(out)
          and all((both / name).read_bytes() == (out / name).read_bytes() for name in names(out)), err)
    check("of the same name", one == [3 * (2 * i * i % 17 - 7 * i * i % 17) for i in range(12)], one)
    code, _, err = run("run", folder / "two.tess", left, source / "b_right.npy", *outputs, SLOW)
    one = tool.read_npy(out / "c1.npy")[2]
    check("a shared input", code == 0 and one == [2 * (2 * i * i % 17 - 6 * i * i % 17) for i in range(12)], err)
    code, _, err = run("run", folder / "slope.tess", f"photo={left}", "-o", out / "{name}.npy", SLOW)
    check("an input by name", code == 0 and (out / "b.npy").exists(), err)
    (source / "c_right.npy").unlink()
    one_sentence("a missing partner", run("run", folder / "two.tess", left, right, *outputs, SLOW),
                 ["_right.npy", "'c'", "c_left.npy"])
    image(source / "c_right.npy", 1)
    image(source / "d_right.npy", 1)
    one_sentence("a partner too many", run("run", folder / "two.tess", left, right, *outputs, SLOW),
                 ["_left.npy", "'d'", "d_right.npy"])
    one_sentence("three files for two", run("run", folder / "two.tess", left, right, left, *outputs, SLOW), ["left"])


def test_refused(folder):
    source, out = fresh(folder, "wrong"), fresh(folder, "wrong-out")
    slope = folder / "slope.tess"
    for name in ("a.npy", "b.npy", "a_e.npy"):
        image(source / name, 2)
    to = ["-o", out / "{name}.npy", SLOW]
    one_sentence("nothing matches", run("run", slope, source / "*.tif", *to), ["no file matches", "*.tif"])
    one_sentence("nothing with that name", run("run", slope, source / "{name}.tif", *to), ["no file matches"])
    one_sentence("no {name}", run("run", slope, source / "*.npy", "-o", out / "x.npy", SLOW), ["{name}", "3 runs"], 2)
    one_sentence("{name} twice", run("run", slope, source / "{name}{name}.npy", *to), ["{name} twice"])
    one_sentence("{name} of nothing", run("run", slope, "-o", out / "{name}.npy", SLOW), ["{name}"])
    one_sentence("no folder", run("run", slope, source / "*.npy", "-o", out / "{name}" / "x.npy", SLOW), ["no such"])
    one_sentence("over an input of another", run("run", slope, source / "*.npy", "-o", source / "{name}_e.npy", SLOW),
                 ["a_e.npy", "'a'", "is read for"])
    in_place = run("run", slope, source / "*.npy", "-o", source / "{name}.npy", SLOW)
    one_sentence("results in the place of inputs", in_place, ["overwritten by its own result"])
    one_sentence("a format that is none", run("run", slope, source / "*.npy", "-o", out / "{name}.xyz", SLOW), ["xyz"])
    one_sentence("a result too many", run("run", slope, source / "*.npy", *to, "-o", out / "{name}2.npy"), ["-o"], 2)
    two = ["run", folder / "two.tess", source / "*.npy", source / "*.npy", SLOW]
    one_sentence("two results of one name", run(*two, "-o", out / "{name}.npy", "-o", out / "." / "{name}.npy"),
                 ["two results"], 2)
    around = f"{out}/../{out.name}/{{name}}.npy"
    one_sentence("two results in one file", run(*two, "-o", out / "{name}.npy", "-o", around), ["twice"])
    one_sentence("one result for two", run(*two, "-o", out / "{name}.npy", "-o", out / "{name}_e.npy"),
                 ["a_e.npy", "twice"])
    (source / "a.pfm").write_bytes(b"")
    one_sentence("one name for two", run("run", slope, source / "a.*", *to), ["a.npy", "a.pfm", "one name"])
    one_sentence("no videos", run("run", slope, source / "*.y4m", "-o", out / "{name}.y4m", SLOW), ["no file matches"])
    one_sentence("a number as pattern", run("run", folder / "two.tess", source / "*.npy", source / "*.npy", "by=*",
                                            "-o", out / "{name}.npy", "-o", out / "{name}2.npy", SLOW), ["'*'", "by"])
    check("nothing was written", names(out) == [], names(out))


def test_failures(folder):
    """What cannot be read, run or written fails alone, and is said in the order of the names."""
    source, out = fresh(folder, "some"), fresh(folder, "some-out")
    for name in ("a", "c", "e", "g"):
        image(source / f"{name}.npy", 3)
    (source / "b.npy").write_bytes(b"\x93NUMPY broken")
    (source / "d.npy").symlink_to(source / "gone.npy") # it was there when the pattern was looked at
    tool.write_npy(source / "f.npy", (2, 3, 4), "<f4", range(24))
    (out / "g.npy").mkdir()
    code, _, err = run("run", folder / "slope.tess", source / "[a-f].npy", "-o", out / "{name}.npy", SLOW)
    lines = err.splitlines()
    check("the rest goes on", code == 1 and names(out) == ["a.npy", "c.npy", "e.npy", "g.npy"], names(out))
    order = [str(source / f"{name}.npy") in line for name, line in zip("bdf", lines)]
    check("each with its sentence", order == [True] * 3 and all(x.startswith("tessera: ") for x in lines[:4]), err)
    check("a list", lines[3:] == ["tessera: 3 of 6 failed:"] + [f"  {source / name}.npy" for name in "bdf"], err)
    code, _, err = run("run", folder / "slope.tess", source / "[a-f].npy", "-o", out / "{name}.npy", SLOW,
                       "--diagnostics=json")
    check("as JSON", code == 1 and err.count("\n") == 4 and all(x.startswith('{"sev') for x in err.splitlines()), err)
    one_sentence("a folder in the way", run("run", folder / "slope.tess", source / "g.npy", "-o", out / "{name}.npy",
                                            SLOW), ["g.npy", "is a folder"])
    tool.write_npy(source / "h.npy", (2, 3), "<f4", range(6))
    code, _, err = run("run", folder / "two.tess", source / "[ch].npy", source / "a.npy", "-o", out / "{name}1.npy",
                       "-o", out / "{name}2.npy", SLOW)
    check("sizes that differ", code == 1 and f"tessera: {source / 'h.npy'}: " in err and (out / "c1.npy").exists(), err)
    check("nothing is left", all(not name.startswith(".") for name in names(out)), names(out))


def test_channels(folder):
    source, out = fresh(folder, "colour"), fresh(folder, "colour-out")
    for k in range(3):
        (source / f"{k}.ppm").write_bytes(b"P6 2 2 255\n" + bytes(range(k, k + 12)))
    code, _, err = run("run", folder / "slope.tess", source / "*.ppm", "-o", out / "{name}.npy", SLOW, "--each-channel",
                       "--verify")
    check("channel by channel", code == 0 and tool.read_npy(out / "2.npy")[0] == (2, 2, 3), err)
    check("verified one by one", err.count("same pixels") == 9 and f"{source / '0.ppm'}: verified" in err, err)


def test_bar(folder):
    """The bar on a terminal, while one file lets the others wait."""
    source, out = fresh(folder, "bar"), fresh(folder, "bar-out")
    for k in range(5):
        image(source / f"{k}.npy", k)
    os.mkfifo(source / "2waits.npy")
    master, slave = pty.openpty()
    command = [tool.TOOL, "run", folder / "slope.tess", source / "*.npy", "-o", out / "{name}.npy", SLOW]
    child = subprocess.Popen(command, stderr=slave, cwd=tool.ROOT)
    os.close(slave)
    shown = b""
    try:
        while piece := os.read(master, 4096):
            shown += piece
            if b"5 of 6" in shown and child.poll() is None and not (source / "let-go").exists():
                (source / "let-go").touch()
                (source / "2waits.npy").write_bytes(b"no image")
    except OSError: # the terminal's other end was closed
        pass
    os.close(master)
    check("the bar", child.wait() == 1 and b"##########" in shown and b"1 of 6 failed" in shown, shown)
    check("the line goes", b"\r\x1b[Ktessera: " in shown, shown)


def test_ended(folder):
    """A batch that is ended leaves whole files or none."""
    source, out = fresh(folder, "long"), fresh(folder, "long-out")
    image(folder / "large.npy", 3, 200, 300)
    for k in range(400):
        (source / f"{k:03}.npy").symlink_to(folder / "large.npy")
    command = [tool.TOOL, "run", folder / "slope.tess", source / "*.npy", "-o", out / "{name}.npy", SLOW]
    child = subprocess.Popen(command, cwd=tool.ROOT)
    while child.poll() is None and not names(out):
        pass
    child.send_signal(signal.SIGTERM)
    code = child.wait()
    sizes = {path.stat().st_size for path in out.iterdir()}
    check("it ends", code == -signal.SIGTERM or len(names(out)) == 400, code)
    check("whole files", len(sizes) == 1 and names(out)[0][0] != ".", names(out)[:3])


def main():
    with tool.workspace() as place:
        folder = pathlib.Path(place)
        (folder / "slope.tess").write_text(SLOPE)
        (folder / "two.tess").write_text(TWO)
        for test in (test_many, test_partners, test_refused, test_failures, test_channels, test_bar,
                     test_ended):
            test(folder)
    tool.finish()


main()
