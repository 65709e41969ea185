"""Python functions as stencils: what they mean is what NumPy says, errors stand at the line of Python, and chains are
one program."""
import math

import numpy as np
import pytest

import tessera

# Most are interpreted: the bits are the same, and no compiler has to start.
WEIGHTS = np.array([[1, 2, 1], [2, -4, 2], [1, 2, 1]]) / 16
GAIN = 3


@tessera.stencil(border="mirror")
def sharpen(X, amount):
    """What sets a point apart from its neighbours, added."""
    return X + amount * (X - (X[-1, 0] + X[1, 0] + X[0, -1] + X[0, 1]) / 4)


@tessera.stencil(target="interp")
def weighted(X):
    return tessera.sum(lambda i, j: WEIGHTS[i, j] * X[i, j], (-1, 1), (-1, 1))


@tessera.stencil
def blur(X, radius, sigma: tessera.const = 2.0):
    n = 2 * radius + 1
    reach = n // 2
    total = tessera.sum(lambda i, j: math.exp(-(i * i + j * j) / (2 * sigma**2)), (-reach, reach), (-reach, reach))
    return (
        tessera.sum(
            lambda i, j: math.exp(-(i * i + j * j) / (2 * sigma**2)) * X[i, j], (-reach, reach), (-reach, reach)
        )
        / total
    )


def shifted(a, y, x, mode="edge"):
    n = 8
    return np.pad(a, n, mode=mode)[n + y:n + y + a.shape[0], n + x:n + x + a.shape[1]]


@pytest.fixture
def image(rng):
    return rng.random((12, 17), np.float32)


def sharpened(a, amount):
    around = sum(shifted(a, y, x, "reflect") for y, x in ((-1, 0), (1, 0), (0, -1), (0, 1)))
    return a + np.float32(amount) * (a - around / 4)


def test_values(image):
    y = sharpen(image, 1.5)
    assert y.dtype == np.float32 and y.shape == image.shape and np.allclose(y, sharpened(image, 1.5), atol=1e-6)
    assert np.allclose(
        sharpen(image, amount=0.5, border="wrap")[5:-5], sharpened(image, 0.5)[5:-5][:, :], atol=1
    ) and not np.allclose(sharpen(image, 0.5, border="wrap"), sharpen(image, 0.5))
    want = sum(WEIGHTS[i + 1, j + 1] * shifted(image, i, j) for i in (-1, 0, 1) for j in (-1, 0, 1))
    assert np.allclose(weighted(image), want, atol=1e-6)
    g = np.exp(-np.add.outer(np.arange(-2, 3)**2, np.arange(-2, 3)**2) / 8)
    want = sum(g[i + 2, j + 2] * shifted(image, i, j) for i in range(-2, 3) for j in range(-2, 3)) / g.sum()
    assert np.allclose(blur(image, 2), want, atol=1e-6)


def test_chains_are_one_program(image):
    chain = weighted(sharpen(sharpen(image, 1.5), 0.5)) - image
    text = chain.program().text
    assert text.count("stencil sharpen") == 1 and text.count("return") == 3 and len(chain.program().outputs) == 1
    by_steps = np.asarray(weighted(np.asarray(sharpen(np.asarray(sharpen(image, 1.5)), 0.5)))) - image
    assert (np.asarray(chain) == by_steps).all()
    shared = sharpen(image, 2.0)
    a, b = tessera.compute(shared, weighted(shared))
    assert (a == np.asarray(sharpen(image, 2.0))).all() and (b == np.asarray(weighted(a))).all()
    assert sharpen(image, 1.0).program() is sharpen(image, 7.5).program()  # numbers compile nothing again


def test_operators(image):
    s = weighted(image)
    v = np.asarray(weighted(image))
    for have, want in (
        (s + 1.5, v + np.float32(1.5)), (2 * s, 2 * v), (1 - s, 1 - v), (s / 3, v / np.float32(3)), (-s, -v),
        (abs(s), abs(v)), (s > 0.5, v > 0.5), (s * image, v * image), (image - s, image - v),
    ):
        assert np.allclose(have, want, rtol=1e-6) and np.asarray(have).dtype == want.dtype


def test_out_and_laziness(image):
    y = sharpen(image, 1.0)
    assert "computed" not in repr(y)
    out = np.empty_like(image)
    assert y.compute(out=out) is out and (out == np.asarray(y)).all() and "computed" in repr(y)
    assert y.mean() == out.mean() and y[3, 4] == out[3, 4] and len(y) == 12
    assert np.from_dlpack(y).sum() == out.sum()


@tessera.stencil(target="interp")
def many(X, Y, flag):
    a, b = Y[1, 0], X[0, 1]
    a, b = b, a
    a = a if X > 0.5 and not (Y >= 0.2) else b
    b = min(abs(a), X, 0.75) + max(np.sqrt(Y), np.hypot(X, Y))
    b += GAIN * math.pi
    c = np.where(flag > 0, np.clip(b, 0.1, 10.0), -b)
    return c ** 2 + np.float32(tessera.index(0)) + X.shape[1]


def test_expressions(rng):
    x, y = rng.random((5, 6), np.float32), rng.random((5, 6), np.float32)
    a = np.where((x > 0.5) & ~(y >= 0.2), shifted(x, 0, 1), shifted(y, 1, 0))
    b = np.minimum(np.minimum(abs(a), x), 0.75) + np.maximum(np.sqrt(y), np.hypot(x, y)) + 3 * np.pi
    want = np.clip(b, 0.1, 10)**2 + np.arange(5)[:, None] + 6
    assert np.allclose(many(x, y, 1), want, rtol=1e-5) and np.allclose(
        many(x, y, -1), b**2 + np.arange(5)[:, None] + 6, rtol=1e-5
    )


@tessera.stencil(target="interp")
def whole(X):
    return X % 7 + X // 4 - (X & 3) + (X << 1)


@tessera.stencil(target="interp")
def halves(X):
    return X / 2


def test_integers():
    x = np.arange(-30, 30, dtype=np.int32).reshape(6, 10)
    assert (np.asarray(whole(x)) == x % 7 + x // 4 - (x & 3) + (x << 1)).all()
    assert (np.asarray(halves(x)) == x / 2).all()


@tessera.stencil(target="interp")
def looked_up(X, table):
    return table.at[X]


@tessera.stencil(target="interp")
def along(X):
    return tessera.max(lambda k: X[k], (-1, 1)) - tessera.median(lambda k: X[k], (-1, 1), where=lambda k: k <= 0)


def test_dimensions(rng):
    x = rng.integers(0, 4, (3, 4)).astype(np.uint8)
    table = rng.random(4)
    assert (np.asarray(looked_up(x, table)) == table[x]).all()
    line = rng.random(9)
    wide = np.pad(line, 1, mode="edge")
    assert np.allclose(along(line), np.max([wide[:-2], wide[1:-1], wide[2:]], 0) - np.maximum(wide[:-2], wide[1:-1]))
    colour = rng.random((5, 6, 3), np.float32)
    assert all(
        (np.asarray(sharpen(colour, 2.0))[..., c] == np.asarray(sharpen(colour[..., c].copy(), 2.0))).all()
        for c in range(3)
    )


@tessera.stencil(target="interp")
def branches(X, far):
    """Statements of Python that choose."""
    n, y = 1, X
    if far:
        n += 1
    if X > 0.7:
        y = X[0, n]
        gain = 2
    elif X > 0.3:
        y, gain = X[0, -n], 3
        if y < 0.5:
            return y
    else:
        pass
        gain = 4
    y += gain
    return y


@pytest.mark.parametrize("far", [False, True])
def test_branches(far):
    a = np.random.default_rng(5).random((9, 14), dtype=np.float32)
    n = 1 + far
    padded = np.pad(a, ((0, 0), (n, n)), mode="edge")
    left, right = padded[:, :-2 * n], padded[:, 2 * n:]
    expected = np.where(a > 0.7, right + 2, np.where(a > 0.3, np.where(left < 0.5, left, left + 3), a + 4))
    assert np.array_equal(np.asarray(branches(a, far)), expected.astype(np.float32))


def test_a_branch_without_a_value():
    @tessera.stencil
    def partly(X):
        if X > 0:
            return X

    @tessera.stencil
    def bound_in_one(X):
        if X > 0:
            y = X
        return y

    a = np.ones((2, 3), np.float32)
    for f, sentence in ((partly, "does not return on all ways"), (bound_in_one, "'y' is not defined")):
        with pytest.raises(tessera.CompileError, match=sentence):
            np.asarray(f(a))


def test_rules_for_each_dimension():
    @tessera.stencil(target="interp")
    def beside(X):
        return X[0, 1] + X[1, 0]

    a = np.random.default_rng(5).random((4, 6), dtype=np.float32)
    right = np.pad(a, ((0, 0), (0, 1)), constant_values=2)[:, 1:]
    for border in (["wrap", "constant(2)"], "[wrap, constant(2)]", {"X": ("wrap", "constant(2)")}):
        assert np.array_equal(np.asarray(beside(a, border=border)), right + np.roll(a, -1, 0))
    with pytest.raises(tessera.ArgumentTypeError, match="a border rule is text"):
        np.asarray(beside(a, border=3))
    near = beside(a)
    both = np.asarray((near > 0.5) & (near < 1.5) | (a > 0.9))
    assert np.array_equal(both, (np.asarray(near) > 0.5) & (np.asarray(near) < 1.5) | (a > 0.9))


def broken(kind):
    """Stencils with a mistake, and a word of the sentence."""
    if kind == 0:
        @tessera.stencil
        def f(X):
            return X + unknown
        return f, "'unknown' is not defined", "unknown"
    if kind == 1:
        @tessera.stencil
        def f(X):
            for i in (0, 1):
                X = X + i
            return X
        return f, "no 'for' loop", "for i in"
    if kind == 2:
        @tessera.stencil
        def f(X):
            return X[0, 1, 2]
        return f, None, None
    if kind == 3:
        @tessera.stencil
        def f(X):
            y = X[0, 1]
            return y[1, 0]
        return f, "value at one point", "y[1, 0]"
    if kind == 4:
        @tessera.stencil
        def f(X):
            return print(X)
        return f, "cannot call 'print'", "print(X)"
    if kind == 5:
        @tessera.stencil
        def f(X):
            return X & 1
        return f, "", "X & 1"
    if kind == 6:
        @tessera.stencil
        def f(X):
            return tessera.sum(X, (-1, 1))
        return f, "takes a function of the window's variables", "tessera.sum"
    if kind == 7:
        @tessera.stencil
        def f(X):
            return X[0:2, 1]
        return f, "single points", "X[0:2, 1]"
    @tessera.stencil
    def f(X):
        y = X
    return f, "returns nothing", "def f"


@pytest.mark.parametrize("kind", [0, 1, 3, 4, 5, 6, 7, 8])
def test_errors_stand_at_the_line(image, kind):
    f, sentence, line = broken(kind)
    with pytest.raises(tessera.CompileError) as caught:
        f(image).compute()
    text = str(caught.value)
    assert (
        sentence in text
        and line in text.splitlines()[1]
        and "test_stencils.py:" in text
        and text.rstrip().endswith("^")
    )
    number = caught.value.diagnostics[0]["line"]
    assert line in open(__file__).read().splitlines()[number - 1]


def test_wrong_calls(image):
    for call, word in (
        (lambda: sharpen(image), "amount"), (lambda: sharpen(2, 3), "needs an image"),
        (lambda: sharpen("x", 1.0).compute(), "str"), (lambda: sharpen(image[0], 1.0).compute(), "dimensions"),
        (lambda: tessera.sum(1), "stencil"), (lambda: tessera.compute(image), "results"),
        (lambda: sharpen(image.astype(complex), 1.0).compute(), "complex128"),
        (lambda: sharpen(None, 1.0).compute(), "None"),
    ):
        with pytest.raises(tessera.Error, match=word):
            call()
    with pytest.raises(tessera.CompileError, match="'def'"):
        tessera.stencil(lambda X: X)
