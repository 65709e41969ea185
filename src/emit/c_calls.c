/* Calls of functions, or launches of kernels, in their order: those of repeats in a loop over the turns, which a
 * condition may end. */
#include "emit/c_file.h"

/* Those of one version, if there are any: `which` is a number whose remainder says whether it is its turn. */
static void put_version(CWriter *w, const CCalls *calls, const LPlace *now, const char *which,
                        bool *again)
{
    const uint32_t versions = w->p->repeats.at[now->repeat - 1].n_versions;
    bool any = false;
    for (uint32_t i = 0; i < calls->n; i++) {
        const LPlace own = calls->place(calls->user, i);
        if (own.repeat != now->repeat || own.version != now->version || own.when != now->when)
            continue;
        if (!any)
            tessi_c_line(w, "%sif (%s %% %u == %u) {", *again ? "} else " : "", which,
                         (unsigned)versions, (unsigned)own.version);
        any = *again = true;
        w->indent++;
        calls->put(calls->user, i);
        w->indent--;
    }
}

/* All versions of what is due at this time. */
static void put_when(CWriter *w, const CCalls *calls, uint32_t repeat, LWhen when,
                     const char *which)
{
    bool again = false;
    for (uint32_t k = 0; k < w->p->repeats.at[repeat - 1].n_versions; k++) {
        const LPlace now = { repeat, k, when };
        put_version(w, calls, &now, which, &again);
    }
    if (again)
        tessi_c_line(w, "}");
}

/* Variables of the function that calls. */
typedef struct Turns {
    const char *all, *left, *end; /* turns, and those that are left now and behind the last one */
    const char *met;              /* the condition of the loop held; NULL: it has none */
} Turns;

static void define_turns(CWriter *w, const LRepeat *r, Turns *t)
{
    t->all = tessi_c_name(w->names, "turns");
    t->left = tessi_c_name(w->names, "left");
    t->end = r->behind.v ? tessi_c_name(w->names, "behind") : "0";
    const LExprId sizes[] = { r->turns, r->behind };
    tessi_c_prepare(w, sizes, r->behind.v ? 2 : 1);
    if (r->behind.v)
        tessi_c_line(w, "const ptrdiff_t %s = %s;", t->end, tessi_c_printed(w, r->behind).text);
    CText turns = tessi_c_printed(w, r->turns);
    if (r->unless_met)
        turns = (CText){ tessi_sprintf(w->arena, "%s ? 0 : %s", t->met, turns.text), C_LOOSE };
    if (r->behind.v)
        turns = tessi_c_join(w, turns, "+", tessi_c_word(t->end));
    tessi_c_line(w, "const ptrdiff_t %s = %s;", t->all, turns.text);
}

/* Asks the condition after the turn, and leaves the loop if it holds. */
static void put_test(CWriter *w, const CCalls *calls, uint32_t repeat, const Turns *t)
{
    const LRepeat *r = &w->p->repeats.at[repeat - 1];
    const bool always = r->every == 1;
    if (!always) {
        tessi_c_line(w, "if ((%s - %s) %% %u == 0) {", t->all, t->left, (unsigned)r->every);
        w->indent++;
    }
    put_when(w, calls, repeat, LWHEN_TEST, t->left);
    calls->ask(calls->user, r->until, t->met);
    if (always)
        return;
    w->indent--;
    tessi_c_line(w, "}");
}

/* What follows the turn after which the condition held. */
static void put_met(CWriter *w, const CCalls *calls, uint32_t repeat, const Turns *t)
{
    bool any = false;
    for (uint32_t i = 0; i < calls->n; i++) {
        const LPlace place = calls->place(calls->user, i);
        any = any || (place.repeat == repeat && place.when == LWHEN_MET);
    }
    if (!any)
        return;
    tessi_c_line(w, "if (%s) {", t->met);
    w->indent++;
    put_when(w, calls, repeat, LWHEN_MET, t->left);
    w->indent--;
    tessi_c_line(w, "}");
}

/* Those of a repeat, the first of which is given. */
static void put_turns(CWriter *w, const CCalls *calls, uint32_t repeat, Turns *t)
{
    const LRepeat *r = &w->p->repeats.at[repeat - 1];
    define_turns(w, r, t);
    put_when(w, calls, repeat, LWHEN_ONCE, t->all);
    if (r->until.v) {
        t->met = tessi_c_name(w->names, "met");
        tessi_c_line(w, "unsigned char %s = 0;", t->met);
        tessi_c_line(w, "ptrdiff_t %s = %s;", t->left, t->all);
        tessi_c_line(w, "while (%s > %s && !%s) {", t->left, t->end, t->met);
        w->indent++;
        tessi_c_line(w, "%s--;", t->left);
    } else {
        tessi_c_line(w, "for (ptrdiff_t %s = %s; %s-- > %s;) {", t->left, t->all, t->left, t->end);
        w->indent++;
    }
    put_when(w, calls, repeat, LWHEN_TURN, t->left);
    if (r->until.v)
        put_test(w, calls, repeat, t);
    w->indent--;
    tessi_c_line(w, "}");
    if (r->until.v)
        put_met(w, calls, repeat, t);
    if (r->loop && calls->ended)
        calls->ended(calls->user, r,
                     tessi_sprintf(w->arena, "(%s - %s)", t->all, r->until.v ? t->left : t->end),
                     t->met);
}

void tessi_c_calls(CWriter *w, const CCalls *calls)
{
    uint32_t last = 0;
    Turns turns = { .met = NULL };
    for (uint32_t i = 0; i < calls->n; i++) {
        const uint32_t repeat = calls->place(calls->user, i).repeat;
        if (!repeat)
            calls->put(calls->user, i);
        else if (repeat != last)
            put_turns(w, calls, repeat, &turns);
        last = repeat;
    }
}
