/* Reductions by the values of another image, templates/bins.loops: parts of the image have results of their own, which
 * are combined in order, so that sums of reals are the same everywhere. */
#include "loop/lower_bins.h"

#include "graph/graph_fold.h"
#include "loop/template.h"

LExprId tessi_bin_open(Lower *l, LExprId v, LExprId n)
{
    ScalarType t = TYPE_INDEX;
    if (tessi_is_real(tessi_lexpr(l->p, v)->type)) {
        t = TYPE_F64;
        LExprId wide = tessi_lexpr_cast(l->p, TYPE_F64, v);
        v = tessi_lexpr_op(l->p, OP_FLOOR, wide, (LExprId){ 0 }, (LExprId){ 0 });
    } else {
        v = tessi_lexpr_cast(l->p, TYPE_INDEX, v);
    }
    LExprId least = tessi_lexpr_const(l->p, t, (Value){ 0 });
    LExprId end = tessi_lexpr_cast(l->p, t, n);
    LExprId in =
        tessi_l_op(l, OP_AND, tessi_l_op(l, OP_LE, least, v), tessi_l_op(l, OP_LT, v, end));
    LExprId place[2] = { tessi_lexpr_cast(l->p, TYPE_INDEX, v), in };
    tessi_scope_place(l, place, 2);
    tessi_scope_if(l, place[1]);
    return place[0];
}

typedef struct Bins {
    Lower *l;
    const PlanGroup *group;
    StageId id;
    const Stage *stage;
    ScalarType type; /* that it accumulates in */
    LExprId n, parts;
    LBufferId results; /* by part and bin */
    Nest points;
    LExprId part; /* in hand */
} Bins;

/* A step of its own with these states: of the graph's pieces, see Stage.n_states. */
static LExprId own_step(const Bins *b, uint32_t piece, LExprId v, LExprId so_far)
{
    const LExprId state[2] = { v, so_far };
    return tessi_eval_step(b->l, b->stage->pieces.at[piece].body, state);
}

static LExprId both_of(const Bins *b, LExprId old, LExprId v)
{
    if (b->stage->n_states)
        return own_step(b, 2, v, old);
    return tessi_l_reduced(b->l, b->stage->reduction, old, v);
}

static LExprId both(void *user, const LExprId *arg)
{
    return both_of(user, arg[0], arg[1]);
}

static void point(Lower *l, const Nest *nest, const Coord *coord, Eval *ev)
{
    const Bins *b = nest->user;
    (void)ev;
    const LExprId bin = tessi_bin_open(l, tessi_eval_stage(l, b->stage->keys, coord, false), b->n);
    LExprId v = tessi_eval_stage(l, b->stage->source, coord, false), sum;
    const LExprId at[2] = { b->part, bin };
    const LExprId old = tessi_lexpr_load(l->p, b->results, at, 2);
    tessi_pin(l, old, tessi_scope_depth(l)); /* there is no such bin elsewhere */
    if (b->stage->n_states) {
        sum = own_step(b, 0, v, old);
    } else {
        if (b->stage->reduction == REDUCE_COUNT)
            v = tessi_lexpr_cast(l->p, TYPE_BOOL, v);
        sum = both_of(b, old, tessi_lexpr_cast(l->p, b->type, v));
    }
    tessi_scope_store(l, b->results, at, 2, tessi_scope_place1(l, sum));
    tessi_scope_close(l);
}

/* The points of a part, row-major. */
static void points(void *user, const LExprId *arg)
{
    Bins *b = user;
    Lower *l = b->l;
    const LExprId rows = b->points.to[0], one = tessi_l_int(l, 1);
    LExprId range[2] = { tessi_l_op(l, OP_MUL, rows, arg[0]),
                         tessi_l_op(l, OP_MUL, rows, tessi_l_op(l, OP_ADD, arg[0], one)) };
    for (int k = 0; k < 2; k++)
        range[k] = tessi_l_op(l, OP_FLOORDIV, range[k], b->parts);
    tessi_scope_place(l, range, 2);
    Nest nest = b->points;
    nest.from[0] = range[0];
    nest.to[0] = range[1];
    b->part = arg[0];
    nest.body = point;
    nest.user = b;
    tessi_lower_nest(l, &nest);
}

static void give(void *user, const LExprId *arg)
{
    const Bins *b = user;
    LExprId part[2] = { arg[0], tessi_lexpr_cast(b->l->p, b->stage->type, arg[1]) };
    tessi_scope_place(b->l, part, 2);
    tessi_scope_store(b->l, b->l->buffer[b->id.v], part, 1, part[1]);
}

static void instance(Bins *b, const char *name, LExprId number)
{
    Lower *l = b->l;
    const LExprId none = { 0 };
    const LExprId start =
        b->stage->n_states
            ? own_step(b, 1, none, none)
            : tessi_lexpr_const(l->p, b->type,
                                tessi_reduction_identity(b->stage->reduction, b->type));
    const TemplateArg args[] = { ARG_TYPE("type", b->type),
                                 ARG_EXPR("bins", b->n),
                                 ARG_EXPR("parts", b->parts),
                                 ARG_EXPR("part", number),
                                 ARG_EXPR("bin", number),
                                 ARG_EXPR("start", start),
                                 ARG_BUFFER("results", b->results),
                                 ARG_HOLE("both", both),
                                 ARG_PART("points", points),
                                 ARG_PART("give", give),
                                 ARG_END };
    tessi_template(l, name, NULL, args, b);
}

typedef struct Each {
    Bins *bins;
    const char *text;
} Each;

static void instance_at(Lower *l, const Nest *nest, const Coord *coord, Eval *ev)
{
    const Each *each = nest->user;
    (void)l;
    (void)ev;
    instance(each->bins, each->text, coord[0].e);
}

static void for_each(Bins *b, const char *text, const char *name, LExprId n)
{
    enum { THREADS = 32 };
    Lower *l = b->l;
    const Each each = { .bins = b, .text = text };
    Nest nest = { .n_dims = 1, .body = instance_at, .user = &each };
    nest.from[0] = tessi_l_int(l, 0);
    nest.to[0] = n;
    nest.count[0] = b->stage->size[0];
    if (l->plan->gpu) {
        tessi_kernel_open(l, name, tessi_group_comment(l, b->group), THREADS, 1);
        tessi_kernel_points(l, &nest, (uint16_t[]){ THREADS, 1 }, SPLIT_NONE, NULL);
    } else {
        const uint8_t flags = tessi_level_parallel(&b->group->levels) ? LFOR_PARALLEL : 0;
        const LVarId v = tessi_scope_for(l, "number", nest.from[0], n, 1, flags);
        instance(b, text, tessi_lexpr_var(l->p, v));
    }
    tessi_scope_close(l);
}

void tessi_lower_bins(Lower *l, const PlanGroup *group)
{
    Bins b = { .l = l, .group = group, .id = group->members.at[0] };
    b.stage = tessi_stage(l->g, b.id);
    const Stage *source = tessi_stage(l->g, b.stage->source);
    b.type = b.stage->n_states ? tessi_value_type(b.stage->type)
                               : tessi_accumulator_type(b.stage->reduction, source->type);
    b.n = tessi_lower_size(l, b.stage->size[0]);
    const LExprId many = tessi_l_op(l, OP_LT, tessi_l_int(l, MAX_PARTED_BINS), b.n);
    b.parts = tessi_l_select(l, many, tessi_l_int(l, 1), tessi_l_int(l, BIN_PARTS));
    tessi_nest_whole(l, source, &b.points);
    b.results = tessi_lower_array(l, LBUF_TEMP, b.stage->name, "parts", b.type, b.parts, b.n);
    l->inside_last = l->inside_rows = false;
    for_each(&b, "bins_part", tessi_sprintf(l->arena, "%s_parts", group->name), b.parts);
    for_each(&b, "bins_total", group->name, b.n);
}
