/* This machine as the text of a machine description. */
#ifndef TESSERA_RT_MACHINE_H
#define TESSERA_RT_MACHINE_H

#include "base/base.h"
#include "rt/cache.h"

/* Writes `key = value` lines (keys of plan/machine_keys.def) for what the system says about this machine, and for
 * its rates as measured earlier and kept in the cache, or as usual for its instruction set. Never measures. */
void tessi_machine_detect(const RtCache *cache, Text *out);
/* The same with the rates measured now, and remembered; where others were at work all the while, with those of
 * before, behind a comment that says so. False when memory is short. */
bool tessi_machine_detect_measured(const RtCache *cache, Text *out);
/* What so many cores usually have of the memory's rate, in GB/s. */
double tessi_machine_usual_memory(int64_t cores);
/* Whether rates that were measured are kept. */
bool tessi_machine_is_measured(const RtCache *cache);
/* What is made of such a measurement. */
struct MachineRates;
void tessi_machine_keep(const RtCache *cache, const struct MachineRates *rates, bool disturbed,
                        Text *out);

#endif
