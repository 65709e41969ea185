/* The values of each row of the window are sorted, then rows merged two by two, pairs of rows again, and so on: all
 * this is shared by the windows above and below, where several rows of results are computed together. The last merge
 * is not carried out; the middle, or the element of another rank, of two sorted lists needs a maximum and a minimum for
 * each value of the shorter one. What it does not need of the merges before is asked for by nobody, and so not
 * computed. */
#include "graph/graph_network.h"

#define LEAST    false
#define GREATEST true

static uint32_t chosen(const Network *net, bool greatest, uint32_t a, uint32_t b)
{
    return net->choose(net->user, greatest, a, b);
}

/* Elements `from`, from + 2, .. */
static NetworkRun every_second(const Network *net, NetworkRun r, uint32_t from)
{
    NetworkRun half = { .at = ARENA_NEW_ARRAY(net->arena, uint32_t, r.n) };
    for (uint32_t i = from; i < r.n; i += 2)
        half.at[half.n++] = r.at[i];
    return half;
}

/* Batcher's odd-even merge of two runs in order. */
static NetworkRun merged(const Network *net, NetworkRun a, NetworkRun b)
{
    if (!a.n || !b.n)
        return a.n ? a : b;
    NetworkRun out = { .at = ARENA_NEW_ARRAY(net->arena, uint32_t, a.n + b.n) };
    if (a.n == 1 && b.n == 1) {
        out.at[out.n++] = chosen(net, LEAST, a.at[0], b.at[0]);
        out.at[out.n++] = chosen(net, GREATEST, a.at[0], b.at[0]);
        return out;
    }
    NetworkRun even = merged(net, every_second(net, a, 0), every_second(net, b, 0));
    NetworkRun odd = merged(net, every_second(net, a, 1), every_second(net, b, 1));
    out.at[out.n++] = even.at[0];
    for (uint32_t i = 0; i < odd.n || i + 1 < even.n; i++) {
        if (i >= odd.n) {
            out.at[out.n++] = even.at[i + 1];
        } else if (i + 1 >= even.n) {
            out.at[out.n++] = odd.at[i];
        } else {
            out.at[out.n++] = chosen(net, LEAST, odd.at[i], even.at[i + 1]);
            out.at[out.n++] = chosen(net, GREATEST, odd.at[i], even.at[i + 1]);
        }
    }
    return out;
}

/* The largest power of two less than n: whatever stands at the front of a list is grouped as windows above and below
 * group it. */
static uint32_t front(uint32_t n)
{
    uint32_t p = 1;
    while (2 * p < n)
        p *= 2;
    return p;
}

static NetworkRun sorted(const Network *net, NetworkRun r)
{
    if (r.n < 2)
        return r;
    uint32_t n = front(r.n);
    NetworkRun first = { n, r.at }, second = { r.n - n, r.at + n };
    return merged(net, sorted(net, first), sorted(net, second));
}

static NetworkRun sorted_runs(const Network *net, const NetworkRun *run, uint32_t n)
{
    if (n == 1)
        return sorted(net, run[0]);
    uint32_t p = front(n);
    return merged(net, sorted_runs(net, run, p), sorted_runs(net, run + p, n - p));
}

/* The element `rank` of two runs in order: the first of both that has rank + 1 elements up to it. */
static uint32_t select_of(const Network *net, NetworkRun a, NetworkRun b, uint32_t rank)
{
    uint32_t found = 0;
    for (uint32_t of_b = 0; of_b <= b.n && of_b <= rank + 1; of_b++) {
        uint32_t of_a = rank + 1 - of_b;
        if (of_a > a.n)
            continue;
        uint32_t last = !of_b   ? a.at[of_a - 1]
                        : !of_a ? b.at[of_b - 1]
                                : chosen(net, GREATEST, a.at[of_a - 1], b.at[of_b - 1]);
        found = found ? chosen(net, LEAST, found, last) : last;
    }
    return found;
}

uint32_t tessi_network_rank(const Network *net, const NetworkRun *run, uint32_t n_runs,
                            uint32_t rank)
{
    NetworkRun a, b;
    if (n_runs == 1) {
        const uint32_t values = run[0].n, n = values / 2;
        a = sorted(net, (NetworkRun){ values - n, run[0].at });
        b = sorted(net, (NetworkRun){ n, run[0].at + values - n });
    } else {
        uint32_t p = front(n_runs);
        a = sorted_runs(net, run, p);
        b = sorted_runs(net, run + p, n_runs - p);
    }
    return select_of(net, a, b, rank);
}

uint32_t tessi_network_middle(const Network *net, const NetworkRun *run, uint32_t n_runs)
{
    uint32_t values = 0;
    for (uint32_t i = 0; i < n_runs; i++)
        values += run[i].n;
    return tessi_network_rank(net, run, n_runs, values / 2);
}

/* ---- How much it is -------------------------------------------------------------------------- */

typedef struct Choice {
    uint32_t arg[2];
    bool needed;
} Choice;

typedef struct Choices {
    Arena *arena;
    uint32_t values; /* numbers up to it are given */
    VEC(Choice) at;
} Choices;

static uint32_t note(void *user, bool greatest, uint32_t a, uint32_t b)
{
    Choices *c = user;
    const Choice one = { .arg = { a, b } };
    (void)greatest;
    VEC_PUSH(c->arena, &c->at, one);
    return c->values + c->at.n;
}

uint32_t tessi_network_size(Arena *a, const uint32_t *values, uint32_t n_runs)
{
    Choices c = { .arena = a };
    NetworkRun *run = ARENA_NEW_ARRAY(a, NetworkRun, n_runs);
    for (uint32_t i = 0; i < n_runs; i++) {
        run[i] = (NetworkRun){ values[i], ARENA_NEW_ARRAY(a, uint32_t, values[i]) };
        for (uint32_t k = 0; k < values[i]; k++)
            run[i].at[k] = ++c.values;
    }
    const Network net = { a, note, &c };
    uint32_t id = tessi_network_middle(&net, run, n_runs), size = 0;
    for (uint32_t i = c.at.n; i; i--) {
        const Choice *one = &c.at.at[i - 1];
        if (c.values + i != id && !one->needed)
            continue;
        size++;
        for (int k = 0; k < 2; k++)
            if (one->arg[k] > c.values)
                c.at.at[one->arg[k] - c.values - 1].needed = true;
    }
    return size;
}
