"""--nodata: values of files that say that there is none, from the command line or from TIFF's tag; what results hold
and say where they are not valid."""
import math
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import tool  # noqa: E402
from tool import check, read_npy, read_tags, run, write_npy, write_tiff  # noqa: E402

TAG = 42113
MEAN = ("stencil mean3(vector#2 float X) { return mean(j = -1..1 : X@[0, j]); }\nparameter M, N;\n"
        "vector#2 float dem[M, N];\n")


def write(folder, name, text):
    path = folder / name
    path.write_text(text)
    return path


def tiff_floats(path):
    """The values of a TIFF of one strip or more, as the tool writes them."""
    out = path.with_suffix(".npy")
    status, _, err = run("run", path.parent / "same.tess", path, "-o", out, "--target=interp", "-q")
    check(f"{path.name} is read", status == 0, err)
    return read_npy(out)[2]


def same(a, b):
    return len(a) == len(b) and all(x == y or (math.isnan(x) and math.isnan(y)) for x, y in zip(a, b))


def test_values(folder):
    """From the option or from the tag; results hold the value and say it."""
    write(folder, "same.tess", "vector#2 float a[M, N];\nreturn a;\n".replace("vector", "parameter M, N;\nvector", 1))
    mean = write(folder, "mean.tess", MEAN + "s = mean3(dem:renormalise);\nreturn s, valid(s);\n")
    dem = folder / "dem.tif"
    write_tiff(dem, 2, 3, [1, -9999, 5, -9999, -9999, -9999], {TAG: (2, b"-9999\0")})
    write_tiff(folder / "plain.tif", 2, 3, [1, -9999, 5, -9999, -9999, -9999], {})
    for name, options in (("dem.tif", ["--nodata"]), ("plain.tif", ["--nodata=-9999"]),
                          ("plain.tif", ["--nodata=dem=-9999"]), ("dem.tif", ["--nodata=-9999", "--target=c"])):
        status, _, err = run("run", mean, folder / name, "-o", folder / "s.tif", "-o", folder / "v.tif",
                             "--target=interp", *options)
        check(f"runs with {options}", status == 0, err)
        check(f"values with {options}", same(tiff_floats(folder / "s.tif"), [1, 3, 5, -9999, -9999, -9999]),
              tiff_floats(folder / "s.tif"))
        check("the result says it", read_tags(folder / "s.tif").get(TAG) == b"-9999\0", read_tags(folder / "s.tif"))
        check("its validity does not", TAG not in read_tags(folder / "v.tif"))
    status, _, err = run("run", mean, dem, "-o", folder / "s.tif", "-o", folder / "v.tif", "--target=interp")
    check("without --nodata it is a number", tiff_floats(folder / "s.tif")[2] == (-9999 + 5 + 5) / 3 or status == 0)
    check("and stays in the file", read_tags(folder / "s.tif").get(TAG) == b"-9999\0")
    status, _, err = run("run", mean, folder / "plain.tif", "-o", folder / "s.png", "-o", folder / "v.png",
                         "--nodata=-9999", "--target=interp")
    check("PNG says that it leaves it out", "left out" in err or "left out" in _, err + _)


def test_twice(folder):
    """What is said twice and differently, by the line or by the line and the file, is said, and which of it counts."""
    same, dem = folder / "same.tess", folder / "dem.tif"
    write(folder, "which.tess", "parameter M, N;\nvector#2 float a[M, N];\nreturn valid(a);\n")
    for options, counts, said in (
        (["--nodata=-9999"], -9999, []), (["--nodata"], -9999, []), (["--nodata=5", "--nodata=5"], 5, ["=5 counts"]),
        (["--nodata=1", "--nodata=5"], 5, ["--nodata=5 comes behind another one, of 1", "-9999 (GDAL_NODATA), and"]),
        (["--nodata=a=5", "--nodata=a=1"], 1, ["--nodata=a=1 comes behind", "--nodata=1 counts"]),
        (["--nodata", "--nodata=a=5"], 5, ["--nodata=5 counts"]), (["--nodata", "--nodata=5"], -9999, []),
    ):
        status, _, err = run("run", same, dem, "-o", folder / "t.npy", "--target=interp", *options)
        check(f"{options}: said", err.count("\n") == len(said) and all(s in err for s in said), err)
        status, _, err = run("run", folder / "which.tess", dem, "-o", folder / "t.npy", "--target=interp", *options)
        check(f"{options}: one counts", status == 0 and tool.read_npy(folder / "t.npy")[2]
              == [v != counts for v in [1, -9999, 5, -9999, -9999, -9999]], err)


def test_nan_and_types(folder):
    """NaN; results whose type has no such value."""
    write_npy(folder / "a.npy", (1, 4), "<f4", [1, math.nan, 4, 300])
    keep = write(folder, "keep.tess", "parameter M, N;\nvector#2 float dem[M, N];\nreturn dem + 0, sat<uint8>(dem);\n")
    status, out, err = run("run", keep, folder / "a.npy", "-o", folder / "r.npy", "-o", folder / "b.tif",
                           "--nodata=nan", "--target=interp")
    check("NaN", status == 0 and same(read_npy(folder / "r.npy")[2], [1, math.nan, 4, 300]), err)
    check("bytes have none", "where it is not valid it is 0, as uint8 has no nan" in out + err, out + err)
    check("the file of bytes says 0", read_tags(folder / "b.tif").get(TAG) == b"0\0", read_tags(folder / "b.tif"))
    inside = write(folder, "inside.tess", "parameter M, N;\nvector#2 float dem[M, N];\nreturn dem:valid(dem > 2);\n")
    status, _, err = run("run", inside, folder / "a.npy", "-o", folder / "r.tif", "--target=interp", "-q")
    check("without an option NaN", read_tags(folder / "r.tif").get(TAG) == b"nan\0", err)
    pixels = write(folder, "rgb.tess", "parameter M, N;\nvector#2 rgb photo[M, N];\nreturn valid(photo);\n")
    (folder / "p.ppm").write_bytes(b"P6\n3 1\n255\n" + bytes([0, 0, 0, 0, 0, 9, 7, 0, 0]))
    status, _, err = run("run", pixels, folder / "p.ppm", "-o", folder / "r.npy", "--nodata=0", "--target=interp")
    check("a pixel is not valid when all channels say so", read_npy(folder / "r.npy")[2] == [0, 1, 1], err)


def test_policies(folder):
    """--border sets the policy of reads that name none."""
    program = write(folder, "force.tess", MEAN + "return mean3(dem);\n")
    write_npy(folder / "a.npy", (1, 4), "<f4", [1, 7, 4, 6])
    for rule, want in (("mirror", [math.nan, math.nan, math.nan, 14 / 3]), ("mirror:renormalise", [1, 2.5, 5, 14 / 3]),
                       ("zero", [2 / 3, 5 / 3, 10 / 3, 16 / 3]), ("clamp:nearest(2)", [1, 2, 11 / 3, 16 / 3])):
        status, _, err = run("run", program, folder / "a.npy", "-o", folder / "r.npy", "--nodata=7", f"--border={rule}",
                             "--target=interp", "--fp=strict")
        got = read_npy(folder / "r.npy")[2] if status == 0 else err
        close = status == 0 and all((w != w and g == 7) or abs(g - w) < 1e-6 for g, w in zip(got, want))
        check(f"--border={rule}", close, got)


def test_batches(folder):
    """--nodata alone with a pattern: the value is that of the files, which have to agree."""
    mean, source, out = folder / "mean.tess", folder / "in", folder / "out"
    source.mkdir()
    out.mkdir()
    for name, value in (("a", b"-1\0"), ("b", b"-1\0"), ("c", b"-2\0"), ("d", None)):
        write_tiff(source / f"{name}.tif", 1, 4, [-1, 3, 5, 7], {TAG: (2, value)} if value else {})
    (source / "0.tif").write_bytes(b"no picture")
    to = ["-o", out / "{name}.tif", "-o", out / "{name}_v.npy", "--nodata", "--target=interp"]
    status, _, err = run("run", mean, source / "*.tif", *to)
    lines = err.splitlines()
    check("files that disagree", status == 1 and len(lines) == 7 and "cannot read" in lines[0]
          and "c.tif: its no-data value is -2, and that of the others -1" in lines[1]
          and "d.tif does not say which value is no data" in lines[2] and "3 of 5 failed" in lines[3], err)
    check("the others went on", sorted(p.name for p in out.iterdir()) == ["a.tif", "a_v.npy", "b.tif", "b_v.npy"])
    write(out, "same.tess", (folder / "same.tess").read_text())
    check("valid points alone", tiff_floats(out / "b.tif")[:3] == [3, 4, 5], tiff_floats(out / "b.tif"))
    status, _, err = run("run", mean, source / "a.tif", source / "b.tif", *to)
    check("a list of files", status == 0 and not err, err)
    status, _, err = run("run", mean, source / "d*.tif", *to)
    check("no file says it", status == 1 and err.count("\n") == 1 and "no file says which value" in err, err)


def test_refused(folder):
    """One sentence each, and no file."""
    mean, out = folder / "mean.tess", folder / "never.tif"
    write_tiff(folder / "none.tif", 1, 2, [-9999, -9999], {TAG: (2, b"-9999\0")})
    byte = write(folder, "byte.tess", "parameter M, N;\nvector#2 uint8 photo[M, N];\nreturn photo + 1;\n")
    numbers = write(folder, "no.tess", "float a;\nreturn a * 2;\n")
    write_npy(folder / "b.npy", (1, 2), "|u1", [1, 2])
    cases = [
        ([mean, folder / "none.tif", "-o", out, "-o", folder / "v.tif", "--nodata"], "no pixel is valid"),
        ([mean, folder / "none.tif", "-o", out, "-o", folder / "v.tif", "--nodata=-9999"], "no pixel is valid"),
        ([mean, folder / "plain.tif", "-o", out, "-o", folder / "v.tif", "--nodata"], "does not say which value"),
        ([mean, "-", "-o", out, "-o", folder / "v.tif", "--nodata"], "standard input"),
        ([mean, folder / "gone.tif", "-o", out, "-o", folder / "v.tif", "--nodata"], "gone.tif"),
        ([mean, "ramp:2x3", "-o", out, "-o", folder / "v.tif", "--nodata"], "does not say which value"),
        ([byte, folder / "b.npy", "-o", out, "--nodata=-9999"], "no element of the image can be that"),
        ([byte, folder / "b.npy", "-o", out, "--nodata=other=3"], "no image 'other'"),
        ([numbers, "a=2", "--nodata=3"], "no image among its inputs"),
        ([byte, folder / "b.npy", "-o", out, "--border=nearest(0)"], "distance"),
    ]
    for words, part in cases:
        status, _, err = run("run", *words, "--target=interp")
        check(f"refused: {words[-1]}", status == 1 and part in err and err.count("\n") <= 3, (status, err))
        check("nothing written", not out.exists())
    few = write(folder, "few.tess", MEAN + "few = dem:valid(dem > 5);\nreturn mean3(few:mirror), valid(few);\n")
    for value, count in ((7, 0), (3, 1)):
        status, _, err = run("run", few, f"constant:{value}:2x3", "-o", folder / "f.npy", "-o", folder / "v.npy",
                             "--target=interp")
        check("no point of a result is valid", status == 0 and err.count("no point is valid") == count, err)
    status, _, err = run("run", byte, folder / "b.npy", "-o", out, "--nodata=much")
    check("no number", status == 2 and "a number, nan, or NAME=NUMBER" in err, err)


def turns_by_hand(values, holds, rows, columns, turns):
    """Means of 3x3 valid points of one channel, clamped at the edge, again and again."""
    for _ in range(turns):
        old, was = values, holds
        values, holds = [0.0] * len(old), [False] * len(old)
        for i in range(rows):
            for j in range(columns):
                near = [min(max(i + u, 0), rows - 1) * columns + min(max(j + v, 0), columns - 1)
                        for u in (-1, 0, 1) for v in (-1, 0, 1)]
                found = [old[k] for k in near if was[k]]
                holds[i * columns + j] = bool(found)
                values[i * columns + j] = sum(found) / len(found) if found else 0.0
    return values, holds


def test_turns(folder):
    """A validity on its way through turns: images of any type, three channels, a hole too wide to be filled."""
    rows, columns, turns = 13, 15, 3
    program = write(folder, "turns.tess",
                    "stencil near(vector#2 any X) { return mean(i = -1..1, j = -1..1 : 1.0 * X@[i, j]); }\n"
                    "stencil start(vector#2 any X) { return 1.0 * X; }\n"
                    "parameter M, N;\nvector#2 any photo[M, N];\nx<0> = start(photo);\n"
                    f"for k = 1..{turns}\n    x<k> = near(x<k-1>:clamp:renormalise);\nendfor\n"
                    f"return x<{turns}>, valid(x<{turns}>);\n")
    holds = [not (2 <= k // columns <= 10 and 3 <= k % columns <= 12) and k % 7 != 3 for k in range(rows * columns)]
    pixels = [[(31 * k + 17 * c) % 251 * (k % 5 != c) for c in range(3)] if h else [0] * 3 for k, h in enumerate(holds)]
    holds = [any(pixel) for pixel in pixels] # one channel of 0 does not matter
    for code, name in (("|u1", "bytes"), ("<u2", "words"), ("<f4", "reals")):
        write_npy(folder / f"{name}.npy", (rows, columns, 3), code, sum(pixels, []))
        for target in ("--target=interp", "--target=c"):
            status, _, err = run("run", program, folder / f"{name}.npy", "-o", folder / "x.npy", "-o",
                                 folder / "valid.npy", "--nodata=0", target)
            check(f"turns of {name}", status == 0, err)
            got, valid = read_npy(folder / "x.npy")[2], read_npy(folder / "valid.npy")[2]
            for c in range(3):
                want, known = turns_by_hand([float(pixel[c]) for pixel in pixels], holds, rows, columns, turns)
                where = [bool(v) for v in (valid[c::3] if len(valid) == len(got) else valid)]
                check(f"validity of {name}, channel {c}", where == known and 0 < known.count(False) < 20, known)
                check(f"values of {name}, channel {c}", all(abs(a - b) < 1e-4 for a, b, v in zip(got[c::3], want, known)
                                                           if v))


def test_gdal(folder):
    """What gdalwarp and overviews make of blocks with holes is what windows of valid points give."""
    if not (shutil.which("gdalwarp") and shutil.which("gdal_translate")):
        print("gdalwarp is not installed (Debian's gdal-bin): not compared with it")
        return
    rows, columns, no = 8, 10, -9999.0
    values = [float((7 * k * k + 3 * k) % 97) for k in range(rows * columns)]
    for k in (3, 12, 13, 27, 40, 41, 50, 51, 66, 79): # one block of 2x2 as a whole
        values[k] = no
    write_tiff(folder / "bare.tif", rows, columns, values, {})
    place = ["-a_nodata", no, "-a_ullr", 0, rows, columns, 0, "-a_srs", "EPSG:32633", "bare.tif", "placed.tif"]
    subprocess.run(["gdal_translate", "-q", *map(str, place)], cwd=folder, check=True)
    made = {}
    for how in ("average", "min", "max", "med", "half"):
        shrink = (["gdal_translate", "-r", "average", "-outsize", "50%", "50%"] if how == "half"
                  else ["gdalwarp", "-r", how, "-tr", "2", "2"])
        subprocess.run([*shrink, "-q", "placed.tif", f"{how}.tif"], cwd=folder, check=True)
        subprocess.run(["gdal_translate", "-q", "-of", "XYZ", f"{how}.tif", f"{how}.xyz"], cwd=folder, check=True)
        made[how] = [float(line.split()[2]) for line in (folder / f"{how}.xyz").read_text().splitlines()]
    windows = {"average": "mean", "min": "min", "max": "max", "med": "median"}
    text = "parameter M, N;\nvector#2 float dem[M, N];\n"
    for how, window in windows.items():
        text += (f"stencil {how}4(vector#2 float X) {{ return {window}(i = 0..1, j = 0..1 : X@[i, j]); }}\n"
                 f"{how}_all = {how}4(dem:clamp:renormalise);\n")
    text += "return " + ", ".join(f"{how}_all@[(0, 2), (0, 2)]" for how in windows) + ";\n"
    outputs = sum((["-o", folder / f"{how}.npy"] for how in windows), [])
    status, _, err = run("run", write(folder, "gdal.tess", text), folder / "placed.tif", "--nodata", *outputs, "-q",
                         "--target=interp")
    check("blocks of valid points", status == 0, err)
    ours = {how: read_npy(folder / f"{how}.npy")[2] for how in windows}
    for how in ("average", "min", "max"):
        check(f"GDAL's {how}", ours[how] == made[how] and made[how].count(no) == 1, (ours[how], made[how]))
    check("GDAL's overviews", ours["average"] == made["half"], made["half"])
    blocks = [[values[(2 * i + u) * columns + 2 * j + v] for u in (0, 1) for v in (0, 1)] for i in range(rows // 2)
              for j in range(columns // 2)]
    odd = [k for k, block in enumerate(blocks) if (4 - block.count(no)) % 2 == 1]
    even = [k for k, block in enumerate(blocks) if block.count(no) in (0, 2)]
    check("GDAL's med of an odd number", odd and all(ours["med"][k] == made["med"][k] for k in odd), made["med"])
    kept = [sorted(x for x in blocks[k] if x != no) for k in even]
    middle = [b[len(b) // 2 - 1:len(b) // 2 + 1] for b in kept]
    check("of an even number the lower of two", all([made["med"][k], ours["med"][k]] == two
                                                    for k, two in zip(even, middle)), (made["med"], ours["med"]))


with tool.workspace() as name:
    test_values(pathlib.Path(name))
    test_twice(pathlib.Path(name))
    test_nan_and_types(pathlib.Path(name))
    test_policies(pathlib.Path(name))
    test_batches(pathlib.Path(name))
    test_refused(pathlib.Path(name))
    test_turns(pathlib.Path(name))
    test_gdal(pathlib.Path(name))
tool.finish()
