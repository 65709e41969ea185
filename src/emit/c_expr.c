/* Expressions in generated C: plain C where C gives the same bits, else calls of the prelude (the rule stands at its
 * head). */
#include <math.h>

#include "emit/c_private.h"

const char *tessi_c_element(ScalarType t)
{
    return tessi_type_info(t)->ctype;
}

const char *tessi_c_type(const CWriter *w, ScalarType t)
{
    if (t == TYPE_INDEX)
        return w->target->index;
    return t == TYPE_BOOL ? "bool" : tessi_type_info(tessi_value_type(t))->ctype;
}

static void add_real(Text *out, ScalarType t, double f)
{
    bool single = t != TYPE_F64;
    if (isnan(f)) {
        tessi_text_add(out, single ? "NAN" : "(double)NAN");
    } else if (isinf(f)) {
        tessi_text_addf(out, "%s%sINFINITY", f < 0 ? "-" : "", single ? "" : "(double)");
    } else {
        tessi_text_add_real(out, f, single);
        tessi_text_add(out, single ? "f" : "");
    }
}

void tessi_c_constant(Text *out, ScalarType t, Value v)
{
    long long i = (long long)v.i;
    if (tessi_is_real(t))
        add_real(out, t, v.f);
    else if (t == TYPE_BOOL)
        tessi_text_add(out, v.i ? "true" : "false");
    else if (t == TYPE_U32)
        tessi_text_addf(out, "%lldu", i);
    else if (t == TYPE_U64)
        tessi_text_addf(out, "UINT64_C(%llu)", (unsigned long long)v.i);
    else if (v.i == INT64_MIN)
        tessi_text_add(out, "INT64_MIN");
    else if (t == TYPE_I32 && v.i == INT32_MIN)
        tessi_text_add(out, "INT32_MIN");
    else if (t == TYPE_I64)
        tessi_text_addf(out, "INT64_C(%lld)", i);
    else
        tessi_text_addf(out, "%lld", i);
}

/* ---- Elements in memory ---------------------------------------------------------------------- */

static CImage *image_of(const CWriter *w, const LBuffer *b)
{
    return b->kind == LBUF_INPUT    ? &w->inputs[b->image]
           : b->kind == LBUF_OUTPUT ? &w->outputs[b->image]
                                    : NULL;
}

bool tessi_c_is_mixed(const CWriter *w, LBufferId b)
{
    const CImage *im = image_of(w, &w->p->buffers.at[b.v]);
    return im && !im->image->uniform;
}

static bool is_constant(const CWriter *w, LExprId id, int64_t value)
{
    const LExpr *e = tessi_lexpr(w->p, id);
    return id.v ? e->kind == LEXPR_CONST && e->value.i == value : value == 0;
}

static void plus(CWriter *w, bool *first)
{
    tessi_text_add(&w->line, *first ? "" : " + ");
    *first = false;
}

/* The distance from the first pixel, in elements (bytes for mixed pixels). */
static void image_offset(CWriter *w, CImage *im, const LBuffer *b, const LExprId *index, bool first)
{
    uint32_t unit = im->image->uniform ? tessi_type_info(b->type)->bytes : 1;
    uint32_t pixel = b->flat ? 1 : im->image->pixel_bytes / unit;
    uint32_t channel = im->image->channel_offset[b->channel] / unit;
    for (int d = 0; d < b->n_dims - 1; d++) {
        if (is_constant(w, index[d], 0))
            continue;
        plus(w, &first);
        tessi_c_expr(w, index[d], C_PRODUCT);
        tessi_text_addf(&w->line, " * %s", im->stride[d]);
        im->stride_used[d] = true;
    }
    LExprId last = index[b->n_dims - 1];
    if (!is_constant(w, last, 0)) {
        plus(w, &first);
        tessi_c_expr(w, last, pixel == 1 ? C_SUM : C_PRODUCT);
        if (pixel != 1)
            tessi_text_addf(&w->line, " * %u", pixel);
    }
    if (channel) {
        plus(w, &first);
        tessi_text_addf(&w->line, "%u", channel);
    }
    tessi_text_add(&w->line, first ? "0" : "");
}

/* Elements along dimension k of an array, with what rows are longer by. */
static void row_length(CWriter *w, LBufferId id, int k, int around)
{
    const LBuffer *b = &w->p->buffers.at[id.v];
    if (k == b->n_dims - 1 && w->target->pitch) {
        tessi_text_addf(&w->line, "%s%u(", w->target->pitch, tessi_type_info(b->type)->bytes);
        tessi_c_expr(w, b->size[k], C_LOOSE);
        tessi_text_add(&w->line, ")");
    } else if (k == b->n_dims - 1 && w->pitch_of[id.v]) {
        CPitch *pitch = &w->pitches.at[w->pitch_of[id.v] - 1];
        pitch->used = true;
        tessi_text_add(&w->line, pitch->name);
    } else {
        tessi_c_expr(w, b->size[k], around);
    }
}

/* ((i0 * n1 + i1) * n2 + i2) */
static void row_major_offset(CWriter *w, LBufferId id, const LExprId *index)
{
    const LBuffer *b = &w->p->buffers.at[id.v];
    int d = 0;
    while (d < b->n_dims && is_constant(w, index[d], 0))
        d++;
    if (d == b->n_dims) {
        tessi_text_add(&w->line, "0");
        return;
    }
    for (int k = d + 1; k < b->n_dims - 1; k++)
        tessi_text_add(&w->line, "(");
    bool one = d < b->n_dims - 1 && is_constant(w, index[d], 1);
    if (!one)
        tessi_c_expr(w, index[d], d < b->n_dims - 1 ? C_PRODUCT : C_LOOSE);
    for (int k = d + 1; k < b->n_dims; k++) {
        bool alone = one && k == d + 1;
        tessi_text_add(&w->line, alone ? "" : " * ");
        row_length(w, id, k, alone ? C_SUM : C_UNARY);
        if (!is_constant(w, index[k], 0)) {
            tessi_text_add(&w->line, " + ");
            tessi_c_expr(w, index[k], C_SUM);
        }
        tessi_text_add(&w->line, k < b->n_dims - 1 ? ")" : "");
    }
}

const char *tessi_c_own_row(const CWriter *w, LBufferId b, const LExprId *index)
{
    VEC_FOREACH (const CArgument, argument, &w->own) {
        const LExpr *load = tessi_lexpr(w->p, argument->id);
        bool same = argument->is_place && load->buffer.v == b.v;
        for (int d = 0; same && d + 1 < load->n_args; d++)
            same = load->arg[d].v == index[d].v;
        if (same)
            return argument->name;
    }
    return NULL;
}

void tessi_c_place(CWriter *w, LBufferId id, const LExprId *index)
{
    const LBuffer *b = &w->p->buffers.at[id.v];
    CImage *im = image_of(w, b);
    const char *own = tessi_c_own_row(w, id, index);
    if (own) {
        tessi_text_addf(&w->line, "%s[", own);
        tessi_c_expr(w, index[b->n_dims - 1], C_LOOSE);
        tessi_text_add(&w->line, "]");
        return;
    }
    w->buffer_used[id.v] = true;
    if (im) {
        im->used = true;
        tessi_text_add(&w->line, im->name);
        tessi_text_add(&w->line, im->image->uniform ? "[" : " + ");
        image_offset(w, im, b, index, true);
        tessi_text_add(&w->line, im->image->uniform ? "]" : "");
        return;
    }
    tessi_text_add(&w->line, w->buffer[id.v]);
    if (b->kind == LBUF_TEMP || b->n_dims == 0) {
        tessi_text_add(&w->line, "[");
        row_major_offset(w, id, index);
        tessi_text_add(&w->line, "]");
        return;
    }
    for (int d = 0; d < b->n_dims; d++) {
        tessi_text_add(&w->line, index[d].v ? "[" : "[0]");
        if (!index[d].v)
            continue;
        tessi_c_expr(w, index[d], C_LOOSE);
        tessi_text_add(&w->line, "]");
    }
}

void tessi_c_step(CWriter *w, LBufferId id, int d)
{
    const LBuffer *b = &w->p->buffers.at[id.v];
    CImage *im = image_of(w, b);
    if (im && d < b->n_dims - 1) {
        tessi_text_add(&w->line, im->stride[d]);
        im->stride_used[d] = true;
    } else if (im) {
        const uint32_t unit = im->image->uniform ? tessi_type_info(b->type)->bytes : 1;
        tessi_text_addf(&w->line, "%u", im->image->pixel_bytes / unit);
    } else {
        for (int k = d + 1; k < b->n_dims; k++) {
            tessi_text_add(&w->line, k > d + 1 ? " * " : "");
            row_length(w, id, k, C_UNARY);
        }
        tessi_text_add(&w->line, d == b->n_dims - 1 ? "1" : "");
    }
}

static int load(CWriter *w, const LExpr *e)
{
    const LBuffer *b = &w->p->buffers.at[e->buffer.v];
    const char *convert =
        tessi_c_is_mixed(w, e->buffer)
            ? tessi_sprintf(w->arena, "tess_load_%s", tessi_type_info(b->type)->brief)
        : b->type == TYPE_F16 ? "tess_f32_from_f16bits"
                              : NULL;
    if (e->ref == LLOAD_FOURS) {
        tessi_text_add(&w->line, "tess_four(&");
        tessi_c_place(w, e->buffer, e->arg);
        tessi_text_add(&w->line, ")");
        return C_PRIMARY;
    }
    /* Programs write 0 and 1 only; whoever fills an input may not. */
    bool any_bool = !convert && b->type == TYPE_BOOL && b->kind == LBUF_INPUT;
    if (convert)
        tessi_text_addf(&w->line, "%s(", convert);
    tessi_c_place(w, e->buffer, e->arg);
    tessi_text_add(&w->line, any_bool ? " != 0" : convert ? ")" : "");
    return any_bool ? C_COMPARE : C_PRIMARY;
}

/* ---- Operators ------------------------------------------------------------------------------- */

static void arguments(CWriter *w, const LExpr *e)
{
    tessi_text_add(&w->line, "(");
    for (int i = 0; i < e->n_args; i++) {
        tessi_text_add(&w->line, i ? ", " : "");
        tessi_c_expr(w, e->arg[i], C_LOOSE);
    }
    tessi_text_add(&w->line, ")");
}

/* x + -3 is written x - 3. */
static bool subtracts(CWriter *w, const LExpr *e, long long *positive)
{
    const LExpr *c = tessi_lexpr(w->p, e->arg[1]);
    if (e->op != OP_ADD || e->type != TYPE_INDEX || c->kind != LEXPR_CONST || c->value.i >= 0
        || c->value.i == INT64_MIN)
        return false;
    *positive = -(long long)c->value.i;
    return true;
}

static bool is_bitwise(Op op)
{
    return op == OP_AND || op == OP_OR || op == OP_XOR;
}

static int binary(CWriter *w, const LExpr *e)
{
    const char *sign = tessi_op_info(e->op)->infix;
    CInfix infix = tessi_c_infix(sign);
    const LExpr *first = tessi_lexpr(w->p, e->arg[0]);
    if (infix.own == C_BITS && first->kind == LEXPR_OP && first->op == e->op)
        infix.left = C_BITS; /* a chain of the same */
    long long positive;
    tessi_c_expr(w, e->arg[0], infix.left);
    if (subtracts(w, e, &positive)) {
        tessi_text_addf(&w->line, " - %lld", positive);
    } else {
        tessi_text_addf(&w->line, " %s ", sign);
        tessi_c_expr(w, e->arg[1], infix.right);
    }
    return infix.own;
}

static bool has_temporary(const CWriter *w, LExprId id)
{
    return w->stamp_of[id.v] == w->stamp && w->temporary[id.v];
}

/* sqrt of what was a whole number: some targets have a shorter form. */
static bool is_whole_root(const CWriter *w, const LExpr *e)
{
    if (!w->target->whole_roots || e->op != OP_SQRT || e->type != TYPE_F32)
        return false;
    const LExpr *x = tessi_lexpr(w->p, e->arg[0]);
    return x->kind == LEXPR_CAST && !x->ref && tessi_is_integer(tessi_lexpr(w->p, x->arg[0])->type);
}

const char *tessi_c_function(const CWriter *w, const LExpr *e)
{
    if (is_whole_root(w, e))
        return "sqrt_whole";
    if (e->op == OP_EXP && e->type == TYPE_F32 && tessi_c_signs(w->p, e->arg[0]) & C_NEVER_ABOVE_0)
        return "exp_low";
    return tessi_op_info(e->op)->name;
}

/* A choice between two numbers that compilers know: made by bits, it would hide them. */
static int choice(CWriter *w, const LExpr *e)
{
    tessi_c_expr(w, e->arg[0], C_BITS);
    tessi_text_add(&w->line, " ? ");
    tessi_c_expr(w, e->arg[1], C_BITS);
    tessi_text_add(&w->line, " : ");
    tessi_c_expr(w, e->arg[2], C_BITS);
    return C_LOOSE;
}

/* The rest of a division by a power of two, as of lanes and of rings of rows, is bits of either sign. */
static bool is_masked_rest(CWriter *w, const LExpr *e)
{
    const LExpr *by = tessi_lexpr(w->p, e->arg[1]);
    const int64_t n = by->value.i;
    return e->op == OP_FLOORMOD && e->type == TYPE_INDEX && !w->functions
           && (by->kind == LEXPR_LANES || (by->kind == LEXPR_CONST && n > 0 && !(n & (n - 1))));
}

static int masked_rest(CWriter *w, const LExpr *e)
{
    const LExpr *by = tessi_lexpr(w->p, e->arg[1]);
    tessi_c_expr(w, e->arg[0], C_UNARY);
    if (by->kind == LEXPR_LANES)
        tessi_text_addf(&w->line, " & (TESS_LANES_%s - 1)", tessi_c_lanes_of(by->ref));
    else
        tessi_text_addf(&w->line, " & %lld", (long long)by->value.i - 1);
    return C_BITS;
}

static int operation(CWriter *w, const LExpr *e)
{
    const OpInfo *info = tessi_op_info(e->op);
    if (is_masked_rest(w, e))
        return masked_rest(w, e);
    ScalarType operands = tessi_lexpr(w->p, e->arg[e->op == OP_SELECT ? 1 : 0])->type;
    const LExprId turned = tessi_c_turned(w, e);
    if (turned.v) {
        tessi_text_addf(&w->line, "tess_neg_%s(", tessi_type_info(e->type)->brief);
        tessi_c_expr(w, turned, C_LOOSE);
        tessi_text_add(&w->line, ")");
        return C_PRIMARY;
    }
    if (e->op == OP_SELECT && tessi_lexpr(w->p, e->arg[1])->kind == LEXPR_LANES)
        return choice(w, e);
    if (!tessi_op_is_infix(e->op, operands)) {
        if (w->functions) {
            w->functions->used[e->op] = true;
            tessi_text_add(&w->line, w->functions->name[e->op]);
        } else {
            tessi_text_addf(&w->line, "tess_%s_%s", tessi_c_function(w, e),
                            tessi_type_info(operands)->brief);
        }
        arguments(w, e);
        return C_PRIMARY;
    }
    if (e->n_args == 1) {
        tessi_text_add(&w->line, info->infix);
        tessi_c_expr(w, e->arg[0], C_PRIMARY);
        return C_UNARY;
    }
    /* C computes narrow integers as int. */
    bool narrow =
        is_bitwise(e->op) && tessi_type_info(operands)->bytes < 4 && operands != TYPE_BOOL;
    if (!narrow)
        return binary(w, e);
    tessi_text_addf(&w->line, "(%s)", tessi_c_type(w, operands));
    const size_t from = w->line.n;
    tessi_c_enclose(w, from, binary(w, e), C_PRIMARY);
    return C_UNARY;
}

/* sat of such a root to a byte, which is printed where it stands: the shorter form need not be exact. */
static bool is_root_of_byte(const CWriter *w, const LExpr *e)
{
    const LExpr *root = tessi_lexpr(w->p, e->arg[0]);
    return e->kind == LEXPR_SAT && (e->type == TYPE_U8 || e->type == TYPE_I8)
           && root->kind == LEXPR_OP && is_whole_root(w, root) && !has_temporary(w, e->arg[0]);
}

/* A byte that is a power, or a power times a number, which is printed where it stands: it is computed roughly, and
 * again where that does not tell the byte. NULL: it is none; `scale` may stay empty. */
static const LExpr *power_of_byte(const CWriter *w, const LExpr *e, const LExprId **scale)
{
    enum {
        LEAST_PART = 6,
        MOST = 4
    }; /* of exponents: a sixth, which is more than what is quick asks for */
    LExprId id = e->arg[0];
    if (!w->target->quick_powers || e->kind != LEXPR_SAT || e->type != TYPE_U8
        || has_temporary(w, id))
        return NULL;
    const LExpr *x = tessi_lexpr(w->p, id);
    if (x->kind == LEXPR_OP && x->op == OP_MUL) {
        const int k = tessi_lexpr(w->p, x->arg[0])->kind == LEXPR_CONST ? 0 : 1;
        const LExpr *number = tessi_lexpr(w->p, x->arg[k]);
        *scale = &x->arg[k];
        id = x->arg[1 - k];
        if (number->kind != LEXPR_CONST || number->value.f <= 0 || has_temporary(w, id))
            return NULL;
        x = tessi_lexpr(w->p, id);
    }
    if (x->kind != LEXPR_OP || x->op != OP_POW || x->type != TYPE_F32 || x->lanes)
        return NULL;
    const LExpr *y = tessi_lexpr(w->p, x->arg[1]);
    const bool usual = y->kind == LEXPR_CONST && y->value.f * LEAST_PART >= 1 && y->value.f <= MOST;
    return usual ? x : NULL;
}

static int byte_of_power(CWriter *w, const LExpr *power, const LExprId *scale)
{
    tessi_text_addf(&w->line, "tess_sat_u8_power_f32(");
    if (scale)
        tessi_c_expr(w, *scale, C_LOOSE);
    else
        tessi_text_add(&w->line, "1.0f");
    for (int k = 0; k < 2; k++) {
        tessi_text_add(&w->line, ", ");
        tessi_c_expr(w, power->arg[k], C_LOOSE);
    }
    tessi_text_add(&w->line, ")");
    return C_PRIMARY;
}

static int conversion(CWriter *w, const LExpr *e)
{
    bool to_f16 = e->kind == LEXPR_CAST && e->ref == LCAST_ROUNDS_TO_F16;
    ScalarType to = to_f16 ? TYPE_F16 : e->type, from = tessi_lexpr(w->p, e->arg[0])->type;
    if (e->kind == LEXPR_CAST && tessi_cast_is_plain(to, from)) {
        tessi_text_addf(&w->line, "(%s)", tessi_c_type(w, to));
        tessi_c_expr(w, e->arg[0], C_UNARY);
        return C_UNARY;
    }
    const LExprId *scale = NULL;
    const LExpr *const power = power_of_byte(w, e, &scale);
    if (power)
        return byte_of_power(w, power, scale);
    tessi_text_addf(&w->line, "tess_%s%s_from_%s", e->kind == LEXPR_SAT ? "sat_" : "",
                    tessi_type_info(to)->brief, tessi_type_info(from)->brief);
    if (is_root_of_byte(w, e)) {
        tessi_text_add(&w->line, "(tess_sqrt_byte_f32");
        arguments(w, tessi_lexpr(w->p, e->arg[0]));
        tessi_text_add(&w->line, ")");
    } else {
        arguments(w, e);
    }
    return C_PRIMARY;
}

static int constant(CWriter *w, const LExpr *e)
{
    bool negative = tessi_is_real(e->type) ? signbit(e->value.f) != 0 : e->value.i < 0;
    bool cast = e->type == TYPE_F64 && !isfinite(e->value.f);
    tessi_c_constant(&w->line, e->type, e->value);
    return negative || cast ? C_UNARY : C_PRIMARY;
}

/* As many vectors as have a lane for each value: a constant of C. */
static int vectors(CWriter *w, const LExpr *e)
{
    const char *lanes = tessi_c_lanes_of(e->ref);
    tessi_text_addf(&w->line, "(%lld + TESS_LANES_%s - 1) / TESS_LANES_%s",
                    (long long)tessi_loop_local_size(w->p, e->arg[0]), lanes, lanes);
    return C_PRODUCT;
}

/* ---- Functions of values --------------------------------------------------------------------- */

const CCall *tessi_c_call(const CWriter *w, LExprId id)
{
    return w->calls && id.v != w->defined.v ? w->calls[id.v] : NULL;
}

static void row_argument(CWriter *w, const LExpr *load)
{
    const char *own = tessi_c_own_row(w, load->buffer, load->arg);
    if (own) {
        tessi_text_add(&w->line, own);
        return;
    }
    LExprId index[LOOP_MAX_DIMS] = { { 0 } };
    for (int d = 0; d + 1 < load->n_args; d++)
        index[d] = load->arg[d];
    tessi_text_add(&w->line, "&");
    tessi_c_place(w, load->buffer, index);
}

static int function_call(CWriter *w, const CCall *call)
{
    tessi_text_addf(&w->line, "%s(", call->name);
    VEC_FOREACH (const CArgument, argument, &call->arguments) {
        tessi_text_add(&w->line, argument > call->arguments.at ? ", " : "");
        if (argument->is_place)
            row_argument(w, tessi_lexpr(w->p, argument->id));
        else
            tessi_c_expr(w, argument->id, C_LOOSE);
    }
    tessi_text_add(&w->line, ")");
    return C_PRIMARY;
}

/* ---- Together -------------------------------------------------------------------------------- */

int tessi_c_append(CWriter *w, LExprId id)
{
    if (has_temporary(w, id)) {
        tessi_text_add(&w->line, w->temporary[id.v]);
        return C_PRIMARY;
    }
    const CCall *call = tessi_c_call(w, id);
    if (call)
        return function_call(w, call);
    const LExpr *e = tessi_lexpr(w->p, id);
    if (e->lanes)
        return tessi_c_vector_append(w, id);
    switch (e->kind) {
    case LEXPR_CONST: return constant(w, e);
    case LEXPR_VAR: tessi_text_add(&w->line, w->var[e->var.v]); break;
    case LEXPR_PARAM:
        w->param_used[e->ref] = true;
        tessi_text_add(&w->line, w->param[e->ref]);
        break;
    case LEXPR_SCALAR:
        w->scalar_used[e->ref] = true;
        tessi_text_add(&w->line, w->scalar[e->ref]);
        break;
    case LEXPR_LOAD: return load(w, e);
    case LEXPR_OP: return operation(w, e);
    case LEXPR_CAST:
    case LEXPR_SAT: return conversion(w, e);
    case LEXPR_LANES: tessi_text_addf(&w->line, "TESS_LANES_%s", tessi_c_lanes_of(e->ref)); break;
    case LEXPR_VECTORS: return vectors(w, e);
    case LEXPR_SPLAT:
    case LEXPR_RAMP:
    case LEXPR_AT:
    case LEXPR_PAIRS:
    case LEXPR_BOTH: break; /* vectors */
    }
    return C_PRIMARY;
}

void tessi_c_expr(CWriter *w, LExprId id, int around)
{
    const size_t from = w->line.n;
    tessi_c_enclose(w, from, tessi_c_append(w, id), around);
}
