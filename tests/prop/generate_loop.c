/* Loops of random programs: how a stencil is repeated, and the line with which its loop begins. */
#include <stdio.h>

#include "prop/generate.h"

enum { GEN_ENDS = 8 };

/* Which points are valid may be a matter of the first turns; such loops are not repeats. */
static bool has_holes(const GenProgram *p, const GenStage *s)
{
    bool any = false;
    for (int i = 0; i < s->n_args; i++)
        any = any || s->arg[i].missing || p->image[s->arg[i].image].holes;
    return any;
}

void gen_choose_loop(const GenProgram *p, GenStage *s, uint64_t *rng)
{
    s->counted = gen_chance(rng, 40);
    s->down = !s->counted && gen_chance(rng, 30);
    s->until = gen_chance(rng, 50) ? gen_between(rng, 1, GEN_ENDS) : 0;
    s->every = gen_chance(rng, 40) ? 1 : gen_between(rng, 2, 5);
    s->lag = gen_chance(rng, 35) && s->strukt < 0 && s->type != GEN_UNKNOWN && s->type != GEN_BOOL
             && s->type != GEN_F16;
    s->asked = gen_chance(rng, 50);
    if (has_holes(p, s)) {
        s->counted = false;
        s->until = 0;
    }
    if (gen_chance(rng, 40))
        s->times = gen_between(rng, s->counted ? 1 : 2, 14);
}

void gen_loop_head(const GenProgram *p, int k, char *out, size_t n)
{
    /* between them stand member i and the one before it */
    static const char *const ends[GEN_ENDS][3] = {
        { "maximum(", ") > 50", NULL },  { "!(minimum(", ") >= 0)", NULL },
        { "count(", " != ", ") == 0" },  { "count(", " > ", ") > 3" },
        { "total(", ") > total(", ")" }, { "mean(", ") < 3.5 || count(", ") < 5" },
        { "mean(", ") > 2", NULL },      { "minimum(", ") < maximum(", ") && true" }
    };
    const GenStage *s = &p->stage[k];
    const char *field = p->image[GEN_INPUTS + k].strukt >= 0 ? ".c0" : "";
    const char *const *end = s->until ? ends[s->until - 1] : NULL;
    char bounds[40], here[24], before[24];
    if (s->counted)
        snprintf(bounds, sizeof bounds, "2..n%d", k);
    else
        snprintf(bounds, sizeof bounds, "%d..%d", s->down ? s->times : 2, s->down ? 2 : s->times);
    snprintf(here, sizeof here, "x%d<i>%s", k, field);
    snprintf(before, sizeof before, "x%d<i%+d>%s", k, s->down ? 1 : -1, field);
    if (!end)
        snprintf(out, n, "for i = %s", bounds);
    else
        snprintf(out, n, "for i = %s until %s%s%s%s%s every %d", bounds, end[0], here, end[1],
                 end[2] ? before : "", end[2] ? end[2] : "", s->every);
}

const char *gen_last_member(const GenProgram *p, int k, char text[16])
{
    const GenStage *s = &p->stage[k];
    if (s->counted)
        snprintf(text, 16, "n%d", k);
    else
        snprintf(text, 16, "%d", s->down ? 2 : s->times);
    return text;
}

bool gen_asks_turns(const GenProgram *p, int image)
{
    const GenStage *s = image >= GEN_INPUTS ? &p->stage[image - GEN_INPUTS] : NULL;
    return s && s->repeat == REPEAT_FOR && s->asked;
}
