/* front/lower_fill: images that are not valid everywhere: stages in which something else stands in the place of the
 * points that are not: 0, an end of the type, or the nearest valid point. */
#include "front/lower.h"
#include "graph/graph_fold.h"

#include <math.h>

static const ExprId NONE = { 0 };

ExprId tessi_lower_both(Lower *l, ExprId a, ExprId b)
{
    if (!a.v || !b.v || a.v == b.v)
        return a.v ? a : b;
    return tessi_expr_op(l->g, OP_AND, a, b, NONE);
}

bool tessi_lower_has_holes(const Lower *l, const TCallArg *arg)
{
    bool invalid = false;
    for (uint32_t d = 0; d < arg->image->n_dims; d++)
        invalid |= arg->border.invalid[d];
    return invalid || l->value[arg->image->id].valid.v;
}

ExprId tessi_lower_fill_value(Lower *l, LFill fill, ScalarType type)
{
    if (fill == FILL_LEAST || fill == FILL_MOST)
        return tessi_expr_const(
            l->g, type,
            tessi_reduction_identity(fill == FILL_LEAST ? REDUCE_MAX : REDUCE_MIN, type));
    return tessi_lower_number(l, type, fill == FILL_ONE);
}

/* A stage of the size of another, computed point by point. */
StageId tessi_lower_pointwise(Lower *l, StageId like, const char *suffix, ScalarType type,
                              ExprId body)
{
    const Stage *model = tessi_stage(l->g, like);
    Stage s = { .kind = STAGE_COMPUTE, .n_dims = model->n_dims, .type = type };
    s.span = model->span;
    /* not the name that is its own: what number that has may depend on how many turns are written out */
    s.name = tessi_sprintf(l->a, "%s.%s", model->wanted, suffix);
    for (uint32_t d = 0; d < s.n_dims; d++)
        s.size[d] = model->size[d];
    tessi_lower_whole_piece(l, &s, body);
    return tessi_lower_add_stage(l, &s);
}

ExprId tessi_lower_own_point(Lower *l, StageId s)
{
    SizeId add[MAX_DIMS];
    for (uint32_t d = 0; d < MAX_DIMS; d++)
        add[d] = tessi_size_const(l->g, 0);
    return tessi_lower_copy_load(l, s, 0, add);
}

StageId tessi_lower_all_valid(Lower *l, const TValue *image)
{
    LValue *v = &l->value[image->id];
    if (v->valid.v)
        return v->valid;
    if (!v->all.v)
        v->all = tessi_lower_pointwise(l, v->stage[0], "valid", TYPE_BOOL,
                                       tessi_lower_number(l, TYPE_BOOL, 1));
    return v->all;
}

/* ---- the nearest valid point ----------------------------------------------------------------- */
/* A point that may stand in for another, at `offset` from it. */
typedef struct Stand {
    int32_t offset[MAX_DIMS];
    int64_t square; /* of the distance */
    uint32_t number;
} Stand;

typedef struct Stands {
    uint32_t n_dims, n, n_window;
    int32_t reach;
    Stand *at; /* the nearest first; of the same distance in row-major order */
} Stands;

static int compare(const Stand *a, const Stand *b)
{
    if (a->square != b->square)
        return a->square < b->square ? -1 : 1;
    return a->number < b->number ? -1 : 1;
}

static void sort(Stand *at, Stand *room, uint32_t n)
{
    const uint32_t half = n / 2;
    if (n < 2)
        return;
    sort(at, room, half);
    sort(at + half, room, n - half);
    for (uint32_t i = 0, j = half, k = 0; k < n; k++)
        room[k] = j == n || (i < half && compare(&at[i], &at[j]) < 0) ? at[i++] : at[j++];
    for (uint32_t k = 0; k < n; k++)
        at[k] = room[k];
}

static Stands stands_within(Lower *l, uint32_t n_dims, double distance)
{
    Stands s = { .n_dims = n_dims, .reach = (int32_t)floor(distance), .n_window = 1 };
    const uint32_t side = (uint32_t)(2 * s.reach + 1);
    for (uint32_t d = 0; d < n_dims; d++)
        s.n_window *= side;
    s.at = ARENA_NEW_ARRAY(l->a, Stand, s.n_window);
    for (uint32_t i = 0; i < s.n_window; i++) {
        Stand one = { .number = i };
        uint32_t rest = i;
        for (uint32_t d = n_dims; d-- > 0; rest /= side) {
            one.offset[d] = (int32_t)(rest % side) - s.reach;
            one.square += (int64_t)one.offset[d] * one.offset[d];
        }
        if ((double)one.square <= distance * distance)
            s.at[s.n++] = one;
    }
    sort(s.at, ARENA_NEW_ARRAY(l->a, Stand, s.n), s.n);
    return s;
}

static TableId table_of(Lower *l, const char *name, uint32_t n, Value *at)
{
    Table t = { .name = name, .type = TYPE_I32, .n = n, .n_dims = 1, .at = at };
    t.dim[0] = n;
    return tessi_graph_table(l->g, &t);
}

/* By point of the square around a point: its number in the order of their distances. */
static TableId numbers_of(Lower *l, const Stands *s)
{
    Value *at = ARENA_NEW_ARRAY(l->g->arena, Value, s->n_window);
    for (uint32_t i = 0; i < s->n_window; i++)
        at[i] = tessi_value_int(INT32_MAX); /* too far */
    for (uint32_t k = 0; k < s->n; k++)
        at[s->at[k].number] = tessi_value_int(k);
    return table_of(l, "nearness", s->n_window, at);
}

/* At each point the least number of a valid one around it. */
static StageId nearest_number(Lower *l, const Stands *s, StageId valid)
{
    Graph *g = l->g;
    Window w = { .n_vars = (uint8_t)s->n_dims };
    Access a = { .producer = valid, .n_dims = (uint8_t)s->n_dims };
    ExprId flat = NONE, side = tessi_expr_int(g, TYPE_I32, 2 * s->reach + 1);
    for (uint32_t d = 0; d < s->n_dims; d++) {
        w.lo[d] = -s->reach;
        w.hi[d] = s->reach;
    }
    const WindowId window = tessi_graph_window(g, &w);
    for (uint32_t d = 0; d < s->n_dims; d++) {
        a.dim[d] = (AccessDim){ .rule = BORDER_CONSTANT,
                                .src = (int8_t)d,
                                .scale = 1,
                                .add = tessi_size_const(g, 0),
                                .n_terms = 1 };
        a.dim[d].term[0] = (AccessTerm){ window, (uint8_t)d, 1 };
        ExprId i = tessi_expr_op(g, OP_ADD, tessi_expr_winvar(g, window, d),
                                 tessi_expr_int(g, TYPE_I32, s->reach), NONE);
        flat =
            d ? tessi_expr_op(g, OP_ADD, tessi_expr_op(g, OP_MUL, flat, side, NONE), i, NONE) : i;
    }
    a.outside = tessi_lower_number(l, TYPE_BOOL, 0);
    const ExprId body = tessi_expr_table(g, numbers_of(l, s), flat);
    const ExprId where = tessi_expr_load(g, tessi_graph_access(g, &a));
    return tessi_lower_pointwise(l, valid, "nearest", TYPE_I32,
                                 tessi_expr_window(g, REDUCE_MIN, window, body, where));
}

/* The value of `base` at the point that stands in for this one. */
static ExprId stand_in(Lower *l, const Stands *s, StageId base, ExprId number)
{
    Graph *g = l->g;
    Access a = { .producer = base, .n_dims = (uint8_t)s->n_dims };
    const ExprId last = tessi_expr_int(g, TYPE_I32, s->n - 1);
    const ExprId k = tessi_expr_op(g, OP_MIN, number, last, NONE);
    for (uint32_t d = 0; d < s->n_dims; d++) {
        Value *at = ARENA_NEW_ARRAY(g->arena, Value, s->n);
        for (uint32_t i = 0; i < s->n; i++)
            at[i] = tessi_value_int(s->at[i].offset[d]);
        const ExprId offset = tessi_expr_table(g, table_of(l, "offset", s->n, at), k);
        a.dim[d] = (AccessDim){ .absolute = true, .src = -1, .rule = BORDER_CLAMP };
        a.dim[d].index = tessi_expr_op(g, OP_ADD, tessi_expr_index(g, d), offset, NONE);
    }
    return tessi_expr_load(g, tessi_graph_access(g, &a));
}

static LFilled *find(LValue *v, LFill fill, uint32_t channel, double distance)
{
    VEC_FOREACH (LFilled, f, &v->filled) {
        if (f->fill == fill && f->channel == channel && f->distance == distance)
            return f;
    }
    return NULL;
}

/* Pixels are valid as a whole, so all channels take the same point. */
static StageId number_of(Lower *l, const Stands *s, const LValue *v, double distance)
{
    VEC_FOREACH (const LFilled, f, &v->filled) {
        if (f->fill == FILL_NEAREST && f->number.v && f->distance == distance)
            return f->number;
    }
    return nearest_number(l, s, v->valid);
}

static void make_nearest(Lower *l, const TCallArg *arg, LFilled *f)
{
    const LValue *v = &l->value[arg->image->id];
    const StageId base = v->stage[f->channel];
    const Stands s = stands_within(l, arg->image->n_dims, f->distance);
    f->number = number_of(l, &s, v, f->distance);
    f->stage = tessi_lower_pointwise(l, base, "near", tessi_stage(l->g, base)->type,
                                     stand_in(l, &s, base, tessi_lower_own_point(l, f->number)));
}

/* ---- any of them ----------------------------------------------------------------------------- */
static LFilled *filled(Lower *l, const TCallArg *arg, uint32_t channel, LFill fill)
{
    LValue *v = &l->value[arg->image->id];
    const double distance = fill == FILL_NEAREST ? arg->border.missing.distance : 0;
    LFilled *known = find(v, fill, channel, distance);
    if (known)
        return known;
    LFilled f = { .fill = fill, .channel = channel, .distance = distance };
    const StageId base = v->stage[channel];
    const ScalarType type = tessi_stage(l->g, base)->type, t = tessi_value_type(type);
    if (fill == FILL_NEAREST) {
        make_nearest(l, arg, &f);
    } else {
        const bool weight = fill == FILL_WEIGHT;
        const ExprId ok = tessi_lower_own_point(l, tessi_lower_all_valid(l, arg->image));
        const ExprId value = weight ? tessi_lower_number(l, t, 1) : tessi_lower_own_point(l, base);
        const ExprId body =
            tessi_expr_op(l->g, OP_SELECT, ok, value, tessi_lower_fill_value(l, fill, t));
        f.stage = tessi_lower_pointwise(l, base, weight ? "weight" : "filled", type, body);
    }
    VEC_PUSH(l->a, &v->filled, f);
    return &v->filled.at[v->filled.n - 1];
}

StageId tessi_lower_filled(Lower *l, const TCallArg *arg, uint32_t channel, LFill fill)
{
    const LValue *v = &l->value[arg->image->id];
    if (fill == FILL_RAW || (fill != FILL_WEIGHT && !v->valid.v))
        return v->stage[channel];
    return filled(l, arg, channel, fill)->stage;
}

StageId tessi_lower_validity_stage(Lower *l, const TCallArg *arg)
{
    LValue *v = &l->value[arg->image->id];
    if (arg->border.missing.policy != MISSING_NEAREST || !v->valid.v)
        return tessi_lower_all_valid(l, arg->image);
    const LFilled f = *filled(l, arg, 0, FILL_NEAREST);
    const LFilled *known = find(v, FILL_NEAREST, CHANNEL_OF_VALIDITY, f.distance);
    if (known)
        return known->stage;
    const ExprId none = tessi_lower_number(l, TYPE_I32, INT32_MAX);
    const ExprId found = tessi_expr_op(l->g, OP_NE, tessi_lower_own_point(l, f.number), none, NONE);
    LFilled valid = { FILL_NEAREST, CHANNEL_OF_VALIDITY, f.distance, { 0 }, { 0 } };
    valid.stage = tessi_lower_pointwise(l, f.number, "valid", TYPE_BOOL, found);
    VEC_PUSH(l->a, &v->filled, valid);
    return valid.stage;
}
