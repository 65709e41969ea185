#!/usr/bin/env bash
# Every layer under AddressSanitizer and UBSan, generated C too: sanitized.sh BUILD [PART PARTS] runs the corpora of the
# fuzzers, programs of tests/corpus, random programs and the tool, from a build with sanitizers. Of PARTS parts only
# PART (from 0) of corpus and random programs.
set -eu
build=$(realpath "$1") part=${2:-0} parts=${3:-1}
cd "$(dirname "$0")/.."
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
export TESSERA_CC=$PWD/tests/support/cc-sanitized.sh TESSERA_CACHE=$place/cache OMP_NUM_THREADS=2
export UBSAN_OPTIONS=print_stacktrace=1 ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1

# step WHAT COMMAND ...: says what and what it printed when it fails
step() {
    local what=$1 log
    shift
    log=$(mktemp -p "$place")
    "$@" >"$log" 2>&1 || {
        cat "$log"
        echo "sanitized.sh: $what, part $part of $parts" >&2
        return 1
    }
}
tool() { step "tessera $*" "$build/tessera" "$@"; }

corpora() { # every reader of texts and pictures, and the compiler
    for topic in tests/fuzz/corpus/*/; do
        step "replay of $topic" "$build/tests/replay_$(basename "$topic")" "$topic"*
    done
}

corpus() { # at several sizes, by C and the interpreters
    local programs=() number=0
    for program in tests/corpus/*.tess tests/corpus/*.idsl; do
        [ $((number++ % parts)) = "$part" ] && programs+=("$PWD/$program")
    done
    step "the corpus" "$build/tests/test_corpus" "${programs[@]}"
}

random() { # programs, of which every 20th is compiled
    TESSERA_SEED=$((20240611 + part * 1000)) TESSERA_COUNT=$((1000 / parts)) TESSERA_EVERY=20 \
        step "random programs" "$build/tests/test_random"
}

commands() {
    tool run examples/blur.tess examples/images/rocket.jpg --gray -o "$place/a.jpg"
    tool run examples/harris.tess random:1:60x80 -o "$place/a.tif" --verify
    tool run examples/blur.tess "$place/a.tif" -o "$place/a.png:16" --target=interp
    tool run examples/blur.tess "$place/a.png" -o "$place/a.npy" --target=loops
    tool build examples/unsharp.tess -o "$place/u.c"
    tool build examples/unsharp.tess -o "$place/u_cuda.cu"
    tool explain examples/canny.tess --machine=machines/h200.machine --dump=opencl
    tool check examples/night.tess
    step "a wrong program" bash -c "'$build/tessera' check tests/errors/ARG_COUNT.tess; [ \$? = 1 ]"
}

corpus & # two cores
corpora
random
commands
wait $!
echo "nothing found in part $part of $parts"
