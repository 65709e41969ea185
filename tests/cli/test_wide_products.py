"""Sums over wide masks of bytes by products of matrices, as kernels: which sums are taken so, that interpreted loops
and devices give what the interpreter of graphs adds up, for any border rule, size and mask, and which plans are
refused."""
import pathlib
import random
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import tool

GPU = ["--machine=machines/h200.machine"]
RULES = ["clamp", "mirror", "reflect", "wrap", "constant(7)", "none", "[clamp, wrap]", "[constant(200), mirror]"]
MASKS = [(-4, 4, -4, 4), (-7, 7, -7, 7), (-12, 3, -1, 13), (0, 8, -20, 20), (-1, 1, -31, 31), (-20, 19, -1, 2)]
WEIGHTS = [
    "(7 * i * i + 13 * j + i * j + 1000) % 31 - 12", "0.25 * ((7 * i * i + 12 * j * j + i * j + 100) % 13 - 3)",
    "(11 * i + 5 * j + 1000) % 255 - 127", "(i + j) % 3 == 0 ? 9 : 0",
]
CASES, TURNS = 16, 4  # a quarter of them in each commit
PRODUCT = re.compile(r"^    product \d+ \d+$", re.M)


def source_of(element, weights, mask, rule, body="convolve(X, m)"):
    low_i, high_i, low_j, high_j = mask
    return (f"mask m[i = {low_i}..{high_i}, j = {low_j}..{high_j}] = {weights};\n"
            f"stencil f(vector#2 {element} X) {{ return {body}; }}\n"
            f"parameter M, N;\nvector#2 {element} X[M, N];\nout = f(X:{rule});\nreturn out;\n")


def check_case(folder, number, with_device):
    rng = random.Random(number)
    mask, rule = MASKS[number % len(MASKS)], RULES[number % len(RULES)]
    body = ["convolve(X, m)", "sat<uint8>(convolve(X, m) / 64 + X@[0, 1])"][number // 2 % 2]
    height, width = rng.choice([1, 2, 33, 66]), rng.choice([1, 5, 66, 71])
    if rule == "none":
        height, width = height + mask[1] - mask[0] + 2, width + mask[3] - mask[2] + 2
    text = source_of("uint8", WEIGHTS[number % len(WEIGHTS)], mask, rule, body)
    source, plan, out = folder / "product.tess", folder / "product.plan", folder / "out.npy"
    source.write_text(text)
    code, chosen, errors = tool.run("explain", source, *GPU, "--target=cuda", "--dump=plan")
    if not PRODUCT.search(chosen):
        return  # of rank one, or in parts
    chosen = re.sub(r"product \d+ \d+", "product 64 64", re.sub(r"x \d+ thread", "x 128 thread", chosen))
    chosen = re.sub(r" *resident \d+\n", "", chosen)
    plan.write_text(chosen)
    for target in ("loops", "opencl") if with_device else ("loops",):
        code, _, errors = tool.run("run", source, f"random:{number}:{height}x{width}", "--verify", *GPU,
                                   f"--target={target}", f"--plan={plan}", "-o", out)
        tool.check(f"case {number}, {target}", code == 0, text + chosen + errors)


def check_chosen(folder):
    """Who is taken so, and who is not."""
    source = folder / "chosen.tess"
    square, whole = MASKS[1], WEIGHTS[0]
    for what, element, weights, body, wanted in [
        ("whole numbers", "uint8", whole, "convolve(X, m)", True),
        ("reals that are", "uint8", WEIGHTS[1], "convolve(X, m)", True),
        ("16 bits", "uint16", whole, "convolve(X, m)", False),
        ("reals", "float", whole, "convolve(X, m)", False),
        ("thirds", "uint8", "((7 * i * i + 13 * j + 100) % 31 - 12) / 3.0", "convolve(X, m)", False),
        ("large weights", "uint8", "(7 * i * i + 13 * j + 1000) % 31 * 9", "convolve(X, m)", False),
        ("sums beyond 24 bits", "uint8", "1.0 * ((7 * i * i + 13 * j + 1000) % 37 + 500)", "convolve(X, m)", False),
        ("squares", "uint8", whole, "sum(i, j in m : m[i, j] * X@[i, j] * X@[i, j])", False),
        ("wrapping products", "uint8", whole, "sum(i, j in m : cast<int8>(m[i, j]) * cast<int8>(X@[i, j]))", False),
    ]:
        source.write_text(source_of(element, weights, square, "mirror", body))
        code, chosen, errors = tool.run("explain", source, *GPU, "--target=cuda", "--dump=plan")
        tool.check(f"{what}: {wanted}", code == 0 and bool(PRODUCT.search(chosen)) == wanted, chosen + errors)
    source.write_text(source_of("uint8", whole, square, "mirror"))
    for target, one in ("cuda", "mma.sync"), ("opencl", "mma.sync"):
        code, text, errors = tool.run("explain", source, *GPU, f"--dump={target}")
        tool.check(f"{target} has it", code == 0 and one in text and text.count("tess_product(") > 30, errors)
    plain = folder / "plain.machine"
    plain.write_text(re.sub(r"products_per_cycle.*\n", "", (tool.ROOT / "machines/h200.machine").read_text()))
    code, chosen, errors = tool.run("explain", source, f"--machine={plain}", "--target=cuda", "--dump=plan")
    tool.check("others have no units", code == 0 and not PRODUCT.search(chosen), chosen + errors)


def check_refused(folder):
    source, plan = folder / "refused.tess", folder / "refused.plan"
    source.write_text(source_of("uint8", WEIGHTS[0], MASKS[1], "mirror"))
    _, chosen, _ = tool.run("explain", source, *GPU, "--target=cuda", "--dump=plan")
    for line, wrong, said in [
        ("product 128 128", "product 100 128", "a multiple of 64 rows"),
        ("product 128 128", "product 64 100", "8 columns for each warp"),
        ("product 128 128", "product 64 1024", "has to fit"),
        ("x 256 thread", "x 32 thread", "has to fit"),
        ("x 256 thread", "x 48 thread", "whole warps"),
    ]:
        tool.check(f"there is {line}", line in chosen, chosen)
        plan.write_text(chosen.replace(line, wrong).replace("resident 3\n", "\n"))
        code, _, errors = tool.run("explain", source, *GPU, "--target=cuda", f"--plan={plan}")
        tool.check(f"{wrong}: {said}", code == 1 and said in errors, errors)


with tool.workspace() as place:
    folder = pathlib.Path(place)
    with_device = tool.run("machine", "--target=opencl")[0] == 0
    for number in range(CASES):
        if tool.turn(number * TURNS // CASES, TURNS):
            check_case(folder, number, with_device)
    check_chosen(folder)
    check_refused(folder)
tool.finish()
