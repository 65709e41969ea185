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
