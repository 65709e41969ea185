/* How reals are rounded while a public function runs: to nearest, with subnormal numbers and without traps, whatever
 * the caller has set. Compiling needs it as running does: constants are read, folded and printed. Threads take over
 * what the thread has that starts them. */
#ifndef TESSERA_BASE_ROUNDING_H
#define TESSERA_BASE_ROUNDING_H

#include <fenv.h>
#include <stdint.h>

typedef struct Rounding {
#if defined(__GNUC__) && defined(__SSE__)
    uint32_t sse;
    uint16_t x87; /* which the C library asks when it reads and prints numbers */
#else
    fenv_t all;
#endif
} Rounding;

/* Sets it, and returns what the caller had. */
Rounding tessi_round_to_nearest(void);
/* Sets what the caller had, also the flags that were raised. */
void tessi_round_as(Rounding before);

#endif
