/* front/check_op: which types an operator works on and what it gives: LANGUAGE section 2 and, for the original
 * dialect, FORMA section 6.5. The rules speak of numbers; structs go field by field. */
#include "front/check.h"

typedef struct OpTypes {
    TType operand[3];
    TType op;     /* type that the operator gives */
    TType result; /* converted to this afterwards (original dialect: sqrt of an int is an int) */
} OpTypes;

static bool literal_fits(const TExpr *e, ScalarType t)
{
    Interval r, range = tessi_type_range(t);
    if (e->type.kind != TT_UNTYPED_INT || tessi_is_real(t))
        return tessi_is_real(t);
    if (!tessi_static_range(e, &r))
        return tessi_type_info(t)->bytes >= 4;
    return r.lo >= (tessi_is_unsigned(t) ? 0 : range.lo) && r.hi <= range.hi;
}

/* Type of a real function or literal that meets `t`. */
static ScalarType real_of(ScalarType t)
{
    if (t == TYPE_F16)
        return TYPE_F32;
    if (tessi_is_real(t))
        return t;
    return tessi_type_info(t)->bytes <= 2 ? TYPE_F32 : TYPE_F64;
}

/* The common type of the operands; `keep`: equal types stay as they are, and literals that fit take them. `real`: as
 * arguments of a real function. All untyped: untyped. */
static TType meet(TExpr *const *e, const TType *t, uint32_t n, bool keep, bool real)
{
    bool typed = false, reals = false;
    ScalarType s = TYPE_I32;
    for (uint32_t i = 0; i < n; i++) {
        if (t[i].kind == TT_UNTYPED_REAL)
            reals = true;
        if (t[i].kind != TT_SCALAR)
            continue;
        ScalarType own = real ? real_of(t[i].scalar) : t[i].scalar;
        s = !typed ? own : own == s ? s : tessi_common_type(s, own);
        typed = true;
    }
    if (!typed)
        return tessi_tt_kind(reals || real ? TT_UNTYPED_REAL : TT_UNTYPED_INT);
    if (s == TYPE_F16 || !keep)
        s = tessi_promote(s);
    if (reals)
        s = real_of(s);
    for (uint32_t i = 0; i < n; i++) {
        if (t[i].kind != TT_UNTYPED_INT || tessi_is_real(s) || literal_fits(e[i], s))
            continue;
        s = tessi_promote(s);
        if (!literal_fits(e[i], s))
            s = TYPE_I64;
    }
    return tessi_tt_scalar(s);
}

/* A real literal makes float of 8 and 16 bits, so it must see the types before promotion. */
static TType meet_arithmetic(TExpr *const *e, const TType *t, uint32_t n)
{
    bool reals = false, integers = true, wide = false;
    for (uint32_t i = 0; i < n; i++) {
        if (t[i].kind == TT_UNTYPED_REAL)
            reals = true;
        if (t[i].kind == TT_SCALAR) {
            integers &= !tessi_is_real(t[i].scalar);
            wide |= tessi_type_info(t[i].scalar)->bytes > 2;
        }
    }
    TType m = meet(e, t, n, false, false);
    if (reals && integers && m.kind == TT_SCALAR)
        return tessi_tt_scalar(wide ? TYPE_F64 : TYPE_F32);
    return m;
}

static bool all_integers(const TType *t, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (!tessi_tt_is_integer(t[i]))
            return false;
    }
    return true;
}

static bool all_bool(const TType *t, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (t[i].kind != TT_SCALAR || t[i].scalar != TYPE_BOOL)
            return false;
    }
    return true;
}

static TType absolute_type(TType t)
{
    if (t.kind != TT_SCALAR || tessi_is_unsigned(t.scalar))
        return t;
    return tessi_tt_scalar(tessi_promote(t.scalar));
}

/* The original dialect: literals are typed, so every operand has a number type. */
static int forma_rank(ScalarType t)
{
    return t == TYPE_F64 ? 6 : t == TYPE_F32 ? 5 : t == TYPE_I32 ? 4 : t == TYPE_I16 ? 3 : 2;
}

static void forma_rule(OpRule rule, const TType *t, uint32_t n, OpTypes *o)
{
    ScalarType widest = t[0].scalar;
    for (uint32_t i = rule == RULE_SELECT ? 1 : 0; i < n; i++) {
        if ((rule == RULE_SELECT && i == 1) || forma_rank(t[i].scalar) > forma_rank(widest))
            widest = t[i].scalar;
    }
    ScalarType s = widest;
    if (rule == RULE_ARITHMETIC || rule == RULE_COMPARE)
        s = tessi_promote(widest);
    if (rule == RULE_REAL && !tessi_is_real(widest))
        s = TYPE_F64;
    for (uint32_t i = 0; i < n; i++)
        o->operand[i] = tessi_tt_scalar(s);
    if (rule == RULE_SELECT)
        o->operand[0] = tessi_tt_scalar(TYPE_BOOL);
    o->op = tessi_tt_scalar(rule == RULE_COMPARE ? TYPE_BOOL : s);
    o->result = tessi_tt_scalar(rule == RULE_COMPARE ? TYPE_I32 : rule == RULE_REAL ? widest : s);
}

static bool number_rule(const Checker *c, OpRule rule, TExpr *const *e, const TType *t, uint32_t n,
                        OpTypes *o)
{
    TType m = tessi_tt_kind(TT_ERROR), boolean = tessi_tt_scalar(TYPE_BOOL);
    bool typed = true; /* in the original dialect only what is needed when compiling is untyped */
    for (uint32_t i = 0; i < n; i++)
        typed &= t[i].kind == TT_SCALAR;
    if (c->forma && typed && rule != RULE_BITS && rule != RULE_SHIFT && rule != RULE_COMPLEMENT
        && rule != RULE_REAL_BOOL) {
        forma_rule(rule, t, n, o);
        return true;
    }
    switch (rule) {
    case RULE_ARITHMETIC:
    case RULE_NEGATE: m = meet_arithmetic(e, t, n); break;
    case RULE_COMPLEMENT:
    case RULE_BITS:
        if (!all_integers(t, n))
            return false;
        m = rule == RULE_BITS && all_bool(t, n) ? boolean : meet(e, t, n, false, false);
        break;
    case RULE_SHIFT:
        if (!all_integers(t, n))
            return false;
        m = t[0].kind == TT_SCALAR   ? tessi_tt_scalar(tessi_promote(t[0].scalar))
            : t[1].kind == TT_SCALAR ? tessi_tt_scalar(TYPE_I32)
                                     : t[0];
        break;
    case RULE_COMPARE:
    case RULE_KEEP: m = meet(e, t, n, true, false); break;
    case RULE_SELECT: m = meet(e + 1, t + 1, n - 1, true, false); break;
    case RULE_ABS: m = absolute_type(t[0]); break;
    case RULE_REAL:
    case RULE_REAL_BOOL: m = meet(e, t, n, false, true); break;
    }
    for (uint32_t i = 0; i < n; i++)
        o->operand[i] = m;
    if (rule == RULE_SELECT)
        o->operand[0] = boolean;
    if ((rule == RULE_COMPARE || rule == RULE_REAL_BOOL) && tessi_tt_is_untyped(m)) {
        bool small = true;
        for (uint32_t i = 0; i < n; i++)
            small &= literal_fits(e[i], TYPE_I32);
        for (uint32_t i = 0; i < n; i++)
            o->operand[i] = tessi_tt_scalar(m.kind == TT_UNTYPED_REAL ? TYPE_F64
                                            : small                   ? TYPE_I32
                                                                      : TYPE_I64);
    }
    o->op = o->result = rule == RULE_COMPARE || rule == RULE_REAL_BOOL ? boolean : m;
    return true;
}

/* The struct type that an operand or result has field by field; a plain type when no struct is needed. */
static TType type_of_fields(Checker *c, const TStruct *like, const TType *field)
{
    ScalarType *types = ARENA_NEW_ARRAY(c->a, ScalarType, like->n);
    for (uint32_t k = 0; k < like->n; k++)
        types[k] = field[k].scalar;
    return (TType){ .kind = TT_STRUCT, .st = tessi_check_struct(c, like->origin, types, like->n) };
}

static bool same_everywhere(const TType *t, uint32_t n)
{
    for (uint32_t k = 1; k < n; k++) {
        if (!tessi_tt_same(t[0], t[k]))
            return false;
    }
    return true;
}

static bool struct_rule(Checker *c, OpRule rule, TExpr *const *args, uint32_t n,
                        const TStruct *like, OpTypes *o)
{
    TType *operand[3];
    TType *op = ARENA_NEW_ARRAY(c->a, TType, like->n),
          *result = ARENA_NEW_ARRAY(c->a, TType, like->n);
    for (uint32_t i = 0; i < n; i++)
        operand[i] = ARENA_NEW_ARRAY(c->a, TType, like->n);
    for (uint32_t k = 0; k < like->n; k++) {
        TType t[3];
        OpTypes one;
        for (uint32_t i = 0; i < n; i++)
            t[i] = tessi_tt_field(args[i]->type, k);
        if (!number_rule(c, rule, args, t, n, &one))
            return false;
        for (uint32_t i = 0; i < n; i++)
            operand[i][k] = one.operand[i];
        op[k] = one.op;
        result[k] = one.result;
    }
    for (uint32_t i = 0; i < n; i++) {
        bool plain = args[i]->type.kind != TT_STRUCT && same_everywhere(operand[i], like->n);
        o->operand[i] = plain ? operand[i][0] : type_of_fields(c, like, operand[i]);
    }
    o->op = type_of_fields(c, like, op);
    o->result = type_of_fields(c, like, result);
    return true;
}

static const TStruct *struct_among(Checker *c, Span span, TExpr *const *args, uint32_t n, bool *ok)
{
    const TStruct *like = NULL;
    *ok = true;
    for (uint32_t i = 0; i < n; i++) {
        if (args[i]->type.kind != TT_STRUCT)
            continue;
        if (like && like->origin != args[i]->type.st->origin) {
            CHECK_DIAG(c, DIAG_STRUCT_MIX, span, like->origin->name.text,
                       args[i]->type.st->origin->name.text);
            *ok = false;
            return NULL;
        }
        like = args[i]->type.st;
    }
    return like;
}

static void bad_operand(Checker *c, Span span, Op op, TExpr *const *args, uint32_t n)
{
    const OpInfo *info = tessi_op_info(op);
    for (uint32_t i = 0; i < n; i++) {
        bool integer = args[i]->type.kind == TT_STRUCT ? false : tessi_tt_is_integer(args[i]->type);
        if (!integer) {
            /* C's ^ is a power here */
            const char *name = info->infix[0] && op != OP_XOR ? info->infix : info->name;
            CHECK_DIAG(c, DIAG_BAD_OPERAND, span, name, tessi_tt_name(c, args[i]->type));
            return;
        }
    }
}

/* The types of an operation on these arguments; false when one is an error, or after a diagnostic. */
static bool find_types(Checker *c, Span span, OpRule rule, Op op, TExpr *const *args, uint32_t n,
                       OpTypes *o)
{
    TType t[3] = { { 0 } };
    bool ok;
    for (uint32_t i = 0; i < n; i++) {
        t[i] = args[i]->type;
        if (tessi_tt_is_error(t[i]))
            return false;
    }
    const TStruct *like = struct_among(c, span, args, n, &ok);
    if (!ok)
        return false;
    if (like && c->forma) {
        tessi_check_whole_struct(c, span, (TType){ .kind = TT_STRUCT, .st = like });
        return false;
    }
    if (like ? struct_rule(c, rule, args, n, like, o) : number_rule(c, rule, args, t, n, o))
        return true;
    bad_operand(c, span, op, args, n);
    return false;
}

/* A constant of integers among constants of which one is a real literal counts with its value only, as a literal
 * would: of `const int k`, k / 7.0 takes the type that it meets. The same for the argument of a real function. */
static void free_constants(Checker *c, OpRule rule, TExpr *const *args, uint32_t n, TExpr **out)
{
    bool constant = true, real = rule == RULE_REAL;
    for (uint32_t i = 0; i < n; i++) {
        out[i] = args[i];
        real |= args[i]->type.kind == TT_UNTYPED_REAL;
        constant &=
            args[i]->kind == TE_CONST
            && (tessi_tt_is_untyped(args[i]->type)
                || (args[i]->type.kind == TT_SCALAR && tessi_is_integer(args[i]->type.scalar)));
    }
    if (c->forma || !constant || !real)
        return;
    for (uint32_t i = 0; i < n; i++)
        if (args[i]->type.kind == TT_SCALAR)
            out[i] =
                tessi_te_const(c, tessi_tt_kind(TT_UNTYPED_INT), args[i]->value, args[i]->span);
}

TExpr *tessi_check_apply(Checker *c, Span span, OpRule rule, Op op, TExpr *const *given, uint32_t n)
{
    OpTypes o;
    TExpr *args[3];
    free_constants(c, rule, given, n, args);
    if (!find_types(c, span, rule, op, args, n, &o))
        return tessi_te_error(c, span);
    TExpr *e = tessi_te_new(c, TE_OP, o.op, span, n);
    e->op = op;
    for (uint32_t i = 0; i < n; i++) {
        e->arg[i] = tessi_check_convert(c, args[i], o.operand[i]);
        if (tessi_tt_is_error(e->arg[i]->type))
            return tessi_te_error(c, span);
    }
    e = tessi_te_fold(c, e);
    return tessi_tt_same(o.op, o.result) ? e : tessi_check_convert(c, e, o.result);
}

void tessi_check_unify(Checker *c, Span span, OpRule rule, TExpr **args, uint32_t n)
{
    OpTypes o;
    if (!find_types(c, span, rule, OP_ADD, args, n, &o))
        return;
    for (uint32_t i = 0; i < n; i++)
        args[i] = tessi_check_convert(c, args[i], o.operand[i]);
}

TExpr *tessi_check_condition(Checker *c, TExpr *e)
{
    if (tessi_tt_is_error(e->type) || (e->type.kind == TT_SCALAR && e->type.scalar == TYPE_BOOL))
        return e;
    if (c->forma && e->kind == TE_CAST && e->arg[0]->type.kind == TT_SCALAR
        && e->arg[0]->type.scalar == TYPE_BOOL)
        return e->arg[0]; /* a comparison, made an int */
    return tessi_check_cast(c, e, tessi_tt_scalar(TYPE_BOOL), false, e->span);
}

TExpr *tessi_check_select(Checker *c, Span span, TExpr *cond, TExpr *a, TExpr *b)
{
    TExpr *args[3] = { tessi_check_condition(c, cond), a, b };
    TExpr *e = tessi_check_apply(c, span, RULE_SELECT, OP_SELECT, args, 3);
    if (e->kind == TE_OP && e->arg[0]->kind == TE_CONST)
        return e->arg[0]->value.i ? e->arg[1] : e->arg[2];
    return e;
}

TExpr *tessi_check_unary(Checker *c, Span span, AstOperator op, TExpr *a)
{
    if (op == AST_OP_LNOT) {
        a = tessi_check_condition(c, a);
        return tessi_check_apply(c, span, RULE_BITS, OP_NOT, &a, 1);
    }
    if (op == AST_OP_BNOT)
        return tessi_check_apply(c, span, RULE_COMPLEMENT, OP_NOT, &a, 1);
    return tessi_check_apply(c, span, RULE_NEGATE, OP_NEG, &a, 1);
}

static bool negative_constant(const TExpr *e)
{
    return e->kind == TE_CONST && e->type.kind == TT_UNTYPED_INT && e->value.i < 0;
}

TExpr *tessi_check_binary(Checker *c, Span span, AstOperator op, TExpr *a, TExpr *b)
{
    TExpr *args[2] = { a, b }, *swapped[2] = { b, a };
    switch (op) {
    case AST_OP_LOR:
    case AST_OP_LAND:
        args[0] = tessi_check_condition(c, a);
        args[1] = tessi_check_condition(c, b);
        return tessi_check_apply(c, span, RULE_BITS, op == AST_OP_LOR ? OP_OR : OP_AND, args, 2);
    case AST_OP_OR: return tessi_check_apply(c, span, RULE_BITS, OP_OR, args, 2);
    case AST_OP_XOR: return tessi_check_apply(c, span, RULE_BITS, OP_XOR, args, 2);
    case AST_OP_AND: return tessi_check_apply(c, span, RULE_BITS, OP_AND, args, 2);
    case AST_OP_EQ: return tessi_check_apply(c, span, RULE_COMPARE, OP_EQ, args, 2);
    case AST_OP_NE: return tessi_check_apply(c, span, RULE_COMPARE, OP_NE, args, 2);
    case AST_OP_LT: return tessi_check_apply(c, span, RULE_COMPARE, OP_LT, args, 2);
    case AST_OP_LE: return tessi_check_apply(c, span, RULE_COMPARE, OP_LE, args, 2);
    case AST_OP_GT: return tessi_check_apply(c, span, RULE_COMPARE, OP_LT, swapped, 2);
    case AST_OP_GE: return tessi_check_apply(c, span, RULE_COMPARE, OP_LE, swapped, 2);
    case AST_OP_SHL: return tessi_check_apply(c, span, RULE_SHIFT, OP_SHL, args, 2);
    case AST_OP_SHR: return tessi_check_apply(c, span, RULE_SHIFT, OP_SHR, args, 2);
    case AST_OP_ADD: return tessi_check_apply(c, span, RULE_ARITHMETIC, OP_ADD, args, 2);
    case AST_OP_SUB: return tessi_check_apply(c, span, RULE_ARITHMETIC, OP_SUB, args, 2);
    case AST_OP_MUL: return tessi_check_apply(c, span, RULE_ARITHMETIC, OP_MUL, args, 2);
    case AST_OP_DIV: return tessi_check_apply(c, span, RULE_ARITHMETIC, OP_DIV, args, 2);
    case AST_OP_MOD: return tessi_check_apply(c, span, RULE_ARITHMETIC, OP_MOD, args, 2);
    case AST_OP_POW:
        if (a->type.kind == TT_UNTYPED_INT && negative_constant(b)) /* 2^-1 is a half */
            args[0] = tessi_check_convert(c, a, tessi_tt_kind(TT_UNTYPED_REAL));
        return tessi_check_apply(c, span, RULE_ARITHMETIC, OP_POW, args, 2);
    default: return tessi_te_error(c, span);
    }
}
