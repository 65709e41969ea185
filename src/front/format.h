/* front/format: programs in one form. The tokens stay as they are, and comments stay where they are; blanks, indents
 * and empty lines become those of the house. Line breaks are the author's, but for those between statements. */
#ifndef TESSERA_FRONT_FORMAT_H
#define TESSERA_FRONT_FORMAT_H

#include "base/base.h"
#include "base/diag.h"

/* Formats file `index` of the map. NULL with diagnostics where the text has no tokens or its brackets do not match. */
const char *tessi_format(Arena *a, Diags *d, const SourceMap *sources, uint16_t index, bool forma);

#endif
