/* The keys of machine descriptions, the default machine, and a machine as text. */
#include <string.h>

#include "plan/machine_text.h"

const MachineKey *tessi_machine_key(int k)
{
    static const MachineKey keys[N_MACHINE_KEYS] = {
#define NO_COST .machines = "", .unit = "", .sentence = ""
#define TEXT(key, standard, possible)       \
    { .name = #key,                         \
      .kind = MACHINE_TEXT,                 \
      .offset = offsetof(Machine, key),     \
      .words = possible,                    \
      .may_be_empty = sizeof standard == 1, \
      NO_COST },
#define INT(key, standard, from, to)    \
    { .name = #key,                     \
      .kind = MACHINE_INT,              \
      .offset = offsetof(Machine, key), \
      .words = "",                      \
      .least_int = from,                \
      .most_int = to,                   \
      NO_COST },
#define REAL(key, standard, from, to)   \
    { .name = #key,                     \
      .kind = MACHINE_REAL,             \
      .offset = offsetof(Machine, key), \
      .words = "",                      \
      .least = from,                    \
      .most = to,                       \
      NO_COST },
#include "plan/machine_keys.def"
#undef TEXT
#undef INT
#undef REAL
#define COST(kind_of_machine, key, standard, in, says) \
    { .name = #key,                                    \
      .kind = MACHINE_REAL,                            \
      .offset = offsetof(Machine, key),                \
      .words = "",                                     \
      .least = (standard) / 16.0,                      \
      .most = (standard)*16.0,                         \
      .machines = #kind_of_machine,                    \
      .unit = in,                                      \
      .sentence = says },
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
