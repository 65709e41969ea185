/* The table of a plan page's words, and the fields that they set. */
#include "plan/plan_knobs.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "graph/graph_transform.h"

#define SAYS_NOTHING    KNOB_SAYS_NOTHING
#define BYTES_OF(field) sizeof(((PlanGroup *)0)->field)
#define NUMBER(field, unit, most, unset)                               \
    {                                                                  \
        unit, most, unset, offsetof(PlanGroup, field), BYTES_OF(field) \
    }
#define NO_NUMBERS \
    0,             \
    {              \
        {          \
            0      \
        }          \
    }
#define ONE(a) \
    1,         \
    {          \
        a      \
    }
#define TWO(a, b) \
    2,            \
    {             \
        a, b      \
    }
#define FOUR(a, b, c, d) \
    4,                   \
    {                    \
        a, b, c, d       \
    }
#define NO_FLAG           KNOB_NOWHERE, false
#define FLAG(field, sets) offsetof(PlanGroup, field), sets
#define KNOB(word, kind, numbers, flag, example, meaning) \
    { word, KNOB_##kind, numbers, flag, example },

static const Knob knobs[] = {
#include "plan/knobs.def"
    { 0 }
};

const Knob *tessi_knobs(void)
{
    return knobs;
}

const Knob *tessi_knob_by_word(const char *word)
{
    const Knob *k = knobs;
    while (k->word && !tessi_streq(k->word, word))
        k++;
    return k->word ? k : NULL;
}

int64_t tessi_knob_get(const Knob *k, uint32_t i, const PlanGroup *group)
{
    const KnobNumber *n = &k->number[i];
    const unsigned char *at = (const unsigned char *)group + n->of_group;
    uint8_t one;
    uint16_t two;
    switch (n->bytes) {
    case 1: memcpy(&one, at, 1); return one;
    case 2: memcpy(&two, at, 2); return two;
    default: return n->unset;
    }
}

void tessi_knob_set(const Knob *k, uint32_t i, PlanGroup *group, int64_t value)
{
    unsigned char *at = (unsigned char *)group + k->number[i].of_group;
    const uint8_t one = (uint8_t)value;
    const uint16_t two = (uint16_t)value;
    switch (k->number[i].bytes) {
    case 1: memcpy(at, &one, 1); break;
    case 2: memcpy(at, &two, 2); break;
    default: break;
    }
}

bool tessi_knob_flag(const Knob *k, const PlanGroup *group)
{
    bool flag = false;
    if (k->flag != KNOB_NOWHERE)
        memcpy(&flag, (const unsigned char *)group + k->flag, sizeof flag);
    return flag;
}

void tessi_knob_set_flag(const Knob *k, PlanGroup *group)
{
    memcpy((unsigned char *)group + k->flag, &k->sets, sizeof k->sets);
}

bool tessi_knob_is_said(const Knob *k, const PlanGroup *group)
{
    bool said = k->flag != KNOB_NOWHERE && !k->n;
    if (k->flag != KNOB_NOWHERE && tessi_knob_flag(k, group) != k->sets)
        return false;
    for (uint32_t i = 0; i < k->n; i++)
        said = said
               || (k->number[i].unset != KNOB_SAYS_NOTHING
                   && tessi_knob_get(k, i, group) != k->number[i].unset);
    return said;
}

void tessi_knob_set_usual(const Knob *k, PlanGroup *group)
{
    const char *at = k->example + strlen(k->word);
    for (uint32_t i = 0; i < k->n; i++) {
        char *end;
        tessi_knob_set(k, i, group, strtoll(at, &end, 10));
        at = end;
    }
    if (k->flag != KNOB_NOWHERE)
        tessi_knob_set_flag(k, group);
}

void tessi_knob_leave_out(const Knob *k, PlanGroup *group)
{
    const bool unset = !k->sets;
    for (uint32_t i = 0; i < k->n; i++)
        tessi_knob_set(k, i, group, k->number[i].unset == SAYS_NOTHING ? 0 : k->number[i].unset);
    if (k->flag != KNOB_NOWHERE && !k->n)
        memcpy((unsigned char *)group + k->flag, &unset, sizeof unset);
}

void tessi_knobs_unset(PlanGroup *group)
{
    for (const Knob *k = knobs; k->word; k++)
        for (uint32_t i = 0; i < k->n; i++)
            if (k->number[i].unset != KNOB_SAYS_NOTHING)
                tessi_knob_set(k, i, group, k->number[i].unset);
}

const char *tessi_knobs_check(Arena *a, const PlanGroup *group)
{
    for (const Knob *k = knobs; k->word; k++)
        for (uint32_t i = 0; i < k->n; i++) {
            const KnobNumber *n = &k->number[i];
            const int64_t value = tessi_knob_get(k, i, group);
            const bool unset = n->unset == KNOB_SAYS_NOTHING ? value == 0 : value == n->unset;
            if (!unset && (value < 1 || value > n->most))
                return tessi_sprintf(a, "group '%s' has %lld %s; there can be 1 to %lld",
                                     group->name, (long long)value, n->unit, (long long)n->most);
        }
    return NULL;
}
