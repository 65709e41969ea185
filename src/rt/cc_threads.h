/* Threads for generated C where the compiler translates OpenMP's pragmas but has no runtime (made by
 * cmake/embed.cmake). */
#ifndef TESSERA_RT_CC_THREADS_H
#define TESSERA_RT_CC_THREADS_H

extern const char tessi_cc_threads[];   /* prelude/c_threads.c */
extern const char tessi_cc_threads_h[]; /* prelude/omp.h */

#endif
