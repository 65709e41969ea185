/* Expressions from text: a parser by precedence that builds through the constructors and checks types as it goes. */
#include <math.h>
#include <string.h>

#include "graph/graph_fold.h"
#include "graph/graph_lex.h"
#include "graph/graph_text.h"

static const ExprId none = { 0 };
static ExprId read_expr(Reader *r);
static ExprId read_unary(Reader *r);

/* What a failed read gives: any expression will do, for nothing is kept. */
static ExprId nothing(Reader *r)
{
    return tessi_expr_int(r->g, TYPE_I32, 0);
}

static ExprId make_op(Reader *r, Op op, ExprId a, ExprId b, ExprId c)
{
    Expr e = { .kind = EXPR_OP, .op = op, .n_args = tessi_op_info(op)->n_args, .arg = { a, b, c } };
    if (r->failed)
        return nothing(r);
    if (!tessi_op_well_typed(r->g, &e)) {
        tessi_graph_read_fail(r, "'%s' cannot be applied to these types", tessi_op_info(op)->name);
        return nothing(r);
    }
    return tessi_expr_op(r->g, op, a, b, c);
}

/* ---- Numbers --------------------------------------------------------------------------------- */
static bool type_of_suffix(const char *suffix, ScalarType *t)
{
    if (!*suffix)
        return true;
    for (int k = 0; k < TYPE_INDEX; k++)
        if (tessi_streq(tessi_type_info((ScalarType)k)->brief, suffix)) {
            *t = (ScalarType)k;
            return tessi_is_integer(*t);
        }
    return false;
}

static ExprId read_number(Reader *r)
{
    const Token t = r->token;
    ScalarType type = t.kind == TOKEN_REAL ? TYPE_F64 : TYPE_I32;
    double value;
    tessi_graph_read_next(r);
    if (t.kind == TOKEN_INTEGER && type_of_suffix(t.text, &type))
        return tessi_expr_int(r->g, type, (int64_t)t.integer);
    if (tessi_streq(t.text, "f"))
        type = TYPE_F32;
    else if (t.kind != TOKEN_REAL || !tessi_streq(t.text, "d")) {
        tessi_graph_read_fail(r, "a number has an unknown suffix '%.20s'", t.text);
        return nothing(r);
    }
    if (t.kind == TOKEN_INTEGER)
        return tessi_expr_real(r->g, type, (double)t.integer);
    if (!tessi_read_real(t.digits, t.n_digits, type == TYPE_F32, &value)) {
        tessi_graph_read_fail(r, "a number is too large or too long");
        return nothing(r);
    }
    return tessi_expr_real(r->g, type, value);
}

static bool read_special(Reader *r, ExprId *value)
{
    static const struct {
        const char *word;
        ScalarType type;
        double value;
    } words[] = { { "inf_f", TYPE_F32, (double)INFINITY },
                  { "inf_d", TYPE_F64, (double)INFINITY },
                  { "nan_f", TYPE_F32, (double)NAN },
                  { "nan_d", TYPE_F64, (double)NAN } };
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        if (tessi_graph_read_accept(r, words[k].word)) {
            *value = tessi_expr_real(r->g, words[k].type, words[k].value);
            return true;
        }
    for (int truth = 0; truth < 2; truth++)
        if (tessi_graph_read_accept(r, truth ? "true" : "false")) {
            *value = tessi_expr_int(r->g, TYPE_BOOL, truth);
            return true;
        }
    return false;
}

Value tessi_graph_read_constant(Reader *r, ScalarType t)
{
    Value v = { 0 };
    ExprId id = read_unary(r);
    bool fits =
        tessi_expr_is_const(r->g, id, &v) && tessi_expr(r->g, id)->type == tessi_value_type(t);
    if (!fits)
        tessi_graph_read_fail(r, "a constant of type %s is expected", tessi_type_info(t)->name);
    return v;
}

/* ---- Reads ----------------------------------------------------------------------------------- */
static void read_index(Reader *r, AccessDim *d, uint32_t dim)
{
    if (tessi_graph_read_accept(r, "{")) {
        d->absolute = true;
        d->index = read_expr(r);
        tessi_graph_read_expect(r, "}");
        return;
    }
    d->src = (int8_t)dim;
    d->scale = 1;
    if (tessi_graph_read_accept(r, "=")) {
        d->src = -1;
        tessi_graph_read_displacement(r, d);
    } else if (tessi_graph_read_accept(r, "(")) {
        tessi_graph_read_displacement(r, d);
        if (tessi_graph_read_accept(r, ",")) {
            d->scale = (int32_t)tessi_graph_read_integer(r, -INT32_MAX, INT32_MAX);
            if (tessi_graph_read_accept(r, ","))
                d->src = (int8_t)tessi_graph_read_integer(r, 0, MAX_DIMS - 1);
        }
        tessi_graph_read_expect(r, ")");
    } else {
        tessi_graph_read_displacement(r, d);
    }
}

static Border read_rule(Reader *r)
{
    Border rule = BORDER_INSIDE;
    bool known = r->token.kind == TOKEN_NAME && tessi_border_by_name(r->token.text, &rule);
    if (!known || rule == BORDER_NONE)
        tessi_graph_read_fail(r, "a border rule is expected");
    tessi_graph_read_next(r);
    return rule;
}

/* After `:`. */
static void read_rules(Reader *r, Access *a)
{
    bool list = tessi_graph_read_accept(r, "["), some_displaced = false, may_be_outside = false;
    for (uint32_t d = 0; d < a->n_dims; d++)
        some_displaced |= tessi_is_displaced(r->g, &a->dim[d], d);
    Border single = list ? BORDER_INSIDE : read_rule(r);
    for (uint32_t d = 0; d < a->n_dims; d++) {
        AccessDim *dim = &a->dim[d];
        if (list && d)
            tessi_graph_read_expect(r, ",");
        if (list)
            dim->rule = read_rule(r);
        else if (!some_displaced || tessi_is_displaced(r->g, dim, d))
            dim->rule = single;
        may_be_outside |= dim->rule == BORDER_CONSTANT;
    }
    if (list)
        tessi_graph_read_expect(r, "]");
    if (!may_be_outside)
        return;
    tessi_graph_read_expect(r, "(");
    a->outside = read_expr(r);
    tessi_graph_read_expect(r, ")");
}

static ExprId read_load(Reader *r, const char *name)
{
    Access a = { .producer = tessi_graph_stage_by_name(r->g, name) };
    if (!a.producer.v) {
        tessi_graph_read_fail(r, "there is no stage '%.40s' before this one", name);
        return nothing(r);
    }
    a.n_dims = tessi_stage(r->g, a.producer)->n_dims;
    bool displaced = a.n_dims && tessi_graph_read_accept(r, "@[");
    for (uint32_t d = 0; d < a.n_dims; d++) {
        if (displaced && d)
            tessi_graph_read_expect(r, ",");
        if (displaced)
            read_index(r, &a.dim[d], d);
        else
            a.dim[d] =
                (AccessDim){ .src = (int8_t)d, .scale = 1, .add = tessi_size_const(r->g, 0) };
    }
    if (displaced)
        tessi_graph_read_expect(r, "]");
    if (a.n_dims && tessi_graph_read_accept(r, ":"))
        read_rules(r, &a);
    return r->failed ? nothing(r) : tessi_expr_load(r->g, tessi_graph_access(r->g, &a));
}

static ExprId read_table(Reader *r, const char *name)
{
    TableId table = { 0 };
    VEC_FOREACH (const NamedTable, t, &r->tables) {
        if (tessi_streq(t->name, name))
            table = t->id;
    }
    if (!table.v)
        tessi_graph_read_fail(r, "there is no table '%.40s'", name);
    ExprId index = read_expr(r);
    tessi_graph_read_expect(r, "]");
    if (!r->failed && tessi_expr(r->g, index)->type != TYPE_I32)
        tessi_graph_read_fail(r, "an element of a table is asked for by an int32");
    return r->failed ? nothing(r) : tessi_expr_table(r->g, table, index);
}

/* ---- Windows --------------------------------------------------------------------------------- */
static void read_lets(Reader *r)
{
    while (tessi_graph_read_accept(r, "let")) {
        const Token t = r->token;
        if (t.kind != TOKEN_LET || t.integer > 1000000) {
            tessi_graph_read_fail(r, "a name such as %%1 is expected after 'let'");
            return;
        }
        tessi_graph_read_next(r);
        tessi_graph_read_expect(r, "=");
        ExprId value = read_expr(r);
        tessi_graph_read_expect(r, ";");
        if (!r->failed)
            tessi_expr_map_set(&r->let, (ExprId){ (uint32_t)t.integer }, value);
    }
}

/* The method of "direct_sum" and its like; AUTO when the name is another. */
static Method read_method(const char *name)
{
    for (int k = METHOD_AUTO + 1; k < N_METHODS; k++) {
        const char *method = tessi_method_name((Method)k);
        size_t n = strlen(method);
        if (strncmp(name, method, n) == 0
            && (tessi_streq(name + n, "_sum") || tessi_streq(name + n, "_fused_sum")))
            return (Method)k;
    }
    return METHOD_AUTO;
}

static bool read_reduction(const char *name, Reduction *reduction, bool *fused)
{
    const size_t n = strlen(name), most = strlen("fused_sum");
    *fused = n >= most && tessi_streq(name + n - most, "fused_sum")
             && (n == most || read_method(name) != METHOD_AUTO);
    *reduction = REDUCE_SUM;
    if (*fused || read_method(name) != METHOD_AUTO)
        return true;
    for (int k = 0; k <= REDUCE_ALL; k++)
        if (tessi_streq(name, tessi_reduction_name((Reduction)k))) {
            *reduction = (Reduction)k;
            return true;
        }
    return false;
}

/* The ranges `$i = -1..1, $j = -1..1`; their variables name the level. */
static Window read_ranges(Reader *r)
{
    Window w = { .level = (uint8_t)r->token.level };
    do {
        const Token t = r->token;
        if (t.kind != TOKEN_WINVAR || t.level != w.level || t.integer != w.n_vars) {
            tessi_graph_read_fail(r, "the variables of a window are $i, $j, $k, $l, in this order");
            return w;
        }
        tessi_graph_read_next(r);
        tessi_graph_read_expect(r, "=");
        w.lo[w.n_vars] = (int32_t)tessi_graph_read_integer(r, -INT32_MAX, INT32_MAX);
        tessi_graph_read_expect(r, "..");
        w.hi[w.n_vars] = (int32_t)tessi_graph_read_integer(r, -INT32_MAX, INT32_MAX);
        w.n_vars++;
    } while (tessi_graph_read_accept(r, ","));
    int64_t points = tessi_window_points(&w);
    if (points < 0 || points > MAX_WINDOW_POINTS)
        tessi_graph_read_fail(r, "a window has more than %d points", MAX_WINDOW_POINTS);
    return w;
}

static ExprId read_window(Reader *r, const char *name)
{
    Reduction reduction;
    bool fused;
    if (!read_reduction(name, &reduction, &fused))
        tessi_graph_read_fail(r, "'%.40s' is no reduction of windows", name);
    Window w = read_ranges(r);
    tessi_graph_read_expect(r, ":");
    if (r->failed)
        return nothing(r);
    WindowId id = tessi_graph_window(r->g, &w), around = r->window[w.level];
    r->window[w.level] = id;
    read_lets(r);
    ExprId body = read_expr(r);
    ExprId where = tessi_graph_read_accept(r, "where") ? read_expr(r) : none;
    tessi_graph_read_expect(r, ")");
    r->window[w.level] = around;
    if (!r->failed && where.v && tessi_expr(r->g, where)->type != TYPE_BOOL)
        tessi_graph_read_fail(r, "the condition of a window must be bool");
    if (r->failed)
        return nothing(r);
    ExprId window = fused ? tessi_expr_window_fused(r->g, id, body, where)
                          : tessi_expr_window(r->g, reduction, id, body, where);
    return tessi_expr_asked(r->g, window, (MethodRequest){ .method = read_method(name) });
}

/* ---- Calls ----------------------------------------------------------------------------------- */
static ExprId read_conversion(Reader *r, const char *name)
{
    bool saturates = tessi_streq(name, "sat");
    if (!saturates && !tessi_streq(name, "cast"))
        tessi_graph_read_fail(r, "'%s' names no type", name);
    ScalarType t = tessi_graph_read_type(r);
    tessi_graph_read_expect(r, ">");
    tessi_graph_read_expect(r, "(");
    ExprId a = read_expr(r);
    tessi_graph_read_expect(r, ")");
    if (r->failed)
        return nothing(r);
    return saturates ? tessi_expr_sat(r->g, t, a) : tessi_expr_cast(r->g, t, a);
}

/* After `state<`. */
static ExprId read_state(Reader *r)
{
    ScalarType t = tessi_graph_read_type(r);
    tessi_graph_read_expect(r, ">");
    tessi_graph_read_expect(r, "(");
    const uint32_t number = (uint32_t)tessi_graph_read_integer(r, 0, MAX_SCAN_STATES);
    tessi_graph_read_expect(r, ")");
    if (!r->failed && t == TYPE_F16)
        tessi_graph_read_fail(r, "no value has this type");
    return r->failed ? nothing(r) : tessi_expr_state(r->g, number, t);
}

static ExprId read_scalar(Reader *r)
{
    const char *name = tessi_graph_read_name(r, "an input scalar");
    uint32_t k = 0;
    while (k < r->g->scalars.n && !tessi_streq(r->g->scalars.at[k].name, name))
        k++;
    if (k == r->g->scalars.n) {
        tessi_graph_read_fail(r, "there is no input scalar '%.40s'", name);
        return nothing(r);
    }
    return tessi_expr_scalar(r->g, k);
}

static ExprId read_operands(Reader *r, const char *name)
{
    Op op;
    ExprId arg[3] = { { 0 }, { 0 }, { 0 } };
    if (!tessi_op_by_name(name, &op)) {
        tessi_graph_read_fail(r, "there is no function '%.40s'", name);
        return nothing(r);
    }
    for (uint32_t k = 0; k < tessi_op_info(op)->n_args; k++) {
        if (k)
            tessi_graph_read_expect(r, ",");
        arg[k] = read_expr(r);
    }
    return make_op(r, op, arg[0], arg[1], arg[2]);
}

/* After `name(`. */
static ExprId read_call(Reader *r, const char *name)
{
    ExprId e;
    if (r->token.kind == TOKEN_WINVAR && !tessi_streq(name, "scalar")) {
        /* sum($i = ..) is a window, min($i, 3) a call */
        size_t at = r->at;
        while (at < r->n && (r->text[at] == ' ' || r->text[at] == '\n'))
            at++;
        bool is_window = at + 1 < r->n && r->text[at] == '=' && r->text[at + 1] != '=';
        if (is_window)
            return read_window(r, name);
    }
    if (tessi_streq(name, "scalar"))
        e = read_scalar(r);
    else if (tessi_streq(name, "index"))
        e = tessi_expr_index(r->g, (uint32_t)tessi_graph_read_integer(r, 0, MAX_DIMS - 1));
    else if (tessi_streq(name, "size"))
        e = tessi_expr_size(r->g, tessi_graph_read_size(r));
    else
        e = read_operands(r, name);
    tessi_graph_read_expect(r, ")");
    return e;
}

/* ---- Precedence ------------------------------------------------------------------------------ */
/* A function, a conversion, a table or a stage. */
static ExprId read_word(Reader *r)
{
    static const char *const functions[] = { "min", "max", "scalar", "cast", "sat", "state" };
    const Token t = r->token;
    bool is_function = false;
    for (size_t k = 0; k < sizeof functions / sizeof *functions; k++)
        is_function |= t.kind == TOKEN_NAME && !t.quoted && tessi_streq(t.text, functions[k]);
    const char *name = t.text;
    if (is_function)
        tessi_graph_read_next(r);
    else
        name = tessi_graph_read_name(r, "an expression");
    if (is_function && tessi_graph_read_accept(r, "<"))
        return tessi_streq(name, "state") ? read_state(r) : read_conversion(r, name);
    if (!t.quoted && tessi_graph_read_accept(r, "("))
        return read_call(r, name);
    if (!is_function && tessi_graph_read_accept(r, "["))
        return read_table(r, name);
    return r->failed ? nothing(r) : read_load(r, name);
}

static ExprId read_primary(Reader *r)
{
    const Token t = r->token;
    ExprId e = none;
    if (t.kind == TOKEN_INTEGER || t.kind == TOKEN_REAL)
        return read_number(r);
    if (tessi_graph_read_accept(r, "(")) {
        e = read_expr(r);
        tessi_graph_read_expect(r, ")");
        return e;
    }
    if (t.kind == TOKEN_LET) {
        tessi_graph_read_next(r);
        if (t.integer <= 1000000)
            e = tessi_expr_map_get(&r->let, (ExprId){ (uint32_t)t.integer });
        if (!e.v)
            tessi_graph_read_fail(r, "%%%llu has not been named before",
                                  (unsigned long long)t.integer);
        return e.v ? e : nothing(r);
    }
    if (t.kind == TOKEN_WINVAR) {
        WindowId w = r->window[t.level];
        tessi_graph_read_next(r);
        if (!w.v || t.integer >= tessi_window(r->g, w)->n_vars) {
            tessi_graph_read_fail(r, "a window variable stands outside its window");
            return nothing(r);
        }
        return tessi_expr_winvar(r->g, w, (uint32_t)t.integer);
    }
    return read_special(r, &e) ? e : read_word(r);
}

static ExprId read_unary(Reader *r)
{
    ExprId e;
    if (!tessi_graph_read_enter(r))
        return nothing(r);
    if (tessi_graph_read_accept(r, "-"))
        e = make_op(r, OP_NEG, read_unary(r), none, none);
    else if (tessi_graph_read_accept(r, "~"))
        e = make_op(r, OP_NOT, read_unary(r), none, none);
    else
        e = read_primary(r);
    tessi_graph_read_leave(r);
    return e;
}

/* The operator at the next token when it binds at least as tightly as `precedence`. */
static bool next_operator(const Reader *r, int precedence, Op *op)
{
    if (r->token.kind != TOKEN_MARK)
        return false;
    for (int k = 0; k < N_OPS; k++) {
        int own = tessi_op_precedence((Op)k);
        if (own && own >= precedence && tessi_streq(tessi_op_info((Op)k)->infix, r->token.text)) {
            *op = (Op)k;
            return true;
        }
    }
    return false;
}

static ExprId read_binary(Reader *r, int precedence)
{
    Op op;
    ExprId left = read_unary(r);
    while (!r->failed && next_operator(r, precedence, &op)) {
        tessi_graph_read_next(r);
        if (op == OP_ADD && tessi_graph_read_accept(r, "[")) { /* + [x * y] */
            ExprId x = read_unary(r);
            tessi_graph_read_expect(r, "*");
            ExprId y = read_unary(r);
            tessi_graph_read_expect(r, "]");
            left = make_op(r, OP_FMA, x, y, left);
        } else {
            left = make_op(r, op, left, read_binary(r, tessi_op_precedence(op) + 1), none);
        }
    }
    return left;
}

static ExprId read_expr(Reader *r)
{
    if (!tessi_graph_read_enter(r))
        return nothing(r);
    ExprId e = read_binary(r, 1);
    tessi_graph_read_leave(r);
    return e;
}

ExprId tessi_graph_read_body(Reader *r)
{
    tessi_expr_map_clear(&r->let);
    memset(r->window, 0, sizeof r->window);
    read_lets(r);
    return read_expr(r);
}
