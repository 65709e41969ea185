/* Inside tuning: the search (tune.c), and how plans become running code: as C on this machine (tune_c.c), as kernels
 * on a device (tune_gpu.c). */
#ifndef TESSERA_API_TUNE_H
#define TESSERA_API_TUNE_H

#include "api/gpu.h"
#include "base/rounding.h"

enum { TUNE_MOST_AT_ONCE = 8 };

typedef struct Tuner Tuner;

/* A plan to be measured. Plans live in the tuner's arena, what is made of them in their own. */
typedef struct Candidate {
    Tuner *tuner;
    Plan *plan;
    StageId about;
    const char *change;
    uint64_t hash; /* of the plan without reasons */
    double predicted;
    bool compiled;
    Failure failure;
    const LoopProgram *loops;
    /* C: */
    Arena arena;
    bool has_arena;
    const char *c_text;
    RtModule module;
    ModuleEntry entry;
    /* Kernels: */
    Variant *variant;
    tess_args *args;
    int launches; /* of one sample */
} Candidate;

/* How candidates are compiled and measured. */
struct TuneLane {
    uint32_t at_once; /* candidates compiled together, at most */
    /* Whatever the first candidate needs: sets what a run would use. */
    bool (*open)(Tuner *t);
    bool (*make)(Tuner *t, Candidate *c); /* loops and whatever compiling needs, or `failure` */
    /* Sets `compiled`, or `failure`. In a thread of its own: touches nothing but the candidate. */
    void (*compile)(Candidate *c);
    /* What may fail of a candidate once it is compiled, with `failure`. */
    bool (*prepare)(Tuner *t, Candidate *c);
    /* A run whose results can be looked at, and one to be timed. */
    bool (*run)(Tuner *t, Candidate *c, InterpImage *results);
    bool (*sample)(Tuner *t, Candidate *c, double *ms);
    void (*drop)(Tuner *t, Candidate *c); /* what is made of the plan */
};

struct Tuner {
    tess_program *p;
    Variant *v;
    tess_args *a;
    tess_tuning *t;
    Rounding callers;
    Run run;          /* of the plan that the planner chose */
    PlannedSize from; /* that plan, and the graph that all plans tried are of */
    const TuneLane *lane;
    Arena arena;
    Binding binding;
    InterpImage *expected, *results; /* of the chosen plan, and of the candidate in hand */
    void **memory;                   /* theirs */
    double end_ms;                   /* of the clock */
    double compile_ms;               /* the longest compilation so far */
    double first_ms;       /* the first run of the chosen plan, with what only the first does */
    double most_predicted; /* seconds: what is expected to take longer is not tried; 0 = no limit */
    int given_up;          /* candidates whose first run showed that they are far slower */
    IdMap tried;           /* plan to number in `ms` */
    VEC(double) ms;        /* at[0] unused; 0 = not measured */
    VEC(Candidate) queue;  /* the most promising one last */
    Candidate chosen; /* by the planner: kept when a better one is found, for the last comparison */
    Candidate best;
};

#endif
