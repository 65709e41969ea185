"""Image files through the tool: every element type to TIFF and back, pages, bits, depth, and what a picture does not
hold. The files are written and read here by code that shares nothing with the tool's."""
import array
import os
import pathlib
import re
import resource
import struct
import subprocess
import sys
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import tool  # noqa: E402
from tool import check, run  # noqa: E402

TYPES = {
    "int8": "b", "uint8": "B", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I", "int64": "q", "float": "f",
    "double": "d",
}
NPY = {
    "int8": "|i1", "uint8": "|u1", "int16": "<i2", "uint16": "<u2", "int32": "<i4", "uint32": "<u4", "int64": "<i8",
    "float": "<f4", "double": "<f8", "bool": "|b1",
}
EDGES = {
    "b": (-128, 127), "B": (0, 255), "h": (-32768, 32767), "H": (0, 65535), "i": (-(2**31), 2**31 - 1),
    "I": (0, 2**32 - 1), "q": (-(2**63), 2**63 - 1), "f": (-9999.5, 3.0e38), "d": (-9999.25, 1e300),
}


def program(folder, element, dims, name="a"):
    """Gives back what it gets."""
    sizes = ["L", "M", "N"][3 - dims:]
    path = folder / f"{name}-{element}-{dims}.tess"
    path.write_text(f"stencil same(vector#{dims} {element} X) {{ return X; }}\nparameter {', '.join(sizes)};\n"
                    f"vector#{dims} {element} {name}[{', '.join(sizes)}];\nreturn same({name});\n")
    return path


def read_tiff(path):
    """Pages of an uncompressed little-endian TIFF: [(rows, columns, channels, bits, format, bytes)]"""
    data = pathlib.Path(path).read_bytes()
    assert data[:4] == b"II*\0"
    pages, (at,) = [], struct.unpack("<I", data[4:8])
    while at:
        (n,) = struct.unpack_from("<H", data, at)
        tags = {}
        for k in range(n):
            tag, kind, count, value = struct.unpack_from("<HHI4s", data, at + 2 + 12 * k)
            code = {3: "H", 4: "I"}.get(kind)
            if code:
                size = struct.calcsize(code) * count
                raw = value[:size] if size <= 4 else data[struct.unpack("<I", value)[0]:][:size]
                tags[tag] = struct.unpack(f"<{count}{code}", raw)
        (at,) = struct.unpack_from("<I", data, at + 2 + 12 * n)
        assert tags[259] == (1,) and tags.get(284, (1,)) == (1,)
        pixels = b"".join(data[o:o + c] for o, c in zip(tags[273], tags[279]))
        pages.append((tags[257][0], tags[256][0], tags[277][0], tags[258][0], tags.get(339, (1,))[0], pixels))
    return pages


def write_tiff(path, pages, order="<"):
    """pages: [(rows, columns, bits, bytes, {more tags: value})] of one channel, one strip each."""
    out = bytearray((b"II*\0" if order == "<" else b"MM\0*") + struct.pack(order + "I", 0))
    link = 4
    for rows, columns, bits, pixels, more in pages:
        strip = len(out)
        out += pixels + b"\0" * (len(pixels) % 2)
        struct.pack_into(order + "I", out, link, len(out))
        tags = {
            256: columns, 257: rows, 258: bits, 259: 1, 262: 1, 273: strip, 277: 1, 278: rows, 279: len(pixels),
            **more,
        }
        out += struct.pack(order + "H", len(tags))
        for tag, value in sorted(tags.items()):
            out += struct.pack(order + "HHII", tag, 4, 1, value)
        link = len(out)
        out += struct.pack(order + "I", 0)
    pathlib.Path(path).write_bytes(out)


def png(path, rows, columns, bits, lines, lace=0):
    """A grey picture."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    deflate = zlib.compressobj(9)
    data = b"".join(deflate.compress(b"\0" + line) for line in lines) + deflate.flush()
    pathlib.Path(path).write_bytes(
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", columns, rows, bits, 0, 0, 0, lace))
        + chunk(b"IDAT", data)
        + chunk(b"IEND", b"")
    )


def read_png(path):
    """(rows, columns, bits, values) of a grey picture without filters other than those of the standard"""
    data, at, idat = pathlib.Path(path).read_bytes(), 8, b""
    while at < len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        if kind == b"IHDR":
            columns, rows, bits, colour = struct.unpack_from(">IIBB", data, at + 8)
            assert colour == 0
        if kind == b"IDAT":
            idat += data[at + 8:at + 8 + size]
        at += size + 12
    raw, step = zlib.decompress(idat), bits // 8
    stride, above, values = columns * step, bytearray(columns * step), []
    for y in range(rows):
        kind, line = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
        for i in range(stride):
            left, up, corner = (line[i - step] if i >= step else 0), above[i], (above[i - step] if i >= step else 0)
            guess = left + up - corner
            paeth = min((left, up, corner), key=lambda v: abs(guess - v))
            line[i] = (line[i] + (0, left, up, (left + up) // 2, paeth)[kind]) & 255
        above = line
        values += struct.unpack(f">{columns}{'BH'[step - 1]}", bytes(line))
    return rows, columns, bits, values


def have_tiff(folder):
    code, _, err = run("run", program(folder, "uint8", 2), "zero:1x1", "-o", folder / "probe.tif", "--target=interp")
    if code and "made without" in err:
        print("skipped TIFF: this build has no libtiff")
    return code == 0


def test_types(folder):
    """The extreme values of every type reach the file, page by page, and come back."""
    for element, code in TYPES.items():
        low, high = EDGES[code]
        values = [low, high, 0, 1, 7, 100] * 4
        bits, form = 8 * struct.calcsize("<" + code), 3 if code in "fd" else 2 if code.islower() else 1
        npy, tif, back = folder / "t.npy", folder / "t.tif", folder / "u.npy"
        for dims, shape in ((2, (4, 6)), (3, (2, 4, 3))):
            tool.write_npy(npy, shape, NPY[element], values)
            same = program(folder, element, dims)
            status, _, err = run("run", same, npy, "-o", tif, "--target=interp")
            check(f"{element}, {dims} dimensions, to TIFF", status == 0 and not err, err)
            pages = read_tiff(tif)
            stored = array.array(code, b"".join(page[5] for page in pages)).tolist()
            check(
                f"{element}, {dims} dimensions, in TIFF",
                stored == array.array(code, values).tolist()
                and all(page[:5] == (*shape[-2:], 1, bits, form) for page in pages)
                and len(pages) == (2 if dims == 3 else 1),
                pages,
            )
            data = tif.read_bytes()
            check(
                f"{element}, {dims} dimensions, in TIFF on lines of 64 bytes",
                all(any(data.startswith(page[5], at) for at in range(64, len(data), 64)) for page in pages),
                pages,
            )
            status, _, err = run("run", same, tif, "-o", back, "--target=interp")
            check(
                f"{element}, {dims} dimensions, from TIFF", status == 0 and tool.read_npy(back) == tool.read_npy(npy),
                err,
            )


def test_bits(folder):
    """Files of 1, 2 and 4 bits are unpacked to 0..255, in either byte order, black or white being 0."""
    same = program(folder, "uint8", 2)
    for order in "<>":
        for bits, pixels, want in ((1, b"\xa8\x50", [255, 0, 255, 0, 255, 0, 255, 0, 255, 0]),
                                   (2, b"\x1b\xc0\x6c\x00", [0, 85, 170, 255, 255, 85, 170, 255, 0, 0]),
                                   (4, b"\x01\x2f\xa0\xff\x00\x10", [0, 17, 34, 255, 170, 255, 255, 0, 0, 17])):
            for white in (False, True):
                write_tiff(folder / "b.tif", [(2, 5, bits, pixels, {262: 0 if white else 1})], order)
                status, _, err = run("run", same, folder / "b.tif", "-o", folder / "b.npy", "--target=interp")
                values = tool.read_npy(folder / "b.npy")[2] if status == 0 else err
                check(f"{bits} bits {order} {white}", values == [255 - v if white else v for v in want], values)
    tool.write_npy(folder / "c.npy", (2, 9), NPY["bool"], [1, 0] * 9)
    flags = program(folder, "bool", 2)
    status, _, err = run("run", flags, folder / "c.npy", "-o", folder / "c.tif", "--target=interp")
    check("bool as bits", status == 0 and read_tiff(folder / "c.tif")[0] == (2, 9, 1, 1, 1, b"\xaa\x80\x55\x00"), err)
    status, _, err = run("run", flags, folder / "c.tif", "-o", folder / "d.npy", "--target=interp")
    check("bits as bool", status == 0 and tool.read_npy(folder / "d.npy") == tool.read_npy(folder / "c.npy"), err)


def test_pages(folder):
    plane, cube = program(folder, "uint8", 2, "photo"), program(folder, "uint8", 3)
    small = (1, 2, 8, b"\1\2", {254: 1})
    stack, mixed = folder / "stack.tif", folder / "mixed.tif"
    write_tiff(stack, [small] + [(2, 3, 8, bytes(range(k, k + 6)), {}) for k in (10, 20, 30)] + [small])
    write_tiff(mixed, [(2, 3, 8, bytes(6), {}), (3, 2, 8, bytes(range(6)), {})])
    two = b"P5 2 1 255\nab" b"P5 2 1 255\ncd"
    (folder / "two.pgm").write_bytes(two)
    tool.write_npy(folder / "stack.npy", (3, 2, 6), "|u1", range(36))
    out = folder / "o.npy"
    for path, n in ((stack, 3), (folder / "stack.npy", 3), (folder / "two.pgm", 2)):
        status, _, err = run("run", plane, path, "-o", out, "--target=interp")
        check(
            f"{path.name} for two dimensions",
            status == 1 and f"stack of {n} pages, and 'photo' has 2 dimensions; --page=N" in err, err,
        )
        status, _, err = run("run", plane, path, "-o", out, "--target=interp", f"--page={n + 1}")
        check(f"{path.name} has no such page", status == 1 and f"there is no page {n + 1}" in err, err)
        status, _, err = run("run", cube, path, "-o", out, "--target=interp")
        check(f"{path.name} for three dimensions", status == 0 and tool.read_npy(out)[0][0] == n, err)
    for k in (1, 2, 3):
        status, _, err = run("run", plane, stack, "-o", out, "--target=interp", f"--page={k}")
        check(f"page {k}", status == 0 and tool.read_npy(out)[2] == list(range(10 * k, 10 * k + 6)), err)
    status, _, err = run("run", plane, folder / "stack.npy", "-o", out, "--target=interp", "--page=2")
    check("page of NPY", status == 0 and tool.read_npy(out)[2] == list(range(12, 24)), err)
    status, _, err = run("run", plane, folder / "two.pgm", "-o", out, "--target=interp", "--page=2")
    check("page of PGM", status == 0 and tool.read_npy(out)[2] == [99, 100], err)
    status, _, err = run("run", plane, "-", "-o", out, "--target=interp", stdin=two)
    check("pages through a pipe", status == 1 and "pipe" in err, err)
    status, _, err = run("run", cube, mixed, "-o", out, "--target=interp")
    check("pages that differ", status == 1 and "differ" in err, err)
    status, _, err = run("run", plane, mixed, "-o", out, "--target=interp", "--page=2")
    check("one of pages that differ", status == 0 and tool.read_npy(out)[0] == (3, 2), err)
    status, _, err = run("run", plane, "zero:2x2", "-o", out, "--page=2", "--target=interp")
    check("a page of no stack", status == 1 and "--page=2" in err, err)
    status, _, err = run("run", cube, stack, "-o", folder / "o.png", "--target=interp")
    check("a stack as PNG", status == 1 and "TIFF or NPY holds it" in err and not (folder / "o.png").exists(), err)


def test_depth(folder):
    """A float result in a picture: what is lost is said with its remedy, or refused."""
    same = program(folder, "float", 2)
    deep, dark, out = folder / "deep.npy", folder / "dark.npy", folder / "o.png"
    tool.write_npy(deep, (2, 3), "<f4", [0, 1000, 65535, 2.5, 300, 400])
    tool.write_npy(dark, (2, 3), "<f4", [0, 0.25, 0.5, 0.75, 1, 1])

    def store(*arguments):
        out.unlink(missing_ok=True)
        return run("run", same, *arguments, "--target=interp")

    status, _, err = store(deep, "-o", out)
    check(
        "a white picture",
        status == 0 and "0..65535" in err and "66.7 %" in err and f"{out}:16" in err and "--scale" in err, err,
    )
    check("saturated", read_png(out) == (2, 3, 8, [0, 255, 255, 2, 255, 255]))
    status, _, err = store(deep, "-o", out, "--strict")
    check("a white picture, --strict", status == 1 and "0..65535" in err and not out.exists(), err)
    status, _, err = store(deep, "-o", out, "-q")
    check("a white picture, -q", status == 0 and not err, err)
    for arguments in (("-o", f"{out}:16"), ("-o", out, "--depth=16"), ("--depth=8", "-o", f"{out}:16")):
        status, _, err = store(deep, *arguments, "--strict")
        check(
            f"16 bits {arguments}",
            status == 0 and not err and read_png(out) == (2, 3, 16, [0, 1000, 65535, 2, 300, 400]), err,
        )
    status, _, err = store(dark, "-o", out)
    check("a black picture", status == 0 and "0..1" in err and "black" in err and "--scale" in err, err)
    status, _, err = store(dark, "-o", out, "--strict")
    check("a black picture, --strict", status == 1 and not out.exists(), err)
    status, _, err = store(dark, "-o", out, "--scale", "--strict")
    check(
        "--scale",
        status == 0 and "0..1 were scaled to 0..255" in err and read_png(out)[3] == [0, 64, 128, 191, 255, 255], err,
    )
    status, _, err = store(dark, "-o", f"{out}:16", "--scale")
    check(
        "--scale, 16 bits",
        status == 0 and "0..65535" in err and read_png(out)[3] == [0, 16384, 32768, 49151, 65535, 65535], err,
    )
    status, _, err = store("zero:3x3", "-o", out)
    check("zero is black", status == 0 and not err, err)
    tool.write_npy(dark, (1, 200), "<f4", [300] + [10] * 199)
    status, _, err = store(dark, "-o", out, "--strict")
    check("few values", status == 0 and "1 values did not fit" in err, err)
    for arguments, word in (
        (("-o", folder / "x.npy", "--depth=8"), "as they are"), (("-o", folder / "x.pfm", "--scale"), "as they are"),
        (("-o", folder / "x.jpg:16"), "8 bits"), (("-o", folder / "x.tif", "--scale"), "depth"),
    ):
        status, _, err = store(deep, *arguments)
        check(f"{arguments} means nothing", status == 1 and word in err, err)
    status, _, err = store(deep, "-o", out, "--depth=12")
    check("no such depth", status == 2 and "8 or 16" in err, err)
    status, written, err = store(deep, "-o", "-:16")
    check("16 bits to standard output", status == 0 and written.startswith("P5\n3 2\n65535\n"), err)
    odd = folder / "x:16.pgm" # a name with a colon that is no depth
    status, _, err = store(deep, "-o", odd, "-q")
    check("a colon in a name", status == 0 and odd.exists(), err)


def test_integers_in_pictures(folder):
    """What a picture cannot hold of integers is said or refused, never silent."""
    for element, code in TYPES.items():
        low, high = EDGES[code]
        tool.write_npy(folder / "in.npy", (2, 2), NPY[element], [low, high, 0, 1])
        for suffix in ("pgm", "png", "jpg", "pam", "pfm", "npy"):
            out = folder / f"i.{suffix}"
            out.unlink(missing_ok=True)
            status, _, err = run("run", program(folder, element, 2), folder / "in.npy", "-o", out, "--target=interp")
            if "made without" in err:
                continue
            exact = suffix == "npy" or (suffix == "pfm" and struct.calcsize("<" + code) <= 2) or element == "uint8" \
                or (suffix == "pfm" and element == "float") or (element == "uint16" and suffix != "jpg")
            check(
                f"{element} in {suffix}",
                (
                    (status == 0 and not err)
                    if exact
                    else err.startswith("tessera: ") and status == (0 if out.exists() else 1)
                ),
                f"{status} {err}",
            )


def test_memory(folder):
    """What a picture needs is counted before it is decoded; a large one needs little more than its pixels."""
    side, same = 20000, program(folder, "uint8", 2)
    png(folder / "large.png", side, side, 1, [bytes((side + 7) // 8)] * side)

    def limit(bytes_):
        return lambda: resource.setrlimit(resource.RLIMIT_AS, (bytes_, bytes_))

    done = subprocess.run(
        [tool.TOOL, "explain", str(same), str(folder / "large.png")], capture_output=True, text=True, cwd=tool.ROOT,
        preexec_fn=limit(side * side - 1),
    )
    if "Sanitizer" in done.stderr:
        print("skipped the memory: sanitizers take more of it")
        return
    needs = [int(n) for n in re.findall(r"takes (\d+) bytes", done.stderr)]
    check(
        "counted before", done.returncode == 1 and len(needs) == 1 and side * side <= needs[0] < 1.01 * side * side,
        done.stderr,
    )
    child = subprocess.Popen(
        [tool.TOOL, "explain", str(same), str(folder / "large.png")], stdout=subprocess.DEVNULL, cwd=tool.ROOT
    )
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = status
    check(
        "little more than its pixels", status == 0 and usage.ru_maxrss * 1024 < 1.1 * side * side,
        f"{usage.ru_maxrss} KiB",
    )


with tool.workspace() as place:
    place = pathlib.Path(place)
    if have_tiff(place):
        test_types(place)
        test_bits(place)
        test_pages(place)
    test_depth(place)
    test_integers_in_pictures(place)
    test_memory(place)
tool.finish()
