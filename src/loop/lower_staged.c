/* Copies of images for kernels of points. A block first copies what its points read into shared memory, its threads
 * going over the rows and columns of the copy, each element answered by the border rule; then reads of the image
 * become reads of the copy, at the index less that of the copy's first element. Copies in constant memory are made
 * by a kernel of their own. */
#include "loop/lower_parts.h"

typedef struct Staged {
    const PlanStaged *plan;
    PlanCopy copy;
    LBufferId buffer;
    int64_t size[MAX_DIMS];
    LExprId first[MAX_DIMS]; /* the coordinates of its first element */
    LExprId end[MAX_DIMS];   /* CENTRE: where the points of the block end that are in the image */
    bool same[MAX_DIMS];     /* the stage that is computed is as large */
} Staged;

struct StagedList {
    VEC(Staged) all;
    LExprId point[MAX_DIMS]; /* which the thread computes; none: none does yet */
    uint8_t n_dims;
};

/* ---- Constant memory ------------------------------------------------------------------------- */

void tessi_staged_constants(Lower *l, const PlanGroup *group)
{
    VEC_FOREACH (const PlanStaged, staged, &group->staged) {
        LBufferId *to = &l->constant[staged->image.v];
        const Stage *s = tessi_stage(l->g, staged->image);
        if (staged->in != STAGED_CONSTANT || to->v)
            continue;
        LBuffer b = { .name = tessi_sprintf(l->arena, "%s_constant", s->name),
                      .kind = LBUF_TEMP,
                      .in_constant = true,
                      .type = s->type,
                      .n_dims = s->n_dims };
        for (uint8_t d = 0; d < s->n_dims; d++)
            b.size[d] = tessi_lower_size(l, s->size[d]);
        *to = tessi_loop_buffer(l->p, &b);
        tessi_lower_copy(l, staged->image, *to, tessi_sprintf(l->arena, "constant_%s", s->name),
                         tessi_sprintf(l->arena, "%s, into constant memory", s->name));
    }
}

/* ---- Shared memory --------------------------------------------------------------------------- */

static void declare(Lower *l, const PlanGroup *group, Staged *c)
{
    const Stage *s = tessi_stage(l->g, c->plan->image);
    LBuffer b = { .name = tessi_sprintf(l->arena, "%s_shared", s->name),
                  .kind = LBUF_LOCAL,
                  .type = tessi_value_type(s->type),
                  .n_dims = s->n_dims };
    tessi_plan_copy_shape(l->g, group, c->plan, &c->copy, c->size);
    for (uint8_t d = 0; d < s->n_dims; d++)
        b.size[d] = tessi_l_int(l, c->size[d]);
    c->buffer = tessi_loop_buffer(l->p, &b);
    tessi_scope_stmt(l, LSTMT_LOCAL)->buffer = c->buffer;
}

StagedList *tessi_staged_declare(Lower *l, const PlanGroup *group, const Nest *nest,
                                 const LExprId *first)
{
    if (!group->staged.n)
        return NULL;
    StagedList *list = ARENA_NEW(l->arena, StagedList);
    list->n_dims = nest->n_dims;
    VEC_FOREACH (const PlanStaged, staged, &group->staged) {
        Staged c = { .plan = staged };
        if (staged->in == STAGED_CONSTANT) {
            l->place[staged->image.v].copy = l->constant[staged->image.v];
            continue;
        }
        tessi_plan_copied(tessi_lower_facts(l), l->plan, group, staged, &c.copy);
        declare(l, group, &c);
        if (c.copy.whole)
            l->place[staged->image.v].copy = c.buffer;
        const Stage *s = tessi_stage(l->g, staged->image);
        for (uint8_t d = 0; d < s->n_dims; d++) {
            c.same[d] = s->n_dims == nest->n_dims && s->size[d].v == nest->count[d].v;
            const int64_t lo = staged->in == STAGED_CENTRE ? 0 : c.copy.lo[d];
            c.first[d] = c.copy.whole ? tessi_l_int(l, 0)
                                      : tessi_l_op(l, OP_ADD, first[d], tessi_l_int(l, lo));
            if (staged->in != STAGED_CENTRE)
                continue;
            LExprId end = tessi_l_op(l, OP_ADD, first[d], tessi_l_int(l, c.size[d]));
            end = tessi_l_op(l, OP_MIN, end, tessi_lower_size(l, s->size[d]));
            c.end[d] = tessi_scope_let(
                l, tessi_sprintf(l->arena, "%s_end", tessi_dim_name(s->n_dims, d)), end);
        }
        VEC_PUSH(l->arena, &list->all, c);
    }
    return list;
}

/* The element of the image for the point `at` of the copy; answered by rules unless it is `inside`. */
static LExprId element(Lower *l, const Staged *c, const LExprId *at, bool inside)
{
    const Stage *s = tessi_stage(l->g, c->plan->image);
    LExprId index[MAX_DIMS], in = { 0 };
    for (uint8_t d = 0; d < s->n_dims; d++) {
        LExprId n = tessi_lower_size(l, s->size[d]);
        const Border rule = c->copy.rules.rule[d];
        index[d] = inside ? at[d] : tessi_border_expr(l, rule, at[d], n);
        if (!inside && rule == BORDER_CONSTANT)
            in = tessi_and_also(l, in, tessi_in_range(l, at[d], tessi_l_int(l, 0), n));
    }
    LExprId value = tessi_lexpr_load(l->p, l->buffer[c->plan->image.v], index, s->n_dims);
    tessi_pin(l, value, tessi_scope_depth(l));
    if (!in.v)
        return value;
    Eval *ev = tessi_eval_new(l, &c->copy.rules.outside, 1, 0);
    return tessi_l_select(l, in, value, tessi_eval_expr(l, ev, c->copy.rules.outside));
}

/* The block's threads fill a copy: the last two dimensions are shared out, the others are gone through. */
static void fill(Lower *l, const Staged *c, uint8_t n_axes, bool inside)
{
    static const char *const names[] = { "column", "row" };
    const Stage *s = tessi_stage(l->g, c->plan->image);
    const bool centre = c->plan->in == STAGED_CENTRE;
    const uint32_t depth = tessi_scope_depth(l);
    LExprId k[MAX_DIMS], at[MAX_DIMS], there = { 0 };
    for (uint8_t d = 0; d + n_axes < s->n_dims; d++)
        k[d] = c->size[d] == 1
                   ? tessi_l_int(l, 0)
                   : tessi_lexpr_var(l->p, tessi_scope_for(l, "plane", tessi_l_int(l, 0),
                                                           tessi_l_int(l, c->size[d]), 1, 0));
    for (uint8_t axis = n_axes; axis-- > 0;) {
        const bool has = axis < s->n_dims;
        const uint8_t d = (uint8_t)(s->n_dims - 1 - axis);
        LExprId thread = tessi_kernel_threads(l, axis, names[axis], has ? c->size[d] : 1);
        if (has)
            k[d] = thread;
    }
    for (uint8_t d = 0; d < s->n_dims; d++) {
        at[d] = tessi_l_op(l, OP_ADD, c->first[d], k[d]);
        if (centre && !(inside && c->same[d]))
            there =
                tessi_and_also(l, there, tessi_in_range(l, at[d], tessi_l_int(l, 0), c->end[d]));
    }
    if (there.v)
        tessi_scope_if(l, there);
    LExprId value = element(l, c, at, inside || centre || c->copy.whole);
    value = tessi_scope_place1(l, value);
    LStmt *store = tessi_scope_stmt(l, LSTMT_STORE);
    store->buffer = c->buffer;
    store->n_index = s->n_dims;
    for (uint8_t d = 0; d < s->n_dims; d++)
        store->index[d] = k[d];
    store->a = value;
    while (tessi_scope_depth(l) > depth)
        tessi_scope_close(l);
}

void tessi_staged_fill(Lower *l, const StagedList *list, LExprId inside)
{
    const uint8_t n_axes = list->n_dims < 2 ? list->n_dims : 2;
    bool differ = false;
    VEC_FOREACH (const Staged, c, &list->all) {
        differ = differ || !c->copy.whole;
        if (c->copy.whole || !inside.v)
            fill(l, c, n_axes, false);
    }
    if (!differ || !inside.v)
        return;
    tessi_scope_if(l, inside);
    VEC_FOREACH (const Staged, c, &list->all)
        if (!c->copy.whole)
            fill(l, c, n_axes, true);
    tessi_scope_else(l);
    VEC_FOREACH (const Staged, c, &list->all)
        if (!c->copy.whole)
            fill(l, c, n_axes, false);
    tessi_scope_close(l);
}

void tessi_staged_point(Lower *l, StagedList *list, const Coord *coord)
{
    l->staged = list;
    l->tile_depth = tessi_scope_depth(l);
    for (uint8_t d = 0; list && d < list->n_dims; d++)
        list->point[d] = coord[d].e;
}

void tessi_staged_end(Lower *l, const PlanGroup *group)
{
    l->staged = NULL;
    VEC_FOREACH (const PlanStaged, staged, &group->staged)
        l->place[staged->image.v].copy = (LBufferId){ 0 };
}

/* ---- Reading --------------------------------------------------------------------------------- */

static const Staged *copy_for(const Lower *l, const Eval *ev, const Access *access)
{
    if (!l->staged)
        return NULL;
    VEC_FOREACH (const Staged, c, &l->staged->all) {
        bool here = c->plan->image.v == access->producer.v && !c->copy.whole
                    && ev->n_dims == l->staged->n_dims && access->n_dims == ev->n_dims;
        for (uint8_t d = 0; here && d < access->n_dims; d++)
            here = ev->coord[d].e.v == l->staged->point[d].v;
        if (here && tessi_plan_copy_serves(l->g, access, &c->copy))
            return c;
    }
    return NULL;
}

static LExprId load_copy(Lower *l, const Staged *c, const LExprId *at)
{
    const Stage *s = tessi_stage(l->g, c->plan->image);
    LExprId index[MAX_DIMS];
    for (uint8_t d = 0; d < s->n_dims; d++)
        index[d] = tessi_l_op(l, OP_SUB, at[d], c->first[d]);
    LExprId load = tessi_lexpr_load(l->p, c->buffer, index, s->n_dims);
    tessi_hint(l, load, s->name);
    return load;
}

bool tessi_staged_read(Lower *l, const Eval *ev, const Access *access, StagedRead *out)
{
    const Staged *c = copy_for(l, ev, access);
    if (!c)
        return false;
    LExprId at[MAX_DIMS];
    *out = (StagedRead){ .load = { 0 } };
    for (uint8_t d = 0; d < access->n_dims; d++) {
        at[d] = tessi_read_affine(l, ev, &access->dim[d]);
        if (c->plan->in == STAGED_CENTRE && !(c->same[d] && at[d].v == l->staged->point[d].v))
            out->if_in =
                tessi_and_also(l, out->if_in, tessi_in_range(l, at[d], c->first[d], c->end[d]));
    }
    out->load = load_copy(l, c, at);
    if (!out->if_in.v)
        tessi_pin(l, out->load, l->tile_depth);
    return true;
}
