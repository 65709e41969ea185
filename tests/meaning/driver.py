"""A process that runs programs (driver.c), and what it answers."""
import os
import pathlib
import subprocess
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import tool
from values import Pixel

KINDS = {"i": 0, "u": 1, "f": 2, "b": 6}  # DLPack's codes for NumPy's kinds
DTYPES = {(0, bits): np.dtype(f"int{bits}") for bits in (8, 16, 32, 64)}
DTYPES |= {(1, bits): np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64)}
DTYPES |= {(2, bits): np.dtype(f"float{bits}") for bits in (16, 32, 64)}
DTYPES[6, 8] = np.dtype(bool)


class Failed(Exception):
    """The program did not run; the sentence says why."""


class Driver:
    def __init__(self):
        self.process, self.sent = None, 0

    def start(self):
        os.environ.setdefault("POCL_WORK_GROUP_METHOD", "loops")  # PoCL 3.1 miscompiles by its vectoriser of loops
        program = str(tool.BUILD / "tests" / "meaning_driver")
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def stop(self):
        if self.process:
            self.process.stdin.close()
            self.process.wait()
            self.process.stdout.close()
            self.process = None

    def run(self, text, images, scalars, target="interp", fp="strict", plan="chosen", machine=""):
        """(plan's text, results) of a run; images: name to array, or Pixel."""
        if not self.process:
            self.start()
        request = [f"target {target} fp {fp} plan {plan}\n".encode(), with_bytes("text", text.encode())]
        if machine:
            request.append(with_bytes("machine", machine.encode()))
        request += [image(name, data) for name, data in images.items()]
        request += [f"scalar {name} {float(value)!r}\n".encode() for name, value in scalars.items()]
        try:
            self.process.stdin.write(b"".join(request) + b"run\n")
            self.process.stdin.flush()
            return self.answer()
        except (BrokenPipeError, EOFError):
            status = self.process.wait()
            self.process = None
            raise Failed(f"the process ended with {status}") from None

    def line(self):
        text = self.process.stdout.readline()
        if not text:
            raise EOFError
        return text.decode().split()

    def bytes(self, n):
        data = self.process.stdout.read(n)
        if len(data) != n:
            raise EOFError
        return data

    def answer(self):
        words = self.line()
        if words[0] == "failed":
            sentence = self.bytes(int(words[1])).decode("utf-8", "replace")
            assert self.line() == ["end"]
            raise Failed(sentence)
        assert words == ["ok"]
        plan = self.bytes(int(self.line()[1])).decode()
        results = []
        while (words := self.line()) != ["end"]:
            code, bits, _, *shape = map(int, words[1:])
            dtype = DTYPES[code, bits]
            count = int(np.prod(shape))
            results.append(np.frombuffer(self.bytes(count * dtype.itemsize), dtype).reshape(shape))
        return plan, results


def with_bytes(word, data):
    return f"{word} {len(data)}\n".encode() + data


def image(name, data):
    data = packed(data)
    shape = " ".join(map(str, data.shape))
    head = f"image {name} {KINDS[data.dtype.kind]} {8 * data.dtype.itemsize} {data.ndim} {shape}\n"
    return head.encode() + data.tobytes()


def packed(data):
    """The tensor of an image: fields in a last dimension; as bytes where they have several types."""
    if not isinstance(data, Pixel):
        return np.ascontiguousarray(data)
    fields = [np.ascontiguousarray(f) for f in data.fields.values()]
    if len({f.dtype for f in fields}) == 1:
        return np.ascontiguousarray(np.stack(fields, axis=-1))
    return np.concatenate([f[..., None].view(np.uint8) for f in fields], axis=-1)


def unpacked(have, want):
    """A result in the form of what is wanted of it."""
    if not isinstance(want, Pixel):
        return have
    fields = list(want.fields.values())
    if len({f.dtype for f in fields}) == 1:
        return Pixel({n: have[..., k] for k, n in enumerate(want.fields)})
    parts, at = {}, 0
    for n, f in want.fields.items():
        parts[n] = np.ascontiguousarray(have[..., at:at + f.dtype.itemsize]).view(f.dtype)[..., 0]
        at += f.dtype.itemsize
    return Pixel(parts)
