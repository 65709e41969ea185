/* The list of passes over loops. */
#include "loop/loop_passes.h"

static const LoopPass passes[] = {
#define LOOP_PASS(name, function, meaning) { name, function },
#include "loop/passes.def"
#undef LOOP_PASS
    { 0 }
};

const LoopPass *tessi_loop_passes(void)
{
    return passes;
}
