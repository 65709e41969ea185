/* What the process can ask of the system it runs in: environment variables, cores, memory. */
#ifndef TESSERA_RT_ENV_H
#define TESSERA_RT_ENV_H

#include "base/base.h"

/* NULL when unset or empty, and in programs that run with more rights than who started them; borrowed from the
 * environment. */
const char *tessi_env(const char *name);
int tessi_cpu_count(void); /* cores this process may run on, at least 1 */
/* Memory that this process may have: what the machine has, or its control group or its own limit
 * allows; a generous guess where the system does not say. */
uint64_t tessi_memory_bytes(void);
/* Of these, how many are free. */
uint64_t tessi_memory_free(void);

#endif
