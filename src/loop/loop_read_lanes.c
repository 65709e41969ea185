/* Reads what makes vectors: calls whose names say how many bytes a lane has. */
#include <string.h>

#include "loop/loop_private.h"
#include "loop/loop_read.h"

typedef enum Form {
    FORM_LANES,
    FORM_VECTORS,
    FORM_SPLAT,
    FORM_RAMP,
    FORM_LOAD,
    FORM_AT,
    FORM_PAIRS,
    FORM_BOTH,
    FORM_APART,
    FORM_LOW
} Form;
typedef struct Call {
    const char *name; /* ends with '_' where lanes follow */
    Form form;
    int n_args;
    uint32_t how; /* of a load */
} Call;
static const Call calls[] = { { "lanes_", FORM_LANES, 0, 0 },
                              { "vectors_", FORM_VECTORS, 1, 0 },
                              { "splat_", FORM_SPLAT, 1, 0 },
                              { "ramp_", FORM_RAMP, 1, 0 },
                              { "load_", FORM_LOAD, 1, 0 },
                              { "evens_", FORM_LOAD, 1, LLOAD_EVENS },
                              { "odds_", FORM_LOAD, 1, LLOAD_ODDS },
                              { "row_", FORM_LOAD, 1, LLOAD_ROW },
                              { "each_", FORM_LOAD, 1, LLOAD_EACH },
                              { "near_", FORM_LOAD, 1, LLOAD_NEAR },
                              { "fours_", FORM_LOAD, 1, LLOAD_FOURS },
                              { "fours", FORM_LOAD, 1, LLOAD_FOURS },
                              { "at", FORM_AT, 2, 0 },
                              { "pairs", FORM_PAIRS, 2, 0 },
                              { "low", FORM_LOW, 1, 0 },
                              { "both", FORM_BOTH, 2, 0 },
                              { "apart_", FORM_APART, 2, LLOAD_APART } };

typedef struct Found {
    const Call *call;
    uint8_t lanes;
    ScalarType type; /* of a ramp */
} Found;

/* What stands behind the first word of the name. */
static bool read_rest(Found *found, const char *rest)
{
    const size_t n = strcspn(rest, "_");
    char lanes[4] = "";
    if (n >= sizeof lanes)
        return false;
    memcpy(lanes, rest, n);
    found->lanes = tessi_loop_lanes_by_name(lanes);
    if (found->call->form == FORM_RAMP)
        return found->lanes && rest[n] && tessi_type_by_name(rest + n + 1, &found->type);
    return found->lanes && !rest[n];
}

static bool find(const char *name, Found *found)
{
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        const size_t n = strlen(calls[i].name);
        *found = (Found){ .call = &calls[i] };
        if (calls[i].name[n - 1] != '_' && tessi_streq(calls[i].name, name))
            return true;
        if (calls[i].name[n - 1] == '_' && strncmp(calls[i].name, name, n) == 0
            && read_rest(found, name + n))
            return true;
    }
    return false;
}

bool tessi_loop_is_lanes_call(const char *name)
{
    Found found;
    return find(name, &found);
}

static LExprId made(LoopReader *r, const Found *found, const LExprId *arg)
{
    const LExpr first = *tessi_lexpr(r->p, arg[0]);
    const LExprId none = { 0 };
    switch (found->call->form) {
    case FORM_LANES: return tessi_lexpr_lanes(r->p, found->lanes);
    case FORM_SPLAT: return tessi_lexpr_splat(r->p, found->lanes, arg[0]);
    case FORM_RAMP: return tessi_lexpr_ramp(r->p, found->lanes, found->type, arg[0]);
    case FORM_VECTORS:
        if (first.kind == LEXPR_CONST && first.type == TYPE_INDEX)
            return tessi_lexpr_vectors(r->p, found->lanes, first.value.i);
        break;
    case FORM_LOAD:
        if (found->call->how == LLOAD_EACH && first.kind == LEXPR_LOAD && first.ref == LLOAD_EACH
            && first.lanes == found->lanes)
            return arg[0];
        if (found->call->how == LLOAD_NEAR && first.kind == LEXPR_LOAD && first.ref == LLOAD_EACH
            && first.lanes == found->lanes)
            return tessi_lexpr_load_lanes(r->p, found->lanes, LLOAD_NEAR, first.buffer, first.arg);
        if (found->call->how != LLOAD_EACH && first.kind == LEXPR_LOAD && !first.lanes)
            return tessi_lexpr_load_lanes(r->p, found->lanes, found->call->how, first.buffer,
                                          first.arg);
        break;
    case FORM_AT: {
        const LExpr *k = tessi_lexpr(r->p, arg[1]);
        if (k->kind == LEXPR_CONST && k->type == TYPE_INDEX)
            return tessi_lexpr_at(r->p, arg[0], k->value.i);
        break;
    }
    case FORM_PAIRS: return tessi_lexpr_pairs(r->p, arg[0], arg[1]);
    case FORM_APART: {
        const LExpr *n = tessi_lexpr(r->p, arg[1]);
        if (first.kind == LEXPR_LOAD && !first.lanes && n->kind == LEXPR_CONST
            && n->type == TYPE_INDEX && n->value.i && n->value.i >= -LOOP_MOST_APART
            && n->value.i <= LOOP_MOST_APART)
            return tessi_lexpr_load_lanes(r->p, found->lanes,
                                          LLOAD_APART | (uint32_t)n->value.i << LLOAD_BITS,
                                          first.buffer, first.arg);
        break;
    }
    case FORM_BOTH: return tessi_lexpr_both(r->p, arg[0], arg[1]);
    case FORM_LOW: return tessi_lexpr_low_byte(r->p, arg[0]);
    }
    tessi_loop_fault(r, "'%s' does not take such arguments", found->call->name);
    return none;
}

LExprId tessi_loop_read_lanes_call(LoopReader *r, const char *name)
{
    Found found;
    LExprId arg[2] = { { 0 } };
    const LExprId none = { 0 };
    if (!find(name, &found))
        return none;
    const int n = tessi_loop_read_list(r, arg, 2);
    if (n < 0)
        return none;
    if (n != found.call->n_args) {
        tessi_loop_fault(r, "'%s' takes another number of arguments", name);
        return none;
    }
    return made(r, &found, arg);
}
