/* The pass `lanes`: SIMD loops that no other pass has a better form for become loops over vectors. */
#include "loop/loop_passes.h"
#include "loop/vector.h"

static bool rewrite(Vectors *v, LStmt *loop, LBlock *out)
{
    if (v->repeatable)
        tessi_vector_overlapping(v, loop, v->copies, tessi_vector_steps, out);
    else
        tessi_vector_with_rest(v, loop, out);
    return true;
}

void tessi_loop_lanes(LoopProgram *p)
{
    tessi_vector_visit(p, rewrite);
}
