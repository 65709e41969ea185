/* What the fuzz targets share. Each is a function of bytes that must survive any of them; with clang and
 * TESSERA_FUZZ it becomes a fuzzer, and always a replay (replay.c) of the files in tests/fuzz/corpus/. */
#ifndef TESSERA_TESTS_FUZZ_FUZZ_H
#define TESSERA_TESTS_FUZZ_FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/base.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void out_of_memory(void *user) TESS_NORETURN;
static inline void out_of_memory(void *user)
{
    (void)user;
    fputs("out of memory\n", stderr);
    abort();
}

static inline void must(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "broken: %s\n", what);
    abort();
}

#endif
