/* Runs in parts on one device or several. */
#ifndef TESSERA_API_DEVICES_H
#define TESSERA_API_DEVICES_H

#include "api/backend.h"

void tessi_devices_free(DeviceTeam *t);
/* The run on the devices of the options, of which there are several; false with a failure, UNSUPPORTED where one device
 * has to do it. */
bool tessi_run_on_devices(const Run *run, Failure *f);
/* The same on one, in parts that fit its memory. */
bool tessi_run_in_parts(const Run *run, Failure *f);

#endif
