/* The tables of types.def, ops.def and borders.def, and the small facts about types that follow from them. */
#include "base/scalar.h"
#include "prelude/c.h"

#include <limits.h>
#include <math.h>
#include <string.h>

/* The class letters of the .def files, as characters. */
static const TypeInfo type_infos[N_TYPES] = {
#define TYPE(id, name, brief, ctype, bytes, cls) { name, brief, ctype, bytes, #cls[0] },
#include "base/types.def"
#undef TYPE
};

static const OpInfo op_infos[N_OPS] = {
#define OP(id, name, n_args, infix, domain, result) { name, infix, n_args, #domain[0], #result[0] },
#include "base/ops.def"
#undef OP
};

static const BorderInfo border_infos[N_BORDERS] = {
#define BORDER(id, name, aliases, picture, scipy, opencv) { name, aliases, picture, scipy, opencv },
#include "base/borders.def"
#undef BORDER
};

const TypeInfo *tessi_type_info(ScalarType t)
{
    return &type_infos[t];
}

const OpInfo *tessi_op_info(Op op)
{
    return &op_infos[op];
}

const BorderInfo *tessi_border_info(Border b)
{
    return &border_infos[b];
}

/* Is `word` one of the words in `list`, which are separated by blanks? */
static bool is_in_list(const char *list, const char *word)
{
    size_t n = strlen(word);
    while (*list) {
        size_t length = strcspn(list, " ");
        if (n > 0 && length == n && memcmp(list, word, n) == 0)
            return true;
        list += length;
        list += *list == ' ';
    }
    return false;
}

bool tessi_border_by_name(const char *name, Border *out)
{
    for (unsigned b = 0; b < N_BORDERS; b++)
        if (strcmp(border_infos[b].name, name) == 0 || is_in_list(border_infos[b].aliases, name)) {
            *out = (Border)b;
            return true;
        }
    return false;
}

bool tessi_type_by_name(const char *name, ScalarType *out)
{
    if (strcmp(name, "int") == 0) {
        *out = TYPE_I32;
        return true;
    }
    for (unsigned t = 0; t < N_TYPES; t++)
        if (strcmp(type_infos[t].name, name) == 0 || strcmp(type_infos[t].brief, name) == 0) {
            *out = (ScalarType)t;
            return true;
        }
    return false;
}

bool tessi_op_by_name(const char *name, Op *out)
{
    for (unsigned op = 0; op < N_OPS; op++)
        if (strcmp(op_infos[op].name, name) == 0) {
            *out = (Op)op;
            return true;
        }
    return false;
}

ScalarType tessi_op_result(Op op, ScalarType t)
{
    bool wide = tessi_type_info(t)->bytes == 8;
    switch (tessi_op_info(op)->result) {
    case 'B': return TYPE_BOOL;
    case 'K': return wide ? TYPE_I64 : TYPE_I32;
    case 'R': return wide ? TYPE_F64 : TYPE_F32;
    default: return t;
    }
}

bool tessi_op_takes(Op op, ScalarType t)
{
    if (op == OP_ROUND16)
        return t == TYPE_F32;
    switch (tessi_op_info(op)->domain) {
    case 'N': return tessi_is_integer(t) || t == TYPE_F32 || t == TYPE_F64;
    case 'I': return tessi_is_integer(t) || t == TYPE_BOOL;
    case 'R': return t == TYPE_F32 || t == TYPE_F64;
    case 'A': return t != TYPE_F16;
    case 'K': return t == TYPE_I32 || t == TYPE_I64;
    case 'W': return t == TYPE_U32;
    default: return false; /* X: INDEX only */
    }
}

int tessi_op_precedence(Op op)
{
    switch (op) {
    case OP_OR: return 1;
    case OP_XOR: return 2;
    case OP_AND: return 3;
    case OP_EQ:
    case OP_NE: return 4;
    case OP_LT:
    case OP_LE: return 5;
    case OP_SHL:
    case OP_SHR: return 6;
    case OP_ADD:
    case OP_SUB: return PRECEDENCE_SUM;
    case OP_MUL:
    case OP_DIV:
    case OP_MOD: return PRECEDENCE_PRODUCT;
    default: return 0;
    }
}

bool tessi_op_interval(Op op, Interval a, Interval b, Interval *out)
{
    const Interval minus = { -1, -1 };
    switch (op) {
    case OP_NEG: *out = tessi_interval_mul(a, minus); return true;
    case OP_ADD: *out = tessi_interval_add(a, b); return true;
    case OP_SUB: *out = tessi_interval_add(a, tessi_interval_mul(b, minus)); return true;
    case OP_MUL: *out = tessi_interval_mul(a, b); return true;
    case OP_MIN:
        *out = (Interval){ a.lo < b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi };
        return true;
    case OP_MAX:
        *out = (Interval){ a.lo > b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi };
        return true;
    default: return false;
    }
}

bool tessi_is_real(ScalarType t)
{
    return type_infos[t].cls == 'R';
}

ScalarType tessi_value_type(ScalarType t)
{
    return t == TYPE_F16 ? TYPE_F32 : t;
}

bool tessi_is_integer(ScalarType t)
{
    return type_infos[t].cls == 'S' || type_infos[t].cls == 'U';
}

bool tessi_is_unsigned(ScalarType t)
{
    return type_infos[t].cls == 'U';
}

ScalarType tessi_promote(ScalarType t)
{
    if (t == TYPE_F16)
        return TYPE_F32;
    return !tessi_is_real(t) && type_infos[t].bytes < 4 ? TYPE_I32 : t;
}

ScalarType tessi_common_type(ScalarType a, ScalarType b)
{
    /* After promotion seven types are left; each holds the values (or the sums) of those before it, but for uint64,
     * which int64 becomes as in C. */
    static const ScalarType by_rank[] = { TYPE_I32,   TYPE_U32, TYPE_I64, TYPE_U64,
                                          TYPE_INDEX, TYPE_F32, TYPE_F64 };
    ScalarType pa = tessi_promote(a), pb = tessi_promote(b), common = TYPE_I32;
    for (size_t k = 0; k < sizeof by_rank / sizeof *by_rank; k++)
        if (by_rank[k] == pa || by_rank[k] == pb)
            common = by_rank[k];
    return common;
}

Interval tessi_type_range(ScalarType t)
{
    if (t == TYPE_BOOL)
        return (Interval){ 0, 1 };
    if (t == TYPE_U64)
        return (Interval){ INT64_MIN, INT64_MAX };
    unsigned bits = 8u * type_infos[t].bytes;
    if (tessi_is_unsigned(t))
        return (Interval){ 0, (int64_t)(UINT64_MAX >> (64 - bits)) };
    int64_t hi = (int64_t)(UINT64_MAX >> (65 - bits));
    return (Interval){ -hi - 1, hi };
}

int64_t tessi_type_least(ScalarType t)
{
    return t == TYPE_U64 ? 0 : tessi_type_range(t).lo;
}

int64_t tessi_type_most(ScalarType t)
{
    return t == TYPE_U64 ? -1 : tessi_type_range(t).hi;
}

bool tessi_op_is_infix(Op op, ScalarType t)
{
    if (op == OP_EQ || op == OP_NE || op == OP_LT || op == OP_LE)
        return true;
    if (op == OP_AND || op == OP_OR || op == OP_XOR)
        return !tessi_is_real(t);
    if (op == OP_NEG || op == OP_ADD || op == OP_SUB || op == OP_MUL)
        return tessi_is_real(t) || t == TYPE_INDEX;
    return op == OP_DIV && tessi_is_real(t);
}

bool tessi_cast_is_plain(ScalarType to, ScalarType from)
{
    if (to == TYPE_BOOL || to == TYPE_F32 || to == TYPE_F64)
        return true;
    return to != TYPE_F16 && !tessi_is_real(from);
}

int64_t tessi_border_index(Border b, int64_t i, int64_t n)
{
    switch (b) {
    case BORDER_CLAMP: return tess_border_clamp(i, n);
    case BORDER_MIRROR: return tess_border_mirror(i, n);
    case BORDER_REFLECT: return tess_border_reflect(i, n);
    case BORDER_WRAP: return tess_border_wrap(i, n);
    case BORDER_INSIDE:
    case BORDER_CONSTANT:
    case BORDER_NONE:
    case N_BORDERS: break;
    }
    return i >= 0 && i < n ? i : -1;
}

int tessi_power_in(double x)
{
    int exponent;
    double m = frexp(x, &exponent);
    for (; m != floor(m); m *= 2)
        exponent--;
    return x == 0 ? INT_MAX : exponent;
}
