/* How many turns of a repeat are computed as one: as many as the model says pay, fused as any chain of stages is. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/plan_base.h"

enum { NOMINAL = 2048 }; /* rows, and columns, that images have on CPUs */

double tessi_plan_turns(const PlanFacts *f, StageId id)
{
    const Graph *g = f->g;
    const uint32_t repeat = tessi_stage(g, id)->repeat;
    if (!repeat)
        return 1;
    enum { SUPPOSED = 64 };
    const RepeatCount *n = &g->repeats.at[repeat - 1].count;
    const int64_t every = f->test[id.v] ? g->repeats.at[repeat - 1].every : 1;
    const Scalar *s = n->from == COUNT_FROM_SCALAR ? &g->scalars.at[n->ref] : NULL;
    return (double)tessi_repeat_turns(n, s && s->has_default ? s->value.i : SUPPOSED)
           / (double)every;
}

/* Numbers of turns that come with the run are supposed to be many, unless their default is few, and such that none is
 * left over: what is left over costs little then. */
static void suppose_turns(Graph *g)
{
    enum { FEW = 32, MANY = 240 };
    VEC_FOREACH (const Repeat, r, &g->repeats) {
        if (r->count.from != COUNT_FROM_SCALAR)
            continue;
        Scalar *s = &g->scalars.at[r->count.ref];
        if (s->has_default && s->value.i < FEW)
            continue;
        s->has_default = true;
        s->value = tessi_value_int(r->count.sign * (MANY - r->count.add));
    }
}

static double seconds_of(Arena *a, const Graph *g, const Machine *m, PlanSize size,
                         const BlockTime *time)
{
    /* rows, and columns, that images of a size have on GPUs; second caches hold those that are not large */
    static const int64_t nominal_gpu[] = {
        [PLAN_LARGE] = 8192, [PLAN_MEDIUM] = 1774, [PLAN_SMALL] = 512
    };
    Arena *scratch = tessi_scratch_open(a);
    Graph *blocked = tessi_graph_block_time(g, scratch, time);
    const bool gpu = tessi_machine_is_gpu(m);
    if (gpu)
        suppose_turns(blocked);
    const Analysis *an = tessi_analyse(blocked, scratch);
    int64_t *params = ARENA_NEW_ARRAY(scratch, int64_t, blocked->params.n + 1);
    for (uint32_t k = 0; k < blocked->params.n; k++)
        params[k] = gpu ? nominal_gpu[size] : NOMINAL;
    const Plan *p = tessi_plan_choose(scratch, blocked, an, m, size);
    const double seconds = tessi_plan_estimate(p, blocked, an, m, params).first_seconds;
    tessi_scratch_close(scratch);
    return seconds;
}

/* Bodies that are larger are not written out again. */
static bool is_small(const Graph *g, uint32_t number, uint32_t time)
{
    enum { MOST_STAGES = 64 };
    uint32_t n = 0;
    GRAPH_FOREACH_STAGE (g, id)
        n += tessi_stage(g, id)->repeat == number && tessi_stage(g, id)->kind != STAGE_CARRIED;
    return n * time <= MOST_STAGES;
}

/* Numbers of turns that are tried: where a condition is tested, all that are between two tests. */
static bool is_tried(const Graph *g, uint32_t number, uint32_t t, bool gpu)
{
    static const uint8_t tried[] = { 1, 2, 3, 4, 6, 8, 10, 12, 16 };
    if (g->repeats.at[number - 1].until.v)
        return tessi_repeat_can_block(g, number, t);
    for (size_t i = 0; i < sizeof tried; i++)
        if (tried[i] == t)
            return gpu || !(t & (t - 1));
    return false;
}

/* What blocks of t turns leave over is done in blocks, too, where it can be many turns: all of them where the number
 * is known, else the greatest share that is about the root. */
static uint32_t blocks_left(const Graph *g, uint32_t number, uint32_t t, bool gpu)
{
    enum { FEW = 6 };
    const int64_t known = tessi_repeat_left(g, number, t);
    if (!gpu || t < FEW || known >= 0)
        return gpu && known > 1 ? (uint32_t)known : 0;
    uint32_t left = 1;
    for (uint32_t d = 2; d * d <= t + 4; d++)
        left = t % d ? left : d;
    return left > 1 ? left : 0;
}

/* Turns of repeat k as one, the others as they are: more of them as long as they gain what their code is worth. Of
 * kernels, which hold some numbers of rows better than others, one that gains nothing may be followed by one that
 * does, two hardly. Where a condition is tested, the turn before it is stored as well: few turns may gain nothing where
 * more do. */
static BlockTime best_time(Arena *a, const Graph *g, const Machine *m, PlanSize size,
                           BlockTime *time, uint32_t k)
{
    enum { MOST = 16 };
    const bool gpu = tessi_machine_is_gpu(m);
    const uint32_t patience = g->repeats.at[k].until.v ? MOST : gpu ? 2 : 1;
    double best = -1;
    BlockTime chosen = { 1, 0 };
    uint32_t in_vain = 0;
    for (uint32_t t = 1; t <= MOST && in_vain < patience; t++) {
        if (!is_tried(g, k + 1, t, gpu))
            continue;
        if (t > 1 && (!is_small(g, k + 1, t) || !tessi_repeat_can_block(g, k + 1, t)))
            break;
        time[k] = (BlockTime){ t, t > 1 ? blocks_left(g, k + 1, t, gpu) : 0 };
        const double now = seconds_of(a, g, m, size, time);
        const double code = log2((double)t / chosen.turns); /* times that it doubles */
        const bool better = best < 0 || now <= pow(gpu ? m->time_gain : m->turns_gain, code) * best;
        best = better ? now : best;
        chosen = better ? time[k] : chosen;
        in_vain = better ? 0 : in_vain + 1;
    }
    return chosen;
}

BlockTime *tessi_plan_times(Arena *a, const Graph *g, const Machine *m, PlanSize size)
{
    BlockTime *time = ARENA_NEW_ARRAY(a, BlockTime, g->repeats.n + 1);
    for (uint32_t k = 0; k < g->repeats.n; k++)
        time[k] = (BlockTime){ 1, 0 };
    for (uint32_t k = 0; k < g->repeats.n; k++)
        time[k] = best_time(a, g, m, size, time, k);
    return time;
}

/* ---- As text --------------------------------------------------------------------------------- */

uint32_t tessi_plan_time_of(const Graph *g, uint32_t number)
{
    const RepeatCount *n = &g->repeats.at[number - 1].count;
    return n->rest ? 1 : (uint32_t)n->by;
}

/* A number that is said of a repeat: of its turns, or behind that of what these leave over. */
static void say_time(const Graph *g, uint32_t number, uint32_t said, BlockTime *time)
{
    const int64_t left = tessi_repeat_left(g, number, time->turns);
    if (time->turns == 1)
        time->turns = said;
    else if (left < 0 ? time->turns % said == 0 : left == said)
        time->left = said;
}

BlockTime *tessi_plan_times_said(Arena *a, const Graph *g, const char *text)
{
    BlockTime *time = ARENA_NEW_ARRAY(a, BlockTime, g->repeats.n + 1);
    for (uint32_t k = 0; k < g->repeats.n; k++)
        time[k] = (BlockTime){ 1, 0 };
    for (const char *line = text; line && *line; line = strchr(line, '\n')) {
        line += strspn(line, " \n");
        if (strncmp(line, "time ", 5) != 0)
            continue;
        const char *name = line + 5 + strspn(line + 5, " ");
        const size_t n = strcspn(name, " \n");
        for (uint32_t k = 0; k < g->repeats.n; k++) {
            const char *own = g->repeats.at[k].name;
            if (strlen(own) != n || strncmp(own, name, n) != 0)
                continue;
            const unsigned long said = strtoul(name + n, NULL, 10);
            if (said > 1 && said <= PLAN_MAX_TIME)
                say_time(g, k + 1, (uint32_t)said, &time[k]);
        }
    }
    return time;
}
