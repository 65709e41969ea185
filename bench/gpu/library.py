"""The library by ctypes: programs that are compiled for a GPU and run on tensors of PyTorch, where these lie."""
import ctypes
import os
import pathlib
import tempfile
from ctypes import POINTER, byref, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint64, c_void_p

# Where run.py builds the tree, and everything here finds it.
BUILD = pathlib.Path(os.environ.get("TESSERA_BUILD") or pathlib.Path(tempfile.gettempdir(), "tessera-gpu-build"))
TARGETS = {"c": 1, "cuda": 2, "opencl": 3}
FAST = 2


class Constant(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("value", c_double)]


class Options(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t), ("target", c_int), ("fp", c_int), ("threads", c_int), ("device", c_int),
        ("forma", c_int), ("border", c_char_p), ("plan", c_char_p), ("machine", c_char_p), ("library", c_char_p),
        ("cache", c_char_p), ("cc", c_char_p), ("constants", POINTER(Constant)), ("n_constants", c_size_t),
        ("device_bytes", c_uint64), ("general", c_int),
    ]


class Tensor(ctypes.Structure):
    """DLTensor of include/tessera_dlpack.h."""
    _fields_ = [
        ("data", c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)), ("byte_offset", c_uint64),
    ]


def tensor(t):
    """Of a contiguous tensor of floats."""
    REAL, CUDA, CPU = 2, 2, 1
    made = Tensor(
        t.data_ptr(), CUDA if t.is_cuda else CPU, t.device.index or 0, t.dim(), REAL, 32, 1,
        (c_int64 * t.dim())(*t.shape),
    )
    made.kept = t
    return made


class Library:
    def __init__(self, path):
        self.c = ctypes.CDLL(str(path))
        for name in ("tess_diags_text", "tess_program_error", "tess_args_error"):
            getattr(self.c, name).restype = c_char_p
        self.c.tess_compile.argtypes = [
            c_char_p, c_size_t, c_char_p, POINTER(Options), POINTER(c_void_p), POINTER(c_void_p),
        ]
        self.c.tess_time_runs.argtypes = [c_void_p, POINTER(c_void_p), c_size_t, c_int, POINTER(c_double)]
        self.c.tess_time_copy.argtypes = [c_void_p, c_size_t, c_size_t, c_int, POINTER(c_double)]
        for name in ("tess_diags_free", "tess_program_free", "tess_args_free"):
            getattr(self.c, name).argtypes = [c_void_p]
            getattr(self.c, name).restype = None

    def program(self, path, target="cuda", plan=None, fast=False, general=0, **constants):
        return Program(self, path, target, plan, fast, general, constants)


class Program:
    def __init__(self, library, path, target, plan, fast, general, constants):
        self.c, text = library.c, path.read_bytes()
        options, diags = Options(), c_void_p()
        self.c.tess_options_init(byref(options))
        options.target = TARGETS[target]
        options.fp = FAST if fast else options.fp
        options.plan = plan.encode() if plan else None
        options.general = general
        options.constants = (Constant * len(constants))(
            *(Constant(name.encode(), value) for name, value in constants.items())
        )
        options.n_constants = len(constants)
        self.program, self.args = c_void_p(), c_void_p()
        status = self.c.tess_compile(
            text, len(text), path.name.encode(), byref(options), byref(self.program), byref(diags)
        )
        if status:
            raise RuntimeError(self.c.tess_diags_text(diags, 0).decode())
        self.c.tess_diags_free(diags)
        self.check(self.c.tess_args_new(self.program, byref(self.args)))
        self.bound = []

    def check(self, status):
        if status:
            raise RuntimeError(
                ((self.args and self.c.tess_args_error(self.args)) or self.c.tess_program_error(self.program)).decode()
            )

    def bind(self, output, **images):
        """A tensor for the first result, and tensors for the images of these names."""
        self.bound = [tensor(output), *map(tensor, images.values())]
        for name, t in zip(images, self.bound[1:]):
            self.check(self.c.tess_args_image(self.args, name.encode(), byref(t)))
        self.check(self.c.tess_args_output(self.args, 0, byref(self.bound[0])))

    def run(self):
        self.check(self.c.tess_run(self.program, self.args, None))

    def time_runs(self, runs):
        ms = c_double()
        self.check(self.c.tess_time_runs(self.program, byref(self.args), 1, runs, byref(ms)))
        return ms.value

    def time_copy(self, n_bytes, runs):
        ms = c_double()
        self.check(self.c.tess_time_copy(self.program, n_bytes, 1, runs, byref(ms)))
        return ms.value

    def free(self):
        self.c.tess_args_free(self.args)
        self.c.tess_program_free(self.program)
        self.args = self.program = None
