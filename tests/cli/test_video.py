"""Moving pictures frame by frame through files and pipes. They are written and read here by code of the test's own."""
import os
import pathlib
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
        status, _, err = run("info", folder / "in.y4m")
        check("info names it", status == 1 and "video" in err, err)
    tool.finish()


main()
