"""The command line: what each command prints, exit codes, and that bad input of any kind gets one sentence and harms
nothing."""
import json
import os
import pathlib
import pty
import re
import resource
import signal
import struct
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import tool
from tool import check, run

BLUR = """stencil blurx(vector#2 float X) { return (X@[0,-1] + X + X@[0,1]) / 3.0; }
parameter M, N;
vector#2 float input[M, N];
output = blurx(input:mirror);
return output;
"""
TWO = """stencil f(vector#2 float X, float s) { return X * s; }
parameter M, N;
vector#2 float a[M, N];
vector#2 float b[M, N];
float s = 2;
return f(a, s), f(b, s);
"""
COLOUR = """struct rgb { uint8 r; uint8 g; uint8 b; }
stencil f(vector#2 rgb X) { return struct rgb(X.b, X.g, X.r); }
parameter M, N;
vector#2 rgb a[M, N];
return f(a);
"""


MIXED = """struct px { uint8 r; float d; }
stencil f(vector#2 px X) { return X.d + 0.5 * X.r; }
parameter M, N;
vector#2 px a[M, N];
return f(a);
"""


def one_sentence(name, result, words=(), status=1):
    code, out, err = result
    lines = [line for line in err.splitlines() if line.strip()]
    check(name, code == status and len(lines) == 1 and lines[0].startswith("tessera: ") and not out
          and all(word in err for word in words), f"status {code}\n{out}{err}")


def test_information(folder):
    for arguments in (
        ["--help"], ["-h"], ["help"], ["run", "--help"], ["bench", "-h"], ["--version"], ["run", "--version"],
    ):
        code, out, err = run(*arguments)
        check(f"{arguments}", code == 0 and "tessera" in out and not err, err)
    code, out, _ = run("borders")
    check("borders", code == 0 and all(word in out for word in ("clamp", "REFLECT_101", "grid-wrap", "none")), out)
    code, out, _ = run("machine")
    check("machine", code == 0 and "vector_bytes" in out and "cores" in out, out)
    (folder / "m.machine").write_text(out)
    code, out, err = run("explain", folder / "blur.tess", f"--machine={folder / 'm.machine'}")
    check("the machine reads back", code == 0 and "group" in out, err)


def test_usage(folder):
    one_sentence("no command", run(), ["--help"], 2)
    one_sentence("unknown command", run("frobnicate"), ["frobnicate"], 2)
    one_sentence("unknown option", run("run", "--frobnicate"), ["--frobnicate"], 2)
    one_sentence("missing argument", run("run", folder / "blur.tess", "-o"), ["-o"], 2)
    one_sentence("bad choice", run("run", folder / "blur.tess", "--target=fpga"), ["--target"], 2)
    one_sentence("bad number", run("run", folder / "blur.tess", "--threads=many"), ["--threads"], 2)
    one_sentence("option of another command", run("check", folder / "blur.tess", "--runs=3"), ["--runs"], 2)
    one_sentence("no program", run("run"), ["PROGRAM"], 2)
    one_sentence("run without output", run("run", folder / "blur.tess", folder / "a.npy"), ["-o"], 2)
    for option, words in (
        ("target", "auto, c, cuda, opencl, interp, loops or vm"), ("fp", "default, strict or fast"),
        ("general", "never, meanwhile or always"), ("diagnostics", "text or json"), ("threads", "1 to 1000000"),
    ):
        one_sentence(
            f"--{option} of what is not", run("run", folder / "blur.tess", f"--{option}=foo"), [words, "'foo'"], 2
        )
    one_sentence("memory of no device", run("run", folder / "blur.tess", "--device-memory=4"), ["--target=opencl"], 2)
    one_sentence("build without output", run("build", folder / "blur.tess"), ["-o"], 2)


def test_words_out_of_place(folder):
    """What is ignored in silence, or taken for something else, costs its user an hour."""
    blur, picture, random = folder / "blur.tess", tool.ROOT / "examples" / "images" / "camera.png", "random:1:9x9"
    for command in (["check", blur, "more.tess"], ["build", blur, picture, "-o", folder / "x.c"]):
        one_sentence(f"{command[0]} of two files", run(*command), [f"'{command[2]}'"], 2)
    one_sentence(
        "build with a name that is not there", run("build", blur, "q=3", "-o", folder / "x.c"), ["'q'", "M, N, input"]
    )
    one_sentence(
        "build with a number for the run", run("build", folder / "two.tess", "s=3", "-o", folder / "x.c"),
        ["'s'", "runs"],
    )
    check("check with a parameter", run("check", blur, "M=3") == (0, "", ""))
    check("nothing was built", not (folder / "x.c").exists() and not (folder / "x.h").exists())
    for words, said in (
        (["run", "-threads", "2", blur], "-threads; did you mean --threads"), (["run", "--frob=3", blur], "--frob=3;"),
        (["run", blur, "-output", "y"], "-output; did you mean --output"), (["run", "-qx", blur], "option -qx;"),
    ):
        one_sentence(f"{words}", run(*words), [said], 2)
    check("no file of that name", not pathlib.Path(tool.ROOT / "utput").exists())
    for name, content, is_what in (
        ("p.png", picture.read_bytes(), "PNG"), ("p.pgm", b"P5 1 1 255\n\x07", "PNM"),
        ("p.bin", bytes(range(256)), "no text"), ("p.txt", "return x;".encode("utf-16"), "no text"),
        ("p.npy", (folder / "a.npy").read_bytes(), "NumPy"), ("p.tif", b"II*\0\x08\0\0\0", "TIFF"),
        ("p.jpg", b"\xff\xd8\xff\xe0", "JPEG"),
    ):
        (folder / name).write_bytes(content)
        one_sentence(
            f"{name} as program", run("run", folder / name, "-o", folder / "x.npy"), [name, is_what, "program"]
        )
        one_sentence(f"{name} to check", run("check", folder / name), [name, is_what, "program"])
    code, out, err = run("help", "tune")
    check("help tune", code == 0 and "--seconds" in out and not err, err)
    one_sentence("help of nothing", run("help", "frob"), ["frob"], 2)
    one_sentence("a file as command", run(blur), [f"tessera run {blur}"], 2)
    one_sentence(
        "outputs too many", run("run", blur, random, "-o", folder / "x.npy", "-o", folder / "y.npy"), ["1 image"], 2
    )
    one_sentence(
        "one output twice", run("run", folder / "two.tess", random, random, *["-o", folder / "x.npy"] * 2),
        ["two results"], 2,
    )
    (folder / "broken.tess").write_text("return x;")  # would be said if it were compiled
    for output, why in ((folder / "no" / "x", "no such folder"), (blur / "x", "no folder"), (folder, "is a folder")):
        for command, suffix in (("run", ".npy"), ("tune", ".plan"), ("build", ".c")):
            path = output if why == "is a folder" else f"{output}{suffix}"
            one_sentence(f"{command} to {path}", run(command, folder / "broken.tess", "-o", path), [str(path), why])


def test_check(folder):
    check("a sound program", run("check", folder / "blur.tess") == (0, "", ""))
    (folder / "wrong.tess").write_text(BLUR.replace("input:mirror", "inptu:mirror"))
    code, out, err = run("check", folder / "wrong.tess")
    check(
        "diagnosed", code == 1 and "wrong.tess:4:16: error[" in err and "did you mean 'input'" in err and "^" in err,
        err,
    )
    code, out, err = run("check", folder / "wrong.tess", "--color=always")
    check("coloured", "\x1b[" in err, err)
    code, out, err = run("check", folder / "wrong.tess", "--diagnostics=json")
    record = json.loads(err.splitlines()[0])
    check(
        "as JSON", code == 1 and record["line"] == 4 and record["column"] == 16 and record["severity"] == "error", err
    )
    code, out, err = run("check", "-", stdin=BLUR.encode())
    check("from standard input", code == 0, err)


def test_library_types(folder):
    """Filters of floats give floats."""
    filters = (
        "gaussian(X, 1.5), box(X, 1), median_filter(X, 1), bilateral(X, 1.0, 2.0), unsharp(X, 1.0, 2.0), sobel(X), "
        "scharr(X), "
        "prewitt(X), laplacian(X), erode(X, 1), dilate_disc(X, 2), open(X, 1), gradient(X, 1), harris(X, 1.0, 0.05), "
        "peaks(X, 2), "
        "downsample(X), upsample(X), normalise(X, 0.0, 1.0), gamma(X, 2.0)"
    )
    (folder / "library.tess").write_text(f"""use "filters";
parameter M, N;
vector#2 float X[M, N];
return {filters};
""")
    code, out, err = run("explain", folder / "library.tess", "--dump=types")
    results = [line for line in out.splitlines() if line.startswith("return ")]
    others = [line for line in results if ": vector#2 float = " not in line]
    check("filters of floats", code == 0 and len(results) == filters.count("(X") and not others, f"{others} {err}")


def test_records(folder):
    """Pixels of fields of several types: a structured type in NPY, found by name and converted."""
    (folder / "records.tess").write_text("""struct sample { float depth; uint8 sure; }
parameter M, N;
vector#2 sample X[M, N];
return X;
""")
    records, back = folder / "records.npy", folder / "back.npy"
    pixels = [(1.5, 2), (-3.25, 200)]
    tool.write_npy_bytes(
        records, (1, 2), "[('sure', '|u1'), ('depth', '>f8')]", b"".join(struct.pack(">Bd", n, x) for x, n in pixels)
    )
    for source in (records, back):
        code, out, err = run("run", folder / "records.tess", source, "-o", back, "--verify")
        shape, descr, data = tool.read_npy_bytes(back)
        check(
            f"records of {source.name}",
            code == 0
            and shape == (1, 2)
            and descr == [("depth", "<f4"), ("sure", "|u1")]
            and data == b"".join(struct.pack("<fB", *pixel) for pixel in pixels),
            f"{err} {shape} {descr} {data}",
        )
    code, out, err = run("run", folder / "records.tess", records, "-o", folder / "records.png")
    one_sentence("records as a picture", (code, out, err), ["NPY", "several types"], 1)
    code, out, err = run("run", folder / "blur.tess", records, "-o", back)
    one_sentence("records for numbers", (code, out, err), ["'sure', 'depth'", "one value"], 1)


def test_run(folder):
    a = folder / "a.npy"
    tool.write_npy(a, (2, 3), "<f4", [1, 2, 3, 4, 5, 6])
    for target in ("c", "interp", "loops", "auto"):
        code, out, err = run("run", folder / "blur.tess", a, "-o", folder / "b.npy", f"--target={target}")
        good = code == 0 and not err
        if good:
            shape, kind, values = tool.read_npy(folder / "b.npy")
            want = [5 / 3, 2, 7 / 3, 14 / 3, 5, 16 / 3]
            good = shape == (2, 3) and kind == "<f4" and all(abs(x - y) < 1e-6 for x, y in zip(values, want))
        check(f"run {target}", good, err)
    code, out, err = run(
        "run", folder / "blur.tess", a, "-o", folder / "b.npy", "--verify", "--time", "--fp=strict", "--border=wrap"
    )
    check("verify and time", code == 0 and "verified" in err and " ms" in err, err)
    code, out, err = run(
        "run", folder / "blur.tess", a, "-o", folder / "b.npy", "--verify", "--threads=1000000", "--target=c"
    )
    check("more threads than can be", code == 0 and "verified" in err, err)
    code, out, err = run(
        "run", folder / "two.tess", "b=" + str(a), a, "s=3", "-o", folder / "x.npy", "-o", folder / "y.npy"
    )
    check("by name and by order", code == 0 and tool.read_npy(folder / "x.npy")[2] == [3, 6, 9, 12, 15, 18], err)
    code, out, err = run(
        "run", folder / "two.tess", "random:7:5x4", "ramp:5x4", "-o", folder / "x.npy", "-o", folder / "y.npy"
    )
    (folder / "mixed.tess").write_text(MIXED)
    mixed, _, mixed_err = run("run", folder / "mixed.tess", "ramp:2x3", "-o", folder / "m.npy", "--verify")
    check(
        "pseudo-inputs of mixed types", mixed == 0 and tool.read_npy(folder / "m.npy")[2] == [0, 1.5, 3, 1.5, 3, 4.5],
        mixed_err,
    )
    test_records(folder)
    check("pseudo-inputs", code == 0 and tool.read_npy(folder / "y.npy")[2][:5] == [0, 2, 4, 6, 2], err)
    code, out, err = run("run", folder / "blur.tess", "ramp:3x300", "-o", folder / "s.pgm")
    check("saturation is told", code == 0 and "saturated" in err, err)
    code, out, err = run("run", folder / "blur.tess", "ramp:3x300", "-o", folder / "s.pgm", "-q")
    check("quiet", code == 0 and not err, err)
    code, out, err = run("run", folder / "blur.tess", "ramp:3x4", "-o", "-")
    check("standard output", code == 0 and "NUMPY" in out, err)
    code, out, err = run(
        "run", folder / "blur.tess", "-", "-o", folder / "b.npy", stdin=b"P5 3 2 255\n\x01\x02\x03\x04\x05\x06"
    )
    check("standard input", code == 0 and abs(tool.read_npy(folder / "b.npy")[2][0] - 5 / 3) < 1e-6, err)


def test_what_is_asked_in_vain(folder):
    code, out, err = run("run", folder / "blur.tess", "ramp:3x4", "-o", folder / "v.npy", "--general=always")
    check("--general without masks", code == 0 and "takes no masks" in err and err.count("\n") == 1, err)
    code, out, err = run(
        "run", folder / "blur.tess", folder / "no\"ne.npy", "-o", folder / "v.npy", "--diagnostics=json"
    )
    said = [json.loads(line) for line in err.splitlines()]
    check(
        "files in JSON",
        code == 1 and len(said) == 1 and said[0]["severity"] == "error" and 'no"ne.npy' in said[0]["message"], err,
    )
    code, out, err = run("run", folder / "blur.tess", "--diagnostics=json", "--target=foo")
    check("usage in JSON", code == 2 and "--target takes" in json.loads(err)["message"], err)
    asked = (
        (tool.ROOT / "bench/programs/conv2d_given.tess")
        .read_text()
        .replace("convolve(X, w)", "convolve(X, w, method = separable)")
    )
    (folder / "asked.tess").write_text(asked)
    code, out, err = run("run", folder / "asked.tess", "ramp:3x4", "ramp:3x3", "-o", folder / "v.npy")
    check("separable with coefficients of the run", code == 1 and "its coefficients come with the run" in err, err)


def test_check_definitions(folder):
    code, out, err = run("check", tool.ROOT / "lib" / "filters.tess")
    check("a library", code == 0 and not err, err)
    (folder / "mine.tess").write_text("stencil f(vector#2 float a) { return a + q; }\n")
    code, out, err = run("check", folder / "mine.tess")
    check(
        "a mistake in a library", code == 1 and "mine.tess:1:42" in err and "'q'" in err and "return'" not in err, err
    )
    (folder / "half.tess").write_text("stencil f(vector#2 float a) { return a; }\nparameter M, N;\n")
    code, out, err = run("check", folder / "half.tess")
    check("a program without return", code == 1 and "the program has no 'return'" in err, err)


def test_build_headers(folder):
    for suffix, status in ((".c", 0), (".c", 0), (".so", 0), (".cu", 1), (".cl", 1)):
        before = (folder / "kept.h").read_bytes() if (folder / "kept.h").exists() else b""
        code, out, err = run("build", folder / "blur.tess", "-o", folder / ("kept" + suffix))
        good = code == status and (
            status == 0 or ("is the header of a build for C" in err and (folder / "kept.h").read_bytes() == before)
        )
        check(f"build kept{suffix}", good, err)
        check(f"kept{suffix} is written with its header only", (folder / ("kept" + suffix)).exists() == (status == 0))


def test_colour(folder):
    picture = folder / "p.ppm"
    picture.write_bytes(b"P6 2 1 255\n" + bytes([10, 20, 30, 40, 50, 60]))
    code, out, err = run("run", folder / "colour.tess", picture, "-o", folder / "q.ppm")
    check("struct images", code == 0 and (folder / "q.ppm").read_bytes().endswith(bytes([30, 20, 10, 60, 50, 40])), err)
    one_sentence("colour for a grey program", run("run", folder / "blur.tess", picture, "-o", folder / "q.pgm"),
                 ["--gray", "--each-channel"])
    code, out, err = run("run", folder / "blur.tess", picture, "-o", folder / "q.pgm", "--gray")
    check("--gray", code == 0 and (folder / "q.pgm").read_bytes().startswith(b"P5"), err)
    code, out, err = run("run", folder / "blur.tess", picture, "-o", folder / "q.ppm", "--each-channel")
    check(
        "--each-channel", code == 0 and (folder / "q.ppm").read_bytes().endswith(bytes([30, 40, 50, 20, 30, 40])), err
    )
    grey = folder / "g.pgm"
    grey.write_bytes(b"P5 2 1 255\n\x01\x02")
    one_sentence(
        "grey for a colour program", run("run", folder / "colour.tess", grey, "-o", folder / "q.ppm"), ["one channel"]
    )


def test_bad_input(folder):
    blur, a, out_path = folder / "blur.tess", folder / "a.npy", folder / "keep.npy"
    out_path.write_bytes(b"precious")
    bad = [
        ("no such program", ["run", folder / "none.tess", a, "-o", out_path], ["none.tess"]),
        ("a folder as program", ["run", folder, a, "-o", out_path], []),
        ("no such image", ["run", blur, folder / "none.png", "-o", out_path], ["none.png"]),
        ("a folder as image", ["run", blur, folder, "-o", out_path], []),
        ("no image given", ["run", blur, "-o", out_path], ["input"]),
        ("too many images", ["run", blur, a, a, "-o", out_path], []),
        ("unknown name", ["run", blur, a, "sigma=2", "-o", out_path], ["sigma", "it has M, N, input"]),
        ("no number", ["run", folder / "two.tess", a, a, "s=much", "-o", out_path, "-o", folder / "z.npy"], ["much"]),
        ("unknown suffix", ["run", blur, a, "-o", folder / "keep.xyz"], ["xyz"]),
        ("unwritable folder", ["run", blur, a, "-o", folder / "none" / "x.npy"], []),
        ("no such device of CUDA", ["run", blur, a, "-o", out_path, "--target=cuda", "--device=99"], ["CUDA"]),
        ("pseudo of nothing", ["run", blur, "zero:0x4", "-o", out_path], []),
        ("pseudo nonsense", ["run", blur, "zero:axb", "-o", out_path], []),
        ("pseudo of terabytes", ["run", blur, "zero:1000000x100000000", "-o", out_path], []),
        ("no such device", ["run", blur, a, "-o", out_path, "--device=9"], ["device 9"]),
        ("wrong dimensions", ["run", blur, "zero:4", "-o", out_path], ["1 dimension,"]),
        ("no such stop", ["explain", blur, "--dump=grpah"], ["graph"]),
        (
            "no such pass",
            ["explain", blur, "--dump=loops:simplfy"],
            ["'simplfy'", "lower, channels, sampled, simplify"],
        ),
        (
            "no such name of a plan", ["run", blur, a, "-o", out_path, "--plan=nonsense"],
            ["'nonsense'", "lecture-tiled"],
        ),
        ("an image twice", ["run", blur, f"input={a}", f"input={a}", "-o", out_path], ["'input' is given twice"]),
        (
            "a number twice", ["run", folder / "two.tess", a, a, "s=1", "s=2", "-o", out_path, "-o", folder / "z.npy"],
            ["'s' is given twice"],
        ),
        (
            "no mask", ["run", tool.ROOT / "bench/programs/conv2d_given.tess", a, "-o", out_path],
            ["the mask 'w' is not given"],
        ),
        (
            "a line of a plan twice", ["run", blur, a, "-o", out_path, f"--plan={folder / 'twice.plan'}"],
            ["line 5: 'stream' is said twice of the same group"],
        ),
        (
            "channels of mixed types", ["run", folder / "mixed.tess", "-o", out_path, f"{folder / 'a3.npy'}"],
            ["pixels of 3 bytes", "have 5"],
        ),
        ("no such plan", ["run", blur, a, "-o", out_path, f"--plan={folder / 'none.plan'}"], ["none.plan"]),
        ("build to a strange suffix", ["build", blur, "-o", folder / "x.exe"], [".c"]),
    ]
    (folder / "twice.plan").write_text("plan p\ngroup output\nstage output in memory\nstream\nstream\n")
    tool.write_npy(folder / "a3.npy", (2, 2, 3), "|u1", range(12))
    for name, arguments, words in bad:
        one_sentence(name, run(*arguments), words)
    hostile = {
        "truncated.pgm": b"P5 100 100 255\nabc",
        "huge.pgm": b"P5 1000000 1000000 255\nabc",
        "zero.pgm": b"P5 0 5 255\n",
        "text.png": b"this is no picture",
        "cut.png": b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR\xff\xff\xff\xff\xff\xff\xff\xff\x08\x00\x00\x00\x00",
        "empty.npy": b"",
        "huge.npy": b"\x93NUMPY\x01\x00\x50\x00{'descr': '<f4', 'fortran_order': False, 'shape': (4000000000, "
                    b"4000000000), }    \n",
        "cut.jpg": b"\xff\xd8\xff\xe0\x00\x10JFIF",
        "cut.tif": b"II*\x00\x08\x00\x00\x00",
    }
    for name, data in hostile.items():
        (folder / name).write_bytes(data)
        one_sentence(name, run("run", blur, folder / name, "-o", out_path), [name])
    check("nothing was overwritten", out_path.read_bytes() == b"precious")
    check("nothing was left behind", not list(folder.glob("*.tmp*")), str(list(folder.iterdir())))


def test_sizes_contradict(folder):
    tool.write_npy(folder / "small.npy", (2, 2), "<f4", [1, 2, 3, 4])
    one_sentence("sizes that contradict", run("run", folder / "two.tess", folder / "a.npy", folder / "small.npy", "-o",
                                              folder / "x.npy", "-o", folder / "y.npy"), ["'a'", "'b'"])
    (folder / "empty.tess").write_text("parameter M, N;\nvector#2 float X[M, N];\nreturn X[M.., ..];\n")
    one_sentence(
        "an empty part", run("run", folder / "empty.tess", "ramp:3x4", "-o", folder / "x.npy"),
        ["its size is 0 in dimension 0"],
    )


def test_odd_values(folder):
    (folder / "odd.tess").write_text(
        "stencil f(vector#1 float X, int64 k) { return X + k; }\nparameter K, N;\nvector#1 float a[N];\n"
        "int64 k = 0;\np<0> = f(a, k);\nfor i = 1..K\n    p<i> = f(p<i-1>, k);\nendfor\nreturn p<K>;\n"
    )
    for value in ("nan", "inf", "1e300", "2.5", "1e19", "9e18"):
        code, out, err = run("run", folder / "odd.tess", "ramp:9", f"K={value}", "-o", folder / "odd.npy")
        check(f"K={value}", code == 1 and err.count("error[") <= 1 and "internal" not in err and not out, err)
    for value in ("9007199254740993", "1e19", "nan", "2.5", "much", ""):
        one_sentence(
            f"k={value}", run("run", folder / "odd.tess", "ramp:9", "K=2", f"k={value}", "-o", folder / "odd.npy"),
            ["'k'"],
        )


def test_odd_names(folder):
    """The path of a program goes into a comment of generated C, its name becomes that of a function."""
    for name in (
        "*/evil.tess", 'new\nline"quote\\.tess', "-o.tess", "params.tess", "status.tess", "main.tess", "1 b.tess",
        ".tess",
    ):
        (folder / "odd" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "odd" / name).write_text(BLUR)
        code, _, err = run("run", f"odd/{name}", "a.npy", "-o", "odd.npy", "--target=c", "--verify", cwd=folder)
        check(f"a program called {name!r}", code == 0 and "verified" in err, err)


def test_too_much(folder):
    """Bounds on what a text can ask for: each is one limit, told at once."""
    end = "parameter N;\nvector#1 float a[N];\n"
    stencil = "stencil f(vector#1 float X) { return %s; }\n" + end + "return f(a);\n"
    texts = {
        "brackets": stencil % ("(" * 100000 + "X" + ")" * 100000),
        "minus signs": stencil % ("-" * 100000 + "X"),
        "a chain": stencil % ("X" + "+X" * 100000),
        "choices": stencil % ("X>0?1:" * 100000 + "2"),
        "windows": stencil % ("".join(f"sum(i{k}=-9..9 : " for k in range(50)) + "X@[i0]" + ")" * 50),
        "a window": stencil % "sum(i=-999999999..999999999 : X@[i])",
        "turns": end + "p<0> = a;\nfor i = 1..1000000\n    p<i> = p<i-1>;\nendfor\nreturn p<9>;\n",
        "calls": "stencil f0(vector#1 float X) { return X@[1]; }\n"
        + "".join(f"vector f{i}(vector#1 float X) {{ return f{i - 1}(f{i - 1}(X)); }}\n" for i in range(1, 40))
        + end
        + "return f39(a);\n",
        "bytes": end + "return a;" + " " * (1 << 20),
    }
    for name, text in texts.items():
        (folder / "much.tess").write_text(text)
        code, _, err = run("check", folder / "much.tess", timeout=60)
        check(f"too many {name}", code == 1 and "error[E0701]" in err, err[:500])


def test_streams(folder):
    """Standard streams that are closed or full, and a device as the file to write."""
    blur = str(folder / "blur.tess")
    for fd, arguments in (
        (1, ["--help"]), (1, ["explain", blur]), (1, ["run", blur, "ramp:3x4", "-o", "-"]), (0, ["check", "-"]),
        (0, ["run", blur, "-", "-o", str(folder / "x.npy")]),
    ):
        done = subprocess.run([tool.TOOL, *arguments], capture_output=True, text=True, preexec_fn=lambda: os.close(fd))
        one_sentence(f"closed {fd}: {arguments[0]}", (done.returncode, done.stdout, done.stderr))
    if not os.path.exists("/dev/full"):
        return
    with open("/dev/full", "w") as full:
        done = subprocess.run([tool.TOOL, "explain", blur, "--dump=c"], stdout=full, stderr=subprocess.PIPE, text=True)
    one_sentence("a full standard output", (done.returncode, "", done.stderr))


def test_full_disk(folder):
    if not os.path.exists("/dev/full"):
        print("skipped: no /dev/full here")
        return
    code, out, err = run("run", folder / "blur.tess", folder / "a.npy", "-o", "/dev/full")
    check("full disk", code == 1 and "tessera:" in err, err)
    link = folder / "full.npy"
    link.symlink_to("/dev/full")
    one_sentence("full disk behind a name", run("run", folder / "blur.tess", folder / "a.npy", "-o", link))


def test_no_room(folder):
    """A disk that fills up while a file is written: here a limit on the size of files, which fails in the same call."""
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    place = folder / "no-room"
    place.mkdir()
    for name in ("big.npy", "big.pgm", "big.pfm", "big.png", "big.tif", "big.jpg"):
        (place / name).write_bytes(b"precious")
        done = subprocess.run(
            [
                tool.TOOL, "run", str(folder / "blur.tess"), "random:1:300x300", "-o", str(place / name),
                "--target=interp", "-q",
            ],
            capture_output=True,
            text=True,
            preexec_fn=limit,
            cwd=tool.ROOT,
        )
        known = "made without" not in done.stderr
        check(f"no room for {name}", done.returncode == 1 and done.stderr.startswith("tessera: "), done.stderr)
        check(f"{name} is as it was", (place / name).read_bytes() == b"precious" or not known)
    check(
        "no temporary file is left",
        sorted(p.name for p in place.iterdir())
        == sorted(("big.npy", "big.pgm", "big.pfm", "big.png", "big.tif", "big.jpg")),
        str(list(place.iterdir())),
    )


def test_large_but_fits(folder):
    """Stages that the plan recomputes need no memory, and are not counted: together they would not fit."""
    steps = 60
    (folder / "chain.tess").write_text(
        "stencil f(vector#1 float X) { return X * 0.5 + 1; }\nparameter N;\nvector#1 float a[N];\n"
        "t0 = f(a);\n" + "".join(f"t{i} = f(t{i - 1});\n" for i in range(1, steps + 1)) + f"return t{steps};\n"
    )  # a loop would be a repeat, of two images
    n = int(
        0.9 * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (4 * steps)
    )  # every stage stored: more than there is
    code, _, err = run(
        "run", folder / "chain.tess", f"zero:{n}", "-o", folder / "w.npy", "--target=c",
        env={"TESSERA_CACHE": str(folder / "chain-cache")},
    )  # a fresh cache: the check before compiling takes part
    check("recomputed stages need no memory", code == 0, err)
    (folder / "w.npy").unlink(missing_ok=True)
    one_sentence(
        "the interpreter stores every stage",
        run("run", folder / "chain.tess", f"zero:{n}", "-o", folder / "w.npy", "--target=interp"), ["memory"],
    )


def test_progress(folder):
    """Work longer than a second shows on a terminal, and only there."""
    arguments = [
        tool.TOOL, "run", str(folder / "blur.tess"), "random:1:3000x3000", "-o", str(folder / "p.npy"),
        "--target=interp",
    ]
    master, slave = pty.openpty()
    child = subprocess.Popen(arguments, stderr=slave, cwd=tool.ROOT)
    os.close(slave)
    shown = b""
    try:
        while piece := os.read(master, 4096):
            shown += piece
    except OSError: # the terminal's other end was closed
        pass
    os.close(master)
    check("progress on a terminal", child.wait() == 0 and b"running ... 1 s" in shown, shown)
    done = subprocess.run(arguments, capture_output=True, cwd=tool.ROOT)
    check("no progress elsewhere", done.returncode == 0 and not done.stderr, done.stderr)


def test_too_large(folder):
    """A run that would fill more memory than there is ends with a sentence, and before it has filled it."""
    (folder / "long.tess").write_text(
        "stencil f(vector#1 uint8 X) { return cast<double>(median(i = -1..1 : X@[i])); }\n"
        "stencil g(vector#1 double X) { return median(i = -1..1 : X@[i]); }\n"
        "parameter N;\nvector#1 uint8 a[N];\n"
        "t<0> = f(a);\nfor i = 1..29\n    t<i> = g(t<i-1>);\nendfor\n"
        f"return {', '.join(f't<{i}>' for i in range(30))};\n"
    )
    results = [argument for i in range(30) for argument in ("-o", folder / f"w{i}.npy")]
    for target in ("interp", "c"):
        one_sentence(
            f"too large for {target}",
            run("run", folder / "long.tess", "zero:400000000", *results, f"--target={target}"), ["memory"],
        )


def test_without_compiler(folder):
    env = {"TESSERA_CC": str(folder / "no-such-cc"), "TESSERA_CACHE": str(folder / "empty-cache")}
    arguments = ["run", folder / "blur.tess", folder / "a.npy", "-o", folder / "b.npy"]
    for target in ("--target=c", "--target=auto"): # a wrong name is no reason to be slow
        one_sentence("a compiler that is not there", run(*arguments, target, env=env), ["no-such-cc", "TESSERA_CC"])
    env = {"PATH": str(folder), "TESSERA_CACHE": str(folder / "empty-cache"), "TESSERA_CC": ""}
    code, out, err = run(*arguments, env=env)
    check("auto falls back to the strip machine and says so", code == 0 and "strip machine" in err, err)
    broken = folder / "broken-cc"
    broken.write_text("#!/bin/sh\necho 'the compiler is ill' >&2\nexit 3\n")
    broken.chmod(0o755)
    env = {"TESSERA_CC": str(broken), "TESSERA_CACHE": str(folder / "empty-cache")}
    code, out, err = run(*arguments, "--target=c", env=env)
    check("a compiler that fails", code == 1 and "tessera:" in err, err)
    one_sentence("auto does not hide a compiler that fails", run(*arguments, env=env), ["broken-cc", "TESSERA_CC"])
    broken.write_text(
        "#!/bin/sh\n[ \"$1\" = --version ] && echo cc 1 && exit 0\ncase \"$*\" in *program.c*) echo 'error: it is "
        "ill' >&2; exit 3;; esac\nexec cc \"$@\"\n"
    )
    one_sentence("a compiler that fails on programs", run(*arguments, "--target=c", env=env), ["it is ill"])


def test_cache(folder):
    env = {"TESSERA_CACHE": str(folder / "cache")}
    arguments = ["run", folder / "blur.tess", folder / "a.npy", "-o", folder / "b.npy", "--target=c", "--time"]
    _, _, first = run(*arguments, env=env)
    _, _, second = run(*arguments, env=env)
    check("the second run is cached", "cached" not in first and "cached" in second, first + second)
    for entry in (folder / "cache").rglob("*.so"):
        entry.write_bytes(entry.read_bytes()[:100])
    code, _, err = run(*arguments, env=env)
    check("a damaged entry is made anew", code == 0 and "cached" not in err, err)
    env = {"TESSERA_CACHE": "/proc/no/such/place"}
    code, _, err = run(*arguments, env=env)
    check(
        "without a usable cache it goes on, and says so",
        code == 0 and err.count("\n") == 2 and "without a cache" in err and "'/proc/no'" in err, err,
    )
    check("nothing said when quiet", run(*arguments[:-1], "-q", env=env)[::2] == (0, ""))


def test_explain(folder):
    for stop, words in (
        ("ast", ["blurx"]), ("types", ["float"]), ("graph", ["stage"]), ("analysis", ["output"]), ("plan", ["group"]),
        ("loops", ["for"]), ("c", ["TESS_PARALLEL", "output"]), ("header", ["int blur"]),
    ):
        code, out, err = run("explain", folder / "blur.tess", f"--dump={stop}")
        check(f"dump {stop}", code == 0 and all(word in out for word in words), out[:300] + err)
        check(f"dump {stop} is deterministic", out == run("explain", folder / "blur.tess", f"--dump={stop}")[1])
    last = run("explain", folder / "blur.tess", "--dump=loops:late")[1]
    check("the last pass leaves the loops", last and last == run("explain", folder / "blur.tess", "--dump=loops")[1])
    code, out, err = run("explain", folder / "blur.tess", "--time-passes")
    check(
        "passes are timed",
        code == 0
        and all(f"ms  {name}\n" in out for name in ("parse", "plan", "lower", "loops:simplify", "print", "all")),
        out + err,
    )
    code, out, err = run("explain", folder / "blur.tess")
    (folder / "blur.plan").write_text(out)
    code, _, err = run(
        "run", folder / "blur.tess", folder / "a.npy", "-o", folder / "b.npy", f"--plan={folder / 'blur.plan'}",
        "--verify",
    )
    check("the plan replays", code == 0, err)
    (folder / "bad.plan").write_text("this is no plan\n")
    code, _, err = run(
        "run", folder / "blur.tess", folder / "a.npy", "-o", folder / "b.npy", f"--plan={folder / 'bad.plan'}"
    )
    check("a bad plan is refused", code == 1 and "plan" in err, err)


def test_tune(folder):
    """Plans are measured, the best is written with what was measured, and a run by it gives the same pixels."""
    plan = folder / "tuned.plan"
    code, out, err = run("tune", folder / "blur.tess", "random:1:90x301", "-o", plan, "--seconds=3")
    check("tune", code == 0 and not out and "plans measured" in err and err.count("\n") == 1, out + err)
    text = plan.read_text()
    check("reasons of a tuned plan", "why measured: the program takes" in text, text)
    code, out, err = run(
        "run", folder / "blur.tess", "random:2:33x40", f"--plan={plan}", "-o", folder / "tuned.npy", "--verify"
    )
    check("run by a tuned plan", code == 0, err)
    code, out, err = run("explain", folder / "blur.tess", "random:1:90x301", "--regret", "--seconds=1")
    check("regret", code == 0 and re.search(r"^regret -?[0-9.]+ %$", out, re.M), out + err)
    code, out, err = run("tune", folder / "blur.tess", "random:1:90x301", "-o", plan, "--seconds=4", "--target=opencl")
    check(
        "tune on a device, or a sentence why not",
        ("plans measured" if code == 0 else "OpenCL") in err and err.count("\n") == 1, out + err,
    )
    if code == 0:
        text = plan.read_text()
        check("a tuned plan of kernels", "target gpu" in text and "why measured: the program takes" in text, text)
        code, out, err = run(
            "run", folder / "blur.tess", "random:2:33x40", f"--plan={plan}", "-o", folder / "tuned.npy", "--verify",
            "--target=opencl",
        )
        check("run by a tuned plan of kernels", code == 0, err)
        code, out, err = run(
            "explain", folder / "blur.tess", "random:1:90x301", "--regret", "--seconds=2", "--target=opencl"
        )
        check("regret of kernels", code == 0 and re.search(r"^regret -?[0-9.]+ %$", out, re.M), out + err)
        if tool.turn(0, 12):  # so much for the host that runs which are not measured go strip by strip
            (folder / "large.tess").write_text(
                "stencil f(vector#2 uint8 X) { return 2.0d * X; }\nparameter M, N;\nvector#2 uint8 a[M, N];\n"
                "return f(a), f(a) + 1;\n"
            )
            code, out, err = run(
                "tune", folder / "large.tess", "zero:8200x8200", "-o", plan, "--seconds=1", "--target=opencl"
            )
            check("tune on more than strips hold", code == 0 and "plans measured" in err, out + err)
    one_sentence(
        "tune for the interpreter", run("tune", folder / "blur.tess", "random:1:9x9", "-o", plan, "--target=interp"),
        ["c, cuda and opencl"],
    )
    one_sentence("tune without an output", run("tune", folder / "blur.tess", "random:1:9x9"), ["-o"], 2)
    one_sentence(
        "tune by a plan that is not there",
        run("tune", folder / "blur.tess", "random:1:9x9", "-o", folder / "no.plan", "--plan=/no/such"), ["/no/such"],
    )
    one_sentence("tune without images", run("tune", folder / "blur.tess", "-o", folder / "no.plan"), ["image"])
    one_sentence(
        "no time", run("tune", folder / "blur.tess", "random:1:9x9", "-o", plan, "--seconds=0"), ["--seconds"], 2
    )


def test_bench(folder):
    code, out, err = run("bench", folder / "blur.tess", "random:1:64x64", "--runs=5")
    check("bench", code == 0 and "copy" in out and "median" in out, err)
    code, out, err = run("bench", folder / "blur.tess", "random:1:64x64", "--runs=5", "--json")
    record = json.loads(out) if code == 0 else {}
    keys = {
        "program", "target", "device", "dtype", "sizes", "plan", "median_ms", "min_ms", "runs", "copy_ms",
        "share_of_copy", "gflops", "compile_ms", "predicted_ms", "bound_ms", "share_of_bound",
    }
    check("bench --json", keys <= set(record) and record["runs"] == 5 and record["sizes"] == [[64, 64]], out + err)


with tool.workspace() as place:
    place = pathlib.Path(place)
    (place / "blur.tess").write_text(BLUR)
    (place / "two.tess").write_text(TWO)
    (place / "colour.tess").write_text(COLOUR)
    tool.write_npy(place / "a.npy", (2, 3), "<f4", [1, 2, 3, 4, 5, 6])
    for test in (
        test_information, test_usage, test_words_out_of_place, test_check, test_check_definitions, test_build_headers,
        test_what_is_asked_in_vain, test_library_types, test_run, test_colour, test_bad_input, test_sizes_contradict,
        test_odd_values, test_odd_names, test_too_much, test_streams, test_full_disk, test_no_room,
        test_large_but_fits, test_progress, test_too_large, test_without_compiler, test_cache, test_explain, test_tune,
        test_bench,
    ):
        test(place)
tool.finish()
