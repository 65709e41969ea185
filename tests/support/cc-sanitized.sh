#!/bin/sh
# The C compiler with sanitizers, for generated code that a sanitized tool loads. Without optimisation: with it, the
# checks in every lane of long straight code keep the compiler busy for minutes.
exec "${TESSERA_TEST_CC:-cc}" "$@" -O0 -fsanitize=address,undefined -fno-sanitize-recover=all
