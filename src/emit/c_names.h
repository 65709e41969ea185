/* Legal names of generated text, unique among those in scope. */
#ifndef TESSERA_EMIT_C_NAMES_H
#define TESSERA_EMIT_C_NAMES_H

#include "base/base.h"
#include "emit/target.h"

typedef struct CNameEntry {
    const char *name;
    bool in_scope, is_reserved;
    uint32_t next; /* the number to try next when the name is wanted again */
} CNameEntry;
typedef struct CNameUse {
    uint32_t entry, base, base_next; /* what to restore when the scope ends */
} CNameUse;
typedef struct CNames {
    Arena *arena;
    CTexts texts;
    VEC(CNameEntry) entries; /* at[0] unused */
    IdMap map;
    VEC(CNameUse) uses; /* the names in scope, in the order they came */
} CNames;
/* `texts`: where the names are to stand. */
void tessi_c_names_init(CNames *names, CTexts texts, Arena *a);
/* A function that other files see must not be called so. */
bool tessi_c_is_public(const char *name);
/* `wanted` made legal; a number is added when it is taken. In scope until tessi_c_names_leave to an earlier mark. */
const char *tessi_c_name(CNames *names, const char *wanted);
uint32_t tessi_c_names_mark(const CNames *names);
void tessi_c_names_leave(CNames *names, uint32_t mark);

#endif
