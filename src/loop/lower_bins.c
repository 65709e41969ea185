/* Reductions by the values of another image, templates/bins.loops: parts of the image have results of their own, which
 * are combined in order, so that sums of reals are the same everywhere. */
#include "loop/lower_bins.h"

#include "analysis/analysis.h"
#include "graph/graph_fold.h"
#include "loop/template.h"
#include "plan/bins.h"

/* The bin of value v among n, and whether it has one. */
static void find_bin(Lower *l, LExprId v, LExprId n, LExprId *bin, LExprId *in)
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
    *in = tessi_l_op(l, OP_AND, tessi_l_op(l, OP_LE, least, v), tessi_l_op(l, OP_LT, v, end));
    *bin = tessi_lexpr_cast(l->p, TYPE_INDEX, v);
}

LExprId tessi_bin_open(Lower *l, LExprId v, LExprId n)
{
    LExprId place[2];
    find_bin(l, v, n, &place[0], &place[1]);
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
    LExprId part;          /* in hand */
    Coord coord[MAX_DIMS]; /* of the point in hand */
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

/* The value of a point, as it is combined with others. */
static LExprId value_at(const Bins *b, const Coord *coord)
{
    Lower *l = b->l;
    const LExprId v = tessi_eval_stage(l, b->stage->source, coord, false);
    if (b->stage->n_states)
        return v;
    return tessi_lexpr_cast(
        l->p, b->type,
        b->stage->reduction == REDUCE_COUNT ? tessi_lexpr_cast(l->p, TYPE_BOOL, v) : v);
}

static LExprId with_value(const Bins *b, LExprId old, LExprId v)
{
    return b->stage->n_states ? own_step(b, 0, v, old) : both_of(b, old, v);
}

static void point(Lower *l, const Nest *nest, const Coord *coord, Eval *ev)
{
    const Bins *b = nest->user;
    (void)ev;
    const LExprId bin = tessi_bin_open(l, tessi_eval_stage(l, b->stage->keys, coord, false), b->n);
    const LExprId at[2] = { b->part, bin };
    const LExprId old = tessi_lexpr_load(l->p, b->results, at, 2);
    tessi_pin(l, old, tessi_scope_depth(l)); /* there is no such bin elsewhere */
    const LExprId sum = with_value(b, old, value_at(b, coord));
    tessi_scope_store(l, b->results, at, 2, tessi_scope_place1(l, sum));
    tessi_scope_close(l);
}

/* From which row of the first dimension on part number `part` goes. */
static LExprId first_of_part(const Bins *b, LExprId part)
{
    Lower *l = b->l;
    return tessi_l_op(l, OP_FLOORDIV, tessi_l_op(l, OP_MUL, b->points.to[0], part), b->parts);
}

/* The points of a part, row-major. */
static void points(void *user, const LExprId *arg)
{
    Bins *b = user;
    Lower *l = b->l;
    LExprId range[2] = { first_of_part(b, arg[0]),
                         first_of_part(b, tessi_l_op(l, OP_ADD, arg[0], tessi_l_int(l, 1))) };
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

static LExprId start_of(const Bins *b)
{
    const LExprId none = { 0 };
    return b->stage->n_states
               ? own_step(b, 1, none, none)
               : tessi_lexpr_const(b->l->p, b->type,
                                   tessi_reduction_identity(b->stage->reduction, b->type));
}

static void instance(Bins *b, const char *name, LExprId number)
{
    Lower *l = b->l;
    const TemplateArg args[] = { ARG_TYPE("type", b->type),
                                 ARG_EXPR("bins", b->n),
                                 ARG_EXPR("parts", b->parts),
                                 ARG_EXPR("part", number),
                                 ARG_EXPR("bin", number),
                                 ARG_EXPR("start", start_of(b)),
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

/* ---- Blocks of bins, on GPUs ------------------------------------------------------------------ */

/* Sums in any order have so many parts, a block each. */
enum { BIN_THREADS = 256, SUMMED_PARTS = 256 };

/* The number of the first point of a part among all. */
static LExprId first_point(void *user, const LExprId *arg)
{
    const Bins *b = user;
    LExprId first = first_of_part(b, arg[0]);
    for (uint8_t d = 1; d < b->points.n_dims; d++)
        first = tessi_l_op(b->l, OP_MUL, first, b->points.to[d]);
    return first;
}

/* Finds bin and value of point number arg[0]. */
static void begin_point(void *user, const LExprId *arg)
{
    Bins *b = user;
    Lower *l = b->l;
    const uint8_t last = (uint8_t)(b->points.n_dims - 1);
    LExprId x = arg[0];
    if (last) {
        const LExprId row = tessi_l_op(l, OP_FLOORDIV, x, b->points.to[last]);
        tessi_nest_row_coords(l, &b->points, tessi_scope_let(l, "row", row), b->coord);
        x = tessi_scope_let(l, "column", tessi_l_op(l, OP_FLOORMOD, x, b->points.to[last]));
    }
    b->coord[last] = tessi_nest_coord(&b->points, last, x);
}

static LExprId bin_of_point(void *user, const LExprId *arg)
{
    const Bins *b = user;
    Lower *l = b->l;
    LExprId bin, in;
    (void)arg;
    find_bin(l, tessi_eval_stage(l, b->stage->keys, b->coord, false), b->n, &bin, &in);
    return tessi_lexpr_cast(l->p, TYPE_I32, tessi_l_select(l, in, bin, tessi_l_int(l, -1)));
}

static LExprId value_of_point(void *user, const LExprId *arg)
{
    (void)arg;
    return value_at(user, ((const Bins *)user)->coord);
}

static LExprId with(void *user, const LExprId *arg)
{
    return with_value(user, arg[0], arg[1]);
}

static int64_t summed_bins(const Bins *b)
{
    Analysis an = { .g = b->l->g };
    tessi_analyse_ranges(&an, b->l->scratch);
    return b->l->plan->gpu ? tessi_plan_summed_bins(b->l->g, &an, b->id) : 0;
}

static void parts_by_blocks(Bins *b, const char *name, int64_t summed)
{
    enum { CHUNK = 1024, MOST_COPIES = 8 };
    Lower *l = b->l;
    const Stage *source = tessi_stage(l->g, b->stage->source);
    const int64_t room = summed ? PLAN_SHARED_COUNTS / summed - 2 : 0;
    tessi_kernel_open(l, name, tessi_group_comment(l, b->group), BIN_THREADS, 1);
    const TemplateArg args[] = {
        ARG_TYPE("type", b->type),
        ARG_TYPE("value", b->stage->n_states ? tessi_value_type(source->type) : b->type),
        summed ? (TemplateArg)ARG_NUMBER("bins", summed) : (TemplateArg)ARG_EXPR("bins", b->n),
        ARG_EXPR("parts", b->parts),
        ARG_EXPR("start", start_of(b)),
        ARG_NUMBER("threads", BIN_THREADS),
        ARG_NUMBER("chunk", summed ? PLAN_SUMMED_AT_ONCE : CHUNK),
        ARG_NUMBER("copies", room < MOST_COPIES ? room : MOST_COPIES),
        ARG_NUMBER("pitch", summed + 1), /* copies of a bin lie in other banks */
        ARG_BUFFER("results", b->results),
        ARG_HOLE("first", first_point),
        ARG_PART("begin", begin_point),
        ARG_HOLE("bin_of", bin_of_point),
        ARG_HOLE("value_of", value_of_point),
        ARG_HOLE("with", with),
        ARG_HOLE("both", both),
        ARG_END
    };
    tessi_template(l, summed ? "bins_sums" : "bins_blocks", NULL, args, b);
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
    const int64_t summed = summed_bins(&b);
    const LExprId many = tessi_l_op(l, OP_LT, tessi_l_int(l, MAX_PARTED_BINS), b.n);
    b.parts = tessi_l_select(l, many, tessi_l_int(l, 1), tessi_l_int(l, BIN_PARTS));
    if (summed)
        b.parts = tessi_l_int(l, SUMMED_PARTS);
    tessi_nest_whole(l, source, &b.points);
    b.results = tessi_lower_array(l, LBUF_TEMP, b.stage->name, "parts", b.type, b.parts, b.n);
    l->inside_last = l->inside_rows = false;
    const char *parts = tessi_sprintf(l->arena, "%s_parts", group->name);
    if (l->plan->gpu)
        parts_by_blocks(&b, parts, summed);
    else
        for_each(&b, "bins_part", parts, b.parts);
    for_each(&b, "bins_total", group->name, b.n);
}
