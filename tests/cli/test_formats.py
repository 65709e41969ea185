"""Forms of pictures: WebP, JPEG XL, palettes, bits, CMYK and colours converted by their profiles. Profiles are made
here; WebP and JPEG XL are read back by the tool, and exiftool says what stands in them besides."""
import pathlib
import shutil
import struct
import subprocess
import sys
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import tool  # noqa: E402
from tool import check, run  # noqa: E402

INTERP = "--target=interp"


def program(folder, name, element, result="a[.., ..]"):
    path = folder / f"{name}.tess"
    path.write_text("struct rgb { uint8 r; uint8 g; uint8 b; }\nstruct rgba { uint8 r; uint8 g; uint8 b; uint8 a; }\n"
                    f"parameter M, N;\nvector#2 {element} a[M, N];\nreturn {result};\n")
    return path


def write_tiff(path, rows, columns, pixels, tags):
    """One strip; tags: {id: (struct code, values)}"""
    kinds = {"H": 3, "I": 4, "B": 7}
    tags = {256: ("I", [columns]), 257: ("I", [rows]), 259: ("H", [1]), 273: ("I", [8]), 278: ("I", [rows]),
            279: ("I", [len(pixels)]), **tags}
    at = 8 + len(pixels) + len(pixels) % 2
    entries, blobs = b"", b""
    for tag, (code, values) in sorted(tags.items()):
        raw = struct.pack(f"<{len(values)}{code}", *values)
        value = raw.ljust(4, b"\0") if len(raw) <= 4 else struct.pack("<I", at + 6 + 12 * len(tags) + len(blobs))
        entries += struct.pack("<HHI", tag, kinds[code], len(values)) + value
        blobs += raw + b"\0" * (len(raw) % 2) if len(raw) > 4 else b""
    pathlib.Path(path).write_bytes(b"II*\0" + struct.pack("<I", at) + pixels.ljust(at - 8, b"\0")
                                   + struct.pack("<H", len(tags)) + entries + struct.pack("<I", 0) + blobs)


def profile(space, tags):
    """An ICC profile, version 2, of tags {name: bytes}."""
    tags = {b"desc": b"desc\0\0\0\0\0\0\0\2x\0" + b"\0" * 78, b"cprt": b"text\0\0\0\0x\0",
            b"wtpt": xyz(0.9642, 1, 0.8249), **tags}
    table, data, begin = b"", b"", 128 + 4 + 12 * len(tags)
    for name, value in tags.items():
        value += b"\0" * (-len(value) % 4)
        table += name + struct.pack(">II", begin + len(data), len(value))
        data += value
    connection, kind = (b"Lab ", b"prtr") if space == b"CMYK" else (b"XYZ ", b"mntr")
    head = struct.pack(">I4sI4s4s4s12s4s", begin + len(data), b"", 0x02100000, kind, space, connection, b"", b"acsp")
    head = head.ljust(68, b"\0") + struct.pack(">iii", 63190, 65536, 54061)
    return head.ljust(128, b"\0") + struct.pack(">I", len(tags)) + table + data


def xyz(*values):
    return b"XYZ \0\0\0\0" + struct.pack(">iii", *(round(v * 65536) for v in values))


def linear():
    """The primaries of sRGB without its curve."""
    curve = b"curv\0\0\0\0\0\0\0\0"
    return profile(b"RGB ", {b"rXYZ": xyz(0.4361, 0.2225, 0.0139), b"gXYZ": xyz(0.3851, 0.7169, 0.0971),
                             b"bXYZ": xyz(0.1431, 0.0606, 0.7141), b"rTRC": curve, b"gTRC": curve, b"bTRC": curve})


def inks():
    """White paper, and black where there is any ink at all that is full: a table of two points an ink."""
    clut = b"".join(bytes((0 if k & 1 or k & 14 == 14 else 255 if k == 0 else 128, 128, 128)) for k in range(16))
    ramp = bytes(range(256))
    matrix = struct.pack(">9i", 65536, 0, 0, 0, 65536, 0, 0, 0, 65536)
    lut = b"mft1\0\0\0\0" + bytes((4, 3, 2, 0)) + matrix + ramp * 4 + clut + ramp * 3
    return profile(b"CMYK", {b"A2B0": lut})


def srgb(x):
    return 255 * (12.92 * x if x <= 0.0031308 else 1.055 * x ** (1 / 2.4) - 0.055)


def test_webp_and_jxl(folder):
    values = [(7 * k) % 256 for k in range(5 * 6 * 3)]
    tool.write_npy(folder / "rgb.npy", (5, 6, 3), "|u1", values)
    tool.write_npy(folder / "rgba.npy", (3, 2, 4), "|u1", values[:24])
    same, alpha, grey = (program(folder, e, e) for e in ("rgb", "rgba", "uint8"))
    tool.write_npy(folder / "grey.npy", (5, 6), "|u1", values[:30])
    real = program(folder, "float", "float")
    tool.write_npy(folder / "real.npy", (2, 3), "<f4", [-1.5, 0, 0.1, 1e9, 3, 4])
    for end in (".webp", ".jxl"):
        status, _, err = run("run", same, folder / "rgb.npy", "-o", folder / ("x" + end), INTERP)
        if "made without" in err:
            print(f"skipped {end}: this build has no library for it")
            continue
        for text, source in ((same, "rgb.npy"), (alpha, "rgba.npy")):
            run("run", text, folder / source, "-o", folder / ("x" + end), INTERP)
            status, _, err = run("run", text, folder / ("x" + end), "-o", folder / "back.npy", INTERP)
            check(f"{source} to {end} and back", status == 0
                  and tool.read_npy(folder / "back.npy") == tool.read_npy(folder / source), err)
        run("run", grey, folder / "grey.npy", "-o", folder / ("g" + end), INTERP)
        status, _, err = run("run", grey, folder / ("g" + end), "-o", folder / "back.npy", INTERP,
                             *(["--gray"] if end == ".webp" else []))
        check(f"grey to {end} and back", tool.read_npy(folder / "back.npy") == tool.read_npy(folder / "grey.npy"), err)
        whole = (folder / ("x" + end)).read_bytes()
        (folder / ("cut" + end)).write_bytes(whole[:len(whole) // 2])
        status, _, err = run("run", alpha, folder / ("cut" + end), "-o", folder / "back.npy", INTERP)
        check(f"{end} cut short", status == 1 and err.count("\n") == 1 and "cannot be decoded" in err, err)
        if shutil.which("exiftool"):
            shutil.copy(tool.ROOT / "examples/images/chelsea.png", folder / "cat.png")
            subprocess.run(["exiftool", "-q", "-overwrite_original", "-Artist=Someone", "-n", "-Orientation=6",
                            folder / "cat.png"], check=True)
            run("run", same, folder / "cat.png", "-o", folder / ("cat" + end), INTERP)
            said = subprocess.run(["exiftool", "-s", "-n", folder / ("cat" + end)], capture_output=True,
                                  text=True).stdout
            check(f"{end}: metadata", "Someone" in said and "PENTAX" in said, said)
            status, out, err = run("info", folder / ("cat" + end))
            check(f"{end}: info", "451 x 300, 3 channels" in out and "ICC profile: 3144 bytes" in out
                  and "orientation" not in out, out)
    status, _, err = run("run", real, folder / "real.npy", "-o", folder / "r.jxl", INTERP)
    if "made without" not in err:
        run("run", real, folder / "r.jxl", "-o", folder / "back.npy", INTERP)
        check("floats in JPEG XL", tool.read_npy(folder / "back.npy") == tool.read_npy(folder / "real.npy"), err)
    status, _, err = run("run", real, folder / "real.npy", "-o", folder / "r.webp:16", INTERP)
    check("16 bits in WebP", status != 0 and "WebP holds 8 bits, not 16" in err, err)


def test_bits(folder):
    truth = program(folder, "truth", "bool")
    values = [k % 3 == 0 for k in range(3 * 11)]
    tool.write_npy(folder / "b.npy", (3, 11), "|b1", values)
    status, _, err = run("run", truth, folder / "b.npy", "-o", folder / "b.png:1", INTERP)
    data = (folder / "b.png").read_bytes()
    check("PNG of 1 bit", status == 0 and data[24:26] == b"\1\0", err)
    at = data.index(b"IDAT")
    raw = zlib.decompress(data[at + 4:at + 4 + struct.unpack(">I", data[at - 4:at])[0]])
    check("and its pixels", raw[0] == 0 and raw[1:3] == bytes((0b10010010, 0b01000000)), raw)
    run("run", truth, folder / "b.npy", "-o", folder / "b.pbm", INTERP)
    stored = (folder / "b.pbm").read_bytes()
    check("PBM", stored[:11] == b"P4\n11 3\n" + bytes((0b01101101, 0b10100000, 0b10110110)), stored)
    for name in ("b.png", "b.pbm"):
        status, _, err = run("run", truth, folder / name, "-o", folder / "back.npy", INTERP)
        check(f"{name} and back", tool.read_npy(folder / "back.npy") == tool.read_npy(folder / "b.npy"), err)
    bytes_ = program(folder, "bytes", "uint8")
    for name, what in (("x.png:1", "for images of bool"), ("x.pbm", "without losing depth")):
        status, _, err = run("run", bytes_, "zero:2x2", "-o", folder / name, INTERP)
        check(f"bytes to {name}", status == 1 and what in err and err.count("\n") == 1, err)
    status, out, _ = run("info", folder / "b.png")
    check("info of bits", "PNG, 1 bit as uint8, 3 x 11" in out, out)


def test_palettes(folder):
    colours = [(255, 0, 0), (0, 255, 0), (1, 2, 3), (250, 251, 252)]
    same = program(folder, "rgb", "rgb")
    for bits, indices in ((8, bytes((0, 1, 2, 3, 3, 0))), (2, bytes((0b00011000, 0b11110000)))):
        table = [0] * (3 << bits)
        for k, colour in enumerate(colours):
            for c in range(3):
                table[(c << bits) + k] = colour[c] * 257
        write_tiff(folder / "p.tif", 2, 3, indices, {258: ("H", [bits]), 262: ("H", [3]), 277: ("H", [1]),
                                                     320: ("H", table)})
        want = [c for k in ((0, 1, 2, 3, 3, 0)) for c in colours[k]]
        status, _, err = run("run", same, folder / "p.tif", "-o", folder / "back.npy", INTERP)
        check(f"a palette of {bits} bits", status == 0 and tool.read_npy(folder / "back.npy")[2] == want, err)
        check("info of palettes", "TIFF, palette as uint8, 2 x 3, 3 channels" in run("info", folder / "p.tif")[1])


def test_colours(folder):
    same = program(folder, "rgb", "rgb")
    values = [0, 64, 255, 128, 128, 128]
    icc = linear()
    write_tiff(folder / "l.tif", 1, 2, bytes(values), {258: ("H", [8, 8, 8]), 262: ("H", [2]), 277: ("H", [3]),
                                                       34675: ("B", list(icc))})
    status, _, err = run("run", same, folder / "l.tif", "-o", folder / "back.npy", "--srgb", INTERP)
    if "made without" in err:
        print("skipped colours: this build has no Little CMS")
        return
    want = [srgb(v / 255) for v in values]
    got = tool.read_npy(folder / "back.npy")[2]
    check("linear colours become sRGB", status == 0 and all(abs(g - w) <= 1.5 for g, w in zip(got, want)), (got, want))
    run("run", same, folder / "l.tif", "-o", folder / "back.tif", "--srgb", INTERP)
    run("run", same, folder / "back.tif", "-o", folder / "again.npy", "--srgb", INTERP)
    again = tool.read_npy(folder / "again.npy")[2]
    check("the result says what it is", all(abs(g - a) <= 1 for g, a in zip(got, again)), (got, again))
    run("run", same, folder / "l.tif", "-o", folder / "back.npy", INTERP)
    check("unasked they stay", tool.read_npy(folder / "back.npy")[2] == values)
    cmyk = {258: ("H", [8] * 4), 262: ("H", [5]), 277: ("H", [4])}
    pixels = bytes((0, 0, 0, 0, 0, 0, 0, 255))
    write_tiff(folder / "c.tif", 1, 2, pixels, {**cmyk, 34675: ("B", list(inks()))})
    status, _, err = run("run", same, folder / "c.tif", "-o", folder / "back.npy", "--srgb", INTERP)
    got = tool.read_npy(folder / "back.npy")[2]
    check("CMYK by its profile", status == 0 and min(got[:3]) >= 253 and max(got[3:]) <= 2, (got, err))
    write_tiff(folder / "n.tif", 1, 2, pixels, cmyk)
    write_tiff(folder / "w.tif", 1, 2, pixels, {**cmyk, 34675: ("B", list(icc))})
    status, out, err = run("info", folder / "n.tif")
    check("info of CMYK", status == 0 and "TIFF, CMYK as uint8, 1 x 2, 4 channels\n  range: 0" in out, (out, err))
    (folder / "back.npy").write_bytes(b"precious")
    for name, more, what in (("c.tif", [], "--srgb converts it"), ("n.tif", ["--srgb"], "without a profile"),
                             ("w.tif", ["--srgb"], "another kind of picture")):
        status, _, err = run("run", same, folder / name, "-o", folder / "back.npy", *more, INTERP)
        check(f"{name} {more}: {what}", status == 1 and what in err and err.count("\n") == 1
              and (folder / "back.npy").read_bytes() == b"precious", err)


def main():
    with tool.workspace() as name:
        folder = pathlib.Path(name)
        test_webp_and_jxl(folder)
        test_bits(folder)
        test_palettes(folder)
        test_colours(folder)
    tool.finish()


main()
