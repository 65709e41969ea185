/* The passes of a program over images in parts: one for each depth of numbers of whole images, in the order in which
 * these need each other, and one for the results. */
#include <stdlib.h>
#include <string.h>

#include "analysis/passes.h"
#include "api/backend.h"
#include "api/part.h"
#include "graph/graph_fold.h"
#include "graph/graph_walk.h"

/* ---- Depths ---------------------------------------------------------------------------------- */
/* Parts on one of several devices are computed beside each other, and what goes along the rows takes them in order. */
static bool is_number(const tess_parts *p, const Stage *s)
{
    return tessi_stage_is_number(s) || (p->device < 0 && tessi_part_is_lines(p->graph, s));
}

/* By StageId: how many passes there must have been before the stage can be computed. */
static uint32_t *find_depths(const tess_parts *p, Arena *a)
{
    const Graph *g = p->graph;
    uint32_t *depth = ARENA_NEW_ARRAY(a, uint32_t, g->stages.n);
    ExprWalk walk = { .arena = a };
    GRAPH_FOREACH_STAGE (g, id) {
        const Stage *s = tessi_stage(g, id);
        uint32_t most = depth[s->source.v] + is_number(p, s);
        VEC_FOREACH (const Piece, piece, &s->pieces) {
            const ExprList *list = tessi_expr_walk(&walk, g, &piece->body, 1);
            VEC_FOREACH (const ExprId, at, list) {
                const Expr *e = tessi_expr(g, *at);
                const uint32_t of =
                    e->kind == EXPR_LOAD ? depth[tessi_access(g, e->access)->producer.v] : 0;
                most = of > most ? of : most;
            }
        }
        depth[id.v] = most;
    }
    return depth;
}

/* ---- Rows ------------------------------------------------------------------------------------ */
/* A reduction along the last dimension: the results of the rows of a number, in the type in which they are combined. */
static Stage rows_of(const Graph *g, const Stage *number)
{
    const Stage *source = tessi_stage(g, number->source);
    Stage rows = { .span = number->span,
                   .kind = STAGE_REDUCE,
                   .reduction = number->reduction == REDUCE_MEAN ? REDUCE_SUM : number->reduction,
                   .source = number->source,
                   .along = source->n_dims };
    rows.type = tessi_accumulator_type(rows.reduction, source->type);
    while (rows.n_dims + 1 < source->n_dims) {
        rows.size[rows.n_dims] = source->size[rows.n_dims];
        rows.n_dims++;
    }
    return rows;
}

/* Rows are images, which have no truth values. */
static bool has_rows(const Graph *g, const Stage *s)
{
    return s->kind == STAGE_REDUCE && tessi_stage_is_number(s)
           && tessi_stage(g, s->source)->n_dims > 1 && rows_of(g, s).type != TYPE_BOOL;
}

/* The stage with the rows of a number; what it is taken of where it has none. */
static StageId find_rows(const Graph *g, const Stage *number)
{
    if (!has_rows(g, number))
        return number->source;
    const Stage rows = rows_of(g, number);
    GRAPH_FOREACH_STAGE (g, id) {
        const Stage *s = tessi_stage(g, id);
        if (s->kind == STAGE_REDUCE && s->source.v == rows.source.v && !s->keys.v
            && s->along == rows.along && s->reduction == rows.reduction && s->type == rows.type)
            return id;
    }
    return number->source;
}

/* The graph with the rows of all numbers: parts compute these, so that only they have to be fetched and combined. */
static const Graph *with_rows(const Graph *of, Arena *a)
{
    Graph *g = ARENA_NEW(a, Graph);
    *g = *of;
    g->stages.at = NULL;
    g->stages.n = g->stages.cap = 0;
    VEC_APPEND(a, &g->stages, &of->stages);
    GRAPH_FOREACH_STAGE (of, id) {
        const Stage *number = tessi_stage(of, id);
        if (!has_rows(g, number) || find_rows(g, number).v != number->source.v)
            continue;
        Stage rows = rows_of(g, number);
        rows.name = rows.wanted = tessi_sprintf(a, "%s.rows", number->name);
        VEC_PUSH(a, &g->stages, rows);
    }
    return g;
}

/* ---- Passes ---------------------------------------------------------------------------------- */
Image tessi_part_image(Arena *a, const Graph *g, StageId id, uint32_t number)
{
    const Stage *s = tessi_stage(g, id);
    Image image = { .name = tessi_sprintf(a, "rows_%u", number),
                    .n_dims = s->n_dims,
                    .pixel_bytes = tessi_type_info(s->type)->bytes };
    memcpy(image.size, s->size, sizeof image.size);
    const Channel channel = { .name = "", .type = s->type, .stage = id };
    VEC_PUSH(a, &image.channels, channel);
    return image;
}

typedef VEC(Image) Images;

/* The numbers of one depth, and what they are taken of as results. */
static void find_numbers(tess_parts *p, const uint32_t *depths, uint32_t depth, RunPass *pass,
                         Images *outputs)
{
    const Graph *g = p->graph;
    GRAPH_FOREACH_STAGE (g, id) {
        const Stage *s = tessi_stage(g, id);
        if (!is_number(p, s) || depths[id.v] != depth)
            continue;
        PartNumber number = { .stage = id, .source = s->source, .parts = find_rows(g, s) };
        while (number.output < outputs->n
               && outputs->at[number.output].channels.at[0].stage.v != number.parts.v)
            number.output++;
        if (number.output == outputs->n) {
            const Image image = tessi_part_image(&p->arena, g, number.parts, outputs->n);
            VEC_PUSH(&p->arena, outputs, image);
        }
        VEC_PUSH(&p->arena, &pass->numbers, number);
    }
}

const Graph *tessi_parts_rolled(tess_program *p, Graph *g, Arena *a)
{
    return tessi_backend(p)->device ? tessi_graph_roll_up(g, a) : g;
}

static bool compile(tess_parts *p, RunPass *pass, bool is_last, Failure *f)
{
    tess_options o = p->program->options;
    Text text;
    tess_diags *diags = NULL;
    const bool named = o.plan && strncmp(o.plan, "preset ", 7) == 0;
    o.forma = 2;
    o.border = NULL;
    o.constants = NULL;
    o.n_constants = 0;
    o.note = NULL;
    o.general = TESS_GENERAL_NEVER;
    if (p->device >= 0) {
        o.device = p->device;
        o.n_devices = 0;
    }
    o.plan = is_last || named ? o.plan : NULL;
    text = tessi_text_new(&p->arena);
    const Graph *g = tessi_parts_rolled(p->program, pass->part.graph, &p->arena);
    tessi_graph_print(tessi_graph_exact_passes(g, &p->arena, p->v->is_packed), &text);
    if (tess_compile(tessi_text_str(&text), text.n, "part", &o, &pass->program, &diags) != TESS_OK)
        tessi_failf(f, TESS_ERROR_INTERNAL, "the program of a part does not compile: %.400s",
                    diags ? tess_diags_text(diags, 0) : "out of memory");
    tess_diags_free(diags);
    if (pass->program)
        pass->program->is_part = p->device >= 0;
    if (!f->status && tess_args_new(pass->program, &pass->args) != TESS_OK)
        tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    return !f->status;
}

static bool add_pass(tess_parts *p, RunPass *pass, const Image *outputs, uint32_t n, Failure *f)
{
    bool sums = false, *whole = ARENA_NEW_ARRAY(&p->arena, bool, n + 1);
    VEC_FOREACH (const PartNumber, number, &pass->numbers)
        if (tessi_stage(p->graph, number->stage)->kind == STAGE_REDUCE) {
            sums = true;
            whole[number->output] |= number->parts.v == number->source.v;
        }
    /* Those on devices have others' memory. */
    const unsigned folds = p->device < 0 ? PART_FOLDS | PART_ENDS | PART_FEWER | PART_LINES : 0;
    tessi_part_pass(p->graph, &p->arena, p->params, outputs, sums ? whole : NULL, n,
                    folds | (sums ? PART_FEWER : 0u), &pass->part);
    const bool ok = compile(p, pass, pass->numbers.n == 0, f);
    VEC_PUSH(&p->arena, &p->passes, *pass); /* which frees it, also when it failed */
    return ok;
}

bool tessi_parts_find(tess_parts *p, Failure *f)
{
    const Graph *g = p->graph = with_rows(p->graph, &p->arena);
    const uint32_t *depths = find_depths(p, &p->arena);
    uint32_t deepest = 0;
    GRAPH_FOREACH_STAGE (g, id)
        if (is_number(p, tessi_stage(g, id)) && depths[id.v] > deepest)
            deepest = depths[id.v];
    for (uint32_t depth = 1; depth <= deepest; depth++) {
        RunPass pass = { 0 };
        Images outputs = { 0 };
        find_numbers(p, depths, depth, &pass, &outputs);
        if (!add_pass(p, &pass, outputs.at, outputs.n, f))
            return false;
    }
    RunPass last = { 0 };
    return add_pass(p, &last, g->outputs.at, g->outputs.n, f);
}

const PartNumber *tessi_parts_number(const tess_parts *p, StageId stage)
{
    VEC_FOREACH (const RunPass, pass, &p->passes)
        VEC_FOREACH (const PartNumber, number, &pass->numbers)
            if (number->stage.v == stage.v)
                return number;
    return NULL;
}
