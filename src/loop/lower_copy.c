/* Copies of rectangles of images: how their elements are answered, who fills them, and how they are read. */
#include "loop/lower_kernel.h"

/* ---- Elements -------------------------------------------------------------------------------- */

Copy tessi_copy_new(const Lower *l, StageId image)
{
    return (Copy){ .image = image,
                   .rules = tessi_rules_none(),
                   .type = tessi_value_type(tessi_stage(l->g, image)->type) };
}

Answer tessi_answer(Lower *l, Border rule, LExprId i, LExprId n)
{
    Answer a = { .at = tessi_border_expr(l, rule, i, n) };
    if (rule == BORDER_CONSTANT)
        a.in = tessi_in_range(l, i, tessi_l_int(l, 0), n);
    return a;
}

Answer tessi_copy_answer(Lower *l, const Copy *c, uint8_t d, LExprId i)
{
    return tessi_answer(l, c->rules.rule[d], i,
                        tessi_lower_size(l, tessi_stage(l->g, c->image)->size[d]));
}

/* What the copy has of a value. */
static LExprId kept(Lower *l, const Copy *c, LExprId value)
{
    const LExprId none = { 0 };
    value = tessi_lexpr_cast(l->p, c->type, value);
    return c->ordered ? tessi_lexpr_op(l->p, OP_ORDER, value, none, none) : value;
}

LExprId tessi_copy_outside(Lower *l, const Copy *c)
{
    Eval *ev = tessi_eval_new(l, &c->rules.outside, 1, 0);
    return kept(l, c, tessi_eval_expr(l, ev, c->rules.outside));
}

LExprId tessi_copy_element(Lower *l, const Copy *c, const Answer *a)
{
    Coord at[MAX_DIMS];
    LExprId in = { 0 };
    for (uint8_t d = 0; d < tessi_stage(l->g, c->image)->n_dims; d++) {
        at[d] = (Coord){ .e = a[d].at, .dim = -1 };
        in = a[d].in.v ? tessi_and_also(l, in, a[d].in) : in;
    }
    LExprId value = tessi_eval_stage(l, c->image, at, false);
    tessi_pin(l, value, tessi_scope_depth(l));
    value = kept(l, c, value);
    return in.v ? tessi_l_select(l, in, value, tessi_copy_outside(l, c)) : value;
}

void tessi_copy_declare(Lower *l, Copy *c, const char *where)
{
    const Stage *s = tessi_stage(l->g, c->image);
    const char *name = tessi_sprintf(l->arena, "%s_%s", s->name, where);
    int64_t size[MAX_DIMS];
    for (uint8_t d = 0; d < s->n_dims; d++)
        size[d] = c->pitch && d + 1 == s->n_dims ? c->pitch : c->size[d];
    c->buffer = tessi_scope_local(l, name, c->type, s->n_dims, size);
}

void tessi_copy_begin(Lower *l, Copy *c, const LExprId *point)
{
    for (uint8_t d = 0; d < tessi_stage(l->g, c->image)->n_dims; d++)
        c->first[d] = tessi_l_op(l, OP_ADD, point[d], tessi_l_int(l, c->lo[d]));
}

/* Element k. */
static void put(Lower *l, const Copy *c, const LExprId *k, LExprId value)
{
    value = tessi_scope_place1(l, value);
    tessi_scope_store(l, c->buffer, k, tessi_stage(l->g, c->image)->n_dims, value);
}

/* ---- Filling --------------------------------------------------------------------------------- */

/* The columns [from, to) of row k[0]; all of them inside the image, or none. */
static void columns_of_row(Lower *l, const Copy *c, LExprId *k, Answer *a, LExprId from, LExprId to,
                           bool inside)
{
    k[1] = tessi_lexpr_var(l->p, tessi_scope_for(l, "k", from, to, 1, inside ? LFOR_SIMD : 0));
    LExprId x = tessi_l_op(l, OP_ADD, c->first[1], k[1]);
    a[1] = inside ? (Answer){ .at = x } : tessi_copy_answer(l, c, 1, x);
    put(l, c, k, a[1].in.v ? tessi_copy_outside(l, c) : tessi_copy_element(l, c, a));
    tessi_scope_close(l);
}

/* What the row is answered by, once for all its columns. */
static Answer answer_of_row(Lower *l, const Copy *c, LExprId row)
{
    Answer a = tessi_copy_answer(l, c, 0, tessi_l_op(l, OP_ADD, c->first[0], row));
    a.at = tessi_scope_let(l, "y_at", a.at);
    if (a.in.v)
        tessi_hint(l, a.in, "row_inside");
    return a;
}

void tessi_copy_by_rows(Lower *l, const Copy *c, LExprId rows, LExprId columns)
{
    LExprId zero = tessi_l_int(l, 0), k[2];
    LExprId width = tessi_lower_size(l, tessi_stage(l->g, c->image)->size[1]);
    LExprId left = tessi_l_op(l, OP_SUB, zero, c->first[1]);
    LExprId right = tessi_l_op(l, OP_SUB, width, c->first[1]);
    LExprId from = tessi_l_op(l, OP_MIN, tessi_l_op(l, OP_MAX, left, zero), columns);
    LExprId to = tessi_l_op(l, OP_MAX, tessi_l_op(l, OP_MIN, right, columns), from);
    from = tessi_scope_let(l, "inside_from", from);
    to = tessi_scope_let(l, "inside_to", to);
    k[0] = tessi_lexpr_var(l->p, tessi_scope_for(l, "row", zero, rows, 1, 0));
    Answer a[2] = { answer_of_row(l, c, k[0]) };
    columns_of_row(l, c, k, a, zero, from, false);
    columns_of_row(l, c, k, a, from, to, true);
    columns_of_row(l, c, k, a, to, columns, false);
    tessi_scope_close(l);
}

/* The index along dimension d of element number `element`, the last dimension running fastest. */
static LExprId index_of(Lower *l, const Copy *c, LExprId element, uint8_t d)
{
    static const char *const names[] = { "column", "row", "plane" };
    const uint8_t n = tessi_stage(l->g, c->image)->n_dims, from_last = (uint8_t)(n - 1 - d);
    int64_t within = 1; /* elements of one index */
    for (uint8_t k = (uint8_t)(d + 1); k < n; k++)
        within *= c->size[k];
    if (d)
        element = tessi_l_op(l, OP_FLOORMOD, element, tessi_l_int(l, within * c->size[d]));
    return tessi_scope_let(l, names[from_last < 2 ? from_last : 2],
                           tessi_l_op(l, OP_FLOORDIV, element, tessi_l_int(l, within)));
}

void tessi_copy_by_line(Lower *l, const Copy *c, bool inside)
{
    const uint8_t n = tessi_stage(l->g, c->image)->n_dims;
    int64_t elements = 1;
    for (uint8_t d = 0; d < n; d++)
        elements *= c->size[d];
    LExprId k[MAX_DIMS], element = tessi_kernel_threads(l, 0, "element", elements);
    Answer a[MAX_DIMS];
    for (uint8_t d = 0; d < n; d++) {
        k[d] = index_of(l, c, element, d);
        LExprId at = tessi_l_op(l, OP_ADD, c->first[d], k[d]);
        a[d] = inside || c->whole ? (Answer){ .at = at } : tessi_copy_answer(l, c, d, at);
        if (d + 2 != n || inside || c->whole)
            continue;
        a[d].at = tessi_scope_let(l, "y_at", a[d].at);
        if (a[d].in.v)
            tessi_hint(l, a[d].in, "row_inside");
    }
    put(l, c, k, tessi_copy_element(l, c, a));
    tessi_scope_close(l);
}

/* The last two dimensions are shared out, the others are gone through. */
void tessi_copy_by_block(Lower *l, const Copy *c, uint8_t n_axes, bool inside)
{
    static const char *const names[] = { "column", "row" };
    const uint8_t n = tessi_stage(l->g, c->image)->n_dims;
    const uint32_t depth = tessi_scope_depth(l);
    LExprId k[MAX_DIMS], there = { 0 };
    Answer a[MAX_DIMS];
    for (uint8_t d = 0; d + n_axes < n; d++)
        k[d] = c->size[d] == 1
                   ? tessi_l_int(l, 0)
                   : tessi_lexpr_var(l->p, tessi_scope_for(l, "plane", tessi_l_int(l, 0),
                                                           tessi_l_int(l, c->size[d]), 1, 0));
    for (uint8_t axis = n_axes; axis-- > 0;) {
        const bool has = axis < n;
        const uint8_t d = (uint8_t)(n - 1 - axis);
        LExprId thread = tessi_kernel_threads(l, axis, names[axis], has ? c->size[d] : 1);
        if (has)
            k[d] = thread;
    }
    for (uint8_t d = 0; d < n; d++) {
        LExprId at = tessi_l_op(l, OP_ADD, c->first[d], k[d]);
        a[d] = inside || c->end[d].v || c->whole ? (Answer){ .at = at }
                                                 : tessi_copy_answer(l, c, d, at);
        if (c->end[d].v && !(inside && c->is_own[d]))
            there = tessi_and_also(l, there, tessi_in_range(l, at, tessi_l_int(l, 0), c->end[d]));
    }
    if (there.v)
        tessi_scope_if(l, there);
    put(l, c, k, tessi_copy_element(l, c, a));
    tessi_scope_close_to(l, depth);
}

/* ---- Reading --------------------------------------------------------------------------------- */

static bool reaches(const Graph *g, const Copy *c, const Access *access)
{
    int64_t lo, hi;
    for (int d = 0; d < access->n_dims; d++)
        if (!tessi_access_reach(g, &access->dim[d], d, &lo, &hi) || lo < c->lo[d] || hi > c->hi[d])
            return false;
    return true;
}

static const Copy *copy_for(const Lower *l, const Eval *ev, const Access *access)
{
    const CopyList *list = l->copies;
    bool here = list && tessi_access_moves(access);
    for (uint8_t d = 0; here && d < list->n_dims; d++)
        here = ev->n_dims == list->n_dims && access->n_dims == list->n_dims
               && ev->coord[d].e.v == list->point[d].v;
    for (uint32_t i = 0; here && i < list->n; i++) {
        const Copy *c = &list->at[i];
        if (c->image.v == access->producer.v && !c->whole && tessi_rules_answer(&c->rules, access)
            && (!list->n_dims || reaches(l->g, c, access)))
            return c->dropped ? NULL : c;
    }
    return NULL;
}

bool tessi_copy_serves_all(const Lower *l, const Access *access)
{
    const CopyList *list = l->copies;
    for (uint32_t i = 0; list && list->by_line && i < list->n; i++)
        if (list->at[i].image.v == access->producer.v && !list->at[i].whole)
            return tessi_access_moves(access);
    return false;
}

bool tessi_copy_read(Lower *l, const Eval *ev, const Access *access, CopyRead *out)
{
    const Copy *c = copy_for(l, ev, access);
    LExprId index[MAX_DIMS];
    *out = (CopyRead){ .load = { 0 } };
    if (!c)
        return false;
    for (uint8_t d = 0; d < access->n_dims; d++) {
        LExprId at = tessi_read_affine(l, ev, &access->dim[d]);
        index[d] = tessi_l_op(l, OP_SUB, at, c->first[d]);
        if (c->end[d].v && !(c->is_own[d] && at.v == l->copies->point[d].v))
            out->if_in =
                tessi_and_also(l, out->if_in, tessi_in_range(l, at, c->first[d], c->end[d]));
    }
    if (c->value) {
        out->load = c->value[tessi_lexpr(l->p, index[1])->value.i];
        return true;
    }
    out->load = tessi_lexpr_load(l->p, c->buffer, index, access->n_dims);
    tessi_hint(l, out->load, tessi_stage(l->g, c->image)->name);
    if (l->copies->n_dims && !out->if_in.v)
        tessi_pin(l, out->load, l->tile_depth);
    return true;
}
