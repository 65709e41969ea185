/* front/lower_place: subdomains and compositions: pieces that copy. */
#include "front/lower.h"

/* The value of `producer` at the piece's point: producer dimension d is dimension d + skip of the user, plus add[d]. */
ExprId tessi_lower_copy_load(Lower *l, StageId producer, uint32_t skip, const SizeId *add)
{
    Access a = { .producer = producer, .n_dims = tessi_stage(l->g, producer)->n_dims };
    for (uint32_t d = 0; d < a.n_dims; d++)
        a.dim[d] = (AccessDim){
            .rule = BORDER_INSIDE, .src = (int8_t)(d + skip), .scale = 1, .add = add[d]
        };
    return tessi_expr_load(l->g, tessi_graph_access(l->g, &a));
}

/* max(0, a) and min(n - 1, b), without asking what is known. */
static SizeId at_least_zero(Graph *g, SizeId a)
{
    SizeId zero = tessi_size_const(g, 0);
    return tessi_size_at_most(g, zero, a) ? a : tessi_size_max(g, zero, a);
}

/* The value of `base` at the piece's point, from lo on, at lo in the dimensions that the part does not have. */
static ExprId part_load(Lower *l, StageId base, const bool *drops, const SizeId *lo)
{
    Access a = { .producer = base, .n_dims = tessi_stage(l->g, base)->n_dims };
    int8_t src = 0;
    for (uint32_t d = 0; d < a.n_dims; d++)
        a.dim[d] = (AccessDim){ .rule = BORDER_INSIDE,
                                .src = drops[d] ? (int8_t)-1 : src++,
                                .scale = drops[d] ? 0 : 1,
                                .add = lo[d] };
    return tessi_expr_load(l->g, tessi_graph_access(l->g, &a));
}

static Stage part_stage(Lower *l, const TValue *v, const LValue *out, StageId base,
                        const SizeId *lo)
{
    Stage s = { .kind = STAGE_COMPUTE, .n_dims = v->n_dims };
    for (uint32_t d = 0; d < v->n_dims; d++)
        s.size[d] = out->size[d];
    tessi_lower_whole_piece(l, &s, part_load(l, base, v->drops, lo));
    return s;
}

/* The validity of a value made of parts, as a stage. */
static StageId validity_stage(Lower *l, const TValue *v, Stage *s)
{
    s->type = TYPE_BOOL;
    s->span = v->span;
    s->name = tessi_sprintf(l->a, "%s.valid", v->name ? v->name : "value");
    return tessi_lower_add_stage(l, s);
}

void tessi_lower_subdomain(Lower *l, const TValue *v, LValue *out)
{
    Graph *g = l->g;
    const LValue *base = &l->value[v->base->id];
    SizeId lo[MAX_DIMS], one = tessi_size_const(g, 1);
    uint32_t own = 0;
    for (uint32_t d = 0; d < v->base->n_dims; d++) {
        SizeId end = tessi_size_sub(g, base->size[d], one);
        lo[d] = v->lo[d] ? at_least_zero(g, tessi_lower_size_expr(l, v->lo[d]))
                         : tessi_size_const(g, 0);
        if (v->drops[d]) { /* clipped to the image, as a part is */
            lo[d] = tessi_size_at_most(g, lo[d], end) ? lo[d] : tessi_size_min(g, lo[d], end);
            continue;
        }
        SizeId hi = v->hi[d] ? tessi_size_min(g, end, tessi_lower_size_expr(l, v->hi[d])) : end;
        out->size[own++] = tessi_size_add(g, tessi_size_sub(g, hi, lo[d]), one);
    }
    for (uint32_t k = 0; k < out->n_channels; k++) {
        Stage s = part_stage(l, v, out, base->stage[k], lo);
        out->stage[k] = tessi_lower_new_stage(l, v, k, &s);
    }
    if (base->valid.v) {
        Stage s = part_stage(l, v, out, base->valid, lo);
        out->valid = validity_stage(l, v, &s);
    }
}

/* ---- compositions ---------------------------------------------------------------------------- */
typedef struct LPart {
    Piece piece;
    SizeId extent[MAX_DIMS], add[MAX_DIMS]; /* add: of the read, in the image's dimensions */
} LPart;

/* Of the points of a part with steps, those at first .. n - 1 - missing stay within its extent, n times the step. */
static void drop_outside(int64_t offset, int64_t step, int64_t *first, int64_t *missing)
{
    const int64_t whole = tessi_floordiv(offset, step);
    if (-whole > *first)
        *first = -whole;
    if (whole > *missing)
        *missing = whole;
}

static void place_dim(Lower *l, const TPart *part, uint32_t d, LPart *out)
{
    Graph *g = l->g;
    SizeId one = tessi_size_const(g, 1), zero = tessi_size_const(g, 0);
    SizeId lo = part->lo[d] ? tessi_lower_size_expr(l, part->lo[d]) : zero;
    Piece *p = &out->piece;
    p->step[d] = 1;
    p->offset[d] = lo;
    if (!part->image) {
        SizeId end = tessi_size_add(g, tessi_lower_size_expr(l, part->hi[d]), one);
        p->count[d] = at_least_zero(g, tessi_size_sub(g, end, lo));
        out->extent[d] = end;
        return;
    }
    if (d < part->n_leading) {
        p->count[d] = one;
        out->extent[d] = tessi_size_add(g, lo, one);
        return;
    }
    uint32_t own = d - part->n_leading;
    SizeId n = l->value[part->image->id].size[own];
    int64_t first = 0, missing = 0;
    if (part->computed_only && !tessi_lower_computed(l, part->image, own, &first, &missing))
        return;
    if (part->scaled)
        drop_outside(part->offset[d], part->step[d], &first, &missing);
    p->count[d] = n; /* there are points, but for those that are left out */
    if (first + missing)
        p->count[d] = at_least_zero(g, tessi_size_sub(g, n, tessi_size_const(g, first + missing)));
    out->add[own] = tessi_size_const(g, first);
    if (part->scaled) {
        p->step[d] = part->step[d];
        p->offset[d] = tessi_size_const(g, part->offset[d] + first * part->step[d]);
        out->extent[d] = tessi_size_scale(g, n, part->step[d]);
    } else {
        p->offset[d] = tessi_size_add(g, lo, tessi_size_const(g, first));
        out->extent[d] = tessi_size_add(g, lo, n);
    }
}

/* Leaves out the points beyond a declared size. */
static void clip(Lower *l, SizeId size, uint32_t d, Piece *p)
{
    Graph *g = l->g;
    SizeId room = tessi_size_sub(g, size, p->offset[d]);
    SizeId fits = tessi_size_floordiv(
        g, tessi_size_add(g, room, tessi_size_const(g, p->step[d] - 1)), p->step[d]);
    if (fits.v != p->count[d].v)
        p->count[d] = at_least_zero(g, tessi_size_min(g, p->count[d], fits));
}

/* Nothing runs on an image without points: a part that is as long as the image, or empty, is as long as the image. */
static void cover(Graph *g, SizeId size, uint32_t d, Piece *p)
{
    if (p->step[d] == 1 && p->count[d].v == tessi_size_max(g, tessi_size_const(g, 0), size).v)
        p->count[d] = size;
}

/* The parts' validities; what is filled is valid, and what no part covers is not. */
static void compose_validity(Lower *l, const TValue *v, const LPart *parts, LValue *out)
{
    Stage s = { .kind = STAGE_COMPUTE, .n_dims = v->n_dims };
    bool holes = false;
    for (uint32_t d = 0; d < v->n_dims; d++)
        s.size[d] = out->size[d];
    for (uint32_t i = 0; i < v->parts.n; i++) {
        const TPart *part = &v->parts.at[i];
        const StageId valid = part->image ? l->value[part->image->id].valid : (StageId){ 0 };
        Piece p = parts[i].piece;
        holes |= valid.v != 0;
        p.body = valid.v ? tessi_lower_copy_load(l, valid, part->n_leading, parts[i].add)
                         : tessi_lower_number(l, TYPE_BOOL, 1);
        VEC_PUSH(l->g->arena, &s.pieces, p);
    }
    if (holes)
        out->valid = validity_stage(l, v, &s);
}

void tessi_lower_compose(Lower *l, const TValue *v, LValue *out)
{
    Graph *g = l->g;
    LPart *parts = ARENA_NEW_ARRAY(l->a, LPart, v->parts.n);
    for (uint32_t i = 0; i < v->parts.n; i++) {
        for (uint32_t d = 0; d < v->n_dims; d++) {
            place_dim(l, &v->parts.at[i], d, &parts[i]);
            if (v->declared[d]) {
                out->size[d] = tessi_lower_size_expr(l, v->declared[d]);
                clip(l, out->size[d], d, &parts[i].piece);
                continue;
            }
            out->size[d] =
                i ? tessi_size_max(g, out->size[d], parts[i].extent[d]) : parts[i].extent[d];
        }
    }
    for (uint32_t i = 0; i < v->parts.n; i++)
        for (uint32_t d = 0; d < v->n_dims; d++)
            cover(g, out->size[d], d, &parts[i].piece);
    LBody vector_level = { .epoch = 1, .body_epoch = 1 };
    for (uint32_t k = 0; k < out->n_channels; k++) {
        Stage s = { .kind = STAGE_COMPUTE, .n_dims = v->n_dims };
        for (uint32_t d = 0; d < v->n_dims; d++)
            s.size[d] = out->size[d];
        for (uint32_t i = 0; i < v->parts.n; i++) {
            const TPart *part = &v->parts.at[i];
            Piece p = parts[i].piece;
            p.body = part->image ? tessi_lower_copy_load(l, l->value[part->image->id].stage[k],
                                                         part->n_leading, parts[i].add)
                                 : tessi_lower_expr(l, &vector_level, part->fill, k);
            VEC_PUSH(g->arena, &s.pieces, p);
        }
        out->stage[k] = tessi_lower_new_stage(l, v, k, &s);
    }
    compose_validity(l, v, parts, out);
}
