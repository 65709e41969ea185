#!/bin/sh
# The C compiler without optimisation, for tests of what is printed: it takes half the time, and half of that where
# small functions may stay functions. Of linkers the quickest.
linker=$(command -v ld.gold >/dev/null && echo -fuse-ld=gold)
exec "${TESSERA_TEST_CC:-cc}" "$@" -O0 -Dalways_inline=__unused__ $linker
