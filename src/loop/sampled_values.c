/* The pass `sampled`: which values it keeps. */
#include "loop/sampled.h"

#include <string.h>

enum {
    LEAST_COST = 4,
    LEAST_SUM = 8
}; /* operations of a point that a table saves; all tables together */
enum { MOST_COST = 400, MOST_DEPTH = 60, MOST_NODES = LOOP_MAX_EXPR_NODES / 16 };
static const uint32_t MIXED = UINT32_MAX; /* a key: not of one row */

uint32_t *tessi_sampled_note(Sampled *s, Notes *notes, LExprId id)
{
    if (id.v >= notes->n) {
        const uint32_t n = 2 * (id.v + 64);
        Note *at = ARENA_NEW_ARRAY(s->scratch, Note, n);
        if (notes->n)
            memcpy(at, notes->at, notes->n * sizeof *at);
        notes->at = at;
        notes->n = n;
    }
    Note *note = &notes->at[id.v];
    if (note->round != notes->round)
        *note = (Note){ .round = notes->round };
    return &note->value;
}

void tessi_sampled_forget(Notes *notes)
{
    notes->round++;
}

static uint32_t *note(Sampled *s, Notes *notes, LExprId id)
{
    return tessi_sampled_note(s, notes, id);
}

/* True the first time that the walk in hand comes to a value: values are shared. */
static bool is_new(Sampled *s, LExprId id)
{
    uint32_t *seen = note(s, &s->seen, id);
    return !(*seen)++;
}

/* ---- What values depend on --------------------------------------------------------------------------------------- */

static uint32_t depends_of(Sampled *s, const LExpr *e)
{
    uint32_t on = 0;
    if (e->kind == LEXPR_VAR) {
        const LVarId v = e->var;
        if (v.v == s->points->var.v)
            return ON_POINT;
        if (v.v == s->rows->var.v || v.v >= s->n_vars)
            return ON_ROW;
        if (s->p->vars.at[v.v].is_mutable || s->where[v.v] == WHERE_INSIDE)
            return ON_MORE;
        if (s->where[v.v] == WHERE_OUTSIDE)
            return 0;
        /* A name of the row is not known before the row, whatever its value is. */
        on = s->where[v.v] == WHERE_ROW ? ON_ROW : 0;
        return on | tessi_sampled_depends(s, s->definition[v.v]->a);
    }
    if (e->lanes
        || (e->kind == LEXPR_LOAD
            && (s->stored[e->buffer.v] || s->p->buffers.at[e->buffer.v].kind == LBUF_OUTPUT
                || s->p->buffers.at[e->buffer.v].lanes || e->ref)))
        on = ON_MORE;
    for (int i = 0; i < e->n_args; i++)
        on |= tessi_sampled_depends(s, e->arg[i]);
    return on;
}

uint32_t tessi_sampled_depends(Sampled *s, LExprId id)
{
    if (!*note(s, &s->depends, id)) {
        const LExpr e = *tessi_lexpr(s->p, id);
        const uint32_t on = depends_of(s, &e);
        *note(s, &s->depends, id) = on + 1;
    }
    return *note(s, &s->depends, id) - 1;
}

static LExprId whole(void *s, LExprId id)
{
    return tessi_sampled_whole(s, id);
}

LExprId tessi_sampled_whole(Sampled *s, LExprId id)
{
    if (!*note(s, &s->whole, id)) {
        const LExpr *e = tessi_lexpr(s->p, id);
        const bool named =
            e->kind == LEXPR_VAR && e->var.v < s->n_vars && s->where[e->var.v] == WHERE_POINT;
        const LExprId as = named ? tessi_sampled_whole(s, s->definition[e->var.v]->a)
                                 : tessi_pass_changed(s->p, id, whole, s);
        *note(s, &s->whole, id) = as.v;
    }
    return (LExprId){ *note(s, &s->whole, id) };
}

/* ---- What they cost ---------------------------------------------------------------------------------------------- */

/* Integers in lanes, where an operation costs what a load costs. */
static bool is_light(const LoopProgram *p, const LExpr *e)
{
    if (e->kind == LEXPR_CAST)
        return !tessi_is_real(e->type) && !tessi_is_real(tessi_lexpr(p, e->arg[0])->type);
    if (e->kind != LEXPR_OP)
        return false;
    switch (e->op) {
    case OP_DIV:
    case OP_MOD:
    case OP_POW: return false;
    case OP_FLOORDIV:
    case OP_FLOORMOD: return true; /* an index: as wide as it has to be in the loop alone */
    default: return !tessi_is_real(e->type);
    }
}

static uint32_t cost_of_op(const LExpr *e)
{
    switch (e->op) {
    case OP_DIV:
    case OP_MOD:
    case OP_FLOORDIV:
    case OP_FLOORMOD: return tessi_is_real(e->type) ? 5 : 10;
    case OP_SQRT: return 6;
    default: return e->op >= OP_RSQRT && e->op <= OP_HYPOT ? 20 : 1;
    }
}

static uint32_t own_cost(Sampled *s, const LExpr *e)
{
    const bool to_integer = e->kind != LEXPR_VAR && e->n_args && !tessi_is_real(e->type)
                            && tessi_is_real(tessi_lexpr(s->p, e->arg[0])->type);
    switch (e->kind) {
    case LEXPR_CAST:
    case LEXPR_SAT: return to_integer ? 4 : 1;
    case LEXPR_LOAD: return 1;
    case LEXPR_OP: return cost_of_op(e);
    default: return 0;
    }
}

/* What is computed twice counts once; of a row, what a table may hold counts as a load. */
static uint32_t cost_beyond(Sampled *s, LExprId id, bool of_row, uint32_t cost)
{
    const uint32_t on = tessi_sampled_depends(s, id);
    if (!(on & ON_POINT) || cost >= MOST_COST || (*note(s, &s->cost, id))++)
        return cost;
    const LExpr e = *tessi_lexpr(s->p, id);
    if (of_row && on == ON_POINT)
        return cost + 1;
    cost += own_cost(s, &e);
    for (int i = 0; i < e.n_args; i++)
        cost = cost_beyond(s, e.arg[i], of_row, cost);
    return cost;
}

/* Nodes of a value, without names and written in one piece; no more than MOST_NODES + 1 are counted. */
static uint32_t nodes_of(Sampled *s, LExprId id)
{
    if (!*note(s, &s->nodes, id)) {
        const LExpr e = *tessi_lexpr(s->p, id);
        uint32_t n = 1;
        for (int i = 0; i < e.n_args && n <= MOST_NODES; i++)
            n += nodes_of(s, e.arg[i]);
        *note(s, &s->nodes, id) = n <= MOST_NODES ? n : MOST_NODES + 1;
    }
    return *note(s, &s->nodes, id);
}

static uint32_t cost_of(Sampled *s, LExprId id)
{
    if (nodes_of(s, id) > MOST_NODES)
        return MOST_COST;
    tessi_sampled_forget(&s->cost);
    const uint32_t cost = cost_beyond(s, id, tessi_sampled_depends(s, id) & ON_ROW, 0);
    return cost < MOST_COST ? cost : MOST_COST;
}

/* ---- Of rows that are read --------------------------------------------------------------------------------------- */

/* The points of a row stand side by side. */
static bool is_beside(Sampled *s, LExprId id)
{
    const LExpr *e = tessi_lexpr(s->p, id);
    while (e->kind == LEXPR_OP && (e->op == OP_ADD || e->op == OP_SUB)
           && !tessi_sampled_depends(s, e->arg[1]))
        e = tessi_lexpr(s->p, e->arg[0]);
    return e->kind == LEXPR_VAR && e->var.v == s->points->var.v;
}

static uint32_t key_of(Sampled *s, LExprId id);

static uint32_t key_of_load(Sampled *s, const LExpr *e)
{
    uint32_t key = 0;
    for (int i = 0; i < e->n_args; i++) {
        const uint32_t on = tessi_sampled_depends(s, e->arg[i]);
        if (!(on & ON_ROW))
            continue;
        if (i == e->n_args - 1 || on != ON_ROW || (key && key != e->arg[i].v))
            return MIXED;
        key = e->arg[i].v;
    }
    return key;
}

/* The index of the one row that a whole value is of; 0: it is the same for all. */
static uint32_t key_of(Sampled *s, LExprId id)
{
    const uint32_t on = tessi_sampled_depends(s, id);
    if (!(on & ON_ROW) || on & ON_MORE)
        return on & ON_MORE ? MIXED : 0;
    if (!*note(s, &s->key, id)) {
        const LExpr e = *tessi_lexpr(s->p, id);
        uint32_t key = e.kind == LEXPR_LOAD ? key_of_load(s, &e) : e.n_args ? 0 : MIXED;
        for (int i = 0; i < e.n_args && e.kind != LEXPR_LOAD && key != MIXED; i++) {
            const uint32_t other = key_of(s, e.arg[i]);
            key = !key || key == other || !other ? key | other : MIXED;
        }
        *note(s, &s->key, id) = key;
    }
    return *note(s, &s->key, id);
}

/* It loads from places that are not side by side. */
static bool is_scattered(Sampled *s, LExprId id)
{
    if (!(tessi_sampled_depends(s, id) & ON_ROW))
        return false;
    if (!*note(s, &s->scattered, id)) {
        const LExpr e = *tessi_lexpr(s->p, id);
        bool is = false;
        if (e.kind == LEXPR_LOAD) {
            const LExprId last = e.arg[e.n_args - 1];
            is = tessi_sampled_depends(s, last) & ON_POINT && !is_beside(s, last);
        }
        for (int i = 0; i < e.n_args && e.kind != LEXPR_LOAD && !is; i++)
            is = is_scattered(s, e.arg[i]);
        *note(s, &s->scattered, id) = 1 + is;
    }
    return *note(s, &s->scattered, id) - 1;
}

/* A value of one row with this row left open: `read` in place of the index of its loads. */
static LExprId form_of(Sampled *s, LExprId id)
{
    if (!(tessi_sampled_depends(s, id) & ON_ROW))
        return id;
    if (!*note(s, &s->form, id)) {
        const LExpr e = *tessi_lexpr(s->p, id);
        const uint32_t key = key_of(s, id);
        LExprId arg[LOOP_MAX_DIMS] = { { 0 } };
        for (int i = 0; i < e.n_args; i++)
            arg[i] = e.kind != LEXPR_LOAD ? form_of(s, e.arg[i])
                     : e.arg[i].v == key  ? s->read
                                          : e.arg[i];
        const LExprId form = tessi_lexpr_with_args(s->p, &e, arg);
        *note(s, &s->form, id) = form.v;
    }
    return (LExprId){ *note(s, &s->form, id) };
}

static bool can_be_stored(ScalarType t)
{
    return t != TYPE_BOOL && t != TYPE_INDEX && t != TYPE_F16;
}

static Samples *samples_of(Sampled *s, LExprId form)
{
    uint32_t i = 0;
    while (i < s->n_samples && s->samples[i].form.v != form.v)
        i++;
    if (i == SAMPLED_MOST_ROWS)
        return NULL;
    if (i == s->n_samples)
        s->samples[s->n_samples++] = (Samples){ .form = form };
    return &s->samples[i];
}

/* Keeps a value of one row, if it is worth it. */
static bool take_row(Sampled *s, LExprId id)
{
    const uint32_t key = key_of(s, id);
    if (!key || key == MIXED || !(tessi_sampled_depends(s, id) & ON_POINT)
        || !can_be_stored(tessi_lexpr(s->p, id)->type) || cost_of(s, id) >= MOST_COST
        || !is_scattered(s, id))
        return false;
    Samples *samples = samples_of(s, form_of(s, id));
    for (uint32_t i = 0; samples && i < samples->n; i++)
        if (samples->row[i].v == key)
            return true;
    if (!samples || samples->n == SAMPLED_MOST_LINES)
        return false;
    samples->row[samples->n++] = (LExprId){ key };
    return true;
}

/* Rows of images stay as they were stored. */
static bool widens(const LoopProgram *p, const LExpr *e)
{
    if (e->kind != LEXPR_CAST)
        return false;
    const ScalarType from = tessi_lexpr(p, e->arg[0])->type;
    return can_be_stored(from) && tessi_type_info(from)->bytes < tessi_type_info(e->type)->bytes;
}

static void find_rows(Sampled *s, LExprId id)
{
    const LExpr e = *tessi_lexpr(s->p, id);
    if (!(tessi_sampled_depends(s, id) & ON_ROW) || !is_new(s, id))
        return;
    if (!widens(s->p, &e) && take_row(s, id))
        return;
    for (int i = 0; i < e.n_args; i++)
        find_rows(s, e.arg[i]);
}

/* Each row reads one of its own, so that none is read again. */
static bool is_read_once(Sampled *s, const Samples *samples)
{
    LExprId at = samples->row[0];
    for (int k = 0; k < MOST_DEPTH; k++) {
        const LExpr *e = tessi_lexpr(s->p, at);
        if (e->kind == LEXPR_VAR && e->var.v == s->rows->var.v)
            return samples->n == 1;
        if (e->kind == LEXPR_VAR && e->var.v < s->n_vars && s->where[e->var.v] == WHERE_ROW)
            at = s->definition[e->var.v]->a;
        else if (e->kind == LEXPR_OP && (e->op == OP_ADD || e->op == OP_SUB))
            at = e->arg[tessi_sampled_depends(s, e->arg[0]) ? 0 : 1];
        else
            return false;
    }
    return false;
}

/* Those that are kept, with others of the same rows. */
static void sort_rows(Sampled *s)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n_samples; i++)
        if (!is_read_once(s, &s->samples[i]))
            s->samples[n++] = s->samples[i];
    s->n_samples = n;
    for (uint32_t i = 0; i < n; i++) {
        Samples *a = &s->samples[i];
        for (a->first = 0; a->first < i; a->first++) {
            const Samples *b = &s->samples[a->first];
            bool same = b->first == a->first && a->n == b->n;
            for (uint32_t k = 0; k < a->n && same; k++)
                same = a->row[k].v == b->row[k].v;
            if (same)
                break;
        }
    }
}

uint32_t tessi_sampled_row(Sampled *s, LExprId id, uint32_t *line)
{
    const uint32_t key = key_of(s, id);
    if (!s->n_samples || !key || key == MIXED || !(tessi_sampled_depends(s, id) & ON_POINT))
        return 0;
    const LExprId form = form_of(s, id);
    for (uint32_t i = 0; i < s->n_samples; i++)
        for (*line = 0; s->samples[i].form.v == form.v && *line < s->samples[i].n; ++*line)
            if (s->samples[i].row[*line].v == key)
                return i + 1;
    return 0;
}

/* ---- Of points alone --------------------------------------------------------------------------------------------- */

uint32_t tessi_sampled_table(const Sampled *s, LExprId id)
{
    for (uint32_t i = 0; i < s->n_tables; i++)
        if (s->table[i].value.v == id.v)
            return i + 1;
    return 0;
}

static void find_tables(Sampled *s, LExprId id)
{
    const LExpr e = *tessi_lexpr(s->p, id);
    const uint32_t on = tessi_sampled_depends(s, id);
    uint32_t line;
    if (!(on & ON_POINT) || !is_new(s, id) || tessi_sampled_row(s, id, &line)
        || tessi_sampled_table(s, id))
        return;
    const uint32_t cost = cost_of(s, id);
    if (on == ON_POINT && !is_light(s->p, &e) && can_be_stored(e.type) && cost >= LEAST_COST
        && cost < MOST_COST && s->n_tables < SAMPLED_MOST_TABLES) {
        s->table[s->n_tables++] = (Table){ .value = id };
        return;
    }
    for (int i = 0; i < e.n_args; i++)
        find_tables(s, e.arg[i]);
}

bool tessi_sampled_find(Sampled *s)
{
    Notes *all[] = {
        &s->depends, &s->whole, &s->key, &s->form, &s->scattered, &s->seen, &s->nodes
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        tessi_sampled_forget(all[i]);
    s->n_tables = s->n_samples = 0;
    const LBlock *body = &s->points->body;
    for (uint32_t i = 0; i < body->n; i++)
        if (body->at[i]->kind == LSTMT_STORE)
            find_rows(s, tessi_sampled_whole(s, body->at[i]->a));
    sort_rows(s);
    tessi_sampled_forget(&s->seen);
    for (uint32_t i = 0; i < body->n; i++)
        if (body->at[i]->kind == LSTMT_STORE)
            find_tables(s, tessi_sampled_whole(s, body->at[i]->a));
    for (uint32_t i = 0; i < s->n_samples; i++)
        find_tables(s, s->samples[i].form);
    uint32_t sum = 0;
    for (uint32_t i = 0; i < s->n_tables; i++)
        sum += cost_of(s, s->table[i].value);
    return s->n_samples || sum >= LEAST_SUM;
}
