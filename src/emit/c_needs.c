/* Which statements of a function are written at all. */
#include "emit/c_private.h"

/* The counterpart of tessi_loop_needs: what it did not mark is left out. */
bool tessi_c_has_effect(const CWriter *w, const LStmt *s)
{
    switch (s->kind) {
    case LSTMT_FOR: return tessi_c_block_has_effect(w, &s->body);
    case LSTMT_IF:
        return tessi_c_block_has_effect(w, &s->body) || tessi_c_block_has_effect(w, &s->orelse);
    case LSTMT_LET:
        return w->needs.var[s->var.v] || (w->target->keep && tessi_loop_is_needed(&w->needs, s));
    case LSTMT_COMMENT: return false;
    default: return tessi_loop_is_needed(&w->needs, s);
    }
}

bool tessi_c_block_has_effect(const CWriter *w, const LBlock *block)
{
    for (uint32_t i = 0; i < block->n; i++)
        if (block->at[i]->kind != LSTMT_LOCAL && block->at[i]->kind != LSTMT_PREFETCH
            && tessi_c_has_effect(w, block->at[i]))
            return true;
    return false;
}
