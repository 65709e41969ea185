/* The simplifier: masks, unrolling, compile-time tables, and the one decision about rounding, between two copies
 * that drop what is dead. */
#include "graph/graph_passes.h"

static Graph *simplify(const Graph *g, Arena *a, FpMode fp, MaskChoice choice)
{
    Arena *scratch = tessi_scratch_open(a);
    Graph *work = tessi_graph_copy_with_masks(g, scratch, fp, choice);
    tessi_pass_unroll(work, choice.keeps_given);
    tessi_pass_constants(work);
    tessi_pass_inside(work);
    tessi_pass_rounding(work, fp);
    work->fp = fp;
    work->masks_written = choice.as_written;
    Graph *done = tessi_graph_copy_turned(work, a);
    tessi_scratch_close(scratch);
    return done;
}

Graph *tessi_graph_simplify(const Graph *g, Arena *a, FpMode fp)
{
    return simplify(g, a, fp, (MaskChoice){ 0 });
}

Graph *tessi_graph_simplify_rolled(const Graph *g, Arena *a, FpMode fp)
{
    return simplify(g, a, fp, (MaskChoice){ .keeps_given = true });
}

Graph *tessi_graph_simplify_as_written(const Graph *g, Arena *a, FpMode fp)
{
    return simplify(g, a, fp, (MaskChoice){ .as_written = true });
}
