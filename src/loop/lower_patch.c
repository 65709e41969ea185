/* The edges of windows in vectors. A block of rows near the edge of its image first copies what its windows read
 * there into patches, small arrays in which every read has been answered by its rule; then its points are computed
 * from the patches as in the interior. Costs a copy of a few hundred elements, and saves a test at each of the many
 * steps.
 *
 * One patch for each image and rule that is read; nothing when some read is not simply at a constant distance (give
 * or take the window), or goes to a stage that is not stored. */
#include "loop/lower_parts.h"

/* ---- What is read ---------------------------------------------------------------------------- */

bool tessi_patch_answers(const Patch *p, const Access *access, const Border *rule)
{
    bool same = access->n_dims == 2 && p->producer.v == access->producer.v;
    for (int d = 0; d < 2; d++)
        same = same
               && (p->rule[d] == rule[d]
                   || (p->merged && (rule[d] == BORDER_INSIDE || p->rule[d] == BORDER_INSIDE)));
    const bool any = p->merged && (!access->outside.v || !p->outside.v);
    return same && (any || p->outside.v == access->outside.v);
}

static Patch *patch_of(const PatchList *list, const Access *access)
{
    const Border rule[2] = { access->dim[0].rule, access->dim[1].rule };
    VEC_FOREACH (Patch, p, list)
        if (tessi_patch_answers(p, access, rule))
            return p;
    return NULL;
}

static bool is_stored(const Lower *l, StageId id)
{
    return !tessi_plan_is_inline(l->plan, id) && !l->place[id.v].scratch.v
           && tessi_stage(l->g, id)->type != TYPE_F16;
}

enum { MOST_READS = 4096 }; /* that are followed through inlined stages */

/* What is looked for. */
typedef struct Finder {
    Lower *l;
    PatchList *list;
    SizeId width;     /* of the points computed */
    bool beyond;      /* these are beyond the last dimension's edges too */
    bool rows_inside; /* no rule is needed in the first dimension, for inlined stages neither */
    bool of_windows;  /* only what moves with a window */
    uint32_t *reads;  /* of a point, those of inlined stages included */
} Finder;

static bool add_reads(const Finder *f, const ExprId *roots, uint32_t n, int64_t lo, int64_t hi);

/* A read of points whose first coordinate is lo to hi from that of the point being computed. */
static bool add_read(const Finder *f, const Access *access, int64_t first_lo, int64_t first_hi)
{
    Lower *l = f->l;
    PatchList *list = f->list;
    int64_t lo[2], hi[2];
    if (++*f->reads > MOST_READS)
        return false;
    const bool inlined = tessi_plan_is_inline(l->plan, access->producer);
    if (access->n_dims != 2 || (!inlined && !is_stored(l, access->producer)))
        return false;
    for (int d = 0; d < 2; d++)
        if (!tessi_access_reach(l->g, &access->dim[d], d, &lo[d], &hi[d]))
            return false;
    lo[0] += first_lo;
    hi[0] += first_hi;
    if (inlined) { /* beside the edge its own rule would come before those of what it reads */
        const Stage *s = tessi_stage(l->g, access->producer);
        const bool same_column = lo[1] == 0 && hi[1] == 0 && s->size[1].v == f->width.v
                                 && (!f->beyond || tessi_read_goes_beyond(l, access, 1, true));
        return f->rows_inside && same_column
               && add_reads(f, &s->pieces.at[0].body, 1, lo[0], hi[0]);
    }
    Patch *p = patch_of(list, access);
    if (!p) {
        Patch fresh = { .producer = access->producer, .outside = access->outside };
        for (int d = 0; d < 2; d++) {
            fresh.rule[d] = access->dim[d].rule;
            fresh.lo[d] = lo[d];
            fresh.hi[d] = hi[d];
        }
        VEC_PUSH(l->arena, list, fresh);
        return true;
    }
    for (int d = 0; d < 2; d++) {
        p->lo[d] = lo[d] < p->lo[d] ? lo[d] : p->lo[d];
        p->hi[d] = hi[d] > p->hi[d] ? hi[d] : p->hi[d];
    }
    return true;
}

static bool add_reads(const Finder *f, const ExprId *roots, uint32_t n, int64_t lo, int64_t hi)
{
    Lower *l = f->l;
    ExprList reads = tessi_reach(l, roots, n);
    for (uint32_t i = 0; i < reads.n; i++) {
        const Expr *e = tessi_expr(l->g, reads.at[i]);
        const Access *access = e->kind == EXPR_LOAD ? tessi_access(l->g, e->access) : NULL;
        if (!access || !tessi_access_moves(access)
            || (f->of_windows && tessi_access_moves_by_point_only(access)))
            continue;
        if (!add_read(f, access, lo, hi))
            return false;
    }
    return true;
}

bool tessi_patches_of(Lower *l, const ExprId *roots, uint32_t n_roots, PatchList *list)
{
    uint32_t reads = 0;
    const Finder f = { .l = l, .list = list, .reads = &reads, .of_windows = true };
    list->n = 0;
    return add_reads(&f, roots, n_roots, 0, 0) && list->n > 0;
}

uint32_t tessi_patches_find(Lower *l, const Nest *nest, int64_t rows, int64_t columns,
                            bool rows_inside, int64_t most_bytes, PatchList *list)
{
    list->n = 0;
    uint32_t reads = 0;
    const Finder f = { .l = l,
                       .list = list,
                       .width = nest->count[1],
                       .beyond = nest->beyond[1],
                       .rows_inside = rows_inside,
                       .reads = &reads };
    if (!add_reads(&f, nest->roots, nest->n_roots, 0, 0))
        return 0;
    int64_t bytes = 0;
    VEC_FOREACH (const Patch, p, list)
        bytes += (rows + p->hi[0] - p->lo[0]) * (columns + p->hi[1] - p->lo[1])
                 * tessi_type_info(tessi_stage(l->g, p->producer)->type)->bytes;
    return list->n > 0 && bytes <= most_bytes ? reads : 0;
}

/* ---- Filling --------------------------------------------------------------------------------- */

/* A patch while it is filled. */
typedef struct Fill {
    Lower *l;
    const Patch *p;
    /* by dimension: points beyond the image are computed, where everything wraps around */
    bool beyond[2];
    LExprId row; /* of the patch */
    LExprId y,
        row_inside; /* the row of the image that answers it; for CONSTANT whether it is inside */
    LExprId outside;
} Fill;

/* The index in dimension `d` that answers i; more may be copied than is used. */
static LExprId answered(const Fill *f, uint8_t d, LExprId i, LExprId n)
{
    const Border rule = f->p->rule[d];
    return tessi_border_expr(f->l, rule == BORDER_INSIDE && f->beyond[d] ? BORDER_WRAP : rule, i,
                             n);
}

/* One element of a row of the patch; `inside` where its column is certainly inside the image. */
static void fill_element(const Fill *f, LExprId column, bool inside)
{
    Lower *l = f->l;
    const Patch *p = f->p;
    const Stage *s = tessi_stage(l->g, p->producer);
    LExprId n = tessi_lower_size(l, s->size[1]), in = f->row_inside;
    LExprId x = tessi_l_op(l, OP_ADD, p->origin[1], column);
    LExprId at[2] = { f->y, inside ? x : answered(f, 1, x, n) };
    LExprId value = tessi_lexpr_load(l->p, l->buffer[p->producer.v], at, 2);
    if (!inside && p->rule[1] == BORDER_CONSTANT)
        in = tessi_and_also(l, in, tessi_in_range(l, x, tessi_l_int(l, 0), n));
    if (in.v)
        value = tessi_l_select(l, in, value, f->outside);
    LExprId placed[2] = { value, column };
    tessi_pin(l, value, tessi_scope_depth(l));
    tessi_scope_place(l, placed, 2);
    LStmt *store = tessi_scope_stmt(l, LSTMT_STORE);
    store->buffer = p->buffer;
    store->n_index = 2;
    store->index[0] = f->row;
    store->index[1] = column;
    store->a = placed[0];
}

/* The columns [from, to) of a row of the patch; all of them inside the image, or none. */
static void fill_columns(const Fill *f, LExprId from, LExprId to, bool inside)
{
    LVarId k = tessi_scope_for(f->l, "k", from, to, 1, inside ? LFOR_SIMD : 0);
    fill_element(f, tessi_lexpr_var(f->l->p, k), inside);
    tessi_scope_close(f->l);
}

/* What a row of the patch is answered by. */
static void fill_row(Fill *f, LExprId height)
{
    Lower *l = f->l;
    const Patch *p = f->p;
    LExprId y = tessi_l_op(l, OP_ADD, p->origin[0], f->row);
    f->y = tessi_scope_let(l, "y_at", answered(f, 0, y, height));
    if (p->rule[0] == BORDER_CONSTANT)
        f->row_inside = tessi_in_range(l, y, tessi_l_int(l, 0), height);
    if (p->outside.v) {
        Eval *ev = tessi_eval_new(l, &p->outside, 1, 0);
        f->outside = tessi_eval_expr(l, ev, p->outside);
    }
}

static void fill(Lower *l, const Nest *nest, const Patch *p, LExprId points)
{
    const Stage *s = tessi_stage(l->g, p->producer);
    LExprId zero = tessi_l_int(l, 0), width = tessi_lower_size(l, s->size[1]);
    LExprId height = tessi_lower_size(l, s->size[0]);
    LExprId count = tessi_l_op(l, OP_ADD, points, tessi_l_int(l, p->hi[1] - p->lo[1]));
    LExprId left = tessi_l_op(l, OP_SUB, zero, p->origin[1]);
    LExprId right = tessi_l_op(l, OP_SUB, width, p->origin[1]);
    LExprId from = tessi_l_op(l, OP_MIN, tessi_l_op(l, OP_MAX, left, zero), count);
    LExprId to = tessi_l_op(l, OP_MAX, tessi_l_op(l, OP_MIN, right, count), from);
    count = tessi_scope_let(l, "columns", count);
    from = tessi_scope_let(l, "inside_from", from);
    to = tessi_scope_let(l, "inside_to", to);
    LVarId row =
        tessi_scope_for(l, "row", zero, tessi_l_int(l, nest->rows + p->hi[0] - p->lo[0]), 1, 0);
    Fill f = { .l = l,
               .p = p,
               .beyond = { nest->beyond[0], nest->beyond[1] },
               .row = tessi_lexpr_var(l->p, row) };
    fill_row(&f, height);
    fill_columns(&f, zero, from, false);
    fill_columns(&f, from, to, true);
    fill_columns(&f, to, count, false);
    tessi_scope_close(l);
}

static void declare(Lower *l, Patch *p, LExprId y, LExprId x, int64_t rows, int64_t columns)
{
    const Stage *s = tessi_stage(l->g, p->producer);
    LBuffer b = { .name = tessi_sprintf(l->arena, "%s_edge", s->name),
                  .kind = LBUF_LOCAL,
                  .type = s->type,
                  .n_dims = 2 };
    b.size[0] = tessi_l_int(l, rows + p->hi[0] - p->lo[0]);
    b.size[1] = tessi_l_int(l, columns + p->hi[1] - p->lo[1]);
    p->buffer = tessi_loop_buffer(l->p, &b);
    tessi_scope_stmt(l, LSTMT_LOCAL)->buffer = p->buffer;
    p->origin[0] = tessi_l_op(l, OP_ADD, y, tessi_l_int(l, p->lo[0]));
    p->origin[1] = tessi_l_op(l, OP_ADD, x, tessi_l_int(l, p->lo[1]));
}

void tessi_patches_fill(Lower *l, const Nest *nest, PatchList *list, LExprId y, LExprId x,
                        LExprId points, uint32_t columns)
{
    VEC_FOREACH (Patch, p, list) {
        declare(l, p, y, x, nest->rows, columns);
        fill(l, nest, p, points);
    }
}

void tessi_patches_fill_by_line(Lower *l, PatchList *list, const LExprId *first)
{
    VEC_FOREACH (Patch, p, list) {
        if (p->dropped)
            continue;
        const Stage *s = tessi_stage(l->g, p->producer);
        LBuffer b = { .name = tessi_sprintf(l->arena, "%s_edge", s->name),
                      .kind = LBUF_LOCAL,
                      .type = s->type,
                      .n_dims = 2 };
        b.size[0] = tessi_l_int(l, p->hi[0] - p->lo[0] + 1);
        b.size[1] = tessi_l_int(l, p->columns);
        p->buffer = tessi_loop_buffer(l->p, &b);
        tessi_scope_stmt(l, LSTMT_LOCAL)->buffer = p->buffer;
        for (int k = 0; k < 2; k++)
            p->origin[k] = tessi_l_op(l, OP_ADD, first[k], tessi_l_int(l, p->lo[k]));
    }
    VEC_FOREACH (Patch, p, list) {
        if (p->dropped)
            continue;
        const Stage *s = tessi_stage(l->g, p->producer);
        LExprId columns = tessi_l_int(l, p->columns);
        LExprId element =
            tessi_kernel_threads(l, 0, "element", (p->hi[0] - p->lo[0] + 1) * p->columns);
        Fill f = { .l = l, .p = p };
        f.row = tessi_scope_let(l, "row", tessi_l_op(l, OP_FLOORDIV, element, columns));
        fill_row(&f, tessi_lower_size(l, s->size[0]));
        element = tessi_scope_let(l, "column", tessi_l_op(l, OP_FLOORMOD, element, columns));
        fill_element(&f, element, false);
        tessi_scope_close(l);
    }
}

/* ---- Reading --------------------------------------------------------------------------------- */

LExprId tessi_patch_load(Lower *l, const Eval *ev, const Access *access)
{
    const Patch *p = l->patches ? patch_of(l->patches, access) : NULL;
    LExprId index[2];
    if (!p || p->dropped || !tessi_access_moves(access))
        return (LExprId){ 0 };
    for (int d = 0; d < 2; d++)
        index[d] = tessi_l_op(l, OP_SUB, tessi_read_affine(l, ev, &access->dim[d]), p->origin[d]);
    if (p->value)
        return p->value[tessi_lexpr(l->p, index[1])->value.i];
    LExprId load = tessi_lexpr_load(l->p, p->buffer, index, 2);
    tessi_hint(l, load, tessi_stage(l->g, p->producer)->name);
    return load;
}
