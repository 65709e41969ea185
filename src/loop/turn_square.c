/* Blocks turned over by rounds that take the elements of two lines by turns, which vectors do:
 *
 *   line 2 k, line 2 k + 1 of the next = elements of lines k and k + n / 2 by turns
 *
 * As the elements of a block stand one behind the other, the bits of their places go round by one. When they have gone
 * round as often as the number of a line has bits, the number of the line and that of the column have changed over. */
#include "loop/turn_square.h"

#include "loop/pass.h"

int tessi_turn_rounds(int64_t edge)
{
    int n = 0;
    while (edge >> (n + 1))
        n++;
    return n;
}

static void take_turns(LoopProgram *p, int64_t half, LBufferId from, LBufferId into, LBlock *to)
{
    LExprId i, k;
    LStmt *lines = tessi_pass_each(p, "k", tessi_lexpr_index(p, half), 0, to, &k);
    for (int64_t part = 0; part < 2; part++) {
        LStmt *line =
            tessi_pass_each(p, "i", tessi_lexpr_index(p, half), LFOR_SIMD, &lines->body, &i);
        const LExprId two = tessi_lexpr_index(p, 2),
                      row = tessi_pass_plus(p, tessi_pass_op(p, OP_MUL, k, two), part),
                      column = tessi_pass_op(p, OP_MUL, i, two),
                      at = tessi_pass_plus(p, i, part * half);
        const LExprId upper[2] = { k, at }, lower[2] = { tessi_pass_plus(p, k, half), at };
        tessi_pass_store(p, into, row, column, tessi_lexpr_load(p, from, upper, 2), &line->body);
        tessi_pass_store(p, into, row, tessi_pass_plus(p, column, 1),
                         tessi_lexpr_load(p, from, lower, 2), &line->body);
    }
}

void tessi_turn_square(LoopProgram *p, int64_t edge, const LBufferId at[2], LBlock *to)
{
    for (int rounds = tessi_turn_rounds(edge); rounds > 0; rounds--)
        take_turns(p, edge / 2, at[rounds % 2], at[(rounds + 1) % 2], to);
}
