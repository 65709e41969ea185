/* Medians of wide rectangles and shapes, strip by strip: templates/median.loops. */
#include "loop/lower_median.h"
#include "loop/lower_gather.h"
#include "loop/lower_group.h"
#include "loop/template.h"

typedef struct Median {
    Lower *l;
    const PlanGroup *group;
    const Stage *stage;
    WideMedian what;
    Gather read;
    int64_t wide, rank;
    LBufferId values, results;
} Median;

/* Counters as wide as keys, unless these count too little. */
static ScalarType counter_type(const Median *m)
{
    switch (tessi_type_info(m->what.key)->bytes) {
    case 1: return m->rank * 2 < UINT8_MAX ? TYPE_U8 : TYPE_U16;
    case 2: return TYPE_U16;
    case 4: return TYPE_I32;
    default: return TYPE_I64;
    }
}

static void begin_strip(void *user, const LExprId *arg)
{
    Median *m = user;
    const WindowId window = tessi_expr(m->l->g, m->what.window)->window;
    tessi_gather_at(&m->read, window, arg[0], arg[1]);
}

static void copy_rows(void *user, const LExprId *arg)
{
    const Median *m = user;
    tessi_gather_rows(&m->read, m->values, 0, arg[0], tessi_l_int(m->l, m->wide));
}

static void give_row(void *user, const LExprId *arg)
{
    const Median *m = user;
    tessi_give_row(m->l, m->group, m->what.window, m->results, arg[0], arg[1], arg[2], arg[3]);
}

void tessi_lower_median(Lower *l, const PlanGroup *group)
{
    Median m = { .l = l, .group = group };
    m.stage = tessi_stage(l->g, group->members.at[0]);
    tessi_stage_wide_median(l->g, &l->walk, m.stage, &m.what);
    const ScalarType type = tessi_expr(l->g, m.what.window)->type, key = m.what.key;
    m.wide = (int64_t)group->strip + m.what.cols - 1;
    m.rank = m.what.points / 2;
    tessi_lower_dims(l, 2);
    m.read = tessi_gather_new(l, tessi_access(l->g, m.what.read), type);
    m.read.ordered = tessi_is_real(type);
    const LBufferId bits =
        group->counts ? tessi_median_bits(l, m.stage->name, key) : (LBufferId){ 0 };
    const LExprId rows = tessi_l_int(l, (int64_t)group->median + m.what.rows - 1);
    m.values = tessi_lower_array(l, LBUF_LOCAL, m.stage->name, "values", key, rows,
                                 tessi_l_int(l, m.wide));
    m.results = tessi_lower_array(l, LBUF_LOCAL, m.stage->name, "results", type, tessi_l_int(l, 1),
                                  tessi_l_int(l, group->strip));
    const uint8_t bytes = tessi_type_info(key)->bytes;
    const TemplateArg args[] = {
        ARG_WORDS("how", group->counts ? "median_count"
                         : bytes == 1  ? "median_8"
                                       : "median_16"),
        ARG_WORDS("parallel", tessi_level_parallel(&group->levels) ? "parallel" : ""),
        ARG_EXPR("height", tessi_lower_size(l, m.stage->size[0])),
        ARG_EXPR("width", tessi_lower_size(l, m.stage->size[1])),
        ARG_NUMBER("band", group->median),
        ARG_NUMBER("strip", group->strip),
        ARG_NUMBER("high", m.what.rows),
        ARG_NUMBER("across", m.what.cols),
        ARG_NUMBER("wide", m.wide),
        ARG_NUMBER("rank", m.rank),
        ARG_NUMBER("n_runs", m.what.n_runs),
        ARG_NUMBER("least", tessi_type_range(group->counts ? key : type).lo),
        ARG_NUMBER("n_bits", 8 * bytes),
        ARG_NUMBER("ordered", m.read.ordered),
        ARG_TYPE("key", key),
        ARG_TYPE("type", type),
        ARG_TYPE("counter", counter_type(&m)),
        ARG_BUFFER("values", m.values),
        ARG_BUFFER("results", m.results),
        ARG_BUFFER("bits", bits),
        ARG_BUFFER("runs", tessi_median_runs(l, m.stage->name, &m.what)),
        ARG_PART("begin", begin_strip),
        ARG_PART("copy", copy_rows),
        ARG_PART("give", give_row),
        ARG_END
    };
    tessi_template(l, "median_strips", m.stage->name, args, &m);
}
