/* Lines of a machine description: they can be read, whatever a system or a driver says of the machine. What cannot
 * be is left out, so that the default stands, and a comment says so. */
#ifndef TESSERA_RT_MACHINE_LINES_H
#define TESSERA_RT_MACHINE_LINES_H

#include <stdint.h>

#include "base/base.h"

/* A text: bytes that no description can have are blanks; `otherwise` where nothing is left. */
void tessi_machine_text(Text *out, const char *key, const char *text, const char *otherwise);
/* A number from least to most; 0 and what is no number are unknown, and left out without a word. */
void tessi_machine_int(Text *out, const char *key, int64_t value, int64_t least, int64_t most);
/* The same; false when it is left out. */
bool tessi_machine_real(Text *out, const char *key, double value, double least, double most);
/* A clock that something has. */
bool tessi_machine_is_clock(double ghz);
bool tessi_machine_clock(Text *out, double ghz);

#endif
