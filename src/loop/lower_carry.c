/* Stages in registers. The rows of a nest are cut into bands; in the interior of a band a loop over vectors of
 * columns has inside it a loop that goes down the rows in steps. What a step computes of such a stage and the next
 * reads again stays in variables between the two, so the loop begins with the rows above its first and every other
 * row is computed once.
 *
 * Rows that are no whole step begin a second such loop at the end of the band, which computes some rows again. Rows
 * whose reads need rules, and the columns beside the interior, are computed as in any other nest, from inlined
 * stages. */
#include "loop/lower_nest.h"
#include "loop/lower_window.h"

typedef struct Band {
    Lower *l;
    const Nest *nest;
    uint8_t row, last;
    Coord coord[MAX_DIMS]; /* of the dimensions before the rows */
    LExprId from, to;      /* its rows */
} Band;

/* ---- Values carried -------------------------------------------------------------------------- */

uint32_t tessi_carry_count(const Nest *nest)
{
    int64_t n = 0;
    VEC_FOREACH (const PlanCarry, c, nest->carries)
        n += c->hi - c->lo;
    return (uint32_t)n;
}

/* Where value i of a step is whose first row is `down` rows above `coord`. */
static StageId place_of(Lower *l, const Nest *nest, uint32_t i, const Coord *coord, int64_t down,
                        Coord *at)
{
    const PlanCarry *c = nest->carries->at;
    for (; i >= (uint32_t)(c->hi - c->lo); c++)
        i -= (uint32_t)(c->hi - c->lo);
    const int64_t offset[2] = { c->lo + i - down, c->dx };
    for (uint8_t d = 0; d < nest->n_dims; d++) {
        at[d] = coord[d];
        if (d + 2 < nest->n_dims)
            continue;
        const int64_t by = offset[d + 2 - nest->n_dims];
        at[d].e = tessi_l_op(l, OP_ADD, coord[d].e, tessi_l_int(l, by));
        at[d].lo = at[d].hi = by;
    }
    return c->stage;
}

void tessi_carry_next(Lower *l, const Nest *nest, const Coord *last, LExprId *out)
{
    const uint32_t n = tessi_carry_count(nest);
    Coord at[MAX_DIMS];
    for (uint32_t i = 0; i < n; i++) { /* of the next step, from the last row of this one */
        const StageId stage = place_of(l, nest, i, last, -1, at);
        out[i] = tessi_eval_stage(l, stage, at, false);
    }
}

void tessi_carry_set(Lower *l, const Nest *nest, const LExprId *value)
{
    const uint32_t n = tessi_carry_count(nest);
    for (uint32_t i = 0; i < n; i++)
        tessi_lower_set(l, l->carried[i], value[i]);
}

/* The variables, with what the first step finds in them; it begins at `coord`. */
static LVarId *first_values(Lower *l, const Nest *nest, const Coord *coord)
{
    const uint32_t n = tessi_carry_count(nest);
    LVarId *vars = ARENA_NEW_ARRAY(l->arena, LVarId, n);
    LExprId *value = ARENA_NEW_ARRAY(l->arena, LExprId, n);
    Coord at[MAX_DIMS];
    for (uint32_t i = 0; i < n; i++) {
        const StageId stage = place_of(l, nest, i, coord, 0, at);
        value[i] = tessi_eval_stage(l, stage, at, false);
    }
    tessi_scope_place(l, value, n);
    for (uint32_t i = 0; i < n; i++) {
        const StageId stage = place_of(l, nest, i, coord, 0, at);
        const char *name = tessi_sprintf(l->arena, "%s_carried", tessi_stage(l->g, stage)->name);
        vars[i] = tessi_scope_var(l, name, tessi_lexpr(l->p, value[i])->type, value[i]);
    }
    return vars;
}

/* What a step finds in them, under names of its own: they change at its end. */
static void take_values(Lower *l, const Nest *nest, const Coord *coord)
{
    const uint32_t n = tessi_carry_count(nest);
    Coord at[MAX_DIMS];
    for (uint32_t i = 0; i < n; i++) {
        const StageId stage = place_of(l, nest, i, coord, 0, at);
        const LExprId var = tessi_lexpr_var(l->p, l->carried[i]);
        tessi_eval_is(l, stage, at, tessi_scope_let(l, tessi_eval_name(l, stage, at), var));
    }
}

/* ---- Loops ----------------------------------------------------------------------------------- */

/* One step: rows from y on. */
static void step(const Band *b, LExprId y, LExprId x)
{
    Coord coord[PLAN_MAX_ROWS][MAX_DIMS];
    for (uint32_t r = 0; r < b->nest->rows; r++) {
        for (uint8_t d = 0; d < b->row; d++)
            coord[r][d] = b->coord[d];
        coord[r][b->row] =
            tessi_nest_coord(b->nest, b->row, tessi_l_op(b->l, OP_ADD, y, tessi_l_int(b->l, r)));
        coord[r][b->last] = tessi_nest_coord(b->nest, b->last, x);
    }
    take_values(b->l, b->nest, coord[0]);
    b->nest->block(b->l, b->nest, coord, b->nest->rows);
}

static LVarId open_steps(const Band *b, LExprId from, LExprId to)
{
    return tessi_scope_for(b->l, tessi_dim_name(b->nest->n_dims, b->row), from, to, b->nest->rows,
                           0);
}

/* The interior of the rows [from, to), whole steps. */
static void go_down(const Band *b, const Bounds *inside, LExprId from, LExprId to)
{
    Lower *l = b->l;
    const Nest *nest = b->nest;
    Coord coord[MAX_DIMS];
    LVarId x = tessi_scope_for(l, tessi_dim_name(nest->n_dims, b->last), inside->from, inside->to,
                               1, nest->vector ? LFOR_SIMD : 0);
    LStmt *loop = l->scopes.at[tessi_scope_depth(l)].stmt;
    l->inside_last = l->inside_rows = true;
    l->guard_depth = tessi_scope_depth(l);
    loop->least = nest->vector ? inside->columns : 0;
    if (nest->vector)
        loop->vectors = nest->columns;
    for (uint8_t d = 0; d < b->row; d++)
        coord[d] = b->coord[d];
    coord[b->row] = tessi_nest_coord(nest, b->row, from);
    coord[b->last] = tessi_nest_coord(nest, b->last, tessi_lexpr_var(l->p, x));
    l->carried = first_values(l, nest, coord);
    LVarId y = open_steps(b, from, to);
    step(b, tessi_lexpr_var(l->p, y), tessi_lexpr_var(l->p, x));
    tessi_scope_close(l);
    l->carried = NULL;
    tessi_scope_close(l);
}

/* The rows [from, to), of which there are as many as in a step or more. */
static void whole_rows(Band *b, const Bounds *inside, LExprId from, LExprId to)
{
    Lower *l = b->l;
    LExprId n = tessi_l_int(l, b->nest->rows), one = tessi_l_int(l, 1);
    LExprId steps = tessi_l_op(l, OP_FLOORDIV, tessi_l_op(l, OP_SUB, to, from), n);
    LExprId end = tessi_l_op(l, OP_ADD, from, tessi_l_op(l, OP_MUL, steps, n));
    end = tessi_scope_let(l, "steps_to", end);
    LExprId parts = tessi_l_select(l, tessi_l_op(l, OP_LT, end, to), tessi_l_int(l, 2), one);
    LVarId part = tessi_scope_for(l, "part", tessi_l_int(l, 0), parts, 1, 0);
    LExprId is_first = tessi_l_op(l, OP_EQ, tessi_lexpr_var(l->p, part), tessi_l_int(l, 0));
    from = tessi_scope_let(l, "part_from",
                           tessi_l_select(l, is_first, from, tessi_l_op(l, OP_SUB, to, n)));
    to = tessi_scope_let(l, "part_to", tessi_l_select(l, is_first, end, to));
    if (inside->any) {
        LExprId y = tessi_lexpr_var(l->p, open_steps(b, from, to));
        l->inside_rows = true;
        tessi_nest_edges_of_block(l, b->nest, inside, b->coord, y, tessi_l_op(l, OP_ADD, y, n));
        tessi_scope_close(l);
    }
    go_down(b, inside, from, to);
    tessi_scope_close(l);
}

/* The rows of the band before [from, to) and after it, one at a time. */
static void rows_around(Band *b, const Bounds *single, LExprId from, LExprId to)
{
    Lower *l = b->l;
    LVarId side = tessi_scope_for(l, "side", tessi_l_int(l, 0), tessi_l_int(l, 2), 1, 0);
    LExprId is_first = tessi_l_op(l, OP_EQ, tessi_lexpr_var(l->p, side), tessi_l_int(l, 0));
    l->inside_rows = single->rows;
    tessi_nest_single_rows(l, b->nest, b->coord, tessi_l_select(l, is_first, b->from, to),
                           tessi_l_select(l, is_first, from, b->to));
    tessi_nest_split_line(l, b->nest, b->coord, single);
    tessi_scope_close(l);
    tessi_scope_close(l);
}

/* Opens the loop over bands, one for all planes. */
static void open_bands(Band *b)
{
    Lower *l = b->l;
    const Nest *nest = b->nest;
    LExprId begin = nest->from[b->row], end = nest->to[b->row];
    LExprId size = tessi_l_int(l, nest->band), up = tessi_l_int(l, nest->band - 1);
    LExprId extent = tessi_l_op(l, OP_MAX, tessi_l_op(l, OP_SUB, end, begin), tessi_l_int(l, 0));
    LExprId bands = tessi_l_op(l, OP_FLOORDIV, tessi_l_op(l, OP_ADD, extent, up), size);
    LExprId total = bands;
    for (uint8_t d = 0; d < b->row; d++)
        total = tessi_l_op(l, OP_MUL, total, tessi_nest_extent(l, nest, d));
    LVarId band =
        tessi_scope_for(l, "band", tessi_l_int(l, 0), total, 1, nest->parallel ? LFOR_PARALLEL : 0);
    LExprId number = tessi_lexpr_var(l->p, band), at = number;
    if (b->row) {
        at = tessi_l_op(l, OP_FLOORMOD, number, bands);
        tessi_nest_outer_coords(l, nest, tessi_l_op(l, OP_FLOORDIV, number, bands), b->row,
                                b->coord);
    }
    at = tessi_l_op(l, OP_ADD, begin, tessi_l_op(l, OP_MUL, at, size));
    b->from = tessi_scope_let(l, "band_from", at);
    b->to = tessi_scope_let(l, "band_to",
                            tessi_l_op(l, OP_MIN, tessi_l_op(l, OP_ADD, b->from, size), end));
}

void tessi_lower_carried(Lower *l, const Nest *nest)
{
    Band b = { .l = l, .nest = nest, .coord = { { .dim = -1 } } };
    b.last = (uint8_t)(nest->n_dims - 1);
    b.row = (uint8_t)(b.last - 1);
    Bounds inside = tessi_nest_bounds(l, nest, true);
    const Bounds single = tessi_nest_bounds(l, nest, false);
    tessi_nest_widen_edges(l, nest, &inside);
    open_bands(&b);

    LExprId from = b.from, to = b.to, n = tessi_l_int(l, nest->rows);
    tessi_guard_range(l, &inside.guards, (int8_t)b.row, &from, &to);
    from = tessi_scope_let(l, "rows_from", from);
    to = tessi_scope_let(l, "rows_to", to);
    LExprId is_whole = tessi_l_op(l, OP_LE, tessi_l_op(l, OP_ADD, from, n), to);
    is_whole =
        tessi_l_op(l, OP_AND, is_whole, tessi_nest_plane_inside(l, nest, &inside, b.coord, b.row));
    if (nest->vector)
        is_whole = tessi_l_op(l, OP_AND, is_whole, tessi_nest_has_vectors(l, &inside));
    LExprId whole = tessi_scope_let(l, "whole", is_whole);
    rows_around(&b, &single, tessi_l_select(l, whole, from, b.to),
                tessi_l_select(l, whole, to, b.to));
    tessi_scope_if(l, whole);
    whole_rows(&b, &inside, from, to);
    tessi_scope_close(l);
    tessi_scope_close(l);
}
