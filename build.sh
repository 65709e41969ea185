#!/usr/bin/env bash
# Builds Tessera and runs it:
#   ./build.sh                    build; the tool is build/tessera
#   ./build.sh demo               find the edges of a photograph
#   ./build.sh quick              build everything and run the tests that take no time, and a tenth of the corpus
#   ./build.sh test [ctest args]  build everything and run every test, of the long ones the part whose turn it is
#   ./build.sh test --all         all parts of every test, then every test with sanitizers: for a night
#   ./build.sh sanitize           the part of that whose turn it is
#   ./build.sh install [PREFIX]   install (default /usr/local)
# What is missing of compiler, cmake and ninja, and of the optional libraries, is installed from Debian's packages when
# this runs as root or with sudo; TESSERA_NO_INSTALL=1 forbids that. Without them the build says what it does without.
set -eu
cd "$(dirname "$0")"

say() { printf '%s\n' "$*" >&2; }

install_packages() { # names: installed when possible, never an error
    [ "${TESSERA_NO_INSTALL:-0}" = 1 ] && return 0
    command -v apt-get >/dev/null 2>&1 || return 0
    local missing=() name sudo=""
    for name in "$@"; do
        dpkg-query -W -f='${Status}' "$name" 2>/dev/null | grep -q '^install ok' || missing+=("$name")
    done
    [ ${#missing[@]} -eq 0 ] && return 0
    if [ "$(id -u)" -ne 0 ]; then
        sudo -n true 2>/dev/null || return 0
        sudo="sudo -n"
    fi
    say "installing: ${missing[*]}"
    local apt="$sudo env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Acquire::Retries"
    $apt=1 update >/dev/null 2>&1 || true
    $apt=1 install -y --no-install-recommends "${missing[@]}" >/dev/null 2>&1 ||
        for name in "${missing[@]}"; do # one that is not to be had must not keep the others away
            $apt=0 install -y --no-install-recommends "$name" >/dev/null 2>&1 || say "could not install $name"
        done
}

need() { # a program without which nothing works
    command -v "$1" >/dev/null 2>&1 && return 0
    say "build.sh: '$1' is missing and could not be installed; install the package '$2'"
    exit 1
}

build() {
    install_packages gcc libc6-dev cmake ninja-build pkg-config libpng-dev libjpeg62-turbo-dev libtiff-dev \
        libwebp-dev libjxl-dev liblcms2-dev
    command -v cc >/dev/null 2>&1 || command -v clang >/dev/null 2>&1 || need gcc gcc
    need cmake cmake
    need ninja ninja-build
    mkdir -p build
    cmake -S . -B build -G Ninja "$@" >build/configure.log 2>&1 || { cat build/configure.log >&2; exit 1; }
    grep -- '-- without' build/configure.log >&2 || true
    cmake --build build >build/build.log 2>&1 || { cat build/build.log >&2; exit 1; }
}

build_tests() { # how many seconds a test may take, more than one of a machine that does other things beside needs
    install_packages libcmocka-dev python3 python3-numpy python3-scipy python3-venv python3-dev clang-format \
        pocl-opencl-icd ocl-icd-libopencl1 ocl-icd-opencl-dev g++ gcc-aarch64-linux-gnu libc6-dev-arm64-cross \
        qemu-user libimage-exiftool-perl libtiff-tools
    build -DTESSERA_TESTS=ON -DTESSERA_TEST_SECONDS="${1:-1000}"
}

SANITIZED_PARTS=48 # of the corpus and of the random programs: each commit has its own

part_of_commit() { # of so many
    commit=$(git rev-parse HEAD 2>/dev/null || echo 0)
    echo $((16#${commit:0:7} % $1))
}

build_sanitized() { # targets
    mkdir -p build-asan
    cmake --preset asan >build-asan/configure.log 2>&1 || { cat build-asan/configure.log >&2; exit 1; }
    cmake --build build-asan --target "$@" >build-asan/build.log 2>&1 || { cat build-asan/build.log >&2; exit 1; }
}

case "${1:-build}" in
build)
    build -DTESSERA_TESTS=OFF
    say "built build/tessera"
    ;;
demo)
    build -DTESSERA_TESTS=OFF
    build/tessera run examples/edges.tess examples/images/camera.png -o build/edges.png
    say "the edges of examples/images/camera.png are in build/edges.png"
    ;;
quick)
    build_tests
    cd build
    tests/test_corpus --tenth >corpus.log 2>&1 &
    ctest --output-on-failure -j "$(nproc)" -LE slow
    wait $! || { cat corpus.log >&2; exit 1; }
    tail -3 corpus.log
    ;;
test)
    shift
    all=0
    [ "${1:-}" = --all ] && all=1 && shift
    build_tests $((all ? 20000 : 1000))
    TESSERA_TEST_PART=$(part_of_commit 60) # a multiple of the turns that tests take: 2 to 6, 12, 30
    export TESSERA_TEST_PART
    (cd build && TESSERA_ALL=$all ctest --output-on-failure -j "$(nproc)" "$@")
    [ "$all" = 0 ] && exit 0
    build_sanitized all
    (cd build-asan && ctest --output-on-failure -j "$(nproc)" "$@")
    tests/sanitized.sh build-asan
    ;;
sanitize)
    build_sanitized tessera test_corpus test_random replays
    tests/sanitized.sh build-asan "$(part_of_commit $SANITIZED_PARTS)" $SANITIZED_PARTS
    ;;
install)
    build
    cmake --install build --prefix "${2:-/usr/local}" >/dev/null
    say "installed under ${2:-/usr/local}"
    ;;
*)
    say "usage: ./build.sh [demo | quick | test [--all] [CTEST ARGUMENTS] | sanitize | install [PREFIX]]"
    exit 2
    ;;
esac
