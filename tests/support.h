/* What C tests share: arenas that fail the test when memory runs out, and reading files of the source tree. */
#ifndef TESSERA_TESTS_SUPPORT_H
#define TESSERA_TESTS_SUPPORT_H

#include "base/base.h"

void support_arena_init(Arena *a);
/* Text of a file below the source tree (or an absolute path), NUL-terminated; aborts the test when it cannot be
 * read. */
char *support_read_file(Arena *a, const char *path, size_t *n);

#endif
