"""Files of kernels are for reading and for keeping: `tessera build -o NAME.cu` and `NAME.cl` are the same to the byte
each time, compile without warnings, and say of themselves that they are right (their self-test): the .cl file on the
first OpenCL device, the .cu file on the processor with tests/support/cuda in the place of CUDA. nvcc compiles it where
it is installed. Of programs and names a third has its turn (tool.turn). What is missing is skipped."""
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import tool

EXAMPLES = ["blur", "unsharp", "equalize"]
CORPUS = [
    "border_4d", "scalar_types", "struct_mixed_types", "type_f16_chain", "type_bool_stage", "histogram_small",
    "histogram_outside", "reduce_normalise", "window_median_2d", "sizes_expressions", "absolute_lookup",
    "result_input", "graph_canny_like", "function_c_names", "use_filters_pyramid", "mask_beyond_constant_memory",
]
TURNS = 3
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", "-ffp-contract=off"]
STUB = ["-I", str(tool.ROOT / "tests" / "support" / "cuda")]


def compiled(name, *command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    tool.check(name, done.returncode == 0, done.stderr[:3000])
    return done.returncode == 0


def test_says_ok(name, program):
    done = subprocess.run([str(program)], capture_output=True, text=True, timeout=250)
    tool.check(name, done.returncode == 0 and done.stdout == "ok\n", done.stdout + done.stderr[:3000])


def on_processor(text):
    """A .cu file for an ordinary compiler: launches are calls."""
    launch = re.compile(r"(\w+)<<<(\w+), (dim3\([^)]*\)), 0,\s+(\w+)>>>\(")
    return launch.sub(r"CUDA_LAUNCH(\1, \2, \3, ", text)


def opencl_has_a_device(folder):
    if not shutil.which("gcc"):
        return False
    source = folder / "device.c"
    source.write_text(
        "#define CL_TARGET_OPENCL_VERSION 120\n#include <CL/cl.h>\nint main(void)\n{\n    cl_platform_id p;\n    "
        "cl_uint n = 0;\n"
        "    return clGetPlatformIDs(1, &p, &n) != CL_SUCCESS || n == 0;\n}\n"
    )
    done = subprocess.run(["gcc", str(source), "-o", str(folder / "device"), "-lOpenCL"], capture_output=True)
    return done.returncode == 0 and subprocess.run([str(folder / "device")], capture_output=True).returncode == 0


def build(folder, program, suffix, *options):
    path = folder / f"{program.stem}{suffix}"
    path.with_suffix(".h").unlink(missing_ok=True)  # that of the other language is not written over
    code, _, errors = tool.run("build", program, "-o", path, *options)
    tool.check(f"build {path.name}", code == 0, errors)
    if code == 0:
        first = path.read_bytes()
        tool.run("build", program, "-o", path, *options)
        tool.check(f"{path.name} is the same each time", path.read_bytes() == first)
    return path if code == 0 else None


def check_cl(folder, program, *options):
    path = build(folder, program, ".cl", *options)
    main, out = folder / "main.c", folder / "cl"
    main.write_text(f'#include "{program.stem}.h"\n#include "{path.name}"\n')
    compiled(f"{path.name} and its header are C", "gcc", "-std=c11", *WARNINGS, "-c", main, "-o", folder / "main.o")
    if compiled(
        f"{path.name} self-test compiles", "gcc", "-x", "c", "-std=c11", *WARNINGS, "-O1", "-DTESSERA_SELFTEST", path,
        "-o", out, "-lOpenCL", "-lm",
    ):
        test_says_ok(f"{path.name} self-test", out)


def check_cu(folder, program, *flags, options=()):
    path = build(folder, program, ".cu", *options)
    reference, plain, out = folder / "reference.o", folder / f"{program.stem}.cc", folder / "cu"
    plain.write_text(on_processor(path.read_text()))
    if compiled(
        f"{path.name} has its reference in C", "gcc", "-x", "c", "-std=c11", *WARNINGS, "-O1", *flags,
        "-DTESSERA_SELFTEST", "-c", path, "-o", reference,
    ) and compiled(
        f"{path.name} is C++", "g++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas",
        "-Wno-unused-parameter", "-ffp-contract=off", "-O0", *flags, *STUB, "-DTESSERA_SELFTEST", plain, reference,
        "-o", out, "-lm",
    ):
        test_says_ok(f"{path.name} self-test {' '.join(flags)}", out)


WARPS = """plan graph_canny_like
target gpu
group output
y 2..9 grid 3 blocks
x 28 grid
x 32 thread
x lanes
y step ahead
y 2 unroll
stage a at y.step in lanes
stage b with a
y 2 unroll
stage m at y.step in lanes
y 2 unroll
stage output in memory
frame 8 32 32 8
split edges
"""


def check_returns(folder):
    """What a launcher says to sizes that it cannot work on, through its header."""
    main, kernels = folder / "returns.cc", build(folder, programs[0], ".cu")
    (folder / "blur.cc").write_text(on_processor(kernels.read_text()))
    main.write_text(
        '#include "blur.h"\n#include "blur.cc"\nint main()\n{\n    float pixel = 1, result = 0;\n'
        "    return blur(&pixel, 1, 0, 1, &result, 1, NULL) != 2 || blur(&pixel, 1, 1, PTRDIFF_C, &result, 1, NULL) "
        "!= 3\n"
        "           || blur(&pixel, 1, 1, 1, &result, 1, NULL) != 0 || result == 0;\n}\n".replace(
            "PTRDIFF_C", "1LL << 31"
        )
    )
    if compiled(
        "the launcher's header", "g++", "-std=c++17", "-ffp-contract=off", *STUB, main, "-o", folder / "returns", "-lm"
    ):
        tool.check("what the launcher returns", subprocess.run([str(folder / "returns")]).returncode == 0)


NAMES = """stencil f(vector#2 float stream, float error, float grid) {
    return (stream@[0, -1] + error * stream@[1, 1]) * grid;
}
parameter cl_mem, block;
vector#2 float stream[cl_mem, block];
float error = 2; float program = 3; float args = 1;
workspace = f(stream:clamp, error, program);
queue = f(workspace:clamp, maximum(workspace), args);
return queue, workspace;
"""


def check_names(folder, with_opencl, with_cpp):
    """Names that launchers, CUDA and OpenCL use, of programs and in them."""
    stems = ("stream", "queue", "kernel", "dim3", "cl_mem", "clFinish", "cudaMalloc", "main")
    for stem in (s for k, s in enumerate(stems) if tool.turn(k, TURNS)):
        program = folder / f"{stem}.tess"
        program.write_text(NAMES)
        if with_opencl:
            compiled(
                f"a launcher named {stem}, in C", "gcc", "-x", "c", "-std=c11", *WARNINGS, "-O0", "-DTESSERA_SELFTEST",
                "-c", build(folder, program, ".cl"), "-o", folder / "named.o",
            )
        if with_cpp:
            (folder / "named.cc").write_text(on_processor(build(folder, program, ".cu").read_text()))
            compiled(
                f"a launcher named {stem}, in C++", "g++", "-std=c++17", "-w", *STUB, "-DTESSERA_SELFTEST",
                "-fsyntax-only", folder / "named.cc",
            )


def some_generations(folder):
    """The game of life over 4 generations instead of 32, whose kernels OpenCL on a processor compiles for more than a
    minute."""
    path = folder / "life.tess"
    text = (tool.ROOT / "examples" / "life.tess").read_text()
    path.write_text(text.replace("t = 1..32", "t = 1..4").replace("world<32>", "world<4>"))
    tool.check("life is shortened", "32" not in path.read_text().split("parameter")[1])
    return path


programs = [tool.ROOT / "examples" / f"{name}.tess" for name in EXAMPLES] + [
    tool.ROOT / "tests" / "corpus" / f"{name}.tess" for name in CORPUS
]
with tool.workspace() as place:
    folder = pathlib.Path(place)
    with_opencl, with_cpp = opencl_has_a_device(folder), shutil.which("gcc") and shutil.which("g++")
    if not with_opencl:
        print("skipped the self-tests of .cl files: no OpenCL headers, library or device here")
    if not with_cpp:
        print("skipped the self-tests of .cu files: no g++ here")
    for number, program in enumerate([*programs, some_generations(folder)]):
        if not tool.turn(number, TURNS):
            continue
        if with_opencl:
            check_cl(folder, program)
        if with_cpp:
            check_cu(folder, program)
    masks = tool.ROOT / "tests" / "corpus" / "mask_runtime_borders.tess"
    for preset in ("lecture-tiled", "lecture-cached"):
        if with_opencl:
            check_cl(folder, masks, f"--plan={preset}")
        if with_cpp:
            check_cu(folder, masks, options=(f"--plan={preset}",))
    warps = folder / "warps.plan"
    warps.write_text(WARPS)
    chain = tool.ROOT / "tests" / "corpus" / "graph_canny_like.tess"
    if with_opencl:
        check_cl(folder, chain, f"--plan={warps}")
    if with_cpp:
        check_cu(folder, chain, options=(f"--plan={warps}",))
        tool.check(
            "warps exchange by shuffles",
            "tess_shift(" in (folder / "graph_canny_like.cu").read_text().split("TESS_KERNEL(32")[1],
        )
    if with_cpp:
        check_cu(folder, programs[1], "-DTESS_WIDE_INDEX")
        check_cu(folder, programs[1], "-DTESS_ALIGNED_ROWS")
        check_returns(folder)
    check_names(folder, with_opencl, with_cpp)
    if shutil.which("nvcc"):
        compiled(
            "nvcc compiles blur.cu", "nvcc", "--std=c++17", "--fmad=false", "-Werror", "all-warnings",
            "-DTESSERA_SELFTEST", "-c", build(folder, programs[0], ".cu"), "-o", folder / "nvcc.o",
        )
    code, _, errors = tool.run(
        "build", programs[0], f"--machine={tool.ROOT / 'machines' / 'generic-avx2.machine'}", "-o", folder / "blur.cu"
    )
    tool.check("kernels for a CPU", code == 1 and "target = gpu" in errors, errors)
tool.finish()
