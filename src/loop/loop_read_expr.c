/* Reads expressions of the text form. Types are checked before a constructor sees them. */
#include <math.h>
#include <string.h>

#include "loop/loop_template.h"

static const LExprId none = { 0 };

static LExprId fault_none(bool ignored)
{
    (void)ignored;
    return none;
}

/* ---- Constants ------------------------------------------------------------------------------- */

static bool read_digits(const char *s, size_t n, bool negative, ScalarType t, Value *v)
{
    uint64_t magnitude = 0, most = (uint64_t)INT64_MAX + negative;
    for (size_t i = 0; i < n; i++) {
        uint64_t digit = (uint64_t)(s[i] - '0');
        if (magnitude > (most - digit) / 10)
            return false;
        magnitude = magnitude * 10 + digit;
    }
    v->i = !negative ? (int64_t)magnitude : magnitude ? -(int64_t)(magnitude - 1) - 1 : 0;
    if (t == TYPE_INDEX)
        return true;
    Interval range = tessi_type_range(t);
    return v->i >= range.lo && v->i <= range.hi;
}

static bool read_number(LoopReader *r, const char *s, bool negative, ScalarType *type, Value *v)
{
    size_t digits = strspn(s, "0123456789"), n = digits;
    if (s[n] == '.')
        n += 1 + strspn(s + n + 1, "0123456789");
    if (s[n] == 'e') {
        n += s[n + 1] == '+' || s[n + 1] == '-' ? 2 : 1;
        n += strspn(s + n, "0123456789");
    }
    const char *suffix = s + n;
    if (n == digits && !tessi_streq(suffix, "f")) {
        *type = TYPE_INDEX;
        if (*suffix && (!tessi_type_by_name(suffix, type) || !tessi_is_integer(*type)))
            return tessi_loop_fault(r, "'%s' is not a number", s);
        if (!read_digits(s, digits, negative, *type, v))
            return tessi_loop_fault(r, "the number %s%s does not fit its type", negative ? "-" : "",
                                    s);
        return true;
    }
    bool single = tessi_streq(suffix, "f");
    if (*suffix && !single)
        return tessi_loop_fault(r, "'%s' is not a number", s);
    *type = single ? TYPE_F32 : TYPE_F64;
    if (!tessi_read_real(s, n, single, &v->f))
        return tessi_loop_fault(r, "the number %s is too large", s);
    v->f = negative ? -v->f : v->f;
    return true;
}

/* A constant if one stands here: 1 read, 0 not a constant, -1 fault. */
static int read_constant(LoopReader *r, ScalarType *type, Value *v)
{
    bool negative = tessi_loop_is_sign(r, "-");
    const LoopToken *t = negative ? &r->ahead : &r->token;
    if (t->kind == LTOK_NUMBER) {
        const char *text = t->text;
        if (negative)
            tessi_loop_advance(r);
        tessi_loop_advance(r);
        return read_number(r, text, negative, type, v) ? 1 : -1;
    }
    if (t->kind != LTOK_NAME || t->quoted || !tessi_loop_is_reserved(t->name, strlen(t->name)))
        return 0;
    const char *word = t->name;
    if (word[0] == 't' || word[0] == 'f') {
        if (negative)
            return 0;
        *type = TYPE_BOOL;
        *v = tessi_value_int(word[0] == 't');
    } else {
        *type = word[3] ? TYPE_F32 : TYPE_F64;
        *v = tessi_value_real(word[0] == 'n' ? (double)NAN
                              : negative     ? -(double)INFINITY
                                             : (double)INFINITY);
    }
    if (negative)
        tessi_loop_advance(r);
    tessi_loop_advance(r);
    return 1;
}

bool tessi_loop_read_value(LoopReader *r, ScalarType t, Value *v)
{
    ScalarType found;
    int got = read_constant(r, &found, v);
    if (got < 0)
        return false;
    if (!got)
        return tessi_loop_fault(r, "expected a constant, found '%s'", r->token.text);
    if (found != tessi_value_type(t))
        return tessi_loop_fault(r, "expected a constant of type %s, found one of type %s",
                                tessi_type_info(t)->name, tessi_type_info(found)->name);
    return true;
}

/* ---- Operators ------------------------------------------------------------------------------- */

static LExprId apply(LoopReader *r, Op op, const LExprId *args)
{
    const OpInfo *info = tessi_op_info(op);
    ScalarType types[3];
    for (int i = 0; i < info->n_args; i++) {
        if (!args[i].v)
            return none;
        types[i] = tessi_lexpr(r->p, args[i])->type;
    }
    if (!tessi_loop_op_fits(op, types))
        return fault_none(tessi_loop_fault(
            r, "operator '%s' does not take arguments of these types", info->name));
    return tessi_lexpr_op(r->p, op, args[0], args[1], args[2]);
}

int tessi_loop_read_list(LoopReader *r, LExprId *args, int most)
{
    int n = 0;
    if (!tessi_loop_expect(r, "("))
        return -1;
    if (tessi_loop_accept(r, ")"))
        return 0;
    do {
        if (n == most) {
            tessi_loop_fault(r, "too many arguments");
            return -1;
        }
        args[n] = tessi_loop_read_expr(r);
        if (!args[n++].v)
            return -1;
    } while (tessi_loop_accept(r, ","));
    return tessi_loop_expect(r, ")") ? n : -1;
}

static LExprId read_call(LoopReader *r)
{
    const char *name = r->token.name;
    LExprId args[3] = { { 0 } };
    tessi_loop_advance(r);
    if (name[0] == '$')
        return tessi_template_hole(r, name);
    if (tessi_loop_is_lanes_call(name))
        return tessi_loop_read_lanes_call(r, name);
    int n = tessi_loop_read_list(r, args, 3);
    if (n < 0)
        return none;
    Op op;
    ScalarType t;
    if (tessi_op_by_name(name, &op)) {
        if (n != tessi_op_info(op)->n_args)
            return fault_none(tessi_loop_fault(r, "'%s' takes another number of arguments", name));
        return apply(r, op, args);
    }
    if (n != 1)
        return fault_none(tessi_loop_fault(r, "no operator is called '%s'", name));
    if (tessi_type_by_name(name, &t))
        return tessi_lexpr_cast(r->p, t, args[0]);
    if (strncmp(name, "sat_", 4) == 0 && tessi_type_by_name(name + 4, &t))
        return tessi_lexpr_sat(r->p, t, args[0]);
    return fault_none(tessi_loop_fault(r, "no operator is called '%s'", name));
}

int tessi_loop_read_indices(LoopReader *r, LExprId *index)
{
    int n = 0;
    if (!tessi_loop_expect(r, "["))
        return -1;
    while (!tessi_loop_is_sign(r, "]")) {
        if (n == LOOP_MAX_DIMS) {
            tessi_loop_fault(r, "at most %d indices are possible", LOOP_MAX_DIMS);
            return -1;
        }
        index[n] = tessi_loop_read_typed(r, TYPE_INDEX);
        if (!index[n++].v)
            return -1;
        if (!tessi_loop_accept(r, ","))
            break;
    }
    return tessi_loop_expect(r, "]") ? n : -1;
}

static LExprId read_named(LoopReader *r)
{
    const LoopName *found = tessi_loop_find_name(r, r->token.text);
    if (!found)
        return fault_none(tessi_loop_fault(r, "nothing is called '%s' here", r->token.text));
    uint32_t id = found->id;
    LoopNameKind kind = found->kind;
    tessi_loop_advance(r);
    if (kind == LNAME_PARAM)
        return tessi_lexpr_param(r->p, id);
    if (kind == LNAME_SCALAR)
        return tessi_lexpr_scalar(r->p, id);
    if (kind == LNAME_VAR)
        return tessi_lexpr_var(r->p, (LVarId){ id });
    if (kind == LNAME_EXPR)
        return tessi_template_expr(r, (LExprId){ id });
    if (kind != LNAME_BUFFER)
        return fault_none(tessi_loop_fault(r, "'%s' takes arguments", found->key));
    LExprId index[LOOP_MAX_DIMS];
    int n = tessi_loop_read_indices(r, index);
    if (n < 0)
        return none;
    const LExprId load = tessi_lexpr_load(r->p, (LBufferId){ id }, index, (uint8_t)n);
    if (r->of)
        tessi_template_load(r, load);
    return load;
}

static LExprId read_binary(LoopReader *r, int weakest);

static LExprId read_operand(LoopReader *r)
{
    ScalarType type;
    Value v;
    int constant = read_constant(r, &type, &v);
    if (constant)
        return constant > 0 ? tessi_lexpr_const(r->p, type, v) : none;
    bool negated = tessi_loop_is_sign(r, "-");
    if (negated || tessi_loop_is_sign(r, "~")) {
        tessi_loop_advance(r);
        return apply(r, negated ? OP_NEG : OP_NOT,
                     (LExprId[3]){ read_binary(r, PRECEDENCE_UNARY) });
    }
    if (tessi_loop_accept(r, "(")) {
        LExprId e = tessi_loop_read_expr(r);
        return e.v && tessi_loop_expect(r, ")") ? e : none;
    }
    if (r->token.kind != LTOK_NAME)
        return fault_none(tessi_loop_fault(r, "expected an expression, found '%s'", r->token.text));
    bool call = !r->token.quoted && r->ahead.kind == LTOK_SIGN && r->ahead.text[0] == '(';
    return call ? read_call(r) : read_named(r);
}

static bool binary_operator(const LoopReader *r, Op *op)
{
    if (r->token.kind != LTOK_SIGN)
        return false;
    for (int i = 0; i < N_OPS; i++) {
        const OpInfo *info = tessi_op_info((Op)i);
        if (info->n_args == 2 && tessi_streq(info->infix, r->token.text)) {
            *op = (Op)i;
            return true;
        }
    }
    return false;
}

/* Operators that bind at least as strongly as `weakest`, from left to right. */
static LExprId read_binary(LoopReader *r, int weakest)
{
    if (r->depth
        > 2 * LOOP_MAX_EXPR_DEPTH + LOOP_MAX_NESTING) /* an argument in parentheses counts twice */
        return fault_none(tessi_loop_fault(r, "an expression is nested too deeply"));
    r->depth++;
    LExprId left = read_operand(r);
    Op op;
    while (left.v && binary_operator(r, &op) && tessi_op_precedence(op) >= weakest) {
        tessi_loop_advance(r);
        LExprId right = read_binary(r, tessi_op_precedence(op) + 1);
        left = apply(r, op, (LExprId[3]){ left, right });
    }
    r->depth--;
    return left;
}

LExprId tessi_loop_read_expr(LoopReader *r)
{
    return r->fault ? none : read_binary(r, 1);
}

LExprId tessi_loop_read_typed(LoopReader *r, ScalarType t)
{
    LExprId e = tessi_loop_read_expr(r);
    if (e.v && tessi_lexpr(r->p, e)->type != t)
        return fault_none(tessi_loop_fault(
            r, "expected an expression of type %s, found one of type %s", tessi_type_info(t)->name,
            tessi_type_info(tessi_lexpr(r->p, e)->type)->name));
    return e;
}
