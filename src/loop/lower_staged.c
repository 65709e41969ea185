/* Copies of images that a plan asks for, for kernels of points and of tiles: in shared memory, which a block fills
 * before its threads read them at their points, or in constant memory, by a kernel of their own. */
#include "loop/lower_group.h"

void tessi_staged_constants(Lower *l, const PlanGroup *group)
{
    VEC_FOREACH (const PlanStaged, staged, &group->staged) {
        LBufferId *to = &l->constant[staged->image.v];
        const Stage *s = tessi_stage(l->g, staged->image);
        if (staged->in != STAGED_CONSTANT || l->constant_filled[staged->image.v])
            continue;
        l->constant_filled[staged->image.v] = true;
        LBuffer b = { .name = tessi_sprintf(l->arena, "%s_constant", s->name),
                      .kind = LBUF_TEMP,
                      .in_constant = true,
                      .type = s->type,
                      .n_dims = s->n_dims };
        for (uint8_t d = 0; d < s->n_dims; d++)
            b.size[d] = tessi_lower_size(l, s->size[d]);
        if (!to->v)
            *to = tessi_loop_buffer(l->p, &b);
        tessi_lower_copy(l, staged->image, *to, tessi_sprintf(l->arena, "constant_%s", s->name),
                         tessi_sprintf(l->arena, "%s, into constant memory", s->name));
    }
}

static Copy shared_copy(Lower *l, const PlanGroup *group, const PlanStaged *staged,
                        const Nest *nest, const LExprId *point)
{
    const Stage *s = tessi_stage(l->g, staged->image);
    Copy c = tessi_copy_new(l, staged->image);
    PlanCopy plan;
    tessi_plan_copied(tessi_lower_facts(l), l->plan, group, staged, &plan);
    tessi_plan_copy_shape(l->g, group, staged, &plan, c.size);
    c.rules = plan.rules;
    c.whole = plan.whole;
    c.pitch = tessi_plan_copy_pitch(l->g, group, staged, c.size);
    tessi_copy_declare(l, &c, "shared");
    for (uint8_t d = 0; d < s->n_dims; d++) {
        c.lo[d] = plan.lo[d];
        c.hi[d] = plan.hi[d];
        c.is_own[d] = s->n_dims == nest->n_dims && s->size[d].v == nest->count[d].v;
        const int64_t lo = staged->in == STAGED_CENTRE ? 0 : c.lo[d];
        c.first[d] =
            c.whole ? tessi_l_int(l, 0) : tessi_l_op(l, OP_ADD, point[d], tessi_l_int(l, lo));
        if (staged->in != STAGED_CENTRE)
            continue;
        LExprId end = tessi_l_op(l, OP_ADD, point[d], tessi_l_int(l, c.size[d]));
        end = tessi_l_op(l, OP_MIN, end, tessi_lower_size(l, s->size[d]));
        c.end[d] = tessi_scope_let(
            l, tessi_sprintf(l->arena, "%s_end", tessi_dim_name(s->n_dims, d)), end);
    }
    return c;
}

CopyList *tessi_staged_declare(Lower *l, const PlanGroup *group, const Nest *nest,
                               const LExprId *first)
{
    if (!group->staged.n)
        return NULL;
    CopyList *list = ARENA_NEW(l->arena, CopyList);
    list->n_dims = nest->n_dims;
    VEC_FOREACH (const PlanStaged, staged, &group->staged) {
        if (staged->in == STAGED_CONSTANT)
            l->place[staged->image.v].copy = l->constant[staged->image.v];
        else
            VEC_PUSH(l->arena, list, shared_copy(l, group, staged, nest, first));
    }
    return list;
}

CopyList *tessi_staged_declare_tile(Lower *l, const PlanGroup *group, const Nest *nest,
                                    const LExprId *first)
{
    CopyList *list = tessi_staged_declare(l, group, nest, first);
    if (list) {
        list->n_dims = 0;
        list->by_line = true;
    }
    return list;
}

static void fill(Lower *l, const CopyList *list, const Copy *c, bool inside)
{
    if (list->by_line)
        tessi_copy_by_line(l, c, inside);
    else
        tessi_copy_by_block(l, c, list->n_dims < 2 ? list->n_dims : 2, inside);
}

void tessi_staged_fill_inside(Lower *l, const CopyList *list)
{
    VEC_FOREACH (const Copy, c, list)
        fill(l, list, c, true);
}

void tessi_staged_fill(Lower *l, const CopyList *list, LExprId inside)
{
    bool differ = false;
    VEC_FOREACH (const Copy, c, list) {
        differ = differ || !c->whole;
        if (c->whole || !inside.v)
            fill(l, list, c, false);
    }
    if (!differ || !inside.v)
        return;
    tessi_scope_if(l, inside);
    for (int beside = 0; beside < 2; beside++) {
        if (beside)
            tessi_scope_else(l);
        VEC_FOREACH (const Copy, c, list)
            if (!c->whole)
                fill(l, list, c, !beside);
    }
    tessi_scope_close(l);
}

static void find_whole(Lower *l, const CopyList *list)
{
    for (uint32_t i = 0; list && i < list->n; i++)
        if (list->at[i].whole)
            l->place[list->at[i].image.v].copy = list->at[i].buffer;
}

void tessi_staged_block(Lower *l, CopyList *list)
{
    l->copies = list;
    find_whole(l, list);
}

void tessi_staged_point(Lower *l, CopyList *list, const Coord *coord)
{
    l->copies = list;
    l->tile_depth = tessi_scope_depth(l);
    for (uint8_t d = 0; list && d < list->n_dims; d++)
        list->point[d] = coord[d].e;
    find_whole(l, list);
}

void tessi_staged_end(Lower *l, const PlanGroup *group)
{
    l->copies = NULL;
    VEC_FOREACH (const PlanStaged, staged, &group->staged)
        l->place[staged->image.v].copy = (LBufferId){ 0 };
}
