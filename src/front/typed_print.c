/* front/typed_print: the typed tree as text, for --dump=types: inputs, definitions in order, and the instances that
 * they use, every conversion written as a cast. */
#include "front/check.h"

#include <string.h>

const char *tessi_typed_type_name(Arena *a, TType t)
{
    switch (t.kind) {
    case TT_ERROR: return "an error";
    case TT_UNTYPED_INT: return "integer";
    case TT_UNTYPED_REAL: return "real";
    case TT_SCALAR: return tessi_type_info(t.scalar)->name;
    case TT_STRUCT: break;
    }
    Text out = tessi_text_new(a);
    tessi_text_addf(&out, "struct %s", t.st->origin->name.text);
    bool as_declared = true;
    for (uint32_t k = 0; k < t.st->n; k++) {
        const char *declared = t.st->origin->fields.at[k].type.name.text;
        ScalarType d;
        if (!tessi_type_by_name(declared, &d) || d != t.st->field[k].type)
            as_declared = false;
    }
    for (uint32_t k = 0; !as_declared && k < t.st->n; k++)
        tessi_text_addf(&out, "%s%s %s%s", k ? ", " : "{",
                        tessi_type_info(t.st->field[k].type)->name, t.st->field[k].name,
                        k + 1 == t.st->n ? "}" : "");
    return tessi_text_str(&out);
}

typedef struct Printer {
    const Typed *t;
    Text *out;
    const TInstance *inst;
} Printer;

static void expr(Printer *p, const TExpr *e);

static void value_text(Text *out, TType t, Value v)
{
    if (t.kind == TT_SCALAR && t.scalar == TYPE_BOOL)
        tessi_text_add(out, v.i ? "true" : "false");
    else if (t.kind == TT_UNTYPED_INT || (t.kind == TT_SCALAR && !tessi_is_real(t.scalar)))
        tessi_text_addf(out, "%lld", (long long)v.i);
    else
        tessi_text_add_real(out, v.f, t.kind == TT_SCALAR && t.scalar != TYPE_F64);
    if (t.kind == TT_SCALAR && t.scalar == TYPE_F32)
        tessi_text_add(out, "f");
    if (t.kind == TT_SCALAR && t.scalar == TYPE_F64)
        tessi_text_add(out, "d");
}

static void list(Printer *p, TExpr *const *e, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (i)
            tessi_text_add(p->out, ", ");
        expr(p, e[i]);
    }
}

static void op(Printer *p, const TExpr *e)
{
    const OpInfo *info = tessi_op_info(e->op);
    bool infix = info->infix[0] && e->n_args <= 2;
    if (!infix) {
        tessi_text_addf(p->out, "%s(", info->name);
        list(p, e->arg, e->n_args);
        tessi_text_add(p->out, ")");
        return;
    }
    tessi_text_add(p->out, "(");
    if (e->n_args == 2) {
        expr(p, e->arg[0]);
        tessi_text_addf(p->out, " %s ", info->infix);
    } else {
        tessi_text_add(p->out, info->infix);
    }
    expr(p, e->arg[e->n_args - 1]);
    tessi_text_add(p->out, ")");
}

static void read(Printer *p, const TExpr *e)
{
    const TRead *r = e->read;
    bool plain = !r->absolute;
    tessi_text_add(p->out, p->inst ? p->inst->args.at[e->slot].name : "?");
    for (uint32_t d = 0; d < r->n_dims; d++)
        plain =
            plain && r->scale[d] == 1 && r->index[d]->kind == TE_CONST && r->index[d]->value.i == 0;
    if (plain)
        return;
    tessi_text_add(p->out, r->absolute ? "[" : "@[");
    for (uint32_t d = 0; d < r->n_dims; d++) {
        bool scaled = !r->absolute && r->scale[d] != 1;
        tessi_text_add(p->out, d ? ", " : "");
        tessi_text_add(p->out, scaled ? "(" : "");
        expr(p, r->index[d]);
        if (scaled)
            tessi_text_addf(p->out, ", %d)", (int)r->scale[d]);
    }
    tessi_text_add(p->out, "]");
}

static void window(Printer *p, const TExpr *e)
{
    const TWindow *w = e->window;
    tessi_text_addf(p->out, "%s(", e->is_mean ? "mean" : tessi_reduction_name(e->reduction));
    for (int v = 0; v < w->n_vars; v++)
        tessi_text_addf(p->out, "%s%s = %d..%d", v ? ", " : "", w->name[v], (int)w->lo[v],
                        (int)w->hi[v]);
    if (w->where) {
        tessi_text_add(p->out, " where ");
        expr(p, w->where);
    }
    tessi_text_add(p->out, " : ");
    expr(p, e->arg[0]);
    tessi_text_add(p->out, ")");
}

static void convolve(Printer *p, const TExpr *e)
{
    const TArg *arg = &p->inst->args.at[e->slot];
    tessi_text_addf(p->out, "convolve(%s", arg->name);
    if (e->field >= 0)
        tessi_text_addf(p->out, ".%s", arg->type.st->field[e->field].name);
    tessi_text_addf(p->out, ", %s", e->mask->name);
    if (e->dilation != 1)
        tessi_text_addf(p->out, ", dilation = %d", (int)e->dilation);
    if (e->method.method != METHOD_AUTO)
        tessi_text_addf(p->out, ", method = %s", tessi_method_name(e->method.method));
    tessi_text_add(p->out, ")");
}

static const char *value_name(const TValue *v)
{
    return v->name ? v->name : v->inst && v->inst->name[0] ? v->inst->name : "value";
}

static void size_of(Printer *p, const TExpr *e)
{
    const char *name = e->image  ? value_name(e->image)
                       : p->inst ? p->inst->args.at[e->slot].name
                                 : "?";
    tessi_text_addf(p->out, "size(%s, %d)", name, e->dim);
}

static void expr(Printer *p, const TExpr *e)
{
    Text *out = p->out;
    switch (e->kind) {
    case TE_ERROR: tessi_text_add(out, "<error>"); return;
    case TE_CONST: value_text(out, e->type, e->value); return;
    case TE_OP: op(p, e); return;
    case TE_CAST:
    case TE_SAT:
        tessi_text_addf(out, "%s<%s>(", e->kind == TE_SAT ? "sat" : "cast",
                        tessi_typed_type_name(out->arena, e->type));
        expr(p, e->arg[0]);
        tessi_text_add(out, ")");
        return;
    case TE_READ: read(p, e); return;
    case TE_ARG: tessi_text_add(out, p->inst->args.at[e->slot].name); return;
    case TE_LOCAL: tessi_text_add(out, p->inst->locals.at[e->slot].name); return;
    case TE_INDEX: tessi_text_addf(out, "index(%u)", e->slot); return;
    case TE_SIZE: size_of(p, e); return;
    case TE_PARAM: tessi_text_add(out, p->t->params.at[e->slot].name); return;
    case TE_SCALAR: tessi_text_add(out, p->t->scalars.at[e->slot].name); return;
    case TE_STATE: tessi_text_addf(out, "state(%u)", e->slot); return;
    case TE_VALUE: tessi_text_add(out, value_name(e->image)); return;
    case TE_WINVAR: tessi_text_add(out, e->window->name[e->slot]); return;
    case TE_WINDOW: window(p, e); return;
    case TE_CONVOLVE: convolve(p, e); return;
    case TE_MASK:
        tessi_text_addf(out, "%s[", e->mask->name);
        list(p, e->arg, e->n_args);
        tessi_text_add(out, "]");
        return;
    case TE_SHARE: tessi_text_addf(out, "percentile(%g)", e->value.f); return;
    case TE_VALID:
        tessi_text_add(out, "valid(");
        expr(p, e->arg[0]);
        tessi_text_add(out, ")");
        return;
    case TE_FIELD:
        expr(p, e->arg[0]);
        tessi_text_addf(out, ".%s", e->arg[0]->type.st->field[e->slot].name);
        return;
    case TE_STRUCT:
        tessi_text_addf(out, "struct %s(", e->type.st->origin->name.text);
        list(p, e->arg, e->n_args);
        tessi_text_add(out, ")");
        return;
    }
}

/* ---- values ---------------------------------------------------------------------------------- */
static void border(Printer *p, const TBorder *b, uint32_t n_dims)
{
    bool same = true;
    if (!b->written)
        return;
    for (uint32_t d = 1; d < n_dims; d++)
        same &= b->rule[d] == b->rule[0] && b->invalid[d] == b->invalid[0];
    tessi_text_add(p->out, same ? ":" : ":[");
    for (uint32_t d = 0; d < (same ? 1 : n_dims); d++) {
        tessi_text_addf(p->out, "%s%s", d ? ", " : "",
                        b->invalid[d] ? "invalid" : tessi_border_info(b->rule[d])->name);
        if (b->rule[d] == BORDER_CONSTANT && b->outside && !b->invalid[d]) {
            tessi_text_add(p->out, "(");
            expr(p, b->each[d] ? b->each[d] : b->outside);
            tessi_text_add(p->out, ")");
        }
    }
    tessi_text_add(p->out, same ? "" : "]");
    if (!b->missing.written)
        return;
    tessi_text_addf(p->out, ":%s", tessi_missing_name(b->missing.policy));
    if (b->missing.policy == MISSING_NEAREST)
        tessi_text_addf(p->out, "(%g)", b->missing.distance);
}

static const char *instance_name(Arena *a, const TInstance *inst)
{
    return tessi_sprintf(a, "%s#%u", inst->name[0] ? inst->name : "points", inst->number);
}

static void call(Printer *p, const TValue *v)
{
    tessi_text_addf(p->out, "%s(", instance_name(p->out->arena, v->inst));
    bool comma = false;
    for (uint32_t i = 0; i < v->args.n; i++) {
        const TCallArg *arg = &v->args.at[i];
        if (!arg->image && !arg->scalar)
            continue; /* known when compiling: part of the instance */
        tessi_text_add(p->out, comma ? ", " : "");
        comma = true;
        if (arg->image)
            tessi_text_add(p->out, value_name(arg->image));
        else
            expr(p, arg->scalar);
        if (arg->image)
            border(p, &arg->border, arg->image->n_dims);
    }
    tessi_text_add(p->out, ")");
}

static void range(Printer *p, const TExpr *lo, const TExpr *hi)
{
    if (lo)
        expr(p, lo);
    tessi_text_add(p->out, "..");
    if (hi)
        expr(p, hi);
}

static void compose(Printer *p, const TValue *v)
{
    tessi_text_add(p->out, "( ");
    VEC_FOREACH (const TPart, part, &v->parts) {
        tessi_text_add(p->out, part->scaled ? "@[" : "[");
        for (uint32_t d = 0; d < v->n_dims; d++) {
            tessi_text_add(p->out, d ? ", " : "");
            if (part->scaled)
                tessi_text_addf(p->out, "(%d, %d)", (int)part->offset[d], (int)part->step[d]);
            else
                range(p, part->lo[d], part->hi[d]);
        }
        tessi_text_add(p->out, "] = ");
        if (part->image)
            tessi_text_add(p->out, value_name(part->image));
        else
            expr(p, part->fill);
        tessi_text_add(p->out, "; ");
    }
    tessi_text_add(p->out, ")");
}

static void steps(Printer *p, const TValue *v)
{
    TExpr *const all[] = { v->expr, v->start, v->both };
    for (int k = 0; k < 3 && v->n_states && all[k]; k++) {
        tessi_text_add(p->out, k ? ", " : " : ");
        expr(p, all[k]);
    }
}

static void scan(Printer *p, const TValue *v)
{
    Text *out = p->out;
    tessi_text_addf(out, "%s %s(%s, %d", v->only_last ? "last" : "running",
                    v->n_states ? "steps" : tessi_reduction_name(v->reduction), value_name(v->base),
                    v->along - 1);
    steps(p, v);
    tessi_text_addf(out, "%s)", v->reverse ? ", reverse" : "");
}

static void value(Printer *p, const TValue *v)
{
    Text *out = p->out;
    switch (v->kind) {
    case TV_CALL: call(p, v); return;
    case TV_FIELD:
        tessi_text_addf(out, "%s.%s", value_name(v->base), v->base->type.st->field[v->number].name);
        return;
    case TV_SUBDOMAIN:
        tessi_text_addf(out, "%s[", value_name(v->base));
        for (uint32_t d = 0; d < v->base->n_dims; d++) {
            tessi_text_add(out, d ? ", " : "");
            tessi_text_add(out, v->drops[d] ? "=" : "");
            range(p, v->lo[d], v->drops[d] ? v->lo[d] : v->hi[d]);
        }
        tessi_text_add(out, "]");
        return;
    case TV_COMPOSE: compose(p, v); return;
    case TV_VALID:
        tessi_text_addf(out, "%s:valid(%s)", value_name(v->base), value_name(v->mask));
        return;
    case TV_REDUCE:
        tessi_text_addf(out, "whole %s(%s",
                        v->n_states ? "steps" : tessi_reduction_name(v->reduction),
                        value_name(v->base));
        if (v->along)
            tessi_text_addf(out, ", %d", v->along - 1);
        if (v->keys) {
            tessi_text_addf(out, ", %s, ", value_name(v->keys));
            expr(p, v->bins);
        }
        steps(p, v);
        tessi_text_add(out, ")");
        return;
    case TV_SCAN: scan(p, v); return;
    case TV_HISTOGRAM:
        tessi_text_addf(out, "histogram(%s, ", value_name(v->base));
        expr(p, v->bins);
        tessi_text_add(out, ")");
        return;
    case TV_SCALAR: expr(p, v->expr); return;
    case TV_INPUT: tessi_text_add(out, v->name); return;
    case TV_ERROR: tessi_text_add(out, "<error>"); return;
    }
}

/* ---- parts of the program -------------------------------------------------------------------- */
static void type_of_value(Printer *p, TType t, uint32_t n_dims)
{
    if (n_dims)
        tessi_text_addf(p->out, "vector#%u ", n_dims);
    tessi_text_add(p->out, tessi_typed_type_name(p->out->arena, t));
}

static void inputs(Printer *p)
{
    VEC_FOREACH (const TParam, param, &p->t->params) {
        tessi_text_addf(p->out, "parameter %s", param->name);
        if (param->is_constant && param->has_value)
            tessi_text_addf(p->out, " = %lld", (long long)param->value);
        tessi_text_add(p->out, "\n");
    }
    VEC_FOREACH (const TConstant, k, &p->t->constants) {
        if (k->is_param || !k->known)
            continue;
        tessi_text_addf(p->out, "const %s %s = ", tessi_type_info(k->type)->name, k->name);
        value_text(p->out, tessi_tt_scalar(k->type), k->value);
        tessi_text_add(p->out, "\n");
    }
    VEC_FOREACH (const TScalar, s, &p->t->scalars) {
        tessi_text_addf(p->out, "input %s %s\n", tessi_type_info(s->type)->name, s->name);
    }
    VEC_FOREACH (const TInput, in, &p->t->inputs) {
        tessi_text_addf(p->out, "input %s#%d %s %s[", in->is_mask ? "mask" : "vector", in->n_dims,
                        tessi_typed_type_name(p->out->arena, in->type), in->name);
        for (uint32_t d = 0; d < in->n_dims; d++) {
            tessi_text_add(p->out, d ? ", " : "");
            expr(p, in->size[d]);
        }
        tessi_text_add(p->out, "]\n");
    }
}

static void mask(Printer *p, const char *name, const TMask *m)
{
    tessi_text_addf(p->out, "mask %s[", name);
    for (int d = 0; d < m->n_dims; d++)
        tessi_text_addf(p->out, "%s%d..%d", d ? ", " : "", (int)m->lo[d], (int)m->hi[d]);
    tessi_text_add(p->out, "] = {");
    for (uint32_t i = 0; m->at && i < m->n; i++) {
        tessi_text_add(p->out, i ? ", " : " ");
        value_text(p->out, m->type, m->at[i]);
    }
    tessi_text_add(p->out, " }\n");
}

static void definitions(Printer *p)
{
    VEC_FOREACH (const TDefinition, def, &p->t->definitions) {
        for (uint32_t i = 0; i < def->depth; i++)
            tessi_text_add(p->out, "    ");
        if (def->mask) {
            mask(p, def->name, def->mask);
            continue;
        }
        tessi_text_addf(p->out, "%s: ", def->name);
        if (def->value)
            type_of_value(p, def->value->type, def->value->n_dims);
        else
            type_of_value(p, def->scalar->type, 0);
        tessi_text_add(p->out, " = ");
        if (def->value)
            value(p, def->value);
        else
            expr(p, def->scalar);
        tessi_text_add(p->out, "\n");
    }
    VEC_FOREACH (const TOutput, o, &p->t->outputs) {
        tessi_text_addf(p->out, "return %s: ", o->name);
        type_of_value(p, o->value->type, o->value->n_dims);
        tessi_text_add(p->out, " = ");
        value(p, o->value);
        tessi_text_add(p->out, "\n");
    }
}

static void instance(Printer *p, const TInstance *inst)
{
    if (inst->failed || !inst->result)
        return;
    p->inst = inst;
    tessi_text_addf(p->out, "\nstencil %s(", instance_name(p->out->arena, inst));
    VEC_FOREACH (const TArg, arg, &inst->args) {
        const char *type = tessi_typed_type_name(p->out->arena, arg->type);
        tessi_text_add(p->out, arg == inst->args.at ? "" : ", ");
        if (arg->kind == TARG_IMAGE)
            tessi_text_addf(p->out, "vector#%d ", arg->n_dims);
        else if (arg->kind == TARG_MASK)
            tessi_text_addf(p->out, "mask#%d ", arg->mask->n_dims);
        else if (arg->kind == TARG_CONST)
            tessi_text_add(p->out, "const ");
        tessi_text_addf(p->out, "%s %s", type, arg->name);
        if (arg->kind == TARG_CONST) {
            tessi_text_add(p->out, " = ");
            value_text(p->out, arg->type, arg->value->value);
        }
    }
    tessi_text_addf(p->out, ") -> vector#%d %s\n{\n", inst->n_dims,
                    tessi_typed_type_name(p->out->arena, inst->result->type));
    VEC_FOREACH (const TLocal, local, &inst->locals) {
        tessi_text_addf(p->out,
                        "    %s %s = ", tessi_typed_type_name(p->out->arena, local->value->type),
                        local->name);
        expr(p, local->value);
        tessi_text_add(p->out, ";\n");
    }
    tessi_text_add(p->out, "    return ");
    expr(p, inst->result);
    tessi_text_add(p->out, ";\n}\n");
    p->inst = NULL;
}

void tessi_typed_print(const Typed *t, Text *out)
{
    Printer p = { .t = t, .out = out };
    inputs(&p);
    definitions(&p);
    VEC_FOREACH (TInstance *const, it, &t->instances) {
        instance(&p, *it);
    }
}
