/* Which build of this library runs. */
#ifndef TESSERA_RT_BUILD_H
#define TESSERA_RT_BUILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct RtBuild {
    uint8_t at[64];
    size_t n;
} RtBuild;

/* What the linker counted of all that the library, or the program that it is linked into, consists of (the note
 * NT_GNU_BUILD_ID); false where there is none. */
bool tessi_build_identity(RtBuild *build);

#endif
