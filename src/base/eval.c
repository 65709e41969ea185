/* What an operator computes: tessi_eval and the conversions, by the very functions that generated C uses (prelude/). */
#include "base/scalar.h"
#include "prelude/c.h"
#include "prelude/c_math.h"

Value tessi_value_int(int64_t i)
{
    return (Value){ .i = i };
}

Value tessi_value_real(double f)
{
    return (Value){ .f = f };
}

double tessi_value_number(ScalarType t, Value v)
{
    return tessi_is_real(t) ? v.f : t == TYPE_U64 ? (double)(uint64_t)v.i : (double)v.i;
}

bool tessi_value_same(ScalarType t, Value a, Value b)
{
    if (!tessi_is_real(t))
        return a.i == b.i;
    return (isnan(a.f) && isnan(b.f)) || tess_bits_f64(a.f) == tess_bits_f64(b.f);
}

int tessi_value_compare(ScalarType t, Value a, Value b)
{
    if (t == TYPE_U64)
        return ((uint64_t)a.i > (uint64_t)b.i) - ((uint64_t)a.i < (uint64_t)b.i);
    int64_t x = tessi_is_real(t) ? tess_order_f64(a.f) : a.i;
    int64_t y = tessi_is_real(t) ? tess_order_f64(b.f) : b.i;
    return (x > y) - (x < y);
}

/* One function a type: v[0..2] are the arguments, missing ones 0. Operators outside the type's domain give 0. */
#define EVAL_INTEGER(T, s)                                                                 \
    static Value eval_##s(Op op, const Value *v)                                           \
    {                                                                                      \
        T x = (T)v[0].i, y = (T)v[1].i;                                                    \
        switch (op) {                                                                      \
        case OP_NEG: return tessi_value_int((int64_t)(tess_neg_##s(x)));                   \
        case OP_NOT: return tessi_value_int((int64_t)(tess_not_##s(x)));                   \
        case OP_ABS: return tessi_value_int((int64_t)(tess_abs_##s(x)));                   \
        case OP_ADD: return tessi_value_int((int64_t)(tess_add_##s(x, y)));                \
        case OP_SUB: return tessi_value_int((int64_t)(tess_sub_##s(x, y)));                \
        case OP_MUL: return tessi_value_int((int64_t)(tess_mul_##s(x, y)));                \
        case OP_DIV: return tessi_value_int((int64_t)(tess_div_##s(x, y)));                \
        case OP_MOD: return tessi_value_int((int64_t)(tess_mod_##s(x, y)));                \
        case OP_MIN: return tessi_value_int((int64_t)(tess_min_##s(x, y)));                \
        case OP_MAX: return tessi_value_int((int64_t)(tess_max_##s(x, y)));                \
        case OP_AND: return tessi_value_int((int64_t)(x & y));                             \
        case OP_OR: return tessi_value_int((int64_t)(x | y));                              \
        case OP_XOR: return tessi_value_int((int64_t)(x ^ y));                             \
        case OP_SHL: return tessi_value_int((int64_t)(tess_shl_##s(x, y)));                \
        case OP_SHR: return tessi_value_int((int64_t)(tess_shr_##s(x, y)));                \
        case OP_EQ: return tessi_value_int((int64_t)(x == y));                             \
        case OP_NE: return tessi_value_int((int64_t)(x != y));                             \
        case OP_LT: return tessi_value_int((int64_t)(x < y));                              \
        case OP_LE: return tessi_value_int((int64_t)(x <= y));                             \
        case OP_SELECT:                                                                    \
            return tessi_value_int((int64_t)(tess_select_##s(v[0].i != 0, y, (T)v[2].i))); \
        case OP_POW: return tessi_value_int((int64_t)(tess_pow_##s(x, y)));                \
        default: return tessi_value_int((int64_t)(0));                                     \
        }                                                                                  \
    }
EVAL_INTEGER(int8_t, i8)
EVAL_INTEGER(uint8_t, u8)
EVAL_INTEGER(int16_t, i16)
EVAL_INTEGER(uint16_t, u16)
EVAL_INTEGER(int32_t, i32)
EVAL_INTEGER(uint32_t, u32)
EVAL_INTEGER(int64_t, i64)
EVAL_INTEGER(uint64_t, u64)
EVAL_INTEGER(ptrdiff_t, idx)

static Value eval_index(Op op, const Value *v)
{
    ptrdiff_t x = (ptrdiff_t)v[0].i, y = (ptrdiff_t)v[1].i;
    switch (op) {
    case OP_FLOORDIV: return tessi_value_int(tess_floordiv_idx(x, y));
    case OP_FLOORMOD: return tessi_value_int(tess_floormod_idx(x, y));
    default: return eval_idx(op, v);
    }
}

static Value eval_b(Op op, const Value *v)
{
    bool x = v[0].i != 0, y = v[1].i != 0;
    switch (op) {
    case OP_NOT: return tessi_value_int(tess_not_b(x));
    case OP_MIN: return tessi_value_int(tess_min_b(x, y));
    case OP_MAX: return tessi_value_int(tess_max_b(x, y));
    case OP_AND: return tessi_value_int(x & y);
    case OP_OR: return tessi_value_int(x | y);
    case OP_XOR: return tessi_value_int(x ^ y);
    case OP_SHL: return tessi_value_int(tess_shl_b(x, y));
    case OP_SHR: return tessi_value_int(tess_shr_b(x, y));
    case OP_EQ: return tessi_value_int(x == y);
    case OP_NE: return tessi_value_int(x != y);
    case OP_LT: return tessi_value_int(x < y);
    case OP_LE: return tessi_value_int(x <= y);
    case OP_SELECT: return tessi_value_int(tess_select_b(x, y, v[2].i != 0));
    default: return tessi_value_int(0);
    }
}

/* The condition of SELECT is an integer: its bits are no number, and are not read as one. */
#define EVAL_REAL(T, s)                                                                        \
    static Value eval_##s(Op op, const Value *v)                                               \
    {                                                                                          \
        T x = op == OP_SELECT ? 0 : (T)v[0].f, y = (T)v[1].f, z = (T)v[2].f;                   \
        switch (op) {                                                                          \
        case OP_NEG: return tessi_value_real((double)(-x));                                    \
        case OP_ADD: return tessi_value_real((double)(x + y));                                 \
        case OP_SUB: return tessi_value_real((double)(x - y));                                 \
        case OP_MUL: return tessi_value_real((double)(x * y));                                 \
        case OP_DIV: return tessi_value_real((double)(x / y));                                 \
        case OP_FMA: return tessi_value_real((double)(tess_fma_##s(x, y, z)));                 \
        case OP_SELECT: return tessi_value_real((double)(tess_select_##s(v[0].i != 0, y, z))); \
        case OP_ABS: return tessi_value_real((double)tess_abs_##s(x));                         \
        case OP_MOD: return tessi_value_real((double)tess_mod_##s(x, y));                      \
        case OP_MIN: return tessi_value_real((double)tess_min_##s(x, y));                      \
        case OP_MAX: return tessi_value_real((double)tess_max_##s(x, y));                      \
        case OP_SQRT: return tessi_value_real((double)tess_sqrt_##s(x));                       \
        case OP_RSQRT: return tessi_value_real((double)tess_rsqrt_##s(x));                     \
        case OP_CBRT: return tessi_value_real((double)tess_cbrt_##s(x));                       \
        case OP_EXP: return tessi_value_real((double)tess_exp_##s(x));                         \
        case OP_EXP2: return tessi_value_real((double)tess_exp2_##s(x));                       \
        case OP_EXP2_NEAR: return tessi_value_real((double)tess_exp2_near_##s(x));             \
        case OP_LOG: return tessi_value_real((double)tess_log_##s(x));                         \
        case OP_LOG2: return tessi_value_real((double)tess_log2_##s(x));                       \
        case OP_LOG10: return tessi_value_real((double)tess_log10_##s(x));                     \
        case OP_POW: return tessi_value_real((double)tess_pow_##s(x, y));                      \
        case OP_SIN: return tessi_value_real((double)tess_sin_##s(x));                         \
        case OP_COS: return tessi_value_real((double)tess_cos_##s(x));                         \
        case OP_TAN: return tessi_value_real((double)tess_tan_##s(x));                         \
        case OP_ASIN: return tessi_value_real((double)tess_asin_##s(x));                       \
        case OP_ACOS: return tessi_value_real((double)tess_acos_##s(x));                       \
        case OP_ATAN: return tessi_value_real((double)tess_atan_##s(x));                       \
        case OP_ATAN2: return tessi_value_real((double)tess_atan2_##s(x, y));                  \
        case OP_SINH: return tessi_value_real((double)tess_sinh_##s(x));                       \
        case OP_COSH: return tessi_value_real((double)tess_cosh_##s(x));                       \
        case OP_TANH: return tessi_value_real((double)tess_tanh_##s(x));                       \
        case OP_HYPOT: return tessi_value_real((double)tess_hypot_##s(x, y));                  \
        case OP_FLOOR: return tessi_value_real((double)tess_floor_##s(x));                     \
        case OP_CEIL: return tessi_value_real((double)tess_ceil_##s(x));                       \
        case OP_ROUND: return tessi_value_real((double)tess_round_##s(x));                     \
        case OP_TRUNC: return tessi_value_real((double)tess_trunc_##s(x));                     \
        case OP_EQ: return tessi_value_int(x == y);                                            \
        case OP_NE: return tessi_value_int(x != y);                                            \
        case OP_LT: return tessi_value_int(x < y);                                             \
        case OP_LE: return tessi_value_int(x <= y);                                            \
        case OP_ISNAN: return tessi_value_int(tess_isnan_##s(x));                              \
        case OP_ORDER: return tessi_value_int(tess_order_##s(x));                              \
        default: return tessi_value_real(0);                                                   \
        }                                                                                      \
    }
EVAL_REAL(float, f32)
EVAL_REAL(double, f64)

static Value eval_float(Op op, const Value *v)
{
    if (op == OP_ROUND16)
        return tessi_value_real((double)tess_round16_f32((float)v[0].f));
    return eval_f32(op, v);
}

static Value eval_word(Op op, const Value *v)
{
    if (op == OP_DOT)
        return tessi_value_int(tess_dot_u32((uint32_t)v[0].i, (uint32_t)v[1].i, (uint32_t)v[2].i));
    if (op == OP_BYTES)
        return tessi_value_int(
            tess_bytes_u32((uint32_t)v[0].i, (uint32_t)v[1].i, (uint32_t)v[2].i));
    if (op == OP_MIN_HALVES)
        return tessi_value_int(tess_min_halves_u32((uint32_t)v[0].i, (uint32_t)v[1].i));
    if (op == OP_MAX_HALVES)
        return tessi_value_int(tess_max_halves_u32((uint32_t)v[0].i, (uint32_t)v[1].i));
    return eval_u32(op, v);
}

Value tessi_eval_of(Op op, ScalarType t, Value x, Value y, Value z)
{
    const Value v[3] = { x, y, z };
    switch (t) {
    case TYPE_BOOL: return eval_b(op, v);
    case TYPE_I8: return eval_i8(op, v);
    case TYPE_U8: return eval_u8(op, v);
    case TYPE_I16: return eval_i16(op, v);
    case TYPE_U16: return eval_u16(op, v);
    case TYPE_I32:
        if (op == OP_AT_ORDER)
            return tessi_value_real((double)tess_at_order_i32((int32_t)v[0].i));
        return eval_i32(op, v);
    case TYPE_U32: return eval_word(op, v);
    case TYPE_I64:
        return op == OP_AT_ORDER ? tessi_value_real(tess_at_order_i64(v[0].i)) : eval_i64(op, v);
    case TYPE_U64: return eval_u64(op, v);
    case TYPE_F16: /* computed as F32 */
    case TYPE_F32: return eval_float(op, v);
    case TYPE_F64: return eval_f64(op, v);
    case TYPE_INDEX: return eval_index(op, v);
    case N_TYPES: break;
    }
    return tessi_value_int(0);
}

Value tessi_eval(Op op, ScalarType t, const Value *args)
{
    const unsigned n = tessi_op_info(op)->n_args;
    const Value none = { 0 };
    return tessi_eval_of(op, t, args[0], n > 1 ? args[1] : none, n > 2 ? args[2] : none);
}

/* ---- Conversions ------------------------------------------------------------------------------ */
static Value cast_from_real(ScalarType to, double x)
{
    switch (to) {
    case TYPE_BOOL: return tessi_value_int(x != 0);
    case TYPE_I8: return tessi_value_int(tess_i8_from_f64(x));
    case TYPE_U8: return tessi_value_int(tess_u8_from_f64(x));
    case TYPE_I16: return tessi_value_int(tess_i16_from_f64(x));
    case TYPE_U16: return tessi_value_int(tess_u16_from_f64(x));
    case TYPE_I32: return tessi_value_int(tess_i32_from_f64(x));
    case TYPE_U32: return tessi_value_int(tess_u32_from_f64(x));
    case TYPE_I64: return tessi_value_int(tess_i64_from_f64(x));
    case TYPE_U64: return tessi_value_int((int64_t)tess_u64_from_f64(x));
    case TYPE_INDEX: return tessi_value_int(tess_idx_from_f64(x));
    case TYPE_F16: return tessi_value_real((double)tess_f16_from_f64(x));
    case TYPE_F32: return tessi_value_real((double)(float)x);
    case TYPE_F64: return tessi_value_real(x);
    case N_TYPES: break;
    }
    return tessi_value_int(0);
}

static Value cast_from_integer(ScalarType to, int64_t x)
{
    switch (to) {
    case TYPE_BOOL: return tessi_value_int(x != 0);
    case TYPE_I8: return tessi_value_int((int8_t)x);
    case TYPE_U8: return tessi_value_int((uint8_t)x);
    case TYPE_I16: return tessi_value_int((int16_t)x);
    case TYPE_U16: return tessi_value_int((uint16_t)x);
    case TYPE_I32: return tessi_value_int((int32_t)x);
    case TYPE_U32: return tessi_value_int((uint32_t)x);
    case TYPE_I64:
    case TYPE_U64:
    case TYPE_INDEX: return tessi_value_int(x);
    case TYPE_F16: return tessi_value_real((double)tess_f16_from_i64(x));
    case TYPE_F32: return tessi_value_real((double)(float)x);
    case TYPE_F64: return tessi_value_real((double)x);
    case N_TYPES: break;
    }
    return tessi_value_int(0);
}

/* What signed types do not hold; the low bits of others are those of int64. */
static Value cast_from_u64(ScalarType to, uint64_t x)
{
    switch (to) {
    case TYPE_F16: return tessi_value_real((double)tess_f16_from_u64(x));
    case TYPE_F32: return tessi_value_real((double)(float)x);
    case TYPE_F64: return tessi_value_real((double)x);
    default: return cast_from_integer(to, (int64_t)x);
    }
}

Value tessi_eval_cast(ScalarType to, ScalarType from, Value v)
{
    if (from == TYPE_U64)
        return cast_from_u64(to, (uint64_t)v.i);
    return tessi_is_real(from) ? cast_from_real(to, v.f) : cast_from_integer(to, v.i);
}

Value tessi_eval_sat(ScalarType to, ScalarType from, Value v)
{
    if (tessi_is_real(to))
        return tessi_eval_cast(to, from, v);
    if (tessi_is_real(from) && to == TYPE_BOOL)
        return tessi_value_int(tess_sat_b_from_f64(v.f));
    if (tessi_is_real(from))
        return cast_from_real(to, tess_rint_f64(v.f));
    if (to == TYPE_U64)
        return tessi_value_int(from != TYPE_U64 && v.i < 0 ? 0 : v.i);
    Interval range = tessi_type_range(to);
    if (from == TYPE_U64 && v.i < 0) /* beyond int64 */
        return tessi_value_int(range.hi);
    return tessi_value_int(v.i < range.lo ? range.lo : v.i > range.hi ? range.hi : v.i);
}

/* ---- Elements in memory ------------------------------------------------------------------------- */
Value tessi_load_element(ScalarType t, const void *p)
{
    switch (t) {
    case TYPE_BOOL: return tessi_value_int(tess_load_b(p));
    case TYPE_I8: return tessi_value_int(tess_load_i8(p));
    case TYPE_U8: return tessi_value_int(tess_load_u8(p));
    case TYPE_I16: return tessi_value_int(tess_load_i16(p));
    case TYPE_U16: return tessi_value_int(tess_load_u16(p));
    case TYPE_I32: return tessi_value_int(tess_load_i32(p));
    case TYPE_U32: return tessi_value_int(tess_load_u32(p));
    case TYPE_I64:
    case TYPE_U64:
    case TYPE_INDEX: return tessi_value_int(tess_load_i64(p));
    case TYPE_F16: return tessi_value_real((double)tess_load_f16(p));
    case TYPE_F32: return tessi_value_real((double)tess_load_f32(p));
    case TYPE_F64: return tessi_value_real(tess_load_f64(p));
    case N_TYPES: break;
    }
    return tessi_value_int(0);
}

void tessi_store_element(ScalarType t, void *p, Value v)
{
    switch (t) {
    case TYPE_BOOL: tess_store_b(p, v.i != 0); break;
    case TYPE_I8: tess_store_i8(p, (int8_t)v.i); break;
    case TYPE_U8: tess_store_u8(p, (uint8_t)v.i); break;
    case TYPE_I16: tess_store_i16(p, (int16_t)v.i); break;
    case TYPE_U16: tess_store_u16(p, (uint16_t)v.i); break;
    case TYPE_I32: tess_store_i32(p, (int32_t)v.i); break;
    case TYPE_U32: tess_store_u32(p, (uint32_t)v.i); break;
    case TYPE_I64:
    case TYPE_U64:
    case TYPE_INDEX: tess_store_i64(p, v.i); break;
    case TYPE_F16: tess_store_f16(p, (float)v.f); break;
    case TYPE_F32: tess_store_f32(p, (float)v.f); break;
    case TYPE_F64: tess_store_f64(p, v.f); break;
    case N_TYPES: break;
    }
}
