"""Random wide windows: what the compiler makes of them by rows, columns and parts (default and fast rounding) is what
they are as written (strict), bit for bit. All values are small whole numbers, so every order of adding them up is
exact. TESSERA_COUNT=n tries n programs, TESSERA_SEED=n others."""
import os
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import tool

RULES = ["clamp", "mirror", "reflect", "wrap", "constant(3)", "none"]
EVERY_COMPILED = 12


def offset(rng, dim, var):
    """An index in one dimension that moves with a variable, in either direction and perhaps spaced or sampled."""
    coefficient = rng.choice([1, 1, 1, -1, 2, -3])
    shift = rng.randint(-3, 3)
    index = f"{coefficient} * {var} + {shift}"
    return f"({index}, 2)" if rng.random() < 0.1 else index


def window(rng, n_dims):
    variables = "ijk"[:n_dims]
    widest = {1: 60, 2: 24, 3: 9}[n_dims]
    ranges, indices, weights = [], [], []
    for d, v in enumerate(variables):
        low = rng.randint(-widest // 2, 2)
        high = low + rng.randint(0, widest)
        ranges.append(f"{v} = {low}..{high}")
        indices.append(offset(rng, d, v))
        weights.append(rng.choice(["1", "2", f"(1 + abs({v}) % 3)", f"({v} % 2 == 0 ? 1 : -1)"]))
    read = f"X@[{', '.join(indices)}]"
    kind = rng.choice(["max", "min", "sum", "sum", "weighted", "any"])
    if kind == "any":
        return f"any({', '.join(ranges)} : {read} > 14) ? 1.0 : 0.0"
    if kind == "weighted":
        return f"sum({', '.join(ranges)} : {' * '.join(weights)} * {read})"
    factor = rng.choice(["", "2 * ", "-"]) if kind == "sum" else ""
    return f"{kind}({', '.join(ranges)} : {factor}{read})"


def program(rng):
    n_dims = rng.choice([1, 2, 2, 2, 3])
    names = "MNP"[:n_dims]
    rules = [rng.choice(RULES[:-1]) for _ in range(n_dims)]
    rule = rng.choice(RULES[:-1] if rng.random() < 0.9 else ["none"])
    border = rule if rng.random() < 0.5 else f"[{', '.join(rules)}]"
    element = rng.choice(["float", "float", "double", "int"])
    return f"""stencil whole(vector#{n_dims} float X) {{ return cast<{element}>(floor(X * 16)); }}
stencil f(vector#{n_dims} {element} X) {{ return {window(rng, n_dims)}; }}
parameter {', '.join(names)};
vector#{n_dims} float X[{', '.join(names)}];
Y = whole(X);
return f(Y:{border});
""", n_dims


def results(source, size, folder, seed, *options):
    out = folder / "out.npy"
    code, _, errors = tool.run("run", source, f"random:{seed}:{size}", "-q", "-o", out, *options)
    return out.read_bytes() if code == 0 else None, errors


with tool.workspace() as place:
    folder = pathlib.Path(place)
    rng = random.Random(int(os.environ.get("TESSERA_SEED", "11")))
    compared = 0
    for number in range(int(os.environ.get("TESSERA_COUNT", "150"))):
        text, n_dims = program(rng)
        source = folder / "wide.tess"
        source.write_text(text)
        most = {1: 200, 2: 30, 3: 9}[n_dims]
        size = "x".join(str(rng.choice([1, 2, rng.randint(1, most), most])) for _ in range(n_dims))
        want, errors = results(source, size, folder, number, "--fp=strict", "--target=interp")
        if want is None:  # empty under the rule `none`, or by sampling
            tool.check(f"program {number} can be run or says why", "empty" in errors or "size" in errors, text + errors)
            continue
        compared += 1
        for fp in ("default", "fast"):
            have, errors = results(source, size, folder, number, f"--fp={fp}", "--target=interp")
            tool.check(f"program {number} at {size}, {fp}", have == want, text + errors)
        if number % EVERY_COMPILED == 0:
            have, errors = results(source, size, folder, number, "--fp=fast", "--verify")
            tool.check(f"program {number} at {size}, compiled", have is not None, text + errors)
    tool.check("most programs can be compared", compared > 30, str(compared))
tool.finish()
