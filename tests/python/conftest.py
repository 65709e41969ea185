"""What the tests of the Python package share."""
import os
import pathlib

import numpy as np
import pytest
from hypothesis import settings

import tessera

# The same examples in every run, so that a commit passes or fails by itself; TESSERA_SEED=any draws others.
settings.register_profile("same", derandomize=True)
settings.load_profile("default" if "TESSERA_SEED" in os.environ else "same")

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCALE = """stencil f(vector#2 float X, float s) { return X@[0, -1] * s + X@[1, 0]; }
parameter M, N;
vector#2 float a[M, N];
float s = 2.0;
return f(a:mirror, s);
"""


@pytest.fixture(scope="session")
def scale():
    return tessera.compile(SCALE, name="scale.tess")


@pytest.fixture
def rng():
    return np.random.default_rng(19)


@pytest.fixture(scope="session")
def tool():
    """The command line tool of this build."""
    path = pathlib.Path(os.environ.get("TESSERA", ROOT / "build/tessera"))
    if not path.exists():
        pytest.skip("no tool is built")
    return path
