/* tessera bench --audit: every program of a folder on inputs that are made for it. What the cost model expected of
 * the chosen plan and of some others, what they took, and the bound that no plan goes below. With --verify their
 * results are compared with the interpreter's instead. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/bench.h"

enum { USUAL_SIDE = 2048, USUAL_PLANS = 3, MOST_PLANS = 64, MOST_WORDS = 64, WORD = 128 };
static const double USUAL_SECONDS = 10, LEAST_GOOD = 0.75, MOST_GOOD = 1.33;

typedef struct AuditPlan {
    char *text;
    double predicted, ms;
} AuditPlan;

typedef struct Row {
    char name[256];
    char words[MOST_WORDS][WORD]; /* as on a command line: sizes and numbers */
    const char *word[MOST_WORDS];
    size_t n_words;
    tess_estimate estimate;
    AuditPlan plan[MOST_PLANS]; /* the chosen one first */
    size_t n_plans;
    double chosen, best; /* milliseconds, compared at the end */
} Row;

/* ---- Inputs ---------------------------------------------------------------------------------- */

/* NUMBER or S, and * or / more of these, from left to right; false on anything else. */
static bool evaluate(const char *at, size_t n, int side, long long *value)
{
    char sign = '*';
    const char *end = at + n;
    *value = 1;
    for (;;) {
        long long factor = side;
        if (at < end && isdigit((unsigned char)*at)) {
            char *after;
            factor = strtoll(at, &after, 10);
            at = after;
        } else if (at < end && *at == 'S') {
            at++;
        } else {
            return false;
        }
        if ((sign == '/' && factor == 0) || factor > 1 << 30 || *value > 1 << 30)
            return false;
        *value = sign == '*' ? *value * factor : *value / factor;
        if (at == end)
            return true;
        sign = *at++;
        if (sign != '*' && sign != '/')
            return false;
    }
}

/* One word of an audit line: NAME=EXPRESSION of sizes, or whatever else a run takes. */
static bool add_word(Row *row, const char *word, size_t n, int side)
{
    const char *equals = memchr(word, '=', n);
    long long value;
    if (row->n_words == MOST_WORDS || n >= WORD)
        return cli_fail("%s: its audit line is too long", row->name), false;
    char *out = row->words[row->n_words];
    row->word[row->n_words++] = out;
    const size_t name = equals ? (size_t)(equals + 1 - word) : 0;
    if (equals && evaluate(equals + 1, n - name, side, &value))
        snprintf(out, WORD, "%.*s%lld", (int)name, word, value);
    else
        snprintf(out, WORD, "%.*s", (int)n, word);
    return true;
}

/* The words of the line "// audit: WORD ..." of a program, if it has one. */
static bool read_audit_line(Row *row, const char *text, int side)
{
    static const char mark[] = "// audit:";
    const char *line = strstr(text, mark);
    if (!line)
        return true;
    const char *at = line + sizeof mark - 1, *end = at + strcspn(at, "\r\n");
    while (at < end) {
        at += strspn(at, " \t");
        const size_t n = strcspn(at, " \t\r\n");
        if (n && !add_word(row, at, n, side))
            return false;
        at += n;
    }
    return true;
}

/* Parameters that nobody gave are as long as the side, numbers without a default in the middle of their range. */
static bool bind_numbers(Session *s, Row *row, int side)
{
    for (size_t i = 0; i < tess_program_inputs(s->program); i++) {
        tess_info info = { .struct_size = sizeof info };
        tess_program_input(s->program, i, &info);
        bool given = info.kind != TESS_PARAMETER && (info.kind != TESS_SCALAR || info.has_default);
        for (size_t k = 0; k < row->n_words; k++)
            given = given
                    || (strncmp(row->word[k], info.name, strlen(info.name)) == 0
                        && row->word[k][strlen(info.name)] == '=');
        if (given)
            continue;
        const double value = info.kind == TESS_PARAMETER ? side
                             : info.has_range            ? (info.lo + info.hi) / 2
                                                         : 1;
        char word[WORD];
        const int n = snprintf(word, sizeof word, "%s=%.17g", info.name, value);
        if (!add_word(row, word, (size_t)n, side))
            return false;
        if (tess_args_scalar(s->in.args, info.name, value) != TESS_OK)
            return cli_fail("%s", tess_args_error(s->in.args)), false;
    }
    return true;
}

/* Images that nobody gave are random, of the sizes declared. */
static bool bind_images(const CommandLine *line, Session *s)
{
    for (size_t i = 0; i < tess_program_inputs(s->program); i++) {
        tess_info info = { .struct_size = sizeof info };
        tess_program_input(s->program, i, &info);
        if (!cli_is_image(s->program, i) || s->in.images[i])
            continue;
        int64_t shape[TESS_MAX_SHAPE];
        int ndim;
        if (tess_input_shape(s->program, s->in.args, i, &ndim, shape) != TESS_OK)
            return cli_fail("%s", tess_args_error(s->in.args)), false;
        char spec[WORD];
        int used = snprintf(spec, sizeof spec, "random:%d:", (int)i + 1);
        for (int d = 0; d < info.ndim; d++)
            used += snprintf(spec + used, sizeof spec - (size_t)used, "%s%lld", d ? "x" : "",
                             (long long)shape[d]);
        if (!cli_bind(line, s->program, &s->in, i, spec))
            return false;
    }
    return true;
}

/* ---- Measuring ------------------------------------------------------------------------------- */

static void note_plan(void *user, const char *plan, double predicted, double ms)
{
    Row *row = user;
    if (row->n_plans < MOST_PLANS)
        row->plan[row->n_plans++] =
            (AuditPlan){ .text = strdup(plan), .predicted = predicted, .ms = ms };
}

static bool measure(const CommandLine *line, Session *s, Row *row)
{
    tess_tuning t;
    tess_tuning_init(&t);
    t.seconds = line->seconds > 0 ? line->seconds : USUAL_SECONDS;
    t.most = !line->has_plans ? USUAL_PLANS : line->plans ? line->plans : TESS_TUNE_NONE;
    t.told = note_plan;
    t.user = row;
    row->estimate.struct_size = sizeof row->estimate;
    if (tess_args_estimate(s->program, s->in.args, &row->estimate) != TESS_OK
        || tess_tune(s->program, s->in.args, &t) != TESS_OK)
        return cli_fail("%s: %s", row->name, tess_args_error(s->in.args)), false;
    row->chosen = t.chosen_ms;
    row->best = t.best_ms;
    tess_text_free(t.plan);
    tess_text_free(t.chosen_plan);
    return true;
}

static bool compare(Session *s, const Row *row)
{
    if (tess_run(s->program, s->in.args, NULL) == TESS_OK
        && tess_verify(s->program, s->in.args) == TESS_OK)
        return true;
    return cli_fail("%s: %s", row->name, tess_args_error(s->in.args)), false;
}

/* False after saying why. */
static bool audit(const CommandLine *line, const char *path, Row *row)
{
    const int side = line->side ? line->side : USUAL_SIDE;
    size_t n;
    CommandLine own = *line;
    Session s;
    char *text = cli_read_text(path, &n);
    if (!text)
        return false;
    bool ok = read_audit_line(row, text, side);
    free(text);
    own.program = path;
    own.words = row->word;
    own.n_words = row->n_words;
    if (!ok)
        return false;
    ok = cli_open(&own, &s, true) && bind_numbers(&s, row, side) && bind_images(&own, &s)
         && (line->verify ? compare(&s, row) : measure(&own, &s, row));
    cli_close(&s);
    return ok;
}

/* ---- What comes out -------------------------------------------------------------------------- */

static double ratio_of(const Row *row)
{
    return row->estimate.predicted_ms / row->chosen;
}

static void print_text(const char *text)
{
    putchar('"');
    for (const char *c = text ? text : ""; *c; c++) {
        if (*c == '"' || *c == '\\')
            printf("\\%c", *c);
        else if ((unsigned char)*c < ' ')
            printf("\\u%04x", (unsigned)*c);
        else
            putchar(*c);
    }
    putchar('"');
}

static void print_json(const Row *row, const char *path)
{
    printf("{\"program\":");
    print_text(path);
    printf(",\"words\":[");
    for (size_t i = 0; i < row->n_words; i++) {
        printf("%s", i ? "," : "");
        print_text(row->word[i]);
    }
    printf("],\"predicted_ms\":%.6f,\"measured_ms\":%.6f,\"best_ms\":%.6f,\"start_ms\":%.6f,"
           "\"bound_ms\":%.6f,\"bound_memory_ms\":%.6f,\"bound_compute_ms\":%.6f,\"plans\":[",
           row->estimate.predicted_ms, row->chosen, row->best, row->estimate.start_ms,
           row->estimate.bound_ms, row->estimate.bound_memory_ms, row->estimate.bound_compute_ms);
    for (size_t i = 0; i < row->n_plans; i++) {
        printf("%s{\"predicted_ms\":%.6f,\"measured_ms\":%.6f,\"plan\":", i ? "," : "",
               row->plan[i].predicted, row->plan[i].ms);
        print_text(row->plan[i].text);
        putchar('}');
    }
    printf("]}\n");
    fflush(stdout);
}

static void print_row(const Row *row)
{
    printf("%-24s %9.3f %9.3f %6.2f %8.1f %9.3f %7.0f", row->name, row->estimate.predicted_ms,
           row->chosen, ratio_of(row), 100 * (row->chosen / row->best - 1), row->estimate.bound_ms,
           100 * row->estimate.bound_ms / row->chosen);
    for (size_t i = 1; i < row->n_plans; i++)
        printf(" %5.2f", row->plan[i].predicted / row->plan[i].ms);
    putchar('\n');
    fflush(stdout);
}

typedef struct Summary {
    int rows, good, failed;
    double logs, worst;
    char worst_name[256];
} Summary;

static void add_to_summary(Summary *sum, const Row *row)
{
    const double ratio = ratio_of(row), off = fabs(log(ratio));
    sum->rows++;
    sum->good += ratio >= LEAST_GOOD && ratio <= MOST_GOOD;
    sum->logs += log(ratio);
    if (off >= fabs(sum->worst)) {
        sum->worst = log(ratio);
        snprintf(sum->worst_name, sizeof sum->worst_name, "%s", row->name);
    }
}

static void print_summary(const Summary *sum)
{
    if (!sum->rows)
        return;
    printf("predicted over measured: %d of %d within %.2f and %.2f (%.0f %%), geometric mean %.2f, "
           "worst %.2f (%s)\n",
           sum->good, sum->rows, LEAST_GOOD, MOST_GOOD, 100.0 * sum->good / sum->rows,
           exp(sum->logs / sum->rows), exp(sum->worst), sum->worst_name);
    if (sum->failed)
        printf("%d could not be measured\n", sum->failed);
}

/* ---- The folder ------------------------------------------------------------------------------ */

static int is_program(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');
    return dot && (strcmp(dot, ".tess") == 0 || strcmp(dot, ".idsl") == 0);
}

static void set_name(Row *row, const char *file)
{
    const char *slash = strrchr(file, '/'), *base = slash ? slash + 1 : file;
    snprintf(row->name, sizeof row->name, "%s", base);
    char *dot = strrchr(row->name, '.');
    if (dot)
        *dot = '\0';
}

static void audit_one(const CommandLine *line, const char *path, Summary *sum)
{
    Row *row = calloc(1, sizeof *row);
    if (!row) {
        cli_fail("out of memory");
        sum->failed++;
        return;
    }
    set_name(row, path);
    if (audit(line, path, row)) {
        if (line->verify)
            printf("%s: the interpreter gives the same pixels\n", row->name);
        else if (line->json)
            print_json(row, path);
        else
            print_row(row);
        if (!line->verify)
            add_to_summary(sum, row);
    } else {
        sum->failed++;
    }
    for (size_t i = 0; i < row->n_plans; i++)
        free(row->plan[i].text);
    free(row);
}

/* Those of a folder in the order of their names; of a file, it alone. */
static bool audit_all(const CommandLine *line, Summary *sum)
{
    struct dirent **entry = NULL;
    struct stat st;
    if (stat(line->program, &st) == 0 && !S_ISDIR(st.st_mode)) {
        audit_one(line, line->program, sum);
        return true;
    }
    const int n = scandir(line->program, &entry, is_program, alphasort);
    if (n < 0)
        return cli_fail("cannot read %s: %s", line->program, strerror(errno)), false;
    for (int i = 0; i < n; i++) {
        const size_t size = strlen(line->program) + strlen(entry[i]->d_name) + 2;
        char *path = malloc(size);
        if (path && !cli_is_ending()) {
            snprintf(path, size, "%s/%s", line->program, entry[i]->d_name);
            audit_one(line, path, sum);
        }
        free(path);
        free(entry[i]);
    }
    free(entry);
    if (!n)
        return cli_fail("%s has no programs: files that end in .tess or .idsl", line->program),
               false;
    return true;
}

/* What the model expects rests on rates: those of this machine, not the usual ones of its kind. */
static void measure_machine(const CommandLine *line)
{
    char *text = NULL;
    if (line->verify || tess_target_has_device(line->options.target) || line->machine_path
        || tess_machine_is_measured(NULL) || tess_machine_measure(NULL, &text) != TESS_OK)
        return;
    if (text[0] == '#')
        cli_warn("%.*s", (int)strcspn(text + 2, "\n"), text + 2);
    else if (!line->quiet)
        cli_tell(
            "this machine was measured first, as 'tessera machine' does, and the figures are kept");
    tess_text_free(text);
}

int bench_audit(const CommandLine *line)
{
    Summary sum = { 0 };
    if (line->n_words)
        return cli_fail("an audit makes the inputs itself: what is '%s' for?", line->words[0]),
               EXIT_USAGE;
    if (line->plan_path)
        return cli_fail("an audit is of the plans that are chosen, not of --plan"), EXIT_USAGE;
    if (!line->json && !line->verify)
        printf("%-24s %9s %9s %6s %8s %9s %7s %s\n", "program", "predicted", "measured", "ratio",
               "regret %", "bound ms", "bound %", "ratios of other plans");
    fflush(stdout);
    measure_machine(line);
    bool ok = audit_all(line, &sum);
    if (!line->json)
        print_summary(&sum);
    return ok && !sum.failed ? EXIT_OK : EXIT_DIAGNOSED;
}
