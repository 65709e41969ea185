/* Files of the repository that travel inside the library, NUL-terminated (made by cmake/embed.cmake). */
#ifndef TESSERA_API_EMBEDDED_H
#define TESSERA_API_EMBEDDED_H

extern const char tessi_embedded_prelude_c[];
extern const char tessi_embedded_prelude_c_vector[];
extern const char tessi_embedded_prelude_cuda[], tessi_embedded_prelude_opencl[];
extern const char tessi_embedded_filters[];
extern const char tessi_embedded_generic_gpu[]; /* a machine description */
extern const char tessi_embedded_strips[];      /* what the strip machine has otherwise */

#endif
