/* The table of a plan page's words, and the fields that they set. */
#include "plan/plan_knobs.h"

#include <stddef.h>
#include <string.h>

#include "graph/graph_transform.h"

#define SAYS_NOTHING    KNOB_SAYS_NOTHING
#define BYTES_OF(field) sizeof(((PlanGroup *)0)->field)
#define NUMBER(field, unit, most, unset)                                             \
    {                                                                                \
        unit, most, unset, offsetof(PlanGroup, field), KNOB_NOWHERE, BYTES_OF(field) \
    }
#define OF_BOTH(field, unit, most, unset)                                                         \
    {                                                                                             \
        unit, most, unset, offsetof(PlanGroup, field), offsetof(PlanPass, field), BYTES_OF(field) \
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
#define THREE(a, b, c) \
    3,                 \
    {                  \
        a, b, c        \
    }
#define FOUR(a, b, c, d) \
    4,                   \
    {                    \
        a, b, c, d       \
    }
#define NO_FLAG                 KNOB_NOWHERE, false, NULL
#define FLAG(field, sets, last) offsetof(PlanGroup, field), sets, last
#define KNOB(word, kind, where, numbers, flag, example, meaning) \
    { word, KNOB_##kind, KNOB_##where, numbers, flag },

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

bool tessi_knob_is_of_pass(const Knob *k)
{
    return k->n && k->number[0].of_pass != KNOB_NOWHERE;
}

static unsigned char *field_of(const Knob *k, uint32_t i, const PlanGroup *group,
                               const PlanPass *pass)
{
    const KnobNumber *n = &k->number[i];
    return pass ? (unsigned char *)pass + n->of_pass : (unsigned char *)group + n->of_group;
}

int64_t tessi_knob_get(const Knob *k, uint32_t i, const PlanGroup *group, const PlanPass *pass)
{
    const KnobNumber *n = &k->number[i];
    const unsigned char *at = field_of(k, i, group, pass);
    int8_t one_signed;
    uint8_t one;
    uint16_t two;
    uint32_t four;
    int64_t eight;
    switch (n->bytes) {
    case 1:
        memcpy(&one_signed, at, 1);
        memcpy(&one, at, 1);
        return n->unset == -1 ? one_signed : one;
    case 2: memcpy(&two, at, 2); return two;
    case 4: memcpy(&four, at, 4); return four;
    case 8: memcpy(&eight, at, 8); return eight;
    default: return n->unset;
    }
}

void tessi_knob_set(const Knob *k, uint32_t i, PlanGroup *group, PlanPass *pass, int64_t value)
{
    unsigned char *at = field_of(k, i, group, pass);
    const uint8_t one = (uint8_t)value;
    const uint16_t two = (uint16_t)value;
    const uint32_t four = (uint32_t)value;
    switch (k->number[i].bytes) {
    case 1: memcpy(at, &one, 1); break;
    case 2: memcpy(at, &two, 2); break;
    case 4: memcpy(at, &four, 4); break;
    case 8: memcpy(at, &value, 8); break;
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

bool tessi_knob_is_said(const Knob *k, const PlanGroup *group, const PlanPass *pass)
{
    const bool by_line = k->flag != KNOB_NOWHERE && !k->last;
    bool said = by_line && !k->n;
    if (pass && !tessi_knob_is_of_pass(k))
        return false;
    if (by_line && tessi_knob_flag(k, group) != k->sets)
        return false;
    for (uint32_t i = 0; i < k->n; i++)
        said = said
               || (k->number[i].unset != KNOB_SAYS_NOTHING
                   && tessi_knob_get(k, i, group, pass) != k->number[i].unset);
    return said;
}

void tessi_knobs_unset(PlanGroup *group, PlanPass *pass)
{
    for (const Knob *k = knobs; k->word; k++)
        for (uint32_t i = 0; i < k->n; i++) {
            if (k->number[i].unset == KNOB_SAYS_NOTHING)
                continue;
            if (group)
                tessi_knob_set(k, i, group, NULL, k->number[i].unset);
            if (pass && tessi_knob_is_of_pass(k))
                tessi_knob_set(k, i, group, pass, k->number[i].unset);
        }
}

static const char *check(Arena *a, const PlanGroup *group, const PlanPass *pass)
{
    for (const Knob *k = knobs; k->word; k++)
        for (uint32_t i = 0; i < k->n && (!pass || tessi_knob_is_of_pass(k)); i++) {
            const KnobNumber *n = &k->number[i];
            const int64_t value = tessi_knob_get(k, i, group, pass);
            const bool unset = n->unset == KNOB_SAYS_NOTHING ? value == 0 : value == n->unset;
            if (unset || k->kind == KNOB_DIMENSION || k->kind == KNOB_SIZES
                || (value >= 1 && value <= n->most))
                continue;
            return tessi_sprintf(a, "%sgroup '%s' has %lld %s; there can be 1 to %lld",
                                 pass ? "a pass of " : "", group->name, (long long)value, n->unit,
                                 (long long)n->most);
        }
    return NULL;
}

const char *tessi_knobs_check(Arena *a, const PlanGroup *group)
{
    const char *fault = check(a, group, NULL);
    for (uint32_t i = 0; i < group->passes.n && !fault; i++)
        fault = check(a, group, &group->passes.at[i]);
    return fault;
}
