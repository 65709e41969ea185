"""The Python package as users get it: built by pip into a fresh virtual environment, and its tests there. The library
is that of this build, which saves compiling it twice. Without PyPI there is nothing to install, and the test is
skipped."""
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TESSERA_BUILD", ROOT / "build"))
SKIPPED = 77
PACKAGES = [
    "numpy", "scipy", "scikit-image", "opencv-python-headless", "simpleitk", "dask[array]", "distributed", "xarray",
    "zarr", "pytest", "hypothesis", "scikit-build-core>=0.10", "pyoptflow==1.5.0", "colour-demosaicing==0.2.6",
]
folder = BUILD / "python"
venv = folder / "venv"


def say(text):
    print(text, flush=True)


def environment():
    """That of the test without what would make the environment less fresh."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_ENV", "CFLAGS"))}
    return dict(kept, PIP_DISABLE_PIP_VERSION_CHECK="1", PYTHONPYCACHEPREFIX=str(folder / "bytecode"))


def run(*command, **options):
    return subprocess.run([str(c) for c in command], env=environment(), **options)


def make_environment():
    """A virtual environment with what the tests need, made again when that changes; False with a sentence where it
    cannot be had."""
    mark = venv / "packages"
    if mark.exists() and mark.read_text() == "\n".join(PACKAGES):
        return True
    shutil.rmtree(venv, ignore_errors=True)
    made = run(sys.executable, "-m", "venv", venv, capture_output=True, text=True)
    if made.returncode:
        say(
            f"skipped: this python3 makes no virtual environments (Debian: python3-venv): "
            f"{made.stdout.strip().splitlines()[:1]}"
        )
        return False
    got = run( # of all that these have, a part is ever imported, and compiled then
        venv / "bin/pip", "install", "-q", "--no-compile", "--retries", "1", *PACKAGES, capture_output=True, text=True
    )
    if got.returncode:
        say("skipped: pip cannot install NumPy and the tools of the tests; there is no network, or no PyPI")
        say("\n".join(got.stderr.strip().splitlines()[-3:]))
        return False
    mark.write_text("\n".join(PACKAGES))
    return True


def install():
    """The package of this checkout, by pip."""
    done = run(
        venv / "bin/pip", "install", "-q", "--no-build-isolation", "--no-deps", "--force-reinstall", "--no-index",
        f"--config-settings=build-dir={folder / 'build'}",
        f"--config-settings=cmake.define.TESSERA_LIBRARY={BUILD / 'libtessera.a'}",
        "--config-settings=cmake.define.TESSERA_CODECS=ON", ROOT, capture_output=True, text=True, cwd=folder,
    )
    say(done.stdout + done.stderr)
    return done.returncode == 0


folder.mkdir(parents=True, exist_ok=True)
if not make_environment():
    sys.exit(SKIPPED)
if not install():
    say("FAILED: pip install . does not work")
    sys.exit(1)
tests = run(
    venv / "bin/python", "-m", "pytest", "-q", "-p", "no:cacheprovider", ROOT / "tests/python", *sys.argv[1:],
    cwd=folder,
)
sys.exit(tests.returncode)
