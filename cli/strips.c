/* Strips: the run. While one strip is computed, readers are at work on the next and writers on the one before. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/strips_run.h"

/* ---- Windows of inputs ----------------------------------------------------------------------- */
static bool room_for(StripInput *in, int turn, int64_t rows)
{
    const size_t bytes = in->row_bytes * (size_t)rows;
    if (bytes <= in->window_bytes[turn])
        return true;
    int64_t n = (int64_t)bytes;
    tess_image_free(in->window[turn]);
    in->window[turn] = tess_image_new((DLDataType){ kDLUInt, 8, 1 }, 1, &n);
    in->window_bytes[turn] = in->window[turn] ? bytes : 0;
    return in->window[turn] || (cli_fail("out of memory"), false);
}

static bool fail_input(const StripInput *in, const char *error)
{
    return cli_fail_about(in->path, error, ""), false;
}

static bool wait_for(StripInput *in)
{
    char error[ERROR_SIZE] = "";
    if (!in->pending)
        return true;
    in->pending = false;
    return tess_reader_wait(in->reader, error, sizeof error) == TESS_OK || fail_input(in, error);
}

/* Rows from..to, which lie in the image, to `at`; a reader goes on by itself. */
static bool fetch(StripInput *in, int64_t from, int64_t to, char *at)
{
    char error[ERROR_SIZE] = "";
    if (in->shared)
        return cli_team_image_get(in->shared, from, to, at);
    if (!in->reader) {
        memcpy(at, (char *)in->whole->data + (size_t)from * in->row_bytes,
               (size_t)(to - from) * in->row_bytes);
        return true;
    }
    if (!wait_for(in))
        return false;
    if (tess_reader_order(in->reader, from, to, at, error, sizeof error) != TESS_OK)
        return fail_input(in, error);
    in->pending = true;
    return true;
}

/* The same beyond the edges of an image that goes on as it begins. */
static bool fetch_around(StripInput *in, int64_t from, int64_t to, char *at)
{
    const int64_t n = in->extent[0];
    while (from < to) {
        const int64_t begin = ((from % n) + n) % n;
        const int64_t more = to - from < n - begin ? to - from : n - begin;
        if (!fetch(in, begin, begin + more, at))
            return false;
        at += (size_t)more * in->row_bytes;
        from += more;
    }
    return true;
}

/* Begins to fill the window of that turn; rows that are in the other one are taken from there. */
static bool fill(StripInput *in, int turn, int64_t from, int64_t to)
{
    if (!wait_for(in) || !room_for(in, turn, to - from))
        return false;
    char *at = in->window[turn]->data;
    const int64_t have_from = in->from, have_to = in->to;
    in->from = from;
    in->to = to;
    if (have_from > from || have_to <= from)
        return fetch_around(in, from, to, at);
    const int64_t shared = (have_to < to ? have_to : to) - from;
    memcpy(at,
           (const char *)in->window[turn ^ 1]->data + (size_t)(from - have_from) * in->row_bytes,
           (size_t)shared * in->row_bytes);
    return fetch_around(in, from + shared, to, at + (size_t)shared * in->row_bytes);
}

/* Those of files before their strip, which then are read while another is computed; those that others may have to send
 * with it. */
static bool fill_all(Strips *s, const tess_part *part, int turn, bool shared)
{
    for (size_t i = 0; i < s->n_inputs; i++)
        if (s->input[i].path && shared == (s->input[i].shared != NULL)
            && tess_parts_use(s->parts, part->pass, i) == TESS_PART_CUT
            && !fill(&s->input[i], turn, part->from[0], part->to[0]))
            return false;
    return true;
}

/* Images that a pass reads as wholes come into memory. */
static bool load_whole(StripInput *in)
{
    if (in->whole)
        return true;
    in->whole = tess_image_new(in->shape.dtype, in->shape.ndim, in->shape.shape);
    return in->whole ? fetch(in, 0, in->extent[0], in->whole->data) && wait_for(in)
                     : (cli_fail("out of memory"), false);
}

static bool begin_inputs(Strips *s, size_t pass)
{
    for (size_t i = 0; i < s->n_inputs; i++) {
        StripInput *in = &s->input[i];
        if (in->path && tess_parts_use(s->parts, pass, i) == TESS_PART_WHOLE && !load_whole(in))
            return false;
    }
    return true;
}

/* ---- Results --------------------------------------------------------------------------------- */
/* The program of the line, of which this may be the last round. */
static const Strips *origin(const StripRun *r)
{
    return r->s->origin ? r->s->origin : r->s;
}

static void init_store(StripRun *r, size_t number)
{
    const CommandLine *line = r->s->line;
    const Strips *s = origin(r);
    StripOutput *o = &r->output[number];
    cli_init_store(line, o->output, &o->store);
    o->store.result = &o->info;
    o->store.resumes = line->resume;
    o->store.rows_there = o->rows = line->resume ? r->there[o->output] : 0;
    cli_add_result_nodata(line, &o->info, &o->store);
    if (line->no_metadata)
        return;
    tess_program_provenance(s->program, o->provenance, sizeof o->provenance);
    o->store.provenance = o->provenance;
    o->geometry.struct_size = sizeof o->geometry;
    const StripInput *first = NULL;
    for (size_t i = 0; i < s->n_inputs && !first; i++)
        if (s->input[i].path && s->input[i].info.kind == TESS_IMAGE)
            first = &s->input[i];
    if (!first
        || tess_result_geometry(s->program, s->args, number, first->info.name, &o->geometry)
               != TESS_OK)
        return;
    o->store.meta = first->meta;
    o->store.geometry = &o->geometry;
}

static bool begin_outputs(StripRun *r)
{
    const Strips *s = r->s;
    r->n_outputs = tess_program_outputs(s->program);
    r->output = calloc(r->n_outputs + 1, sizeof *r->output);
    if (!r->output)
        return cli_fail("out of memory"), false;
    for (size_t i = 0; i < r->n_outputs; i++) {
        StripOutput *o = &r->output[i];
        o->info.struct_size = sizeof o->info;
        tess_program_output(origin(r)->program, i, &o->info);
        o->output = cli_output_of(s->line, origin(r)->program, i);
        o->shape.shape = o->extent;
        if (tess_result_shape(s->program, s->args, i, &o->shape.ndim, o->extent) != TESS_OK)
            return cli_fail("%s", tess_args_error(s->args)), false;
        if (o->output != SIZE_MAX)
            init_store(r, i);
        if (s->line->team && !cli_team_output(r, i))
            return false;
    }
    return true;
}

/* False: the file cannot be written row by row. */
static bool open_writer(StripRun *r, StripOutput *o, const DLTensor *t)
{
    char error[ERROR_SIZE] = "";
    const char *path = r->s->line->outputs[o->output];
    o->shape.dtype = t->dtype;
    if (o->writer
        || tess_writer_open(path, &o->shape, &o->store, &o->writer, error, sizeof error) == TESS_OK)
        return true;
    if (o->way == SENT && cli_team_assemble(o, t)) /* then it is in memory until it is written */
        return true;
    return cli_fail_about(path, error, ""), false;
}

bool cli_strips_add(StripRun *r, size_t number, const DLTensor *t)
{
    StripOutput *o = &r->output[number];
    char error[ERROR_SIZE] = "";
    const Team *team = r->s->line->team;
    const StripPass *last = &r->s->pass[r->s->n_passes - 1];
    if (team && team->rank && o->way != SHARED)
        return o->way == HERE || cli_team_send(team, number, t);
    if (t->shape[0] == o->extent[0]) { /* all of it, perhaps not for the first time */
        if (!o->whole && !(o->whole = cli_copy(t)))
            return cli_fail("out of memory"), false;
        return true;
    }
    if (t->shape[0] == 0)
        return true;
    const bool is_line = t->ndim == 1 && last->pass.ndim > 1;
    if (is_line && r->s->line->resume)
        return cli_fail_about(r->s->line->outputs[o->output],
                              "a result of one number a row cannot be gone on with", ""),
               false;
    if (is_line ? !cli_team_assemble(o, t) : !open_writer(r, o, t))
        return false;
    o->rows += t->shape[0];
    return !o->writer || tess_writer_add(o->writer, t, error, sizeof error) == TESS_OK
           || (cli_fail_about(r->s->line->outputs[o->output], error, ""), false);
}

static bool add_results(StripRun *r)
{
    for (size_t i = 0; i < r->n_outputs; i++) {
        const DLTensor *t;
        int64_t place[TESS_MAX_SHAPE];
        if (tess_part_result(r->s->parts, i, &t, place) != TESS_OK)
            return false;
        bool shared = false, has_it = true;
        if (r->output[i].kept) {
            cli_team_image_put(r->output[i].kept, t, place[0]);
            continue;
        }
        if (!cli_team_shares_columns(r, i, &shared, &has_it))
            return false;
        if (shared ? !cli_team_join_columns(r, i, t) : has_it && !cli_strips_add(r, i, t))
            return false;
    }
    return true;
}

/* Notes that the strips up to row `end` are finished: the writers have had the time of a strip for the last of them. */
static bool note_strip(StripRun *r, int64_t end)
{
    char error[ERROR_SIZE] = "";
    const size_t n = r->s->line->n_outputs;
    int64_t *rows = calloc(2 * n + 1, sizeof *rows), *settled = rows + n;
    uint64_t *bytes = calloc(n + 1, sizeof *bytes);
    bool ok = rows && bytes;
    for (size_t i = 0; ok && i < r->n_outputs; i++) {
        const StripOutput *o = &r->output[i];
        if (o->output == SIZE_MAX || !o->writer)
            continue; /* what comes whole comes with every strip */
        rows[o->output] = o->rows;
        if (tess_writer_settle(o->writer, &settled[o->output], &bytes[o->output], error,
                               sizeof error)
            != TESS_OK)
            ok = (cli_fail_about(r->s->line->outputs[o->output], error, ""), false);
    }
    if (ok) {
        cli_journal_add(r->journal, end, rows);
        ok = cli_journal_settle(r->journal, settled, bytes);
    }
    free(rows);
    free(bytes);
    return ok;
}

static double number_of(const DLTensor *t)
{
    char text[64];
    double number = 0;
    tess_element_text(t->dtype, (const char *)t->data + t->byte_offset, text, sizeof text);
    cli_parse_number(text, &number);
    return number;
}

static bool end_output(StripRun *r, StripOutput *o, bool ok, char **numbers)
{
    char error[ERROR_SIZE] = "";
    const CommandLine *line = r->s->line;
    tess_status status = TESS_OK;
    if (o->kept || (line->team && line->team->rank && o->way != SHARED))
        return ok; /* the next run, or rank 0, has it */
    if (o->way == SHARED) {
        ok = cli_team_end(r, o, ok, error, sizeof error);
    } else if (o->writer) {
        status = tess_writer_close(o->writer, ok, error, sizeof error);
        o->writer = NULL;
    } else if (ok && o->whole && o->output == SIZE_MAX && r->s->numbers) {
        r->s->numbers[o - r->output] = number_of(o->whole);
    } else if (ok && o->whole && o->output == SIZE_MAX) {
        cli_add_number(line, &o->info, o->whole, numbers);
    } else if (ok && o->whole) {
        status =
            tess_image_save(line->outputs[o->output], o->whole, &o->store, error, sizeof error);
    }
    if (!ok)
        return false;
    if (status != TESS_OK)
        return cli_fail_about(line->outputs[o->output], error, ""), false;
    if (o->output != SIZE_MAX)
        cli_say_stored(line, line->outputs[o->output], error, &o->store);
    return true;
}

static bool end_outputs(StripRun *r, bool ok)
{
    char *numbers = NULL;
    for (size_t i = 0; r->output && i < r->n_outputs; i++) {
        ok = end_output(r, &r->output[i], ok, &numbers);
        tess_image_free(r->output[i].whole);
        free(r->output[i].held);
        free(r->output[i].joined);
    }
    if (ok && numbers)
        cli_print_numbers(r->s->line, numbers);
    free(numbers);
    free(r->output);
    return ok;
}

/* ---- Passes ---------------------------------------------------------------------------------- */
static void show_progress(const StripRun *r, size_t number, int64_t done, int64_t all)
{
    char text[200], more[60] = "";
    const double seconds = (cli_clock_ms() - r->start) / 1000;
    if (done > 0)
        snprintf(more, sizeof more, ", %.0f s to go",
                 seconds * (double)(all - done) / (double)done);
    snprintf(text, sizeof text, "pass %zu of %zu, rows %lld of %lld%s", number + 1, r->s->n_passes,
             (long long)done, (long long)all, more);
    cli_progress_bar(text);
}

/* Of rows that were read as wholes, the columns that a part needs. */
static void look_at_columns(const StripInput *in, const tess_part *part, DLTensor *t,
                            int64_t *strides)
{
    int64_t stride = 1;
    for (int d = t->ndim - 1; d >= 0; d--) {
        strides[d] = stride;
        stride *= in->extent[d];
    }
    t->strides = strides;
    t->shape[1] = part->to[1] - part->from[1];
    t->byte_offset += (uint64_t)(part->from[1] * strides[1]) * (t->dtype.bits / 8u);
}

static bool run_strip(StripRun *r, const tess_part *part, int turn)
{
    Strips *s = r->s;
    const DLTensor **images = calloc(s->n_inputs + 1, sizeof *images);
    DLTensor *part_of = calloc(s->n_inputs + 1, sizeof *part_of);
    int64_t(*shape)[TESS_MAX_SHAPE] = calloc(s->n_inputs + 1, sizeof *shape);
    int64_t(*strides)[TESS_MAX_SHAPE] = calloc(s->n_inputs + 1, sizeof *strides);
    bool ok = images && part_of && shape && strides;
    for (size_t i = 0; ok && i < s->n_inputs; i++) {
        const StripInput *in = &s->input[i];
        images[i] = in->whole;
        if (!in->path || tess_parts_use(s->parts, part->pass, i) != TESS_PART_CUT)
            continue;
        part_of[i] = in->shape;
        part_of[i].shape = memcpy(shape[i], in->extent, sizeof *shape);
        part_of[i].shape[0] = part->to[0] - part->from[0];
        part_of[i].data = in->window[turn]->data;
        part_of[i].device = in->window[turn]->device;
        images[i] = &part_of[i];
        if (s->pass[part->pass].columns > 1)
            look_at_columns(in, part, &part_of[i], strides[i]);
    }
    if (!ok)
        cli_fail("out of memory");
    else if (tess_run_part(s->parts, part, images) != TESS_OK)
        ok = (cli_fail("%s", tess_parts_error(s->parts)), false);
    free(images);
    free(part_of);
    free(shape);
    free(strides);
    return ok;
}

static bool wait_for_all(Strips *s)
{
    for (size_t i = 0; i < s->n_inputs; i++)
        if (!wait_for(&s->input[i]))
            return false;
    return true;
}

static bool plan_part(Strips *s, size_t number, int64_t begin, int64_t end, tess_part *part)
{
    cli_strips_part(s, number, begin, end, part);
    part->apart = s->line->team && s->pass[number].pass.numbers;
    if (s->line->team && s->pass[number].columns > 1)
        cli_strips_columns(s, number, s->line->team->rank, &part->begin[1], &part->end[1]);
    return tess_part_needs(s->parts, part) == TESS_OK
           || (cli_fail("%s", tess_parts_error(s->parts)), false);
}

/* Rows of the images in the order in which they are computed. */
typedef struct Spans {
    int64_t begin[3], end[3];
    int n;
} Spans;

/* Where rows come from others of a team, and results may come in any order: what depends on none of them first. */
static Spans order_rows(const StripRun *r, size_t number, int64_t first, int64_t end)
{
    const Strips *s = r->s;
    const tess_pass *pass = &s->pass[number].pass;
    const int64_t align = pass->ndim ? pass->align[0] : 1;
    const int64_t edge = pass->ndim ? (pass->margin[0] + align - 1) / align * align : 0;
    bool any_order = s->line->team != NULL && edge > 0 && end - first > 4 * edge, gets = false;
    for (size_t i = 0; i < s->n_inputs; i++)
        gets = gets || s->input[i].shared;
    for (size_t i = 0; any_order && !pass->numbers && i < r->n_outputs; i++)
        any_order = r->output[i].kept || r->output[i].output == SIZE_MAX;
    if (!any_order || !gets)
        return (Spans){ .begin = { first }, .end = { end }, .n = 1 };
    return (Spans){ .begin = { first + edge, end - edge, first },
                    .end = { end - edge, end, first + edge },
                    .n = 3 };
}

/* Results may end before the images do. */
static bool has_all_results(const StripRun *r)
{
    bool all = r->n_outputs > 0;
    for (size_t i = 0; all && i < r->n_outputs; i++) {
        const StripOutput *o = &r->output[i];
        all = o->writer ? o->rows == o->extent[0] : o->whole != NULL;
    }
    return all;
}

static bool run_span(StripRun *r, size_t number, int64_t first, int64_t all)
{
    Strips *s = r->s;
    const StripPass *pass = &s->pass[number];
    const bool may_stop = !pass->pass.numbers && !s->line->team;
    const bool notes = r->journal && pass->n_strips > 1 && !pass->pass.numbers;
    tess_part part, next;
    int turn = 0;
    for (size_t i = 0; i < s->n_inputs; i++) /* windows hold nothing that could be used again */
        s->input[i].from = s->input[i].to = 0;
    if (!plan_part(s, number, first, all, &part) || !fill_all(s, &part, turn, false))
        return false;
    for (int64_t begin = first; begin < all; turn ^= 1) {
        const int64_t end = pass->pass.ndim ? part.end[0] : 1;
        if (cli_is_ending())
            return cli_fail("ended by a signal"), false;
        show_progress(r, number, begin - first, all - first);
        if (s->line->team)
            s->line->team->look();
        if (!wait_for_all(s)
            || (end < all
                && (!plan_part(s, number, end, all, &next) || !fill_all(s, &next, turn ^ 1, false)))
            || !fill_all(s, &part, turn, true) || !run_strip(r, &part, turn)
            || (notes && begin > first && !note_strip(r, begin))
            || (!pass->pass.numbers && !add_results(r)))
            return false;
        if (may_stop && has_all_results(r))
            break;
        part = next;
        begin = end;
    }
    return true;
}

static bool run_pass(StripRun *r, size_t number)
{
    const Strips *s = r->s;
    int64_t first, all;
    cli_strips_share(s, number, s->line->team ? s->line->team->rank : 0, &first, &all);
    first = s->pass[number].pass.numbers || s->line->team ? first : r->first;
    r->start = cli_clock_ms();
    if (first >= all)
        return true; /* others have all of it */
    if (!begin_inputs(r->s, number))
        return false;
    const Spans spans = order_rows(r, number, first, all);
    for (int i = 0; i < spans.n; i++)
        if (!run_span(r, number, spans.begin[i], spans.end[i]))
            return false;
    return true;
}

/* Of a team, with what the others have to say. */
static bool run_pass_together(StripRun *r, size_t number)
{
    const StripPass *pass = &r->s->pass[number];
    return run_pass(r, number)
           && (!r->s->line->team
               || (pass->pass.numbers ? cli_team_join(r->s, number) : cli_team_collect(r)));
}

static bool begin_journal(StripRun *r)
{
    const CommandLine *line = r->s->line;
    if (!line->resume)
        return true;
    if (line->n_outputs == 0)
        return cli_fail("--resume goes on with files, and none is written"), false;
    r->there = calloc(line->n_outputs + 1, sizeof *r->there);
    if (!r->there)
        return cli_fail("out of memory"), false;
    if (!cli_journal_open(r->s, &r->journal, &r->first, r->there))
        return false;
    if (r->first && !line->quiet)
        cli_tell("goes on behind row %lld", (long long)r->first);
    return true;
}

bool cli_strips_run(Strips *s)
{
    if (s->rounds)
        return cli_rounds_run(s);
    StripRun r = { .s = s };
    for (size_t i = 0; i < s->n_inputs && (!s->line->team || s->line->team->rank == 0); i++)
        cli_say_doubts(s->line, s->input[i].meta, &s->input[i].info, s->input[i].path);
    const double start = cli_clock_ms();
    cli_hold(NULL, 1); /* so that no part of a file is left when a signal ends us, after a strip */
    bool ok = cli_team_settle_heights(s) && begin_journal(&r) && begin_outputs(&r)
              && (!s->line->team || cli_team_images_begin(s));
    for (size_t i = 0; ok && i < s->n_passes; i++)
        ok = run_pass_together(&r, i);
    if (ok && s->line->team)
        s->line->team->settle();
    cli_progress(NULL, NULL);
    ok = end_outputs(&r, ok);
    cli_journal_close(r.journal, ok);
    cli_hold(NULL, -1);
    free(r.there);
    if (ok && s->line->time)
        cli_tell("%lld strips in %zu pass%s, together %.2f ms",
                 (long long)s->pass[s->n_passes - 1].n_strips, s->n_passes,
                 s->n_passes == 1 ? "" : "es", cli_clock_ms() - start);
    if (ok && s->line->verbose) {
        char bytes[32];
        const StripPass *last = &s->pass[s->n_passes - 1];
        cli_size_text(last->bytes, bytes);
        if (s->line->team && last->columns > 1)
            cli_tell("%d processes share the rows, and %d the columns of each",
                     s->line->team->size / last->columns, last->columns);
        cli_tell("in %lld strips of %lld rows, in %s of memory", (long long)last->n_strips,
                 (long long)last->height, bytes);
    }
    return ok;
}
