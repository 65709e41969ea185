/* Medians of wide rectangles and shapes on GPUs: templates/median_kernel.loops. */
#include "graph/graph_network.h"
#include "loop/lower_gather.h"
#include "loop/lower_group.h"
#include "loop/lower_median.h"
#include "loop/template.h"

enum { ROWS_AT_ONCE = 4 };

typedef struct Median {
    Lower *l;
    const PlanGroup *group;
    const Stage *stage;
    WideMedian what;
    ScalarType type;
    Gather read;
    int64_t wide;      /* elements of a row that a block reads */
    LExprId end[2];    /* rows and columns of the image */
    LBufferId rows[2]; /* by histograms: bins of rows that come and that go */
    LBufferId values;  /* by networks: what a block reads */
} Median;

/* The bin of the element in row k and column x from the first. */
static LExprId bin_of(const Median *m, LExprId k, LExprId x)
{
    Lower *l = m->l;
    const int64_t least = tessi_type_range(m->type).lo;
    LExprId v = tessi_lexpr_cast(l->p, TYPE_I32, tessi_gather_answered(&m->read, k, x));
    v = tessi_l_op(l, OP_SUB, v, tessi_lexpr_const(l->p, TYPE_I32, tessi_value_int(least)));
    v = tessi_lexpr_cast(l->p, TYPE_U8, v);
    tessi_pin(l, v, tessi_scope_depth(l));
    return v;
}

/* Bins of some rows: those that come, from row `come` of what is read on, and, where the last argument says so, those
 * that go. */
static void copy_rows(void *user, const LExprId *arg)
{
    const Median *m = user;
    Lower *l = m->l;
    const bool goes = tessi_lexpr(l->p, arg[2])->value.i != 0;
    const LExprId wide = tessi_l_int(l, m->wide);
    const LExprId n = tessi_kernel_threads(l, 0, "element", ROWS_AT_ONCE * m->wide);
    const LExprId row = tessi_scope_let(l, "row", tessi_l_op(l, OP_FLOORDIV, n, wide));
    const LExprId column = tessi_scope_let(l, "column", tessi_l_op(l, OP_FLOORMOD, n, wide));
    LExprId bin[2];
    for (int k = 0; k <= goes; k++)
        bin[k] = bin_of(m, tessi_l_op(l, OP_ADD, arg[k], row), column);
    tessi_scope_place(l, bin, 1 + goes);
    for (int k = 0; k <= goes; k++)
        tessi_scope_store(l, m->rows[k], (const LExprId[]){ row, column }, 2, bin[k]);
    tessi_scope_close(l);
}

static void begin_block(void *user, const LExprId *arg)
{
    Median *m = user;
    Lower *l = m->l;
    m->read = tessi_gather_new(l, tessi_access(l->g, m->what.read), m->type);
    m->read.ordered = tessi_is_real(m->type);
    tessi_gather_at(&m->read, tessi_expr(l->g, m->what.window)->window, arg[0], arg[1]);
}

static LExprId answered(void *user, const LExprId *arg)
{
    const Median *m = user;
    return tessi_gather_answered(&m->read, arg[0], arg[1]);
}

/* Whether the window has the value in this row and column of its rectangle, both constants. */
static LExprId within(void *user, const LExprId *arg)
{
    const Median *m = user;
    const int64_t row = tessi_lexpr(m->l->p, arg[0])->value.i,
                  column = tessi_lexpr(m->l->p, arg[1])->value.i;
    bool found = false;
    for (uint32_t i = 0; i < m->what.n_runs; i++) {
        const WindowRun *run = &m->what.run[i];
        found = found || (run->row == row && run->from <= column && column < run->to);
    }
    return tessi_lexpr_const(m->l->p, TYPE_BOOL, tessi_value_int(found));
}

/* ---- By networks ----------------------------------------------------------------------------- */

static LExprId word(const Median *m, int64_t i)
{
    return tessi_lexpr_const(m->l->p, TYPE_U32, tessi_value_int(i));
}

/* What a block reads there; of rows packed in words also what stands below it, both counted from the least value. */
static LExprId copied(void *user, const LExprId *arg)
{
    const Median *m = user;
    Lower *l = m->l;
    if (!m->group->packed)
        return answered(user, arg);
    const LExprId least =
        tessi_lexpr_const(l->p, TYPE_I32, tessi_value_int(tessi_type_range(m->type).lo));
    LExprId half[2];
    for (int k = 0; k < 2; k++) {
        const LExprId row = tessi_l_op(l, OP_ADD, arg[0], tessi_l_int(l, k));
        const LExprId value = tessi_gather_answered(&m->read, row, arg[1]);
        half[k] = tessi_l_op(l, OP_SUB, tessi_lexpr_cast(l->p, TYPE_I32, value), least);
        half[k] = tessi_lexpr_cast(l->p, TYPE_U32, half[k]);
    }
    return tessi_l_op(l, OP_ADD, half[0], tessi_l_op(l, OP_SHL, half[1], word(m, 16)));
}

static uint32_t choose(void *user, bool greatest, uint32_t a, uint32_t b)
{
    const Median *m = user;
    const Op one = greatest ? OP_MAX : OP_MIN, two = greatest ? OP_MAX_HALVES : OP_MIN_HALVES;
    return tessi_l_op(m->l, m->group->packed ? two : one, (LExprId){ a }, (LExprId){ b }).v;
}

static LExprId sorted(void *user, const LExprId *arg)
{
    Median *m = user;
    Lower *l = m->l;
    const WideMedian *what = &m->what;
    const uint32_t n_runs = what->run ? what->n_runs : what->rows;
    const Network network = { l->arena, choose, m };
    NetworkRun *run = ARENA_NEW_ARRAY(l->arena, NetworkRun, n_runs);
    for (uint32_t i = 0; i < n_runs; i++) {
        const WindowRun of = what->run ? what->run[i] : (WindowRun){ i, 0, what->cols };
        const LExprId row = tessi_l_op(l, OP_ADD, arg[0], tessi_l_int(l, of.row));
        run[i].at = ARENA_NEW_ARRAY(l->arena, uint32_t, of.to - of.from);
        for (uint32_t j = of.from; j < of.to; j++) {
            const LExprId at[] = { row, tessi_l_op(l, OP_ADD, arg[1], tessi_l_int(l, j)) };
            run[i].at[run[i].n++] = tessi_lexpr_load(l->p, m->values, at, 2).v;
        }
    }
    return (LExprId){ tessi_network_middle(&network, run, n_runs) };
}

/* The value of a row of those that are sorted together. */
static LExprId unpacked(void *user, const LExprId *arg)
{
    const Median *m = user;
    Lower *l = m->l;
    if (!m->group->packed)
        return tessi_is_real(m->type)
                   ? tessi_lexpr_op(l->p, OP_AT_ORDER, arg[0], (LExprId){ 0 }, (LExprId){ 0 })
                   : tessi_lexpr_cast(l->p, m->type, arg[0]);
    const bool high = tessi_lexpr(l->p, arg[1])->value.i != 0;
    const LExprId half = high ? tessi_l_op(l, OP_SHR, arg[0], word(m, 16))
                              : tessi_l_op(l, OP_AND, arg[0], word(m, UINT16_MAX));
    const LExprId least =
        tessi_lexpr_const(l->p, TYPE_I32, tessi_value_int(tessi_type_range(m->type).lo));
    const LExprId value = tessi_l_op(l, OP_ADD, tessi_lexpr_cast(l->p, TYPE_I32, half), least);
    return tessi_lexpr_cast(l->p, m->type, value);
}

static LBufferId new_values(const Median *m)
{
    Lower *l = m->l;
    const bool packed = m->group->packed;
    const LExprId rows = tessi_l_int(l, (int64_t)m->group->median + m->what.rows - 1 - packed);
    return tessi_lower_array(l, LBUF_LOCAL, m->stage->name, "values",
                             packed ? TYPE_U32 : m->what.key, rows, tessi_l_int(l, m->wide));
}

/* ---- Blocks ---------------------------------------------------------------------------------- */

static void give(void *user, const LExprId *arg)
{
    const Median *m = user;
    tessi_give_point(m->l, m->group, m->what.window, arg[0], arg[1], arg[2]);
}

/* So few rows that there are as many blocks as the march says, within its limits. */
static LExprId rows_of_blocks(const Median *m)
{
    Lower *l = m->l;
    const PlanMarch march = tessi_level_march(&m->group->levels);
    if (!march.least)
        return tessi_l_int(l, m->group->median);
    const LExprId one = tessi_l_int(l, 1);
    LExprId across = tessi_l_op(l, OP_MAX, tessi_kernel_blocks(l, m->end[1], m->group->strip), one);
    LExprId n = tessi_l_op(l, OP_FLOORDIV, tessi_l_int(l, march.blocks), across);
    n = tessi_l_op(l, OP_MAX, n, one);
    tessi_hint(l, n, "strips");
    LExprId rows = tessi_l_op(
        l, OP_FLOORDIV,
        tessi_l_op(l, OP_ADD, m->end[0], tessi_l_op(l, OP_ADD, n, tessi_l_int(l, -1))), n);
    rows = tessi_l_op(l, OP_MAX, rows, tessi_l_int(l, march.least));
    return tessi_l_op(l, OP_MIN, rows, tessi_l_int(l, march.most));
}

static void instance(Median *m)
{
    Lower *l = m->l;
    const PlanGroup *group = m->group;
    const PlanLevels *levels = &group->levels;
    const ScalarType key = m->what.key;
    const int64_t points = m->what.points;
    const ScalarType counter = points <= UINT8_MAX ? TYPE_U8 : TYPE_U16;
    const int64_t parts = 4 / tessi_type_info(counter)->bytes, together = PLAN_WARP * parts;
    const uint8_t bytes = tessi_type_info(key)->bytes;
    const bool by_bits = group->counts && !group->network;
    const bool rolled = m->what.run && points > MEDIAN_MOST_WRITTEN;
    const TemplateArg args[] = {
        ARG_EXPR("height", m->end[0]),
        ARG_EXPR("width", m->end[1]),
        ARG_EXPR("block_rows", rows_of_blocks(m)),
        ARG_NUMBER("march", tessi_level_march(levels).least != 0),
        ARG_NUMBER("counts", group->counts),
        ARG_NUMBER("network", group->network),
        ARG_NUMBER("windows", 1 + group->packed),
        ARG_NUMBER("strip", group->strip),
        ARG_NUMBER("high", m->what.rows),
        ARG_NUMBER("across", m->what.cols),
        ARG_NUMBER("wide", m->wide),
        ARG_NUMBER("rank", points / 2),
        ARG_NUMBER("n_runs", m->what.n_runs),
        ARG_NUMBER("rolled", rolled),
        ARG_NUMBER("least", tessi_type_range(group->counts ? key : m->type).lo),
        ARG_NUMBER("parts", parts),
        ARG_NUMBER("together", group->strip % together ? 0 : together),
        ARG_NUMBER("tile_rows", (int64_t)group->median + m->what.rows - 1),
        ARG_NUMBER("points", tessi_level_outputs(levels, 1)),
        ARG_NUMBER("block_x", tessi_level_threads(levels, 0)),
        ARG_NUMBER("block_y", tessi_level_threads(levels, 1)),
        ARG_NUMBER("n_bits", 8 * bytes),
        ARG_NUMBER("narrow", bytes <= 2),
        ARG_NUMBER("ordered", tessi_is_real(m->type)),
        ARG_TYPE("key", key),
        ARG_TYPE("type", m->type),
        ARG_TYPE("counter", counter),
        ARG_BUFFER("come", m->rows[0]),
        ARG_BUFFER("go", m->rows[1]),
        ARG_BUFFER("values", m->values),
        ARG_TYPE("word", group->packed ? TYPE_U32 : key),
        ARG_BUFFER("bits", by_bits ? tessi_median_bits(l, m->stage->name, key) : m->rows[0]),
        ARG_BUFFER("runs", rolled ? tessi_median_runs(l, m->stage->name, &m->what) : m->rows[0]),
        ARG_PART("begin", begin_block),
        ARG_PART("copy", copy_rows),
        ARG_PART("give", give),
        ARG_HOLE("answered", answered),
        ARG_HOLE("within", within),
        ARG_HOLE("copied", copied),
        ARG_HOLE("sorted", sorted),
        ARG_HOLE("unpacked", unpacked),
        ARG_END
    };
    tessi_template(l, "median_blocks", m->stage->name, args, m);
}

void tessi_kernel_median(Lower *l, const PlanGroup *group)
{
    Median m = { .l = l, .group = group };
    m.stage = tessi_stage(l->g, group->members.at[0]);
    tessi_stage_wide_median(l->g, &l->walk, m.stage, &m.what);
    m.type = tessi_expr(l->g, m.what.window)->type;
    m.wide = (int64_t)group->strip + m.what.cols - 1;
    tessi_lower_dims(l, 2);
    tessi_kernel_open(l, group->name, tessi_group_comment(l, group),
                      tessi_level_threads(&group->levels, 0),
                      tessi_level_threads(&group->levels, 1))
        ->resident = group->resident;
    for (uint8_t d = 0; d < 2; d++)
        m.end[d] = tessi_lower_size(l, m.stage->size[d]);
    for (int k = 0; k < 2 && !group->counts; k++)
        m.rows[k] = tessi_lower_array(l, LBUF_LOCAL, m.stage->name, k ? "go" : "come", TYPE_U8,
                                      tessi_l_int(l, ROWS_AT_ONCE), tessi_l_int(l, m.wide));
    if (group->network)
        m.values = new_values(&m);
    instance(&m);
    tessi_scope_close(l);
}
