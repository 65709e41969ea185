/* generate_print: the text of a random program. Names say what they are: in0 x3 f3 S0 P0 s0. In the original
 * dialect, what it lacks is written as something near: its types, one value for a window, + for an operator on bits. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prop/generate.h"

typedef struct Out {
    char *at;
    size_t n, used;
    bool full, forma;
} Out;

static void put(Out *o, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(o->at + o->used, o->n - o->used, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= o->n - o->used) {
        o->full = true;
        o->used = o->n - 1;
        return;
    }
    o->used += (size_t)n;
}

/* The original has five types. */
static const char *type_name(const Out *o, GenType t)
{
    static const GenType in_forma[] = { GEN_I32, GEN_I8,  GEN_I8,  GEN_I16, GEN_I16, GEN_I32,
                                        GEN_I32, GEN_I32, GEN_F32, GEN_F32, GEN_F64, GEN_F32 };
    return gen_type_name(o->forma ? in_forma[t] : t);
}
static const char *const rule_names[] = { "clamp",    "mirror", "reflect", "wrap",
                                          "constant", "none",   "" };

static void put_rule(Out *o, GenRule rule, int outside)
{
    const char *name = rule_names[rule];
    if (o->forma)
        name = rule == GEN_CLAMP ? "clamped" : rule == GEN_REFLECT ? "mirror" : name;
    put(o, rule == GEN_CONSTANT ? "%s(%d)" : "%s", name, outside);
}

static void put_real(Out *o, double value, char suffix)
{
    char text[40];
    suffix = o->forma && suffix == 'd' ? 0 : suffix;
    snprintf(text, sizeof text, "%.9g", value);
    if (!strpbrk(text, ".e"))
        strncat(text, ".0", sizeof text - strlen(text) - 1);
    put(o, value < 0 ? "(%s%.1s)" : "%s%.1s", text, suffix ? &suffix : "");
}

static void put_name(Out *o, int image)
{
    if (image < GEN_INPUTS)
        put(o, "in%d", image);
    else
        put(o, "x%d", image - GEN_INPUTS);
}
static void put_image(Out *o, const GenProgram *p, int image)
{
    put_name(o, image);
    if (image >= GEN_INPUTS && p->stage[image - GEN_INPUTS].repeat == REPEAT_FOR)
        put(o, "<%s>", gen_last_member(p, image - GEN_INPUTS, (char[16]){ 0 }));
}
static void put_arg_image(Out *o, const GenProgram *p, const GenArg *a)
{
    put_image(o, p, a->image);
    if (a->field >= 0)
        put(o, ".c%d", a->field);
}

/* ---- Expressions ---- */
typedef struct Body {
    Out *o;
    const GenProgram *p;
    const GenStage *s;
} Body;

static void put_expr(Body *b, int id, bool may_name);

static void put_window_name(Out *o, int level, int k)
{
    put(o, "%c%d", "ijkl"[k], level);
}

/* A number that is known when compiling, by way of the const argument if there is one. */
static void put_known(Out *o, const GenStage *s, int value)
{
    int rest = value - s->konst_value;
    if (!s->konst || value == 0 || o->forma)
        put(o, "%d", value);
    else if (rest == 0)
        put(o, "k");
    else
        put(o, "k %c %d", rest < 0 ? '-' : '+', rest < 0 ? -rest : rest);
}

static void put_read(Body *b, const GenNode *node)
{
    const GenArg *a = &b->s->arg[node->slot];
    int n_dims = b->p->image[a->image].n_dims;
    bool plain = true;
    for (int d = 0; d < n_dims; d++)
        plain &= node->offset[d] == 0 && node->coef[d] == 0 && a->scale[d] == 1;
    put(b->o, "A%d", node->slot);
    if (!plain) {
        put(b->o, "@[");
        for (int d = 0; d < n_dims; d++) {
            put(b->o, d ? "," : "");
            if (a->scale[d] != 1)
                put(b->o, "(");
            if (node->coef[d] && !b->o->forma) {
                if (node->coef[d] == -1)
                    put(b->o, "-");
                else if (node->coef[d] != 1)
                    put(b->o, "%d*", node->coef[d]);
                put_window_name(b->o, node->var_level[d], node->var[d]);
                if (node->offset[d])
                    put(b->o, " %c %d", node->offset[d] < 0 ? '-' : '+',
                        node->offset[d] < 0 ? -node->offset[d] : node->offset[d]);
            } else {
                put_known(b->o, b->s, node->offset[d]);
            }
            if (a->scale[d] != 1)
                put(b->o, ",%d)", a->scale[d]);
        }
        put(b->o, "]");
    }
    if (node->field >= 0)
        put(b->o, ".c%d", node->field);
}

static void put_convolve(Body *b, const GenNode *node)
{
    int n_dims = b->p->image[b->s->arg[node->slot].image].n_dims;
    if (!node->long_form) {
        put(b->o, node->flip ? "convolve(A%d, flip(m)" : "convolve(A%d, m", node->slot);
        if (node->dilation != 1)
            put(b->o, ", dilation = %d", node->dilation);
        put(b->o, ")");
        return;
    }
    put(b->o, "sum(");
    for (int turn = 0; turn < 3; turn++) {
        put(b->o, turn == 0 ? "" : turn == 1 ? " in m : m[" : "] * A%d@[", node->slot);
        for (int d = 0; d < n_dims; d++) {
            put(b->o, d ? ", " : "");
            put_window_name(b->o, node->level, d);
        }
    }
    put(b->o, "])");
}

static void put_list(Body *b, const GenNode *node)
{
    for (int i = 0; i < node->n_children; i++) {
        put(b->o, i ? ", " : "");
        put_expr(b, node->child[i], true);
    }
}

/* What the original dialect has no form for; false for all else. */
static bool put_in_forma(Body *b, const GenNode *node)
{
    switch (node->kind) {
    case NODE_INDEX:
    case NODE_SIZE:
    case NODE_WINVAR: put(b->o, "%d", node->slot + 1); return true;
    case NODE_CONVOLVE: put(b->o, "A%d", node->slot); return true;
    case NODE_WINDOW: put_expr(b, node->child[0], true); return true;
    case NODE_UNARY:
        put(b->o, "(-");
        put_expr(b, node->child[0], true);
        put(b->o, ")");
        return true;
    case NODE_CALL:
        if (strcmp(node->text, "mix") == 0 || strcmp(node->text, "clamp") == 0) {
            put(b->o, "min(max(");
            put_expr(b, node->child[0], true);
            put(b->o, ", ");
            put_expr(b, node->child[1], true);
            put(b->o, "), ");
            put_expr(b, node->child[2], true);
            put(b->o, ")");
            return true;
        }
        if (strcmp(node->text, "isnan") != 0 && strcmp(node->text, "select") != 0)
            return false;
        put(b->o, "(");
        for (int i = 0; i < node->n_children; i++) {
            put(b->o, i == 1 ? " > 0 ? " : i ? " : " : "");
            put_expr(b, node->child[i], true);
        }
        put(b->o, node->n_children == 1 ? " > 0)" : ")");
        return true;
    default: return false;
    }
}

static const char *operator_name(const Out *o, const char *text)
{
    static const char *const known[] = { "+", "-", "*", "/", "<", "<=", ">", ">=", "==", "!=" };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i], text) == 0)
            return text;
    return o->forma ? "+" : text;
}

/* Functions that take integers of up to 32 bits get such. */
static bool put_narrow(Body *b, const GenNode *node)
{
    static const char *const names[] = { "avg", "absd", "add_sat", "sub_sat" };
    static const char *const types[] = { "uint8", "int8", "uint16", "int16", "int", "float" };
    bool narrow = false;
    for (size_t i = 0; node->kind == NODE_CALL && i < 4; i++)
        narrow |= strcmp(node->text, names[i]) == 0;
    if (!narrow)
        return false;
    if (b->o->forma)
        put(b->o, "(");
    else
        put(b->o, "%s(", node->text);
    for (int i = 0; i < node->n_children; i++) {
        put(b->o, i == 0 ? "" : b->o->forma ? " + " : ", ");
        if (!b->o->forma)
            put(b->o, "cast<%s>(", types[(node->text[0] + node->text[3] + node->child[0]) % 6]);
        put_expr(b, node->child[i], true);
        put(b->o, b->o->forma ? "" : ")");
    }
    put(b->o, ")");
    return true;
}

static void put_expr(Body *b, int id, bool may_name)
{
    const GenNode *node = &b->s->node[id];
    if (may_name && node->local) {
        put(b->o, "l%d", id);
        return;
    }
    if (put_narrow(b, node) || (b->o->forma && put_in_forma(b, node)))
        return;
    switch (node->kind) {
    case NODE_INT: put(b->o, node->value < 0 ? "(%d)" : "%d", (int)node->value); break;
    case NODE_REAL: put_real(b->o, node->value, node->suffix); break;
    case NODE_READ: put_read(b, node); break;
    case NODE_SCALAR: put(b->o, "s%d", node->slot); break;
    case NODE_INDEX: put(b->o, "index(%d)", node->slot); break;
    case NODE_SIZE: put(b->o, "size(A%d, %d)", node->slot, node->dim); break;
    case NODE_WINVAR: put_window_name(b->o, node->level, node->slot); break;
    case NODE_CONVOLVE: put_convolve(b, node); break;
    case NODE_TABLE:
        put(b->o, "A%d[", node->slot);
        put_list(b, node);
        put(b->o, "]");
        break;
    case NODE_UNARY:
        if (node->text[0] == '-' && id % 2) /* by a function of scalars */
            put(b->o, "negative(");
        else
            put(b->o, "(%s", node->text);
        put_expr(b, node->child[0], true);
        put(b->o, ")");
        break;
    case NODE_BINARY:
        put(b->o, "(");
        put_expr(b, node->child[0], true);
        put(b->o, " %s ", operator_name(b->o, node->text));
        put_expr(b, node->child[1], true);
        put(b->o, ")");
        break;
    case NODE_TERNARY:
        put(b->o, "(");
        put_expr(b, node->child[0], true);
        put(b->o, " ? ");
        put_expr(b, node->child[1], true);
        put(b->o, " : ");
        put_expr(b, node->child[2], true);
        put(b->o, ")");
        break;
    case NODE_CALL:
        put(b->o, "%s(", node->text[0] == '-' ? "abs" : node->text);
        put_list(b, node);
        put(b->o, ")");
        break;
    case NODE_CAST:
        put(b->o, "%s<%s>(", node->sat && !b->o->forma ? "sat" : "cast",
            type_name(b->o, node->type));
        put_list(b, node);
        put(b->o, ")");
        break;
    case NODE_WINDOW: {
        const char *place = strchr(node->text, '%');
        put(b->o, "%.*s%s", (int)(place ? place - node->text : (long)strlen(node->text)),
            node->text, place ? "" : "(");
        for (int k = 0; k < node->n_vars; k++) {
            put(b->o, k ? ", " : "");
            put_window_name(b->o, node->level, k);
            put(b->o, " = ");
            put_known(b->o, b->s, node->lo[k]);
            put(b->o, "..");
            put_known(b->o, b->s, node->hi[k]);
        }
        if (node->has_where) {
            put(b->o, " where ");
            put_expr(b, node->child[1], true);
        }
        put(b->o, " : ");
        put_expr(b, node->child[0], true);
        put(b->o, "%s", place ? place + 1 : ")");
        break;
    }
    }
}

static void put_locals(Body *b, int id, bool in_window)
{
    const GenNode *node = &b->s->node[id];
    in_window |= node->kind == NODE_WINDOW && !b->o->forma;
    if (!in_window || node->kind != NODE_WINDOW) /* in the original a window is its body */
        for (int i = 0; i < node->n_children; i++)
            put_locals(b, node->child[i], in_window);
    if (node->local) {
        put(b->o, "    l%d = ", id);
        put_expr(b, id, false);
        put(b->o, ";\n");
    }
}

/* A mask computed from its indices: a bell divided by its sum, or a plane. */
static void put_computed_mask(Out *o, const GenStage *s)
{
    static const char *const times[] = { "2 * ", "", "3 * ", "5 * " };
    put(o, "    mask m[");
    for (int d = 0; d < s->mask_dims; d++) {
        int lo, hi;
        gen_mask_range(s->mask_size[d], &lo, &hi);
        put(o, d ? ", %c0 = " : "%c0 = ", "ijkl"[d]);
        put_known(o, s, lo);
        put(o, "..");
        put_known(o, s, hi);
    }
    put(o, s->mask_real ? "] = exp(-(" : "] = (%d", (int)s->mask[0]);
    for (int d = 0; d < s->mask_dims; d++) {
        char i = "ijkl"[d];
        if (s->mask_real)
            put(o, "%s%c0 * %c0", d ? " + " : "", i, i);
        else
            put(o, " + %s%c0", times[d], i);
    }
    put(o, s->mask_real ? ") / 5.0) normalized;\n" : ")");
    if (!s->mask_real)
        put(o, s->mask_divisor ? " / %d.0;\n" : ";\n", s->mask_divisor);
}

static void put_mask(Out *o, const GenStage *s)
{
    int n = 1;
    if (s->mask_computed) {
        put_computed_mask(o, s);
        return;
    }
    put(o, "    mask m[");
    for (int d = 0; d < s->mask_dims; d++) {
        put(o, d ? "," : "");
        put_known(o, s, s->mask_size[d]);
        n *= s->mask_size[d];
    }
    put(o, "] = { ");
    for (int i = 0; i < n; i++) {
        put(o, i ? ", " : "");
        double c = s->mask[i % GEN_TAPS];
        if (s->mask_real)
            put(o, "%.2f", c);
        else
            put(o, "%d", (int)c);
    }
    put(o, " }");
    if (s->mask_divisor)
        put(o, " / %d", s->mask_divisor);
    put(o, ";\n");
}

/* ---- Functions ---- */
static void put_signature(Out *o, const GenProgram *p, const GenStage *s, bool with_mask)
{
    put(o, "(");
    for (int i = 0; i < s->n_args; i++) {
        const GenArg *a = &s->arg[i];
        const GenImage *image = &p->image[a->image];
        put(o, "%svector#%d ", i ? ", " : "", image->n_dims);
        if (!o->forma || a->declared != GEN_UNKNOWN)
            put(o, "%s A%d", type_name(o, a->declared), i);
        else if (image->strukt >= 0 && a->field < 0)
            put(o, "S%d A%d", image->strukt, i);
        else
            put(o, "%s A%d", type_name(o, image->type), i);
    }
    if (with_mask)
        put(o, ", mask#%d %s m", s->mask_dims, gen_type_name(p->input[s->mask_input].type));
    for (int i = 0; i < s->n_scalars; i++)
        put(o, ", %s s%d", type_name(o, s->scalar_type[i]), i);
    put(o, s->konst && !o->forma ? ", const int k) " : ") ");
}

static void put_arg_rules(Out *o, const GenProgram *p, const GenArg *a)
{
    bool each = a->per_dimension && !o->forma;
    if (a->rule[0] == GEN_UNNAMED || (o->forma && a->rule[0] == GEN_NONE))
        return;
    if (o->forma && a->rule[0] == GEN_CONSTANT) { /* without a sign, and not outside of structs */
        const bool structs = p->image[a->image].strukt >= 0 && a->field < 0;
        put(o, ":");
        put_rule(o, structs ? GEN_WRAP : GEN_CONSTANT, abs(a->outside));
        return;
    }
    put(o, each ? ":[" : ":");
    for (int d = 0; d < (each ? p->image[a->image].n_dims : 1); d++) {
        put(o, d ? ", " : "");
        /* constants of their own, none larger than the first, which is a value of the image's type */
        put_rule(o, a->rule[d], a->outside > d ? a->outside - d : 0);
    }
    if (each)
        put(o, "]");
}

static void put_konst(Out *o, const GenStage *s, int k)
{
    if (o->forma)
        return;
    if (s->konst && s->konst_input)
        put(o, ", h%d", k);
    else if (s->konst)
        put(o, ", %d", s->konst_value);
}

static void put_argument(Out *o, const GenProgram *p, const GenStage *s, int i, const char *first,
                         bool inside)
{
    if (i == 0 && first)
        put(o, "%s", first);
    else if (inside)
        put(o, "A%d", i);
    else
        put_arg_image(o, p, &s->arg[i]);
}

/* A third of the points are not valid, and what a read makes of them. */
static void put_missing(Out *o, const GenProgram *p, const GenStage *s, int i, const char *first,
                        bool inside)
{
    static const char *const policies[GEN_POLICIES] = { "infect",     "renormalise", "renormalise",
                                                        "nearest(1)", "nearest(2)",  "zero" };
    if (!s->arg[i].missing || o->forma)
        return;
    put(o, ":valid((");
    put_argument(o, p, s, i, first, inside);
    put(o, ") %% 3 != 1):%s", policies[s->arg[i].missing - 1]);
}

/* The arguments of a call of f: images named by `first` (NULL = as in the program) and by the function's own names. */
static void put_call(Out *o, const GenProgram *p, const GenStage *s, int k, const char *first,
                     bool inside, bool with_mask)
{
    put(o, "f%d(", k);
    for (int i = 0; i < s->n_args; i++) {
        put(o, i ? ", " : "");
        put_argument(o, p, s, i, first, inside);
        put_missing(o, p, s, i, first, inside);
        put_arg_rules(o, p, &s->arg[i]);
    }
    if (with_mask && inside)
        put(o, ", m");
    else if (with_mask)
        put(o, ", in%d", s->mask_input);
    for (int i = 0; i < s->n_scalars; i++) {
        if (inside)
            put(o, ", s%d", i);
        else if (o->forma)
            put(o, ", %d", i + 2);
        else if (s->scalar[i] < GEN_INPUTS)
            put(o, ", g%d", s->scalar[i]);
        else
            put(o, ", x%d", s->scalar[i] - GEN_INPUTS);
    }
    if (s->konst && inside && !o->forma)
        put(o, ", k");
    else
        put_konst(o, s, k);
    put(o, ")");
}

static void put_functions(Out *o, const GenProgram *p, int k)
{
    const GenStage *s = &p->stage[k];
    bool mask = gen_stage_uses_mask(s) && !o->forma, mask_argument = mask && s->mask_input >= 0;
    put(o, "stencil f%d", k);
    put_signature(o, p, s, mask_argument);
    put(o, "{\n");
    if (mask && !mask_argument)
        put_mask(o, s);
    Body b = { o, p, s };
    for (int i = 0; i < s->n_roots; i++)
        put_locals(&b, s->root[i], false);
    put(o, "    return ");
    if (s->strukt >= 0) {
        put(o, "struct S%d(", s->strukt);
        for (int i = 0; i < s->n_roots; i++) {
            put(o, i ? ", " : "");
            put_expr(&b, s->root[i], true);
        }
        put(o, ")");
    } else {
        if (s->type != GEN_UNKNOWN)
            put(o, "%s<%s>(", s->sat && !o->forma ? "sat" : "cast", type_name(o, s->type));
        put_expr(&b, s->root[0], true);
        if (s->type != GEN_UNKNOWN)
            put(o, ")");
    }
    put(o, ";\n}\n");
    if (s->repeat != REPEAT_FUNCTION)
        return;
    put(o, "vector v%d", k);
    put_signature(o, p, s, mask_argument);
    put(o, "{\n");
    for (int t = 0; t < s->times; t++) {
        char first[16];
        snprintf(first, sizeof first, "t%d", t - 1);
        put(o, t == s->times - 1 ? "    return " : "    t%d = ", t);
        put_call(o, p, s, k, t ? first : NULL, true, mask_argument);
        put(o, ";\n");
    }
    put(o, "}\n");
}

/* ---- Statements ---- */
static void put_loop(Out *o, const GenProgram *p, int k, bool mask)
{
    const GenStage *s = &p->stage[k];
    const int step = s->down ? 1 : -1, first = s->down ? s->times + 1 : 1;
    char before[24], head[200];
    put(o, "x%d<%d> = ", k, first);
    put_call(o, p, s, k, NULL, false, mask);
    put(o, s->lag ? ";\nx%d<%d> = x%d<%d>" : "", k, first + step, k, first);
    gen_loop_head(p, k, head, sizeof head);
    put(o, s->lag ? ";\n%s\n    y%d<i> = " : ";\n%s\n    x%d<i> = ", head, k);
    snprintf(before, sizeof before, "x%d<i%+d>", k, step);
    put_call(o, p, s, k, before, false, mask);
    if (s->lag)
        put(o, ";\n    x%d<i> = max(y%d<i>, x%d<i%+d>)", k, k, k, 2 * step);
    put(o, ";\nendfor\n");
}

static void put_stencil_call(Out *o, const GenProgram *p, int k)
{
    const GenStage *s = &p->stage[k];
    bool mask = gen_stage_uses_mask(s) && s->mask_input >= 0 && !o->forma;
    if (s->repeat == REPEAT_FOR) {
        put_loop(o, p, k, mask);
        return;
    }
    if (s->declared[0]) {
        put(o, "vector#%d any x%d[", p->image[GEN_INPUTS + k].n_dims, k);
        for (int d = 0; d < p->image[GEN_INPUTS + k].n_dims; d++)
            put(o, d ? ", %d" : "%d", s->declared[d]);
        put(o, "] = ");
    } else {
        put(o, "x%d = ", k);
    }
    if (s->repeat == REPEAT_NONE) {
        put_call(o, p, s, k, NULL, false, mask);
    } else {
        put(o, "v%d(", k);
        for (int i = 0; i < s->n_args; i++) {
            put(o, i ? ", " : "");
            put_arg_image(o, p, &s->arg[i]);
        }
        if (mask)
            put(o, ", in%d", s->mask_input);
        for (int i = 0; i < s->n_scalars; i++)
            put(o,
                o->forma                    ? ", %d"
                : s->scalar[i] < GEN_INPUTS ? ", g%d"
                                            : ", x%d",
                s->scalar[i] < GEN_INPUTS ? s->scalar[i] : s->scalar[i] - GEN_INPUTS);
        put_konst(o, s, k);
        put(o, ")");
    }
    put(o, ";\n");
}

/* `dropped`: the number of a dimension, or -1. */
static void put_ranges(Out *o, int n_dims, const GenArg *a, bool closed, int dropped)
{
    for (int d = 0; d < n_dims; d++) {
        put(o, d ? ", " : "");
        if (d == dropped) {
            put(o, "=%d", a->lo[d]);
            continue;
        }
        if (a->lo[d])
            put(o, "%d", a->lo[d]);
        else if (closed)
            put(o, "0");
        put(o, "..");
        if (closed && a->hi[d] != 999)
            put(o, "%d", a->hi[d]);
    }
}
static void put_offsets(Out *o, const GenProgram *p, const GenArg *a)
{
    put(o, "@[");
    for (int d = 0; d < p->image[a->image].n_dims; d++)
        put(o, d ? ", (%d,%d)" : "(%d,%d)", a->lo[d], a->scale[d]);
    put(o, "]");
}

/* In the original dialect a number that fills has the type of the image. */
static const char *fill_suffix(const Out *o, const GenProgram *p, const GenArg *first)
{
    const GenImage *image = &p->image[first->image];
    const GenType t = image->strukt >= 0 && first->field >= 0
                          ? p->strukt[image->strukt].type[first->field]
                          : image->type;
    const char *name = t == GEN_UNKNOWN ? "" : type_name(o, t);
    return !o->forma || *name == 'i' ? "" : *name == 'f' ? ".0f" : *name == 'd' ? ".0" : "";
}

static void put_statement(Out *o, const GenProgram *p, int k)
{
    const GenStage *s = &p->stage[k];
    const GenArg *a = &s->arg[0];
    switch (s->kind) {
    case MAKE_STENCIL: put_stencil_call(o, p, k); return;
    case MAKE_SUBDOMAIN:
        put(o, "x%d = ", k);
        put_arg_image(o, p, a);
        put(o, "[");
        put_ranges(o, p->image[a->image].n_dims, a, true, s->plane - 1);
        put(o, "]");
        break;
    case MAKE_SAMPLE:
        put(o, "x%d = ", k);
        put_arg_image(o, p, a);
        put_offsets(o, p, a);
        break;
    case MAKE_COMPOSE:
        put(o, "x%d = (", k);
        for (int i = 0; i < s->n_args; i++) {
            a = &s->arg[i];
            if (a->scaled) {
                put(o, " ");
                put_offsets(o, p, a);
            } else {
                put(o, " [");
                put_ranges(o, p->image[s->arg[0].image].n_dims, a, a->fill,
                           -1); /* a number has none */
                put(o, "]");
            }
            put(o, " = ");
            if (a->fill)
                put(o, "%d%s", a->outside, fill_suffix(o, p, &s->arg[0]));
            else
                put_arg_image(o, p, a);
            put(o, ";");
        }
        put(o, " )");
        break;
    case MAKE_PLANE:
        put(o, "x%d[%d.., ", k, s->plane);
        put_ranges(o, p->image[a->image].n_dims, a, false, -1);
        put(o, "] = ");
        put_arg_image(o, p, a);
        break;
    case MAKE_STRUCT:
        put(o, "x%d = struct S%d(", k, s->strukt);
        for (int i = 0; i < s->n_args; i++) {
            put(o, i ? ", " : "");
            put_arg_image(o, p, &s->arg[i]);
        }
        put(o, ")");
        break;
    case MAKE_REDUCE:
        put(o, "x%d = %s(", k, s->text);
        put_arg_image(o, p, a);
        put(o, ")");
        break;
    case MAKE_ALONG: {
        const GenAlong *form = &gen_along[s->bins];
        put(o, "x%d = %s", k, form->before);
        put_arg_image(o, p, a);
        put(o, "%s%d%s", form->middle, s->plane, form->after);
        break;
    }
    case MAKE_HISTOGRAM:
        put(o, "x%d = %s(", k, s->text ? s->text : "histogram");
        put_arg_image(o, p, a);
        if (s->text) {
            put(o, ", ");
            put_arg_image(o, p, a);
        }
        put(o, ", %d%s)", s->bins,
            s->text && s->text[2] == 'd' ? ", so, it : max(so, it) - it * 0.25, 1" : "");
        break;
    }
    put(o, ";\n");
}

static void put_inputs(Out *o, const GenProgram *p)
{
    if (!p->literal) {
        put(o, "parameter ");
        for (int i = 0; i < p->n_params; i++)
            put(o, i ? ", P%d" : "P%d", i);
        put(o, ";\n");
    }
    for (int i = 0; i < p->n_inputs; i++) {
        const GenInput *in = &p->input[i];
        if (o->forma && in->is_mask)
            continue;
        put(o, "%s#%d ", in->is_mask ? "mask" : "vector", in->n_dims);
        if (in->strukt >= 0)
            put(o, "S%d", in->strukt);
        else
            put(o, "%s", type_name(o, in->type));
        put(o, " in%d[", i);
        for (int d = 0; d < in->n_dims; d++) {
            put(o, d ? ", " : "");
            if (in->param[d] < 0 || p->literal) {
                put(o, "%d", p->image[i].size[d]);
                continue;
            }
            if (in->times[d] != 1)
                put(o, "%d*", in->times[d]);
            put(o, "P%d", in->param[d]);
            if (in->add[d])
                put(o, " + %d", in->add[d]);
        }
        put(o, "];\n");
    }
    for (int i = 0; i < p->n_scalars && !o->forma; i++) {
        const GenScalar *g = &p->scalar[i];
        put(o, "%s g%d = %g", gen_type_name(g->type), i, g->value);
        put(o, g->ranged ? " in -50..50;\n" : ";\n");
    }
    for (int k = 0; k < p->n_stages; k++)
        if (p->stage[k].alive && p->stage[k].repeat == REPEAT_FOR && p->stage[k].counted)
            put(o, "int n%d = %d in 0..100000;\n", k, p->stage[k].times);
    for (int k = 0; k < p->n_stages && !o->forma; k++)
        if (p->stage[k].alive && p->stage[k].kind == MAKE_STENCIL && p->stage[k].konst
            && p->stage[k].konst_input)
            put(o, "const int h%d = %d;\n", k, p->stage[k].konst_value);
}

bool gen_print(const GenProgram *p, char *text, size_t n)
{
    Out out = { .at = text, .n = n, .forma = p->forma }, *o = &out;
    if (p->border != GEN_UNNAMED && !o->forma) {
        put(o, "border ");
        put_rule(o, p->border, p->outside);
        put(o, ";\n");
    }
    for (int i = 0; i < p->n_structs; i++) {
        put(o, "struct S%d {", i);
        for (int f = 0; f < p->strukt[i].n_fields; f++)
            put(o, " %s c%d;", type_name(o, p->strukt[i].type[f]), f);
        put(o, " }\n");
    }
    if (!o->forma)
        put(o, "any negative(any x) { return -x; }\n");
    for (int k = 0; k < p->n_stages; k++)
        if (p->stage[k].alive && p->stage[k].kind == MAKE_STENCIL)
            put_functions(o, p, k);
    put_inputs(o, p);
    for (int k = 0; k < p->n_stages; k++)
        if (p->stage[k].alive && !(o->forma && p->stage[k].kind == MAKE_REDUCE))
            put_statement(o, p, k);
    put(o, "return ");
    for (int i = 0; i < (o->forma ? 1 : p->n_results); i++) {
        put(o, i ? ", " : "");
        put_image(o, p, p->result[i]);
        if (gen_asks_turns(p, p->result[i]))
            put(o, ", turns(x%d)", p->result[i] - GEN_INPUTS);
    }
    put(o, ";\n");
    return !out.full;
}
