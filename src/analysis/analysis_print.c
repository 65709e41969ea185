/* The analyses as text, for people and for tests. */
#include <math.h>

#include "analysis/analysis.h"

Analysis *tessi_analyse(const Graph *g, Arena *a)
{
    Analysis *an = ARENA_NEW(a, Analysis);
    an->g = g;
    tessi_analyse_footprints(an, a);
    tessi_analyse_ranges(an, a);
    tessi_analyse_masks(an, a);
    tessi_analyse_costs(an, a);
    return an;
}

static void print_dim(const Graph *g, const AccessRange *d, Text *out)
{
    if (d->dynamic) {
        tessi_text_add(out, "any");
        return;
    }
    if (d->src >= 0) {
        if (d->scale != 1)
            tessi_text_addf(out, "%d*", d->scale);
        tessi_text_addf(out, "i%d + ", d->src);
    }
    if (d->base.v) {
        tessi_size_print(g, d->base, out);
        tessi_text_add(out, " + ");
    }
    if (d->lo == d->hi)
        tessi_text_addf(out, "%lld", (long long)d->lo);
    else
        tessi_text_addf(out, "%lld..%lld", (long long)d->lo, (long long)d->hi);
}

static void print_footprint(const Graph *g, const Footprint *f, Text *out)
{
    tessi_text_addf(out, "    reads %s", tessi_stage(g, f->producer)->name);
    for (uint32_t d = 0; d < f->n_dims; d++) {
        tessi_text_add(out, d ? ", " : " at [");
        print_dim(g, &f->dim[d], out);
    }
    tessi_text_addf(out, "%s in %u access%s\n", f->n_dims ? "]" : "", (unsigned)f->n_accesses,
                    f->n_accesses == 1 ? "" : "es");
}

static void print_range(ScalarType t, const ValueRange *r, Text *out)
{
    tessi_text_add(out, "    values ");
    if (!tessi_is_real(t)) {
        tessi_text_addf(out, "%lld .. %lld\n", (long long)r->i.lo, (long long)r->i.hi);
        return;
    }
    tessi_text_add_real(out, r->lo, false);
    tessi_text_add(out, " .. ");
    tessi_text_add_real(out, r->hi, false);
    tessi_text_add(out, r->maybe_nan ? " or nan\n" : "\n");
}

static void print_mask(const MaskInfo *m, Text *out)
{
    tessi_text_addf(out, "    mask %ux%u from [%lld, %lld], rank %u\n", (unsigned)m->rows,
                    (unsigned)m->cols, (long long)m->row0, (long long)m->col0, (unsigned)m->rank);
    if (m->rank != 1 || m->rows == 1 || m->cols == 1)
        return;
    tessi_text_add(out, "        = column");
    for (uint32_t i = 0; i < m->rows; i++) {
        tessi_text_add(out, " ");
        tessi_text_add_real(out, m->column[i], true);
    }
    tessi_text_add(out, "\n        * row");
    for (uint32_t j = 0; j < m->cols; j++) {
        tessi_text_add(out, " ");
        tessi_text_add_real(out, m->row[j], true);
    }
    tessi_text_add(out, "\n");
}

/* A count, with one decimal where it has a fraction. */
static void print_number(double x, Text *out)
{
    double tenths = floor(x * 10 + 0.5) / 10;
    if (tenths == floor(tenths))
        tessi_text_addf(out, "%.0f", tenths);
    else
        tessi_text_addf(out, "%.1f", tenths);
}

static void print_cost(const StageCost *c, Text *out)
{
    tessi_text_add(out, "    a point costs");
    for (int k = 0; k < N_OP_CLASSES; k++) {
        if (c->ops[k] <= 0)
            continue;
        tessi_text_add(out, " ");
        print_number(c->ops[k], out);
        tessi_text_addf(out, " %s,", tessi_op_class_name((OpClass)k));
    }
    tessi_text_add(out, " ");
    print_number(c->loads, out);
    tessi_text_add(out, " loads, ");
    print_number(c->distinct_bytes, out);
    tessi_text_add(out, " bytes in, ");
    print_number(c->stored_bytes, out);
    tessi_text_add(out, " bytes out\n");
}

void tessi_analysis_print(const Analysis *an, const Graph *g, Text *out)
{
    uint32_t footprint = 0, mask = 0;
    GRAPH_FOREACH_STAGE (g, id) {
        const Stage *s = tessi_stage(g, id);
        tessi_text_addf(out, "stage %s: %s\n", s->name, tessi_type_info(s->type)->name);
        print_range(s->type, &an->stage_range[id.v], out);
        for (; footprint < an->footprints.n && an->footprints.at[footprint].consumer.v == id.v;
             footprint++)
            print_footprint(g, &an->footprints.at[footprint], out);
        for (; mask < an->masks.n && an->masks.at[mask].stage.v == id.v; mask++)
            print_mask(&an->masks.at[mask], out);
        if (s->kind != STAGE_INPUT && s->kind != STAGE_CARRIED)
            print_cost(&an->cost[id.v], out);
    }
}
