"""What pictures say besides their pixels, from the first input to the results: read back with exiftool and tiffinfo
(gdalinfo where it is), tags of TIFF by code that shares nothing with the tool's."""
import json
import pathlib
import shutil
import struct
import subprocess
import sys
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import tool  # noqa: E402
from tool import check, read_tags, run, write_tiff  # noqa: E402

RGB = "struct rgb { uint8 r; uint8 g; uint8 b; }\n"
GEO = {  # a raster of 10 m in a projected system
    33550: (12, [10.0, 10.0, 0.0]), 33922: (12, [0.0, 0.0, 0.0, 500000.0, 4600000.0, 0.0]),
    34735: (3, [1, 1, 0, 3, 1024, 0, 1, 1, 1025, 0, 1, 1, 3072, 0, 1, 32633]), 42113: (2, b"-9999\0"),
}


def exiftool(*files):
    """Tags of the files as numbers, with their groups."""
    done = subprocess.run(["exiftool", "-json", "-n", "-G0", *map(str, files)], capture_output=True, check=True)
    return json.loads(done.stdout)


def retag(path, *changes):
    subprocess.run(["exiftool", "-q", "-n", "-overwrite_original", *changes, str(path)], check=True)


def photo(folder):
    """A colour picture with a profile, EXIF, XMP and a resolution."""
    path = folder / "photo.png"
    shutil.copy(tool.ROOT / "examples/images/chelsea.png", path)
    retag(path, "-Artist=Someone", "-ISO=200", "-GPSLatitude=12.5", "-GPSLatitudeRef=N", "-XMP-dc:Title=A cat")
    return path


def test_blocks(folder):
    """Profile, EXIF, XMP and resolution reach PNG, JPEG and TIFF, from each of these."""
    same = folder / "same.tess"
    same.write_text(RGB + "stencil same(vector#2 rgb X) { return X; }\nparameter M, N;\nvector#2 rgb a[M, N];\n"
                    "s = same(a);\nreturn s, s, s, s@[(0, 2), (0, 2)], s.g;\n")
    source = photo(folder)
    digest = subprocess.run(["b2sum", "-l", "256", same], capture_output=True, check=True).stdout[:64].decode()
    version = run("--version")[1].split()[1]
    for step in range(3):
        names = [folder / f"{step}{end}" for end in (".png", ".jpg", ".tif", "half.png", "grey.png")]
        status, _, err = run("run", same, source, *(w for name in names for w in ("-o", name)), "--target=interp")
        check("a profile of colours for a grey picture", status == 0 and "ICC profile is not one of 1" in err, err)
        for tags, name in zip(exiftool(*names), names):
            scale = 0.5 if "half" in name.name else 1
            inches = [tags.get("PNG:PixelsPerUnitX", 0) * 0.0254 or tags.get("JFIF:XResolution")]
            if "EXIF:XResolution" in tags:
                inches.append(tags["EXIF:XResolution"] * (2.54 if tags["EXIF:ResolutionUnit"] == 3 else 1))
            check(
                f"{name.name} from {source.name}: EXIF and XMP",
                tags.get("EXIF:Artist") == "Someone" and tags.get("EXIF:ISO") == 200
                and abs(tags.get("EXIF:GPSLatitude", 0) - 12.5) < 1e-9 and tags.get("XMP:Title") == "A cat", tags,
            )
            check(
                f"{name.name} from {source.name}: resolution",
                all(abs(x - 72.009 * scale) < 0.02 or x == round(72 * scale) for x in inches if x is not None)
                and any(inches), inches,
            )
            check(
                f"{name.name} from {source.name}: profile",
                ("ICC_Profile:ProfileDescription" in tags) == ("grey" not in name.name), tags,
            )
            made = tags.get("PNG:Software") or tags.get("File:Comment") or tags.get("EXIF:Software")
            check(f"{name.name}: what made it", made == f"Tessera {version}, program {digest}, fp default", made)
        source = names[(1, 2, 0)[step]]
    status, _, _ = run("run", same, source, *(w for name in names for w in ("-o", name)), "--no-metadata",
                       "--target=interp")
    for tags in exiftool(*names):
        check("--no-metadata", status == 0 and not any(
            key.split(":")[0] in ("XMP", "ICC_Profile") or key.endswith(("Artist", "Software", "Comment"))
            or key == "EXIF:XResolution"
            for key in tags), tags)
    info = subprocess.run(["tiffinfo", folder / "0.tif"], capture_output=True, text=True).stdout
    check("tiffinfo reads it", "Resolution: 28.35, 28.35 pixels/cm" in info and "ICC Profile: <present>" in info, info)


def test_sizes_of_blocks(folder):
    """XMP of any length reaches PNG as it was."""
    same = folder / "same8.tess"
    same.write_text("parameter M, N;\nvector#2 uint8 a[M, N];\nreturn a[.., ..];\n")
    run("run", same, "zero:2x2", "-o", folder / "plain.png", "--no-metadata", "--target=interp")
    plain = (folder / "plain.png").read_bytes()
    for n in (255, 256, 4096):
        packet = b"<x:xmpmeta/>".ljust(n)
        chunk = b"iTXtXML:com.adobe.xmp\0\0\0\0\0" + packet
        (folder / "in.png").write_bytes(
            plain[:33] + struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk)) + plain[33:])
        status, _, err = run("run", same, folder / "in.png", "-o", folder / "out.png", "--target=interp")
        data = (folder / "out.png").read_bytes()
        check(f"XMP of {n} bytes", status == 0 and struct.pack(">I", len(chunk) - 4) + chunk in data, err)


def test_orientation(folder):
    """The eight orientations are applied and reset, in EXIF as well as in XMP; --no-orient leaves them."""
    same = folder / "grey.tess"
    same.write_text("stencil same(vector#2 uint8 X) { return X; }\nparameter M, N;\nvector#2 uint8 a[M, N];\n"
                    "return same(a);\n")
    source, back = folder / "turned.png", folder / "upright.npy"
    rows, columns = 3, 5
    stored = [[10 * y + x for x in range(columns)] for y in range(rows)]
    tool.write_npy(folder / "in.npy", (rows, columns), "|u1", sum(stored, []))
    run("run", same, folder / "in.npy", "-o", source, "--target=interp")
    flip, mirror = lambda a: a[::-1], lambda a: [r[::-1] for r in a]
    turn = lambda a: [list(r) for r in zip(*a)]
    upright = {1: stored, 2: mirror(stored), 3: flip(mirror(stored)), 4: flip(stored), 5: turn(stored),
               6: mirror(turn(stored)), 7: flip(mirror(turn(stored))), 8: flip(turn(stored))}
    for k, want in upright.items():
        retag(source, f"-EXIF:Orientation={k}", f"-XMP-tiff:Orientation={k}")
        status, _, err = run("run", same, source, "-o", back, "--target=interp")
        shape, _, values = tool.read_npy(back)
        check(f"orientation {k}", status == 0 and shape == (len(want), len(want[0])) and values == sum(want, []),
              (shape, values, err))
    names = [folder / "turned.jpg", folder / "turned.tif", folder / "kept.jpg", folder / "kept.tif"]
    for name in names:
        run("run", same, source, "-o", name, "--target=interp", *(["--no-orient"] if "kept" in name.name else []))
    for tags, name in zip(exiftool(*names), names):
        kept = "kept" in name.name
        check(f"{name.name}: orientation", tags["EXIF:Orientation"] == (8 if kept else 1)
              and tags["XMP:Orientation"] == (8 if kept else 1)
              and tags["File:ImageWidth" if "jpg" in name.name else "EXIF:ImageWidth"] == (5 if kept else 3), tags)
    # Pages of different orientations: one sentence, unless one is chosen or all are left as they are.
    write_tiff(folder / "one.tif", 2, 3, range(6), {274: (3, [6])})
    first = (folder / "one.tif").read_bytes()
    write_tiff(folder / "two.tif", 2, 3, range(6), {274: (3, [1])})
    second, begin = (folder / "two.tif").read_bytes(), len(first)
    moved = bytearray(first + second)
    (at,) = struct.unpack_from("<I", second, 4)
    (n,) = struct.unpack_from("<H", second, at)
    struct.pack_into("<I", moved, struct.unpack_from("<I", first, 4)[0] + 2 + 12 * n, begin + at)
    for k in range(n):
        if struct.unpack_from("<H", second, at + 2 + 12 * k) == (273,):
            struct.pack_into("<I", moved, begin + at + 10 + 12 * k, begin + 8)
    (folder / "both.tif").write_bytes(moved)
    stack = folder / "stack.tess"
    stack.write_text("stencil same(vector#3 float X) { return X; }\nparameter L, M, N;\nvector#3 float a[L, M, N];\n"
                     "return same(a);\n")
    (folder / "stack.npy").write_bytes(b"precious")
    status, _, err = run("run", stack, folder / "both.tif", "-o", folder / "stack.npy", "--target=interp")
    check("pages of different orientations", status == 1 and err.count("\n") == 1 and "different orientations" in err
          and (folder / "stack.npy").read_bytes() == b"precious", err)
    for more, shape in ((["--no-orient"], (2, 2, 3)), (["--page=1"], (1, 3, 2)), (["--page=2"], (1, 2, 3))):
        status, _, err = run("run", stack, folder / "both.tif", "-o", folder / "stack.npy", "--target=interp", *more)
        check(f"{more} of them", status == 0 and tool.read_npy(folder / "stack.npy")[0] == shape, err)
    # As they are stored no orientation is that of all; one that they share is kept.
    status, _, err = run("run", stack, folder / "both.tif", "-o", folder / "kept.tif", "--target=interp", "--no-orient")
    pages = [run("info", folder / "kept.tif", f"--page={k}")[1] for k in (1, 2)]
    check("no page says that it is turned", status == 0 and 274 not in tool.read_tags(folder / "kept.tif")
          and all("2 x 3" in page and "orientation" not in page for page in pages), (pages, err))


def lies(name, place):
    """The raster lies at this place of GEO: columns and rows, factor and offset of the corner."""
    tags = read_tags(name)
    if 33550 not in tags:
        return check(f"{name.name} has a place", False, tags)
    (fx, fy), (x, y) = place
    scale, tie = tags[33550], tags[33922]
    check(f"{name.name}: place", abs(scale[0] - 10 * fx) < 1e-9 and abs(scale[1] - 10 * fy) < 1e-9
          and abs(tie[3] - (500000 + 10 * x)) < 1e-6 and abs(tie[4] - (4600000 - 10 * y)) < 1e-6, (scale, tie, place))


def test_disagreement(folder):
    """EXIF before XMP for the orientation, JFIF before EXIF for the resolution; what results say is of one mind."""
    same = folder / "same_rgb.tess"
    same.write_text("parameter M, N;\nvector#2 any a[M, N];\nreturn a;\n")
    source, result = folder / "two.jpg", folder / "two_minds.jpg"
    run("run", same, tool.ROOT / "examples/images/chelsea.png", "-o", source, "--target=interp")
    (was,) = exiftool(source)
    retag(source, "-IFD0:Orientation=6", "-XMP-tiff:Orientation=3", "-IFD0:XResolution=300", "-IFD0:YResolution=300",
          "-IFD0:ResolutionUnit=2", "-JFIF:XResolution=100", "-JFIF:YResolution=72", "-JFIF:ResolutionUnit=1")
    status, _, err = run("run", same, source, "-o", result, "--target=interp")
    (tags,) = exiftool(result)
    check("all are said", err.count("\n") == 3 and "its EXIF says the orientation 6, and its XMP 3: the former" in err
          and "resolution is 100 x 72 an inch, and its EXIF says 300 x 300 an inch: the former counts" in err, err)
    check("quietly", run("run", same, source, "-o", result, "--target=interp", "--quiet")[2] == "")
    shown = run("info", source)[1]
    check("info tells them", shown.count("  in doubt: its ") == 3, shown)
    check("two orientations", status == 0 and tags["EXIF:Orientation"] == 1
          and tags["XMP:Orientation"] == 1 and tags["File:ImageWidth"] == was["File:ImageHeight"]
          and tags["File:ImageHeight"] == was["File:ImageWidth"], (tags, err))
    for k in (0, 9):
        write_tiff(folder / "mad.tif", 2, 3, range(6), {274: (3, [k])})
        status, _, err = run("run", same, folder / "mad.tif", "-o", folder / "sane.tif", "--target=interp")
        check(f"orientation {k} of TIFF", status == 0 and err.count(f"tags say the orientation {k}, which is none") == 1
              and 274 not in tool.read_tags(folder / "sane.tif"), err)
        retag(source, f"-IFD0:Orientation={k}")
        status, _, err = run("run", same, source, "-o", result, "--target=interp", "--memory=24800K")
        check(f"orientation {k}", status == 0 and err.count(f"says the orientation {k}, which is none of 1 to 8: it is"
              " read as it is stored") == 1 and exiftool(result)[0]["EXIF:Orientation"] == 1, err)
    check("two resolutions", [tags[f"JFIF:{d}Resolution"] for d in "XY"] == [72, 100]
          and [tags[f"EXIF:{d}Resolution"] for d in "XY"] == [72, 100], tags)


def test_computed_places(folder):
    """Indices computed from the point move and scale it too; running values, loops and projections leave it."""
    write_tiff(folder / "geo.tif", 12, 16, range(192), GEO)
    (folder / "computed.tess").write_text(
        'use "filters";\nstencil far(vector#2 float X) { return X[2 * index(0) + 3, index(1) / 2]; }\n'
        "stencil aside(vector#2 float X) {\n    int j = floor(index(1) + 2.25);\n"
        "    return 0.75 * X[index(0), j] + 0.25 * X[index(0), j + 1];\n}\n"
        "stencil heat(vector#2 float T) { return (T@[0, -1] + T + T@[0, 1]) / 3; }\n"
        "parameter M, N;\nvector#2 float a[M, N];\nt<0> = a;\nfor i = 1..12\n    t<i> = heat(t<i-1>:mirror);\nendfor\n"
        "vector#3 float twice[2, M, N] = 0;\n"
        "vector#2 float farther[6, 32] = far(a);\nvector#2 float moved[M, N] = aside(a);\n"
        "both = ( [.., .., ..] = twice; [1, .., ..] = a; );\n"
        "return resize_linear(a, 24, 8), resize_nearest(a, 5, 7), resize_cubic(a, 36, 16, -0.5),\n"
        "resize_lanczos(a, 6, 40), resize_area(a, 6, 4, 8), farther, moved, gaussian_recursive(a, 2), t<12>,\n"
        "euclidean_distance(a), maximum(both, 0);\n")
    want = [((2, 0.5), (0, 0)), ((16 / 7, 2.4), (0, 0)), ((1, 1 / 3), (0, 0)), ((0.4, 2), (0, 0)), ((4, 2), (0, 0)),
            ((0.5, 2), (0, 2.5)), ((1, 1), (2.25, 0)), *[((1, 1), (0, 0))] * 4]
    names = [folder / f"c{i}.tif" for i in range(len(want))]
    status, _, err = run("run", folder / "computed.tess", folder / "geo.tif", *(w for n in names for w in ("-o", n)),
                         "--target=interp")
    check("computed places", status == 0, err)
    for name, place in zip(names, want):
        lies(name, place)


def test_points_between(folder):
    """Pixels that are repeated keep the edge of the picture; those that are computed between others keep the centre of
    its first pixel. What gdalinfo makes of it is the same, where it is there."""
    write_tiff(folder / "geo.tif", 12, 16, range(192), GEO)
    (folder / "between.tess").write_text(
        'use "filters";\nstencil between(vector#2 float X) { return (X + X@[0, 1]) / 2; }\n'
        "stencil under(vector#2 float X) { return (X@[-1, 0] + X) / 2; }\n"
        "parameter M, N;\nvector#2 float a[M, N];\n"
        "twice = ( @[(0, 1), (0, 2)] = a; @[(0, 1), (1, 2)] = a; );\n"
        "columns = ( @[(0, 1), (0, 2)] = a; @[(0, 1), (1, 2)] = between(a); );\n"
        "rows = ( @[(0, 2), (0, 1)] = under(a); @[(1, 2), (0, 1)] = a; );\n"
        "up = upsample(a);\n"
        "return twice, columns, rows, up, upsample(up), downsample(up), upsample(a[2.., 4..]), between(a);\n")
    want = [((0.5, 1), (0, 0)), ((0.5, 1), (0.25, 0)), ((1, 0.5), (0, -0.25)), ((0.5, 0.5), (0.25, 0.25)),
            ((0.25, 0.25), (0.375, 0.375)), ((1, 1), (0, 0)), ((0.5, 0.5), (4.25, 2.25)), ((1, 1), (0, 0))]
    names = [folder / f"b{i}.tif" for i in range(len(want))]
    status, _, err = run("run", folder / "between.tess", folder / "geo.tif", *(w for n in names for w in ("-o", n)),
                         "--target=interp")
    check("points between", status == 0, err)
    for name, place in zip(names, want):
        lies(name, place)
        if shutil.which("gdalinfo"):
            (fx, fy), (x, y) = place
            info = subprocess.run(["gdalinfo", "-json", name], capture_output=True, text=True).stdout
            said = json.loads(info)["geoTransform"]
            hope = [500000 + 10 * x, 10 * fx, 0, 4600000 - 10 * y, 0, -10 * fy]
            check(f"{name.name}: gdalinfo", all(abs(a - b) < 1e-6 for a, b in zip(said, hope)), (said, hope))


def test_turned_places(folder):
    """What is turned has a matrix: east and north go to where they lie in the turned picture. What finds its places by
    values of pixels has none, and that is said."""
    write_tiff(folder / "geo.tif", 12, 16, [c + 10 * r for r in range(12) for c in range(16)], GEO)
    (folder / "turned.tess").write_text(
        'use "filters";\nparameter M, N;\nvector#2 float a[M, N];\nfloat angle = 20;\nturned = rotate(a, angle);\n'
        "stencil over(vector#2 float X) { return X[index(1), index(0)]; }\nvector#2 float t[N, M] = over(a);\n"
        "return turned, resize_linear(turned, 24, 32), rotate(a, 90), t, warp(a, a / 100, 0 * a);\n")
    names = [folder / f"t{i}.tif" for i in range(5)]
    for end in (".npy", ".tif"):
        status, _, err = run("run", folder / "turned.tess", folder / "geo.tif", "angle=30", "--target=interp",
                             *(w for n in names for w in ("-o", n.with_suffix(end))))
    check("turned", status == 0 and err.count("place on earth") == 1 and "t4.tif" in err, err)
    check("warped has none", not {33550, 33922, 34264} & set(read_tags(names[4])))
    for name, size in zip(names[:4], [(12, 16), (24, 32), (12, 16), (16, 12)]):
        tags = read_tags(name)
        matrix = tags.get(34264, [0] * 16)
        pixels = tool.read_npy(name.with_suffix(".npy"))[2]
        worst = 0
        for r in range(size[0] * 3 // 8, size[0] * 5 // 8):
            for c in range(size[1] * 3 // 8, size[1] * 5 // 8):
                x, y = (m[0] * (c + 0.5) + m[1] * (r + 0.5) + m[3] for m in (matrix[:4], matrix[4:8]))
                column, row = (x - 500000) / 10 - 0.5, (4600000 - y) / 10 - 0.5
                worst = max(worst, abs(pixels[r * size[1] + c] - column - 10 * row))
        check(f"{name.name}: turned", worst < 1e-3, (worst, tags))


def test_places(folder):
    """Parts, samplings and placements move and scale the transform of GeoTIFF; filters leave it."""
    source = folder / "geo.tif"
    program = folder / "geo.tess"
    program.write_text(
        "stencil mean(vector#2 float X) { return (X@[-1, 0] + X@[1, 0]) / 2; }\n"
        "stencil half(vector#2 float X) { return (X@[(-1, 2), (0, 2)] + X@[(1, 2), (0, 2)]) / 2; }\n"
        "parameter M, N;\nvector#2 float a[M, N];\nvector#2 float other[M, N];\ns = mean(a);\n"
        "return s, s[1..M-2, 2..N-3], s@[(0, 2), (1, 4)], half(s), a@[0, 1] - a,\n"
        "( @[(0, 2), (0, 2)] = a; @[(1, 2), (0, 2)] = a; @[(0, 2), (1, 2)] = a; @[(1, 2), (1, 2)] = a; ),\n"
        "( [.., ..] = a; [3.., 3..] = half(a); ), s + other, mean(other);\n")
    want = [  # columns and rows of the result in those of the picture: factor and offset of the corner
        ((1, 1), (0, 0)), ((1, 1), (2, 1)), ((4, 2), (-0.5, -0.5)), ((2, 2), (-0.5, -0.5)), ((1, 1), (0, 0)),
        ((0.5, 0.5), (0.0, 0.0)), ((1, 1), (0, 0)), ((1, 1), (0, 0)), None,
    ]
    names = [folder / f"g{i}.tif" for i in range(len(want))]
    for point in (False, True):
        keys = list(GEO[34735][1])
        keys[11] = 2 if point else 1
        write_tiff(source, 12, 16, range(192), {**GEO, 34735: (3, keys)})
        status, _, err = run("run", program, source, "zero:12x16", *(w for n in names for w in ("-o", n)),
                             "--target=interp")
        check("GeoTIFF", status == 0, err)
        for name, place in zip(names, want):
            tags = read_tags(name)
            if place is None:
                check(f"{name.name}: of another picture", 33550 not in tags and 34735 not in tags, tags)
                continue
            (fx, fy), (x, y) = place
            if point:  # coordinates count centres: those of the samples that are read
                x, y = x - 0.5 + 0.5 * fx, y - 0.5 + 0.5 * fy
            lies(name, ((fx, fy), (x, y)))
            check(f"{name.name}: keys and no-data", tags[34735] == keys and tags[42113] == b"-9999\0", tags)
    if shutil.which("gdalinfo"):
        info = subprocess.run(["gdalinfo", names[1]], capture_output=True, text=True).stdout
        check("gdalinfo reads it", "UTM zone 33N" in info and "NoData Value=-9999" in info, info)
    status, _, err = run("run", program, source, "zero:12x16", "-o", folder / "g.png:16",
                         *(w for n in names[1:] for w in ("-o", n)), "--target=interp")
    check("a format without places", status == 0 and "PNG does not hold the picture's place on earth" in err, err)


def test_broken(folder):
    """Blocks that make no sense are left where they are, or out; the pixels come through."""
    same = folder / "grey.tess"
    write_tiff(folder / "x.tif", 3, 4, [1.0] * 12, {34735: (3, [1]), 33550: (12, [1.0]), 33922: (12, [0.0] * 5),
                                                  34665: (4, [7]), 34853: (4, [4000000000])})
    status, _, err = run("run", same, folder / "x.tif", "-o", folder / "y.tif", "--target=interp")
    check("tags of the wrong length", status == 0, err)
    source = folder / "turned.png"
    data = source.read_bytes()
    at = data.index(b"eXIf")
    (n,) = struct.unpack_from(">I", data, at - 4)
    for k in range(0, n, 9):  # every ninth byte of EXIF, one after the other
        block = bytearray(data[at:at + 4 + n])
        block[4 + k] ^= 0xff
        (folder / "bad.png").write_bytes(data[:at] + bytes(block) + struct.pack(">I", zlib.crc32(bytes(block)))
                                         + data[at + 8 + n:])
        status, _, err = run("run", same, folder / "bad.png", "-o", folder / "y.tif", "--target=interp")
        check(f"EXIF with byte {k} changed", status == 0 and err.count("\n") <= 1 and "error" not in err, err)


def main():
    if not shutil.which("exiftool") or not shutil.which("tiffinfo"):
        print("skipped: this machine has no exiftool or tiffinfo")
        sys.exit(tool.SKIPPED)
    with tool.workspace() as name:
        folder = pathlib.Path(name)
        test_blocks(folder)
        test_sizes_of_blocks(folder)
        test_orientation(folder)
        test_places(folder)
        test_computed_places(folder)
        test_disagreement(folder)
        test_points_between(folder)
        test_turned_places(folder)
        test_broken(folder)
    tool.finish()


main()
