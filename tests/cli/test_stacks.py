"""Stacks of several dimensions in pages: what ImageJ and OME write about them, read and written. The files are made and
taken apart here."""
import pathlib
import re
import struct
import sys
import xml.etree.ElementTree as ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import tool  # noqa: E402
from tool import check, run  # noqa: E402

INTERP = "--target=interp"
ROWS, COLUMNS = 2, 3


def write_tiff(path, pages, description):
    """pages: lists of bytes; the description stands in the first."""
    out, link = bytearray(b"II*\0\0\0\0\0"), 4
    for k, page in enumerate(pages):
        strip = len(out)
        out += bytes(page)
        tags = {256: (4, COLUMNS), 257: (4, ROWS), 258: (3, 8), 259: (3, 1), 262: (3, 1), 273: (4, strip), 277: (3, 1),
                278: (4, ROWS), 279: (4, len(page))}
        if k == 0:
            text = description.encode() + b"\0"
            tags[270] = (2, len(out), len(text))
            out += text
        out += b"\0" * (len(out) % 2)
        struct.pack_into("<I", out, link, len(out))
        out += struct.pack("<H", len(tags))
        for tag, value in sorted(tags.items()):
            out += struct.pack("<HHII", tag, value[0], value[2] if len(value) > 2 else 1, value[1])
        link = len(out)
        out += struct.pack("<I", 0)
    pathlib.Path(path).write_bytes(out)


def description(path):
    data = pathlib.Path(path).read_bytes()
    (at,) = struct.unpack_from("<I", data, 4)
    (n,) = struct.unpack_from("<H", data, at)
    for k in range(n):
        tag, _, count, value = struct.unpack_from("<HHII", data, at + 2 + 12 * k)
        if tag == 270:
            return data[value:value + count - 1].decode()
    return ""


def page(number):
    return [10 * number + k for k in range(ROWS * COLUMNS)]


def ome(order, z, c, t, more=""):
    channels = "".join(f'<Channel ID="Channel:0:{k}" Name="dye{k}"/>' for k in range(c))
    return (f'<?xml version="1.0"?><OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06"><Image ID="Image:0" '
            f'Name="cells"><Pixels ID="Pixels:0" DimensionOrder="{order}" Type="uint8" SizeX="{COLUMNS}" '
            f'SizeY="{ROWS}" SizeZ="{z}" SizeC="{c}" SizeT="{t}" PhysicalSizeX="0.5" PhysicalSizeY="0.25" '
            f'BigEndian="false">{channels}'
            f'<TiffData IFD="0"><UUID FileName="old.tif">urn:uuid:1</UUID></TiffData>{more}</Pixels></Image></OME>')


def pixels(path):
    """The attributes of Pixels, the names of channels, and whether places in files are left."""
    root = ElementTree.fromstring(description(path))
    name = re.match(r"\{.*\}", root.tag).group(0)
    found = root.find(f"{name}Image/{name}Pixels")
    return found.attrib, [c.get("Name") for c in found.findall(f"{name}Channel")], "old.tif" in description(path)


def main():
    with tool.workspace() as name:
        folder = pathlib.Path(name)
        four = folder / "four.tess"
        four.write_text("parameter K, L, M, N;\nvector#4 uint8 a[K, L, M, N];\nreturn a[.., .., .., ..];\n")
        fields = folder / "fields.tess"
        fields.write_text("struct two { uint8 p; uint8 q; }\nparameter L, M, N;\nvector#3 two a[L, M, N];\n"
                          "return a[.., .., ..], a.q, a.p * 2.0;\n")
        flat = folder / "flat.tess"
        flat.write_text("parameter L, M, N;\nvector#3 uint8 a[L, M, N];\n"
                        "return a[.., .., ..], a@[(0, 1), (0, 2), (0, 1)];\n")
        # T x Z, in both orders of pages.
        for order, number in (("XYZCT", lambda z, t: z + 3 * t), ("XYTZC", lambda z, t: t + 2 * z)):
            write_tiff(folder / "zt.tif", [page(k) for k in range(6)], ome(order, 3, 1, 2))
            status, _, err = run("run", four, folder / "zt.tif", "-o", folder / "zt.npy", INTERP)
            shape, _, values = tool.read_npy(folder / "zt.npy")
            want = sum((page(number(z, t)) for t in range(2) for z in range(3)), [])
            check(f"{order}: T, Z", status == 0 and shape == (2, 3, ROWS, COLUMNS) and values == want, (shape, err))
            status, _, err = run("run", four, folder / "zt.tif", "-o", folder / "back.tif", INTERP)
            about, channels, left = pixels(folder / "back.tif")
            check(f"{order}: written", status == 0 and about["SizeZ"] == "3" and about["SizeT"] == "2" and not left
                  and about["DimensionOrder"] == "XYZCT" and about["PhysicalSizeX"] == "0.5" and channels == ["dye0"],
                  (about, channels, err))
            run("run", four, folder / "back.tif", "-o", folder / "again.npy", INTERP)
            check(f"{order}: and back", tool.read_npy(folder / "again.npy") == tool.read_npy(folder / "zt.npy"))
        # Channels in pages of their own become fields.
        for text, number in ((ome("XYCZT", 3, 2, 1), lambda z, c: c + 2 * z),
                             (ome("XYZCT", 3, 2, 1), lambda z, c: z + 3 * c),
                             ("ImageJ=1.53k\nimages=6\nchannels=2\nslices=3\nhyperstack=true\nunit=um\nmax=9\n",
                              lambda z, c: c + 2 * z)):
            write_tiff(folder / "cz.tif", [page(k) for k in range(6)], text)
            status, _, err = run("run", fields, folder / "cz.tif", "-o", folder / "cz.npy", "-o", folder / "q.tif",
                                 "-o", folder / "p.tif", INTERP)
            shape, _, values = tool.read_npy(folder / "cz.npy")
            want = [page(number(z, c))[k] for z in range(3) for k in range(ROWS * COLUMNS) for c in range(2)]
            check(f"{text[:9]}: fields", status == 0 and shape == (3, ROWS, COLUMNS, 2) and values == want, err)
            if text.startswith("ImageJ"):
                check("ImageJ's words", description(folder / "q.tif") == "ImageJ=1.11a\nimages=3\nslices=3\nunit=um\n",
                      description(folder / "q.tif"))
            else:
                about, channels, _ = pixels(folder / "p.tif")
                check("OME's words", about["SizeC"] == "1" and about["SizeZ"] == "3" and about["Type"] == "float"
                      and "BigEndian" not in about and len(channels) == 1, (about, channels))
        # As plain pages, the description goes on with sizes of pixels scaled.
        write_tiff(folder / "cz.tif", [page(k) for k in range(6)], ome("XYCZT", 3, 2, 1))
        status, _, err = run("run", flat, folder / "cz.tif", "-o", folder / "same.tif", "-o", folder / "half.tif",
                             INTERP)
        about, channels, left = pixels(folder / "same.tif")
        check("plain pages", about["SizeC"] == "2" and about["DimensionOrder"] == "XYCZT"
              and channels == ["dye0", "dye1"] and not left, (about, err))
        about, _, _ = pixels(folder / "half.tif")
        check("sizes of pixels", about["PhysicalSizeX"] == about["PhysicalSizeY"] == "0.5" and about["SizeY"] == "1",
              about)
        # The distance of planes and of moments in samplings; channels stay what they are.
        steps = folder / "steps.tess"
        steps.write_text("parameter K, L, M, N;\nvector#4 uint8 a[K, L, M, N];\n"
                         "return a@[(0, 2), (0, 1), (0, 1), (0, 1)], a@[(0, 1), (0, 2), (0, 1), (0, 1)];\n")
        for text in (ome("XYZCT", 3, 1, 2).replace("BigEndian", 'PhysicalSizeZ="0.75" TimeIncrement="1.5" BigEndian'),
                     "ImageJ=1.53k\nimages=6\nslices=3\nframes=2\nspacing=0.75\nfinterval=1.5\nfps=2\n"):
            write_tiff(folder / "zt.tif", [page(k) for k in range(6)], text)
            status, _, err = run("run", steps, folder / "zt.tif", "-o", folder / "t.tif", "-o", folder / "z.tif",
                                 INTERP)
            for name, plane, moment in (("t.tif", "0.75", "3"), ("z.tif", "1.5", "1.5")):
                about = description(folder / name)
                check(f"{name}: steps along Z and T", status == 0 and (
                    f'PhysicalSizeZ="{plane}" TimeIncrement="{moment}"' in about
                    or f"spacing={plane}\nfinterval={moment}\nfps={3 / float(moment):g}\n" in about), (about, err))
        for z, t, shape in ((1, 3, (3, 2)), (3, 1, (2, 3))):
            write_tiff(folder / "c.tif", [page(k) for k in range(6)], ome("XYZCT", z, 2, t))
            run("run", four, folder / "c.tif", "-o", folder / "c4.npy", INTERP)
            status, _, err = run("run", four, folder / "c.tif", "-o", folder / "c4.tif", INTERP)
            about, channels, _ = pixels(folder / "c4.tif")
            check("channels among four dimensions", status == 0 and about["SizeC"] == "2" and about["SizeZ"] == str(z)
                  and about["SizeT"] == str(t) and channels == ["dye0", "dye1"], (about, channels, err))
            run("run", four, folder / "c4.tif", "-o", folder / "back.npy", INTERP)
            check("and back", tool.read_npy(folder / "back.npy") == tool.read_npy(folder / "c4.npy")
                  and tool.read_npy(folder / "back.npy")[0] == (*shape, ROWS, COLUMNS))
        # A dimension that is taken out: what is left stays what it was.
        out_of = folder / "out_of.tess"
        out_of.write_text("parameter K, L, M, N;\nvector#4 uint8 a[K, L, M, N];\n"
                          "return a[=1, .., .., ..], a[.., =1, .., ..];\n")
        for sizes, axes in (((1, 3, 2), "CT"), ((3, 1, 2), "ZT"), ((2, 3, 1), "CZ")): # Z, C, T; inner, outer
            z, c, t = sizes
            imagej = (f"ImageJ=1.53k\nimages=6\nchannels={c}\nslices={z}\nframes={t}\nhyperstack=true\n"
                      "spacing=0.5\n")
            for text in (ome("XYCZT", z, c, t), imagej):
                write_tiff(folder / "cut.tif", [page(k) for k in range(6)], text)
                status, _, err = run("run", out_of, folder / "cut.tif", "-o", folder / "first.tif", "-o",
                                     folder / "second.tif", INTERP)
                for file, left in (("first.tif", "first"), ("second.tif", "second")):
                    # four dimensions are T before channels before Z
                    order = [axis for axis in "TCZ" if axis in axes]
                    stays = order[1 if left == "first" else 0]
                    n = dict(zip("ZCT", sizes))[stays]
                    about = description(folder / file)
                    words = {"Z": "slices", "C": "channels", "T": "frames"}
                    if "ImageJ" in about:
                        right = all((f"{word}={n}\n" in about) == (axis == stays) for axis, word in words.items())
                    else:
                        right = all(pixels(folder / file)[0][f"Size{axis}"] == str(n if axis == stays else 1)
                                    for axis in "ZCT")
                    check(f"{sizes}: {stays} is left", status == 0 and right, (about, err))
        # Four dimensions without a description before: ImageJ's, or OME's by name.
        run("run", four, "ramp:2x3x4x5", "-o", folder / "j.tif", "--no-metadata", INTERP)
        check("four dimensions for ImageJ", description(folder / "j.tif")
              == "ImageJ=1.11a\nimages=6\nslices=3\nframes=2\nhyperstack=true\n", description(folder / "j.tif"))
        run("run", four, "ramp:2x3x4x5", "-o", folder / "o.ome.tif", INTERP)
        about, channels, _ = pixels(folder / "o.ome.tif")
        check("and for OME", [about["Size" + axis] for axis in "TZYX"] == ["2", "3", "4", "5"], about)
        for file in ("j.tif", "o.ome.tif"):
            run("run", four, folder / file, "-o", folder / "back.npy", INTERP)
            check(f"{file} and back", tool.read_npy(folder / "back.npy")[0] == (2, 3, 4, 5))
        # Descriptions that are not true.
        (folder / "back.npy").write_bytes(b"precious")
        for text in (ome("XYZCT", 4, 1, 2), "ImageJ=1\nimages=9\nslices=9\n"):
            write_tiff(folder / "bad.tif", [page(k) for k in range(6)], text)
            status, _, err = run("run", four, folder / "bad.tif", "-o", folder / "back.npy", INTERP)
            check("contradicts itself", status == 1 and err.count("\n") == 1 and "and it has 6" in err
                  and (folder / "back.npy").read_bytes() == b"precious", err)
            status, _, err = run("run", flat, folder / "bad.tif", "--page=2", "-o", folder / "x.npy", "-o",
                                 folder / "y.npy", INTERP)
            check("but a page of it is read", status == 0 and tool.read_npy(folder / "x.npy")[2] == page(1), err)
    tool.finish()


main()
