"""Every script of the gallery runs, on small pictures, and draws something."""
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
from conftest import ROOT

SCRIPTS = sorted(p for p in (ROOT / "examples/python").glob("*.py") if p.name != "pictures.py")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda p: p.stem)
def test_script(script, tmp_path):
    image = pytest.importorskip("PIL.Image")
    if script.stem == "tiles":
        pytest.importorskip("dask.array")
    out = tmp_path / "picture.png"
    done = subprocess.run(
        [sys.executable, script, out], capture_output=True, text=True, env=dict(os.environ, GALLERY_SIZE="24")
    )
    assert done.returncode == 0, done.stderr
    drawn = np.asarray(image.open(out))
    assert drawn.shape[0] == 24 and drawn.shape[1] % 24 == 0 and drawn.std() > 5


def test_the_page_shows_each():
    page = (ROOT / "docs/python.md").read_text()
    assert len(SCRIPTS) == 10
    for script in SCRIPTS:
        assert f"../examples/python/{script.name}" in page and (ROOT / f"docs/images/python/{script.stem}.jpg").exists()
    assert pathlib.Path(ROOT / "examples/images/LICENSES.md").exists()
