/* The lines of an image along one of its dimensions: loops over them and coordinates in them. */
#include "loop/lower_lines.h"

enum {
    ROWS_BESIDE =
        8,          /* lines along rows that are computed together, so that none waits for itself */
    STRIP_STEP = 64 /* strips of equal shares are multiples of it wide */
};

static void add_dim(Lines *lines, LExprId to, SizeId count, uint8_t from)
{
    Nest *nest = &lines->nest;
    nest->to[nest->n_dims] = to;
    nest->count[nest->n_dims] = count;
    lines->from[nest->n_dims++] = from;
}

/* As many lines for each strip as make their number a multiple of the shares, and whole lines of the cache. */
static LExprId equal_strips(Lower *l, LExprId lines, uint16_t most, uint16_t shares)
{
    const LExprId strips = tessi_kernel_blocks(l, lines, (int64_t)most * shares),
                  all = tessi_l_op(l, OP_MUL, strips, tessi_l_int(l, shares)),
                  up = tessi_l_op(l, OP_SUB, tessi_l_op(l, OP_ADD, lines, all), tessi_l_int(l, 1)),
                  each = tessi_l_op(l, OP_FLOORDIV, up, all);
    return tessi_l_op(l, OP_MUL, tessi_kernel_blocks(l, each, STRIP_STEP),
                      tessi_l_int(l, STRIP_STEP));
}

LExprId tessi_lines_strips(Lower *l, const Lines *lines)
{
    const LExprId less = tessi_l_op(l, OP_SUB, lines->wide, tessi_l_int(l, 1)),
                  up = tessi_l_op(l, OP_ADD, lines->source.to[lines->lane], less);
    return tessi_l_op(l, OP_FLOORDIV, up, lines->wide);
}

static void take_lines(Lower *l, const Stage *source, uint16_t beside, uint16_t shares,
                       uint16_t few, Lines *out)
{
    const int last = source->n_dims - 1;
    const uint8_t dim = out->dim;
    tessi_nest_whole(l, source, &out->source);
    if (few) {
        out->lane = (int8_t)last;
        out->lanes = few;
        out->wide = tessi_l_int(l, few);
        out->middle = (int8_t)(last - 1);
        out->many = beside / few;
    } else if (beside && last > 0) {
        out->lane = (int8_t)(dim == last ? last - 1 : last);
        out->lanes = dim == last ? ROWS_BESIDE : beside;
        out->wide = dim == last || shares < 2
                        ? tessi_l_int(l, out->lanes)
                        : equal_strips(l, out->source.to[last], beside, shares);
    }
    for (uint8_t d = 0; d < source->n_dims; d++)
        if (d != dim && d != out->lane && d != out->middle)
            add_dim(out, out->source.to[d], source->size[d], d);
    if (few)
        add_dim(out, tessi_kernel_blocks(l, out->source.to[out->middle], out->many),
                source->size[out->middle], (uint8_t)out->middle);
    else if (out->lanes)
        add_dim(out, tessi_lines_strips(l, out), source->size[out->lane], (uint8_t)out->lane);
    add_dim(out, tessi_l_int(l, 1), source->size[dim], dim);
    for (uint8_t d = 0; d < out->nest.n_dims; d++)
        out->nest.from[d] = tessi_l_int(l, 0);
}

void tessi_lines(Lower *l, const Stage *source, uint8_t dim, uint16_t beside, uint16_t shares,
                 Lines *out)
{
    *out = (Lines){ .dim = dim, .lane = -1, .middle = -1, .many = 1 };
    take_lines(l, source, beside, shares, 0, out);
}

void tessi_lines_together(Lower *l, const Stage *source, uint8_t dim, uint16_t beside,
                          uint16_t shares, Lines *out)
{
    int64_t n;
    const int last = source->n_dims - 1;
    const bool few = dim + 1 < last && tessi_size_is_const(l->g, source->size[last], &n) && n > 0
                     && 2 * n <= beside;
    *out = (Lines){ .dim = dim, .lane = -1, .middle = -1, .many = 1 };
    take_lines(l, source, beside, shares, few ? (uint16_t)n : 0, out);
}

static void take(const Lines *lines, const Coord *own, Coord *coord)
{
    for (uint8_t d = 0; d + 1 < lines->nest.n_dims; d++)
        if (!lines->lanes || (lines->from[d] != lines->lane && lines->from[d] != lines->middle))
            coord[lines->from[d]] = tessi_nest_coord(&lines->source, lines->from[d], own[d].e);
}

LExprId tessi_lines_open(Lower *l, const Lines *lines, bool parallel, Coord *coord)
{
    const uint8_t outer = (uint8_t)(lines->nest.n_dims - 1);
    Coord own[MAX_DIMS] = { { .dim = -1 } };
    if (outer)
        tessi_nest_rows(l, &lines->nest, own, parallel ? LFOR_PARALLEL : 0);
    take(lines, own, coord);
    return outer && lines->lanes ? own[outer - 1].e : (LExprId){ 0 };
}

void tessi_lines_number(Lower *l, const Lines *lines, LExprId number, Coord *coord)
{
    Coord own[MAX_DIMS] = { { .dim = -1 } };
    tessi_nest_row_coords(l, &lines->nest, number, own);
    take(lines, own, coord);
}

LExprId tessi_lines_count(Lower *l, const Lines *lines)
{
    return tessi_nest_row_count(l, &lines->nest);
}

void tessi_lines_lane(const Lines *lines, LExprId x, Coord *coord)
{
    coord[lines->lane] = tessi_nest_coord(&lines->source, (uint8_t)lines->lane, x);
}

void tessi_lines_middle(const Lines *lines, LExprId m, Coord *coord)
{
    if (lines->middle >= 0)
        coord[lines->middle] = tessi_nest_coord(&lines->source, (uint8_t)lines->middle, m);
}

void tessi_lines_point(const Lines *lines, LExprId i, Coord *coord)
{
    coord[lines->dim] = tessi_nest_coord(&lines->source, lines->dim, i);
}

void tessi_lines_store(Lower *l, const Lines *lines, StageId id, const Coord *coord, LExprId value)
{
    const Stage *s = tessi_stage(l->g, id);
    LExprId part[MAX_DIMS + 1];
    for (uint8_t d = 0; d < lines->source.n_dims; d++) {
        const int own = tessi_stage_from_source(s, d);
        if (own >= 0)
            part[own] = coord[d].e;
    }
    part[s->n_dims] = value;
    tessi_scope_place(l, part, s->n_dims + 1u);
    tessi_scope_store(l, l->buffer[id.v], part, s->n_dims, part[s->n_dims]);
}
