"""Whatever is wrong with a call is an exception with one sentence, and nothing is written."""
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import tessera
from conftest import SCALE

GOOD = np.ones((4, 5), np.float32)


class Strange:
    __array_interface__ = {"shape": (2, 2), "typestr": "<c8", "data": (0, False), "version": 3}


@pytest.mark.parametrize(
    "image, word",
    [
        (None, "None"), ([[1.0, 2.0]], "a list"), ("text", "a str"), (b"bytes", "a bytes"), (3.0, "a float"),
        (np.float32(3), "0 dimensions"), ({}, "a dict"), (np.ones((4, 5)), "double"),
        (np.ones((4, 5), complex), "complex128"), (np.ones((4, 5), object), "object"), (np.ones((4, 5), "U3"), "str"),
        (np.ones((4, 5), np.uint64), "uint64"), (np.ones((4, 5), "M8[s]"), "datetime64"),
        (np.ones((4, 5), np.longdouble), "float128"), (np.ones(4, np.float32), "1 dimension"),
        (np.ones((1, 4, 5), np.float32), "3 dimensions"), (np.ones((1,) * 7, np.float32), "7 dimensions"),
        (np.ones((0, 5), np.float32), "size 0"), (np.ones((4, 0), np.float32), "size 0"),
        (np.float32(1).reshape(()), "0 dimensions"), (type("Empty", (), {})(), "an Empty"),
    ],
)
def test_images(scale, image, word):
    with pytest.raises(tessera.ArgumentError) as caught:
        scale(image)
    assert word in str(caught.value) and "image 'a'" in str(caught.value) and "\n" not in str(caught.value)


def test_kinds_of_errors():
    assert issubclass(tessera.ArgumentTypeError, TypeError) and issubclass(tessera.ArgumentError, ValueError)
    assert issubclass(tessera.CompileError, tessera.Error) and issubclass(tessera.OutOfMemory, MemoryError)


@pytest.mark.parametrize(
    "numbers, word",
    [
        (dict(s="2"), "takes no str"), (dict(s=None), "takes no NoneType"), (dict(s=1j), "takes no complex"),
        (dict(t=1), "no input 't'"), (dict(s=[1]), "takes no list"), (dict(s=10**400), "'s'"),
        (dict(a=GOOD), "given twice"), (dict(M=5), "M"), (dict(M=2.5), "'M'"), (dict(M=2**53 + 1), "too large"),
        (dict(M=float("nan")), "'M'"), (dict(M=float("inf")), "'M'"), (dict(N=-5), "N"), (dict(N=0), "N"),
    ],
)
def test_numbers(scale, numbers, word):
    with pytest.raises(tessera.ArgumentError, match=word):
        scale(GOOD, **numbers)


def test_counts(scale):
    for images in ((), (GOOD, GOOD)):
        with pytest.raises(tessera.ArgumentError, match="image"):
            scale(*images)
    with pytest.raises(tessera.ArgumentError, match="'out' has 2"):
        scale(GOOD, out=(GOOD, GOOD))
    with pytest.raises(tessera.ArgumentError, match="the scalar 'n' has no value"):
        p = tessera.compile("parameter N;\nvector#1 float a[N];\nfloat n;\nreturn a + n;\n")
        assert (p(np.ones(2, np.float32), n=1) == 2).all()
        p(np.ones(2, np.float32))


def read_only():
    out = np.zeros((4, 5), np.float32)
    out.flags.writeable = False
    return out


@pytest.mark.parametrize("make, word", [
    (read_only, "read-only"), (lambda: np.zeros((4, 6), np.float32), "size 6"), (lambda: np.zeros((4, 5)), "double"),
    (lambda: np.zeros((4, 10), np.float32)[:, ::2], "rows"), (lambda: np.zeros((5, 4), np.float32).T, "rows"),
    (lambda: np.zeros((4, 5), ">f4"), "order"), (lambda: [0], "an int"), (lambda: np.zeros((4, 5), object), "object"),
    (lambda: np.lib.stride_tricks.as_strided(np.zeros(9, np.float32), (4, 5), (4, 4)), "overlaps itself"),
    (lambda: memoryview(bytes(80)).cast("f", (4, 5)), "read-only"),
])
def test_results(scale, make, word):
    out = make()
    before = bytes(memoryview(out)) if isinstance(out, np.ndarray) and out.dtype != object else None
    with pytest.raises(tessera.ArgumentError, match=word):
        scale(GOOD, out=out)
    assert before is None or bytes(memoryview(out)) == before


def test_overlap_with_an_input(scale):
    a = np.ones((4, 5), np.float32)
    b = np.ones(41, np.float32)
    for image, out in ((a, a), (a, a[::-1]), (b[:20].reshape(4, 5), b[19:39].reshape(4, 5))):
        with pytest.raises(tessera.ArgumentError, match="overlaps"):
            scale(image, out=out)
    assert (a == 1).all() and (b == 1).all()


def test_texts_and_options():
    for bad in (
        dict(target="gpu"), dict(fp="exact"), dict(dialect="C"), dict(border="nearst"), dict(plan="no such plan"),
    ):
        with pytest.raises(tessera.Error):
            tessera.compile(SCALE, **bad)
    for bad in (None, 3, "", b"\xff\xfe", "x" * 1000, SCALE + "\0", "\ud800"):
        with pytest.raises(tessera.Error):
            tessera.compile(bad)
    with pytest.raises(tessera.FileError, match="nowhere.tess"):
        tessera.compile("nowhere.tess")
    with pytest.raises(tessera.DeviceError):
        tessera.compile(SCALE, target="c", device=3)(GOOD)


def test_device_memory_needs_a_device(scale):
    class OnDevice:
        __cuda_array_interface__ = {"shape": (4, 5), "typestr": "<f4", "data": (4096, False), "version": 3}
    with pytest.raises(tessera.DeviceError, match="device memory"):
        scale(OnDevice())
    for typestr, word in (("<c8", "c8"), (">f4", ">f4")):
        bad = OnDevice()
        bad.__cuda_array_interface__ = dict(OnDevice.__cuda_array_interface__, typestr=typestr)
        with pytest.raises(tessera.ArgumentTypeError, match=word):
            scale(bad)


class Broken:
    """Lies, or fails, where arrays are asked."""

    def __init__(self, **what):
        self.__dict__.update(what)


class BrokenDLPack:
    def __init__(self, answer):
        self.answer = answer

    def __dlpack_device__(self):
        return (2, 0)

    def __dlpack__(self, **options):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize("answer", [BufferError("no"), RuntimeError("no"), 3, None, object()])
def test_protocols_that_fail(scale, answer):
    with pytest.raises((tessera.Error, TypeError, ValueError)):
        scale(BrokenDLPack(answer))
    assert (scale(GOOD) == 3).all()


def test_arrays_of_jax_are_never_written(scale):
    """They cannot change, but lend their memory without saying so."""
    lender = type("ArrayImpl", (), {
        "__module__": "jaxlib._jax", "__dlpack_device__": lambda self: (1, 0),
        "__dlpack__": lambda self, **options: out.__dlpack__(),
    })
    out = np.zeros((4, 5), np.float32)
    with pytest.raises(tessera.ArgumentError, match="read-only"):
        scale(GOOD, out=lender())
    assert not out.any()


def python(code, **options):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=120, **options
    )


def test_exit_while_threads_run():
    done = python(f"""
        import threading, numpy as np, tessera
        p = tessera.compile({SCALE!r})
        a = np.ones((3000, 3000), np.float32)
        p(a)
        def work():
            while True:
                p(a)
        for _ in range(3):
            threading.Thread(target=work, daemon=True).start()
        print("leaving", flush=True)
        """)
    assert done.returncode == 0 and "leaving" in done.stdout, done.stderr


def test_fork_goes_on():
    done = python(f"""
        import os, sys, numpy as np, tessera
        p = tessera.compile({SCALE!r})
        a = np.ones((600, 700), np.float32)
        want = p(a)
        child = os.fork()
        if child == 0:
            os._exit(0 if (p(a) == want).all() else 3)
        sys.exit(os.waitpid(child, 0)[1])
        """)
    assert done.returncode == 0, done.stderr


def test_an_interrupt_ends_the_compiler(tmp_path):
    slow = tmp_path / "cc"
    slow.write_text("#!/bin/sh\ncase \"$*\" in *--version*) echo slow; exit 0;; esac\nsleep 60\n")
    slow.chmod(0o755)
    done = python(f"""
        import os, signal, threading, time, numpy as np, tessera
        signal.signal(signal.SIGINT, signal.default_int_handler)  # who runs tests behind a shell ignores it
        p = tessera.compile({SCALE!r}, target="c", cc={str(slow)!r}, cache={str(tmp_path / 'cache')!r})
        threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        start = time.time()
        try:
            p(np.ones((4, 4), np.float32))
        except KeyboardInterrupt:
            print("interrupted", time.time() - start < 30)
        """, env=dict(os.environ, TMPDIR=str(tmp_path)))
    assert "interrupted True" in done.stdout, done.stdout + done.stderr


def test_without_a_compiler_the_strip_machine_runs_and_it_says_so(tmp_path):
    done = python(f"""
        import warnings, numpy as np, tessera
        p = tessera.compile({SCALE!r})
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            y = p(np.ones((4, 4), np.float32))
            p(np.ones((4, 4), np.float32))
        print((y == 3).all(), p.time.target, len(said), said[0].category.__name__, said[0].message)
        """, env={"PATH": "/nowhere", "TESSERA_CACHE": str(tmp_path)})
    assert done.stdout.startswith("True vm 1 TesseraWarning"), done.stdout + done.stderr


def test_a_program_that_is_changed_or_dropped_while_it_runs():
    """Runs hold what they need: neither can another text take the program's place, nor does the last name matter."""
    import threading
    p = tessera.compile(SCALE)
    a = np.ones((700, 800), np.float32)
    want = p(a)
    core, wrong = p._core, []

    def work(run):
        for _ in range(20):
            if not (run(a) == want).all():
                wrong.append(1)

    threads = [threading.Thread(target=work, args=(p,)) for _ in range(3)]
    [t.start() for t in threads]
    with pytest.raises(RuntimeError, match="compiled already"):
        core.__init__(SCALE.replace("* s", "* 9"), "other.tess")
    with pytest.raises(AttributeError):
        p.text = SCALE
    with pytest.raises(AttributeError):
        p.more = 1
    del p, core
    [t.join() for t in threads]
    assert not wrong


def test_fork_while_threads_run():
    """The child has one thread; what it does not share with those that are gone works there."""
    done = python(f"""
        import os, sys, threading, numpy as np, tessera
        p = tessera.compile({SCALE!r})
        a = np.ones((900, 900), np.float32)
        want = p(a)
        stop = threading.Event()
        def work():
            mine = tessera.compile({SCALE!r})
            while not stop.is_set():
                mine(a)
        threads = [threading.Thread(target=work) for _ in range(2)]
        [t.start() for t in threads]
        codes = []
        for _ in range(3):
            child = os.fork()
            if child == 0:
                os._exit(0 if (p(a) == want).all() else 3)
            codes.append(os.waitpid(child, 0)[1])
        stop.set()
        [t.join() for t in threads]
        sys.exit(max(codes))
        """)
    assert done.returncode == 0, done.stderr


def test_calls_leak_nothing():
    """Memory after many calls, good and bad, is what it was after some."""
    done = python(f"""
        import resource, numpy as np, tessera
        p = tessera.compile({SCALE!r}, threads=1)
        a = np.ones((8, 9), np.float32)
        class Lent:
            def __dlpack__(self, **options): return a.__dlpack__(**options)
            def __dlpack_device__(self): return (1, 0)
        lent = Lent()
        def calls(n):
            for _ in range(n):
                p(a); p(a, s=3); p(lent)
                for bad in (3, a[0], a.astype(int)):
                    try: p(bad)
                    except tessera.Error: pass
        def resident():
            return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
        calls(2000)
        before = resident()
        calls(17000)
        print(resident() - before)
        """)
    assert done.returncode == 0 and int(done.stdout) < 2 << 20, done.stdout + done.stderr


def test_sizes_that_are_no_numbers():
    """NaN and infinity in the place of sizes, widths and places: one sentence, before anything is compiled."""
    x, nan, inf = np.ones((5, 6), np.float32), float("nan"), float("inf")
    calls = [
        lambda n, v: n.gaussian_filter(x, v), lambda n, v: n.gaussian_filter(x, (1, v)),
        lambda n, v: n.gaussian_filter1d(x, v), lambda n, v: n.gaussian_laplace(x, v),
        lambda n, v: n.gaussian_gradient_magnitude(x, v), lambda n, v: n.uniform_filter(x, v),
        lambda n, v: n.uniform_filter1d(x, v), lambda n, v: n.maximum_filter(x, v),
        lambda n, v: n.minimum_filter1d(x, v), lambda n, v: n.median_filter(x, v),
        lambda n, v: n.grey_erosion(x, structure=np.full((3, 3), v)), lambda n, v: n.shift(x, v, order=1),
        lambda n, v: n.zoom(x, (1, v), order=1), lambda n, v: n.rotate(x, v, order=1),
        lambda n, v: n.affine_transform(x, [[1, 0], [0, v]], order=1),
        lambda n, v: n.affine_transform(x, np.eye(2), offset=v, order=1),
    ]
    for k, call in enumerate(calls):
        for value in (nan, inf):
            with pytest.raises(tessera.ArgumentError, match="must be finite"):
                call(tessera.ndimage, value)
                pytest.fail(f"call {k} with {value} gave something")
    p = tessera.compile("parameter M, N;\nvector#2 float a[M, N];\nreturn a;\n", target="interp")
    for offset in ((0, nan), (0.5, 0), 3):
        with pytest.raises(tessera.ArgumentError, match="whole number"):
            p(x, offset=offset, shape=(9, 9))
