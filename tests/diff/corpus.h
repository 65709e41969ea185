/* Running one program of the corpus at given sizes on given targets and comparing the results. */
#ifndef TESSERA_TESTS_DIFF_CORPUS_H
#define TESSERA_TESTS_DIFF_CORPUS_H

#include "base/scalar.h"
#include "loop/loop.h"
#include "plan/plan.h"
#include "tessera.h"

enum { CORPUS_MOST_PARAMS = 8, CORPUS_MOST_IMAGES = 16, CORPUS_MOST_SETS = 16 };

/* The `//!` lines of a program (tests/corpus/README.md). */
typedef struct CorpusInput {
    const char *name, *values; /* values: the words after `=` */
} CorpusInput;
typedef struct CorpusExpect {
    int output; /* from 0 */
    const char *values;
} CorpusExpect;
typedef struct CorpusCase {
    const char *path, *text;
    size_t n;
    int64_t sizes[CORPUS_MOST_PARAMS];
    int n_sizes;
    int64_t min_size;
    bool fixed_size, ill_conditioned;
    tess_constant set[CORPUS_MOST_SETS];
    int n_set;
    CorpusInput input[CORPUS_MOST_IMAGES];
    int n_inputs;
    CorpusExpect expect[CORPUS_MOST_IMAGES * 4];
    int n_expect;
    struct CorpusKept *kept; /* NULL: each run compiles */
} CorpusCase;

/* Paths of all programs of tests/corpus in alphabetical order; returns their number. */
int corpus_list(Arena *a, char **paths, int most);
/* The same, or those that are given, if there are some. */
int corpus_cases(Arena *a, char **given, int n_given, char **paths, int most);

/* Whether it is the turn of program `number`, of one in `turns`: another commit has others (TESSERA_TEST_PART of
 * build.sh), and TESSERA_ALL=1 all. */
bool corpus_turn(int number, int turns);

/* The same for all of `paths`; and of each border rule and type of pixels that those lack, one more program. */
void corpus_turns(char **paths, int n, int turns, bool *taken);

/* Reads and takes apart a file; everything is allocated in `a`. */
void corpus_read(Arena *a, const char *path, CorpusCase *c);

/* A program of the corpus, compiled for one target, with arguments of one size. Memory of images lies in rows with
 * padding that holds a pattern, so that a write outside shows. */
typedef struct CorpusRun {
    tess_program *program;
    bool is_kept; /* the program, for other runs */
    tess_args *args;
    DLTensor *in[CORPUS_MOST_IMAGES], *out[CORPUS_MOST_IMAGES];
    int n_in, n_out;
} CorpusRun;
typedef struct CorpusSetting {
    tess_target target;
    tess_fp fp;
    const char *plan;     /* text or NULL */
    const char *machine;  /* likewise */
    const char *cache;    /* folder, "" or NULL, as in tess_options */
    const int64_t *sizes; /* one for each size parameter */
    bool expected_inputs; /* the `input` lines count; else random elements from `seed` */
    uint64_t seed;
    bool padded;
} CorpusSetting;
/* Compiles and binds; runs that. Both: false with a sentence in `why` when it does not compile or run. `run` must be
 * closed in any case. */
bool corpus_prepare(const CorpusCase *c, const CorpusSetting *s, CorpusRun *run, Text *why);
bool corpus_execute(const CorpusRun *run, Text *why);
bool corpus_run(const CorpusCase *c, const CorpusSetting *s, CorpusRun *run, Text *why);
void corpus_close(CorpusRun *run);

/* Runs of the case from here on share what they compile alike, unless sizes decide about it; until corpus_forget,
 * behind which no run may be open. */
typedef struct CorpusProgram {
    tess_target target;
    tess_fp fp;
    const char *plan, *machine;
    tess_program *program;
} CorpusProgram;
typedef struct CorpusKept {
    Arena arena;
    VEC(CorpusProgram) programs;
} CorpusKept;
void corpus_keep(CorpusCase *c, CorpusKept *kept);
void corpus_forget(CorpusKept *kept);

/* The size parameters that the program declares, in order; returns their number. */
typedef struct CorpusNames {
    char at[CORPUS_MOST_PARAMS][32];
} CorpusNames;
int corpus_param_names(const CorpusCase *c, CorpusNames *names);
int corpus_params(const CorpusCase *c); /* their number */
/* n sizes from four that come again and again, none of them less than the program allows. */
void corpus_sizes(const CorpusCase *c, int n, const int64_t *some, int64_t *sizes);
/* The program with numbers in the place of its parameters; allocated in `a`. */
void corpus_literal(Arena *a, const CorpusCase *c, const int64_t *sizes, CorpusCase *literal);

/* Element type of a tensor; false for one that no scalar type has. */
bool corpus_type(const DLTensor *t, ScalarType *type);
/* Whether both runs gave the same shapes and bits, and left the padding alone. */
bool corpus_same(const CorpusRun *a, const CorpusRun *b, Text *why);
/* Whether the `expect` lines hold. */
bool corpus_expected(const CorpusCase *c, const CorpusRun *run, Text *why);

/* One of these texts of plans says the same, but for its reasons. */
bool corpus_has_plan(const char *const *plans, int n, const char *plan);

/* Makes the machine a large device, for which plans have tiles through shared memory and warps where the default one
 * is given none. */
Machine *corpus_large_gpu(Machine *m);

/* corpus_range.c: whether all index arithmetic of a run with these parameters stays within 32 bits. */
bool corpus_fits_32(Arena *a, const LoopProgram *p, const int64_t *params);

#endif
