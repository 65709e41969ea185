/* This machine as the text of a machine description. */
#ifndef TESSERA_RT_MACHINE_H
#define TESSERA_RT_MACHINE_H

#include "base/base.h"

/* Writes `key = value` lines (keys of plan/machine_keys.def) for what the system says about this
 * machine; what it does not say is left out. Does not measure, so that the text is the same at
 * every call. */
void tessi_machine_detect(Text *out);

#endif
