"""Files that say too little or too much: raw ones, whose names say what they hold, and those that GDAL opens, where it
is installed; read row by row too, and with their place on earth."""
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import tool
from tool import check, run

SLOW = "--target=interp"
ROWS, COLUMNS = 60, 30
VALUES = [(i * i // 7 + 13 * i) % 251 for i in range(ROWS * COLUMNS)]
PROGRAM = """stencil f(vector#2 TYPE A) { return cast<TYPE>((A@[-3, 0] + A@[2, 1] + 2 * A) / 4); }
parameter M, N;
vector#2 TYPE a[M, N];
return f(a:mirror);
"""
ANY = """parameter M, N;
vector#2 any a[M, N];
stencil f(vector#2 float A) { return A@[1, 0]; }
return f(cast<float>(a):mirror);
"""
VRT = """<VRTDataset rasterXSize="30" rasterYSize="60">
  <SRS>EPSG:32632</SRS>
  <GeoTransform>500000, 10, 0, 4600000, 0, -10</GeoTransform>
  <VRTRasterBand dataType="Byte" band="1"><NoDataValue>7</NoDataValue>
    <SimpleSource><SourceFilename relativeToVRT="1">a.pgm</SourceFilename><SourceBand>1</SourceBand></SimpleSource>
  </VRTRasterBand>
</VRTDataset>
"""


def same(name, folder, image, out, *options, program="f.tess"):
    code, _, err = run("run", folder / program, image, "-o", folder / out, SLOW, *options)
    check(f"{name} is read", code == 0, err)
    whole = (folder / "want").with_suffix(out[out.rindex("."):]).read_bytes()
    check(f"{name}, the same bytes", code == 0 and (folder / out).read_bytes() == whole, err)
    return err


def refused(name, folder, image, *words, program="f.tess"):
    code, _, err = run("run", folder / program, image, "-o", folder / "no.npy", SLOW)
    fine = code == 1 and err.count("\n") == 1 and all(w in err for w in words)
    check(f"{name} is refused", fine and not (folder / "no.npy").exists(), err)


def test_raw(folder):
    for suffix in (".npy", ".raw"):
        code, _, err = run("run", folder / "f.tess", folder / "a.npy", "-o", folder / f"want{suffix}", SLOW)
        check(f"a result as {suffix}", code == 0, err)
    (folder / "a.bin").write_bytes(bytes(VALUES))
    (folder / "big.bin").write_bytes(b"head!" + struct.pack(f">{len(VALUES)}H", *VALUES))
    same("a raw file", folder, f"raw:60x30:uint8:{folder}/a.bin", "r.npy")
    same("a raw file of the program's type", folder, f"raw:60x30:{folder}/a.bin", "r.raw")
    same("one with a head, high bytes first", folder, f"raw:60x30:uint16be+5:{folder}/big.bin", "r.npy")
    said = same("in strips", folder, f"a=raw:60x30:+0:{folder}/a.bin", "r.npy", "--memory=24578K", "-v")
    check("strips of a raw file", " strips of " in said, said)
    code, out, err = run("info", f"raw:60x30:uint8:{folder}/r.raw")
    check("info of a raw file", code == 0 and "raw, uint8, 60 x 30" in out, out + err)
    refused("a raw file without a name", folder, folder / "a.bin", "raw:480x640:uint16:FILE")
    refused("a wrong size", folder, f"raw:61x30:uint8:{folder}/a.bin", "1800 bytes", "1830")
    refused("sizes that are none", folder, f"raw:60x:uint8:{folder}/a.bin", "does not say")
    refused("a size beyond everything", folder, f"raw:4000000000x4000000000x9:int64:{folder}/a.bin", "more than")
    refused("no file", folder, "raw:60x30:uint8:nowhere.bin", "nowhere.bin", "No such file")
    refused("an image without a type", folder, f"raw:60x30:{folder}/a.bin", "of what type", program="any.tess")


def test_gdal(folder):
    (folder / "a.pgm").write_bytes(b"P5\n30 60\n255\n" + bytes(VALUES))
    (folder / "a.vrt").write_text(VRT)
    code, _, err = run("run", folder / "f.tess", folder / "a.vrt", "-o", folder / "v.tif", SLOW)
    if "there is no libgdal" in err:
        print("GDAL is not here")
        check("which is said", code == 1 and err.count("\n") == 1, err)
        return
    same("a file of GDAL by suffix", folder, folder / "a.vrt", "v.npy", "-q")
    said = same("in strips", folder, f"gdal:{folder}/a.vrt", "v.npy", "--memory=24580K", "-v")
    check("strips of a file of GDAL", " strips of " in said, said)
    code, out, err = run("info", folder / "v.tif")
    for word in ("ModelPixelScale: 10 10 0", "500000 4600000", "32632", "GDALNoData: 7"):
        check(f"{word} is kept", word in out, out + err)
    (folder / "bad.vrt").write_text("<VRTDataset")
    refused("a broken file", folder, folder / "bad.vrt", "GDAL cannot open it")
    refused("one that is not there", folder, f"gdal:{folder}/none.tif", "none.tif")


with tool.workspace() as name:
    folder = pathlib.Path(name)
    (folder / "f.tess").write_text(PROGRAM.replace("TYPE", "uint8"))
    (folder / "any.tess").write_text(ANY)
    tool.write_npy(folder / "a.npy", (ROWS, COLUMNS), "|u1", VALUES)
    test_raw(folder)
    test_gdal(folder)
tool.finish()
