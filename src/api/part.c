/* tess_parts: programs over images that come in parts. What strips of large files, chunks of others' arrays and
 * processes with a share of an image each have in common. */
#include "api/part.h"

#include <stdlib.h>
#include <string.h>

#include "api/backend.h"
#include "api/general.h"
#include "base/rounding.h"

/* ---- Making ---------------------------------------------------------------------------------- */
void tess_parts_free(tess_parts *p)
{
    if (!p)
        return;
    VEC_FOREACH (RunPass, pass, &p->passes) {
        for (uint32_t o = 0; pass->spare && o < pass->program->outputs.n; o++)
            free(pass->spare[o].tensor.data);
        free(pass->spare);
        tessi_bytes_dispose(&pass->apart);
        VEC_FOREACH (PartNumber, number, &pass->numbers)
            tessi_lines_free(number);
        tessi_folded_free(pass);
        tess_args_free(pass->args);
        tess_program_free(pass->program);
    }
    if (p->v)
        tessi_variant_release(p->program, p->v);
    tess_args_free(p->args);
    tessi_arena_dispose(&p->arena);
    free(p);
}

/* The value of an input scalar, which is an integer. */
static int64_t scalar_of(const tess_parts *p, const Scalar *s)
{
    const int64_t k = tessi_input_number(p->program, s->name);
    return k >= 0 && p->args->scalar_set[k] ? (int64_t)p->args->scalars[k] : s->value.i;
}

/* How far the turns of a repeat reach together is known where their number is, which the numbers of this run say. */
static bool count_turns(tess_parts *p, Failure *f)
{
    enum { MOST_STAGES = 1 << 16 };
    p->graph = p->v->written_out;
    if (!p->graph->repeats.n)
        return true;
    Graph *g = ARENA_NEW(&p->arena, Graph);
    *g = *p->v->meaning;
    Repeat *repeats = ARENA_NEW_ARRAY(&p->arena, Repeat, g->repeats.n);
    memcpy(repeats, g->repeats.at, g->repeats.n * sizeof *repeats);
    g->repeats.at = repeats;
    VEC_FOREACH (Repeat, repeat, &g->repeats) {
        const RepeatCount *n = &repeat->count;
        if (repeat->until.v || repeat->unless_met)
            return tessi_failf(
                f, TESS_ERROR_UNSUPPORTED,
                "parts cannot be computed apart where a condition of whole images ends "
                "the loop '%s'",
                repeat->name);
        const int64_t x = n->from == COUNT_FROM_SCALAR  ? scalar_of(p, &g->scalars.at[n->ref])
                          : n->from == COUNT_FROM_PARAM ? p->params[n->ref]
                                                        : 0;
        const int64_t turns = tessi_repeat_turns(n, x);
        if (turns > MOST_STAGES / (int64_t)g->stages.n)
            return tessi_failf(f, TESS_ERROR_UNSUPPORTED,
                               "parts cannot be computed apart over %lld turns of the loop '%s'",
                               (long long)turns, repeat->name);
        repeat->count = (RepeatCount){ .from = COUNT_FROM_NOTHING, .add = turns, .by = 1 };
    }
    p->graph = tessi_graph_write_out(g, &p->arena);
    return true;
}

static bool make(tess_parts *p)
{
    Guard guard;
    Failure *f = &p->failure;
    if (!GUARDED(&guard, &p->arena))
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    p->params = ARENA_NEW_ARRAY(&p->arena, int64_t, p->v->written_out->params.n + 1);
    if (!tessi_bind_sizes(p->program, p->v, p->args, &p->arena, p->params, f) || !count_turns(p, f)
        || !tessi_parts_find(p, f))
        return false;
    const Graph *g = p->graph;
    p->results = ARENA_NEW_ARRAY(&p->arena, DLTensor, g->outputs.n + g->stages.n);
    const size_t n = ((size_t)g->outputs.n + g->stages.n) * (MAX_DIMS + 1);
    p->places = (int64_t(*)[MAX_DIMS + 1]) ARENA_NEW_ARRAY(&p->arena, int64_t, n);
    p->shapes = (int64_t(*)[MAX_DIMS + 1]) ARENA_NEW_ARRAY(&p->arena, int64_t, n);
    p->strides = (int64_t(*)[MAX_DIMS + 1]) ARENA_NEW_ARRAY(&p->arena, int64_t, n);
    return true;
}

tess_status tessi_parts_new_on(tess_program *program, const tess_args *args, int device,
                               tess_parts **parts)
{
    tess_parts *p = calloc(1, sizeof *p);
    if (!p)
        return TESS_ERROR_MEMORY;
    *parts = p;
    p->program = program;
    p->device = device;
    tessi_arena_init(&p->arena, NULL, NULL);
    if (tess_args_copy(args, &p->args) != TESS_OK)
        return TESS_ERROR_MEMORY;
    p->v = tessi_variant_enter(program, p->args, NULL, &p->failure);
    if (!p->v)
        return (tess_status)p->failure.status;
    mtx_unlock(&p->v->lock); /* its graph is there, and stays */
    return make(p) ? TESS_OK : (tess_status)p->failure.status;
}

tess_status tess_parts_new(tess_program *program, const tess_args *args, tess_parts **parts)
{
    if (!parts)
        return TESS_ERROR_ARGUMENT;
    *parts = NULL;
    if (!program || !args || args->program != program)
        return TESS_ERROR_ARGUMENT;
    const Rounding callers = tessi_round_to_nearest();
    const tess_status status = tessi_parts_new_on(program, args, -1, parts);
    tessi_round_as(callers);
    return status;
}

const char *tess_parts_error(const tess_parts *p)
{
    return p ? p->failure.text : "";
}

/* ---- What passes are ------------------------------------------------------------------------- */
size_t tess_parts_passes(const tess_parts *p)
{
    return p ? p->passes.n : 0;
}

tess_status tess_parts_pass(tess_parts *p, size_t i, tess_pass *out)
{
    if (!p || !out || out->struct_size != sizeof *out || i >= p->passes.n)
        return TESS_ERROR_ARGUMENT;
    const RunPass *pass = &p->passes.at[i];
    const PartPass *part = &pass->part;
    *out = (tess_pass){ .struct_size = sizeof *out };
    out->ndim = part->n_dims;
    out->numbers = (int)pass->numbers.n;
    out->placed = part->given.n > 0;
    for (int d = 0; d < part->n_dims; d++) {
        if (!tessi_size_eval(part->whole, part->base[d], p->params, &out->shape[d]))
            return TESS_ERROR_ARGUMENT;
        out->cut[d] = part->cut[d];
        out->why[d] = part->why[d];
        out->align[d] = part->cut[d] ? part->align[d] : 1;
        out->margin[d] = part->cut[d] ? tessi_ratio_ceil(part->margin[d]) : 0;
        out->periodic[d] = part->periodic[d] || part->folded[d];
    }
    return TESS_OK;
}

int tess_parts_in_order(const tess_parts *p, size_t i)
{
    bool in_order = false;
    if (p && i < p->passes.n)
        VEC_FOREACH (const PartNumber, number, &p->passes.at[i].numbers)
            in_order = in_order || tessi_stage(p->graph, number->stage)->along;
    return in_order;
}

static int64_t number_of_input(const Graph *g, const char *name)
{
    for (uint32_t i = 0; i < g->inputs.n; i++)
        if (tessi_streq(g->inputs.at[i].name, name))
            return i;
    return -1;
}

tess_part_use tess_parts_use(const tess_parts *p, size_t pass, size_t input)
{
    if (!p || pass >= p->passes.n || input >= p->program->inputs.n)
        return TESS_PART_UNUSED;
    const PartPass *part = &p->passes.at[pass].part;
    const int64_t i = number_of_input(part->whole, p->program->inputs.at[input].info.name);
    return i < 0 || !part->reads[i] ? TESS_PART_UNUSED
           : part->parted[i]        ? TESS_PART_CUT
                                    : TESS_PART_WHOLE;
}

static RunPass *pass_of(tess_parts *p, const tess_part *part)
{
    const bool ok = p && part && part->struct_size == sizeof *part && part->pass < p->passes.n;
    return ok ? &p->passes.at[part->pass] : NULL;
}

static bool check_place(tess_parts *p, const RunPass *pass, const tess_part *part, int d,
                        int64_t whole)
{
    const PartPass *of = &pass->part;
    const int64_t begin = part->begin[d], end = part->end[d];
    if (begin < 0 || end <= begin || end > whole)
        return tessi_failf(
            &p->failure, TESS_ERROR_ARGUMENT,
            "a part from %lld to %lld does not lie in dimension %d of images of %lld",
            (long long)begin, (long long)end, d, (long long)whole);
    if ((begin > 0 || end < whole) && !of->cut[d])
        return tessi_failf(&p->failure, TESS_ERROR_UNSUPPORTED,
                           "parts cannot be computed apart in dimension %d: %s", d, of->why[d]);
    if (begin % of->align[d] || (end < whole && end % of->align[d]))
        return tessi_failf(&p->failure, TESS_ERROR_ARGUMENT,
                           "a part from %lld to %lld in dimension %d, but results are computed in "
                           "steps of %lld",
                           (long long)begin, (long long)end, d, (long long)of->align[d]);
    return true;
}

tess_status tess_part_needs(tess_parts *p, tess_part *part)
{
    RunPass *pass = pass_of(p, part);
    if (!pass)
        return TESS_ERROR_ARGUMENT;
    p->failure = (Failure){ 0 };
    for (int d = 0; d < pass->part.n_dims; d++) {
        int64_t whole = 0;
        tessi_size_eval(pass->part.whole, pass->part.base[d], p->params, &whole);
        if (!check_place(p, pass, part, d, whole))
            return (tess_status)p->failure.status;
        part->from[d] = 0;
        part->to[d] = whole;
        if (part->begin[d] > 0 || part->end[d] < whole)
            tessi_part_range(&pass->part, d, part->begin[d], part->end[d], &part->from[d],
                             &part->to[d]);
    }
    return TESS_OK;
}

/* ---- Bytes ----------------------------------------------------------------------------------- */
/* The parameters of a part: those of the whole's program, and then those that are given. */
static int64_t param_of(const tess_parts *p, const RunPass *pass, const tess_part *part, uint32_t i)
{
    const Graph *g = pass->part.graph;
    VEC_FOREACH (const PartGiven, it, &pass->part.given)
        if (i >= p->graph->params.n && tessi_streq(it->name, g->params.at[i].name))
            return tessi_part_points(&pass->part, it->dim, it->step, it->end, part->from[it->dim],
                                     part->to[it->dim]);
    for (int d = 0; d < pass->part.n_dims; d++)
        if (pass->part.param[d] == (int64_t)i)
            return part->to[d] - part->from[d];
    return p->params[i];
}

static bool plan_pass(RunPass *pass, Failure *f)
{
    if (tessi_backend(pass->program)->as_written)
        return true; /* nothing is planned */
    Variant *v = tessi_variant_enter(pass->program, pass->args, NULL, f);
    if (!v)
        return false;
    tess_diags *d = tessi_diags_new();
    Guard guard;
    bool ok = d != NULL;
    if (ok && GUARDED(&guard, &v->arena)) {
        tessi_guard_arena(&guard, &d->arena);
        ok = tessi_pass_plan(pass->program, v, d, f) && tessi_pass_loops(v, f);
        if (ok && tessi_has_transforms(v->plan))
            ok = tessi_failf(f, TESS_ERROR_UNSUPPORTED,
                             "sums are transformed in blocks of rows that are counted from the "
                             "first: parts cannot be computed apart");
    } else {
        ok = tessi_failf(f, TESS_ERROR_MEMORY, "out of memory while compiling");
    }
    tess_diags_free(d);
    tessi_variant_leave(pass->program, v);
    return ok;
}

static bool count_bytes(const tess_parts *p, RunPass *pass, const tess_part *part, Arena *arena,
                        RunBytes *bytes, Failure *f)
{
    Guard guard;
    if (!GUARDED(&guard, arena))
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    Variant *v = tessi_variant_enter(pass->program, pass->args, NULL, f);
    if (!v)
        return false;
    const Graph *g = v->graph;
    int64_t *params = ARENA_NEW_ARRAY(arena, int64_t, g->params.n + 1);
    for (uint32_t i = 0; i < g->params.n; i++)
        params[i] =
            param_of(p, pass, part, i); /* graphs of parts have the parameters of the whole */
    const Backend *b = tessi_backend(pass->program);
    *bytes = tessi_run_bytes(g, b->emit ? v->loops : NULL, params, arena);
    tessi_variant_leave(pass->program, v);
    return true;
}

tess_status tess_part_needs_memory(tess_parts *p, const tess_part *part, tess_part_memory *memory)
{
    RunPass *pass = pass_of(p, part);
    RunBytes bytes = { 0 };
    if (!pass || !memory || memory->struct_size != sizeof *memory)
        return TESS_ERROR_ARGUMENT;
    p->failure = (Failure){ 0 };
    Arena arena;
    tessi_arena_init(&arena, NULL, NULL);
    const Rounding callers = tessi_round_to_nearest();
    const bool ok =
        plan_pass(pass, &p->failure) && count_bytes(p, pass, part, &arena, &bytes, &p->failure);
    tessi_round_as(callers);
    tessi_arena_dispose(&arena);
    memory->images = tessi_part_folds(pass) ? 2 * bytes.images : bytes.images; /* and copies */
    memory->results = bytes.results;
    memory->between = bytes.between + tessi_lines_bytes(p, pass);
    return ok ? TESS_OK : (tess_status)p->failure.status;
}

/* ---- Running --------------------------------------------------------------------------------- */
static bool give_up(tess_parts *p, const tess_args *a)
{
    p->failure = a->failure;
    return false;
}

/* An image of one element, or one of counts. */
static bool bind_given_image(tess_parts *p, RunPass *pass, const PartGiven *it, int64_t *one)
{
    const PartNumber *number = tessi_parts_number(p, it->stage);
    int64_t shape[MAX_DIMS] = { it->kind == GIVEN_COUNTS ? number->n_counts : 1 };
    const ScalarType t = tessi_stage(p->graph, it->stage)->type;
    DLTensor tensor = { .ndim = 1, .shape = shape, .device = { kDLCPU, 0 } };
    tensor.dtype = tessi_dl_type(t);
    *one = number->total.i;
    tensor.data = it->kind == GIVEN_LINES    ? tessi_lines_result(number, &tensor.ndim, shape)
                  : it->kind == GIVEN_COUNTS ? (void *)number->counts
                                             : (void *)one;
    return tess_args_image(pass->args, it->name, &tensor) == TESS_OK || give_up(p, pass->args);
}

static double given_scalar(const tess_parts *p, const RunPass *pass, const PartGiven *it,
                           const tess_part *part)
{
    int64_t n = 0;
    if (it->kind == GIVEN_NUMBER) {
        const Stage *s = tessi_stage(p->graph, it->stage);
        const Value v = tessi_parts_number(p, it->stage)->total;
        return tessi_is_real(s->type) ? v.f : (double)v.i;
    }
    if (it->kind == GIVEN_SIZE) {
        tessi_size_eval(p->graph, it->size, p->params, &n);
        return (double)n;
    }
    const int d = it->dim;
    const PartFold fold = tessi_part_fold(&pass->part, d, part->from[d], part->to[d]);
    const int64_t whole = p->params[pass->part.param[d]], seam = fold.seam;
    if (it->kind == GIVEN_SEAM && fold.split == 0)
        return (double)seam; /* none */
    int64_t from = it->kind == GIVEN_SEAM     ? seam
                   : it->kind == GIVEN_BEHIND ? fold.between
                   : fold.split               ? 0
                                              : part->from[d];
    from = pass->part.periodic[d] ? tessi_floormod(from, whole) : from;
    return (double)tessi_ratio_floor(tessi_ratio_over((Ratio){ from, 1 }, it->step));
}

static bool bind_numbers(tess_parts *p, RunPass *pass, const tess_part *part, int64_t *wide)
{
    const Graph *g = p->graph;
    tess_args *a = pass->args;
    VEC_FOREACH (const PartGiven, it, &pass->part.given) {
        if (it->kind == GIVEN_END)
            continue;
        const bool ok =
            it->is_image
                ? bind_given_image(p, pass, it, wide++)
                : tess_args_scalar(a, it->name, given_scalar(p, pass, it, part)) == TESS_OK;
        if (!ok)
            return it->is_image ? false : give_up(p, a);
    }
    const Graph *of_part = pass->part.graph;
    for (uint32_t i = 0; i < of_part->params.n; i++)
        if (tess_args_scalar(a, of_part->params.at[i].name, (double)param_of(p, pass, part, i))
            != TESS_OK)
            return give_up(p, a);
    VEC_FOREACH (const Scalar, s, &g->scalars) {
        const int64_t k = tessi_input_number(p->program, s->name);
        if (k >= 0 && p->args->scalar_set[k]
            && tess_args_scalar(a, s->name, p->args->scalars[k]) != TESS_OK)
            return give_up(p, a);
    }
    return true;
}

static bool bind_images(tess_parts *p, RunPass *pass, const tess_part *part,
                        const DLTensor *const *images)
{
    for (uint32_t i = 0; i < p->program->inputs.n; i++) {
        const tess_info *info = &p->program->inputs.at[i].info;
        const tess_part_use use = tess_parts_use(p, part->pass, i);
        if (use == TESS_PART_UNUSED)
            continue;
        if (!images[i])
            return tessi_failf(&p->failure, TESS_ERROR_ARGUMENT, "the image '%s' is not given",
                               info->name);
        const int64_t *whole = p->args->inputs[i].shape;
        for (int d = 0; d < info->ndim; d++) {
            const bool cut = use == TESS_PART_CUT && d < pass->part.n_dims;
            const int64_t want = cut ? part->to[d] - part->from[d] : whole[d];
            if (d >= images[i]->ndim || images[i]->shape[d] != want)
                return tessi_failf(&p->failure, TESS_ERROR_ARGUMENT,
                                   "the part of '%s' needs %lld points in dimension %d, and has "
                                   "%lld",
                                   info->name, (long long)want, d,
                                   (long long)(d < images[i]->ndim ? images[i]->shape[d] : 0));
        }
        if (tess_args_image(pass->args, info->name, images[i]) != TESS_OK)
            return give_up(p, pass->args);
    }
    return true;
}

static bool bind_folded(tess_parts *p, RunPass *pass, const tess_part *part,
                        const DLTensor *const *images)
{
    if (!tessi_part_is_folded(pass, part))
        return bind_images(p, pass, part, images);
    const bool ok = tessi_fold_images(p, pass, part, images)
                    && bind_images(p, pass, part, (const DLTensor *const *)pass->folded);
    if (!ok)
        tessi_folded_free(pass);
    return ok;
}

/* The results of the part before stay as they are: this one has others' memory. */
static bool take_turns(RunPass *pass)
{
    const uint32_t n = pass->program->outputs.n;
    if (!pass->spare && !(pass->spare = calloc(n + 1, sizeof *pass->spare)))
        return false;
    for (uint32_t o = 0; o < n; o++) {
        BoundImage *b = &pass->args->outputs[o], before = *b;
        *b = pass->spare[o];
        b->tensor.shape = b->shape;
        b->tensor.strides = b->strides;
        pass->spare[o] = before;
    }
    return true;
}

/* The stage that output o of a pass is, of the whole's graph. */
static StageId stage_of_output(const RunPass *pass, uint32_t o)
{
    if (pass->numbers.n == 0)
        return pass->part.whole->outputs.at[o].channels.at[0].stage;
    VEC_FOREACH (const PartNumber, number, &pass->numbers)
        if (number->output == o)
            return number->parts;
    return (StageId){ 0 };
}

/* What a part decides of a stage in dimension d: from point *first on *n points. False: all of it, as in any part. */
static bool find_share(const tess_parts *p, const RunPass *pass, const tess_part *part,
                       StageId source, int d, int64_t *first, int64_t *n)
{
    const PartPass *of = &pass->part;
    if (!tessi_part_cuts(of, source, d))
        return false;
    int64_t whole = 0, extent = 0;
    tessi_size_eval(of->whole, of->base[d], p->params, &whole);
    tessi_size_eval(of->whole, tessi_stage(of->whole, source)->size[d], p->params, &extent);
    *first = tessi_part_point(of, source, d, part->begin[d]);
    *first = *first < extent ? *first : extent; /* it may end before the part */
    const int64_t end = tessi_part_point(of, source, d, part->end[d]);
    const int64_t last = part->end[d] == whole || end > extent ? extent : end;
    *n = last > *first ? last - *first : 0;
    return true;
}

tess_status tess_part_share(tess_parts *p, const tess_part *part, size_t output,
                            int64_t place[TESS_MAX_SHAPE], int64_t shape[TESS_MAX_SHAPE])
{
    const RunPass *pass = pass_of(p, part);
    int n;
    if (!pass || pass->numbers.n || output >= p->program->outputs.n || !place || !shape
        || tess_result_shape(p->program, p->args, output, &n, shape) != TESS_OK)
        return TESS_ERROR_ARGUMENT;
    const StageId stage = stage_of_output(pass, (uint32_t)output);
    for (int d = 0; d < n; d++) {
        place[d] = 0;
        find_share(p, pass, part, stage, d, &place[d], &shape[d]);
    }
    return TESS_OK;
}

int64_t tessi_part_first(const tess_parts *p, const tess_part *part, size_t output)
{
    const RunPass *pass = &p->passes.at[part->pass];
    const StageId source = stage_of_output(pass, (uint32_t)output);
    return tessi_part_cuts(&pass->part, source, 0)
               ? tessi_part_point(&pass->part, source, 0, part->from[0])
               : 0;
}

bool tessi_part_shapes(tess_parts *p, const tess_part *part)
{
    const RunPass *pass = &p->passes.at[part->pass];
    for (uint32_t i = 0; i < p->graph->params.n; i++)
        if (tess_args_scalar(pass->args, p->graph->params.at[i].name,
                             (double)param_of(p, pass, part, i))
            != TESS_OK)
            return give_up(p, pass->args);
    for (uint32_t i = 0; i < p->program->inputs.n; i++) {
        const tess_part_use use = tess_parts_use(p, part->pass, i);
        int64_t shape[MAX_DIMS + 1];
        if (use == TESS_PART_UNUSED || p->program->inputs.at[i].info.kind > TESS_MASK)
            continue;
        DLTensor t = p->args->inputs[i].tensor;
        memcpy(shape, p->args->inputs[i].shape, sizeof shape);
        for (int d = 0; use == TESS_PART_CUT && d < pass->part.n_dims; d++)
            shape[d] = part->to[d] - part->from[d];
        t.shape = shape;
        if (tess_args_shape(pass->args, p->program->inputs.at[i].info.name, &t) != TESS_OK)
            return give_up(p, pass->args);
    }
    return true;
}

/* What a part decides of a result, as a part of what it has computed. */
static bool take_result(tess_parts *p, RunPass *pass, const tess_part *part, uint32_t o)
{
    const DLTensor *made;
    if (tess_args_result(pass->args, o, &made) != TESS_OK)
        return false;
    const StageId source = stage_of_output(pass, o);
    DLTensor *result = &p->results[o];
    *result = *made;
    result->shape = p->shapes[o];
    int64_t skip = 0;
    for (int d = 0; d < made->ndim; d++) {
        result->shape[d] = made->shape[d];
        p->places[o][d] = 0;
        if (find_share(p, pass, part, source, d, &p->places[o][d], &result->shape[d]))
            skip += (p->places[o][d]
                     - tessi_part_point(&pass->part, source, d, tessi_part_base(pass, part, d)))
                    * made->strides[d];
    }
    result->byte_offset += (uint64_t)skip * (made->dtype.bits / 8u);
    return true;
}

/* Numbers of whole images go on where the part before has ended. */
static bool check_order(tess_parts *p, RunPass *pass, const tess_part *part)
{
    const PartPass *of = &pass->part;
    if (of->n_dims == 0)
        return true;
    bool whole = part->apart || part->begin[0] == pass->next;
    for (int d = 1; d < of->n_dims; d++) {
        int64_t n = 0;
        tessi_size_eval(of->whole, of->base[d], p->params, &n);
        whole = whole && part->begin[d] == 0 && part->end[d] == n;
    }
    return whole
           || tessi_failf(&p->failure, TESS_ERROR_ARGUMENT,
                          "numbers of whole images are taken of parts in order, of whole rows: the "
                          "next one begins at %lld",
                          (long long)pass->next);
}

static bool add_to_numbers(tess_parts *p, RunPass *pass, const tess_part *part)
{
    if (!check_order(p, pass, part)
        || ((pass->next == 0 || part->apart) && !tessi_part_reduce_start(p, pass, &p->failure)))
        return false;
    if (part->apart && tess_parts_in_order(p, part->pass))
        return tessi_failf(&p->failure, TESS_ERROR_UNSUPPORTED,
                           "what goes along the rows takes them in order: parts cannot be computed "
                           "apart");
    if (part->apart)
        return tessi_part_reduce_apart(p, pass, part->begin[0], part->end[0])
               || tessi_failf(&p->failure, TESS_ERROR_MEMORY, "out of memory");
    int64_t whole = 0;
    if (pass->part.n_dims)
        tessi_size_eval(pass->part.whole, pass->part.base[0], p->params, &whole);
    VEC_FOREACH (PartNumber, number, &pass->numbers)
        if (tessi_part_adds(pass, number, pass->part.n_dims ? part->begin[0] : 0))
            tessi_part_reduce(p, number, &p->results[number->output]);
    pass->next = pass->part.n_dims ? part->end[0] : 0;
    pass->is_done = pass->next == whole;
    if (pass->is_done) {
        tessi_part_reduce_end(p, pass);
        pass->next = 0;
    }
    return true;
}

/* The rows of an image itself, where a number is taken of one that is given: nothing has to be computed. */
static bool take_input(tess_parts *p, const RunPass *pass, const tess_part *part, uint32_t o,
                       const DLTensor *const *images)
{
    const Stage *s = tessi_stage(p->graph, stage_of_output(pass, o));
    if (s->kind != STAGE_INPUT || p->graph->inputs.at[s->image].channels.n != 1)
        return false;
    const int64_t k = tessi_input_number(p->program, p->graph->inputs.at[s->image].name);
    const DLTensor *t = k >= 0 ? images[k] : NULL;
    ScalarType type;
    if (!t || t->device.device_type != kDLCPU || t->ndim != s->n_dims || t->ndim < 1
        || !tessi_scalar_type(t->dtype, &type) || type != s->type)
        return false;
    const bool cut = pass->part.parted[s->image];
    int64_t stride = 1, skip = 0;
    for (int d = t->ndim - 1; d >= 0; d--) {
        const int64_t due = cut ? part->to[d] - part->from[d] : p->args->inputs[k].shape[d];
        if (t->shape[d] != due || (cut && pass->part.periodic[d]))
            return false;
        p->strides[o][d] = t->strides ? t->strides[d] : stride;
        p->shapes[o][d] = cut ? part->end[d] - part->begin[d] : due;
        skip += cut ? (part->begin[d] - part->from[d]) * p->strides[o][d] : 0;
        stride *= due;
    }
    p->results[o] = *t;
    p->results[o].shape = p->shapes[o];
    p->results[o].strides = p->strides[o];
    p->results[o].byte_offset += (uint64_t)skip * (t->dtype.bits / 8u);
    return p->strides[o][t->ndim - 1] == 1; /* rows lie in one piece */
}

static bool take_inputs(tess_parts *p, const RunPass *pass, const tess_part *part,
                        const DLTensor *const *images)
{
    bool ok = pass->numbers.n > 0;
    for (uint32_t o = 0; ok && o < pass->program->outputs.n; o++)
        ok = take_input(p, pass, part, o, images);
    return ok;
}

/* Where a part's results go: to memory of the library, or (results) of others. */
typedef struct PartPlace {
    const DLTensor *const *results; /* by output; NULL among them: the library's */
    const PartRows *rows;           /* by output; NULL: all are stored */
    void *stream;
} PartPlace;

static bool bind_results(tess_parts *p, RunPass *pass, const PartPlace *place)
{
    if (!place->results)
        return pass->numbers.n || take_turns(pass)
               || tessi_failf(&p->failure, TESS_ERROR_MEMORY, "out of memory");
    for (uint32_t o = 0; o < pass->program->outputs.n; o++) {
        const PartRows *rows = place->rows ? &place->rows[o] : NULL;
        if (tess_args_output(pass->args, o, place->results[o]) != TESS_OK)
            return give_up(p, pass->args);
        pass->args->outputs[o].is_window = place->results[o] && rows && rows->is_window;
        if (pass->args->outputs[o].is_window) {
            pass->args->outputs[o].skip = rows->skip;
            pass->args->outputs[o].wanted = rows->wanted;
        }
    }
    return true;
}

static bool run_part(tess_parts *p, RunPass *pass, const tess_part *part,
                     const DLTensor *const *images, const PartPlace *place)
{
    Guard guard;
    for (size_t i = 0; i < part->pass; i++)
        if (!p->passes.at[i].is_done)
            return tessi_failf(&p->failure, TESS_ERROR_ARGUMENT,
                               "pass %zu comes before: it gives numbers that this one needs", i);
    if (!GUARDED(&guard, &p->arena))
        return tessi_failf(&p->failure, TESS_ERROR_MEMORY, "out of memory");
    int64_t wide[64]; /* as many as pixels have fields, and more */
    if (pass->part.given.n > sizeof wide / sizeof *wide)
        return tessi_failf(&p->failure, TESS_ERROR_UNSUPPORTED,
                           "the program takes more than 64 numbers of whole images");
    if (!bind_numbers(p, pass, part, wide) || !bind_folded(p, pass, part, images)
        || !bind_results(p, pass, place))
        return false;
    const bool ran = tess_run(pass->program, pass->args, place->stream) == TESS_OK;
    tessi_folded_free(pass);
    if (!ran)
        return give_up(p, pass->args);
    if (place->results)
        return true;
    for (uint32_t o = 0; o < pass->program->outputs.n; o++)
        if (!take_result(p, pass, part, o))
            return tessi_failf(&p->failure, TESS_ERROR_INTERNAL, "a part has no result");
    return pass->numbers.n == 0 || add_to_numbers(p, pass, part);
}

tess_status tessi_run_part_on(tess_parts *p, const tess_part *part, const DLTensor *const *images,
                              const DLTensor *const *results, const PartRows *rows, void *stream)
{
    const PartPlace place = { results, rows, stream };
    RunPass *pass = pass_of(p, part);
    tess_part needs;
    if (!pass || !images)
        return TESS_ERROR_ARGUMENT;
    needs = *part;
    if (tess_part_needs(p, &needs) != TESS_OK)
        return (tess_status)p->failure.status;
    const Rounding callers = tessi_round_to_nearest();
    const bool ok = take_inputs(p, pass, &needs, images)
                        ? add_to_numbers(p, pass, &needs)
                        : plan_pass(pass, &p->failure) && run_part(p, pass, &needs, images, &place);
    tessi_round_as(callers);
    return ok ? TESS_OK : (tess_status)p->failure.status;
}

tess_status tess_run_part(tess_parts *p, const tess_part *part, const DLTensor *const *images)
{
    return tessi_run_part_on(p, part, images, NULL, NULL, NULL);
}

tess_status tess_part_result(const tess_parts *p, size_t output, const DLTensor **tensor,
                             int64_t place[TESS_MAX_SHAPE])
{
    if (!p || !tensor || output >= p->program->outputs.n || !p->results)
        return TESS_ERROR_ARGUMENT;
    *tensor = &p->results[output];
    for (int d = 0; place && d < TESS_MAX_SHAPE; d++)
        place[d] = d < (*tensor)->ndim ? p->places[output][d] : 0;
    return TESS_OK;
}
