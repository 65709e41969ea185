/* The typing rules of loop expressions. */
#include "loop/loop_private.h"

/* INDEX has the arithmetic of coordinates only: what never overflows and never traps. */
static bool fits_index(Op op)
{
    switch (op) {
    case OP_NEG:
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_MIN:
    case OP_MAX:
    case OP_EQ:
    case OP_NE:
    case OP_LT:
    case OP_LE:
    case OP_FLOORDIV:
    case OP_FLOORMOD: return true;
    default: return false;
    }
}

bool tessi_loop_op_fits(Op op, const ScalarType *types)
{
    const OpInfo *info = tessi_op_info(op);
    if (op == OP_SELECT)
        return types[0] == TYPE_BOOL && types[1] == types[2];
    for (int i = 1; i < info->n_args; i++)
        if (types[i] != types[0])
            return false;
    ScalarType t = types[0];
    if (t == TYPE_INDEX)
        return fits_index(op);
    return tessi_op_takes(op, t);
}
