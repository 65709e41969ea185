/* Histograms, templates/bins.loops. CPUs count in parts of the image, each in tables of its own, which are added up; in
 * the result itself where the number of bins is large or not known. GPUs count in the shared memory of blocks. */
#include "analysis/analysis.h"
#include "loop/lower_bins.h"
#include "loop/lower_group.h"
#include "loop/template.h"
#include "plan/bins.h"

static void store(Lower *l, LBufferId buffer, LExprId index, LExprId value)
{
    LExprId place[2] = { index, value };
    tessi_scope_place(l, place, 2);
    tessi_scope_store(l, buffer, place, tessi_loop_dims(l, buffer), place[1]);
}

static LExprId open_loop(Lower *l, const char *name, LExprId from, LExprId to, uint8_t flags)
{
    return tessi_lexpr_var(l->p, tessi_scope_for(l, name, from, to, 1, flags));
}

typedef struct Counting {
    StageId source;
    LBufferId counts;
    LExprId n; /* number of bins */
    bool atomic;
} Counting;

static void add_to_bin(Lower *l, const Counting *c, LExprId bin)
{
    LStmt *s = tessi_scope_stmt(l, LSTMT_ADD);
    s->buffer = c->counts;
    s->index[s->n_index++] = bin;
    s->a = tessi_lexpr_const(l->p, TYPE_U32, tessi_value_int(1));
    s->atomic = c->atomic;
}

static void count_point(Lower *l, const Nest *nest, const Coord *coord, Eval *ev)
{
    (void)ev;
    const Counting *c = nest->user;
    add_to_bin(l, c, tessi_bin_open(l, tessi_eval_stage(l, c->source, coord, false), c->n));
    tessi_scope_close(l);
}

static void clear_bins(Lower *l, const Counting *c)
{
    LExprId bin = open_loop(l, "bin", tessi_l_int(l, 0), c->n, LFOR_SIMD);
    tessi_scope_store(l, c->counts, &bin, 1, tessi_lexpr_const(l->p, TYPE_U32, (Value){ 0 }));
    tessi_scope_close(l);
}

/* ---- Parts, on CPUs -------------------------------------------------------------------------- */

/* A core counts values that follow one another in tables of their own, as far as these fill few bytes: adding to a bin
 * waits for the last addition to it. As many bins are found at once, by vectors. */
enum { COPIES = 8, COPIES_BYTES = 1 << 15, AT_ONCE = 256, MAX_PART_BINS = 1 << 16 };

typedef struct PartCounting {
    Lower *l;
    StageId source;
    Nest nest;
    LExprId bins;           /* their number */
    bool all_count, direct; /* every value has a bin; which is the value as it stands in memory */
    Coord coord[MAX_DIMS];
} PartCounting;

static void begin_part_row(void *user, const LExprId *arg)
{
    PartCounting *c = user;
    if (c->nest.n_dims > 1)
        tessi_nest_row_coords(c->l, &c->nest, arg[0], c->coord);
}

/* The type in which bins are found: a narrow one, of which vectors have many lanes. */
static ScalarType type_of_bins(ScalarType t)
{
    if (tessi_is_real(t))
        return t == TYPE_F64 ? TYPE_F64 : TYPE_F32;
    return t == TYPE_BOOL || (tessi_type_info(t)->bytes <= 4 && t != TYPE_U32) ? TYPE_I32
                                                                               : TYPE_INDEX;
}

/* The bin of the point in column arg[0] of the row; values that have none count in one behind the others. */
static LExprId bin_of_point(void *user, const LExprId *arg)
{
    PartCounting *c = user;
    Lower *l = c->l;
    const uint8_t last = (uint8_t)(c->nest.n_dims - 1);
    c->coord[last] = tessi_nest_coord(&c->nest, last, arg[0]);
    LExprId v = tessi_eval_stage(l, c->source, c->coord, false);
    const ScalarType t = type_of_bins(tessi_lexpr(l->p, v)->type);
    v = tessi_lexpr_cast(l->p, t, v);
    if (tessi_is_real(t))
        v = tessi_lexpr_op(l->p, OP_FLOOR, v, (LExprId){ 0 }, (LExprId){ 0 });
    if (!c->all_count) {
        const LExprId least = tessi_lexpr_const(l->p, t, (Value){ 0 });
        const LExprId end = tessi_lexpr_cast(l->p, t, c->bins);
        v = tessi_l_select(l, tessi_in_range(l, v, least, end), v, end);
    }
    return tessi_lexpr_cast(l->p, c->direct ? TYPE_INDEX : TYPE_I32, v);
}

/* Every value of a stage of integers has a bin. */
static bool all_count(Lower *l, StageId id, int64_t bins)
{
    const ScalarType t = tessi_stage(l->g, id)->type;
    if (!tessi_is_integer(t))
        return t == TYPE_BOOL && bins > 1;
    Analysis an = { .g = l->g };
    tessi_analyse_ranges(&an, l->scratch);
    const Interval i = an.stage_range[id.v].i;
    return i.lo >= 0 && i.hi < bins;
}

static void count_parts(Lower *l, const PlanGroup *group, const Counting *h, const Nest *nest,
                        int64_t bins)
{
    const int64_t pitch = bins + 1, shares = group->shares;
    PartCounting c = { .l = l, .source = h->source, .nest = *nest, .bins = h->n };
    c.all_count = all_count(l, h->source, bins);
    c.direct = c.all_count && !tessi_plan_is_inline(l->plan, h->source);
    const bool line = nest->n_dims == 1;
    tessi_lower_dims(l, nest->n_dims);
    const LBufferId counts =
        tessi_lower_array(l, LBUF_TEMP, tessi_stage(l->g, group->members.at[0])->name, "parts",
                          TYPE_U32, tessi_l_int(l, shares ? shares : 1), h->n);
    const TemplateArg args[] = {
        ARG_WORDS("parallel", tessi_level_parallel(&group->levels) ? "parallel" : ""),
        ARG_NUMBER("parts", shares ? shares : 1),
        ARG_NUMBER("line", line),
        ARG_EXPR("n_rows", line ? tessi_l_int(l, 1) : tessi_nest_row_count(l, nest)),
        ARG_EXPR("n", nest->to[nest->n_dims - 1]),
        ARG_NUMBER("copies", COPIES * 4 * pitch <= COPIES_BYTES ? COPIES : 1),
        ARG_NUMBER("direct", c.direct),
        ARG_NUMBER("pitch", pitch),
        ARG_NUMBER("bins", bins),
        ARG_NUMBER("at_once", AT_ONCE),
        ARG_BUFFER("counts", counts),
        ARG_BUFFER("total", h->counts),
        ARG_PART("begin", begin_part_row),
        ARG_HOLE("bin", bin_of_point),
        ARG_END
    };
    tessi_template(l, "count_parts", NULL, args, &c);
}

/* ---- On GPUs --------------------------------------------------------------------------------- */

static void clear_bin(Lower *l, const Nest *nest, const Coord *coord, Eval *ev)
{
    (void)ev;
    const Counting *c = nest->user;
    store(l, c->counts, coord[0].e, tessi_lexpr_const(l->p, TYPE_U32, (Value){ 0 }));
}

/* Blocks of threads count in shared memory, so many times as there is room for. */
enum { COUNT_THREADS = 256, MAX_COPIES = 8 };

typedef struct BlockCounting {
    Lower *l;
    const Nest *nest;
    Counting counting;
    Coord coord[MAX_DIMS];
} BlockCounting;

static void begin_counted_row(void *user, const LExprId *arg)
{
    BlockCounting *b = user;
    if (b->nest->n_dims > 1)
        tessi_nest_row_coords(b->l, b->nest, arg[0], b->coord);
}

static void count_in_block(void *user, const LExprId *arg)
{
    BlockCounting *b = user;
    Lower *l = b->l;
    const uint8_t last = (uint8_t)(b->nest->n_dims - 1);
    b->coord[last] = tessi_nest_coord(b->nest, last, arg[0]);
    const LExprId value = tessi_eval_stage(l, b->counting.source, b->coord, false);
    const LExprId bin = tessi_bin_open(l, value, b->counting.n);
    add_to_bin(l, &b->counting, tessi_l_op(l, OP_ADD, arg[1], bin));
    tessi_scope_close(l);
}

static void count_in_blocks(Lower *l, const PlanGroup *group, const Counting *c, const Nest *nest,
                            int64_t bins)
{
    const int64_t pitch = bins + 1; /* copies of a bin lie in other banks */
    const int64_t room = PLAN_SHARED_COUNTS / pitch, copies = room < MAX_COPIES ? room : MAX_COPIES;
    BlockCounting b = { .l = l, .nest = nest, .counting = *c, .coord = { { .dim = -1 } } };
    LBuffer own = { .name = tessi_sprintf(l->arena, "%s_counts", group->name),
                    .kind = LBUF_LOCAL,
                    .type = TYPE_U32,
                    .n_dims = 1,
                    .size = { tessi_l_int(l, copies * pitch) } };
    b.counting.counts = tessi_loop_buffer(l->p, &own);
    b.counting.atomic = true;
    LExprId n_rows = nest->n_dims > 1 ? tessi_nest_row_count(l, nest) : tessi_l_int(l, 1);
    const TemplateArg args[] = {
        ARG_EXPR("n_rows", n_rows),        ARG_EXPR("n", nest->to[nest->n_dims - 1]),
        ARG_NUMBER("copies", copies),      ARG_NUMBER("pitch", pitch),
        ARG_NUMBER("bins", bins),          ARG_BUFFER("own", b.counting.counts),
        ARG_BUFFER("counts", c->counts),   ARG_PART("begin", begin_counted_row),
        ARG_PART("count", count_in_block), ARG_END
    };
    tessi_kernel_open(l, group->name, tessi_group_comment(l, group), COUNT_THREADS, 1);
    tessi_template(l, "count_blocks", NULL, args, &b);
    tessi_scope_close(l);
}

static void histogram_kernels(Lower *l, const PlanGroup *group, Counting *c, const Nest *nest)
{
    enum { CLEAR_BLOCK = 128 };
    int64_t n_bins;
    const char *comment = tessi_group_comment(l, group);
    Nest bins = { .body = clear_bin, .user = c };
    tessi_nest_whole(l, tessi_stage(l->g, group->members.at[0]), &bins);
    tessi_kernel_open(l, tessi_sprintf(l->arena, "%s_clear", group->name), comment, CLEAR_BLOCK, 1);
    tessi_kernel_points(l, &bins, (uint16_t[]){ CLEAR_BLOCK, 1 }, SPLIT_NONE, NULL);
    tessi_scope_close(l);
    if (nest->n_dims > 0
        && tessi_size_is_const(l->g, tessi_stage(l->g, group->members.at[0])->size[0], &n_bins)
        && n_bins < PLAN_SHARED_COUNTS) {
        count_in_blocks(l, group, c, nest, n_bins);
        return;
    }
    c->atomic = nest->n_dims > 0;
    tessi_kernel_open(l, group->name, comment,
                      nest->n_dims ? tessi_level_threads(&group->levels, 0) : 1,
                      nest->n_dims ? tessi_level_threads(&group->levels, 1) : 1);
    tessi_kernel_points(l, nest, tessi_level_threads_all(&group->levels).of, SPLIT_NONE, NULL);
    tessi_scope_close(l);
}

void tessi_lower_histogram(Lower *l, const PlanGroup *group)
{
    StageId id = group->members.at[0];
    const Stage *stage = tessi_stage(l->g, id), *source = tessi_stage(l->g, stage->source);
    Counting c = { .source = stage->source, .counts = l->buffer[id.v] };
    c.n = tessi_lower_size(l, stage->size[0]);
    Nest nest = { .body = count_point, .user = &c };
    tessi_nest_whole(l, source, &nest);
    if (l->plan->gpu) {
        histogram_kernels(l, group, &c, &nest);
        return;
    }
    int64_t bins;
    if (nest.n_dims && tessi_size_is_const(l->g, stage->size[0], &bins) && bins <= MAX_PART_BINS) {
        count_parts(l, group, &c, &nest, bins);
        return;
    }
    c.atomic = nest.parallel = tessi_level_parallel(&group->levels) && nest.n_dims;
    clear_bins(l, &c);
    tessi_lower_nest(l, &nest);
}
