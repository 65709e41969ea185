"""Generated C for NEON runs on AArch64: programs planned for machines/generic-neon.machine are compiled by a cross
compiler, run under QEMU, and give the bits of the graph interpreter here; examples agree with their own reference.
Skipped without aarch64-linux-gnu-gcc or qemu-aarch64 (Debian: gcc-aarch64-linux-gnu, qemu-user)."""
import array
import itertools
import pathlib
import random
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import tool

PROGRAMS = [
    "function_exponentials", "function_trigonometry", "function_roots", "function_rounding", "function_extremes",
    "function_clamp_mix_select", "op_bits", "op_shift", "op_nan", "op_division_minimum", "op_power_real",
    "sat_integers", "cast_integer_wraps", "cast_truncates", "type_f16_chain", "type_bool_stage", "type_int64",
    "type_uint8_promotes", "scalar_types", "border_wrap", "border_3d", "graph_canny_like", "histogram_small",
    "reduce_mean", "window_median_2d", "mask_dilation", "use_filters_edges", "use_filters_morphology",
]
EXAMPLES = ["blur", "sobel", "unsharp", "bilateral", "harris", "camera", "life"]
TURNS = 3 # of programs, and of examples with compilers
MACHINE = f"--machine={tool.ROOT / 'machines' / 'generic-neon.machine'}"
FLAGS = [
    "-std=c11", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", "-ffp-contract=off",
    "-fno-math-errno", "-static",
]
SIZES = {1: [1003], 2: [23, 77], 3: [7, 11, 37], 4: [3, 5, 7, 11]}
#        type: array's code, NumPy's code, C's type, values
TYPES = {"float": ("f", "<f4", "float", lambda: random.choice([random.uniform(-300, 300), random.uniform(-1, 1)])),
         "double": ("d", "<f8", "double", lambda: random.uniform(-300, 300)),
         "float16": ("H", "<f2", "uint16_t", lambda: random.randrange(0x7c00) | random.choice([0, 0x8000])),
         "bool": ("B", "|b1", "uint8_t", lambda: random.randrange(2))}
for size, codes in ((1, "bB"), (2, "hH"), (4, "iI"), (8, "qQ")):
    order, bits = "<" if size > 1 else "|", 8 * size
    TYPES[f"int{bits}"] = (
        codes[0], f"{order}i{size}", f"int{bits}_t",
        lambda bits=bits: random.randrange(-(2 ** (bits - 1)), 2 ** (bits - 1)),
    )
    TYPES[f"uint{bits}"] = (codes[1], f"{order}u{size}", f"uint{bits}_t", lambda bits=bits: random.randrange(2 ** bits))


class Image:
    """One of the images in the comment and the prototype of a header."""
    def __init__(self, name, role, sizes, kind):
        self.name, self.is_input, self.type = name, role == "in", TYPES[kind]
        self.sizes = sizes.split(" x ")

    def resolve(self, values):
        self.sizes = [eval(size.replace("/", "//"), {}, values) for size in self.sizes]
        self.count = 1
        for size in self.sizes:
            self.count *= size


def signature(header):
    images = [Image(*found) for found in re.findall(r"^ \* (\w+) \((in|out)\): (.*) pixels of (\w+)", header, re.M)]
    prototype = re.search(r"\nint (\w+)\(([^)]*)\);", header)
    return images, prototype.group(1), [" ".join(p.split()) for p in prototype.group(2).split(",")]


def caller(name, images, function, parameters, values):
    """A main that reads the inputs from files, calls the function, and writes the results."""
    lines = [
        f'#include "{name}.h"',
        "#include <stdio.h>",
        "#include <stdlib.h>",
        "int main(void)",
        "{",
        "    FILE *f;",
        "    int ok = 1;",
    ]
    call = []
    for im in images:
        lines.append(f'    {im.type[2]} *{im.name} = malloc({im.count} * sizeof *{im.name});')
        if im.is_input:
            lines += [
                f'    f = fopen("{name}-{im.name}.raw", "rb");',
                f"    ok &= fread({im.name}, sizeof *{im.name}, {im.count}, f) == {im.count};", "    fclose(f);",
            ]
    for parameter in parameters:
        word = re.search(r"(\w+)$", parameter).group(1)
        stride = re.fullmatch(r"(\w+)_stride(\d?)", word)
        if stride:
            im = next(im for im in images if im.name == stride.group(1))
            call.append(str(im.count // product(im.sizes[:int(stride.group(2) or 0) + 1])))
        else:
            call.append(str(values.get(word, word)))
    lines.append(f"    ok &= {function}({', '.join(call)}) == 0;")
    for im in images:
        if not im.is_input:
            lines += [
                f'    f = fopen("{name}-{im.name}.raw", "wb");',
                f"    ok &= fwrite({im.name}, sizeof *{im.name}, {im.count}, f) == {im.count};",
                "    ok &= fclose(f) == 0;",
            ]
    return "\n".join(lines + ["    return !ok;", "}", ""])


def product(sizes):
    n = 1
    for size in sizes:
        n *= size
    return n


def bits(values, kind):
    """Reals as integers, but any NaN as one and the same."""
    if kind == "<f2":
        return [None if (n & 0x7c00) == 0x7c00 and n & 0x3ff else n for n in values]
    if kind not in ("<f4", "<f8"):
        return list(values)
    whole = array.array("I" if kind == "<f4" else "Q", values.tobytes())
    return [None if x != x else n for x, n in zip(values, whole)]


def compile_arm(compiler, output, *sources):
    return subprocess.run(
        [*compiler, *FLAGS, *map(str, sources), "-o", str(output), "-lm"], capture_output=True, text=True
    )


def compare_with_interpreter(folder, name):
    program, source = tool.ROOT / "tests" / "corpus" / f"{name}.tess", folder / f"{name}.c"
    code, _, errors = tool.run("build", program, MACHINE, "-o", source)
    tool.check(f"build {name}", code == 0, errors)
    images, function, parameters = signature((folder / f"{name}.h").read_text())
    sizes = [p.split()[-1] for p in parameters if p.startswith("ptrdiff_t ") and "_stride" not in p]
    scalars = [p.split()[-1] for p in parameters if not p.startswith("ptrdiff_t ") and "*" not in p]
    values = dict(zip(sizes, SIZES[len(sizes)]), **{s: 1 for s in scalars})
    arguments = [f"{s}=1" for s in scalars]
    for im in images:
        im.resolve(values)
        if im.is_input:
            data = array.array(im.type[0], (im.type[3]() for _ in range(im.count)))
            (folder / f"{name}-{im.name}.raw").write_bytes(data.tobytes())
            tool.write_npy(folder / f"{name}-{im.name}.npy", im.sizes, im.type[1], data)
            arguments.append(f"{im.name}={folder / f'{name}-{im.name}.npy'}")
    (folder / f"{name}-main.c").write_text(caller(name, images, function, parameters, values))
    done = compile_arm(GCC, folder / name, source, folder / f"{name}-main.c")
    tool.check(f"{name} compiles", done.returncode == 0, done.stderr[:2000])
    outputs = [im for im in images if not im.is_input]
    for im in outputs:
        arguments += ["-o", folder / f"{name}-{im.name}-expected.npy"]
    code, _, errors = tool.run("run", program, "--target=interp", *arguments)
    tool.check(f"{name} in the interpreter", code == 0, errors)
    if code or done.returncode:
        return
    done = subprocess.run([QEMU, str(folder / name)], cwd=folder, capture_output=True, text=True, timeout=250)
    tool.check(f"{name} runs", done.returncode == 0, done.stderr[:2000])
    for im in outputs:
        have = array.array(im.type[0], (folder / f"{name}-{im.name}.raw").read_bytes())
        want = array.array(im.type[0], tool.read_npy(folder / f"{name}-{im.name}-expected.npy")[2])
        tool.check(
            f"{name}: {im.name} has the bits of the interpreter", bits(have, im.type[1]) == bits(want, im.type[1])
        )


def test_itself(folder, compiler, name):
    source = folder / f"{name}.c"
    code, _, errors = tool.run("build", tool.ROOT / "examples" / f"{name}.tess", MACHINE, "-o", source)
    tool.check(f"build {name}", code == 0, errors)
    done = compile_arm([*compiler, "-DTESSERA_SELFTEST"], folder / name, source)
    tool.check(f"{name} with {compiler[0]}", done.returncode == 0, done.stderr[:2000])
    if done.returncode == 0:
        done = subprocess.run([QEMU, str(folder / name)], capture_output=True, text=True, timeout=250)
        tool.check(
            f"{name} with {compiler[0]} is what its reference is", done.returncode == 0,
            done.stdout + done.stderr[:2000],
        )


GCC, QEMU = ["aarch64-linux-gnu-gcc"], shutil.which("qemu-aarch64")
if not shutil.which(GCC[0]) or not QEMU:
    print("skipped: aarch64-linux-gnu-gcc or qemu-aarch64 is not installed")
    sys.exit(tool.SKIPPED)
random.seed(1)
with tool.workspace() as place:
    for program in (p for k, p in enumerate(PROGRAMS) if tool.turn(k, TURNS)):
        compare_with_interpreter(pathlib.Path(place), program)
    compilers = [GCC] + [["clang", "--target=aarch64-linux-gnu"]] * bool(shutil.which("clang"))
    for number, (example, compiler) in enumerate(itertools.product(EXAMPLES, compilers)):
        if tool.turn(number, TURNS):
            test_itself(pathlib.Path(place), compiler, example)
tool.finish()
