"""Random filters of bytes, with and without signs, that are computed in 16 bits: generated C takes even and odd bytes
apart (columns 2), and gives what the graph interpreter gives, at widths around whole steps and for every vector width
this processor has. TESSERA_COUNT=n tries n programs, TESSERA_SEED=n others."""
import os
import pathlib
import random
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import tool

RULES = ["clamp", "mirror", "reflect", "wrap", "constant(3)", "none"]
FLAGS = pathlib.Path("/proc/cpuinfo").read_text() if pathlib.Path("/proc/cpuinfo").exists() else ""
MACHINES = [None] + [
    f"machines/generic-{name}.machine" for name, flag in (("avx512", "avx512bw"), ("avx2", "avx2")) if flag in FLAGS
]


def taps(rng):
    """A sum of neighbours that fits 16 bits."""
    places = [(rng.randint(-2, 2), rng.randint(-3, 3)) for _ in range(rng.randint(1, 6))]
    return " + ".join(f"{rng.randint(1, 9)} * X@[{y}, {x}]" for y, x in places)


def program(rng):
    kind = rng.choice(["uint8", "uint8", "int8"])
    result = rng.choice(["uint8", "int8"])
    body = f"({taps(rng)})"
    if rng.random() < 0.4:
        body = f"({body} - {rng.randint(1, 3)} * X@[{rng.randint(-1, 1)}, {rng.randint(-2, 2)}])"
    body = rng.choice(["{} / {}", "({} + {}) / 16", "{} >> {}"]).format(body, rng.randint(1, 6))
    if rng.random() < 0.3:
        body = rng.choice(["max({}, {})", "min({}, X@[0, 1] + {})", "(X@[0, 1] > X ? {} : {})"]).format(
            body, rng.randint(0, 90)
        )
    return f"""stencil f(vector#2 {kind} X) {{ return {rng.choice(["cast", "sat"])}<{result}>({body}); }}
parameter M, N;
vector#2 {kind} X[M, N];
return f(X:{rng.choice(RULES)});
"""


with tool.workspace() as place:
    source = pathlib.Path(place) / "bytes.tess"
    rng = random.Random(int(os.environ.get("TESSERA_SEED", "5")))
    paired = 0
    for number in range(int(os.environ.get("TESSERA_COUNT", "24"))):
        text = program(rng)
        source.write_text(text)
        machine = MACHINES[number % len(MACHINES)]
        options = [f"--machine={machine}"] if machine else []
        code, out, err = tool.run("build", source, "-o", source.with_suffix(".c"), *options)
        tool.check(f"program {number} is printed", code == 0, text + err)
        paired += code == 0 and re.search(r"tess_pairs_[ui]8v16\(", source.with_suffix(".c").read_text()) is not None
        for size in (
            f"{rng.randint(9, 40)}x{rng.choice([63, 64, 65, 70, 96, 127, 128, 201])}",
            f"{rng.randint(8, 20)}x{rng.randint(8, 62)}",
        ):
            code, _, err = tool.run(
                "run", source, f"random:{number}:{size}", "--verify", "-q", "-o", pathlib.Path(place) / "out.npy",
                *options,
            )
            tool.check(f"program {number} at {size}", code == 0, text + err)
    tool.check("most programs take bytes apart", paired > 12, str(paired))
tool.finish()
