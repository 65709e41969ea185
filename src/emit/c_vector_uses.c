/* The vector types and operators of a file, each named once by a macro of prelude/c_vector.h; and how lanes of one
 * type become lanes of another (prelude/c_casts.h). */
#include <inttypes.h>

#include "emit/c_private.h"

static void use(CWriter *w, CLines *lines, const char *line)
{
    VEC_FOREACH (const char *, known, lines)
        if (tessi_streq(*known, line))
            return;
    VEC_PUSH(w->arena, lines, line);
}

const char *tessi_c_lanes_of(uint32_t bytes)
{
    return bytes == 1 ? "v8" : bytes == 2 ? "v16" : bytes == 4 ? "v" : "v64";
}

const char *tessi_c_lanes(const CWriter *w)
{
    return tessi_c_lanes_of(w->lane_bytes);
}

/* The integer type of this many bytes. */
static const char *integer(uint32_t bytes, bool is_unsigned)
{
    static const char *const names[] = { "int8_t",  "int16_t",  "int32_t",  "int64_t",
                                         "uint8_t", "uint16_t", "uint32_t", "uint64_t" };
    int log = bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 3;
    return names[log + (is_unsigned ? 4 : 0)];
}

static const char *brief(ScalarType t)
{
    return tessi_type_info(t)->brief;
}

static uint32_t bytes_of(ScalarType t)
{
    return tessi_type_info(t)->bytes;
}

ScalarType tessi_c_lane_type(const CWriter *w, ScalarType t)
{
    return t == TYPE_INDEX && w->lane_bytes == 4 ? TYPE_I32 : t;
}

void tessi_c_use_type(CWriter *w, ScalarType t)
{
    const char *v = tessi_c_lanes(w);
    t = tessi_c_lane_type(w, t);
    if (t == TYPE_BOOL)
        use(w, &w->vector_types,
            tessi_sprintf(w->arena, "TESS_VECTOR_TRUTH(%s, %s)", v, integer(w->lane_bytes, false)));
    else
        use(w, &w->vector_types,
            tessi_sprintf(w->arena, "TESS_VECTOR(%s, %s, %s)", v, tessi_c_element(t), brief(t)));
}

/* The operator TESS_VECTOR_<what>(lanes, type, name) of the prelude, made once for lanes of a type. */
static void use_operator(CWriter *w, const char *what, ScalarType t)
{
    tessi_c_use_type(w, t);
    use(w, &w->vector_operators,
        tessi_sprintf(w->arena, "TESS_VECTOR_%s(%s, %s, %s)", what, tessi_c_lanes(w),
                      tessi_c_element(t), brief(t)));
}

void tessi_c_use_ramp(CWriter *w, ScalarType t)
{
    use_operator(w, "RAMP", tessi_c_lane_type(w, t));
}

void tessi_c_use_factor(CWriter *w, ScalarType t)
{
    use_operator(w, "FACTOR", t);
}

void tessi_c_use_negation(CWriter *w, ScalarType t)
{
    tessi_c_use_type(w, t);
    use(w, &w->vector_operators,
        tessi_sprintf(w->arena, "TESS_VECTOR_NEG(%s, %s)", tessi_c_lanes(w), brief(t)));
}

void tessi_c_use_pairs(CWriter *w, ScalarType t)
{
    const ScalarType wide = tessi_is_unsigned(t) ? TYPE_U16 : TYPE_I16;
    tessi_c_use_type(w, wide);
    use(w, &w->vector_types,
        tessi_sprintf(w->arena, "TESS_VECTOR(v8, %s, %s)", tessi_c_element(t), brief(t)));
    use(w, &w->vector_operators,
        tessi_sprintf(w->arena, "TESS_VECTOR_PAIRS(%s, %s, %s, %s)", tessi_c_lanes(w),
                      tessi_c_element(t), brief(t), brief(wide)));
}

void tessi_c_use_fours(CWriter *w)
{
    tessi_c_use_type(w, TYPE_U32);
    use(w, &w->vector_operators, "TESS_VECTOR_FOURS");
}

void tessi_c_use_places(CWriter *w)
{
    tessi_c_use_type(w, TYPE_INDEX);
    use(w, &w->vector_operators,
        tessi_sprintf(w->arena, "TESS_VECTOR_PLACES_%s", tessi_c_lanes(w)));
}

/* What tries windows of elements first; TESS_VECTOR_<name>. */
static void use_near(CWriter *w, const char *name, ScalarType t)
{
    use(w, &w->vector_operators,
        tessi_sprintf(w->arena, "TESS_VECTOR_%s(%s, %s, %u)", name, tessi_c_element(t), brief(t),
                      bytes_of(t)));
}

void tessi_c_use_each(CWriter *w, ScalarType element, bool mixed, bool near)
{
    const ScalarType value = tessi_value_type(element);
    const char *s = brief(element), *t = tessi_c_element(element), *get = "p[k]";
    tessi_c_use_places(w);
    tessi_c_use_type(w, value);
    if (mixed) {
        get = tessi_sprintf(w->arena, "tess_load_%s(p + k)", s);
        t = "unsigned char";
    } else if (element == TYPE_F16) {
        get = "tess_f32_from_f16bits(p[k])";
    }
    const char *line =
        tessi_sprintf(w->arena, "TESS_VECTOR_EACH(%s, %s%s, %s, %s, %s, %s)", tessi_c_lanes(w),
                      mixed ? "at_" : "", s, t, tessi_c_element(value), brief(value), get);
    if (!mixed && bytes_of(element) == 4)
        line = tessi_sprintf(w->arena, "TESS_VECTOR_WORDS(%s, %s, %s, %s)", tessi_c_lanes(w), t, s,
                             line);
    use(w, &w->vector_operators, line);
    if (near)
        use_near(w, "NEAR", element);
}

void tessi_c_use_apart(CWriter *w, ScalarType t, bool back)
{
    use_operator(w, bytes_of(t) == w->lane_bytes ? "APART_LANES" : "APART", t);
    if (back)
        use(w, &w->vector_operators,
            tessi_sprintf(w->arena, "TESS_VECTOR_APART_BACK(%s, %s, %s, %s)", tessi_c_lanes(w),
                          tessi_c_element(t), brief(t), integer(bytes_of(t), false)));
}

void tessi_c_use_spread(CWriter *w, ScalarType t)
{
    use_operator(w, "SPREAD", t);
}

void tessi_c_use_join(CWriter *w, ScalarType t, bool pairs)
{
    /* narrow lanes are too many for parts of four */
    const bool whole = bytes_of(t) == w->lane_bytes || w->lane_bytes < 4;
    if (!whole)
        use_operator(w, "JOIN", t);
    else
        use(w, &w->vector_operators,
            tessi_sprintf(w->arena, "TESS_VECTOR_JOIN_LANES(%s, %s, %s, %s)", tessi_c_lanes(w),
                          tessi_c_element(t), brief(t), integer(bytes_of(t), false)));
    use_operator(w, "JOIN_COUNTS", t);
    if (pairs)
        use(w, &w->vector_operators,
            tessi_sprintf(w->arena, "TESS_VECTOR_JOIN_PAIRS(%s, %s, %s, %s)", tessi_c_lanes(w),
                          tessi_c_element(t), brief(t), integer(bytes_of(t), false)));
}

void tessi_c_use_both(CWriter *w, ScalarType t, bool near)
{
    const uint32_t bytes = tessi_type_info(t)->bytes;
    const bool apart = 2 * bytes > w->lane_bytes; /* two of them do not fit a lane */
    tessi_c_use_each(w, t, false, false);
    use(w, &w->vector_operators,
        tessi_sprintf(w->arena, "TESS_VECTOR_BOTH(%s, %s, %s, %s, %s, %s)", tessi_c_lanes(w),
                      tessi_c_element(t), brief(t), integer(bytes, true), integer(2 * bytes, true),
                      apart ? "APART" : "LANES"));
    if (near)
        use_near(w, "NEAR_BOTH", t);
}

void tessi_c_use_each_by(CWriter *w, ScalarType element, ScalarType index, bool table)
{
    const char *v = tessi_c_lanes(w);
    tessi_c_use_type(w, element);
    tessi_c_use_type(w, index);
    use(w, &w->vector_operators,
        tessi_sprintf(w->arena, "TESS_VECTOR_EACH_BY(%s, %s, %s, %s, %s)", v,
                      tessi_c_element(element), brief(element), tessi_c_element(index),
                      brief(index)));
    if (table)
        use(w, &w->vector_operators,
            tessi_sprintf(w->arena, "TESS_VECTOR_TABLE(%s, %s)", tessi_c_element(element),
                          brief(element)));
}

void tessi_c_use_row(CWriter *w, ScalarType t)
{
    tessi_c_use_type(w, t);
    use(w, &w->vector_operators,
        tessi_sprintf(w->arena, "TESS_VECTOR_ROW(%s, %s, %s)", tessi_c_lanes(w), tessi_c_element(t),
                      brief(t)));
}

/* ---- Steps ------------------------------------------------------------------------------------------------------- */

/* The same in lanes of 8 bytes, where every way leads through integers of 4. */
static const char *resized_by_ints(const CWriter *w, const char *x, uint32_t from, uint32_t to,
                                   bool is_unsigned)
{
    while (from != to) {
        const bool widens = from == 4 && to == 8, narrows = from == 4 && to < 4;
        const char *step = widens ? "LONGS" : narrows ? "PARTS" : "INTS";
        x = tessi_sprintf(w->arena, "TESS_%s(%s, %s)", step,
                          narrows ? integer(to, false) : integer(from, is_unsigned && from < 8), x);
        from = from == 4 ? to : 4;
    }
    return x;
}

/* `x`, elements of `from` bytes, as ones of `to` bytes: a wrapping conversion between integers. */
static const char *resized(const CWriter *w, const char *x, uint32_t from, uint32_t to,
                           bool is_unsigned)
{
    const char *lanes = tessi_c_lanes(w);
    if (w->lane_bytes == 4 && from < to && to == 4)
        return tessi_sprintf(w->arena, "TESS_WIDEN(%s, %s)", integer(from, is_unsigned), x);
    if (w->lane_bytes == 4 && from > to && from == 4)
        return tessi_sprintf(w->arena, "TESS_NARROW(%s, %s)", integer(to, false), x);
    bool known = w->lane_bytes == 2 || w->lane_bytes == 4;
    if (known && from == 1 && to == 2)
        return tessi_sprintf(w->arena, "TESS_HALVES(%s, %s, %s)", lanes, integer(1, is_unsigned),
                             x);
    if (known && from == 2 && to == 1)
        return tessi_sprintf(w->arena, "TESS_BYTES(%s, int8_t, %s)", lanes, x);
    if (w->lane_bytes == 8)
        return resized_by_ints(w, x, from, to, is_unsigned);
    while (from != to) {
        from = from < to ? from * 2 : from / 2;
        x = tessi_sprintf(w->arena, "TESS_AS(%s, %s, %s)", lanes, integer(from, is_unsigned), x);
    }
    return x;
}

static const char *as(const CWriter *w, ScalarType t, const char *x)
{
    return tessi_sprintf(w->arena, "TESS_AS(%s, %s, %s)", tessi_c_lanes(w), tessi_c_element(t), x);
}

/* Reals `x` as reals of another type, in lanes of 8 bytes. */
static const char *between_reals(const CWriter *w, ScalarType to, ScalarType from)
{
    if (w->lane_bytes == 8 && to == TYPE_F64 && from == TYPE_F32)
        return "TESS_DOUBLES_float(x)";
    if (w->lane_bytes == 8 && to == TYPE_F32 && from == TYPE_F64)
        return "TESS_FLOATS(x)";
    return as(w, to, "x");
}

/* Integers `x` of `from` bytes as elements of type t. */
static const char *from_integers(const CWriter *w, ScalarType t, const char *x, uint32_t from,
                                 bool is_unsigned)
{
    if (!tessi_is_real(t))
        return as(w, t, resized(w, x, from, bytes_of(t), is_unsigned));
    uint32_t by = from < 4 ? 4 : from; /* what processors convert */
    x = resized(w, x, from, by, is_unsigned);
    if (by != from)
        x = tessi_sprintf(w->arena, "TESS_AS(%s, %s, %s)", tessi_c_lanes(w), integer(by, false), x);
    if (w->lane_bytes == 8 && t == TYPE_F64 && by == 4)
        return tessi_sprintf(w->arena, "TESS_DOUBLES_%s(%s)", integer(4, is_unsigned && from == 4),
                             x);
    return as(w, t, x);
}

/* Halves in memory, whose values are floats. */
void tessi_c_use_half(CWriter *w)
{
    tessi_c_use_type(w, TYPE_F32);
    tessi_c_use_type(w, TYPE_U16);
    use(w, &w->vector_operators,
        tessi_sprintf(w->arena, "TESS_VECTOR_HALF(%s, %s, %s)", tessi_c_lanes(w),
                      resized(w, "x", 2, 4, true), resized(w, "x", 4, 2, true)));
}

/* ---- Operators --------------------------------------------------------------------------------------------------- */

/* Written as in C. */
static bool is_plain(Op op, ScalarType t)
{
    bool comparison = op == OP_EQ || op == OP_NE || op == OP_LT || op == OP_LE;
    return tessi_op_is_infix(op, t) && !comparison;
}

bool tessi_c_vector_by(Op op, ScalarType t)
{
    if (op
        == OP_POW) /* GCC moves what it knows of a constant's first lane, and then finds no vectors */
        return true;
    return tessi_is_integer(t)
           && (op == OP_DIV || op == OP_MOD || op == OP_SHL || op == OP_SHR || op == OP_FLOORMOD);
}

/* On truth values, which are 0 and -1. */
static const char *truth_operator_line(const CWriter *w, Op op)
{
    const char *v = tessi_c_lanes(w), *name = tessi_op_info(op)->name;
    switch (op) {
    case OP_SELECT: return tessi_sprintf(w->arena, "TESS_VECTOR_SELECT_TRUTH(%s)", v);
    case OP_EQ: return tessi_sprintf(w->arena, "TESS_VECTOR_TRUTHS(%s, %s, ~(a ^ b))", v, name);
    case OP_NE: return tessi_sprintf(w->arena, "TESS_VECTOR_TRUTHS(%s, %s, a ^ b)", v, name);
    case OP_LT: return tessi_sprintf(w->arena, "TESS_VECTOR_TRUTHS(%s, %s, ~a & b)", v, name);
    case OP_LE: return tessi_sprintf(w->arena, "TESS_VECTOR_TRUTHS(%s, %s, ~a | b)", v, name);
    default: return NULL; /* written as in C */
    }
}

/* Lane by lane, or as prelude/c_vector_math.h has it. */
static const char *function_line(const CWriter *w, Op op, ScalarType t)
{
    const char *v = tessi_c_lanes(w), *name = tessi_op_info(op)->name;
    if (t == TYPE_F32 && (op == OP_SIN || op == OP_COS))
        return tessi_sprintf(w->arena, "TESS_VECTOR_TURN(%s, %s)", v, name);
    if (t == TYPE_F32 && (op == OP_EXP || op == OP_EXP2_NEAR))
        return tessi_sprintf(w->arena, "TESS_VECTOR_%s(%s)", op == OP_EXP ? "EXP" : "EXP2_NEAR", v);
    if (tessi_is_real(t) && op == OP_MOD)
        return tessi_sprintf(w->arena, "TESS_VECTOR_REMAINDER(%s, %s, %s)", v, brief(t),
                             tessi_c_element(t));
    return tessi_sprintf(w->arena, "TESS_VECTOR_%d(%s, %s, %s)", tessi_op_info(op)->n_args, v, name,
                         brief(t));
}

static const char *operator_line(CWriter *w, Op op, ScalarType t, bool by)
{
    const OpInfo *info = tessi_op_info(op);
    t = tessi_c_lane_type(w, t);
    const char *v = tessi_c_lanes(w), *s = brief(t), *name = info->name;
    uint32_t bytes = bytes_of(t), lane = w->lane_bytes;
    if (t == TYPE_BOOL)
        return truth_operator_line(w, op);
    if (by && op == OP_FLOORMOD)
        return tessi_sprintf(w->arena, "TESS_VECTOR_FLOORMOD(%s, %s, %s, %s, %s)", v,
                             tessi_c_element(t), s, integer(bytes, true),
                             bytes == 4 ? "float" : "double");
    if (by)
        return tessi_sprintf(w->arena, "TESS_VECTOR_BY(%s, %s, %s, %s)", v, name,
                             tessi_c_element(t), s);
    switch (op) {
    case OP_EQ:
    case OP_NE:
    case OP_LT:
    case OP_LE:
        return tessi_sprintf(w->arena, "TESS_VECTOR_COMPARE(%s, %s, %s, %s, %s, %s)", v, name,
                             info->infix, s, integer(bytes, false),
                             resized(w, "x", bytes, lane, false));
    case OP_ISNAN:
        return tessi_sprintf(w->arena, "TESS_VECTOR_ISNAN(%s, %s, %s, %s)", v, s,
                             integer(bytes, false), resized(w, "x", bytes, lane, false));
    case OP_ORDER:
    case OP_AT_ORDER:
        return tessi_sprintf(w->arena, "TESS_VECTOR_%s(%s, %s, %s, %s)",
                             op == OP_ORDER ? "ORDER" : "AT_ORDER", v, s,
                             brief(tessi_op_result(op, t)), integer(bytes, false));
    case OP_SELECT:
        return tessi_sprintf(w->arena, "TESS_VECTOR_SELECT(%s, %s, %s, %s)", v, s,
                             integer(bytes, false), resized(w, "x", lane, bytes, false));
    case OP_FMA: return tessi_sprintf(w->arena, "TESS_VECTOR_FMA(%s, %s)", v, s);
    case OP_DOT: return tessi_sprintf(w->arena, "TESS_VECTOR_DOT(%s)", v);
    case OP_MIN:
    case OP_MAX:
        if (tessi_is_real(t))
            return tessi_sprintf(w->arena, "TESS_VECTOR_EXTREME(%s, %s, %s, %s)", v, name,
                                 op == OP_MIN ? "MIN" : "MAX", s);
        return tessi_sprintf(w->arena, "TESS_VECTOR_2(%s, %s, %s)", v, name, s);
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
        return tessi_sprintf(w->arena, "TESS_VECTOR_WRAPS(%s, %s, %s, %s, %s)", v, name,
                             info->infix, s, integer(bytes, true));
    default: return function_line(w, op, t);
    }
}

void tessi_c_use_operator(CWriter *w, Op op, ScalarType t, bool by)
{
    if (op == OP_ROUND16) {
        tessi_c_use_half(w);
        return;
    }
    tessi_c_use_type(w, t);
    if (op == OP_SELECT)
        tessi_c_use_type(w, TYPE_BOOL);
    else
        tessi_c_use_type(w, tessi_op_result(op, t));
    const char *line = is_plain(op, t) ? NULL : operator_line(w, op, t, by);
    if (line)
        use(w, &w->vector_operators, line);
}

void tessi_c_use_quotient(CWriter *w)
{
    tessi_c_use_operator(w, OP_FMA, TYPE_F64, false);
    use(w, &w->vector_operators,
        tessi_sprintf(w->arena, "TESS_VECTOR_QUOTIENT(%s)", tessi_c_lanes(w)));
}

/* ---- Conversions ------------------------------------------------------------------------------------------------- */

/* Truth values of any type. */
static const char *truth_line(CWriter *w, ScalarType from, bool saturates)
{
    bool real = saturates && tessi_is_real(from);
    const char *limit = !saturates         ? "a != 0"
                        : !real            ? "a > 0"
                        : from == TYPE_F32 ? "a > 0.5f"
                                           : "a > 0.5";
    uint32_t bytes = bytes_of(from);
    return tessi_sprintf(w->arena, "TESS_VECTOR_IS(%s, %s, %s, %s, %s, %s)", tessi_c_lanes(w),
                         saturates ? "sat_" : "", brief(from), limit, integer(bytes, false),
                         resized(w, "x", bytes, w->lane_bytes, false));
}

/* Reals or wider integers that end where the type wanted does. */
static const char *limited_line(CWriter *w, ScalarType to, ScalarType from, bool saturates)
{
    bool real = tessi_is_real(from);
    Interval range = tessi_type_range(to);
    const char *v = tessi_c_lanes(w), *steps;
    if (!real) {
        Interval own = tessi_type_range(from);
        range.lo = range.lo < own.lo ? own.lo : range.lo;
        range.hi = range.hi > own.hi ? own.hi : range.hi;
    }
    Text lo = tessi_text_new(w->arena), hi = tessi_text_new(w->arena);
    tessi_c_constant(&lo, real ? TYPE_I32 : from, tessi_value_int(range.lo));
    tessi_c_constant(&hi, real ? TYPE_I32 : from, tessi_value_int(range.hi));
    bool rounds = real && saturates,
         small = rounds && bytes_of(to) <= 2 && w->lane_bytes == bytes_of(from);
    if (small)
        steps = from_integers(w, to, tessi_sprintf(w->arena, "TESS_ROUNDED_%s(x)", v),
                              bytes_of(from), false);
    else if (real)
        steps = from_integers(w, to, as(w, TYPE_I32, "x"), 4, false);
    else
        steps = from_integers(w, to, "x", bytes_of(from), tessi_is_unsigned(from));
    const char *x =
        rounds && !small ? tessi_sprintf(w->arena, "tess_rint_%s(a[i])", brief(from)) : "a[i]";
    if (small && range.lo == 0) {
        hi = tessi_text_new(w->arena);
        tessi_c_constant(&hi, from, tessi_value_real((double)range.hi));
        return tessi_sprintf(w->arena, "TESS_VECTOR_POSITIVE(%s, %s, %s, %s, %s)", v, brief(to),
                             brief(from), tessi_text_str(&hi), steps);
    }
    const char *limit = tessi_sprintf(w->arena, "tess_limit_%s(%s, %s, %s)", brief(from), x,
                                      tessi_text_str(&lo), tessi_text_str(&hi));
    return tessi_sprintf(w->arena, "TESS_VECTOR_LIMITED(%s, %s, %s, %s, %s, %s)", v,
                         saturates ? "sat_" : "", brief(to), brief(from), limit, steps);
}

/* Elements that need no limits. */
static const char *cast_line(CWriter *w, ScalarType to, ScalarType from, bool saturates)
{
    const char *steps;
    if (from == TYPE_BOOL)
        steps = from_integers(w, to, "(x & 1)", w->lane_bytes, false);
    else if (tessi_is_real(from))
        steps = between_reals(w, to, from);
    else
        steps = from_integers(w, to, "x", bytes_of(from), tessi_is_unsigned(from));
    return tessi_sprintf(w->arena, "TESS_VECTOR_CAST(%s, %s, %s, %s, %s)", tessi_c_lanes(w),
                         saturates ? "sat_" : "", brief(to), brief(from), steps);
}

static const char *conversion_line(CWriter *w, ScalarType to, ScalarType from, bool saturates)
{
    if (to == TYPE_BOOL && from != TYPE_BOOL)
        return truth_line(w, from, saturates);
    if (tessi_is_real(to) || from == TYPE_BOOL)
        return cast_line(w, to, from, saturates);
    if (!tessi_is_real(from))
        return saturates ? limited_line(w, to, from, true) : cast_line(w, to, from, false);
    const char *plain =
        bytes_of(to) < bytes_of(from)
            ? limited_line(w, to, from, saturates)
            : tessi_sprintf(w->arena, "TESS_VECTOR_LANES(%s, %s, %s, %s)", tessi_c_lanes(w),
                            saturates ? "sat_" : "", brief(to), brief(from));
    if (to == TYPE_I32 && !saturates && bytes_of(from) == w->lane_bytes)
        return tessi_sprintf(w->arena, "TESS_VECTOR_INTS_%s(%s)", tessi_c_lanes(w), plain);
    return plain;
}

void tessi_c_use_conversion(CWriter *w, ScalarType to, ScalarType from, bool saturates)
{
    to = tessi_c_lane_type(w, to);
    from = tessi_c_lane_type(w, from);
    tessi_c_use_type(w, from);
    tessi_c_use_type(w, to);
    use(w, &w->vector_operators, conversion_line(w, to, from, saturates));
}
