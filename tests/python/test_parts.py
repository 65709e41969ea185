"""Images in parts: the bits are those of the whole at once, whatever the parts; what cannot be cut is refused."""
import numpy as np
import pytest

import tessera

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


def test_what_cannot_be_cut(rng):
    a = rng.random((9, 9), np.float32)
    head = "parameter M, N;\nvector#2 float a[M, N];\n"
    for text, word in (
        (CHAIN.replace("RULE", "wrap"), "far points of 'a'"),
        (head + "m = mean(a);\nreturn a - m;\n", "far points"),
        ("stencil f(vector#2 float X) { return X + index(0); }\n" + head + "return f(a);\n", "where in the image"),
        (head + "return a@[(0, 2), (0, 2)];\n", "far points"),
        ("stencil f(vector#2 float X) { return X@[1, 0]; }\n" + head + "return f(a:none);\n", "shape of the images"),
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
    with pytest.raises(tessera.ArgumentError, match="decides none"):
        p(a[:6], offset=(5, 0), shape=(20, 9))


def test_dask(rng):
    array = pytest.importorskip("dask.array")
    p = tessera.compile(CHAIN.replace("RULE", "mirror"))
    whole = rng.random((61, 53), np.float32)
    want = p(whole, s=0.3)
    for chunks in ((61, 53), (20, 20), (7, 53), (16, 9), (2, 3)):
        have = tessera.dask.map(p, array.from_array(whole, chunks=chunks), s=0.3)
        assert have.dtype == np.float32 and (have.compute(scheduler="threads", num_workers=3) == want).all(), chunks
    two = tessera.compile(
        "stencil f(vector#1 double X, vector#1 float Y) { return X@[-1] * Y@[2]; }\nparameter N;\nvector#1 double "
        "a[N];\n"
        "vector#1 float b[N];\nreturn f(a, b);\n"
    )
    a, b = rng.random(40), rng.random(40, np.float32)
    assert (
        tessera.dask.map(two, array.from_array(a, chunks=7), array.from_array(b, chunks=11)).compute() == two(a, b)
    ).all()
    with pytest.raises(tessera.UnsupportedError):
        tessera.dask.map(tessera.compile(CHAIN.replace("RULE", "wrap")), array.from_array(whole))
    with pytest.raises(tessera.ArgumentError):
        tessera.dask.map(two, array.from_array(a), array.from_array(b[:9]))


def test_xarray(rng):
    xarray = pytest.importorskip("xarray")
    p = tessera.compile(CHAIN.replace("RULE", "mirror"))
    values = rng.random((6, 7), np.float32)
    photo = xarray.DataArray(values, dims=("y", "x"), coords={"y": np.arange(6) * 2.0}, attrs={"units": "K"})
    made = p(photo)
    assert isinstance(made, xarray.DataArray) and (made.values == p(values)).all()
    assert made.attrs == photo.attrs and (made.y == photo.y).all() and made.dims == photo.dims
