/* How sums over masks are computed, as text. */
#include "graph/graph.h"

static void add_error(Text *out, double error)
{
    tessi_text_addf(out, "%.1e", error);
}

void tessi_mask_form_print(const MaskForm *f, Text *out)
{
    tessi_text_addf(out, "%u weights", (unsigned)f->taps);
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
