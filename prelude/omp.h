/* What generated C needs of OpenMP's functions where there is no runtime: prelude/c_threads.c has them. */
#ifndef TESSERA_PRELUDE_OMP_H
#define TESSERA_PRELUDE_OMP_H

#pragma GCC visibility push(hidden)
int omp_get_max_threads(void);
int omp_get_thread_num(void);
void omp_set_num_threads(int n);
#pragma GCC visibility pop

#endif
