/* Reads: what index a read has, whether it is certainly inside, and the border rules as arithmetic on indices.
 *
 * A read is inside because the sizes prove it, because the graph promises it (INSIDE), or because the loops being
 * built were cut so that a guard holds. Any other read is answered by its rule, exactly, for every distance. */
#include "loop/lower_copy.h"
#include "loop/lower_nest.h"
#include "plan/needs.h"

/* ---- Coordinates ----------------------------------------------------------------------------- */

/* The variable of an open window that is written out point by point is a constant. */
static bool at_point(const Lower *l, const Eval *ev, const AccessTerm *t, int64_t *at)
{
    for (uint32_t i = ev ? ev->open.n : 0; i-- > 0;) {
        if (ev->open.at[i].window.v != t->window.v)
            continue;
        if (ev->open.at[i].is_point)
            *at = tessi_lexpr(l->p, ev->open.at[i].var[t->var])->value.i;
        return ev->open.at[i].is_point;
    }
    return false;
}

/* The coordinate of an affine read, without its expression; for all points of windows where `ev` is NULL. */
static Coord affine_coord(const Lower *l, const Eval *ev, const Coord *coord, const AccessDim *d)
{
    Coord c = { .dim = -1, .rest = tessi_lin_size(l->g, d->add) };
    int64_t lo = c.rest.constant, hi = c.rest.constant, x;
    bool ok = c.rest.ok;
    c.rest.constant = 0;
    if (d->src >= 0) {
        const Coord *base = &coord[d->src];
        int64_t at_lo = d->scale < 0 ? base->hi : base->lo;
        int64_t at_hi = d->scale < 0 ? base->lo : base->hi;
        c.dim = base->dim;
        c.count = base->count;
        c.beyond = base->beyond;
        c.loose = base->loose;
        c.less = base->less;
        c.rest = tessi_lin_add_scaled(&c.rest, &base->rest, d->scale);
        ok = ok && c.rest.ok && tessi_mul_i64(base->scale, d->scale, &c.scale)
             && tessi_mul_i64(at_lo, d->scale, &x) && tessi_add_i64(lo, x, &lo)
             && tessi_mul_i64(at_hi, d->scale, &x) && tessi_add_i64(hi, x, &hi);
    }
    for (int t = 0; t < d->n_terms; t++) {
        const AccessTerm *term = &d->term[t];
        const Window *w = tessi_window(l->g, term->window);
        int64_t from = w->lo[term->var], to = w->hi[term->var];
        if (at_point(l, ev, term, &from))
            to = from;
        const int64_t a = from * term->coef, b = to * term->coef;
        ok = ok && tessi_add_i64(lo, a < b ? a : b, &lo) && tessi_add_i64(hi, a < b ? b : a, &hi);
    }
    c.lo = lo;
    c.hi = hi;
    c.rest.ok = ok;
    return c;
}

static LExprId window_var(const Eval *ev, const AccessTerm *t)
{
    for (uint32_t i = ev->open.n; i-- > 0;)
        if (ev->open.at[i].window.v == t->window.v)
            return ev->open.at[i].var[t->var];
    return (LExprId){ 0 };
}

LExprId tessi_read_affine(Lower *l, const Eval *ev, const AccessDim *d)
{
    LExprId e = tessi_l_int(l, 0);
    if (d->src >= 0)
        e = tessi_l_op(l, OP_MUL, ev->coord[d->src].e, tessi_l_int(l, d->scale));
    for (int t = 0; t < d->n_terms; t++) {
        LExprId v =
            tessi_l_op(l, OP_MUL, window_var(ev, &d->term[t]), tessi_l_int(l, d->term[t].coef));
        e = tessi_l_op(l, OP_ADD, e, v);
    }
    Lin add = tessi_lin_size(l->g, d->add);
    return tessi_l_op(l, OP_ADD, e,
                      add.ok ? tessi_lower_lin(l, &add) : tessi_lower_size(l, d->add));
}

/* ---- Inside? --------------------------------------------------------------------------------- */

static bool proved_inside(const Lower *l, const Coord *c, SizeId size)
{
    Lin first = c->rest, last = c->rest; /* least and greatest value, less lo and hi */
    if (!c->rest.ok || c->beyond || c->loose)
        return false;
    if (c->scale) {
        Lin count = tessi_lin_size(l->g, c->count);
        count.ok = count.ok && tessi_sub_i64(count.constant, 1 + c->less, &count.constant);
        Lin *moved = c->scale > 0 ? &last : &first;
        *moved = tessi_lin_add_scaled(moved, &count, c->scale);
    }
    Lin room = tessi_lin_size(l->g, size);
    room = tessi_lin_add_scaled(&room, &last, -1);
    first.ok = first.ok && tessi_add_i64(first.constant, c->lo, &first.constant);
    room.ok = room.ok && tessi_sub_i64(room.constant, c->hi, &room.constant)
              && tessi_sub_i64(room.constant, 1, &room.constant);
    return tessi_lin_never_negative(l->g, &first) && tessi_lin_never_negative(l->g, &room);
}

static bool can_guard(const Lower *l, const Coord *c)
{
    if (c->dim < 0 || !c->scale || !c->rest.ok)
        return false;
    return l->side[c->dim] == SIDE_NEITHER
           || (c->dim == l->n_loop_dims - 1 ? l->inside_last : l->inside_rows);
}

/* The one side on which the read may leave the image, by no more than the image is wide. */
static Side one_side(const Lower *l, const Coord *c, SizeId size)
{
    const bool can = c->dim >= 0 && c->scale > 0 && c->rest.ok && !c->beyond && !c->loose;
    if (!can)
        return SIDE_BOTH;
    const Side side = l->side[c->dim];
    const bool near = !c->rest.n && !c->rest.constant;
    const bool clear =
        (side == SIDE_LOW && near && c->lo >= 0)
        || (side == SIDE_HIGH && near && c->hi <= 0 && c->scale == 1 && c->count.v == size.v);
    return clear ? SIDE_NEITHER : side;
}

/* A coordinate of which no more is known than that it is inside. */
static Coord opaque_coord(LExprId e, SizeId size)
{
    return (Coord){ .e = e, .dim = -1, .scale = 1, .rest = tessi_lin_const(0), .count = size };
}

/* ---- Rules ----------------------------------------------------------------------------------- */

static LExprId clamp_expr(Lower *l, LExprId i, LExprId last)
{
    return tessi_l_op(l, OP_MIN, tessi_l_op(l, OP_MAX, i, tessi_l_int(l, 0)), last);
}

/* Index i of a line of n points answered by the rule; for CONSTANT some point inside. The same function as
 * tessi_border_index of base. */
LExprId tessi_border_expr(Lower *l, Border rule, LExprId i, LExprId n)
{
    LExprId last = tessi_l_op(l, OP_SUB, n, tessi_l_int(l, 1));
    if (rule == BORDER_WRAP)
        return tessi_l_op(l, OP_FLOORMOD, i, n);
    if (rule == BORDER_MIRROR || rule == BORDER_REFLECT) {
        /* Going up and down again takes `period` steps; the way down starts at period - (mirror: 0, reflect: 1). */
        LExprId twice = tessi_l_op(l, OP_MUL, n, tessi_l_int(l, 2));
        LExprId period = twice;
        if (rule == BORDER_MIRROR) /* a line of one point has period 1 */
            period = tessi_l_op(l, OP_MAX, tessi_l_op(l, OP_SUB, twice, tessi_l_int(l, 2)),
                                tessi_l_int(l, 1));
        tessi_hint(l, period, "period");
        LExprId up = tessi_l_op(l, OP_FLOORMOD, i, period);
        LExprId down = tessi_l_op(l, OP_SUB, period, up);
        if (rule == BORDER_REFLECT)
            down = tessi_l_op(l, OP_SUB, down, tessi_l_int(l, 1));
        return tessi_l_op(l, OP_MIN, up, down);
    }
    return clamp_expr(l, i, last);
}

/* The same where i leaves the line on one side alone, and rules that look back into it find a point at once. */
static LExprId border_of_side(Lower *l, Border rule, Side side, LExprId i, LExprId n)
{
    const bool low = side == SIDE_LOW;
    LExprId zero = tessi_l_int(l, 0), one = tessi_l_int(l, 1);
    LExprId last = tessi_l_op(l, OP_SUB, n, one);
    if (rule == BORDER_WRAP) {
        LExprId other = tessi_l_op(l, low ? OP_ADD : OP_SUB, i, n);
        LExprId out = low ? tessi_l_op(l, OP_LT, i, zero) : tessi_l_op(l, OP_LE, n, i);
        return tessi_l_select(l, out, other, i);
    }
    if (rule == BORDER_MIRROR || rule == BORDER_REFLECT) {
        /* Mirrored, 0 stands beside 0 + 0, and last beside last + last; reflected, between two points. */
        LExprId between = tessi_l_int(l, rule == BORDER_REFLECT);
        LExprId sum = low ? tessi_l_op(l, OP_SUB, zero, between)
                          : tessi_l_op(l, OP_ADD, tessi_l_op(l, OP_ADD, last, last), between);
        return tessi_l_op(l, low ? OP_MAX : OP_MIN, i, tessi_l_op(l, OP_SUB, sum, i));
    }
    return low ? tessi_l_op(l, OP_MAX, i, zero) : tessi_l_op(l, OP_MIN, i, last);
}

LExprId tessi_in_range(Lower *l, LExprId i, LExprId from, LExprId end)
{
    return tessi_l_op(l, OP_AND, tessi_l_op(l, OP_LE, from, i), tessi_l_op(l, OP_LT, i, end));
}

/* Index i is inside, of which one or both ends are to be asked. */
static LExprId in_image(Lower *l, Side side, LExprId i, LExprId n)
{
    LExprId zero = tessi_l_int(l, 0);
    return side == SIDE_LOW    ? tessi_l_op(l, OP_LE, zero, i)
           : side == SIDE_HIGH ? tessi_l_op(l, OP_LT, i, n)
                               : tessi_in_range(l, i, zero, n);
}

LExprId tessi_and_also(Lower *l, LExprId a, LExprId b)
{
    return a.v ? tessi_l_op(l, OP_AND, a, b) : b;
}

/* "y_m1": the wanted name of an answered index. */
static const char *index_name(Lower *l, const Coord *c)
{
    if (c->dim < 0)
        return "at";
    const char *dim = tessi_dim_name(l->n_loop_dims, (uint8_t)c->dim);
    if (c->scale != 1 || c->rest.n || c->lo != c->hi)
        return tessi_sprintf(l->arena, "%s_at", dim);
    return tessi_sprintf(l->arena, "%s_%c%lld", dim, c->lo < 0 ? 'm' : 'p',
                         (long long)(c->lo < 0 ? -c->lo : c->lo));
}

static bool is_loose(const Eval *ev)
{
    bool loose = false;
    for (int d = 0; d < ev->n_dims; d++)
        loose = loose || ev->coord[d].loose;
    return loose;
}

/* A stage of the reader's size is read at the point itself: it is there where its reader is. */
static bool at_reader(const Lower *l, const Eval *ev, const AccessDim *d, SizeId size)
{
    int64_t distance;
    return d->src >= 0 && tessi_access_distance(l->g, d, d->src, &distance) && distance == 0
           && ev->coord[d->src].count.v == size.v;
}

bool tessi_read_goes_beyond(const Lower *l, const Access *access, int d, bool beyond)
{
    const AccessDim *dim = &access->dim[d];
    return l->place[access->producer.v].wraps[d] && !dim->absolute
           && (dim->rule == BORDER_WRAP || (dim->rule == BORDER_INSIDE && beyond));
}

/* What the read rests on lies in shared memory, where a place that no tile holds may be what a rule answers far beyond
 * an edge. */
static bool rests_on_tiles(Lower *l, StageId producer)
{
    Needs needs = { 0 };
    if (tessi_plan_is_inline(l->plan, producer))
        tessi_needs(tessi_lower_facts(l), l->arena, l->plan, &producer, 1, &needs);
    else
        VEC_PUSH(l->arena, &needs.stored, producer);
    VEC_FOREACH (const StageId, id, &needs.stored) {
        const LBufferId scratch = l->place[id->v].scratch;
        if (scratch.v && !l->p->buffers.at[scratch.v].held)
            return true;
    }
    return false;
}

/* The same read from the nearest point that is there: what is read without a rule is there, and rules lead what is far
 * beyond an edge to places that no tile and no copy holds. Else the rule answers wherever it is, as it does for the
 * points beside, which then have what they read in common. */
static bool wants_nearest(Lower *l, const Access *access, const AccessDim *dim)
{
    return dim->rule == BORDER_INSIDE || l->copies || rests_on_tiles(l, access->producer);
}

static LExprId affine_from_nearest(Lower *l, const Eval *ev, const AccessDim *dim)
{
    if (dim->src < 0)
        return tessi_read_affine(l, ev, dim);
    Eval nearest = *ev;
    Coord *c = &nearest.coord[dim->src];
    c->e = tessi_border_expr(l, BORDER_CLAMP, c->e, tessi_lower_size(l, c->count));
    return tessi_read_affine(l, &nearest, dim);
}

/* From here on all wraps around, at any distance: the point is none of which no more is known than that it may lie
 * anywhere, and what is read from it is not answered from the nearest one. */
static Coord wrapping_coord(Lower *l, const Eval *ev, const Access *access, const AccessDim *dim,
                            const Coord *at)
{
    Coord c = *at;
    if (c.loose && wants_nearest(l, access, dim))
        c.e = affine_from_nearest(l, ev, dim);
    c.beyond = true;
    c.loose = false;
    return c;
}

void tessi_read(Lower *l, const Eval *ev, const Access *access, Read *out)
{
    *out = (Read){ .guarded = ev->pinned };
    const Stage *producer = tessi_stage(l->g, access->producer);
    const Place *place = &l->place[access->producer.v];
    for (int d = 0; d < access->n_dims; d++) {
        const AccessDim *dim = &access->dim[d];
        SizeId size = producer->size[d];
        Coord c;
        if (dim->absolute) {
            LExprId index = { *tessi_eval_cell(ev, dim->index) };
            c = opaque_coord(tessi_lexpr_cast(l->p, TYPE_INDEX, index), size);
            if (dim->rule == BORDER_INSIDE && !is_loose(ev)) {
                out->at[d] = c;
                continue;
            }
        } else {
            c = affine_coord(l, ev, ev->coord, dim);
            c.e = tessi_read_affine(l, ev, dim);
            if (place->scratch.v || place->passes[d]) {
                c.beyond = place->wraps[d];
                out->at[d] = c;
                continue;
            }
            if (tessi_read_goes_beyond(l, access, d, c.beyond)) {
                out->at[d] = wrapping_coord(l, ev, access, dim, &c);
                continue;
            }
            if ((dim->rule == BORDER_INSIDE && !c.beyond && !c.loose) || proved_inside(l, &c, size)
                || (c.loose && tessi_plan_is_inline(l->plan, access->producer)
                    && at_reader(l, ev, dim, size))) {
                out->at[d] = c;
                continue;
            }
            if (can_guard(l, &c) || one_side(l, &c, size) == SIDE_NEITHER) {
                out->at[d] = c;
                out->guarded = true;
                continue;
            }
            if (c.loose && wants_nearest(l, access, dim))
                c.e = affine_from_nearest(l, ev, dim);
        }
        LExprId n = tessi_lower_size(l, size);
        const Side side = dim->absolute ? SIDE_BOTH : one_side(l, &c, size);
        if (dim->rule == BORDER_CONSTANT && !c.beyond)
            out->in = tessi_and_also(l, out->in, in_image(l, side, c.e, n));
        LExprId e = side == SIDE_BOTH
                        ? tessi_border_expr(l, c.beyond ? BORDER_WRAP : dim->rule, c.e, n)
                        : border_of_side(l, dim->rule, side, c.e, n);
        out->guarded = out->guarded || side != SIDE_BOTH;
        tessi_hint(l, e, index_name(l, &c));
        if (out->in.v)
            tessi_hint(l, out->in, "in");
        out->at[d] = opaque_coord(e, size);
    }
}

/* ---- Guards ---------------------------------------------------------------------------------- */

static void add_guard(Lower *l, GuardList *list, const Coord *c, SizeId size, Border rule)
{
    VEC_FOREACH (Guard, g, list) {
        if (g->dim != c->dim || g->scale != c->scale || g->size.v != size.v
            || !tessi_lin_same(&g->rest, &c->rest))
            continue;
        g->lo = c->lo < g->lo ? c->lo : g->lo;
        g->hi = c->hi > g->hi ? c->hi : g->hi;
        g->is_constant = g->is_constant || rule == BORDER_CONSTANT;
        return;
    }
    Guard g = { .dim = c->dim,
                .scale = c->scale,
                .lo = c->lo,
                .hi = c->hi,
                .rest = c->rest,
                .size = size,
                .is_constant = rule == BORDER_CONSTANT };
    VEC_PUSH(l->arena, list, g);
}

static void guards_of_load(Lower *l, const Access *access, const Coord *coord, GuardList *out)
{
    const Stage *producer = tessi_stage(l->g, access->producer);
    const Place *place = &l->place[access->producer.v];
    Coord at[MAX_DIMS];
    if (tessi_copy_serves_all(l, access))
        return;
    for (int d = 0; d < access->n_dims; d++) {
        const AccessDim *dim = &access->dim[d];
        at[d] = opaque_coord((LExprId){ 0 }, producer->size[d]);
        if (dim->absolute || place->scratch.v)
            continue;
        Coord c = affine_coord(l, NULL, coord, dim);
        if (tessi_read_goes_beyond(l, access, d, c.beyond)) {
            c.beyond = true;
            at[d] = c;
            continue;
        }
        bool inside =
            (dim->rule == BORDER_INSIDE && !c.beyond) || proved_inside(l, &c, producer->size[d]);
        if (!inside && !can_guard(l, &c))
            continue;
        at[d] = c;
        if (!inside)
            add_guard(l, out, &c, producer->size[d], dim->rule);
    }
    if (tessi_plan_is_inline(l->plan, access->producer))
        tessi_read_guards(l, &producer->pieces.at[0].body, 1, at, out);
}

void tessi_read_guards(Lower *l, const ExprId *roots, uint32_t n, const Coord *coord,
                       GuardList *out)
{
    ExprList list = tessi_reach(l, roots, n);
    for (uint32_t i = 0; i < list.n; i++) {
        const Expr *e = tessi_expr(l->g, list.at[i]);
        if (e->kind == EXPR_LOAD)
            guards_of_load(l, tessi_access(l->g, e->access), coord, out);
    }
}

static LExprId ceil_div(Lower *l, LExprId a, int64_t d)
{
    return tessi_l_op(l, OP_FLOORDIV, tessi_l_op(l, OP_ADD, a, tessi_l_int(l, d - 1)),
                      tessi_l_int(l, d));
}

void tessi_guard_range(Lower *l, const GuardList *guards, int8_t dim, LExprId *from, LExprId *to)
{
    LExprId lo = *from, hi = *to, one = tessi_l_int(l, 1);
    bool any = false;
    VEC_FOREACH (const Guard, g, guards) {
        if (g->dim != dim)
            continue;
        any = true;
        LExprId rest = tessi_lower_lin(l, &g->rest);
        LExprId least = tessi_l_op(l, OP_ADD, rest, tessi_l_int(l, g->lo));
        LExprId most = tessi_l_op(l, OP_ADD, rest, tessi_l_int(l, g->hi));
        /* 0 <= s*v + least  and  s*v + most <= last */
        LExprId last = tessi_l_op(l, OP_SUB, tessi_lower_size(l, g->size), one);
        LExprId below = tessi_l_op(l, OP_SUB, tessi_l_int(l, 0), least);
        LExprId above = tessi_l_op(l, OP_SUB, last, most);
        int64_t s = g->scale;
        if (s < 0) { /* -s*v <= least  and  most - last <= -s*v */
            LExprId swap = tessi_l_op(l, OP_SUB, tessi_l_int(l, 0), above);
            above = least;
            below = swap;
            s = -s;
        }
        LExprId end = tessi_l_op(l, OP_FLOORDIV, above, tessi_l_int(l, s));
        lo = tessi_l_op(l, OP_MAX, lo, ceil_div(l, below, s));
        hi = tessi_l_op(l, OP_MIN, hi, tessi_l_op(l, OP_ADD, end, one));
    }
    if (!any)
        return;
    if (lo.v != from->v)
        *from = tessi_l_op(l, OP_MIN, lo, *to);
    *to = tessi_l_op(l, OP_MAX, hi, *from);
}
