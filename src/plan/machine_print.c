/* The keys of machine descriptions, the default machine, and a machine as text. */
#include <string.h>

#include "plan/machine_text.h"

const MachineKey *tessi_machine_key(int k)
{
    static const MachineKey keys[N_MACHINE_KEYS] = {
#define TEXT(key, standard, words) \
    { #key, MACHINE_TEXT, offsetof(Machine, key), 0, 0, 0, 0, words, sizeof standard == 1, "", "" },
#define INT(key, standard, least, most) \
    { #key, MACHINE_INT, offsetof(Machine, key), least, most, 0, 0, "", false, "", "" },
#define REAL(key, standard, least, most) \
    { #key, MACHINE_REAL, offsetof(Machine, key), 0, 0, least, most, "", false, "", "" },
#include "plan/machine_keys.def"
#undef TEXT
#undef INT
#undef REAL
#define COST(target, key, standard, unit, sentence) \
    { #key,                                         \
      MACHINE_REAL,                                 \
      offsetof(Machine, key),                       \
      0,                                            \
      0,                                            \
      (standard) / 16.0,                            \
      (standard)*16.0,                              \
      "",                                           \
      false,                                        \
      unit,                                         \
      sentence },
#include "plan/machine_costs.def"
#undef COST
    };
    return &keys[k];
}

Machine *tessi_machine_default(Arena *a)
{
    Machine *m = ARENA_NEW(a, Machine);
#define TEXT(key, standard, words)       m->key = standard;
#define INT(key, standard, least, most)  m->key = standard;
#define REAL(key, standard, least, most) m->key = standard;
#include "plan/machine_keys.def"
#undef TEXT
#undef INT
#undef REAL
#define COST(target, key, standard, unit, sentence) m->key = standard;
#include "plan/machine_costs.def"
#undef COST
    return m;
}

/* Constants that are the standard ones are left out: a description that is kept then has those of the tool that
 * reads it. */
static bool is_standard(const Machine *m, const MachineKey *key)
{
    static const Machine standard = {
#define COST(target, key, value, unit, sentence) .key = value,
#include "plan/machine_costs.def"
#undef COST
    };
    return *key->sentence
           && memcmp((const char *)m + key->offset, (const char *)&standard + key->offset,
                     sizeof(double))
                  == 0;
}

void tessi_machine_print(const Machine *m, Text *out)
{
    for (int k = 0; k < N_MACHINE_KEYS; k++) {
        const MachineKey *key = tessi_machine_key(k);
        const char *at = (const char *)m + key->offset;
        if (is_standard(m, key))
            continue;
        if (key->kind == MACHINE_TEXT) {
            const char *text = *(const char *const *)at;
            if (*text)
                tessi_text_addf(out, "%s = %s\n", key->name, text);
            continue;
        }
        tessi_text_addf(out, "%s = ", key->name);
        if (key->kind == MACHINE_INT)
            tessi_text_addf(out, "%lld", (long long)*(const int64_t *)at);
        else
            tessi_text_add_real(out, *(const double *)at, false);
        tessi_text_add(out, "\n");
    }
}
