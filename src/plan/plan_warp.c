/* Kernels of warps: the threads of a warp stand side by side, each with `outputs[0]` columns, and go down the rows together, `outputs[1]`
 * rows a step. What a step computes of a stage, and what of the rows before is still to be read, is in their registers; columns of
 * neighbours are exchanged. A stage is computed as late as those that read it allow: the rows of a step are `delay` rows above those
 * that the images are read at. At both ends of a warp threads compute what comes from no neighbour, which is used for no result. */
#include "plan/plan_base.h"

/* How far the stages of a part read what is held, through what is inlined. */
typedef struct Reach {
    bool reached;
    int64_t lo[2], hi[2];
} Reach;

typedef struct Finder {
    const PlanFacts *f;
    const Plan *p;
    const PlanGroup *group;
    uint32_t n_parts;
    Reach *reach;      /* by part and StageId */
    uint32_t *pass_of; /* by StageId: pass + 1 */
    bool *other;       /* by StageId: some read of the image is at no constant distance */
    PlanWarp *out;
} Finder;

static Reach *reach_of(const Finder *c, uint32_t part, StageId id)
{
    return &c->reach[(size_t)part * c->f->g->stages.n + id.v];
}

static void add_reach(Reach *to, const Reach *from, const int64_t *lo, const int64_t *hi)
{
    for (int k = 0; k < 2; k++) {
        const int64_t least = from->lo[k] + lo[k], most = from->hi[k] + hi[k];
        to->lo[k] = to->reached && to->lo[k] < least ? to->lo[k] : least;
        to->hi[k] = to->reached && to->hi[k] > most ? to->hi[k] : most;
    }
    to->reached = true;
}

/* The read is at a constant distance of the plane; how far. */
static bool distance_of(const Finder *c, const PlanRead *r, int64_t *lo, int64_t *hi)
{
    const Graph *g = c->f->g;
    const uint8_t y = (uint8_t)(c->group->n_dims - 2);
    if (!r->access.v || tessi_stage(g, r->producer)->n_dims != c->group->n_dims)
        return false;
    const Access *access = tessi_access(g, r->access);
    for (uint8_t d = 0; d < access->n_dims; d++) {
        int64_t least, most;
        if (!tessi_plan_distance(g, &access->dim[d], d, &least, &most)
            || (d < y && (least || most)))
            return false;
        if (d >= y) {
            lo[d - y] = least;
            hi[d - y] = most;
        }
    }
    return true;
}

static const char *follow(const Finder *c, uint32_t part, StageId reader)
{
    VEC_FOREACH (const PlanRead, r, &c->f->reads[reader.v]) {
        const uint32_t v = r->producer.v;
        const bool inlined =
            tessi_plan_computes(c->f, r->producer) && c->p->stage[v].placement == PLACE_INLINE;
        int64_t lo[2], hi[2];
        if (r->dynamic)
            return tessi_sprintf(c->f->arena,
                                 "group '%s': '%s' reads '%s' at computed places, and warps "
                                 "compute more than is there",
                                 c->group->name, tessi_stage(c->f->g, reader)->name,
                                 tessi_stage(c->f->g, r->producer)->name);
        if (distance_of(c, r, lo, hi))
            add_reach(reach_of(c, part, r->producer), reach_of(c, part, reader), lo, hi);
        else if (inlined || c->pass_of[v])
            return tessi_sprintf(c->f->arena, "group '%s': '%s' reads '%s' at no constant distance",
                                 c->group->name, tessi_stage(c->f->g, reader)->name,
                                 tessi_stage(c->f->g, r->producer)->name);
        else
            c->other[v] = true;
    }
    return NULL;
}

static const char *find_reaches(const Finder *c)
{
    const char *fault = NULL;
    for (uint32_t part = 0; part < c->n_parts; part++) {
        const bool members = part + 1 == c->n_parts;
        const StageId *stage = members ? c->group->members.at : c->group->passes.at[part].stages.at;
        const uint32_t n = members ? c->group->members.n : c->group->passes.at[part].stages.n;
        bool *own = ARENA_NEW_ARRAY(c->f->arena, bool, c->f->g->stages.n);
        for (uint32_t i = 0; i < n; i++) {
            reach_of(c, part, stage[i])->reached = true; /* of copied members: they are read */
            own[stage[i].v] = !members || !c->pass_of[stage[i].v];
        }
        for (uint32_t v = c->f->g->stages.n;
             v-- > 1 && !fault;) { /* readers before what they read */
            const StageId id = { v };
            const bool inlined =
                tessi_plan_computes(c->f, id) && c->p->stage[v].placement == PLACE_INLINE;
            if (reach_of(c, part, id)->reached && (own[v] || inlined))
                fault = follow(c, part, id);
            if (own[v])
                reach_of(c, part, id)->reached = false;
        }
    }
    return fault;
}

/* Images that are read at constant distances alone, then the stages of the passes. */
static void list_held(const Finder *c)
{
    GRAPH_FOREACH_STAGE (c->f->g, id) {
        const bool stored =
            !tessi_plan_computes(c->f, id) || c->p->stage[id.v].placement == PLACE_MEMORY;
        bool read = false;
        for (uint32_t part = 0; part < c->n_parts; part++)
            read = read || reach_of(c, part, id)->reached;
        if (!stored || c->pass_of[id.v] || !read)
            continue;
        if (c->other[id.v])
            c->out->reads_images = true;
        else
            VEC_PUSH(c->f->arena, &c->out->held, ((PlanHeld){ .stage = id, .is_image = true }));
    }
    for (uint32_t i = 0; i < c->group->passes.n; i++)
        VEC_FOREACH (const StageId, id, &c->group->passes.at[i].stages)
            VEC_PUSH(c->f->arena, &c->out->held, ((PlanHeld){ .stage = *id, .part = i }));
    GRAPH_FOREACH_STAGE (c->f->g, id)
        c->out->reads_images = c->out->reads_images || c->other[id.v];
}

/* Each part as soon as what it reads is there, and each image no sooner than it is read. */
static void find_delays(const Finder *c)
{
    PlanWarp *w = c->out;
    for (uint32_t part = 0; part < c->n_parts; part++) {
        VEC_FOREACH (const PlanHeld, h, &w->held) {
            const Reach *r = reach_of(c, part, h->stage);
            const int64_t from = h->is_image ? 0 : w->delay[h->part];
            if (r->reached && (h->is_image || h->part < part) && from + r->hi[0] > w->delay[part])
                w->delay[part] = from + r->hi[0];
        }
    }
    VEC_FOREACH (PlanHeld, h, &w->held) {
        h->delay = h->is_image ? INT64_MAX : w->delay[h->part];
        for (uint32_t part = 0; part < c->n_parts && h->is_image; part++) {
            const Reach *r = reach_of(c, part, h->stage);
            if (r->reached && w->delay[part] - r->hi[0] < h->delay)
                h->delay = w->delay[part] - r->hi[0];
        }
    }
}

/* Rows and columns that are held beyond those of a step, and how far results reach. */
static void find_sizes(const Finder *c, int64_t *most)
{
    PlanWarp *w = c->out;
    Reach *need = ARENA_NEW_ARRAY(c->f->arena, Reach, c->n_parts); /* of the results, by part */
    for (uint32_t i = w->held.n; i-- > 0;) {
        PlanHeld *h = &w->held.at[i];
        Reach far = { 0 };
        for (uint32_t part = 0; part < c->n_parts; part++) {
            const Reach *r = reach_of(c, part, h->stage);
            if (!r->reached)
                continue;
            const int64_t keep = w->delay[part] - h->delay - r->lo[0];
            h->keep = keep > h->keep ? keep : h->keep;
            h->left = -r->lo[1] > h->left ? -r->lo[1] : h->left;
            h->right = r->hi[1] > h->right ? r->hi[1] : h->right;
            add_reach(&far, &need[part], r->lo, r->hi);
        }
        const int64_t beyond[3] = { -far.lo[0], -far.lo[1], far.hi[1] };
        for (int k = 0; k < 3; k++)
            most[k] = beyond[k] > most[k] ? beyond[k] : most[k];
        if (!h->is_image)
            add_reach(&need[h->part], &far, (int64_t[2]){ 0 }, (int64_t[2]){ 0 });
    }
}

static void find_layout(PlanWarp *w)
{
    VEC_FOREACH (PlanHeld, h, &w->held) {
        h->row = h->keep;
        h->column = h->left;
        VEC_FOREACH (const PlanHeld, other, &w->held) {
            if (h->is_image || other->is_image || other->part != h->part)
                continue;
            h->row = other->keep > h->row ? other->keep : h->row;
            h->column = other->left > h->column ? other->left : h->column;
        }
    }
}

const char *tessi_plan_warp(const PlanFacts *f, const Plan *p, const PlanGroup *group,
                            PlanWarp *out)
{
    Finder c = { .f = f, .p = p, .group = group, .n_parts = group->passes.n + 1, .out = out };
    const int64_t columns = group->outputs[0], rows = group->outputs[1];
    int64_t most[3] = { 0, 0, 0 }; /* up, left, right */
    *out = (PlanWarp){ .delay = ARENA_NEW_ARRAY(f->arena, int64_t, c.n_parts) };
    c.reach = ARENA_NEW_ARRAY(f->arena, Reach, (size_t)c.n_parts * f->g->stages.n);
    c.pass_of = ARENA_NEW_ARRAY(f->arena, uint32_t, f->g->stages.n);
    c.other = ARENA_NEW_ARRAY(f->arena, bool, f->g->stages.n);
    for (uint32_t i = 0; i < group->passes.n; i++)
        VEC_FOREACH (const StageId, id, &group->passes.at[i].stages)
            c.pass_of[id->v] = i + 1;
    const char *fault = find_reaches(&c);
    if (fault)
        return fault;
    list_held(&c);
    find_delays(&c);
    find_sizes(&c, most);
    find_layout(out);
    out->left = (most[1] + columns - 1) / columns * columns;
    out->right = (most[2] + columns - 1) / columns * columns;
    out->columns = PLAN_WARP * columns - out->left - out->right;
    if (out->columns < columns)
        return tessi_sprintf(f->arena, "group '%s' reads farther than a warp has columns",
                             group->name);
    out->above = most[0];
    out->beyond = most[0] + out->delay[group->passes.n];
    out->least = (out->beyond + rows) / rows * rows - out->beyond;
    VEC_FOREACH (const PlanHeld, h, &out->held)
        out->elements += (h->keep + rows) * (h->left + columns + h->right)
                         + (h->is_image && group->march.ahead ? rows * columns : 0);
    return NULL;
}

const char *tessi_plan_check_warp(const PlanFacts *f, const Plan *p, const PlanGroup *group)
{
    Arena *a = f->arena;
    PlanWarp w;
    if (group->split != SPLIT_EDGES || !group->frame.rows[0])
        return tessi_sprintf(
            a, "group '%s': kernels of warps compute blocks inside, and leave a frame",
            group->name);
    if (group->block[0] % PLAN_WARP)
        return tessi_sprintf(a, "group '%s': blocks of kernels of warps are whole warps",
                             group->name);
    VEC_FOREACH (const PlanPass, pass, &group->passes)
        if (pass->outputs[0] != group->outputs[0] || pass->outputs[1] != group->outputs[1])
            return tessi_sprintf(
                a, "group '%s': the passes of a kernel of warps have the outputs of the group",
                group->name);
    const char *fault = tessi_plan_warp(f, p, group, &w);
    if (fault)
        return fault;
    if (!group->march.least || group->march.least > group->march.most)
        return tessi_sprintf(a, "group '%s': a march is of at least one row", group->name);
    if (group->tile[group->n_dims - 2] != 1)
        return tessi_sprintf(
            a, "group '%s': strips of warps are as long as the march says, their tile one row",
            group->name);
    const int64_t columns = group->block[0] / PLAN_WARP * w.columns;
    if (group->tile[group->n_dims - 1] != columns)
        return tessi_sprintf(a, "group '%s': the warps of a block compute %lld columns",
                             group->name, (long long)columns);
    if (w.elements > PLAN_MAX_HELD)
        return tessi_sprintf(a, "group '%s': a thread would hold %lld values; there can be %d",
                             group->name, (long long)w.elements, PLAN_MAX_HELD);
    return NULL;
}

/* Whether the stage is read by a stage of the pass, at the point itself or through what is inlined. */
static bool reads(const PlanFacts *f, const Plan *p, const StageId *stage, uint32_t n, StageId id)
{
    for (uint32_t i = 0; i < n; i++)
        VEC_FOREACH (const PlanRead, r, &f->reads[stage[i].v])
            if (r->producer.v == id.v
                || (tessi_plan_computes(f, r->producer)
                    && p->stage[r->producer.v].placement == PLACE_INLINE
                    && reads(f, p, &r->producer, 1, id)))
                return true;
    return false;
}

/* What several passes would compute is a stage of a pass before them: held, it costs no more than to be computed again. */
static void hold_shared(const PlanFacts *f, Plan *p, PlanGroup *group)
{
    for (uint32_t v = f->g->stages.n; v-- > 1;) { /* readers before what they read */
        const StageId id = { v };
        uint32_t n = 0, first = 0;
        if (!tessi_plan_computes(f, id) || p->stage[v].placement != PLACE_INLINE)
            continue;
        for (uint32_t i = group->passes.n + 1; i-- > 0;) {
            const bool members = i == group->passes.n;
            const StageId *stage = members ? group->members.at : group->passes.at[i].stages.at;
            if (!reads(f, p, stage, members ? group->members.n : group->passes.at[i].stages.n, id))
                continue;
            first = i;
            n++;
        }
        if (n < 2)
            continue;
        PlanPass pass = { .rows = 1, .outputs = { 1, 1 } };
        VEC_PUSH(f->arena, &pass.stages, id);
        VEC_PUSH(f->arena, &group->passes, pass);
        for (uint32_t i = group->passes.n - 1; i > first; i--)
            group->passes.at[i] = group->passes.at[i - 1];
        group->passes.at[first] = pass;
        p->stage[v] = (PlanStage){ PLACE_TILE, "several passes read it" };
    }
}

const char *tessi_plan_make_warp(const PlanFacts *f, Plan *p, PlanGroup *group,
                                 const uint8_t *outputs, uint16_t warps)
{
    enum { LEAST = 16, BLOCKS = 1024 };
    Plan plan;
    PlanGroup made = *group, side;
    PlanRegions regions = { 0 };
    PlanWarp w;
    bool chain;
    if (group->n_dims < 2 || tessi_stage(f->g, group->members.at[0])->kind != STAGE_COMPUTE)
        return "it has fewer than two dimensions, or reduces";
    if (group->transform || group->median)
        return "it has a transform or a median";
    made.kernel = KERNEL_WARP;
    tessi_plan_drop_copies(&made);
    made.packed = false;
    made.split = SPLIT_EDGES;
    made.block[0] = (uint16_t)(PLAN_WARP * warps);
    made.block[1] = 1;
    made.rows = made.columns = 1;
    made.resident = 0;
    made.march = (PlanMarch){ LEAST, PLAN_MAX_MARCH, BLOCKS, true };
    for (int k = 0; k < 2; k++)
        made.outputs[k] = outputs[k];
    const char *fault = tessi_plan_fit_frame(f, p, &made, &chain);
    if (!fault)
        fault = tessi_plan_frame(f, p, &made, 0, &plan, &side, &regions);
    if (fault)
        return fault;
    hold_shared(f, &plan, &side);
    made.passes = side.passes;
    VEC_FOREACH (PlanPass, pass, &made.passes)
        for (int k = 0; k < 2; k++)
            pass->outputs[k] = outputs[k];
    fault = tessi_plan_warp(f, &plan, &made, &w);
    if (fault)
        return fault;
    for (uint8_t d = 0; d < made.n_dims; d++)
        made.tile[d] = d + 1 == made.n_dims ? warps * w.columns : 1;
    p->stage = plan.stage;
    *group = made;
    return NULL;
}
