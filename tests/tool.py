"""What script tests share: running the tool, files of images, and saying which check failed."""
import array
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(os.environ.get("TESSERA_BUILD", ROOT / "build"))
TOOL = os.environ.get("TESSERA", str(BUILD / "tessera"))
SKIPPED = 77
failures = []


def others_write(path):
    """Whether the tool would keep no cache there (docs/internals/rt.md), and say so, which tests of what it says do not
    expect."""
    path = pathlib.Path(path).resolve()
    found = [(p, p.stat()) for p in (path, *path.parents) if p.exists()]
    return any(
        s.st_uid not in (0, os.geteuid()) or (s.st_mode & 0o022 and (p == path or not s.st_mode & 0o1000))
        for p, s in found
    )


if others_write(os.environ.get("TESSERA_CACHE", BUILD)): # a checkout that a group shares
    os.environ["TESSERA_CACHE"] = str(pathlib.Path(tempfile.gettempdir()) / f"tessera-tests-{os.geteuid()}")


# What runs print and when they end is not to depend on those before.
os.environ.setdefault("TESSERA_FIRST", "wait")


def keep_nothing():
    """No compile cache from here on: PoCL would compile each kernel once more to have a binary for it."""
    os.environ["TESSERA_CACHE"] = "/proc/no/such/place"


def run(*arguments, tool=TOOL, stdin=None, env=None, cwd=None, timeout=120):
    """Runs the tool; returns (exit code, standard output, standard error) with the outputs as text."""
    environment = dict(os.environ, **(env or {}))
    done = subprocess.run(
        [tool, *map(str, arguments)], input=stdin, capture_output=True, env=environment, cwd=cwd or ROOT,
        timeout=timeout,
    )
    return done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")


def check(name, condition, detail=""):
    if not condition:
        failures.append(name)
        print(f"FAILED {name}: {detail}")


def turn(number, turns):
    """Whether it is the turn of number `number`, of one in `turns`, as corpus_turn of tests/diff/corpus.h says."""
    if os.environ.get("TESSERA_ALL", "0") != "0":
        return True
    return (number + int(os.environ.get("TESSERA_TEST_PART", "0"))) % turns == 0


def finish():
    print(f"{len(failures)} failed" if failures else "all passed")
    sys.exit(bool(failures))


def workspace():
    return tempfile.TemporaryDirectory(prefix="tessera-test-")


NPY_KINDS = {
    "<f4": "f", "<f8": "d", "|u1": "B", "|i1": "b", "<u2": "H", "<i2": "h", "<i4": "i", "<u4": "I", "<i8": "q",
    "<u8": "Q", "|b1": "B", "<f2": "H",
}  # array's codes for NumPy's


def write_npy_bytes(path, shape, descr, data):
    """descr: NumPy's description of the type, as Python writes it."""
    header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': ({', '.join(map(str, shape))},), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    pathlib.Path(path).write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data)


def write_npy(path, shape, code, values):
    """code: NumPy's type string, such as '<f4'."""
    write_npy_bytes(path, shape, repr(code), array.array(NPY_KINDS[code], values).tobytes())


def read_npy_bytes(path):
    """(shape, description of the type, bytes)"""
    data = pathlib.Path(path).read_bytes()
    (length,) = struct.unpack("<H", data[8:10])
    header = eval(data[10:10 + length].decode())
    return header["shape"], header["descr"], data[10 + length:]


def read_npy(path):
    """(shape, type string, flat list)"""
    shape, descr, data = read_npy_bytes(path)
    values = array.array(NPY_KINDS[descr])
    values.frombytes(data)
    return shape, descr, values.tolist()


TIFF_CODES = {1: "B", 2: "s", 3: "H", 4: "I", 12: "d"}  # struct's codes for types of tags


def write_tiff(path, rows, columns, values, tags):
    """One strip of floats; tags: {id: (type, values)}"""
    pixels = struct.pack(f"<{rows * columns}f", *values)
    tags = {256: (4, [columns]), 257: (4, [rows]), 258: (3, [32]), 259: (3, [1]), 262: (3, [1]), 273: (4, [8]),
            277: (3, [1]), 278: (4, [rows]), 279: (4, [len(pixels)]), 339: (3, [3]), **tags}
    at = 8 + len(pixels)
    entries, blobs = b"", b""
    begin = at + 2 + 12 * len(tags) + 4
    for tag, (kind, data) in sorted(tags.items()):
        raw = data if kind == 2 else struct.pack(f"<{len(data)}{TIFF_CODES[kind]}", *data)
        value = raw.ljust(4, b"\0") if len(raw) <= 4 else struct.pack("<I", begin + len(blobs))
        entries += struct.pack("<HHI", tag, kind, len(data)) + value
        blobs += raw + b"\0" * (len(raw) % 2) if len(raw) > 4 else b""
    directory = struct.pack("<H", len(tags)) + entries + struct.pack("<I", 0) + blobs
    pathlib.Path(path).write_bytes(b"II*\0" + struct.pack("<I", at) + pixels + directory)


def read_tags(path):
    """Of the first page of a little-endian TIFF: {id: values}"""
    data = pathlib.Path(path).read_bytes()
    (at,) = struct.unpack_from("<I", data, 4)
    (n,) = struct.unpack_from("<H", data, at)
    tags = {}
    for k in range(n):
        tag, kind, count, value = struct.unpack_from("<HHI4s", data, at + 2 + 12 * k)
        if kind not in TIFF_CODES:
            continue
        size = count * struct.calcsize("<" + TIFF_CODES[kind])
        raw = value[:size] if size <= 4 else data[struct.unpack("<I", value)[0]:][:size]
        tags[tag] = raw if kind == 2 else list(struct.unpack(f"<{count}{TIFF_CODES[kind]}", raw))
    return tags
