/* front/lower_stage: stencil calls: one stage a channel. */
#include "front/lower.h"

static const char *stage_name(Lower *l, const TValue *v, uint32_t channel)
{
    const char *name = v->name ? v->name : v->inst && v->inst->name[0] ? v->inst->name : "value";
    if (v->type.kind != TT_STRUCT)
        return name;
    return tessi_sprintf(l->a, "%s.%s", name, v->type.st->field[channel].name);
}

/* Diagnoses a size that the graph cannot carry. */
static void check_size(Lower *l, SizeId size, Span span, const char *name)
{
    if (tessi_size_is_valid(l->g, size))
        return;
    if (!l->failed)
        tessi_diag(l->d, DIAG_SIZE_OVERFLOW, span, name);
    l->failed = true;
}

StageId tessi_lower_add_stage(Lower *l, Stage *s)
{
    for (uint32_t d = 0; d < s->n_dims; d++)
        check_size(l, s->size[d], s->span, s->name);
    VEC_FOREACH (const Piece, p, &s->pieces) {
        for (uint32_t d = 0; d < s->n_dims; d++) {
            check_size(l, p->offset[d], s->span, s->name);
            check_size(l, p->count[d], s->span, s->name);
        }
    }
    if (l->g->stages.n > l->max_stages)
        tessi_lower_limit(l, s->span, "stages of a program", l->max_stages);
    return tessi_graph_stage(l->g, s);
}

StageId tessi_lower_new_stage(Lower *l, const TValue *v, uint32_t channel, Stage *s)
{
    s->name = stage_name(l, v, channel);
    s->span = v->span;
    s->loop = v->loop;
    s->turn = v->turn;
    s->ends_loop = v->ends_loop;
    s->turns_of = v->turns_of;
    VEC_FOREACH (TValue *const, it, &v->before) {
        const LValue *before = &l->value[(*it)->id];
        if (before->n_channels != l->value[v->id].n_channels || before->scalar)
            break;
        VEC_PUSH(l->g->arena, &s->before, before->stage[channel]);
    }
    s->type = tessi_lower_field(v->type, channel);
    return tessi_lower_add_stage(l, s);
}

void tessi_lower_whole_piece(Lower *l, Stage *s, ExprId body)
{
    Piece p = { .body = body };
    for (uint32_t d = 0; d < s->n_dims; d++) {
        p.step[d] = 1;
        p.offset[d] = tessi_size_const(l->g, 0);
        p.count[d] = s->size[d];
    }
    VEC_PUSH(l->g->arena, &s->pieces, p);
}

/* The producer when the body is a plain copy of it: same points, same type. */
static StageId copied_stage(Lower *l, const LBody *b, ExprId body, ScalarType type)
{
    Graph *g = l->g;
    StageId none = { 0 };
    const Expr *e = tessi_expr(g, body);
    if (e->kind != EXPR_LOAD)
        return none;
    const Access *a = tessi_access(g, e->access);
    const Stage *s = tessi_stage(g, a->producer);
    if (s->type != type || a->n_dims != b->n_dims)
        return none;
    for (uint32_t d = 0; d < a->n_dims; d++) {
        const AccessDim *dim = &a->dim[d];
        int64_t add;
        if (dim->absolute || dim->src != (int)d || dim->scale != 1 || dim->n_terms
            || !tessi_size_is_const(g, dim->add, &add) || add != 0 || s->size[d].v != b->size[d].v)
            return none;
    }
    return a->producer;
}

/* Which points of the result are valid; none: all. */
static StageId validity_of_call(Lower *l, const TValue *v, LBody *b)
{
    b->epoch = ++l->epoch;
    const ExprId valid = tessi_lower_is_valid(l, b, v->inst->result);
    if (!valid.v || l->failed)
        return (StageId){ 0 };
    const StageId same = copied_stage(l, b, valid, TYPE_BOOL);
    if (same.v)
        return same;
    Stage s = { .kind = STAGE_COMPUTE, .n_dims = (uint8_t)b->n_dims, .type = TYPE_BOOL };
    s.name = tessi_sprintf(l->a, "%s.valid", v->name ? v->name : "value");
    s.span = v->span;
    for (uint32_t d = 0; d < b->n_dims; d++)
        s.size[d] = b->size[d];
    tessi_lower_whole_piece(l, &s, valid);
    return tessi_lower_add_stage(l, &s);
}

void tessi_lower_call(Lower *l, const TValue *v, LValue *out)
{
    LBody b = { .inst = v->inst, .call = v };
    VEC_FOREACH (const TCallArg, arg, &v->args) {
        b.holes |= arg->image && tessi_lower_has_holes(l, arg);
    }
    if (!tessi_lower_shape(l, v, &b)) {
        l->failed = true;
        return;
    }
    b.body_epoch = ++l->epoch;
    for (uint32_t d = 0; d < b.n_dims; d++)
        out->size[d] = b.size[d];
    for (uint32_t k = 0; k < out->n_channels && !l->failed; k++) {
        b.epoch = ++l->epoch;
        Stage s = { .kind = STAGE_COMPUTE, .n_dims = (uint8_t)b.n_dims };
        ScalarType type = tessi_lower_field(v->type, k);
        ExprId body = tessi_lower_expr(l, &b, v->inst->result, k);
        if (!v->inst->def) /* struct rgb(r, g, b) of three images needs no copies */
            out->stage[k] = copied_stage(l, &b, body, type);
        if (out->stage[k].v)
            continue;
        for (uint32_t d = 0; d < b.n_dims; d++)
            s.size[d] = b.size[d];
        tessi_lower_whole_piece(l, &s, body);
        out->stage[k] = tessi_lower_new_stage(l, v, k, &s);
    }
    if (b.holes && !l->failed)
        out->valid = validity_of_call(l, v, &b);
}
