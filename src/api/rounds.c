/* tess_rounds: programs with a loop over turns, run a few turns at a time: each round is a program of its own. */
#include <stdlib.h>
#include <string.h>

#include "analysis/part.h"
#include "analysis/passes.h"
#include "api/part.h"
#include "base/rounding.h"

enum { MOST_ROUNDS = 4, MOST_STAGES = 1 << 14 };

struct tess_rounds {
    tess_program *program;
    Variant *v;
    Arena arena;
    tess_round round[MOST_ROUNDS];
    size_t n;
    Failure failure;
};

void tess_rounds_free(tess_rounds *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->n; i++)
        tess_program_free(r->round[i].program);
    if (r->v)
        tessi_variant_release(r->program, r->v);
    tessi_arena_dispose(&r->arena);
    free(r);
}

const char *tess_rounds_error(const tess_rounds *r)
{
    return r ? r->failure.text : "";
}

size_t tess_rounds_count(const tess_rounds *r)
{
    return r ? r->n : 0;
}

tess_status tess_rounds_round(const tess_rounds *r, size_t i, tess_round *round)
{
    if (!r || i >= r->n || !round || round->struct_size != sizeof *round)
        return TESS_ERROR_ARGUMENT;
    *round = r->round[i];
    return TESS_OK;
}

static bool cannot(tess_rounds *r, const char *why)
{
    return tessi_failf(&r->failure, TESS_ERROR_UNSUPPORTED, "its turns cannot be run apart: %s",
                       why);
}

static bool add(tess_rounds *r, const PartTurns *what, int64_t times)
{
    tess_options o = r->program->options;
    Text text;
    tess_diags *diags = NULL;
    tess_round *round = &r->round[r->n];
    Graph *g;
    if (times < 1)
        return true;
    const char *name = !what->before  ? what->behind ? "behind" : "turns"
                       : what->behind ? "all"
                                      : "before";
    if (!tessi_part_turns(r->v->meaning, &r->arena, what, name, &g))
        return cannot(r, "it carries what cannot be stored from turn to turn");
    *round = (tess_round){
        .struct_size = sizeof *round, .times = times, .ends = what->tests, .turns = what->time
    };
    o.forma = 2;
    o.border = NULL;
    o.constants = NULL;
    o.n_constants = 0;
    o.note = NULL;
    o.plan = o.plan && strncmp(o.plan, "preset ", 7) == 0 ? o.plan : NULL;
    text = tessi_text_new(&r->arena);
    tessi_graph_print(tessi_parts_rolled(r->program, g, &r->arena), &text);
    if (tess_compile(tessi_text_str(&text), text.n, g->name, &o, &round->program, &diags)
        != TESS_OK)
        tessi_failf(&r->failure, TESS_ERROR_INTERNAL,
                    "the program of some turns does not compile: %.400s",
                    diags ? tess_diags_text(diags, 0) : "out of memory");
    tess_diags_free(diags);
    r->n += round->program != NULL;
    return !r->failure.status;
}

static int64_t count(const tess_rounds *r, const tess_args *args, const int64_t *params)
{
    const Graph *g = r->v->meaning;
    const RepeatCount *n = &g->repeats.at[0].count;
    int64_t x = n->from == COUNT_FROM_PARAM ? params[n->ref] : 0;
    if (n->from == COUNT_FROM_SCALAR) {
        const Scalar *s = &g->scalars.at[n->ref];
        const int64_t k = tessi_input_number(r->program, s->name);
        x = k >= 0 && args->scalar_set[k] ? (int64_t)args->scalars[k] : s->value.i;
    }
    return tessi_repeat_turns(n, x);
}

/* Turns are as often apart as the others allow: the first and the last have with them what stands around the loop. */
static bool add_counted(tess_rounds *r, int64_t all, int64_t time)
{
    const int64_t full = time > 0 ? (all - 1) / time : 0, rest = all - full * time;
    const PartTurns first = { .before = true, .time = (uint32_t)time };
    const PartTurns middle = { .time = (uint32_t)time };
    const PartTurns last = { .before = full < 1, .behind = true, .time = (uint32_t)rest };
    return add(r, &first, full > 0) && add(r, &middle, full - 1) && add(r, &last, 1);
}

/* Where the loop ends is found out in between. */
static bool add_until(tess_rounds *r, int64_t all, int64_t time)
{
    const int64_t times = all / time;
    const PartTurns first = { .before = true, .time = (uint32_t)time, .tests = true };
    const PartTurns middle = { .time = (uint32_t)time, .tests = true };
    const PartTurns rest = { .time = (uint32_t)(all % time) };
    const PartTurns behind = { .behind = true };
    const PartTurns whole = { .before = true, .behind = true, .time = rest.time };
    if (!times)
        return add(r, &whole, 1);
    return add(r, &first, 1) && add(r, &middle, times - 1) && add(r, &rest, rest.time > 0)
           && add(r, &behind, 1);
}

static bool make(tess_rounds *r, const tess_args *args, int64_t most)
{
    Guard guard;
    if (!GUARDED(&guard, &r->arena))
        return tessi_failf(&r->failure, TESS_ERROR_MEMORY, "out of memory");
    const Graph *g = r->v->meaning;
    if (g->repeats.n != 1)
        return cannot(r, g->repeats.n ? "it has several loops" : "it has no loop");
    int64_t *params = ARENA_NEW_ARRAY(&r->arena, int64_t, g->params.n + 1);
    if (!tessi_bind_sizes(r->program, r->v, args, &r->arena, params, &r->failure))
        return false;
    const Repeat *repeat = &g->repeats.at[0];
    const int64_t all = count(r, args, params);
    const int64_t time = repeat->until.v ? repeat->every : most < all ? most : all;
    if (time > MOST_STAGES / (int64_t)g->stages.n)
        return cannot(r, "its condition is asked too seldom");
    return repeat->until.v ? add_until(r, all, time) : add_counted(r, all, time);
}

int64_t tess_rounds_most(int64_t rows, double around)
{
    enum { USUAL = 8, MOST = 32, TIMES = 8 };
    const double most = around > 0 ? (double)rows / (TIMES * around) : USUAL;
    return most < 1 ? 1 : most < MOST ? (int64_t)most : MOST;
}

tess_status tess_rounds_new(tess_program *p, const tess_args *args, int64_t most,
                            tess_rounds **rounds)
{
    if (!rounds)
        return TESS_ERROR_ARGUMENT;
    *rounds = NULL;
    if (!p || !args || args->program != p || most < 1)
        return TESS_ERROR_ARGUMENT;
    tess_rounds *r = *rounds = calloc(1, sizeof *r);
    if (!r)
        return TESS_ERROR_MEMORY;
    r->program = p;
    tessi_arena_init(&r->arena, NULL, NULL);
    const Rounding callers = tessi_round_to_nearest();
    r->v = tessi_variant_enter(p, args, NULL, &r->failure);
    if (r->v)
        mtx_unlock(&r->v->lock); /* its graph is there, and stays */
    const bool ok = r->v && make(r, args, most);
    tessi_round_as(callers);
    return ok ? TESS_OK : (tess_status)r->failure.status;
}
