"""SciPy's own tests of filters, morphology and interpolation, with the functions of tessera.ndimage in the place of
SciPy's.

    python3 tests/python/scipy_suite.py [pytest arguments]

The tests are those of the installed SciPy. Where a test is expected to fail, DIFFERENCES says why; the run fails when
another one does, or when one of these passes."""
import os
import pathlib
import sys

DIFFERENCES = {}


def names():
    import tessera.ndimage as ours
    from scipy import ndimage
    skip = {"generic_filter"}  # takes stencils alone
    return {
        n: getattr(ours, n)
        for n in ours.__all__
        if n not in skip and callable(getattr(ours, n)) and hasattr(ndimage, n)
    }


def pytest_collection_finish(session):
    """SciPy's decorators look at its functions while tests are collected, so ours come in afterwards."""
    from scipy import ndimage
    functions = names()
    replaced = {id(getattr(ndimage, n)): f for n, f in functions.items()}
    for name, function in functions.items():
        setattr(ndimage, name, function)
    for item in session.items:
        parameters = getattr(getattr(item, "callspec", None), "params", {})
        for key, value in list(parameters.items()):
            if id(value) in replaced:
                parameters[key] = replaced[id(value)]
        reason = DIFFERENCES.get(getattr(item, "originalname", item.name))
        if reason:
            import pytest
            item.add_marker(pytest.mark.xfail(reason=reason, strict=True))


def main():
    import subprocess
    try:
        import scipy.ndimage.tests.test_filters  # noqa: F401
    except ImportError:
        print("skipped: this SciPy has no tests")
        return 0
    here = pathlib.Path(__file__).resolve()
    environment = dict(os.environ, PYTHONPATH=str(here.parent))
    return subprocess.run(
        [
            sys.executable, "-m", "pytest", "-q", "-p", here.stem, "-p", "no:cacheprovider", "-W", "ignore",
            "--tb=short", "--pyargs", "scipy.ndimage.tests.test_filters", "scipy.ndimage.tests.test_morphology",
            "scipy.ndimage.tests.test_interpolation", *sys.argv[1:],
        ],
        env=environment,
        cwd=os.environ.get("TMPDIR", "/tmp"),
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
