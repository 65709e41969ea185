/* The order of the passes that keep every bit. */
#include "analysis/passes.h"
#include "graph/graph_passes.h"

Graph *tessi_graph_exact_passes(const Graph *g, Arena *a)
{
    Graph *work = tessi_graph_copy_live(g, a);
    work = tessi_graph_common_windows(work, a);
    tessi_pass_median(work, a);
    tessi_pass_inside(work); /* of what stages and medians made anew read */
    tessi_pass_narrow(work, a);
    return tessi_graph_copy_live(work, a);
}
