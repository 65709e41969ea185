/* The order of the passes that keep every bit. */
#include "analysis/passes.h"
#include "graph/graph_passes.h"

Graph *tessi_graph_exact_passes(const Graph *g, Arena *a, bool packed)
{
    Arena *scratch = tessi_scratch_open(a);
    Graph *work = tessi_graph_copy_live(g, scratch);
    work = tessi_graph_same_stages(work, scratch);
    tessi_pass_short(work);
    work = packed ? tessi_graph_pixels(work, scratch) : work;
    work = tessi_graph_common_windows(work, scratch);
    tessi_pass_median(work, scratch);
    tessi_pass_inside(work); /* of what stages and medians made anew read */
    tessi_pass_phases(work, scratch);
    tessi_pass_narrow(work, scratch);
    tessi_pass_copies(work, scratch);
    Graph *done = tessi_graph_copy_live(work, a);
    tessi_scratch_close(scratch);
    return done;
}

Graph *tessi_graph_for_processors(Graph *g, Arena *a)
{
    g = tessi_graph_phases_asked(g, a);
    g = tessi_graph_whole_numbers(g, a);
    return tessi_graph_bytes_in_tables(g, a);
}
