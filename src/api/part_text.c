/* tess_parts_text: the programs of parts as texts, for those who run them elsewhere: a scheduler's processes. */
#include <stdlib.h>
#include <string.h>

#include "analysis/passes.h"
#include "api/part.h"
#include "base/rounding.h"

/* ---- Lists ----------------------------------------------------------------------------------- */
static void add_name(Text *out, const char *before, const char *name)
{
    tessi_text_add(out, before);
    tessi_text_json(out, name);
}

static void add_ratio(Text *out, Ratio r)
{
    tessi_text_addf(out, "[%lld, %lld]", (long long)r.num, (long long)r.den);
}

static int64_t size_of(const tess_parts *p, SizeId id)
{
    int64_t n = 0;
    tessi_size_eval(p->graph, id, p->params, &n);
    return n;
}

/* Whether all stages that grow with the images are as large as they are. */
static bool is_alike(const tess_parts *p, const PartPass *pass, int d)
{
    GRAPH_FOREACH_STAGE (p->graph, id) {
        const Stage *s = tessi_stage(p->graph, id);
        if (pass->wanted[id.v] && d < s->n_dims && pass->step[id.v][d].num
            && s->size[d].v != pass->base[d].v)
            return false;
    }
    return true;
}

/* The dimensions of the images that are cut. */
static void add_images(Text *out, const tess_parts *p, const PartPass *pass)
{
    tessi_text_add(out, ", \"dims\": [");
    for (int d = 0; d < pass->n_dims; d++) {
        tessi_text_addf(out, "%s{\"size\": %lld, \"cut\": %s, \"align\": %lld, ", d ? ", " : "",
                        (long long)size_of(p, pass->base[d]), pass->cut[d] ? "true" : "false",
                        (long long)pass->align[d]);
        tessi_text_addf(out, "\"periodic\": %s, \"alike\": %s, \"margin\": ",
                        pass->periodic[d] ? "true" : "false",
                        is_alike(p, pass, d) ? "true" : "false");
        add_ratio(out, pass->margin[d]);
        add_name(out, ", \"why\": ", pass->why[d] ? pass->why[d] : "");
        tessi_text_add(out, "}");
    }
    tessi_text_add(out, "], \"parted\": [");
    const char *between = "";
    VEC_FOREACH (const Image, image, &p->graph->inputs)
        if (pass->parted[image - p->graph->inputs.at] && pass->reads[image - p->graph->inputs.at]) {
            add_name(out, between, image->name);
            between = ", ";
        }
    tessi_text_add(out, "]");
}

/* What the pass computes: how large it is, and how many points of the images one of its points is. */
static void add_target(Text *out, const tess_parts *p, const PartPass *pass, StageId id)
{
    const Stage *s = tessi_stage(p->graph, id);
    tessi_text_add(out, ", \"extent\": [");
    for (int d = 0; d < s->n_dims; d++)
        tessi_text_addf(out, "%s%lld", d ? ", " : "", (long long)size_of(p, s->size[d]));
    tessi_text_add(out, "], \"step\": [");
    for (int d = 0; d < s->n_dims; d++) {
        const bool cuts = tessi_part_cuts(pass, id, d);
        tessi_text_add(out, d ? ", " : "");
        if (cuts)
            add_ratio(out, pass->step[id.v][d]);
        else
            tessi_text_add(out, "null");
    }
    tessi_text_add(out, "]");
}

/* Stages that are numbers of whole images, in their order. */
static uint32_t place_of_number(const Graph *g, StageId of)
{
    uint32_t n = 0;
    GRAPH_FOREACH_STAGE (g, id)
        if (id.v < of.v && tessi_stage_is_number(tessi_stage(g, id)))
            n++;
    return n;
}

static void add_given(Text *out, const tess_parts *p, const PartPass *pass)
{
    tessi_text_add(out, ", \"given\": [");
    VEC_FOREACH (const PartGiven, it, &pass->given) {
        add_name(out, it == pass->given.at ? "{\"name\": " : ", {\"name\": ", it->name);
        if (it->kind == GIVEN_OFFSET) {
            tessi_text_addf(out, ", \"offset\": %d, \"step\": ", it->dim);
            add_ratio(out, it->step);
        } else if (it->kind == GIVEN_SIZE) {
            tessi_text_addf(out, ", \"value\": %lld", (long long)size_of(p, it->size));
        } else {
            tessi_text_addf(out, ", \"number\": %u", place_of_number(p->graph, it->stage));
        }
        tessi_text_add(out, "}");
    }
    tessi_text_add(out, "]");
}

/* Whether the size of an image that the pass reads is this parameter. */
static bool is_told(const tess_parts *p, const PartPass *pass, uint32_t param)
{
    VEC_FOREACH (const Image, image, &p->graph->inputs)
        for (int d = 0; d < image->n_dims; d++) {
            const Size *s = tessi_size(p->graph, image->size[d]);
            if (pass->reads[image - p->graph->inputs.at] && s->kind == SIZE_OF_PARAM
                && s->param == param)
                return true;
        }
    return false;
}

static void add_params(Text *out, const tess_parts *p, const PartPass *pass)
{
    const char *between = "";
    tessi_text_add(out, ", \"params\": {");
    for (uint32_t i = 0; i < p->graph->params.n; i++)
        if (!is_told(p, pass, i)) {
            add_name(out, between, p->graph->params.at[i].name);
            tessi_text_addf(out, ": %lld", (long long)p->params[i]);
            between = ", ";
        }
    tessi_text_add(out, "}");
}

/* ---- Passes ---------------------------------------------------------------------------------- */
static void add_pass(Text *out, tess_parts *p, const Image *output, bool whole_rows)
{
    PartPass pass;
    Text graph;
    tessi_part_pass(p->graph, &p->arena, p->params, output, whole_rows ? &whole_rows : NULL, 1, 0,
                    &pass);
    graph = tessi_text_new(&p->arena);
    tessi_graph_print(tessi_graph_exact_passes(pass.graph, &p->arena, false), &graph);
    add_name(out, "\"text\": ", tessi_text_str(&graph));
    add_images(out, p, &pass);
    add_target(out, p, &pass, output->channels.at[0].stage);
    add_given(out, p, &pass);
    add_params(out, p, &pass);
}

static void add_number(Text *out, tess_parts *p, StageId id)
{
    const Graph *g = p->graph;
    const Stage *s = tessi_stage(g, id), *source = tessi_stage(g, s->source);
    const bool counts = s->kind == STAGE_HISTOGRAM;
    const Image rows = tessi_part_image(&p->arena, g, s->source, 0);
    tessi_text_addf(out, "{\"reduction\": \"%s\", \"source\": \"%s\", \"type\": \"%s\", ",
                    counts ? "histogram" : tessi_reduction_name(s->reduction),
                    tessi_type_info(source->type)->name, tessi_type_info(s->type)->name);
    if (counts)
        tessi_text_addf(out, "\"counts\": %lld, ", (long long)size_of(p, s->size[0]));
    add_pass(out, p, &rows, !counts);
    tessi_text_add(out, "}");
}

static bool add_all(tess_parts *p, Text *out)
{
    Guard guard;
    if (!GUARDED(&guard, &p->arena))
        return tessi_failf(&p->failure, TESS_ERROR_MEMORY, "out of memory");
    *out = tessi_text_new(&p->arena);
    tessi_text_add(out, "{\"results\": [");
    for (uint32_t o = 0; o < p->graph->outputs.n; o++) {
        tessi_text_add(out, o ? ",\n{" : "{");
        add_pass(out, p, &p->graph->outputs.at[o], false);
        tessi_text_add(out, "}");
    }
    tessi_text_add(out, "],\n\"numbers\": [");
    const char *between = "";
    GRAPH_FOREACH_STAGE (p->graph, id)
        if (tessi_stage_is_number(tessi_stage(p->graph, id))) {
            tessi_text_add(out, between);
            add_number(out, p, id);
            between = ",\n";
        }
    tessi_text_add(out, "]}\n");
    return true;
}

tess_status tess_parts_text(tess_parts *p, char **json)
{
    Text out;
    if (!p || !json || !p->passes.n)
        return TESS_ERROR_ARGUMENT;
    *json = NULL;
    p->failure = (Failure){ 0 };
    const Rounding callers = tessi_round_to_nearest();
    if (add_all(p, &out) && !(*json = strdup(tessi_text_str(&out))))
        tessi_failf(&p->failure, TESS_ERROR_MEMORY, "out of memory");
    tessi_round_as(callers);
    return (tess_status)p->failure.status;
}
