"""Images in parts: the bits are those of the whole at once, whatever the parts; what cannot be cut is refused."""
import numpy as np
import pytest
from hypothesis import given, settings, strategies

import tessera
from conftest import ROOT

CHAIN = """stencil f(vector#2 float X) { return X@[-2, 0] + 0.5 * X@[1, 0] + X@[0, 3]; }
stencil g(vector#2 float X, float s) { return max(i = -1..1, j = -1..1 : X@[i, j]) * s; }
parameter M, N;
vector#2 float a[M, N];
float s = 1.5;
t = f(a:RULE);
return g(t:RULE, s);
"""


@pytest.mark.parametrize("rule", ["clamp", "mirror", "reflect", "constant(2)"])
def test_parts_are_those_of_the_whole(rng, rule):
    p = tessera.compile(CHAIN.replace("RULE", rule))
    whole = rng.random((30, 40), np.float32)
    want = p(whole, s=0.7)
    assert p.margins() == (3, 4)
    for y, x, h, w in ((0, 0, 30, 40), (0, 0, 4, 5), (5, 8, 10, 12), (22, 33, 8, 7), (0, 30, 30, 10), (26, 0, 4, 40)):
        have = p(whole[y:y + h, x:x + w], s=0.7, offset=(y, x), shape=whole.shape)
        top, left = y + (3 if y else 0), x + (4 if x else 0)
        assert (have == want[top:top + have.shape[0], left:left + have.shape[1]]).all()
        assert have.shape == (
            h - (3 if y else 0) - (3 if y + h < 30 else 0), w - (4 if x else 0) - (4 if x + w < 40 else 0),
        )


HEAD = "parameter M, N;\nvector#2 float a[M, N];\n"
PLACED = """stencil f(vector#2 float X) { return X@[-1, 2] + cast<float>(index(0) * size(X, 1) + index(1)); }
""" + HEAD + "return f(a:mirror);\n"
SAMPLED = """stencil f(vector#2 float X) { return X@[-1, 0] + 2 * X + X@[1, 1]; }
""" + HEAD + "b = f(a:mirror);\nc = b@[(0, 2), (1, 3)];\nreturn f(c:clamp), b;\n"
FAR = """stencil f(vector#2 float X, float s) { return (X@[0, -1] * s + X@[1, 0]) * index(0) + size(X, 0); }
""" + HEAD + """float s = 2.0;
b = f(a:wrap, s);
m = mean(b);
t = maximum(abs(b - m));
d = b@[(0, 2), (1, 2)];
return b / t, d - m, t + minimum(b), count(b < m), histogram(a * 9.0, 8);
"""


def test_tables_by_coordinate_are_not_cut(rng):
    """A table that is looked up at a point's own column: parts that are cut there would read it at theirs."""
    p = tessera.compile("""stencil f(vector#2 float A, vector#1 float T) { return A * T[index(1)] + A@[-1, 0]; }
parameter M, N;
vector#2 float a[M, N];
vector#1 float t[64];
return f(a:clamp, t);
""", target="interp")
    whole, table = rng.random((30, 40), np.float32), rng.random(64, np.float32)
    want = p(whole, table)
    dask = pytest.importorskip("dask.array")
    assert (tessera.dask.map(p, dask.from_array(whole, (11, 16)), table).compute() == want).all()


def test_parts_know_where_they_are(rng):
    whole = rng.random((30, 42), np.float32)
    for text, step in ((PLACED, (1, 1)), (SAMPLED, (2, 3))):
        p = tessera.compile(text, target="interp")
        want = p(whole)
        for y, x, h, w in ((0, 0, 30, 42), (6, 6, 20, 24), (10, 12, 20, 30)):
            have = p(whole[y:y + h, x:x + w], offset=(y, x), shape=whole.shape)
            for one, of in zip(have, want) if isinstance(want, tuple) else ((have, want),):
                places = [
                    (i, j)
                    for i in range(of.shape[0] - one.shape[0] + 1)
                    for j in range(of.shape[1] - one.shape[1] + 1)
                    if (of[i:i + one.shape[0], j:j + one.shape[1]] == one).all()
                ]
                assert places and one.size >= of.size * (h - 12) * (w - 14) / whole.size, (text, y, x)
    with pytest.raises(tessera.ArgumentError, match="steps of 2"):
        p(whole[5:], offset=(5, 0), shape=whole.shape)


def test_what_cannot_be_cut(rng):
    a = rng.random((9, 9), np.float32)
    for text, word in (
        (CHAIN.replace("RULE", "wrap"), "far points of the images"),
        (HEAD + "m = mean(a);\nreturn a - m;\n", "numbers"),
        ("stencil f(vector#2 float X, vector#2 float Y) { return Y + X[8 - index(0), index(1)]; }\n" + HEAD
         + "return f(a:clamp, a);\n", "far"),
    ):
        with pytest.raises(tessera.UnsupportedError, match=word):
            tessera.compile(text)(a, offset=(1, 1), shape=(20, 20))
    p = tessera.compile(CHAIN.replace("RULE", "clamp"))
    for options, word in (
        (dict(offset=(0, 0)), "both"), (dict(offset=(0,), shape=(20, 20)), "dimensions"),
        (dict(offset=(15, 0), shape=(20, 20)), "does not lie"), (dict(offset=(-1, 0), shape=(20, 20)), "does not lie"),
    ):
        with pytest.raises(tessera.ArgumentError, match=word):
            p(a, **options)
    for size in (2**40, 2**70):
        with pytest.raises(tessera.ArgumentError, match="too large"):
            p(a, offset=(0, 0), shape=(size, 9))
    with pytest.raises(tessera.ArgumentError, match="decides none"):
        p(a[:6], offset=(5, 0), shape=(20, 9))


def equal(have, want):
    return have.shape == want.shape and have.dtype == want.dtype and have.tobytes() == want.tobytes()


def test_dask(rng):
    array = pytest.importorskip("dask.array")
    p = tessera.compile(CHAIN.replace("RULE", "mirror"))
    whole = rng.random((61, 53), np.float32)
    want = p(whole, s=0.3)
    for chunks in ((61, 53), (20, 20), (7, 53), (16, 9), (2, 3)):
        have = tessera.dask.map(p, array.from_array(whole, chunks=chunks), s=0.3)
        assert equal(have.compute(scheduler="threads", num_workers=3), want), chunks
    two = tessera.compile(
        "stencil f(vector#1 double X, vector#1 float Y) { return X@[-1] * Y@[2]; }\nparameter N;\nvector#1 double "
        "a[N];\n"
        "vector#1 float b[N];\nreturn f(a, b);\n"
    )
    a, b = rng.random(40), rng.random(40, np.float32)
    assert (
        tessera.dask.map(two, array.from_array(a, chunks=7), array.from_array(b, chunks=11)).compute() == two(a, b)
    ).all()
    with pytest.raises(tessera.ArgumentError):
        tessera.dask.map(two, array.from_array(a), array.from_array(b[:9]))
    with pytest.raises(tessera.ArgumentError, match="takes 2 images"):
        tessera.dask.map(two, array.from_array(a))


@pytest.mark.parametrize("text", [FAR, PLACED, SAMPLED, CHAIN.replace("RULE", "wrap")])
def test_dask_with_numbers_of_whole_images_and_far_points(rng, text):
    array, dask = pytest.importorskip("dask.array"), pytest.importorskip("dask")
    p = tessera.compile(text, target="interp")
    whole = rng.random((61, 53), np.float32)
    want = p(whole)
    for chunks in ((20, 17), (7, 53), (61, 9)):
        have = tessera.dask.map(p, array.from_array(whole, chunks=chunks))
        many = isinstance(want, tuple)
        for one, of, lazy in zip(dask.compute(*have) if many else dask.compute(have), want if many else [want],
                                 have if many else [have]):
            assert equal(one, of), (chunks, of.shape)
        assert (have[0] if many else have).npartitions > 1  # it is cut


@settings(max_examples=12, deadline=None)
@given(
    strategies.integers(1, 14), strategies.integers(1, 14), strategies.integers(4, 15), strategies.integers(4, 15),
    strategies.sampled_from(["wrap", "mirror", "clamp", "[wrap, clamp]", "constant(2)"]),
    strategies.sampled_from(["return b - mean(b);", "return b@[(0, 2), 0];", "return max(b, total(a));"]),
)
def test_dask_with_any_sizes_and_chunks(m, n, height, width, rule, end):
    array = pytest.importorskip("dask.array")
    head, body = CHAIN.replace("RULE", rule).split("return g(")
    p = tessera.compile(f"{head}b = g({body}{end}\n", target="interp", quiet=True)
    a = np.random.default_rng(m * n).random((m, n), np.float32)
    try:
        want = p(a)
    except tessera.ArgumentError:  # nothing is left of so small an image
        return
    assert equal(tessera.dask.map(p, array.from_array(a, (height, width))).compute(scheduler="sync"), want)


def test_dask_computes_the_corpus(rng):
    """Programs of all kinds; interpreted, so that no compiler runs."""
    array, dask = pytest.importorskip("dask.array"), pytest.importorskip("dask")
    cut = 0
    for path in sorted((ROOT / "tests/corpus").glob("*.tess"))[::7]:
        try:
            p = tessera.compile(path, target="interp", quiet=True)
            arrays = []
            for i in p.inputs:
                if i.kind in ("image", "mask"):
                    shape = (3,) * i.ndim if i.kind == "mask" else (18, 16, 9, 8)[:i.ndim]
                    shape += (len(i.channels),) if i.channels else ()
                    arrays.append((rng.random(shape) * (9 if i.dtype != "bool" else 1.9)).astype(i.dtype))
            numbers = {name: 1 for name, s in p.scalars.items() if s.default is None}
            want = p(*arrays, **numbers)
            have = tessera.dask.map(
                p, *(array.from_array(a, ((7, 5, 5, 8) + a.shape)[:a.ndim]) for a in arrays), **numbers
            )
        except (tessera.ArgumentError, tessera.UnsupportedError, tessera.CompileError):
            continue  # takes other images
        have, want = (r if isinstance(r, tuple) else (r,) for r in (have, want))
        parts = have[0].npartitions
        have = dask.compute(*have, scheduler="sync")
        assert all(equal(one, of) for one, of in zip(have, want)), path.name
        cut += parts > 1
    assert cut > 20


def test_dask_cuts_beside_running_values_and_computes_by_keys(rng):
    array, dask = pytest.importorskip("dask.array"), pytest.importorskip("dask")
    summed = tessera.compile(ROOT / "tests/corpus/cumulate.tess", target="interp", quiet=True)
    whole = {i.name: rng.random((18, 16)[:i.ndim]).astype(i.dtype) for i in summed.inputs if i.kind == "image"}
    have = tessera.dask.map(summed, *(array.from_array(a, (7, 5)[:a.ndim]) for a in whole.values()))
    assert have[0].npartitions > 1
    assert all(equal(one, of) for one, of in zip(dask.compute(*have, scheduler="sync"), summed(*whole.values())))
    keyed = tessera.compile(ROOT / "tests/corpus/by_keys_own_sizes.tess", target="interp", quiet=True)
    values, keys = (rng.integers(0, 9, (8, 9), np.uint8) for _ in range(2))
    have = dask.compute(*tessera.dask.map(keyed, *(array.from_array(a, (3, 4)) for a in (values, keys))))
    assert all(equal(one, of) for one, of in zip(have, keyed(values, keys)))


def test_dask_takes_images_of_any_type(rng):
    array = pytest.importorskip("dask.array")
    p = tessera.compile("vector#2 any a; return sat<typeof(a)>(a@[0, 1] * 2);", target="interp")
    for whole in (rng.integers(0, 99, (20, 30), np.uint16), rng.random((20, 30, 3), np.float32)):
        lazy = tessera.dask.map(p, array.from_array(whole, chunks=(7, 11, 3)[:whole.ndim]))
        assert (lazy.compute() == p(whole)).all()


def test_dask_on_several_workers(rng):
    dask, array = pytest.importorskip("dask"), pytest.importorskip("dask.array")
    distributed = pytest.importorskip("distributed")
    p = tessera.compile(FAR, target="interp")
    whole = rng.random((90, 70), np.float32)
    want = p(whole)
    dask.config.set({"distributed.worker.multiprocessing-method": "fork"})  # starts in a moment
    with distributed.LocalCluster(2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            before = client.run(passes_here)
            lazy = tessera.dask.map(p, array.from_array(whole, chunks=(30, 20)))
            have = client.gather(client.compute(list(lazy)))
            used = [w for w, n in client.run(passes_here).items() if n > before[w]]
    assert all(equal(one, of) for one, of in zip(have, want)) and len(used) == 2


def passes_here():
    """How many passes this process has asked for."""
    from tessera import _parts
    facts = _parts.program_of.cache_info()
    return facts.hits + facts.misses


def test_xarray(rng):
    xarray = pytest.importorskip("xarray")
    p = tessera.compile(CHAIN.replace("RULE", "mirror"))
    values = rng.random((6, 7), np.float32)
    photo = xarray.DataArray(values, dims=("y", "x"), coords={"y": np.arange(6) * 2.0}, attrs={"units": "K"})
    made = p(photo)
    assert isinstance(made, xarray.DataArray) and (made.values == p(values)).all()
    assert made.attrs == photo.attrs and (made.y == photo.y).all() and made.dims == photo.dims
    part = p(photo[:, :6], offset=(0, 0), shape=(6, 20))
    assert (part.values == p(np.pad(values[:, :6], ((0, 0), (0, 14))))[:, :2]).all() and (part.y == photo.y).all()
    pytest.importorskip("dask.array")
    lazy = tessera.dask.map(p, photo.chunk({"x": 3}))
    assert isinstance(lazy, xarray.DataArray) and lazy.chunks and lazy.attrs == photo.attrs
    assert (lazy.compute().values == p(values)).all() and (lazy.y == photo.y).all()
    half = tessera.compile(HEAD + "return a@[0, (0, 2)];\n", target="interp")(photo)
    assert half.shape == (6, 3) and (half.y == photo.y).all() and half.attrs == photo.attrs


def test_an_ome_zarr_pyramid_chunk_by_chunk(tmp_path, rng):
    """What docs/python.md shows: each level from the one before, by dask and block by block."""
    zarr = pytest.importorskip("zarr")
    dask = pytest.importorskip("dask.array")
    half = tessera.compile(
        "stencil smooth(vector#3 uint16 X) { return cast<uint16>(sum(i = -1..1, j = -1..1 : X@[0, i, j]) / 9.0); }\n"
        "parameter C, M, N;\nvector#3 uint16 a[C, M, N];\nb = smooth(a:mirror);\n"
        "return b@[(0, 1), (0, 2), (0, 2)];\n", target="vm")
    image = (rng.random((2, 90, 70)) * 60000).astype(np.uint16)
    store = zarr.open_group(tmp_path / "cells.ome.zarr", mode="w", zarr_format=2)
    store.create_array("0", shape=image.shape, chunks=(1, 32, 32), dtype=image.dtype)[:] = image
    for level in (1, 2):
        finer = store[str(level - 1)]
        small = tessera.dask.map(half, dask.from_zarr(finer))
        coarser = store.create_array(str(level), shape=small.shape, chunks=(1, 32, 32), dtype=small.dtype)
        dask.store(small, coarser)
        assert (coarser[:] == half(finer[:])).all()
    axes = [{"name": "c", "type": "channel"}, *({"name": n, "type": "space"} for n in "yx")]
    levels = [{"path": str(k), "coordinateTransformations": [{"type": "scale", "scale": [1, 2**k, 2**k]}]}
              for k in range(3)]
    store.attrs["multiscales"] = [{"version": "0.4", "axes": axes, "datasets": levels}]
    again = zarr.open_group(tmp_path / "cells.ome.zarr", mode="r")
    finer, want = again["0"], half(image)
    part = half(finer[:, 32:80, 0:48], offset=(0, 32, 0), shape=finer.shape)
    assert (part == want[:, 17:17 + part.shape[1], :part.shape[2]]).all() and part.size > 800
