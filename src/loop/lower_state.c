/* What lowering finds out once: functions, tables, and what planners know about the graph. */
#include <string.h>

#include "loop/lower_state.h"

uint8_t tessi_loop_dims(const Lower *l, LBufferId b)
{
    return l->p->buffers.at[b.v].n_dims;
}

static LBufferId new_table(Lower *l, const char *name, ScalarType t, Value *at, uint32_t n)
{
    const LBuffer b = { .name = name,
                        .kind = LBUF_TABLE,
                        .type = t,
                        .n_dims = 1,
                        .size = { tessi_l_int(l, n) },
                        .table = at,
                        .n_table = n };
    return tessi_loop_buffer(l->p, &b);
}

LBufferId tessi_lower_table(Lower *l, TableId id)
{
    const Table *t = tessi_table(l->g, id);
    if (!l->table[id.v].v)
        l->table[id.v] = new_table(l, t->name, t->type, t->at, t->n);
    return l->table[id.v];
}

LBufferId tessi_lower_values(Lower *l, const char *of, const char *what, ScalarType t, Value *at,
                             uint32_t n)
{
    return new_table(l, tessi_sprintf(l->arena, "%s_%s", of, what), t, at, n);
}

LBufferId tessi_lower_array(Lower *l, LBufferKind kind, const char *of, const char *what,
                            ScalarType t, LExprId rows, LExprId columns)
{
    const LBuffer b = { .name = tessi_sprintf(l->arena, "%s_%s", of, what),
                        .kind = kind,
                        .type = t,
                        .n_dims = 2,
                        .size = { rows, columns } };
    return tessi_loop_buffer(l->p, &b);
}

void tessi_lower_dims(Lower *l, uint8_t n)
{
    l->n_loop_dims = n;
    l->inside_last = l->inside_rows = false;
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
