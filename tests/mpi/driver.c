/* Runs programs of the corpus as tessera-mpi does and as tessera does, many in a start of MPI, and compares the files:
 *
 *     mpirun -n 4 driver FOLDER EVERY      every so many of them; files go to the folder */
#define main tessera_mpi
#include "cli/mpi.c" /* all that makes a team */
#undef main

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include "diff/corpus.h"
#include "rt/file.h"
#include "rt/image.h"
#include "support.h"

enum { MOST_CASES = 2000, MOST_WORDS = 80 };

typedef struct Command {
    char *word[MOST_WORDS];
    int n;
} Command;

static void add(Command *c, Arena *a, const char *fmt, ...)
{
    char text[1000];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    c->word[c->n++] = strcpy(ARENA_NEW_ARRAY(a, char, strlen(text) + 1), text);
}

/* Rank 0 stores what the program is run on, and says how. */
static bool prepare(Arena *a, const char *path, const char *folder, Command *command, int *n_out)
{
    static const int64_t sizes[CORPUS_MOST_PARAMS] = { 23, 17, 5, 3, 4, 4, 4, 4 };
    int64_t own[CORPUS_MOST_PARAMS];
    CorpusCase c;
    CorpusNames names;
    CorpusRun run;
    Text why = tessi_text_new(a);
    corpus_read(a, path, &c);
    const int n_params = corpus_param_names(&c, &names);
    for (int i = 0; i < n_params; i++)
        own[i] = c.fixed_size ? c.sizes[i] : sizes[i] < c.min_size ? c.min_size : sizes[i];
    const CorpusSetting s = { .target = TESS_TARGET_INTERP, .sizes = own, .seed = 3 };
    bool ok = corpus_run(&c, &s, &run, &why);
    add(command, a, "tessera-mpi");
    add(command, a, "run");
    add(command, a, "%s", path);
    add(command, a, "--target=interp");
    add(command, a, "--quiet");
    for (size_t i = 0, image = 0; ok && i < tess_program_inputs(run.program); i++) {
        tess_info info = { .struct_size = sizeof info };
        tess_program_input(run.program, i, &info);
        const bool is_image = info.kind == TESS_IMAGE || info.kind == TESS_MASK;
        double value = info.has_range && info.lo > 1 ? info.lo : 1;
        bool set = !info.has_default;
        for (int k = 0; k < n_params; k++)
            if (strcmp(names.at[k], info.name) == 0)
                value = (double)own[k], set = true;
        for (int k = 0; k < c.n_set; k++)
            if (strcmp(c.set[k].name, info.name) == 0)
                value = c.set[k].value, set = true;
        if (is_image) {
            char file[600];
            snprintf(file, sizeof file, "%s/in%zu.npy", folder, image);
            add(command, a, "%s=%s", info.name, file);
            ok = tess_image_write_result(file, run.in[image++], &info, NULL, NULL, 0) == TESS_OK;
        } else if (set) {
            add(command, a, "%s=%.17g", info.name, value);
        }
    }
    *n_out = ok ? (int)tess_program_outputs(run.program) : 0;
    corpus_close(&run);
    return ok;
}

static int run_tool(const Command *c, Arena *a, const char *folder, const char *name,
                    const char *suffix, int n_out, Team *team)
{
    Command all = *c;
    for (int o = 0; o < n_out; o++)
        add(&all, a, "-o%s/%s%d%s", folder, name, o, suffix);
    return cli_main(all.n, all.word, team);
}

/* The same values: a median of several NaN may be any of them. */
static bool same_values(const char *path, const char *others)
{
    RtImage a = { 0 }, b = { 0 };
    RtRequest want = tessi_request_as_stored(), again = want;
    Failure f = { 0 };
    bool same = tessi_image_read(path, &want, &a, &f) && tessi_image_read(others, &again, &b, &f)
                && a.dtype == b.dtype && a.bytes == b.bytes;
    const size_t size = same ? tessi_type_info(a.dtype)->bytes : 1;
    for (size_t i = 0; same && i < a.bytes; i += size)
        same = tessi_value_same(a.dtype, tessi_load_element(a.dtype, (char *)a.data + i),
                                tessi_load_element(b.dtype, (char *)b.data + i));
    tessi_image_dispose(&a);
    tessi_image_dispose(&b);
    return same;
}

static bool same_file(const char *folder, const char *suffix, int o)
{
    char path[600], others[600];
    uint8_t *a = NULL, *b = NULL;
    size_t n = 0, m = 0;
    snprintf(path, sizeof path, "%s/one%d%s", folder, o, suffix);
    snprintf(others, sizeof others, "%s/all%d%s", folder, o, suffix);
    const bool same = tessi_file_read(path, 0, &a, &n, NULL)
                      && tessi_file_read(others, 0, &b, &m, NULL) && n == m
                      && (memcmp(a, b, n) == 0 || same_values(path, others));
    free(a);
    free(b);
    unlink(path);
    unlink(others);
    return same;
}

/* What rank 0 says reaches all. */
static void tell(Command *c, Arena *a, int *n_out, int rank)
{
    MPI_Bcast(&c->n, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Bcast(n_out, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0, n = c->n; i < n; i++) {
        char text[1000] = "";
        if (rank == 0)
            strcpy(text, c->word[i]);
        MPI_Bcast(text, sizeof text, MPI_CHAR, 0, MPI_COMM_WORLD);
        if (rank) {
            c->n = i;
            add(c, a, "%s", text);
        }
    }
}

/* Rank 0 runs it alone, to a format that takes what it gives. */
static bool run_alone(Command *c, Arena *a, const char *path, const char *folder, int turn,
                      const char **suffix, int *n_out)
{
    static const char *const formats[] = { ".npy", ".tif", ".png", ".pgm", ".csv" };
    Said said = { 0 };
    if (!prepare(a, path, folder, c, n_out))
        return false;
    *suffix = formats[turn % 5];
    cli_collect(&said, NULL); /* what a format does not take */
    bool ok = run_tool(c, a, folder, "one", *suffix, *n_out, NULL) == EXIT_OK;
    cli_collect(NULL, NULL);
    free(said.text);
    free(said.shown);
    if (!ok) {
        *suffix = formats[0];
        ok = run_tool(c, a, folder, "one", *suffix, *n_out, NULL) == EXIT_OK;
    }
    return ok;
}

/* 1: the files are the same; 0: they differ; -1: the program does not run in one process either. */
static int run_case(const char *path, const char *folder, int turn, Team *team)
{
    Arena a;
    Command c = { .n = 0 };
    int n_out = 0, result = -1;
    const char *suffix = "";
    support_arena_init(&a);
    if (team->rank == 0 && !run_alone(&c, &a, path, folder, turn, &suffix, &n_out))
        c.n = 0;
    int n = c.n;
    MPI_Bcast(&n, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (n) {
        add(&c, &a, "%s", suffix);
        tell(&c, &a, &n_out, team->rank);
        suffix = c.word[--c.n];
        team->failed = false;
        result = run_tool(&c, &a, folder, "all", suffix, n_out, team) == EXIT_OK;
        for (int o = 0; team->rank == 0 && o < n_out; o++)
            result = same_file(folder, suffix, o) && result;
        if (team->rank == 0 && !result)
            fprintf(stderr, "%s differs with %d processes (%s)\n", path, team->size, suffix);
    }
    tessi_arena_dispose(&a);
    return result;
}

int main(int argc, char **argv)
{
    Team team;
    Arena a;
    char *paths[MOST_CASES];
    int n_run = 0, n_failed = 0, n_not = 0;
    support_arena_init(&a);
    if (!begin_team(&argc, &argv, &team) || argc < 3)
        return EXIT_USAGE;
    const int n = corpus_list(&a, paths, MOST_CASES), every = atoi(argv[2]);
    for (int i = every / 2; i < n; i += every) {
        const int result = run_case(paths[i], argv[1], i, &team);
        n_run += result >= 0;
        n_failed += result == 0;
        n_not += result < 0;
    }
    printf("%d programs in %d processes, %d differ, %d do not run\n", n_run, team.size, n_failed,
           n_not);
    tessi_arena_dispose(&a);
    fflush(stdout);
    MPI_Finalize();
    return team.rank == 0 && n_failed ? EXIT_DIAGNOSED : EXIT_OK;
}
