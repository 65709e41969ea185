/* front/check_used: which values the returned images need. */
#include "front/check.h"

typedef struct Marks {
    bool *seen; /* by id of the expression: they share parts */
} Marks;

static void use(TValue *v)
{
    if (v)
        v->used = true;
}

static void use_scalars(Marks *m, const TExpr *e)
{
    if (!e || m->seen[e->id])
        return;
    m->seen[e->id] = true;
    if (e->kind == TE_VALUE || e->kind == TE_SIZE)
        use(e->image);
    if (e->mask)
        use(e->mask->input);
    if (e->window)
        use_scalars(m, e->kind == TE_WINDOW ? e->window->where : NULL);
    for (uint32_t i = 0; i < e->n_args; i++)
        use_scalars(m, e->arg[i]);
    for (uint32_t d = 0; e->read && e->kind == TE_READ && d < e->read->n_dims; d++)
        use_scalars(m, e->read->index[d]);
}

static void use_operands(Marks *m, const TValue *v)
{
    VEC_FOREACH (TValue *const, before, &v->before)
        use(*before);
    use(v->base);
    use(v->keys);
    use(v->mask);
    use_scalars(m, v->expr);
    use_scalars(m, v->bins);
    use_scalars(m, v->start);
    for (int d = 0; d < MAX_DIMS; d++) {
        use_scalars(m, v->lo[d]);
        use_scalars(m, v->hi[d]);
        use_scalars(m, v->declared[d]);
    }
    VEC_FOREACH (const TCallArg, a, &v->args) {
        use(a->image);
        use_scalars(m, a->scalar);
        use_scalars(m, a->border.outside);
        for (int d = 0; d < MAX_DIMS; d++)
            use_scalars(m, a->border.each[d]);
    }
    VEC_FOREACH (const TPart, p, &v->parts) {
        use(p->image);
        use_scalars(m, p->fill);
        for (int d = 0; d < MAX_DIMS; d++) {
            use_scalars(m, p->lo[d]);
            use_scalars(m, p->hi[d]);
        }
    }
    if (!v->inst)
        return;
    use_scalars(m, v->inst->result);
    VEC_FOREACH (const TLocal, l, &v->inst->locals) {
        use_scalars(m, l->value);
    }
}

/* Some value that a loop makes is needed, so its conditions are. */
static bool is_needed(const Typed *t, uint32_t loop)
{
    VEC_FOREACH (TValue *const, v, &t->values)
        if ((*v)->loop == loop && (*v)->used)
            return true;
    return false;
}

/* Values of two turns of a loop, one behind the other. */
typedef struct TurnValues {
    uint32_t turn, next; /* next: the first of `before` that may be the like of the value at hand */
    VEC(TValue *) before, now;
} TurnValues;

/* By value: what the turn before made in its place, where all turns have to be equal: one needs what the other does. */
static TValue **in_turn_before(const Typed *t)
{
    TValue **like = ARENA_NEW_ARRAY(t->arena, TValue *, t->values.n);
    TurnValues *turns = ARENA_NEW_ARRAY(t->arena, TurnValues, t->loops.n + 1);
    VEC_FOREACH (TValue *const, it, &t->values) {
        TValue *v = *it;
        TurnValues *of = &turns[v->loop];
        if (!v->loop || !(t->loops.at[v->loop - 1].of_run || t->loops.at[v->loop - 1].every))
            continue;
        if (v->turn != of->turn) {
            of->before = of->now;
            of->now.at = NULL;
            of->now.n = of->now.cap = of->next = 0;
            of->turn = v->turn;
        }
        VEC_PUSH(t->arena, &of->now, v);
        for (uint32_t i = of->next; i < of->before.n && !like[v->id]; i++) {
            TValue *o = of->before.at[i];
            if (o->kind != v->kind || o->span.begin != v->span.begin || o->span.end != v->span.end)
                continue;
            like[v->id] = o;
            of->next = i + 1;
        }
    }
    return like;
}

/* Values use only values before them, so one walk from the end finds all that the results need. */
void tessi_check_mark_used(Typed *t)
{
    bool *ends = ARENA_NEW_ARRAY(t->arena, bool, t->loops.n + 1);
    TValue **like = in_turn_before(t);
    Marks m = { ARENA_NEW_ARRAY(t->arena, bool, t->n_exprs + 1) };
    VEC_FOREACH (const TOutput, out, &t->outputs) {
        use(out->value);
    }
    for (uint32_t i = t->values.n; i-- > 0;) {
        TValue *v = t->values.at[i];
        if (v->ends_loop) /* all that uses the loop from behind is known here */
            v->used = ends[v->loop] = ends[v->loop] || is_needed(t, v->loop);
        if (v->used) {
            use_operands(&m, v);
            use(like[v->id]);
        }
    }
}
