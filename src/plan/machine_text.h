/* Inside plan/: the keys of machine descriptions as a table. */
#ifndef TESSERA_PLAN_MACHINE_TEXT_H
#define TESSERA_PLAN_MACHINE_TEXT_H

#include "plan/plan.h"

typedef enum MachineKeyKind { MACHINE_TEXT, MACHINE_INT, MACHINE_REAL } MachineKeyKind;
typedef struct MachineKey {
    const char *name;
    MachineKeyKind kind;
    size_t offset; /* in Machine */
    int64_t least_int, most_int;
    double least, most;
    const char *words; /* TEXT: those that it can be; "" = any */
    bool may_be_empty;
    const char *machines, *unit, *sentence; /* of fitted constants; "" of all others */
} MachineKey;
enum {
#define TEXT(key, standard, words)       MACHINE_KEY_##key,
#define INT(key, standard, least, most)  MACHINE_KEY_##key,
#define REAL(key, standard, least, most) MACHINE_KEY_##key,
#include "plan/machine_keys.def"
#undef TEXT
#undef INT
#undef REAL
#define COST(target, key, standard, unit, sentence) MACHINE_KEY_##key,
#include "plan/machine_costs.def"
#undef COST
    N_MACHINE_KEYS
};
const MachineKey *tessi_machine_key(int k);

#endif
