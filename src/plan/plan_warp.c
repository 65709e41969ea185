/* Kernels of warps: the threads of a warp stand side by side, each with `outputs[0]` columns, and go down the rows
 * together, `outputs[1]` rows a step. What a step computes of a stage, and what of the rows before is still to be
 * read, is in their registers; columns of neighbours are exchanged. A stage is computed as late as those that read
 * it allow: the rows of a step are `delay` rows above those that the images are read at. At both ends of a warp
 * threads compute what comes from no neighbour, which is used for no result. */
#include "plan/plan_costs.h"
#include "plan/plan_passes.h"

/* How far the points of a part read what is held, through what is inlined: rows, columns, lines of planes. */
enum { ROWS, COLUMNS, LINES, N_WAYS };
typedef struct Reach {
    bool reached;
    int64_t lo[N_WAYS], hi[N_WAYS];
} Reach;

typedef struct Finder {
    const PlanFacts *f;
    const Plan *p;
    const PlanGroup *group;
    uint32_t n_parts;
    Needs *needs;      /* by part */
    Reach *reach;      /* by part and number of what is held */
    uint32_t *pass_of; /* by StageId: pass + 1 */
    bool *other;       /* by StageId: some read of the image is at no constant distance */
    PlanWarp *out;
} Finder;

static Reach *reach_of(const Finder *c, uint32_t part, const PlanHeld *h)
{
    return &c->reach[(size_t)part * c->out->held.n + (size_t)(h - c->out->held.at)];
}

static void add_reach(Reach *to, const Reach *from, const int64_t *lo, const int64_t *hi)
{
    for (int k = 0; k < N_WAYS; k++) {
        const int64_t least = from->lo[k] + lo[k], most = from->hi[k] + hi[k];
        to->lo[k] = to->reached && to->lo[k] < least ? to->lo[k] : least;
        to->hi[k] = to->reached && to->hi[k] > most ? to->hi[k] : most;
    }
    to->reached = true;
}

uint8_t tessi_plan_march_dim(const PlanGroup *group)
{
    return (uint8_t)(group->n_dims - (tessi_level_march(&group->levels).planes ? 3 : 2));
}

/* The read is at a constant distance, and of what the march goes through. */
static bool in_plane(const Finder *c, const PlanRead *r)
{
    const Graph *g = c->f->g;
    bool in = tessi_plan_read_at_distance(g, r)
              && tessi_stage(g, r->producer)->n_dims == c->group->n_dims;
    for (uint8_t d = 0; in && d < tessi_plan_march_dim(c->group); d++) {
        const AccessRange range = tessi_access_range(g, &tessi_access(g, r->access)->dim[d]);
        in = !range.lo && !range.hi;
    }
    return in;
}

static const char *check_read(const Finder *c, StageId reader, const PlanRead *r, bool inlined)
{
    const char *const from = tessi_stage(c->f->g, reader)->name;
    const char *const what = tessi_stage(c->f->g, r->producer)->name;
    if (r->dynamic)
        return tessi_plan_fault(
            c->f->arena, c->group,
            "'%s' reads '%s' at computed places, and warps compute more than is there", from, what);
    if (in_plane(c, r))
        return NULL;
    c->other[r->producer.v] = true;
    return inlined || c->pass_of[r->producer.v] ? tessi_plan_fault(
               c->f->arena, c->group, "'%s' reads '%s' at no constant distance", from, what)
                                                : NULL;
}

/* What each part needs; members that are copied out of passes are only read. */
static const char *find_needs(const Finder *c)
{
    const char *fault = NULL;
    for (uint32_t part = 0; part < c->n_parts; part++) {
        StageList own = tessi_plan_part(c->group, part);
        Needs *needs = &c->needs[part];
        if (part + 1 == c->n_parts)
            tessi_plan_own_members(c->f->arena, c->group, &own);
        tessi_needs(c->f, c->f->arena, c->p, own.at, own.n, needs);
        VEC_FOREACH (const Need, need, &needs->at)
            NEED_FOREACH (r, needs, need)
                fault = fault ? fault
                              : check_read(c, need->stage, r->read, needs->at.at[r->of].computed);
    }
    return fault;
}

/* Images that are read at constant distances alone, then the stages of the passes. */
static void list_held(const Finder *c)
{
    Needs needs = { 0 };
    tessi_needs_of_group(c->f, c->f->arena, c->p, c->group, &needs);
    for (uint32_t i = needs.at.n; i-- > 0;) {
        const StageId id = needs.at.at[i].stage;
        if (needs.at.at[i].computed || c->pass_of[id.v])
            continue;
        if (c->other[id.v])
            c->out->reads_images = true;
        else
            VEC_PUSH(c->f->arena, &c->out->held, ((PlanHeld){ .stage = id, .is_image = true }));
    }
    for (uint32_t i = 0; i < c->group->passes.n; i++)
        VEC_FOREACH (const StageId, id, &c->group->passes.at[i].stages)
            VEC_PUSH(c->f->arena, &c->out->held, ((PlanHeld){ .stage = *id, .part = i }));
}

/* What a stage answers outside stands at its edge or inside, so readers at edges need the point itself as well, where
 * no frame does. */
static void reach_the_point(Reach *r)
{
    for (int k = 0; k < N_WAYS; k++) {
        r->lo[k] = r->lo[k] < 0 ? r->lo[k] : 0;
        r->hi[k] = r->hi[k] > 0 ? r->hi[k] : 0;
    }
}

static void find_reaches(Finder *c)
{
    const bool edges = tessi_plan_warp_has_edges(c->group);
    const uint8_t row = tessi_plan_march_dim(c->group), column = (uint8_t)(c->group->n_dims - 1),
                  line = (uint8_t)(column - 1);
    c->reach = ARENA_NEW_ARRAY(c->f->arena, Reach, (size_t)c->n_parts * c->out->held.n);
    for (uint32_t part = 0; part < c->n_parts; part++) {
        const Needs *needs = &c->needs[part];
        const NeedBox *box = tessi_needs_boxes(c->f, c->f->arena, needs);
        VEC_FOREACH (const PlanHeld, h, &c->out->held) {
            const Need *need = tessi_need_of(needs, h->stage);
            const AccessRange *dim = need ? box[need - needs->at.at].dim : NULL;
            if (!need || need->root)
                continue;
            Reach *r = reach_of(c, part, h);
            *r = (Reach){ .reached = true,
                          .lo = { dim[row].lo, dim[column].lo },
                          .hi = { dim[row].hi, dim[column].hi } };
            if (c->out->planes) {
                r->lo[LINES] = dim[line].lo;
                r->hi[LINES] = dim[line].hi;
            }
            if (edges && !h->is_image)
                reach_the_point(r);
        }
    }
    VEC_FOREACH (const PlanHeld, h, &c->out->held) /* copied at the point itself */
        VEC_FOREACH (const StageId, id, &c->group->members)
            if (id->v == h->stage.v)
                add_reach(reach_of(c, c->n_parts - 1, h), &(Reach){ .reached = true },
                          (int64_t[N_WAYS]){ 0 }, (int64_t[N_WAYS]){ 0 });
}

/* Each part as soon as what it reads is there, and each image no sooner than it is read. */
static void find_delays(const Finder *c)
{
    PlanWarp *w = c->out;
    for (uint32_t part = 0; part < c->n_parts; part++) {
        VEC_FOREACH (const PlanHeld, h, &w->held) {
            const Reach *r = reach_of(c, part, h);
            const int64_t from = h->is_image ? 0 : w->delay[h->part];
            if (r->reached && (h->is_image || h->part < part) && from + r->hi[0] > w->delay[part])
                w->delay[part] = from + r->hi[0];
        }
    }
    VEC_FOREACH (PlanHeld, h, &w->held) {
        h->delay = h->is_image ? INT64_MAX : w->delay[h->part];
        for (uint32_t part = 0; part < c->n_parts && h->is_image; part++) {
            const Reach *r = reach_of(c, part, h);
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
            const Reach *r = reach_of(c, part, h);
            if (!r->reached)
                continue;
            const int64_t keep = w->delay[part] - h->delay - r->lo[0];
            h->keep = keep > h->keep ? keep : h->keep;
            h->left = -r->lo[1] > h->left ? -r->lo[1] : h->left;
            h->right = r->hi[1] > h->right ? r->hi[1] : h->right;
            h->up = -r->lo[0] > h->up ? -r->lo[0] : h->up;
            h->down = r->hi[0] > h->down ? r->hi[0] : h->down;
            h->line_up = -r->lo[LINES] > h->line_up ? -r->lo[LINES] : h->line_up;
            h->line_down = r->hi[LINES] > h->line_down ? r->hi[LINES] : h->line_down;
            add_reach(&far, &need[part], r->lo, r->hi);
        }
        const int64_t beyond[3] = { -far.lo[0], -far.lo[1], far.hi[1] };
        for (int k = 0; k < 3; k++)
            most[k] = beyond[k] > most[k] ? beyond[k] : most[k];
        if (!h->is_image)
            add_reach(&need[h->part], &far, (int64_t[N_WAYS]){ 0 }, (int64_t[N_WAYS]){ 0 });
        h->line = -far.lo[LINES];
        h->below = far.hi[LINES];
    }
    for (uint32_t part = 0; part < c->n_parts; part++) {
        w->around[part][0] = -need[part].lo[LINES];
        w->around[part][1] = need[part].hi[LINES];
    }
    VEC_FOREACH (PlanHeld, h, &w->held) {
        h->line = h->is_image ? h->line : w->around[h->part][0];
        h->below = h->is_image ? h->below : w->around[h->part][1];
    }
}

/* Where a part reads what it needs, from a point of its own. */
static OffsetSet *places_of(const Finder *c, const Needs *needs)
{
    OffsetSet *at = ARENA_NEW_ARRAY(c->f->arena, OffsetSet, needs->at.n);
    for (uint32_t i = 0; i < needs->at.n; i++) {
        const Need *need = &needs->at.at[i];
        if (need->root)
            tessi_plan_add_offset(c->f->arena, &at[i], (Offset){ 0, 0 });
        NEED_FOREACH (r, needs, need) {
            if (need->computed)
                tessi_plan_spread(c->f->arena, c->f->g, r->read, &at[i], &at[r->of]);
        }
    }
    return at;
}

/* Columns of neighbours are read in the point's own row alone. */
static bool is_level(const OffsetSet *at)
{
    bool level = at->loose <= 0;
    VEC_FOREACH (const Offset, o, &at->at)
        level = level && (!o->dx || !o->dy);
    return level;
}

/* The same of planes: in the point's own plane, by what the part computes itself. */
static bool is_level_in_planes(const Finder *c, const Needs *needs, const Need *of)
{
    const Graph *g = c->f->g;
    const uint8_t row = tessi_plan_march_dim(c->group), column = (uint8_t)(c->group->n_dims - 1);
    bool level = true;
    VEC_FOREACH (const Need, reader, &needs->at) {
        NEED_FOREACH (r, needs, reader) {
            if (&needs->at.at[r->of] != of)
                continue;
            const AccessDim *dim = tessi_access(g, r->read->access)->dim;
            const AccessRange rows = tessi_access_range(g, &dim[row]),
                              columns = tessi_access_range(g, &dim[column]);
            level = level && reader->root && !r->read->dynamic
                    && ((!rows.lo && !rows.hi) || (!columns.lo && !columns.hi));
        }
    }
    return level;
}

/* Columns of neighbours that are read in the row of the point alone are taken when that is computed: rows that wait
 * for it need no registers for them. */
static void find_exchanges(const Finder *c)
{
    PlanWarp *w = c->out;
    VEC_FOREACH (PlanHeld, h, &w->held)
        h->late = INT64_MAX;
    for (uint32_t part = 0; part < c->n_parts; part++) {
        const OffsetSet *at = places_of(c, &c->needs[part]);
        VEC_FOREACH (PlanHeld, h, &w->held) {
            const Need *need = tessi_need_of(&c->needs[part], h->stage);
            if (!need || need->root)
                continue;
            const bool level = w->planes ? is_level_in_planes(c, &c->needs[part], need)
                                         : is_level(&at[need - c->needs[part].at.at]);
            const int64_t since = level ? w->delay[part] - h->delay : 0;
            h->late = since < h->late ? since : h->late;
            h->wide = since > h->wide ? since : h->wide;
        }
    }
    VEC_FOREACH (PlanHeld, h, &w->held) {
        h->late = h->late <= h->keep ? h->late : 0;
        h->wide = h->late ? h->wide : h->keep;
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

int64_t tessi_plan_warp_rows(const PlanGroup *group)
{
    return tessi_level_march(&group->levels).planes ? 1 : tessi_level_outputs(&group->levels, 1);
}

const char *tessi_plan_warp(const PlanFacts *f, const Plan *p, const PlanGroup *group,
                            PlanWarp *out)
{
    Finder c = { .f = f, .p = p, .group = group, .n_parts = group->passes.n + 1, .out = out };
    const int64_t columns = tessi_level_outputs(&group->levels, 0);
    int64_t most[3] = { 0, 0, 0 }; /* up, left, right */
    *out = (PlanWarp){ .delay = ARENA_NEW_ARRAY(f->arena, int64_t, c.n_parts),
                       .planes = tessi_level_march(&group->levels).planes };
    out->around = (int64_t(*)[2])ARENA_NEW_ARRAY(f->arena, int64_t, 2 * (size_t)c.n_parts);
    const int64_t rows = tessi_plan_warp_rows(group);
    out->lines = out->planes ? tessi_level_outputs(&group->levels, 1) : 1;
    c.needs = ARENA_NEW_ARRAY(f->arena, Needs, c.n_parts);
    c.pass_of = ARENA_NEW_ARRAY(f->arena, uint32_t, f->g->stages.n);
    c.other = ARENA_NEW_ARRAY(f->arena, bool, f->g->stages.n);
    for (uint32_t i = 0; i < group->passes.n; i++)
        VEC_FOREACH (const StageId, id, &group->passes.at[i].stages)
            c.pass_of[id->v] = i + 1;
    const char *fault = find_needs(&c);
    if (fault)
        return fault;
    list_held(&c);
    find_reaches(&c);
    find_delays(&c);
    find_sizes(&c, most);
    find_exchanges(&c);
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
        out->elements +=
            (h->line + out->lines + h->below)
            * ((h->keep + rows) * columns + (h->wide - h->late + rows) * (h->left + h->right)
               + (h->is_image && !out->planes && tessi_level_march(&group->levels).ahead
                      ? rows * columns
                      : 0));
    return NULL;
}

const char *tessi_plan_check_warp(const PlanFacts *f, const Plan *p, const PlanGroup *group)
{
    Arena *a = f->arena;
    PlanWarp w;
    const bool edges = tessi_plan_warp_has_edges(group);
    if (!edges && (group->split != SPLIT_EDGES || !group->frame.rows[0]))
        return tessi_plan_fault(a, group,
                                "kernels of warps compute blocks inside, and leave a frame, or "
                                "answer rules themselves at the edges (split interior)");
    if (tessi_level_threads(&group->levels, 0) % PLAN_WARP)
        return tessi_plan_fault(a, group, "blocks of kernels of warps are whole warps");
    VEC_FOREACH (const PlanPass, pass, &group->passes)
        if (tessi_level_outputs(&pass->levels, 0) != tessi_level_outputs(&group->levels, 0)
            || tessi_level_outputs(&pass->levels, 1) != tessi_level_outputs(&group->levels, 1))
            return tessi_plan_fault(
                a, group, "the passes of a kernel of warps have the outputs of the group");
    const char *fault = tessi_plan_warp(f, p, group, &w);
    if (!fault && edges)
        fault = tessi_plan_warp_rules(f, p, group, &w);
    if (fault)
        return fault;
    if (!tessi_level_march(&group->levels).least
        || tessi_level_march(&group->levels).least > tessi_level_march(&group->levels).most)
        return tessi_plan_fault(a, group, "a march is of at least one row");
    const int64_t warps = tessi_level_threads(&group->levels, 0) / PLAN_WARP;
    if (w.planes && !edges)
        return tessi_plan_fault(a, group, "warps that go down planes leave no frame");
    if (w.planes && tessi_level_tile(group, group->n_dims - 2) != warps * w.lines)
        return tessi_plan_fault(a, group, "the warps of a block compute %lld rows of a plane",
                                (long long)(warps * w.lines));
    if (tessi_level_tile(group, tessi_plan_march_dim(group)) != 1)
        return tessi_plan_fault(
            a, group, "strips of warps are as long as the march says, their tile one row");
    const int64_t columns = w.planes ? w.columns : warps * w.columns;
    if (tessi_level_tile(group, group->n_dims - 1) != columns)
        return tessi_plan_fault(a, group, "the warps of a block compute %lld columns",
                                (long long)columns);
    if (w.elements > PLAN_MAX_HELD)
        return tessi_plan_fault(a, group, "a thread would hold %lld values; there can be %d",
                                (long long)w.elements, PLAN_MAX_HELD);
    return NULL;
}

/* How many parts of the group need the stage, through what is inlined; the first of them. */
static uint32_t parts_with(const Needs *needs, uint32_t n_parts, StageId id, uint32_t *first)
{
    uint32_t n = 0;
    for (uint32_t i = n_parts; i-- > 0;) {
        if (!tessi_need_of(&needs[i], id))
            continue;
        *first = i;
        n++;
    }
    return n;
}

/* What several passes would compute is a stage of a pass before them: held, it costs no more than to be computed
 * again. */
static void hold_shared(const PlanFacts *f, Plan *p, PlanGroup *group)
{
    Needs whole = { 0 }, *needs = NULL;
    tessi_needs_of_group(f, f->arena, p, group, &whole);
    VEC_FOREACH (const Need, need, &whole.at) {
        const StageId id = need->stage;
        uint32_t first = 0;
        if (need->root || !need->computed)
            continue;
        if (!needs) {
            needs = ARENA_NEW_ARRAY(f->arena, Needs, group->passes.n + 1);
            for (uint32_t i = 0; i <= group->passes.n; i++) {
                const StageList part = tessi_plan_part(group, i);
                tessi_needs(f, f->arena, p, part.at, part.n, &needs[i]);
            }
        }
        if (parts_with(needs, group->passes.n + 1, id, &first) < 2)
            continue;
        tessi_plan_insert_pass(f->arena, group, first, id);
        p->stage[id.v] = (PlanStage){ PLACE_SCRATCH, "several passes read it" };
        needs = NULL;
    }
}

/* The levels of such a kernel, and what else it says. */
static void set_warp(PlanGroup *made, const uint8_t *outputs, uint16_t warps, bool planes)
{
    enum { LEAST = 16, BLOCKS = 1024 };
    tessi_plan_set_kernel(made, KERNEL_WARP);
    tessi_plan_drop_copies(made);
    made->packed = false;
    tessi_level_set_threads(&made->levels, 0, (uint16_t)(PLAN_WARP * warps));
    tessi_level_set_threads(&made->levels, 1, 1);
    tessi_level_set_rows(&made->levels, 1);
    tessi_level_set_columns(&made->levels, 1);
    made->resident = 0;
    tessi_level_set_march(&made->levels,
                          (PlanMarch){ LEAST, PLAN_MAX_MARCH, BLOCKS, !planes, planes });
    for (int k = 0; k < 2; k++)
        tessi_level_set_outputs(&made->levels, k, outputs[k]);
}

/* The same of its passes, and the columns that its blocks compute. */
static const char *settle_warp(const PlanFacts *f, Plan *p, PlanGroup *made, uint16_t warps,
                               PlanWarp *w)
{
    const PlanOutputs outputs = tessi_level_outputs_all(&made->levels);
    VEC_FOREACH (PlanPass, pass, &made->passes)
        for (int k = 0; k < 2; k++)
            tessi_level_set_outputs(&pass->levels, k, outputs.of[k]);
    const char *fault = tessi_plan_warp(f, p, made, w);
    if (fault)
        return fault;
    for (uint8_t d = 0; d + 1 < made->n_dims; d++)
        tessi_level_set_tile(made, d, w->planes && d + 2 == made->n_dims ? warps * w->lines : 1);
    tessi_level_set_tile(made, made->n_dims - 1, w->planes ? w->columns : warps * w->columns);
    return NULL;
}

const char *tessi_plan_make_warp(const PlanFacts *f, Plan *p, PlanGroup *group,
                                 const uint8_t *outputs, uint16_t warps)
{
    Plan plan;
    PlanGroup made = *group, side;
    PlanRegions regions = { 0 };
    PlanWarp w;
    bool chain;
    if (group->n_dims < 2 || tessi_stage(f->g, group->members.at[0])->kind != STAGE_COMPUTE)
        return "it has fewer than two dimensions, or reduces";
    if (tessi_plan_has_own_loops(group))
        return "it has a transform, a median or a product";
    set_warp(&made, outputs, warps, false);
    made.split = SPLIT_EDGES;
    const char *fault = tessi_plan_fit_frame(f, p, &made, &chain);
    if (!fault)
        fault = tessi_plan_frame(f, p, &made, 0, &plan, &side, &regions);
    if (fault)
        return fault;
    hold_shared(f, &plan, &side);
    made.passes = side.passes;
    fault = settle_warp(f, &plan, &made, warps, &w);
    if (fault)
        return fault;
    p->stage = plan.stage;
    tessi_plan_place_passes(p, &made);
    *group = made;
    return NULL;
}

/* Of stages that members need those that are read at a distance: passes, what is read before its readers. Members
 * that others read so are stored from there. Those of another size have edges of their own: they stay inline. */
static void find_held_stages(const PlanFacts *f, Plan *p, const PlanGroup *group, StageList *out)
{
    Needs needs = { 0 };
    tessi_needs(f, f->arena, p, group->members.at, group->members.n, &needs);
    bool *far = ARENA_NEW_ARRAY(f->arena, bool, needs.at.n);
    VEC_FOREACH (const NeedRead, r, &needs.reads)
        far[r->of] = far[r->of] || !r->read->same_point || needs.at.at[r->of].root;
    for (uint32_t i = needs.at.n; i-- > 0;) {
        const Need *need = &needs.at.at[i];
        if (!far[i] || !need->computed
            || !tessi_stage_same_domain(tessi_stage(f->g, need->stage),
                                        tessi_stage(f->g, group->members.at[0])))
            continue;
        if (!need->root)
            p->stage[need->stage.v].placement = PLACE_LANES;
        VEC_PUSH(f->arena, out, need->stage);
    }
}

const char *tessi_plan_make_warp_edges(const PlanFacts *f, Plan *p, PlanGroup *group,
                                       const uint8_t *outputs, uint16_t warps, bool planes)
{
    PlanRegions regions = { 0 };
    StageList stages = { 0 };
    PlanWarp w;
    if (group->n_dims < 2 + planes
        || tessi_stage(f->g, group->members.at[0])->kind != STAGE_COMPUTE)
        return "it has too few dimensions, or reduces";
    if (tessi_plan_has_own_loops(group))
        return "it has a transform, a median or a product";
    VEC_FOREACH (const PlanPass, pass, &group->passes)
        VEC_FOREACH (const StageId, id, &pass->stages)
            if (tessi_placement_is_scratch(p->stage[id->v].placement))
                p->stage[id->v].placement = PLACE_INLINE;
    set_warp(group, outputs, warps, planes);
    group->split = SPLIT_INTERIOR;
    group->frame = (PlanFrame){ 0 };
    group->passes.at = NULL;
    group->passes.n = group->passes.cap = 0;
    find_held_stages(f, p, group, &stages);
    VEC_FOREACH (const StageId, id, &stages)
        tessi_plan_insert_pass(f->arena, group, group->passes.n, *id);
    const char *fault = tessi_plan_regions(f, p, group, &regions);
    if (fault)
        return fault;
    tessi_plan_make_passes(f, p, &regions, &stages, 0, group);
    hold_shared(f, p, group);
    fault = settle_warp(f, p, group, warps, &w);
    if (!fault)
        fault = tessi_plan_warp_rules(f, p, group, &w);
    tessi_plan_place_passes(p, group);
    return fault;
}
