/* How windows with weights that are known are computed, as text. */
#include "graph/graph.h"

static void add_error(Text *out, double error)
{
    tessi_text_addf(out, "%.1e", error);
}

static void add_count(const MaskForm *f, Text *out)
{
    tessi_text_addf(out, "%u", (unsigned)f->taps);
    if (f->points > f->taps)
        tessi_text_addf(out, " of %u", (unsigned)f->points);
}

/* Minima and the like: any order gives the same. */
static void add_other(const MaskForm *f, Text *out)
{
    if (f->reduction == REDUCE_MEDIAN && !f->network) {
        tessi_text_addf(out, "the median of a window of %u points, sorted at each point",
                        (unsigned)f->points);
        return;
    }
    tessi_text_addf(out, "the %s of ", tessi_reduction_name(f->reduction));
    add_count(f, out);
    tessi_text_add(out, " values");
    if (f->network)
        tessi_text_addf(out, " by a network of %u minima and maxima", (unsigned)f->network);
    else if (f->terms || f->parts)
        tessi_text_addf(out, " from %u", (unsigned)f->steps);
    else
        tessi_text_add(out, ", one after the other");
    if (f->terms)
        tessi_text_add(out, ", along one dimension after the other");
    if (f->parts)
        tessi_text_addf(out, ", by %u stage%s of partial results", (unsigned)f->parts,
                        f->parts == 1 ? "" : "s");
}

void tessi_mask_form_print(const MaskForm *f, Text *out)
{
    if (f->reduction != REDUCE_SUM) {
        add_other(f, out);
        return;
    }
    add_count(f, out);
    tessi_text_add(out, f->points > f->taps ? " weights, the others 0," : " weights");
    if (f->terms || f->parts || f->folded)
        tessi_text_addf(out, " applied as %u", (unsigned)f->steps);
    else
        tessi_text_add(out, " applied as written");
    if (f->terms)
        tessi_text_addf(out, " in %u product%s of a column and a row", (unsigned)f->terms,
                        f->terms == 1 ? "" : "s");
    if (f->parts)
        tessi_text_addf(out, " by %u stage%s of partial sums", (unsigned)f->parts,
                        f->parts == 1 ? "" : "s");
    if (f->folded)
        tessi_text_add(out, ", values under equal columns added first");
    if (f->asked != METHOD_AUTO)
        tessi_text_addf(out, ", as 'method = %s' asks", tessi_method_name(f->asked));
    if (f->exact) {
        tessi_text_add(out, "; exact");
        return;
    }
    tessi_text_add(out, "; off by at most ");
    add_error(out, f->error);
    tessi_text_add(out, " of sum |weight * value|");
    if (f->terms || f->parts || f->folded) {
        tessi_text_add(out, ", as written by ");
        add_error(out, f->error_written);
    }
}
