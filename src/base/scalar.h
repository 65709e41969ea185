/* Scalar types, operators, border rules and values: the tables of types.def, ops.def and borders.def as C, and the one
 * definition of what an operator computes (eval), which the folder and both interpreters use. */
#ifndef TESSERA_BASE_SCALAR_H
#define TESSERA_BASE_SCALAR_H

#include "base/base.h"

typedef enum ScalarType {
#define TYPE(id, name, brief, ctype, bytes, cls) TYPE_##id,
#include "base/types.def"
#undef TYPE
    N_TYPES
} ScalarType;

typedef enum Op {
#define OP(id, name, n_args, infix, domain, result) OP_##id,
#include "base/ops.def"
#undef OP
    N_OPS
} Op;

typedef enum Border {
#define BORDER(id, name, aliases, picture, scipy, opencv) BORDER_##id,
#include "base/borders.def"
#undef BORDER
    N_BORDERS
} Border;

typedef struct TypeInfo {
    const char *name, *brief, *ctype;
    uint8_t bytes;
    char cls; /* 'B', 'S', 'U', 'R' */
} TypeInfo;
typedef struct OpInfo {
    const char *name, *infix;
    uint8_t n_args;
    char domain, result;
} OpInfo;
typedef struct BorderInfo {
    const char *name, *aliases, *picture, *scipy, *opencv;
} BorderInfo;

const TypeInfo *tessi_type_info(ScalarType t);
const OpInfo *tessi_op_info(Op op);
const BorderInfo *tessi_border_info(Border b);
bool tessi_border_by_name(const char *name, Border *out); /* names and aliases */
bool tessi_type_by_name(const char *name,
                        ScalarType *out); /* names and brief names; "int" = int32 */
bool tessi_op_by_name(const char *name, Op *out);

/* The operator computes with arguments of type t (SELECT: chooses between them), which is no index. */
bool tessi_op_takes(Op op, ScalarType t);
/* How tightly it binds two arguments where texts have it between them, 1 the loosest; 0: it is written as a function,
 * or has one argument. */
enum { PRECEDENCE_SUM = 7, PRECEDENCE_PRODUCT = 8, PRECEDENCE_UNARY = 9 };
int tessi_op_precedence(Op op);
/* Where the values of integers lie, negated, added, multiplied or chosen by MIN and MAX, as far as int64 holds them;
 * false: another operator. */
bool tessi_op_interval(Op op, Interval a, Interval b, Interval *out);
/* The type of the result of an operator on arguments of type t (of SELECT: the type of what it selects from). */
ScalarType tessi_op_result(Op op, ScalarType t);

bool tessi_is_real(ScalarType t); /* F16 F32 F64 */
/* What elements of the type are computed in: F32 for F16, else the same. */
ScalarType tessi_value_type(ScalarType t);
bool tessi_is_integer(ScalarType t);  /* not bool, not real */
bool tessi_is_unsigned(ScalarType t); /* U8 U16 U32 U64 */
ScalarType
tessi_promote(ScalarType t); /* C's promotion: bool and narrow integers to I32, F16 to F32 */
ScalarType
tessi_common_type(ScalarType a,
                  ScalarType b); /* C's usual conversions after promotion (I64 beats U32) */
/* Integers and bool, as Value.i: of U64 all that an int64 holds, since values from 2^63 on are negative there. */
Interval tessi_type_range(ScalarType t);
/* The least and the largest value of the type, integers and bool, as Value.i. */
int64_t tessi_type_least(ScalarType t);
int64_t tessi_type_most(ScalarType t);
/* The greatest power of two that a finite number is a whole multiple of, as its exponent; INT_MAX for 0. */
int tessi_power_in(double x);

/* How generated C spells things (the rule stands at the head of prelude/c.h). True: `a op b` with the infix spelling of
 * ops.def, parenthesised; false: the prelude function tess_<op>_<brief name>(...), F16 spelled as F32. */
bool tessi_op_is_infix(Op op, ScalarType t);
/* True: `(ctype)x`; false: tess_<to>_from_<from>(x), a `from` of F16 spelled as F32. */
bool tessi_cast_is_plain(ScalarType to, ScalarType from);

/* A value of some type: integers and bool in i (sign- or zero-extended, always within the type; of U64 its bits),
 * reals in f
 * (F32 and F16 values are exactly representable). Which member counts follows from the type. */
typedef union Value {
    int64_t i;
    double f;
} Value;

Value tessi_value_int(int64_t i);
Value tessi_value_real(double f);
double tessi_value_number(ScalarType t, Value v); /* the nearest double */
/* Same bits; every NaN equals every NaN, -0 differs from +0. */
bool tessi_value_same(ScalarType t, Value a, Value b);
/* <0, 0 or >0 by the total order that MEDIAN and SORT use (reals: -inf .. -0 < +0 .. inf < every NaN). */
int tessi_value_compare(ScalarType t, Value a, Value b);

/* The meaning of an operator: arguments of type t (for SELECT: args[0] is bool, t is the type of the others), result of
 * type t, or bool for comparisons. Total: no argument is undefined behaviour. */
Value tessi_eval(Op op, ScalarType t, const Value *args);
/* The same; an operator with fewer arguments leaves the last ones alone. */
Value tessi_eval_of(Op op, ScalarType t, Value x, Value y, Value z);
/* cast<to>(v): integers wrap; real to integer saturates, NaN gives 0; to bool: v != 0; to F16: rounded, kept as F32
 * value. */
Value tessi_eval_cast(ScalarType to, ScalarType from, Value v);
/* sat<to>(v): rounds to nearest even and saturates; NaN gives 0 in integers. */
Value tessi_eval_sat(ScalarType to, ScalarType from, Value v);
/* Reads/writes one stored element (memory may be unaligned). F16 elements become their F32 value; storing rounds. */
Value tessi_load_element(ScalarType t, const void *p);
void tessi_store_element(ScalarType t, void *p, Value v);

/* Index i of a line of n >= 1 points answered by a border rule: an index in 0..n-1, or -1 for "outside" (CONSTANT,
 * and INSIDE when the promise is broken). Exact for any distance: mirror has period 2n-2, reflect 2n. */
int64_t tessi_border_index(Border b, int64_t i, int64_t n);

#endif
