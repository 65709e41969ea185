"""Results that are numbers, text on terminals, .csv and .txt, and what `tessera info` says of files."""
import json
import os
import pathlib
import pty
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import tool  # noqa: E402
from tool import check, run  # noqa: E402

INTERP = "--target=interp"


def on_terminal(*arguments):
    """What the tool prints when its standard output is a terminal."""
    master, slave = pty.openpty()
    child = subprocess.Popen([tool.TOOL, *map(str, arguments)], stdout=slave, stderr=subprocess.PIPE)
    os.close(slave)
    text = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:
            break
        if not piece:
            break
        text += piece
    said = child.stderr.read()
    return child.wait(), text.decode().replace("\r\n", "\n"), said.decode()


def test_numbers(folder):
    program = folder / "numbers.tess"
    program.write_text("parameter M, N;\nvector#2 float a[M, N];\nm = mean(a);\n"
                       "return m, maximum(a) - minimum( a ), a * 2;\n")
    source = folder / "a.npy"
    tool.write_npy(source, (2, 3), "<f4", [1, 2, 3, 4, 5, 6.1])
    image = folder / "x.npy"
    code, out, err = run("run", program, source, "-o", image, INTERP)
    check("numbers are printed", code == 0 and out == "m 3.5166667\nmaximum(a)-minimum(a) 5.1\n" and not err, out + err)
    code, out, _ = run("run", program, source, "-o", image, "--json", INTERP)
    check("numbers as JSON", json.loads(out) == {"m": 3.5166667, "maximum(a)-minimum(a)": 5.1}, out)
    code, out, _ = run("run", program, source, "-o", "-", "-o", folder / "n.txt", "-o", image, INTERP)
    check("-o - of a number is a line", out == "m 3.5166667\n", out)
    check("a number in a file", (folder / "n.txt").read_text() == "5.1\n")
    for words, what in (
        ([], "where the result goes"), (["-o", image, "-o", image], "3 images, but 2 -o"),
        (["-o", "-"], "not both"), (["-o", "1.npy", "-o", "2.npy", "-o", "3.npy", "--json"], "--json is for"),
    ):
        code, out, err = run("run", program, source, *words, INTERP, cwd=folder)
        check(f"{words}: {what}", code == 2 and err.count("\n") == 1 and what in err and not out, err)
    tool.write_npy(folder / "nan.npy", (1, 2), "<f4", [float("nan"), 1])
    code, out, _ = run("run", program, folder / "nan.npy", "-o", image, "--json", INTERP)
    check("JSON of what is no number", json.loads(out)["m"] is None, out)
    tool.write_npy(folder / "b.npy", (1, 1), "<f4", [7])
    code, out, _ = run("run", program, str(folder / "[ab].npy"), "-o", str(folder / "{name}_2.npy"), INTERP)
    check("of a batch with the file", out == "".join(
        f"{folder}/{name}.npy: {line}\n" for name, numbers in (("a", ("3.5166667", "5.1")), ("b", ("7", "0")))
        for line in (f"m {numbers[0]}", f"maximum(a)-minimum(a) {numbers[1]}")), out)


def test_text(folder):
    same = folder / "same.tess"
    same.write_text("parameter M, N;\nvector#2 double a[M, N];\nreturn a * 1;\n")
    (folder / "in.csv").write_text("# weights\n1, 2.5,-3e300\n\n0.1 ,nan,inf\n")
    for end, text in ((".csv", "1,2.5,-3e+300\n0.1,nan,inf\n"), (".txt", "1 2.5 -3e+300\n0.1 nan inf\n")):
        code, _, err = run("run", same, folder / "in.csv", "-o", folder / ("out" + end), INTERP)
        check(f"to {end}", code == 0 and (folder / ("out" + end)).read_text() == text, err)
        code, _, err = run("run", same, folder / ("out" + end), "-o", folder / "back.npy", INTERP)
        shape, _, values = tool.read_npy(folder / "back.npy")
        check(f"from {end}", shape == (2, 3) and values[:4] == [1, 2.5, -3e300, 0.1] and values[4] != values[4], values)
    (folder / "wide.tess").write_text("parameter M, N;\nvector#2 uint64 a[M, N];\nreturn (a + 1) << 60;\n")
    code, _, err = run("run", folder / "wide.tess", "ramp:1x4", "-o", folder / "wide.csv", INTERP)
    check("nothing is said to be saturated", not err and (folder / "wide.csv").read_text()
          == "1152921504606846976,2305843009213693952,3458764513820540928,4611686018427387904\n", err)
    code, out, err = on_terminal("run", same, folder / "in.csv", "-o", "-", INTERP)
    check("a terminal gets text", code == 0 and out == "1 2.5 -3e+300\n0.1 nan inf\n", out + err)
    code, out, err = on_terminal("run", same, "zero:80x80", "-o", "-", INTERP)
    check("but not thousands of numbers", code == 1 and not out and "6400 values" in err, out + err)
    code, out, err = run("run", same, "zero:1x3", "-o", "-", INTERP)
    check("a pipe gets NPY", out.startswith("\ufffdNUMPY"), out)
    (folder / "out.csv").write_bytes(b"precious")
    for text, what in (("1,2\n3\n", "line 2 has another number"), ("1,,2\n", "line 1 has a comma"),
                       ("1,2,\n", "line 1 ends in a comma"), ("1 2x\n", "'2x', which is no number"),
                       ("1 0x10\n", "no number"), ("# nothing\n", "no numbers"), ("1" * 99, "too long")):
        (folder / "bad.csv").write_text(text)
        code, _, err = run("run", same, folder / "bad.csv", "-o", folder / "out.csv", INTERP)
        check(f"{text[:9]!r}: {what}", code == 1 and err.count("\n") == 1 and what in err, err)
    for program, what in (("vector#3 float a[L, M, N];\nreturn a * 2;\n", "one or two dimensions"),
                          ("vector#2 float a[M, N];\nreturn a * 2;\n", "at most 1048576 values")):
        sizes = "L, M, N" if "#3" in program else "M, N"
        (folder / "large.tess").write_text(f"parameter {sizes};\n{program}")
        shape = "2x3x4" if "#3" in program else "1025x1025"
        code, _, err = run("run", folder / "large.tess", f"zero:{shape}", "-o", folder / "out.csv", INTERP)
        check(what, code == 1 and err.count("\n") == 1 and what in err, err)
    check("nothing was written meanwhile", (folder / "out.csv").read_bytes() == b"precious")
    points = folder / "points.tess"
    points.write_text("struct xy { float x; float y; }\nparameter N;\nvector#1 xy a[N];\nreturn a * 2, a.x;\n")
    tool.write_npy(folder / "points.npy", (3, 2), "<f4", range(6))
    run("run", points, folder / "points.npy", "-o", folder / "p.csv", "-o", folder / "x.csv", INTERP)
    check("fields side by side", (folder / "p.csv").read_text() == "0,2\n4,6\n8,10\n")
    check("a number a line", (folder / "x.csv").read_text() == "0\n2\n4\n")
    mask = folder / "mask.tess"
    mask.write_text("stencil f(vector#2 float X, mask#2 float m) { return convolve(X, m); }\nparameter M, N;\n"
                    "vector#2 float a[M, N];\nmask#2 float m[3, 3];\nreturn f(a, m);\n")
    (folder / "m.txt").write_text("0 0 0\n0 2 0\n0 0 0\n")
    code, _, err = run("run", mask, "ramp:2x2", f"m={folder / 'm.txt'}", "-o", folder / "m.csv", INTERP)
    check("a mask from text", code == 0 and (folder / "m.csv").read_text() == "0,2\n2,4\n", err)


def test_info(folder):
    program = folder / "pages.tess"
    program.write_text("parameter L, M, N;\nvector#3 uint16 a[L, M, N];\nreturn a[.., .., ..];\n")
    run("run", program, "ramp:3x4x5", "-o", folder / "pages.tif", INTERP, "--no-metadata")
    code, out, err = run("info", folder / "pages.tif", folder / "nan.npy", folder / "in.csv")
    check("info", code == 0 and not err and out == (
        f"{folder}/pages.tif: TIFF, uint16, 3 pages, 4 x 5\n  range: 0 .. 9\n"
        f"{folder}/nan.npy: NPY, float, 1 x 2\n  range: 1 .. 1\n  not finite: 1 values\n"
        f"{folder}/in.csv: text, double, 2 x 3\n  range: -3e+300 .. 2.5\n  not finite: 2 values\n"), out + err)
    code, out, err = run("info", tool.ROOT / "examples/images/chelsea.png", "--json")
    facts = json.loads(out)
    check("info --json", code == 0 and facts["shape"] == [300, 451, 3] and facts["format"] == "PNG"
          and facts["channels"] == 3 and facts["pages"] == 1 and (facts["min"], facts["max"]) == (0, 231)
          and facts["metadata"]["resolution"].startswith("28.35"), out)
    code, out, err = run("info", folder / "pages.tif", "--page=2")
    check("info of a page", out.startswith(f"{folder}/pages.tif, page 2: TIFF, uint16, 4 x 5\n  range: 1 .. 8\n"), out)
    # Pages that differ are shown one by one.
    (folder / "two.pgm").write_bytes(b"P5 2 1 255\n\1\2" + b"P5 1 1 255\n\7")
    code, out, err = run("info", folder / "two.pgm", folder / "none.png", folder / "pages.tif")
    check("pages that differ, and a file that is missing", code == 1
          and "page 2: PGM, uint8, 1 x 1\n  range: 7 .. 7" in out and "pages.tif: TIFF" in out
          and err.count("\n") == 1 and "none.png" in err, out + err)
    code, out, err = run("info")
    check("info of nothing", code == 2 and err.count("\n") == 1, err)


def main():
    with tool.workspace() as name:
        folder = pathlib.Path(name)
        test_numbers(folder)
        test_text(folder)
        test_info(folder)
    tool.finish()


main()
