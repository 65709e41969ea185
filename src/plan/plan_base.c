/* What planners share: facts about the graph, groups with natural loops, the order of groups. */
#include <string.h>

#include "graph/graph_passes.h"
#include "plan/needs.h"
#include "plan/plan_costs.h"

const char *tessi_placement_name(Placement p)
{
    static const char *const names[] = {
#define PLACEMENT(id, name, meaning) name,
#include "plan/placements.def"
#undef PLACEMENT
    };
    return names[p];
}

bool tessi_placement_is_scratch(Placement p)
{
    return p == PLACE_SCRATCH || p == PLACE_LANES;
}

bool tessi_placement_by_name(const char *name, Placement *out)
{
    for (int p = 0; p < N_PLACEMENTS; p++) {
        if (tessi_streq(name, tessi_placement_name((Placement)p))) {
            *out = (Placement)p;
            return true;
        }
    }
    return false;
}

const char *tessi_kernel_name(KernelKind k)
{
    static const char *const names[] = {
#define KERNEL(id, name) name,
#include "plan/kernels.def"
#undef KERNEL
    };
    return names[k];
}

static const char *const split_names[] = { "none",  "interior", "warp",
                                           "edges", "regions",  "warp-regions" };

bool tessi_split_is_by_warp(Split s)
{
    return s == SPLIT_WARP || s == SPLIT_WARP_REGIONS;
}

const char *tessi_split_name(Split s)
{
    return split_names[s];
}

bool tessi_split_by_name(const char *name, Split *out)
{
    for (size_t s = 0; s < sizeof split_names / sizeof *split_names; s++) {
        if (tessi_streq(name, split_names[s])) {
            *out = (Split)s;
            return true;
        }
    }
    return false;
}

bool tessi_plan_is_inline(const Plan *p, StageId id)
{
    const Placement at = p->stage[id.v].placement;
    return at == PLACE_INLINE || at == PLACE_REGISTERS;
}

bool tessi_machine_is_gpu(const Machine *m)
{
    return tessi_streq(m->target, "gpu");
}

bool tessi_plan_computes(const PlanFacts *f, StageId s)
{
    const StageKind kind = tessi_stage(f->g, s)->kind;
    return f->needed[s.v] && kind != STAGE_INPUT && kind != STAGE_CARRIED;
}

bool tessi_plan_same_part(const PlanFacts *f, StageId a, StageId b)
{
    return !f->part || f->part[a.v] == f->part[b.v];
}

bool tessi_plan_same_pixel(const Stage *a, const Stage *b)
{
    const char *dot_a = strrchr(a->name, '.'), *dot_b = strrchr(b->name, '.');
    return dot_a && dot_b && dot_a - a->name == dot_b - b->name
           && strncmp(a->name, b->name, (size_t)(dot_a - a->name)) == 0;
}

/* ---- Facts ----------------------------------------------------------------------------------- */

/* The share of the points of its stage that a piece on a lattice has. */
static double share_of(const Stage *s, const Piece *piece)
{
    double share = 1;
    for (uint32_t d = 0; d < s->n_dims; d++)
        share /= piece->step[d] > 1 ? piece->step[d] : 1;
    return share;
}

/* The points of the reader that read one element, since no index follows them along a dimension: a plane that is read
 * for each plane of a stack. */
static double points_of_element(const Graph *g, const Stage *reader, const Access *a)
{
    enum { SUPPOSED = 16 }; /* of a size that is known when a program runs */
    bool followed[MAX_DIMS] = { false };
    double points = 1;
    int64_t n;
    for (uint8_t d = 0; d < a->n_dims; d++) {
        if (a->dim[d].absolute)
            return 1;
        if (a->dim[d].src >= 0)
            followed[a->dim[d].src] = true;
    }
    for (uint8_t d = 0; d < reader->n_dims; d++)
        if (!followed[d])
            points *=
                tessi_size_is_const(g, reader->size[d], &n) ? (double)(n > 1 ? n : 1) : SUPPOSED;
    return points;
}

static PlanRead read_of(const Graph *g, const Stage *reader, const ExprDeps *deps, const Expr *load,
                        double share)
{
    const Access *a = tessi_access(g, load->access);
    PlanRead r = { .producer = a->producer, .access = load->access, .times = 1, .skipped = 1 };
    r.same_point = tessi_access_is_at_point(g, a);
    for (int level = 0; level < MAX_WINDOW_LEVELS; level++) {
        if (!deps->window[level].v)
            continue;
        int64_t points = tessi_window_points(tessi_window(g, deps->window[level]));
        r.times *= points < 0 ? (double)INT32_MAX : (double)points;
    }
    for (uint32_t d = 0; d < a->n_dims; d++) {
        double scale = a->dim[d].scale;
        r.dynamic = r.dynamic || a->dim[d].absolute;
        if (!a->dim[d].absolute && scale * scale > 1)
            r.skipped *= scale < 0 ? -scale : scale;
    }
    r.readers = points_of_element(g, reader, a);
    r.passed = r.skipped * share / r.readers;
    return r;
}

/* The points at which the bodies of windows are computed, those of windows around them multiplied in. */
static void add_points(PlanFacts *f, const ExprDeps *deps, StageId id, const Expr *window)
{
    int64_t points = tessi_window_points(tessi_window(f->g, window->window));
    for (int level = 0; level < MAX_WINDOW_LEVELS && points > 0; level++) {
        if (!deps->window[level].v)
            continue;
        const int64_t around = tessi_window_points(tessi_window(f->g, deps->window[level]));
        if (around < 0 || points > PLAN_MANY_POINTS || around > PLAN_MANY_POINTS)
            points = -1;
        else
            points *= around;
    }
    int64_t *sum = &f->window_points[id.v];
    *sum = points < 0 || *sum + points > PLAN_MANY_POINTS ? PLAN_MANY_POINTS : *sum + points;
}

static bool is_choice(const Expr *e)
{
    return e->op == OP_MIN || e->op == OP_MAX;
}

/* Lowering has a form of it for pairs of small integers (lower_pack.c). */
static bool is_small(const Graph *g, const Expr *e)
{
    const ScalarType t = e->type;
    switch (e->op) {
    case OP_MIN:
    case OP_MAX:
    case OP_NEG:
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_SHL:
    case OP_SHR:
    case OP_DIV: break;
    default: return false;
    }
    return tessi_is_integer(t) && tessi_type_info(t)->bytes <= 2
           && (e->op != OP_DIV || tessi_expr(g, e->arg[1])->kind == EXPR_CONST);
}

static void count_small(PlanFacts *f, StageId id, const ExprList *list)
{
    double all = 0, small = 0, least = 0, most = 0, small_choices = 0;
    VEC_FOREACH (const ExprId, at, list) {
        const Expr *e = tessi_expr(f->g, *at);
        if (e->kind != EXPR_OP)
            continue;
        all++;
        *(is_choice(e) ? &small_choices : &small) += is_small(f->g, e);
        least += e->op == OP_MIN;
        most += e->op == OP_MAX;
    }
    f->small[id.v] = all > 0 ? small / all : 0;
    f->choices[id.v] = all > 0 ? 2 * (least < most ? least : most) / all : 0;
    f->small_choices[id.v] = all > 0 ? small_choices / all : 0;
}

/* Constants that answer for what lies outside of images: in the code of edges only, which no limit is about. */
static uint32_t constants_outside(const Graph *g, const ExprList *list)
{
    uint32_t n = 0;
    ExprId last = { 0 };
    VEC_FOREACH (const ExprId, e, list) {
        const Expr *x = tessi_expr(g, *e);
        const ExprId outside =
            x->kind == EXPR_LOAD ? tessi_access(g, x->access)->outside : (ExprId){ 0 };
        if (!outside.v || outside.v == last.v || tessi_expr(g, outside)->kind != EXPR_CONST)
            continue;
        n++; /* one value serves all reads, as a rule */
        last = outside;
    }
    return n < list->n ? n : 0;
}

static bool asks_rules(const Access *a)
{
    for (uint8_t d = 0; d < a->n_dims; d++)
        if (a->dim[d].rule != BORDER_INSIDE)
            return true;
    return false;
}

static void find_reads(PlanFacts *f, ExprWalk *walk, const ExprDeps *deps, StageId id)
{
    const Stage *s = tessi_stage(f->g, id);
    PlanReads *reads = &f->reads[id.v];
    f->pointwise[id.v] = f->unruled[id.v] = s->kind == STAGE_COMPUTE;
    if (tessi_stage_is_whole(s)) {
        const PlanRead r = { .producer = s->source,
                             .times = 1,
                             .passed = 1,
                             .skipped = 1,
                             .readers = 1,
                             .same_point = true };
        VEC_PUSH(f->arena, reads, r);
        PlanRead of_keys = r;
        of_keys.producer = s->keys;
        if (s->keys.v)
            VEC_PUSH(f->arena, reads, of_keys);
    }
    VEC_FOREACH (const Piece, piece, &s->pieces) {
        const ExprList *list = tessi_expr_walk(walk, f->g, &piece->body, 1);
        f->nodes[id.v] += list->n - constants_outside(f->g, list);
        count_small(f, id, list);
        VEC_FOREACH (const ExprId, e, list) {
            const Expr *x = tessi_expr(f->g, *e);
            if (x->kind == EXPR_WINDOW) {
                f->has_window[id.v] = true;
                add_points(f, &deps[e->v], id, x);
                f->sorts[id.v] = f->sorts[id.v] || x->reduction == REDUCE_MEDIAN;
                f->pointwise[id.v] = f->unruled[id.v] = false;
            }
            if (x->kind != EXPR_LOAD)
                continue;
            PlanRead r = read_of(f->g, s, &deps[e->v], x, share_of(s, piece));
            if (!r.same_point && !r.dynamic)
                f->pointwise[id.v] = false;
            if (!r.same_point && !r.dynamic && asks_rules(tessi_access(f->g, x->access)))
                f->unruled[id.v] = false;
            VEC_PUSH(f->arena, reads, r);
        }
    }
}

/* How many rows the blocks of stages with so many nodes may have. */
static uint8_t most_rows(int64_t nodes)
{
    uint8_t rows = PLAN_BLOCK_ROWS;
    while (rows > 1 && nodes * rows > PLAN_PROGRAM_NODES)
        rows /= 2;
    return rows;
}

void tessi_plan_limit_rows(PlanFacts *f, const Plan *p, const PlanCodeSize *size)
{
    int64_t nodes = 0;
    GRAPH_FOREACH_STAGE (f->g, id)
        if (tessi_plan_computes(f, id) && !tessi_plan_is_inline(p, id)
            && size->nodes[id.v] * 2 <= PLAN_BLOCK_NODES) /* others have no blocks */
            nodes += size->nodes[id.v];
    f->most_rows = most_rows(nodes);
}

/* Parts of the program are computed one after the other, and meet in memory. */
static void find_parts(PlanFacts *f)
{
    f->part = tessi_graph_parts(f->g, f->arena);
    f->test = tessi_graph_tests(f->g, f->arena);
    GRAPH_FOREACH_STAGE (f->g, id)
        VEC_FOREACH (const PlanRead, r, &f->reads[id.v])
            if (f->part && f->part[id.v] != f->part[r->producer.v])
                f->returned[r->producer.v] = true;
    VEC_FOREACH (const Repeat, repeat, &f->g->repeats) {
        f->returned[repeat->until.v] = true;
        VEC_FOREACH (const Carried, c, &repeat->carried)
            f->returned[c->first.v] = f->returned[c->next.v] = true;
    }
}

/* The stage is a channel of the image. */
static void set_pixel(PlanFacts *f, StageId id, const Image *image, uint32_t number)
{
    const ScalarType type = tessi_stage(f->g, id)->type;
    bool alike = true;
    VEC_FOREACH (const Channel, c, &image->channels)
        alike = alike && tessi_stage(f->g, c->stage)->type == type;
    f->pixel[id.v] = image->pixel_bytes;
    f->image[id.v] = number;
    f->channels[id.v] = alike ? image->channels.n : 1;
}

PlanFacts *tessi_plan_facts(Arena *a, const Graph *g)
{
    PlanFacts *f = ARENA_NEW(a, PlanFacts);
    f->g = g;
    f->arena = a;
    f->points = PLAN_LARGE_POINTS;
    f->needed = ARENA_NEW_ARRAY(a, bool, g->stages.n);
    f->returned = ARENA_NEW_ARRAY(a, bool, g->stages.n);
    f->can_inline = ARENA_NEW_ARRAY(a, bool, g->stages.n);
    f->pointwise = ARENA_NEW_ARRAY(a, bool, g->stages.n);
    f->unruled = ARENA_NEW_ARRAY(a, bool, g->stages.n);
    f->has_window = ARENA_NEW_ARRAY(a, bool, g->stages.n);
    f->sorts = ARENA_NEW_ARRAY(a, bool, g->stages.n);
    f->window_points = ARENA_NEW_ARRAY(a, int64_t, g->stages.n);
    f->nodes = ARENA_NEW_ARRAY(a, int64_t, g->stages.n);
    f->pixel = ARENA_NEW_ARRAY(a, uint32_t, g->stages.n);
    f->image = ARENA_NEW_ARRAY(a, uint32_t, g->stages.n);
    f->channels = ARENA_NEW_ARRAY(a, uint32_t, g->stages.n);
    f->small = ARENA_NEW_ARRAY(a, double, g->stages.n);
    f->choices = ARENA_NEW_ARRAY(a, double, g->stages.n);
    f->small_choices = ARENA_NEW_ARRAY(a, double, g->stages.n);
    f->shared = ARENA_NEW_ARRAY(a, SharedOps *, g->stages.n);
    f->reads = ARENA_NEW_ARRAY(a, PlanReads, g->stages.n);
    f->mark = ARENA_NEW_ARRAY(a, uint32_t, g->stages.n);
    f->slot = ARENA_NEW_ARRAY(a, uint32_t, g->stages.n);
    f->walk = ARENA_NEW(a, ExprWalk);
    f->walk->arena = a;
    const ExprDeps *deps = tessi_expr_deps(g, a);
    GRAPH_FOREACH_STAGE (g, id) {
        const Stage *s = tessi_stage(g, id);
        f->pixel[id.v] = tessi_type_info(s->type)->bytes;
        f->channels[id.v] = 1;
        if (s->kind == STAGE_INPUT)
            set_pixel(f, id, &g->inputs.at[s->image], s->image + 1);
    }
    for (uint32_t i = 0; i < g->outputs.n; i++) {
        const Image *image = &g->outputs.at[i];
        VEC_FOREACH (const Channel, c, &image->channels) {
            f->needed[c->stage.v] = f->returned[c->stage.v] = true;
            set_pixel(f, c->stage, image, g->inputs.n + i + 1);
        }
    }
    for (uint32_t v = g->stages.n; v-- > 1;) { /* readers stand after what they read */
        if (!f->needed[v])
            continue;
        if (g->stages.at[v].behind)
            tessi_repeat_mark(g, g->stages.at[v].behind, f->needed);
        find_reads(f, f->walk, deps, (StageId){ v });
        VEC_FOREACH (const PlanRead, r, &f->reads[v])
            f->needed[r->producer.v] = true;
    }
    find_parts(f);
    GRAPH_FOREACH_STAGE (g, id)
        f->can_inline[id.v] =
            f->needed[id.v] && !f->returned[id.v] && tessi_stage_is_plain(g, tessi_stage(g, id));
    f->most_rows = PLAN_BLOCK_ROWS;
    f->most_points = PLAN_MAX_OUTPUTS * PLAN_MAX_OUTPUTS;
    return f;
}

PlanFacts tessi_plan_facts_in(Arena *scratch, const PlanFacts *f)
{
    PlanFacts own = *f;
    own.arena = scratch;
    return own;
}

/* ---- Building plans -------------------------------------------------------------------------- */

Plan *tessi_plan_empty(const PlanFacts *f, const char *machine)
{
    Plan *p = ARENA_NEW(f->arena, Plan);
    p->arena = f->arena;
    p->graph = f->g->name;
    p->machine = machine;
    p->reason = "";
    p->n_stages = f->g->stages.n;
    p->needed = f->needed;
    p->stage = ARENA_NEW_ARRAY(f->arena, PlanStage, p->n_stages);
    for (uint32_t v = 0; v < p->n_stages; v++)
        p->stage[v] = (PlanStage){ PLACE_MEMORY, "" };
    return p;
}

bool tessi_plan_can_tile(const PlanFacts *f, StageId s)
{
    const Stage *stage = tessi_stage(f->g, s);
    return stage->kind == STAGE_COMPUTE && tessi_stage_is_plain(f->g, stage) && stage->n_dims >= 2
           && !f->sorts[s.v] && f->window_points[s.v] < PLAN_MAX_WRITTEN_OUT;
}

bool tessi_plan_can_unroll(const PlanFacts *f, StageId s)
{
    return tessi_plan_can_tile(f, s)
           || (!f->has_window[s.v] && tessi_stage_lattice(f->g, tessi_stage(f->g, s)));
}

/* The planes of the reader, before the last two dimensions, are planes of what it reads: no rule answers for one. */
static bool has_planes_of(const Graph *g, StageId reader, const PlanRead *r)
{
    const Stage *s = tessi_stage(g, reader), *t = tessi_stage(g, r->producer);
    const Access *access = r->access.v ? tessi_access(g, r->access) : NULL;
    for (uint8_t d = 0; access && d + 2 < access->n_dims; d++)
        if (access->dim[d].rule != BORDER_INSIDE
            && (s->n_dims <= d || s->size[d].v != t->size[d].v))
            return false;
    return true;
}

bool tessi_plan_stays_in_plane(const PlanFacts *f, const Plan *p, const PlanGroup *group)
{
    Needs needs = { 0 };
    if (group->n_dims == 2)
        return true;
    tessi_needs_of_group(f, f->arena, p, group, &needs);
    VEC_FOREACH (const Need, need, &needs.at)
        NEED_FOREACH (r, &needs, need) {
            Offset o;
            if ((!r->read->same_point && !tessi_plan_read_offset(f->g, r->read, &o))
                || !has_planes_of(f->g, need->stage, r->read))
                return false;
        }
    return true;
}

bool tessi_plan_can_block_rows(const PlanFacts *f, StageId s)
{
    const Stage *stage = tessi_stage(f->g, s);
    return stage->kind == STAGE_COMPUTE && tessi_stage_is_plain(f->g, stage) && stage->n_dims >= 2
           && !f->has_window[s.v];
}

bool tessi_plan_can_join_rows(const PlanFacts *f, StageId s)
{
    const Stage *stage = tessi_stage(f->g, s);
    return stage->kind == STAGE_COMPUTE && tessi_stage_is_plain(f->g, stage) && stage->n_dims >= 2
           && !f->sorts[s.v];
}

const Stage *tessi_plan_domain(const Graph *g, StageId id)
{
    const Stage *s = tessi_stage(g, id);
    return tessi_stage_is_whole(s) ? tessi_stage(g, s->source) : s;
}

bool tessi_plan_goes_along(const Graph *g, StageId id)
{
    const Stage *s = tessi_stage(g, id);
    return s->kind == STAGE_REDUCE && s->along && !s->keys.v;
}

/* They are put together on one lattice: each piece of one has the points of a piece of the other. */
static bool same_lattice(const Stage *s, const Stage *t)
{
    bool same = s->kind == STAGE_COMPUTE && t->kind == STAGE_COMPUTE && s->pieces.n == t->pieces.n;
    for (uint32_t i = 0; same && i < s->pieces.n; i++) {
        const Piece *p = &s->pieces.at[i], *q = &t->pieces.at[i];
        for (uint8_t d = 0; same && d < s->n_dims; d++)
            same = p->step[d] == q->step[d] && p->offset[d].v == q->offset[d].v
                   && p->count[d].v == q->count[d].v;
    }
    return same;
}

bool tessi_plan_can_share_loops(const PlanFacts *f, const Plan *p, StageId a, StageId b)
{
    const Graph *g = f->g;
    const Stage *s = tessi_stage(g, a), *t = tessi_stage(g, b);
    const bool reduce = s->kind == STAGE_REDUCE && t->kind == STAGE_REDUCE && s->along == t->along
                        && !s->keys.v && !t->keys.v;
    const bool compute = tessi_stage_is_plain(g, s) && tessi_stage_is_plain(g, t);
    return (reduce || compute || !p->gpu || tessi_stage_lattice(g, s))
           && tessi_plan_same_part(f, a, b)
           && tessi_stage_same_domain(tessi_plan_domain(g, a), tessi_plan_domain(g, b))
           && (reduce || compute || same_lattice(s, t));
}

PlanGroup *tessi_plan_add_group(Plan *p, const Graph *g, StageId first)
{
    const Stage *s = tessi_plan_domain(g, first);
    PlanGroup group = { .name = tessi_stage(g, first)->name, .n_dims = s->n_dims, .reason = "" };
    tessi_levels_one_by_one(&group.levels, s->n_dims);
    tessi_level_set_parallel(&group, s->n_dims > 0);
    tessi_level_set_vector(&group, s->n_dims > 0);
    group.split = tessi_stage(g, first)->kind != STAGE_COMPUTE ? SPLIT_NONE : SPLIT_INTERIOR;
    VEC_PUSH(p->arena, &group.members, first);
    VEC_PUSH(p->arena, &p->groups, group);
    return &p->groups.at[p->groups.n - 1];
}

void tessi_plan_drop_copies(PlanGroup *group)
{
    group->staged.at = NULL; /* the memory may be another group's too */
    group->staged.n = group->staged.cap = 0;
}

bool tessi_plan_has_warps(const PlanGroup *group)
{
    const PlanThreads of = tessi_level_threads_all(&group->levels);
    return tessi_plan_kernel(group) == KERNEL_POINT && group->n_dims >= 2
           && (of.of[0] % PLAN_WARP == 0
               || (PLAN_WARP % of.of[0] == 0 && of.of[1] % (PLAN_WARP / of.of[0]) == 0));
}

void tessi_plan_point_kernel(PlanGroup *group)
{
    tessi_plan_set_kernel(group, KERNEL_POINT);
    group->packed = false;
    if (group->median || group->product)
        group->median = group->product = group->strip = 0;
    group->counts = group->network = false;
    tessi_level_set_march(&group->levels, (PlanMarch){ 0 });
    tessi_plan_drop_copies(group);
    group->frame = (PlanFrame){ 0 };
    tessi_level_set_outputs_all(&group->levels, (PlanOutputs){ { 1, 1 } });
    tessi_level_set_rows(&group->levels, 1);
    tessi_level_set_columns(&group->levels, 1);
    tessi_level_set_threads(&group->levels, 0, group->n_dims < 2 ? 256 : 32);
    tessi_level_set_threads(&group->levels, 1, group->n_dims < 2 ? 1 : 8);
    group->split = SPLIT_NONE;
}

void tessi_plan_group_stages(const PlanFacts *f, const PlanGroup *group, StageList *out)
{
    out->n = 0;
    VEC_FOREACH (const PlanPass, pass, &group->passes)
        VEC_APPEND(f->arena, out, &pass->stages);
    VEC_APPEND(f->arena, out, &group->members);
}

StageList tessi_plan_part(const PlanGroup *group, uint32_t i)
{
    const bool pass = i < group->passes.n;
    StageList list = { .at = pass ? group->passes.at[i].stages.at : group->members.at };
    list.n = pass ? group->passes.at[i].stages.n : group->members.n;
    return list;
}

Placement tessi_plan_scratch_placement(const PlanGroup *group)
{
    return tessi_plan_kernel(group) == KERNEL_WARP ? PLACE_LANES : PLACE_SCRATCH;
}

void tessi_plan_place_passes(Plan *p, const PlanGroup *group)
{
    VEC_FOREACH (const PlanPass, pass, &group->passes)
        VEC_FOREACH (const StageId, id, &pass->stages)
            if (tessi_placement_is_scratch(p->stage[id->v].placement))
                p->stage[id->v].placement = tessi_plan_scratch_placement(group);
}

bool tessi_plan_in_passes(const PlanGroup *group, StageId id)
{
    VEC_FOREACH (const PlanPass, pass, &group->passes)
        VEC_FOREACH (const StageId, s, &pass->stages)
            if (s->v == id.v)
                return true;
    return false;
}

void tessi_plan_own_members(Arena *a, const PlanGroup *group, StageList *out)
{
    out->n = 0;
    VEC_FOREACH (const StageId, id, &group->members)
        if (!tessi_plan_in_passes(group, *id))
            VEC_PUSH(a, out, *id);
}

/* ---- Order ----------------------------------------------------------------------------------- */

/* Which groups a group must wait for. */
typedef VEC(uint32_t) GroupList;

typedef struct Order {
    Plan *p;
    const PlanFacts *f;
    GroupList *before; /* by group: what it must wait for, with repetitions */
    /* by group: going through the groups again and again, the turn in which it is ready; 0 = not known */
    uint32_t *turn;
} Order;

static void find_before(Order *o)
{
    uint32_t *group_of = ARENA_NEW_ARRAY(o->f->arena, uint32_t, o->f->g->stages.n);
    StageList all = { 0 }, stored = { 0 };
    for (uint32_t i = 0; i < o->p->groups.n; i++) {
        tessi_plan_group_stages(o->f, &o->p->groups.at[i], &all);
        VEC_FOREACH (const StageId, s, &all)
            group_of[s->v] = i;
    }
    for (uint32_t i = 0; i < o->p->groups.n; i++) {
        tessi_plan_group_stages(o->f, &o->p->groups.at[i], &all);
        VEC_FOREACH (const StageId, id, &all) {
            tessi_plan_stored_reads(o->f, o->p, *id, &stored);
            VEC_FOREACH (const StageId, s, &stored)
                if (tessi_plan_computes(o->f, *s)
                    && !(group_of[s->v] == i
                         && (tessi_plan_in_passes(&o->p->groups.at[i], *s)
                             || tessi_plan_goes_along(o->f->g, *s))))
                    VEC_PUSH(o->f->arena, &o->before[i], group_of[s->v]);
        }
    }
}

/* Gives every group its turn; how many turns there are, 0 when some groups wait for each other. */
static uint32_t find_turns(Order *o)
{
    const uint32_t n = o->p->groups.n;
    uint32_t *next = ARENA_NEW_ARRAY(o->f->arena, uint32_t, n); /* in before[] */
    bool *open = ARENA_NEW_ARRAY(o->f->arena, bool, n);
    GroupList stack = { 0 };
    uint32_t last = 0;
    for (uint32_t first = 0; first < n; first++) {
        if (!o->turn[first])
            VEC_PUSH(o->f->arena, &stack, first);
        while (stack.n) {
            const uint32_t i = stack.at[stack.n - 1];
            open[i] = true;
            while (next[i] < o->before[i].n && o->turn[o->before[i].at[next[i]]])
                next[i]++;
            if (next[i] < o->before[i].n) {
                if (open[o->before[i].at[next[i]]])
                    return 0;
                VEC_PUSH(o->f->arena, &stack, o->before[i].at[next[i]]);
                continue;
            }
            o->turn[i] = 1;
            VEC_FOREACH (const uint32_t, k, &o->before[i])
                if (o->turn[*k] + (*k > i) > o->turn[i])
                    o->turn[i] = o->turn[*k] + (*k > i);
            last = o->turn[i] > last ? o->turn[i] : last;
            stack.n--;
        }
    }
    return last;
}

/* Sorted by part, groups of one part as they stand. */
static void order_parts(Plan *p, const PlanFacts *f)
{
    PlanGroup *at = p->groups.at;
    for (uint32_t i = 1; i < p->groups.n; i++) {
        const PlanGroup group = at[i];
        uint32_t k = i;
        for (; k > 0 && f->part[at[k - 1].members.at[0].v] > f->part[group.members.at[0].v]; k--)
            at[k] = at[k - 1];
        at[k] = group;
    }
}

bool tessi_plan_order(Plan *p, const PlanFacts *f)
{
    const uint32_t n = p->groups.n;
    Order o = { .p = p, .f = f };
    o.before = ARENA_NEW_ARRAY(f->arena, GroupList, n);
    o.turn = ARENA_NEW_ARRAY(f->arena, uint32_t, n);
    find_before(&o);
    const uint32_t turns = find_turns(&o);
    if (!turns && n)
        return false;
    /* sorted by turn, groups of one turn as they stand */
    uint32_t *at = ARENA_NEW_ARRAY(f->arena, uint32_t, turns + 2);
    for (uint32_t i = 0; i < n; i++)
        at[o.turn[i] + 1]++;
    for (uint32_t t = 1; t <= turns; t++)
        at[t + 1] += at[t];
    PlanGroup *sorted = ARENA_NEW_ARRAY(f->arena, PlanGroup, n);
    for (uint32_t i = 0; i < n; i++)
        sorted[at[o.turn[i]]++] = p->groups.at[i];
    p->groups.at = sorted;
    p->groups.cap = n;
    if (f->part)
        order_parts(p, f);
    return true;
}

/* ---- Size of the code ------------------------------------------------------------------------ */

void tessi_plan_size_stage(const PlanFacts *f, const Plan *p, StageId s, PlanCodeSize *size)
{
    enum { ENOUGH = 1 << 30 };
    int64_t nodes = f->nodes[s.v];
    uint32_t depth = 0;
    VEC_FOREACH (const PlanRead, r, &f->reads[s.v]) {
        if (!tessi_plan_is_inline(p, r->producer))
            continue;
        nodes += size->nodes[r->producer.v];
        if (nodes > ENOUGH)
            nodes = ENOUGH;
        if (size->depth[r->producer.v] + 1 > depth)
            depth = size->depth[r->producer.v] + 1;
    }
    size->nodes[s.v] = nodes;
    size->depth[s.v] = depth;
}

void tessi_plan_code_size(const PlanFacts *f, const Plan *p, PlanCodeSize *out)
{
    if (!out->nodes) {
        out->nodes = ARENA_NEW_ARRAY(f->arena, int64_t, f->g->stages.n);
        out->depth = ARENA_NEW_ARRAY(f->arena, uint32_t, f->g->stages.n);
    }
    GRAPH_FOREACH_STAGE (f->g, id)
        tessi_plan_size_stage(f, p, id, out);
}

bool tessi_plan_code_fits(const PlanFacts *f, const Plan *p, int64_t most_pointwise,
                          int64_t most_others, PlanCodeSize *size)
{
    tessi_plan_code_size(f, p, size);
    GRAPH_FOREACH_STAGE (f->g, id) {
        const int64_t most = f->pointwise[id.v] ? most_pointwise : most_others;
        if (tessi_plan_computes(f, id) && size->depth[id.v]
            && (size->nodes[id.v] > most || size->depth[id.v] > PLAN_MAX_INLINE_DEPTH))
            return false;
    }
    return true;
}

/* Of the inlined stages that `id` reads the one that makes most of its code. */
static StageId largest_inlined(const PlanFacts *f, const Plan *p, const PlanCodeSize *size,
                               StageId id)
{
    StageId largest = { 0 };
    int64_t most = 0, nodes = 0;
    for (uint32_t i = 0; i < f->reads[id.v].n; i++) {
        const StageId s = f->reads[id.v].at[i].producer;
        if (!tessi_plan_is_inline(p, s))
            continue;
        if (i
            && f->reads[id.v].at[i - 1].producer.v
                   != s.v) /* reads of one producer stand together */
            nodes = 0;
        nodes += size->nodes[s.v];
        if (nodes > most) {
            most = nodes;
            largest = s;
        }
    }
    return largest;
}

void tessi_plan_limit_code(const PlanFacts *f, Plan *p)
{
    PlanCodeSize size = { 0 };
    tessi_plan_code_size(f, p, &size);
    GRAPH_FOREACH_STAGE (f->g, id) {
        tessi_plan_size_stage(f, p, id, &size);
        while (size.depth[id.v] && size.nodes[id.v] > PLAN_MAX_GROUP_NODES) {
            const StageId s = largest_inlined(f, p, &size, id);
            p->stage[s.v] = (PlanStage){ PLACE_MEMORY,
                                         tessi_sprintf(f->arena,
                                                       "inlined it would make the code of '%s' too "
                                                       "large",
                                                       tessi_stage(f->g, id)->name) };
            tessi_plan_size_stage(f, p, id, &size);
        }
    }
}

const char *tessi_plan_fault(Arena *a, const PlanGroup *group, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const char *what = tessi_vsprintf(a, fmt, args);
    va_end(args);
    return tessi_sprintf(a, "group '%s': %s", group->name, what);
}

const char *tessi_plan_too_deep(Arena *a)
{
    return tessi_sprintf(
        a, "the end of a chain of %d stages inlined into one another, the longest there is",
        PLAN_MAX_INLINE_DEPTH + 1);
}
