/* General code for sums over masks that come with the run: the extents of the masks are parameters of the loops
 * instead of constants, so that the text is the same for masks of all extents. It is what runs while the code for
 * the extents at hand is being compiled. Sums are taken in the order of the graph, so the bits are the same.
 *
 * Four parameters follow those of the program for each sum: rows and columns of the mask, and the least values of
 * the two window variables. */
#include "graph/graph_transform.h"
#include "loop/lower_gather.h"
#include "loop/lower_group.h"
#include "loop/lower_window.h"
#include "loop/template.h"

enum { STRIP = 256, N_EXTENTS = 4 };

/* A sum that can be general, in a stage of two dimensions. */
typedef struct GeneralSum {
    StageId stage, mask; /* `mask`: the coefficients, an input */
    WideSum sum;
    LExprId extent[2], least[2]; /* of the mask; of the window's variables */
} GeneralSum;

struct GeneralSums {
    VEC(GeneralSum) at;
};

/* ---- What can be ----------------------------------------------------------------------------- */

/* w[i - lo, j - lo] of an input, all of which the window covers. */
static bool is_given_mask(const Graph *g, ExprId weight, const Window *w, StageId *mask)
{
    const Expr *e = tessi_expr(g, weight);
    if (e->kind != EXPR_LOAD)
        return false;
    const Access *a = tessi_access(g, e->access);
    const Stage *s = tessi_stage(g, a->producer);
    *mask = a->producer;
    if (s->kind != STAGE_INPUT || !g->inputs.at[s->image].is_mask || a->n_dims != 2)
        return false;
    for (uint8_t d = 0; d < 2; d++) {
        const AccessDim *dim = &a->dim[d];
        int64_t add, size;
        if (dim->src >= 0 || dim->index.v || dim->n_terms != 1 || dim->term[0].var != d
            || dim->term[0].coef != 1 || !tessi_size_is_const(g, dim->add, &add)
            || !tessi_size_is_const(g, s->size[d], &size) || add != -(int64_t)w->lo[d]
            || size != (int64_t)w->hi[d] - w->lo[d] + 1)
            return false;
    }
    return true;
}

static bool reads_at_window(const Graph *g, AccessId read)
{
    const Access *a = tessi_access(g, read);
    bool at = true;
    for (uint8_t d = 0; d < a->n_dims; d++) {
        int64_t add;
        at = at && tessi_size_is_const(g, a->dim[d].add, &add) && add == 0;
    }
    return at;
}

/* Every window of the stage is such a sum, and there is at most one; *found says whether there is. */
static bool look_at(const Graph *g, ExprWalk *bodies, ExprWalk *parts, StageId id, GeneralSum *out,
                    bool *found)
{
    const Stage *s = tessi_stage(g, id);
    *found = false;
    VEC_FOREACH (const Piece, piece, &s->pieces) {
        const ExprList *list = tessi_expr_walk(bodies, g, &piece->body, 1);
        VEC_FOREACH (const ExprId, e, list) {
            if (tessi_expr(g, *e)->kind != EXPR_WINDOW)
                continue;
            *out = (GeneralSum){ .stage = id };
            if (*found || s->pieces.n != 1
                || !tessi_wide_sum(g, parts, s->n_dims, *e, &out->sum, NULL) || out->sum.where.v
                || !is_given_mask(g, out->sum.weight, tessi_window(g, tessi_expr(g, *e)->window),
                                  &out->mask)
                || !reads_at_window(g, out->sum.read))
                return false;
            *found = true;
        }
    }
    return true;
}

GeneralSums *tessi_general_sums(Arena *a, const Graph *g, const Plan *plan)
{
    GeneralSums *sums = ARENA_NEW(a, GeneralSums);
    ExprWalk bodies = { .arena = a }, parts = { .arena = a };
    GRAPH_FOREACH_STAGE (g, id) {
        GeneralSum sum;
        bool found;
        if (!plan->needed[id.v] || tessi_stage(g, id)->kind == STAGE_INPUT)
            continue;
        if (!look_at(g, &bodies, &parts, id, &sum, &found))
            return NULL;
        if (found)
            VEC_PUSH(a, &sums->at, sum);
    }
    return sums->at.n ? sums : NULL;
}

uint32_t tessi_general_params(const Graph *g, const GeneralSums *sums, int64_t *out)
{
    uint32_t n = 0;
    VEC_FOREACH (const GeneralSum, s, &sums->at) {
        const Window *w = tessi_window(g, tessi_expr(g, s->sum.window)->window);
        const int64_t value[N_EXTENTS] = { s->sum.rows, s->sum.cols, w->lo[0], w->lo[1] };
        for (int k = 0; k < N_EXTENTS; k++, n++)
            if (out)
                out[n] = value[k];
    }
    return n;
}

/* ---- Interface ------------------------------------------------------------------------------- */

void tessi_general_interface(Lower *l)
{
    static const char *const names[N_EXTENTS] = { "rows", "columns", "top", "left" };
    VEC_FOREACH (GeneralSum, s, &l->general->at) {
        const Stage *mask = tessi_stage(l->g, s->mask);
        LExprId value[N_EXTENTS];
        for (int k = 0; k < N_EXTENTS; k++) {
            value[k] = tessi_lexpr_param(l->p, l->p->params.n);
            VEC_PUSH(l->arena, &l->p->params,
                     tessi_sprintf(l->arena, "%s_%s", mask->name, names[k]));
        }
        LBuffer *b = &l->p->buffers.at[l->buffer[s->mask.v].v];
        for (uint8_t d = 0; d < 2; d++) {
            s->extent[d] = l->p->inputs.at[mask->image].size[d] = b->size[d] = value[d];
            s->least[d] = value[2 + d];
        }
    }
}

/* ---- Sums: templates/general.loops ----------------------------------------------------------- */

typedef struct Sums {
    Lower *l;
    const PlanGroup *group;
    const GeneralSum *s;
    Gather read;
    LBufferId sums; /* on CPUs: of a strip */
} Sums;

static LExprId row_of(void *user, const LExprId *arg)
{
    const Sums *k = user;
    return tessi_gather_row(&k->read, arg[0]);
}

static LExprId read_at(void *user, const LExprId *arg)
{
    const Sums *k = user;
    return tessi_gather_value(&k->read, arg[0], arg[1]);
}

static LExprId answered(void *user, const LExprId *arg)
{
    const Sums *k = user;
    return tessi_gather_answered(&k->read, arg[0], arg[1]);
}

static LExprId outside(void *user, const LExprId *arg)
{
    const Sums *k = user;
    (void)arg;
    return k->read.outside;
}

static Gather new_read(const Sums *k)
{
    const WideSum *sum = &k->s->sum;
    return tessi_gather_new(k->l, tessi_access(k->l->g, sum->read),
                            tessi_expr(k->l->g, sum->window)->type);
}

static void begin_strip(void *user, const LExprId *arg)
{
    Sums *k = user;
    k->read.first[0] = arg[0];
    k->read.first[1] = arg[1];
}

static void give_strip(void *user, const LExprId *arg)
{
    const Sums *k = user;
    tessi_give_row(k->l, k->group, k->s->sum.window, k->sums, arg[0], arg[1], arg[2], arg[3]);
}

static void begin_row(void *user, const LExprId *arg)
{
    Sums *k = user;
    k->read = new_read(k);
    k->read.first[0] = arg[0];
    k->read.first[1] = k->s->least[1];
}

static void give_point(void *user, const LExprId *arg)
{
    const Sums *k = user;
    tessi_give_point(k->l, k->group, k->s->sum.window, arg[0], arg[1], arg[2]);
}

static void instance(Sums *k)
{
    Lower *l = k->l;
    const bool gpu = l->plan->gpu;
    const GeneralSum *s = k->s;
    const Stage *stage = tessi_stage(l->g, s->stage);
    const Expr *e = tessi_expr(l->g, s->sum.window);
    const Access *read = tessi_access(l->g, s->sum.read);
    const TemplateArg args[] = {
        ARG_EXPR("height", tessi_lower_size(l, stage->size[0])),
        ARG_EXPR("width", tessi_lower_size(l, stage->size[1])),
        ARG_EXPR("read_width", tessi_lower_size(l, tessi_stage(l->g, read->producer)->size[1])),
        ARG_EXPR("rows", s->extent[0]),
        ARG_EXPR("columns", s->extent[1]),
        ARG_EXPR("top", s->least[0]),
        ARG_EXPR("left", s->least[1]),
        ARG_EXPR("start", tessi_window_start(l, e, COND_NONE)),
        ARG_NUMBER("wide", tessi_level_threads(&k->group->levels, 0)),
        ARG_NUMBER("high", tessi_level_threads(&k->group->levels, 1)),
        ARG_NUMBER("constant", read->dim[0].rule == BORDER_CONSTANT),
        ARG_NUMBER("fused", e->fused),
        ARG_TYPE("type", e->type),
        ARG_BUFFER("mask", l->buffer[s->mask.v]),
        ARG_BUFFER("sums", k->sums),
        ARG_HOLE("row", row_of),
        ARG_HOLE("read", read_at),
        ARG_HOLE("answered", answered),
        ARG_HOLE("outside", outside),
        ARG_PART("begin", gpu ? begin_row : begin_strip),
        ARG_PART("give", gpu ? give_point : give_strip),
        ARG_END
    };
    tessi_template(l, gpu ? "general_blocks" : "general_strips", NULL, args, k);
}

static void lower_sum(Lower *l, const PlanGroup *group, const GeneralSum *sum)
{
    Sums k = { .l = l, .group = group, .s = sum };
    const Stage *stage = tessi_stage(l->g, sum->stage);
    tessi_lower_dims(l, 2);
    l->stream = (LExprId){ 0 };
    if (l->plan->gpu) {
        tessi_kernel_open(
            l, group->name, tessi_sprintf(l->arena, "%s\nfor masks of any extent", stage->name),
            tessi_level_threads(&group->levels, 0), tessi_level_threads(&group->levels, 1));
    } else {
        k.read = new_read(&k);
        k.sums = tessi_lower_array(l, LBUF_LOCAL, stage->name, "sums",
                                   tessi_expr(l->g, sum->sum.window)->type, tessi_l_int(l, 1),
                                   tessi_l_int(l, STRIP));
    }
    instance(&k);
}

bool tessi_lower_general(Lower *l, const PlanGroup *group)
{
    VEC_FOREACH (const GeneralSum, s, &l->general->at) {
        if (s->stage.v != group->members.at[0].v)
            continue;
        lower_sum(l, group, s);
        return true;
    }
    return false;
}
