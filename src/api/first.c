/* The first runs of a program whose code is not in the cache: whether the strip machine does them while another
 * process compiles. */
#include <string.h>

#include "api/host.h"

/* What compilers of C take at least for generated text, and how many times as long as code the strip machine may take:
 * docs/internals/vm.md. */
static const double least_seconds = 0.06, seconds_a_byte = 3e-6, times_slower = 8;

bool tessi_first_is_asked(const tess_program *p)
{
    return p->options.first != TESS_FIRST_WAIT && p->options.target == TESS_TARGET_AUTO
           && p->options.general == TESS_GENERAL_NEVER;
}

static double number_of(const tess_program *p, const tess_args *a, const Scalar *s)
{
    const int64_t k = tessi_input_number(p, s->name);
    return k >= 0 && a->scalar_set[k] ? a->scalars[k] : (double)s->value.i;
}

/* The graph with the numbers of turns of this run, as far as they are known before it. */
static Graph *with_turns(Arena *arena, const tess_program *p, const Graph *of, const tess_args *a,
                         const int64_t *params)
{
    Graph *g = ARENA_NEW(arena, Graph);
    *g = *of;
    g->repeats.at = ARENA_NEW_ARRAY(arena, Repeat, g->repeats.n + 1);
    for (uint32_t k = 0; k < g->repeats.n; k++) {
        Repeat *repeat = &g->repeats.at[k];
        *repeat = of->repeats.at[k];
        const RepeatCount *n = &repeat->count;
        const int64_t x = n->from == COUNT_FROM_SCALAR
                              ? (int64_t)number_of(p, a, &g->scalars.at[n->ref])
                          : n->from == COUNT_FROM_PARAM ? params[n->ref]
                                                        : 0;
        const int64_t turns = tessi_repeat_turns(n, x);
        repeat->count = (RepeatCount){ .add = turns, .by = 1 };
    }
    return g;
}

static bool pays(const tess_program *p, const Variant *v, const tess_args *a, Arena *arena)
{
    Failure ignored;
    int64_t *params = ARENA_NEW_ARRAY(arena, int64_t, v->graph->params.n + 1);
    if (!tessi_bind_sizes(p, v, a, arena, params, &ignored))
        return false;
    const Graph *g = with_turns(arena, p, v->graph, a, params);
    const PlanEstimate e = tessi_plan_estimate(v->plan, g, v->analysis, v->machine, params);
    const double text = (double)strlen(v->c_text);
    return times_slower * e.first_seconds < least_seconds + seconds_a_byte * text;
}

bool tessi_first_pays(const tess_program *p, const Variant *v, const tess_args *a)
{
    Arena arena;
    Guard guard;
    tessi_arena_init(&arena, NULL, NULL);
    const bool does = GUARDED(&guard, &arena) && pays(p, v, a, &arena);
    tessi_arena_dispose(&arena);
    return does;
}
