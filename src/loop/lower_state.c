/* What lowering finds out once: functions, tables, and what planners know about the graph. */
#include <string.h>

#include "loop/lower_state.h"

uint8_t tessi_loop_dims(const Lower *l, LBufferId b)
{
    return l->p->buffers.at[b.v].n_dims;
}

LBufferId tessi_lower_table(Lower *l, TableId id)
{
    if (l->table[id.v].v)
        return l->table[id.v];
    const Table *t = tessi_table(l->g, id);
    LBuffer b = { .name = t->name,
                  .kind = LBUF_TABLE,
                  .type = t->type,
                  .n_dims = 1,
                  .size = { tessi_l_int(l, t->n) },
                  .table = t->at,
                  .n_table = t->n };
    l->table[id.v] = tessi_loop_buffer(l->p, &b);
    return l->table[id.v];
}

const char *tessi_group_comment(Lower *l, const PlanGroup *group)
{
    Text t = tessi_text_new(l->arena);
    for (uint32_t i = 0; i < group->members.n; i++)
        tessi_text_addf(&t, "%s%s", i ? ", " : "", tessi_stage(l->g, group->members.at[i])->name);
    const char *reason = group->reason
                             ? group->reason
                             : ""; /* its first line; all of it is in the head of the file */
    if (*reason)
        tessi_text_addf(&t, "\n%.*s", (int)strcspn(reason, "\n"), reason);
    return tessi_text_str(&t);
}

const PlanFacts *tessi_lower_facts(Lower *l)
{
    if (!l->facts)
        l->facts = tessi_plan_facts(l->scratch, l->g);
    return l->facts;
}

LFunction *tessi_lower_function(Lower *l, const char *name, const char *comment)
{
    LFunction f = { .name = name, .comment = comment };
    VEC_PUSH(l->arena, &l->p->functions, f);
    LFunction *at = &l->p->functions.at[l->p->functions.n - 1];
    tessi_scope_function(l, &at->body);
    return at;
}
