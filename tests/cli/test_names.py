"""No name in a program collides with what means something in generated text: words of C, C++, OpenCL and CUDA, macros
of their headers (asked of the compilers here), functions and types of devices, names that texts make of others (`t` and
`t_bytes`). They stand for images, scalars and sizes of programs whose C, kernels and launchers then compile without
warnings: under gcc, clang (also as OpenCL), g++ with tests/support/cuda, and nvcc where it is."""
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import tool

FRONT = tool.ROOT / "src" / "front"
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", "-ffp-contract=off", "-DTESSERA_WITHOUT_FMA"]
STUB = ["-I", str(tool.ROOT / "tests" / "support" / "cuda")]
SCALARS, IMAGES = 60, 12 # of a program

C_WORDS = """alignas alignof and asm auto bitand bool break case catch char class compl concept const constexpr
continue decltype default delete do double dynamic_cast else enum explicit export extern false float for
friend goto if inline int long mutable namespace new noexcept not nullptr operator or private protected
public register reinterpret_cast requires restrict return short signed sizeof static static_assert struct
switch template this thread_local throw true try typedef typeid typename typeof union unsigned using
virtual void volatile wchar_t while xor unix linux i386 I complex imaginary NULL NAN INFINITY main malloc
free memcpy memset abort exit errno assert size_t ptrdiff_t uint8_t int64_t float_t max_align_t tess_idx
TESS_FN omp_get_max_threads stdin stderr fma fmaf sqrtf floor fabs printf aligned_alloc M_PI INT_MAX"""
OPENCL_WORDS = """kernel global local constant half uchar ushort uint ulong quad pipe read_only write_only read_write
event_t sampler_t image2d_t get_work_dim get_global_size get_global_id get_local_size get_local_id
get_num_groups get_group_id get_global_offset barrier mem_fence float2 float3 float4 float8 float16 uchar4
uchar16 ushort2 uint4 int8 long16 double2 half4 size_t uintptr_t bool4 as_float as_uint as_ushort2
convert_int convert_int_sat_rte vload2 vload4 vload16 vstore4 vload_half atomic_add atom_add atomic_inc
native_exp half_cos prefetch clamp mix step smoothstep sign select shuffle rotate popcount clz mad mad24
mul24 mul_hi hadd upsample any all bitselect dot cross length normalize min max abs fma exp2 sqrt rint
printf wait_group_events async_work_group_copy read_imagef write_imagef cl_mem cl_int cl_khr_fp64 cl_event
CL_SUCCESS CLK_LOCAL_MEM_FENCE CL_TRUE clCreateBuffer clFinish cl_program kernel_exec FLT_EPSILON CHAR_BIT
HUGE_VALF MAXFLOAT"""
CUDA_WORDS = """threadIdx blockIdx blockDim gridDim warpSize dim3 float4 uchar16 uint1 longlong2 ulonglong4 double3
half2 make_float4 atomicAdd atomicCAS tex1Dfetch surfaceReference cudaStream_t cudaError_t cudaSuccess
cudaMalloc cudaMemcpy cudaGetLastError cuInit CUDA_VERSION clock clock64 trap min max signbit isinf isnan
isfinite rsqrtf nanosleep nv_bfloat16"""
OWN = """t t_bytes t_stride t_copy t_copy_bytes t_2 t_total t_expected t_row arg_t names names_options names_open
names_entry names_end names_run names_pitch names_reference names_on_host names_launch names_grid
names_least queue program context error status workspace stream memory bytes place end args block grid at
begin pitch lanes lanes_bytes x x_end y x_rest inside_from result seed wrong i"""


def macros(*command):
    """Those that a compiler knows of a text, and that a program could use as names."""
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    return {m for m in re.findall(r"^#define (\w+)", done.stdout, re.M) if not m.startswith("_")}


def keywords():
    words = set(re.findall(r'"(\w+)"', (FRONT / "token.def").read_text() + (FRONT / "builtins.def").read_text()))
    return words | set(re.findall(r'\w+', (tool.ROOT / "src" / "base" / "types.def").read_text()))


def program(names):
    """Scalars, inputs, stages and results with these names."""
    scalars, images, stages = names[:SCALARS], names[SCALARS:SCALARS + IMAGES], names[SCALARS + IMAGES:]
    sums = " + ".join(f"{a}@[0, 1] * {b}" for a, b in zip(images, images[1:] + images[:1]))
    lines = [
        f"stencil gather({', '.join(f'vector#2 float {a}' for a in images)}, "
        f"{', '.join(f'float {s}' for s in scalars)}) {{",
        f"    return {sums} + {' + '.join(scalars)};",
        "}",
        "stencil sharp(vector#2 float X) { return X@[1, 0] - X@[0, -1]; }",
        "parameter rows, columns;",
    ]
    lines += [f"vector#2 float {a}[rows, columns];" for a in images] + [f"float {s} = 1;" for s in scalars]
    lines.append(f"{stages[0]} = gather({', '.join(f'{a}:clamp' for a in images)}, {', '.join(scalars)});")
    lines += [f"{b} = sharp({a}:mirror);" for a, b in zip(stages, stages[1:])]
    return "\n".join(lines + [f"return {', '.join(stages[-3:])};"]) + "\n"


def compiled(what, *command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    tool.check(what, done.returncode == 0, done.stderr[:2500])


def build(folder, text, suffix):
    path = folder / f"names{suffix}"
    path.with_suffix(".h").unlink(missing_ok=True)
    (folder / "names.tess").write_text(text)
    code, _, errors = tool.run("build", folder / "names.tess", "-o", path)
    tool.check(f"build {path.name}", code == 0, errors + text)
    return path


def on_processor(text):
    return re.sub(r"(\w+)<<<(\w+), (dim3\([^)]*\)), 0,\s+(\w+)>>>\(", r"CUDA_LAUNCH(\1, \2, \3, ", text)


def check_c(folder, text):
    path = build(folder, text, ".c")
    for compiler in filter(shutil.which, ("gcc", "clang")):
        compiled(
            f"C under {compiler}", compiler, "-std=gnu17", *WARNINGS, "-fsyntax-only", "-DTESSERA_SELFTEST",
            "-DTESSERA_ENTRY", path,
        )


def check_cl(folder, text):
    path = build(folder, text, ".cl")
    if shutil.which("gcc") and pathlib.Path("/usr/include/CL/cl.h").exists():
        compiled(
            "the launcher in C", "gcc", "-x", "c", "-std=gnu17", *WARNINGS, "-fsyntax-only", "-DTESSERA_SELFTEST", path
        )
    if shutil.which("clang"):
        compiled("kernels in OpenCL", "clang", *OPENCL, path)


def check_cu(folder, text, with_nvcc):
    path = build(folder, text, ".cu")
    if shutil.which("g++"):
        plain = folder / "names.cc"
        plain.write_text(on_processor(path.read_text()))
        compiled(
            "CUDA on the processor", "g++", "-std=c++17", "-w", *STUB, "-DTESSERA_SELFTEST", "-fsyntax-only", plain
        )
    if with_nvcc:
        compiled(
            "CUDA", "nvcc", "--std=c++17", "--fmad=false", "-DTESSERA_SELFTEST", "-c", path, "-o", folder / "names.o"
        )


OPENCL = [
    "-D__OPENCL_VERSION__=120", "-x", "cl", "-cl-std=CL1.2", "-Xclang", "-finclude-default-header", "-fsyntax-only",
    "-w",
]
with tool.workspace() as place:
    folder = pathlib.Path(place)
    plain = program([f"n{i}" for i in range(SCALARS + IMAGES + 5)])
    known = set()
    if shutil.which("gcc"):
        known |= macros("gcc", "-std=gnu17", "-dM", "-E", build(folder, plain, ".c"))
        known |= macros("gcc", "-x", "c", "-dM", "-E", "-DTESSERA_SELFTEST", build(folder, plain, ".cl"))
    if shutil.which("clang"):
        known |= macros("clang", *OPENCL[:-2], "-dM", "-E", build(folder, plain, ".cl"))
    if shutil.which("nvcc"):
        known |= macros("nvcc", "--std=c++17", "-E", "-Xcompiler", "-dM", build(folder, plain, ".cu"))
    listed = [w for words in (OWN, OPENCL_WORDS, CUDA_WORDS, C_WORDS) for w in words.split()]
    names = [
        *dict.fromkeys([*listed, *sorted(m for m in known if len(m) < 30 and not re.search("CLK?_[A-Z]+_[A-Z_]+$", m))])
    ]
    names = [n for n in names if n not in keywords()]
    tool.check("there are many names", len(names) > 200, len(names))
    size = SCALARS + IMAGES + 5
    fill = [f"n{i}" for i in range(size)]
    parts = [(names[first:] + fill)[:size] for first in range(0, len(names), size)]
    # Other names are made of those of images and stages, so each of the listed ones is one in turn.
    made = [w for w in OWN.split() if w not in keywords()]
    parts += [
        [*fill[:SCALARS], *(made[first:] + fill[SCALARS:])[: size - SCALARS]]
        for first in range(0, len(made), size - SCALARS)
    ]
    for number, part in enumerate(parts):
        text = program(part)
        check_c(folder, text)
        check_cl(folder, text)
        check_cu(folder, text, shutil.which("nvcc") and number == 0)
tool.finish()
