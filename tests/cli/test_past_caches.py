"""Results that go past the caches, pixels and points of lattices that are put together among them: on machines whose
caches have room for nothing, generated C gives what the graph interpreter gives, in vectors of each width that this
processor has. TESSERA_COUNT=n tries n programs, TESSERA_SEED=n others."""
import os
import pathlib
import random
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import tool

FLAGS = pathlib.Path("/proc/cpuinfo").read_text() if pathlib.Path("/proc/cpuinfo").exists() else ""
WIDTHS = [16] + [width for width, flag in ((32, "avx2"), (64, "avx512bw")) if flag in FLAGS]
TYPES = ["uint8", "int8", "uint16", "int16", "int", "float", "double"]
SIZES = ["9x64", "3x192", "5x65", "4x127", "2x31", "1x1"]


def pixels(rng, kind, fields):
    """Pixels of so many elements of a type; alone, or each second one of a row."""
    values = [f"{rng.randint(1, 9)} * X@[0, {rng.randint(-1, 1)}] + Y@[{rng.randint(-1, 1)}, 0]" for _ in range(fields)]
    if rng.random() < 0.5:
        values = [f"{rng.choice('1248')} * 0.375f * X + cast<float>({value})" for value in values]
    cast = "cast" if kind in ("float", "double") else "sat"
    made = ", ".join(f"{cast}<{kind}>({value})" for value in values)
    members = " ".join(f"{kind} c{i};" for i in range(fields))
    result = rng.choice(["f(X, Y)", "(@[(0, 1), (0, 2)] = f(X, Y); @[(0, 1), (1, 2)] = f(Y, X);)"])
    source = rng.choice(["uint8", "int16"])
    return f"""struct pixel {{ {members} }}
stencil f(vector#2 {source} X, vector#2 {source} Y) {{ return struct pixel({made}); }}
parameter M, N;
vector#2 {source} X[M, N];
vector#2 {source} Y[M, N];
out = {result};
return out;
"""


with tool.workspace() as place:
    place = pathlib.Path(place)
    source = place / "pixels.tess"
    rng = random.Random(int(os.environ.get("TESSERA_SEED", "5")))
    joined, rates = 0, "l3_bytes = 0\nmemory_gbs = 1\nmemory_stream_gbs = 2\n"
    count = int(os.environ.get("TESSERA_COUNT", "28"))
    for number in range(count):
        machine = place / "small.machine"
        width = WIDTHS[number % len(WIDTHS)]
        machine.write_text(f"name = small\nvector_bytes = {width}\nline_bytes = {width}\n{rates}")
        text = pixels(rng, TYPES[number // 4 % len(TYPES)], 1 + number % 4)
        source.write_text(text)
        code, out, err = tool.run("explain", source, "--dump=c", f"--machine={machine}")
        tool.check(f"program {number} is printed", code == 0, text + err)
        joined += re.search(r"tess_join\w+\([^;]*, stream\);", out) is not None
        for size in SIZES:
            inputs = [f"random:{number + i}:{size}" for i in range(2)]
            code, _, err = tool.run(
                "run", source, *inputs, "--verify", "-q", "-o", place / "out.npy", f"--machine={machine}"
            )
            tool.check(f"program {number} at {size}", code == 0, text + err)
    tool.check("pixels go past the caches", joined > count // 4, str(joined))
tool.finish()
