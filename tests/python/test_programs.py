"""Programs: what goes in and comes out, what is known of them, and that all bits are those of the command line."""
import copy
import pathlib
import pickle
import subprocess
import sys
import sysconfig
import threading

import numpy as np
import pytest
from hypothesis import given, settings, strategies

import tessera
from conftest import ROOT, SCALE


def by_hand(a, s=np.float32(2)):
    left = np.pad(a, 1, mode="reflect")
    return left[1:-1, :-2] * s + left[2:, 1:-1]


def test_calls(scale, rng):
    a = rng.random((7, 9), np.float32)
    assert np.allclose(scale(a), by_hand(a), rtol=1e-6)
    assert np.allclose(scale(a, s=3), by_hand(a, np.float32(3)), rtol=1e-6)
    assert (scale(a=a) == scale(a)).all()  # and the number is the default again
    scale.verify(a, s=0.25)
    out = np.empty_like(a)
    assert scale(a, out=out) is out and (out == scale(a)).all()
    large = np.empty((64, 512), np.float32)  # rows of 2 KiB: results begin elsewhere in a page
    made = scale(large)
    assert 1000 < (made.ctypes.data - large.ctypes.data) % 4096 <= 1088 and made.flags.writeable
    wide = np.zeros((7, 20), np.float32)
    assert scale(a, out=wide[:, 3:12]).base is wide and (wide[:, 3:12] == out).all() and not wide[:, 12:].any()


def test_several_results_structs_and_types():
    p = tessera.compile("""struct rgb { uint8 r; uint8 g; uint8 b; } struct sure { float depth; uint8 ok; }
        parameter M, N; vector#2 rgb photo[M, N]; vector#2 sure deep[M, N];
        top = maximum(photo.g); return photo.b, photo, deep, top, deep.ok > 0;""")
    photo = np.arange(4 * 5 * 3, dtype=np.uint8).reshape(4, 5, 3)
    deep = np.zeros((4, 5), [("depth", "f4"), ("ok", "u1")])
    deep["depth"], deep["ok"] = np.arange(20).reshape(4, 5), 7
    b, same, bytes_of, top, ok = p(photo, deep)
    assert (b == photo[..., 2]).all() and (same == photo).all() and top[0] == photo[..., 1].max()
    assert (bytes_of.view(deep.dtype)[..., 0] == deep).all() and ok.dtype == bool and ok.all()
    as_fields = photo.view([("r", "u1"), ("g", "u1"), ("b", "u1")])[..., 0]
    assert (p(as_fields, deep)[0] == b).all()
    with pytest.raises(tessera.ArgumentTypeError, match="uint8 g"):
        p(photo.view([("g", "u1"), ("r", "u1"), ("b", "u1")])[..., 0], deep)


def test_images_of_any_type(rng):
    p = tessera.compile("""vector#2 any photo;
        stencil soft(vector#2 any X) { return sat<typeof(X)>(mean(i = -1..1 : X@[i, 0])); }
        return soft(photo:wrap), maximum(photo);""", target="vm")
    assert p.inputs[0].dtype == "any" and p.outputs[0].dtype == "any" and "any" in repr(p) and p._repr_html_()
    for dtype in ("uint8", "int16", "uint64", "float32", "float64"):
        for shape in ((5, 4), (5, 4, 3), (5, 4, 7)):
            a = (200 * rng.random(shape)).astype(dtype)
            soft, most = p(a)
            want = np.mean([np.roll(a, k, 0).astype(float) for k in (-1, 0, 1)], axis=0)
            want = np.rint(want) if np.dtype(dtype).kind != "f" else want
            assert soft.dtype == a.dtype and soft.shape == shape and np.allclose(soft, want, rtol=1e-5)
            assert (most.ravel() == a.reshape(20, -1).max(0)).all()
    assert p.instance(a) is p.instance(a + 1) and p.instance(a) is not p.instance(a[..., 0])
    assert pickle.loads(pickle.dumps(p))(a)[0].dtype == a.dtype
    as_fields = a[..., :3].astype(np.uint8).copy().view([("r", "u1"), ("g", "u1"), ("b", "u1")])[..., 0]
    assert p.shapes(as_fields)[0] == (5, 4, 3)
    told = tessera.compile(p.text, types={"photo": "uint16x3"})
    assert told.inputs[0].channels == ("r", "g", "b") and told.outputs[0].dtype == "uint16" and told.plan
    for wrong, error in (
        (lambda: p(a.astype(complex)), tessera.ArgumentTypeError), (lambda: p(a[0, 0]), tessera.ArgumentError),
        (lambda: p(), tessera.ArgumentError), (lambda: p.plan, tessera.ArgumentError),
        (lambda: tessera.compile(p.text, types="uint9"), tessera.ArgumentError),
        (lambda: tessera.compile("vector#2 any a; return a.g;")(a[..., 0]), tessera.CompileError),
    ):
        with pytest.raises(error):
            wrong()


@pytest.mark.parametrize(
    "view", [lambda a: a[::2], lambda a: a[::-1], lambda a: np.broadcast_to(a[0], a.shape), lambda a: a[1:, 2:-1]]
)
def test_rows_of_any_stride_are_not_copied(scale, rng, view, recwarn):
    a = view(rng.random((8, 9), np.float32))
    assert (scale(a) == scale(a.copy())).all() and not recwarn.list


@pytest.mark.parametrize(
    "view",
    [
        lambda a: a[:, ::2], lambda a: a[:, ::-1], lambda a: a.T, lambda a: a.astype(">f4"),
        lambda a: np.frombuffer(b"x" + a.tobytes(), np.uint8)[1:].view(np.float32).reshape(a.shape),
    ],
)
def test_what_is_copied_is_said(scale, rng, view):
    a = view(rng.random((8, 8), np.float32))
    with pytest.warns(tessera.CopyWarning, match="image 'a' is copied"):
        y = scale(a)
    assert (y == scale(a.astype("=f4", order="C"))).all()


def test_columns_of_pixels_are_copied():
    p = tessera.compile(
        "struct rgb { uint8 r; uint8 g; uint8 b; }\nparameter M, N;\nvector#2 rgb a[M, N];\nreturn a.r;\n"
    )
    a = np.arange(60, dtype=np.uint8).reshape(4, 5, 3)
    with pytest.warns(tessera.CopyWarning):
        assert (p(a[:, ::2]) == a[:, ::2, 0]).all()
    with pytest.warns(tessera.CopyWarning):
        assert (p(a[..., ::-1]) == a[..., 2]).all()


class LentByDLPack:
    """An array of somebody else's, that lends its memory in one way only."""

    def __init__(self, array):
        self.array, self.lent = array, 0

    def __dlpack__(self, **options):
        self.lent += 1
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class LentByInterface:
    def __init__(self, array):
        self.__array_interface__ = array.__array_interface__
        self.array = array


def test_other_arrays(scale, rng):
    import array
    a = rng.random((6, 5), np.float32)
    want = scale(a)
    lent = LentByDLPack(a)
    assert (scale(lent) == want).all() and lent.lent == 1
    assert (scale(LentByInterface(a)) == want).all()
    assert (scale(memoryview(a)) == want).all()
    one = tessera.compile("parameter N;\nvector#1 double a[N];\nreturn 2 * a;\n")
    assert (one(array.array("d", [1, 2])) == [2, 4]).all()
    out = LentByDLPack(np.zeros_like(a))
    assert scale(a, out=out) is out and (out.array == want).all()


def test_nothing_stays_referenced(scale, rng):
    a = rng.random((6, 5), np.float32)
    lent = LentByDLPack(a)
    before = sys.getrefcount(a)
    for thing in (a, lent, memoryview(a), LentByInterface(a)):
        scale(thing)
        with pytest.raises(tessera.Error):
            scale(thing, s="x")
        with pytest.raises(tessera.Error):
            scale(thing, out=np.zeros((1, 1), np.float32))
        del thing
    assert sys.getrefcount(a) == before


def test_facts(scale):
    assert [i.name for i in scale.inputs] == ["M", "N", "a", "s"] and scale.inputs[2].ndim == 2
    assert scale.scalars["s"].default == 2.0 and scale.outputs[0].dtype == "float32"
    assert scale.depth == {"a": ((0, 1), (1, 0))} and not scale.placed
    assert "plan" in scale.plan and "for (" in scale.explain(stop="c")
    assert scale.shapes(np.zeros((4, 6), np.float32)) == ((4, 6),)
    assert "scale.tess" in repr(scale) and "<svg" in scale._repr_html_()
    assert "group" in scale._repr_html_() and scale.explain() == scale.plan
    assert "graph scale" in scale.explain(stop="graph")
    scale(np.zeros((4, 6), np.float32))
    assert scale.time.run_ms >= 0 and scale.time.target == "c"
    p = tessera.compile(
        'use "filters";\nparameter M, N;\nvector#2 float a[M, N];\nconst float sigma in 0.1..9 = 1.0;\nreturn '
        'gaussian(a, sigma);\n'.replace(
            " in 0.1..9", ""
        )
    )
    assert p.depth["a"] == ((3, 3), (3, 3)) and p.reach(sigma=2)["a"] == ((6, 6), (6, 6)) and p.inputs[3].const
    assert tessera.compile(
        "stencil f(vector#2 float X) { return index(0) + X; }\nparameter M, N;\nvector#2 float a[M, N];\nreturn f(a);\n"
    ).placed
    assert tessera.compile("parameter M, N;\nvector#2 float a[M, N];\nm = mean(a);\nreturn a - m;\n").depth["a"] == (
        None, None,
    )
    assert "lecture-overlapped" in tessera.presets() or len(tessera.presets()) > 0


def test_plans_and_options(scale, rng, tmp_path):
    a = rng.random((20, 30), np.float32)
    want = scale(a)
    for options in (
        dict(target="interp"), dict(target="loops"), dict(plan=scale.plan), dict(plan=tessera.presets()[0]),
        dict(threads=1),
    ):
        assert (tessera.compile(SCALE, **options)(a) == want).all()
    path = tmp_path / "scale.tess"
    path.write_text(SCALE)
    (tmp_path / "plan").write_text(scale.plan)
    assert (tessera.compile(path, plan=tmp_path / "plan")(a) == want).all() and tessera.compile(str(path)).name == str(
        path
    )
    text = SCALE.replace(":mirror", "")
    assert (tessera.compile(text, border="mirror")(a) == want).all() and (tessera.compile(text)(a) != want).any()
    masked = "parameter K;\nmask#1 float w[K];\nparameter N;\nvector#1 float a[N];\nreturn a;\n"
    assert tessera.compile(masked, constants={"K": 3}) is not None


HOLES = """stencil mean(vector#2 float X) { return (X@[0, -1] + X + X@[0, 1]) / 3; }
parameter M, N;
vector#2 float a[M, N];
return mean(a);
"""


def test_points_without_data():
    a = np.array([[3, -9, 6, 9]], np.float32)
    infected = tessera.compile(HOLES, nodata=-9)
    assert infected.outputs[0].nodata == -9 and infected(a).tolist() == [[-9, -9, -9, 8]]
    p = tessera.compile(HOLES, nodata={"a": -9.0}, border="clamp:renormalise")
    assert p(a).tolist() == [[3, 4.5, 7.5, 8]] and pickle.loads(pickle.dumps(p))(a).tolist() == p(a).tolist()
    nan = tessera.compile(HOLES, nodata=np.nan)(np.where(a < 0, np.nan, a))
    assert np.isnan(nan[0, :3]).all() and nan[0, 3] == 8
    masked = infected(np.ma.masked_equal(a, -9))
    assert masked.mask.tolist() == [[True, True, True, False]] and masked[0, 3] == 8 and masked.fill_value == -9
    every = tessera.compile("vector#2 any a; return a + 0;", nodata=7)
    assert every(np.ma.masked_equal(np.uint8([[1, 7]]), 7)).mask.tolist() == [[False, True]]
    with pytest.raises(tessera.ArgumentError, match="is a masked array: compile the program with nodata"):
        tessera.compile(HOLES)(np.ma.masked_equal(a, -9))


@pytest.mark.parametrize(
    "wrong, word",
    [
        ({"nodata": "x"}, "a str"), ({"nodata": {"b": 1}}, "names 'b'"), ({"nodata": [1, 2]}, "a list"),
        ({"nodata": {1: 2.0}}, "named by text"), ({"first": "later"}, "'wait', 'now'"),
        ({"constants": {"zzz": 1}}, "names 'zzz'"), ({"types": {"zzz": "uint8"}}, "names 'zzz'"),
    ],
)
def test_wrong_options(wrong, word):
    with pytest.raises(tessera.ArgumentError, match=word):
        tessera.compile(HOLES, **wrong)


def test_first_runs_do_not_wait(tmp_path, rng):
    a = rng.random((20, 30), np.float32)
    p = tessera.compile(HOLES, first="now", cache=str(tmp_path))
    assert (p(a) == tessera.compile(HOLES)(a)).all()


def test_effort_is_no_matter_of_pixels(rng):
    a = rng.random((20, 30), np.float32)
    same = tessera.compile(HOLES)(a)
    assert (tessera.compile(HOLES, effort="quick")(a) == same).all()
    with pytest.raises(tessera.ArgumentError, match="effort"):
        tessera.compile(HOLES, effort="some")


def test_pickles_and_copies(scale, rng):
    a = rng.random((4, 4), np.float32)
    p = tessera.compile(SCALE.replace(":mirror", ""), border="wrap")
    for again in (pickle.loads(pickle.dumps(p)), copy.copy(p), copy.deepcopy(p)):
        assert (again(a) == p(a)).all() and again.text == p.text


def test_errors_keep_their_carets():
    with pytest.raises(tessera.CompileError) as caught:
        tessera.compile("parameter M;\nvector#1 float a[M];\nreturn sharpn(a);\n", name="x.tess")
    assert "x.tess:3:8" in str(caught.value) and "    return sharpn(a);\n           ^" in str(caught.value)
    assert caught.value.diagnostics[0]["line"] == 3
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value) and again.diagnostics == caught.value.diagnostics
    with pytest.warns(tessera.ProgramWarning, match="never used"):
        tessera.compile("parameter M;\nvector#1 float a[M];\nb = a + 1;\nreturn a;\n")


def test_threads(scale, rng):
    images = [rng.random((50, 40), np.float32) for _ in range(6)]
    wants = [scale(i) for i in images]
    wrong = []

    def work(k):
        for _ in range(50):
            if not (scale(images[k]) == wants[k]).all():
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not wrong


EXAMPLES = ["edges.tess", "sobel.tess", "unsharp.tess", "life.tess"]


@pytest.mark.parametrize("name", [n for n in EXAMPLES if (ROOT / "examples" / n).exists()])
def test_bits_are_those_of_the_command_line(tool, tmp_path, rng, name):
    p = tessera.compile(ROOT / "examples" / name)
    images = [i for i in p.inputs if i.kind == "image"]
    if len(images) != 1 or images[0].ndim != 2 or images[0].channels:
        pytest.skip("takes other images")
    a = (255 * rng.random((65, 83))).astype(images[0].dtype)
    np.save(tmp_path / "in.npy", a)
    results = p(a)
    results = results if isinstance(results, tuple) else (results,)
    outs = [tmp_path / f"out{i}.npy" for i in range(len(results))]
    subprocess.run(
        [tool, "run", ROOT / "examples" / name, tmp_path / "in.npy", "-q", *(w for o in outs for w in ("-o", o))],
        check=True,
    )
    for out, result in zip(outs, results):
        have = np.load(out)
        assert have.dtype == result.dtype and have.tobytes() == result.tobytes()


@settings(max_examples=25, deadline=None)
@given(
    strategies.integers(1, 9), strategies.integers(1, 9),
    strategies.sampled_from(["uint8", "int16", "float32", "float64"]),
    strategies.sampled_from(["clamp", "mirror", "reflect", "wrap", "constant(3)"]),
)
def test_any_size_type_and_border(m, n, dtype, border):
    names = {"uint8": "uint8", "int16": "int16", "float32": "float", "float64": "double"}
    p = tessera.compile(
        f"stencil f(vector#2 {names[dtype]} X) {{ return X@[-2, 1]; }}\nparameter M, N;\nvector#2 {names[dtype]} a[M, "
        f"N];\n"
        f"return f(a:{border});\n",
        target="interp",
    )
    a = np.arange(m * n).reshape(m, n).astype(dtype)
    modes = {"clamp": "edge", "mirror": "reflect", "reflect": "symmetric", "wrap": "wrap", "constant(3)": "constant"}
    wide = np.pad(a, 2, modes[border], **({"constant_values": 3} if "(" in border else {}))
    assert (p(a) == wide[0:m, 3:3 + n]).all() and p(a).dtype == a.dtype


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_channels_are_pixels_or_a_slice_of_wider_ones(rng, channels):
    program = tessera.compile("""stencil f(vector#3 uint8 X) { return X@[0, 1, 0] - 0.5 * X@[-1, 0, 1]; }
        parameter M, N; vector#3 uint8 a[M, N, %d]; return f(a:wrap), sum(a, 0);""" % channels)
    a = rng.integers(0, 256, (9, 31, 5), np.uint8)
    wanted = np.roll(a, -1, 1)[..., :channels] - np.float32(0.5) * np.roll(np.roll(a, 1, 0)[..., :channels], -1, 2)
    for image in a[..., :channels], a[..., :channels].copy():
        out = np.zeros((9, 31, 6), np.float32), np.zeros((31, 7), np.int64)
        for result in program(image), program(image, out=(out[0][..., :channels], out[1][..., :channels])):
            assert (result[0] == wanted).all() and (result[1] == a[..., :channels].sum(0)).all()
        assert not out[0][..., channels:].any() and not out[1][..., channels:].any()
    with pytest.raises(tessera.ArgumentError, match="declared"):
        program(a)


def test_import_is_cheap_and_lazy():
    code = "import sys, tessera; sys.exit('numpy' in sys.modules or 'tessera._core' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_the_wheel_is_small_and_stable():
    from tessera import _core
    core = pathlib.Path(_core.__file__)
    free = sysconfig.get_config_var("Py_GIL_DISABLED")  # no stable interface, and an extension that needs no lock
    assert core.name.endswith(f".{sysconfig.get_config_var('SOABI')}.so" if free else ".abi3.so")
    assert core.stat().st_size < 6e6 and not (free and sys._is_gil_enabled())


def test_threads_that_begin_at_once():
    """Each compiles, filters and fuses the same for the first time, which builds of Python without a lock do at
    once."""
    import tessera.ndimage
    start, wrong, a = threading.Barrier(6), [], np.random.default_rng(2).random((40, 50))

    @tessera.stencil(border="mirror", target="vm")
    def twice(X):
        return X[0, -1] + X[1, 0]

    def work():
        start.wait()
        for k in range(3):
            p = tessera.compile(SCALE.replace("= 2.0", f"= {k}.0"), target="vm")
            made = (p(a.astype(np.float32)), twice(twice(a + k)).compute(), tessera.ndimage.sobel(a, mode="wrap"),
                    tessera.ndimage.median_filter(a, 3), repr(p), p.time.run_ms > 0)
            results.append((k, made))

    results = []
    threads = [threading.Thread(target=work) for _ in range(6)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert len(results) == 18
    first = dict(results)
    for k, made in results:
        wrong += [k for x, y in zip(made[:4], first[k]) if not (x == y).all()] + [k] * (made[5] is not True)
    assert not wrong


def test_stubs_name_what_there_is():
    import ast
    tree = ast.parse(pathlib.Path(tessera.__file__).with_suffix(".pyi").read_text())
    stubbed = {node.name for node in tree.body if hasattr(node, "name")} | {"__version__"}
    assert stubbed == set(tessera.__all__) - set(tessera._SUBMODULES)
    methods = {node.name for cls in tree.body if getattr(cls, "name", "") == "Program" for node in cls.body}
    public = {name for name in dir(tessera.Program) if not name.startswith("_")} | {"__call__"}
    assert methods == public and all(getattr(tessera.Program, name).__doc__ for name in public)
