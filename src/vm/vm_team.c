/* The threads of a run: they wait for parallel loops and take iterations, some at a time, until none are left. Each
 * has its own slots; those of the function in hand it takes over from the thread that met the loop. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>

#include "prelude/c.h"
#include "vm/vm_state.h"

enum { MOST_THREADS = 256, SHARES = 8, SPINS = 2000 };

typedef struct Helper {
    VmThread thread;
    VmTeam *team;
    thrd_t id;
} Helper;

struct VmTeam {
    mtx_t lock;
    cnd_t begin, end;
    atomic_uint turn;   /* counts loops; also the end of all */
    atomic_int at_work; /* helpers in the loop in hand */
    bool stops;
    int n;
    /* the loop in hand */
    const VmThread *caller;
    const VmLoop *loop;
    uint32_t first;
    int64_t from, to, share; /* in iterations */
    atomic_llong next;       /* iteration that nobody has taken */
    Helper helper[];
};

static void take_shares(VmTeam *team, VmThread *t)
{
    const VmLoop *loop = team->loop;
    const int64_t unit = loop->step * (loop->strip ? loop->lanes : 1);
    const int64_t n = (team->to - team->from + unit - 1) / unit;
    tessi_vm_enter(t, loop, team->first);
    for (;;) {
        const int64_t i = atomic_fetch_add(&team->next, team->share);
        if (i >= n)
            return;
        const int64_t behind =
            i + team->share < n ? team->from + (i + team->share) * unit : team->to;
        tessi_vm_iterate(t, loop, team->from + i * unit, behind);
    }
}

/* What the loop reads of the function around it. */
static void take_over(VmThread *t, const VmThread *from)
{
    const VmFunction *f = from->function;
    memcpy(t->frame + f->first_byte, from->frame + f->first_byte, f->end_byte - f->first_byte);
    memcpy(t->base, from->base, t->code->p->buffers.n * sizeof *t->base);
    t->function = f;
}

static int help(void *user)
{
    Helper *h = user;
    VmTeam *team = h->team;
    unsigned seen = 0;
    tess_round_to_nearest();
    for (;;) {
        for (int i = 0; i < SPINS && atomic_load(&team->turn) == seen; i++)
            ;
        mtx_lock(&team->lock);
        while (atomic_load(&team->turn) == seen)
            cnd_wait(&team->begin, &team->lock);
        seen = atomic_load(&team->turn);
        const bool stops = team->stops;
        mtx_unlock(&team->lock);
        if (stops)
            return 0;
        take_over(&h->thread, team->caller);
        take_shares(team, &h->thread);
        if (atomic_fetch_sub(&team->at_work, 1) == 1) {
            mtx_lock(&team->lock);
            cnd_signal(&team->end);
            mtx_unlock(&team->lock);
        }
    }
}

static void next_turn(VmTeam *team)
{
    mtx_lock(&team->lock);
    atomic_fetch_add(&team->turn, 1);
    cnd_broadcast(&team->begin);
    mtx_unlock(&team->lock);
}

void tessi_vm_team_run(VmTeam *team, VmThread *caller, const VmLoop *loop, uint32_t first,
                       int64_t from, int64_t to)
{
    const int64_t unit = loop->step * (loop->strip ? loop->lanes : 1);
    const int64_t n = (to - from + unit - 1) / unit, shares = (int64_t)(team->n + 1) * SHARES;
    team->caller = caller;
    team->loop = loop;
    team->first = first;
    team->from = from;
    team->to = to;
    team->share = n / shares ? n / shares : 1;
    atomic_store(&team->next, 0);
    caller->is_alone = true;
    if (n > 1) {
        atomic_store(&team->at_work, team->n);
        next_turn(team);
    }
    take_shares(team, caller);
    for (int i = 0; i < SPINS && atomic_load(&team->at_work); i++)
        ;
    mtx_lock(&team->lock);
    while (atomic_load(&team->at_work))
        cnd_wait(&team->end, &team->lock);
    mtx_unlock(&team->lock);
    caller->is_alone = false;
}

static bool add_helper(VmTeam *team, const VmRun *run)
{
    Helper *h = &team->helper[team->n];
    *h = (Helper){ .team = team };
    if (!tessi_vm_thread_init(&h->thread, run))
        return false;
    h->thread.is_alone = true;
    if (thrd_create(&h->id, help, h) == thrd_success) {
        team->n++;
        return true;
    }
    tessi_vm_thread_dispose(&h->thread);
    return false;
}

VmTeam *tessi_vm_team_start(const VmRun *run, int threads)
{
    threads = threads < MOST_THREADS ? threads : MOST_THREADS;
    VmTeam *team =
        threads > 1 ? calloc(1, sizeof *team + (size_t)threads * sizeof *team->helper) : NULL;
    if (!team)
        return NULL;
    const bool locks = mtx_init(&team->lock, mtx_plain) == thrd_success;
    const bool begins = locks && cnd_init(&team->begin) == thrd_success;
    if (begins && cnd_init(&team->end) == thrd_success) {
        while (team->n < threads - 1 && add_helper(team, run))
            ;
        return team;
    }
    if (begins)
        cnd_destroy(&team->begin);
    if (locks)
        mtx_destroy(&team->lock);
    free(team);
    return NULL;
}

void tessi_vm_team_end(VmTeam *team)
{
    if (!team)
        return;
    team->stops = true;
    next_turn(team);
    for (int i = 0; i < team->n; i++) {
        thrd_join(team->helper[i].id, NULL);
        tessi_vm_thread_dispose(&team->helper[i].thread);
    }
    cnd_destroy(&team->begin);
    cnd_destroy(&team->end);
    mtx_destroy(&team->lock);
    free(team);
}
