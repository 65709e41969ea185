/* Clocks. */
#ifndef TESSERA_RT_CLOCK_H
#define TESSERA_RT_CLOCK_H

double tessi_clock_ms(void); /* milliseconds since some fixed moment; never goes back */
/* What the calling thread has computed for: others that take its core do not count. */
double tessi_clock_thread_ms(void);

#endif
