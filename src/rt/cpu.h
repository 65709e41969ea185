/* The processor as the system describes it. */
#ifndef TESSERA_RT_CPU_H
#define TESSERA_RT_CPU_H

#include "rt/digest.h"

/* The text of /proc/cpuinfo; owned by the caller (free), NULL where it cannot be read. */
char *tessi_cpu_text(void);
/* The value of its first "key : value" line, n characters; NULL: there is none. */
const char *tessi_cpu_value(const char *text, const char *key, size_t *n);

/* What code made for this processor depends on: the first one's model and features. False where the features cannot
 * be told: such code must not be kept, since nobody would know where it runs. */
bool tessi_cpu_digest(Digest *d);
bool tessi_cpu_digest_of(const char *text, Digest *d); /* text may be NULL */

#endif
