/* tessera bench on a device: images stay there, several sets of them when they would fit the last cache; times from
 * event to event over many runs, beside the plain copy of the same bytes. */
#include <stdlib.h>
#include <string.h>

#include "cli/bench.h"

enum { MOST_SETS = 64, MOST_IMAGES = 32, BATCHES = 11, MOST_BATCH = 5000, WARM_UPS = 3 };
static const double BATCH_MS = 12.0;

/* One set: arguments with images of their own. */
typedef struct Sets {
    tess_args *args[MOST_SETS];
    DLTensor *images[MOST_SETS][MOST_IMAGES];
    size_t n, n_images;
    size_t bytes; /* of the images of one set */
} Sets;

bool bench_is_device(const CommandLine *line)
{
    return tess_target_has_device(line->options.target);
}

static bool failed(const Session *s)
{
    const char *why = tess_program_error(s->program);
    cli_fail("%s", *why ? why : tess_args_error(s->in.args));
    return false;
}

/* A copy on the device; NULL after saying why. */
static DLTensor *image_like(Session *s, const DLTensor *t, Sets *sets)
{
    DLTensor *made = NULL;
    if (sets->n_images == MOST_IMAGES) {
        cli_fail("more than %d images", MOST_IMAGES);
        return NULL;
    }
    if (tess_device_image(s->program, t->dtype, t->ndim, t->shape, &made) != TESS_OK) {
        failed(s);
        return NULL;
    }
    sets->images[sets->n][sets->n_images++] = made;
    sets->bytes += bench_bytes(t);
    return made;
}

static bool bind_inputs(Session *s, Sets *sets)
{
    for (size_t i = 0; i < s->in.n; i++) {
        if (!s->in.images[i])
            continue;
        tess_info info = { .struct_size = sizeof info };
        tess_program_input(s->program, i, &info);
        DLTensor *made = image_like(s, s->in.images[i], sets);
        if (!made)
            return false;
        if (tess_image_copy(s->program, s->in.images[i], made) != TESS_OK
            || tess_args_image(sets->args[sets->n], info.name, made) != TESS_OK)
            return failed(s);
    }
    return true;
}

static bool add_set(Session *s, Sets *sets)
{
    sets->n_images = sets->bytes = 0;
    if (tess_args_copy(s->in.args, &sets->args[sets->n]) != TESS_OK)
        return cli_fail("out of memory"), false;
    bool ok = bind_inputs(s, sets);
    for (size_t o = 0; ok && o < tess_program_outputs(s->program); o++) {
        const DLTensor *t;
        ok = tess_args_result(s->in.args, o, &t) == TESS_OK;
        DLTensor *made = ok ? image_like(s, t, sets) : NULL;
        ok = made && tess_args_output(sets->args[sets->n], o, made) == TESS_OK;
    }
    sets->n++;
    return ok;
}

static void free_sets(Sets *sets)
{
    for (size_t k = 0; k < sets->n; k++) {
        tess_args_free(sets->args[k]);
        for (size_t i = 0; i < MOST_IMAGES; i++)
            tess_image_free(sets->images[k][i]);
    }
    free(sets);
}

static bool time_batch(Session *s, const Sets *sets, int runs, double *ms)
{
    return tess_time_runs(s->program, sets->args, sets->n, runs, ms) == TESS_OK || failed(s);
}

static bool measure(const CommandLine *line, Session *s, Sets *sets, BenchResult *r)
{
    tess_device_info device = { .struct_size = sizeof device };
    if (tess_program_device(s->program, &device) != TESS_OK)
        return failed(s);
    r->device = device.name;
    r->driver = device.driver;
    if (!add_set(s, sets))
        return false;
    const size_t wanted = 1 + 2 * (size_t)device.cache_bytes / (sets->bytes + 1);
    while (sets->n < wanted && sets->n < MOST_SETS)
        if (!add_set(s, sets))
            return false;
    double ms[BATCHES], each;
    if (!time_batch(s, sets, WARM_UPS * (int)sets->n, &each)
        || !time_batch(s, sets, (int)sets->n, &each))
        return false;
    double batch = each > 0 ? BATCH_MS / each : MOST_BATCH;
    int runs = batch < 1 ? 1 : batch > MOST_BATCH ? MOST_BATCH : (int)batch;
    if (line->runs)
        runs = (line->runs + BATCHES - 1) / BATCHES;
    for (int k = 0; k < BATCHES; k++)
        if (!time_batch(s, sets, runs, &ms[k]))
            return false;
    qsort(ms, BATCHES, sizeof *ms, bench_by_value);
    r->median = ms[BATCHES / 2];
    r->least = ms[0];
    r->runs = runs * BATCHES;
    return tess_time_copy(s->program, sets->bytes, sets->n, runs, &r->copy) == TESS_OK || failed(s);
}

bool bench_on_device(const CommandLine *line, Session *s, BenchResult *r)
{
    Sets *sets = calloc(1, sizeof *sets);
    bool ok = sets ? measure(line, s, sets, r) : (cli_fail("out of memory"), false);
    if (sets)
        free_sets(sets);
    return ok;
}
