/* Functions of a byte: what depends on one uint8 element alone and takes an exponential, a power or the like, such
 * as a tone curve or the linear light of a pixel, becomes a table of its 256 values. They are computed by the same code
 * that runs programs, so no bit changes. For processors: what a vector looks up in a table of bytes are a few
 * shuffles, and of reals as many loads as it has lanes. */
#include "analysis/analysis.h"
#include "analysis/passes.h"
#include "graph/graph_eval.h"
#include "graph/graph_passes.h"

enum { BYTE_VALUES = 256 };
/* What a table has to save: powers take doubles, and as long as four other functions. An element of a table of bytes
 * costs next to nothing, one of reals about as much as an exponential. */
enum { POWER = 4, WORTH_BYTES = 1, WORTH_REALS = 3, MOST_WORTH = 100 };

/* What an expression depends on. */
typedef enum ByteDeps { DEPS_NONE, DEPS_BYTE, DEPS_MORE } ByteDeps;

typedef struct Bytes {
    Graph *g;
    PointEval eval;
    ExprWalk walk;
    uint32_t n; /* expressions of the graph as it came, and so of the tables */
    uint8_t *deps;
    ExprId *load;   /* by expression with DEPS_BYTE: the element */
    uint8_t *worth; /* by expression: of functions that take long */
    Value given;    /* of the element */
} Bytes;

static bool is_byte_load(const Graph *g, const Expr *e)
{
    return e->kind == EXPR_LOAD
           && tessi_stage(g, tessi_access(g, e->access)->producer)->type == TYPE_U8;
}

static void find_dependences(Bytes *b)
{
    for (uint32_t id = 1; id < b->n; id++) {
        const Expr *e = &b->g->exprs.at[id];
        const bool known = e->kind == EXPR_CONST || e->kind == EXPR_OP || e->kind == EXPR_CAST
                           || e->kind == EXPR_SAT || e->kind == EXPR_TABLE;
        b->deps[id] = known ? DEPS_NONE : DEPS_MORE;
        if (is_byte_load(b->g, e)) {
            b->deps[id] = DEPS_BYTE;
            b->load[id] = (ExprId){ id };
        }
        uint32_t worth = 0;
        for (uint8_t k = 0; known && k < e->n_args; k++) {
            const ExprId arg = e->arg[k];
            const bool other =
                b->load[arg.v].v && b->load[id].v && b->load[arg.v].v != b->load[id].v;
            worth += b->worth[arg.v];
            if (b->deps[arg.v] > b->deps[id])
                b->deps[id] = b->deps[arg.v];
            if (other)
                b->deps[id] = DEPS_MORE;
            if (b->load[arg.v].v)
                b->load[id] = b->load[arg.v];
        }
        if (e->kind == EXPR_OP && tessi_op_class(e->op) == OPC_MATH)
            worth += e->op == OP_POW ? POWER : 1;
        if (known && b->deps[id] == DEPS_BYTE)
            b->worth[id] = (uint8_t)(worth < MOST_WORTH ? worth : MOST_WORTH);
    }
}

static bool becomes_table(const Bytes *b, ExprId id)
{
    if (id.v >= b->n || b->deps[id.v] != DEPS_BYTE)
        return false;
    const ScalarType t = tessi_expr(b->g, id)->type;
    const bool byte = tessi_type_info(t)->bytes == 1;
    return t != TYPE_BOOL && b->worth[id.v] >= (byte ? WORTH_BYTES : WORTH_REALS);
}

static bool load_given(PointEval *p, const Access *a, Value *v)
{
    (void)a;
    *v = ((const Bytes *)p->user)->given;
    return true;
}

static ExprId table_of(Bytes *b, ExprId id)
{
    const ExprId none = { 0 };
    const ExprId index = tessi_expr_cast(b->g, TYPE_I32, b->load[id.v]);
    const Region region = tessi_point_region(&b->eval, b->g->arena, &b->walk, id);
    Table t = { .name = "curve",
                .type = tessi_expr(b->g, id)->type,
                .n = BYTE_VALUES,
                .n_dims = 1,
                .dim = { BYTE_VALUES },
                .at = ARENA_NEW_ARRAY(b->g->arena, Value, BYTE_VALUES) };
    for (uint32_t k = 0; k < BYTE_VALUES; k++) {
        b->given = tessi_value_int(k);
        if (!tessi_point_eval(&b->eval, &region))
            return none;
        t.at[k] = b->eval.value[id.v];
    }
    return tessi_expr_table(b->g, tessi_graph_table(b->g, &t), index);
}

/* Only the largest become tables: those of which something else is made. */
static ExprId change(Rewrite *r, ExprId id, const Expr *e)
{
    Bytes *b = r->user;
    ExprId child[MAX_EXPR_CHILDREN];
    if (becomes_table(b, id))
        return id;
    const uint32_t n = tessi_expr_children(r->from, e, child);
    for (uint32_t k = 0; k < n && !e->fused; k++) { /* a fused sum keeps its product */
        const bool is_new = tessi_expr_map_get(&r->map, child[k]).v == child[k].v;
        const ExprId table =
            is_new && becomes_table(b, child[k]) ? table_of(b, child[k]) : (ExprId){ 0 };
        if (table.v)
            tessi_expr_map_set(&r->map, child[k], table);
    }
    return tessi_rewrite_rebuild(r, e);
}

Graph *tessi_graph_bytes_in_tables(Graph *g, Arena *a)
{
    bool any = false;
    Bytes b = { .g = tessi_graph_copy_live(g, a), .walk = { .arena = a }, .n = 0 };
    b.n = b.g->exprs.n;
    b.deps = ARENA_NEW_ARRAY(a, uint8_t, b.n);
    b.load = ARENA_NEW_ARRAY(a, ExprId, b.n);
    b.worth = ARENA_NEW_ARRAY(a, uint8_t, b.n);
    find_dependences(&b);
    for (uint32_t id = 1; id < b.n; id++)
        any = any || becomes_table(&b, (ExprId){ id });
    if (!any)
        return g;
    tessi_point_init(&b.eval, b.g, a);
    b.eval.load = load_given;
    b.eval.user = &b;
    Rewrite r;
    tessi_rewrite_init(&r, b.g, b.g, a);
    r.change = change;
    r.user = &b;
    tessi_rewrite_bodies(b.g, &r);
    GRAPH_FOREACH_STAGE (b.g, id)
        VEC_FOREACH (Piece, piece, &b.g->stages.at[id.v].pieces) {
            const ExprId table =
                becomes_table(&b, piece->body) ? table_of(&b, piece->body) : (ExprId){ 0 };
            piece->body = table.v ? table : piece->body;
        }
    return tessi_graph_copy_live(b.g, a);
}
