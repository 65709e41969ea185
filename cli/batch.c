/* Running a batch: threads read and write files while this one runs the program, which is compiled once. Runs come in
 * the order in which their files were read; what there is to say is said in the order of the names. */
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <unistd.h>

#include "cli/batch.h"

enum { MOST_WORKERS = 8, MORE_SLOTS = 2, N_SLOTS = MOST_WORKERS + MORE_SLOTS, BAR = 30 };

/* An item on its way. Its arguments are used again for the next one, with their memory. */
typedef enum SlotState {
    SLOT_FREE,
    SLOT_READING,
    SLOT_READ,
    SLOT_RUNNING,
    SLOT_RAN,
    SLOT_WRITING
} SlotState;
typedef struct Slot {
    SlotState state;
    size_t item;
    Job job;
} Slot;

typedef struct Pipeline {
    const CommandLine *line;
    tess_program *program;
    Batch *batch;
    const Nodata *nodata;
    Inputs shared; /* what all runs have in common */
    mtx_t lock;    /* guards what follows, and the states of slots and items */
    cnd_t changed;
    Slot slot[N_SLOTS];
    size_t n_slots, next, said, done, failed, ran;
    uint64_t largest; /* bytes of the images of an item */
    double read_ms, write_ms;
    tess_timing timing;
} Pipeline;

/* ---- With the lock held ----------------------------------------------------------------------- */

static Slot *slot_in(Pipeline *p, SlotState state)
{
    Slot *found = NULL;
    for (size_t i = 0; i < p->n_slots; i++) {
        Slot *s = &p->slot[i];
        if (s->state == state && (!found || s->item < found->item))
            found = s;
    }
    return found;
}

void cli_batch_bar(const Batch *b, size_t done, size_t n_failed)
{
    char bar[BAR + 1], text[120], failed[40] = "";
    for (size_t i = 0; i < BAR; i++)
        bar[i] = i * b->n < done * BAR ? '#' : '.';
    bar[BAR] = '\0';
    if (n_failed)
        snprintf(failed, sizeof failed, ", %zu failed", n_failed);
    snprintf(text, sizeof text, "%s %zu of %zu%s", bar, done, b->n, failed);
    cli_progress_bar(text);
}

static void finish(Pipeline *p, Slot *s, bool ok)
{
    Batch *b = p->batch;
    Item *item = &b->items[s->item];
    item->done = true;
    item->failed = !ok;
    p->failed += !ok;
    p->done++;
    s->state = SLOT_FREE;
    while (p->said < b->n && b->items[p->said].done)
        cli_say_collected(&b->items[p->said++].said);
    if (p->ran)
        cli_batch_bar(b, p->done, p->failed);
}

static void change(Pipeline *p, Slot *s, SlotState state)
{
    s->state = state;
    cnd_broadcast(&p->changed);
}

/* Whether another item may be in memory beside those that are: each with its results. */
static bool has_room(const Pipeline *p)
{
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    uint64_t there = 0;
    for (size_t i = 0; i < p->n_slots; i++)
        there += p->slot[i].state != SLOT_FREE;
    return there == 0 || pages <= 0 || page <= 0
           || (there + 1) * p->largest < (uint64_t)pages * (uint64_t)page / 8;
}

/* ---- Without it ------------------------------------------------------------------------------- */

static uint64_t bytes_of(const Inputs *in)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < in->n; i++) {
        uint64_t of = in->images[i] ? in->images[i]->dtype.bits / 8u : 0;
        for (int d = 0; in->images[i] && d < in->images[i]->ndim; d++)
            of *= (uint64_t)in->images[i]->shape[d];
        bytes += of;
    }
    return bytes;
}

/* Each item may have types of its own, and so its own instance of the program; what all share is bound to each. */
static bool read_typed_item(Pipeline *p, Slot *s)
{
    const Batch *b = p->batch;
    const Item *item = &b->items[s->item];
    const size_t n = tess_program_inputs(p->program);
    size_t n_words = 0, *input = calloc(n + b->n_inputs + 1, sizeof *input);
    const char **value = calloc(n + b->n_inputs + 1, sizeof *value);
    bool ok = input && value ? true : (cli_fail("out of memory"), false);
    for (size_t i = 0; ok && i < n; i++)
        if (b->shared[i]) {
            input[n_words] = i;
            value[n_words++] = b->shared[i];
        }
    for (size_t k = 0; ok && k < b->n_inputs; k++) {
        input[n_words] = b->input[k];
        value[n_words++] = item->files[k];
    }
    cli_inputs_free(&s->job.in);
    ok = ok && cli_bind_these(p->line, &s->job.program, &s->job.in, input, value, n_words);
    free(input);
    free(value);
    return ok && cli_check_page(p->line, &s->job.in);
}

static bool read_images(Pipeline *p, Slot *s)
{
    const Item *item = &p->batch->items[s->item];
    Inputs *in = &s->job.in;
    if (cli_is_open(p->program))
        return read_typed_item(p, s);
    bool ok = in->args || cli_inputs_new(p->program, &p->shared, in);
    in->has_pages = p->shared.has_pages;
    in->read_ms = 0;
    for (size_t k = 0; ok && k < p->batch->n_inputs; k++)
        ok = cli_bind(p->line, p->program, in, p->batch->input[k], item->files[k]);
    return ok && cli_check_page(p->line, in);
}

static bool read_item(Pipeline *p, Slot *s)
{
    const Batch *b = p->batch;
    bool ok = read_images(p, s);
    for (size_t k = 0; ok && k < b->n_inputs; k++)
        ok = cli_same_nodata(p->nodata, p->program, &s->job.in, b->input[k],
                             b->items[s->item].files[k]);
    return ok;
}

static void read_next(Pipeline *p, Slot *s)
{
    s->item = p->next++;
    s->state = SLOT_READING;
    mtx_unlock(&p->lock);
    Item *item = &p->batch->items[s->item];
    cli_collect(&item->said, item->files[0]);
    s->job.program = p->program;
    s->job.outputs = (const char *const *)item->outputs;
    const bool ok = read_item(p, s);
    const uint64_t bytes = bytes_of(&s->job.in);
    cli_collect(NULL, NULL);
    mtx_lock(&p->lock);
    p->read_ms += s->job.in.read_ms;
    p->largest = bytes > p->largest ? bytes : p->largest;
    if (!ok)
        finish(p, s, false);
    change(p, s, ok ? SLOT_READ : SLOT_FREE);
}

static void write_item(Pipeline *p, Slot *s)
{
    s->state = SLOT_WRITING;
    mtx_unlock(&p->lock);
    Item *item = &p->batch->items[s->item];
    double ms = 0;
    cli_collect(&item->said, item->files[0]);
    const bool ok = cli_write_results(p->line, &s->job, &ms);
    cli_job_clear(&s->job);
    cli_collect(NULL, NULL);
    mtx_lock(&p->lock);
    p->write_ms += ms;
    finish(p, s, ok);
    change(p, s, SLOT_FREE);
}

/* Writes what was run before it reads more, so that no more than the slots is in memory. */
static int work(void *user)
{
    Pipeline *p = user;
    mtx_lock(&p->lock);
    while (p->done < p->batch->n && !cli_is_ending()) {
        Slot *ran = slot_in(p, SLOT_RAN), *empty = slot_in(p, SLOT_FREE);
        if (ran)
            write_item(p, ran);
        else if (empty && p->next < p->batch->n && has_room(p))
            read_next(p, empty);
        else
            cnd_wait(&p->changed, &p->lock);
    }
    mtx_unlock(&p->lock);
    return 0;
}

static void run_item(Pipeline *p, Slot *s)
{
    s->state = SLOT_RUNNING;
    mtx_unlock(&p->lock);
    Item *item = &p->batch->items[s->item];
    cli_collect(&item->said, item->files[0]);
    const bool ok = cli_run(p->line, &s->job);
    if (!ok)
        cli_job_clear(&s->job);
    cli_collect(NULL, NULL);
    mtx_lock(&p->lock);
    const tess_timing *t = &s->job.timing;
    const double run_ms = p->timing.run_ms + t->run_ms, copy_ms = p->timing.copy_ms + t->copy_ms;
    if (ok)
        p->timing = *t;
    p->timing.run_ms = run_ms;
    p->timing.copy_ms = copy_ms;
    p->ran++;
    if (!ok)
        finish(p, s, false);
    change(p, s, ok ? SLOT_RAN : SLOT_FREE);
}

static void run_all(Pipeline *p)
{
    mtx_lock(&p->lock);
    while (p->done < p->batch->n && !cli_is_ending()) {
        Slot *s = slot_in(p, SLOT_READ);
        if (s)
            run_item(p, s);
        else
            cnd_wait(&p->changed, &p->lock);
    }
    mtx_unlock(&p->lock);
}

/* ---- The whole -------------------------------------------------------------------------------- */

static size_t count_workers(const CommandLine *line, size_t n_items)
{
    long n = line->options.threads ? line->options.threads : sysconf(_SC_NPROCESSORS_ONLN);
    n = n < 1 ? 1 : n > MOST_WORKERS ? MOST_WORKERS : n;
    return (size_t)n < n_items ? (size_t)n : n_items;
}

static bool run_with_workers(Pipeline *p)
{
    thrd_t worker[MOST_WORKERS];
    const size_t wanted = count_workers(p->line, p->batch->n);
    size_t n = 0;
    p->n_slots = wanted + MORE_SLOTS;
    while (n < wanted && thrd_create(&worker[n], work, p) == thrd_success)
        n++;
    if (!n)
        return cli_fail("no thread can be started for reading and writing"), false;
    run_all(p);
    for (size_t i = 0; i < n; i++)
        thrd_join(worker[i], NULL);
    return true;
}

static bool bind_shared(Pipeline *p)
{
    if (cli_is_open(p->program))
        return true;
    bool ok = cli_inputs_new(p->program, NULL, &p->shared);
    for (size_t i = 0; ok && i < p->shared.n; i++)
        if (p->batch->shared[i])
            ok = cli_bind(p->line, p->program, &p->shared, i, p->batch->shared[i]);
    return ok;
}

void cli_say_failed(const CommandLine *line, const Batch *b, size_t n_failed)
{
    cli_fail("%zu of %zu failed%s", n_failed, b->n, line->json_diagnostics ? "" : ":");
    for (size_t i = 0; !line->json_diagnostics && i < b->n; i++)
        if (b->items[i].failed)
            cli_tell("  %s", b->items[i].files[0]);
}

static bool run_pipeline(Pipeline *p)
{
    if (mtx_init(&p->lock, mtx_plain) != thrd_success)
        return cli_fail("out of memory"), false;
    if (cnd_init(&p->changed) != thrd_success) {
        mtx_destroy(&p->lock);
        return cli_fail("out of memory"), false;
    }
    const double start = cli_clock_ms();
    const bool ok = run_with_workers(p);
    cli_progress(NULL, NULL);
    if (ok && p->failed)
        cli_say_failed(p->line, p->batch, p->failed);
    if (ok && p->line->time) {
        cli_print_times(&p->timing, p->shared.read_ms + p->read_ms, p->write_ms);
        cli_tell("%zu runs, together %.2f ms", p->ran, cli_clock_ms() - start);
    }
    mtx_destroy(&p->lock);
    cnd_destroy(&p->changed);
    return ok && !p->failed;
}

int cli_batch_run(const CommandLine *line, tess_program *program, Batch *b, const Nodata *nodata)
{
    Pipeline p = { .line = line, .program = program, .batch = b, .nodata = nodata };
    const bool ok = bind_shared(&p) && run_pipeline(&p);
    for (size_t i = 0; i < N_SLOTS; i++)
        cli_inputs_free(&p.slot[i].job.in);
    cli_inputs_free(&p.shared);
    return ok ? EXIT_OK : EXIT_DIAGNOSED;
}
