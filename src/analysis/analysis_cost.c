/* What one point of a stage costs: operations by class and bytes, windows multiplied out. */
#include "analysis/analysis.h"
#include "graph/graph_walk.h"

const char *tessi_op_class_name(OpClass c)
{
    static const char *const names[N_OP_CLASSES] = { "simple", "mul",  "fma", "div",
                                                     "sqrt",   "math", "sort" };
    return names[c];
}

OpClass tessi_op_class(Op op)
{
    switch (op) {
    case OP_MUL: return OPC_MUL;
    case OP_FMA: return OPC_FMA;
    case OP_DIV:
    case OP_MOD:
    case OP_FLOORDIV:
    case OP_FLOORMOD: return OPC_DIV;
    case OP_SQRT: return OPC_SQRT;
    case OP_RSQRT: return OPC_SQRT;
    case OP_CBRT:
    case OP_EXP:
    case OP_EXP2:
    case OP_EXP2_NEAR:
    case OP_LOG:
    case OP_LOG2:
    case OP_LOG10:
    case OP_POW:
    case OP_SIN:
    case OP_COS:
    case OP_TAN:
    case OP_ASIN:
    case OP_ACOS:
    case OP_ATAN:
    case OP_ATAN2:
    case OP_SINH:
    case OP_COSH:
    case OP_TANH:
    case OP_HYPOT: return OPC_MATH;
    default: return OPC_SIMPLE;
    }
}

double tessi_cost_operations(const StageCost *c)
{
    double sum = c->ops[OPC_FMA];
    for (int k = 0; k < N_OP_CLASSES; k++)
        sum += c->ops[k];
    return sum;
}

/* How often an expression is computed for one point: the points of the windows it depends on. */
static double times(const Graph *g, const ExprDeps *deps)
{
    double n = 1;
    for (int level = 0; level < MAX_WINDOW_LEVELS; level++) {
        if (!deps->window[level].v)
            continue;
        int64_t points = tessi_window_points(tessi_window(g, deps->window[level]));
        n *= points < 0 ? (double)INT32_MAX : (double)points;
    }
    return n;
}

/* Of n minima or maxima of such a type, those that vectors of 32 bits would take more. */
static double saved_by(ScalarType t, double n)
{
    const double bytes = tessi_type_info(t)->bytes;
    return tessi_is_integer(t) && bytes < 4 ? n * (1 - bytes / 4) : 0;
}

/* The steps of a window, each done as often as its body is computed. */
static void add_window(const Graph *g, const ExprDeps *deps, const Expr *e, double outer,
                       StageCost *c)
{
    (void)deps;
    int64_t points = tessi_window_points(tessi_window(g, e->window));
    double n = outer * (points < 0 ? (double)INT32_MAX : (double)points);
    if (e->reduction == REDUCE_MEDIAN) {
        double log2n = 1;
        for (double p = 2; p < n; p *= 2)
            log2n += 1;
        c->ops[OPC_SORT] += n * log2n;
    } else if (e->fused) {
        c->ops[OPC_FMA] += n;
    } else {
        c->ops[e->reduction == REDUCE_PROD ? OPC_MUL : OPC_SIMPLE] += n;
        if (e->reduction == REDUCE_MIN || e->reduction == REDUCE_MAX)
            c->narrow += saved_by(e->type, n);
    }
}

/* Compilers divide integers by constants with a multiplication and a shift. */
static void add_operation(const Graph *g, const Expr *e, double n, StageCost *c)
{
    OpClass k = tessi_op_class(e->op);
    if (k == OPC_DIV && tessi_is_integer(e->type) && tessi_expr(g, e->arg[1])->kind == EXPR_CONST) {
        k = OPC_MUL;
        c->ops[OPC_SIMPLE] += n;
    }
    c->ops[k] += n;
    c->powers += e->op == OP_POW ? n : 0;
    if (e->op == OP_MIN || e->op == OP_MAX)
        c->narrow += saved_by(e->type, n);
}

static bool converts(const Graph *g, const Expr *e)
{
    const ScalarType from = tessi_expr(g, e->arg[0])->type;
    return from != TYPE_BOOL && e->type != TYPE_BOOL
           && tessi_is_real(from) != tessi_is_real(e->type);
}

static StageCost piece_cost(const Graph *g, ExprWalk *walk, const ExprDeps *deps, ExprId body)
{
    StageCost c = { 0 };
    const ExprList *list = tessi_expr_walk(walk, g, &body, 1);
    VEC_FOREACH (const ExprId, id, list) {
        const Expr *e = tessi_expr(g, *id);
        double n = times(g, &deps[id->v]);
        switch (e->kind) {
        case EXPR_OP:
            if (deps[id->v].point
                || deps[id->v].data) /* else it is computed once, or once a window */
                add_operation(g, e, n, &c);
            break;
        case EXPR_CAST:
        case EXPR_SAT:
            c.ops[OPC_SIMPLE] += n;
            c.conversions += converts(g, e) ? n : 0;
            c.converted += converts(g, e) && tessi_expr(g, e->arg[0])->kind == EXPR_LOAD ? n : 0;
            break;
        case EXPR_LOAD: c.loads += n; break;
        case EXPR_TABLE:
            if (!deps[id->v].data)
                c.loads += n;
            else if (tessi_type_info(e->type)->bytes > 1) /* bytes are shuffled */
                c.looked_up += n;
            break;
        case EXPR_WINDOW: {
            add_window(g, &deps[id->v], e, n, &c);
            const Expr *product = tessi_expr(g, e->arg[0]);
            if (e->fused && product->kind == EXPR_OP) /* the product is part of the step */
                c.ops[OPC_MUL] -= times(g, &deps[e->arg[0].v]);
            break;
        }
        default: break;
        }
    }
    return c;
}

static void add_scaled(StageCost *sum, const StageCost *c, double share)
{
    for (int k = 0; k < N_OP_CLASSES; k++)
        sum->ops[k] += c->ops[k] * share;
    sum->loads += c->loads * share;
    sum->looked_up += c->looked_up * share;
    sum->narrow += c->narrow * share;
    sum->conversions += c->conversions * share;
    sum->converted += c->converted * share;
    sum->powers += c->powers * share;
}

/* The share of the stage's points that a piece on a lattice has. */
static double piece_share(const Stage *s, const Piece *piece)
{
    double share = 1;
    for (uint32_t d = 0; d < s->n_dims; d++)
        share /= piece->step[d] > 1 ? piece->step[d] : 1;
    return share;
}

/* Bytes of the producer that come newly into view from one point to the next: a read at scale s passes over s
 * elements. */
static double fresh_bytes(const Graph *g, const Footprint *f)
{
    const Stage *producer = tessi_stage(g, f->producer);
    double bytes = tessi_type_info(producer->type)->bytes;
    for (uint32_t d = 0; d < f->n_dims; d++) {
        int32_t scale = f->dim[d].scale < 0 ? -f->dim[d].scale : f->dim[d].scale;
        if (f->dim[d].dynamic || scale == 0)
            return 0; /* a table, or a part of the image that stays in the cache */
        bytes *= scale;
    }
    return bytes;
}

void tessi_analyse_costs(Analysis *an, Arena *a)
{
    const Graph *g = an->g;
    Arena *scratch = tessi_scratch_open(a);
    ExprWalk walk = { .arena = scratch };
    const ExprDeps *deps = tessi_expr_deps(g, scratch);
    an->cost = ARENA_NEW_ARRAY(a, StageCost, g->stages.n);
    GRAPH_FOREACH_STAGE (g, id) {
        const Stage *s = tessi_stage(g, id);
        StageCost *c = &an->cost[id.v];
        if (s->kind == STAGE_INPUT || s->kind == STAGE_CARRIED)
            continue;
        c->stored_bytes = tessi_type_info(s->type)->bytes;
        if (s->kind != STAGE_COMPUTE) { /* of one point of the source */
            c->ops[OPC_SIMPLE] = 1;
            c->loads = 1;
            c->distinct_bytes = tessi_type_info(tessi_stage(g, s->source)->type)->bytes;
            if (s->kind != STAGE_SCAN || s->only_last)
                c->stored_bytes = 0;
            continue;
        }
        VEC_FOREACH (const Piece, piece, &s->pieces) {
            StageCost one = piece_cost(g, &walk, deps, piece->body);
            add_scaled(c, &one, piece_share(s, piece));
        }
    }
    VEC_FOREACH (const Footprint, f, &an->footprints)
        if (tessi_stage(g, f->consumer)->kind == STAGE_COMPUTE)
            an->cost[f->consumer.v].distinct_bytes += fresh_bytes(g, f);
    tessi_scratch_close(scratch);
}
