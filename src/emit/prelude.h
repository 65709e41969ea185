/* The part of a prelude that a program uses: what stands in front of generated code. */
#ifndef TESSERA_EMIT_PRELUDE_H
#define TESSERA_EMIT_PRELUDE_H

#include "base/base.h"

/* Writes those items of the prelude that the text of the program, in C, mentions, directly or through
 * others, in their order, with their comments; nothing where none is. An item that stands under conditions keeps
 * them. Names are found as the preprocessor would make them, for every outcome of the conditions, so that what is
 * left compiles wherever the whole does. */
void tessi_prelude_used(const char *prelude, const char *program, Text *out);

#endif
