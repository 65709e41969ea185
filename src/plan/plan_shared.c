/* Operations that points of a tile share. A network that sorts a window has the rows of the window in it, sorted;
 * what is row 2 of one point is row 1 of the point below. Operations that are the same up to a shift are of one
 * class, and a tile computes each class once at each place. (Sums and products that are the same up to a shift are
 * stages of their own, which are counted by their reads.) */
#include <string.h>

#include "plan/plan_costs.h"

enum { SIDES = 5 /* of tiles: 1, 2, 4, 8, 16 */ };

struct SharedOps {
    bool looked;     /* whether it is a window, */
    int64_t window;  /* a minimum or maximum of so many integers side by side; 0: it is not */
    bool along_rows; /* of one row */
    double share[SIDES][SIDES]; /* by the logarithms of rows and columns; 0: not yet */
};

/* What an expression is an instance of, and where. */
typedef struct Instance {
    uint32_t class; /* 0: of none, computed for each point */
    bool placed;    /* false: the same at all places */
    Offset at;
} Instance;

/* A load at the point itself, another leaf, or an operator on classes. */
typedef struct Class {
    ExprKind kind;
    Op op;
    ScalarType type;
    uint32_t leaf, part[3];
    Offset from[3]; /* where the parts lie, from the first that is placed */
    VEC(Offset) at; /* of its instances in one point */
} Class;

typedef struct Classes {
    const Graph *g;
    Arena *arena;
    VEC(Class) list; /* at[0] unused */
    IdMap map;
    const Class *wanted;
} Classes;

static bool same_class(void *user, uint32_t id)
{
    const Classes *c = user;
    const Class *a = &c->list.at[id], *b = c->wanted;
    bool same = a->kind == b->kind && a->op == b->op && a->type == b->type && a->leaf == b->leaf;
    for (int i = 0; i < 3; i++)
        same = same && a->part[i] == b->part[i] && a->from[i].dy == b->from[i].dy
               && a->from[i].dx == b->from[i].dx;
    return same;
}

static uint32_t class_of(Classes *c, const Class *wanted)
{
    uint64_t h = tessi_hash_u64((uint64_t)wanted->kind << 32 | (uint64_t)wanted->op, wanted->leaf);
    h = tessi_hash_u64(h, (uint64_t)wanted->type);
    for (int i = 0; i < 3; i++) {
        h = tessi_hash_u64(h, wanted->part[i]);
        h = tessi_hash_u64(tessi_hash_u64(h, (uint64_t)wanted->from[i].dy),
                           (uint64_t)wanted->from[i].dx);
    }
    c->wanted = wanted;
    uint32_t id = tessi_idmap_find(&c->map, h, same_class, c);
    if (!id) {
        id = c->list.n;
        VEC_PUSH(c->arena, &c->list, *wanted);
        tessi_idmap_add(c->arena, &c->map, h, id);
    }
    return id;
}

static bool is_operation(const Expr *e)
{
    return e->kind == EXPR_OP || e->kind == EXPR_CAST || e->kind == EXPR_SAT;
}

static Instance instance_of(Classes *c, const Instance *of, ExprId id)
{
    const Expr *e = tessi_expr(c->g, id);
    Instance i = { 0 };
    Class class = { .kind = e->kind, .type = e->type, .leaf = id.v };
    if (e->kind == EXPR_LOAD) {
        const PlanRead r = { .access = e->access };
        if (!tessi_plan_read_offset(c->g, &r, &i.at))
            return i;
        i.placed = true;
        class.leaf = tessi_access(c->g, e->access)->producer.v;
    } else if (is_operation(e)) {
        class.leaf = 0;
        class.op = e->kind == EXPR_OP ? e->op : OP_NEG;
        for (uint32_t k = 0; k < e->n_args; k++) {
            const Instance *part = &of[e->arg[k].v];
            if (!part->class)
                return i;
            if (part->placed && !i.placed)
                i.at = part->at;
            i.placed = i.placed || part->placed;
            class.part[k] = part->class;
            if (part->placed)
                class.from[k] = (Offset){ part->at.dy - i.at.dy, part->at.dx - i.at.dx };
        }
    } else if (e->kind == EXPR_INDEX || e->kind == EXPR_WINDOW || e->kind == EXPR_WINVAR
               || e->kind == EXPR_TABLE) {
        return i;
    }
    i.class = class_of(c, &class);
    return i;
}

/* Places of a class in a tile. */
static double places_of(Arena *a, const Class *class, PlanShape tile)
{
    OffsetSet all = { 0 };
    VEC_FOREACH (const Offset, o, &class->at)
        for (int64_t y = 0; y < tile.rows; y++)
            for (int64_t x = 0; x < tile.columns; x++)
                tessi_plan_add_offset(a, &all, (Offset){ o->dy + y, o->dx + x });
    return all.at.n + all.loose;
}

static double share_of(const PlanFacts *f, StageId id, PlanShape tile)
{
    const Graph *g = f->g;
    Arena *scratch = tessi_scratch_open(f->arena);
    Classes c = { .g = g, .arena = scratch };
    Instance *of = ARENA_NEW_ARRAY(scratch, Instance, g->exprs.n);
    const ExprList *list = tessi_expr_walk(f->walk, g, &tessi_stage(g, id)->pieces.at[0].body, 1);
    double alone = 0, together = 0; /* of each point by itself, of all together */
    const double points = (double)(tile.rows * tile.columns);
    VEC_PUSH(scratch, &c.list, (Class){ 0 });
    VEC_FOREACH (const ExprId, e, list) {
        Instance *i = &of[e->v];
        *i = instance_of(&c, of, *e);
        if (!is_operation(tessi_expr(g, *e)))
            continue;
        alone += points;
        if (i->class && i->placed)
            VEC_PUSH(scratch, &c.list.at[i->class].at, i->at);
        else
            together += points;
    }
    VEC_FOREACH (const Class, class, &c.list)
        together += class->at.n > 1 ? places_of(scratch, class, tile) : points * class->at.n;
    tessi_scratch_close(scratch);
    return alone > 0 ? together / alone : 1;
}

/* The share of the operations of a tile that are left when its points share what they can. */
static double shared(const PlanFacts *f, StageId id, PlanShape tile)
{
    int y = 0, x = 0;
    while (y + 1 < SIDES && (int64_t)1 << y < tile.rows)
        y++;
    while (x + 1 < SIDES && (int64_t)1 << x < tile.columns)
        x++;
    if (tile.rows != (int64_t)1 << y || tile.columns != (int64_t)1 << x || f->choices[id.v] <= 0
        || !tessi_stage_is_plain(f->g, tessi_stage(f->g, id)))
        return 1;
    if (!f->shared[id.v])
        f->shared[id.v] = ARENA_NEW(f->walk->arena, SharedOps); /* as long as the facts live */
    double *share = &f->shared[id.v]->share[y][x];
    if (*share <= 0)
        *share = share_of(f, id, tile);
    return *share;
}

/* The loads of a tree of one operator; -1: there is something else in it. */
static int64_t loads_of(const Graph *g, ExprId id, Op op)
{
    const Expr *e = tessi_expr(g, id);
    if (e->kind == EXPR_LOAD)
        return 1;
    if (e->kind != EXPR_OP || e->op != op)
        return -1;
    const int64_t a = loads_of(g, e->arg[0], op), b = a < 0 ? -1 : loads_of(g, e->arg[1], op);
    return b < 0 ? -1 : a + b;
}

/* Minima and maxima of integers that stand side by side, which windows beside each other share (lower_runs.c). */
static void look_for_window(const PlanFacts *f, StageId id, SharedOps *s)
{
    const Stage *stage = tessi_stage(f->g, id);
    const ExprId body = stage->pieces.at[0].body;
    const Expr *e = tessi_expr(f->g, body);
    const PlanReads *reads = &f->reads[id.v];
    Offset first = { 0 }, last = { 0 };
    s->looked = true;
    if (!tessi_stage_is_plain(f->g, stage) || e->kind != EXPR_OP || !tessi_is_integer(e->type)
        || (e->op != OP_MIN && e->op != OP_MAX) || loads_of(f->g, body, e->op) != (int64_t)reads->n)
        return;
    VEC_FOREACH (const PlanRead, r, reads) {
        Offset o;
        if (r->producer.v != reads->at[0].producer.v || !tessi_plan_read_offset(f->g, r, &o))
            return;
        const bool begins = r == reads->at;
        first.dy = begins || o.dy < first.dy ? o.dy : first.dy;
        first.dx = begins || o.dx < first.dx ? o.dx : first.dx;
        last.dy = begins || o.dy > last.dy ? o.dy : last.dy;
        last.dx = begins || o.dx > last.dx ? o.dx : last.dx;
    }
    const int64_t n = reads->n, rows = last.dy - first.dy + 1, columns = last.dx - first.dx + 1;
    if (n < 4 || rows + columns != n + 1 || (rows > 1 && columns > 1))
        return;
    s->window = n;
    s->along_rows = columns > 1;
}

/* The share of the operations of windows that are left, and whether they are not packed: those of a row take other
 * values from column to column. What is smaller than a word is then taken out of one. */
static double shared_window(const PlanFacts *f, StageId id, bool packed, PlanShape tile,
                            bool *alone)
{
    if (!tile.rows)
        return 1;
    if (!f->shared[id.v])
        f->shared[id.v] = ARENA_NEW(f->walk->arena, SharedOps);
    SharedOps *s = f->shared[id.v];
    if (!s->looked)
        look_for_window(f, id, s);
    const int64_t beside = s->along_rows ? tile.columns : tile.rows;
    const double n = (double)s->window, windows = (double)(beside < s->window ? beside : s->window);
    if (windows < 2)
        return 1;
    *alone = s->along_rows || !packed;
    const bool small = tessi_type_info(tessi_stage(f->g, id)->type)->bytes < 4;
    const double taken = *alone && small ? n + windows - 1 : 0;
    return (n + 2 * windows - 4 + taken) / windows / (n - 1);
}

double tessi_plan_slots(const PlanFacts *f, const Machine *m, StageId id, bool packed,
                        PlanShape tile)
{
    const double saved = packed && m->pair_choices ? f->small_choices[id.v] / 2 : 0;
    const double slots = 1 - (packed ? f->small[id.v] / 2 : 0) - saved;
    bool alone = false;
    const double window = shared_window(f, id, packed, tile, &alone);
    if (alone)
        return window;
    const double pipe = m->choice_slots * (f->choices[id.v] - saved);
    return (slots > pipe ? slots : pipe) * (window < 1 ? window : shared(f, id, tile));
}

/* Each column has its window in registers, and beside it rows in order, for the rows below. */
double tessi_plan_sorted_registers(const PlanFacts *f, const Machine *m, StageId id, bool packed,
                                   PlanShape tile)
{
    if (f->choices[id.v] < m->sorted_share)
        return 0;
    const bool pairs = packed && m->pair_choices && f->small_choices[id.v] >= m->sorted_share;
    const double window = f->reads[id.v].n * (tile.rows > 1 ? 1 + m->sorted_kept : 1);
    return (double)tile.columns * window / (pairs ? 2 : 1);
}
