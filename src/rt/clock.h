/* The monotonic clock. */
#ifndef TESSERA_RT_CLOCK_H
#define TESSERA_RT_CLOCK_H

double tessi_clock_ms(void); /* milliseconds since some fixed moment; never goes back */

#endif
