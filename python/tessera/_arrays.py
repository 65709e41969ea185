"""Arrays of all kinds on their way into the library and back: NumPy's as they are, others by DLPack,
`__cuda_array_interface__` or the buffer protocol. Nothing is copied but rows that programs cannot read as they lie,
which is warned of."""
import math
import sys
import warnings

import numpy as np

from . import _core, _errors

_HOST = (1, 3)  # DLPack's kDLCPU and kDLCUDAHost
_CUDA = 2
_PAGE = 4096
_CODES = {"i": 0, "u": 1, "f": 2, "b": 6}
TYPES = (
    "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64",
)
_KNOWN = "bool, int8 to int64, uint8 to uint64, float16, float32, float64"


def said(kind, name, sentence):
    return kind(f"image '{name}' {sentence}")


def _structured(array, description):
    """Pixels of a structured type as the last dimension that the library has for their fields, or for their bytes."""
    names, fields = array.dtype.names, array.dtype.fields
    name, channels, types = description[0], description[4], description[5]
    if tuple(names) != channels or tuple(fields[n][0].name for n in names) != types:
        has = ", ".join(f"{fields[n][0].name} {n}" for n in names)
        wants = ", ".join(f"{t} {c}".strip() for t, c in zip(types, channels))
        raise said(_errors.ArgumentTypeError, name, f"has pixels of the fields {has}, but the program declares {wants}")
    packed = all(fields[n][1] == sum(fields[m][0].itemsize for m in names[:i]) for i, n in enumerate(names))
    if not packed or sum(fields[n][0].itemsize for n in names) != array.dtype.itemsize:
        raise said(_errors.ArgumentError, name, "has gaps between the fields of its pixels, which programs do not read")
    of_one = len(set(types)) == 1
    element = fields[names[0]][0] if of_one else np.dtype(np.uint8)
    return array[..., np.newaxis].view(element)


def _numpy(array, description, writable):
    """An array that the core could not take as it is."""
    name = description[0]
    if array.dtype.names:
        flat = _structured(array, description)
        if flat.strides[-1] == flat.itemsize and flat.strides[-2:-1] in ((), (flat.itemsize * flat.shape[-1],)):
            return flat
        array = flat
    if array.dtype.kind not in "iufb" or array.dtype.itemsize * 8 not in (8, 16, 32, 64):
        raise said(_errors.ArgumentTypeError, name, f"has elements of type {array.dtype.name}; images have {_KNOWN}")
    if array.ndim > 5:
        raise said(_errors.ArgumentError, name, f"has {array.ndim} dimensions, more than any program takes")
    if not writable:
        warnings.warn(f"image '{name}' is copied: {_why(array)}", _errors.CopyWarning, stacklevel=_outside())
        return array.astype(array.dtype.newbyteorder("="), order="C", copy=True)
    if not array.flags.writeable:
        raise _errors.ArgumentError(f"the memory for result '{name}' is read-only")
    raise _errors.ArgumentError(f"the memory for result '{name}' cannot be written as it lies: {_why(array)}")


def _why(array):
    if not array.dtype.isnative:
        return "its bytes are in another order than this machine's"
    if not array.flags.aligned:
        return "its elements are not aligned"
    return "the elements of its rows do not lie one behind the other"


def _outside():
    """How many frames up the caller of the package is."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").split(".")[0] == "tessera":
        level, frame = level + 1, frame.f_back
    return max(level - 1, 1)


def _stream_of(stream):
    """The number behind a stream of PyTorch, CuPy, or anybody's."""
    if stream is None:
        return 0
    for attribute in ("cuda_stream", "ptr", "handle"):
        number = getattr(stream, attribute, None)
        if number is not None:
            return int(number)
    if isinstance(stream, int):
        return stream
    raise _errors.ArgumentTypeError(f"'stream' takes a stream of PyTorch or CuPy, or its number, not {_kind(stream)}")


def _kind(thing):
    name = type(thing).__name__
    return "None" if thing is None else f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


def _capsule(thing, name, stream):
    device = thing.__dlpack_device__()[0] if hasattr(thing, "__dlpack_device__") else 1
    wanted = {} if int(device) != _CUDA else {"stream": stream or 1}  # 1: the default stream of CUDA
    try:
        try:
            return thing.__dlpack__(max_version=(1, 0), **wanted)
        except TypeError:
            return thing.__dlpack__(**wanted)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise said(_errors.ArgumentError, name, f"cannot be lent: {error}") from error


def is_on_cuda(thing):
    """Whether an array lies in the memory of a CUDA device."""
    if isinstance(thing, np.ndarray):
        return False
    if hasattr(thing, "__dlpack_device__") and not isinstance(thing, np.generic):
        return int(thing.__dlpack_device__()[0]) == _CUDA
    return getattr(thing, "__cuda_array_interface__", None) is not None


def _described(interface, name, owner):
    kind, size = interface["typestr"][1], int(interface["typestr"][2:])
    if kind not in _CODES or interface["typestr"][0] == ">":
        raise said(
            _errors.ArgumentTypeError, name, f"has elements of type {interface['typestr']}; images have {_KNOWN}"
        )
    strides = interface.get("strides")
    if strides is not None:
        strides = tuple(s // size for s in strides)
    return interface["data"][0], tuple(interface["shape"]), strides, _CODES[kind], size * 8, 0, owner


def convert(thing, description, writable, stream):
    """What the core reads instead of an object: an ndarray, a DLPack capsule, or a description of device memory."""
    name = description[0]
    if isinstance(thing, np.ndarray):
        return _numpy(thing, description, writable)
    if type(thing).__module__.split(".")[0] == "xarray" and hasattr(thing, "data"):
        return _checked(thing.values, description, writable)
    if hasattr(thing, "__dlpack__") and not isinstance(thing, np.generic):
        if writable and type(thing).__module__.split(".")[0] == "jaxlib":
            raise _errors.ArgumentError(f"the memory for result '{name}' is read-only, as all arrays of JAX")
        if getattr(thing, "requires_grad", False):
            thing = thing.detach()
        on_host = not hasattr(thing, "__dlpack_device__") or int(thing.__dlpack_device__()[0]) in _HOST
        if on_host and not writable:
            try:
                return _checked(np.from_dlpack(thing), description)
            except (BufferError, RuntimeError, TypeError, ValueError) as error:
                raise said(_errors.ArgumentError, name, f"cannot be lent: {error}") from error
        return _capsule(thing, name, _stream_of(stream))
    interface = getattr(thing, "__cuda_array_interface__", None)
    if interface is not None:
        if writable and interface["data"][1]:
            raise _errors.ArgumentError(f"the memory for result '{name}' is read-only")
        return _described(interface, name, thing)
    if hasattr(thing, "__array_interface__"):
        return _checked(np.asarray(thing), description, writable)
    try:
        view = memoryview(thing)
    except TypeError:
        raise said(_errors.ArgumentTypeError, name, f"is {_kind(thing)}, not an array") from None
    if not isinstance(thing, (bytes, bytearray, str)) and view.ndim:
        return _checked(np.asarray(view), description, writable)
    raise said(_errors.ArgumentTypeError, name, f"is {_kind(thing)}, not an array")


def _checked(array, description, writable=False):
    """The array, or a copy where the core could not read it as it is."""
    tail = 2 if description[10] else 1
    compact = array.itemsize
    good = (
        array.dtype.isnative
        and array.flags.aligned
        and not array.dtype.names
        and array.dtype.kind in "iufb"
        and array.ndim <= 5
    )
    for size, stride in list(zip(array.shape, array.strides))[: -tail - 1 : -1]:
        good = good and (size <= 1 or stride == compact)
        compact *= size
    if good and (array.flags.writeable or not writable):
        return array
    return _numpy(array, description, writable)


# ---- Results of the kind that went in
# --------------------------------------------------------------------------------------------------


def type_of(thing, name, ndim):
    """(NumPy's name of the element type, number of fields) of an array for an image of `ndim` dimensions."""
    if not hasattr(thing, "dtype") or not hasattr(thing, "shape"):
        try:
            thing = np.asarray(thing)
        except Exception as error:
            raise _errors.ArgumentTypeError(f"'{name}' is an image and takes no {_kind(thing)}") from error
    fields = getattr(thing.dtype, "fields", None)
    if fields:
        types = {str(field[0]) for field in fields.values()}
        if len(types) > 1:
            raise _errors.ArgumentTypeError(f"'{name}' has fields of several types, which a program declares")
        word, channels = types.pop(), len(fields)
    else:
        channels = int(thing.shape[ndim]) if len(thing.shape) == ndim + 1 else 1
        word = str(thing.dtype).rsplit(".", 1)[-1]
    if word not in TYPES:
        raise said(_errors.ArgumentTypeError, name, f"has elements of type {word}; images have {_KNOWN}")
    return word, channels


class Kind:
    """What a library's arrays are made by. `allocate(shape, type)` makes memory for a result (None: NumPy's), `finish`
    of that what is returned; the others make arrays of it from arrays of it."""

    stream = None
    device = None  # (the number of) that of CUDA, where the memory lies
    allocate = None
    finish = None

    def of_program(self, program):
        """What makes memory for a program's results."""
        return self.allocate


class _Torch(Kind):
    def __init__(self, like):
        import torch
        self._torch, self._like = torch, like
        if like.device.type == "cuda":
            self.device = like.get_device()
            self.stream = torch.cuda.current_stream(like.device)

    def allocate(self, shape, element):
        return self._torch.empty(shape, dtype=getattr(self._torch, element), device=self._like.device)

    def send(self, array):
        return self._torch.from_numpy(array).to(self._like.device)

    def view(self, array, element):
        return array.view(getattr(self._torch, element))

    def contiguous(self, array):
        return array if array.is_contiguous() and not array.requires_grad else array.detach().contiguous()

    def assign(self, target, values):
        target.copy_(values)

    def moveaxis(self, array, source, destination):
        return array.movedim(source, destination)

    def to_host(self, array):
        return array.detach().cpu().numpy()


class _CuPy(Kind):
    def __init__(self, like):
        import cupy
        self._cupy, self.device, self.stream = cupy, like.device.id, cupy.cuda.get_current_stream()

    def allocate(self, shape, element):
        with self._cupy.cuda.Device(self.device):
            return self._cupy.empty(shape, element)

    def send(self, array):
        with self._cupy.cuda.Device(self.device):
            return self._cupy.asarray(array)

    def view(self, array, element):
        return array.view(element)

    def contiguous(self, array):
        return self._cupy.ascontiguousarray(array)

    def assign(self, target, values):
        target[...] = values

    def moveaxis(self, array, source, destination):
        return self._cupy.moveaxis(array, source, destination)

    def to_host(self, array):
        return self._cupy.asnumpy(array)


class DeviceMemory:
    """An image in the memory of a program's device, which DLPack lends."""

    def __init__(self, program, shape, element, device):
        self._device, self._image = device, program._device_image(shape, element)

    def __dlpack_device__(self):
        return _CUDA, self._device

    def __dlpack__(self, stream=None, **options):
        return _core.lend(self._image)


def _wait_for_device(number):
    """Until all work of a CUDA device is done."""
    import ctypes
    driver, device, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_int(), ctypes.c_void_p()
    failed = driver.cuDeviceGet(ctypes.byref(device), number) or driver.cuDevicePrimaryCtxRetain(
        ctypes.byref(context), device
    )
    if not failed:
        failed = driver.cuCtxPushCurrent_v2(context)
        failed = failed or driver.cuCtxSynchronize()
        driver.cuCtxPopCurrent_v2(ctypes.byref(context))
        driver.cuDevicePrimaryCtxRelease_v2(device)
    if failed:
        raise _errors.DeviceError(f"the CUDA device {number} does not end its work (error {failed} of the driver)")


class _Jax(Kind):
    """Its arrays cannot be written, so that results lie in memory of ours, which becomes an array of JAX."""

    def __init__(self, like):
        import jax
        self._jax, self._place = jax, next(iter(like.devices()))
        if self._place.platform in ("gpu", "cuda"):
            self.device = int(like.__dlpack_device__()[1])

    def of_program(self, program):
        if self.device is None or not program._on_cuda:
            return None
        return lambda shape, element: DeviceMemory(program, shape, element, self.device)

    def finish(self, made):
        if not isinstance(made, DeviceMemory):
            return self._jax.device_put(made, self._place)
        _wait_for_device(self.device)  # JAX has streams of its own
        return self._jax.dlpack.from_dlpack(made)

    def send(self, array):
        return self._jax.device_put(array, self._place)

    def view(self, array, element):
        return array.view(element)

    def contiguous(self, array):
        return array

    def assign(self, target, values):
        raise _errors.ArgumentError("arrays of JAX cannot be written: take what the function returns")

    def moveaxis(self, array, source, destination):
        return self._jax.numpy.moveaxis(array, source, destination)

    def to_host(self, array):
        return np.asarray(array)


def like_xarray(like, array):
    """An array with the names, coordinates and attributes of a DataArray, as far as it has its points."""
    if array.shape == like.shape:
        return like.copy(data=array)
    if array.ndim != like.ndim:
        return type(like)(array, attrs=like.attrs, name=like.name)
    same = {d for d, n in zip(like.dims, array.shape) if like.sizes[d] == n}
    kept = {name: c for name, c in like.coords.items() if set(c.dims) <= same}
    return type(like)(array, kept, like.dims, like.name, like.attrs)


class _Xarray(Kind):
    def __init__(self, like):
        self._like = like

    def finish(self, array):
        return like_xarray(self._like, array)

    def send(self, array):
        return like_xarray(self._like, array)


_MAKERS = {("torch", "Tensor"): _Torch, ("torch.nn.parameter", "Parameter"): _Torch, ("cupy", "ndarray"): _CuPy,
           ("jaxlib", "ArrayImpl"): _Jax, ("xarray.core.dataarray", "DataArray"): _Xarray}
NUMPY = Kind()


def kind_of(arrays):
    """The kind of results: that of the first image that is no array of NumPy's."""
    for array in arrays:
        for cls in type(array).__mro__:
            home = cls.__module__
            for (module, name), maker in _MAKERS.items():
                if cls.__name__ == name and (home == module or home.split(".")[0] == module):
                    return maker(array)
    return NUMPY


def warn(sentence):
    warnings.warn(sentence, _errors.TesseraWarning, stacklevel=_outside())


def _empty_at(shape, element, place):
    """numpy.empty, at that place in a page of memory."""
    kind = np.dtype(element)
    room = np.empty(math.prod(shape) * kind.itemsize + _PAGE, np.uint8)
    return np.ndarray(shape, kind, room, (place - room.__array_interface__["data"][0]) % _PAGE)


_core.setup(_errors.make, convert, warn, np.empty, _empty_at, np.ndarray)
