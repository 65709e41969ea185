"""Moving pictures frame by frame through files and pipes. They are written and read here by code of the test's own."""
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import tool  # noqa: E402
from tool import check, run  # noqa: E402

INTERP = "--target=interp"
WIDTH, HEIGHT, FRAMES = 6, 4, 3


def raw(*arguments, stdin):
    done = subprocess.run([tool.TOOL, *map(str, arguments)], input=stdin, capture_output=True)
    return done.returncode, done.stdout, done.stderr.decode()


def plane(n, seed, most=255):
    return [(seed + 37 * k) % (most + 1) for k in range(n)]


def y4m(space, sizes, code="B", most=255, rest="F25:1 Ip A1:1"):
    """The video, and its frames as lists of planes."""
    frames = [[plane(n, 5 * f + 11 * p, most) for p, n in enumerate(sizes)] for f in range(FRAMES)]
    text = f"YUV4MPEG2 W{WIDTH} H{HEIGHT} {rest} C{space}\n".encode()
    for frame in frames:
        text += b"FRAME\n" + b"".join(struct.pack(f"<{len(p)}{code}", *p) for p in frame)
    return text, frames


def read_y4m(data, sizes, code="B"):
    head, rest = data.split(b"\n", 1)
    frames = []
    while rest:
        assert rest.startswith(b"FRAME\n")
        rest, frame = rest[6:], []
        for n in sizes:
            size = struct.calcsize(f"<{n}{code}")
            frame.append(list(struct.unpack(f"<{n}{code}", rest[:size])))
            rest = rest[size:]
        frames.append(frame)
    return head.decode().split(" "), frames


def test_info(folder):
    """Frames are counted by the size of the file; of a pipe they are not known."""
    n = WIDTH * HEIGHT
    video, _ = y4m("420p10", (n, n // 4, n // 4), "H", 1023, "F30000:1001 Ip A1:1")
    path = folder / "told.y4m"
    path.write_bytes(video)
    status, out, err = run("info", path)
    check("info of a video", status == 0 and not err and out.splitlines() == [
        f"{path}: video (y4m), 420p10 as uint16, {HEIGHT} x {WIDTH}, 3 channels", f"  frames: {FRAMES}",
        "  frames a second: 29.97 (30000/1001)"], out + err)
    status, out, err = run("info", "--json", path)
    told = json.loads(out)
    check("as JSON", status == 0 and told["frames"] == FRAMES and told["cut"] is False
          and told["rate"] == [30000, 1001] and told["shape"] == [HEIGHT, WIDTH, 3], out + err)
    (folder / "cut.dat").write_bytes(video[:-1]) # known by its content
    status, out, err = run("info", folder / "cut.dat")
    check("a part of a frame", status == 0 and f"frames: {FRAMES - 1}, and a part of one" in out, out + err)
    status, out, err = raw("info", "-", stdin=video)
    check("of a pipe", status == 0 and b"frames:" not in out and b"29.97" in out and not err, out)
    (folder / "bare.y4m").write_bytes(y4m("mono", (n,), rest="F0:0 Ip")[0])
    status, out, err = run("info", folder / "bare.y4m")
    check("no rate", status == 0 and "second" not in out and f"{HEIGHT} x {WIDTH}\n" in out, out + err)
    (folder / "bad.y4m").write_bytes(b"YUV4MPEG2 W0 H4\n")
    status, out, err = run("info", folder / "bad.y4m")
    check("a head that says nothing", status == 1 and "no size" in err and err.count("\n") == 1 and not out, err)


def test_batch(folder, luma):
    """Videos by a pattern: one after the other, each as in a run of its own; what fails, fails alone."""
    source, out = folder / "videos", folder / "videos-out"
    source.mkdir()
    out.mkdir()
    n = WIDTH * HEIGHT
    sizes = (n, n // 4, n // 4)
    video, _ = y4m("420jpeg", sizes)
    (source / "a.y4m").write_bytes(video)
    (source / "b.y4m").write_bytes(video[:-1])
    (source / "c.y4m").write_bytes(y4m("444", (n, n, n))[0].replace(b"W6 H4", b"W4 H6"))
    (source / "d.y4m").write_bytes(b"YUV4MPEG2 W0 H4\n")
    status, printed, err = run("run", luma, source / "*.y4m", "gain=2", "-o", out / "{name}_n.y4m", INTERP)
    lines = err.splitlines()
    check("videos of a batch", status == 1 and not printed
          and sorted(p.name for p in out.iterdir()) == ["a_n.y4m", "c_n.y4m"], err)
    check("what failed", len(lines) == 5 and "b.y4m" in lines[0] and "frame 3" in lines[0] and "no size" in lines[1]
          and "d.y4m" in lines[1] and "2 of 4 failed" in lines[2] and lines[3:] == [f"  {source / 'b.y4m'}",
                                                                              f"  {source / 'd.y4m'}"], err)
    for name in "ac":
        run("run", luma, source / f"{name}.y4m", "-o", folder / "alone.y4m", INTERP)
        check(f"{name} as alone", (out / f"{name}_n.y4m").read_bytes() == (folder / "alone.y4m").read_bytes())
    # A program for any type has an instance for each kind of frames; numbers have their file in front.
    some = folder / "any.tess"
    some.write_text("parameter M, N;\nvector#2 any a[M, N];\nreturn a, maximum(a);\n")
    status, printed, err = run("run", some, source / "[ac].y4m", "-o", out / "{name}_any.y4m", INTERP)
    check("of any type", status == 0 and not err and (out / "a_any.y4m").read_bytes().endswith(video[-n:])
          and printed.count("a.y4m: maximum(a)") == FRAMES and "c.y4m: maximum(a)" in printed, printed + err)
    # Pictures beside them: one for all, or one for each name.
    beside = folder / "beside.tess"
    beside.write_text("parameter M, N;\nvector#2 uint8 a[M, N];\nvector#2 uint8 b[M, N];\nreturn max(a, b);\n")
    (source / "e.y4m").write_bytes(video)
    for name in "ae":
        (source / f"{name}.pgm").write_bytes(b"P5\n%d %d\n255\n" % (WIDTH, HEIGHT) + name.encode() * n)
    status, _, err = run("run", beside, source / "{name}.y4m", source / "{name}.pgm", "-o", out / "{name}.y4m", INTERP)
    check("a partner is missing", status == 1 and err.count("\n") == 1 and "{name}.pgm" in err, err)
    for name in "bcd":
        (source / f"{name}.y4m").unlink()
    status, _, err = run("run", beside, source / "{name}.y4m", source / "{name}.pgm", "-o", out / "{name}.y4m", INTERP)
    least = [min(f[0]) for f in read_y4m((out / "e.y4m").read_bytes(), sizes)[1]]
    check("two patterns", status == 0 and not err and least == [ord("e")] * FRAMES, (least, err))
    # A page of a stack beside a video.
    tool.write_npy(folder / "stack.npy", (3, HEIGHT, WIDTH), "|u1", [k // n * 90 for k in range(3 * n)])
    status, _, err = run("run", beside, source / "a.y4m", folder / "stack.npy", "--page=3", "-o", out / "page.y4m",
                         INTERP)
    least = [min(f[0]) for f in read_y4m((out / "page.y4m").read_bytes(), sizes)[1]] if status == 0 else []
    check("a page beside a video", status == 0 and least == [180] * FRAMES, (least, err))
    status, _, err = run("run", luma, source / "a.y4m", "--page=3", "-o", out / "page.y4m", INTERP)
    check("a page of nothing", status == 1 and "--page=3" in err and err.count("\n") == 1, err)
    whole = folder / "whole.tess"
    whole.write_text("parameter M, N;\nvector#2 uint8 a[M, N];\nvector#3 uint8 s[3, M, N];\n"
                     "return max(a, s[=1, .., ..]);\n")
    status, _, err = run("run", whole, source / "a.y4m", folder / "stack.npy", "-o", out / "slice.y4m", INTERP)
    least = [min(f[0]) for f in read_y4m((out / "slice.y4m").read_bytes(), sizes)[1]] if status == 0 else []
    check("a stack beside a video", status == 0 and least == [90] * FRAMES, (least, err))
    status, _, err = run("run", luma, source / "*.y4m", "-o", out / "{name}.png", INTERP)
    check("results that are no videos", status == 2 and "NAME.y4m" in err and err.count("\n") == 1, err)


def counted(folder, compiler):
    """An environment with an empty cache and a compiler that writes a line whenever it is started, and that file."""
    folder.mkdir()
    (folder / "cache").mkdir(mode=0o700)
    starts, cc = folder / "starts", folder / "cc"
    starts.write_text("")
    cc.write_text(f'#!/bin/sh\necho "$@" >> "{starts}"\nexec {compiler} "$@"\n')
    cc.chmod(0o700)
    return {"TESSERA_CC": str(cc), "TESSERA_CACHE": str(folder / "cache")}, starts


def test_compiled_once(folder, luma):
    """A program is compiled once for all frames of a video, and for all videos of a batch, whatever their sizes."""
    compiler = os.environ.get("TESSERA_CC") or shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if not compiler:
        return
    n, source = WIDTH * HEIGHT, folder / "alike"
    source.mkdir()
    video, _ = y4m("420jpeg", (n, n // 4, n // 4))
    other = y4m("444", (n, n, n))[0].replace(b"W6 H4", b"W4 H6")
    for name, data in (("a", video), ("b", video), ("c", other)):
        (source / f"{name}.y4m").write_bytes(data)

    def modules(env):
        return sorted(p.name for p in pathlib.Path(env["TESSERA_CACHE"]).rglob("*.so"))

    env, starts = counted(folder / "picture", compiler)
    (folder / "one.pgm").write_bytes(b"P5\n%d %d\n255\n" % (WIDTH, HEIGHT) + b"x" * n)
    status, _, err = run("run", luma, folder / "one.pgm", "-o", folder / "one_n.pgm", "--target=c", env=env)
    picture, kept = starts.read_text().count("\n"), modules(env)
    check("a picture", status == 0 and picture > 0 and kept, err)
    env, starts = counted(folder / "frames", compiler)
    status, _, err = run("run", luma, source / "a.y4m", "-o", folder / "frames.y4m", "--target=c", env=env)
    check("a video as often as a picture", status == 0 and starts.read_text().count("\n") == picture
          and len(modules(env)) == len(kept), (picture, starts.read_text(), modules(env), err))
    status, _, err = run("run", luma, source / "[ab].y4m", "-o", folder / "{name}_w.y4m", "--target=c", env=env)
    check("not at all when it is known", status == 0 and starts.read_text().count("\n") == picture,
          (starts.read_text(), err))
    env, starts = counted(folder / "batch", compiler)
    status, _, err = run("run", luma, source / "*.y4m", "-o", folder / "{name}_x.y4m", "--target=c", env=env)
    check("videos of a batch as often", status == 0 and starts.read_text().count("\n") == picture
          and len(modules(env)) == len(kept), (picture, starts.read_text(), modules(env), err))


def test_sizes(folder, luma):
    """Frames of another size than the first, or than an image beside them: one sentence, and no result."""
    n, out = WIDTH * HEIGHT, folder / "sizes.raw"
    video, _ = y4m("mono", (n,))
    smaller = video.replace(b"W6 H4", b"W3 H2")
    (folder / "small.pgm").write_bytes(b"P5\n3 2\n255\nabcdef")
    both = folder / "both.tess"
    both.write_text("parameter M, N;\nvector#2 uint8 a[M, N];\nvector#2 uint8 b[M, N];\nreturn max(a, b);\n")
    raw_form, small = f"--video=gray:{WIDTH}x{HEIGHT}", folder / "small.pgm"
    for what, words, data, said in (
        ("half a frame without a head", [luma, "-", raw_form], bytes(2 * n - 1), "middle of frame 2"),
        ("less than one", [luma, "-", raw_form], bytes(n - 1), "middle of frame 1"),
        ("another size behind it", [luma, "-", "--video=y4m"], video + smaller, f"frame {FRAMES + 1} of the"),
        ("a smaller frame", [luma, "-", "--video=y4m"], video[:-n] + bytes(6), f"middle of frame {FRAMES}"),
        ("an image of another size", [both, "-", small, raw_form], bytes(n), "'b' is 2 rows by 3 columns"),
    ):
        name = out if raw_form in words else out.with_suffix(".y4m")
        status, printed, err = raw("run", *words, "-o", name, INTERP, stdin=data)
        check(what, status == 1 and said in err and err.count("\n") == 1 and not printed and not name.exists(), err)


def main():
    with tool.workspace() as name:
        folder = pathlib.Path(name)
        luma = folder / "luma.tess"
        luma.write_text("stencil f(vector#2 uint8 X) { return cast<uint8>(255 - X); }\nparameter M, N;\n"
                        "vector#2 uint8 a[M, N];\nfloat gain = 1;\nreturn f(a);\n")
        n = WIDTH * HEIGHT
        # 4:2:0: the luma goes through the program, the chroma past it. Through files and pipes.
        sizes = (n, n // 4, n // 4)
        video, frames = y4m("420jpeg", sizes)
        (folder / "in.y4m").write_bytes(video)
        status, _, err = run("run", luma, folder / "in.y4m", "gain=2", "-o", folder / "out.y4m", INTERP)
        piped = raw("run", luma, "-", "--video=y4m", "-o", "-", INTERP, stdin=video)
        want = [[[255 - v for v in y], u, v] for y, u, v in frames]
        head, got = read_y4m((folder / "out.y4m").read_bytes(), sizes)
        check("luma of 4:2:0", status == 0 and got == want and not err, err)
        check("its head", head == ["YUV4MPEG2", "W6", "H4", "F25:1", "Ip", "A1:1", "C420"], head)
        check("the same through pipes", piped[0] == 0 and piped[1] == (folder / "out.y4m").read_bytes(), piped[2])
        # 4:4:4: three fields; rounded and saturated.
        fields = folder / "fields.tess"
        fields.write_text("struct yuv { float y; float u; float v; }\nparameter M, N;\nvector#2 yuv a[M, N];\n"
                          "return a * 1.5, maximum(a.y);\n")
        video, frames = y4m("444", (n, n, n))
        status, out, err = raw("run", fields, "-", "--video=y4m", "-o", folder / "x.y4m", INTERP, stdin=video)
        _, got = read_y4m((folder / "x.y4m").read_bytes(), (n, n, n))
        check("three fields", status == 0
              and got == [[[min(255, round(1.5 * v)) for v in p] for p in f] for f in frames]
              and "did not fit" in err, err)
        check("numbers of each frame", out.decode() == "".join(f"maximum(a.y) {max(f[0])}\n" for f in frames), out)
        # 10 bits, and a result of another size, which is mono.
        part = folder / "part.tess"
        part.write_text("parameter M, N;\nvector#2 uint16 a[M, N];\nreturn a[1..M-2, ..];\n")
        video, frames = y4m("420p10", sizes, "H", 1023)
        status, out, err = raw("run", part, "-", "--video=y4m", "-o", "-", INTERP, stdin=video)
        head, got = read_y4m(out, (WIDTH * (HEIGHT - 2),), "H")
        check("10 bits of another size", status == 0 and head[-1] == "Cmono10" and head[2] == "H2"
              and got == [[f[0][WIDTH:-WIDTH]] for f in frames], (head, err))
        # Images of any type take the samples of the video: luma, three fields of 4:4:4, channels.
        some = folder / "some.tess"
        some.write_text("parameter M, N;\nvector#2 any a[M, N];\nvector#2 any b[M, N];\nreturn max(a, b);\n")
        for space, sizes_of, want in (("420jpeg", sizes, [255, 0, 0]), ("444", (n, n, n), [255] * 3)):
            video, frames = y4m(space, sizes_of)
            other = "rgb255.ppm" if space == "444" else "white.pgm"
            kind, count = (6, 3 * n) if space == "444" else (5, n)
            (folder / other).write_bytes(b"P%d\n%d %d\n255\n" % (kind, WIDTH, HEIGHT) + b"\xff" * count)
            status, out, err = raw("run", some, "-", folder / other, "--video=y4m", "-o", "-", INTERP, stdin=video)
            _, got = read_y4m(out, sizes_of)
            check(f"any of {space}", status == 0
                  and got == [[[max(w, x) for x in p] for w, p in zip(want, f)] for f in frames], err)
        status, out, err = raw("apply", "dilate", "radius=1", "-", f"--video=gray16le:{WIDTH}x{HEIGHT}", "-o", "-",
                               INTERP, stdin=bytes(range(2 * n)))
        check("a filter on a video", status == 0 and len(out) == 2 * n, err)
        # Frames without a head.
        same = folder / "same.tess"
        same.write_text("struct rgb { uint8 r; uint8 g; uint8 b; }\nparameter M, N;\nvector#2 rgb a[M, N];\n"
                        "return a[.., ..], a.g;\n")
        pixels = bytes(k % 251 for k in range(3 * n * FRAMES))
        status, out, err = raw("run", same, "-", f"--video=rgb24:{WIDTH}x{HEIGHT}", "-o", "-", "-o", folder / "g.raw",
                               INTERP, stdin=pixels)
        check("frames of rgb24", status == 0 and out == pixels and (folder / "g.raw").read_bytes() == pixels[1::3], err)
        # A reader gets each frame before the next one is asked for.
        child = subprocess.Popen([tool.TOOL, "run", luma, "-", f"--video=gray:{WIDTH}x{HEIGHT}", "-o", "-", INTERP],
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for k in range(2):
            child.stdin.write(bytes(range(k, k + n)))
            child.stdin.flush()
            got = b""
            while len(got) < n:
                got += os.read(child.stdout.fileno(), n - len(got))
            check(f"frame {k} at once", got == bytes(255 - v for v in range(k, k + n)), got)
        child.stdin.close()
        check("and the end", child.wait() == 0 and child.stdout.read() == b"")
        child.stdout.close()
        # What makes no sense: one sentence, and nothing half-written.
        video, _ = y4m("420", sizes)
        out = folder / "out.y4m"
        out.write_bytes(b"precious")
        for data, words, what in (
            (video[:-1], [luma], "middle of frame 3"), (video + b"x\n", [luma], "frame 4"),
            (video[:60].split(b"\n")[0] + b"\n", [luma], "no frames"), (b"YUV4MPEG2 W0 H4\n", [luma], "no size"),
            (video.replace(b"C420", b"C410"), [luma], "colour space"), (video, [fields], "less chroma"),
            (b"P5 1 1 255\n1", [luma], "no y4m"), (video, [luma, "-o", folder / "x.png"], "NAME.y4m"),
            (video, [luma, "zero:2x2"], "no image is left"), (b"", [luma], "no y4m"),
        ):
            outputs = [] if "-o" in words else ["-o", out]
            status, printed, err = raw("run", *words[:1], "-", *words[1:], "--video=y4m", *outputs, INTERP, stdin=data)
            check(what, status != 0 and what in err and err.count("\n") == 1 and not printed, err)
        status, _, err = raw("run", luma, "-", "--video=rgb25:4x4", "-o", "-", INTERP, stdin=b"")
        check("a form that there is not", status == 1 and "no form of video" in err, err)
        check("nothing was written", out.read_bytes() == b"precious"
              and not [p for p in folder.iterdir() if "tess-" in p.name])
        test_info(folder)
        test_batch(folder, luma)
        test_compiled_once(folder, luma)
        test_sizes(folder, luma)
    tool.finish()


main()
