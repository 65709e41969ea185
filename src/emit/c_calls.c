/* Calls of functions, or launches of kernels, in their order: those of repeats in a loop over the turns. */
#include "emit/c_file.h"

/* Those of one version, if there are any: `which` is a number whose remainder says whether it is its turn. */
static void put_version(CWriter *w, const CCalls *calls, const LPlace *now, const char *which,
                        bool *again)
{
    const uint32_t versions = w->p->repeats.at[now->repeat - 1].n_versions;
    bool any = false;
    for (uint32_t i = 0; i < calls->n; i++) {
        const LPlace own = calls->place(calls->user, i);
        if (own.repeat != now->repeat || own.version != now->version || own.once != now->once)
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

/* Those of a repeat, the first of which is given. */
static void put_turns(CWriter *w, const CCalls *calls, uint32_t repeat)
{
    const LRepeat *r = &w->p->repeats.at[repeat - 1];
    const char *turns = tessi_c_name(w->names, "turns"), *left = tessi_c_name(w->names, "left");
    const LExprId sizes[] = { r->turns, r->behind };
    tessi_c_prepare(w, sizes, r->behind.v ? 2 : 1);
    const char *end = r->behind.v ? tessi_c_name(w->names, "behind") : "0";
    if (r->behind.v)
        tessi_c_line(w, "const ptrdiff_t %s = %s;", end, tessi_c_printed(w, r->behind).text);
    tessi_c_line(w, "const ptrdiff_t %s = %s%s%s;", turns, tessi_c_printed(w, r->turns).text,
                 r->behind.v ? " + " : "", r->behind.v ? end : "");
    for (int once = 1; once >= 0; once--) {
        bool again = false;
        if (!once) {
            tessi_c_line(w, "for (ptrdiff_t %s = %s; %s-- > %s;) {", left, turns, left, end);
            w->indent++;
        }
        for (uint32_t k = 0; k < r->n_versions; k++) {
            const LPlace now = { repeat, k, once == 1 };
            put_version(w, calls, &now, once ? turns : left, &again);
        }
        if (again)
            tessi_c_line(w, "}");
    }
    w->indent--;
    tessi_c_line(w, "}");
}

void tessi_c_calls(CWriter *w, const CCalls *calls)
{
    uint32_t last = 0;
    for (uint32_t i = 0; i < calls->n; i++) {
        const uint32_t repeat = calls->place(calls->user, i).repeat;
        if (!repeat)
            calls->put(calls->user, i);
        else if (repeat != last)
            put_turns(w, calls, repeat);
        last = repeat;
    }
}
