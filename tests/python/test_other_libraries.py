"""The library's filters beside OpenCV, scikit-image, ITK, SciPy and others: as near as docs/filters.md says."""
import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TESSERA_BUILD", ROOT / "build"))


def test_filters_beside_others():
    for module in ("cv2", "SimpleITK", "skimage", "pyoptflow", "colour_demosaicing"):
        if not importlib.util.find_spec(module):
            pytest.skip(f"{module} is not installed")
    if not (BUILD / "tessera").exists() and "TESSERA" not in os.environ:
        pytest.skip("no command line tool was built")
    done = subprocess.run(
        [sys.executable, ROOT / "tests/scipy/compare_others.py", "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0 and done.stdout.count("\n") > 50, done.stdout[-2000:] + done.stderr
