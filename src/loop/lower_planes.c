/* Planes that threads hold. Threads of a kernel of tiles that stand in rows go through planes, and hold of each stage
 * of a pass what their own points read of it: so many planes, of which each step computes one.
 *
 *   for threads: for steps: the plane of each pass that comes into reach, behind those that are held
 *                           the members
 *                           planes move on by one, the first is dropped
 *
 * Where the plane that comes lies outside, the plane that answers there is computed, so that readers need no rules. No
 * thread reads what another holds: there are no barriers, and no shared memory. */
#include "loop/lower_group.h"
#include "loop/lower_kernel.h"
#include "loop/lower_tiles.h"
#include "plan/needs.h"

/* What is held, of a stage whose planes are so many. */
static LBufferId new_held(const Tiles *t, const Stage *s, const char *name, int64_t planes)
{
    Lower *l = t->l;
    const uint8_t z = tessi_level_roll_dim(t->group);
    LBuffer b = { .name = name, .kind = LBUF_LOCAL, .held = true, .type = s->type };
    b.n_dims = s->n_dims;
    for (uint8_t d = 0; d < t->y; d++)
        b.size[d] = tessi_l_int(l, d == z ? planes : 1);
    for (int k = 0; k < 2; k++)
        b.size[t->y + k] = tessi_l_int(l, tessi_level_outputs(&t->group->levels, 1 - k));
    return tessi_loop_buffer(l->p, &b);
}

void tessi_planes_find(const Tiles *t)
{
    Lower *l = t->l;
    const PlanGroup *group = t->group;
    for (uint32_t i = 0; i < group->members.n; i++) {
        const Stage *s = tessi_stage(l->g, group->members.at[i]);
        t->result[i] = new_held(t, s, s->name, 1);
    }
    for (uint32_t i = 0; i < group->passes.n; i++) {
        VEC_FOREACH (const StageId, id, &group->passes.at[i].stages) {
            const Stage *s = tessi_stage(l->g, *id);
            l->place[id->v].scratch = new_held(t, s, s->name, t->extent[i].planes);
        }
    }
    tessi_places_wrap(l, &t->regions);
}

/* ---- All elements that a thread holds -------------------------------------------------------- */

/* One of them: its place, and its plane, row and column. */
typedef struct Element {
    const Place *place;
    LExprId index[MAX_DIMS];
    int64_t plane;
} Element;

static void for_all(const Tiles *t, uint32_t pass, int64_t planes, void *user,
                    void (*use)(const Tiles *t, const Element *e, void *user))
{
    Lower *l = t->l;
    const PlanOutputs outputs = tessi_level_outputs_all(&t->group->levels);
    const uint8_t z = tessi_level_roll_dim(t->group);
    VEC_FOREACH (const StageId, id, &t->group->passes.at[pass].stages) {
        for (int64_t i = 0; i < planes * outputs.of[1] * outputs.of[0]; i++) {
            Element e = { .place = &l->place[id->v] };
            for (uint8_t d = 0; d < t->y; d++)
                e.index[d] = tessi_l_int(l, 0);
            e.plane = i / (outputs.of[1] * outputs.of[0]);
            e.index[z] = tessi_l_int(l, e.plane);
            e.index[t->y] = tessi_l_int(l, i / outputs.of[0] % outputs.of[1]);
            e.index[t->y + 1] = tessi_l_int(l, i % outputs.of[0]);
            use(t, &e, user);
        }
    }
}

static void clear(const Tiles *t, const Element *e, void *user)
{
    (void)user;
    const ScalarType type = t->l->p->buffers.at[e->place->scratch.v].type;
    tessi_scope_store(t->l, e->place->scratch, e->index, t->n_dims,
                      tessi_lexpr_const(t->l->p, tessi_value_type(type), (Value){ 0 }));
}

static void move(const Tiles *t, const Element *e, void *user)
{
    (void)user;
    Lower *l = t->l;
    LExprId from[MAX_DIMS];
    for (uint8_t d = 0; d < t->n_dims; d++)
        from[d] = e->index[d];
    from[tessi_level_roll_dim(t->group)] = tessi_l_int(l, e->plane + 1);
    tessi_scope_store(l, e->place->scratch, e->index, t->n_dims,
                      tessi_lexpr_load(l->p, e->place->scratch, from, t->n_dims));
}

void tessi_planes_declare(const Tiles *t)
{
    Lower *l = t->l;
    for (uint32_t i = 0; i < t->group->members.n; i++)
        tessi_scope_stmt(l, LSTMT_LOCAL)->buffer = t->result[i];
    VEC_FOREACH (const PlanPass, pass, &t->group->passes)
        VEC_FOREACH (const StageId, id, &pass->stages)
            tessi_scope_stmt(l, LSTMT_LOCAL)->buffer = l->place[id->v].scratch;
}

void tessi_planes_open_threads(Tiles *t)
{
    static const char *const names[] = { "row", "column" };
    Lower *l = t->l;
    const int64_t across = tessi_level_threads(&t->group->levels, 0);
    LExprId number =
        tessi_kernel_threads(l, 0, "thread", across * tessi_level_threads(&t->group->levels, 1));
    for (int k = 0; k < 2; k++) {
        LExprId at = tessi_l_op(l, k ? OP_FLOORMOD : OP_FLOORDIV, number, tessi_l_int(l, across));
        at = tessi_l_op(l, OP_MUL, at,
                        tessi_l_int(l, tessi_level_outputs(&t->group->levels, 1 - k)));
        t->own_point[k] = tessi_scope_let(l, names[k], tessi_l_op(l, OP_ADD, t->first[k], at));
        VEC_FOREACH (const PlanPass, pass, &t->group->passes)
            VEC_FOREACH (const StageId, id, &pass->stages)
                l->place[id->v].origin[t->y + k] = t->own_point[k];
        VEC_FOREACH (const StageId, id, &t->group->members)
            l->place[id->v].origin[t->y + k] = t->own_point[k];
    }
    for (uint32_t i = 0; i < t->group->passes.n; i++)
        for_all(t, i, t->extent[i].planes, NULL, clear);
}

void tessi_planes_move(const Tiles *t)
{
    for (uint32_t i = 0; i < t->group->passes.n; i++)
        for_all(t, i, t->extent[i].planes - 1, NULL, move);
}

/* ---- Planes of later steps -------------------------------------------------------------------- */

/* Some threads ask for the same line: threads side by side for rows in turn. */
void tessi_planes_fetch(const Tiles *t)
{
    Lower *l = t->l;
    const uint8_t z = tessi_level_roll_dim(t->group);
    const int64_t columns = tessi_level_outputs(&t->group->levels, 0);
    LExprId at[MAX_DIMS];
    for (uint8_t d = 0; d < t->y; d++)
        at[d] = t->outer[d].e;
    LExprId side = tessi_l_op(l, OP_SUB, t->own_point[1], t->first[1]);
    side = tessi_l_op(l, OP_FLOORDIV, side, tessi_l_int(l, columns));
    side =
        tessi_l_op(l, OP_FLOORMOD, side, tessi_l_int(l, tessi_level_outputs(&t->group->levels, 1)));
    at[t->y] = tessi_l_op(l, OP_ADD, t->own_point[0], side);
    at[t->y + 1] = t->own_point[1];
    VEC_FOREACH (const PlanPass, pass, &t->group->passes) {
        const StageId lead = pass->stages.at[0];
        Needs needs = { 0 };
        tessi_needs(tessi_lower_facts(l), l->arena, l->plan, pass->stages.at, pass->stages.n,
                    &needs);
        at[z] = tessi_l_op(l, OP_ADD, t->plane,
                           tessi_l_int(l, t->regions.at[lead.v].ahead[z] + KERNEL_FETCH_STEPS));
        VEC_FOREACH (const StageId, id, &needs.stored)
            if (tessi_stage(l->g, *id)->n_dims == t->n_dims)
                tessi_kernel_fetch(l, *id, at);
    }
}

/* ---- Where they stand ------------------------------------------------------------------------ */

static void set_origin(Place *place, const Tiles *t, LExprId plane)
{
    for (uint8_t d = 0; d < t->y; d++)
        place->origin[d] = t->outer[d].e;
    place->origin[tessi_level_roll_dim(t->group)] = plane;
}

void tessi_planes_open_pass(Tiles *t, const Part *part, uint32_t i)
{
    Lower *l = t->l;
    const uint8_t z = tessi_level_roll_dim(t->group);
    const Border rule = t->regions.at[part->job.stage[0].v].rule[z];
    LExprId plane = tessi_l_op(l, OP_ADD, t->plane, tessi_l_int(l, part->ahead));
    plane =
        tessi_border_expr(l, rule == BORDER_INSIDE || rule == BORDER_CONSTANT ? BORDER_CLAMP : rule,
                          plane, part->nest.to[z]);
    plane = tessi_scope_let(l, "plane", plane);
    t->outer[z] = tessi_nest_coord(&part->nest, z, plane);
    LExprId first = tessi_l_op(l, OP_ADD, plane, tessi_l_int(l, 1 - t->extent[i].planes));
    for (uint32_t k = 0; k < part->job.n; k++)
        set_origin(&l->place[part->job.stage[k].v], t, first);
}

static void put(const Tiles *t, const Element *e, void *user)
{
    if (t->l->p->buffers.at[e->place->scratch.v].size[tessi_level_roll_dim(t->group)].v
        == tessi_l_int(t->l, e->plane + 1).v)
        tessi_scope_store(t->l, e->place->scratch, e->index, t->n_dims, *(const LExprId *)user);
}

void tessi_planes_fill(const Tiles *t, Part *part, uint32_t i)
{
    Lower *l = t->l;
    const uint8_t z = tessi_level_roll_dim(t->group);
    const PlanRegion *region = &t->regions.at[part->job.stage[0].v];
    if (region->rule[z] != BORDER_CONSTANT)
        return;
    LExprId plane = tessi_l_op(l, OP_ADD, t->plane, tessi_l_int(l, part->ahead));
    LExprId outside = tessi_l_op(l, OP_LT, plane, tessi_l_int(l, 0));
    outside = tessi_l_op(l, OP_OR, outside, tessi_l_op(l, OP_LE, part->nest.to[z], plane));
    tessi_scope_if(l, outside);
    Eval *ev = tessi_eval_new(l, &region->outside, 1, 0);
    LExprId value = tessi_eval_expr(l, ev, region->outside);
    for_all(t, i, t->extent[i].planes, &value, put);
    tessi_scope_close(l);
}

void tessi_planes_open_members(Tiles *t)
{
    Lower *l = t->l;
    const uint8_t z = tessi_level_roll_dim(t->group);
    for (uint32_t i = 0; i < t->group->passes.n; i++) {
        VEC_FOREACH (const StageId, id, &t->group->passes.at[i].stages) {
            const int64_t first = t->regions.at[id->v].ahead[z] + 1 - t->extent[i].planes;
            set_origin(&l->place[id->v], t, tessi_l_op(l, OP_ADD, t->plane, tessi_l_int(l, first)));
        }
    }
    VEC_FOREACH (const StageId, id, &t->group->members)
        set_origin(&l->place[id->v], t, t->plane);
    const Stage *s = tessi_stage(l->g, t->group->members.at[0]);
    Nest members = { 0 };
    tessi_nest_whole(l, s, &members);
    t->outer[z] = tessi_nest_coord(&members, z, t->plane);
    tessi_scope_if(l, tessi_l_op(l, OP_LE, t->planes[0], t->plane));
}
