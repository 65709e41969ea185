/* Scans: running values along a dimension, templates/scan.loops. CPUs go along strips of lines, GPUs along a line a
 * thread, for which other warps load and store. Where values run by a reduction, lines of images of one dimension, and
 * on GPUs those that are few or lie side by side, are taken in blocks: a block a thread, in three sweeps. */
#include "graph/graph_fold.h"
#include "loop/lower_few.h"
#include "loop/lower_group.h"
#include "loop/lower_lines.h"
#include "loop/template.h"

/* Of the running values of lines that a core goes along together, at most: whole rows of most images, which prefetchers
 * follow better than parts of rows, and which with what is before their blocks have room in a second cache. */
enum { BESIDE_BYTES = 32768 };
/* Of lines whose values run on as they are: bytes of what runs side by side, as many as the widest vectors have; of the
 * sums of a part of a line, which stay in a first cache. */
enum { SIDE_BYTES = 64, PART_BYTES = 2048 };
/* Points of a row that are loaded and stored at once. */
enum { TAKEN = 64 };
/* Of a block of a GPU: threads of a warp, as many lines; warps that load and store; points that values are there of. */
enum { WARP = 32, LOADERS = 4, CHUNK = 64 };

typedef struct Scan Scan;
struct Scan {
    Lower *l;
    const PlanGroup *group;
    StageId id;
    const Stage *stage, *source;
    ScalarType type; /* of running values */
    ScalarType few;  /* of sums of a step of them */
    Lines lines;
    Coord coord[MAX_DIMS];
    bool by_number;   /* lines are given by their number */
    LBufferId totals; /* of blocks; of rows that strips begin in: of what is before them */
    LExprId number;   /* of the block in hand */
    TemplatePart *give;
    bool silent; /* what a line comes to is wanted, and no results */
    /* Values that run along rows, and those that run on down the columns. */
    Scan *along, *down;
    LBufferId running, carried; /* down the columns of a strip */
    LBufferId coming;           /* what threads of warps have asked for */
    LExprId strip, strips;
    LExprId i, first, count; /* the row in hand, and its part */
};

/* Sets the coordinates of point `i` from where the scan begins, in line `lane` of a strip. */
static void go_to(Scan *k, LExprId i, LExprId lane)
{
    Lower *l = k->l;
    if (k->stage->reverse) {
        const LExprId last =
            tessi_l_op(l, OP_SUB, k->lines.source.to[k->lines.dim], tessi_l_int(l, 1));
        i = tessi_l_op(l, OP_SUB, last, i);
    }
    if (k->by_number)
        tessi_lines_number(l, &k->lines, lane, k->coord);
    tessi_lines_point(&k->lines, i, k->coord);
    if (k->lines.lanes)
        tessi_lines_lane(&k->lines, lane, k->coord);
}

static LExprId both(void *user, const LExprId *arg)
{
    const Scan *k = user;
    return tessi_l_reduced(k->l, k->stage->reduction, arg[0], arg[1]);
}

static LExprId more(void *user, const LExprId *arg)
{
    const Scan *k = user;
    return tessi_l_reduced(k->l, k->stage->reduction, arg[1],
                           tessi_lexpr_cast(k->l->p, k->type, arg[0]));
}

/* The step (piece 0) or the start (piece 1) with these states; state[0] is the value of the source. */
static LExprId body_of(Scan *k, uint32_t piece, const LExprId *state)
{
    return tessi_eval_step(k->l, k->stage->pieces.at[piece].body, state);
}

static LExprId at(void *user, const LExprId *arg)
{
    Scan *k = user;
    go_to(k, arg[0], arg[1]);
    return tessi_eval_stage(k->l, k->stage->source, k->coord, false);
}

static LExprId step(void *user, const LExprId *arg)
{
    return body_of(user, 0, arg);
}

static LExprId begin(void *user, const LExprId *arg)
{
    Scan *k = user;
    go_to(k, tessi_l_int(k->l, 0), arg[0]);
    const LExprId first = tessi_eval_stage(k->l, k->stage->source, k->coord, false);
    return body_of(k, 1, &first);
}

static void give(void *user, const LExprId *arg)
{
    Scan *k = user;
    go_to(k, arg[0], arg[2]);
    tessi_lines_store(k->l, &k->lines, k->id, k->coord,
                      tessi_lexpr_cast(k->l->p, k->stage->type, arg[1]));
}

/* The result at a point further on is stored soon: stores wait for their lines. Beyond a row comes the next one, and
 * beyond the part of it that a strip has, that of the next row: another core may have the other strips. */
static void soon(void *user, const LExprId *arg)
{
    Scan *k = user;
    Lower *l = k->l;
    if (k->down) {
        const LExprId end = tessi_l_op(l, OP_ADD, k->first, k->count),
                      beyond = tessi_l_op(l, OP_LE, end, arg[0]),
                      x = tessi_l_op(l, OP_SUB, arg[0], k->count);
        k = k->down;
        go_to(k, tessi_l_op(l, OP_ADD, k->i, tessi_lexpr_cast(l->p, TYPE_INDEX, beyond)),
              tessi_l_select(l, beyond, x, arg[0]));
    } else {
        go_to(k, arg[0], arg[0]);
    }
    LExprId at[MAX_DIMS];
    for (uint8_t d = 0; d < k->stage->n_dims; d++)
        at[d] = k->coord[d].e;
    tessi_scope_place(l, at, k->stage->n_dims);
    LStmt *s = tessi_scope_stmt(l, LSTMT_PREFETCH);
    s->buffer = l->buffer[k->id.v];
    s->n_index = k->stage->n_dims;
    for (uint8_t d = 0; d < k->stage->n_dims; d++)
        s->index[d] = at[d];
}

/* ---- Blocks ---------------------------------------------------------------------------------- */

static LExprId n_blocks(const Scan *k)
{
    return tessi_kernel_blocks(k->l, k->lines.source.to[k->lines.dim], SCAN_BLOCK);
}

/* Where the total of block `number` of the line in hand stands. */
static void place_of_total(const Scan *k, LExprId number, LExprId *index)
{
    for (uint8_t d = 0; d < k->source->n_dims; d++)
        index[d] = d == k->lines.dim ? number : k->coord[d].e;
}

static LExprId total_of(void *user, const LExprId *arg)
{
    const Scan *k = user;
    LExprId index[MAX_DIMS];
    place_of_total(k, arg[0], index);
    return tessi_lexpr_load(k->l->p, k->totals, index, k->source->n_dims);
}

static void store_total(const Scan *k, LExprId number, LExprId v)
{
    LExprId part[MAX_DIMS + 1];
    const uint8_t n = k->source->n_dims;
    place_of_total(k, number, part);
    part[n] = v;
    tessi_scope_place(k->l, part, n + 1u);
    tessi_scope_store(k->l, k->totals, part, n, part[n]);
}

static void before_block(void *user, const LExprId *arg)
{
    store_total(user, arg[0], arg[1]);
}

static void total(void *user, const LExprId *arg)
{
    Scan *k = user;
    store_total(k, k->number, arg[0]);
}

/* Running on through all blocks gives the same bits: of integers, and of minima and maxima, where the first of several
 * zeros and no NaN is kept either way. */
static bool is_free(const Scan *k)
{
    const bool extreme = k->stage->reduction == REDUCE_MIN || k->stage->reduction == REDUCE_MAX;
    return !k->stage->n_states && (extreme || !tessi_is_real(k->type));
}

static uint32_t side_of(const Scan *k)
{
    return SIDE_BYTES / tessi_type_info(k->type)->bytes;
}

/* A type in which a step of values has room: those of a sum may be narrow. */
static ScalarType few_of(const Scan *k)
{
    if (k->stage->reduction != REDUCE_SUM || k->stage->n_states)
        return k->type;
    const FewSums few = tessi_few_sums(k->l, k->stage);
    const bool fits = few.lanes && few.chunk >= side_of(k)
                      && tessi_type_info(few.type)->bytes < tessi_type_info(k->type)->bytes;
    return fits ? few.type : k->type;
}

static LExprId of_two(void *user, const LExprId *arg)
{
    const Scan *k = user;
    return tessi_l_reduced(k->l, k->stage->reduction, arg[0], arg[1]);
}

static LExprId nothing_of(const Scan *k)
{
    const Value start = tessi_scan_start(k->stage->reduction, k->few);
    return tessi_lexpr_const(k->l->p, k->few, k->stage->n_states ? (Value){ 0 } : start);
}

static LExprId single_of(void *user, const LExprId *arg)
{
    const Scan *k = user;
    const LExprId v = tessi_lexpr_cast(k->l->p, k->few, tessi_few_value(k->l, arg[0]));
    return tessi_l_reduced(k->l, k->stage->reduction, nothing_of(k), v);
}

/* ---- Warps --------------------------------------------------------------------------------------- */

static bool is_turned(const Scan *k)
{
    return k->lines.dim + 1 == k->source->n_dims;
}

/* Lines so few that warps would leave a GPU idle. */
static bool are_few(const Scan *k)
{
    enum { FEW = 256 };
    int64_t lines = 1, n = 0;
    for (uint8_t d = 0; d < k->source->n_dims; d++) {
        if (d + 1 == k->stage->along)
            continue;
        if (!tessi_size_is_const(k->l->g, k->source->size[d], &n))
            return false;
        lines = n < FEW && lines < FEW ? lines * n : FEW;
    }
    return lines < FEW;
}

/* Points of a line that stand in shared memory twice, with their results. */
static uint32_t chunk_of(const Scan *k)
{
    const uint32_t bytes =
        tessi_type_info(tessi_value_type(k->source->type))->bytes + tessi_type_info(k->type)->bytes;
    return 2 * WARP * (CHUNK + 2) * bytes <= PLAN_MAX_SHARED_BYTES ? CHUNK : CHUNK / 2;
}

/* ---- Rows and columns in one sweep ----------------------------------------------------------- */

static void instance(Scan *k, const char *name, LExprId strip);

/* What runs along the row has come to a point: it runs on from there. */
static void run_down(void *user, const LExprId *arg)
{
    const Scan *r = user;
    Scan *k = r->down;
    Lower *l = k->l;
    l->place[r->id.v].value = tessi_scope_place1(l, tessi_lexpr_cast(l->p, r->stage->type, arg[1]));
    const LExprId value = at(k, (LExprId[]){ k->i, arg[0] });
    const TemplateArg args[] = { ARG_TYPE("type", k->type),
                                 ARG_NUMBER("free", is_free(k)),
                                 ARG_EXPR("value", value),
                                 ARG_EXPR("i", k->i),
                                 ARG_EXPR("x", arg[0]),
                                 ARG_EXPR("place", tessi_l_op(l, OP_SUB, arg[0], r->first)),
                                 ARG_BUFFER("running", k->running),
                                 ARG_BUFFER("carried", k->carried),
                                 ARG_HOLE("more", more),
                                 ARG_HOLE("both", both),
                                 ARG_PART("give", give),
                                 ARG_END };
    tessi_template(l, "scan_next_below", NULL, args, k);
    l->place[r->id.v].value = (LExprId){ 0 };
}

static void run_on(void *user, const LExprId *arg)
{
    (void)user;
    (void)arg;
}

/* A row of a strip. */
static void row(void *user, const LExprId *arg)
{
    Scan *k = user, *r = k->along;
    go_to(k, arg[0], arg[1]);
    for (uint8_t d = 0; d < r->lines.dim; d++)
        r->coord[d] = k->coord[d];
    k->i = arg[0];
    r->first = arg[1];
    r->count = arg[2];
    instance(r, "scan_row", k->strip);
}

static LBufferId of_strip(const Scan *k, const char *what)
{
    LBuffer b = { .name = tessi_sprintf(k->l->arena, "%s_%s", k->stage->name, what),
                  .kind = LBUF_LOCAL,
                  .type = k->type,
                  .n_dims = 1,
                  .size = { tessi_l_int(k->l, k->lines.lanes) } };
    return tessi_loop_buffer(k->l->p, &b);
}

/* ---- Instances ------------------------------------------------------------------------------- */

static void instance(Scan *k, const char *name, LExprId strip)
{
    Lower *l = k->l;
    const Lines *lines = &k->lines;
    const uint32_t chunk = chunk_of(k);
    const Value start =
        k->stage->n_states ? (Value){ 0 } : tessi_scan_start(k->stage->reduction, k->type);
    const LExprId width = lines->lanes ? lines->source.to[lines->lane] : tessi_l_int(l, 1);
    const TemplateArg args[] = { ARG_TYPE("type", k->type),
                                 ARG_TYPE("source", tessi_value_type(k->source->type)),
                                 ARG_NUMBER("states", k->stage->n_states),
                                 ARG_NUMBER("last", k->stage->only_last),
                                 ARG_NUMBER("free", is_free(k)),
                                 ARG_NUMBER("lanes", lines->lanes ? lines->lanes : 1),
                                 ARG_NUMBER("block", SCAN_BLOCK),
                                 ARG_NUMBER("taken", TAKEN),
                                 ARG_NUMBER("turned", is_turned(k)),
                                 ARG_NUMBER("chunk", chunk),
                                 ARG_NUMBER("span", 2 * chunk),
                                 ARG_NUMBER("high", is_turned(k) ? WARP : chunk),
                                 ARG_NUMBER("across", is_turned(k) ? chunk + 1 : WARP),
                                 ARG_NUMBER("threads", WARP + LOADERS * WARP),
                                 ARG_NUMBER("each", chunk / LOADERS),
                                 ARG_NUMBER("side", side_of(k)),
                                 ARG_NUMBER("part", PART_BYTES / tessi_type_info(k->few)->bytes),
                                 ARG_TYPE("few", k->few),
                                 ARG_EXPR("nothing", nothing_of(k)),
                                 ARG_HOLE("single", single_of),
                                 ARG_HOLE("two", of_two),
                                 ARG_EXPR("n", lines->source.to[lines->dim]),
                                 ARG_EXPR("width", width),
                                 ARG_EXPR("wide", lines->wide.v ? lines->wide : tessi_l_int(l, 1)),
                                 ARG_EXPR("strip", strip.v ? strip : tessi_l_int(l, 0)),
                                 ARG_EXPR("number", k->number.v ? k->number : tessi_l_int(l, 0)),
                                 ARG_EXPR("blocks", n_blocks(k)),
                                 ARG_EXPR("start", tessi_lexpr_const(l->p, k->type, start)),
                                 ARG_EXPR("lines", k->by_number ? tessi_lines_count(l, lines)
                                                                : tessi_l_int(l, 1)),
                                 ARG_HOLE("at", at),
                                 ARG_HOLE("step", step),
                                 ARG_HOLE("begin", begin),
                                 ARG_HOLE("more", more),
                                 ARG_HOLE("both", both),
                                 ARG_HOLE("of", total_of),
                                 ARG_EXPR("strips", k->strips),
                                 ARG_EXPR("row_first", k->first),
                                 ARG_EXPR("row_count", k->count),
                                 ARG_BUFFER("running", k->running),
                                 ARG_BUFFER("carried", k->carried),
                                 ARG_BUFFER("coming", k->coming),
                                 ARG_PART("row", row),
                                 ARG_NUMBER("ahead", !k->silent),
                                 ARG_PART("soon", soon),
                                 ARG_PART("give", k->give),
                                 ARG_PART("total", total),
                                 ARG_PART("before", before_block),
                                 ARG_END };
    tessi_template(l, name, NULL, args, k);
}

/* A template for each point of a nest, which is a line, or a block of one. */
typedef struct Each {
    Scan *scan;
    const char *text;
} Each;

static void instance_at(Lower *l, const Nest *nest, const Coord *coord, Eval *ev)
{
    const Each *each = nest->user;
    Scan *k = each->scan;
    const bool blocks = nest->n_dims == k->source->n_dims;
    (void)ev;
    for (uint8_t d = 0; d < nest->n_dims; d++) {
        const uint8_t to = blocks ? d : k->lines.from[d];
        k->coord[to] = tessi_nest_coord(&k->lines.source, to, coord[d].e);
    }
    k->number = blocks ? coord[k->lines.dim].e : (LExprId){ 0 };
    l->n_loop_dims = k->source->n_dims;
    instance(k, each->text, (LExprId){ 0 });
}

static void kernel(const Scan *k, const char *name, const Nest *nest)
{
    Lower *l = k->l;
    const bool line = nest->n_dims < 2;
    const uint16_t block[2] = { nest->n_dims == 0 ? 1 : line ? 128 : 32, line ? 1 : 4 };
    tessi_kernel_open(l, name, tessi_group_comment(l, k->group), block[0], block[1]);
    tessi_kernel_points(l, nest, block, SPLIT_NONE, NULL);
    tessi_scope_close(l);
}

static void for_each(Scan *k, const char *text, const char *name, bool blocks)
{
    Lower *l = k->l;
    const Each each = { .scan = k, .text = text };
    Nest nest = blocks ? k->lines.source : k->lines.nest;
    nest.parallel = tessi_level_parallel(&k->group->levels);
    nest.body = instance_at;
    nest.user = &each;
    if (blocks)
        nest.to[k->lines.dim] = n_blocks(k);
    else
        nest.n_dims--;
    if (l->plan->gpu)
        kernel(k, name, &nest);
    else
        tessi_lower_nest(l, &nest);
}

/* Lines that are many, on a GPU. */
static void by_warps(Scan *k)
{
    Lower *l = k->l;
    const LBuffer coming = { .name = tessi_sprintf(l->arena, "%s_coming", k->stage->name),
                             .kind = LBUF_LOCAL,
                             .held = true,
                             .type = tessi_value_type(k->source->type),
                             .n_dims = 1,
                             .size = { tessi_l_int(l, chunk_of(k) / LOADERS) } };
    k->by_number = true;
    k->coming = tessi_loop_buffer(l->p, &coming);
    tessi_kernel_open(l, k->group->name, tessi_group_comment(l, k->group), WARP + LOADERS * WARP,
                      1);
    instance(k, "scan_warps", (LExprId){ 0 });
    tessi_scope_close(l);
}

static void in_blocks(Scan *k)
{
    Lower *l = k->l;
    const char *name = k->group->name;
    LBuffer b = { .kind = LBUF_TEMP, .type = k->type, .n_dims = k->source->n_dims };
    b.name = tessi_sprintf(l->arena, "%s_blocks", k->stage->name);
    for (uint8_t d = 0; d < b.n_dims; d++)
        b.size[d] = d == k->lines.dim ? n_blocks(k) : k->lines.source.to[d];
    k->totals = tessi_loop_buffer(l->p, &b);
    for_each(k, "scan_total", tessi_sprintf(l->arena, "%s_totals", name), true);
    for_each(k, "scan_before", tessi_sprintf(l->arena, "%s_before", name), false);
    for_each(k, "scan_block", name, true);
}

/* What is before each strip in each row; then the strips, by themselves. */
static void in_one_sweep(Scan *k, Scan *r)
{
    Lower *l = k->l;
    const bool parallel = tessi_level_parallel(&k->group->levels);
    const uint32_t depth = tessi_scope_depth(l);
    LBuffer b = { .kind = LBUF_TEMP, .type = r->type, .n_dims = r->source->n_dims };
    b.name = tessi_sprintf(l->arena, "%s_before", r->stage->name);
    r->lines.wide = k->lines.wide;
    r->strips = tessi_lines_strips(l, &k->lines);
    for (uint8_t d = 0; d < b.n_dims; d++)
        b.size[d] = d == r->lines.dim ? r->strips : r->lines.source.to[d];
    r->totals = tessi_loop_buffer(l->p, &b);
    r->give = run_on;
    r->silent = true;
    tessi_lines_open(l, &r->lines, parallel, r->coord);
    instance(r, "scan_before_strips", (LExprId){ 0 });
    tessi_scope_close_to(l, depth);

    r->give = run_down;
    r->silent = false;
    r->down = k;
    k->along = r;
    k->running = of_strip(k, "running");
    k->carried = of_strip(k, "carried");
    k->strip = tessi_lines_open(l, &k->lines, parallel, k->coord);
    instance(k, "scan_swept", k->strip);
    tessi_scope_close_to(l, depth);
}

static Scan scan_of(Lower *l, const PlanGroup *group, StageId id)
{
    const LExprId none = tessi_l_int(l, 0);
    Scan k = { .l = l, .group = group, .id = id, .coord = { { .dim = -1 } }, .give = give };
    k.strips = k.first = k.count = none;
    k.stage = tessi_stage(l->g, k.id);
    k.source = tessi_stage(l->g, k.stage->source);
    k.type = k.stage->n_states ? tessi_value_type(k.stage->type)
                               : tessi_running_type(k.stage, k.source->type);
    k.few = few_of(&k);
    k.lines.dim = (uint8_t)(k.stage->along - 1);
    return k;
}

void tessi_lower_scan(Lower *l, const PlanGroup *group)
{
    Scan k = scan_of(l, group, group->members.at[0]);
    const bool gpu = l->plan->gpu;
    const uint16_t beside = (uint16_t)(BESIDE_BYTES / tessi_type_info(k.type)->bytes);
    const bool blocks =
        !k.stage->n_states && (gpu ? !is_turned(&k) || are_few(&k) : k.source->n_dims == 1);
    const bool neighbours = !k.stage->n_states && is_turned(&k);
    tessi_lines(l, k.source, k.lines.dim, !gpu && !blocks && !neighbours ? beside : 0,
                group->shares, &k.lines);
    tessi_lower_dims(l, k.source->n_dims);
    if (group->passes.n) {
        Scan r = scan_of(l, group, group->passes.at[0].stages.at[0]);
        tessi_lines(l, r.source, r.lines.dim, 0, 0, &r.lines);
        in_one_sweep(&k, &r);
    } else if (blocks) {
        in_blocks(&k);
    } else if (gpu) {
        by_warps(&k);
    } else if (k.source->n_dims == 1) {
        for_each(&k, "scan_line", group->name, false);
    } else {
        const uint32_t depth = tessi_scope_depth(l);
        const LExprId strip =
            tessi_lines_open(l, &k.lines, tessi_level_parallel(&group->levels), k.coord);
        instance(&k,
                 !k.lines.lanes               ? "scan_along"
                 : k.lines.lane > k.lines.dim ? "scan_strip"
                                              : "scan_rows",
                 strip);
        tessi_scope_close_to(l, depth);
    }
}
