#!/bin/sh
# The C compiler without optimisation, for tests of what is printed: it takes half the time.
exec "${TESSERA_TEST_CC:-cc}" "$@" -O0
